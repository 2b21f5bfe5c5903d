/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting cards anew (REPARTITION). A waiting task that wants a hard slice which nobody has cut, or a whole card that is
 * cut, may get one where all that is in the way is free: instances without work are destroyed, one is made, the others
 * stay as they are. The body answers with facts (DEVICE_CHANGED) and then with the acknowledgement; until then neither
 * the slots that change nor the slices of the new instance are given to anybody. A card that refused, or did not
 * answer, is not asked again before a new fact about it comes: a body that cannot cut is not asked for ever. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

/* One card of a node: its slots, and its memory slices by what is in the way of a new instance. */
struct card {
	const struct wz_node *n;
	const struct wz_device *dev; /* of the node */
	uint32_t first, slots;
	uint8_t geometry, all;
	uint8_t busy; /* slices that hold work, or are being cut */
	bool fixed; /* not to be cut now: failed, or it refused */
	bool whole; /* uncut */
};

static uint8_t all_of(uint8_t geometry)
{
	return (uint8_t)((1u << wz_partition_slices(geometry)) - 1);
}

static uint8_t span_of(uint16_t partition, uint32_t start, uint8_t all)
{
	const struct wz_partition_kind *k = wz_partition_find(partition);

	return partition == WZ_PARTITION_EMPTY ? 0 : k ? (uint8_t)(wz_partition_span(k, start) & all) : all;
}

/* Slices that cuts decided in this plan, or in flight, will take. */
static uint8_t promised(const struct wz_core *c, const struct card *k, uint32_t node, const struct wz_plan *plan)
{
	uint64_t mine = ((1ULL << k->slots) - 1) << k->first;
	uint8_t r = 0;

	for (uint32_t i = 0; i < c->n_recut; i++)
		if (c->recut[i].node == node && (mine >> c->recut[i].slot & 1))
			r |= span_of(c->recut[i].kind, c->recut[i].slot - k->first, k->all);
	for (uint32_t i = 0; plan && i < plan->n; i++) {
		const struct wz_effect *e = &plan->effect[i];
		if (e->kind == WZ_EF_REPARTITION && e->place.node.v == node && (mine >> e->task & 1))
			r |= span_of((uint16_t)e->reason, e->task - k->first, k->all);
	}
	return r;
}

/* The card whose first slot is device i; false when none begins there. */
static bool card_at(
        const struct wz_core *c, uint32_t node, uint32_t i, bool idle, const struct wz_plan *plan, struct card *ret)
{
	const struct wz_node *n = &c->model.node[node];
	const struct wz_device *d = &c->model.dev[n->first_dev];
	struct card k = {.n = n, .dev = d, .first = i, .geometry = c->catalogue.model[d[i].model].geometry};

	if (!d[i].card || (i && d[i - 1].card == d[i].card) || !k.geometry)
		return false;
	k.all = all_of(k.geometry);
	while (i + k.slots < n->n_dev && d[i + k.slots].card == d[i].card && k.slots < WZ_CARD_SLOTS_MAX)
		k.slots++;
	k.whole = d[i].partition == WZ_PARTITION_WHOLE;
	for (uint32_t s = 0; s < k.slots; s++) {
		const struct wz_device *x = &d[i + s];
		k.fixed = k.fixed || x->health != WZ_HEALTH_OK || (x->cut == WZ_CUT_REFUSED && !idle);
		if (!idle && (x->n_tasks || x->cut == WZ_CUT_IN_FLIGHT))
			k.busy |= span_of(x->partition, s, k.all);
	}
	if (!idle)
		k.busy |= promised(c, &k, node, plan);
	*ret = k;
	return true;
}

/* Instances of a kind that stay when what overlaps `span` is destroyed; *ret_destroy: the slots of those that go. */
static uint32_t others_of(
        const struct card *k, const struct wz_partition_kind *kind, uint8_t span, uint64_t *ret_destroy)
{
	uint32_t same = 0;

	*ret_destroy = 0;
	for (uint32_t s = 0; s < k->slots; s++) {
		const struct wz_device *d = &k->dev[k->first + s];
		if (span_of(d->partition, s, k->all) & span)
			*ret_destroy |= 1ULL << (k->first + s);
		else
			same += kind && d->partition == kind->number;
	}
	return same;
}

