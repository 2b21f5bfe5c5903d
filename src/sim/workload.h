/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster and a list of work in memory, whatever they came from: a trace, a generator, a recorded history.
 *
 * Nodes are the very facts that the core's NODE_JOINED event takes; what is submitted is a `wz_sim_task` with a profile
 * of the core. "Task" here is one submission: a gang's number of tasks is in its profile (tasks_min, tasks_max). Jobs that
 * ask the same share one profile, so a million of them stay small.
 *
 * Everything is owned by the two structs (one arena each); views live as long. Model ids are those of one catalogue.
 * A second core replays `wz_sim_nodes_declare` on its own catalogue and then may use the same facts and profiles. The
 * structs are read-only after reading and may be shared by threads. On any error the struct is still releasable. */
#ifndef WZ_SIM_WORKLOAD_H
#define WZ_SIM_WORKLOAD_H

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/catalogue.h"
#include "core/event.h"
#include "core/profile.h"

#define WZ_SIM_TASKS_MAX (1u << 24)
#define WZ_SIM_NAME_MAX 253u /* bytes of a name: what Kubernetes allows */
#define WZ_SIM_TIME_MAX_US ((int64_t)100 * 366 * 86400 * 1000000) /* a century */

/* A device model that nodes or requests name, in order of first appearance. */
struct wz_sim_model {
	struct wz_str name; /* as written in the trace */
	bool has_facts; /* declared with facts by the trace */
	struct wz_model facts; /* strings inside live as long as the struct */
	wz_model_id id;
};

struct wz_sim_nodes {
	const struct wz_mem *mem;
	struct wz_catalogue *catalogue; /* borrowed; models are declared in it */
	struct wz_arena arena;
	struct wz_ev_node *node; /* [n]; node[i].node.v is i */
	uint32_t n, cap;
	struct wz_sim_model *model; /* [n_models] */
	uint32_t n_models, model_cap;
	struct wz_strtab names, model_names; /* ids are indices of node and model */
};

struct wz_sim_task {
	struct wz_str name, user, queue; /* empty: none */
	struct wz_str gpu_spec; /* the literal model list of the trace: "V100M16|V100M32"; empty: any */
	/* of one task, a summary of the profile: */
	int64_t cpu_milli, mem_bytes;
	uint32_t gpus, milli; /* devices, and compute milli of each (1000: whole); 0, 0: none */
	bool any_model;
	struct wz_model_set allowed; /* looked at when !any_model */
	uint32_t profile; /* index into wz_sim_tasks.profile */
	int32_t priority;
	/* since the trace began; -1: not known */
	int64_t submit_us, start_us, end_us;
	int64_t run_us; /* how long it works when it gets what it asks; else end - start, else -1 */
	struct wz_str template_; /* what runs: jobs of one template are alike (model, script); empty: not known */
	bool pinned; /* is never preempted */
	int64_t steps; /* of work, where the trace has speeds; 0: not known */
	uint32_t speeds; /* index into wz_sim_tasks.speeds; 0: none */
	uint32_t app; /* with profiles: application + 1 (sim/elastic.h); 0: none */
	uint32_t batch; /* its batch size there */
	int64_t restart_us; /* what a restart costs it; 0: not known */
	struct wz_str load; /* of a service: replicas that its target takes over time, "0s:2,6h:5"; empty: tasks_min for ever */
};

/* How fast a job works on each device model: steps a second x 10^6. */
#define WZ_SIM_SPEEDS_MAX 8u
struct wz_sim_speeds {
	uint32_t n;
	struct { struct wz_str model; int64_t micro; } type[WZ_SIM_SPEEDS_MAX];
};

struct wz_sim_tasks {
	const struct wz_mem *mem;
	struct wz_arena arena;
	struct wz_sim_task *task; /* [n], in the order of the trace */
	uint32_t n, cap;
	struct wz_profile *profile; /* [n_profiles] */
	uint32_t n_profiles, profile_cap;
	struct wz_strtab names, profile_keys;
	struct wz_sim_speeds *speeds; /* [n_speeds]; 0 is none */
	uint32_t n_speeds, speeds_cap;
	struct wz_strtab speed_keys; /* "job type/gpus": id + 1 is the index in speeds */
	struct wz_elastic *elastic; /* profiles of elastic jobs (sim/elastic.h); owned; NULL */
	uint32_t *spot; /* [n_spot] spot nodes that there are in each gap of spot_gap_us */
	uint32_t n_spot, spot_cap;
	int64_t spot_gap_us;
	int64_t epoch_us; /* the trace's start since 1970, UTC; 0: not known */
};

