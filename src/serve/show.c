/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that read; list.c has those of many jobs. Jobs are shown as they are on the disk, so that nobody sees what a crash could take back; why a job
 * waits and what is free are asked of the core. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "core/remedy.h"

#include <unistd.h>

static const int32_t end_states[] = {WZ_STATE_COMPLETED, WZ_STATE_FAILED, WZ_STATE_CANCELLED, WZ_STATE_TIMEOUT,
        WZ_STATE_OOM, WZ_STATE_PREEMPTED, WZ_STATE_NODE_LOST, WZ_STATE_DEVICE_LOST, WZ_STATE_LAUNCH_FAILED};

int32_t state_of_end(int64_t end)
{
	return end >= 0 && end < (int64_t)WZ_ARRAY_LEN(end_states) ? end_states[end] : WZ_STATE_FAILED;
}

int32_t api_state(const struct wz_job_row *r)
{
	switch (r->state) {
	case WZ_ROW_WAITING:
		return WZ_STATE_PENDING;
	case WZ_ROW_HELD: /* by a person; what waits for a time or another job is pending like all that waits */
		return WZ_GIVEN(JOB, r, held) && !r->held ? WZ_STATE_PENDING : WZ_STATE_HELD;
	case WZ_ROW_STARTING:
		return WZ_STATE_STARTING;
	case WZ_ROW_RUNNING:
		return WZ_STATE_RUNNING;
	case WZ_ROW_ENDING:
		return WZ_STATE_STOPPING;
	default:
		return state_of_end(r->end);
	}
}

/* As the core sees it now: a job that is frozen runs, by its row. */
int32_t state_now(struct serve *s, const struct wz_job_row *r)
{
	struct wz_job_info info;
	int32_t state = api_state(r);
	if (state == WZ_STATE_RUNNING && wz_core_job(s->core, (uint64_t)r->job, &info) == 0 && info.suspended)
		return WZ_STATE_SUSPENDED;
	return state;
}

/* ---- jobs ---- */

struct showing {
	struct serve *s;
	struct wz_api_call *c;
	struct wz_api_job job;
	struct shown_text text;
	struct wz_json_doc doc;
	bool found;
};

/* How far it is: the task that is least far, the checkpoint that all have. */
static void work_of(struct serve *s, const struct wz_job_info *info, struct wz_api_job *j)
{
	struct wz_task_work w;
	bool first = true;
	for (uint32_t t = 0; info->tasks_placed && t < info->task_numbers; t++) {
		if (wz_core_task_work(s->core, info->job, t, &w) < 0)
			continue;
		if (first || w.progress_milli < j->progress_milli)
			j->progress_milli = w.progress_milli;
		if (first || (int64_t)w.checkpoint_us < j->checkpoint_us)
			j->checkpoint_us = (int64_t)w.checkpoint_us;
		first = false;
	}
}

/* What the book says that it waits for, before any room. */
static void waits_for(struct serve *s, const struct booked *b, struct wz_api_job *j, struct shown_text *t)
{
	const char *word;
	struct wz_buf text;
	wz_buf_init_fixed(&text, t->why, sizeof t->why);
	if (!b || !book_why(s, b, &word, &text) || text.status < 0)
		return;
	j->reason = wz_str(word);
	j->reason_text = wz_buf_str(&text);
	if (b->wait & BOOK_RETRY)
		j->eligible_us = b->retry_us;
}

/* Fills what a row says; views are of the row and of *t. */
/* The first few hundred that wait are planned beside the steps (step.c). */
static void plan_of(const struct serve *s, struct wz_api_job *j)
{
	struct wz_start_estimate e;
	if (wz_core_starts(s->core, j->id, &e) < 0)
		return;
	j->position = e.ahead_in_queue + 1;
	if (e.latest_us < INT64_MAX)
		j->latest_start_us = (int64_t)e.latest_us;
	if (e.likely_from_us < INT64_MAX && e.likely_to_us < INT64_MAX) {
		j->earliest_start_us = (int64_t)e.likely_from_us;
		j->expected_start_us = (int64_t)e.likely_to_us;
	}
}

