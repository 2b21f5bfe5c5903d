/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of event and effect, through the public API only. */
#include "world.h"

#define CONFIRMED WZ_EV_EFFECT_CONFIRMED
#define REFUSED WZ_EV_EFFECT_REFUSED

/* ---- the life of an effect ---- */

static void test_confirmed(void)
{
	struct world w;
	world_init(&w);
	tap_eq_i64(node_of(&w, 0, 4, "A100-SXM4-40GB"), 0, "node");
	tap_eq_i64(submit(&w, 7, "gpus=2 cpus=8 mem=16Gi"), 0, "submit");
	tap_eq_i64(state_of(&w, 7), WZ_JOB_WAITING, "waits");
	decide_within(&w, 0);
	tap_eq_i64(state_of(&w, 7), WZ_JOB_WAITING, "proposed is not assumed");
	tap_eq_i64(w.plan.n, 1, "one effect");
	const struct wz_effect e = w.plan.effect[0];
	tap_ok(e.kind == WZ_EF_START && e.job == 7 && e.task == 0 && e.attempt == 1 && e.id == 1, "a start");
	tap_ok(e.deadline_us == 30 * SECOND && e.place.cpu == 8000 && e.place.mem == 16 * GI &&
	                e.place.dev_milli == 1000 && __builtin_popcountll(e.place.devices) == 2,
	        "names all that is needed");
	tap_eq_i64(apply_effect(&w, &e), 0, "applied");
	tap_eq_i64(state_of(&w, 7), WZ_JOB_STARTING, "assumed");
	tap_eq_i64(wz_core_next_deadline(w.c), 30 * SECOND, "has a deadline");
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "not twice");
	tap_eq_i64(ack(&w, CONFIRMED, e.id), 0, "confirmed");
	tap_eq_i64(state_of(&w, 7), WZ_JOB_RUNNING, "runs");
	tap_ok(wz_core_next_deadline(w.c) == UINT64_MAX, "nothing is awaited");
	uint64_t digest = wz_core_digest(w.c);
	tap_eq_i64(ack(&w, CONFIRMED, e.id), 0, "a second time");
	tap_eq_i64(ack(&w, REFUSED, e.id), 0, "contradicted late");
	tap_ok(wz_core_digest(w.c) == digest, "both change nothing");
	tap_eq_i64(ack(&w, CONFIRMED, 2), -ENOENT, "never issued");
	tap_eq_i64(ack(&w, REFUSED, UINT64_MAX), -ENOENT, "never issued");
	struct wz_place p = place_of(&w, 7, 0);
	tap_ok(p.node.v == 0 && p.devices == e.place.devices && p.cpu == 8000, "sits where it was put");
	tap_eq_i64(stats(&w).gpu_milli_held, 2000, "held");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 7, 0, 1, WZ_END_COMPLETED, false), 0, "ends");
	tap_eq_i64(state_of(&w, 7), -1, "forgotten");
	tap_eq_i64(stats(&w).gpu_milli_held, 0, "given back");
	tap_eq_i64(submit(&w, 7, "gpus=1"), 0, "an ended job's number may come again");
	world_free(&w);
}

static void test_refused(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
	submit(&w, 2, "gpus=1");
	tap_eq_i64(step(&w), 1, "the first starts");
	tap_eq_i64(ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 0)), 0, "refused");
	tap_eq_i64(info_of(&w, 1).attempt, 2, "another attempt");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "waits again");
	tap_eq_i64(info_of(&w, 1).reason, WZ_REASON_LAUNCH_BACKOFF, "after a pause");
	tap_eq_i64(wz_core_next_deadline(w.c), 5 * SECOND, "of five seconds");
	at(&w, 5);
	tap_eq_i64(step(&w), 1, "one starts");
	tap_ok(plan_find(&w, WZ_EF_START, 1, 0) != NULL, "it kept its place before job 2");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, false), 0,
	        "an event of the first attempt");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "says nothing of the second");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_STARTED, 1, 0, 2, 0, false), 0, "seen alive");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "is as good as confirmed");
	tap_eq_i64(ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 0)), 0, "a refusal after that");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "comes too late");
	world_free(&w);
}

static void test_expired(void)
{
	struct world w;
	world_init_opt(&w,
	        (struct wz_core_options){.seed = 1, .start_timeout_us = 5 * SECOND, .stop_timeout_us = 7 * SECOND});
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
	step(&w);
	uint64_t start = plan_id(&w, WZ_EF_START, 1, 0);
	at(&w, 4);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "in time");
	at(&w, 5);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "expired: may or may not run");
	tap_eq_i64(info_of(&w, 1).end, WZ_END_LAUNCH_FAILED, "the reason");
	tap_eq_i64(stats(&w).gpu_milli_held, 1000, "so its room is still held");
	tap_eq_i64(ack(&w, CONFIRMED, start), 0, "confirmed late");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "does not bring it back");
	step(&w);
	const struct wz_effect *stop = plan_find(&w, WZ_EF_STOP, 1, 0);
	tap_require(stop && stop->reason == WZ_END_LAUNCH_FAILED && stop->deadline_us == 12 * SECOND,
	        "a stop is asked for");
	uint64_t id = stop->id;
	tap_eq_i64(step(&w), 0, "once");
	tap_eq_i64(w.plan.n, 0, "once");
	tap_eq_i64(ack(&w, REFUSED, id), 0, "the stop is refused");
	step(&w);
	id = plan_id(&w, WZ_EF_STOP, 1, 0);
	tap_ok(id != 0, "and asked for again");
	at(&w, 12);
	step(&w);
	tap_ok(plan_id(&w, WZ_EF_STOP, 1, 0) > id, "nobody answers: asked for again");
	tap_eq_i64(ack(&w, CONFIRMED, id), 0, "the old one is confirmed");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "which counts no more");
	tap_eq_i64(ack(&w, CONFIRMED, plan_id(&w, WZ_EF_STOP, 1, 0)), 0, "confirmed");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "requeued");
	tap_eq_i64(info_of(&w, 1).attempt, 2, "as a new attempt");
	tap_eq_i64(stats(&w).gpu_milli_held, 0, "holds nothing");
	world_free(&w);
}

static void test_stale(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 cpus=1");
	submit(&w, 2, "gpus=9");
	decide_within(&w, 0);
	tap_eq_i64(w.plan.n, 2, "a start and an explanation");
	struct wz_effect e = w.plan.effect[0], bad, x = w.plan.effect[1];
	tap_ok(x.kind == WZ_EF_EXPLAIN && x.job == 2 && x.reason == WZ_REASON_RESOURCES, "why job 2 waits");
#define STALE(what, ...) (bad = e, __VA_ARGS__, tap_fail_unless(apply_effect(&w, &bad) == -ESTALE, what))
#define tap_fail_unless(c, what) tap_ok_expr((c), (what))
#define tap_ok_expr(c, what) ((c) ? (void)0 : (void)(tap_failed_here++, printf("# stale: %s\n", (what))))
	STALE("job", bad.job = 9);
	STALE("attempt", bad.attempt = 2);
	STALE("task", bad.task = 1);
	STALE("id", bad.id = 0);
	STALE("no node", bad.place.node.v = 5);
	STALE("device not there", bad.place.devices = 4);
	STALE("cpu", bad.place.cpu = 64001);
	STALE("negative cpu", bad.place.cpu = -1);
	STALE("negative memory", bad.place.mem = -1);
	STALE("memory", bad.place.mem = 257 * GI);
	STALE("milli", bad.place.dev_milli = 1001);
	STALE("no milli", bad.place.dev_milli = 0);
	STALE("device memory", bad.place.dev_mem = 15 * GI + 1); /* of 15 Gi */
	STALE("a stop of what does not run", bad.kind = WZ_EF_STOP);
	STALE("explains nothing", bad.kind = WZ_EF_EXPLAIN, bad.job = 3);
	bad = x;
	bad.reason = WZ_REASON_COUNT_;
	tap_eq_i64(apply_effect(&w, &bad), -ESTALE, "no such reason");
	bad = e;
	bad.kind = WZ_EF_MIGRATE;
	tap_eq_i64(apply_effect(&w, &bad), -EOPNOTSUPP, "a kind of another time");
	bad = e;
	bad.id = UINT64_MAX;
	tap_eq_i64(apply_effect(&w, &bad), -EINVAL, "an id that would wrap");
	tap_eq_i64(node_ready(&w, 0, true, true), 0, "cordon");
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "cordoned since it was decided");
	node_ready(&w, 0, true, false);
	tap_eq_i64(apply_effect(&w, &e), 0, "as decided");
	bad = e;
	bad.id++;
	tap_eq_i64(apply_effect(&w, &bad), -ESTALE, "the task is placed already");
	bad = e;
	bad.id++;
	bad.kind = WZ_EF_EXPLAIN;
	tap_eq_i64(apply_effect(&w, &bad), -ESTALE, "it waits no more");
	world_free(&w);
	world_init(&w);
	node_like(&w, 0, 0, NULL, (struct wz_ev_node){.max_tasks = 1});
	submit(&w, 1, "cpus=1");
	decide_within(&w, 0);
	e = w.plan.effect[0];
	observed(&w, 50, (struct wz_place){.node = {0}, .dev_mem = -1});
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a foreign task took the last place");
	world_free(&w);
}

