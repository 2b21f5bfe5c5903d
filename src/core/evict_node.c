/* SPDX-License-Identifier: Apache-2.0 */
/* Room for one task after the other, each where it is cheapest.
 *
 * What a node would cost at least is known from a look at its tasks (the cheapest unit; the cheapest device times the devices
 * that are missing). Nodes are taken from a heap by that bound; one that is taken gets its exact cost (cover.c) and goes back;
 * the first that comes out with an exact cost is the cheapest of all. The next task meets what the one before left; only
 * nodes that changed are looked at again. Looks at one node leave no trace in the ledger (wz_ledger_peek). */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

#define UNITS_MAX 64u /* of one node: the cheapest */
#define NODE_TESTS_MAX 4096u

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
	uint32_t slot, shape, node; /* the beneficiary; what a task of it asks; where */
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
		struct wz_candidate *k = wz_candidate_for(c, slot, h->slot);
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
	const struct wz_shape *s = &c->shapes.shape[h->shape];
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
	return wz_fit(h->c, &h->c->shapes.shape[h->shape], h->node, &v, &scratch) == WZ_REASON_NONE;
}

static bool here_may(void *ctx, uint64_t mask, uint32_t i)
{
	const struct here *h = ctx;

	return wz_units_may(h->unit, h->left, mask, i);
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

/* ---- one task after the other ---- */

/* Where one more task of a set is to go. */
struct want {
	struct wz_core *c;
	struct wz_rng *rng;
	uint32_t slot;
	const struct wz_set *set;
	struct wz_between_look asked;
	bool asks;
};

static bool fits_now(struct want *w, uint32_t node)
{
	return wz_gate_eval(w->c, w->slot, w->set->shape, node) != WZ_SCORE_NONE;
}

/* Puts the node into the heap with its bound, or with 0 when a task fits there without anybody going. */
static int look_at(struct want *w, uint32_t node)
{
	struct wz_core *c = w->c;
	struct wz_evict *v = &c->evict;
	struct here h = {.c = c, .slot = w->slot, .shape = w->set->shape, .node = node};
	struct wz_evict_node x = {.node = node, .stamp = ++v->stamp[node]};
	int64_t preference;
	int r = wz_grow(&c->mem, &v->heap, &v->heap_cap, v->n_heap + 1, sizeof(*v->heap));

	if (r < 0 || !WZ_NODE_USABLE(&c->model.node[node]))
		return r; /* absent ones are no work: a restart does not know them */
	v->work++;
	if (w->asks && wz_between_at(&w->asked, node, &preference) != WZ_REASON_NONE)
		return 0;
	x.exact = fits_now(w, node);
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
static int take_node(struct want *w, uint32_t node, uint64_t *cost)
{
	struct wz_core *c = w->c;
	struct here h = {.c = c, .slot = w->slot, .shape = w->set->shape, .node = node};
	uint64_t mask = 0;
	int r = 0;

	collect(&h);
	if (solve(&h, UINT64_MAX, &mask) == UINT64_MAX)
		return 0;
	for (; mask && r == 0; mask &= mask - 1) {
		struct wz_unit u = h.unit[__builtin_ctzll(mask)];
		uint32_t mark = wz_ledger_mark(c);
		r = choose(c, u);
		*cost = wz_usat_add(*cost, u.cost);
		for (uint32_t i = mark; u.task == WZ_ID_NONE && r == 0 && i < wz_ledger_mark(c); i++)
			if (c->ledger.undo[i].place.node.v != node)
				r = look_at(w, c->ledger.undo[i].place.node.v);
	}
	return r;
}

/* A task of the set goes to the node that came out of the heap with its exact cost. 1: it was placed. */
static int settle_on(struct want *w, struct wz_evict_node x, uint32_t index, uint64_t *cost)
{
	int r = x.cost ? take_node(w, x.node, cost) : 0;

	if (r < 0 || !fits_now(w, x.node))
		return r;
	r = wz_assemble_on(w->c, w->slot, index, x.node, &w->c->evict.starts, w->rng);
	if (r == 0)
		r = look_at(w, x.node);
	return r < 0 ? r : 1;
}

/* Room for the minimum of one set on nodes of a group. 1: there is; 0: not, or not for less. */
static int fill_set(struct want *w, const uint32_t *node, uint32_t n, uint64_t less_than, uint64_t *cost)
{
	struct wz_core *c = w->c;
	struct wz_evict *v = &c->evict;
	uint32_t placed = 0;
	int r = 0;

	v->n_heap = 0;
	w->asks = wz_between_begin(c, w->set->between, &w->asked);
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = look_at(w, node[i]);
	while (r >= 0 && placed < w->set->min && v->n_heap && v->work < v->work_max) {
		struct wz_evict_node x = pop(c);
		struct here h = {.c = c, .slot = w->slot, .shape = w->set->shape, .node = x.node};
		uint64_t mask;
		if (x.stamp != v->stamp[x.node])
			continue;
		if (wz_usat_add(*cost, x.cost) >= less_than)
			return 0;
		if (x.exact) {
			r = settle_on(w, x, w->set->first + placed, cost);
			placed += r > 0;
			continue;
		}
		collect(&h);
		x.cost = solve(&h, UINT64_MAX, &mask);
		x.exact = true;
		if (x.cost != UINT64_MAX)
			push(c, x);
	}
	return r < 0 ? r : placed >= w->set->min;
}

uint64_t wz_evict_fill(struct wz_core *c, uint32_t slot, struct wz_node_list nodes, uint64_t less_than,
        struct wz_rng *rng, int *ret_err)
{
	struct wz_set one;
	uint32_t n_sets;
	const struct wz_set *set = wz_job_sets(c, &c->jobs.job[slot], &one, &n_sets);
	uint64_t cost = 0;

	c->evict.starts.n = 0;
	for (uint32_t i = 0; i < n_sets; i++) {
		struct want w = {.c = c, .rng = rng, .slot = slot, .set = &set[i]};
		int r = fill_set(&w, nodes.node, nodes.n, less_than, &cost);
		if (r < 0)
			*ret_err = r;
		if (r <= 0)
			return UINT64_MAX;
	}
	return cost;
}
