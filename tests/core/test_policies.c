/* SPDX-License-Identifier: Apache-2.0 */
/* Every policy by hand on small nodes, and FGD against a slow floating-point reading of its definition. */
#include "tap.h"

#include "core/policies/frag.h"
#include "core/policies/worth.h"

#include <math.h>

#define GPU_SHAPE(c, k, d) ((struct wz_shape){.cpu = (c), .count = (k), .milli = (d), .any_model = 1})

/* One node in a model of its own, with the demand and shapes that a policy may look at. */
struct world {
	struct wz_node node[4];
	struct wz_device dev[WZ_NODE_DEVICES_MAX];
	int32_t milli[WZ_NODE_DEVICES_MAX];
	int64_t mem[WZ_NODE_DEVICES_MAX];
	struct wz_model_state model;
	struct wz_shape shape[64];
	uint64_t arrived[64];
	struct wz_shapes shapes;
	struct wz_demand demand;
	struct wz_rng rng;
	struct wz_policy_ctx ctx;
	struct wz_view view;
	uint32_t stated[64][2]; /* shape, weight: laid out as wz_demand.stated */
	uint64_t state[WZ_POLICY_STATE_MAX / 8];
};

static void world_init(struct world *w, int64_t cpu_free, uint32_t n_dev, const int32_t *milli)
{
	memset(w, 0, sizeof(*w));
	struct wz_node *n = &w->node[0];
	*n = (struct wz_node){.cpu = 96000,
	        .cpu_free = cpu_free,
	        .n_dev = (uint16_t)n_dev,
	        .model = 3,
	        .flags = WZ_NODE_PRESENT | WZ_NODE_READY};
	for (uint32_t i = 0; i < n_dev; i++) {
		w->dev[i] = (struct wz_device){.model = 3, .milli = WZ_WHOLE};
		w->milli[i] = milli[i];
		n->gpu_free += milli[i] > 0 ? milli[i] : 0;
		n->gpu_max = milli[i] > n->gpu_max ? milli[i] : n->gpu_max;
		n->whole = (uint16_t)(n->whole + (milli[i] == WZ_WHOLE));
	}
	w->model.node = w->node;
	w->model.n_nodes = w->model.n_present = 4;
	w->shapes.shape = w->shape;
	w->demand.arrived = w->arrived;
	wz_rng_seed(&w->rng, 7);
	w->ctx = (struct wz_policy_ctx){
	        .model = &w->model, .shapes = &w->shapes, .demand = &w->demand, .n_nodes = 4, .rng = &w->rng};
	w->view = (struct wz_view){.node = n, .dev = w->dev, .milli = w->milli, .mem = w->mem};
}

static void ask(struct world *w, const struct wz_shape *s)
{
	w->view.need = (struct wz_need){.count = s->count, .milli = s->milli, .ok = true};
}

static void state_mix(struct world *w, const struct wz_shape *s, uint32_t weight)
{
	uint32_t i = w->demand.n_stated++;
	w->shape[i] = *s;
	w->shapes.n = w->demand.n_shapes = i + 1;
	w->stated[i][0] = i;
	w->stated[i][1] = weight;
	w->demand.stated = (void *)w->stated;
}

static const struct wz_policy *find(const char *name)
{
	return wz_policy_find(wz_str(name));
}

static int64_t score_of(struct world *w, const char *name, struct wz_shape s)
{
	ask(w, &s);
	return find(name)->score(w->state, &w->ctx, &s, &w->view);
}

static uint64_t choice_of(struct world *w, const struct wz_policy *p, const struct wz_shape *s)
{
	ask(w, s);
	return p->choose ? p->choose(w->state, &w->ctx, s, &w->view) : wz_choose_tightest(&w->view);
}

static void test_table(void)
{
	for (int i = 0; wz_policies[i]; i++) {
		const struct wz_policy *p = wz_policies[i];
		tap_ok(find(p->name) == p, "%s is found by its name", p->name);
		tap_ok(p->summary && p->score && p->state_size <= WZ_POLICY_STATE_MAX, "%s is complete", p->name);
		tap_ok(p->scope != WZ_SCOPE_RANK || p->normalise, "%s: scope RANK gives normalise", p->name);
		tap_ok(!p->state_size || p->prepare || p->observe, "%s: somebody writes its state", p->name);
	}
	tap_ok(wz_policies[0] == find("jigsaw"), "jigsaw is the default");
	tap_ok(!wz_policy_find(WZ_STR("fg")) && !wz_policy_find(WZ_STR("")), "no policy of that name");
}

