/* SPDX-License-Identifier: Apache-2.0 */
/* The only door through which state changes. Each event kind has one function in a table; each first makes all the room
 * it may need, then changes; so an error leaves nothing half done. Acknowledgements that come late, twice or in another
 * order are facts of life and change nothing the second time. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

int wz_no_memory(struct wz_err *err, int r)
{
	return r < 0 ? wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany",
	                       WZ_STR("no room to apply this event"))
	             : r;
}

static int no_job(struct wz_err *err)
{
	return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no live job of that number"));
}

static bool node_known(const struct wz_core *c, wz_node_id node)
{
	return node.v < c->model.n_nodes && c->model.node[node.v].name;
}

static int no_node(struct wz_err *err)
{
	return wz_err_set(err, -ENOENT, "NoSuchNode", WZ_STR("there is no node of that id"));
}

/* ---- events about time and rules ---- */

static int on_time(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	(void)e, (void)err;
	wz_life_expire(c);
	return 0;
}

static int on_step(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	(void)e, (void)err;
	wz_life_expire(c);
	c->step++;
	wz_repack_on_step(c);
	if (c->reservations.n)
		wz_reservations_expire(c);
	if (c->facts_changed)
		wz_core_prepare(c);
	return 0;
}

static int on_policy(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_variant v;
	void *state = NULL;
	int r = wz_variant_parse(e->u.policy.name, &v, err);

	if (r < 0)
		return r;
	if (v.policy->state_size && !(state = wz_mem_zalloc(&c->mem, v.policy->state_size)))
		return wz_no_memory(err, -ENOMEM);
	wz_variant_begin(&v, state);
	if (c->policy->state_size)
		wz_mem_free(&c->mem, c->policy_state, c->policy->state_size);
	c->policy = v.policy;
	c->policy_state = state;
	c->epoch++;
	wz_core_prepare(c);
	return 0;
}

static int on_workload(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_demand *d = &c->demand;
	wz_shape_id id;
	int r = 0;

	if (e->u.workload.n > WZ_SHAPES_MAX ||
	        (e->u.workload.n && (!e->u.workload.profile || !e->u.workload.weight)))
		return wz_err_set(err, -EINVAL, "BadWorkload",
		        WZ_STR("a workload needs a profile and a weight for each shape"));
	for (uint32_t i = 0; i < e->u.workload.n; i++)
		if ((r = wz_profile_check(&e->u.workload.profile[i], err)) < 0)
			return r;
	r = wz_grow(&c->mem, &d->stated, &d->stated_cap, e->u.workload.n, sizeof(*d->stated));

	for (uint32_t i = 0; r == 0 && i < e->u.workload.n; i++) /* all shapes exist before anything changes */
		r = wz_shape_register(c, &e->u.workload.profile[i], 0, &id);
	if (r < 0)
		return wz_no_memory(err, r);
	for (uint32_t i = 0; i < d->n_stated; i++)
		c->sum -= wz_hash_u64(c->shape_hash[d->stated[i].shape] + i, d->stated[i].weight);
	d->n_stated = e->u.workload.n;
	for (uint32_t i = 0; i < d->n_stated; i++) {
		r = wz_shape_register(c, &e->u.workload.profile[i], 0, &id);
		wz_check(r == 0);
		d->stated[i].shape = id.v;
		d->stated[i].weight = e->u.workload.weight[i];
		c->sum += wz_hash_u64(c->shape_hash[id.v] + i, d->stated[i].weight);
	}
	wz_core_prepare(c);
	return 0;
}

/* Kinds that later rooms will decide on: carried and journalled today, without effect on decisions. */
static int on_carried(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	(void)c, (void)e, (void)err;
	return 0;
}

/* ---- events about places ---- */

/* What tasks take of what rules count depends on the models that they sit on. */
static void devices_changed(struct wz_core *c, uint32_t node)
{
	wz_ledger_rebuild_node(c, node);
	if (c->queues.n && c->model.node[node].head_task != WZ_ID_NONE)
		wz_queues_rebuild(c);
	wz_node_rehash(c, node);
	c->facts_changed = true;
}

