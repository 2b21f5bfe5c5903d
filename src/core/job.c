/* SPDX-License-Identifier: Apache-2.0 */
/* The pools of jobs and tasks. A job's tasks are one run of 2^k entries; freed runs are kept by size and used again, so
 * that a long life does not grow the pool. Each live job and task contributes a hash to the digest's sum; rehash
 * replaces its part, so the digest costs what changed. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

uint32_t wz_jobs_find(const struct wz_core *c, uint64_t number)
{
	return wz_map_get(&c->jobs.by_number, number);
}

static unsigned order_for(uint32_t n)
{
	unsigned k = 0;
	while ((1u << k) < n)
		k++;
	return k;
}

static int take_run(struct wz_core *c, unsigned k, uint32_t *ret)
{
	struct wz_jobs *j = &c->jobs;
	uint32_t n = 1u << k;

	if (j->free_run[k] != WZ_ID_NONE) {
		*ret = j->free_run[k];
		j->free_run[k] = j->task[*ret].next;
	} else {
		int r = wz_grow(&c->mem, &j->task, &j->task_cap, j->n_tasks + n, sizeof(*j->task));
		if (r < 0)
			return r;
		*ret = j->n_tasks;
		j->n_tasks += n;
	}
	memset(&j->task[*ret], 0, n * sizeof(*j->task));
	return 0;
}

static void give_run(struct wz_core *c, unsigned k, uint32_t first)
{
	c->jobs.task[first].next = c->jobs.free_run[k];
	c->jobs.free_run[k] = first;
}

int wz_jobs_add(struct wz_core *c, uint64_t number, uint32_t n_tasks, uint32_t *ret_slot)
{
	struct wz_jobs *j = &c->jobs;
	uint32_t slot = j->free, first = 0;
	unsigned k = order_for(n_tasks);
	int r = 0;

	if (slot == WZ_ID_NONE) {
		r = wz_grow(&c->mem, &j->job, &j->cap, j->n + 1, sizeof(*j->job));
		slot = j->n;
	}
	if (r == 0)
		r = wz_grow(&c->mem, &c->attention, &c->attention_cap, j->cap, sizeof(*c->attention));
	if (r == 0)
		r = wz_grow(&c->mem, &c->ended, &c->ended_cap, j->cap, sizeof(*c->ended));
	if (r == 0)
		r = take_run(c, k, &first);
	if (r < 0)
		return r;
	r = wz_map_put(&j->by_number, number, slot);
	if (r < 0) {
		give_run(c, k, first);
		return r;
	}
	if (slot == j->n)
		j->n++;
	else
		j->free = j->job[slot].next;
	memset(&j->job[slot], 0, sizeof(*j->job));
	j->job[slot].used = 1;
	j->job[slot].number = number;
	j->job[slot].task_order = (uint8_t)k;
	j->job[slot].first_task = first;
	j->job[slot].next = j->job[slot].prev = j->job[slot].attention_at = WZ_ID_NONE;
	j->job[slot].account = WZ_ID_NONE;
	for (uint32_t i = 0; i < (1u << k); i++) {
		j->task[first + i].job = slot;
		j->task[first + i].node = WZ_ID_NONE;
	}
	j->live_jobs++;
	*ret_slot = slot;
	return 0;
}

void wz_job_contract(struct wz_core *c, uint32_t slot, const struct wz_preempt *p)
{
	struct wz_job *j = &c->jobs.job[slot];

	c->jobs.movable += (uint32_t)(p->movable - j->preempt.movable);
	j->preempt = *p;
}

/* A larger run for the same tasks: every place that names a task by its number in the pool follows. */
static void move_run(struct wz_core *c, struct wz_job *j, uint32_t to)
{
	struct wz_task *all = c->jobs.task;

	for (uint32_t i = 0; i < (1u << j->task_order); i++) {
		struct wz_task *t = &all[to + i];
		*t = all[j->first_task + i];
		if (t->want_at)
			c->wanted[t->want_at - 1] = to + i;
		if (t->node == WZ_ID_NONE)
			continue;
		if (t->prev == WZ_ID_NONE)
			c->model.node[t->node].head_task = to + i;
		else
			all[t->prev].next = to + i;
		if (t->next != WZ_ID_NONE)
			all[t->next].prev = to + i;
	}
	for (uint32_t i = 0; i < c->inflight.n_heap; i++) {
		struct wz_flight *f = &c->inflight.f[c->inflight.heap[i]];
		if (f->task - j->first_task < (1u << j->task_order))
			f->task += to - j->first_task;
	}
}

