/* SPDX-License-Identifier: Apache-2.0 */
/* The LP bound: instances solved by hand, against brute force, weak duality, limits, faults. */
#include "solver/bound.h"

#include "base/rng.h"
#include "fault.h"
#include "os/mem.h"
#include "tap.h"

#define GI ((int64_t)1 << 30)
#define MAX 8

/* An instance under construction. */
struct inst {
	struct wz_bound_node node[MAX];
	struct wz_bound_shape shape[MAX];
	struct wz_bound_in in;
	struct wz_bound_node_price node_price[MAX];
	struct wz_bound_shape_price shape_price[MAX];
	struct wz_bound b;
	struct wz_err err;
};

#define NEED_LP() \
	do { \
		const char *what_; \
		if (!wz_bound_available(&what_)) \
			tap_skip(what_); \
	} while (0)

static struct wz_bound_node *add_node(struct inst *x, uint32_t count, uint32_t gpus, int64_t cpus)
{
	struct wz_bound_node *n = &x->node[x->in.n_nodes++];
	*n = (struct wz_bound_node){.cpu_milli = cpus * 1000, .mem_bytes = 64 * GI, .gpus = gpus, .count = count};
	return n;
}

static struct wz_bound_shape *add_shape(
        struct inst *x, uint32_t demand, uint32_t devices, uint32_t milli, int64_t cpus)
{
	struct wz_bound_shape *s = &x->shape[x->in.n_shapes++];
	*s = (struct wz_bound_shape){.cpu_milli = cpus * 1000,
	        .mem_bytes = GI,
	        .devices = devices,
	        .milli = devices ? milli : 0,
	        .any_model = true,
	        .demand = demand};
	return s;
}

static int solve_with(struct inst *x, const struct wz_mem *mem)
{
	x->in.node = x->node;
	x->in.shape = x->shape;
	return wz_bound_solve(&x->in, mem, &x->b, x->node_price, x->shape_price, &x->err);
}

static void expect(struct inst *x, int64_t milli, const char *what)
{
	int r = solve_with(x, wz_os_mem());
	tap_eq_i64(r, 0, "%s: %s", what, r ? x->err.text : "");
	tap_eq_i64(x->b.bound_milli, milli, "%s", what);
	tap_eq_i64(x->b.status, WZ_BOUND_OPTIMAL, "%s: optimal", what);
}

static void test_nothing(void)
{
	struct inst x = {0};
	NEED_LP();
	expect(&x, 0, "no nodes, no shapes");
	tap_eq_i64(x.b.percent_e6, 0, "no capacity, no percent");
	add_shape(&x, 3, 1, 1000, 1);
	expect(&x, 0, "no nodes");
	tap_eq_i64(x.b.unfit_tasks, 3, "nothing fits nowhere");
	tap_ok(!x.shape_price[0].fits, "and the shape is told");
	x.in.n_shapes = 0;
	add_node(&x, 2, 4, 8);
	expect(&x, 0, "no shapes");
	tap_eq_i64(x.b.capacity_milli, 8000, "capacity counts");
	add_shape(&x, 0, 1, 1000, 1);
	add_node(&x, 0, 4, 8);
	expect(&x, 0, "no tasks");
	add_shape(&x, 5, 0, 0, 1);
	expect(&x, 0, "CPU-only tasks hold no GPU");
}

