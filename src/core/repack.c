/* SPDX-License-Identifier: Apache-2.0 */
/* The search. For a task that fits nowhere each node is asked for the cheapest set of movable tasks that would make
 * room; the cheapest nodes are then tried in turn, in the transaction: the victims go, the task comes, and every victim
 * looks for another place, where the policy would put it; one that finds none may ask for room in the same way, a level
 * deeper. So chains and swaps come out of the one rule. The first way that works is taken: nodes are tried by cost, and
 * at equal cost by rank. Victims that fit elsewhere as things are go before those that do not.
 *
 * It is an anytime search: `work` counts nodes and tasks looked at, and when it is used up nothing is found. */
#include "core/repack.h"

#include "base/check.h"
#include "base/fix.h"
#include "core/core_int.h"

#include <string.h>

#define TRIES_MAX 24u /* nodes that are tried at a level */
#define NODE_TASKS_MAX 64u /* tasks of a node that are looked at */
#define STUCK_COST ((int64_t)1 << 40) /* of a victim that fits nowhere as things are: tried last */
#define COST_MAX ((int64_t)1 << 60)

struct candidate {
	int64_t cost;
	uint32_t node, n;
	uint32_t task[WZ_REPACK_MOVES_MAX];
};

struct search {
	struct wz_core *c;
	struct wz_repack *x;
	struct wz_rng *rng;
	uint8_t *fits; /* by shape: 0 not asked, 1 somewhere, 2 nowhere, in the state at the beginning */
	uint32_t n_fits, avoid; /* avoid: a node that no one may go to, or none */
	int err;
};

/* ---- what a move costs ---- */

bool wz_repack_movable(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];

	return t->state == WZ_TASK_RUNNING && !t->observed && !t->effect && j->state == WZ_JOB_RUNNING &&
	       !j->suspended && j->n_tasks == 1 && !j->gang && !j->between && j->preempt.movable;
}

/* What is done since it was last safe; work that checkpoints when it is warned loses nothing. And stopping and starting. */
uint64_t wz_repack_lost_us(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];
	uint64_t safe = t->checkpoint_us > t->started_us ? t->checkpoint_us : t->started_us, lost = 0;

	if (!j->preempt.signal[0] && c->now_us > safe)
		lost = c->now_us - safe;
	return wz_usat_add(lost, (uint64_t)c->param[WZ_PARAM_REPACK_RESTART_US]);
}

/* Devices weigh with their compute; what has none with its CPU, 16 for a device; nothing is free. */
int64_t wz_repack_weight(int64_t gpu_milli, int64_t cpu_milli)
{
	int64_t cpu = cpu_milli / 16, w = gpu_milli > cpu ? gpu_milli : cpu;

	return w > 1 ? w : 1;
}

int64_t wz_repack_cost(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	uint64_t ms = wz_repack_lost_us(c, task) / 1000;

	return wz_sat_mul(wz_repack_weight((int64_t)__builtin_popcountll(t->devices) * t->dev_milli, t->cpu),
	        ms < 1ULL << 40 ? (int64_t)ms + 1 : (int64_t)1 << 40);
}

/* Do disruption budgets allow that all of them stop together? */
bool wz_repack_allowed(const struct wz_core *c, const struct wz_repack *x)
{
	uint32_t task[WZ_REPACK_MOVES_MAX];

	for (uint32_t i = 0; i < x->n; i++)
		task[i] = x->move[i].task;
	return c->between.n_budgets == 0 || wz_budget_allows(c, task, x->n);
}

/* ---- which tasks of a node ---- */

struct local {
	uint32_t task[NODE_TASKS_MAX], n;
	int64_t cost[NODE_TASKS_MAX];
	const struct wz_shape *s;
	const struct wz_node *node;
};

static bool fits_somewhere(struct search *k, uint32_t shape)
{
	if (shape >= k->n_fits)
		return false;
	if (!k->fits[shape])
		k->fits[shape] = wz_index_best(k->c, shape, 0, k->rng) != WZ_ID_NONE ? 1 : 2;
	return k->fits[shape] == 1;
}

