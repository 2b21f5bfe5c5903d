/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of DESIGN section 4, from scratch. Everything incremental is computed again from what it is a function of. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

struct fresh {
	int64_t cpu, mem;
	int32_t tasks, milli[WZ_NODE_DEVICES_MAX];
	int64_t dev_mem[WZ_NODE_DEVICES_MAX];
	uint32_t kind[5], n_explicit;
	struct wz_scratch
	        held; /* by holds: no decision gave that out, so it may be of tasks that are being stopped */
	int64_t held_cpu, held_mem;
	int32_t held_tasks;
};

static int broken(struct wz_err *err, const char *invariant, const char *what, uint64_t which)
{
	struct wz_num n;

	return wz_err_set(err, -EUCLEAN, "Invariant", wz_str(invariant), WZ_STR(": "), wz_str(what), WZ_STR(" "),
	        wz_str_u64(&n, which));
}

static int sum_node(const struct wz_core *c, uint32_t node, struct fresh *f, struct wz_err *err)
{
	const struct wz_node *n = &c->model.node[node];

	memset(f, 0, sizeof(*f));
	for (uint32_t t = n->head_task; t != WZ_ID_NONE; t = c->jobs.task[t].next) {
		const struct wz_task *k = &c->jobs.task[t];
		uint32_t count = (uint32_t)__builtin_popcountll(k->devices);
		if (k->node != node)
			return broken(err, "I2", "a task is listed on the wrong node", node);
		f->cpu += k->cpu;
		f->mem += k->mem;
		f->tasks++;
		for (uint64_t w = k->devices; w; w &= w - 1) {
			unsigned i = (unsigned)__builtin_ctzll(w);
			f->milli[i] += k->dev_milli;
			f->dev_mem[i] += k->dev_mem >= 0 ? k->dev_mem
			                                 : wz_device_mem_share(
			                                           &c->model.dev[n->first_dev + i], k->dev_milli);
		}
		if (count) {
			f->kind[wz_task_kind(count, k->dev_milli)]++;
			f->n_explicit += k->dev_mem >= 0;
		}
	}
	if (c->holds.n)
		wz_holds_of_node(c, node, &f->held, &f->held_cpu, &f->held_mem, &f->held_tasks);
	for (uint32_t i = 0; i < c->holds.n; i++)
		f->n_explicit += c->holds.h[i].place.node.v == node && c->holds.h[i].place.devices &&
		                 c->holds.h[i].place.dev_mem >= 0;
	return 0;
}

static int check_devices(const struct wz_core *c, uint32_t node, const struct fresh *f, struct wz_err *err)
{
	const struct wz_model_state *m = &c->model;
	const struct wz_node *n = &m->node[node];
	int32_t sum = 0, max = 0;
	unsigned whole = 0;

	for (uint32_t i = 0; i < n->n_dev; i++) {
		const struct wz_device *d = &m->dev[n->first_dev + i];
		int32_t free = wz_device_milli(d) - f->milli[i];
		int64_t mem = (d->health == WZ_HEALTH_FAILED ? 0 : d->mem) - f->dev_mem[i];
		int32_t shown = free - f->held.milli[i];
		if (m->dev_milli[n->first_dev + i] != shown || m->dev_mem[n->first_dev + i] != mem - f->held.mem[i])
			return broken(err, "I2", "free device figures differ from a rebuild on node", node);
		if (!n->over && (free < 0 || (d->mem && mem < 0)))
			return broken(err, "I1", "a device is over-committed by our own decisions on node", node);
		free = shown > 0 ? shown : 0;
		sum += free;
		max = free > max ? free : max;
		whole += free == WZ_WHOLE;
	}
	if (n->gpu_free != sum || n->gpu_max != max || n->whole != whole)
		return broken(err, "I2", "device summaries differ from a rebuild on node", node);
	return 0;
}

