/* SPDX-License-Identifier: Apache-2.0 */
/* The agent: a child of ours at the other end of a socket pair. It is started again when it ends; each new one begins with
 * hello and all that is alive. Decisions wait until that is heard (s->adopted), so that no job is started twice. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/proc.h"
#include "serve/usage.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUT_MAX ((size_t)256 << 20)
#define RETRY_US 300000
#define END_WAITS 500u /* times 10 ms, before an agent that does not end is killed */
#define LOST_GRACE_MS 5000 /* for a job whose device is gone */
#define TRIES_MAX 10u /* an agent of a killed daemon may still be about to end */

/* ---- sending ---- */

static void flush_out(struct serve *s)
{
	while (s->link >= 0 && s->out_done < s->out.len) {
		ssize_t n = send(
		        s->link, s->out.data + s->out_done, s->out.len - s->out_done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) /* a broken link is seen by the reader */
			break;
		s->out_done += (size_t)n;
	}
	if (s->link < 0)
		return;
	bool left = s->out_done < s->out.len;
	if (!left) {
		wz_buf_clear(&s->out);
		s->out_done = 0;
	}
	(void)wz_watch_set(&s->link_watch, WZ_WATCH_READ | (left ? WZ_WATCH_WRITE : 0));
}

void link_send(struct serve *s, struct wz_wire_msg *m)
{
	m->id = s->next_id++;
	if (s->link < 0)
		return; /* the next link begins with what is needed */
	wz_wire_format(m, &s->out);
	if (s->out.status < 0) {
		struct wz_err err;
		(void)wz_err_set(
		        &err, s->out.status, "AgentStuck", WZ_STR("the agent does not read what it is told"));
		serve_fail(s, &err);
		return;
	}
	flush_out(s);
}

void link_ask(struct serve *s, struct wz_wire_msg *m, const struct asked *what)
{
	link_send(s, m);
	if (s->link < 0)
		return;
	if (wz_grow(s->mem, &s->asked, &s->asked_cap, s->n_asked + 1, sizeof *s->asked) < 0) {
		struct wz_err err;
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		serve_fail(s, &err);
		return;
	}
	s->asked[s->n_asked] = *what;
	s->asked[s->n_asked].id = m->id;
	s->asked[s->n_asked++].type = (uint8_t)m->type;
}

void link_stop(struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, uint64_t effect, const char *reason,
        int64_t grace_ms)
{
	struct wz_wire_msg m;
	struct asked a = {.job = job, .task = task, .attempt = attempt, .effect = effect};
	wz_wire_init(&m, WZ_WIRE_STOP);
	m.u.stop.job = (int64_t)job;
	m.u.stop.task = task;
	m.u.stop.attempt = attempt;
	m.u.stop.grace_ms = grace_ms;
	m.u.stop.reason = wz_str(reason);
	link_ask(s, &m, &a);
}

/* ---- places ---- */

struct wz_str node_name(const struct serve *s, uint32_t node)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	if (node >= m->n_nodes || !m->node[node].name)
		return WZ_STR("");
	return wz_strtab_get(&m->names, m->node[node].name - 1);
}

/* The id of the node with this name; of a new one the first that was never used. */
static uint32_t node_id(const struct serve *s, struct wz_str name)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	uint32_t unused = m->n_nodes;
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		if (!m->node[i].name)
			unused = i < unused ? i : unused;
		else if (wz_str_eq(node_name(s, i), name))
			return i;
	}
	return unused;
}

uint32_t node_find(const struct serve *s, struct wz_str name)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	uint32_t id = node_id(s, name);
	return id < m->n_nodes && m->node[id].name && m->node[id].flags & WZ_NODE_PRESENT &&
	                       wz_str_eq(node_name(s, id), name)
	               ? id
	               : WZ_ID_NONE;
}

