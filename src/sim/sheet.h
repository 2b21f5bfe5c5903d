/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV whose columns are found by the names in its header, with the errors of trace readers ("NAME:LINE:COLUMN: what is wrong;
 * what was expected"). Unknown columns are ignored; fields are trimmed. One record at a time: memory is that of the record. */
#ifndef WZ_SIM_SHEET_H
#define WZ_SIM_SHEET_H

#include "base/csv.h"
#include "sim/formats.h"

#define WZ_SHEET_COLUMNS_MAX 32u

struct wz_sheet_column {
	const char *name;
	bool required;
};

struct wz_sheet {
	struct wz_csv csv;
	const struct wz_trace_source *src;
	const struct wz_sheet_column *column;
	uint32_t at[WZ_SHEET_COLUMNS_MAX]; /* field of each column; WZ_NONE: the file lacks it */
	uint32_t n_columns, n_fields;
	struct wz_err *err;
};

/* Does the first line name all required columns? A text that does not end its first line may still be one. */
bool wz_sheet_sniff(struct wz_str text, const struct wz_sheet_column *column, uint32_t n);

int wz_sheet_open(struct wz_sheet *s, const struct wz_mem *mem, const struct wz_trace_source *src,
        const struct wz_sheet_column *column, uint32_t n, struct wz_err *err); /* reads the header */
void wz_sheet_close(struct wz_sheet *s);
int wz_sheet_next(struct wz_sheet *s); /* 1: a record; 0: the end */

struct wz_str wz_sheet_field(const struct wz_sheet *s, uint32_t c); /* empty when absent */
/* The error that was just set is about column c of this record; returns rc. */
int wz_sheet_at(struct wz_sheet *s, int rc, uint32_t c);
int wz_sheet_bad(struct wz_sheet *s, uint32_t c, const char *expected); /* "COLUMN is "..."; expected ..." */

/* A decimal such as 66, 66.5 or 1e3 times `unit`, rounded down, 0..max. Empty: `ret_` keeps its value, 1 is returned; else
 * 0 or an error. */
int wz_sheet_decimal(struct wz_sheet *s, uint32_t c, int64_t unit, int64_t max, int64_t *ret);
/* "2017-10-09 07:01:55[.5]" or with 'T' and 'Z'; also seconds since 1970: microseconds since 1970. As above. */
int wz_sheet_date(struct wz_sheet *s, uint32_t c, int64_t *ret);

/* ---- the same on any text ---- */
int wz_decimal_parse(struct wz_str s, int64_t unit, int64_t max, int64_t *ret); /* -EINVAL, -ERANGE */
int wz_date_parse(struct wz_str s, int64_t *ret_us); /* -EINVAL; days alone are midnight */
void wz_date_format(struct wz_buf *b, int64_t us); /* "2017-10-09 07:01:55" */

#endif
