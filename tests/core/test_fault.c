/* SPDX-License-Identifier: Apache-2.0 */
/* Fail the Nth allocation, for N = 1, 2, ... until none is hit any more. A history of some sixty calls is run; the call
 * that is hit must say -ENOMEM, change nothing that the digest or the invariants see, and succeed when it is made again.
 * The end must be that of the undisturbed history, and nothing may leak. The index is a cache: out of memory it makes
 * decisions slow, not wrong, so a failure there need not surface. */
#include "world.h"

struct run {
	struct world w;
	uint64_t surfaced; /* calls that failed */
	bool broken;
};

/* After a failed call: -ENOMEM, with the state as it was. */
static bool hit(struct run *x, int r, uint64_t before)
{
	struct wz_err err;
	if (r != -ENOMEM)
		return false;
	x->surfaced++;
	if (wz_core_digest(x->w.c) != before || wz_core_check(x->w.c, &err) < 0 || !x->w.f.failures) {
		tap_ok(false, "%s: after -ENOMEM the state differs", x->w.at);
		x->broken = true;
	}
	return true;
}

static void event(struct run *x, struct wz_event e)
{
	uint64_t before = wz_core_digest(x->w.c);
	int r;
	e.time_us = x->w.now;
	do
		r = wz_core_apply(x->w.c, &e, NULL);
	while (hit(x, r, before) && x->surfaced < 3);
	if (r < 0)
		tap_ok(false, "event %u: %d", e.kind, r);
}

static struct wz_device_facts facts(uint32_t model, int64_t mem)
{
	return (struct wz_device_facts){
	        .model = {(uint16_t)model}, .mem_bytes = mem, .compute_milli = WZ_WHOLE, .link_domain = 1};
}

static void node(struct run *x, uint32_t id, uint32_t n, uint32_t model)
{
	struct wz_device_facts f[WZ_NODE_DEVICES_MAX];
	char name[] = {'n', 'o', 'd', 'e', (char)('A' + id % 26), (char)('0' + id / 26), 0};
	struct wz_label label[2] = {{WZ_STR("zone"), wz_str(name)}, {wz_str(name), WZ_STR("x")}};
	for (uint32_t i = 0; i < n; i++)
		f[i] = facts(i == 3 ? 0 : model, 40 * GI);
	event(x, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
	                 .u.node = {.node = {id},
	                         .name = wz_str(name),
	                         .rack = WZ_STR("r"),
	                         .site = wz_str(name),
	                         .cpu_milli = 64000,
	                         .mem_bytes = 256 * GI,
	                         .n_devices = n,
	                         .device = f,
	                         .n_labels = 2,
	                         .label = label}});
}

static void job(struct run *x, uint64_t number, const char *text, const char *user)
{
	struct wz_profile p = profile(&x->w, text);
	event(x, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                 .u.submit = {.job = number,
	                         .user = wz_str(user),
	                         .queue = wz_str(user),
	                         .profile = &p,
	                         .priority = (int32_t)(number % 3)}});
}

static void step_and_confirm(struct run *x, uint64_t budget)
{
	uint64_t before;
	int r;
	event(x, (struct wz_event){.kind = WZ_EV_STEP});
	before = wz_core_digest(x->w.c);
	do {
		r = wz_core_decide(x->w.c, budget, &x->w.plan, NULL);
		tap_ok(r == 0 || x->w.plan.n == 0, "a failed plan is empty");
	} while (hit(x, r, before) && x->surfaced < 3);
	tap_ok(r == 0, "decide: %d", r);
	for (uint32_t i = 0; i < x->w.plan.n; i++) {
		before = wz_core_digest(x->w.c);
		do
			r = wz_core_apply_effect(x->w.c, &x->w.plan.effect[i], NULL);
		while (hit(x, r, before) && x->surfaced < 3);
		tap_ok(r == 0, "effect: %d", r);
	}
	for (uint32_t i = 0; i < x->w.plan.n; i++)
		if (x->w.plan.effect[i].kind != WZ_EF_EXPLAIN && x->w.plan.effect[i].kind != WZ_EF_RESIZE &&
		        x->w.plan.effect[i].kind != WZ_EF_HOLD && x->w.plan.effect[i].kind != WZ_EF_UNHOLD)
			event(x, (struct wz_event){.kind = WZ_EV_EFFECT_CONFIRMED,
			                 .u.effect.effect = x->w.plan.effect[i].id});
}

static void ask(struct run *x, uint64_t number)
{
	uint64_t before = wz_core_digest(x->w.c);
	struct wz_explanation e;
	int r;
	do
		r = wz_core_explain(x->w.c, number, &e, NULL);
	while (hit(x, r, before) && x->surfaced < 3);
	tap_ok(r == 0 || r == -EINVAL || r == -ENOENT, "explain: %d", r);
}

static void declare(struct run *x, const char *name)
{
	wz_model_id id;
	int r;
	do {
		r = wz_catalogue_declare(wz_core_catalogue(x->w.c), wz_str(name), NULL, &id, NULL);
		x->surfaced += r == -ENOMEM;
	} while (r == -ENOMEM && x->surfaced < 3);
	tap_ok(r == 0, "declare: %d", r);
}

