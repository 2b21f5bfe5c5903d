/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/jtext.h"

#include "base/csv.h"

void wz_jtext_init(struct wz_jtext *j, struct wz_str text)
{
	if (wz_str_starts(text, WZ_STR("\xef\xbb\xbf")))
		text = (struct wz_str){text.ptr + 3, text.len - 3};
	*j = (struct wz_jtext){text.ptr, text.ptr, text.ptr + text.len, NULL, true};
}

void wz_jtext_fail(struct wz_jtext *j, const char *what)
{
	if (!j->what)
		j->what = what;
}

static void blanks(struct wz_jtext *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' || *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

char wz_jtext_peek(struct wz_jtext *j)
{
	blanks(j);
	return j->what || j->p == j->end ? 0 : *j->p;
}

static bool take(struct wz_jtext *j, char c, const char *what)
{
	if (wz_jtext_peek(j) != c) {
		wz_jtext_fail(j, what);
		return false;
	}
	j->p++;
	return true;
}

bool wz_jtext_object(struct wz_jtext *j)
{
	j->first = true;
	return take(j, '{', "'{'");
}

bool wz_jtext_array(struct wz_jtext *j)
{
	j->first = true;
	return take(j, '[', "'['");
}

/* Between members: true when another follows. */
static bool more(struct wz_jtext *j, char close, const char *what)
{
	char c = wz_jtext_peek(j);

	if (c == close) {
		j->p++;
		j->first = false; /* what encloses it has had a member: this one */
		return false;
	}
	if (!j->first && !take(j, ',', what))
		return false;
	j->first = false;
	return !j->what && wz_jtext_peek(j) != 0;
}

/* Past the closing quote; raw bytes in *ret. */
static bool raw_string(struct wz_jtext *j, struct wz_str *ret)
{
	const char *from;

	if (!take(j, '"', "a string"))
		return false;
	from = j->p;
	while (j->p < j->end && *j->p != '"') {
		if ((unsigned char)*j->p < 0x20) {
			wz_jtext_fail(j, "no control byte in a string");
			return false;
		}
		j->p += *j->p == '\\' && j->p + 1 < j->end ? 2 : 1;
	}
	if (j->p >= j->end) {
		j->p = j->end;
		wz_jtext_fail(j, "a closing quote");
		return false;
	}
	*ret = (struct wz_str){from, (size_t)(j->p - from)};
	j->p++;
	return true;
}

bool wz_jtext_key(struct wz_jtext *j, struct wz_str *ret)
{
	if (!more(j, '}', "',' or '}'"))
		return false;
	return raw_string(j, ret) && take(j, ':', "':'");
}

bool wz_jtext_item(struct wz_jtext *j)
{
	return more(j, ']', "',' or ']'");
}

static bool hex4(const char *p, uint32_t *ret)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
		uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
		             : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
		             : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
		                                    : 16;
		if (d > 15)
			return false;
		v = v << 4 | d;
	}
	*ret = v;
	return true;
}

static size_t utf8(char *to, uint32_t u)
{
	if (u < 0x80) {
		to[0] = (char)u;
		return 1;
	}
	if (u < 0x800) {
		to[0] = (char)(0xc0 | u >> 6);
		to[1] = (char)(0x80 | (u & 63));
		return 2;
	}
	to[0] = (char)(0xe0 | u >> 12);
	to[1] = (char)(0x80 | (u >> 6 & 63));
	to[2] = (char)(0x80 | (u & 63));
	return 3;
}

