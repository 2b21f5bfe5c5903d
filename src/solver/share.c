/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/share_int.h"

void wz_share_equal(const struct wz_share_problem *p, uint32_t m, double *ret)
{
	double all = 0, part;

	for (uint32_t t = 0; t < p->types; t++)
		all += p->devices[t];
	part = p->n ? all / p->n / p->job[m].gpus : 0; /* of the time, on average over types */
	part = part > 1 ? 1 : part;
	for (uint32_t t = 0; t < p->types; t++)
		ret[t] = all > 0 ? part * p->devices[t] / all : 0;
}

double wz_share_speed(const struct wz_share_problem *p, uint32_t m, uint32_t t)
{
	double s = p->job[m].speed[t];
	return p->agnostic ? (s > 0 ? 1 : 0) : s;
}

double wz_share_equal_rate(const struct wz_share_problem *p, uint32_t m)
{
	double x[WZ_SHARE_TYPES_MAX], sum = 0;

	wz_share_equal(p, m, x);
	for (uint32_t t = 0; t < p->types; t++)
		sum += wz_share_speed(p, m, t) * x[t];
	return sum;
}

int wz_share_check(const struct wz_share_problem *p, struct wz_err *err)
{
	bool ok = p->n <= WZ_SHARE_JOBS_MAX && p->types >= 1 && p->types <= WZ_SHARE_TYPES_MAX;

	for (uint32_t m = 0; ok && m < p->n; m++)
		ok = p->job[m].gpus >= 1 && p->job[m].weight > 0;
	return ok ? 0 : wz_err_set(err, -EINVAL, "BadProblem", WZ_STR("the share problem is out of its limits"));
}