static void test_by_hand(void)
{
	struct inst x = {0};
	NEED_LP();
	add_node(&x, 1, 2, 64);
	add_shape(&x, 5, 1, 600, 1);
	expect(&x, 1200, "one share of 600 a device");
	tap_eq_i64(x.b.percent_e6, 60000000, "60 %%");
	tap_eq_i64(x.node_price[0].device_ugpu, 600000, "a device more would serve one more");
	tap_eq_i64(x.node_price[0].cpu_ugpu, 0, "CPU is free");
	add_shape(&x, 1, 1, 400, 1);
	expect(&x, 1600, "and one of 400 beside it");
	add_shape(&x, 1, 1, 1000, 1);
	expect(&x, 2000, "600 + 400, 1000");

	x = (struct inst){0};
	add_node(&x, 4, 1, 64);
	add_shape(&x, 100, 1, 333, 1);
	expect(&x, 4 * 999, "shares of a third: gcd 1");
	add_shape(&x, 100, 1, 7, 0);
	expect(&x, 4 * 999, "142 x 7 = 994, 333 + 95 x 7 = 998, 2 x 333 + 47 x 7 = 995");

	x = (struct inst){0};
	add_node(&x, 1, 8, 8);
	add_shape(&x, 8, 1, 1000, 2);
	expect(&x, 4000, "CPU for four");
	tap_eq_i64(x.node_price[0].cpu_ugpu, 500000, "half a GPU per vCPU");
	tap_eq_i64(x.node_price[0].device_ugpu, 0, "devices are free");
	add_shape(&x, 2, 0, 0, 2)->forced = true;
	expect(&x, 2000, "two CPU-only tasks take the CPU of two");
	tap_eq_i64(x.shape_price[1].task_ugpu, -1000000, "each costs one GPU");
	x.shape[1].forced = false;
	expect(&x, 4000, "optional ones are refused");

	x = (struct inst){0};
	add_node(&x, 1, 4, 64)->model = 255;
	add_shape(&x, 4, 1, 1000, 1)->any_model = false;
	wz_model_set_add(&x.shape[0].allowed, 254);
	expect(&x, 0, "not its model");
	wz_model_set_add(&x.shape[0].allowed, 255);
	expect(&x, 4000, "its model");
}

static void test_whole_devices(void)
{
	struct inst x = {0};
	NEED_LP();
	add_node(&x, 1, 8, 64);
	add_shape(&x, 2, 3, 1000, 1);
	add_shape(&x, 1, 2, 1000, 1);
	expect(&x, 8000, "3 + 3 + 2 on 8 is not cut off");
	x.in.n_shapes = 1;
	x.shape[0].demand = 10;
	expect(&x, 6000, "two tasks of three");
	x.node[0].count = 2;
	x.shape[0].devices = 5;
	expect(&x, 10000, "one task of five a node");
	add_shape(&x, 50, 1, 1000, 1);
	expect(&x, 16000, "single ones fill up");
	x.shape[0].devices = 9;
	expect(&x, 16000, "nine fit nowhere");
	tap_eq_i64(x.b.unfit_tasks, 10, "and are counted");
}

static void test_prefix(void)
{
	struct inst x = {0};
	NEED_LP();
	add_node(&x, 1, 1, 8);
	add_shape(&x, 1, 1, 600, 1);
	add_shape(&x, 1, 1, 1000, 1);
	expect(&x, 1000, "refuse the share");
	x.shape[0].held = 1;
	expect(&x, 600, "the held share leaves no whole device");
	x.shape[1].held = 1;
	x.b.bound_milli = -7;
	x.node_price[0].cpu_ugpu = -7;
	tap_eq_i64(solve_with(&x, wz_os_mem()), -ENOSPC, "both cannot be held");
	tap_eq_str(wz_str(x.err.reason), WZ_STR("PrefixInfeasible"), "the reason");
	tap_ok(x.b.bound_milli == -7 && x.node_price[0].cpu_ugpu == -7, "nothing is written on failure");
	x.in.fallback = true;
	expect(&x, 1000, "fallback: nothing held");
	tap_eq_i64(x.b.dropped, WZ_BOUND_DROPPED_HELD, "said so");
	x.shape[1].held = 0;
	expect(&x, 600, "no fallback needed");
	tap_eq_i64(x.b.dropped, 0, "nothing dropped");
	add_shape(&x, 9, 0, 0, 1)->forced = true;
	expect(&x, 1000, "fallback: neither");
	tap_eq_i64(x.b.dropped, WZ_BOUND_DROPPED_HELD | WZ_BOUND_DROPPED_FORCED, "both dropped");
	x.in.fallback = false;
	x.shape[0].held = 0;
	tap_eq_i64(solve_with(&x, wz_os_mem()), -ENOSPC, "nine CPUs of eight");
	tap_eq_str(wz_str(x.err.reason), WZ_STR("ForcedInfeasible"), "the reason");
	x.shape[2].demand = 8;
	expect(&x, 0, "eight take all CPU");
	x.shape[2].cpu_milli = 9000;
	expect(&x, 1000, "one that fits no node is not forced");
	tap_eq_i64(x.b.unfit_tasks, 8, "but counted");
}

