/* SPDX-License-Identifier: Apache-2.0 */
/* Hard constraints. Two paths with one meaning: nodes whose devices are alike and shapes that ask for nothing special
 * (nearly all, nearly always) cost a few comparisons; the rest is masked: the view handed to policies shows as free only
 * devices that satisfy everything, so that no policy needs to know about links, partitions or mixed models. */
#include "core/core_int.h"

#include <string.h>

/* ---- the careful path ---- */

struct careful {
	const struct wz_core *c;
	const struct wz_shape *s;
	const struct wz_node *n;
	const struct wz_device *dev;
	bool idle; /* judge capacity, not what is free */
	uint64_t ok; /* devices that satisfy everything so far */
	struct wz_need need;
};

static int32_t milli_of(const struct careful *k, uint32_t i)
{
	return k->idle ? wz_device_milli(&k->dev[i]) : k->c->model.dev_milli[k->n->first_dev + i];
}

/* The size of a device, from the catalogue when the node does not tell; 0 unknown. */
static int64_t size_of(const struct careful *k, const struct wz_device *d)
{
	return d->mem ? d->mem : (int64_t)k->c->catalogue.model[d->model].mem_bytes;
}

/* Bytes that a task with this need takes from a device. */
static inline int64_t mem_wanted(const struct wz_need *need, const struct wz_device *d)
{
	return need->mem && need->milli < WZ_WHOLE ? need->mem : wz_device_mem_share(d, need->milli);
}

static int64_t mem_of(const struct careful *k, uint32_t i)
{
	const struct wz_device *d = &k->dev[i];

	return k->idle ? size_of(k, d) : k->c->model.dev_mem[k->n->first_dev + i] + (d->mem ? 0 : size_of(k, d));
}

static bool class_fits(const struct careful *k, const struct wz_device *d)
{
	uint32_t g = d->mem ? wz_memory_class_g((uint64_t)d->mem) : 0;

	if (k->s->dev_class_g == 0)
		return true;
	if (g == 0)
		g = k->c->catalogue.model[d->model].class_g;
	return g >= k->s->dev_class_g;
}

/* Devices of the model that are large enough, how many there are of it at all, and the smallest of the large ones: what
 * is derived from a size (need) holds for each of them. */
static uint64_t large_devices(const struct careful *k, uint16_t model, uint32_t *ret_of_model, int64_t *ret_least)
{
	uint64_t large = 0;

	*ret_of_model = 0;
	*ret_least = 0;
	for (uint32_t i = 0; i < k->n->n_dev; i++) {
		const struct wz_device *d = &k->dev[i];
		int64_t size = size_of(k, d);
		if (d->model != model || d->health == WZ_HEALTH_FAILED || d->partition != 0 ||
		        d->cut == WZ_CUT_IN_FLIGHT)
			continue;
		++*ret_of_model;
		if (size < k->s->dev_mem || !class_fits(k, d))
			continue;
		if (!large || size < *ret_least)
			*ret_least = size;
		large |= 1ULL << i;
	}
	return large;
}

/* Free instances of the smallest kind that serves the task, of which there are enough. */
static enum wz_reason try_partition(struct careful *k, uint16_t model)
{
	const struct wz_shape *s = k->s;
	const struct wz_partition_kind *kind, *best = NULL;
	struct wz_recut_choice cut;
	uint32_t node = (uint32_t)(k->n - k->c->model.node), most = 0;

	for (uint32_t j = 0; (kind = wz_partition_at(j)); j++) {
		uint64_t free = 0;
		uint32_t have = 0;
		if (kind->geometry != k->c->catalogue.model[model].geometry ||
		        !wz_partition_serves(kind, s->mig, s->milli, 0))
			continue;
		for (uint32_t i = 0; i < k->n->n_dev; i++) {
			const struct wz_device *d = &k->dev[i];
			if (d->model != model || d->partition != kind->number || d->health == WZ_HEALTH_FAILED ||
			        size_of(k, d) < s->dev_mem)
				continue;
			have++;
			if (k->idle || (d->cut != WZ_CUT_IN_FLIGHT && milli_of(k, i) == d->milli))
				free |= 1ULL << i;
		}
		most = have > most ? have : most;
		if ((uint32_t)__builtin_popcountll(free) < s->count ||
		        (best && (kind->size > best->size ||
		                         (kind->size == best->size && kind->milli >= best->milli))))
			continue;
		best = kind;
		k->ok = free;
	}
	if (best) {
		k->need = (struct wz_need){.count = s->count, .milli = best->milli, .ok = true};
		return WZ_REASON_NONE;
	}
	if (wz_recut_choose(k->c, s, node, k->idle, NULL, &cut))
		return k->idle ? WZ_REASON_NONE : WZ_REASON_PARTITION;
	return most >= s->count ? WZ_REASON_BUSY : most ? WZ_REASON_DEVICES : WZ_REASON_MODEL;
}

