/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms and powers to base 2 in fixed point, 16 bits after the point: for what decides on scales (ADR 0001 bans
 * libm there). Bit for bit the same everywhere. */
#ifndef WZ_BASE_FIXLOG_H
#define WZ_BASE_FIXLOG_H

#include <stdint.h>

#define WZ_Q16 65536

/* floor(log2(v) * 2^16) within one unit; v >= 1 (0 gives 0). O(16). */
int32_t wz_log2_q16(uint64_t v);
/* 2^(x / 2^16), rounded down, within 2^-14 of it relatively; negative x gives 0, 63 * 2^16 and more UINT64_MAX / 2. */
uint64_t wz_exp2_q16(int32_t x);
/* floor(sqrt(v)). */
uint64_t wz_isqrt(uint64_t v);

#endif
