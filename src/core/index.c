/* SPDX-License-Identifier: Apache-2.0 */
/* Cached scores: for each live shape a tree of maxima over the nodes in their stable order.
 *
 * Every change of a node is appended to one log (a ring). A shape remembers how far it has read; when it is asked, it
 * rescores the nodes that the log names since then, each once (last[node] tells whether a later entry exists). So a
 * decision costs the states that changed since this shape was last asked, and a shape that nobody asks costs nothing.
 * A shape that fell behind by a whole ring, or whose epoch or order passed, is rescored entirely.
 *
 * The index is a cache: with it off every node is looked at, and the same node is chosen. Memory is bounded by dropping
 * the tree that was unused longest; out of memory only makes it slow. */
#include "core/core_int.h"

#include "base/check.h"

#include <string.h>

void wz_index_changed(struct wz_core *c, uint32_t node)
{
	struct wz_index *x = &c->index;

	if (x->log_cap == 0 || node >= x->last_cap)
		return;
	if (x->last[node] > x->max_seen) /* the last entry for it was read by nobody yet */
		return;
	x->log[x->log_pos & (x->log_cap - 1)] = node;
	x->last[node] = ++x->log_pos;
}

int wz_index_reserve(struct wz_core *c)
{
	struct wz_index *x = &c->index;
	uint32_t want = 64;
	uint32_t *log;
	int r;

	if (x->off)
		return 0;
	while (want < 4 * c->model.node_cap)
		want *= 2;
	r = wz_grow(&c->mem, &x->last, &x->last_cap, c->model.node_cap, sizeof(*x->last));
	if (r < 0 || want <= x->log_cap)
		return r;
	log = wz_mem_alloc(&c->mem, want * sizeof(*log));
	if (!log)
		return -ENOMEM;
	wz_mem_free(&c->mem, x->log, x->log_cap * sizeof(*log));
	x->log = log;
	x->log_cap = want;
	x->log_pos += want; /* nobody's position is valid in the new ring: all trees are rescored */
	x->max_seen = x->log_pos;
	for (uint32_t i = 0; i < x->n; i++)
		x->s[i].built = false;
	return 0;
}

int64_t wz_index_eval(struct wz_core *c, uint32_t shape, uint32_t node)
{
	const struct wz_shape *s = &c->shapes.shape[shape];
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);
	struct wz_scratch scratch;
	struct wz_view v;

	c->index.evaluations++;
	if (wz_fit(c, s, node, &v, &scratch) != WZ_REASON_NONE)
		return WZ_SCORE_NONE;
	return c->policy->score(c->policy_state, &ctx, s, &v);
}

static void drop_tree(struct wz_index *x, struct wz_index_shape *s)
{
	x->bytes -= s->tree.block_size;
	wz_maxtree_release(&s->tree);
	memset(s, 0, sizeof(*s));
}

void wz_index_release(struct wz_core *c)
{
	struct wz_index *x = &c->index;

	for (uint32_t i = 0; i < x->n; i++)
		drop_tree(x, &x->s[i]);
	wz_grow_free(&c->mem, &x->s, &x->cap, sizeof(*x->s));
	wz_grow_free(&c->mem, &x->last, &x->last_cap, sizeof(*x->last));
	wz_mem_free(&c->mem, x->log, x->log_cap * sizeof(*x->log));
}

static void drop_oldest(struct wz_index *x, const struct wz_index_shape *keep)
{
	struct wz_index_shape *oldest = NULL;

	for (uint32_t i = 0; i < x->n; i++)
		if (x->s[i].tree.block_size && &x->s[i] != keep && (!oldest || x->s[i].last_used < oldest->last_used))
			oldest = &x->s[i];
	if (oldest)
		drop_tree(x, oldest);
}

/* The tree of a shape with room for all ranks, or NULL when there is no memory. */
static struct wz_index_shape *tree_of(struct wz_core *c, uint32_t shape)
{
	struct wz_index *x = &c->index;
	struct wz_index_shape *s;

