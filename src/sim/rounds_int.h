/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of rounds: rounds.c (what all share), rounds_gavel.c (targets of linear programs), rounds_types.c (keys on
 * several device types), rounds_elastic.c (profiles of Pollux: rigid and elastic). */
#ifndef WZ_SIM_ROUNDS_INT_H
#define WZ_SIM_ROUNDS_INT_H

#include "sim/rounds.h"
#include "sim/run_int.h"
#include "solver/share.h"

#define WZ_ROUNDS_TYPES_MAX WZ_SHARE_TYPES_MAX

/* What all loops keep; times in microseconds, work in millionths of steps. */
struct wz_rounds {
	const struct wz_run_input *in;
	const struct wz_run_options *o;
	const struct wz_mem *mem;
	struct wz_run_outcome *out;
	uint32_t types;
	uint16_t model[WZ_ROUNDS_TYPES_MAX]; /* of the catalogue */
	uint32_t devices[WZ_ROUNDS_TYPES_MAX];
	int64_t (*speed)[WZ_ROUNDS_TYPES_MAX]; /* [n] steps a second x 10^6; 0: does not run there */
	int64_t *best;       /* [n] the largest of them */
	int64_t *work;       /* [n] steps; -1 what the loop knows better */
	uint64_t digest, decisions, events;
	struct wz_run_latency latency;
	double held_gpu_us, window_gpu_us, lost_gpu_us, work_gpu_us;
	double energy_mw_us, cost_musd_us; /* by device type: full power and price of what is held */
};

int wz_rounds_open(struct wz_rounds *s, const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err);
void wz_rounds_close(struct wz_rounds *s);
/* Job j held its devices of type t in [from, to). */
void wz_rounds_held(struct wz_rounds *s, uint32_t j, uint32_t t, uint32_t gpus, int64_t from, int64_t to);
void wz_rounds_note(struct wz_rounds *s, unsigned what, uint32_t j, int64_t at);
int wz_rounds_figures(struct wz_rounds *s, struct wz_run_result *ret, struct wz_err *err);

int wz_rounds_gavel(struct wz_rounds *s, struct wz_err *err);
int wz_rounds_types(struct wz_rounds *s, struct wz_err *err);
int wz_rounds_elastic(struct wz_rounds *s, struct wz_err *err);

#endif
