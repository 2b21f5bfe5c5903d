/* SPDX-License-Identifier: Apache-2.0 */
/* `wz attach` and `wz shell`: the terminal of a job on ours. What it shows comes by a stream that a thread reads; what is
 * typed goes by one small request after the other from the main thread, which also tells the size of the window. The
 * terminal is the shim's: when the connection or the daemon goes, the thread connects again until the job has ended. */
#include "cli/submit.h"

#include "os/file.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define KEYS_MAX (WZ_API_KEYS_MAX / 2)
#define DETACH 0x1d /* ^] */
#define KEEP_US (30ull * 60 * 1000000)

struct session {
	struct wz_cli *cli;
	struct wz_daemon keys, screen; /* one client a thread */
	uint64_t job, task;
	bool read_only, on_terminal;
	int wake[2]; /* the thread tells the main one: 'e' the job has ended, 'f' it failed */
	atomic_bool leave;
	struct wz_err why;
};

static int window_pipe[2] = {-1, -1};

static void on_window(int sig)
{
	(void)sig;
	(void)!write(window_pipe[1], "w", 1);
}

/* ---- the screen ---- */

static int show(void *ctx, struct wz_str bytes)
{
	struct session *x = ctx;
	if (atomic_load(&x->leave))
		return -1;
	return bytes.len ? wz_fd_write_all(STDOUT_FILENO, bytes) : 0;
}

/* 1: the job has ended or left its terminal; 0: connect again; below 0: no use, x->why. */
static int look(struct session *x, const char *body)
{
	json_t *root = json_loads(body, 0, NULL), *e = json_object_get(root, "error");
	struct wz_str reason = wz_daemon_text(e, "reason");
	int rc = -1;
	if (wz_str_eq(reason, WZ_STR("NotRunning")))
		rc = 1;
	else if (!reason.len || wz_str_eq(reason, WZ_STR("RateLimited")) ||
	         wz_str_eq(reason, WZ_STR("TerminalClosed")))
		rc = 0;
	else
		(void)wz_err_set(&x->why, -EIO, "Refused", wz_daemon_text(e, "text"));
	json_decref(root);
	return rc;
}

static void *watch_screen(void *ctx)
{
	struct session *x = ctx;
	char path[96];
	int rc = 0;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu/terminal?task=%llu", (unsigned long long)x->job,
	        (unsigned long long)x->task);
	for (bool first = true; rc == 0 && !atomic_load(&x->leave); first = false) {
		struct wz_httpc_call call = {.method = "GET", .path = path, .data = show, .ctx = x};
		struct wz_httpc_reply r;
		struct wz_err err;
		int got = wz_httpc_do(x->screen.http, &call, &r, &err);
		if (got < 0 && first && got == -ECONNREFUSED) {
			x->why = err;
			rc = -1;
		} else if (got == 0 && r.status / 100 != 2) {
			rc = look(x, wz_buf_z(&r.body));
		}
		if (got == 0)
			wz_buf_release(&r.body);
		/* An end of the stream may be that of the job, of the daemon, or of the connection: asking again tells. */
		if (rc == 0)
			(void)nanosleep(&(struct timespec){0, 200000000}, NULL);
	}
	(void)!write(x->wake[1], rc < 0 ? "f" : "e", 1);
	return NULL;
}

/* ---- the keys ---- */

static void send_keys(struct session *x, const char *keys, size_t n, bool size)
{
	static const char hex[] = "0123456789abcdef";
	char path[64];
	struct wz_buf body;
	struct winsize w;
	wz_buf_init(&body, x->cli->mem, WZ_API_KEYS_MAX + 256);
	wz_buf_addz(&body, "{\"task\":");
	wz_buf_add_u64(&body, x->task);
	if (size && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row && w.ws_col) {
		wz_buf_addz(&body, ",\"rows\":");
		wz_buf_add_u64(&body, w.ws_row);
		wz_buf_addz(&body, ",\"cols\":");
		wz_buf_add_u64(&body, w.ws_col);
	}
	wz_buf_addz(&body, ",\"keys\":\"");
	for (size_t i = 0; i < n; i++) {
		wz_buf_addc(&body, hex[(unsigned char)keys[i] >> 4]);
		wz_buf_addc(&body, hex[keys[i] & 15]);
	}
	wz_buf_addz(&body, "\"}");
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu/terminal", (unsigned long long)x->job);
	/* Nothing typed is lost while the daemon is away or the job takes none: it waits here. */
	for (unsigned tries = 0; tries < 50 && !atomic_load(&x->leave); tries++) {
		struct wz_httpc_call call = {
		        .method = "POST", .path = path, .body = wz_buf_str(&body), .total_ms = 10000};
		struct wz_httpc_reply r;
		struct wz_err err;
		if (wz_httpc_do(x->keys.http, &call, &r, &err) == 0) {
			wz_buf_release(&r.body);
			if (r.status != 429 && r.status != 503)
				break;
		}
		(void)nanosleep(&(struct timespec){0, 100000000}, NULL);
	}
	wz_buf_release(&body);
}

