/* SPDX-License-Identifier: Apache-2.0 */
/* The state as bytes and back (ADR 0008).
 *
 * One function a struct walks its fields and either writes or reads them (struct io), so the two directions cannot
 * disagree. Numbers are LEB128 (signed ones zigzag), texts are a length and bytes; a checksum ends it. Everything that is
 * a function of the rest (hashes, free figures, classes of waiting jobs, ranks, caches) is left out and made anew by the same
 * code that events use. What remains and is not obvious:
 *
 *	numbers of shapes and node classes	policies break ties by the one and index by the other: kept
 *	order of a node's tasks			NODE_LEFT walks it: tasks are written node by node, from the tail of the list
 *	order of wanted stops			becomes the order of STOP effects: kept
 *	numbers of models			of one catalogue: names are written, and numbers translated when they differ
 *	slots of jobs, ids of names		seen by nothing: jobs are written in submit order, names in full */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#include <string.h>

#define MAGIC "WZCORE"
/* 2: queues and reservations; 3: hard slices of cards; 4: parameters, holds, pauses after failed launches, suspension, the work
 * of tasks; 5: constraints, labels, budgets, sets, another number of tasks; 6: repacking; 7:
 * evictions of this hour */
#define VERSION 7u
#define BYTE_ORDER_MARK 0x01020304u /* of the policy state, which is opaque */

struct io {
	struct wz_buf *out; /* writing, else NULL */
	const unsigned char *p, *end; /* reading */
	const char *bad; /* reading: what is wrong; sticky */
	uint64_t version; /* of the format that is read or written */
};

static void fail(struct io *x, const char *what)
{
	if (!x->bad)
		x->bad = what;
}

static void want(struct io *x, bool cond, const char *what)
{
	if (!cond && !x->out)
		fail(x, what);
}

static void io_u64(struct io *x, uint64_t *v)
{
	uint64_t r = 0;

	if (x->out) {
		for (r = *v; r >= 0x80; r >>= 7)
			wz_buf_addc(x->out, (char)(unsigned char)(0x80 | (r & 0x7f)));
		wz_buf_addc(x->out, (char)r);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += 7) {
		unsigned char b = x->bad || x->p == x->end ? 0 : *x->p;
		if (x->bad || x->p == x->end || (shift == 63 && b > 1) || (shift && b == 0))
			break;
		x->p++;
		r |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*v = r;
			return;
		}
	}
	fail(x, "a number is cut or not in its shortest form");
	*v = 0;
}

static void io_max(struct io *x, uint64_t *v, uint64_t max)
{
	io_u64(x, v);
	if (!x->out && *v > max) {
		fail(x, "a number is out of range");
		*v = 0;
	}
}

static void io_u32(struct io *x, uint32_t *v)
{
	uint64_t w = *v;
	io_max(x, &w, UINT32_MAX);
	*v = (uint32_t)w;
}

static void io_u32_max(struct io *x, uint32_t *v, uint32_t max)
{
	uint64_t w = *v;
	io_max(x, &w, max);
	*v = (uint32_t)w;
}

static void io_u16(struct io *x, uint16_t *v)
{
	uint64_t w = *v;
	io_max(x, &w, UINT16_MAX);
	*v = (uint16_t)w;
}

static void io_u8_max(struct io *x, uint8_t *v, unsigned max)
{
	uint64_t w = *v;
	io_max(x, &w, max);
	*v = (uint8_t)w;
}

static void io_bool(struct io *x, bool *v)
{
	uint64_t w = *v;
	io_max(x, &w, 1);
	*v = w != 0;
}

static void io_i64(struct io *x, int64_t *v, int64_t min, int64_t max)
{
	uint64_t w = (uint64_t)*v << 1 ^ (*v < 0 ? UINT64_MAX : 0);
	int64_t r;

	io_u64(x, &w);
	r = (int64_t)(w >> 1 ^ (0 - (w & 1)));
	if (x->out)
		return;
	if (r < min || r > max) {
		fail(x, "a number is out of range");
		r = min;
	}
	*v = r;
}

static void io_i32(struct io *x, int32_t *v, int32_t min, int32_t max)
{
	int64_t w = *v;
	io_i64(x, &w, min, max);
	*v = (int32_t)w;
}

/* Reading: a view of the input. */
static void io_str(struct io *x, struct wz_str *s)
{
	uint64_t n = s->len;

	io_u64(x, &n);
	if (x->out) {
		wz_buf_add(x->out, *s);
		return;
	}
	if (n > (uint64_t)(x->end - x->p)) {
		fail(x, "a text is cut");
		n = 0;
	}
	*s = (struct wz_str){(const char *)x->p, (size_t)n};
	x->p += n;
}

/* How many things of at least `least` bytes follow: no more than there are bytes. */
static void io_count(struct io *x, uint32_t *n, uint32_t max, unsigned least)
{
	uint64_t w = *n;

	io_max(x, &w, max);
	if (!x->out && w > (uint64_t)(x->end - x->p) / least) {
		fail(x, "a count is larger than what follows");
		w = 0;
	}
	*n = (uint32_t)w;
}

/* ---- the records ---- */

struct head {
	uint64_t seed, now, step, next_effect, start_timeout, stop_timeout, next_seq;
	bool facts_changed;
	uint64_t pause_step, pause_seq;
	int32_t pause_priority;
	uint64_t evicted_hour, evicted;
};

static void io_head(struct io *x, struct head *h)
{
	io_u64(x, &h->seed);
	io_u64(x, &h->now);
	io_u64(x, &h->step);
	io_u64(x, &h->next_effect);
	io_u64(x, &h->start_timeout);
	io_u64(x, &h->stop_timeout);
	io_max(x, &h->next_seq, UINT64_MAX >> 2);
	io_bool(x, &h->facts_changed);
	io_u64(x, &h->pause_step);
	io_u64(x, &h->pause_seq);
	io_i32(x, &h->pause_priority, INT32_MIN, INT32_MAX);
	if (x->version >= 7) {
		io_u64(x, &h->evicted_hour);
		io_u64(x, &h->evicted);
	}
	want(x, h->next_effect >= 1 && h->start_timeout && h->stop_timeout, "a counter is zero");
}

/* What version 4 added to a job. */
static void io_job_life(struct io *x, struct wz_job *j)
{
	io_u32(x, &j->failures);
	io_u32(x, &j->preempted);
	io_u64(x, &j->not_before_us);
	io_u8_max(x, &j->backoff, 1);
	io_u8_max(x, &j->suspended, 1);
	io_u64(x, &j->limit_left_us);
	want(x, !j->backoff || j->state == WZ_JOB_WAITING, "a job that does not wait pauses");
	want(x, (!j->suspended && !j->limit_left_us) || j->state >= WZ_JOB_STARTING,
	        "a job that waits is suspended");
	want(x, !j->limit_left_us || j->suspended, "a time limit stands still for a job that runs");
}

static void io_model(struct io *x, struct wz_str *vendor, struct wz_str *name, struct wz_model *m)
{
	io_str(x, vendor);
	io_str(x, name);
	io_u64(x, &m->mem_bytes);
	io_u32(x, &m->class_g);
	io_u32(x, &m->bw_gbps);
	io_u32(x, &m->tflops_milli);
	io_u32(x, &m->fp32_milli);
	io_u32(x, &m->fp8_milli);
	io_u32(x, &m->link_gbps);
	io_u32(x, &m->tdp_w);
	io_u32(x, &m->idle_w);
	io_u32(x, &m->cu_milli);
	io_u16(x, &m->year);
	io_u8_max(x, &m->mig, UINT8_MAX);
	want(x, m->mem_bytes <= (uint64_t)WZ_BYTES_MAX, "a model's memory is out of range");
}

static void io_shape(struct io *x, struct wz_shape *s)
{
	io_i64(x, &s->cpu, 0, WZ_CPU_MILLI_MAX);
	io_i64(x, &s->mem, 0, WZ_BYTES_MAX);
	io_u32_max(x, &s->count, WZ_NODE_DEVICES_MAX);
	io_i32(x, &s->milli, 0, WZ_WHOLE);
	io_i64(x, &s->dev_mem, 0, INT64_MAX);
	io_u32(x, &s->dev_class_g);
	io_i64(x, &s->dev_mem_total, 0, INT64_MAX);
	io_i64(x, &s->cu_milli, 0, INT64_MAX);
	io_u32(x, &s->bw_gbps);
	io_u32(x, &s->free_pct);
	io_u32(x, &s->util_milli);
	io_u8_max(x, &s->link, WZ_LINK_RACK);
	io_u8_max(x, &s->link_preferred, 1);
	io_u8_max(x, &s->any_model, 1);
	if (x->version >= 3)
		io_u16(x, &s->mig);
	for (unsigned i = 0; i < WZ_MODELS_MAX / 64; i++) {
		io_u64(x, &s->allowed.w[i]);
		io_u64(x, &s->first.w[i]);
	}
	if (x->version >= 5)
		io_u32(x, &s->local);
	want(x, (s->count == 0) == (s->milli == 0), "a shape has devices without compute, or the reverse");
}

static void io_class(struct io *x, struct wz_node_class *k)
{
	io_u16(x, &k->model);
	io_u16(x, &k->n_dev);
	io_i64(x, &k->cpu, 0, WZ_CPU_MILLI_MAX);
	io_i64(x, &k->mem, 0, WZ_BYTES_MAX);
}

