/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim report`: the packing experiment as one page: the published policies and ours, the bound, what each part of ours
 * is worth, power and price. What one would run by hand with several calls of `wz sim pack`. */
#include "base/check.h"
#include "cli/sim_bound.h"
#include "cli/sim_common.h"
#include "os/file.h"
#include "os/pool.h"
#include "os/tty.h"
#include "sim/report.h"

#include <unistd.h>

struct args {
	struct wz_list nodes, pods, trace;
	struct wz_range seeds;
	uint64_t workers, hold;
	struct wz_str out, title;
	bool quiet;
};

static const struct wz_opt opts[] = {
        {"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes (any trace format)", offsetof(struct args, nodes), 0},
        {"pods", 'p', WZ_OPT_LIST, "FILE", "the pods; several: one chapter each", offsetof(struct args, pods), 0},
        {"trace", 't', WZ_OPT_LIST, "FILE", "one file with nodes and work, instead of the two",
                offsetof(struct args, trace), 0},
        {"out", 'o', WZ_OPT_STRING, "FILE", "the page to write; default report.html", offsetof(struct args, out),
                0},
        {"seeds", 's', WZ_OPT_RANGE, "A-B", "seeds of arrivals and node order; default 42-51",
                offsetof(struct args, seeds), UINT32_MAX},
        {"hold-prefix", 0, WZ_OPT_U64, "PERCENT", "the bound when what arrived until then is held; default 95",
                offsetof(struct args, hold), 100},
        {"title", 0, WZ_OPT_STRING, "TEXT", "the title of the page", offsetof(struct args, title), 0},
        {"workers", 'w', WZ_OPT_U64, "N", "threads; default: one for each CPU", offsetof(struct args, workers),
                WZ_POOL_THREADS_MAX},
        {"quiet", 'q', WZ_OPT_FLAG, NULL, "no progress", offsetof(struct args, quiet), 0}, WZ_OPT_END};

static const char *const compared[] = {
        "jigsaw", "fgd", "firstfit", "bestfit", "packing", "clustering", "dotprod", "random"};
static const char *const parts[] = {"jigsaw", "jigsaw:stranding=0", "jigsaw:waste=0", "jigsaw:order=0,order-cpu=0",
        "jigsaw:scarcity=0", "jigsaw:slots=0"};

struct chapter {
	struct wz_sim_input input;
	struct wz_packset set, ablation;
	struct wz_cli_bound bound;
};

struct work {
	struct wz_cli *cli;
	const struct args *a;
	struct wz_sim_progress progress;
	struct chapter *chapter;
	uint32_t n;
};

static struct wz_packset packset(struct work *w, const struct wz_pack_input *in, struct wz_str trace,
        const char *const *placement, uint32_t n, bool draw)
{
	bool shown = !w->a->quiet && wz_tty_is(STDERR_FILENO);

	return (struct wz_packset){.in = in,
	        .trace = trace,
	        .placement = placement,
	        .n_placements = n,
	        .seed_from = w->a->seeds.first,
	        .seed_to = w->a->seeds.last,
	        .workers = (uint32_t)w->a->workers,
	        .stop = &wz_sim_interrupted,
	        .base = {.draw = draw},
	        .progress = shown ? wz_sim_show_progress : NULL,
	        .progress_ctx = &w->progress};
}

static int run_chapter(struct work *w, struct chapter *c, struct wz_err *err)
{
	const struct wz_mem *mem = w->cli->mem;
	int r = wz_cli_bound_of(&c->set, (uint32_t)w->a->hold, mem, &c->bound, err);

	if (r == -EOPNOTSUPP) { /* built without a solver: the page has no bound, and a warning says so */
		wz_cli_warn(wz_str(err->text));
		r = 0;
	}
	if (r == 0)
		r = wz_packset_run(&c->set, mem, err);
	w->progress.before += wz_packset_runs(&c->set);
	if (r == 0)
		r = wz_packset_run(&c->ablation, mem, err);
	w->progress.before += wz_packset_runs(&c->ablation);
	return r;
}

static int run_all(struct work *w, const struct wz_list *lists, struct wz_err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->n; i++) {
		struct chapter *c = &w->chapter[i];
		struct wz_str name = wz_sim_trace_name(lists->item[i]);
		c->set = packset(w, &c->input.in, name, compared, WZ_ARRAY_LEN(compared), true);
		c->ablation = packset(w, &c->input.in, name, parts, WZ_ARRAY_LEN(parts), false);
		r = wz_sim_input_open(&c->input, &w->a->nodes, lists->item[i], w->cli->mem, err);
		w->progress.all += wz_packset_runs(&c->set) + wz_packset_runs(&c->ablation);
	}
	for (uint32_t i = 0; r == 0 && i < w->n; i++)
		r = run_chapter(w, &w->chapter[i], err);
	return r;
}

static int write_page(const struct work *w, struct wz_str how, struct wz_err *err)
{
	struct wz_report_set set[WZ_SIM_LISTS_MAX] = {0};
	struct wz_report report = {
	        .set = set, .n_sets = w->n, .title = w->a->title, .how = how, .version = wz_str(wz_version)};
	struct wz_buf b;
	int r;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct chapter *c = &w->chapter[i];
		set[i] = (struct wz_report_set){.runs = &c->set,
		        .ablation = &c->ablation,
		        .bound = c->bound.trace.ptr ? c->bound.pct : NULL};
	}
	wz_buf_init(&b, w->cli->mem, WZ_REPORT_BYTES_MAX);
	wz_report_html(&report, &b);
	r = b.status < 0 ? wz_err_set(err, b.status, "TooLarge", WZ_STR("the page is too large to write"))
	                 : wz_file_write(w->a->out.ptr, wz_buf_str(&b), 0644, err);
	wz_buf_release(&b);
	return r;
}

static int run(struct work *w, const struct wz_list *lists, struct wz_str how)
{
	struct wz_err err = {0};
	int r = -ENOMEM;

	wz_sim_catch_interrupt();
	w->n = lists->n;
	w->chapter = wz_mem_zalloc(w->cli->mem, w->n * sizeof(*w->chapter));
	if (!w->chapter)
		wz_err_set(&err, r, "OutOfMemory", WZ_STR("no memory"));
	else
		r = run_all(w, lists, &err);
	if (r == 0)
		r = write_page(w, how, &err);
	for (uint32_t i = 0; w->chapter && i < w->n; i++) {
		wz_packset_release(&w->chapter[i].set, w->cli->mem);
		wz_packset_release(&w->chapter[i].ablation, w->cli->mem);
		wz_sim_input_close(&w->chapter[i].input);
	}
	wz_mem_free(w->cli->mem, w->chapter, w->n * sizeof(*w->chapter));
	if (r == -EINTR)
		wz_err_set(&err, r, "Interrupted", WZ_STR("interrupted: nothing was written"));
	if (r < 0)
		return wz_cli_fail(&err);
	wz_buf_add(&w->cli->out, w->a->out);
	wz_buf_addc(&w->cli->out, '\n');
	return WZ_EXIT_OK;
}

static int sim_report(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.seeds = {42, 51}, .hold = 95, .out = WZ_STR("report.html")};
	struct work w = {.cli = cli, .a = &a};
	const struct wz_list *lists = NULL;
	struct wz_buf how;
	int r;

	wz_buf_init(&how, cli->mem, 65536);
	wz_sim_command_line("wz sim report", argc, argv, &how);
	r = wz_cli_opts(v, &a, argc, argv);
	if (r >= 0)
		r = wz_sim_check_files(v, &a.nodes, &a.pods, &a.trace, r, &lists);
	else
		r = WZ_EXIT_USAGE;
	if (r == 0)
		r = wz_sim_check_seeds(v, &a.seeds);
	if (r == 0)
		r = run(&w, lists, wz_buf_str(&how));
	wz_buf_release(&how);
	return r;
}

const struct wz_verb wz_verb_sim_report = {
        .name = "report",
        .summary = "the packing experiment as one page, in English and Chinese",
        .usage = "wz sim report --nodes FILE --pods FILE [--seeds A-B] [--out FILE]",
        .examples = "wz trace gen --like openb --seed 1 --out /tmp/t\n"
                    "wz sim report --nodes /tmp/t/nodes.csv --pods /tmp/t/pods.csv --seeds 42-44 --out "
                    "/tmp/t/report.html\n",
        .opts = opts,
        .fn = sim_report,
        .more = "Runs the published policies and ours on the same arrivals, the LP bound, ours with each of its "
                "parts off, and\n"
                "measures power and price. The page needs nothing beside it and no network.\n",
};
