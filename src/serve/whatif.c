/* SPDX-License-Identifier: Apache-2.0 */
/* For whom today's plan changes when the cluster does (core/whatif.h). */
#include "serve/serve_int.h"

#include "core/whatif.h"

#define JOBS 256u
#define SAMPLES 19u

static int64_t time_of(uint64_t us)
{
	return us >= INT64_MAX ? 0 : (int64_t)us;
}

struct owner {
	struct wz_arena *a;
	struct wz_str user, name;
};

static struct wz_str keep(struct wz_arena *a, struct wz_str v)
{
	char *p = v.len ? wz_arena_alloc(a, v.len) : NULL;
	if (p)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

static int owner_row(void *ctx, const struct wz_job_row *r)
{
	struct owner *o = ctx;
	o->user = keep(o->a, r->user);
	o->name = keep(o->a, r->name);
	return 1;
}

void op_whatif(void *ctx, struct wz_api_call *c, const struct wz_api_whatif_query *rq)
{
	struct serve *s = ctx;
	struct wz_starts_options o = {.jobs = JOBS, .samples = SAMPLES};
	struct wz_whatif w = {.mem = NULL};
	struct wz_err err = {0};
	if (wz_whatif_ask(s->core, s->mem, rq->edit, &o, &w, &err) < 0) {
		wz_api_fail_field(c, &err, "edit");
		wz_whatif_release(&w);
		return;
	}
	for (uint32_t i = 0; i < w.n; i++) {
		const struct wz_whatif_row *r = &w.row[i];
		struct owner own = {.a = wz_api_call_arena(c)};
		struct wz_job_query q = {.job = r->job};
		(void)wz_store_jobs(s->store, &q, owner_row, &own, NULL);
		struct wz_api_change x = {.job = r->job,
		        .user = own.user,
		        .name = own.name,
		        .now_latest_us = time_of(r->now.latest_us),
		        .now_from_us = time_of(r->now.from_us),
		        .now_to_us = time_of(r->now.to_us),
		        .then_latest_us = time_of(r->then.latest_us),
		        .then_from_us = time_of(r->then.from_us),
		        .then_to_us = time_of(r->then.to_us),
		        .gone = !r->then.known};
		wz_api_item_change(c, &x);
	}
	wz_whatif_release(&w);
	wz_api_list_end(c, 0);
}
