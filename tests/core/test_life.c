/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that are told to go, frozen, reported on, or that never begin; room that is held; parameters. */
#include "world.h"

#define CONFIRMED WZ_EV_EFFECT_CONFIRMED
#define REFUSED WZ_EV_EFFECT_REFUSED

static int rules(struct world *w, const char *text)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_RULES_SET, .u.rule_list.text = wz_str(text)});
}

static int report(struct world *w, uint64_t job, uint32_t task, int64_t progress, int64_t checkpoint_s)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_TASK_REPORTED,
	                              .u.report = {.job = job,
	                                      .task = task,
	                                      .progress_milli = progress,
	                                      .checkpoint_us = checkpoint_s * (int64_t)SECOND}});
}

static struct wz_task_work work_of(struct world *w, uint64_t job, uint32_t task)
{
	struct wz_task_work k = {0};
	int r = wz_core_task_work(w->c, job, task, &k);
	tap_eq_i64(r, 0, "task %u of job %" PRIu64 " is placed", task, job);
	return k;
}

/* The state survives a snapshot, and both decide the same next. */
static void reborn(struct world *w)
{
	struct wz_core *c = NULL;
	struct wz_buf b;
	bool same = false;
	wz_buf_init(&b, &w->f.mem, 1u << 20);
	tap_eq_i64(wz_core_export(w->c, &b, &w->err), 0, "%s: writes its state", w->at);
	tap_eq_i64(wz_core_import(&w->f.mem, NULL, wz_buf_str(&b), &c, &same, &w->err), 0, "%s: reads it: %s",
	        w->at, w->err.text);
	tap_require(c != NULL && same, "it is the same");
	tap_ok(wz_core_digest(c) == wz_core_digest(w->c), "with the same digest");
	wz_core_free(w->c);
	w->c = c;
	world_check(w);
	wz_buf_release(&b);
}

static void test_backoff(void)
{
	static const uint64_t pause[] = {5, 10, 20, 40, 60, 60};
	struct world w;
	uint64_t now = 0;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	tap_eq_i64(rules(&w, "launch-backoff-max-us=60000000 launch-failures-max=7"), 0, "rules");
	submit(&w, 1, "gpus=1");
	for (unsigned i = 0; i < 6; i++) {
		tap_eq_i64(step(&w), 1, "attempt %u", i + 1);
		ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 0));
		struct wz_job_info x = info_of(&w, 1);
		tap_eq_i64(x.launch_failures, i + 1, "failures in a row");
		tap_eq_i64(x.not_before_us, (now + pause[i]) * SECOND, "pause %u", i);
		tap_eq_i64(wz_core_next_deadline(w.c), x.not_before_us, "is a deadline");
		tap_eq_i64(why(&w, 1).main, WZ_REASON_LAUNCH_BACKOFF, "and the reason");
		tap_eq_i64(stats(&w).jobs_waiting, 1, "it waits");
		w.at = "a pause";
		reborn(&w);
		tap_eq_i64(step(&w), 0, "not yet");
		now += pause[i];
		at(&w, now);
	}
	/* Released from a hold within the pause it goes on pausing; an edit changes nothing about it. */
	step(&w);
	ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 1, 0));
	tap_eq_i64(state_of(&w, 1), -1, "the seventh ends it");
	struct wz_ended end = {0};
	tap_ok(wz_core_ended(w.c, 0, &end) == 0 && end.job == 1 && end.end == WZ_END_LAUNCH_FAILED,
	        "with its reason");
	submit(&w, 2, "gpus=1");
	step(&w);
	ack(&w, REFUSED, plan_id(&w, WZ_EF_START, 2, 0));
	job_event(&w, WZ_EV_JOB_HELD, 2);
	tap_eq_i64(wz_core_next_deadline(w.c), -1, "a held job waits for a person");
	job_event(&w, WZ_EV_JOB_RELEASED, 2);
	tap_eq_i64(info_of(&w, 2).reason, WZ_REASON_LAUNCH_BACKOFF, "released, it still pauses");
	now += 5;
	at(&w, now);
	tap_eq_i64(run_step(&w), 1, "then it starts");
	tap_eq_i64(info_of(&w, 2).launch_failures, 0, "and nothing is held against it");
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, info_of(&w, 2).attempt, WZ_END_LAUNCH_FAILED, true);
	job_event(&w, WZ_EV_JOB_CANCELLED, 2);
	tap_eq_i64(state_of(&w, 2), -1, "cancelled in its pause");
	tap_ok(wz_core_ended(w.c, 0, &end) == 0 && end.end == WZ_END_CANCELLED, "and so it ended");
	tap_eq_i64(wz_core_ended(w.c, 1, &end), -ENOENT, "once");
	tap_eq_i64(wz_core_next_deadline(w.c), -1, "nothing is left of it");
	world_free(&w);
}

