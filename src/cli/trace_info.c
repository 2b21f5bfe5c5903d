/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds: nodes by device model, jobs by class, and how much of the capacity all jobs together ask. */
#include "base/fix.h"
#include "base/quant.h"
#include "cli/table.h"
#include "cli/trace.h"

struct args {
	struct wz_str from;
	bool json;
};

static const struct wz_opt opts[] = {
        {"from", 'f', WZ_OPT_STRING, "openb|wz", "format of the files (found by their first lines)",
                offsetof(struct args, from), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_OPT_END,
};

/* Classes by the devices of one task; several tasks count as a gang whatever they ask. */
enum job_class { CPU_ONLY, SHARE, ONE, TWO, FOUR, EIGHT, OTHER, GANG, CLASSES };
static const char *const class_names[CLASSES] = {
        "cpu-only", "share", "1 GPU", "2 GPUs", "4 GPUs", "8 GPUs", "other", "gang"};
static const char *const class_keys[CLASSES] = {
        "cpu_only", "share", "gpus_1", "gpus_2", "gpus_4", "gpus_8", "other", "gang"};

struct model_sum {
	uint64_t nodes, gpus, cpu_milli, mem_mib;
};

struct info {
	struct model_sum model[WZ_MODELS_MAX + 1]; /* by index in nodes.model; the last: nodes without a device */
	uint64_t mixed; /* nodes of several models; counted at their first */
	struct {
		uint64_t jobs, gpu_milli, cpu_milli;
	} class[CLASSES];
	struct wz_sim_totals have, want;
	int64_t first_us, last_us;
};

static enum job_class class_of(const struct wz_sim_task *t, const struct wz_profile *p)
{
	if (p->tasks_max > 1)
		return GANG;
	if (t->gpus == 0)
		return CPU_ONLY;
	if (t->milli < WZ_WHOLE)
		return SHARE;
	switch (t->gpus) {
	case 1:
		return ONE;
	case 2:
		return TWO;
	case 4:
		return FOUR;
	case 8:
		return EIGHT;
	default:
		return OTHER;
	}
}

static uint32_t model_index(const struct wz_sim_nodes *nodes, wz_model_id id)
{
	for (uint32_t i = 0; i < nodes->n_models; i++)
		if (nodes->model[i].id.v == id.v)
			return i;
	return WZ_MODELS_MAX;
}

static void gather(const struct wz_cli_trace *t, struct info *f)
{
	*f = (struct info){.first_us = -1, .last_us = -1};
	f->have = wz_sim_nodes_totals(&t->nodes);
	f->want = wz_sim_tasks_totals(&t->tasks);
	for (uint32_t i = 0; i < t->nodes.n; i++) {
		const struct wz_ev_node *n = &t->nodes.node[i];
		uint32_t at = n->n_devices ? model_index(&t->nodes, n->device[0].model) : WZ_MODELS_MAX;
		bool mixed = false;
		f->model[at].nodes++;
		f->model[at].cpu_milli += (uint64_t)n->cpu_milli;
		f->model[at].mem_mib += (uint64_t)n->mem_bytes / WZ_MI;
		for (uint32_t d = 0; d < n->n_devices; d++) {
			f->model[model_index(&t->nodes, n->device[d].model)].gpus++;
			mixed |= n->device[d].model.v != n->device[0].model.v;
		}
		f->mixed += mixed;
	}
	for (uint32_t i = 0; i < t->tasks.n; i++) {
		const struct wz_sim_task *k = &t->tasks.task[i];
		const struct wz_profile *p = wz_sim_task_profile(&t->tasks, k);
		enum job_class c = class_of(k, p);
		f->class[c].jobs++;
		f->class[c].gpu_milli =
		        wz_usat_add(f->class[c].gpu_milli, (uint64_t)k->gpus * k->milli * p->tasks_min);
		f->class[c].cpu_milli = wz_usat_add(f->class[c].cpu_milli, (uint64_t)k->cpu_milli * p->tasks_min);
		if (k->submit_us < 0)
			continue;
		if (f->first_us < 0 || k->submit_us < f->first_us)
			f->first_us = k->submit_us;
		if (k->submit_us > f->last_us)
			f->last_us = k->submit_us;
	}
}

/* Parts of the whole in hundredths of a percent; 0 when there is no whole. */
static int64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)wz_umuldiv(part, 10000, whole) : 0;
}

