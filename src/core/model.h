/* SPDX-License-Identifier: Apache-2.0 */
/* What there is: sites, nodes, devices and their topology. What scoring reads of a node is its first 64 bytes; the two
 * figures of a device that scoring reads (free compute, free memory) are arrays of their own, so a node's devices are
 * one or two cache lines. Free = capacity - what is held, and may be negative when facts over-commit (DESIGN I1). */
#ifndef WZ_CORE_MODEL_H
#define WZ_CORE_MODEL_H

#include "core/catalogue.h"
#include "core/event.h"
#include "core/partition.h"

enum wz_node_flags {
	WZ_NODE_PRESENT = 1,
	WZ_NODE_READY = 2,
	WZ_NODE_CORDONED = 4,
	WZ_NODE_COUNT_ONLY = 8,
	WZ_NODE_MEM_KNOWN = 16, /* all devices have a known memory size */
	WZ_NODE_TAINTED = 32, /* only for those who tolerate something: the careful path of fit */
};
#define WZ_NODE_OPEN(n) \
	(((n)->flags & (WZ_NODE_PRESENT | WZ_NODE_READY | WZ_NODE_CORDONED)) == (WZ_NODE_PRESENT | WZ_NODE_READY))
/* Open to those who tolerate nothing. */
#define WZ_NODE_USABLE(n) \
	(((n)->flags & (WZ_NODE_PRESENT | WZ_NODE_READY | WZ_NODE_CORDONED | WZ_NODE_TAINTED)) == \
                           (WZ_NODE_PRESENT | WZ_NODE_READY))

struct wz_node {
	int64_t cpu_free, mem_free;      /* milli, bytes */
	int32_t gpu_free;                /* sum of the positive free compute milli of healthy devices */
	int32_t gpu_max;                 /* the largest free compute milli of one device */
	uint16_t whole;                  /* devices entirely free */
	uint16_t n_dev;
	uint16_t model;                  /* of all devices, or WZ_MODEL_MIXED, or WZ_MODEL_NONE */
	uint8_t flags;
	uint8_t kinds;                   /* bit k: hosts tasks of kind k, see wz_task_kind */
	bool over;                       /* facts over-commit it: something free is negative. Never by a decision (I1) */
	int32_t tasks_free;              /* INT32_MAX: no limit */
	uint32_t first_dev;
	uint32_t rank;                   /* position in the stable order; ties of every choice go to the lower */
	uint32_t order;                  /* the random key behind rank: uniform in 0..2^32-1, fixed by seed and name */
	uint32_t class_id;               /* nodes that are alike when empty, see wz_node_class */
	uint32_t n_explicit;             /* hosted tasks that took an amount of device memory of their own */
	int64_t dev_mem;                 /* bytes of each device when all are whole and have the same; else -1 */
	int64_t cpu, mem;                /* capacity */
	int32_t max_tasks, n_tasks;
	uint32_t kind_count[5];          /* hosted tasks: shared, 1, 2-3, 4-7, 8+ devices */
	uint32_t head_task;              /* list of tasks on the node, WZ_ID_NONE at the end */
	uint32_t name;                   /* 1 + strtab id; 0: this id was never used */
	uint32_t site, rack;             /* strtab ids; WZ_ID_NONE: none */
	uint32_t dev_cap;                /* devices reserved at first_dev */
	uint32_t first_label, n_labels, label_cap;
	uint32_t first_taint, n_taints, taint_cap;
};

struct wz_node_taint {
	uint32_t key, value;
	uint8_t effect;
}; /* strtab ids; enum wz_taint_effect */

struct wz_device {
	uint32_t node;
	uint16_t model;
	uint16_t link_domain, partition;
	uint8_t numa, pcie, health;
	uint8_t free_mem_pct, util_pct, temp_c; /* live, quantised; 255 unknown */
	uint8_t card;                    /* above 0: a slot of a card that can be cut, see core/partition.h */
	uint8_t cut;                     /* enum wz_cut */
	uint16_t n_tasks;
	int32_t milli;                   /* capacity */
	int64_t mem;                     /* capacity in bytes, 0 unknown */
};

/* A slot that is being cut takes no work until the effect is answered; a card of which a cut was refused is not asked again
 * until a fact about that slot comes. */
enum wz_cut { WZ_CUT_NONE, WZ_CUT_IN_FLIGHT, WZ_CUT_REFUSED };

