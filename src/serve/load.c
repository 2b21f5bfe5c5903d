/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a row, and the book made again from the rows of open jobs. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "jobspec/indices.h"

uint8_t book_on_fail_parse(struct wz_str word)
{
	return wz_str_eq(word, WZ_STR("hold"))  ? BOOK_FAIL_HOLD
	       : wz_str_eq(word, WZ_STR("run")) ? BOOK_FAIL_RUN
	                                        : BOOK_FAIL_CANCEL;
}

int spec_load(struct serve *s, const struct wz_job_row *r, struct wz_arena *a, struct wz_json_doc *doc,
        struct wz_api_submit *ret, struct wz_err *err)
{
	struct wz_json_fault fault = {0};
	struct wz_str text = r->spec;
	struct wz_buf blob;
	int rc = 0;
	wz_buf_init(&blob, s->mem, WZ_BLOB_MAX);
	if (r->template.len && !text.len) {
		rc = wz_store_blob(s->store, r->template, &blob, err);
		text = wz_buf_str(&blob);
	}
	*ret = (struct wz_api_submit){.dry_run = false};
	if (rc == 0 && (rc = wz_json_parse(text, doc, &fault)) == 0)
		rc = wz_json_read(doc, &wz_type_submit, ret, a, &fault);
	if (rc < 0 && err && fault.err.reason)
		*err = fault.err;
	wz_buf_release(&blob); /* the document has copies */
	return rc;
}

void book_undo(struct serve *s, uint64_t first, uint32_t n, uint32_t order)
{
	for (uint32_t i = 0; i < n && !s->failed; i++) {
		struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED};
		e.u.job.job = first + i;
		(void)serve_apply_job(s, first + i, WZ_END_CANCELLED, &e, NULL);
		book_ended(s, first + i, WZ_END_CANCELLED);
	}
	if (order != WZ_NONE && n == 0) {
		(void)wz_map_del(&s->book.by_order, s->book.order[order].id);
		s->book.order[order] = (struct book_order){.next_free = s->book.free_order};
		s->book.free_order = order;
	}
}

/* ---- at the start ---- */

struct loading {
	struct serve *s;
	struct wz_arena arena;
	struct wz_err *err;
	uint32_t n, cap;
	struct wz_job_row *row; /* of the arena */
};

