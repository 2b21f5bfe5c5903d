/* SPDX-License-Identifier: Apache-2.0 */
/* An order's keys on several device types: who runs is decided by key, on which type by what each gains there.
 *
 * At each event (a job comes or ends, a key changes) and every 360 s while somebody waits or could move: jobs are taken in the
 * order of their keys as long as devices are left of some type that runs them. Those taken are then placed by worth: a job's worth
 * on a type is its speed there in parts of its best, over the time that it is expected to need still (a device of a scarce type
 * goes to whoever ends soonest by it); where that is not known, times its devices (it goes to whoever gains most by it). Places are improved by exchange until none helps: a job moves to free devices, or two jobs of
 * equal size change places. Who runs already counts MOVE more where it is: a job may start on a worse type and moves when the gain
 * exceeds the move. */
#include "sim/rounds_int.h"

#include "base/fix.h"
#include "os/clock.h"

#include <stdlib.h>

#define LOOK_US (INT64_C(360) * WZ_SECOND_US)
#define STAY_MILLI 1100 /* what staying counts */
#define EXCHANGE_MAX 512u /* jobs among which places are exchanged; beyond, the greedy places stand */

struct tjob {
	struct wz_order_job o;
	int64_t left; /* of its work, millionths of steps */
	int64_t since_us; /* progress counted up to */
	int64_t delay_us; /* restart still to pay */
	int64_t change_us;
	uint32_t type, want; /* WZ_NONE: none */
	bool arrived, ended;
};

struct state {
	struct wz_rounds *s;
	struct wz_order order;
	struct tjob *job;
	uint32_t *active, n, *list;
	int64_t now;
};

static int64_t ref_us(const struct state *x, uint32_t j, int64_t micro_steps)
{
	return (int64_t)((__int128)micro_steps * 1000000 / x->s->best[j]);
}

static void progress(struct state *x, uint32_t j)
{
	struct tjob *q = &x->job[j];
	int64_t dt = x->now - q->since_us, idle;

	if (q->type != WZ_NONE && dt > 0) {
		idle = dt < q->delay_us ? dt : q->delay_us;
		q->delay_us -= idle;
		q->left -= (int64_t)((__int128)x->s->speed[j][q->type] * (dt - idle) / 1000000);
		q->left = q->left > 0 ? q->left : 0;
		x->s->out[j].lost_us += idle;
		x->s->lost_gpu_us += (double)idle * x->s->in->job[j].gpus;
		wz_rounds_held(x->s, j, q->type, x->s->in->job[j].gpus, q->since_us, x->now);
		q->o.held_us += dt;
		q->o.done_us = ref_us(x, j, x->s->work[j] * 1000000 - q->left);
	}
	q->since_us = x->now;
}

static int64_t end_of(const struct state *x, uint32_t j)
{
	const struct tjob *q = &x->job[j];
	int64_t speed = q->type == WZ_NONE ? 0 : x->s->speed[j][q->type];

	if (speed == 0)
		return WZ_ORDER_NEVER;
	return q->since_us + q->delay_us + (int64_t)(((__int128)q->left * 1000000 + speed - 1) / speed);
}

static _Thread_local const struct state *sorting;

static int by_key(const void *p, const void *q)
{
	uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;
	return wz_okey_less(sorting->job[a].o.key, a, sorting->job[b].o.key, b) ? -1 : 1;
}

/* Worth of a type for a job: parts of its best speed over its expected service, fixed point. */
static int64_t worth(const struct state *x, uint32_t j, uint32_t t)
{
	const struct tjob *q = &x->job[j];
	int64_t left = q->o.predict_us - q->o.done_us,
	        w = wz_muldiv(INT64_C(1) << 40, x->s->speed[j][t], x->s->best[j]);

	w = left > 0 ? w / (left / WZ_SECOND_US + 600) : w / 4096 * x->s->in->job[j].gpus;

	return q->type == t ? wz_muldiv(w, STAY_MILLI, 1000) : w;
}

/* The best type with room, or WZ_NONE. */
static uint32_t best_type(const struct state *x, uint32_t j, const uint32_t *free)
{
	uint32_t best = WZ_NONE;

	for (uint32_t t = 0; t < x->s->types; t++)
		if (x->s->speed[j][t] > 0 && free[t] >= x->s->in->job[j].gpus &&
		        (best == WZ_NONE || worth(x, j, t) > worth(x, j, best)))
			best = t;
	return best;
}

