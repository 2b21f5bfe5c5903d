/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in time on several device types, decided in rounds: where a job is as fast as its type allows, where targets come from
 * a linear program (Gavel), where jobs grow and shrink. */
#ifndef WZ_SIM_ROUNDS_H
#define WZ_SIM_ROUNDS_H

#include "sim/run.h"

/* Do these jobs and this order need rounds? Else wz_run plays them. */
bool wz_rounds_wanted(const struct wz_run_input *in, const struct wz_run_options *o);
int wz_rounds(const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err);

#endif
