/* SPDX-License-Identifier: Apache-2.0 */
/* FGD without truncation: W x (F before - F after), W the weight of all targets: the exact order of the real-valued
 * score ("FGD float": 94.25 % on openb where the truncated one reaches 95.26). For comparison. */
#include "core/policies/frag.h"

static bool prepare(void *state, const struct wz_policy_ctx *ctx)
{
	return wz_frag_prepare(state, ctx);
}

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)ctx;
	return wz_frag_best(state, shape, v, false, NULL);
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)ctx;
	uint64_t devices;
	wz_frag_best(state, shape, v, false, &devices);
	return devices;
}

const struct wz_policy wz_policy_fgd_exact = {
        .name = "fgd-exact",
        .summary = "least growth of fragments for the expected work, not rounded",
        .scope = WZ_SCOPE_NODE,
        .told = true,
        .state_size = sizeof(struct wz_frag),
        .prepare = prepare,
        .score = score,
        .order_weight = wz_frag_order_weight,
        .choose = choose,
};
