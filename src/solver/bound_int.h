/* SPDX-License-Identifier: Apache-2.0 */
/* Between bound.c (merging, rounding, fallback) and the LP (bound_lp.c with CLP, bound_nolp.c without). */
#ifndef WZ_SOLVER_BOUND_INT_H
#define WZ_SOLVER_BOUND_INT_H

#include "solver/bound.h"

/* A shape of the LP: fits on some node type, and counts for the objective or has to be served. Numbers of tasks are
 * sums over merged entries. */
struct bound_item {
	int64_t cpu_milli, mem_bytes;
	uint32_t devices, milli;
	int32_t size; /* index in `size` when a share, -1: whole devices, or none */
	bool any_model;
	struct wz_model_set allowed;
	double demand, lower; /* at most, at least */
};

struct bound_type {
	int64_t cpu_milli, mem_bytes;
	uint32_t model, gpus;
	double count;
};

struct bound_problem {
	const struct bound_type *type;
	const struct bound_item *item;
	const uint32_t *size; /* distinct share sizes, milli */
	uint32_t n_types, n_items, n_sizes;
	uint32_t iterations; /* limit of simplex iterations in each phase; 0: the default */
	const struct wz_mem *mem;
};

/* In devices per unit: vCPU, GiB, device, task. The caller gives arrays of n_types and n_items. */
struct bound_duals {
	double *cpu, *mem, *device, *item;
};

struct bound_answer {
	bool optimal, infeasible;
	double bound; /* devices; when feasible */
	double shortfall; /* tasks at least that cannot be served; when infeasible */
	uint32_t rows, columns, rounds, iterations;
};

bool bound_fits(const struct bound_type *t, const struct bound_item *s);
int bound_lp_solve(
        const struct bound_problem *p, struct bound_duals *d, struct bound_answer *ret, struct wz_err *err);

#endif