static void show_nodes(struct wz_cli *cli, const struct wz_cli_trace *t, const struct info *f)
{
	struct wz_table table;
	wz_table_init(&table, cli->mem, 5, 0x1e);
	for (const char *const *h = (const char *const[]){"MODEL", "NODES", "GPUS", "VCPU", "MIB", NULL}; *h; h++)
		wz_table_addz(&table, *h);
	for (uint32_t i = 0; i <= WZ_MODELS_MAX; i++) {
		const struct model_sum *m = &f->model[i];
		if (!m->nodes && !m->gpus)
			continue;
		wz_table_add(&table, i < WZ_MODELS_MAX ? t->nodes.model[i].name : WZ_STR("(no GPU)"));
		wz_table_add_u64(&table, m->nodes);
		wz_table_add_u64(&table, m->gpus);
		wz_table_add_u64(&table, m->cpu_milli / 1000);
		wz_table_add_u64(&table, m->mem_mib);
	}
	wz_table_addz(&table, "all");
	wz_table_add_u64(&table, t->nodes.n);
	wz_table_add_u64(&table, f->have.gpus);
	wz_table_add_u64(&table, f->have.cpu_milli / 1000);
	wz_table_add_u64(&table, f->have.mem_bytes / WZ_MI);
	wz_table_print(&table, &cli->out);
	wz_table_release(&table);
	if (f->mixed) {
		wz_buf_add_u64(&cli->out, f->mixed);
		wz_buf_addz(&cli->out, " nodes have several models and are counted at their first\n");
	}
}

static void show_jobs(struct wz_cli *cli, const struct wz_cli_trace *t, const struct info *f)
{
	struct wz_table table;
	wz_table_init(&table, cli->mem, 5, 0x1e);
	for (const char *const *h = (const char *const[]){"CLASS", "JOBS", "GPU DEMAND", "% OF GPU", "VCPU", NULL};
	        *h; h++)
		wz_table_addz(&table, *h);
	for (uint32_t c = 0; c < CLASSES; c++) {
		if (!f->class[c].jobs)
			continue;
		wz_table_addz(&table, class_names[c]);
		wz_table_add_u64(&table, f->class[c].jobs);
		wz_table_add_fixed(&table, (int64_t)(f->class[c].gpu_milli / 100), 1);
		wz_table_add_fixed(&table, percent(f->class[c].gpu_milli, f->want.gpu_milli) / 10, 1);
		wz_table_add_u64(&table, f->class[c].cpu_milli / 1000);
	}
	wz_table_addz(&table, "all");
	wz_table_add_u64(&table, t->tasks.n);
	wz_table_add_fixed(&table, (int64_t)(f->want.gpu_milli / 100), 1);
	wz_table_add_fixed(&table, f->want.gpu_milli ? 1000 : 0, 1);
	wz_table_add_u64(&table, f->want.cpu_milli / 1000);
	wz_table_print(&table, &cli->out);
	wz_table_release(&table);
}

static void show_ratio(struct wz_buf *b, const char *what, uint64_t part, uint64_t whole)
{
	wz_buf_addz(b, what);
	wz_buf_add_fixed(b, percent(part, whole), 2);
	wz_buf_addz(b, " %");
}

static void show_text(struct wz_cli *cli, const struct wz_cli_trace *t, const struct info *f)
{
	struct wz_buf *b = &cli->out;
	if (t->nodes.n)
		show_nodes(cli, t, f);
	if (t->nodes.n && t->tasks.n)
		wz_buf_addc(b, '\n');
	if (t->tasks.n)
		show_jobs(cli, t, f);
	if (t->nodes.n && t->tasks.n) {
		show_ratio(b, "\ndemand / capacity: GPU ", f->want.gpu_milli, f->have.gpu_milli);
		show_ratio(b, ", CPU ", f->want.cpu_milli, f->have.cpu_milli);
		show_ratio(b, ", memory ", f->want.mem_bytes, f->have.mem_bytes);
		wz_buf_addc(b, '\n');
	}
	if (f->last_us >= 0) {
		wz_buf_addz(b, "submits from ");
		wz_duration_format(b, (uint64_t)f->first_us);
		wz_buf_addz(b, " to ");
		wz_duration_format(b, (uint64_t)f->last_us);
		wz_buf_addc(b, '\n');
	}
}

static void json_u64(struct wz_buf *b, const char *key, uint64_t v)
{
	wz_buf_addc(b, '"');
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":");
	wz_buf_add_u64(b, v);
}