/* One sweep of exchanges among the first n of the list; true when something changed. */
static bool exchange(struct state *x, uint32_t n, uint32_t *free)
{
	bool changed = false;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = x->list[i], g = x->s->in->job[a].gpus, ta = x->job[a].want;
		for (uint32_t t = 0; t < x->s->types; t++)
			if (t != ta && x->s->speed[a][t] > 0 && free[t] >= g && worth(x, a, t) > worth(x, a, ta)) {
				free[ta] += g;
				free[t] -= g;
				x->job[a].want = ta = t;
				changed = true;
			}
		for (uint32_t k = i + 1; k < n; k++) {
			uint32_t b = x->list[k], h = x->s->in->job[b].gpus, tb = x->job[b].want;
			if (ta == tb || x->s->speed[a][tb] == 0 || x->s->speed[b][ta] == 0 || free[tb] + h < g ||
			        free[ta] + g < h)
				continue;
			if (worth(x, a, tb) + worth(x, b, ta) <= worth(x, a, ta) + worth(x, b, tb))
				continue;
			free[ta] += g;
			free[ta] -= h;
			free[tb] += h;
			free[tb] -= g;
			x->job[a].want = tb;
			x->job[b].want = ta;
			ta = tb;
			changed = true;
		}
	}
	return changed;
}

static void choose(struct state *x)
{
	bool preempts = x->order.rule->flags & WZ_ORDER_PREEMPTS;
	uint32_t free[WZ_ROUNDS_TYPES_MAX], n = 0;

	memcpy(free, x->s->devices, sizeof(free));
	for (uint32_t i = 0; i < x->n; i++) {
		struct tjob *q = &x->job[x->active[i]];
		q->want = WZ_NONE;
		q->o.key = x->order.rule->key(&x->order, &q->o, x->now);
		if (q->o.running && !preempts)
			q->o.key.a = WZ_ORDER_FIRST;
	}
	sorting = x;
	qsort(x->active, x->n, sizeof(*x->active), by_key);
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t j = x->active[i], t = best_type(x, j, free);
		if (t == WZ_NONE && (x->order.rule->flags & WZ_ORDER_BLOCKS))
			break;
		if (t == WZ_NONE)
			continue;
		x->job[j].want = t;
		free[t] -= x->s->in->job[j].gpus;
		x->list[n++] = j;
	}
	for (int sweep = 0; sweep < 8 && n <= EXCHANGE_MAX && exchange(x, n, free); sweep++)
		;
}

static void enact(struct state *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t j = x->active[i];
		struct tjob *q = &x->job[j];
		if (q->want == q->type)
			continue;
		if (q->type != WZ_NONE)
			x->s->out[j].preemptions++;
		if (q->want == WZ_NONE) {
			q->o.ready_us = x->now;
			wz_rounds_note(x->s, 2, j, x->now);
		} else {
			q->delay_us = q->o.starts++ && x->s->o->restart_us > 0 ? x->s->o->restart_us : 0;
			if (!q->o.running)
				q->o.start_us = x->now;
			if (x->s->out[j].first_start_us < 0)
				x->s->out[j].first_start_us = x->now;
			wz_rounds_note(x->s, 10 + q->want, j, x->now);
		}
		q->type = q->want;
		q->o.running = q->type != WZ_NONE;
	}
}

static void arrive(struct state *x, uint32_t j)
{
	const struct wz_run_job *r = &x->s->in->job[j];
	struct tjob *q = &x->job[j];
	struct wz_run_job truth = *r;

	truth.run_us = ref_us(x, j, x->s->work[j] * 1000000);
	*q = (struct tjob){.left = x->s->work[j] * 1000000,
	        .since_us = x->now,
	        .type = WZ_NONE,
	        .want = WZ_NONE,
	        .arrived = true};
	q->o = (struct wz_order_job){.id = j,
	        .gpus = r->gpus,
	        .user = r->user,
	        .queue = r->queue,
	        .priority = r->priority,
	        .submit_us = r->submit_us,
	        .ready_us = x->now,
	        .run_us = truth.run_us,
	        .limit_us = r->limit_us};
	if (x->s->o->predict == WZ_PREDICT_ORACLE)
		q->o.predict_us = truth.run_us;
	else if (x->s->o->predict == WZ_PREDICT_NOISE)
		q->o.predict_us = wz_run_noise(x->s->o, &truth, j);
	x->s->out[j].predict_us = q->o.predict_us;
	x->active[x->n++] = j;
	if (x->order.rule->event)
		x->order.rule->event(&x->order, &q->o, WZ_ORDER_SUBMITTED, x->now);
}

