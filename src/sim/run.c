/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's clock: arrivals, ends, and the moments at which an order changes its mind. One heap holds each arrived job's
 * next event; all events of one moment are taken before anything is decided. */
#include "sim/run_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "core/predict.h"
#include "os/clock.h"
#include "sim/run_fail.h"

#include <stdlib.h>

/* ---- the heap of events ---- */

static bool sooner(const struct wz_run_state *s, uint32_t x, uint32_t y)
{
	int64_t a = s->live[x].at_us, b = s->live[y].at_us;
	return a != b ? a < b : x < y;
}

static void heap_put(struct wz_run_state *s, uint32_t at, uint32_t j)
{
	s->heap[at] = j;
	s->live[j].heap = at;
}

static void heap_move(struct wz_run_state *s, uint32_t at)
{
	uint32_t j = s->heap[at], child;

	while (at > 0 && sooner(s, j, s->heap[(at - 1) / 2])) {
		heap_put(s, at, s->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	while ((child = 2 * at + 1) < s->heap_n) {
		if (child + 1 < s->heap_n && sooner(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!sooner(s, s->heap[child], j))
			break;
		heap_put(s, at, s->heap[child]);
		at = child;
	}
	heap_put(s, at, j);
}

static void heap_remove(struct wz_run_state *s, uint32_t j)
{
	uint32_t at = s->live[j].heap;

	if (at == WZ_NONE)
		return;
	s->live[j].heap = WZ_NONE;
	if (at == --s->heap_n)
		return;
	heap_put(s, at, s->heap[s->heap_n]);
	heap_move(s, at);
}

void wz_run_touch(struct wz_run_state *s, uint32_t j)
{
	const struct wz_order_rule *rule = s->order.rule;
	struct wz_run_live *l = &s->live[j];
	int64_t at = s->job[j].running ? l->finish_us : WZ_ORDER_NEVER;

	if (rule->change && !l->ended && !s->in->job[j].service && !s->in->job[j].replica) {
		int64_t c = rule->change(&s->order, &s->job[j], s->now);
		if (c <= s->now)
			c = s->now + 1;
		at = c < at ? c : at;
	}
	l->at_us = at;
	if (at == WZ_ORDER_NEVER || l->ended) {
		heap_remove(s, j);
		return;
	}
	if (l->heap == WZ_NONE)
		heap_put(s, s->heap_n++, j);
	heap_move(s, l->heap);
}

/* ---- what happens to a job ---- */

void wz_run_sync(struct wz_run_state *s, uint32_t j)
{
	struct wz_order_job *o = &s->job[j];
	const struct wz_run_live *l = &s->live[j];
	int64_t dt = s->now - o->start_us;

	if (!o->running)
		return;
	o->held_us = l->held0_us + dt;
	if (s->touches)
		o->done_us = l->done0_us + (s->now - l->touch_us);
	else
		o->done_us = l->done0_us + (dt > l->delay_us ? dt - l->delay_us : 0);
}

static void note(struct wz_run_state *s, unsigned what, uint32_t j)
{
	s->digest = wz_hash_u64(wz_hash_u64(s->digest, (uint64_t)s->now), (uint64_t)what << 32 | j);
}

/* GPU-time held until now, also that within the window between first and last submission. */
static void account(struct wz_run_state *s, uint32_t j, int64_t from)
{
	double g = (double)wz_run_need(&s->in->job[j]) / 1000;
	int64_t to = s->now < s->in->to_us ? s->now : s->in->to_us;

	s->held_gpu_us += g * (double)(s->now - from);
	if (to > from)
		s->window_gpu_us += g * (double)(to - from);
}

/* Services and their replicas go before all; else as the order says. */
static struct wz_okey key_of(const struct wz_run_state *s, uint32_t j)
{
	const struct wz_run_job *r = &s->in->job[j];

	if (r->service || r->replica)
		return (struct wz_okey){WZ_ORDER_FIRST + !s->job[j].running, r->submit_us};
	return s->order.rule->key(&s->order, &s->job[j], s->now);
}

void wz_run_wait(struct wz_run_state *s, uint32_t j)
{
	uint32_t c = s->in->job[j].class_;

	s->job[j].key = key_of(s, j);
	if (s->waiting[c].root == WZ_NONE) {
		s->active_at[c] = s->n_active;
		s->active[s->n_active++] = c;
	}
	wz_otree_add(&s->pool, &s->waiting[c], j, s->job[j].key, 0);
	wz_run_touch(s, j);
}

void wz_run_unwait(struct wz_run_state *s, uint32_t j)
{
	uint32_t c = s->in->job[j].class_;

	wz_otree_remove(&s->pool, &s->waiting[c], j);
	if (s->waiting[c].root == WZ_NONE) {
		uint32_t last = s->active[--s->n_active];
		s->active[s->active_at[c]] = last;
		s->active_at[last] = s->active_at[c];
	}
}

static int64_t restart_us(const struct wz_run_state *s, uint32_t j)
{
	return s->o->restart_us >= 0 && !s->touches ? s->o->restart_us : s->in->job[j].restart_us;
}

/* Muri's simulator places everything anew at each event, and takes it that each running job pays its start again: up to
 * that much progress since the event before is lost. A positive --restart-cost takes its place: then only who was preempted
 * pays. */
static void touch_all(struct wz_run_state *s)
{
	for (uint32_t j = wz_otree_first(&s->pool, s->running); j != WZ_NONE; j = wz_otree_next(&s->pool, j)) {
		struct wz_run_live *l = &s->live[j];
		int64_t dt = s->now - l->touch_us, cost = restart_us(s, j);
		if (l->finish_us <= s->now)
			continue;
		l->done0_us += dt > cost ? dt - cost : 0;
		l->touch_us = s->now;
		l->finish_us = s->now + s->in->job[j].run_us - l->done0_us;
		wz_run_sync(s, j);
		if (l->at_us > s->now) /* else its event is due now, and is about to be taken */
			wz_run_touch(s, j);
	}
}

int wz_run_start(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	struct wz_order_job *o = &s->job[j];
	struct wz_run_live *l = &s->live[j];
	struct wz_run_outcome *out = &s->out[j];

	(void)err;
	wz_run_unwait(s, j);
	out->wait_us += s->now - o->ready_us;
	if (out->first_start_us < 0)
		out->first_start_us = s->now;
	o->running = true;
	o->start_us = s->now;
	l->delay_us = o->starts++ && !s->touches ? restart_us(s, j) : 0;
	l->touch_us = s->now;
	l->done0_us = o->done_us;
	l->held0_us = o->held_us;
	l->finish_us =
	        s->in->job[j].service ? WZ_ORDER_NEVER : s->now + l->delay_us + s->in->job[j].run_us - o->done_us;
	if (s->queue_used)
		s->queue_used[s->in->job[j].queue] += wz_run_need(&s->in->job[j]);
	o->key = key_of(s, j);
	wz_otree_add(
	        &s->pool, &s->running, j, o->key, o->key.a == WZ_ORDER_FIRST ? 0 : wz_run_need(&s->in->job[j]));
	if (!l->dirty) {
		l->dirty = true;
		s->settle[s->n_settle++] = j;
	}
	note(s, 1, j);
	wz_run_touch(s, j);
	return 0;
}

/* Leaves the devices; what was not kept is lost. */
static int leave(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	struct wz_order_job *o = &s->job[j];
	struct wz_run_live *l = &s->live[j];

	wz_run_sync(s, j);
	account(s, j, o->start_us);
	if (s->order.rule->learn && (s->order.rule->flags & WZ_ORDER_LEARNS)) {
		struct wz_order_job held = *o;
		held.held_us -= l->held0_us;
		if (s->order.usage)
			s->order.rule->learn(&s->order, &held, s->now);
	}
	wz_otree_remove(&s->pool, &s->running, j);
	if (s->queue_used)
		s->queue_used[s->in->job[j].queue] -= wz_run_need(&s->in->job[j]);
	o->running = false;
	return wz_run_place_free(&s->place, j, s->now, err);
}

int wz_run_stop(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	struct wz_order_job *o = &s->job[j];
	struct wz_run_live *l = &s->live[j];
	int64_t step = s->in->job[j].ckpt_us, kept;
	int r = leave(s, j, err);

	if (r < 0)
		return r;
	kept = o->done_us;
	if (step > 0 && o->done_us > l->done0_us) { /* checkpoints are taken in steps of this attempt's progress */
		kept = l->done0_us + (o->done_us - l->done0_us) / step * step;
		o->done_us = kept;
	}
	s->out[j].lost_us += (s->now - o->start_us) - (kept - l->done0_us);
	s->out[j].preemptions++;
	o->ready_us = s->now;
	note(s, 2, j);
	if (s->order.rule->event)
		s->order.rule->event(&s->order, o, WZ_ORDER_STOPPED, s->now);
	wz_run_wait(s, j);
	return 0;
}

static int finish(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	int r = leave(s, j, err);

	s->live[j].ended = true;
	heap_remove(s, j);
	s->out[j].end_us = s->now;
	s->out[j].lost_us += s->now - s->job[j].start_us - (s->job[j].done_us - s->live[j].done0_us);
	s->rekeyed = true;
	note(s, 3, j);
	if (s->order.rule->learn && !s->order.usage)
		s->order.rule->learn(&s->order, &s->job[j], s->now);
	if (s->history)
		wz_run_history_learn(s, j);
	return r;
}

static void arrive(struct wz_run_state *s, uint32_t j)
{
	const struct wz_run_job *r = &s->in->job[j];
	struct wz_order_job *o = &s->job[j];

	s->live[j].arrived = true;
	o->ready_us = s->now;
	if (s->o->predict == WZ_PREDICT_ORACLE)
		o->predict_us = o->predict_hi_us = r->run_us;
	else if (s->o->predict == WZ_PREDICT_NOISE)
		o->predict_us = o->predict_hi_us = wz_run_noise(s->o, r, j);
	else if (s->o->predict == WZ_PREDICT_HISTORY)
		wz_run_history_ask(s, j);
	if (o->limit_us > 0 && o->predict_us > o->limit_us)
		o->predict_us = o->limit_us;
	s->out[j].predict_us = o->predict_us;
	if (s->order.rule->event)
		s->order.rule->event(&s->order, o, WZ_ORDER_SUBMITTED, s->now);
	wz_run_wait(s, j);
	s->rekeyed = true;
}

/* The order changed its mind about a job. */
static void rekey(struct wz_run_state *s, uint32_t j)
{
	struct wz_order_job *o = &s->job[j];

	wz_run_sync(s, j);
	if (s->order.rule->advance)
		s->order.rule->advance(&s->order, o, s->now);
	if (o->running) {
		wz_otree_remove(&s->pool, &s->running, j);
		o->key = key_of(s, j);
		wz_otree_add(&s->pool, &s->running, j, o->key,
		        o->key.a == WZ_ORDER_FIRST ? 0 : wz_run_need(&s->in->job[j]));
		if (!s->live[j].dirty) {
			s->live[j].dirty = true;
			s->settle[s->n_settle++] = j;
		}
		wz_run_touch(s, j);
	} else {
		wz_run_unwait(s, j);
		wz_run_wait(s, j);
	}
	s->rekeyed = true;
}

/* ---- the loop ---- */

static void settle(struct wz_run_state *s)
{
	for (uint32_t i = 0; i < s->n_settle; i++) {
		uint32_t j = s->settle[i];
		struct wz_order_job *o = &s->job[j];
		s->live[j].dirty = false;
		if (!o->running || !s->order.rule->event)
			continue;
		s->order.rule->event(&s->order, o, WZ_ORDER_SETTLED, s->now);
		wz_otree_remove(&s->pool, &s->running, j);
		o->key = key_of(s, j);
		wz_otree_add(&s->pool, &s->running, j, o->key,
		        o->key.a == WZ_ORDER_FIRST ? 0 : wz_run_need(&s->in->job[j]));
	}
	s->n_settle = 0;
}

static int take_events(struct wz_run_state *s, uint32_t *next, struct wz_err *err)
{
	int r = 0;

	while (r == 0 && s->heap_n && s->live[s->heap[0]].at_us == s->now) {
		uint32_t j = s->heap[0];
		s->events++;
		if (s->job[j].running && s->live[j].finish_us == s->now)
			r = finish(s, j, err);
		else
			rekey(s, j);
	}
	while (r == 0 && *next < s->in->n && s->in->job[*next].submit_us == s->now) {
		s->events++;
		arrive(s, (*next)++);
	}
	return r;
}

static int loop(struct wz_run_state *s, struct wz_err *err)
{
	struct wz_run_faults faults;
	uint32_t next = 0;
	int r = wz_run_faults_open(&faults, s, err);

	while (r == 0) {
		int64_t at = next < s->in->n ? s->in->job[next].submit_us : WZ_ORDER_NEVER;
		if (s->heap_n && s->live[s->heap[0]].at_us < at)
			at = s->live[s->heap[0]].at_us;
		if (at == WZ_ORDER_NEVER &&
		        !(s->n_active &&
		                wz_run_faults_down(&faults))) /* only services, or what never fits, are left */
			break;
		if (wz_run_faults_next(&faults) <= at)
			at = wz_run_faults_next(&faults);
		if (s->o->stop && atomic_load_explicit(s->o->stop, memory_order_relaxed)) {
			r = wz_err_set(err, -EINTR, "Interrupted", WZ_STR("interrupted"));
			break;
		}
		if (s->events > WZ_RUN_EVENTS_MAX) {
			r = wz_err_set(err, -ELOOP, "NoProgress", WZ_STR("the run makes no progress"));
			break;
		}
		s->now = at;
		if (s->touches)
			touch_all(s);
		r = wz_run_faults_take(&faults, s, err);
		if (r == 0)
			r = take_events(s, &next, err);
		if (r == 0 && s->rekeyed && (s->n_active || (s->order.rule->flags & WZ_ORDER_REPACKS)))
			r = wz_run_decide(s, err);
		s->rekeyed = false;
		settle(s);
	}
	wz_run_faults_close(&faults);
	return r;
}

/* ---- memory ---- */

static void *zeros(struct wz_run_state *s, size_t n, size_t size)
{
	return wz_mem_zalloc(s->mem, (n ? n : 1) * size);
}

static void drop(struct wz_run_state *s, void *p, size_t n, size_t size)
{
	wz_mem_free(s->mem, p, (n ? n : 1) * size);
}

static int open_state(struct wz_run_state *s, struct wz_err *err)
{
	uint32_t n = s->in->n, c = s->in->n_classes;
	int r = wz_opool_init(&s->pool, s->mem, n);

	s->job = zeros(s, n, sizeof(*s->job));
	s->live = zeros(s, n, sizeof(*s->live));
	s->heap = zeros(s, n, sizeof(*s->heap));
	s->list = zeros(s, n, sizeof(*s->list));
	s->settle = zeros(s, n, sizeof(*s->settle));
	s->waiting = zeros(s, c, sizeof(*s->waiting));
	s->failed = zeros(s, c, sizeof(*s->failed));
	s->active = zeros(s, c, sizeof(*s->active));
	s->active_at = zeros(s, c, sizeof(*s->active_at));
	if (s->in->queue_limit)
		s->queue_used = zeros(s, s->in->n_queues, sizeof(*s->queue_used));
	if (r < 0 || (s->in->queue_limit && !s->queue_used) || !s->job || !s->live || !s->heap || !s->list ||
	        !s->settle || !s->waiting || !s->failed || !s->active || !s->active_at)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	s->running.root = WZ_NONE;
	for (uint32_t i = 0; i < c; i++)
		s->waiting[i].root = WZ_NONE;
	for (uint32_t i = 0; i < n; i++) {
		const struct wz_run_job *j = &s->in->job[i];
		s->job[i] = (struct wz_order_job){.id = i,
		        .gpus = j->gpus,
		        .user = j->user,
		        .queue = j->queue,
		        .priority = j->priority,
		        .submit_us = j->submit_us,
		        .limit_us = j->limit_us,
		        .run_us = j->run_us,
		        .fixed = j->fixed};
		s->live[i].heap = WZ_NONE;
		s->out[i] = (struct wz_run_outcome){.first_start_us = -1, .end_us = -1, .node0 = WZ_NONE};
	}
	if (s->o->predict == WZ_PREDICT_HISTORY && wz_predict_new(s->mem, &s->history) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the predictor"));
	r = wz_order_init(&s->order, s->o->order, s->o->param, s->in->gpus, s->in->n_users, s->mem, err);
	return r == 0 ? wz_run_place_open(&s->place,
	                        s->o->order->flags & WZ_ORDER_COUNTS && s->o->placement == WZ_RUN_YARN
	                                ? WZ_RUN_ANY
	                                : s->o->placement,
	                        s->in, s->o->seed, s->mem, err)
	              : r;
}

static void close_state(struct wz_run_state *s)
{
	uint32_t n = s->in->n, c = s->in->n_classes;

	wz_run_place_close(&s->place);
	wz_order_release(&s->order);
	wz_predict_free(s->history);
	wz_opool_release(&s->pool);
	if (s->queue_used)
		drop(s, s->queue_used, s->in->n_queues, sizeof(*s->queue_used));
	drop(s, s->job, n, sizeof(*s->job));
	drop(s, s->live, n, sizeof(*s->live));
	drop(s, s->heap, n, sizeof(*s->heap));
	drop(s, s->list, n, sizeof(*s->list));
	drop(s, s->settle, n, sizeof(*s->settle));
	drop(s, s->waiting, c, sizeof(*s->waiting));
	drop(s, s->failed, c, sizeof(*s->failed));
	drop(s, s->active, c, sizeof(*s->active));
	drop(s, s->active_at, c, sizeof(*s->active_at));
	wz_grow_free(s->mem, &s->profile, &s->profile_cap, sizeof(*s->profile));
}

int wz_run(const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err)
{
	struct wz_run_state s = {.in = in, .o = o, .mem = mem};
	uint64_t begin = wz_clock_thread_cpu_ns();
	int r = 0;

	*ret = (struct wz_run_result){.mem = mem, .jobs = in->n};
	ret->out = wz_mem_zalloc(mem, (size_t)in->n * sizeof(*ret->out));
	if (!ret->out)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	s.out = ret->out;
	s.touches = o->placement == WZ_RUN_YARN && o->restart_us <= 0 &&
	            (o->order->flags & (WZ_ORDER_REPACKS | WZ_ORDER_COUNTS));
	r = open_state(&s, err);
	if (r == 0)
		r = loop(&s, err);
	if (r == 0)
		r = wz_run_figures(&s, ret, err);
	ret->cpu_s = (double)(wz_clock_thread_cpu_ns() - begin) / 1e9;
	close_state(&s);
	if (r < 0)
		wz_run_result_release(ret);
	return r;
}

void wz_run_result_release(struct wz_run_result *r)
{
	if (r->out)
		wz_mem_free(r->mem, r->out, (size_t)r->jobs * sizeof(*r->out));
	r->out = NULL;
}
