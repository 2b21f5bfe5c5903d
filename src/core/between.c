/* SPDX-License-Identifier: Apache-2.0 */
/* Tallies of tasks by topology domain: making, keeping and checking them. What is asked of them is in ask.c. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#include <string.h>

/* ---- life ---- */

static int intern_facts(struct wz_core *c)
{
	struct wz_between *b = &c->between;
	int r = wz_strtab_add(&c->model.names, WZ_STR("node"), &b->key_node);

	if (r == 0)
		r = wz_strtab_add(&c->model.names, WZ_STR("rack"), &b->key_rack);
	if (r == 0)
		r = wz_strtab_add(&c->model.names, WZ_STR("site"), &b->key_site);
	return r;
}

int wz_between_init(struct wz_core *c)
{
	struct wz_between *b = &c->between;

	wz_map_init(&b->by_text, &c->mem);
	wz_map_init(&b->by_labels, &c->mem);
	wz_map_init(&b->by_asked, &c->mem);
	if (wz_grow(&c->mem, &b->constraint, &b->constraint_cap, 1, sizeof(*b->constraint)) < 0 ||
	        wz_grow(&c->mem, &b->text, &b->text_cap, 1, sizeof(*b->text)) < 0 ||
	        wz_grow(&c->mem, &b->text_hash, &b->text_hash_cap, 1, sizeof(*b->text_hash)) < 0 ||
	        wz_grow(&c->mem, &b->first_tally, &b->first_tally_cap, 1, sizeof(*b->first_tally)) < 0 ||
	        wz_grow(&c->mem, &b->labelset, &b->labelset_cap, 1, sizeof(*b->labelset)) < 0 ||
	        wz_grow(&c->mem, &b->asked, &b->asked_cap, 1, sizeof(*b->asked)) < 0)
		return -ENOMEM;
	if (intern_facts(c) < 0)
		return -ENOMEM;
	b->text[0] = WZ_NONE;
	b->constraint[0].mem = &c->mem;
	b->n_constraints = b->n_labelsets = b->n_asked = 1;
	return wz_topo_register(c, b->key_rack, &(uint32_t){0}); /* WZ_TOPO_RACK */
}

static void release_topo(struct wz_core *c, struct wz_topo *t)
{
	wz_grow_free(&c->mem, &t->domain, &t->domain_cap, sizeof(*t->domain));
	wz_grow_free(&c->mem, &t->value, &t->value_cap, sizeof(*t->value));
	wz_grow_free(&c->mem, &t->group_node, &t->group_node_cap, sizeof(*t->group_node));
	wz_grow_free(&c->mem, &t->group_start, &t->group_start_cap, sizeof(*t->group_start));
	wz_grow_free(&c->mem, &t->group_domain, &t->group_domain_cap, sizeof(*t->group_domain));
	wz_map_release(&t->by_value);
}

static void release_tally(struct wz_core *c, struct wz_tally *t)
{
	wz_grow_free(&c->mem, &t->count, &t->count_cap, sizeof(*t->count));
	wz_grow_free(&c->mem, &t->holders, &t->holders_cap, sizeof(*t->holders));
	wz_grow_free(&c->mem, &t->ok_nodes, &t->ok_nodes_cap, sizeof(*t->ok_nodes));
	wz_grow_free(&c->mem, &t->ok, &t->ok_cap, sizeof(*t->ok));
}

