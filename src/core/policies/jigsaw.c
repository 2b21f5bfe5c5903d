/* SPDX-License-Identifier: Apache-2.0 */
/* Jigsaw, the default. Four terms, in devices (Q16), all learned from what has arrived (never told), docs/internals/
 * policies.md:
 *
 *	score = - (S after - S before)    stranding: devices that the node cannot sell for want of CPU
 *	        - waste                   of a share: what the device's remainder loses (worth.h)
 *	        - 2 order                 a fixed random order, so that work concentrates; 4 for tasks without a device
 *	        - P[class] q / 2          scarcity: expected demand per device of nodes of this class
 *
 * S(c, R) = max(0, R - c / rho), its corner rounded over half a device of width; rho: CPU that goes with a device.
 * P: every arrived shape's demand spread evenly over the nodes that could hold it when empty. */
#include "base/fix.h"
#include "core/policies/policies.h"
#include "core/policies/worth.h"

#define W_ORDER 2
#define W_ORDER_CPU 4
#define PRIOR 8          /* tasks of one whole device that are believed before any arrived */

struct jigsaw {
	int64_t rho;     /* milli CPU a device */
	int64_t scarcity[WZ_CLASSES_MAX]; /* Q16 */
	uint32_t epochs; /* of demand, when `worth` learned last; 1 + */
	struct wz_worth worth;
};

static bool holds(const struct wz_node_class *k, const struct wz_shape *s)
{
	return k->nodes && k->n_dev >= s->count && k->cpu >= s->cpu && k->mem >= s->mem && k->model < WZ_MODELS_MAX &&
	       (s->any_model || wz_model_set_has(&s->allowed, k->model));
}

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
			room += holds(&m->node_class[k], s) ? (uint64_t)m->node_class[k].nodes * m->node_class[k].n_dev : 0;
		for (uint32_t k = 0; room && k < m->n_classes; k++)
			if (holds(&m->node_class[k], s))
				j->scarcity[k] = wz_sat_add(j->scarcity[k], (int64_t)wz_umuldiv(q, WZ_ONE, room * WZ_WHOLE));
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

static bool prepare(void *state, const struct wz_policy_ctx *ctx)
{
	struct jigsaw *j = state;
	const struct wz_model_state *m = ctx->model;
	uint64_t devices = 0, gpu = PRIOR * WZ_WHOLE, cpu;

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
	if (j->epochs != 1 + ctx->demand->epochs) {
		j->epochs = 1 + ctx->demand->epochs;
		learn_shares(j, ctx);
	}
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

static int64_t score(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	const struct wz_view *v)
{
	const struct jigsaw *j = state;
	const struct wz_node *n = v->node;
	int64_t q = wz_need_milli(v), order = (int64_t)(n->order >> 16), total;
	uint32_t device = 0;

	(void)ctx;
	total = stranded(j->rho, n->cpu_free, n->gpu_free) - stranded(j->rho, n->cpu_free - shape->cpu, n->gpu_free - q);
	if (q == 0)
		return total - W_ORDER_CPU * order;
	if (v->need.milli < WZ_WHOLE && v->need.count == 1)
		total -= least_waste(j, v, &device);
	return total - W_ORDER * order - j->scarcity[n->class_id] * q / 2000;
}

static int64_t order_weight(const struct wz_shape *shape)
{
	return shape->count ? W_ORDER : W_ORDER_CPU;
}

static uint64_t choose(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
	const struct wz_view *v)
{
	uint32_t device = 0;

	(void)ctx, (void)shape;
	if (v->need.milli == WZ_WHOLE || v->need.count != 1)
		return wz_choose_tightest(v);
	least_waste(state, v, &device);
	return 1ULL << device;
}

const struct wz_policy wz_policy_jigsaw = {
	.name = "jigsaw",
	.summary = "no device stranded without CPU, no remainder that nobody wants, scarce nodes spared",
	.scope = WZ_SCOPE_NODE,
	.state_size = sizeof(struct jigsaw),
	.prepare = prepare,
	.score = score,
	.order_weight = order_weight,
	.choose = choose,
};
