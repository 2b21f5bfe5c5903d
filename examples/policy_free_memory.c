/* SPDX-License-Identifier: Apache-2.0 */
/* A worked example (HACKING.md, "a policy"): the mean percentage of free device memory, 0 to 100, so that work goes
 * where memory is. What a driver reports counts before what the ledger holds, since others may use the card too:
 *
 *	percent(d) = the live reading, else 100 x free bytes / size     (not known: the device is left out)
 *	score(n)   = mean of percent(d) over the healthy devices of n, rounded down; 0 when none is known */
#include "core/policy.h"

static int64_t free_percent(const struct wz_device *d, int64_t free_bytes)
{
	if (d->free_mem_pct <= 100)
		return d->free_mem_pct;
	if (d->mem <= 0)
		return -1;
	return free_bytes > 0 ? free_bytes * 100 / d->mem : 0; /* bytes are below 2^56: no overflow */
}

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	int64_t sum = 0, known = 0;
	for (uint32_t i = 0; i < v->node->n_dev; i++) {
		int64_t percent = v->dev[i].health == WZ_HEALTH_FAILED ? -1 : free_percent(&v->dev[i], v->mem[i]);
		if (percent < 0)
			continue;
		sum += percent;
		known++;
	}
	return known ? sum / known : 0;
}

const struct wz_policy wz_policy_free_memory = {
        .name = "free-memory",
        .summary = "the node with the largest mean percentage of free device memory",
        .scope = WZ_SCOPE_LIVE, /* it reads live figures */
        .score = score,
};