static void io_device(struct io *x, struct wz_device *d)
{
	io_u16(x, &d->model);
	io_u16(x, &d->link_domain);
	io_u16(x, &d->partition);
	io_u8_max(x, &d->numa, UINT8_MAX);
	io_u8_max(x, &d->pcie, UINT8_MAX);
	io_u8_max(x, &d->health, WZ_HEALTH_FAILED);
	io_u8_max(x, &d->free_mem_pct, UINT8_MAX);
	io_u8_max(x, &d->util_pct, UINT8_MAX);
	io_u8_max(x, &d->temp_c, UINT8_MAX);
	io_i32(x, &d->milli, 1, WZ_WHOLE);
	io_i64(x, &d->mem, 0, WZ_BYTES_MAX);
	if (x->version >= 3) {
		io_u8_max(x, &d->card, UINT8_MAX);
		io_u8_max(x, &d->cut, WZ_CUT_REFUSED);
	}
}

struct node_record {
	struct wz_str name, site, rack;
	uint8_t flags;
	int64_t cpu, mem;
	int32_t max_tasks;
	uint32_t class_id, n_labels, n_dev, n_taints;
};

static void io_node(struct io *x, struct node_record *r)
{
	io_str(x, &r->name); /* empty: this id was never used, and nothing follows */
	if (r->name.len == 0)
		return;
	io_str(x, &r->site);
	io_str(x, &r->rack);
	io_u8_max(x, &r->flags, WZ_NODE_PRESENT | WZ_NODE_READY | WZ_NODE_CORDONED | WZ_NODE_COUNT_ONLY);
	io_i64(x, &r->cpu, 0, WZ_CPU_MILLI_MAX);
	io_i64(x, &r->mem, 0, WZ_BYTES_MAX);
	io_i32(x, &r->max_tasks, 1, INT32_MAX);
	io_u32_max(x, &r->class_id, WZ_CLASSES_MAX - 1);
	io_u32_max(x, &r->n_labels, WZ_NODE_LABELS_MAX);
	io_u32_max(x, &r->n_dev, WZ_NODE_DEVICES_MAX);
	if (x->version >= 5)
		io_u32_max(x, &r->n_taints, WZ_NODE_TAINTS_MAX);
}

struct job_record {
	struct wz_str user, queue;
	uint32_t leaf; /* 1 + its queue of the tree; 0: none */
	uint8_t reason;
	bool limited, repairing;
	uint64_t limit_due, repair_due;
	uint32_t n_done, n_again;
};

/* What version 5 added. */
static void io_job_more(struct io *x, struct wz_job *j, struct job_record *r)
{
	io_u32(x, &j->between);
	io_u32(x, &j->gang);
	io_u32_max(x, &j->n_tasks, WZ_JOB_TASKS_MAX);
	io_u32_max(x, &j->told, WZ_JOB_TASKS_MAX);
	io_u8_max(x, &j->below, 1);
	io_u64(x, &j->repair_us);
	io_bool(x, &r->repairing);
	if (r->repairing)
		io_u64(x, &r->repair_due);
	io_u32_max(x, &r->n_again, j->n_tasks); /* tasks of another attempt than is usual; they follow */
	want(x, j->n_tasks >= j->tasks_max, "a job has fewer numbers than tasks");
	want(x, (!r->repairing && !j->below) || j->state == WZ_JOB_RUNNING,
	        "a job that does not run is being repaired");
}

static void io_job(struct io *x, struct wz_job *j, struct job_record *r)
{
	struct wz_str signal = {j->preempt.signal, strlen(j->preempt.signal)};

	io_u64(x, &j->number);
	io_u64(x, &j->seq);
	io_u64(x, &j->submitted_us);
	io_u32(x, &j->shape);
	io_u32_max(x, &j->tasks_min, WZ_JOB_TASKS_MAX);
	io_u32_max(x, &j->tasks_max, WZ_JOB_TASKS_MAX);
	io_u32(x, &j->attempt);
	io_str(x, &r->user);
	io_str(x, &r->queue);
	io_i32(x, &j->priority, INT32_MIN, INT32_MAX);
	io_u8_max(x, &j->state, WZ_JOB_ENDING);
	io_u8_max(x, &j->end, WZ_END_LAUNCH_FAILED);
	io_u8_max(x, &j->requeue, 1);
	io_u8_max(x, &j->kind, WZ_KIND_SERVICE);
	io_str(x, &signal);
	if (!x->out) {
		want(x, signal.len < sizeof(j->preempt.signal), "a signal's name is too long");
		if (!x->bad && signal.len)
			memcpy(j->preempt.signal, signal.ptr, signal.len);
		want(x, strlen(j->preempt.signal) == signal.len, "a signal's name has a zero byte");
	}
	io_u64(x, &j->preempt.grace_us);
	io_u64(x, &j->preempt.interval_us);
	io_u8_max(x, &j->preempt.ack, WZ_ACK_SOCKET);
	io_u8_max(x, &j->preempt.movable, 1);
	io_u64(x, &j->time_limit_us);
	io_bool(x, &r->limited);
	if (r->limited)
		io_u64(x, &r->limit_due);
	io_u8_max(x, &r->reason, WZ_REASON_COUNT_ - 1);
	want(x, j->tasks_min >= 1 && j->tasks_min <= j->tasks_max && j->attempt >= 1,
	        "a job's numbers are out of range");
	want(x, r->reason == 0 || j->state == WZ_JOB_WAITING, "a job that does not wait has a reason");
	want(x, !r->limited || j->state >= WZ_JOB_STARTING, "a job that waits has a time limit that runs");
	if (x->version >= 2) {
		io_u32_max(x, &r->leaf, WZ_QUEUES_MAX);
		io_u64(x, &j->started_us);
		for (unsigned i = 0; i < 3; i++)
			io_u64(x, &j->predict[i]);
	}
	if (x->version >= 4)
		io_job_life(x, j);
	if (x->version >= 5)
		io_job_more(x, j, r);
	else
		j->n_tasks = j->tasks_max;
	io_u32_max(x, &r->n_done, j->n_tasks); /* the tasks that are done; their indices follow */
}

struct task_record {
	uint32_t job, index;
	uint8_t state, observed;
	struct wz_place place;
	uint64_t effect, deadline_us;
	uint8_t kind;
	uint8_t warn, frozen;
	uint64_t started_us, checkpoint_us;
	int64_t progress_milli;
};

static void io_place(struct io *x, struct wz_place *p)
{
	io_u32(x, &p->node.v);
	io_u64(x, &p->devices);
	io_i64(x, &p->cpu, 0, WZ_CPU_MILLI_MAX);
	io_i64(x, &p->mem, 0, WZ_BYTES_MAX);
	io_i32(x, &p->dev_milli, 0, WZ_WHOLE);
	io_i64(x, &p->dev_mem, INT64_MIN, WZ_BYTES_MAX);
}

/* Does an effect of that kind, or none (0), go with the state of a task? */
static bool flies_with(const struct task_record *t)
{
	switch (t->effect ? t->kind : 0) {
	case 0:
		return t->state != WZ_TASK_ASSUMED;
	case WZ_EF_START:
		return t->state != WZ_TASK_RUNNING;
	case WZ_EF_STOP:
		return t->state == WZ_TASK_STOPPING;
	case WZ_EF_PREEMPT:
		return t->state == WZ_TASK_STOPPING && t->warn;
	case WZ_EF_SUSPEND:
	case WZ_EF_RESUME:
	case WZ_EF_CHECKPOINT:
		return t->state != WZ_TASK_ASSUMED;
	default:
		return false;
	}
}

static void io_task(struct io *x, struct task_record *t)
{
	io_u32(x, &t->job); /* position among the jobs */
	io_u32_max(x, &t->index, WZ_JOB_TASKS_MAX - 1);
	io_u8_max(x, &t->state, WZ_TASK_STOPPING);
	io_u8_max(x, &t->observed, 1);
	io_place(x, &t->place);
	io_u64(x, &t->effect);
	if (t->effect) {
		io_u8_max(x, &t->kind, x->version >= 4 ? WZ_EF_CHECKPOINT : WZ_EF_STOP);
		io_u64(x, &t->deadline_us);
	}
	if (x->version >= 4) {
		io_u8_max(x, &t->warn, 1);
		io_u8_max(x, &t->frozen, 1);
		io_u64(x, &t->started_us);
		io_u64(x, &t->checkpoint_us);
		io_i64(x, &t->progress_milli, 0, INT64_MAX);
	}
	want(x, t->state >= WZ_TASK_ASSUMED, "a task that holds something has no state");
	want(x, (!t->warn || t->state == WZ_TASK_STOPPING) && (!t->frozen || t->state != WZ_TASK_ASSUMED),
	        "a task is warned or frozen that cannot be");
	want(x, flies_with(t), "a task's effect does not go with its state");
	want(x, !t->observed || t->state == WZ_TASK_RUNNING, "observed work is not running");
}

struct recut_record {
	struct wz_recut r;
	uint64_t deadline_us;
};

static void io_recut(struct io *x, struct recut_record *r)
{
	io_u64(x, &r->r.effect);
	io_u64(x, &r->r.destroy);
	io_u32(x, &r->r.node);
	io_u16(x, &r->r.slot);
	io_u16(x, &r->r.kind);
	io_u64(x, &r->deadline_us);
}

/* ---- writing ---- */

static struct wz_str name_of(const struct wz_core *c, uint32_t id)
{
	return id == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&c->model.names, id);
}

