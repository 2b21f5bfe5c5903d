/* SPDX-License-Identifier: Apache-2.0 */
/* Repacking: what would be moved now, and leave to do it. */
#include "serve/serve_int.h"

#define MOVES 16u

static struct wz_nums indices(struct wz_arena *a, uint64_t mask)
{
	uint64_t *v = wz_arena_alloc(a, 64 * sizeof *v);
	uint32_t n = 0;
	for (uint64_t w = mask; v && w; w &= w - 1)
		v[n++] = (uint64_t)__builtin_ctzll(w);
	return (struct wz_nums){v, n};
}

static struct wz_str name_of_node(struct serve *s, wz_node_id node)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	if (node.v >= m->n_nodes || !m->node[node.v].name)
		return WZ_STR("");
	return wz_strtab_get(&m->names, m->node[node.v].name - 1);
}

static const char *words(const struct wz_repack_report *r)
{
	return r->n == 0     ? "Nothing to gain now."
	       : r->n_opened ? "Work that waits would start."
	                     : "Remainders would be brought together, or work would leave where it should not be.";
}

static int plan_of(
        struct serve *s, struct wz_arena *a, uint32_t moves, struct wz_api_repack *ret, struct wz_err *err)
{
	struct wz_repack_report *r = wz_arena_alloc(a, sizeof *r);
	struct wz_api_move *v;
	uint64_t *jobs;
	int rc = r ? wz_core_repack(s->core, moves ? moves : MOVES, r, err) : -ENOMEM;
	if (rc < 0)
		return rc;
	v = wz_arena_alloc(a, (r->n + 1) * sizeof *v);
	jobs = wz_arena_alloc(a, (r->n_opened + 1) * sizeof *jobs);
	if (!v || !jobs)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the plan"));
	for (uint32_t i = 0; i < r->n; i++) {
		const struct wz_repack_shown *m = &r->move[i];
		v[i] = (struct wz_api_move){.job = m->job,
		        .task = m->task,
		        .from_node = name_of_node(s, m->from.node),
		        .to_node = name_of_node(s, m->to.node),
		        .from_devices = indices(a, m->from.devices),
		        .to_devices = indices(a, m->to.devices),
		        .cost_us = (int64_t)(m->cost_us < INT64_MAX ? m->cost_us : INT64_MAX)};
	}
	for (uint32_t i = 0; i < r->n_opened; i++)
		jobs[i] = r->opened[i];
	*ret = (struct wz_api_repack){.moves = {v, r->n},
	        .jobs = {jobs, r->n_opened},
	        .gain_milli = r->gain_milli,
	        .cost_us = (int64_t)(r->cost_us < INT64_MAX ? r->cost_us : INT64_MAX),
	        .text = wz_str(words(r))};
	return 0;
}

void op_repack_get(void *ctx, struct wz_api_call *c, const struct wz_api_repack_query *rq)
{
	struct wz_api_repack v;
	struct wz_err err = {0};
	if (plan_of(ctx, wz_api_call_arena(c), rq->moves, &v, &err) < 0)
		wz_api_fail(c, &err);
	else
		wz_api_reply_repack(c, &v);
}

/* The next step makes a plan of its own, as things are then: what is shown is what it would be now. */
void op_repack_ask(void *ctx, struct wz_api_call *c, const struct wz_api_repack_ask *rq)
{
	struct serve *s = ctx;
	struct wz_event e = {.kind = WZ_EV_REPACK_ASKED};
	struct wz_api_repack v;
	struct wz_err err = {0};
	char text[32];
	int rc = plan_of(s, wz_api_call_arena(c), rq->moves, &v, &err);
	if (rc == 0 && rq->apply && v.moves.n) {
		(void)snprintf(text, sizeof text, "moves=%u", rq->moves ? rq->moves : MOVES);
		e.u.named.name = wz_str(text);
		rc = serve_apply(s, &e, &err);
		v.applied = rc == 0;
	}
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		wz_api_reply_repack(c, &v);
}
