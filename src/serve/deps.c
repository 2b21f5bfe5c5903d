/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies of the book: what they name, whether they are met, and what becomes of a job when they never can be. */
#include "serve/serve_int.h"

#include "base/check.h"

enum dep_state { PENDING, MET, FAILED };

void book_deps_unref(struct serve *s, struct book_deps *d)
{
	if (!d || --d->refs)
		return;
	wz_mem_free(s->mem, d->dep, ((size_t)d->n + 1) * sizeof *d->dep);
	wz_mem_free(s->mem, d->state, (size_t)d->n + 1);
	wz_mem_free(s->mem, d, sizeof *d);
}

/* ---- targets that are no longer open ---- */

struct past {
	uint32_t n, failed, tasks;
	bool open;
};

static int past_row(void *ctx, const struct wz_job_row *r)
{
	struct past *p = ctx;
	p->n++;
	p->tasks += r->array > 0;
	p->open = p->open || r->state != WZ_ROW_ENDED;
	p->failed += r->state == WZ_ROW_ENDED && r->end != WZ_END_COMPLETED;
	return 0;
}

/* What the tables say of a job or a whole array. */
static void look_back(struct serve *s, uint64_t job, bool one, struct past *ret)
{
	struct wz_job_query q = {.job = job};
	*ret = (struct past){.n = 0};
	(void)wz_store_jobs(s->store, &q, past_row, ret, NULL);
	if (one || !ret->tasks)
		return;
	*ret = (struct past){.n = 0};
	q = (struct wz_job_query){.array = job, .limit = UINT32_MAX};
	(void)wz_store_jobs(s->store, &q, past_row, ret, NULL);
	if (!ret->n) { /* it is a task of another array */
		q = (struct wz_job_query){.job = job};
		(void)wz_store_jobs(s->store, &q, past_row, ret, NULL);
	}
}

/* ---- is it met ---- */

static enum dep_state by_kind(unsigned kind, uint32_t left, uint32_t failed)
{
	switch (kind) {
	case WZ_AFTEROK:
	case WZ_AFTERCORR:
		return failed ? FAILED : left ? PENDING : MET;
	case WZ_AFTERNOTOK:
		return left ? PENDING : failed ? MET : FAILED;
	default:
		return left ? PENDING : MET;
	}
}

static enum dep_state singleton(struct serve *s, const struct booked *b)
{
	const struct book_order *mine = book_order_of(s, b);
	for (uint32_t i = 0; i < s->book.n_orders; i++) {
		const struct book_order *o = &s->book.order[i];
		if (o->id && o->id < mine->id && o->left && o->uid == mine->uid && o->name == mine->name)
			return PENDING;
	}
	return MET;
}

static enum dep_state after(struct serve *s, const struct wz_depend *d, int64_t started_us, bool all)
{
	int64_t from = started_us + (int64_t)d->delay_us;
	if (!all)
		return PENDING;
	if (!d->delay_us || from <= serve_now_us(s))
		return MET;
	book_due(s, from);
	s->book.moved = true; /* the clock alone moves this one */
	return PENDING;
}

static int task_row(void *ctx, const struct wz_job_row *r)
{
	*(uint64_t *)ctx = (uint64_t)r->job;
	return 1;
}

uint64_t book_array_task(struct serve *s, uint64_t id, int64_t index, uint64_t guess)
{
	struct wz_job_query q = {.array = id, .by_index = true, .index = index};
	const struct book_order *o = book_array(s, id);
	const struct booked *b = book_find(s, guess);
	uint64_t job = 0;
	if (o && b && &s->book.order[b->order] == o && b->index == index)
		return guess;
	for (uint64_t at = id; o && at <= o->last;
	        at++) /* numbers rise with the indices; those that ended may be gone */
		if ((b = book_find(s, at)) && b->index >= index)
			return b->index == index                                       ? at
			       : wz_store_jobs(s->store, &q, task_row, &job, NULL) < 0 ? 0
			                                                               : job;
	(void)wz_store_jobs(s->store, &q, task_row, &job, NULL);
	return job;
}

