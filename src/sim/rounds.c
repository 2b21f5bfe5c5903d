/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rounds.h"

bool wz_rounds_wanted(const struct wz_run_input *in, const struct wz_run_options *o)
{
	(void)in;
	return o->order->flags & WZ_ORDER_ROUNDS;
}

int wz_rounds(const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err)
{
	(void)in, (void)o, (void)mem, (void)ret;
	return wz_err_set(err, -EOPNOTSUPP, "Unsupported", WZ_STR("not yet"));
}
