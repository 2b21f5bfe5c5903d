/* SPDX-License-Identifier: Apache-2.0 */
/* GpuPacking: devices in use before idle devices, before idle nodes. With n devices on the node:
 *
 *	all devices idle          max(33 - n, n)
 *	j > 0 idle devices used   max(33, 50 - j)          filled from the smallest fitting remainder
 *	else                      max(50, 100 - (sum of r/10 over the devices used) / 10)
 *
 * in integer divisions; a CPU-only task scores 0 everywhere. Source: the GpuPacking baseline of the FGD artefact
 * (after Salus, MLSys 2020, and Gandiva). */
#include "core/policies/policies.h"

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	int64_t n = v->node->n_dev, idle = 0, tenths = 0;
	if (v->need.count == 0)
		return 0;
	if (v->node->whole == n)
		return 33 - n > n ? 33 - n : n;
	for (uint64_t m = wz_choose_tightest(v); m; m &= m - 1) {
		int32_t r = v->milli[__builtin_ctzll(m)];
		idle += r == WZ_WHOLE;
		tenths += r / 10;
	}
	int64_t s = idle ? 50 - idle : 100 - tenths / 10, floor = idle ? 33 : 50;
	return s > floor ? s : floor;
}

const struct wz_policy wz_policy_packing = {
        .name = "packing",
        .summary = "devices in use first, then idle devices of nodes in use, then idle nodes",
        .scope = WZ_SCOPE_NODE,
        .score = score,
};
