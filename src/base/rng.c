/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include "base/check.h"
#include "base/hash.h"

void wz_rng_seed(struct wz_rng *r, uint64_t seed)
{
	/* The first four outputs of splitmix64: its state advances by the constant that wz_mix64 adds. */
	for (unsigned i = 0; i < 4; i++)
		r->s[i] = wz_mix64(seed + i * 0x9e3779b97f4a7c15ULL);
}

uint64_t wz_rng_below(struct wz_rng *r, uint64_t n)
{
	unsigned __int128 m;
	wz_check(n > 0);
	m = (unsigned __int128)wz_rng_next(r) * n;
	if ((uint64_t)m < n) {
		uint64_t reject = (0 - n) % n; /* 2^64 mod n */
		while ((uint64_t)m < reject)
			m = (unsigned __int128)wz_rng_next(r) * n;
	}
	return (uint64_t)(m >> 64);
}

void wz_rng_shuffle_u32(struct wz_rng *r, uint32_t *a, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)wz_rng_below(r, i), t = a[i - 1];
		a[i - 1] = a[k];
		a[k] = t;
	}
}
