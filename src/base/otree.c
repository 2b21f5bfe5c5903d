/* SPDX-License-Identifier: Apache-2.0 */
#include "base/otree.h"

#include "base/check.h"
#include "base/hash.h"

#include <errno.h>

int wz_opool_init(struct wz_opool *p, const struct wz_mem *mem, uint32_t n)
{
	*p = (struct wz_opool){.mem = mem, .n = n};
	p->node = wz_mem_zalloc(mem, (size_t)(n ? n : 1) * sizeof(*p->node));
	return p->node ? 0 : -ENOMEM;
}

void wz_opool_release(struct wz_opool *p)
{
	wz_mem_free(p->mem, p->node, (size_t)(p->n ? p->n : 1) * sizeof(*p->node));
	p->node = NULL;
}

static bool above(uint32_t i, uint32_t j) /* heap order of the treap */
{
	uint64_t x = wz_mix64(i), y = wz_mix64(j);
	return x != y ? x > y : i < j;
}

static int64_t sum_of(const struct wz_opool *p, uint32_t i)
{
	return i == WZ_NONE ? 0 : p->node[i].sum;
}

static void pull(struct wz_opool *p, uint32_t i)
{
	struct wz_onode *n = &p->node[i];
	n->sum = n->weight + sum_of(p, n->left) + sum_of(p, n->right);
}

static void set_child(struct wz_opool *p, wz_otree *t, uint32_t up, uint32_t was, uint32_t now)
{
	if (up == WZ_NONE)
		t->root = now;
	else if (p->node[up].left == was)
		p->node[up].left = now;
	else
		p->node[up].right = now;
	if (now != WZ_NONE)
		p->node[now].up = up;
}

/* Lifts i over its parent; sums of the two are right afterwards. */
static void lift(struct wz_opool *p, wz_otree *t, uint32_t i)
{
	struct wz_onode *n = &p->node[i];
	uint32_t up = n->up, moved;
	struct wz_onode *u = &p->node[up];

	set_child(p, t, u->up, up, i);
	if (u->left == i) {
		moved = n->right;
		n->right = up;
		u->left = moved;
	} else {
		moved = n->left;
		n->left = up;
		u->right = moved;
	}
	u->up = i;
	if (moved != WZ_NONE)
		p->node[moved].up = up;
	pull(p, up);
	pull(p, i);
}

void wz_otree_add(struct wz_opool *p, wz_otree *t, uint32_t i, struct wz_okey key, int64_t weight)
{
	struct wz_onode *n = &p->node[i];
	uint32_t up = WZ_NONE, at = t->root;
	bool left = false;

	wz_check(!n->in);
	while (at != WZ_NONE) {
		p->node[at].sum += weight;
		up = at;
		left = wz_okey_less(key, i, p->node[at].key, at);
		at = left ? p->node[at].left : p->node[at].right;
	}
	*n = (struct wz_onode){key, weight, weight, WZ_NONE, WZ_NONE, up, true};
	if (up == WZ_NONE)
		t->root = i;
	else if (left)
		p->node[up].left = i;
	else
		p->node[up].right = i;
	while (n->up != WZ_NONE && above(i, n->up))
		lift(p, t, i);
}

void wz_otree_remove(struct wz_opool *p, wz_otree *t, uint32_t i)
{
	struct wz_onode *n = &p->node[i];

	wz_check(n->in);
	while (n->left != WZ_NONE && n->right != WZ_NONE)
		lift(p, t, above(n->left, n->right) ? n->left : n->right);
	set_child(p, t, n->up, i, n->left != WZ_NONE ? n->left : n->right);
	for (uint32_t u = n->up; u != WZ_NONE; u = p->node[u].up)
		p->node[u].sum -= n->weight;
	n->in = false;
}

static uint32_t leftmost(const struct wz_opool *p, uint32_t i)
{
	while (i != WZ_NONE && p->node[i].left != WZ_NONE)
		i = p->node[i].left;
	return i;
}

static uint32_t rightmost(const struct wz_opool *p, uint32_t i)
{
	while (i != WZ_NONE && p->node[i].right != WZ_NONE)
		i = p->node[i].right;
	return i;
}

uint32_t wz_otree_first(const struct wz_opool *p, wz_otree t)
{
	return leftmost(p, t.root);
}

uint32_t wz_otree_last(const struct wz_opool *p, wz_otree t)
{
	return rightmost(p, t.root);
}

uint32_t wz_otree_next(const struct wz_opool *p, uint32_t i)
{
	if (p->node[i].right != WZ_NONE)
		return leftmost(p, p->node[i].right);
	while (p->node[i].up != WZ_NONE && p->node[p->node[i].up].right == i)
		i = p->node[i].up;
	return p->node[i].up;
}

uint32_t wz_otree_prev(const struct wz_opool *p, uint32_t i)
{
	if (p->node[i].left != WZ_NONE)
		return rightmost(p, p->node[i].left);
	while (p->node[i].up != WZ_NONE && p->node[p->node[i].up].left == i)
		i = p->node[i].up;
	return p->node[i].up;
}

int64_t wz_otree_sum_after(const struct wz_opool *p, wz_otree t, struct wz_okey key, uint32_t i)
{
	int64_t sum = 0;
	uint32_t at = t.root;

	while (at != WZ_NONE) {
		const struct wz_onode *n = &p->node[at];
		if (wz_okey_less(key, i, n->key, at)) {
			sum += n->weight + sum_of(p, n->right);
			at = n->left;
		} else {
			at = n->right;
		}
	}
	return sum;
}

uint32_t wz_otree_after(const struct wz_opool *p, wz_otree t, struct wz_okey key, uint32_t i)
{
	uint32_t at = t.root, best = WZ_NONE;

	while (at != WZ_NONE) {
		bool after = wz_okey_less(key, i, p->node[at].key, at);
		if (after)
			best = at;
		at = after ? p->node[at].left : p->node[at].right;
	}
	return best;
}

uint32_t wz_otree_overflow(const struct wz_opool *p, uint32_t from, int64_t *room)
{
	uint32_t i = from;

	/* Climb: i and its right subtree lie ahead, in this order, then the parent when i is its left child. */
	for (;;) {
		if (p->node[i].weight > *room)
			return i;
		*room -= p->node[i].weight;
		if (sum_of(p, p->node[i].right) > *room) {
			i = p->node[i].right;
			break;
		}
		*room -= sum_of(p, p->node[i].right);
		while (p->node[i].up != WZ_NONE && p->node[p->node[i].up].right == i)
			i = p->node[i].up;
		i = p->node[i].up;
		if (i == WZ_NONE)
			return WZ_NONE;
	}
	/* Descend: the overflow is inside this subtree. */
	for (;;) {
		const struct wz_onode *n = &p->node[i];
		if (sum_of(p, n->left) > *room) {
			i = n->left;
			continue;
		}
		*room -= sum_of(p, n->left);
		if (n->weight > *room)
			return i;
		*room -= n->weight;
		i = n->right;
	}
}
