/* SPDX-License-Identifier: Apache-2.0 */
/* Room that is kept for one task of a waiting job until a deadline: see life_int.h. The array is sorted by id, ids
 * grow, so that a new hold goes to the end. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

uint64_t wz_hold_hash(const struct wz_core *c, const struct wz_hold *h)
{
	uint64_t x = wz_hash_u64(wz_mix64(h->id ^ 0x401dULL), c->jobs.job[h->job].number);

	x = wz_hash_u64(x, (uint64_t)h->task << 32 | h->place.node.v);
	x = wz_hash_u64(x, h->place.devices);
	x = wz_hash_u64(x, (uint64_t)h->place.cpu);
	x = wz_hash_u64(x, (uint64_t)h->place.mem);
	return wz_hash_u64(wz_hash_u64(x, (uint64_t)h->place.dev_mem), (uint32_t)h->place.dev_milli);
}

static int64_t bytes_on(const struct wz_device *d, const struct wz_place *p)
{
	return p->dev_mem >= 0 ? p->dev_mem : wz_device_mem_share(d, p->dev_milli);
}

/* A hold is no task: it is in no count of what nodes host, but it takes a task's slot. */
void wz_hold_account(struct wz_core *c, const struct wz_place *p, int sign)
{
	struct wz_model_state *m = &c->model;
	struct wz_node *n = &m->node[p->node.v];

	n->cpu_free += sign * p->cpu;
	n->mem_free += sign * p->mem;
	if (n->max_tasks != INT32_MAX)
		n->tasks_free += sign;
	for (uint64_t w = p->devices; w; w &= w - 1) {
		uint32_t i = n->first_dev + (uint32_t)__builtin_ctzll(w);
		m->dev_milli[i] += sign * p->dev_milli;
		m->dev_mem[i] += sign * bytes_on(&m->dev[i], p);
	}
	if (p->devices) {
		n->n_explicit -= (uint32_t)(p->dev_mem >= 0 ? sign : 0);
		wz_model_refresh(m, p->node.v);
	}
}

void wz_holds_of_node(const struct wz_core *c, uint32_t node, struct wz_scratch *ret, int64_t *ret_cpu,
        int64_t *ret_mem, int32_t *ret_tasks)
{
	const struct wz_node *n = &c->model.node[node];

	memset(ret, 0, sizeof(*ret));
	*ret_cpu = *ret_mem = 0;
	*ret_tasks = 0;
	for (uint32_t i = 0; i < c->holds.n; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		if (h->place.node.v != node || h->lifted)
			continue;
		*ret_cpu += h->place.cpu;
		*ret_mem += h->place.mem;
		++*ret_tasks;
		for (uint64_t w = h->place.devices; w; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctzll(w);
			ret->milli[d] += h->place.dev_milli;
			ret->mem[d] += bytes_on(&c->model.dev[n->first_dev + d], &h->place);
		}
	}
}

/* What is free on the node, and what tasks that are being stopped will leave there. */
struct coming {
	int64_t cpu, mem;
	int32_t tasks, milli[WZ_NODE_DEVICES_MAX];
	int64_t dev_mem[WZ_NODE_DEVICES_MAX];
};

static void coming_on(const struct wz_core *c, uint32_t node, struct coming *x)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_node *n = &m->node[node];

	*x = (struct coming){.cpu = n->cpu_free, .mem = n->mem_free, .tasks = n->tasks_free};
	for (uint32_t i = 0; i < n->n_dev; i++) {
		x->milli[i] = m->dev_milli[n->first_dev + i];
		x->dev_mem[i] = m->dev_mem[n->first_dev + i];
	}
	for (uint32_t t = n->head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
		const struct wz_task *k = &c->jobs.task[t];
		struct wz_place p = {.dev_milli = k->dev_milli, .dev_mem = k->dev_mem};
		if (k->state != WZ_TASK_STOPPING)
			continue;
		x->cpu += k->cpu;
		x->mem += k->mem;
		x->tasks += n->max_tasks != INT32_MAX;
		for (uint64_t w = k->devices; w; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctzll(w);
			x->milli[d] += k->dev_milli;
			x->dev_mem[d] += bytes_on(&m->dev[n->first_dev + d], &p);
		}
	}
}

bool wz_hold_claims(const struct wz_core *c, const struct wz_place *p)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_node *n;
	struct coming x;

	if (p->node.v >= m->n_nodes)
		return false;
	n = &m->node[p->node.v];
	if (p->cpu < 0 || p->mem < 0 || (n->n_dev < 64 && p->devices >> n->n_dev) ||
	        (p->devices ? p->dev_milli < 1 || p->dev_milli > WZ_WHOLE : p->dev_milli != 0))
		return false;
	coming_on(c, p->node.v, &x);
	if (x.cpu < p->cpu || x.mem < p->mem || x.tasks < 1)
		return false;
	for (uint64_t w = p->devices; w; w &= w - 1) {
		unsigned d = (unsigned)__builtin_ctzll(w);
		const struct wz_device *dev = &m->dev[n->first_dev + d];
		if (x.milli[d] < p->dev_milli || (dev->mem && x.dev_mem[d] < bytes_on(dev, p)))
			return false;
	}
	return true;
}

