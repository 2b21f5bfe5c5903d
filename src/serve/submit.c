/* SPDX-License-Identifier: Apache-2.0 */
/* Submits: one job, an array, a sweep, or one job for each line. Everything is checked before anything is written; the event
 * comes first, so that what the core refuses leaves no row. The tasks of an array are jobs with consecutive numbers; what they
 * have in common is one blob (`template`), kept once however many they are, like the environment and the script. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/quant.h"
#include "core/constraint.h"
#include "jobspec/indices.h"
#include "jobspec/jobspec.h"
#include "jobspec/params.h"

#include <unistd.h>

#define BATCH_ROOM ((size_t)112 << 20) /* of one array in a batch */
#define DEPS_OF_TASKS_MAX 1000000u

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
	return r->git_diff.len ? "git_diff" : NULL;
}

/* A submit under way. */
struct submit {
	struct serve *s;
	struct wz_api_call *c;
	const struct wz_api_submit *rq;
	struct wz_profile profile;
	struct wz_indices indices;
	struct wz_sweep sweep;
	bool many;
	uint32_t count;
	uint64_t first; /* number of the first job */
	uint64_t asked;
	struct wz_job_row r;
	struct wz_buf spec, text, params;
	struct book_deps *deps;
	char env[WZ_BLOB_ID], script[WZ_BLOB_ID], template[WZ_BLOB_ID], secrets[SECRET_ID];
};

/* ---- checking ---- */

static int check_who(struct submit *x, struct wz_err *err)
{
	const struct wz_api_who *who = wz_api_call_who(x->c);
	if (who->uid < 0)
		return wz_err_set(
		        err, -EPERM, "NoUser", WZ_STR("work runs as a user of this machine, and you are none"));
	if (geteuid() != 0 && who->uid != (int64_t)geteuid())
		return wz_err_set(err, -EPERM, "NotPrivileged",
		        WZ_STR("this daemon is not root: it runs work of its own user only"));
	return 0;
}

static int check_times(struct submit *x, const char **f, struct wz_err *err)
{
	const struct wz_api_submit *rq = x->rq;
	int64_t now = serve_now_us(x->s), begin = rq->begin_us > now ? rq->begin_us : now;
	*f = "deadline_us";
	if (rq->deadline_us && rq->deadline_us <= now)
		return wz_err_set(err, -EINVAL, "DeadLine", WZ_STR("the deadline has passed already"));
	if (rq->deadline_us && x->profile.time_us && rq->deadline_us - begin < (int64_t)x->profile.time_us) {
		char limit[64];
		struct wz_buf b;
		wz_buf_init_fixed(&b, limit, sizeof limit);
		wz_duration_format(&b, x->profile.time_us);
		return wz_err_set(err, -EINVAL, "DeadLine", WZ_STR("with its time limit of "), wz_buf_str(&b),
		        WZ_STR(" it cannot end by the deadline even if it started at once"));
	}
	return 0;
}

static int count_tasks(struct submit *x, struct wz_err *err)
{
	const struct wz_api_submit *rq = x->rq;
	int rc = 0;
	x->many = rq->array.len || rq->sweep.n || rq->lines.n;
	x->count = rq->lines.n ? rq->lines.n : 1;
	if (rq->array.len && (rc = wz_indices_parse(rq->array, &x->indices, err)) == 0)
		x->count = x->indices.count;
	for (uint32_t i = 0; rc == 0 && i < rq->sweep.n; i++)
		rc = wz_sweep_add(&x->sweep, rq->sweep.v[i], err);
	if (rc == 0 && rq->sweep.n)
		x->count = (uint32_t)x->sweep.count;
	return rc;
}

