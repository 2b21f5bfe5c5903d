/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of this folder, for table.c. Each file is one policy and opens with its formula and source; the page
 * docs/internals/policies.md compares them.
 *
 * Letters, as in the literature: c a are the free and asked milli CPU, R q the free and asked milli GPU of a node. The
 * published scores divide by fixed amounts, the largest node of their cluster; they are kept, so larger nodes may score
 * outside 0..100, which orders them as well. */
#ifndef WZ_CORE_POLICIES_POLICIES_H
#define WZ_CORE_POLICIES_POLICIES_H

#include "core/policy.h"

#define WZ_NORM_CPU 128000 /* milli CPU */
#define WZ_NORM_GPU 8000 /* milli GPU */
#define WZ_NORM_RATIO (WZ_NORM_CPU / WZ_NORM_GPU)

extern const struct wz_policy wz_policy_bestfit, wz_policy_clustering, wz_policy_dotprod, wz_policy_fgd,
        wz_policy_fgd_exact, wz_policy_firstfit, wz_policy_jigsaw, wz_policy_kube_least, wz_policy_kube_most,
        wz_policy_packing, wz_policy_random, wz_policy_worstfit, wz_policy_yarn;

static inline int64_t wz_need_milli(const struct wz_view *v) { return (int64_t)v->need.count * v->need.milli; }

#endif
