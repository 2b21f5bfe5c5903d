/* SPDX-License-Identifier: Apache-2.0 */
/* Recombination: which tasks to move elsewhere so that one that waits fits (ADR 0013). A search within a ledger
 * transaction, for the files of this room and for questions; what comes of a plan is in repack_step.c. */
#ifndef WZ_CORE_REPACK_H
#define WZ_CORE_REPACK_H

#include "core/core.h"

#define WZ_REPACK_MOVES_MAX 16u

struct wz_move {
	uint32_t task;             /* in the pool */
	struct wz_place from, to;
	int64_t cost;              /* device-milli x ms */
};

/* What a search may do, and what it found. */
struct wz_repack {
	uint32_t moves_max;        /* at most this many moves in all, up to WZ_REPACK_MOVES_MAX */
	uint32_t depth_max;        /* a moved task may need others moved for its place, so deep */
	int64_t cost_max;          /* all moves together cost less than this */
	int64_t gain_min;          /* of an exchange, a move: Q16 of devices, see tidy.c */
	int64_t horizon_ms;        /* how long room that is gained counts */
	uint64_t work_max, work;   /* nodes and tasks looked at */
	uint32_t n;
	struct wz_move move[WZ_REPACK_MOVES_MAX];
	int64_t cost;
	struct wz_place place;     /* of the one that waits */
};

/* Begins a search: nothing moved yet. -ENOMEM */
int wz_repack_begin(struct wz_core *c, struct wz_repack *x);
/* Places `task` (of a job that waits; nothing of it is placed) in the open transaction, moving others where it must. True: it
 * is placed at x->place, and every task of x->move, to which its moves are appended, at its new place. False: the transaction is as it was. *ret_err is
 * -ENOMEM when memory ran out. At most work_max and a little; the order in which it looks is fixed by the state. */
bool wz_repack_open(struct wz_core *c, uint32_t task, uint32_t shape, struct wz_repack *x, struct wz_rng *rng, int *ret_err);
/* Takes a task off its node and finds it another place, as above. */
bool wz_repack_vacate(struct wz_core *c, uint32_t task, struct wz_repack *x, struct wz_rng *rng, int *ret_err);
/* One exchange between two devices, the best there is; appended to x->move. False: none gains enough. */
bool wz_repack_tidy(struct wz_core *c, struct wz_repack *x, int *ret_err);
void wz_repack_release(struct wz_core *c); /* scratch */
/* May the task be moved at all, and what would be lost: work since it was last safe, and the time to stop and start again. */
bool wz_repack_movable(const struct wz_core *c, uint32_t task);
uint64_t wz_repack_lost_us(const struct wz_core *c, uint32_t task);
bool wz_repack_allowed(const struct wz_core *c, const struct wz_repack *x);
int64_t wz_repack_weight(int64_t gpu_milli, int64_t cpu_milli); /* milli of devices that count; at least 1 */
int64_t wz_repack_cost(const struct wz_core *c, uint32_t task);

#endif