static struct wz_str keep(struct loading *x, struct wz_str v)
{
	char *p = v.len ? wz_arena_alloc(&x->arena, v.len) : NULL;
	if (p)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

static int take_row(void *ctx, const struct wz_job_row *r)
{
	struct loading *x = ctx;
	if (wz_grow(x->s->mem, &x->row, &x->cap, x->n + 1, sizeof *x->row) < 0)
		return wz_err_set(x->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	struct wz_job_row *k = &x->row[x->n++];
	*k = *r;
	/* Only what the book reads is kept; of an array the spec once. */
	k->name = keep(x, r->name);
	k->spec = keep(x, r->spec);
	k->template = keep(x, r->template);
	k->after = keep(x, r->after);
	k->secrets = keep(x, r->secrets);
	return 0;
}

struct counting {
	uint32_t failed;
	uint64_t last;
};

static int count_row(void *ctx, const struct wz_job_row *r)
{
	struct counting *c = ctx;
	c->failed += r->state == WZ_ROW_ENDED && r->end != WZ_END_COMPLETED;
	c->last = (uint64_t)r->job;
	return 0;
}

static int load_order(struct loading *x, const struct wz_job_row *r, uint32_t *ret)
{
	struct serve *s = x->s;
	uint64_t id = (uint64_t)(r->array > 0 ? r->array : r->job);
	struct book_order o = {
	        .id = id, .last = id, .uid = r->uid, .name = wz_hash_str(0, r->name), .asked = (uint64_t)r->asked};
	struct wz_api_submit spec;
	struct wz_json_doc doc = {NULL};
	struct wz_indices indices = {.throttle = 0};
	struct wz_err err;
	if (spec_load(s, r, &x->arena, &doc, &spec, &err) < 0) {
		serve_log("the spec of a job cannot be read", err.text);
		spec = (struct wz_api_submit){.dry_run = false};
	}
	if (r->array > 0) {
		struct counting c = {.last = id};
		struct wz_job_query q = {.array = id, .limit = UINT32_MAX};
		(void)wz_store_jobs(s->store, &q, count_row, &c, NULL);
		o.last = c.last;
		o.failed = c.failed;
		if (spec.array.len)
			(void)wz_indices_parse(spec.array, &indices, NULL);
		o.throttle = spec.throttle ? spec.throttle : indices.throttle;
	}
	o.retry_max = spec.retry_max;
	o.retry_delay_us = (uint64_t)spec.retry_delay_us;
	o.no_requeue = spec.no_requeue;
	o.on_fail = book_on_fail_parse(spec.on_dep_fail);
	for (uint32_t i = 0; i < spec.retry_on.n && i < WZ_RETRY_RULES_MAX; i++)
		if (wz_retry_parse(spec.retry_on.v[i], &o.rule[o.n_rules], NULL) == 0)
			o.n_rules++;
	if (r->secrets.len == sizeof o.secrets - 1)
		memcpy(o.secrets, r->secrets.ptr, sizeof o.secrets - 1);
	wz_json_release(&doc);
	return book_open(s, &o, ret);
}

static int load_one(struct loading *x, const struct wz_job_row *r)
{
	struct serve *s = x->s;
	uint64_t id = (uint64_t)(r->array > 0 ? r->array : r->job);
	uint32_t order = wz_map_get(&s->book.by_order, id);
	struct wz_profile p;
	struct wz_job_info info;
	struct booked b = {.job = (uint64_t)r->job,
	        .index = r->array > 0 ? r->array_index : -1,
	        .begin_us = r->begin_us,
	        .deadline_us = r->deadline_us,
	        .retries = (uint32_t)r->retries,
	        .retry_us = r->retry_us,
	        .started_us = r->started_us,
	        .noted = r->state == WZ_ROW_ENDING && (r->reason.len || r->word.len)};
	struct book_deps *deps = NULL;
	int rc = order == WZ_NONE ? load_order(x, r, &order) : 0;
	if (rc < 0)
		return rc;
	if (b.deadline_us && wz_profile_parse(r->profile, wz_core_catalogue(s->core), &p, NULL) == 0)
		b.limit_us = (int64_t)p.time_us;
	bool waits = wz_core_job(s->core, b.job, &info) == 0 &&
	             (info.state == WZ_JOB_HELD || info.state == WZ_JOB_WAITING);
	bool user =
	        WZ_GIVEN(JOB, r, held) ? r->held != 0 : info.state == WZ_JOB_HELD; /* schema 1: only people held */
	if (waits && user)
		b.wait |= BOOK_USER;
	if (waits && b.begin_us > serve_now_us(s))
		b.wait |= BOOK_BEGIN;
	if (waits && b.retry_us > serve_now_us(s))
		b.wait |= BOOK_RETRY;
	if (waits && r->after.len && !b.started_us &&
	        (rc = book_deps_new(s, &r->after, 1, b.job, 1, &deps, NULL)) < 0) {
		/* What it named is forgotten: that can no longer be met, and a person decides. */
		b.wait |= BOOK_NEVER;
		rc = 0;
	}
	if (waits && !b.wait && !deps && s->book.order[order].throttle && info.state == WZ_JOB_HELD)
		b.wait |= BOOK_ARRAY;
	rc = book_add(s, order, &b, deps);
	book_deps_unref(s, deps);
	if (rc == 0 && waits)
		book_touch(s, b.job);
	return rc;
}

int book_load(struct serve *s, struct wz_err *err)
{
	struct loading x = {.s = s, .err = err};
	struct wz_job_query q = {.states = ~(1u << WZ_ROW_ENDED) & 0x3f, .limit = UINT32_MAX};
	wz_arena_init(&x.arena, s->mem, 65536);
	int rc = wz_store_jobs(s->store, &q, take_row, &x, err);
	for (uint32_t i = 0; rc == 0 && i < x.n; i++)
		rc = load_one(&x, &x.row[i]);
	if (rc == -ENOMEM)
		(void)wz_err_set(err, rc, "OutOfMemory", WZ_STR("out of memory"));
	wz_grow_free(s->mem, &x.row, &x.cap, sizeof *x.row);
	wz_arena_release(&x.arena);
	secret_sweep(s);
	return rc;
}
