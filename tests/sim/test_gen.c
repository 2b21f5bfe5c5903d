/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fault.h"
#include "load.h"
#include "os/mem.h"
#include "sim/gen.h"

static struct load l;
static struct wz_err err;

static int generate(const char *like, struct wz_gen_options o, const struct wz_mem *mem)
{
	const struct wz_gen_preset *p = wz_gen_find(wz_str(like), &err);
	memset(&err, 0, sizeof err);
	int rc = load_init(&l, mem);
	return rc < 0 ? rc : wz_gen(p, &o, &l.nodes, &l.tasks, &err);
}

static uint64_t digest_of(const char *like, struct wz_gen_options o)
{
	uint64_t d = 0;
	tap_eq_i64(generate(like, o, wz_os_mem()), 0, "%s: %s", like, err.text);
	tap_eq_i64(wz_sim_digest(&l.nodes, &l.tasks, &d), 0, "digest");
	load_release(&l);
	return d;
}

/* Goldens: a change here changes what every published seed means. Say so in NEWS.md. */
static void test_digests(void)
{
	static const struct {
		const char *like;
		struct wz_gen_options o;
		uint64_t digest;
	} golden[] = {
	        {"openb", {.nodes = 100, .jobs = 1000, .seed = 1}, 0xf5a6c059b8cb3389},
	        {"openb", {.nodes = 100, .jobs = 1000, .seed = 1, .unequal_mem = true}, 0x4eef4dbc334adcbd},
	        {"lab", {.seed = 1}, 0x3d9117722ae2ffb5},
	        {"llm", {.seed = 1}, 0x03b23f3c29f9947a},
	        {"llm", {.nodes = 4, .jobs = 50, .seed = UINT64_MAX, .gap_us = 1000000}, 0x4a0e3f81838c28f9},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(golden); i++) {
		uint64_t d = digest_of(golden[i].like, golden[i].o);
		tap_ok(d == golden[i].digest, "%zu %s: got 0x%016" PRIx64, i, golden[i].like, d);
		tap_ok(digest_of(golden[i].like, golden[i].o) == d, "%s: twice the same", golden[i].like);
	}
}

static void test_seeds_differ(void)
{
	struct wz_gen_options a = {.nodes = 50, .jobs = 50, .seed = 1}, b = a;
	b.seed = 2;
	for (const struct wz_gen_preset *p = wz_gen_presets; p->name; p++)
		tap_ok(digest_of(p->name, a) != digest_of(p->name, b), "%s", p->name);
}

/* The whole openb cluster is exactly the published one, whatever the seed. */
static void test_openb_nodes(void)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		tap_eq_i64(generate("openb", (struct wz_gen_options){.jobs = 1, .seed = seed}, wz_os_mem()), 0,
		        "%s", err.text);
		struct wz_sim_totals t = wz_sim_nodes_totals(&l.nodes);
		tap_eq_i64(l.nodes.n, 1213, "nodes");
		tap_eq_i64(t.gpus, 6212, "GPUs");
		tap_eq_i64(t.cpu_milli, 107018000, "vCPU");
		tap_eq_i64(t.mem_bytes >> 20, 503828480, "MiB");
		load_release(&l);
	}
}

static void near(int64_t got, int64_t want, int64_t percent, const char *what)
{
	int64_t d = got > want ? got - want : want - got;
	tap_ok(d * 100 <= want * percent, "%s: got %" PRId64 ", want %" PRId64 " within %" PRId64 " %%", what, got,
	        want, percent);
}

