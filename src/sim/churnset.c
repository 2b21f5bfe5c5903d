/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/churnset.h"

#include "os/pool.h"

#include <math.h>

const char *const wz_churn_metric_name[WZ_CHURN_METRICS] = {"allocated_pct", "cpu_allocated_pct", "fragmented_pct",
        "frag_ratio_pct", "refused_jobs_pct", "refused_hours_pct", "refused_hours_drawn_pct", "wait_mean_min",
        "wait_p95_min"};

static uint32_t seeds_of(const struct wz_churnset *s)
{
	return (uint32_t)(s->seed_to - s->seed_from + 1);
}

uint32_t wz_churnset_runs(const struct wz_churnset *s)
{
	return s->n_placements * seeds_of(s);
}

struct shared {
	struct wz_churnset *s;
	const struct wz_mem *mem;
	atomic_uint done;
};

static int run_one(void *ctx, uint32_t item, uint32_t worker, struct wz_err *err)
{
	struct shared *x = ctx;
	struct wz_churnset *s = x->s;
	struct wz_churn_options o = s->base;
	int r;

	(void)worker;
	o.placement = s->placement[item / seeds_of(s)];
	o.seed = s->seed_from + item % seeds_of(s);
	r = wz_churn_run(s->in, &o, x->mem, &s->result[item], err);
	if (r == 0 && s->progress)
		s->progress(s->progress_ctx, atomic_fetch_add(&x->done, 1) + 1, wz_churnset_runs(s));
	return r;
}

int wz_churnset_run(struct wz_churnset *s, const struct wz_mem *mem, struct wz_err *err)
{
	struct shared x = {.s = s, .mem = mem};

	s->result = wz_mem_zalloc(mem, wz_churnset_runs(s) * sizeof(*s->result));
	if (!s->result)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the results"));
	return wz_pool_run(wz_churnset_runs(s), s->workers, run_one, &x, s->stop, err);
}

void wz_churnset_release(struct wz_churnset *s, const struct wz_mem *mem)
{
	wz_mem_free(mem, s->result, s->result ? wz_churnset_runs(s) * sizeof(*s->result) : 0);
	s->result = NULL;
}

/* ---- values ---- */

static void add_tally(struct wz_churn_tally *to, const struct wz_churn_tally *t)
{
	to->arrived += t->arrived;
	to->refused += t->refused;
	to->asked_milli += t->asked_milli;
	to->refused_milli += t->refused_milli;
	to->asked_h += t->asked_h;
	to->refused_h += t->refused_h;
}

static struct wz_churn_tally tally_of(const struct wz_churn_result *r, unsigned class, unsigned batch)
{
	struct wz_churn_tally sum = {0};

	for (unsigned b = 0; b < WZ_CHURN_BATCHES; b++) {
		if (batch != WZ_CHURN_BATCHES && batch != b)
			continue;
		for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++)
			if (c == class || (class == WZ_CHURN_CLASSES && c != WZ_CHURN_CPU))
				add_tally(&sum, &r->batch[b].tally[c]);
	}
	return sum;
}

static double percent(double part, double all)
{
	return all > 0 ? 100 * part / all : (double)NAN;
}

static double wait_value(const struct wz_churn_result *r, enum wz_churn_metric m, unsigned class)
{
	double sum = 0, n = 0;

	if (class < WZ_CHURN_CLASSES && r->wait[class].jobs)
		return (m == WZ_CHURN_WAIT_MEAN ? r->wait[class].mean_s : r->wait[class].p95_s) / 60;
	if (class < WZ_CHURN_CLASSES || m != WZ_CHURN_WAIT_MEAN)
		return (double)NAN;
	for (unsigned c = WZ_CHURN_SHARE; c < WZ_CHURN_CLASSES; c++) {
		sum += r->wait[c].mean_s * (double)r->wait[c].jobs;
		n += (double)r->wait[c].jobs;
	}
	return n > 0 ? sum / n / 60 : (double)NAN;
}