static void test_reports(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=2 preempt=signal:USR1,grace:20s,ack:file");
	tap_eq_i64(report(&w, 1, 0, 5, 0), 0, "of a job that waits: nothing");
	at(&w, 10);
	run_step(&w);
	tap_eq_i64(work_of(&w, 1, 1).started_us, 10 * SECOND, "when it began");
	at(&w, 50);
	uint64_t before = wz_core_digest(w.c);
	tap_eq_i64(report(&w, 1, 0, 250, 40), 0, "a report");
	tap_ok(wz_core_digest(w.c) != before, "is state");
	tap_eq_i64(work_of(&w, 1, 0).checkpoint_us, 40 * SECOND, "its checkpoint");
	tap_eq_i64(work_of(&w, 1, 0).progress_milli, 250, "its progress");
	tap_eq_i64(work_of(&w, 1, 1).checkpoint_us, 0, "of one task only");
	report(&w, 1, 0, 300, 30);
	tap_eq_i64(work_of(&w, 1, 0).checkpoint_us, 40 * SECOND, "an older one comes late");
	report(&w, 1, 1, 300, 5);
	tap_eq_i64(work_of(&w, 1, 1).checkpoint_us, 0, "one of before it began is of another attempt");
	report(&w, 1, 0, 300, 5000);
	tap_eq_i64(work_of(&w, 1, 0).checkpoint_us, 50 * SECOND, "the future is now");
	tap_eq_i64(report(&w, 1, 0, -1, 0), -EINVAL, "no progress is negative");
	tap_eq_i64(report(&w, 1, 0, 0, -1), -EINVAL, "nor a time");
	tap_eq_i64(report(&w, 1, 9, 0, 1), 0, "no such task");
	tap_eq_i64(report(&w, 9, 0, 0, 1), 0, "no such job");
	w.at = "reports";
	reborn(&w);
	tap_eq_i64(work_of(&w, 1, 0).progress_milli, 300, "the snapshot has them");
	world_free(&w);
}

/* JOB_REQUEUED of a job with a contract: warned, and stopped when it does not answer. */
static void test_requeue(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=2 preempt=signal:USR1,grace:20s,ack:file");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_REQUEUED, 1), 0, "one that waits");
	tap_eq_i64(info_of(&w, 1).attempt, 1, "stays as it is");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_REQUEUED, 7), -ENOENT, "no such job");
	run_step(&w);
	job_event(&w, WZ_EV_JOB_REQUEUED, 1);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "its attempt ends");
	w.at = "before the warning";
	reborn(&w);
	step(&w);
	const struct wz_effect *e = plan_find(&w, WZ_EF_PREEMPT, 1, 1);
	tap_require(
	        e && e->reason == WZ_END_PREEMPTED && e->deadline_us == 50 * SECOND, "a warning with its grace");
	tap_eq_i64(step(&w), 0, "once");
	tap_eq_i64(w.plan.n, 0, "and no more");
	uint64_t first = e->id - 1, second = e->id;
	w.at = "warned";
	reborn(&w);
	ack(&w, CONFIRMED, first);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "one is still there");
	at(&w, 50);
	step(&w);
	tap_eq_i64(w.plan.n, 1, "the other did not answer");
	tap_ok(plan_find(&w, WZ_EF_STOP, 1, 1) != NULL, "so it is stopped");
	tap_eq_i64(ack(&w, CONFIRMED, second), 0, "a late answer");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "to the warning says nothing of the stop");
	confirm_plan(&w);
	tap_eq_i64(info_of(&w, 1).attempt, 2, "another attempt");
	tap_eq_i64(info_of(&w, 1).preempted, 0, "it was asked for, not evicted");
	tap_eq_i64(run_step(&w), 2, "runs");
	/* Refused: there is no way to warn it. */
	job_event(&w, WZ_EV_JOB_REQUEUED, 1);
	step(&w);
	ack(&w, REFUSED, plan_id(&w, WZ_EF_PREEMPT, 1, 0));
	task_event(&w, WZ_EV_TASK_ENDED, 1, 1, 2, WZ_END_PREEMPTED, true);
	step(&w);
	tap_ok(w.plan.n == 1 && plan_find(&w, WZ_EF_STOP, 1, 0), "is stopped");
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	confirm_plan(&w);
	tap_eq_i64(state_of(&w, 1), -1, "a cancel wins");
	/* Without a contract there is nothing to warn with. */
	submit(&w, 2, "gpus=1");
	run_step(&w);
	job_event(&w, WZ_EV_JOB_REQUEUED, 2);
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_STOP, 2, 0) != NULL, "a plain stop");
	confirm_plan(&w);
	tap_eq_i64(state_of(&w, 2), WZ_JOB_WAITING, "and it waits again");
	world_free(&w);
}

