/* SPDX-License-Identifier: Apache-2.0 */
/* Case 5: what a failed attempt of a gang had in flight dies with it. A gang of 8; the start of one task is refused, lost, or
 * its node leaves, at 10,000 random points; the table of effects in flight is empty afterwards, nothing is held, and the next
 * try succeeds. */
#include "core/world.h"

#include "base/rng.h"

static void test_refused_start(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 8; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=8");
	step(&w);
	ack(&w, WZ_EV_EFFECT_REFUSED, plan_id(&w, WZ_EF_START, 1, 5));
	run_step(&w); /* the stops of the other seven */
	tap_eq_i64(wz_core_flights(w.c, NULL, 0), 0, "nothing is in flight");
	tap_eq_i64((int64_t)stats(&w).gpu_milli_held, 0, "nothing is held");
	at(&w, 10); /* the pause after a failed launch */
	tap_eq_i64(run_step(&w), 8, "the next try succeeds");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "and runs");
	world_free(&w);
}

static void answer(
        struct wz_core *c, struct wz_rng *rng, const struct wz_plan *plan, uint64_t now, uint32_t break_at)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		struct wz_event e = {
		        .kind = WZ_EV_EFFECT_CONFIRMED, .time_us = now, .u.effect.effect = plan->effect[i].id};
		if (plan->effect[i].kind == WZ_EF_EXPLAIN || plan->effect[i].kind == WZ_EF_RESIZE)
			continue;
		if (i == break_at && wz_rng_below(rng, 3) == 0)
			continue; /* never answered */
		if (i == break_at && wz_rng_below(rng, 2) == 0)
			e.kind = WZ_EV_EFFECT_REFUSED;
		else if (i == break_at)
			e = (struct wz_event){.kind = WZ_EV_TASK_ENDED,
			        .time_us = now,
			        .u.task = {.job = plan->effect[i].job,
			                .task = plan->effect[i].task,
			                .attempt = plan->effect[i].attempt,
			                .end = WZ_END_FAILED,
			                .requeue = true}};
		tap_ok(wz_core_apply(c, &e, NULL) == 0, "an answer");
	}
}

static void test_random_points(void)
{
	struct world w;
	struct wz_rng rng;
	uint64_t now = SECOND;
	world_init(&w);
	wz_rng_seed(&rng, 5);
	for (uint32_t n = 0; n < 9; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=8");
	for (unsigned point = 0; point < 10000; point++) {
		bool breaks = point % 3 == 0;
		now += 61 * SECOND; /* whatever was not answered falls due */
		struct wz_event e = {.kind = WZ_EV_STEP, .time_us = now};
		tap_ok(wz_core_apply(w.c, &e, NULL) == 0 && wz_core_decide(w.c, 0, &w.plan, NULL) == 0, "a step");
		for (uint32_t i = 0; i < w.plan.n; i++)
			tap_ok(wz_core_apply_effect(w.c, &w.plan.effect[i], NULL) == 0, "what was decided applies");
		answer(w.c, &rng, &w.plan, now, breaks ? (uint32_t)wz_rng_below(&rng, 8) : WZ_ID_NONE);
		if (breaks || state_of(&w, 1) != WZ_JOB_RUNNING)
			continue;
		tap_ok(wz_core_flights(w.c, NULL, 0) == 0 && info_of(&w, 1).tasks_placed == 8,
		        "point %u: it runs whole", point);
		e = (struct wz_event){.kind = WZ_EV_TASK_ENDED,
		        .time_us = now,
		        .u.task = {.job = 1,
		                .task = 0,
		                .attempt = wz_core_task_attempt(w.c, 1, 0),
		                .end = WZ_END_FAILED,
		                .requeue = true}};
		tap_ok(wz_core_apply(w.c, &e, NULL) == 0, "and is broken again");
	}
	world_check(&w);
	now += 61 * SECOND;
	for (unsigned i = 0; i < 4; i++) {
		struct wz_event e = {.kind = WZ_EV_STEP, .time_us = now};
		tap_ok(wz_core_apply(w.c, &e, NULL) == 0 && wz_core_decide(w.c, 0, &w.plan, NULL) == 0, "a step");
		for (uint32_t k = 0; k < w.plan.n; k++)
			tap_ok(wz_core_apply_effect(w.c, &w.plan.effect[k], NULL) == 0, "what was decided applies");
		answer(w.c, &rng, &w.plan, now, WZ_ID_NONE);
	}
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "when nothing breaks it, it runs");
	tap_eq_i64(wz_core_flights(w.c, NULL, 0), 0, "with nothing in flight");
	world_free(&w);
}

int main(void)
{
	tap_run(test_refused_start);
	tap_run(test_random_points);
	return tap_done();
}
