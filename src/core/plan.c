/* SPDX-License-Identifier: Apache-2.0 */
/* The future as far as it is known: what runs ends (by its limit, or as predicted), and jobs that do not fit now start where
 * and when their minimum first fits. A start that is promised keeps its room: a later job, whether it is planned or starts
 * now, has to end before or to leave it (conservative backfill). Times and room are counted by node, in whole devices, CPU,
 * memory and tasks: which devices of a node are taken is decided when the job starts. A share is counted on whole devices
 * and on the largest part that is free now. Links below the node are taken for granted on nodes that have them. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

#define MINUTE_US 60000000ULL
#define CONFIRMS_MAX 64u /* times at which the sum fits and the promises forbid, before a plan is given up */

void wz_future_release(struct wz_core *c)
{
	struct wz_future *x = &c->future;

	wz_grow_free(&c->mem, &x->end, &x->end_cap, sizeof(*x->end));
	wz_grow_free(&c->mem, &x->p, &x->p_cap, sizeof(*x->p));
	wz_grow_free(&c->mem, &x->by_start, &x->start_cap, sizeof(*x->by_start));
	wz_grow_free(&c->mem, &x->by_end, &x->by_end_cap, sizeof(*x->by_end));
	wz_grow_free(&c->mem, &x->f, &x->f_cap, sizeof(*x->f));
	wz_grow_free(&c->mem, &x->fit, &x->fit_cap, sizeof(*x->fit));
	wz_grow_free(&c->mem, &x->dev, &x->dev_cap, sizeof(*x->dev));
}

/* ---- ends ---- */

uint64_t wz_job_length(const struct wz_core *c, uint32_t slot)
{
	const struct wz_job *j = &c->jobs.job[slot];

	if (j->time_limit_us)
		return j->time_limit_us;
	return j->predict[2] ? j->predict[2] : UINT64_MAX;
}

uint64_t wz_end_latest(const struct wz_core *c, uint32_t task)
{
	const struct wz_job *j = &c->jobs.job[c->jobs.task[task].job];
	uint32_t f = wz_inflight_find(c, WZ_LIMIT_ID(j));
	uint64_t ran = c->now_us > j->started_us && j->placed ? c->now_us - j->started_us : 0, left;

	if (f != WZ_ID_NONE)
		return c->inflight.f[f].deadline_us;
	if (j->time_limit_us)
		return wz_usat_add(c->now_us, j->time_limit_us);
	if (c->jobs.task[task].observed || j->kind == WZ_KIND_SERVICE)
		return UINT64_MAX;
	if (j->predict[2])
		left = j->predict[2] > ran ? j->predict[2] - ran
		                           : (j->predict[2] / 8 > MINUTE_US ? j->predict[2] / 8 : MINUTE_US);
	else
		left = ran > 10 * MINUTE_US ? ran : 10 * MINUTE_US;
	return wz_usat_add(c->now_us, left);
}

static bool later(const struct wz_end_time *a, const struct wz_end_time *b)
{
	return a->at_us != b->at_us ? a->at_us > b->at_us : a->task > b->task;
}

static void sift(struct wz_end_time *a, uint32_t n, uint32_t at)
{
	struct wz_end_time t = a[at];

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= n)
			break;
		if (kid + 1 < n && later(&a[kid + 1], &a[kid]))
			kid++;
		if (!later(&a[kid], &t))
			break;
		a[at] = a[kid];
		at = kid;
	}
	a[at] = t;
}

static void sort(struct wz_end_time *a, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(a, n, i);
	for (uint32_t end = n; end > 1; end--) {
		struct wz_end_time t = a[0];
		a[0] = a[end - 1];
		a[end - 1] = t;
		sift(a, end - 1, 0);
	}
}