/* True when it may go on; else it was answered. */
static bool check(struct submit *x)
{
	const struct wz_api_submit *rq = x->rq;
	const struct wz_api_who *who = wz_api_call_who(x->c);
	const char *field = not_yet(rq);
	struct wz_err err;
	int rc;
	if (field) {
		refuse(x->c, -EOPNOTSUPP, "NotSupported", "this version cannot do that yet", field);
		return false;
	}
	rc = wz_submit_check(rq, wz_api_call_arena(x->c), &field, &err);
	if (rc == 0)
		rc = check_who(x, &err);
	if (rc == 0 && rq->pty &&
	        (rq->stdout_path.len || rq->stderr_path.len || rq->array.len || rq->sweep.n || rq->lines.n)) {
		field = "pty";
		rc = wz_err_set(&err, -EINVAL, "BadField",
		        WZ_STR("a terminal is of one job, and what it shows goes to the job's log"));
	}
	if (rc == 0 && rq->priority > 0 && who->role != WZ_ROLE_ADMIN) {
		field = "priority";
		rc = wz_err_set(&err, -EPERM, "NotAdmin", WZ_STR("users may only lower their priority"));
	}
	if (rc == 0 && (rc = wz_profile_parse(conf_profile(x->s, rq->profile, wz_api_call_arena(x->c)),
	                        wz_core_catalogue(x->s->core), &x->profile, &err)) < 0)
		field = "profile";
	if (rc == 0 && (rc = wz_config_check_notify(x->s->conf, wz_str(who->name), rq->notify, &err)) < 0)
		field = "notify";
	if (rc == 0 && rq->snapshot.len && (rc = snapshot_check(x->s, who->uid, rq->snapshot, &err)) < 0)
		field = "snapshot";
	if (rc == 0 && (rc = check_times(x, &field, &err)) == 0)
		field = NULL;
	if (rc == 0)
		rc = count_tasks(x, &err);
	if (rc == 0)
		rc = quota_room(x->s, who, x->count, &err);
	if (rc == 0)
		rc = wz_store_ready(x->s->store, &err);
	if (rc < 0 && field)
		wz_api_fail_field(x->c, &err, field);
	else if (rc < 0)
		wz_api_fail(x->c, &err);
	return rc == 0;
}

/* ---- rows ---- */

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
	struct wz_str n = rq->name.len                    ? rq->name
	                  : rq->script.len || !rq->argv.n ? WZ_STR("script")
	                                                  : rq->argv.v[0];
	const char *slash = !rq->name.len && n.len ? memrchr(n.ptr, '/', n.len) : NULL;
	if (slash)
		n = (struct wz_str){slash + 1, n.len - (size_t)(slash + 1 - n.ptr)};
	if (n.len > WZ_API_NAME_MAX)
		n.len = WZ_API_NAME_MAX;
	return wz_utf8_ok(n) ? n : WZ_STR("job");
}

/* What is kept as the spec: all that does not stand elsewhere. */
static struct wz_api_submit kept(const struct wz_api_submit *rq)
{
	struct wz_api_submit k = *rq;
	k.idempotency_key = k.script = k.profile = k.name = k.snapshot = (struct wz_str){NULL, 0};
	k.env = k.secrets = (struct wz_pairs){NULL, 0};
	k.lines = (struct wz_strs){NULL, 0};
	k.after = (struct wz_strs){NULL, 0};
	k.begin_us = k.deadline_us = 0;
	k.held = k.dry_run = false;
	return k;
}

/* What a key stands for. The environment is left out: it differs between two calls that mean the same; so do points in time
 * that were given relative to now. */
static uint64_t hash_of(const struct submit *x)
{
	const struct wz_api_submit *rq = x->rq;
	uint64_t h = wz_hash_str(wz_hash_str(rq->held, wz_buf_str(&x->spec)), rq->script);
	h = wz_hash_str(wz_hash_str(wz_hash_str(h, rq->profile), rq->name), rq->snapshot);
	for (uint32_t i = 0; i < rq->lines.n; i++)
		h = wz_hash_str(h, rq->lines.v[i]);
	for (uint32_t i = 0; i < rq->after.n; i++)
		h = wz_hash_str(h, rq->after.v[i]);
	return h;
}

static int blobs(struct submit *x, struct wz_err *err)
{
	struct wz_batch *b = &x->s->batch;
	int rc = x->rq->env.n ? env_blob(x->s, &x->rq->env, x->env, err) : 0;
	if (rc == 0 && x->rq->script.len)
		rc = wz_batch_blob(b, x->rq->script, x->script, err);
	if (rc == 0 && x->many)
		rc = wz_batch_blob(b, wz_buf_str(&x->spec), x->template, err);
	return rc;
}

static int after_text(struct submit *x, struct wz_err *err)
{
	if (!x->deps)
		return 0;
	wz_depend_format(x->deps->dep, x->deps->n, &x->text);
	return x->text.status < 0 ? wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("too many dependencies")) : 0;
}

