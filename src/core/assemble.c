/* SPDX-License-Identifier: Apache-2.0 */
/* A job as one transaction: all of its minimum, or nothing. Tasks are placed one after the other on the best node; what
 * one takes is seen by the next. Where the tasks are to stay together (link=rack, link=node, together: KEY), the places
 * that could hold them are tried one by one, and the first that does is taken. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

int wz_plan_add(struct wz_plan *p, const struct wz_effect *e)
{
	int r = wz_grow(p->mem, &p->effect, &p->cap, p->n + 1, sizeof(*p->effect));

	if (r == 0)
		p->effect[p->n++] = *e;
	return r;
}

static uint64_t choose_devices(
        struct wz_core *c, const struct wz_shape *s, const struct wz_view *v, struct wz_rng *rng)
{
	struct wz_policy_ctx ctx = wz_ctx(c, rng);
	uint64_t mask;

	if (v->need.count == 0)
		return 0;
	mask = c->policy->choose ? c->policy->choose(c->policy_state, &ctx, s, v) : wz_choose_tightest(v);
	wz_check((uint32_t)__builtin_popcountll(mask) == v->need.count);
	return mask;
}

/* Are these devices, which were held for it, what the task takes here? */
static bool are_right(const struct wz_view *v, uint64_t devices)
{
	if ((uint32_t)__builtin_popcountll(devices) != v->need.count)
		return false;
	for (uint64_t w = devices; w; w &= w - 1)
		if ((uint32_t)__builtin_ctzll(w) >= v->node->n_dev ||
		        !wz_device_fits(v, (uint32_t)__builtin_ctzll(w)))
			return false;
	return true;
}

/* A node, and perhaps the devices of it that are wanted. */
struct seat {
	uint32_t node;
	uint64_t devices;
};

/* Places the next task of the job there, on the devices wanted if it can. 0, or -ENOMEM. */
static int place_task(struct wz_core *c, uint32_t slot, uint32_t shape, uint32_t index, struct seat seat,
        struct wz_plan *plan, struct wz_rng *rng)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_shape *s = &c->shapes.shape[shape];
	struct wz_effect e = {.kind = WZ_EF_START,
	        .id = c->next_effect + plan->n,
	        .job = j->number,
	        .task = index,
	        .attempt = wz_task_next_attempt(j, &c->jobs.task[j->first_task + index]),
	        .deadline_us = wz_usat_add(c->now_us, c->start_timeout_us)};
	struct wz_scratch scratch;
	struct wz_view v;
	int r;

	wz_check(wz_fit(c, s, seat.node, &v, &scratch) == WZ_REASON_NONE);
	e.place = (struct wz_place){.node = {seat.node},
	        .cpu = s->cpu,
	        .mem = s->mem,
	        .dev_milli = v.need.milli,
	        .dev_mem = v.need.mem && v.need.milli < WZ_WHOLE ? v.need.mem : -1,
	        .devices =
	                seat.devices && are_right(&v, seat.devices) ? seat.devices : choose_devices(c, s, &v, rng)};
	r = wz_ledger_reserve(c, 1);
	if (r == 0)
		r = wz_plan_add(plan, &e);
	if (r < 0)
		return r;
	wz_ledger_take(c, j->first_task + index, &e.place);
	plan->work++; /* also when it is rolled back later: the budget bounds what was done, not what came of it */
	return 0;
}

int wz_assemble_on(
        struct wz_core *c, uint32_t slot, uint32_t index, uint32_t node, struct wz_plan *plan, struct wz_rng *rng)
{
	uint32_t shape = wz_task_shape(c, c->jobs.job[slot].first_task + index);

	return place_task(c, slot, shape, index, (struct seat){node, 0}, plan, rng);
}

/* ---- a job as one transaction ---- */

/* What one attempt to place a job looks at. `node` [n]: only these; n WZ_ID_NONE: every node. */
struct assembly {
	struct wz_core *c;
	struct wz_plan *plan;
	struct wz_rng *rng;
	uint32_t slot, n;
	const uint32_t *node;
	const struct wz_set *set;
	uint32_t n_sets;
	struct wz_set one;
	int r;
};

