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

struct wz_core;

struct wz_core_options {
	uint64_t seed;            /* node order and all random draws */
	const char *policy;       /* a policy, perhaps with parameters: "jigsaw:power=0.2" (policy.h); NULL: the default */
	const struct wz_policy *custom; /* used instead of a name: one that is not in the table; outlives the core */
	bool no_index;            /* evaluate every node for every decision: slow, for differential tests */
	uint64_t start_timeout_us; /* deadline of a START; 0: 30 s */
	uint64_t stop_timeout_us;  /* deadline of a STOP before it is asked again; 0: 60 s */
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
	wz_shape_id shape;
	uint64_t submitted_us;
};
int wz_core_job(const struct wz_core *c, uint64_t job, struct wz_job_info *ret);              /* -ENOENT */
int wz_core_task(const struct wz_core *c, uint64_t job, uint32_t task, struct wz_place *ret); /* -ENOENT: not placed */

struct wz_core_stats {
	uint64_t steps, effects, jobs_waiting, jobs_live, tasks_live;
	uint64_t gpu_milli_capacity, gpu_milli_held; /* over healthy devices of present nodes */
	uint64_t evaluations;                        /* node scores computed: a cost, not part of the state */
	uint64_t index_bytes;
};
void wz_core_stats(const struct wz_core *c, struct wz_core_stats *ret);

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

/* Checks every invariant of DESIGN section 4 that can be checked here, from scratch: I1, I2, I3, I4, I6, I7. 0, or
 * -EUCLEAN with the first violation in the text. O(nodes + tasks + jobs). For tests and `wz doctor`. */
int wz_core_check(struct wz_core *c, struct wz_err *err);

#endif