void job_of_row(struct serve *s, const struct wz_job_row *r, struct wz_api_job *j, struct shown_text *t)
{
	const struct booked *b = book_find(s, (uint64_t)r->job);
	struct wz_str rest;
	struct wz_job_info info;
	struct wz_profile p;
	bool ended = r->state == WZ_ROW_ENDED;
	*j = (struct wz_api_job){.id = (uint64_t)r->job,
	        .name = r->name,
	        .user = r->user,
	        .queue = r->queue,
	        .uid = r->uid,
	        .state = state_now(s, r),
	        .priority = (int32_t)r->priority,
	        .profile = r->profile,
	        .tasks_min = 1,
	        .tasks_max = (uint32_t)r->tasks,
	        .submit_us = r->submitted_us,
	        .start_us = r->started_us,
	        .end_us = ended ? r->ended_us : 0,
	        .attempt = (uint32_t)r->attempt,
	        .restarts = r->attempt > 1 ? (uint32_t)r->attempt - 1 : 0,
	        .exit_code = (int32_t)r->exit_code,
	        .exit_signal = (int32_t)r->signal,
	        .begin_us = r->begin_us,
	        .deadline_us = r->deadline_us,
	        .retries = (uint32_t)r->retries,
	        .array = r->array > 0 ? (uint64_t)r->array : 0,
	        .array_index = r->array > 0 ? r->array_index : 0,
	        .comment = r->comment};
	if (wz_profile_parse(r->profile, wz_core_catalogue(s->core), &p, NULL) == 0) {
		j->tasks_min = p.tasks_min;
		j->time_limit_us = (int64_t)p.time_us;
	}
	if (ended) {
		j->reason = r->word.len ? r->word : wz_str(end_word(r->end));
		j->reason_text = r->reason;
	} else if (wz_core_job(s->core, (uint64_t)r->job, &info) == 0) {
		j->tasks_running = info.tasks_placed;
		work_of(s, &info, j);
		if (r->state == WZ_ROW_WAITING)
			plan_of(s, j);
		if (r->state == WZ_ROW_WAITING && info.reason != WZ_REASON_NONE) {
			j->reason = wz_str(wz_reason_word(info.reason));
			j->reason_text = wz_str(wz_reason_text(info.reason));
		}
		waits_for(s, b, j, t);
	}
	rest = r->params;
	for (uint32_t n = 0; rest.len && n < WZ_ARRAY_LEN(t->params);) {
		struct wz_str one = wz_str_split(&rest, '\n');
		if (one.len)
			t->params[n++] = one;
		j->params = (struct wz_strs){t->params, n};
	}
	rest = r->after;
	bool any = rest.len && memchr(rest.ptr, '?', rest.len);
	for (uint32_t n = 0; rest.len && n < WZ_ARRAY_LEN(t->after); n++) {
		t->after[n] = any ? rest : wz_str_split(&rest, ',');
		j->after = (struct wz_strs){t->after, n + 1};
		if (any)
			break;
	}
}

struct tasks {
	struct wz_arena *arena;
	struct serve *s;
	uint32_t attempt, n, cap;
	struct wz_api_task *task;
};

