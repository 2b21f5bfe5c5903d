/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest set of units that makes room for a job: where there are few, all sets are tried, which is exact for gangs, too;
 * else task by task (evict_node.c), in each group of nodes that may hold the job. Then every unit that turns out not to be
 * needed is left out. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

#include <string.h>

#define EXACT_UNITS 12u /* so few: all sets */

uint32_t wz_unit_tasks(const struct wz_core *c, const struct wz_unit *u, uint32_t *ret_first)
{
	const struct wz_job *j = &c->jobs.job[u->slot];

	*ret_first = u->task == WZ_ID_NONE ? j->first_task : u->task;
	return u->task == WZ_ID_NONE ? j->n_tasks : 1;
}

int wz_unit_give(struct wz_core *c, const struct wz_unit *u)
{
	uint32_t first, n = wz_unit_tasks(c, u, &first);
	int r = wz_ledger_reserve(c, n);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (c->jobs.task[first + i].node != WZ_ID_NONE)
			wz_ledger_give(c, first + i);
	return r;
}

struct wz_candidate *wz_candidate_for(struct wz_core *c, uint32_t slot, uint32_t beneficiary)
{
	uint32_t at = c->evict.cand_of[slot];
	struct wz_candidate *k = at ? &c->evict.cand[at - 1] : NULL;

	if (!k || k->used)
		return NULL;
	if (k->may == 0)
		k->may = wz_may_evict(c, slot, beneficiary) ? 1 : 2;
	return k->may == 1 ? k : NULL;
}

/* A job gives up single tasks as long as it can go on without them. The whole of it may be added to them, so that adding
 * more always gives more; what was found then goes without the single ones, which only cost. */
bool wz_units_may(const struct wz_unit *unit, const uint32_t *left, uint64_t mask, uint32_t i)
{
	uint32_t singles = 0;

	if (unit[i].task == WZ_ID_NONE)
		return true;
	for (; mask; mask &= mask - 1) {
		const struct wz_unit *u = &unit[__builtin_ctzll(mask)];
		if (u->slot == unit[i].slot && u->task == WZ_ID_NONE)
			return false;
		singles += u->slot == unit[i].slot;
	}
	return singles < left[i];
}

/* ---- all of the cluster ---- */

static bool assembles(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	uint32_t mark = wz_ledger_mark(c);
	bool ok;

	c->evict.work += c->jobs.job[slot].tasks_min;
	c->evict.starts.n = 0;
	ok = wz_assemble(c, slot, &c->evict.starts, rng, ret_err) == WZ_REASON_NONE && *ret_err == 0;
	wz_ledger_rollback(c, mark);
	return ok;
}

struct everywhere {
	struct wz_core *c;
	uint32_t slot, n;
	struct wz_rng *rng;
	struct wz_unit unit[EXACT_UNITS];
	uint64_t cost[EXACT_UNITS];
	uint32_t left[EXACT_UNITS];
	uint32_t mark[EXACT_UNITS]; /* of the transaction before it was added */
	int r;
};

static int all_add(void *ctx, uint32_t i)
{
	struct everywhere *a = ctx;

	a->mark[i] = wz_ledger_mark(a->c);
	return wz_unit_give(a->c, &a->unit[i]);
}

static void all_drop(void *ctx, uint32_t i)
{
	struct everywhere *a = ctx;

	wz_ledger_rollback(a->c, a->mark[i]);
}

static bool all_fits(void *ctx)
{
	struct everywhere *a = ctx;

	return assembles(a->c, a->slot, a->rng, &a->r);
}

static bool all_may(void *ctx, uint64_t mask, uint32_t i)
{
	const struct everywhere *a = ctx;

	return wz_units_may(a->unit, a->left, mask, i);
}

static bool list(struct everywhere *a, struct wz_unit u, uint32_t left)
{
	uint32_t at = a->n;

	if (at == EXACT_UNITS)
		return false;
	for (a->n++; at && a->cost[at - 1] > u.cost; at--) {
		a->unit[at] = a->unit[at - 1];
		a->cost[at] = a->cost[at - 1];
		a->left[at] = a->left[at - 1];
	}
	a->unit[at] = u;
	a->cost[at] = u.cost;
	a->left[at] = left;
	return true;
}

/* All units there are; false: too many to try all sets. */
static bool list_all(struct everywhere *a)
{
	struct wz_core *c = a->c;

	for (uint32_t i = 0; i < c->evict.n_cand; i++) {
		uint32_t slot = c->evict.cand[i].slot;
		const struct wz_job *j = &c->jobs.job[slot];
		struct wz_candidate *k = wz_candidate_for(c, slot, a->slot);
		if (!k)
			continue;
		if (!list(a, (struct wz_unit){slot, WZ_ID_NONE, k->cost}, 0))
			return false;
		for (uint32_t t = j->first_task; k->spare && t < j->first_task + j->n_tasks; t++)
			if (c->jobs.task[t].state == WZ_TASK_RUNNING &&
			        !list(a, (struct wz_unit){slot, t, wz_evict_cost(c, t, false, false)}, k->spare))
				return false;
	}
	return true;
}

