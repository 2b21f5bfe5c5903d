/* SPDX-License-Identifier: Apache-2.0 */
/* Case 9: low priority gets in first at the queue door. There is one ordered admission and no budget before it that jobs which
 * cannot start could use up: twenty low jobs that cannot be placed do not keep a high one from starting in the next step, nor
 * does a limit of running jobs count those that only wait. */
#include "core/queues.h"

static void test_door(void)
{
	struct world w;
	struct wz_profile p;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	queue_set(&w, "q", "limit=gpu:5 user-running=2");
	for (uint64_t j = 1; j <= 20; j++)
		submit_as(&w, j, "low", "q", j % 2 ? "gpus=8 time=1h" : "gpus=1 gpu-type=a100 time=1h");
	run_step(&w);
	p = profile(&w, "gpus=4 time=1h");
	world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                        .u.submit = {.job = 100,
	                                .user = WZ_STR("low"),
	                                .queue = WZ_STR("q"),
	                                .priority = 10,
	                                .profile = &p}});
	run_step(&w);
	tap_eq_i64(state_of(&w, 100), WZ_JOB_RUNNING, "starts in the next step");
	tap_eq_i64(info_of(&w, 1).state, WZ_JOB_WAITING, "the others wait");
	world_free(&w);
}

int main(void)
{
	tap_run(test_door);
	return tap_done();
}