/* Until the job ends (0), or the user leaves (1), or it fails (-1). */
static int type_keys(struct session *x)
{
	struct pollfd p[] = {{STDIN_FILENO, POLLIN, 0}, {x->wake[0], POLLIN, 0}, {window_pipe[0], POLLIN, 0}};
	char keys[KEYS_MAX];
	send_keys(x, NULL, 0, true);
	for (;;) {
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[1].revents) {
			char c = 0;
			(void)!read(x->wake[0], &c, 1);
			return c == 'f' ? -1 : 0;
		}
		if (p[2].revents) {
			(void)!read(window_pipe[0], keys, sizeof keys);
			send_keys(x, NULL, 0, true);
		}
		if (!p[0].revents)
			continue;
		ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
		if (n <= 0) { /* no more is typed; what it shows is still wanted */
			p[0].fd = -1;
			if (!x->on_terminal)
				send_keys(x, "\4", 1, false);
			continue;
		}
		const char *leave = x->on_terminal ? memchr(keys, DETACH, (size_t)n) : NULL;
		size_t typed = leave ? (size_t)(leave - keys) : (size_t)n;
		if (typed && !x->read_only)
			send_keys(x, keys, typed, false);
		if (leave)
			return 1;
	}
}

/* ---- both ---- */

static int begin_raw(struct termios *was)
{
	struct termios raw;
	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, was) < 0)
		return -1;
	raw = *was;
	cfmakeraw(&raw);
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

