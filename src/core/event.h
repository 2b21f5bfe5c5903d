/* SPDX-License-Identifier: Apache-2.0 */
/* Events: everything that happens *to* the core. The full list, with the numbers that journals keep for ever, is
 * spec/events.md. An event is a fact: it is never refused for being inconvenient (a foreign pod that does not fit
 * becomes negative headroom), only for being malformed or for naming what does not exist.
 *
 * Pointers in an event are borrowed for the call of wz_core_apply. */
#ifndef WZ_CORE_EVENT_H
#define WZ_CORE_EVENT_H

#include "core/profile.h"
#include "core/types.h"

enum wz_event_kind {
	/* time and steps */
	WZ_EV_TIME = 1,          /* nothing but the clock; deadlines expire here */
	WZ_EV_STEP = 2,          /* a decision step begins; advances the step number that seeds its randomness */
	/* places */
	WZ_EV_SITE_JOINED = 10,
	WZ_EV_SITE_LEFT = 11,
	WZ_EV_NODE_JOINED = 12,  /* also: changed capacity, labels, taints; devices keep their index */
	WZ_EV_NODE_LEFT = 13,
	WZ_EV_NODE_READY = 14,   /* ready or not, cordoned or not */
	WZ_EV_DEVICE_CHANGED = 15, /* health, capacity, partition */
	WZ_EV_TELEMETRY = 16,    /* quantised live readings of one device */
	/* work */
	WZ_EV_JOB_SUBMITTED = 30,
	WZ_EV_JOB_EDITED = 31,
	WZ_EV_JOB_CANCELLED = 32,
	WZ_EV_JOB_HELD = 33,
	WZ_EV_JOB_RELEASED = 34,
	WZ_EV_TASK_STARTED = 35, /* a process is seen alive: confirms a start even when the acknowledgement was lost */
	WZ_EV_TASK_ENDED = 36,
	WZ_EV_TASK_OBSERVED = 37, /* work that we did not start: a foreign pod, an adopted process */
	WZ_EV_TASK_REPORTED = 38, /* progress, checkpoint taken */
	WZ_EV_JOB_REQUEUED = 39, /* stop the attempt by its contract, and wait again */
	WZ_EV_JOB_SUSPENDED = 40, /* freeze it where it is */
	WZ_EV_JOB_RESUMED = 41,
	WZ_EV_JOB_RESIZED = 42, /* another number of tasks, also of a job that runs */
	/* acknowledgements of effects */
	WZ_EV_EFFECT_CONFIRMED = 50,
	WZ_EV_EFFECT_REFUSED = 51,
	/* rules */
	WZ_EV_POLICY_SET = 60,
	WZ_EV_WORKLOAD_STATED = 61, /* an expected mix of shapes, instead of the one learned from arrivals */
	WZ_EV_QUEUE_SET = 62,
	WZ_EV_QUEUE_REMOVED = 63,
	WZ_EV_RESERVATION_SET = 64,
	WZ_EV_RESERVATION_REMOVED = 65,
	WZ_EV_OFFER_SET = 66,
	WZ_EV_OFFER_REMOVED = 67,
	WZ_EV_SOLUTION = 68,       /* the result of a solver outside the core */
	WZ_EV_REPACK_ASKED = 69,
	WZ_EV_RULES_SET = 70,      /* parameters of the core (param.c) */
	WZ_EV_DISRUPTION_BUDGET_SET = 71, /* how many tasks of a selection may be stopped by us */
	WZ_EV_DISRUPTION_BUDGET_REMOVED = 72,
};

/* Why work ended; the words are those of `wz ps`. */
enum wz_end {
	WZ_END_COMPLETED, WZ_END_FAILED, WZ_END_CANCELLED, WZ_END_TIMEOUT, WZ_END_OOM, WZ_END_PREEMPTED,
	WZ_END_NODE_LOST, WZ_END_DEVICE_LOST, WZ_END_LAUNCH_FAILED,
};

struct wz_device_facts {
	wz_model_id model;
	int64_t mem_bytes;      /* 0: not known */
	int32_t compute_milli;  /* 1000, or the part that a partition has */
	uint16_t link_domain;   /* devices with the same number > 0 are joined; 0: none or not known */
	uint8_t numa, pcie;     /* NUMA node, PCIe switch within the node */
	uint8_t health;         /* enum wz_health */
	uint16_t partition;     /* 0: whole; else the number of a partition kind, or WZ_PARTITION_EMPTY (core/partition.h) */
	uint8_t card;           /* devices of one node with the same number above 0 are the slots of one card that can be cut */
};