struct wz_str show_keep(struct wz_arena *a, struct wz_str v)
{
	char *p = v.len ? wz_arena_alloc(a, v.len) : NULL;
	if (p)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

struct wz_nums devices_of(struct wz_arena *a, struct wz_str text)
{
	uint64_t *v = wz_arena_alloc(a, WZ_NODE_DEVICES_MAX * sizeof *v);
	uint32_t n = 0;
	while (v && text.ptr && text.len && n < WZ_NODE_DEVICES_MAX)
		if (wz_str_parse_u64(wz_str_split(&text, ','), &v[n]) == 0)
			n++;
	return (struct wz_nums){v, n};
}

static int task_row(void *ctx, const struct wz_attempt_row *r)
{
	struct tasks *x = ctx;
	if (r->attempt != x->attempt || x->n == x->cap)
		return 0;
	struct wz_api_task *t = &x->task[x->n++];
	*t = (struct wz_api_task){.task = (uint32_t)r->task,
	        .node = show_keep(x->arena, r->node),
	        .devices = devices_of(x->arena, r->devices),
	        .pid = r->pid,
	        .exit_code = (int32_t)r->exit_code,
	        .exit_signal = (int32_t)r->signal,
	        .start_us = r->started_us,
	        .end_us = r->ended_us};
	t->state = WZ_GIVEN(ATTEMPT, r, ended_us)     ? state_of_end(r->end)
	           : WZ_GIVEN(ATTEMPT, r, started_us) ? WZ_STATE_RUNNING
	                                              : WZ_STATE_STARTING;
	return 0;
}

struct which {
	uint32_t v[1024], n, rows;
};

static int attempt_number(void *ctx, const struct wz_attempt_row *r)
{
	struct which *w = ctx;
	w->rows++;
	if (w->n < WZ_ARRAY_LEN(w->v) && (!w->n || w->v[w->n - 1] != (uint32_t)r->attempt))
		w->v[w->n++] = (uint32_t)r->attempt;
	return 0;
}

static int get_row(void *ctx, const struct wz_job_row *r)
{
	struct showing *x = ctx;
	struct wz_api_submit spec = {0};
	struct wz_arena *a = wz_api_call_arena(x->c);
	struct tasks t = {.arena = a, .s = x->s, .attempt = (uint32_t)r->attempt, .cap = (uint32_t)r->tasks + 1};
	struct wz_err err;
	x->found = true;
	job_of_row(x->s, r, &x->job, &x->text);
	if (spec_load(x->s, r, a, &x->doc, &spec, &err) == 0) {
		x->job.argv = spec.argv;
		x->job.cwd = spec.cwd;
		x->job.git_commit = spec.git_commit;
		x->job.labels = spec.labels;
		if (!x->job.comment.len)
			x->job.comment = spec.comment;
	}
	t.task = wz_arena_alloc(a, t.cap * sizeof *t.task);
	if (t.task && wz_store_attempts(x->s->store, (uint64_t)r->job, task_row, &t, &err) == 0)
		x->job.tasks = (struct wz_items){t.task, t.n};
	wz_api_reply_job(x->c, &x->job);
	return 1;
}

void op_job_attempts(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	struct serve *s = ctx;
	struct wz_arena *a = wz_api_call_arena(c);
	struct which w = {.n = 0};
	struct wz_err err;
	if (wz_store_attempts(s->store, rq->id, attempt_number, &w, &err) < 0) {
		wz_api_fail(c, &err);
		return;
	}
	for (uint32_t i = 0; i < w.n; i++) {
		struct tasks t = {.arena = a, .s = s, .attempt = w.v[i], .cap = w.rows};
		struct wz_api_attempt item = {.attempt = w.v[i], .state = WZ_STATE_STARTING};
		if (!(t.task = wz_arena_alloc(a, t.cap * sizeof *t.task)) ||
		        wz_store_attempts(s->store, rq->id, task_row, &t, NULL) < 0)
			break;
		for (uint32_t k = 0; k < t.n; k++) { /* the worst that a task came to is what the attempt came to */
			if (!item.start_us || (t.task[k].start_us && t.task[k].start_us < item.start_us))
				item.start_us = t.task[k].start_us;
			item.end_us = t.task[k].end_us > item.end_us ? t.task[k].end_us : item.end_us;
			item.state = t.task[k].state > item.state || k == 0 ? t.task[k].state : item.state;
			if (!item.exit_code && !item.exit_signal) {
				item.exit_code = t.task[k].exit_code;
				item.exit_signal = t.task[k].exit_signal;
			}
		}
		item.tasks = (struct wz_items){t.task, t.n};
		wz_api_item_attempt(c, &item);
	}
	wz_api_list_end(c, 0);
}

void op_job_get(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	struct showing x = {.s = ctx, .c = c};
	struct wz_job_query q = {.job = rq->id};
	struct wz_err err;
	int rc = wz_store_jobs(x.s->store, &q, get_row, &x, &err);
	if (!x.found) {
		if (rc >= 0)
			(void)wz_err_set(&err, -ENOENT, "NoSuchJob", WZ_STR("there is no such job"));
		wz_api_fail(c, &err);
	}
	wz_json_release(&x.doc);
}

struct owner {
	char *name;
	size_t cap;
	int64_t uid;
	bool found, ended;
};

static int owner_row(void *ctx, const struct wz_job_row *r)
{
	struct owner *o = ctx;
	o->found = true;
	o->uid = r->uid;
	o->ended = r->state == WZ_ROW_ENDED;
	if (o->name)
		(void)snprintf(o->name, o->cap, "%.*s", (int)r->user.len, r->user.len ? r->user.ptr : "");
	return 1;
}

int op_job_owner(void *ctx, uint64_t job, struct wz_str *ret_name, int64_t *ret_uid)
{
	static char name[WZ_WHO_NAME_MAX]; /* read at once by the API, on the loop's thread */
	struct serve *s = ctx;
	struct owner o = {name, sizeof name, -1, false, false};
	struct wz_job_query q = {.job = job};
	if (wz_store_jobs(s->store, &q, owner_row, &o, NULL) < 0 || !o.found)
		return -ENOENT;
	*ret_name = wz_str(name);
	*ret_uid = o.uid;
	return 0;
}

bool job_ended(struct serve *s, uint64_t job)
{
	struct owner o = {NULL, 0, -1, false, false};
	struct wz_job_query q = {.job = job};
	return wz_store_jobs(s->store, &q, owner_row, &o, NULL) < 0 || !o.found || o.ended;
}

/* ---- why ---- */

static struct wz_api_blocker rule_blocker(struct wz_arena *a, const struct wz_rule_blocker *r)
{
	char *text = wz_arena_alloc(a, 256);
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, text ? 256 : 0);
	wz_rule_blocker_format(r, &b);
	return (struct wz_api_blocker){.reason = wz_str(wz_reason_word(r->reason)), .text = wz_buf_str(&b)};
}

