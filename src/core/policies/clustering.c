/* SPDX-License-Identifier: Apache-2.0 */
/* GpuClustering: keeps tasks of one kind together. trunc(base + 25 (8000 - R) / 8000), where base is 75 when the node
 * hosts only tasks of the same kind (kinds: shared, 1, 2, 4, 8 devices), 50 when others too, 25 when it hosts no GPU
 * task, 0 when only other kinds. A CPU-only task scores 0 everywhere. Source: the GpuClustering baseline of the FGD
 * artefact (after Gandiva, OSDI 2018). */
#include "core/policies/policies.h"

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	if (v->need.count == 0)
		return 0;
	uint8_t same = (uint8_t)(1u << wz_task_kind(v->need.count, v->need.milli));
	uint8_t hosted = v->node->kinds;
	int64_t base = hosted == 0 ? 25 : hosted == same ? 75 : (hosted & same) ? 50 : 0;
	return (base * WZ_NORM_GPU + 25 * (WZ_NORM_GPU - (int64_t)v->node->gpu_free)) / WZ_NORM_GPU;
}

const struct wz_policy wz_policy_clustering = {
        .name = "clustering",
        .summary = "nodes that host tasks of the same number of devices",
        .scope = WZ_SCOPE_NODE,
        .score = score,
};
