/* SPDX-License-Identifier: Apache-2.0 */
#include "core/draw.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/str.h"

#define UNKNOWN_IDLE_W 30
#define UNKNOWN_FULL_W 250
#define PRICE_100_CU_MUSD 4100

/* By name, so that a trace may declare its models as it likes. Watts of 0: the catalogue's. */
static const struct {
	const char *name;
	struct wz_draw draw;
} stated[] = {
        {"G2", {30, 150, 2724}}, /* as an A10: Lettich et al. */
        {"G3", {50, 400, 3673}}, /* as an A100 */
        {"T4", {0, 0, 978}},
        {"P100-PCIe-16GB", {0, 0, 1275}},
        {"P100-SXM2-16GB", {0, 0, 1275}},
        {"V100-PCIe-16GB", {0, 0, 2950}},
        {"V100-SXM2-16GB", {0, 0, 2950}},
        {"V100-SXM2-32GB", {0, 0, 2950}},
        {"A10", {0, 0, 2724}},
};

struct wz_draw wz_draw_of(const struct wz_catalogue *c, uint32_t model)
{
	struct wz_draw d = {UNKNOWN_IDLE_W, UNKNOWN_FULL_W, PRICE_100_CU_MUSD};
	const struct wz_model *m;

	if (!c || model >= c->n)
		return d;
	m = &c->model[model];
	if (m->cu_milli)
		d.price_musd = (int32_t)wz_muldiv(m->cu_milli, PRICE_100_CU_MUSD, 100000);
	for (size_t i = 0; i < WZ_ARRAY_LEN(stated); i++) {
		if (stated[i].name[0] != m->name[0] || !wz_str_eq(wz_str(stated[i].name), wz_str(m->name)))
			continue;
		d.price_musd = stated[i].draw.price_musd;
		d.idle_w = stated[i].draw.full_w ? stated[i].draw.idle_w : d.idle_w;
		d.full_w = stated[i].draw.full_w ? stated[i].draw.full_w : d.full_w;
	}
	if (m->tdp_w) {
		d.full_w = (int32_t)m->tdp_w;
		d.idle_w = m->idle_w ? (int32_t)m->idle_w : d.full_w / 10;
	}
	return d;
}

struct wz_draw_sum wz_draw_node(const struct wz_catalogue *c, const struct wz_model_state *m, uint32_t node)
{
	const struct wz_node *n = &m->node[node];
	int64_t sockets = wz_sockets(n->cpu), busy = wz_sockets(n->cpu - n->cpu_free);
	struct wz_draw_sum sum = {
	        .watts = busy * WZ_SOCKET_FULL_W + (sockets > busy ? sockets - busy : 0) * WZ_SOCKET_IDLE_W};
	struct wz_draw d = {0};

	for (uint32_t i = n->first_dev; i < n->first_dev + n->n_dev; i++) {
		bool used = m->dev_milli[i] < wz_device_milli(&m->dev[i]);
		if (i == n->first_dev || m->dev[i].model != m->dev[i - 1].model)
			d = wz_draw_of(c, m->dev[i].model);
		sum.watts += used ? d.full_w : d.idle_w;
		sum.price_musd += used ? d.price_musd : 0;
	}
	return sum;
}
