/* SPDX-License-Identifier: Apache-2.0 */
/* Repacking: what a plan promises is what comes of it; nothing is moved for nothing, beyond the budget, or lost. */
#include "world.h"

#include "base/rng.h"

#define MOVABLE " preempt=signal:USR1,grace:5s"

static int rules(struct world *w, const char *text)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_RULES_SET, .u.rule_list.text = wz_str(text)});
}

static int ask(struct world *w, const char *text)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_REPACK_ASKED, .u.named.name = wz_str(text)});
}

static unsigned count(const struct world *w, uint32_t kind)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < w->plan.n; i++)
		n += w->plan.effect[i].kind == kind;
	return n;
}

/* Acknowledges what wants an answer. */
static void answer(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.n; i++) {
		uint32_t k = w->plan.effect[i].kind;
		if (k == WZ_EF_START || k == WZ_EF_STOP || k == WZ_EF_PREEMPT)
			ack(w, WZ_EV_EFFECT_CONFIRMED, w->plan.effect[i].id);
	}
}

/* A job that runs on this node because the others are cordoned meanwhile. */
static void run_on(struct world *w, uint64_t job, const char *text, uint32_t node, uint32_t nodes)
{
	for (uint32_t n = 0; n < nodes; n++)
		node_ready(w, n, true, n != node);
	submit(w, job, text);
	step(w);
	answer(w);
	for (uint32_t n = 0; n < nodes; n++)
		node_ready(w, n, true, false);
	tap_eq_i64(place_of(w, job, 0).node.v, node, "job %" PRIu64 " is where the test wants it", job);
}

static void two_halves(struct world *w, const char *first)
{
	char text[128];
	world_init(w);
	node_of(w, 0, 2, "T4");
	node_of(w, 1, 2, "T4");
	snprintf(text, sizeof(text), "gpus=1 cpus=1%s", first);
	run_on(w, 1, text, 0, 2);
	run_on(w, 2, text, 1, 2);
	submit(w, 3, "gpus=2 cpus=1");
	step(w);
	tap_eq_i64(count(w, WZ_EF_START), 0, "two halves are no whole");
}

static void test_one_move(void)
{
	struct world w;
	two_halves(&w, MOVABLE);
	step(&w);
	tap_eq_i64(w.plan.n, 0, "nothing moves that nobody asked to move");
	tap_eq_i64(ask(&w, "moves=1"), 0, "one move is asked for");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 1, "one task goes");
	tap_eq_i64(count(&w, WZ_EF_HOLD), 2, "to a place that is held, as is the slot it leaves");
	tap_eq_i64(w.plan.effect[0].kind, WZ_EF_PREEMPT, "stops come first");
	submit(&w, 9, "gpus=1 cpus=1");
	decide_within(&w, 0);
	tap_eq_i64(count(&w, WZ_EF_START), 0, "what is held is nobody else's");
	job_event(&w, WZ_EV_JOB_CANCELLED, 9);
	for (int i = 0; i < 3; i++) { /* late: the first plan's stop is answered by the next rounds */
		uint64_t id = 0;
		struct wz_flight_info f[4];
		uint32_t n = wz_core_flights(w.c, f, 4);
		for (uint32_t k = 0; k < n && k < 4; k++)
			if (f[k].kind == WZ_EF_PREEMPT || f[k].kind == WZ_EF_START)
				id = f[k].effect;
		if (id)
			ack(&w, WZ_EV_EFFECT_CONFIRMED, id);
		step(&w);
		answer(&w);
	}
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "1 runs");
	tap_eq_i64(state_of(&w, 2), WZ_JOB_RUNNING, "2 runs");
	tap_eq_i64(state_of(&w, 3), WZ_JOB_RUNNING, "and the one that waited");
	tap_ok(place_of(&w, 1, 0).node.v == place_of(&w, 2, 0).node.v, "side by side");
	world_free(&w);
}

