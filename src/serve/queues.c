/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about queues and reservations. What they change is an event: journalled, and in force when it is answered. */
#include "serve/serve_int.h"

static void change(struct serve *s, struct wz_api_call *c, uint32_t kind, struct wz_str name, struct wz_str rules)
{
	struct wz_event e = {.kind = kind, .u.rules = {.name = name, .text = rules}};
	struct wz_err err;
	int rc = serve_apply(s, &e, &err);
	if (rc == 0)
		serve_answer(s, c, 0, false);
	else if (rc == -EINVAL && rules.len)
		wz_api_fail_field(c, &err, "rules");
	else
		wz_api_fail(c, &err);
}

void op_queue_set(void *ctx, struct wz_api_call *c, const struct wz_api_queue_set *rq)
{
	change(ctx, c, WZ_EV_QUEUE_SET, rq->name, rq->rules);
}

void op_queue_remove(void *ctx, struct wz_api_call *c, const struct wz_api_name_ref *rq)
{
	change(ctx, c, WZ_EV_QUEUE_REMOVED, rq->name, WZ_STR(""));
}

void op_reservation_set(void *ctx, struct wz_api_call *c, const struct wz_api_reservation_set *rq)
{
	change(ctx, c, WZ_EV_RESERVATION_SET, rq->name, rq->rules);
}

void op_reservation_remove(void *ctx, struct wz_api_call *c, const struct wz_api_name_ref *rq)
{
	change(ctx, c, WZ_EV_RESERVATION_REMOVED, rq->name, WZ_STR(""));
}

/* ---- what there is ---- */

static int64_t or_none(int64_t v)
{
	return v == INT64_MAX ? -1 : v;
}

#define AMOUNTS_MAX 32u

static void amounts_of(struct serve *s, struct wz_arena *a, uint32_t i, struct wz_items *ret)
{
	struct wz_queue_amount q[AMOUNTS_MAX];
	uint32_t n = wz_core_queue_amounts(s->core, i, q, AMOUNTS_MAX);
	struct wz_api_amount *v = wz_arena_alloc(a, AMOUNTS_MAX * sizeof *v);
	for (uint32_t k = 0; v && k < n; k++)
		v[k] = (struct wz_api_amount){.what = q[k].what,
		        .used = q[k].used,
		        .guaranteed = q[k].guaranteed,
		        .limit = or_none(q[k].limit),
		        .borrow = or_none(q[k].borrow),
		        .lend = or_none(q[k].lend),
		        .capacity = q[k].capacity};
	*ret = (struct wz_items){v, v ? n : 0};
}

/* Users that have jobs in the queue, or a past in it. */
static void users_of(struct serve *s, struct wz_arena *a, struct wz_str queue, struct wz_items *ret)
{
	struct wz_user_info u;
	struct wz_api_share *v;
	uint32_t n = 0, k = 0;
	int r;
	for (uint32_t i = 0; (r = wz_core_user_at(s->core, i, &u)) != -ENOENT; i++)
		n += r == 0 && wz_str_eq(u.queue, queue) && (u.jobs || u.past_gpu_milli);
	v = wz_arena_alloc(a, (n + 1) * sizeof *v);
	for (uint32_t i = 0; v && k < n && (r = wz_core_user_at(s->core, i, &u)) != -ENOENT; i++)
		if (r == 0 && wz_str_eq(u.queue, queue) && (u.jobs || u.past_gpu_milli))
			v[k++] = (struct wz_api_share){.user = u.user,
			        .pending = u.jobs - u.started,
			        .running = u.started,
			        .share_ppm = u.share_ppm,
			        .used_milli = u.gpu_milli,
			        .past_milli = u.past_gpu_milli};
	*ret = (struct wz_items){v, k};
}

void op_queue_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct serve *s = ctx;
	struct wz_arena *a = wz_api_call_arena(c);
	struct wz_queue_info q;
	(void)rq;
	for (uint32_t i = 0; wz_core_queue_at(s->core, i, &q) == 0; i++) {
		char text[WZ_RULES_TEXT_MAX];
		struct wz_api_queue v = {.name = q.name,
		        .parent = q.parent,
		        .used_milli = q.gpu_milli,
		        .past_milli = q.past_gpu_milli,
		        .share_ppm = q.share_ppm,
		        .pending = q.jobs - q.started,
		        .running = q.started,
		        .spent_hours_milli = (int64_t)q.spent_milli_hours,
		        .spent_money_milli = (int64_t)q.spent_milli_money};
		struct wz_buf b;
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_queue_rules_format(q.rules, &b);
		v.rules = wz_buf_str(&b);
		amounts_of(s, a, i, &v.amounts);
		if (q.children == 0)
			users_of(s, a, q.name, &v.users);
		wz_api_item_queue(c, &v);
	}
	wz_api_list_end(c, 0);
}

void op_reservation_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct serve *s = ctx;
	struct wz_reserve_rules v;
	struct wz_str name;
	char text[WZ_RULES_TEXT_MAX];
	struct wz_buf b;
	(void)rq;
	wz_buf_init_fixed(&b, text, sizeof text);
	for (uint32_t i = 0; wz_core_reservation_at(s->core, i, &name, &v, &b) == 0; i++) {
		uint64_t now = (uint64_t)serve_now_us(s);
		struct wz_api_reservation r = {.name = name,
		        .rules = wz_buf_str(&b),
		        .start_us = (int64_t)v.from_us,
		        .end_us = (int64_t)v.to_us,
		        .state = now < v.from_us ? WZ_STR("planned")
		                 : now < v.to_us ? WZ_STR("active")
		                                 : WZ_STR("over")};
		wz_api_item_reservation(c, &r);
		wz_buf_clear(&b);
	}
	wz_api_list_end(c, 0);
}
