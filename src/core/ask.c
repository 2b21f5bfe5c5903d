/* SPDX-License-Identifier: Apache-2.0 */
/* What the labels around a node say to a task: may it go there, and how well. Pure: the tallies are read, never changed. */
#include "core/core_int.h"

#include "base/hash.h"

/* ---- one node alone ---- */

bool wz_node_selected(const struct wz_core *c, const struct wz_constraint *k, uint32_t node)
{
	struct wz_node_labels l = {c, node};

	for (uint32_t i = 0; k->required && i < k->n_node; i++)
		if (k->node[i].weight == 0 &&
		        wz_selector_matches(k, k->node[i].sel, &c->model.names, wz_node_label, &l))
			return true;
	return !k->required;
}

static bool tainted(const struct wz_core *c, const struct wz_constraint *k, const struct wz_node *n)
{
	for (uint32_t i = n->first_taint; i < n->first_taint + n->n_taints; i++) {
		const struct wz_node_taint *t = &c->model.taint[i];
		if (t->effect != WZ_TAINT_PREFER_NO && !wz_constraint_tolerates(k, t->key, t->value, t->effect))
			return true;
	}
	return false;
}

/* Does a task on the node hold one of these ports? */
static bool port_taken(const struct wz_core *c, const struct wz_constraint *k, uint32_t node)
{
	for (uint32_t t = c->model.node[node].head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
		const struct wz_constraint *o = &c->between.constraint[c->shapes.shape[wz_task_shape(c, t)].local];
		for (uint32_t i = 0; i < o->n_port; i++)
			for (uint32_t j = 0; j < k->n_port; j++)
				if (wz_ports_clash(&o->port[i], &k->port[j]))
					return true;
	}
	return false;
}

enum wz_reason wz_local_fits(const struct wz_core *c, const struct wz_shape *s, uint32_t node, bool idle)
{
	const struct wz_constraint *k = &c->between.constraint[s->local];
	const struct wz_node *n = &c->model.node[node];

	if (k->required && !wz_node_selected(c, k, node))
		return WZ_REASON_NODE_AFFINITY;
	if (n->n_taints && tainted(c, k, n))
		return WZ_REASON_TAINT;
	return k->n_port && !idle && port_taken(c, k, node) ? WZ_REASON_HOST_PORT : WZ_REASON_NONE;
}

#define SOFT_TAINT \
	50 /* what a node loses for each PreferNoSchedule that is not tolerated; a usual wish weighs 100 */

int64_t wz_local_preference(const struct wz_core *c, const struct wz_shape *s, uint32_t node)
{
	const struct wz_constraint *k = &c->between.constraint[s->local];
	const struct wz_node *n = &c->model.node[node];
	struct wz_node_labels l = {c, node};
	int64_t p = 0;

	for (uint32_t i = 0; k->prefers && i < k->n_node; i++)
		if (k->node[i].weight && wz_selector_matches(k, k->node[i].sel, &c->model.names, wz_node_label, &l))
			p += k->node[i].weight;
	for (uint32_t i = n->first_taint; i < n->first_taint + n->n_taints; i++) {
		const struct wz_node_taint *t = &c->model.taint[i];
		if (t->effect == WZ_TAINT_PREFER_NO && !wz_constraint_tolerates(k, t->key, t->value, t->effect))
			p -= SOFT_TAINT;
	}
	return p;
}

/* ---- tasks elsewhere ---- */

/* The fewest tasks in an eligible domain; 0 while there are fewer domains than asked. */
static uint32_t least_of(const struct wz_core *c, const struct wz_tally *y, const struct wz_term *t)
{
	uint32_t least = UINT32_MAX;

	if (y->n_eligible < t->min_domains)
		return 0;
	for (uint32_t d = 0; d < c->between.topo[y->topo].n_domains; d++)
		if (y->ok_nodes[d] && y->count[d] < least)
			least = y->count[d];
	return least == UINT32_MAX ? 0 : least;
}

bool wz_between_begin(const struct wz_core *c, uint32_t between, struct wz_between_look *ret)
{
	const struct wz_between *b = &c->between;
	const struct wz_asked *a = &b->asked[between];
	bool near = false, found = false, all_self = true;

	if (!b->constraint[a->constraint].between && b->labelset[a->labels].n_apart == 0)
		return false;
	*ret = (struct wz_between_look){.c = c, .k = &b->constraint[a->constraint], .set = &b->labelset[a->labels]};
	ret->tally = b->n_tallies ? &b->tally[b->first_tally[a->constraint]] : NULL;
	for (uint32_t i = 0; i < ret->k->n_term; i++) {
		const struct wz_term *t = &ret->k->term[i];
		if (wz_term_selects(c, ret->k, i, ret->set))
			ret->self |= 1u << i;
		ret->prefers = ret->prefers || t->weight;
		if (t->kind == WZ_TERM_SPREAD)
			ret->least[i] = least_of(c, &ret->tally[i], t);
		if (t->kind != WZ_TERM_NEAR || t->weight)
			continue;
		near = true;
		found = found || ret->tally[i].total;
		all_self = all_self && (ret->self >> i & 1);
	}
	ret->first = near && !found && all_self;
	return true;
}

static int64_t clip(int64_t v, int64_t max)
{
	return v > max ? max : v;
}

