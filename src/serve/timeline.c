/* SPDX-License-Identifier: Apache-2.0 */
/* What ran where and when, from the tables. */
#include "serve/serve_int.h"

#define DAY_US ((int64_t)86400 * 1000000)
#define LIMIT 5000u

struct spans {
	struct serve *s;
	struct wz_api_call *c;
	uint64_t job; /* whose owner and name are known */
	struct wz_str user, name;
};

static struct wz_str keep(struct wz_arena *a, struct wz_str v)
{
	char *p = v.len ? wz_arena_alloc(a, v.len) : NULL;
	if (p)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

static int owner(void *ctx, const struct wz_job_row *r)
{
	struct spans *x = ctx;
	x->user = keep(wz_api_call_arena(x->c), r->user);
	x->name = keep(wz_api_call_arena(x->c), r->name);
	return 1;
}

static int span(void *ctx, const struct wz_attempt_row *r)
{
	struct spans *x = ctx;
	if (x->job != (uint64_t)r->job) { /* rows come job by job */
		struct wz_job_query q = {.job = (uint64_t)r->job};
		x->job = q.job;
		x->user = x->name = (struct wz_str){NULL, 0};
		(void)wz_store_jobs(x->s->store, &q, owner, x, NULL);
	}
	struct wz_api_span s = {.job = (uint64_t)r->job,
	        .task = (uint32_t)r->task,
	        .attempt = (uint32_t)r->attempt,
	        .user = x->user,
	        .name = x->name,
	        .node = r->node,
	        .devices = devices_of(wz_api_call_arena(x->c), r->devices),
	        .start_us = r->started_us,
	        .end_us = WZ_GIVEN(ATTEMPT, r, ended_us) ? r->ended_us : 0};
	s.state = s.end_us ? state_of_end(r->end) : WZ_STATE_RUNNING;
	wz_api_item_span(x->c, &s);
	return 0;
}

void op_timeline(void *ctx, struct wz_api_call *c, const struct wz_api_timeline_query *rq)
{
	struct spans x = {.s = ctx, .c = c};
	int64_t since = rq->since_us ? rq->since_us : serve_now_us(x.s) - DAY_US;
	struct wz_err err;
	if (wz_store_attempts_since(
	            x.s->store, since > 0 ? (uint64_t)since : 0, rq->limit ? rq->limit : LIMIT, span, &x, &err) < 0)
		wz_api_fail(c, &err);
	else
		wz_api_list_end(c, 0);
}
