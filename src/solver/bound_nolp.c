/* SPDX-License-Identifier: Apache-2.0 */
/* The build without an LP solver. */
#include "solver/bound_int.h"

bool wz_bound_available(const char **ret_what)
{
	if (ret_what)
		*ret_what = "built without CLP (package coinor-libclp-dev)";
	return false;
}

int bound_lp_solve(
        const struct bound_problem *p, struct bound_duals *d, struct bound_answer *ret, struct wz_err *err)
{
	(void)p, (void)d, (void)ret;
	return wz_err_set(err, -EOPNOTSUPP, "NoLpSolver",
	        WZ_STR("the LP bound needs CLP, and this build has none: install coinor-libclp-dev and build "
	               "again"));
}
