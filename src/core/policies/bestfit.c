/* SPDX-License-Identifier: Apache-2.0 */
/* BestFit: the node with the least left. s = trunc(100 (1 - ((c - a)/128000 + (R - q)/8000) / 2)), then min-max to
 * 0..100 over the feasible nodes in integer division. Source: the BestFit baseline of the FGD artefact.
 *
 * The min-max step never changes the choice: 100 (s - lo) / (hi - lo) is 100 for s = hi and below 100 for every smaller
 * s (all are 0 when all are equal). So the scope is NODE and an index may leave it out; it is here for those who print
 * scores. */
#include "base/fix.h"
#include "core/policies/policies.h"

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx;
	int64_t left = v->node->cpu_free - shape->cpu + WZ_NORM_RATIO * (v->node->gpu_free - wz_need_milli(v));
	return (2 * WZ_NORM_CPU - left) / (2 * WZ_NORM_CPU / 100);
}

static void normalise(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        int64_t *score_of, uint32_t n)
{
	(void)state, (void)ctx, (void)shape;
	int64_t lo = INT64_MAX, hi = INT64_MIN;
	for (uint32_t i = 0; i < n; i++) {
		lo = score_of[i] < lo ? score_of[i] : lo;
		hi = score_of[i] > hi ? score_of[i] : hi;
	}
	for (uint32_t i = 0; i < n; i++) /* one score for all: 0, as the artefact has it */
		score_of[i] = hi == lo ? 0 : wz_muldiv(score_of[i] - lo, 100, hi - lo);
}

const struct wz_policy wz_policy_bestfit = {
        .name = "bestfit",
        .summary = "the node with the least CPU and GPU left afterwards",
        .scope = WZ_SCOPE_NODE,
        .score = score,
        .normalise = normalise,
};