/* Narrows k->ok to devices of `model`; the first blocker, or none. */
static enum wz_reason try_whole(struct careful *k, uint16_t model)
{
	const struct wz_shape *s = k->s;
	const struct wz_model *facts = &k->c->catalogue.model[model];
	uint32_t of_model;
	int64_t least;
	uint64_t large;

	large = large_devices(k, model, &of_model, &least);
	if (of_model == 0)
		return WZ_REASON_MODEL;
	if (!large)
		return WZ_REASON_DEVICE_MEMORY;
	k->need = wz_shape_need(s, facts, least);
	if (!k->need.ok)
		return WZ_REASON_DEVICE_MEMORY;
	if (k->need.milli == WZ_WHOLE || !(s->dev_mem || s->dev_mem_total))
		k->need.mem = 0; /* the share of memory that goes with the compute, of each device its own */
	if (s->bw_gbps > facts->bw_gbps)
		return WZ_REASON_BANDWIDTH;
	if (of_model < k->need.count)
		return WZ_REASON_DEVICES;
	if ((uint32_t)__builtin_popcountll(large) < k->need.count)
		return WZ_REASON_DEVICE_MEMORY;
	k->ok = 0;
	for (uint64_t w = large; w; w &= w - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(w);
		const struct wz_device *d = &k->dev[i];
		if (milli_of(k, i) >= k->need.milli &&
		        (mem_wanted(&k->need, d) == 0 || mem_of(k, i) >= mem_wanted(&k->need, d)))
			k->ok |= 1ULL << i;
	}
	if (s->free_pct && !k->idle) {
		for (uint32_t i = 0; i < k->n->n_dev; i++)
			if (k->dev[i].free_mem_pct == 255 || k->dev[i].free_mem_pct < s->free_pct)
				k->ok &= ~(1ULL << i);
		if ((uint32_t)__builtin_popcountll(k->ok) < k->need.count)
			return WZ_REASON_LIVE_MEMORY;
	}
	if ((uint32_t)__builtin_popcountll(k->ok) < k->need.count)
		return k->need.milli < WZ_WHOLE ? WZ_REASON_SHARE : WZ_REASON_BUSY;
	return WZ_REASON_NONE;
}

static enum wz_reason try_model(struct careful *k, uint16_t model)
{
	enum wz_reason why;
	uint64_t slots;

	if (!k->s->any_model && !wz_model_set_has(&k->s->allowed, model))
		return WZ_REASON_MODEL;
	if (k->s->mig)
		return try_partition(k, model);
	k->ok = 0;
	why = try_whole(k, model);
	if (why == WZ_REASON_NONE || k->n->model != WZ_MODEL_MIXED || k->s->count == 0)
		return why;
	/* With cards that are cut and hold nothing, would there be enough? */
	if ((uint32_t)__builtin_popcountll(k->ok) +
	                wz_recut_whole(k->c, (uint32_t)(k->n - k->c->model.node), model, k->idle, NULL, &slots) <
	        k->s->count)
		return why;
	return k->idle ? WZ_REASON_NONE : WZ_REASON_PARTITION;
}

static uint32_t group_of(const struct careful *k, uint32_t i)
{
	switch ((enum wz_link)k->s->link) {
	case WZ_LINK_NVLINK:
		return k->dev[i].link_domain; /* 0: joined to nothing */
	case WZ_LINK_PCIE:
		return 1u + k->dev[i].pcie;
	case WZ_LINK_NUMA:
		return 1u + k->dev[i].numa;
	case WZ_LINK_NONE:
	case WZ_LINK_NODE:
	case WZ_LINK_RACK:
		break;
	}
	return 1;
}

/* Keeps the devices of one group: of those with enough, the one with the fewest (so that large groups stay whole). */
static enum wz_reason try_link(struct careful *k)
{
	uint64_t left = k->ok, best = 0;
	bool possible = false;