static struct wz_effect preempt(struct world *w, uint64_t job, uint32_t task, uint32_t reason)
{
	struct wz_core_stats s = stats(w);
	return (struct wz_effect){.kind = WZ_EF_PREEMPT,
	        .id = s.effects + 1,
	        .deadline_us = w->now + 30 * SECOND,
	        .job = job,
	        .task = task,
	        .attempt = info_of(w, job).attempt,
	        .reason = reason};
}

static void test_preempt(void)
{
	struct world w;
	struct wz_effect e;
	world_init(&w);
	node_of(&w, 0, 8, "T4");
	submit(&w, 1, "gpus=1 tasks=2..4 preempt=movable");
	submit(&w, 2, "gpus=1");
	run_step(&w);
	e = preempt(&w, 2, 0, WZ_END_PREEMPTED);
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "what never said so is not preempted");
	e = preempt(&w, 1, 0, WZ_END_TIMEOUT);
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "nor for another end");
	/* One task of an elastic job: the job goes on. */
	for (uint32_t t = 0; t < 2; t++) {
		e = preempt(&w, 1, t, 0);
		tap_eq_i64(apply_effect(&w, &e), 0, "one task");
	}
	e = preempt(&w, 1, 2, 0);
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "not below its minimum");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "it runs on");
	w.at = "a task given up";
	reborn(&w);
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(info_of(&w, 1).tasks_placed, 3, "the task is gone");
	tap_eq_i64(ack(&w, CONFIRMED, stats(&w).effects), 0, "confirmed");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 2, "the other too");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "two are enough");
	/* The whole job, through one effect: what it did not name yet is wanted. */
	e = preempt(&w, 1, 2, WZ_END_PREEMPTED);
	tap_eq_i64(apply_effect(&w, &e), 0, "all of it");
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "ends");
	tap_eq_i64(info_of(&w, 1).preempted, 1, "is counted");
	step(&w);
	tap_ok(w.plan.n == 1 && plan_find(&w, WZ_EF_PREEMPT, 1, 3), "the other one is warned by the next step");
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	tap_eq_i64(info_of(&w, 1).attempt, 2, "its node is lost in the middle: another attempt");
	world_free(&w);
}

