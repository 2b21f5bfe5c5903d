/* SPDX-License-Identifier: Apache-2.0 */
/* A choice of jigsaw in words. Figures are devices, two decimals. */
#include "core/policies/jigsaw_int.h"

#define NOTHING (WZ_ONE / 200) /* 0.005 devices: shown as 0.00 */

static int64_t hundredths(int64_t q16)
{
	return (q16 * 100 + (q16 < 0 ? -WZ_ONE / 2 : WZ_ONE / 2)) / WZ_ONE;
}

static void figure(struct wz_buf *b, const char *before, int64_t q16, const char *after)
{
	wz_buf_addz(b, before);
	wz_buf_add_fixed(b, hundredths(q16), 2);
	wz_buf_addz(b, after);
}

static void count(struct wz_buf *b, const char *before, uint64_t n, const char *one, const char *many)
{
	wz_buf_addz(b, before);
	wz_buf_add_u64(b, n);
	wz_buf_addz(b, n == 1 ? one : many);
}

/* ---- the chosen node ---- */

static void say_stranding(int64_t cost, struct wz_buf *b)
{
	if (cost > NOTHING)
		figure(b, "leaves ", cost, " devices more without CPU to sell them with");
	else if (cost < -NOTHING)
		figure(b, "takes ", -cost, " devices that had no CPU to be sold with");
	else
		wz_buf_addz(b, "strands no device");
}

static void say_remainder(const struct jigsaw *j, const struct wz_view *v, uint32_t device, struct wz_buf *b)
{
	int32_t rest = v->milli[device] - v->need.milli;
	int64_t sells = j->worth.u[rest / 10], all = (int64_t)rest * WZ_ONE / 1000;

	if (rest == 0) {
		count(b, ", fills device ", device, " exactly", " exactly");
		return;
	}
	figure(b, ", leaves ", all, " of device ");
	wz_buf_add_u64(b, device);
	if (sells == 0)
		wz_buf_addz(b, ", less than the smallest expected share");
	else if (sells >= all - all / 10)
		wz_buf_addz(b, ", no remainder below the smallest expected share");
	else if (sells <= NOTHING)
		wz_buf_addz(b, ", of which expected shares will use next to nothing");
	else
		figure(b, ", of which expected shares will use ", sells, "");
}

static void say_more(const struct jigsaw *j, const struct jigsaw_cost *c, struct wz_buf *b)
{
	if (j->weight[JIGSAW_POWER])
		count(b, ", draws ", (uint64_t)(c->power * 100000 / j->weight[JIGSAW_POWER] + WZ_ONE / 2) / WZ_ONE,
		        " W more", " W more");
	if (j->weight[JIGSAW_PRICE])
		figure(b, ", costs ", c->price * 1000 / j->weight[JIGSAW_PRICE], " USD an hour more");
	if (c->heat > NOTHING)
		figure(b, ", is warm (", c->heat, ")");
	if (c->util > NOTHING)
		figure(b, ", is busy (", c->util, ")");
}

static void say_node(const struct jigsaw *j, const struct wz_view *v, const struct jigsaw_cost *c, struct wz_buf *b)
{
	wz_buf_addz(b, "It ");
	say_stranding(j->weight[JIGSAW_STRANDING] ? c->stranding * 1000 / j->weight[JIGSAW_STRANDING] : 0, b);
	if (v->need.count == 1 && v->need.milli < WZ_WHOLE)
		say_remainder(j, v, c->device, b);
	say_more(j, c, b);
	wz_buf_addc(b, '.');
}

/* ---- against another node ---- */

/* The nodes that could hold a shape, when empty. */
static uint64_t holders(const struct wz_policy_ctx *ctx, const struct wz_shape *s)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < ctx->model->n_classes; k++)
		n += wz_jigsaw_holds(&ctx->model->node_class[k], s) ? ctx->model->node_class[k].nodes : 0;
	return n;
}

