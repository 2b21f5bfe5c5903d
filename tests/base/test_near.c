/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/check.h"
#include "base/near.h"

static void test_distance(void)
{
	static const struct {
		const char *a, *b;
		uint32_t d;
	} cases[] = {
	        {"", "", 0},
	        {"", "abc", 3},
	        {"abc", "abc", 0},
	        {"abc", "ABC", 0},
	        {"abc", "abd", 1},
	        {"abc", "ab", 1},
	        {"abc", "xabc", 1},
	        {"abc", "acb", 1},
	        {"kitten", "sitting", 3},
	        {"ca", "abc", 3},
	        {"H100", "A100", 1},
	        {"seed", "sede", 1},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(cases); i++) {
		struct wz_str a = wz_str(cases[i].a), b = wz_str(cases[i].b);
		tap_eq_i64(wz_near_distance(a, b), cases[i].d, "%s %s", cases[i].a, cases[i].b);
		tap_eq_i64(wz_near_distance(b, a), cases[i].d, "%s %s", cases[i].b, cases[i].a);
	}
}

static void test_long(void)
{
	char x[80];
	memset(x, 'x', sizeof x);
	struct wz_str longest = {x, WZ_NEAR_LEN_MAX}, longer = {x, WZ_NEAR_LEN_MAX + 1};
	tap_eq_i64(wz_near_distance(longest, longest), 0, "the longest");
	tap_eq_i64(wz_near_distance(longest, WZ_STR("")), WZ_NEAR_LEN_MAX, "all must go");
	tap_eq_i64(wz_near_distance(longer, longest), UINT32_MAX, "too long");
	tap_eq_i64(wz_near_distance(longest, longer), UINT32_MAX, "too long");
}

static void test_best(void)
{
	struct wz_near n;
	wz_near_init(&n, WZ_STR("sede"));
	wz_near_offer(&n, WZ_STR("json"));
	tap_eq_i64(n.best.len, 0, "nothing is near");
	wz_near_offer(&n, WZ_STR("send"));
	wz_near_offer(&n, WZ_STR("seed"));
	wz_near_offer(&n, WZ_STR("side"));
	tap_eq_str(n.best, WZ_STR("seed"), "the first of the nearest");
}

int main(void)
{
	tap_run(test_distance);
	tap_run(test_long);
	tap_run(test_best);
	return tap_done();
}