void wz_between_release(struct wz_core *c)
{
	struct wz_between *b = &c->between;

	for (uint32_t i = 0; i < b->n_topos; i++)
		release_topo(c, &b->topo[i]);
	for (uint32_t i = 0; i < b->n_tallies; i++)
		release_tally(c, &b->tally[i]);
	for (uint32_t i = 1; i < b->n_constraints; i++)
		wz_constraint_release(&b->constraint[i]);
	for (uint32_t i = 0; i < b->n_labelsets; i++)
		wz_grow_free(&c->mem, &b->labelset[i].tally, &b->labelset[i].tally_cap, sizeof(uint32_t));
	for (uint32_t i = 0; i < b->n_budgets; i++)
		if (b->budget[i].name != WZ_NONE)
			wz_constraint_release(&b->budget[i].k);
	wz_map_release(&b->by_text);
	wz_map_release(&b->by_labels);
	wz_map_release(&b->by_asked);
	wz_grow_free(&c->mem, &b->constraint, &b->constraint_cap, sizeof(*b->constraint));
	wz_grow_free(&c->mem, &b->text, &b->text_cap, sizeof(*b->text));
	wz_grow_free(&c->mem, &b->text_hash, &b->text_hash_cap, sizeof(*b->text_hash));
	wz_grow_free(&c->mem, &b->first_tally, &b->first_tally_cap, sizeof(*b->first_tally));
	wz_grow_free(&c->mem, &b->topo, &b->topo_cap, sizeof(*b->topo));
	wz_grow_free(&c->mem, &b->tally, &b->tally_cap, sizeof(*b->tally));
	wz_grow_free(&c->mem, &b->labelset, &b->labelset_cap, sizeof(*b->labelset));
	wz_grow_free(&c->mem, &b->label, &b->label_cap, sizeof(*b->label));
	wz_grow_free(&c->mem, &b->asked, &b->asked_cap, sizeof(*b->asked));
	wz_grow_free(&c->mem, &b->budget, &b->budget_cap, sizeof(*b->budget));
}

/* ---- topology keys ---- */

/* The value of a key of a node: its facts first, then its labels. */
static uint32_t node_value(const struct wz_between *b, const struct wz_model_state *m, uint32_t node, uint32_t key)
{
	const struct wz_node *n = &m->node[node];

	if (!n->name)
		return WZ_NONE;
	if (key == b->key_node)
		return n->name - 1;
	if (key == b->key_rack && n->rack != WZ_ID_NONE)
		return n->rack;
	if (key == b->key_site && n->site != WZ_ID_NONE)
		return n->site;
	for (uint32_t i = n->first_label; i < n->first_label + 2 * n->n_labels; i += 2)
		if (m->label[i] == key)
			return m->label[i + 1];
	return WZ_NONE;
}

uint32_t wz_node_label(const void *labels, uint32_t key)
{
	const struct wz_node_labels *l = labels;

	return node_value(&l->c->between, &l->c->model, l->node, key);
}

/* The value that a node will have once the event is applied. */
static bool coming_value(const struct wz_core *c, const struct wz_ev_node *e, uint32_t key, struct wz_str *ret)
{
	const struct wz_between *b = &c->between;
	struct wz_str name = wz_strtab_get(&c->model.names, key);

	*ret = key == b->key_node   ? e->name
	       : key == b->key_rack ? e->rack
	       : key == b->key_site ? e->site
	                            : WZ_STR("");
	if (ret->len)
		return true;
	for (uint32_t i = 0; key != b->key_node && i < e->n_labels; i++)
		if (wz_str_eq(e->label[i].key, name)) {
			*ret = e->label[i].value;
			return true;
		}
	return false;
}

/* The domain of a value, a new one with room in every tally of the topology. */
static int domain_of(struct wz_core *c, uint32_t topo, uint32_t value, uint32_t *ret)
{
	struct wz_between *b = &c->between;
	struct wz_topo *t = &b->topo[topo];
	uint32_t d = wz_map_get(&t->by_value, value);
	int r = 0;

	if (d != WZ_NONE) {
		*ret = d;
		return 0;
	}
	d = t->n_domains;
	for (uint32_t i = 0; r == 0 && i < b->n_tallies; i++) {
		struct wz_tally *y = &b->tally[i];
		if (y->topo != topo)
			continue;
		r = wz_grow(&c->mem, &y->count, &y->count_cap, d + 1, sizeof(*y->count));
		if (r == 0)
			r = wz_grow(&c->mem, &y->holders, &y->holders_cap, d + 1, sizeof(*y->holders));
		if (r == 0)
			r = wz_grow(&c->mem, &y->ok_nodes, &y->ok_nodes_cap, d + 1, sizeof(*y->ok_nodes));
	}
	if (r == 0)
		r = wz_grow(&c->mem, &t->value, &t->value_cap, d + 1, sizeof(*t->value));
	if (r == 0)
		r = wz_map_put(&t->by_value, value, d);
	if (r < 0)
		return r;
	t->value[d] = value;
	t->n_domains++;
	t->grouped = false;
	*ret = d;
	return 0;
}