static void write_constraints(struct io *x, const struct wz_core *c)
{
	const struct wz_between *b = &c->between;
	uint32_t n = b->n_constraints;

	io_u32(x, &n);
	for (uint32_t i = 1; i < n; i++) {
		struct wz_str text = name_of(c, b->text[i]);
		io_str(x, &text);
	}
	n = b->n_labelsets;
	io_u32(x, &n);
	for (uint32_t i = 1; i < b->n_labelsets; i++) {
		uint32_t pairs = b->labelset[i].n;
		io_u32(x, &pairs);
		for (uint32_t k = 0; k < 2 * pairs; k++) {
			struct wz_str s = name_of(c, b->label[b->labelset[i].first + k]);
			io_str(x, &s);
		}
	}
	n = b->n_asked;
	io_u32(x, &n);
	for (uint32_t i = 1; i < b->n_asked; i++) {
		struct wz_asked a = b->asked[i];
		io_u32(x, &a.constraint);
		io_u32(x, &a.labels);
	}
}

static void io_set(struct io *x, struct wz_set *s)
{
	io_u32(x, &s->shape);
	io_u32(x, &s->between);
	io_u32_max(x, &s->min, WZ_JOB_TASKS_MAX);
	io_u32_max(x, &s->max, WZ_JOB_TASKS_MAX);
	io_u32_max(x, &s->slots, WZ_JOB_TASKS_MAX);
	want(x, s->min >= 1 && s->min <= s->max && s->max <= s->slots, "a set's numbers are out of range");
}

static void io_gang(struct io *x, struct wz_gang *g)
{
	io_u8_max(x, &g->link, WZ_LINK_RACK);
	io_u8_max(x, &g->link_preferred, 1);
	io_u32(x, &g->constraint);
	io_u32_max(x, &g->n_sets, WZ_JOB_SETS_MAX);
	want(x, g->n_sets >= 1, "a gang has no sets");
}

static void write_gangs(struct io *x, const struct wz_core *c)
{
	uint32_t n = c->gangs.n;

	io_u32(x, &n);
	for (uint32_t i = 1; i < n; i++) {
		struct wz_gang g = c->gangs.gang[i];
		io_gang(x, &g);
		for (uint32_t k = 0; k < g.n_sets; k++) {
			struct wz_set s = c->gangs.set[g.first_set + k];
			struct wz_str name = name_of(c, s.name);
			io_str(x, &name);
			io_set(x, &s);
		}
	}
}

static void io_budget(struct io *x, struct wz_ev_budget *b)
{
	io_str(x, &b->name);
	io_str(x, &b->selector);
	io_u32(x, &b->limit);
	io_bool(x, &b->most);
	io_bool(x, &b->percent);
	io_u32(x, &b->expected);
}

static void write_budgets(struct io *x, const struct wz_core *c)
{
	const struct wz_between *b = &c->between;
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_budgets; i++)
		n += b->budget[i].name != WZ_NONE;
	io_u32(x, &n);
	for (uint32_t i = 0; i < b->n_budgets; i++) {
		const struct wz_budget *k = &b->budget[i];
		struct wz_ev_budget e;
		if (k->name == WZ_NONE)
			continue;
		e = (struct wz_ev_budget){.name = name_of(c, k->name),
		        .selector = name_of(c, k->selector_text),
		        .limit = k->limit,
		        .most = k->most,
		        .percent = k->percent,
		        .expected = k->expected};
		io_budget(x, &e);
	}
}

static void write_catalogue(struct io *x, const struct wz_core *c)
{
	uint32_t n = c->catalogue.n;

	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_model m = c->catalogue.model[i];
		struct wz_str vendor = wz_str(m.vendor), name = wz_str(m.name);
		io_model(x, &vendor, &name, &m);
	}
}

static void write_demand(struct io *x, const struct wz_core *c)
{
	const struct wz_demand *d = &c->demand;
	uint32_t n = c->shapes.n, n_stated = d->n_stated, epochs = d->epochs, n_shapes = d->n_shapes;
	uint64_t next = d->next_epoch;

	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_shape s = c->shapes.shape[i];
		io_shape(x, &s);
	}
	io_u64(x, &next);
	io_u32(x, &epochs);
	io_u32(x, &n_shapes);
	for (uint32_t i = 0; i < n_shapes; i++) {
		uint64_t a = d->arrived[i];
		io_u64(x, &a);
	}
	for (uint32_t k = 0; k <= WZ_NODE_DEVICES_MAX; k++) {
		uint64_t r = d->refused[k];
		io_u64(x, &r);
	}
	io_u32(x, &n_stated);
	for (uint32_t i = 0; i < n_stated; i++) {
		uint32_t shape = d->stated[i].shape, weight = d->stated[i].weight;
		io_u32(x, &shape);
		io_u32(x, &weight);
	}
}

static void write_nodes(struct io *x, const struct wz_core *c)
{
	const struct wz_model_state *m = &c->model;
	uint32_t n_classes = m->n_classes, n_nodes = m->n_nodes;

	io_u32(x, &n_classes);
	for (uint32_t i = 0; i < n_classes; i++) {
		struct wz_node_class k = m->node_class[i];
		io_class(x, &k);
	}
	io_u32(x, &n_nodes);
	for (uint32_t i = 0; i < n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		struct node_record r = {.name = n->name ? name_of(c, n->name - 1) : WZ_STR(""),
		        .flags = n->flags & 0xf,
		        .cpu = n->cpu,
		        .mem = n->mem,
		        .max_tasks = n->max_tasks,
		        .class_id = n->class_id,
		        .n_labels = n->n_labels,
		        .n_taints = n->n_taints,
		        .n_dev = n->n_dev};
		if (n->name) {
			r.site = name_of(c, n->site);
			r.rack = name_of(c, n->rack);
		}
		io_node(x, &r);
		for (uint32_t k = 0; n->name && k < 2 * n->n_labels; k++) {
			struct wz_str s = name_of(c, m->label[n->first_label + k]);
			io_str(x, &s);
		}
		for (uint32_t k = 0; n->name && k < n->n_taints; k++) {
			struct wz_node_taint t = m->taint[n->first_taint + k];
			struct wz_str key = name_of(c, t.key), value = name_of(c, t.value);
			io_str(x, &key);
			io_str(x, &value);
			io_u8_max(x, &t.effect, WZ_TAINT_NO_EXECUTE);
		}
		for (uint32_t k = 0; n->name && k < n->n_dev; k++) {
			struct wz_device d = m->dev[n->first_dev + k];
			io_device(x, &d);
		}
	}
}

static void io_u128(struct io *x, unsigned __int128 *v)
{
	uint64_t lo = (uint64_t)*v, hi = (uint64_t)(*v >> 64);

	io_u64(x, &lo);
	io_u64(x, &hi);
	*v = (unsigned __int128)hi << 64 | lo;
}

static void io_past(struct io *x, struct wz_account *a)
{
	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++)
		io_i64(x, &a->past[r], 0, INT64_MAX);
	io_u64(x, &a->past_ms);
}

static void write_queues(struct io *x, const struct wz_core *c)
{
	const struct wz_queues *t = &c->queues;
	uint32_t n = t->n, n_acc = 0, n_res = c->reservations.n;
	char text[WZ_RULES_TEXT_MAX];

	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_queue q = t->q[i];
		struct wz_account a = t->acc[q.account];
		struct wz_str name = name_of(c, q.name), rules;
		struct wz_buf b;
		wz_buf_init_fixed(&b, text, sizeof(text));
		wz_queue_rules_format(&q.rules, &b);
		rules = wz_buf_str(&b);
		io_str(x, &name);
		io_str(x, &rules);
		io_u128(x, &q.spent);
		io_u128(x, &q.spent_money);
		io_past(x, &a);
	}
	for (uint32_t i = 0; i < t->n_acc; i++)
		n_acc += t->acc[i].user != WZ_ID_NONE && wz_account_matters(&t->acc[i]);
	io_u32(x, &n_acc);
	for (uint32_t i = 0; i < t->n_acc; i++) {
		struct wz_account a = t->acc[i];
		struct wz_str user = a.user == WZ_USER_NOBODY ? WZ_STR("") : name_of(c, a.user);
		if (a.user == WZ_ID_NONE || !wz_account_matters(&a))
			continue;
		io_u32(x, &a.queue);
		io_str(x, &user);
		io_past(x, &a);
	}
	io_u32(x, &n_res);
	for (uint32_t i = 0; i < n_res; i++) {
		struct wz_str name = name_of(c, c->reservations.r[i].name), rules;
		struct wz_buf b;
		wz_buf_init_fixed(&b, text, sizeof(text));
		wz_reservation_text(c, i, &b);
		rules = wz_buf_str(&b);
		io_str(x, &name);
		io_str(x, &rules);
	}
}

/* A placed or done task is usually of the job's attempt, another of none yet. */
static uint32_t usual_attempt(const struct wz_job *j, const struct wz_task *t)
{
	return t->state == WZ_TASK_NONE ? 0 : j->attempt;
}

static void write_jobs(struct io *x, const struct wz_core *c, const uint32_t *slot, uint32_t n)
{
	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_job j = c->jobs.job[slot[i]];
		uint32_t limit = wz_inflight_find(c, WZ_LIMIT_ID(&j)),
		         repair = wz_inflight_find(c, WZ_REPAIR_ID(&j));
		struct job_record r = {.user = name_of(c, j.user),
		        .queue = name_of(c, j.queue),
		        .n_done = j.done,
		        .leaf = j.account == WZ_ID_NONE ? 0 : 1 + c->queues.acc[j.account].queue,
		        .limited = limit != WZ_ID_NONE,
		        .repairing = repair != WZ_ID_NONE};
		for (uint32_t t = 0; t < j.n_tasks; t++) {
			const struct wz_task *k = &c->jobs.task[j.first_task + t];
			r.n_again += k->attempt != usual_attempt(&j, k);
		}
		if (r.repairing)
			r.repair_due = c->inflight.f[repair].deadline_us;
		if (r.limited)
			r.limit_due = c->inflight.f[limit].deadline_us;
		if (j.state == WZ_JOB_WAITING)
			r.reason = c->order.cls[j.class_id].reason;
		io_job(x, &j, &r);
		for (uint32_t t = 0; j.done && t < j.n_tasks; t++)
			if (c->jobs.task[j.first_task + t].state == WZ_TASK_DONE)
				io_u32(x, &t);
		for (uint32_t t = 0; r.n_again && t < j.n_tasks; t++) {
			const struct wz_task *k = &c->jobs.task[j.first_task + t];
			uint32_t attempt = k->attempt;
			if (attempt == usual_attempt(&j, k))
				continue;
			io_u32(x, &t);
			io_u32(x, &attempt);
		}
	}
}

