/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest cover, by branch and bound. Things are sorted by cost, so that a branch ends as soon as its next thing
 * would cost as much as the best that is known; and a branch that leaves something out ends when all the rest together
 * would not do. A first bound comes from adding the cheapest until it fits, and then leaving out what is not needed,
 * the dearest first. The stack is as deep as there are things: 64. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

struct branch {
	struct wz_cover *v;
	uint64_t best_cost, best_mask;
	int r;
};

static bool fits(struct branch *b)
{
	b->v->tests++;
	return b->v->fits(b->v->ctx);
}

static bool add(struct branch *b, uint64_t mask, uint32_t i)
{
	if (b->r < 0 || (b->v->may && !b->v->may(b->v->ctx, mask, i)))
		return false;
	b->r = b->v->add(b->v->ctx, i);
	return b->r == 0;
}

/* Adds those of `want` that may be; returns which. */
static uint64_t add_all(struct branch *b, uint64_t mask, uint64_t want)
{
	uint64_t added = 0;

	for (; want && b->r == 0; want &= want - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(want);
		if (add(b, mask | added, i))
			added |= 1ULL << i;
	}
	return added;
}

static void drop_all(struct branch *b, uint64_t mask)
{
	while (mask) {
		uint32_t i = 63 - (uint32_t)__builtin_clzll(mask);
		b->v->drop(b->v->ctx, i);
		mask &= ~(1ULL << i);
	}
}

static uint64_t cost_of(const struct wz_cover *v, uint64_t mask)
{
	uint64_t sum = 0;

	for (; mask; mask &= mask - 1)
		sum = wz_usat_add(sum, v->cost[__builtin_ctzll(mask)]);
	return sum;
}

static uint64_t above(uint32_t n, uint32_t i)
{
	uint64_t all = n == 64 ? UINT64_MAX : (1ULL << n) - 1;

	return i >= 64 ? 0 : all & ~((1ULL << i) - 1);
}

/* The first bound. The state is as it was. False: not even all of them do. */
static bool greedy(struct branch *b)
{
	uint64_t mask = 0, added;
	bool done = false;

	for (uint32_t i = 0; i < b->v->n && !done && b->r == 0; i++)
		if (add(b, mask, i)) {
			mask |= 1ULL << i;
			done = fits(b);
		}
	drop_all(b, mask);
	for (uint32_t i = b->v->n; done && b->r == 0 && i-- > 0;) {
		uint64_t less = mask & ~(1ULL << i);
		if (less == mask)
			continue;
		added = add_all(b, 0, less);
		if (added == less && fits(b))
			mask = less;
		drop_all(b, added);
	}
	if (done && b->r == 0 && cost_of(b->v, mask) < b->best_cost) {
		b->best_cost = cost_of(b->v, mask);
		b->best_mask = mask;
	}
	return done;
}

/* All sets that begin with `mask` and go on with things from i. */
static void search(struct branch *b, uint64_t mask, uint64_t cost, uint32_t i)
{
	for (; i < b->v->n && b->r == 0; i++) {
		uint64_t with = wz_usat_add(cost, b->v->cost[i]), rest;
		bool enough;
		if (with >= b->best_cost || b->v->tests >= b->v->tests_max)
			return;
		if (add(b, mask, i)) {
			if (fits(b)) {
				b->best_cost = with;
				b->best_mask = mask | 1ULL << i;
			} else {
				search(b, mask | 1ULL << i, with, i + 1);
			}
			b->v->drop(b->v->ctx, i);
		}
		rest = add_all(b, mask, above(b->v->n, i + 1)); /* without i: can it be done at all? */
		enough = rest && fits(b);
		drop_all(b, rest);
		if (!enough)
			return;
	}
}

uint64_t wz_cover_find(struct wz_cover *v, uint64_t less_than, uint64_t *ret_mask, int *ret_err)
{
	struct branch b = {.v = v, .best_cost = less_than};

	wz_check(v->n <= 64);
	if (greedy(&b))
		search(&b, 0, 0, 0);
	*ret_err = b.r;
	if (b.r < 0 || b.best_mask == 0)
		return UINT64_MAX;
	*ret_mask = b.best_mask;
	return b.best_cost;
}