int wz_topo_register(struct wz_core *c, uint32_t key, uint32_t *ret)
{
	struct wz_between *b = &c->between;
	uint32_t id = b->n_topos;
	struct wz_topo *t;
	int r;

	for (uint32_t i = 0; i < b->n_topos; i++)
		if (b->topo[i].key == key) {
			*ret = i;
			return 0;
		}
	r = wz_grow(&c->mem, &b->topo, &b->topo_cap, id + 1, sizeof(*b->topo));
	if (r < 0)
		return r;
	t = &b->topo[id];
	*t = (struct wz_topo){.key = key};
	wz_map_init(&t->by_value, &c->mem);
	r = wz_grow(&c->mem, &t->domain, &t->domain_cap, c->model.node_cap + 1, sizeof(*t->domain));
	for (uint32_t i = 0; r == 0 && i < c->model.n_nodes; i++) {
		uint32_t value = node_value(b, &c->model, i, key), d = 0;
		if (value == WZ_NONE)
			continue;
		r = domain_of(c, id, value, &d);
		t->domain[i] = d + 1;
	}
	if (r < 0) {
		release_topo(c, t);
		return r;
	}
	b->n_topos++;
	*ret = id;
	return 0;
}

/* ---- tallies ---- */

/* What sits on the node counts for a spread when the node could be meant: it has the keys of all spread terms that are as
 * required as this one, and passes the required node terms. Others count everywhere. */
static bool node_counts(const struct wz_core *c, const struct wz_tally *y, uint32_t node)
{
	const struct wz_constraint *k = &c->between.constraint[y->constraint];
	const struct wz_term *t = &k->term[y->term];

	if (!c->model.node[node].name || !(c->model.node[node].flags & WZ_NODE_PRESENT))
		return false;
	if (t->kind != WZ_TERM_SPREAD)
		return true;
	for (uint32_t i = 0; i < k->n_term; i++)
		if (k->term[i].kind == WZ_TERM_SPREAD && (k->term[i].weight == 0) == (t->weight == 0) &&
		        node_value(&c->between, &c->model, node, k->term[i].topology) == WZ_NONE)
			return false;
	return wz_node_selected(c, k, node);
}

static void tally_node(struct wz_core *c, struct wz_tally *y, uint32_t node, bool in)
{
	uint32_t d = wz_topo_domain(&c->between.topo[y->topo], node);

	if (in)
		y->ok[node] = node_counts(c, y, node);
	if (d && y->ok[node]) {
		if (in)
			y->n_eligible += y->ok_nodes[d - 1]++ == 0;
		else
			y->n_eligible -= --y->ok_nodes[d - 1] == 0;
	}
	if (!in)
		y->ok[node] = 0;
}

/* One task, counted by one tally: those that it selects, and those that hold its term. */
static void tally_task(struct wz_core *c, struct wz_tally *y, uint32_t node, int sign)
{
	uint32_t d = wz_topo_domain(&c->between.topo[y->topo], node);

	if (!d || !y->ok[node])
		return;
	y->count[d - 1] += (uint32_t)sign;
	y->total += (uint64_t)(int64_t)sign;
}

static bool binds_others(const struct wz_term *t)
{
	return t->kind == WZ_TERM_APART && t->weight == 0;
}

void wz_between_count(struct wz_core *c, uint32_t task, int sign)
{
	struct wz_between *b = &c->between;
	const struct wz_asked *a = &b->asked[wz_task_between(c, task)];
	const struct wz_labelset *set = &b->labelset[a->labels];
	const struct wz_constraint *k = &b->constraint[a->constraint];
	uint32_t node = c->jobs.task[task].node;

	for (uint32_t i = 0; i < set->n_tally; i++)
		tally_task(c, &b->tally[set->tally[i]], node, sign);
	for (uint32_t i = 0; a->constraint && i < k->n_term; i++) {
		struct wz_tally *y = &b->tally[b->first_tally[a->constraint] + i];
		uint32_t d = wz_topo_domain(&b->topo[y->topo], node);
		if (binds_others(&k->term[i]) && d)
			y->holders[d - 1] += (uint32_t)sign;
	}
}

static uint32_t set_label(const void *labels, uint32_t key)
{
	const struct wz_set_labels *l = labels;

	for (uint32_t i = l->set->first; i < l->set->first + 2 * l->set->n; i += 2)
		if (l->b->label[i] == key)
			return l->b->label[i + 1];
	return WZ_NONE;
}

