/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: "lr=0.1,0.01", "seed=1..5" or "n=0..100:10"; each combination of several is one task, the last one turning
 * fastest. And what a task has of its own, NAME=VALUE one a line, put where {NAME} or ${NAME} stands in an argument;
 * other braces stay as they are. Pure; fuzzed. */
#ifndef WZ_JOBSPEC_PARAMS_H
#define WZ_JOBSPEC_PARAMS_H

#include "base/buf.h"
#include "base/err.h"

#define WZ_SWEEP_AXES_MAX 16u
#define WZ_PARAM_NAME_MAX 64u

struct wz_sweep {
	uint32_t n;
	uint64_t count; /* the product */
	struct wz_sweep_axis {
		struct wz_str name, values; /* views of the text */
		uint32_t count;
		bool range;
		int64_t from, step;
	} axis[WZ_SWEEP_AXES_MAX];
};

/* Adds one axis. -EINVAL "BadSweep", -E2BIG "TooManyTasks". On an error *s is as it was. */
int wz_sweep_add(struct wz_sweep *s, struct wz_str text, struct wz_err *err);
/* The lines of task k < count: "lr=0.1\nseed=3\n". O(text). */
void wz_sweep_params(const struct wz_sweep *s, uint64_t k, struct wz_buf *b);

bool wz_param_name_ok(struct wz_str name); /* a letter or '_', then letters, digits, '_' */
/* Appends `text` with the params put in. O(text x params). */
void wz_params_expand(struct wz_str text, struct wz_str params, struct wz_buf *b);

#endif
