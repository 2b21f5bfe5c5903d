/* SPDX-License-Identifier: Apache-2.0 */
/* Fields are views of the input wherever that is possible: bare fields, and quoted ones without a doubled quote. Only
 * the rest is copied. A failed wz_csv_next puts the position back to the start of the record, so it can be called
 * again (after out of memory) and says the same again (after bad data): an error is never followed by "the end". */
#include "base/csv.h"

#include <errno.h>
#include <string.h>

#define SCRATCH_BLOCK 1024u

void wz_csv_init(struct wz_csv *c, const struct wz_mem *mem, struct wz_str text)
{
	if (wz_str_starts(text, WZ_STR("\xef\xbb\xbf"))) {
		text.ptr += 3;
		text.len -= 3;
	}
	if (text.len == 0)
		text.ptr = ""; /* so that pointer arithmetic is always defined */
	c->p = c->line_start = text.ptr;
	c->end = text.ptr + text.len;
	c->line = c->next_line = 1;
	c->n = 0;
	c->err_line = c->err_column = 0;
	wz_arena_init(&c->scratch, mem, SCRATCH_BLOCK);
}

void wz_csv_release(struct wz_csv *c)
{
	wz_arena_release(&c->scratch);
}

static uint32_t column_of(const struct wz_csv *c, const char *p)
{
	return (uint32_t)(p - c->line_start) + 1;
}

static int bad(struct wz_csv *c, const char *p, int code, const char *reason, const char *text, struct wz_err *err)
{
	c->err_line = c->next_line;
	c->err_column = column_of(c, p);
	return wz_err_set(err, code, reason, wz_str(text));
}

static int too_long(struct wz_csv *c, const char *p, struct wz_err *err)
{
	return bad(c, p, -E2BIG, "CsvFieldTooLong", "the field is longer than 65536 bytes", err);
}

static int binary(struct wz_csv *c, const char *p, struct wz_err *err)
{
	return bad(c, p, -EBADMSG, "CsvBinary", "a NUL byte: this is binary, not CSV", err);
}

/* Where a line ends: at LF, at CR LF, at the end of the text. */
static bool at_line_end(const struct wz_csv *c, const char *p)
{
	return p == c->end || *p == '\n' || (*p == '\r' && c->end - p > 1 && p[1] == '\n');
}

static int bare_field(struct wz_csv *c, struct wz_str *ret, struct wz_err *err)
{
	const char *start = c->p, *p = start;
	while (p < c->end && *p != ',' && *p != '\n') {
		if (*p == '\r') {
			if (at_line_end(c, p))
				break;
			return bad(c, p, -EBADMSG, "CsvCarriageReturn", "a carriage return that ends no line", err);
		}
		if (*p == '"')
			return bad(c, p, -EBADMSG, "CsvQuote",
			        "a quote inside a bare field; quote the whole field and double the quote", err);
		if (*p == 0)
			return binary(c, p, err);
		if (p - start == WZ_CSV_FIELD_MAX)
			return too_long(c, start, err);
		p++;
	}
	*ret = (struct wz_str){start, (size_t)(p - start)};
	c->p = p;
	return 0;
}

/* Copies `raw` with every doubled quote made one. `len` is the length of the result. */
static int undouble(struct wz_csv *c, const char *raw, size_t len, struct wz_str *ret, struct wz_err *err)
{
	char *to = wz_arena_alloc(&c->scratch, len);
	if (!to)
		return bad(c, c->p, -ENOMEM, "OutOfMemory", "out of memory", err);
	for (size_t i = 0; i < len; i++) {
		to[i] = *raw;
		raw += *raw == '"' ? 2 : 1;
	}
	*ret = (struct wz_str){to, len};
	return 0;
}

static int quoted_field(struct wz_csv *c, struct wz_str *ret, struct wz_err *err)
{
	const char *start = c->p + 1, *p = start, *line_start = c->line_start;
	uint32_t line = c->next_line;
	size_t doubled = 0;
	bool fits = true;
	for (; p < c->end && fits; p++) {
		if (*p == '"') {
			if (c->end - p == 1 || p[1] != '"')
				break;
			doubled++;
			p++;
		} else if (*p == '\n') {
			c->next_line++;
			c->line_start = p + 1;
		} else if (*p == 0) {
			return binary(c, p, err);
		}
		fits = (size_t)(p + 1 - start) - doubled <= WZ_CSV_FIELD_MAX;
	}
	if (!fits || p == c->end) {
		c->next_line = line; /* these are said of the place where the field begins */
		c->line_start = line_start;
		return !fits ? too_long(c, c->p, err)
		             : bad(c, c->p, -EBADMSG, "CsvQuote", "the quote is never closed", err);
	}
	c->p = p + 1;
	if (c->p < c->end && *c->p != ',' && !at_line_end(c, c->p))
		return bad(c, c->p, -EBADMSG, "CsvQuote", "text after the closing quote of a field", err);
	*ret = (struct wz_str){start, (size_t)(p - start)};
	return doubled ? undouble(c, start, ret->len - doubled, ret, err) : 0;
}

static void end_line(struct wz_csv *c)
{
	if (c->p == c->end)
		return;
	c->p += *c->p == '\r' ? 2 : 1;
	c->next_line++;
	c->line_start = c->p;
}

static int record(struct wz_csv *c, struct wz_err *err)
{
	for (;;) {
		struct wz_csv_field *f = &c->field[c->n];
		int rc;
		if (c->n == WZ_CSV_FIELDS_MAX)
			return bad(c, c->p, -E2BIG, "CsvTooManyFields", "more than 256 fields in a record", err);
		f->column = column_of(c, c->p);
		rc = c->p < c->end && *c->p == '"' ? quoted_field(c, &f->text, err) : bare_field(c, &f->text, err);
		if (rc < 0)
			return rc;
		c->n++;
		if (c->p == c->end || *c->p != ',')
			break;
		c->p++;
	}
	end_line(c);
	return 1;
}

int wz_csv_next(struct wz_csv *c, struct wz_err *err)
{
	const char *p, *line_start;
	int rc;
	wz_arena_clear(&c->scratch);
	c->n = 0;
	while (c->p < c->end && at_line_end(c, c->p))
		end_line(c);
	c->line = c->next_line;
	if (c->p == c->end)
		return 0;
	p = c->p;
	line_start = c->line_start;
	rc = record(c, err);
	if (rc < 0) {
		c->p = p;
		c->line_start = line_start;
		c->next_line = c->line;
		c->n = 0;
	}
	return rc;
}

void wz_csv_err_at(struct wz_err *err, struct wz_str name, uint32_t line, uint32_t column)
{
	struct wz_num a, b;
	struct wz_str none = {NULL, 0};
	if (!err)
		return;
	(void)wz_err_set(err, err->code, err->reason, name, WZ_STR(":"), wz_str_u64(&a, line),
	        column ? WZ_STR(":") : none, column ? wz_str_u64(&b, column) : none, WZ_STR(": "),
	        wz_str(err->text));
}