/* What all tasks have in common. */
static void fill(struct submit *x)
{
	const struct wz_api_who *who = wz_api_call_who(x->c);
	const struct wz_api_submit *rq = x->rq;
	struct wz_job_row *r = &x->r;
	WZ_SET(JOB, r, user, wz_str(who->name));
	WZ_SET(JOB, r, uid, who->uid);
	WZ_SET(JOB, r, gid, who->gid);
	WZ_SET(JOB, r, name, name_of(rq));
	WZ_SET(JOB, r, queue, rq->queue);
	WZ_SET(JOB, r, priority, rq->priority);
	WZ_SET(JOB, r, tasks, x->profile.tasks_max);
	if (x->many)
		WZ_SET(JOB, r, template, wz_str(x->template));
	else
		WZ_SET(JOB, r, spec, wz_buf_str(&x->spec));
	if (rq->env.n)
		WZ_SET(JOB, r, env, wz_str(x->env));
	if (rq->script.len)
		WZ_SET(JOB, r, script, wz_str(x->script));
	WZ_SET(JOB, r, submitted_us, serve_now_us(x->s));
	WZ_SET(JOB, r, attempt, 1);
	WZ_SET(JOB, r, held, rq->held);
	if (rq->begin_us)
		WZ_SET(JOB, r, begin_us, rq->begin_us);
	if (rq->deadline_us)
		WZ_SET(JOB, r, deadline_us, rq->deadline_us);
	if (x->text.len)
		WZ_SET(JOB, r, after, wz_buf_str(&x->text));
	if (x->secrets[0])
		WZ_SET(JOB, r, secrets, wz_str(x->secrets));
	if (rq->snapshot.len)
		WZ_SET(JOB, r, snapshot, rq->snapshot);
}

/* An upper bound of what the batch grows by, so that an array that does not fit is refused before its first task. */
static int check_room(struct submit *x, struct wz_str profile, struct wz_err *err)
{
	const struct wz_job_row *r = &x->r;
	size_t one = 900 + 2 * profile.len + 2 * r->user.len + 2 * r->queue.len + 6 * r->name.len + x->text.len;
	size_t all = one * x->count + x->spec.len * 2;
	for (uint32_t i = 0; i < x->rq->lines.n; i++) {
		struct wz_str l = x->rq->lines.v[i];
		all += l.len + 16;
		for (size_t k = 0; k < l.len; k++)
			all += (unsigned char)l.ptr[k] < ' ' ? 5 : l.ptr[k] == '"' || l.ptr[k] == '\\';
	}
	if (x->rq->sweep.n)
		all += (size_t)x->count * 64 * x->rq->sweep.n;
	if (x->many && all > BATCH_ROOM)
		return wz_err_set(err, -E2BIG, "TooManyTasks",
		        WZ_STR("the tasks take more than 112 MiB in all: fewer of them, or shorter lines"));
	if (x->s->batch.text.len + all > WZ_STORE_BATCH_MAX - ((size_t)2 << 20))
		return wz_err_set(err, -EAGAIN, "StoreBusy", WZ_STR("too much is being written; try again"));
	return x->deps && (uint64_t)x->deps->n * x->count > DEPS_OF_TASKS_MAX
	               ? wz_err_set(err, -E2BIG, "TooManyDependencies",
	                         WZ_STR("more than 1000000 dependencies over all tasks"))
	               : 0;
}

static void vary(struct submit *x, uint32_t k)
{
	struct wz_job_row *r = &x->r;
	WZ_SET(JOB, r, job, (int64_t)(x->first + k));
	if (!x->many)
		return;
	WZ_SET(JOB, r, array, (int64_t)x->first);
	WZ_SET(JOB, r, array_index, x->rq->array.len ? (int64_t)wz_indices_at(&x->indices, k) : (int64_t)k);
	wz_buf_clear(&x->params);
	if (x->rq->sweep.n) {
		wz_sweep_params(&x->sweep, k, &x->params);
	} else if (x->rq->lines.n) {
		wz_buf_addz(&x->params, "line=");
		wz_buf_add(&x->params, x->rq->lines.v[k]);
		wz_buf_addc(&x->params, '\n');
	}
	if (x->params.len)
		WZ_SET(JOB, r, params, wz_buf_str(&x->params));
}