static void test_choose(void)
{
	struct world w;
	world_init(&w, 8000, 5, (int32_t[]){1000, 300, 1000, 200, 300});
	struct wz_shape s = GPU_SHAPE(0, 1, 250);
	ask(&w, &s);
	tap_eq_i64(wz_choose_tightest(&w.view), 1 << 1, "tightest that fits, lowest index");
	tap_eq_i64(wz_choose_first(&w.view), 1 << 0, "first that fits");
	s = GPU_SHAPE(0, 2, 1000);
	tap_eq_i64(choice_of(&w, find("bestfit"), &s), 0x5, "whole devices");
	s = GPU_SHAPE(0, 2, 200);
	tap_eq_i64(choice_of(&w, find("bestfit"), &s), 0xa, "several shares: the tightest devices");
	s = GPU_SHAPE(1000, 0, 0);
	tap_eq_i64(choice_of(&w, find("bestfit"), &s), 0, "none asked, none taken");
}

static void test_random(void)
{
	struct world w;
	int64_t score[10], hits[10] = {0};
	world_init(&w, 8000, 4, (int32_t[]){1000, 100, 600, 500});
	for (int run = 0; run < 10000; run++) {
		int64_t sum = 0;
		find("random")->normalise(NULL, &w.ctx, &w.shape[0], score, 10);
		for (int i = 0; i < 10; i++) {
			sum += score[i];
			hits[i] += score[i] == 100;
		}
		tap_eq_i64(sum, 100, "exactly one node gets 100");
	}
	for (int i = 0; i < 10; i++)
		tap_ok(hits[i] > 850 && hits[i] < 1150, "node %d drawn %" PRId64 " times of 10000", i, hits[i]);
	int64_t device[4] = {0};
	for (int run = 0; run < 9000; run++)
		device[__builtin_ctzll(choice_of(&w, find("random"), &GPU_SHAPE(0, 1, 400)))]++;
	tap_eq_i64(device[1], 0, "a device that does not fit is not drawn");
	for (int i = 0; i < 4; i++)
		tap_ok(i == 1 || (device[i] > 2800 && device[i] < 3200), "device %d drawn %" PRId64, i, device[i]);
	find("random")->normalise(NULL, &w.ctx, &w.shape[0], score, 0);
}

static void test_published(void)
{
	struct world w;
	struct wz_shape one = GPU_SHAPE(8000, 1, 1000), two = GPU_SHAPE(8000, 2, 1000), cpu = GPU_SHAPE(8000, 0, 0);
	world_init(&w, 64000, 8, (int32_t[]){1000, 1000, 1000, 1000, 0, 0, 0, 0});
	tap_eq_i64(score_of(&w, "dotprod", one), 95, "100 (1 - (0.5 x 0.0625 + 0.5 x 0.125) / 2) = 95.3");
	tap_eq_i64(score_of(&w, "dotprod", cpu), 98, "98.4");
	tap_eq_i64(score_of(&w, "bestfit", one), 59, "100 (1 - (0.4375 + 0.375) / 2) = 59.4");
	tap_eq_i64(score_of(&w, "worstfit", one), 40, "40.6");
	tap_eq_i64(score_of(&w, "firstfit", one), 0, "the order decides");
	tap_eq_i64(score_of(&w, "kube-least-allocated", one), 47, "(58 + 37) / 2");
	tap_eq_i64(score_of(&w, "kube-most-allocated", one), 51, "(41 + 62) / 2");
	w.dev[7].health = WZ_HEALTH_FAILED;
	tap_eq_i64(score_of(&w, "kube-most-allocated", one), 49, "(41 + 57) / 2: a failed device is no capacity");
	w.view.node = &w.node[2];
	tap_eq_i64(score_of(&w, "yarn", one), -2, "declared order");
	w.view.node = &w.node[0];

	tap_eq_i64(score_of(&w, "clustering", one), 37, "25 + 12.5: hosts no GPU task");
	w.node[0].kinds = 1 << 1;
	tap_eq_i64(score_of(&w, "clustering", one), 87, "75 + 12.5: the same kind only");
	tap_eq_i64(score_of(&w, "clustering", two), 12, "12.5: other kinds only");
	tap_eq_i64(score_of(&w, "clustering", cpu), 0, "CPU-only");
	w.node[0].kinds = 1 << 1 | 1 << 2;
	tap_eq_i64(score_of(&w, "clustering", two), 62, "50 + 12.5: the same and others");

	world_init(&w, 64000, 4, (int32_t[]){200, 1000, 1000, 500});
	tap_eq_i64(score_of(&w, "packing", two), 48, "two idle devices of a node in use");
	tap_eq_i64(score_of(&w, "packing", GPU_SHAPE(0, 1, 600)), 49, "one idle device");
	tap_eq_i64(score_of(&w, "packing", GPU_SHAPE(0, 1, 450)), 95, "100 - 50/10");
	tap_eq_i64(score_of(&w, "packing", GPU_SHAPE(0, 2, 200)), 93, "100 - (20 + 50)/10");
	tap_eq_i64(score_of(&w, "packing", cpu), 0, "CPU-only");
	tap_eq_i64(choice_of(&w, find("worstfit"), &GPU_SHAPE(0, 1, 100)), 1 << 1, "the emptiest device");
	tap_eq_i64(choice_of(&w, find("yarn"), &GPU_SHAPE(0, 1, 300)), 1 << 1, "the first device that fits");
	tap_eq_i64(choice_of(&w, find("firstfit"), &GPU_SHAPE(0, 1, 300)), 1 << 3, "the tightest device");
	int32_t idle[20];
	for (int i = 0; i < 20; i++)
		idle[i] = WZ_WHOLE;
	world_init(&w, 64000, 4, idle);
	tap_eq_i64(score_of(&w, "packing", two), 29, "33 - 4");
	world_init(&w, 64000, 20, idle);
	tap_eq_i64(score_of(&w, "packing", two), 20, "at least the number of devices");
}

