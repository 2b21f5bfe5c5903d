/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded workloads from published marginals. The same options give the same bytes on every machine: integers only, one
 * generator, no clock. What each preset copies, and from where, is said at its tables in gen.c.
 *
 *	openb  node types and pods of Alibaba's GPU-sharing cluster (default list): shares, single GPUs, few of several
 *	lab    a few machines of mixed cards, small jobs of several users, run times with Philly's heavy tail
 *	jobs   for wz sim run: templates of users with a size and a typical run time, hours of the day, a service
 *	llm    8-GPU NVLink nodes in racks: gangs of 8 to 512 GPUs, elastic jobs, services, many short trials */
#ifndef WZ_SIM_GEN_H
#define WZ_SIM_GEN_H

#include "sim/workload.h"

struct wz_gen_options {
	uint32_t nodes, jobs; /* 0: the preset's */
	uint64_t seed;
	uint64_t gap_us; /* mean time between submits; 0: the preset's */
	bool unequal_mem; /* devices of one model differ in memory, and some jobs ask for memory */
};

struct wz_gen_preset {
	const char *name, *summary;
	uint32_t nodes, jobs;
	uint64_t gap_us;
	int (*nodes_fn)(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err);
	int (*jobs_fn)(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
	        struct wz_err *err);
};

extern const struct wz_gen_preset wz_gen_presets[]; /* ends with a NULL name */
const struct wz_gen_preset *wz_gen_find(struct wz_str name, struct wz_err *err); /* NULL: err has the names */

/* Appends nodes and jobs to empty structs. -E2BIG (over WZ_NODES_MAX or WZ_SIM_TASKS_MAX), -ENOMEM. */
int wz_gen(const struct wz_gen_preset *p, const struct wz_gen_options *o, struct wz_sim_nodes *nodes,
        struct wz_sim_tasks *tasks, struct wz_err *err);

#endif
