/* SPDX-License-Identifier: Apache-2.0 */
/* The life of jobs and tasks, room that is held for somebody, and the parameters of the core; for the files of this
 * room, through core_int.h. */
#ifndef WZ_CORE_LIFE_INT_H
#define WZ_CORE_LIFE_INT_H

#include "core/effect.h"

struct wz_core;
struct wz_job;

/* ---- parameters (param.c): numbers that RULES_SET changes; their table has names, ranges and usual values ---- */
enum wz_param {
	WZ_PARAM_LAUNCH_BACKOFF_US,     /* the pause after a failed launch; doubles with each */
	WZ_PARAM_LAUNCH_BACKOFF_MAX_US,
	WZ_PARAM_LAUNCH_FAILURES_MAX,   /* in a row; then the job ends. 0: no limit */
	WZ_PARAM_PREEMPT_MARGIN_US,     /* what a PREEMPT has beyond the grace of the contract */
	WZ_PARAM_FREEZE_TIMEOUT_US,     /* deadline of SUSPEND, RESUME */
	/* making room (evict.c) */
	WZ_PARAM_EVICT_JOBS,            /* waiting jobs that one decision makes room for; 0: none is made */
	WZ_PARAM_EVICT_PER_HOUR,        /* evictions, of all the cluster */
	WZ_PARAM_PREEMPT_MAX,           /* times that one job is moved aside; then it is a victim no more */
	WZ_PARAM_EVICT_WORK,            /* nodes and sets that one decision looks at */
	WZ_PARAM_EVICT_HOLD_US,         /* room is held for so long after those who leave must be gone */
	WZ_PARAM_EVICT_CHECKPOINT_US,   /* cost: what a checkpoint takes, */
	WZ_PARAM_EVICT_RESTART_US,      /* what a restart takes, */
	WZ_PARAM_EVICT_WAIT_US,         /* what waiting costs who does not fit elsewhere, */
	WZ_PARAM_EVICT_UNFAIR_US,       /* and each time that a job was moved aside before */
	WZ_PARAM_REPACK_PER_HOUR,       /* moves that repacking may make an hour; 0: only when asked */
	WZ_PARAM_REPACK_INTERVAL_US,    /* between two searches */
	WZ_PARAM_REPACK_HORIZON_US,     /* how long room that is gained counts */
	WZ_PARAM_REPACK_RESTART_US,     /* what stopping and starting a task costs */
	WZ_PARAM_REPACK_WORK,           /* nodes and tasks that a search looks at */
	WZ_PARAM_REPACK_DEPTH,          /* moves that make room for moves */
	WZ_PARAM_REPACK_GAIN,           /* of an exchange, least, millionths of a device a move; 0: no exchanges */
	WZ_PARAM_REPACK_VACATE,         /* 1: empty cordoned nodes and degraded devices */
	WZ_PARAM_COUNT_
};
struct wz_param_row { const char *name; int64_t usual, min, max; };
extern const struct wz_param_row wz_params[WZ_PARAM_COUNT_];
void wz_params_init(struct wz_core *c);
/* "name=value name=value". -EINVAL "BadRule", -ENOENT "UnknownRule", -ERANGE "OutOfRange"; all or nothing. */
int wz_params_set(struct wz_core *c, struct wz_str text, struct wz_err *err);
int wz_param_set(struct wz_core *c, struct wz_str name, int64_t value, struct wz_err *err); /* one of them */
uint64_t wz_param_hash(uint32_t param, int64_t value); /* part of the digest; 0: the usual value */

/* ---- holds (hold.c): room that is kept for one task of a waiting job ----
 * A hold takes its place in the ledger like a task, so that fit shows the room to nobody. It may be set on room that
 * tasks which are being stopped still have: then the free figures are negative until those are gone. Its beneficiary
 * lifts its holds within the transaction that places it, and UNHOLD precedes its START effects. Every hold has a deadline,
 * in the heap of flights under its id (I3). It ends with the deadline, by UNHOLD, with its beneficiary, or when facts
 * about the node leave no room for it. */