/* ---- the life of a job ---- */

static void test_cancel_hold(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_HELD, 1), 0, "hold");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_HELD, "held");
	tap_eq_i64(info_of(&w, 1).reason, WZ_REASON_HELD, "and says so");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_HELD, "here too");
	tap_eq_i64(step(&w), 0, "does not start");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_HELD, 1), 0, "again");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_RELEASED, 1), 0, "release");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_RELEASED, 1), 0, "again");
	tap_eq_i64(step(&w), 1, "starts");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_HELD, 1), 0, "hold what starts");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "too late");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_CANCELLED, 1), 0, "cancel while it starts");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "must be stopped first");
	tap_eq_i64(ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 1, 0)), 0, "the start is confirmed meanwhile");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "still");
	struct wz_explanation x;
	tap_eq_i64(wz_core_explain(w.c, 1, &x, &w.err), -EINVAL, "does not wait");
	run_step(&w);
	tap_eq_i64(state_of(&w, 1), -1, "gone");
	tap_eq_i64(wz_core_explain(w.c, 1, &x, &w.err), -ENOENT, "gone");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_CANCELLED, 1), -ENOENT, "gone");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_HELD, 1), -ENOENT, "gone");
	submit(&w, 2, "gpus=1");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_CANCELLED, 2), 0, "cancel what waits");
	tap_eq_i64(state_of(&w, 2), -1, "at once");
	submit(&w, 3, "gpus=1");
	job_event(&w, WZ_EV_JOB_HELD, 3);
	tap_eq_i64(job_event(&w, WZ_EV_JOB_CANCELLED, 3), 0, "cancel what is held");
	tap_eq_i64(stats(&w).jobs_live, 0, "none is left");
	/* A cancel wins over a requeue that is under way. */
	submit(&w, 4, "gpus=1");
	run_step(&w);
	at(&w, 1);
	submit(&w, 5, "tasks=2 cpus=1");
	run_step(&w);
	task_event(&w, WZ_EV_TASK_ENDED, 5, 0, 1, WZ_END_OOM, true);
	tap_eq_i64(state_of(&w, 5), WZ_JOB_ENDING, "the other task is stopped");
	job_event(&w, WZ_EV_JOB_CANCELLED, 5);
	tap_eq_i64(info_of(&w, 5).end, WZ_END_OOM, "the first reason stands");
	run_step(&w);
	tap_eq_i64(state_of(&w, 5), -1, "not requeued");
	/* And over a start that expires after it. */
	submit(&w, 6, "cpus=1");
	step(&w);
	job_event(&w, WZ_EV_JOB_CANCELLED, 6);
	at(&w, 100);
	tap_eq_i64(info_of(&w, 6).end, WZ_END_CANCELLED, "cancelled");
	run_step(&w);
	tap_eq_i64(state_of(&w, 6), -1, "not requeued");
	world_free(&w);
}

static void test_ends(void)
{
	for (unsigned end = 0; end <= WZ_END_LAUNCH_FAILED; end++)
		for (int requeue = 0; requeue < 2; requeue++) {
			struct world w;
			world_init(&w);
			node_of(&w, 0, 1, "T4");
			submit(&w, 1, "gpus=1 time=1h");
			run_step(&w);
			tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, (enum wz_end)end, requeue), 0, "ends");
			tap_eq_i64(state_of(&w, 1), requeue && end != WZ_END_COMPLETED ? WZ_JOB_WAITING : -1,
			        "end %u requeue %d", end, requeue);
			tap_eq_i64((int64_t)wz_core_next_deadline(w.c),
			        (int64_t)(requeue && end == WZ_END_LAUNCH_FAILED ? 5 * SECOND : UINT64_MAX),
			        "the time limit ended with it");
			world_free(&w);
		}
}

static void test_edit(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=2");
	submit(&w, 2, "gpus=2");
	struct wz_profile p = profile(&w, "gpus=1 time=10s"), two = profile(&w, "gpus=1 tasks=2");
	struct wz_event e = {.kind = WZ_EV_JOB_EDITED, .u.edit = {.job = 2, .priority = 5}};
	tap_eq_i64(world_apply(&w, &e), 0, "a priority");
	tap_eq_i64(info_of(&w, 2).priority, 5, "is set");
	e.u.edit.profile = &two;
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "not the number of tasks");
	e.u.edit.profile = &p;
	uint64_t before = wz_core_digest(w.c);
	tap_eq_i64(world_apply(&w, &e), 0, "a profile");
	uint64_t with_limit = wz_core_digest(w.c);
	p.time_us = 20 * SECOND;
	tap_eq_i64(world_apply(&w, &e), 0, "its time limit");
	tap_ok(wz_core_digest(w.c) != with_limit && with_limit != before, "is state that the digest sees");
	job_event(&w, WZ_EV_JOB_HELD, 1);
	e.u.edit.job = 1;
	tap_eq_i64(world_apply(&w, &e), 0, "a held job, too");
	job_event(&w, WZ_EV_JOB_RELEASED, 1);
	tap_eq_i64(run_step(&w), 2, "both fit now");
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "not when it runs");
	tap_eq_i64(wz_core_next_deadline(w.c), 20 * SECOND, "the edited limit holds");
	e.u.edit.job = 77;
	tap_eq_i64(world_apply(&w, &e), -ENOENT, "no such job");
	world_free(&w);
}

static void test_order(void)
{
	struct world w;
	world_init(&w);
	submit_prio(&w, 1, "gpus=1", 0);
	submit_prio(&w, 2, "gpus=2", 0);
	submit_prio(&w, 3, "gpus=1", 5);
	submit_prio(&w, 4, "gpus=1", -5);
	submit_prio(&w, 5, "gpus=1", 0);
	node_of(&w, 0, 8, "T4");
	tap_eq_i64(step(&w), 5, "all start");
	static const uint64_t want[] = {3, 1, 2, 5, 4};
	for (unsigned i = 0; i < 5 && i < w.plan.n; i++)
		tap_eq_i64(w.plan.effect[i].job, want[i], "priority, then order of submission");
	/* Requeued in the order 5, 1, 3: they come back in the old order. */
	for (unsigned i = 0; i < 3; i++)
		ack(&w, REFUSED, plan_id(&w, WZ_EF_START, (const uint64_t[]){5, 1, 3}[i], 0));
	submit(&w, 6, "gpus=1");
	at(&w, 5);
	tap_eq_i64(step(&w), 4, "again");
	static const uint64_t again[] = {3, 1, 5, 6};
	for (unsigned i = 0; i < 4 && i < w.plan.n; i++)
		tap_eq_i64(w.plan.effect[i].job, again[i], "a requeue keeps its place");
	/* Cancel in the middle of a class. */
	world_free(&w);
	world_init(&w);
	for (uint64_t j = 1; j <= 4; j++)
		submit(&w, j, "gpus=1");
	job_event(&w, WZ_EV_JOB_CANCELLED, 2);
	job_event(&w, WZ_EV_JOB_CANCELLED, 4);
	job_event(&w, WZ_EV_JOB_HELD, 1);
	submit(&w, 5, "gpus=1");
	job_event(&w, WZ_EV_JOB_RELEASED, 1);
	node_of(&w, 0, 2, "T4");
	tap_eq_i64(step(&w), 2, "two start");
	tap_ok(plan_find(&w, WZ_EF_START, 1, 0) && plan_find(&w, WZ_EF_START, 3, 0), "the two oldest");
	world_free(&w);
}