static int model_of(struct serve *s, const struct wz_wire_device *d, wz_model_id *ret, struct wz_err *err)
{
	struct wz_catalogue *c = wz_core_catalogue(s->core);
	struct wz_model_set set = {{0}};
	struct wz_model facts = {.vendor = "unknown", .mem_bytes = d->mem_bytes > 0 ? (uint64_t)d->mem_bytes : 0};
	uint32_t n = c->n;
	if (wz_catalogue_find(c, d->name, ret, NULL) == 0)
		return 0;
	if (wz_catalogue_match(c, d->name, &set, NULL) == 0) /* a family: the one with this much memory */
		for (uint32_t i = 0; i < c->n; i++)
			if (wz_model_set_has(&set, i) &&
			        c->model[i].class_g == wz_memory_class_g(facts.mem_bytes)) {
				*ret = (wz_model_id){(uint16_t)i};
				return 0;
			}
	int rc = wz_catalogue_declare(c, d->name, &facts, ret, err);
	if (rc == 0 && c->n > n)
		rc = wz_batch_model(&s->batch, &c->model[ret->v], err);
	return rc;
}

static uint8_t health_of(struct wz_str word)
{
	return wz_str_eq(word, WZ_STR("failed"))     ? WZ_HEALTH_FAILED
	       : wz_str_eq(word, WZ_STR("degraded")) ? WZ_HEALTH_DEGRADED
	                                             : WZ_HEALTH_OK;
}

/* What the core does not keep: names of devices. */
static int remember(struct serve *s, uint32_t id, const struct wz_wire_node *w)
{
	const struct wz_wire_device *d = w->devices.item;
	if (wz_grow(s->mem, &s->node, &s->node_cap, id + 1, sizeof *s->node) < 0)
		return -ENOMEM;
	struct node_facts *f = &s->node[id];
	if (id >= s->n_nodes)
		s->n_nodes = id + 1;
	if (wz_grow(s->mem, &f->device, &f->device_cap, w->devices.n + 1, sizeof *f->device) < 0)
		return -ENOMEM;
	for (uint32_t i = f->n_devices; i < w->devices.n; i++)
		f->device[i] = (struct place_facts){.util_pct = -1, .temp_c = -1, .mem_used = -1, .power_mw = -1};
	f->n_devices = w->devices.n;
	f->seen_us = serve_now_us(s);
	for (uint32_t i = 0; i < w->devices.n; i++)
		(void)snprintf(f->device[i].uuid, sizeof f->device[i].uuid, "%.*s", (int)d[i].uuid.len,
		        d[i].uuid.len ? d[i].uuid.ptr : "");
	return 0;
}

static int join(struct serve *s, const struct wz_wire_node *w, struct wz_err *err)
{
	const struct wz_wire_device *d = w->devices.item;
	const struct wz_wire_label *l = w->labels.item;
	struct wz_device_facts *f = wz_arena_alloc(&s->arena, (w->devices.n + 1) * sizeof *f);
	struct wz_label *label = wz_arena_alloc(&s->arena, (w->labels.n + 1) * sizeof *label);
	uint32_t id = node_id(s, w->name);
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED}, ready = {.kind = WZ_EV_NODE_READY};
	if (!f || !label || remember(s, id, w) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	for (uint32_t i = 0; i < w->devices.n; i++) {
		int rc = model_of(s, &d[i], &f[i].model, err);
		if (rc < 0)
			return rc;
		f[i].mem_bytes = d[i].mem_bytes;
		f[i].compute_milli = WZ_WHOLE;
		f[i].link_domain = (uint16_t)d[i].link_domain;
		f[i].numa = (uint8_t)d[i].numa;
		f[i].pcie = (uint8_t)d[i].pcie;
		f[i].health = health_of(d[i].health);
	}
	for (uint32_t i = 0; i < w->labels.n; i++)
		label[i] = (struct wz_label){l[i].key, l[i].value};
	e.u.node = (struct wz_ev_node){.node = {id},
	        .name = w->name,
	        .site = w->site,
	        .rack = w->rack,
	        .cpu_milli = w->cpu_milli,
	        .mem_bytes = w->mem_bytes,
	        .max_tasks = (uint32_t)w->max_tasks,
	        .n_devices = w->devices.n,
	        .device = f,
	        .n_labels = w->labels.n,
	        .label = label};
	int rc = serve_apply(s, &e, err);
	if (rc < 0 || w->ready)
		return rc;
	ready.u.ready.node = (wz_node_id){id};
	ready.u.ready.cordoned = wz_core_model(s->core)->node[id].flags & WZ_NODE_CORDONED;
	return serve_apply(s, &ready, err);
}

