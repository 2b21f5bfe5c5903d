/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <string.h>

void wz_json_init(struct wz_json *j, struct wz_str text)
{
	*j = (struct wz_json){.begin = text.ptr, .at = text.ptr, .end = text.len ? text.ptr + text.len : text.ptr};
}

void wz_json_fail(struct wz_json *j, const char *what)
{
	if (j->what)
		return;
	j->what = what;
	j->code = -EINVAL;
}

static bool is(const struct wz_json *j, char c)
{
	return !j->what && j->at < j->end && *j->at == c;
}

static bool open_list(struct wz_json *j, char c, const char *what)
{
	if (!is(j, c)) {
		wz_json_fail(j, what);
		return false;
	}
	j->at++;
	j->comma = false;
	return true;
}

bool wz_json_object(struct wz_json *j)
{
	return open_list(j, '{', "an object is expected");
}

bool wz_json_array(struct wz_json *j)
{
	return open_list(j, '[', "a list is expected");
}

/* Is there another member? Consumes the comma, or the closing bracket. */
static bool more(struct wz_json *j, char close)
{
	if (j->what)
		return false;
	if (is(j, close)) {
		j->at++;
		j->comma = true;
		return false;
	}
	if (!j->comma) {
		if (j->at == j->end)
			wz_json_fail(j, "the text ends too early");
		return !j->what;
	}
	if (!is(j, ',')) {
		wz_json_fail(j, "a comma or the end of the list is expected");
		return false;
	}
	j->at++;
	return true;
}

bool wz_json_item(struct wz_json *j)
{
	return more(j, ']');
}

bool wz_json_key(struct wz_json *j, struct wz_str *ret)
{
	const char *begin;
	struct wz_str key;

	if (!more(j, '}'))
		return false;
	if (!is(j, '"')) {
		wz_json_fail(j, "a key is expected");
		return false;
	}
	begin = j->at + 1;
	for (const char *p = begin; p < j->end; p++) {
		if (*p == '\\' || (unsigned char)*p < 0x20)
			break;
		if (*p != '"')
			continue;
		key = (struct wz_str){begin, (size_t)(p - begin)};
		if (!wz_utf8_ok(key))
			break;
		if (p + 1 == j->end || p[1] != ':')
			break;
		j->at = p + 2;
		j->comma = false;
		*ret = key;
		return true;
	}
	wz_json_fail(j, "this is not a key");
	return false;
}

static bool digits(struct wz_json *j, uint64_t *ret)
{
	const char *p = j->at;
	uint64_t v = 0;

	if (j->what)
		return false;
	if (p < j->end && *p == '0' && p + 1 < j->end && p[1] >= '0' && p[1] <= '9') {
		wz_json_fail(j, "a number has no leading zero");
		return false;
	}
	while (p < j->end && *p >= '0' && *p <= '9') {
		uint64_t d = (uint64_t)(*p - '0');
		if (v > (UINT64_MAX - d) / 10) {
			wz_json_fail(j, "this number is too large");
			return false;
		}
		v = v * 10 + d;
		p++;
	}
	if (p == j->at || (p < j->end && (*p == '.' || *p == 'e' || *p == 'E'))) {
		wz_json_fail(j, "a whole number is expected");
		return false;
	}
	j->at = p;
	*ret = v;
	return true;
}

bool wz_json_u64(struct wz_json *j, uint64_t *ret)
{
	if (!digits(j, ret))
		return false;
	j->comma = true;
	return true;
}

bool wz_json_i64(struct wz_json *j, int64_t *ret)
{
	const char *begin = j->at;
	bool minus = is(j, '-');
	uint64_t v;

	j->at += minus;
	if (!digits(j, &v))
		return false;
	if (v > (uint64_t)INT64_MAX + minus || (minus && v == 0)) {
		j->at = begin;
		wz_json_fail(j, minus && v == 0 ? "zero has no sign" : "this number is too large");
		return false;
	}
	*ret = minus ? (int64_t)(0 - v) : (int64_t)v;
	j->comma = true;
	return true;
}