static double average(const struct wz_churn_result *r, enum wz_churn_metric m)
{
	double sum = 0;

	for (unsigned b = 0; b < WZ_CHURN_BATCHES; b++)
		sum += wz_churn_value(r, m, 0, b);
	return sum / WZ_CHURN_BATCHES;
}

double wz_churn_value(const struct wz_churn_result *r, enum wz_churn_metric m, unsigned class, unsigned batch)
{
	struct wz_churn_tally t;

	if (m >= WZ_CHURN_WAIT_MEAN)
		return batch == WZ_CHURN_BATCHES ? wait_value(r, m, class) : (double)NAN;
	if (m < WZ_CHURN_REFUSED_JOBS && batch == WZ_CHURN_BATCHES)
		return average(r, m);
	switch (m) {
	case WZ_CHURN_ALLOCATED:
		return r->batch[batch].allocated;
	case WZ_CHURN_CPU_ALLOCATED:
		return r->batch[batch].cpu_allocated;
	case WZ_CHURN_FRAGMENTED:
		return r->batch[batch].fragmented;
	case WZ_CHURN_FRAG_RATIO:
		return r->batch[batch].frag_ratio;
	default:
		break;
	}
	t = tally_of(r, class, batch);
	if (m == WZ_CHURN_REFUSED_JOBS)
		return percent((double)t.refused, (double)t.arrived);
	return m == WZ_CHURN_REFUSED_HOURS ? percent((double)t.refused_milli, (double)t.asked_milli)
	                                   : percent(t.refused_h, t.asked_h);
}

/* Of one run, less that of the first placement's when asked. */
static double value_of(const struct wz_churnset *s, uint32_t placement, bool less_first, enum wz_churn_metric m,
        unsigned class, uint32_t seed, unsigned batch)
{
	double v = wz_churn_value(&s->result[placement * seeds_of(s) + seed], m, class, batch);

	return less_first ? v - wz_churn_value(&s->result[seed], m, class, batch) : v;
}

/* Over the seeds; with one seed the half width is that of the batches. */
static struct wz_interval interval(
        const struct wz_churnset *s, uint32_t placement, bool less_first, enum wz_churn_metric m, unsigned class)
{
	struct wz_sample runs = {0}, batches = {0};
	struct wz_interval x;

	for (uint32_t i = 0; i < seeds_of(s); i++)
		wz_sample_add(&runs, value_of(s, placement, less_first, m, class, i, WZ_CHURN_BATCHES));
	x = wz_sample_interval(&runs);
	for (unsigned b = 0; seeds_of(s) == 1 && b < WZ_CHURN_BATCHES; b++)
		wz_sample_add(&batches, value_of(s, placement, less_first, m, class, 0, b));
	if (seeds_of(s) == 1)
		x.half = wz_sample_interval(&batches).half;
	return x;
}

struct wz_interval wz_churnset_mean(
        const struct wz_churnset *s, uint32_t placement, enum wz_churn_metric m, unsigned class)
{
	return interval(s, placement, false, m, class);
}

struct wz_interval wz_churnset_difference(
        const struct wz_churnset *s, uint32_t placement, enum wz_churn_metric m, unsigned class)
{
	return interval(s, placement, true, m, class);
}

/* ---- JSON lines ---- */

static void json_head(const struct wz_churnset *s, const char *kind, uint32_t placement, struct wz_buf *b)
{
	wz_buf_addz(b, "{\"kind\":\"");
	wz_buf_addz(b, kind);
	wz_buf_addz(b, "\",\"trace\":");
	wz_buf_add_json(b, s->trace);
	wz_buf_addz(b, ",\"placement\":");
	wz_buf_add_json(b, wz_str(s->placement[placement]));
	wz_fig_json(b, "load_pct", s->base.load_permille / 10.0, 1);
	wz_buf_addz(b, ",\"full\":\"");
	wz_buf_addz(b, s->base.wait ? "wait" : "reject");
	wz_buf_addz(b, "\",\"lives\":");
	wz_buf_add_json(b, wz_str(s->base.life->name));
}

