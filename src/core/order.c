/* SPDX-License-Identifier: Apache-2.0 */
/* Which waiting job is looked at next: higher priority first, then submit order. That is the rule while
 * there are no queues; with them, wz_tree_next says which class is next (tree.c). */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

static uint64_t class_hash(const struct wz_class *k)
{
	uint64_t h = wz_hash_u64(wz_mix64((uint64_t)k->shape << 32 | (uint32_t)k->priority),
	        (uint64_t)k->tasks_min << 32 | k->tasks_max);
	if (k->between || k->gang)
		h = wz_hash_u64(h, (uint64_t)k->between << 32 | k->gang);
	return k->account == WZ_ID_NONE ? h : wz_hash_u64(h, k->account);
}

static bool same_class(const struct wz_class *a, const struct wz_class *b)
{
	return a->shape == b->shape && a->between == b->between && a->gang == b->gang &&
	       a->tasks_min == b->tasks_min && a->tasks_max == b->tasks_max && a->priority == b->priority &&
	       a->account == b->account;
}

int wz_order_class(struct wz_core *c, const struct wz_class *key, uint32_t *ret)
{
	struct wz_order *o = &c->order;
	uint64_t h = class_hash(key);
	uint32_t first = wz_map_get(&o->by_hash, h), id;
	int r;

	for (id = first; id != WZ_NONE; id = o->cls[id].next_same_hash) {
		if (same_class(&o->cls[id], key)) {
			*ret = id;
			return 0;
		}
	}
	id = o->n;
	r = wz_grow(&c->mem, &o->cls, &o->cap, id + 1, sizeof(*o->cls));
	if (r == 0) /* every class may become active: room for all, so that adding a job cannot fail */
		r = wz_grow(&c->mem, &o->active, &o->active_cap, id + 1, sizeof(*o->active));
	if (r == 0)
		r = wz_grow(&c->mem, &o->heap, &o->heap_cap, id + 1, sizeof(*o->heap));
	if (r == 0 && key->account != WZ_ID_NONE)
		r = wz_grow(&c->mem, &c->queues.heap, &c->queues.heap_cap, id + 1, sizeof(*c->queues.heap));
	if (r == 0)
		r = wz_map_put(&o->by_hash, h, id);
	if (r < 0)
		return r;
	o->cls[id] = (struct wz_class){.shape = key->shape,
	        .between = key->between,
	        .gang = key->gang,
	        .tasks_min = key->tasks_min,
	        .tasks_max = key->tasks_max,
	        .priority = key->priority,
	        .account = key->account,
	        .head = WZ_ID_NONE,
	        .tail = WZ_ID_NONE,
	        .active_at = WZ_ID_NONE,
	        .next_same_hash = first,
	        .cursor = WZ_ID_NONE};
	o->n++;
	*ret = id;
	return 0;
}

/* The list is in submit order; a new job goes to the end, a requeued one walks back to its old place. */
void wz_order_add(struct wz_core *c, uint32_t slot)
{
	struct wz_order *o = &c->order;
	struct wz_job *jobs = c->jobs.job, *j = &jobs[slot];
	struct wz_class *k = &o->cls[j->class_id];
	uint32_t after = k->tail;

	if (after != WZ_ID_NONE && jobs[k->head].seq > j->seq)
		after = WZ_ID_NONE; /* the usual requeue: older than all that wait */
	while (after != WZ_ID_NONE && jobs[after].seq > j->seq)
		after = jobs[after].prev;
	j->prev = after;
	j->next = after == WZ_ID_NONE ? k->head : jobs[after].next;
	if (j->prev == WZ_ID_NONE)
		k->head = slot;
	else
		jobs[j->prev].next = slot;
	if (j->next == WZ_ID_NONE)
		k->tail = slot;
	else
		jobs[j->next].prev = slot;
	if (k->n++ == 0) {
		k->active_at = o->n_active;
		o->active[o->n_active++] = j->class_id;
	}
	o->waiting++;
}

void wz_order_remove(struct wz_core *c, uint32_t slot)
{
	struct wz_order *o = &c->order;
	struct wz_job *jobs = c->jobs.job, *j = &jobs[slot];
	struct wz_class *k = &o->cls[j->class_id];

	if (j->prev == WZ_ID_NONE)
		k->head = j->next;
	else
		jobs[j->prev].next = j->next;
	if (j->next == WZ_ID_NONE)
		k->tail = j->prev;
	else
		jobs[j->next].prev = j->prev;
	j->next = j->prev = WZ_ID_NONE;
	if (--k->n == 0) {
		uint32_t moved = o->active[--o->n_active];
		o->active[k->active_at] = moved;
		o->cls[moved].active_at = k->active_at;
		k->active_at = WZ_ID_NONE;
		wz_class_set_reason(c, j->class_id, WZ_REASON_NONE);
	}
	o->waiting--;
}

static bool before(const struct wz_core *c, uint32_t x, uint32_t y)
{
	const struct wz_class *a = &c->order.cls[x], *b = &c->order.cls[y];

	if (a->priority != b->priority)
		return a->priority > b->priority;
	return c->jobs.job[a->cursor].seq < c->jobs.job[b->cursor].seq;
}

static void sift_down(struct wz_core *c, uint32_t at)
{
	struct wz_order *o = &c->order;
	uint32_t id = o->heap[at];

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= o->n_heap)
			break;
		if (kid + 1 < o->n_heap && before(c, o->heap[kid + 1], o->heap[kid]))
			kid++;
		if (!before(c, o->heap[kid], id))
			break;
		o->heap[at] = o->heap[kid];
		at = kid;
	}
	o->heap[at] = id;
}

void wz_order_begin(struct wz_core *c, bool go_on)
{
	bool resumed = go_on && c->queues.n == 0 && c->pause.step && c->pause.step + 1 == c->step;
	struct wz_order *o = &c->order;

	o->n_heap = 0;
	for (uint32_t i = 0; i < o->n_active; i++) {
		struct wz_class *k = &o->cls[o->active[i]];
		k->cursor = k->head;
		k->blocked = k->planning = false;
		k->failed = WZ_ID_NONE;
		if (resumed && k->priority >= c->pause.priority)
			while (k->cursor != WZ_ID_NONE &&
			        (k->priority > c->pause.priority || c->jobs.job[k->cursor].seq < c->pause.seq))
				k->cursor = c->jobs.job[k->cursor].next;
		if (k->cursor != WZ_ID_NONE)
			o->heap[o->n_heap++] = o->active[i];
	}
	if (c->queues.n)
		wz_tree_begin(c);
	else
		for (uint32_t i = o->n_heap / 2; i-- > 0;)
			sift_down(c, i);
}

/* Only the class that was returned last can have moved on since: it is on top. */
uint32_t wz_order_next(struct wz_core *c)
{
	struct wz_order *o = &c->order;

	if (c->queues.n)
		return wz_tree_next(c);
	if (o->n_heap && (o->cls[o->heap[0]].blocked || o->cls[o->heap[0]].cursor == WZ_ID_NONE))
		o->heap[0] = o->heap[--o->n_heap];
	if (o->n_heap == 0)
		return WZ_ID_NONE;
	sift_down(c, 0);
	return o->heap[0];
}
