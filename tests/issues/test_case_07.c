/* SPDX-License-Identifier: Apache-2.0 */
/* Case 7: endless preemption under fair sharing. The order and the right to take back use one comparison: who may take back
 * stays within its guarantee, who loses has more than its own. So whoever took something back can never lose it to the one it
 * took it from: no cycle of two, on random trees; and the published tree (two queues with a guarantee, one without) settles
 * after as many evictions as there were arrivals of who is owed. */
#include "core/queues.h"

#include "base/rng.h"

static bool may(struct world *w, uint64_t victim, uint64_t beneficiary)
{
	return wz_core_may_reclaim(w->c, victim, beneficiary) == 1;
}

/* Takes back for one job, as little as it takes: the victims end and are submitted again under new numbers. */
static unsigned make_room(
        struct world *w, uint64_t job, uint64_t *last, const char *queue_of[], const char *text_of[])
{
	unsigned evicted = 0;
	while (run_step(w), state_of(w, job) == WZ_JOB_WAITING) {
		uint64_t v = 1;
		while (v <= *last && !(state_of(w, v) == WZ_JOB_RUNNING && may(w, v, job)))
			v++;
		if (v > *last)
			break;
		end_job(w, v);
		++*last;
		queue_of[*last] = queue_of[v];
		text_of[*last] = text_of[v];
		submit_as(w, *last, "u", queue_of[v], text_of[v]);
		evicted++;
	}
	return evicted;
}

static void test_published_tree(void)
{
	static const char *queue_of[128], *text_of[128];
	struct world w;
	uint64_t last = 0;
	unsigned evictions = 0, arrivals = 0;
	world_init(&w);
	node_of(&w, 0, 8, "T4");
	queue_set(&w, "root", "half-life=0s");
	queue_set(&w, "a", "guaranteed=gpu:4");
	queue_set(&w, "b", "guaranteed=gpu:4");
	queue_set(&w, "best-effort", "");
	for (unsigned i = 0; i < 8; i++) {
		queue_of[++last] = "best-effort";
		text_of[last] = "gpus=1 time=9h";
		submit_as(&w, last, "u", "best-effort", text_of[last]);
	}
	run_step(&w);
	tap_eq_i64(queue_info(&w, "best-effort").gpu_milli, 8000, "0 : 8");
	for (unsigned i = 0; i < 10; i++) {
		queue_of[++last] = i % 2 ? "a" : "b";
		text_of[last] = "gpus=1 time=9h";
		submit_as(&w, last, "u", queue_of[last], text_of[last]);
		arrivals++;
		evictions += make_room(&w, last, &last, queue_of, text_of);
	}
	tap_eq_i64(queue_info(&w, "a").gpu_milli, 4000, "what a is owed");
	tap_eq_i64(queue_info(&w, "b").gpu_milli, 4000, "what b is owed");
	tap_eq_i64(evictions, 8, "one for each that was owed");
	for (uint64_t j = 1, before = last; j <= before; j++)
		if (state_of(&w, j) == WZ_JOB_WAITING)
			tap_eq_i64(make_room(&w, j, &last, queue_of, text_of), 0, "nobody is owed more");
	world_free(&w);
}

/* Returns how often something was taken back. */
static unsigned random_tree(uint64_t seed)
{
	static const char *const names[] = {"a", "b", "a1", "a2", "b1", "b2"};
	struct world w;
	struct wz_rng rng;
	char text_of[41][48];
	const char *queue_of[41];
	uint64_t last = 40;
	unsigned pairs = 0;
	world_init_opt(&w, (struct wz_core_options){.seed = seed});
	wz_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < 2; i++)
		node_of(&w, i, 8, i ? "T4" : "A100-SXM4-80GB");
	for (unsigned i = 0; i < 6; i++) {
		char text[96];
		int n = 0;
		text[0] = 0;
		if (names[i][1])
			n = snprintf(text, sizeof(text), "parent=%c ", names[i][0]);
		if (wz_rng_below(&rng, 3))
			snprintf(text + n, sizeof(text) - (size_t)n, "guaranteed=gpu:%u,t4:%u",
			        (unsigned)wz_rng_below(&rng, 8) + 1, (unsigned)wz_rng_below(&rng, 4) + 1);
		queue_set(&w, names[i], text);
	}
	for (uint64_t j = 1; j <= 40; j++) {
		snprintf(text_of[j], sizeof(text_of[j]), "gpus=%u time=1h", (unsigned)wz_rng_below(&rng, 3) + 1);
		queue_of[j] = names[2 + wz_rng_below(&rng, 4)];
		submit_as(&w, j, "u", queue_of[j], text_of[j]);
		if (j % 8 == 0)
			run_step(&w);
	}
	for (uint64_t b = 1; b <= 40; b++)
		for (uint64_t v = 1; v <= 40 && state_of(&w, b) == WZ_JOB_WAITING; v++) {
			if (state_of(&w, v) != WZ_JOB_RUNNING || !may(&w, v, b))
				continue;
			end_job(&w, v);
			run_step(&w);
			/* The same work comes back: it must not take from whom it was taken for. */
			submit_as(&w, ++last, "u", queue_of[v], text_of[v]);
			if (state_of(&w, b) == WZ_JOB_RUNNING) {
				tap_ok(!may(&w, b, last),
				        "seed %" PRIu64 ": job %" PRIu64 " took back from %" PRIu64
				        " and would lose it",
				        seed, b, v);
				pairs++;
			}
			job_event(&w, WZ_EV_JOB_CANCELLED, last);
		}
	world_free(&w);
	return pairs;
}

static void test_random_trees(void)
{
	unsigned pairs = 0;
	for (uint64_t seed = 1; seed <= 80; seed++)
		pairs += random_tree(seed);
	tap_ok(pairs >= 30, "%u were taken back", pairs);
}

int main(void)
{
	tap_run(test_published_tree);
	tap_run(test_random_trees);
	return tap_done();
}