static void test_time_limit(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=2 time=100s");
	step(&w);
	at(&w, 10);
	ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 1, 0));
	tap_eq_i64(wz_core_next_deadline(w.c), 30 * SECOND, "the other start");
	at(&w, 20);
	ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 1, 1));
	tap_eq_i64(wz_core_next_deadline(w.c), 110 * SECOND, "from the first confirmation");
	at(&w, 109);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "not yet");
	at(&w, 110);
	tap_eq_i64(info_of(&w, 1).end, WZ_END_TIMEOUT, "now");
	tap_eq_i64(step(&w), 0, "stops");
	tap_eq_i64(w.plan.n, 2, "both tasks");
	confirm_plan(&w);
	tap_eq_i64(state_of(&w, 1), -1, "gone");

	/* A limit that falls due while an attempt is being stopped for a requeue must not make it the last one (I7). */
	submit(&w, 2, "gpus=1 tasks=2 time=100s");
	run_step(&w);
	at(&w, 150);
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_PREEMPTED, true);
	tap_eq_i64(state_of(&w, 2), WZ_JOB_ENDING, "the other is to be stopped");
	at(&w, 300);
	run_step(&w);
	tap_eq_i64(state_of(&w, 2), WZ_JOB_WAITING, "requeued");
	/* The ids of the core's own deadlines are no effects that a body could acknowledge. */
	run_step(&w);
	for (uint64_t seq = 0; seq < 4; seq++) {
		tap_eq_i64(ack(&w, CONFIRMED, 1ull << 63 | seq), -ENOENT, "not an effect");
		tap_eq_i64(ack(&w, REFUSED, 1ull << 63 | seq), -ENOENT, "not an effect");
	}
	tap_eq_i64(state_of(&w, 2), WZ_JOB_RUNNING, "still runs");
	world_free(&w);
}

/* ---- gangs ---- */

static void test_gang(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=3..5");
	tap_eq_i64(step(&w), 0, "all of the minimum or nothing");
	tap_eq_i64(info_of(&w, 1).reason, WZ_REASON_GANG, "and why");
	struct wz_explanation x = why(&w, 1);
	tap_ok(x.main == WZ_REASON_GANG && x.tasks_fit == 2 && x.tasks_needed == 3 && !x.never, "2 of 3 fit");
	node_of(&w, 1, 2, "T4");
	tap_eq_i64(step(&w), 4, "as many as there is room for");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 4, "placed");
	ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 3));
	tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "an elastic job goes on with three");
	for (uint32_t t = 0; t < 3; t++)
		ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 1, t));
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "runs");
	struct wz_place p;
	tap_eq_i64(wz_core_task(w.c, 1, 3, &p), -ENOENT, "the refused one holds nothing");
	tap_eq_i64(wz_core_task(w.c, 1, 5, &p), -ENOENT, "no such task");
	tap_eq_i64(wz_core_task(w.c, 9, 0, &p), -ENOENT, "no such job");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "one is done");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 1, 1, WZ_END_NODE_LOST, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "below the minimum: the attempt ends");
	run_step(&w);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "requeued");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 0, "holds nothing");
	tap_eq_i64(run_step(&w), 4, "a second attempt");
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "a node is lost with two of four");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 2, "what is left is stopped");
	run_step(&w);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "requeued");
	world_free(&w);
}

/* The last awaited task goes away: the others must not stay "starting" for ever (I3). */
static void test_gang_settles(void)
{
	for (int how = 0; how < 2; how++) {
		struct world w;
		world_init(&w);
		node_of(&w, 0, 4, "T4");
		submit(&w, 1, "gpus=1 tasks=2..4");
		tap_eq_i64(step(&w), 4, "four");
		for (uint32_t t = 0; t < 3; t++)
			ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 1, t));
		tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "one is awaited");
		if (how)
			ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 3));
		else
			task_event(&w, WZ_EV_TASK_ENDED, 1, 3, 1, WZ_END_COMPLETED, false);
		tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "none is awaited");
		world_free(&w);
	}
	/* A plan that was applied in part leaves no gang below its minimum (I4). */
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpus=1 tasks=3");
	decide_within(&w, 0);
	tap_eq_i64(w.plan.n, 3, "three");
	apply_effect(&w, &w.plan.effect[0]);
	apply_effect(&w, &w.plan.effect[1]);
	ack(&w, CONFIRMED, w.plan.effect[0].id);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_STARTING, "in the commit window");
	ack(&w, CONFIRMED, w.plan.effect[1].id);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "a broken gang starts anew");
	run_step(&w);
	tap_eq_i64(run_step(&w), 3, "as a whole");
	world_free(&w);
}

static void test_together(void)
{
	struct world w;
	struct dev two[2] = {{.model = "T4"}, {.model = "T4"}};
	world_init(&w);
	for (uint32_t i = 0; i < 6; i++)
		node_like(&w, i, 2, two,
		        (struct wz_ev_node){.rack = wz_str((const char *[]){"r1", "r2", "r2", "", "", ""}[i])});
	submit(&w, 1, "gpus=1 tasks=5 link=rack");
	tap_eq_i64(step(&w), 0, "no rack has five; nodes of no rack promise nothing");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_TOPOLOGY, "no place holds the gang");
	tap_eq_i64(why(&w, 1).tasks_fit, 4, "four fit under r2");
	tap_eq_i64(why(&w, 1).place_fits, 4, "which is named");
	tap_ok(strcmp(why(&w, 1).place, "r2") == 0, "as %s", why(&w, 1).place);
	submit(&w, 2, "gpus=1 tasks=4 link=rack");
	tap_eq_i64(run_step(&w), 4, "four do");
	for (uint32_t t = 0; t < 4; t++)
		tap_ok(place_of(&w, 2, t).node.v == 1 || place_of(&w, 2, t).node.v == 2, "under r2");
	submit(&w, 3, "gpus=1 tasks=5 link~rack");
	tap_eq_i64(run_step(&w), 5, "preferred only");
	submit(&w, 4, "gpus=1 tasks=2..3 link=node");
	tap_eq_i64(run_step(&w), 2, "on one node");
	tap_eq_i64(place_of(&w, 4, 0).node.v, place_of(&w, 4, 1).node.v, "one node");
	world_free(&w);

	/* One task would do, but not where no rack is known: the reason must be true (I6). */
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=1..2 link=rack");
	tap_eq_i64(step(&w), 0, "no rack");
	tap_eq_i64(info_of(&w, 1).reason, WZ_REASON_GANG, "as told");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_GANG, "as asked");
	world_free(&w);
}

/* ---- nodes and devices ---- */

static void test_node_returns(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
	run_step(&w);
	tap_eq_i64(node_event(&w, WZ_EV_NODE_LEFT, 0), 0, "left");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "requeued");
	tap_eq_i64(info_of(&w, 1).attempt, 2, "second attempt");
	tap_eq_i64(node_event(&w, WZ_EV_NODE_LEFT, 0), 0, "left twice");
	tap_eq_i64(stats(&w).gpu_milli_capacity, 0, "nothing there");
	tap_eq_i64(step(&w), 0, "nowhere to go");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_NO_NODES, "no node");
	node_of(&w, 1, 1, "A10");
	submit(&w, 2, "gpus=1 gpu-type=t4");
	tap_eq_i64(run_step(&w), 1, "another node: ranks are dealt without the first");
	tap_eq_i64(node_of(&w, 0, 1, "T4"), 0, "back under its name");
	tap_eq_i64(run_step(&w), 1, "and used again");
	tap_eq_i64(place_of(&w, 2, 0).node.v, 0, "where it was");
	tap_eq_i64(node_like(&w, 0, 0, NULL, (struct wz_ev_node){.name = WZ_STR("other")}), -EINVAL,
	        "the id is in use");
	tap_eq_i64(node_event(&w, WZ_EV_NODE_LEFT, 0), 0, "left");
	tap_eq_i64(node_like(&w, 0, 0, NULL, (struct wz_ev_node){.name = WZ_STR("other")}), 0, "the id is free");
	tap_eq_i64(node_event(&w, WZ_EV_NODE_LEFT, 9), -ENOENT, "no such node");
	world_free(&w);
}

static void test_node_ready(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
	node_ready(&w, 0, false, false);
	tap_eq_i64(step(&w), 0, "not ready");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_NOT_READY, "not ready");
	node_ready(&w, 0, true, true);
	tap_eq_i64(step(&w), 0, "cordoned");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_CORDONED, "cordoned");
	node_ready(&w, 0, true, false);
	tap_eq_i64(run_step(&w), 1, "ready");
	node_ready(&w, 0, true, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "a cordon moves nobody");
	tap_eq_i64(node_ready(&w, 3, true, true), -ENOENT, "no such node");
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	node_ready(&w, 0, true, false);
	tap_eq_i64(step(&w), 0, "what left is not ready");
	world_free(&w);
}

