/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/packset.h"

#include "os/pool.h"
#include "sim/figures.h"

#include <math.h>
#include <string.h>

const unsigned wz_pack_points[8] = {50, 90, 95, 98, 100, 110, 120, 130};

static uint32_t seeds_of(const struct wz_packset *s)
{
	return (uint32_t)(s->seed_to - s->seed_from + 1);
}

uint32_t wz_packset_runs(const struct wz_packset *s)
{
	return s->n_placements * seeds_of(s);
}

struct shared {
	struct wz_packset *s;
	const struct wz_mem *mem;
	atomic_uint done;
};

static int run_one(void *ctx, uint32_t item, uint32_t worker, struct wz_err *err)
{
	struct shared *x = ctx;
	struct wz_packset *s = x->s;
	struct wz_pack_options o = s->base;
	int r;

	(void)worker;
	o.placement = s->placement[item / seeds_of(s)];
	o.stop = s->stop;
	o.seed = s->seed_from + item % seeds_of(s);
	r = wz_pack_run(s->in, &o, x->mem, &s->result[item], err);
	if (r == 0 && s->progress)
		s->progress(s->progress_ctx, atomic_fetch_add(&x->done, 1) + 1, wz_packset_runs(s));
	return r;
}

int wz_packset_run(struct wz_packset *s, const struct wz_mem *mem, struct wz_err *err)
{
	struct shared x = {.s = s, .mem = mem};

	s->result = wz_mem_zalloc(mem, wz_packset_runs(s) * sizeof(*s->result));
	if (!s->result)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the results"));
	return wz_pool_run(wz_packset_runs(s), s->workers, run_one, &x, s->stop, err);
}

void wz_packset_release(struct wz_packset *s, const struct wz_mem *mem)
{
	wz_mem_free(mem, s->result, s->result ? wz_packset_runs(s) * sizeof(*s->result) : 0);
	s->result = NULL;
}

static const double *curve_of(const struct wz_pack_result *r, enum wz_curve curve)
{
	switch (curve) {
	case WZ_CURVE_ALLOCATED:
		return r->allocated;
	case WZ_CURVE_FRAGMENTED:
		return r->fragmented;
	case WZ_CURVE_FRAG_RATIO:
		return r->frag_ratio;
	case WZ_CURVE_POWER:
		return r->power_w;
	case WZ_CURVE_PRICE:
		return r->price_usd;
	}
	return r->allocated;
}

struct wz_spread wz_packset_point(
        const struct wz_packset *s, uint32_t placement, enum wz_curve curve, unsigned percent)
{
	struct wz_spread x = {.mean = 0, .min = (double)INFINITY, .max = -(double)INFINITY};
	double sq = 0;

	for (uint32_t i = 0; i < seeds_of(s); i++) {
		double v = curve_of(&s->result[placement * seeds_of(s) + i], curve)[percent];
		if (isnan(v))
			continue;
		x.n++;
		x.mean += v;
		x.min = v < x.min ? v : x.min;
		x.max = v > x.max ? v : x.max;
	}
	x.mean = x.n ? x.mean / x.n : (double)NAN;
	for (uint32_t i = 0; i < seeds_of(s); i++) {
		double v = curve_of(&s->result[placement * seeds_of(s) + i], curve)[percent];
		sq += isnan(v) ? 0 : (v - x.mean) * (v - x.mean);
	}
	x.sd = x.n > 1 ? sqrt(sq / (x.n - 1)) : 0;
	return x;
}

/* ---- writing ---- */

static void json_points(struct wz_buf *b, const char *key, const double *curve)
{
	wz_buf_addz(b, ",\"");
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":{");
	for (unsigned i = 0; i < 8; i++) {
		wz_buf_addz(b, i ? ",\"" : "\"");
		wz_buf_add_u64(b, wz_pack_points[i]);
		wz_buf_addz(b, "\":");
		if (isnan(curve[wz_pack_points[i]]))
			wz_buf_addz(b, "null");
		else
			wz_fig_number(b, curve[wz_pack_points[i]], 4);
	}
	wz_buf_addc(b, '}');
}