static void test_merging(void)
{
	struct inst x = {0};
	NEED_LP();
	for (unsigned i = 0; i < 4; i++) {
		add_node(&x, 1, 2, 3);
		add_shape(&x, 2, 1, 810, 1)->held = i == 0;
	}
	add_node(&x, 0, 2, 3);
	add_node(&x, 1, 0, 3)->model = 77; /* without devices the model does not matter */
	add_node(&x, 1, 0, 3)->model = UINT32_MAX;
	expect(&x, 8 * 810, "four nodes of two");
	tap_eq_i64(x.b.node_types, 2, "node types");
	tap_eq_i64(x.b.shapes, 1, "shapes");
	tap_eq_i64(x.node_price[0].device_ugpu, x.node_price[3].device_ugpu, "equal nodes, equal prices");
}

/* Brute force: places one task after another, on each node and, for shares, each device, or refuses it. */
struct brute {
	int64_t cpu[4], mem[4];
	int32_t room[4][4]; /* milli left */
	uint32_t gpus[4], model[4], n;
	const struct wz_bound_shape *task[8];
	uint32_t tasks;
	int64_t best;
};

static void brute_place(struct brute *b, uint32_t at, int64_t got, int64_t rest);

static void brute_node(struct brute *b, uint32_t at, int64_t got, int64_t rest, uint32_t n)
{
	const struct wz_bound_shape *s = b->task[at];
	int32_t before[4];
	uint32_t need = s->devices;
	memcpy(before, b->room[n], sizeof before);
	if (s->milli < WZ_WHOLE && s->devices == 1) {
		for (uint32_t g = 0; g < b->gpus[n]; g++) {
			if (b->room[n][g] < (int32_t)s->milli)
				continue;
			b->room[n][g] -= (int32_t)s->milli;
			brute_place(b, at + 1, got + s->milli, rest);
			b->room[n][g] += (int32_t)s->milli;
		}
		return;
	}
	for (uint32_t g = 0; g < b->gpus[n] && need > 0; g++) {
		if (b->room[n][g] == WZ_WHOLE) {
			b->room[n][g] = 0;
			need--;
		}
	}
	if (need == 0)
		brute_place(b, at + 1, got + (int64_t)s->devices * WZ_WHOLE, rest);
	memcpy(b->room[n], before, sizeof before);
}

static void brute_place(struct brute *b, uint32_t at, int64_t got, int64_t rest)
{
	const struct wz_bound_shape *s = b->task[at];
	if (got > b->best)
		b->best = got;
	if (at == b->tasks || got + rest <= b->best)
		return;
	rest -= (int64_t)s->devices * s->milli;
	for (uint32_t n = 0; n < b->n; n++) {
		if (s->cpu_milli > b->cpu[n] || s->mem_bytes > b->mem[n] ||
		        (!s->any_model && !wz_model_set_has(&s->allowed, b->model[n])))
			continue;
		b->cpu[n] -= s->cpu_milli;
		b->mem[n] -= s->mem_bytes;
		brute_node(b, at, got, rest, n);
		b->cpu[n] += s->cpu_milli;
		b->mem[n] += s->mem_bytes;
	}
	brute_place(b, at + 1, got, rest);
}

static int64_t brute(const struct inst *x)
{
	struct brute b = {0};
	int64_t rest = 0;
	for (uint32_t i = 0; i < x->in.n_nodes; i++) {
		for (uint32_t k = 0; k < x->node[i].count; k++, b.n++) {
			b.cpu[b.n] = x->node[i].cpu_milli;
			b.mem[b.n] = x->node[i].mem_bytes;
			b.gpus[b.n] = x->node[i].gpus;
			b.model[b.n] = x->node[i].model;
			for (uint32_t g = 0; g < b.gpus[b.n]; g++)
				b.room[b.n][g] = WZ_WHOLE;
		}
	}
	for (uint32_t i = 0; i < x->in.n_shapes; i++) {
		for (uint32_t k = 0; k < x->shape[i].demand; k++) {
			b.task[b.tasks++] = &x->shape[i];
			rest += (int64_t)x->shape[i].devices * x->shape[i].milli;
		}
	}
	brute_place(&b, 0, 0, rest);
	return b.best;
}