static int on_node_joined(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t node = e->u.node.node.v;
	int r = 0;

	if (node < WZ_NODES_MAX)
		r = wz_grow(&c->mem, &c->node_hash, &c->node_hash_cap, node + 1, sizeof(*c->node_hash));
	if (r == 0 && node < WZ_NODES_MAX)
		r = wz_grow(&c->mem, &c->model.node, &c->model.node_cap, node + 1, sizeof(*c->model.node));
	if (r == 0)
		r = wz_index_reserve(c);
	if (r == 0 && node < WZ_NODES_MAX && e->u.node.n_labels <= WZ_NODE_LABELS_MAX &&
	        (e->u.node.label || !e->u.node.n_labels))
		r = wz_between_reserve_node(c, &e->u.node);
	if (r < 0)
		return wz_no_memory(err, r);
	if (node < c->model.n_nodes)
		wz_between_node_out(c, node);
	r = wz_model_node_join(&c->model, &c->catalogue, &e->u.node, err);
	if (node < c->model.n_nodes)
		wz_between_node_in(c, node);
	if (r < 0)
		return r;
	devices_changed(c, node);
	return 0;
}

static int on_node_left(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t node = e->u.left.node.v, t, next;

	if (!node_known(c, e->u.left.node))
		return no_node(err);
	wz_model_node_left(&c->model, node);
	wz_recut_node_left(c, node);
	/* Two passes: ending a job may release other tasks of this node, so start over from the head each time. */
	for (t = c->model.node[node].head_task; t != WZ_ID_NONE; t = next) {
		wz_task_lose(c, t, WZ_END_NODE_LOST, true);
		next = c->model.node[node].head_task;
	}
	wz_between_node_out(c, node);
	wz_between_node_in(c, node);
	wz_holds_recheck(c, node);
	wz_node_rehash(c, node);
	c->facts_changed = true;
	return 0;
}

static int on_node_ready(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_node *n;
	unsigned flags;

	if (!node_known(c, e->u.ready.node))
		return no_node(err);
	n = &c->model.node[e->u.ready.node.v];
	flags = n->flags & ~(unsigned)(WZ_NODE_READY | WZ_NODE_CORDONED);
	if (e->u.ready.ready && (n->flags & WZ_NODE_PRESENT))
		flags |= WZ_NODE_READY;
	if (e->u.ready.cordoned)
		flags |= WZ_NODE_CORDONED;
	n->flags = (uint8_t)flags;
	wz_node_rehash(c, e->u.ready.node.v);
	return 0;
}

static int on_device_changed(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	const struct wz_device_facts *f = &e->u.device.facts;
	uint32_t node = e->u.device.node.v;

	if (!node_known(c, e->u.device.node))
		return no_node(err);
	if (e->u.device.index >= c->model.node[node].n_dev || f->model.v >= c->catalogue.n || f->mem_bytes < 0 ||
	        f->mem_bytes > WZ_BYTES_MAX || f->compute_milli < 1 || f->compute_milli > WZ_WHOLE ||
	        f->health > WZ_HEALTH_FAILED)
		return wz_err_set(err, -EINVAL, "BadDevice", WZ_STR("no such device, or facts out of range"));
	wz_model_device_change(&c->model, node, e->u.device.index, f);
	devices_changed(c, node);
	return 0;
}

static int on_telemetry(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_device *d;
	uint32_t node = e->u.telemetry.node.v;

	if (!node_known(c, e->u.telemetry.node))
		return no_node(err);
	if (e->u.telemetry.index >= c->model.node[node].n_dev)
		return wz_err_set(err, -EINVAL, "BadDevice", WZ_STR("no such device"));
	d = &c->model.dev[c->model.node[node].first_dev + e->u.telemetry.index];
	/* Quantised in steps of 5 percent (and 5 degrees), so that noise changes nothing. */
	d->free_mem_pct = e->u.telemetry.free_mem_pct > 100 ? 255 : (uint8_t)(e->u.telemetry.free_mem_pct / 5 * 5);
	d->util_pct = e->u.telemetry.util_pct > 100 ? 255 : (uint8_t)(e->u.telemetry.util_pct / 5 * 5);
	d->temp_c = e->u.telemetry.temp_c == 255 ? 255 : (uint8_t)(e->u.telemetry.temp_c / 5 * 5);
	wz_index_changed(c, node);
	return 0;
}

