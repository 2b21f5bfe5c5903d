/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-point and saturating arithmetic: all that decides uses these, never floating point (ADR 0001). */
#ifndef WZ_BASE_FIX_H
#define WZ_BASE_FIX_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t wz_sat_add(int64_t a, int64_t b)
{
	int64_t r;
	if (!__builtin_add_overflow(a, b, &r))
		return r;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t wz_sat_mul(int64_t a, int64_t b)
{
	int64_t r;
	if (!__builtin_mul_overflow(a, b, &r))
		return r;
	return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static inline uint64_t wz_usat_add(uint64_t a, uint64_t b)
{
	uint64_t r;
	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t wz_usat_sub(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* a * b / c through 128 bits, truncated toward zero, saturated to int64. c != 0. */
int64_t wz_muldiv(int64_t a, int64_t b, int64_t c);
/* floor(a * b / c) for unsigned, saturated. c != 0. */
uint64_t wz_umuldiv(uint64_t a, uint64_t b, uint64_t c);

/* Accumulator of quantity x time: 128 bits, so ten years of a million devices in byte-milliseconds fit
 * (2^37 B x 2^20 x 2^39 ms = 2^96). */
struct wz_acc { unsigned __int128 v; };
void wz_acc_add(struct wz_acc *a, uint64_t quantity, uint64_t duration); /* saturates at 2^128 - 1 */
uint64_t wz_acc_div(const struct wz_acc *a, uint64_t d);                 /* floor(v / d), saturated to 64 bits */

#endif
