/* SPDX-License-Identifier: Apache-2.0 */
/* The mix of work to expect: counted from what has arrived, or stated by the body (the published FGD knows its
 * workload in advance; ours does not). Policies read it in `prepare`, at epochs: at 16 arrivals, then
 * whenever arrivals grew by a quarter: 10,000 arrivals are 29 epochs, a million 50. */
#ifndef WZ_CORE_DEMAND_H
#define WZ_CORE_DEMAND_H

#include "base/mem.h"
#include "core/types.h"

#define WZ_DEMAND_FIRST_EPOCH 16u

struct wz_demand {
	const struct wz_mem *mem;
	uint64_t *arrived;       /* tasks arrived, by shape */
	uint64_t refused[WZ_NODE_DEVICES_MAX + 1]; /* tasks of any model that did not fit and were withdrawn, by their devices */
	uint32_t cap;
	uint32_t n_shapes;
	uint64_t total;          /* tasks arrived */
	uint64_t next_epoch;     /* arrivals at which the next epoch begins */
	uint32_t epochs;
	/* the stated workload: shapes and weights; n_stated 0: none */
	struct { uint32_t shape; uint32_t weight; } *stated;
	uint32_t n_stated, stated_cap;
};

void wz_demand_init(struct wz_demand *d, const struct wz_mem *mem);
void wz_demand_release(struct wz_demand *d);
int wz_demand_reserve(struct wz_demand *d, uint32_t n_shapes); /* -ENOMEM; then wz_demand_add cannot fail */
static inline uint32_t wz_demand_size(uint32_t devices) { return devices < WZ_NODE_DEVICES_MAX ? devices : WZ_NODE_DEVICES_MAX; }
bool wz_demand_add(struct wz_demand *d, wz_shape_id shape, uint32_t tasks); /* true: an epoch begins */

/* The mix as (shape, weight), heaviest first, ties by shape number, cut at 95 % of the total weight and at `max`. The
 * stated one is returned as stated. Returns how many were written. O(shapes log shapes). */
struct wz_mix { uint32_t shape; uint32_t weight; };
uint32_t wz_demand_mix(const struct wz_demand *d, struct wz_mix *ret, uint32_t max);

#endif
