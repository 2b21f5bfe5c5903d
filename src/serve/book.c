/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serve_int.h"

#include "base/check.h"
#include "base/hash.h"

void book_init(struct serve *s)
{
	struct book *k = &s->book;
	wz_map_init(&k->by_job, s->mem);
	wz_map_init(&k->by_order, s->mem);
	k->free_v = k->free_order = WZ_NONE;
	k->due_us = INT64_MAX;
}

void book_release(struct serve *s)
{
	struct book *k = &s->book;
	for (uint32_t i = 0; i < k->n; i++)
		book_deps_unref(s, k->v[i].job ? k->v[i].deps : NULL);
	wz_map_release(&k->by_job);
	wz_map_release(&k->by_order);
	wz_grow_free(s->mem, &k->v, &k->cap, sizeof *k->v);
	wz_grow_free(s->mem, &k->order, &k->order_cap, sizeof *k->order);
	wz_grow_free(s->mem, &k->depending, &k->depending_cap, sizeof *k->depending);
	wz_grow_free(s->mem, &k->dirty, &k->dirty_cap, sizeof *k->dirty);
}

struct booked *book_find(struct serve *s, uint64_t job)
{
	uint32_t i = wz_map_get(&s->book.by_job, job);
	return i == WZ_NONE ? NULL : &s->book.v[i];
}

struct book_order *book_order_of(struct serve *s, const struct booked *b)
{
	return &s->book.order[b->order];
}

struct book_order *book_array(struct serve *s, uint64_t id)
{
	uint32_t i = wz_map_get(&s->book.by_order, id);
	return i == WZ_NONE ? NULL : &s->book.order[i];
}