bool wz_jtext_string(struct wz_jtext *j, struct wz_arena *a, struct wz_str *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	struct wz_str raw;
	size_t n = 0;
	char *s;

	if (!raw_string(j, &raw))
		return false;
	if (raw.len == 0 || !memchr(raw.ptr, '\\', raw.len)) {
		*ret = raw;
		return true;
	}
	s = wz_arena_alloc(a, raw.len);
	if (!s) {
		wz_jtext_fail(j, "less text: out of memory");
		return false;
	}
	for (size_t i = 0; i < raw.len; i++) {
		const char *e;
		uint32_t u;
		if (raw.ptr[i] != '\\') {
			s[n++] = raw.ptr[i];
			continue;
		}
		i++;
		e = i < raw.len && raw.ptr[i] ? memchr(from, raw.ptr[i], sizeof(from) - 1) : NULL;
		if (e) {
			s[n++] = to[e - from];
		} else if (i + 4 < raw.len && raw.ptr[i] == 'u' && hex4(raw.ptr + i + 1, &u) && u) {
			n += utf8(s + n, u >= 0xd800 && u < 0xe000 ? 0xfffd : u);
			i += 4;
		} else {
			j->p = raw.ptr + i;
			wz_jtext_fail(j, "an escape of JSON");
			return false;
		}
	}
	*ret = (struct wz_str){s, n};
	return true;
}

bool wz_jtext_number(struct wz_jtext *j, struct wz_str *ret)
{
	const char *from;
	char c = wz_jtext_peek(j);

	if (c != '-' && (c < '0' || c > '9')) {
		wz_jtext_fail(j, "a number");
		return false;
	}
	from = j->p++;
	while (j->p < j->end && *j->p && strchr("0123456789.eE+-", *j->p))
		j->p++;
	*ret = (struct wz_str){from, (size_t)(j->p - from)};
	return true;
}

static bool word(struct wz_jtext *j, struct wz_str w)
{
	if ((size_t)(j->end - j->p) < w.len || memcmp(j->p, w.ptr, w.len) != 0)
		return false;
	j->p += w.len;
	return true;
}

bool wz_jtext_null(struct wz_jtext *j)
{
	return wz_jtext_peek(j) == 'n' && word(j, WZ_STR("null"));
}

bool wz_jtext_skip(struct wz_jtext *j)
{
	uint64_t is_object[WZ_JTEXT_DEPTH_MAX / 64] = {0};
	uint32_t depth = 0;
	struct wz_str s;

	do {
		char c = wz_jtext_peek(j);
		bool open = c == '{' || c == '[';
		if (open) {
			if (depth == WZ_JTEXT_DEPTH_MAX) {
				wz_jtext_fail(j, "less nesting");
				return false;
			}
			is_object[depth / 64] &= ~(1ull << depth % 64);
			is_object[depth / 64] |= (uint64_t)(c == '{') << depth % 64;
			depth++;
			j->p++;
			j->first = true;
		} else if (c == '"') {
			raw_string(j, &s);
		} else if (c == 't' || c == 'f' || c == 'n') {
			if (!word(j, WZ_STR("true")) && !word(j, WZ_STR("false")) && !word(j, WZ_STR("null")))
				wz_jtext_fail(j, "a value");
		} else {
			wz_jtext_number(j, &s);
		}
		/* Up to the next value: close what ends here. */
		while (!j->what && depth) {
			bool object = is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
			if (object ? wz_jtext_key(j, &s) : wz_jtext_item(j))
				break;
			depth--;
		}
	} while (depth && !j->what);
	j->first = false;
	return !j->what;
}

bool wz_jtext_end(struct wz_jtext *j)
{
	blanks(j);
	if (!j->what && j->p != j->end)
		wz_jtext_fail(j, "the end of the text");
	return !j->what;
}

void wz_jtext_place(const struct wz_jtext *j, uint32_t *ret_line, uint32_t *ret_column)
{
	const char *line = j->begin;

	*ret_line = 1;
	for (const char *p = j->begin; p < j->p; p++)
		if (*p == '\n') {
			(*ret_line)++;
			line = p + 1;
		}
	*ret_column = (uint32_t)(j->p - line) + 1;
}

int wz_jtext_err(const struct wz_jtext *j, struct wz_str name, struct wz_err *err)
{
	uint32_t line, column;

	if (!j->what)
		return 0;
	wz_jtext_place(j, &line, &column);
	wz_err_set(
	        err, -EBADMSG, "BadJson", WZ_STR("this is not what the format says; expected "), wz_str(j->what));
	wz_csv_err_at(err, name, line, column);
	return -EBADMSG;
}
