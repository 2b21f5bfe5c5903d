/* SPDX-License-Identifier: Apache-2.0 */
/* What bodies may read of queues and reservations. */
#include "core/core_int.h"

#include "base/fix.h"

static struct wz_str name_of(const struct wz_core *c, uint32_t id)
{
	return id == WZ_ID_NONE || id == WZ_USER_NOBODY ? WZ_STR("") : wz_strtab_get(&c->model.names, id);
}

static uint32_t ppm(uint64_t share)
{
	uint64_t v = wz_umuldiv(share, 1000000, 1ULL << 32);

	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

int wz_core_queue_at(struct wz_core *c, uint32_t i, struct wz_queue_info *ret)
{
	const struct wz_account *a;
	const struct wz_queue *q;
	uint32_t depth = 0;

	if (i >= c->queues.n)
		return -ENOENT;
	q = &c->queues.q[i];
	a = &c->queues.acc[q->account];
	wz_quota_capacity(c);
	wz_account_now(c, q->account);
	for (uint32_t k = q->parent; k != WZ_ID_NONE; k = c->queues.q[k].parent)
		depth++;
	*ret = (struct wz_queue_info){.name = name_of(c, q->name),
	        .parent = q->parent == WZ_ID_NONE ? WZ_STR("") : name_of(c, c->queues.q[q->parent].name),
	        .rules = &q->rules,
	        .depth = depth,
	        .children = q->n_children,
	        .jobs = a->jobs,
	        .started = a->started,
	        .gpu_milli = a->used[WZ_DIM_GPU],
	        .cpu_milli = a->used[WZ_DIM_CPU],
	        .mem_mib = a->used[WZ_DIM_MEM],
	        .cu_milli = a->used[WZ_DIM_CU],
	        .past_gpu_milli = a->now[WZ_DIM_GPU],
	        .spent_milli_hours = (uint64_t)(q->now_spent / 3600000),
	        .spent_milli_money = (uint64_t)(q->now_money / 3600000000ULL),
	        .share_ppm = ppm(wz_share_user(c, q->account))};
	return 0;
}

uint32_t wz_core_queue_amounts(struct wz_core *c, uint32_t i, struct wz_queue_amount *ret, uint32_t max)
{
	const struct wz_queue *q;
	uint32_t n = 0;

	if (i >= c->queues.n)
		return 0;
	q = &c->queues.q[i];
	wz_quota_capacity(c);
	for (uint32_t d = 0; d < c->queues.n_dims; d++) {
		bool named = q->guaranteed[d] || q->limit[d] != WZ_NO_LIMIT || q->borrow[d] != WZ_NO_LIMIT ||
		             q->lend[d] != WZ_NO_LIMIT;
		if ((d >= WZ_DIM_PRICE && d < WZ_DIM_MODELS) || (!named && d != WZ_DIM_GPU))
			continue;
		if (n < max)
			ret[n] = (struct wz_queue_amount){.what = wz_dim_name(c, d),
			        .mem = d == WZ_DIM_MEM,
			        .used = c->queues.acc[q->account].used[d],
			        .guaranteed = q->guaranteed[d],
			        .limit = q->limit[d],
			        .borrow = q->borrow[d],
			        .lend = q->lend[d],
			        .capacity = c->queues.capacity[d]};
		n++;
	}
	return n;
}

int wz_core_user_at(struct wz_core *c, uint32_t i, struct wz_user_info *ret)
{
	const struct wz_account *a;

	if (i >= c->queues.n_acc)
		return -ENOENT;
	a = &c->queues.acc[i];
	if (a->user == WZ_ID_NONE || c->queues.q[a->queue].n_children || a->queue == 0)
		return 1;
	wz_quota_capacity(c);
	wz_account_now(c, i);
	*ret = (struct wz_user_info){.queue = name_of(c, c->queues.q[a->queue].name),
	        .user = name_of(c, a->user),
	        .jobs = a->jobs,
	        .started = a->started,
	        .gpu_milli = a->used[WZ_DIM_GPU],
	        .past_gpu_milli = a->now[WZ_DIM_GPU],
	        .share_ppm = ppm(wz_share_user(c, i))};
	return 0;
}

int wz_core_reservation_at(const struct wz_core *c, uint32_t i, struct wz_str *ret_name,
        struct wz_reserve_rules *ret, struct wz_buf *rules)
{
	const struct wz_reservation *r;

	if (i >= c->reservations.n)
		return -ENOENT;
	r = &c->reservations.r[i];
	*ret_name = name_of(c, r->name);
	*ret = r->rules;
	for (uint32_t k = 0; k < ret->n_nodes; k++)
		ret->node[k] = name_of(c, r->node_name[k]);
	ret->queue = name_of(c, r->queue);
	ret->user = name_of(c, r->user);
	if (rules)
		wz_reserve_rules_format(ret, rules);
	return 0;
}

int wz_core_may_reclaim(const struct wz_core *c, uint64_t victim, uint64_t beneficiary)
{
	uint32_t v = wz_jobs_find(c, victim), b = wz_jobs_find(c, beneficiary);

	if (v == WZ_ID_NONE || b == WZ_ID_NONE)
		return -ENOENT;
	return wz_queue_may_reclaim(c, v, b);
}