void wz_sim_nodes_init(struct wz_sim_nodes *s, const struct wz_mem *mem, struct wz_catalogue *catalogue);
void wz_sim_nodes_release(struct wz_sim_nodes *s);
void wz_sim_tasks_init(struct wz_sim_tasks *s, const struct wz_mem *mem);
void wz_sim_tasks_release(struct wz_sim_tasks *s);

/* The id of a model by its name in the trace; a new one is declared in the catalogue (facts may be NULL; strings are
 * copied). -EINVAL (empty, too long), -E2BIG, -ENOMEM. */
int wz_sim_nodes_model(struct wz_sim_nodes *s, struct wz_str name, const struct wz_model *facts, wz_model_id *ret,
        struct wz_err *err);
const struct wz_sim_model *wz_sim_nodes_find_model(const struct wz_sim_nodes *s, struct wz_str name); /* or NULL */
struct wz_str wz_sim_nodes_model_name(
        const struct wz_sim_nodes *s, wz_model_id id); /* as in the trace; "" unknown */

/* Adds to *set the models of a '|'-joined list ("V100M16|V100M32"), by their names in the trace. A name that no node has is
 * -ENOENT "UnknownModel" with the nearest; but when there is no node at all, models are taken as they come. An empty part
 * is -EBADMSG "BadList". */
int wz_sim_nodes_spec(struct wz_sim_nodes *s, struct wz_str spec, struct wz_model_set *set, struct wz_err *err);

/* Declares the same models in another catalogue that holds only the compiled-in ones. -EINVAL when the ids would
 * differ. */
int wz_sim_nodes_declare(const struct wz_sim_nodes *s, struct wz_catalogue *catalogue, struct wz_err *err);

/* Appends a node: devices, labels and strings are copied, the id is set. Checks names and limits. Reasons:
 * "DuplicateName", "BadName", "OutOfRange", "TooMany", "OutOfMemory". */
int wz_sim_nodes_add(struct wz_sim_nodes *s, const struct wz_ev_node *facts, struct wz_err *err);

/* A profile by a key that says all about it (usually its text): WZ_NONE when it was not added yet. */
uint32_t wz_sim_tasks_find_profile(const struct wz_sim_tasks *s, struct wz_str key);
int wz_sim_tasks_add_profile(
        struct wz_sim_tasks *s, struct wz_str key, const struct wz_profile *p, uint32_t *ret, struct wz_err *err);

/* Appends a copy of *t; the summary is filled from its profile (any_model and allowed too, unless gpu_spec is given).
 * The same reasons. */
int wz_sim_tasks_add(struct wz_sim_tasks *s, const struct wz_sim_task *t, struct wz_err *err);
static inline const struct wz_profile *wz_sim_task_profile(
        const struct wz_sim_tasks *s, const struct wz_sim_task *t)
{
	return &s->profile[t->profile];
}

/* Sums. For tasks: gpu_milli is devices x milli x tasks_min. Saturating. */
struct wz_sim_totals {
	uint64_t gpus, gpu_milli, cpu_milli, mem_bytes;
};
struct wz_sim_totals wz_sim_nodes_totals(const struct wz_sim_nodes *s);
struct wz_sim_totals wz_sim_tasks_totals(const struct wz_sim_tasks *s);

/* A digest of everything that a reader could see (names, facts, times, profiles by their text); the same on every
 * machine. *ret untouched on -ENOMEM. */
int wz_sim_digest(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, uint64_t *ret);

/* A load curve: TIME:REPLICAS,... with rising times from 0s on. -EBADMSG "BadLoad". */
int wz_sim_load_check(struct wz_str load, struct wz_err *err);
/* The next step of a curve: 1, or 0 at the end. *rest starts as the whole curve. */
int wz_sim_load_next(struct wz_str *rest, int64_t *ret_us, uint32_t *ret_replicas);

/* Times since 1970 of the tasks from `from` on become times since the trace's start, which becomes `first_us` unless it is known. */
void wz_sim_tasks_rebase(struct wz_sim_tasks *s, uint32_t from, int64_t first_us);

/* The speeds of a job type with so many devices: appended, or found. `key` is unique for both. -E2BIG, -ENOMEM. */
int wz_sim_tasks_speed(struct wz_sim_tasks *s, struct wz_str key, struct wz_str model, int64_t micro, struct wz_err *err);
uint32_t wz_sim_tasks_find_speeds(const struct wz_sim_tasks *s, struct wz_str key); /* 0: none */

#endif
