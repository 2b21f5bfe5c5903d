/* SPDX-License-Identifier: Apache-2.0 */
/* The step. Events are applied as they come and gathered in one batch; a step follows in the next round of the loop, so that
 * what comes together is written together:
 *
 *	apply(events...)  apply(STEP)  decide  journal  apply_effect(each)  append   ... durable:  answer, acknowledge, enact
 *
 * The one rule is kept here: a turn holds all that may leave the process, and is opened only when its batch is on the disk. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "base/json.h"
#include "os/clock.h"

#include <signal.h>

int64_t serve_now_us(const struct serve *s)
{
	return s->wall_us + wz_loop_now_us(s->loop) - s->mono_us;
}

static struct turn *turn_of(struct serve *s)
{
	if (!s->turn && (s->turn = wz_mem_zalloc(s->mem, sizeof *s->turn)))
		s->turn->s = s;
	if (!s->turn) {
		struct wz_err err;
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		serve_fail(s, &err);
	}
	return s->turn;
}

static void turn_free(struct turn *t)
{
	const struct wz_mem *mem = t->s->mem;
	wz_grow_free(mem, &t->answer, &t->answer_cap, sizeof *t->answer);
	wz_grow_free(mem, &t->ack, &t->ack_cap, sizeof *t->ack);
	wz_grow_free(mem, &t->effect, &t->effect_cap, sizeof *t->effect);
	wz_grow_free(mem, &t->news, &t->news_cap, sizeof *t->news);
	wz_mem_free(mem, t, sizeof *t);
}

static int out_of_memory(struct serve *s)
{
	struct wz_err err;
	(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	serve_fail(s, &err);
	return -ENOMEM;
}

void serve_soon(struct serve *s)
{
	if (s->armed)
		return;
	s->armed = true;
	wz_timer_set(&s->step_timer, 0);
}

/* Jobs that the core forgot by what was just applied, whosever event it was: how they ended it says itself. */
static void note_ended(struct serve *s)
{
	struct wz_ended e;
	for (uint32_t i = 0; wz_core_ended(s->core, i, &e) == 0; i++) {
		struct touched *t = serve_touch(s, e.job);
		if (!t)
			return;
		t->end = e.end;
		t->gone = true;
	}
}

int serve_apply(struct serve *s, struct wz_event *e, struct wz_err *err)
{
	struct wz_err failed;
	uint64_t now = (uint64_t)serve_now_us(s);
	e->time_us = now > wz_core_now(s->core) ? now : wz_core_now(s->core);
	int rc = s->failed ? wz_err_set(err, -ESHUTDOWN, "ServeFailed", WZ_STR("the daemon is ending"))
	                   : wz_core_apply(s->core, e, err);
	if (rc < 0)
		return rc;
	rc = wz_batch_event(&s->batch, e, wz_core_catalogue(s->core), &failed);
	if (rc < 0) { /* it is applied and cannot be journalled: the state is ahead of the truth */
		serve_fail(s, &failed);
		if (err)
			*err = failed;
		return rc;
	}
	note_ended(s);
	serve_soon(s);
	return 0;
}

struct touched *serve_touch(struct serve *s, uint64_t job)
{
	uint32_t at = wz_map_get(&s->touched_at, job);
	if (at != WZ_NONE)
		return &s->touched[at];
	if (wz_grow(s->mem, &s->touched, &s->touched_cap, s->n_touched + 1, sizeof *s->touched) < 0 ||
	        wz_map_put(&s->touched_at, job, s->n_touched) < 0) {
		(void)out_of_memory(s);
		return NULL;
	}
	struct touched *t = &s->touched[s->n_touched++];
	*t = (struct touched){.job = job, .end = WZ_END_COMPLETED};
	return t;
}

void serve_words(struct touched *t, struct wz_str reason, struct wz_str text)
{
	struct wz_err cut; /* cuts long texts as errors do */
	if (!wz_utf8_ok(reason) || !wz_utf8_ok(text))
		return;
	(void)wz_err_set(&cut, -EINVAL, "", reason, reason.len && text.len ? WZ_STR(": ") : WZ_STR(""), text);
	size_t n = strlen(cut.text);
	if (n >= sizeof t->text)
		n = sizeof t->text - 1;
	while (n && ((unsigned char)cut.text[n] & 0xc0) == 0x80)
		n--;
	memcpy(t->text, cut.text, n);
	t->text[n] = 0;
}

