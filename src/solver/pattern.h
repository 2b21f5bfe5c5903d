/* SPDX-License-Identifier: Apache-2.0 */
/* Share patterns: how many shares of each size fit on one device together, chosen for the highest value. */
#ifndef WZ_SOLVER_PATTERN_H
#define WZ_SOLVER_PATTERN_H

#include "core/types.h"

#define WZ_PATTERN_SIZES_MAX (WZ_WHOLE - 1u)

/* Unbounded knapsacks over the positions 0..1000 in steps of the greatest common divisor of 1000 and the sizes. */
struct wz_pattern_table {
	uint32_t n, step, len; /* len: positions = 1000 / step + 1 */
	uint32_t size[WZ_PATTERN_SIZES_MAX]; /* milli, 1..999 */
	double value[WZ_WHOLE + 1]; /* best value within this many steps */
	int32_t last[WZ_WHOLE + 1]; /* size index taken last at this position; -1: no more fits */
};

/* Distinct sizes of 1..999 milli, at most WZ_PATTERN_SIZES_MAX; borrowed only for the call. */
void wz_pattern_init(struct wz_pattern_table *t, const uint32_t *size, uint32_t n);

/* Fills the table for the values v[0..n-1]; sizes with v <= 0 are not used. O(n x len). Returns the best value. */
double wz_pattern_solve(struct wz_pattern_table *t, const double *v);

/* The best pattern that holds at least one share `first` (-1: no such wish), as counts in count[0..n-1]. Returns its
 * value, v[first] included; `v` as in the last wz_pattern_solve. */
double wz_pattern_get(const struct wz_pattern_table *t, const double *v, int32_t first, uint16_t *count);

#endif
