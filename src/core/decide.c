/* SPDX-License-Identifier: Apache-2.0 */
/* One step: which effects follow from the state. All placing happens in a transaction that is rolled back, so the state
 * is left as it was; caches may have grown warmer. Random draws come from the seed and the step number. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

void wz_plan_init(struct wz_plan *p, const struct wz_mem *mem)
{
	*p = (struct wz_plan){.mem = mem, .complete = true};
}

void wz_plan_release(struct wz_plan *p)
{
	wz_grow_free(p->mem, &p->effect, &p->cap, sizeof(*p->effect));
	p->n = 0;
}

uint64_t wz_preempt_deadline(const struct wz_core *c, const struct wz_job *j)
{
	return wz_usat_add(
	        wz_usat_add(c->now_us, j->preempt.grace_us), (uint64_t)c->param[WZ_PARAM_PREEMPT_MARGIN_US]);
}

static uint64_t deadline_of(const struct wz_core *c, const struct wz_job *j, uint32_t kind)
{
	switch (kind) {
	case WZ_EF_STOP:
		return wz_usat_add(c->now_us, c->stop_timeout_us);
	case WZ_EF_PREEMPT:
		return wz_preempt_deadline(c, j);
	default:
		return wz_usat_add(c->now_us, (uint64_t)c->param[WZ_PARAM_FREEZE_TIMEOUT_US]);
	}
}

/* What tasks were found to need: stops, warnings, freezing and thawing. */
static int propose_wanted(struct wz_core *c, struct wz_plan *plan)
{
	for (uint32_t i = 0; i < c->n_wanted; i++) {
		const struct wz_task *t = &c->jobs.task[c->wanted[i]];
		const struct wz_job *j = &c->jobs.job[t->job];
		uint32_t kind = wz_task_wants(c, c->wanted[i]);
		struct wz_effect e = {.kind = kind,
		        .id = c->next_effect + plan->n,
		        .job = j->number,
		        .task = c->wanted[i] - j->first_task,
		        .attempt = t->attempt,
		        .reason = kind == WZ_EF_STOP || kind == WZ_EF_PREEMPT ? j->end : 0,
		        .deadline_us = deadline_of(c, j, kind)};
		int r = wz_plan_add(plan, &e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The budget is used up: the next step goes on with the job that was to be looked at now. */
static int propose_pause(struct wz_core *c, const struct wz_class *k, struct wz_plan *plan)
{
	struct wz_effect e = {.kind = WZ_EF_EXPLAIN,
	        .id = c->next_effect + plan->n,
	        .job = c->jobs.job[k->cursor].number,
	        .attempt = c->jobs.job[k->cursor].attempt,
	        .reason = WZ_REASON_WORK_BUDGET,
	        .deadline_us = UINT64_MAX};

	plan->complete = false;
	return wz_plan_add(plan, &e);
}

static int propose_explain(struct wz_core *c, const struct wz_class *k, enum wz_reason why, struct wz_plan *plan)
{
	struct wz_effect e = {.kind = WZ_EF_EXPLAIN,
	        .id = c->next_effect + plan->n,
	        .job = c->jobs.job[k->cursor].number,
	        .attempt = c->jobs.job[k->cursor].attempt,
	        .reason = why,
	        .deadline_us = UINT64_MAX};

	return k->reason == why ? 0 : wz_plan_add(plan, &e);
}

/* May it be looked at, and does it fit? `held`: on the nodes that are held for it. */
static enum wz_reason try_job(
        struct wz_core *c, uint32_t slot, bool held, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	bool ruled = c->queues.n && c->jobs.job[slot].account != WZ_ID_NONE;

	*ret_err = 0;
	if (ruled || c->gate.on)
		wz_gate_job(c, slot);
	if (ruled && wz_quota_quick(c, slot, &c->gate.denied))
		return (enum wz_reason)c->gate.denied.reason;
	if (held)
		return wz_assemble_held(c, slot, plan, rng, ret_err) ? WZ_REASON_NONE : WZ_REASON_RESOURCES;
	return wz_assemble(c, slot, plan, rng, ret_err);
}

/* A job with holds gives them up first, within the transaction; they come back when it does not start. `exact`: it is
 * placed on the nodes that were held, or not at all. *ret_err is -ENOMEM when memory ran out. */
static enum wz_reason place_one(
        struct wz_core *c, uint32_t slot, bool exact, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n;
	enum wz_reason why = WZ_REASON_RESOURCES;

	*ret_err = 0;
	if (c->holds.n == 0 || wz_holds_of(c, slot) == 0)
		return try_job(c, slot, false, plan, rng, ret_err);
	*ret_err = wz_holds_propose_lift(c, slot, plan);
	if (*ret_err == 0)
		*ret_err = wz_holds_lift(c, slot);
	if (*ret_err == 0)
		why = try_job(c, slot, exact, plan, rng, ret_err);
	if (why == WZ_REASON_NONE && *ret_err == 0) {
		c->jobs.job[slot].planned = 1;
		return why;
	}
	wz_ledger_rollback(c, mark);
	plan->n = n_plan;
	return why == WZ_REASON_NONE ? WZ_REASON_RESOURCES : why;
}

/* Those for whom room is held, in the order of their holds. `exact`: in that room, which is theirs already; else, after all
 * others, anywhere. */
static int place_held(struct wz_core *c, bool exact, struct wz_plan *plan)
{
	struct wz_rng rng;

	wz_rng_seed(&rng, wz_hash_u64(c->seed ^ 0x401dULL, c->step));
	for (uint32_t i = 0; i < c->holds.n; i++) {
		uint32_t slot = c->holds.h[i].job;
		int r;
		if (c->holds.h[i].lifted || c->jobs.job[slot].state != WZ_JOB_WAITING || c->jobs.job[slot].backoff)
			continue;
		(void)place_one(c, slot, exact, plan, &rng, &r);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A job of a class that does not fit is promised a start, and the class goes on with its next one: in its turn. False:
 * no more are. */
static bool promise_start(struct wz_core *c, struct wz_class *k, int *ret_err)
{
	uint64_t start;

	if (c->queues.n == 0 || c->future.planned >= c->queues.q[0].rules.reserve ||
	        (c->future.planned && c->future.work > WZ_PLAN_WORK_MAX))
		return false;
	if (!c->future.on)
		*ret_err = wz_future_begin(c, NULL, NULL);
	if (*ret_err == 0)
		*ret_err = wz_future_plan(c,
		        &(struct wz_ask){
		                .slot = k->cursor, .length_us = wz_job_length(c, k->cursor), .promise = true},
		        &start);
	return *ret_err == 0;
}

static bool for_want_of_room(enum wz_reason why)
{
	return why == WZ_REASON_RESOURCES || why == WZ_REASON_GANG || why == WZ_REASON_RESERVED;
}

/* What held `failed` back depends on how long a job runs and on whose it is: may `slot`, of the same class, do better? */
static bool may_do_better(const struct wz_core *c, uint32_t failed, uint32_t slot)
{
	const struct wz_job *a = &c->jobs.job[failed], *b = &c->jobs.job[slot];

	return wz_job_length(c, slot) < wz_job_length(c, failed) ||
	       (c->reservations.n && (a->user != b->user || a->queue != b->queue));
}

/* The job at the class's cursor did not start. Only a shorter one may go on in its place, and the rest are promised starts,
 * in their turns; else the class is done. */
static int hold_back(struct wz_core *c, struct wz_class *k, bool tried, enum wz_reason why, struct wz_plan *plan)
{
	int r = k->planning ? 0 : propose_explain(c, k, why, plan);
	bool promised;

	if (r == 0 && !k->planning && for_want_of_room(why))
		r = wz_evict_note(c, k->cursor);
	if (tried && (why == WZ_REASON_RESERVED || why == WZ_REASON_BUDGET))
		k->failed = k->cursor;
	promised = r == 0 && for_want_of_room(why) && promise_start(c, k, &r);
	k->planning = true;
	k->why = (uint8_t)why;
	if (promised || k->failed != WZ_ID_NONE)
		k->cursor = c->jobs.job[k->cursor].next;
	else
		k->blocked = true;
	return r;
}

static bool worth_trying(const struct wz_core *c, const struct wz_class *k)
{
	return !k->planning || (k->failed != WZ_ID_NONE && may_do_better(c, k->failed, k->cursor));
}

static int place_waiting(struct wz_core *c, uint64_t budget, struct wz_plan *plan)
{
	struct wz_attention a = {.n = 0};
	struct wz_rng rng;
	uint32_t id;
	bool kept = false; /* something was kept for a queue that may not need it any more */
	int r = 0;

	if (c->n_attention)
		a = wz_attend_begin(c);
	wz_rng_seed(&rng, wz_hash_u64(c->seed, c->step));
	wz_order_begin(c, budget != 0);
	if (c->holds.n) /* quotas are known from here on */
		r = place_held(c, true, plan);
	if (r == 0 && c->queues.n && a.n) /* the order is not one of priorities: broken gangs first, growth last */
		r = wz_attend_serve(c, &a, INT64_MIN, INT64_MAX, budget, plan, &rng);
	while (r == 0 && (id = wz_order_next(c)) != WZ_ID_NONE) {
		struct wz_class *k = &c->order.cls[id];
		enum wz_reason why;
		bool try;

		if (c->jobs.job[k->cursor].planned) {
			k->cursor = c->jobs.job[k->cursor].next;
			continue;
		}
		if (a.n && c->queues.n == 0)
			r = wz_attend_serve(c, &a, k->priority, k->priority, budget, plan, &rng);
		if (r < 0)
			return r;
		if (budget && plan->work - a.work >= budget) {
			r = propose_pause(c, k, plan);
			return r < 0 ? r : wz_attend_resizes(c, &a, plan);
		}
		try = worth_trying(c, k);
		why = try ? place_one(c, k->cursor, false, plan, &rng, &r) : (enum wz_reason)k->why;
		if (r < 0)
			return r;
		plan->work++;
		if (why == WZ_REASON_NONE) {
			k->cursor = c->jobs.job[k->cursor].next;
			/* A queue that takes its own frees what others may borrow: they are looked at again, in a step more. */
			plan->complete = plan->complete && !kept;
			continue;
		}
		kept = kept || why == WZ_REASON_BORROWING;
		r = hold_back(c, k, try, why, plan);
	}
	if (r == 0 && a.n)
		r = wz_attend_serve(c, &a, INT64_MIN, INT64_MIN, budget, plan, &rng);
	return r < 0 || !a.n ? r : wz_attend_resizes(c, &a, plan);
}

int wz_core_decide(struct wz_core *c, uint64_t budget, struct wz_plan *plan, struct wz_err *err)
{
	uint32_t n_plan;
	int r = wz_model_order(&c->model);

	plan->n = 0;
	plan->work = 0;
	plan->complete = true;
	if (r == 0)
		r = wz_grow(&c->mem, &c->rank_score, &c->rank_cap, c->model.n_ranked, sizeof(*c->rank_score));
	if (r == 0)
		r = wz_grow(&c->mem, &c->rank_node, &c->rank_node_cap, c->model.n_ranked, sizeof(*c->rank_node));
	if (r == 0)
		r = propose_wanted(c, plan);
	if (r == 0) {
		wz_ledger_begin(c);
		wz_evict_begin(c);
		r = wz_gate_begin(c, false);
		if (r == 0)
			r = place_waiting(c, budget, plan);
		if (r == 0 && c->holds.n && plan->complete)
			r = place_held(c, false, plan);
		if (r == 0)
			r = wz_recut_propose(c, plan);
		n_plan = plan->n;
		if (r == 0 && plan->complete)
			r = wz_evict_propose(c, plan);
		if (r == 0 && plan->n == n_plan) /* else it would count on who goes already */
			r = wz_repack_propose(c, plan);
		c->gate.slot = WZ_ID_NONE;
		c->gate.on = c->future.on = false;
		wz_ledger_end(c);
		for (uint32_t i = 0; i < c->holds.n; i++)
			c->jobs.job[c->holds.h[i].job].planned = 0;
	}
	if (r < 0) {
		plan->n = 0;
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for this decision"));
	}
	return 0;
}
