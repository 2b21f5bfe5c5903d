/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that are decided in rounds on targets from outside (an LP, or water-filling): what is fixed here is the priority of
 * a job on a device type, given the share of time that is its target and the time that it received.
 *
 * Gavel (Narayanan et al., OSDI 2020), section 5: priority = target / received share; a job that received nothing goes first
 * among those with a target. `goodput` is elastic (sim/elastic). */
#include "core/orders/orders.h"

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){j->mark, j->submit_us};
}

const struct wz_order_rule wz_order_max_min = {.name = "max-min",
        .summary = "Gavel: max-min fair shares of device types, an LP a round",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_ROUNDS,
        .key = key};
const struct wz_order_rule wz_order_max_min_agnostic = {.name = "max-min-agnostic",
        .summary = "Gavel: the same as if all device types were alike",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_ROUNDS,
        .key = key};
const struct wz_order_rule wz_order_finish_time = {.name = "finish-time",
        .summary = "Gavel: finish-time fairness (Themis), LPs a round",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_ROUNDS | WZ_ORDER_ORACLE,
        .key = key};
const struct wz_order_rule wz_order_goodput = {.name = "goodput",
        .summary = "elastic jobs grow and shrink by marginal goodput, a step a round",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_ROUNDS,
        .key = key};
