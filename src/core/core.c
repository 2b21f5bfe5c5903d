/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a core, its digest, and what may be read of it. */
#include "core/core_int.h"
#include "core/repack.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

#define START_TIMEOUT_US (30ULL * 1000000)
#define STOP_TIMEOUT_US (60ULL * 1000000)

static int policy_of(const struct wz_core_options *o, struct wz_variant *ret, struct wz_err *err)
{
	if (!o->custom)
		return wz_variant_parse(o->policy ? wz_str(o->policy) : WZ_STR(""), ret, err);
	wz_variant_usual(o->custom, ret);
	return 0;
}

int wz_core_new(const struct wz_mem *mem, const struct wz_core_options *o, struct wz_core **ret, struct wz_err *err)
{
	struct wz_variant variant;
	struct wz_core *c;
	int r = policy_of(o, &variant, err);

	if (r < 0)
		return r;
	c = wz_mem_zalloc(mem, sizeof(*c));
	if (!c)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a core"));
	c->mem = *mem;
	c->seed = o->seed;
	c->start_timeout_us = o->start_timeout_us ? o->start_timeout_us : START_TIMEOUT_US;
	c->stop_timeout_us = o->stop_timeout_us ? o->stop_timeout_us : STOP_TIMEOUT_US;
	c->next_effect = 1;
	wz_params_init(c);
	c->policy = variant.policy;
	c->index.off = o->no_index;
	c->watch = o->watch;
	c->index.bytes_max = (uint64_t)(o->index_bytes_max_mib ? o->index_bytes_max_mib : 1024) << 20;
	wz_model_init(&c->model, &c->mem, o->seed);
	wz_shapes_init(&c->shapes, &c->mem);
	wz_demand_init(&c->demand, &c->mem);
	wz_map_init(&c->jobs.by_number, &c->mem);
	wz_map_init(&c->order.by_hash, &c->mem);
	wz_map_init(&c->inflight.by_id, &c->mem);
	wz_queues_init(c);
	c->jobs.free = c->inflight.free = WZ_ID_NONE;
	memset(c->jobs.free_run, 0xff, sizeof(c->jobs.free_run));
	if (wz_catalogue_init(&c->catalogue, &c->mem) < 0 || wz_gangs_init(c) < 0 || wz_between_init(c) < 0 ||
	        (c->policy->state_size && !(c->policy_state = wz_mem_zalloc(&c->mem, c->policy->state_size)))) {
		wz_core_free(c);
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a core"));
	}
	wz_variant_begin(&variant, c->policy_state);
	wz_core_prepare(c);
	*ret = c;
	return 0;
}

void wz_core_free(struct wz_core *c)
{
	struct wz_mem mem;

	if (!c)
		return;
	mem = c->mem;
	wz_index_release(c);
	wz_between_release(c);
	wz_gangs_release(c);
	wz_evict_release(c);
	wz_queues_release(c);
	wz_reservations_release(c);
	wz_future_release(c);
	wz_starts_release(c);
	wz_catalogue_release(&c->catalogue);
	wz_model_release(&c->model);
	wz_shapes_release(&c->shapes);
	wz_demand_release(&c->demand);
	wz_map_release(&c->jobs.by_number);
	wz_map_release(&c->order.by_hash);
	wz_map_release(&c->inflight.by_id);
	wz_grow_free(&mem, &c->shape_hash, &c->shape_hash_cap, sizeof(*c->shape_hash));
	wz_grow_free(&mem, &c->node_hash, &c->node_hash_cap, sizeof(*c->node_hash));
	wz_grow_free(&mem, &c->jobs.job, &c->jobs.cap, sizeof(*c->jobs.job));
	wz_grow_free(&mem, &c->jobs.task, &c->jobs.task_cap, sizeof(*c->jobs.task));
	wz_grow_free(&mem, &c->order.cls, &c->order.cap, sizeof(*c->order.cls));
	wz_grow_free(&mem, &c->order.active, &c->order.active_cap, sizeof(*c->order.active));
	wz_grow_free(&mem, &c->order.heap, &c->order.heap_cap, sizeof(*c->order.heap));
	wz_grow_free(&mem, &c->inflight.f, &c->inflight.cap, sizeof(*c->inflight.f));
	wz_grow_free(&mem, &c->inflight.heap, &c->inflight.heap_cap, sizeof(*c->inflight.heap));
	wz_grow_free(&mem, &c->attention, &c->attention_cap, sizeof(*c->attention));
	wz_grow_free(&mem, &c->recut, &c->recut_cap, sizeof(*c->recut));
	wz_grow_free(&mem, &c->wanted, &c->wanted_cap, sizeof(*c->wanted));
	wz_grow_free(&mem, &c->holds.h, &c->holds.cap, sizeof(*c->holds.h));
	wz_grow_free(&mem, &c->ended, &c->ended_cap, sizeof(*c->ended));
	wz_grow_free(&mem, &c->ledger.undo, &c->ledger.undo_cap, sizeof(*c->ledger.undo));
	wz_repack_release(c);
	wz_grow_free(&mem, &c->rank_score, &c->rank_cap, sizeof(*c->rank_score));
	wz_grow_free(&mem, &c->rank_node, &c->rank_node_cap, sizeof(*c->rank_node));
	if (c->policy->state_size)
		wz_mem_free(&mem, c->policy_state, c->policy->state_size);
	wz_mem_free(&mem, c, sizeof(*c));
}

