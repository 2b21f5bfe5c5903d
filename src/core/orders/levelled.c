/* SPDX-License-Identifier: Apache-2.0 */
/* levelled, the default: a job stands on a level by the service it is expected to take, and first come counts on a level.
 *
 *	service = gpus x max(predicted run time, progress)
 *	level   = number of steps first x base^k that the service has reached
 *	key     = (2 x level + (waits ? 1 : 0), submission)
 *
 * Predictions serve to place a job on a coarse scale only; a job that overruns its prediction sinks as one without. A running
 * job gives way only to a job of a lower level, and not within its quantum. docs/internals/orders.md says how the constants
 * were chosen, and on what. */
#include "core/orders/orders.h"

#include "base/fix.h"

enum { P_BASE, P_FIRST, P_QUANTUM };

static int init(struct wz_order *o, struct wz_err *err)
{
	(void)err;
	wz_order_steps(o, o->param[P_FIRST] * 1000, o->param[P_BASE], 16);
	return 0;
}

static int64_t expected_us(const struct wz_order_job *j)
{
	return j->predict_us > j->done_us ? j->predict_us : j->done_us;
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t level = wz_order_level(o, wz_order_service(j, expected_us(j)));

	if (j->running && (j->fixed || now - j->start_us < o->param[P_QUANTUM] * 1000))
		return (struct wz_okey){WZ_ORDER_FIRST, j->submit_us};
	return (struct wz_okey){2 * level + !j->running, j->submit_us};
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t quantum = j->start_us + o->param[P_QUANTUM] * 1000;
	uint32_t level;

	if (!j->running)
		return WZ_ORDER_NEVER;
	if (now < quantum)
		return quantum;
	level = wz_order_level(o, wz_order_service(j, expected_us(j)));
	return level == o->n_steps ? WZ_ORDER_NEVER : wz_order_when(j, o->step[level], j->done_us, now);
}

const struct wz_order_rule wz_order_levelled = {.name = "levelled",
        .summary = "levels of expected service, first come on a level; preempts rarely (default)",
        .flags = WZ_ORDER_PREEMPTS,
        .param = {{"base", "a level is so many times the one below", 4000, 1100, 100000},
                {"first", "end of the lowest level, GPU-seconds", 600000, 1000, 1000000000},
                {"quantum", "seconds that a job runs at least", 600000, 0, 86400000}},
        .init = init,
        .key = key,
        .change = change};
