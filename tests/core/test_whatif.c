/* SPDX-License-Identifier: Apache-2.0 */
/* What-if: the plan beside another plan, on copies. What it says comes true when the edit is made. */
#include "world.h"

#include "core/whatif.h"

static int ask(struct world *w, const char *edits, struct wz_whatif *ret)
{
	uint64_t before = wz_core_digest(w->c);
	w->err = (struct wz_err){0};
	int r = wz_whatif_ask(
	        w->c, &w->f.mem, wz_str(edits), &(struct wz_starts_options){.samples = 9}, ret, &w->err);
	tap_ok(wz_core_digest(w->c) == before, "%s: a question changes nothing", edits);
	return r;
}

static const struct wz_whatif_row *row_of(const struct wz_whatif *a, uint64_t job)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->row[i].job == job)
			return &a->row[i];
	return NULL;
}

/* Two nodes of four T4; one job for hours on all of each, and two that wait. */
static void fill(struct world *w)
{
	world_init(w);
	node_of(w, 0, 4, "T4");
	node_of(w, 1, 4, "T4");
	submit(w, 1, "gpus=4 time=2h");
	submit(w, 2, "gpus=4 time=4h");
	run_step(w);
	at(w, 60);
	submit(w, 3, "gpus=4 time=1h");
	submit(w, 4, "gpus=4 time=1h");
	run_step(w);
	tap_eq_i64(state_of(w, 3), WZ_JOB_WAITING, "it waits");
}

static void test_more_nodes(void)
{
	struct world w;
	struct wz_whatif a;
	fill(&w);
	tap_eq_i64(ask(&w, "add-nodes=1xT4", &a), 0, "one more node: %s", w.err.text);
	const struct wz_whatif_row *r = row_of(&a, 3);
	tap_require(r, "the first that waits is told of");
	tap_ok(r->now.latest_us >= 7200 * SECOND && r->now.latest_us < 7300 * SECOND,
	        "today when the two hours are over");
	tap_ok(r->then.latest_us <= 120 * SECOND, "then at once: %" PRIu64, r->then.latest_us);
	tap_eq_i64(a.gpu_milli_now, 8000, "eight devices");
	tap_eq_i64(a.gpu_milli_then, 12000, "and four more, as in the nodes that are there");
	tap_ok(a.earlier >= 1 && a.later == 0, "somebody starts earlier, nobody later");
	tap_ok(row_of(&a, 4) && row_of(&a, 4)->then.latest_us > 3000 * SECOND,
	        "room for one is given once: the next waits for it");
	wz_whatif_release(&a);
	world_free(&w);
}

static void test_fewer(void)
{
	struct world w;
	struct wz_whatif a;
	fill(&w);
	/* Of the two nodes the one that is free first. */
	tap_eq_i64(ask(&w, place_of(&w, 1, 0).node.v == 0 ? "drain=nAa" : "drain=nAb", &a), 0,
	        "a node is drained: %s", w.err.text);
	const struct wz_whatif_row *r = row_of(&a, 3);
	tap_require(r, "told of");
	tap_ok(r->then.latest_us > r->now.latest_us, "later");
	tap_ok(a.later >= 1 && a.earlier == 0, "nobody gains");
	wz_whatif_release(&a);
	tap_eq_i64(ask(&w, "cancel=3", &a), 0, "a job is cancelled");
	tap_ok(row_of(&a, 3) && !row_of(&a, 3)->then.known && a.gone == 1, "it is gone then");
	tap_ok(row_of(&a, 4) && row_of(&a, 4)->then.latest_us < row_of(&a, 4)->now.latest_us, "the next gains");
	wz_whatif_release(&a);
	world_free(&w);
}

static void test_truth(void)
{
	struct world w;
	struct wz_whatif a;
	fill(&w);
	tap_eq_i64(ask(&w, "cancel=1", &a), 0, "were the first cancelled");
	uint64_t then = row_of(&a, 3) ? row_of(&a, 3)->then.latest_us : 0;
	wz_whatif_release(&a);
	job_event(&w, WZ_EV_JOB_CANCELLED, 1);
	run_step(&w); /* stops it */
	run_step(&w);
	tap_eq_i64(wz_core_plan_starts(w.c, &(struct wz_starts_options){.samples = 9}, NULL), 0, "the plan now");
	struct wz_start_estimate e = {.latest_us = w.now};
	if (state_of(&w, 3) == WZ_JOB_WAITING)
		tap_eq_i64(wz_core_starts(w.c, 3, &e), 0, "an estimate");
	tap_ok(e.latest_us <= then + SECOND, "what was said comes true");
	world_free(&w);
}

