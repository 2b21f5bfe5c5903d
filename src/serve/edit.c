/* SPDX-License-Identifier: Apache-2.0 */
/* Edits. All of a request is checked, then all of it is done. */
#include "serve/serve_int.h"

#include "base/check.h"

struct edit {
	struct serve *s;
	struct wz_api_call *c;
	const struct wz_api_job_edit *rq;
	struct booked *b;
	struct wz_job_info info;
	struct wz_profile profile;
	struct wz_buf text, after;
	struct book_deps *deps;
	const char *field;
	bool found, waits;
	struct wz_err *err;
};

static int wrong(struct edit *x, const char *field, int code, const char *reason, const char *text)
{
	x->field = field;
	return wz_err_set(x->err, code, reason, wz_str(text));
}

static int profile_row(void *ctx, const struct wz_job_row *r)
{
	struct edit *x = ctx;
	x->found = wz_profile_parse(r->profile, wz_core_catalogue(x->s->core), &x->profile, NULL) == 0;
	return 1;
}

/* Each entry of the text replaces its key; the others stay. */
static int merge(struct edit *x)
{
	struct wz_job_query q = {.job = x->rq->id};
	struct wz_catalogue *cat = wz_core_catalogue(x->s->core);
	struct wz_str rest = x->rq->profile;
	int rc = wz_store_jobs(x->s->store, &q, profile_row, x, x->err);
	if (rc < 0)
		return rc;
	if (!x->found)
		return wrong(x, "profile", -ENOENT, "NoSuchJob", "its profile cannot be read");
	x->field = "profile";
	rc = 0;
	while (rc == 0 && rest.ptr) {
		struct wz_str value = wz_str_trim(wz_str_split(&rest, ' ')), key;
		if (!value.len)
			continue;
		key = wz_str_split(&value, '=');
		rc = wz_profile_set(&x->profile, key, value, cat, x->err);
	}
	if (rc == 0)
		rc = wz_profile_finish(&x->profile, cat, x->err);
	if (rc == 0)
		wz_profile_format(&x->profile, &x->text);
	return rc;
}

static int check(struct edit *x)
{
	const struct wz_api_job_edit *rq = x->rq;
	int64_t now = serve_now_us(x->s);
	bool admin = wz_api_call_admin(x->c);
	int rc = 0;
	if (rq->set_queue)
		return wrong(x, "queue", -EOPNOTSUPP, "NotSupported",
		        "a job stays in its queue: cancel it and submit it anew");
	if (rq->set_name && (rq->name.len == 0 || memchr(rq->name.ptr, '\n', rq->name.len)))
		return wrong(x, "name", -EINVAL, "BadField", "a name is one line of text");
	if (rq->set_priority && !admin && rq->priority > x->info.priority)
		return wrong(x, "priority", -EPERM, "NotAdmin", "users may only lower their priority");
	if ((rq->set_priority || rq->set_profile || rq->set_begin || rq->set_after || rq->set_held) && !x->waits)
		return wrong(x,
		        rq->set_priority  ? "priority"
		        : rq->set_profile ? "profile"
		        : rq->set_begin   ? "begin_us"
		        : rq->set_after   ? "after"
		                          : "held",
		        -EBUSY, "NotWaiting", "it runs already: only its name, comment and deadline can change");
	if (rq->set_deadline && rq->deadline_us && rq->deadline_us <= now)
		return wrong(x, "deadline_us", -EINVAL, "DeadLine", "the deadline has passed already");
	if (rq->set_profile && (rc = merge(x)) < 0)
		return rc;
	if (rq->set_profile && !admin && x->profile.tasks_max != x->info.tasks_max)
		return wrong(x, "profile", -EINVAL, "BadEdit", "the number of tasks cannot be edited");
	if (rq->set_after) {
		x->field = "after";
		rc = book_deps_new(x->s, rq->after.v, rq->after.n, rq->id, 1, &x->deps, x->err);
		if (rc == 0 && x->deps)
			wz_depend_format(x->deps->dep, x->deps->n, &x->after);
		if (rc == 0 && x->after.status < 0)
			return wrong(x, "after", -E2BIG, "TooManyDependencies", "too many dependencies");
	}
	return rc;
}

