/* SPDX-License-Identifier: Apache-2.0 */
/* What the public API cannot reach: the heap of deadlines, transactions of the ledger, and that wz_core_check sees. */
#include "world.h"

#include "core/core_int.h"
#include "base/rng.h"

#define MANY 200u

/* `many` ids come and go. Small heaps and large ones; dropped at the top, as deadlines are, and in the middle. */
static void heap_of(uint64_t many)
{
	struct world w;
	struct wz_rng rng;
	uint64_t deadline[MANY] = {0}, sum;
	world_init(&w);
	wz_rng_seed(&rng, 3);
	sum = w.c->sum;
	for (unsigned round = 0; round < 20000; round++) {
		uint64_t id = 1 + wz_rng_below(&rng, many - 1), least = UINT64_MAX, least_id = 0;
		uint32_t f = wz_inflight_due(w.c, UINT64_MAX - 1);
		if (f != WZ_ID_NONE && wz_rng_below(&rng, 3) == 0)
			id = w.c->inflight.f[f].id;
		f = wz_inflight_find(w.c, id);
		tap_ok((f != WZ_ID_NONE) == (deadline[id] != 0), "effect %" PRIu64 " is where it should be", id);
		if (f != WZ_ID_NONE && wz_rng_below(&rng, 10) < (round / 5000 % 2 ? 9 : 4)) {
			wz_inflight_drop(w.c, f);
			deadline[id] = 0;
		} else if (f == WZ_ID_NONE) {
			deadline[id] = 1 + wz_rng_below(&rng, 50);
			tap_eq_i64(wz_inflight_add(w.c, id, WZ_EF_START, 0, deadline[id]), 0, "add");
		}
		for (uint64_t i = 1; i < many; i++)
			if (deadline[i] && deadline[i] < least) {
				least = deadline[i];
				least_id = i;
			}
		tap_ok(wz_core_next_deadline(w.c) == least, "the earliest deadline");
		f = wz_inflight_due(w.c, least == UINT64_MAX ? least - 1 : least);
		tap_ok(least_id ? f != WZ_ID_NONE && w.c->inflight.f[f].id == least_id : f == WZ_ID_NONE,
		        "is due, the lowest id first");
		tap_ok(least < 1 || least_id == 0 || wz_inflight_due(w.c, least - 1) == WZ_ID_NONE,
		        "and not a moment earlier");
	}
	for (uint64_t id = 1; id < many; id++)
		if (deadline[id])
			wz_inflight_drop(w.c, wz_inflight_find(w.c, id));
	tap_ok(w.c->sum == sum, "the digest's part is as before");
	world_free(&w);
}

static void test_heap(void)
{
	heap_of(5);
	heap_of(20);
	heap_of(MANY);
}

/* A look-ahead that is rolled back to a mark, and entirely, leaves every figure as it was. */
static void test_ledger(void)
{
	struct world w;
	struct wz_err err;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpu-share=30% tasks=8");
	uint32_t slot = wz_jobs_find(w.c, 1), first = w.c->jobs.job[slot].first_task;
	struct wz_node before = w.c->model.node[0];
	struct wz_place p = {.node = {0}, .devices = 1, .cpu = 1000, .mem = GI, .dev_milli = 300, .dev_mem = -1};
	tap_eq_i64(wz_ledger_reserve(w.c, 16), 0, "room");
	wz_ledger_begin(w.c);
	wz_ledger_take(w.c, first, &p);
	uint32_t mark = wz_ledger_mark(w.c);
	struct wz_node middle = w.c->model.node[0];
	p.devices = 6;
	wz_ledger_take(w.c, first + 1, &p);
	wz_ledger_give(w.c, first);
	tap_eq_i64(w.c->model.dev_milli[0], 1000, "given");
	wz_ledger_rollback(w.c, mark);
	tap_ok(memcmp(&middle, &w.c->model.node[0], sizeof middle) == 0, "as at the mark");
	tap_eq_i64(w.c->model.dev_milli[0], 700, "taken again");
	tap_ok(wz_core_check(w.c, &err) < 0, "a check sees what is open");
	wz_ledger_end(w.c);
	tap_ok(memcmp(&before, &w.c->model.node[0], sizeof before) == 0, "as at the beginning");
	world_check(&w);
	world_free(&w);
}

