/* SPDX-License-Identifier: Apache-2.0 */
/* Rate limits: a token bucket per identity, in a fixed table. When the table is full, the identity that was idle longest
 * in its neighbourhood is forgotten, so memory is bounded and a flood of identities cannot lock others out.
 * Time is passed in. Thread rule: none shared. O(1). */
#ifndef WZ_API_LIMIT_H
#define WZ_API_LIMIT_H

#include <stdint.h>

#define WZ_LIMIT_SLOTS 1024u
#define WZ_LIMIT_WAYS 8u

struct wz_limit_rate {
	uint32_t per_s; /* 0: no limit */
	uint32_t burst; /* at least 1 when per_s is set */
};
struct wz_limit {
	struct wz_limit_slot {
		uint64_t key; /* 0: free */
		int64_t micro; /* tokens left, in millionths */
		int64_t at_us;
	} slots[WZ_LIMIT_SLOTS];
};

/* Takes `cost` tokens from the bucket of `key`. Returns 0, or the microseconds until they are there (then nothing is
 * taken). A cost above the burst counts as the burst. */
int64_t wz_limit_take(struct wz_limit *l, struct wz_limit_rate rate, uint64_t key, uint32_t cost, int64_t now_us);

#endif