/* Does the term select these labels? A task counts for required near terms when all of those of the constraint select it. */
bool wz_term_selects(
        const struct wz_core *c, const struct wz_constraint *k, uint32_t term, const struct wz_labelset *set)
{
	struct wz_set_labels l = {&c->between, set};
	const struct wz_term *t = &k->term[term];

	if (t->kind == WZ_TERM_TOGETHER)
		return false;
	if (!wz_selector_matches(k, t->sel, &c->model.names, set_label, &l))
		return false;
	for (uint32_t i = 0; t->kind == WZ_TERM_NEAR && t->weight == 0 && i < k->n_term; i++)
		if (k->term[i].kind == WZ_TERM_NEAR && k->term[i].weight == 0 &&
		        !wz_selector_matches(k, k->term[i].sel, &c->model.names, set_label, &l))
			return false;
	return true;
}

bool wz_labels_selected(const struct wz_core *c, const struct wz_constraint *k, const struct wz_labelset *set)
{
	struct wz_set_labels l = {&c->between, set};

	return wz_selector_matches(k, k->node[0].sel, &c->model.names, set_label, &l);
}

static int link_tally(struct wz_core *c, struct wz_labelset *set, uint32_t tally)
{
	const struct wz_tally *y = &c->between.tally[tally];
	const struct wz_constraint *k = &c->between.constraint[y->constraint];
	int r;

	if (!wz_term_selects(c, k, y->term, set))
		return 0;
	r = wz_grow(&c->mem, &set->tally, &set->tally_cap, set->n_tally + 1, sizeof(*set->tally));
	if (r < 0)
		return r;
	set->tally[set->n_tally++] = tally;
	set->n_apart += binds_others(&k->term[y->term]);
	return 0;
}

static void unlink_tallies(struct wz_between *b, uint32_t from)
{
	for (uint32_t s = 0; s < b->n_labelsets; s++) {
		struct wz_labelset *set = &b->labelset[s];
		while (set->n_tally && set->tally[set->n_tally - 1] >= from) {
			const struct wz_tally *y = &b->tally[set->tally[--set->n_tally]];
			set->n_apart -= binds_others(&b->constraint[y->constraint].term[y->term]);
		}
	}
}

/* A tally of a new term with everything that is placed; the arrays are whole or the caller takes it back. */
static int add_tally(struct wz_core *c, uint32_t constraint, uint32_t term)
{
	struct wz_between *b = &c->between;
	uint32_t id = b->n_tallies, topo = 0, n;
	struct wz_tally *y;
	int r = wz_topo_register(c, b->constraint[constraint].term[term].topology, &topo);

	if (r == 0)
		r = wz_grow(&c->mem, &b->tally, &b->tally_cap, id + 1, sizeof(*b->tally));
	if (r < 0)
		return r;
	y = &b->tally[id];
	*y = (struct wz_tally){.constraint = constraint, .term = term, .topo = topo};
	b->n_tallies++;
	n = b->topo[topo].n_domains + 1;
	r = wz_grow(&c->mem, &y->count, &y->count_cap, n, sizeof(*y->count));
	if (r == 0)
		r = wz_grow(&c->mem, &y->holders, &y->holders_cap, n, sizeof(*y->holders));
	if (r == 0)
		r = wz_grow(&c->mem, &y->ok_nodes, &y->ok_nodes_cap, n, sizeof(*y->ok_nodes));
	if (r == 0)
		r = wz_grow(&c->mem, &y->ok, &y->ok_cap, c->model.node_cap + 1, sizeof(*y->ok));
	for (uint32_t s = 0; r == 0 && s < b->n_labelsets; s++)
		r = link_tally(c, &b->labelset[s], id);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		tally_node(c, y, i, true);
		for (uint32_t t = c->model.node[i].name ? c->model.node[i].head_task : WZ_ID_NONE; t != WZ_ID_NONE;
		        t = c->jobs.task[t].next) {
			const struct wz_labelset *set = &b->labelset[b->asked[wz_task_between(c, t)].labels];
			if (set->n_tally && set->tally[set->n_tally - 1] == id)
				tally_task(c, y, i, 1);
		}
	}
	return 0;
}

/* ---- interning ---- */