static void test_bestfit_normalise(void)
{
	struct wz_rng r;
	int64_t s[4] = {59, 40, 59, 10}, same[2] = {7, 7};
	const struct wz_policy *p = find("bestfit");
	p->normalise(NULL, NULL, NULL, s, 4);
	tap_ok(s[0] == 100 && s[1] == 61 && s[2] == 100 && s[3] == 0, "min-max");
	p->normalise(NULL, NULL, NULL, same, 2);
	tap_ok(same[0] == 0 && same[1] == 0, "all equal: all 0");
	wz_rng_seed(&r, 1);
	for (int run = 0; run < 20000; run++) { /* the reason why its scope is NODE */
		int64_t raw[6], rated[6], best = INT64_MIN;
		uint64_t range = 1 + wz_rng_below(&r, 3000);
		for (int i = 0; i < 6; i++) {
			raw[i] = rated[i] = (int64_t)wz_rng_below(&r, range) - 1000;
			best = raw[i] > best ? raw[i] : best;
		}
		p->normalise(NULL, NULL, NULL, rated, 6);
		bool equal = true;
		for (int i = 0; i < 6; i++)
			equal &= raw[i] == best;
		for (int i = 0; i < 6; i++)
			tap_ok(equal || (rated[i] == 100) == (raw[i] == best), "the best stay the best and alone");
	}
}

/* Node [1000, 600], 20 CPU. Targets: A 600 milli 4 CPU (weight 1), B one device 8 CPU (2), C CPU only (1). W F before is
 * 0 + 2 x 600 + 1600 = 2800. A share of 500: on device 0, 500 + 2 x 1100 + 1100 = 3800; on device 1, 100 + 2 x 100 + 1100. */
