/* SPDX-License-Identifier: Apache-2.0 */
/* Sites, nodes and devices as facts.
 *
 * A node keeps its place in the device arrays for ever; when it comes back with more devices than its place holds it
 * gets a new one at the end (the old place is lost: nodes grow rarely). Names, sites, racks and labels are interned.
 * The stable order is by a key made of the seed and the node's name, so it does not depend on the order of joining. */
#include "core/model.h"

#include "core/constraint.h"

#include "base/hash.h"

#include <string.h>

void wz_model_init(struct wz_model_state *m, const struct wz_mem *mem, uint64_t order_seed)
{
	memset(m, 0, sizeof(*m));
	m->mem = mem;
	m->order_seed = order_seed;
	wz_strtab_init(&m->names, mem);
}

void wz_model_release(struct wz_model_state *m)
{
	wz_grow_free(m->mem, &m->node, &m->node_cap, sizeof(*m->node));
	wz_grow_free(m->mem, &m->dev, &m->dev_cap, sizeof(*m->dev));
	wz_grow_free(m->mem, &m->dev_milli, &m->milli_cap, sizeof(*m->dev_milli));
	wz_grow_free(m->mem, &m->dev_mem, &m->dev_mem_cap, sizeof(*m->dev_mem));
	wz_grow_free(m->mem, &m->by_rank, &m->by_rank_cap, sizeof(*m->by_rank));
	wz_grow_free(m->mem, &m->label, &m->label_cap, sizeof(*m->label));
	wz_grow_free(m->mem, &m->taint, &m->taint_cap, sizeof(*m->taint));
	wz_strtab_release(&m->names);
}

static int check_device(const struct wz_device_facts *f, const struct wz_catalogue *cat, struct wz_err *err)
{
	if (f->model.v >= cat->n)
		return wz_err_set(
		        err, -EINVAL, "UnknownModel", WZ_STR("a device names a model that is not declared"));
	if (f->mem_bytes < 0 || f->mem_bytes > WZ_BYTES_MAX)
		return wz_err_set(err, -EINVAL, "BadDevice", WZ_STR("device memory is out of range"));
	if (f->compute_milli < 1 || f->compute_milli > WZ_WHOLE)
		return wz_err_set(err, -EINVAL, "BadDevice", WZ_STR("device compute must be 1 to 1000 milli"));
	if (f->health > WZ_HEALTH_FAILED)
		return wz_err_set(err, -EINVAL, "BadDevice", WZ_STR("unknown device health"));
	return 0;
}

