/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs of the experiment: placements x seeds on one input, in parallel, and their summary. */
#ifndef WZ_SIM_PACKSET_H
#define WZ_SIM_PACKSET_H

#include "base/buf.h"
#include "sim/pack.h"

#include <stdatomic.h>

struct wz_packset {
	const struct wz_pack_input *in;
	struct wz_str trace;              /* name shown */
	const char *const *placement;     /* [n_placements] */
	uint32_t n_placements;
	uint64_t seed_from, seed_to;      /* inclusive */
	struct wz_pack_options base;      /* placement and seed are filled for each run */
	uint32_t workers;
	struct wz_pack_result *result;    /* [n_placements x seeds], placement-major; owned */
	/* Called (from any thread, one at a time not guaranteed) after each run: runs done so far. NULL: none. */
	void (*progress)(void *ctx, uint32_t done, uint32_t all);
	void *progress_ctx;
	const atomic_int *stop;           /* set to end early: -EINTR */
};

uint32_t wz_packset_runs(const struct wz_packset *s);
int wz_packset_run(struct wz_packset *s, const struct wz_mem *mem, struct wz_err *err);
void wz_packset_release(struct wz_packset *s, const struct wz_mem *mem);

/* Mean and sample deviation over the seeds of a placement at one point of a curve; NAN where nothing arrived. */
struct wz_spread { double mean, sd, min, max; uint32_t n; };
enum wz_curve {
	WZ_CURVE_ALLOCATED, WZ_CURVE_FRAGMENTED, WZ_CURVE_FRAG_RATIO, WZ_CURVE_POWER, WZ_CURVE_PRICE
};
struct wz_spread wz_packset_point(const struct wz_packset *s, uint32_t placement, enum wz_curve curve, unsigned percent);

extern const unsigned wz_pack_points[8]; /* 50 90 95 98 100 110 120 130 */

/* One JSON object and a newline: the contract of `wz sim pack --jsonl`. */
void wz_packset_jsonl(const struct wz_packset *s, uint32_t run, struct wz_buf *b);
uint32_t wz_packset_name_width(const struct wz_packset *s); /* of the first column of the tables */
/* Power and price at the points of the table, and against what is allocated; runs with `draw`. */
void wz_packset_draw_table(const struct wz_packset *s, struct wz_buf *b);
/* A JSON line a placement: {"trace","placement","power_w":{...},"price_usd_h":{...}}, means over the seeds. */
void wz_packset_draw_jsonl(const struct wz_packset *s, struct wz_buf *b);
/* The table for people; `width` 0: not limited. */
void wz_packset_table(const struct wz_packset *s, struct wz_buf *b);
/* CSV: trace,placement,seed,arrived_pct,allocated_pct,fragmented_pct,frag_ratio_pct: a line a run and point. */
void wz_packset_csv(const struct wz_packset *s, bool header, struct wz_buf *b);

#endif
