/* SPDX-License-Identifier: Apache-2.0 */
/* The brain. Two verbs (ADR 0002):
 *
 *	wz_core_decide  looks at the state and returns a plan (effects); it changes nothing that a digest sees
 *	wz_core_apply   / wz_core_apply_effect  alone change the state, from journalled events and effects
 *
 * A body's step is:  apply(events...)  ->  apply(STEP)  ->  decide  ->  journal  ->  apply_effect(each)  ->  enact.
 * A restart applies and never decides. Same inputs, same outputs and digests, bit for bit, on every machine.
 *
 * Thread rule: one thread at a time per core; cores are independent. No I/O, no clock, no globals. All memory through
 * the wz_mem given. On an error nothing has changed. */
#ifndef WZ_CORE_CORE_H
#define WZ_CORE_CORE_H

#include "core/effect.h"
#include "core/event.h"
#include "core/explain.h"
#include "core/policy.h"
#include "core/queue.h"

struct wz_core;

/* Sees what was applied, in its order: events that were accepted, and effects; one of the two is NULL. What a journal is made
 * of. It must not call the core. */
struct wz_core_watch {
	void (*seen)(void *ctx, const struct wz_core *c, const struct wz_event *e, const struct wz_effect *f);
	void *ctx;
};

struct wz_core_options {
	uint64_t seed;            /* node order and all random draws */
	const char *policy;       /* a policy, perhaps with parameters: "jigsaw:power=0.2" (policy.h); NULL: the default */
	const struct wz_policy *custom; /* used instead of a name: one that is not in the table; outlives the core */
	bool no_index;            /* evaluate every node for every decision: slow, for differential tests */
	uint64_t start_timeout_us; /* deadline of a START; 0: 30 s */
	uint64_t stop_timeout_us;  /* deadline of a STOP before it is asked again; 0: 60 s */
	struct wz_core_watch watch; /* seen NULL: nobody looks. No state */
	uint32_t index_bytes_max_mib; /* memory the score index may use; 0: 1024 */
};

int wz_core_new(const struct wz_mem *mem, const struct wz_core_options *o, struct wz_core **ret, struct wz_err *err);
void wz_core_free(struct wz_core *c); /* accepts NULL */

/* Applies one event. -EINVAL (malformed), -ENOENT (names what is not there), -EEXIST (the number of a live job), -E2BIG (over a
 * limit), -ENOMEM. Amortised O(1) for job events, O(devices) for node events, O(tasks on it) for a lost node. */
int wz_core_apply(struct wz_core *c, const struct wz_event *e, struct wz_err *err);

/* Applies one effect of a plan (or of a journal). -ESTALE when the state is not the one that it was decided on, for
 * example when it no longer fits; nothing changes then. */
int wz_core_apply_effect(struct wz_core *c, const struct wz_effect *e, struct wz_err *err);

/* Decides. Uses at most `budget` units of work (one unit: a waiting class looked at, or a task placed); 0: no limit.
 * Where it ended is one of the effects, and the next step goes on there. The plan is overwritten. -ENOMEM leaves the state as it was and the plan empty. */
int wz_core_decide(struct wz_core *c, uint64_t budget, struct wz_plan *plan, struct wz_err *err);

uint64_t wz_core_digest(const struct wz_core *c); /* of the whole state; O(1) */
uint64_t wz_core_now(const struct wz_core *c);

/* Why a waiting job does not start now, recomputed on the present state; -ENOENT, -EINVAL (not waiting). O(nodes). */
int wz_core_explain(struct wz_core *c, uint64_t job, struct wz_explanation *ret, struct wz_err *err);

/* Why a START of a plan is at its place, in words of the policy: what it does to the node, and why not the runner-up, nor
 * the best node of another kind. To be asked before the effect is applied, on the state that it was decided on. -ENOENT
 * (not a start of a live job), -ESTALE (it does not fit there), -EOPNOTSUPP (the policy has no words), the buffer's
 * status. Changes nothing. O(nodes). */
int wz_core_explain_choice(struct wz_core *c, const struct wz_effect *e, struct wz_buf *b, struct wz_err *err);

/* Effects in flight whose deadline has passed are handled by apply(TIME); this is when the next one falls due
 * (UINT64_MAX: none). A body sets its timer to it. */
uint64_t wz_core_next_deadline(const struct wz_core *c);

/* ---- reading (an ended job is forgotten: its history belongs to the body) ---- */
enum wz_job_state { WZ_JOB_WAITING, WZ_JOB_HELD, WZ_JOB_STARTING, WZ_JOB_RUNNING, WZ_JOB_ENDING };