static int check_node(const struct wz_ev_node *e, const struct wz_catalogue *cat, struct wz_err *err)
{
	if (e->node.v >= WZ_NODES_MAX)
		return wz_err_set(err, -E2BIG, "TooManyNodes", WZ_STR("node id beyond the limit of nodes"));
	if (e->name.len == 0)
		return wz_err_set(err, -EINVAL, "BadNode", WZ_STR("a node needs a name"));
	if (e->cpu_milli < 0 || e->cpu_milli > WZ_CPU_MILLI_MAX || e->mem_bytes < 0 || e->mem_bytes > WZ_BYTES_MAX)
		return wz_err_set(err, -EINVAL, "BadNode", WZ_STR("CPU or memory of node "), e->name,
		        WZ_STR(" is out of range"));
	if (e->n_devices > WZ_NODE_DEVICES_MAX)
		return wz_err_set(err, -E2BIG, "TooManyDevices", WZ_STR("node "), e->name,
		        WZ_STR(" has more than 64 devices"));
	if (e->n_labels > WZ_NODE_LABELS_MAX)
		return wz_err_set(err, -E2BIG, "TooManyLabels", WZ_STR("node "), e->name,
		        WZ_STR(" has more than 256 labels"));
	if (e->n_taints > WZ_NODE_TAINTS_MAX)
		return wz_err_set(
		        err, -E2BIG, "TooManyTaints", WZ_STR("node "), e->name, WZ_STR(" has more than 64 taints"));
	if ((e->n_devices && !e->device) || (e->n_labels && !e->label) || (e->n_taints && !e->taint))
		return wz_err_set(
		        err, -EINVAL, "BadNode", WZ_STR("node "), e->name, WZ_STR(" counts what it does not list"));
	for (uint32_t i = 0; i < e->n_taints; i++)
		if (!e->taint[i].key.len || !e->taint[i].effect || e->taint[i].effect > WZ_TAINT_NO_EXECUTE)
			return wz_err_set(err, -EINVAL, "BadTaint", WZ_STR("a taint of node "), e->name,
			        WZ_STR(" has no key or no effect"));
	for (uint32_t i = 0; i < e->n_devices; i++) {
		int r = check_device(&e->device[i], cat, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All growth happens here, before anything is changed. One more than is needed, so that no array is ever NULL. */
static int reserve(struct wz_model_state *m, const struct wz_ev_node *e, uint32_t n_dev)
{
	int r = wz_grow(m->mem, &m->node, &m->node_cap, e->node.v + 1, sizeof(*m->node));
	if (r == 0)
		r = wz_grow(m->mem, &m->dev, &m->dev_cap, m->n_devs + n_dev + 1, sizeof(*m->dev));
	if (r == 0)
		r = wz_grow(m->mem, &m->dev_milli, &m->milli_cap, m->n_devs + n_dev + 1, sizeof(*m->dev_milli));
	if (r == 0)
		r = wz_grow(m->mem, &m->dev_mem, &m->dev_mem_cap, m->n_devs + n_dev + 1, sizeof(*m->dev_mem));
	if (r == 0)
		r = wz_grow(m->mem, &m->label, &m->label_cap, m->n_label + 2 * e->n_labels + 1, sizeof(*m->label));
	if (r == 0)
		r = wz_grow(m->mem, &m->taint, &m->taint_cap, m->n_taint + e->n_taints + 1, sizeof(*m->taint));
	return r;
}

static int intern(struct wz_model_state *m, struct wz_str s, uint32_t *ret)
{
	*ret = WZ_ID_NONE;
	return s.len ? wz_strtab_add(&m->names, s, ret) : 0;
}

/* Interning is invisible to decisions, so a failure half-way leaves no trace that matters. */
static int intern_node(struct wz_model_state *m, const struct wz_ev_node *e, struct wz_node *n, uint32_t *label,
        struct wz_node_taint *taint)
{
	int r = intern(m, e->name, &n->name);
	if (r == 0)
		r = intern(m, e->site, &n->site);
	if (r == 0)
		r = intern(m, e->rack, &n->rack);
	for (uint32_t i = 0; r == 0 && i < e->n_labels; i++) {
		r = wz_strtab_add(&m->names, e->label[i].key, &label[2 * i]);
		if (r == 0)
			r = wz_strtab_add(&m->names, e->label[i].value, &label[2 * i + 1]);
	}
	for (uint32_t i = 0; r == 0 && i < e->n_taints; i++) {
		taint[i].effect = e->taint[i].effect;
		r = wz_strtab_add(&m->names, e->taint[i].key, &taint[i].key);
		if (r == 0)
			r = wz_strtab_add(&m->names, e->taint[i].value, &taint[i].value);
	}
	return r;
}

/* The class of a node with these facts; a new one while there is room. */
static uint32_t class_of(struct wz_model_state *m, const struct wz_ev_node *e)
{
	uint16_t model = e->n_devices ? e->device[0].model.v : WZ_MODEL_NONE;
	uint32_t i;

	for (i = 0; i < m->n_classes; i++) {
		const struct wz_node_class *k = &m->node_class[i];
		if (k->model == model && k->n_dev == e->n_devices && k->cpu == e->cpu_milli &&
		        k->mem == e->mem_bytes)
			return i;
	}
	if (i == WZ_CLASSES_MAX)
		return WZ_CLASSES_MAX - 1;
	m->n_classes++;
	m->node_class[i] = (struct wz_node_class){
	        .model = model, .n_dev = (uint16_t)e->n_devices, .cpu = e->cpu_milli, .mem = e->mem_bytes};
	return i;
}

static bool discouraged(const struct wz_model_state *m, const struct wz_node *n)
{
	for (uint32_t i = n->first_taint; i < n->first_taint + n->n_taints; i++)
		if (m->taint[i].effect == WZ_TAINT_PREFER_NO)
			return true;
	return false;
}

static void supply_change(struct wz_model_state *m, const struct wz_node *n, int sign)
{
	uint16_t seen[WZ_NODE_DEVICES_MAX];
	unsigned n_seen = 0;

	m->cpu_total += sign * n->cpu;
	m->n_discouraged += (uint32_t)(sign * discouraged(m, n));
	m->node_class[n->class_id].nodes += (uint32_t)sign;
	for (uint32_t i = 0; i < n->n_dev; i++) {
		const struct wz_device *d = &m->dev[n->first_dev + i];
		unsigned k = 0;
		if (wz_device_milli(d) == 0)
			continue;
		m->supply[d->model].devices += (uint64_t)(int64_t)sign;
		m->supply[d->model].cpu += sign * (n->cpu / n->n_dev);
		while (k < n_seen && seen[k] != d->model)
			k++;
		if (k == n_seen) {
			seen[n_seen++] = d->model;
			m->supply[d->model].nodes += (uint32_t)sign;
		}
	}
}

static void set_device(struct wz_device *d, uint32_t node, const struct wz_device_facts *f)
{
	d->node = node;
	d->model = f->model.v;
	d->link_domain = f->link_domain;
	d->partition = f->partition;
	d->card = f->card;
	if (d->cut == WZ_CUT_REFUSED)
		d->cut = WZ_CUT_NONE;
	d->numa = f->numa;
	d->pcie = f->pcie;
	d->health = f->health;
	d->milli = f->compute_milli;
	d->mem = f->partition == WZ_PARTITION_EMPTY ? 0 : f->mem_bytes;
	if (f->partition != WZ_PARTITION_WHOLE && f->partition != WZ_PARTITION_EMPTY &&
	        wz_partition_find(f->partition))
		d->milli = wz_partition_find(f->partition)
		                   ->milli; /* one figure for a kind, whatever rounding the body has */
}

static void summarise(struct wz_model_state *m, struct wz_node *n)
{
	n->model = WZ_MODEL_NONE;
	n->flags |= WZ_NODE_MEM_KNOWN;
	n->dev_mem = n->n_dev ? m->dev[n->first_dev].mem : -1;
	for (uint32_t i = 0; i < n->n_dev; i++) {
		const struct wz_device *d = &m->dev[n->first_dev + i];
		if (d->mem != n->dev_mem || d->milli != WZ_WHOLE)
			n->dev_mem = -1;
		if (d->mem == 0)
			n->flags &= (uint8_t)~WZ_NODE_MEM_KNOWN;
		if (n->model == WZ_MODEL_NONE && d->partition == 0)
			n->model = d->model;
		else if (n->model != d->model || d->partition != 0)
			n->model = WZ_MODEL_MIXED; /* partitions too: such nodes take the careful path of fit */
	}
}

static void fill_node(struct wz_model_state *m, struct wz_node *n, const struct wz_ev_node *e)
{
	n->flags = (uint8_t)((n->flags & (WZ_NODE_CORDONED | WZ_NODE_TAINTED)) | WZ_NODE_PRESENT | WZ_NODE_READY |
	                     (e->count_only ? WZ_NODE_COUNT_ONLY : 0));
	n->cpu = e->cpu_milli;
	n->mem = e->mem_bytes;
	n->max_tasks = e->max_tasks && e->max_tasks < INT32_MAX ? (int32_t)e->max_tasks : INT32_MAX;
	for (uint32_t i = 0; i < e->n_devices; i++) {
		struct wz_device *d = &m->dev[n->first_dev + i];
		if (i >= n->n_dev)
			*d = (struct wz_device){.free_mem_pct = 255, .util_pct = 255, .temp_c = 255};
		set_device(d, e->node.v, &e->device[i]);
	}
	/* A node that shrank keeps the devices that it no longer reports, as failed: work may still sit on them. */
	for (uint32_t i = e->n_devices; i < n->n_dev; i++)
		m->dev[n->first_dev + i].health = WZ_HEALTH_FAILED;
	if (e->n_devices > n->n_dev)
		n->n_dev = (uint16_t)e->n_devices;
	summarise(m, n);
}

static void set_taints(
        struct wz_model_state *m, struct wz_node *n, const struct wz_node_taint *taint, uint32_t count)
{
	if (n->taint_cap < count) {
		n->taint_cap = count;
		n->first_taint = m->n_taint;
		m->n_taint += count;
	}
	n->n_taints = count;
	n->flags &= (uint8_t)~WZ_NODE_TAINTED;
	for (uint32_t i = 0; i < count; i++) {
		m->taint[n->first_taint + i] = taint[i];
		if (taint[i].effect != WZ_TAINT_PREFER_NO)
			n->flags |= WZ_NODE_TAINTED;
	}
}

int wz_model_node_join(
        struct wz_model_state *m, const struct wz_catalogue *cat, const struct wz_ev_node *e, struct wz_err *err)
{
	struct wz_node *n, names = {0};
	uint32_t label[2 * WZ_NODE_LABELS_MAX];
	struct wz_node_taint taint[WZ_NODE_TAINTS_MAX];
	bool known;
	int r = check_node(e, cat, err);

	if (r < 0)
		return r;
	r = reserve(m, e, e->n_devices);
	if (r == 0)
		r = intern_node(m, e, &names, label, taint);
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for node "), e->name);
	n = &m->node[e->node.v];
	known = n->name == names.name + 1;
	if (n->name && !known && (n->n_tasks || (n->flags & WZ_NODE_PRESENT)))
		return wz_err_set(err, -EINVAL, "NodeIdInUse", WZ_STR("the id of node "), e->name,
		        WZ_STR(" belongs to another node that is present or has work"));
	if (n->flags & WZ_NODE_PRESENT)
		supply_change(m, n, -1);
	else
		m->n_present++;
	if (!known) { /* the place among the devices stays with the id */
		*n = (struct wz_node){.first_dev = n->first_dev,
		        .dev_cap = n->dev_cap,
		        .head_task = WZ_ID_NONE,
		        .rack = WZ_ID_NONE};
		n->order = (uint32_t)(wz_hash_str(wz_mix64(m->order_seed), e->name) >> 32);
	}
	if (!known || n->rank == WZ_ID_NONE) /* new, or back after others were ranked without it */
		m->order_stale = true;
	if (n->dev_cap < e->n_devices) {
		memcpy(&m->dev[m->n_devs], &m->dev[n->first_dev], n->n_dev * sizeof(*m->dev));
		n->first_dev = m->n_devs;
		n->dev_cap = e->n_devices;
		m->n_devs += e->n_devices;
	}
	if (m->n_nodes <= e->node.v)
		m->n_nodes = e->node.v + 1;
	n->name = names.name + 1;
	n->site = names.site;
	n->rack = names.rack;
	if (n->label_cap < e->n_labels) {
		n->label_cap = e->n_labels;
		n->first_label = m->n_label;
		m->n_label += 2 * e->n_labels;
	}
	n->n_labels = e->n_labels;
	if (e->n_labels)
		memcpy(&m->label[n->first_label], label, 2 * e->n_labels * sizeof(label[0]));
	set_taints(m, n, taint, e->n_taints);
	n->class_id = class_of(m, e);
	fill_node(m, n, e);
	supply_change(m, n, 1);
	wz_model_reset_free(m, e->node.v);
	return 0;
}

void wz_model_node_left(struct wz_model_state *m, uint32_t node)
{
	struct wz_node *n = &m->node[node];

	if (!(n->flags & WZ_NODE_PRESENT))
		return;
	supply_change(m, n, -1);
	n->flags &= (uint8_t) ~(WZ_NODE_PRESENT | WZ_NODE_READY);
	m->n_present--;
}

void wz_model_device_change(
        struct wz_model_state *m, uint32_t node, uint32_t index, const struct wz_device_facts *f)
{
	struct wz_node *n = &m->node[node];
	bool present = n->flags & WZ_NODE_PRESENT;

	if (present)
		supply_change(m, n, -1);
	set_device(&m->dev[n->first_dev + index], node, f);
	summarise(m, n);
	if (present)
		supply_change(m, n, 1);
}

void wz_model_reset_free(struct wz_model_state *m, uint32_t node)
{
	struct wz_node *n = &m->node[node];

	n->cpu_free = n->cpu;
	n->mem_free = n->mem;
	n->tasks_free = n->max_tasks;
	n->kinds = 0;
	n->n_tasks = 0;
	n->n_explicit = 0;
	memset(n->kind_count, 0, sizeof(n->kind_count));
	for (uint32_t i = n->first_dev; i < n->first_dev + n->n_dev; i++) {
		m->dev[i].n_tasks = 0;
		m->dev_milli[i] = wz_device_milli(&m->dev[i]);
		m->dev_mem[i] = m->dev[i].health == WZ_HEALTH_FAILED ? 0 : m->dev[i].mem;
	}
	wz_model_refresh(m, node);
}

void wz_model_refresh(struct wz_model_state *m, uint32_t node)
{
	struct wz_node *n = &m->node[node];
	const int32_t *milli = &m->dev_milli[n->first_dev];
	int32_t sum = 0, max = 0;
	unsigned whole = 0;

	for (uint32_t i = 0; i < n->n_dev; i++) {
		int32_t f = milli[i] > 0 ? milli[i] : 0;
		sum += f;
		max = f > max ? f : max;
		whole += f == WZ_WHOLE;
	}
	n->gpu_free = sum;
	n->gpu_max = max;
	n->whole = (uint16_t)whole;
}

/* Bottom-up merge sort of ids by (order, id): stable, no recursion, O(n log n). */
static void sort_ids(const struct wz_model_state *m, uint32_t *a, uint32_t *tmp, uint32_t n)
{
	for (uint32_t w = 1; w < n; w *= 2) {
		for (uint32_t lo = 0; lo < n; lo += 2 * w) {
			uint32_t mid = lo + w < n ? lo + w : n, hi = lo + 2 * w < n ? lo + 2 * w : n;
			uint32_t i = lo, j = mid, k = lo;
			while (i < mid || j < hi) {
				bool left = j >= hi || (i < mid && m->node[a[i]].order <= m->node[a[j]].order);
				tmp[k++] = left ? a[i++] : a[j++];
			}
		}
		memcpy(a, tmp, n * sizeof(*a));
	}
}

int wz_model_order(struct wz_model_state *m)
{
	uint32_t n = 0;
	int r;

	if (!m->order_stale)
		return 0;
	r = wz_grow(m->mem, &m->by_rank, &m->by_rank_cap, 2 * m->n_nodes, sizeof(*m->by_rank));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].flags & WZ_NODE_PRESENT)
			m->by_rank[n++] = i;
		else
			m->node[i].rank = WZ_ID_NONE;
	sort_ids(m, m->by_rank, m->by_rank + n, n);
	for (uint32_t i = 0; i < n; i++)
		m->node[m->by_rank[i]].rank = i;
	m->n_ranked = n;
	m->order_version++;
	m->order_stale = false;
	return 0;
}

uint64_t wz_model_node_hash(const struct wz_model_state *m, uint32_t node)
{
	const struct wz_node *n = &m->node[node];
	uint64_t h = wz_hash_u64(node, n->flags & ~(unsigned)(WZ_NODE_MEM_KNOWN | WZ_NODE_TAINTED));

	if (!n->name)
		return 0;
	h = wz_hash_str(h, wz_strtab_get(&m->names, n->name - 1));
	h = wz_hash_u64(h, (uint64_t)n->cpu);
	h = wz_hash_u64(h, (uint64_t)n->mem);
	h = wz_hash_u64(h, (uint64_t)n->max_tasks);
	if (n->site != WZ_ID_NONE)
		h = wz_hash_str(h, wz_strtab_get(&m->names, n->site));
	if (n->rack != WZ_ID_NONE)
		h = wz_hash_str(h, wz_strtab_get(&m->names, n->rack));
	for (uint32_t i = 0; i < 2 * n->n_labels; i++)
		h = wz_hash_str(h, wz_strtab_get(&m->names, m->label[n->first_label + i]));
	for (uint32_t i = n->first_taint; i < n->first_taint + n->n_taints; i++) {
		h = wz_hash_str(h, wz_strtab_get(&m->names, m->taint[i].key));
		h = wz_hash_str(h, wz_strtab_get(&m->names, m->taint[i].value));
		h = wz_hash_u64(h, m->taint[i].effect);
	}
	for (uint32_t i = 0; i < n->n_dev; i++) {
		const struct wz_device *d = &m->dev[n->first_dev + i];
		h = wz_hash_u64(h, (uint64_t)d->model << 48 | (uint64_t)d->link_domain << 32 |
		                           (uint64_t)d->partition << 16 | d->health);
		h = wz_hash_u64(h, (uint64_t)d->numa << 8 | d->pcie);
		h = wz_hash_u64(h, (uint64_t)d->mem);
		h = wz_hash_u64(h, (uint64_t)d->milli);
		if (d->card || d->cut) /* digests of nodes without such cards stay what they were */
			h = wz_hash_u64(h, (uint64_t)d->card << 8 | d->cut);
	}
	return h ? h : 1;
}
