/* SPDX-License-Identifier: Apache-2.0 */
/* The fragmentation measure of FGD (Weng et al., ATC 2023; the artefact's definition): how much of a node's free GPU the
 * target workload cannot use.
 *
 *	F(m) = R                               when target m takes no GPU or the node cannot serve it (model, devices, CPU)
 *	     = sum of r_g over r_g < d_m       otherwise
 *	F    = sum over targets of w_m F(m) / W
 *
 * Here F is kept times W, an exact int64. A served target leaves R - U(d) with U(d) = sum of r_g over r_g >= d, so
 *
 *	W F = W R - G,    G = sum over the sizes d asked of  U(d) x (weight of the served targets of size d)
 *
 * and a placement only moves G. Targets are grouped by size; a share on one device with remainder r changes U(d), and by
 * one the count of fitting devices, for d <= r alone, so all candidate devices of a node cost one pass over the targets.
 *
 * Plain data without pointers, cleared and refilled by prepare: the state of the policies fgd and fgd-exact. */
#ifndef WZ_CORE_POLICIES_FRAG_H
#define WZ_CORE_POLICIES_FRAG_H

#include "core/policies/policies.h"

#define WZ_FRAG_TARGETS_MAX 512u
#define WZ_FRAG_WORDS (WZ_FRAG_TARGETS_MAX / 64)

struct wz_frag {
	int64_t weight; /* W: of all targets, those without GPU included */
	int64_t step[100]; /* step[k]: the least weighted difference that scores k, for k in 1..99 */
	uint32_t n, n_sizes; /* targets that take GPU, sorted by size; their distinct sizes */
	int32_t size[WZ_FRAG_TARGETS_MAX]; /* milli of each device, ascending */
	uint16_t first[WZ_FRAG_TARGETS_MAX + 1]; /* targets of size s: first[s] .. first[s + 1] - 1 */
	uint16_t count[WZ_FRAG_TARGETS_MAX]; /* devices, CPU and weight of each target */
	int64_t cpu[WZ_FRAG_TARGETS_MAX];
	uint32_t w[WZ_FRAG_TARGETS_MAX];
	uint64_t takes[WZ_MODELS_MAX + 1]
	              [WZ_FRAG_WORDS]; /* by model: bit m, target m may use it; last: mixed, none */
};

/* Takes over the demand's mix. True when anything changed. O(targets x (sizes + models)). */
bool wz_frag_prepare(struct wz_frag *f, const struct wz_policy_ctx *ctx);

/* W x F of a node with this free CPU and these remainders. A node of mixed models serves unconstrained targets only. */
int64_t wz_frag_of(const struct wz_frag *f, const struct wz_node *node, int64_t cpu_free, const int32_t *milli);

/* W x (F before - F after) of placing on the best devices, which *ret_devices (may be NULL) names: for one device the one
 * with the best difference (`stepped`: the best integer score), lowest index on ties; else wz_choose_tightest. */
int64_t wz_frag_best(const struct wz_frag *f, const struct wz_shape *shape, const struct wz_view *v, bool stepped,
        uint64_t *ret_devices);

/* trunc(100 sigma(difference / 1000 W)), exactly: a binary search in step[]. */
int64_t wz_frag_score(const struct wz_frag *f, int64_t difference);

/* 0: the order of nodes enters only through ties (policy.h). */
int64_t wz_frag_order_weight(const void *state, const struct wz_shape *shape);

#endif
