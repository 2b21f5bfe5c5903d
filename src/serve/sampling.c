/* SPDX-License-Identifier: Apache-2.0 */
/* Takes samples of what the agent read last, and shows them. */
#include "serve/serve_int.h"

#define STALE_US (3 * WZ_SAMPLE_FINE_US) /* an older reading is not known */
#define NOT_KNOWN UINT16_MAX

static uint16_t part(int64_t v, int64_t of)
{
	return v < 0 || of <= 0 ? NOT_KNOWN : v >= of ? 10000 : (uint16_t)(v * 10000 / of);
}

static struct wz_sample sample_of(
        const struct wz_model_state *m, uint32_t at, const struct place_facts *f, int64_t now)
{
	bool stale = f->read_us <= 0 || now - f->read_us > STALE_US;
	const struct wz_device *d = &m->dev[at];
	return (struct wz_sample){.util = stale ? NOT_KNOWN : part(f->util_pct, 100),
	        .mem_used = stale ? NOT_KNOWN : part(f->mem_used, d->mem),
	        .power_w = stale || f->power_mw < 0
	                           ? NOT_KNOWN
	                           : (uint16_t)(f->power_mw / 1000 < 65000 ? f->power_mw / 1000 : 65000),
	        .held = part(d->milli - m->dev_milli[at], d->milli)};
}

struct sums {
	int64_t held, capacity, util, known, power;
};

static void add(struct sums *x, const struct wz_sample *v)
{
	x->capacity += 10000;
	x->held += v->held == NOT_KNOWN ? 0 : v->held;
	x->known += v->util != NOT_KNOWN;
	x->util += v->util == NOT_KNOWN ? 0 : v->util;
	x->power += v->power_w == NOT_KNOWN ? 0 : v->power_w;
}

/* Adds `v`, after gaps for what was missed before the series began or while the daemon was busy. */
static void add_at(struct serve *s, struct wz_series **series, uint64_t number, struct wz_sample v)
{
	static const struct wz_sample gap = {NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN};
	if (!*series && !(*series = wz_mem_zalloc(s->mem, sizeof **series)))
		return; /* the plots have a hole; nothing else needs them */
	if ((*series)->n + WZ_SAMPLE_COARSE_N * WZ_SAMPLE_COARSE < number)
		(*series)->n = number / WZ_SAMPLE_COARSE * WZ_SAMPLE_COARSE - WZ_SAMPLE_COARSE_N * WZ_SAMPLE_COARSE;
	while ((*series)->n < number)
		wz_series_add(*series, gap);
	if ((*series)->n == number)
		wz_series_add(*series, v);
}

void serve_sample(void *ctx)
{
	struct serve *s = ctx;
	int64_t now = serve_now_us(s);
	const struct wz_model_state *m = wz_core_model(s->core);
	struct sums x = {0};
	if (!s->sample_base_us)
		s->sample_base_us = now / WZ_SAMPLE_FINE_US * WZ_SAMPLE_FINE_US;
	uint64_t number = (uint64_t)((now - s->sample_base_us) / WZ_SAMPLE_FINE_US);
	for (uint32_t i = 0; i < m->n_nodes && i < s->n_nodes; i++)
		for (uint32_t k = 0;
		        m->node[i].flags & WZ_NODE_PRESENT && k < m->node[i].n_dev && k < s->node[i].n_devices;
		        k++) {
			struct place_facts *f = &s->node[i].device[k];
			struct wz_sample v = sample_of(m, m->node[i].first_dev + k, f, now);
			add_at(s, &f->series, number, v);
			add(&x, &v);
		}
	struct wz_sample all = {.util = x.known ? part(x.util, x.known * 10000) : NOT_KNOWN,
	        .mem_used = NOT_KNOWN,
	        .power_w = x.power < 65000 ? (uint16_t)x.power : NOT_KNOWN,
	        .held = part(x.held, x.capacity)};
	if (x.capacity)
		add_at(s, &s->cluster, number, all);
	wz_timer_set(&s->sample_timer, WZ_SAMPLE_FINE_US - (now - s->sample_base_us) % WZ_SAMPLE_FINE_US);
}

void serve_samples_end(struct serve *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		for (uint32_t k = 0; k < s->node[i].n_devices; k++)
			wz_mem_free(s->mem, s->node[i].device[k].series, sizeof(struct wz_series));
	wz_mem_free(s->mem, s->cluster, sizeof *s->cluster);
}

/* ---- showing ---- */

struct showing {
	struct wz_api_call *c;
	int64_t base_us;
};

static int32_t pct(uint16_t v)
{
	return v == NOT_KNOWN ? -1 : v / 100;
}

static void show(void *ctx, uint64_t number, const struct wz_sample *v)
{
	struct showing *x = ctx;
	struct wz_api_sample a = {.time_us = x->base_us + (int64_t)number * WZ_SAMPLE_FINE_US,
	        .util_pct = pct(v->util),
	        .mem_used_pct = pct(v->mem_used),
	        .held_pct = pct(v->held),
	        .power_mw = v->power_w == NOT_KNOWN ? -1 : (int64_t)v->power_w * 1000};
	if (a.util_pct >= 0 || a.held_pct >= 0)
		wz_api_item_sample(x->c, &a);
}

void op_samples(void *ctx, struct wz_api_call *c, const struct wz_api_sample_query *rq)
{
	struct serve *s = ctx;
	struct showing x = {c, s->sample_base_us};
	const struct wz_series *series = s->cluster;
	struct wz_err err;
	if (rq->node.len) {
		uint32_t id = node_find(s, rq->node);
		if (id >= s->n_nodes || rq->device >= s->node[id].n_devices) {
			(void)wz_err_set(&err, -ENOENT, id >= s->n_nodes ? "NoSuchNode" : "NoSuchDevice",
			        WZ_STR("there is no such node or device"));
			wz_api_fail(c, &err);
			return;
		}
		series = s->node[id].device[rq->device].series;
	}
	int64_t from = (rq->since_us - s->sample_base_us) / WZ_SAMPLE_FINE_US;
	if (series)
		wz_series_each(series, from > 0 ? (uint64_t)from : 0, show, &x);
	wz_api_list_end(c, 0);
}
