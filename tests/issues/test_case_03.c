/* SPDX-License-Identifier: Apache-2.0 */
/* Case 3: members that are done count, they are not missing. A gang of 8 whose tasks end well one after the other is never
 * evicted; when one fails and is to run again, it is replaced within its own grace, or the gang starts anew after it. */
#include "core/world.h"

static void test_completed_members(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 8; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=8");
	tap_eq_i64(run_step(&w), 8, "all start");
	for (uint32_t t = 0; t < 8; t++) {
		at(&w, 30 * (t + 1));
		task_event(&w, WZ_EV_TASK_ENDED, 1, t, 1, WZ_END_COMPLETED, false);
		step(&w);
		for (uint32_t i = 0; i < w.plan.n; i++)
			tap_ok(w.plan.effect[i].kind != WZ_EF_STOP && w.plan.effect[i].kind != WZ_EF_START,
			        "nobody is stopped, nobody is replaced");
	}
	tap_eq_i64(state_of(&w, 1), -1, "the job is done");
	world_free(&w);
}

static void test_failed_member(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 8; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=8 repair=1m");
	run_step(&w);
	node_ready(&w, 3, true, true); /* no place for a replacement of the one that sits there */
	uint32_t lost = 0;
	while (place_of(&w, 1, lost).node.v != 3)
		lost++;
	at(&w, 10);
	task_event(&w, WZ_EV_TASK_ENDED, 1, lost, 1, WZ_END_FAILED, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "the others run on");
	tap_eq_i64((int64_t)wz_core_next_deadline(w.c), 70 * (int64_t)SECOND, "until its own grace is over");
	tap_eq_i64(run_step(&w), 0, "there is no room");
	world_restart(&w);
	at(&w, 69);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "still");
	at(&w, 70);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "then it starts anew");
	tap_eq_i64(info_of(&w, 1).end, WZ_END_FAILED, "for the reason of the loss");
	node_ready(&w, 3, true, false);
	run_step(&w);
	tap_eq_i64(run_step(&w), 8, "as a whole");
	world_free(&w);
}

int main(void)
{
	tap_run(test_completed_members);
	tap_run(test_failed_member);
	return tap_done();
}
