/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a core, for the files of this room only.
 *
 * What is state (seen by the digest, changed by apply alone): model, jobs, tasks, effects in flight, demand, policy
 * state, counters. What is cache (never seen): index, scratch, the waiting classes' cursors. */
#ifndef WZ_CORE_CORE_INT_H
#define WZ_CORE_CORE_INT_H

#include "base/hash.h"
#include "base/maxtree.h"
#include "core/between.h"
#include "core/core.h"
#include "core/gang.h"
#include "core/queue_int.h"

/* Free figures of a node's devices as fit shows them, or sums over them. */
struct wz_scratch { int32_t milli[WZ_NODE_DEVICES_MAX]; int64_t mem[WZ_NODE_DEVICES_MAX]; };
#include "core/life_int.h"
#include "core/evict_int.h"

/* ---- jobs and tasks (job.c) ---- */

enum wz_task_state {
	WZ_TASK_NONE,     /* not placed */
	WZ_TASK_ASSUMED,  /* start decided, not yet confirmed */
	WZ_TASK_RUNNING,
	WZ_TASK_STOPPING, /* must end: a STOP is in flight or wanted */
	WZ_TASK_DONE,     /* ended well, others of the job still run */
};

struct wz_task {
	uint32_t job;          /* slot */
	uint32_t node;         /* WZ_ID_NONE: holds nothing */
	uint32_t next, prev;   /* tasks of the node */
	uint8_t state;         /* enum wz_task_state */
	uint8_t observed;      /* foreign work: not ours to stop */
	uint8_t counted_running; /* in wz_labelset.running */
	uint32_t attempt; /* it was last started in; 0: not yet, in this attempt of the job */
	uint8_t warn;          /* STOPPING: by the checkpoint contract first */
	uint8_t frozen;        /* RUNNING: its SUSPEND was confirmed */
	int32_t dev_milli;
	uint64_t devices;
	int64_t cpu, mem, dev_mem;
	uint64_t effect;       /* in flight for this task; 0 none */
	uint64_t started_us, checkpoint_us; /* since it runs; its last checkpoint in this attempt, 0: none */
	int64_t progress_milli;
	uint32_t want_at;      /* 1 + place in `wanted`; 0: not there */
	uint64_t hash;         /* its part of the digest; 0 none */
};

struct wz_job {
	uint64_t number, seq;  /* seq: submit order, kept over requeues */
	uint64_t submitted_us, hash;
	uint32_t shape, class_id;
	uint32_t first_task;   /* a run of 2^task_order tasks */
	uint32_t between; /* wz_asked: constraint and labels; 0 none */
	uint32_t gang; /* its sets of tasks; 0: all are alike */
	uint32_t tasks_min, tasks_max; /* live: JOB_RESIZED changes them while it runs */
	uint32_t n_tasks; /* numbers in use: at least tasks_max */
	uint32_t placed, running, done;
	uint32_t stopping;     /* of the placed */
	uint32_t attempt;
	uint32_t told; /* how many tasks it was last told that it has */
	uint32_t attention_at; /* place in wz_core.attention, WZ_ID_NONE */
	uint32_t failures;     /* launches that failed in a row */
	uint32_t preempted;    /* times that an attempt was moved aside by a PREEMPT of ours */
	uint64_t not_before_us; /* after a failed launch */
	uint64_t limit_left_us; /* suspended: what is left of the time limit */
	uint32_t user, queue;
	uint32_t account;      /* of the user in its leaf; WZ_ID_NONE: there are no queues, or the work is not ours */
	uint32_t holds;        /* tasks that hold something, kept by the ledger for `account` */
	uint64_t started_us;   /* of this attempt: its first START was applied */
	uint64_t predict[3];   /* run time: p50, p80, p95; 0: not known */
	uint32_t next, prev;   /* in the waiting class, or the free list */
	int32_t priority;
	uint8_t state;         /* enum wz_job_state */
	uint8_t task_order;
	uint8_t used, end, requeue, kind;
	uint8_t below; /* it runs below its minimum: a repair is due, or the minimum was raised */
	uint8_t backoff;       /* waits for not_before_us, not in the order */
	uint8_t suspended;     /* wanted; tasks follow */
	uint8_t planned;       /* scratch of one decide: started from its holds */
	struct wz_preempt preempt;
	uint64_t time_limit_us;
	uint64_t repair_us; /* how long a gang below its minimum may wait for replacements; 0: not at all */
};

