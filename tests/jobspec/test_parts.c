/* SPDX-License-Identifier: Apache-2.0 */
/* The small grammars of a submit: index sets, dependencies, retries, sweeps, words, points in time. */
#include "tap.h"

#include "base/rng.h"
#include "jobspec/depend.h"
#include "jobspec/indices.h"
#include "jobspec/params.h"
#include "jobspec/retry.h"
#include "jobspec/words.h"
#include "os/mem.h"
#include "os/when.h"

static struct wz_err err;

static void test_indices(void)
{
	static const char *const wrong[] = {"", "a", "1-", "-1", "3-1", "1,1", "2,1", "1-5,4", "1-7:0", "1:2",
	        "1-2%0", "1%", "1%x", "1,,2", "1000000000", "99999999999999999999", "0-3 ", "1-2-3"};
	struct wz_indices x;
	tap_ok(wz_indices_parse(WZ_STR("0-31"), &x, &err) == 0 && x.count == 32 && !x.throttle, "a range");
	tap_ok(wz_indices_parse(WZ_STR("1-7:2%3"), &x, &err) == 0 && x.count == 4 && x.throttle == 3 && x.step == 2,
	        "a step");
	tap_eq_i64(wz_indices_at(&x, 0), 1, "first");
	tap_eq_i64(wz_indices_at(&x, 3), 7, "last");
	tap_ok(wz_indices_has(&x, 5) && !wz_indices_has(&x, 4) && !wz_indices_has(&x, 9), "what it has");
	tap_ok(wz_indices_parse(WZ_STR("1,3,5-9:3,100"), &x, &err) == 0 && x.count == 5, "pieces");
	uint32_t want[] = {1, 3, 5, 8, 100};
	for (uint32_t k = 0; k < 5; k++) {
		tap_eq_i64(wz_indices_at(&x, k), want[k], "index %u", k);
		tap_ok(wz_indices_has(&x, want[k]), "has it");
	}
	tap_ok(wz_indices_parse(WZ_STR("0-99999"), &x, &err) == 0 && x.count == 100000, "100,000 tasks");
	tap_ok(wz_indices_parse(WZ_STR("900000-999999"), &x, &err) == 0,
	        "large indices: the count is limited, not the index");
	x.count = 7;
	tap_eq_i64(wz_indices_parse(WZ_STR("0-100000"), &x, &err), -E2BIG, "100,001 are too many: %s", err.text);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		tap_ok(wz_indices_parse(wz_str(wrong[i]), &x, &err) == -EINVAL && err.text[0] && x.count == 7,
		        "\"%s\": %s", wrong[i], err.text);
}

static void test_depend(void)
{
	static const char *const good[] = {"afterok:12", "afterok:12,afterany:13", "afterok:1?afternotok:2",
	        "after:5+10", "aftercorr:9", "singleton", "afterany:17_3"};
	static const char *const wrong[] = {"", "afterok", "afterok:", "afterok:x", "afterok:0", "singleton:3",
	        "afterko:1", "afterok:1,afterok:2?afterok:3", "afterok:1+5", "aftercorr:1_2",
	        "afterok:1:", "after:1+", "afterok:18446744073709551615"};
	struct wz_depend d[8];
	for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
		char text[200];
		struct wz_buf b;
		uint32_t n = 0;
		wz_buf_init_fixed(&b, text, sizeof text);
		tap_ok(wz_depend_parse(wz_str(good[i]), d, 8, &n, &err) == 0, "%s: %s", good[i], err.text);
		wz_depend_format(d, n, &b);
		tap_eq_str(wz_buf_str(&b), wz_str(good[i]), "and back");
	}
	uint32_t n = 0;
	tap_ok(wz_depend_parse(WZ_STR("afterok:1:2:3"), d, 8, &n, &err) == 0 && n == 3 && d[2].job == 3,
	        "several of one kind");
	tap_ok(wz_depend_parse(WZ_STR("after:5+2"), d, 8, &n, &err) == 0 && d[3].delay_us == 120000000, "minutes");
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		tap_ok(wz_depend_parse(wz_str(wrong[i]), d, 8, &n, &err) == -EINVAL && n == 4, "\"%s\": %s",
		        wrong[i], err.text);
	tap_ok(wz_depend_parse(WZ_STR("afterko:1"), d, 8, &n, &err) < 0 && strstr(err.text, "did you mean afterok"),
	        "says what is near");
	tap_eq_i64(wz_depend_parse(WZ_STR("afterok:1:2:3:4:5:6:7:8:9"), d, 8, &n, &err), -E2BIG, "too many");
}