/* What makes a class scarcer than another: of the shapes that arrived and fit in `rich` but not in `plain`, the one with
 * the most demand a node. NULL: none. */
static const struct wz_shape *scarce_for(const struct wz_policy_ctx *ctx, const struct wz_node_class *rich,
        const struct wz_node_class *plain, uint64_t *ret_nodes)
{
	const struct wz_shape *best = NULL;
	uint64_t best_demand = 0;

	for (uint32_t i = 0; i < ctx->demand->n_shapes; i++) {
		const struct wz_shape *s = &ctx->shapes->shape[i];
		uint64_t demand = ctx->demand->arrived[i] * (uint64_t)wz_shape_gpu_milli(s), nodes;
		if (demand == 0 || !wz_jigsaw_holds(rich, s) || wz_jigsaw_holds(plain, s))
			continue;
		nodes = holders(ctx, s);
		if (demand / nodes > best_demand) {
			best_demand = demand / nodes;
			best = s;
			*ret_nodes = nodes;
		}
	}
	return best;
}

static void say_scarce(
        const struct wz_policy_ctx *ctx, const struct wz_view *v, const struct wz_view *other, struct wz_buf *b)
{
	uint64_t nodes = 0;
	const struct wz_shape *s = scarce_for(ctx, &ctx->model->node_class[other->node->class_id],
	        &ctx->model->node_class[v->node->class_id], &nodes);

	if (!s)
		return;
	count(b, "; spares ", nodes, " node that alone can hold ", " nodes that alone can hold ");
	if (s->milli < WZ_WHOLE)
		wz_buf_addz(b, "shares");
	else
		count(b, "", s->count, "-device tasks", "-device tasks");
	count(b, " with ", (uint64_t)s->cpu / 1000, " CPU", " CPU");
}

static void say_against(const struct wz_policy_ctx *ctx, const struct wz_view *v, const struct wz_view *other,
        const struct jigsaw_cost *c, const struct jigsaw_cost *o, struct wz_buf *b)
{
	const struct {
		const char *name;
		int64_t by;
	} term[] = {
	        {"stranding ", o->stranding - c->stranding},
	        {"waste ", o->waste - c->waste},
	        {"scarcity ", o->scarcity - c->scarcity},
	        {"slots ", o->slots - c->slots},
	        {"order ", o->order - c->order},
	        {"power ", o->power - c->power},
	        {"price ", o->price - c->price},
	        {"heat ", o->heat - c->heat},
	        {"util ", o->util - c->util},
	};
	const char *sep = ": ";
	int64_t by = wz_jigsaw_sum(o) - wz_jigsaw_sum(c);

	if (by <= NOTHING && by >= -NOTHING)
		wz_buf_addz(b, "as good but for the order");
	else
		figure(b, by > 0 ? "worse by " : "better by ", by > 0 ? by : -by, " devices");
	for (size_t i = 0; i < sizeof(term) / sizeof(*term); i++) {
		if (term[i].by <= NOTHING && term[i].by >= -NOTHING)
			continue;
		wz_buf_addz(b, sep);
		figure(b, term[i].name, term[i].by, "");
		sep = ", ";
	}
	if (o->scarcity - c->scarcity > NOTHING)
		say_scarce(ctx, v, other, b);
	if (v->need.count == 0 && o->stranding - c->stranding > NOTHING)
		wz_buf_addz(b, "; keeps CPU beside devices that can be sold");
	wz_buf_addc(b, '.');
}

void wz_jigsaw_explain(const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape,
        const struct wz_view *v, const struct wz_view *other, struct wz_buf *b)
{
	struct jigsaw_cost c, o;

	wz_jigsaw_cost(state, ctx, shape, v, &c);
	if (!other) {
		say_node(state, v, &c, b);
		return;
	}
	wz_jigsaw_cost(state, ctx, shape, other, &o);
	say_against(ctx, v, other, &c, &o, b);
}
