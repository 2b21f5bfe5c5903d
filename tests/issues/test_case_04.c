/* SPDX-License-Identifier: Apache-2.0 */
/* Case 4: the minimum of a gang is live. Running 4 of 4: raised to 6 it runs on, lowered to 2 it survives losses at once;
 * surplus tasks are elastic. Nobody is evicted by an edit. */
#include "core/world.h"

static void no_stops(struct world *w)
{
	step(w);
	for (uint32_t i = 0; i < w->plan.n; i++)
		tap_ok(w->plan.effect[i].kind != WZ_EF_STOP, "nobody is stopped");
	confirm_plan(w);
}

static void test_live_minimum(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 4; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=4");
	tap_eq_i64(run_step(&w), 4, "4 of 4 run");
	tap_eq_i64(resize(&w, 1, "", 6, 8), 0, "raised to 6");
	no_stops(&w);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "it runs on with 4");
	world_restart(&w);
	for (uint32_t n = 4; n < 7; n++)
		node_of(&w, n, 1, "T4");
	tap_eq_i64(run_step(&w), 3, "three more, with the numbers that follow");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 7, "7 of 6 to 8");
	tap_ok(plan_find(&w, WZ_EF_RESIZE, 1, 7) != NULL, "and it is told that it has 7");
	for (uint32_t t = 4; t < 7; t++)
		tap_ok(place_of(&w, 1, t).node.v != WZ_ID_NONE, "task %u is placed", t);
	tap_eq_i64(resize(&w, 1, "", 2, 4), 0, "lowered to 2 to 4");
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_RESIZE, 1, 4) != NULL, "it is told that it has 4");
	step(&w);
	for (uint32_t t = 4; t < 7; t++)
		tap_ok(plan_find(&w, WZ_EF_STOP, 1, t) != NULL, "task %u, of the highest numbers, is stopped", t);
	for (uint32_t t = 0; t < 4; t++)
		tap_ok(!plan_find(&w, WZ_EF_STOP, 1, t), "task %u is not", t);
	confirm_plan(&w);
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, true);
	task_event(&w, WZ_EV_TASK_ENDED, 1, 3, 1, WZ_END_FAILED, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "two are enough now");
	tap_eq_i64(run_step(&w), 2, "and two are replaced");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, true);
	tap_eq_i64(info_of(&w, 1).tasks_placed, 4, "an old report of task 0 does nothing to the new one");
	tap_eq_i64(wz_core_task_attempt(w.c, 1, 0), 2, "which is of another attempt");
	tap_eq_i64(wz_core_task_attempt(w.c, 1, 1), 1, "than its neighbours");
	world_free(&w);
}

int main(void)
{
	tap_run(test_live_minimum);
	return tap_done();
}