static void begin(struct assembly *a, struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng)
{
	*a = (struct assembly){.c = c, .plan = plan, .rng = rng, .slot = slot, .n = WZ_ID_NONE};
	a->set = wz_job_sets(c, &c->jobs.job[slot], &a->one, &a->n_sets);
}

/* The scores of the nodes of the group for one set; within it, what tasks ask of each other has a say too. */
struct local {
	int64_t *score;
	struct wz_between_look asked;
};

static void score_group(struct assembly *a, const struct wz_set *s, struct local *l)
{
	l->score = a->c->rank_score;
	for (uint32_t i = 0; a->n != WZ_ID_NONE && i < a->n; i++)
		l->score[i] = wz_gate_eval(a->c, a->slot, s->shape, a->node[i]);
}

static uint32_t best_in_group(struct assembly *a, const struct wz_set *s, struct local *l)
{
	bool asks = wz_between_begin(a->c, s->between, &l->asked);
	int64_t liked = INT64_MIN;
	uint32_t best = WZ_ID_NONE;

	for (uint32_t i = 0; i < a->n; i++) {
		int64_t p = 0;
		if (l->score[i] == WZ_SCORE_NONE ||
		        (asks && wz_between_at(&l->asked, a->node[i], &p) != WZ_REASON_NONE))
			continue;
		if (asks)
			p += wz_local_preference(a->c, &a->c->shapes.shape[s->shape], a->node[i]);
		if (best == WZ_ID_NONE || p > liked || (p == liked && l->score[i] > l->score[best])) {
			best = i;
			liked = p;
		}
	}
	return best;
}

/* Places one more task of a set, the one with the number `index`. False: it does not fit. */
static bool place_one(struct assembly *a, const struct wz_set *s, struct local *l, uint32_t index)
{
	uint32_t at = 0, node;

	if (a->n == WZ_ID_NONE) {
		node = wz_gate_best(a->c, a->slot, s->shape, s->between, a->rng);
	} else {
		at = best_in_group(a, s, l);
		node = at == WZ_ID_NONE ? WZ_ID_NONE : a->node[at];
	}
	if (node == WZ_ID_NONE)
		return false;
	a->r = place_task(a->c, a->slot, s->shape, index, (struct seat){node, 0}, a->plan, a->rng);
	if (a->r < 0)
		return false;
	if (a->n != WZ_ID_NONE)
		l->score[at] = wz_gate_eval(a->c, a->slot, s->shape, node);
	return true;
}

/* Places tasks of a set until `want` of them are there, of which `have` are already; returns how many there are then. */
static uint32_t place_set(struct assembly *a, const struct wz_set *s, uint32_t have, uint32_t want)
{
	const struct wz_job *j = &a->c->jobs.job[a->slot];
	struct local l;

	if (have < want)
		score_group(a, s, &l);
	for (uint32_t i = s->first; have < want && i < s->first + s->slots; i++) {
		const struct wz_task *t = &a->c->jobs.task[j->first_task + i];
		if (t->state != WZ_TASK_NONE || t->node != WZ_ID_NONE)
			continue;
		if (!place_one(a, s, &l, i))
			break;
		have++;
	}
	return have;
}

/* Sets that need more devices a task go first: they find a place less easily. */
static void harder_first(const struct assembly *a, uint8_t *order)
{
	for (uint32_t i = 0; i < a->n_sets; i++) {
		const struct wz_shape *shape = a->c->shapes.shape;
		uint32_t at = i;
		while (at > 0 && wz_shape_gpu_milli(&shape[a->set[order[at - 1]].shape]) <
		                         wz_shape_gpu_milli(&shape[a->set[i].shape])) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = (uint8_t)i;
	}
}