static void test_fgd_by_hand(void)
{
	struct world w;
	const struct wz_policy *fgd = find("fgd"), *exact = find("fgd-exact");
	struct wz_shape share = GPU_SHAPE(2000, 1, 500);
	world_init(&w, 20000, 2, (int32_t[]){1000, 600});
	state_mix(&w, &GPU_SHAPE(4000, 1, 600), 1);
	state_mix(&w, &GPU_SHAPE(8000, 1, 1000), 2);
	state_mix(&w, &GPU_SHAPE(1000, 0, 0), 1);
	tap_ok(fgd->prepare(w.state, &w.ctx), "the first mix changes scores");
	tap_ok(!fgd->prepare(w.state, &w.ctx), "the same mix does not");
	const struct wz_frag *f = (const void *)w.state;
	tap_eq_i64(wz_frag_of(f, &w.node[0], 20000, w.milli), 2800, "W F");
	tap_eq_i64(wz_frag_of(f, &w.node[0], 7999, w.milli), 4800, "B lacks CPU: 0 + 2 x 1600 + 1600");
	tap_eq_i64(score_of(&w, "fgd-exact", share), 1400, "2800 - 1400");
	tap_eq_i64(score_of(&w, "fgd", share), 58, "100 sigma(0.35) = 58.66");
	tap_eq_i64(choice_of(&w, fgd, &share), 2, "device 1");
	tap_eq_i64(choice_of(&w, exact, &share), 2, "device 1");
	tap_eq_i64(
	        score_of(&w, "fgd-exact", GPU_SHAPE(12001, 0, 0)), -2000, "CPU-only strands B: 2 x (600 - 1600)");
	tap_eq_i64(score_of(&w, "fgd", GPU_SHAPE(12001, 0, 0)), 37, "100 sigma(-0.5) = 37.75");
	tap_eq_i64(score_of(&w, "fgd", GPU_SHAPE(1000, 0, 0)), 50, "no difference: 50 exactly");
	w.shape[1].any_model = 0; /* B insists on model 3, which this is, then on none that is here */
	wz_model_set_add(&w.shape[1].allowed, 3);
	tap_ok(fgd->prepare(w.state, &w.ctx), "another mix");
	tap_eq_i64(wz_frag_of(f, &w.node[0], 20000, w.milli), 2800, "its model");
	w.node[0].model = 4;
	tap_eq_i64(wz_frag_of(f, &w.node[0], 20000, w.milli), 4800, "not its model");
	w.node[0].model = WZ_MODEL_MIXED;
	tap_eq_i64(wz_frag_of(f, &w.node[0], 20000, w.milli), 4800, "mixed: unconstrained targets only");
}

static void test_fgd_steps(void)
{
	struct world w;
	const struct wz_frag *f = (const void *)w.state;
	uint32_t weights[] = {1, 2, 100, 8152, 1000003, UINT32_MAX};
	for (unsigned i = 0; i < sizeof(weights) / sizeof(*weights); i++) {
		world_init(&w, 0, 0, NULL);
		state_mix(&w, &GPU_SHAPE(1000, 1, 500), weights[i]);
		find("fgd")->prepare(w.state, &w.ctx);
		for (int k = 1; k < 100; k++) {
			long double t = 1000 * logl(k / (100.0L - k)) * weights[i];
			tap_ok(f->step[k] >= t - 1e-3L && f->step[k] < t + 1 + 1e-3L, "W %u k %d", weights[i], k);
			tap_ok(wz_frag_score(f, f->step[k]) >= k, "reaches %d", k);
			tap_ok(wz_frag_score(f, f->step[k] - 1) < k, "just below %d", k);
		}
		tap_eq_i64(wz_frag_score(f, 0), 50, "zero");
		tap_eq_i64(wz_frag_score(f, INT64_MAX), 99, "highest");
		tap_eq_i64(wz_frag_score(f, INT64_MIN), 0, "lowest");
	}
}

/* ---- FGD, straight from its definition, in long double ---- */

static long double slow_fragment(const struct world *w, int64_t cpu, const int32_t *r)
{
	long double total = 0, f = 0;
	for (uint32_t i = 0; i < w->demand.n_stated; i++)
		total += w->stated[i][1];
	for (uint32_t i = 0; i < w->demand.n_stated; i++) {
		const struct wz_shape *m = &w->shape[i];
		long double all = 0, small = 0;
		uint32_t fit = 0;
		for (uint32_t g = 0; g < w->node[0].n_dev; g++) {
			all += r[g] > 0 ? r[g] : 0;
			small += r[g] > 0 && r[g] < m->milli ? r[g] : 0;
			fit += r[g] >= m->milli;
		}
		bool type = m->any_model ||
		            (w->node[0].model < WZ_MODELS_MAX && wz_model_set_has(&m->allowed, w->node[0].model));
		bool serves = m->count > 0 && type && fit >= m->count && cpu >= m->cpu;
		f += w->stated[i][1] / total * (serves ? small : all);
	}
	return f;
}

