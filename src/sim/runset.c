/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/runset.h"

#include "base/rng.h"
#include "sim/figures.h"
#include "sim/rounds.h"

#include <math.h>
#include <stdlib.h>

int wz_runset_run(struct wz_runset *s, const struct wz_mem *mem, struct wz_err *err)
{
	uint32_t seeds = wz_runset_seeds(s);
	int r = 0;

	s->mem = mem;
	s->result = wz_mem_zalloc(mem, (size_t)s->n_orders * seeds * sizeof(*s->result));
	if (!s->result)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the results"));
	for (uint32_t k = 0; r == 0 && k < s->n_orders; k++)
		for (uint32_t i = 0; r == 0 && i < seeds; i++) {
			struct wz_run_options o = s->base;
			struct wz_run_result *res = &s->result[(size_t)k * seeds + i];
			o.order = s->order[k].rule;
			memcpy(o.param, s->order[k].param, sizeof(o.param));
			o.seed = s->seed_from + i;
			r = wz_rounds_wanted(s->in, &o) ? wz_rounds(s->in, &o, mem, res, err)
			                                : wz_run(s->in, &o, mem, res, err);
		}
	return r;
}

void wz_runset_release(struct wz_runset *s)
{
	size_t n = (size_t)s->n_orders * wz_runset_seeds(s);

	for (size_t i = 0; s->result && i < n; i++)
		wz_run_result_release(&s->result[i]);
	if (s->result)
		wz_mem_free(s->mem, s->result, n * sizeof(*s->result));
	s->result = NULL;
}

static const struct wz_run_result *result(const struct wz_runset *s, uint32_t order, uint32_t seed)
{
	return &s->result[(size_t)order * wz_runset_seeds(s) + seed];
}

static void order_name(const struct wz_runset *s, uint32_t k, struct wz_buf *b)
{
	wz_order_format(s->order[k].rule, s->order[k].param, b);
}

static void text(struct wz_buf *b, const char *key, struct wz_str v)
{
	wz_buf_addc(b, ',');
	wz_buf_add_json(b, wz_str(key));
	wz_buf_addc(b, ':');
	wz_buf_add_json(b, v);
}

void wz_runset_jsonl(const struct wz_runset *s, uint32_t order, uint32_t seed, struct wz_buf *b)
{
	const struct wz_run_result *r = result(s, order, seed);
	char name[256], hex[32];
	struct wz_buf nb, hb;

	wz_buf_init_fixed(&nb, name, sizeof(name));
	order_name(s, order, &nb);
	wz_buf_init_fixed(&hb, hex, sizeof(hex));
	wz_buf_add_hex64(&hb, r->digest);
	wz_buf_addz(b, "{\"trace\":");
	wz_buf_add_json(b, s->trace);
	text(b, "order", wz_buf_str(&nb));
	text(b, "predict", s->predict);
	wz_buf_addz(b, ",\"seed\":");
	wz_buf_add_u64(b, s->seed_from + seed);
	wz_buf_addz(b, ",\"jobs\":");
	wz_buf_add_u64(b, r->jobs);
	wz_buf_addz(b, ",\"finished\":");
	wz_buf_add_u64(b, r->finished);
	wz_fig_json(b, "mean_jct_s", r->mean_jct_s, 3);
	wz_fig_json(b, "p50_jct_s", r->p50_jct_s, 3);
	wz_fig_json(b, "p95_jct_s", r->p95_jct_s, 3);
	wz_fig_json(b, "p99_jct_s", r->p99_jct_s, 3);
	wz_fig_json(b, "mean_wait_s", r->mean_wait_s, 3);
	wz_fig_json(b, "makespan_s", r->makespan_s, 3);
	wz_fig_json(b, "utilisation", r->utilisation, 5);
	wz_fig_json(b, "preemptions_per_job", r->preemptions_per_job, 4);
	wz_fig_json(b, "lost_gpu_s", r->lost_gpu_s, 1);
	wz_fig_json(b, "energy_kwh", r->energy_kwh, 2);
	wz_fig_json(b, "cost", r->cost, 2);
	wz_buf_addz(b, ",\"decisions\":");
	wz_buf_add_u64(b, r->decisions);
	wz_fig_json(b, "cpu_s", r->cpu_s, 3);
	wz_fig_json(b, "p99_us", r->p99_us, 2);
	text(b, "digest", wz_buf_str(&hb));
	wz_buf_addz(b, "}\n");
}

