/* SPDX-License-Identifier: Apache-2.0 */
/* Worst fit, the mirror of BestFit: trunc(100 ((c - a)/128000 + (R - q)/8000) / 2), so the node with the most left; a
 * share takes the device with the most free compute, lowest index on ties. */
#include "core/policies/policies.h"

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx;
	int64_t left = v->node->cpu_free - shape->cpu + WZ_NORM_RATIO * (v->node->gpu_free - wz_need_milli(v));
	return left / (2 * WZ_NORM_CPU / 100);
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	if (v->need.count != 1)
		return wz_choose_tightest(v);
	uint32_t best = WZ_NODE_DEVICES_MAX;
	for (uint32_t i = 0; i < v->node->n_dev; i++)
		if (wz_device_fits(v, i) && (best == WZ_NODE_DEVICES_MAX || v->milli[i] > v->milli[best]))
			best = i;
	return best == WZ_NODE_DEVICES_MAX ? 0 : 1ULL << best;
}

const struct wz_policy wz_policy_worstfit = {
        .name = "worstfit",
        .summary = "the node with the most CPU and GPU left afterwards, the emptiest device",
        .scope = WZ_SCOPE_NODE,
        .score = score,
        .choose = choose,
};