static void random_instance(struct inst *x, struct wz_rng *rng)
{
	*x = (struct inst){0};
	for (unsigned i = 0; i < 2; i++) {
		struct wz_bound_node *n =
		        add_node(x, 1, 1 + (uint32_t)wz_rng_below(rng, 3), 2 + (int64_t)wz_rng_below(rng, 7));
		n->model = i;
		n->mem_bytes = (2 + (int64_t)wz_rng_below(rng, 4)) * GI;
	}
	for (unsigned i = 0; i < 3; i++) {
		static const uint32_t milli[] = {1000, 1000, 810, 333, 470, 190, 501};
		uint32_t m = milli[wz_rng_below(rng, WZ_ARRAY_LEN(milli))];
		struct wz_bound_shape *s = add_shape(x, 1 + (uint32_t)wz_rng_below(rng, 2),
		        m < 1000 ? 1 : 1 + (uint32_t)wz_rng_below(rng, 3), m, (int64_t)wz_rng_below(rng, 4));
		s->any_model = wz_rng_below(rng, 3) > 0;
		wz_model_set_add(&s->allowed, (unsigned)wz_rng_below(rng, 2));
	}
}

static void test_against_brute_force(void)
{
	struct wz_rng rng;
	unsigned equal = 0, rounds = 400;
	NEED_LP();
	wz_rng_seed(&rng, 20261201);
	for (unsigned i = 0; i < rounds; i++) {
		struct inst x;
		int64_t best;
		random_instance(&x, &rng);
		tap_require(solve_with(&x, wz_os_mem()) == 0, "round %u: %s", i, x.err.text);
		best = brute(&x);
		tap_ok(x.b.bound_milli >= best, "round %u: the bound %" PRId64 " is under %" PRId64, i,
		        x.b.bound_milli, best);
		tap_ok(x.b.status == WZ_BOUND_OPTIMAL, "round %u: optimal", i);
		equal += x.b.bound_milli == best;
	}
	tap_ok(equal > rounds / 2, "mostly tight on tiny instances: %u of %u", equal, rounds);
}

/* What the prices say the whole is worth, in micro-GPU; `held` and `forced` count as lower sides. */
static int64_t priced(const struct inst *x)
{
	__int128 sum = 0;
	for (uint32_t i = 0; i < x->in.n_nodes; i++) {
		const struct wz_bound_node *n = &x->node[i];
		const struct wz_bound_node_price *p = &x->node_price[i];
		sum += (__int128)n->count * (n->cpu_milli * p->cpu_ugpu / 1000 + n->mem_bytes / GI * p->mem_ugpu +
		                                    n->gpus * p->device_ugpu);
	}
	for (uint32_t i = 0; i < x->in.n_shapes; i++) {
		int64_t p = x->shape_price[i].task_ugpu;
		uint32_t lower = x->shape[i].forced ? x->shape[i].demand : x->shape[i].held;
		sum += (__int128)p * (p >= 0 ? x->shape[i].demand : lower);
	}
	return (int64_t)sum;
}

static void test_duality_and_monotony(void)
{
	struct wz_rng rng;
	NEED_LP();
	wz_rng_seed(&rng, 3);
	for (unsigned i = 0; i < 300; i++) {
		struct inst x;
		int64_t before, worth;
		random_instance(&x, &rng);
		x.node[0].count = 1 + (uint32_t)wz_rng_below(&rng, 50);
		for (unsigned k = 0; k < 3; k++)
			x.shape[k].demand = 1 + (uint32_t)wz_rng_below(&rng, 100);
		tap_require(solve_with(&x, wz_os_mem()) == 0, "round %u", i);
		before = x.b.bound_milli;
		worth = priced(&x);
		tap_ok(worth >= before * 1000 - 500 && worth <= before * 1000 + 1500,
		        "round %u: prices give %" PRId64 " micro, the bound %" PRId64 " milli", i, worth, before);
		for (unsigned k = 0; k < 3; k++)
			tap_ok(x.shape_price[k].task_ugpu >= 0, "round %u: nothing is forced, no task costs", i);
		for (unsigned k = 0; k < 2; k++)
			tap_ok(x.node_price[k].cpu_ugpu >= 0 && x.node_price[k].mem_ugpu >= 0 &&
			                x.node_price[k].device_ugpu >= 0,
			        "round %u: prices of nodes", i);
		x.node[1].count++;
		tap_require(solve_with(&x, wz_os_mem()) == 0, "round %u", i);
		tap_ok(x.b.bound_milli >= before, "round %u: a node more never lowers the bound", i);
		before = x.b.bound_milli;
		x.in.fallback = true;
		x.shape[0].held = x.shape[0].demand / 2;
		tap_require(solve_with(&x, wz_os_mem()) == 0, "round %u", i);
		tap_ok(x.b.bound_milli <= before, "round %u: holding a prefix never raises it", i);
		tap_ok(!x.b.dropped || x.b.bound_milli == before, "round %u: fallback is the plain bound", i);
	}
}

