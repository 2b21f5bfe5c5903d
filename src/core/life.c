/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job and of its tasks: starting, running, frozen, told to stop, gone. Events and effects call these
 * functions; nothing else changes the state of a task. A task that needs an effect is in one list, c->wanted, from which
 * the next decision proposes it again until it is answered. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

void wz_flight_drop(struct wz_core *c, uint64_t id)
{
	uint32_t f = id ? wz_inflight_find(c, id) : WZ_ID_NONE;

	if (f != WZ_ID_NONE)
		wz_inflight_drop(c, f);
}

uint32_t wz_task_wants(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];
	uint32_t f;

	if (t->state == WZ_TASK_STOPPING) {
		f = t->effect ? wz_inflight_find(c, t->effect) : WZ_ID_NONE;
		if (f != WZ_ID_NONE &&
		        (c->inflight.f[f].kind == WZ_EF_STOP || c->inflight.f[f].kind == WZ_EF_PREEMPT))
			return 0;
		return t->warn ? WZ_EF_PREEMPT : WZ_EF_STOP;
	}
	if (t->state == WZ_TASK_RUNNING && !t->effect && t->frozen != j->suspended)
		return j->suspended ? WZ_EF_SUSPEND : WZ_EF_RESUME;
	return 0;
}

uint32_t wz_task_named(const struct wz_core *c, uint64_t job, uint32_t task, uint32_t attempt)
{
	uint32_t slot = wz_jobs_find(c, job);
	const struct wz_job *j = slot == WZ_ID_NONE ? NULL : &c->jobs.job[slot];

	if (!j || task >= j->n_tasks || attempt != c->jobs.task[j->first_task + task].attempt ||
	        c->jobs.task[j->first_task + task].node == WZ_ID_NONE)
		return WZ_ID_NONE;
	return j->first_task + task;
}

/* ---- waiting ---- */

void wz_job_enqueue(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (j->not_before_us > c->now_us &&
	        wz_inflight_add(c, WZ_BACKOFF_ID(j), WZ_FLIGHT_BACKOFF, j->first_task, j->not_before_us) == 0) {
		j->backoff = 1;
		c->n_backoff++;
		return;
	}
	wz_order_add(c, slot); /* also when there is no memory for a pause */
}

void wz_job_dequeue(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (!j->backoff) {
		wz_order_remove(c, slot);
		return;
	}
	wz_flight_drop(c, WZ_BACKOFF_ID(j));
	j->backoff = 0;
	c->n_backoff--;
}

/* The pause after as many failures in a row. */
static uint64_t pause_us(const struct wz_core *c, uint32_t failures)
{
	uint64_t first = (uint64_t)c->param[WZ_PARAM_LAUNCH_BACKOFF_US],
	         most = (uint64_t)c->param[WZ_PARAM_LAUNCH_BACKOFF_MAX_US];
	unsigned doublings = failures > 30 ? 30 : failures - 1;

	return first > most >> doublings ? most : first << doublings;
}

static void finish_job(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];
	uint32_t last = j->attempt;

	wz_flight_drop(c, WZ_LIMIT_ID(j));
	wz_flight_drop(c, WZ_REPAIR_ID(j));
	for (uint32_t i = 0; i < j->n_tasks; i++) {
		struct wz_task *t = &c->jobs.task[j->first_task + i];
		last = t->attempt > last ? t->attempt : last;
		t->state = WZ_TASK_NONE;
		t->attempt = 0;
		wz_task_rehash(c, j->first_task + i);
	}
	if (!j->requeue) {
		wz_jobs_drop(c, slot);
		return;
	}
	if (j->end == WZ_END_LAUNCH_FAILED && j->failures)
		j->not_before_us = wz_usat_add(c->now_us, pause_us(c, j->failures));
	j->requeue = 0;
	j->end = 0;
	j->suspended = 0;
	j->limit_left_us = 0;
	j->attempt = last + 1;
	j->placed = j->running = j->done = j->stopping = 0;
	j->told = j->below = 0;
	j->state = WZ_JOB_WAITING;
	wz_job_enqueue(c, slot);
	wz_job_rehash(c, slot);
}

/* ---- stopping ---- */

static void want_stop(struct wz_core *c, uint32_t task, bool warn)
{
	struct wz_task *t = &c->jobs.task[task];

	if (t->state == WZ_TASK_STOPPING || t->observed)
		return;
	c->jobs.job[t->job].running -= t->state == WZ_TASK_RUNNING;
	c->jobs.job[t->job].stopping++;
	t->warn = warn && t->state == WZ_TASK_RUNNING; /* what may not run yet hears no warning */
	t->state = WZ_TASK_STOPPING;
	wz_task_rehash(c, task);
}

