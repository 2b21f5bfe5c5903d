/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as a line of the journal: an event, an effect, a note. Properties: what parses is formatted, and that line parses and
 * formats to itself; a failure says why in printable text and names a place inside of the line. */
#include "fuzz.h"

#include "base/check.h"
#include "os/mem.h"
#include "store/store_int.h"

static struct wz_catalogue cat;
static bool have_cat;

static void check_error(int r, const struct wz_err *err)
{
	wz_check(r == -EINVAL && err->code == r && err->reason && err->text[0]);
	for (const char *p = err->text; *p; p++)
		wz_check((unsigned char)*p >= 0x20 || *p == '\n');
}

static void try_event(struct wz_str line, struct wz_arena *a, struct wz_buf *b, struct wz_buf *c)
{
	struct wz_event e;
	struct wz_err err = {0};
	int r = wz_event_parse(line, &cat, a, &e, &err);
	if (r < 0) {
		check_error(r, &err);
		return;
	}
	r = wz_event_format(&e, &cat, b, &err);
	wz_check(r == 0);
	r = wz_event_parse(wz_buf_str(b), &cat, a, &e, &err);
	wz_check(r == 0);
	wz_check(wz_event_format(&e, &cat, c, NULL) == 0 && wz_str_eq(wz_buf_str(b), wz_buf_str(c)));
}

static void try_effect(struct wz_str line, struct wz_arena *a, struct wz_buf *b, struct wz_buf *c)
{
	struct wz_effect e;
	struct wz_err err = {0};
	int r = wz_effect_parse(line, a, &e, &err);
	if (r < 0) {
		check_error(r, &err);
		return;
	}
	wz_check(wz_effect_format(&e, b, NULL) == 0);
	wz_check(wz_effect_parse(wz_buf_str(b), a, &e, NULL) == 0);
	wz_check(wz_effect_format(&e, c, NULL) == 0 && wz_str_eq(wz_buf_str(b), wz_buf_str(c)));
}

static void try_note(struct wz_str line, struct wz_arena *a, struct wz_buf *b, struct wz_buf *c)
{
	union wz_row row;
	unsigned table;
	struct wz_err err = {0};
	int r = wz_note_parse(line, a, &table, &row, &err);
	if (r < 0) {
		check_error(r, &err);
		return;
	}
	wz_check(wz_note_format(table, &row, b, NULL) == 0);
	wz_check(wz_note_parse(wz_buf_str(b), a, &table, &row, NULL) == 0);
	wz_check(wz_note_format(table, &row, c, NULL) == 0 && wz_str_eq(wz_buf_str(b), wz_buf_str(c)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str line = {(const char *)data, size};
	struct wz_buf b, c;
	struct wz_arena a;
	if (!have_cat)
		wz_check(wz_catalogue_init(&cat, wz_os_mem()) == 0);
	have_cat = true;
	wz_arena_init(&a, wz_os_mem(), 4096);
	wz_buf_init(&b, wz_os_mem(), 4 * WZ_LINE_MAX);
	wz_buf_init(&c, wz_os_mem(), 4 * WZ_LINE_MAX);
	try_event(line, &a, &b, &c);
	wz_buf_clear(&b);
	wz_buf_clear(&c);
	try_effect(line, &a, &b, &c);
	wz_buf_clear(&b);
	wz_buf_clear(&c);
	try_note(line, &a, &b, &c);
	wz_buf_release(&b);
	wz_buf_release(&c);
	wz_arena_release(&a);
	return 0;
}