/* 100,000 draws against the published marginals of the default list. */
static void test_openb_marginals(void)
{
	const uint32_t n = 100000, of = 8152;
	uint32_t class[6] = {0}, share_810 = 0, share_470 = 0;
	int64_t runs[2] = {0}; /* at most 616 s, at most 7764 s */
	tap_eq_i64(
	        generate("openb", (struct wz_gen_options){.jobs = n, .seed = 7}, wz_os_mem()), 0, "%s", err.text);
	tap_require(l.tasks.n == n, "jobs");
	for (uint32_t i = 0; i < n; i++) {
		const struct wz_sim_task *t = &l.tasks.task[i];
		class[t->gpus == 0        ? 0
		        : t->milli < 1000 ? 1
		        : t->gpus == 1    ? 2
		        : t->gpus == 2    ? 3
		        : t->gpus == 4    ? 4
		                          : 5]++;
		share_810 += t->milli == 810;
		share_470 += t->milli == 470;
		runs[0] += t->run_us <= 616000000;
		runs[1] += t->run_us <= 7764000000;
		tap_ok(t->end_us - t->start_us == t->run_us && t->start_us == t->submit_us, "times of %u", i);
	}
	near(class[0], (int64_t)n * 1088 / of, 5, "CPU only");
	near(class[1], (int64_t)n * 3078 / of, 3, "shares");
	near(class[2], (int64_t)n * 3911 / of, 3, "single GPUs");
	near(class[3], (int64_t)n * 16 / of, 30, "two GPUs");
	near(class[4], (int64_t)n * 15 / of, 30, "four GPUs");
	near(class[5], (int64_t)n * 44 / of, 20, "eight GPUs");
	near(share_810, (int64_t)n * 1078 / of, 5, "81 %");
	near(share_470, (int64_t)n * 757 / of, 6, "47 %");
	near(runs[0], n / 2, 2, "median run");
	near(runs[1], n * 9 / 10, 2, "90th percentile of the run");
	struct wz_sim_totals t = wz_sim_tasks_totals(&l.tasks);
	near((int64_t)t.gpu_milli, (int64_t)n * 6086800 / of, 3, "GPU demand");
	near((int64_t)t.cpu_milli, (int64_t)n * 85436000 / of, 3, "CPU demand");
	near(l.tasks.task[n - 1].submit_us / 1000000, (int64_t)n * 358, 2, "mean gap");
	load_release(&l);
}

static void test_llm(void)
{
	uint32_t gangs = 0, services = 0, elastic = 0, widest = 0;
	tap_eq_i64(generate("llm", (struct wz_gen_options){.seed = 3}, wz_os_mem()), 0, "%s", err.text);
	for (uint32_t i = 0; i < l.nodes.n; i++) {
		const struct wz_ev_node *n = &l.nodes.node[i];
		tap_ok(n->n_devices == 8 && n->rack.len, "node %u", i);
		for (uint32_t d = 0; d < n->n_devices; d++)
			tap_ok(n->device[d].link_domain == 1 && n->device[d].mem_bytes == 80ll << 30, "device %u",
			        d);
	}
	for (uint32_t i = 0; i < l.tasks.n; i++) {
		const struct wz_profile *p = wz_sim_task_profile(&l.tasks, &l.tasks.task[i]);
		gangs += p->tasks_min > 1 && p->tasks_min == p->tasks_max;
		elastic += p->tasks_min != p->tasks_max;
		services += p->kind == WZ_KIND_SERVICE;
		widest = p->tasks_min * p->gpus > widest ? p->tasks_min * p->gpus : widest;
		tap_ok((p->kind == WZ_KIND_SERVICE) == (l.tasks.task[i].run_us < 0), "a service has no end: %u", i);
		tap_ok(p->kind == WZ_KIND_SERVICE || p->time_us > (uint64_t)l.tasks.task[i].run_us,
		        "the limit covers the run: %u", i);
	}
	tap_ok(gangs > 200 && services > 100 && elastic > 50, "%u gangs, %u services, %u elastic", gangs, services,
	        elastic);
	tap_eq_i64(widest, 512, "the widest gang");
	load_release(&l);
	tap_eq_i64(generate("llm", (struct wz_gen_options){.nodes = 2, .seed = 3}, wz_os_mem()), 0, "%s", err.text);
	for (uint32_t i = 0; i < l.tasks.n; i++)
		tap_ok(wz_sim_task_profile(&l.tasks, &l.tasks.task[i])->tasks_min <= 2,
		        "no gang is wider than the cluster");
	load_release(&l);
}

