/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster file: an emulated cluster as text (spec/cluster.md), parsed into plain arrays. Times are microseconds from
 * the start of the emulation. All memory is the arena's. */
#ifndef WZ_DEVICE_CLUSTER_H
#define WZ_DEVICE_CLUSTER_H

#include "device/device.h"

#define WZ_CLUSTER_FILE_MAX (4u << 20)
#define WZ_CURVE_POINTS_MAX 256u
#define WZ_CLUSTER_EVENTS_MAX 4096u

/* A value over time: linear between points, the last one held, or begun anew each period. */
struct wz_curve {
	uint32_t n;
	struct wz_curve_point {
		uint64_t at_us;
		int64_t value;
	} * point;
	uint64_t period_us; /* 0: once */
};
/* The value at time t (n > 0). */
int64_t wz_curve_at(const struct wz_curve *c, uint64_t t_us);

struct wz_cluster_event {
	uint64_t at_us;
	uint32_t node;
	int32_t device; /* -1: the node itself */
	uint8_t health; /* of a device: enum wz_device_health */
	bool ready; /* of a node */
	char why[64];
};

struct wz_cluster_proc {
	uint64_t from_us, to_us; /* to_us UINT64_MAX: stays */
	struct wz_device_proc proc;
};

struct wz_cluster {
	struct wz_inventory inv; /* the facts at time 0 */
	struct wz_cluster_script {
		struct wz_curve curve[WZ_METRICS]; /* n 0: not scripted */
		bool unsupported[WZ_METRICS]; /* scripted as "unsupported" */
	} * script; /* [inv.n_devices] */
	uint32_t cap_scripts;
	struct wz_cluster_event *event; /* by time, stable */
	uint32_t n_events, cap_events;
	struct wz_cluster_proc *proc;
	uint32_t n_procs, cap_procs;
	struct wz_arena arena;
};

/* Parses; on failure *ret is untouched and nothing is kept. Errors are "NAME:LINE:COLUMN: ...": -EINVAL with BadYaml,
 * UnknownKey, MissingKey, BadValue, TooMany, NoSuchNode, NoSuchDevice; -ENOMEM. Fuzzed. */
int wz_cluster_parse(
        struct wz_str text, const char *name, const struct wz_mem *mem, struct wz_cluster *ret, struct wz_err *err);
void wz_cluster_release(struct wz_cluster *c);

#endif
