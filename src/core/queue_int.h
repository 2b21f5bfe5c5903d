/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the quota tree, of reservations and of the plan; for the files of this room, through core_int.h.
 *
 * State: the queues and their rules; of each account the decayed past and what was spent; the reservations. Everything
 * else is a function of them and of the tasks that are placed: `used` is kept by the ledger with every take and give, also
 * inside a transaction, and made anew by wz_queues_rebuild whenever rules or facts of devices change. */
#ifndef WZ_CORE_QUEUE_INT_H
#define WZ_CORE_QUEUE_INT_H

#include "base/map.h"
#include "core/queue.h"

struct wz_core;
struct wz_event;
struct wz_rng;
struct wz_place;
struct wz_shape;

/* What is counted. The first three are the resources of fair share; then what rules may name; then, from MODELS, one for
 * each set of models that any rule names. */
enum wz_dim {
	WZ_DIM_GPU, /* milli devices */
	WZ_DIM_CPU, /* milli */
	WZ_DIM_MEM, /* MiB */
	WZ_DIM_CU, /* milli */
	WZ_DIM_PRICE, /* milli money an hour x milli devices */
	WZ_DIM_CLAIM, /* device-milli x seconds that time limits allow: what budgets must still hold */
	WZ_DIM_CLAIM_MONEY, /* milli money x milli */
	WZ_DIM_MODELS,
};
#define WZ_DIMS_MAX 32u
#define WZ_SHARE_DIMS 3u
#define WZ_ACCOUNTS_MAX (1u << 20)
#define WZ_USER_NOBODY (UINT32_MAX - 1) /* jobs without a user share one account */
#define WZ_NO_LIMIT INT64_MAX

struct wz_charge {
	uint32_t set;
	int64_t v[WZ_DIMS_MAX];
}; /* set: bit d when v[d] is not 0 */

struct wz_queue {
	uint32_t name; /* strtab id */
	uint32_t parent; /* WZ_ID_NONE: this is the root */
	uint32_t account; /* of all its jobs */
	uint32_t first_child, next_sibling, n_children, depth; /* in the order of creation */
	struct wz_queue_rules rules;
	int64_t guaranteed[WZ_DIMS_MAX], limit[WZ_DIMS_MAX], borrow[WZ_DIMS_MAX], lend[WZ_DIMS_MAX];
	int64_t user_limit[WZ_DIMS_MAX], job_limit[WZ_DIMS_MAX]; /* WZ_NO_LIMIT: none */
	int64_t guaranteed_gpu; /* of devices, or of all models together: what fair share leaves out */
	uint32_t guarantees; /* bit d: something is guaranteed */
	bool children_lend; /* a child has a lending limit */
	unsigned __int128 spent, spent_money; /* milli x ms; milli money x milli x ms / hour */
	uint64_t rules_hash, hash;
	/* scratch of one decide */
	bool active, needy;
	uint32_t heap, n_heap; /* classes of a leaf: heap[heap..] */
	uint32_t best; /* the class that goes first of it and all below; WZ_ID_NONE */
	uint64_t key;
	unsigned __int128 now_spent, now_money;
};

/* What one queue, or one user within it, uses and has used. */
struct wz_account {
	uint32_t queue, user; /* user: strtab id, WZ_USER_NOBODY, or WZ_ID_NONE: the queue itself */
	uint32_t up; /* of the same user in the queue above */
	uint32_t next_same_hash;
	uint32_t jobs, started; /* live; those that hold something */
	int64_t used[WZ_DIMS_MAX];
	int64_t past[WZ_SHARE_DIMS]; /* decayed average of `used`, x 2^WZ_PAST_BITS, as of past_ms */
	uint64_t past_ms, hash;
	int64_t now[WZ_SHARE_DIMS]; /* scratch of one decide: the average as of now, x 1 */
};
#define WZ_PAST_BITS 16

