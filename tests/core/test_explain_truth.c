/* SPDX-License-Identifier: Apache-2.0 */
/* What fits, by exhaustive search. On tiny random clusters with random work on them, one or two equal tasks ask for
 * something; every set of devices of every node is tried against the words of the profile. The core must start the job
 * exactly when the search finds a way, and explain it exactly when not. */
#include "world.h"

#include "base/rng.h"

#define DEVS 5u

struct facts { /* a node as the search sees it */
	bool usable;
	int64_t cpu, mem, tasks;
	struct wz_ev_node node;
	struct wz_device_facts dev[DEVS];
	int64_t milli[DEVS], dmem[DEVS];
	uint8_t live[DEVS];
};

static struct wz_rng rng;
static uint64_t below(uint64_t n)
{
	return wz_rng_below(&rng, n);
}

/* Does the set of devices do for one task? Takes it when it does. */
static bool take(struct world *w, struct facts *n, const struct wz_profile *p, uint32_t set)
{
	const struct wz_catalogue *cat = wz_core_catalogue(w->c);
	uint32_t count = (uint32_t)__builtin_popcount(set);
	bool derived = p->cu_milli || p->gpu_mem_total_bytes, fixed = p->gpus || p->share_milli;
	bool any =
	        fixed || derived || p->gpu_mem_bytes || p->gpu_mem_g || !p->any_model || p->free_pct || p->bw_gbps;
	int64_t milli = p->share_milli ? (int64_t)p->share_milli : WZ_WHOLE, got_mem[DEVS], sum = 0;
	if (!n->usable || n->cpu < (int64_t)p->cpu_milli || n->mem < (int64_t)p->mem_bytes || n->tasks < 1 ||
	        any != (count > 0))
		return false;
	if (fixed || (any && !derived)) {
		if (count != (p->gpus ? p->gpus : 1))
			return false;
	}
	for (uint32_t i = 0; i < DEVS; i++) {
		const struct wz_device_facts *d = &n->dev[i], *o;
		if (!(set >> i & 1))
			continue;
		if (i >= n->node.n_devices || d->health == WZ_HEALTH_FAILED || d->partition)
			return false;
		const struct wz_model *m = &cat->model[d->model.v];
		int64_t size = d->mem_bytes ? d->mem_bytes : (int64_t)m->mem_bytes,
		        explicit_mem = (int64_t)p->gpu_mem_bytes;
		if (!p->any_model && !wz_model_set_has(&p->allowed, d->model.v))
			return false;
		if (!fixed && derived) { /* as many as it takes, and no more */
			uint64_t k = 1;
			if ((p->cu_milli && !m->cu_milli) || (p->gpu_mem_total_bytes && !size))
				return false;
			while (k * m->cu_milli < p->cu_milli || k * (uint64_t)size < p->gpu_mem_total_bytes)
				k++;
			if (k != count)
				return false;
			if (k == 1 && p->cu_milli)
				milli = (int64_t)((p->cu_milli * WZ_WHOLE + m->cu_milli - 1) / m->cu_milli);
			if (k == 1 && milli < WZ_WHOLE && (int64_t)p->gpu_mem_total_bytes > explicit_mem)
				explicit_mem = (int64_t)p->gpu_mem_total_bytes;
		} else if (p->cu_milli && (uint64_t)m->cu_milli * count < p->cu_milli) {
			return false;
		}
		uint32_t class_g = d->mem_bytes ? wz_memory_class_g((uint64_t)d->mem_bytes) : 0;
		if (p->gpu_mem_g > (class_g ? class_g : m->class_g) || p->bw_gbps > m->bw_gbps ||
		        size < (int64_t)p->gpu_mem_bytes)
			return false;
		if (p->free_pct && (n->live[i] > 100 || n->live[i] / 5 * 5 < (int)p->free_pct))
			return false;
		sum += size;
		got_mem[i] = milli < WZ_WHOLE && explicit_mem ? explicit_mem
		             : milli >= d->compute_milli
		                     ? d->mem_bytes
		                     : (int64_t)((__int128)d->mem_bytes * milli / d->compute_milli);
		int64_t free = n->dmem[i] + (d->mem_bytes ? 0 : size);
		if (n->milli[i] < milli || (got_mem[i] && free < got_mem[i]))
			return false;
		o = &n->dev[__builtin_ctz(set)];
		if (o->model.v != d->model.v)
			return false;
		if (count > 1 && !p->link_preferred) {
			if (p->link >= WZ_LINK_NUMA && p->link <= WZ_LINK_NVLINK && n->node.count_only)
				return false;
			if ((p->link == WZ_LINK_NUMA && o->numa != d->numa) ||
			        (p->link == WZ_LINK_PCIE && o->pcie != d->pcie) ||
			        (p->link == WZ_LINK_NVLINK &&
			                (!d->link_domain || o->link_domain != d->link_domain)))
				return false;
		}
	}
	if (any && sum < (int64_t)p->gpu_mem_total_bytes)
		return false;
	for (uint32_t i = 0; i < DEVS; i++)
		if (set >> i & 1) {
			n->milli[i] -= milli;
			n->dmem[i] -= got_mem[i];
		}
	n->cpu -= (int64_t)p->cpu_milli;
	n->mem -= (int64_t)p->mem_bytes;
	n->tasks--;
	return true;
}

