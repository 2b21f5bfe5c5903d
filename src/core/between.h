/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks ask of the labels of nodes and of each other, for the files of this room only.
 *
 * Constraints (texts) and sets of labels are interned, never freed. A pair of the two is what a waiting class asks between
 * tasks: its number is `between`, 0 for none. Of a constraint the part that concerns one node alone is in the shape
 * (wz_shape.local), so that the index caches it; the part between tasks is asked when a node is chosen.
 *
 * A tally belongs to one near, apart or spread term: by domain of its topology key, how many of the tasks that hold
 * something it selects. It is a function of the tasks that are placed; the ledger keeps it, so what is rolled back there is
 * rolled back here. A term that is required and apart also counts its holders, since it binds those who come later. */
#ifndef WZ_CORE_BETWEEN_H
#define WZ_CORE_BETWEEN_H

#include "core/constraint.h"
#include "core/explain.h"
#include "core/model.h"
#include "core/shape.h"

#define WZ_CONSTRAINTS_MAX (1u << 16)
#define WZ_LABELSETS_MAX (1u << 20)
#define WZ_JOB_LABELS_MAX 256u
#define WZ_BUDGETS_MAX 4096u
#define WZ_TOPO_RACK 0u /* always there: link=rack */

struct wz_core;

/* A topology key. Nodes with the same value of it are one domain. */
struct wz_topo {
	uint32_t key;
	uint32_t *domain; /* by node: 1 + domain, 0 none */
	uint32_t domain_cap;
	uint32_t n_domains; /* in order of appearance */
	uint32_t *value; /* by domain: string id */
	uint32_t value_cap;
	struct wz_map by_value;
	/* cache for gangs: the ranked nodes, domain by domain, domains in the stable order of their names */
	uint32_t *group_node, *group_start, *group_domain;
	uint32_t n_groups, group_node_cap, group_start_cap, group_domain_cap;
	uint32_t version; /* the order of the model and the domains that it was made of */
	bool grouped;
};

struct wz_tally {
	uint32_t constraint, term, topo;
	uint32_t *count, *holders, *ok_nodes; /* by domain */
	uint32_t count_cap, holders_cap, ok_nodes_cap;
	uint8_t *ok; /* by node: what sits there counts */
	uint32_t ok_cap;
	uint64_t total;
	uint32_t n_eligible; /* domains with an ok node */
};

struct wz_labelset {
	uint32_t first, n; /* pairs in wz_between.label */
	uint64_t hash;
	uint32_t *tally; /* those that select it */
	uint32_t n_tally, tally_cap, n_apart; /* n_apart: of them required and apart */
	uint64_t running, expected; /* tasks that run; tasks that its live jobs are to have */
};

struct wz_asked {
	uint32_t constraint, labels;
	uint64_t hash;
};

struct wz_budget {
	uint32_t name; /* WZ_NONE: free */
	uint32_t selector_text;
	struct wz_constraint k;
	uint32_t limit, expected;
	bool most, percent; /* limit is the most that may be unavailable; of a hundred */
};

struct wz_between {
	struct wz_constraint *constraint; /* by id; 0 is empty */
	uint32_t *text, *first_tally;
	uint64_t *text_hash;
	uint32_t n_constraints, constraint_cap, text_cap, first_tally_cap, text_hash_cap;
	struct wz_map by_text;
	struct wz_topo *topo;
	uint32_t n_topos, topo_cap;
	struct wz_tally *tally;
	uint32_t n_tallies, tally_cap;
	struct wz_labelset *labelset; /* by id; 0 is empty */
	uint32_t n_labelsets, labelset_cap;
	struct wz_map by_labels;
	uint32_t *label;
	uint32_t n_label, label_cap;
	struct wz_asked *asked; /* by id; 0 is nothing */
	uint32_t n_asked, asked_cap;
	struct wz_map by_asked;
	struct wz_budget *budget;
	uint32_t n_budgets, budget_cap;
	uint32_t key_node, key_rack, key_site; /* string ids of the facts */
};

int wz_between_init(struct wz_core *c); /* -ENOMEM */
void wz_between_release(struct wz_core *c);

/* Interning: what fails on the way leaves nothing that a decision or a digest sees. An empty text is 0. */
int wz_constraint_register(struct wz_core *c, struct wz_str text, uint32_t *ret, struct wz_err *err);
int wz_labels_register(
        struct wz_core *c, uint32_t n, const struct wz_label *label, uint32_t *ret, struct wz_err *err);
int wz_asked_register(struct wz_core *c, uint32_t constraint, uint32_t labels, uint32_t *ret);
int wz_topo_register(struct wz_core *c, uint32_t key, uint32_t *ret); /* -ENOMEM */

/* A node comes or its labels change: room first, then the node is taken out of all tallies, changed, and put back. */
int wz_between_reserve_node(struct wz_core *c, const struct wz_ev_node *e); /* -ENOMEM */
void wz_between_node_out(struct wz_core *c, uint32_t node);
void wz_between_node_in(struct wz_core *c, uint32_t node);
/* The task takes (1) or gives back (-1) its node. O(tallies that select it). */
void wz_between_count(struct wz_core *c, uint32_t task, int sign);

/* ---- asking ---- */

/* The part that concerns one node: labels, taints, and unless `idle` the ports that are taken. */
enum wz_reason wz_local_fits(const struct wz_core *c, const struct wz_shape *s, uint32_t node, bool idle);
int64_t wz_local_preference(const struct wz_core *c, const struct wz_shape *s, uint32_t node);

/* What does not change from node to node while one pair is asked. */
struct wz_between_look {
	const struct wz_core *c;
	const struct wz_constraint *k;
	const struct wz_labelset *set;
	const struct wz_tally *tally; /* of the first term of k */
	uint32_t least[WZ_CONSTRAINT_TERMS_MAX]; /* spread: of the eligible domains */
	uint32_t self; /* bit i: term i selects the task itself */
	bool prefers; /* one of its terms is not required */
	bool first; /* nothing matches any required near term, and the task itself would */
};
/* False: there is nothing to ask, every node will do. O(domains of spread terms). */
bool wz_between_begin(const struct wz_core *c, uint32_t between, struct wz_between_look *ret);
/* May a task go to the node? If so *ret_preference says how well. O(terms). */
enum wz_reason wz_between_at(const struct wz_between_look *l, uint32_t node, int64_t *ret_preference);

/* For wz_core_check: are the tallies, and what budgets count, those of what is placed? O(tallies x (nodes + tasks)). */
bool wz_between_checks(const struct wz_core *c);
bool wz_labels_check(const struct wz_core *c);

/* Nodes grouped by a topology key in *ret; -ENOMEM. O(nodes log nodes) after nodes changed, else O(1). */
int wz_topo_groups(struct wz_core *c, uint32_t topo, const struct wz_topo **ret);
static inline uint32_t wz_topo_domain(const struct wz_topo *t, uint32_t node) /* 1 + domain; 0 none */
{
	return node < t->domain_cap ? t->domain[node] : 0;
}

/* ---- disruption budgets (budget.c) ---- */
int wz_budget_set(struct wz_core *c, const struct wz_ev_budget *e, struct wz_err *err);
int wz_budget_remove(struct wz_core *c, struct wz_str name, struct wz_err *err);
uint64_t wz_budget_hash(const struct wz_core *c, const struct wz_budget *b);

#endif