struct wz_label { struct wz_str key, value; };
struct wz_taint { struct wz_str key, value; uint8_t effect; }; /* enum wz_taint_effect of constraint.h, not ANY */

struct wz_ev_node {
	wz_node_id node;
	struct wz_str name;
	struct wz_str site, rack; /* empty: none */
	int64_t cpu_milli, mem_bytes;
	uint32_t max_tasks;       /* 0: no limit */
	bool count_only;          /* only the number of devices is known: no identity, no link is promised */
	uint32_t n_devices;
	const struct wz_device_facts *device;
	uint32_t n_labels;
	const struct wz_label *label;
	uint32_t n_taints;
	const struct wz_taint *taint;
};

/* Tasks of one shape in a job of several: a launcher and its workers. */
struct wz_ev_set {
	struct wz_str name;
	const struct wz_profile *profile; /* of one task, and how many */
	uint32_t n_labels;
	const struct wz_label *label; /* none: those of the job */
	struct wz_str constraint; /* empty: that of the job */
};

struct wz_ev_submit {
	uint64_t job;             /* never used before */
	struct wz_str user, queue;
	int32_t priority;
	const struct wz_profile *profile; /* with sets: time, kind, preempt, repair and link=node|rack of the whole */
	bool held;
	uint64_t p50_us, p80_us, p95_us; /* predicted run time: quantiles that do not fall; 0: not known (all or none) */
	struct wz_str constraint;         /* constraint.h; empty: none */
	uint32_t n_labels;
	const struct wz_label *label;     /* of each task; others' selectors look at them */
	uint32_t n_sets; /* 0: all tasks are alike, as many as the profile says */
	const struct wz_ev_set *set;
};

/* How many tasks of a selection must run, or may be missing, when it is us who stop some. */
struct wz_ev_budget {
	struct wz_str name, selector; /* the selector of constraint.h, over labels of tasks */
	uint32_t limit; /* tasks, or percent of those that are expected */
	bool most; /* the most that may be missing; else the least that must run */
	bool percent;
	uint32_t expected; /* 0: as many as the live jobs are to have */
};

/* Where one task sits; also what an effect says. */
struct wz_place {
	wz_node_id node;
	uint64_t devices;         /* bit i: device i of the node */
	int64_t cpu, mem;         /* milli, bytes */
	int32_t dev_milli;        /* taken on each device */
	int64_t dev_mem;          /* bytes taken on each device; -1: the share of memory that equals the share of compute */
};

struct wz_event {
	uint32_t kind;            /* enum wz_event_kind */
	uint64_t time_us;         /* the core's clock moves to the largest time seen */
	union {
		struct wz_ev_node node;                     /* NODE_JOINED */
		struct { wz_node_id node; } left;           /* NODE_LEFT */
		struct { wz_node_id node; bool ready, cordoned; } ready;
		struct { wz_node_id node; uint32_t index; struct wz_device_facts facts; } device;
		struct { wz_node_id node; uint32_t index; uint8_t free_mem_pct, util_pct, temp_c; } telemetry; /* 255 unknown */
		struct wz_ev_submit submit;
		struct { uint64_t job; int32_t priority; const struct wz_profile *profile; } edit; /* NULL: keep */
		struct { uint64_t job; } job;               /* CANCELLED, HELD, RELEASED, REQUEUED, SUSPENDED, RESUMED */
		struct { uint64_t job; uint32_t task, attempt; uint32_t end; bool requeue; } task; /* STARTED, ENDED */
		struct {
			uint64_t job;
			struct wz_place place;
			uint32_t n_labels;
			const struct wz_label *label;
			struct wz_str constraint;
		} observed;
		struct { uint64_t job; struct wz_str set; uint32_t tasks_min, tasks_max; } resize;
		struct wz_ev_budget budget;                 /* DISRUPTION_BUDGET_SET; _REMOVED: its name */
		struct { uint64_t job; uint32_t task; int64_t progress_milli, checkpoint_us; } report;
		struct { uint64_t effect; uint32_t reason; } effect; /* CONFIRMED, REFUSED */
		struct { struct wz_str text; } rule_list;   /* RULES_SET: "name=number name=number" */
		struct { struct wz_str name; } policy;      /* as wz_core_options.policy */
		struct { uint32_t n; const struct wz_profile *profile; const uint32_t *weight; } workload;
		struct { struct wz_str name, text; } rules; /* QUEUE_*, RESERVATION_*: text as of core/queue.h */
		struct { struct wz_str name; } named;       /* sites, offers: by name until decided on */
	} u;
};

#endif
