/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs: sets of tasks, places they stay together in, fewer than wanted, more later, losses, another number. */
#include "core/core_int.h"
#include "world.h"

#define CONFIRMED WZ_EV_EFFECT_CONFIRMED

/* ---- sets of tasks ---- */

struct set {
	const char *name, *profile, *labels, *constraint;
};

static int submit_sets(struct world *w, uint64_t job, const char *whole, uint32_t n, const struct set *set)
{
	struct wz_profile p = profile(w, whole), each[WZ_JOB_SETS_MAX];
	struct wz_ev_set s[WZ_JOB_SETS_MAX];
	struct wz_label label[WZ_JOB_SETS_MAX][4];
	for (uint32_t i = 0; i < n; i++) {
		each[i] = profile(w, set[i].profile);
		s[i] = (struct wz_ev_set){.name = wz_str(set[i].name),
		        .profile = &each[i],
		        .n_labels = labels_of(set[i].labels, label[i]),
		        .label = label[i],
		        .constraint = wz_str(set[i].constraint)};
	}
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                              .u.submit = {.job = job, .profile = &p, .n_sets = n, .set = s}});
}

static void test_sets(void)
{
	static const struct set job[] = {{.name = "launcher", .profile = "cpus=60"},
	        {.name = "worker", .profile = "gpus=4 cpus=8 tasks=4..8"}};
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 4; n++)
		node_of(&w, n, 4, "T4");
	tap_eq_i64(submit_sets(&w, 1, "time=1h", 2, job), 0, "a launcher and workers");
	tap_eq_i64(step(&w), 0, "four workers leave no CPUs for the launcher");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_GANG, "all or nothing");
	tap_eq_i64(stats(&w).gpu_milli_held, 0, "nothing is held");
	node_of(&w, 4, 0, "T4");
	world_restart(&w);
	tap_eq_i64(run_step(&w), 5, "with a node for it they start together");
	tap_eq_i64(place_of(&w, 1, 0).node.v, 4, "the launcher is task 0");
	tap_eq_i64((int64_t)place_of(&w, 1, 0).devices, 0, "and has no devices");
	for (uint32_t t = 1; t <= 4; t++)
		tap_eq_i64(__builtin_popcountll(place_of(&w, 1, t).devices), 4, "worker %u has four", t);
	tap_eq_i64(info_of(&w, 1).tasks_max, 9, "nine at most");
	for (uint32_t n = 5; n < 8; n++)
		node_of(&w, n, 4, "T4");
	world_restart(&w);
	tap_eq_i64(run_step(&w), 3, "three more workers when there is room");
	tap_ok(plan_find(&w, WZ_EF_RESIZE, 1, 8) != NULL, "it is told that it has eight tasks");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 3, 1, WZ_END_FAILED, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "a worker less is enough");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, true);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "no launcher is not, though seven others are there");
	world_free(&w);
}

static void test_set_errors(void)
{
	static const struct set twice[] = {{.name = "a", .profile = "cpus=1"}, {.name = "a", .profile = "cpus=2"}};
	static const struct set large[] = {
	        {.name = "a", .profile = "tasks=65536"}, {.name = "b", .profile = "cpus=1"}};
	static const struct set bad[] = {{.name = "a", .profile = "cpus=1", .constraint = "node: ("}};
	static const struct set blank[] = {{.name = "a b", .profile = "cpus=1"}};
	static const struct set good[] = {
	        {.name = "a", .profile = "cpus=1"}, {.name = "b", .profile = "cpus=1 tasks=2..4"}};
	struct world w;
	world_init(&w);
	node_of(&w, 0, 1, "T4");
	tap_eq_i64(submit_sets(&w, 1, "", 2, twice), -EINVAL, "two of one name");
	tap_eq_i64(submit_sets(&w, 1, "", 2, large), -EINVAL, "too many tasks");
	tap_eq_i64(submit_sets(&w, 1, "", 1, bad), -EINVAL, "a constraint that cannot be read");
	tap_eq_i64(submit_sets(&w, 1, "", 1, blank), -EINVAL, "a name that is none");
	tap_eq_i64(submit_sets(&w, 1, "", 2, good), 0, "good ones");
	tap_eq_i64(resize(&w, 1, "", 1, 1), -ENOENT, "which set?");
	tap_eq_i64(resize(&w, 1, "c", 1, 1), -ENOENT, "not this one");
	tap_eq_i64(resize(&w, 1, "b", 2, 5), -EINVAL, "more than it was submitted with");
	tap_eq_i64(resize(&w, 1, "b", 3, 2), -EINVAL, "backwards");
	tap_eq_i64(resize(&w, 1, "b", 1, 3), 0, "less");
	tap_eq_i64(info_of(&w, 1).tasks_max, 4, "one and three");
	tap_eq_i64(resize(&w, 2, "", 1, 1), -ENOENT, "no such job");
	tap_eq_i64(run_step(&w), 4, "they start");
	tap_eq_i64(resize(&w, 1, "b", 1, 1), 0, "one b is enough");
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_RESIZE, 1, 2) != NULL, "two tasks from now on");
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_STOP, 1, 3) && plan_find(&w, WZ_EF_STOP, 1, 2) &&
	                !plan_find(&w, WZ_EF_STOP, 1, 1),
	        "the last two of b stop");
	confirm_plan(&w);
	world_restart(&w);
	tap_eq_i64(resize(&w, 1, "b", 1, 4), 0, "and back");
	tap_eq_i64(run_step(&w), 3, "with the same numbers");
	world_free(&w);
}