#define STARTS_WORK \
	(1u << 20) /* nodes and ends looked at for one answer: milliseconds on a machine, 0.1 s on 5,000 nodes */

/* When it will start, by the plan of this step. */
static void why_starts(struct serve *s, struct wz_api_why *w)
{
	struct wz_start_estimate e;
	struct wz_core_stats now;
	wz_core_stats(s->core, &now);
	if ((wz_core_starts(s->core, w->job, &e) < 0 || e.step != now.steps) &&
	        wz_core_plan_starts(s->core, &(struct wz_starts_options){.work = STARTS_WORK}, NULL) < 0)
		return;
	if (wz_core_starts(s->core, w->job, &e) < 0)
		return;
	w->position = e.ahead_in_queue + 1;
	if (e.latest_us != UINT64_MAX)
		w->latest_start_us = (int64_t)e.latest_us;
	if (e.likely_from_us != UINT64_MAX && e.likely_to_us != UINT64_MAX) {
		w->earliest_start_us = (int64_t)e.likely_from_us;
		w->expected_start_us = (int64_t)e.likely_to_us;
		w->how = WZ_STR(
		        "plan of the present step: from earliest_start_us to expected_start_us in 80 of 100 drawn "
		        "futures; latest_start_us if all time limits are used up");
	} else if (e.latest_us != UINT64_MAX) {
		w->how = WZ_STR("plan of the present step, by time limits");
	}
}