struct wz_jobs {
	struct wz_job *job;
	uint32_t n, cap, free;     /* free: list through .next */
	struct wz_map by_number;
	struct wz_task *task;
	uint32_t n_tasks, task_cap;
	uint32_t free_run[32];     /* free runs of 2^k tasks, through task.next */
	uint64_t next_seq;
	uint64_t live_tasks;       /* tasks that hold something */
	uint32_t live_jobs;
	uint32_t movable;          /* of the live jobs, those with a checkpoint contract */
};

/* What is asked of the place of a task. */
static inline uint32_t wz_task_shape(const struct wz_core *c, uint32_t task);
static inline uint32_t wz_task_between(const struct wz_core *c, uint32_t task);

int wz_jobs_grow(struct wz_core *c, uint32_t slot, uint32_t n_tasks); /* numbers for more tasks; -ENOMEM, -E2BIG */
int wz_jobs_add(struct wz_core *c, uint64_t number, uint32_t n_tasks, uint32_t *ret_slot); /* -ENOMEM; all or nothing */
void wz_jobs_drop(struct wz_core *c, uint32_t slot);
void wz_job_contract(struct wz_core *c, uint32_t slot, const struct wz_preempt *p); /* sets it */
uint32_t wz_jobs_find(const struct wz_core *c, uint64_t number); /* WZ_ID_NONE */
void wz_job_rehash(struct wz_core *c, uint32_t slot);  /* after any change of a job: keeps the digest */
void wz_task_rehash(struct wz_core *c, uint32_t task);
uint64_t wz_job_hash(const struct wz_core *c, uint32_t slot);   /* from scratch, for checks */
uint64_t wz_task_hash(const struct wz_core *c, uint32_t task);

/* ---- the order in which waiting jobs are looked at (order.c) ----
 * Waiting jobs with equal requirement, gang size and priority form a class, in submit order. If the head of a class
 * does not fit, none of the class does: a step costs the classes, not the jobs. */
struct wz_class {
	uint32_t shape, between, gang, tasks_min, tasks_max;
	int32_t priority;
	uint32_t account;          /* WZ_ID_NONE while there are no queues */
	uint32_t head, tail, n;    /* waiting jobs */
	uint32_t active_at;        /* place in `active`, WZ_ID_NONE when empty */
	uint32_t next_same_hash;
	uint8_t reason;            /* why the head did not start, as last told; WZ_REASON_NONE: not looked at */
	uint8_t never_blocks;
	/* scratch of one decide */
	uint32_t cursor;
	uint64_t share;            /* of its user */
	bool blocked, planning;    /* planning: one did not start, for `why`; others only if it was for its time */
	uint8_t why;
	uint32_t failed;           /* the shortest that did not for its time, WZ_ID_NONE */
};
struct wz_order {
	struct wz_class *cls;
	uint32_t n, cap;
	struct wz_map by_hash;
	uint32_t *active;          /* classes with waiting jobs */
	uint32_t n_active, active_cap;
	uint32_t *heap;            /* scratch of one decide: classes by whose cursor job goes first */
	uint32_t n_heap, heap_cap;
	uint64_t waiting;
};
int wz_order_class(struct wz_core *c, const struct wz_class *key, uint32_t *ret); /* of its first seven fields */
void wz_order_add(struct wz_core *c, uint32_t slot);    /* cannot fail: room was made by wz_order_class */
void wz_order_remove(struct wz_core *c, uint32_t slot);
void wz_order_begin(struct wz_core *c, bool go_on);     /* cursors to the heads, or to where the last step paused */
uint32_t wz_order_next(struct wz_core *c);              /* class whose cursor job goes first, WZ_ID_NONE: none left */