struct wz_job_info {
	uint64_t job;
	enum wz_job_state state;
	enum wz_end end;         /* when ENDING: how it will end */
	enum wz_reason reason;   /* when WAITING: the coarse reason of the last step that looked */
	int32_t priority;
	uint32_t attempt;        /* 1 for the first */
	uint32_t tasks_min, tasks_max, tasks_placed;
	uint32_t task_numbers; /* tasks are numbered below this: more than tasks_max after a job was made smaller */
	wz_shape_id shape;
	uint64_t submitted_us;
	bool suspended;          /* it is to be frozen, or is */
	uint32_t launch_failures; /* in a row */
	uint32_t preempted;      /* times that it was moved aside for others */
	uint64_t not_before_us;  /* WAITING after a failed launch: until then; else 0 */
};
int wz_core_job(const struct wz_core *c, uint64_t job, struct wz_job_info *ret);              /* -ENOENT */
int wz_core_task(const struct wz_core *c, uint64_t job, uint32_t task, struct wz_place *ret); /* -ENOENT: not placed */
/* The attempt that a placed task was started in: the job's, or a later one when it replaced a lost task; 0: not placed. */
uint32_t wz_core_task_attempt(const struct wz_core *c, uint64_t job, uint32_t task);

/* What is known of the work of a placed task. -ENOENT: not placed. */
struct wz_task_work { uint64_t started_us, checkpoint_us; int64_t progress_milli; bool frozen, warned; };
int wz_core_task_work(const struct wz_core *c, uint64_t job, uint32_t task, struct wz_task_work *ret);
/* Room that is held for waiting jobs: i = 0, 1, ... until -ENOENT, by the id of the HOLD. */
struct wz_hold_info { uint64_t effect, deadline_us, job; uint32_t task; struct wz_place place; };
int wz_core_hold(const struct wz_core *c, uint32_t i, struct wz_hold_info *ret);
/* Jobs that ended, and were forgotten, by the last wz_core_apply or wz_core_apply_effect: i = 0, 1, ... until -ENOENT. */
struct wz_ended { uint64_t job; enum wz_end end; };
int wz_core_ended(const struct wz_core *c, uint32_t i, struct wz_ended *ret);
/* The value of a parameter that RULES_SET changes; -ENOENT. */
int wz_core_rule(const struct wz_core *c, struct wz_str name, int64_t *ret);

struct wz_core_stats {
	uint64_t steps, effects, jobs_waiting, jobs_live, tasks_live;
	uint64_t gpu_milli_capacity, gpu_milli_held; /* over healthy devices of present nodes */
	uint64_t gpu_milli_kept;                     /* by holds, for jobs that wait */
	uint64_t evaluations;                        /* node scores computed: a cost, not part of the state */
	uint64_t index_bytes;
};
void wz_core_stats(const struct wz_core *c, struct wz_core_stats *ret);

/* ---- queues, reservations, starts (queue_read.c, starts.c) ---- */
/* Queues by position, for i = 0, 1, ... until -ENOENT: in the order of creation, root and default first. None while no rule
 * was ever set. Views are valid until the next apply. O(1). */
struct wz_queue_info {
	struct wz_str name, parent;          /* parent of the root: empty */
	const struct wz_queue_rules *rules;
	uint32_t depth, children, jobs, started; /* root: depth 0; live jobs of it and all below, and those that hold something */
	int64_t gpu_milli, cpu_milli, mem_mib, cu_milli; /* used now */
	int64_t past_gpu_milli;              /* decayed average as of now */
	uint64_t spent_milli_hours, spent_milli_money; /* of the budget, as of now */
	uint32_t share_ppm;                  /* dominant share of the cluster, now and past alike */
};
int wz_core_queue_at(struct wz_core *c, uint32_t i, struct wz_queue_info *ret);
/* What rules name and what is used of it. INT64_MAX: no such rule. Returns how many there are; at most `max` are written. */
struct wz_queue_amount {
	struct wz_str what;                  /* "gpu", "cu", "cpu", "mem", a model */
	bool mem;                            /* amounts are MiB; else milli */
	int64_t used, guaranteed, limit, borrow, lend, capacity;
};
uint32_t wz_core_queue_amounts(struct wz_core *c, uint32_t i, struct wz_queue_amount *ret, uint32_t max);
/* Users, for i = 0, 1, ... until -ENOENT; 1: an account that is not of a user of a leaf. */
struct wz_user_info {
	struct wz_str queue, user;
	uint32_t jobs, started;
	int64_t gpu_milli, past_gpu_milli;
	uint32_t share_ppm;
};
int wz_core_user_at(struct wz_core *c, uint32_t i, struct wz_user_info *ret);
/* Reservations that are not over. The text is appended to `rules`. -ENOENT. */
int wz_core_reservation_at(
        const struct wz_core *c, uint32_t i, struct wz_str *ret_name, struct wz_reserve_rules *ret, struct wz_buf *rules);
/* May the victim, a running job, be moved aside for the beneficiary, a waiting one, because it uses what is the other's by
 * guarantee? -ENOENT: no such job. */
int wz_core_may_reclaim(const struct wz_core *c, uint64_t victim, uint64_t beneficiary);