/* ---- the table ---- */

struct figure {
	const char *name;
	size_t offset;
	unsigned decimals;
	unsigned width;
};
#define FIG(name, field, decimals, width) \
	{ \
		name, offsetof(struct wz_run_result, field), decimals, width \
	}
static const struct figure figures[] = {FIG("mean JCT s", mean_jct_s, 0, 11), FIG("+-", mean_jct_s, 0, 8),
        FIG("p50", p50_jct_s, 0, 9), FIG("p95", p95_jct_s, 0, 9), FIG("p99", p99_jct_s, 0, 10),
        FIG("wait s", mean_wait_s, 0, 9), FIG("slowdown", mean_slowdown, 2, 9),
        FIG("makespan s", makespan_s, 0, 11), FIG("util", utilisation, 3, 6),
        FIG("preempt", preemptions_per_job, 2, 8), FIG("lost GPU-h", lost_gpu_s, 1, 11),
        FIG("MWh", energy_kwh, 1, 8), FIG("kUSD", cost, 1, 9), FIG("Jain", jain, 3, 6),
        FIG("worst rho", worst_rho, 1, 10), FIG("p99 us", p99_us, 1, 8), FIG("CPU s", cpu_s, 2, 7)};

static double figure_scale(const char *name)
{
	return strcmp(name, "lost GPU-h") == 0                         ? 1.0 / 3600
	       : strcmp(name, "MWh") == 0 || strcmp(name, "kUSD") == 0 ? 1e-3
	                                                               : 1;
}

void wz_runset_table(const struct wz_runset *s, struct wz_buf *b)
{
	size_t width = 8;

	for (uint32_t k = 0; k < s->n_orders; k++) {
		char name[256];
		struct wz_buf nb;
		wz_buf_init_fixed(&nb, name, sizeof(name));
		order_name(s, k, &nb);
		width = nb.len > width ? nb.len : width;
	}
	size_t from = b->len;
	wz_buf_addz(b, "order");
	wz_fig_pad(b, from, width);
	for (size_t f = 0; f < sizeof(figures) / sizeof(*figures); f++) {
		size_t at = b->len, pad = figures[f].width - strlen(figures[f].name);
		wz_fig_pad(b, at, pad);
		wz_buf_addz(b, figures[f].name);
	}
	wz_buf_addc(b, '\n');
	for (uint32_t k = 0; k < s->n_orders; k++) {
		from = b->len;
		order_name(s, k, b);
		wz_fig_pad(b, from, width);
		for (size_t f = 0; f < sizeof(figures) / sizeof(*figures); f++) {
			struct wz_sample x = {0};
			for (uint32_t i = 0; i < wz_runset_seeds(s); i++) {
				const char *base = (const char *)result(s, k, i) + figures[f].offset;
				double v;
				memcpy(&v, base, sizeof(v));
				wz_sample_add(&x, v * figure_scale(figures[f].name));
			}
			struct wz_interval iv = wz_sample_interval(&x);
			wz_fig_cell(b, strcmp(figures[f].name, "+-") == 0 ? iv.half : iv.mean, figures[f].decimals,
			        figures[f].width);
		}
		wz_buf_addc(b, '\n');
	}
}

/* ---- jobs ---- */

static void seconds(struct wz_buf *b, int64_t us)
{
	wz_buf_addc(b, ',');
	if (us >= 0)
		wz_buf_add_fixed(b, us / 1000, 3);
}

static void csv_text(struct wz_buf *b, struct wz_str s)
{
	bool quote = false;

	for (size_t i = 0; i < s.len; i++)
		quote = quote || s.ptr[i] == ',' || s.ptr[i] == '"' || s.ptr[i] == '\n' || s.ptr[i] == '\r';
	if (!quote) {
		wz_buf_add(b, s);
		return;
	}
	wz_buf_addc(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			wz_buf_addc(b, '"');
		wz_buf_addc(b, s.ptr[i]);
	}
	wz_buf_addc(b, '"');
}

