/* SPDX-License-Identifier: Apache-2.0 */
#include "base/csv.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/rng.h"
#include "fault.h"
#include "tap.h"

#include <errno.h>

/* Renders what the parser says: fields in <>, records on lines, "LINE:COLUMNS" before each; then the end or error. */
static void render(struct wz_str text, struct wz_buf *out)
{
	struct fault_mem f;
	struct wz_err e;
	struct wz_csv c;
	int rc;
	fault_mem_init(&f);
	wz_csv_init(&c, &f.mem, text);
	while ((rc = wz_csv_next(&c, &e)) == 1) {
		wz_buf_add_u64(out, c.line);
		for (uint32_t i = 0; i < c.n; i++) {
			wz_buf_addc(out, ':');
			wz_buf_add_u64(out, c.field[i].column);
		}
		for (uint32_t i = 0; i < c.n; i++) {
			wz_buf_addc(out, '<');
			wz_buf_add(out, c.field[i].text);
			wz_buf_addc(out, '>');
		}
		wz_buf_addc(out, '|');
	}
	if (rc < 0) {
		wz_buf_addz(out, e.reason);
		wz_buf_addc(out, '@');
		wz_buf_add_u64(out, c.err_line);
		wz_buf_addc(out, ':');
		wz_buf_add_u64(out, c.err_column);
		tap_eq_i64(c.n, 0, "no record after an error");
		uint32_t line = c.err_line, column = c.err_column;
		tap_eq_i64(wz_csv_next(&c, NULL), rc, "the same error again");
		tap_ok(c.err_line == line && c.err_column == column, "and the same place");
	} else {
		wz_buf_addz(out, "end");
		tap_eq_i64(wz_csv_next(&c, &e), 0, "the end again");
	}
	wz_csv_release(&c);
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_rows(void)
{
	const struct {
		struct wz_str in;
		const char *want;
	} rows[] = {
	        {WZ_STR(""), "end"},
	        {WZ_STR("\n\r\n\n"), "end"},
	        {WZ_STR("\xef\xbb\xbf"), "end"},
	        {WZ_STR("a"), "1:1<a>|end"},
	        {WZ_STR("a,bc,d\n"), "1:1:3:6<a><bc><d>|end"},
	        {WZ_STR("a\r\nb\n"), "1:1<a>|2:1<b>|end"},
	        {WZ_STR("\xef\xbb\xbfname,v\n\n1,2"), "1:1:6<name><v>|3:1:3<1><2>|end"},
	        {WZ_STR(","), "1:1:2<><>|end"},
	        {WZ_STR("a,\r\n,b"), "1:1:3<a><>|2:1:2<><b>|end"},
	        {WZ_STR("\"\"\n"), "1:1<>|end"},
	        {WZ_STR(" a , b\n"), "1:1:5< a >< b>|end"},
	        {WZ_STR("\"a,b\",\"c\"\"d\"\r\n"), "1:1:7<a,b><c\"d>|end"},
	        {WZ_STR("\"\"\"\",x"), "1:1:6<\"><x>|end"},
	        {WZ_STR("\"l1\nl2\r\nl3\",x\ny"), "1:1:5<l1\nl2\r\nl3><x>|4:1<y>|end"},
	        {WZ_STR("\"cr\rin\""), "1:1<cr\rin>|end"},
	        {WZ_STR("\n\na\n"), "3:1<a>|end"},
	        {WZ_STR("\xe9\xb2\xb8,b"), "1:1:5<\xe9\xb2\xb8><b>|end"},
	        {WZ_STR("a\nb\"c\n"), "1:1<a>|CsvQuote@2:2"},
	        {WZ_STR(" \"a\""), "CsvQuote@1:2"},
	        {WZ_STR("x,\"a\"b"), "CsvQuote@1:6"},
	        {WZ_STR("x,\"a\" ,b"), "CsvQuote@1:6"},
	        {WZ_STR("x\ny,\"never\nclosed"), "1:1<x>|CsvQuote@2:3"},
	        {WZ_STR("\""), "CsvQuote@1:1"},
	        {WZ_STR("\"\"\""), "CsvQuote@1:1"},
	        {WZ_STR("\"a\n\"b"), "CsvQuote@2:2"},
	        {WZ_STR("a\0b"), "CsvBinary@1:2"},
	        {WZ_STR("\"a\nxy\0\""), "CsvBinary@2:3"},
	        {WZ_STR("\0"), "CsvBinary@1:1"},
	        {WZ_STR("a\rb"), "CsvCarriageReturn@1:2"},
	        {WZ_STR("a\r"), "CsvCarriageReturn@1:2"},
	        {WZ_STR("\r\r\n"), "CsvCarriageReturn@1:1"},
	        {WZ_STR("\"a\"\r"), "CsvQuote@1:4"},
	};
	char space[256];
	struct wz_buf b;
	wz_buf_init_fixed(&b, space, sizeof space);
	for (size_t i = 0; i < WZ_ARRAY_LEN(rows); i++) {
		wz_buf_clear(&b);
		render(rows[i].in, &b);
		tap_eq_str(wz_buf_str(&b), wz_str(rows[i].want), "row %zu", i);
	}
	wz_buf_clear(&b);
	render((struct wz_str){NULL, 0}, &b);
	tap_eq_str(wz_buf_str(&b), WZ_STR("end"), "no text at all");
}

static void test_err_at(void)
{
	struct wz_err e = {0};
	struct wz_csv c;
	struct fault_mem f;
	fault_mem_init(&f);
	wz_csv_init(&c, &f.mem, WZ_STR("a,\"b"));
	tap_eq_i64(wz_csv_next(&c, &e), -EBADMSG, "bad");
	wz_csv_err_at(&e, WZ_STR("pods.csv"), c.err_line, c.err_column);
	tap_eq_str(wz_str(e.text), WZ_STR("pods.csv:1:3: the quote is never closed"), "place");
	tap_eq_str(wz_str(e.reason), WZ_STR("CsvQuote"), "reason is kept");
	tap_eq_i64(e.code, -EBADMSG, "code is kept");
	wz_err_set(&e, -EINVAL, "X", WZ_STR("text"));
	wz_csv_err_at(&e, WZ_STR("f"), 17, 0);
	tap_eq_str(wz_str(e.text), WZ_STR("f:17: text"), "without a column");
	wz_csv_err_at(NULL, WZ_STR("f"), 1, 1);
	wz_csv_release(&c);
}

/* Exactly the limit passes, one more does not: bare, quoted, quoted with doubled quotes; and fields of a record. */
static void limit_case(unsigned kind, size_t extra)
{
	struct fault_mem f;
	struct wz_csv c;
	struct wz_buf b;
	struct wz_err e;
	size_t len = WZ_CSV_FIELD_MAX + extra;
	fault_mem_init(&f);
	wz_buf_init(&b, &f.mem, 1 << 20);
	wz_buf_addz(&b, kind ? "x,\"" : "x,");
	for (size_t i = 0; i < len; i++)
		wz_buf_addz(&b, kind == 2 && i % 3 == 0 ? "\"\"" : kind && i % 7 == 0 ? "\n" : "y");
	wz_buf_addz(&b, kind ? "\"\n" : "\n");
	tap_require(b.status == 0, "text");
	wz_csv_init(&c, &f.mem, wz_buf_str(&b));
	int rc = wz_csv_next(&c, &e);
	tap_eq_i64(rc, extra ? -E2BIG : 1, "kind %u, %zu over", kind, extra);
	if (rc == 1)
		tap_eq_i64(c.field[1].text.len, len, "whole");
	else
		tap_ok(c.err_line == 1 && c.err_column == 3, "place: %u:%u", c.err_line, c.err_column);
	wz_csv_release(&c);
	wz_buf_release(&b);
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_limits(void)
{
	char commas[WZ_CSV_FIELDS_MAX];
	struct fault_mem f;
	struct wz_csv c;
	struct wz_err e;
	for (unsigned kind = 0; kind < 3; kind++)
		for (size_t extra = 0; extra < 2; extra++)
			limit_case(kind, extra);
	fault_mem_init(&f);
	memset(commas, ',', sizeof commas);
	wz_csv_init(&c, &f.mem, (struct wz_str){commas, WZ_CSV_FIELDS_MAX - 1});
	tap_eq_i64(wz_csv_next(&c, &e), 1, "256 fields");
	tap_eq_i64(c.n, WZ_CSV_FIELDS_MAX, "all of them");
	wz_csv_release(&c);
	wz_csv_init(&c, &f.mem, (struct wz_str){commas, WZ_CSV_FIELDS_MAX});
	tap_eq_i64(wz_csv_next(&c, &e), -E2BIG, "257 fields");
	tap_eq_str(wz_str(e.reason), WZ_STR("CsvTooManyFields"), "reason");
	wz_csv_release(&c);
}

#define RECORDS 40
#define FIELDS 6

struct table {
	uint32_t records, fields[RECORDS];
	char text[RECORDS][FIELDS][24];
	size_t len[RECORDS][FIELDS];
};

static void random_table(struct wz_rng *r, struct table *t)
{
	static const char alphabet[] = "ab,\"\n\r ,\"7\xe9";
	t->records = (uint32_t)wz_rng_below(r, RECORDS);
	for (uint32_t i = 0; i < t->records; i++) {
		t->fields[i] = 1 + (uint32_t)wz_rng_below(r, FIELDS);
		for (uint32_t k = 0; k < t->fields[i]; k++) {
			t->len[i][k] = wz_rng_below(r, 3) ? wz_rng_below(r, 24) : 0;
			for (size_t m = 0; m < t->len[i][k]; m++)
				t->text[i][k][m] = alphabet[wz_rng_below(r, sizeof alphabet - 1)];
		}
	}
}

/* Quotes where it must, and at random where it may; random line ends; the last one may be missing. */
static void write_table(struct wz_rng *r, const struct table *t, struct wz_buf *b)
{
	wz_buf_clear(b);
	if (wz_rng_below(r, 2))
		wz_buf_addz(b, "\xef\xbb\xbf");
	for (uint32_t i = 0; i < t->records; i++) {
		while (wz_rng_below(r, 5) == 0)
			wz_buf_addz(b, wz_rng_below(r, 2) ? "\n" : "\r\n");
		for (uint32_t k = 0; k < t->fields[i]; k++) {
			bool quote = wz_rng_below(r, 4) == 0 || (t->fields[i] == 1 && t->len[i][k] == 0);
			for (size_t m = 0; m < t->len[i][k]; m++)
				quote |= strchr(",\"\r\n", t->text[i][k][m]) != NULL;
			wz_buf_addz(b, k ? "," : "");
			wz_buf_addz(b, quote ? "\"" : "");
			for (size_t m = 0; m < t->len[i][k]; m++) {
				wz_buf_addc(b, t->text[i][k][m]);
				if (t->text[i][k][m] == '"')
					wz_buf_addc(b, '"');
			}
			wz_buf_addz(b, quote ? "\"" : "");
		}
		if (i + 1 < t->records || wz_rng_below(r, 2))
			wz_buf_addz(b, wz_rng_below(r, 2) ? "\n" : "\r\n");
	}
}

static void check_table(const struct table *t, struct wz_csv *c, uint64_t round)
{
	struct wz_err e = {0};
	for (uint32_t i = 0; i < t->records; i++) {
		tap_require(wz_csv_next(c, &e) == 1, "round %" PRIu64 ", record %u: %s", round, i, e.text);
		tap_require(c->n == t->fields[i], "round %" PRIu64 ", record %u: %u fields", round, i, c->n);
		for (uint32_t k = 0; k < c->n; k++)
			tap_eq_str(c->field[k].text, ((struct wz_str){t->text[i][k], t->len[i][k]}), "field %u", k);
	}
	tap_eq_i64(wz_csv_next(c, &e), 0, "round %" PRIu64 ": the end", round);
}

static void test_against_writer(void)
{
	static struct table t;
	struct fault_mem f;
	struct wz_csv c;
	struct wz_buf b;
	struct wz_rng r;
	printf("# seed 51\n");
	fault_mem_init(&f);
	wz_rng_seed(&r, 51);
	wz_buf_init(&b, &f.mem, 1 << 20);
	for (uint64_t round = 0; round < 3000; round++) {
		random_table(&r, &t);
		write_table(&r, &t, &b);
		/* A copy of the exact size, so that ASan sees a read past the end. */
		char *exact = wz_mem_alloc(&f.mem, b.len + 1);
		tap_require(exact, "memory");
		if (b.len)
			memcpy(exact, b.data, b.len);
		wz_csv_init(&c, &f.mem, (struct wz_str){exact, b.len});
		check_table(&t, &c, round);
		wz_csv_release(&c);
		wz_mem_free(&f.mem, exact, b.len + 1);
	}
	wz_buf_release(&b);
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_fail_nth(void)
{
	struct fault_mem text_mem;
	struct wz_buf b;
	uint64_t n;
	fault_mem_init(&text_mem);
	wz_buf_init(&b, &text_mem.mem, 1 << 20);
	wz_buf_addz(&b, "\"a\"\"b\",c\n\"");
	for (int i = 0; i < 5000; i++) /* larger than a scratch block: a second allocation */
		wz_buf_addz(&b, "q\"\"");
	wz_buf_addz(&b, "\"\nlast,\"\"\"\"\n");
	for (n = 1; n < 100; n++) {
		struct fault_mem f;
		struct wz_err e = {0};
		struct wz_csv c;
		int rc, records = 0;
		fault_mem_init(&f);
		f.fail_at = n;
		wz_csv_init(&c, &f.mem, wz_buf_str(&b));
		while ((rc = wz_csv_next(&c, &e)) != 0) {
			if (rc < 0) {
				tap_eq_i64(rc, -ENOMEM, "code");
				tap_eq_str(wz_str(e.reason), WZ_STR("OutOfMemory"), "reason");
				tap_require(f.failures == 1, "once");
				e.reason = NULL;
			} else {
				records++; /* after a failure, the same record again */
			}
		}
		tap_eq_i64(records, 3, "no record is lost");
		wz_csv_release(&c);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		if (!f.failures)
			break;
	}
	tap_ok(n > 2 && n < 100, "the loop failed %" PRIu64 " allocations", n - 1);
	wz_buf_release(&b);
}

int main(void)
{
	tap_run(test_rows);
	tap_run(test_err_at);
	tap_run(test_limits);
	tap_run(test_against_writer);
	tap_run(test_fail_nth);
	return tap_done();
}
