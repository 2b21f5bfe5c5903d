/* SPDX-License-Identifier: Apache-2.0 */
/* Making room: who is moved aside, for whom, and what becomes of both. Costs are computed again here from the text of
 * docs/internals/core.md, and the cheapest set by trying all. */
#include "world.h"

#include "base/rng.h"

#define CONFIRMED WZ_EV_EFFECT_CONFIRMED
#define REFUSED WZ_EV_EFFECT_REFUSED

static int rules(struct world *w, const char *text)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_RULES_SET, .u.rule_list.text = wz_str(text)});
}

static void checkpointed(struct world *w, uint64_t job, uint32_t task)
{
	world_apply(w, &(struct wz_event){.kind = WZ_EV_TASK_REPORTED,
	                       .u.report = {.job = job, .task = task, .checkpoint_us = (int64_t)w->now}});
}

static unsigned count(const struct world *w, uint32_t kind)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < w->plan.n; i++)
		n += w->plan.effect[i].kind == kind;
	return n;
}

static void confirm_kind(struct world *w, uint32_t kind)
{
	for (uint32_t i = 0; i < w->plan.n; i++)
		if (w->plan.effect[i].kind == kind)
			ack(w, CONFIRMED, w->plan.effect[i].id);
}

/* Two alike run; the one whose checkpoint is fresh goes. Its room is held, whoever else comes. */
static void test_cheapest(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	node_of(&w, 1, 2, "T4");
	submit(&w, 1, "gpus=2 preempt=movable");
	submit(&w, 2, "gpus=2 preempt=signal:USR1,grace:60s,ack:file");
	run_step(&w);
	at(&w, 1000);
	checkpointed(&w, 2, 0);
	submit_prio(&w, 3, "gpus=2", 5);
	step(&w);
	const struct wz_effect *e = plan_find(&w, WZ_EF_PREEMPT, 2, 0), *h = plan_find(&w, WZ_EF_HOLD, 3, 0);
	tap_require(e && h && count(&w, WZ_EF_PREEMPT) == 1, "job 2 loses the least");
	tap_eq_i64(e->deadline_us, 1090 * SECOND, "it has its grace and 30 s");
	tap_eq_i64(h->deadline_us, 1390 * SECOND, "the room is held for 5 minutes beyond");
	tap_eq_i64(h->place.node.v, place_of(&w, 2, 0).node.v, "there");
	tap_eq_i64(info_of(&w, 3).reason, WZ_REASON_MAKING_ROOM, "the word");
	tap_eq_i64(info_of(&w, 2).preempted, 1, "counted");
	submit_prio(&w, 4, "gpus=1", 9);
	submit_prio(&w, 5, "gpus=2", 0);
	tap_eq_i64(step(&w), 0, "nobody starts meanwhile");
	tap_ok(count(&w, WZ_EF_PREEMPT) == 1 && plan_find(&w, WZ_EF_PREEMPT, 1, 0), "job 4 has its own victim");
	confirm_kind(&w, WZ_EF_PREEMPT);
	tap_ok(step(&w) == 1 && plan_find(&w, WZ_EF_START, 4, 0), "which is gone first");
	ack(&w, CONFIRMED, plan_id(&w, WZ_EF_START, 4, 0));
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_PREEMPTED, true);
	tap_ok(step(&w) == 1 && plan_find(&w, WZ_EF_START, 3, 0), "then job 3, in the room that was made");
	confirm_plan(&w);
	tap_ok(state_of(&w, 1) == WZ_JOB_WAITING && state_of(&w, 2) == WZ_JOB_WAITING, "the two wait");
	tap_ok(step(&w) == 0 && count(&w, WZ_EF_PREEMPT) == 0, "and may not evict back");
	task_event(&w, WZ_EV_TASK_ENDED, 3, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(run_step(&w), 1, "one comes back");
	world_free(&w);
}

