/* SPDX-License-Identifier: Apache-2.0 */
/* Making room, cheapest first. After everything that fits was placed, the jobs that found no room are looked at in the
 * order in which they were tried:
 *
 *	what tasks that are being stopped will leave	is it enough? then that is held, and nobody is moved
 *	candidates	running jobs with a checkpoint contract that may be moved aside for this job (wz_may_evict)
 *	search		the cheapest set of them, or of single tasks of elastic ones (evict_search.c)
 *	proof		the job assembles in the transaction once they are gone; that is where its room is held
 *	elsewhere	those who fit elsewhere then get that room held
 *
 * and PREEMPT effects for the ones, HOLD effects for the others are proposed. What one job gets is seen by the next. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#include <string.h>

#define HOUR_US UINT64_C(3600000000)

/* ---- the right, and the price ---- */

bool wz_may_evict(const struct wz_core *c, uint32_t victim, uint32_t beneficiary)
{
	const struct wz_job *v = &c->jobs.job[victim], *b = &c->jobs.job[beneficiary];

	if (v->state != WZ_JOB_RUNNING || !v->preempt.movable || c->jobs.task[v->first_task].observed ||
	        v->preempted >= (uint64_t)c->param[WZ_PARAM_PREEMPT_MAX] || !wz_queue_preemptible(c, victim))
		return false;
	if (c->queues.n == 0 || v->account == WZ_ID_NONE || b->account == WZ_ID_NONE ||
	        c->queues.acc[v->account].queue == c->queues.acc[b->account].queue)
		return b->priority > v->priority;
	return wz_queue_may_reclaim(c, victim, beneficiary);
}

/* What a task is worth a millisecond: its devices, and a little for its CPUs. */
static uint64_t weight_of(const struct wz_task *t)
{
	return (uint64_t)t->dev_milli * (uint64_t)__builtin_popcountll(t->devices) + (uint64_t)t->cpu / 16 + 1;
}

uint64_t wz_evict_cost(const struct wz_core *c, uint32_t task, bool restart, bool waits)
{
	const struct wz_task *t = &c->jobs.task[task];
	uint64_t since = t->checkpoint_us > t->started_us ? t->checkpoint_us : t->started_us;
	uint64_t us = wz_usat_add(wz_usat_sub(c->now_us, since), (uint64_t)c->param[WZ_PARAM_EVICT_CHECKPOINT_US]);
	uint64_t unfair = (uint64_t)c->param[WZ_PARAM_EVICT_UNFAIR_US], times = c->jobs.job[t->job].preempted;

	if (restart) {
		us = wz_usat_add(us, (uint64_t)c->param[WZ_PARAM_EVICT_RESTART_US]);
		us = wz_usat_add(us, wz_umuldiv(unfair, times, 1));
	}
	if (waits)
		us = wz_usat_add(us, (uint64_t)c->param[WZ_PARAM_EVICT_WAIT_US]);
	return wz_umuldiv(us, weight_of(t), 1000);
}

/* ---- budgets ---- */

uint64_t wz_evictions_left(const struct wz_core *c)
{
	uint64_t most = (uint64_t)c->param[WZ_PARAM_EVICT_PER_HOUR];
	bool old = c->evicted.n == 0 || c->now_us - c->evicted.hour_us >= HOUR_US;

	return wz_usat_sub(most, wz_usat_add(old ? 0 : c->evicted.n, c->evict.evictions));
}

void wz_evictions_count(struct wz_core *c)
{
	if (c->evicted.n == 0 || c->now_us - c->evicted.hour_us >= HOUR_US) {
		c->evicted.hour_us = c->now_us;
		c->evicted.n = 0;
	}
	c->evicted.n++;
}

/* ---- candidates ---- */

/* Does one more task of its shape fit anywhere now? */
static bool fits_elsewhere(struct wz_core *c, const struct wz_job *j, struct wz_rng *rng)
{
	return j->n_tasks == 1 && wz_index_best(c, j->shape, j->between, rng) != WZ_ID_NONE;
}