static void test_stopped_early(void)
{
	struct inst x = {0};
	int64_t optimum;
	NEED_LP();
	add_node(&x, 50, 8, 90);
	add_node(&x, 90, 2, 30);
	add_shape(&x, 300, 1, 810, 8);
	add_shape(&x, 300, 1, 470, 6);
	add_shape(&x, 200, 1, 230, 4)->held = 20;
	add_shape(&x, 40, 3, 1000, 30);
	tap_require(solve_with(&x, wz_os_mem()) == 0, "solves");
	tap_ok(x.b.iterations > 3, "some work: %" PRIu32, x.b.iterations);
	optimum = x.b.bound_milli;
	for (x.in.iterations = 1; x.in.iterations < 40; x.in.iterations++) {
		tap_require(solve_with(&x, wz_os_mem()) == 0, "stopped at %" PRIu32, x.in.iterations);
		tap_ok(x.b.bound_milli >= optimum, "stopped at %" PRIu32 ": still a bound", x.in.iterations);
		tap_ok(x.b.bound_milli <= x.b.capacity_milli, "and no more than the capacity");
		if (x.in.iterations == 1)
			tap_eq_i64(x.b.status, WZ_BOUND_LOOSE, "said so");
	}
}

static void refuse(struct inst *x, int code, const char *reason, const char *what)
{
	tap_eq_i64(solve_with(x, wz_os_mem()), code, "%s", what);
	tap_eq_str(wz_str(x->err.reason), wz_str(reason), "%s", what);
}

static void test_input_limits(void)
{
	struct inst ok = {0}, x;
	add_node(&ok, 1, 8, 64);
	add_shape(&ok, 1, 1, 500, 1);
#define BAD(change, what) \
	do { \
		x = ok; \
		change; \
		refuse(&x, -EINVAL, "BoundInput", what); \
	} while (0)
	BAD(x.node[0].cpu_milli = -1, "negative CPU");
	BAD(x.node[0].cpu_milli = INT64_MAX, "too much CPU");
	BAD(x.node[0].mem_bytes = -1, "negative memory");
	BAD(x.node[0].mem_bytes = INT64_MAX, "too much memory");
	BAD(x.node[0].gpus = WZ_NODE_DEVICES_MAX + 1, "too many devices on a node");
	BAD(x.node[0].model = WZ_MODELS_MAX, "no such model");
	BAD(x.node[0].count = WZ_BOUND_COUNT_MAX + 1, "too many nodes");
	BAD(x.shape[0].cpu_milli = -1, "negative CPU of a shape");
	BAD(x.shape[0].mem_bytes = INT64_MIN, "negative memory of a shape");
	BAD(x.shape[0].devices = UINT32_MAX, "too many devices of a shape");
	BAD(x.shape[0].milli = 1001, "more than a device");
	BAD(x.shape[0].milli = 0, "nothing of a device");
	BAD(x.shape[0].devices = 0, "milli without devices");
	BAD(x.shape[0].held = 2, "more held than arrived");
	BAD(x.shape[0].demand = WZ_BOUND_COUNT_MAX + 1, "too many tasks");
	x = ok;
	x.in.n_nodes = WZ_BOUND_ENTRIES_MAX + 1;
	refuse(&x, -E2BIG, "BoundTooLarge", "too many entries");
	x = ok;
	x.in.iterations = UINT32_MAX;
	refuse(&x, -E2BIG, "BoundTooLarge", "too many iterations");
}