/* ---- ledger (ledger.c) ---- */
struct wz_undo {
	uint32_t task, prev;       /* prev: before it in the list of the node, of a task that was given */
	bool took, hold;           /* hold: `task` is its index, it was lifted */
	struct wz_place place;
};
struct wz_ledger {
	struct wz_undo *undo;
	uint32_t n_undo, undo_cap;
	bool open;                 /* a transaction is open: changes are logged */
	bool trial;                /* from begin to end, also while it rolls back: nothing of it is history */
};
int wz_ledger_reserve(struct wz_core *c, uint32_t changes);  /* -ENOMEM: makes room in the undo log */
void wz_ledger_take(struct wz_core *c, uint32_t task, const struct wz_place *p);
void wz_ledger_give(struct wz_core *c, uint32_t task);
bool wz_ledger_fits(const struct wz_core *c, const struct wz_place *p); /* would take() keep I1? */
/* Adds (1) or takes away (-1) what the task holds in the free figures of its node, and nothing else: for a look that is
 * taken back at once. */
void wz_ledger_peek(struct wz_core *c, uint32_t task, int sign);
void wz_ledger_lift(struct wz_core *c, uint32_t hold); /* in a transaction; room in the log was made */
void wz_ledger_begin(struct wz_core *c);
uint32_t wz_ledger_mark(const struct wz_core *c);
void wz_ledger_rollback(struct wz_core *c, uint32_t mark);   /* to a mark; 0: all */
void wz_ledger_end(struct wz_core *c);                       /* rolls all back and closes */
void wz_ledger_observe(struct wz_core *c, uint32_t node); /* facts changed: notes whether they over-commit the node */
void wz_ledger_rebuild_node(struct wz_core *c, uint32_t node); /* from the tasks on it */

/* ---- fit (fit.c) ---- */
/* Is the task feasible on the node now? WZ_REASON_NONE and *v filled when it is (v may point into *s), else a
 * blocker. Pure. O(1) usually, O(devices) where memory binds, O(devices^2) with links. */
enum wz_reason wz_fit(const struct wz_core *c, const struct wz_shape *s, uint32_t node, struct wz_view *v,
                      struct wz_scratch *scratch);
/* The blocker to tell a person: capacity before what is busy. The same answer to whether, by the careful path alone. */
enum wz_reason wz_fit_why(const struct wz_core *c, const struct wz_shape *s, uint32_t node);
enum wz_reason wz_fit_idle(const struct wz_core *c, const struct wz_shape *s, uint32_t node); /* if nothing ran */

/* The fast path of wz_fit, inline because rescoring is mostly this. It reads one cache line of the node. */
enum wz_plain {
	WZ_PLAIN_NO,
	WZ_PLAIN_YES,
	WZ_PLAIN_MEMORY,  /* yes, if device memory, which may bind here, suffices */
	WZ_PLAIN_CAREFUL, /* only the careful path can tell */
};

static inline enum wz_plain wz_fit_plain(const struct wz_shape *s, const struct wz_node *n)
{
	if (__builtin_expect(s->special || n->model == WZ_MODEL_MIXED, 0))
		return WZ_PLAIN_CAREFUL;
	if (s->cpu > n->cpu_free || s->mem > n->mem_free || n->tasks_free < 1 || !WZ_NODE_USABLE(n))
		return WZ_PLAIN_NO;
	if (s->count == 0)
		return WZ_PLAIN_YES;
	if (s->milli > n->gpu_max || n->n_dev < s->count || (s->milli == WZ_WHOLE && n->whole < s->count) ||
	    n->model == WZ_MODEL_NONE || (!s->any_model && !wz_model_set_has(&s->allowed, n->model)))
		return WZ_PLAIN_NO;
	if (s->dev_mem && !(n->flags & WZ_NODE_MEM_KNOWN))
		return WZ_PLAIN_CAREFUL; /* sizes from the catalogue */
	return s->dev_mem || n->n_explicit ? WZ_PLAIN_MEMORY : WZ_PLAIN_YES;
}

