/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include "base/rng.h"
#include "fault.h"
#include "tap.h"

#include <errno.h>

static void test_numbers(void)
{
	char space[256];
	struct wz_buf b;
	wz_buf_init_fixed(&b, space, sizeof space);
	wz_buf_add_u64(&b, UINT64_MAX);
	wz_buf_addc(&b, ' ');
	wz_buf_add_i64(&b, INT64_MIN);
	wz_buf_addc(&b, ' ');
	wz_buf_add_hex64(&b, 0x0123456789abcdefULL);
	tap_eq_str(
	        wz_buf_str(&b), WZ_STR("18446744073709551615 -9223372036854775808 0123456789abcdef"), "integers");
	static const struct {
		int64_t v;
		unsigned decimals;
		const char *want;
	} rows[] = {{0, 0, "0"}, {0, 3, "0.000"}, {-1, 3, "-0.001"}, {-1234, 2, "-12.34"}, {1000, 3, "1.000"},
	        {INT64_MIN, 9, "-9223372036.854775808"}, {INT64_MAX, 0, "9223372036854775807"},
	        {7, 9, "0.000000007"}};
	for (size_t i = 0; i < WZ_ARRAY_LEN(rows); i++) {
		wz_buf_clear(&b);
		wz_buf_add_fixed(&b, rows[i].v, rows[i].decimals);
		tap_eq_str(wz_buf_str(&b), wz_str(rows[i].want), "fixed %zu", i);
	}
}

static void test_escape(void)
{
	static const struct {
		struct wz_str in;
		const char *want;
	} rows[] = {
	        {WZ_STR(""), "\"\""},
	        {WZ_STR("a\"b\\c/"), "\"a\\\"b\\\\c/\""},
	        {WZ_STR("\b\f\n\r\t\0\x1f\x7f"), "\"\\b\\f\\n\\r\\t\\u0000\\u001f\\u007f\""},
	        {WZ_STR("\xe9\xb2\xb8 \xf0\x9f\x90\x8b \xc2\x80 \xf4\x8f\xbf\xbf"),
	                "\"\xe9\xb2\xb8 \xf0\x9f\x90\x8b \xc2\x80 \xf4\x8f\xbf\xbf\""},
	        {WZ_STR("\xff|\x80|\xc0\xaf|\xc3"),
	                "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\""},
	        /* One replacement for each maximal part: the truncated E4 B8 is one, a surrogate ED A0 80 is three. */
	        {WZ_STR("\xe4\xb8|\xed\xa0\x80|\xf0\x9f\x90"),
	                "\"\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\""},
	        {WZ_STR("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	        {WZ_STR("\xe4\"x"), "\"\xef\xbf\xbd\\\"x\""},
	};
	char space[256];
	struct wz_buf b;
	wz_buf_init_fixed(&b, space, sizeof space);
	for (size_t i = 0; i < WZ_ARRAY_LEN(rows); i++) {
		wz_buf_clear(&b);
		wz_buf_add_json(&b, rows[i].in);
		tap_eq_str(wz_buf_str(&b), wz_str(rows[i].want), "json %zu", i);
	}
	wz_buf_clear(&b);
	wz_buf_add_html(&b, WZ_STR("<a href='x'>R&D \"q\"</a> end"));
	tap_eq_str(wz_buf_str(&b), WZ_STR("&lt;a href=&#39;x&#39;&gt;R&amp;D &quot;q&quot;&lt;/a&gt; end"), "html");
	wz_buf_clear(&b);
	wz_buf_add_html(&b, WZ_STR("plain"));
	wz_buf_add_html(&b, (struct wz_str){NULL, 0});
	tap_eq_str(wz_buf_str(&b), WZ_STR("plain"), "html without escapes");
}

/* Appends one of each kind; with too small a maximum, all is kept up to the last append that fitted whole. */
static void add_kind(struct wz_buf *b, unsigned kind)
{
	static void (*const kinds[])(struct wz_buf *, struct wz_str) = {
	        wz_buf_add, wz_buf_add_json, wz_buf_add_html};
	kinds[kind](b, WZ_STR("<\"\x01\xff&>abc"));
}