static bool moved_already(const struct search *k, uint32_t task)
{
	for (uint32_t i = 0; i < k->x->n; i++)
		if (k->x->move[i].task == task)
			return true;
	return false;
}

static void gather(struct search *k, uint32_t node, struct local *l)
{
	const struct wz_core *c = k->c;

	l->n = 0;
	l->node = &c->model.node[node];
	for (uint32_t t = l->node->head_task; t != WZ_ID_NONE && l->n < NODE_TASKS_MAX; t = c->jobs.task[t].next) {
		k->x->work++;
		if (!wz_repack_movable(c, t) || moved_already(k, t))
			continue;
		l->task[l->n] = t;
		l->cost[l->n] = wz_repack_cost(c, t);
		if (!fits_somewhere(k, c->jobs.job[c->jobs.task[t].job].shape))
			l->cost[l->n] = wz_sat_add(l->cost[l->n], STUCK_COST);
		l->n++;
	}
}

static bool device_serves(const struct wz_core *c, const struct wz_shape *s, uint32_t i)
{
	const struct wz_device *d = &c->model.dev[i];

	return d->health != WZ_HEALTH_FAILED && d->partition == WZ_PARTITION_WHOLE && d->cut == WZ_CUT_NONE &&
	       (s->any_model || wz_model_set_has(&s->allowed, d->model));
}

/* The cheapest tasks, of those not chosen yet, that leave `milli` on a device: one that is enough, or from the cheapest on. */
static int64_t free_device(const struct wz_core *c, const struct local *l, uint32_t i, int32_t milli,
        uint64_t chosen, uint64_t *ret_set)
{
	int64_t free = c->model.dev_milli[l->node->first_dev + i], cost = 0;
	uint64_t set = 0;

	for (uint32_t a = 0; a < l->n; a++)
		if ((chosen >> a & 1) && (c->jobs.task[l->task[a]].devices >> i & 1))
			free += c->jobs.task[l->task[a]].dev_milli;
	while (free < milli) {
		uint32_t best = WZ_ID_NONE, enough = WZ_ID_NONE;
		for (uint32_t a = 0; a < l->n; a++) {
			const struct wz_task *t = &c->jobs.task[l->task[a]];
			if ((chosen | set) >> a & 1 || !(t->devices >> i & 1))
				continue;
			if (best == WZ_ID_NONE || l->cost[a] < l->cost[best])
				best = a;
			if (free + t->dev_milli >= milli && (enough == WZ_ID_NONE || l->cost[a] < l->cost[enough]))
				enough = a;
		}
		if (best == WZ_ID_NONE)
			return COST_MAX;
		if (enough != WZ_ID_NONE)
			best = enough;
		set |= 1ULL << best;
		cost = wz_sat_add(cost, l->cost[best]);
		free += c->jobs.task[l->task[best]].dev_milli;
	}
	*ret_set = set;
	return cost;
}

static int64_t free_devices(const struct wz_core *c, const struct local *l, uint64_t *chosen)
{
	uint64_t used = 0;
	int64_t all = 0;

	for (uint32_t k = 0; k < l->s->count; k++) {
		uint32_t best = WZ_ID_NONE;
		int64_t least = COST_MAX;
		uint64_t set = 0, best_set = 0;
		for (uint32_t i = 0; i < l->node->n_dev; i++) {
			int64_t cost;
			if ((used >> i & 1) || !device_serves(c, l->s, l->node->first_dev + i))
				continue;
			cost = free_device(c, l, i, l->s->milli, *chosen, &set);
			if (cost >= least)
				continue;
			least = cost;
			best = i;
			best_set = set;
			if (cost == 0)
				break;
		}
		if (best == WZ_ID_NONE)
			return COST_MAX;
		used |= 1ULL << best;
		*chosen |= best_set;
		all = wz_sat_add(all, least);
	}
	return all;
}

