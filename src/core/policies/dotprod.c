/* SPDX-License-Identifier: Apache-2.0 */
/* DotProd: trunc(100 (1 - x)), x = ((c/128000)(a/128000) + (R/8000)(q/8000)) / 2: the *smaller* product wins.
 * With 128000 = 16 x 8000, over one denominator: x = (c a + 256 R q) / (2 x 128000^2).
 * Source: the DotProd baseline of the FGD artefact (after Tetris, SIGCOMM 2014, whose larger product wins). */
#include "base/fix.h"
#include "core/policies/policies.h"

#define ONE (2LL * WZ_NORM_CPU * WZ_NORM_CPU)

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx;
	int64_t gpu = wz_need_milli(v) * v->node->gpu_free * (WZ_NORM_RATIO * WZ_NORM_RATIO);
	int64_t x = wz_sat_add(wz_sat_mul(v->node->cpu_free, shape->cpu), gpu);
	return (ONE - x) / (ONE / 100);
}

const struct wz_policy wz_policy_dotprod = {
        .name = "dotprod",
        .summary = "the node whose free CPU and GPU are least like what is asked",
        .scope = WZ_SCOPE_NODE,
        .score = score,
};
