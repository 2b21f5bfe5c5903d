/* SPDX-License-Identifier: Apache-2.0 */
/* What making room costs on a full cluster: NODES nodes of 8 devices, all held by work that may be moved aside (gangs,
 * shares, whole devices; priorities 0 to 4, ages up to a day, a third with a fresh checkpoint). Then, for each of some
 * waiting jobs of priority 9 in turn, one decision is measured twice: with making room switched off, which is the baseline
 * (the job is looked at and does not fit), and with it. The plan is thrown away and the job withdrawn, so that each meets
 * the same cluster. Prints one JSON object a kind of job. Under callgrind the measured part is `measured` alone. */
#include "core/core.h"
#include "os/clock.h"
#include "os/mem.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION (void)0
#endif

#define DEVICES 8u
#define SECOND UINT64_C(1000000)
#define DAY (86400 * SECOND)

struct bench {
	struct wz_core *core;
	struct wz_plan plan;
	struct wz_rng rng;
	uint64_t next_job, now;
	struct wz_err err;
};

static void die(const struct bench *b, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, b->err.text);
	exit(1);
}

static void apply(struct bench *b, struct wz_event *e)
{
	e->time_us = b->now;
	if (wz_core_apply(b->core, e, &b->err) < 0)
		die(b, "apply");
}

static void rule(struct bench *b, const char *text)
{
	apply(b, &(struct wz_event){.kind = WZ_EV_RULES_SET, .u.rule_list.text = wz_str(text)});
}

static void submit(struct bench *b, const char *text, int32_t priority)
{
	struct wz_profile p;

	if (wz_profile_parse(wz_str(text), wz_core_catalogue(b->core), &p, &b->err) < 0)
		die(b, text);
	apply(b, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                 .u.submit = {.job = ++b->next_job, .priority = priority, .profile = &p}});
}

/* One decision, thrown away. */
__attribute__((noinline)) static void measured(struct bench *b)
{
	if (wz_core_decide(b->core, 0, &b->plan, &b->err) < 0)
		die(b, "decide");
}

static void nodes(struct bench *b, uint32_t n)
{
	struct wz_device_facts f[DEVICES];
	wz_model_id model;

	if (wz_catalogue_find(wz_core_catalogue(b->core), WZ_STR("A100-SXM4-80GB"), &model, &b->err) < 0)
		die(b, "model");
	for (uint32_t i = 0; i < DEVICES; i++)
		f[i] = (struct wz_device_facts){.model = model,
		        .mem_bytes = INT64_C(80) << 30,
		        .compute_milli = WZ_WHOLE,
		        .link_domain = 1};
	for (uint32_t i = 0; i < n; i++) {
		struct wz_num name;
		struct wz_num rack;
		apply(b, &(struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                 .u.node = {.node = {i},
		                         .name = wz_str_u64(&name, i + 1),
		                         .rack = wz_str_u64(&rack, i / 16 + 1),
		                         .cpu_milli = 128000,
		                         .mem_bytes = INT64_C(1) << 40,
		                         .n_devices = DEVICES,
		                         .device = f}});
	}
}

/* Work comes until thirty in a row found no room; what waits is withdrawn. */
static void fill(struct bench *b)
{
	static const char *const work[] = {"gpus=1 cpus=4 preempt=movable", "gpus=1 cpus=4 preempt=movable",
	        "gpus=2 cpus=8 preempt=signal:USR1,grace:60s,ack:file", "gpus=4 cpus=16 preempt=movable",
	        "gpu-share=50% cpus=2 preempt=movable", "gpus=1 tasks=2..4 cpus=4 preempt=movable",
	        "gpus=4 tasks=4 cpus=16 preempt=movable", "gpus=1 cpus=4"};

	for (unsigned in_a_row = 0; in_a_row < 30;) {
		struct wz_job_info x;
		b->now += 1000;
		submit(b, work[in_a_row > 15 ? 0 : wz_rng_below(&b->rng, 8)], (int32_t)wz_rng_below(&b->rng, 5));
		apply(b, &(struct wz_event){.kind = WZ_EV_STEP});
		measured(b);
		for (uint32_t i = 0; i < b->plan.n; i++)
			if (wz_core_apply_effect(b->core, &b->plan.effect[i], &b->err) < 0)
				die(b, "effect");
		for (uint32_t i = 0; i < b->plan.n; i++) {
			if (b->plan.effect[i].kind != WZ_EF_START)
				continue;
			b->now += wz_rng_below(&b->rng, 2 * SECOND);
			apply(b, &(struct wz_event){
			                 .kind = WZ_EV_EFFECT_CONFIRMED, .u.effect.effect = b->plan.effect[i].id});
		}
		if (wz_core_job(b->core, b->next_job, &x) == 0 && x.state == WZ_JOB_WAITING) {
			apply(b, &(struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = b->next_job});
			in_a_row++;
		} else {
			in_a_row = 0;
		}
	}
	b->now += DAY / 2;
	for (uint64_t j = 1; j <= b->next_job; j += 3)
		apply(b, &(struct wz_event){.kind = WZ_EV_TASK_REPORTED,
		                 .u.report = {.job = j,
		                         .checkpoint_us = (int64_t)(b->now - wz_rng_below(&b->rng, DAY / 2))}});
}