static void json_key(struct wz_buf *b, const char *key, char then)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":");
	wz_buf_addc(b, then);
}

/* ,"NAME":{"all":v,"cpu":v,...} */
static void json_classes(struct wz_buf *b, const struct wz_churn_result *r, enum wz_churn_metric m)
{
	json_key(b, wz_churn_metric_name[m], '{');
	wz_buf_addz(b, "\"all\":");
	for (unsigned i = 0; i <= WZ_CHURN_CLASSES; i++) {
		unsigned class = i ? i - 1 : WZ_CHURN_CLASSES;
		double v = wz_churn_value(r, m, class, WZ_CHURN_BATCHES);
		if (i) {
			wz_buf_addz(b, ",\"");
			wz_buf_addz(b, wz_churn_class_name[class]);
			wz_buf_addz(b, "\":");
		}
		if (isnan(v))
			wz_buf_addz(b, "null");
		else
			wz_fig_number(b, v, 4);
	}
	wz_buf_addc(b, '}');
}

static void json_counts(struct wz_buf *b, const struct wz_churn_result *r, const char *key, bool refused)
{
	json_key(b, key, '{');
	for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
		struct wz_churn_tally t = tally_of(r, c, WZ_CHURN_BATCHES);
		wz_buf_addz(b, c ? ",\"" : "\"");
		wz_buf_addz(b, wz_churn_class_name[c]);
		wz_buf_addz(b, "\":");
		wz_buf_add_u64(b, refused ? t.refused : t.arrived);
	}
	wz_buf_addc(b, '}');
}

static void json_u64(struct wz_buf *b, const char *key, uint64_t v)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":");
	wz_buf_add_u64(b, v);
}

void wz_churnset_jsonl_run(const struct wz_churnset *s, uint32_t run, struct wz_buf *b)
{
	const struct wz_churn_result *r = &s->result[run];
	struct wz_churn_tally all = tally_of(r, WZ_CHURN_CLASSES, WZ_CHURN_BATCHES);
	double cpu_s = (double)r->cpu_ns / 1e9;

	json_head(s, "run", run / seeds_of(s), b);
	json_u64(b, "seed", s->seed_from + run % seeds_of(s));
	for (unsigned m = 0; m < WZ_CHURN_REFUSED_JOBS; m++)
		wz_fig_json(b, wz_churn_metric_name[m],
		        wz_churn_value(r, (enum wz_churn_metric)m, 0, WZ_CHURN_BATCHES), 4);
	json_counts(b, r, "arrived", false);
	json_counts(b, r, "refused", true);
	for (unsigned m = WZ_CHURN_REFUSED_JOBS; m < (s->base.wait ? WZ_CHURN_METRICS : WZ_CHURN_WAIT_MEAN); m++)
		json_classes(b, r, (enum wz_churn_metric)m);
	wz_fig_json(b, "refused_device_hours", (double)all.refused_milli / 1000 * r->mean_life_h, 1);
	wz_fig_json(b, "window_h", r->window_h, 1);
	wz_fig_json(b, "mean_life_h", r->mean_life_h, 4);
	wz_fig_json(b, "cpu_load_pct", r->cpu_load, 2);
	json_u64(b, "jobs", r->jobs);
	json_u64(b, "waiting_first", r->waiting_first);
	json_u64(b, "waiting_last", r->waiting_last);
	json_u64(b, "decisions", r->decisions);
	wz_fig_json(b, "cpu_s", cpu_s, 6);
	wz_fig_json(b, "decisions_per_s", cpu_s > 0 ? (double)r->decisions / cpu_s : 0, 0);
	wz_fig_json(b, "p50_us", (double)r->p50_ns / 1e3, 3);
	wz_fig_json(b, "p99_us", (double)r->p99_ns / 1e3, 3);
	json_key(b, "offered", '"');
	wz_buf_add_hex64(b, r->offered);
	wz_buf_addz(b, "\",\"digest\":\"");
	wz_buf_add_hex64(b, r->digest);
	wz_buf_addz(b, "\"}\n");
}

