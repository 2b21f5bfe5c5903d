/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered sets with sums: who is next, who is last, how much lies beyond a key.
 *
 * Several trees share one pool of nodes. A member is an index of the pool and is in at most one tree at a time; it has a
 * key of two numbers (ties go by index, so the order is total) and a weight. Treaps whose heap order is a fixed mix of the
 * index: the shape depends on the members only, so every machine walks the same way. All operations are O(log members)
 * expected and allocate nothing; there is no recursion. */
#ifndef WZ_BASE_OTREE_H
#define WZ_BASE_OTREE_H

#include "base/map.h"
#include "base/mem.h"

struct wz_okey {
	int64_t a, b;
};

struct wz_onode {
	struct wz_okey key;
	int64_t weight, sum; /* own, and of the subtree; sums must fit 63 bits */
	uint32_t left, right, up;
	bool in; /* in some tree */
};

struct wz_opool {
	const struct wz_mem *mem;
	struct wz_onode *node;
	uint32_t n;
};
int wz_opool_init(struct wz_opool *p, const struct wz_mem *mem, uint32_t n); /* -ENOMEM */
void wz_opool_release(struct wz_opool *p);

typedef struct {
	uint32_t root;
} wz_otree; /* WZ_NONE: empty */

void wz_otree_add(
        struct wz_opool *p, wz_otree *t, uint32_t i, struct wz_okey key, int64_t weight); /* not in any tree */
void wz_otree_remove(struct wz_opool *p, wz_otree *t, uint32_t i); /* in this tree */

uint32_t wz_otree_first(const struct wz_opool *p, wz_otree t); /* smallest, or WZ_NONE */
uint32_t wz_otree_last(const struct wz_opool *p, wz_otree t);
uint32_t wz_otree_next(const struct wz_opool *p, uint32_t i); /* the next larger one of the same tree, or WZ_NONE */
uint32_t wz_otree_prev(const struct wz_opool *p, uint32_t i);
static inline int64_t wz_otree_sum(const struct wz_opool *p, wz_otree t)
{
	return t.root == WZ_NONE ? 0 : p->node[t.root].sum;
}

/* Is (x, i) before (y, j)? */
static inline bool wz_okey_less(struct wz_okey x, uint32_t i, struct wz_okey y, uint32_t j)
{
	return x.a != y.a ? x.a < y.a : x.b != y.b ? x.b < y.b : i < j;
}

/* The weight of all members after (key, i), which need not be a member. */
int64_t wz_otree_sum_after(const struct wz_opool *p, wz_otree t, struct wz_okey key, uint32_t i);
/* The first member after (key, i), or WZ_NONE. */
uint32_t wz_otree_after(const struct wz_opool *p, wz_otree t, struct wz_okey key, uint32_t i);
/* Walks the members from `from` (inclusive, a member) and takes their weights from *room: the first that has no room, or
 * WZ_NONE when all have. *room is what is left before it. */
uint32_t wz_otree_overflow(const struct wz_opool *p, uint32_t from, int64_t *room);

#endif