static enum wz_reason ask_term(const struct wz_between_look *l, uint32_t i, uint32_t node, int64_t *preference)
{
	const struct wz_term *t = &l->k->term[i];
	const struct wz_tally *y = &l->tally[i];
	uint32_t d = wz_topo_domain(&l->c->between.topo[y->topo], node);
	uint32_t count = d ? y->count[d - 1] : 0, self = l->self >> i & 1;

	switch ((enum wz_term_kind)t->kind) {
	case WZ_TERM_NEAR:
		if (t->weight)
			*preference += count ? t->weight : 0;
		else if (!d || (count == 0 && !l->first))
			return WZ_REASON_AFFINITY;
		break;
	case WZ_TERM_APART:
		if (t->weight)
			*preference -= count ? t->weight : 0;
		else if (count)
			return WZ_REASON_ANTI_AFFINITY;
		break;
	case WZ_TERM_SPREAD:
		if (t->weight) /* the emptier domain; where there is none is as bad as can be */
			*preference -=
			        d ? clip(count > l->least[i] ? count - l->least[i] : 0, t->weight) : t->weight;
		else if (!d || (int64_t)count + self - l->least[i] > t->max_skew)
			return WZ_REASON_SPREAD;
		break;
	case WZ_TERM_TOGETHER:
		break;
	}
	return WZ_REASON_NONE;
}

/* Is somebody there, or in a domain with it, who wants to be apart from tasks like this one? */
static bool kept_away(const struct wz_between_look *l, uint32_t node)
{
	const struct wz_between *b = &l->c->between;

	for (uint32_t i = 0; l->set->n_apart && i < l->set->n_tally; i++) {
		const struct wz_tally *y = &b->tally[l->set->tally[i]];
		uint32_t d = wz_topo_domain(&b->topo[y->topo], node);
		if (d && y->holders[d - 1])
			return true;
	}
	return false;
}

enum wz_reason wz_between_at(const struct wz_between_look *l, uint32_t node, int64_t *ret_preference)
{
	*ret_preference = 0;
	for (uint32_t i = 0; i < l->k->n_term; i++) {
		enum wz_reason why = ask_term(l, i, node, ret_preference);
		if (why != WZ_REASON_NONE)
			return why;
	}
	return kept_away(l, node) ? WZ_REASON_ANTI_AFFINITY : WZ_REASON_NONE;
}

/* ---- checking ---- */

/* What one tally should hold: sums of hashes of domains, one for each task or node that counts there. */
struct counted {
	uint64_t count, holders, nodes, total;
};

static void count_again(const struct wz_core *c, uint32_t tally, struct counted *x)
{
	const struct wz_between *b = &c->between;
	const struct wz_tally *y = &b->tally[tally];
	const struct wz_constraint *k = &b->constraint[y->constraint];
	bool binds = k->term[y->term].kind == WZ_TERM_APART && k->term[y->term].weight == 0;

	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		uint32_t d = wz_topo_domain(&b->topo[y->topo], i);
		if (!d || !c->model.node[i].name)
			continue;
		x->nodes += y->ok[i] ? wz_mix64(d) : 0;
		for (uint32_t t = c->model.node[i].head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
			const struct wz_asked *a = &b->asked[wz_task_between(c, t)];
			x->holders += binds && a->constraint == y->constraint ? wz_mix64(d) : 0;
			if (!y->ok[i] || !wz_term_selects(c, k, y->term, &b->labelset[a->labels]))
				continue;
			x->count += wz_mix64(d);
			x->total++;
		}
	}
}

bool wz_between_checks(const struct wz_core *c)
{
	const struct wz_between *b = &c->between;

	for (uint32_t i = 0; i < b->n_tallies; i++) {
		const struct wz_tally *y = &b->tally[i];
		struct counted x = {0};
		uint32_t eligible = 0;
		count_again(c, i, &x);
		for (uint32_t d = 0; d < b->topo[y->topo].n_domains; d++) {
			x.count -= y->count[d] * wz_mix64(d + 1);
			x.holders -= y->holders[d] * wz_mix64(d + 1);
			x.nodes -= y->ok_nodes[d] * wz_mix64(d + 1);
			eligible += y->ok_nodes[d] != 0;
		}
		if (x.count || x.holders || x.nodes || x.total != y->total || eligible != y->n_eligible)
			return false;
	}
	return true;
}

bool wz_labels_check(const struct wz_core *c)
{
	const struct wz_between *b = &c->between;
	uint64_t running = 0, expected = 0;

	for (uint32_t i = 0; i < b->n_labelsets; i++) {
		running += b->labelset[i].running * wz_mix64(i);
		expected += b->labelset[i].expected * wz_mix64(i);
	}
	for (uint32_t s = 0; s < c->jobs.n; s++) {
		const struct wz_job *j = &c->jobs.job[s];
		struct wz_set one;
		uint32_t n;
		const struct wz_set *set = wz_job_sets(c, j, &one, &n);
		for (uint32_t i = 0; j->used && i < n; i++) {
			uint64_t h = wz_mix64(b->asked[set[i].between].labels);
			expected -= set[i].max * h;
			for (uint32_t t = 0; t < set[i].slots; t++)
				if (c->jobs.task[j->first_task + set[i].first + t].state == WZ_TASK_RUNNING)
					running -= h;
		}
	}
	return running == 0 && expected == 0;
}