static int check_node(const struct wz_core *c, uint32_t node, struct wz_err *err)
{
	const struct wz_node *n = &c->model.node[node];
	struct fresh f;
	int r;

	if (!n->name)
		return 0;
	r = sum_node(c, node, &f, err);
	if (r == 0)
		r = check_devices(c, node, &f, err);
	if (r < 0)
		return r;
	if (n->cpu_free != n->cpu - f.cpu - f.held_cpu || n->mem_free != n->mem - f.mem - f.held_mem ||
	        n->n_tasks != f.tasks || memcmp(n->kind_count, f.kind, sizeof(f.kind)) != 0 ||
	        n->n_explicit != f.n_explicit)
		return broken(err, "I2", "free CPU, memory or counts differ from a rebuild on node", node);
	if (!n->over && (n->cpu < f.cpu || n->mem < f.mem || n->max_tasks < f.tasks))
		return broken(
		        err, "I1", "CPU, memory or tasks are over-committed by our own decisions on node", node);
	if (c->node_hash[node] != wz_model_node_hash(&c->model, node))
		return broken(err, "I2", "the digest's part differs from a rebuild for node", node);
	if (!(n->flags & WZ_NODE_PRESENT) && n->head_task != WZ_ID_NONE)
		return broken(err, "I7", "work is left on an absent node", node);
	return 0;
}

static int check_job(struct wz_core *c, uint32_t slot, struct wz_err *err)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t placed = 0, running = 0, stopping = 0;

	if (j->hash != wz_job_hash(c, slot))
		return broken(err, "I2", "the digest's part differs from a rebuild for job", j->number);
	for (uint32_t i = 0; i < j->n_tasks; i++) {
		const struct wz_task *t = &c->jobs.task[j->first_task + i];
		if (t->hash != wz_task_hash(c, j->first_task + i))
			return broken(
			        err, "I2", "the digest's part differs from a rebuild for a task of job", j->number);
		placed += t->node != WZ_ID_NONE;
		running += t->state == WZ_TASK_RUNNING;
		stopping += t->state == WZ_TASK_STOPPING;
		if (t->state == WZ_TASK_ASSUMED && wz_inflight_find(c, t->effect) == WZ_ID_NONE)
			return broken(err, "I3", "a start without a deadline for job", j->number);
		if ((wz_task_wants(c, j->first_task + i) != 0) != (t->want_at != 0) ||
		        (t->want_at && c->wanted[t->want_at - 1] != j->first_task + i))
			return broken(err, "I3", "an effect that nobody asks for, job", j->number);
		if (t->effect && wz_inflight_find(c, t->effect) == WZ_ID_NONE)
			return broken(err, "I3", "an effect without a deadline for job", j->number);
	}
	if (j->backoff && (j->state != WZ_JOB_WAITING || wz_inflight_find(c, WZ_BACKOFF_ID(j)) == WZ_ID_NONE))
		return broken(err, "I3", "a pause without an end for job", j->number);
	if (placed != j->placed || running != j->running || stopping != j->stopping)
		return broken(err, "I2", "task counts differ from a rebuild for job", j->number);
	if ((j->state == WZ_JOB_WAITING || j->state == WZ_JOB_HELD) && placed)
		return broken(err, "I7", "a waiting job holds something, job", j->number);
	if (j->state == WZ_JOB_RUNNING && !j->below && !wz_job_enough(c, j, j->first_task, 0))
		return broken(err, "I4", "a gang runs below its minimum, job", j->number);
	if (j->state == WZ_JOB_ENDING && placed == 0)
		return broken(err, "I3", "an ended job was not forgotten, job", j->number);
	return 0;
}

/* A hold has a deadline, a beneficiary that may still start, and claims what is free or being given up. */
static int check_holds(const struct wz_core *c, struct wz_err *err)
{
	for (uint32_t i = 0; i < c->holds.n; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		const struct wz_job *j = &c->jobs.job[h->job];
		if (h->lifted || (i && h[-1].id >= h->id))
			return broken(err, "I2", "holds are out of order at", h->id);
		if (wz_inflight_find(c, h->id) == WZ_ID_NONE)
			return broken(err, "I3", "a hold without a deadline", h->id);
		if (!j->used || h->task >= j->n_tasks || wz_hold_find(c, h->job, h->task) != i ||
		        (j->state != WZ_JOB_WAITING && j->state != WZ_JOB_STARTING &&
		                !(j->state == WZ_JOB_ENDING && j->requeue)))
			return broken(err, "I5", "room is held for a job that will not start, hold", h->id);
		if (wz_hold_hurts(c, h))
			return broken(err, "I5", "held room is not to be had, hold", h->id);
	}
	return 0;
}

