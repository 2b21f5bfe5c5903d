/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in time: a trace replayed under an order, event by event.
 *
 * Jobs arrive at their submit times and work until their run time is done; the order (core/orders) says who runs, who waits and
 * who gives way; a placement says where. Run times are hidden from orders that are not oracles; what they see is a prediction.
 * The work for an event is that of the jobs that it changes: waiting jobs stand in one ordered set per class of equal demand,
 * and only the first of a class is ever asked whether it fits.
 *
 * Placements: `any` counts devices; `yarn` keeps a job on the fewest nodes, whole nodes first, as the published simulators do
 * (orders marked REPACKS place everything anew at each event there, COUNTS only count); `jigsaw` asks our core.
 *
 * Threads: inputs are shared and read only; one run is one thread. Memory is owned by the results. */
#ifndef WZ_SIM_RUN_H
#define WZ_SIM_RUN_H

#include "core/orders/orders.h"
#include "sim/workload.h"

#include <stdatomic.h>

#define WZ_RUN_EVENTS_MAX ((uint64_t)1 << 34) /* a run that takes more is broken: an order that changes for ever */

/* A job of the trace as the runs see it: those with devices and a run time, sorted by submission. */
struct wz_run_job {
	uint32_t task; /* in the trace */
	uint32_t gpus, milli; /* devices of the whole gang; thousandths of each */
	uint32_t class_; /* equal demand */
	uint32_t user, queue, template_;
	int32_t priority;
	int64_t submit_us, run_us, limit_us;
	int64_t restart_us; /* its own, as the trace says; 0: not known */
	int64_t ckpt_us; /* progress is kept in such steps; 0: all of it */
	bool fixed;
	bool service;           /* has no end */
	bool replica;           /* of a service, while its load takes it: goes before all other work */
};

struct wz_run_input {
	const struct wz_sim_nodes *nodes; /* borrowed */
	const struct wz_sim_tasks *tasks;
	const struct wz_mem *mem;
	struct wz_run_job *job; /* [n] */
	uint32_t n, cap;
	uint32_t n_classes, n_users, n_queues, n_templates;
	int64_t *queue_limit;   /* [queues] milli of devices; NULL: none has one */
	uint32_t left_out; /* jobs without devices or without a run time, or larger than the cluster */
	uint32_t gpus; /* devices of the cluster */
	uint32_t node_gpus; /* of its largest node */
	int64_t from_us, to_us; /* first and last submission */
	int64_t idle_mw, full_mw, price_musd; /* of one device, mean over the cluster; price an hour */
};

struct wz_run_limit { struct wz_str queue; uint32_t gpus; };
#define WZ_RUN_LIMITS_MAX 16u

struct wz_run_select {
	const struct wz_run_limit *limit; /* what jobs of a queue may hold together */
	uint32_t n_limits;
	struct wz_str queue; /* empty: all */
	int64_t from_us, to_us; /* submissions in [from, to); to 0: to the end */
	uint32_t first, last; /* after this selection, jobs first..last-1 by submission; last 0: all */
};
/* -ENOENT "NoJobs", "UnknownQueue"; -ENOMEM. Releasable after any error. */
int wz_run_input_make(struct wz_run_input *in, const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks,
        const struct wz_run_select *select, const struct wz_mem *mem, struct wz_err *err);
void wz_run_input_release(struct wz_run_input *in);

enum wz_run_placement { WZ_RUN_ANY, WZ_RUN_YARN, WZ_RUN_JIGSAW, WZ_RUN_PLACEMENTS };
extern const char *const wz_run_placement_name[WZ_RUN_PLACEMENTS];

enum wz_run_predict { WZ_PREDICT_NONE, WZ_PREDICT_ORACLE, WZ_PREDICT_NOISE, WZ_PREDICT_HISTORY };

struct wz_run_options {
	const struct wz_order_rule *order;
	int64_t param[WZ_ORDER_PARAMS_MAX];
	enum wz_run_predict predict;
	double sigma; /* of the log-normal noise */
	uint64_t unknown_ppm; /* so many jobs per million have no prediction */
	double bias_sigma; /* of a factor that all jobs of a template share */
	uint64_t seed;
	int64_t restart_us; /* devices held without progress at each start but the first; -1: what the trace says */
	enum wz_run_placement placement;
	int64_t mtbf_us, mttr_us; /* of a node; 0: none fails */
	int64_t device_mtbf_us, device_mttr_us; /* of a device; likewise */
	atomic_int *stop;
};

/* What became of one job. */
struct wz_run_outcome {
	int64_t first_start_us, end_us; /* -1: not */
	int64_t held_us, wait_us,
	        lost_us; /* time with devices, without; of the first, what was lost to restarts and failures */
	uint32_t preemptions, node0; /* node0: of its last place; WZ_NONE not known */
	int64_t predict_us;
};

/* A stretch of running, for Gantt charts; kept only when asked. */
struct wz_run_span {
	uint32_t job;
	int64_t from_us, to_us;
};

struct wz_run_result {
	const struct wz_mem *mem;
	struct wz_run_outcome *out; /* [jobs] */
	uint32_t jobs, finished;
	double mean_jct_s, p50_jct_s, p95_jct_s, p99_jct_s, max_jct_s, mean_wait_s, mean_slowdown;
	double makespan_s,
	        utilisation; /* makespan from the first submission; utilisation between first and last submission */
	double preemptions_per_job, lost_gpu_s, energy_kwh, cost;
	double jain, worst_rho,
	        unfair_pct; /* fairness: Jain's index of users' slowdowns; finish-time rho, > 1.05 */
	uint64_t decisions, events, failures, device_failures, digest;
	double cpu_s, p99_us;
	uint32_t service_jobs; double service_pct; /* replicas of services; of the replica-time that load took, what was served */
	double known_pct, covered_pct; /* predictions by history: known; run times within the 80 % band; NAN */
	double held_gpu_s, work_gpu_s; /* conservation: held = work + lost */
};
int wz_run(const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err);
void wz_run_result_release(struct wz_run_result *r);

#endif