/* Can `tasks` more be placed? Exhaustive: all nodes, all sets. */
static bool search(struct world *w, struct facts *n, uint32_t n_nodes, const struct wz_profile *p, uint32_t tasks)
{
	if (tasks == 0)
		return true;
	for (uint32_t k = 0; k < n_nodes; k++)
		for (uint32_t set = 0; set < 1u << DEVS; set++) {
			struct facts kept = n[k];
			if (take(w, &n[k], p, set) && search(w, n, n_nodes, p, tasks - 1)) {
				n[k] = kept;
				return true;
			}
			n[k] = kept;
		}
	return false;
}

static void build(struct world *w, struct facts *n, uint32_t id, bool equal)
{
	static const char *const models[] = {"A100-SXM4-40GB", "T4", "G9"};
	const char *name[] = {"a", "b", "c"}, *model = models[below(3)];
	uint64_t job = 100 + 10 * id;
	*n = (struct facts){.node = {.node = {id},
	                            .name = wz_str(name[id]),
	                            .cpu_milli = (int64_t)(1 + below(8)) * 1000,
	                            .mem_bytes = (int64_t)(1 + below(8)) * GI,
	                            .max_tasks = below(5) ? 0 : 1 + (uint32_t)below(3),
	                            .count_only = below(6) == 0,
	                            .n_devices = (uint32_t)below(DEVS + 1),
	                            .device = n->dev}};
	n->node.device = n->dev;
	for (uint32_t i = 0; i < DEVS; i++) {
		struct dev d = {.model = below(4) ? model : models[below(3)],
		        .link = (uint16_t)below(3),
		        .numa = (uint8_t)below(2),
		        .pcie = (uint8_t)below(2),
		        .health = (uint8_t)(below(8) ? 0 : below(3)),
		        .milli = below(8) ? 1000 : 500,
		        .partition = below(12) == 0};
		d.mem = equal || below(3) ? 0 : below(4) ? (int64_t)(10 + below(30)) * GI : -1;
		n->dev[i] = world_facts(w, &d);
		n->milli[i] = d.health == WZ_HEALTH_FAILED ? 0 : d.milli;
		n->dmem[i] = d.health == WZ_HEALTH_FAILED ? 0 : n->dev[i].mem_bytes;
		n->live[i] = below(2) ? (uint8_t)below(101) : 255;
	}
	n->cpu = n->node.cpu_milli;
	n->mem = n->node.mem_bytes;
	n->tasks = n->node.max_tasks ? n->node.max_tasks : 1000;
	world_apply(w, &(struct wz_event){.kind = WZ_EV_NODE_JOINED, .u.node = n->node});
	n->usable = below(10) != 0;
	if (!n->usable)
		node_ready(w, id, below(2), true);
	for (uint32_t i = 0; i < n->node.n_devices; i++) {
		telemetry(w, id, i, n->live[i]);
		if (below(3))
			continue;
		struct wz_place p = {.node = {id},
		        .devices = 1ull << i,
		        .cpu = (int64_t)below(1500),
		        .dev_milli = (int32_t)(100 * (1 + below(10))),
		        .dev_mem = below(2) ? -1 : (int64_t)below(20) * GI};
		const struct wz_device_facts *d = &n->dev[i];
		observed(w, ++job, p);
		n->cpu -= p.cpu;
		n->tasks--;
		n->milli[i] -= p.dev_milli;
		n->dmem[i] -= p.dev_mem >= 0 ? p.dev_mem
		              : p.dev_milli >= d->compute_milli
		                      ? d->mem_bytes
		                      : (int64_t)((__int128)d->mem_bytes * p.dev_milli / d->compute_milli);
	}
}