int serve_apply_job(struct serve *s, uint64_t job, uint32_t end, struct wz_event *e, struct wz_err *err)
{
	struct wz_job_info before;
	bool known = wz_core_job(s->core, job, &before) == 0;
	int rc = serve_apply(s, e, err);
	if (rc < 0)
		return rc;
	struct touched *t = serve_touch(s, job);
	if (!t)
		return -ENOMEM;
	if (known && !t->gone)
		t->end = before.state == WZ_JOB_ENDING ? before.end : end;
	return 0;
}

static void answer(struct serve *s, struct answer a)
{
	struct wz_api_call *call = a.call;
	struct turn *t = turn_of(s);
	if (!t || wz_grow(s->mem, &t->answer, &t->answer_cap, t->n_answers + 1, sizeof *t->answer) < 0) {
		struct wz_err err;
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		wz_api_fail(call, &err);
		serve_fail(s, &err);
		return;
	}
	t->answer[t->n_answers++] = a;
	serve_soon(s);
}

void serve_answer(struct serve *s, struct wz_api_call *call, uint64_t job, bool repeated)
{
	answer(s, (struct answer){.call = call, .job = job, .repeated = repeated, .count = 1});
}

void serve_answer_submit(struct serve *s, struct wz_api_call *call, uint64_t first, uint32_t count, bool repeated)
{
	answer(s, (struct answer){.call = call, .job = first, .repeated = repeated, .count = count});
}

void serve_answer_job(struct serve *s, struct wz_api_call *call, uint64_t job)
{
	answer(s, (struct answer){.call = call, .job = job, .show = true});
}

void serve_ack(struct serve *s, int64_t id)
{
	struct turn *t = turn_of(s);
	if (!t || wz_grow(s->mem, &t->ack, &t->ack_cap, t->n_acks + 1, sizeof *t->ack) < 0) {
		(void)out_of_memory(s);
		return;
	}
	t->ack[t->n_acks++] = (struct ack){id, s->link_n};
	serve_soon(s);
}

/* ---- when it is durable ---- */

static void publish(struct serve *s, struct turn *t, uint64_t seq)
{
	for (uint32_t i = 0; i < t->n_news; i++) {
		struct news *n = &t->news[i];
		struct wz_api_event e = {.seq = seq - t->n_news + 1 + i,
		        .time_us = serve_now_us(s),
		        .type = WZ_STR("job"),
		        .job = n->job,
		        .device = -1,
		        .what = wz_str(n->what),
		        .state = n->state};
		wz_hub_publish(wz_api_hub(s->api), &e);
		conf_tell(s, n);
	}
}

static void durable(void *ctx, uint64_t seq, int r)
{
	struct turn *t = ctx;
	struct serve *s = t->s;
	struct wz_err err;
	if (r < 0)
		(void)wz_err_set(&err, -ESHUTDOWN, "ShuttingDown",
		        WZ_STR("the daemon ends and could not write this to its journal: it did not happen"));
	for (uint32_t i = 0; i < t->n_answers; i++) {
		struct answer *a = &t->answer[i];
		struct wz_api_submitted done = {.id = a->job, .count = a->count, .repeated = a->repeated};
		if (r < 0)
			wz_api_fail(a->call, &err);
		else if (a->show)
			op_job_get(s, a->call, &(struct wz_api_job_ref){.id = a->job});
		else if (a->job)
			wz_api_reply_submitted(a->call, &done);
		else
			wz_api_done(a->call);
	}
	for (uint32_t i = 0; i < t->n_acks && r == 0; i++) {
		struct wz_wire_msg m;
		if (t->ack[i].link != s->link_n)
			continue; /* it is told again on the new link */
		wz_wire_init(&m, WZ_WIRE_ACK);
		m.re = t->ack[i].id;
		link_send(s, &m);
	}
	for (uint32_t i = 0; i < t->n_effects && r == 0; i++)
		enact(s, &t->effect[i]);
	if (r == 0 && t->n_news)
		publish(s, t, seq);
	for (uint32_t i = 0; i < t->n_news && r == 0; i++)
		if (t->news[i].state >= WZ_STATE_COMPLETED)
			book_forget(s, t->news[i].job);
	for (uint32_t i = 0; i < t->n_news; i++)
		logs_job_changed(s, t->news[i].job);
	turn_free(t);
}

/* ---- what people will ask for ---- */

static int32_t row_state(const struct wz_job_info *i)
{
	switch (i->state) {
	case WZ_JOB_HELD:
		return WZ_ROW_HELD;
	case WZ_JOB_STARTING:
		return WZ_ROW_STARTING;
	case WZ_JOB_RUNNING:
		return WZ_ROW_RUNNING;
	case WZ_JOB_ENDING:
		return WZ_ROW_ENDING;
	default:
		return WZ_ROW_WAITING;
	}
}

