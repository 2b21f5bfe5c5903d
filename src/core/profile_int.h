/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the profile share: the list of keys, from which the tables of names, setters and formatters are
 * made, and the place where a parser is. For profile*.c and translate.c only. */
#ifndef WZ_CORE_PROFILE_INT_H
#define WZ_CORE_PROFILE_INT_H

#include "core/partition.h"
#include "core/profile.h"

/* X(id, name, value, help), in canonical order. */
#define WZ_PROFILE_KEYS(X) \
	X(GPUS, gpus, "gpus", "N", "whole devices; 0.5 is gpu-share=50%") \
	X(SHARE, share, "gpu-share", "PERCENT", \
	        "a part of one device's compute, and of its memory unless gpu-mem says") \
	X(GPU_MEM, gpu_mem, "gpu-mem", "80G|10Gi", \
	        "memory of each device: G a card's class, Gi exact; of a share both exact") \
	X(GPU_MEM_TOTAL, gpu_mem_total, "gpu-mem-total", "BYTES", "memory over all devices of the task") \
	X(CU, cu, "cu", "NUMBER", "compute units from whatever delivers them; an A100-SXM4-80GB has 100") \
	X(GPU_TYPE, gpu_type, "gpu-type", "NAME,...", "device models or families by preference; !t4 excludes") \
	X(GPU_MIG, gpu_mig, "gpu-mig", "1g.10gb|auto", \
	        "a hard slice of a card; auto: the smallest that holds gpu-share and gpu-mem") \
	X(LINK, link, "link", "none|node|numa|pcie|nvlink|rack", \
	        "how close the devices must be; link~nvlink: preferred") \
	X(FREE, free, "free", "PERCENT", "live free memory of each device, at least") \
	X(BW, bw, "bw", "GB/s", "memory bandwidth of each device, at least") \
	X(UTIL, util, "util", "PERCENT", "expected compute use") \
	X(CPUS, cpus, "cpus", "NUMBER", "host CPUs") \
	X(MEM, mem, "mem", "BYTES", "host memory") \
	X(TIME, time, "time", "DURATION", "time limit: 8h, 2h30m, 1-12:00:00") \
	X(TASKS, tasks, "tasks", "N|MIN..MAX", "tasks that start together; a range when elastic") \
	X(KIND, kind, "kind", "batch|service", "service: work without an end") \
	X(PREEMPT, preempt, "preempt", "movable|signal:USR1,grace:60s,ack:file,interval:10m", \
	        "how the work is told to checkpoint before it is moved") \
	X(REPAIR, repair, "repair", "DURATION", \
	        "how long a gang that lost tasks may run below its minimum until they are replaced")

enum wz_profile_key_id {
#define X(id, fn, name, value, help) WZ_KEY_##id,
	WZ_PROFILE_KEYS(X)
#undef X
	        WZ_KEY_N
};

/* One entry while it is read. A setter that fails leaves in `at` the byte to point at. */
struct wz_profile_ctx {
	struct wz_profile *p;
	const struct wz_catalogue *c;
	struct wz_err *err;
	bool preferred; /* the operator is ~ */
	const char *at;
};

typedef int wz_profile_set_fn(struct wz_profile_ctx *x, struct wz_str v);
typedef void wz_profile_format_fn(const struct wz_profile *p, struct wz_buf *b); /* the value, nothing if default */

extern wz_profile_set_fn *const wz_profile_set_fns[WZ_KEY_N];
extern wz_profile_format_fn *const wz_profile_format_fns[WZ_KEY_N];
extern const char *const wz_profile_links[6]; /* by enum wz_link */
extern const char *const wz_profile_acks[3]; /* by enum wz_ack */

#endif
