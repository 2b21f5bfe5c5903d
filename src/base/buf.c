/* SPDX-License-Identifier: Apache-2.0 */
/* Every append is made of `put`, which takes all of its bytes or none. The escaping appends are several puts, so they
 * remember where they began and go back there when one fails. */
#include "base/buf.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

#define FIRST_CAP 64u

void wz_buf_init(struct wz_buf *b, const struct wz_mem *mem, size_t max)
{
	wz_check(mem && max < PTRDIFF_MAX);
	*b = (struct wz_buf){.mem = mem, .max = max};
}

void wz_buf_init_fixed(struct wz_buf *b, char *data, size_t cap)
{
	*b = (struct wz_buf){.data = data, .cap = cap, .max = cap};
}

void wz_buf_release(struct wz_buf *b)
{
	if (b->mem)
		wz_mem_free(b->mem, b->data, b->cap);
	*b = (struct wz_buf){.mem = b->mem, .max = b->mem ? b->max : 0};
}

void wz_buf_clear(struct wz_buf *b)
{
	b->len = 0;
	b->status = 0;
}

/* Room for `need` bytes in all, of which one may be the terminator beyond max. */
static int reserve(struct wz_buf *b, size_t need)
{
	size_t cap = b->cap * 2;
	char *p;
	if (need <= b->cap)
		return 0;
	if (!b->mem)
		return -E2BIG;
	if (cap < FIRST_CAP)
		cap = FIRST_CAP;
	if (cap > b->max + 1)
		cap = b->max + 1;
	if (cap < need)
		cap = need;
	p = b->mem->resize(b->mem->ctx, b->data, b->cap, cap);
	if (!p)
		return -ENOMEM;
	b->data = p;
	b->cap = cap;
	return 0;
}

static void put(struct wz_buf *b, const char *p, size_t n)
{
	if (b->status < 0 || n == 0)
		return;
	if (n > b->max - b->len) {
		b->status = -E2BIG;
		return;
	}
	b->status = reserve(b, b->len + n);
	if (b->status < 0)
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void wz_buf_add(struct wz_buf *b, struct wz_str s)
{
	put(b, s.ptr, s.len);
}
void wz_buf_addc(struct wz_buf *b, char c)
{
	put(b, &c, 1);
}
void wz_buf_addz(struct wz_buf *b, const char *z)
{
	wz_buf_add(b, wz_str(z));
}

void wz_buf_add_u64(struct wz_buf *b, uint64_t v)
{
	struct wz_num num;
	wz_buf_add(b, wz_str_u64(&num, v));
}

void wz_buf_add_i64(struct wz_buf *b, int64_t v)
{
	struct wz_num num;
	wz_buf_add(b, wz_str_i64(&num, v));
}

static const char hex_digits[] = "0123456789abcdef";

void wz_buf_add_hex64(struct wz_buf *b, uint64_t v)
{
	char text[16];
	for (int i = 15; i >= 0; i--, v >>= 4)
		text[i] = hex_digits[v & 15];
	put(b, text, sizeof text);
}

void wz_buf_add_fixed(struct wz_buf *b, int64_t v, unsigned decimals)
{
	char text[1 + 20 + 1 + 9], *end = text + sizeof text, *p = end;
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	wz_check(decimals <= 9);
	for (unsigned i = 0; i < decimals; i++, u /= 10)
		*--p = (char)('0' + u % 10);
	if (decimals)
		*--p = '.';
	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (v < 0)
		*--p = '-';
	put(b, p, (size_t)(end - p));
}

/* Bytes of the well-formed UTF-8 sequence at p (Unicode 15, table 3-7), or 0; then *ret_skip is the length of the
 * ill-formed part that one U+FFFD replaces. */
static size_t utf8_len(const unsigned char *p, size_t n, size_t *ret_skip)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t want;
	*ret_skip = 1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	want = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		lo = 0xa0; /* overlong */
	else if (p[0] == 0xed)
		hi = 0x9f; /* surrogates */
	else if (p[0] == 0xf0)
		lo = 0x90; /* overlong */
	else if (p[0] == 0xf4)
		hi = 0x8f; /* above U+10FFFF */
	for (size_t i = 1; i < want; i++) {
		if (i >= n || p[i] < lo || p[i] > hi) {
			*ret_skip = i;
			return 0;
		}
		lo = 0x80;
		hi = 0xbf;
	}
	return want;
}

static void put_json_control(struct wz_buf *b, unsigned char c)
{
	static const char letters[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
	char text[6] = {'\\', 'u', '0', '0', hex_digits[c >> 4], hex_digits[c & 15]};
	if (c < 32 && letters[c]) {
		text[1] = letters[c];
		put(b, text, 2);
	} else {
		put(b, text, 6);
	}
}

static bool json_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void wz_buf_add_json(struct wz_buf *b, struct wz_str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	size_t start = b->len, i = 0;
	put(b, "\"", 1);
	while (i < s.len && b->status == 0) {
		size_t run = 0, skip;
		while (i + run < s.len && json_plain(p[i + run]))
			run++;
		put(b, s.ptr + i, run);
		i += run;
		if (i == s.len)
			break;
		if (p[i] < 0x20 || p[i] == 0x7f) {
			put_json_control(b, p[i++]);
		} else if (p[i] < 0x80) { /* quote or backslash */
			put(b, (const char[]){'\\', s.ptr[i++]}, 2);
		} else {
			size_t n = utf8_len(p + i, s.len - i, &skip);
			put(b, n ? s.ptr + i : "\xef\xbf\xbd", n ? n : 3);
			i += n ? n : skip;
		}
	}
	put(b, "\"", 1);
	if (b->status < 0)
		b->len = start;
}

void wz_buf_add_html(struct wz_buf *b, struct wz_str s)
{
	size_t start = b->len, run = 0;
	for (size_t i = 0; i < s.len && b->status == 0; i++) {
		const char *z = NULL;
		switch (s.ptr[i]) {
		case '&':
			z = "&amp;";
			break;
		case '<':
			z = "&lt;";
			break;
		case '>':
			z = "&gt;";
			break;
		case '"':
			z = "&quot;";
			break;
		case '\'':
			z = "&#39;";
			break;
		}
		if (!z)
			continue;
		put(b, s.ptr + run, i - run);
		wz_buf_addz(b, z);
		run = i + 1;
	}
	if (run < s.len)
		put(b, s.ptr + run, s.len - run);
	if (b->status < 0)
		b->len = start;
}

struct wz_str wz_buf_str(const struct wz_buf *b)
{
	return (struct wz_str){b->data, b->len};
}

const char *wz_buf_z(struct wz_buf *b)
{
	if (b->status == 0)
		b->status = reserve(b, b->len + 1);
	if (b->status < 0)
		return "";
	b->data[b->len] = 0;
	return b->data;
}