static void test_wrong(void)
{
	static const struct {
		const char *edits;
		int code;
	} bad[] = {{"", -EINVAL}, {" ", -EINVAL}, {"x", -EINVAL}, {"x=1", -EINVAL}, {"add-nodes=", -EINVAL},
	        {"add-nodes=0xT4", -EINVAL}, {"add-nodes=5000xT4", -EINVAL}, {"add-nodes=xT4", -EINVAL},
	        {"add-nodes=2x", -EINVAL}, {"add-nodes=2xNoSuchModel", -ENOENT}, {"remove-node=", -EINVAL},
	        {"remove-node=nobody", -ENOENT}, {"drain=nobody", -ENOENT}, {"cancel=x", -EINVAL},
	        {"cancel=99", -ENOENT}, {"queue.", -EINVAL}, {"queue.a", -EINVAL}, {"queue.a.", -EINVAL},
	        {"queue..limit=1", -EINVAL}, {"queue.none.limit=gpu:1", -ENOENT}, {"policy=none-such", -ENOENT},
	        {"add-nodes=1xT4 oops", -EINVAL}};
	struct world w;
	struct wz_whatif a;
	fill(&w);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		int r = ask(&w, bad[i].edits, &a);
		tap_ok(r == bad[i].code && w.err.text[0], "\"%s\": %d %s", bad[i].edits, r, w.err.text);
		wz_whatif_release(&a);
	}
	world_free(&w);
}

static void test_queue(void)
{
	struct world w;
	struct wz_whatif a;
	struct wz_event e = {.kind = WZ_EV_QUEUE_SET};
	fill(&w);
	e.u.rules.name = WZ_STR("default");
	e.u.rules.text = WZ_STR("limit=gpu:8 weight=2");
	tap_eq_i64(world_apply(&w, &e), 0, "a limit: %s", w.err.text);
	tap_eq_i64(ask(&w, "add-nodes=1xT4", &a), 0, "more nodes");
	tap_ok(row_of(&a, 3) && row_of(&a, 3)->then.latest_us >= 7000 * SECOND,
	        "do not help while the queue's limit binds");
	wz_whatif_release(&a);
	tap_eq_i64(
	        ask(&w, "add-nodes=1xT4 queue.default.limit=gpu:12", &a), 0, "with a higher limit: %s", w.err.text);
	tap_ok(row_of(&a, 3) && row_of(&a, 3)->then.latest_us <= 120 * SECOND, "they do");
	wz_whatif_release(&a);
	tap_eq_i64(ask(&w, "queue.default.limit=gpu:x", &a), -EINVAL, "a wrong value");
	wz_whatif_release(&a);
	tap_eq_i64(ask(&w, "queue.default.limt=gpu:1", &a), -EINVAL, "a wrong key");
	wz_whatif_release(&a);
	world_free(&w);
}

/* An allocation fails. */
static void test_memory(void)
{
	struct world w;
	struct wz_whatif a;
	fill(&w);
	for (unsigned k = 0;; k += 7) { /* each seventh, for time */
		w.f.fail_at = w.f.allocations + k + 1;
		int r = wz_whatif_ask(w.c, &w.f.mem, WZ_STR("add-nodes=1xT4"),
		        &(struct wz_starts_options){.samples = 9}, &a, &w.err);
		w.f.fail_at = 0;
		wz_whatif_release(&a);
		if (r == 0)
			break;
		tap_ok(r == -ENOMEM, "allocation %u: %d", k, r);
	}
	world_free(&w);
}

int main(void)
{
	tap_run(test_more_nodes);
	tap_run(test_fewer);
	tap_run(test_truth);
	tap_run(test_queue);
	tap_run(test_wrong);
	tap_run(test_memory);
	return tap_done();
}
