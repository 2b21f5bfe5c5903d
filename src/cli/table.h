/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns. Cells are added left to right; a row is full after n_columns cells. The first row is the header, in
 * English: it is shown in the reader's language (cli/lang.h), and so are cells under STATE, HEALTH and REASON. Control
 * characters become '?'. Where there is a width, the widest columns are cut to fit and end in an ellipsis.
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
	uint32_t translate; /* bit i: cells of column i are words of ours */
	int status;
};

/* How all tables of this run look. width 0: as wide as they are. quiet: the first column alone, without its header. */
struct wz_table_look {
	size_t width;
	bool quiet;
};
size_t wz_table_width_of(struct wz_str s); /* columns on a terminal */
void wz_table_set_look(struct wz_table_look l);

void wz_table_init(struct wz_table *t, const struct wz_mem *mem, uint32_t n_columns, uint32_t right);
void wz_table_release(struct wz_table *t);
void wz_table_add(struct wz_table *t, struct wz_str s); /* copied */
void wz_table_addz(struct wz_table *t, const char *z);
void wz_table_add_u64(struct wz_table *t, uint64_t v);
/* v / 10^decimals, as wz_buf_add_fixed */
void wz_table_add_fixed(struct wz_table *t, int64_t v, unsigned decimals);
void wz_table_print(const struct wz_table *t, struct wz_buf *b);

#endif