/* What a policy sees of a node for which the fast path said yes. */
static inline void wz_view_plain(const struct wz_model_state *m, const struct wz_shape *s, const struct wz_node *n,
                                 struct wz_view *v)
{
	v->node = n;
	v->dev = &m->dev[n->first_dev];
	v->milli = &m->dev_milli[n->first_dev];
	v->mem = &m->dev_mem[n->first_dev];
	v->need = (struct wz_need){.count = s->count, .milli = s->milli, .mem = s->dev_mem, .ok = true};
}

/* ---- index (index.c) ---- */
struct wz_index_shape {
	struct wz_maxtree tree;
	uint64_t seen;        /* position in the change log */
	uint64_t last_used;
	uint32_t epoch, order_version;
	bool built;           /* the leaves are right but for the changes since `seen`, an epoch or a new order */
};
/* Scores of states (policies with order_weight): direct-mapped, entries of earlier passes are stale. */
#define WZ_INDEX_MEMO 2048u
struct wz_memo { uint64_t state, pass; int64_t score; };
struct wz_index {
	struct wz_index_shape *s; /* by shape */
	uint32_t n, cap;
	uint32_t *log;        /* ring of changed nodes */
	uint32_t log_cap;     /* power of two, at least 4 x nodes */
	uint64_t log_pos, max_seen;
	uint64_t *last;       /* by node: 1 + log position of its last change */
	uint64_t *state;      /* by node: hash of its state; 0: not made since it changed */
	uint32_t last_cap, state_cap;
	struct wz_memo *memo; /* [WZ_INDEX_MEMO] */
	uint64_t pass;        /* counts rescorings */
	uint64_t bytes, bytes_max, uses, evaluations;
	bool off;             /* by option, or out of memory for a while */
};
void wz_index_changed(struct wz_core *c, uint32_t node);
int wz_index_reserve(struct wz_core *c); /* after nodes joined; -ENOMEM */
/* Best node for a shape, WZ_ID_NONE when none is feasible. Uses the cache or looks at every node: the same answer. */
/* With `between`, what tasks ask of each other decides first, then preference, then score. */
uint32_t wz_index_best(struct wz_core *c, uint32_t shape, uint32_t between, struct wz_rng *rng);
int64_t wz_index_eval(struct wz_core *c, uint32_t shape, uint32_t node); /* WZ_SCORE_NONE: not feasible */
void wz_index_release(struct wz_core *c);

/* ---- effects in flight (inflight.c) ---- */
/* A deadline of the core's own, not of an effect: the time limit of a running job. Its id cannot clash with effects. */
#define WZ_FLIGHT_TIME_LIMIT 0u
#define WZ_LIMIT_ID_BIT (1ULL << 63)
#define WZ_LIMIT_ID(job) (WZ_LIMIT_ID_BIT | (job)->seq)
#define WZ_FLIGHT_REPAIR 0x100u /* the deadline of a gang that runs below its minimum */
#define WZ_REPAIR_ID(job) (WZ_LIMIT_ID_BIT | WZ_LIMIT_ID_BIT >> 1 | (job)->seq)
struct wz_flight { uint64_t id, deadline_us; uint32_t kind, task, heap_at, next_free; };
struct wz_inflight {
	struct wz_flight *f;
	uint32_t n, cap, free;
	struct wz_map by_id;
	uint32_t *heap;       /* slots by (deadline, id) */
	uint32_t n_heap, heap_cap;
};
#define WZ_FLIGHT_BACKOFF 0x101u /* the end of the pause after a failed launch */
int wz_inflight_add(struct wz_core *c, uint64_t id, uint32_t kind, uint32_t task, uint64_t deadline_us);
uint64_t wz_flight_hash(const struct wz_flight *f); /* its part of the digest */
uint32_t wz_inflight_find(const struct wz_core *c, uint64_t id); /* slot or WZ_ID_NONE */
void wz_inflight_drop(struct wz_core *c, uint32_t slot);
uint32_t wz_inflight_due(const struct wz_core *c, uint64_t now_us); /* slot whose deadline has passed, or WZ_ID_NONE */

