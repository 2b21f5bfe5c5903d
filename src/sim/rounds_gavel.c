/* SPDX-License-Identifier: Apache-2.0 */
/* Gavel's mechanism as its simulator runs it (Narayanan et al., OSDI 2020, section 5): rounds of 360 s. Targets are shares of time on
 * each device type, from a linear program that is solved anew when jobs came or ended, at most every 1920 s; the last stand until
 * then. In a round each type takes jobs by priority = target / (part of the type's time that the job received since the targets
 * were set), ties by the time it is owed, then by target. A round ends when its last job has done its steps; a job that ends before
 * holds its devices until then for nobody else. Servers have one device, restarts are free. */
#include "sim/rounds_int.h"

#include "base/rng.h"
#include "os/clock.h"

#include <stdlib.h>

#define ROUND_S 360
#define RESOLVE_S 1920

struct gjob {
	double received[WZ_ROUNDS_TYPES_MAX], owed[WZ_ROUNDS_TYPES_MAX], target[WZ_ROUNDS_TYPES_MAX],
	        priority[WZ_ROUNDS_TYPES_MAX];
	int64_t left; /* steps */
	uint32_t type; /* of this round; WZ_NONE */
	int64_t until_us, steps;
	bool ran;
};

struct gavel {
	struct wz_rounds *s;
	struct gjob *job;
	uint32_t *active, n, *order;
	double type_time[WZ_ROUNDS_TYPES_MAX];
	int64_t now, reset_us;
	bool stale, solved;
	struct wz_rng rng;
	struct wz_share_job *row; /* the LP's */
	double *x;
};

static int solve(struct gavel *g, struct wz_err *err)
{
	struct wz_rounds *s = g->s;
	struct wz_share_problem p = {
	        .job = g->row, .n = g->n, .types = s->types, .agnostic = s->o->order == &wz_order_max_min_agnostic};
	double value;
	int r;

	for (uint32_t t = 0; t < s->types; t++)
		p.devices[t] = s->devices[t];
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t j = g->active[i];
		g->row[i] = (struct wz_share_job){.weight = 1,
		        .gpus = s->in->job[j].gpus,
		        .elapsed_s = (double)(g->now - s->in->job[j].submit_us) / 1e6,
		        .steps_left = (double)g->job[j].left};
		for (uint32_t t = 0; t < s->types; t++)
			g->row[i].speed[t] = (double)s->speed[j][t] / 1e6;
	}
	r = s->o->order == &wz_order_finish_time ? wz_share_finish_time(&p, s->mem, g->x, &value, err)
	                                         : wz_share_max_min(&p, s->mem, g->x, &value, err);
	if (r == -EOPNOTSUPP && !g->solved)
		return r;
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t t = 0; r == 0 && t < s->types; t++)
			g->job[g->active[i]].target[t] = g->x[(size_t)i * s->types + t];
	g->solved = true;
	return r == -EIO ? 0 : r; /* not solved in time: the last targets stand */
}

static int renew_targets(struct gavel *g, struct wz_err *err)
{
	struct wz_rounds *s = g->s;
	double since = (double)(g->now - g->reset_us) / 1e6;

	for (uint32_t t = 0; t < s->types; t++) {
		g->type_time[t] = 0;
		for (uint32_t i = 0; i < g->n; i++) {
			struct gjob *q = &g->job[g->active[i]];
			q->owed[t] += q->target[t] * since - (q->received[t] - ROUND_S / 2.0);
			q->received[t] = ROUND_S / 2.0;
			g->type_time[t] += ROUND_S / 2.0;
		}
	}
	g->reset_us = g->now;
	g->stale = false;
	return solve(g, err);
}

static void set_priorities(struct gavel *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t t = 0; t < g->s->types; t++) {
			struct gjob *q = &g->job[g->active[i]];
			double part = g->type_time[t] > 0 ? q->received[t] / g->type_time[t] : 0;
			q->priority[t] = g->s->speed[g->active[i]][t] == 0 ? 0
			                 : part > 0                        ? q->target[t] / part
			                                                   : q->target[t] * 1e9;
		}
}

static _Thread_local const struct gavel *sorting;
static _Thread_local uint32_t sorting_type;

static int by_priority(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y, t = sorting_type;
	const struct gjob *p = &sorting->job[a], *q = &sorting->job[b];

	if (p->priority[t] != q->priority[t])
		return p->priority[t] > q->priority[t] ? -1 : 1;
	if (p->owed[t] != q->owed[t])
		return p->owed[t] > q->owed[t] ? -1 : 1;
	if (p->target[t] != q->target[t])
		return p->target[t] > q->target[t] ? -1 : 1;
	return a < b ? -1 : 1;
}

/* Fastest type first; in any order when speeds are not looked at. */
static void type_order(struct gavel *g, uint32_t *order)
{
	struct wz_rounds *s = g->s;
	double mean[WZ_ROUNDS_TYPES_MAX] = {0};

	for (uint32_t t = 0; t < s->types; t++) {
		order[t] = t;
		for (uint32_t i = 0; i < g->n; i++)
			mean[t] += (double)s->speed[g->active[i]][t] / (double)s->best[g->active[i]];
	}
	for (uint32_t a = 1; a < s->types; a++)
		for (uint32_t b = a; b > 0 && mean[order[b]] > mean[order[b - 1]]; b--) {
			uint32_t x = order[b];
			order[b] = order[b - 1];
			order[b - 1] = x;
		}
	if (s->o->order == &wz_order_max_min_agnostic)
		wz_rng_shuffle_u32(&g->rng, order, s->types);
}