static enum dep_state state_of(struct serve *s, const struct booked *b, const struct wz_depend *d)
{
	uint64_t target = d->job;
	bool one = d->task;
	struct past p;
	if (d->kind == WZ_SINGLETON)
		return singleton(s, b);
	if (d->task)
		target = book_array_task(s, d->job, d->index, d->job + d->index);
	else if (d->kind == WZ_AFTERCORR && b->index >= 0) {
		target = book_array_task(s, d->job, b->index, d->job + (b->job - book_order_of(s, b)->id));
		one = true;
	}
	const struct book_order *o = one ? NULL : book_array(s, target);
	const struct booked *t = book_find(s, target);
	if (o && d->kind == WZ_AFTER)
		return after(s, d, t && t->started_us ? t->started_us : serve_now_us(s), o->unstarted == 0);
	if (o)
		return by_kind(d->kind, o->left, o->failed);
	if (t && d->kind == WZ_AFTER)
		return after(s, d, t->started_us, t->started_us || t->ended);
	if (t)
		return by_kind(d->kind, !t->ended, t->ended && t->end != WZ_END_COMPLETED);
	look_back(s, target ? target : d->job, one, &p);
	if (!p.n) /* forgotten long ago, or an index that is not there: whatever asked for success cannot have it */
		return d->kind == WZ_AFTERANY || d->kind == WZ_AFTER ? MET : FAILED;
	return d->kind == WZ_AFTER ? MET : by_kind(d->kind, p.open, p.failed);
}

static enum dep_state whole(struct serve *s, const struct booked *b, uint32_t *ret_failed)
{
	struct book_deps *d = b->deps;
	uint32_t met = 0, failed = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		enum dep_state x = (enum dep_state)d->state[i];
		if (x == PENDING) {
			x = state_of(s, b, &d->dep[i]);
			if (d->dep[i].kind != WZ_AFTERCORR && d->dep[i].kind != WZ_SINGLETON)
				d->state[i] = (uint8_t)x;
		}
		met += x == MET;
		if (x == FAILED && !failed++)
			*ret_failed = i;
	}
	if (d->n && d->dep[0].any)
		return met ? MET : failed == d->n ? FAILED : PENDING;
	return failed ? FAILED : met == d->n ? MET : PENDING;
}

/* ---- settling ---- */

static void never(struct serve *s, struct booked *b, uint32_t which, book_cancel *cancel)
{
	char text[160];
	struct wz_buf w;
	struct book_order *o = book_order_of(s, b);
	wz_buf_init_fixed(&w, text, sizeof text);
	wz_buf_addz(&w, "its dependency ");
	wz_depend_format(&b->deps->dep[which], 1, &w);
	wz_buf_addz(&w, " can no longer be met");
	if (o->on_fail == BOOK_FAIL_CANCEL)
		cancel(s, b, WZ_END_CANCELLED, "DependencyNeverSatisfied", wz_buf_str(&w));
	else if (o->on_fail == BOOK_FAIL_HOLD)
		book_wait(s, b, BOOK_NEVER, BOOK_DEPEND);
	else
		book_wait(s, b, 0, BOOK_DEPEND);
}

void book_settle_deps(struct serve *s, book_cancel *cancel)
{
	struct book *k = &s->book;
	uint32_t kept = 0;
	k->moved = false;
	for (uint32_t i = 0; i < k->n_depending; i++) {
		struct booked *b = book_find(s, k->depending[i]);
		uint32_t which = 0;
		if (!b || b->ended || !(b->wait & BOOK_DEPEND))
			continue;
		enum dep_state x = whole(s, b, &which);
		if (x == MET)
			book_wait(s, b, 0, BOOK_DEPEND);
		else if (x == FAILED)
			never(s, b, which, cancel);
		else
			k->depending[kept++] = b->job;
	}
	k->n_depending = kept;
}

/* ---- asking ---- */

static int check_target(
        struct serve *s, const struct wz_depend *d, uint64_t self, uint32_t count, struct wz_err *err)
{
	struct wz_num n;
	struct past p = {.n = 1};
	if (d->kind == WZ_SINGLETON)
		return 0;
	if (d->job >= self)
		return wz_err_set(err, -EINVAL, "BadDependency", WZ_STR("job "), wz_str_u64(&n, d->job),
		        d->job >= self + count ? WZ_STR(" does not exist")
		                               : WZ_STR(" cannot wait for itself or a later one"));
	if (!book_find(s, d->job) && !book_array(s, d->job))
		look_back(s, d->job, true, &p);
	if (!p.n)
		return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no job "), wz_str_u64(&n, d->job));
	if (d->task && !book_array_task(s, d->job, d->index, d->job + d->index))
		return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("array "), wz_str_u64(&n, d->job),
		        WZ_STR(" has no task of that index"));
	return 0;
}

