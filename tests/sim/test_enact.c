/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated body under making room: work of several priorities with checkpoint contracts on a small cluster, whose
 * hands are late, deaf, say things twice and refuse. Every invariant after every event; when nothing comes any more, all
 * faults notwithstanding, everything comes to rest and the most important work runs. */
#include "tap.h"

#include "fault.h"
#include "sim/enact.h"

#define SECOND UINT64_C(1000000)

struct body {
	struct fault_mem f;
	struct wz_core *c;
	struct wz_enact hands;
	struct wz_plan plan;
	struct wz_rng rng;
	uint64_t now;
	unsigned seen[32]; /* effects by kind */
	struct wz_err err;
};

static void check(struct body *b, const char *what)
{
	struct wz_err err = {0};
	tap_ok(wz_core_check(b->c, &err) == 0, "%s: %s", what, err.text);
}

static void apply(struct body *b, struct wz_event e)
{
	e.time_us = b->now;
	tap_eq_i64(wz_core_apply(b->c, &e, &b->err), 0, "event %u: %s", e.kind, b->err.text);
	check(b, "an event");
}

static void open_body(struct body *b, uint64_t seed, struct wz_enact_options o)
{
	struct wz_device_facts f[4];
	wz_model_id t4;
	*b = (struct body){.now = SECOND};
	fault_mem_init(&b->f);
	wz_plan_init(&b->plan, &b->f.mem);
	wz_rng_seed(&b->rng, seed);
	o.seed = seed;
	wz_enact_init(&b->hands, &b->f.mem, &o);
	tap_require(wz_core_new(&b->f.mem, &(struct wz_core_options){.seed = seed}, &b->c, &b->err) == 0, "a core");
	tap_require(wz_catalogue_find(wz_core_catalogue(b->c), WZ_STR("T4"), &t4, NULL) == 0, "a model");
	for (unsigned i = 0; i < 4; i++)
		f[i] = (struct wz_device_facts){
		        .model = t4, .mem_bytes = INT64_C(16) << 30, .compute_milli = WZ_WHOLE};
	for (uint32_t n = 0; n < 3; n++) {
		char name[] = {'n', (char)('a' + n), 0};
		apply(b, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                 .u.node = {.node = {n},
		                         .name = wz_str(name),
		                         .cpu_milli = 32000,
		                         .mem_bytes = INT64_C(64) << 30,
		                         .n_devices = 4,
		                         .device = f}});
	}
}

static void submit(struct body *b, uint64_t job)
{
	static const char *const profiles[] = {"gpus=1 preempt=movable",
	        "gpus=2 preempt=signal:USR1,grace:20s,ack:file", "gpus=1 tasks=2 preempt=movable",
	        "gpus=1 tasks=1..3 preempt=signal:TERM,grace:5s", "gpus=4", "gpu-share=50% preempt=movable"};
	struct wz_profile p;
	tap_require(wz_profile_parse(
	                    wz_str(profiles[wz_rng_below(&b->rng, 6)]), wz_core_catalogue(b->c), &p, NULL) == 0,
	        "a profile");
	apply(b, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                 .u.submit = {.job = job, .priority = (int32_t)wz_rng_below(&b->rng, 6), .profile = &p}});
}

/* Anything that a person or a task may do to a job. */
static void happen(struct body *b, uint64_t jobs)
{
	uint64_t job = 1 + wz_rng_below(&b->rng, jobs);
	struct wz_job_info x;
	if (wz_core_job(b->c, job, &x) < 0)
		return;
	switch (wz_rng_below(&b->rng, 8)) {
	case 0:
		apply(b, (struct wz_event){.kind = WZ_EV_JOB_SUSPENDED, .u.job.job = job});
		break;
	case 1:
	case 2:
		apply(b, (struct wz_event){.kind = WZ_EV_JOB_RESUMED, .u.job.job = job});
		break;
	case 3:
		apply(b, (struct wz_event){.kind = WZ_EV_JOB_REQUEUED, .u.job.job = job});
		break;
	case 4:
		apply(b, (struct wz_event){.kind = WZ_EV_TASK_REPORTED,
		                 .u.report = {.job = job, .checkpoint_us = (int64_t)b->now, .progress_milli = 1}});
		break;
	case 5:
		for (uint32_t t = 0; t < x.tasks_max; t++)
			apply(b, (struct wz_event){.kind = WZ_EV_TASK_ENDED,
			                 .u.task = {.job = job,
			                         .task = t,
			                         .attempt = x.attempt,
			                         .end = WZ_END_COMPLETED}});
		break;
	default:
		break;
	}
}

/* Returns how many effects but explanations there were. */
static unsigned step(struct body *b)
{
	unsigned n = 0;
	b->now += SECOND + wz_rng_below(&b->rng, 4 * SECOND);
	tap_eq_i64(wz_enact_until(&b->hands, b->c, b->now, &b->err), 0, "acknowledgements: %s", b->err.text);
	check(b, "acknowledgements");
	apply(b, (struct wz_event){.kind = WZ_EV_STEP});
	tap_eq_i64(wz_core_decide(b->c, 0, &b->plan, &b->err), 0, "decides");
	for (uint32_t i = 0; i < b->plan.n; i++) {
		tap_eq_i64(wz_core_apply_effect(b->c, &b->plan.effect[i], &b->err), 0, "effect of kind %u: %s",
		        b->plan.effect[i].kind, b->err.text);
		check(b, "an effect");
		b->seen[b->plan.effect[i].kind]++;
		n += b->plan.effect[i].kind != WZ_EF_EXPLAIN;
	}
	for (uint32_t i = 0; i < b->plan.n; i++)
		tap_eq_i64(wz_enact_effect(&b->hands, b->c, &b->plan.effect[i], &b->err), 0, "enacts: %s",
		        b->err.text);
	check(b, "enacted");
	return n;
}

