/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as rules of a queue and as a reservation. Properties: what parses is formatted, and parses back to the same
 * text; a failure says why in printable text and leaves the result alone; a core takes it or refuses it whole. */
#include "fuzz.h"

#include "base/check.h"
#include "core/core.h"
#include "os/mem.h"

static struct wz_catalogue cat;
static bool have_cat;

static void check_error(const struct wz_err *err)
{
	wz_check(err->code == -EINVAL && err->reason && err->text[0]);
}

static void check_queue(struct wz_str s)
{
	static struct wz_queue_rules r, again;
	char a[WZ_RULES_TEXT_MAX], b[WZ_RULES_TEXT_MAX];
	struct wz_buf x, y;
	struct wz_err err = {0};
	if (wz_queue_rules_parse(s, &cat, &r, &err) < 0) {
		check_error(&err);
		return;
	}
	wz_buf_init_fixed(&x, a, sizeof a);
	wz_buf_init_fixed(&y, b, sizeof b);
	wz_queue_rules_format(&r, &x);
	wz_check(x.status == 0);
	wz_check(wz_queue_rules_parse(wz_buf_str(&x), &cat, &again, NULL) == 0);
	wz_queue_rules_format(&again, &y);
	wz_check(wz_str_eq(wz_buf_str(&x), wz_buf_str(&y)));
}

static void check_reservation(struct wz_str s)
{
	static struct wz_reserve_rules r, again;
	char a[2 * WZ_RULES_TEXT_MAX], b[2 * WZ_RULES_TEXT_MAX];
	struct wz_buf x, y;
	struct wz_err err = {0};
	if (wz_reserve_rules_parse(s, &cat, &r, &err) < 0) {
		check_error(&err);
		return;
	}
	wz_buf_init_fixed(&x, a, sizeof a);
	wz_buf_init_fixed(&y, b, sizeof b);
	wz_reserve_rules_format(&r, &x);
	wz_check(x.status == 0);
	wz_check(wz_reserve_rules_parse(wz_buf_str(&x), &cat, &again, NULL) == 0);
	wz_reserve_rules_format(&again, &y);
	wz_check(wz_str_eq(wz_buf_str(&x), wz_buf_str(&y)));
}

static void check_core(struct wz_str s)
{
	struct wz_core *c = NULL;
	struct wz_err err;
	wz_check(wz_core_new(wz_os_mem(), &(struct wz_core_options){.seed = 1}, &c, &err) == 0);
	for (uint32_t kind = WZ_EV_QUEUE_SET; kind <= WZ_EV_RESERVATION_REMOVED; kind++) {
		struct wz_event e = {.kind = kind, .time_us = 1, .u.rules = {.name = WZ_STR("q"), .text = s}};
		uint64_t before = wz_core_digest(c);
		if (wz_core_apply(c, &e, &err) < 0)
			wz_check(wz_core_digest(c) == before);
		wz_check(wz_core_check(c, &err) == 0);
	}
	wz_core_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str s = {(const char *)data, size};
	if (!have_cat)
		wz_check(wz_catalogue_init(&cat, wz_os_mem()) == 0);
	have_cat = true;
	check_queue(s);
	check_reservation(s);
	check_core(s);
	return 0;
}
