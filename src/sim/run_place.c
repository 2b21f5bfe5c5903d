/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job runs. `yarn` and `jigsaw` keep, for each node, which running jobs hold how much of it: what clearing a node costs
 * is read from there. `jigsaw` submits the job to a core of ours and takes the starts that it decides, or withdraws the job. */
#include "base/check.h"
#include "sim/run_int.h"

static int open_core(struct wz_run_place *p, uint64_t seed, struct wz_err *err)
{
	struct wz_drive_options o = {.seed = seed};
	int r = wz_typicals_make(p->in->tasks, p->mem, &p->typical);

	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for a run"));
	p->drive = (struct wz_drive){
	        .nodes = p->in->nodes, .tasks = p->in->tasks, .typical = &p->typical, .mem = p->mem};
	p->number = wz_mem_zalloc(p->mem, (size_t)p->in->n * sizeof(*p->number));
	p->next_number = 1;
	if (!p->number)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	return wz_drive_open(&p->drive, &o, err);
}

int wz_run_place_open(struct wz_run_place *p, enum wz_run_placement kind, const struct wz_run_input *in,
        uint64_t seed, const struct wz_mem *mem, struct wz_err *err)
{
	uint32_t n = in->nodes->n;

	*p = (struct wz_run_place){.kind = kind, .in = in, .mem = mem, .n_nodes = n, .spare = WZ_NONE};
	p->free_milli = (int64_t)in->gpus * 1000;
	if (kind == WZ_RUN_ANY)
		return 0;
	p->free = wz_mem_zalloc(mem, n * sizeof(*p->free));
	p->up = wz_mem_zalloc(mem, n * sizeof(*p->up));
	p->taken = wz_mem_zalloc(mem, n * sizeof(*p->taken));
	p->chosen = wz_mem_zalloc(mem, n * sizeof(*p->chosen));
	p->first_on = wz_mem_zalloc(mem, n * sizeof(*p->first_on));
	p->first_of = wz_mem_zalloc(mem, (size_t)in->n * sizeof(*p->first_of));
	if (!p->free || !p->up || !p->taken || !p->chosen || !p->first_on || !p->first_of)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	for (uint32_t i = 0; i < n; i++) {
		p->free[i] = (int64_t)in->nodes->node[i].n_devices * 1000;
		p->up[i] = true;
		p->first_on[i] = WZ_NONE;
	}
	for (uint32_t i = 0; i < in->n; i++)
		p->first_of[i] = WZ_NONE;
	return kind == WZ_RUN_JIGSAW ? open_core(p, seed, err) : 0;
}

static void drop(struct wz_run_place *p, void *block, size_t size)
{
	if (block)
		wz_mem_free(p->mem, block, size);
}

void wz_run_place_close(struct wz_run_place *p)
{
	uint32_t n = p->n_nodes;

	if (!p->mem)
		return;
	if (p->drive.mem)
		wz_drive_close(&p->drive);
	if (p->typical.mem)
		wz_typicals_release(&p->typical);
	drop(p, p->free, n * sizeof(*p->free));
	drop(p, p->up, n * sizeof(*p->up));
	drop(p, p->taken, n * sizeof(*p->taken));
	drop(p, p->chosen, n * sizeof(*p->chosen));
	drop(p, p->first_on, n * sizeof(*p->first_on));
	drop(p, p->first_of, (size_t)p->in->n * sizeof(*p->first_of));
	drop(p, p->number, (size_t)p->in->n * sizeof(*p->number));
	wz_grow_free(p->mem, &p->piece, &p->pieces_cap, sizeof(*p->piece));
}

/* ---- who holds what on which node ---- */

static int add_piece(
        struct wz_run_place *p, uint32_t job, uint32_t node, uint32_t gpus, uint64_t devices, struct wz_err *err)
{
	uint32_t i = p->spare;
	struct wz_run_piece *x;