void wz_packset_jsonl(const struct wz_packset *s, uint32_t run, struct wz_buf *b)
{
	const struct wz_pack_result *r = &s->result[run];
	double cpu_s = (double)r->cpu_ns / 1e9;

	wz_buf_addz(b, "{\"trace\":");
	wz_buf_add_json(b, s->trace);
	wz_buf_addz(b, ",\"placement\":");
	wz_buf_add_json(b, wz_str(s->placement[run / seeds_of(s)]));
	wz_buf_addz(b, ",\"seed\":");
	wz_buf_add_u64(b, s->seed_from + run % seeds_of(s));
	json_points(b, "allocated_pct", r->allocated);
	json_points(b, "fragmented_pct", r->fragmented);
	wz_buf_addz(b, ",\"rejected\":{");
	for (unsigned k = 0; k < WZ_PACK_CLASSES; k++) {
		wz_buf_addz(b, k ? ",\"" : "\"");
		wz_buf_addz(b, wz_pack_class_name[k]);
		wz_buf_addz(b, "\":");
		wz_buf_add_u64(b, r->rejected[k]);
	}
	wz_buf_addz(b, "}");
	if (s->base.repack_ppm) {
		wz_buf_addz(b, ",\"placements\":");
		wz_buf_add_u64(b, r->placements);
		wz_buf_addz(b, ",\"moves\":");
		wz_buf_add_u64(b, r->moved);
		wz_buf_addz(b, ",\"opened\":");
		wz_buf_add_u64(b, r->opened);
		json_points(b, "moves_until", r->moves);
	}
	wz_buf_addz(b, ",\"decisions\":");
	wz_buf_add_u64(b, r->decisions);
	wz_fig_json(b, "cpu_s", cpu_s, 6);
	wz_fig_json(b, "decisions_per_s", cpu_s > 0 ? (double)r->decisions / cpu_s : 0, 0);
	wz_fig_json(b, "p50_us", (double)r->p50_ns / 1e3, 3);
	wz_fig_json(b, "p99_us", (double)r->p99_ns / 1e3, 3);
	wz_buf_addz(b, ",\"digest\":\"");
	wz_buf_add_hex64(b, r->digest);
	wz_buf_addz(b, "\"}\n");
}

/* Room for the longest placement's name and a blank. */
static size_t name_width(const struct wz_packset *s)
{
	size_t width = 21;

	for (uint32_t p = 0; p < s->n_placements; p++)
		width = strlen(s->placement[p]) + 1 > width ? strlen(s->placement[p]) + 1 : width;
	return width;
}

static void name_cell(struct wz_buf *b, const char *name, size_t width)
{
	size_t from = b->len;

	wz_buf_addz(b, name);
	wz_fig_pad(b, from, width);
}

uint32_t wz_packset_name_width(const struct wz_packset *s)
{
	return (uint32_t)name_width(s);
}

void wz_packset_table(const struct wz_packset *s, struct wz_buf *b)
{
	static const unsigned points[] = {90, 95, 100, 130};

	size_t width = name_width(s);

	wz_fig_pad(b, b->len, width + 1);
	wz_buf_addz(b, "GPU allocated, % of capacity, at arrivals of      fragments  refused at 130 %\n");
	name_cell(b, "placement", width);
	wz_buf_addz(b, "    90 %       95 %      100 %      130 %   +-sd     at 100 %   cpu share   one multi   "
	               "us/decision\n");
	for (uint32_t p = 0; p < s->n_placements; p++) {
		const struct wz_pack_result *r = &s->result[p * seeds_of(s)];
		double rejected[WZ_PACK_CLASSES] = {0}, ns = 0, decisions = 0;
		name_cell(b, s->placement[p], width);
		for (unsigned i = 0; i < 4; i++)
			wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_ALLOCATED, points[i]).mean, 2, i ? 11 : 8);
		wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_ALLOCATED, 100).sd, 2, 7);
		wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_FRAGMENTED, 100).mean, 2, 13);
		for (uint32_t i = 0; i < seeds_of(s); i++) {
			for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
				rejected[k] += (double)r[i].rejected[k] / seeds_of(s);
			ns += (double)r[i].cpu_ns;
			decisions += (double)r[i].decisions;
		}
		for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
			wz_fig_cell(b, rejected[k], 0, 6);
		wz_fig_cell(b, decisions > 0 ? ns / decisions / 1e3 : (double)NAN, 2, 14);
		wz_buf_addc(b, '\n');
	}
}

