/* SPDX-License-Identifier: Apache-2.0 */
/* Events about attempts: what bodies report of tasks, what people ask of jobs that run, and acknowledgements. */
#include "core/core_int.h"

#include "base/check.h"

static int no_job(struct wz_err *err)
{
	return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no live job of that number"));
}

int wz_on_task_started(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t t = wz_task_named(c, e->u.task.job, e->u.task.task, e->u.task.attempt);

	return t == WZ_ID_NONE ? 0 : wz_no_memory(err, wz_task_run(c, t));
}

int wz_on_task_ended(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t t = wz_task_named(c, e->u.task.job, e->u.task.task, e->u.task.attempt);

	if (e->u.task.end > WZ_END_LAUNCH_FAILED)
		return wz_err_set(err, -EINVAL, "BadEnd", WZ_STR("unknown way to end"));
	if (t == WZ_ID_NONE)
		return 0;
	if (e->u.task.end == WZ_END_COMPLETED && c->jobs.task[t].state != WZ_TASK_STOPPING &&
	        c->jobs.job[c->jobs.task[t].job].state != WZ_JOB_ENDING)
		wz_task_release(c, t, true);
	else
		wz_task_lose(c, t, (enum wz_end)e->u.task.end, e->u.task.requeue);
	return 0;
}

/* A report names no attempt: what is of an earlier one is told by its time. */
int wz_on_task_reported(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.report.job), task;
	const struct wz_job *j = slot == WZ_ID_NONE ? NULL : &c->jobs.job[slot];
	uint64_t at = (uint64_t)e->u.report.checkpoint_us;
	struct wz_task *t;

	if (e->u.report.progress_milli < 0 || e->u.report.checkpoint_us < 0)
		return wz_err_set(err, -EINVAL, "BadReport",
		        WZ_STR("progress and the time of a checkpoint are not negative"));
	if (!j || e->u.report.task >= j->n_tasks)
		return 0;
	task = j->first_task + e->u.report.task;
	t = &c->jobs.task[task];
	if (t->observed || (t->state != WZ_TASK_RUNNING && t->state != WZ_TASK_STOPPING))
		return 0;
	if (at > c->now_us)
		at = c->now_us;
	if (at > t->started_us && at > t->checkpoint_us)
		t->checkpoint_us = at;
	t->progress_milli = e->u.report.progress_milli;
	wz_task_rehash(c, task);
	return 0;
}

int wz_on_requeued(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.job.job);

	if (slot == WZ_ID_NONE)
		return no_job(err);
	if (c->jobs.job[slot].state == WZ_JOB_STARTING || c->jobs.job[slot].state == WZ_JOB_RUNNING) {
		if (c->jobs.task[c->jobs.job[slot].first_task].observed)
			return 0; /* not ours */
		wz_job_end(c, slot, WZ_END_PREEMPTED, true);
	}
	return 0;
}

int wz_on_suspended_resumed(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.job.job);

	if (slot == WZ_ID_NONE)
		return no_job(err);
	if (c->jobs.task[c->jobs.job[slot].first_task].observed)
		return 0;
	if (e->kind == WZ_EV_JOB_RESUMED)
		return wz_no_memory(err, wz_job_resume(c, slot));
	wz_job_suspend(c, slot);
	return 0;
}

int wz_on_rules(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	return wz_params_set(c, e->u.rule_list.text, err);
}

/* ---- acknowledgements ---- */

/* The effect of that id in flight; WZ_ID_NONE: late, or double, or of a kind that awaits no answer. */
static int flight_of(const struct wz_core *c, const struct wz_event *e, uint32_t *ret, struct wz_err *err)
{
	uint32_t f = wz_inflight_find(c, e->u.effect.effect);

	if (e->u.effect.effect >= c->next_effect) /* deadlines of our own have such ids, too */
		return wz_err_set(err, -ENOENT, "NoSuchEffect", WZ_STR("no effect of that id was issued"));
	*ret = f != WZ_ID_NONE && c->inflight.f[f].kind == WZ_EF_HOLD ? WZ_ID_NONE : f;
	return 0;
}

int wz_on_confirmed(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t f = WZ_ID_NONE, task, kind;
	struct wz_task *t;
	int r = flight_of(c, e, &f, err);

	if (r < 0 || f == WZ_ID_NONE)
		return r;
	task = c->inflight.f[f].task;
	kind = c->inflight.f[f].kind;
	if (kind == WZ_EF_REPARTITION) {
		wz_recut_end(c, e->u.effect.effect, true);
		return 0;
	}
	t = &c->jobs.task[task];
	switch (kind) {
	case WZ_EF_START:
		return wz_no_memory(err, wz_task_run(c, task));
	case WZ_EF_STOP:
	case WZ_EF_PREEMPT:
		wz_task_release(c, task, false);
		return 0;
	case WZ_EF_CHECKPOINT:
		t->checkpoint_us = c->now_us;
		break;
	default:
		t->frozen = kind == WZ_EF_SUSPEND;
	}
	wz_inflight_drop(c, f);
	t->effect = 0;
	wz_task_rehash(c, task);
	return 0;
}

int wz_on_refused(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t f = WZ_ID_NONE, task, kind;
	struct wz_task *t;
	int r = flight_of(c, e, &f, err);

	if (r < 0 || f == WZ_ID_NONE)
		return r;
	task = c->inflight.f[f].task;
	kind = c->inflight.f[f].kind;
	if (kind == WZ_EF_REPARTITION) {
		wz_recut_end(c, e->u.effect.effect, false);
		return 0;
	}
	t = &c->jobs.task[task];
	if (kind == WZ_EF_START) {
		wz_task_lose(c, task, WZ_END_LAUNCH_FAILED, true);
		return 0;
	}
	if (kind == WZ_EF_SUSPEND && (r = wz_job_resume(c, t->job)) < 0) /* it cannot be frozen: it runs on */
		return wz_no_memory(err, r);
	if (kind == WZ_EF_PREEMPT)
		t->warn = 0; /* no warning is to be had: stop it */
	wz_inflight_drop(c, wz_inflight_find(c, e->u.effect.effect));
	t->effect = 0;
	wz_task_rehash(c, task); /* what is still wanted is asked again */
	return 0;
}