/* Who is never a victim. */
static void test_never(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpus=1");
	submit_prio(&w, 2, "gpus=1 preempt=movable", 5);
	submit(&w, 3, "gpus=1 preempt=movable");
	run_step(&w);
	observed(&w, 9, (struct wz_place){.node = {0}, .devices = 8, .dev_milli = 1000, .dev_mem = -1});
	submit_prio(&w, 4, "gpus=4", 5);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0,
	        "no contract, the same priority, foreign: four devices are not to be had");
	submit_prio(&w, 5, "gpus=2", 5);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "nor two");
	submit_prio(&w, 6, "gpus=1", 5);
	step(&w);
	tap_ok(count(&w, WZ_EF_PREEMPT) == 1 && plan_find(&w, WZ_EF_PREEMPT, 3, 0), "one is");
	tap_eq_i64(rules(&w, "evict-jobs=0"), 0, "switched off");
	submit_prio(&w, 7, "gpus=1", 8);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "nobody goes");
	world_free(&w);
}

/* A gang goes as a whole; an elastic one gives up what it has above its minimum. */
static void test_gangs(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	node_of(&w, 1, 2, "T4");
	submit(&w, 1, "gpus=1 tasks=4 preempt=movable");
	run_step(&w);
	submit_prio(&w, 2, "gpus=2", 1);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 4, "all four tasks");
	tap_eq_i64(count(&w, WZ_EF_HOLD), 1, "for one place");
	confirm_kind(&w, WZ_EF_PREEMPT);
	tap_eq_i64(run_step(&w), 1, "it starts");
	world_free(&w);

	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpus=1 tasks=2..4 preempt=movable");
	run_step(&w);
	at(&w, 5000);
	for (uint32_t t = 2; t < 4; t++)
		checkpointed(&w, 1, t);
	submit_prio(&w, 2, "gpus=2", 1);
	step(&w);
	tap_ok(count(&w, WZ_EF_PREEMPT) == 2 && plan_find(&w, WZ_EF_PREEMPT, 1, 2) &&
	                plan_find(&w, WZ_EF_PREEMPT, 1, 3),
	        "two tasks, those that lose least");
	confirm_kind(&w, WZ_EF_PREEMPT);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "it runs on with two");
	tap_eq_i64(info_of(&w, 1).preempted, 0, "and was not moved aside");
	tap_eq_i64(run_step(&w), 1, "the other starts");
	world_free(&w);
}

/* Who fits elsewhere is cheaper, and has room held there. */
static void test_moves(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	node_of(&w, 1, 4, "T4");
	for (uint64_t j = 1; j <= 6; j++)
		submit(&w, j, j == 2 || j == 5 ? "gpus=1 preempt=movable" : "gpus=1");
	run_step(&w);
	submit_prio(&w, 9, "gpus=4", 3);
	unsigned starts = step(&w);
	if (!starts && count(&w, WZ_EF_PREEMPT)) { /* two devices are free: on one node, or on both */
		tap_eq_i64(count(&w, WZ_EF_HOLD), 1 + count(&w, WZ_EF_PREEMPT), "room for each");
		confirm_kind(&w, WZ_EF_PREEMPT);
		tap_eq_i64(run_step(&w), 1 + count(&w, WZ_EF_PREEMPT), "both start at once");
	}
	world_free(&w);

	/* One device of the node is free, one of the other: the movable one moves over. */
	world_init(&w);
	node_of(&w, 0, 2, "T4");
	submit(&w, 1, "gpus=1 preempt=movable");
	run_step(&w);
	node_of(&w, 1, 1, "T4");
	submit_prio(&w, 2, "gpus=2", 1);
	step(&w);
	const struct wz_effect *h = plan_find(&w, WZ_EF_HOLD, 1, 0);
	tap_require(
	        h && plan_find(&w, WZ_EF_HOLD, 2, 0) && plan_find(&w, WZ_EF_PREEMPT, 1, 0), "it has a new place");
	tap_eq_i64(h->place.node.v, 1, "on the other node");
	submit_prio(&w, 3, "gpus=1", 7);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_START), 0, "that is held for it, too");
	confirm_kind(&w, WZ_EF_PREEMPT);
	ack(&w, CONFIRMED, h->id - 1);
	tap_eq_i64(state_of(&w, 1), WZ_JOB_ENDING, "a hold is not what was awaited");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_PREEMPTED, true);
	tap_eq_i64(step(&w), 2, "both start");
	tap_ok(plan_find(&w, WZ_EF_START, 1, 0) && plan_find(&w, WZ_EF_START, 1, 0)->place.node.v == 1, "there");
	world_free(&w);
}

