/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs of the churn experiment: placements x seeds on one input at one load, in parallel, and their summary.
 *
 * The unit of a confidence interval is the run when there are several seeds, the batch of the window when there is one
 * (batches of one run are correlated, so that interval is too narrow under lives with heavy tails). Differences are taken
 * unit by unit against the first placement, which saw the same arrivals. */
#ifndef WZ_SIM_CHURNSET_H
#define WZ_SIM_CHURNSET_H

#include "sim/churn.h"
#include "sim/figures.h"

#include <stdatomic.h>

struct wz_churnset {
	const struct wz_pack_input *in;
	struct wz_str trace;           /* name shown */
	const char *const *placement;  /* [n_placements]; the others are compared with the first */
	uint32_t n_placements;
	uint64_t seed_from, seed_to;   /* inclusive */
	struct wz_churn_options base;  /* placement and seed are filled for each run */
	uint32_t workers;
	struct wz_churn_result *result; /* [n_placements x seeds], placement-major; owned */
	void (*progress)(void *ctx, uint32_t done, uint32_t all); /* as in wz_packset */
	void *progress_ctx;
	const atomic_int *stop;
};

uint32_t wz_churnset_runs(const struct wz_churnset *s);
int wz_churnset_run(struct wz_churnset *s, const struct wz_mem *mem, struct wz_err *err);
void wz_churnset_release(struct wz_churnset *s, const struct wz_mem *mem);

/* What is measured. From REFUSED_JOBS on it is of a class, or of all that take devices (WZ_CHURN_CLASSES). */
enum wz_churn_metric {
	WZ_CHURN_ALLOCATED,     /* percent of capacity */
	WZ_CHURN_CPU_ALLOCATED,
	WZ_CHURN_FRAGMENTED,    /* percent of capacity */
	WZ_CHURN_FRAG_RATIO,    /* percent of what is idle */
	WZ_CHURN_REFUSED_JOBS,  /* percent of the class's jobs */
	WZ_CHURN_REFUSED_HOURS, /* percent of the class's device-hours (cpu: CPU-hours), each job at the mean life */
	WZ_CHURN_REFUSED_DRAWN, /* the same with the lives drawn: unbiased too, and much noisier */
	WZ_CHURN_WAIT_MEAN,     /* minutes; not of a batch */
	WZ_CHURN_WAIT_P95,      /* minutes; of one class, not of a batch */
	WZ_CHURN_METRICS
};
extern const char *const wz_churn_metric_name[WZ_CHURN_METRICS]; /* as in --jsonl */

/* Of one batch, or of the whole window (WZ_CHURN_BATCHES). NAN when nothing of the class arrived. */
double wz_churn_value(const struct wz_churn_result *r, enum wz_churn_metric m, unsigned class, unsigned batch);
struct wz_interval wz_churnset_mean(const struct wz_churnset *s, uint32_t placement, enum wz_churn_metric m, unsigned class);
/* That of the placement less that of the first. */
struct wz_interval wz_churnset_difference(const struct wz_churnset *s, uint32_t placement, enum wz_churn_metric m,
                                          unsigned class);

/* One JSON object and a newline for a run, and for the summary of a placement: the contract of `wz sim churn --jsonl`. */
void wz_churnset_jsonl_run(const struct wz_churnset *s, uint32_t run, struct wz_buf *b);
void wz_churnset_jsonl_summary(const struct wz_churnset *s, uint32_t placement, struct wz_buf *b);
void wz_churnset_table(const struct wz_churnset *s, struct wz_buf *b);
/* trace,load_pct,placement,seed,batch,class,arrived,refused,asked_milli,refused_milli,allocated_pct,fragmented_pct */
void wz_churnset_csv(const struct wz_churnset *s, bool header, struct wz_buf *b);

#endif