void wz_job_end(struct wz_core *c, uint32_t slot, enum wz_end end, bool requeue)
{
	struct wz_job *j = &c->jobs.job[slot];
	bool warn = end == WZ_END_PREEMPTED && j->preempt.movable;
	int64_t most = c->param[WZ_PARAM_LAUNCH_FAILURES_MAX];

	if (j->state == WZ_JOB_ENDING) {
		j->requeue = j->requeue && requeue; /* a cancel wins over a requeue */
	} else {
		wz_flight_drop(
		        c, WZ_LIMIT_ID(j)); /* a limit on an attempt that is over must not undo its requeue */
		wz_flight_drop(c, WZ_REPAIR_ID(j));
		if (end == WZ_END_LAUNCH_FAILED && requeue) {
			j->failures++;
			requeue = most == 0 || j->failures < most;
		}
		j->state = WZ_JOB_ENDING;
		j->end = (uint8_t)end;
		j->requeue = requeue;
	}
	if (!j->requeue)
		wz_holds_drop_of(c, slot);
	for (uint32_t i = 0; i < j->n_tasks; i++)
		if (c->jobs.task[j->first_task + i].node != WZ_ID_NONE)
			want_stop(c, j->first_task + i, warn);
	wz_job_rehash(c, slot);
}

void wz_task_give_up(struct wz_core *c, uint32_t task)
{
	want_stop(c, task, c->jobs.job[c->jobs.task[task].job].preempt.movable);
	wz_job_rehash(c, c->jobs.task[task].job);
}

/* All that was placed runs: the commit window is over. A gang that has less than its minimum now, because its plan was
 * applied in part, starts anew (I4). */
static void settle(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (j->state != WZ_JOB_STARTING || j->running != j->placed)
		return;
	j->state = WZ_JOB_RUNNING;
	j->failures = 0;
	j->not_before_us = 0;
	j->told = wz_job_live(j); /* who starts is told with whom */
	wz_holds_drop_of(c, slot); /* those of tasks that it started without */
	if (wz_job_enough(c, j, j->first_task, 0))
		return;
	wz_job_end(c, slot, WZ_END_LAUNCH_FAILED, true);
	j->failures = 0; /* not the fault of its launch: no pause */
}

void wz_job_mend(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (!j->below || !wz_job_enough(c, j, j->first_task, 0))
		return;
	wz_flight_drop(c, WZ_REPAIR_ID(j));
	j->below = 0;
	j->end = 0;
}

/* A gang falls below its minimum: true when its job waits for a replacement, until a deadline, instead of starting anew. */
static bool await_repair(struct wz_core *c, uint32_t slot, enum wz_end end)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (!j->repair_us || j->state != WZ_JOB_RUNNING || j->placed - j->stopping < 2)
		return false;
	if (wz_inflight_find(c, WZ_REPAIR_ID(j)) != WZ_ID_NONE)
		return true; /* the first loss set the deadline */
	if (wz_inflight_add(
	            c, WZ_REPAIR_ID(j), WZ_FLIGHT_REPAIR, j->first_task, wz_usat_add(c->now_us, j->repair_us)) < 0)
		return false;
	j->below = 1;
	j->end = (uint8_t)end;
	return true;
}

/* Does the job go on when this task is gone and is to be done again: with fewer, or for a while? */
static bool goes_on(struct wz_core *c, uint32_t task, enum wz_end end)
{
	uint32_t slot = c->jobs.task[task].job;

	return wz_job_enough(c, &c->jobs.job[slot], task, 1) || await_repair(c, slot, end);
}

void wz_task_release(struct wz_core *c, uint32_t task, bool done)
{
	struct wz_task *t = &c->jobs.task[task];
	struct wz_job *j = &c->jobs.job[t->job];

	j->running -= t->state == WZ_TASK_RUNNING;
	j->stopping -= t->state == WZ_TASK_STOPPING;
	wz_flight_drop(c, t->effect);
	t->effect = 0;
	wz_ledger_give(c, task);
	t->state = done ? WZ_TASK_DONE : WZ_TASK_NONE;
	t->warn = t->frozen = 0;
	t->started_us = t->checkpoint_us = 0;
	t->progress_milli = 0;
	wz_task_rehash(c, task);
	j->placed--;
	j->done += done;
	if (j->placed == 0) {
		finish_job(c, t->job);
		return;
	}
	settle(c, t->job); /* the others may have been waiting for this one alone */
	wz_job_rehash(c, t->job);
}

void wz_task_lose(struct wz_core *c, uint32_t task, enum wz_end end, bool requeue)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];

	requeue = requeue && !t->observed; /* foreign work is not ours to start again */
	/* A task that was given up before counts no more. */
	if (j->state != WZ_JOB_ENDING && t->state != WZ_TASK_STOPPING && !(requeue && goes_on(c, task, end)))
		wz_job_end(c, t->job, end, requeue);
	wz_task_release(c, task, false);
}