/* When the first waiting jobs will start, computed beside the step and kept until it is asked again. Changes no state. */
struct wz_starts_options {
	uint32_t jobs;    /* at most so many, in the order of the next step; 0: 256 */
	uint32_t samples; /* draws of the future for the band: 9, 19, 29 ...; 0: 19 */
	uint64_t work;    /* nodes and ends looked at, to which jobs and bands are cut; 0: 2^26 */
};
int wz_core_plan_starts(struct wz_core *c, const struct wz_starts_options *o, struct wz_err *err); /* -ENOMEM */
struct wz_start_estimate {
	uint64_t step, stamp_us;           /* what it is true of */
	uint64_t latest_us;                /* if every time limit is used up; UINT64_MAX: something has none */
	uint64_t likely_from_us, likely_to_us; /* 80 of 100; UINT64_MAX: not drawn, or beyond what is known */
	uint32_t ahead, ahead_in_queue;    /* waiting jobs that are looked at before */
	uint64_t first_ahead;              /* the first of them in its queue; 0: none */
};
int wz_core_starts(const struct wz_core *c, uint64_t job, struct wz_start_estimate *ret); /* -ENOENT: none is kept */
/* How good the first estimates of jobs were that have started since the core was made. Not state: not in snapshots. */
struct wz_starts_record {
	uint64_t with_latest, by_latest;   /* started, with a latest; not after it */
	uint64_t with_band, before, within, after;
	uint64_t width_sum_us, width_median_us; /* of the bands; the median to a factor of 1.2 */
};
void wz_core_starts_record(const struct wz_core *c, struct wz_starts_record *ret);

/* Effects in flight: assumed and not yet answered. What a body must look after when it starts: report what is alive of
 * each, enact it again, or let its deadline pass. At most `max` of them by id into ret; returns how many there are (call
 * with max 0 first). O(n log n) of those in flight. */
struct wz_flight_info { uint64_t effect, deadline_us, job; uint32_t kind, task, attempt; };
uint32_t wz_core_flights(const struct wz_core *c, struct wz_flight_info *ret, uint32_t max);

/* Live jobs by slot, for i = 0, 1, ... until -ENOENT; 0: *ret is filled; 1: an unused slot. In no order that means
 * anything. */
int wz_core_job_at(const struct wz_core *c, uint32_t i, struct wz_job_info *ret);

/* The state behind, read-only; valid until the next apply. For metrics, policies' tests, and the reports. */
const struct wz_model_state *wz_core_model(const struct wz_core *c);
const struct wz_shapes *wz_core_shapes(const struct wz_core *c);
struct wz_catalogue *wz_core_catalogue(struct wz_core *c); /* declare models before the nodes that have them */
const struct wz_catalogue *wz_core_catalogue_of(const struct wz_core *c); /* the same, to read */
bool wz_core_fits(const struct wz_core *c, wz_shape_id shape, uint32_t node); /* one more task of the shape, now? */
const struct wz_policy *wz_core_policy(const struct wz_core *c, const void **ret_state);
struct wz_policy_ctx wz_core_policy_ctx(const struct wz_core *c);

/* ---- snapshots (snapshot.c, ADR 0008) ----
 * Appends the whole state as bytes, from which wz_core_import makes a core that has the same digest and decides the same
 * from there on: a function of the state alone, so export(import(x)) = x. The format is versioned; a later version
 * reads all earlier ones. The buffer's maximum bounds it. -ENOMEM, -E2BIG (of the buffer). O(state). */
int wz_core_export(const struct wz_core *c, struct wz_buf *b, struct wz_err *err);

/* Of `o` only what is no state is read: custom, no_index, index_bytes_max_mib (may be NULL). The bytes may be anything: each number is
 * checked, then the checksum, then the digest. -EINVAL "BadSnapshot", -EPROTO "NewerSnapshot", -ENOMEM. *ret_same (may be
 * NULL) is false when the digest could not be kept: the catalogue numbers models otherwise, or the policy is not known
 * any more or keeps another state (then it prepares anew). O(state). */
int wz_core_import(const struct wz_mem *mem, const struct wz_core_options *o, struct wz_str bytes, struct wz_core **ret,
                   bool *ret_same, struct wz_err *err);

/* ---- repacking (repack_step.c) ---- */
/* What a step would move now if it might make that many moves: the plan of such a step, of which nothing is applied. `gain_milli`: compute of
 * the devices that jobs get who wait; `cost_us`: work that is lost and time to start again, over all moves. -ENOMEM; the state
 * is as it was. As dear as a decision with a search (about 0.1 s on 40,000 devices). */
#define WZ_REPACK_SHOWN_MAX 64u
struct wz_repack_shown { uint64_t job; uint32_t task; struct wz_place from, to; uint64_t cost_us; };
struct wz_repack_report {
	struct wz_repack_shown move[WZ_REPACK_SHOWN_MAX];
	uint32_t n, n_opened;              /* n_opened: jobs that wait and would start */
	uint64_t opened[WZ_REPACK_SHOWN_MAX];
	int64_t gain_milli;
	uint64_t cost_us;
};
int wz_core_repack(struct wz_core *c, uint32_t moves, struct wz_repack_report *ret, struct wz_err *err);

/* Checks every invariant of DESIGN section 4 that can be checked here, from scratch: I1, I2, I3, I4, I6, I7. 0, or
 * -EUCLEAN with the first violation in the text. O(nodes + tasks + jobs). For tests and `wz doctor`. */
int wz_core_check(struct wz_core *c, struct wz_err *err);

#endif
