/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "base/check.h"
#include "cli/lang.h"

#include <errno.h>

#define NARROWEST 6u /* a column is not cut below this */

static struct wz_table_look look;

void wz_table_set_look(struct wz_table_look l)
{
	look = l;
}

void wz_table_init(struct wz_table *t, const struct wz_mem *mem, uint32_t n_columns, uint32_t right)
{
	wz_check(n_columns > 0 && n_columns <= WZ_TABLE_COLUMNS_MAX);
	*t = (struct wz_table){.mem = mem, .n_columns = n_columns, .right = right};
	wz_arena_init(&t->arena, mem, 4096);
}

void wz_table_release(struct wz_table *t)
{
	wz_grow_free(t->mem, &t->cell, &t->cap, sizeof *t->cell);
	wz_arena_release(&t->arena);
	t->n = 0;
}

/* ---- characters ---- */

/* One character of UTF-8; a byte that begins none counts as one. Returns its length. */
static size_t next_char(struct wz_str s, uint32_t *ret)
{
	unsigned char c = (unsigned char)s.ptr[0];
	size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	uint32_t v = n == 1 ? c : c & (0xffu >> (n + 1));
	if (n > s.len)
		n = 1, v = 0xfffd;
	for (size_t i = 1; i < n; i++) {
		if (((unsigned char)s.ptr[i] & 0xc0) != 0x80) {
			*ret = 0xfffd;
			return 1;
		}
		v = v << 6 | ((unsigned char)s.ptr[i] & 0x3fu);
	}
	*ret = v;
	return n;
}

/* Columns of a character: 2 for East Asian wide ones and emoji, 0 for marks that join the one before. */
static size_t width_of_char(uint32_t c)
{
	if ((c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0xfe00 && c <= 0xfe0f))
		return 0;
	if ((c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) || (c >= 0xac00 && c <= 0xd7a3) ||
	        (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	        (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd))
		return 2;
	return 1;
}

size_t wz_table_width_of(struct wz_str s)
{
	size_t w = 0;
	while (s.len) {
		uint32_t c;
		size_t n = next_char(s, &c);
		w += width_of_char(c);
		s = (struct wz_str){s.ptr + n, s.len - n};
	}
	return w;
}

/* The longest begin that is at most `width` wide. */
static struct wz_str cut(struct wz_str s, size_t width)
{
	size_t w = 0, at = 0;
	while (at < s.len) {
		uint32_t c;
		size_t n = next_char((struct wz_str){s.ptr + at, s.len - at}, &c);
		w += width_of_char(c);
		if (w > width)
			break;
		at += n;
	}
	return (struct wz_str){s.ptr, at};
}

/* ---- cells ---- */

/* Headers, and what stands under STATE and HEALTH, in the reader's language. */
static struct wz_str translated(const struct wz_table *t, struct wz_str s)
{
	uint32_t column = t->n % t->n_columns;
	return t->n < t->n_columns || t->translate >> column & 1 ? wz_tr(s) : s;
}

void wz_table_add(struct wz_table *t, struct wz_str s)
{
	if (t->n < t->n_columns &&
	        (wz_str_eq(s, WZ_STR("STATE")) || wz_str_eq(s, WZ_STR("HEALTH")) || wz_str_eq(s, WZ_STR("REASON"))))
		t->translate |= 1u << t->n;
	s = translated(t, s);
	char *copy = wz_arena_alloc(&t->arena, s.len + 1);
	if (!copy || wz_grow(t->mem, &t->cell, &t->cap, t->n + 1, sizeof *t->cell) < 0) {
		t->status = -ENOMEM;
		return;
	}
	if (s.len)
		memcpy(copy, s.ptr, s.len);
	for (size_t i = 0; i < s.len; i++) { /* nobody's job name moves the cursor of who looks at it */
		unsigned char c = (unsigned char)copy[i];
		if (c < ' ' || c == 0x7f || (c == 0xc2 && i + 1 < s.len && (unsigned char)copy[i + 1] < 0xa0))
			copy[i] = '?';
	}
	t->cell[t->n++] = (struct wz_str){copy, s.len};
}

void wz_table_addz(struct wz_table *t, const char *z)
{
	wz_table_add(t, wz_str(z));
}

void wz_table_add_u64(struct wz_table *t, uint64_t v)
{
	struct wz_num n;
	wz_table_add(t, wz_str_u64(&n, v));
}

void wz_table_add_fixed(struct wz_table *t, int64_t v, unsigned decimals)
{
	char text[40];
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_add_fixed(&b, v, decimals);
	wz_table_add(t, wz_buf_str(&b));
}

/* ---- printing ---- */

static void blanks(struct wz_buf *b, size_t n)
{
	while (n--)
		wz_buf_addc(b, ' ');
}

/* Takes from the widest column (the last of equals: texts stand at the right) until the row fits. */
static void fit(const struct wz_table *t, size_t *width)
{
	size_t total = 2u * (t->n_columns - 1);
	for (uint32_t c = 0; c < t->n_columns; c++)
		total += width[c];
	while (look.width && total > look.width) {
		uint32_t widest = 0;
		for (uint32_t c = 1; c < t->n_columns; c++)
			if (width[c] >= width[widest] && !(t->right >> c & 1))
				widest = c;
		if (width[widest] <= NARROWEST || t->right >> widest & 1)
			break;
		width[widest]--;
		total--;
	}
}

static void quiet(const struct wz_table *t, struct wz_buf *b)
{
	for (uint32_t i = t->n_columns; i < t->n; i += t->n_columns) {
		wz_buf_add(b, t->cell[i]);
		wz_buf_addc(b, '\n');
	}
}

void wz_table_print(const struct wz_table *t, struct wz_buf *b)
{
	size_t width[WZ_TABLE_COLUMNS_MAX] = {0};
	if (t->status < 0) {
		b->status = t->status;
		return;
	}
	if (look.quiet) {
		quiet(t, b);
		return;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		size_t w = wz_table_width_of(t->cell[i]);
		if (w > width[i % t->n_columns])
			width[i % t->n_columns] = w;
	}
	fit(t, width);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t c = i % t->n_columns;
		struct wz_str s = t->cell[i];
		bool longer = wz_table_width_of(s) > width[c];
		if (longer)
			s = cut(s, width[c] - 1);
		size_t pad = width[c] - wz_table_width_of(s) - longer;
		bool right = t->right >> c & 1, last = c + 1 == t->n_columns;
		if (right)
			blanks(b, pad);
		wz_buf_add(b, s);
		if (longer)
			wz_buf_addz(b, "…");
		if (!last)
			blanks(b, right ? 2 : pad + 2);
		else
			wz_buf_addc(b, '\n');
	}
}
