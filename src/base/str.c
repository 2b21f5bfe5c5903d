/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <string.h>

struct wz_str wz_str(const char *z)
{
	return (struct wz_str){z, z ? strlen(z) : 0};
}

bool wz_str_eq(struct wz_str a, struct wz_str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool wz_str_eq_nocase(struct wz_str a, struct wz_str b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (lower(a.ptr[i]) != lower(b.ptr[i]))
			return false;
	return true;
}

int wz_str_cmp(struct wz_str a, struct wz_str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
	if (c != 0)
		return c;
	return (a.len > b.len) - (a.len < b.len);
}

bool wz_str_starts(struct wz_str s, struct wz_str prefix)
{
	return s.len >= prefix.len && wz_str_eq((struct wz_str){s.ptr, prefix.len}, prefix);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct wz_str wz_str_trim(struct wz_str s)
{
	while (s.len > 0 && is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

struct wz_str wz_str_split(struct wz_str *s, char sep)
{
	struct wz_str all = *s;
	for (size_t i = 0; i < all.len; i++) {
		if (all.ptr[i] == sep) {
			*s = (struct wz_str){all.ptr + i + 1, all.len - i - 1};
			return (struct wz_str){all.ptr, i};
		}
	}
	*s = (struct wz_str){NULL, 0};
	return all;
}

struct wz_str wz_str_u64(struct wz_num *scratch, uint64_t v)
{
	char *end = scratch->b + sizeof scratch->b, *p = end;
	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return (struct wz_str){p, (size_t)(end - p)};
}

struct wz_str wz_str_i64(struct wz_num *scratch, int64_t v)
{
	struct wz_str s = wz_str_u64(scratch, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
	if (v >= 0)
		return s;
	scratch->b[sizeof scratch->b - s.len - 1] = '-'; /* 20 bytes at most, of 24 */
	return (struct wz_str){s.ptr - 1, s.len + 1};
}

int wz_str_parse_u64(struct wz_str s, uint64_t *ret)
{
	uint64_t v = 0;
	bool over = false;
	if (s.len == 0)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EINVAL;
		over |= __builtin_mul_overflow(v, (uint64_t)10, &v);
		over |= __builtin_add_overflow(v, (uint64_t)(s.ptr[i] - '0'), &v);
	}
	if (over)
		return -ERANGE;
	*ret = v;
	return 0;
}

int wz_str_parse_i64(struct wz_str s, int64_t *ret)
{
	bool neg = s.len > 0 && s.ptr[0] == '-';
	uint64_t v, limit = neg ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
	int rc = wz_str_parse_u64(neg ? (struct wz_str){s.ptr + 1, s.len - 1} : s, &v);
	if (rc < 0)
		return rc;
	if (v > limit)
		return -ERANGE;
	*ret = neg ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}
