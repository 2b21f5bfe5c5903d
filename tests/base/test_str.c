/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include "base/rng.h"
#include "tap.h"

#include <errno.h>

static void test_compare(void)
{
	struct wz_str none = {NULL, 0};
	tap_eq_str(wz_str(NULL), none, "NULL is empty");
	tap_eq_i64(wz_str("node").len, 4, "length");
	tap_ok(wz_str_eq(none, WZ_STR("")), "empty views are equal");
	tap_ok(wz_str_eq(WZ_STR("abc"), WZ_STR("abc")), "equal");
	tap_ok(!wz_str_eq(WZ_STR("abc"), WZ_STR("abd")), "last byte");
	tap_ok(!wz_str_eq(WZ_STR("abc"), WZ_STR("ab")), "length");
	tap_ok(wz_str_eq(WZ_STR("a\0b"), WZ_STR("a\0b")) && !wz_str_eq(WZ_STR("a\0b"), WZ_STR("a\0c")),
	        "NUL inside");
	tap_ok(wz_str_eq_nocase(WZ_STR("H100-SXM[z]"), WZ_STR("h100-sxm[Z]")), "case");
	tap_ok(!wz_str_eq_nocase(WZ_STR("@"), WZ_STR("`")) && !wz_str_eq_nocase(WZ_STR("["), WZ_STR("{")),
	        "letters only");
	tap_ok(!wz_str_eq_nocase(WZ_STR("\xc3\x84"), WZ_STR("\xc3\xa4")), "ASCII only");
	tap_ok(!wz_str_eq_nocase(WZ_STR("ab"), WZ_STR("abc")), "nocase length");
	tap_ok(wz_str_cmp(WZ_STR("a"), WZ_STR("b")) < 0 && wz_str_cmp(WZ_STR("b"), WZ_STR("a")) > 0, "order");
	tap_ok(wz_str_cmp(WZ_STR("ab"), WZ_STR("abc")) < 0 && wz_str_cmp(WZ_STR("abc"), WZ_STR("ab")) > 0,
	        "prefix first");
	tap_ok(wz_str_cmp(WZ_STR("b"), WZ_STR("abc")) > 0, "bytes before length");
	tap_ok(wz_str_cmp(WZ_STR("\x7f"), WZ_STR("\x80")) < 0, "bytes are unsigned");
	tap_eq_i64(wz_str_cmp(none, WZ_STR("")), 0, "empty");
	tap_ok(wz_str_starts(WZ_STR("gpu-mem"), WZ_STR("gpu")) && wz_str_starts(none, none), "prefix");
	tap_ok(!wz_str_starts(WZ_STR("gp"), WZ_STR("gpu")) && !wz_str_starts(WZ_STR("gpx"), WZ_STR("gpu")),
	        "no prefix");
}

static void test_trim_and_split(void)
{
	struct wz_str s = WZ_STR("a,,bc,"), empty = {NULL, 0};
	tap_eq_str(wz_str_trim(WZ_STR(" \t\r\n a b \r\n")), WZ_STR("a b"), "both ends");
	tap_eq_str(wz_str_trim(WZ_STR(" \t ")), WZ_STR(""), "only blanks");
	tap_eq_str(wz_str_trim(empty), empty, "empty");
	tap_eq_str(wz_str_trim(WZ_STR("\v\xc2\xa0x")), WZ_STR("\v\xc2\xa0x"), "no other blanks");
	tap_eq_str(wz_str_split(&s, ','), WZ_STR("a"), "first");
	tap_eq_str(wz_str_split(&s, ','), WZ_STR(""), "second");
	tap_eq_str(wz_str_split(&s, ','), WZ_STR("bc"), "third");
	tap_ok(s.ptr && s.len == 0, "an empty one is left");
	tap_eq_str(wz_str_split(&s, ','), WZ_STR(""), "fourth");
	tap_ok(!s.ptr, "and then none");
}

static void check_u64(const char *z, int want_rc, uint64_t want)
{
	uint64_t v = 77;
	int rc = wz_str_parse_u64(wz_str(z), &v);
	tap_eq_i64(rc, want_rc, "parse_u64(\"%s\")", z);
	tap_ok(v == (want_rc ? 77 : want), "parse_u64(\"%s\") gives %" PRIu64, z, v);
}

static void check_i64(const char *z, int want_rc, int64_t want)
{
	int64_t v = 77;
	int rc = wz_str_parse_i64(wz_str(z), &v);
	tap_eq_i64(rc, want_rc, "parse_i64(\"%s\")", z);
	tap_eq_i64(v, want_rc ? 77 : want, "parse_i64(\"%s\")", z);
}

static void test_numbers(void)
{
	struct wz_num num;
	check_u64("0", 0, 0);
	check_u64("007", 0, 7);
	check_u64("18446744073709551615", 0, UINT64_MAX);
	check_u64("000000000000000000000000000018446744073709551615", 0, UINT64_MAX);
	check_u64("18446744073709551616", -ERANGE, 0);
	check_u64("184467440737095516150", -ERANGE, 0);
	check_u64("99999999999999999999999", -ERANGE, 0);
	check_u64("99999999999999999999999x", -EINVAL, 0);
	check_u64("", -EINVAL, 0);
	check_u64("-1", -EINVAL, 0);
	check_u64("+1", -EINVAL, 0);
	check_u64(" 1", -EINVAL, 0);
	check_u64("1 ", -EINVAL, 0);
	check_u64("0x10", -EINVAL, 0);
	check_u64("1.0", -EINVAL, 0);
	check_u64(":", -EINVAL, 0);
	check_u64("/", -EINVAL, 0);
	check_i64("9223372036854775807", 0, INT64_MAX);
	check_i64("-9223372036854775808", 0, INT64_MIN);
	check_i64("9223372036854775808", -ERANGE, 0);
	check_i64("-9223372036854775809", -ERANGE, 0);
	check_i64("-0", 0, 0);
	check_i64("-", -EINVAL, 0);
	check_i64("--1", -EINVAL, 0);
	check_i64("", -EINVAL, 0);
	tap_eq_str(wz_str_u64(&num, 0), WZ_STR("0"), "zero");
	tap_eq_str(wz_str_u64(&num, UINT64_MAX), WZ_STR("18446744073709551615"), "largest");
	tap_eq_str(wz_str_i64(&num, INT64_MIN), WZ_STR("-9223372036854775808"), "smallest");
	tap_eq_str(wz_str_i64(&num, -1), WZ_STR("-1"), "-1");
	tap_eq_str(wz_str_i64(&num, 10), WZ_STR("10"), "10");
}

static void test_numbers_against_libc(void)
{
	struct wz_rng r;
	wz_rng_seed(&r, 1);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = wz_rng_next(&r) >> wz_rng_below(&r, 64), back = ~v;
		int64_t sback = 0;
		struct wz_num num;
		char want[32];
		snprintf(want, sizeof want, "%" PRIu64, v);
		tap_eq_str(wz_str_u64(&num, v), wz_str(want), "format");
		tap_ok(wz_str_parse_u64(wz_str(want), &back) == 0 && back == v, "%s back", want);
		snprintf(want, sizeof want, "%" PRId64, (int64_t)v);
		tap_eq_str(wz_str_i64(&num, (int64_t)v), wz_str(want), "signed format");
		tap_ok(wz_str_parse_i64(wz_str(want), &sback) == 0 && sback == (int64_t)v, "%s back", want);
	}
}

int main(void)
{
	tap_run(test_compare);
	tap_run(test_trim_and_split);
	tap_run(test_numbers);
	tap_run(test_numbers_against_libc);
	return tap_done();
}