/* More tasks until the host has room, too. */
static int64_t free_host(const struct wz_core *c, const struct local *l, uint64_t *chosen)
{
	int64_t cpu = l->s->cpu - l->node->cpu_free, mem = l->s->mem - l->node->mem_free, all = 0;
	int64_t slots = l->node->max_tasks == INT32_MAX ? 0 : 1 - (int64_t)l->node->tasks_free;

	for (uint64_t w = *chosen; w; w &= w - 1) {
		const struct wz_task *t = &c->jobs.task[l->task[__builtin_ctzll(w)]];
		cpu -= t->cpu;
		mem -= t->mem;
		slots--;
	}
	while (cpu > 0 || mem > 0 || slots > 0) {
		uint32_t best = WZ_ID_NONE;
		bool best_enough = false;
		for (uint32_t a = 0; a < l->n; a++) {
			const struct wz_task *t = &c->jobs.task[l->task[a]];
			bool enough = t->cpu >= cpu && t->mem >= mem;
			if ((*chosen >> a & 1) || (t->cpu == 0 && t->mem == 0))
				continue;
			if (best == WZ_ID_NONE || (enough && !best_enough) ||
			        (enough == best_enough && (enough ? l->cost[a] < l->cost[best]
			                                          : t->cpu > c->jobs.task[l->task[best]].cpu))) {
				best = a;
				best_enough = enough;
			}
		}
		if (best == WZ_ID_NONE)
			return COST_MAX;
		*chosen |= 1ULL << best;
		all = wz_sat_add(all, l->cost[best]);
		cpu -= c->jobs.task[l->task[best]].cpu;
		mem -= c->jobs.task[l->task[best]].mem;
		slots--;
	}
	return all;
}

/* What would have to go from the node; false: nothing helps, or too much. */
static bool room_on(struct search *k, const struct wz_shape *s, uint32_t node, uint32_t most, struct candidate *ret)
{
	const struct wz_node *n = &k->c->model.node[node];
	struct local l = {.s = s};
	uint64_t chosen = 0;
	int64_t cost;

	k->x->work++;
	if (!WZ_NODE_USABLE(n) || node == k->avoid || s->cpu > n->cpu || s->mem > n->mem || n->n_dev < s->count ||
	        (s->count && n->model == WZ_MODEL_NONE) ||
	        (s->count && n->model != WZ_MODEL_MIXED && !s->any_model &&
	                !wz_model_set_has(&s->allowed, n->model)))
		return false;
	gather(k, node, &l);
	if (l.n == 0)
		return false;
	cost = free_devices(k->c, &l, &chosen);
	if (cost < COST_MAX)
		cost = wz_sat_add(cost, free_host(k->c, &l, &chosen));
	if (cost >= COST_MAX || chosen == 0 || (uint32_t)__builtin_popcountll(chosen) > most)
		return false;
	ret->cost = cost;
	ret->node = node;
	ret->n = 0;
	for (uint64_t w = chosen; w; w &= w - 1)
		ret->task[ret->n++] = l.task[__builtin_ctzll(w)];
	return true;
}

/* ---- trying ---- */

static bool place_on(struct search *k, uint32_t shape, uint32_t node, struct wz_place *ret)
{
	const struct wz_shape *s = &k->c->shapes.shape[shape];
	struct wz_policy_ctx ctx = wz_ctx(k->c, k->rng);
	struct wz_scratch scratch;
	struct wz_view v;

	if (wz_fit(k->c, s, node, &v, &scratch) != WZ_REASON_NONE)
		return false;
	*ret = (struct wz_place){.node = {node},
	        .cpu = s->cpu,
	        .mem = s->mem,
	        .dev_milli = v.need.milli,
	        .dev_mem = v.need.mem && v.need.milli < WZ_WHOLE ? v.need.mem : -1};
	if (v.need.count)
		ret->devices = k->c->policy->choose ? k->c->policy->choose(k->c->policy_state, &ctx, s, &v)
		                                    : wz_choose_tightest(&v);
	return true;
}

