/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's multifactor priority with backfill (slurm.schedmd.com/priority_multifactor.html): a weighted sum of factors in 0..1,
 *
 *	age         waiting time / max-age, at most 1
 *	fair share  2^(-usage / share): usage of the user, halved each half-life; equal shares
 *	size        gpus / cluster
 *	priority    the job's own, taken as 0..1000
 *
 * recomputed every five minutes (PriorityCalcPeriod), and conservative backfill behind the head. */
#include "core/orders/orders.h"

#include "base/fix.h"
#include "base/fixlog.h"

enum { P_AGE, P_FAIR, P_SIZE, P_OWN, P_MAX_AGE, P_HALF_LIFE, P_DEPTH };

#define PERIOD_US (300 * (int64_t)WZ_SECOND_US)

static int init(struct wz_order *o, struct wz_err *err)
{
	size_t size = (o->n_users ? o->n_users : 1) * sizeof(*o->usage);

	o->usage = wz_mem_zalloc(o->mem, size);
	return o->usage ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the order's usage"));
}

static void release(struct wz_order *o)
{
	wz_mem_free(o->mem, o->usage, (o->n_users ? o->n_users : 1) * sizeof(*o->usage));
}

/* x / 2^(dt / half-life). */
static int64_t decayed(const struct wz_order *o, int64_t x, int64_t dt)
{
	int64_t q = wz_muldiv(dt, WZ_Q16, o->param[P_HALF_LIFE] * 1000);

	if (q >= 40 * WZ_Q16)
		return 0;
	return wz_muldiv(x, WZ_Q16, (int64_t)wz_exp2_q16((int32_t)q + 16 * WZ_Q16));
}

static void learn(struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	struct wz_order_usage *u = &o->usage[j->user < o->n_users ? j->user : 0];

	u->gpu_us = wz_sat_add(decayed(o, u->gpu_us, now - u->at_us), wz_order_service(j, j->held_us));
	u->at_us = now;
}

/* 2^(-usage / share) in milli. The share of a user is an equal part of what the cluster gives in a half-life. */
static int64_t fair_milli(const struct wz_order *o, uint32_t user, int64_t now)
{
	const struct wz_order_usage *u = &o->usage[user < o->n_users ? user : 0];
	int64_t share = wz_muldiv((int64_t)o->gpus, o->param[P_HALF_LIFE] * 1000, o->n_users ? o->n_users : 1);
	int64_t q = wz_muldiv(decayed(o, u->gpu_us, now - u->at_us), WZ_Q16, share > 0 ? share : 1);

	return q >= 16 * WZ_Q16 ? 0 : 1000 * (int64_t)WZ_Q16 / (int64_t)wz_exp2_q16((int32_t)q + 16 * WZ_Q16);
}

static struct wz_okey key(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	int64_t age = now - j->ready_us, max = o->param[P_MAX_AGE] * 1000, own = j->priority, p;

	own = own < 0 ? 0 : own > 1000 ? 1000 : own;
	p = o->param[P_AGE] * (age >= max ? 1000 : wz_muldiv(age, 1000, max));
	p += o->param[P_FAIR] * fair_milli(o, j->user, now);
	p += o->param[P_SIZE] * (int64_t)((uint64_t)j->gpus * 1000 / (o->gpus ? o->gpus : 1));
	p += o->param[P_OWN] * own;
	return (struct wz_okey){-p, j->submit_us};
}

static int64_t change(const struct wz_order *o, const struct wz_order_job *j, int64_t now)
{
	(void)o;
	return j->running ? WZ_ORDER_NEVER : (now / PERIOD_US + 1) * PERIOD_US;
}

const struct wz_order_rule wz_order_slurm = {.name = "slurm",
        .summary = "Slurm: multifactor priority with backfill",
        .flags = WZ_ORDER_BLOCKS | WZ_ORDER_CONSERVATIVE | WZ_ORDER_LEARNS,
        .param = {{"age", "weight of waiting time", 1000000, 0, 1000000000},
                {"fair", "weight of fair share", 1000000, 0, 1000000000},
                {"size", "weight of size", 0, 0, 1000000000},
                {"own", "weight of the job's own priority", 1000000, 0, 1000000000},
                {"max-age", "seconds of waiting that count", 604800000, 1000, 100000000000},
                {"half-life", "seconds after which usage counts half", 604800000, 1000, 100000000000},
                {"depth", "waiting jobs that get a reservation", 100000, 0, 100000000}},
        .init = init,
        .release = release,
        .key = key,
        .change = change,
        .learn = learn};
