/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds what: a function of the tasks that are placed. take and give keep the nodes' free figures; inside a
 * transaction they are logged, so that a look-ahead is rolled back exactly. rebuild_node recomputes a node from its
 * tasks, and is also how a change of facts is applied (capacity minus what is held, which may be negative: I1). */
#include "core/core_int.h"

#include "base/check.h"

int wz_ledger_reserve(struct wz_core *c, uint32_t changes)
{
	return wz_grow(
	        &c->mem, &c->ledger.undo, &c->ledger.undo_cap, c->ledger.n_undo + changes, sizeof(*c->ledger.undo));
}

static int64_t device_mem_of(const struct wz_device *d, int32_t milli, int64_t mem)
{
	return mem >= 0 ? mem : wz_device_mem_share(d, milli);
}

/* Adds (sign +1) or removes (-1) what the task holds to or from the node's free figures. */
static void account(struct wz_core *c, const struct wz_task *t, int sign)
{
	struct wz_model_state *m = &c->model;
	struct wz_node *n = &m->node[t->node];
	uint32_t count = 0;

	n->cpu_free += sign * t->cpu;
	n->mem_free += sign * t->mem;
	n->n_tasks -= sign;
	if (n->max_tasks != INT32_MAX)
		n->tasks_free += sign;
	for (uint64_t w = t->devices; w; w &= w - 1, count++) {
		uint32_t i = n->first_dev + (uint32_t)__builtin_ctzll(w);
		m->dev_milli[i] += sign * t->dev_milli;
		m->dev_mem[i] += sign * device_mem_of(&m->dev[i], t->dev_milli, t->dev_mem);
		m->dev[i].n_tasks = (uint16_t)(m->dev[i].n_tasks - sign);
	}
	if (count) {
		unsigned k = wz_task_kind(count, t->dev_milli);
		n->kind_count[k] -= (uint32_t)sign;
		n->kinds = (uint8_t)(n->kind_count[k] ? n->kinds | 1u << k : n->kinds & ~(1u << k));
		n->n_explicit -= (uint32_t)(t->dev_mem >= 0 ? sign : 0);
		wz_model_refresh(m, t->node);
	}
}

/* After another task of the node; WZ_ID_NONE: before all. */
static void link_task(struct wz_core *c, uint32_t task, uint32_t after)
{
	struct wz_task *all = c->jobs.task, *t = &all[task];
	struct wz_node *n = &c->model.node[t->node];

	t->prev = after;
	t->next = after == WZ_ID_NONE ? n->head_task : all[after].next;
	if (t->next != WZ_ID_NONE)
		all[t->next].prev = task;
	if (after == WZ_ID_NONE)
		n->head_task = task;
	else
		all[after].next = task;
	c->jobs.live_tasks++;
}

static void unlink_task(struct wz_core *c, uint32_t task)
{
	struct wz_task *all = c->jobs.task, *t = &all[task];

	if (t->prev == WZ_ID_NONE)
		c->model.node[t->node].head_task = t->next;
	else
		all[t->prev].next = t->next;
	if (t->next != WZ_ID_NONE)
		all[t->next].prev = t->prev;
	c->jobs.live_tasks--;
}

void wz_ledger_peek(struct wz_core *c, uint32_t task, int sign)
{
	account(c, &c->jobs.task[task], sign);
}

static void log_undo(struct wz_core *c, uint32_t task, bool took, const struct wz_place *p)
{
	if (!c->ledger.open)
		return;
	wz_check(c->ledger.n_undo < c->ledger.undo_cap);
	c->ledger.undo[c->ledger.n_undo++] =
	        (struct wz_undo){.task = task, .took = took, .place = *p, .prev = c->jobs.task[task].prev};
}

static void lift(struct wz_core *c, uint32_t hold, bool up)
{
	struct wz_hold *h = &c->holds.h[hold];

	wz_hold_account(c, &h->place, up ? 1 : -1);
	h->lifted = up;
	wz_index_changed(c, h->place.node.v);
}

void wz_ledger_lift(struct wz_core *c, uint32_t hold)
{
	wz_check(c->ledger.open && c->ledger.n_undo < c->ledger.undo_cap);
	c->ledger.undo[c->ledger.n_undo++] = (struct wz_undo){.task = hold, .hold = true};
	lift(c, hold, true);
}

/* What was given up comes back to its place in the list of its node, of which NODE_LEFT makes something. */
static void take(struct wz_core *c, uint32_t task, const struct wz_place *p, uint32_t after)
{
	struct wz_task *t = &c->jobs.task[task];

	wz_check(t->node == WZ_ID_NONE);
	log_undo(c, task, true, p);
	t->node = p->node.v;
	t->devices = p->devices;
	t->cpu = p->cpu;
	t->mem = p->mem;
	t->dev_milli = p->dev_milli;
	t->dev_mem = p->dev_mem;
	account(c, t, -1);
	link_task(c, task, after);
	c->changes += !c->ledger.trial;
	if (c->between.n_tallies)
		wz_between_count(c, task, 1);
	wz_index_changed(c, p->node.v);
	if (c->queues.n)
		wz_queue_task(c, task, 1);
	if (c->gate.on)
		wz_gate_task(c, task, 1);
}