static void test_sets_ask(void)
{
	static const struct set job[] = {{.name = "ps",
	                                         .profile = "cpus=1 tasks=2",
	                                         .labels = "role=ps",
	                                         .constraint = "apart: role=ps per node"},
	        {.name = "worker",
	                .profile = "gpus=1 tasks=2",
	                .labels = "role=worker",
	                .constraint = "near: role=ps per node"}};
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 3; n++)
		node_of(&w, n, 1, "T4");
	tap_eq_i64(submit_sets(&w, 1, "", 2, job), 0, "servers apart, workers near them");
	tap_eq_i64(run_step(&w), 4, "start in one transaction");
	tap_ok(place_of(&w, 1, 0).node.v != place_of(&w, 1, 1).node.v, "the servers apart");
	for (uint32_t t = 2; t < 4; t++)
		tap_ok(place_of(&w, 1, t).node.v == place_of(&w, 1, 0).node.v ||
		                place_of(&w, 1, t).node.v == place_of(&w, 1, 1).node.v,
		        "worker %u near one", t);
	world_free(&w);
	world_init(&w);
	for (uint32_t n = 0; n < 3; n++)
		node_of(&w, n, 1, "T4");
	submit_asking(&w, 1, "cpus=1 tasks=2", "role=ps", "apart: role=ps per node");
	submit_asking(&w, 2, "gpus=1 tasks=2", "role=worker", "near: role=ps per node");
	tap_eq_i64(run_step(&w), 4, "as jobs of their own they start in one step");
	tap_ok(place_of(&w, 1, 0).node.v != place_of(&w, 1, 1).node.v, "the servers apart");
	for (uint32_t t = 0; t < 2; t++)
		tap_ok(place_of(&w, 2, t).node.v == place_of(&w, 1, 0).node.v ||
		                place_of(&w, 2, t).node.v == place_of(&w, 1, 1).node.v,
		        "worker %u near one", t);
	world_free(&w);
}

/* ---- together ---- */

static void test_tightest_place(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 12; n++)
		node_labelled(&w, n, 1,
		        n < 6    ? "big"
		        : n < 10 ? "fit"
		                 : "small",
		        n < 6 ? "block=x" : "block=y", NULL);
	submit(&w, 1, "gpus=1 tasks=4 link=rack");
	tap_eq_i64(run_step(&w), 4, "four");
	for (uint32_t t = 0; t < 4; t++)
		tap_ok(place_of(&w, 1, t).node.v >= 6 && place_of(&w, 1, t).node.v < 10,
		        "in the rack that they fill");
	submit(&w, 2, "gpus=1 tasks=3..8 link=rack");
	tap_eq_i64(run_step(&w), 6, "as many as the roomiest has");
	submit(&w, 3, "gpus=1 tasks=3 link~rack");
	tap_eq_i64(step(&w), 0, "preferred or not, three are not there");
	submit(&w, 4, "gpus=1 tasks=2 link~rack");
	tap_eq_i64(run_step(&w), 2, "two are");
	world_free(&w);
}

