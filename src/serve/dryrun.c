/* SPDX-License-Identifier: Apache-2.0 */
/* Dry runs: where and when a job would start. Asked of a copy of the core (export and import), so nothing of the real one
 * changes, not even its digest. When the job does not start at once, what runs is let end at its time limit, one after the
 * other, until it does: the latest start by the limits, were nothing else submitted. */
#include "serve/serve_int.h"

#include "base/check.h"

#define STATE_MAX ((size_t)256 << 20)
#define ROUNDS_MAX 400u

struct whatif {
	struct serve *s;
	struct wz_api_call *c;
	struct wz_core *core; /* the copy */
	struct wz_plan plan;
	uint64_t job; /* ours */
	bool started;
	struct wz_place place[64]; /* of its first tasks */
	uint32_t n_places;
	struct ending {
		uint64_t job, end_us; /* UINT64_MAX: no limit */
	} * ending;
	uint32_t n, cap;
};

static int event(struct whatif *x, struct wz_event *e, uint64_t now)
{
	e->time_us = now;
	return wz_core_apply(x->core, e, NULL);
}

static int note_end(struct whatif *x, uint64_t job, uint64_t end_us)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (x->ending[i].job == job)
			return 0;
	int rc = wz_grow(x->s->mem, &x->ending, &x->cap, x->n + 1, sizeof *x->ending);
	if (rc == 0)
		x->ending[x->n++] = (struct ending){job, end_us};
	return rc;
}

static uint64_t limit_of(struct whatif *x, uint64_t job)
{
	const struct booked *b = book_find(x->s, job);
	return b && b->limit_us > 0 ? (uint64_t)b->limit_us : 0;
}

/* One decision on the copy, and all that it starts runs at once. */
static int decide(struct whatif *x, uint64_t now)
{
	struct wz_event step = {.kind = WZ_EV_STEP};
	int rc = event(x, &step, now);
	if (rc == 0)
		rc = wz_core_decide(x->core, 0, &x->plan, NULL);
	for (uint32_t i = 0; rc == 0 && i < x->plan.n; i++) {
		struct wz_effect e = x->plan.effect[i];
		struct wz_event ok = {.kind = WZ_EV_EFFECT_CONFIRMED};
		rc = wz_core_apply_effect(x->core, &e, NULL);
		if (rc < 0 || e.kind != WZ_EF_START)
			continue;
		ok.u.effect.effect = e.id;
		rc = event(x, &ok, now);
		if (e.job == x->job) {
			x->started = true;
			if (x->n_places < WZ_ARRAY_LEN(x->place))
				x->place[x->n_places++] = e.place;
		}
		uint64_t limit = limit_of(x, e.job);
		if (rc == 0)
			rc = note_end(x, e.job, limit ? now + limit : UINT64_MAX);
	}
	return rc;
}

static int end_job(struct whatif *x, uint64_t job, uint64_t now)
{
	struct wz_job_info info;
	struct wz_place p;
	int rc = 0;
	for (uint32_t t = 0; rc == 0 && wz_core_job(x->core, job, &info) == 0 && t < info.tasks_max; t++) {
		struct wz_event e = {.kind = WZ_EV_TASK_ENDED};
		if (wz_core_task(x->core, job, t, &p) < 0)
			continue;
		e.u.task.job = job;
		e.u.task.task = t;
		e.u.task.attempt = info.attempt;
		e.u.task.end = WZ_END_COMPLETED;
		rc = event(x, &e, now);
	}
	return rc;
}

static int collect(struct whatif *x, uint64_t now)
{
	struct wz_job_info info;
	int rc = 0, at;
	for (uint32_t i = 0; rc == 0 && (at = wz_core_job_at(x->core, i, &info)) >= 0; i++) {
		const struct booked *b = at == 0 ? book_find(x->s, info.job) : NULL;
		if (at || !info.tasks_placed)
			continue;
		uint64_t from = b && b->started_us > 0 ? (uint64_t)b->started_us : now,
		         limit = limit_of(x, info.job);
		rc = note_end(x, info.job, limit ? from + limit : UINT64_MAX);
	}
	return rc;
}

/* The first to end, taken out; false: nothing that has a limit runs. */
static bool next_end(struct whatif *x, struct ending *ret)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < x->n; i++)
		if (x->ending[i].end_us < x->ending[best].end_us)
			best = i;
	if (!x->n || x->ending[best].end_us == UINT64_MAX)
		return false;
	*ret = x->ending[best];
	x->ending[best] = x->ending[--x->n];
	return true;
}