static long double slow_difference(const struct world *w, const struct wz_shape *s, uint64_t devices)
{
	int32_t after[WZ_NODE_DEVICES_MAX];
	for (uint32_t g = 0; g < w->node[0].n_dev; g++)
		after[g] = w->milli[g] - (devices >> g & 1 ? s->milli : 0);
	return slow_fragment(w, w->node[0].cpu_free, w->milli) -
	       slow_fragment(w, w->node[0].cpu_free - s->cpu, after);
}

/* 100 sigma(x / 1000); *ret_near when it is too near an integer to be sure of its truncation */
static int64_t slow_score(long double x, bool *ret_near)
{
	long double s = 100 / (1 + expl(-x / 1000));
	*ret_near |= fabsl(s - roundl(s)) < 1e-9L;
	return (int64_t)s;
}

static uint32_t pick(struct wz_rng *r, uint32_t n)
{
	return (uint32_t)wz_rng_below(r, n);
}

static struct wz_shape random_shape(struct wz_rng *r)
{
	static const uint32_t counts[] = {1, 1, 2, 4, 8};
	struct wz_shape s = {.cpu = 500 * pick(r, 64), .any_model = pick(r, 3) != 0};
	uint32_t kind = pick(r, 10);
	if (kind >= 1 && kind < 6)
		s.count = 1, s.milli = pick(r, 4) ? (int32_t)(10 * (1 + pick(r, 99))) : (int32_t)(1 + pick(r, 999));
	else if (kind >= 6)
		s.count = counts[pick(r, 5)], s.milli = WZ_WHOLE;
	for (uint32_t t = 0; !s.any_model && t < 4; t++)
		if (pick(r, 2))
			wz_model_set_add(&s.allowed, t);
	return s;
}

static void random_world(struct world *w, struct wz_rng *r)
{
	static const uint32_t sizes[] = {1, 2, 4, 8, 8, 16, 64};
	static const uint16_t models[] = {0, 1, 2, 3, WZ_MODEL_NONE, WZ_MODEL_MIXED};
	int32_t milli[WZ_NODE_DEVICES_MAX];
	uint32_t n = sizes[pick(r, 7)];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t kind = pick(r, 10);
		milli[i] = kind < 4 ? WZ_WHOLE : kind < 6 ? 0 : kind < 7 ? -100 : (int32_t)(10 * pick(r, 101));
	}
	world_init(w, 500 * pick(r, 193), n, milli);
	w->node[0].model = models[pick(r, 6)];
	w->node[0].kinds = (uint8_t)pick(r, 32);
	w->node[0].order = (uint32_t)wz_rng_next(r);
	uint32_t targets = 1 + pick(r, 60);
	for (uint32_t i = 0; i < targets; i++) {
		struct wz_shape s = random_shape(r);
		state_mix(w, &s, 1 + pick(r, pick(r, 2) ? 1000 : 3));
	}
}

static bool feasible(const struct world *w, const struct wz_shape *s)
{
	uint32_t fit = 0;
	for (uint32_t i = 0; i < w->node[0].n_dev; i++)
		fit += wz_device_fits(&w->view, i);
	return fit >= s->count && s->cpu <= w->node[0].cpu_free;
}

static void check_fgd(struct world *w, const struct wz_shape *s, unsigned *checked)
{
	const struct wz_frag *f = (const void *)w->state;
	bool near = false;
	int64_t best = -1;
	uint64_t want = 0;
	long double exact = -INFINITY;
	if (s->count != 1)
		want = wz_choose_tightest(&w->view), exact = slow_difference(w, s, want),
		best = slow_score(exact, &near);
	for (uint32_t g = 0; s->count == 1 && g < w->node[0].n_dev; g++) {
		if (!wz_device_fits(&w->view, g))
			continue;
		long double x = slow_difference(w, s, 1ULL << g);
		int64_t score = slow_score(x, &near);
		exact = x > exact ? x : exact;
		if (score > best)
			best = score, want = 1ULL << g;
	}
	long double eps = 1e-12L * (long double)f->weight * 64000;
	int64_t got = score_of(w, "fgd-exact", *s);
	tap_ok(fabsl((long double)got - exact * f->weight) < eps + 1e-3L, "exact difference");
	uint64_t devices = choice_of(w, find("fgd-exact"), s);
	tap_ok(fabsl(slow_difference(w, s, devices) * f->weight - (long double)got) < eps + 1e-3L, "its device");
	if (near)
		return;
	tap_eq_i64(score_of(w, "fgd", *s), best, "fgd score");
	tap_eq_i64(choice_of(w, find("fgd"), s), want, "fgd device");
	++*checked;
}