/* {"mean":v,"half":v,"less_first":v,"less_first_half":v} */
static void json_interval(const struct wz_churnset *s, uint32_t p, enum wz_churn_metric m, unsigned class,
        const char *key, struct wz_buf *b)
{
	struct wz_interval v = wz_churnset_mean(s, p, m, class), d = wz_churnset_difference(s, p, m, class);

	wz_buf_addc(b, '"');
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":{\"n\":");
	wz_buf_add_u64(b, v.n);
	wz_fig_json(b, "mean", v.mean, 4);
	wz_fig_json(b, "half", v.half, 4);
	wz_fig_json(b, "less_first", d.mean, 4);
	wz_fig_json(b, "less_first_half", d.half, 4);
	wz_buf_addc(b, '}');
}

void wz_churnset_jsonl_summary(const struct wz_churnset *s, uint32_t placement, struct wz_buf *b)
{
	json_head(s, "summary", placement, b);
	json_u64(b, "seeds", seeds_of(s));
	for (unsigned m = 0; m < (s->base.wait ? WZ_CHURN_METRICS : WZ_CHURN_WAIT_MEAN); m++) {
		if (m < WZ_CHURN_REFUSED_JOBS) {
			wz_buf_addc(b, ',');
			json_interval(s, placement, (enum wz_churn_metric)m, 0, wz_churn_metric_name[m], b);
			continue;
		}
		json_key(b, wz_churn_metric_name[m], '{');
		json_interval(s, placement, (enum wz_churn_metric)m, WZ_CHURN_CLASSES, "all", b);
		for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
			wz_buf_addc(b, ',');
			json_interval(s, placement, (enum wz_churn_metric)m, c, wz_churn_class_name[c], b);
		}
		wz_buf_addc(b, '}');
	}
	wz_buf_addz(b, "}\n");
}

/* ---- for people ---- */

static void with_half(struct wz_buf *b, struct wz_interval v, unsigned decimals, size_t width)
{
	wz_fig_cell(b, v.mean, decimals, width);
	wz_buf_addz(b, " +-");
	wz_fig_cell(b, v.half, decimals, 5);
}

static double us_per_decision(const struct wz_churnset *s, uint32_t p)
{
	double ns = 0, n = 0;

	for (uint32_t i = 0; i < seeds_of(s); i++) {
		ns += (double)s->result[p * seeds_of(s) + i].cpu_ns;
		n += (double)s->result[p * seeds_of(s) + i].decisions;
	}
	return n > 0 ? ns / n / 1e3 : (double)NAN;
}

static double waiting(const struct wz_churnset *s, uint32_t p, bool last)
{
	double n = 0;

	for (uint32_t i = 0; i < seeds_of(s); i++) {
		const struct wz_churn_result *r = &s->result[p * seeds_of(s) + i];
		n += (double)(last ? r->waiting_last : r->waiting_first) / seeds_of(s);
	}
	return n;
}

static void table_reject(const struct wz_churnset *s, struct wz_buf *b)
{
	wz_buf_addz(b,
	        "                         allocated, %   fragments   refused device-hours, % of those offered\n"
	        "placement                    +- 95 %           %          all +- 95 %   less the first      "
	        "cpu  share      1      2      4      8   us/decision\n");
	for (uint32_t p = 0; p < s->n_placements; p++) {
		size_t from = b->len;
		wz_buf_addz(b, s->placement[p]);
		wz_fig_pad(b, from, 21);
		with_half(b, wz_churnset_mean(s, p, WZ_CHURN_ALLOCATED, 0), 2, 8);
		wz_fig_cell(b, wz_churnset_mean(s, p, WZ_CHURN_FRAGMENTED, 0).mean, 2, 12);
		with_half(b, wz_churnset_mean(s, p, WZ_CHURN_REFUSED_HOURS, WZ_CHURN_CLASSES), 2, 10);
		with_half(b, wz_churnset_difference(s, p, WZ_CHURN_REFUSED_HOURS, WZ_CHURN_CLASSES), 2, 8);
		for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++)
			wz_fig_cell(b, wz_churnset_mean(s, p, WZ_CHURN_REFUSED_HOURS, c).mean, 2, c ? 7 : 9);
		wz_fig_cell(b, us_per_decision(s, p), 2, 14);
		wz_buf_addc(b, '\n');
	}
}

