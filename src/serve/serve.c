/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the body: open, restore, listen, run, end. Jobs live on in their shims whatever happens here. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_US 2000000 /* for answers that are under way at the end */

void serve_log(const char *what, const char *detail)
{
	char line[1024];
	int n = snprintf(line, sizeof line, "wz serve: %s%s%s\n", what, *detail ? ": " : "", detail);
	if (n > 0)
		(void)wz_fd_write_all(STDERR_FILENO,
		        (struct wz_str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1});
}

void serve_fail(struct serve *s, const struct wz_err *err)
{
	if (s->failed)
		return;
	s->failed = true;
	s->err = *err;
	serve_log("ends, to begin again from its journal", err->text);
	wz_loop_stop(s->loop);
}

static void audit(void *ctx, const struct wz_api_audit *a)
{
	struct serve *s = ctx;
	struct wz_audit_row r = {0};
	struct wz_err err;
	char target[64] = "", outcome[64];
	if (s->failed || s->stopping)
		return;
	if (a->job)
		(void)snprintf(target, sizeof target, "job %llu", (unsigned long long)a->job);
	(void)snprintf(outcome, sizeof outcome, "%s", a->status < 300 ? "ok" : a->reason);
	WZ_SET(AUDIT, &r, time_us, serve_now_us(s));
	WZ_SET(AUDIT, &r, uid, a->who->uid);
	WZ_SET(AUDIT, &r, user, wz_str(a->who->name));
	WZ_SET(AUDIT, &r, verb, wz_str(a->operation));
	WZ_SET(AUDIT, &r, target, wz_str(target));
	WZ_SET(AUDIT, &r, outcome, wz_str(outcome));
	if (wz_batch_audit(&s->batch, &r, &err) < 0)
		serve_log("audit", err.text); /* goes with the next step; a lost line is not worth the daemon */
}

static bool ready(void *ctx, struct wz_buf *why)
{
	struct serve *s = ctx;
	struct wz_err err;
	if (wz_store_ready(s->store, &err) < 0) {
		wz_buf_addz(why, err.text);
		return false;
	}
	if (!s->adopted)
		wz_buf_addz(why, "the agent has not said yet what runs");
	return s->adopted;
}

static const struct wz_api_backend backend = {.job_submit = op_job_submit,
        .job_list = op_job_list,
        .job_get = op_job_get,
        .job_cancel = op_job_cancel,
        .job_hold = op_job_hold,
        .job_release = op_job_release,
        .job_why = op_job_why,
        .job_logs = op_job_logs,
        .job_signal = op_job_signal,
        .job_terminal = op_job_terminal,
        .job_type = op_job_type,
        .job_attempts = op_job_attempts,
        .node_drain = op_node_drain,
        .node_undrain = op_node_undrain,
        .node_list = op_node_list,
        .device_list = op_device_list,
        .info = op_info,
        .job_owner = op_job_owner,
        .ready = ready};

static void on_store(void *ctx, unsigned what)
{
	struct serve *s = ctx;
	(void)what;
	wz_store_dispatch(s->store);
}

static void give_up(void *ctx)
{
	struct serve *s = ctx;
	wz_loop_stop(s->loop);
}

static void on_signal(void *ctx)
{
	struct serve *s = ctx;
	if (s->stopping)
		return;
	s->stopping = true;
	wz_api_drain(s->api);
	terminal_end_all(s);
	logs_job_changed(s, 0);
	wz_timer_set(&s->patience_timer, 0);
}

/* Ends when nothing is under way, or patience does. */
static void drain(struct serve *s)
{
	int64_t until = wz_loop_now_us(s->loop) + PATIENCE_US;
	while (!s->failed && wz_http_connections(wz_api_http(s->api)) && wz_loop_now_us(s->loop) < until)
		if (wz_loop_step(s->loop, 20000) < 0)
			break;
}

static int open_store(struct serve *s, struct wz_err *err)
{
	struct wz_store_options o = {.dir = s->o->state_dir, .version = s->o->version};
	struct wz_core_options fresh = {.seed = 1, .policy = s->o->policy};
	struct wz_restored got;
	/* Other users' jobs reach their run directories through ours; what is in the store is nobody's but ours. */
	(void)umask(077);
	int rc = wz_store_open(&o, &s->store, err);
	if (rc == 0 && geteuid() == 0 && chmod(s->o->state_dir, 0711) < 0)
		return wz_file_err(err, -errno, "open to others", s->o->state_dir);
	if (rc == 0)
		rc = wz_store_restore(s->store, s->mem, &fresh, &got, err);
	if (rc < 0)
		return rc;
	s->core = got.core;
	s->last_job = got.last_job;
	s->seq = got.seq;
	/* A clock that went back while nobody ran: time stands still until it has caught up. */
	s->wall_us = wz_clock_wall_us();
	if (got.time_us > (uint64_t)s->wall_us)
		s->wall_us = (int64_t)got.time_us;
	s->mono_us = wz_loop_now_us(s->loop);
	s->started_us = s->wall_us;
	return 0;
}