static int no_room(struct wz_err *err, int r)
{
	return wz_err_set(
	        err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany", WZ_STR("no room for another constraint"));
}

int wz_constraint_register(struct wz_core *c, struct wz_str text, uint32_t *ret, struct wz_err *err)
{
	struct wz_between *b = &c->between;
	struct wz_constraint k;
	uint32_t id, name, tallies = b->n_tallies;
	int r;

	text = wz_str_trim(text);
	if (text.len == 0) {
		*ret = 0;
		return 0;
	}
	name = wz_strtab_find(&c->model.names, text);
	id = name == WZ_NONE ? WZ_NONE : wz_map_get(&b->by_text, name);
	if (id != WZ_NONE) {
		*ret = id;
		return 0;
	}
	if (b->n_constraints == WZ_CONSTRAINTS_MAX)
		return no_room(err, -E2BIG);
	r = wz_constraint_parse(text, &c->model.names, &c->mem, &k, err);
	if (r < 0)
		return r;
	id = b->n_constraints;
	r = wz_strtab_add(&c->model.names, text, &name);
	if (r == 0)
		r = wz_grow(&c->mem, &b->constraint, &b->constraint_cap, id + 1, sizeof(*b->constraint));
	if (r == 0)
		r = wz_grow(&c->mem, &b->text, &b->text_cap, id + 1, sizeof(*b->text));
	if (r == 0)
		r = wz_grow(&c->mem, &b->text_hash, &b->text_hash_cap, id + 1, sizeof(*b->text_hash));
	if (r == 0)
		r = wz_grow(&c->mem, &b->first_tally, &b->first_tally_cap, id + 1, sizeof(*b->first_tally));
	if (r < 0) {
		wz_constraint_release(&k);
		return no_room(err, r);
	}
	b->constraint[id] = k;
	b->text[id] = name;
	b->text_hash[id] = wz_hash_str(0xc0457ULL, text);
	b->first_tally[id] = tallies;
	for (uint32_t i = 0; r == 0 && i < k.n_term; i++)
		r = add_tally(c, id, i);
	if (r == 0)
		r = wz_map_put(&b->by_text, name, id);
	if (r < 0) {
		unlink_tallies(b, tallies);
		while (b->n_tallies > tallies)
			release_tally(c, &b->tally[--b->n_tallies]);
		wz_constraint_release(&b->constraint[id]);
		return no_room(err, r);
	}
	b->n_constraints++;
	*ret = id;
	return 0;
}

static int check_labels(uint32_t n, const struct wz_label *label, struct wz_err *err)
{
	if (n > WZ_JOB_LABELS_MAX || (n && !label))
		return wz_err_set(err, -E2BIG, "TooManyLabels", WZ_STR("a task has at most 256 labels"));
	for (uint32_t i = 0; i < n; i++) {
		if (!label[i].key.len || !wz_constraint_word(label[i].key) || !wz_constraint_word(label[i].value))
			return wz_err_set(err, -EINVAL, "BadLabel",
			        WZ_STR("keys and values of labels are letters, digits and -_./, at most 512 "
			               "bytes: "),
			        label[i].key);
		for (uint32_t k = 0; k < i; k++)
			if (wz_str_eq(label[i].key, label[k].key))
				return wz_err_set(
				        err, -EINVAL, "BadLabel", WZ_STR("a label is there twice: "), label[i].key);
	}
	return 0;
}

/* The order in which labels are given does not matter. */
static uint64_t labels_hash(uint32_t n, const struct wz_label *label)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++)
		h += wz_hash_str(wz_hash_str(0x1abe1ULL, label[i].key), label[i].value);
	return wz_mix64(h);
}

static bool same_labels(
        const struct wz_core *c, const struct wz_labelset *set, uint32_t n, const struct wz_label *label)
{
	struct wz_set_labels l = {&c->between, set};

	if (set->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t key = wz_strtab_find(&c->model.names, label[i].key);
		uint32_t value = key == WZ_NONE ? WZ_NONE : set_label(&l, key);
		if (value == WZ_NONE || !wz_str_eq(wz_strtab_get(&c->model.names, value), label[i].value))
			return false;
	}
	return true;
}

