/* SPDX-License-Identifier: Apache-2.0 */
/* Two-dimensional least attained service, discretised: Tiresias (Gu et al., NSDI 2019), as its released simulator and Muri's
 * run it. Queues by attained service; inside a queue those with devices come first, in the order in which they got them,
 * then those without, in the order in which they came or lost them. A demoted job goes to the end of the next queue. The
 * simulator counts devices in this policy, whatever the placement, and reckons the moment of a demotion in whole seconds.
 *
 * `las2d-damped`: four queues, a quantum, and hysteresis: the ablation of section 5 of the survey. */
#include "core/orders/orders.h"

#include "base/fix.h"

enum { P_Q1, P_Q2, P_Q3, P_QUANTUM, P_HYSTERESIS };

static int init(struct wz_order *o, struct wz_err *err)
{
	(void)err;
	for (o->n_steps = 0; o->n_steps < 3 && o->param[o->n_steps]; o->n_steps++)
		o->step[o->n_steps] = o->param[o->n_steps] * 1000;
	return 0;
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o, (void)now;
	if (j->running && j->fixed)
		return (struct wz_okey){WZ_ORDER_FIRST, j->mark};
	return j->key;
}

static void event(struct wz_order *o, struct wz_order_job *j, enum wz_order_event e, int64_t now)
{
	(void)now;
	if (e == WZ_ORDER_SUBMITTED)
		j->key = (struct wz_okey){1, o->tail++};
	else if (e == WZ_ORDER_SETTLED)
		j->key = (struct wz_okey){2 * (int64_t)j->level, o->rank++};
	else if (j->key.a % 2 == 0) /* else it had not settled since its demotion, and stays where it stands */
		j->key = (struct wz_okey){2 * (int64_t)j->level + 1, --o->head};
}

static int64_t threshold_us(const struct wz_order *o, const struct wz_order_job *j)
{
	int64_t per = (o->step[j->level] + j->gpus - 1) / j->gpus;

	return (per + WZ_SECOND_US - 1) / WZ_SECOND_US * WZ_SECOND_US;
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t left;

	if (!j->running || j->level >= (int32_t)o->n_steps)
		return WZ_ORDER_NEVER;
	left = threshold_us(o, j) - j->held_us;
	return left <= 0 ? now + 1 : now + left;
}

static void advance(struct wz_order *o, struct wz_order_job *j, int64_t now)
{
	(void)now;
	if (!j->running || j->level >= (int32_t)o->n_steps || wz_order_service(j, j->held_us) < o->step[j->level])
		return;
	j->level++;
	j->key = (struct wz_okey){2 * (int64_t)j->level + 1, o->tail++};
}

const struct wz_order_rule wz_order_las2d = {.name = "las2d",
        .summary = "Tiresias: least attained service in queues; preempts",
        .flags = WZ_ORDER_PREEMPTS | WZ_ORDER_COUNTS,
        .param = {{"q1", "end of the first queue, GPU-seconds", 3250000, 0, 1000000000000},
                {"q2", "end of the second; 0: none", 7200000, 0, 1000000000000},
                {"q3", "end of the third; 0: none", 0, 0, 1000000000000}},
        .init = init,
        .key = key,
        .change = change,
        .event = event,
        .advance = advance};

static struct wz_okey damped_key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t s = wz_order_service(j, j->done_us);

	if (!j->running)
		return (struct wz_okey){wz_order_level(o, s), j->submit_us};
	if (j->fixed || now - j->start_us < o->param[P_QUANTUM] * 1000)
		return (struct wz_okey){WZ_ORDER_FIRST, j->submit_us};
	return (struct wz_okey){wz_order_level(o, wz_muldiv(s, 1000, o->param[P_HYSTERESIS])), j->submit_us};
}

static int64_t damped_change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t s = wz_muldiv(wz_order_service(j, j->done_us), 1000, o->param[P_HYSTERESIS]);
	uint32_t level = wz_order_level(o, s);

	if (!j->running)
		return WZ_ORDER_NEVER;
	if (now - j->start_us < o->param[P_QUANTUM] * 1000)
		return j->start_us + o->param[P_QUANTUM] * 1000;
	if (level == o->n_steps)
		return WZ_ORDER_NEVER;
	return wz_order_when(j, wz_muldiv(o->step[level], o->param[P_HYSTERESIS], 1000), j->done_us, now);
}

const struct wz_order_rule wz_order_las2d_damped = {.name = "las2d-damped",
        .summary = "four queues of attained service with a quantum and hysteresis; preempts",
        .flags = WZ_ORDER_PREEMPTS,
        .param = {{"q1", "end of the first queue, GPU-seconds", 3250000, 0, 1000000000000},
                {"q2", "end of the second; 0: none", 18000000, 0, 1000000000000},
                {"q3", "end of the third; 0: none", 360000000, 0, 1000000000000},
                {"quantum", "seconds that a job runs at least", 600000, 0, 86400000},
                {"hysteresis", "a running job counts as so many times smaller", 2000, 1000, 100000}},
        .init = init,
        .key = damped_key,
        .change = damped_change};