static void test_levels(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 8; n++)
		node_labelled(&w, n, 1, (const char *[]){"r0", "r1", "r2", "r3"}[n / 2],
		        n < 4 ? "block=x" : "block=y", NULL);
	submit_asking(&w, 1, "gpus=1 tasks=5", NULL, "together: block");
	tap_eq_i64(step(&w), 0, "no block has five");
	struct wz_explanation x = why(&w, 1);
	tap_eq_i64(x.main, WZ_REASON_TOPOLOGY, "which is told");
	tap_eq_i64(x.place_fits, 4, "with how many the best holds");
	tap_ok(strcmp(x.place, "x") == 0 || strcmp(x.place, "y") == 0, "and its name, %s", x.place);
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	submit_asking(&w, 2, "gpus=1 tasks=2", NULL, "together: block; together~: rack");
	tap_eq_i64(run_step(&w), 2, "two fit a rack");
	tap_ok(place_of(&w, 2, 0).node.v / 2 == place_of(&w, 2, 1).node.v / 2, "and are in one");
	submit_asking(&w, 3, "gpus=1 tasks=3", NULL, "together: block; together~: rack");
	tap_eq_i64(run_step(&w), 3, "three do not fit a rack");
	tap_ok(place_of(&w, 3, 0).node.v / 4 == place_of(&w, 3, 1).node.v / 4 &&
	                place_of(&w, 3, 0).node.v / 4 == place_of(&w, 3, 2).node.v / 4,
	        "but a block");
	tap_eq_i64(submit_asking(&w, 4, "gpus=1 tasks=2 link=rack", NULL, "together: block"), -EINVAL,
	        "two required places");
	tap_eq_i64(submit_asking(&w, 4, "gpus=1 tasks=2 link~rack", NULL, "together: block"), 0,
	        "one preferred is well");
	world_free(&w);
}

/* A lost task comes back under the same rack, also after a restart and when another rack has more room. */
static void test_same_place(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 4; n++)
		node_labelled(&w, n, 1, "r0", NULL, NULL);
	submit(&w, 1, "gpus=1 tasks=2..3 link=rack");
	tap_eq_i64(run_step(&w), 3, "three of four");
	for (uint32_t n = 4; n < 12; n++)
		node_labelled(&w, n, 1, "r1", NULL, NULL);
	uint32_t node = place_of(&w, 1, 2).node.v;
	node_event(&w, WZ_EV_NODE_LEFT, node);
	world_restart(&w);
	tap_eq_i64(run_step(&w), 1, "it is replaced");
	tap_ok(place_of(&w, 1, 2).node.v < 4 && place_of(&w, 1, 2).node.v != node,
	        "under the same rack, on its last node");
	node_event(&w, WZ_EV_NODE_LEFT, place_of(&w, 1, 2).node.v);
	tap_eq_i64(run_step(&w), 0, "then there is no room there, though r1 is empty");
	node_labelled(&w, node, 1, "r0", NULL, NULL);
	tap_eq_i64(run_step(&w), 1, "until a node comes back");
	tap_eq_i64(place_of(&w, 1, 2).node.v, node, "in that rack");
	world_free(&w);
}

/* Which nodes left before a restart does not decide which rack is taken after it. */
static void test_rack_after_restart(void)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world a;
		uint64_t before, after;
		world_init_opt(&a, (struct wz_core_options){.seed = seed});
		for (uint32_t n = 0; n < 12; n++)
			node_labelled(&a, n, 1, (const char *[]){"r0", "r1", "r2"}[n % 3], NULL, NULL);
		step(&a); /* all are ranked */
		for (uint32_t n = 0; n < 6; n++)
			node_event(&a, WZ_EV_NODE_LEFT, n);
		submit(&a, 1, "gpus=1 tasks=2 link=rack");
		decide_within(&a, 0);
		before = a.plan.n ? a.plan.effect[0].place.node.v : 99;
		world_restart(&a);
		decide_within(&a, 0);
		after = a.plan.n ? a.plan.effect[0].place.node.v : 99;
		tap_eq_i64((int64_t)after, (int64_t)before, "seed %" PRIu64 ": the same place", seed);
		world_free(&a);
	}
}

/* ---- fewer, and more later ---- */

