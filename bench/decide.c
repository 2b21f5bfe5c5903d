/* SPDX-License-Identifier: Apache-2.0 */
/* What one decision costs on a full cluster.
 *
 * A generated openb-like cluster (device memories unequal, some tasks asking for an amount of memory) is filled by
 * `firstfit` until sixty arrivals in a row are refused, so that every policy meets the same full cluster and none pays
 * for the filling. Then, for each policy in turn: it is set, told the workload if it wants that, warmed by some rounds
 * of churn and measured in more. A round ends one random task and submits another. Only the submits are measured; a
 * decision is all that the core does for one (submit, step, decide, apply, confirm, or cancel when nothing fits). Times are
 * CPU time of this thread: what others do on the machine does not lengthen it, but for caches; reading the clock costs
 * about 0.2 us, which every figure includes. Prints one JSON object a policy. Under callgrind the measured part is the function `measured` alone (--toggle-collect), and
 * with --instr-atstart=no the filling is not slowed down. */
#include "base/hash.h"
#include "core/core_int.h" /* to switch the index off after the cluster was filled with it: it is a cache */
#include "os/clock.h"
#include "os/mem.h"
#include "sim/gen.h"
#include "sim/drive.h"

#include <inttypes.h>
#include <sys/resource.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION (void)0
#endif

#define FILL "firstfit"
#define REFUSED_IN_A_ROW 60u
#define WARM_MAX 2000u /* rounds of churn before those that count, at most, and at most one for ten nodes */

struct bench {
	const struct wz_mem *mem;
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_core *core;
	struct wz_plan plan;
	struct wz_rng rng;
	uint64_t *live; /* job numbers that hold something */
	uint32_t n_live, live_cap;
	uint64_t next_job, time_us;
	struct wz_err err;
};

static void die(const struct bench *b, const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, b->err.text);
	exit(1);
}

static void apply(struct bench *b, const struct wz_event *e)
{
	if (wz_core_apply(b->core, e, &b->err) < 0)
		die(b, "apply");
}

/* Submits one task; true when it was placed. */
__attribute__((noinline)) static bool measured(struct bench *b, const struct wz_profile *p, uint64_t job)
{
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = b->time_us};
	bool placed = false;

	e.u.submit.job = job;
	e.u.submit.profile = p;
	apply(b, &e);
	e.kind = WZ_EV_STEP;
	apply(b, &e);
	if (wz_core_decide(b->core, 0, &b->plan, &b->err) < 0)
		die(b, "decide");
	for (uint32_t i = 0; i < b->plan.n; i++) {
		const struct wz_effect *f = &b->plan.effect[i];
		if (wz_core_apply_effect(b->core, f, &b->err) < 0)
			die(b, "effect");
		if (f->kind != WZ_EF_START)
			continue;
		placed = true;
		e = (struct wz_event){.kind = WZ_EV_EFFECT_CONFIRMED, .time_us = b->time_us};
		e.u.effect.effect = f->id;
		apply(b, &e);
	}
	if (!placed) {
		e = (struct wz_event){.kind = WZ_EV_JOB_CANCELLED, .time_us = b->time_us};
		e.u.job.job = job;
		apply(b, &e);
	}
	return placed;
}

/* Submits one random task of the list. */
static bool submit(struct bench *b)
{
	const struct wz_sim_task *t = &b->tasks.task[wz_rng_below(&b->rng, b->tasks.n)];
	uint64_t job = ++b->next_job;

	b->time_us += 1000;
	if (!measured(b, wz_sim_task_profile(&b->tasks, t), job))
		return false;
	if (wz_grow(b->mem, &b->live, &b->live_cap, b->n_live + 1, sizeof(*b->live)) < 0)
		die(b, "memory");
	b->live[b->n_live++] = job;
	return true;
}

