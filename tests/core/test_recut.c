/* SPDX-License-Identifier: Apache-2.0 */
/* Hard slices in the core: instances that are there, cards that are cut for a task, refusals, and a slow direct model. */
#include "world.h"

#include "base/rng.h"

#define EMPTY WZ_PARTITION_EMPTY

/* `cards` cards of 7 slots; first: what slot 0 is. */
static void cards_node(
        struct world *w, uint32_t id, const char *model, unsigned cards, uint16_t first, unsigned slots)
{
	struct dev d[WZ_NODE_DEVICES_MAX] = {{0}};

	for (unsigned i = 0; i < cards * slots; i++)
		d[i] = (struct dev){
		        .model = model, .card = (uint8_t)(1 + i / slots), .partition = i % slots ? EMPTY : first};
	tap_eq_i64(node_like(w, id, cards * slots, d, (struct wz_ev_node){0}), 0, "a node with %u cards", cards);
}

static void facts(struct world *w, uint32_t node, uint32_t slot, uint16_t kind)
{
	const struct wz_model_state *m = wz_core_model(w->c);
	const struct wz_device *d = &m->dev[m->node[node].first_dev + slot];
	const struct wz_partition_kind *k = wz_partition_find(kind);
	tap_eq_i64(device_changed(w, node, slot,
	                   (struct dev){.model = wz_core_catalogue(w->c)->model[d->model].name,
	                           .card = d->card,
	                           .partition = kind,
	                           .mem = kind == EMPTY ? -1
	                                  : k && k->mem ? k->mem
	                                                : 0}),
	        0, "facts of a slot");
}

/* Does what a card would do; returns how many cuts the plan had. */
static unsigned cut_all(struct world *w, bool refuse)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < w->plan.n; i++) {
		const struct wz_effect *e = &w->plan.effect[i];
		if (e->kind != WZ_EF_REPARTITION)
			continue;
		n++;
		for (uint64_t m = refuse ? 0 : e->place.devices; m; m &= m - 1)
			facts(w, e->place.node.v, (uint32_t)__builtin_ctzll(m), EMPTY);
		if (!refuse)
			facts(w, e->place.node.v, e->task, (uint16_t)e->reason);
		tap_eq_i64(ack(w, refuse ? WZ_EV_EFFECT_REFUSED : WZ_EV_EFFECT_CONFIRMED, e->id), 0,
		        "the cut is answered");
	}
	return n;
}

static uint16_t kind_at(struct world *w, uint32_t node, uint32_t slot)
{
	const struct wz_model_state *m = wz_core_model(w->c);
	return m->dev[m->node[node].first_dev + slot].partition;
}

static const char *name_at(struct world *w, uint32_t node, uint32_t slot)
{
	const struct wz_partition_kind *k = wz_partition_find(kind_at(w, node, slot));
	return k ? k->name : "none";
}

static void test_cut_and_start(void)
{
	struct world w;
	world_init(&w);
	cards_node(&w, 0, "A100-SXM4-80GB", 1, WZ_PARTITION_WHOLE, 7);
	submit(&w, 1, "gpu-mig=1g.10gb cpus=1");
	tap_eq_i64(why(&w, 1).main, WZ_REASON_PARTITION, "a card must be cut first");
	tap_ok(!why(&w, 1).never, "which is possible");
	tap_eq_i64(step(&w), 0, "nothing starts yet");
	tap_eq_i64(w.plan.n, 2, "an explanation and a cut");
	tap_eq_i64(w.plan.effect[1].task, 6, "from the high end");
	submit(&w, 2, "gpus=1 cpus=1");
	decide_within(&w, 0);
	tap_ok(!plan_find(&w, WZ_EF_START, 2, 0), "a card that is being cut is nobody's");
	w.plan.n = 0;
	submit(&w, 3, "gpu-mig=1g.10gb cpus=1");
	step(&w);
	tap_ok(w.plan.n >= 1, "the second one's cut is proposed while the first is in flight");
	for (uint32_t i = 0; i < w.plan.n; i++)
		if (w.plan.effect[i].kind == WZ_EF_REPARTITION)
			tap_eq_i64(w.plan.effect[i].task, 5, "beside it");
	world_free(&w);
}