/* ---- running ---- */

int wz_task_run(struct wz_core *c, uint32_t task)
{
	struct wz_task *t = &c->jobs.task[task];
	struct wz_job *j = &c->jobs.job[t->job];

	if (t->state != WZ_TASK_ASSUMED)
		return 0;
	if (j->running == 0 && j->time_limit_us && !j->limit_left_us &&
	        wz_inflight_find(c, WZ_LIMIT_ID(j)) == WZ_ID_NONE) {
		int r = 0;
		if (j->suspended)
			j->limit_left_us = j->time_limit_us;
		else
			r = wz_inflight_add(c, WZ_LIMIT_ID(j), WZ_FLIGHT_TIME_LIMIT, j->first_task,
			        wz_usat_add(c->now_us, j->time_limit_us));
		if (r < 0)
			return r;
	}
	wz_flight_drop(c, t->effect);
	t->effect = 0;
	t->state = WZ_TASK_RUNNING;
	t->started_us = c->now_us;
	wz_task_rehash(c, task);
	j->running++;
	settle(c, t->job);
	wz_job_rehash(c, t->job);
	return 0;
}

static void rehash_tasks(struct wz_core *c, uint32_t slot)
{
	const struct wz_job *j = &c->jobs.job[slot];

	for (uint32_t i = 0; i < j->n_tasks; i++)
		wz_task_rehash(c, j->first_task + i);
	wz_job_rehash(c, slot);
}

void wz_job_suspend(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];
	uint32_t f = wz_inflight_find(c, WZ_LIMIT_ID(j));

	if (j->suspended || (j->state != WZ_JOB_STARTING && j->state != WZ_JOB_RUNNING))
		return;
	j->suspended = 1;
	if (f != WZ_ID_NONE) {
		uint64_t due = c->inflight.f[f].deadline_us;
		j->limit_left_us = due > c->now_us ? due - c->now_us : 1;
		wz_inflight_drop(c, f);
	}
	rehash_tasks(c, slot);
}

int wz_job_resume(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	if (!j->suspended || j->state == WZ_JOB_ENDING)
		return 0;
	if (j->limit_left_us) {
		int r = wz_inflight_add(c, WZ_LIMIT_ID(j), WZ_FLIGHT_TIME_LIMIT, j->first_task,
		        wz_usat_add(c->now_us, j->limit_left_us));
		if (r < 0)
			return r;
	}
	j->limit_left_us = 0;
	j->suspended = 0;
	rehash_tasks(c, slot);
	return 0;
}

/* ---- deadlines ---- */

/* Nobody answered in time. A start may or may not run, so it is stopped before its room is given again; a warning
 * becomes a stop; what else was asked is asked again, but for a checkpoint. */
static void expire_effect(struct wz_core *c, uint32_t task, uint32_t kind)
{
	struct wz_task *t = &c->jobs.task[task];

	t->effect = 0;
	if (kind == WZ_EF_PREEMPT)
		t->warn = 0;
	wz_task_rehash(c, task);
	if (kind != WZ_EF_START)
		return;
	if (c->jobs.job[t->job].state == WZ_JOB_RUNNING && goes_on(c, task, WZ_END_LAUNCH_FAILED))
		wz_task_give_up(c, task); /* one more, or one again: the others run on */
	else
		wz_job_end(c, t->job, WZ_END_LAUNCH_FAILED, true);
}

void wz_life_expire(struct wz_core *c)
{
	uint32_t f;

	while ((f = wz_inflight_due(c, c->now_us)) != WZ_ID_NONE) {
		struct wz_flight x = c->inflight.f[f];
		uint32_t slot = x.task == WZ_ID_NONE ? WZ_ID_NONE : c->jobs.task[x.task].job;

		wz_inflight_drop(c, f);
		switch (x.kind) {
		case WZ_EF_REPARTITION: /* nobody knows what the card is like now: its facts will say */
			wz_recut_end(c, x.id, false);
			break;
		case WZ_FLIGHT_TIME_LIMIT:
			wz_job_end(c, slot, WZ_END_TIMEOUT, false);
			break;
		case WZ_FLIGHT_REPAIR:
			wz_job_end(c, slot, (enum wz_end)c->jobs.job[slot].end, true);
			break;
		case WZ_FLIGHT_BACKOFF:
			c->jobs.job[slot].backoff = 0;
			c->n_backoff--;
			wz_order_add(c, slot);
			break;
		case WZ_EF_HOLD:
			wz_hold_drop(c, wz_hold_by_id(c, x.id));
			break;
		default:
			expire_effect(c, x.task, x.kind);
		}
	}
}