	if (k->need.count < 2 || k->s->link == WZ_LINK_NONE || k->s->link == WZ_LINK_NODE ||
	        k->s->link == WZ_LINK_RACK)
		return WZ_REASON_NONE;
	if (k->n->flags & WZ_NODE_COUNT_ONLY)
		return k->s->link_preferred ? WZ_REASON_NONE : WZ_REASON_LINK;
	while (left) {
		uint32_t g = group_of(k, (uint32_t)__builtin_ctzll(left));
		uint64_t group = 0;
		for (uint64_t w = left; w; w &= w - 1)
			if (group_of(k, (uint32_t)__builtin_ctzll(w)) == g)
				group |= w & -w;
		left &= ~group;
		if (g && (uint32_t)__builtin_popcountll(group) >= k->need.count &&
		        (!best || __builtin_popcountll(group) < __builtin_popcountll(best)))
			best = group;
	}
	if (best) {
		k->ok = best;
		return WZ_REASON_NONE;
	}
	for (uint32_t i = 0; i < k->n->n_dev && !possible; i++) { /* could it ever, here? */
		uint32_t same = 0;
		for (uint32_t j = 0; j < k->n->n_dev; j++)
			same += group_of(k, i) && group_of(k, i) == group_of(k, j) &&
			        k->dev[j].model == k->dev[i].model;
		possible = same >= k->need.count;
	}
	if (k->s->link_preferred)
		return WZ_REASON_NONE;
	return possible && !k->idle ? WZ_REASON_BUSY : WZ_REASON_LINK;
}

/* Tries the models of the node: first preference first, then in device order. The blocker of the last one counts. */
static enum wz_reason careful_devices(struct careful *k)
{
	enum wz_reason why = WZ_REASON_MODEL;

	if (k->s->count == 0 && k->s->cu_milli == 0 && k->s->dev_mem_total == 0) {
		k->need = (struct wz_need){.ok = true};
		return WZ_REASON_NONE;
	}
	for (int pass = 0; pass < 2; pass++) {
		struct wz_model_set tried = {{0}};
		for (uint32_t i = 0; i < k->n->n_dev; i++) {
			uint16_t m = k->dev[i].model;
			enum wz_reason r;
			if (wz_model_set_has(&tried, m) || wz_model_set_has(&k->s->first, m) != (pass == 0))
				continue;
			wz_model_set_add(&tried, m);
			r = try_model(k, m);
			if (r == WZ_REASON_NONE)
				r = try_link(k);
			if (r == WZ_REASON_NONE)
				return r;
			if (why == WZ_REASON_MODEL || r > WZ_REASON_MEM_CAPACITY)
				why = r;
		}
	}
	return why;
}

static enum wz_reason host_fits(const struct wz_shape *s, const struct wz_node *n, bool idle)
{
	if (s->cpu > n->cpu)
		return WZ_REASON_CPU_CAPACITY;
	if (s->mem > n->mem)
		return WZ_REASON_MEM_CAPACITY;
	if (idle)
		return n->max_tasks < 1 ? WZ_REASON_TASKS : WZ_REASON_NONE;
	if (s->cpu > n->cpu_free)
		return WZ_REASON_CPU;
	if (s->mem > n->mem_free)
		return WZ_REASON_MEM;
	return n->tasks_free < 1 ? WZ_REASON_TASKS : WZ_REASON_NONE;
}

static enum wz_reason node_usable(const struct wz_node *n)
{
	if ((n->flags & (WZ_NODE_PRESENT | WZ_NODE_READY)) != (WZ_NODE_PRESENT | WZ_NODE_READY))
		return WZ_REASON_NOT_READY;
	return n->flags & WZ_NODE_CORDONED ? WZ_REASON_CORDONED : WZ_REASON_NONE;
}

static enum wz_reason fit_careful(const struct wz_core *c, const struct wz_shape *s, uint32_t node,
        struct wz_view *v, struct wz_scratch *scratch)
{
	const struct wz_node *n = &c->model.node[node];
	struct careful k = {.c = c, .s = s, .n = n, .dev = &c->model.dev[n->first_dev]};
	enum wz_reason why = node_usable(n), devices;

