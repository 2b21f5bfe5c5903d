/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of maxima over an array of int64: set in O(log n), first position of the maximum in O(log n).
 * Wide (fan-out 8) so that 100,000 leaves are six levels and a level is one cache line. Ties resolve to the lowest
 * position, which is how the core's stable node order enters every choice. */
#ifndef WZ_BASE_MAXTREE_H
#define WZ_BASE_MAXTREE_H

#include "base/mem.h"

#define WZ_MAXTREE_FAN 8u
#define WZ_MAXTREE_LEVELS 11u

struct wz_maxtree {
	const struct wz_mem *mem;
	int64_t *level[WZ_MAXTREE_LEVELS]; /* level[0] the leaves; each level padded to whole groups with INT64_MIN */
	uint32_t n, levels;
	int64_t *block;
	size_t block_size;
};

int wz_maxtree_init(struct wz_maxtree *t, const struct wz_mem *mem, uint32_t n); /* all INT64_MIN; n >= 1; -ENOMEM */
void wz_maxtree_release(struct wz_maxtree *t);
/* Stops at the first level whose group maximum does not change: most sets touch one leaf and its parent. */
void wz_maxtree_set(struct wz_maxtree *t, uint32_t pos, int64_t v);
void wz_maxtree_rebuild(struct wz_maxtree *t); /* after the caller wrote level[0][0..n-1] directly; O(n) */
static inline int64_t wz_maxtree_get(const struct wz_maxtree *t, uint32_t pos) { return t->level[0][pos]; }
int64_t wz_maxtree_max(const struct wz_maxtree *t);
uint32_t wz_maxtree_argmax(const struct wz_maxtree *t); /* lowest position of the maximum */

#endif