static void test_nobody_is_moved(void)
{
	struct world w;
	two_halves(&w, "");
	ask(&w, "");
	step(&w);
	tap_eq_i64(w.plan.n, 0, "whose contract is never stays");
	world_free(&w);

	two_halves(&w, MOVABLE);
	job_event(&w, WZ_EV_JOB_CANCELLED, 3);
	ask(&w, "");
	step(&w);
	tap_eq_i64(w.plan.n, 0, "nobody waits: nothing moves");
	world_free(&w);

	two_halves(&w, MOVABLE);
	submit(&w, 4, "gpus=2 gpu-type=a100");
	job_event(&w, WZ_EV_JOB_CANCELLED, 3);
	ask(&w, "");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "no move helps one that can never start");
	world_free(&w);
	world_init(&w);
	tap_eq_i64(ask(&w, "moves=0"), -EINVAL, "no moves");
	tap_eq_i64(ask(&w, "moves=x"), -EINVAL, "no number");
	tap_eq_i64(ask(&w, "night"), -EINVAL, "no key");
	tap_eq_i64(ask(&w, "moves=10001"), -EINVAL, "too many");
	world_free(&w);
}

/* Without a checkpoint what ran is lost: that counts against what is gained for the horizon. */
static void test_gain_and_cost(void)
{
	struct world w;
	two_halves(&w, " preempt=movable");
	rules(&w,
	        "repack-horizon-us=3600000000 repack-restart-us=60000000"); /* an hour for two devices: 120 device-minutes */
	at(&w, 7190); /* nearly two hours of one device */
	ask(&w, "");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "what would be lost, and a minute to start again, is more");
	world_apply(&w, &(struct wz_event){.kind = WZ_EV_TASK_REPORTED,
	                        .u.report = {.job = 2, .task = 0, .checkpoint_us = (int64_t)(3000 * SECOND)}});
	ask(&w, "");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 1, "since its checkpoint it is less");
	tap_ok(plan_find(&w, WZ_EF_PREEMPT, 2, 0) != NULL, "and it is that one that goes");
	answer(&w);
	world_free(&w);
}

static void test_budget(void)
{
	struct world w;
	unsigned moves = 0;
	world_init(&w);
	for (uint32_t n = 0; n < 6; n++)
		node_of(&w, n, 2, "T4");
	for (uint64_t j = 0; j < 6; j++)
		run_on(&w, 1 + j, "gpus=1 cpus=1" MOVABLE, (uint32_t)j, 6);
	rules(&w, "repack-moves-per-hour=2 repack-interval-us=0");
	for (uint64_t j = 0; j < 3; j++)
		submit(&w, 11 + j, "gpus=2 cpus=1");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "the budget begins empty");
	for (unsigned t = 1; t <= 12; t++) { /* two hours, ten minutes at a time */
		at(&w, t * 600);
		for (int i = 0; i < 3; i++) {
			step(&w);
			moves += count(&w, WZ_EF_PREEMPT);
			answer(&w);
		}
		tap_ok(moves <= t * 2 / 6, "after %u minutes: %u moves", t * 10, moves);
	}
	tap_eq_i64(moves, 3, "what helps somebody is done within it");
	for (uint64_t j = 0; j < 3; j++)
		tap_eq_i64(state_of(&w, 11 + j), WZ_JOB_RUNNING, "job %" PRIu64 " started", 11 + j);
	for (uint64_t j = 0; j < 6; j++)
		tap_eq_i64(state_of(&w, 1 + j), WZ_JOB_RUNNING, "so does job %" PRIu64, 1 + j);
	world_free(&w);
}

