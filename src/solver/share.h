/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares of device types among jobs, by linear programming (Gavel: Narayanan et al., OSDI 2020, section 4).
 *
 * x[m,t] is the part of the time that job m spends on type t:
 *
 *	x >= 0,  sum_t x[m,t] <= 1,  sum_m gpus_m x[m,t] <= devices_t
 *
 * max-min: maximise min_m gpus_m e_m(x) / (weight_m e_m(equal)), e_m(x) = sum_t speed[m,t] x[m,t], where `equal` gives each job
 * the same devices x time, spread over types as they are. finish-time (Themis): minimise the largest ratio of the time that
 * a job will have taken at x to that at `equal`; found by bisection.
 *
 * Doubles: the result is a target that enters decisions as data, never a decision. Threads: none shared. Without CLP at build
 * time -EOPNOTSUPP, and whoever asks goes on with the last targets, or with equal ones. */
#ifndef WZ_SOLVER_SHARE_H
#define WZ_SOLVER_SHARE_H

#include "base/err.h"
#include "base/mem.h"

#include <stdint.h>

#define WZ_SHARE_TYPES_MAX 16u
#define WZ_SHARE_JOBS_MAX 100000u

struct wz_share_job {
	double speed[WZ_SHARE_TYPES_MAX]; /* steps a second; 0: does not run there */
	double weight;                    /* > 0; 1 */
	uint32_t gpus;
	double elapsed_s, steps_left;     /* finish-time only */
};

struct wz_share_problem {
	const struct wz_share_job *job;
	uint32_t n;
	uint32_t types, devices[WZ_SHARE_TYPES_MAX];
	bool agnostic; /* as if every type were equally fast */
};

/* x: [n x types], written on success; *ret_value the objective. -EINVAL (limits), -EOPNOTSUPP, -ENOMEM, -EIO "Solver". */
int wz_share_max_min(const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value, struct wz_err *err);
int wz_share_finish_time(
        const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value, struct wz_err *err);

/* The equal share of job m: [types]. */
void wz_share_equal(const struct wz_share_problem *p, uint32_t m, double *ret);

#endif