static int tell_core(struct edit *x)
{
	struct wz_event e = {.kind = WZ_EV_JOB_EDITED};
	if (!x->rq->set_priority && !x->rq->set_profile)
		return 0;
	e.u.edit.job = x->rq->id;
	e.u.edit.priority = x->rq->set_priority ? x->rq->priority : x->info.priority;
	e.u.edit.profile = x->rq->set_profile ? &x->profile : NULL;
	x->field = x->rq->set_profile ? "profile" : "priority";
	return serve_apply_job(x->s, x->rq->id, WZ_END_CANCELLED, &e, x->err);
}

static int write_row(struct edit *x)
{
	const struct wz_api_job_edit *rq = x->rq;
	struct wz_job_row r = {0};
	WZ_SET(JOB, &r, job, (int64_t)rq->id);
	if (rq->set_name)
		WZ_SET(JOB, &r, name, rq->name);
	if (rq->set_comment)
		WZ_SET(JOB, &r, comment, rq->comment);
	if (rq->set_profile)
		WZ_SET(JOB, &r, profile, wz_buf_str(&x->text));
	if (rq->set_begin)
		WZ_SET(JOB, &r, begin_us, rq->begin_us);
	if (rq->set_deadline)
		WZ_SET(JOB, &r, deadline_us, rq->deadline_us);
	if (rq->set_after)
		WZ_SET(JOB, &r, after, wz_buf_str(&x->after));
	return wz_batch_job(&x->s->batch, &r, x->err);
}

static void tell_book(struct edit *x)
{
	const struct wz_api_job_edit *rq = x->rq;
	struct serve *s = x->s;
	struct booked *b = x->b;
	if (rq->set_profile)
		b->limit_us = (int64_t)x->profile.time_us;
	if (rq->set_begin) {
		b->begin_us = rq->begin_us;
		bool later = rq->begin_us > serve_now_us(s);
		book_wait(s, b, later ? BOOK_BEGIN : 0, later ? 0 : BOOK_BEGIN);
		if (later)
			book_due(s, rq->begin_us);
	}
	if (rq->set_deadline)
		b->deadline_us = rq->deadline_us;
	if (b->deadline_us)
		book_due(s, b->deadline_us - b->limit_us);
	if (rq->set_after) {
		book_set_deps(s, b, x->deps);
		x->deps = NULL;
	}
	if (rq->set_held)
		book_wait(s, b, rq->held ? BOOK_USER : 0, rq->held ? 0 : BOOK_USER);
}

void op_job_edit(void *ctx, struct wz_api_call *c, const struct wz_api_job_edit *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	struct edit x = {.s = s, .c = c, .rq = rq, .err = &err, .b = book_find(s, rq->id)};
	int rc = x.b && !x.b->ended ? wz_core_job(s->core, rq->id, &x.info) : -ENOENT;
	wz_buf_init(&x.text, s->mem, WZ_PROFILE_TEXT_MAX);
	wz_buf_init(&x.after, s->mem, 65536);
	if (rc < 0)
		rc = wz_err_set(&err, -EALREADY, "JobEnded", WZ_STR("the job has ended already"));
	x.waits = rc == 0 && (x.info.state == WZ_JOB_WAITING || x.info.state == WZ_JOB_HELD);
	if (rc == 0)
		rc = check(&x);
	if (rc == 0)
		rc = tell_core(&x);
	if (rc == 0 && (rc = write_row(&x)) < 0)
		serve_fail(s, &err);
	if (rc == 0) {
		struct touched *t = serve_touch(s, rq->id);
		if (t)
			t->what = "edited";
		tell_book(&x);
		serve_answer_job(s, c, rq->id);
	} else if (x.field) {
		wz_api_fail_field(c, &err, x.field);
	} else {
		wz_api_fail(c, &err);
	}
	book_deps_unref(s, x.deps);
	wz_buf_release(&x.text);
	wz_buf_release(&x.after);
}