void wz_core_prepare(struct wz_core *c)
{
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);

	if (c->policy->prepare ? c->policy->prepare(c->policy_state, &ctx) : c->policy->observe != NULL)
		c->epoch++;
	c->policy_hash = wz_policy_hash(c->policy, c->policy_state);
	c->facts_changed = false;
}

uint64_t wz_core_digest(const struct wz_core *c)
{
	uint64_t h = wz_hash_u64(c->seed, c->sum);

	h = wz_hash_u64(h, c->now_us);
	h = wz_hash_u64(h, c->step);
	h = wz_hash_u64(h, c->next_effect);
	if (c->evicted.n)
		h = wz_hash_u64(wz_hash_u64(h, c->evicted.hour_us), c->evicted.n);
	h = wz_hash_u64(h, wz_hash_u64(wz_hash_u64(c->pause.step, c->pause.seq), (uint32_t)c->pause.priority));
	if (wz_repack_hash(c))
		h = wz_hash_u64(h, wz_repack_hash(c));
	return wz_hash_u64(h, c->policy_hash);
}

void wz_node_rehash(struct wz_core *c, uint32_t node)
{
	c->sum -= c->node_hash[node];
	c->node_hash[node] = wz_model_node_hash(&c->model, node);
	c->sum += c->node_hash[node];
	c->changes++;
	wz_index_changed(c, node);
}

void wz_class_set_reason(struct wz_core *c, uint32_t class_id, uint8_t reason)
{
	struct wz_class *k = &c->order.cls[class_id];
	uint64_t h = wz_hash_u64(wz_hash_u64(c->shape_hash[k->shape], (uint64_t)k->tasks_min << 32 | k->tasks_max),
	        (uint32_t)k->priority);

	if (k->between || k->gang)
		h = wz_hash_u64(wz_hash_u64(h, c->between.asked[k->between].hash), c->gangs.gang[k->gang].hash);
	if (k->account != WZ_ID_NONE)
		h = wz_hash_u64(h, wz_account_id(c, k->account));
	if (k->reason)
		c->sum -= wz_hash_u64(h, k->reason);
	k->reason = reason;
	if (reason)
		c->sum += wz_hash_u64(h, reason);
}

int wz_shape_intern(struct wz_core *c, const struct wz_shape *s, wz_shape_id *ret)
{
	int r = wz_shapes_intern(&c->shapes, s, ret);

	if (r == 0)
		r = wz_grow(&c->mem, &c->shape_hash, &c->shape_hash_cap, ret->v + 1, sizeof(*c->shape_hash));
	if (r == 0 && c->shape_hash[ret->v] == 0) {
		c->shape_hash[ret->v] = wz_shape_hash(s);
		c->shapes.shape[ret->v].plain = s->local ? s->plain : ret->v;
	}
	return r;
}

/* The shape with the part of the constraint that concerns one node, after the same without it. */
int wz_shape_register(struct wz_core *c, const struct wz_profile *p, uint32_t constraint, wz_shape_id *ret)
{
	struct wz_shape s;
	int r;

	wz_shape_of(p, &s);
	r = wz_shape_intern(c, &s, ret);
	if (r < 0 || !c->between.constraint[constraint].local)
		return r;
	s.plain = ret->v;
	s.local = constraint;
	s.local_hash = c->between.text_hash[constraint];
	s.special = wz_shape_special(&s);
	return wz_shape_intern(c, &s, ret);
}

uint64_t wz_core_now(const struct wz_core *c)
{
	return c->now_us;
}

uint64_t wz_core_next_deadline(const struct wz_core *c)
{
	return c->inflight.n_heap ? c->inflight.f[c->inflight.heap[0]].deadline_us : UINT64_MAX;
}

int wz_core_job(const struct wz_core *c, uint64_t job, struct wz_job_info *ret)
{
	uint32_t slot = wz_jobs_find(c, job);
	const struct wz_job *j;

	if (slot == WZ_ID_NONE)
		return -ENOENT;
	j = &c->jobs.job[slot];
	*ret = (struct wz_job_info){.job = job,
	        .state = (enum wz_job_state)j->state,
	        .end = (enum wz_end)j->end,
	        .priority = j->priority,
	        .attempt = j->attempt,
	        .tasks_min = j->tasks_min,
	        .tasks_max = j->tasks_max,
	        .tasks_placed = j->placed,
	        .task_numbers = j->n_tasks,
	        .shape = {j->shape},
	        .submitted_us = j->submitted_us,
	        .suspended = j->suspended,
	        .launch_failures = j->failures,
	        .preempted = j->preempted,
	        .not_before_us = j->backoff ? j->not_before_us : 0,
	        .reason = j->state == WZ_JOB_HELD      ? WZ_REASON_HELD
	                  : j->state != WZ_JOB_WAITING ? WZ_REASON_NONE
	                  : j->backoff                 ? WZ_REASON_LAUNCH_BACKOFF
	                  : wz_holds_of(c, slot)       ? WZ_REASON_MAKING_ROOM
	                                               : (enum wz_reason)c->order.cls[j->class_id].reason};
	return 0;
}