static void write_task(struct io *x, const struct wz_core *c, const uint32_t *position, uint32_t task)
{
	const struct wz_task *t = &c->jobs.task[task];
	uint32_t f = t->effect ? wz_inflight_find(c, t->effect) : WZ_ID_NONE;
	struct task_record r = {.job = position[t->job],
	        .index = task - c->jobs.job[t->job].first_task,
	        .state = t->state,
	        .observed = t->observed,
	        .warn = t->warn,
	        .frozen = t->frozen,
	        .started_us = t->started_us,
	        .checkpoint_us = t->checkpoint_us,
	        .progress_milli = t->progress_milli,
	        .place = {.node = {t->node},
	                .devices = t->devices,
	                .cpu = t->cpu,
	                .mem = t->mem,
	                .dev_milli = t->dev_milli,
	                .dev_mem = t->dev_mem}};

	if (f != WZ_ID_NONE) {
		r.effect = t->effect;
		r.kind = (uint8_t)c->inflight.f[f].kind;
		r.deadline_us = c->inflight.f[f].deadline_us;
	}
	io_task(x, &r);
}

static void write_tasks(struct io *x, const struct wz_core *c, const uint32_t *position)
{
	uint32_t n = (uint32_t)c->jobs.live_tasks, n_wanted = c->n_wanted;

	io_u32(x, &n);
	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		uint32_t tail = WZ_ID_NONE;
		for (uint32_t t = c->model.node[i].name ? c->model.node[i].head_task : WZ_ID_NONE; t != WZ_ID_NONE;
		        t = c->jobs.task[t].next)
			tail = t;
		for (uint32_t t = tail; t != WZ_ID_NONE; t = c->jobs.task[t].prev)
			write_task(x, c, position, t);
	}
	io_u32(x, &n_wanted);
	for (uint32_t i = 0; i < n_wanted; i++) {
		uint32_t slot = c->jobs.task[c->wanted[i]].job, job = position[slot],
		         index = c->wanted[i] - c->jobs.job[slot].first_task;
		io_u32(x, &job);
		io_u32(x, &index);
	}
}

static void write_recuts(struct io *x, const struct wz_core *c)
{
	uint32_t n = c->n_recut;

	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct recut_record r = {.r = c->recut[i]};
		r.deadline_us = c->inflight.f[wz_inflight_find(c, r.r.effect)].deadline_us;
		io_recut(x, &r);
	}
}

static void io_repack(struct io *x, struct wz_repack_state *s)
{
	io_u64(x, &s->filled_us);
	io_u64(x, &s->next_us);
	io_u64(x, &s->budget);
	io_u64(x, &s->asked_until_us);
	io_u32(x, &s->asked);
	io_bool(x, &s->go);
}

static void write_repack(struct io *x, const struct wz_core *c)
{
	struct wz_repack_state s = c->repack;

	io_repack(x, &s);
}

static void write_params(struct io *x, const struct wz_core *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++)
		n += c->param[i] != wz_params[i].usual;
	io_u32(x, &n);
	for (uint32_t i = 0; i < WZ_PARAM_COUNT_; i++) {
		struct wz_str name = wz_str(wz_params[i].name);
		int64_t value = c->param[i];
		if (value == wz_params[i].usual)
			continue;
		io_str(x, &name);
		io_i64(x, &value, INT64_MIN, INT64_MAX);
	}
}

struct hold_record {
	uint64_t id, deadline_us;
	uint32_t job, task;
	struct wz_place place;
};

static void io_hold(struct io *x, struct hold_record *h)
{
	io_u64(x, &h->id);
	io_u64(x, &h->deadline_us);
	io_u32(x, &h->job); /* position among the jobs */
	io_u32_max(x, &h->task, WZ_JOB_TASKS_MAX - 1);
	io_place(x, &h->place);
}

static void write_holds(struct io *x, const struct wz_core *c, const uint32_t *position)
{
	uint32_t n = c->holds.n;

	io_u32(x, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct wz_hold *h = &c->holds.h[i];
		struct hold_record r = {.id = h->id,
		        .deadline_us = c->inflight.f[wz_inflight_find(c, h->id)].deadline_us,
		        .job = position[h->job],
		        .task = h->task,
		        .place = h->place};
		io_hold(x, &r);
	}
}

/* Heap sort of slots by submit order. */
static void sift(const struct wz_job *job, uint32_t *a, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1, t = a[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && job[a[kid + 1]].seq > job[a[kid]].seq)
			kid++;
		if (job[a[kid]].seq <= job[t].seq)
			return;
		a[at] = a[kid];
		a[kid] = t;
		at = kid;
	}
}

static uint32_t by_submit_order(const struct wz_core *c, uint32_t *slot, uint32_t *position)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->jobs.n; i++)
		if (c->jobs.job[i].used)
			slot[n++] = i;
	for (uint32_t i = n / 2; i-- > 0;)
		sift(c->jobs.job, slot, n, i);
	for (uint32_t end = n; end > 1; end--) {
		uint32_t t = slot[0];
		slot[0] = slot[end - 1];
		slot[end - 1] = t;
		sift(c->jobs.job, slot, end - 1, 0);
	}
	for (uint32_t i = 0; i < n; i++)
		position[slot[i]] = i;
	return n;
}

static uint64_t checksum(struct wz_str s)
{
	return wz_hash_str(0x57a7e, s);
}

/* With its parameters, which are what its state begins with. */
static struct wz_str policy_text(const struct wz_core *c, char text[WZ_POLICY_TEXT_MAX])
{
	struct wz_variant v = {.policy = c->policy};
	struct wz_buf b;

	if (c->policy->n_params)
		memcpy(v.value, c->policy_state, c->policy->n_params * sizeof(v.value[0]));
	wz_buf_init_fixed(&b, text, WZ_POLICY_TEXT_MAX);
	wz_variant_format(&v, &b);
	return b.status < 0 ? wz_str(c->policy->name) : wz_buf_str(&b);
}

int wz_core_export(const struct wz_core *c, struct wz_buf *b, struct wz_err *err)
{
	struct io x = {.out = b, .version = VERSION};
	size_t begin = b->len, scratch = 2 * sizeof(uint32_t) * (c->jobs.n + 1ull);
	struct head h = {c->seed, c->now_us, c->step, c->next_effect, c->start_timeout_us, c->stop_timeout_us,
	        c->jobs.next_seq, c->facts_changed, c->pause.step, c->pause.seq, c->pause.priority,
	        c->evicted.hour_us, c->evicted.n};
	char text[WZ_POLICY_TEXT_MAX];
	struct wz_str policy = policy_text(c, text), state = {c->policy_state, c->policy->state_size};
	uint64_t digest = wz_core_digest(c), version = VERSION, rules = c->policy->version, mark = 0;
	uint32_t *slot = wz_mem_alloc(&c->mem, scratch), order = BYTE_ORDER_MARK, n;

	if (!slot)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to write the state"));
	n = by_submit_order(c, slot, slot + c->jobs.n);
	wz_buf_addz(b, MAGIC);
	io_u64(&x, &version);
	io_head(&x, &h);
	write_params(&x, c);
	write_catalogue(&x, c);
	write_constraints(&x, c);
	write_demand(&x, c);
	write_gangs(&x, c);
	write_budgets(&x, c);
	write_nodes(&x, c);
	write_queues(&x, c);
	write_jobs(&x, c, slot, n);
	write_tasks(&x, c, slot + c->jobs.n);
	write_holds(&x, c, slot + c->jobs.n);
	write_recuts(&x, c);
	write_repack(&x, c);
	io_str(&x, &policy);
	io_u64(&x, &rules);
	memcpy(&mark, &order, sizeof(order)); /* tells the byte order and no more */
	io_u64(&x, &mark);
	io_str(&x, &state);
	io_u64(&x, &digest);
	wz_mem_free(&c->mem, slot, scratch);
	if (b->status == 0)
		wz_buf_add_hex64(b, checksum((struct wz_str){b->data + begin, b->len - begin}));
	return b->status == 0 ? 0
	                      : wz_err_set(err, b->status, b->status == -ENOMEM ? "OutOfMemory" : "TooLong",
	                                WZ_STR("no room for the state"));
}

/* ---- reading ---- */

struct import {
	struct io x;
	struct wz_core *c;
	uint32_t n_models;
	wz_model_id model[WZ_MODELS_MAX]; /* of the file's number */
	bool identity, same;
	uint32_t n_jobs;
	int r; /* -ENOMEM, -E2BIG */
};

static bool ok(struct import *m)
{
	return m->r == 0 && !m->x.bad;
}

