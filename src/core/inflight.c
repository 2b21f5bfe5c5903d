/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that were applied and not yet acknowledged, with a heap of their deadlines: nothing waits on an event alone
 * (invariant I3). */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

static bool earlier(const struct wz_inflight *x, uint32_t a, uint32_t b)
{
	const struct wz_flight *p = &x->f[a], *q = &x->f[b];
	return p->deadline_us != q->deadline_us ? p->deadline_us < q->deadline_us : p->id < q->id;
}

static void place(struct wz_inflight *x, uint32_t at, uint32_t slot)
{
	x->heap[at] = slot;
	x->f[slot].heap_at = at;
}

static void sift_up(struct wz_inflight *x, uint32_t at)
{
	uint32_t slot = x->heap[at];

	while (at && earlier(x, slot, x->heap[(at - 1) / 2])) {
		place(x, at, x->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(x, at, slot);
}

static void sift_down(struct wz_inflight *x, uint32_t at)
{
	uint32_t slot = x->heap[at];

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= x->n_heap)
			break;
		if (kid + 1 < x->n_heap && earlier(x, x->heap[kid + 1], x->heap[kid]))
			kid++;
		if (!earlier(x, x->heap[kid], slot))
			break;
		place(x, at, x->heap[kid]);
		at = kid;
	}
	place(x, at, slot);
}

uint64_t wz_flight_hash(const struct wz_flight *f)
{
	return wz_hash_u64(wz_mix64(f->id), f->deadline_us);
}

int wz_inflight_add(struct wz_core *c, uint64_t id, uint32_t kind, uint32_t task, uint64_t deadline_us)
{
	struct wz_inflight *x = &c->inflight;
	uint32_t slot = x->free;
	int r = wz_grow(&c->mem, &x->heap, &x->heap_cap, x->n_heap + 1, sizeof(*x->heap));

	if (r == 0 && slot == WZ_ID_NONE) {
		r = wz_grow(&c->mem, &x->f, &x->cap, x->n + 1, sizeof(*x->f));
		slot = x->n;
	}
	if (r == 0)
		r = wz_map_put(&x->by_id, id, slot);
	if (r < 0)
		return r;
	if (slot == x->n)
		x->n++;
	else
		x->free = x->f[slot].next_free;
	x->f[slot] = (struct wz_flight){.id = id, .deadline_us = deadline_us, .kind = kind, .task = task};
	place(x, x->n_heap, slot);
	x->n_heap++;
	sift_up(x, x->n_heap - 1);
	c->sum += wz_flight_hash(&x->f[slot]);
	return 0;
}

uint32_t wz_inflight_find(const struct wz_core *c, uint64_t id)
{
	return wz_map_get(&c->inflight.by_id, id);
}

void wz_inflight_drop(struct wz_core *c, uint32_t slot)
{
	struct wz_inflight *x = &c->inflight;
	uint32_t at = x->f[slot].heap_at, last = x->heap[--x->n_heap];

	wz_check(x->heap[at] == slot || at == x->n_heap);
	if (last != slot) {
		place(x, at, last);
		sift_down(x, at);
		sift_up(x, x->f[last].heap_at);
	}
	wz_map_del(&x->by_id, x->f[slot].id);
	c->sum -= wz_flight_hash(&x->f[slot]);
	x->f[slot].next_free = x->free;
	x->free = slot;
}

uint32_t wz_inflight_due(const struct wz_core *c, uint64_t now_us)
{
	const struct wz_inflight *x = &c->inflight;

	return x->n_heap && x->f[x->heap[0]].deadline_us <= now_us ? x->heap[0] : WZ_ID_NONE;
}