/* Better: a card that is cut already, then the smaller kind, then the one that costs fewer legal sets. */
static bool better(const struct wz_recut_choice *a, const struct wz_recut_choice *b)
{
	if (a->opens != b->opens)
		return b->opens;
	if (a->size != b->size)
		return a->size < b->size;
	return a->milli != b->milli ? a->milli < b->milli : a->lost < b->lost;
}

static void try_kind(const struct card *k, const struct wz_partition_kind *kind, struct wz_recut_choice *best)
{
	struct wz_recut_choice x = {
	        .kind = kind->number, .size = kind->size, .milli = kind->milli, .opens = k->whole};
	uint32_t open = 0;
	int start = wz_partition_start(kind, k->busy, &open);

	if (start < 0 || (uint32_t)start >= k->slots)
		return;
	x.slot = k->first + (uint32_t)start;
	x.lost = wz_partition_open(k->geometry, k->busy) - open;
	if (others_of(k, kind, wz_partition_span(kind, (uint32_t)start), &x.destroy) >= kind->max)
		return;
	if (best->kind == WZ_PARTITION_EMPTY || better(&x, best))
		*best = x;
}

bool wz_recut_choose(const struct wz_core *c, const struct wz_shape *s, uint32_t node, bool idle,
        const struct wz_plan *plan, struct wz_recut_choice *ret)
{
	struct wz_recut_choice best = {.kind = WZ_PARTITION_EMPTY};
	const struct wz_partition_kind *kind;
	struct card k;

	for (uint32_t i = 0; i < c->model.node[node].n_dev; i++) {
		if (!card_at(c, node, i, idle, plan, &k) || k.fixed ||
		        (!s->any_model && !wz_model_set_has(&s->allowed, k.dev[i].model)))
			continue;
		for (uint32_t j = 0; (kind = wz_partition_at(j)); j++)
			if (kind->geometry == k.geometry && wz_partition_serves(kind, s->mig, s->milli, s->dev_mem))
				try_kind(&k, kind, &best);
	}
	if (best.kind == WZ_PARTITION_EMPTY)
		return false;
	*ret = best;
	return true;
}

uint32_t wz_recut_whole(const struct wz_core *c, uint32_t node, uint16_t model, bool idle,
        const struct wz_plan *plan, uint64_t *ret_slots)
{
	uint32_t n = 0;
	struct card k;

	*ret_slots = 0;
	for (uint32_t i = 0; i < c->model.node[node].n_dev; i++)
		if (card_at(c, node, i, idle, plan, &k) && !k.fixed && !k.whole && !k.busy &&
		        k.dev[i].model == model) {
			*ret_slots |= 1ULL << i;
			n++;
		}
	return n;
}

/* ---- what a step proposes ---- */

static int propose(struct wz_core *c, uint32_t node, uint32_t slot, uint16_t kind, uint64_t destroy, uint64_t job,
        struct wz_plan *plan)
{
	struct wz_effect e = {.kind = WZ_EF_REPARTITION,
	        .id = c->next_effect + plan->n,
	        .job = job,
	        .task = slot,
	        .reason = kind,
	        .deadline_us = wz_usat_add(c->now_us, c->stop_timeout_us),
	        .place = {.node = {node}, .devices = destroy}};

	return wz_plan_add(plan, &e);
}

static uint32_t in_flight(const struct wz_core *c, const struct wz_shape *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_recut; i++) {
		const struct wz_partition_kind *k = wz_partition_find(c->recut[i].kind);
		n += s->mig ? k && wz_partition_serves(k, s->mig, s->milli, s->dev_mem)
		            : c->recut[i].kind == WZ_PARTITION_WHOLE;
	}
	return n;
}

static bool host_room(const struct wz_node *n, const struct wz_shape *s)
{
	return WZ_NODE_USABLE(n) && s->cpu <= n->cpu_free && s->mem <= n->mem_free && n->tasks_free >= 1;
}