static void test_fgd_property(void)
{
	struct wz_rng r;
	struct world w;
	unsigned checked = 0;
	wz_rng_seed(&r, 20261201);
	for (int run = 0; run < 6000 && !tap_failed_here; run++) {
		random_world(&w, &r);
		find("fgd")->prepare(w.state, &w.ctx);
		long double f =
		        slow_fragment(&w, w.node[0].cpu_free, w.milli) * ((const struct wz_frag *)w.state)->weight;
		tap_ok(fabsl(f - wz_frag_of((void *)w.state, &w.node[0], w.node[0].cpu_free, w.milli)) < 1e-3L,
		        "run %d: F", run);
		for (int k = 0; k < 4; k++) {
			struct wz_shape s = random_shape(&r);
			ask(&w, &s);
			if (feasible(&w, &s))
				check_fgd(&w, &s, &checked);
		}
	}
	tap_ok(checked > 5000, "only %u cases were far enough from a step", checked);
}

static void test_choose_property(void)
{
	struct wz_rng r;
	struct world w;
	wz_rng_seed(&r, 5);
	for (int run = 0; run < 3000 && !tap_failed_here; run++) {
		random_world(&w, &r);
		for (int p = 0; wz_policies[p]; p++) {
			struct wz_shape s = random_shape(&r);
			ask(&w, &s);
			if (!feasible(&w, &s))
				continue;
			memset(w.state, 0, sizeof(w.state));
			if (wz_policies[p]->prepare && pick(&r, 8)) /* also before the first epoch */
				wz_policies[p]->prepare(w.state, &w.ctx);
			tap_ok(score_of(&w, wz_policies[p]->name, s) != WZ_SCORE_NONE, "a score");
			uint64_t devices = choice_of(&w, wz_policies[p], &s);
			tap_eq_i64(__builtin_popcountll(devices), s.count, "%s: as many as asked",
			        wz_policies[p]->name);
			for (uint64_t m = devices; m; m &= m - 1) {
				uint32_t i = (uint32_t)__builtin_ctzll(m);
				tap_ok(i < w.node[0].n_dev && wz_device_fits(&w.view, i), "%s: they fit",
				        wz_policies[p]->name);
			}
		}
	}
}

/* Ten devices, two of model 3. Arrived: 10 x (1 device, 12 CPU) on any, 10 on model 3 alone. With the prior of 8 tasks:
 * rho = 304 CPU / 28 devices x 15 / 16; expected demand a device: 10/10 + 10/2 on model 3, 10/10 elsewhere, x 10/28. */
static void test_jigsaw(void)
{
	struct world w;
	struct wz_shape pod = GPU_SHAPE(6000, 1, 1000);
	const struct wz_policy *p = find("jigsaw");
	const int64_t order = 32768, p3 = 140434, p5 = 23405; /* Q16 */

	world_init(&w, 24000, 4, (int32_t[]){1000, 1000, 1000, 1000});
	w.shape[0] = w.shape[1] = GPU_SHAPE(12000, 1, 1000);
	w.shape[1].any_model = 0;
	wz_model_set_add(&w.shape[1].allowed, 3);
	w.shapes.n = w.demand.n_shapes = 2;
	w.arrived[0] = w.arrived[1] = 10;
	w.model.cpu_total = 120000;
	w.model.n_classes = 2;
	w.model.node_class[0] = (struct wz_node_class){.model = 3, .n_dev = 2, .cpu = 24000, .nodes = 1};
	w.model.node_class[1] = (struct wz_node_class){.model = 5, .n_dev = 8, .cpu = 96000, .nodes = 1};
	struct wz_variant usual;
	wz_variant_usual(p, &usual);
	wz_variant_begin(&usual, w.state);
	tap_ok(p->prepare(w.state, &w.ctx), "learned");
	w.node[0].order = 1u << 31;
	/* stranded 4 - 24/10.178 = 1.642 devices -> 3 - 18/10.178 = 1.2315: 26,902 in Q16 */
	tap_eq_i64(
	        score_of(&w, "jigsaw", pod), 1000 * (26902 - 2 * order - p3 / 2), "a pod frees stranded devices");
	/* 6 CPU less strand 6/10.178 more: 38,634 */
	tap_eq_i64(score_of(&w, "jigsaw", GPU_SHAPE(6000, 0, 0)), 1000 * (-38634 - 4 * order),
	        "CPU only strands devices");
	w.node[0].class_id = 1;
	w.node[0].cpu_free = 96000;
	tap_eq_i64(score_of(&w, "jigsaw", pod), 1000 * (-2 * order - p5 / 2), "nothing stranded, little scarcity");
}

