/* SPDX-License-Identifier: Apache-2.0 */
/* YARN placement as the Tiresias and Muri simulators have it (ms_yarn_placement, scheme "yarn"): the first node in
 * *declared* order, switch after switch, with enough free devices and CPU takes the whole task, on its lowest free
 * devices. A job wider than a node takes the first entirely idle nodes, then for the remainder the first node with room,
 * all under one switch; here that is a gang of node-wide tasks and this same rule, since only an idle node has room for
 * one. Bodies number nodes in the order of their declaration, so the score is minus the node's number. */
#include "core/policies/policies.h"

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)shape;
	return -(int64_t)(v->node - ctx->model->node);
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	return wz_choose_first(v);
}

const struct wz_policy wz_policy_yarn = {
        .name = "yarn",
        .summary = "the first feasible node in declared order, its first devices",
        .scope = WZ_SCOPE_NODE,
        .score = score,
        .choose = choose,
};
