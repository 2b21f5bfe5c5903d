/* SPDX-License-Identifier: Apache-2.0 */
/* Case 32: cutting cards wedges. In the core a cut is a transaction with a deadline: a card in transition is nobody's, whether the
 * body answers, refuses or dies at any point, capacity is what the facts say, and no effect stays in flight for ever. */
#include "core/world.h"

#include "base/rng.h"

static void slot(struct world *w, unsigned i, uint16_t kind)
{
	device_changed(w, 0, i,
	        (struct dev){
	                .model = "A30", .card = 1, .partition = kind, .mem = kind == WZ_PARTITION_EMPTY ? -1 : 0});
}

/* The body dies after `facts` of the facts of a cut were told. */
static void dies_after(unsigned facts, bool answers)
{
	struct dev d[4] = {{.model = "A30", .card = 1},
	        {.model = "A30", .card = 1, .partition = WZ_PARTITION_EMPTY},
	        {.model = "A30", .card = 1, .partition = WZ_PARTITION_EMPTY},
	        {.model = "A30", .card = 1, .partition = WZ_PARTITION_EMPTY}};
	struct wz_flight_info f;
	const struct wz_effect *e;
	unsigned told = 0;
	struct world w;
	world_init(&w);
	node_like(&w, 0, 4, d, (struct wz_ev_node){0});
	submit(&w, 1, "gpu-mig=2g.12gb");
	submit(&w, 2, "gpus=1 preempt=never");
	job_event(&w, WZ_EV_JOB_HELD, 2);
	step(&w);
	e = &w.plan.effect[w.plan.n - 1];
	tap_eq_i64(e->kind, WZ_EF_REPARTITION, "a cut");
	job_event(&w, WZ_EV_JOB_RELEASED, 2);
	for (uint64_t m = e->place.devices; m && told < facts; m &= m - 1, told++)
		slot(&w, (unsigned)__builtin_ctzll(m), WZ_PARTITION_EMPTY);
	if (told < facts)
		slot(&w, e->task, (uint16_t)e->reason);
	decide_within(&w, 0);
	tap_ok(!plan_find(&w, WZ_EF_START, 2, 0), "nobody gets a card in transition");
	if (answers)
		ack(&w, WZ_EV_EFFECT_REFUSED, e->id);
	else
		at(&w, 3600);
	tap_eq_i64(wz_core_flights(w.c, &f, 1), 0, "nothing is in flight any more");
	/* The body is back and tells what there is: whole again. */
	for (unsigned i = 0; i < 4; i++)
		slot(&w, i, i ? WZ_PARTITION_EMPTY : WZ_PARTITION_WHOLE);
	step(&w);
	tap_ok(plan_find(&w, WZ_EF_START, 2, 0) != NULL || plan_find(&w, WZ_EF_REPARTITION, 1, 2) != NULL,
	        "the card is used");
	tap_eq_i64(stats(&w).gpu_milli_capacity, 1000, "capacity is what the facts say");
	world_free(&w);
}

static void test_dies(void)
{
	for (unsigned facts = 0; facts <= 2; facts++) {
		dies_after(facts, true);
		dies_after(facts, false);
	}
}

int main(void)
{
	tap_run(test_dies);
	return tap_done();
}