/* ---- cutting cards (recut.c) ---- */
#define WZ_RECUTS_MAX 64u /* that one class of jobs asks for at a time */
struct wz_recut { uint64_t effect, destroy; uint32_t node; uint16_t slot, kind; }; /* in flight */
struct wz_recut_choice {
	uint64_t destroy;      /* slots of free instances that go */
	uint32_t slot, lost;   /* device of the node where the instance begins; legal sets that it costs */
	uint16_t kind;
	uint8_t size;
	bool opens;            /* the card was whole */
	int32_t milli;
};
/* The instance to cut on this node for a task that asks for one; idle: as if nothing ran. `plan` (may be NULL): cuts decided
 * before in this step. O(cards x kinds x starts). */
bool wz_recut_choose(const struct wz_core *c, const struct wz_shape *s, uint32_t node, bool idle,
                     const struct wz_plan *plan, struct wz_recut_choice *ret);
/* Cards of the model that are cut and hold nothing: how many could be made whole, and their first slots. */
uint32_t wz_recut_whole(const struct wz_core *c, uint32_t node, uint16_t model, bool idle, const struct wz_plan *plan,
                        uint64_t *ret_slots);
int wz_recut_propose(struct wz_core *c, struct wz_plan *plan); /* after placing, for the classes that were blocked; -ENOMEM */
int wz_recut_apply(struct wz_core *c, const struct wz_effect *e); /* -ESTALE, -ENOMEM */
int wz_recut_add(struct wz_core *c, const struct wz_recut *r, uint64_t deadline_us); /* -ENOMEM; also of snapshots */
void wz_recut_end(struct wz_core *c, uint64_t effect, bool done);
void wz_recut_node_left(struct wz_core *c, uint32_t node);
uint64_t wz_recut_hash(const struct wz_recut *r);