/* The minimum of every set or nothing, then what fits up to the maximum. */
static bool place_in_order(struct assembly *a, const uint8_t *order)
{
	uint32_t mark = wz_ledger_mark(a->c), n_plan = a->plan->n, have[WZ_JOB_SETS_MAX];

	for (uint32_t i = 0; i < a->n_sets && a->r == 0; i++) {
		const struct wz_set *s = &a->set[order[i]];
		have[i] = place_set(a, s, 0, a->n_sets == 1 ? s->max : s->min);
		if (have[i] < s->min || a->r < 0) {
			wz_ledger_rollback(a->c, mark);
			a->plan->n = n_plan;
			return false;
		}
	}
	for (uint32_t i = 0; i < a->n_sets && a->r == 0 && a->n_sets > 1; i++)
		(void)place_set(a, &a->set[order[i]], have[i], a->set[order[i]].max);
	return a->r == 0;
}

/* The order in which sets were given is tried too: one may have to be near another. */
static bool place_job(struct assembly *a)
{
	uint8_t order[WZ_JOB_SETS_MAX];
	bool as_given = true;

	harder_first(a, order);
	if (place_in_order(a, order) || a->r < 0)
		return a->r == 0;
	for (uint32_t i = 0; i < a->n_sets; i++) {
		as_given = as_given && order[i] == i;
		order[i] = (uint8_t)i;
	}
	return !as_given && place_in_order(a, order);
}

/* ---- tasks that must stay together ---- */

/* How many tasks of the shape a node could hold at most, by what is free on it. */
static uint32_t room_on(const struct wz_shape *s, const struct wz_node *n)
{
	int64_t most = n->tasks_free;

	if (!WZ_NODE_OPEN(n) || most < 1)
		return 0;
	if (s->cpu && n->cpu_free / s->cpu < most)
		most = n->cpu_free / s->cpu;
	if (s->mem && n->mem_free / s->mem < most)
		most = n->mem_free / s->mem;
	if (s->count && s->milli == WZ_WHOLE && n->whole / s->count < most)
		most = n->whole / s->count;
	if (s->count && s->milli < WZ_WHOLE && n->gpu_free / s->milli < most)
		most = n->gpu_free / s->milli;
	return most < 0 ? 0 : most > WZ_JOB_TASKS_MAX ? WZ_JOB_TASKS_MAX : (uint32_t)most;
}

/* Groups in the order in which they are tried: of those that may hold all, the one that may hold least; then the roomiest. */
struct groups {
	const uint32_t *start, *node; /* start NULL: each ranked node by itself */
	uint32_t n;
	uint32_t *room; /* by group, more than is true rather than less; 0: tried, or too small */
};

static void measure(const struct assembly *a, struct groups *g)
{
	const struct wz_shape *shape = a->c->shapes.shape;

	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t from = g->start ? g->start[i] : i, to = g->start ? g->start[i + 1] : i + 1,
		         room = UINT32_MAX;
		for (uint32_t k = 0; k < a->n_sets; k++) { /* each set alone: its minimum must find room */
			uint64_t sum = 0;
			for (uint32_t v = from; v < to; v++)
				sum += room_on(&shape[a->set[k].shape], &a->c->model.node[g->node[v]]);
			if (sum < a->set[k].min)
				room = 0;
			else if (k == 0 && room)
				room = (uint32_t)(sum < UINT32_MAX ? sum : UINT32_MAX);
		}
		g->room[i] = room;
	}
}

static uint32_t next_group(const struct assembly *a, const struct groups *g)
{
	uint32_t best = WZ_ID_NONE, want = a->set[0].max;

	for (uint32_t i = 0; i < g->n; i++) {
		bool all = g->room[i] >= want;
		if (!g->room[i])
			continue;
		if (best == WZ_ID_NONE || (all && g->room[best] < want) ||
		        (all ? g->room[i] < g->room[best] : g->room[i] > g->room[best] && g->room[best] < want))
			best = i;
	}
	return best;
}

