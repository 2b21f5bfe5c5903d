/* SPDX-License-Identifier: Apache-2.0 */
/* The words of DESIGN section 3 as dense typed ids, and the limits of the core.
 *
 * A node id and a job number are given by the body (node ids dense from 0, reused after a node left; job numbers are
 * any uint64 that was never used before). Slots, shapes and models are numbered by the core in order of appearance, so
 * the same events give the same numbers. Units: compute in milli (1000 = one whole device or one CPU), memory in
 * bytes, time in microseconds since an epoch that the body chooses. */
#ifndef WZ_CORE_TYPES_H
#define WZ_CORE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { uint32_t v; } wz_node_id;
typedef struct { uint32_t v; } wz_shape_id; /* interned requirement of one task */
typedef struct { uint32_t v; } wz_job_slot; /* index in the core's job pool; reused, checked by job number */
typedef struct { uint16_t v; } wz_model_id; /* device model; catalogue entries first, then declared ones */

#define WZ_ID_NONE UINT32_MAX
#define WZ_MODEL_NONE UINT16_MAX  /* no device */
#define WZ_MODEL_MIXED 0xfffeu    /* devices of several models in one node */

/* Limits; every input is checked against them with a clear error. */
#define WZ_NODES_MAX (1u << 20)
#define WZ_NODE_DEVICES_MAX 64u  /* an allocation's devices are one 64-bit mask */
#define WZ_MODELS_MAX 256u
#define WZ_SHAPES_MAX (1u << 20)
#define WZ_JOB_TASKS_MAX 65536u
#define WZ_NODE_LABELS_MAX 256u
#define WZ_NODE_TAINTS_MAX 64u
#define WZ_JOB_SETS_MAX 64u
#define WZ_CPU_MILLI_MAX ((int64_t)1 << 40)
#define WZ_BYTES_MAX ((int64_t)1 << 56)
#define WZ_WHOLE 1000            /* compute milli of a whole device */

/* A set of device models. */
struct wz_model_set { uint64_t w[WZ_MODELS_MAX / 64]; };

static inline bool wz_model_set_has(const struct wz_model_set *s, unsigned m)
{
	return s->w[m >> 6] >> (m & 63) & 1;
}
static inline void wz_model_set_add(struct wz_model_set *s, unsigned m) { s->w[m >> 6] |= 1ULL << (m & 63); }

/* How close the devices of a task (node and below) or the tasks of a gang (rack) must be. */
enum wz_link {
	WZ_LINK_NONE,   /* any devices of one node */
	WZ_LINK_NODE,   /* the tasks of a gang on one node */
	WZ_LINK_NUMA,   /* devices under one NUMA node */
	WZ_LINK_PCIE,   /* devices under one PCIe switch */
	WZ_LINK_NVLINK, /* devices in one link domain (NVLink, HCCS, xGMI, ...) */
	WZ_LINK_RACK,   /* tasks of a gang under one rack switch */
};

enum wz_health { WZ_HEALTH_OK, WZ_HEALTH_DEGRADED, WZ_HEALTH_FAILED };

#endif