/* A node that the agent does not know any more: nothing starts there; what may run there is not called lost. */
static void not_ready(struct serve *s, uint32_t id)
{
	struct wz_event e = {.kind = WZ_EV_NODE_READY};
	e.u.ready.node = (wz_node_id){id};
	e.u.ready.cordoned = wz_core_model(s->core)->node[id].flags & WZ_NODE_CORDONED;
	(void)serve_apply(s, &e, NULL);
}

static void on_hello(struct serve *s, const struct wz_wire_hello *h)
{
	const struct wz_wire_node *w = h->nodes.item;
	struct wz_wire_msg m;
	struct asked none = {0};
	struct wz_err err;
	s->privileged = h->privileged;
	s->tries = 0;
	for (uint32_t i = 0; i < h->nodes.n; i++)
		if (join(s, &w[i], &err) < 0)
			serve_log("node refused", err.text);
	for (uint32_t id = 0; id < wz_core_model(s->core)->n_nodes; id++) {
		bool here = !(wz_core_model(s->core)->node[id].flags & WZ_NODE_READY);
		for (uint32_t i = 0; i < h->nodes.n && !here; i++)
			here = wz_str_eq(w[i].name, node_name(s, id));
		if (!here)
			not_ready(s, id);
	}
	wz_wire_init(&m, WZ_WIRE_LIST);
	link_ask(s, &m, &none);
}

/* ---- what runs ---- */

static bool holds(const struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, struct wz_job_info *ret)
{
	return wz_core_job(s->core, job, ret) == 0 && attempt &&
	       wz_core_task_attempt(s->core, job, task) == attempt;
}

static void on_running(struct serve *s, const struct wz_wire_running *r)
{
	struct wz_job_info info;
	struct wz_attempt_row row = {0};
	struct wz_err err;
	uint64_t job = (uint64_t)r->job;
	struct wz_event e = {.kind = WZ_EV_TASK_STARTED};
	if (!holds(s, job, (uint32_t)r->task, (uint32_t)r->attempt, &info)) {
		link_stop(s, job, (uint32_t)r->task, (uint32_t)r->attempt, 0, "Unknown", -1);
		return;
	}
	if (info.state == WZ_JOB_ENDING)
		return; /* a stop is under way or follows */
	effect_frozen(s, job, (uint32_t)r->task, r->frozen != 0);
	e.u.task.job = job;
	e.u.task.task = (uint32_t)r->task;
	e.u.task.attempt = (uint32_t)r->attempt;
	if (serve_apply_job(s, job, WZ_END_COMPLETED, &e, &err) < 0) {
		serve_log("running", err.text);
		return;
	}
	WZ_SET(ATTEMPT, &row, job, r->job);
	WZ_SET(ATTEMPT, &row, attempt, r->attempt);
	WZ_SET(ATTEMPT, &row, task, r->task);
	WZ_SET(ATTEMPT, &row, started_us, r->started_us);
	WZ_SET(ATTEMPT, &row, pid, r->pid);
	if (wz_batch_attempt(&s->batch, &row, &err) < 0)
		serve_fail(s, &err);
	struct touched *t = serve_touch(s, job);
	if (t && info.state == WZ_JOB_STARTING) {
		t->started = true;
		t->started_us = r->started_us;
		t->what = "started";
	}
}

/* A launch that failed for want of something that may be there later is tried again, after a pause that the core makes. */
static bool may_pass(struct wz_str reason)
{
	return wz_str_eq(reason, WZ_STR("ForkFailed")) || wz_str_eq(reason, WZ_STR("OutOfMemory")) ||
	       wz_str_eq(reason, WZ_STR("CgroupFailed")) || wz_str_eq(reason, WZ_STR("LogFailed"));
}

