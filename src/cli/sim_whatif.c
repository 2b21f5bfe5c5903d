/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim validate` and `wz whatif TRACE`: what a replay says of the cluster that the trace is of, and of one that could be bought. */
#include "cli/sim_run.h"

#include "base/rng.h"
#include "core/draw.h"
#include "sim/figures.h"
#include "sim/sheet.h"

#include <math.h>
#include <stdlib.h>

#define RESAMPLES 1000

static const struct wz_run_result *result(const struct wz_sim_world *w, uint32_t order, uint32_t seed)
{
	return &w->set.result[(size_t)order * wz_runset_seeds(&w->set) + seed];
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return a < b ? -1 : a > b;
}

/* ---- validate ---- */

static void validate_one(struct wz_cli *cli, const struct wz_sim_world *w, uint32_t order, double *error)
{
	const struct wz_run_result *r = result(w, order, 0);
	struct wz_buf *b = &cli->out;
	double recorded = 0, simulated = 0;
	uint32_t n = 0, near = 0;
	size_t from = b->len;

	for (uint32_t j = 0; j < w->in.n; j++) {
		const struct wz_sim_task *t = &w->tasks.task[w->in.job[j].task];
		double was = (double)(t->start_us - t->submit_us) / 1e6,
		       is = (double)(r->out[j].first_start_us - w->in.job[j].submit_us) / 1e6;
		if (t->start_us < 0 || r->out[j].first_start_us < 0 || w->in.job[j].replica)
			continue;
		recorded += was;
		simulated += is;
		error[n] = fabs(was - is);
		near += error[n] <= fmax(300, 0.2 * was);
		n++;
	}
	qsort(error, n, sizeof(*error), by_value);
	wz_order_format(w->order[order].rule, w->order[order].param, b);
	wz_fig_pad(b, from, 24);
	wz_fig_cell(b, n, 0, 8);
	wz_fig_cell(b, n ? recorded / n : NAN, 0, 14);
	wz_fig_cell(b, n ? simulated / n : NAN, 0, 14);
	wz_fig_cell(b, n ? error[n / 2] : NAN, 0, 14);
	wz_fig_cell(b, n ? error[n * 9 / 10] : NAN, 0, 14);
	wz_fig_cell(b, n ? 100.0 * near / n : NAN, 1, 10);
	wz_buf_addc(b, '\n');
}

int wz_sim_validate_print(
        struct wz_cli *cli, struct wz_sim_world *w, const struct wz_sim_run_args *a, struct wz_err *err)
{
	double *error = wz_mem_zalloc(cli->mem, w->in.n * sizeof(*error));
	uint32_t with = 0;

	(void)a;
	if (!error)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));
	for (uint32_t j = 0; j < w->in.n; j++)
		with += w->tasks.task[w->in.job[j].task].start_us >= 0;
	if (with) {
		wz_buf_addz(&cli->out, "order                       jobs   wait then s  simulated s  median error  "
		                       "   90 % error   near %\n");
		for (uint32_t k = 0; k < w->set.n_orders; k++)
			validate_one(cli, w, k, error);
		wz_buf_addz(&cli->out,
		        "near: the simulated wait is within 5 minutes, or a fifth, of the recorded one\n");
	}
	wz_mem_free(cli->mem, error, w->in.n * sizeof(*error));
	return with ? 0
	            : wz_err_set(err, -ENOENT, "NoStarts",
	                      WZ_STR("no job of this trace has a recorded start to compare with"));
}

/* ---- what if ---- */

/* COUNTxMODEL (nodes of eight devices) or COUNTxGPUSxMODEL, as --cluster has it. */
static int add_nodes(struct wz_str text, struct wz_buf *spec)
{
	struct wz_str model = text, count = wz_str_split(&model, 'x'), rest = model,
	              gpus = wz_str_split(&rest, 'x');
	uint64_t n;

	if (wz_str_parse_u64(count, &n) < 0 || n == 0 || !model.ptr || model.len == 0)
		return -EINVAL;
	wz_buf_add(spec, count);
	if (rest.ptr && wz_str_parse_u64(gpus, &n) == 0) {
		wz_buf_addc(spec, 'x');
		wz_buf_add(spec, gpus);
		model = rest;
	} else {
		wz_buf_addz(spec, "x8");
	}
	wz_buf_addc(spec, ':');
	wz_buf_add(spec, model);
	return 0;
}

/* queue.NAME.limit=N or gpu:N. */
static int limit_of(struct wz_str set, struct wz_run_limit *ret)
{
	struct wz_str value = set, key = wz_str_split(&value, '='), tail = WZ_STR(".limit");
	int64_t n = 0;

	if (!value.ptr || !wz_str_starts(key, WZ_STR("queue.")) || key.len < 13 ||
	        !wz_str_eq((struct wz_str){key.ptr + key.len - tail.len, tail.len}, tail))
		return -EINVAL;
	if (wz_str_starts(value, WZ_STR("gpu:")))
		value = (struct wz_str){value.ptr + 4, value.len - 4};
	if (wz_decimal_parse(value, 1, UINT32_MAX, &n) < 0)
		return -EINVAL;
	*ret = (struct wz_run_limit){{key.ptr + 6, key.len - 6 - tail.len}, (uint32_t)n};
	return 0;
}

static const struct row {
	const char *name;
	size_t offset;
	unsigned decimals;
} rows[] = {{"mean from submission to end, s", offsetof(struct wz_run_result, mean_jct_s), 0},
        {"half of the jobs within, s", offsetof(struct wz_run_result, p50_jct_s), 0},
        {"99 % of the jobs within, s", offsetof(struct wz_run_result, p99_jct_s), 0},
        {"mean wait, s", offsetof(struct wz_run_result, mean_wait_s), 0},
        {"devices in use, part", offsetof(struct wz_run_result, utilisation), 3},
        {"all done after, s", offsetof(struct wz_run_result, makespan_s), 0},
        {"preemptions per job", offsetof(struct wz_run_result, preemptions_per_job), 2},
        {"energy, kWh", offsetof(struct wz_run_result, energy_kwh), 0},
        {"device hours used, USD", offsetof(struct wz_run_result, cost), 0}};

static double mean_of(const struct wz_sim_world *w, size_t offset)
{
	double sum = 0, v;

	for (uint32_t s = 0; s < wz_runset_seeds(&w->set); s++) {
		memcpy(&v, (const char *)result(w, 0, s) + offset, sizeof(v));
		sum += v;
	}
	return sum / wz_runset_seeds(&w->set);
}

/* What all devices cost an hour, used or not. */
static double price_usd(const struct wz_sim_world *w)
{
	double sum = 0;

	for (uint32_t i = 0; i < w->nodes.n; i++)
		for (uint32_t d = 0; d < w->nodes.node[i].n_devices; d++)
			sum += wz_draw_of(&w->catalogue, w->nodes.node[i].device[d].model.v).price_musd / 1000.0;
	return sum;
}

/* Paired by job: what the change does to the mean, by bootstrap over jobs and seeds. */
static void confidence(const struct wz_sim_world *now, const struct wz_sim_world *then, double *ret_low,
        double *ret_high, const struct wz_mem *mem)
{
	uint32_t n = now->in.n < then->in.n ? now->in.n : then->in.n;
	double *ratio = wz_mem_zalloc(mem, RESAMPLES * sizeof(*ratio));
	struct wz_rng rng;

	*ret_low = *ret_high = NAN;
	if (!ratio)
		return;
	wz_rng_seed(&rng, 1);
	for (int k = 0; k < RESAMPLES; k++) {
		double a = 0, b = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t j = (uint32_t)wz_rng_below(&rng, n),
			         s = (uint32_t)wz_rng_below(&rng, wz_runset_seeds(&now->set));
			const struct wz_run_outcome *x = &result(now, 0, s)->out[j],
			                            *y = &result(then, 0, s)->out[j];
			if (x->end_us < 0 || y->end_us < 0)
				continue;
			a += (double)(x->end_us - now->in.job[j].submit_us);
			b += (double)(y->end_us - then->in.job[j].submit_us);
		}
		ratio[k] = a > 0 ? b / a : 1;
	}
	qsort(ratio, RESAMPLES, sizeof(*ratio), by_value);
	*ret_low = ratio[RESAMPLES / 40];
	*ret_high = ratio[RESAMPLES - 1 - RESAMPLES / 40];
	wz_mem_free(mem, ratio, RESAMPLES * sizeof(*ratio));
}

static void head(struct wz_buf *b, const struct wz_whatif_ask *q, const struct wz_sim_world *now,
        const struct wz_sim_world *then)
{
	wz_buf_addz(b, "What if, on ");
	wz_buf_add(b, now->set.trace);
	wz_buf_addz(b, ": ");
	wz_buf_add_u64(b, now->in.n);
	wz_buf_addz(b, " jobs, ");
	wz_buf_add_u64(b, now->in.gpus);
	wz_buf_addz(b, " GPUs now, ");
	wz_buf_add_u64(b, then->in.gpus);
	wz_buf_addz(b, " then");
	wz_buf_addz(b, q->add.len ? "; nodes added: " : "");
	wz_buf_add(b, q->add);
	wz_buf_addz(b, q->set.len ? "; " : "");
	wz_buf_add(b, q->set);
	wz_buf_addz(b, q->order.len ? "; order " : "");
	wz_buf_add(b, q->order);
	wz_buf_addz(b, "\n\n                                             now          then        change\n");
}

static void page(
        struct wz_cli *cli, const struct wz_whatif_ask *q, struct wz_sim_world *now, struct wz_sim_world *then)
{
	struct wz_buf *b = &cli->out;
	double low, high, month = (price_usd(then) - price_usd(now)) * 730;
	double saved_h = (mean_of(now, rows[0].offset) - mean_of(then, rows[0].offset)) / 3600;
	double jobs_month = now->in.to_us > now->in.from_us
	                            ? now->in.n / ((double)(now->in.to_us - now->in.from_us) / 3.6e9) * 730
	                            : 0;

	head(b, q, now, then);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double x = mean_of(now, rows[i].offset), y = mean_of(then, rows[i].offset);
		size_t from = b->len;
		wz_buf_addz(b, rows[i].name);
		wz_fig_pad(b, from, 36);
		wz_fig_cell(b, x, rows[i].decimals, 12);
		wz_fig_cell(b, y, rows[i].decimals, 14);
		wz_fig_cell(b, x != 0 ? 100 * (y / x - 1) : NAN, 1, 12);
		wz_buf_addz(b, " %\n");
	}
	confidence(now, then, &low, &high, cli->mem);
	wz_buf_addz(b, "\nConfidence: the mean becomes x ");
	wz_fig_number(b, low, 3);
	wz_buf_addz(b, " to x ");
	wz_fig_number(b, high, 3);
	wz_buf_addz(b, high < 1  ? " (95 %): jobs end sooner.\nMoney: "
	               : low > 1 ? " (95 %): jobs end later.\nMoney: "
	                         : " (95 %): on this trace it cannot be told from no change.\nMoney: ");
	wz_fig_number(b, price_usd(now), 2);
	wz_buf_addz(b, " USD an hour for all devices now, ");
	wz_fig_number(b, price_usd(then), 2);
	wz_buf_addz(b, " then; ");
	wz_fig_number(b, month, 0);
	wz_buf_addz(b, " USD a month more");
	if (saved_h > 0 && jobs_month > 0 && month > 0) {
		wz_buf_addz(b, ", ");
		wz_fig_number(b, month / (saved_h * jobs_month), 2);
		wz_buf_addz(b, " USD for each hour that a job ends sooner");
	}
	wz_buf_addz(b, ".\nPrices are cloud on-demand medians where known, else in proportion to compute units. "
	               "Arrivals are those of the trace: users\n"
	               "who would submit more to a faster cluster are not in it. A trace without speeds takes all "
	               "devices as alike.\n");
}

int wz_cli_whatif_trace(struct wz_cli *cli, const struct wz_verb *v, const struct wz_whatif_ask *q)
{
	struct wz_sim_world *w = wz_mem_zalloc(cli->mem, 2 * sizeof(*w));
	struct wz_sim_run_args a = {
	        .seeds = q->seeds, .predict = q->predict, .restart = q->restart, .cluster = q->cluster};
	struct wz_run_select plain = {0}, changed = {0};
	struct wz_run_limit limit;
	char text[256];
	struct wz_buf add;
	struct wz_err err = {0};
	int r = w ? 0 : wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("no memory"));

	wz_buf_init_fixed(&add, text, sizeof(text));
	a.trace.n = 1;
	a.trace.item[0] = q->trace;
	if (r == 0 && !q->add.len && !q->set.len && !q->order.len)
		r = wz_cli_usage(v, "what is to change? --add-nodes, --set queue.NAME.limit=GPUS, --order");
	if (r == 0 && q->set.len && limit_of(q->set, &limit) < 0)
		r = wz_cli_usage(v, "on a trace, --set is queue.NAME.limit=GPUS");
	if (r == 0 && q->add.len && add_nodes(q->add, &add) < 0)
		r = wz_cli_usage(
		        v, "--add-nodes is COUNTxMODEL such as 4xH100 (eight devices each), or COUNTxGPUSxMODEL");
	if (r == 0)
		r = wz_sim_world_run(cli, v, &a, &w[0], &plain, &err);
	if (r == 0) {
		changed.limit = &limit;
		changed.n_limits = q->set.len ? 1 : 0;
		a.order.n = q->order.len ? 1 : 0;
		a.order.item[0] = q->order;
		w[1].more = wz_buf_str(&add);
		r = wz_sim_world_run(cli, v, &a, &w[1], &changed, &err);
	}
	if (r == 0)
		page(cli, q, &w[0], &w[1]);
	for (int i = 0; w && i < 2; i++)
		wz_sim_world_close(&w[i]);
	if (w)
		wz_mem_free(cli->mem, w, 2 * sizeof(*w));
	return r < 0 ? wz_cli_fail(&err) : r;
}
