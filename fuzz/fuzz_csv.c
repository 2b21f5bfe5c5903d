/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: what parses and is written again with every field quoted, parses to the same records; places only go
 * forward; a failure repeats itself. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/csv.h"
#include "os/mem.h"

static void write_record(const struct wz_csv *c, struct wz_buf *out)
{
	for (uint32_t i = 0; i < c->n; i++) {
		wz_buf_addz(out, i ? ",\"" : "\"");
		for (size_t k = 0; k < c->field[i].text.len; k++) {
			char ch = c->field[i].text.ptr[k];
			wz_check(ch != 0);
			wz_buf_addc(out, ch);
			if (ch == '"')
				wz_buf_addc(out, ch);
		}
		wz_buf_addc(out, '"');
	}
	wz_buf_addz(out, "\r\n");
}

/* Parses `text` and writes its records; returns how it ended. */
static int rewrite(struct wz_str text, struct wz_buf *out)
{
	struct wz_csv c;
	struct wz_err err;
	uint32_t last_line = 0;
	int rc;
	memset(&err, 0, sizeof err);
	wz_csv_init(&c, wz_os_mem(), text);
	while ((rc = wz_csv_next(&c, &err)) == 1) {
		wz_check(c.line > last_line && c.n >= 1 && c.n <= WZ_CSV_FIELDS_MAX && !err.reason);
		last_line = c.line;
		for (uint32_t i = 0; i < c.n; i++)
			wz_check(c.field[i].text.len <= WZ_CSV_FIELD_MAX && c.field[i].column >= 1);
		write_record(&c, out);
	}
	if (rc < 0) {
		wz_check((rc == -EBADMSG || rc == -E2BIG) && err.code == rc && err.reason);
		wz_check(c.n == 0 && c.err_line >= c.line && c.line > last_line && c.err_column >= 1);
		wz_check(wz_csv_next(&c, NULL) == rc);
	}
	wz_csv_release(&c);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_buf once, twice;
	wz_buf_init(&once, wz_os_mem(), 64 + 8 * size);
	wz_buf_init(&twice, wz_os_mem(), 64 + 8 * size);
	(void)rewrite((struct wz_str){(const char *)data, size}, &once);
	wz_check(rewrite(wz_buf_str(&once), &twice) == 0);
	wz_check(once.status == 0 && twice.status == 0 && wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)));
	wz_buf_release(&once);
	wz_buf_release(&twice);
	return 0;
}
