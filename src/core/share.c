/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares. What an account has used in the past is a decayed average: between two changes `used` is constant, so
 *
 *	past(t + dt) = past(t) x D + used x (1 - D),    D = 2^(-dt / half-life)
 *
 * exactly, however often it is looked at. D is made of shifts and a table of 2^(-i/256) with linear interpolation: integers,
 * no libm. The share of an account is the largest over devices, CPU and memory of (used + past) / 2 over what the
 * cluster has; without a half-life, of used alone (dominant resource fairness). */
#include "core/core_int.h"

#include "base/fix.h"

#define Q62 (1ULL << 62)
#define ROOT_OF_HALF 4599216278082138665ULL /* 2^(-1/256) x 2^62 */
#define PAST_MAX ((int64_t)1 << 46)

void wz_share_init(struct wz_queues *t)
{
	t->half[0] = Q62;
	for (unsigned i = 1; i <= 256; i++)
		t->half[i] = (uint64_t)((unsigned __int128)t->half[i - 1] * ROOT_OF_HALF >> 62);
}

uint64_t wz_share_decay(const struct wz_queues *t, uint64_t dt_ms)
{
	uint64_t halves, x, i, part;

	if (t->half_life_ms == 0)
		return 0;
	halves = dt_ms / t->half_life_ms;
	if (halves >= 62)
		return 0;
	x = (uint64_t)(((unsigned __int128)(dt_ms % t->half_life_ms) << 32) / t->half_life_ms); /* 0 .. 2^32 - 1 */
	i = x >> 24;
	part = x & 0xffffff;
	return (t->half[i] - (uint64_t)((unsigned __int128)(t->half[i] - t->half[i + 1]) * part >> 24)) >> halves;
}

/* The average when `dt_ms` more have passed. */
static int64_t average(int64_t past, int64_t used, uint64_t decay)
{
	__int128 u = (__int128)(used < 0 ? 0 : used > PAST_MAX ? PAST_MAX : used) << WZ_PAST_BITS;

	return (int64_t)((past * (__int128)decay + u * (__int128)(Q62 - decay)) >> 62);
}

static void spend(const struct wz_account *a, uint64_t dt, unsigned __int128 *gpu, unsigned __int128 *money)
{
	*gpu += (unsigned __int128)(a->used[WZ_DIM_GPU] > 0 ? a->used[WZ_DIM_GPU] : 0) * dt;
	*money += (unsigned __int128)(a->used[WZ_DIM_PRICE] > 0 ? a->used[WZ_DIM_PRICE] : 0) * dt;
}

void wz_account_accrue(struct wz_core *c, uint32_t account)
{
	struct wz_account *a = &c->queues.acc[account];
	uint64_t now = c->now_us / 1000, dt = now - a->past_ms, decay;

	if (dt == 0)
		return;
	decay = wz_share_decay(&c->queues, dt);
	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++)
		a->past[r] = average(a->past[r], a->used[r], decay);
	a->past_ms = now;
	if (a->user == WZ_ID_NONE) {
		spend(a, dt, &c->queues.q[a->queue].spent, &c->queues.q[a->queue].spent_money);
		wz_queue_rehash(c, a->queue);
	}
	wz_account_rehash(c, account);
}

void wz_account_now(struct wz_core *c, uint32_t account)
{
	struct wz_account *a = &c->queues.acc[account];
	uint64_t dt = c->now_us / 1000 - a->past_ms, decay = wz_share_decay(&c->queues, dt);

	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++)
		a->now[r] = average(a->past[r], a->used[r], decay) >> WZ_PAST_BITS;
	if (a->user == WZ_ID_NONE) {
		struct wz_queue *q = &c->queues.q[a->queue];
		q->now_spent = q->spent;
		q->now_money = q->spent_money;
		spend(a, dt, &q->now_spent, &q->now_money);
	}
}

