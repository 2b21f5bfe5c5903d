/* SPDX-License-Identifier: Apache-2.0 */
/* A job as one transaction: all of its minimum, or nothing. Tasks are placed one after the other on the best node; what
 * one takes is seen by the next. With link=rack or link=node the tasks must stay together: each rack (node) that could
 * hold them is tried in the stable order, and the first that holds the minimum is taken. */
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

/* Places the next task of the job on `node`. 0, or -ENOMEM. */
int wz_assemble_on(
        struct wz_core *c, uint32_t slot, uint32_t index, uint32_t node, struct wz_plan *plan, struct wz_rng *rng)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_shape *s = &c->shapes.shape[j->shape];
	struct wz_effect e = {.kind = WZ_EF_START,
	        .id = c->next_effect + plan->n,
	        .job = j->number,
	        .task = index,
	        .attempt = j->attempt,
	        .deadline_us = wz_usat_add(c->now_us, c->start_timeout_us)};
	struct wz_scratch scratch;
	struct wz_view v;
	int r;

	wz_check(wz_fit(c, s, node, &v, &scratch) == WZ_REASON_NONE);
	e.place = (struct wz_place){.node = {node},
	        .cpu = s->cpu,
	        .mem = s->mem,
	        .dev_milli = v.need.milli,
	        .dev_mem = v.need.mem && v.need.milli < WZ_WHOLE ? v.need.mem : -1,
	        .devices = choose_devices(c, s, &v, rng)};
	r = wz_ledger_reserve(c, 1);
	if (r == 0)
		r = wz_plan_add(plan, &e);
	if (r < 0)
		return r;
	wz_ledger_take(c, j->first_task + index, &e.place);
	plan->work++; /* also when it is rolled back later: the budget bounds what was done, not what came of it */
	return 0;
}

bool wz_assemble_held(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n, placed = 0;

	*ret_err = 0;
	for (uint32_t i = 0; i < c->holds.n && *ret_err == 0; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		if (h->job != slot || wz_gate_eval(c, slot, h->place.node.v) == WZ_SCORE_NONE)
			continue;
		*ret_err = wz_assemble_on(c, slot, placed++, h->place.node.v, plan, rng);
	}
	if (placed >= j->tasks_min && *ret_err == 0)
		return true;
	wz_ledger_rollback(c, mark);
	plan->n = n_plan;
	return false;
}

/* ---- tasks that must stay together ---- */

/* Fills one group of nodes with tasks of the job; returns how many it holds. */
static uint32_t fill_group(struct wz_core *c, uint32_t slot, const uint32_t *node, uint32_t n, struct wz_plan *plan,
        struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	int64_t *score = c->rank_score;
	uint32_t placed = 0;

	for (uint32_t i = 0; i < n; i++)
		score[i] = wz_gate_eval(c, slot, node[i]);
	while (placed < j->tasks_max) {
		uint32_t best = 0;
		for (uint32_t i = 1; i < n; i++)
			if (score[i] > score[best])
				best = i;
		if (score[best] == WZ_SCORE_NONE)
			break;
		*ret_err = wz_assemble_on(c, slot, placed, node[best], plan, rng);
		if (*ret_err < 0)
			break;
		placed++;
		score[best] = wz_gate_eval(c, slot, node[best]);
	}
	return placed;
}

static enum wz_reason assemble_together(
        struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_model_state *m = &c->model;
	bool racks = c->shapes.shape[j->shape].link == WZ_LINK_RACK; /* a node without a rack is promised none */
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n, groups = racks ? m->n_racks : m->n_ranked;

	for (uint32_t g = 0; g < groups; g++) {
		const uint32_t *node = racks ? &m->rack_node[m->rack_start[g]] : &m->by_rank[g];
		uint32_t n = racks ? m->rack_start[g + 1] - m->rack_start[g] : 1;
		if (fill_group(c, slot, node, n, plan, rng, ret_err) >= j->tasks_min)
			return WZ_REASON_NONE;
		wz_ledger_rollback(c, mark);
		plan->n = n_plan;
		if (*ret_err < 0)
			return WZ_REASON_GANG;
	}
	return WZ_REASON_GANG;
}

enum wz_reason wz_assemble(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_shape *s = &c->shapes.shape[j->shape];
	uint32_t mark = wz_ledger_mark(c), n_plan = plan->n, placed = 0;

	*ret_err = 0;
	if (j->tasks_max > 1 && (s->link == WZ_LINK_RACK || s->link == WZ_LINK_NODE)) {
		enum wz_reason why = assemble_together(c, slot, plan, rng, ret_err);
		if (why == WZ_REASON_NONE || !s->link_preferred || *ret_err < 0)
			return why;
	}
	while (placed < j->tasks_max) {
		uint32_t node = wz_gate_best(c, slot, rng);
		if (node == WZ_ID_NONE)
			break;
		*ret_err = wz_assemble_on(c, slot, placed, node, plan, rng);
		if (*ret_err < 0)
			break;
		placed++;
	}
	if (placed >= j->tasks_min && *ret_err == 0)
		return WZ_REASON_NONE;
	wz_ledger_rollback(c, mark);
	plan->n = n_plan;
	if (c->gate.slot == slot && c->gate.denied.reason)
		return (enum wz_reason)c->gate.denied.reason;
	return placed ? WZ_REASON_GANG : WZ_REASON_RESOURCES;
}