/* Cards made whole again on one node, when with those that are free they are enough for the task. */
static int propose_whole(struct wz_core *c, const struct wz_shape *s, uint32_t node, uint64_t job, uint32_t *wanted,
        struct wz_plan *plan)
{
	const struct wz_node *n = &c->model.node[node];
	uint32_t free = 0, cards;
	uint64_t slots, destroy;
	int r = 0;

	for (uint32_t m = 0; m < n->n_dev; m++) {
		uint16_t model = c->model.dev[n->first_dev + m].model;
		if (!c->model.dev[n->first_dev + m].card ||
		        (!s->any_model && !wz_model_set_has(&s->allowed, model)))
			continue;
		for (uint32_t i = free = 0; i < n->n_dev; i++)
			free += c->model.dev[n->first_dev + i].partition == WZ_PARTITION_WHOLE &&
			        c->model.dev[n->first_dev + i].model == model &&
			        c->model.dev_milli[n->first_dev + i] >= s->milli;
		cards = wz_recut_whole(c, node, model, false, plan, &slots);
		if (free + cards < s->count || free >= s->count)
			continue;
		for (uint64_t w = slots; r == 0 && w && free < s->count; w &= w - 1, free++) {
			struct card k;
			if (!card_at(c, node, (uint32_t)__builtin_ctzll(w), false, plan, &k))
				continue;
			(void)others_of(&k, NULL, k.all, &destroy);
			r = propose(c, node, k.first, WZ_PARTITION_WHOLE, destroy, job, plan);
		}
		*wanted -= 1;
		return r;
	}
	return 0;
}

/* What one class of waiting jobs lacks. */
static int propose_for(struct wz_core *c, const struct wz_class *cl, struct wz_plan *plan)
{
	const struct wz_shape *s = &c->shapes.shape[cl->shape];
	uint64_t tasks = (uint64_t)cl->n * cl->tasks_min * (s->mig ? s->count : 1),
	         job = c->jobs.job[cl->head].number;
	uint32_t coming = in_flight(c, s), wanted = tasks > WZ_RECUTS_MAX ? WZ_RECUTS_MAX : (uint32_t)tasks;
	int r = 0;

	wanted = wanted > coming ? wanted - coming : 0;
	for (uint32_t i = 0; r == 0 && wanted && i < c->model.n_ranked; i++) {
		uint32_t node = c->model.by_rank[i];
		struct wz_recut_choice x;
		if (c->model.node[node].model != WZ_MODEL_MIXED || !host_room(&c->model.node[node], s))
			continue;
		if (!s->mig) {
			r = propose_whole(c, s, node, job, &wanted, plan);
			continue;
		}
		while (r == 0 && wanted && wz_recut_choose(c, s, node, false, plan, &x)) {
			r = propose(c, node, x.slot, x.kind, x.destroy, job, plan);
			wanted--;
		}
	}
	return r;
}

int wz_recut_propose(struct wz_core *c, struct wz_plan *plan)
{
	bool cards = false;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->order.n_active; i++) {
		const struct wz_class *cl = &c->order.cls[c->order.active[i]];
		const struct wz_shape *s = &c->shapes.shape[cl->shape];
		if (!cl->planning || !s->count || (cl->why != WZ_REASON_RESOURCES && cl->why != WZ_REASON_GANG))
			continue;
		for (uint32_t m = 0; m < c->catalogue.n && !cards; m++) /* few steps come here */
			cards = c->catalogue.model[m].geometry && c->model.supply[m].devices;
		if (!cards)
			return 0;
		r = propose_for(c, cl, plan);
	}
	return r;
}

/* ---- state ---- */

uint64_t wz_recut_hash(const struct wz_recut *r)
{
	uint64_t h = wz_hash_u64(wz_mix64(r->effect), (uint64_t)r->node << 32 | (uint64_t)r->slot << 16 | r->kind);

	return wz_hash_u64(h, r->destroy);
}