static int add_candidate(struct wz_core *c, uint32_t slot, struct wz_rng *rng)
{
	struct wz_evict *v = &c->evict;
	const struct wz_job *j = &c->jobs.job[slot];
	struct wz_candidate k = {.slot = slot};
	uint32_t live = j->placed - j->stopping;
	int r = wz_grow(&c->mem, &v->cand, &v->cand_cap, v->n_cand + 1, sizeof(*v->cand));
	bool waits;

	if (r < 0)
		return r;
	waits = !fits_elsewhere(c, j, rng);
	if (!j->gang && live + j->done > j->tasks_min) /* of several sets: only as a whole */
		k.spare = live + j->done - j->tasks_min;
	for (uint32_t t = j->first_task; t < j->first_task + j->n_tasks; t++)
		if (c->jobs.task[t].state == WZ_TASK_RUNNING)
			k.cost = wz_usat_add(k.cost, wz_evict_cost(c, t, true, waits));
	v->cand[v->n_cand++] = k;
	v->cand_of[slot] = v->n_cand;
	if (j->priority < v->least)
		v->least = j->priority;
	return 0;
}

/* All candidates, and all tasks that are leaving, of which the room is given up from here on. */
static int prepare(struct wz_core *c, struct wz_rng *rng)
{
	struct wz_evict *v = &c->evict;
	int r = wz_grow(&c->mem, &v->cand_of, &v->cand_of_cap, c->jobs.n, sizeof(*v->cand_of));

	if (r == 0)
		r = wz_grow(&c->mem, &v->stamp, &v->stamp_cap, c->model.n_nodes, sizeof(*v->stamp));
	if (r == 0)
		r = wz_grow(&c->mem, &v->heap, &v->heap_cap, c->model.n_ranked, sizeof(*v->heap));
	if (r == 0)
		memset(v->cand_of, 0, c->jobs.n * sizeof(*v->cand_of));
	for (uint32_t i = 0; r == 0 && i < c->jobs.n; i++) {
		const struct wz_job *j = &c->jobs.job[i];
		if (!j->used || !j->placed)
			continue;
		if (j->state == WZ_JOB_RUNNING && j->preempt.movable)
			r = add_candidate(c, i, rng);
		for (uint32_t t = j->first_task; r == 0 && j->stopping && t < j->first_task + j->n_tasks; t++) {
			if (c->jobs.task[t].state != WZ_TASK_STOPPING)
				continue;
			r = wz_grow(&c->mem, &v->leaving, &v->leaving_cap, v->n_leaving + 1, sizeof(*v->leaving));
			if (r == 0)
				v->leaving[v->n_leaving++] = t;
		}
	}
	if (v->n_cand == 0)
		return r;
	if (r == 0)
		r = wz_ledger_reserve(c, v->n_leaving);
	for (uint32_t i = 0; r == 0 && i < v->n_leaving; i++)
		wz_ledger_give(c, v->leaving[i]);
	return r;
}

/* ---- effects ---- */

static struct wz_effect effect(const struct wz_core *c, const struct wz_plan *plan, uint32_t kind, uint32_t slot,
        uint32_t task, uint64_t due)
{
	const struct wz_job *j = &c->jobs.job[slot];

	return (struct wz_effect){.kind = kind,
	        .id = c->next_effect + plan->n,
	        .job = j->number,
	        .task = task,
	        .attempt = j->attempt,
	        .deadline_us = due};
}

static int propose_preempts(struct wz_core *c, struct wz_plan *plan, uint64_t *ret_last)
{
	struct wz_evict *v = &c->evict;
	int r = 0;

	for (uint32_t i = 0; i < v->n_chosen && r == 0; i++) {
		const struct wz_unit *u = &v->chosen[i];
		const struct wz_job *j = &c->jobs.job[u->slot];
		struct wz_candidate *k = &v->cand[v->cand_of[u->slot] - 1];
		uint64_t due = wz_preempt_deadline(c, j);
		uint32_t first, n = wz_unit_tasks(c, u, &first);
		*ret_last = due > *ret_last ? due : *ret_last;
		k->used = 1;
		for (uint32_t t = first; t < first + n && r == 0; t++) {
			struct wz_effect e = effect(c, plan, WZ_EF_PREEMPT, u->slot, t - j->first_task, due);
			if (c->jobs.task[t].state != WZ_TASK_RUNNING)
				continue;
			e.attempt = c->jobs.task[t].attempt;
			e.reason = u->task == WZ_ID_NONE ? WZ_END_PREEMPTED : 0;
			r = wz_plan_add(plan, &e);
		}
		v->evictions++;
	}
	return r;
}

/* Is the task one of its set's minimum? The plan starts tasks of a set in the order of their numbers. */
static bool of_minimum(const struct wz_core *c, uint32_t slot, uint32_t task)
{
	struct wz_set one;
	uint32_t n;
	const struct wz_set *s = wz_job_sets(c, &c->jobs.job[slot], &one, &n);

	while (task >= s->first + s->slots)
		s++;
	return task - s->first < s->min;
}

