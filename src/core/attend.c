/* SPDX-License-Identifier: Apache-2.0 */
/* Running jobs that miss tasks, have too many, or do not know how many they have, as a decision goes through them: by
 * priority and then submit order. Who they are is kept by wz_job_attend. */
#include "core/core_int.h"

static bool job_before(const struct wz_core *c, uint32_t x, uint32_t y)
{
	const struct wz_job *a = &c->jobs.job[x], *b = &c->jobs.job[y];

	return a->priority != b->priority ? a->priority > b->priority : a->seq < b->seq;
}

static void sift_job(const struct wz_core *c, uint32_t *a, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1, x = a[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && job_before(c, a[kid], a[kid + 1]))
			kid++;
		if (!job_before(c, x, a[kid]))
			return;
		a[at] = a[kid];
		a[kid] = x;
		at = kid;
	}
}

/* The order of the list is no state: it is sorted where it lies. */
struct wz_attention wz_attend_begin(struct wz_core *c)
{
	struct wz_attention a = {.slot = c->attention, .n = c->n_attention};

	for (uint32_t i = a.n / 2; i-- > 0;)
		sift_job(c, a.slot, a.n, i);
	for (uint32_t end = a.n; end > 1; end--) {
		uint32_t x = a.slot[0];
		a.slot[0] = a.slot[end - 1];
		a.slot[end - 1] = x;
		sift_job(c, a.slot, end - 1, 0);
	}
	for (uint32_t i = 0; i < a.n; i++)
		c->jobs.job[a.slot[i]].attention_at = i;
	return a;
}

static int place_more(struct wz_core *c, struct wz_attention *a, uint32_t slot, bool broken, uint64_t budget,
        struct wz_plan *plan, struct wz_rng *rng)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint64_t before = plan->work;
	int r = 0;

	if (wz_job_live(j) >= j->tasks_max || (j->done && !j->below) || (j->below != 0) != broken)
		return 0;
	if (budget && a->work >= budget) {
		plan->complete = false;
		return 0;
	}
	plan->work++;
	if (c->queues.n || c->gate.on)
		wz_gate_job(c, slot); /* more tasks are within quota, too, and leave what is promised */
	(void)wz_assemble_more(c, slot, plan, rng, &r);
	a->work += plan->work - before;
	return r;
}

int wz_attend_serve(struct wz_core *c, struct wz_attention *a, int64_t broken_from, int64_t growing_above,
        uint64_t budget, struct wz_plan *plan, struct wz_rng *rng)
{
	int r = 0;

	for (; r == 0 && a->broken < a->n && c->jobs.job[a->slot[a->broken]].priority >= broken_from; a->broken++)
		r = place_more(c, a, a->slot[a->broken], true, budget, plan, rng);
	for (; r == 0 && a->growing < a->n && c->jobs.job[a->slot[a->growing]].priority > growing_above;
	        a->growing++)
		r = place_more(c, a, a->slot[a->growing], false, budget, plan, rng);
	return r;
}

int wz_attend_resizes(struct wz_core *c, const struct wz_attention *a, struct wz_plan *plan)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_job *j = &c->jobs.job[a->slot[i]];
		uint32_t n = wz_job_live(j);
		struct wz_effect e = {.kind = WZ_EF_RESIZE,
		        .id = c->next_effect + plan->n,
		        .job = j->number,
		        .attempt = j->attempt,
		        .deadline_us = UINT64_MAX};
		for (uint32_t k = 0; k < plan->n; k++)
			n += plan->effect[k].kind == WZ_EF_START && plan->effect[k].job == j->number;
		e.task = n > j->tasks_max ? j->tasks_max : n;
		if (e.task != j->told || n > j->tasks_max) {
			int r = wz_plan_add(plan, &e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
