/* SPDX-License-Identifier: Apache-2.0 */
/* The arrivals of the inflation experiment (reference: the FGD artefact; docs/internals/sim.md): the whole list in a
 * random order, grown by draws with replacement, or thinned, until its GPU demand is 1.3 x the cluster. Also the typical
 * workload that the published FGD is told in advance. */
#ifndef WZ_SIM_ARRIVE_H
#define WZ_SIM_ARRIVE_H

#include "sim/workload.h"

#define WZ_ARRIVALS_MAX (1u << 25)
#define WZ_ARRIVE_MILLI 1300 /* arrivals end at 1.3 x capacity */

struct wz_arrivals {
	const struct wz_mem *mem;
	uint32_t *task;  /* [n] indices into the tasks */
	uint32_t n, cap;
};

/* Order and inflation by `seed`. Sorts by name first, so the order of lines in the file does not matter. As published:
 * growing stops at the first draw that would pass the mark, where the check counts the milli of one device only. */
int wz_arrivals_make(const struct wz_sim_tasks *tasks, uint64_t capacity_milli, uint64_t seed,
                     const struct wz_mem *mem, struct wz_arrivals *ret); /* -ENOMEM, -EINVAL: no GPU demand at all,
                                                                                * -E2BIG: over WZ_ARRIVALS_MAX */

/* Other orders than the experiment's, to see what a policy makes of them. FILE: as the list is written, then the draws; a
 * list with too much demand is cut, not thinned. LARGEST, SMALLEST: all arrivals sorted by devices asked, then CPU. */
enum wz_arrive_order { WZ_ARRIVE_SHUFFLED, WZ_ARRIVE_FILE, WZ_ARRIVE_LARGEST, WZ_ARRIVE_SMALLEST, WZ_ARRIVE_ORDERS };
extern const char *const wz_arrive_order_name[WZ_ARRIVE_ORDERS]; /* "shuffled", "file", "largest-first", "smallest-first" */
int wz_arrivals_make_ordered(const struct wz_sim_tasks *tasks, uint64_t capacity_milli, uint64_t seed,
                             enum wz_arrive_order order, const struct wz_mem *mem, struct wz_arrivals *ret);
void wz_arrivals_release(struct wz_arrivals *a);

/* Demand of one arrival in milli of devices. */
static inline uint64_t wz_task_gpu_milli(const struct wz_sim_task *t) { return (uint64_t)t->gpus * t->milli; }

/* Typical pods: the list grouped by (CPU, milli, count, models as written), by count; the most frequent groups until
 * 95 % of the pods are covered. */
struct wz_typical { uint32_t task; uint32_t weight; }; /* a task of the group, pods in it */
struct wz_typicals {
	const struct wz_mem *mem;
	struct wz_typical *t;
	uint32_t n, cap;
};
int wz_typicals_make(const struct wz_sim_tasks *tasks, const struct wz_mem *mem, struct wz_typicals *ret);
void wz_typicals_release(struct wz_typicals *t);

#endif