int wz_future_begin(struct wz_core *c, wz_end_fn *end, void *ctx)
{
	struct wz_future *x = &c->future;
	uint32_t n = (uint32_t)c->jobs.live_tasks;
	int r = wz_model_order(&c->model);

	x->n_end = x->n_p = x->planned = 0;
	x->work = 0;
	if (r == 0)
		r = wz_grow(&c->mem, &x->end, &x->end_cap, n, sizeof(*x->end));
	if (r == 0)
		r = wz_grow(&c->mem, &x->f, &x->f_cap, c->model.n_nodes, sizeof(*x->f));
	if (r == 0)
		r = wz_grow(&c->mem, &x->fit, &x->fit_cap, c->model.n_nodes, sizeof(*x->fit));
	if (r == 0)
		r = wz_grow(&c->mem, &x->dev, &x->dev_cap, c->model.n_devs, sizeof(*x->dev));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->model.n_nodes; i++)
		for (uint32_t t = c->model.node[i].name ? c->model.node[i].head_task : WZ_ID_NONE; t != WZ_ID_NONE;
		        t = c->jobs.task[t].next) {
			uint64_t at = end ? end(ctx, t) : wz_end_latest(c, t);
			if (at != UINT64_MAX)
				x->end[x->n_end++] = (struct wz_end_time){at < c->now_us ? c->now_us : at, t};
		}
	sort(x->end, x->n_end);
	x->seen = c->ledger.n_undo;
	x->on = true;
	return 0;
}

/* Tasks that this step has started since the ends were sorted. */
static int note_started(struct wz_core *c)
{
	struct wz_future *x = &c->future;

	for (; c->ledger.trial && x->seen < c->ledger.n_undo; x->seen++) {
		struct wz_end_time e = {.task = c->ledger.undo[x->seen].task};
		uint32_t at = x->n_end;
		int r = 0;
		if (!c->ledger.undo[x->seen].took)
			continue;
		r = wz_grow(&c->mem, &x->end, &x->end_cap, x->n_end + 1, sizeof(*x->end));
		if (r < 0)
			return r;
		if (c->ledger.undo[x->seen].hold || !c->ledger.undo[x->seen].took)
			continue;
		e.at_us = wz_end_latest(c, e.task);
		if (e.at_us == UINT64_MAX)
			continue;
		for (; at && later(&x->end[at - 1], &e); at--)
			x->end[at] = x->end[at - 1];
		x->end[at] = e;
		x->n_end++;
	}
	return 0;
}

/* ---- the sweep ---- */

struct sweep {
	struct wz_core *c;
	struct wz_future *x;
	const struct wz_shape *s;
	uint32_t slot, want, end, start, stop; /* positions in the three lists */
	uint64_t now, length;
	uint64_t sum; /* tasks that fit, each node counted to `want` */
	bool together; /* a rack or a node must have all of them */
	bool one_has; /* a node, or a rack, that changed has */
};

static void load(struct wz_core *c)
{
	const struct wz_model_state *m = &c->model;

	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		c->future.f[i] = (struct wz_future_node){.whole = n->whole,
		        .tasks = n->tasks_free,
		        .part = n->gpu_max < WZ_WHOLE ? n->gpu_max : 0,
		        .cpu = n->cpu_free,
		        .mem = n->mem_free};
	}
	for (uint32_t i = 0; i < m->n_devs; i++)
		c->future.dev[i] = m->dev_milli[i];
}

static int64_t at_most(int64_t n, int64_t have, int64_t each)
{
	int64_t k = each > 0 ? have / each : n;

	return k < 0 ? 0 : k < n ? k : n;
}

/* Tasks of the job that the node has room for at the time of the sweep. Whether it is a node for them at all is in fit
 * already: 0 stays 0 only when `fit_idle` said so. */
