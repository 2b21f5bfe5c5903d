/* SPDX-License-Identifier: Apache-2.0 */
/* One run is a queue of things to come (ends of work, ends of patience), the next arrival, and a tick for measuring; the
 * earliest goes first, arrivals last at equal times. Four generators (gaps, pods, lives, the first filling) keep what is
 * drawn independent of what the placement does with it. Time averages are exact between events; fragments are sampled.
 *
 * The cluster is filled at time 0 with work that has residual lives, so lives are in their steady state from the start;
 * the warm-up is for the state of the nodes. */
#include "sim/churn.h"

#include "base/fix.h"
#include "base/hash.h"
#include "os/clock.h"

#define TICKS 8u /* samples of the fragments in a batch */
#define HOUR_US 3600000000.0

const char *const wz_churn_class_name[WZ_CHURN_CLASSES] = {"cpu", "share", "1", "2", "4", "8"};

/* ---- classes and load ---- */

static uint64_t tasks_of(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	uint32_t n = wz_sim_task_profile(tasks, t)->tasks_min;
	return n ? n : 1;
}

static uint64_t gpu_milli(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	return wz_task_gpu_milli(t) * tasks_of(tasks, t);
}

static uint64_t cpu_milli(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	return (uint64_t)t->cpu_milli * tasks_of(tasks, t);
}

enum wz_churn_class wz_churn_class_of(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	uint64_t n = t->gpus * tasks_of(tasks, t);

	if (n == 0)
		return WZ_CHURN_CPU;
	if (n == 1)
		return t->milli < WZ_WHOLE ? WZ_CHURN_SHARE : WZ_CHURN_ONE;
	return n < 4 ? WZ_CHURN_TWO : n < 8 ? WZ_CHURN_FOUR : WZ_CHURN_EIGHT;
}

uint64_t wz_churn_asks(const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	return t->gpus ? gpu_milli(tasks, t) : cpu_milli(tasks, t);
}

static uint64_t demand_of_list(const struct wz_sim_tasks *tasks)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < tasks->n; i++)
		sum = wz_usat_add(sum, gpu_milli(tasks, &tasks->task[i]));
	return sum;
}

static uint64_t scaled_capacity(const struct wz_pack_input *in, uint32_t load_permille)
{
	return wz_umuldiv(in->capacity_milli, load_permille, 1000);
}

uint64_t wz_churn_gap_us(const struct wz_pack_input *in, const struct wz_life *life, uint32_t load_permille)
{
	/* mean life x (demand of the list / pods) / (load x capacity) */
	uint64_t room = scaled_capacity(in, load_permille);
	uint64_t gap =
	        wz_umuldiv(wz_life_mean_us(life), demand_of_list(in->tasks), in->tasks->n * (room ? room : 1));

	return gap ? gap : 1;
}

/* ---- the state of a run ---- */

enum state { COMING, WAITING, RUNNING, GONE, REFUSED };

struct rec {
	uint64_t submit_us, life_us, wait_us;
	uint32_t task, ns; /* ns: what its decision cost */
	uint8_t state; /* enum state */
	uint8_t batch; /* in which it arrived; WZ_CHURN_BATCHES: before the window */
};

struct coming {
	uint64_t due_us, job;
	bool end;
}; /* the end of the work, or of its patience */

struct run {
	const struct wz_pack_input *in;
	const struct wz_churn_options *o;
	struct wz_drive d;
	struct wz_rng gaps, pods, lives;
	struct rec *rec; /* [n_recs], by job number - 1 */
	uint32_t n_recs, rec_cap, first_rec; /* first_rec: the first that arrived in the window */
	struct coming *heap;
	uint32_t n_heap, heap_cap;
	uint64_t gap_us, next_us, from_us, until_us, tick_us, tick_at; /* the window; the next tick */
	uint32_t tick; /* number of the next tick; 0 ends the warm-up */
	uint64_t averaged_us; /* time averages are taken up to here */
	uint64_t used, cpu_used, cpu_capacity, waiting;
	double used_time, cpu_time;
	struct wz_churn_result *res;
};

