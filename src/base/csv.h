/* SPDX-License-Identifier: Apache-2.0 */
/* A pull parser for RFC 4180 CSV over bytes in memory: records of fields, with line and column of each field.
 * Accepts LF and CRLF, a UTF-8 byte order mark, quoted fields with doubled quotes; a missing last newline. Refuses
 * NUL bytes ("binary"), a quote inside a bare field, text after a closing quote, an unclosed quote. Blank lines are
 * skipped. Limits: WZ_CSV_FIELDS_MAX fields, WZ_CSV_FIELD_MAX bytes a field. */
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
};

void wz_csv_init(struct wz_csv *c, const struct wz_mem *mem, struct wz_str text); /* borrows text */
void wz_csv_release(struct wz_csv *c);
int wz_csv_next(struct wz_csv *c, struct wz_err *err); /* 1 a record, 0 the end, -EBADMSG or -E2BIG or -ENOMEM */

/* "NAME:LINE:COLUMN: " before the text of *err; column 0 is left out. */
void wz_csv_err_at(struct wz_err *err, struct wz_str name, uint32_t line, uint32_t column);

#endif
