/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that change jobs. Each becomes an event; the answer waits until it is on the disk. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "base/json.h"

#include "os/proc.h"

#include <unistd.h>

static void refuse(struct wz_api_call *c, int code, const char *reason, const char *text, const char *field)
{
	struct wz_err err;
	(void)wz_err_set(&err, code, reason, wz_str(text));
	if (field)
		wz_api_fail_field(c, &err, field);
	else
		wz_api_fail(c, &err);
}

/* Fields of a submit that this body does not carry out yet: refused, not ignored. NULL: none. */
static const char *not_yet(const struct wz_api_submit *r)
{
	return r->dry_run        ? "dry_run"
	       : r->secrets.n    ? "secrets"
	       : r->begin_us     ? "begin_us"
	       : r->deadline_us  ? "deadline_us"
	       : r->after.n      ? "after"
	       : r->array.len    ? "array"
	       : r->lines.n      ? "lines"
	       : r->retry_max    ? "retry_max"
	       : r->retry_on.n   ? "retry_on"
	       : r->git_diff.len ? "git_diff"
	                         : NULL;
}

/* True when it may go on; else it was answered. */
static bool check(struct serve *s, struct wz_api_call *c, const struct wz_api_submit *rq, struct wz_profile *p)
{
	const struct wz_api_who *who = wz_api_call_who(c);
	const char *field = not_yet(rq);
	struct wz_err err;
	if (field)
		refuse(c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", field);
	else if ((rq->argv.n == 0) == (rq->script.len == 0))
		refuse(c, -EINVAL, "BadField", "give a command or a script, one of the two", "argv");
	else if (rq->pty && (rq->stdout_path.len || rq->stderr_path.len))
		refuse(c, -EINVAL, "BadField", "what a terminal shows goes to the job's log", "stdout_path");
	else if (rq->cwd.len && rq->cwd.ptr[0] != '/')
		refuse(c, -EINVAL, "BadField", "the working directory must be absolute", "cwd");
	else if (who->uid < 0)
		refuse(c, -EPERM, "NoUser", "work runs as a user of this machine, and you are none", NULL);
	else if (geteuid() != 0 && who->uid != (int64_t)geteuid())
		refuse(c, -EPERM, "NotPrivileged", "this daemon is not root: it runs work of its own user only",
		        NULL);
	else if (rq->priority > 0 && who->role != WZ_ROLE_ADMIN)
		refuse(c, -EPERM, "NotAdmin", "users may only lower their priority", "priority");
	else if (wz_profile_parse(conf_profile(s, rq->profile, wz_api_call_arena(c)), wz_core_catalogue(s->core), p,
	                 &err) < 0)
		wz_api_fail_field(c, &err, "profile");
	else if (wz_config_check_notify(s->conf, wz_str(who->name), rq->notify, &err) < 0)
		wz_api_fail_field(c, &err, "notify");
	else if (quota_room(s, who, 1, &err) < 0 || wz_store_ready(s->store, &err) < 0)
		wz_api_fail(c, &err);
	else
		return true;
	return false;
}

/* "NAME=VALUE" NUL ...: one blob, kept once however many jobs have it. */
static int env_blob(struct serve *s, const struct wz_pairs *env, char id[WZ_BLOB_ID], struct wz_err *err)
{
	struct wz_buf b;
	wz_buf_init(&b, s->mem, WZ_BLOB_MAX);
	for (uint32_t i = 0; i < env->n; i++) {
		wz_buf_add(&b, env->v[i].key);
		wz_buf_addc(&b, '=');
		wz_buf_add(&b, env->v[i].value);
		wz_buf_addc(&b, '\0');
	}
	int rc = b.status < 0 ? wz_err_set(err, b.status, "TooLarge", WZ_STR("the environment is too large"))
	                      : wz_batch_blob(&s->batch, wz_buf_str(&b), id, err);
	wz_buf_release(&b);
	return rc;
}

static struct wz_str name_of(const struct wz_api_submit *rq)
{
	struct wz_str n = rq->name.len ? rq->name : rq->argv.n ? rq->argv.v[0] : WZ_STR("script");
	const char *slash = !rq->name.len && n.len ? memrchr(n.ptr, '/', n.len) : NULL;
	if (slash)
		n = (struct wz_str){slash + 1, n.len - (size_t)(slash + 1 - n.ptr)};
	if (n.len > WZ_API_NAME_MAX)
		n.len = WZ_API_NAME_MAX;
	return wz_utf8_ok(n) ? n : WZ_STR("job");
}

struct submit_row {
	struct wz_job_row r;
	struct wz_buf spec, profile;
	char env[WZ_BLOB_ID], script[WZ_BLOB_ID];
};

static int fill_row(struct serve *s, struct wz_api_call *c, const struct wz_api_submit *rq,
        const struct wz_profile *p, struct submit_row *x, struct wz_err *err)
{
	const struct wz_api_who *who = wz_api_call_who(c);
	struct wz_api_submit kept = *rq; /* what stands elsewhere is left out */
	struct wz_job_row *r = &x->r;
	kept.idempotency_key = kept.script = kept.profile = kept.name = (struct wz_str){NULL, 0};
	kept.env = (struct wz_pairs){NULL, 0};
	wz_json_write(&x->spec, &wz_type_submit, &kept, true);
	wz_profile_format(p, &x->profile);
	if (x->spec.status < 0 || x->profile.status < 0)
		return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("the job is too large"));
	int rc = rq->env.n ? env_blob(s, &rq->env, x->env, err) : 0;
	if (rc == 0 && rq->script.len)
		rc = wz_batch_blob(&s->batch, rq->script, x->script, err);
	WZ_SET(JOB, r, user, wz_str(who->name));
	WZ_SET(JOB, r, uid, who->uid);
	WZ_SET(JOB, r, gid, who->gid);
	WZ_SET(JOB, r, name, name_of(rq));
	WZ_SET(JOB, r, queue, rq->queue);
	WZ_SET(JOB, r, priority, rq->priority);
	WZ_SET(JOB, r, profile, wz_buf_str(&x->profile));
	WZ_SET(JOB, r, tasks, p->tasks_max);
	WZ_SET(JOB, r, spec, wz_buf_str(&x->spec));
	if (rq->env.n)
		WZ_SET(JOB, r, env, wz_str(x->env));
	if (rq->script.len)
		WZ_SET(JOB, r, script, wz_str(x->script));
	if (rq->idempotency_key.len)
		WZ_SET(JOB, r, idem, rq->idempotency_key);
	WZ_SET(JOB, r, submitted_us, serve_now_us(s));
	WZ_SET(JOB, r, state, rq->held ? WZ_ROW_HELD : WZ_ROW_WAITING);
	WZ_SET(JOB, r, attempt, 1);
	WZ_SET(JOB, r, comment, rq->comment);
	return rc;
}