int wz_jobs_grow(struct wz_core *c, uint32_t slot, uint32_t n_tasks)
{
	struct wz_job *j = &c->jobs.job[slot];
	unsigned k = order_for(n_tasks);
	uint32_t to;
	int r;

	wz_check(!c->ledger.open);
	if (k <= j->task_order)
		return 0;
	r = take_run(c, k, &to);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < (1u << k); i++) {
		c->jobs.task[to + i].job = slot;
		c->jobs.task[to + i].node = WZ_ID_NONE;
	}
	move_run(c, j, to);
	give_run(c, j->task_order, j->first_task);
	j->first_task = to;
	j->task_order = (uint8_t)k;
	return 0;
}

static void expect(struct wz_core *c, uint32_t between, int64_t tasks)
{
	c->between.labelset[c->between.asked[between].labels].expected += (uint64_t)tasks;
}

void wz_job_expect(struct wz_core *c, uint32_t slot, int sign)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_gang *g = &c->gangs.gang[j->gang];

	if (!j->gang)
		expect(c, j->between, sign * (int64_t)j->tasks_max);
	for (uint32_t i = 0; i < g->n_sets; i++) /* none of gang 0 */
		expect(c, c->gangs.set[g->first_set + i].between,
		        sign * (int64_t)c->gangs.set[g->first_set + i].max);
}

void wz_jobs_drop(struct wz_core *c, uint32_t slot)
{
	struct wz_job *job = &c->jobs.job[slot];

	wz_job_expect(c, slot, -1);
	for (uint32_t i = 0; i < (1u << job->task_order); i++)
		wz_check(c->jobs.task[job->first_task + i].node == WZ_ID_NONE);
	wz_holds_drop_of(c, slot);
	c->jobs.movable -= job->preempt.movable;
	c->ended[c->n_ended++] = (struct wz_ended){job->number, (enum wz_end)job->end};
	c->sum -= job->hash;
	if (c->queues.n)
		wz_queue_job(c, slot, -1);
	wz_map_del(&c->jobs.by_number, job->number);
	give_run(c, job->task_order, job->first_task);
	job->used = 0;
	wz_job_attend(c, slot);
	job->next = c->jobs.free;
	c->jobs.free = slot;
	c->jobs.live_jobs--;
}

