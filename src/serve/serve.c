/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the body: open, restore, listen, run, end. Jobs live on in their shims whatever happens here. */
#include "serve/serve_int.h"

#include "api/assets.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/sd.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_US 2000000 /* for answers that are under way at the end */
#define NOTIFY_PATIENCE_US 3000000

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
        .job_edit = op_job_edit,
        .snapshot_put = op_snapshot_put,
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
        .queue_list = op_queue_list,
        .queue_set = op_queue_set,
        .queue_remove = op_queue_remove,
        .reservation_list = op_reservation_list,
        .reservation_set = op_reservation_set,
        .reservation_remove = op_reservation_remove,
        .board = op_board,
        .timeline = op_timeline,
        .job_requeue = op_job_requeue,
        .job_suspend = op_job_suspend,
        .job_resume = op_job_resume,
        .job_report = op_job_report,
        .usage = op_usage,
        .samples = op_samples,
        .whatif = op_whatif,
        .repack_get = op_repack_get,
        .repack_ask = op_repack_ask,
        .info = op_info,
        .audit_list = op_audit_list,
        .doctor = op_doctor,
        .reload = op_reload,
        .job_owner = op_job_owner,
        .ready = ready,
        .collect = serve_collect};

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
	(void)wz_sd_notify("STOPPING=1");
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
		rc = wz_timer_init(&s->book_timer, s->loop, book_timer, s);
	if (rc == 0)
		rc = wz_timer_init(&s->agent_timer, s->loop, link_retry, s);
	if (rc == 0)
		rc = wz_timer_init(&s->patience_timer, s->loop, give_up, s);
	if (rc == 0)
		rc = wz_timer_init(&s->sample_timer, s->loop, serve_sample, s);
	if (rc == 0)
		wz_timer_set(&s->sample_timer, WZ_SAMPLE_FINE_US);
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
	if (rc == 0)
		rc = wz_sigwatch_init(&s->hup, s->loop, SIGHUP, conf_signal, s);
	return rc < 0 ? wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for the event loop")) : 0;
}

/* Everybody may connect; who it is, the kernel says. Without privilege only we ourselves can run work. */
static int listen_unix(struct serve *s, struct wz_err *err)
{
	gid_t gid = (gid_t)-1;
	mode_t mode = geteuid() != 0 ? 0600 : s->conf->socket_group_only ? 0660 : 0666;
	int rc = s->conf->socket_group ? conf_gid(s->conf->socket_group, "socket.group", &gid, err) : 0;
	if (rc == 0)
		rc = wz_unix_listen(s->o->socket, mode, gid, &s->sock, err);
	if (rc < 0)
		return rc;
	rc = wz_http_listen(wz_api_http(s->api), s->sock.fd, NULL);
	if (rc < 0)
		return wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for the socket"));
	s->sock.fd = -1;
	return 0;
}

/* Sockets that the service manager made: unix ones alone, so that nothing is served in clear by accident. */
static int listen_given(struct serve *s, int n, struct wz_err *err)
{
	for (int i = 0; i < n; i++) {
		struct wz_unix_socket sock;
		int rc = wz_unix_adopt(WZ_SD_FIRST_FD + i, &sock, err);
		if (rc < 0)
			return rc;
		rc = wz_http_listen(wz_api_http(s->api), sock.fd, NULL);
		if (rc < 0)
			return wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for the socket"));
	}
	return 0;
}

static int listen_api(struct serve *s, struct wz_api_config *cfg, struct wz_err *err)
{
	*cfg = wz_api_config_default;
	cfg->backend = &backend;
	cfg->ctx = s;
	cfg->version = s->o->version;
	cfg->audit = conf_audit;
	cfg->auth.token_file = s->conf->tokens;
	cfg->auth.plain_tokens = s->conf->plain_tokens;
	cfg->open_metrics = s->conf->open_metrics;
	int given = wz_sd_listen_fds();
	(void)snprintf(s->session_key, sizeof s->session_key, "%s/session.key", s->o->state_dir);
	cfg->session_key = s->session_key;
	cfg->assets = wz_api_assets;
	cfg->n_assets = wz_api_assets_n;
	int rc = wz_api_new(s->loop, s->mem, cfg, &s->api, err);
	if (rc < 0)
		return rc;
	if (serve_metrics(s) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for metrics"));
	wz_hub_start(wz_api_hub(s->api), s->seq);
	rc = conf_apply(s, s->conf, err);
	if (rc == 0)
		rc = given ? listen_given(s, given, err) : listen_unix(s, err);
	return rc == 0 ? conf_listen(s, err) : rc;
}

static int begin_care(struct serve *s, struct wz_err *err)
{
	int rc = wz_auditlog_open(&s->auditlog, s->o->state_dir, s->conf->audit_bytes, s->conf->audit_files, err);
	if (rc == 0)
		rc = wz_notify_new(s->mem, &s->notify, err);
	if (rc == 0)
		rc = quota_begin(s, err);
	if (rc == 0 && keep_begin(s) < 0)
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a timer"));
	return rc;
}

static void tear_down(struct serve *s)
{
	link_end(s);
	if (s->store && !s->failed && (s->batch.n || s->turn))
		serve_step(s); /* what was applied and not written yet */
	if (s->store_watch.event)
		wz_watch_release(&s->store_watch);
	wz_store_close(s->store); /* its last answers go out before the API does */
	serve_past_end(s);
	serve_samples_end(s);
	wz_api_free(s->api);
	terminal_end_all(s);
	logs_release(s);
	for (uint32_t i = 0; i < WZ_CONFIG_LISTEN_MAX; i++)
		wz_tls_free(s->tls[i]);
	wz_unix_close(&s->sock);
	wz_notify_free(s->notify, NOTIFY_PATIENCE_US);
	wz_auditlog_close(&s->auditlog);
	wz_timer_release(&s->keep.timer);
	wz_sigwatch_release(&s->hup);
	wz_timer_release(&s->step_timer);
	wz_timer_release(&s->deadline_timer);
	wz_timer_release(&s->agent_timer);
	wz_timer_release(&s->book_timer);
	book_release(s);
	wz_map_release(&s->touched_at);
	wz_timer_release(&s->patience_timer);
	wz_timer_release(&s->sample_timer);
	wz_sigwatch_release(&s->term);
	wz_sigwatch_release(&s->intr);
	wz_sigwatch_release(&s->child);
	conf_free(s);
	quota_free(s);
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
	struct serve s = {.o = o, .conf = o->config, .mem = wz_os_mem(), .link = -1, .next_id = 1};
	struct wz_api_config cfg;
	s.sock.fd = s.sock.lock_fd = s.auditlog.fd = -1;
	wz_batch_init(&s.batch, s.mem);
	wz_map_init(&s.touched_at, s.mem);
	book_init(&s);
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
		rc = book_load(&s, err);
	if (rc == 0)
		rc = begin_care(&s, err);
	if (rc == 0)
		rc = listen_api(&s, &cfg, err);
	if (rc == 0)
		rc = link_begin(&s, err);
	if (rc == 0) {
		serve_log("ready", o->socket);
		(void)wz_sd_notify("READY=1");
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
