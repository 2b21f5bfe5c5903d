/* SPDX-License-Identifier: Apache-2.0 */
/* Case 40: 30 % of the cards are free and scattered, and a job of 8 cannot start. Nothing moves by itself; asked to repack, as few as
 * necessary do, within the number allowed, and a disruption budget is kept. */
#include "core/world.h"

#define NODES 4u

static void scattered(struct world *w)
{
	world_init(w);
	for (uint32_t n = 0; n < NODES; n++)
		node_of(w, n, 8, "T4");
	for (uint32_t n = 0; n < NODES; n++) { /* 5 or 6 of 8 on each */
		for (uint32_t k = 0; k < NODES; k++)
			node_ready(w, k, true, k != n);
		for (uint32_t i = 0; i < 5u + n % 2; i++)
			submit(w, 10 * n + i + 1, "gpus=1 cpus=1 preempt=signal:USR1");
		run_step(w);
	}
	for (uint32_t k = 0; k < NODES; k++)
		node_ready(w, k, true, false);
	submit(w, 99, "gpus=8 cpus=8");
	for (int i = 0; i < 10; i++) {
		step(w);
		tap_eq_i64(w->plan.n && w->plan.effect[0].kind != WZ_EF_EXPLAIN, 0, "nothing moves by itself");
	}
	tap_eq_i64(why(w, 99).main, WZ_REASON_BUSY, "scattered");
}

static unsigned ask(struct world *w, const char *text)
{
	unsigned moves = 0;
	world_apply(w, &(struct wz_event){.kind = WZ_EV_REPACK_ASKED, .u.named.name = wz_str(text)});
	for (int i = 0; i < 3; i++) {
		step(w);
		for (uint32_t k = 0; k < w->plan.n; k++) {
			uint32_t kind = w->plan.effect[k].kind;
			moves += kind == WZ_EF_PREEMPT;
			if (kind == WZ_EF_PREEMPT || kind == WZ_EF_START)
				ack(w, WZ_EV_EFFECT_CONFIRMED, w->plan.effect[k].id);
		}
	}
	return moves;
}

static void test_scattered(void)
{
	struct world w;
	scattered(&w);
	tap_eq_i64(ask(&w, "moves=4"), 0, "four moves are not enough");
	tap_eq_i64(ask(&w, "moves=8"), 5, "the five of the emptiest node move");
	tap_eq_i64(state_of(&w, 99), WZ_JOB_RUNNING, "the job starts");
	for (uint32_t n = 0; n < NODES; n++)
		for (uint32_t i = 0; i < 5u + n % 2; i++)
			tap_eq_i64(state_of(&w, 10 * n + i + 1), WZ_JOB_RUNNING, "everybody runs");
	world_free(&w);
}

static void test_budget(void)
{
	struct world w;
	scattered(&w);
	world_apply(&w, &(struct wz_event){.kind = WZ_EV_DISRUPTION_BUDGET_SET,
	                        .u.budget = {.name = WZ_STR("all"),
	                                .selector = WZ_STR("!nobody-has-this"),
	                                .limit = 4,
	                                .most = true}});
	tap_eq_i64(ask(&w, "moves=8"), 0, "four at most may stop together, and five would have to");
	world_free(&w);
}

int main(void)
{
	tap_run(test_scattered);
	tap_run(test_budget);
	return tap_done();
}
