/* SPDX-License-Identifier: Apache-2.0 */
/* From effects that are durable to words for the agent, and from its answers to events. Every kind that the core may propose
 * is here: told to the agent, answered at once where nothing is to be done, or refused, so that the core knows and nothing
 * waits for a deadline. Enacting twice (after a restart) comes to the same as enacting once: shims know what they were told. */
#include "serve/serve_int.h"

#include "base/check.h"

static const char *const kinds[] = {
        [WZ_EF_MIGRATE] = "MIGRATE",
        [WZ_EF_RESIZE] = "RESIZE",
        [WZ_EF_RESHARE] = "RESHARE",
        [WZ_EF_REPARTITION] = "REPARTITION",
        [WZ_EF_THROTTLE] = "THROTTLE",
        [WZ_EF_ACQUIRE] = "ACQUIRE",
        [WZ_EF_RELEASE] = "RELEASE",
};

/* What the body does about a kind. */
static enum { TELL, NOTE, REFUSE } does(uint32_t kind)
{
	switch (kind) {
	case WZ_EF_START:
	case WZ_EF_STOP:
	case WZ_EF_PREEMPT:
	case WZ_EF_SUSPEND:
	case WZ_EF_RESUME:
	case WZ_EF_CHECKPOINT:
		return TELL;
	case WZ_EF_HOLD:
	case WZ_EF_UNHOLD:
	case WZ_EF_EXPLAIN:
	case WZ_EF_ALERT:
		return NOTE; /* the state has it, and people see it there */
	default:
		return REFUSE;
	}
}

bool effect_leaves(uint32_t kind)
{
	return does(kind) != NOTE;
}

const char *effect_what(uint32_t kind)
{
	switch (kind) {
	case WZ_EF_START:
		return "placed";
	case WZ_EF_STOP:
		return "stopping";
	case WZ_EF_PREEMPT:
		return "preempted";
	case WZ_EF_SUSPEND:
		return "suspending";
	case WZ_EF_RESUME:
		return "resuming";
	case WZ_EF_CHECKPOINT:
		return "checkpoint";
	default:
		return "changed";
	}
}

void effect_answer(struct serve *s, uint64_t effect, uint64_t job, bool confirmed)
{
	struct wz_event e = {.kind = confirmed ? WZ_EV_EFFECT_CONFIRMED : WZ_EV_EFFECT_REFUSED};
	struct wz_err err;
	e.u.effect.effect = effect;
	int rc = job ? serve_apply_job(s, job, WZ_END_CANCELLED, &e, &err) : serve_apply(s, &e, &err);
	if (rc < 0)
		serve_log("the answer to an effect", err.text);
}

static void refuse(struct serve *s, const struct wz_effect *e)
{
	char text[96];
	const char *kind = e->kind < WZ_ARRAY_LEN(kinds) && kinds[e->kind] ? kinds[e->kind] : "unknown";
	(void)snprintf(text, sizeof text, "%s (effect %llu) is nothing that this body can do", kind,
	        (unsigned long long)e->id);
	serve_log("refused", text);
	effect_answer(s, e->id, e->job, false);
}

static void tell(struct serve *s, const struct wz_effect *e, enum wz_wire_type type)
{
	struct wz_wire_msg m;
	struct asked a = {.job = e->job, .task = e->task, .attempt = e->attempt, .effect = e->id};
	wz_wire_init(&m, type);
	m.u.stop.job = (int64_t)e->job;
	m.u.stop.task = e->task;
	m.u.stop.attempt = e->attempt;
	if (e->kind == WZ_EF_PREEMPT) {
		m.u.stop.preempt = 1;
		m.u.stop.reason = wz_str(end_word(WZ_END_PREEMPTED));
	} else if (e->kind == WZ_EF_STOP) {
		m.u.stop.reason = wz_str(end_word(e->reason));
	}
	link_ask(s, &m, &a);
}

void enact(struct serve *s, const struct wz_effect *e)
{
	if (does(e->kind) == REFUSE && !s->failed && !s->stopping) {
		refuse(s, e);
		return;
	}
	if (!s->adopted || s->failed || s->stopping)
		return; /* the next adoption enacts all that is in flight */
	switch (e->kind) {
	case WZ_EF_START:
		start_task(s, e);
		break;
	case WZ_EF_STOP:
	case WZ_EF_PREEMPT:
		tell(s, e, WZ_WIRE_STOP);
		break;
	case WZ_EF_SUSPEND:
		tell(s, e, WZ_WIRE_FREEZE);
		break;
	case WZ_EF_RESUME:
		tell(s, e, WZ_WIRE_THAW);
		break;
	case WZ_EF_CHECKPOINT:
		tell(s, e, WZ_WIRE_CHECKPOINT);
		break;
	default:
		break;
	}
}

/* ---- what the agent says of it ---- */

