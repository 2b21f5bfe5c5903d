/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest set of units that makes room for a job.
 *
 * For one task: what each node would cost at least is known from a look at its tasks (the cheapest unit; the cheapest
 * device times the devices that are missing). Nodes are taken from a heap by that bound; one that is taken gets its exact
 * cost (cover.c) and goes back; the first that comes out with an exact cost is the cheapest of all. For several tasks this is
 * repeated, each time on what the one before left; only nodes that changed are looked at again. Then every unit that
 * turns out not to be needed is left out. Where there are few units, all sets of them are tried instead: exact for
 * gangs, too. Looks at one node leave no trace in the ledger (wz_ledger_peek). */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

#include <string.h>

#define UNITS_MAX 64u /* of one node: the cheapest */
#define EXACT_UNITS 12u /* so few: all sets */
#define NODE_TESTS_MAX 4096u

uint32_t wz_unit_tasks(const struct wz_core *c, const struct wz_unit *u, uint32_t *ret_first)
{
	const struct wz_job *j = &c->jobs.job[u->slot];

	*ret_first = u->task == WZ_ID_NONE ? j->first_task : u->task;
	return u->task == WZ_ID_NONE ? j->tasks_max : 1;
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

static struct wz_candidate *candidate(struct wz_core *c, uint32_t slot, uint32_t beneficiary)
{
	uint32_t at = c->evict.cand_of[slot];
	struct wz_candidate *k = at ? &c->evict.cand[at - 1] : NULL;

	if (!k || k->used)
		return NULL;
	if (k->may == 0)
		k->may = wz_may_evict(c, slot, beneficiary) ? 1 : 2;
	return k->may == 1 ? k : NULL;
}

/* Tasks of the job that were chosen one by one. */
static uint32_t chosen_of(const struct wz_evict *v, uint32_t slot)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_chosen; i++)
		n += v->chosen[i].slot == slot && v->chosen[i].task != WZ_ID_NONE;
	return n;
}

/* ---- one node ---- */

struct here {
	struct wz_core *c;
	uint32_t slot, node; /* the beneficiary; where */
	uint32_t n;
	uint64_t in; /* those that are added */
	struct wz_unit unit[UNITS_MAX];
	uint64_t cost[UNITS_MAX];
	uint32_t devices[UNITS_MAX]; /* that it has here */
	uint32_t left[UNITS_MAX]; /* of a single task: how many its job can still give up */
};

/* Keeps the cheapest, sorted by cost; of equal ones the first stays first. */
static void offer(struct here *h, struct wz_unit u, uint32_t devices, uint32_t left)
{
	uint32_t at = h->n;

	if (at == UNITS_MAX && h->cost[at - 1] <= u.cost)
		return;
	if (at == UNITS_MAX)
		at--;
	else
		h->n++;
	for (; at && h->cost[at - 1] > u.cost; at--) {
		h->unit[at] = h->unit[at - 1];
		h->cost[at] = h->cost[at - 1];
		h->devices[at] = h->devices[at - 1];
		h->left[at] = h->left[at - 1];
	}
	h->unit[at] = u;
	h->cost[at] = u.cost;
	h->devices[at] = devices;
	h->left[at] = left;
}

/* Another task of a job that is listed as a whole. */
static bool listed(struct here *h, uint32_t slot, uint32_t devices)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->unit[i].slot == slot && h->unit[i].task == WZ_ID_NONE) {
			h->devices[i] += devices;
			return true;
		}
	return false;
}

static void collect(struct here *h)
{
	struct wz_core *c = h->c;

	h->n = 0;
	for (uint32_t t = c->model.node[h->node].head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
		uint32_t slot = c->jobs.task[t].job,
		         devices = (uint32_t)__builtin_popcountll(c->jobs.task[t].devices);
		struct wz_candidate *k = candidate(c, slot, h->slot);
		uint32_t left, given;
		if (!k || c->jobs.task[t].state != WZ_TASK_RUNNING)
			continue;
		given = k->spare ? chosen_of(&c->evict, slot) : 0;
		left = k->spare > given ? k->spare - given : 0;
		if (!listed(h, slot, devices))
			offer(h, (struct wz_unit){slot, WZ_ID_NONE, k->cost}, devices, 0);
		if (left)
			offer(h, (struct wz_unit){slot, t, wz_evict_cost(c, t, false, false)}, devices, left);
	}
}

/* At least this: the cheapest unit, and the cheapest device times those that are missing. UINT64_MAX: nobody is here. */
static uint64_t bound(const struct here *h)
{
	const struct wz_core *c = h->c;
	const struct wz_node *n = &c->model.node[h->node];
	const struct wz_shape *s = &c->shapes.shape[c->jobs.job[h->slot].shape];
	uint64_t least = UINT64_MAX;
	uint32_t enough = 0;

	if (h->n == 0)
		return UINT64_MAX;
	for (uint32_t i = 0; i < n->n_dev; i++)
		enough += c->model.dev_milli[n->first_dev + i] >= s->milli;
	if (s->special || enough >= s->count)
		return h->cost[0];
	for (uint32_t i = 0; i < h->n; i++) {
		uint64_t each =
		        h->devices[i] ? wz_umuldiv(h->cost[i], s->count - enough, h->devices[i]) : UINT64_MAX;
		least = each < least ? each : least;
	}
	return least > h->cost[0] ? least : h->cost[0];
}