static void out_of_memory(struct serve *s)
{
	struct wz_err err;
	(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	serve_fail(s, &err);
}

/* ---- opening ---- */

int book_open(struct serve *s, const struct book_order *o, uint32_t *ret_order)
{
	struct book *k = &s->book;
	uint32_t i = k->free_order;
	int rc = 0;
	if (i == WZ_NONE)
		rc = wz_grow(s->mem, &k->order, &k->order_cap, (i = k->n_orders) + 1, sizeof *k->order);
	if (rc == 0)
		rc = wz_map_put(&k->by_order, o->id, i);
	if (rc < 0)
		return rc;
	if (i == k->n_orders)
		k->n_orders++;
	else
		k->free_order = k->order[i].next_free;
	k->order[i] = *o;
	k->order[i].cursor = o->id;
	*ret_order = i;
	return 0;
}

int book_depending(struct serve *s, uint64_t job)
{
	struct book *k = &s->book;
	int rc = wz_grow(s->mem, &k->depending, &k->depending_cap, k->n_depending + 1, sizeof *k->depending);
	uint32_t i = k->n_depending;
	if (rc < 0)
		return rc;
	while (i > 0 && k->depending[i - 1] > job)
		i--;
	if (i > 0 && k->depending[i - 1] == job)
		return 0;
	memmove(&k->depending[i + 1], &k->depending[i], (k->n_depending - i) * sizeof *k->depending);
	k->depending[i] = job;
	k->n_depending++;
	return 0;
}

static int mark(struct serve *s, uint64_t job)
{
	struct book *k = &s->book;
	int rc = wz_grow(s->mem, &k->dirty, &k->dirty_cap, k->n_dirty + 1, sizeof *k->dirty);
	if (rc == 0)
		k->dirty[k->n_dirty++] = job;
	return rc;
}

int book_add(struct serve *s, uint32_t order, const struct booked *b, struct book_deps *deps)
{
	struct book *k = &s->book;
	uint32_t i = k->free_v;
	int rc = 0;
	if (i == WZ_NONE)
		rc = wz_grow(s->mem, &k->v, &k->cap, (i = k->n) + 1, sizeof *k->v);
	if (rc == 0 && deps)
		rc = book_depending(s, b->job);
	if (rc == 0)
		rc = wz_map_put(&k->by_job, b->job, i);
	if (rc < 0)
		return rc;
	if (i == k->n)
		k->n++;
	else
		k->free_v = k->v[i].next_free;
	k->order[order].kept++;
	k->order[order].left += !b->ended;
	k->order[order].unstarted += !b->ended && !b->started_us;
	k->v[i] = *b;
	k->v[i].order = order;
	k->v[i].deps = deps;
	if (deps) {
		deps->refs++;
		k->v[i].wait |= BOOK_DEPEND;
		k->moved = true;
	}
	if (!b->ended && !(k->v[i].wait & ~(uint32_t)BOOK_ARRAY))
		k->gaps = k->gaps || k->order[order].throttle;
	if (k->v[i].wait == 0)
		k->order[order].active++;
	if (b->begin_us)
		book_due(s, b->begin_us);
	if (b->deadline_us)
		book_due(s, b->deadline_us - b->limit_us);
	if (b->retry_us)
		book_due(s, b->retry_us);
	return 0;
}

void book_touch(struct serve *s, uint64_t job)
{
	if (mark(s, job) < 0)
		out_of_memory(s);
}

/* ---- changes ---- */

void book_due(struct serve *s, int64_t us)
{
	int64_t now = serve_now_us(s);
	if (us >= s->book.due_us || s->failed)
		return;
	s->book.due_us = us;
	/* A clock that is set while we sleep: never longer than an hour without a look. */
	wz_timer_set(&s->book_timer, us <= now ? 0 : us - now > 3600000000 ? 3600000000 : us - now + 1000);
}

void book_timer(void *ctx)
{
	struct serve *s = ctx;
	s->book.due_us = INT64_MIN; /* book_settle finds the next one */
	serve_soon(s);
}

void book_wait(struct serve *s, struct booked *b, uint32_t set, uint32_t clear)
{
	uint32_t before = b->wait;
	struct book_order *o = book_order_of(s, b);
	b->wait = (b->wait | set) & ~clear;
	if (b->wait == before || b->ended)
		return;
	if (before == 0)
		o->active--;
	/* Who waits for nothing else takes a place of the array like all others. */
	if (o->throttle && before && b->wait == 0 && !(before & BOOK_ARRAY))
		b->wait = BOOK_ARRAY;
	if (b->wait == 0)
		o->active++;
	if (o->throttle) {
		o->cursor = b->job < o->cursor ? b->job : o->cursor;
		s->book.gaps = true;
	}
	if (mark(s, b->job) < 0)
		out_of_memory(s);
	serve_soon(s);
}

void book_started(struct serve *s, uint64_t job, int64_t us)
{
	struct booked *b = book_find(s, job);
	if (!b)
		return;
	if (!b->started_us)
		book_order_of(s, b)->unstarted--;
	b->started_us = us ? us : 1;
	s->book.moved = true;
}

void book_ended(struct serve *s, uint64_t job, uint32_t end)
{
	struct booked *b = book_find(s, job);
	if (!b || b->ended)
		return;
	struct book_order *o = book_order_of(s, b);
	if (!b->started_us)
		o->unstarted--; /* for `after`: it will never be more started */
	if (b->wait == 0)
		o->active--;
	o->left--;
	o->failed += end != WZ_END_COMPLETED;
	b->ended = true;
	b->end = (uint8_t)end;
	s->book.moved = true;
	s->book.gaps = s->book.gaps || o->throttle;
	if (o->left == 0 && o->secrets[0])
		secret_drop(s, o->secrets);
	if (s->book.n_depending || s->book.gaps)
		serve_soon(s);
}

void book_noted(struct serve *s, uint64_t job)
{
	struct booked *b = book_find(s, job);
	if (b)
		b->noted = true;
}

bool book_is_noted(struct serve *s, uint64_t job)
{
	const struct booked *b = book_find(s, job);
	return b && b->noted;
}

void book_forget(struct serve *s, uint64_t job)
{
	struct book *k = &s->book;
	uint32_t i = wz_map_get(&k->by_job, job);
	if (i == WZ_NONE || !k->v[i].ended)
		return;
	struct booked *b = &k->v[i];
	struct book_order *o = &k->order[b->order];
	(void)wz_map_del(&k->by_job, job);
	book_deps_unref(s, b->deps);
	if (--o->kept == 0) {
		(void)wz_map_del(&k->by_order, o->id);
		o->id = 0;
		o->next_free = k->free_order;
		k->free_order = b->order;
	}
	*b = (struct booked){.next_free = k->free_v};
	k->free_v = i;
}

bool book_may_requeue(struct serve *s, uint64_t job)
{
	const struct booked *b = book_find(s, job);
	return !b || !book_order_of(s, b)->no_requeue;
}

bool book_retry(struct serve *s, uint64_t job, uint32_t end, int64_t code, int64_t signo)
{
	struct booked *b = book_find(s, job);
	const struct book_order *o = b ? book_order_of(s, b) : NULL;
	if (!o || b->retries >= o->retry_max || b->ended ||
	        !wz_retry_match(o->rule, o->n_rules, (enum wz_end)end, code, signo))
		return false;
	b->retries++;
	b->retry_us = serve_now_us(s) + (int64_t)wz_retry_delay_us(o->retry_delay_us, b->retries);
	book_wait(s, b, BOOK_RETRY, 0);
	book_due(s, b->retry_us);
	return true;
}

/* ---- settling ---- */

static void cancel(struct serve *s, const struct booked *b, uint32_t end, const char *word, struct wz_str text)
{
	struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED};
	struct wz_err err;
	uint64_t job = b->job;
	e.u.job.job = job;
	if (serve_apply_job(s, job, end, &e, &err) < 0) {
		serve_log("the book cannot end a job", err.text);
		return;
	}
	struct touched *t = serve_touch(s, job);
	if (!t)
		return;
	t->word = word;
	serve_words(t, WZ_STR(""), text);
	struct wz_job_info info;
	if (wz_core_job(s->core, job, &info) < 0)
		book_ended(s, job, t->end); /* at once: what waits for it is settled in the same pass */
}