static void test_top_up(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 3, "T4");
	submit(&w, 1, "gpus=1 tasks=2..6");
	tap_eq_i64(run_step(&w), 3, "it starts with what there is");
	tap_eq_i64(step(&w), 0, "and is content");
	tap_eq_i64(w.plan.n, 0, "told nothing");
	submit(&w, 2, "gpus=2");
	submit_prio(&w, 3, "gpus=1", -1);
	tap_eq_i64(step(&w), 0, "full");
	node_of(&w, 1, 4, "T4");
	tap_eq_i64(run_step(&w), 3, "four more devices: one task of two, two of one");
	tap_eq_i64(state_of(&w, 2), WZ_JOB_RUNNING, "the job that waits at the same priority goes before growth");
	tap_eq_i64(info_of(&w, 1).tasks_placed, 5, "which goes before a lower priority");
	tap_eq_i64(state_of(&w, 3), WZ_JOB_WAITING, "that has to wait");
	tap_ok(plan_find(&w, WZ_EF_RESIZE, 1, 5) != NULL, "it has five tasks now");
	tap_eq_i64((int64_t)stats(&w).gpu_milli_held, 7000, "all is given out");
	ack(&w, CONFIRMED, 0);
	world_free(&w);
}

static void test_growth_is_refused(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=2..3");
	tap_eq_i64(run_step(&w), 2, "two");
	node_of(&w, 1, 1, "T4");
	tap_eq_i64(step(&w), 1, "a third");
	ack(&w, WZ_EV_EFFECT_REFUSED, plan_id(&w, WZ_EF_START, 1, 2));
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "that is refused harms nobody");
	tap_eq_i64(step(&w), 1, "again");
	tap_eq_i64(plan_find(&w, WZ_EF_START, 1, 2)->attempt, 2, "as another attempt of that task");
	at(&w, 40); /* nobody answers */
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "that is lost harms nobody");
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_STOP, 1, 2) != NULL, "it is stopped, in case it runs");
	tap_eq_i64(plan_find(&w, WZ_EF_STOP, 1, 2)->attempt, 2, "that attempt");
	world_restart(&w);
	ack(&w, CONFIRMED, plan_id(&w, WZ_EF_STOP, 1, 2));
	tap_eq_i64(run_step(&w), 1, "and a third time");
	tap_eq_i64(wz_core_task_attempt(w.c, 1, 2), 3, "of number 3");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, false);
	run_step(&w);
	tap_eq_i64(state_of(&w, 1), -1, "a failure that is not to be repeated ends it");
	world_free(&w);
}

static void test_repair(void)
{
	struct world w;
	world_init(&w);
	for (uint32_t n = 0; n < 5; n++)
		node_of(&w, n, 1, "T4");
	submit(&w, 1, "gpus=1 tasks=4 repair=5m");
	run_step(&w);
	submit(&w, 2, "gpus=1");
	run_step(&w);
	submit(&w, 3, "gpus=1"); /* older than the repair, of the same priority */
	uint32_t node = place_of(&w, 1, 1).node.v;
	at(&w, 100);
	node_event(&w, WZ_EV_NODE_LEFT, node);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "it runs on");
	tap_eq_i64((int64_t)wz_core_next_deadline(w.c), 400 * (int64_t)SECOND, "for five minutes");
	tap_eq_i64(run_step(&w), 0, "no room");
	at(&w, 200);
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_COMPLETED, false);
	world_restart(&w);
	tap_eq_i64(step(&w), 1, "room");
	tap_ok(plan_find(&w, WZ_EF_START, 1, 1) != NULL, "goes to the broken gang before what waits");
	tap_eq_i64(plan_find(&w, WZ_EF_START, 1, 1)->attempt, 2, "as another attempt of the task");
	confirm_plan(&w);
	tap_ok(wz_core_next_deadline(w.c) == UINT64_MAX, "it is whole: nothing is due");
	at(&w, 1000);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "and runs on");
	at(&w, 1001);
	for (uint32_t t = 0; t < 4; t++)
		task_event(&w, WZ_EV_TASK_ENDED, 1, t, wz_core_task_attempt(w.c, 1, t), WZ_END_NODE_LOST, true);
	tap_ok(state_of(&w, 1) == WZ_JOB_WAITING, "with nobody left there is nothing to repair");
	tap_eq_i64(info_of(&w, 1).attempt, 3, "the next attempt is above all that were");
	world_free(&w);
}