static void test_too_many_kinds(void)
{
	static struct wz_bound_node node[WZ_BOUND_NODE_TYPES_MAX + 1];
	static struct wz_bound_shape shape[WZ_BOUND_SHAPES_MAX + 1];
	struct wz_bound_in in = {
	        .node = node, .shape = shape, .n_nodes = WZ_BOUND_NODE_TYPES_MAX + 1, .n_shapes = 0};
	struct wz_bound b;
	for (uint32_t i = 0; i <= WZ_BOUND_NODE_TYPES_MAX; i++)
		node[i] = (struct wz_bound_node){.cpu_milli = i + 1000, .mem_bytes = GI, .gpus = 1, .count = 1};
	for (uint32_t i = 0; i <= WZ_BOUND_SHAPES_MAX; i++)
		shape[i] = (struct wz_bound_shape){
		        .mem_bytes = i, .devices = 1, .milli = 1000, .any_model = true, .demand = 1};
	tap_eq_i64(wz_bound_solve(&in, wz_os_mem(), &b, NULL, NULL, NULL), -E2BIG, "node types");
	in.n_nodes = 1;
	in.n_shapes = WZ_BOUND_SHAPES_MAX + 1;
	tap_eq_i64(wz_bound_solve(&in, wz_os_mem(), &b, NULL, NULL, NULL), -E2BIG, "shapes");
	in.n_nodes = WZ_BOUND_NODE_TYPES_MAX;
	in.n_shapes = WZ_BOUND_PAIRS_MAX / WZ_BOUND_NODE_TYPES_MAX + 1;
	tap_eq_i64(wz_bound_solve(&in, wz_os_mem(), &b, NULL, NULL, NULL), -E2BIG, "pairs");
}

static void test_largest_values(void)
{
	struct inst x = {0};
	NEED_LP();
	for (unsigned i = 0; i < 3; i++) {
		*add_node(&x, WZ_BOUND_COUNT_MAX, WZ_NODE_DEVICES_MAX, 0) = (struct wz_bound_node){
		        WZ_CPU_MILLI_MAX - i, WZ_BYTES_MAX, 255, WZ_NODE_DEVICES_MAX, WZ_BOUND_COUNT_MAX};
		*add_shape(&x, WZ_BOUND_COUNT_MAX, 1, 999, 0) =
		        (struct wz_bound_shape){.cpu_milli = WZ_CPU_MILLI_MAX - 2,
		                .mem_bytes = 1,
		                .devices = 1 + i * 31,
		                .milli = 999 - i,
		                .any_model = true,
		                .demand = WZ_BOUND_COUNT_MAX};
	}
	tap_eq_i64(solve_with(&x, wz_os_mem()), 0, "no overflow, no crash");
	tap_ok(x.b.bound_milli > 0 && x.b.bound_milli <= x.b.capacity_milli, "within the capacity");
	tap_ok(x.b.percent_e6 > 0 && x.b.percent_e6 <= 100000000, "a percentage");
}

static void test_out_of_memory(void)
{
	NEED_LP();
	for (uint64_t n = 1;; n++) {
		struct inst x = {0};
		struct fault_mem f;
		int r;
		add_node(&x, 3, 8, 90);
		add_shape(&x, 20, 1, 470, 6)->held = 5;
		add_shape(&x, 5, 3, 1000, 6);
		fault_mem_init(&f);
		f.fail_at = n;
		r = solve_with(&x, &f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(r, 0, "without failures it works");
			break;
		}
		tap_require(r == -ENOMEM, "allocation %" PRIu64 " fails: %d", n, r);
		tap_ok(x.b.bound_milli == 0, "nothing written");
	}
}

static void test_without_solver(void)
{
	struct inst x = {0};
	if (wz_bound_available(NULL))
		tap_skip("this build has CLP: nothing to be missing");
	add_node(&x, 1, 8, 64);
	refuse(&x, -EOPNOTSUPP, "NoLpSolver", "no solver");
}

int main(void)
{
	tap_run(test_nothing);
	tap_run(test_by_hand);
	tap_run(test_whole_devices);
	tap_run(test_prefix);
	tap_run(test_merging);
	tap_run(test_against_brute_force);
	tap_run(test_duality_and_monotony);
	tap_run(test_stopped_early);
	tap_run(test_input_limits);
	tap_run(test_too_many_kinds);
	tap_run(test_largest_values);
	tap_run(test_out_of_memory);
	tap_run(test_without_solver);
	return tap_done();
}