void wz_runset_jobs_csv(const struct wz_runset *s, bool header, struct wz_buf *b)
{
	if (header)
		wz_buf_addz(b, "trace,order,seed,job,user,queue,gpus,submit_s,run_s,predicted_s,start_s,end_s,wait_"
		               "s,held_s,lost_s,"
		               "preemptions,jct_s\n");
	for (uint32_t k = 0; k < s->n_orders; k++)
		for (uint32_t i = 0; i < wz_runset_seeds(s); i++)
			for (uint32_t j = 0; j < s->in->n; j++) {
				const struct wz_run_job *q = &s->in->job[j];
				const struct wz_sim_task *t = &s->in->tasks->task[q->task];
				const struct wz_run_outcome *o = &result(s, k, i)->out[j];
				csv_text(b, s->trace);
				wz_buf_addc(b, ',');
				wz_buf_addz(b, s->order[k].rule->name);
				wz_buf_addc(b, ',');
				wz_buf_add_u64(b, s->seed_from + i);
				wz_buf_addc(b, ',');
				csv_text(b, t->name);
				wz_buf_addc(b, ',');
				csv_text(b, t->user);
				wz_buf_addc(b, ',');
				csv_text(b, t->queue);
				wz_buf_addc(b, ',');
				wz_buf_add_u64(b, q->gpus);
				seconds(b, q->submit_us);
				seconds(b, q->run_us);
				seconds(b, o->predict_us > 0 ? o->predict_us : -1);
				seconds(b, o->first_start_us);
				seconds(b, o->end_us);
				seconds(b, o->wait_us);
				seconds(b, o->held_us);
				seconds(b, o->lost_us);
				wz_buf_addc(b, ',');
				wz_buf_add_u64(b, o->preemptions);
				seconds(b, o->end_us >= 0 ? o->end_us - q->submit_us : -1);
				wz_buf_addc(b, '\n');
			}
}

/* ---- comparison ---- */

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return a < b ? -1 : a > b;
}

int wz_runset_compare(const struct wz_runset *s, uint32_t order, struct wz_runset_pair *ret, struct wz_err *err)
{
	uint32_t n = s->in->n, seeds = wz_runset_seeds(s);
	double *mine = wz_mem_zalloc(s->mem, 2 * (size_t)n * sizeof(double)), *base = mine ? mine + n : NULL,
	       sum[2] = {0};
	double *ratio = wz_mem_zalloc(s->mem, WZ_RUNSET_RESAMPLES * sizeof(double));
	struct wz_rng rng;
	int r = mine && ratio ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to compare"));

	for (uint32_t j = 0; r == 0 && j < n; j++)
		for (uint32_t i = 0; i < seeds; i++) { /* what no order finished is left out of both */
			const struct wz_run_outcome *a = &result(s, order, i)->out[j],
			                            *z = &result(s, 0, i)->out[j];
			if (a->end_us < 0 || z->end_us < 0)
				continue;
			mine[j] += (double)(a->end_us - s->in->job[j].submit_us);
			base[j] += (double)(z->end_us - s->in->job[j].submit_us);
		}
	wz_rng_seed(&rng, 1);
	for (uint32_t k = 0; r == 0 && k < WZ_RUNSET_RESAMPLES; k++) {
		double a = 0, z = 0;
		for (uint32_t j = 0; j < n; j++) {
			uint64_t at = wz_rng_below(&rng, n);
			a += mine[at];
			z += base[at];
		}
		ratio[k] = z > 0 ? a / z : 1;
	}
	if (r == 0) {
		for (uint32_t j = 0; j < n; j++) {
			sum[0] += mine[j];
			sum[1] += base[j];
		}
		qsort(ratio, WZ_RUNSET_RESAMPLES, sizeof(double), by_value);
		*ret = (struct wz_runset_pair){sum[1] > 0 ? sum[0] / sum[1] : 1, ratio[WZ_RUNSET_RESAMPLES / 40],
		        ratio[WZ_RUNSET_RESAMPLES - 1 - WZ_RUNSET_RESAMPLES / 40]};
	}
	if (mine)
		wz_mem_free(s->mem, mine, 2 * (size_t)n * sizeof(double));
	if (ratio)
		wz_mem_free(s->mem, ratio, WZ_RUNSET_RESAMPLES * sizeof(double));
	return r;
}