static int look(struct whatif *x, const struct wz_profile *p, const struct wz_api_submit *rq,
        struct wz_api_submitted *a, struct wz_buf *text, struct wz_err *err)
{
	uint64_t now = (uint64_t)serve_now_us(x->s);
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED};
	struct wz_explanation why;
	struct ending next;
	x->job = x->s->last_job + 1;
	e.u.submit = (struct wz_ev_submit){.job = x->job,
	        .user = wz_str(wz_api_call_who(x->c)->name),
	        .queue = rq->queue,
	        .priority = rq->priority,
	        .profile = p,
	        .constraint = rq->constraint};
	e.time_us = now;
	int rc = wz_core_apply(x->core, &e, err);
	if (rc < 0)
		return rc;
	rc = collect(x, now);
	if (rc == 0)
		rc = decide(x, now);
	a->would_start = x->started;
	a->expected_start_us = x->started ? (int64_t)now : 0;
	if (rc < 0 || x->started)
		return rc;
	if ((rc = wz_core_explain(x->core, x->job, &why, err)) < 0)
		return rc;
	a->reason = wz_str(wz_reason_word(why.main));
	wz_explanation_format(&why, text);
	for (uint32_t i = 0; !why.never && !x->started && rc == 0 && i < ROUNDS_MAX && next_end(x, &next); i++) {
		now = next.end_us > now ? next.end_us : now;
		rc = end_job(x, next.job, now);
		if (rc == 0)
			rc = decide(x, now);
		if (x->started)
			a->expected_start_us = (int64_t)now;
	}
	return rc;
}

/* What holds it back before any room does. */
static void conditions(
        struct serve *s, const struct wz_api_submit *rq, struct wz_api_submitted *a, struct wz_buf *text)
{
	bool later = rq->begin_us > serve_now_us(s);
	if (!rq->held && !later && !rq->after.n)
		return;
	a->would_start = false;
	a->reason = rq->held ? WZ_STR("JobHeldUser") : later ? WZ_STR("BeginTime") : WZ_STR("Dependency");
	wz_buf_clear(text);
	wz_buf_addz(text, rq->held ? "it is held" : later ? "it begins later" : "it waits for other jobs");
	if (later && a->expected_start_us && a->expected_start_us < rq->begin_us)
		a->expected_start_us = rq->begin_us;
	if (rq->held || rq->after.n)
		a->expected_start_us = 0;
}

void whatif_submit(struct serve *s, struct wz_api_call *c, const struct wz_api_submit *rq,
        const struct wz_profile *p, uint32_t count)
{
	struct whatif x = {.s = s, .c = c};
	struct wz_api_submitted a = {.count = count, .state = WZ_STR("PENDING")};
	struct wz_arena *arena = wz_api_call_arena(c);
	struct wz_str *nodes = wz_arena_alloc(arena, WZ_ARRAY_LEN(x.place) * sizeof *nodes);
	struct wz_buf state, text;
	struct wz_err err;
	bool same;
	wz_buf_init(&state, s->mem, STATE_MAX);
	wz_buf_init(&text, s->mem, 65536);
	wz_plan_init(&x.plan, s->mem);
	int rc = nodes ? wz_core_export(s->core, &state, &err)
	               : wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (rc == 0)
		rc = wz_core_import(s->mem, NULL, wz_buf_str(&state), &x.core, &same, &err);
	wz_buf_release(&state);
	if (rc == 0 && (rc = look(&x, p, rq, &a, &text, &err)) < 0 && rc == -ENOMEM)
		(void)wz_err_set(&err, rc, "OutOfMemory", WZ_STR("out of memory"));
	conditions(s, rq, &a, &text);
	for (uint32_t i = 0; i < x.n_places; i++)
		nodes[i] = node_name(s, x.place[i].node.v);
	a.nodes = (struct wz_strs){nodes, x.n_places};
	a.text = wz_buf_str(&text);
	if (rc < 0)
		wz_api_fail(c, &err);
	else
		wz_api_reply_submitted(c, &a);
	wz_buf_release(&text);
	wz_plan_release(&x.plan);
	wz_grow_free(s->mem, &x.ending, &x.cap, sizeof *x.ending);
	wz_core_free(x.core);
}