/* How it ended, by what the shim saw. */
static uint32_t end_of(const struct wz_wire_ended *e, bool *requeue)
{
	*requeue = false;
	if (wz_str_eq(e->why, WZ_STR("stopped")) && wz_str_eq(e->reason, wz_str(end_word(WZ_END_DEVICE_LOST)))) {
		*requeue = true;
		return WZ_END_DEVICE_LOST;
	}
	if (wz_str_eq(e->why, WZ_STR("node_lost"))) {
		*requeue = true;
		return WZ_END_NODE_LOST;
	}
	if (wz_str_eq(e->why, WZ_STR("launch_failed"))) {
		*requeue = may_pass(e->reason);
		return WZ_END_LAUNCH_FAILED;
	}
	if (wz_str_eq(e->why, WZ_STR("stopped")) && wz_str_eq(e->reason, wz_str(end_word(WZ_END_PREEMPTED)))) {
		*requeue = true;
		return WZ_END_PREEMPTED;
	}
	if (wz_str_eq(e->why, WZ_STR("timeout")))
		return WZ_END_TIMEOUT;
	if (wz_str_eq(e->why, WZ_STR("stopped")))
		return WZ_END_CANCELLED;
	if (e->oom_kills > 0 && e->exit_code != 0)
		return WZ_END_OOM;
	return wz_str_eq(e->why, WZ_STR("exited")) && e->exit_code == 0 ? WZ_END_COMPLETED : WZ_END_FAILED;
}

static void write_end(struct serve *s, const struct wz_wire_ended *e, uint32_t end)
{
	struct wz_attempt_row r = {0};
	struct wz_err err;
	char usage[320];
	struct wz_buf u;
	WZ_SET(ATTEMPT, &r, job, e->job);
	WZ_SET(ATTEMPT, &r, attempt, e->attempt);
	WZ_SET(ATTEMPT, &r, task, e->task);
	if (e->started_us > 0)
		WZ_SET(ATTEMPT, &r, started_us, e->started_us);
	WZ_SET(ATTEMPT, &r, ended_us, e->ended_us);
	WZ_SET(ATTEMPT, &r, end, end);
	WZ_SET(ATTEMPT, &r, exit_code, e->exit_code);
	WZ_SET(ATTEMPT, &r, signal, e->exit_signal > 0 ? e->exit_signal : 0);
	wz_buf_init_fixed(&u, usage, sizeof usage);
	usage_write(e, &u);
	WZ_SET(ATTEMPT, &r, usage, wz_buf_str(&u));
	if (wz_batch_attempt(&s->batch, &r, &err) < 0)
		serve_fail(s, &err);
}

/* One task is over: the core is told, and what people will ask for is noted. */
static void task_ended(struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, uint32_t end, bool requeue,
        int64_t code, int64_t signo, struct wz_str reason, struct wz_str text)
{
	struct wz_job_info info;
	struct wz_err err;
	struct wz_event e = {.kind = WZ_EV_TASK_ENDED};
	if (!holds(s, job, task, attempt, &info))
		return; /* heard before */
	e.u.task.job = job;
	e.u.task.task = task;
	e.u.task.attempt = attempt;
	e.u.task.end = end;
	/* Only how the attempt itself ended counts, and not what we stopped for another reason. */
	if (requeue)
		requeue = book_may_requeue(s, job);
	else if (info.state != WZ_JOB_ENDING)
		requeue = book_retry(s, job, end, code, signo);
	e.u.task.requeue = requeue;
	if (serve_apply_job(s, job, end, &e, &err) < 0) {
		serve_log("ended", err.text);
		return;
	}
	struct touched *t = serve_touch(s, job);
	if (!t)
		return;
	/* What we stopped because another task failed does not hide how that one ended. */
	bool ours = info.state == WZ_JOB_ENDING && info.end != WZ_END_CANCELLED && info.end != WZ_END_TIMEOUT;
	if (ours)
		return;
	t->exited = true;
	t->exit_code = code;
	t->exit_signal = signo > 0 ? signo : 0;
	if (reason.len || text.len)
		serve_words(t, reason, text);
}

