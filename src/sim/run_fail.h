/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of nodes: each node works for an exponential time with mean mtbf and is away for mttr. What ran there stops at
 * once, keeps its last checkpoint, and waits again. Placement `any` has no nodes: there the last jobs of the order give way
 * until a node's worth of devices is free. With a trace of spot availability, nodes come and go as it says instead. */
#ifndef WZ_SIM_RUN_FAIL_H
#define WZ_SIM_RUN_FAIL_H

#include "base/rng.h"
#include "sim/run_int.h"

struct wz_run_faults {
	const struct wz_mem *mem;
	struct wz_rng rng;
	int64_t *at_us; /* [n] of a node's next change */
	bool *down;
	uint32_t n, next;
	uint64_t count;
};

int wz_run_faults_open(struct wz_run_faults *f, const struct wz_run_state *s, struct wz_err *err);
void wz_run_faults_close(struct wz_run_faults *f);
static inline int64_t wz_run_faults_next(const struct wz_run_faults *f)
{
	return f->n ? f->at_us[f->next] : WZ_ORDER_NEVER;
}
bool wz_run_faults_down(const struct wz_run_faults *f); /* is a node away that will come back? */
int wz_run_faults_take(struct wz_run_faults *f, struct wz_run_state *s, struct wz_err *err); /* all due by s->now */

#endif
