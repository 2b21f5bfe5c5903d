/* SPDX-License-Identifier: Apache-2.0 */
/* The terms that are off by default. What a choice adds to the power and the price of the node (core/draw.h), and the
 * node's live readings: mean temperature and mean busy percent of the devices that report them. */
#include "core/draw.h"
#include "core/policies/jigsaw_int.h"

#define COOL_C 50

/* Devices of the need that are idle now. */
static int64_t opened(const struct wz_view *v, uint32_t share_device)
{
	uint64_t mask = 1ULL << share_device;
	int64_t n = 0;

	if (v->need.milli >= WZ_WHOLE)
		return v->need.count;
	if (v->need.count != 1)
		mask = wz_choose_tightest(v);
	for (; mask; mask &= mask - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(mask);
		n += v->milli[i] == v->dev[i].milli;
	}
	return n;
}

static void draw(const struct jigsaw *j, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        const struct wz_view *v, struct jigsaw_cost *ret)
{
	const struct wz_node *n = v->node;
	int64_t used = n->cpu - n->cpu_free;
	int64_t watts = (wz_sockets(used + shape->cpu) - wz_sockets(used)) * (WZ_SOCKET_FULL_W - WZ_SOCKET_IDLE_W);

	if (v->need.count) {
		struct wz_draw d = wz_draw_of(ctx->catalogue, n->model);
		int64_t devices = opened(v, ret->device);
		watts += devices * (d.full_w - d.idle_w);
		ret->price = devices * d.price_musd * j->weight[JIGSAW_PRICE] * WZ_ONE / 1000000;
	}
	ret->power = watts * j->weight[JIGSAW_POWER] * WZ_ONE / 100000;
}

/* Mean of a reading over the node's devices, x 16; 0 when none is known. */
static int64_t mean16(const struct wz_view *v, size_t at)
{
	int64_t sum = 0, n = 0;

	for (uint32_t i = 0; i < v->node->n_dev; i++) {
		uint8_t x = *((const uint8_t *)&v->dev[i] + at);
		sum += x == 255 ? 0 : x;
		n += x != 255;
	}
	return n ? 16 * sum / n : 0;
}

static void live(const struct jigsaw *j, const struct wz_view *v, struct jigsaw_cost *ret)
{
	int64_t hot = mean16(v, offsetof(struct wz_device, temp_c)) - 16 * COOL_C, devices = v->need.count;

	ret->heat = (hot > 0 ? hot : 0) * devices * j->weight[JIGSAW_HEAT] * WZ_ONE / 160000;
	ret->util = mean16(v, offsetof(struct wz_device, util_pct)) * devices * j->weight[JIGSAW_UTIL] * WZ_ONE /
	            1600000;
}

void wz_jigsaw_more(const struct jigsaw *j, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        const struct wz_view *v, struct jigsaw_cost *ret)
{
	ret->power = ret->price = ret->heat = ret->util = 0;
	if (j->weight[JIGSAW_POWER] || j->weight[JIGSAW_PRICE])
		draw(j, ctx, shape, v, ret);
	if (v->need.count && (j->weight[JIGSAW_HEAT] || j->weight[JIGSAW_UTIL]))
		live(j, v, ret);
}