static void test_life(void)
{
	struct world w;
	world_init(&w);
	cards_node(&w, 0, "A100-SXM4-80GB", 1, WZ_PARTITION_WHOLE, 7);
	submit(&w, 1, "gpu-mig=1g.10gb cpus=1");
	step(&w);
	cut_all(&w, false);
	tap_eq_i64(run_step(&w), 1, "starts once it is cut");
	tap_eq_i64(place_of(&w, 1, 0).devices, 1 << 6, "on the instance");
	tap_eq_i64(place_of(&w, 1, 0).dev_milli, 142, "all of its compute");
	submit(&w, 2, "gpu-mig=auto gpu-mem=35Gi cpus=1");
	step(&w);
	tap_eq_i64(cut_all(&w, false), 1, "a 3g or 4g is cut");
	tap_eq_i64(run_step(&w), 1, "and given");
	tap_ok(strcmp(name_at(&w, 0, 0), "3g.40gb") == 0, "the smallest that holds 35Gi: %s", name_at(&w, 0, 0));
	submit(&w, 3, "gpus=1 cpus=1");
	step(&w);
	tap_eq_i64(cut_all(&w, false), 0, "a card with work is not made whole");
	tap_eq_i64(why(&w, 3).main, WZ_REASON_MODEL, "there is no whole card");
	task_event(&w, WZ_EV_TASK_ENDED, 1, 0, 1, WZ_END_COMPLETED, false);
	step(&w);
	tap_eq_i64(cut_all(&w, false), 0, "not while one instance has work");
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_COMPLETED, false);
	tap_eq_i64(why(&w, 3).main, WZ_REASON_PARTITION, "an idle card can be made whole");
	step(&w);
	tap_eq_i64(cut_all(&w, false), 1, "and is");
	tap_eq_i64(run_step(&w), 1, "then the job starts");
	tap_eq_i64(place_of(&w, 3, 0).devices, 1, "on the whole card");
	tap_eq_i64(kind_at(&w, 0, 6), EMPTY, "no instance is left");
	world_free(&w);
}

/* Only free instances go; those with work stay where they are. */
static void test_in_use_stays(void)
{
	struct world w;
	uint16_t one = wz_partition_named(WZ_STR("1g.6gb"))->number;
	world_init(&w);
	cards_node(&w, 0, "A30", 1, one, 4);
	for (unsigned s = 1; s < 4; s++)
		facts(&w, 0, s, one);
	for (uint64_t j = 1; j <= 4; j++)
		submit(&w, j, "gpu-mig=1g.6gb cpus=1");
	tap_eq_i64(run_step(&w), 4, "four instances, four tasks");
	submit(&w, 9, "gpu-mig=2g.12gb cpus=1");
	step(&w);
	tap_eq_i64(cut_all(&w, false), 0, "no room");
	for (uint64_t j = 1; j <= 4; j++) /* two neighbours that are no legal place, then a pair that is */
		if (place_of(&w, j, 0).devices & (1 << 1 | 1 << 2))
			task_event(&w, WZ_EV_TASK_ENDED, j, 0, 1, WZ_END_COMPLETED, false);
	step(&w);
	tap_eq_i64(cut_all(&w, false), 0, "slices 1 and 2 are no place of a 2g");
	for (uint64_t j = 1; j <= 4; j++)
		if (place_of(&w, j, 0).devices == 1 << 3)
			task_event(&w, WZ_EV_TASK_ENDED, j, 0, 1, WZ_END_COMPLETED, false);
	step(&w);
	tap_eq_i64(cut_all(&w, false), 1, "slices 2 and 3 are");
	tap_eq_i64(run_step(&w), 1, "it starts");
	tap_eq_i64(place_of(&w, 9, 0).devices, 1 << 2, "at 2");
	tap_ok(kind_at(&w, 0, 0) == one && kind_at(&w, 0, 1) == one && kind_at(&w, 0, 3) == EMPTY,
	        "the others are as they were");
	world_free(&w);
}

