/* SPDX-License-Identifier: Apache-2.0 */
/* One repack search on a full cluster (docs/results-repack.md).
 *
 *	bench_repack [NODES [SEED]]
 *
 * Nodes of 8 devices, filled at random with tasks of 1, 2 and 4 devices, shares and host work until nothing of them fits; all of it may be
 * moved. Then jobs wait that fit nowhere: 8 devices, 1 device, a share. Printed is the CPU time of a decision that searches, less
 * that of the same decision without one, what was looked at being bounded by `repack-work`. */
#include "core/core.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *resize(void *ctx, void *p, size_t old, size_t n)
{
	(void)ctx, (void)old;
	if (n)
		return realloc(p, n);
	free(p);
	return NULL;
}
static const struct wz_mem mem = {resize, NULL};

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void apply(struct wz_core *c, struct wz_event e)
{
	struct wz_err err = {0};
	if (wz_core_apply(c, &e, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static void submit(struct wz_core *c, uint64_t job, const char *text)
{
	struct wz_profile p;
	struct wz_err err = {0};
	if (wz_profile_parse(wz_str(text), wz_core_catalogue(c), &p, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	apply(c, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = job, .profile = &p}});
}

/* A step, its starts confirmed; how many there were. */
static uint32_t step(struct wz_core *c, struct wz_plan *plan)
{
	struct wz_err err = {0};
	uint32_t n = 0;
	apply(c, (struct wz_event){.kind = WZ_EV_STEP});
	if (wz_core_decide(c, 0, plan, &err) < 0)
		exit(1);
	for (uint32_t i = 0; i < plan->n; i++)
		if (wz_core_apply_effect(c, &plan->effect[i], &err) < 0)
			exit(1);
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->effect[i].kind == WZ_EF_START) {
			apply(c, (struct wz_event){
			                 .kind = WZ_EV_EFFECT_CONFIRMED, .u.effect.effect = plan->effect[i].id});
			n++;
		}
	return n;
}

static void search(struct wz_core *c, const char *what, uint64_t job, const char *profile, struct wz_plan *plan)
{
	struct wz_repack_report *r = malloc(sizeof *r);
	struct wz_err err = {0};
	double before, plain, with;
	submit(c, job, profile);
	(void)step(c, plan);
	before = cpu_ms();
	(void)wz_core_decide(c, 0, plan, &err);
	plain = cpu_ms() - before;
	before = cpu_ms();
	if (!r || wz_core_repack(c, 16, r, &err) < 0)
		exit(1);
	with = cpu_ms() - before;
	printf("%-28s %8.2f ms   %u moves, %u jobs would start\n", what, with - plain, r->n, r->n_opened);
	apply(c, (struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = job});
	free(r);
}

int main(int argc, char **argv)
{
	static const char *const mix[] = {"gpus=1 cpus=12", "gpus=2 cpus=20", "gpus=4 cpus=40",
	        "gpu-share=47% cpus=6", "gpu-share=81% cpus=10", "gpu-share=32% cpus=4", "gpu-share=23% cpus=4",
	        "cpus=8"};
	uint32_t nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 5000;
	uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, job = 0, refused = 0;
	struct wz_core_options o = {.seed = seed};
	struct wz_device_facts dev[8];
	struct wz_core *c;
	struct wz_plan plan;
	struct wz_core_stats stats;
	struct wz_err err = {0};
	struct wz_rng rng;

	if (wz_core_new(&mem, &o, &c, &err) < 0)
		return 1;
	wz_plan_init(&plan, &mem);
	wz_rng_seed(&rng, seed);
	for (unsigned d = 0; d < 8; d++) {
		dev[d] = (struct wz_device_facts){.compute_milli = 1000, .mem_bytes = 80LL << 30};
		if (wz_catalogue_find(wz_core_catalogue(c), WZ_STR("A100-SXM4-80GB"), &dev[d].model, &err) < 0)
			return 1;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		char name[32];
		snprintf(name, sizeof name, "n%05u", i);
		apply(c, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                 .u.node = {.node = {i},
		                         .name = wz_str(name),
		                         .cpu_milli = 96000,
		                         .mem_bytes = 1LL << 40,
		                         .n_devices = 8,
		                         .device = dev}});
	}
	while (refused < 200) {
		char text[96];
		snprintf(text, sizeof text, "%s preempt=signal:USR1", mix[wz_rng_below(&rng, 8)]);
		submit(c, ++job, text);
		if (step(c, &plan) == 0) {
			apply(c, (struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = job});
			refused++;
		}
	}
	wz_core_stats(c, &stats);
	printf("%u nodes, %u devices, %" PRIu64 " tasks, %.2f %% of compute held\n", nodes, nodes * 8,
	        stats.tasks_live, 100.0 * (double)stats.gpu_milli_held / (double)stats.gpu_milli_capacity);
	search(c, "8 devices", 1ULL << 40, "gpus=8 cpus=32", &plan);
	search(c, "1 device", (1ULL << 40) + 1, "gpus=1 cpus=12", &plan);
	search(c, "a share of 81 %", (1ULL << 40) + 2, "gpu-share=81% cpus=10", &plan);
	search(c, "1 device, 90 CPU", (1ULL << 40) + 3, "gpus=1 cpus=90", &plan);
	wz_plan_release(&plan);
	wz_core_free(c);
	return 0;
}
