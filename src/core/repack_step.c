/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the searches of repack.c and tidy.c in a step. A move is a PREEMPT of the task, by its checkpoint contract,
 * and a HOLD of its new place; a slot that was opened is held for the one that waits. So a moved job is never without a
 * place that is its own, and a move that fails midway leaves a job that waits at its old turn, as after any preemption.
 * Holds may be of room that others are about to leave, which is what makes swaps and chains possible.
 *
 * Repacking happens only within a budget: moves an hour (a parameter, 0 at first), and moves that were asked for. A step
 * searches when the interval has passed: first for tasks that should leave (cordoned nodes, degraded devices, nodes that
 * hold more than they have), then for jobs that wait for room, in their order; when none of them could be helped, it
 * brings remainders together (tidy.c). Every plan gains more than it costs: the devices that come to be used, for the
 * horizon, against the work that is lost. */
#include "core/repack.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"
#include "core/core_int.h"

#define HOUR_US 3600000000ULL
#define ASKED_US (10ULL * 60 * 1000000) /* moves that were asked for lapse */
#define ASKED_MAX 10000u
#define JOBS_MAX 8u /* that one step looks at */
#define EXCHANGES_MAX 8u /* that one step makes */

/* ---- the budget ---- */

int wz_on_repack_asked(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_str text = e->u.named.name, value = text, key = wz_str_split(&value, '=');
	uint64_t n = WZ_REPACK_MOVES_MAX;

	if (text.len && (!wz_str_eq(key, WZ_STR("moves")) || !value.ptr || wz_str_parse_u64(value, &n) < 0 ||
	                        n < 1 || n > ASKED_MAX))
		return wz_err_set(err, -EINVAL, "BadRepack",
		        WZ_STR("what is asked is moves=N, 1 to 10000, or nothing; not '"), text, WZ_STR("'"));
	c->repack.asked = (uint32_t)n;
	c->repack.asked_until_us = wz_usat_add(c->now_us, ASKED_US);
	c->repack.next_us = 0;
	return 0;
}

void wz_repack_on_step(struct wz_core *c)
{
	struct wz_repack_state *s = &c->repack;
	uint64_t rate = (uint64_t)c->param[WZ_PARAM_REPACK_PER_HOUR], passed = c->now_us - s->filled_us;

	s->go = false;
	if (s->asked && c->now_us > s->asked_until_us)
		s->asked = 0;
	if (s->asked == 0)
		s->asked_until_us = 0;
	if (rate) { /* never more than an hour's worth: an idle night is not a stormy morning */
		if (s->filled_us == 0)
			passed = 0;
		s->budget = passed >= HOUR_US ? rate * HOUR_US : s->budget + passed * rate;
		s->budget = s->budget > rate * HOUR_US ? rate * HOUR_US : s->budget;
		s->filled_us = c->now_us;
	} else {
		s->budget = s->filled_us = 0;
	}
	if ((s->asked || s->budget >= HOUR_US) && c->now_us >= s->next_us) {
		s->go = true;
		s->next_us = wz_usat_add(c->now_us, (uint64_t)c->param[WZ_PARAM_REPACK_INTERVAL_US]);
	}
	if (!s->asked && !rate)
		s->next_us = 0;
}

void wz_repack_spend(struct wz_core *c)
{
	if (c->repack.asked)
		c->repack.asked--;
	else
		c->repack.budget = c->repack.budget >= HOUR_US ? c->repack.budget - HOUR_US : 0;
}

uint64_t wz_repack_hash(const struct wz_core *c)
{
	const struct wz_repack_state *s = &c->repack;
	uint64_t h;

	if (!s->filled_us && !s->next_us && !s->budget && !s->asked && !s->go)
		return 0;
	h = wz_hash_u64(wz_hash_u64(s->filled_us, s->next_us), s->budget);
	return wz_hash_u64(wz_hash_u64(h, s->asked_until_us), (uint64_t)s->asked << 1 | s->go);
}

