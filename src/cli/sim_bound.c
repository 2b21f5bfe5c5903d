/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim bound`: how much could any policy have allocated? And the bound beside the results of `wz sim pack`. */
#include "cli/sim_bound.h"

#include "cli/sim_common.h"
#include "cli/table.h"
#include "os/file.h"
#include "os/pool.h"

#include <math.h>

#define POINTS_MAX 130u

struct args {
	struct wz_list nodes, pods, trace, at;
	struct wz_range seeds;
	uint64_t workers, hold;
	struct wz_str csv;
	bool jsonl, cpu_optional;
};

static const struct wz_opt opts[] = {
        {"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes (any trace format)", offsetof(struct args, nodes), 0},
        {"pods", 'p', WZ_OPT_LIST, "FILE", "the pods; several: one question each", offsetof(struct args, pods), 0},
        {"trace", 't', WZ_OPT_LIST, "FILE", "one file with nodes and work, instead of the two",
                offsetof(struct args, trace), 0},
        {"at", 'a', WZ_OPT_LIST, "PERCENT,...",
                "arrived demand, in percent of the devices; default 90,95,98,100,110,130",
                offsetof(struct args, at), 0},
        {"hold-prefix", 0, WZ_OPT_U64, "PERCENT", "what arrived until then must be held",
                offsetof(struct args, hold), 130},
        {"cpu-optional", 0, WZ_OPT_FLAG, NULL, "tasks without a device may be refused as well",
                offsetof(struct args, cpu_optional), 0},
        {"seeds", 's', WZ_OPT_RANGE, "A-B", "seeds of arrivals; default 42", offsetof(struct args, seeds),
                UINT32_MAX},
        {"workers", 'w', WZ_OPT_U64, "N", "threads; default: one for each CPU", offsetof(struct args, workers),
                WZ_POOL_THREADS_MAX},
        {"jsonl", 0, WZ_OPT_FLAG, NULL, "one JSON object a line: list, seed, point", offsetof(struct args, jsonl),
                0},
        {"csv", 0, WZ_OPT_STRING, "FILE", "write every bound as CSV", offsetof(struct args, csv), 0}, WZ_OPT_END};

/* ---- one bound in words, JSON, CSV ---- */

static const char *status_of(const struct wz_sim_bound *b)
{
	if (b->infeasible)
		return "infeasible";
	return b->lp.status == WZ_BOUND_OPTIMAL ? "optimal" : "loose";
}

static const char *cpu_of(const struct wz_sim_bounds *q, const struct wz_sim_bound *b)
{
	return q->o.cpu_optional || b->cpu_dropped ? "optional" : "forced";
}

static int64_t e3(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((part * 100000 + whole / 2) / whole) : 0;
}

static int64_t round_e3(double pct)
{
	return (int64_t)(pct * 1000 + 0.5);
}

static void json(struct wz_str name, const struct wz_sim_bounds *q, uint64_t seed, const struct wz_sim_bound *b,
        struct wz_buf *out)
{
	wz_buf_addz(out, "{\"trace\":");
	wz_buf_add_json(out, name);
	wz_buf_addz(out, ",\"seed\":");
	wz_buf_add_u64(out, seed);
	wz_buf_addz(out, ",\"at\":");
	wz_buf_add_u64(out, b->percent);
	wz_buf_addz(out, ",\"arrived_pct\":");
	wz_buf_add_fixed(out, e3(b->arrived_milli, q->in->capacity_milli), 3);
	wz_buf_addz(out, ",\"tasks\":");
	wz_buf_add_u64(out, b->tasks);
	wz_buf_addz(out, ",\"held\":");
	wz_buf_add_u64(out, b->held);
	wz_buf_addz(out, ",\"cpu_only\":\"");
	wz_buf_addz(out, cpu_of(q, b));
	wz_buf_addz(out, "\",\"status\":\"");
	wz_buf_addz(out, status_of(b));
	wz_buf_addz(out, "\",\"bound_pct\":");
	if (b->infeasible)
		wz_buf_addz(out, "null");
	else
		wz_buf_add_fixed(out, b->lp.percent_e6, 6);
	wz_buf_addz(out, ",\"bound_milli\":");
	wz_buf_add_i64(out, b->lp.bound_milli);
	wz_buf_addz(out, ",\"unfit_tasks\":");
	wz_buf_add_u64(out, b->lp.unfit_tasks);
	wz_buf_addz(out, "}\n");
}

static void csv(struct wz_str name, const struct wz_sim_bounds *q, uint64_t seed, const struct wz_sim_bound *b,
        struct wz_buf *out)
{
	wz_buf_add(out, name);
	wz_buf_addc(out, ',');
	wz_buf_add_u64(out, seed);
	wz_buf_addc(out, ',');
	wz_buf_add_u64(out, b->percent);
	wz_buf_addc(out, ',');
	wz_buf_add_fixed(out, e3(b->arrived_milli, q->in->capacity_milli), 3);
	wz_buf_addc(out, ',');
	wz_buf_add_u64(out, b->tasks);
	wz_buf_addc(out, ',');
	wz_buf_add_u64(out, b->held);
	wz_buf_addc(out, ',');
	wz_buf_addz(out, cpu_of(q, b));
	wz_buf_addc(out, ',');
	wz_buf_addz(out, status_of(b));
	wz_buf_addc(out, ',');
	if (!b->infeasible)
		wz_buf_add_fixed(out, b->lp.percent_e6, 6);
	wz_buf_addc(out, '\n');
}

/* ---- the table ---- */

/* What a reader must know of a point, over all seeds. */
static const char *note(const struct wz_sim_bounds *q, const struct wz_sim_bound *result, uint32_t point)
{
	const char *text = "";

	for (uint64_t i = 0; i <= q->seed_to - q->seed_from; i++) {
		const struct wz_sim_bound *b = &result[i * q->n_points + point];
		if (b->infeasible)
			return b->held ? "infeasible: this prefix cannot be held by any placement" : "infeasible";
		if (b->cpu_dropped)
			text = "tasks without a device cannot all be served: optional";
		else if (b->lp.status == WZ_BOUND_LOOSE)
			text = "stopped early: valid, not the least";
	}
	return text;
}

static void table(const struct wz_sim_input *l, const struct wz_sim_bounds *q, const struct wz_sim_bound *result,
        const struct wz_mem *mem, struct wz_buf *out)
{
	static const char *const head[] = {"arrived %", "tasks", "CPU %", "bound %", "+-sd", "devices", "note"};
	uint64_t seeds = q->seed_to - q->seed_from + 1, cpu = wz_sim_nodes_totals(&l->nodes).cpu_milli;
	struct wz_table t;

	wz_table_init(&t, mem, 7, 0x3f);
	for (unsigned i = 0; i < 7; i++)
		wz_table_addz(&t, head[i]);
	for (uint32_t p = 0; p < q->n_points; p++) {
		double mean = wz_sim_bound_mean(q, result, p), sq = 0;
		const struct wz_sim_bound *first = &result[p];
		for (uint64_t i = 0; i < seeds; i++)
			sq += pow(wz_sim_bound_pct(&result[i * q->n_points + p]) - mean, 2);
		wz_table_add_fixed(&t, e3(first->arrived_milli, l->in.capacity_milli) / 10, 2);
		wz_table_add_u64(&t, first->tasks);
		wz_table_add_fixed(&t, e3(first->cpu_milli, cpu) / 100, 1);
		if (isnan(mean)) {
			wz_table_addz(&t, "-");
			wz_table_addz(&t, "-");
			wz_table_addz(&t, "-");
		} else {
			wz_table_add_fixed(&t, round_e3(mean), 3);
			wz_table_add_fixed(&t, seeds > 1 ? round_e3(sqrt(sq / (double)(seeds - 1))) : 0, 3);
			wz_table_add_fixed(&t, (int64_t)(mean * (double)l->in.capacity_milli / 1e4), 1);
		}
		wz_table_addz(&t, note(q, result, p));
	}
	wz_table_print(&t, out);
	wz_table_release(&t);
}

/* ---- the verb ---- */

static int points(const struct wz_verb *v, const struct args *a, unsigned *ret, uint32_t *ret_n)
{
	static const unsigned usual[] = {90, 95, 98, 100, 110, 130};

	for (uint32_t i = 0; a->at.n == 0 && i < 6; i++)
		ret[(*ret_n)++] = usual[i];
	for (uint32_t i = 0; i < a->at.n; i++) {
		uint64_t x;
		if (wz_str_parse_u64(a->at.item[i], &x) < 0 || x < 1 || x > 130 || *ret_n == POINTS_MAX)
			return wz_cli_usage(v, "--at takes percents of 1 to 130, such as --at 95,100");
		ret[(*ret_n)++] = (unsigned)x;
	}
	return 0;
}

static void print(const struct args *a, const struct wz_sim_input *l, struct wz_str name,
        const struct wz_sim_bounds *q, const struct wz_sim_bound *result, struct wz_cli *cli,
        struct wz_buf *csv_text)
{
	uint64_t seeds = q->seed_to - q->seed_from + 1;

	for (uint64_t i = 0; i < seeds * q->n_points; i++) {
		if (a->jsonl)
			json(name, q, q->seed_from + i / q->n_points, &result[i], &cli->out);
		if (a->csv.len)
			csv(name, q, q->seed_from + i / q->n_points, &result[i], csv_text);
	}
	if (a->jsonl)
		return;
	wz_buf_addz(&cli->out, cli->out.len ? "\n" : "");
	wz_buf_add(&cli->out, name);
	wz_buf_addz(&cli->out, ": no placement can hold more, ");
	wz_buf_addz(&cli->out, q->o.cpu_optional ? "whatever it refuses" : "tasks without a device all served");
	if (q->o.hold_percent) {
		wz_buf_addz(&cli->out, ", all that arrived until ");
		wz_buf_add_u64(&cli->out, q->o.hold_percent);
		wz_buf_addz(&cli->out, " % held");
	}
	wz_buf_addz(&cli->out, " (");
	wz_buf_add_u64(&cli->out, seeds);
	wz_buf_addz(&cli->out, seeds > 1 ? " seeds)\n" : " seed)\n");
	table(l, q, result, cli->mem, &cli->out);
}

static int one_list(const struct args *a, struct wz_str path, struct wz_sim_bounds *q, struct wz_cli *cli,
        struct wz_buf *csv_text, struct wz_err *err)
{
	struct wz_sim_input l = {0};
	size_t size = (q->seed_to - q->seed_from + 1) * q->n_points * sizeof(struct wz_sim_bound);
	struct wz_sim_bound *result = wz_mem_zalloc(cli->mem, size);
	int r = result ? wz_sim_input_open(&l, &a->nodes, path, cli->mem, err)
	               : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the bounds"));

	q->in = &l.in;
	if (r == 0)
		r = wz_sim_bound_many(q, cli->mem, result, err);
	if (r == 0)
		print(a, &l, wz_sim_trace_name(path), q, result, cli, csv_text);
	wz_sim_input_close(&l);
	wz_mem_free(cli->mem, result, size);
	return r;
}

static int sim_bound(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.seeds = {42, 42}};
	unsigned percent[POINTS_MAX];
	struct wz_sim_bounds q = {.percent = percent, .stop = &wz_sim_interrupted};
	const struct wz_list *lists = NULL;
	struct wz_err err = {0};
	struct wz_buf text;
	int r = wz_cli_opts(v, &a, argc, argv);

	if (r < 0)
		return WZ_EXIT_USAGE;
	r = wz_sim_check_files(v, &a.nodes, &a.pods, &a.trace, r, &lists);
	if (r == 0)
		r = points(v, &a, percent, &q.n_points);
	if (r)
		return r;
	q.seed_from = a.seeds.first;
	q.seed_to = a.seeds.last;
	q.workers = (uint32_t)a.workers;
	q.o = (struct wz_sim_bound_options){(uint32_t)a.hold, a.cpu_optional};
	wz_sim_catch_interrupt();
	wz_buf_init(&text, cli->mem, (size_t)1 << 30);
	if (a.csv.len)
		wz_buf_addz(&text, "trace,seed,at,arrived_pct,tasks,held,cpu_only,status,bound_pct\n");
	for (uint32_t i = 0; r == 0 && i < lists->n; i++)
		r = one_list(&a, lists->item[i], &q, cli, &text, &err);
	if (r == 0 && a.csv.len)
		r = text.status < 0 ? wz_err_set(&err, text.status, "TooLarge", WZ_STR("the CSV is too large"))
		                    : wz_file_write(a.csv.ptr, wz_buf_str(&text), 0644, &err);
	wz_buf_release(&text);
	if (r == -EINTR)
		wz_err_set(&err, r, "Interrupted", WZ_STR("interrupted: nothing was written"));
	return r < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_sim_bound = {
        .name = "bound",
        .summary = "how much could any placement policy have allocated?",
        .usage = "wz sim bound --nodes FILE --pods FILE [--at PERCENT,...] [--hold-prefix PERCENT] [options]",
        .examples = "wz trace gen --like openb --seed 1 --out /tmp/t\n"
                    "wz sim bound --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --seeds 42-44\n"
                    "wz sim bound --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --at 100,130 --hold-prefix 90\n",
        .opts = opts,
        .fn = sim_bound,
        .more = "A linear program over the arrivals of `wz sim pack`: tasks may be cut into fractions, and one "
                "pool of CPU and\n"
                "memory serves all nodes of a type, so no placement can hold more. With --hold-prefix it bounds a "
                "scheduler\n"
                "that held all that arrived until then. A prefix that no placement can hold is stated as "
                "infeasible.\n",
};

/* ---- beside `wz sim pack` ---- */

int wz_cli_bound_of(const struct wz_packset *s, uint32_t hold_percent, const struct wz_mem *mem,
        struct wz_cli_bound *ret, struct wz_err *err)
{
	struct wz_sim_bounds q = {.in = s->in,
	        .seed_from = s->seed_from,
	        .seed_to = s->seed_to,
	        .percent = wz_pack_points,
	        .n_points = 8,
	        .workers = s->workers,
	        .o = {.hold_percent = hold_percent},
	        .stop = s->stop};
	size_t size = (s->seed_to - s->seed_from + 1) * 8 * sizeof(struct wz_sim_bound);
	struct wz_sim_bound *result = wz_mem_zalloc(mem, size);
	int r = result ? wz_sim_bound_many(&q, mem, result, err)
	               : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the bounds"));

	if (r == 0) {
		*ret = (struct wz_cli_bound){.trace = s->trace, .hold_percent = hold_percent};
		for (unsigned i = 0; i < WZ_PACK_PERCENT; i++)
			ret->pct[i] = (double)NAN;
		for (uint32_t i = 0; i < 8; i++) {
			ret->pct[wz_pack_points[i]] = wz_sim_bound_mean(&q, result, i);
			if (*note(&q, result, i))
				ret->why = note(&q, result, i);
		}
	}
	wz_mem_free(mem, result, size);
	return r;
}

void wz_cli_bound_row(const struct wz_cli_bound *b, uint32_t name_width, struct wz_buf *out)
{
	static const unsigned points_shown[] = {90, 95, 100, 130};
	size_t from = out->len;

	wz_buf_addz(out, "LP bound");
	if (b->hold_percent) {
		wz_buf_addz(out, ", ");
		wz_buf_add_u64(out, b->hold_percent);
		wz_buf_addz(out, " % held");
	}
	for (unsigned i = 0; i < 4; i++) {
		double v = b->pct[points_shown[i]];
		char scratch[32];
		struct wz_buf t;
		wz_buf_init_fixed(&t, scratch, sizeof(scratch));
		if (isnan(v))
			wz_buf_addc(&t, '-');
		else
			wz_buf_add_fixed(&t, (int64_t)(v * 100 + 0.5), 2);
		while (out->status == 0 && out->len - from + t.len < name_width + 8 + 11 * i)
			wz_buf_addc(out, ' ');
		wz_buf_add(out, wz_buf_str(&t));
	}
	if (b->why) {
		wz_buf_addz(out, "   ");
		wz_buf_addz(out, b->why);
	}
	wz_buf_addc(out, '\n');
}

void wz_cli_bound_jsonl(const struct wz_cli_bound *b, struct wz_buf *out)
{
	wz_buf_addz(out, "{\"trace\":");
	wz_buf_add_json(out, b->trace);
	wz_buf_addz(out, ",\"bound_pct\":{");
	for (unsigned i = 0; i < 8; i++) {
		double v = b->pct[wz_pack_points[i]];
		wz_buf_addz(out, i ? ",\"" : "\"");
		wz_buf_add_u64(out, wz_pack_points[i]);
		wz_buf_addz(out, "\":");
		if (isnan(v))
			wz_buf_addz(out, "null");
		else
			wz_buf_add_fixed(out, (int64_t)(v * 10000 + 0.5), 4);
	}
	wz_buf_addz(out, "},\"hold_prefix_pct\":");
	if (b->hold_percent)
		wz_buf_add_u64(out, b->hold_percent);
	else
		wz_buf_addz(out, "null");
	wz_buf_addz(out, "}\n");
}