static int arm(struct serve *s, struct wz_err *err)
{
	int rc = wz_timer_init(&s->step_timer, s->loop, serve_step, s);
	if (rc == 0)
		rc = wz_timer_init(&s->deadline_timer, s->loop, serve_deadline, s);
	if (rc == 0)
		rc = wz_timer_init(&s->agent_timer, s->loop, link_retry, s);
	if (rc == 0)
		rc = wz_timer_init(&s->patience_timer, s->loop, give_up, s);
	if (rc == 0)
		rc = wz_watch_init(&s->store_watch, s->loop, wz_store_fd(s->store), on_store, s);
	if (rc == 0)
		rc = wz_watch_set(&s->store_watch, WZ_WATCH_READ);
	if (rc == 0)
		rc = wz_sigwatch_init(&s->term, s->loop, SIGTERM, on_signal, s);
	if (rc == 0)
		rc = wz_sigwatch_init(&s->intr, s->loop, SIGINT, on_signal, s);
	if (rc == 0)
		rc = wz_sigwatch_init(&s->child, s->loop, SIGCHLD, link_child, s);
	return rc < 0 ? wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for the event loop")) : 0;
}

static int listen_api(struct serve *s, struct wz_api_config *cfg, struct wz_err *err)
{
	*cfg = wz_api_config_default;
	cfg->backend = &backend;
	cfg->ctx = s;
	cfg->version = s->o->version;
	cfg->audit = audit;
	int rc = wz_api_new(s->loop, s->mem, cfg, &s->api, err);
	if (rc < 0)
		return rc;
	wz_hub_start(wz_api_hub(s->api), s->seq);
	/* Everybody may connect; who it is, the kernel says. Without privilege only we ourselves can run work. */
	rc = wz_unix_listen(s->o->socket, geteuid() == 0 ? 0666 : 0600, (gid_t)-1, &s->sock, err);
	if (rc < 0)
		return rc;
	rc = wz_http_listen(wz_api_http(s->api), s->sock.fd, NULL);
	if (rc < 0)
		return wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for the socket"));
	s->sock.fd = -1;
	return 0;
}

static void tear_down(struct serve *s)
{
	link_end(s);
	if (s->store && !s->failed && (s->batch.n || s->turn))
		serve_step(s); /* what was applied and not written yet */
	if (s->store_watch.event)
		wz_watch_release(&s->store_watch);
	wz_store_close(s->store); /* its last answers go out before the API does */
	wz_api_free(s->api);
	terminal_end_all(s);
	logs_release(s);
	wz_unix_close(&s->sock);
	wz_timer_release(&s->step_timer);
	wz_timer_release(&s->deadline_timer);
	wz_timer_release(&s->agent_timer);
	wz_timer_release(&s->patience_timer);
	wz_sigwatch_release(&s->term);
	wz_sigwatch_release(&s->intr);
	wz_sigwatch_release(&s->child);
	wz_core_free(s->core);
	wz_loop_free(s->loop);
	wz_batch_release(&s->batch);
	wz_plan_release(&s->plan);
	wz_buf_release(&s->in);
	wz_buf_release(&s->out);
	wz_arena_release(&s->arena);
	for (uint32_t i = 0; i < s->n_nodes; i++)
		wz_grow_free(s->mem, &s->node[i].device, &s->node[i].device_cap, sizeof *s->node[i].device);
	wz_grow_free(s->mem, &s->node, &s->node_cap, sizeof *s->node);
	wz_grow_free(s->mem, &s->asked, &s->asked_cap, sizeof *s->asked);
	wz_grow_free(s->mem, &s->touched, &s->touched_cap, sizeof *s->touched);
}

int wz_serve_run(const struct wz_serve_options *o, struct wz_err *err)
{
	struct serve s = {.o = o, .mem = wz_os_mem(), .link = -1, .next_id = 1};
	struct wz_api_config cfg;
	s.sock.fd = s.sock.lock_fd = -1;
	wz_batch_init(&s.batch, s.mem);
	wz_plan_init(&s.plan, s.mem);
	wz_buf_init(&s.in, s.mem, WZ_WIRE_LINE_MAX + 65536);
	wz_buf_init(&s.out, s.mem, (size_t)256 << 20);
	wz_arena_init(&s.arena, s.mem, 65536);
	int rc = wz_loop_new(s.mem, &s.loop, err);
	if (rc == 0)
		rc = open_store(&s, err);
	if (rc == 0)
		rc = arm(&s, err);
	if (rc == 0)
		rc = listen_api(&s, &cfg, err);
	if (rc == 0)
		rc = link_begin(&s, err);
	if (rc == 0) {
		serve_log("ready", o->socket);
		rc = wz_loop_run(s.loop);
		if (rc < 0)
			(void)wz_err_set(err, rc, "ServeFailed", WZ_STR("the event loop failed"));
		drain(&s);
		if (s.failed)
			rc = wz_err_set(err, -ENOTRECOVERABLE, "ServeFailed", wz_str(s.err.text));
	}
	tear_down(&s);
	return rc;
}