static void read_catalogue(struct import *m)
{
	io_count(&m->x, &m->n_models, WZ_MODELS_MAX, 14);
	m->identity = true;
	for (uint32_t i = 0; ok(m) && i < m->n_models; i++) {
		struct wz_model facts = {0};
		struct wz_str vendor = {0}, name = {0};
		char text[WZ_MODEL_NAME_MAX] = {0};
		int r;
		io_model(&m->x, &vendor, &name, &facts);
		want(&m->x, vendor.len < sizeof(text), "a vendor's name is too long");
		if (!ok(m))
			return;
		if (vendor.len)
			memcpy(text, vendor.ptr, vendor.len);
		facts.vendor = text;
		r = wz_catalogue_declare(&m->c->catalogue, name, &facts, &m->model[i], NULL);
		if (r == -ENOMEM)
			m->r = r;
		else if (r < 0)
			fail(&m->x, "a device model cannot be declared");
		m->identity = m->identity && m->model[i].v == i;
	}
}

static uint16_t model_of(struct import *m, uint16_t v)
{
	want(&m->x, v < m->n_models, "a device names no model");
	return v < m->n_models ? m->model[v].v : 0;
}

/* Bits beyond the file's models say whether a model that it did not know is in. */
static void translate(const struct import *m, struct wz_model_set *set)
{
	struct wz_model_set r = {{0}};
	bool others = m->n_models < WZ_MODELS_MAX && wz_model_set_has(set, WZ_MODELS_MAX - 1);

	if (m->identity)
		return;
	if (others)
		memset(&r, 0xff, sizeof(r));
	for (uint32_t i = 0; i < m->n_models; i++)
		r.w[m->model[i].v >> 6] &= ~(1ULL << (m->model[i].v & 63));
	for (uint32_t i = 0; i < m->n_models; i++)
		if (wz_model_set_has(set, i))
			wz_model_set_add(&r, m->model[i].v);
	*set = r;
}

/* A refusal of a registration is one of memory or limits, or the bytes are wrong. */
static void note(struct import *m, int r, const char *what)
{
	if (r == -ENOMEM || r == -E2BIG)
		m->r = r;
	else if (r < 0)
		fail(&m->x, what);
}

static void read_labelset(struct import *m, uint32_t at)
{
	struct wz_label label[WZ_JOB_LABELS_MAX];
	uint32_t n = 0, id = 0;

	io_count(&m->x, &n, WZ_JOB_LABELS_MAX, 2);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		io_str(&m->x, &label[i].key);
		io_str(&m->x, &label[i].value);
	}
	if (!ok(m))
		return;
	note(m, wz_labels_register(m->c, n, label, &id, NULL), "labels of a task are out of range");
	want(&m->x, id == at, "labels are there twice");
}

static void read_constraints(struct import *m)
{
	uint32_t n = 0, id = 0;

	if (m->x.version < 5)
		return;
	io_count(&m->x, &n, WZ_CONSTRAINTS_MAX, 1);
	for (uint32_t i = 1; ok(m) && i < n; i++) {
		struct wz_str text = {0};
		io_str(&m->x, &text);
		if (ok(m))
			note(m, wz_constraint_register(m->c, text, &id, NULL), "a constraint cannot be read");
		want(&m->x, id == i, "a constraint is there twice");
	}
	io_count(&m->x, &n, WZ_LABELSETS_MAX, 1);
	for (uint32_t i = 1; ok(m) && i < n; i++)
		read_labelset(m, i);
	io_count(&m->x, &n, UINT32_MAX / 2, 2);
	for (uint32_t i = 1; ok(m) && i < n; i++) {
		struct wz_asked a = {0};
		io_u32(&m->x, &a.constraint);
		io_u32(&m->x, &a.labels);
		want(&m->x, a.constraint < m->c->between.n_constraints && a.labels < m->c->between.n_labelsets,
		        "a constraint or labels are not there");
		if (ok(m))
			note(m, wz_asked_register(m->c, a.constraint, a.labels, &id), "");
		want(&m->x, id == i, "a constraint with labels is there twice");
	}
}

static void read_gangs(struct import *m)
{
	uint32_t n = 0, id = 0;

	if (m->x.version < 5)
		return;
	io_count(&m->x, &n, WZ_GANGS_MAX, 4);
	for (uint32_t i = 1; ok(m) && i < n; i++) {
		struct wz_gang g = {0};
		struct wz_set set[WZ_JOB_SETS_MAX];
		uint64_t tasks = 0;
		io_gang(&m->x, &g);
		want(&m->x, g.constraint < m->c->between.n_constraints, "a gang's constraint is not there");
		for (uint32_t k = 0; ok(m) && k < g.n_sets; k++) {
			struct wz_str name = {0};
			memset(&set[k], 0, sizeof(set[k]));
			io_str(&m->x, &name);
			io_set(&m->x, &set[k]);
			want(&m->x, set[k].shape < m->c->shapes.n && set[k].between < m->c->between.n_asked,
			        "a set's shape is not there");
			tasks += set[k].slots;
			want(&m->x, name.len && tasks <= WZ_JOB_TASKS_MAX,
			        "a set has no name, or a gang too many tasks");
			if (ok(m))
				m->r = wz_strtab_add(&m->c->model.names, name, &set[k].name);
		}
		if (ok(m))
			m->r = wz_gang_intern(m->c, &g, set, g.n_sets, &id);
		want(&m->x, id == i, "a gang is there twice");
	}
}

static void read_budgets(struct import *m)
{
	uint32_t n = 0;

	if (m->x.version < 5)
		return;
	io_count(&m->x, &n, WZ_BUDGETS_MAX, 6);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		struct wz_ev_budget e = {.limit = 0};
		io_budget(&m->x, &e);
		if (ok(m))
			note(m, wz_budget_set(m->c, &e, NULL), "a disruption budget is out of range");
	}
}

/* What is derived of a shape, and of one with a constraint the same without it, which must have come before. */
static int local_shape(struct import *m, struct wz_shape *s)
{
	const struct wz_between *b = &m->c->between;
	struct wz_shape plain = *s;
	uint32_t before = m->c->shapes.n;
	wz_shape_id id;
	int r;

	want(&m->x, s->local < b->n_constraints && (!s->local || b->constraint[s->local].local),
	        "a shape's constraint is not there");
	if (!ok(m) || !s->local) {
		s->special = wz_shape_special(s);
		return 0;
	}
	plain.local = 0;
	plain.special = wz_shape_special(&plain);
	r = wz_shape_intern(m->c, &plain, &id);
	want(&m->x, r < 0 || id.v < before, "a shape with a constraint comes before the one without");
	s->plain = r < 0 ? 0 : id.v;
	s->local_hash = b->text_hash[s->local];
	s->special = wz_shape_special(s);
	return r;
}

static void read_shapes(struct import *m)
{
	uint32_t n = 0;

	io_count(&m->x, &n, WZ_SHAPES_MAX, 20);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		struct wz_shape s;
		wz_shape_id id = {0};
		memset(&s, 0, sizeof(s));
		io_shape(&m->x, &s);
		if (!ok(m))
			return;
		translate(m, &s.allowed);
		translate(m, &s.first);
		m->r = local_shape(m, &s);
		if (!ok(m))
			return;
		m->r = wz_shape_intern(m->c, &s, &id);
		if (m->r == 0 && id.v != i)
			fail(&m->x, "a shape is there twice");
	}
}

static void read_demand(struct import *m)
{
	struct wz_demand *d = &m->c->demand;
	uint32_t n = 0, n_stated = 0;

	read_shapes(m);
	io_u64(&m->x, &d->next_epoch);
	io_u32(&m->x, &d->epochs);
	io_count(&m->x, &n, m->c->shapes.n, 1);
	if (!ok(m) || (m->r = wz_demand_reserve(d, n)) < 0)
		return;
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		io_u64(&m->x, &d->arrived[i]);
		d->total = wz_usat_add(d->total, d->arrived[i]);
		if (d->arrived[i])
			m->c->sum += wz_hash_u64(m->c->shape_hash[i] ^ 0xdeULL, d->arrived[i]);
	}
	for (uint32_t k = 0; ok(m) && k <= WZ_NODE_DEVICES_MAX; k++) {
		io_u64(&m->x, &d->refused[k]);
		m->c->sum += wz_demand_refused_hash(k, d->refused[k]);
	}
	io_count(&m->x, &n_stated, WZ_SHAPES_MAX, 2);
	if (!ok(m) || (m->r = wz_grow(&m->c->mem, &d->stated, &d->stated_cap, n_stated, sizeof(*d->stated))) < 0)
		return;
	for (; ok(m) && d->n_stated < n_stated; d->n_stated++) {
		uint32_t i = d->n_stated;
		io_u32(&m->x, &d->stated[i].shape);
		io_u32(&m->x, &d->stated[i].weight);
		want(&m->x, d->stated[i].shape < m->c->shapes.n, "a stated shape is not there");
		if (ok(m))
			m->c->sum += wz_hash_u64(m->c->shape_hash[d->stated[i].shape] + i, d->stated[i].weight);
	}
}

static void read_labels(struct import *m, struct wz_label *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		io_str(&m->x, &l[i].key);
		io_str(&m->x, &l[i].value);
	}
}

