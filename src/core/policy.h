/* SPDX-License-Identifier: Apache-2.0 */
/* A placement policy: a few short functions and plain state. HACKING.md walks through writing one; those of policies/ are
 * the published ones and ours. Register it in policies/table.c.
 *
 *	observe   a job arrived (its shape and how many tasks): learn               state changes
 *	prepare   an epoch begins: recompute parameters from the demand seen so far  state changes; true if scores change
 *	score     how good a *feasible* node is for a shape, higher is better       pure
 *	normalise rewrites the scores of all feasible nodes together                pure
 *	choose    which devices of the chosen node                                  pure
 *
 *	explain   why a node, and why not another, in words                          pure
 *
 * All but name and score are optional. Between two epochs `score` must depend on nothing but the shape, the node's
 * state, its static facts and its place in the order (scope NODE): then the core caches it. A policy whose choice
 * depends on the whole feasible set declares scope RANK and gives `normalise`. Live readings (temperature, free memory
 * now) may be read only by a policy of scope LIVE, whose cache is dropped when a reading changes its step.
 *
 * A policy that gives `order_weight` promises more: nodes that are alike (class, model, kinds of hosted tasks, free CPU,
 * free memory and free compute of every device) score alike, less that weight for each unit of order >> 16; a negative
 * weight takes the promise back for this state (a parameter that reads live readings). Then equal
 * states are scored once where memory of devices does not bind: on a cluster that fills up that is most of the work.
 * Without `prepare` there are no epochs: such a score reads nothing that is learned or counted.
 *
 * The core owns the state (state_size bytes, zeroed at first), copies it, digests it: no pointers inside. Integer
 * arithmetic only. Ties go to the lower rank. WZ_SCORE_NONE refuses the node.
 *
 * Parameters: a policy that has any lists them in a table; its state then begins with one int32_t (milli) for each, in the
 * order of the table, which the core sets from the text that names the policy (a *variant*):
 *
 *	jigsaw                             the usual values
 *	jigsaw:power=0.2,order=1.5         two others
 *	jigsaw@1:waste=0                   and only if the rules are those of version 1
 *
 * Parameters are part of the digest when any of them is not the usual one. */
#ifndef WZ_CORE_POLICY_H
#define WZ_CORE_POLICY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"
#include "core/demand.h"
#include "core/model.h"
#include "core/shape.h"

#define WZ_SCORE_NONE INT64_MIN
#define WZ_POLICY_STATE_MAX 65536u

enum wz_scope { WZ_SCOPE_NODE, WZ_SCOPE_LIVE, WZ_SCOPE_RANK };

/* What a policy may see of a node. */
struct wz_view {
	const struct wz_node *node;
	const struct wz_device *dev;  /* [n_dev] */
	const int32_t *milli;         /* free compute of each device */
	const int64_t *mem;           /* free bytes of each device */
	struct wz_need need;          /* what the shape takes here of each device; mem 0: the share that goes with milli */
};

struct wz_policy_ctx {
	const struct wz_model_state *model;
	const struct wz_catalogue *catalogue;
	const struct wz_shapes *shapes;
	const struct wz_demand *demand; /* what has arrived so far, and the stated or learned mix */
	uint32_t n_nodes;               /* present nodes */
	struct wz_rng *rng;             /* scope RANK only: seeded by the step, so that equal steps draw alike */
};

struct wz_policy_param {
	const char *name, *summary;
	int32_t usual, max; /* milli; 0..max are allowed */
	bool live;          /* when it is not zero the policy reads live readings: its scope is LIVE */
};
#define WZ_POLICY_PARAMS_MAX 16u
#define WZ_POLICY_TEXT_MAX 256u /* bytes of a canonical text with its terminator */

struct wz_policy {
	const char *name, *summary;
	uint32_t version;    /* of its rules; 0 stands for 1 */
	const struct wz_policy_param *param; /* [n_params] */
	uint32_t n_params;
	enum wz_scope scope;
	bool told;           /* is defined with the expected workload known in advance; bodies then state it */
	uint32_t state_size;
	void (*observe)(void *state, const struct wz_policy_ctx *ctx, wz_shape_id shape, uint32_t tasks);
	bool (*prepare)(void *state, const struct wz_policy_ctx *ctx);
	int64_t (*score)(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	                 const struct wz_view *v);
	void (*normalise)(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	                  int64_t *score, uint32_t n);
	int64_t (*order_weight)(const void *state, const struct wz_shape *shape);
	/* What `free` milli of one device are expected to sell in the end, Q16 of a device; NULL: all of it. */
	int64_t (*worth)(const void *state, int32_t free);
	/* Returns the devices as a mask of exactly need.count bits. Default: wz_choose_tightest. */
	uint64_t (*choose)(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	                   const struct wz_view *v);
	/* Appends one sentence: what the choice of `v` does to the node; or, with `other`, why not that node. */
	void (*explain)(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	                const struct wz_view *v, const struct wz_view *other, struct wz_buf *b);
};

extern const struct wz_policy *const wz_policies[]; /* ends with NULL; the first is the default */
const struct wz_policy *wz_policy_find(struct wz_str name); /* by name alone; NULL */

/* A policy with values for its parameters (policies/variant.c). */
struct wz_variant {
	const struct wz_policy *policy;
	int32_t value[WZ_POLICY_PARAMS_MAX]; /* milli, in the order of policy->param */
};
/* Reads NAME[@VERSION][:PARAMETER=VALUE,...]; empty: the default. Values are as of wz_milli_parse. -ENOENT "UnknownPolicy",
 * "PolicyVersion", "UnknownParameter" (each with what there is); -EINVAL "BadParameter"; -ERANGE "OutOfRange". */
int wz_variant_parse(struct wz_str text, struct wz_variant *ret, struct wz_err *err);
void wz_variant_usual(const struct wz_policy *p, struct wz_variant *ret);
/* The canonical text: only what is not usual, in the order of the table. */
void wz_variant_format(const struct wz_variant *v, struct wz_buf *b);
/* Writes the parameters into a zeroed state. */
void wz_variant_begin(const struct wz_variant *v, void *state);
/* The scope with the parameters of this state: LIVE where a live one is not zero. */
enum wz_scope wz_policy_scope(const struct wz_policy *p, const void *state);
/* Name, rules and whole state; the same as without parameters while all are usual. */
uint64_t wz_policy_hash(const struct wz_policy *p, const void *state);
static inline uint32_t wz_policy_param_bytes(const struct wz_policy *p) { return (p->n_params * 4 + 7) / 8 * 8; }

/* Can device i take what is needed? Devices that cannot for any reason but compute are shown with no compute free. */
static inline bool wz_device_fits(const struct wz_view *v, uint32_t i)
{
	return v->milli[i] >= v->need.milli;
}

/* Helpers for `choose`. Whole devices: the lowest-numbered free ones. A share: the device with the smallest free compute
 * that still fits, lowest index on ties; or the first that fits. */
uint64_t wz_choose_tightest(const struct wz_view *v);
uint64_t wz_choose_first(const struct wz_view *v);

#endif
