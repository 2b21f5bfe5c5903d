/* SPDX-License-Identifier: Apache-2.0 */
/* Room for tasks of several devices. While work comes and goes, single devices nibble at nodes until none is whole; a node
 * then holds as many devices as before and no slot for a task of eight. What a slot is worth is learned from what could
 * not be had: the part of the tasks of a size that did not fit and were withdrawn. While none is refused the
 * term is zero, so an emptier cluster is packed as without it.
 *
 *	value of a node = sum over the shapes of several devices:  price x size x (whole slots + part of the next, squared)
 *	price           = the shape's part of the devices asked for x rate of its size
 *	rate            = 95 % of (the last rate + 10 x the part refused), at each epoch
 *
 * A slot is `size` devices entirely free with the shape's CPU. The square makes a node that is nearly a slot worth more
 * than two that are half of one. Tasks that insist on a model are left out: what they lack is nodes of that model (scarcity),
 * not whole ones. */
#include "base/fix.h"
#include "core/policies/jigsaw_int.h"

#define RATE_GAIN 1000 /* percent: 10 at a refusal of all */
#define RATE_KEEP 95

/* The rate of each size, from what arrived and was refused since the last epoch. */
static void learn_rates(struct jigsaw *j, const struct wz_policy_ctx *ctx)
{
	const struct wz_demand *d = ctx->demand;
	uint64_t came[WZ_NODE_DEVICES_MAX + 1] = {0};

	for (uint32_t i = 0; i < d->n_shapes; i++)
		if (ctx->shapes->shape[i].any_model)
			came[wz_demand_size(ctx->shapes->shape[i].count)] += d->arrived[i];
	for (uint32_t n = 2; n <= WZ_NODE_DEVICES_MAX; n++) {
		uint64_t c = wz_usat_sub(came[n], j->came[n]), r = wz_usat_sub(d->refused[n], j->refused[n]);
		j->came[n] = came[n];
		j->refused[n] = d->refused[n];
		if (c)
			j->rate[n] =
			        (j->rate[n] + (int64_t)wz_umuldiv(RATE_GAIN, r < c ? r : c, c)) * RATE_KEEP / 100;
	}
}

/* The shapes of several devices with the largest demand, ties to the lower number. */
void wz_jigsaw_learn_slots(struct jigsaw *j, const struct wz_policy_ctx *ctx, uint64_t gpu_milli)
{
	uint64_t demand[JIGSAW_SLOTS_N] = {0};

	learn_rates(j, ctx);
	memset(j->slot, 0, sizeof(j->slot));
	for (uint32_t i = 0; i < ctx->demand->n_shapes; i++) {
		const struct wz_shape *s = &ctx->shapes->shape[i];
		uint64_t q = ctx->demand->arrived[i] * (uint64_t)wz_shape_gpu_milli(s);
		uint32_t k = JIGSAW_SLOTS_N;
		if (s->count < 2 || s->milli < WZ_WHOLE || !s->any_model)
			continue;
		for (; k && q > demand[k - 1]; k--) {
			if (k == JIGSAW_SLOTS_N)
				continue;
			demand[k] = demand[k - 1];
			j->slot[k] = j->slot[k - 1];
		}
		if (k == JIGSAW_SLOTS_N)
			continue;
		demand[k] = q;
		j->slot[k] = (struct jigsaw_slot){.size = s->count, .cpu = s->cpu};
	}
	for (uint32_t k = 0; k < JIGSAW_SLOTS_N; k++)
		j->slot[k].price = wz_muldiv((int64_t)wz_umuldiv(demand[k], WZ_ONE, gpu_milli ? gpu_milli : 1),
		        j->rate[wz_demand_size((uint32_t)j->slot[k].size)], 100);
}

/* Devices (Q16) that the node's slots are worth, with so many devices entirely free and so much CPU. */
static int64_t value(const struct jigsaw *j, const struct wz_node *n, int64_t whole, int64_t cpu)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < JIGSAW_SLOTS_N; k++) {
		const struct jigsaw_slot *s = &j->slot[k];
		int64_t slots, part;
		if (s->price == 0 || n->n_dev < s->size || whole <= 0)
			continue;
		slots = whole * 1000 / s->size;
		if (s->cpu && cpu < s->cpu * slots / 1000)
			slots = cpu > 0 ? cpu * 1000 / s->cpu : 0;
		part = slots % 1000;
		sum += s->price * s->size * (slots - part + part * part / 1000) / 1000;
	}
	return sum;
}

int64_t wz_jigsaw_slots(
        const struct jigsaw *j, const struct wz_shape *shape, const struct wz_view *v, uint32_t device)
{
	const struct wz_node *n = v->node;
	int64_t taken = 0;

	if (n->whole == 0)
		return 0;
	if (v->need.count)
		taken = v->need.milli == WZ_WHOLE ? v->need.count : v->milli[device] == WZ_WHOLE;
	return value(j, n, n->whole, n->cpu_free) - value(j, n, n->whole - taken, n->cpu_free - shape->cpu);
}