static bool sooner(const struct coming *a, const struct coming *b)
{
	if (a->due_us != b->due_us)
		return a->due_us < b->due_us;
	return a->job != b->job ? a->job < b->job : a->end && !b->end;
}

static int push(struct run *x, struct coming a)
{
	int r = wz_grow(x->d.mem, &x->heap, &x->heap_cap, x->n_heap + 1, sizeof(*x->heap));
	uint32_t at;

	if (r < 0)
		return r;
	for (at = x->n_heap++; at && sooner(&a, &x->heap[(at - 1) / 2]); at = (at - 1) / 2)
		x->heap[at] = x->heap[(at - 1) / 2];
	x->heap[at] = a;
	return 0;
}

static struct coming pop(struct run *x)
{
	struct coming top = x->heap[0], last = x->heap[--x->n_heap];
	uint32_t at = 0;

	for (;;) {
		uint32_t kid = 2 * at + 1;
		if (kid >= x->n_heap)
			break;
		if (kid + 1 < x->n_heap && sooner(&x->heap[kid + 1], &x->heap[kid]))
			kid++;
		if (!sooner(&x->heap[kid], &last))
			break;
		x->heap[at] = x->heap[kid];
		at = kid;
	}
	x->heap[at] = last;
	return top;
}

static int out_of_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
}

/* ---- measuring ---- */

static struct wz_churn_batch *batch_now(const struct run *x)
{
	return x->tick && x->tick <= TICKS * WZ_CHURN_BATCHES ? &x->res->batch[(x->tick - 1) / TICKS] : NULL;
}

static void average_to(struct run *x, uint64_t now)
{
	double dt = (double)(now - x->averaged_us);

	x->used_time += dt * (double)x->used;
	x->cpu_time += dt * (double)x->cpu_used;
	x->averaged_us = now;
}

static void end_batch(struct run *x, struct wz_churn_batch *b)
{
	double t = (double)x->tick_us * TICKS, cpu = (double)(x->cpu_capacity ? x->cpu_capacity : 1);

	b->allocated = 100 * x->used_time / t / (double)x->in->capacity_milli;
	b->cpu_allocated = 100 * x->cpu_time / t / cpu;
	b->fragmented /= TICKS;
	b->frag_ratio /= TICKS;
}

/* Tick 0 opens the window, tick TICKS x BATCHES closes it; each of the others is a sample, every TICKS-th ends a batch. */
static void do_tick(struct run *x)
{
	struct wz_churn_batch *b = batch_now(x);
	double idle = (double)(x->in->capacity_milli - x->used), fragment;

	if (b) {
		wz_drive_measure(&x->d);
		fragment = wz_drive_fragment_milli(&x->d);
		b->fragmented += 100 * fragment / (double)x->in->capacity_milli;
		b->frag_ratio += idle > 0 ? 100 * fragment / idle : 0;
		if (x->tick % TICKS == 0)
			end_batch(x, b);
	}
	if (x->tick % TICKS == 0)
		x->used_time = x->cpu_time = 0;
	if (x->tick == 0) {
		x->first_rec = x->n_recs;
		x->res->waiting_first = x->waiting;
	}
	x->tick++;
	x->tick_at += x->tick_us;
}

static struct wz_churn_tally *tally_of(const struct run *x, const struct rec *k)
{
	enum wz_churn_class c = wz_churn_class_of(x->in->tasks, &x->in->tasks->task[k->task]);
	return k->batch < WZ_CHURN_BATCHES ? &x->res->batch[k->batch].tally[c] : NULL;
}

static void count_arrived(struct run *x, const struct rec *k)
{
	struct wz_churn_tally *t = tally_of(x, k);
	uint64_t q = wz_churn_asks(x->in->tasks, &x->in->tasks->task[k->task]);

	if (!t)
		return;
	t->arrived++;
	t->asked_milli += q;
	t->asked_h += (double)q / 1000 * (double)k->life_us / HOUR_US;
}