static void settle_times(struct serve *s)
{
	struct book *k = &s->book;
	int64_t now = serve_now_us(s);
	if (k->due_us > now)
		return;
	k->due_us = INT64_MAX;
	for (uint32_t i = 0; i < k->n; i++) {
		struct booked *b = &k->v[i];
		struct wz_job_info info;
		if (!b->job || b->ended)
			continue;
		if (b->wait & BOOK_BEGIN && b->begin_us <= now)
			book_wait(s, b, 0, BOOK_BEGIN);
		if (b->wait & BOOK_RETRY && b->retry_us <= now)
			book_wait(s, b, 0, BOOK_RETRY);
		if (b->deadline_us && wz_core_job(s->core, b->job, &info) == 0 && info.state != WZ_JOB_ENDING) {
			bool waits = info.state == WZ_JOB_HELD || info.state == WZ_JOB_WAITING;
			int64_t last = waits ? b->deadline_us - b->limit_us : b->deadline_us;
			if (last <= now)
				cancel(s, b, WZ_END_TIMEOUT, "DeadLine",
				        waits ? WZ_STR("it could no longer end before its deadline")
				              : WZ_STR("its deadline passed while it ran"));
			else
				book_due(s, last);
		}
		if (b->wait & BOOK_BEGIN)
			book_due(s, b->begin_us);
		if (b->wait & BOOK_RETRY)
			book_due(s, b->retry_us);
	}
}

/* The next tasks of an array take the places that are free, in rising order. */
static void settle_array(struct serve *s, struct book_order *o)
{
	uint64_t at = o->cursor, low = 0;
	for (; at <= o->last && o->active < o->throttle; at++) {
		struct booked *b = book_find(s, at);
		if (!b || b->ended || b->wait == 0)
			continue;
		if (b->wait != BOOK_ARRAY) {
			low = low ? low : at;
			continue;
		}
		b->wait = 0;
		o->active++;
		if (mark(s, b->job) < 0)
			out_of_memory(s);
	}
	o->cursor = low ? low : at;
}

static void settle_core(struct serve *s)
{
	struct book *k = &s->book;
	for (uint32_t i = 0; i < k->n_dirty; i++) {
		const struct booked *b = book_find(s, k->dirty[i]);
		struct wz_job_info info;
		struct wz_event e = {.kind = 0};
		struct wz_err err;
		if (!b || b->ended || wz_core_job(s->core, b->job, &info) < 0)
			continue;
		if (b->wait && info.state == WZ_JOB_WAITING)
			e.kind = WZ_EV_JOB_HELD;
		else if (!b->wait && info.state == WZ_JOB_HELD)
			e.kind = WZ_EV_JOB_RELEASED;
		e.u.job.job = b->job;
		if (e.kind && serve_apply_job(s, b->job, WZ_END_CANCELLED, &e, &err) < 0)
			serve_log("the book cannot hold or release a job", err.text);
	}
	k->n_dirty = 0;
}

void book_settle(struct serve *s)
{
	struct book *k = &s->book;
	settle_times(s);
	if (k->moved && k->n_depending)
		book_settle_deps(s, cancel);
	else
		k->moved = false;
	for (uint32_t i = 0; k->gaps && i < k->n_orders; i++)
		if (k->order[i].id && k->order[i].throttle && k->order[i].left)
			settle_array(s, &k->order[i]);
	k->gaps = false;
	/* What came back from an attempt while it waits for something: a pause, a person. */
	for (uint32_t i = 0; i < s->n_touched; i++) {
		const struct booked *b = book_find(s, s->touched[i].job);
		if (b && b->wait && mark(s, b->job) < 0)
			out_of_memory(s);
	}
	settle_core(s);
	if (k->due_us == INT64_MAX)
		wz_timer_stop(&s->book_timer);
}
