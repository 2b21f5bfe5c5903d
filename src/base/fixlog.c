/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fixlog.h"

int32_t wz_log2_q16(uint64_t v)
{
	int32_t whole, part = 0;
	uint64_t x;

	if (v < 2)
		return 0;
	whole = 63 - __builtin_clzll(v);
	x = v << (63 - whole) >> 32; /* 1.31 */
	for (int i = 15; i >= 0; i--) {
		x = x * x >> 31; /* squaring doubles the logarithm: its next bit is the carry */
		if (x >> 32) {
			part |= 1 << i;
			x >>= 1;
		}
	}
	return whole * WZ_Q16 + part;
}

/* 2^(2^-i) for i = 1..16, as 1.31. */
static const uint32_t root[16] = {3037000500u, 2553802834u, 2341847524u, 2242560872u, 2194507417u, 2170868212u,
        2159144272u, 2153306067u, 2150392887u, 2148937775u, 2148210589u, 2147847087u, 2147665360u, 2147574502u,
        2147529075u, 2147506361u};

uint64_t wz_exp2_q16(int32_t x)
{
	uint64_t m = 1ull << 31;

	if (x < 0)
		return 0;
	if (x >= 63 * WZ_Q16)
		return UINT64_MAX / 2;
	for (int i = 0; i < 16; i++)
		if (x >> (15 - i) & 1)
			m = m * root[i] >> 31;
	return (x >> 16) >= 31 ? m << ((x >> 16) - 31) : m >> (31 - (x >> 16));
}

uint64_t wz_isqrt(uint64_t v)
{
	uint64_t r = 0, bit = 1ull << 62;

	while (bit > v)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (v >= r + bit) {
			v -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	return r;
}
