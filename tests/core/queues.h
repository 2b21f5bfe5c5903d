/* SPDX-License-Identifier: Apache-2.0 */
/* Words for queues and reservations, on top of world.h. */
#ifndef WZ_TESTS_CORE_QUEUES_H
#define WZ_TESTS_CORE_QUEUES_H

#include "world.h"

static inline int rules_event(struct world *w, uint32_t kind, const char *name, const char *text)
{
	return world_apply(
	        w, &(struct wz_event){.kind = kind, .u.rules = {.name = wz_str(name), .text = wz_str(text)}});
}

static inline void queue_set(struct world *w, const char *name, const char *text)
{
	int r = rules_event(w, WZ_EV_QUEUE_SET, name, text);
	tap_ok(r == 0, "queue %s %s: %s", name, text, r < 0 ? w->err.text : "");
}

static inline int submit_as(struct world *w, uint64_t job, const char *user, const char *queue, const char *text)
{
	struct wz_profile p = profile(w, text);
	return world_apply(
	        w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                   .u.submit = {.job = job, .user = wz_str(user), .queue = wz_str(queue), .profile = &p}});
}

static inline void end_job(struct world *w, uint64_t job)
{
	struct wz_job_info i = info_of(w, job);
	for (uint32_t t = 0; t < i.tasks_max; t++) {
		struct wz_place p;
		if (wz_core_task(w->c, job, t, &p) == 0)
			task_event(w, WZ_EV_TASK_ENDED, job, t, i.attempt, WZ_END_COMPLETED, false);
	}
}

static inline struct wz_queue_info queue_info(struct world *w, const char *name)
{
	struct wz_queue_info q = {.jobs = UINT32_MAX};
	for (uint32_t i = 0; wz_core_queue_at(w->c, i, &q) == 0; i++)
		if (wz_str_eq(q.name, wz_str(name)))
			return q;
	tap_ok(false, "queue %s is there", name);
	return q;
}

static inline enum wz_reason reason_of(struct world *w, uint64_t job)
{
	return info_of(w, job).reason;
}

/* A core of the snapshot has the same digest and decides the same. */
static inline void same_after_restart(struct world *w)
{
	struct wz_core *c = NULL;
	struct wz_buf a, b;
	struct wz_plan plan;
	struct wz_err err = {0};
	bool same = false;
	wz_buf_init(&a, &w->f.mem, 1 << 24);
	wz_buf_init(&b, &w->f.mem, 1 << 24);
	wz_plan_init(&plan, &w->f.mem);
	int r = wz_core_export(w->c, &a, &err);
	tap_eq_i64(r, 0, "export");
	r = wz_core_import(&w->f.mem, NULL, wz_buf_str(&a), &c, &same, &err);
	tap_ok(r == 0 && same, "import: %s", err.text);
	if (r == 0) {
		tap_ok(wz_core_digest(c) == wz_core_digest(w->c), "the same digest");
		tap_ok(wz_core_check(c, &err) == 0, "restored: %s", err.text);
		r = wz_core_export(c, &b, &err);
		tap_ok(r == 0 && wz_str_eq(wz_buf_str(&a), wz_buf_str(&b)), "export(import(x)) = x");
		struct wz_event e = {.kind = WZ_EV_STEP, .time_us = w->now};
		r = wz_core_apply(c, &e, NULL);
		tap_eq_i64(r, 0, "a step");
		r = wz_core_decide(c, 0, &plan, NULL);
		tap_eq_i64(r, 0, "decides");
		decide_within(w, 0);
		tap_ok(wz_core_digest(c) == wz_core_digest(w->c), "the same digest after a step");
		tap_eq_i64(plan.n, w->plan.n, "the same plan");
		for (uint32_t i = 0; i < plan.n && i < w->plan.n; i++) {
			const struct wz_effect *x = &plan.effect[i], *y = &w->plan.effect[i];
			tap_ok(x->kind == y->kind && x->job == y->job && x->task == y->task &&
			                x->reason == y->reason && x->place.node.v == y->place.node.v &&
			                x->place.devices == y->place.devices,
			        "effect %u", i);
			r = apply_effect(w, y);
			tap_eq_i64(r, 0, "applies");
		}
	}
	wz_core_free(c);
	wz_plan_release(&plan);
	wz_buf_release(&a);
	wz_buf_release(&b);
}

#endif