static uint64_t once(struct bench *b)
{
	uint64_t t0;

	apply(b, &(struct wz_event){.kind = WZ_EV_STEP});
	t0 = wz_clock_thread_cpu_ns();
	measured(b);
	return wz_clock_thread_cpu_ns() - t0;
}

static void run(struct bench *b, const char *text, uint32_t k, uint32_t n_nodes)
{
	uint64_t off = 0, on = 0, worst = 0, work = 0;
	uint32_t victims = 0, held = 0;
	struct wz_core_stats s;

	for (uint32_t i = 0; i < k; i++) {
		uint64_t ns;
		b->now += SECOND;
		submit(b, text, 9);
		rule(b, "evict-jobs=0");
		once(b);
		off += once(b);
		rule(b, "evict-jobs=16");
		CALLGRIND_START_INSTRUMENTATION;
		ns = once(b);
		CALLGRIND_STOP_INSTRUMENTATION;
		on += ns;
		worst = ns > worst ? ns : worst;
		work += b->plan.work;
		for (uint32_t e = 0; e < b->plan.n; e++) {
			victims += b->plan.effect[e].kind == WZ_EF_PREEMPT;
			held += b->plan.effect[e].kind == WZ_EF_HOLD;
		}
		apply(b, &(struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = b->next_job});
	}
	wz_core_stats(b->core, &s);
	printf("{\"job\":\"%s\",\"nodes\":%u,\"devices\":%" PRIu64 ",\"held_pct\":%.2f,\"running\":%" PRIu64
	       ",\"decisions\":%u,\"tasks_evicted\":%.1f,\"places_held\":%.1f,\"work\":%" PRIu64
	       ",\"mean_ms\":%.2f,\"max_ms\":%.2f,\"off_ms\":%.3f,\"ratio\":%.1f,\"digest\":\"%016" PRIx64 "\"}\n",
	        text, n_nodes, s.gpu_milli_capacity / 1000,
	        100 * (double)s.gpu_milli_held / (double)s.gpu_milli_capacity, s.jobs_live, k, (double)victims / k,
	        (double)held / k, work / k, (double)on / k / 1e6, (double)worst / 1e6, (double)off / k / 1e6,
	        (double)on / (double)(off ? off : 1), wz_core_digest(b->core));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const jobs[] = {"gpus=1 cpus=4", "gpus=8 cpus=64", "gpus=8 cpus=64 link=nvlink",
	        "gpus=8 tasks=2 cpus=64 link=rack", "gpus=8 tasks=64 cpus=64", "gpus=8 tasks=512 cpus=64"};
	struct wz_core_options o = {.seed = 1, .policy = "firstfit"};
	struct bench b = {.now = DAY};
	uint32_t n, k, only;

	if (argc < 3) {
		fprintf(stderr, "usage: bench_evict NODES DECISIONS [JOB]\n");
		return 2;
	}
	n = (uint32_t)strtoul(argv[1], NULL, 10);
	k = (uint32_t)strtoul(argv[2], NULL, 10);
	only = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : UINT32_MAX;
	wz_rng_seed(&b.rng, 5);
	if (n < 1 || k < 1 || wz_core_new(wz_os_mem(), &o, &b.core, &b.err) < 0)
		die(&b, "core");
	wz_plan_init(&b.plan, wz_os_mem());
	rule(&b, "evict-jobs=0");
	nodes(&b, n);
	fill(&b);
	rule(&b, "evict-per-hour=1000000");
	for (uint32_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (only == UINT32_MAX || only == i)
			run(&b, jobs[i], k, n);
	wz_plan_release(&b.plan);
	wz_core_free(b.core);
	return 0;
}