	if (wz_grow(&c->mem, &x->s, &x->cap, shape + 1, sizeof(*x->s)) < 0)
		return NULL;
	while (x->n <= shape)
		memset(&x->s[x->n++], 0, sizeof(*x->s));
	s = &x->s[shape];
	if (s->tree.block_size && s->tree.n != c->model.n_ranked)
		drop_tree(x, s);
	if (!s->tree.block_size) {
		if (x->bytes >= x->bytes_max)
			drop_oldest(x, s);
		if (wz_maxtree_init(&s->tree, &c->mem, c->model.n_ranked) < 0) {
			memset(s, 0, sizeof(*s));
			return NULL;
		}
		x->bytes += s->tree.block_size;
		s->built = false;
	}
	return s;
}

static void rescore_all(struct wz_core *c, uint32_t shape, struct wz_index_shape *s)
{
	for (uint32_t r = 0; r < c->model.n_ranked; r++)
		s->tree.level[0][r] = wz_index_eval(c, shape, c->model.by_rank[r]);
	wz_maxtree_rebuild(&s->tree);
	s->built = true;
	s->epoch = c->epoch;
	s->order_version = c->model.order_version;
}

static void rescore_changed(struct wz_core *c, uint32_t shape, struct wz_index_shape *s)
{
	struct wz_index *x = &c->index;

	for (uint64_t p = s->seen; p < x->log_pos; p++) {
		uint32_t node = x->log[p & (x->log_cap - 1)];
		uint32_t rank = c->model.node[node].rank;
		if (x->last[node] == p + 1 && rank != WZ_ID_NONE)
			wz_maxtree_set(&s->tree, rank, wz_index_eval(c, shape, node));
	}
}

static struct wz_index_shape *fresh_tree(struct wz_core *c, uint32_t shape)
{
	struct wz_index *x = &c->index;
	struct wz_index_shape *s;

	if (x->off || x->log_cap == 0)
		return NULL;
	s = tree_of(c, shape);
	if (!s)
		return NULL;
	if (!s->built || s->epoch != c->epoch || s->order_version != c->model.order_version ||
	    x->log_pos - s->seen > x->log_cap)
		rescore_all(c, shape, s);
	else
		rescore_changed(c, shape, s);
	s->seen = x->log_pos;
	x->max_seen = x->log_pos;
	s->last_used = ++x->uses;
	return s;
}

/* Scope RANK: the policy sees the scores of all feasible nodes together. */
static uint32_t best_of_rank(struct wz_core *c, uint32_t shape, const int64_t *leaf, struct wz_rng *rng)
{
	struct wz_policy_ctx ctx = wz_ctx(c, rng);
	uint32_t n = 0, best = 0;

	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		int64_t v = leaf ? leaf[r] : wz_index_eval(c, shape, c->model.by_rank[r]);
		if (v == WZ_SCORE_NONE)
			continue;
		c->rank_score[n] = v;
		c->rank_node[n++] = c->model.by_rank[r];
	}
	if (n == 0)
		return WZ_ID_NONE;
	c->policy->normalise(c->policy_state, &ctx, &c->shapes.shape[shape], c->rank_score, n);
	for (uint32_t i = 1; i < n; i++)
		if (c->rank_score[i] > c->rank_score[best])
			best = i;
	return c->rank_node[best];
}

uint32_t wz_index_best(struct wz_core *c, uint32_t shape, struct wz_rng *rng)
{
	struct wz_index_shape *s;
	int64_t best = WZ_SCORE_NONE;
	uint32_t node = WZ_ID_NONE;

	if (c->model.n_ranked == 0)
		return WZ_ID_NONE;
	s = fresh_tree(c, shape);
	if (c->policy->scope == WZ_SCOPE_RANK)
		return best_of_rank(c, shape, s ? s->tree.level[0] : NULL, rng);
	if (s) {
		if (wz_maxtree_max(&s->tree) == WZ_SCORE_NONE)
			return WZ_ID_NONE;
		return c->model.by_rank[wz_maxtree_argmax(&s->tree)];
	}
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		int64_t v = wz_index_eval(c, shape, c->model.by_rank[r]);
		if (v > best) {
			best = v;
			node = c->model.by_rank[r];
		}
	}
	return node;
}