struct wz_hold {
	uint64_t id;           /* of the HOLD effect: the array is sorted by it */
	uint32_t job;          /* slot of the beneficiary */
	uint32_t task;         /* which task of it is to start there: one hold each */
	struct wz_place place;
	bool lifted;           /* in the open transaction */
};
#define WZ_HOLDS_MAX 65536u
struct wz_holds { struct wz_hold *h; uint32_t n, cap; };
/* Is the place within what is free, or held by tasks that are being stopped? fits: and the node is usable. */
bool wz_hold_claims(const struct wz_core *c, const struct wz_place *p);
bool wz_hold_fits(const struct wz_core *c, const struct wz_place *p);
int wz_hold_reserve(struct wz_core *c); /* room for one more; -ENOMEM, -E2BIG */
void wz_hold_add(struct wz_core *c, uint64_t id, uint32_t slot, uint32_t task, const struct wz_place *p);
void wz_hold_drop(struct wz_core *c, uint32_t at);
uint32_t wz_hold_find(const struct wz_core *c, uint32_t slot, uint32_t task); /* index, or WZ_ID_NONE */
uint32_t wz_hold_by_id(const struct wz_core *c, uint64_t id);                 /* likewise */
uint32_t wz_holds_of(const struct wz_core *c, uint32_t slot);                 /* how many the job has */
void wz_holds_drop_of(struct wz_core *c, uint32_t slot);
/* Lifts all holds of the job in the open transaction; a rollback sets them again. -ENOMEM: none is lifted. */
int wz_holds_lift(struct wz_core *c, uint32_t slot);
void wz_hold_account(struct wz_core *c, const struct wz_place *p, int sign); /* of the ledger: +1 gives, -1 takes */
void wz_holds_of_node(const struct wz_core *c, uint32_t node, struct wz_scratch *ret, int64_t *ret_cpu,
                      int64_t *ret_mem, int32_t *ret_tasks); /* what they take there */
bool wz_hold_hurts(const struct wz_core *c, const struct wz_hold *h); /* it claims what is not free and is not given up */
/* Facts about the node changed: holds that have no room any more end, the latest first. */
void wz_holds_recheck(struct wz_core *c, uint32_t node);
uint64_t wz_hold_hash(const struct wz_core *c, const struct wz_hold *h);
/* UNHOLD effects for all holds of the job. -ENOMEM */
int wz_holds_propose_lift(const struct wz_core *c, uint32_t slot, struct wz_plan *plan);

/* ---- the life of a job (life.c) ---- */
#define WZ_BACKOFF_ID(job) (1ULL << 63 | 1ULL << 61 | (job)->seq) /* deadline of a job whose launch failed */
/* The kind of effect that the task needs and that nothing in flight asks for; 0: none. Tasks that need one are in the
 * list c->wanted, which wz_task_rehash keeps. */
uint32_t wz_task_wants(const struct wz_core *c, uint32_t task);
void wz_flight_drop(struct wz_core *c, uint64_t id); /* if it is there */
void wz_job_enqueue(struct wz_core *c, uint32_t slot);  /* into the order, or first the pause after a failed launch */
void wz_job_dequeue(struct wz_core *c, uint32_t slot);  /* the reverse */
/* The attempt as a whole ends: what holds something is to be stopped, by its contract when the end is PREEMPTED. The
 * first end stands. */
void wz_job_end(struct wz_core *c, uint32_t slot, enum wz_end end, bool requeue);
void wz_task_give_up(struct wz_core *c, uint32_t task); /* one task of a job that goes on without it */
/* The task holds nothing any more; ends the job when it was the last. */
void wz_task_release(struct wz_core *c, uint32_t task, bool done);
void wz_task_lose(struct wz_core *c, uint32_t task, enum wz_end end, bool requeue); /* gone without having done its work */
int wz_task_run(struct wz_core *c, uint32_t task); /* it is seen running; -ENOMEM */
void wz_job_suspend(struct wz_core *c, uint32_t slot);
int wz_job_resume(struct wz_core *c, uint32_t slot); /* -ENOMEM */
void wz_life_expire(struct wz_core *c); /* deadlines that have passed */
/* The task that an event or effect names, or WZ_ID_NONE when it is of another attempt, already gone, or unknown. */
uint32_t wz_task_named(const struct wz_core *c, uint64_t job, uint32_t task, uint32_t attempt);
uint64_t wz_preempt_deadline(const struct wz_core *c, const struct wz_job *j); /* now + grace + margin */
int wz_no_memory(struct wz_err *err, int r); /* says so when r < 0; returns r */

#endif