int wz_labels_register(
        struct wz_core *c, uint32_t n, const struct wz_label *label, uint32_t *ret, struct wz_err *err)
{
	struct wz_between *b = &c->between;
	uint32_t id = b->n_labelsets, at = b->n_label, found;
	struct wz_labelset set = {.first = at, .n = n};
	int r = check_labels(n, label, err);

	if (r < 0)
		return r;
	if (n == 0) {
		*ret = 0;
		return 0;
	}
	/* Sets whose hashes collide by chance are put side by side. */
	for (set.hash = labels_hash(n, label); (found = wz_map_get(&b->by_labels, set.hash)) != WZ_NONE; set.hash++)
		if (same_labels(c, &b->labelset[found], n, label)) {
			*ret = found;
			return 0;
		}
	if (id == WZ_LABELSETS_MAX)
		return no_room(err, -E2BIG);
	r = wz_grow(&c->mem, &b->label, &b->label_cap, at + 2 * n, sizeof(*b->label));
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = wz_strtab_add(&c->model.names, label[i].key, &b->label[at + 2 * i]);
		if (r == 0)
			r = wz_strtab_add(&c->model.names, label[i].value, &b->label[at + 2 * i + 1]);
	}
	if (r == 0)
		r = wz_grow(&c->mem, &b->labelset, &b->labelset_cap, id + 1, sizeof(*b->labelset));
	for (uint32_t i = 0; r == 0 && i < b->n_tallies; i++)
		r = link_tally(c, &set, i);
	if (r == 0)
		r = wz_map_put(&b->by_labels, set.hash, id);
	if (r < 0) {
		wz_grow_free(&c->mem, &set.tally, &set.tally_cap, sizeof(*set.tally));
		return no_room(err, r);
	}
	b->labelset[id] = set;
	b->n_labelsets++;
	b->n_label += 2 * n;
	*ret = id;
	return 0;
}

int wz_asked_register(struct wz_core *c, uint32_t constraint, uint32_t labels, uint32_t *ret)
{
	struct wz_between *b = &c->between;
	uint64_t key = (uint64_t)constraint << 32 | labels;
	uint32_t id = key ? wz_map_get(&b->by_asked, key) : 0;
	int r;

	if (id != WZ_NONE) {
		*ret = id;
		return 0;
	}
	id = b->n_asked;
	r = wz_grow(&c->mem, &b->asked, &b->asked_cap, id + 1, sizeof(*b->asked));
	if (r == 0)
		r = wz_map_put(&b->by_asked, key, id);
	if (r < 0)
		return r;
	b->asked[id] = (struct wz_asked){
	        constraint, labels, wz_hash_u64(b->text_hash[constraint], b->labelset[labels].hash)};
	b->n_asked++;
	*ret = id;
	return 0;
}

/* ---- nodes ---- */

int wz_between_reserve_node(struct wz_core *c, const struct wz_ev_node *e)
{
	struct wz_between *b = &c->between;
	uint32_t node = e->node.v, d;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < b->n_topos; i++) {
		struct wz_str value;
		uint32_t id;
		r = wz_grow(&c->mem, &b->topo[i].domain, &b->topo[i].domain_cap, node + 1, sizeof(uint32_t));
		if (r < 0 || !coming_value(c, e, b->topo[i].key, &value))
			continue;
		r = wz_strtab_add(&c->model.names, value, &id);
		if (r == 0)
			r = domain_of(c, i, id, &d);
	}
	for (uint32_t i = 0; r == 0 && i < b->n_tallies; i++)
		r = wz_grow(&c->mem, &b->tally[i].ok, &b->tally[i].ok_cap, node + 1, sizeof(uint8_t));
	return r;
}

static void count_tasks(struct wz_core *c, uint32_t node, int sign)
{
	if (!c->model.node[node].name)
		return;
	for (uint32_t t = c->model.node[node].head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next)
		wz_between_count(c, t, sign);
}

void wz_between_node_out(struct wz_core *c, uint32_t node)
{
	struct wz_between *b = &c->between;

	if (b->n_tallies == 0)
		return;
	count_tasks(c, node, -1);
	for (uint32_t i = 0; i < b->n_tallies; i++)
		tally_node(c, &b->tally[i], node, false);
}