	if (why != WZ_REASON_NONE)
		return why;
	devices = careful_devices(&k);
	/* A capacity blocker says more than a busy one: it is told first whichever side it is on. */
	if (devices != WZ_REASON_NONE && devices <= WZ_REASON_LINK)
		return devices;
	why = host_fits(s, n, false);
	if (why != WZ_REASON_NONE)
		return why;
	if (devices != WZ_REASON_NONE)
		return devices;
	why = wz_local_fits(c, s, node, false);
	if (why != WZ_REASON_NONE)
		return why;
	v->node = n;
	v->dev = k.dev;
	v->need = k.need;
	for (uint32_t i = 0; i < n->n_dev; i++) {
		scratch->milli[i] = k.ok >> i & 1 ? milli_of(&k, i) : 0;
		scratch->mem[i] = mem_of(&k, i);
	}
	v->milli = scratch->milli;
	v->mem = scratch->mem;
	return WZ_REASON_NONE;
}

/* ---- the fast path ---- */

/* Devices of one model on a node where memory may bind: the shape asks for an amount, or a neighbour took one. The facts
 * of the devices are read only where their memory differs. */
static enum wz_reason fit_memory(const struct wz_shape *s, struct wz_view *v, struct wz_scratch *scratch)
{
	uint32_t fits = 0, large = 0, short_of_mem = 0, n_dev = v->node->n_dev;
	bool alike = v->node->dev_mem >= 0;
	struct wz_device each = {.milli = WZ_WHOLE, .mem = v->node->dev_mem};
	int64_t wanted = mem_wanted(&v->need, &each);
	bool is_large = v->node->dev_mem >= s->dev_mem;

	for (uint32_t i = 0; i < n_dev; i++) {
		bool enough;
		if (!alike) {
			wanted = mem_wanted(&v->need, &v->dev[i]);
			is_large = v->dev[i].mem >= s->dev_mem;
		}
		enough = (wanted == 0 || v->mem[i] >= wanted) && is_large;
		large += is_large;
		scratch->milli[i] = enough ? v->milli[i] : 0;
		fits += scratch->milli[i] >= s->milli;
		short_of_mem += !enough;
	}
	if (large < s->count)
		return WZ_REASON_DEVICE_MEMORY;
	if (fits < s->count)
		return s->milli < WZ_WHOLE ? WZ_REASON_SHARE : WZ_REASON_BUSY;
	if (short_of_mem)
		v->milli = scratch->milli;
	return WZ_REASON_NONE;
}

/* Why wz_fit_plain said no: the same conditions, in the order in which they are told. */
static enum wz_reason plain_blocker(const struct wz_shape *s, const struct wz_node *n)
{
	if (!WZ_NODE_OPEN(n))
		return node_usable(n);
	if (!WZ_NODE_USABLE(n))
		return WZ_REASON_TAINT;
	if (s->count) {
		if (n->model == WZ_MODEL_NONE || (!s->any_model && !wz_model_set_has(&s->allowed, n->model)))
			return WZ_REASON_MODEL;
		if (n->n_dev < s->count)
			return WZ_REASON_DEVICES;
	}
	if (s->cpu > n->cpu_free || s->mem > n->mem_free || n->tasks_free < 1)
		return host_fits(s, n, false);
	return s->milli == WZ_WHOLE && n->whole < s->count ? WZ_REASON_BUSY : WZ_REASON_SHARE;
}

enum wz_reason wz_fit(const struct wz_core *c, const struct wz_shape *s, uint32_t node, struct wz_view *v,
        struct wz_scratch *scratch)
{
	const struct wz_node *n = &c->model.node[node];

	switch (wz_fit_plain(s, n)) {
	case WZ_PLAIN_NO:
		return plain_blocker(s, n);
	case WZ_PLAIN_YES:
		wz_view_plain(&c->model, s, n, v);
		return WZ_REASON_NONE;
	case WZ_PLAIN_MEMORY:
		wz_view_plain(&c->model, s, n, v);
		return fit_memory(s, v, scratch);
	case WZ_PLAIN_CAREFUL:
		break;
	}
	return fit_careful(c, s, node, v, scratch);
}

enum wz_reason wz_fit_why(const struct wz_core *c, const struct wz_shape *s, uint32_t node)
{
	struct wz_scratch scratch;
	struct wz_view v;

	return fit_careful(c, s, node, &v, &scratch);
}

enum wz_reason wz_fit_idle(const struct wz_core *c, const struct wz_shape *s, uint32_t node)
{
	const struct wz_node *n = &c->model.node[node];
	struct careful k = {.c = c, .s = s, .n = n, .dev = &c->model.dev[n->first_dev], .idle = true};
	enum wz_reason why = careful_devices(&k);

	if (why == WZ_REASON_NONE)
		why = host_fits(s, n, true);
	return why != WZ_REASON_NONE ? why : wz_local_fits(c, s, node, true);
}
