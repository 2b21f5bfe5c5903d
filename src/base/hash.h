/* SPDX-License-Identifier: Apache-2.0 */
/* 64-bit mixing for digests and tables: fixed for ever, the same on every machine; not for secrets. */
#ifndef WZ_BASE_HASH_H
#define WZ_BASE_HASH_H

#include "base/str.h"

#include <stdint.h>

/* Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection. */
static inline uint64_t wz_mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Folds the word `v` into the running hash `h`; order matters. */
static inline uint64_t wz_hash_u64(uint64_t h, uint64_t v)
{
	return wz_mix64(h ^ wz_mix64(v));
}

/* Folds the length, then the bytes as little-endian words, the last one padded with zeros. */
uint64_t wz_hash_str(uint64_t h, struct wz_str s);

#endif