static void on_ended(struct serve *s, int64_t id, const struct wz_wire_ended *e)
{
	bool requeue;
	uint32_t end = end_of(e, &requeue);
	bool lost = wz_str_eq(e->why, WZ_STR("shim_lost"));
	write_end(s, e, end);
	task_ended(s, (uint64_t)e->job, (uint32_t)e->task, (uint32_t)e->attempt, end, requeue, e->exit_code,
	        e->exit_signal,
	        lost                          ? WZ_STR("ShimLost")
	        : end == WZ_END_LAUNCH_FAILED ? e->reason
	                                      : WZ_STR(""),
	        lost ? WZ_STR("the process that watches over it was killed; its exit code is not known")
	        : end == WZ_END_LAUNCH_FAILED ? e->text
	                                      : WZ_STR(""));
	serve_ack(s, id);
}

/* ---- adopting ---- */

static void adopt_task(struct serve *s, const struct wz_job_info *j, uint32_t task, const struct wz_flight_info *f)
{
	struct wz_wire_msg m;
	uint32_t attempt = wz_core_task_attempt(s->core, j->job, task);
	struct asked what = {.job = j->job, .task = task, .attempt = attempt};
	struct wz_effect e = {.job = j->job, .task = task, .attempt = attempt};
	if (wz_core_task(s->core, j->job, task, &e.place) < 0)
		return;
	if (f) {
		e.kind = f->kind;
		e.id = f->effect;
		e.deadline_us = f->deadline_us;
		e.reason = j->end;
		enact(s, &e);
		return;
	}
	if (j->state == WZ_JOB_ENDING)
		return; /* the next decision stops it */
	wz_wire_init(&m, WZ_WIRE_QUERY);
	m.u.stop.job = (int64_t)j->job;
	m.u.stop.task = task;
	m.u.stop.attempt = attempt;
	link_ask(s, &m, &what);
}

/* A task on a device that failed has nothing to run on. That is a fact and no decision: it is ended as DEVICE_LOST, and the
 * core lets it wait again, where that device is none. */
static void end_on_failed(struct serve *s, uint32_t node)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	struct wz_job_info j;
	struct wz_place p;
	uint64_t failed = 0;
	int rc;
	for (uint32_t i = 0; node < m->n_nodes && i < m->node[node].n_dev; i++)
		if (m->dev[m->node[node].first_dev + i].health == WZ_HEALTH_FAILED)
			failed |= 1ULL << i;
	for (uint32_t i = 0; failed && (rc = wz_core_job_at(s->core, i, &j)) != -ENOENT; i++)
		for (uint32_t t = 0; rc == 0 && j.tasks_placed && j.state != WZ_JOB_ENDING && t < j.task_numbers;
		        t++)
			if (wz_core_task(s->core, j.job, t, &p) == 0 && p.node.v == node && p.devices & failed)
				link_stop(s, j.job, t, wz_core_task_attempt(s->core, j.job, t), 0,
				        end_word(WZ_END_DEVICE_LOST), LOST_GRACE_MS);
}

/* All that is alive was told. What was decided and not answered is enacted again (each is idempotent); what should run is
 * asked after. */
static void adopt(struct serve *s)
{
	struct wz_err err;
	struct wz_job_info j;
	int rc;
	if (wz_store_flush(s->store, &err) < 0) { /* effects that are not durable yet must not be enacted */
		serve_log("the store does not write", err.text);
		wz_timer_set(&s->agent_timer, 1000000);
		return;
	}
	uint32_t n = wz_core_flights(s->core, NULL, 0);
	struct wz_flight_info *f = wz_arena_alloc(&s->arena, (n + 1) * sizeof *f);
	if (!f) {
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		serve_fail(s, &err);
		return;
	}
	(void)wz_core_flights(s->core, f, n);
	s->adopted = true;
	for (uint32_t i = 0; (rc = wz_core_job_at(s->core, i, &j)) != -ENOENT; i++) {
		if (rc == 1 || j.state == WZ_JOB_WAITING || j.state == WZ_JOB_HELD)
			continue;
		for (uint32_t t = 0; t < j.task_numbers; t++) {
			const struct wz_flight_info *flight = NULL;
			for (uint32_t k = 0; k < n && !flight; k++)
				if (f[k].job == j.job && f[k].task == t)
					flight = &f[k];
			adopt_task(s, &j, t, flight);
		}
	}
	for (uint32_t id = 0; id < wz_core_model(s->core)->n_nodes; id++)
		end_on_failed(s, id);
	serve_soon(s);
}