int wz_core_task(const struct wz_core *c, uint64_t job, uint32_t task, struct wz_place *ret)
{
	uint32_t slot = wz_jobs_find(c, job);
	const struct wz_task *t;

	if (slot == WZ_ID_NONE || task >= c->jobs.job[slot].n_tasks)
		return -ENOENT;
	t = &c->jobs.task[c->jobs.job[slot].first_task + task];
	if (t->node == WZ_ID_NONE)
		return -ENOENT;
	*ret = (struct wz_place){.node = {t->node},
	        .devices = t->devices,
	        .cpu = t->cpu,
	        .mem = t->mem,
	        .dev_milli = t->dev_milli,
	        .dev_mem = t->dev_mem};
	return 0;
}

uint32_t wz_core_task_attempt(const struct wz_core *c, uint64_t job, uint32_t task)
{
	struct wz_place p;

	if (wz_core_task(c, job, task, &p) < 0)
		return 0;
	return c->jobs.task[c->jobs.job[wz_jobs_find(c, job)].first_task + task].attempt;
}

void wz_core_stats(const struct wz_core *c, struct wz_core_stats *ret)
{
	const struct wz_model_state *m = &c->model;

	*ret = (struct wz_core_stats){.steps = c->step,
	        .effects = c->next_effect - 1,
	        .jobs_waiting = c->order.waiting + c->n_backoff,
	        .jobs_live = c->jobs.live_jobs,
	        .tasks_live = c->jobs.live_tasks,
	        .evaluations = c->index.evaluations,
	        .index_bytes = c->index.bytes};
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		if (!(n->flags & WZ_NODE_PRESENT))
			continue;
		for (uint32_t d = n->first_dev; d < n->first_dev + n->n_dev; d++) {
			int32_t cap = wz_device_milli(&m->dev[d]);
			ret->gpu_milli_capacity += (uint64_t)cap;
			ret->gpu_milli_held += (uint64_t)(cap - m->dev_milli[d]);
		}
	}
	for (uint32_t i = 0; i < c->holds.n; i++)
		ret->gpu_milli_kept += (uint64_t)c->holds.h[i].place.dev_milli *
		                       (uint64_t)__builtin_popcountll(c->holds.h[i].place.devices);
	ret->gpu_milli_held -= ret->gpu_milli_kept;
}

int wz_core_ended(const struct wz_core *c, uint32_t i, struct wz_ended *ret)
{
	if (i >= c->n_ended)
		return -ENOENT;
	*ret = c->ended[i];
	return 0;
}

int wz_core_task_work(const struct wz_core *c, uint64_t job, uint32_t task, struct wz_task_work *ret)
{
	uint32_t slot = wz_jobs_find(c, job);
	const struct wz_task *t;

	if (slot == WZ_ID_NONE || task >= c->jobs.job[slot].n_tasks)
		return -ENOENT;
	t = &c->jobs.task[c->jobs.job[slot].first_task + task];
	if (t->node == WZ_ID_NONE)
		return -ENOENT;
	*ret = (struct wz_task_work){.started_us = t->started_us,
	        .checkpoint_us = t->checkpoint_us,
	        .progress_milli = t->progress_milli,
	        .frozen = t->frozen,
	        .warned = t->warn};
	return 0;
}

const struct wz_model_state *wz_core_model(const struct wz_core *c)
{
	return &c->model;
}

const struct wz_shapes *wz_core_shapes(const struct wz_core *c)
{
	return &c->shapes;
}

const struct wz_catalogue *wz_core_catalogue_of(const struct wz_core *c)
{
	return &c->catalogue;
}

bool wz_core_fits(const struct wz_core *c, wz_shape_id shape, uint32_t node)
{
	return shape.v < c->shapes.n && node < c->model.n_nodes &&
	       wz_fit_why(c, &c->shapes.shape[shape.v], node) == WZ_REASON_NONE;
}

struct wz_catalogue *wz_core_catalogue(struct wz_core *c)
{
	return &c->catalogue;
}

const struct wz_policy *wz_core_policy(const struct wz_core *c, const void **ret_state)
{
	if (ret_state)
		*ret_state = c->policy_state;
	return c->policy;
}

struct wz_policy_ctx wz_core_policy_ctx(const struct wz_core *c)
{
	return wz_ctx(c, NULL);
}