/* Joins the node as an event would; then what only later events could have made of it. */
static void read_node(struct import *m, uint32_t id, uint32_t n_classes)
{
	struct wz_model_state *s = &m->c->model;
	struct node_record r = {0};
	struct wz_device dev[WZ_NODE_DEVICES_MAX];
	struct wz_device_facts facts[WZ_NODE_DEVICES_MAX];
	struct wz_label label[WZ_NODE_LABELS_MAX];
	struct wz_taint taint[WZ_NODE_TAINTS_MAX];
	struct wz_ev_node e;
	struct wz_node *n;
	int rc;

	io_node(&m->x, &r);
	if (!ok(m) || r.name.len == 0)
		return;
	read_labels(m, label, r.n_labels);
	for (uint32_t i = 0; i < r.n_taints; i++) {
		io_str(&m->x, &taint[i].key);
		io_str(&m->x, &taint[i].value);
		io_u8_max(&m->x, &taint[i].effect, WZ_TAINT_NO_EXECUTE);
	}
	memset(dev, 0, sizeof(dev));
	for (uint32_t i = 0; i < r.n_dev; i++) {
		io_device(&m->x, &dev[i]);
		facts[i] = (struct wz_device_facts){.model = {model_of(m, dev[i].model)},
		        .mem_bytes = dev[i].mem,
		        .compute_milli = dev[i].milli,
		        .link_domain = dev[i].link_domain,
		        .numa = dev[i].numa,
		        .pcie = dev[i].pcie,
		        .health = dev[i].health,
		        .partition = dev[i].partition,
		        .card = dev[i].card};
	}
	want(&m->x, r.class_id < n_classes, "a node's class is not there");
	want(&m->x, (r.flags & WZ_NODE_PRESENT) || !(r.flags & WZ_NODE_READY), "an absent node is ready");
	if (!ok(m))
		return;
	e = (struct wz_ev_node){.node = {id},
	        .name = r.name,
	        .site = r.site,
	        .rack = r.rack,
	        .cpu_milli = r.cpu,
	        .mem_bytes = r.mem,
	        .max_tasks = (uint32_t)r.max_tasks,
	        .count_only = r.flags & WZ_NODE_COUNT_ONLY,
	        .n_devices = r.n_dev,
	        .device = facts,
	        .n_labels = r.n_labels,
	        .label = label,
	        .n_taints = r.n_taints,
	        .taint = taint};
	rc = wz_between_reserve_node(m->c, &e);
	if (rc == 0)
		rc = wz_model_node_join(s, &m->c->catalogue, &e, NULL);
	if (rc == -ENOMEM)
		m->r = rc;
	else if (rc < 0)
		fail(&m->x, "a node's facts are out of range");
	if (!ok(m))
		return;
	n = &s->node[id];
	s->node_class[n->class_id].nodes--;
	s->node_class[r.class_id].nodes++;
	n->class_id = r.class_id;
	for (uint32_t i = 0; i < r.n_dev; i++) {
		struct wz_device *d = &s->dev[n->first_dev + i];
		d->free_mem_pct = dev[i].free_mem_pct;
		d->util_pct = dev[i].util_pct;
		d->temp_c = dev[i].temp_c;
		d->cut = dev[i].cut;
	}
	if (!(r.flags & WZ_NODE_PRESENT))
		wz_model_node_left(s, id);
	n->flags = (uint8_t)(r.flags | (n->flags & (WZ_NODE_MEM_KNOWN | WZ_NODE_TAINTED)));
	wz_between_node_in(m->c, id);
}

static void read_nodes(struct import *m)
{
	struct wz_core *c = m->c;
	struct wz_model_state *s = &c->model;
	uint32_t n_classes = 0, n_nodes = 0;

	io_count(&m->x, &n_classes, WZ_CLASSES_MAX, 4);
	for (uint32_t i = 0; ok(m) && i < n_classes; i++) {
		struct wz_node_class k = {0};
		io_class(&m->x, &k);
		if (k.model != WZ_MODEL_NONE)
			k.model = model_of(m, k.model);
		s->node_class[i] = k;
	}
	s->n_classes = n_classes;
	io_count(&m->x, &n_nodes, WZ_NODES_MAX, 1);
	if (!ok(m))
		return;
	m->r = wz_grow(&c->mem, &s->node, &s->node_cap, n_nodes, sizeof(*s->node));
	if (m->r == 0)
		m->r = wz_grow(&c->mem, &c->node_hash, &c->node_hash_cap, n_nodes, sizeof(*c->node_hash));
	for (uint32_t i = 0; ok(m) && i < n_nodes; i++)
		read_node(m, i, n_classes);
	if (!ok(m))
		return;
	for (uint32_t i = s->n_nodes; i < n_nodes;
	        i++) /* ids that were never used; a node before them gives the count */
		fail(&m->x, "the last node was never there");
	s->n_classes = n_classes; /* joining may have made others, which no node has */
	for (uint32_t i = 0; i < n_nodes; i++) {
		c->node_hash[i] = s->node[i].name ? wz_model_node_hash(s, i) : 0;
		c->sum += c->node_hash[i];
	}
	m->r = wz_index_reserve(c);
}

static int intern(struct wz_core *c, struct wz_str s, uint32_t *ret)
{
	*ret = WZ_ID_NONE;
	return s.len ? wz_strtab_add(&c->model.names, s, ret) : 0;
}

static void read_one_queue(struct import *m)
{
	struct wz_core *c = m->c;
	struct wz_str name = {0}, rules = {0};
	unsigned __int128 spent = 0, money = 0;
	struct wz_account a = {0};
	int r;

	io_str(&m->x, &name);
	io_str(&m->x, &rules);
	io_u128(&m->x, &spent);
	io_u128(&m->x, &money);
	io_past(&m->x, &a);
	want(&m->x, a.past_ms <= c->now_us / 1000, "an account is of the future");
	if (!ok(m))
		return;
	r = wz_queues_restore(c, name, rules, NULL);
	if (r == -EINVAL)
		fail(&m->x, "a queue's name or rules are not such");
	else
		m->r = r;
	if (!ok(m))
		return;
	c->queues.q[c->queues.n - 1].spent = spent;
	c->queues.q[c->queues.n - 1].spent_money = money;
	memcpy(c->queues.acc[c->queues.n_acc - 1].past, a.past, sizeof(a.past));
	c->queues.acc[c->queues.n_acc - 1].past_ms = a.past_ms;
}

static void read_one_account(struct import *m)
{
	struct wz_core *c = m->c;
	struct wz_account a = {0}, *at;
	struct wz_str user = {0};
	uint32_t id = 0;

	io_u32(&m->x, &a.queue);
	io_str(&m->x, &user);
	io_past(&m->x, &a);
	want(&m->x, a.queue < c->queues.n && a.past_ms <= c->now_us / 1000,
	        "an account is of no queue, or of the future");
	if (!ok(m) || (m->r = intern(c, user, &a.user)) < 0)
		return;
	m->r = wz_account_make(c, a.queue, a.user == WZ_ID_NONE ? WZ_USER_NOBODY : a.user, &id);
	if (!ok(m))
		return;
	at = &c->queues.acc[id];
	memcpy(at->past, a.past, sizeof(a.past));
	at->past_ms = a.past_ms;
}

static void read_queues(struct import *m)
{
	uint32_t n = 0, n_acc = 0, n_res = 0;
	int r;

	if (m->x.version < 2)
		return;
	io_count(&m->x, &n, WZ_QUEUES_MAX, 10);
	for (uint32_t i = 0; ok(m) && i < n; i++)
		read_one_queue(m);
	r = ok(m) ? wz_queues_restored(m->c) : 0;
	if (r == -EINVAL)
		fail(&m->x, "the queues are not a tree");
	else if (r < 0)
		m->r = r;
	io_count(&m->x, &n_acc, WZ_ACCOUNTS_MAX, 6);
	for (uint32_t i = 0; ok(m) && i < n_acc; i++)
		read_one_account(m);
	io_count(&m->x, &n_res, WZ_RESERVATIONS_MAX, 2);
	for (uint32_t i = 0; ok(m) && i < n_res; i++) {
		struct wz_str name = {0}, rules = {0};
		io_str(&m->x, &name);
		io_str(&m->x, &rules);
		r = ok(m) ? wz_reservation_restore(m->c, name, rules, NULL) : 0;
		if (r == -EINVAL)
			fail(&m->x, "a reservation's name or rules are not such");
		else if (r < 0)
			m->r = r;
	}
}

/* Attempts of tasks that are not the usual ones; those are set when the placed tasks are known. */
static void read_attempts(struct import *m, const struct wz_job *j, uint32_t n)
{
	for (uint32_t i = 0, next = 0; ok(m) && i < n; i++) {
		uint32_t t = 0, attempt = 0;
		io_u32(&m->x, &t);
		io_u32(&m->x, &attempt);
		want(&m->x, t >= next && t < j->n_tasks && attempt >= j->attempt, "attempts are not in order");
		next = t + 1;
		if (ok(m))
			m->c->jobs.task[j->first_task + t].attempt = attempt;
	}
}

