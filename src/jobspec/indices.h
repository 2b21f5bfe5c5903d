/* SPDX-License-Identifier: Apache-2.0 */
/* Index sets of arrays: "0-31", "1,3,5", "1-7:2", with "%8" at most 8 at once. Rising and without doubles, so that the
 * k-th index and the place of an index are found by a walk over the runs. Pure; fuzzed (fuzz_jobspec). */
#ifndef WZ_JOBSPEC_INDICES_H
#define WZ_JOBSPEC_INDICES_H

#include "base/err.h"

#define WZ_INDICES_RUNS_MAX 128u
#define WZ_INDICES_COUNT_MAX 100000u /* tasks of one array */
#define WZ_INDEX_MAX 999999999u

struct wz_indices {
	uint32_t count; /* how many in all */
	uint32_t throttle; /* at once; 0: no limit */
	uint32_t step; /* of the only run; 1 when there are several */
	uint32_t n;
	struct wz_index_run {
		uint32_t first, last, step; /* last is one of them */
	} run[WZ_INDICES_RUNS_MAX];
};

/* -EINVAL "BadIndices", -E2BIG "TooManyTasks". *ret is written only on success. O(text). */
int wz_indices_parse(struct wz_str text, struct wz_indices *ret, struct wz_err *err);
uint32_t wz_indices_at(const struct wz_indices *x, uint32_t k); /* k < count. O(runs) */
bool wz_indices_has(const struct wz_indices *x, uint32_t index); /* O(runs) */

#endif
