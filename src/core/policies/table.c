/* SPDX-License-Identifier: Apache-2.0 */
/* All policies by name, and the two ways to choose devices that most of them share. */
#include "base/check.h"
#include "core/policies/policies.h"

const struct wz_policy *const wz_policies[] = {
        &wz_policy_jigsaw,
        &wz_policy_fgd,
        &wz_policy_fgd_exact,
        &wz_policy_bestfit,
        &wz_policy_firstfit,
        &wz_policy_packing,
        &wz_policy_clustering,
        &wz_policy_dotprod,
        &wz_policy_random,
        &wz_policy_worstfit,
        &wz_policy_kube_most,
        &wz_policy_kube_least,
        &wz_policy_yarn,
        NULL,
};

const struct wz_policy *wz_policy_find(struct wz_str name)
{
	for (const struct wz_policy *const *p = wz_policies; *p; p++)
		if (wz_str_eq(wz_str((*p)->name), name))
			return *p;
	return NULL;
}

uint64_t wz_choose_first(const struct wz_view *v)
{
	uint64_t mask = 0;
	uint32_t left = v->need.count;
	for (uint32_t i = 0; i < v->node->n_dev && left; i++)
		if (wz_device_fits(v, i)) {
			mask |= 1ULL << i;
			left--;
		}
	wz_check(left == 0); /* only a feasible node is asked */
	return mask;
}

uint64_t wz_choose_tightest(const struct wz_view *v)
{
	if (v->need.milli >= WZ_WHOLE)
		return wz_choose_first(v);
	uint64_t mask = 0;
	for (uint32_t k = 0; k < v->need.count; k++) {
		uint32_t best = WZ_NODE_DEVICES_MAX;
		for (uint32_t i = 0; i < v->node->n_dev; i++)
			if (!(mask >> i & 1) && wz_device_fits(v, i) &&
			        (best == WZ_NODE_DEVICES_MAX || v->milli[i] < v->milli[best]))
				best = i;
		wz_check(best < WZ_NODE_DEVICES_MAX);
		mask |= 1ULL << best;
	}
	return mask;
}