/* HOLD effects where the scratch plan would start tasks; of the beneficiary no more than its minimum. */
static int propose_holds(struct wz_core *c, uint32_t slot, uint64_t until, struct wz_plan *plan)
{
	const struct wz_plan *s = &c->evict.starts;
	int r = 0;

	for (uint32_t i = 0; i < s->n && r == 0; i++) {
		uint32_t of = wz_jobs_find(c, s->effect[i].job);
		struct wz_effect e = effect(c, plan, WZ_EF_HOLD, of, s->effect[i].task, until);
		e.place = s->effect[i].place;
		if (s->effect[i].kind == WZ_EF_START && (of != slot || of_minimum(c, slot, e.task)))
			r = wz_plan_add(plan, &e);
	}
	return r;
}

/* ---- one beneficiary ---- */

/* As decide places it: within its quota, and beside what is promised to others. */
static bool assemble(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	bool ruled = c->queues.n && c->jobs.job[slot].account != WZ_ID_NONE;

	if (ruled || c->gate.on)
		wz_gate_job(c, slot);
	if (ruled && wz_quota_quick(c, slot, &c->gate.denied))
		return false;
	return wz_assemble(c, slot, &c->evict.starts, rng, ret_err) == WZ_REASON_NONE && *ret_err == 0;
}

/* May all that was chosen be stopped without breaking a disruption budget? */
static bool budgets_allow(struct wz_core *c, int *ret_err)
{
	struct wz_evict *v = &c->evict;
	uint32_t total = 0;

	for (uint32_t i = 0; i < v->n_chosen && *ret_err == 0; i++) {
		uint32_t first, n = wz_unit_tasks(c, &v->chosen[i], &first);
		*ret_err = wz_grow(&c->mem, &v->going, &v->going_cap, total + n, sizeof(*v->going));
		for (uint32_t t = first; *ret_err == 0 && t < first + n; t++)
			if (c->jobs.task[t].state == WZ_TASK_RUNNING)
				v->going[total++] = t;
	}
	return *ret_err == 0 && wz_budget_allows(c, v->going, total);
}

/* The proof: with those gone, each of which may be moved aside also when the ones before it are gone, the job assembles. */
static bool prove(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	struct wz_evict *v = &c->evict;

	for (uint32_t i = 0; i < v->n_chosen && *ret_err == 0; i++) {
		if (!wz_may_evict(c, v->chosen[i].slot, slot))
			return false;
		*ret_err = wz_unit_give(c, &v->chosen[i]);
	}
	if (*ret_err == 0 && c->between.n_budgets && !budgets_allow(c, ret_err))
		return false;
	v->starts.n = 0;
	return *ret_err == 0 && assemble(c, slot, rng, ret_err);
}

/* Those who go and fit elsewhere: their new room follows in the scratch plan. */
static void move_elsewhere(struct wz_core *c, struct wz_rng *rng, int *ret_err)
{
	struct wz_evict *v = &c->evict;

	for (uint32_t i = 0; i < v->n_chosen && *ret_err == 0; i++)
		if (v->chosen[i].task == WZ_ID_NONE && !c->jobs.job[v->chosen[i].slot].done)
			(void)assemble(c, v->chosen[i].slot, rng, ret_err);
}

/* True: room is being made for it. */
static bool make_room(struct wz_core *c, uint32_t slot, struct wz_rng *rng, struct wz_plan *plan, int *ret_err)
{
	struct wz_evict *v = &c->evict;
	uint32_t mark = wz_ledger_mark(c);
	uint64_t last = wz_usat_add(c->now_us, c->stop_timeout_us);

	for (uint32_t i = 0; i < v->n_cand; i++)
		v->cand[i].may = 0;
	v->n_chosen = v->starts.n = 0;
	if (v->n_cand == 0 || (c->queues.n == 0 && c->jobs.job[slot].priority <= v->least))
		return false; /* nobody would go for it */
	if (v->n_leaving == 0 || !assemble(c, slot, rng, ret_err)) {
		wz_ledger_rollback(c, mark);
		if (*ret_err < 0)
			return false;
		if (c->queues.n || c->gate.on)
			wz_gate_job(c, slot);
		if (!wz_evict_search(c, slot, rng, ret_err) || v->n_chosen > wz_evictions_left(c) ||
		        !prove(c, slot, rng, ret_err)) {
			wz_ledger_rollback(c, mark);
			return false;
		}
		move_elsewhere(c, rng, ret_err);
	}
	if (*ret_err == 0)
		*ret_err = propose_preempts(c, plan, &last);
	if (*ret_err == 0)
		*ret_err =
		        propose_holds(c, slot, wz_usat_add(last, (uint64_t)c->param[WZ_PARAM_EVICT_HOLD_US]), plan);
	return *ret_err == 0;
}