bool wz_json_bool(struct wz_json *j, bool *ret)
{
	size_t left = (size_t)(j->end - j->at);
	bool yes = !j->what && left >= 4 && memcmp(j->at, "true", 4) == 0;

	if (!yes && (j->what || left < 5 || memcmp(j->at, "false", 5) != 0)) {
		wz_json_fail(j, "true or false is expected");
		return false;
	}
	j->at += yes ? 4 : 5;
	j->comma = true;
	*ret = yes;
	return true;
}

static int hex4(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		int d = c >= '0' && c <= '9'   ? c - '0'
		        : c >= 'a' && c <= 'f' ? c - 'a' + 10
		        : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                               : -1;
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* p is behind a backslash; the end of the escape, or NULL. */
static const char *unescape(const char *p, const char *end, char *to, size_t *len)
{
	static const char from[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int c, low;

	if (p == end)
		return NULL;
	at = *p ? strchr(from, *p) : NULL;
	if (at) {
		to[(*len)++] = means[at - from];
		return p + 1;
	}
	if (*p != 'u')
		return NULL;
	c = hex4(p + 1, end);
	if (c < 0 || (c >= 0xdc00 && c < 0xe000))
		return NULL;
	p += 5;
	if (c >= 0xd800 && c < 0xdc00) {
		if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
			return NULL;
		low = hex4(p + 2, end);
		if (low < 0xdc00 || low >= 0xe000)
			return NULL;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	*len += put_utf8(to + *len, (uint32_t)c);
	return p;
}

/* The closing quote, or NULL; *ret_escaped whether anything must be unescaped. */
static const char *string_end(const struct wz_json *j, bool *ret_escaped)
{
	*ret_escaped = false;
	for (const char *p = j->at + 1; p < j->end; p++) {
		if (*p == '"')
			return p;
		if ((unsigned char)*p < 0x20)
			return NULL;
		if (*p == '\\') {
			*ret_escaped = true;
			p++;
		}
	}
	return NULL;
}

bool wz_json_string(struct wz_json *j, struct wz_arena *a, struct wz_str *ret)
{
	const char *close, *p;
	struct wz_str s;
	bool escaped;
	size_t len = 0;
	char *to;

	if (!is(j, '"') || !(close = string_end(j, &escaped))) {
		wz_json_fail(j, "a string is expected");
		return false;
	}
	s = (struct wz_str){j->at + 1, (size_t)(close - j->at - 1)};
	if (!wz_utf8_ok(s)) {
		wz_json_fail(j, "this string is not UTF-8");
		return false;
	}
	if (escaped) {
		to = wz_arena_alloc(a, s.len);
		if (!to) {
			wz_json_fail(j, "out of memory");
			j->code = -ENOMEM;
			return false;
		}
		for (p = s.ptr; p && p < close;) {
			if (*p == '\\')
				p = unescape(p + 1, close, to, &len);
			else
				to[len++] = *p++;
		}
		if (!p) {
			wz_json_fail(j, "this string has a bad escape");
			return false;
		}
		s = (struct wz_str){to, len};
	}
	*ret = s;
	j->at = close + 1;
	j->comma = true;
	return true;
}

bool wz_json_end(struct wz_json *j)
{
	if (!j->what && j->at != j->end)
		wz_json_fail(j, "nothing may follow");
	return !j->what;
}

int wz_json_err(const struct wz_json *j, const char *reason, struct wz_err *err)
{
	struct wz_num n;

	if (!j->what)
		return 0;
	return wz_err_set(err, j->code, reason, wz_str(j->what), WZ_STR(", at byte "),
	        wz_str_u64(&n, (uint64_t)(j->at - j->begin)));
}

bool wz_utf8_ok(struct wz_str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr, *end = s.len ? p + s.len : p;

	while (p < end) {
		unsigned n = *p < 0x80                 ? 0
		             : *p >= 0xc2 && *p < 0xe0 ? 1
		             : *p >= 0xe0 && *p < 0xf0 ? 2
		             : *p >= 0xf0 && *p < 0xf5 ? 3
		                                       : 9;
		if (n == 9 || (size_t)(end - p) <= n)
			return false;
		if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
			return false;
		for (unsigned i = 1; i <= n; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		p += n + 1;
	}
	return true;
}