static bool take(struct search *k, uint32_t task, const struct wz_place *p)
{
	if (k->err == 0)
		k->err = wz_ledger_reserve(k->c, 1);
	if (k->err == 0)
		wz_ledger_take(k->c, task, p);
	return k->err == 0;
}

static bool give(struct search *k, uint32_t task)
{
	if (k->err == 0)
		k->err = wz_ledger_reserve(k->c, 1);
	if (k->err == 0)
		wz_ledger_give(k->c, task);
	return k->err == 0;
}

static bool spent(const struct search *k)
{
	return k->err < 0 || k->x->work >= k->x->work_max;
}

static bool find_place(struct search *k, uint32_t task, uint32_t shape, uint32_t depth, struct wz_place *ret);

/* The candidate's victims go; what that costs is within the limit. */
static bool leave(struct search *k, const struct candidate *a)
{
	struct wz_core *c = k->c;

	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_task *t = &c->jobs.task[a->task[i]];
		struct wz_move *m = &k->x->move[k->x->n];
		*m = (struct wz_move){.task = a->task[i],
		        .from = {.node = {t->node},
		                .devices = t->devices,
		                .cpu = t->cpu,
		                .mem = t->mem,
		                .dev_milli = t->dev_milli,
		                .dev_mem = t->dev_mem},
		        .cost = wz_repack_cost(c, a->task[i])};
		k->x->cost = wz_sat_add(k->x->cost, m->cost);
		k->x->n++;
		if (!give(k, m->task))
			return false;
	}
	return k->x->cost < k->x->cost_max && wz_repack_allowed(c, k->x);
}

/* The victims, moves `first` and on, find other places. */
static bool settle(struct search *k, const struct candidate *a, uint32_t first, uint32_t depth)
{
	for (uint32_t i = first; i < first + a->n; i++) {
		uint32_t victim = k->x->move[i].task;
		struct wz_place to;
		if (!find_place(k, victim, k->c->jobs.job[k->c->jobs.task[victim].job].shape, depth, &to))
			return false;
		k->x->move[i].to = to;
	}
	return true;
}

/* The victims go, the task comes, the victims find other places. */
static bool try_candidate(struct search *k, const struct candidate *a, uint32_t task, uint32_t shape,
        uint32_t depth, struct wz_place *ret)
{
	uint32_t first = k->x->n;

	return leave(k, a) && place_on(k, shape, a->node, ret) && take(k, task, ret) && settle(k, a, first, depth);
}

/* Insertion into the few cheapest; of equal ones the earlier stays before. */
static void keep(struct candidate *best, uint32_t *n, const struct candidate *a)
{
	uint32_t at = *n;

	if (*n == TRIES_MAX && a->cost >= best[*n - 1].cost)
		return;
	if (*n == TRIES_MAX)
		at--;
	else
		++*n;
	for (; at && best[at - 1].cost > a->cost; at--)
		best[at] = best[at - 1];
	best[at] = *a;
}

static bool make_room(struct search *k, uint32_t task, uint32_t shape, uint32_t depth, struct wz_place *ret)
{
	struct wz_core *c = k->c;
	struct candidate best[TRIES_MAX], a;
	uint32_t n = 0, before = k->x->n, most = k->x->moves_max - before, mark = wz_ledger_mark(c);
	int64_t cost = k->x->cost;

	for (uint32_t r = 0; r < c->model.n_ranked && !spent(k); r++)
		if (room_on(k, &c->shapes.shape[shape], c->model.by_rank[r], most, &a) &&
		        (depth > 1 || a.cost < STUCK_COST)) /* at the last level who fits nowhere stays */
			keep(best, &n, &a);
	for (uint32_t i = 0; i < n && !spent(k); i++) {
		if (try_candidate(k, &best[i], task, shape, depth - 1, ret))
			return true;
		wz_ledger_rollback(c, mark);
		k->x->n = before;
		k->x->cost = cost;
	}
	return false;
}