/* ---- events about work ---- */

int wz_job_reserve(struct wz_core *c, uint32_t n_tasks)
{
	uint64_t tasks = (uint64_t)c->jobs.n_tasks + 2ull * n_tasks;

	if (tasks > UINT32_MAX / 2)
		return -E2BIG;
	return wz_grow(&c->mem, &c->wanted, &c->wanted_cap, (uint32_t)tasks, sizeof(*c->wanted));
}

static int check_submit(const struct wz_core *c, const struct wz_ev_submit *s, struct wz_err *err)
{
	int r = wz_profile_check(s->profile, err);

	if (r < 0)
		return r;
	if (wz_jobs_find(c, s->job) != WZ_ID_NONE)
		return wz_err_set(err, -EEXIST, "JobExists", WZ_STR("a live job has that number"));
	if (s->p50_us > s->p80_us || s->p80_us > s->p95_us || (s->p50_us == 0) != (s->p95_us == 0))
		return wz_err_set(err, -EINVAL, "BadPrediction",
		        WZ_STR("p50, p80 and p95 are run times that do not fall, all of them or none"));
	return 0;
}

/* Demand is of shapes; what is asked of labels is no part of it. */
static void count_demand(struct wz_core *c, wz_shape_id shape, uint32_t tasks)
{
	uint64_t *n;
	struct wz_policy_ctx ctx = wz_ctx(c, NULL);
	bool epoch;

	shape.v = c->shapes.shape[shape.v].plain;
	n = &c->demand.arrived[shape.v];
	if (*n)
		c->sum -= wz_hash_u64(c->shape_hash[shape.v] ^ 0xdeULL, *n);
	epoch = wz_demand_add(&c->demand, shape, tasks);
	c->sum += wz_hash_u64(c->shape_hash[shape.v] ^ 0xdeULL, *n);
	if (c->policy->observe) {
		c->policy->observe(c->policy_state, &ctx, shape, tasks);
		c->policy_hash = wz_policy_hash(c->policy, c->policy_state);
	}
	if (epoch)
		wz_core_prepare(c);
}

static int on_submitted(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	const struct wz_ev_submit *s = &e->u.submit;
	uint32_t slot, class_id, user = WZ_ID_NONE, queue = WZ_ID_NONE, account = WZ_ID_NONE;
	const struct wz_set *set;
	struct wz_job_asks f = {0};
	struct wz_job *j;
	int r = check_submit(c, s, err);

	if (r < 0)
		return r;
	if (s->user.len)
		r = wz_strtab_add(&c->model.names, s->user, &user);
	if (r < 0)
		return wz_no_memory(err, r);
	r = wz_queue_admit(c, &(struct wz_submit_rules){s->queue, user, s->priority, s->profile}, &account, err);
	if (r == 0)
		r = wz_gang_of_submit(c, s, &f, err);
	if (r < 0)
		return r;
	r = wz_demand_reserve(&c->demand, c->shapes.n);
	if (r == 0)
		r = wz_order_class(c,
		        &(struct wz_class){.shape = f.shape,
		                .between = f.between,
		                .gang = f.gang,
		                .tasks_min = f.tasks_min,
		                .tasks_max = f.tasks_max,
		                .priority = s->priority,
		                .account = account},
		        &class_id);
	if (r == 0 && s->queue.len)
		r = wz_strtab_add(&c->model.names, s->queue, &queue);
	if (r == 0)
		r = wz_job_reserve(c, f.n_tasks);
	if (r == 0)
		r = wz_jobs_add(c, s->job, f.n_tasks, &slot);
	if (r < 0)
		return wz_no_memory(err, r);
	j = &c->jobs.job[slot];
	j->seq = ++c->jobs.next_seq;
	j->submitted_us = c->now_us;
	j->shape = f.shape;
	j->between = f.between;
	j->gang = f.gang;
	j->class_id = class_id;
	j->tasks_min = f.tasks_min;
	j->tasks_max = f.tasks_max;
	j->n_tasks = f.n_tasks;
	j->attempt = 1;
	j->user = user;
	j->queue = queue;
	j->account = account;
	j->predict[0] = s->p50_us;
	j->predict[1] = s->p80_us;
	j->predict[2] = s->p95_us;
	j->priority = s->priority;
	j->kind = (uint8_t)s->profile->kind;
	wz_job_contract(c, slot, &s->profile->preempt);
	j->time_limit_us = s->profile->time_us;
	j->repair_us = s->profile->repair_us;
	j->state = s->held ? WZ_JOB_HELD : WZ_JOB_WAITING;
	if (c->queues.n)
		wz_queue_job(c, slot, 1);
	if (!s->held)
		wz_order_add(c, slot);
	wz_job_expect(c, slot, 1);
	wz_job_rehash(c, slot);
	if (!j->gang)
		count_demand(c, (wz_shape_id){j->shape}, j->tasks_max);
	set = j->gang ? &c->gangs.set[c->gangs.gang[j->gang].first_set] : NULL;
	for (uint32_t i = 0; j->gang && i < c->gangs.gang[j->gang].n_sets; i++)
		count_demand(c, (wz_shape_id){set[i].shape}, set[i].max);
	return 0;
}

