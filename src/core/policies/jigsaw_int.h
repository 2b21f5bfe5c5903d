/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of jigsaw share: jigsaw.c learns and scores, jigsaw_slots.c keeps nodes whole, jigsaw_terms.c has the terms that are off by default,
 * jigsaw_explain.c says it in words. */
#ifndef WZ_CORE_POLICIES_JIGSAW_INT_H
#define WZ_CORE_POLICIES_JIGSAW_INT_H

#include "core/policies/policies.h"
#include "core/policies/worth.h"

enum jigsaw_param {
	JIGSAW_STRANDING, JIGSAW_WASTE, JIGSAW_ORDER, JIGSAW_ORDER_CPU, JIGSAW_SCARCITY, JIGSAW_SLOTS,
	JIGSAW_POWER, JIGSAW_PRICE, JIGSAW_HEAT, JIGSAW_UTIL, JIGSAW_PARAMS
};

/* A shape of several devices that nodes are kept whole for. */
#define JIGSAW_SLOTS_N 8u
struct jigsaw_slot { int64_t price, size, cpu; }; /* Q16 of a device for each device; devices; milli CPU */

struct jigsaw {
	int32_t weight[(JIGSAW_PARAMS + 1) / 2 * 2]; /* milli, by enum jigsaw_param */
	int64_t rho;     /* milli CPU a device */
	int64_t scarcity[WZ_CLASSES_MAX]; /* Q16 */
	uint32_t epochs; /* of demand, when `worth` learned last; 1 + */
	struct wz_worth worth;
	struct jigsaw_slot slot[JIGSAW_SLOTS_N];
	int64_t rate[WZ_NODE_DEVICES_MAX + 1];     /* percent, by devices of a task */
	uint64_t came[WZ_NODE_DEVICES_MAX + 1], refused[WZ_NODE_DEVICES_MAX + 1]; /* until the last epoch */
};

/* The score by term: costs, weighted, in devices (Q16). */
struct jigsaw_cost {
	int64_t stranding, waste, order, scarcity, slots, power, price, heat, util;
	uint32_t device; /* that a share would take */
};

void wz_jigsaw_cost(const struct jigsaw *j, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
                    const struct wz_view *v, struct jigsaw_cost *ret);
void wz_jigsaw_learn_slots(struct jigsaw *j, const struct wz_policy_ctx *ctx, uint64_t gpu_milli);
/* What the node's slots are worth less once the shape is there, in devices (Q16). */
int64_t wz_jigsaw_slots(const struct jigsaw *j, const struct wz_shape *shape, const struct wz_view *v, uint32_t device);
/* Power, price, heat and util. */
void wz_jigsaw_more(const struct jigsaw *j, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
                    const struct wz_view *v, struct jigsaw_cost *ret);
void wz_jigsaw_explain(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
                       const struct wz_view *v, const struct wz_view *other, struct wz_buf *b);

static inline int64_t wz_jigsaw_sum(const struct jigsaw_cost *c)
{
	return c->stranding + c->waste + c->order + c->scarcity + c->slots + c->power + c->price + c->heat + c->util;
}

/* Could an empty node of the class hold the shape? */
static inline bool wz_jigsaw_holds(const struct wz_node_class *k, const struct wz_shape *s)
{
	return k->nodes && k->n_dev >= s->count && k->cpu >= s->cpu && k->mem >= s->mem && k->model < WZ_MODELS_MAX &&
	       (s->any_model || wz_model_set_has(&s->allowed, k->model));
}

#endif
