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

static int propose_stops(struct wz_core *c, struct wz_plan *plan)
{
	for (uint32_t i = 0; i < c->n_stop; i++) {
		const struct wz_task *t = &c->jobs.task[c->stop_wanted[i]];
		const struct wz_job *j = &c->jobs.job[t->job];
		struct wz_effect e = {.kind = WZ_EF_STOP,
		        .id = c->next_effect + plan->n,
		        .job = j->number,
		        .task = c->stop_wanted[i] - j->first_task,
		        .attempt = t->attempt,
		        .reason = j->end,
		        .deadline_us = wz_usat_add(c->now_us, c->stop_timeout_us)};
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

/* ---- running jobs that miss tasks, have too many, or do not know how many they have ---- */

/* Those, by priority and then submit order, as decide goes through them. */
struct attention {
	uint32_t *slot, n;
	uint32_t broken, growing; /* how far each of the two kinds was served */
	uint64_t work; /* spent on them: not taken from what waiting jobs may use */
};

static bool job_before(const struct wz_core *c, uint32_t x, uint32_t y)
{
	const struct wz_job *a = &c->jobs.job[x], *b = &c->jobs.job[y];

	return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static void sift_job(const struct wz_core *c, uint32_t *a, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1, x = a[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && job_before(c, a[kid], a[kid + 1]))
			kid++;
		if (!job_before(c, x, a[kid]))
			return;
		a[at] = a[kid];
		a[kid] = x;
		at = kid;
	}
}

/* The order of the list is no state: it is sorted where it lies. */
static struct attention attention_of(struct wz_core *c)
{
	struct attention a = {.slot = c->attention, .n = c->n_attention};

	for (uint32_t i = a.n / 2; i-- > 0;)
		sift_job(c, a.slot, a.n, i);
	for (uint32_t end = a.n; end > 1; end--) {
		uint32_t x = a.slot[0];
		a.slot[0] = a.slot[end - 1];
		a.slot[end - 1] = x;
		sift_job(c, a.slot, end - 1, 0);
	}
	for (uint32_t i = 0; i < a.n; i++)
		c->jobs.job[a.slot[i]].attention_at = i;
	return a;
}

static int place_more(struct wz_core *c, struct attention *a, uint32_t slot, bool broken, uint64_t budget,
        struct wz_plan *plan, struct wz_rng *rng)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint64_t before = plan->work;
	int r = 0;

	if (wz_job_live(j) >= j->tasks_max || (j->done && !j->below) || (j->below != 0) != broken)
		return 0;
	if (budget && a->work >= budget) {
		plan->complete = false;
		return 0;
	}
	plan->work++;
	(void)wz_assemble_more(c, slot, plan, rng, &r);
	a->work += plan->work - before;
	return r;
}

/* A broken gang goes before the waiting jobs of its priority, since it holds what it cannot use; one that could grow goes
 * after them. */
static int serve_running(struct wz_core *c, struct attention *a, int64_t priority, uint64_t budget,
        struct wz_plan *plan, struct wz_rng *rng)
{
	int r = 0;

	for (; r == 0 && a->broken < a->n && c->jobs.job[a->slot[a->broken]].priority >= priority; a->broken++)
		r = place_more(c, a, a->slot[a->broken], true, budget, plan, rng);
	for (; r == 0 && a->growing < a->n && c->jobs.job[a->slot[a->growing]].priority > priority; a->growing++)
		r = place_more(c, a, a->slot[a->growing], false, budget, plan, rng);
	return r;
}

/* How many tasks each of them has after this plan. */
static int propose_resizes(struct wz_core *c, const struct attention *a, struct wz_plan *plan)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_job *j = &c->jobs.job[a->slot[i]];
		uint32_t n = wz_job_live(j);
		struct wz_effect e = {.kind = WZ_EF_RESIZE,
		        .id = c->next_effect + plan->n,
		        .job = j->number,
		        .attempt = j->attempt,
		        .deadline_us = UINT64_MAX};
		for (uint32_t k = 0; k < plan->n; k++)
			n += plan->effect[k].kind == WZ_EF_START && plan->effect[k].job == j->number;
		e.task = n > j->tasks_max ? j->tasks_max : n;
		if (e.task != j->told || n > j->tasks_max) {
			int r = wz_plan_add(plan, &e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int place_waiting(struct wz_core *c, uint64_t budget, struct wz_plan *plan)
{
	struct wz_rng rng;
	uint32_t id;

	struct attention a = attention_of(c);

	wz_rng_seed(&rng, wz_hash_u64(c->seed, c->step));
	wz_order_begin(c, budget != 0);
	while ((id = wz_order_next(c)) != WZ_ID_NONE) {
		struct wz_class *k = &c->order.cls[id];
		enum wz_reason why;
		int r;

		if (a.n && (r = serve_running(c, &a, k->priority, budget, plan, &rng)) < 0)
			return r;
		if (budget && plan->work - a.work >= budget) {
			r = propose_pause(c, k, plan);
			return r < 0 ? r : propose_resizes(c, &a, plan);
		}
		why = wz_assemble(c, k->cursor, plan, &rng, &r);
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
	if (a.n) {
		int r = serve_running(c, &a, INT64_MIN, budget, plan, &rng);
		return r < 0 ? r : propose_resizes(c, &a, plan);
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
		r = propose_stops(c, plan);
	if (r == 0) {
		wz_ledger_begin(c);
		r = place_waiting(c, budget, plan);
		wz_ledger_end(c);
	}
	if (r < 0) {
		plan->n = 0;
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for this decision"));
	}
	return 0;
}
