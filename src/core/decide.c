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
		        .attempt = j->attempt,
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

/* A job with holds gives them up first, within the transaction; they come back when it does not start. `exact`: it is
 * placed on the nodes that were held, or not at all. *ret_err is -ENOMEM when memory ran out. */
static enum wz_reason place_one(
        struct wz_core *c, uint32_t slot, bool exact, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n;
	enum wz_reason why = WZ_REASON_RESOURCES;

	*ret_err = 0;
	if (c->holds.n == 0 || wz_holds_of(c, slot) == 0)
		return wz_assemble(c, slot, plan, rng, ret_err);
	*ret_err = wz_holds_propose_lift(c, slot, plan);
	if (*ret_err == 0)
		*ret_err = wz_holds_lift(c, slot);
	if (*ret_err == 0 && exact)
		why = wz_assemble_held(c, slot, plan, rng, ret_err) ? WZ_REASON_NONE : why;
	else if (*ret_err == 0)
		why = wz_assemble(c, slot, plan, rng, ret_err);
	if (why == WZ_REASON_NONE && *ret_err == 0) {
		c->jobs.job[slot].planned = 1;
		return why;
	}
	wz_ledger_rollback(c, mark);
	plan->n = n_plan;
	return why == WZ_REASON_NONE ? WZ_REASON_RESOURCES : why;
}

/* Those for whom room is held, in the order of their holds: what they take is theirs already. */
static int place_held(struct wz_core *c, struct wz_plan *plan)
{
	struct wz_rng rng;

	wz_rng_seed(&rng, wz_hash_u64(c->seed ^ 0x401dULL, c->step));
	for (uint32_t i = 0; i < c->holds.n; i++) {
		uint32_t slot = c->holds.h[i].job;
		int r;
		if (c->holds.h[i].lifted || c->jobs.job[slot].state != WZ_JOB_WAITING || c->jobs.job[slot].backoff)
			continue;
		(void)place_one(c, slot, true, plan, &rng, &r);
		if (r < 0)
			return r;
	}
	return 0;
}

static int place_waiting(struct wz_core *c, uint64_t budget, struct wz_plan *plan)
{
	struct wz_rng rng;
	uint32_t id;

	wz_rng_seed(&rng, wz_hash_u64(c->seed, c->step));
	wz_order_begin(c, budget != 0);
	while ((id = wz_order_next(c)) != WZ_ID_NONE) {
		struct wz_class *k = &c->order.cls[id];
		enum wz_reason why;
		int r;

		if (budget && plan->work >= budget)
			return propose_pause(c, k, plan);
		if (c->jobs.job[k->cursor].planned) {
			k->cursor = c->jobs.job[k->cursor].next;
			continue;
		}
		why = place_one(c, k->cursor, false, plan, &rng, &r);
		if (r < 0)
			return r;
		plan->work++;
		if (why == WZ_REASON_NONE) {
			k->cursor = c->jobs.job[k->cursor].next;
			continue;
		}
		k->blocked = true;
		r = propose_explain(c, k, why, plan);
		if (r < 0)
			return r;
	}
	return 0;
}

int wz_core_decide(struct wz_core *c, uint64_t budget, struct wz_plan *plan, struct wz_err *err)
{
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
		r = c->holds.n ? place_held(c, plan) : 0;
		if (r == 0)
			r = place_waiting(c, budget, plan);
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
