/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest of some words, for error texts. */
#ifndef WZ_BASE_NEAR_H
#define WZ_BASE_NEAR_H

#include "base/str.h"

#define WZ_NEAR_LEN_MAX 64u /* longer words are not compared */

/* Edits (insert, delete, replace, swap of neighbours; the case of ASCII letters costs nothing) from a to b.
 * O(len a x len b). Words longer than WZ_NEAR_LEN_MAX are infinitely far (UINT32_MAX). */
uint32_t wz_near_distance(struct wz_str a, struct wz_str b);

/* Keeps the best candidate of a loop: init, offer each, then read `best`, which is empty when nothing is near (more than
 * a third of the word, at least 2, must be changed). The first of equals wins. */
struct wz_near {
	struct wz_str word, best;
	uint32_t distance;
};
void wz_near_init(struct wz_near *n, struct wz_str word);
void wz_near_offer(struct wz_near *n, struct wz_str candidate);

#endif
