/* SPDX-License-Identifier: Apache-2.0 */
/* Cached scores: for each live shape a tree of maxima over the nodes in their stable order.
 *
 * Every change of a node is appended to one log (a ring). A shape remembers how far it has read; when it is asked, it
 * rescores the nodes that the log names since then, each once (last[node] tells whether a later entry exists). So a
 * decision costs the states that changed since this shape was last asked, and a shape that nobody asks costs nothing.
 * After an epoch all feasible nodes are rescored, no others: epochs change scores, not what fits. A shape that fell
 * behind by a whole ring, or whose order passed, is rescored entirely.
 *
 * The index is a cache: with it off every node is looked at, and the same node is chosen. Memory is bounded by dropping
 * the tree that was unused longest; out of memory only makes it slow. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

void wz_index_changed(struct wz_core *c, uint32_t node)
{
	struct wz_index *x = &c->index;

	if (x->log_cap == 0 || node >= x->last_cap)
		return;
	x->state[node] = 0;
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
	r = wz_grow(&c->mem, &x->state, &x->state_cap, c->model.node_cap, sizeof(*x->state));
	if (r == 0)
		r = wz_grow(&c->mem, &x->last, &x->last_cap, c->model.node_cap, sizeof(*x->last));
	if (r == 0 && !x->memo && !(x->memo = wz_mem_zalloc(&c->mem, WZ_INDEX_MEMO * sizeof(*x->memo))))
		r = -ENOMEM;
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

/* A leaf of a node that is feasible but that the policy refused. Unlike infeasibility this may pass with an epoch. */
#define REFUSED (WZ_SCORE_NONE + 1)

/* What does not change from node to node while one shape is looked at. */
struct look {
	struct wz_core *c;
	const struct wz_shape *s;
	struct wz_policy_ctx ctx;
	struct wz_scratch scratch;
};

static void look_init(struct look *l, struct wz_core *c, uint32_t shape)
{
	l->c = c;
	l->s = &c->shapes.shape[shape];
	l->ctx = wz_ctx(c, NULL);
}

/* The score of a node; REFUSED, or WZ_SCORE_NONE when it is not feasible. */
static inline int64_t eval(struct look *l, uint32_t node)
{
	struct wz_core *c = l->c;
	const struct wz_node *n = &c->model.node[node];
	enum wz_plain plain = wz_fit_plain(l->s, n);
	struct wz_view v;
	int64_t score;

	c->index.evaluations++;
	if (plain == WZ_PLAIN_NO)
		return WZ_SCORE_NONE;
	if (plain == WZ_PLAIN_YES)
		wz_view_plain(&c->model, l->s, n, &v);
	else if (wz_fit(c, l->s, node, &v, &l->scratch) != WZ_REASON_NONE)
		return WZ_SCORE_NONE;
	score = c->policy->score(c->policy_state, &l->ctx, l->s, &v);
	return score == WZ_SCORE_NONE ? REFUSED : score;
}

int64_t wz_index_eval(struct wz_core *c, uint32_t shape, uint32_t node)
{
	struct look l;
	int64_t score;

	look_init(&l, c, shape);
	score = eval(&l, node);
	return score == REFUSED ? WZ_SCORE_NONE : score;
}

/* What a policy with order_weight may read of a node, in 64 bits. Two states that share a hash by chance would share a
 * score for once: a worse choice, never an infeasible one. */
static uint64_t state_hash(const struct wz_model_state *m, const struct wz_node *n)
{
	const int32_t *milli = &m->dev_milli[n->first_dev];
	uint64_t h = wz_mix64((uint64_t)n->cpu_free);

	h = wz_mix64(h ^ (uint64_t)n->mem_free);
	h = wz_mix64(h ^ ((uint64_t)n->class_id << 32 | (uint64_t)n->model << 8 | n->kinds));
	for (uint32_t i = 0; i + 1 < n->n_dev; i += 2)
		h = wz_mix64(h ^ ((uint64_t)(uint32_t)milli[i] << 32 | (uint32_t)milli[i + 1]));
	if (n->n_dev & 1)
		h = wz_mix64(h ^ (uint32_t)milli[n->n_dev - 1]);
	return h | 1;
}