/* 370+470 twice and 590+320: no share fits elsewhere, but exchanged they leave a device. */
static void test_exchange(void)
{
	struct world w;
	uint32_t whole = 0;
	world_init_opt(&w, (struct wz_core_options){.seed = 1, .policy = "bestfit"});
	for (uint32_t n = 0; n < 4; n++)
		node_of(&w, n, 1, "T4");
	run_on(&w, 1, "gpu-share=40% cpus=1" MOVABLE, 0, 4);
	run_on(&w, 2, "gpu-share=40% cpus=1" MOVABLE, 0, 4);
	run_on(&w, 3, "gpu-share=40% cpus=1" MOVABLE, 1, 4);
	run_on(&w, 4, "gpu-share=40% cpus=1" MOVABLE, 1, 4);
	run_on(&w, 5, "gpu-share=60% cpus=1" MOVABLE, 2, 4);
	run_on(&w, 6, "gpu-share=60% cpus=1" MOVABLE, 3, 4);
	submit(&w, 7, "gpus=1 cpus=1");
	ask(&w, "moves=16");
	for (int i = 0; i < 4; i++) {
		step(&w);
		answer(&w);
	}
	tap_eq_i64(state_of(&w, 7), WZ_JOB_RUNNING, "a whole device came free");
	for (uint64_t j = 1; j <= 7; j++)
		tap_eq_i64(state_of(&w, j), WZ_JOB_RUNNING, "job %" PRIu64 " runs", j);
	for (uint32_t n = 0; n < 4; n++)
		whole += wz_core_model(w.c)->node[n].gpu_free == 0;
	tap_ok(whole >= 2, "60 beside 40");
	world_free(&w);
}

/* The victim's only other place is that of one that must go elsewhere first. */
static void test_chain(void)
{
	struct world w;
	world_init(&w);
	node_like(&w, 0, 1, &(struct dev){.model = "T4"}, (struct wz_ev_node){.cpu_milli = 64000});
	node_like(&w, 1, 1, &(struct dev){.model = "T4"}, (struct wz_ev_node){.cpu_milli = 8000});
	node_like(&w, 2, 1, &(struct dev){.model = "T4"}, (struct wz_ev_node){.cpu_milli = 2000});
	run_on(&w, 1, "gpus=1 cpus=8" MOVABLE, 0, 3);
	run_on(&w, 2, "gpus=1 cpus=2" MOVABLE, 1, 3);
	submit(&w, 3, "gpus=1 cpus=60");
	step(&w);
	ask(&w, "moves=1");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "one move is not enough");
	ask(&w, "moves=2");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 2, "two are");
	answer(&w);
	step(&w);
	answer(&w);
	tap_eq_i64(place_of(&w, 1, 0).node.v, 1, "1 is where 2 was");
	tap_eq_i64(place_of(&w, 2, 0).node.v, 2, "2 is on the last");
	tap_eq_i64(place_of(&w, 3, 0).node.v, 0, "3 has its slot");
	world_free(&w);
}

static void test_vacate(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 3; n++)
		node_of(&w, n, 2, "T4");
	run_on(&w, 1, "gpus=1 cpus=1" MOVABLE, 0, 3);
	run_on(&w, 2, "gpus=1 cpus=1", 0, 3);
	run_on(&w, 3, "gpus=1 cpus=1" MOVABLE, 1, 3);
	device_changed(&w, 1, 0, (struct dev){.model = "T4", .health = WZ_HEALTH_DEGRADED});
	node_ready(&w, 0, true, true);
	ask(&w, "");
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 2, "off the cordoned node and off the bad device");
	answer(&w);
	step(&w);
	answer(&w);
	tap_ok(place_of(&w, 1, 0).node.v != 0 && place_of(&w, 1, 0).node.v != WZ_ID_NONE, "1 is elsewhere");
	tap_eq_i64(place_of(&w, 2, 0).node.v, 0, "2, which may not be moved, stays");
	tap_eq_i64(place_of(&w, 3, 0).node.v, 2, "3 is off the bad device's node");
	rules(&w, "repack-vacate=0");
	world_free(&w);
}

static struct wz_str exported(struct world *w, struct wz_buf *b)
{
	wz_buf_init(b, &w->f.mem, 1 << 24);
	tap_eq_i64(wz_core_export(w->c, b, &w->err), 0, "export");
	return wz_buf_str(b);
}

