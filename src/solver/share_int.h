/* SPDX-License-Identifier: Apache-2.0 */
/* Between share.c and share_lp.c. */
#ifndef WZ_SOLVER_SHARE_INT_H
#define WZ_SOLVER_SHARE_INT_H

#include "solver/share.h"

double wz_share_speed(const struct wz_share_problem *p, uint32_t m, uint32_t t); /* 1 or 0 when agnostic */
double wz_share_equal_rate(const struct wz_share_problem *p, uint32_t m);
int wz_share_check(const struct wz_share_problem *p, struct wz_err *err);

#endif