static void test_shrink_grow(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpus=4 cpus=60");
	run_step(&w);
	struct dev d[8];
	for (unsigned i = 0; i < 8; i++)
		d[i] = (struct dev){.model = "T4"};
	tap_eq_i64(node_like(&w, 0, 2, d, (struct wz_ev_node){.cpu_milli = 30000}), 0,
	        "two devices and half the CPUs are gone");
	tap_eq_i64(wz_core_model(w.c)->node[0].cpu_free, -30000, "negative headroom");
	tap_eq_i64(stats(&w).gpu_milli_held, 4000, "the work still holds what it holds");
	tap_eq_i64(stats(&w).gpu_milli_capacity, 2000, "of what is left");
	submit(&w, 2, "cpus=1");
	tap_eq_i64(step(&w), 0, "nothing is free");
	tap_eq_i64(why(&w, 2).main, WZ_REASON_CPU, "CPU");
	tap_eq_i64(node_like(&w, 0, 8, d, (struct wz_ev_node){0}), 0, "more than before");
	tap_eq_i64(run_step(&w), 1, "room again");
	submit(&w, 3, "gpus=4");
	tap_eq_i64(run_step(&w), 1, "on the new devices");
	tap_eq_i64(place_of(&w, 3, 0).devices, 0xf0, "devices keep their index");
	world_free(&w);
}

static void test_device_fails(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpu-share=60%");
	run_step(&w);
	unsigned used = (unsigned)__builtin_ctzll(place_of(&w, 1, 0).devices);
	tap_eq_i64(device_changed(&w, 0, used, (struct dev){.model = "T4", .health = WZ_HEALTH_FAILED}), 0,
	        "the card dies");
	tap_eq_i64(wz_core_model(w.c)->dev_milli[used], -600, "negative headroom");
	submit(&w, 2, "gpus=2");
	tap_eq_i64(step(&w), 0, "one device works");
	tap_eq_i64(
	        device_changed(&w, 0, 1 - used, (struct dev){.model = "T4", .milli = 400}), 0, "half of the other");
	submit(&w, 3, "gpu-share=50%");
	tap_eq_i64(step(&w), 0, "too large");
	tap_eq_i64(why(&w, 3).main, WZ_REASON_SHARE, "no device has so large a share");
	tap_eq_i64(device_changed(&w, 0, used, (struct dev){.model = "T4", .milli = 500}), 0,
	        "lives again, with less than is held");
	tap_eq_i64(wz_core_model(w.c)->dev_milli[used], -100, "over-committed by a fact");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_DEVICE_LOST, false), 0, "the work ends");
	tap_eq_i64(run_step(&w), 1, "all of it is free");
	tap_eq_i64(device_changed(&w, 0, 2, (struct dev){.model = "T4"}), -EINVAL, "no such device");
	tap_eq_i64(device_changed(&w, 4, 0, (struct dev){.model = "T4"}), -ENOENT, "no such node");
	tap_eq_i64(device_changed(&w, 0, 0, (struct dev){.model = "T4", .milli = 1001}), -EINVAL, "compute");
	tap_eq_i64(device_changed(&w, 0, 0, (struct dev){.model = "T4", .milli = -1}), -EINVAL, "compute");
	tap_eq_i64(device_changed(&w, 0, 0, (struct dev){.model = "T4", .health = 3}), -EINVAL, "health");
	tap_eq_i64(
	        device_changed(&w, 0, 0, (struct dev){.model = "T4", .mem = WZ_BYTES_MAX + 1}), -EINVAL, "memory");
	world_free(&w);
}

static void test_observed(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 cpus=60");
	run_step(&w);
	struct wz_place p = {.node = {0}, .devices = 3, .cpu = 8000, .mem = GI, .dev_milli = 500, .dev_mem = -1};
	tap_eq_i64(observed(&w, 50, p), 0, "foreign work comes where there is no room");
	tap_eq_i64(wz_core_model(w.c)->node[0].cpu_free, -4000, "negative headroom");
	tap_eq_i64(stats(&w).gpu_milli_held, 2000, "held");
	tap_eq_i64(observed(&w, 50, p), -EEXIST, "the number is taken");
	tap_eq_i64(submit(&w, 50, "gpus=1"), -EEXIST, "the number is taken");
	submit(&w, 2, "gpu-share=50%");
	tap_eq_i64(run_step(&w), 0, "nothing starts on a host that is over-committed");
	tap_eq_i64(why(&w, 2).main, WZ_REASON_CPU, "for want of CPU");
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	run_step(&w);
	tap_eq_i64(run_step(&w), 1, "what it left is ours");
	struct {
		const char *what;
		struct wz_place p;
	} bad[] = {{"cpu", p}, {"cpu", p}, {"mem", p}, {"mem", p}, {"milli", p}, {"milli", p}, {"dev_mem", p},
	        {"dev_mem", p}, {"devices", p}};
	bad[0].p.cpu = -1;
	bad[1].p.cpu = WZ_CPU_MILLI_MAX + 1;
	bad[2].p.mem = -1;
	bad[3].p.mem = WZ_BYTES_MAX + 1;
	bad[4].p.dev_milli = -1;
	bad[5].p.dev_milli = 1001;
	bad[6].p.dev_mem = -2;
	bad[7].p.dev_mem = WZ_BYTES_MAX + 1;
	bad[8].p.devices = 4;
	for (unsigned i = 0; i < 9; i++)
		tap_eq_i64(observed(&w, 60 + i, bad[i].p), -EINVAL, "%s out of range", bad[i].what);
	p.node.v = 7;
	tap_eq_i64(observed(&w, 70, p), -ENOENT, "no such node");
	/* It is not ours: neither stopped, nor started again. */
	job_event(&w, WZ_EV_JOB_CANCELLED, 50);
	step(&w);
	tap_eq_i64(w.plan.n, 0, "no stop is asked for");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 50, 0, 1, WZ_END_FAILED, true), 0, "ends by itself");
	tap_eq_i64(state_of(&w, 50), -1, "forgotten");
	p.node.v = 0;
	observed(&w, 51, p);
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 51, 0, 1, WZ_END_FAILED, true), 0,
	        "fails, and asks to be requeued");
	tap_eq_i64(state_of(&w, 51), -1, "foreign work is never ours to start");
	observed(&w, 52, p);
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	tap_eq_i64(state_of(&w, 52), -1, "lost with its node");
	tap_eq_i64(observed(&w, 53, p), -ENOENT, "nothing can be on a node that left");
	world_free(&w);
}

/* ---- what a task may ask of devices ---- */

static void test_count_only(void)
{
	struct world w;
	struct dev d[4] = {{.model = "T4", .link = 1}, {.model = "T4", .link = 1}, {.model = "T4", .link = 1},
	        {.model = "T4", .link = 1}};
	world_init(&w);
	node_like(&w, 0, 4, d, (struct wz_ev_node){.count_only = true});
	submit(&w, 1, "gpus=2 link=nvlink");
	tap_eq_i64(step(&w), 0, "only the number is known: no link is promised");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_LINK, "link");
	tap_ok(why(&w, 1).never, "never, on this cluster");
	submit(&w, 2, "gpus=2 link~nvlink");
	tap_eq_i64(run_step(&w), 1, "preferred is fine");
	world_free(&w);
}

static void test_mixed(void)
{
	struct world w;
	struct dev d[4] = {{.model = "T4"}, {.model = "A10"}, {.model = "T4"}, {.model = "A10"}};
	world_init(&w);
	node_like(&w, 0, 4, d, (struct wz_ev_node){0});
	submit(&w, 1, "gpus=3");
	tap_eq_i64(step(&w), 0, "devices of one model");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_DEVICES, "two of each");
	submit(&w, 2, "gpus=1 gpu-type=a10,t4");
	tap_eq_i64(run_step(&w), 1, "starts");
	tap_eq_i64(place_of(&w, 2, 0).devices, 2, "the first preference");
	submit(&w, 3, "gpus=2 gpu-type=a10,t4");
	tap_eq_i64(run_step(&w), 1, "starts");
	tap_eq_i64(place_of(&w, 3, 0).devices, 5, "the second preference, since one a10 is taken");
	submit(&w, 4, "gpus=1 gpu-type=!a10");
	tap_eq_i64(run_step(&w), 0, "an a10 is free, but excluded");
	tap_eq_i64(why(&w, 4).main, WZ_REASON_BUSY, "busy");
	submit(&w, 5, "gpus=1 gpu-type=h100");
	tap_eq_i64(run_step(&w), 0, "no h100");
	tap_ok(why(&w, 5).main == WZ_REASON_MODEL && why(&w, 5).never, "no such model");
	world_free(&w);
}

