/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/waterfill.h"

#include <stdbool.h>
#include <stddef.h>

static uint32_t log2_of(uint32_t gpus)
{
	return 31 - (uint32_t)__builtin_clz(gpus);
}

double wz_fill_speed(const struct wz_fill_job *j, uint32_t gpus)
{
	return j->speed[log2_of(gpus)] * (gpus == j->has || j->has == 0 ? 1 : j->keeps);
}

static bool can_double(const struct wz_fill_job *j, int64_t left)
{
	uint32_t k = j->want ? log2_of(j->want) : WZ_FILL_SIZES;

	return k + 1 < WZ_FILL_SIZES && j->want * 2 <= j->most && (int64_t)j->want <= left &&
	       j->speed[k + 1] > j->speed[k];
}

static double gain(const struct wz_fill_job *j)
{
	return (1 / wz_fill_speed(j, j->want) - 1 / wz_fill_speed(j, 2 * j->want)) * j->speed[0] / j->want;
}

int64_t wz_fill(struct wz_fill_job *job, uint32_t n, int64_t left)
{
	struct wz_fill_job *best;

	for (uint32_t i = 0; i < n; i++) {
		job[i].want = left > 0 ? 1 : 0;
		left -= job[i].want;
	}
	do {
		double most = 0;
		best = NULL;
		for (uint32_t i = 0; i < n; i++) {
			double g = can_double(&job[i], left) ? gain(&job[i]) : 0;
			if (g > most) {
				most = g;
				best = &job[i];
			}
		}
		if (best) {
			left -= best->want;
			best->want *= 2;
		}
	} while (best);
	return left;
}

int64_t wz_fill_stay(struct wz_fill_job *job, uint32_t n, int64_t left, double stay)
{
	for (uint32_t i = 0; i < n; i++) {
		struct wz_fill_job *j = &job[i];
		int64_t more = (int64_t)j->has - (int64_t)j->want;
		if (j->want && j->has && more != 0 && more <= left &&
		        wz_fill_speed(j, j->want) < stay * j->speed[log2_of(j->has)]) {
			left -= more;
			j->want = j->has;
		}
	}
	return left;
}
