/* SPDX-License-Identifier: Apache-2.0 */
/* A random life of a core, for tests: nodes come and go, jobs of all kinds, acknowledgements late, twice and refused. Each call of
 * history_step makes one body's step and hands every accepted event and effect to `record`. */
#ifndef WZ_TESTS_STORE_HISTORY_H
#define WZ_TESTS_STORE_HISTORY_H

#include "base/check.h"
#include "base/rng.h"
#include "core/core.h"

#define HISTORY_NODES 12u
#define HISTORY_JOBS 64u

struct history {
	struct wz_core *core;
	struct wz_rng rng;
	struct wz_plan plan;
	uint64_t now_us, next_job, accepted;
	struct { uint64_t effect, job; uint32_t kind, task, attempt; } flight[256];
	uint32_t n_flights;
	uint64_t job[HISTORY_JOBS];
	void (*record)(void *ctx, const struct wz_event *ev, const struct wz_effect *ef);
	void *ctx;
};

static uint64_t below(struct history *h, uint64_t n) { return wz_rng_below(&h->rng, n); }

static inline void history_init(struct history *h, struct wz_core *core, const struct wz_mem *mem, uint64_t seed)
{
	memset(h, 0, sizeof(*h));
	h->core = core;
	h->next_job = 1;
	wz_rng_seed(&h->rng, seed);
	wz_plan_init(&h->plan, mem);
}

static int history_apply(struct history *h, struct wz_event *e)
{
	int r;
	e->time_us = h->now_us;
	r = wz_core_apply(h->core, e, NULL);
	if (r == 0) {
		h->accepted++;
		if (h->record)
			h->record(h->ctx, e, NULL);
	}
	return r;
}

static void history_node(struct history *h)
{
	static const char *const models[] = {"A100-SXM4-80GB", "H100-SXM5-80GB", "Tesla-T4", "V100-SXM2-32GB"};
	struct wz_device_facts d[8];
	struct wz_label label[2] = {{WZ_STR("zone"), WZ_STR("a")}, {WZ_STR("disk"), WZ_STR("n\"vme\n")}};
	char name[16];
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
	uint32_t id = (uint32_t)below(h, HISTORY_NODES);
	wz_model_id model;
	const char *m = models[id % 4];

	while (wz_catalogue_find(wz_core_catalogue(h->core), wz_str(m), &model, NULL) < 0)
		m = models[0];
	(void)snprintf(name, sizeof(name), "node-%u", id);
	e.u.node = (struct wz_ev_node){.node = {id}, .name = wz_str(name), .rack = id % 3 ? wz_str(id % 2 ? "r1" : "r2") : WZ_STR(""),
		.site = WZ_STR("lab"), .cpu_milli = 16000 + 8000 * (int64_t)below(h, 5), .mem_bytes = 64ll << 30, .max_tasks = id % 5 ? 0 : 20,
		.n_devices = (uint32_t)below(h, 9), .device = d, .n_labels = (uint32_t)below(h, 3), .label = label,
		.count_only = below(h, 20) == 0};
	for (uint32_t i = 0; i < e.u.node.n_devices; i++)
		d[i] = (struct wz_device_facts){.model = model, .mem_bytes = 80ll << 30, .compute_milli = 1000,
			.link_domain = (uint16_t)(i / 4 + 1), .numa = (uint8_t)(i / 4), .pcie = (uint8_t)(i / 2),
			.health = (uint8_t)(below(h, 10) == 0)};
	(void)history_apply(h, &e);
}

static void history_submit(struct history *h)
{
	static const char *const profiles[] = {"gpus=1 cpus=4", "gpu-share=50% cpus=1 mem=1Gi", "gpus=2 link=nvlink time=40s", "cpus=2",
		"gpus=1 tasks=3 cpus=1", "gpus=1 tasks=2..4 time=90s", "gpus=4 cpus=8 preempt=signal:USR1,grace:60s,ack:file", "gpu-mem=10Gi gpu-share=25%",
		"gpus=1 gpu-type=!t4", "gpus=1 gpu-type=h100,a100", "tasks=2 gpus=2 link=rack", "kind=service gpus=1", "gpus=64"};
	struct wz_profile p;
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};

	if (wz_profile_parse(wz_str(profiles[below(h, 13)]), wz_core_catalogue(h->core), &p, NULL) < 0)
		return;
	e.u.submit = (struct wz_ev_submit){.job = h->next_job, .user = WZ_STR("ann"), .queue = below(h, 2) ? WZ_STR("vision") : WZ_STR(""),
		.priority = (int32_t)below(h, 3) - 1, .profile = &p, .held = below(h, 8) == 0};
	if (history_apply(h, &e) == 0)
		h->job[h->next_job++ % HISTORY_JOBS] = e.u.submit.job;
}

static void history_job_event(struct history *h)
{
	static const uint32_t kinds[] = {WZ_EV_JOB_CANCELLED, WZ_EV_JOB_HELD, WZ_EV_JOB_RELEASED, WZ_EV_JOB_RELEASED};
	struct wz_event e = {.kind = kinds[below(h, 4)]};

	e.u.job.job = h->job[below(h, HISTORY_JOBS)];
	if (below(h, 5) == 0) {
		e.kind = WZ_EV_JOB_EDITED;
		e.u.edit.job = h->job[below(h, HISTORY_JOBS)];
		e.u.edit.profile = NULL;
		e.u.edit.priority = (int32_t)below(h, 5);
	}
	(void)history_apply(h, &e);
}

