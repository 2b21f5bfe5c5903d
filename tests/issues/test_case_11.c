/* SPDX-License-Identifier: Apache-2.0 */
/* Case 11: large jobs starve. Small jobs arrive at 95 % load, one large gang wants a quarter of the cluster: it starts by the first
 * latest start that it was told, and what the cluster runs in the ten hours from there is at most 2 % less than without the
 * promise. bench/queue.c measures the same at length (docs/results-queue.md). */
#include "core/queues.h"

#include "base/rng.h"

#define NODES 8u
#define MINUTE (60 * SECOND)
#define JOBS_MAX 4000u

struct stream {
	struct world w;
	struct wz_rng rng;
	uint64_t end[JOBS_MAX], length[JOBS_MAX];
	uint64_t next, big, started, latest;
	uint64_t used; /* device-minutes in the window */
};

/* Run times from 10 to 110 minutes, evenly: a mean of an hour; limits of two hours. A step every minute. */
static void minute(struct stream *s, bool arrivals)
{
	s->w.now += MINUTE;
	for (uint64_t j = 1; j < s->next; j++)
		if (s->end[j] && s->end[j] <= s->w.now) {
			end_job(&s->w, j);
			s->end[j] = 0;
		}
	for (unsigned k = 0; arrivals && k < 3; k++) { /* 1.0 a minute on average of 64 x 0.95 / 60 */
		if (wz_rng_below(&s->rng, 3000) >= 1013 || s->next == JOBS_MAX)
			continue;
		submit_as(&s->w, s->next, "small", "", "gpus=1 cpus=1 time=2h");
		s->length[s->next++] = (wz_rng_below(&s->rng, 101) + 10) * MINUTE;
	}
	run_step(&s->w);
	for (uint64_t j = 1; j < s->next; j++)
		if (s->length[j] && state_of(&s->w, j) == WZ_JOB_RUNNING) {
			s->end[j] = s->w.now + s->length[j];
			s->length[j] = 0;
			if (j == s->big)
				s->started = s->w.now;
		}
}

static void run(struct stream *s, uint64_t seed, bool promise)
{
	struct wz_start_estimate e;
	*s = (struct stream){.next = 1};
	world_init_opt(&s->w, (struct wz_core_options){.seed = seed});
	wz_rng_seed(&s->rng, seed);
	for (uint32_t i = 0; i < NODES; i++)
		node_of(&s->w, i, 8, "T4");
	queue_set(&s->w, "root", promise ? "half-life=0s" : "half-life=0s reserve=0");
	for (unsigned i = 0; i < 180; i++)
		minute(s, true);
	s->big = s->next++;
	submit_as(&s->w, s->big, "large", "", "gpus=8 tasks=2 cpus=8 time=2h");
	s->length[s->big] = 60 * MINUTE;
	minute(s, true);
	int r = wz_core_plan_starts(s->w.c, &(struct wz_starts_options){.samples = 19}, &s->w.err);
	tap_eq_i64(r, 0, "starts");
	if (wz_core_starts(s->w.c, s->big, &e) == 0)
		s->latest = e.latest_us;
	for (unsigned i = 0; i < 600; i++) {
		minute(s, true);
		s->used += stats(&s->w).gpu_milli_held / 1000;
	}
	world_free(&s->w);
}

static void test_large_job(void)
{
	static struct stream s, without;
	uint64_t used = 0, used_without = 0;
	unsigned late = 0, starved = 0;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		run(&s, seed, true);
		run(&without, seed, false);
		/* steps are a minute apart, and so later than the ends that they wait for */
		late += s.started == 0 || s.latest == 0 || s.started > s.latest + 2 * MINUTE;
		starved += without.started == 0;
		used += s.used;
		used_without += without.used;
	}
	tap_eq_i64(late, 0, "every large job starts by its first latest");
	tap_ok(starved > 0, "without a promise %u of 6 do not start in ten hours", starved);
	tap_ok(used * 100 >= used_without * 98, "device-minutes: %" PRIu64 " promised, %" PRIu64 " not", used,
	        used_without);
}

int main(void)
{
	tap_run(test_large_job);
	return tap_done();
}
