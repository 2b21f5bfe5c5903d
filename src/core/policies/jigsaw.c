/* SPDX-License-Identifier: Apache-2.0 */
/* Jigsaw: three cheap terms instead of enumerating the expected work (reference/fragmentation.md, section 6), in
 * millionths of a device:
 *
 *	stranded(n) = max(0, R - c / kappa)        devices that the node cannot sell for want of CPU
 *	score = (stranded before - stranded after) - 0.28 order - pressure(model) q      [CPU-only: - pressure(model) / 2]
 *
 * kappa: CPU per device of the GPU tasks that arrived, by demand. order: the node's place in 0..1, random and fixed.
 * pressure(t): demand that insists on certain models, split over them by what there is, per supply of t, as if arrivals
 * had reached the capacity of the cluster. All learned at epochs. A share takes the first device that fits. */
#include "base/fix.h"
#include "core/policies/policies.h"

#include <string.h>

#define MICRO 1000000
#define W_ORDER (28 * MICRO / 100)
#define KAPPA_MIN 1000 /* milli CPU per device */
#define KAPPA_MAX 64000
#define PRESSURE_MAX (4 * MICRO)

struct jigsaw {
	int64_t kappa;
	int64_t pressure[WZ_MODELS_MAX]; /* millionths */
};

static uint64_t supply_of(const struct wz_model_state *m, const struct wz_shape *s)
{
	uint64_t devices = 0;
	for (uint32_t t = 0; t < WZ_MODELS_MAX; t++)
		if (!s || wz_model_set_has(&s->allowed, t))
			devices += m->supply[t].devices;
	return devices;
}

static bool prepare(void *state, const struct wz_policy_ctx *ctx)
{
	struct jigsaw *j = state, old = *j;
	const struct wz_model_state *m = ctx->model;
	uint64_t gpu = 0, cpu = 0, on[WZ_MODELS_MAX] = {0}; /* milli arrived: in all, and insisting on a model */
	memset(j, 0, sizeof(*j));
	for (uint32_t i = 0; i < ctx->demand->n_shapes; i++) {
		const struct wz_shape *s = &ctx->shapes->shape[i];
		uint64_t q = ctx->demand->arrived[i] * (uint64_t)wz_shape_gpu_milli(s);
		if (q == 0)
			continue;
		gpu = wz_usat_add(gpu, q);
		cpu = wz_usat_add(cpu, wz_umuldiv(ctx->demand->arrived[i], (uint64_t)s->cpu, 1));
		uint64_t supply = s->any_model ? 0 : supply_of(m, s);
		for (uint32_t t = 0; supply && t < WZ_MODELS_MAX; t++)
			if (wz_model_set_has(&s->allowed, t))
				on[t] = wz_usat_add(on[t], wz_umuldiv(q, m->supply[t].devices, supply));
	}
	uint64_t devices = supply_of(m, NULL);
	if (gpu == 0 || devices == 0)
		return memcmp(&old, j, sizeof(old)) != 0;
	uint64_t kappa = wz_umuldiv(cpu, WZ_WHOLE, gpu);
	j->kappa = (int64_t)(kappa < KAPPA_MIN ? KAPPA_MIN : kappa > KAPPA_MAX ? KAPPA_MAX : kappa);
	for (uint32_t t = 0; t < WZ_MODELS_MAX; t++) {
		if (m->supply[t].devices == 0)
			continue;
		uint64_t p = wz_umuldiv(wz_umuldiv(on[t], devices * MICRO, gpu), 1, m->supply[t].devices);
		j->pressure[t] = (int64_t)(p < PRESSURE_MAX ? p : PRESSURE_MAX);
	}
	return memcmp(&old, j, sizeof(old)) != 0;
}

static int64_t stranded(int64_t kappa, int64_t gpu, int64_t cpu)
{
	int64_t s = gpu * (MICRO / WZ_WHOLE) - (kappa ? cpu * MICRO / kappa : 0); /* cpu <= 2^40 */
	return kappa && s > 0 ? s : 0;
}

static int64_t score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)ctx;
	const struct jigsaw *j = state;
	const struct wz_node *n = v->node;
	int64_t q = wz_need_milli(v), pressure = n->model < WZ_MODELS_MAX ? j->pressure[n->model] : 0;
	int64_t gain = stranded(j->kappa, n->gpu_free, n->cpu_free) -
	               stranded(j->kappa, n->gpu_free - q, n->cpu_free - shape->cpu);
	int64_t order = (int64_t)((uint64_t)W_ORDER * n->order >> 32);
	return gain - order - (q ? pressure * q / WZ_WHOLE : pressure / 2);
}

static uint64_t choose(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	(void)state, (void)ctx, (void)shape;
	return wz_choose_first(v);
}

const struct wz_policy wz_policy_jigsaw = {
        .name = "jigsaw",
        .summary = "no device stranded without CPU, scarce models spared, the stable order kept",
        .scope = WZ_SCOPE_NODE,
        .state_size = sizeof(struct jigsaw),
        .prepare = prepare,
        .score = score,
        .choose = choose,
};
