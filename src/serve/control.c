/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about running work: start anew, freeze, go on. Each is an event; what follows from it the core decides. */
#include "serve/serve_int.h"

#include "base/check.h"

struct wanted {
	uint32_t event;
	const char *what, *not_so; /* news; why it cannot be asked now */
};

static bool runs(const struct wz_job_info *i)
{
	return i->state == WZ_JOB_RUNNING || i->state == WZ_JOB_STARTING;
}

static void change(struct serve *s, struct wz_api_call *c, uint64_t job, struct wz_str text,
        bool (*may)(const struct wz_job_info *), const struct wanted *w)
{
	struct wz_event e = {.kind = w->event};
	struct wz_job_info info;
	struct wz_err err;
	e.u.job.job = job;
	int rc = wz_core_job(s->core, job, &info);
	if (rc < 0)
		rc = wz_err_set(&err, -EALREADY, "JobEnded", WZ_STR("the job has ended already"));
	else if (!may(&info))
		rc = wz_err_set(&err, -EBUSY, "NotRunning", wz_str(w->not_so));
	else
		rc = serve_apply_job(s, job, WZ_END_CANCELLED, &e, &err);
	if (rc < 0) {
		wz_api_fail(c, &err);
		return;
	}
	struct touched *t = serve_touch(s, job);
	if (t) {
		t->what = w->what;
		serve_words(t, WZ_STR(""), text);
	}
	serve_answer(s, c, 0, false);
}

static bool may_suspend(const struct wz_job_info *i)
{
	return runs(i) && !i->suspended;
}

static bool may_resume(const struct wz_job_info *i)
{
	return i->suspended;
}

void op_job_requeue(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq)
{
	static const struct wanted w = {
	        WZ_EV_JOB_REQUEUED, "requeued", "only a job that runs can be made to start anew"};
	change(ctx, c, rq->id, rq->reason, runs, &w);
}

void op_job_suspend(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	static const struct wanted w = {
	        WZ_EV_JOB_SUSPENDED, "suspended", "only a job that runs, and is not suspended, can be suspended"};
	change(ctx, c, rq->id, WZ_STR(""), may_suspend, &w);
}

void op_job_resume(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	static const struct wanted w = {WZ_EV_JOB_RESUMED, "resumed", "the job is not suspended"};
	change(ctx, c, rq->id, WZ_STR(""), may_resume, &w);
}