/* The effect of this kind that is in flight for a task; 0: none. O(n log n) of those in flight. */
static uint64_t in_flight(struct serve *s, uint64_t job, uint32_t task, uint32_t kind)
{
	uint32_t n = wz_core_flights(s->core, NULL, 0);
	struct wz_flight_info *f = n ? wz_arena_alloc(&s->arena, n * sizeof *f) : NULL;
	if (!f)
		return 0;
	(void)wz_core_flights(s->core, f, n);
	for (uint32_t i = 0; i < n; i++)
		if (f[i].job == job && f[i].task == task && f[i].kind == kind)
			return f[i].effect;
	return 0;
}

void effect_frozen(struct serve *s, uint64_t job, uint32_t task, bool frozen)
{
	struct wz_task_work w;
	if (wz_core_task_work(s->core, job, task, &w) < 0 || w.frozen == frozen)
		return;
	uint64_t effect = in_flight(s, job, task, frozen ? WZ_EF_SUSPEND : WZ_EF_RESUME);
	if (effect)
		effect_answer(s, effect, job, true);
}

static void report(struct serve *s, uint64_t job, uint32_t task, int64_t progress_milli, int64_t checkpoint_us)
{
	struct wz_event e = {.kind = WZ_EV_TASK_REPORTED};
	struct wz_err err;
	e.u.report.job = job;
	e.u.report.task = task;
	e.u.report.progress_milli = progress_milli;
	e.u.report.checkpoint_us = checkpoint_us;
	if (serve_apply(s, &e, &err) < 0)
		serve_log("a report", err.text);
}

/* "0.25" or "25%" in thousandths; -1: neither. */
static int64_t progress_of(struct wz_str text)
{
	uint64_t whole, rest = 0, scale = 1000;
	bool percent = text.len && text.ptr[text.len - 1] == '%';
	if (percent)
		text.len--;
	struct wz_str fraction = text, head = wz_str_split(&fraction, '.');
	if (wz_str_parse_u64(head, &whole) < 0 || whole > 1000000 || (fraction.ptr && fraction.len > 9))
		return -1;
	if (fraction.ptr && fraction.len && wz_str_parse_u64(fraction, &rest) < 0)
		return -1;
	for (size_t i = 0; fraction.ptr && i < fraction.len; i++)
		scale *= 10;
	uint64_t milli = whole * 1000 + rest * 1000 / (scale / 1000);
	return (int64_t)(percent ? milli / 100 : milli);
}

/* What a job says on its socket: `progress 0.25` or `progress 25%`, `checkpoint`. Other words are for people. */
void effect_report(struct serve *s, const struct wz_wire_report *r)
{
	struct wz_task_work w = {0};
	struct wz_str text = r->text, word = wz_str_split(&text, ' ');
	uint64_t job = (uint64_t)r->job;
	if (wz_core_task_attempt(s->core, job, (uint32_t)r->task) != (uint32_t)r->attempt)
		return;
	(void)wz_core_task_work(s->core, job, (uint32_t)r->task, &w);
	int64_t milli = text.ptr && wz_str_eq(word, WZ_STR("progress")) ? progress_of(wz_str_trim(text)) : -1;
	if (milli >= 0)
		report(s, job, (uint32_t)r->task, milli, (int64_t)w.checkpoint_us);
	else if (wz_str_eq(word, WZ_STR("checkpoint")))
		effect_checkpoint(s, job, (uint32_t)r->task);
}

void effect_checkpoint(struct serve *s, uint64_t job, uint32_t task)
{
	struct wz_task_work w = {0};
	uint64_t effect = in_flight(s, job, task, WZ_EF_CHECKPOINT);
	(void)wz_core_task_work(s->core, job, task, &w);
	if (effect)
		effect_answer(s, effect, job, true);
	else
		report(s, job, task, w.progress_milli, serve_now_us(s));
}

void op_job_report(void *ctx, struct wz_api_call *c, const struct wz_api_job_report *rq)
{
	struct serve *s = ctx;
	struct wz_task_work w = {0};
	struct wz_err err;
	uint32_t attempt = wz_core_task_attempt(s->core, rq->id, rq->task);
	if (!attempt || (rq->attempt && rq->attempt != attempt) ||
	        wz_core_task_work(s->core, rq->id, rq->task, &w) < 0) {
		(void)wz_err_set(&err, -EBUSY, "NotRunning", WZ_STR("this attempt does not run"));
		wz_api_fail(c, &err);
		return;
	}
	if (rq->preempt_ack) {
		struct wz_effect e = {
		        .kind = WZ_EF_CHECKPOINT, .job = rq->id, .task = rq->task, .attempt = attempt};
		tell(s, &e, WZ_WIRE_ACKED);
	}
	if (rq->progress_milli || rq->checkpoint_us)
		report(s, rq->id, rq->task, rq->progress_milli ? rq->progress_milli : w.progress_milli,
		        rq->checkpoint_us ? rq->checkpoint_us : (int64_t)w.checkpoint_us);
	serve_answer(s, c, 0, false);
}