static void test_retry(void)
{
	struct wz_retry_rule r[3];
	tap_ok(wz_retry_parse(WZ_STR("exit:75"), &r[0], &err) == 0 &&
	                wz_retry_parse(WZ_STR("oom"), &r[1], &err) == 0 &&
	                wz_retry_parse(WZ_STR("signal:9-11"), &r[2], &err) == 0,
	        "three rules");
	tap_ok(wz_retry_match(r, 3, WZ_END_FAILED, 75, 0), "exit 75");
	tap_ok(!wz_retry_match(r, 3, WZ_END_FAILED, 74, 0), "not 74");
	tap_ok(wz_retry_match(r, 3, WZ_END_OOM, 137, 9), "OOM");
	tap_ok(wz_retry_match(r, 3, WZ_END_FAILED, 0, 11), "signal 11");
	tap_ok(!wz_retry_match(r, 1, WZ_END_FAILED, 75, 9), "a signal has no exit code");
	tap_ok(!wz_retry_match(r, 3, WZ_END_CANCELLED, 75, 0) && !wz_retry_match(NULL, 0, WZ_END_CANCELLED, 1, 0),
	        "what the user ended stays ended");
	tap_ok(wz_retry_match(NULL, 0, WZ_END_NODE_LOST, -1, 0) &&
	                !wz_retry_match(NULL, 0, WZ_END_TIMEOUT, -1, 0) &&
	                !wz_retry_match(NULL, 0, WZ_END_COMPLETED, 0, 0),
	        "by default");
	tap_ok(wz_retry_parse(WZ_STR("NODE_LOSS"), r, &err) == -EINVAL && strstr(err.text, "NODE_LOST"), "%s",
	        err.text);
	tap_ok(wz_retry_parse(WZ_STR("exit:256"), r, &err) == -EINVAL &&
	                wz_retry_parse(WZ_STR("exit:9-3"), r, &err) == -EINVAL &&
	                wz_retry_parse(WZ_STR(""), r, &err) == -EINVAL,
	        "out of range");
	tap_eq_i64(wz_retry_delay_us(0, 1), 10000000, "10 s");
	tap_eq_i64(wz_retry_delay_us(1000000, 4), 8000000, "doubled");
	tap_eq_i64(wz_retry_delay_us(1000000, 1000), 3600000000, "an hour at most");
}

static void test_sweep(void)
{
	static const char *const wrong[] = {
	        "", "lr", "lr=", "=1", "1r=1", "l-r=1", "n=5..1", "n=1..5:0", "lr=1\n2", "n=0..1000000"};
	struct wz_sweep s = {.n = 0};
	char text[256];
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, sizeof text);
	tap_ok(wz_sweep_add(&s, WZ_STR("lr=0.1,0.01"), &err) == 0 &&
	                wz_sweep_add(&s, WZ_STR("seed=1..5:2"), &err) == 0,
	        "two");
	tap_eq_i64(s.count, 6, "2 x 3");
	wz_sweep_params(&s, 0, &b);
	tap_eq_str(wz_buf_str(&b), WZ_STR("lr=0.1\nseed=1\n"), "first");
	wz_buf_clear(&b);
	wz_sweep_params(&s, 4, &b);
	tap_eq_str(wz_buf_str(&b), WZ_STR("lr=0.01\nseed=3\n"), "fifth");
	tap_eq_i64(wz_sweep_add(&s, WZ_STR("lr=1"), &err), -EINVAL, "twice");
	tap_eq_i64(wz_sweep_add(&s, WZ_STR("n=1..50000"), &err), -E2BIG, "too many combinations");
	tap_eq_i64(s.n, 2, "and nothing was added");
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		tap_ok(wz_sweep_add(&s, wz_str(wrong[i]), &err) == -EINVAL && s.n == 2, "\"%s\": %s", wrong[i],
		        err.text);
	wz_buf_clear(&b);
	wz_params_expand(WZ_STR("--lr={lr} {\"a\":1} ${seed} {nope} {lr"), WZ_STR("lr=0.1\nseed=3\n"), &b);
	tap_eq_str(wz_buf_str(&b), WZ_STR("--lr=0.1 {\"a\":1} 3 {nope} {lr"), "put in where they are known");
}

