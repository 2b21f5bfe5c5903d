/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim churn`: arrivals and departures at a stated load, over placements, pod lists, loads and seeds. */
#include "cli/sim_common.h"
#include "os/file.h"
#include "os/pool.h"
#include "os/tty.h"
#include "sim/churnset.h"

#include <unistd.h>

#define LOADS_MAX 32u
#define TEXT_MAX ((size_t)1 << 30)
#define WARMUP 10u
#define WINDOW 20u

struct args {
	struct wz_list nodes, pods, trace, placement, load;
	struct wz_range seeds;
	uint64_t workers, patience, warmup, window;
	struct wz_str full, lives, csv;
	bool jsonl, list, no_index, check, quiet;
};

static const struct wz_opt opts[] = {
        {"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes (any trace format)", offsetof(struct args, nodes), 0},
        {"pods", 'p', WZ_OPT_LIST, "FILE", "the pods; several: one experiment each", offsetof(struct args, pods),
                0},
        {"trace", 't', WZ_OPT_LIST, "FILE", "one file with nodes and work, instead of the two",
                offsetof(struct args, trace), 0},
        {"placement", 'P', WZ_OPT_LIST, "NAME,...",
                "policies to run, the others against the first; `all`; default jigsaw",
                offsetof(struct args, placement), 0},
        {"load", 'L', WZ_OPT_LIST, "P%,...", "GPU demand offered, percent of capacity; default 95%",
                offsetof(struct args, load), 0},
        {"full", 'f', WZ_OPT_STRING, "reject|wait", "what happens to a pod that does not fit; default reject",
                offsetof(struct args, full), 0},
        {"patience", 0, WZ_OPT_DURATION, "TIME", "with --full wait: a pod waits at most so long; default: for ever",
                offsetof(struct args, patience), 0},
        {"lives", 0, WZ_OPT_STRING, "NAME", "how long pods run: philly (default), openb, acme, exp",
                offsetof(struct args, lives), 0},
        {"warmup", 0, WZ_OPT_U64, "N", "mean lives before measuring; default 10", offsetof(struct args, warmup),
                WZ_CHURN_LIVES_MAX},
        {"window", 0, WZ_OPT_U64, "N", "mean lives of measuring; default 20", offsetof(struct args, window),
                WZ_CHURN_LIVES_MAX},
        {"seeds", 's', WZ_OPT_RANGE, "A-B", "seeds of arrivals, lives and node order; default 42",
                offsetof(struct args, seeds), UINT32_MAX},
        {"workers", 'w', WZ_OPT_U64, "N", "threads; default: one for each CPU", offsetof(struct args, workers),
                WZ_POOL_THREADS_MAX},
        {"jsonl", 0, WZ_OPT_FLAG, NULL, "one JSON object a line: every run, then a summary of each placement",
                offsetof(struct args, jsonl), 0},
        {"csv", 0, WZ_OPT_STRING, "FILE", "write the counts of every run, batch and class",
                offsetof(struct args, csv), 0},
        {"list", 'l', WZ_OPT_FLAG, NULL, "list the placement policies", offsetof(struct args, list), 0},
        {"check", 0, WZ_OPT_FLAG, NULL, "check all invariants after every event (slow)",
                offsetof(struct args, check), 0},
        {"no-index", 0, WZ_OPT_FLAG, NULL, "look at every node for every decision (slow; the same result)",
                offsetof(struct args, no_index), 0},
        {"quiet", 'q', WZ_OPT_FLAG, NULL, "no progress", offsetof(struct args, quiet), 0}, WZ_OPT_END};

/* ---- runs ---- */

struct job {
	struct wz_cli *cli;
	const struct args *a;
	struct wz_sim_progress progress;
	struct wz_churnset base;
	uint32_t load[LOADS_MAX], n_loads; /* permille */
	struct wz_sim_input *input; /* [n] */
	struct wz_churnset *set; /* [n x n_loads] */
	uint32_t n;
};

static void close_all(struct job *j)
{
	const struct wz_mem *mem = j->cli->mem;

	for (uint32_t i = 0; j->set && i < j->n * j->n_loads; i++)
		wz_churnset_release(&j->set[i], mem);
	for (uint32_t i = 0; j->input && i < j->n; i++)
		wz_sim_input_close(&j->input[i]);
	wz_mem_free(mem, j->set, j->n * j->n_loads * sizeof(*j->set));
	wz_mem_free(mem, j->input, j->n * sizeof(*j->input));
}

/* All inputs are read before the first run, so that a mistake in the last file costs no time. */
static int run_all(struct job *j, const struct wz_list *lists, struct wz_err *err)
{
	uint32_t runs = wz_churnset_runs(&j->base);
	int r = 0;

	j->progress.all = j->n * j->n_loads * runs;
	for (uint32_t i = 0; r == 0 && i < j->n; i++)
		r = wz_sim_input_open(&j->input[i], &j->a->nodes, lists->item[i], j->cli->mem, err);
	for (uint32_t i = 0; r == 0 && i < j->n * j->n_loads; i++) {
		struct wz_churnset *s = &j->set[i];
		*s = j->base;
		s->in = &j->input[i / j->n_loads].in;
		s->trace = wz_sim_trace_name(lists->item[i / j->n_loads]);
		s->base.load_permille = j->load[i % j->n_loads];
		j->progress.before = i * runs;
		r = wz_churnset_run(s, j->cli->mem, err);
	}
	return r;
}

/* ---- output ---- */

static void print_head(const struct wz_churnset *s, struct wz_buf *out)
{
	wz_buf_add(out, s->trace);
	wz_buf_addz(out, ": ");
	wz_buf_add_u64(out, s->in->nodes->n);
	wz_buf_addz(out, " nodes, ");
	wz_buf_add_fixed(out, (int64_t)(s->in->capacity_milli / 100), 1);
	wz_buf_addz(out, " devices; load ");
	wz_buf_add_fixed(out, s->base.load_permille, 1);
	wz_buf_addz(out, " % of devices, ");
	wz_fig_number(out, s->result[0].cpu_load, 1);
	wz_buf_addz(out, " % of CPUs; lives ");
	wz_buf_addz(out, s->base.life->name);
	wz_buf_addz(out, s->base.wait ? "; what does not fit waits; " : "; what does not fit is turned away; ");
	wz_buf_add_u64(out, s->seed_to - s->seed_from + 1);
	wz_buf_addz(out, s->seed_to > s->seed_from ? " seeds\n" : " seed (intervals are of batches)\n");
}

static void print_set(const struct job *j, const struct wz_churnset *s, bool first)
{
	struct wz_buf *out = &j->cli->out;

	if (j->a->jsonl) {
		for (uint32_t i = 0; i < wz_churnset_runs(s); i++)
			wz_churnset_jsonl_run(s, i, out);
		for (uint32_t i = 0; i < s->n_placements; i++)
			wz_churnset_jsonl_summary(s, i, out);
		return;
	}
	wz_buf_addz(out, first ? "" : "\n");
	print_head(s, out);
	wz_churnset_table(s, out);
}

static int write_csv(const struct job *j, struct wz_err *err)
{
	struct wz_buf b;
	int r;

	wz_buf_init(&b, j->cli->mem, TEXT_MAX);
	for (uint32_t i = 0; i < j->n * j->n_loads; i++)
		wz_churnset_csv(&j->set[i], i == 0, &b);
	r = b.status < 0 ? wz_err_set(err, b.status, "TooLarge", j->a->csv, WZ_STR(": too large to write"))
	                 : wz_file_write(j->a->csv.ptr, wz_buf_str(&b), 0644, err);
	wz_buf_release(&b);
	return r;
}

static int run(struct job *j, const struct wz_list *lists)
{
	struct wz_err err = {0};
	int r = 0;

	wz_sim_catch_interrupt();
	j->n = lists->n;
	j->input = wz_mem_zalloc(j->cli->mem, j->n * sizeof(*j->input));
	j->set = wz_mem_zalloc(j->cli->mem, j->n * j->n_loads * sizeof(*j->set));
	if (!j->input || !j->set)
		r = wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));
	if (r == 0)
		r = run_all(j, lists, &err);
	for (uint32_t i = 0; r == 0 && i < j->n * j->n_loads; i++)
		print_set(j, &j->set[i], i == 0);
	if (r == 0 && j->a->csv.len)
		r = write_csv(j, &err);
	close_all(j);
	if (r == -EINTR)
		wz_err_set(&err, r, "Interrupted", WZ_STR("interrupted: nothing was written"));
	return r < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

/* ---- arguments ---- */

/* "95%", "95", "97.5%" in permille. */
static bool parse_load(struct wz_str s, uint32_t *ret)
{
	uint32_t whole = 0, tenths = 0;
	size_t i = 0;

	if (s.len && s.ptr[s.len - 1] == '%')
		s.len--;
	for (; i < s.len && i < 5 && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
		whole = whole * 10 + (uint32_t)(s.ptr[i] - '0');
	if (i == 0)
		return false;
	if (i + 2 == s.len && s.ptr[i] == '.' && s.ptr[i + 1] >= '0' && s.ptr[i + 1] <= '9') {
		tenths = (uint32_t)(s.ptr[i + 1] - '0');
		i += 2;
	}
	*ret = whole * 10 + tenths;
	return i == s.len && *ret > 0 && *ret <= WZ_CHURN_LOAD_MAX;
}

static int check_args(struct job *j, const struct wz_verb *v)
{
	const struct args *a = j->a;

	j->base.base.wait = wz_str_eq(a->full, WZ_STR("wait"));
	if (a->full.len && !j->base.base.wait && !wz_str_eq(a->full, WZ_STR("reject")))
		return wz_cli_usage(v, "--full is reject or wait");
	if (a->patience && !j->base.base.wait)
		return wz_cli_usage(v, "--patience needs --full wait");
	if (a->window == 0)
		return wz_cli_usage(v, "--window is at least 1");
	j->base.base.life = a->lives.len ? wz_life_find(a->lives) : &wz_lives[0];
	if (!j->base.base.life)
		return wz_cli_usage(v, "--lives is philly, openb, acme or exp");
	if (a->load.n > LOADS_MAX)
		return wz_cli_usage(v, "at most 32 loads");
	j->n_loads = a->load.n ? a->load.n : 1;
	j->load[0] = 950;
	for (uint32_t i = 0; i < a->load.n; i++)
		if (!parse_load(a->load.item[i], &j->load[i]))
			return wz_cli_usage(
			        v, "--load is a percentage such as 95% or 97.5%, above 0 and at most 1000%");
	return 0;
}

static void fill_base(struct job *j)
{
	const struct args *a = j->a;

	j->base.seed_from = a->seeds.first;
	j->base.seed_to = a->seeds.last;
	j->base.workers = (uint32_t)a->workers;
	j->base.stop = &wz_sim_interrupted;
	j->base.base.patience_us = a->patience;
	j->base.base.warmup = (uint32_t)a->warmup;
	j->base.base.window = (uint32_t)a->window;
	j->base.base.no_index = a->no_index;
	j->base.base.check = a->check;
	if (!a->quiet && wz_tty_is(STDERR_FILENO)) {
		j->base.progress = wz_sim_show_progress;
		j->base.progress_ctx = &j->progress;
	}
}

static int sim_churn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.seeds = {42, 42}, .warmup = WARMUP, .window = WINDOW};
	const char *placement[WZ_LIST_MAX];
	const struct wz_list *lists = NULL;
	struct job j = {.cli = cli, .a = &a};
	struct wz_err err = {0};
	struct wz_arena arena;
	int r = wz_cli_opts(v, &a, argc, argv);

	if (r < 0)
		return WZ_EXIT_USAGE;
	if (a.list)
		return wz_sim_list_policies(cli);
	r = wz_sim_check_files(v, &a.nodes, &a.pods, &a.trace, r, &lists);
	if (r == 0)
		r = wz_sim_check_seeds(v, &a.seeds);
	if (r == 0)
		r = check_args(&j, v);
	if (r)
		return r;
	wz_arena_init(&arena, cli->mem, 1024);
	if (wz_sim_placements(&a.placement, &arena, placement, &j.base.n_placements, &err) < 0) {
		r = wz_cli_usage(v, err.text);
	} else {
		j.base.placement = placement;
		fill_base(&j);
		r = run(&j, lists);
	}
	wz_arena_release(&arena);
	return r;
}

const struct wz_verb wz_verb_sim_churn = {
        .name = "churn",
        .summary = "work arrives and leaves: whom does a placement policy refuse, or let wait?",
        .usage = "wz sim churn --nodes FILE --pods FILE [--load P%,...] [--placement NAME,...] [--seeds A-B] "
                 "[options]",
        .examples =
                "wz trace gen --like openb --seed 1 --nodes 100 --out /tmp/t\n"
                "wz sim churn --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --placement jigsaw,fgd --seeds 1-3\n"
                "wz sim churn --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --load 90%,95% --full wait "
                "--patience 1h\n",
        .opts = opts,
        .fn = sim_churn,
        .more = "The cluster is filled to the load; then pods drawn from the list arrive at random (Poisson) and "
                "leave after\n"
                "lives with a heavy tail. After the warm-up a window is measured: how much is allocated, and which "
                "part of the\n"
                "device-hours offered was refused, by class (cpu, share, 1, 2 to 3, 4 to 7, 8 devices and more). "
                "For the same\n"
                "seed every policy sees the same arrivals, so differences to the first policy have narrow "
                "intervals.\n",
};