/* A question, or a step that found nothing or whose plan was not applied, leaves the state as it was, to the last list. */
static void test_no_trace(void)
{
	struct world w;
	struct wz_buf a, b;
	struct wz_core *copy = NULL;
	bool same = false;
	two_halves(&w, MOVABLE);
	run_on(&w, 5, "cpus=1" MOVABLE, 0, 2);
	run_on(&w, 6, "cpus=1" MOVABLE, 0, 2);
	ask(&w, "");
	world_apply(&w, &(struct wz_event){.kind = WZ_EV_STEP});
	exported(&w, &a);
	tap_eq_i64(wz_core_decide(w.c, 0, &w.plan, &w.err), 0, "decide");
	tap_ok(count(&w, WZ_EF_PREEMPT) > 0, "it has a plan");
	exported(&w, &b);
	tap_ok(wz_str_eq(wz_buf_str(&a), wz_buf_str(&b)), "decide left no trace");
	wz_buf_release(&b);
	for (uint32_t i = 0; i < w.plan.n; i++)
		tap_eq_i64(apply_effect(&w, &w.plan.effect[i]), 0, "the plan applies");
	wz_buf_release(&a);
	exported(&w, &a); /* in the middle of a move */
	tap_eq_i64(
	        wz_core_import(&w.f.mem, NULL, wz_buf_str(&a), &copy, &same, &w.err), 0, "import: %s", w.err.text);
	tap_ok(copy && same && wz_core_digest(copy) == wz_core_digest(w.c), "the same digest");
	wz_core_free(copy);
	wz_buf_release(&a);
	world_free(&w);
}

/* ---- random clusters with faults ---- */

struct run {
	struct world w;
	struct wz_rng rng;
	uint64_t n_jobs, moves, asked;
	uint64_t pending[256];
	uint32_t n_pending;
};

static void random_answer(struct run *r, unsigned loss)
{
	for (uint32_t i = 0; i < r->w.plan.n; i++) {
		uint32_t k = r->w.plan.effect[i].kind;
		if ((k == WZ_EF_START || k == WZ_EF_STOP || k == WZ_EF_PREEMPT) &&
		        wz_rng_below(&r->rng, 100) >= loss && r->n_pending < 256)
			r->pending[r->n_pending++] = r->w.plan.effect[i].id;
	}
	for (uint32_t i = 0; i < r->n_pending;) {
		if (wz_rng_below(&r->rng, 3) == 0) {
			i++;
			continue;
		}
		ack(&r->w, WZ_EV_EFFECT_CONFIRMED, r->pending[i]);
		r->pending[i] = r->pending[--r->n_pending];
	}
}

static void random_run(uint64_t seed, unsigned loss)
{
	static const char *const shapes[] = {"gpus=1 cpus=4", "gpus=2 cpus=8", "gpu-share=50% cpus=2",
	        "gpu-share=30% cpus=6", "cpus=8", "gpus=1 cpus=16"};
	const struct dev four[] = {{.model = "T4"}, {.model = "T4"}, {.model = "T4"}, {.model = "T4"}};
	struct run r = {.n_jobs = 0};
	uint64_t waiting = 0;

	wz_rng_seed(&r.rng, seed);
	world_init_opt(&r.w, (struct wz_core_options){.seed = seed,
	                             .policy = "worstfit",
	                             .start_timeout_us = 20 * SECOND,
	                             .stop_timeout_us = 20 * SECOND});
	rules(&r.w, "repack-interval-us=0 launch-failures-max=0 launch-backoff-us=0");
	for (uint32_t n = 0; n < 6; n++)
		node_like(&r.w, n, 2 + n % 3, four, (struct wz_ev_node){.cpu_milli = 24000});
	for (unsigned t = 1; t <= 60; t++) {
		r.w.now += 3 * SECOND;
		if (t <= 30) {
			char text[128];
			snprintf(text, sizeof(text), "%s%s", shapes[wz_rng_below(&r.rng, 6)],
			        wz_rng_below(&r.rng, 4) ? MOVABLE : "");
			submit(&r.w, ++r.n_jobs, text);
			if (wz_rng_below(&r.rng, 4) == 0) {
				ask(&r.w, "moves=4");
				r.asked += 4;
			}
		}
		step(&r.w);
		for (uint32_t i = 0; i < r.w.plan.n; i++)
			r.moves += r.w.plan.effect[i].kind == WZ_EF_PREEMPT &&
			           (r.w.plan.effect[i].place.devices || r.w.plan.effect[i].place.cpu);
		random_answer(&r, loss);
	}
	for (unsigned t = 0; t < 60; t++) { /* and then everybody answers */
		r.w.now += 30 * SECOND;
		step(&r.w);
		random_answer(&r, 0);
	}
	tap_ok(r.moves <= r.asked, "seed %" PRIu64 ": %" PRIu64 " moves of %" PRIu64, seed, r.moves, r.asked);
	for (uint64_t j = 1; j <= r.n_jobs; j++) {
		int s = state_of(&r.w, j);
		tap_ok(s >= 0, "seed %" PRIu64 ": job %" PRIu64 " is lost", seed, j);
		waiting += s == WZ_JOB_WAITING;
		if (s == WZ_JOB_WAITING)
			tap_ok(why(&r.w, j).main != WZ_REASON_NONE,
			        "seed %" PRIu64 ": job %" PRIu64 " waits though it fits", seed, j);
	}
	tap_ok(waiting < r.n_jobs, "some run");
	world_free(&r.w);
}