static int on_edited(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.edit.job), class_id;
	wz_shape_id shape;
	struct wz_job *j;
	int r = 0;

	if (slot == WZ_ID_NONE)
		return no_job(err);
	j = &c->jobs.job[slot];
	shape.v = j->shape;
	if (j->state != WZ_JOB_WAITING && j->state != WZ_JOB_HELD)
		return wz_err_set(
		        err, -EINVAL, "NotWaiting", WZ_STR("only a job that has not started can be edited"));
	if (e->u.edit.profile && (r = wz_profile_check(e->u.edit.profile, err)) < 0)
		return r;
	if (e->u.edit.profile &&
	        (e->u.edit.profile->tasks_min != j->tasks_min || e->u.edit.profile->tasks_max != j->tasks_max))
		return wz_err_set(err, -EINVAL, "BadEdit", WZ_STR("the number of tasks is changed by JOB_RESIZED"));
	if (e->u.edit.profile && j->gang)
		return wz_err_set(err, -EINVAL, "BadEdit", WZ_STR("sets of tasks cannot be edited"));
	r = wz_queue_admit_edit(c, slot, e->u.edit.priority, e->u.edit.profile, err);
	if (r < 0)
		return r;
	if (e->u.edit.profile)
		r = wz_shape_register(c, e->u.edit.profile, c->shapes.shape[j->shape].local, &shape);
	if (r == 0)
		r = wz_demand_reserve(&c->demand, c->shapes.n);
	if (r == 0)
		r = wz_order_class(c,
		        &(struct wz_class){.shape = shape.v,
		                .between = j->between,
		                .gang = j->gang,
		                .tasks_min = j->tasks_min,
		                .tasks_max = j->tasks_max,
		                .priority = e->u.edit.priority,
		                .account = j->account},
		        &class_id);
	if (r < 0)
		return wz_no_memory(err, r);
	if (j->state == WZ_JOB_WAITING)
		wz_job_dequeue(c, slot);
	if (e->u.edit.profile)
		wz_holds_drop_of(c, slot); /* they were for what it asked before */
	j->shape = shape.v;
	j->class_id = class_id;
	j->priority = e->u.edit.priority;
	if (e->u.edit.profile) {
		j->time_limit_us = e->u.edit.profile->time_us;
		j->repair_us = e->u.edit.profile->repair_us;
		j->kind = (uint8_t)e->u.edit.profile->kind;
		wz_job_contract(c, slot, &e->u.edit.profile->preempt);
	}
	if (j->state == WZ_JOB_WAITING)
		wz_job_enqueue(c, slot);
	wz_job_rehash(c, slot);
	return 0;
}

