/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as some provider sees them: a table of providers, an inventory that they fill, readings that say whether they
 * may be believed.
 *
 * A reading is never a bare number: "not supported" and "not known now" are states, not zeros. What the room returns are
 * names and bytes; which model of the catalogue a name means is for who includes core.
 *
 * A provider may be slow or hang (a driver does): the agent calls it, nobody else, and none is called by two threads at
 * once. An inventory belongs to the caller; `list` rebuilds it, `sample` refreshes readings, health, readiness and
 * processes in place and never changes the number or order of nodes and devices. */
#ifndef WZ_DEVICE_DEVICE_H
#define WZ_DEVICE_DEVICE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

/* Limits of what one provider may show; those of the core are the same or larger. */
#define WZ_DEV_NODES_MAX 4096u
#define WZ_DEV_PER_NODE_MAX 64u
#define WZ_DEV_DEVICES_MAX 65536u
#define WZ_DEV_LABELS_MAX 64u
#define WZ_DEV_PROCS_MAX 4096u

enum wz_metric {
	WZ_METRIC_MEM_TOTAL,
	WZ_METRIC_MEM_USED,
	WZ_METRIC_UTIL,
	WZ_METRIC_MEM_UTIL,
	WZ_METRIC_TEMP,
	WZ_METRIC_POWER,
	WZ_METRIC_POWER_CAP,
	WZ_METRIC_CLOCK_SM,
	WZ_METRIC_CLOCK_MEM,
	WZ_METRIC_FAN,
	WZ_METRIC_ECC_UNCORRECTED,
	WZ_METRICS
};
struct wz_metric_def {
	const char *name, *unit, *help; /* "mem_used", "bytes", ... */
};
extern const struct wz_metric_def wz_metrics[WZ_METRICS];

enum wz_reading_status { WZ_READING_UNKNOWN, WZ_READING_OK, WZ_READING_UNSUPPORTED };
extern const char *const wz_reading_statuses[]; /* "unknown", "ok", "unsupported" */

struct wz_reading {
	int64_t value; /* in the metric's unit; 0 unless status is OK */
	uint64_t at_us; /* when it was taken, of the clock that the caller passes */
	uint8_t status; /* enum wz_reading_status */
};
static inline uint64_t wz_reading_age_us(const struct wz_reading *r, uint64_t now_us)
{
	return now_us > r->at_us ? now_us - r->at_us : 0;
}

enum wz_device_health { WZ_DEVICE_OK, WZ_DEVICE_DEGRADED, WZ_DEVICE_FAILED }; /* as core's wz_health */
extern const char *const wz_device_healths[]; /* "ok", "degraded", "failed" */

struct wz_device {
	uint32_t node, index; /* of the inventory; within the node: the ordinal by PCI order */
	char uuid[80]; /* identity: stable over reboots */
	char name[96]; /* model as the driver prints it */
	char bus[32]; /* PCI address; empty: none */
	int64_t mem_bytes; /* 0: not known */
	uint16_t link_domain; /* equal numbers above 0 on one node: joined */
	uint8_t numa, pcie, health;
	char health_why[64]; /* of a device that is not ok */
	uint32_t major, minor; /* device node that opens it; 0, 0: none */
	struct wz_reading reading[WZ_METRICS];
};

struct wz_device_label {
	char key[64], value[128];
};

struct wz_device_node {
	char name[128], site[64], rack[64];
	int64_t cpu_milli, mem_bytes;
	uint32_t max_tasks; /* 0: no limit */
	bool ready; /* false: it is as if it were down */
	uint32_t first_device, n_devices; /* consecutive in wz_inventory.device */
	uint32_t n_labels;
	struct wz_device_label *label; /* [n_labels], of the inventory's arena */
};

struct wz_device_proc {
	uint32_t node, index;
	int64_t pid; /* of the host; -1 unknown */
	int64_t mem_bytes; /* -1 unknown */
	char user[32], command[64]; /* empty: unknown */
};

struct wz_inventory {
	const struct wz_mem *mem;
	struct wz_arena text;
	struct wz_device_node *node;
	uint32_t n_nodes, cap_nodes;
	struct wz_device *device;
	uint32_t n_devices, cap_devices;
	struct wz_device_proc *proc;
	uint32_t n_procs, cap_procs;
	bool procs_known;
};
void wz_inventory_init(struct wz_inventory *inv, const struct wz_mem *mem);
void wz_inventory_release(struct wz_inventory *inv);
void wz_inventory_clear(struct wz_inventory *inv); /* empties, keeps memory */
/* NULL beyond the limits above or without memory. Devices go to the last node. */
struct wz_device_node *wz_inventory_add_node(struct wz_inventory *inv, const char *name);
struct wz_device *wz_inventory_add_device(struct wz_inventory *inv);
struct wz_device_proc *wz_inventory_add_proc(struct wz_inventory *inv);
void wz_reading_set(struct wz_device *d, enum wz_metric m, int64_t value, uint64_t now_us);

struct wz_device_options {
	const struct wz_mem *mem;
	const char *file; /* emulated: the cluster file; smi: text instead of the command's output (tests) */
	const char *topo_file; /* smi: text instead of `topo -m` */
	const char *command; /* smi: the program; NULL: "nvidia-smi" */
	unsigned timeout_ms; /* smi: of one command; 0: 10 s */
	uint64_t epoch_us; /* emulated: when its time is 0 */
};

/* What our own work does to a device; only an emulated one needs to be told. */
struct wz_device_use {
	int64_t mem_bytes;
	uint32_t util_milli;
};

struct wz_device_source; /* an open provider */
struct wz_device_provider {
	const char *name, *what;
	/* Opens it when it is of use here. 0; -ENODEV with the reason when there is nothing to see here (not an error: the
	 * next provider is asked); other errnos with *err: it should work and does not. */
	int (*probe)(const struct wz_device_options *o, struct wz_device_source **ret, struct wz_err *err);
	int (*list)(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err);
	int (*sample)(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err);
	/* NULL where reality answers. */
	void (*use)(struct wz_device_source *s, uint32_t node, uint32_t index, const struct wz_device_use *use);
	/* When something will change by itself (a scripted failure); UINT64_MAX: never. May be NULL. */
	uint64_t (*next_change_us)(struct wz_device_source *s, uint64_t now_us);
	void (*close)(struct wz_device_source *s);
};
extern const struct wz_device_provider wz_device_emulated, wz_device_smi, wz_device_none;
extern const struct wz_device_provider *const wz_device_providers[]; /* NULL-terminated, in the order of asking */
const struct wz_device_provider *wz_device_provider_find(struct wz_str name);

/* Facts of this machine into a node of the inventory: host name, CPUs this process may use, memory. */
int wz_device_host(struct wz_inventory *inv, struct wz_device_node **ret, struct wz_err *err);

#endif
