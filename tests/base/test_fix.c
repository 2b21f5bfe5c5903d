/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fix.h"

#include "base/rng.h"
#include "tap.h"

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* Values of all magnitudes, with the edges often. */
static int64_t any(struct wz_rng *r)
{
	static const int64_t edges[] = {
	        0, 1, -1, 2, -2, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1LL << 32};
	uint64_t v = wz_rng_next(r);
	if (wz_rng_below(r, 4) == 0)
		return edges[wz_rng_below(r, sizeof edges / sizeof edges[0])];
	return (int64_t)v >> wz_rng_below(r, 64);
}

static void test_against_int128(void)
{
	struct wz_rng r;
	printf("# seed 31\n");
	wz_rng_seed(&r, 31);
	for (int i = 0; i < 300000; i++) {
		int64_t a = any(&r), b = any(&r), c = any(&r);
		uint64_t ua = (uint64_t)a, ub = (uint64_t)b, uc = (uint64_t)c;
		tap_eq_i64(wz_sat_add(a, b), clamp((__int128)a + b), "%" PRId64 " + %" PRId64, a, b);
		tap_eq_i64(wz_sat_mul(a, b), clamp((__int128)a * b), "%" PRId64 " * %" PRId64, a, b);
		unsigned __int128 sum = (unsigned __int128)ua + ub;
		tap_ok(wz_usat_add(ua, ub) == (sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum), "unsigned add");
		tap_ok(wz_usat_sub(ua, ub) == (ua < ub ? 0 : ua - ub), "unsigned sub");
		if (c == 0)
			continue;
		tap_eq_i64(wz_muldiv(a, b, c), clamp((__int128)a * b / c), "%" PRId64 " * %" PRId64 " / %" PRId64,
		        a, b, c);
		unsigned __int128 q = (unsigned __int128)ua * ub / uc;
		tap_ok(wz_umuldiv(ua, ub, uc) == (q > UINT64_MAX ? UINT64_MAX : (uint64_t)q), "unsigned muldiv");
	}
}

static void test_edges(void)
{
	tap_eq_i64(wz_muldiv(INT64_MIN, 1, -1), INT64_MAX, "-min does not fit");
	tap_eq_i64(wz_muldiv(INT64_MIN, INT64_MIN, -1), INT64_MIN, "far below");
	tap_eq_i64(wz_muldiv(-7, 1, 2), -3, "toward zero");
	tap_eq_i64(wz_muldiv(7, 1, -2), -3, "toward zero");
	tap_eq_i64(wz_muldiv(INT64_MAX, 1000, 1000), INT64_MAX, "no loss in between");
	tap_ok(wz_umuldiv(UINT64_MAX, 7, 8) == 16140901064495857663u, "unsigned floor");
}

/* Ten years of a million devices: 141 GiB each, in byte-milliseconds, one addition per device and year. */
static void test_acc_ten_years(void)
{
	const uint64_t bytes = 141ULL << 30, year_ms = 31557600000ULL;
	struct wz_acc a = {0};
	for (int year = 0; year < 10; year++)
		for (uint64_t dev = 0; dev < 1000000; dev++)
			wz_acc_add(&a, bytes + dev % 3, year_ms);
	/* Sum over devices of dev % 3 is 999999 (333333 whole triples of 3, and one more 0). */
	uint64_t mean = wz_acc_div(&a, 10 * year_ms);
	tap_ok(mean == bytes * 1000000 + 999999, "exact: %" PRIu64, mean);
	tap_ok((uint64_t)(a.v >> 64) != 0, "and it did need more than 64 bits");
	tap_ok(a.v < (unsigned __int128)1 << 96, "below 2^96");
}

static void test_acc_saturates(void)
{
	struct wz_acc a = {0};
	tap_ok(wz_acc_div(&a, 1) == 0, "empty");
	wz_acc_add(&a, UINT64_MAX, 1);
	tap_ok(wz_acc_div(&a, 1) == UINT64_MAX, "largest");
	wz_acc_add(&a, 1, 1);
	tap_ok(wz_acc_div(&a, 1) == UINT64_MAX, "the quotient saturates");
	tap_ok(wz_acc_div(&a, 2) == 1ULL << 63, "but the sum does not");
	wz_acc_add(&a, UINT64_MAX, UINT64_MAX);
	wz_acc_add(&a, UINT64_MAX, UINT64_MAX);
	tap_ok(a.v == ~(unsigned __int128)0, "the sum saturates");
	wz_acc_add(&a, 1, 1);
	tap_ok(a.v == ~(unsigned __int128)0, "and stays");
}

int main(void)
{
	tap_run(test_against_int128);
	tap_run(test_edges);
	tap_run(test_acc_ten_years);
	tap_run(test_acc_saturates);
	return tap_done();
}
