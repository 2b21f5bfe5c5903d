/* SPDX-License-Identifier: Apache-2.0 */
/* An upper bound on the GPU that any placement could hold, by linear programming.
 *
 * Question: nodes of these types, and tasks of these shapes have arrived. What is the most GPU (in milli) that a
 * placement with free choice of whom to refuse could hold, if tasks could be cut into fractions and the CPU of all nodes
 * of one type were one pool? No policy can hold more. Two refinements: shapes that must all be served (CPU-only tasks,
 * which nobody refuses), and a prefix of the arrivals that must be held (a scheduler that never refuses what fits
 * holds all that arrived while there was room). docs/internals/solver.md has the model, what it relaxes, and the
 * reproduced numbers (reference/fragmentation.md section 5).
 *
 * The value is safe: it is summed up here from dual prices of the right sign, raised until no column has profit left. An inaccurate or stopped solver makes it larger, never too small. It is then rounded down to a milli,
 * since placements hold whole milli.
 *
 * Threads: no shared state; one call is one thread. Nothing is printed, no clock is read. Complexity: one LP of about
 * (types x shapes) columns and as many rounds of column generation as it takes (openb: 3 to 10, 50 ms), limited by `iterations`.
 * CLP allocates with C++ new, outside of the vtable. Without CLP at build time wz_bound_solve returns -EOPNOTSUPP. */
#ifndef WZ_SOLVER_BOUND_H
#define WZ_SOLVER_BOUND_H

#include "base/err.h"
#include "base/mem.h"
#include "core/types.h"

#define WZ_BOUND_NODE_TYPES_MAX 1024u /* after equal ones are merged */
#define WZ_BOUND_SHAPES_MAX 16384u /* after equal ones are merged */
#define WZ_BOUND_ENTRIES_MAX (1u << 20) /* of either array as given */
#define WZ_BOUND_PAIRS_MAX (1u << 20) /* node types x shapes, and node types x share sizes */
#define WZ_BOUND_COUNT_MAX (1u << 24) /* nodes of an entry, tasks of an entry */
/* The default work limit of a phase: iterations x rows, but at least so many iterations. */
#define WZ_BOUND_WORK_DEFAULT 400000000u
#define WZ_BOUND_ITERATIONS_MIN 50000u
#define WZ_BOUND_ITERATIONS_MAX 1000000000u

/* `count` equal nodes. */
struct wz_bound_node {
	int64_t cpu_milli, mem_bytes; /* 0..WZ_CPU_MILLI_MAX, 0..WZ_BYTES_MAX */
	uint32_t model; /* of its devices: < WZ_MODELS_MAX; ignored when gpus is 0 */
	uint32_t gpus; /* 0..WZ_NODE_DEVICES_MAX */
	uint32_t count;
};

/* `demand` equal tasks that have arrived. */
struct wz_bound_shape {
	int64_t cpu_milli, mem_bytes;
	uint32_t devices; /* 0: CPU only */
	uint32_t milli; /* of each device: 1..1000; 0 when devices is 0 */
	bool any_model; /* true: `allowed` is not looked at */
	bool forced; /* all of `demand` must be served */
	struct wz_model_set allowed;
	uint32_t demand;
	uint32_t held; /* the part of `demand` that arrived before the prefix ended and must be held; <= demand */
};

struct wz_bound_in {
	const struct wz_bound_node *node; /* borrowed; equal entries are merged */
	const struct wz_bound_shape *shape;
	uint32_t n_nodes, n_shapes;
	/* When what must be served cannot be: false: -ENOSPC. true: answer the weaker question, first without `held`,
	 * then without `forced` too; wz_bound.dropped says so. */
	bool fallback;
	uint32_t
	        iterations; /* work limit: simplex iterations of each of at most six phases; 0: by WZ_BOUND_WORK_DEFAULT */
};

/* Dual prices: by how much the bound grows for one more unit, in micro-GPU (1e-6 of a device), never negative but for
 * `task_ugpu`. Equal entries have equal prices. A vertex of a degenerate LP: prices are not unique; smooth them. */
struct wz_bound_node_price {
	int64_t cpu_ugpu; /* per vCPU (1000 milli) of this node type */
	int64_t mem_ugpu; /* per GiB */
	int64_t device_ugpu; /* per device */
};
struct wz_bound_shape_price {
	int64_t task_ugpu; /* per task that arrives; negative where serving it is forced and costs others more */
	bool fits; /* one empty node could hold it */
};

enum wz_bound_status {
	WZ_BOUND_OPTIMAL, /* the LP's optimum, within one milli or 1e-7 of it */
	WZ_BOUND_LOOSE, /* stopped early (work limit, or the solver gave up): valid, but not the least */
};
enum wz_bound_dropped { WZ_BOUND_DROPPED_HELD = 1, WZ_BOUND_DROPPED_FORCED = 2 };

struct wz_bound {
	enum wz_bound_status status;
	unsigned dropped; /* bits of enum wz_bound_dropped; 0 without fallback */
	int64_t bound_milli; /* at most capacity and demand */
	int64_t capacity_milli; /* of all nodes */
	int64_t demand_milli; /* of all shapes */
	int64_t percent_e6; /* 100 x bound / capacity, times 1e6, rounded up; 0 when the capacity is 0 */
	uint64_t unfit_tasks; /* tasks that no empty node can hold: they count as refused, forced or held or not */
	uint32_t node_types, shapes, share_sizes; /* after merging */
	uint32_t rows, columns, rounds, iterations; /* of the last LP */
};

/* Whether this build can solve, and with what (CLP's version, "1.17.6", or why not). The text is static. */
bool wz_bound_available(const char **ret_what);

/* Solves. `mem` serves scratch only. `ret_node` (n_nodes) and `ret_shape` (n_shapes) receive prices and may be NULL.
 * 0, or, with nothing written:
 * -EINVAL "BoundInput"      an entry out of range; the text names it
 * -E2BIG "BoundTooLarge"    a limit above
 * -ENOSPC "PrefixInfeasible", "ForcedInfeasible"  what must be served cannot be, even cut into fractions (proven)
 * -EOPNOTSUPP "NoLpSolver"  built without CLP
 * -ENOMEM "OutOfMemory" */
int wz_bound_solve(const struct wz_bound_in *in, const struct wz_mem *mem, struct wz_bound *ret,
        struct wz_bound_node_price *ret_node, struct wz_bound_shape_price *ret_shape, struct wz_err *err);

#endif