static void mark(struct wz_core *c, const struct wz_recut *r, enum wz_cut cut)
{
	struct wz_node *n = &c->model.node[r->node];

	for (uint64_t w = r->destroy | 1ULL << r->slot; w; w &= w - 1)
		c->model.dev[n->first_dev + (uint32_t)__builtin_ctzll(w)].cut = (uint8_t)cut;
	wz_node_rehash(c, r->node);
}

int wz_recut_add(struct wz_core *c, const struct wz_recut *r, uint64_t deadline_us)
{
	int rc = wz_grow(&c->mem, &c->recut, &c->recut_cap, c->n_recut + 1, sizeof(*c->recut));

	if (rc == 0)
		rc = wz_inflight_add(c, r->effect, WZ_EF_REPARTITION, WZ_ID_NONE, deadline_us);
	if (rc < 0)
		return rc;
	c->recut[c->n_recut++] = *r;
	c->sum += wz_recut_hash(r);
	mark(c, r, WZ_CUT_IN_FLIGHT);
	return 0;
}

static void drop(struct wz_core *c, uint32_t i, enum wz_cut then)
{
	struct wz_recut r = c->recut[i];
	uint32_t f = wz_inflight_find(c, r.effect);

	if (f != WZ_ID_NONE)
		wz_inflight_drop(c, f);
	c->sum -= wz_recut_hash(&r);
	for (c->n_recut--; i < c->n_recut; i++) /* the order is that of the effects */
		c->recut[i] = c->recut[i + 1];
	mark(c, &r, then);
}

void wz_recut_end(struct wz_core *c, uint64_t effect, bool done)
{
	for (uint32_t i = 0; i < c->n_recut; i++)
		if (c->recut[i].effect == effect) {
			drop(c, i, done ? WZ_CUT_NONE : WZ_CUT_REFUSED);
			return;
		}
}

void wz_recut_node_left(struct wz_core *c, uint32_t node)
{
	for (uint32_t i = c->n_recut; i-- > 0;)
		if (c->recut[i].node == node)
			drop(c, i, WZ_CUT_NONE);
}

/* Still possible: the slots are there, nothing that goes has work, and what is made is legal beside what stays. */
static bool still_right(const struct wz_core *c, const struct wz_recut *r)
{
	const struct wz_partition_kind *kind = wz_partition_find(r->kind);
	const struct wz_node *n = r->node < c->model.n_nodes ? &c->model.node[r->node] : NULL;
	uint64_t destroy;
	uint32_t first;
	uint8_t span;
	struct card k;

	if (!n || !WZ_NODE_USABLE(n) || r->slot >= n->n_dev || (n->n_dev < 64 && r->destroy >> n->n_dev))
		return false;
	for (first = r->slot;
	        first && c->model.dev[n->first_dev + first - 1].card == c->model.dev[n->first_dev + r->slot].card;)
		first--;
	if (!card_at(c, r->node, first, false, NULL, &k) || k.fixed || r->slot >= k.first + k.slots)
		return false;
	span = kind ? wz_partition_span(kind, r->slot - first) : k.all;
	if (kind ? kind->geometry != k.geometry || !(kind->starts >> (r->slot - first) & 1)
	         : r->kind != WZ_PARTITION_WHOLE || r->slot != first)
		return false;
	if ((k.busy & span) || (kind && others_of(&k, kind, span, &destroy) >= kind->max))
		return false;
	(void)others_of(&k, kind, span, &destroy);
	return destroy == r->destroy;
}

int wz_recut_apply(struct wz_core *c, const struct wz_effect *e)
{
	struct wz_recut r = {.effect = e->id, .node = e->place.node.v, .destroy = e->place.devices};

	if (e->id < c->next_effect || e->task >= WZ_NODE_DEVICES_MAX || e->reason >= WZ_PARTITION_EMPTY)
		return -ESTALE;
	r.slot = (uint16_t)e->task;
	r.kind = (uint16_t)e->reason;
	return still_right(c, &r) ? wz_recut_add(c, &r, e->deadline_us) : -ESTALE;
}