/* What it could ask for instead, each tried on a copy. */
static void why_remedies(struct serve *s, struct wz_api_call *c, struct wz_str profile, struct wz_api_why *w)
{
	struct wz_arena *a = wz_api_call_arena(c);
	struct wz_remedies *x = wz_arena_alloc(a, sizeof *x);
	struct wz_api_remedy *r = wz_arena_alloc(a, WZ_REMEDIES_MAX * sizeof *r);
	struct wz_err err;
	if (!x || !r || wz_remedies_ask(s->core, s->mem, w->job, profile, x, &err) < 0)
		return; /* the rest of the answer is true without */
	for (uint32_t i = 0; i < x->n; i++)
		r[i] = (struct wz_api_remedy){wz_str(x->remedy[i].change), WZ_STR("it would start now"), 0};
	w->remedies = (struct wz_items){r, x->n};
}

static void why_waiting(struct serve *s, struct wz_api_call *c, struct wz_str profile, struct wz_api_why *w)
{
	struct wz_explanation e;
	struct wz_err err;
	struct wz_buf text;
	struct wz_arena *a = wz_api_call_arena(c);
	struct wz_api_blocker *b = wz_arena_alloc(a, (WZ_REASON_COUNT_ + WZ_RULE_BLOCKERS_MAX) * sizeof *b);
	uint32_t n = 0;
	if (wz_core_explain(s->core, w->job, &e, &err) < 0 || !b) {
		wz_api_fail(c, &err);
		return;
	}
	wz_buf_init(&text, s->mem, 65536);
	wz_explanation_format(&e, &text);
	w->reason = wz_str(wz_reason_word(e.main));
	w->text = wz_buf_str(&text);
	w->never = e.never;
	for (uint32_t i = 0; i < e.n_rules; i++)
		b[n++] = rule_blocker(a, &e.rule[i]);
	for (uint32_t i = 1; i < WZ_REASON_COUNT_; i++)
		if (e.blocked[i])
			b[n++] = (struct wz_api_blocker){
			        wz_str(wz_reason_word(i)), wz_str(wz_reason_text(i)), e.blocked[i]};
	w->blockers = (struct wz_items){b, n};
	why_starts(s, w);
	why_remedies(s, c, profile, w);
	wz_api_reply_why(c, w);
	wz_buf_release(&text);
}

static int why_row(void *ctx, const struct wz_job_row *r)
{
	struct showing *x = ctx;
	struct wz_job_info info;
	struct wz_api_job j;
	struct wz_api_why w = {.job = (uint64_t)r->job, .state = api_state(r)};
	x->found = true;
	const struct booked *book = book_find(x->s, w.job);
	if (wz_core_job(x->s->core, w.job, &info) == 0 && info.state == WZ_JOB_WAITING && !(book && book->wait)) {
		why_waiting(x->s, x->c, r->profile, &w);
		return 1;
	}
	struct wz_api_blocker blocker;
	struct wz_buf text;
	const char *word;
	wz_buf_init_fixed(&text, x->text.why, sizeof x->text.why);
	if (book && book_why(x->s, book, &word, &text) && text.status == 0) {
		w.reason = wz_str(word);
		w.text = wz_buf_str(&text);
		blocker = (struct wz_api_blocker){w.reason, w.text, 0};
		w.blockers = (struct wz_items){&blocker, 1};
	} else {
		job_of_row(x->s, r, &j, &x->text);
		w.reason = j.reason.len ? j.reason : WZ_STR("Running");
		w.text = j.reason_text.len          ? j.reason_text
		         : r->state == WZ_ROW_ENDED ? WZ_STR("the job has ended")
		                                    : WZ_STR("the job does not wait");
	}
	wz_api_reply_why(x->c, &w);
	return 1;
}

void op_job_why(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq)
{
	struct showing x = {.s = ctx, .c = c};
	struct wz_job_query q = {.job = rq->id};
	struct wz_err err;
	int rc = wz_store_jobs(x.s->store, &q, why_row, &x, &err);
	if (x.found)
		return;
	if (rc >= 0)
		(void)wz_err_set(&err, -ENOENT, "NoSuchJob", WZ_STR("there is no such job"));
	wz_api_fail(c, &err);
}

