/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/share_int.h"

static int refuse(struct wz_err *err)
{
	return wz_err_set(err, -EOPNOTSUPP, "NoSolver",
	        WZ_STR("this build has no linear programming (CLP); install it and build again"));
}

int wz_share_max_min(const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value,
        struct wz_err *err)
{
	(void)p, (void)mem, (void)x, (void)ret_value;
	return refuse(err);
}

int wz_share_finish_time(const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value,
        struct wz_err *err)
{
	(void)p, (void)mem, (void)x, (void)ret_value;
	return refuse(err);
}