/* Is the task given up already, by itself? */
static bool alone(const struct here *h, uint32_t task)
{
	for (uint64_t w = h->in; w; w &= w - 1)
		if (h->unit[__builtin_ctzll(w)].task == task)
			return true;
	return false;
}

static void peek(const struct here *h, uint32_t i, int sign)
{
	struct wz_core *c = h->c;
	uint32_t first, n = wz_unit_tasks(c, &h->unit[i], &first);

	for (uint32_t k = 0; k < n; k++)
		if (c->jobs.task[first + k].node == h->node && (n == 1 || !alone(h, first + k)))
			wz_ledger_peek(c, first + k, sign);
}

static int here_add(void *ctx, uint32_t i)
{
	struct here *h = ctx;

	peek(h, i, 1);
	h->in |= 1ULL << i;
	return 0;
}

static void here_drop(void *ctx, uint32_t i)
{
	struct here *h = ctx;

	h->in &= ~(1ULL << i);
	peek(h, i, -1);
}

static bool here_fits(void *ctx)
{
	struct here *h = ctx;
	struct wz_scratch scratch;
	struct wz_view v;

	h->c->evict.work++;
	return wz_fit(h->c, &h->c->shapes.shape[h->c->jobs.job[h->slot].shape], h->node, &v, &scratch) ==
	       WZ_REASON_NONE;
}

/* A job gives up single tasks as long as it can go on without them. The whole of it may be added to them, so that adding
 * more always gives more; what was found then goes without the single ones, which only cost. */
static bool may_add(const struct wz_unit *unit, const uint32_t *left, uint64_t mask, uint32_t i)
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

static bool here_may(void *ctx, uint64_t mask, uint32_t i)
{
	const struct here *h = ctx;

	return may_add(h->unit, h->left, mask, i);
}

static uint64_t solve(struct here *h, uint64_t less_than, uint64_t *ret_mask)
{
	struct wz_cover v = {.ctx = h,
	        .n = h->n,
	        .cost = h->cost,
	        .may = here_may,
	        .add = here_add,
	        .drop = here_drop,
	        .fits = here_fits,
	        .tests_max = NODE_TESTS_MAX};
	int r;

	return wz_cover_find(&v, less_than, ret_mask, &r);
}

/* ---- the heap of nodes ---- */

static bool before(const struct wz_core *c, const struct wz_evict_node *a, const struct wz_evict_node *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	if (a->exact != b->exact) /* one that is known first: nothing can be cheaper */
		return a->exact;
	return c->model.node[a->node].rank < c->model.node[b->node].rank;
}

static void push(struct wz_core *c, struct wz_evict_node x)
{
	struct wz_evict *v = &c->evict;
	uint32_t at = v->n_heap++;

	wz_check(at < v->heap_cap);
	for (; at && before(c, &x, &v->heap[(at - 1) / 2]); at = (at - 1) / 2)
		v->heap[at] = v->heap[(at - 1) / 2];
	v->heap[at] = x;
}

static struct wz_evict_node pop(struct wz_core *c)
{
	struct wz_evict *v = &c->evict;
	struct wz_evict_node top = v->heap[0], last = v->heap[--v->n_heap];
	uint32_t at = 0;

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= v->n_heap)
			break;
		if (kid + 1 < v->n_heap && before(c, &v->heap[kid + 1], &v->heap[kid]))
			kid++;
		if (!before(c, &v->heap[kid], &last))
			break;
		v->heap[at] = v->heap[kid];
		at = kid;
	}
	if (v->n_heap)
		v->heap[at] = last;
	return top;
}

/* Puts the node into the heap with its bound, or with 0 when a task fits there without anybody going. */
static int look_at(struct wz_core *c, uint32_t slot, uint32_t node)
{
	struct wz_evict *v = &c->evict;
	struct here h = {.c = c, .slot = slot, .node = node};
	struct wz_evict_node x = {.node = node, .stamp = ++v->stamp[node]};
	int r = wz_grow(&c->mem, &v->heap, &v->heap_cap, v->n_heap + 1, sizeof(*v->heap));

	if (r < 0 || !WZ_NODE_USABLE(&c->model.node[node]))
		return r; /* absent ones are no work: a restart does not know them */
	v->work++;
	x.exact = wz_gate_eval(c, slot, node) != WZ_SCORE_NONE;
	if (!x.exact) {
		collect(&h);
		x.cost = bound(&h);
	}
	if (x.cost != UINT64_MAX)
		push(c, x);
	return 0;
}

static int choose(struct wz_core *c, struct wz_unit u)
{
	struct wz_evict *v = &c->evict;
	int r = wz_grow(&c->mem, &v->chosen, &v->chosen_cap, v->n_chosen + 1, sizeof(*v->chosen));

	if (r == 0)
		r = wz_unit_give(c, &u);
	if (r == 0)
		v->chosen[v->n_chosen++] = u;
	return r;
}

