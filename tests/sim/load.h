/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of src/sim share: a workload read from texts, and the place of the source tree. */
#ifndef WZ_TESTS_SIM_LOAD_H
#define WZ_TESTS_SIM_LOAD_H

#include "sim/formats.h"

struct load {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	bool ready; /* the catalogue was made */
};

static inline int load_init(struct load *l, const struct wz_mem *mem)
{
	int rc = wz_catalogue_init(&l->catalogue, mem);
	l->ready = rc == 0;
	wz_sim_nodes_init(&l->nodes, mem, &l->catalogue);
	wz_sim_tasks_init(&l->tasks, mem);
	return rc;
}

static inline void load_release(struct load *l)
{
	wz_sim_tasks_release(&l->tasks);
	wz_sim_nodes_release(&l->nodes);
	if (l->ready)
		wz_catalogue_release(&l->catalogue);
}

/* Reads `a`, then `b` when it is not NULL; they are called "a" and "b" in errors. */
static inline int load_texts(struct load *l, struct wz_str a, const struct wz_str *b, struct wz_err *err)
{
	struct wz_trace_source src[2] = {{WZ_STR("a"), a}, {WZ_STR("b"), b ? *b : WZ_STR("")}};
	return wz_trace_read(src, b ? 2 : 1, NULL, &l->nodes, &l->tasks, err);
}

/* $WZ_SOURCE_ROOT/REST, or ./REST. */
static inline const char *source_path(char *to, size_t size, const char *rest)
{
	const char *root = getenv("WZ_SOURCE_ROOT");
	(void)snprintf(to, size, "%s/%s", root ? root : ".", rest);
	return to;
}

#endif
