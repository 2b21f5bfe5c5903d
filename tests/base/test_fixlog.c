/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/fixlog.h"
#include "base/rng.h"

#include <math.h>

static void test_log_and_power(void)
{
	struct wz_rng rng;
	wz_rng_seed(&rng, 1);
	for (int i = 0; i < 200000; i++) {
		uint64_t v = wz_rng_next(&rng) >> wz_rng_below(&rng, 63);
		v = v ? v : 1;
		double want = log2((double)v) * 65536;
		tap_ok(fabs((double)wz_log2_q16(v) - want) < 2, "log2 of %" PRIu64, v);
		int32_t x = (int32_t)wz_rng_below(&rng, 62u << 16);
		double p = exp2((double)x / 65536), got = (double)wz_exp2_q16(x);
		tap_ok(got <= p * (1 + 1e-4) + 1 && got >= p * (1 - 1e-4) - 1, "2^%d/65536: %f for %f", x, got, p);
	}
	tap_eq_i64(wz_log2_q16(0), 0, "log2 of 0");
	tap_eq_i64((int64_t)wz_exp2_q16(-1), 0, "a negative power");
	tap_eq_i64((int64_t)wz_exp2_q16(10 << 16), 1024, "2^10");
}

static void test_root(void)
{
	struct wz_rng rng;
	wz_rng_seed(&rng, 2);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = wz_rng_next(&rng) >> wz_rng_below(&rng, 63), r = wz_isqrt(v);
		tap_ok(r * r <= v && (r + 1 > UINT32_MAX || (r + 1) * (r + 1) > v), "root of %" PRIu64, v);
	}
}

int main(void)
{
	tap_run(test_log_and_power);
	tap_run(test_root);
	return tap_done();
}