static void end_one(struct bench *b)
{
	uint32_t at = (uint32_t)wz_rng_below(&b->rng, b->n_live);
	struct wz_event e = {.kind = WZ_EV_TASK_ENDED, .time_us = b->time_us};

	e.u.task.job = b->live[at];
	e.u.task.attempt = 1;
	e.u.task.end = WZ_END_COMPLETED;
	b->live[at] = b->live[--b->n_live];
	apply(b, &e);
}

static double held(const struct bench *b)
{
	struct wz_core_stats s;

	wz_core_stats(b->core, &s);
	return (double)s.gpu_milli_held / (double)s.gpu_milli_capacity;
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* How many different states nodes are in: what they have, and what is free. */
static uint32_t distinct_states(const struct bench *b)
{
	const struct wz_model_state *m = wz_core_model(b->core);
	uint64_t *h = malloc(m->n_nodes * sizeof(*h));
	uint32_t n = 0;

	if (!h)
		return 0;
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *x = &m->node[i];
		h[i] = wz_hash_u64(wz_hash_u64((uint64_t)x->cpu_free, (uint64_t)x->mem_free), x->model);
		for (uint32_t d = x->first_dev; d < x->first_dev + x->n_dev; d++)
			h[i] = wz_hash_u64(wz_hash_u64(h[i], (uint64_t)m->dev_milli[d]), (uint64_t)m->dev_mem[d]);
	}
	qsort(h, m->n_nodes, sizeof(*h), by_u64);
	for (uint32_t i = 0; i < m->n_nodes; i++)
		n += i == 0 || h[i] != h[i - 1];
	free(h);
	return n;
}

static void set_up(struct bench *b, uint32_t nodes)
{
	struct wz_gen_options g = {.nodes = nodes, .seed = 1, .unequal_mem = true};
	struct wz_core_options o = {.seed = 1, .policy = FILL};
	const struct wz_gen_preset *openb = wz_gen_find(WZ_STR("openb"), &b->err);
	uint32_t in_a_row = 0;

	b->mem = wz_os_mem();
	wz_rng_seed(&b->rng, 7);
	if (!openb || wz_catalogue_init(&b->catalogue, b->mem) < 0)
		die(b, "catalogue");
	wz_sim_nodes_init(&b->nodes, b->mem, &b->catalogue);
	wz_sim_tasks_init(&b->tasks, b->mem);
	if (wz_gen(openb, &g, &b->nodes, &b->tasks, &b->err) < 0)
		die(b, "generate");
	if (wz_core_new(b->mem, &o, &b->core, &b->err) < 0 || wz_drive_join(b->core, &b->nodes, &b->err) < 0)
		die(b, "core");
	wz_plan_init(&b->plan, b->mem);
	while (in_a_row < REFUSED_IN_A_ROW)
		in_a_row = submit(b) ? 0 : in_a_row + 1;
}

static void set_policy(struct bench *b, const char *name)
{
	struct wz_event e = {.kind = WZ_EV_POLICY_SET, .time_us = b->time_us},
	                untell = {.kind = WZ_EV_WORKLOAD_STATED};

	e.u.policy.name = wz_str(name);
	apply(b, &untell); /* what the policy before was told */
	apply(b, &e);
}

/* A policy that is told its workload gets the list's mix. */
static void tell(struct bench *b)
{
	struct wz_typicals y;
	struct wz_event e = {.kind = WZ_EV_WORKLOAD_STATED};
	struct wz_profile *p;
	uint32_t *w;

	if (!wz_core_policy(b->core, NULL)->told)
		return;
	if (wz_typicals_make(&b->tasks, b->mem, &y) < 0)
		die(b, "typical");
	p = malloc(y.n * sizeof(*p));
	w = malloc(y.n * sizeof(*w));
	if (!p || !w)
		die(b, "memory");
	for (uint32_t i = 0; i < y.n; i++) {
		p[i] = *wz_sim_task_profile(&b->tasks, &b->tasks.task[y.t[i].task]);
		w[i] = y.t[i].weight;
	}
	e.u.workload.n = y.n;
	e.u.workload.profile = p;
	e.u.workload.weight = w;
	apply(b, &e);
	free(p);
	free(w);
	wz_typicals_release(&y);
}