static void test_partitions(void)
{
	struct world w;
	struct dev d[2] = {{.model = "A100-SXM4-40GB", .partition = 1, .milli = 500}, {.model = "A100-SXM4-40GB"}};
	world_init(&w);
	node_like(&w, 0, 2, d, (struct wz_ev_node){0});
	submit(&w, 1, "gpus=1");
	submit(&w, 2, "gpu-share=10%");
	tap_eq_i64(run_step(&w), 1, "one whole device");
	tap_eq_i64(place_of(&w, 1, 0).devices, 2, "a partition is not given to who asks for a device");
	tap_eq_i64(state_of(&w, 2), WZ_JOB_WAITING, "nor a share of it");
	tap_eq_i64(why(&w, 2).main, WZ_REASON_SHARE, "share");
	world_free(&w);
}

static void test_links(void)
{
	static const char *const asked[] = {"nvlink", "pcie", "numa"};
	for (int how = 0; how < 3; how++) {
		struct world w;
		struct dev d[8];
		char text[64];
		world_init(&w);
		for (unsigned i = 0; i < 8; i++) /* groups of 3 and 5: {0 3 6}, {1 2 4 5 7} */
			d[i] = (struct dev){.model = "A100-SXM4-40GB",
			        .link = how == 0 ? (uint16_t)(i % 3 == 0 ? 1 : 2) : 0,
			        .pcie = how == 1 ? i % 3 == 0 : 0,
			        .numa = how == 2 ? i % 3 == 0 : 0};
		node_like(&w, 0, 8, d, (struct wz_ev_node){0});
		snprintf(text, sizeof text, "gpus=3 link=%s", asked[how]);
		submit(&w, 1, text);
		tap_eq_i64(run_step(&w), 1, "fits");
		tap_eq_i64(place_of(&w, 1, 0).devices, 1 | 8 | 64,
		        "the small group, so that the large one stays whole");
		submit(&w, 2, text);
		tap_eq_i64(run_step(&w), 1, "the large one");
		submit(&w, 3, text);
		tap_eq_i64(run_step(&w), 0, "two are left");
		tap_ok(why(&w, 3).main == WZ_REASON_BUSY && !why(&w, 3).never, "busy, since it could be");
		snprintf(text, sizeof text, "gpus=6 link=%s", asked[how]);
		submit(&w, 4, text);
		tap_eq_i64(run_step(&w), 0, "no group has six");
		task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
		task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_COMPLETED, false);
		job_event(&w, WZ_EV_JOB_CANCELLED, 3);
		tap_eq_i64(run_step(&w), 0, "however free");
		tap_ok(why(&w, 4).main == WZ_REASON_LINK && why(&w, 4).never, "link");
		snprintf(text, sizeof text, "gpus=6 link~%s", asked[how]);
		submit(&w, 5, text);
		tap_eq_i64(run_step(&w), 1, "preferred");
		world_free(&w);
	}
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "A100-SXM4-40GB");
	submit(&w, 1, "gpus=2 link=nvlink");
	tap_eq_i64(run_step(&w), 0, "link domain 0 joins nothing");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_LINK, "link");
	world_free(&w);
}

static void test_shares(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "A100-SXM4-40GB");
	submit(&w, 1, "gpu-share=20% gpu-mem=30Gi");
	tap_eq_i64(run_step(&w), 1, "a fifth of the compute, three quarters of the memory");
	tap_eq_i64(place_of(&w, 1, 0).dev_mem, 30 * GI, "explicit memory");
	submit(&w, 2, "gpu-share=40%");
	tap_eq_i64(run_step(&w), 0, "two fifths of the memory are not free");
	tap_eq_i64(why(&w, 2).main, WZ_REASON_SHARE, "share");
	submit(&w, 3, "gpu-share=20%");
	tap_eq_i64(run_step(&w), 1, "a fifth is");
	tap_eq_i64(place_of(&w, 3, 0).dev_mem, -1, "the share of memory");
	submit(&w, 4, "gpu-share=10% gpu-mem=3Gi");
	tap_eq_i64(run_step(&w), 0, "2 Gi are left");
	submit(&w, 5, "gpu-share=60% gpu-mem=2Gi");
	tap_eq_i64(run_step(&w), 1, "the rest");
	tap_eq_i64(wz_core_model(w.c)->dev_mem[0], 0, "to the last byte");
	submit(&w, 6, "gpu-share=10% gpu-mem=41Gi");
	tap_eq_i64(run_step(&w), 0, "more than the card has");
	tap_ok(why(&w, 6).main == WZ_REASON_DEVICE_MEMORY && why(&w, 6).never, "too small");
	submit(&w, 7, "gpus=1 gpu-mem=80G");
	tap_eq_i64(run_step(&w), 0, "a larger class");
	tap_ok(why(&w, 7).main == WZ_REASON_DEVICE_MEMORY && why(&w, 7).never, "too small");
	submit(&w, 8, "gpus=1 bw=2000");
	tap_eq_i64(run_step(&w), 0, "a faster card");
	tap_ok(why(&w, 8).main == WZ_REASON_BANDWIDTH && why(&w, 8).never, "bandwidth");
	world_free(&w);
}

/* What is derived, or asked in total, is held in full, also of unequal devices. */
static void test_derived(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "A100-SXM4-40GB"); /* 100 CU and 40 Gi each */
	submit(&w, 1, "cu=250");
	tap_eq_i64(run_step(&w), 1, "starts");
	tap_eq_i64(__builtin_popcountll(place_of(&w, 1, 0).devices), 3, "three devices");
	submit(&w, 2, "cu=10 gpu-mem-total=30Gi");
	tap_eq_i64(run_step(&w), 1, "a tenth of the last one");
	tap_eq_i64(place_of(&w, 2, 0).dev_milli, 100, "of the compute");
	tap_eq_i64(place_of(&w, 2, 0).dev_mem, 30 * GI, "but all the memory that it asked");
	world_free(&w);

	/* The last device of a node used to speak for all. */
	struct dev unequal[3] = {{.model = "A100-SXM4-40GB", .mem = 20 * GI},
	        {.model = "A100-SXM4-40GB", .mem = 20 * GI}, {.model = "A100-SXM4-40GB", .mem = 40 * GI}};
	world_init(&w);
	node_like(&w, 0, 3, unequal, (struct wz_ev_node){0});
	struct wz_place p = {.node = {0}, .devices = 4, .dev_milli = 1000, .dev_mem = GI};
	observed(&w, 50, p); /* sends plain shapes through the careful path */
	submit(&w, 1, "gpus=2");
	tap_eq_i64(run_step(&w), 1, "two free devices are two free devices");
	tap_eq_i64(place_of(&w, 1, 0).devices, 3, "the small ones");
	task_event(&w, WZ_EV_TASK_ENDED, 50, 0, 1, WZ_END_COMPLETED, false);
	submit(&w, 2, "gpus=1 gpu-mem=30Gi");
	tap_eq_i64(run_step(&w), 1, "the large one");
	world_free(&w);

	/* Sizes that the node does not tell. */
	struct dev unknown[2] = {{.model = "A100-SXM4-40GB", .mem = -1}, {.model = "G9", .mem = -1}};
	world_init(&w);
	node_like(&w, 0, 2, unknown, (struct wz_ev_node){0});
	submit(&w, 1, "gpu-share=50% gpu-mem=30Gi");
	submit(&w, 2, "gpu-share=10% gpu-mem=30Gi");
	tap_eq_i64(run_step(&w), 1, "the catalogue's size, once");
	tap_eq_i64(place_of(&w, 1, 0).devices, 1, "of the model that it knows");
	submit(&w, 3, "gpu-share=50%");
	submit(&w, 4, "gpus=1");
	tap_eq_i64(run_step(&w), 2, "who asks for no memory is not judged by it");
	world_free(&w);

	/* A device of the largest size must not overflow. */
	struct dev huge = {.model = "G9", .mem = WZ_BYTES_MAX};
	world_init(&w);
	node_like(&w, 0, 1, &huge, (struct wz_ev_node){0});
	for (uint64_t i = 1; i <= 3; i++)
		submit(&w, i, "gpu-share=33%");
	tap_eq_i64(run_step(&w), 3, "three thirds");
	tap_ok(wz_core_model(w.c)->dev_mem[0] > 0 && wz_core_model(w.c)->dev_mem[0] < WZ_BYTES_MAX / 90,
	        "one percent is left");
	world_free(&w);
}