static int64_t next_event(const struct state *x, uint32_t next)
{
	int64_t at = next < x->s->in->n ? x->s->in->job[next].submit_us : WZ_ORDER_NEVER;

	for (uint32_t i = 0; i < x->n; i++) {
		const struct tjob *q = &x->job[x->active[i]];
		int64_t end = end_of(x, x->active[i]);
		int64_t change =
		        x->order.rule->change ? x->order.rule->change(&x->order, &q->o, x->now) : WZ_ORDER_NEVER;
		at = end < at ? end : at;
		if (change <
		        at) /* reckoned at the best speed; on a slower type it is looked at again, a second later at the soonest */
			at = change > x->now + WZ_SECOND_US ? change
			     : x->now + WZ_SECOND_US < at   ? x->now + WZ_SECOND_US
			                                    : at;
	}
	if (x->n && at > x->now + LOOK_US)
		at = x->now + LOOK_US;
	return at <= x->now ? x->now + 1 : at;
}

static int loop(struct state *x, struct wz_err *err)
{
	struct wz_rounds *s = x->s;
	uint32_t next = 0;

	x->now = -1;
	while (next < s->in->n || x->n) {
		uint32_t kept = 0;
		uint64_t begin;
		x->now = next_event(x, next);
		s->events++;
		for (uint32_t i = 0; i < x->n; i++) {
			uint32_t j = x->active[i];
			progress(x, j);
			if (x->job[j].left > 0 || x->job[j].type == WZ_NONE) {
				if (x->order.rule->advance)
					x->order.rule->advance(&x->order, &x->job[j].o, x->now);
				x->active[kept++] = j;
				continue;
			}
			x->job[j].ended = true;
			s->out[j].end_us = x->now;
			wz_rounds_note(s, 3, j, x->now);
			if (x->order.rule->learn)
				x->order.rule->learn(&x->order, &x->job[j].o, x->now);
		}
		x->n = kept;
		for (; next < s->in->n && s->in->job[next].submit_us <= x->now; next++)
			arrive(x, next);
		begin = wz_clock_monotonic_ns();
		choose(x);
		wz_run_latency(&s->latency, wz_clock_monotonic_ns() - begin);
		enact(x);
		if (s->o->stop && atomic_load_explicit(s->o->stop, memory_order_relaxed))
			return wz_err_set(err, -EINTR, "Interrupted", WZ_STR("interrupted"));
		if (s->events > WZ_RUN_EVENTS_MAX)
			return wz_err_set(err, -ELOOP, "NoProgress", WZ_STR("the run makes no progress"));
	}
	return 0;
}

int wz_rounds_types(struct wz_rounds *s, struct wz_err *err)
{
	size_t n = s->in->n;
	struct state x = {.s = s};
	int r = wz_order_init(&x.order, s->o->order, s->o->param, s->in->gpus, s->in->n_users, s->mem, err);

	if (r < 0)
		return r;
	x.job = wz_mem_zalloc(s->mem, n * sizeof(*x.job));
	x.active = wz_mem_zalloc(s->mem, n * sizeof(*x.active));
	x.list = wz_mem_zalloc(s->mem, n * sizeof(*x.list));
	r = x.job && x.active && x.list ? loop(&x, err)
	                                : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	if (x.job)
		wz_mem_free(s->mem, x.job, n * sizeof(*x.job));
	if (x.active)
		wz_mem_free(s->mem, x.active, n * sizeof(*x.active));
	if (x.list)
		wz_mem_free(s->mem, x.list, n * sizeof(*x.list));
	wz_order_release(&x.order);
	return r;
}