static void history_acknowledge(struct history *h)
{
	uint32_t i = (uint32_t)below(h, h->n_flights);
	struct wz_event e = {.kind = below(h, 6) ? WZ_EV_EFFECT_CONFIRMED : WZ_EV_EFFECT_REFUSED};

	e.u.effect.effect = h->flight[i].effect;
	if (below(h, 4) == 0) {
		e.kind = WZ_EV_TASK_ENDED;
		e.u.task.job = h->flight[i].job;
		e.u.task.task = h->flight[i].task;
		e.u.task.attempt = h->flight[i].attempt;
		e.u.task.end = (uint32_t)below(h, 9);
		e.u.task.requeue = below(h, 2);
	}
	(void)history_apply(h, &e);
	if (below(h, 3)) /* else it may come again */
		h->flight[i] = h->flight[--h->n_flights];
}

static void history_place_event(struct history *h)
{
	struct wz_event e = {.kind = WZ_EV_NODE_LEFT};
	uint32_t node = (uint32_t)below(h, HISTORY_NODES);

	e.u.left.node.v = node;
	switch (below(h, 6)) {
	case 0:
		break;
	case 1:
		e.kind = WZ_EV_NODE_READY;
		e.u.ready.node.v = node;
		e.u.ready.ready = below(h, 4);
		e.u.ready.cordoned = below(h, 4) == 0;
		break;
	case 2:
		e.kind = WZ_EV_TELEMETRY;
		e.u.telemetry.node.v = node;
		e.u.telemetry.index = (uint32_t)below(h, 8);
		e.u.telemetry.free_mem_pct = (uint8_t)below(h, 101);
		e.u.telemetry.util_pct = (uint8_t)below(h, 101);
		e.u.telemetry.temp_c = 255;
		break;
	case 3:
		e.kind = WZ_EV_DEVICE_CHANGED;
		e.u.device.node.v = node;
		e.u.device.index = (uint32_t)below(h, 8);
		e.u.device.facts = (struct wz_device_facts){.mem_bytes = 80ll << 30, .compute_milli = 1000, .health = (uint8_t)below(h, 3)};
		break;
	case 4:
		e.kind = WZ_EV_TASK_OBSERVED;
		e.u.observed.job = h->next_job;
		e.u.observed.place = (struct wz_place){.node = {node}, .devices = below(h, 2), .cpu = 500, .mem = 1 << 20, .dev_milli = 300, .dev_mem = below(h, 2) ? -1 : 1 << 30};
		if (!(node < wz_core_model(h->core)->n_nodes && (wz_core_model(h->core)->node[node].flags & WZ_NODE_PRESENT)))
			return;
		if (history_apply(h, &e) == 0)
			h->job[h->next_job++ % HISTORY_JOBS] = e.u.observed.job;
		return;
	default:
		history_node(h);
		return;
	}
	(void)history_apply(h, &e);
}

static void history_rule(struct history *h)
{
	static const char *const policies[] = {"jigsaw", "fgd", "bestfit", "firstfit"};
	struct wz_event e = {.kind = WZ_EV_POLICY_SET};
	struct wz_profile p[2];
	uint32_t weight[2] = {3, 1};

	e.u.policy.name = wz_str(policies[below(h, 4)]);
	if (below(h, 2)) {
		wz_check(wz_profile_parse(WZ_STR("gpus=1"), NULL, &p[0], NULL) == 0 && wz_profile_parse(WZ_STR("gpu-share=50%"), NULL, &p[1], NULL) == 0);
		e.kind = WZ_EV_WORKLOAD_STATED;
		e.u.workload.n = (uint32_t)below(h, 3);
		e.u.workload.profile = p;
		e.u.workload.weight = weight;
	}
	(void)history_apply(h, &e);
}

static inline void history_step(struct history *h)
{
	struct wz_event step = {.kind = WZ_EV_STEP};

	h->now_us += below(h, 8) * 1000000;
	for (uint64_t n = below(h, 6); n-- > 0;) {
		uint64_t what = below(h, 100);
		if (what < 8)
			history_node(h);
		else if (what < 45)
			history_submit(h);
		else if (what < 55)
			history_job_event(h);
		else if (what < 88 && h->n_flights)
			history_acknowledge(h);
		else if (what < 98)
			history_place_event(h);
		else
			history_rule(h);
	}
	wz_check(history_apply(h, &step) == 0);
	wz_check(wz_core_decide(h->core, 0, &h->plan, NULL) == 0);
	for (uint32_t i = 0; i < h->plan.n; i++) {
		const struct wz_effect *e = &h->plan.effect[i];
		wz_check(wz_core_apply_effect(h->core, e, NULL) == 0);
		if (h->record)
			h->record(h->ctx, NULL, e);
		if (e->kind == WZ_EF_EXPLAIN)
			continue;
		if (h->n_flights == 256)
			h->flight[below(h, 256)] = h->flight[--h->n_flights];
		h->flight[h->n_flights].effect = e->id;
		h->flight[h->n_flights].job = e->job;
		h->flight[h->n_flights].kind = e->kind;
		h->flight[h->n_flights].task = e->task;
		h->flight[h->n_flights++].attempt = e->attempt;
	}
}

#endif