static void test_live_memory(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 free=50%");
	tap_eq_i64(run_step(&w), 0, "not known");
	tap_ok(why(&w, 1).main == WZ_REASON_LIVE_MEMORY && !why(&w, 1).never, "live memory");
	uint64_t digest = wz_core_digest(w.c);
	tap_eq_i64(telemetry(&w, 0, 1, 49), 0, "too little");
	tap_eq_i64(run_step(&w), 0, "49");
	telemetry(&w, 0, 1, 101);
	tap_eq_i64(run_step(&w), 0, "not a percentage: not known");
	digest = wz_core_digest(w.c);
	telemetry(&w, 0, 1, 54);
	tap_ok(wz_core_digest(w.c) == digest, "live readings are no state");
	tap_eq_i64(wz_core_model(w.c)->dev[1].free_mem_pct, 50, "in steps of five");
	tap_eq_i64(run_step(&w), 1, "enough");
	tap_eq_i64(place_of(&w, 1, 0).devices, 2, "on the device that has it");
	tap_eq_i64(telemetry(&w, 0, 2, 10), -EINVAL, "no such device");
	tap_eq_i64(telemetry(&w, 1, 0, 10), -ENOENT, "no such node");
	struct wz_event e = {.kind = WZ_EV_TELEMETRY,
	        .u.telemetry = {.node = {0}, .index = 0, .free_mem_pct = 255, .util_pct = 99, .temp_c = 77}};
	world_apply(&w, &e);
	tap_ok(wz_core_model(w.c)->dev[0].util_pct == 95 && wz_core_model(w.c)->dev[0].temp_c == 75, "quantised");
	world_free(&w);
}

/* ---- the host, and every reason ---- */

static void test_host_reasons(void)
{
	static const struct {
		const char *text;
		enum wz_reason why;
		bool never;
	} cases[] = {{"gpus=1 cpus=65", WZ_REASON_CPU_CAPACITY, true}, {"cpus=65", WZ_REASON_CPU_CAPACITY, true},
	        {"gpus=1 mem=257Gi", WZ_REASON_MEM_CAPACITY, true}, {"gpus=1 cpus=50", WZ_REASON_CPU, false},
	        {"gpus=1 mem=250Gi", WZ_REASON_MEM, false}, {"gpus=3", WZ_REASON_DEVICES, true},
	        {"gpus=2", WZ_REASON_BUSY, false}, {"gpus=1 gpu-type=a100", WZ_REASON_MODEL, true},
	        {"gpus=2 gpu-mem=1Gi", WZ_REASON_BUSY, false}, {"gpus=3 gpu-mem=1Gi", WZ_REASON_DEVICES, true},
	        {"cpus=50 gpus=2 gpu-mem=1Gi", WZ_REASON_CPU, false}};
	for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct world w;
		world_init(&w);
		node_of(&w, 0, 2, "T4");
		submit(&w, 1, "gpus=1 cpus=20 mem=20Gi");
		tap_eq_i64(run_step(&w), 1, "takes one device");
		submit(&w, 2, cases[i].text);
		tap_eq_i64(run_step(&w), 0, "%s does not fit", cases[i].text);
		struct wz_explanation x = why(&w, 2);
		tap_ok(x.main == cases[i].why && x.never == cases[i].never && x.blocked[x.main] == 1 &&
		                x.nodes == 1,
		        "%s: %s%s", cases[i].text, wz_reason_word(x.main), x.never ? ", never" : "");
		tap_eq_i64(info_of(&w, 2).reason, WZ_REASON_RESOURCES, "the coarse word");
		world_free(&w);
	}
	struct world w;
	world_init(&w);
	node_like(&w, 0, 0, NULL, (struct wz_ev_node){.max_tasks = 1});
	submit(&w, 1, "cpus=1");
	submit(&w, 2, "cpus=1");
	tap_eq_i64(run_step(&w), 1, "one task");
	tap_ok(why(&w, 2).main == WZ_REASON_TASKS && !why(&w, 2).never, "the node's limit");
	submit(&w, 3, "gpus=1");
	run_step(&w);
	tap_eq_i64(why(&w, 3).main, WZ_REASON_MODEL, "a node without devices");
	world_free(&w);
	/* The most frequent blocker is named first. */
	world_init(&w);
	submit(&w, 1, "gpus=2");
	step(&w);
	tap_ok(why(&w, 1).main == WZ_REASON_NO_NODES && why(&w, 1).never, "no node at all");
	node_of(&w, 0, 1, "T4");
	node_of(&w, 1, 1, "T4");
	node_of(&w, 2, 2, "T4");
	node_ready(&w, 2, true, true);
	tap_ok(why(&w, 1).main == WZ_REASON_DEVICES && why(&w, 1).blocked[WZ_REASON_CORDONED] == 1 &&
	                !why(&w, 1).never,
	        "two of three");
	node_ready(&w, 2, true, false);
	tap_eq_i64(why(&w, 1).main, WZ_REASON_NONE, "it could start now");
	world_free(&w);
}

static void test_words(void)
{
	char text[512];
	for (int r = 0; r < WZ_REASON_COUNT_; r++)
		tap_ok(wz_reason_word((enum wz_reason)r) && wz_reason_text((enum wz_reason)r)[0],
		        "reason %d has words", r);
	tap_eq_str(wz_str(wz_reason_word(WZ_REASON_COUNT_)), WZ_STR("Unknown"), "out of range");
	tap_eq_str(wz_str(wz_reason_text(WZ_REASON_COUNT_)), WZ_STR("unknown"), "out of range");
	struct wz_buf b;
	struct fault_mem f;
	fault_mem_init(&f);
	(void)text;
	wz_buf_init(&b, &f.mem, 4096);
	struct wz_explanation x = {
	        .main = WZ_REASON_GANG, .nodes = 3, .tasks_fit = 1, .tasks_needed = 2, .never = true};
	x.blocked[WZ_REASON_BUSY] = 2;
	wz_explanation_format(&x, &b);
	tap_eq_str(wz_buf_str(&b),
	        WZ_STR("Gang: single tasks fit, but not all that must start together (1 of 2 fit); "
	               "2 of 3 nodes: enough devices, but not free now; it can never start on this cluster as it "
	               "is"),
	        "a line for people");
	wz_buf_release(&b);
	tap_ok(fault_mem_clean(&f), "nothing leaks");
}

/* ---- steps ---- */

/* A gang of which only a part fits is work done, though nothing comes of it. */
static void test_budget_counts_what_fails(void)
{
	struct world w;

	world_init(&w);
	node_of(&w, 0, 3, "T4");
	submit(&w, 1, "gpus=1 tasks=8");
	submit(&w, 2, "gpus=1");
	step_within(&w, 0);
	tap_eq_i64((int64_t)w.plan.work, 1 + 3 + 1 + 1, "three tasks tried, one placed, two classes looked at");
	world_free(&w);
	world_init(&w);
	node_of(&w, 0, 3, "T4");
	submit(&w, 1, "gpus=1 tasks=8");
	submit(&w, 2, "gpus=1");
	tap_eq_i64(step_within(&w, 4), 0, "the attempt used the budget up");
	tap_ok(!w.plan.complete, "and the step says so");
	tap_eq_i64(step_within(&w, 4), 1, "the next step goes on behind it");
	world_free(&w);
}

/* A small budget reaches every job in the end, and the same placements. */
static void test_budget(void)
{
	for (uint64_t budget = 0; budget <= 4; budget++) {
		struct world w;
		unsigned starts = 0, steps = 0;
		world_init(&w);
		node_of(&w, 0, 3, "T4");
		for (uint64_t j = 1; j <= 6; j++) { /* blocked classes before those that fit */
			char text[32];
			snprintf(text, sizeof text, "gpus=%u", (unsigned)(3 + j));
			submit(&w, j, text);
		}
		submit_prio(&w, 10, "gpus=9", 3);
		for (uint64_t j = 20; j <= 25; j++)
			submit(&w, j, "gpus=1");
		submit_prio(&w, 30, "gpu-share=50%", -1);
		do {
			starts += step_within(&w, budget);
			tap_ok(!budget || w.plan.work <= budget + 1, "the budget is kept");
		} while (!w.plan.complete && ++steps < 100);
		tap_eq_i64(starts, 3, "budget %" PRIu64, budget);
		tap_ok(place_of(&w, 20, 0).node.v == 0 && place_of(&w, 22, 0).node.v == 0, "the same placements");
		tap_ok(steps < 100 && (budget != 1 || steps > 8), "and it ends");
		for (uint64_t j = 1; j <= 6; j++)
			tap_ok(info_of(&w, j).reason == WZ_REASON_RESOURCES ||
			                info_of(&w, j).reason == WZ_REASON_WORK_BUDGET,
			        "a reason");
		step(&w);
		for (uint64_t j = 1; j <= 6; j++)
			tap_eq_i64(info_of(&w, j).reason, WZ_REASON_RESOURCES, "a whole step knows better");
		world_free(&w);
	}
}

