/* SPDX-License-Identifier: Apache-2.0 */
/* Jigsaw, the default. Terms in devices (Q16), learned from what has arrived (never told), docs/internals/policies.md:
 *
 *	score = - stranding (S after - S before)   devices that the node cannot sell for want of CPU
 *	        - waste                            of a share: what the device's remainder loses (worth.h)
 *	        - order                            a fixed random order, so that work concentrates; order-cpu without a device
 *	        - scarcity P[class] q              expected demand per device of nodes of this class
 *	        - slots                            room for tasks of several devices (jigsaw_slots.c)
 *	        - power, price, heat, util         off by default (jigsaw_terms.c)
 *
 * Each is multiplied by its parameter. S(c, R) = max(0, R - c / rho), its corner rounded over half a device of width; rho:
 * CPU that goes with a device. P: every arrived shape's demand spread evenly over the nodes that could hold it when
 * empty. */
#include "base/fix.h"
#include "base/hash.h"
#include "core/policies/jigsaw_int.h"

#define PRIOR 8 /* tasks of one whole device that are believed before any arrived */

/* Spreads the demand of every arrived shape; returns rho's sums through cpu and gpu (milli). */
static void spread(struct jigsaw *j, const struct wz_policy_ctx *ctx, uint64_t *cpu, uint64_t *gpu)
{
	const struct wz_model_state *m = ctx->model;

	for (uint32_t i = 0; i < ctx->demand->n_shapes; i++) {
		const struct wz_shape *s = &ctx->shapes->shape[i];
		uint64_t n = ctx->demand->arrived[i], q = n * (uint64_t)wz_shape_gpu_milli(s), room = 0;
		if (q == 0)
			continue;
		*gpu = wz_usat_add(*gpu, q);
		*cpu = wz_usat_add(*cpu, wz_umuldiv(n, (uint64_t)s->cpu, 1));
		for (uint32_t k = 0; k < m->n_classes; k++)
			room += wz_jigsaw_holds(&m->node_class[k], s)
			                ? (uint64_t)m->node_class[k].nodes * m->node_class[k].n_dev
			                : 0;
		for (uint32_t k = 0; room && k < m->n_classes; k++)
			if (wz_jigsaw_holds(&m->node_class[k], s))
				j->scarcity[k] =
				        wz_sat_add(j->scarcity[k], (int64_t)wz_umuldiv(q, WZ_ONE, room * WZ_WHOLE));
	}
}

static void learn_shares(struct jigsaw *j, const struct wz_policy_ctx *ctx)
{
	uint64_t share[WZ_WORTH_N] = {[100] = PRIOR}, scale = 1 + ctx->demand->total / (1u << 24);

	for (uint32_t i = 0; i < ctx->demand->n_shapes; i++) {
		const struct wz_shape *s = &ctx->shapes->shape[i];
		uint64_t n = ctx->demand->arrived[i] / scale;
		if (s->count && s->milli)
			share[(s->milli + 9) / 10] += s->milli < WZ_WHOLE ? n : n * s->count;
	}
	wz_worth_learn(&j->worth, share);
}

/* Of what scores depend on and an epoch may move, but the worth of shares. */
static uint64_t digest(const struct jigsaw *j, uint32_t classes)
{
	return wz_hash_str(
	        (uint64_t)j->rho, (struct wz_str){(const char *)j->scarcity, classes * sizeof(j->scarcity[0])});
}

static bool prepare(void *state, const struct wz_policy_ctx *ctx)
{
	struct jigsaw *j = state;
	const struct wz_model_state *m = ctx->model;
	uint64_t devices = 0, gpu = PRIOR * WZ_WHOLE, cpu, before = digest(j, m->n_classes);

	for (uint32_t k = 0; k < m->n_classes; k++)
		devices += (uint64_t)m->node_class[k].nodes * m->node_class[k].n_dev;
	memset(j->scarcity, 0, sizeof(j->scarcity));
	cpu = devices ? (uint64_t)m->cpu_total * 2 * PRIOR / 3 / devices : 0;
	spread(j, ctx, &cpu, &gpu);
	for (uint32_t k = 0; k < m->n_classes; k++) /* as if arrivals had reached the capacity of the cluster */
		j->scarcity[k] = wz_muldiv(j->scarcity[k], (int64_t)devices, (int64_t)(gpu / WZ_WHOLE));
	j->rho = (int64_t)wz_umuldiv(cpu, WZ_WHOLE * 15, wz_usat_add(gpu, 15 * gpu));
	if (j->rho < 1)
		j->rho = 1;
	if (j->epochs == 1 + ctx->demand->epochs) /* only the cluster changed; usually nothing that counts */
		return digest(j, m->n_classes) != before;
	j->epochs = 1 + ctx->demand->epochs;
	learn_shares(j, ctx);
	wz_jigsaw_learn_slots(j, ctx, gpu);
	return true;
}

/* Devices (Q16) of R milli free that c milli CPU cannot sell. */
static int64_t stranded(int64_t rho, int64_t c, int64_t r)
{
	int64_t m = r < 500 ? r : 500, h, z;

	if (1000 * c >= rho * (r + m)) /* then z >= h: mostly, and without a division */
		return 0;
	h = rho * m / 1000;
	z = c - rho * r / 1000;
	if (z >= h)
		return 0;
	if (z <= -h)
		return -z * WZ_ONE / rho;
	if (h > 1 << 30) /* nodes of a million CPUs: the square does not fit */
		return wz_muldiv(h - z, h - z, 4 * h) * WZ_ONE / rho;
	return (h - z) * (h - z) / (4 * h) * WZ_ONE / rho;
}