static int attach(struct session *x)
{
	struct termios was;
	struct sigaction window = {.sa_handler = on_window, .sa_flags = SA_RESTART};
	pthread_t thread;
	if (pipe2(x->wake, O_CLOEXEC) < 0 || pipe2(window_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return WZ_EXIT_INTERNAL;
	(void)sigaction(SIGWINCH, &window, NULL);
	bool raw = begin_raw(&was) == 0;
	x->on_terminal = raw;
	if (pthread_create(&thread, NULL, watch_screen, x) != 0) {
		if (raw)
			(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
		return WZ_EXIT_INTERNAL;
	}
	int how = type_keys(x);
	atomic_store(&x->leave, true);
	(void)pthread_join(thread, NULL);
	if (raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
	close(x->wake[0]);
	close(x->wake[1]);
	if (how < 0)
		return wz_cli_fail(&x->why);
	if (how == 1) {
		(void)fprintf(stderr, "wz: left the terminal; the job goes on: wz attach %llu\n",
		        (unsigned long long)x->job);
		return WZ_EXIT_OK;
	}
	return -1; /* the job has ended */
}

/* The exit code of the job, once it has ended; it may have been requeued. */
static int ended(struct session *x)
{
	json_t *j = NULL;
	int code = wz_daemon_wait(&x->keys, x->job, &j);
	if (code == 0)
		code = wz_daemon_code(j);
	json_decref(j);
	return code;
}

static int open_both(struct session *x, struct wz_str socket)
{
	int code = wz_daemon_open(&x->keys, x->cli, socket);
	return code ? code : wz_daemon_open(&x->screen, x->cli, socket);
}

struct args {
	struct wz_str socket;
	uint64_t task;
	bool read_only;
};
static const struct wz_opt opts[] = {
        {"task", 't', WZ_OPT_U64, "N", "of this task (0)", offsetof(struct args, task), 65535},
        {"read-only", 0, WZ_OPT_FLAG, NULL, "look, and type nothing", offsetof(struct args, read_only), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static int attach_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.read_only = false};
	struct session x = {.cli = cli};
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one job number is expected");
	if (wz_daemon_number(v, argv[0], &x.job))
		return WZ_EXIT_USAGE;
	x.task = a.task;
	x.read_only = a.read_only;
	char path[64];
	json_t *j = NULL;
	int code = open_both(&x, a.socket);
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)x.job);
	if (code == 0)
		code = wz_daemon_get(&x.keys, path, false, &j);
	if (code == 0 && !wz_str_eq(wz_daemon_text(j, "state"), WZ_STR("RUNNING")) &&
	        !wz_str_eq(wz_daemon_text(j, "state"), WZ_STR("SUSPENDED"))) {
		struct wz_err err;
		(void)wz_err_set(&err, -EBUSY, "NotRunning", WZ_STR("the job does not run; it is "),
		        wz_daemon_text(j, "state"));
		code = wz_cli_fail(&err);
	}
	json_decref(j);
	if (code == 0) {
		code = attach(&x);
		code = code < 0 ? ended(&x) : code;
	}
	wz_daemon_close(&x.keys);
	wz_daemon_close(&x.screen);
	return code;
}

const struct wz_verb wz_verb_attach = {
        .name = "attach",
        .summary = "the terminal of a running job, on yours",
        .usage = "wz attach [--task N] [--read-only] JOB",
        .examples = "wz attach 17\n",
        .opts = opts,
        .fn = attach_fn,
        .more = "Ctrl-] leaves the terminal and the job running. Any number may look at one terminal; the size is "
                "that "
                "of the\n"
                "window that changed last. When the connection or the daemon goes, it is taken up again.\n"
                "Exit code: 0 after leaving; else as wz run.\n",
};

/* ---- wz shell ---- */

/* Until it runs. 0; -1: it has ended before; else the exit code, reported. */
static int wait_running(struct session *x)
{
	char path[64];
	bool told = false;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)x->job);
	for (unsigned i = 0;; i++) {
		json_t *j;
		int code = wz_daemon_get(&x->keys, path, false, &j);
		if (code)
			return code;
		struct wz_str state = wz_daemon_text(j, "state");
		bool runs = wz_str_eq(state, WZ_STR("RUNNING")), over = wz_daemon_int(j, "end_us") != 0;
		if (!runs && !over && i == 20) {
			struct wz_str why = wz_daemon_text(j, "reason_text");
			(void)fprintf(stderr, "wz: job %llu waits%s%.*s (Ctrl-C leaves it in the queue)\n",
			        (unsigned long long)x->job, why.len ? ": " : "", (int)why.len,
			        why.len ? why.ptr : "");
			told = true;
		}
		json_decref(j);
		if (runs || over) {
			if (told && runs)
				(void)fprintf(stderr, "wz: it runs\n");
			return over ? -1 : 0;
		}
		(void)nanosleep(&(struct timespec){0, i < 20 ? 50000000 : 500000000}, NULL);
	}
}

static int shell_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wz_submit_args a = {.pty = true, .keep_us = KEEP_US};
	struct session x = {.cli = cli};
	struct wz_submitted s;
	struct winsize w;
	char *own[] = {getenv("SHELL"), NULL};
	int n = wz_submit_parse(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (!own[0] || !*own[0])
		own[0] = (char[]){"/bin/sh"};
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0) {
		a.rows = w.ws_row;
		a.cols = w.ws_col;
	}
	int code = open_both(&x, a.socket);
	if (code == 0)
		code = wz_submit(&x.keys, v, &a, n ? n : 1, n ? argv : own, &s);
	if (code == 0) {
		x.job = s.job;
		json_decref(s.answers);
		(void)fprintf(stderr, "wz: job %llu; Ctrl-] leaves it, wz attach %llu comes back\n",
		        (unsigned long long)x.job, (unsigned long long)x.job);
		code = wait_running(&x);
		if (code == 0)
			code = attach(&x);
		if (code < 0)
			code = ended(&x);
	}
	wz_daemon_close(&x.keys);
	wz_daemon_close(&x.screen);
	return code;
}

const struct wz_verb wz_verb_shell = {
        .name = "shell",
        .summary = "an interactive shell on the devices asked for",
        .usage = "wz shell [options of wz submit] [-- COMMAND [ARGUMENT...]]",
        .examples = "wz shell --gpus 1\nwz shell --gpus 1 -- python\n",
        .opts = wz_submit_opts,
        .fn = shell_fn,
        .more = "Waits until it runs, then attaches. The shell survives a dropped connection; when nobody looked "
                "at it for "
                "half an\n"
                "hour it is ended, so that no device is held by a terminal that was forgotten.\n",
};
