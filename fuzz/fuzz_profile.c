/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as a profile, as key=value of a flag, and as an entry of other systems. Properties: what parses is
 * formatted, parses back to the same bytes and gives a shape; a failure says why in printable text, points into what it
 * shows, and changes nothing. */
#include "fuzz.h"

#include "base/check.h"
#include "core/shape.h"
#include "core/translate.h"
#include "os/mem.h"

static struct wz_catalogue cat;
static bool have_cat;

/* message [ newline, line, newline, blanks, caret ] */
static void check_text(const struct wz_err *err)
{
	const char *line = NULL, *caret = NULL;
	wz_check(err->code < 0 && err->reason && err->text[0]);
	for (const char *p = err->text; *p; p++) {
		wz_check((unsigned char)*p >= 0x20 || *p == '\n');
		if (*p != '\n')
			continue;
		wz_check(!caret);
		if (line)
			caret = p + 1;
		else
			line = p + 1;
	}
	if (!line)
		return;
	wz_check(caret && caret[strlen(caret) - 1] == '^');
	wz_check(strspn(caret, " ") == strlen(caret) - 1);
	wz_check(strlen(caret) - 1 <= (size_t)(caret - 1 - line));
}

static void check_round(const struct wz_profile *p)
{
	char text[WZ_PROFILE_TEXT_MAX];
	struct wz_profile again;
	struct wz_shape shape;
	struct wz_buf b;
	wz_check(p->given == 0 && p->tasks_min >= 1 && p->tasks_min <= p->tasks_max);
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_profile_format(p, &b);
	wz_check(b.status == 0);
	wz_check(wz_profile_parse(wz_buf_str(&b), &cat, &again, NULL) == 0);
	wz_check(memcmp(p, &again, sizeof again) == 0);
	wz_shape_of(p, &shape);
	for (uint32_t m = 0; m < cat.n; m++) {
		struct wz_need n = wz_shape_need(&shape, &cat.model[m], 0);
		wz_check(n.count <= WZ_NODE_DEVICES_MAX && n.milli >= 0 && n.milli <= WZ_WHOLE && n.mem >= 0);
	}
}

static void check_text_of(struct wz_str s)
{
	struct wz_profile p, p2;
	struct wz_err err;
	int rc;
	memset(&p, 0x5a, sizeof p);
	p2 = p;
	memset(&err, 0, sizeof err);
	rc = wz_profile_parse(s, &cat, &p, &err);
	wz_check(wz_profile_parse(s, &cat, &p2, NULL) == rc && memcmp(&p, &p2, sizeof p) == 0);
	if (rc == 0) {
		wz_check(!err.reason);
		check_round(&p);
		return;
	}
	wz_check(rc == -EINVAL);
	check_text(&err);
}

typedef int entry_fn(struct wz_profile *p, struct wz_str key, struct wz_str value, const struct wz_catalogue *c,
        struct wz_err *err);

static void check_entry(entry_fn *fn, struct wz_str key, struct wz_str value)
{
	struct wz_profile p, before;
	struct wz_err err;
	int rc;
	wz_profile_init(&p);
	before = p;
	memset(&err, 0, sizeof err);
	rc = fn(&p, key, value, &cat, &err);
	if (rc < 0) {
		check_text(&err);
		wz_check(memcmp(&p, &before, sizeof p) == 0);
	} else if (wz_profile_finish(&p, &cat, &err) == 0) {
		check_round(&p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str s = {(const char *)data, size}, value = s, key;
	if (!have_cat)
		wz_check(wz_catalogue_init(&cat, wz_os_mem()) == 0);
	have_cat = true;
	check_text_of(s);
	if (!size)
		return 0;
	key = wz_str_split(&value, '=');
	check_entry(wz_profile_set, key, value);
	check_entry(wz_translate_entry, key, value);
	check_entry(wz_translate_slurm, key, value);
	return 0;
}
