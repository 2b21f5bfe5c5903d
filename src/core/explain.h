/* SPDX-License-Identifier: Apache-2.0 */
/* Why a waiting job does not start: for each blocker how many nodes it rules out (the first blocker of a node in table
 * order counts), and the blocker that, if relaxed, frees the most. Words are stable; `wz why` and Kubernetes events
 * print them. */
#ifndef WZ_CORE_EXPLAIN_H
#define WZ_CORE_EXPLAIN_H

#include "base/buf.h"
#include "core/types.h"

enum wz_reason {
	WZ_REASON_NONE,         /* it could start */
	WZ_REASON_NO_NODES,     /* no node at all */
	WZ_REASON_NOT_READY,    /* node down, not ready */
	WZ_REASON_CORDONED,
	WZ_REASON_MODEL,        /* no device of an allowed model */
	WZ_REASON_DEVICES,      /* the node has fewer devices than asked */
	WZ_REASON_DEVICE_MEMORY, /* the devices are too small */
	WZ_REASON_BANDWIDTH,
	WZ_REASON_LINK,         /* devices are not joined as asked */
	WZ_REASON_CPU_CAPACITY, /* more than the node has */
	WZ_REASON_MEM_CAPACITY,
	WZ_REASON_CPU,          /* not free now */
	WZ_REASON_MEM,
	WZ_REASON_TASKS,        /* the node's task limit */
	WZ_REASON_BUSY,         /* enough devices, but not free now */
	WZ_REASON_SHARE,        /* no device has so large a share free */
	WZ_REASON_LIVE_MEMORY,  /* live free memory below what is asked, or not known */
	WZ_REASON_POLICY,       /* the policy refused the node */
	WZ_REASON_GANG,         /* single tasks fit, all of them together do not */
	WZ_REASON_RESOURCES,    /* no node has free all that is asked (the coarse word of a step; ask for the exact ones) */
	WZ_REASON_HELD,
	WZ_REASON_WORK_BUDGET,  /* not looked at yet: the step's budget ended */
	WZ_REASON_QUEUE_LIMIT,  /* the queue, or one above it, has its limit */
	WZ_REASON_QUOTA_LIMIT,  /* the queue has what it is guaranteed and may borrow */
	WZ_REASON_BORROWING,    /* what is free is kept for the guarantees of other queues */
	WZ_REASON_USER_LIMIT,   /* of what one user may have */
	WZ_REASON_USER_JOBS,    /* of how many jobs one user may run */
	WZ_REASON_JOB_LIMIT,    /* of what one job may have */
	WZ_REASON_BUDGET,       /* device-hours or money are spent or claimed */
	WZ_REASON_RESERVED,     /* what is free is promised to others before this would end */
	WZ_REASON_ORDER,        /* others go first */
	WZ_REASON_PARTITION,    /* a card has room for it, and must be cut first */
	WZ_REASON_LAUNCH_BACKOFF, /* a launch failed: it waits a while */
	WZ_REASON_MAKING_ROOM,  /* room is being made, or is held, for it */
	WZ_REASON_NODE_AFFINITY, /* the node's labels are not those asked for */
	WZ_REASON_TAINT, /* the node is only for those who tolerate its taint */
	WZ_REASON_HOST_PORT, /* a task on the node holds the port */
	WZ_REASON_AFFINITY, /* none of the tasks that it must be near is there */
	WZ_REASON_ANTI_AFFINITY, /* a task that it must be apart from, or that must be apart from it, is there */
	WZ_REASON_SPREAD, /* the place has more of its kind than the emptiest allows */
	WZ_REASON_TOPOLOGY, /* no single place holds the gang that must stay together */
	WZ_REASON_COUNT_
};

/* A rule that holds the job back, with its numbers. */
struct wz_rule_blocker {
	enum wz_reason reason;
	char queue[64], what[48];            /* "gpu", "a100", "jobs", "budget-hours", ... */
	bool mem;                            /* numbers are MiB; else milli, but jobs */
	int64_t used, ask, limit;
};
#define WZ_RULE_BLOCKERS_MAX 8u

struct wz_explanation {
	uint64_t job;
	uint64_t digest;                     /* of the state this is true of */
	enum wz_reason main;                 /* the first to name to a person */
	bool never;                          /* it could not start even on an idle cluster as it is now */
	uint32_t nodes;                      /* nodes looked at */
	uint32_t blocked[WZ_REASON_COUNT_];  /* nodes by first blocker */
	uint32_t tasks_fit, tasks_needed;    /* of a gang: how many fit together */
	uint32_t place_fits; /* TOPOLOGY: of those, how many the best single place holds ... */
	char place[64]; /* ... and its name */
	uint32_t n_rules;
	struct wz_rule_blocker rule[WZ_RULE_BLOCKERS_MAX]; /* from the leaf up */
};

const char *wz_reason_word(enum wz_reason r); /* "Busy", stable, UpperCamelCase */
const char *wz_reason_text(enum wz_reason r); /* "enough devices, but not free now" */
void wz_rule_blocker_format(const struct wz_rule_blocker *r, struct wz_buf *b); /* "QueueLimit of q: 4 of 4 gpu used, 1 more asked" */
void wz_explanation_format(const struct wz_explanation *e, struct wz_buf *b); /* one line for people */

#endif