static void test_refused(void)
{
	struct world w;
	world_init(&w);
	cards_node(&w, 0, "A100-SXM4-80GB", 2, WZ_PARTITION_WHOLE, 7);
	submit(&w, 1, "gpu-mig=7g.80gb cpus=1");
	step(&w);
	tap_eq_i64(cut_all(&w, true), 1, "a cut, refused");
	step(&w);
	tap_eq_i64(cut_all(&w, true), 1, "the other card, refused");
	step(&w);
	tap_eq_i64(cut_all(&w, true), 0, "then nobody is asked any more");
	submit(&w, 2, "gpus=2 cpus=1");
	tap_eq_i64(run_step(&w), 1, "the cards are whole and can be used so");
	task_event(&w, WZ_EV_TASK_ENDED, 2, 0, 1, WZ_END_COMPLETED, false);
	facts(&w, 0, 0, WZ_PARTITION_WHOLE);
	step(&w);
	tap_eq_i64(cut_all(&w, false), 1, "a fact about it, and it is asked again");
	tap_eq_i64(run_step(&w), 1, "and serves");
	world_free(&w);
}

static void test_expired_and_lost(void)
{
	struct world w;
	struct wz_flight_info f;
	world_init(&w);
	cards_node(&w, 0, "A100-SXM4-80GB", 1, WZ_PARTITION_WHOLE, 7);
	submit(&w, 1, "gpu-mig=1g.10gb");
	step(&w);
	tap_eq_i64(wz_core_flights(w.c, &f, 1), 1, "one effect in flight");
	tap_ok(f.kind == WZ_EF_REPARTITION && f.job == 0, "the cut");
	at(&w, 100);
	tap_eq_i64(wz_core_flights(w.c, &f, 1), 0, "it expired");
	step(&w);
	tap_eq_i64(cut_all(&w, false), 0, "and is not asked again");
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	cards_node(&w, 0, "A100-SXM4-80GB", 1, WZ_PARTITION_WHOLE, 7);
	step(&w);
	tap_eq_i64(w.plan.effect[w.plan.n - 1].kind, WZ_EF_REPARTITION, "the node came back: a new try");
	node_event(&w, WZ_EV_NODE_LEFT, 0);
	tap_eq_i64(wz_core_flights(w.c, &f, 1), 0, "a node that leaves takes its cuts along");
	ack(&w, WZ_EV_EFFECT_CONFIRMED, w.plan.effect[w.plan.n - 1].id);
	world_free(&w);
}

static void test_stale(void)
{
	struct world w;
	struct wz_effect e;
	world_init(&w);
	cards_node(&w, 0, "A100-SXM4-80GB", 1, WZ_PARTITION_WHOLE, 7);
	submit(&w, 1, "gpu-mig=1g.10gb");
	decide_within(&w, 0);
	e = w.plan.effect[w.plan.n - 1];
	tap_eq_i64(e.kind, WZ_EF_REPARTITION, "a cut");
	e.task = 7;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a slot that is not there");
	e.task = 5;
	e.reason = wz_partition_named(WZ_STR("2g.20gb"))->number + 100;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a kind that is not known");
	e.reason = wz_partition_named(WZ_STR("1g.5gb"))->number;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "a kind of another card");
	e = w.plan.effect[w.plan.n - 1];
	e.place.devices = 0;
	tap_eq_i64(apply_effect(&w, &e), -ESTALE, "the whole card is in the way");
	tap_eq_i64(apply_effect(&w, &w.plan.effect[w.plan.n - 1]), 0, "as decided");
	world_free(&w);
}

static void round_trip(struct world *w)
{
	struct wz_core *copy = NULL;
	struct wz_buf b;
	bool same = false;
	wz_buf_init(&b, &w->f.mem, 1 << 24);
	tap_eq_i64(wz_core_export(w->c, &b, &w->err), 0, "export");
	int r = wz_core_import(&w->f.mem, NULL, wz_buf_str(&b), &copy, &same, &w->err);
	tap_ok(r == 0 && same, "import: %s", w->err.text);
	tap_ok(r == 0 && wz_core_digest(copy) == wz_core_digest(w->c), "the same digest");
	wz_core_free(copy);
	wz_buf_release(&b);
}

/* ---- the slow model: which slices hold work, by the places of live jobs alone ---- */

struct live {
	uint64_t job;
	uint16_t mig;
};