/* 81s and 19s arrive: 19 beside an 81 is worth its 19, while 30 is worth no more than 19. */
static void test_worth(void)
{
	struct wz_worth w = {0};
	uint64_t share[WZ_WORTH_N] = {[19] = 400, [81] = 400, [100] = 8};

	for (int epoch = 0; epoch < 8; epoch++)
		wz_worth_learn(&w, share);
	tap_ok(w.u[0] == 0 && w.u[100] == WZ_ONE, "the ends are fixed");
	tap_ok(w.u[18] == 0, "nothing fits into 18: %d", w.u[18]);
	tap_ok(w.u[19] > WZ_ONE * 15 / 100 && w.u[19] <= WZ_ONE * 19 / 100, "19 sells: %d", w.u[19]);
	tap_ok(w.u[30] <= WZ_ONE * 20 / 100, "of 30 hardly more than 19 sells: %d", w.u[30]);
	tap_ok(wz_worth_waste(&w, 190, 190) < wz_worth_waste(&w, 300, 190), "19 goes to the 19, not to the 30");
	for (int r = 1; r < 100; r++)
		tap_ok(w.u[r] >= 0 && w.u[r] <= WZ_ONE * r / 100, "no remainder sells more than it is: %d", r);
	share[19] = share[81] = 0;
	wz_worth_learn(&w, share);
	tap_ok(w.learned == 0 && w.u[100] == WZ_ONE && w.u[50] == 0, "no shares: no remainder sells");
}

/* Eight-device tasks come, and all of them are refused: a node that is whole for one is worth more than one that is not. */
static void test_jigsaw_slots(void)
{
	struct world w;
	struct wz_shape single = GPU_SHAPE(1000, 1, 1000), eight = GPU_SHAPE(8000, 8, 1000);
	const struct wz_policy *p = find("jigsaw");
	struct wz_variant usual;
	int64_t before, whole, broken;

	world_init(&w, 96000, 8, (int32_t[]){1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000});
	wz_variant_usual(p, &usual);
	wz_variant_begin(&usual, w.state);
	w.shape[0] = eight;
	w.shapes.n = w.demand.n_shapes = 1;
	w.arrived[0] = 10;
	w.demand.epochs = 1;
	p->prepare(w.state, &w.ctx);
	before = score_of(&w, "jigsaw", single);
	w.arrived[0] = 20;
	w.demand.epochs = 2;
	p->prepare(w.state, &w.ctx);
	tap_eq_i64(score_of(&w, "jigsaw", single), before, "nobody was refused: nothing is kept whole");
	w.arrived[0] = 30;
	w.demand.refused[8] = 10;
	w.demand.epochs = 3;
	p->prepare(w.state, &w.ctx);
	whole = score_of(&w, "jigsaw", single);
	tap_ok(whole < before, "a slot is worth something now: %" PRId64 " < %" PRId64, whole, before);
	tap_ok(score_of(&w, "jigsaw", eight) < 0, "who takes the slot pays for it too");
	w.node[0].whole = 4;
	broken = score_of(&w, "jigsaw", single);
	tap_ok(broken > whole, "half a slot is worth less than half: %" PRId64 " > %" PRId64, broken, whole);
	w.demand.epochs = 40;
	for (int i = 0; i < 200; i++) {
		w.arrived[0] += 10;
		w.demand.epochs++;
		p->prepare(w.state, &w.ctx);
	}
	w.node[0].whole = 8;
	tap_eq_i64(score_of(&w, "jigsaw", single), before, "what is refused no more is forgotten");
}

int main(void)
{
	tap_run(test_table);
	tap_run(test_choose);
	tap_run(test_random);
	tap_run(test_published);
	tap_run(test_bestfit_normalise);
	tap_run(test_fgd_by_hand);
	tap_run(test_fgd_steps);
	tap_run(test_fgd_property);
	tap_run(test_choose_property);
	tap_run(test_jigsaw);
	tap_run(test_worth);
	tap_run(test_jigsaw_slots);
	return tap_done();
}
