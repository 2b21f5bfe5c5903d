/* SPDX-License-Identifier: Apache-2.0 */
/* FGD, fragmentation gradient descent, as published: trunc(100 sigma((F before - F after) / 1000)), sigma the logistic
 * function; for a share the best over its fitting devices, and the device of the best *truncated* score. One step is
 * about 40 milli GPU of expected fragment near zero; what is closer is a tie, and the node order decides it. That is half
 * of its lead (docs/internals/policies.md). Source: Weng et al., "Beware of Fragmentation" (ATC 2023), artefact. */
#include "core/policies/frag.h"

static bool prepare(void *state, const struct wz_policy_ctx *ctx)
{
	return wz_frag_prepare(state, ctx);
}

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)ctx; /* truncation is monotone: the best device by difference has the best score */
	return wz_frag_score(state, wz_frag_best(state, shape, v, false, NULL));
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)ctx;
	uint64_t devices;
	wz_frag_best(state, shape, v, true, &devices);
	return devices;
}

const struct wz_policy wz_policy_fgd = {
        .name = "fgd",
        .summary = "least growth of fragments for the expected work, in the published integer steps",
        .scope = WZ_SCOPE_NODE,
        .told = true,
        .state_size = sizeof(struct wz_frag),
        .prepare = prepare,
        .score = score,
        .order_weight = wz_frag_order_weight,
        .choose = choose,
};
