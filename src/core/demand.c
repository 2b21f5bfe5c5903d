/* SPDX-License-Identifier: Apache-2.0 */
#include "core/demand.h"

#include "base/fix.h"

#include <string.h>

void wz_demand_init(struct wz_demand *d, const struct wz_mem *mem)
{
	memset(d, 0, sizeof(*d));
	d->mem = mem;
	d->next_epoch = WZ_DEMAND_FIRST_EPOCH;
}

void wz_demand_release(struct wz_demand *d)
{
	wz_grow_free(d->mem, &d->arrived, &d->cap, sizeof(*d->arrived));
	wz_grow_free(d->mem, &d->stated, &d->stated_cap, sizeof(*d->stated));
}

int wz_demand_reserve(struct wz_demand *d, uint32_t n_shapes)
{
	int r = wz_grow(d->mem, &d->arrived, &d->cap, n_shapes, sizeof(*d->arrived));

	if (r == 0 && d->n_shapes < n_shapes)
		d->n_shapes = n_shapes;
	return r;
}

bool wz_demand_add(struct wz_demand *d, wz_shape_id shape, uint32_t tasks)
{
	d->arrived[shape.v] = wz_usat_add(d->arrived[shape.v], tasks);
	d->total = wz_usat_add(d->total, tasks);
	if (d->total < d->next_epoch)
		return false;
	d->next_epoch = d->total + d->total / 4;
	d->epochs++;
	return true;
}

static bool heavier(const struct wz_demand *d, uint32_t a, uint32_t b)
{
	return d->arrived[a] != d->arrived[b] ? d->arrived[a] > d->arrived[b] : a < b;
}

/* A heap of the `max` heaviest shapes with the lightest on top: O(n log max), in the caller's array. */
static void sift(const struct wz_demand *d, struct wz_mix *h, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1;
		struct wz_mix t = h[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && heavier(d, h[kid].shape, h[kid + 1].shape))
			kid++;
		if (heavier(d, h[kid].shape, h[at].shape))
			return;
		h[at] = h[kid];
		h[kid] = t;
		at = kid;
	}
}

uint32_t wz_demand_mix(const struct wz_demand *d, struct wz_mix *ret, uint32_t max)
{
	uint32_t n = 0, scale = 0;
	uint64_t need, sum = 0;

	if (d->n_stated) {
		for (n = 0; n < d->n_stated && n < max; n++)
			ret[n] = (struct wz_mix){.shape = d->stated[n].shape, .weight = d->stated[n].weight};
		return n;
	}
	for (uint32_t s = 0; s < d->n_shapes && max; s++) {
		if (d->arrived[s] == 0)
			continue;
		if (n < max) {
			ret[n++].shape = s;
			if (n == max)
				for (uint32_t i = n / 2; i-- > 0;)
					sift(d, ret, n, i);
		} else if (heavier(d, s, ret[0].shape)) {
			ret[0].shape = s;
			sift(d, ret, n, 0);
		}
	}
	if (n < max)
		for (uint32_t i = n / 2; i-- > 0;)
			sift(d, ret, n, i);
	for (uint32_t end = n; end > 1; end--) { /* heap sort: heaviest first */
		struct wz_mix t = ret[0];
		ret[0] = ret[end - 1];
		ret[end - 1] = t;
		sift(d, ret, end - 1, 0);
	}
	while (d->total >> scale > 1u << 20) /* weights stay small, so that sums of products fit 64 bits */
		scale++;
	need = d->total - d->total / 20;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t a = d->arrived[ret[i].shape];
		if (sum >= need)
			return i;
		sum += a;
		ret[i].weight = (uint32_t)(a >> scale);
		if (ret[i].weight == 0)
			return i;
	}
	return n;
}
