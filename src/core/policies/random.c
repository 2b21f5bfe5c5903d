/* SPDX-License-Identifier: Apache-2.0 */
/* Random: one feasible node, drawn uniformly, gets 100, the others 0. A share takes a fitting device drawn uniformly.
 * Source: the Random baseline of Weng et al., "Beware of Fragmentation" (ATC 2023), artefact. */
#include "core/policies/policies.h"

#include <string.h>

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape, (void)v;
	return 0;
}

static void normalise(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        int64_t *score_of, uint32_t n)
{
	(void)state, (void)shape;
	if (n == 0)
		return;
	memset(score_of, 0, n * sizeof(*score_of));
	score_of[wz_rng_below(ctx->rng, n)] = 100;
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)shape;
	if (v->need.count != 1 || v->need.milli >= WZ_WHOLE)
		return wz_choose_tightest(v);
	uint32_t fitting[WZ_NODE_DEVICES_MAX], n = 0;
	for (uint32_t i = 0; i < v->node->n_dev; i++)
		if (wz_device_fits(v, i))
			fitting[n++] = i;
	return 1ULL << fitting[wz_rng_below(ctx->rng, n)];
}

const struct wz_policy wz_policy_random = {
        .name = "random",
        .summary = "any feasible node, any fitting device, with equal chance",
        .scope = WZ_SCOPE_RANK,
        .score = score,
        .normalise = normalise,
        .choose = choose,
};