	if (i == WZ_NONE) {
		if (wz_grow(p->mem, &p->piece, &p->pieces_cap, p->n_pieces + 1, sizeof(*p->piece)) < 0)
			return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
		i = p->n_pieces++;
	} else {
		p->spare = p->piece[i].next_of_job;
	}
	x = &p->piece[i];
	*x = (struct wz_run_piece){job, node, gpus, p->first_of[job], p->first_on[node], WZ_NONE, devices};
	if (x->next_on_node != WZ_NONE)
		p->piece[x->next_on_node].prev_on_node = i;
	p->first_of[job] = p->first_on[node] = i;
	p->free[node] -= (int64_t)gpus * p->in->job[job].milli;
	return 0;
}

static void drop_pieces(struct wz_run_place *p, uint32_t job)
{
	for (uint32_t i = p->first_of[job], next; i != WZ_NONE; i = next) {
		struct wz_run_piece *x = &p->piece[i];
		next = x->next_of_job;
		p->free[x->node] += (int64_t)x->gpus * p->in->job[job].milli;
		if (x->prev_on_node == WZ_NONE)
			p->first_on[x->node] = x->next_on_node;
		else
			p->piece[x->prev_on_node].next_on_node = x->next_on_node;
		if (x->next_on_node != WZ_NONE)
			p->piece[x->next_on_node].prev_on_node = x->prev_on_node;
		x->next_of_job = p->spare;
		p->spare = i;
	}
	p->first_of[job] = WZ_NONE;
}

/* ---- yarn ---- */

/* The first node with that much free that is not chosen yet, or WZ_NONE. */
static uint32_t first_with(const struct wz_run_place *p, int64_t milli, uint32_t chosen)
{
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		bool used = p->free[i] < milli || !p->up[i];
		for (uint32_t k = 0; !used && k < chosen; k++)
			used = p->chosen[k] == i;
		if (!used)
			return i;
	}
	return WZ_NONE;
}

/* On one node when one is large enough; else on whole empty nodes and one with what remains. */
static int try_yarn(struct wz_run_place *p, uint32_t job, struct wz_err *err)
{
	const struct wz_run_job *j = &p->in->job[job];
	uint32_t left = j->gpus, size = p->in->node_gpus, n = 0;

	while (left > 0) {
		uint32_t part = left > size ? size : left;
		uint32_t node = WZ_NONE;
		if (part == size && n > 0) { /* whole nodes in order: go on where the last was found */
			for (uint32_t i = p->chosen[n - 1] + 1; i < p->n_nodes && node == WZ_NONE; i++)
				if (p->up[i] && p->free[i] >= (int64_t)part * j->milli)
					node = i;
		} else {
			node = first_with(p, (int64_t)part * j->milli, n);
		}
		if (node == WZ_NONE)
			return 0;
		p->chosen[n++] = node;
		left -= part;
	}
	left = j->gpus;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t part = left > size ? size : left;
		int r = add_piece(p, job, p->chosen[k], part, 0, err);
		if (r < 0)
			return r;
		left -= part;
	}
	return 1;
}

/* ---- jigsaw ---- */

/* A step whose effects are all applied before any is acknowledged: a gang starts as one. */
static int step(struct wz_drive *d, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_STEP, .time_us = d->time_us};
	int r = wz_core_apply(d->core, &e, err);

	if (r == 0)
		r = wz_core_decide(d->core, 0, &d->plan, err);
	for (uint32_t i = 0; r == 0 && i < d->plan.n; i++)
		r = wz_core_apply_effect(d->core, &d->plan.effect[i], err);
	for (uint32_t i = 0; r == 0 && i < d->plan.n; i++)
		r = wz_enact_effect(&d->enact, d->core, &d->plan.effect[i], err);
	return r;
}