static bool random_profile(struct world *w, struct wz_profile *p, bool equal)
{
	static const char *const links[] = {"nvlink", "pcie", "numa"};
	static const char *const types[] = {"a100", "t4,a100", "!t4", "G9,t4"};
	char text[256] = "";
	size_t n = 0;
#define KEY(...) (n += (size_t)snprintf(text + n, sizeof text - n, __VA_ARGS__))
	if (below(2))
		KEY("gpus=%u ", 1 + (unsigned)below(4));
	else if (below(3))
		KEY("gpu-share=%u%% ", 5 + 5 * (unsigned)below(19));
	KEY("cpus=%u mem=%uGi ", (unsigned)below(4), (unsigned)below(4));
	if (below(4) == 0)
		KEY("gpu-mem=%uGi ", 1 + (unsigned)below(30));
	else if (below(8) == 0)
		KEY("gpu-mem=%uG ", below(2) ? 40u : 16u);
	if (equal && below(3) == 0)
		KEY("gpu-mem-total=%uGi ", 1 + (unsigned)below(120));
	if (equal && below(3) == 0)
		KEY("cu=%u ", 1 + (unsigned)below(250));
	if (below(4) == 0)
		KEY("gpu-type=%s ", types[below(4)]);
	if (below(3) == 0)
		KEY("link%c%s ", below(4) ? '=' : '~', links[below(3)]);
	if (below(6) == 0)
		KEY("free=%u%% ", 5 + (unsigned)below(80));
	if (below(6) == 0)
		KEY("bw=%u ", 200 + (unsigned)below(1500));
	if (below(3) == 0)
		KEY("tasks=2 ");
#undef KEY
	return wz_profile_parse(wz_str(text), wz_core_catalogue(w->c), p, NULL) == 0;
}

static void test_truth(void)
{
	unsigned fits = 0, not = 0;
	for (uint64_t seed = 1; seed <= 4000; seed++) {
		struct world w;
		struct facts n[3];
		struct wz_profile p;
		uint32_t nodes;
		bool equal, truth;
		unsigned starts;
		wz_rng_seed(&rng, seed);
		equal = below(3) ==
		        0; /* what is derived from a size holds for the smallest: searched where all are equal */
		nodes = 1 + (uint32_t)below(3);
		world_init_opt(&w, (struct wz_core_options){.seed = seed, .no_index = seed % 2});
		w.at = "building";
		for (uint32_t i = 0; i < nodes; i++)
			build(&w, &n[i], i, equal);
		while (!random_profile(&w, &p, equal))
			;
		truth = search(&w, n, nodes, &p, p.tasks_min);
		world_apply(
		        &w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = 1, .profile = &p}});
		enum wz_reason main = why(&w, 1).main;
		tap_ok((main == WZ_REASON_NONE) == truth,
		        "seed %" PRIu64 ": explained as %s, but the search says %d", seed, wz_reason_word(main),
		        truth);
		tap_ok(!truth || !why(&w, 1).never, "seed %" PRIu64 ": never, but it fits", seed);
		starts = step(&w);
		tap_ok((starts > 0) == truth, "seed %" PRIu64 ": %u starts, but the search says %d", seed, starts,
		        truth);
		for (uint32_t t = 0; t < p.tasks_max && starts; t++) {
			struct wz_place at = place_of(&w, 1, t);
			tap_ok(at.node.v < nodes && take(&w, &n[at.node.v], &p, (uint32_t)at.devices),
			        "seed %" PRIu64 ": a place that is none", seed);
		}
		fits += truth;
		not += !truth;
		world_free(&w);
	}
	tap_ok(fits > 500 && not > 500, "%u fit, %u do not", fits, not );
}

int main(void)
{
	tap_run(test_truth);
	return tap_done();
}
