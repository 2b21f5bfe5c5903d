/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of hard slices against the plainest enumeration. */
#include "core/partition.h"

#include "tap.h"

#include <string.h>

struct enumeration {
	const struct wz_partition_kind *kind[16];
	unsigned n;
	uint8_t all;
	unsigned sets, maximal;
};

static bool can_add(const struct enumeration *x, uint8_t taken)
{
	for (unsigned i = 0; i < x->n; i++)
		for (unsigned s = 0; s < 8; s++)
			if ((x->kind[i]->starts >> s & 1) && !(taken & wz_partition_span(x->kind[i], s)))
				return true;
	return false;
}

/* Sets as ordered choices of (start, kind), start ascending, so each is met once. */
static void walk(struct enumeration *x, unsigned from, uint8_t taken)
{
	x->sets++;
	x->maximal += !can_add(x, (uint8_t)(taken | (uint8_t)~x->all));
	for (unsigned s = from; s < 8; s++)
		for (unsigned i = 0; i < x->n; i++)
			if ((x->kind[i]->starts >> s & 1) && !(taken & wz_partition_span(x->kind[i], s)))
				walk(x, s + 1, (uint8_t)(taken | wz_partition_span(x->kind[i], s)));
}

static struct enumeration enumerate(const char *model, const char *leave_out, uint8_t taken)
{
	struct enumeration x = {.n = 0};
	uint8_t g = wz_partition_geometry(wz_str(model));
	const struct wz_partition_kind *k;

	x.all = (uint8_t)((1u << wz_partition_slices(g)) - 1);
	for (uint32_t i = 0; (k = wz_partition_at(i)); i++)
		if (k->geometry == g && k->plain && (!leave_out || strcmp(k->name, leave_out) != 0))
			x.kind[x.n++] = k;
	walk(&x, 0, taken);
	return x;
}

static void test_counts(void)
{
	struct enumeration x = enumerate("A100-SXM4-80GB", "1g.20gb", 0);
	tap_eq_i64(x.sets, 298, "an A100 has 298 legal sets of 1g, 2g, 3g, 4g and 7g");
	tap_eq_i64(x.maximal, 19, "19 of them maximal");
	x = enumerate("A100-SXM4-80GB", NULL, 0);
	tap_eq_i64(x.sets, 723, "723 with the 1g of double memory");
	tap_eq_i64(x.maximal, 78, "78 maximal");
	x = enumerate("A30", NULL, 0);
	tap_eq_i64(x.sets, 26, "an A30 has 26");
	tap_eq_i64(x.maximal, 5, "5 maximal");
}

static void test_open(void)
{
	static const char *const models[] = {"A100-PCIe-40GB", "A800-SXM4-80GB", "H100-SXM5-80GB", "H100-PCIe-80GB",
	        "H100-NVL-94GB", "H20-96GB", "H200-SXM-141GB", "B200", "GB200", "B300", "GB300", "A30",
	        "RTX-PRO-6000-Blackwell"};

	for (unsigned m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		uint8_t g = wz_partition_geometry(wz_str(models[m]));
		unsigned wrong = 0;
		tap_ok(g > 0, "%s can be cut", models[m]);
		for (unsigned taken = 0; taken < 1u << wz_partition_slices(g); taken++)
			wrong += wz_partition_open(g, (uint8_t)taken) !=
			         enumerate(models[m], NULL, (uint8_t)taken).sets;
		tap_eq_i64(wrong, 0, "%s: open sets as enumerated, for every set of taken slices", models[m]);
	}
	tap_eq_i64(wz_partition_geometry(WZ_STR("T4")), 0, "a T4 cannot be cut");
	tap_eq_i64(wz_partition_slices(0), 0, "no geometry, no slices");
}

/* Whatever is taken: the start leaves as many legal sets as any does, and a 4g stays possible when one start allows it. */
static void test_start(void)
{
	uint8_t g = wz_partition_geometry(WZ_STR("H100-SXM5-80GB"));
	const struct wz_partition_kind *k, *four = NULL;
	unsigned worse = 0, illegal = 0, lost = 0, missed = 0;

	for (uint32_t i = 0; (k = wz_partition_at(i)); i++)
		if (k->geometry == g && strcmp(k->name, "4g.40gb") == 0)
			four = k;
	for (unsigned taken = 0; taken < 256; taken++)
		for (uint32_t i = 0; (k = wz_partition_at(i)); i++) {
			uint32_t open = 0, most = 0;
			bool any = false, four_possible = false;
			int at;
			if (k->geometry != g || !k->plain)
				continue;
			at = wz_partition_start(k, (uint8_t)taken, &open);
			for (unsigned s = 0; s < 8; s++) {
				uint8_t after = (uint8_t)(taken | wz_partition_span(k, s));
				if (!(k->starts >> s & 1) || (taken & wz_partition_span(k, s)))
					continue;
				any = true;
				if (enumerate("H100-SXM5-80GB", NULL, after).sets > most)
					most = enumerate("H100-SXM5-80GB", NULL, after).sets;
				four_possible |= wz_partition_start(four, after, NULL) >= 0;
			}
			missed += any != (at >= 0);
			if (at < 0)
				continue;
			illegal += !(k->starts >> at & 1) || (taken & wz_partition_span(k, (uint32_t)at));
			worse += open != most;
			lost += k->size <= 2 && four_possible &&
			        wz_partition_start(
			                four, (uint8_t)(taken | wz_partition_span(k, (uint32_t)at)), NULL) < 0;
		}
	tap_eq_i64(missed, 0, "a start is found when there is one");
	tap_eq_i64(illegal, 0, "every start is legal");
	tap_eq_i64(worse, 0, "no other start leaves more");
	tap_eq_i64(lost, 0, "small slices leave the place of a 4g where they can");
	k = wz_partition_named(WZ_STR("1g.10gb"));
	tap_ok(k && wz_partition_find(k->number) == k, "names and numbers");
	tap_ok(!wz_partition_named(WZ_STR("9g.1tb")) && !wz_partition_find(0) &&
	                !wz_partition_find(WZ_PARTITION_EMPTY),
	        "what is not known");
}

static void test_serves(void)
{
	const struct wz_partition_kind *a100 = NULL, *a40 = wz_partition_named(WZ_STR("1g.10gb")), *k;

	for (uint32_t i = 0; (k = wz_partition_at(i)); i++)
		if (k->geometry == wz_partition_geometry(WZ_STR("A100-SXM4-80GB")) &&
		        strcmp(k->name, "1g.10gb") == 0)
			a100 = k;
	tap_ok(a100 && a100 != a40 && wz_partition_serves(a100, a40->number, 0, 0), "one name on two cards");
	tap_ok(wz_partition_serves(a100, WZ_PARTITION_AUTO, 142, 9728LL << 20), "auto: exactly as large");
	tap_ok(!wz_partition_serves(a100, WZ_PARTITION_AUTO, 143, 0), "auto: compute too small");
	tap_ok(!wz_partition_serves(a100, WZ_PARTITION_AUTO, 1, (9728LL << 20) + 1),
	        "auto: memory a byte too small");
}

int main(void)
{
	tap_run(test_counts);
	tap_run(test_open);
	tap_run(test_start);
	tap_run(test_serves);
	return tap_done();
}
