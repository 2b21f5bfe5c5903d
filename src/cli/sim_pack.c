/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim pack`: the inflation experiment over placements, pod lists and seeds. */
#include "cli/sim_bound.h"
#include "cli/sim_common.h"
#include "base/quant.h"
#include "os/file.h"
#include "os/pool.h"
#include "os/tty.h"
#include "sim/formats.h"
#include "sim/packset.h"
#include "sim/report.h"
#include "store/codec.h"

#include <unistd.h>

#define TEXT_MAX ((size_t)1 << 30)

struct args {
	struct wz_list nodes, pods, trace, placement;
	struct wz_range seeds;
	uint64_t workers, loss, twice, refuse, delay;
	uint64_t hold, explain, explain_at;
	struct wz_str csv, html, journal, order, teach, repack, repack_rules;
	bool jsonl, list, no_index, check, quiet, bound, power;
};

static const struct wz_opt opts[] = {
        {"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes (any trace format)", offsetof(struct args, nodes), 0},
        {"pods", 'p', WZ_OPT_LIST, "FILE", "the pods; several: one experiment each", offsetof(struct args, pods),
                0},
        {"trace", 't', WZ_OPT_LIST, "FILE", "one file with nodes and work, instead of the two",
                offsetof(struct args, trace), 0},
        {"placement", 'P', WZ_OPT_LIST, "NAME,...",
                "policies to run, with parameters (jigsaw:power=0.2); `all`; see --list",
                offsetof(struct args, placement), 0},
        {"seeds", 's', WZ_OPT_RANGE, "A-B", "seeds of arrivals and node order; default 42",
                offsetof(struct args, seeds), UINT32_MAX},
        {"workers", 'w', WZ_OPT_U64, "N", "threads; default: one for each CPU", offsetof(struct args, workers),
                WZ_POOL_THREADS_MAX},
        {"jsonl", 0, WZ_OPT_FLAG, NULL, "one JSON object a line, one line a run", offsetof(struct args, jsonl), 0},
        {"csv", 0, WZ_OPT_STRING, "FILE", "write the curves of every run", offsetof(struct args, csv), 0},
        {"html", 0, WZ_OPT_STRING, "FILE", "write a report: curves, refusals, where idle devices are",
                offsetof(struct args, html), 0},
        {"journal", 0, WZ_OPT_STRING, "FILE",
                "write all events and effects of the first run (the dashboard plays it)",
                offsetof(struct args, journal), 0},
        {"list", 'l', WZ_OPT_FLAG, NULL, "list the placement policies", offsetof(struct args, list), 0},
        {"bound", 'b', WZ_OPT_FLAG, NULL, "show what no policy can exceed (an LP bound)",
                offsetof(struct args, bound), 0},
        {"hold-prefix", 0, WZ_OPT_U64, "PERCENT", "the bound when what arrived until then is held; implies --bound",
                offsetof(struct args, hold), 130},
        {"order", 0, WZ_OPT_STRING, "NAME", "arrivals: shuffled, file, largest-first, smallest-first",
                offsetof(struct args, order), 0},
        {"teach", 0, WZ_OPT_STRING, "FILE", "policies first see this work come and go",
                offsetof(struct args, teach), 0},
        {"repack", 0, WZ_OPT_STRING, "moves-per-placement=N",
                "move running work when something fits nowhere, that often", offsetof(struct args, repack), 0},
        {"repack-rules", 0, WZ_OPT_STRING, "NAME=N ...", "parameters of repacking (repack-depth, repack-work, ...)",
                offsetof(struct args, repack_rules), 0},
        {"power", 0, WZ_OPT_FLAG, NULL, "measure power and price too", offsetof(struct args, power), 0},
        {"explain", 0, WZ_OPT_U64, "N", "the reasons of N placements in words, for the first seed",
                offsetof(struct args, explain), 1000000},
        {"explain-at", 0, WZ_OPT_U64, "PERCENT", "from this percent of arrivals on; default 90",
                offsetof(struct args, explain_at), 130},
        {"check", 0, WZ_OPT_FLAG, NULL, "check all invariants after every arrival (slow)",
                offsetof(struct args, check), 0},
        {"no-index", 0, WZ_OPT_FLAG, NULL, "look at every node for every decision (slow; the same result)",
                offsetof(struct args, no_index), 0},
        {"ack-delay", 0, WZ_OPT_DURATION, "TIME",
                "acknowledgements come up to this late (1s of virtual time an arrival)",
                offsetof(struct args, delay), 0},
        {"ack-loss", 0, WZ_OPT_U64, "PPM", "acknowledgements lost, per million", offsetof(struct args, loss),
                1000000},
        {"ack-twice", 0, WZ_OPT_U64, "PPM", "acknowledgements that come twice, per million (needs --ack-delay)",
                offsetof(struct args, twice), 1000000},
        {"refuse", 0, WZ_OPT_U64, "PPM", "starts that the node refuses, per million", offsetof(struct args, refuse),
                1000000},
        {"quiet", 'q', WZ_OPT_FLAG, NULL, "no progress", offsetof(struct args, quiet), 0}, WZ_OPT_END};

/* ---- one list ---- */

/* A list with its cluster, and the runs on it; all are kept until the report is written. */
struct list {
	struct wz_sim_input input;
	struct wz_sim_tasks lessons;
	struct wz_packset set;
	struct wz_cli_bound bound;
};

struct job {
	struct wz_cli *cli;
	const struct args *a;
	struct wz_sim_progress progress;
	struct wz_packset base;
	struct list *list;
	uint32_t n;
};

static void close_lists(struct job *j)
{
	const struct wz_mem *mem = j->cli->mem;

	for (uint32_t i = 0; i < j->n; i++) {
		wz_packset_release(&j->list[i].set, mem);
		if (j->list[i].input.opened)
			wz_sim_tasks_release(&j->list[i].lessons);
		wz_sim_input_close(&j->list[i].input);
	}
	wz_mem_free(mem, j->list, j->n * sizeof(*j->list));
}

static int open_list(struct job *j, struct list *l, struct wz_str path, struct wz_err *err)
{
	int r;

	l->set = j->base;
	l->set.trace = wz_sim_trace_name(path);
	l->set.in = &l->input.in;
	r = wz_sim_input_open(&l->input, &j->a->nodes, path, j->cli->mem, err);
	if (l->input.opened)
		wz_sim_tasks_init(&l->lessons, j->cli->mem);
	if (r == 0 && j->a->teach.len) {
		r = wz_sim_input_more(&l->input, j->a->teach, &l->lessons, err);
		l->set.base.teach = &l->lessons;
	}
	return r;
}

/* All inputs are read before the first run, so that a mistake in the last file costs no time. */
static int run_all(struct job *j, const struct wz_list *lists, struct wz_err *err)
{
	uint32_t runs = wz_packset_runs(&j->base);
	int r = 0;

	j->progress.all = lists->n * runs;
	for (uint32_t i = 0; r == 0 && i < lists->n; i++)
		r = open_list(j, &j->list[i], lists->item[i], err);
	for (uint32_t i = 0; r == 0 && i < lists->n; i++) {
		j->progress.before = i * runs;
		if (j->a->bound)
			r = wz_cli_bound_of(
			        &j->list[i].set, (uint32_t)j->a->hold, j->cli->mem, &j->list[i].bound, err);
		if (r == 0)
			r = wz_packset_run(&j->list[i].set, j->cli->mem, err);
	}
	return r;
}

/* ---- output ---- */

static void print_list(const struct job *j, const struct list *l, bool first)
{
	const struct wz_packset *s = &l->set;
	struct wz_buf *out = &j->cli->out;

	if (j->a->jsonl) {
		for (uint32_t i = 0; i < wz_packset_runs(s); i++)
			wz_packset_jsonl(s, i, out);
		if (j->a->bound)
			wz_cli_bound_jsonl(&l->bound, out);
		if (j->a->power)
			wz_packset_draw_jsonl(s, out);
		return;
	}
	wz_buf_addz(out, first ? "" : "\n");
	wz_buf_add(out, s->trace);
	wz_buf_addz(out, ": ");
	wz_buf_add_u64(out, s->in->nodes->n);
	wz_buf_addz(out, " nodes, ");
	wz_buf_add_fixed(out, (int64_t)(s->in->capacity_milli / 100), 1);
	wz_buf_addz(out, " devices, ");
	wz_buf_add_u64(out, s->in->tasks->n);
	wz_buf_addz(out, " pods, ");
	wz_buf_add_u64(out, s->seed_to - s->seed_from + 1);
	wz_buf_addz(out, s->seed_to > s->seed_from ? " seeds\n" : " seed\n");
	wz_packset_table(s, out);
	if (j->a->bound)
		wz_cli_bound_row(&l->bound, wz_packset_name_width(s), out);
	if (j->a->power) {
		wz_buf_addc(out, '\n');
		wz_packset_draw_table(s, out);
	}
}

static int write_file(struct wz_buf *b, struct wz_str path, struct wz_err *err)
{
	int r = b->status < 0 ? wz_err_set(err, b->status, "TooLarge", path, WZ_STR(": too large to write"))
	                      : wz_file_write(path.ptr, wz_buf_str(b), 0644, err);
	wz_buf_release(b);
	return r;
}

static int write_csv(const struct job *j, struct wz_err *err)
{
	struct wz_buf b;

	wz_buf_init(&b, j->cli->mem, TEXT_MAX);
	for (uint32_t i = 0; i < j->n; i++)
		wz_packset_csv(&j->list[i].set, i == 0, &b);
	return write_file(&b, j->a->csv, err);
}

static int write_html(const struct job *j, struct wz_str how, struct wz_err *err)
{
	struct wz_report_set set[WZ_SIM_LISTS_MAX] = {0};
	struct wz_report report = {.set = set, .n_sets = j->n, .how = how, .version = wz_str(wz_version)};
	struct wz_buf b;

	for (uint32_t i = 0; i < j->n; i++)
		set[i] = (struct wz_report_set){
		        .runs = &j->list[i].set, .bound = j->a->bound ? j->list[i].bound.pct : NULL};
	wz_buf_init(&b, j->cli->mem, WZ_REPORT_BYTES_MAX);
	wz_report_html(&report, &b);
	return write_file(&b, j->a->html, err);
}

static int explain(const struct job *j, const struct wz_packset *s, struct wz_err *err)
{
	struct wz_pack_result *result = wz_mem_alloc(j->cli->mem, sizeof(*result));
	int r = result ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));

	for (uint32_t p = 0; r == 0 && p < s->n_placements; p++) {
		struct wz_pack_options o = s->base;
		o.placement = s->placement[p];
		o.seed = s->seed_from;
		o.no_curves = true;
		o.explain = (uint32_t)j->a->explain;
		o.explain_at = (uint32_t)j->a->explain_at;
		o.words = &j->cli->out;
		wz_buf_addc(o.words, '\n');
		wz_buf_addz(o.words, o.placement);
		wz_buf_addz(o.words, " explains:\n");
		r = wz_pack_run(s->in, &o, j->cli->mem, result, err);
	}
	wz_mem_free(j->cli->mem, result, sizeof(*result));
	return r;
}

/* ---- the journal of one run ---- */

struct journal {
	FILE *file;
	struct wz_buf line;
	struct wz_err *err;
	int r;
};

static void journal_line(void *ctx, const struct wz_core *c, const struct wz_event *e, const struct wz_effect *f)
{
	struct journal *x = ctx;

	if (x->r < 0)
		return;
	wz_buf_clear(&x->line);
	x->r = e ? wz_event_format(e, wz_core_catalogue_of(c), &x->line, x->err)
	         : wz_effect_format(f, &x->line, x->err);
	wz_buf_addc(&x->line, '\n');
	if (x->r == 0 && fwrite(x->line.data, 1, x->line.len, x->file) != x->line.len)
		x->r = -EIO;
}

static int write_journal(const struct job *j, const struct wz_packset *s, struct wz_err *err)
{
	struct journal x = {.file = fopen(j->a->journal.ptr, "we"), .err = err};
	struct wz_pack_result *result = wz_mem_alloc(j->cli->mem, sizeof(*result));
	struct wz_pack_options o = s->base;
	int r = !x.file  ? wz_file_err(err, -errno, "write", j->a->journal.ptr)
	        : result ? 0
	                 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));

	wz_buf_init(&x.line, j->cli->mem, WZ_LINE_MAX + 1);
	o.placement = s->placement[0];
	o.seed = s->seed_from;
	o.no_curves = true;
	o.watch = (struct wz_core_watch){journal_line, &x};
	if (r == 0)
		r = wz_pack_run(s->in, &o, j->cli->mem, result, err);
	if (x.file && fclose(x.file) != 0 && x.r == 0)
		x.r = -EIO;
	if (r == 0 && x.r < 0)
		r = x.r == -EIO ? wz_file_err(err, -EIO, "write", j->a->journal.ptr) : x.r;
	wz_buf_release(&x.line);
	wz_mem_free(j->cli->mem, result, sizeof(*result));
	return r;
}

static int output(const struct job *j, struct wz_str how, struct wz_err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < j->n; i++)
		print_list(j, &j->list[i], i == 0);
	for (uint32_t i = 0; r == 0 && j->a->explain && i < j->n; i++)
		r = explain(j, &j->list[i].set, err);
	if (r == 0 && j->a->csv.len)
		r = write_csv(j, err);
	if (r == 0 && j->a->html.len)
		r = write_html(j, how, err);
	if (r == 0 && j->a->journal.len)
		r = write_journal(j, &j->list[0].set, err);
	return r;
}

static int check_args(const struct wz_verb *v, struct args *a, int operands, const struct wz_list **ret_lists,
        enum wz_arrive_order *ret_order)
{
	int r = wz_sim_check_files(v, &a->nodes, &a->pods, &a->trace, operands, ret_lists);

	if (r == 0)
		r = wz_sim_check_seeds(v, &a->seeds);
	a->bound = a->bound || a->hold;
	if (r == 0 && a->jsonl && a->explain)
		r = wz_cli_usage(v, "--explain is for people: not with --jsonl");
	while (r == 0 && a->order.len && !wz_str_eq(a->order, wz_str(wz_arrive_order_name[*ret_order])))
		if (++*ret_order == WZ_ARRIVE_ORDERS)
			r = wz_cli_usage(v, "--order is shuffled, file, largest-first or smallest-first");
	if (r == 0 && a->bound && *ret_order != WZ_ARRIVE_SHUFFLED)
		r = wz_cli_usage(v, "--bound is for shuffled arrivals");
	if (r == 0 && a->twice && !a->delay)
		r = wz_cli_usage(v, "--ack-twice needs --ack-delay");
	return r;
}

/* moves-per-placement=0.05 */
static int read_repack(const struct wz_verb *v, struct wz_str text, uint32_t *ret_ppm)
{
	struct wz_str value = text, key = wz_str_split(&value, '=');
	uint64_t milli;

	if (!wz_str_eq(key, WZ_STR("moves-per-placement")) || !value.ptr ||
	        wz_milli_parse(value, &milli, NULL) < 0 || milli > 100000)
		return wz_cli_usage(
		        v, "--repack is moves-per-placement=N, 0.001 to 100, such as moves-per-placement=0.05");
	*ret_ppm = (uint32_t)milli * 1000;
	return 0;
}

static void fill_base(struct job *j)
{
	const struct args *a = j->a;

	j->base.seed_from = a->seeds.first;
	j->base.seed_to = a->seeds.last;
	j->base.workers = (uint32_t)a->workers;
	j->base.stop = &wz_sim_interrupted;
	j->base.base = (struct wz_pack_options){.no_index = a->no_index,
	        .check = a->check,
	        .draw = a->power,
	        .repack_ppm = j->base.base.repack_ppm,
	        .repack_rules = a->repack_rules.len ? a->repack_rules.ptr : NULL,
	        .order = j->base.base.order,
	        .faults = {.delay_us = a->delay,
	                .loss_ppm = (uint32_t)a->loss,
	                .twice_ppm = (uint32_t)a->twice,
	                .refuse_ppm = (uint32_t)a->refuse}};
	if (!a->quiet && wz_tty_is(STDERR_FILENO)) {
		j->base.progress = wz_sim_show_progress;
		j->base.progress_ctx = &j->progress;
	}
}

static int run(struct job *j, const struct wz_list *lists, struct wz_str how)
{
	struct wz_err err = {0};
	int r;

	fill_base(j);
	wz_sim_catch_interrupt();
	j->n = lists->n;
	j->list = wz_mem_zalloc(j->cli->mem, j->n * sizeof(*j->list));
	if (!j->list) {
		wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));
		return wz_cli_fail(&err);
	}
	r = run_all(j, lists, &err);
	if (r == 0)
		r = output(j, how, &err);
	close_lists(j);
	if (r == -EINTR)
		wz_err_set(&err, r, "Interrupted", WZ_STR("interrupted: nothing was written"));
	return r < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

static int sim_pack(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.seeds = {42, 42}, .explain_at = 90};
	const char *placement[WZ_LIST_MAX];
	const struct wz_list *lists = NULL;
	struct job j = {.cli = cli, .a = &a};
	struct wz_err err = {0};
	struct wz_arena arena;
	struct wz_buf how;
	int r;

	wz_arena_init(&arena, cli->mem, 1024);
	wz_buf_init(&how, cli->mem, 65536);
	wz_sim_command_line("wz sim pack", argc, argv, &how);
	r = wz_cli_opts(v, &a, argc, argv);
	if (r < 0) {
		r = WZ_EXIT_USAGE;
	} else if (a.list) {
		r = wz_sim_list_policies(cli);
	} else if ((r = check_args(v, &a, r, &lists, &j.base.base.order)) == 0 &&
	           (!a.repack.len || (r = read_repack(v, a.repack, &j.base.base.repack_ppm)) == 0)) {
		r = wz_sim_placements(&a.placement, &arena, placement, &j.base.n_placements, &err);
		j.base.placement = placement;
		r = r < 0 ? wz_cli_usage(v, err.text) : run(&j, lists, wz_buf_str(&how));
	}
	wz_buf_release(&how);
	wz_arena_release(&arena);
	return r;
}

const struct wz_verb wz_verb_sim_pack = {
        .name = "pack",
        .summary = "how much of a cluster can a placement policy allocate?",
        .usage = "wz sim pack --nodes FILE --pods FILE [--placement NAME,...] [--seeds A-B] [options]",
        .examples =
                "wz trace gen --like openb --seed 1 --out /tmp/t\n"
                "wz sim pack --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --placement jigsaw,fgd --seeds 42-44\n"
                "wz sim pack --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --placement all --jsonl\n",
        .opts = opts,
        .fn = sim_pack,
        .more = "Work arrives one by one, in a random order and with repetition, until it asks for 130 % of the "
                "devices. Each\n"
                "arrival is placed or turned away for good; nothing departs. Shown is how much of the devices is "
                "allocated\n"
                "when arrivals have reached 90, 95, 100 and 130 % of capacity, with the mean over the seeds, and "
                "the fragments:\n"
                "free capacity that the expected work cannot use.\n",
};