/* A check that cannot fail is no check: every invariant is broken by hand, and seen. */
static void test_check(void)
{
	struct world w;
	struct wz_err err;
	world_init(&w);
	node_of(&w, 0, 4, "T4");
	submit(&w, 1, "gpus=1 tasks=2");
	run_step(&w);
	submit(&w, 2, "gpus=9");
	submit(&w, 3, "gpus=1");
	step(&w);
	struct wz_core *c = w.c;
	struct wz_task *t = &c->jobs.task[c->jobs.job[wz_jobs_find(c, 1)].first_task];
	struct wz_job *j = &c->jobs.job[wz_jobs_find(c, 1)], *two = &c->jobs.job[wz_jobs_find(c, 2)];
	struct wz_task *starting = &c->jobs.task[c->jobs.job[wz_jobs_find(c, 3)].first_task];
#define BREAK(field, value) \
	do { \
		__typeof__(field) kept = (field); \
		(field) = (__typeof__(field))(value); \
		tap_ok(wz_core_check(c, &err) == -EUCLEAN, "%s is seen", #field " = " #value); \
		(field) = kept; \
		world_check(&w); \
	} while (0)
	BREAK(c->model.node[0].cpu_free, 1);
	BREAK(c->model.node[0].mem_free, 1);
	BREAK(c->model.node[0].n_tasks, 9);
	BREAK(c->model.node[0].kind_count[1], 9);
	BREAK(c->model.node[0].n_explicit, 9);
	BREAK(c->model.node[0].gpu_free, 9);
	BREAK(c->model.node[0].gpu_max, 9);
	BREAK(c->model.node[0].whole, 9);
	BREAK(c->model.node[0].flags, WZ_NODE_READY);
	BREAK(c->model.node[0].rack, 0);
	BREAK(c->model.dev_milli[0], 17);
	BREAK(c->model.dev_mem[0], 17);
	BREAK(c->model.dev[0].milli, 17);
	BREAK(t->node, 5);
	BREAK(t->state, WZ_TASK_NONE);
	BREAK(t->state, WZ_TASK_STOPPING);
	BREAK(t->hash, 1);
	BREAK(j->placed, 1);
	BREAK(j->running, 1);
	BREAK(j->priority, 1);
	BREAK(j->hash, 1);
	BREAK(two->state, WZ_JOB_HELD);
	BREAK(two->attempt, 3);
	BREAK(starting->effect, 0);
	BREAK(c->sum, 0);
	BREAK(c->jobs.live_jobs, 9);
	BREAK(c->order.waiting, 9);
	BREAK(c->demand.arrived[0], 99);
	BREAK(c->inflight.f[c->inflight.heap[0]].deadline_us, 1);
	BREAK(c->order.cls[two->class_id].reason, WZ_REASON_GANG);
	/* I1: a decision that over-commits, which apply would never let through. */
	struct wz_task *s = starting;
	s->cpu = 100000;
	c->model.node[0].cpu_free -= 100000;
	wz_task_rehash(c, (uint32_t)(s - c->jobs.task));
	tap_ok(wz_core_check(c, &err) == -EUCLEAN && strstr(err.text, "I1"), "I1: %s", err.text);
	c->model.node[0].over = true;
	tap_ok(wz_core_check(c, &err) == 0, "but facts may");
	world_free(&w);
}

int main(void)
{
	tap_run(test_heap);
	tap_run(test_ledger);
	tap_run(test_check);
	return tap_done();
}