/* Everything of a job but its tasks; jobs come in submit order, so their slots are their positions. */
static void read_job(struct import *m, uint32_t at, uint64_t *last_seq)
{
	struct wz_core *c = m->c;
	struct wz_job r, *j;
	struct job_record extra = {0};
	uint32_t slot = 0, class_id = 0, next = 0;

	memset(&r, 0, sizeof(r));
	io_job(&m->x, &r, &extra);
	want(&m->x, r.shape < c->shapes.n, "a job's shape is not there");
	want(&m->x, r.seq > *last_seq && r.seq <= c->jobs.next_seq, "jobs are not in submit order");
	want(&m->x, wz_jobs_find(c, r.number) == WZ_ID_NONE, "a job is there twice");
	want(&m->x, r.state >= WZ_JOB_STARTING || (extra.n_done == 0 && extra.n_again == 0),
	        "a waiting job has done tasks");
	want(&m->x, r.between < c->between.n_asked && r.gang < c->gangs.n,
	        "a job's constraint or gang is not there");
	want(&m->x,
	        !ok(m) || !r.gang ||
	                (r.n_tasks == c->gangs.gang[r.gang].slots && r.tasks_min == c->gangs.gang[r.gang].min &&
	                        r.tasks_max == c->gangs.gang[r.gang].max),
	        "a job's numbers are not those of its gang");
	want(&m->x, extra.leaf <= c->queues.n && (extra.leaf == 0 || c->queues.q[extra.leaf - 1].n_children == 0),
	        "a job's queue is not there, or not a leaf");
	if (!ok(m))
		return;
	*last_seq = r.seq;
	m->r = intern(c, extra.user, &r.user);
	r.account = WZ_ID_NONE;
	if (m->r == 0 && extra.leaf)
		m->r = wz_account_make(
		        c, extra.leaf - 1, r.user == WZ_ID_NONE ? WZ_USER_NOBODY : r.user, &r.account);
	if (m->r == 0)
		m->r = wz_order_class(c,
		        &(struct wz_class){.shape = r.shape,
		                .between = r.between,
		                .gang = r.gang,
		                .tasks_min = r.tasks_min,
		                .tasks_max = r.tasks_max,
		                .priority = r.priority,
		                .account = r.account},
		        &class_id);
	if (m->r == 0)
		m->r = intern(c, extra.queue, &r.queue);
	if (m->r == 0)
		m->r = wz_job_reserve(c, r.n_tasks);
	if (m->r == 0)
		m->r = wz_jobs_add(c, r.number, r.n_tasks, &slot);
	if (m->r < 0)
		return;
	wz_check(slot == at);
	j = &c->jobs.job[slot];
	r.first_task = j->first_task;
	r.task_order = j->task_order;
	r.used = 1;
	r.class_id = class_id;
	r.next = r.prev = r.attention_at = WZ_ID_NONE;
	r.done = extra.n_done;
	c->jobs.movable += r.preempt.movable;
	*j = r;
	for (uint32_t i = 0; ok(m) && i < extra.n_done; i++) {
		uint32_t t = 0;
		io_u32(&m->x, &t);
		want(&m->x, t >= next && t < j->n_tasks, "done tasks are not in order");
		next = t + 1;
		if (ok(m))
			c->jobs.task[j->first_task + t].state = WZ_TASK_DONE;
	}
	wz_job_expect(c, slot, 1);
	read_attempts(m, j, extra.n_again);
	if (ok(m) && j->backoff) {
		c->n_backoff++;
		m->r = wz_inflight_add(c, WZ_BACKOFF_ID(j), WZ_FLIGHT_BACKOFF, j->first_task, j->not_before_us);
	} else if (ok(m) && j->state == WZ_JOB_WAITING) {
		wz_order_add(c, slot);
		want(&m->x, c->order.cls[class_id].n == 1 || c->order.cls[class_id].reason == extra.reason,
		        "jobs of one class have two reasons");
		if (extra.reason && c->order.cls[class_id].reason != extra.reason)
			wz_class_set_reason(c, class_id, extra.reason);
	}
	if (ok(m) && extra.limited)
		m->r = wz_inflight_add(c, WZ_LIMIT_ID(j), WZ_FLIGHT_TIME_LIMIT, j->first_task, extra.limit_due);
	if (ok(m) && extra.repairing)
		m->r = wz_inflight_add(c, WZ_REPAIR_ID(j), WZ_FLIGHT_REPAIR, j->first_task, extra.repair_due);
}

static void read_task(struct import *m)
{
	struct wz_core *c = m->c;
	struct task_record r = {0};
	struct wz_node *n;
	struct wz_job *j;
	uint32_t task;

	io_task(&m->x, &r);
	want(&m->x, r.job < m->n_jobs && r.index < c->jobs.job[r.job].n_tasks, "a task's job is not there");
	want(&m->x, r.place.node.v < c->model.n_nodes && c->model.node[r.place.node.v].name,
	        "a task's node is not there");
	if (!ok(m))
		return;
	j = &c->jobs.job[r.job];
	n = &c->model.node[r.place.node.v];
	task = j->first_task + r.index;
	want(&m->x, c->jobs.task[task].state == WZ_TASK_NONE, "a task is there twice");
	want(&m->x, n->n_dev == 64 || r.place.devices >> n->n_dev == 0, "a task has devices that its node has not");
	want(&m->x, j->state >= WZ_JOB_STARTING, "a waiting job holds something");
	want(&m->x, !r.effect || (r.effect < c->next_effect && wz_inflight_find(c, r.effect) == WZ_ID_NONE),
	        "an effect in flight was never issued, or is there twice");
	if (!ok(m))
		return;
	if (r.effect)
		m->r = wz_inflight_add(c, r.effect, r.kind, task, r.deadline_us);
	if (m->r < 0)
		return;
	c->jobs.task[task].state = r.state;
	c->jobs.task[task].observed = r.observed;
	c->jobs.task[task].effect = r.effect;
	c->jobs.task[task].warn = r.warn;
	c->jobs.task[task].frozen = r.frozen;
	c->jobs.task[task].started_us = r.started_us;
	c->jobs.task[task].checkpoint_us = r.checkpoint_us;
	c->jobs.task[task].progress_milli = r.progress_milli;
	wz_ledger_take(c, task, &r.place);
	j->placed++;
	j->stopping += r.state == WZ_TASK_STOPPING;
	j->running += r.state == WZ_TASK_RUNNING;
}

/* Tasks that need an effect, in the order in which it will be proposed: each once. */
static void read_wanted(struct import *m)
{
	struct wz_core *c = m->c;
	uint32_t n = 0, open = 0;

	for (uint32_t i = 0; i < m->n_jobs; i++)
		for (uint32_t t = 0; t < c->jobs.job[i].n_tasks; t++)
			open += wz_task_wants(c, c->jobs.job[i].first_task + t) != 0;
	io_count(&m->x, &n, open, 2);
	want(&m->x, n == open, "a stop is neither wanted nor in flight");
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		uint32_t job = 0, index = 0, task;
		io_u32(&m->x, &job);
		io_u32(&m->x, &index);
		want(&m->x, job < m->n_jobs && index < c->jobs.job[job].n_tasks, "a stop's task is not there");
		if (!ok(m))
			return;
		task = c->jobs.job[job].first_task + index;
		want(&m->x, wz_task_wants(c, task) && !c->jobs.task[task].want_at, "a stop is wanted twice");
		if (ok(m))
			wz_task_rehash(c, task); /* and lists it */
	}
}

static void read_holds(struct import *m)
{
	struct wz_core *c = m->c;
	uint32_t n = 0;

	if (m->x.version < 4)
		return;
	io_count(&m->x, &n, WZ_HOLDS_MAX, 10);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		struct hold_record h = {0};
		const struct wz_job *j;
		io_hold(&m->x, &h);
		want(&m->x, h.job < m->n_jobs && h.task < c->jobs.job[h.job].n_tasks, "a hold's job is not there");
		want(&m->x,
		        h.id < c->next_effect && wz_inflight_find(c, h.id) == WZ_ID_NONE &&
		                (c->holds.n == 0 || c->holds.h[c->holds.n - 1].id < h.id),
		        "a hold was never issued, or is there twice");
		want(&m->x, h.place.node.v < c->model.n_nodes && c->model.node[h.place.node.v].name,
		        "a hold's node is not there");
		if (!ok(m))
			return;
		j = &c->jobs.job[h.job];
		want(&m->x,
		        j->state == WZ_JOB_WAITING || j->state == WZ_JOB_STARTING ||
		                (j->state == WZ_JOB_ENDING && j->requeue),
		        "room is held for a job that will not start");
		want(&m->x, wz_hold_find(c, h.job, h.task) == WZ_ID_NONE && wz_hold_claims(c, &h.place),
		        "held room is not to be had");
		if (ok(m))
			m->r = wz_hold_reserve(c);
		if (ok(m))
			m->r = wz_inflight_add(c, h.id, WZ_EF_HOLD, j->first_task, h.deadline_us);
		if (ok(m))
			wz_hold_add(c, h.id, h.job, h.task, &h.place);
	}
}

static void read_params(struct import *m)
{
	uint32_t n = 0;

	if (m->x.version < 4)
		return;
	io_count(&m->x, &n, WZ_PARAM_COUNT_, 2);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		struct wz_str name = {0};
		int64_t value = 0;
		int r;
		io_str(&m->x, &name);
		io_i64(&m->x, &value, INT64_MIN, INT64_MAX);
		if (!ok(m))
			return;
		r = wz_param_set(m->c, name, value, NULL);
		if (r < 0)
			fail(&m->x, "a parameter is not known or out of range");
	}
}

static void read_jobs(struct import *m)
{
	struct wz_core *c = m->c;
	uint64_t last = 0;
	uint32_t n_tasks = 0;

	io_count(&m->x, &m->n_jobs, UINT32_MAX / 4, 20);
	for (uint32_t i = 0; ok(m) && i < m->n_jobs; i++)
		read_job(m, i, &last);
	if (!ok(m))
		return;
	io_count(&m->x, &n_tasks, UINT32_MAX / 4, 10);
	c->ledger.trial = true; /* no time passes while tasks take what they hold */
	for (uint32_t i = 0; ok(m) && i < n_tasks; i++)
		read_task(m);
	c->ledger.trial = false;
	if (!ok(m))
		return;
	for (uint32_t i = 0; i < m->n_jobs; i++)
		want(&m->x, (c->jobs.job[i].placed > 0) == (c->jobs.job[i].state >= WZ_JOB_STARTING),
		        "a job's state does not go with its tasks");
	for (uint32_t i = 0; i < c->model.n_nodes; i++)
		if (c->model.node[i].name)
			wz_ledger_observe(c, i);
	if (ok(m))
		read_wanted(m);
	if (ok(m))
		wz_queues_recount(c);
	if (ok(m))
		read_holds(m);
	for (uint32_t i = 0; ok(m) && i < m->n_jobs; i++) {
		struct wz_job *j = &c->jobs.job[i];
		for (uint32_t t = j->first_task; t < j->first_task + j->n_tasks; t++) {
			if (c->jobs.task[t].state != WZ_TASK_NONE && !c->jobs.task[t].attempt)
				c->jobs.task[t].attempt = j->attempt;
			wz_task_rehash(c, t);
		}
		if (m->x.version < 5)
			j->told = wz_job_live(j);
		wz_job_rehash(c, i);
	}
}

