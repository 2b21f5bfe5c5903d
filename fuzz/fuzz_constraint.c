/* SPDX-License-Identifier: Apache-2.0 */
/* The input is read as a constraint and as a selector. Properties: a failure says why in printable text; what parses stays in
 * its limits, refers only to what it has, and can be asked. */
#include "fuzz.h"

#include "base/check.h"
#include "core/constraint.h"
#include "os/mem.h"

/* Every key has the value of the same number, or none. */
static uint32_t find(const void *labels, uint32_t key)
{
	return (key + *(const uint32_t *)labels) % 3 ? key : WZ_NONE;
}

static void ask(const struct wz_constraint *k, const struct wz_strtab *names, struct wz_selector s)
{
	wz_check(s.expr <= k->n_expr && s.n <= k->n_expr - s.expr);
	for (uint32_t i = s.expr; i < s.expr + s.n; i++) {
		wz_check(k->expr[i].value + k->expr[i].n_values <= k->n_value && k->expr[i].key < names->len);
		for (uint32_t v = 0; v < k->expr[i].n_values; v++)
			wz_check(k->value[k->expr[i].value + v] < names->len);
	}
	for (uint32_t labels = 0; labels < 3; labels++)
		(void)wz_selector_matches(k, s, names, find, &labels);
}

static void check(const struct wz_constraint *k, const struct wz_strtab *names)
{
	wz_check(k->n_term <= WZ_CONSTRAINT_TERMS_MAX && k->n_expr <= WZ_CONSTRAINT_PARTS_MAX);
	for (uint32_t i = 0; i < k->n_node; i++)
		ask(k, names, k->node[i].sel);
	for (uint32_t i = 0; i < k->n_term; i++) {
		const struct wz_term *t = &k->term[i];
		ask(k, names, t->sel);
		wz_check(t->topology < names->len && t->max_skew >= 1 && t->min_domains >= 1);
		wz_check(t->weight >= 0 && t->weight <= WZ_WEIGHT_MAX);
	}
	for (uint32_t i = 0; i < k->n_port; i++)
		wz_check(k->port[i].port && wz_ports_clash(&k->port[i], &k->port[i]));
	for (uint32_t i = 0; i < k->n_toleration; i++)
		(void)wz_constraint_tolerates(k, i, i, WZ_TAINT_NO_SCHEDULE);
}

static void one(int (*parse)(struct wz_str, struct wz_strtab *, const struct wz_mem *, struct wz_constraint *,
                        struct wz_err *),
        struct wz_str s)
{
	struct wz_constraint k;
	struct wz_strtab names;
	struct wz_err err = {0};

	wz_strtab_init(&names, wz_os_mem());
	if (parse(s, &names, wz_os_mem(), &k, &err) == 0) {
		check(&k, &names);
		wz_constraint_release(&k);
	} else {
		wz_check(err.code < 0 && err.reason && err.text[0]);
		for (const char *p = err.text; *p; p++)
			wz_check((unsigned char)*p >= 0x20 && (unsigned char)*p < 0x7f);
	}
	wz_strtab_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str s = {(const char *)data, size};

	one(wz_constraint_parse, s);
	one(wz_selector_parse, s);
	return 0;
}