static uint32_t count(struct sweep *w, uint32_t node)
{
	const struct wz_core *c = w->c;
	const struct wz_node *n = &c->model.node[node];
	const struct wz_future_node *f = &w->x->f[node];
	uint16_t model = n->n_dev ? c->model.dev[n->first_dev].model : WZ_MODEL_NONE;
	struct wz_need need = wz_shape_need(w->s, model < c->catalogue.n ? &c->catalogue.model[model] : NULL,
	        n->n_dev ? c->model.dev[n->first_dev].mem : 0);
	int64_t k = w->want;

	if (!need.ok)
		return 0;
	if (need.count && need.milli == WZ_WHOLE)
		k = at_most(k, f->whole, need.count);
	else if (need.count) /* shares: on whole devices, and one on what is left of another */
		k = at_most(k,
		        (int64_t)f->whole * (WZ_WHOLE / need.milli) + (f->part >= need.milli ? need.count : 0),
		        need.count);
	k = at_most(k, f->cpu, w->s->cpu);
	k = at_most(k, f->mem, w->s->mem);
	k = k < f->tasks ? k : f->tasks < 0 ? 0 : f->tasks;
	while (c->gate.on && k > 0 && c->gate.head[node] != WZ_ID_NONE &&
	        !wz_gate_room(c, w->slot, w->s, node, w->now, wz_usat_add(w->now, w->length), (uint32_t)k))
		k--;
	return (uint32_t)k;
}

#define UNFIT UINT32_MAX /* not a node for the job, however empty */

static void look(struct sweep *w, uint32_t node)
{
	uint32_t *fit = &w->x->fit[node];

	if (*fit == UNFIT)
		return;
	w->sum -= *fit;
	*fit = count(w, node);
	w->sum += *fit;
	w->one_has = w->one_has || *fit >= w->want;
}

static void release(struct sweep *w, uint32_t task)
{
	const struct wz_task *t = &w->c->jobs.task[task];
	const struct wz_node *n = &w->c->model.node[t->node];
	struct wz_future_node *f = &w->x->f[t->node];

	for (uint64_t m = t->devices; m; m &= m - 1) {
		uint32_t i = n->first_dev + (uint32_t)__builtin_ctzll(m);
		w->x->dev[i] += t->dev_milli;
		f->whole += w->x->dev[i] == WZ_WHOLE && w->c->model.dev[i].milli == WZ_WHOLE;
	}
	f->cpu += t->cpu;
	f->mem += t->mem;
	f->tasks = f->tasks == INT32_MAX ? INT32_MAX : f->tasks + 1;
}

static void promised(struct sweep *w, const struct wz_promise *p, int sign)
{
	struct wz_future_node *f = &w->x->f[p->node];

	f->whole -= sign * (int32_t)(p->count * p->tasks);
	f->cpu -= sign * p->cpu;
	f->mem -= sign * p->mem;
	f->tasks = f->tasks == INT32_MAX ? INT32_MAX : f->tasks - sign * (int32_t)p->tasks;
}

static uint64_t next_time(const struct sweep *w)
{
	const struct wz_future *x = w->x;
	uint64_t t = w->end < x->n_end ? x->end[w->end].at_us : UINT64_MAX;

	if (w->start < x->n_p && x->p[x->by_start[w->start]].at_us < t)
		t = x->p[x->by_start[w->start]].at_us;
	if (w->stop < x->n_p && x->p[x->by_end[w->stop]].end_us < t)
		t = x->p[x->by_end[w->stop]].end_us;
	return t;
}

/* All that happens at the time; false: nothing more does. */
static bool advance(struct sweep *w)
{
	struct wz_future *x = w->x;
	uint64_t t = next_time(w);

	if (t == UINT64_MAX)
		return false;
	w->now = t;
	w->one_has = false;
	for (; w->end < x->n_end && x->end[w->end].at_us == t; w->end++) {
		release(w, x->end[w->end].task);
		look(w, w->c->jobs.task[x->end[w->end].task].node);
	}
	for (; w->stop < x->n_p && x->p[x->by_end[w->stop]].end_us == t; w->stop++) {
		promised(w, &x->p[x->by_end[w->stop]], -1);
		look(w, x->p[x->by_end[w->stop]].node);
	}
	for (; w->start < x->n_p && x->p[x->by_start[w->start]].at_us == t; w->start++) {
		promised(w, &x->p[x->by_start[w->start]], 1);
		look(w, x->p[x->by_start[w->start]].node);
	}
	x->work++;
	return true;
}

