/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a workload, each into a new one: a part of it, faster or larger, several as one, without names. */
#ifndef WZ_SIM_EDIT_H
#define WZ_SIM_EDIT_H

#include "sim/workload.h"

struct wz_edit {
	struct wz_str queue;      /* only of this queue; empty: all */
	int64_t from_us, to_us;   /* submissions in [from, to); 0: to the end */
	uint32_t first, last;     /* after that, tasks first..last-1 in the order of the trace; last 0: all */
	bool shift;               /* the first submission becomes 0 */
	int64_t time_milli;       /* submissions come at so many thousandths of their times; 1000: as they are */
	int64_t run_milli;        /* run times likewise */
	bool anonymous;           /* names of jobs, users, queues and templates become words made of the seed */
	uint64_t seed;
	struct wz_str prefix;     /* before names and nothing else: for merging */
};

/* Appends what is left of `from` to `to`. Errors of wz_sim_tasks_add. */
int wz_edit_tasks(const struct wz_sim_tasks *from, const struct wz_edit *e, struct wz_sim_tasks *to, struct wz_err *err);

#endif