bool wz_hold_fits(const struct wz_core *c, const struct wz_place *p)
{
	return p->node.v < c->model.n_nodes && WZ_NODE_OPEN(&c->model.node[p->node.v]) && wz_hold_claims(c, p);
}

bool wz_hold_hurts(const struct wz_core *c, const struct wz_hold *h)
{
	const struct wz_node *n = &c->model.node[h->place.node.v];
	struct coming x;

	if (!(n->flags & WZ_NODE_PRESENT))
		return true;
	coming_on(c, h->place.node.v, &x);
	if ((x.cpu < 0 && h->place.cpu) || (x.mem < 0 && h->place.mem) || x.tasks < 0)
		return true;
	for (uint64_t w = h->place.devices; w; w &= w - 1) {
		unsigned d = (unsigned)__builtin_ctzll(w);
		if (x.milli[d] < 0 || (c->model.dev[n->first_dev + d].mem && x.dev_mem[d] < 0))
			return true;
	}
	return false;
}

void wz_holds_recheck(struct wz_core *c, uint32_t node)
{
	for (uint32_t i = c->holds.n; i-- > 0;)
		if (c->holds.h[i].place.node.v == node && wz_hold_hurts(c, &c->holds.h[i]))
			wz_hold_drop(c, i);
}

int wz_hold_reserve(struct wz_core *c)
{
	if (c->holds.n >= WZ_HOLDS_MAX)
		return -E2BIG;
	return wz_grow(&c->mem, &c->holds.h, &c->holds.cap, c->holds.n + 1, sizeof(*c->holds.h));
}

void wz_hold_add(struct wz_core *c, uint64_t id, uint32_t slot, uint32_t task, const struct wz_place *p)
{
	struct wz_hold *h = &c->holds.h[c->holds.n];

	wz_check(c->holds.n < c->holds.cap && (c->holds.n == 0 || h[-1].id < id));
	*h = (struct wz_hold){.id = id, .job = slot, .task = task, .place = *p};
	c->holds.n++;
	wz_hold_account(c, p, -1);
	c->sum += wz_hold_hash(c, h);
	c->changes++;
	wz_index_changed(c, p->node.v);
}

void wz_hold_drop(struct wz_core *c, uint32_t at)
{
	struct wz_hold h = c->holds.h[at];

	wz_check(!c->ledger.open && !h.lifted);
	wz_hold_account(c, &h.place, 1);
	c->sum -= wz_hold_hash(c, &h);
	c->holds.n--;
	c->changes++;
	memmove(&c->holds.h[at], &c->holds.h[at + 1], (c->holds.n - at) * sizeof(h));
	wz_flight_drop(c, h.id);
	if (c->model.node[h.place.node.v].over)
		wz_ledger_observe(c, h.place.node.v);
	wz_index_changed(c, h.place.node.v);
}

uint32_t wz_hold_by_id(const struct wz_core *c, uint64_t id)
{
	uint32_t lo = 0, hi = c->holds.n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (c->holds.h[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->holds.n && c->holds.h[lo].id == id ? lo : WZ_ID_NONE;
}

uint32_t wz_hold_find(const struct wz_core *c, uint32_t slot, uint32_t task)
{
	for (uint32_t i = 0; i < c->holds.n; i++)
		if (c->holds.h[i].job == slot && c->holds.h[i].task == task)
			return i;
	return WZ_ID_NONE;
}

uint32_t wz_holds_of(const struct wz_core *c, uint32_t slot)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->holds.n; i++)
		n += c->holds.h[i].job == slot;
	return n;
}

void wz_holds_drop_of(struct wz_core *c, uint32_t slot)
{
	for (uint32_t i = c->holds.n; i-- > 0;)
		if (c->holds.h[i].job == slot)
			wz_hold_drop(c, i);
}

int wz_core_hold(const struct wz_core *c, uint32_t i, struct wz_hold_info *ret)
{
	const struct wz_hold *h;

	if (i >= c->holds.n)
		return -ENOENT;
	h = &c->holds.h[i];
	*ret = (struct wz_hold_info){.effect = h->id,
	        .deadline_us = c->inflight.f[wz_inflight_find(c, h->id)].deadline_us,
	        .job = c->jobs.job[h->job].number,
	        .task = h->task,
	        .place = h->place};
	return 0;
}

int wz_holds_lift(struct wz_core *c, uint32_t slot)
{
	int r = wz_ledger_reserve(c, wz_holds_of(c, slot));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->holds.n; i++)
		if (c->holds.h[i].job == slot && !c->holds.h[i].lifted)
			wz_ledger_lift(c, i);
	return 0;
}

int wz_holds_propose_lift(const struct wz_core *c, uint32_t slot, struct wz_plan *plan)
{
	for (uint32_t i = 0; i < c->holds.n; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		struct wz_effect e = {.kind = WZ_EF_UNHOLD,
		        .id = c->next_effect + plan->n,
		        .job = c->jobs.job[slot].number,
		        .task = h->task,
		        .attempt = c->jobs.job[slot].attempt,
		        .deadline_us = UINT64_MAX};
		int r = h->job == slot ? wz_plan_add(plan, &e) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