/* ---- the phase ---- */

void wz_evict_begin(struct wz_core *c)
{
	struct wz_evict *v = &c->evict;

	v->n_wait = v->n_cand = v->n_leaving = v->n_chosen = v->starts.n = 0;
	v->work = v->evictions = 0;
	v->work_max = (uint64_t)c->param[WZ_PARAM_EVICT_WORK];
	v->least = INT32_MAX;
	v->starts.mem = &c->mem;
}

int wz_evict_note(struct wz_core *c, uint32_t slot)
{
	struct wz_evict *v = &c->evict;
	int r;

	if (c->param[WZ_PARAM_EVICT_JOBS] == 0 || c->jobs.movable == 0)
		return 0;
	r = wz_grow(&c->mem, &v->wait, &v->wait_cap, v->n_wait + 1, sizeof(*v->wait));
	if (r == 0)
		v->wait[v->n_wait++] = slot;
	return r;
}

/* Is there anybody who waits above anybody who may go? A look at each job, before any of it is prepared. */
static bool worth_it(const struct wz_core *c)
{
	const struct wz_evict *v = &c->evict;
	int32_t most = INT32_MIN;

	for (uint32_t i = 0; i < v->n_wait; i++)
		if (c->jobs.job[v->wait[i]].priority > most)
			most = c->jobs.job[v->wait[i]].priority;
	for (uint32_t i = 0; i < c->jobs.n; i++) {
		const struct wz_job *j = &c->jobs.job[i];
		if (j->used && j->state == WZ_JOB_RUNNING && j->preempt.movable &&
		        (c->queues.n || j->priority < most))
			return true;
	}
	return false;
}

int wz_evict_propose(struct wz_core *c, struct wz_plan *plan)
{
	struct wz_evict *v = &c->evict;
	int64_t left = c->param[WZ_PARAM_EVICT_JOBS];
	uint32_t mark, n_plan;
	struct wz_rng rng;
	int r = 0;

	if (v->n_wait == 0 || !worth_it(c))
		return 0;
	mark = wz_ledger_mark(c);
	n_plan = plan->n;
	wz_rng_seed(&rng, wz_hash_u64(c->seed ^ 0xe71c7ULL, c->step));
	r = prepare(c, &rng);
	for (uint32_t i = 0; v->n_cand && i < v->n_wait && r == 0; i++)
		for (uint32_t slot = v->wait[i]; slot != WZ_ID_NONE && r == 0; slot = c->jobs.job[slot].next) {
			bool made;
			if (c->jobs.job[slot].planned || (c->holds.n && wz_holds_of(c, slot)))
				continue; /* the ones before it in the class have theirs */
			made = left-- > 0 && v->work < v->work_max && make_room(c, slot, &rng, plan, &r);
			if (!made)
				break;
		}
	plan->work += v->work;
	if (plan->n == n_plan) /* nothing came of it: what leaves has not left for those who look next */
		wz_ledger_rollback(c, mark);
	return r;
}

void wz_evict_release(struct wz_core *c)
{
	struct wz_evict *v = &c->evict;
	const struct wz_mem *mem = &c->mem;

	wz_grow_free(mem, &v->wait, &v->wait_cap, sizeof(*v->wait));
	wz_grow_free(mem, &v->cand, &v->cand_cap, sizeof(*v->cand));
	wz_grow_free(mem, &v->cand_of, &v->cand_of_cap, sizeof(*v->cand_of));
	wz_grow_free(mem, &v->leaving, &v->leaving_cap, sizeof(*v->leaving));
	wz_grow_free(mem, &v->heap, &v->heap_cap, sizeof(*v->heap));
	wz_grow_free(mem, &v->stamp, &v->stamp_cap, sizeof(*v->stamp));
	wz_grow_free(mem, &v->going, &v->going_cap, sizeof(*v->going));
	wz_grow_free(mem, &v->chosen, &v->chosen_cap, sizeof(*v->chosen));
	if (v->starts.mem)
		wz_plan_release(&v->starts);
}
