/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/drive.h"

#include "core/policies/frag.h"
#include "os/clock.h"

#define FIRST_LESSON (1ULL << 40) /* number of the first job that is only shown */

int wz_drive_join(struct wz_core *c, const struct wz_sim_nodes *nodes, struct wz_err *err)
{
	int r = wz_sim_nodes_declare(nodes, wz_core_catalogue(c), err);

	for (uint32_t i = 0; r == 0 && i < nodes->n; i++) {
		struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
		e.u.node = nodes->node[i];
		r = wz_core_apply(c, &e, err);
	}
	return r;
}

/* The typical workload with this run's shapes: used for measuring, and told only to policies that are defined with it. */
static int state_workload(struct wz_drive *d, struct wz_err *err)
{
	const struct wz_typicals *y = d->typical;
	struct wz_event e = {.kind = WZ_EV_WORKLOAD_STATED};
	size_t ps = y->n * sizeof(struct wz_profile), ws = y->n * sizeof(uint32_t);
	struct wz_profile *profile = wz_mem_alloc(d->mem, ps);
	uint32_t *weight = wz_mem_alloc(d->mem, ws);
	int r = -ENOMEM;

	if (profile && weight) {
		for (uint32_t i = 0; i < y->n; i++) {
			profile[i] = *wz_sim_task_profile(d->tasks, &d->tasks->task[y->t[i].task]);
			weight[i] = y->t[i].weight;
		}
		e.u.workload.n = y->n;
		e.u.workload.profile = profile;
		e.u.workload.weight = weight;
		r = wz_core_apply(d->core, &e, err);
		if (r == 0) {
			struct wz_policy_ctx ctx = wz_core_policy_ctx(d->core);
			wz_frag_prepare(d->frag, &ctx);
		}
		if (r == 0 && !wz_core_policy(d->core, NULL)->told) {
			e.u.workload.n = 0;
			r = wz_core_apply(d->core, &e, err);
		}
	} else {
		wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for a run"));
	}
	wz_mem_free(d->mem, profile, ps);
	wz_mem_free(d->mem, weight, ws);
	return r;
}

int wz_drive_open(struct wz_drive *d, const struct wz_drive_options *o, struct wz_err *err)
{
	struct wz_core_options co = {
	        .seed = o->seed, .policy = o->placement, .no_index = o->no_index, .watch = o->watch};
	struct wz_enact_options eo = o->faults;
	int r = wz_core_new(d->mem, &co, &d->core, err);

	if (r < 0)
		return r;
	wz_plan_init(&d->plan, d->mem);
	eo.seed = o->seed;
	d->track = o->track;
	d->movable = o->movable;
	d->track_draw = o->draw;
	d->before = o->before;
	d->before_ctx = o->before_ctx;
	d->faulty = eo.delay_us || eo.loss_ppm || eo.twice_ppm || eo.refuse_ppm;
	wz_enact_init(&d->enact, d->mem, &eo);
	d->frag = wz_mem_zalloc(d->mem, sizeof(*d->frag));
	if (!d->frag)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	r = wz_drive_join(d->core, d->nodes, err);
	if (r == 0)
		r = state_workload(d, err);
	if (r == 0 && (d->track || d->track_draw))
		wz_drive_measure(d);
	return r;
}

void wz_drive_close(struct wz_drive *d)
{
	if (d->core) {
		wz_plan_release(&d->plan);
		wz_enact_release(&d->enact);
	}
	wz_mem_free(d->mem, d->frag, sizeof(*d->frag));
	wz_core_free(d->core);
	d->frag = NULL;
	d->core = NULL;
}

/* ---- the measure ---- */

static int64_t frag_of_node(const struct wz_drive *d, uint32_t node)
{
	const struct wz_model_state *m = wz_core_model(d->core);
	const struct wz_node *n = &m->node[node];

	return wz_frag_of(d->frag, n, n->cpu_free, &m->dev_milli[n->first_dev]);
}

static void add_draw(struct wz_drive *d, uint32_t node, int sign)
{
	struct wz_draw_sum x = wz_draw_node(wz_core_catalogue(d->core), wz_core_model(d->core), node);

	d->draw.watts += sign * x.watts;
	d->draw.price_musd += sign * x.price_musd;
}

void wz_drive_measure(struct wz_drive *d)
{
	d->frag_sum = 0;
	d->draw = (struct wz_draw_sum){0};
	for (uint32_t i = 0; i < d->nodes->n; i++) {
		d->frag_sum += frag_of_node(d, i);
		if (d->track_draw)
			add_draw(d, i, 1);
	}
}

/* What is tracked is a sum over nodes: a node leaves it before a start changes the node, and comes back after. */
static void track(struct wz_drive *d, uint32_t node, int sign)
{
	if (d->track)
		d->frag_sum += sign * frag_of_node(d, node);
	if (d->track_draw)
		add_draw(d, node, sign);
}