static void test_words(void)
{
	struct wz_arena a;
	struct wz_str *v;
	uint32_t n;
	wz_arena_init(&a, wz_os_mem(), 4096);
	tap_ok(wz_words_split(WZ_STR("python  a.py --x 'a b' \"c \\\" d\" e\\ f ''"), true, &a, &v, &n, &err) == 0,
	        "%s", err.text);
	tap_eq_i64(n, 7, "words");
	tap_ok(n == 7 && wz_str_eq(v[3], WZ_STR("a b")) && wz_str_eq(v[4], WZ_STR("c \" d")) &&
	                wz_str_eq(v[5], WZ_STR("e f")) && v[6].len == 0,
	        "quoted as a shell would");
	static const char *const shell[] = {
	        "a | b", "a && b", "a > f", "ls *", "$HOME/x", "a; b", "echo `x`", "(a)"};
	for (unsigned i = 0; i < sizeof shell / sizeof *shell; i++)
		tap_ok(wz_words_split(wz_str(shell[i]), true, &a, &v, &n, &err) == -EINVAL &&
		                strcmp(err.reason, "NeedsShell") == 0,
		        "%s: %s", shell[i], err.text);
	tap_ok(wz_words_split(WZ_STR("a 'b"), true, &a, &v, &n, &err) == -EINVAL, "an open quote");
	tap_ok(wz_words_split(WZ_STR("a \\"), true, &a, &v, &n, &err) == -EINVAL, "an open backslash");
	tap_ok(wz_words_split(WZ_STR("   "), true, &a, &v, &n, &err) == 0 && n == 0, "blank");
	tap_ok(wz_words_split(WZ_STR("x ${lr}"), true, &a, &v, &n, &err) == 0 && n == 2,
	        "a placeholder is none of the shell's");
	/* Any bytes: what is quoted is one word, and the same. */
	struct wz_rng rng;
	wz_rng_seed(&rng, 7);
	for (int round = 0; round < 3000; round++) {
		char raw[24], text[200];
		struct wz_buf b;
		size_t len = wz_rng_next(&rng) % sizeof raw;
		for (size_t i = 0; i < len; i++)
			raw[i] = (char)(wz_rng_next(&rng) % 255 + 1);
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_words_quote((struct wz_str){raw, len}, &b);
		if (wz_words_split(wz_buf_str(&b), true, &a, &v, &n, &err) < 0 || n != 1 ||
		        !wz_str_eq(v[0], (struct wz_str){raw, len})) {
			tap_ok(false, "round %d: %s", round, wz_buf_z(&b));
			break;
		}
		wz_arena_clear(&a);
	}
	wz_arena_release(&a);
}

static void test_when(void)
{
	static const char *const wrong[] = {"", "later", "25:00", "12:60", "2026-13-01", "2026-02-30", "now+",
	        "now+x", "now-1h", "2026-12-24T", "12", "2026-12-24T10:00+99:00", "now+99999999999999h"};
	int64_t now = 1764590400000000, t; /* 2025-12-01T12:00Z */
	(void)setenv("TZ", "UTC", 1);
	tzset();
#define AT(text, want) \
	tap_ok(wz_when_parse(WZ_STR(text), now, &t, &err) == 0 && t == (want), text ": %lld", (long long)(t - now))
	AT("now", now);
	AT("now+2h", now + 7200000000);
	AT("now+1hour", now + 3600000000);
	AT("now+30minutes", now + 1800000000);
	AT("now+90", now + 90000000);
	AT("18:00", now + 6 * 3600000000);
	AT("11:30:30", now + 23 * 3600000000 + 30 * 60000000 + 30000000);
	AT("noon", now + 24 * 3600000000);
	AT("midnight", now + 12 * 3600000000);
	AT("tomorrow", now + 12 * 3600000000);
	AT("2025-12-02", now + 12 * 3600000000);
	AT("2025-12-02T12:00", now + 24 * 3600000000);
	AT("2025-12-02T12:00Z", now + 24 * 3600000000);
	AT("2025-12-02T12:00+08:00", now + 16 * 3600000000);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		tap_ok(wz_when_parse(wz_str(wrong[i]), now, &t, &err) == -EINVAL, "\"%s\": %s", wrong[i], err.text);
	(void)setenv("TZ", "Europe/Berlin", 1);
	tzset();
	AT("2026-03-30T00:00", 1774821600000000); /* after the change to summer time */
	AT("2025-12-02", now + 11 * 3600000000);
}

int main(void)
{
	tap_run(test_indices);
	tap_run(test_depend);
	tap_run(test_retry);
	tap_run(test_sweep);
	tap_run(test_words);
	tap_run(test_when);
	return tap_done();
}