/* Nodes for the minimum, from the front of the stable order; *ret_first..*ret_last of by_rank, or of a rack. False: the
 * promises that come into sight forbid it. */
static bool together(struct sweep *w, const uint32_t **ret_node, uint32_t *ret_n)
{
	const struct wz_model_state *m = &w->c->model;
	const struct wz_topo *racks = w->s->link == WZ_LINK_RACK ? &w->c->between.topo[WZ_TOPO_RACK] : NULL;
	uint32_t groups = racks ? racks->n_groups : m->n_ranked;

	for (uint32_t g = 0; g < groups; g++) {
		const uint32_t *node = racks ? &racks->group_node[racks->group_start[g]] : &m->by_rank[g];
		uint32_t n = racks ? racks->group_start[g + 1] - racks->group_start[g] : 1;
		uint64_t sum = 0;
		for (uint32_t i = 0; i < n; i++)
			sum += w->x->fit[node[i]] == UNFIT ? 0 : w->x->fit[node[i]];
		if (sum < w->want)
			continue;
		*ret_node = node;
		*ret_n = n;
		return true;
	}
	return false;
}

static bool fits(struct sweep *w, uint32_t *confirms, const uint32_t **ret_node, uint32_t *ret_n)
{
	const struct wz_model_state *m = &w->c->model;

	if (w->sum < w->want || (w->together && w->s->link == WZ_LINK_NODE && !w->one_has))
		return false;
	if (w->c->gate.on) {
		if (++*confirms > CONFIRMS_MAX)
			return false;
		for (uint32_t i = 0; i < m->n_nodes; i++)
			if (w->c->gate.head[i] != WZ_ID_NONE)
				look(w, i);
		w->x->work += m->n_nodes / 8;
		if (w->sum < w->want)
			return false;
	}
	*ret_node = m->by_rank;
	*ret_n = m->n_ranked;
	return !w->together || together(w, ret_node, ret_n);
}

/* ---- promises ---- */

static void insert(const struct wz_future *x, uint32_t *list, uint32_t n, uint32_t id, bool by_end)
{
	for (; n; n--) {
		const struct wz_promise *a = &x->p[list[n - 1]], *b = &x->p[id];
		if ((by_end ? a->end_us : a->at_us) <= (by_end ? b->end_us : b->at_us))
			break;
		list[n] = list[n - 1];
	}
	list[n] = id;
}

static int keep_on(struct sweep *w, uint32_t node, uint32_t tasks)
{
	struct wz_core *c = w->c;
	struct wz_future *x = w->x;
	const struct wz_node *n = &c->model.node[node];
	uint16_t model = n->n_dev ? c->model.dev[n->first_dev].model : WZ_MODEL_NONE;
	struct wz_need need = wz_shape_need(w->s, model < c->catalogue.n ? &c->catalogue.model[model] : NULL,
	        n->n_dev ? c->model.dev[n->first_dev].mem : 0);
	struct wz_promise p = {.at_us = w->now,
	        .end_us = wz_usat_add(w->now, w->length),
	        .slot = w->slot,
	        .node = node,
	        .tasks = tasks,
	        .count = need.count,
	        .cpu = w->s->cpu * tasks,
	        .mem = w->s->mem * tasks};
	struct wz_entry e = {.from_us = w->now, .to_us = p.end_us, .reservation = WZ_ID_NONE};
	int r = wz_grow(&c->mem, &x->p, &x->p_cap, x->n_p + 1, sizeof(*x->p));

	if (r == 0)
		r = wz_grow(&c->mem, &x->by_start, &x->start_cap, x->n_p + 1, sizeof(*x->by_start));
	if (r == 0)
		r = wz_grow(&c->mem, &x->by_end, &x->by_end_cap, x->n_p + 1, sizeof(*x->by_end));
	if (r == 0)
		r = wz_grow(&c->mem, &c->gate.e, &c->gate.cap, c->gate.n + 1, sizeof(*c->gate.e));
	if (r < 0)
		return r;
	x->p[x->n_p] = p;
	insert(x, x->by_start, x->n_p, x->n_p, false);
	insert(x, x->by_end, x->n_p, x->n_p, true);
	x->n_p++;
	promised(w, &p, 1);
	wz_gate_keep(c, w->slot, node, w->now, p.end_us, (int32_t)(p.count * tasks), p.cpu, p.mem, (int32_t)tasks);
	e.whole = x->f[node].whole;
	e.cpu = x->f[node].cpu;
	e.mem = x->f[node].mem;
	e.tasks = x->f[node].tasks;
	(void)wz_gate_add(c, node, &e);
	return 0;
}

