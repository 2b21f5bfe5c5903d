/* SPDX-License-Identifier: Apache-2.0 */
/* By predicted service: the prediction as it was made, never "remaining", doubled while a job overruns it. `predicted`
 * preempts, damped by a quantum and by hysteresis (a running job counts as so many times smaller). `qssf` is Helios' (Hu et al.,
 * SC 2021): no preemption, nobody passes the head. A job without a prediction counts as its attained service. */
#include "core/orders/orders.h"

#include "base/fix.h"

enum { P_QUANTUM, P_HYSTERESIS };

static int64_t expected(const struct wz_order_job *j)
{
	int64_t run = j->predict_us;

	while (run > 0 && run <= j->done_us)
		run = wz_sat_mul(run, 2);
	return wz_order_service(j, run > j->done_us ? run : j->done_us);
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t s = expected(j);

	if (j->running) {
		if (j->fixed || now - j->start_us < o->param[P_QUANTUM] * 1000)
			return (struct wz_okey){WZ_ORDER_FIRST, j->submit_us};
		s = wz_muldiv(s, 1000, o->param[P_HYSTERESIS]);
	}
	return (struct wz_okey){s, j->submit_us};
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t quantum = j->start_us + o->param[P_QUANTUM] * 1000, run = j->predict_us;

	if (!j->running)
		return WZ_ORDER_NEVER;
	if (now < quantum)
		return quantum;
	if (run <= 0) /* attained service: looked at when it has grown by a quarter */
		run = j->done_us + j->done_us / 4 + WZ_SECOND_US;
	while (run <= j->done_us)
		run = wz_sat_mul(run, 2);
	return wz_sat_add(now, run - j->done_us);
}

const struct wz_order_rule wz_order_predicted = {.name = "predicted",
        .summary = "smallest predicted service first; preempts, damped",
        .flags = WZ_ORDER_PREEMPTS,
        .param = {{"quantum", "seconds that a job runs at least", 600000, 0, 86400000},
                {"hysteresis", "a running job counts as so many times smaller", 2000, 1000, 100000}},
        .key = key,
        .change = change};

static struct wz_okey qssf_key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	return (struct wz_okey){wz_order_service(j, j->predict_us > 0 ? j->predict_us : j->limit_us), j->submit_us};
}

const struct wz_order_rule wz_order_qssf = {.name = "qssf",
        .summary = "Helios: smallest predicted service first; nobody passes the head, no preemption",
        .flags = WZ_ORDER_BLOCKS,
        .key = qssf_key};