static void test_suspend(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=2 time=100s");
	tap_eq_i64(job_event(&w, WZ_EV_JOB_SUSPENDED, 1), 0, "one that waits");
	tap_ok(!info_of(&w, 1).suspended, "is not suspended");
	run_step(&w);
	at(&w, 30);
	job_event(&w, WZ_EV_JOB_SUSPENDED, 1);
	tap_ok(info_of(&w, 1).suspended && state_of(&w, 1) == WZ_JOB_RUNNING, "suspended");
	tap_eq_i64(wz_core_next_deadline(w.c), -1, "its clock stands still");
	w.at = "suspended";
	reborn(&w);
	step(&w);
	tap_eq_i64(w.plan.n, 2, "both are asked to freeze");
	uint64_t one = plan_id(&w, WZ_EF_SUSPEND, 1, 0), two = plan_id(&w, WZ_EF_SUSPEND, 1, 1);
	ack(&w, CONFIRMED, one);
	tap_ok(work_of(&w, 1, 0).frozen && !work_of(&w, 1, 1).frozen, "one is");
	w.at = "half frozen";
	reborn(&w);
	at(&w, 60);
	step(&w);
	tap_ok(w.plan.n == 1 && plan_find(&w, WZ_EF_SUSPEND, 1, 1), "the other is asked again after its deadline");
	tap_ok(plan_id(&w, WZ_EF_SUSPEND, 1, 1) != two, "under another id");
	confirm_plan(&w);
	tap_eq_i64(stats(&w).gpu_milli_held, 2000, "the devices stay held");
	tap_eq_i64(step(&w), 0, "nothing more to do");
	at(&w, 1000);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "long after its limit");
	job_event(&w, WZ_EV_JOB_RESUMED, 1);
	job_event(&w, WZ_EV_JOB_RESUMED, 1);
	step(&w);
	tap_ok(w.plan.n == 2 && plan_find(&w, WZ_EF_RESUME, 1, 0), "both are thawed");
	confirm_plan(&w);
	tap_ok(!work_of(&w, 1, 1).frozen, "run");
	tap_eq_i64(wz_core_next_deadline(w.c), 1070 * SECOND, "with the 70 seconds that were left");
	/* What cannot be frozen runs on, all of it. */
	job_event(&w, WZ_EV_JOB_SUSPENDED, 1);
	step(&w);
	ack(&w, CONFIRMED, plan_id(&w, WZ_EF_SUSPEND, 1, 0));
	ack(&w, REFUSED, plan_id(&w, WZ_EF_SUSPEND, 1, 1));
	tap_ok(!info_of(&w, 1).suspended, "not suspended after all");
	step(&w);
	tap_ok(w.plan.n == 1 && plan_find(&w, WZ_EF_RESUME, 1, 0), "the other is thawed");
	/* Frozen work can be cancelled; a stop takes the place of what is in flight. */
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_STOP, 1, 0) && plan_find(&w, WZ_EF_STOP, 1, 1), "stopped");
	confirm_plan(&w);
	tap_eq_i64(state_of(&w, 1), -1, "gone");
	/* Suspended before it runs: the limit has not begun. */
	submit(&w, 2, "gpus=1 time=50s");
	step(&w);
	job_event(&w, WZ_EV_JOB_SUSPENDED, 2);
	confirm_plan(&w);
	run_step(&w);
	at(&w, 2000);
	job_event(&w, WZ_EV_JOB_RESUMED, 2);
	run_step(&w);
	tap_eq_i64(wz_core_next_deadline(w.c), 2050 * SECOND, "all of its limit");
	world_free(&w);
}

static struct wz_effect hold_of(struct world *w, uint64_t job, struct wz_place p, uint64_t until_s)
{
	return (struct wz_effect){.kind = WZ_EF_HOLD,
	        .id = stats(w).effects + 1,
	        .deadline_us = until_s * SECOND,
	        .job = job,
	        .attempt = info_of(w, job).attempt,
	        .place = p};
}

static const struct wz_place both = {.node = {0}, .devices = 3, .cpu = 4000, .dev_milli = 1000, .dev_mem = -1};

