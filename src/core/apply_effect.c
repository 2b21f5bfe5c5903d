/* SPDX-License-Identifier: Apache-2.0 */
/* Effects become part of the state here, each as it was journalled. One that was decided on another state is refused and
 * changes nothing. The first function of each kind checks and makes all room; then it changes. */
#include "core/core_int.h"

#include "base/check.h"

static int stale(struct wz_err *err)
{
	return wz_err_set(err, -ESTALE, "Stale", WZ_STR("this effect was decided on another state"));
}

static bool may_start(const struct wz_core *c, const struct wz_job *j, const struct wz_effect *e)
{
	const struct wz_task *t;

	if (!j || e->task >= j->n_tasks ||
	        (j->state != WZ_JOB_WAITING && j->state != WZ_JOB_STARTING && j->state != WZ_JOB_RUNNING))
		return false;
	t = &c->jobs.task[j->first_task + e->task];
	return t->state == WZ_TASK_NONE && e->attempt == wz_task_next_attempt(j, t) &&
	       wz_job_live(j) < j->tasks_max && wz_ledger_fits(c, &e->place);
}

static int apply_start(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job), task;
	struct wz_job *j = slot == WZ_ID_NONE ? NULL : &c->jobs.job[slot];
	int r;

	if (!may_start(c, j, e))
		return stale(err);
	task = j->first_task + e->task;
	r = wz_inflight_add(c, e->id, WZ_EF_START, task, e->deadline_us);
	if (r < 0)
		return wz_no_memory(err, r);
	if (j->state == WZ_JOB_WAITING) {
		wz_job_dequeue(c, slot); /* a pause after a failed launch is for decide to keep */
		j->state = WZ_JOB_STARTING;
		j->started_us = c->now_us;
		wz_starts_started(c, slot);
	}
	j->placed++;
	wz_ledger_take(c, task, &e->place);
	c->jobs.task[task].state = WZ_TASK_ASSUMED;
	c->jobs.task[task].effect = e->id;
	c->jobs.task[task].attempt = e->attempt;
	wz_task_rehash(c, task);
	wz_job_mend(c, slot);
	wz_job_rehash(c, slot);
	return 0;
}

/* The job is told how many tasks it has; what is beyond, the highest numbers first, is given up. */
static int apply_resize(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job), t;
	struct wz_job *j = slot == WZ_ID_NONE ? NULL : &c->jobs.job[slot];

	if (!j || j->state != WZ_JOB_RUNNING || e->attempt != j->attempt || e->task > wz_job_live(j) ||
	        (e->task < wz_job_live(j) && e->task < j->tasks_min))
		return stale(err);
	while ((t = wz_gang_surplus(c, j, e->task)) != WZ_ID_NONE)
		wz_task_give_up(c, t);
	j->told = wz_job_live(j);
	wz_job_rehash(c, slot);
	return 0;
}

/* The effect is in flight for the task, instead of what was. */
static int take_off(struct wz_core *c, const struct wz_effect *e, uint32_t task, struct wz_err *err)
{
	struct wz_task *t = &c->jobs.task[task];
	int r = wz_inflight_add(c, e->id, e->kind, task, e->deadline_us);

	if (r < 0)
		return wz_no_memory(err, r);
	wz_flight_drop(c, t->effect);
	t->effect = e->id;
	wz_task_rehash(c, task);
	return 0;
}

/* What the task was found to want: STOP, SUSPEND, RESUME. */
static int apply_wanted(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t task = wz_task_named(c, e->job, e->task, e->attempt);

	if (task == WZ_ID_NONE || wz_task_wants(c, task) != e->kind)
		return stale(err);
	return take_off(c, e, task, err);
}

static bool has_place(const struct wz_place *p)
{
	return p->node.v || p->devices || p->cpu || p->mem || p->dev_milli || p->dev_mem;
}

/* Of a task that is to be stopped by its contract; or of one that runs: then the whole job is moved aside, or with
 * reason 0 this task alone is given up by a job that can do without it. */
static int apply_preempt(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t task = wz_task_named(c, e->job, e->task, e->attempt), slot;
	struct wz_job *j;
	int r;

	if (task == WZ_ID_NONE)
		return stale(err);
	slot = c->jobs.task[task].job;
	j = &c->jobs.job[slot];
	if (wz_task_wants(c, task) == WZ_EF_PREEMPT)
		return take_off(c, e, task, err);
	if (j->state != WZ_JOB_RUNNING || c->jobs.task[task].state != WZ_TASK_RUNNING || !j->preempt.movable ||
	        c->jobs.task[task].observed || (e->reason != 0 && e->reason != WZ_END_PREEMPTED) ||
	        (e->reason == 0 && !wz_job_enough(c, j, task, 1)))
		return stale(err);
	r = take_off(c, e, task, err);
	if (r < 0)
		return r;
	if (!has_place(&e->place)) /* a move has one, and a budget of its own */
		wz_evictions_count(c);
	if (e->reason == 0) {
		wz_task_give_up(c, task);
		return 0;
	}
	if (e->place.cpu || e->place.mem || e->place.devices) /* it is moved: a HOLD of its new place follows */
		wz_repack_spend(c);
	j->preempted++;
	wz_job_end(c, slot, WZ_END_PREEMPTED, true);
	return 0;
}