static int groups_of(struct wz_core *c, uint32_t topo, struct groups *ret)
{
	const struct wz_topo *t;
	int r;

	*ret = (struct groups){.node = c->model.by_rank, .n = c->model.n_ranked, .room = c->rank_node};
	if (topo == WZ_ID_NONE)
		return 0;
	r = wz_topo_groups(c, topo, &t);
	if (r == 0)
		*ret = (struct groups){
		        .start = t->group_start, .node = t->group_node, .n = t->n_groups, .room = c->rank_node};
	return r;
}

static void enter(struct assembly *a, const struct groups *g, uint32_t i)
{
	a->node = &g->node[g->start ? g->start[i] : i];
	a->n = g->start ? g->start[i + 1] - g->start[i] : 1;
}

/* One place after the other until one holds the job. */
static bool place_together(struct assembly *a, uint32_t topo)
{
	struct groups g;
	uint32_t i;
	bool done = false;

	a->r = groups_of(a->c, topo, &g);
	if (a->r < 0)
		return false;
	measure(a, &g);
	while (!done && a->r == 0 && (i = next_group(a, &g)) != WZ_ID_NONE) {
		enter(a, &g, i);
		done = place_job(a);
		g.room[i] = 0;
	}
	a->n = WZ_ID_NONE;
	return done;
}

/* Where tasks of a job are to stay together: the preferred places as they were asked for, then the required one. */
struct levels {
	uint32_t topo[WZ_CONSTRAINT_TERMS_MAX + 1]; /* WZ_ID_NONE: one node */
	uint32_t n;
	bool required; /* the last */
};

static uint32_t topo_of(const struct wz_core *c, uint32_t key)
{
	for (uint32_t i = 0; i < c->between.n_topos; i++)
		if (c->between.topo[i].key == key && key != c->between.key_node)
			return i;
	return WZ_ID_NONE;
}

static void add_levels(const struct wz_core *c, const struct wz_constraint *k, bool required, struct levels *v)
{
	for (uint32_t i = 0; i < k->n_term; i++)
		if (k->term[i].kind == WZ_TERM_TOGETHER && (k->term[i].weight == 0) == required) {
			v->topo[v->n++] = topo_of(c, k->term[i].topology);
			v->required = required;
		}
}

static void levels_of(const struct wz_core *c, const struct wz_job *j, struct levels *v)
{
	const struct wz_gang *g = &c->gangs.gang[j->gang];
	const struct wz_shape *s = &c->shapes.shape[j->shape];
	uint8_t link = j->gang ? g->link : s->link, preferred = j->gang ? g->link_preferred : s->link_preferred;
	uint32_t asked = j->gang ? g->constraint : c->between.asked[j->between].constraint;
	bool linked = link == WZ_LINK_NODE || link == WZ_LINK_RACK;

	v->n = 0;
	v->required = false;
	if (j->tasks_max < 2)
		return;
	add_levels(c, &c->between.constraint[asked], false, v);
	if (linked) {
		v->topo[v->n++] = link == WZ_LINK_RACK ? WZ_TOPO_RACK : WZ_ID_NONE;
		v->required = !preferred;
	}
	add_levels(c, &c->between.constraint[asked], true, v);
}

int wz_assemble_groups(struct wz_core *c, uint32_t slot, struct wz_node_groups *ret)
{
	struct levels v;
	struct groups g;
	int r;

	*ret = (struct wz_node_groups){.n = 1};
	levels_of(c, &c->jobs.job[slot], &v);
	if (!v.required)
		return 0;
	r = groups_of(c, v.topo[v.n - 1], &g);
	*ret = (struct wz_node_groups){.together = true, .n = g.n, .start = g.start, .node = g.node};
	return r;
}

/* No task at all fits: for want of room, or of what the tasks elsewhere allow. */
static enum wz_reason none_fits(struct wz_core *c, const struct wz_set *set, uint32_t n, struct wz_rng *rng)
{
	struct wz_between_look asked;
	int64_t preference;
	uint32_t node;

