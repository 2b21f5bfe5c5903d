/* SPDX-License-Identifier: Apache-2.0 */
/* How many devices each elastic job gets in a round: water-filling by marginal gain on powers of two. Pure: no memory of its
 * own, no order but that of the jobs. tests/sim/test_waterfill.c holds it against every allocation of small instances. */
#ifndef WZ_SIM_WATERFILL_H
#define WZ_SIM_WATERFILL_H

#include <stdint.h>

#define WZ_FILL_SIZES 12u /* 1, 2, 4, ... devices */

struct wz_fill_job {
	const double *speed; /* [WZ_FILL_SIZES] progress a second on 2^k devices; 0: cannot run so. speed[0] > 0 */
	double keeps;        /* what a change of devices leaves of the speed, 0..1; 1: nothing is lost */
	uint32_t has, most;  /* devices now (a power of two, or 0); at most so many after this round */
	uint32_t want;       /* filled: devices that it shall have, a power of two, or 0 */
};

/* Its speed with so many devices (a power of two), after what the change costs. */
double wz_fill_speed(const struct wz_fill_job *j, uint32_t gpus);
/* One device each while there are any, in the order given; then doublings, again and again the one that decreases
 * speed[0] / speed most for each device (Pollux' fitness with p = -1, by marginal gain). Returns devices left over.
 * O(n x grants). */
int64_t wz_fill(struct wz_fill_job *job, uint32_t n, int64_t devices);
/* A job stays as it is when the change gains less than `stay`-fold and there is room for that. Returns devices left over. */
int64_t wz_fill_stay(struct wz_fill_job *job, uint32_t n, int64_t left, double stay);

#endif