/* The best node for the shape but the one to avoid. */
static uint32_t best_node(struct search *k, uint32_t shape)
{
	const struct wz_model_state *m = &k->c->model;
	uint32_t best = wz_index_best(k->c, shape, 0, k->rng);
	int64_t most = WZ_SCORE_NONE;

	if (best == WZ_ID_NONE || best != k->avoid)
		return best;
	best = WZ_ID_NONE;
	for (uint32_t r = 0; r < m->n_ranked; r++) {
		int64_t score =
		        m->by_rank[r] == k->avoid ? WZ_SCORE_NONE : wz_index_eval(k->c, shape, m->by_rank[r]);
		if (score <= most)
			continue;
		most = score;
		best = m->by_rank[r];
	}
	return best;
}

/* A place for a task that holds none: free as things are, or made. */
static bool find_place(struct search *k, uint32_t task, uint32_t shape, uint32_t depth, struct wz_place *ret)
{
	uint32_t node = best_node(k, shape);

	k->x->work++;
	if (node != WZ_ID_NONE)
		return place_on(k, shape, node, ret) && take(k, task, ret);
	if (depth == 0 || k->x->n >= k->x->moves_max || spent(k))
		return false;
	return make_room(k, task, shape, depth, ret);
}

int wz_repack_begin(struct wz_core *c, struct wz_repack *x)
{
	x->n = 0;
	x->cost = 0;
	x->work = 0;
	x->moves_max = x->moves_max < WZ_REPACK_MOVES_MAX ? x->moves_max : WZ_REPACK_MOVES_MAX;
	if (wz_grow(&c->mem, &c->fruitless, &c->fruitless_cap, c->shapes.n + 1, sizeof(*c->fruitless)) < 0)
		return -ENOMEM;
	return wz_grow(&c->mem, &c->repack_fits, &c->repack_fits_cap, c->shapes.n + 1, sizeof(*c->repack_fits));
}

static struct search search(struct wz_core *c, struct wz_repack *x, struct wz_rng *rng)
{
	wz_check(c->ledger.open && c->repack_fits_cap > c->shapes.n);
	memset(c->repack_fits, 0, c->shapes.n); /* what fits where has changed since the last search */
	return (struct search){
	        .c = c, .x = x, .rng = rng, .avoid = WZ_ID_NONE, .n_fits = c->shapes.n, .fits = c->repack_fits};
}

bool wz_repack_open(
        struct wz_core *c, uint32_t task, uint32_t shape, struct wz_repack *x, struct wz_rng *rng, int *ret_err)
{
	uint32_t mark = wz_ledger_mark(c), n = x->n;
	struct search k = search(c, x, rng);
	int64_t cost = x->cost;
	bool found = find_place(&k, task, shape, x->depth_max, &x->place);

	*ret_err = k.err;
	if (found && k.err == 0)
		return true;
	wz_ledger_rollback(c, mark);
	x->n = n;
	x->cost = cost;
	return false;
}

bool wz_repack_vacate(struct wz_core *c, uint32_t task, struct wz_repack *x, struct wz_rng *rng, int *ret_err)
{
	const struct wz_node *n = &c->model.node[c->jobs.task[task].node];
	struct candidate a = {.node = WZ_ID_NONE, .n = 1, .task = {task}};
	uint32_t mark = wz_ledger_mark(c), before = x->n;
	struct search k = search(c, x, rng);
	int64_t cost = x->cost;

	*ret_err = 0;
	if (x->n >= x->moves_max)
		return false;
	k.avoid = (uint32_t)(n - c->model.node);
	if (leave(&k, &a) && settle(&k, &a, before, x->depth_max)) {
		*ret_err = k.err;
		return true;
	}
	*ret_err = k.err;
	wz_ledger_rollback(c, mark);
	x->n = before;
	x->cost = cost;
	return false;
}