	for (uint32_t i = 0; i < n; i++) {
		if (!wz_between_begin(c, set[i].between, &asked))
			continue;
		node = wz_index_best(c, set[i].shape, 0, rng);
		if (node != WZ_ID_NONE && wz_between_at(&asked, node, &preference) != WZ_REASON_NONE)
			return wz_between_at(&asked, node, &preference);
	}
	return WZ_REASON_RESOURCES;
}

/* What most jobs are: one task. */
static enum wz_reason assemble_one(
        struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t node = wz_gate_best(c, slot, j->shape, j->between, rng);

	*ret_err = 0;
	if (node == WZ_ID_NONE) {
		struct wz_set one = {.shape = j->shape, .between = j->between};
		return c->gate.slot == slot && c->gate.denied.reason ? (enum wz_reason)c->gate.denied.reason
		                                                     : none_fits(c, &one, 1, rng);
	}
	*ret_err = place_task(c, slot, j->shape, 0, (struct seat){node, 0}, plan, rng);
	return *ret_err < 0 ? WZ_REASON_RESOURCES : WZ_REASON_NONE;
}

enum wz_reason wz_assemble(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	struct assembly a;
	struct levels v;
	uint64_t work = plan->work;
	bool done = false;

	if (c->jobs.job[slot].n_tasks == 1 && !c->jobs.job[slot].gang)
		return assemble_one(c, slot, plan, rng, ret_err);
	levels_of(c, &c->jobs.job[slot], &v);
	begin(&a, c, slot, plan, rng);
	for (uint32_t i = 0; i < v.n && !done && a.r == 0; i++)
		done = place_together(&a, v.topo[i]);
	if (!done && !v.required && a.r == 0)
		done = place_job(&a);
	*ret_err = a.r;
	if (done)
		return WZ_REASON_NONE;
	if (c->gate.slot == slot && c->gate.denied.reason)
		return (enum wz_reason)c->gate.denied.reason;
	if (v.required)
		return WZ_REASON_GANG;
	return plan->work > work ? WZ_REASON_GANG : none_fits(c, a.set, a.n_sets, rng);
}

/* Has each set as many tasks on nodes as its minimum, in the open transaction? */
static bool all_placed(const struct assembly *a)
{
	const struct wz_job *j = &a->c->jobs.job[a->slot];

	for (uint32_t k = 0; k < a->n_sets; k++) {
		const struct wz_task *t = &a->c->jobs.task[j->first_task + a->set[k].first];
		uint32_t n = 0;
		for (uint32_t i = 0; i < a->set[k].slots; i++)
			n += t[i].node != WZ_ID_NONE;
		if (n < a->set[k].min)
			return false;
	}
	return true;
}

bool wz_assemble_held(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n;
	struct assembly a;

	*ret_err = 0;
	begin(&a, c, slot, plan, rng);
	for (uint32_t i = 0; i < c->holds.n && *ret_err == 0; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		uint32_t task = j->first_task + h->task, shape;
		struct wz_between_look asked;
		int64_t preference;
		if (h->job != slot || h->task >= j->n_tasks || c->jobs.task[task].node != WZ_ID_NONE)
			continue;
		shape = wz_task_shape(c, task);
		if (wz_gate_eval(c, slot, shape, h->place.node.v) == WZ_SCORE_NONE ||
		        (wz_between_begin(c, wz_task_between(c, task), &asked) &&
		                wz_between_at(&asked, h->place.node.v, &preference) != WZ_REASON_NONE))
			continue;
		*ret_err = place_task(
		        c, slot, shape, h->task, (struct seat){h->place.node.v, h->place.devices}, plan, rng);
	}
	if (*ret_err == 0 && all_placed(&a))
		return true;
	wz_ledger_rollback(c, mark);
	plan->n = n_plan;
	return false;
}

/* ---- a running job that misses tasks ---- */