static void asking(
        struct run *x, uint64_t number, const char *text, const char *app, const char *constraint, uint32_t sets)
{
	struct wz_profile p = profile(&x->w, text), q = profile(&x->w, "cpus=2 tasks=2..4");
	struct wz_label label[2] = {{WZ_STR("app"), wz_str(app)}, {WZ_STR("tier"), WZ_STR("1")}};
	struct wz_ev_set set[2] = {
	        {.name = WZ_STR("one"), .profile = &p}, {.name = WZ_STR("two"),
	                                                        .profile = &q,
	                                                        .n_labels = 1,
	                                                        .label = label,
	                                                        .constraint = WZ_STR("apart~: tier per rack")}};
	event(x, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                 .u.submit = {.job = number,
	                         .profile = &p,
	                         .n_labels = 2,
	                         .label = label,
	                         .constraint = wz_str(constraint),
	                         .n_sets = sets,
	                         .set = set}});
}

/* Constraints, labels, budgets, sets of tasks, another number of tasks. */
static void more_history(struct run *x)
{
	struct wz_taint taint = {WZ_STR("old"), WZ_STR("yes"), 2};
	asking(x, 60, "cpus=1", "web", "spread: app=web per node; ports: 80; node~: zone=nodeA0", 0);
	asking(x, 61, "cpus=1", "web", "apart: app=db per zone; near: app=web per rack; tolerate: *", 0);
	asking(x, 62, "cpus=1 repair=1m", "gang", "together: rack", 2);
	for (uint32_t i = 24; i < 70; i++) /* domains are added while they are counted */
		node(x, i, 1, i % 6);
	event(x, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
	                 .u.node = {.node = {70},
	                         .name = WZ_STR("tainted"),
	                         .cpu_milli = 1000,
	                         .mem_bytes = GI,
	                         .n_taints = 1,
	                         .taint = &taint}});
	event(x, (struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_SET,
	                 .u.budget = {.name = WZ_STR("b"), .selector = WZ_STR("app in (web,db)"), .limit = 1}});
	step_and_confirm(x, 0);
	ask(x, 61);
	event(x, (struct wz_event){.kind = WZ_EV_JOB_RESIZED,
	                 .u.resize = {.job = 62, .set = WZ_STR("two"), .tasks_min = 1, .tasks_max = 2}});
	event(x, (struct wz_event){
	                 .kind = WZ_EV_JOB_RESIZED, .u.resize = {.job = 50, .tasks_min = 20, .tasks_max = 90}});
	step_and_confirm(x, 0);
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_TASK_ENDED,
	                 .u.task = {.job = 62, .task = 0, .attempt = 1, .end = WZ_END_FAILED, .requeue = true}});
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_REMOVED, .u.budget.name = WZ_STR("b")});
}

static void urgent(struct run *x, uint64_t number, const char *text)
{
	struct wz_profile p = profile(&x->w, text);
	event(x, (struct wz_event){
	                 .kind = WZ_EV_JOB_SUBMITTED, .u.submit = {.job = number, .priority = 50, .profile = &p}});
}

/* Work is moved aside for others, alone and as gangs; frozen, thawed, reported on; parameters change. */
static void evict_history(struct run *x)
{
	event(x, (struct wz_event){.kind = WZ_EV_RULES_SET, .u.rule_list.text = WZ_STR("evict-per-hour=500")});
	for (uint64_t i = 70; i < 100; i++)
		job(x, i == 99 ? 170 : i,
		        i % 3 ? "gpus=1 preempt=movable" : "gpus=1 tasks=1..3 preempt=signal:USR1,grace:5s", "gil");
	step_and_confirm(x, 0);
	x->w.now += 100 * SECOND;
	event(x, (struct wz_event){.kind = WZ_EV_TASK_REPORTED,
	                 .u.report = {.job = 71, .checkpoint_us = (int64_t)x->w.now, .progress_milli = 5}});
	event(x, (struct wz_event){.kind = WZ_EV_JOB_SUSPENDED, .u.job.job = 72});
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_JOB_RESUMED, .u.job.job = 72});
	urgent(x, 180, "gpus=4");
	urgent(x, 181, "gpus=2 tasks=3");
	urgent(x, 182, "gpus=2 tasks=2 link=rack");
	step_and_confirm(x, 0);
	ask(x, 181);
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_JOB_REQUEUED, .u.job.job = 180});
	step_and_confirm(x, 0);
}