static void choose(struct gavel *g)
{
	struct wz_rounds *s = g->s;
	uint32_t types[WZ_ROUNDS_TYPES_MAX];

	for (uint32_t i = 0; i < g->n; i++)
		g->job[g->active[i]].type = WZ_NONE;
	type_order(g, types);
	for (uint32_t k = 0; k < s->types; k++) {
		uint32_t t = types[k], left = s->devices[t];
		memcpy(g->order, g->active, g->n * sizeof(*g->order));
		sorting = g;
		sorting_type = t;
		qsort(g->order, g->n, sizeof(*g->order), by_priority);
		for (uint32_t i = 0; i < g->n && left; i++) {
			uint32_t j = g->order[i], gpus = s->in->job[j].gpus;
			if (g->job[j].type != WZ_NONE || s->speed[j][t] == 0 || gpus > left)
				continue;
			g->job[j].type = t;
			left -= gpus;
		}
	}
}

/* Steps of the round, and when each job has done them. Returns the end of the round. */
static int64_t start_round(struct gavel *g)
{
	struct wz_rounds *s = g->s;
	int64_t end = g->now;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t j = g->active[i];
		struct gjob *q = &g->job[j];
		if (q->type == WZ_NONE) {
			s->out[j].preemptions += q->ran;
			q->ran = false;
			continue;
		}
		q->steps = (int64_t)((__int128)s->speed[j][q->type] * ROUND_S / 1000000);
		q->steps = q->steps < 1 ? 1 : q->steps;
		q->steps = q->steps > q->left ? q->left : q->steps;
		q->until_us =
		        g->now + (int64_t)(((__int128)q->steps * 1000000 * 1000000 + s->speed[j][q->type] - 1) /
		                           s->speed[j][q->type]);
		end = q->until_us > end ? q->until_us : end;
		if (s->out[j].first_start_us < 0)
			s->out[j].first_start_us = g->now;
		q->ran = true;
		wz_rounds_note(s, 1 + q->type, j, g->now);
	}
	return end;
}

static void end_round(struct gavel *g, int64_t end)
{
	struct wz_rounds *s = g->s;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t j = g->active[i];
		struct gjob *q = &g->job[j];
		if (q->type != WZ_NONE) {
			double time = (double)(q->until_us - g->now) / 1e6;
			q->received[q->type] += time;
			g->type_time[q->type] += time;
			q->left -= q->steps;
			wz_rounds_held(s, j, q->type, s->in->job[j].gpus, g->now, q->until_us);
			if (q->left <= 0) {
				s->out[j].end_us = q->until_us;
				g->stale = true;
				wz_rounds_note(s, 99, j, q->until_us);
				continue;
			}
		}
		g->active[kept++] = j;
	}
	g->n = kept;
	g->now = end;
}

static int loop(struct gavel *g, struct wz_err *err)
{
	struct wz_rounds *s = g->s;
	uint32_t next = 0;
	int r = 0;

	while (r == 0 && (next < s->in->n || g->n)) {
		uint64_t begin;
		if (g->n == 0 && s->in->job[next].submit_us > g->now)
			g->now = s->in->job[next].submit_us;
		for (; next < s->in->n && s->in->job[next].submit_us <= g->now; next++) {
			for (uint32_t t = 0; t < s->types; t++)
				g->job[next].received[t] = ROUND_S / 2.0;
			g->job[next].left = s->work[next];
			g->active[g->n++] = next;
			g->stale = true;
		}
		begin = wz_clock_monotonic_ns();
		if (g->stale && (!g->solved || g->now - g->reset_us >= (int64_t)RESOLVE_S * 1000000))
			r = renew_targets(g, err);
		if (r < 0)
			break;
		set_priorities(g);
		choose(g);
		wz_run_latency(&s->latency, wz_clock_monotonic_ns() - begin);
		int64_t end = start_round(g);
		if (end == g->now)
			return wz_err_set(err, -ELOOP, "NoProgress", WZ_STR("no job fits any device type"));
		end_round(g, end);
		s->events++;
		if (s->o->stop && atomic_load_explicit(s->o->stop, memory_order_relaxed))
			return wz_err_set(err, -EINTR, "Interrupted", WZ_STR("interrupted"));
	}
	return r;
}

int wz_rounds_gavel(struct wz_rounds *s, struct wz_err *err)
{
	size_t n = s->in->n;
	struct gavel g = {.s = s};
	int r = 0;

	g.job = wz_mem_zalloc(s->mem, n * sizeof(*g.job));
	g.active = wz_mem_zalloc(s->mem, n * sizeof(*g.active));
	g.order = wz_mem_zalloc(s->mem, n * sizeof(*g.order));
	g.row = wz_mem_zalloc(s->mem, n * sizeof(*g.row));
	g.x = wz_mem_zalloc(s->mem, n * s->types * sizeof(*g.x));
	wz_rng_seed(&g.rng, s->o->seed);
	if (!g.job || !g.active || !g.order || !g.row || !g.x)
		r = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	if (r == 0)
		r = loop(&g, err);
	if (g.job)
		wz_mem_free(s->mem, g.job, n * sizeof(*g.job));
	if (g.active)
		wz_mem_free(s->mem, g.active, n * sizeof(*g.active));
	if (g.order)
		wz_mem_free(s->mem, g.order, n * sizeof(*g.order));
	if (g.row)
		wz_mem_free(s->mem, g.row, n * sizeof(*g.row));
	if (g.x)
		wz_mem_free(s->mem, g.x, n * s->types * sizeof(*g.x));
	return r;
}