int book_deps_new(struct serve *s, const struct wz_str *text, uint32_t n, uint64_t self, uint32_t count,
        struct book_deps **ret, struct wz_err *err)
{
	struct book_deps *d;
	struct wz_depend *all;
	uint32_t k = 0;
	int rc = 0;
	*ret = NULL;
	if (n == 0)
		return 0;
	all = wz_mem_alloc(s->mem, WZ_DEPENDS_MAX * sizeof *all);
	if (!all)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		rc = wz_depend_parse(text[i], all, WZ_DEPENDS_MAX, &k, err);
	for (uint32_t i = 0; rc == 0 && i < k; i++)
		rc = check_target(s, &all[i], self, count, err);
	d = rc == 0 ? wz_mem_zalloc(s->mem, sizeof *d) : NULL;
	if (d) {
		*d = (struct book_deps){.refs = 1, .n = k};
		d->dep = wz_mem_alloc(s->mem, ((size_t)k + 1) * sizeof *d->dep);
		d->state = wz_mem_zalloc(s->mem, (size_t)k + 1);
		if (!d->dep || !d->state) {
			book_deps_unref(s, d);
			d = NULL;
		} else {
			memcpy(d->dep, all, k * sizeof *d->dep);
		}
	}
	wz_mem_free(s->mem, all, WZ_DEPENDS_MAX * sizeof *all);
	if (rc == 0 && !d)
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	*ret = d;
	return rc;
}

void book_set_deps(struct serve *s, struct booked *b, struct book_deps *d)
{
	book_deps_unref(s, b->deps);
	b->deps = d;
	if (d && book_depending(s, b->job) < 0) {
		struct wz_err err;
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		serve_fail(s, &err);
	}
	s->book.moved = true;
	book_wait(s, b, d ? BOOK_DEPEND : 0, BOOK_NEVER | (d ? 0 : BOOK_DEPEND));
}

/* ---- words ---- */

static void when(struct wz_buf *b, int64_t us)
{
	char text[40];
	time_t at = (time_t)(us / 1000000);
	struct tm t;
	if (gmtime_r(&at, &t) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t))
		wz_buf_addz(b, text);
}

bool book_why(struct serve *s, const struct booked *b, const char **ret_word, struct wz_buf *text)
{
	const struct book_order *o = book_order_of(s, b);
	if (b->ended || !b->wait)
		return false;
	if (b->wait & BOOK_USER) {
		*ret_word = "JobHeldUser";
		wz_buf_addz(text, "it is held: wz release lets it go");
	} else if (b->wait & BOOK_NEVER) {
		*ret_word = "DependencyNeverSatisfied";
		wz_buf_addz(
		        text, "a dependency can no longer be met; wz edit gives it others, wz release lets it go");
	} else if (b->wait & BOOK_DEPEND) {
		bool any = b->deps->n && b->deps->dep[0].any;
		*ret_word = "Dependency";
		wz_buf_addz(text, any ? "it waits for one of " : "it waits for ");
		for (uint32_t i = 0, shown = 0; i < b->deps->n && shown < 4; i++) {
			if (b->deps->state[i] == MET)
				continue;
			if (shown++)
				wz_buf_addz(text, ", ");
			wz_depend_format(&b->deps->dep[i], 1, text);
		}
	} else if (b->wait & BOOK_BEGIN) {
		*ret_word = "BeginTime";
		wz_buf_addz(text, "it begins not before ");
		when(text, b->begin_us);
	} else if (b->wait & BOOK_RETRY) {
		*ret_word = "RetryDelay";
		wz_buf_addz(text, "it failed and is tried again (");
		wz_buf_add_u64(text, b->retries);
		wz_buf_addz(text, " of ");
		wz_buf_add_u64(text, o->retry_max);
		wz_buf_addz(text, ") at ");
		when(text, b->retry_us);
	} else {
		*ret_word = "JobArrayTaskLimit";
		wz_buf_addz(text, "as many tasks of its array run as may (");
		wz_buf_add_u64(text, o->throttle);
		wz_buf_addz(text, ")");
	}
	return true;
}
