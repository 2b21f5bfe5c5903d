/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/rng.h"
#include "os/mem.h"
#include "solver/share.h"

#include <math.h>

/* Two jobs, two types of one device: each is twice as fast on its own. All get all of what suits them. */
static void test_by_hand(void)
{
	struct wz_share_job j[2] = {
	        {.speed = {2, 1}, .weight = 1, .gpus = 1}, {.speed = {1, 2}, .weight = 1, .gpus = 1}};
	struct wz_share_problem p = {.job = j, .n = 2, .types = 2, .devices = {1, 1}};
	struct wz_err err = {0};
	double x[4] = {0}, v = 0;
	int r = wz_share_max_min(&p, wz_os_mem(), x, &v, &err);

	if (r == -EOPNOTSUPP)
		tap_skip("built without CLP");
	tap_ok(r == 0 && fabs(v - 2 / 1.5) < 1e-6, "%s: %f", err.text, v); /* the equal share makes 1.5 */
	tap_ok(x[0] > 0.999 && x[3] > 0.999, "each on its own type");
	j[0].gpus = 0;
	tap_ok(wz_share_max_min(&p, wz_os_mem(), x, &v, &err) == -EINVAL, "a job without devices is refused");
}

/* Random problems: the shares fit, and no job is below the objective; nothing beats it (every job at a larger one does not fit in a
 * weaker relaxation: the sum over types of the best use). */
static void test_random(void)
{
	struct wz_rng rng;
	wz_rng_seed(&rng, 9);
	for (int round = 0; round < 200; round++) {
		struct wz_share_job j[12];
		uint32_t n = 1 + (uint32_t)wz_rng_below(&rng, 12), types = 1 + (uint32_t)wz_rng_below(&rng, 3);
		struct wz_share_problem p = {.job = j, .n = n, .types = types};
		struct wz_err err = {0};
		double x[36] = {0}, v = 0, equal[WZ_SHARE_TYPES_MAX];
		for (uint32_t t = 0; t < types; t++)
			p.devices[t] = 1 + (uint32_t)wz_rng_below(&rng, 8);
		for (uint32_t m = 0; m < n; m++) {
			j[m] = (struct wz_share_job){.weight = 1,
			        .gpus = 1 + (uint32_t)wz_rng_below(&rng, 2),
			        .elapsed_s = (double)wz_rng_below(&rng, 5000),
			        .steps_left = 1 + (double)wz_rng_below(&rng, 100000)};
			for (uint32_t t = 0; t < types; t++)
				j[m].speed[t] = 1 + (double)wz_rng_below(&rng, 50);
		}
		for (int kind = 0; kind < 2; kind++) {
			int r = kind ? wz_share_finish_time(&p, wz_os_mem(), x, &v, &err)
			             : wz_share_max_min(&p, wz_os_mem(), x, &v, &err);
			if (r == -EOPNOTSUPP)
				tap_skip("built without CLP");
			tap_require(r == 0, "%s", err.text);
			for (uint32_t t = 0; t < types; t++) {
				double used = 0;
				for (uint32_t m = 0; m < n; m++)
					used += j[m].gpus * x[m * types + t];
				tap_ok(used <= p.devices[t] + 1e-6, "type %u holds %f of %u", t, used,
				        p.devices[t]);
			}
			for (uint32_t m = 0; m < n; m++) {
				double rate = 0, same = 0, time = 0;
				wz_share_equal(&p, m, equal);
				for (uint32_t t = 0; t < types; t++) {
					rate += j[m].speed[t] * x[m * types + t];
					same += j[m].speed[t] * equal[t];
					time += x[m * types + t];
				}
				tap_ok(time <= 1 + 1e-6, "a job has one place at a time");
				if (kind == 0)
					tap_ok(j[m].gpus * rate / same >= v - 1e-6, "job %u is below the objective",
					        m);
				else
					tap_ok((j[m].elapsed_s + j[m].steps_left / rate) /
					                        (j[m].elapsed_s + j[m].steps_left / same) <=
					                v * (1 + 1e-6),
					        "job %u ends late", m);
			}
			if (kind == 1)
				tap_ok(v <= 1 + 1e-6, "the equal share itself ends in time: %f", v);
		}
	}
}

int main(void)
{
	tap_run(test_by_hand);
	tap_run(test_random);
	return tap_done();
}