static void test_rules(void)
{
	struct world w;
	struct wz_event e = {.kind = WZ_EV_POLICY_SET, .u.policy.name = WZ_STR("worstfit")};
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	tap_eq_i64(world_apply(&w, &e), 0, "another policy");
	tap_eq_str(wz_str(wz_core_policy(w.c, NULL)->name), WZ_STR("worstfit"), "is in force");
	e.u.policy.name = WZ_STR("nonsense");
	tap_eq_i64(world_apply(&w, &e), -ENOENT, "no such policy");
	struct wz_core *c = NULL;
	tap_eq_i64(wz_core_new(&w.f.mem, &(struct wz_core_options){.policy = "nonsense"}, &c, &w.err), -ENOENT,
	        "no such policy");
	struct wz_profile p[2] = {profile(&w, "gpus=1"), profile(&w, "gpus=2")};
	uint32_t weight[2] = {1, 2};
	e = (struct wz_event){
	        .kind = WZ_EV_WORKLOAD_STATED, .u.workload = {.n = 2, .profile = p, .weight = weight}};
	uint64_t before = wz_core_digest(w.c);
	tap_eq_i64(world_apply(&w, &e), 0, "a workload");
	tap_ok(wz_core_digest(w.c) != before, "is state");
	e.u.workload.weight = NULL;
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "without weights");
	e.u.workload.weight = weight;
	p[1].gpus = 65;
	tap_eq_i64(world_apply(&w, &e), -EINVAL, "with a profile out of range");
	e.u.workload.n = 0;
	tap_eq_i64(world_apply(&w, &e), 0, "none");
	tap_ok(wz_core_digest(w.c) == before, "as before");
	for (uint32_t kind = 0; kind < 80;
	        kind++) { /* kinds that later rooms decide on are carried; others are refused */
		bool carried = kind == WZ_EV_SITE_JOINED || kind == WZ_EV_SITE_LEFT ||
		               (kind >= WZ_EV_OFFER_SET && kind <= WZ_EV_SOLUTION);
		bool known = carried || kind == 1 || kind == 2 || (kind >= 12 && kind <= 16) ||
		             (kind >= 30 && kind <= 42) || kind == 50 || kind == 51 || (kind >= 60 && kind <= 65) ||
		             (kind >= 69 && kind <= 72);
		if (known && !carried)
			continue;
		before = wz_core_digest(w.c);
		tap_eq_i64(
		        world_apply(&w, &(struct wz_event){.kind = kind}), carried ? 0 : -EINVAL, "kind %u", kind);
		tap_ok(wz_core_digest(w.c) == before, "kind %u decides nothing", kind);
	}
	world_free(&w);
}

static void test_clock(void)
{
	struct world w;
	world_init(&w);
	at(&w, 10);
	w.now = 5 * SECOND;
	tap_eq_i64(node_of(&w, 0, 1, "T4"), 0, "an event from before");
	tap_eq_i64(wz_core_now(w.c), 10 * SECOND, "the clock does not go back");
	w.now = 20 * SECOND;
	tap_eq_i64(job_event(&w, WZ_EV_JOB_CANCELLED, 1), -ENOENT, "a refused event");
	tap_eq_i64(wz_core_now(w.c), 10 * SECOND, "moves no clock");
	world_free(&w);
}

static void test_malformed_nodes(void)
{
	struct world w;
	struct dev d = {.model = "T4"};
	struct wz_label label[1] = {{WZ_STR("k"), WZ_STR("v")}};
	world_init(&w);
	struct wz_device_facts good = world_facts(&w, &d), f;
	struct wz_ev_node n;
	struct wz_event e;
#define BAD(code, what, ...) \
	do { \
		f = good; \
		n = (struct wz_ev_node){.node = {0}, \
		        .name = WZ_STR("n"), \
		        .cpu_milli = 1000, \
		        .mem_bytes = GI, \
		        .n_devices = 1, \
		        .device = &f}; \
		__VA_ARGS__; \
		e = (struct wz_event){.kind = WZ_EV_NODE_JOINED, .u.node = n}; \
		tap_eq_i64(world_apply(&w, &e), code, what); \
	} while (0)
	BAD(-E2BIG, "id", n.node.v = WZ_NODES_MAX);
	BAD(-E2BIG, "id", n.node.v = WZ_ID_NONE);
	BAD(-EINVAL, "name", n.name.len = 0);
	BAD(-EINVAL, "cpu", n.cpu_milli = -1);
	BAD(-EINVAL, "cpu", n.cpu_milli = WZ_CPU_MILLI_MAX + 1);
	BAD(-EINVAL, "memory", n.mem_bytes = -1);
	BAD(-EINVAL, "memory", n.mem_bytes = WZ_BYTES_MAX + 1);
	BAD(-E2BIG, "devices", n.n_devices = 65);
	BAD(-EINVAL, "no devices", n.device = NULL);
	BAD(-E2BIG, "labels", n.n_labels = 257; n.label = label);
	BAD(-EINVAL, "no labels", n.n_labels = 1);
	BAD(-EINVAL, "model", f.model.v = 999);
	BAD(-EINVAL, "device memory", f.mem_bytes = -1);
	BAD(-EINVAL, "device memory", f.mem_bytes = WZ_BYTES_MAX + 1);
	BAD(-EINVAL, "compute", f.compute_milli = 0);
	BAD(-EINVAL, "compute", f.compute_milli = 1001);
	BAD(-EINVAL, "health", f.health = 3);
	BAD(0, "a good one", n.max_tasks = UINT32_MAX);
	BAD(0, "the same again", n.n_labels = 1; n.label = label);
	world_free(&w);
}

static void test_malformed_jobs(void)
{
	struct world w;
	world_init(&w);
	struct wz_profile good = profile(&w, "gpus=1"), p;
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1");
#define BADJOB(what, ...) \
	do { \
		p = good; \
		__VA_ARGS__; \
		tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, \
		                                   .u.submit = {.job = 9, .profile = &p}}), \
		        -EINVAL, what); \
		tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_EDITED, \
		                                   .u.edit = {.job = 1, .profile = &p}}), \
		        -EINVAL, what " in an edit"); \
	} while (0)
	BADJOB("no tasks", p.tasks_min = 0);
	BADJOB("max below min", p.tasks_min = 2);
	BADJOB("too many tasks", p.tasks_max = WZ_JOB_TASKS_MAX + 1);
	BADJOB("devices", p.gpus = 65);
	BADJOB("share", p.gpus = 0; p.share_milli = 1000);
	BADJOB("both", p.share_milli = 500; p.gpus = 2);
	BADJOB("cpu", p.cpu_milli = (uint64_t)WZ_CPU_MILLI_MAX + 1);
	BADJOB("cpu that is negative as signed", p.cpu_milli = UINT64_MAX);
	BADJOB("memory", p.mem_bytes = UINT64_MAX);
	BADJOB("device memory", p.gpu_mem_bytes = UINT64_MAX);
	BADJOB("total memory", p.gpu_mem_total_bytes = UINT64_MAX);
	BADJOB("cu", p.cu_milli = UINT64_MAX);
	BADJOB("types", p.n_types = 1000);
	BADJOB("link", p.link = (enum wz_link)6);
	BADJOB("free", p.free_pct = 101);
	BADJOB("kind", p.kind = (enum wz_kind)2);
	tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = 9}}),
	        -EINVAL, "no profile");
	tap_eq_i64(submit(&w, 1, "gpus=1"), -EEXIST, "a live job's number");
	tap_eq_i64(run_step(&w), 1, "and the good one starts");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, (enum wz_end)9, false), -EINVAL, "no such end");
	uint64_t before = wz_core_digest(w.c);
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 1, 1, 1, WZ_END_FAILED, false), 0, "no such task");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_ENDED, 8, 0, 1, WZ_END_FAILED, false), 0, "no such job");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_STARTED, 1, 0, 2, 0, false), 0, "no such attempt");
	tap_eq_i64(task_event(&w, WZ_EV_TASK_STARTED, 1, 0, 1, 0, false), 0, "known already");
	tap_ok(wz_core_digest(w.c) == before, "late news of tasks is no error and changes nothing");
	wz_core_free(NULL);
	world_free(&w);
}