static void close_body(struct body *b)
{
	wz_plan_release(&b->plan);
	wz_enact_release(&b->hands);
	wz_core_free(b->c);
	tap_ok(fault_mem_clean(&b->f), "nothing leaks");
}

static void test_faulty_hands(void)
{
	unsigned seen[32] = {0};
	uint64_t lost = 0, refused = 0, twice = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct body b;
		uint64_t jobs = 0;
		unsigned quiet = 0;
		open_body(&b, seed,
		        (struct wz_enact_options){.delay_us = seed % 4 ? 8 * SECOND : 0,
		                .loss_ppm = seed % 3 ? 80000 : 0,
		                .twice_ppm = 100000,
		                .refuse_ppm = seed % 5 ? 80000 : 0,
		                .warn_us = seed % 2 ? 30 * SECOND : 0});
		for (unsigned i = 0; i < 60; i++) {
			if (wz_rng_below(&b.rng, 2))
				submit(&b, ++jobs);
			if (jobs)
				happen(&b, jobs);
			step(&b);
		}
		/* Nobody does anything any more; what is suspended runs on. */
		for (uint64_t j = 1; j <= jobs; j++) {
			struct wz_job_info x;
			if (wz_core_job(b.c, j, &x) == 0 && x.suspended)
				apply(&b, (struct wz_event){.kind = WZ_EV_JOB_RESUMED, .u.job.job = j});
		}
		b.hands.o.loss_ppm = b.hands.o.refuse_ppm = 0;
		for (unsigned i = 0; i < 400 && quiet < 90; i++)
			quiet = step(&b) ? 0 : quiet + 1;
		tap_eq_i64(quiet, 90, "seed %" PRIu64 ": it comes to rest", seed);
		/* Nobody with a contract runs below somebody whom he could make room for, alone. */
		for (uint64_t j = 1; j <= jobs; j++) {
			struct wz_job_info x;
			if (wz_core_job(b.c, j, &x) < 0)
				continue;
			tap_ok(x.state == WZ_JOB_WAITING || x.state == WZ_JOB_RUNNING,
			        "seed %" PRIu64 ": job %" PRIu64 " waits or runs", seed, j);
			tap_ok(x.state != WZ_JOB_WAITING || x.reason == WZ_REASON_RESOURCES ||
			                x.reason == WZ_REASON_GANG,
			        "seed %" PRIu64 ": job %" PRIu64 " waits for room alone", seed, j);
		}
		for (unsigned k = 0; k < 32; k++)
			seen[k] += b.seen[k];
		lost += b.hands.lost;
		refused += b.hands.refused;
		twice += b.hands.twice;
		close_body(&b);
	}
	tap_ok(seen[WZ_EF_PREEMPT] > 100 && seen[WZ_EF_SUSPEND] > 20 && seen[WZ_EF_RESUME] > 20 &&
	                seen[WZ_EF_HOLD] > 50 && seen[WZ_EF_UNHOLD] > 20 && seen[WZ_EF_STOP] > 20,
	        "of each kind: preempt %u, suspend %u, resume %u, hold %u, unhold %u, stop %u", seen[WZ_EF_PREEMPT],
	        seen[WZ_EF_SUSPEND], seen[WZ_EF_RESUME], seen[WZ_EF_HOLD], seen[WZ_EF_UNHOLD], seen[WZ_EF_STOP]);
	tap_ok(lost > 50 && refused > 20 && twice > 50,
	        "faults: %" PRIu64 " lost, %" PRIu64 " refused, %" PRIu64 " twice", lost, refused, twice);
}

/* A checkpoint that takes long is waited for; one that takes longer than its contract is not. */
static void test_warned(void)
{
	for (int slow = 0; slow < 2; slow++) {
		struct body b;
		struct wz_profile p;
		struct wz_task_work k;
		open_body(&b, 3, (struct wz_enact_options){.loss_ppm = slow ? 1000000 : 0, .warn_us = 15 * SECOND});
		b.hands.o.loss_ppm = 0;
		for (uint64_t j = 1; j <= 4; j++) {
			tap_eq_i64(wz_profile_parse(WZ_STR("gpus=4 preempt=signal:USR1,grace:20s,ack:file"),
			                   wz_core_catalogue(b.c), &p, NULL),
			        0, "a profile");
			apply(&b, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
			                  .u.submit = {.job = j,
			                          .priority = j == 4 ? 5 : 0,
			                          .profile = &p,
			                          .held = j == 4}});
		}
		step(&b);
		apply(&b, (struct wz_event){.kind = WZ_EV_JOB_RELEASED, .u.job.job = 4});
		b.hands.o.loss_ppm = slow ? 1000000 : 0;
		step(&b);
		tap_eq_i64(b.seen[WZ_EF_PREEMPT], 1, "one is warned");
		b.hands.o.loss_ppm = 0;
		for (unsigned i = 0; i < 40; i++)
			step(&b);
		tap_eq_i64(b.seen[WZ_EF_STOP], slow, "stopped only who did not answer");
		tap_ok(wz_core_task_work(b.c, 4, 0, &k) == 0 && k.started_us, "and the other runs");
		close_body(&b);
	}
}

int main(void)
{
	tap_run(test_faulty_hands);
	tap_run(test_warned);
	return tap_done();
}