static void test_hold(void)
{
	struct world w;
	struct wz_effect e;
	world_init(&w);
	rules(&w, "evict-jobs=0"); /* by hand */
	node_of(&w, 0, 2, "T4");
	submit_prio(&w, 1, "gpus=2 cpus=4 preempt=movable", 0);
	run_step(&w);
	submit_prio(&w, 2, "gpus=2 cpus=4", 5);
	submit_prio(&w, 3, "gpus=1", 9);
	run_step(&w);
	e = hold_of(&w, 2, both, 40);
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "nobody goes: there is nothing to hold");
	e = preempt(&w, 1, 0, WZ_END_PREEMPTED);
	tap_eq_i64(apply_effect(&w, &e), 0, "job 1 is told to go");
	uint64_t told = e.id;
	e = hold_of(&w, 2, both, UINT64_MAX / SECOND + 1);
	e.deadline_us = UINT64_MAX;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a hold has a deadline");
	e = hold_of(&w, 2, both, 40);
	tap_eq_i64(apply_effect(&w, &e), 0, "its room is held for job 2");
	tap_eq_i64(info_of(&w, 2).reason, WZ_REASON_MAKING_ROOM, "which says so");
	tap_eq_i64(why(&w, 2).main, WZ_REASON_MAKING_ROOM, "when asked, too");
	tap_eq_i64(wz_core_next_deadline(w.c), 30 * SECOND, "deadlines");
	struct wz_effect again = hold_of(&w, 3, both, 40);
	tap_eq_i64(apply_effect(&w, &again), -ESTALE, "and for nobody else");
	w.at = "a hold on room that is being given up";
	reborn(&w);
	tap_eq_i64(step(&w), 0, "job 1 is still there");
	ack(&w, CONFIRMED, told);
	tap_eq_i64(stats(&w).gpu_milli_kept, 2000, "kept");
	tap_eq_i64(stats(&w).gpu_milli_held, 0, "not held by tasks");
	tap_eq_i64(why(&w, 3).main, WZ_REASON_BUSY, "job 3 does not get it, though it goes first");
	w.at = "a hold on free room";
	reborn(&w);
	tap_eq_i64(step(&w), 1, "one starts");
	tap_ok(plan_find(&w, WZ_EF_UNHOLD, 2, 0) && plan_find(&w, WZ_EF_START, 2, 0), "job 2, in its room");
	tap_eq_i64(stats(&w).gpu_milli_kept, 0, "nothing is kept any more");
	confirm_plan(&w);
	world_free(&w);
}

/* How a hold ends: by its deadline, with its beneficiary, by facts. Then the room is everybody's. */
static void test_hold_ends(void)
{
	for (int how = 0; how < 7; how++) {
		struct world w;
		struct wz_effect e;
		world_init(&w);
		node_of(&w, 0, 2, "T4");
		submit(&w, 1, "gpus=2 cpus=4 mem=1Ti"); /* more memory than there is: it cannot use what is held */
		e = hold_of(&w, 1, both, 40);
		tap_eq_i64(apply_effect(&w, &e), 0, "free room is held");
		submit(&w, 2, "gpus=1");
		tap_eq_i64(step(&w), 0, "for job 1");
		switch (how) {
		case 0:
			at(&w, 40);
			break;
		case 1:
			job_event(&w, WZ_EV_JOB_CANCELLED, 1);
			break;
		case 2:
			job_event(&w, WZ_EV_JOB_HELD, 1);
			break;
		case 3:
			observed(&w, 9,
			        (struct wz_place){.node = {0}, .devices = 1, .dev_milli = 500, .dev_mem = -1});
			break;
		case 4:
			device_changed(&w, 0, 1, (struct dev){.model = "T4", .health = WZ_HEALTH_FAILED});
			break;
		case 5:
			node_event(&w, WZ_EV_NODE_LEFT, 0);
			node_of(&w, 0, 2, "T4");
			break;
		default:
			e = (struct wz_effect){
			        .kind = WZ_EF_UNHOLD, .id = stats(&w).effects + 1, .job = 1, .attempt = 1};
			tap_eq_i64(apply_effect(&w, &e), 0, "given up");
			e.id++;
			tap_eq_i64(apply_effect(&w, &e), -ESTALE, "once");
		}
		tap_eq_i64(stats(&w).gpu_milli_kept, 0, "way %d: nothing is kept", how);
		tap_eq_i64(step(&w), 1, "way %d: job 2 starts", how);
		world_free(&w);
	}
}

