/* SPDX-License-Identifier: Apache-2.0 */
/* No decision knows the future: other arrivals after the k-th change nothing until then. And what fits is not refused. */
#include "base/check.h"
#include "sim/gen.h"
#include "sim/load.h"
#include "sim/pack.h"

#include "os/mem.h"
#include "tap.h"

#define NODES 24
#define ARRIVALS 300

struct set {
	struct load l;
	struct wz_pack_input in;
	struct wz_err err;
};

static bool open_set(struct set *x, uint64_t seed)
{
	struct wz_gen_options o = {.seed = seed, .nodes = NODES, .jobs = 400};
	return load_init(&x->l, wz_os_mem()) == 0 &&
	       wz_gen(wz_gen_find(WZ_STR("openb"), &x->err), &o, &x->l.nodes, &x->l.tasks, &x->err) == 0 &&
	       wz_pack_input_make(&x->l.nodes, &x->l.tasks, wz_os_mem(), &x->in, &x->err) == 0;
}

static void close_set(struct set *x)
{
	wz_pack_input_release(&x->in);
	load_release(&x->l);
}

static void draw(struct wz_rng *rng, const struct set *x, uint32_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (uint32_t)wz_rng_below(rng, x->in.tasks->n);
}

static int run(struct set *x, const char *placement, uint32_t *tasks, uint32_t n, uint64_t *trail, bool check)
{
	static struct wz_pack_result result;
	struct wz_arrivals a = {.task = tasks, .n = n};
	struct wz_pack_options o = {.placement = placement,
	        .seed = 5,
	        .no_curves = true,
	        .arrivals = &a,
	        .trail = trail,
	        .check = check};
	return wz_pack_run(&x->in, &o, wz_os_mem(), &result, &x->err);
}

static void test_no_future(void)
{
	struct wz_rng rng;

	wz_rng_seed(&rng, 71);
	for (uint32_t round = 0; round < 12; round++) {
		for (uint32_t p = 0; wz_policies[p]; p++) {
			uint32_t first[ARRIVALS], second[ARRIVALS], k = (uint32_t)wz_rng_below(&rng, ARRIVALS - 1),
			                                            same = 0;
			uint64_t a[ARRIVALS], b[ARRIVALS];
			struct set x = {0};
			tap_require(open_set(&x, round), "%s", x.err.text);
			draw(&rng, &x, first, ARRIVALS);
			memcpy(second, first, sizeof(first));
			draw(&rng, &x, second + k, ARRIVALS - k);
			second[k] = (first[k] + 1) % x.in.tasks->n;
			tap_eq_i64(run(&x, wz_policies[p]->name, first, ARRIVALS, a, false), 0, "%s", x.err.text);
			tap_eq_i64(run(&x, wz_policies[p]->name, second, ARRIVALS, b, false), 0, "%s", x.err.text);
			while (same < ARRIVALS && a[same] == b[same])
				same++;
			tap_ok(same >= k, "%s, round %u: decision %u of %u changed with arrivals after it",
			        wz_policies[p]->name, round, same, k);
			tap_ok(same < ARRIVALS, "the test sees a change at all");
			close_set(&x);
		}
	}
}

/* Parameters too, since they may read what others do not. */
static void test_variants(void)
{
	static const char *const text[] = {
	        "jigsaw:power=1,price=0.5", "jigsaw:waste=0,order=0", "jigsaw:heat=1,util=1"};
	struct wz_rng rng;
	struct set x = {0};
	uint32_t task[ARRIVALS];
	uint64_t whole[ARRIVALS], part[ARRIVALS];

	wz_rng_seed(&rng, 72);
	tap_require(open_set(&x, 3), "%s", x.err.text);
	draw(&rng, &x, task, ARRIVALS);
	for (size_t i = 0; i < WZ_ARRAY_LEN(text); i++) {
		tap_eq_i64(run(&x, text[i], task, ARRIVALS, whole, true), 0, "%s", x.err.text);
		tap_eq_i64(run(&x, text[i], task, 100, part, false), 0, "%s", x.err.text);
		tap_ok(memcmp(whole, part, 100 * sizeof(*part)) == 0, "%s", text[i]);
	}
	close_set(&x);
}

/* Every refusal is looked at by brute force, for every policy. */
static void test_never_refused(void)
{
	struct wz_rng rng;

	wz_rng_seed(&rng, 73);
	for (uint32_t p = 0; wz_policies[p]; p++) {
		struct set x = {0};
		uint32_t task[ARRIVALS];
		tap_require(open_set(&x, 100 + p), "%s", x.err.text);
		draw(&rng, &x, task, ARRIVALS);
		tap_eq_i64(run(&x, wz_policies[p]->name, task, ARRIVALS, NULL, true), 0, "%s: %s",
		        wz_policies[p]->name, x.err.text);
		close_set(&x);
	}
}

/* What is summed up start by start is what a look at every node finds: a run with doubled acknowledgements is measured
 * anew after each arrival, and decides the same. */
static void test_draw_tracked(void)
{
	static struct wz_pack_result a, b;
	struct wz_pack_options o = {.placement = "jigsaw:power=1", .seed = 3, .draw = true};
	struct set x = {0};

	tap_require(open_set(&x, 9), "%s", x.err.text);
	tap_eq_i64(wz_pack_run(&x.in, &o, wz_os_mem(), &a, &x.err), 0, "%s", x.err.text);
	o.faults.twice_ppm = 1;
	tap_eq_i64(wz_pack_run(&x.in, &o, wz_os_mem(), &b, &x.err), 0, "%s", x.err.text);
	tap_ok(a.digest == b.digest, "the same run");
	for (unsigned p = 0; p < WZ_PACK_PERCENT; p++) {
		bool same = (a.power_w[p] == b.power_w[p] && a.price_usd[p] == b.price_usd[p]) ||
		            (a.power_w[p] != a.power_w[p] && b.power_w[p] != b.power_w[p]);
		tap_ok(same, "at %u %%: %.1f W, %.1f W", p, a.power_w[p], b.power_w[p]);
	}
	tap_ok(a.power_w[100] > a.power_w[10] && a.price_usd[100] > 0, "it draws more when it holds more");
	close_set(&x);
}

int main(void)
{
	tap_run(test_no_future);
	tap_run(test_variants);
	tap_run(test_never_refused);
	tap_run(test_draw_tracked);
	return tap_done();
}