/* eval() in a pass over all nodes: equal states are scored once. */
static inline int64_t eval_alike(struct look *l, uint32_t node, int64_t weight)
{
	struct wz_index *x = &l->c->index;
	const struct wz_node *n = &l->c->model.node[node];
	enum wz_plain plain = wz_fit_plain(l->s, n);
	int64_t order = weight * (int64_t)(n->order >> 16);
	struct wz_memo *memo;
	uint64_t state;

	if (plain == WZ_PLAIN_NO)
		return WZ_SCORE_NONE;
	if (plain != WZ_PLAIN_YES || n->class_id == WZ_CLASSES_MAX - 1) /* the last class is a mixture */
		return eval(l, node);
	if (!x->state[node])
		x->state[node] = state_hash(&l->c->model, n);
	state = x->state[node];
	memo = &x->memo[state >> 32 & (WZ_INDEX_MEMO - 1)];
	if (memo->state != state || memo->pass != x->pass) {
		int64_t score = eval(l, node);
		*memo = (struct wz_memo){
		        .state = state, .pass = x->pass, .score = score == REFUSED ? score : score + order};
	}
	return memo->score == REFUSED ? REFUSED : memo->score - order;
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
	wz_grow_free(&c->mem, &x->state, &x->state_cap, sizeof(*x->state));
	wz_mem_free(&c->mem, x->memo, WZ_INDEX_MEMO * sizeof(*x->memo));
	wz_mem_free(&c->mem, x->log, x->log_cap * sizeof(*x->log));
}

static void drop_oldest(struct wz_index *x, const struct wz_index_shape *keep)
{
	struct wz_index_shape *oldest = NULL;

	for (uint32_t i = 0; i < x->n; i++)
		if (x->s[i].tree.block_size && &x->s[i] != keep &&
		        (!oldest || x->s[i].last_used < oldest->last_used))
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

/* Rescores the nodes whose leaf does not say infeasible. */
static void rescore_leaves(struct look *l, struct wz_index_shape *s)
{
	const struct wz_model_state *m = &l->c->model;
	const struct wz_policy *policy = l->c->policy;
	int64_t *leaf = s->tree.level[0],
	        weight = policy->order_weight ? policy->order_weight(l->c->policy_state, l->s) : -1;

	l->c->index.pass++;
	for (uint32_t r = 0; r < m->n_ranked; r++) {
		if (leaf[r] == WZ_SCORE_NONE)
			continue;
		leaf[r] = weight >= 0 ? eval_alike(l, m->by_rank[r], weight) : eval(l, m->by_rank[r]);
	}
	wz_maxtree_rebuild(&s->tree);
}

static void rescore_all(struct look *l, struct wz_index_shape *s)
{
	memset(s->tree.level[0], 0, l->c->model.n_ranked * sizeof(int64_t)); /* 0: not known to be infeasible */
	rescore_leaves(l, s);
}

/* After an epoch: a node that was not feasible and has not changed since is not feasible now. */
static void rescore_feasible(struct look *l, struct wz_index_shape *s)
{
	const struct wz_index *x = &l->c->index;

	for (uint64_t p = s->seen; p < x->log_pos; p++) {
		uint32_t rank = l->c->model.node[x->log[p & (x->log_cap - 1)]].rank;
		if (rank != WZ_ID_NONE)
			s->tree.level[0][rank] = 0;
	}
	rescore_leaves(l, s);
}

static void rescore_changed(struct look *l, struct wz_index_shape *s)
{
	const struct wz_index *x = &l->c->index;

	for (uint64_t p = s->seen; p < x->log_pos; p++) {
		uint32_t node = x->log[p & (x->log_cap - 1)];
		uint32_t rank = l->c->model.node[node].rank;
		if (x->last[node] == p + 1 && rank != WZ_ID_NONE)
			wz_maxtree_set(&s->tree, rank, eval(l, node));
	}
}

static struct wz_index_shape *fresh_tree(struct wz_core *c, uint32_t shape)
{
	struct wz_index *x = &c->index;
	struct wz_index_shape *s;
	struct look l;

	if (x->off || x->log_cap == 0)
		return NULL;
	s = tree_of(c, shape);
	if (!s)
		return NULL;
	look_init(&l, c, shape);
	if (!s->built || s->order_version != c->model.order_version || x->log_pos - s->seen > x->log_cap)
		rescore_all(&l, s);
	else if (s->epoch != c->epoch)
		rescore_feasible(&l, s);
	else
		rescore_changed(&l, s);
	s->built = true;
	s->epoch = c->epoch;
	s->order_version = c->model.order_version;
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
	struct look l;

	look_init(&l, c, shape);
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		int64_t v = leaf ? leaf[r] : eval(&l, c->model.by_rank[r]);
		if (v <= REFUSED)
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

/* The best of the nodes that the labels around allow, where nobody prefers anything. */
static uint32_t best_of_allowed(
        struct wz_core *c, uint32_t shape, const struct wz_between_look *asked, const struct wz_index_shape *s)
{
	uint32_t best = WZ_ID_NONE;
	int64_t score = REFUSED, preference;
	struct look l;

	look_init(&l, c, shape);
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		uint32_t node = c->model.by_rank[r];
		int64_t v = s ? s->tree.level[0][r] : eval(&l, node);
		if (v <= score || wz_between_at(asked, node, &preference) != WZ_REASON_NONE)
			continue;
		score = v;
		best = node;
	}
	return best;
}

/* Where the labels around have a say: of the nodes that they allow those that they like best, and of those the best. */
static uint32_t best_of_asked(struct wz_core *c, uint32_t shape, const struct wz_between_look *asked,
        const struct wz_index_shape *s, struct wz_rng *rng)
{
	struct wz_policy_ctx ctx = wz_ctx(c, rng);
	int64_t liked = INT64_MIN;
	uint32_t n = 0, best = 0;
	struct look l;

	look_init(&l, c, shape);
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		uint32_t node = c->model.by_rank[r];
		int64_t v = s ? s->tree.level[0][r] : eval(&l, node), p = 0;
		if (v <= REFUSED || (asked && wz_between_at(asked, node, &p) != WZ_REASON_NONE))
			continue;
		p += wz_local_preference(c, l.s, node);
		if (p < liked)
			continue;
		if (p > liked)
			n = 0;
		liked = p;
		c->rank_score[n] = v;
		c->rank_node[n++] = node;
	}
	if (n == 0)
		return WZ_ID_NONE;
	if (c->policy->scope == WZ_SCOPE_RANK)
		c->policy->normalise(c->policy_state, &ctx, l.s, c->rank_score, n);
	for (uint32_t i = 1; i < n; i++)
		if (c->rank_score[i] > c->rank_score[best])
			best = i;
	return c->rank_node[best];
}