static void count_refused(struct run *x, const struct rec *k)
{
	struct wz_churn_tally *t = tally_of(x, k);
	uint64_t q = wz_churn_asks(x->in->tasks, &x->in->tasks->task[k->task]);

	if (!t)
		return;
	t->refused++;
	t->refused_milli += q;
	t->refused_h += (double)q / 1000 * (double)k->life_us / HOUR_US;
}

/* ---- events ---- */

static void take(struct run *x, const struct rec *k, bool give)
{
	const struct wz_sim_task *t = &x->in->tasks->task[k->task];
	uint64_t gpu = gpu_milli(x->in->tasks, t), cpu = cpu_milli(x->in->tasks, t);

	x->used = give ? x->used - gpu : x->used + gpu;
	x->cpu_used = give ? x->cpu_used - cpu : x->cpu_used + cpu;
}

/* What the last step started. A gang has a start for each task; the first one counts. */
static int note_starts(struct run *x, struct wz_err *err)
{
	for (uint32_t i = 0; i < x->d.plan.n; i++) {
		const struct wz_effect *e = &x->d.plan.effect[i];
		struct rec *k = e->kind == WZ_EF_START ? &x->rec[e->job - 1] : NULL;
		if (!k || k->state != WAITING)
			continue;
		k->state = RUNNING;
		k->wait_us = x->d.time_us - k->submit_us;
		x->waiting--;
		take(x, k, false);
		if (push(x, (struct coming){.due_us = x->d.time_us + k->life_us, .job = e->job, .end = true}) < 0)
			return out_of_memory(err);
	}
	return 0;
}

static int refuse(struct run *x, uint64_t job, struct wz_err *err)
{
	struct rec *k = &x->rec[job - 1];

	k->state = REFUSED;
	k->wait_us = x->d.time_us - k->submit_us;
	x->waiting--;
	count_refused(x, k);
	return wz_drive_cancel(&x->d, job, err);
}

static int submit(struct run *x, uint64_t job, struct wz_err *err)
{
	struct rec *k = &x->rec[job - 1];
	uint64_t before = wz_clock_monotonic_ns(), ns;
	int r = wz_drive_submit(&x->d, &x->in->tasks->task[k->task], job, err);

	if (r == 0)
		r = wz_drive_step(&x->d, err);
	k->state = WAITING;
	x->waiting++;
	if (r == 0)
		r = note_starts(x, err);
	if (r == 0 && k->state == WAITING && !x->o->wait)
		r = refuse(x, job, err);
	else if (r == 0 && k->state == WAITING && x->o->patience_us &&
	         push(x, (struct coming){.due_us = x->d.time_us + x->o->patience_us, .job = job}) < 0)
		r = out_of_memory(err);
	ns = wz_clock_monotonic_ns() - before;
	k->ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	x->res->cpu_ns += ns;
	x->res->decisions++;
	return r;
}

static int arrive(struct run *x, uint32_t task, uint64_t life_us, struct wz_err *err)
{
	const struct wz_churn_batch *b = batch_now(x);
	struct rec k = {.submit_us = x->d.time_us,
	        .life_us = life_us,
	        .task = task,
	        .batch = b ? (uint8_t)(b - x->res->batch) : WZ_CHURN_BATCHES};
	int r = wz_grow(x->d.mem, &x->rec, &x->rec_cap, x->n_recs + 1, sizeof(*x->rec));

	if (r < 0)
		return out_of_memory(err);
	x->rec[x->n_recs++] = k;
	x->res->offered = wz_hash_u64(wz_hash_u64(wz_hash_u64(x->res->offered, k.submit_us), life_us), task);
	count_arrived(x, &k);
	return submit(x, x->n_recs, err);
}

