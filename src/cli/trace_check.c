/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace strictly, and looks for jobs that no node could ever run: usually a wrong unit. */
#include "cli/trace.h"

struct args {
	struct wz_str from;
	bool strict;
};

static const struct wz_opt opts[] = {
        {"from", 'f', WZ_OPT_STRING, "openb|wz", "format of the files (found by their first lines)",
                offsetof(struct args, from), 0},
        {"strict", 0, WZ_OPT_FLAG, NULL, "a job that no node can run is an error (exit 1)",
                offsetof(struct args, strict), 0},
        WZ_OPT_END,
};

static bool node_can_run(const struct wz_ev_node *n, const struct wz_sim_task *t, const struct wz_profile *p)
{
	uint32_t fit = 0;
	if (t->cpu_milli > n->cpu_milli || t->mem_bytes > n->mem_bytes)
		return false;
	for (uint32_t i = 0; i < n->n_devices; i++) {
		const struct wz_device_facts *d = &n->device[i];
		bool model_ok = t->any_model || wz_model_set_has(&t->allowed, d->model.v);
		bool mem_ok = d->mem_bytes == 0 || (uint64_t)d->mem_bytes >= p->gpu_mem_bytes;
		fit += model_ok && mem_ok && d->compute_milli >= (int32_t)t->milli;
	}
	return fit >= t->gpus;
}

/* Jobs of one profile and spec share an answer, which is remembered by profile. */
static uint32_t check_jobs(const struct wz_cli_trace *t, uint8_t *verdict)
{
	uint32_t hopeless = 0;
	for (uint32_t i = 0; i < t->tasks.n; i++) {
		const struct wz_sim_task *k = &t->tasks.task[i];
		const struct wz_profile *p = wz_sim_task_profile(&t->tasks, k);
		uint8_t *known = &verdict[k->profile]; /* 0 not known, 1 runs, 2 never */
		for (uint32_t n = 0; n < t->nodes.n && *known == 0; n++)
			if (node_can_run(&t->nodes.node[n], k, p))
				*known = 1;
		if (*known == 1)
			continue;
		*known = 2;
		if (hopeless++ == 0) {
			struct wz_err e = {0};
			(void)wz_err_set(&e, -ERANGE, "NoNode", WZ_STR("the job \""), k->name,
			        WZ_STR("\" asks for more than any node has"));
			wz_cli_warn(wz_str(e.text));
		}
	}
	return hopeless;
}

static int report(struct wz_cli *cli, const struct wz_cli_trace *t, bool strict)
{
	uint32_t hopeless = 0;
	if (t->nodes.n && t->tasks.n) {
		uint8_t *verdict = wz_mem_zalloc(cli->mem, t->tasks.n_profiles);
		if (!verdict) {
			struct wz_err err = {0};
			(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
			return wz_cli_fail(&err);
		}
		hopeless = check_jobs(t, verdict);
		wz_mem_free(cli->mem, verdict, t->tasks.n_profiles);
	}
	wz_buf_addz(&cli->out, "ok: ");
	wz_buf_add_u64(&cli->out, t->nodes.n);
	wz_buf_addz(&cli->out, " nodes, ");
	wz_buf_add_u64(&cli->out, t->tasks.n);
	wz_buf_addz(&cli->out, " jobs");
	if (hopeless) {
		wz_buf_addz(&cli->out, ", ");
		wz_buf_add_u64(&cli->out, hopeless);
		wz_buf_addz(&cli->out, " of them larger than any node");
	}
	wz_buf_addc(&cli->out, '\n');
	return hopeless && strict ? WZ_EXIT_FAILED : WZ_EXIT_OK;
}

static int check_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {0};
	struct wz_err err = {0};
	struct wz_cli_trace t;
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
	int code = rc < 0 ? wz_cli_fail(&err) : report(cli, &t, a.strict);
	wz_cli_trace_release(&t);
	return code;
}

const struct wz_verb wz_verb_trace_check = {
        .name = "check",
        .summary = "read a trace and say what is wrong with it",
        .usage = "wz trace check [--from FORMAT] [--strict] FILE...",
        .examples = "wz trace check nodes.csv pods.csv\n",
        .opts = opts,
        .fn = check_fn,
};