void wz_packset_draw_table(const struct wz_packset *s, struct wz_buf *b)
{
	static const unsigned points[] = {50, 90, 100, 130};
	size_t width = name_width(s);

	wz_fig_pad(b, b->len, width + 1);
	wz_buf_addz(b, "power of all nodes, kW, at arrivals of     price of devices in use, USD/h     of a held "
	               "GPU, at 100 %\n");
	name_cell(b, "placement", width);
	wz_buf_addz(b,
	        "    50 %    90 %   100 %   130 %          50 %    90 %   100 %   130 %             W     USD/h\n");
	for (uint32_t p = 0; p < s->n_placements; p++) {
		double held =
		        wz_packset_point(s, p, WZ_CURVE_ALLOCATED, 100).mean * (double)s->in->capacity_milli / 1e5;
		name_cell(b, s->placement[p], width);
		for (unsigned i = 0; i < 4; i++)
			wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_POWER, points[i]).mean / 1e3, 1, 8);
		wz_buf_addz(b, "      ");
		for (unsigned i = 0; i < 4; i++)
			wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_PRICE, points[i]).mean, 0, 8);
		wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_POWER, 100).mean / held, 1, 14);
		wz_fig_cell(b, wz_packset_point(s, p, WZ_CURVE_PRICE, 100).mean / held, 3, 10);
		wz_buf_addc(b, '\n');
	}
}

void wz_packset_draw_jsonl(const struct wz_packset *s, struct wz_buf *b)
{
	double mean[WZ_PACK_PERCENT];

	for (uint32_t p = 0; p < s->n_placements; p++) {
		wz_buf_addz(b, "{\"trace\":");
		wz_buf_add_json(b, s->trace);
		wz_buf_addz(b, ",\"placement\":");
		wz_buf_add_json(b, wz_str(s->placement[p]));
		for (unsigned i = 0; i < 8; i++)
			mean[wz_pack_points[i]] = wz_packset_point(s, p, WZ_CURVE_POWER, wz_pack_points[i]).mean;
		json_points(b, "power_w", mean);
		for (unsigned i = 0; i < 8; i++)
			mean[wz_pack_points[i]] = wz_packset_point(s, p, WZ_CURVE_PRICE, wz_pack_points[i]).mean;
		json_points(b, "price_usd_h", mean);
		wz_buf_addz(b, "}\n");
	}
}

void wz_packset_csv(const struct wz_packset *s, bool header, struct wz_buf *b)
{
	if (header)
		wz_buf_addz(b, "trace,placement,seed,arrived_pct,allocated_pct,fragmented_pct,frag_ratio_pct\n");
	for (uint32_t run = 0; run < wz_packset_runs(s); run++) {
		const struct wz_pack_result *r = &s->result[run];
		for (unsigned p = 0; p < WZ_PACK_PERCENT; p++) {
			if (isnan(r->allocated[p]))
				continue;
			wz_buf_add(b, s->trace);
			wz_buf_addc(b, ',');
			wz_buf_addz(b, s->placement[run / seeds_of(s)]);
			wz_buf_addc(b, ',');
			wz_buf_add_u64(b, s->seed_from + run % seeds_of(s));
			wz_buf_addc(b, ',');
			wz_buf_add_u64(b, p);
			wz_buf_addc(b, ',');
			wz_fig_number(b, r->allocated[p], 4);
			wz_buf_addc(b, ',');
			wz_fig_number(b, r->fragmented[p], 4);
			wz_buf_addc(b, ',');
			wz_fig_number(b, r->frag_ratio[p], 4);
			wz_buf_addc(b, '\n');
		}
	}
}