static void run(struct bench *b, const char *policy, bool no_index, uint32_t k, uint64_t *ns)
{
	uint32_t refused = 0, warm = b->nodes.n / 10 < WARM_MAX ? b->nodes.n / 10 : WARM_MAX;
	struct wz_core_stats before, after;
	uint64_t sum = 0;

	b->core->index.off = false;
	set_policy(b, policy);
	tell(b);
	for (uint32_t i = 0; i < (no_index ? 0 : warm); i++) {
		end_one(b);
		submit(b);
	}
	b->core->index.off = no_index;
	wz_core_stats(b->core, &before);
	CALLGRIND_START_INSTRUMENTATION;
	for (uint32_t i = 0; i < k; i++) {
		uint64_t t0;
		end_one(b);
		t0 = wz_clock_thread_cpu_ns();
		refused += !submit(b);
		ns[i] = wz_clock_thread_cpu_ns() - t0;
		sum += ns[i];
		if (b->n_live < 2)
			die(b, "the cluster ran empty");
	}
	CALLGRIND_STOP_INSTRUMENTATION;
	wz_core_stats(b->core, &after);
	qsort(ns, k, sizeof(*ns), by_u64);
	printf("{\"policy\":\"%s\",\"nodes\":%u,\"devices\":%" PRIu64 ",\"index\":%s,\"rank\":%s,\"held_pct\":%.2f,"
	       "\"decisions\":%u,\"refused\":%u,\"mean_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,"
	       "\"decisions_per_s\":%.0f,\"evaluations_per_decision\":%.1f,",
	        policy, b->nodes.n, after.gpu_milli_capacity / 1000, no_index ? "false" : "true",
	        b->core->policy->scope == WZ_SCOPE_RANK ? "true" : "false", 100 * held(b), k, refused,
	        (double)sum / k / 1e3, (double)ns[k / 2] / 1e3, (double)ns[(uint64_t)k * 99 / 100] / 1e3,
	        1e9 * k / (double)sum, (double)(after.evaluations - before.evaluations) / k);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	char *rest = NULL, *policy;
	uint32_t nodes, k;
	uint64_t *ns, t0 = wz_clock_thread_cpu_ns();
	double set_up_s;

	if (argc < 4) {
		fprintf(stderr, "usage: bench_decide POLICY[,POLICY...] NODES DECISIONS [no-index]\n");
		return 2;
	}
	nodes = (uint32_t)strtoul(argv[2], NULL, 10);
	k = (uint32_t)strtoul(argv[3], NULL, 10);
	set_up(&b, nodes);
	set_up_s = (double)(wz_clock_thread_cpu_ns() - t0) / 1e9;
	ns = calloc(k, sizeof(*ns));
	if (!ns || k == 0 || b.n_live == 0)
		die(&b, "nothing was placed");
	for (policy = strtok_r(argv[1], ",", &rest); policy; policy = strtok_r(NULL, ",", &rest)) {
		struct wz_core_stats s;
		struct rusage ru;
		run(&b, policy, argc > 4 && strcmp(argv[4], "no-index") == 0, k, ns);
		wz_core_stats(b.core, &s);
		getrusage(RUSAGE_SELF, &ru);
		printf("\"distinct_states\":%u,\"index_mib\":%.1f,\"max_rss_mib\":%.1f,\"set_up_s\":%.1f,"
		       "\"digest\":\"%016" PRIx64 "\"}\n",
		        distinct_states(&b), (double)s.index_bytes / 1048576, (double)ru.ru_maxrss / 1024, set_up_s,
		        wz_core_digest(b.core));
		fflush(stdout);
	}
	return 0;
}
