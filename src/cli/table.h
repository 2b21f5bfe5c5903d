/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns. Cells are added left to right; a row is full after n_columns cells. The first row is the header.
 * Running out of memory shows as the status of the buffer printed to. */
#ifndef WZ_CLI_TABLE_H
#define WZ_CLI_TABLE_H

#include "base/buf.h"

#define WZ_TABLE_COLUMNS_MAX 24u

struct wz_table {
	const struct wz_mem *mem;
	struct wz_arena arena;
	struct wz_str *cell;
	uint32_t n, cap, n_columns;
	uint32_t right; /* bit i: column i is aligned to the right */
	int status;
};

void wz_table_init(struct wz_table *t, const struct wz_mem *mem, uint32_t n_columns, uint32_t right);
void wz_table_release(struct wz_table *t);
void wz_table_add(struct wz_table *t, struct wz_str s); /* copied */
void wz_table_addz(struct wz_table *t, const char *z);
void wz_table_add_u64(struct wz_table *t, uint64_t v);
/* v / 10^decimals, as wz_buf_add_fixed */
void wz_table_add_fixed(struct wz_table *t, int64_t v, unsigned decimals);
void wz_table_print(const struct wz_table *t, struct wz_buf *b);

#endif