/* Task kind for GpuClustering and statistics: 0 shared, 1, 2, 3, 4 = one, 2-3, 4-7, 8 or more whole devices. */
static inline unsigned wz_task_kind(uint32_t count, int32_t milli)
{
	return milli < WZ_WHOLE ? 0 : count >= 8 ? 4 : count >= 4 ? 3 : count >= 2 ? 2 : 1;
}

/* Nodes that are alike when empty: policies learn and look up per class what they need not know per node. */
struct wz_node_class {
	uint16_t model, n_dev;  /* of the first device */
	int64_t cpu, mem;
	uint32_t nodes;         /* present ones */
};
#define WZ_CLASSES_MAX 1024u /* nodes of further kinds share the last class */

struct wz_model_state {
	const struct wz_mem *mem;
	struct wz_node *node; /* [n_nodes], by node id; flags without PRESENT: unused */
	uint32_t n_nodes, node_cap;
	uint32_t n_present;
	struct wz_device *dev; /* parallel arrays over devices */
	int32_t *dev_milli;    /* free compute; never above capacity; a failed device has capacity 0 */
	int64_t *dev_mem;      /* free bytes; for unknown sizes minus what is held */
	uint32_t n_devs, dev_cap, milli_cap, dev_mem_cap;
	uint32_t *by_rank;     /* node ids in the stable order */
	uint32_t by_rank_cap;
	uint32_t n_ranked;     /* nodes in by_rank: present ones, and some that left and may come back */
	uint32_t order_version; /* counts the times ranks were dealt anew */
	bool order_stale;      /* nodes joined since by_rank was made */
	uint64_t order_seed;
	struct wz_strtab names;   /* nodes, sites, racks, labels, users, queues */
	uint32_t *label;          /* pairs key, value (strtab ids) */
	uint32_t n_label, label_cap;
	struct wz_node_taint *taint;
	uint32_t n_taint, taint_cap;
	uint32_t n_discouraged; /* present nodes with a PreferNoSchedule taint */
	struct wz_node_class node_class[WZ_CLASSES_MAX];
	uint32_t n_classes;
	/* per model: what the cluster has */
	struct { uint64_t devices; int64_t cpu; uint32_t nodes; } supply[WZ_MODELS_MAX];
	int64_t cpu_total;     /* over present nodes */
};

void wz_model_init(struct wz_model_state *m, const struct wz_mem *mem, uint64_t order_seed);
void wz_model_release(struct wz_model_state *m);
/* Joins a node, or changes a known one (devices keep their index; a shrinking node keeps what it must to account for
 * what runs). Validates; no side effects on failure. -EINVAL, -E2BIG, -ENOMEM. */
int wz_model_node_join(struct wz_model_state *m, const struct wz_catalogue *cat, const struct wz_ev_node *e,
                       struct wz_err *err);
void wz_model_node_left(struct wz_model_state *m, uint32_t node); /* facts stay for a return */
void wz_model_device_change(struct wz_model_state *m, uint32_t node, uint32_t index, const struct wz_device_facts *f);
/* Sets what is free to the capacity, as if nothing ran; the ledger then subtracts what does. */
void wz_model_reset_free(struct wz_model_state *m, uint32_t node);
void wz_model_refresh(struct wz_model_state *m, uint32_t node); /* gpu_free, gpu_max, whole, from the devices; O(devices) */

/* Effective capacity: a failed device and an empty slot give nothing. */
static inline int32_t wz_device_milli(const struct wz_device *d)
{
	return d->health == WZ_HEALTH_FAILED || d->partition == WZ_PARTITION_EMPTY ? 0 : d->milli;
}
/* Device memory that goes with `milli` of compute when no amount was named, all of it at most; 0 when the size is not
 * known. Exact, and without overflow: mem = q x capacity + r. */
static inline int64_t wz_device_mem_share(const struct wz_device *d, int32_t milli)
{
	if (milli >= d->milli)
		return d->mem;
	if (d->milli == WZ_WHOLE) /* nearly always: divisions by a constant */
		return d->mem / WZ_WHOLE * milli + d->mem % WZ_WHOLE * milli / WZ_WHOLE;
	return d->mem / d->milli * milli + d->mem % d->milli * milli / d->milli;
}
int wz_model_order(struct wz_model_state *m); /* deals ranks when stale: by (order, id); O(n log n); -ENOMEM */
uint64_t wz_model_node_hash(const struct wz_model_state *m, uint32_t node); /* facts only, no live readings */

#endif