static int arrive_next(struct run *x, struct wz_err *err)
{
	uint32_t task = (uint32_t)wz_rng_below(&x->pods, x->in->tasks->n);

	x->next_us += wz_exponential(&x->gaps, x->gap_us);
	return arrive(x, task, wz_life_draw_us(x->o->life, &x->lives), err);
}

/* A job ends, or has waited long enough. What it leaves is offered to those that wait. */
static int come(struct run *x, struct coming a, struct wz_err *err)
{
	struct rec *k = &x->rec[a.job - 1];
	uint64_t before = wz_clock_monotonic_ns();
	int r = 0;

	if (!a.end)
		return k->state == WAITING ? refuse(x, a.job, err) : 0;
	k->state = GONE;
	take(x, k, true);
	r = wz_drive_end(&x->d, a.job, err);
	if (r == 0 && x->waiting) {
		r = wz_drive_step(&x->d, err);
		if (r == 0)
			r = note_starts(x, err);
	}
	x->res->cpu_ns += wz_clock_monotonic_ns() - before;
	return r;
}

/* ---- the whole ---- */

static int start(struct run *x, struct wz_err *err)
{
	struct wz_drive_options o = {.placement = x->o->placement, .seed = x->o->seed, .no_index = x->o->no_index};
	uint64_t life = wz_life_mean_us(x->o->life), window = life * x->o->window;
	uint64_t seed = wz_hash_u64(x->o->seed, 0x636875726eull); /* not the core's own draws */

	wz_rng_seed(&x->gaps, wz_hash_u64(seed, 1));
	wz_rng_seed(&x->pods, wz_hash_u64(seed, 2));
	wz_rng_seed(&x->lives, wz_hash_u64(seed, 3));
	x->gap_us = wz_churn_gap_us(x->in, x->o->life, x->o->load_permille);
	x->from_us = life * x->o->warmup;
	x->tick_us = window / (TICKS * WZ_CHURN_BATCHES);
	x->tick_at = x->from_us;
	x->until_us = x->from_us + x->tick_us * TICKS * WZ_CHURN_BATCHES;
	if (x->until_us / x->gap_us > WZ_CHURN_JOBS_MAX)
		return wz_err_set(
		        err, -E2BIG, "TooMany", WZ_STR("more than 100 million jobs in one run: a shorter window?"));
	for (uint32_t i = 0; i < x->in->nodes->n; i++)
		x->cpu_capacity += (uint64_t)x->in->nodes->node[i].cpu_milli;
	return wz_drive_open(&x->d, &o, err);
}

/* Work that has begun some time ago, until its demand is the load. */
static int fill(struct run *x, struct wz_err *err)
{
	uint64_t mark = scaled_capacity(x->in, x->o->load_permille), demand = 0;
	struct wz_rng rng;
	int r = 0;

	wz_rng_seed(&rng, wz_hash_u64(wz_hash_u64(x->o->seed, 0x636875726eull), 4));
	while (r == 0 && demand < mark) {
		uint32_t task = (uint32_t)wz_rng_below(&rng, x->in->tasks->n);
		demand += gpu_milli(x->in->tasks, &x->in->tasks->task[task]);
		r = arrive(x, task, wz_life_residual_us(x->o->life, &rng), err);
	}
	x->next_us = wz_exponential(&x->gaps, x->gap_us);
	return r;
}