/* The units of a node that was found to be the cheapest go; all nodes that they were on are looked at again. */
static int take_node(struct wz_core *c, uint32_t slot, uint32_t node, uint64_t *cost)
{
	struct here h = {.c = c, .slot = slot, .node = node};
	uint64_t mask = 0;
	int r = 0;

	collect(&h);
	if (solve(&h, UINT64_MAX, &mask) == UINT64_MAX)
		return 0;
	for (; mask && r == 0; mask &= mask - 1) {
		struct wz_unit u = h.unit[__builtin_ctzll(mask)];
		uint32_t first, n = wz_unit_tasks(c, &u, &first), mark = wz_ledger_mark(c);
		r = choose(c, u);
		*cost = wz_usat_add(*cost, u.cost);
		for (uint32_t i = mark; u.task == WZ_ID_NONE && n > 1 && r == 0 && i < wz_ledger_mark(c); i++)
			if (c->ledger.undo[i].place.node.v != node)
				r = look_at(c, slot, c->ledger.undo[i].place.node.v);
	}
	return r;
}

/* Room for all of the minimum on nodes of a group, one task after the other. Appends to what is chosen; the cost, or
 * UINT64_MAX. The open transaction has changed. */
static uint64_t fill(struct wz_core *c, uint32_t slot, const uint32_t *node, uint32_t n, uint64_t less_than,
        struct wz_rng *rng, int *ret_err)
{
	struct wz_evict *v = &c->evict;
	uint32_t placed = 0, min = c->jobs.job[slot].tasks_min;
	uint64_t cost = 0;

	v->n_heap = 0;
	v->starts.n = 0;
	for (uint32_t i = 0; i < n && *ret_err == 0; i++)
		*ret_err = look_at(c, slot, node[i]);
	while (placed < min && v->n_heap && *ret_err == 0 && v->work < v->work_max) {
		struct wz_evict_node x = pop(c);
		struct here h = {.c = c, .slot = slot, .node = x.node};
		uint64_t mask;
		if (x.stamp != v->stamp[x.node])
			continue;
		if (wz_usat_add(cost, x.cost) >= less_than)
			return UINT64_MAX;
		if (!x.exact) {
			collect(&h);
			x.cost = solve(&h, UINT64_MAX, &mask);
			x.exact = true;
			if (x.cost != UINT64_MAX)
				push(c, x);
			continue;
		}
		if (x.cost)
			*ret_err = take_node(c, slot, x.node, &cost);
		if (*ret_err == 0 && wz_gate_eval(c, slot, x.node) != WZ_SCORE_NONE) {
			*ret_err = wz_assemble_on(c, slot, placed++, x.node, &v->starts, rng);
			if (*ret_err == 0)
				*ret_err = look_at(c, slot, x.node);
		}
	}
	return placed >= min && *ret_err == 0 ? cost : UINT64_MAX;
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

	return may_add(a->unit, a->left, mask, i);
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
		struct wz_candidate *k = candidate(c, slot, a->slot);
		if (!k)
			continue;
		if (!list(a, (struct wz_unit){slot, WZ_ID_NONE, k->cost}, 0))
			return false;
		for (uint32_t t = j->first_task; k->spare && t < j->first_task + j->tasks_max; t++)
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

/* The groups of nodes on which a job may sit: all of them together, or each rack, or each node. */
static bool search_groups(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_shape *s = &c->shapes.shape[j->shape];
	bool together =
	        j->tasks_max > 1 && !s->link_preferred && (s->link == WZ_LINK_RACK || s->link == WZ_LINK_NODE);
	bool racks = together && s->link == WZ_LINK_RACK;
	uint32_t groups = !together ? 1
	                  : racks   ? m->n_racks
	                            : m->n_ranked,
	         mark = wz_ledger_mark(c), winner = WZ_ID_NONE;
	uint64_t best = UINT64_MAX;

	for (uint32_t g = 0; g <= groups && *ret_err == 0; g++) {
		bool last = g == groups; /* once more the best */
		uint32_t k = last ? winner : g, n = !together ? m->n_ranked : racks ? 0 : 1;
		const uint32_t *node = m->by_rank;
		uint64_t cost;
		if (k == WZ_ID_NONE)
			return false;
		if (racks) {
			node = &m->rack_node[m->rack_start[k]];
			n = m->rack_start[k + 1] - m->rack_start[k];
		} else if (together) {
			node = &m->by_rank[k];
		}
		if (last && groups == 1)
			break; /* it is still what was chosen */
		c->evict.n_chosen = 0;
		cost = fill(c, slot, node, n, last ? UINT64_MAX : best, rng, ret_err);
		wz_ledger_rollback(c, mark);
		if (!last && cost < best) {
			best = cost;
			winner = k;
		}
	}
	return *ret_err == 0 && winner != WZ_ID_NONE && c->evict.n_chosen;
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