static void test_budgets(void)
{
	struct world w;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	rules(&w, "evict-per-hour=2 preempt-max=1");
	for (uint64_t j = 1; j <= 4; j++)
		submit(&w, j, "gpus=1 preempt=movable");
	run_step(&w);
	submit_prio(&w, 5, "gpus=3", 1);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "three would have to go: two may");
	submit_prio(&w, 6, "gpus=1", 1);
	submit_prio(&w, 7, "gpus=1", 1);
	submit_prio(&w, 8, "gpus=1", 1);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 2, "two in this hour");
	confirm_kind(&w, WZ_EF_PREEMPT);
	tap_eq_i64(run_step(&w), 2, "two start");
	tap_eq_i64(step(&w), 0, "the third waits");
	at(&w, 3600);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 1, "for the next hour");
	confirm_kind(&w, WZ_EF_PREEMPT);
	run_step(&w);
	/* Of those who come back, nobody is moved aside a second time. */
	job_event(&w, WZ_EV_JOB_CANCELLED, 5);
	for (uint64_t j = 6; j <= 8; j++)
		task_event(&w, WZ_EV_TASK_ENDED, j, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(run_step(&w), 3, "they are back");
	at(&w, 9000);
	submit_prio(&w, 9, "gpus=2", 1);
	step(&w);
	tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "once is enough: only one was never moved");
	world_free(&w);
}

/* In the middle: the beneficiary is cancelled; the node is lost; nobody answers; nobody is to be warned. */
static void test_middle(void)
{
	for (int how = 0; how < 5; how++) {
		struct world w;
		world_init(&w);
		node_of(&w, 0, 1, "T4");
		submit(&w, 1, "gpus=1 preempt=signal:USR1,grace:10s,ack:file");
		run_step(&w);
		submit_prio(&w, 2, "gpus=1", 1);
		step(&w);
		uint64_t told = plan_id(&w, WZ_EF_PREEMPT, 1, 0);
		tap_require(told && plan_find(&w, WZ_EF_HOLD, 2, 0), "way %d: room is being made", how);
		switch (how) {
		case 0:
			job_event(&w, WZ_EV_JOB_CANCELLED, 2);
			tap_eq_i64(stats(&w).gpu_milli_kept, 0, "nothing is held for who is gone");
			ack(&w, CONFIRMED, told);
			tap_eq_i64(run_step(&w), 1, "the victim comes back");
			tap_eq_i64(state_of(&w, 1), WZ_JOB_RUNNING, "at once");
			break;
		case 1:
			node_event(&w, WZ_EV_NODE_LEFT, 0);
			tap_eq_i64(stats(&w).gpu_milli_kept, 0, "nothing is held of what is gone");
			tap_eq_i64(state_of(&w, 1), WZ_JOB_WAITING, "the victim waits");
			node_of(&w, 0, 1, "T4");
			tap_ok(run_step(&w) == 1 && state_of(&w, 2) == WZ_JOB_RUNNING, "the higher one starts");
			break;
		case 2:
			at(&w, 40); /* lost: grace and margin pass */
			step(&w);
			tap_ok(plan_find(&w, WZ_EF_STOP, 1, 0) != NULL, "then it is stopped");
			at(&w, 100);
			step(&w);
			tap_ok(plan_find(&w, WZ_EF_STOP, 1, 0) != NULL, "again");
			tap_eq_i64(count(&w, WZ_EF_PREEMPT), 0, "nobody else goes meanwhile");
			confirm_plan(&w);
			tap_ok(run_step(&w) == 1 && state_of(&w, 2) == WZ_JOB_RUNNING,
			        "its room was held all the time");
			break;
		case 3:
			at(&w, 1000); /* even the hold is over, and the victim still there */
			submit_prio(&w, 3, "gpus=1", 0);
			step(&w);
			tap_ok(plan_find(&w, WZ_EF_STOP, 1, 0) && count(&w, WZ_EF_PREEMPT) == 0,
			        "it is asked again");
			confirm_kind(&w, WZ_EF_STOP);
			tap_ok(run_step(&w) == 1 && state_of(&w, 2) == WZ_JOB_RUNNING, "and job 2 goes first");
			break;
		default:
			ack(&w, REFUSED, told);
			step(&w);
			tap_ok(plan_find(&w, WZ_EF_STOP, 1, 0) != NULL, "no warning: it is stopped");
			confirm_plan(&w);
			tap_ok(run_step(&w) == 1 && state_of(&w, 2) == WZ_JOB_RUNNING, "job 2 starts");
		}
		world_free(&w);
	}
}

