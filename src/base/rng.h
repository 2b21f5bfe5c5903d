/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The state is plain data and lives in whoever decides. */
#ifndef WZ_BASE_RNG_H
#define WZ_BASE_RNG_H

#include <stdint.h>

struct wz_rng { uint64_t s[4]; };
void wz_rng_seed(struct wz_rng *r, uint64_t seed);
uint64_t wz_rng_next(struct wz_rng *r);
uint64_t wz_rng_below(struct wz_rng *r, uint64_t n); /* uniform in 0..n-1 without bias (Lemire 2019), n > 0 */
void wz_rng_shuffle_u32(struct wz_rng *r, uint32_t *a, uint32_t n); /* Fisher-Yates */

#endif