/* Memory for the index is bounded: trees come and go, plans do not change. */
static void test_index_bound(void)
{
	struct world w;
	unsigned starts = 0;
	world_init_opt(&w, (struct wz_core_options){.seed = 1, .index_bytes_max_mib = 1});
	for (uint32_t i = 0; i < 600; i++)
		node_like(&w, i, 0, NULL, (struct wz_ev_node){0});
	for (uint64_t j = 1; j <= 260; j++) {
		char text[32];
		snprintf(text, sizeof text, "cpus=%u", (unsigned)(j % 60 + 1));
		struct wz_profile p = profile(&w, text);
		p.mem_bytes = j; /* a shape of its own */
		wz_core_apply(w.c,
		        &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = j, .profile = &p}},
		        NULL);
	}
	starts = step(&w);
	tap_eq_i64(starts, 260, "all fit");
	tap_ok(stats(&w).index_bytes <= (1u << 20) + 8192 && stats(&w).index_bytes > 0, "%" PRIu64 " bytes",
	        stats(&w).index_bytes);
	tap_ok(stats(&w).evaluations > 0 && stats(&w).steps == 1, "statistics");
	world_free(&w);
}

/* A shape that nobody asked for while the log of changes went round must not trust its tree. */
static void test_index_falls_behind(void)
{
	for (unsigned rounds = 5; rounds <= 100; rounds += 5) {
		struct world w;
		uint64_t job = 10;
		world_init(&w);
		node_of(&w, 0, 4, "A10");
		node_of(&w, 1, 1, "T4");
		submit(&w, 9, "cpus=1 tasks=1000"); /* so many arrivals that no epoch begins below */
		job_event(&w, WZ_EV_JOB_CANCELLED, 9);
		submit(&w, 1, "gpus=4 gpu-type=a10");
		tap_eq_i64(run_step(&w), 1, "asked once, and full");
		submit(&w, 2, "gpus=4 gpu-type=a10");
		tap_eq_i64(run_step(&w), 0, "and known as full");
		job_event(&w, WZ_EV_JOB_HELD, 2);
		task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
		for (unsigned i = 0; i < rounds; i++) {
			submit(&w, ++job, "gpus=1 gpu-type=t4");
			tap_eq_i64(run_step(&w), 1, "others come and go");
			task_event(&w, WZ_EV_TASK_ENDED, job, 0, 1, WZ_END_COMPLETED, false);
		}
		job_event(&w, WZ_EV_JOB_RELEASED, 2);
		tap_eq_i64(run_step(&w), 1, "after %u rounds", rounds);
		world_free(&w);
	}
}

/* Nodes that change ranks while their number stays the same. */
static void test_index_new_ranks(void)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		uint32_t chosen[2];
		for (int k = 0; k < 2; k++) {
			struct world w;
			struct wz_profile p;
			uint32_t weight = 1;
			world_init_opt(&w, (struct wz_core_options){.seed = seed, .policy = "fgd", .no_index = k});
			p = profile(&w, "gpus=1");
			world_apply(&w, &(struct wz_event){.kind = WZ_EV_WORKLOAD_STATED,
			                        .u.workload = {.n = 1, .profile = &p, .weight = &weight}});
			for (uint32_t i = 0; i < 6; i++)
				node_of(&w, i, 1, "T4");
			for (uint32_t i = 1; i < 6; i += 2)
				node_ready(&w, i, true, true);
			submit(&w, 1, "gpus=1");
			tap_eq_i64(run_step(&w), 1, "half of the nodes are cordoned");
			node_event(&w, WZ_EV_NODE_LEFT, 0);
			node_of(&w, 6, 1, "T4");
			submit(&w, 4, "gpus=1");
			run_step(&w);
			chosen[k] = place_of(&w, 4, 0).node.v;
			world_free(&w);
		}
		tap_eq_i64(chosen[0], chosen[1], "seed %" PRIu64, seed);
	}
}

/* A policy whose refusals come and go with epochs, and that promises that equal states score alike. */
static bool moody_prepare(void *state, const struct wz_policy_ctx *ctx)
{
	(void)ctx;
	++*(uint32_t *)state;
	return true;
}

static int64_t moody_score(
        const void *state, const struct wz_policy_ctx *ctx, const struct wz_shape *shape, const struct wz_view *v)
{
	uint32_t epoch = *(const uint32_t *)state;
	(void)ctx, (void)shape;
	if ((v->node->gpu_free / 250 + epoch) % 3 == 0)
		return WZ_SCORE_NONE;
	return (int64_t)(v->node->gpu_free * (epoch % 5)) * 1000 - 3 * (int64_t)(v->node->order >> 16);
}

static int64_t moody_weight(const void *state, const struct wz_shape *shape)
{
	(void)state, (void)shape;
	return 3;
}

/* Epochs void scores but not what fits; refusals pass; equal states are scored once: the index changes no choice. */
static void test_index_epochs(void)
{
	static const char *const ask[] = {
	        "gpu-share=25%", "gpus=1", "gpu-share=50% gpu-mem=12Gi", "cpus=9", "gpus=2"};
	struct wz_policy moody = {.name = "moody",
	        .summary = "x",
	        .state_size = sizeof(uint32_t),
	        .prepare = moody_prepare,
	        .score = moody_score,
	        .order_weight = moody_weight};
	uint64_t digest[3] = {0};

	for (unsigned k = 0; k < 3; k++) { /* index and memo, index alone, neither */
		struct world w;
		moody.order_weight = k == 0 ? moody_weight : NULL;
		world_init_opt(&w, (struct wz_core_options){.seed = 5, .custom = &moody, .no_index = k == 2});
		for (uint32_t i = 0; i < 12; i++)
			node_of(&w, i, 1 + i % 3, i % 2 ? "T4" : "A10");
		for (uint64_t job = 1; job <= 160; job++) {
			submit(&w, job, ask[job % WZ_ARRAY_LEN(ask)]);
			run_step(&w);
			if (job > 20)
				task_event(&w, WZ_EV_TASK_ENDED, job - 20, 0, 1, WZ_END_COMPLETED, false);
			digest[k] = digest[k] * 31 + wz_core_digest(w.c);
		}
		world_free(&w);
	}
	tap_ok(digest[0] == digest[2], "with index and memo as without");
	tap_ok(digest[1] == digest[2], "with index as without");
}

/* A long life does not grow the pools. */
static void test_pools(void)
{
	struct world w;
	uint64_t bytes = 0;
	world_init(&w);
	node_of(&w, 0, 8, "T4");
	for (uint64_t j = 1; j <= 400; j++) {
		submit(&w, j, j % 2 ? "gpus=1 tasks=3 time=1h" : "cpus=1");
		run_step(&w);
		job_event(&w, WZ_EV_JOB_CANCELLED, j);
		run_step(&w);
		tap_eq_i64(stats(&w).jobs_live, 0, "gone");
		if (j == 20)
			bytes = w.f.live_bytes;
	}
	tap_eq_i64(w.f.live_bytes, bytes, "bytes after 20 and after 400 jobs");
	world_free(&w);
}

int main(void)
{
	tap_run(test_confirmed);
	tap_run(test_refused);
	tap_run(test_expired);
	tap_run(test_stale);
	tap_run(test_cancel_hold);
	tap_run(test_ends);
	tap_run(test_edit);
	tap_run(test_order);
	tap_run(test_time_limit);
	tap_run(test_gang);
	tap_run(test_gang_settles);
	tap_run(test_together);
	tap_run(test_node_returns);
	tap_run(test_node_ready);
	tap_run(test_shrink_grow);
	tap_run(test_device_fails);
	tap_run(test_observed);
	tap_run(test_count_only);
	tap_run(test_mixed);
	tap_run(test_partitions);
	tap_run(test_links);
	tap_run(test_shares);
	tap_run(test_derived);
	tap_run(test_live_memory);
	tap_run(test_host_reasons);
	tap_run(test_words);
	tap_run(test_budget);
	tap_run(test_budget_counts_what_fails);
	tap_run(test_rules);
	tap_run(test_clock);
	tap_run(test_malformed_nodes);
	tap_run(test_malformed_jobs);
	tap_run(test_index_bound);
	tap_run(test_index_falls_behind);
	tap_run(test_index_new_ranks);
	tap_run(test_index_epochs);
	tap_run(test_pools);
	return tap_done();
}