/* ---- against all sets ---- */

#define NODES 4u
#define VICTIMS 9u

struct small {
	unsigned devices[NODES], free[NODES];
	unsigned n;
	struct {
		unsigned node[4], gpus, tasks, min; /* task t on node[t] */
		uint64_t cost[4]; /* of each task given up alone */
		uint64_t whole;
	} job[VICTIMS];
};

/* A choice for every job: 0 nothing; a mask of single tasks; all ones: the whole. */
static bool enough(const struct small *s, const unsigned *choice, unsigned gpus, unsigned tasks)
{
	unsigned fit = 0;
	for (unsigned n = 0; n < NODES; n++) {
		unsigned free = s->free[n];
		for (unsigned j = 0; j < s->n; j++)
			for (unsigned t = 0; t < s->job[j].tasks; t++)
				if (choice[j] >> t & 1 && s->job[j].node[t] == n)
					free += s->job[j].gpus;
		fit += free / gpus;
	}
	return fit >= tasks;
}

static uint64_t cost_of(const struct small *s, const unsigned *choice)
{
	uint64_t sum = 0;
	for (unsigned j = 0; j < s->n; j++) {
		unsigned k = (unsigned)__builtin_popcount(choice[j]);
		if (k == 0)
			continue;
		if (k == s->job[j].tasks) {
			sum += s->job[j].whole;
			continue;
		}
		for (unsigned t = 0; t < s->job[j].tasks; t++)
			sum += choice[j] >> t & 1 ? s->job[j].cost[t] : 0;
	}
	return sum;
}

static void all_sets(
        const struct small *s, unsigned *choice, unsigned at, unsigned gpus, unsigned tasks, uint64_t *best)
{
	if (at == s->n) {
		uint64_t cost = cost_of(s, choice);
		if (cost < *best && enough(s, choice, gpus, tasks))
			*best = cost;
		return;
	}
	for (unsigned c = 0; c < 1u << s->job[at].tasks; c++) {
		unsigned k = (unsigned)__builtin_popcount(c);
		if (k && k != s->job[at].tasks && s->job[at].tasks - k < s->job[at].min)
			continue;
		choice[at] = c;
		all_sets(s, choice, at + 1, gpus, tasks, best);
	}
	choice[at] = 0;
}

