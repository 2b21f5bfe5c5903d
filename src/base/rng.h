/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The state is plain data and lives in whoever decides. */
#ifndef WZ_BASE_RNG_H
#define WZ_BASE_RNG_H

#include <stdint.h>

struct wz_rng { uint64_t s[4]; };
void wz_rng_seed(struct wz_rng *r, uint64_t seed);

/* The next 64 bits. */
static inline uint64_t wz_rng_next(struct wz_rng *r)
{
	uint64_t *s = r->s, x = s[1] * 5, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return ((x << 7) | (x >> 57)) * 9;
}

uint64_t wz_rng_below(struct wz_rng *r, uint64_t n); /* uniform in 0..n-1 without bias (Lemire 2019), n > 0 */
void wz_rng_shuffle_u32(struct wz_rng *r, uint32_t *a, uint32_t n); /* Fisher-Yates, from the end */

#endif
