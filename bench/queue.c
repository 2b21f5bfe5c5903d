/* SPDX-License-Identifier: Apache-2.0 */
/* A 64-GPU job under a stream of small ones (docs/results-queue.md, case 11 of the tests in tests/issues).
 *
 *	bench_queue [SEEDS [NODES [GANG]]]	GANG: 8x8 (tasks x GPUs), 64x1, ...
 *
 * Nodes of 8 GPUs; 1-GPU jobs arrive by a Poisson process at 95 % load, their run times log-normal with a mean of an hour
 * (sigma 0.6), their time limits three hours, their quantiles told at submission. After six hours the large job is
 * submitted, and the first ten runs go on for a day; their arrivals are run again without promised starts. Printed, over all
 * seeds: how many large jobs started by their first latest, how many within their first likely band, its width, the waits,
 * and what the promise costs in GPU-hours of that day. */
#include "core/core.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR 3600000000ULL
#define SIGMA 0.6
#define LOAD 0.95
#define BIG 1000000000ULL
#define COMPARED \
	10u /* seeds that are run for a day, and again without promises; others until the large job starts */

static void *resize(void *ctx, void *p, size_t old, size_t n)
{
	(void)ctx, (void)old;
	if (n)
		return realloc(p, n);
	free(p);
	return NULL;
}
static const struct wz_mem mem = {resize, NULL};

struct end {
	uint64_t at, job;
	uint32_t task;
};
struct run {
	struct wz_core *c;
	struct wz_plan plan;
	struct wz_rng rng;
	struct end *end; /* heap by time */
	uint32_t n_end, cap;
	uint64_t *length; /* of small jobs, by number */
	uint64_t n_jobs, jobs_cap;
	uint64_t now, next_arrival, held_since;
	double mean_gap, held; /* GPU-us */
	uint64_t gpus_held;
	uint64_t big_length, big_start, measured_from;
	struct wz_start_estimate first;
	bool asked;
};