/* Tries all sets where they are few. 1: done, *ret_found tells; 0: there are too many. */
static int search_all(struct wz_core *c, uint32_t slot, struct wz_rng *rng, bool *ret_found)
{
	struct everywhere a = {.c = c, .slot = slot, .rng = rng};
	struct wz_cover v = {.ctx = &a,
	        .cost = a.cost,
	        .may = all_may,
	        .add = all_add,
	        .drop = all_drop,
	        .fits = all_fits,
	        .tests_max = UINT64_MAX};
	uint64_t mask = 0;
	int r;

	*ret_found = false;
	if (!list_all(&a))
		return 0;
	v.n = a.n;
	*ret_found = wz_cover_find(&v, UINT64_MAX, &mask, &r) != UINT64_MAX;
	if (r == 0)
		r = a.r;
	if (r == 0)
		r = wz_grow(&c->mem, &c->evict.chosen, &c->evict.chosen_cap, EXACT_UNITS, sizeof(*c->evict.chosen));
	for (; r == 0 && mask; mask &= mask - 1)
		c->evict.chosen[c->evict.n_chosen++] = a.unit[__builtin_ctzll(mask)];
	return r < 0 ? r : 1;
}

/* Leaves out what is not needed, the dearest first. The transaction is as it was. */
static int prune(struct wz_core *c, uint32_t slot, struct wz_rng *rng)
{
	struct wz_evict *v = &c->evict;
	uint32_t mark = wz_ledger_mark(c);
	int r = 0;

	for (uint32_t i = 1; i < v->n_chosen; i++) { /* by cost, from high to low */
		struct wz_unit u = v->chosen[i];
		uint32_t at = i;
		for (; at && v->chosen[at - 1].cost < u.cost; at--)
			v->chosen[at] = v->chosen[at - 1];
		v->chosen[at] = u;
	}
	for (uint32_t i = 0; v->n_chosen > 1 && i < v->n_chosen && r == 0 && v->work < v->work_max;) {
		bool without;
		for (uint32_t k = 0; k < v->n_chosen && r == 0; k++)
			r = k == i ? 0 : wz_unit_give(c, &v->chosen[k]);
		without = r == 0 && assembles(c, slot, rng, &r);
		wz_ledger_rollback(c, mark);
		if (without && r == 0)
			memmove(&v->chosen[i], &v->chosen[i + 1], (--v->n_chosen - i) * sizeof(*v->chosen));
		else
			i++;
	}
	return r;
}

/* One group of nodes: all of them, or one place where all tasks must sit. */
static struct wz_node_list group_at(const struct wz_core *c, const struct wz_node_groups *g, uint32_t i)
{
	if (!g->together)
		return (struct wz_node_list){c->model.by_rank, c->model.n_ranked};
	if (!g->start)
		return (struct wz_node_list){&g->node[i], 1};
	return (struct wz_node_list){&g->node[g->start[i]], g->start[i + 1] - g->start[i]};
}

/* Each group by itself; of several the cheapest once more, so that what is chosen is its. */
static bool search_groups(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	uint32_t mark = wz_ledger_mark(c), winner = WZ_ID_NONE;
	uint64_t best = UINT64_MAX;
	struct wz_node_groups g;

	*ret_err = wz_assemble_groups(c, slot, &g);
	for (uint32_t i = 0; i < g.n && *ret_err == 0; i++) {
		uint64_t cost;
		c->evict.n_chosen = 0;
		cost = wz_evict_fill(c, slot, group_at(c, &g, i), best, rng, ret_err);
		wz_ledger_rollback(c, mark);
		if (cost < best) {
			best = cost;
			winner = i;
		}
	}
	if (winner == WZ_ID_NONE || *ret_err < 0)
		return false;
	if (g.n > 1) {
		c->evict.n_chosen = 0;
		best = wz_evict_fill(c, slot, group_at(c, &g, winner), UINT64_MAX, rng, ret_err);
		wz_ledger_rollback(c, mark);
	}
	return best != UINT64_MAX && *ret_err == 0 && c->evict.n_chosen;
}

bool wz_evict_search(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	bool found = false;
	int r = 0;

	*ret_err = 0;
	c->evict.n_chosen = 0;
	if (c->jobs.job[slot].tasks_min > 1)
		r = search_all(c, slot, rng, &found);
	if (r == 0)
		found = search_groups(c, slot, rng, ret_err);
	else if (r < 0)
		*ret_err = r;
	if (found && *ret_err == 0)
		*ret_err = prune(c, slot, rng);
	return found && *ret_err == 0;
}
