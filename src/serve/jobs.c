/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that change jobs. Each becomes an event; the answer waits until it is on the disk. */
#include "serve/serve_int.h"

#include "jobspec/indices.h"
#include "os/proc.h"

static void refuse(struct wz_api_call *c, int code, const char *reason, const char *text, const char *field)
{
	struct wz_err err;
	(void)wz_err_set(&err, code, reason, wz_str(text));
	if (field)
		wz_api_fail_field(c, &err, field);
	else
		wz_api_fail(c, &err);
}

/* ---- a job, or tasks of an array ---- */

/* What a request does to one open job. 0: done; 1: this one is left as it is; else *err says why not. */
typedef int act(
        struct serve *s, struct booked *b, const struct wz_job_info *info, struct wz_str text, struct wz_err *err);

/* Calls `fn` for the job, or for each open task of the array that it names, or for those with the indices. All or nothing when it
 * is one; of several those that can be changed are. */
static void each(
        struct serve *s, struct wz_api_call *c, uint64_t id, struct wz_str indices, struct wz_str text, act *fn)
{
	const struct book_order *o = book_array(s, id);
	const struct booked *self = book_find(s, id);
	struct wz_indices set;
	struct wz_err err;
	uint32_t done = 0, seen = 0;
	bool array = o && o->last > o->id;
	if (self && self->index >= 0 && book_order_of(s, self)->id == id)
		array = true; /* an array of one */
	int rc = indices.len ? wz_indices_parse(indices, &set, &err) : 0;
	if (rc < 0) {
		wz_api_fail_field(c, &err, "indices");
		return;
	}
	if (indices.len && o && !array) {
		refuse(c, -EINVAL, "NotAnArray", "the job is no array", "indices");
		return;
	}
	uint64_t last = array ? o->last : id;
	(void)wz_err_set(&err, -EALREADY, "JobEnded", WZ_STR("the job has ended already"));
	for (uint64_t job = id; job <= last; job++) {
		struct booked *b = book_find(s, job);
		struct wz_job_info info;
		if (!b || b->ended || (array && indices.len && !wz_indices_has(&set, (uint32_t)b->index)) ||
		        wz_core_job(s->core, job, &info) < 0)
			continue;
		seen++;
		rc = fn(s, b, &info, text, &err);
		done += rc == 0;
	}
	if (seen == 0 && indices.len && array)
		(void)wz_err_set(
		        &err, -EALREADY, "JobEnded", WZ_STR("no open task of the array has such an index"));
	if (done)
		serve_answer(s, c, 0, false);
	else
		wz_api_fail(c, &err);
}

static int touch(struct serve *s, uint64_t job, const char *what, struct wz_str text)
{
	struct touched *t = serve_touch(s, job);
	if (!t)
		return 0; /* the body ends, and says why */
	t->what = what;
	serve_words(t, WZ_STR(""), text);
	return 0;
}

static int cancel(
        struct serve *s, struct booked *b, const struct wz_job_info *info, struct wz_str text, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED};
	uint64_t job = b->job;
	(void)info;
	e.u.job.job = job;
	int rc = serve_apply_job(s, job, WZ_END_CANCELLED, &e, err);
	return rc < 0 ? rc : touch(s, job, "cancelled", text);
}

static int hold(
        struct serve *s, struct booked *b, const struct wz_job_info *info, struct wz_str text, struct wz_err *err)
{
	if (info->state != WZ_JOB_WAITING && info->state != WZ_JOB_HELD)
		return wz_err_set(err, -EBUSY, "NotWaiting", WZ_STR("only a job that waits can be held"));
	book_wait(s, b, BOOK_USER, 0);
	return touch(s, b->job, "held", text);
}

static int release(
        struct serve *s, struct booked *b, const struct wz_job_info *info, struct wz_str text, struct wz_err *err)
{
	(void)info;
	if (!(b->wait & (BOOK_USER | BOOK_NEVER)))
		return wz_err_set(err, -EBUSY, "NotHeld", WZ_STR("the job is not held"));
	book_wait(s, b, 0, BOOK_USER | BOOK_NEVER);
	return touch(s, b->job, "released", text);
}

void op_job_cancel(void *ctx, struct wz_api_call *c, const struct wz_api_job_cancel *rq)
{
	if (rq->set_grace)
		refuse(c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", "grace_us");
	else
		each(ctx, c, rq->id, rq->indices, rq->reason, cancel);
}

void op_job_hold(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq)
{
	each(ctx, c, rq->id, rq->indices, rq->reason, hold);
}

void op_job_release(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq)
{
	each(ctx, c, rq->id, rq->indices, WZ_STR(""), release);
}

/* A signal is no decision and changes no state of ours: it goes to the agent at once, and only the audit log keeps it. */
void op_job_signal(void *ctx, struct wz_api_call *c, const struct wz_api_job_signal *rq)
{
	struct serve *s = ctx;
	struct wz_job_info info;
	struct wz_place p;
	int signo;
	if (wz_proc_signal_parse(rq->signal, &signo) < 0)
		refuse(c, -EINVAL, "BadField", "no such signal", "signal");
	else if (rq->leader)
		refuse(c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", "leader");
	else if (wz_core_job(s->core, rq->id, &info) < 0 || info.state != WZ_JOB_RUNNING)
		refuse(c, -EBUSY, "NotRunning", "only a job that runs can get a signal", NULL);
	else if (!s->adopted)
		refuse(c, -EAGAIN, "AgentAway", "the agent is being started; try again", NULL);
	else {
		for (uint32_t t = 0; t < info.task_numbers; t++) {
			struct wz_wire_msg m;
			if (wz_core_task(s->core, rq->id, t, &p) < 0)
				continue;
			wz_wire_init(&m, WZ_WIRE_SIGNAL);
			m.u.stop.job = (int64_t)rq->id;
			m.u.stop.task = t;
			m.u.stop.attempt = wz_core_task_attempt(s->core, rq->id, t);
			m.u.stop.signal = signo;
			link_send(s, &m);
		}
		wz_api_done(c);
	}
}

/* ---- nodes ---- */

static void cordon(struct serve *s, struct wz_api_call *c, struct wz_str name, bool cordoned, struct wz_str reason)
{
	struct wz_event e = {.kind = WZ_EV_NODE_READY};
	struct wz_err err;
	char key[300];
	uint32_t id = node_find(s, name);
	if (id == WZ_ID_NONE) {
		refuse(c, -ENOENT, "NoSuchNode", "there is no such node", NULL);
		return;
	}
	e.u.ready.node = (wz_node_id){id};
	e.u.ready.ready = wz_core_model(s->core)->node[id].flags & WZ_NODE_READY;
	e.u.ready.cordoned = cordoned;
	int rc = serve_apply(s, &e, &err);
	(void)snprintf(key, sizeof key, "drain.%.*s", (int)(name.len < 256 ? name.len : 256), name.ptr);
	if (rc == 0)
		rc = wz_batch_kv(&s->batch, wz_str(key), reason, &err);
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		serve_answer(s, c, 0, false);
}

void op_node_drain(void *ctx, struct wz_api_call *c, const struct wz_api_node_drain *rq)
{
	if (rq->deadline_us)
		refuse(c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", "deadline_us");
	else
		cordon(ctx, c, rq->node, true, rq->reason);
}

void op_node_undrain(void *ctx, struct wz_api_call *c, const struct wz_api_node_ref *rq)
{
	cordon(ctx, c, rq->node, false, WZ_STR(""));
}