/* ---- hearing ---- */

static bool answered(struct serve *s, int64_t re, struct asked *ret)
{
	for (uint32_t i = 0; i < s->n_asked; i++)
		if (s->asked[i].id == re) {
			*ret = s->asked[i];
			s->asked[i] = s->asked[--s->n_asked];
			return true;
		}
	return false;
}

static void on_error(struct serve *s, const struct wz_wire_msg *m)
{
	const struct wz_wire_error *w = &m->u.error;
	bool gone = wz_str_eq(w->reason, WZ_STR("NoSuchAttempt"));
	struct asked a;
	if (!answered(s, m->re, &a))
		return;
	if (a.type == WZ_WIRE_START) {
		task_ended(s, a.job, a.task, a.attempt, WZ_END_LAUNCH_FAILED, may_pass(w->reason), -1, 0, w->reason,
		        w->text);
	} else if (a.type == WZ_WIRE_STOP && gone && a.effect) {
		effect_answer(s, a.effect, a.job, true);
	} else if (gone && a.type != WZ_WIRE_STOP) { /* asked after, or for something that only what lives can do */
		task_ended(s, a.job, a.task, a.attempt, WZ_END_NODE_LOST, true, -1, 0, WZ_STR("NodeLost"),
		        WZ_STR("nothing of it was found alive"));
	}
}

static void on_message(struct serve *s, struct wz_str line)
{
	struct wz_wire_msg m;
	struct wz_err err;
	struct asked a;
	int64_t id;
	if (wz_wire_parse(line, &s->arena, &m, &id, &err) < 0) {
		serve_log("the agent said what we do not understand", err.text);
		return;
	}
	switch (m.type) {
	case WZ_WIRE_HELLO:
		on_hello(s, &m.u.hello);
		break;
	case WZ_WIRE_RUNNING:
		on_running(s, &m.u.running);
		break;
	case WZ_WIRE_ENDED:
		on_ended(s, m.id, &m.u.ended);
		break;
	case WZ_WIRE_TELEMETRY:
		telemetry(s, &m.u.telemetry);
		break;
	case WZ_WIRE_NODE:
		if (join(s, &m.u.node, &err) < 0)
			serve_log("node refused", err.text);
		else if (s->adopted)
			end_on_failed(s, node_find(s, m.u.node.name));
		break;
	case WZ_WIRE_ACK:
		if (answered(s, m.re, &a) && a.type == WZ_WIRE_LIST)
			adopt(s);
		break;
	case WZ_WIRE_ERROR:
		on_error(s, &m);
		break;
	case WZ_WIRE_REPORT:
		effect_report(s, &m.u.report);
		break;
	default:
		break; /* cleaning, notice: the agent logs them */
	}
}

/* ---- the link ---- */

static void drop(struct serve *s)
{
	if (s->link < 0)
		return;
	wz_watch_release(&s->link_watch);
	close(s->link);
	s->link = -1;
	s->adopted = false;
	s->n_asked = 0;
	wz_buf_clear(&s->in);
	wz_buf_clear(&s->out);
	s->out_done = 0;
	if (!s->stopping)
		wz_timer_set(&s->agent_timer, RETRY_US);
}

static void lines(struct serve *s)
{
	size_t done = 0;
	const char *nl;
	while (s->link >= 0 && done < s->in.len && (nl = memchr(s->in.data + done, '\n', s->in.len - done))) {
		struct wz_str line = {s->in.data + done, (size_t)(nl - (s->in.data + done))};
		done += line.len + 1;
		if (line.len)
			on_message(s, line);
		wz_arena_clear(&s->arena);
	}
	if (s->link < 0 || !done)
		return;
	memmove(s->in.data, s->in.data + done, s->in.len - done);
	s->in.len -= done;
}

