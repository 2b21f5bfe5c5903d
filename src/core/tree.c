/* SPDX-License-Identifier: Apache-2.0 */
/* Which class is next when there are queues. Down the tree, at each queue the child whose turn it is (wz_share_queue) for the
 * class that would go first of it; in a leaf, higher priority, then the user with the smaller share, then submit order.
 * What a placement changes is the keys of one path and of one user, who only come later by it: so a leaf's heap repairs
 * its top when it is asked, and a path is computed again. A step costs the classes, and for each job placed or blocked the
 * children along one path. */
#include "core/core_int.h"

#include "base/check.h"

static bool before(const struct wz_core *c, uint32_t x, uint32_t y)
{
	const struct wz_class *a = &c->order.cls[x], *b = &c->order.cls[y];

	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->share != b->share)
		return a->share < b->share;
	return c->jobs.job[a->cursor].seq < c->jobs.job[b->cursor].seq;
}

static void sift_down(struct wz_core *c, struct wz_queue *q, uint32_t at)
{
	uint32_t *heap = &c->queues.heap[q->heap], id = heap[at];

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= q->n_heap)
			break;
		if (kid + 1 < q->n_heap && before(c, heap[kid + 1], heap[kid]))
			kid++;
		if (!before(c, heap[kid], id))
			break;
		heap[at] = heap[kid];
		at = kid;
	}
	heap[at] = id;
}

/* Puts the class that goes first on top: drops what is done or blocked, and moves down those whose user or cursor has
 * come later meanwhile. */
static void settle(struct wz_core *c, struct wz_queue *q)
{
	uint32_t *heap = &c->queues.heap[q->heap];

	while (q->n_heap) {
		uint32_t top = heap[0];
		struct wz_class *k = &c->order.cls[top];
		if (k->blocked || k->cursor == WZ_ID_NONE) {
			heap[0] = heap[--q->n_heap];
		} else {
			k->share = wz_share_user(c, k->account);
		}
		if (q->n_heap)
			sift_down(c, q, 0);
		if (q->n_heap && heap[0] == top && c->order.cls[top].cursor != WZ_ID_NONE &&
		        !c->order.cls[top].blocked)
			break;
	}
	q->best = q->n_heap ? heap[0] : WZ_ID_NONE;
}

static void choose(struct wz_core *c, uint32_t id)
{
	struct wz_queue *all = c->queues.q, *q = &all[id];
	uint32_t first = WZ_ID_NONE;

	for (uint32_t k = q->first_child; k != WZ_ID_NONE; k = all[k].next_sibling) {
		const struct wz_queue *a = &all[k];
		if (!a->active || a->best == WZ_ID_NONE)
			continue;
		if (first == WZ_ID_NONE || (a->needy && !all[first].needy) ||
		        (a->needy == all[first].needy && a->key < all[first].key))
			first = k; /* ties: the queue that was made first */
	}
	q->best = first == WZ_ID_NONE ? WZ_ID_NONE : all[first].best;
}

static void refresh(struct wz_core *c, uint32_t id)
{
	struct wz_queue *q = &c->queues.q[id];

	if (q->n_children)
		choose(c, id);
	else
		settle(c, q);
	if (q->best != WZ_ID_NONE)
		wz_share_queue(c, id, q->best, &q->needy, &q->key);
}

/* Children before parents; the depth is bounded (WZ_QUEUE_DEPTH_MAX). */
static void refresh_all(struct wz_core *c, uint32_t id)
{
	for (uint32_t k = c->queues.q[id].first_child; k != WZ_ID_NONE; k = c->queues.q[k].next_sibling)
		if (c->queues.q[k].active)
			refresh_all(c, k);
	refresh(c, id);
}

static void note_account(struct wz_core *c, uint32_t account)
{
	struct wz_queues *t = &c->queues;

	for (uint32_t a = account; a != WZ_ID_NONE; a = t->acc[a].up) {
		struct wz_queue *q = &t->q[t->acc[a].queue];
		wz_account_now(c, a);
		if (q->active)
			continue;
		q->active = true;
		wz_account_now(c, q->account);
	}
}

void wz_tree_begin(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;
	struct wz_order *o = &c->order;
	uint32_t at = 0;

	wz_quota_capacity(c);
	t->current.slot = WZ_ID_NONE;
	t->last_leaf = WZ_ID_NONE;
	for (uint32_t i = 0; i < t->n; i++) {
		t->q[i].active = i == 0;
		t->q[i].n_heap = 0;
		t->q[i].best = WZ_ID_NONE;
	}
	wz_account_now(c, t->q[0].account);
	for (uint32_t i = 0; i < o->n_heap; i++)
		t->q[t->acc[o->cls[o->heap[i]].account].queue].n_heap++;
	for (uint32_t i = 0; i < t->n; i++) {
		t->q[i].heap = at;
		at += t->q[i].n_heap;
		t->q[i].n_heap = 0;
	}
	for (uint32_t i = 0; i < o->n_heap; i++) {
		struct wz_class *k = &o->cls[o->heap[i]];
		struct wz_queue *q = &t->q[t->acc[k->account].queue];
		t->heap[q->heap + q->n_heap++] = o->heap[i];
		note_account(c, k->account);
		k->share = wz_share_user(c, k->account);
	}
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t n = t->q[i].n_heap / 2; n-- > 0;)
			sift_down(c, &t->q[i], n);
	refresh_all(c, 0);
}

uint32_t wz_tree_next(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;
	uint32_t id;

	for (uint32_t q = t->last_leaf; q != WZ_ID_NONE; q = t->q[q].parent)
		refresh(c, q);
	id = t->q[0].best;
	t->last_leaf = id == WZ_ID_NONE ? WZ_ID_NONE : t->acc[c->order.cls[id].account].queue;
	return id;
}
