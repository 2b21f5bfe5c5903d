/* SPDX-License-Identifier: Apache-2.0 */
/* Case 1: two gangs that together want more than there is never hold a part each. One transaction a gang, all or nothing, in
 * one step: 100 devices, two gangs of 60; then a job of 10 starts at once in what is left. 1,000 seeds: the order of nodes,
 * small work that runs already, refused and lost starts. */
#include "core/world.h"

#include "base/rng.h"

/* A world without the checks of every call: 1,000 lives. */
struct life {
	struct wz_core *c;
	struct wz_plan plan;
	struct wz_rng rng;
	uint64_t now;
};

static void apply(struct life *l, struct wz_event e)
{
	e.time_us = l->now;
	tap_ok(wz_core_apply(l->c, &e, NULL) == 0, "an event of kind %u", e.kind);
}

static void submit_gang(struct life *l, uint64_t job, const char *text)
{
	struct wz_profile p;
	tap_ok(wz_profile_parse(wz_str(text), wz_core_catalogue(l->c), &p, NULL) == 0, "%s", text);
	apply(l, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = job, .profile = &p}});
}

static uint32_t placed(const struct life *l, uint64_t job)
{
	struct wz_job_info i;
	return wz_core_job(l->c, job, &i) < 0 ? 0 : i.tasks_placed;
}

/* I4: all of it or nothing, unless it is being taken back. */
static void check_gangs(const struct life *l, uint64_t seed)
{
	uint32_t held[2] = {0};
	for (uint64_t job = 1; job <= 2; job++) {
		struct wz_job_info i;
		if (wz_core_job(l->c, job, &i) < 0)
			continue;
		held[job - 1] = i.tasks_placed;
		tap_ok(i.tasks_placed == 0 || i.tasks_placed == 60 || i.state == WZ_JOB_ENDING,
		        "seed %" PRIu64 ": gang %" PRIu64 " holds %u of 60", seed, job, i.tasks_placed);
	}
	tap_ok(held[0] + held[1] <= 100 && (held[0] < 60 || held[1] < 60), "seed %" PRIu64 ": both hold", seed);
}

static void step_of(struct life *l, uint64_t seed, unsigned refuse)
{
	apply(l, (struct wz_event){.kind = WZ_EV_STEP});
	tap_ok(wz_core_decide(l->c, 0, &l->plan, NULL) == 0, "decides");
	for (uint32_t i = 0; i < l->plan.n; i++)
		tap_ok(wz_core_apply_effect(l->c, &l->plan.effect[i], NULL) == 0, "what was decided applies");
	check_gangs(l, seed);
	for (uint32_t i = 0; i < l->plan.n; i++) {
		const struct wz_effect *e = &l->plan.effect[i];
		bool no = e->kind == WZ_EF_START && wz_rng_below(&l->rng, 1000) < refuse;
		if (e->kind == WZ_EF_EXPLAIN || e->kind == WZ_EF_RESIZE)
			continue;
		apply(l, (struct wz_event){.kind = no ? WZ_EV_EFFECT_REFUSED : WZ_EV_EFFECT_CONFIRMED,
		                 .u.effect.effect = e->id});
		check_gangs(l, seed);
	}
	l->now += SECOND;
}

static void one_life(uint64_t seed)
{
	struct fault_mem f;
	struct wz_core_options o = {.seed = seed};
	struct life l = {.now = 1};
	wz_model_id t4;
	fault_mem_init(&f);
	wz_plan_init(&l.plan, &f.mem);
	wz_rng_seed(&l.rng, seed);
	tap_require(wz_core_new(&f.mem, &o, &l.c, NULL) == 0, "a core");
	tap_ok(wz_catalogue_find(wz_core_catalogue(l.c), WZ_STR("T4"), &t4, NULL) == 0, "a model");
	for (uint32_t n = 0; n < 100; n++) {
		struct wz_device_facts d = {.model = t4, .mem_bytes = 16 * GI, .compute_milli = WZ_WHOLE};
		char name[] = {'n', (char)('0' + n / 10), (char)('0' + n % 10), 0};
		apply(&l, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                  .u.node = {.node = {n},
		                          .name = wz_str(name),
		                          .cpu_milli = 8000,
		                          .mem_bytes = 64 * GI,
		                          .n_devices = 1,
		                          .device = &d}});
	}
	submit_gang(&l, 1, "gpus=1 tasks=60");
	submit_gang(&l, 2, "gpus=1 tasks=60");
	step_of(&l, seed, seed % 4 ? 0 : 20);
	if (seed % 4) {
		tap_ok(placed(&l, 1) == 60 && placed(&l, 2) == 0,
		        "seed %" PRIu64 ": one runs, the other holds nothing", seed);
		submit_gang(&l, 3, "gpus=1 tasks=10");
		step_of(&l, seed, 0);
		tap_ok(placed(&l, 3) == 10 && placed(&l, 2) == 0, "seed %" PRIu64 ": the small one starts at once",
		        seed);
	}
	for (unsigned i = 0; i < 6; i++) {
		if (i == 2)
			apply(&l, (struct wz_event){.kind = WZ_EV_NODE_LEFT,
			                  .u.left.node = {(uint32_t)wz_rng_below(&l.rng, 100)}});
		if (i == 4 && placed(&l, 1))
			apply(&l, (struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = 1});
		step_of(&l, seed, seed % 4 ? 0 : 20);
	}
	tap_ok(wz_core_check(l.c, NULL) == 0, "seed %" PRIu64 ": the invariants", seed);
	wz_plan_release(&l.plan);
	wz_core_free(l.c);
	tap_ok(fault_mem_clean(&f), "nothing leaks");
}

static void test_two_gangs(void)
{
	for (uint64_t seed = 1; seed <= 1000; seed++)
		one_life(seed);
}

int main(void)
{
	tap_run(test_two_gangs);
	return tap_done();
}
