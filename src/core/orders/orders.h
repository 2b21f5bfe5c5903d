/* SPDX-License-Identifier: Apache-2.0 */
/* Orders: which job runs next, and who gives way.
 *
 * An order gives each job a key; smaller goes first. Whoever drives it (sim/run) keeps all jobs sorted by key, grants devices
 * in that order to whoever fits (skipping the others, unless the order blocks), and, when the order preempts, takes them from
 * running jobs with larger keys. A key is a function of the job alone and of the time; an order says when it will change by
 * itself, so nothing is ever scanned. Published orders are named after their papers and follow them; `levelled` is ours
 * (docs/internals/orders.md).
 *
 * Pure: integers only, no allocation but by wz_order_init; the same calls give the same keys on every machine. Thread rule: one
 * wz_order belongs to one run. */
#ifndef WZ_CORE_ORDERS_H
#define WZ_CORE_ORDERS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/otree.h"

#define WZ_ORDER_NEVER INT64_MAX
#define WZ_ORDER_FIRST (INT64_MIN / 2) /* key.a of what may not be taken from: services, the quantum */
#define WZ_ORDER_PARAMS_MAX 16u
#define WZ_ORDER_STEPS_MAX 24u
#define WZ_SECOND_US 1000000

/* What an order may see of a job. Times in microseconds since the trace began; progress in run time on the reference device.
 * The driver keeps all but the last part, and brings `done_us` and `held_us` up to `now` before it asks. */
struct wz_order_job {
	uint32_t id; /* dense, in order of submission: the last tie-break */
	uint32_t gpus; /* of all its tasks, >= 1 */
	uint32_t user, queue;
	int32_t priority;
	int64_t submit_us;
	int64_t predict_us; /* median of the run time expected; 0: unknown */
	int64_t predict_hi_us; /* 0.9 quantile, what backfill counts on; 0: unknown */
	int64_t limit_us; /* the user's limit; 0: none */
	int64_t run_us; /* the truth, which only oracles read */
	bool fixed; /* is never preempted: a service, or no checkpoint */
	bool running;
	uint32_t starts;
	int64_t ready_us; /* waits since */
	int64_t start_us; /* of the present attempt */
	int64_t done_us; /* progress kept */
	int64_t held_us; /* time with devices, restarts and lost work included */
	/* the order's own, part of the digest */
	struct wz_okey key;
	int32_t level;
	int64_t mark;
};

enum wz_order_flag {
	WZ_ORDER_PREEMPTS = 1,
	WZ_ORDER_BLOCKS = 2, /* nobody passes the first that does not fit */
	WZ_ORDER_EASY = 4, /* others pass when they do not delay it */
	WZ_ORDER_CONSERVATIVE = 8, /* others pass when they delay nobody before them */
	WZ_ORDER_DRIFTS = 16, /* keys of running jobs move all the time: rekeyed at each event */
	WZ_ORDER_ORACLE = 32, /* reads run_us */
	WZ_ORDER_REPACKS =
	        64, /* as published: with placement yarn, everything is placed anew at each event, free of cost */
	WZ_ORDER_COUNTS = 128, /* as published: with placement yarn, devices are only counted */
	WZ_ORDER_ROUNDS = 256, /* decided in rounds on targets of a solver (sim/rounds) */
	WZ_ORDER_LEARNS = 512, /* wants wz_order_rule.learn */
};

enum wz_order_event { WZ_ORDER_SUBMITTED, WZ_ORDER_SETTLED, WZ_ORDER_STOPPED };

struct wz_order_param {
	const char *name, *help;
	int64_t usual, min, max; /* milli */
};

struct wz_order_state; /* what an order learned: gittins */

struct wz_order {
	const struct wz_order_rule *rule;
	const struct wz_mem *mem;
	int64_t param[WZ_ORDER_PARAMS_MAX]; /* milli */
	int64_t step[WZ_ORDER_STEPS_MAX]; /* thresholds in GPU-microseconds, filled by init of level orders */
	uint32_t n_steps;
	int64_t head, tail, rank; /* counters of las2d */
	uint64_t gpus; /* of the cluster */
	struct wz_order_state *state;
	struct wz_order_usage *usage; /* by user: slurm */
	uint32_t n_users;
};

struct wz_order_rule {
	const char *name, *summary;
	uint32_t flags;
	struct wz_order_param param[WZ_ORDER_PARAMS_MAX]; /* ends with a NULL name */
	int (*init)(struct wz_order *o, struct wz_err *err); /* NULL: nothing */
	void (*release)(struct wz_order *o);
	struct wz_okey (*key)(const struct wz_order *o, const struct wz_order_job *j, int64_t now);
	/* The next time after `now` at which the key changes though nothing happens; NULL: never. */
	int64_t (*change)(const struct wz_order *o, const struct wz_order_job *j, int64_t now);
	/* Something happened to the job; its `level` and `mark` may change. SETTLED: it keeps or got devices after its key had
	 * changed. STOPPED: preempted. NULL: nothing to do. */
	void (*event)(struct wz_order *o, struct wz_order_job *j, enum wz_order_event e, int64_t now);
	/* The key is about to be asked at a change: move level and mark. NULL: key is a pure function. */
	void (*advance)(struct wz_order *o, struct wz_order_job *j, int64_t now);
	/* A job ended (done_us is its whole run time), or devices were held: `held_us` more of `j`. */
	void (*learn)(struct wz_order *o, const struct wz_order_job *j, int64_t now);
};

extern const struct wz_order_rule *const wz_order_rules[]; /* ends with NULL; the first is the default */

/* NAME[:PARAMETER=VALUE,...]; empty: the default. -ENOENT "UnknownOrder" with what there is, "UnknownParameter"; -EINVAL
 * "BadParameter"; -ERANGE "OutOfRange". */
int wz_order_parse(struct wz_str text, const struct wz_order_rule **ret, int64_t ret_param[WZ_ORDER_PARAMS_MAX],
        struct wz_err *err);
void wz_order_format(
        const struct wz_order_rule *r, const int64_t *param, struct wz_buf *b); /* only what is not usual */

int wz_order_init(struct wz_order *o, const struct wz_order_rule *r, const int64_t *param, uint64_t gpus,
        uint32_t users, const struct wz_mem *mem, struct wz_err *err);
void wz_order_release(struct wz_order *o);

/* ---- for the files of this folder ---- */

struct wz_order_usage {
	int64_t gpu_us;
	int64_t at_us;
};

static inline int64_t wz_order_service(const struct wz_order_job *j, int64_t run_us)
{
	int64_t r;
	return __builtin_mul_overflow(run_us, (int64_t)j->gpus, &r) ? INT64_MAX / 2 : r;
}
/* step[k] = first * base^k, saturating. */
void wz_order_steps(struct wz_order *o, int64_t first_gpu_us, int64_t base_milli, uint32_t n);
/* How many steps a service has reached: 0..n_steps. */
uint32_t wz_order_level(const struct wz_order *o, int64_t service);
/* When a running job's service (gpus x time) reaches `service`, counted from `done` at `now`. */
int64_t wz_order_when(const struct wz_order_job *j, int64_t service, int64_t done_us, int64_t now);

extern const struct wz_order_rule wz_order_levelled, wz_order_fifo, wz_order_fifo_skip, wz_order_sjf, wz_order_srtf,
        wz_order_srsf, wz_order_predicted, wz_order_las2d, wz_order_las2d_damped, wz_order_gittins, wz_order_qssf,
        wz_order_easy, wz_order_conservative, wz_order_slurm, wz_order_max_min, wz_order_max_min_agnostic,
        wz_order_finish_time, wz_order_goodput;

#endif
