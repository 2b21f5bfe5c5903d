/* SPDX-License-Identifier: Apache-2.0 */
/* The churn experiment: work arrives at random and leaves again, at a load that is stated; who is refused, or waits, once
 * the cluster has reached its steady state (docs/internals/churn.md).
 *
 * Offered load is the GPU demand that would run if nothing were ever refused, by Little's law: arrivals per time x mean
 * life x mean devices of the list = load x capacity. Arrivals are Poisson, pods are drawn from the list with equal
 * chance, lives are independent of them. All of it is drawn from the seed alone: for one seed every placement sees the
 * same pods with the same lives at the same times, and differences between placements may be taken run by run. */
#ifndef WZ_SIM_CHURN_H
#define WZ_SIM_CHURN_H

#include "sim/life.h"
#include "sim/pack.h"

#define WZ_CHURN_BATCHES 20u
#define WZ_CHURN_LIVES_MAX 10000u      /* of warm-up or window, in mean lives */
#define WZ_CHURN_JOBS_MAX 100000000ull /* expected in a run */
#define WZ_CHURN_LOAD_MAX 10000u       /* permille */

enum wz_churn_class {
	WZ_CHURN_CPU, WZ_CHURN_SHARE, WZ_CHURN_ONE, WZ_CHURN_TWO, WZ_CHURN_FOUR, WZ_CHURN_EIGHT, WZ_CHURN_CLASSES
};
extern const char *const wz_churn_class_name[WZ_CHURN_CLASSES]; /* "cpu", "share", "1", "2", "4", "8" */
/* By whole devices of all tasks: 2 is 2..3, 4 is 4..7, 8 is 8 and more. */
enum wz_churn_class wz_churn_class_of(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t);
/* What it takes, in milli of devices; of CPUs when it takes no device. */
uint64_t wz_churn_asks(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t);

struct wz_churn_options {
	const char *placement;
	uint64_t seed;
	const struct wz_life *life;
	uint32_t load_permille;
	bool wait;            /* what does not fit waits, instead of being turned away */
	uint64_t patience_us; /* then it waits at most so long; 0: for ever */
	uint32_t warmup, window; /* mean lives; window > 0 */
	bool no_index;
	bool check;           /* all invariants after every event: slow */
};

/* What arrived of one class in one batch of the window, and what of that was refused until the end of the run: turned
 * away, or out of patience. Milli are of devices, of CPUs for the class cpu; so are hours. */
struct wz_churn_tally {
	uint64_t arrived, refused;
	uint64_t asked_milli, refused_milli;
	double asked_h, refused_h; /* milli/1000 x its life */
};

struct wz_churn_batch {
	struct wz_churn_tally tally[WZ_CHURN_CLASSES];
	double allocated, cpu_allocated; /* time averages, percent of capacity */
	double fragmented, frag_ratio;   /* averages of samples, percent of capacity, of what is idle */
};

/* Of the jobs that arrived in the window; those that still wait at the end count with what they waited until then. */
struct wz_churn_wait { uint64_t jobs, waited; double mean_s; double p95_s, max_s; };

struct wz_churn_result {
	struct wz_churn_batch batch[WZ_CHURN_BATCHES];
	struct wz_churn_wait wait[WZ_CHURN_CLASSES];
	double window_h, mean_life_h;
	double cpu_load;                             /* CPU offered, percent of the cluster's */
	uint64_t jobs, waiting_first, waiting_last;  /* in the run; waiting when the window began and ended */
	uint64_t decisions, cpu_ns, p50_ns, p99_ns;  /* of arrivals */
	uint64_t evaluations, digest;
	uint64_t offered;                            /* digest of what was drawn: equal for every placement */
};

/* -ENOENT: no such policy. -E2BIG: more than WZ_CHURN_JOBS_MAX jobs. -ENOMEM. -EUCLEAN when `check` found a broken
 * invariant. */
int wz_churn_run(const struct wz_pack_input *in, const struct wz_churn_options *o, const struct wz_mem *mem,
                 struct wz_churn_result *ret, struct wz_err *err);

/* Mean time between arrivals for a load (never 0). */
uint64_t wz_churn_gap_us(const struct wz_pack_input *in, const struct wz_life *life, uint32_t load_permille);

#endif
