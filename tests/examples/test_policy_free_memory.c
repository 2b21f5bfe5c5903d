/* SPDX-License-Identifier: Apache-2.0 */
/* The example policy of HACKING.md: by hand on one view, and through a whole core that was given it as `custom`. */
#include "tap.h"

#include "../../examples/policy_free_memory.c"

#include "core/core.h"
#include "os/mem.h"

#define GI ((int64_t)1 << 30)

static int64_t score_of(struct wz_device *dev, int64_t *mem, uint32_t n)
{
	struct wz_node node = {.n_dev = (uint16_t)n};
	struct wz_view v = {.node = &node, .dev = dev, .mem = mem};

	return wz_policy_free_memory.score(NULL, NULL, NULL, &v);
}

static struct wz_device device(int64_t mem, uint8_t live)
{
	return (struct wz_device){.mem = mem, .milli = WZ_WHOLE, .free_mem_pct = live};
}

static void test_score(void)
{
	struct wz_device d[2] = {device(80 * GI, 255), device(40 * GI, 255)};
	int64_t free[2] = {40 * GI, 40 * GI};

	tap_eq_i64(score_of(d, free, 2), 75, "half of one, all of the other");
	d[0].free_mem_pct = 10;
	tap_eq_i64(score_of(d, free, 2), 55, "a live reading counts before the ledger");
	d[1].health = WZ_HEALTH_FAILED;
	tap_eq_i64(score_of(d, free, 2), 10, "a failed device is left out");
	d[1] = device(0, 255);
	tap_eq_i64(score_of(d, free, 2), 10, "a size that is not known is left out");
	tap_eq_i64(score_of(d + 1, free, 1), 0, "nothing is known");
	tap_eq_i64(score_of(d, free, 0), 0, "no device");
	d[0] = device(WZ_BYTES_MAX, 255);
	free[0] = WZ_BYTES_MAX;
	tap_eq_i64(score_of(d, free, 1), 100, "the largest size does not overflow");
	free[0] = -GI;
	tap_eq_i64(score_of(d, free, 1), 0, "over-committed memory is no free memory");
}

/* ---- through a core ---- */

static void join(struct wz_core *c, uint32_t node, const char *name, uint8_t live)
{
	struct wz_device_facts facts[2];
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
	wz_model_id model;

	tap_require(wz_catalogue_declare(wz_core_catalogue(c), WZ_STR("Example-80G"), NULL, &model, NULL) == 0,
	        "model");
	for (unsigned i = 0; i < 2; i++)
		facts[i] =
		        (struct wz_device_facts){.model = model, .mem_bytes = 80 * GI, .compute_milli = WZ_WHOLE};
	e.u.node = (struct wz_ev_node){.node = {node},
	        .name = wz_str(name),
	        .cpu_milli = 64000,
	        .mem_bytes = 256 * GI,
	        .n_devices = 2,
	        .device = facts};
	tap_eq_i64(wz_core_apply(c, &e, NULL), 0, "node %s joins", name);
	e = (struct wz_event){.kind = WZ_EV_TELEMETRY};
	for (uint32_t i = 0; live != 255 && i < 2; i++) {
		e.u.telemetry.node.v = node;
		e.u.telemetry.index = i;
		e.u.telemetry.free_mem_pct = live;
		e.u.telemetry.util_pct = e.u.telemetry.temp_c = 255;
		tap_eq_i64(wz_core_apply(c, &e, NULL), 0, "telemetry of node %s", name);
	}
}

/* Submits a job of one whole device, makes a step, applies and confirms; the node it went to. */
static uint32_t place(struct wz_core *c, uint64_t job)
{
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};
	struct wz_place at = {.node = {WZ_ID_NONE}};
	struct wz_profile p;
	struct wz_plan plan;

	wz_profile_init(&p);
	p.gpus = 1;
	e.u.submit.job = job;
	e.u.submit.profile = &p;
	tap_eq_i64(wz_core_apply(c, &e, NULL), 0, "submit");
	e = (struct wz_event){.kind = WZ_EV_STEP};
	tap_eq_i64(wz_core_apply(c, &e, NULL), 0, "step");
	wz_plan_init(&plan, wz_os_mem());
	tap_eq_i64(wz_core_decide(c, 0, &plan, NULL), 0, "decide");
	for (uint32_t i = 0; i < plan.n; i++) {
		tap_eq_i64(wz_core_apply_effect(c, &plan.effect[i], NULL), 0, "apply");
		e = (struct wz_event){.kind = WZ_EV_EFFECT_CONFIRMED};
		e.u.effect.effect = plan.effect[i].id;
		tap_eq_i64(wz_core_apply(c, &e, NULL), 0, "confirm");
	}
	wz_plan_release(&plan);
	tap_eq_i64(wz_core_task(c, job, 0, &at), 0, "job %" PRIu64 " is placed", job);
	tap_eq_i64(wz_core_check(c, NULL), 0, "invariants");
	return at.node.v;
}

static void test_core(void)
{
	struct wz_core_options o = {.seed = 42, .policy = "no such policy", .custom = &wz_policy_free_memory};
	struct wz_core *c;

	tap_require(wz_core_new(wz_os_mem(), &o, &c, NULL) == 0, "a core with a policy that is in no table");
	tap_ok(wz_core_policy(c, NULL) == &wz_policy_free_memory, "it is the one given");
	join(c, 0, "busy", 20);
	join(c, 1, "quiet", 90);
	join(c, 2, "silent", 255);
	tap_eq_i64(place(c, 1), 2, "nothing is held, nothing reported: 100");
	tap_eq_i64(place(c, 2), 1, "90, for the other has 50 left");
	tap_eq_i64(place(c, 3), 1, "still 90: only a reading changes a reading");
	tap_eq_i64(place(c, 4), 2, "50 before 20");
	tap_eq_i64(place(c, 5), 0, "the last resort");
	wz_core_free(c);
}

int main(void)
{
	tap_run(test_score);
	tap_run(test_core);
	return tap_done();
}
