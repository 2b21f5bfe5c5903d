/* SPDX-License-Identifier: Apache-2.0 */
/* What holds a job back from a node that has room for it: quota, and room that is promised to others. The score of a
 * node that is not allowed is WZ_SCORE_NONE. The best node by the index is usually allowed; when it is not, all are asked. */
#include "core/core_int.h"

#include "base/check.h"

uint32_t wz_gate_add(struct wz_core *c, uint32_t node, const struct wz_entry *e)
{
	struct wz_gate *g = &c->gate;

	wz_check(g->n < g->cap);
	g->e[g->n] = *e;
	g->e[g->n].next = g->head[node];
	g->head[node] = g->n;
	g->on = true;
	return g->n++;
}

void wz_gate_job(struct wz_core *c, uint32_t slot)
{
	struct wz_gate *g = &c->gate;
	uint64_t length = wz_job_length(c, slot);
	const struct wz_job *j = &c->jobs.job[slot];

	g->slot = slot;
	g->denied.reason = WZ_REASON_NONE;
	g->end_us = length == UINT64_MAX || c->now_us > UINT64_MAX - length ? UINT64_MAX : c->now_us + length;
	if (c->queues.n == 0 || j->account == WZ_ID_NONE)
		return;
	c->queues.current.slot = slot;
	c->queues.current.held = (struct wz_charge){0};
	for (uint32_t i = 0; j->placed && i < j->n_tasks; i++) {
		struct wz_charge k;
		if (c->jobs.task[j->first_task + i].node == WZ_ID_NONE)
			continue;
		wz_charge_task(c, j->first_task + i, &k);
		for (uint32_t w = k.set; w; w &= w - 1)
			c->queues.current.held.v[__builtin_ctz(w)] += k.v[__builtin_ctz(w)];
	}
}

/* Does a job that runs from..end have to leave what the entry keeps? */
static bool meets(const struct wz_entry *e, uint64_t from_us, uint64_t end_us)
{
	if (e->firm)
		return from_us < e->to_us && e->from_us < end_us;
	return from_us < e->from_us && e->from_us < end_us;
}

/* Whole devices that tasks of the shape use up: a share may open a device. */
static uint32_t devices_of(const struct wz_core *c, const struct wz_shape *s, uint32_t node)
{
	const struct wz_node *n = &c->model.node[node];
	uint16_t model = n->n_dev ? c->model.dev[n->first_dev].model : WZ_MODEL_NONE;

	if (s->count)
		return s->count;
	if (!s->cu_milli && !s->dev_mem_total)
		return 0;
	return wz_shape_need(s, model < c->catalogue.n ? &c->catalogue.model[model] : NULL,
	        n->n_dev ? c->model.dev[n->first_dev].mem : 0)
	        .count;
}

bool wz_gate_room(const struct wz_core *c, uint32_t slot, const struct wz_shape *s, uint32_t node, uint64_t from_us,
        uint64_t end_us, uint32_t tasks)
{
	const struct wz_gate *g = &c->gate;
	int64_t devices = (int64_t)devices_of(c, s, node) * tasks;

	for (uint32_t i = g->head[node]; i != WZ_ID_NONE; i = g->e[i].next) {
		const struct wz_entry *e = &g->e[i];
		if (!meets(e, from_us, end_us) || (e->firm && wz_reservation_for(c, e->reservation, slot)))
			continue;
		if (devices > e->whole || s->cpu * tasks > e->cpu || s->mem * tasks > e->mem ||
		        (int64_t)tasks > e->tasks)
			return false;
	}
	return true;
}

int64_t wz_gate_eval(struct wz_core *c, uint32_t slot, uint32_t shape, uint32_t node)
{
	struct wz_gate *g = &c->gate;
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_shape *s = &c->shapes.shape[shape];
	int64_t score = wz_index_eval(c, shape, node);

	if (score == WZ_SCORE_NONE || g->slot != slot)
		return score;
	if (g->on && !wz_gate_room(c, slot, s, node, c->now_us, g->end_us, 1)) {
		g->denied = (struct wz_blocker){.reason = WZ_REASON_RESERVED};
		return WZ_SCORE_NONE;
	}
	if (c->queues.n && j->account != WZ_ID_NONE) {
		struct wz_charge k;
		struct wz_blocker b;
		wz_charge_on(c, slot, s, node, &k);
		if (wz_quota_check(c, slot, &k, &b)) {
			g->denied = b;
			return WZ_SCORE_NONE;
		}
	}
	return score;
}

uint32_t wz_gate_best(struct wz_core *c, uint32_t slot, uint32_t shape, uint32_t between, struct wz_rng *rng)
{
	const struct wz_model_state *m = &c->model;
	uint32_t best = wz_index_best(c, shape, between, rng);
	int64_t most = WZ_SCORE_NONE, liked = INT64_MIN;
	struct wz_between_look asked;
	bool asks;

	if (best == WZ_ID_NONE || c->gate.slot != slot || (!c->gate.on && !c->queues.n) ||
	        wz_gate_eval(c, slot, shape, best) != WZ_SCORE_NONE)
		return best;
	best = WZ_ID_NONE;
	asks = wz_between_begin(c, between, &asked);
	for (uint32_t i = 0; i < m->n_ranked; i++) {
		uint32_t node = m->by_rank[i];
		int64_t score = wz_gate_eval(c, slot, shape, node), p = 0;
		if (score == WZ_SCORE_NONE || (asks && wz_between_at(&asked, node, &p) != WZ_REASON_NONE))
			continue;
		p += wz_local_preference(c, &c->shapes.shape[shape], node);
		if (best != WZ_ID_NONE && (p < liked || (p == liked && score <= most)))
			continue;
		most = score;
		liked = p;
		best = node;
	}
	return best;
}

/* A task of this step takes from what is spare. What is promised begins later than now: entries that meet the task. */
void wz_gate_task(struct wz_core *c, uint32_t task, int sign)
{
	struct wz_gate *g = &c->gate;
	const struct wz_task *t = &c->jobs.task[task];
	int32_t devices = (int32_t)__builtin_popcountll(t->devices);

	if (t->job != g->slot)
		return;
	for (uint32_t i = g->head[t->node]; i != WZ_ID_NONE; i = g->e[i].next) {
		struct wz_entry *e = &g->e[i];
		if (!meets(e, c->now_us, g->end_us) || (e->firm && wz_reservation_for(c, e->reservation, t->job)))
			continue;
		e->whole -= sign * devices;
		e->cpu -= sign * t->cpu;
		e->mem -= sign * t->mem;
		e->tasks -= e->tasks == INT32_MAX ? 0 : sign; /* INT32_MAX: no limit */
	}
}

/* A start was promised: it takes from what is spare for promises that begin while it runs. */
void wz_gate_keep(struct wz_core *c, uint32_t slot, uint32_t node, uint64_t from_us, uint64_t end_us,
        int32_t devices, int64_t cpu, int64_t mem, int32_t tasks)
{
	struct wz_gate *g = &c->gate;

	for (uint32_t i = g->head[node]; i != WZ_ID_NONE; i = g->e[i].next) {
		struct wz_entry *e = &g->e[i];
		if (!meets(e, from_us, end_us) || (e->firm && wz_reservation_for(c, e->reservation, slot)))
			continue;
		e->whole -= devices;
		e->cpu -= cpu;
		e->mem -= mem;
		e->tasks -= e->tasks == INT32_MAX ? 0 : tasks;
	}
}
