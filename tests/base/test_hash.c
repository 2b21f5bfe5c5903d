/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/check.h"
#include "tap.h"

/* Fixed for ever: digests of old runs depend on these. Computed by an independent implementation in Python. */
static void test_vectors(void)
{
	const struct {
		uint64_t h;
		struct wz_str s;
		uint64_t want;
	} rows[] = {
	        {0, WZ_STR(""), 0xa706dd2f4d197e6fULL},
	        {0, WZ_STR("\141"), 0xae62d4830968cda5ULL},
	        {0, WZ_STR("\156\157\144\145\055\061\067"), 0x8cafcc79df9e14d2ULL},
	        {1, WZ_STR("\156\157\144\145\055\061\067"), 0x829bafe39cfffcacULL},
	        {0, WZ_STR("\061\062\063\064\065\066\067\070"), 0xea0843265426fbf9ULL},
	        {0, WZ_STR("\061\062\063\064\065\066\067\070\071"), 0x3082d01079f663c7ULL},
	        {0, WZ_STR("\000"), 0x672bf35ee2b5923eULL},
	        {0, WZ_STR("\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377"),
	                0x54665e182c217319ULL},
	        {0, WZ_STR("\351\262\270\346\214\243\346\201\251"), 0x4b1db62f94bcbf02ULL},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(rows); i++) {
		uint64_t got = wz_hash_str(rows[i].h, rows[i].s);
		tap_ok(got == rows[i].want, "vector %zu: got %016" PRIx64, i, got);
	}
	tap_ok(wz_mix64(1234567) == 6457827717110365317u, "mix64 is splitmix64");
	tap_ok(wz_hash_str(5, (struct wz_str){NULL, 0}) == wz_hash_str(5, WZ_STR("")), "NULL is empty");
}

static unsigned bits(uint64_t x)
{
	return (unsigned)__builtin_popcountll(x);
}

/* Each bit of the input changes about half of the output: a mistake in mixing shows as a weak bit. */
static void test_avalanche(void)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned sum_h = 0, sum_v = 0, sum_s = 0;
		for (uint64_t i = 0; i < 256; i++) {
			uint64_t w = i * 0x10001, x = w ^ (1ULL << bit);
			sum_h += bits(wz_hash_u64(w, 7) ^ wz_hash_u64(x, 7));
			sum_v += bits(wz_hash_u64(7, w) ^ wz_hash_u64(7, x));
			sum_s += bits(wz_hash_str(7, (struct wz_str){(const char *)&w, 8}) ^
			              wz_hash_str(7, (struct wz_str){(const char *)&x, 8}));
		}
		tap_ok(sum_h > 7800 && sum_h < 8600, "h bit %u: %u", bit, sum_h);
		tap_ok(sum_v > 7800 && sum_v < 8600, "v bit %u: %u", bit, sum_v);
		tap_ok(sum_s > 7800 && sum_s < 8600, "s bit %u: %u", bit, sum_s);
	}
	tap_ok(wz_hash_u64(wz_hash_u64(0, 1), 2) != wz_hash_u64(wz_hash_u64(0, 2), 1), "order matters");
}

/* No two of: all strings of zeros and of 'a' up to 64, at all alignments the same. */
static void test_lengths(void)
{
	char zeros[80] = {0}, as[96];
	uint64_t seen[130];
	unsigned n = 0;
	memset(as, 'a', sizeof as);
	for (size_t len = 0; len <= 64; len++) {
		seen[n++] = wz_hash_str(0, (struct wz_str){zeros, len});
		if (len)
			seen[n++] = wz_hash_str(0, (struct wz_str){as, len});
		for (size_t at = 1; at < 8; at++)
			tap_ok(wz_hash_str(0, (struct wz_str){as + at, len}) ==
			                wz_hash_str(0, (struct wz_str){as, len}),
			        "length %zu at %zu", len, at);
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			tap_ok(seen[i] != seen[k], "%u and %u collide", i, k);
}

int main(void)
{
	tap_run(test_vectors);
	tap_run(test_avalanche);
	tap_run(test_lengths);
	return tap_done();
}
