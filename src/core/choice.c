/* SPDX-License-Identifier: Apache-2.0 */
/* Why a start is where it is: the policy's words about the node, the runner-up, and the best node of another kind. Beside
 * the step: nothing is changed, every node is looked at. */
#include "core/core_int.h"

struct rival {
	uint32_t node;
	int64_t score;
};

/* Higher score, then lower rank. */
static void offer(const struct wz_core *c, struct rival *best, uint32_t node, int64_t score)
{
	const struct wz_node *n = c->model.node;

	if (score == WZ_SCORE_NONE)
		return;
	if (best->node == WZ_ID_NONE || score > best->score ||
	        (score == best->score && n[node].rank < n[best->node].rank))
		*best = (struct rival){node, score};
}

static struct wz_str name_of(const struct wz_core *c, uint32_t node)
{
	return wz_strtab_get(&c->model.names, c->model.node[node].name - 1);
}

static void against(
        struct wz_core *c, const struct wz_shape *s, const struct wz_view *v, uint32_t rival, struct wz_buf *b)
{
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);
	struct wz_scratch scratch;
	struct wz_view o;

	if (wz_fit(c, s, rival, &o, &scratch) != WZ_REASON_NONE)
		return;
	wz_buf_addz(b, " Not ");
	wz_buf_add(b, name_of(c, rival));
	wz_buf_addz(b, ": ");
	c->policy->explain(c->policy_state, &ctx, s, v, &o, b);
}

int wz_core_explain_choice(struct wz_core *c, const struct wz_effect *e, struct wz_buf *b, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->job), node = e->place.node.v, nodes = 0, shape;
	struct rival next = {.node = WZ_ID_NONE}, kind = {.node = WZ_ID_NONE};
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);
	struct wz_scratch scratch;
	const struct wz_shape *s;
	struct wz_view v;

	if (e->kind != WZ_EF_START || slot == WZ_ID_NONE || node >= c->model.n_nodes)
		return wz_err_set(err, -ENOENT, "NoSuchStart", WZ_STR("there is no such start to explain"));
	if (e->task >= c->jobs.job[slot].n_tasks)
		return wz_err_set(err, -ENOENT, "NoSuchStart", WZ_STR("there is no such start to explain"));
	shape = wz_task_shape(c, c->jobs.job[slot].first_task + e->task);
	s = &c->shapes.shape[shape];
	if (wz_fit(c, s, node, &v, &scratch) != WZ_REASON_NONE)
		return wz_err_set(err, -ESTALE, "StaleEffect", WZ_STR("the task does not fit there any more"));
	if (!c->policy->explain)
		return wz_err_set(err, -EOPNOTSUPP, "NoWords", WZ_STR("the policy "), wz_str(c->policy->name),
		        WZ_STR(" has no words for its choices"));
	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		int64_t score =
		        (c->model.node[i].flags & WZ_NODE_PRESENT) ? wz_index_eval(c, shape, i) : WZ_SCORE_NONE;
		nodes += score != WZ_SCORE_NONE;
		if (i == node)
			continue;
		offer(c, &next, i, score);
		if (c->model.node[i].class_id != c->model.node[node].class_id)
			offer(c, &kind, i, score);
	}
	c->policy->explain(c->policy_state, &ctx, s, &v, NULL, b);
	if (next.node == WZ_ID_NONE)
		wz_buf_addz(b, " No other node could take it.");
	else
		against(c, s, &v, next.node, b);
	if (kind.node != WZ_ID_NONE && kind.node != next.node)
		against(c, s, &v, kind.node, b);
	wz_buf_addz(b, " Nodes that could take it: ");
	wz_buf_add_u64(b, nodes);
	wz_buf_addc(b, '.');
	return b->status;
}
