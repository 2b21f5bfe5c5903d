/* SPDX-License-Identifier: Apache-2.0 */
/* Case 19: a node shrinks under what runs on it. 8 devices with 8 tasks; 6, 0 and 8 again are there: what asks for a device
 * is never placed while none is free, what asks for none always is, and as soon as one is free again it is used. */
#include "core/world.h"

static void left(struct world *w, unsigned n)
{
	for (unsigned i = 0; i < 8; i++)
		device_changed(
		        w, 0, i, (struct dev){.model = "T4", .health = i < n ? WZ_HEALTH_OK : WZ_HEALTH_FAILED});
}

static void cpu_job_starts(struct world *w, uint64_t job)
{
	submit(w, job, "cpus=1");
	step(w);
	tap_ok(plan_find(w, WZ_EF_START, job, 0) != NULL, "work without a device has a place");
	confirm_plan(w);
}

static void test_shrinks(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 8, "T4");
	for (uint64_t j = 1; j <= 8; j++)
		submit(&w, j, "gpus=1 cpus=1");
	tap_eq_i64(run_step(&w), 8, "full");
	submit(&w, 20, "gpus=1 cpus=1");
	for (unsigned n = 6;; n = 0) {
		left(&w, n);
		cpu_job_starts(&w, 30 + n);
		tap_ok(!plan_find(&w, WZ_EF_START, 20, 0), "no device is given out while %u of 8 are there", n);
		if (n == 0)
			break;
	}
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_DEVICE_LOST, false);
	step(&w);
	tap_ok(!plan_find(&w, WZ_EF_START, 20, 0), "an end on a dead device frees nothing");
	left(&w, 8);
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_START, 20, 0) != NULL, "it starts with the first step after they are back");
	world_free(&w);
}

int main(void)
{
	tap_run(test_shrinks);
	return tap_done();
}