/* ---- places ---- */

static struct wz_str strtab(const struct wz_model_state *m, uint32_t id)
{
	return id == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&m->names, id);
}

void op_node_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct serve *s = ctx;
	const struct wz_model_state *m = wz_core_model(s->core);
	(void)rq;
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		if (!(n->flags & WZ_NODE_PRESENT))
			continue;
		struct wz_api_node a = {.name = node_name(s, i),
		        .site = strtab(m, n->site),
		        .rack = strtab(m, n->rack),
		        .state = !(n->flags & WZ_NODE_READY) ? WZ_STR("down")
		                 : n->flags & WZ_NODE_CORDONED
		                         ? (n->n_tasks ? WZ_STR("draining") : WZ_STR("drained"))
		                         : WZ_STR("ready"),
		        .cpu_milli = n->cpu,
		        .cpu_free_milli = n->cpu_free,
		        .mem_bytes = n->mem,
		        .mem_free_bytes = n->mem_free,
		        .devices_total = n->n_dev,
		        .devices_free = n->whole,
		        .jobs_running = (uint32_t)n->n_tasks,
		        .seen_us = i < s->n_nodes ? s->node[i].seen_us : 0};
		struct wz_buf reason;
		char key[300];
		wz_buf_init(&reason, s->mem, 65536);
		(void)snprintf(
		        key, sizeof key, "drain.%.*s", (int)(a.name.len < 256 ? a.name.len : 256), a.name.ptr);
		if (n->flags & WZ_NODE_CORDONED && wz_store_kv(s->store, wz_str(key), &reason, NULL) == 0)
			a.reason = wz_buf_str(&reason);
		wz_api_item_node(c, &a);
		wz_buf_release(&reason);
	}
	wz_api_list_end(c, 0);
}

struct held {
	uint64_t job;
	uint32_t node;
	uint64_t devices;
};

/* What every placed task holds. O(tasks). */
static uint32_t all_held(struct serve *s, struct wz_arena *a, struct held **ret)
{
	struct wz_core_stats st;
	struct wz_job_info j;
	struct wz_place p;
	uint32_t n = 0, cap;
	int rc;
	wz_core_stats(s->core, &st);
	cap = (uint32_t)st.tasks_live;
	struct held *h = *ret = wz_arena_alloc(a, (cap + 1) * sizeof *h);
	for (uint32_t i = 0; h && (rc = wz_core_job_at(s->core, i, &j)) != -ENOENT; i++)
		for (uint32_t t = 0; rc == 0 && j.tasks_placed && t < j.task_numbers; t++)
			if (n < cap && wz_core_task(s->core, j.job, t, &p) == 0)
				h[n++] = (struct held){j.job, p.node.v, p.devices};
	return n;
}