/* The device of a share that wastes least; ties to the tighter one, then the lower index. */
static int64_t least_waste(const struct jigsaw *j, const struct wz_view *v, uint32_t *ret)
{
	int64_t best = INT64_MAX;
	int32_t last = -1;

	for (uint32_t i = 0; i < v->node->n_dev; i++) {
		int64_t w;
		if (!wz_device_fits(v, i) || v->milli[i] == last) /* alike: the lower index wins */
			continue;
		last = v->milli[i];
		w = wz_worth_waste(&j->worth, v->milli[i], v->need.milli);
		if (w < best || (w == best && v->milli[i] < v->milli[*ret])) {
			best = w;
			*ret = i;
		}
	}
	return best;
}

void wz_jigsaw_cost(const struct jigsaw *j, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        const struct wz_view *v, struct jigsaw_cost *ret)
{
	const struct wz_node *n = v->node;
	const int32_t *w = j->weight;
	int64_t q = wz_need_milli(v), order = (int64_t)(n->order >> 16);

	ret->waste = ret->scarcity = 0;
	ret->device = 0;
	ret->stranding = (stranded(j->rho, n->cpu_free - shape->cpu, n->gpu_free - q) -
	                         stranded(j->rho, n->cpu_free, n->gpu_free)) *
	                 w[JIGSAW_STRANDING] / 1000;
	ret->order = order * w[q ? JIGSAW_ORDER : JIGSAW_ORDER_CPU] / 1000;
	if (q && v->need.milli < WZ_WHOLE && v->need.count == 1)
		ret->waste = least_waste(j, v, &ret->device) * w[JIGSAW_WASTE] / 1000;
	if (q)
		ret->scarcity = wz_sat_mul(j->scarcity[n->class_id], q * w[JIGSAW_SCARCITY]) / 1000000;
	ret->slots = wz_jigsaw_slots(j, shape, v, ret->device) * w[JIGSAW_SLOTS] / 1000;
	wz_jigsaw_more(j, ctx, shape, v, ret);
}

/* Scores are in thousandths of Q16, so that the order counts without rounding: its part is the same for nodes alike. */
static int64_t order_weight(const void *state, const struct wz_shape *shape)
{
	const struct jigsaw *j = state;

	return j->weight[shape->count ? JIGSAW_ORDER : JIGSAW_ORDER_CPU];
}

/* Live readings tell nodes apart that are otherwise alike. */
static int64_t order_weight_if_alike(const void *state, const struct wz_shape *shape)
{
	const struct jigsaw *j = state;

	return j->weight[JIGSAW_HEAT] || j->weight[JIGSAW_UTIL] ? -1 : order_weight(state, shape);
}

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	struct jigsaw_cost c;

	wz_jigsaw_cost(state, ctx, shape, v, &c);
	return -1000 * (wz_jigsaw_sum(&c) - c.order) - (int64_t)(v->node->order >> 16) * order_weight(state, shape);
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	uint32_t device = 0;

	(void)ctx, (void)shape;
	if (v->need.milli == WZ_WHOLE || v->need.count != 1)
		return wz_choose_tightest(v);
	least_waste(state, v, &device);
	return 1ULL << device;
}

static const struct wz_policy_param params[JIGSAW_PARAMS] = {
        [JIGSAW_STRANDING] = {"stranding", "a device that cannot be sold for want of CPU", 1000, 10000, false},
        [JIGSAW_WASTE] = {"waste", "a device's worth of remainder that no expected share will use", 1000, 10000,
                false},
        [JIGSAW_ORDER] = {"order", "the last node of the fixed order against the first", 2000, 10000, false},
        [JIGSAW_ORDER_CPU] = {"order-cpu", "the same, for tasks without a device", 4000, 10000, false},
        [JIGSAW_SCARCITY] = {"scarcity", "a device for which one device's worth of demand is expected", 500, 10000,
                false},
        [JIGSAW_SLOTS] = {"slots", "room for tasks of several devices, once some were refused", 300, 10000, false},
        [JIGSAW_POWER] = {"power", "100 W more that the node will draw", 0, 10000, false},
        [JIGSAW_PRICE] = {"price", "a US dollar an hour more of devices in use", 0, 10000, false},
        [JIGSAW_HEAT] = {"heat", "each device asked, for each 10 degrees of the node above 50", 0, 10000, true},
        [JIGSAW_UTIL] = {"util", "each device asked, on a node that measures 100 % busy", 0, 10000, true},
};

static int64_t jigsaw_worth(const void *state, int32_t free)
{
	const struct jigsaw *j = state;

	return free > 0 ? j->worth.u[free / 10] : 0;
}

const struct wz_policy wz_policy_jigsaw = {
        .name = "jigsaw",
        .version = 1,
        .param = params,
        .n_params = JIGSAW_PARAMS,
        .summary = "no device stranded without CPU, no remainder that nobody wants, scarce nodes spared",
        .scope = WZ_SCOPE_NODE,
        .state_size = sizeof(struct jigsaw),
        .prepare = prepare,
        .score = score,
        .order_weight = order_weight_if_alike,
        .worth = jigsaw_worth,
        .choose = choose,
        .explain = wz_jigsaw_explain,
};