static int order_of(struct submit *x, uint32_t *ret, struct wz_err *err)
{
	const struct wz_api_submit *rq = x->rq;
	struct book_order o = {.id = x->first,
	        .last = x->first + x->count - 1,
	        .throttle = rq->throttle ? rq->throttle : x->indices.throttle,
	        .uid = wz_api_call_who(x->c)->uid,
	        .name = wz_hash_str(0, x->r.name),
	        .asked = x->asked,
	        .retry_max = rq->retry_max,
	        .retry_delay_us = (uint64_t)rq->retry_delay_us,
	        .no_requeue = rq->no_requeue,
	        .on_fail = book_on_fail_parse(rq->on_dep_fail)};
	for (uint32_t i = 0; i < rq->retry_on.n && i < WZ_RETRY_RULES_MAX; i++)
		(void)wz_retry_parse(rq->retry_on.v[i], &o.rule[o.n_rules++], NULL);
	memcpy(o.secrets, x->secrets, sizeof o.secrets);
	return book_open(x->s, &o, ret) < 0 ? wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory")) : 0;
}

/* One task: the core, the book, the row. */
static int one(struct submit *x, uint32_t k, uint32_t order, struct wz_str profile, struct wz_err *err)
{
	struct serve *s = x->s;
	const struct wz_api_submit *rq = x->rq;
	const struct book_order *o = &s->book.order[order];
	struct wz_job_row *r = &x->r;
	struct booked b = {.job = x->first + k,
	        .index = -1,
	        .begin_us = rq->begin_us,
	        .deadline_us = rq->deadline_us,
	        .limit_us = (int64_t)x->profile.time_us};
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};
	struct wz_label label[64]; /* as many as the request may have */
	vary(x, k);
	if (x->many)
		b.index = r->array_index;
	b.wait = (rq->held ? BOOK_USER : 0u) | (rq->begin_us > serve_now_us(s) ? BOOK_BEGIN : 0u) |
	         (x->deps ? BOOK_DEPEND : 0u);
	if (o->throttle && !b.wait)
		b.wait = BOOK_ARRAY;
	WZ_SET(JOB, r, profile, profile);
	WZ_SET(JOB, r, state, b.wait ? WZ_ROW_HELD : WZ_ROW_WAITING);
	if (k == 0) {
		WZ_SET(JOB, r, comment, rq->comment);
		WZ_SET(JOB, r, asked, (int64_t)x->asked);
		if (rq->idempotency_key.len)
			WZ_SET(JOB, r, idem, rq->idempotency_key);
	} else {
		r->given &= ~(1ULL << WZ_JOB_AT_comment | 1ULL << WZ_JOB_AT_asked | 1ULL << WZ_JOB_AT_idem);
	}
	e.u.submit = (struct wz_ev_submit){.job = b.job,
	        .user = r->user,
	        .queue = r->queue,
	        .priority = rq->priority,
	        .profile = &x->profile,
	        .held = b.wait != 0,
	        .constraint = rq->constraint,
	        .label = label};
	for (uint32_t i = 0; i < rq->labels.n && i < WZ_ARRAY_LEN(label); i++) /* others are for people only */
		if (rq->labels.v[i].key.len && wz_constraint_word(rq->labels.v[i].key) &&
		        wz_constraint_word(rq->labels.v[i].value))
			label[e.u.submit.n_labels++] =
			        (struct wz_label){rq->labels.v[i].key, rq->labels.v[i].value};
	int rc = serve_apply(s, &e, err);
	if (rc < 0)
		return rc;
	rc = wz_batch_job(&s->batch, r, err);
	if (rc == 0 && book_add(s, order, &b, x->deps) < 0)
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (rc < 0)
		serve_fail(s, err); /* the core has it and the tables or the book cannot */
	return rc;
}