static int loop(struct run *x, struct wz_err *err)
{
	for (;;) {
		uint64_t ends = x->n_heap ? x->heap[0].due_us : UINT64_MAX;
		uint64_t now = ends <= x->next_us ? ends : x->next_us;
		int r;
		if (x->tick_at <= now) {
			average_to(x, x->tick_at);
			do_tick(x);
			if (x->tick > TICKS * WZ_CHURN_BATCHES)
				return 0;
			continue;
		}
		average_to(x, now);
		x->d.time_us = now;
		r = ends <= x->next_us ? come(x, pop(x), err) : arrive_next(x, err);
		if (r == 0 && x->o->check)
			r = wz_core_check(x->d.core, err);
		if (r < 0)
			return r;
		x->res->digest = wz_hash_u64(x->res->digest, wz_core_digest(x->d.core));
	}
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void finish_wait(const struct run *x, enum wz_churn_class c, uint64_t *v)
{
	struct wz_churn_wait *w = &x->res->wait[c];
	uint64_t n = 0;
	double sum = 0;

	for (uint32_t i = x->first_rec; i < x->n_recs; i++) {
		const struct rec *k = &x->rec[i];
		if (wz_churn_class_of(x->in->tasks, &x->in->tasks->task[k->task]) != c)
			continue;
		v[n++] = k->state == WAITING ? x->until_us - k->submit_us : k->wait_us;
		w->waited += v[n - 1] > 0;
		sum += (double)v[n - 1] / 1e6;
	}
	w->jobs = n;
	if (n == 0)
		return;
	qsort(v, n, sizeof(*v), by_u64);
	w->mean_s = sum / (double)n;
	w->p95_s = (double)v[n * 95 / 100] / 1e6;
	w->max_s = (double)v[n - 1] / 1e6;
}

static int finish(struct run *x, struct wz_err *err)
{
	struct wz_churn_result *res = x->res;
	size_t size = (x->n_recs + 1) * sizeof(uint64_t);
	uint64_t *v = wz_mem_alloc(x->d.mem, size), n = x->n_recs - x->first_rec, cpu = 0;
	struct wz_core_stats stats;

	if (!v)
		return out_of_memory(err);
	for (int c = 0; c < WZ_CHURN_CLASSES; c++)
		finish_wait(x, (enum wz_churn_class)c, v);
	for (uint64_t i = 0; i < n; i++)
		v[i] = x->rec[x->first_rec + i].ns;
	qsort(v, n, sizeof(*v), by_u64);
	res->p50_ns = n ? v[n / 2] : 0;
	res->p99_ns = n ? v[n * 99 / 100] : 0;
	wz_mem_free(x->d.mem, v, size);
	for (uint32_t i = 0; i < x->in->tasks->n; i++)
		cpu += cpu_milli(x->in->tasks, &x->in->tasks->task[i]);
	res->cpu_load = x->o->load_permille / 10.0 * (double)cpu / (double)demand_of_list(x->in->tasks) *
	                (double)x->in->capacity_milli / (double)(x->cpu_capacity ? x->cpu_capacity : 1);
	wz_core_stats(x->d.core, &stats);
	res->evaluations = stats.evaluations;
	res->jobs = x->n_recs;
	res->waiting_last = x->waiting;
	res->window_h = (double)(x->until_us - x->from_us) / HOUR_US;
	res->mean_life_h = (double)wz_life_mean_us(x->o->life) / HOUR_US;
	return 0;
}

int wz_churn_run(const struct wz_pack_input *in, const struct wz_churn_options *o, const struct wz_mem *mem,
        struct wz_churn_result *ret, struct wz_err *err)
{
	struct run x = {.in = in,
	        .o = o,
	        .res = ret,
	        .d = {.nodes = in->nodes, .tasks = in->tasks, .typical = &in->typical, .mem = mem}};
	struct wz_drive_watch watch;
	int r;

	*ret = (struct wz_churn_result){0};
	r = start(&x, err);
	watch = wz_drive_watch_start();
	if (r == 0)
		r = fill(&x, err);
	if (r == 0)
		r = loop(&x, err);
	ret->cpu_ns = wz_drive_watch_cpu(&watch, ret->cpu_ns);
	if (r == 0)
		r = finish(&x, err);
	wz_drive_close(&x.d);
	wz_grow_free(mem, &x.rec, &x.rec_cap, sizeof(*x.rec));
	wz_grow_free(mem, &x.heap, &x.heap_cap, sizeof(*x.heap));
	return r;
}