static void read_recuts(struct import *m)
{
	struct wz_core *c = m->c;
	uint32_t n = 0;

	io_count(&m->x, &n, UINT32_MAX / 4, 6);
	for (uint32_t i = 0; ok(m) && i < n; i++) {
		struct recut_record r = {0};
		const struct wz_node *node;
		io_recut(&m->x, &r);
		want(&m->x, r.r.node < c->model.n_nodes && c->model.node[r.r.node].name,
		        "a cut's node is not there");
		if (!ok(m))
			return;
		node = &c->model.node[r.r.node];
		want(&m->x, r.r.slot < node->n_dev && (node->n_dev == 64 || r.r.destroy >> node->n_dev == 0),
		        "a cut's slot is not there");
		want(&m->x,
		        r.r.effect && r.r.effect < c->next_effect && wz_inflight_find(c, r.r.effect) == WZ_ID_NONE,
		        "an effect in flight was never issued, or is there twice");
		if (ok(m))
			m->r = wz_recut_add(c, &r.r, r.deadline_us);
	}
}

/* The policy that the text names: the custom one of the options, or one of the table. NULL: not known any more. */
static const struct wz_policy *policy_of(struct wz_str text, const struct wz_core_options *o, struct wz_variant *v)
{
	struct wz_str rest = text, name = wz_str_split(&rest, ':');

	if (o && o->custom && wz_str_eq(name, wz_str(o->custom->name))) {
		wz_variant_usual(o->custom, v);
		return v->policy;
	}
	if (wz_variant_parse(text, v, NULL) == 0)
		return v->policy;
	return NULL;
}

static void read_policy(struct import *m, const struct wz_core_options *o)
{
	struct wz_core *c = m->c;
	struct wz_str text = {0}, state = {0};
	uint64_t mark = 0, own = 0, digest = 0, version = 0;
	uint32_t order = BYTE_ORDER_MARK;
	const struct wz_policy *p;
	struct wz_variant v;

	io_str(&m->x, &text);
	io_max(&m->x, &version, UINT32_MAX);
	io_max(&m->x, &mark, UINT32_MAX);
	io_str(&m->x, &state);
	io_u64(&m->x, &digest);
	if (!m->x.bad && m->x.p != m->x.end)
		fail(&m->x, "something follows the end");
	if (!ok(m))
		return;
	p = policy_of(text, o, &v);
	memcpy(&own, &order, sizeof(order));
	m->same = m->identity && p && p->version == version && p->state_size == state.len &&
	          (own == mark || !state.len);
	if (!p)
		wz_variant_usual(wz_policies[0], &v);
	p = v.policy;
	if (c->policy->state_size)
		wz_mem_free(&c->mem, c->policy_state, c->policy->state_size);
	c->policy = p;
	c->policy_state = p->state_size ? wz_mem_zalloc(&c->mem, p->state_size) : NULL;
	if (p->state_size && !c->policy_state) {
		m->r = -ENOMEM;
		return;
	}
	c->epoch++;
	wz_variant_begin(&v, c->policy_state);
	if (!m->same) {
		wz_core_prepare(c);
		return;
	}
	if (state.len)
		memcpy(c->policy_state, state.ptr, state.len);
	c->policy_hash = wz_policy_hash(p, c->policy_state);
	if (wz_core_digest(c) != digest)
		fail(&m->x, "the digest is not that of the state");
}

static void read_all(struct import *m, const struct wz_core_options *o)
{
	struct wz_core *c = m->c;
	struct head h = {0};

	io_head(&m->x, &h);
	if (!ok(m))
		return;
	c->seed = c->model.order_seed = h.seed;
	c->now_us = h.now;
	c->step = h.step;
	c->next_effect = h.next_effect;
	c->start_timeout_us = h.start_timeout;
	c->stop_timeout_us = h.stop_timeout;
	c->jobs.next_seq = h.next_seq;
	c->pause.step = h.pause_step;
	c->pause.seq = h.pause_seq;
	c->pause.priority = h.pause_priority;
	c->evicted.hour_us = h.evicted_hour;
	c->evicted.n = h.evicted;
	read_params(m);
	if (ok(m))
		read_catalogue(m);
	if (ok(m))
		read_constraints(m);
	if (ok(m))
		read_demand(m);
	if (ok(m))
		read_gangs(m);
	if (ok(m))
		read_budgets(m);
	if (ok(m))
		read_nodes(m);
	if (ok(m))
		read_queues(m);
	if (ok(m))
		read_jobs(m);
	if (ok(m) && m->x.version >= 3)
		read_recuts(m);
	if (ok(m) && m->x.version >= 6)
		io_repack(&m->x, &c->repack);
	if (ok(m))
		read_policy(m, o);
	c->facts_changed = h.facts_changed;
}

static int bad(struct wz_err *err, const char *what)
{
	return wz_err_set(err, -EINVAL, "BadSnapshot", WZ_STR("this is not a whole snapshot: "), wz_str(what));
}

int wz_core_import(const struct wz_mem *mem, const struct wz_core_options *o, struct wz_str bytes,
        struct wz_core **ret, bool *ret_same, struct wz_err *err)
{
	struct wz_core_options plain = {0};
	struct import m = {0};
	const size_t magic = sizeof(MAGIC) - 1;
	uint64_t version = 0;
	char sum[17];
	struct wz_buf b;
	int r;

	if (bytes.len < magic + 1 + 16 || memcmp(bytes.ptr, MAGIC, magic) != 0)
		return bad(err, "it does not begin like one");
	m.x.p = (const unsigned char *)bytes.ptr + magic;
	m.x.end = (const unsigned char *)bytes.ptr + bytes.len - 16;
	io_u64(&m.x, &version);
	if (version > VERSION)
		return wz_err_set(err, -EPROTO, "NewerSnapshot",
		        WZ_STR("this snapshot was written by a newer version of WhaleZEN"));
	wz_buf_init_fixed(&b, sum, sizeof(sum));
	wz_buf_add_hex64(&b, checksum((struct wz_str){bytes.ptr, bytes.len - 16}));
	m.x.version = version;
	if (version == 0 || memcmp(sum, bytes.ptr + bytes.len - 16, 16) != 0)
		return bad(err, "the checksum is wrong");
	if (o) {
		plain.no_index = o->no_index;
		plain.index_bytes_max_mib = o->index_bytes_max_mib;
	}
	r = wz_core_new(mem, &plain, &m.c, err);
	if (r < 0)
		return r;
	read_all(&m, o);
	if (ok(&m)) {
		*ret = m.c;
		if (ret_same)
			*ret_same = m.same;
		return 0;
	}
	wz_core_free(m.c);
	if (m.r < 0)
		return wz_err_set(
		        err, m.r, m.r == -ENOMEM ? "OutOfMemory" : "TooMany", WZ_STR("no room for this snapshot"));
	return bad(err, m.x.bad);
}

/* ---- reading of the state for bodies ---- */

static void sift_info(struct wz_flight_info *a, uint32_t n, uint32_t at)
{
	for (;;) {
		uint32_t kid = 2 * at + 1;
		struct wz_flight_info t = a[at];
		if (kid >= n)
			return;
		if (kid + 1 < n && a[kid + 1].effect > a[kid].effect)
			kid++;
		if (a[kid].effect <= t.effect)
			return;
		a[at] = a[kid];
		a[kid] = t;
		at = kid;
	}
}

uint32_t wz_core_flights(const struct wz_core *c, struct wz_flight_info *ret, uint32_t max)
{
	uint32_t n = 0, kept;

	for (uint32_t i = 0; i < c->inflight.n_heap; i++) {
		const struct wz_flight *f = &c->inflight.f[c->inflight.heap[i]];
		const struct wz_job *j = f->task == WZ_ID_NONE ? NULL : &c->jobs.job[c->jobs.task[f->task].job];
		if ((f->id & WZ_LIMIT_ID_BIT) || f->kind == WZ_EF_HOLD)
			continue; /* deadlines of the core's own */
		if (n < max)
			ret[n] = (struct wz_flight_info){.effect = f->id,
			        .deadline_us = f->deadline_us,
			        .job = j ? j->number : 0, /* the cut of a card is nobody's */
			        .kind = f->kind,
			        .task = j ? f->task - j->first_task : 0,
			        .attempt = j ? c->jobs.task[f->task].attempt : 0};
		n++;
	}
	kept = n < max ? n : max;
	for (uint32_t i = kept / 2; i-- > 0;)
		sift_info(ret, kept, i);
	for (uint32_t end = kept; end > 1; end--) {
		struct wz_flight_info t = ret[0];
		ret[0] = ret[end - 1];
		ret[end - 1] = t;
		sift_info(ret, end - 1, 0);
	}
	return n;
}

int wz_core_job_at(const struct wz_core *c, uint32_t i, struct wz_job_info *ret)
{
	if (i >= c->jobs.n)
		return -ENOENT;
	return c->jobs.job[i].used ? wz_core_job(c, c->jobs.job[i].number, ret) : 1;
}