/* Costs as docs/internals/core.md states them, with nobody fitting elsewhere and nobody moved before. */
static uint64_t loss(const struct world *w, uint64_t job, uint32_t task, unsigned gpus, bool whole)
{
	struct wz_task_work k = {0};
	int r = wz_core_task_work(w->c, job, task, &k);
	uint64_t since = k.checkpoint_us > k.started_us ? k.checkpoint_us : k.started_us;
	tap_eq_i64(r, 0, "runs");
	return (w->now - since + 30 * SECOND + (whole ? 660 * SECOND : 0)) * (gpus * 1000 + 1) / 1000;
}

static bool fill_cluster(struct world *w, struct small *s, struct wz_rng *rng, unsigned n)
{
	for (unsigned j = 0; j < n; j++) {
		char text[64];
		unsigned max = 1 + (unsigned)wz_rng_below(rng, 3), min = 1 + (unsigned)wz_rng_below(rng, max);
		unsigned gpus = 1 + (unsigned)wz_rng_below(rng, 2);
		if (wz_rng_below(rng, 2))
			min = max = 1;
		(void)snprintf(text, sizeof text, "gpus=%u tasks=%u..%u preempt=movable", gpus, min, max);
		submit(w, j + 1, text);
		run_step(w);
		w->now += (1 + wz_rng_below(rng, 400)) * SECOND;
		at(w, w->now / SECOND);
		if (state_of(w, j + 1) != WZ_JOB_RUNNING) { /* it does not fit: nobody below may wait for room */
			job_event(w, WZ_EV_JOB_CANCELLED, j + 1);
			continue;
		}
		s->job[s->n].gpus = gpus;
		s->job[s->n].min = min;
		s->job[s->n].tasks = info_of(w, j + 1).tasks_placed;
		for (uint32_t t = 0; t < s->job[s->n].tasks; t++) {
			s->job[s->n].node[t] = place_of(w, j + 1, t).node.v;
			if (wz_rng_below(rng, 3) == 0)
				checkpointed(w, j + 1, t);
		}
		s->job[s->n].whole = j + 1; /* its number, until costs are known */
		s->n++;
	}
	return s->n > 0;
}

static void one_small(uint64_t seed)
{
	struct world w;
	struct wz_rng rng;
	struct small s = {.n = 0};
	unsigned choice[VICTIMS] = {0}, gpus, tasks;
	uint64_t best = UINT64_MAX, number[VICTIMS], got = 0;
	char text[64];
	wz_rng_seed(&rng, seed);
	world_init_opt(&w, (struct wz_core_options){.seed = seed});
	for (unsigned n = 0; n < NODES; n++) {
		s.devices[n] = 1 + (unsigned)wz_rng_below(&rng, 4);
		node_of(&w, n, s.devices[n], "T4");
	}
	tasks = 1 + (unsigned)wz_rng_below(&rng, 3);
	fill_cluster(&w, &s, &rng, tasks == 1 ? VICTIMS : 5);
	/* Fill what is left with work that stays, so that nobody fits elsewhere. */
	for (uint64_t j = 100; j < 120; j++)
		submit(&w, j, "gpus=1");
	run_step(&w);
	for (uint64_t j = 100; j < 120; j++)
		if (state_of(&w, j) == WZ_JOB_WAITING)
			job_event(&w, WZ_EV_JOB_CANCELLED, j);
	w.now += 100 * SECOND;
	at(&w, w.now / SECOND);
	for (unsigned j = 0; j < s.n; j++) {
		number[j] = s.job[j].whole;
		s.job[j].whole = 0;
		for (uint32_t t = 0; t < s.job[j].tasks; t++) {
			s.job[j].cost[t] = loss(&w, number[j], t, s.job[j].gpus, false);
			s.job[j].whole += loss(&w, number[j], t, s.job[j].gpus, true);
		}
	}
	gpus = 1 + (unsigned)wz_rng_below(&rng, 3);
	all_sets(&s, choice, 0, gpus, tasks, &best);
	(void)snprintf(text, sizeof text, "gpus=%u tasks=%u", gpus, tasks);
	submit_prio(&w, 500, text, 1);
	step(&w);
	for (unsigned j = 0; j < s.n; j++) {
		choice[j] = 0;
		for (uint32_t t = 0; t < s.job[j].tasks; t++)
			choice[j] |= plan_find(&w, WZ_EF_PREEMPT, number[j], t) ? 1u << t : 0;
	}
	got = cost_of(&s, choice);
	tap_ok((best == UINT64_MAX) == (got == 0),
	        "seed %" PRIu64 ": room can be made, or not (%" PRIu64 ", %" PRIu64 ")", seed, best, got);
	tap_ok(best == UINT64_MAX || got == best, "seed %" PRIu64 ": %" PRIu64 " is paid, %" PRIu64 " would do",
	        seed, got, best);
	if (best != UINT64_MAX) { /* the proof: once they are gone, and whoever comes, it starts */
		struct wz_effect told[64];
		unsigned n = 0;
		unsigned held = 0;
		for (uint32_t i = 0; i < w.plan.n; i++)
			held += w.plan.effect[i].kind == WZ_EF_HOLD && w.plan.effect[i].job == 500;
		tap_eq_i64(held, tasks, "its room is held");
		for (uint32_t i = 0; i < w.plan.n && n < 64; i++)
			if (w.plan.effect[i].kind == WZ_EF_PREEMPT)
				told[n++] = w.plan.effect[i];
		submit_prio(&w, 501, "gpus=1", 7);
		for (unsigned i = 0; i < n; i++) {
			ack(&w, CONFIRMED, told[i].id);
			run_step(&w);
		}
		tap_eq_i64(info_of(&w, 500).tasks_placed, tasks, "seed %" PRIu64 ": it starts in it", seed);
	}
	world_free(&w);
}