uint32_t wz_index_best(struct wz_core *c, uint32_t shape, uint32_t between, struct wz_rng *rng)
{
	struct wz_between_look asked;
	struct wz_index_shape *s;
	int64_t best = REFUSED;
	uint32_t node = WZ_ID_NONE;
	struct look l;
	bool asks, prefers;

	if (c->model.n_ranked == 0)
		return WZ_ID_NONE;
	s = fresh_tree(c, shape);
	asks = (between || c->between.labelset[0].n_apart) && wz_between_begin(c, between, &asked);
	prefers = c->model.n_discouraged || c->between.constraint[c->shapes.shape[shape].local].prefers;
	if (asks && !prefers && !asked.prefers && c->policy->scope != WZ_SCOPE_RANK)
		return best_of_allowed(c, shape, &asked, s);
	if (asks || prefers)
		return best_of_asked(c, shape, asks ? &asked : NULL, s, rng);
	if (c->policy->scope == WZ_SCOPE_RANK)
		return best_of_rank(c, shape, s ? s->tree.level[0] : NULL, rng);
	if (s) {
		if (wz_maxtree_max(&s->tree) <= REFUSED)
			return WZ_ID_NONE;
		return c->model.by_rank[wz_maxtree_argmax(&s->tree)];
	}
	look_init(&l, c, shape);
	for (uint32_t r = 0; r < c->model.n_ranked; r++) {
		int64_t v = eval(&l, c->model.by_rank[r]);
		if (v > best) {
			best = v;
			node = c->model.by_rank[r];
		}
	}
	return node;
}
