/* SPDX-License-Identifier: Apache-2.0 */
/* The LP upper bound (solver/bound.h) of the inflation experiment: no policy can have allocated more when arrivals have
 * reached a percent of capacity, whomever it refused.
 *
 * CPU-only tasks are served in full unless they are made optional; with a prefix held, so is all that had arrived by
 * then, which is a bound on schedulers that did hold it (one that never refuses what fits, while there was room).
 * What must be served and cannot be is an answer (`infeasible`), not an error.
 *
 * Left out, so the bound may be larger than the truth and never smaller: device memory, links, taints, NUMA.
 * Thread rule: reads its input; one call is one thread (`_many` starts its own). About 50 ms for openb. */
#ifndef WZ_SIM_BOUND_H
#define WZ_SIM_BOUND_H

#include "sim/pack.h"
#include "solver/bound.h"

#include <stdatomic.h>

struct wz_sim_bound_options {
	uint32_t hold_percent; /* hold what arrived until then; 0: nothing */
	bool cpu_optional;     /* CPU-only tasks may be refused as well */
};

struct wz_sim_bound {
	uint32_t percent;         /* asked: 1..130 */
	uint32_t tasks, held;     /* arrived until then: the shortest prefix of at least `percent`; of these held */
	uint64_t arrived_milli;   /* GPU asked by them */
	uint64_t cpu_milli;       /* CPU asked by them */
	bool infeasible;          /* what must be held cannot be; `lp` is then zero */
	bool cpu_dropped;         /* the CPU-only tasks cannot all be served, so none had to be */
	struct wz_bound lp;
};

/* -EOPNOTSUPP "NoLpSolver", "MixedNode" (a node of several models, or with partitions); -ENOMEM; those of
 * wz_bound_solve. */
int wz_sim_bound_solve(const struct wz_pack_input *in, const struct wz_arrivals *a, uint32_t percent,
                       const struct wz_sim_bound_options *o, const struct wz_mem *mem, struct wz_sim_bound *ret,
                       struct wz_err *err);

/* Seeds first..last x points, in parallel; ret[n_seeds x n_points], seed-major. -EINTR when *stop. */
struct wz_sim_bounds {
	const struct wz_pack_input *in;
	uint64_t seed_from, seed_to;
	const unsigned *percent; /* [n_points] */
	uint32_t n_points, workers;
	struct wz_sim_bound_options o;
	const atomic_int *stop;
};
int wz_sim_bound_many(const struct wz_sim_bounds *b, const struct wz_mem *mem, struct wz_sim_bound *ret,
                      struct wz_err *err);

/* 100 x bound / capacity; NAN when infeasible. */
double wz_sim_bound_pct(const struct wz_sim_bound *b);
/* Mean over the seeds at a point; NAN when any seed is infeasible. */
double wz_sim_bound_mean(const struct wz_sim_bounds *b, const struct wz_sim_bound *result, uint32_t point);

#endif