void wz_between_node_in(struct wz_core *c, uint32_t node)
{
	struct wz_between *b = &c->between;

	for (uint32_t i = 0; i < b->n_topos; i++) {
		uint32_t value = node_value(b, &c->model, node, b->topo[i].key);
		uint32_t d = value == WZ_NONE ? WZ_NONE : wz_map_get(&b->topo[i].by_value, value);
		wz_check(value == WZ_NONE || d != WZ_NONE); /* made by reserve_node */
		b->topo[i].domain[node] = d + 1;
		b->topo[i].grouped = false;
	}
	if (b->n_tallies == 0)
		return;
	for (uint32_t i = 0; i < b->n_tallies; i++)
		tally_node(c, &b->tally[i], node, true);
	count_tasks(c, node, 1);
}

/* ---- groups of nodes, for gangs that stay together ---- */

static int reserve_groups(struct wz_core *c, struct wz_topo *t)
{
	uint32_t n = c->model.n_ranked;
	int r = wz_grow(&c->mem, &t->group_node, &t->group_node_cap, n + 1, sizeof(*t->group_node));

	if (r == 0)
		r = wz_grow(
		        &c->mem, &t->group_start, &t->group_start_cap, t->n_domains + 2, sizeof(*t->group_start));
	if (r == 0)
		r = wz_grow(&c->mem, &t->group_domain, &t->group_domain_cap, 3 * t->n_domains + 3,
		        sizeof(*t->group_domain));
	return r;
}

/* Domains go by a key made of the seed and their name, as nodes do: which nodes are ranked now does not matter. */
static bool domain_before(
        const struct wz_core *c, const struct wz_topo *t, const uint32_t *key, uint32_t x, uint32_t y)
{
	if (key[x] != key[y])
		return key[x] < key[y];
	return wz_str_cmp(wz_strtab_get(&c->model.names, t->value[x]),
	               wz_strtab_get(&c->model.names, t->value[y])) < 0;
}

static void sift_domain(
        const struct wz_core *c, const struct wz_topo *t, const uint32_t *key, uint32_t *a, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1, x = a[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && domain_before(c, t, key, a[kid], a[kid + 1]))
			kid++;
		if (!domain_before(c, t, key, x, a[kid]))
			return;
		a[at] = a[kid];
		a[kid] = x;
		at = kid;
	}
}

static void sort_domains(
        const struct wz_core *c, const struct wz_topo *t, const uint32_t *key, uint32_t *a, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift_domain(c, t, key, a, n, i);
	for (uint32_t end = n; end > 1; end--) {
		uint32_t x = a[0];
		a[0] = a[end - 1];
		a[end - 1] = x;
		sift_domain(c, t, key, a, end - 1, 0);
	}
}

int wz_topo_groups(struct wz_core *c, uint32_t topo, const struct wz_topo **ret)
{
	struct wz_topo *t = &c->between.topo[topo];
	const struct wz_model_state *m = &c->model;
	uint32_t n_domains = t->n_domains, *order, *count, *key, n = 0;
	int r;

	*ret = t;
	if (t->grouped && t->version == m->order_version)
		return 0;
	r = reserve_groups(c, t);
	if (r < 0)
		return r;
	order = t->group_domain;
	count = &t->group_domain[n_domains + 1];
	memset(count, 0, (n_domains + 1) * sizeof(*count));
	for (uint32_t i = 0; i < m->n_ranked; i++)
		count[wz_topo_domain(t, m->by_rank[i])]++;
	key = &count[n_domains + 1];
	for (uint32_t d = 0; d < n_domains; d++) {
		key[d] = (uint32_t)(wz_hash_str(wz_mix64(m->order_seed), wz_strtab_get(&m->names, t->value[d])) >>
		                    32);
		if (count[d + 1])
			order[n++] = d;
	}
	sort_domains(c, t, key, order, n);
	t->n_groups = n;
	t->group_start[0] = 0;
	for (uint32_t g = 0; g < n; g++) {
		uint32_t size = count[order[g] + 1];
		t->group_start[g + 1] = t->group_start[g] + size;
		count[order[g] + 1] = t->group_start[g];
	}
	for (uint32_t i = 0; i < m->n_ranked; i++) {
		uint32_t d = wz_topo_domain(t, m->by_rank[i]);
		if (d)
			t->group_node[count[d]++] = m->by_rank[i];
	}
	t->grouped = true;
	t->version = m->order_version;
	return 0;
}