static int try_core(struct wz_run_place *p, uint32_t job, int64_t now, struct wz_err *err)
{
	const struct wz_sim_task *t = &p->in->tasks->task[p->in->job[job].task];
	uint64_t number = p->next_number++;
	struct wz_profile profile = *wz_sim_task_profile(p->in->tasks, t);
	struct wz_event submit = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = (uint64_t)now};
	uint32_t started = 0;
	int r;

	/* As many tasks as the job has here: of an elastic one, or of a service, the core would start more. */
	profile.tasks_min = profile.tasks_max = p->in->job[job].gpus / (t->gpus ? t->gpus : 1);
	submit.u.submit.job = number;
	submit.u.submit.profile = &profile;
	p->drive.time_us = (uint64_t)now;
	r = wz_core_apply(p->drive.core, &submit, err);
	if (r == 0)
		r = step(&p->drive, err);
	for (uint32_t i = 0; r == 0 && i < p->drive.plan.n; i++) {
		const struct wz_effect *e = &p->drive.plan.effect[i];
		if (e->kind != WZ_EF_START || e->job != number)
			continue;
		started++;
		r = add_piece(p, job, e->place.node.v, t->gpus, e->place.devices, err);
	}
	if (r == 0 && started == 0)
		r = wz_drive_cancel(&p->drive, number, err);
	if (r < 0)
		return r;
	wz_check(started == 0 || started == profile.tasks_min);
	p->number[job] = started ? number : 0;
	return started ? 1 : 0;
}

/* ---- both ---- */

int wz_run_place_try(struct wz_run_place *p, uint32_t job, int64_t now, struct wz_err *err)
{
	int64_t need = wz_run_need(&p->in->job[job]);
	int r = 1;

	if (p->free_milli < need)
		return 0;
	if (p->kind == WZ_RUN_YARN)
		r = try_yarn(p, job, err);
	else if (p->kind == WZ_RUN_JIGSAW)
		r = try_core(p, job, now, err);
	if (r > 0)
		p->free_milli -= need;
	return r;
}

int wz_run_place_free(struct wz_run_place *p, uint32_t job, int64_t now, struct wz_err *err)
{
	if (p->first_of && p->first_of[job] == WZ_NONE)
		return 0; /* a repack took it already */
	p->free_milli += wz_run_need(&p->in->job[job]);
	if (p->first_of)
		drop_pieces(p, job);
	if (p->kind != WZ_RUN_JIGSAW)
		return 0;
	p->drive.time_us = (uint64_t)now;
	return wz_drive_end(&p->drive, p->number[job], err);
}

void wz_run_place_empty(struct wz_run_place *p)
{
	for (uint32_t n = 0; n < p->n_nodes; n++)
		while (p->first_on[n] != WZ_NONE) {
			uint32_t job = p->piece[p->first_on[n]].job;
			p->free_milli += wz_run_need(&p->in->job[job]);
			drop_pieces(p, job);
		}
}

int wz_run_place_node(struct wz_run_place *p, uint32_t node, bool up, int64_t now, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_NODE_READY, .time_us = (uint64_t)now};

	if (p->kind != WZ_RUN_JIGSAW)
		return 0;
	e.u.ready.node = (wz_node_id){node};
	e.u.ready.ready = up;
	p->drive.time_us = (uint64_t)now;
	return wz_core_apply(p->drive.core, &e, err);
}

int wz_run_place_device(
        struct wz_run_place *p, uint32_t node, uint32_t index, bool up, int64_t now, struct wz_err *err)
{
	const struct wz_model_state *m;
	const struct wz_device *d;
	struct wz_event e = {.kind = WZ_EV_DEVICE_CHANGED, .time_us = (uint64_t)now};

	if (p->kind != WZ_RUN_JIGSAW)
		return 0;
	m = wz_core_model(p->drive.core);
	d = &m->dev[m->node[node].first_dev + index];
	e.u.device.node = (wz_node_id){node};
	e.u.device.index = index;
	e.u.device.facts = (struct wz_device_facts){.model = {d->model},
	        .mem_bytes = d->mem,
	        .compute_milli = d->milli,
	        .link_domain = d->link_domain,
	        .numa = d->numa,
	        .pcie = d->pcie,
	        .health = up ? WZ_HEALTH_OK : WZ_HEALTH_FAILED,
	        .partition = d->partition,
	        .card = d->card};
	p->drive.time_us = (uint64_t)now;
	return wz_core_apply(p->drive.core, &e, err);
}