/* A second hold for the same task replaces the first; another task has one of its own. */
static void test_hold_moves(void)
{
	struct world w;
	struct wz_effect e;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	node_of(&w, 1, 2, "T4");
	submit(&w, 1, "gpus=2 cpus=4 tasks=2 mem=1Ti");
	e = hold_of(&w, 1, both, 40);
	tap_eq_i64(apply_effect(&w, &e), 0, "a place");
	e = hold_of(&w, 1, both, 90);
	tap_eq_i64(apply_effect(&w, &e), 0, "the same for longer");
	tap_eq_i64(wz_core_next_deadline(w.c), 90 * SECOND, "one deadline");
	tap_eq_i64(stats(&w).gpu_milli_kept, 2000, "once");
	e = hold_of(&w, 1, both, 90);
	e.task = 1;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "the same room for another task");
	e.place.node.v = 1;
	tap_eq_i64(apply_effect(&w, &e), 0, "another room");
	tap_eq_i64(stats(&w).gpu_milli_kept, 4000, "twice");
	e.place.devices = 7;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "of an id that was used");
	e.id = stats(&w).effects + 1;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a device that is not there");
	w.at = "two holds";
	reborn(&w);
	struct wz_flight_info f[4];
	tap_eq_i64(wz_core_flights(w.c, f, 4), 0, "no body has to answer for holds");
	tap_eq_i64(ack(&w, CONFIRMED, stats(&w).effects), 0, "who does all the same");
	tap_eq_i64(stats(&w).gpu_milli_kept, 4000, "changes nothing");
	world_free(&w);
}

static void test_checkpoint(void)
{
	struct world w;
	struct wz_effect e;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	submit(&w, 1, "gpus=1 preempt=signal:USR1,interval:10m");
	run_step(&w);
	e = preempt(&w, 1, 0, 0);
	e.kind = WZ_EF_CHECKPOINT;
	tap_eq_i64(apply_effect(&w, &e), 0, "asked for");
	w.at = "a checkpoint is asked for";
	reborn(&w);
	at(&w, 20);
	ack(&w, CONFIRMED, e.id);
	tap_eq_i64(work_of(&w, 1, 0).checkpoint_us, 20 * SECOND, "taken");
	e.id = stats(&w).effects + 1;
	e.deadline_us = 30 * SECOND;
	tap_eq_i64(apply_effect(&w, &e), 0, "again");
	at(&w, 30);
	tap_eq_i64(work_of(&w, 1, 0).checkpoint_us, 20 * SECOND, "nobody answered: it runs on with the old one");
	tap_eq_i64(wz_core_next_deadline(w.c), -1, "nothing is awaited");
	world_free(&w);
}

static void test_rules(void)
{
	struct world w;
	int64_t v = 0;
	world_init(&w);
	uint64_t usual = wz_core_digest(w.c);
	tap_eq_i64(rules(&w, "launch-failures-max=3  preempt-margin-us=2000000"), 0, "two rules");
	tap_ok(wz_core_digest(w.c) != usual, "are state");
	tap_ok(wz_core_rule(w.c, WZ_STR("launch-failures-max"), &v) == 0 && v == 3, "can be read");
	tap_eq_i64(wz_core_rule(w.c, WZ_STR("colour"), &v), -ENOENT, "no such rule");
	w.at = "rules";
	reborn(&w);
	tap_eq_i64(rules(&w, "launch-failures-max=4 colour=3"), -ENOENT, "all or nothing");
	tap_ok(wz_core_rule(w.c, WZ_STR("launch-failures-max"), &v) == 0 && v == 3, "nothing");
	tap_eq_i64(rules(&w, "launch-failures-max=-1"), -ERANGE, "out of range");
	tap_eq_i64(rules(&w, "launch-failures-max"), -EINVAL, "no number");
	tap_eq_i64(rules(&w, "launch-failures-max=x"), -EINVAL, "not a number");
	tap_eq_i64(rules(&w, ""), 0, "none");
	tap_eq_i64(rules(&w, "launch-failures-max=10 preempt-margin-us=30000000"), 0, "the usual values");
	tap_ok(wz_core_digest(w.c) == usual, "leave no trace");
	world_free(&w);
}

int main(void)
{
	tap_run(test_backoff);
	tap_run(test_reports);
	tap_run(test_requeue);
	tap_run(test_preempt);
	tap_run(test_suspend);
	tap_run(test_hold);
	tap_run(test_hold_ends);
	tap_run(test_hold_moves);
	tap_run(test_checkpoint);
	tap_run(test_rules);
	return tap_done();
}
