/* SPDX-License-Identifier: Apache-2.0 */
/* Share patterns against plain search over all counts. */
#include "solver/pattern.h"

#include "base/rng.h"
#include "tap.h"

/* The most that shares i.. can be worth in `room` milli. */
static double search(const uint32_t *size, const double *v, uint32_t n, uint32_t room)
{
	double best = 0;
	if (n == 0)
		return 0;
	for (uint32_t k = 0; k * size[0] <= room; k++) {
		double here = k * v[0] + search(size + 1, v + 1, n - 1, room - k * size[0]);
		if (here > best)
			best = here;
	}
	return best;
}

static void check_pattern(const struct wz_pattern_table *t, const double *v, int32_t first, double want)
{
	uint16_t count[8];
	uint32_t used = 0;
	double got = wz_pattern_get(t, v, first, count), sum = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		used += count[i] * t->size[i];
		sum += count[i] * v[i];
	}
	tap_ok(used <= WZ_WHOLE, "a pattern fits on one device, not %" PRIu32, used);
	tap_ok(first < 0 || count[first] > 0, "the wished share is there");
	tap_ok(got > want - 1e-9 && got < want + 1e-9, "value %.9f, want %.9f", got, want);
	tap_ok(sum > got - 1e-9 && sum < got + 1e-9, "counts are worth %.9f, not %.9f", sum, got);
}

static void test_against_search(void)
{
	static struct wz_pattern_table t;
	struct wz_rng rng;
	wz_rng_seed(&rng, 7);
	for (unsigned round = 0; round < 400; round++) {
		uint32_t n = 1 + (uint32_t)wz_rng_below(&rng, 4), size[4];
		uint32_t unit = round % 2 ? 10 : 1; /* gcd 10 and gcd 1 */
		double v[4];
		for (uint32_t i = 0; i < n; i++) {
			size[i] = unit * (100 / unit + i * (200 / unit) + (uint32_t)wz_rng_below(&rng, 199 / unit));
			v[i] = (double)wz_rng_below(&rng, 1000) / 100;
		}
		wz_pattern_init(&t, size, n);
		tap_ok(t.step % unit == 0, "steps are common divisors");
		tap_ok(wz_pattern_solve(&t, v) > search(size, v, n, WZ_WHOLE) - 1e-9, "the best is found");
		check_pattern(&t, v, -1, search(size, v, n, WZ_WHOLE));
		for (uint32_t i = 0; i < n; i++)
			check_pattern(&t, v, (int32_t)i, v[i] + search(size, v, n, WZ_WHOLE - size[i]));
	}
}

static void test_edges(void)
{
	static struct wz_pattern_table t;
	uint32_t all[WZ_PATTERN_SIZES_MAX] = {0};
	double v[WZ_PATTERN_SIZES_MAX] = {0};
	uint16_t count[WZ_PATTERN_SIZES_MAX];
	wz_pattern_init(&t, all, 0);
	tap_ok(wz_pattern_solve(&t, v) == 0, "no sizes: no value");
	for (uint32_t i = 0; i < WZ_PATTERN_SIZES_MAX; i++) {
		all[i] = i + 1;
		v[i] = i == 332 ? 1 : -1;
	}
	wz_pattern_init(&t, all, WZ_PATTERN_SIZES_MAX);
	tap_eq_i64(t.len, 1001, "every position");
	tap_ok(wz_pattern_solve(&t, v) == 3, "three shares of 333; what costs is left out");
	tap_ok(wz_pattern_get(&t, v, -1, count) == 3 && count[332] == 3, "and so say the counts");
}

int main(void)
{
	tap_run(test_against_search);
	tap_run(test_edges);
	return tap_done();
}