static void json_totals(struct wz_buf *b, const char *key, const struct wz_sim_totals *s)
{
	wz_buf_addc(b, '"');
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":{");
	json_u64(b, "gpus", s->gpus);
	wz_buf_addc(b, ',');
	json_u64(b, "gpu_milli", s->gpu_milli);
	wz_buf_addc(b, ',');
	json_u64(b, "cpu_milli", s->cpu_milli);
	wz_buf_addc(b, ',');
	json_u64(b, "mem_bytes", s->mem_bytes);
	wz_buf_addc(b, '}');
}

static void json_model(struct wz_buf *b, struct wz_str name, const struct model_sum *m, bool first)
{
	wz_buf_addz(b, first ? "{\"model\":" : ",{\"model\":");
	if (name.ptr)
		wz_buf_add_json(b, name);
	else
		wz_buf_addz(b, "null");
	wz_buf_addc(b, ',');
	json_u64(b, "nodes", m->nodes);
	wz_buf_addc(b, ',');
	json_u64(b, "gpus", m->gpus);
	wz_buf_addc(b, ',');
	json_u64(b, "cpu_milli", m->cpu_milli);
	wz_buf_addc(b, ',');
	json_u64(b, "mem_mib", m->mem_mib);
	wz_buf_addc(b, '}');
}

static void show_json(struct wz_cli *cli, const struct wz_cli_trace *t, const struct info *f)
{
	struct wz_buf *b = &cli->out;
	bool first = true;
	wz_buf_addc(b, '{');
	json_u64(b, "nodes", t->nodes.n);
	wz_buf_addc(b, ',');
	json_u64(b, "jobs", t->tasks.n);
	wz_buf_addz(b, ",\"models\":[");
	for (uint32_t i = 0; i <= WZ_MODELS_MAX; i++) {
		if (!f->model[i].nodes && !f->model[i].gpus)
			continue;
		json_model(b, i < WZ_MODELS_MAX ? t->nodes.model[i].name : (struct wz_str){NULL, 0}, &f->model[i],
		        first);
		first = false;
	}
	wz_buf_addz(b, "],\"classes\":{");
	for (uint32_t c = 0; c < CLASSES; c++) {
		wz_buf_addz(b, c ? ",\"" : "\"");
		wz_buf_addz(b, class_keys[c]);
		wz_buf_addz(b, "\":{");
		json_u64(b, "jobs", f->class[c].jobs);
		wz_buf_addc(b, ',');
		json_u64(b, "gpu_milli", f->class[c].gpu_milli);
		wz_buf_addc(b, ',');
		json_u64(b, "cpu_milli", f->class[c].cpu_milli);
		wz_buf_addc(b, '}');
	}
	wz_buf_addz(b, "},");
	json_totals(b, "capacity", &f->have);
	wz_buf_addc(b, ',');
	json_totals(b, "demand", &f->want);
	if (f->last_us >= 0) {
		wz_buf_addc(b, ',');
		json_u64(b, "first_submit_us", (uint64_t)f->first_us);
		wz_buf_addc(b, ',');
		json_u64(b, "last_submit_us", (uint64_t)f->last_us);
	}
	wz_buf_addz(b, "}\n");
}

static int info_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {0};
	struct wz_err err = {0};
	struct wz_cli_trace t;
	struct info f;
	const struct wz_trace_format *from = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 0)
		return wz_cli_usage(v, "no file is given");
	if (wz_cli_trace_format(a.from, NULL, &from, &err) < 0)
		return wz_cli_usage(v, err.text);
	if (wz_cli_trace_init(&t, cli->mem, &err) < 0)
		return wz_cli_fail(&err);
	int rc = wz_trace_load((const char *const *)argv, (uint32_t)n, from, cli->mem, &t.nodes, &t.tasks, &err);
	if (rc == 0) {
		gather(&t, &f);
		if (a.json)
			show_json(cli, &t, &f);
		else
			show_text(cli, &t, &f);
	}
	wz_cli_trace_release(&t);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_trace_info = {
        .name = "info",
        .summary = "what a trace holds: nodes by model, jobs by class, demand",
        .usage = "wz trace info [--from FORMAT] [--json] FILE...",
        .examples = "wz trace info nodes.csv pods.csv\n"
                    "wz trace info --json trace.wz\n",
        .opts = opts,
        .fn = info_fn,
};