/* Tasks that were found not to fit, and withdrawn before they ever started, are demand that was not met. */
static void count_refused(struct wz_core *c, const struct wz_job *j)
{
	const struct wz_shape *s = &c->shapes.shape[j->shape];
	uint32_t size = wz_demand_size(s->count);
	uint64_t *n = &c->demand.refused[size];
	uint8_t why = c->order.cls[j->class_id].reason;

	if (!s->any_model || j->attempt != 1 || (why != WZ_REASON_RESOURCES && why != WZ_REASON_GANG))
		return;
	c->sum -= wz_demand_refused_hash(size, *n);
	*n = wz_usat_add(*n, j->tasks_max);
	c->sum += wz_demand_refused_hash(size, *n);
}

static int on_cancelled(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.job.job);

	if (slot == WZ_ID_NONE)
		return no_job(err);
	if (c->jobs.job[slot].state == WZ_JOB_WAITING) {
		count_refused(c, &c->jobs.job[slot]);
		wz_job_dequeue(c, slot);
	}
	if (c->jobs.job[slot].placed) {
		wz_job_end(c, slot, WZ_END_CANCELLED, false);
	} else {
		c->jobs.job[slot].end = WZ_END_CANCELLED;
		wz_jobs_drop(c, slot);
	}
	return 0;
}

static int on_held_released(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.job.job);
	bool hold = e->kind == WZ_EV_JOB_HELD;
	struct wz_job *j;

	if (slot == WZ_ID_NONE)
		return no_job(err);
	j = &c->jobs.job[slot];
	if (hold && j->state == WZ_JOB_WAITING) {
		wz_job_dequeue(c, slot);
		wz_holds_drop_of(c, slot);
		j->state = WZ_JOB_HELD;
	} else if (!hold && j->state == WZ_JOB_HELD) {
		j->state = WZ_JOB_WAITING;
		wz_job_enqueue(c, slot);
	}
	wz_job_rehash(c, slot);
	return 0;
}

static int on_observed(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	const struct wz_place *p = &e->u.observed.place;
	struct wz_profile none;
	uint32_t slot, class_id, constraint = 0, labels = 0, between = 0;
	wz_shape_id shape;
	struct wz_job *j;
	int r;

	if (!node_known(c, p->node) || !(c->model.node[p->node.v].flags & WZ_NODE_PRESENT))
		return no_node(err);
	if (p->cpu < 0 || p->cpu > WZ_CPU_MILLI_MAX || p->mem < 0 || p->mem > WZ_BYTES_MAX || p->dev_milli < 0 ||
	        p->dev_milli > WZ_WHOLE || p->dev_mem < -1 || p->dev_mem > WZ_BYTES_MAX ||
	        (c->model.node[p->node.v].n_dev < 64 && p->devices >> c->model.node[p->node.v].n_dev))
		return wz_err_set(err, -EINVAL, "BadPlace", WZ_STR("the observed work is out of range"));
	if (wz_jobs_find(c, e->u.observed.job) != WZ_ID_NONE)
		return wz_err_set(err, -EEXIST, "JobExists", WZ_STR("a live job has that number"));
	r = wz_labels_register(c, e->u.observed.n_labels, e->u.observed.label, &labels, err);
	if (r == 0)
		r = wz_constraint_register(c, e->u.observed.constraint, &constraint, err);
	if (r < 0)
		return r;
	wz_profile_init(&none);
	r = wz_asked_register(c, c->between.constraint[constraint].n_term ? constraint : 0, labels, &between);
	if (r == 0)
		r = wz_shape_register(c, &none, constraint, &shape);
	if (r == 0)
		r = wz_demand_reserve(&c->demand, c->shapes.n);
	if (r == 0)
		r = wz_order_class(c,
		        &(struct wz_class){.shape = shape.v,
		                .between = between,
		                .tasks_min = 1,
		                .tasks_max = 1,
		                .account = WZ_ID_NONE},
		        &class_id);
	if (r == 0)
		r = wz_job_reserve(c, 1);
	if (r == 0)
		r = wz_jobs_add(c, e->u.observed.job, 1, &slot);
	if (r < 0)
		return wz_no_memory(err, r);
	j = &c->jobs.job[slot];
	j->seq = ++c->jobs.next_seq;
	j->shape = shape.v;
	j->class_id = class_id;
	j->between = between;
	j->tasks_min = j->tasks_max = j->n_tasks = j->attempt = j->placed = j->running = j->told = 1;
	j->state = WZ_JOB_RUNNING;
	j->user = j->queue = WZ_ID_NONE;
	c->jobs.task[j->first_task].state = WZ_TASK_RUNNING;
	c->jobs.task[j->first_task].observed = 1;
	c->jobs.task[j->first_task].attempt = 1;
	wz_job_expect(c, slot, 1);
	wz_ledger_take(c, j->first_task, p);
	wz_ledger_observe(c, p->node.v);
	wz_holds_recheck(c, p->node.v);
	wz_task_rehash(c, j->first_task);
	wz_job_rehash(c, slot);
	return 0;
}