struct wz_queues {
	struct wz_queue *q;
	uint32_t n, cap; /* 0: no rule was ever set; root and default come first */
	struct wz_account *acc;
	uint32_t n_acc, acc_cap;
	struct wz_map by_key; /* hash of (queue, user) -> account */
	uint32_t n_dims;
	struct wz_model_set dim_set[WZ_DIMS_MAX];
	uint32_t dims_of_model[WZ_MODELS_MAX]; /* bits of the sets that the model is in */
	uint64_t half_life_ms;
	uint64_t half[257]; /* 2^(-i/256) x 2^62 */
	int64_t capacity[WZ_DIMS_MAX]; /* of the cluster as of this decide */
	uint32_t *heap; /* scratch: classes by leaf */
	uint32_t heap_cap;
	uint32_t last_leaf;
	/* the job that is being assembled */
	struct {
		uint32_t slot;
		struct wz_charge held;
	} current;
};

/* ---- the tree (queue.c) ---- */
void wz_queues_init(struct wz_core *c);
void wz_queues_release(struct wz_core *c);
int wz_queue_set(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
int wz_queue_remove(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
uint32_t wz_queue_find(const struct wz_core *c, struct wz_str name); /* index, WZ_ID_NONE */
bool wz_queue_under(const struct wz_core *c, uint32_t q, uint32_t above); /* is `above` q or over it? */
/* Rules of a submission or an edit: the leaf it is for (*ret_account; WZ_ID_NONE while there are no queues), or why
 * not. Makes the accounts. */
struct wz_preempt;
uint8_t wz_queue_checkpoint(
        const struct wz_core *c, uint32_t leaf, uint64_t time_us, const struct wz_preempt *p); /* enum wz_missing */
struct wz_profile;
struct wz_submit_rules {
	struct wz_str queue;
	uint32_t user;
	int32_t priority;
	const struct wz_profile *profile;
};
int wz_queue_admit(struct wz_core *c, const struct wz_submit_rules *s, uint32_t *ret_account, struct wz_err *err);
int wz_queue_admit_edit(const struct wz_core *c, uint32_t slot, int32_t priority, const struct wz_profile *p,
        struct wz_err *err); /* p may be NULL: it stays */
void wz_queue_job(
        struct wz_core *c, uint32_t slot, int sign); /* a live job of an account comes (+1) or goes (-1) */
void wz_queue_task(struct wz_core *c, uint32_t task, int sign); /* after take (+1), before give (-1) */
void wz_queues_rebuild(struct wz_core *c); /* `used` and counts from the tasks and jobs; accrues first */
uint64_t wz_queues_sum(const struct wz_core *c); /* their part of the digest, from scratch */
int wz_queues_check(struct wz_core *c, struct wz_err *err);
uint64_t wz_account_id(
        const struct wz_core *c, uint32_t account); /* hash of the names: the same in every core; 0: none */
void wz_account_rehash(struct wz_core *c, uint32_t account);
void wz_queue_rehash(struct wz_core *c, uint32_t q);
int wz_account_make(
        struct wz_core *c, uint32_t q, uint32_t user, uint32_t *ret); /* with those above; -ENOMEM, -E2BIG */
int wz_queues_restore(
        struct wz_core *c, struct wz_str name, struct wz_str rules, struct wz_err *err); /* of a snapshot */
int wz_queues_restored(struct wz_core *c); /* -EINVAL: they are no tree; -ENOMEM */
void wz_queues_link(struct wz_core *c);
void wz_queues_recount(struct wz_core *c); /* as rebuild, and no time passes */
bool wz_account_matters(const struct wz_account *a);

/* ---- what a task takes, and whether it may (quota.c) ---- */
void wz_charge_task(const struct wz_core *c, uint32_t task, struct wz_charge *ret);
/* Of a task of the job on a node, before devices are chosen; on a node of several models the most it could be. */
void wz_charge_on(
        const struct wz_core *c, uint32_t slot, const struct wz_shape *s, uint32_t node, struct wz_charge *ret);
struct wz_blocker {
	uint8_t reason; /* enum wz_reason */
	uint32_t queue, dim;
	int64_t used, ask, limit;
};
/* May the job take this in addition? On the state of the transaction. O(depth x dims), and siblings where one lends. */
uint8_t wz_quota_check(const struct wz_core *c, uint32_t slot, const struct wz_charge *add, struct wz_blocker *ret);
/* What holds wherever it is placed: jobs of the user, budgets, and the least it takes. */
uint8_t wz_quota_quick(const struct wz_core *c, uint32_t slot, struct wz_blocker *ret);
struct wz_rule_blocker;
uint32_t wz_quota_list(
        struct wz_core *c, uint32_t slot, struct wz_rule_blocker *ret, uint32_t max); /* all that hold it back */
void wz_quota_capacity(struct wz_core *c);
struct wz_str wz_dim_name(const struct wz_core *c, uint32_t dim);
/* May `beneficiary` (a waiting job) take back what `victim` (a running one) borrows? The victim's queue is beyond its
 * guarantee, the beneficiary's stays within: so it can never be taken back in turn (I5). O(depth x dims). */
bool wz_queue_may_reclaim(const struct wz_core *c, uint32_t victim_slot, uint32_t beneficiary_slot);
bool wz_queue_preemptible(const struct wz_core *c, uint32_t slot);

/* ---- shares (share.c) ---- */
void wz_share_init(struct wz_queues *t);
uint64_t wz_share_decay(const struct wz_queues *t, uint64_t dt_ms); /* 2^(-dt / half-life) x 2^62 */
void wz_account_accrue(struct wz_core *c, uint32_t account); /* brings past and spent to now */
void wz_account_now(struct wz_core *c, uint32_t account); /* fills .now, changes no state */
uint64_t wz_share_user(const struct wz_core *c, uint32_t account); /* dominant share x 2^32 */
/* Key of a queue among its siblings for the class that would go first: lower goes first. */
void wz_share_queue(const struct wz_core *c, uint32_t q, uint32_t class_id, bool *ret_needy, uint64_t *ret_key);

/* ---- order over the tree (tree.c) ---- */
void wz_tree_begin(struct wz_core *c); /* from the heap of wz_order_begin */
uint32_t wz_tree_next(struct wz_core *c); /* as wz_order_next */

/* ---- what holds a job back from a node that fits (gate.c, reserve.c) ---- */
/* Room that is promised on a node: whoever runs then must leave it. */
struct wz_entry {
	uint64_t from_us, to_us; /* a job that runs at from (firm: at any time between) needs room in `spare` */
	bool firm;
	uint32_t reservation; /* firm: whose; else WZ_ID_NONE */
	int32_t whole, tasks; /* spare */
	int64_t cpu, mem;
	uint32_t next; /* of the node */
};
struct wz_gate {
	bool on; /* there are entries */
	struct wz_entry *e;
	uint32_t n, cap;
	uint32_t *head; /* by node */
	uint32_t head_cap;
	uint32_t slot; /* the job that is being placed */
	uint64_t end_us; /* when it will be over at the latest; UINT64_MAX: not known */
	struct wz_blocker denied; /* why a node that fits was not allowed; reason NONE: none was */
};
int wz_gate_begin(struct wz_core *c, bool plan); /* of a decide, or of a plan beside it: entries of the reservations; -ENOMEM */
void wz_gate_job(struct wz_core *c, uint32_t slot);
int64_t wz_gate_eval(struct wz_core *c, uint32_t slot, uint32_t shape, uint32_t node); /* as wz_index_eval */
uint32_t wz_gate_best(struct wz_core *c, uint32_t slot, uint32_t shape, uint32_t between,
        struct wz_rng *rng); /* as wz_index_best */
bool wz_gate_room(const struct wz_core *c, uint32_t slot, const struct wz_shape *s, uint32_t node, uint64_t from_us,
        uint64_t end_us, uint32_t tasks);
void wz_gate_keep(struct wz_core *c, uint32_t slot, uint32_t node, uint64_t from_us, uint64_t end_us,
        int32_t devices, int64_t cpu, int64_t mem, int32_t tasks);
void wz_gate_task(
        struct wz_core *c, uint32_t task, int sign); /* a task of this decide takes (+1) from the entries' spare */
uint32_t wz_gate_add(struct wz_core *c, uint32_t node, const struct wz_entry *e); /* room was reserved */

struct wz_reservation {
	uint32_t name; /* strtab id */
	struct wz_reserve_rules rules; /* .node, .queue, .user are not used: */
	uint32_t *node_name; /* [rules.n_nodes] strtab ids */
	uint32_t queue, user; /* strtab ids, WZ_ID_NONE */
	uint64_t hash;
};
struct wz_reservations {
	struct wz_reservation *r;
	uint32_t n, cap;
};
#define WZ_PLAN_WORK_MAX \
	(1u << 17) /* nodes looked at and times passed, of one decide; the first job is always planned */
#define WZ_RESERVATIONS_MAX 1024u
int wz_reservation_set(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
int wz_reservation_remove(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
int wz_reservation_restore(struct wz_core *c, struct wz_str name, struct wz_str rules, struct wz_err *err);
void wz_reservation_text(const struct wz_core *c, uint32_t i, struct wz_buf *b); /* its rules */
bool wz_reservation_for(const struct wz_core *c, uint32_t i, uint32_t slot); /* may the job use it? */
uint64_t wz_reservation_hash(const struct wz_core *c, uint32_t i);
void wz_reservations_expire(struct wz_core *c); /* those that are over */
void wz_reservations_release(struct wz_core *c);
void wz_future_release(struct wz_core *c);

/* ---- the plan (plan.c): where and when blocked jobs start, from the ends of what runs ---- */
struct wz_end_time {
	uint64_t at_us;
	uint32_t task;
};
struct wz_promise {
	uint64_t at_us, end_us;
	uint32_t slot, node, tasks, count;
	int64_t cpu, mem;
};
struct wz_future_node {
	int32_t whole, tasks, part;
	int64_t cpu, mem;
};
struct wz_future {
	bool on; /* ends are sorted */
	struct wz_end_time *end;
	uint32_t n_end, end_cap;
	struct wz_promise *p; /* of one decide, in the order they were made */
	uint32_t n_p, p_cap;
	uint32_t *by_start, *by_end; /* promises by time */
	uint32_t start_cap, by_end_cap;
	struct wz_future_node *f; /* by node, as of the time of the sweep */
	uint32_t *fit; /* by node: tasks of the shape that fit */
	int32_t *dev; /* by device: free compute */
	uint32_t f_cap, fit_cap, dev_cap;
	uint32_t seen; /* changes of the step's transaction that are in `end` */
	uint32_t planned; /* jobs */
	uint64_t work;
};
/* When a running or assumed task is over at the latest: by its limit, by the 95 % quantile of its prediction, or, where
 * nothing is known, when it has run as long again. */
uint64_t wz_end_latest(const struct wz_core *c, uint32_t task);
uint64_t wz_job_length(const struct wz_core *c, uint32_t slot); /* of a job that starts; UINT64_MAX: not known */
typedef uint64_t wz_end_fn(void *ctx, uint32_t task);
int wz_future_begin(
        struct wz_core *c, wz_end_fn *end, void *ctx); /* forgets all promises; sorts the ends; -ENOMEM */
/* Plans a job: earliest start at which its minimum fits and no earlier promise is hurt. UINT64_MAX: never by what is
 * known. With `promise` its room is kept from there on. -ENOMEM. O(nodes + tasks). */
struct wz_ask {
	uint32_t slot;
	uint64_t length_us;
	bool promise;
	const struct wz_promise *only; /* [n_only] on the nodes of these promises alone; NULL: on any */
	uint32_t n_only;
};
int wz_future_plan(struct wz_core *c, const struct wz_ask *ask, uint64_t *ret_start_us);

/* ---- estimates of starts (starts.c): beside the state ---- */
struct wz_start_note;
struct wz_starts {
	struct wz_start_note *note; /* by slot of the job */
	uint32_t cap;
	uint64_t with_latest, by_latest, with_band, before, within, after, width_sum_us;
	uint64_t width[256]; /* bands by log of their width, four to an octave */
};
void wz_starts_started(struct wz_core *c, uint32_t slot); /* the job starts now */
void wz_starts_release(struct wz_core *c);

#endif
