/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of one trace under several orders and seeds, and how they compare. */
#ifndef WZ_SIM_RUNSET_H
#define WZ_SIM_RUNSET_H

#include "base/buf.h"
#include "sim/run.h"

struct wz_runset_order {
	const struct wz_order_rule *rule;
	int64_t param[WZ_ORDER_PARAMS_MAX];
};

struct wz_runset {
	struct wz_str trace, predict; /* names, for output */
	const struct wz_run_input *in;
	struct wz_run_options base; /* all but order and seed */
	const struct wz_runset_order *order;
	uint32_t n_orders;
	uint64_t seed_from, seed_to;
	struct wz_run_result *result; /* [orders][seeds] */
	const struct wz_mem *mem;
};
static inline uint32_t wz_runset_seeds(const struct wz_runset *s)
{
	return (uint32_t)(s->seed_to - s->seed_from + 1);
}
int wz_runset_run(struct wz_runset *s, const struct wz_mem *mem, struct wz_err *err);
void wz_runset_release(struct wz_runset *s);

void wz_runset_jsonl(
        const struct wz_runset *s, uint32_t order, uint32_t seed, struct wz_buf *b); /* one line: the contract */
void wz_runset_table(const struct wz_runset *s, struct wz_buf *b); /* for people: means over seeds, intervals */
void wz_runset_jobs_csv(const struct wz_runset *s, bool header, struct wz_buf *b); /* every job of every run */

/* One page: distributions of completion times, when each job of the first seed ran, the table and the comparison. Plain HTML and SVG. */
void wz_runset_html(const struct wz_runset *s, struct wz_buf *b);

/* Paired bootstrap over jobs (and seeds): how the mean JCT of each order compares to the first's, with a 95 % interval. */
struct wz_runset_pair {
	double ratio, low, high;
};
#define WZ_RUNSET_RESAMPLES 2000u
int wz_runset_compare(const struct wz_runset *s, uint32_t order, struct wz_runset_pair *ret, struct wz_err *err);

#endif