/* A node that a task of the job sits on, and is to stay on. */
static uint32_t seat_of(const struct wz_core *c, const struct wz_job *j)
{
	for (uint32_t i = 0; i < j->n_tasks; i++)
		if (c->jobs.task[j->first_task + i].node != WZ_ID_NONE)
			return c->jobs.task[j->first_task + i].node;
	return WZ_ID_NONE;
}

/* The place of that node at a level; false: it is in none. */
static bool enter_place_of(struct assembly *a, uint32_t topo, uint32_t seat)
{
	struct groups g;
	uint32_t i = 0;

	a->r = groups_of(a->c, topo, &g);
	if (a->r < 0 || seat == WZ_ID_NONE)
		return false;
	for (; i < g.n; i++) {
		const struct wz_topo *t = g.start ? &a->c->between.topo[topo] : NULL;
		if (t ? t->group_domain[i] + 1 == wz_topo_domain(t, seat) : g.node[i] == seat)
			break;
	}
	if (i == g.n)
		return false;
	enter(a, &g, i);
	return true;
}

static uint32_t fill_up(struct assembly *a)
{
	const struct wz_job *j = &a->c->jobs.job[a->slot];
	uint32_t before = a->plan->n;
	uint8_t order[WZ_JOB_SETS_MAX];

	harder_first(a, order);
	for (uint32_t i = 0; i < a->n_sets && a->r == 0; i++) {
		const struct wz_set *s = &a->set[order[i]];
		uint32_t live = wz_set_live(a->c, j, s), placed = 0;
		for (uint32_t e = 0; e < a->plan->n; e++) /* of this plan already */
			placed += a->plan->effect[e].kind == WZ_EF_START && a->plan->effect[e].job == j->number &&
			          a->plan->effect[e].task - s->first < s->slots;
		(void)place_set(a, s, live + placed, s->max);
	}
	return a->plan->n - before;
}

uint32_t wz_assemble_more(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	uint32_t seat = seat_of(c, &c->jobs.job[slot]), n = 0;
	struct assembly a;
	struct levels v;

	levels_of(c, &c->jobs.job[slot], &v);
	begin(&a, c, slot, plan, rng);
	for (uint32_t i = 0; i < v.n && a.r == 0; i++)
		if (enter_place_of(&a, v.topo[i], seat))
			n += fill_up(&a);
	a.n = WZ_ID_NONE;
	if (!v.required && a.r == 0)
		n += fill_up(&a);
	*ret_err = a.r;
	return n;
}

/* ---- for explanations ---- */

uint32_t wz_assemble_best_place(struct wz_core *c, uint32_t slot, struct wz_str *ret_name, int *ret_err)
{
	uint32_t best = 0, topo;
	struct levels v;
	struct wz_plan plan;
	struct wz_rng rng;
	struct assembly a;
	struct groups g;

	*ret_name = (struct wz_str){0};
	*ret_err = 0;
	levels_of(c, &c->jobs.job[slot], &v);
	if (!v.required)
		return 0;
	topo = v.topo[v.n - 1];
	wz_plan_init(&plan, &c->mem);
	wz_rng_seed(&rng, c->seed);
	begin(&a, c, slot, &plan, &rng);
	a.r = groups_of(c, topo, &g);
	for (uint32_t i = 0; a.r == 0 && i < g.n; i++) {
		uint32_t mark = wz_ledger_mark(c), n = 0;
		enter(&a, &g, i);
		for (uint32_t k = 0; k < a.n_sets && a.r == 0; k++)
			n += place_set(&a, &a.set[k], 0, a.set[k].min);
		wz_ledger_rollback(c, mark);
		plan.n = 0;
		if (n > best) {
			const struct wz_topo *t = &c->between.topo[topo == WZ_ID_NONE ? 0 : topo];
			best = n;
			*ret_name = wz_strtab_get(&c->model.names, topo == WZ_ID_NONE
			                                                   ? c->model.node[g.node[i]].name - 1
			                                                   : t->value[t->group_domain[i]]);
		}
	}
	wz_plan_release(&plan);
	*ret_err = a.r;
	return best;
}
