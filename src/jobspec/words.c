/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec/words.h"

#include "base/check.h"

static bool special(char c)
{
	return c && strchr("|&;<>()$`*?[]#~!", c) != NULL;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct split {
	struct wz_str s;
	size_t i, len; /* where we are; bytes of `out` */
	char *out;
	bool strict;
};

/* One word from a place that is no blank. */
static int word(struct split *x, struct wz_err *err)
{
	char quote = 0;
	for (; x->i < x->s.len; x->i++) {
		char c = x->s.ptr[x->i];
		if (c == 0)
			return wz_err_set(err, -EINVAL, "BadQuoting", WZ_STR("a zero byte in the command"));
		if (quote && c == quote) {
			quote = 0;
		} else if (c == '\\' && quote != '\'') {
			if (++x->i == x->s.len)
				return wz_err_set(
				        err, -EINVAL, "BadQuoting", WZ_STR("the line ends after a backslash"));
			c = x->s.ptr[x->i];
			if (quote == '"' && !strchr("\\\"$`", c ? c : 'x'))
				x->out[x->len++] = '\\';
			x->out[x->len++] = c;
		} else if (!quote && (c == '\'' || c == '"')) {
			quote = c;
		} else if (!quote && blank(c)) {
			return 0;
		} else if (x->strict && quote != '\'' && (quote ? c == '`' : special(c)) &&
		           !(c == '$' && x->i + 1 < x->s.len && x->s.ptr[x->i + 1] == '{')) {
			return wz_err_set(err, -EINVAL, "NeedsShell", WZ_STR("\""),
			        (struct wz_str){&x->s.ptr[x->i], 1},
			        WZ_STR("\" means something to a shell, and none runs here: quote it, or say that "
			               "you want one (--sh, sh:)"));
		} else {
			x->out[x->len++] = c;
		}
	}
	return quote ? wz_err_set(err, -EINVAL, "BadQuoting", WZ_STR("a quote is not closed")) : 0;
}

int wz_words_split(struct wz_str line, bool strict, struct wz_arena *a, struct wz_str **ret, uint32_t *ret_n,
        struct wz_err *err)
{
	/* Each word has a byte at least and a blank before it. */
	size_t max = line.len / 2 + 1;
	struct wz_str *v = wz_arena_alloc(a, max * sizeof *v);
	struct split x = {.s = line, .strict = strict, .out = wz_arena_alloc(a, line.len * 2 + 2)};
	uint32_t n = 0;
	if (!v || !x.out)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	for (;;) {
		while (x.i < line.len && blank(line.ptr[x.i]))
			x.i++;
		if (x.i >= line.len)
			break;
		if (n == WZ_WORDS_MAX || n == max)
			return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("more than 65536 arguments"));
		size_t begin = x.len;
		int rc = word(&x, err);
		if (rc < 0)
			return rc;
		v[n++] = (struct wz_str){x.out + begin, x.len - begin};
		x.out[x.len++] = 0;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

void wz_words_quote(struct wz_str w, struct wz_buf *b)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
	bool bare = w.len > 0;
	for (size_t i = 0; i < w.len && bare; i++)
		bare = w.ptr[i] && strchr(plain, w.ptr[i]);
	if (bare) {
		wz_buf_add(b, w);
		return;
	}
	wz_buf_addc(b, '\'');
	for (size_t i = 0; i < w.len; i++)
		if (w.ptr[i] == '\'')
			wz_buf_addz(b, "'\\''");
		else
			wz_buf_addc(b, w.ptr[i]);
	wz_buf_addc(b, '\'');
}
