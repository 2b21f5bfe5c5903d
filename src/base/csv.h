/* SPDX-License-Identifier: Apache-2.0 */
/* A pull parser for RFC 4180 CSV over bytes in memory: records of fields, with line and column of each field.
 * Accepts LF and CRLF, a UTF-8 byte order mark, quoted fields with doubled quotes; a missing last newline. Refuses
 * NUL bytes ("binary"), a quote inside a bare field, text after a closing quote, an unclosed quote, and a carriage
 * return in a bare field that is not part of a CRLF. Blank lines (no byte at all) are skipped; `""` alone is a record
 * of one empty field. Blanks around fields are kept. Limits: WZ_CSV_FIELDS_MAX fields, WZ_CSV_FIELD_MAX bytes a field
 * (unquoted). O(bytes); allocates only for quoted fields that hold a quote. */
#ifndef WZ_BASE_CSV_H
#define WZ_BASE_CSV_H

#include "base/err.h"
#include "base/mem.h"

#define WZ_CSV_FIELDS_MAX 256u
#define WZ_CSV_FIELD_MAX 65536u

struct wz_csv_field {
	struct wz_str text; /* unquoted; valid until the next wz_csv_next */
	uint32_t column;    /* byte column of the field's first byte, from 1 */
};

struct wz_csv {
	const char *p, *end, *line_start;
	uint32_t line;       /* line of the current record's first byte, from 1 */
	uint32_t next_line;
	uint32_t n;          /* fields of the current record */
	struct wz_csv_field field[WZ_CSV_FIELDS_MAX];
	struct wz_arena scratch; /* unquoted text of the current record */
	uint32_t err_line, err_column; /* after a negative wz_csv_next: where, for wz_csv_err_at */
};

void wz_csv_init(struct wz_csv *c, const struct wz_mem *mem, struct wz_str text); /* borrows text */
void wz_csv_release(struct wz_csv *c);
/* 1 a record (c->n >= 1 fields), 0 the end. -EBADMSG: one of the refusals above (reasons CsvBinary, CsvQuote,
 * CsvCarriageReturn); -E2BIG: a limit (CsvFieldTooLong, CsvTooManyFields); -ENOMEM (OutOfMemory). After a failure c->n
 * is 0, err_line and err_column say where, and the position stays before the record: the next call tries it again. */
int wz_csv_next(struct wz_csv *c, struct wz_err *err);

/* Puts "NAME:LINE:COLUMN: " before the text of *err; column 0 is left out. No-op when err is NULL. Usual call:
 * `wz_csv_err_at(err, name, c.err_line, c.err_column)`, or c.line and a field's column for what a reader refuses. */
void wz_csv_err_at(struct wz_err *err, struct wz_str name, uint32_t line, uint32_t column);

#endif
