/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesLeastAllocated and NodeResourcesMostAllocated of kube-scheduler (1.20, which the FGD artefact is built
 * on) over the resources cpu and GPU milli with equal weights. Of each resource, with `used` including the asked:
 *
 *	least   (capacity - used) * 100 / capacity        most   used * 100 / capacity
 *
 * 0 when the capacity is 0 or exceeded; the score is the integer mean of both. Relative to the node, not to fixed
 * amounts as BestFit and worst fit are. The default device choice: Kubernetes itself knows no shares. */
#include "core/policies/policies.h"

static int64_t used_percent(int64_t free, int64_t asked, int64_t capacity, bool rest)
{
	int64_t used = capacity - free + asked;
	if (capacity <= 0 || used > capacity || used < 0)
		return 0;
	return (rest ? capacity - used : used) * 100 / capacity;
}

static int64_t mean_percent(const struct wz_shape *shape, const struct wz_view *v, bool rest)
{
	int64_t capacity = 0;
	for (uint32_t i = 0; i < v->node->n_dev; i++)
		capacity += wz_device_milli(&v->dev[i]);
	int64_t cpu = used_percent(v->node->cpu_free, shape->cpu, v->node->cpu, rest);
	int64_t gpu = used_percent(v->node->gpu_free, wz_need_milli(v), capacity, rest);
	return (cpu + gpu) / 2;
}

static int64_t score_least(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx;
	return mean_percent(shape, v, true);
}

static int64_t score_most(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx;
	return mean_percent(shape, v, false);
}

const struct wz_policy wz_policy_kube_least = {
        .name = "kube-least-allocated",
        .summary = "spread, as kube-scheduler does by default",
        .scope = WZ_SCOPE_NODE,
        .score = score_least,
};

const struct wz_policy wz_policy_kube_most = {
        .name = "kube-most-allocated",
        .summary = "bin-pack, as kube-scheduler's MostAllocated does",
        .scope = WZ_SCOPE_NODE,
        .score = score_most,
};