static void test_limits(void)
{
	static const size_t whole[] = {9, 19, 24};
	struct fault_mem f;
	char fixed[64];
	fault_mem_init(&f);
	for (unsigned kind = 0; kind < 3; kind++) {
		for (size_t max = 0; max < 40; max++) {
			struct wz_buf heap, arr;
			size_t want = max >= 5 + whole[kind] ? 5 + whole[kind] : max >= 5 ? 5 : 0;
			wz_buf_init(&heap, &f.mem, max);
			wz_buf_init_fixed(&arr, fixed, max);
			for (int k = 0; k < 2; k++) {
				struct wz_buf *b = k ? &arr : &heap;
				wz_buf_addz(b, "12345");
				add_kind(b, kind);
				tap_eq_i64(b->len, want, "kind %u, max %zu, %s", kind, max, k ? "fixed" : "heap");
				tap_eq_i64(b->status, want == 5 + whole[kind] ? 0 : -E2BIG, "status");
				int before = b->status;
				wz_buf_addz(b, "");
				if (before < 0) {
					wz_buf_clear(b);
					tap_eq_i64(b->status, 0, "clear resets");
					b->status = before;
					wz_buf_addc(b, 'x');
					tap_eq_i64(b->len, 0, "nothing is added after a failure");
				}
			}
			wz_buf_release(&heap);
		}
	}
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_z(void)
{
	struct fault_mem f;
	struct wz_buf b;
	char fixed[4];
	fault_mem_init(&f);
	wz_buf_init(&b, &f.mem, 3);
	tap_eq_str(wz_str(wz_buf_z(&b)), WZ_STR(""), "empty");
	wz_buf_addz(&b, "abc");
	tap_eq_str(wz_str(wz_buf_z(&b)), WZ_STR("abc"), "the terminator does not count");
	wz_buf_addc(&b, 'd');
	tap_eq_i64(b.status, -E2BIG, "full");
	tap_eq_str(wz_buf_str(&b), WZ_STR("abc"), "keeps what it had");
	tap_eq_str(wz_str(wz_buf_z(&b)), WZ_STR(""), "\"\" on failure");
	wz_buf_release(&b);
	wz_buf_addz(&b, "ok");
	tap_eq_str(wz_buf_str(&b), WZ_STR("ok"), "usable after release");
	wz_buf_release(&b);
	tap_ok(fault_mem_clean(&f), "clean");
	wz_buf_init_fixed(&b, fixed, sizeof fixed);
	wz_buf_addz(&b, "abc");
	tap_eq_str(wz_str(wz_buf_z(&b)), WZ_STR("abc"), "fits with its end");
	wz_buf_addc(&b, 'd');
	tap_eq_i64(b.status, 0, "four fit without");
	tap_eq_str(wz_str(wz_buf_z(&b)), WZ_STR(""), "no room for the end");
	tap_eq_i64(b.status, -E2BIG, "and it says so");
}

static int buf_work(const struct wz_mem *mem)
{
	struct wz_buf b;
	int rc;
	wz_buf_init(&b, mem, 1 << 20);
	for (int i = 0; i < 2000; i++) {
		wz_buf_add_u64(&b, (uint64_t)i);
		add_kind(&b, (unsigned)i % 3);
	}
	(void)wz_buf_z(&b);
	rc = b.status;
	wz_buf_release(&b);
	return rc;
}

static void test_fail_nth(void)
{
	uint64_t n;
	for (n = 1; n < 1000; n++) {
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = buf_work(&f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		tap_eq_i64(rc, f.failures ? -ENOMEM : 0, "allocation %" PRIu64, n);
		if (!f.failures)
			break;
	}
	tap_ok(n > 5 && n < 1000, "the loop failed %" PRIu64 " allocations", n - 1);
}

int main(void)
{
	tap_run(test_numbers);
	tap_run(test_escape);
	tap_run(test_limits);
	tap_run(test_z);
	tap_run(test_fail_nth);
	return tap_done();
}