static void test_resize_waiting(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=4");
	tap_eq_i64(step(&w), 0, "four do not fit");
	tap_eq_i64(resize(&w, 1, "", 2, 40), 0, "two would do");
	tap_eq_i64(run_step(&w), 2, "and do");
	tap_eq_i64(resize(&w, 1, "", 1, 1), 0, "one");
	run_step(&w);
	run_step(&w);
	tap_eq_i64(info_of(&w, 1).tasks_placed, 1, "is left");
	tap_eq_i64(resize(&w, 1, "", 0, 1), -EINVAL, "none is no job");
	tap_eq_i64(resize(&w, 1, "", 1, 65537), -EINVAL, "too many");
	observed(&w, 2, (struct wz_place){.node = {0}, .cpu = 1});
	tap_eq_i64(resize(&w, 2, "", 1, 2), -EINVAL, "not ours");
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	tap_eq_i64(resize(&w, 1, "", 1, 2), -EINVAL, "too late");
	world_free(&w);
}

/* ---- disruption budgets ---- */

static int budget(struct world *w, const char *name, const char *selector, uint32_t limit, bool most, bool percent)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_SET,
	                              .u.budget = {.name = wz_str(name),
	                                      .selector = wz_str(selector),
	                                      .limit = limit,
	                                      .most = most,
	                                      .percent = percent}});
}

static bool allows(struct world *w, uint32_t n, const uint64_t *job)
{
	uint32_t task[8];
	for (uint32_t i = 0; i < n; i++)
		task[i] = w->c->jobs.job[wz_jobs_find(w->c, job[i])].first_task;
	return wz_budget_allows(w->c, task, n);
}

static void test_budgets(void)
{
	static const uint64_t web[] = {1, 2, 3}, mixed[] = {4, 1};
	struct world w;
	uint64_t before;
	world_init(&w);
	node_of(&w, 0, 8, "T4");
	for (uint64_t j = 1; j <= 4; j++)
		submit_asking(&w, j, "gpus=1", j < 4 ? "app=web" : "app=db", "");
	run_step(&w);
	tap_ok(allows(&w, 3, web), "without a budget all may stop");
	before = wz_core_digest(w.c);
	tap_eq_i64(budget(&w, "web", "app=web", 2, false, false), 0, "two must run");
	tap_ok(wz_core_digest(w.c) != before, "is state");
	tap_ok(allows(&w, 1, web) && !allows(&w, 2, web), "one of three may stop");
	tap_ok(allows(&w, 2, mixed), "and whatever is not selected");
	world_restart(&w);
	tap_ok(allows(&w, 1, web) && !allows(&w, 2, web), "after a restart too");
	tap_eq_i64(
	        budget(&w, "web", "app=web", 50, true, true), 0, "half may be missing: two of three, rounded up");
	tap_ok(allows(&w, 2, web) && !allows(&w, 3, web), "so it is");
	submit_asking(&w, 5, "gpus=8", "app=web", "");
	run_step(&w);
	tap_ok(allows(&w, 1, web) && !allows(&w, 2, web), "one that waits is missing already");
	job_event(&w, WZ_EV_JOB_CANCELLED, 5);
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_FAILED, false);
	tap_ok(allows(&w, 1, &web[1]), "one that ended is not expected any more");
	tap_eq_i64(budget(&w, "", "app=web", 1, false, false), -EINVAL, "no name");
	tap_eq_i64(budget(&w, "x", "app=", 101, false, true), -EINVAL, "more than all");
	tap_eq_i64(budget(&w, "x", "app in", 1, false, false), -EINVAL, "no selector");
	tap_eq_i64(budget(&w, "x", "a=1 | b=1", 1, false, false), -EINVAL, "nor two");
	tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_REMOVED,
	                                   .u.budget.name = WZ_STR("x")}),
	        -ENOENT, "no such budget");
	tap_eq_i64(world_apply(&w, &(struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_REMOVED,
	                                   .u.budget.name = WZ_STR("web")}),
	        0, "gone");
	tap_ok(allows(&w, 2, &web[1]), "all may stop again");
	world_free(&w);
}

int main(void)
{
	tap_run(test_sets);
	tap_run(test_set_errors);
	tap_run(test_sets_ask);
	tap_run(test_tightest_place);
	tap_run(test_levels);
	tap_run(test_same_place);
	tap_run(test_rack_after_restart);
	tap_run(test_top_up);
	tap_run(test_growth_is_refused);
	tap_run(test_repair);
	tap_run(test_resize_waiting);
	tap_run(test_budgets);
	return tap_done();
}