static void accept(struct submit *x)
{
	struct serve *s = x->s;
	struct wz_err err;
	struct wz_buf profile;
	char text[WZ_PROFILE_TEXT_MAX];
	uint32_t order = WZ_NONE, done = 0;
	x->first = s->last_job + 1;
	wz_buf_init_fixed(&profile, text, sizeof text);
	wz_profile_format(&x->profile, &profile);
	int rc = profile.status < 0 ? wz_err_set(&err, -E2BIG, "TooLarge", WZ_STR("the profile is too long")) : 0;
	if (rc == 0)
		rc = book_deps_new(s, x->rq->after.v, x->rq->after.n, x->first, x->count, &x->deps, &err);
	if (rc == 0)
		rc = after_text(x, &err);
	if (rc == 0)
		fill(x);
	if (rc == 0)
		rc = check_room(x, wz_buf_str(&profile), &err);
	if (rc == 0 && x->rq->secrets.n)
		rc = secret_keep(s, &x->rq->secrets, x->secrets, &err);
	if (rc == 0)
		rc = blobs(x, &err);
	if (rc == 0) {
		fill(x);
		rc = order_of(x, &order, &err);
	}
	while (rc == 0 && done < x->count && (rc = one(x, done, order, wz_buf_str(&profile), &err)) == 0) {
		s->last_job = x->first + done;
		quota_add(s, s->last_job, wz_api_call_who(x->c)->uid);
		done++;
	}
	if (rc == 0) {
		struct touched *t = serve_touch(s, x->first);
		if (t)
			t->what = "submitted";
		serve_answer_submit(s, x->c, x->first, x->count, false);
	} else {
		book_undo(s, x->first, done, order);
		if (x->secrets[0])
			secret_drop(s, x->secrets);
		wz_api_fail(x->c, &err);
	}
	book_deps_unref(s, x->deps);
}

/* ---- the same key again ---- */

struct earlier {
	uint64_t asked;
	bool known;
	uint32_t n;
};

static int earlier_row(void *ctx, const struct wz_job_row *r)
{
	struct earlier *e = ctx;
	if (e->n++ == 0) {
		e->known = WZ_GIVEN(JOB, r, asked);
		e->asked = (uint64_t)r->asked;
	}
	return 0;
}

/* The first answer again; another request under the same key is a mistake, and says so. */
static void again(struct submit *x, uint64_t job)
{
	struct serve *s = x->s;
	struct earlier e = {.n = 0};
	struct wz_job_query q = {.job = job}, all = {.array = job, .limit = UINT32_MAX};
	const struct booked *b = book_find(s, job);
	uint32_t count = 1;
	if (b) {
		const struct book_order *o = book_order_of(s, b);
		e = (struct earlier){.asked = o->asked, .known = o->asked != 0};
		count = (uint32_t)(o->last - o->id) + 1;
	} else {
		(void)wz_store_jobs(s->store, &q, earlier_row, &e, NULL);
		struct earlier tasks = {.n = 0};
		(void)wz_store_jobs(s->store, &all, earlier_row, &tasks, NULL);
		count = tasks.n ? tasks.n : 1;
	}
	if (e.known && e.asked != x->asked)
		refuse(x->c, -EEXIST, "KeyConflict",
		        "this idempotency key belongs to an earlier submit of something else", "Idempotency-Key");
	else
		serve_answer_submit(
		        s, x->c, job, count, true); /* with the next batch, so after the one that has it */
}

void op_job_submit(void *ctx, struct wz_api_call *c, const struct wz_api_submit *rq)
{
	struct serve *s = ctx;
	/* Not in the arena of the call, which ends with the answer. */
	struct submit *x = wz_mem_zalloc(s->mem, sizeof *x);
	uint64_t job;
	if (!x) {
		refuse(c, -ENOMEM, "OutOfMemory", "out of memory", NULL);
		return;
	}
	*x = (struct submit){.s = s, .c = c, .rq = rq};
	if (!check(x)) {
		wz_mem_free(s->mem, x, sizeof *x);
		return;
	}
	struct wz_api_submit k = kept(rq);
	wz_buf_init(&x->spec, s->mem, WZ_LINE_MAX / 2);
	wz_buf_init(&x->text, s->mem, 65536);
	wz_buf_init(&x->params, s->mem, 262144);
	wz_json_write(&x->spec, &wz_type_submit, &k, true);
	x->asked = hash_of(x);
	if (x->spec.status < 0)
		refuse(c, -E2BIG, "TooLarge", "the job is too large", NULL);
	else if (rq->dry_run)
		whatif_submit(s, c, rq, &x->profile, x->count);
	else if (rq->idempotency_key.len &&
	         wz_store_find_key(s->store, wz_api_call_who(c)->uid, rq->idempotency_key, &job, NULL) == 0)
		again(x, job);
	else
		accept(x);
	wz_buf_release(&x->spec);
	wz_buf_release(&x->text);
	wz_buf_release(&x->params);
	wz_mem_free(s->mem, x, sizeof *x);
}