static void table_wait(const struct wz_churnset *s, struct wz_buf *b)
{
	wz_buf_addz(b, "                         allocated, %      waiting jobs   wait in minutes: mean / 95th "
	               "percentile\n"
	               "placement                    +- 95 %     first     last     all +- 95 %");
	for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
		for (size_t i = wz_str(wz_churn_class_name[c]).len; i < 15; i++)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, wz_churn_class_name[c]);
	}
	wz_buf_addz(b, "   us/decision\n");
	for (uint32_t p = 0; p < s->n_placements; p++) {
		size_t from = b->len;
		wz_buf_addz(b, s->placement[p]);
		wz_fig_pad(b, from, 21);
		with_half(b, wz_churnset_mean(s, p, WZ_CHURN_ALLOCATED, 0), 2, 8);
		wz_fig_cell(b, waiting(s, p, false), 0, 9);
		wz_fig_cell(b, waiting(s, p, true), 0, 9);
		with_half(b, wz_churnset_mean(s, p, WZ_CHURN_WAIT_MEAN, WZ_CHURN_CLASSES), 0, 8);
		for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
			wz_fig_cell(b, wz_churnset_mean(s, p, WZ_CHURN_WAIT_MEAN, c).mean, 0, c ? 7 : 6);
			wz_buf_addz(b, " /");
			wz_fig_cell(b, wz_churnset_mean(s, p, WZ_CHURN_WAIT_P95, c).mean, 0, 6);
		}
		wz_fig_cell(b, us_per_decision(s, p), 2, 14);
		wz_buf_addc(b, '\n');
	}
}

void wz_churnset_table(const struct wz_churnset *s, struct wz_buf *b)
{
	if (s->base.wait)
		table_wait(s, b);
	if (!s->base.wait || s->base.patience_us)
		table_reject(s, b);
}

/* ---- CSV ---- */

static void csv_row(const struct wz_churnset *s, uint32_t run, unsigned batch, unsigned class, struct wz_buf *b)
{
	const struct wz_churn_batch *k = &s->result[run].batch[batch];
	const struct wz_churn_tally *t = &k->tally[class];
	const uint64_t count[4] = {t->arrived, t->refused, t->asked_milli, t->refused_milli};

	wz_buf_add(b, s->trace);
	wz_buf_addc(b, ',');
	wz_fig_number(b, s->base.load_permille / 10.0, 1);
	wz_buf_addc(b, ',');
	wz_buf_addz(b, s->placement[run / seeds_of(s)]);
	wz_buf_addc(b, ',');
	wz_buf_add_u64(b, s->seed_from + run % seeds_of(s));
	wz_buf_addc(b, ',');
	wz_buf_add_u64(b, batch);
	wz_buf_addc(b, ',');
	wz_buf_addz(b, wz_churn_class_name[class]);
	for (unsigned i = 0; i < 4; i++) {
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, count[i]);
	}
	wz_buf_addc(b, ',');
	wz_fig_number(b, k->allocated, 4);
	wz_buf_addc(b, ',');
	wz_fig_number(b, k->fragmented, 4);
	wz_buf_addc(b, '\n');
}

void wz_churnset_csv(const struct wz_churnset *s, bool header, struct wz_buf *b)
{
	if (header)
		wz_buf_addz(b,
		        "trace,load_pct,placement,seed,batch,class,arrived,refused,asked_milli,refused_milli,"
		        "allocated_pct,fragmented_pct\n");
	for (uint32_t run = 0; run < wz_churnset_runs(s); run++)
		for (unsigned batch = 0; batch < WZ_CHURN_BATCHES; batch++)
			for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++)
				csv_row(s, run, batch, c, b);
}
