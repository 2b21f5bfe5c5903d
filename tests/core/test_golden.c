/* SPDX-License-Identifier: Apache-2.0 */
/* The digest at the end of three scripted histories, written down: every compiler, optimisation and machine must agree.
 * Who changes what a digest sees, or how a published policy decides, changes these numbers, and says so in NEWS.md. Models
 * are named by number and sizes given, so that new rows of the catalogue change nothing here. */
#include "world.h"

#include "base/rng.h"

static uint64_t history(uint64_t seed, const char *policy)
{
	struct world w;
	struct wz_rng rng;
	struct wz_device_facts f[8];
	uint64_t digest;
	world_init_opt(&w, (struct wz_core_options){.seed = seed, .policy = policy});
	wz_rng_seed(&rng, seed);
	for (uint32_t n = 0; n < 12; n++) {
		char name[] = {'g', (char)('a' + n), 0};
		for (unsigned i = 0; i < 8; i++)
			f[i] = (struct wz_device_facts){.model = {(uint16_t)(n % 3)},
			        .mem_bytes = 40 * GI,
			        .compute_milli = WZ_WHOLE,
			        .link_domain = (uint16_t)(1 + i / 4),
			        .numa = (uint8_t)(i / 4)};
		world_apply(&w, &(struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                        .u.node = {.node = {n},
		                                .name = wz_str(name),
		                                .rack = n % 2 ? WZ_STR("r1") : WZ_STR("r2"),
		                                .cpu_milli = 96000,
		                                .mem_bytes = 512 * GI,
		                                .n_devices = 2u << n % 3,
		                                .device = f}});
	}
	for (uint64_t j = 1; j <= 120; j++) {
		struct wz_profile p;
		uint64_t kind = wz_rng_below(&rng, 6);
		wz_profile_init(&p);
		p.cpu_milli = 1000 * (1 + wz_rng_below(&rng, 8));
		p.mem_bytes = (uint64_t)GI * (1 + wz_rng_below(&rng, 16));
		if (kind < 3)
			p.share_milli = (uint32_t)(50 * (1 + wz_rng_below(&rng, 19)));
		else
			p.gpus = 1u << wz_rng_below(&rng, 4);
		if (kind == 2)
			p.gpu_mem_bytes = (uint64_t)GI * (1 + wz_rng_below(&rng, 20));
		if (kind == 4 && p.gpus > 1)
			p.link = WZ_LINK_NVLINK;
		if (kind == 5)
			p.tasks_max = 2;
		p.time_us = wz_rng_below(&rng, 2) * 300 * SECOND;
		world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
		                        .u.submit = {.job = j,
		                                .user = WZ_STR("u"),
		                                .priority = (int32_t)wz_rng_below(&rng, 3),
		                                .profile = &p}});
		if (j % 4)
			continue;
		w.now += 11 * SECOND;
		step_within(&w, j % 12 ? 0 : 3);
		for (uint32_t i = 0; i < w.plan.n; i++) {
			const struct wz_effect *e = &w.plan.effect[i];
			uint64_t fate = wz_rng_below(&rng, 10);
			if (e->kind != WZ_EF_EXPLAIN && fate)
				ack(&w, fate == 1 ? WZ_EV_EFFECT_REFUSED : WZ_EV_EFFECT_CONFIRMED, e->id);
		}
		for (unsigned i = 0; i < 2; i++) {
			uint64_t job = 1 + wz_rng_below(&rng, j);
			struct wz_job_info x;
			if (wz_core_job(w.c, job, &x) == 0)
				task_event(&w, WZ_EV_TASK_ENDED, job, 0, x.attempt,
				        i ? WZ_END_FAILED : WZ_END_COMPLETED, i);
		}
		if (j == 60)
			node_event(&w, WZ_EV_NODE_LEFT, 3);
	}
	tap_ok(stats(&w).jobs_waiting > 5 && stats(&w).tasks_live > 20, "%" PRIu64 " wait, %" PRIu64 " run",
	        stats(&w).jobs_waiting, stats(&w).tasks_live);
	digest = wz_core_digest(w.c);
	world_free(&w);
	return digest;
}

static void test_golden(void)
{
	static const struct {
		const char *policy;
		uint64_t digest;
	} want[] = {{"bestfit", 0x08ac376c90a205de}, {"fgd", 0x9325eff3d4a6fe7a}, {"random", 0xec8f51f6b52d7086}};
	for (unsigned i = 0; i < 3; i++) {
		uint64_t got = history(i + 1, want[i].policy);
		tap_ok(got == want[i].digest, "%s: got 0x%016" PRIx64, want[i].policy, got);
	}
}

int main(void)
{
	tap_run(test_golden);
	return tap_done();
}