/* Perfect hands: whoever ran before a plan runs after it, and whoever was promised a slot has it. */
static void kept_run(uint64_t seed, uint64_t *opened)
{
	struct world w;
	struct wz_rng rng;
	uint64_t job = 0;

	wz_rng_seed(&rng, seed);
	world_init_opt(&w, (struct wz_core_options){.seed = seed, .policy = "worstfit"});
	rules(&w, "repack-interval-us=0");
	for (uint32_t n = 0; n < 5; n++)
		node_of(&w, n, 4, "T4");
	for (unsigned t = 0; t < 40; t++) {
		static const char *const shapes[] = {"gpus=1 cpus=4" MOVABLE, "gpu-share=60% cpus=4" MOVABLE,
		        "gpu-share=30% cpus=2" MOVABLE, "gpus=4 cpus=4" MOVABLE};
		uint64_t promised[16], running[64];
		unsigned n = 0, n_run = 0;
		submit(&w, ++job, shapes[wz_rng_below(&rng, 4)]);
		step(&w);
		answer(&w);
		for (uint64_t j = 1; j <= job; j++)
			if (state_of(&w, j) == WZ_JOB_RUNNING)
				running[n_run++] = j;
		if (state_of(&w, job) != WZ_JOB_WAITING)
			continue;
		ask(&w, "moves=6");
		step(&w);
		for (uint32_t i = 0; i < w.plan.n; i++)
			if (w.plan.effect[i].kind == WZ_EF_HOLD && n < 16)
				promised[n++] = w.plan.effect[i].job;
		answer(&w);
		step(&w);
		tap_eq_i64(count(&w, WZ_EF_STOP), 0, "nobody is evicted");
		answer(&w);
		for (unsigned i = 0; i < n; i++)
			tap_eq_i64(state_of(&w, promised[i]), WZ_JOB_RUNNING,
			        "seed %" PRIu64 ": job %" PRIu64 " has what was held", seed, promised[i]);
		for (unsigned i = 0; i < n_run; i++)
			tap_eq_i64(state_of(&w, running[i]), WZ_JOB_RUNNING,
			        "seed %" PRIu64 ": job %" PRIu64 " runs as before", seed, running[i]);
		*opened += state_of(&w, job) == WZ_JOB_RUNNING;
		if (state_of(&w, job) == WZ_JOB_WAITING)
			job_event(&w, WZ_EV_JOB_CANCELLED, job);
		ask(&w, "moves=1");
		at(&w, (t + 1) * 1000);
	}
	world_free(&w);
}

static void test_random_kept(void)
{
	uint64_t opened = 0;
	for (uint64_t seed = 1; seed <= 12; seed++)
		kept_run(seed, &opened);
	tap_ok(opened > 5, "slots were opened: %" PRIu64, opened);
}

static void test_random_faults(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		random_run(seed, seed % 2 ? 0 : 25);
}

int main(void)
{
	tap_run(test_one_move);
	tap_run(test_nobody_is_moved);
	tap_run(test_gain_and_cost);
	tap_run(test_budget);
	tap_run(test_exchange);
	tap_run(test_chain);
	tap_run(test_vacate);
	tap_run(test_no_trace);
	tap_run(test_random_kept);
	tap_run(test_random_faults);
	return tap_done();
}