static int check_sum(struct wz_core *c, struct wz_err *err)
{
	uint64_t sum = 0;
	const struct wz_demand *d = &c->demand;

	for (uint32_t i = 0; i < c->model.n_nodes; i++)
		sum += c->node_hash[i];
	for (uint32_t i = 0; i < c->jobs.n; i++) {
		const struct wz_job *j = &c->jobs.job[i];
		if (!j->used)
			continue;
		sum += j->hash;
		for (uint32_t t = 0; t < j->n_tasks; t++)
			sum += c->jobs.task[j->first_task + t].hash;
	}
	for (uint32_t i = 0; i < c->inflight.n_heap; i++)
		sum += wz_flight_hash(&c->inflight.f[c->inflight.heap[i]]);
	for (uint32_t i = 0; i < c->n_recut; i++)
		sum += wz_recut_hash(&c->recut[i]);
	for (uint32_t s = 0; s < d->n_shapes; s++)
		if (d->arrived[s])
			sum += wz_hash_u64(c->shape_hash[s] ^ 0xdeULL, d->arrived[s]);
	for (uint32_t k = 0; k <= WZ_NODE_DEVICES_MAX; k++)
		sum += wz_demand_refused_hash(k, d->refused[k]);
	for (uint32_t i = 0; i < d->n_stated; i++)
		sum += wz_hash_u64(c->shape_hash[d->stated[i].shape] + i, d->stated[i].weight);
	sum += wz_queues_sum(c);
	for (uint32_t i = 0; i < c->reservations.n; i++)
		sum += wz_reservation_hash(c, i);
	for (uint32_t i = 0; i < c->holds.n; i++)
		sum += wz_hold_hash(c, &c->holds.h[i]);
	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		sum += wz_param_hash(i, c->param[i]);
	for (uint32_t i = 0; i < c->order.n; i++) {
		uint8_t reason = c->order.cls[i].reason;
		uint64_t all = c->sum;
		if (!reason)
			continue;
		wz_class_set_reason(c, i, WZ_REASON_NONE);
		sum += all - c->sum;
		wz_class_set_reason(c, i, reason);
	}
	for (uint32_t i = 0; i < c->between.n_budgets; i++)
		sum += wz_budget_hash(c, &c->between.budget[i]);
	return sum == c->sum ? 0 : broken(err, "I2", "the digest differs from a rebuild, sum", sum);
}

/* The lists of waiting jobs: each in submit order, and all of them together what waits. */
static int check_order(const struct wz_core *c, struct wz_err *err)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->order.n; i++)
		for (uint32_t s = c->order.cls[i].head; s != WZ_ID_NONE; s = c->jobs.job[s].next, n++) {
			const struct wz_job *j = &c->jobs.job[s];
			if (n > c->order.waiting || j->class_id != i || j->state != WZ_JOB_WAITING || j->backoff)
				return broken(err, "I6", "a list of waiting jobs holds another, job", j->number);
			if (j->next != WZ_ID_NONE && c->jobs.job[j->next].seq <= j->seq)
				return broken(
				        err, "I6", "a list of waiting jobs is not in submit order, job", j->number);
		}
	return n == c->order.waiting ? 0 : broken(err, "I6", "waiting jobs in lists differ from their count", n);
}

int wz_core_check(struct wz_core *c, struct wz_err *err)
{
	uint64_t waiting = 0;
	uint32_t live = 0, movable = 0;
	int r;

	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		r = check_node(c, i, err);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < c->jobs.n; i++) {
		if (!c->jobs.job[i].used)
			continue;
		live++;
		movable += c->jobs.job[i].preempt.movable;
		waiting += c->jobs.job[i].state == WZ_JOB_WAITING;
		r = check_job(c, i, err);
		if (r < 0)
			return r;
	}
	if (movable != c->jobs.movable)
		return broken(err, "I2", "jobs with a contract differ from a count,", movable);
	if (live != c->jobs.live_jobs || waiting != c->order.waiting + c->n_backoff)
		return broken(err, "I7", "live or waiting jobs differ from a count, waiting", waiting);
	r = check_order(c, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < c->n_recut; i++)
		if (wz_inflight_find(c, c->recut[i].effect) == WZ_ID_NONE)
			return broken(err, "I3", "a cut without a deadline, effect", c->recut[i].effect);
	if (wz_queues_check(c, err) < 0)
		return -EUCLEAN;
	if (!wz_between_checks(c) || !wz_labels_check(c))
		return broken(err, "I2", "what constraints or budgets count differs from a rebuild, tallies",
		        c->between.n_tallies);
	r = check_holds(c, err);
	return r < 0 ? r : check_sum(c, err);
}
