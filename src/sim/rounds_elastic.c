/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rounds_int.h"

int wz_rounds_elastic(struct wz_rounds *s, struct wz_err *err)
{
	(void)s;
	return wz_err_set(err, -EOPNOTSUPP, "Unsupported", WZ_STR("not yet"));
}