/* ---- repacking (repack_step.c) ---- */
struct wz_repack_state {
	uint64_t filled_us, next_us; /* the hour's budget is filled until then; no search before */
	uint64_t budget;             /* moves x 3600000000 that the hour's budget has */
	uint64_t asked_until_us;     /* for moves that were asked for */
	uint32_t asked;              /* those that are left */
	bool go;                     /* this step may search */
};
int wz_on_repack_asked(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
void wz_repack_on_step(struct wz_core *c);
void wz_repack_spend(struct wz_core *c); /* one move was made */
uint64_t wz_repack_hash(const struct wz_core *c); /* part of the digest; 0: as in the beginning */
int wz_repack_propose(struct wz_core *c, struct wz_plan *plan); /* after placing; -ENOMEM */

/* ---- assemble (assemble.c) ---- */
/* Places tasks of the job in the open transaction, appends START effects to the plan. WZ_REASON_NONE, or why not (then
 * nothing is left of it). *ret_err is -ENOMEM when memory ran out. */
enum wz_reason wz_assemble(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err);
/* Places the tasks of a job whose holds were just lifted on the nodes that were held, if all of its minimum fits there. */
bool wz_assemble_held(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err);
/* Places tasks that a running job misses, up to its maximum, with the others as far as they must stay together; returns
 * how many. */
uint32_t wz_assemble_more(struct wz_core *c, uint32_t slot, struct wz_plan *plan, struct wz_rng *rng, int *ret_err);
/* ---- running jobs that want attention, in one decision (attend.c) ---- */
struct wz_attention {
	uint32_t *slot, n;        /* by priority, then submit order */
	uint32_t broken, growing; /* how far each of the two kinds was served */
	uint64_t work;            /* spent on them: not taken from what waiting jobs may use */
};
struct wz_attention wz_attend_begin(struct wz_core *c);
/* Places what is missing: of gangs below their minimum from this priority up, which go before waiting jobs of their
 * priority since they hold what they cannot use; and of those that could grow above the other, which go after. */
int wz_attend_serve(struct wz_core *c, struct wz_attention *a, int64_t broken_from, int64_t growing_above,
                    uint64_t budget, struct wz_plan *plan, struct wz_rng *rng);
int wz_attend_resizes(struct wz_core *c, const struct wz_attention *a, struct wz_plan *plan); /* how many each has after it */
/* How many tasks of its minimum the best single place that it may stay together in could hold, and that place's name. */
uint32_t wz_assemble_best_place(struct wz_core *c, uint32_t slot, struct wz_str *ret_name, int *ret_err);
/* The places that could hold a job whose tasks must stay together: group i is node[start[i]] .. node[start[i + 1] - 1], or
 * node[i] where start is NULL. Others: one group, of all nodes (together is false, node NULL). -ENOMEM */
struct wz_node_groups { bool together; uint32_t n; const uint32_t *start, *node; };
int wz_assemble_groups(struct wz_core *c, uint32_t slot, struct wz_node_groups *ret);
/* Places task `index` of the job on the node, where it fits, and adds its START. -ENOMEM */
int wz_assemble_on(struct wz_core *c, uint32_t slot, uint32_t index, uint32_t node, struct wz_plan *plan,
                   struct wz_rng *rng);
int wz_plan_add(struct wz_plan *p, const struct wz_effect *e);

struct wz_core {
	struct wz_core_watch watch;
	struct wz_mem mem;
	uint64_t seed, now_us, step, next_effect;
	uint64_t start_timeout_us, stop_timeout_us;
	/* Where the budget of step `pause.step` ended, in the order of waiting jobs. The step after it, if it has a
	 * budget too, goes on there, so that every job is looked at however small the budget; others begin with the first. */
	struct { uint64_t step, seq; int32_t priority; } pause;
	uint64_t sum;              /* sum of the hashes of nodes, jobs, tasks, deadlines, classes' reasons, demand */
	struct wz_catalogue catalogue;
	struct wz_model_state model;
	struct wz_shapes shapes;
	uint64_t *shape_hash;      /* by shape */
	uint32_t shape_hash_cap;
	uint64_t *node_hash;       /* by node: its part of the digest */
	uint32_t node_hash_cap;
	struct wz_jobs jobs;
	struct wz_order order;
	struct wz_demand demand;
	struct wz_between between;
	struct wz_gangs gangs;
	uint32_t *attention; /* running jobs that miss tasks, have too many, or were not told how many they have */
	uint32_t n_attention, attention_cap;
	const struct wz_policy *policy;
	void *policy_state;
	uint64_t policy_hash;
	uint32_t epoch;            /* counts changes of scores */
	bool facts_changed;        /* supply changed: prepare at the next STEP */
	struct wz_inflight inflight;
	struct wz_recut *recut;    /* cards being cut, in the order of their effects */
	uint32_t n_recut, recut_cap;
	struct wz_queues queues;
	struct wz_reservations reservations;
	struct wz_gate gate;       /* of one decide */
	struct wz_future future;   /* of one decide, or of one question */
	struct wz_starts starts;
	uint32_t *wanted;          /* tasks that need an effect: wz_task_wants */
	uint32_t n_wanted, wanted_cap;
	struct wz_holds holds;
	uint32_t n_backoff;        /* waiting jobs that are not in the order */
	int64_t param[WZ_PARAM_COUNT_];
	struct wz_ended *ended;    /* jobs that the last event or effect ended; room for all jobs */
	uint32_t n_ended, ended_cap;
	struct { uint64_t hour_us, n; } evicted; /* of the hour that began then */
	struct wz_evict evict;     /* of one decide */
	/* caches */
	struct wz_ledger ledger;
	struct wz_index index;
	struct wz_repack_state repack;
	/* Searches that found nothing, by shape, and the last one for exchanges: not tried again on the same state with no
	 * more moves. A cache: `changes` counts what happened to nodes and their tasks. */
	uint64_t changes;
	struct wz_fruitless { uint64_t changes; uint32_t moves; } *fruitless, no_exchange;
	uint32_t fruitless_cap;
	uint8_t *repack_fits;      /* by shape, see repack.c */
	uint32_t repack_fits_cap;
	uint32_t *tidy_next;       /* by device, and piles: see tidy.c */
	uint32_t tidy_next_cap;
	void *tidy_pile;
	int64_t *rank_score;       /* scratch for scope RANK and for assembling within a group */
	uint32_t *rank_node;
	uint32_t rank_cap, rank_node_cap;
};

static inline uint32_t wz_task_shape(const struct wz_core *c, uint32_t task)
{
	const struct wz_job *j = &c->jobs.job[c->jobs.task[task].job];
	return j->gang ? wz_gang_set(&c->gangs, j->gang, task - j->first_task)->shape : j->shape;
}
static inline uint32_t wz_task_between(const struct wz_core *c, uint32_t task)
{
	const struct wz_job *j = &c->jobs.job[c->jobs.task[task].job];
	return j->gang ? wz_gang_set(&c->gangs, j->gang, task - j->first_task)->between : j->between;
}

/* Labels of a node and of tasks, as selectors look them up (wz_label_find). */
struct wz_node_labels {
	const struct wz_core *c;
	uint32_t node;
};
uint32_t wz_node_label(const void *labels, uint32_t key);
struct wz_set_labels {
	const struct wz_between *b;
	const struct wz_labelset *set;
};
bool wz_term_selects(
        const struct wz_core *c, const struct wz_constraint *k, uint32_t term, const struct wz_labelset *set);
bool wz_labels_selected(const struct wz_core *c, const struct wz_constraint *k, const struct wz_labelset *set);
bool wz_node_selected(const struct wz_core *c, const struct wz_constraint *k, uint32_t node);

/* May these tasks of ours be stopped, all of them, without breaking a disruption budget? Reads what runs now; for whoever
 * chooses victims: the whole set that would stop, in any order. O(budgets x (n + sets of labels) x labels). */
bool wz_budget_allows(const struct wz_core *c, const uint32_t *task, uint32_t n);

static inline struct wz_policy_ctx wz_ctx(const struct wz_core *c, struct wz_rng *rng)
{
	return (struct wz_policy_ctx){.model = &c->model, .catalogue = &c->catalogue, .shapes = &c->shapes,
		.demand = &c->demand, .n_nodes = c->model.n_present, .rng = rng};
}
/* The digest's part of the refused tasks of a size; 0 for none. */
static inline uint64_t wz_demand_refused_hash(uint32_t size, uint64_t n)
{
	return n ? wz_hash_u64(0x4ef05edULL + size, n) : 0;
}
int wz_profile_check(const struct wz_profile *p, struct wz_err *err); /* -EINVAL "BadProfile" */
/* A job that has its minimum again runs on: no repair is due any more. */
void wz_job_mend(struct wz_core *c, uint32_t slot);
/* Adds (1) or takes away (-1) what the job is to have from what disruption budgets expect. */
void wz_job_expect(struct wz_core *c, uint32_t slot, int sign);
/* The attempt in which the next start of a task is: that of the job, or one more for each time it was replaced in it. */
static inline uint32_t wz_task_next_attempt(const struct wz_job *j, const struct wz_task *t)
{
	return t->attempt >= j->attempt ? t->attempt + 1 : j->attempt;
}
void wz_core_prepare(struct wz_core *c); /* an epoch: policy.prepare, digests, cache epoch */
void wz_node_rehash(struct wz_core *c, uint32_t node); /* facts of a node changed: keeps the digest and the index */
void wz_class_set_reason(struct wz_core *c, uint32_t class_id, uint8_t reason);
int wz_shape_register(struct wz_core *c, const struct wz_profile *p, uint32_t constraint, wz_shape_id *ret);
int wz_shape_intern(struct wz_core *c, const struct wz_shape *s, wz_shape_id *ret);
/* Room for everything a job may ever need: then its later life cannot fail for want of memory, but for deadlines. */
int wz_job_reserve(struct wz_core *c, uint32_t n_tasks);
/* Handlers of events that have files of their own (apply_life.c); the table is in apply.c. */
typedef int wz_on_event(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
wz_on_event wz_on_task_started, wz_on_task_ended, wz_on_task_reported, wz_on_requeued, wz_on_suspended_resumed,
        wz_on_rules, wz_on_confirmed, wz_on_refused;

#endif
