/* SPDX-License-Identifier: Apache-2.0 */
/* Division of 128 bits is a library call of some thirty nanoseconds, so products that fit 64 bits go the short way. */
#include "base/fix.h"

#include "base/check.h"

int64_t wz_muldiv(int64_t a, int64_t b, int64_t c)
{
	int64_t p;
	__int128 q;
	wz_check(c != 0);
	if (!__builtin_mul_overflow(a, b, &p) && c != -1) /* INT64_MIN / -1 does not fit */
		return p / c;
	q = (__int128)a * b / c;
	return q > INT64_MAX ? INT64_MAX : q < INT64_MIN ? INT64_MIN : (int64_t)q;
}

uint64_t wz_umuldiv(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t p;
	unsigned __int128 q;
	wz_check(c != 0);
	if (!__builtin_mul_overflow(a, b, &p))
		return p / c;
	q = (unsigned __int128)a * b / c;
	return q > UINT64_MAX ? UINT64_MAX : (uint64_t)q;
}

void wz_acc_add(struct wz_acc *a, uint64_t quantity, uint64_t duration)
{
	if (__builtin_add_overflow(a->v, (unsigned __int128)quantity * duration, &a->v))
		a->v = ~(unsigned __int128)0;
}

uint64_t wz_acc_div(const struct wz_acc *a, uint64_t d)
{
	unsigned __int128 q;
	wz_check(d != 0);
	q = a->v / d;
	return q > UINT64_MAX ? UINT64_MAX : (uint64_t)q;
}