static uint32_t moves_left(const struct wz_core *c)
{
	uint64_t n = c->repack.asked + c->repack.budget / HOUR_US;

	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* The same search on the same state, with no more moves, finds nothing again. */
static bool is_fruitless(const struct wz_core *c, const struct wz_fruitless *f, uint32_t moves)
{
	return f->changes == c->changes + 1 && moves <= f->moves;
}

static void note_fruitless(
        const struct wz_core *c, struct wz_fruitless *f, const struct wz_repack *x, bool complete)
{
	if (x->n == 0 && complete) /* of this state, and not for want of work */
		*f = (struct wz_fruitless){c->changes + 1, x->moves_max};
}

/* ---- effects ---- */

static int propose_preempt(struct wz_core *c, const struct wz_move *m, struct wz_plan *plan)
{
	const struct wz_task *t = &c->jobs.task[m->task];
	const struct wz_job *j = &c->jobs.job[t->job];
	struct wz_effect e = {.kind = WZ_EF_PREEMPT,
	        .id = c->next_effect + plan->n,
	        .job = j->number,
	        .task = m->task - j->first_task,
	        .attempt = j->attempt,
	        .reason = WZ_END_PREEMPTED,
	        .deadline_us = wz_preempt_deadline(c, j),
	        .place = m->to};

	return wz_plan_add(plan, &e);
}

static int propose_hold(
        struct wz_core *c, uint32_t task, const struct wz_place *p, uint64_t until_us, struct wz_plan *plan)
{
	const struct wz_job *j = &c->jobs.job[c->jobs.task[task].job];
	struct wz_effect e = {.kind = WZ_EF_HOLD,
	        .id = c->next_effect + plan->n,
	        .job = j->number,
	        .task = task - j->first_task,
	        .attempt = j->attempt,
	        .deadline_us = until_us,
	        .place = *p};

	return wz_plan_add(plan, &e);
}

/* The moves x->move[from..], and the slot that they open for a job (WZ_ID_NONE: for none). Holds last until every stop
 * has had its warning and was asked twice. */
static int propose_moves(
        struct wz_core *c, const struct wz_repack *x, uint32_t from, uint32_t waits, struct wz_plan *plan)
{
	uint64_t until = c->now_us;
	int r = 0;

	for (uint32_t i = from; i < x->n; i++) {
		uint64_t due = wz_preempt_deadline(c, &c->jobs.job[c->jobs.task[x->move[i].task].job]);
		until = due > until ? due : until;
	}
	until = wz_usat_add(until, 2 * c->stop_timeout_us + c->start_timeout_us);
	for (uint32_t i = from; r == 0 && i < x->n; i++)
		r = propose_preempt(c, &x->move[i], plan);
	for (uint32_t i = from; r == 0 && i < x->n; i++)
		r = propose_hold(c, x->move[i].task, &x->move[i].to, until, plan);
	if (r == 0 && waits != WZ_ID_NONE)
		r = propose_hold(c, waits, &x->place, until, plan);
	return r;
}

/* ---- what a step looks for ---- */

static struct wz_repack new_search(struct wz_core *c, uint32_t moves)
{
	return (struct wz_repack){.moves_max = moves,
	        .depth_max = (uint32_t)c->param[WZ_PARAM_REPACK_DEPTH],
	        .gain_min = (c->param[WZ_PARAM_REPACK_GAIN] * 65536 + 999999) / 1000000,
	        .horizon_ms = c->param[WZ_PARAM_REPACK_HORIZON_US] / 1000,
	        .work_max = (uint64_t)c->param[WZ_PARAM_REPACK_WORK]};
}

static int64_t worth_of(const struct wz_core *c, uint32_t shape, int64_t horizon_ms)
{
	const struct wz_shape *s = &c->shapes.shape[shape];

	return wz_sat_mul(wz_repack_weight(wz_shape_gpu_milli(s), s->cpu), horizon_ms);
}

static bool should_leave(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_node *n = &c->model.node[t->node];

	if ((n->flags & WZ_NODE_CORDONED) || n->over)
		return true;
	for (uint64_t w = t->devices; w; w &= w - 1)
		if (c->model.dev[n->first_dev + (uint32_t)__builtin_ctzll(w)].health == WZ_HEALTH_DEGRADED)
			return true;
	return false;
}

static bool has_trouble(const struct wz_core *c, const struct wz_node *n)
{
	if (!(n->flags & WZ_NODE_PRESENT) || n->head_task == WZ_ID_NONE)
		return false;
	if ((n->flags & WZ_NODE_CORDONED) || n->over)
		return true;
	for (uint32_t i = n->first_dev; i < n->first_dev + n->n_dev; i++)
		if (c->model.dev[i].health == WZ_HEALTH_DEGRADED)
			return true;
	return false;
}

/* By this search already: from one node in trouble to another. */
static bool has_moved(const struct wz_repack *x, uint32_t task)
{
	uint32_t i = 0;

	while (i < x->n && x->move[i].task != task)
		i++;
	return i < x->n;
}

static int vacate(struct wz_core *c, struct wz_repack *x, struct wz_rng *rng, struct wz_plan *plan)
{
	int r = 0;

	for (uint32_t i = 0; i < c->model.n_ranked; i++) {
		uint32_t node = c->model.by_rank[i], next;
		if (!has_trouble(c, &c->model.node[node]))
			continue;
		for (uint32_t t = c->model.node[node].head_task; r == 0 && t != WZ_ID_NONE; t = next) {
			uint32_t from = x->n;
			next = c->jobs.task[t].next;
			if (x->n >= x->moves_max || x->work >= x->work_max)
				return r;
			if (!wz_repack_movable(c, t) || !should_leave(c, t) || has_moved(x, t))
				continue;
			x->cost_max = wz_sat_add(
			        x->cost, worth_of(c, c->jobs.job[c->jobs.task[t].job].shape, x->horizon_ms));
			if (wz_repack_vacate(c, t, x, rng, &r))
				r = propose_moves(c, x, from, WZ_ID_NONE, plan);
			if (c->model.node[node].over)
				wz_ledger_observe(c, node);
		}
	}
	return r;
}

/* The first job of a blocked class that this step did not start, and for which no room is held. */
static uint32_t first_of(const struct wz_core *c, const struct wz_class *k)
{
	uint32_t slot = k->head;

	if (!k->planning || k->why != WZ_REASON_RESOURCES || k->tasks_max != 1 || k->gang || k->between)
		return WZ_ID_NONE;
	while (slot != WZ_ID_NONE &&
	        (c->jobs.task[c->jobs.job[slot].first_task].node != WZ_ID_NONE || wz_holds_of(c, slot)))
		slot = c->jobs.job[slot].next;
	return slot;
}

/* The blocked class, of those not looked at yet, whose first job goes first. */
static struct wz_class *next_waiting(struct wz_core *c, const uint32_t *seen, uint32_t n, uint32_t *ret_slot)
{
	struct wz_class *best = NULL;

	for (uint32_t i = 0; i < c->order.n_active; i++) {
		struct wz_class *k = &c->order.cls[c->order.active[i]];
		uint32_t slot = first_of(c, k);
		bool looked = slot == WZ_ID_NONE;
		for (uint32_t j = 0; j < n; j++)
			looked = looked || seen[j] == c->order.active[i];
		if (looked)
			continue;
		if (best && (k->priority < best->priority ||
		                    (k->priority == best->priority &&
		                            c->jobs.job[slot].seq > c->jobs.job[*ret_slot].seq)))
			continue;
		best = k;
		*ret_slot = slot;
	}
	return best;
}

static int open_slots(
        struct wz_core *c, struct wz_repack *x, struct wz_rng *rng, uint32_t *ret_blocked, struct wz_plan *plan)
{
	uint32_t seen[JOBS_MAX], n = 0, slot = WZ_ID_NONE;
	struct wz_class *k;
	int r = 0;

	while (r == 0 && n < JOBS_MAX && x->n < x->moves_max && x->work < x->work_max &&
	        (k = next_waiting(c, seen, n, &slot))) {
		uint32_t task = c->jobs.job[slot].first_task, from = x->n;
		seen[n++] = (uint32_t)(k - c->order.cls);
		++*ret_blocked;
		if (x->n == 0 && is_fruitless(c, &c->fruitless[k->shape], x->moves_max))
			continue;
		x->cost_max = wz_sat_add(x->cost, worth_of(c, k->shape, x->horizon_ms));
		if (!wz_repack_open(c, task, k->shape, x, rng, &r)) {
			note_fruitless(c, &c->fruitless[k->shape], x, r == 0);
			continue;
		}
		--*ret_blocked;
		r = propose_moves(c, x, from, task, plan);
	}
	return r;
}

static int bring_together(struct wz_core *c, struct wz_repack *x, struct wz_plan *plan)
{
	int r = 0;

	if (x->n == 0 && is_fruitless(c, &c->no_exchange, x->moves_max))
		return 0;
	for (uint32_t i = 0; r == 0 && i < EXCHANGES_MAX && x->n < x->moves_max; i++) {
		uint32_t from = x->n;
		if (!wz_repack_tidy(c, x, &r)) {
			note_fruitless(c, &c->no_exchange, x, r == 0);
			break;
		}
		r = propose_moves(c, x, from, WZ_ID_NONE, plan);
	}
	return r;
}

int wz_repack_propose(struct wz_core *c, struct wz_plan *plan)
{
	uint32_t moves = moves_left(c), blocked = 0;
	struct wz_repack x = new_search(c, moves);
	struct wz_rng rng;
	int r;

	if (!c->repack.go || moves == 0 || c->gate.on)
		return 0;
	wz_rng_seed(&rng, wz_hash_u64(c->seed ^ 0x4e9acULL, c->step));
	r = wz_repack_begin(c, &x);
	if (r == 0 && c->param[WZ_PARAM_REPACK_VACATE])
		r = vacate(c, &x, &rng, plan);
	if (r == 0)
		r = open_slots(c, &x, &rng, &blocked, plan);
	if (r == 0 && blocked && x.gain_min > 0)
		r = bring_together(c, &x, plan);
	return r;
}

/* ---- the question what would be done ---- */

static void show(struct wz_core *c, const struct wz_plan *plan, struct wz_repack_report *ret)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct wz_effect *e = &plan->effect[i];
		uint32_t slot = wz_jobs_find(c, e->job), task;
		const struct wz_shape *s;
		if (slot == WZ_ID_NONE)
			continue;
		task = c->jobs.job[slot].first_task + e->task;
		if (e->kind == WZ_EF_PREEMPT && (e->place.cpu || e->place.mem || e->place.devices) &&
		        ret->n < WZ_REPACK_SHOWN_MAX) {
			struct wz_repack_shown *m = &ret->move[ret->n++];
			m->job = e->job;
			m->task = e->task;
			m->to = e->place;
			(void)wz_core_task(c, e->job, e->task, &m->from);
			m->cost_us = wz_repack_lost_us(c, task);
			ret->cost_us = wz_usat_add(ret->cost_us, m->cost_us);
		} else if (e->kind == WZ_EF_HOLD && c->jobs.job[slot].state == WZ_JOB_WAITING &&
		           ret->n_opened < WZ_REPACK_SHOWN_MAX) {
			s = &c->shapes.shape[c->jobs.job[slot].shape];
			ret->opened[ret->n_opened++] = e->job;
			ret->gain_milli += wz_shape_gpu_milli(s);
		}
	}
}

int wz_core_repack(struct wz_core *c, uint32_t moves, struct wz_repack_report *ret, struct wz_err *err)
{
	struct wz_repack_state before = c->repack;
	struct wz_plan plan;
	int r;

	*ret = (struct wz_repack_report){.n = 0};
	wz_plan_init(&plan, &c->mem);
	c->repack.asked = moves; /* seen by this decision alone */
	c->repack.budget = 0;
	c->repack.go = true;
	r = wz_core_decide(c, 0, &plan, err);
	c->repack = before;
	if (r == 0)
		show(c, &plan, ret);
	wz_plan_release(&plan);
	return r;
}