uint64_t wz_job_hash(const struct wz_core *c, uint32_t slot)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint64_t h = wz_mix64(j->number);

	h = wz_hash_u64(h, j->seq);
	h = wz_hash_u64(h, c->shape_hash[j->shape]);
	h = wz_hash_u64(h, (uint64_t)j->tasks_min << 32 | j->tasks_max);
	h = wz_hash_u64(h, (uint64_t)(uint32_t)j->priority << 32 | (uint64_t)j->state << 16 |
	                           (uint64_t)j->end << 8 | j->requeue);
	h = wz_hash_u64(h, j->time_limit_us);
	if (j->between || j->gang)
		h = wz_hash_u64(wz_hash_u64(h, c->between.asked[j->between].hash), c->gangs.gang[j->gang].hash);
	if (j->repair_us || j->below)
		h = wz_hash_u64(wz_hash_u64(h, j->repair_us), j->below);
	if (j->n_tasks != j->tasks_max || (j->state == WZ_JOB_RUNNING && j->told != wz_job_live(j)))
		h = wz_hash_u64(h, (uint64_t)j->told << 32 | j->n_tasks);
	if (j->account != WZ_ID_NONE) { /* where there are queues */
		h = wz_hash_u64(wz_hash_u64(h, wz_account_id(c, j->account)), j->started_us);
		h = wz_hash_u64(wz_hash_u64(wz_hash_u64(h, j->predict[0]), j->predict[1]), j->predict[2]);
	}
	if (j->failures || j->not_before_us || j->preempted)
		h = wz_hash_u64(wz_hash_u64(h, j->not_before_us), (uint64_t)j->failures << 32 | j->preempted);
	if (j->suspended)
		h = wz_hash_u64(h, ~j->limit_left_us);
	return wz_hash_u64(h, (uint64_t)j->attempt << 32 | j->done);
}

void wz_job_rehash(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];

	c->sum -= j->hash;
	j->hash = wz_job_hash(c, slot);
	c->sum += j->hash;
	if (j->state == WZ_JOB_RUNNING || j->attention_at != WZ_ID_NONE)
		wz_job_attend(c, slot);
}

uint64_t wz_task_hash(const struct wz_core *c, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];
	uint64_t h;

	if (t->state == WZ_TASK_NONE && !t->attempt)
		return 0;
	h = wz_hash_u64(wz_mix64(j->number), (uint64_t)(task - j->first_task) << 8 | t->state);
	if (t->attempt != j->attempt)
		h = wz_hash_u64(h, t->attempt);
	if (t->state == WZ_TASK_NONE)
		return h;
	if (t->state == WZ_TASK_DONE) /* holds nothing: where it was is history */
		return h;
	h = wz_hash_u64(h, (uint64_t)t->node << 32 | (uint32_t)t->dev_milli);
	h = wz_hash_u64(h, t->devices);
	h = wz_hash_u64(h, (uint64_t)t->cpu);
	h = wz_hash_u64(h, (uint64_t)t->mem);
	h = wz_hash_u64(h, (uint64_t)t->dev_mem);
	if (t->warn || t->frozen)
		h = wz_hash_u64(h, (uint64_t)t->warn << 1 | t->frozen);
	if (j->preempt.movable) /* of others no decision reads it */
		h = wz_hash_u64(
		        wz_hash_u64(wz_hash_u64(h, t->started_us), t->checkpoint_us), (uint64_t)t->progress_milli);
	return wz_hash_u64(h, t->effect);
}

/* Keeps the list of tasks that need an effect. */
static void want(struct wz_core *c, uint32_t task)
{
	struct wz_task *t = &c->jobs.task[task];
	bool wanted = wz_task_wants(c, task) != 0;

	if (wanted && !t->want_at) {
		wz_check(c->n_wanted < c->wanted_cap); /* wz_job_reserve */
		c->wanted[c->n_wanted++] = task;
		t->want_at = c->n_wanted;
	} else if (!wanted && t->want_at) {
		uint32_t last = c->wanted[--c->n_wanted];
		c->wanted[t->want_at - 1] = last;
		c->jobs.task[last].want_at = t->want_at;
		t->want_at = 0;
	}
}

void wz_task_rehash(struct wz_core *c, uint32_t task)
{
	struct wz_task *t = &c->jobs.task[task];

	bool running = t->state == WZ_TASK_RUNNING;

	c->sum -= t->hash;
	t->hash = wz_task_hash(c, task);
	c->sum += t->hash;
	c->changes++; /* it runs, is stopped, or has a checkpoint */
	if (running != t->counted_running) {
		struct wz_between *b = &c->between;
		b->labelset[b->asked[wz_task_between(c, task)].labels].running += running ? 1 : UINT64_MAX;
		t->counted_running = running;
	}
	want(c, task);
}
