/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rng.h"

#include "base/check.h"
#include "tap.h"

/* Published vectors: splitmix64 of seed 1234567, xoshiro256** of state 1, 2, 3, 4 (rand_xoshiro's tests). */
static void test_vectors(void)
{
	static const uint64_t split[] = {
	        6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u};
	static const uint64_t want[] = {11520u, 0u, 1509978240u, 1215971899390074240u, 1216172134540287360u,
	        607988272756665600u, 16172922978634559625u, 8476171486693032832u, 10595114339597558777u,
	        2904607092377533576u};
	struct wz_rng r;
	wz_rng_seed(&r, 1234567);
	for (size_t i = 0; i < 4; i++)
		tap_ok(r.s[i] == split[i], "splitmix64 %zu: %" PRIu64, i, r.s[i]);
	r = (struct wz_rng){{1, 2, 3, 4}};
	for (size_t i = 0; i < WZ_ARRAY_LEN(want); i++) {
		uint64_t v = wz_rng_next(&r);
		tap_ok(v == want[i], "xoshiro256** %zu: %" PRIu64, i, v);
	}
}

static void test_below(void)
{
	struct wz_rng r, copy;
	unsigned count[6] = {0};
	uint64_t big = (1ULL << 63) + 1;
	wz_rng_seed(&r, 3);
	for (int i = 0; i < 60000; i++) {
		uint64_t v = wz_rng_below(&r, 6);
		tap_require(v < 6, "in range");
		count[v]++;
	}
	for (int i = 0; i < 6; i++) /* 10000 expected, deviation 91: five of them */
		tap_ok(count[i] > 9540 && count[i] < 10460, "%d came %u times", i, count[i]);
	tap_eq_i64(wz_rng_below(&r, 1), 0, "below 1");
	/* Just above 2^63, half of the words are rejected: the rejection is real, and the result in range. */
	unsigned rejected = 0;
	for (int i = 0; i < 1000; i++) {
		copy = r;
		tap_ok(wz_rng_below(&r, big) < big, "in range");
		(void)wz_rng_next(&copy);
		rejected += memcmp(&copy, &r, sizeof r) != 0;
	}
	tap_ok(rejected > 400 && rejected < 600, "%u of 1000 rejected", rejected);
}

static void test_shuffle(void)
{
	struct wz_rng r;
	unsigned count[24] = {0};
	uint32_t one = 5;
	wz_rng_seed(&r, 4);
	wz_rng_shuffle_u32(&r, NULL, 0);
	wz_rng_shuffle_u32(&r, &one, 1);
	tap_eq_i64(one, 5, "one");
	for (int i = 0; i < 24000; i++) {
		uint32_t a[4] = {0, 1, 2, 3}, rank = 0, seen = 0;
		wz_rng_shuffle_u32(&r, a, 4);
		for (unsigned k = 0; k < 4; k++) {
			uint32_t smaller = 0;
			for (unsigned j = k + 1; j < 4; j++)
				smaller += a[j] < a[k];
			rank = rank * (4 - k) + smaller;
			seen |= 1u << a[k];
		}
		tap_require(seen == 15, "a permutation");
		count[rank]++;
	}
	for (int i = 0; i < 24; i++) /* 1000 expected, deviation 31 */
		tap_ok(count[i] > 840 && count[i] < 1160, "permutation %d came %u times", i, count[i]);
}

int main(void)
{
	tap_run(test_vectors);
	tap_run(test_below);
	tap_run(test_shuffle);
	return tap_done();
}