static void on_link(void *ctx, unsigned what)
{
	struct serve *s = ctx;
	char block[65536];
	if (what & WZ_WATCH_WRITE)
		flush_out(s);
	for (unsigned i = 0; i < 16 && s->link >= 0; i++) {
		ssize_t n = recv(s->link, block, sizeof block, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n > 0)
			wz_buf_add(&s->in, (struct wz_str){block, (size_t)n});
		if (n <= 0 || s->in.status < 0) {
			if (!s->stopping)
				serve_log("the agent is gone", "it is started again");
			drop(s);
			return;
		}
		lines(s);
	}
}

static int spawn(struct serve *s, int fd, struct wz_err *err)
{
	char state[4096];
	const char *argv[16] = {"wz", "agent", "--state", state, "--fd", "3"};
	unsigned n = 6;
	static char path[4096];
	const char *env[] = {path, "LC_ALL=C", NULL};
	const char *have = getenv("PATH");
	(void)snprintf(state, sizeof state, "%s/agent", s->o->state_dir);
	(void)snprintf(path, sizeof path, "PATH=%s",
	        have ? have : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	if (s->o->cluster_file) {
		argv[n++] = "--cluster";
		argv[n++] = s->o->cluster_file;
	}
	if (s->o->provider) {
		argv[n++] = "--provider";
		argv[n++] = s->o->provider;
	}
	if (s->o->no_cgroup)
		argv[n++] = "--no-cgroup";
	struct wz_proc_fd fds[] = {{fd, 3}, {STDERR_FILENO, STDERR_FILENO}};
	struct wz_proc_spec p = {.argv = argv,
	        .envp = env,
	        .path = "/proc/self/exe",
	        .umask = 022,
	        .fds = fds,
	        .n_fds = 2,
	        .new_session = true};
	return wz_proc_spawn(&p, &s->agent, err);
}

int link_begin(struct serve *s, struct wz_err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return wz_err_set(err, -errno, "ServeFailed", WZ_STR("no socket for the agent"));
	int rc = spawn(s, pair[1], err);
	close(pair[1]);
	if (rc == 0) {
		(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
		s->link = pair[0];
		s->link_n++;
		rc = wz_watch_init(&s->link_watch, s->loop, s->link, on_link, s);
		if (rc == 0)
			rc = wz_watch_set(&s->link_watch, WZ_WATCH_READ);
		if (rc < 0)
			(void)wz_err_set(err, rc, "ServeFailed", WZ_STR("the agent's socket cannot be watched"));
	} else {
		close(pair[0]);
	}
	return rc;
}

void link_end(struct serve *s)
{
	drop(s); /* its end ends the agent; jobs live on */
	/* One that a driver holds is not waited for: attempts are in shims, and the next agent finds them. */
	for (unsigned i = 0; s->agent > 0; i++) {
		pid_t got = waitpid(s->agent, NULL, WNOHANG);
		if (got == s->agent || (got < 0 && errno != EINTR))
			break;
		if (i == END_WAITS)
			(void)kill(s->agent, SIGKILL);
		(void)nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	s->agent = 0;
}

void link_child(void *ctx)
{
	struct serve *s = ctx;
	int status;
	if (s->agent <= 0 || waitpid(s->agent, &status, WNOHANG) != s->agent)
		return;
	s->agent = 0;
	drop(s);
	if (!s->stopping)
		wz_timer_set(&s->agent_timer, RETRY_US);
}

void link_retry(void *ctx)
{
	struct serve *s = ctx;
	struct wz_wire_msg m;
	struct asked none = {0};
	struct wz_err err;
	if (s->stopping)
		return;
	if (s->link >= 0) { /* adopting was put off */
		wz_wire_init(&m, WZ_WIRE_LIST);
		link_ask(s, &m, &none);
	} else if (s->agent > 0) { /* the link is gone, the process not yet */
		(void)kill(s->agent, SIGTERM);
		wz_timer_set(&s->agent_timer, RETRY_US);
	} else if (++s->tries > TRIES_MAX) {
		(void)wz_err_set(&err, -ENODEV, "AgentFailed",
		        WZ_STR("the agent ends before it says a word; its reason stands above"));
		serve_fail(s, &err);
	} else if (link_begin(s, &err) < 0) {
		serve_log("the agent does not start", err.text);
		wz_timer_set(&s->agent_timer, 10 * RETRY_US);
	}
}