static int on_resized(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	return wz_gang_resize(c, e, err);
}

static int on_budget_set(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	return wz_budget_set(c, &e->u.budget, err);
}

static int on_budget_removed(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	return wz_budget_remove(c, e->u.budget.name, err);
}

typedef int handler(struct wz_core *c, const struct wz_event *e, struct wz_err *err);

static handler *const handlers[] = {
        [WZ_EV_TIME] = on_time,
        [WZ_EV_STEP] = on_step,
        [WZ_EV_SITE_JOINED] = on_carried,
        [WZ_EV_SITE_LEFT] = on_carried,
        [WZ_EV_NODE_JOINED] = on_node_joined,
        [WZ_EV_NODE_LEFT] = on_node_left,
        [WZ_EV_NODE_READY] = on_node_ready,
        [WZ_EV_DEVICE_CHANGED] = on_device_changed,
        [WZ_EV_TELEMETRY] = on_telemetry,
        [WZ_EV_JOB_SUBMITTED] = on_submitted,
        [WZ_EV_JOB_EDITED] = on_edited,
        [WZ_EV_JOB_CANCELLED] = on_cancelled,
        [WZ_EV_JOB_HELD] = on_held_released,
        [WZ_EV_JOB_RELEASED] = on_held_released,
        [WZ_EV_TASK_STARTED] = wz_on_task_started,
        [WZ_EV_TASK_ENDED] = wz_on_task_ended,
        [WZ_EV_TASK_OBSERVED] = on_observed,
        [WZ_EV_TASK_REPORTED] = wz_on_task_reported,
        [WZ_EV_JOB_REQUEUED] = wz_on_requeued,
        [WZ_EV_JOB_SUSPENDED] = wz_on_suspended_resumed,
        [WZ_EV_JOB_RESUMED] = wz_on_suspended_resumed,
        [WZ_EV_JOB_RESIZED] = on_resized,
        [WZ_EV_EFFECT_CONFIRMED] = wz_on_confirmed,
        [WZ_EV_EFFECT_REFUSED] = wz_on_refused,
        [WZ_EV_POLICY_SET] = on_policy,
        [WZ_EV_WORKLOAD_STATED] = on_workload,
        [WZ_EV_QUEUE_SET] = wz_queue_set,
        [WZ_EV_QUEUE_REMOVED] = wz_queue_remove,
        [WZ_EV_RESERVATION_SET] = wz_reservation_set,
        [WZ_EV_RESERVATION_REMOVED] = wz_reservation_remove,
        [WZ_EV_OFFER_SET] = on_carried,
        [WZ_EV_OFFER_REMOVED] = on_carried,
        [WZ_EV_SOLUTION] = on_carried,
        [WZ_EV_REPACK_ASKED] = wz_on_repack_asked,
        [WZ_EV_RULES_SET] = wz_on_rules,
        [WZ_EV_DISRUPTION_BUDGET_SET] = on_budget_set,
        [WZ_EV_DISRUPTION_BUDGET_REMOVED] = on_budget_removed,
};

int wz_core_apply(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint64_t before = c->now_us;
	int r;

	if (e->kind >= WZ_ARRAY_LEN(handlers) || !handlers[e->kind])
		return wz_err_set(err, -EINVAL, "UnknownEvent", WZ_STR("unknown kind of event"));
	if (e->time_us > c->now_us)
		c->now_us = e->time_us;
	c->n_ended = 0;
	r = handlers[e->kind](c, e, err);
	if (r < 0)
		c->now_us = before;
	else if (c->watch.seen)
		c->watch.seen(c->watch.ctx, c, e, NULL);
	return r;
}