static double uniform(struct run *r)
{
	return ((double)(wz_rng_next(&r->rng) >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(struct run *r)
{
	double u = uniform(r), v = uniform(r);
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void die(const char *what, const struct wz_err *err)
{
	(void)fprintf(stderr, "%s: %s\n", what, err->text);
	exit(1);
}

static void apply(struct run *r, struct wz_event e)
{
	struct wz_err err;
	e.time_us = r->now;
	if (wz_core_apply(r->c, &e, &err) < 0)
		die("apply", &err);
}

static void push(struct run *r, struct end e)
{
	uint32_t i;
	if (r->n_end == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1024;
		r->end = realloc(r->end, r->cap * sizeof(*r->end));
	}
	for (i = r->n_end++; i && r->end[(i - 1) / 2].at > e.at; i = (i - 1) / 2)
		r->end[i] = r->end[(i - 1) / 2];
	r->end[i] = e;
}

static struct end pop(struct run *r)
{
	struct end top = r->end[0], e = r->end[--r->n_end];
	uint32_t i = 0, k;
	for (; (k = 2 * i + 1) < r->n_end; i = k) {
		if (k + 1 < r->n_end && r->end[k + 1].at < r->end[k].at)
			k++;
		if (r->end[k].at >= e.at)
			break;
		r->end[i] = r->end[k];
	}
	r->end[i] = e;
	return top;
}

static struct wz_profile parse(struct run *r, const char *text)
{
	struct wz_profile p;
	struct wz_err err;
	if (wz_profile_parse(wz_str(text), wz_core_catalogue(r->c), &p, &err) < 0)
		die(text, &err);
	return p;
}

static void account(struct run *r, int64_t gpus)
{
	uint64_t from = r->held_since > r->measured_from ? r->held_since : r->measured_from;
	if (r->now > from)
		r->held += (double)r->gpus_held * (double)(r->now - from);
	r->held_since = r->now;
	r->gpus_held = (uint64_t)((int64_t)r->gpus_held + gpus);
}

static void started(struct run *r, const struct wz_effect *e, uint32_t gpus)
{
	uint64_t length = e->job == BIG ? r->big_length : r->length[e->job];
	apply(r, (struct wz_event){.kind = WZ_EV_EFFECT_CONFIRMED, .u.effect.effect = e->id});
	account(r, gpus);
	if (e->job == BIG)
		r->big_start = r->now;
	push(r, (struct end){r->now + length, e->job, e->task});
}

static void step(struct run *r, uint32_t big_gpus)
{
	struct wz_err err;
	apply(r, (struct wz_event){.kind = WZ_EV_STEP});
	if (wz_core_decide(r->c, 0, &r->plan, &err) < 0)
		die("decide", &err);
	for (uint32_t i = 0; i < r->plan.n; i++)
		if (wz_core_apply_effect(r->c, &r->plan.effect[i], &err) < 0)
			die("effect", &err);
	for (uint32_t i = 0; i < r->plan.n; i++)
		if (r->plan.effect[i].kind == WZ_EF_START)
			started(r, &r->plan.effect[i], r->plan.effect[i].job == BIG ? big_gpus : 1);
}

static void arrive(struct run *r, const struct wz_profile *p)
{
	static const double p80 = 0.8416212335729143, p95 = 1.6448536269514722;
	double mu = log((double)HOUR) - SIGMA * SIGMA / 2;
	uint64_t job = r->n_jobs++;
	double us = exp(mu + SIGMA * normal(r));
	if (r->n_jobs > r->jobs_cap) {
		r->jobs_cap = 2 * r->n_jobs;
		r->length = realloc(r->length, r->jobs_cap * sizeof(*r->length));
	}
	r->length[job] = us > 3.0 * (double)HOUR - 1e6 ? 3 * HOUR - 1000000 : (uint64_t)us + 1;
	apply(r, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
	                 .u.submit = {.job = job,
	                         .user = WZ_STR("small"),
	                         .profile = p,
	                         .p50_us = (uint64_t)exp(mu),
	                         .p80_us = (uint64_t)exp(mu + SIGMA * p80),
	                         .p95_us = (uint64_t)exp(mu + SIGMA * p95)}});
	r->next_arrival = r->now + 1 + (uint64_t)(-log(uniform(r)) * r->mean_gap);
}

static void one(uint64_t seed, uint32_t nodes, const char *gang, bool promise, bool day, struct run *r)
{
	struct wz_device_facts dev[8];
	struct wz_err err;
	struct wz_profile small, big;
	wz_model_id model;
	unsigned tasks = 8, gpus = 8;
	char text[64];
	(void)sscanf(gang, "%ux%u", &tasks, &gpus);
	*r = (struct run){.now = 1, .n_jobs = 1, .big_length = HOUR, .measured_from = 6 * HOUR};
	wz_plan_init(&r->plan, &mem);
	wz_rng_seed(&r->rng, seed);
	if (wz_core_new(&mem, &(struct wz_core_options){.seed = seed}, &r->c, &err) < 0 ||
	        wz_catalogue_find(wz_core_catalogue(r->c), WZ_STR("A100-SXM4-80GB"), &model, &err) < 0)
		die("core", &err);
	for (unsigned i = 0; i < 8; i++)
		dev[i] = (struct wz_device_facts){
		        .model = model, .mem_bytes = 80LL << 30, .compute_milli = WZ_WHOLE};
	for (uint32_t n = 0; n < nodes; n++) {
		(void)snprintf(text, sizeof(text), "n%u", n);
		apply(r, (struct wz_event){.kind = WZ_EV_NODE_JOINED,
		                 .u.node = {.node = {n},
		                         .name = wz_str(text),
		                         .cpu_milli = 128000,
		                         .mem_bytes = 1LL << 40,
		                         .n_devices = 8,
		                         .device = dev}});
	}
	apply(r, (struct wz_event){.kind = WZ_EV_QUEUE_SET,
	                 .u.rules = {WZ_STR("root"), promise ? WZ_STR("") : WZ_STR("reserve=0")}});
	small = parse(r, "gpus=1 cpus=8 time=3h");
	(void)snprintf(text, sizeof(text), "gpus=%u tasks=%u cpus=%u time=2h", gpus, tasks, gpus * 8);
	big = parse(r, text);
	r->mean_gap = (double)HOUR / (nodes * 8 * LOAD);
	r->next_arrival = r->now + 1;
	for (bool sent = false; r->now < 30 * HOUR && (day || !r->big_start);) {
		uint64_t t = r->next_arrival;
		t = r->n_end && r->end[0].at < t ? r->end[0].at : t;
		if (!sent && t >= 6 * HOUR) {
			r->now = 6 * HOUR;
			apply(r, (struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
			                 .u.submit = {.job = BIG, .user = WZ_STR("large"), .profile = &big}});
			step(r, gpus);
			sent = true;
			if (r->big_start == 0 &&
			        wz_core_plan_starts(r->c, &(struct wz_starts_options){.samples = 39}, &err) < 0)
				die("starts", &err);
			if (r->big_start == 0)
				r->asked = wz_core_starts(r->c, BIG, &r->first) == 0;
			continue;
		}
		r->now = t;
		if (t == r->next_arrival) {
			arrive(r, &small);
		} else {
			struct end e = pop(r);
			apply(r, (struct wz_event){.kind = WZ_EV_TASK_ENDED,
			                 .u.task = {.job = e.job,
			                         .task = e.task,
			                         .attempt = 1,
			                         .end = WZ_END_COMPLETED}});
			account(r, e.job == BIG ? -(int64_t)gpus : -1);
		}
		step(r, gpus);
	}
	account(r, 0);
	wz_plan_release(&r->plan);
	wz_core_free(r->c);
	free(r->end);
	free(r->length);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double quantile(double *v, unsigned n, double q)
{
	qsort(v, n, sizeof(*v), by_value);
	return n ? v[(unsigned)(q * (n - 1))] : 0;
}

int main(int argc, char **argv)
{
	unsigned seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
	uint32_t nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 32;
	const char *gang = argc > 3 ? argv[3] : "8x8";
	unsigned compared = 0, at_once = 0, asked = 0, by_latest = 0, within = 0, before = 0, never = 0,
	         never_without = 0;
	double held = 0, held_without = 0, *wait = calloc(seeds, sizeof(double)),
	       *width = calloc(seeds, sizeof(double));
	double *without = calloc(seeds, sizeof(double));
	unsigned n_without = 0, n_wait = 0;
	for (unsigned s = 1; s <= seeds; s++) {
		struct run r, q;
		one(s, nodes, gang, true, s <= COMPARED, &r);
		if (s <= COMPARED) {
			one(s, nodes, gang, false, true, &q);
			compared++;
			held += r.held;
			held_without += q.held;
			never_without += q.big_start == 0;
			if (q.big_start)
				without[n_without++] = (double)(q.big_start - 6 * HOUR) / (double)HOUR;
		}
		never += r.big_start == 0;
		if (r.big_start)
			wait[n_wait++] = (double)(r.big_start - 6 * HOUR) / (double)HOUR;
		at_once += r.big_start == 6 * HOUR;
		if (s % 10 == 0)
			(void)fprintf(stderr, "%u seeds: %u of %u by the latest, %u within\n", s, by_latest, asked,
			        within);
		if (!r.asked)
			continue;
		by_latest += r.big_start && r.big_start <= r.first.latest_us;
		within += r.big_start >= r.first.likely_from_us && r.big_start <= r.first.likely_to_us;
		before += r.big_start && r.big_start < r.first.likely_from_us;
		width[asked++] = (double)(r.first.likely_to_us - r.first.likely_from_us) / (double)HOUR;
	}
	printf("gang %s on %u nodes of 8, %u seeds\n", gang, nodes, seeds);
	printf("started at once %u, asked %u\n", at_once, asked);
	printf("by the first latest   %5.1f %%\n", 100.0 * by_latest / (asked ? asked : 1));
	printf("within the first band %5.1f %% (%u before, %u after), median width %.2f h\n",
	        100.0 * within / (asked ? asked : 1), before, asked - within - before, quantile(width, asked, 0.5));
	printf("wait, promised        median %.2f h, largest %.2f h, %u never\n", quantile(wait, n_wait, 0.5),
	        quantile(wait, n_wait, 1), never);
	printf("wait, not promised    median %.2f h, largest %.2f h, %u never in 24 h\n",
	        quantile(without, n_without, 0.5), quantile(without, n_without, 1), never_without);
	printf("GPU-hours of the day  %.0f promised, %.0f not, over %u seeds: %.2f %% lost\n", held / (double)HOUR,
	        held_without / (double)HOUR, compared, 100 * (held_without - held) / held_without);
	free(wait);
	free(width);
	free(without);
	return 0;
}