static int tell(struct serve *s, const struct touched *t, const struct wz_job_row *row)
{
	struct turn *turn = turn_of(s);
	if (!turn || wz_grow(s->mem, &turn->news, &turn->news_cap, turn->n_news + 1, sizeof *turn->news) < 0)
		return out_of_memory(s);
	turn->news[turn->n_news++] = (struct news){t->job,
	        row->state == WZ_ROW_ENDED ? "ended"
	        : t->what                  ? t->what
	                                   : "changed",
	        api_state(row)};
	return 0;
}

static int write_job(struct serve *s, const struct touched *t, struct wz_err *err)
{
	struct wz_job_info info;
	struct wz_job_row r = {0};
	WZ_SET(JOB, &r, job, (int64_t)t->job);
	if (wz_core_job(s->core, t->job, &info) == 0) {
		WZ_SET(JOB, &r, state, row_state(&info));
		WZ_SET(JOB, &r, attempt, info.attempt);
		WZ_SET(JOB, &r, priority, info.priority);
		if (info.state == WZ_JOB_ENDING && (t->text[0] || t->word)) {
			/* Why it is being ended is said now; the end itself will only say how. */
			WZ_SET(JOB, &r, reason, wz_str(t->text));
			if (t->word)
				WZ_SET(JOB, &r, word, wz_str(t->word));
			book_noted(s, t->job);
		}
	} else {
		WZ_SET(JOB, &r, state, WZ_ROW_ENDED);
		quota_end(s, t->job);
		WZ_SET(JOB, &r, end, t->end);
		WZ_SET(JOB, &r, ended_us, serve_now_us(s));
		if (t->text[0] || !book_is_noted(s, t->job))
			WZ_SET(JOB, &r, reason, wz_str(t->text));
		if (t->word)
			WZ_SET(JOB, &r, word, wz_str(t->word));
		book_ended(s, t->job, t->end);
	}
	const struct booked *b = book_find(s, t->job);
	if (b) {
		WZ_SET(JOB, &r, held, (b->wait & BOOK_USER) != 0);
		if (b->retries) {
			WZ_SET(JOB, &r, retries, b->retries);
			WZ_SET(JOB, &r, retry_us, b->retry_us);
		}
		if (b->ended && book_order_of(s, b)->secrets[0])
			WZ_SET(JOB, &r, secrets, WZ_STR(""));
	}
	if (t->started)
		book_started(s, t->job, t->started_us);
	if (t->started)
		WZ_SET(JOB, &r, started_us, t->started_us);
	if (t->exited) {
		WZ_SET(JOB, &r, exit_code, t->exit_code);
		WZ_SET(JOB, &r, signal, t->exit_signal);
	}
	int rc = wz_batch_job(&s->batch, &r, err);
	return rc < 0 ? rc : tell(s, t, &r);
}

static int write_start(struct serve *s, const struct wz_effect *e, struct wz_err *err)
{
	struct wz_attempt_row r = {0};
	char devices[256], path[4096];
	struct wz_buf b, p;
	wz_buf_init_fixed(&b, devices, sizeof devices);
	wz_buf_init_fixed(&p, path, sizeof path);
	for (unsigned i = 0; i < WZ_NODE_DEVICES_MAX; i++)
		if (e->place.devices >> i & 1) {
			if (b.len)
				wz_buf_addc(&b, ',');
			wz_buf_add_u64(&b, i);
		}
	log_path(s, e->job, e->task, e->attempt, &p);
	WZ_SET(ATTEMPT, &r, job, (int64_t)e->job);
	WZ_SET(ATTEMPT, &r, attempt, e->attempt);
	WZ_SET(ATTEMPT, &r, task, e->task);
	WZ_SET(ATTEMPT, &r, node, node_name(s, e->place.node.v));
	WZ_SET(ATTEMPT, &r, devices, wz_buf_str(&b));
	WZ_SET(ATTEMPT, &r, effect, (int64_t)e->id);
	WZ_SET(ATTEMPT, &r, decided_us, serve_now_us(s));
	WZ_SET(ATTEMPT, &r, log, wz_buf_str(&p));
	return wz_batch_attempt(&s->batch, &r, err);
}

/* ---- the step ---- */