double wz_drive_fragment_milli(const struct wz_drive *d)
{
	return (double)d->frag_sum / (double)(d->frag->weight ? d->frag->weight : 1);
}

/* ---- events and steps ---- */

int wz_drive_teach(struct wz_drive *d, const struct wz_sim_tasks *lessons, uint64_t seed, struct wz_err *err)
{
	uint32_t *at = wz_mem_alloc(d->mem, (lessons->n + 1) * sizeof(*at));
	struct wz_rng rng;
	int r = at ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to teach"));

	wz_rng_seed(&rng, seed);
	for (uint32_t i = 0; r == 0 && i < lessons->n; i++)
		at[i] = i;
	if (r == 0)
		wz_rng_shuffle_u32(&rng, at, lessons->n);
	for (uint32_t i = 0; r == 0 && i < lessons->n; i++) {
		struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = d->time_us};
		e.u.submit.job = FIRST_LESSON + i;
		e.u.submit.profile = wz_sim_task_profile(lessons, &lessons->task[at[i]]);
		r = wz_core_apply(d->core, &e, err);
		if (r == 0)
			r = wz_drive_cancel(d, FIRST_LESSON + i, err);
	}
	wz_mem_free(d->mem, at, (lessons->n + 1) * sizeof(*at));
	return r;
}

int wz_drive_submit(struct wz_drive *d, const struct wz_sim_task *t, uint64_t job, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = d->time_us};

	e.u.submit.job = job;
	e.u.submit.profile = wz_sim_task_profile(d->tasks, t);
	if (d->movable) {
		struct wz_profile p = *e.u.submit.profile;
		p.preempt = (struct wz_preempt){.signal = "USR1", .movable = 1};
		e.u.submit.profile = &p;
		return wz_core_apply(d->core, &e, err);
	}
	return wz_core_apply(d->core, &e, err);
}

int wz_drive_cancel(struct wz_drive *d, uint64_t job, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED, .time_us = d->time_us};

	e.u.job.job = job;
	return wz_core_apply(d->core, &e, err);
}

int wz_drive_end(struct wz_drive *d, uint64_t job, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_TASK_ENDED, .time_us = d->time_us};
	struct wz_job_info info;
	int r = 0;

	if (wz_core_job(d->core, job, &info) < 0)
		return 0;
	e.u.task.job = job;
	e.u.task.end = WZ_END_COMPLETED;
	for (uint32_t i = 0; r == 0 && i < info.task_numbers; i++) {
		e.u.task.task = i;
		e.u.task.attempt = wz_core_task_attempt(d->core, job, i);
		r = wz_core_apply(d->core, &e, err);
	}
	return r;
}

/* The whole plan becomes part of the state before anything of it is enacted (spec/effects.md). */
static int enact_plan(struct wz_drive *d, struct wz_err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < d->plan.n; i++) {
		const struct wz_effect *e = &d->plan.effect[i];
		bool starts = e->kind == WZ_EF_START;
		r = starts && d->before ? d->before(d->before_ctx, e, err) : 0;
		if (r < 0)
			return r;
		if (starts)
			track(d, e->place.node.v, -1);
		r = wz_core_apply_effect(d->core, e, err);
		if (r == 0 && starts)
			track(d, e->place.node.v, 1);
	}
	for (uint32_t i = 0; r == 0 && i < d->plan.n; i++)
		r = wz_enact_effect(&d->enact, d->core, &d->plan.effect[i], err);
	return r;
}

int wz_drive_step(struct wz_drive *d, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_STEP, .time_us = d->time_us};
	int r = wz_enact_until(&d->enact, d->core, d->time_us, err);

	if (r == 0)
		r = wz_core_apply(d->core, &e, err);
	if (r == 0)
		r = wz_core_decide(d->core, 0, &d->plan, err);
	return r == 0 ? enact_plan(d, err) : r;
}

bool wz_drive_started(const struct wz_drive *d, uint64_t job)
{
	for (uint32_t i = 0; i < d->plan.n; i++)
		if (d->plan.effect[i].kind == WZ_EF_START && d->plan.effect[i].job == job)
			return true;
	return false;
}

/* ---- the watch ---- */

struct wz_drive_watch wz_drive_watch_start(void)
{
	return (struct wz_drive_watch){.cpu_ns = wz_clock_thread_cpu_ns(), .elapsed_ns = wz_clock_monotonic_ns()};
}

uint64_t wz_drive_watch_cpu(const struct wz_drive_watch *w, uint64_t decisions_ns)
{
	uint64_t elapsed = wz_clock_monotonic_ns() - w->elapsed_ns, cpu = wz_clock_thread_cpu_ns() - w->cpu_ns;

	return elapsed ? (uint64_t)((double)cpu * (double)decisions_ns / (double)elapsed) : 0;
}