static bool brute_could(struct world *w, uint16_t mig)
{
	const struct wz_model_state *m = wz_core_model(w->c);
	for (uint32_t n = 0; n < m->n_nodes; n++)
		for (uint32_t i = 0; i < m->node[n].n_dev; i += 7) {
			const struct wz_device *d = &m->dev[m->node[n].first_dev + i];
			const struct wz_partition_kind *k;
			uint8_t busy = 0;
			unsigned same;
			for (uint32_t s = 0; s < 7; s++)
				if (d[s].n_tasks)
					busy |= d[s].partition
					                ? wz_partition_span(wz_partition_find(d[s].partition), s)
					                : 0xff;
			for (uint32_t j = 0; (k = wz_partition_at(j)); j++) {
				if (k->geometry != wz_partition_geometry(WZ_STR("H100-SXM5-80GB")) ||
				        strcmp(k->name, wz_partition_find(mig)->name) != 0)
					continue;
				for (same = 0; same < 7 && !(d[same].partition == k->number && !d[same].n_tasks);
				        same++)
					;
				if (same < 7)
					return true; /* a free instance */
				for (uint32_t s = 0; s < 8; s++)
					if ((k->starts >> s & 1) && !(busy & wz_partition_span(k, s)))
						return true;
			}
		}
	return false;
}

static void legal(struct world *w)
{
	const struct wz_model_state *m = wz_core_model(w->c);
	unsigned bad = 0;
	for (uint32_t n = 0; n < m->n_nodes; n++)
		for (uint32_t i = 0; i < m->node[n].n_dev; i += 7) {
			const struct wz_device *d = &m->dev[m->node[n].first_dev + i];
			uint8_t taken = 0;
			for (uint32_t s = 0; s < 7; s++) {
				const struct wz_partition_kind *k = wz_partition_find(d[s].partition);
				uint8_t span = d[s].partition == EMPTY ? 0 : k ? wz_partition_span(k, s) : 0xff;
				bad += (taken & span) != 0 || (k && !(k->starts >> s & 1)) || (d[s].n_tasks > 1);
				bad += d[s].partition == EMPTY && d[s].n_tasks;
				taken |= span;
			}
		}
	tap_eq_i64(bad, 0, "every card is a legal set, one task an instance");
}

static void test_random(uint64_t seed)
{
	static const char *const names[] = {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
	struct live live[64];
	unsigned n = 0, waited = 0;
	struct world w;
	struct wz_rng rng;

	wz_rng_seed(&rng, seed);
	world_init_opt(&w, (struct wz_core_options){.seed = seed});
	for (uint32_t i = 0; i < 2; i++)
		cards_node(&w, i, "H100-SXM5-80GB", 2, i ? EMPTY : WZ_PARTITION_WHOLE, 7);
	for (uint64_t j = 1; j <= 60; j++) {
		unsigned k = (unsigned)wz_rng_below(&rng, 6);
		char text[64];
		snprintf(text, sizeof(text), "gpu-mig=%s", names[k]);
		submit(&w, j, text);
		for (int i = 0; i < 4 && state_of(&w, j) == WZ_JOB_WAITING; i++) {
			run_step(&w);
			if (seed % 3 == 0)
				round_trip(&w);
			cut_all(&w, false);
		}
		legal(&w);
		if (state_of(&w, j) == WZ_JOB_WAITING) {
			waited++;
			tap_ok(!brute_could(&w, wz_partition_named(wz_str(names[k]))->number),
			        "seed %" PRIu64 ": %s waits although it could be cut", seed, names[k]);
			job_event(&w, WZ_EV_JOB_CANCELLED, j);
		} else {
			live[n++] = (struct live){.job = j};
		}
		while (n && wz_rng_below(&rng, 5) < 2) {
			unsigned at = (unsigned)wz_rng_below(&rng, n);
			task_event(&w, WZ_EV_TASK_ENDED, live[at].job, 0, 1, WZ_END_COMPLETED, false);
			live[at] = live[--n];
		}
	}
	tap_ok(waited > 0 && waited < 60, "seed %" PRIu64 ": some wait, some do not (%u)", seed, waited);
	world_free(&w);
}

static void test_random_seeds(void)
{
	for (uint64_t seed = 1; seed <= 12; seed++)
		test_random(seed);
}

int main(void)
{
	tap_run(test_cut_and_start);
	tap_run(test_life);
	tap_run(test_in_use_stays);
	tap_run(test_refused);
	tap_run(test_expired_and_lost);
	tap_run(test_stale);
	tap_run(test_random_seeds);
	return tap_done();
}