static int keep(struct sweep *w, const uint32_t *node, uint32_t n)
{
	uint32_t left = w->want;

	for (uint32_t i = 0; i < n && left; i++) {
		uint32_t k = w->x->fit[node[i]] == UNFIT ? 0 : w->x->fit[node[i]];
		int r = k ? keep_on(w, node[i], k < left ? k : left) : 0;
		if (r < 0)
			return r;
		left -= k < left ? k : left;
	}
	w->x->planned++;
	return 0;
}

static void look_first(struct sweep *w, uint32_t node)
{
	const struct wz_node *n = &w->c->model.node[node];

	if (!n->name || !WZ_NODE_OPEN(n) || wz_fit_idle(w->c, w->s, node) != WZ_REASON_NONE)
		return;
	w->x->fit[node] = 0;
	look(w, node);
}

/* Of a job with several sets of tasks the one is planned that takes most devices. */
static const struct wz_set *hardest_set(const struct wz_core *c, const struct wz_job *j, struct wz_set *one)
{
	uint32_t n, best = 0;
	const struct wz_set *set = wz_job_sets(c, j, one, &n);

	for (uint32_t i = 1; i < n; i++)
		if (wz_shape_gpu_milli(&c->shapes.shape[set[i].shape]) * set[i].min >
		        wz_shape_gpu_milli(&c->shapes.shape[set[best].shape]) * set[best].min)
			best = i;
	return &set[best];
}

int wz_future_plan(struct wz_core *c, const struct wz_ask *ask, uint64_t *ret_start_us)
{
	const struct wz_job *j = &c->jobs.job[ask->slot];
	const struct wz_set *set = hardest_set(c, j, &(struct wz_set){0});
	const struct wz_topo *racks;
	const uint32_t *node;
	uint32_t confirms = 0, n;
	struct sweep w = {.c = c,
	        .x = &c->future,
	        .s = &c->shapes.shape[set->shape],
	        .slot = ask->slot,
	        .want = set->min,
	        .now = c->now_us,
	        .length = ask->length_us};
	int r = note_started(c);

	if (r == 0)
		r = wz_topo_groups(c, WZ_TOPO_RACK, &racks);
	if (r < 0)
		return r;
	w.together = j->tasks_max > 1 && !w.s->link_preferred &&
	             (w.s->link == WZ_LINK_NODE || w.s->link == WZ_LINK_RACK);
	load(c);
	/* What was promised from now on is taken before the first look; in a step nothing is, beside it something may be. */
	for (; w.start < w.x->n_p && w.x->p[w.x->by_start[w.start]].at_us <= w.now; w.start++)
		promised(&w, &w.x->p[w.x->by_start[w.start]], 1);
	for (uint32_t i = 0; i < c->model.n_nodes; i++)
		c->future.fit[i] = UNFIT;
	for (uint32_t i = 0; i < (ask->only ? ask->n_only : c->model.n_nodes); i++)
		look_first(&w, ask->only ? ask->only[i].node : i);
	w.x->work += c->model.n_nodes;
	*ret_start_us = UINT64_MAX;
	/* In a step the job has been found not to fit now, by closer looks than these. */
	while (c->ledger.trial || !fits(&w, &confirms, &node, &n)) {
		if (confirms > CONFIRMS_MAX || !advance(&w))
			return 0;
		if (c->ledger.trial && fits(&w, &confirms, &node, &n))
			break;
	}
	*ret_start_us = w.now;
	return ask->promise ? keep(&w, node, n) : 0;
}