static void history(struct run *x)
{
	struct wz_profile p[2];
	uint32_t weight[2] = {3, 1};
	declare(x, "G9");
	for (uint32_t i = 0; i < 6; i++)
		node(x, i, i % 3 ? 4 : 8, i);
	for (uint64_t i = 1; i <= 12; i++)
		job(x, i, i % 4 ? "gpus=2 cpus=4 time=1h" : "gpu-share=30% gpu-mem=10Gi cpus=1",
		        i % 2 ? "ann" : "bob");
	job(x, 13, "gpus=1 tasks=3..6 link=rack", "carol");
	job(x, 14, "gpus=8 link=nvlink tasks=9", "dave");
	step_and_confirm(x, 0);
	ask(x, 14);
	for (uint64_t i = 20; i < 40; i++)
		job(x, i, "gpu-share=70% tasks=2", "eve");
	for (uint32_t i = 6; i < 20; i++) /* the arrays of nodes grow, and what indexes them */
		node(x, i, 4, i % 6);
	x->w.now += 10 * SECOND;
	step_and_confirm(x, 5);
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_NODE_LEFT, .u.left.node = {2}});
	node(x, 3, 12, 4);
	event(x, (struct wz_event){.kind = WZ_EV_DEVICE_CHANGED,
	                 .u.device = {.node = {1}, .index = 0, .facts = facts(1, GI)}});
	event(x,
	        (struct wz_event){.kind = WZ_EV_TASK_OBSERVED,
	                .u.observed = {.job = 99,
	                        .place = {
	                                .node = {5}, .devices = 3, .cpu = 1000, .dev_milli = 400, .dev_mem = -1}}});
	event(x, (struct wz_event){.kind = WZ_EV_POLICY_SET, .u.policy.name = WZ_STR("fgd")});
	p[0] = profile(&x->w, "gpus=1 cpus=2");
	p[1] = profile(&x->w, "gpu-share=50%");
	event(x, (struct wz_event){
	                 .kind = WZ_EV_WORKLOAD_STATED, .u.workload = {.n = 2, .profile = p, .weight = weight}});
	p[0] = profile(&x->w, "gpus=4 cpus=3 tasks=9 link=nvlink");
	event(x, (struct wz_event){
	                 .kind = WZ_EV_JOB_EDITED, .u.edit = {.job = 14, .priority = 9, .profile = &p[0]}});
	event(x, (struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .u.job.job = 1});
	event(x, (struct wz_event){.kind = WZ_EV_TASK_ENDED,
	                 .u.task = {.job = 2, .attempt = 1, .end = WZ_END_FAILED, .requeue = true}});
	step_and_confirm(x, 0);
	event(x, (struct wz_event){.kind = WZ_EV_POLICY_SET, .u.policy.name = WZ_STR("random")});
	x->w.now += 4000 * SECOND;
	event(x, (struct wz_event){.kind = WZ_EV_TIME});
	step_and_confirm(x, 0);
	ask(x, 14);
	job(x, 50, "cpus=1 tasks=40", "frank");
	step_and_confirm(x, 0);
	evict_history(x);
	more_history(x);
}

/* Returns the digest at the end. */
static uint64_t run(struct run *x, uint64_t fail_at, bool no_index)
{
	struct wz_core_options o = {.seed = 5, .no_index = no_index};
	uint64_t digest;
	int r;
	*x = (struct run){.w.at = "a call"};
	fault_mem_init(&x->w.f);
	wz_plan_init(&x->w.plan, &x->w.f.mem);
	x->w.f.fail_at = fail_at;
	do {
		r = wz_core_new(&x->w.f.mem, &o, &x->w.c, NULL);
		x->surfaced += r == -ENOMEM;
		tap_ok(r == 0 || fault_mem_clean(&x->w.f), "a core that could not be made leaves nothing");
	} while (r == -ENOMEM && x->surfaced < 3);
	if (r < 0) {
		tap_ok(false, "a core: %d", r);
		return 0;
	}
	history(x);
	digest = wz_core_digest(x->w.c);
	wz_plan_release(&x->w.plan);
	wz_core_free(x->w.c);
	tap_ok(fault_mem_clean(&x->w.f), "failure at %" PRIu64 " leaks", fail_at);
	return digest;
}

static void every_allocation(bool no_index)
{
	static struct run x;
	uint64_t want = run(&x, 0, no_index), hits = 0, surfaced = 0;
	tap_eq_i64(x.surfaced, 0, "undisturbed");
	for (uint64_t n = 1;; n++) {
		uint64_t got = run(&x, n, no_index);
		tap_ok(got == want, "failure at %" PRIu64 ": another end", n);
		tap_ok(x.surfaced <= 1, "failure at %" PRIu64 ": one failure, one refusal", n);
		if (x.broken)
			printf("# at allocation %" PRIu64 "\n", n);
		hits += x.w.f.failures;
		surfaced += x.surfaced;
		if (!x.w.f.failures)
			break;
	}
	tap_ok(hits > 100 && surfaced > hits / 2, "%" PRIu64 " failures, %" PRIu64 " seen by the caller", hits,
	        surfaced);
	printf("# %" PRIu64 " allocations failed, %" PRIu64 " calls said so\n", hits, surfaced);
}

static void test_every_allocation(void)
{
	every_allocation(false);
}
static void test_every_allocation_without_index(void)
{
	every_allocation(true);
}

int main(void)
{
	tap_run(test_every_allocation);
	tap_run(test_every_allocation_without_index);
	return tap_done();
}