/* The event first: what the core refuses leaves no row. */
static void accept(
        struct serve *s, struct wz_api_call *c, const struct wz_api_submit *rq, const struct wz_profile *p)
{
	struct submit_row x = {.r = {0}};
	struct wz_err err;
	uint64_t job = s->last_job + 1;
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};
	wz_buf_init(&x.spec, s->mem, WZ_LINE_MAX / 2);
	wz_buf_init(&x.profile, s->mem, WZ_PROFILE_TEXT_MAX);
	int rc = fill_row(s, c, rq, p, &x, &err);
	e.u.submit = (struct wz_ev_submit){.job = job,
	        .user = x.r.user,
	        .queue = x.r.queue,
	        .priority = rq->priority,
	        .profile = p,
	        .held = rq->held};
	if (rc == 0)
		rc = serve_apply_job(s, job, WZ_END_CANCELLED, &e, &err);
	if (rc == 0) {
		struct touched *t = serve_touch(s, job);
		if (t)
			t->what = "submitted";
		WZ_SET(JOB, &x.r, job, (int64_t)job);
		s->last_job = job;
		quota_add(s, job, wz_api_call_who(c)->uid);
		rc = wz_batch_job(&s->batch, &x.r, &err);
		if (rc < 0)
			serve_fail(s, &err); /* the core has it and the tables cannot */
	}
	wz_buf_release(&x.spec);
	wz_buf_release(&x.profile);
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		serve_answer(s, c, job, false);
}

void op_job_submit(void *ctx, struct wz_api_call *c, const struct wz_api_submit *rq)
{
	struct serve *s = ctx;
	struct wz_profile p;
	uint64_t job;
	if (!check(s, c, rq, &p))
		return;
	if (rq->idempotency_key.len &&
	        wz_store_find_key(s->store, wz_api_call_who(c)->uid, rq->idempotency_key, &job, NULL) == 0)
		serve_answer(s, c, job, true); /* with the next batch, so after the one that has it */
	else
		accept(s, c, rq, &p);
}

/* ---- one job ---- */

static void change(struct serve *s, struct wz_api_call *c, uint64_t job, uint32_t kind, uint32_t end,
        const char *what, struct wz_str text)
{
	struct wz_event e = {.kind = kind};
	struct wz_err err;
	e.u.job.job = job;
	int rc = serve_apply_job(s, job, end, &e, &err);
	if (rc == -ENOENT)
		rc = wz_err_set(&err, -EALREADY, "JobEnded", WZ_STR("the job has ended already"));
	if (rc < 0) {
		wz_api_fail(c, &err);
		return;
	}
	struct touched *t = serve_touch(s, job);
	if (t) {
		t->what = what;
		serve_words(t, WZ_STR(""), text);
	}
	serve_answer(s, c, 0, false);
}

void op_job_cancel(void *ctx, struct wz_api_call *c, const struct wz_api_job_cancel *rq)
{
	if (rq->set_grace)
		refuse(c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", "grace_us");
	else
		change(ctx, c, rq->id, WZ_EV_JOB_CANCELLED, WZ_END_CANCELLED, "cancelled", rq->reason);
}

void op_job_hold(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq)
{
	struct serve *s = ctx;
	struct wz_job_info info;
	if (wz_core_job(s->core, rq->id, &info) == 0 && info.state != WZ_JOB_WAITING && info.state != WZ_JOB_HELD)
		refuse(c, -EBUSY, "NotWaiting", "only a job that waits can be held", NULL);
	else
		change(s, c, rq->id, WZ_EV_JOB_HELD, WZ_END_CANCELLED, "held", rq->reason);
}

void op_job_release(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq)
{
	struct serve *s = ctx;
	struct wz_job_info info;
	if (wz_core_job(s->core, rq->id, &info) == 0 && info.state != WZ_JOB_HELD)
		refuse(c, -EBUSY, "NotHeld", "the job is not held", NULL);
	else
		change(s, c, rq->id, WZ_EV_JOB_RELEASED, WZ_END_CANCELLED, "released", WZ_STR(""));
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
