/* SPDX-License-Identifier: Apache-2.0 */
/* Oracles that know run times: shortest job first without preemption, by service (sjf); shortest remaining time first (srtf)
 * and shortest remaining service first (srsf), preemptive, as Muri's simulator has them (Zhao et al., SIGCOMM 2022): at each
 * event everything is sorted and placed anew. */
#include "core/orders/orders.h"

static struct wz_okey by_service(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){wz_order_service(j, j->run_us), j->submit_us};
}

static int64_t left(const struct wz_order_job *j)
{
	return j->run_us > j->done_us ? j->run_us - j->done_us : 0;
}

static struct wz_okey by_time_left(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){j->fixed && j->running ? WZ_ORDER_FIRST : left(j), j->submit_us};
}

static struct wz_okey by_service_left(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){
	        j->fixed && j->running ? WZ_ORDER_FIRST : wz_order_service(j, left(j)), j->submit_us};
}

const struct wz_order_rule wz_order_sjf = {.name = "sjf",
        .summary = "smallest service first, known in advance; no preemption",
        .flags = WZ_ORDER_ORACLE,
        .key = by_service};
const struct wz_order_rule wz_order_srtf = {.name = "srtf",
        .summary = "shortest remaining time first, known in advance; preempts",
        .flags = WZ_ORDER_ORACLE | WZ_ORDER_PREEMPTS | WZ_ORDER_DRIFTS | WZ_ORDER_REPACKS,
        .key = by_time_left};
const struct wz_order_rule wz_order_srsf = {.name = "srsf",
        .summary = "shortest remaining service first, known in advance; preempts",
        .flags = WZ_ORDER_ORACLE | WZ_ORDER_PREEMPTS | WZ_ORDER_DRIFTS | WZ_ORDER_REPACKS,
        .key = by_service_left};
