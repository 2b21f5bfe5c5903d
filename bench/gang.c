/* SPDX-License-Identifier: Apache-2.0 */
/* What one decision costs for a gang of 512 tasks that must stay together, or ask something of each other.
 *
 * A cluster of 5,000 nodes with 8 devices, 80 nodes a rack, 8 racks a block, every other node with 5 of its devices
 * held by small jobs. The gang is submitted, decided and withdrawn again, ROUNDS times; the least time of a decision is printed
 * for each way of asking, in CPU time of this thread. One JSON object a line. */
#include "core/core.h"
#include "os/clock.h"
#include "os/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES 5000u
#define ROUNDS 7

struct bench {
	struct wz_core *core;
	struct wz_plan plan;
	uint64_t job;
	struct wz_err err;
};

static void apply(struct bench *b, const struct wz_event *e)
{
	if (wz_core_apply(b->core, e, &b->err) == 0)
		return;
	fprintf(stderr, "bench: %s\n", b->err.text);
	exit(1);
}

static void submit(struct bench *b, const char *app, const char *text, const char *constraint)
{
	struct wz_label label = {WZ_STR("app"), wz_str(app)};
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};
	struct wz_profile p;

	if (wz_profile_parse(wz_str(text), wz_core_catalogue(b->core), &p, &b->err) < 0)
		exit(1);
	e.u.submit.job = ++b->job;
	e.u.submit.profile = &p;
	e.u.submit.constraint = wz_str(constraint);
	e.u.submit.n_labels = 1;
	e.u.submit.label = &label;
	apply(b, &e);
}

static void join(struct bench *b, wz_model_id model, uint32_t n)
{
	struct wz_device_facts dev[8];
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
	char name[16], rack[16], block[16];
	struct wz_label label = {.key = WZ_STR("block")};

	for (unsigned i = 0; i < 8; i++)
		dev[i] = (struct wz_device_facts){
		        .model = model, .mem_bytes = (int64_t)80 << 30, .compute_milli = 1000, .link_domain = 1};
	snprintf(name, sizeof name, "n%u", n);
	snprintf(rack, sizeof rack, "r%u", n / 80);
	snprintf(block, sizeof block, "b%u", n / 640);
	label.value = wz_str(block);
	e.u.node = (struct wz_ev_node){.node = {n},
	        .name = wz_str(name),
	        .rack = wz_str(rack),
	        .cpu_milli = 128000,
	        .mem_bytes = (int64_t)1 << 40,
	        .n_devices = 8,
	        .device = dev,
	        .n_labels = 1,
	        .label = &label};
	apply(b, &e);
}

/* Decides, and applies what was decided; the time of the decision in nanoseconds. */
static uint64_t decide(struct bench *b, bool apply_it, uint32_t *ret_starts)
{
	struct wz_event e = {.kind = WZ_EV_STEP};
	uint64_t t0, ns;

	apply(b, &e);
	t0 = wz_clock_thread_cpu_ns();
	if (wz_core_decide(b->core, 0, &b->plan, &b->err) < 0)
		exit(1);
	ns = wz_clock_thread_cpu_ns() - t0;
	*ret_starts = 0;
	for (uint32_t i = 0; i < b->plan.n; i++) {
		*ret_starts += b->plan.effect[i].kind == WZ_EF_START;
		if (apply_it && wz_core_apply_effect(b->core, &b->plan.effect[i], &b->err) < 0)
			exit(1);
	}
	return ns;
}

static void measure(struct bench *b, const char *text, const char *constraint)
{
	struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED};
	uint64_t best = UINT64_MAX, first = 0;
	uint32_t starts = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t ns;
		submit(b, "gang", text, constraint);
		ns = decide(b, false, &starts);
		first = i ? first : ns;
		best = ns < best ? ns : best;
		e.u.job.job = b->job;
		apply(b, &e);
	}
	printf("{\"profile\":\"%s\",\"constraint\":\"%s\",\"starts\":%u,\"first_ms\":%.3f,\"least_ms\":%.3f}\n",
	        text, constraint, starts, (double)first / 1e6, (double)best / 1e6);
}

int main(void)
{
	struct wz_core_options o = {.seed = 1};
	struct bench b = {0};
	wz_model_id model;
	uint32_t starts;

	if (wz_core_new(wz_os_mem(), &o, &b.core, &b.err) < 0 ||
	        wz_catalogue_find(wz_core_catalogue(b.core), WZ_STR("A100-SXM4-80GB"), &model, &b.err) < 0)
		return 1;
	wz_plan_init(&b.plan, wz_os_mem());
	for (uint32_t n = 0; n < NODES; n++)
		join(&b, model, n);
	submit(&b, "small", "gpus=5 tasks=2500", "apart: app=small per node");
	(void)decide(&b, true, &starts);
	measure(&b, "gpus=1 tasks=512", "");
	measure(&b, "gpus=1 tasks=512 link=rack", "");
	measure(&b, "gpus=1 tasks=400 link=rack", "");
	measure(&b, "gpus=1 tasks=512", "together: block");
	measure(&b, "gpus=1 tasks=512", "together: block; together~: rack");
	measure(&b, "gpus=8 tasks=512 link~rack", "");
	measure(&b, "gpus=4 tasks=512", "together: block");
	measure(&b, "gpus=1 tasks=512", "spread: app=gang per rack skew 1");
	measure(&b, "gpus=8 tasks=512",
	        "apart: app=gang per node; spread: app=gang per block skew 2; node: block notin (b0,b1)");
	wz_plan_release(&b.plan);
	wz_core_free(b.core);
	return 0;
}
