/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim run`: a trace of jobs replayed in time. The flags and the keys of --jsonl are a contract (spec/sim-run.md). */
#include "cli/sim_run.h"
#include "base/quant.h"
#include "os/file.h"
#include "sim/clusterspec.h"
#include "sim/figures.h"
#include "sim/formats.h"
#include "sim/runset.h"
#include "sim/sheet.h"

#define TEXT_MAX ((size_t)1 << 30)

static const struct wz_opt opts[] = {
        {"trace", 't', WZ_OPT_LIST, "FILE", "the jobs, in any trace format; further files: nodes, throughputs",
                offsetof(struct wz_sim_run_args, trace), 0},
        {"format", 'f', WZ_OPT_STRING, "NAME", "format of the trace (found by its first line)",
                offsetof(struct wz_sim_run_args, format), 0},
        {"cluster", 'c', WZ_OPT_STRING, "NxG[:MODEL],...", "nodes x GPUs, such as 8x8 or 8x1:v100,16x1:p100",
                offsetof(struct wz_sim_run_args, cluster), 0},
        {"nodes", 'n', WZ_OPT_LIST, "FILE", "the nodes, instead of --cluster",
                offsetof(struct wz_sim_run_args, nodes), 0},
        {"order", 'o', WZ_OPT_LIST, "NAME,...", "orders to run, with parameters (levelled:base=4); see --list",
                offsetof(struct wz_sim_run_args, order), 0},
        {"predict", 'p', WZ_OPT_STRING, "none|oracle|noise:SIGMA|history",
                "what orders are told of run times (none)", offsetof(struct wz_sim_run_args, predict), 0},
        {"unknown", 0, WZ_OPT_STRING, "PERCENT", "with noise: jobs without a prediction",
                offsetof(struct wz_sim_run_args, unknown), 0},
        {"bias", 0, WZ_OPT_STRING, "SIGMA", "with noise: of a factor that a template's jobs share",
                offsetof(struct wz_sim_run_args, bias), 0},
        {"restart-cost", 'r', WZ_OPT_STRING, "SECONDS",
                "devices held without progress at each restart (what the trace says, else 0)",
                offsetof(struct wz_sim_run_args, restart), 0},
        {"placement", 'P', WZ_OPT_STRING, "any|yarn|jigsaw", "count devices; fewest nodes; our core (any)",
                offsetof(struct wz_sim_run_args, placement), 0},
        {"queue", 'q', WZ_OPT_STRING, "NAME", "jobs of this queue (virtual cluster) only",
                offsetof(struct wz_sim_run_args, queue), 0},
        {"from", 0, WZ_OPT_STRING, "T", "submitted from: seconds, 38d, or a date",
                offsetof(struct wz_sim_run_args, from), 0},
        {"to", 0, WZ_OPT_STRING, "T", "submitted before", offsetof(struct wz_sim_run_args, to), 0},
        {"first", 0, WZ_OPT_STRING, "N", "leave out the first N of these jobs",
                offsetof(struct wz_sim_run_args, first), 0},
        {"last", 0, WZ_OPT_STRING, "N", "and all after the Nth", offsetof(struct wz_sim_run_args, last), 0},
        {"seeds", 's', WZ_OPT_RANGE, "A-B", "seeds of noise, failures and node order; default 1",
                offsetof(struct wz_sim_run_args, seeds), UINT32_MAX},
        {"mtbf", 0, WZ_OPT_STRING, "TIME", "mean time between failures of a node, such as 90d",
                offsetof(struct wz_sim_run_args, mtbf), 0},
        {"mttr", 0, WZ_OPT_STRING, "TIME", "how long a failed node is away (1h)",
                offsetof(struct wz_sim_run_args, mttr), 0},
        {"device-mtbf", 0, WZ_OPT_STRING, "TIME", "mean time between failures of a device, such as 365d",
                offsetof(struct wz_sim_run_args, device_mtbf), 0},
        {"device-mttr", 0, WZ_OPT_STRING, "TIME", "how long a failed device is away (1h)",
                offsetof(struct wz_sim_run_args, device_mttr), 0},
        {"jsonl", 0, WZ_OPT_FLAG, NULL, "one JSON object a line, one line a run",
                offsetof(struct wz_sim_run_args, jsonl), 0},
        {"jobs-csv", 0, WZ_OPT_STRING, "FILE", "write every job of every run",
                offsetof(struct wz_sim_run_args, jobs_csv), 0},
        {"html", 0, WZ_OPT_STRING, "FILE", "write a report: distributions, Gantt charts, comparison",
                offsetof(struct wz_sim_run_args, html), 0},
        {"list", 'l', WZ_OPT_FLAG, NULL, "list the orders", offsetof(struct wz_sim_run_args, list), 0}, WZ_OPT_END};

static int list_orders(struct wz_cli *cli)
{
	for (const struct wz_order_rule *const *r = wz_order_rules; *r; r++) {
		size_t from = cli->out.len;
		wz_buf_addz(&cli->out, (*r)->name);
		while (cli->out.len < from + 18)
			wz_buf_addc(&cli->out, ' ');
		wz_buf_addz(&cli->out, (*r)->summary);
		wz_buf_addc(&cli->out, '\n');
		for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && (*r)->param[i].name; i++) {
			wz_buf_addz(&cli->out, "                    ");
			wz_buf_addz(&cli->out, (*r)->param[i].name);
			wz_buf_addc(&cli->out, '=');
			wz_milli_format(&cli->out, (uint64_t)(*r)->param[i].usual);
			wz_buf_addz(&cli->out, "  ");
			wz_buf_addz(&cli->out, (*r)->param[i].help);
			wz_buf_addc(&cli->out, '\n');
		}
	}
	return WZ_EXIT_OK;
}

/* ---- values ---- */

static int number(
        const struct wz_verb *v, const char *name, struct wz_str s, int64_t unit, int64_t max, int64_t *ret)
{
	char text[160];
	struct wz_buf b;

	if (s.len == 0 || wz_decimal_parse(s, unit, max, ret) == 0)
		return 0;
	wz_buf_init_fixed(&b, text, sizeof(text));
	wz_buf_addz(&b, name);
	wz_buf_addz(&b, " is \"");
	wz_buf_add(&b, s);
	wz_buf_addz(&b, "\"; expected a number");
	return wz_cli_usage(v, wz_buf_z(&b));
}

/* A moment of the trace: a date, a duration since its start, or seconds. */
static int moment(const struct wz_verb *v, struct wz_str s, const struct wz_sim_tasks *tasks, int64_t *ret)
{
	uint64_t us;
	int64_t date;

	if (s.len == 0)
		return 0;
	if (wz_decimal_parse(s, WZ_SECOND_US, WZ_SIM_TIME_MAX_US, ret) == 0)
		return 0;
	if (wz_duration_parse(s, &us, NULL) == 0 && us < (uint64_t)WZ_SIM_TIME_MAX_US) {
		*ret = (int64_t)us;
		return 0;
	}
	if (wz_date_parse(s, &date) < 0)
		return wz_cli_usage(v,
		        "--from and --to take seconds (3600), a time since the trace's start (38d), or a date "
		        "(2017-10-01)");
	if (tasks->epoch_us == 0)
		return wz_cli_usage(
		        v, "--from and --to: this trace has no dates; give seconds or a time since its start");
	*ret = date > tasks->epoch_us ? date - tasks->epoch_us : 0;
	return 0;
}

static int duration(const struct wz_verb *v, const char *what, struct wz_str s, int64_t *ret)
{
	uint64_t us;

	if (s.len == 0)
		return 0;
	if (wz_duration_parse(s, &us, NULL) < 0 || us > (uint64_t)WZ_SIM_TIME_MAX_US)
		return wz_cli_usage(v, what);
	*ret = (int64_t)us;
	return 0;
}

static int parse_predict(const struct wz_verb *v, const struct wz_sim_run_args *a, struct wz_run_options *o)
{
	struct wz_str rest = a->predict, name = wz_str_split(&rest, ':');
	int64_t micro = 1000000, unknown = 0, bias = 0;
	int r;

	if (a->predict.len == 0 || wz_str_eq(a->predict, WZ_STR("none")))
		o->predict = WZ_PREDICT_NONE;
	else if (wz_str_eq(a->predict, WZ_STR("oracle")))
		o->predict = WZ_PREDICT_ORACLE;
	else if (wz_str_eq(a->predict, WZ_STR("history")))
		o->predict = WZ_PREDICT_HISTORY;
	else if (wz_str_eq(name, WZ_STR("noise")) &&
	         (!rest.ptr || wz_decimal_parse(rest, 1000000, 100000000, &micro) == 0))
		o->predict = WZ_PREDICT_NOISE;
	else
		return wz_cli_usage(
		        v, "--predict is none, oracle, history or noise:SIGMA with SIGMA up to 100 (noise:1)");
	o->sigma = (double)micro / 1e6;
	r = number(v, "--unknown", a->unknown, 10000, 1000000, &unknown);
	if (r == 0)
		r = number(v, "--bias", a->bias, 1000000, 100000000, &bias);
	o->unknown_ppm = (uint64_t)unknown;
	o->bias_sigma = (double)bias / 1e6;
	return r;
}

static int parse_options(const struct wz_verb *v, const struct wz_sim_run_args *a, struct wz_run_options *o)
{
	int r = parse_predict(v, a, o);

	o->placement = WZ_RUN_PLACEMENTS;
	o->restart_us = -1;
	for (unsigned i = 0; i < WZ_RUN_PLACEMENTS; i++)
		if (wz_str_eq(a->placement, wz_str(wz_run_placement_name[i])))
			o->placement = (enum wz_run_placement)i;
	if (r == 0 && o->placement == WZ_RUN_PLACEMENTS && a->placement.len)
		return wz_cli_usage(v, "--placement is any, yarn or jigsaw");
	if (o->placement == WZ_RUN_PLACEMENTS)
		o->placement = WZ_RUN_ANY;
	if (r == 0)
		r = number(v, "--restart-cost", a->restart, WZ_SECOND_US, INT64_C(86400) * 365 * WZ_SECOND_US,
		        &o->restart_us);
	o->mttr_us = o->device_mttr_us = INT64_C(3600) * WZ_SECOND_US;
	if (r == 0)
		r = duration(v, "--mtbf is a time such as 90d", a->mtbf, &o->mtbf_us);
	if (r == 0)
		r = duration(v, "--mttr is a time such as 1h", a->mttr, &o->mttr_us);
	if (r == 0)
		r = duration(v, "--device-mtbf is a time such as 365d", a->device_mtbf, &o->device_mtbf_us);
	if (r == 0)
		r = duration(v, "--device-mttr is a time such as 1h", a->device_mttr, &o->device_mttr_us);
	return r;
}

/* A part with '=' and no ':' goes on with the order before it: commas separate both. */
static int parse_orders(
        const struct wz_verb *v, const struct wz_sim_run_args *a, struct wz_runset_order *ret, uint32_t *ret_n)
{
	uint32_t n = 0;
	char text[512];
	struct wz_buf b;
	struct wz_err err = {0};

	for (uint32_t i = 0; i < a->order.n || (n == 0 && a->order.n == 0);) {
		wz_buf_init_fixed(&b, text, sizeof(text));
		if (a->order.n)
			wz_buf_add(&b, a->order.item[i]);
		for (i++; i < a->order.n && memchr(a->order.item[i].ptr, '=', a->order.item[i].len) &&
		          !memchr(a->order.item[i].ptr, ':', a->order.item[i].len);
		        i++) {
			wz_buf_addc(&b, ',');
			wz_buf_add(&b, a->order.item[i]);
		}
		if (n == WZ_SIM_ORDERS_MAX)
			return wz_cli_usage(v, "at most 32 orders at once");
		if (wz_order_parse(wz_buf_str(&b), &ret[n].rule, ret[n].param, &err) < 0)
			return wz_cli_usage(v, err.text);
		n++;
	}
	*ret_n = n;
	return 0;
}

/* ---- one trace ---- */

static int open_world(
        struct wz_sim_world *w, const struct wz_sim_run_args *a, const struct wz_mem *mem, struct wz_err *err)
{
	const char *file[2 * WZ_SIM_LISTS_MAX];
	const struct wz_trace_format *format = NULL;
	uint32_t n = 0;
	int r = wz_catalogue_init(&w->catalogue, mem);

	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory"));
	wz_sim_nodes_init(&w->nodes, mem, &w->catalogue);
	wz_sim_tasks_init(&w->tasks, mem);
	w->opened = true;
	for (uint32_t i = 0; i < a->nodes.n; i++)
		file[n++] = a->nodes.item[i].ptr;
	for (uint32_t i = 0; i < a->trace.n; i++)
		file[n++] = a->trace.item[i].ptr;
	if (a->format.len && !(format = wz_trace_format_find(a->format, err)))
		return -EINVAL;
	if (a->cluster.len)
		r = wz_clusterspec(a->cluster, &w->nodes, err);
	if (r == 0)
		r = wz_trace_load(file, n, format, mem, &w->nodes, &w->tasks, err);
	return r == 0 && w->more.len ? wz_clusterspec(w->more, &w->nodes, err) : r;
}

void wz_sim_world_close(struct wz_sim_world *w)
{
	if (!w->opened)
		return;
	wz_runset_release(&w->set);
	if (w->in.mem)
		wz_run_input_release(&w->in);
	wz_sim_tasks_release(&w->tasks);
	wz_sim_nodes_release(&w->nodes);
	wz_catalogue_release(&w->catalogue);
}

static int write_text(struct wz_buf *b, struct wz_str path, struct wz_err *err)
{
	int r = b->status < 0 ? wz_err_set(err, b->status, "TooLarge", path, WZ_STR(": too large to write"))
	                      : wz_file_write(path.ptr, wz_buf_str(b), 0644, err);
	wz_buf_release(b);
	return r;
}

static void compare(struct wz_cli *cli, const struct wz_runset *s)
{
	struct wz_err err = {0};

	if (s->n_orders < 2)
		return;
	wz_buf_addz(&cli->out, "\nmean JCT against ");
	wz_order_format(s->order[0].rule, s->order[0].param, &cli->out);
	wz_buf_addz(&cli->out, " (95 % interval, paired bootstrap over jobs):\n");
	for (uint32_t k = 1; k < s->n_orders; k++) {
		struct wz_runset_pair p;
		if (wz_runset_compare(s, k, &p, &err) < 0)
			return;
		wz_buf_addz(&cli->out, "  ");
		wz_order_format(s->order[k].rule, s->order[k].param, &cli->out);
		wz_buf_addz(&cli->out, "  x ");
		wz_buf_add_fixed(&cli->out, (int64_t)(p.ratio * 1000 + 0.5), 3);
		wz_buf_addz(&cli->out, "  (");
		wz_buf_add_fixed(&cli->out, (int64_t)(p.low * 1000 + 0.5), 3);
		wz_buf_addz(&cli->out, " .. ");
		wz_buf_add_fixed(&cli->out, (int64_t)(p.high * 1000 + 0.5), 3);
		wz_buf_addz(&cli->out, ")\n");
	}
}

/* Of the first seed: what the predictor knew, and what services got. */
static void more_figures(struct wz_cli *cli, const struct wz_runset *s)
{
	for (uint32_t k = 0; k < s->n_orders; k++) {
		const struct wz_run_result *r = &s->result[(size_t)k * wz_runset_seeds(s)];
		if (r->known_pct == r->known_pct) {
			wz_buf_addz(&cli->out, "\npredictions under ");
			wz_order_format(s->order[k].rule, s->order[k].param, &cli->out);
			wz_buf_addz(&cli->out, ": ");
			wz_fig_number(&cli->out, r->known_pct, 1);
			wz_buf_addz(&cli->out, " % known, the 80 % band held ");
			wz_fig_number(&cli->out, r->covered_pct, 1);
			wz_buf_addz(&cli->out, " % of run times");
		}
		if (r->service_jobs) {
			wz_buf_addz(&cli->out, "\nservices under ");
			wz_order_format(s->order[k].rule, s->order[k].param, &cli->out);
			wz_buf_addz(&cli->out, ": ");
			wz_fig_number(&cli->out, r->service_pct, 3);
			wz_buf_addz(&cli->out, " % of the replica time that their load took was served");
		}
	}
	wz_buf_addc(&cli->out, '\n');
}

static void head(struct wz_cli *cli, const struct wz_sim_world *w, const struct wz_sim_run_args *a)
{
	struct wz_buf *b = &cli->out;

	wz_buf_add(b, w->set.trace);
	wz_buf_addz(b, ": ");
	wz_buf_add_u64(b, w->in.n);
	wz_buf_addz(b, " jobs");
	if (w->in.left_out) {
		wz_buf_addz(b, " (");
		wz_buf_add_u64(b, w->in.left_out);
		wz_buf_addz(b, " left out: no devices, no run time, or larger than the cluster)");
	}
	wz_buf_addz(b, ", ");
	wz_buf_add_u64(b, w->in.gpus);
	wz_buf_addz(b, " GPUs, placement ");
	wz_buf_addz(b, wz_run_placement_name[w->set.base.placement]);
	wz_buf_addz(b, ", restart cost ");
	if (w->set.base.restart_us < 0) {
		wz_buf_addz(b, "as the trace says, predictions ");
	} else {
		wz_buf_add_fixed(b, w->set.base.restart_us / 100000, 1);
		wz_buf_addz(b, " s, predictions ");
	}
	wz_buf_add(b, a->predict.len ? a->predict : WZ_STR("none"));
	wz_buf_addz(b, ", ");
	wz_buf_add_u64(b, wz_runset_seeds(&w->set));
	wz_buf_addz(b, wz_runset_seeds(&w->set) > 1 ? " seeds\n" : " seed\n");
}

static int output(struct wz_cli *cli, struct wz_sim_world *w, const struct wz_sim_run_args *a, struct wz_err *err)
{
	const struct wz_runset *s = &w->set;
	struct wz_buf b;
	int r = 0;

	if (a->jsonl) {
		for (uint32_t k = 0; k < s->n_orders; k++)
			for (uint32_t i = 0; i < wz_runset_seeds(s); i++)
				wz_runset_jsonl(s, k, i, &cli->out);
	} else {
		head(cli, w, a);
		wz_runset_table(s, &cli->out);
		compare(cli, s);
		more_figures(cli, s);
	}
	if (a->jobs_csv.len) {
		wz_buf_init(&b, cli->mem, TEXT_MAX);
		wz_runset_jobs_csv(s, true, &b);
		r = write_text(&b, a->jobs_csv, err);
	}
	if (r == 0 && a->html.len) {
		wz_buf_init(&b, cli->mem, TEXT_MAX);
		wz_runset_html(s, &b);
		r = write_text(&b, a->html, err);
	}
	return r;
}

int wz_sim_world_run(struct wz_cli *cli, const struct wz_verb *v, const struct wz_sim_run_args *a,
        struct wz_sim_world *w, struct wz_run_select *select, struct wz_err *err)
{
	int64_t first = 0, last = 0;
	int r = parse_orders(v, a, w->order, &w->set.n_orders);

	select->queue = a->queue;
	if (r == 0)
		r = parse_options(v, a, &w->set.base);
	if (r == 0)
		r = number(v, "--first", a->first, 1, UINT32_MAX, &first);
	if (r == 0)
		r = number(v, "--last", a->last, 1, UINT32_MAX, &last);
	if (r > 0)
		return r;
	select->first = (uint32_t)first;
	select->last = (uint32_t)last;
	r = open_world(w, a, cli->mem, err);
	if (r < 0)
		return r;
	if (w->nodes.n == 0)
		return wz_cli_usage(v, "no nodes: give --cluster NxG or --nodes FILE");
	r = moment(v, a->from, &w->tasks, &select->from_us);
	if (r == 0)
		r = moment(v, a->to, &w->tasks, &select->to_us);
	if (r > 0)
		return r;
	r = wz_run_input_make(&w->in, &w->nodes, &w->tasks, select, cli->mem, err);
	if (r < 0)
		return r;
	wz_sim_catch_interrupt();
	w->set.trace = wz_sim_trace_name(a->trace.item[0]);
	w->set.predict = a->predict.len ? a->predict : WZ_STR("none");
	w->set.in = &w->in;
	w->set.order = w->order;
	w->set.base.stop = &wz_sim_interrupted;
	w->set.seed_from = a->seeds.first;
	w->set.seed_to = a->seeds.last;
	return wz_runset_run(&w->set, cli->mem, err);
}

static int check(const struct wz_verb *v, const struct wz_sim_run_args *a, int operands)
{
	if (operands > 0)
		return wz_cli_usage(v, "this verb takes options only: --trace FILE --cluster 8x8");
	if (a->trace.n == 0)
		return wz_cli_usage(v, "--trace FILE is needed");
	if (a->nodes.n + a->trace.n > WZ_SIM_LISTS_MAX)
		return wz_cli_usage(v, "at most 64 files");
	if (a->cluster.len && a->nodes.n)
		return wz_cli_usage(v, "give --cluster or --nodes, not both");
	return wz_sim_check_seeds(v, &a->seeds);
}

typedef int print_fn(
        struct wz_cli *cli, struct wz_sim_world *w, const struct wz_sim_run_args *a, struct wz_err *err);

static int go(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv, print_fn *print)
{
	struct wz_sim_run_args a = {.seeds = {1, 1}};
	struct wz_sim_world *w;
	struct wz_run_select select = {0};
	struct wz_err err = {0};
	int r = wz_cli_opts(v, &a, argc, argv);

	if (r < 0)
		return WZ_EXIT_USAGE;
	if (a.list)
		return list_orders(cli);
	r = check(v, &a, r);
	if (r > 0)
		return r;
	w = wz_mem_zalloc(cli->mem, sizeof(*w));
	if (!w) {
		wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));
		return wz_cli_fail(&err);
	}
	r = wz_sim_world_run(cli, v, &a, w, &select, &err);
	if (r == 0)
		r = print(cli, w, &a, &err);
	wz_sim_world_close(w);
	wz_mem_free(cli->mem, w, sizeof(*w));
	if (r == -EINTR)
		wz_err_set(&err, r, "Interrupted", WZ_STR("interrupted: nothing was written"));
	return r < 0 ? wz_cli_fail(&err) : r;
}

static int sim_run(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	return go(cli, v, argc, argv, output);
}

static int sim_validate(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	return go(cli, v, argc, argv, wz_sim_validate_print);
}

const struct wz_verb wz_verb_sim_run = {
        .name = "run",
        .summary = "replay a trace of jobs in time: orders, prediction, preemption",
        .usage = "wz sim run --trace FILE --cluster 8x8 [--order NAME,...] [--predict noise:1] [options]",
        .examples = "wz trace gen --like jobs --seed 1 --out /tmp/jobs\n"
                    "wz sim run --trace /tmp/jobs/trace.wz --order levelled,fifo-skip,srsf --restart-cost 60\n"
                    "wz sim run --trace trace3.csv --cluster 8x8 --placement yarn --order srtf --jsonl\n",
        .opts = opts,
        .fn = sim_run,
        .more = "Jobs arrive at their submit times and hold their devices until their run time is done, unless the "
                "order "
                "takes\nthem away; then they wait and go on from their last checkpoint. With several orders, each "
                "is "
                "compared with the\nfirst.\n",
};

const struct wz_verb wz_verb_sim_validate = {
        .name = "validate",
        .summary = "compare simulated with recorded starts of a trace that has them",
        .usage = "wz sim validate --trace FILE --cluster 8x8 [--order NAME,...] [options]",
        .examples = "wz sim validate --trace site/trace.wz --order easy,slurm,fifo\n",
        .opts = opts,
        .fn = sim_validate,
        .more = "The order whose waits come nearest to the recorded ones is the best model of the cluster that the "
                "trace is of;\n"
                "how near it comes bounds what a what-if on this trace can be trusted with.\n",
};
