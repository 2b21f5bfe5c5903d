/* SPDX-License-Identifier: Apache-2.0 */
/* levelled, the default: a job stands on a level by the service it is expected to take; on a level, first come counts.
 *
 *	expected = predicted run time; once progress is past `overrun` x that, or nothing is predicted: progress
 *	level    = steps first x base^k that gpus x expected has reached; without a prediction only every `stride`-th counts
 *	key      = (2 x level + 1, submission) for those that wait, (2 x level, submission) for those that run;
 *	           a running job without a prediction counts as one stride lower
 *
 * Predictions place a job on a coarse scale and serve for nothing else; one that was too short costs nothing until the job
 * has run several times as long, one that was too long never sends a running job away earlier than its level says. What is
 * not known is told apart on a coarser scale still, and a running job is then taken from only for one that is far smaller.
 * Nobody is taken from within its quantum. docs/internals/orders.md has the reasons, and what the constants were chosen on. */
#include "core/orders/orders.h"

#include "base/fix.h"

enum { P_BASE, P_FIRST, P_QUANTUM, P_OVERRUN, P_STRIDE };

static int init(struct wz_order *o, struct wz_err *err)
{
	(void)err;
	wz_order_steps(o, o->param[P_FIRST] * 1000, o->param[P_BASE], WZ_ORDER_STEPS_MAX);
	return 0;
}

static bool known(const struct wz_order *o, const struct wz_order_job *j)
{
	return j->predict_us > 0 && j->done_us < wz_muldiv(j->predict_us, o->param[P_OVERRUN], 1000);
}

static int64_t level_of(const struct wz_order *o, const struct wz_order_job *j)
{
	int64_t stride = o->param[P_STRIDE] / 1000;
	int64_t level = wz_order_level(o, wz_order_service(j, known(o, j) ? j->predict_us : j->done_us));

	return j->predict_us > 0 ? level : (level + stride - 1) / stride * stride;
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t level = level_of(o, j);

	if (!j->running)
		return (struct wz_okey){2 * level + 1, j->submit_us};
	if (j->fixed || now - j->start_us < o->param[P_QUANTUM] * 1000)
		return (struct wz_okey){WZ_ORDER_FIRST, j->submit_us};
	if (j->predict_us <= 0)
		level -= o->param[P_STRIDE] / 1000;
	return (struct wz_okey){2 * level, j->submit_us};
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t quantum = j->start_us + o->param[P_QUANTUM] * 1000;
	uint32_t step;

	if (!j->running)
		return WZ_ORDER_NEVER;
	if (now < quantum)
		return quantum;
	if (known(o, j))
		return wz_sat_add(now, wz_muldiv(j->predict_us, o->param[P_OVERRUN], 1000) - j->done_us);
	step = wz_order_level(o, wz_order_service(j, j->done_us));
	return step == o->n_steps ? WZ_ORDER_NEVER : wz_order_when(j, o->step[step], j->done_us, now);
}

const struct wz_order_rule wz_order_levelled = {.name = "levelled",
        .summary = "levels of expected service, first come on a level; preempts rarely (default)",
        .flags = WZ_ORDER_PREEMPTS,
        .param = {{"base", "a level is so many times the one below", 4000, 1100, 100000},
                {"first", "end of the lowest level, GPU-seconds", 600000, 1000, 1000000000},
                {"quantum", "seconds that a job runs at least", 1200000, 0, 86400000},
                {"overrun", "a job sinks once it ran so many times its prediction", 4000, 1000, 1000000},
                {"stride", "levels that count as one where nothing is predicted", 2000, 1000, 16000}},
        .init = init,
        .key = key,
        .change = change};