void wz_ledger_take(struct wz_core *c, uint32_t task, const struct wz_place *p)
{
	take(c, task, p, WZ_ID_NONE);
}

/* Does the node give out more than it has? Only facts can bring that about. What is held is not given out. */
static bool over_committed(const struct wz_core *c, uint32_t node)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_node *n = &m->node[node];
	struct wz_scratch held = {.milli = {0}};
	int64_t cpu = 0, mem = 0;
	int32_t tasks = 0;

	if (c->holds.n)
		wz_holds_of_node(c, node, &held, &cpu, &mem, &tasks);
	if (n->cpu_free + cpu < 0 || n->mem_free + mem < 0 ||
	        (n->max_tasks != INT32_MAX && n->tasks_free + tasks < 0))
		return true;
	for (uint32_t i = 0; i < n->n_dev; i++)
		if (m->dev_milli[n->first_dev + i] + held.milli[i] < 0 ||
		        (m->dev[n->first_dev + i].mem && m->dev_mem[n->first_dev + i] + held.mem[i] < 0))
			return true;
	return false;
}

void wz_ledger_observe(struct wz_core *c, uint32_t node)
{
	c->model.node[node].over = over_committed(c, node);
}

void wz_ledger_give(struct wz_core *c, uint32_t task)
{
	struct wz_task *t = &c->jobs.task[task];
	struct wz_place p = {.node = {t->node},
	        .devices = t->devices,
	        .cpu = t->cpu,
	        .mem = t->mem,
	        .dev_milli = t->dev_milli,
	        .dev_mem = t->dev_mem};

	wz_check(t->node != WZ_ID_NONE);
	if (c->gate.on)
		wz_gate_task(c, task, -1);
	if (c->queues.n)
		wz_queue_task(c, task, -1);
	log_undo(c, task, false, &p);
	if (c->between.n_tallies)
		wz_between_count(c, task, -1);
	account(c, t, 1);
	unlink_task(c, task);
	c->changes += !c->ledger.trial;
	t->node = WZ_ID_NONE;
	t->devices = 0;
	if (c->model.node[p.node.v].over && !c->ledger.trial)
		wz_ledger_observe(c, p.node.v);
	wz_index_changed(c, p.node.v);
}

bool wz_ledger_fits(const struct wz_core *c, const struct wz_place *p)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_node *n;

	if (p->node.v >= m->n_nodes)
		return false;
	n = &m->node[p->node.v];
	if (!WZ_NODE_OPEN(n) || n->cpu_free < p->cpu || n->mem_free < p->mem || n->tasks_free < 1 || p->cpu < 0 ||
	        p->mem < 0)
		return false;
	if (n->n_dev < 64 && p->devices >> n->n_dev)
		return false;
	for (uint64_t w = p->devices; w; w &= w - 1) {
		uint32_t i = n->first_dev + (uint32_t)__builtin_ctzll(w);
		if (p->dev_milli < 1 || m->dev_milli[i] < p->dev_milli)
			return false;
		if (m->dev[i].mem && m->dev_mem[i] < device_mem_of(&m->dev[i], p->dev_milli, p->dev_mem))
			return false;
	}
	return true;
}

void wz_ledger_begin(struct wz_core *c)
{
	wz_check(!c->ledger.open);
	c->ledger.open = c->ledger.trial = true;
	c->ledger.n_undo = 0;
}

uint32_t wz_ledger_mark(const struct wz_core *c)
{
	return c->ledger.n_undo;
}

static void take_back(struct wz_core *c, const struct wz_undo *u)
{
	take(c, u->task, &u->place, u->prev);
	if (!c->model.node[u->place.node.v].over) /* a look may have found it no more so, without the task */
		wz_ledger_observe(c, u->place.node.v);
}

void wz_ledger_rollback(struct wz_core *c, uint32_t mark)
{
	wz_check(c->ledger.open);
	c->ledger.open = false; /* undoing is not logged */
	while (c->ledger.n_undo > mark) {
		const struct wz_undo *u = &c->ledger.undo[--c->ledger.n_undo];
		if (u->hold)
			lift(c, u->task, false);
		else if (u->took)
			wz_ledger_give(c, u->task);
		else
			take_back(c, u);
	}
	c->ledger.open = true;
}

void wz_ledger_end(struct wz_core *c)
{
	wz_ledger_rollback(c, 0);
	c->ledger.open = c->ledger.trial = false;
}

void wz_ledger_rebuild_node(struct wz_core *c, uint32_t node)
{
	wz_model_reset_free(&c->model, node);
	for (uint32_t t = c->model.node[node].head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next)
		account(c, &c->jobs.task[t], -1);
	for (uint32_t i = 0; i < c->holds.n; i++)
		if (c->holds.h[i].place.node.v == node)
			wz_hold_account(c, &c->holds.h[i].place, -1);
	wz_ledger_observe(c, node);
	if (c->holds.n)
		wz_holds_recheck(c, node);
	wz_index_changed(c, node);
}