static void device_item(
        struct serve *s, struct wz_api_call *c, uint32_t node, uint32_t index, const struct held *h, uint32_t n)
{
	static const char *const healths[] = {"ok", "degraded", "failed"};
	const struct wz_model_state *m = wz_core_model(s->core);
	uint32_t at = m->node[node].first_dev + index;
	const struct wz_device *d = &m->dev[at];
	uint64_t jobs[64];
	struct wz_nums held = {jobs, 0};
	const struct place_facts *f =
	        node < s->n_nodes && index < s->node[node].n_devices ? &s->node[node].device[index] : NULL;
	for (uint32_t i = 0; i < n && held.n < WZ_ARRAY_LEN(jobs); i++)
		if (h[i].node == node && h[i].devices >> index & 1 && (!held.n || jobs[held.n - 1] != h[i].job))
			jobs[held.n++] = h[i].job;
	struct wz_api_device a = {.node = node_name(s, node),
	        .index = index,
	        .uuid = wz_str(f ? f->uuid : ""),
	        .model = wz_str(wz_core_catalogue(s->core)->model[d->model].name),
	        .health = wz_str(healths[d->health]),
	        .mem_bytes = d->mem,
	        .mem_free_bytes = m->dev_mem[at],
	        .compute_milli = d->milli,
	        .compute_free_milli = m->dev_milli[at],
	        .link_domain = d->link_domain,
	        .numa = d->numa,
	        .jobs = held,
	        .util_pct = f ? f->util_pct : -1,
	        .temp_c = f ? f->temp_c : -1,
	        .mem_used_bytes = f ? f->mem_used : -1,
	        .power_mw = f ? f->power_mw : -1,
	        .read_us = f ? f->read_us : 0,
	        .foreign = f && f->foreign > 0 ? (uint32_t)f->foreign : 0,
	        .mem_used_pct = -1};
	char kept[96];
	struct wz_hold_info hold;
	for (uint32_t i = 0; wz_core_hold(s->core, i, &hold) == 0; i++) {
		if (hold.place.node.v != node || !(hold.place.devices >> index & 1))
			continue;
		(void)snprintf(kept, sizeof kept, "room on it is kept for job %llu", (unsigned long long)hold.job);
		a.reason = wz_str(kept);
	}
	if (f && f->wrong_job)
		a.reason = WZ_STR("a job that was not given this device computes on it");
	else if (a.foreign)
		a.reason = WZ_STR("somebody outside of the queue computes on it");
	if (f && f->mem_used >= 0 && d->mem > 0)
		a.mem_used_pct = (int32_t)(f->mem_used * 100 / d->mem);
	wz_api_item_device(c, &a);
}

void op_device_list(void *ctx, struct wz_api_call *c, const struct wz_api_device_query *rq)
{
	struct serve *s = ctx;
	const struct wz_model_state *m = wz_core_model(s->core);
	struct held *h;
	uint32_t n = all_held(s, wz_api_call_arena(c), &h);
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		if (!(m->node[i].flags & WZ_NODE_PRESENT) ||
		        (rq->node.len && !wz_str_eq(rq->node, node_name(s, i))))
			continue;
		for (uint32_t k = 0; k < m->node[i].n_dev; k++) {
			const char *model =
			        wz_core_catalogue(s->core)->model[m->dev[m->node[i].first_dev + k].model].name;
			if (!rq->model.len || wz_str_eq_nocase(rq->model, wz_str(model)))
				device_item(s, c, i, k, h, n);
		}
	}
	wz_api_list_end(c, 0);
}

void op_info(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct serve *s = ctx;
	struct wz_core_stats st;
	const struct wz_model_state *m = wz_core_model(s->core);
	char host[128] = "", digest[20];
	struct wz_str url[WZ_ARRAY_LEN(s->url)];
	(void)rq;
	for (uint32_t i = 0; i < s->n_urls; i++)
		url[i] = wz_str(s->url[i]);
	wz_core_stats(s->core, &st);
	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(digest, sizeof digest, "%016llx", (unsigned long long)wz_core_digest(s->core));
	struct wz_api_info a = {.version = wz_str(s->o->version),
	        .body = WZ_STR("serve"),
	        .policy = wz_str(wz_core_policy(s->core, NULL)->name),
	        .urls = {url, s->n_urls},
	        .host = wz_str(host),
	        .started_us = s->started_us,
	        .now_us = serve_now_us(s),
	        .seq = wz_hub_seq(wz_api_hub(s->api)),
	        .digest = wz_str(digest),
	        .nodes = m->n_present,
	        .pending = (uint32_t)st.jobs_waiting,
	        .running = (uint32_t)(st.jobs_live - st.jobs_waiting)};
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].flags & WZ_NODE_PRESENT) {
			a.devices += m->node[i].n_dev;
			a.devices_busy += (uint32_t)(m->node[i].n_dev - m->node[i].whole);
		}
	wz_api_reply_info(c, &a);
}
