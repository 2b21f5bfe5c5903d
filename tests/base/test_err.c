/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "tap.h"

static void test_set(void)
{
	struct wz_err e = {0};
	tap_eq_i64(wz_err_set(&e, -EINVAL, "BadThing", WZ_STR("no "), WZ_STR("such thing")), -EINVAL,
	        "returns the code");
	tap_eq_i64(e.code, -EINVAL, "code");
	tap_eq_str(wz_str(e.reason), WZ_STR("BadThing"), "reason");
	tap_eq_str(wz_str(e.text), WZ_STR("no such thing"), "parts are joined");
	tap_eq_i64(wz_err_set((struct wz_err *)NULL, -ENOENT, "X", WZ_STR("x")), -ENOENT, "NULL is allowed");
	wz_err_set(&e, -EINVAL, "X", WZ_STR("a\n\033[1m\0b\x7f\x1f\x20"), WZ_STR("\t\xe4\xb8\xad"));
	tap_eq_str(wz_str(e.text), WZ_STR("a??[1m?b?? ?\xe4\xb8\xad"), "control bytes are shown as ?");
}

static void test_prefix_and_alias(void)
{
	struct wz_err e;
	wz_err_set(&e, -ERANGE, "Range", WZ_STR("too large"));
	wz_err_prefix(&e, WZ_STR("pods.csv:17: "));
	tap_eq_str(wz_str(e.text), WZ_STR("pods.csv:17: too large"), "prefix");
	tap_eq_i64(e.code, -ERANGE, "prefix keeps the code");
	wz_err_prefix(NULL, WZ_STR("x"));
	wz_err_set(&e, -EIO, "Io", wz_str(e.text), WZ_STR("; again: "), wz_str(e.text));
	tap_eq_str(wz_str(e.text), WZ_STR("pods.csv:17: too large; again: pods.csv:17: too large"),
	        "own text as a part");
}

/* Characters of 1 to 4 bytes at every offset around the limit: the text is the longest whole prefix. */
static void test_cut(void)
{
	static const char *const chars[] = {"x", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x90\x8b"};
	struct wz_err e;
	char text[WZ_ERR_TEXT_MAX * 2];
	for (size_t c = 0; c < 4; c++) {
		for (size_t lead = WZ_ERR_TEXT_MAX - 8; lead < WZ_ERR_TEXT_MAX + 2; lead++) {
			size_t n = c + 1, fit = WZ_ERR_TEXT_MAX - 1, want = lead;
			memset(text, 'a', lead);
			for (size_t k = 0; k < 3; k++)
				memcpy(text + lead + k * n, chars[c], n);
			for (size_t k = 0; k < 3 && want + n <= fit; k++)
				want += n;
			if (want > fit)
				want = fit;
			wz_err_set(&e, -EINVAL, "Long", (struct wz_str){text, lead + 3 * n});
			tap_eq_str(
			        wz_str(e.text), ((struct wz_str){text, want}), "cut: %zu bytes after %zu", n, lead);
		}
	}
	memset(text, 0x80, sizeof text);
	wz_err_set(&e, -EINVAL, "Long", (struct wz_str){text, sizeof text});
	tap_ok(strlen(e.text) >= WZ_ERR_TEXT_MAX - 4, "bad UTF-8 does not eat the text");
}

int main(void)
{
	tap_run(test_set);
	tap_run(test_prefix_and_alias);
	tap_run(test_cut);
	return tap_done();
}
