/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "base/check.h"

#include <errno.h>

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

void wz_table_add(struct wz_table *t, struct wz_str s)
{
	char *copy = wz_arena_alloc(&t->arena, s.len + 1);
	if (!copy || wz_grow(t->mem, &t->cell, &t->cap, t->n + 1, sizeof *t->cell) < 0) {
		t->status = -ENOMEM;
		return;
	}
	if (s.len)
		memcpy(copy, s.ptr, s.len);
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

/* Columns on a terminal: code points, which is right for the names that we print. */
static size_t width_of(struct wz_str s)
{
	size_t w = 0;
	for (size_t i = 0; i < s.len; i++)
		w += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return w;
}

static void blanks(struct wz_buf *b, size_t n)
{
	while (n--)
		wz_buf_addc(b, ' ');
}

void wz_table_print(const struct wz_table *t, struct wz_buf *b)
{
	size_t width[WZ_TABLE_COLUMNS_MAX] = {0};
	if (t->status < 0) {
		b->status = t->status;
		return;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		size_t w = width_of(t->cell[i]);
		if (w > width[i % t->n_columns])
			width[i % t->n_columns] = w;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t c = i % t->n_columns;
		size_t pad = width[c] - width_of(t->cell[i]);
		bool right = t->right >> c & 1, last = c + 1 == t->n_columns;
		if (right)
			blanks(b, pad);
		wz_buf_add(b, t->cell[i]);
		if (!last)
			blanks(b, right ? 2 : pad + 2);
		else
			wz_buf_addc(b, '\n');
	}
}