static void test_all_sets(void)
{
	for (uint64_t seed = 1; seed <= 400; seed++)
		one_small(seed);
}

/* Work of five priorities, all of it movable, and a body that confirms everything: with no more arrivals, evictions end,
 * and the highest run. */
static void test_ends(void)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world w;
		struct wz_rng rng;
		unsigned evictions = 0, idle = 0;
		wz_rng_seed(&rng, seed);
		world_init_opt(&w, (struct wz_core_options){.seed = seed});
		rules(&w, "preempt-max=1000000 evict-per-hour=1000000");
		for (uint32_t n = 0; n < 3; n++)
			node_of(&w, n, 2 + (uint32_t)wz_rng_below(&rng, 3), "T4");
		for (uint64_t j = 1; j <= 25; j++) {
			char text[64];
			(void)snprintf(text, sizeof text, "gpus=%u tasks=%u preempt=movable",
			        1 + (unsigned)wz_rng_below(&rng, 3), 1 + (unsigned)wz_rng_below(&rng, 2));
			submit_prio(&w, j, text, (int32_t)wz_rng_below(&rng, 5));
			if (wz_rng_below(&rng, 2)) {
				step(&w);
				evictions += count(&w, WZ_EF_PREEMPT);
				confirm_plan(&w);
			}
		}
		for (unsigned i = 0; i < 300 && idle < 3; i++) {
			w.now += SECOND;
			step(&w);
			evictions += count(&w, WZ_EF_PREEMPT);
			idle = count(&w, WZ_EF_PREEMPT) || count(&w, WZ_EF_START) ? 0 : idle + 1;
			confirm_plan(&w);
		}
		tap_eq_i64(idle, 3, "seed %" PRIu64 ": it comes to rest after %u evictions", seed, evictions);
		world_free(&w);
	}
}

int main(void)
{
	tap_run(test_cheapest);
	tap_run(test_never);
	tap_run(test_gangs);
	tap_run(test_moves);
	tap_run(test_budgets);
	tap_run(test_middle);
	tap_run(test_all_sets);
	tap_run(test_ends);
	return tap_done();
}