/* What counts of a resource: now and in the past alike. */
static int64_t level(const struct wz_core *c, const struct wz_account *a, unsigned r)
{
	return c->queues.half_life_ms ? wz_sat_add(a->used[r], a->now[r]) / 2 : a->used[r];
}

static uint64_t part_of(const struct wz_core *c, int64_t amount, unsigned r)
{
	int64_t cap = c->queues.capacity[r];

	if (amount <= 0)
		return 0;
	return cap > 0 ? wz_umuldiv((uint64_t)amount, 1ULL << 32, (uint64_t)cap) : 1ULL << 32;
}

uint64_t wz_share_user(const struct wz_core *c, uint32_t account)
{
	uint64_t most = 0;

	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++) {
		uint64_t s = part_of(c, level(c, &c->queues.acc[account], r), r);
		most = s > most ? s : most;
	}
	return most;
}

/* What the class would take of a guaranteed thing at least; 0: nothing of it. */
static int64_t takes(const struct wz_core *c, const struct wz_class *k, unsigned d)
{
	const struct wz_shape *s = &c->shapes.shape[k->shape];
	uint64_t common = 0;

	switch (d) {
	case WZ_DIM_CPU:
		return s->cpu * k->tasks_min;
	case WZ_DIM_MEM:
		return (s->mem + 0xfffff) / 0x100000 * k->tasks_min;
	case WZ_DIM_CU:
		return s->count || s->cu_milli ? (s->cu_milli ? s->cu_milli : 1) : 0;
	case WZ_DIM_GPU:
		return (s->count ? wz_shape_gpu_milli(s) : s->cu_milli || s->dev_mem_total ? 1 : 0) * k->tasks_min;
	default:
		for (unsigned i = 0; i < WZ_MODELS_MAX / 64; i++)
			common |= s->allowed.w[i] & c->queues.dim_set[d].w[i];
		return common ? (s->count ? wz_shape_gpu_milli(s) : 1) * k->tasks_min : 0;
	}
}

/* Within its guarantee for what the class asks: in all of devices, CU, CPU and memory that are guaranteed, and in one of
 * the models, where any are. */
static bool within(const struct wz_core *c, const struct wz_queue *q, const struct wz_class *k, uint64_t *ret_fill)
{
	const int64_t *used = c->queues.acc[q->account].used;
	bool any = false, model = false, model_room = false;

	*ret_fill = 0;
	for (uint32_t w = q->guarantees; w; w &= w - 1) {
		unsigned d = (unsigned)__builtin_ctz(w);
		int64_t ask = takes(c, k, d);
		bool room = wz_sat_add(used[d], ask) <= q->guaranteed[d];
		uint64_t fill;
		if (ask == 0)
			continue;
		fill = used[d] > 0 ? wz_umuldiv((uint64_t)used[d], 1ULL << 32, (uint64_t)q->guaranteed[d]) : 0;
		any = true;
		if (d >= WZ_DIM_MODELS) {
			model = true;
			model_room = model_room || room;
		} else if (!room) {
			return false;
		}
		*ret_fill = fill > *ret_fill ? fill : *ret_fill;
	}
	return any && (!model || model_room);
}

/* First those within their guarantee, the emptiest first; then by what is used beyond the guarantee, over the weight. */
void wz_share_queue(const struct wz_core *c, uint32_t id, uint32_t class_id, bool *ret_needy, uint64_t *ret_key)
{
	const struct wz_queue *q = &c->queues.q[id];
	const struct wz_account *a = &c->queues.acc[q->account];
	uint64_t most = 0;

	*ret_needy = within(c, q, &c->order.cls[class_id], ret_key);
	if (*ret_needy)
		return;
	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++) {
		uint64_t s =
		        part_of(c, level(c, a, r) - (r == WZ_DIM_GPU ? q->guaranteed_gpu : q->guaranteed[r]), r);
		most = s > most ? s : most;
	}
	*ret_key = wz_umuldiv(most, 1000, q->rules.weight_milli);
}
