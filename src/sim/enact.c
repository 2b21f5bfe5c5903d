/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/enact.h"

void wz_enact_init(struct wz_enact *x, const struct wz_mem *mem, const struct wz_enact_options *o)
{
	*x = (struct wz_enact){.o = *o, .mem = mem};
	wz_rng_seed(&x->rng, o->seed);
}

void wz_enact_release(struct wz_enact *x)
{
	wz_grow_free(x->mem, &x->heap, &x->cap, sizeof(*x->heap));
	x->n = 0;
}

static bool sooner(const struct wz_reply *a, const struct wz_reply *b)
{
	return a->due_us != b->due_us ? a->due_us < b->due_us : a->number < b->number;
}

static int push(struct wz_enact *x, struct wz_reply a)
{
	int r = wz_grow(x->mem, &x->heap, &x->cap, x->n + 1, sizeof(*x->heap));
	uint32_t at;

	if (r < 0)
		return r;
	a.number = x->next_number++;
	for (at = x->n++; at && sooner(&a, &x->heap[(at - 1) / 2]); at = (at - 1) / 2)
		x->heap[at] = x->heap[(at - 1) / 2];
	x->heap[at] = a;
	return 0;
}

static struct wz_reply pop(struct wz_enact *x)
{
	struct wz_reply top = x->heap[0], last = x->heap[--x->n];
	uint32_t at = 0;

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= x->n)
			break;
		if (kid + 1 < x->n && sooner(&x->heap[kid + 1], &x->heap[kid]))
			kid++;
		if (!sooner(&x->heap[kid], &last))
			break;
		x->heap[at] = x->heap[kid];
		at = kid;
	}
	x->heap[at] = last;
	return top;
}

static int acknowledge(struct wz_core *c, uint64_t effect, bool refused, uint64_t now_us, struct wz_err *err)
{
	struct wz_event e = {.kind = refused ? WZ_EV_EFFECT_REFUSED : WZ_EV_EFFECT_CONFIRMED, .time_us = now_us};

	e.u.effect.effect = effect;
	return wz_core_apply(c, &e, err);
}

static bool chance(struct wz_enact *x, uint32_t ppm)
{
	return ppm && wz_rng_below(&x->rng, 1000000) < ppm;
}

static int slot_is(struct wz_core *c, uint32_t node, uint32_t slot, uint16_t kind, int64_t mem, uint64_t now_us,
        struct wz_err *err)
{
	const struct wz_model_state *m = wz_core_model(c);
	const struct wz_device *d = &m->dev[m->node[node].first_dev + slot];
	struct wz_event e = {.kind = WZ_EV_DEVICE_CHANGED, .time_us = now_us};

	e.u.device.node.v = node;
	e.u.device.index = slot;
	e.u.device.facts = (struct wz_device_facts){.model = {d->model},
	        .mem_bytes = mem,
	        .compute_milli = WZ_WHOLE,
	        .link_domain = d->link_domain,
	        .numa = d->numa,
	        .pcie = d->pcie,
	        .health = d->health,
	        .partition = kind,
	        .card = d->card};
	return wz_core_apply(c, &e, err);
}

/* What the hardware would do: the facts come before the acknowledgement. An instance whose size is not in the table has its
 * slices' part of the card. */
static int cut(struct wz_core *c, const struct wz_effect *e, uint64_t now_us, struct wz_err *err)
{
	const struct wz_model_state *m = wz_core_model(c);
	uint32_t node = e->place.node.v;
	const struct wz_model *model =
	        &wz_core_catalogue(c)->model[m->dev[m->node[node].first_dev + e->task].model];
	const struct wz_partition_kind *k = wz_partition_find((uint16_t)e->reason);
	int64_t card = (int64_t)model->mem_bytes, mem = !k ? card
	                                                : k->mem
	                                                        ? k->mem
	                                                        : card / wz_partition_slices(k->geometry) * k->size;
	int r = 0;

	for (uint64_t w = e->place.devices; r == 0 && w; w &= w - 1)
		r = slot_is(c, node, (uint32_t)__builtin_ctzll(w), WZ_PARTITION_EMPTY, 0, now_us, err);
	return r == 0 ? slot_is(c, node, e->task, (uint16_t)e->reason, mem, now_us, err) : r;
}

int wz_enact_effect(struct wz_enact *x, struct wz_core *c, const struct wz_effect *e, struct wz_err *err)
{
	struct wz_reply a = {.effect = e->id, .due_us = wz_core_now(c)};
	uint64_t warn = e->kind == WZ_EF_PREEMPT ? x->o.warn_us : 0;
	int r;

	if (e->kind != WZ_EF_START && e->kind != WZ_EF_STOP && e->kind != WZ_EF_PREEMPT &&
	        e->kind != WZ_EF_SUSPEND && e->kind != WZ_EF_RESUME && e->kind != WZ_EF_CHECKPOINT &&
	        e->kind != WZ_EF_REPARTITION)
		return 0;
	if (chance(x, x->o.loss_ppm)) {
		x->lost++;
		return 0;
	}
	a.refused = (e->kind == WZ_EF_START || e->kind == WZ_EF_SUSPEND || e->kind == WZ_EF_REPARTITION) &&
	            chance(x, x->o.refuse_ppm);
	x->refused += a.refused;
	if (e->kind == WZ_EF_REPARTITION && !a.refused && (r = cut(c, e, a.due_us, err)) < 0)
		return r;
	if (x->o.delay_us == 0 && warn == 0)
		return acknowledge(c, e->id, a.refused, a.due_us, err);
	a.due_us += wz_rng_below(&x->rng, x->o.delay_us + 1);
	if (warn)
		a.due_us += wz_rng_below(&x->rng, warn + 1);
	r = push(x, a);
	if (r == 0 && chance(x, x->o.twice_ppm)) {
		x->twice++;
		a.due_us += wz_rng_below(&x->rng, x->o.delay_us + 1);
		r = push(x, a);
	}
	return r < 0 ? wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for an acknowledgement")) : 0;
}

int wz_enact_until(struct wz_enact *x, struct wz_core *c, uint64_t now_us, struct wz_err *err)
{
	while (x->n && x->heap[0].due_us <= now_us) {
		struct wz_reply a = pop(x);
		int r = acknowledge(c, a.effect, a.refused, a.due_us, err);
		if (r < 0)
			return r;
	}
	return 0;
}
