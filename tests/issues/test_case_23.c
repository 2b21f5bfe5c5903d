/* SPDX-License-Identifier: Apache-2.0 */
/* Case 23: amounts of device memory are exact bytes of what the card reports, not parts of a data sheet. For ten sizes of
 * cards as many tasks run as fit by whole division, and not one more; a percentage is of the card at hand. */
#include "core/world.h"

static void fill(int64_t card_mib, int64_t task_mib)
{
	struct world w;
	int64_t fit = card_mib / task_mib, used = 0;
	char text[64];
	world_init(&w);
	node_like(&w, 0, 1, &(struct dev){.model = "T4", .mem = card_mib << 20},
	        (struct wz_ev_node){.cpu_milli = 1000000});
	snprintf(text, sizeof text, "gpu-share=1%% gpu-mem=%" PRId64 "Mi", task_mib);
	for (int64_t j = 1; j <= fit + 1; j++)
		submit(&w, (uint64_t)j, text);
	tap_eq_i64(run_step(&w), fit, "%" PRId64 " MiB: tasks of %" PRId64 " MiB", card_mib, task_mib);
	used = fit * task_mib;
	tap_eq_i64(wz_core_model(w.c)->dev_mem[0], (card_mib - used) << 20, "the rest to the byte");
	tap_eq_i64(why(&w, (uint64_t)fit + 1).main, WZ_REASON_SHARE, "and why the next one waits");
	world_free(&w);
}

static void test_exact(void)
{
	static const int64_t cards[] = {11441, 15360, 16276, 22731, 24564, 40960, 46068, 49140, 81559, 97871};
	fill(46068, 2000); /* 23, not the 24 that 5 % each would be */
	for (unsigned i = 0; i < sizeof cards / sizeof cards[0]; i++) {
		fill(cards[i], 2000);
		fill(cards[i], 1021);
		fill(cards[i], cards[i] / 3);
		fill(cards[i], cards[i]);
	}
}

/* Of a card that has less than the data sheet says, half is half of what it has. */
static void test_percent(void)
{
	struct world w;
	world_init(&w);
	node_like(&w, 0, 1, &(struct dev){.model = "T4", .mem = 15001}, (struct wz_ev_node){.cpu_milli = 64000});
	submit(&w, 1, "gpu-share=50% cpus=1");
	submit(&w, 2, "gpu-share=50% cpus=1");
	tap_eq_i64(run_step(&w), 2, "two halves");
	tap_ok(wz_core_model(w.c)->dev_mem[0] >= 0, "of what there is");
	world_free(&w);
}

int main(void)
{
	tap_run(test_exact);
	tap_run(test_percent);
	return tap_done();
}
