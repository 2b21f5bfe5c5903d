/* SPDX-License-Identifier: Apache-2.0 */
/* A core driven as any body drives it: nodes join, the workload is stated, then events, a step, effects, hands, and
 * acknowledgements. Experiments (pack.c, churn.c) are loops around this; it also holds the measure of fragments on the
 * typical workload, which policies that are not defined with it never see. One thread; memory is of the run. */
#ifndef WZ_SIM_DRIVE_H
#define WZ_SIM_DRIVE_H

#include "core/core.h"
#include "core/draw.h"
#include "sim/arrive.h"
#include "sim/enact.h"
#include "sim/workload.h"

struct wz_frag;

struct wz_drive_options {
	const char *placement; /* NULL: the default */
	uint64_t seed;         /* node order, random draws of the core and of the hands */
	bool no_index;
	bool track;            /* keep frag_sum up to date with every start, at the cost of two measures each */
	bool movable;          /* all work may be moved, and loses nothing but the time to start again */
	bool draw;             /* keep `draw` up to date in the same way */
	struct wz_enact_options faults; /* zero: perfect hands */
	struct wz_core_watch watch; /* of the core: for a journal */
	/* Called before a start is applied, on the state that it was decided on; NULL. Negative ends the run. */
	int (*before)(void *ctx, const struct wz_effect *e, struct wz_err *err);
	void *before_ctx;
};

struct wz_drive {
	const struct wz_sim_nodes *nodes;   /* these three are borrowed */
	const struct wz_sim_tasks *tasks;
	const struct wz_typicals *typical;
	const struct wz_mem *mem;
	struct wz_core *core;
	struct wz_plan plan;      /* of the last step, applied and enacted */
	struct wz_enact enact;
	struct wz_frag *frag;     /* the measure */
	int64_t frag_sum;         /* W x F over the cluster; with `track` after every start, else as of wz_drive_measure */
	struct wz_draw_sum draw;  /* what all nodes draw and cost; likewise */
	uint64_t time_us;         /* the clock, set by the experiment */
	bool track, track_draw, movable;
	int (*before)(void *ctx, const struct wz_effect *e, struct wz_err *err);
	void *before_ctx;
	bool faulty;              /* faulty: hands make mistakes, what is held must be looked up */
};

/* Joins the nodes and states the typical workload. -ENOENT: no such policy; -ENOMEM. Releasable after any error. */
int wz_drive_open(struct wz_drive *d, const struct wz_drive_options *o, struct wz_err *err);
void wz_drive_close(struct wz_drive *d);

/* The policy learns a mix from work that comes, in an order by the seed, and is withdrawn before anything is decided. */
int wz_drive_teach(struct wz_drive *d, const struct wz_sim_tasks *lessons, uint64_t seed, struct wz_err *err);
int wz_drive_submit(struct wz_drive *d, const struct wz_sim_task *t, uint64_t job, struct wz_err *err);
int wz_drive_cancel(struct wz_drive *d, uint64_t job, struct wz_err *err);
/* Every task of the job ends by itself. A job that is not there is not an error. */
int wz_drive_end(struct wz_drive *d, uint64_t job, struct wz_err *err);
/* Acknowledgements due, a step, its plan applied and enacted; d->plan says what was started. */
int wz_drive_step(struct wz_drive *d, struct wz_err *err);
bool wz_drive_started(const struct wz_drive *d, uint64_t job); /* by the last step */

void wz_drive_measure(struct wz_drive *d);            /* frag_sum and draw from scratch: O(nodes x targets) */
double wz_drive_fragment_milli(const struct wz_drive *d); /* frag_sum in milli of devices */

/* Joins nodes to a core (also used by the bench). */
int wz_drive_join(struct wz_core *c, const struct wz_sim_nodes *nodes, struct wz_err *err);

/* CPU of decisions: this thread's CPU since the start, in the part of the elapsed time that was theirs. Reading the CPU
 * clock twice a decision would cost as much as the decision; elapsed time alone counts what others do on a busy machine. */
struct wz_drive_watch { uint64_t cpu_ns, elapsed_ns; };
struct wz_drive_watch wz_drive_watch_start(void);
uint64_t wz_drive_watch_cpu(const struct wz_drive_watch *w, uint64_t decisions_ns);

#endif