static int take(struct serve *s, const struct wz_effect *e, struct wz_err *err)
{
	struct turn *t = turn_of(s);
	int rc = wz_batch_effect(&s->batch, e, err);
	if (rc == 0)
		rc = wz_core_apply_effect(s->core, e, err);
	if (rc < 0 || !t)
		return rc < 0 ? rc : -ENOMEM;
	note_ended(s);
	if (!effect_leaves(e->kind))
		return 0;
	struct touched *j = e->job ? serve_touch(s, e->job) : NULL;
	if ((e->job && !j) || wz_grow(s->mem, &t->effect, &t->effect_cap, t->n_effects + 1, sizeof *t->effect) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	t->effect[t->n_effects++] = *e;
	if (j)
		j->what = effect_what(e->kind);
	return e->kind == WZ_EF_START ? write_start(s, e, err) : 0;
}

static int decide(struct serve *s, struct wz_err *err)
{
	struct wz_event step = {.kind = WZ_EV_STEP};
	int rc = serve_apply(s, &step, err);
	if (rc == 0)
		rc = wz_core_decide(s->core, 0, &s->plan, err);
	for (uint32_t i = 0; rc == 0 && i < s->plan.n; i++)
		rc = take(s, &s->plan.effect[i], err);
	if (rc == 0)
		wz_batch_digest(&s->batch, wz_core_digest(s->core));
	return rc;
}

static int append(struct serve *s, struct wz_err *err)
{
	struct turn *t = turn_of(s);
	struct wz_store_done done = {durable, t};
	if (!t)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	int rc = wz_store_append(s->store, &s->batch, done, &s->seq, err);
	if (rc < 0)
		return rc;
	s->turn = NULL;
	wz_batch_clear(&s->batch);
	if (wz_store_wants_snapshot(s->store)) {
		struct wz_err warn;
		if (wz_store_snapshot(s->store, s->core, (struct wz_store_done){NULL, NULL}, &warn) < 0)
			serve_log("snapshot", warn.text);
	}
	return 0;
}

static void set_deadline(struct serve *s)
{
	uint64_t due = wz_core_next_deadline(s->core), now = (uint64_t)serve_now_us(s);
	if (due == UINT64_MAX)
		wz_timer_stop(&s->deadline_timer);
	else
		wz_timer_set(&s->deadline_timer, due <= now                ? 0
		                                 : due - now > 3600000000u ? 3600000000
		                                                           : (int64_t)(due - now) + 1000);
}

void serve_deadline(void *ctx)
{
	struct serve *s = ctx;
	struct wz_event e = {.kind = WZ_EV_TIME};
	if (!s->adopted) { /* nobody can be told anything now: a deadline that passes says nothing about the job */
		wz_timer_set(&s->deadline_timer, 500000);
		return;
	}
	if (wz_core_next_deadline(s->core) <= (uint64_t)serve_now_us(s))
		(void)serve_apply(s, &e, NULL);
	else
		set_deadline(s);
}

#define STARTS_EVERY_US 10000000
#define STARTS_WORK (1u << 20) /* milliseconds on a machine */

/* When the first waiting jobs will start: told by `wz why`, and judged by the metrics when they have. */
static void plan_starts(struct serve *s)
{
	int64_t now = serve_now_us(s);
	struct wz_core_stats c;
	if (!s->adopted || s->stopping || (s->starts_us && now < s->starts_us + STARTS_EVERY_US))
		return;
	wz_core_stats(s->core, &c);
	if (c.jobs_waiting == 0)
		return;
	s->starts_us = now;
	(void)wz_core_plan_starts(s->core, &(struct wz_starts_options){.work = STARTS_WORK}, NULL);
}

void serve_step(void *ctx)
{
	struct serve *s = ctx;
	struct wz_err err;
	int rc = 0;
	s->armed = false;
	if (s->failed)
		return;
	s->armed = true; /* what decide applies asks for no step of its own */
	if (s->adopted && !s->stopping)
		book_settle(s);
	if (s->adopted && !s->stopping)
		rc = decide(s, &err);
	for (uint32_t i = 0; rc == 0 && i < s->n_touched; i++)
		rc = write_job(s, &s->touched[i], &err);
	for (uint32_t i = 0; i < s->n_touched; i++)
		(void)wz_map_del(&s->touched_at, s->touched[i].job);
	s->n_touched = 0;
	if (rc == 0 && (s->batch.n || s->turn))
		rc = append(s, &err);
	s->armed = false;
	if (rc < 0) {
		serve_fail(s, &err);
		return;
	}
	if (s->adopted && !s->stopping && (!s->plan.complete || book_moved(s)))
		serve_soon(s);
	plan_starts(s);
	set_deadline(s);
}
