/* SPDX-License-Identifier: Apache-2.0 */
/* Making room: which running work is moved aside for a waiting job, and the scratch of one decide that finds it. For the
 * files of this room, through core_int.h.
 *
 * A *unit* is what can be given up: a whole job, or one task of an elastic job that has more than its minimum. Its cost
 * is an integer: what its stop loses, in device-milli x milliseconds (wz_evict_cost). */
#ifndef WZ_CORE_EVICT_INT_H
#define WZ_CORE_EVICT_INT_H

#include "core/effect.h"

struct wz_core;
struct wz_rng;

struct wz_unit {
	uint32_t slot;
	uint32_t task;         /* WZ_ID_NONE: all of the job */
	uint64_t cost;
};

/* A running job that may be moved aside for somebody. */
struct wz_candidate {
	uint32_t slot;
	uint32_t spare;        /* tasks that it can give up and go on */
	uint64_t cost;         /* of all of it */
	uint8_t used;          /* something of it goes in this decide already */
	uint8_t may;           /* for the beneficiary at hand: 0 not asked yet, 1 yes, 2 no */
};

/* A node, by what one more task of the beneficiary would cost there: at least (not exact yet), or exactly. */
struct wz_evict_node { uint64_t cost; uint32_t node, stamp; bool exact; };

struct wz_evict {
	uint32_t *wait;        /* heads of classes that found no room, in the order in which they were looked at */
	uint32_t n_wait, wait_cap;
	struct wz_candidate *cand;
	uint32_t n_cand, cand_cap;
	uint32_t *cand_of;     /* by job slot: 1 + index in cand; 0: none */
	uint32_t cand_of_cap;
	uint32_t *leaving;     /* tasks that are being stopped */
	uint32_t n_leaving, leaving_cap;
	struct wz_evict_node *heap;
	uint32_t n_heap, heap_cap;
	uint32_t *stamp;       /* by node: entries of the heap with another are old */
	uint32_t stamp_cap;
	struct wz_unit *chosen; /* for the beneficiary at hand */
	uint32_t n_chosen, chosen_cap;
	uint32_t *going;       /* tasks of what is chosen */
	uint32_t going_cap;
	struct wz_plan starts; /* where it would start, and where those who move would */
	uint64_t work, work_max; /* nodes and sets looked at in this decide */
	uint64_t evictions;    /* proposed by this decide */
	int32_t least;         /* priority of the candidates */
};

/* May the running job `victim` be moved aside for the waiting job `beneficiary`? A strict order, so that no cycle of
 * evictions exists (I5): in one queue, or without queues, priority; between queues, what the victim's borrows and the
 * beneficiary's is guaranteed. Both are slots. */
bool wz_may_evict(const struct wz_core *c, uint32_t victim, uint32_t beneficiary);

/* What stopping the task now loses: work since its last checkpoint or its start, the time of a checkpoint; with
 * `restart` that of a restart, for each earlier preemption the price of unfairness, and with `waits` that of waiting. */
uint64_t wz_evict_cost(const struct wz_core *c, uint32_t task, bool restart, bool waits);

void wz_evict_begin(struct wz_core *c);           /* of a decide */
int wz_evict_note(struct wz_core *c, uint32_t slot); /* the job found no room; -ENOMEM */
/* PREEMPT and HOLD effects for those noted, after all that fits was placed in the open transaction. -ENOMEM */
int wz_evict_propose(struct wz_core *c, struct wz_plan *plan);
void wz_evict_release(struct wz_core *c);
uint64_t wz_evictions_left(const struct wz_core *c); /* of this hour's */
void wz_evictions_count(struct wz_core *c);       /* one was applied */

/* The cheapest set of units that makes room for the minimum of the job, in the open transaction, into ev->chosen. True
 * when found; the transaction is as it was. *ret_err is -ENOMEM when memory ran out. (evict_search.c) */
bool wz_evict_search(struct wz_core *c, uint32_t slot, struct wz_rng *rng, int *ret_err);
/* Gives up what the unit holds, in the open transaction. -ENOMEM: nothing is given. */
int wz_unit_give(struct wz_core *c, const struct wz_unit *u);
/* The running job of that slot, if it may go for the beneficiary at hand; or NULL. */
struct wz_candidate *wz_candidate_for(struct wz_core *c, uint32_t slot, uint32_t beneficiary);
/* May unit i be given up in addition to those of the mask? left: of a single task, how many its job can give up. */
bool wz_units_may(const struct wz_unit *unit, const uint32_t *left, uint64_t mask, uint32_t i);
/* Room for all of the minimum on some nodes, one task after the other, for less than that. Appends to what is chosen, and
 * changes the open transaction; the cost, or UINT64_MAX. (evict_node.c) */
struct wz_node_list { const uint32_t *node; uint32_t n; };
uint64_t wz_evict_fill(struct wz_core *c, uint32_t slot, struct wz_node_list nodes, uint64_t less_than,
                       struct wz_rng *rng, int *ret_err);
uint32_t wz_unit_tasks(const struct wz_core *c, const struct wz_unit *u, uint32_t *ret_first); /* a run of the pool */

/* The cheapest cover: which of n <= 64 things, by cost from low to high, to add so that it fits; fits must not become
 * false by adding. Exact within `tests_max` calls of fits, else the best that was found; UINT64_MAX: none does.
 * (cover.c) */
struct wz_cover {
	void *ctx;
	uint32_t n;
	const uint64_t *cost;
	bool (*may)(void *ctx, uint64_t mask, uint32_t i); /* may i be added to these? NULL: always */
	int (*add)(void *ctx, uint32_t i); /* -ENOMEM */
	void (*drop)(void *ctx, uint32_t i); /* the last that was added and is not dropped */
	bool (*fits)(void *ctx);
	uint64_t tests, tests_max;
};
uint64_t wz_cover_find(struct wz_cover *v, uint64_t less_than, uint64_t *ret_mask, int *ret_err);

#endif
