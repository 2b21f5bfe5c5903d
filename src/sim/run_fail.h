/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of nodes and of single devices. Nodes: each node works for an exponential time with mean mtbf and is away for mttr. What ran there stops at
 * once, keeps its last checkpoint, and waits again. Placement `any` has no nodes: there the last jobs of the order give way
 * until a node's worth of devices is free. Devices: see run_fail_device.c. With a trace of spot availability, nodes come and go as it says instead. */
#ifndef WZ_SIM_RUN_FAIL_H
#define WZ_SIM_RUN_FAIL_H

#include "base/rng.h"
#include "sim/run_int.h"

struct wz_run_away {
	int64_t back_us;
	uint32_t node, index;
};

struct wz_run_device_faults {
	const struct wz_mem *mem;
	struct wz_rng rng;
	int64_t next_us; /* the next failure of any; WZ_ORDER_NEVER: none fails */
	uint32_t n, devices; /* nodes, and devices of all */
	uint32_t *first; /* [n + 1] number of a node's first device */
	uint64_t *dead; /* [n] which of a node are away */
	struct wz_run_away *away; /* [devices] ring, soonest back first */
	uint32_t head, n_away;
};

struct wz_run_faults {
	const struct wz_mem *mem;
	struct wz_rng rng;
	int64_t *at_us; /* [n] of a node's next change */
	bool *down;
	uint32_t n, next;
	struct wz_run_device_faults device;
};

int wz_run_faults_open(struct wz_run_faults *f, const struct wz_run_state *s, struct wz_err *err);
void wz_run_faults_close(struct wz_run_faults *f);
int64_t wz_run_faults_next(const struct wz_run_faults *f);
bool wz_run_faults_down(const struct wz_run_faults *f); /* is a node or device away that will come back? */
int wz_run_faults_take(struct wz_run_faults *f, struct wz_run_state *s, struct wz_err *err); /* all due by s->now */

/* ---- run_fail_device.c ---- */
int wz_run_device_faults_open(struct wz_run_device_faults *f, const struct wz_run_state *s, struct wz_err *err);
void wz_run_device_faults_close(struct wz_run_device_faults *f);
int64_t wz_run_device_faults_next(const struct wz_run_device_faults *f);
int wz_run_device_faults_take(struct wz_run_faults *all, struct wz_run_state *s, struct wz_err *err);
int wz_run_strike(struct wz_run_state *s, uint32_t j, struct wz_err *err); /* a failure stops a job */

#endif