static void test_lab(void)
{
	tap_eq_i64(
	        generate("lab", (struct wz_gen_options){.jobs = 20000, .seed = 5}, wz_os_mem()), 0, "%s", err.text);
	struct wz_sim_totals t = wz_sim_nodes_totals(&l.nodes);
	tap_ok(t.gpus >= 4 && t.gpus <= 16, "%" PRIu64 " GPUs", t.gpus);
	tap_ok(l.nodes.n_models >= 3, "mixed models");
	uint64_t sum = 0, n = 0;
	uint32_t short_runs = 0;
	for (uint32_t i = 0; i < l.tasks.n; i++) {
		if (l.tasks.task[i].run_us < 0)
			continue;
		n++;
		sum += (uint64_t)l.tasks.task[i].run_us / 1000000;
		short_runs += l.tasks.task[i].run_us <= 1144000000;
	}
	near(short_runs, (int64_t)n / 2, 3, "median run of Philly");
	near((int64_t)(sum / n), 13136, 10, "mean run of Philly");
	load_release(&l);
}

static void test_unequal(void)
{
	unsigned sizes[3] = {0}, asking = 0;
	tap_eq_i64(generate("openb", (struct wz_gen_options){.nodes = 200, .jobs = 500, .unequal_mem = true},
	                   wz_os_mem()),
	        0, "%s", err.text);
	for (uint32_t i = 0; i < l.nodes.n; i++)
		for (uint32_t d = 0; d < l.nodes.node[i].n_devices; d++)
			if (wz_str_eq(wz_sim_nodes_model_name(&l.nodes, l.nodes.node[i].device[d].model),
			            WZ_STR("T4")))
				sizes[l.nodes.node[i].device[d].mem_bytes == 8ll << 30      ? 0
				        : l.nodes.node[i].device[d].mem_bytes == 16ll << 30 ? 1
				                                                            : 2]++;
	tap_ok(sizes[0] && sizes[1] > sizes[0] && sizes[2], "8, 16, 24 GiB: %u %u %u", sizes[0], sizes[1],
	        sizes[2]);
	for (uint32_t i = 0; i < l.tasks.n; i++)
		asking += wz_sim_task_profile(&l.tasks, &l.tasks.task[i])->gpu_mem_bytes > 0;
	tap_ok(asking > 150 && asking < 300, "%u of 500 ask for memory", asking);
	load_release(&l);
}

static void test_limits(void)
{
	tap_eq_i64(generate("openb", (struct wz_gen_options){.nodes = WZ_NODES_MAX + 1}, wz_os_mem()), -E2BIG,
	        "nodes");
	load_release(&l);
	tap_eq_i64(generate("openb", (struct wz_gen_options){.jobs = WZ_SIM_TASKS_MAX + 1}, wz_os_mem()), -E2BIG,
	        "jobs");
	load_release(&l);
	tap_ok(!wz_gen_find(WZ_STR("opneb"), &err), "unknown");
	tap_ok(strstr(err.text, "openb, lab, llm"), "%s", err.text);
}

static void test_out_of_memory(void)
{
	for (const struct wz_gen_preset *p = wz_gen_presets; p->name; p++) {
		for (uint64_t n = 1; n < 100000; n++) {
			struct fault_mem f;
			fault_mem_init(&f);
			f.fail_at = n;
			int rc = generate(p->name, (struct wz_gen_options){.nodes = 4, .jobs = 20}, &f.mem);
			load_release(&l);
			tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
			if (!f.failures) {
				tap_eq_i64(rc, 0, "without a failure: %s", err.text);
				break;
			}
			tap_eq_i64(rc, -ENOMEM, "%s: allocation %" PRIu64, p->name, n);
		}
	}
}

int main(void)
{
	tap_run(test_digests);
	tap_run(test_seeds_differ);
	tap_run(test_openb_nodes);
	tap_run(test_openb_marginals);
	tap_run(test_llm);
	tap_run(test_lab);
	tap_run(test_unequal);
	tap_run(test_limits);
	tap_run(test_out_of_memory);
	return tap_done();
}