static int apply_checkpoint(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t task = wz_task_named(c, e->job, e->task, e->attempt);
	const struct wz_task *t = task == WZ_ID_NONE ? NULL : &c->jobs.task[task];

	if (!t || t->state != WZ_TASK_RUNNING || t->effect || t->frozen || t->observed ||
	        c->jobs.job[t->job].suspended)
		return stale(err);
	return take_off(c, e, task, err);
}

static int apply_hold(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job), old;
	const struct wz_job *j = slot == WZ_ID_NONE ? NULL : &c->jobs.job[slot];
	struct wz_hold before;
	int r;

	if (!j || e->attempt != j->attempt || e->task >= j->n_tasks || e->deadline_us == UINT64_MAX ||
	        (j->state != WZ_JOB_WAITING && !(j->state == WZ_JOB_ENDING && j->requeue)))
		return stale(err);
	r = wz_hold_reserve(c);
	if (r == 0)
		r = wz_inflight_add(c, e->id, WZ_EF_HOLD, j->first_task, e->deadline_us);
	if (r < 0)
		return wz_no_memory(err, r);
	old = wz_hold_find(c, slot, e->task); /* a task has one hold: the new one replaces it */
	if (old != WZ_ID_NONE) {
		before = c->holds.h[old];
		wz_hold_account(c, &before.place, 1);
	}
	if (!wz_hold_fits(c, &e->place)) {
		if (old != WZ_ID_NONE)
			wz_hold_account(c, &before.place, -1);
		wz_flight_drop(c, e->id);
		return stale(err);
	}
	if (old != WZ_ID_NONE) {
		wz_hold_account(c, &before.place, -1);
		wz_hold_drop(c, old);
	}
	wz_hold_add(c, e->id, slot, e->task, &e->place);
	return 0;
}

static int apply_unhold(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job), at = slot == WZ_ID_NONE ? slot : wz_hold_find(c, slot, e->task);

	if (at == WZ_ID_NONE)
		return stale(err);
	wz_hold_drop(c, at);
	return 0;
}

static int apply_repartition(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	int r = wz_recut_apply(c, e);

	return r == -ESTALE ? stale(err) : wz_no_memory(err, r);
}

static int apply_explain(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job);

	if (slot == WZ_ID_NONE || c->jobs.job[slot].state != WZ_JOB_WAITING || c->jobs.job[slot].backoff ||
	        e->reason >= WZ_REASON_COUNT_)
		return stale(err);
	if (e->reason == WZ_REASON_WORK_BUDGET) {
		c->pause.step = c->step;
		c->pause.seq = c->jobs.job[slot].seq;
		c->pause.priority = c->jobs.job[slot].priority;
	}
	wz_class_set_reason(c, c->jobs.job[slot].class_id, (uint8_t)e->reason);
	return 0;
}

typedef int applier(struct wz_core *c, const struct wz_effect *e, struct wz_err *err);

static applier *const appliers[] = {
        [WZ_EF_START] = apply_start,
        [WZ_EF_STOP] = apply_wanted,
        [WZ_EF_PREEMPT] = apply_preempt,
        [WZ_EF_RESIZE] = apply_resize,
        [WZ_EF_SUSPEND] = apply_wanted,
        [WZ_EF_RESUME] = apply_wanted,
        [WZ_EF_CHECKPOINT] = apply_checkpoint,
        [WZ_EF_REPARTITION] = apply_repartition,
        [WZ_EF_HOLD] = apply_hold,
        [WZ_EF_UNHOLD] = apply_unhold,
        [WZ_EF_EXPLAIN] = apply_explain,
};

int wz_core_apply_effect(struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	int r;

	if (e->id >= WZ_LIMIT_ID_BIT - 1)
		return wz_err_set(err, -EINVAL, "BadEffect", WZ_STR("the id of the effect is out of range"));
	if (e->kind >= WZ_ARRAY_LEN(appliers) || !appliers[e->kind])
		return wz_err_set(
		        err, -EOPNOTSUPP, "UnknownEffect", WZ_STR("this core does not know that kind of effect"));
	if (e->id < c->next_effect)
		return stale(err);
	c->n_ended = 0;
	r = appliers[e->kind](c, e, err);
	if (r == 0)
		c->next_effect = e->id + 1;
	if (r == 0 && c->watch.seen)
		c->watch.seen(c->watch.ctx, c, NULL, e);
	return r;
}
