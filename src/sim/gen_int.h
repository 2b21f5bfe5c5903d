/* SPDX-License-Identifier: Apache-2.0 */
/* Presets that have a file of their own. */
#ifndef WZ_SIM_GEN_INT_H
#define WZ_SIM_GEN_INT_H

#include "sim/gen.h"

int wz_gen_jobs_nodes(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err);
int wz_gen_jobs_jobs(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err);

#endif
