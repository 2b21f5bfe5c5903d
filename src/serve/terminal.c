/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals of jobs, as a pair of requests: GET .../terminal streams what it shows, POST .../terminal brings what was
 * typed. The terminal itself is its shim's (agent/shim_tty.c), so it survives us, the agent and the connection; each
 * stream is one connection to the shim's socket. What is typed goes by a connection of its own, for as long as it takes to
 * hand it over: the shim takes whole messages in order, and has no need to know whose they are. */
#include "serve/serve_int.h"

#include "base/check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECE_MAX 65536u
#define PIECES_A_TURN 16u

struct terminal {
	struct serve *s;
	struct wz_api_call *c;
	struct terminal *next;
	struct wz_watch watch;
	struct wz_timer again; /* after the client took what was queued; or to end, from a callback that may not */
	int fd;
	bool over, waiting; /* waiting: `piece` was not taken */
	size_t n;
	char piece[PIECE_MAX];
};

/* Connects to the shim of a running task. A descriptor, or -errno with *err. */
static int open_tty(struct serve *s, uint64_t job, uint32_t task, struct wz_err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct wz_job_info info;
	struct wz_place p;
	char path[4096];
	if (wz_core_job(s->core, job, &info) < 0 || wz_core_task(s->core, job, task, &p) < 0 ||
	        info.state == WZ_JOB_STARTING)
		return wz_err_set(err, -EBUSY, "NotRunning", WZ_STR("the job does not run now"));
	(void)snprintf(path, sizeof path, "%s/agent/attempts/%llu.%u.%u", s->o->state_dir, (unsigned long long)job,
	        task, wz_core_task_attempt(s->core, job, task));
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int fd = dir < 0 ? -1 : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The path of a socket may be no longer than 107 bytes; this one always fits. */
	(void)snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/tty", dir);
	int rc = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 ? fd : -errno;
	if (dir >= 0)
		close(dir);
	if (rc < 0 && fd >= 0)
		close(fd);
	if (rc == -ENOENT && dir >= 0)
		return wz_err_set(err, -EOPNOTSUPP, "NoTerminal",
		        WZ_STR("the job has no terminal; wz logs -f shows what it prints"));
	return rc < 0 ? wz_err_set(err, -EAGAIN, "TerminalClosed",
	                        WZ_STR("the terminal is closed; the job is about to end"))
	              : rc;
}

static void finish(struct terminal *t)
{
	struct terminal **at = &t->s->terminals;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	wz_watch_release(&t->watch);
	wz_timer_release(&t->again);
	close(t->fd);
	wz_api_stream_end(t->c);
	wz_mem_free(t->s->mem, t, sizeof *t);
}

/* False when it was ended. */
static bool put(struct terminal *t)
{
	int rc = wz_api_stream_write(t->c, (struct wz_str){t->piece, t->n});
	t->waiting = rc == -EAGAIN;
	if (rc < 0 && rc != -EAGAIN) {
		finish(t);
		return false;
	}
	(void)wz_watch_set(&t->watch, t->waiting ? 0 : WZ_WATCH_READ); /* the shim holds the rest */
	return true;
}

static void on_shim(void *ctx, unsigned what)
{
	struct terminal *t = ctx;
	(void)what;
	for (unsigned i = 0; i < PIECES_A_TURN && !t->waiting; i++) {
		ssize_t n = recv(t->fd, t->piece, sizeof t->piece, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			finish(t);
			return;
		}
		t->n = (size_t)n;
		if (!put(t))
			return;
	}
}

static void on_again(void *ctx)
{
	struct terminal *t = ctx;
	if (t->over)
		finish(t);
	else if (t->waiting)
		(void)put(t);
}

static void on_drain(struct wz_api_call *c)
{
	struct terminal *t = *wz_api_call_data(c);
	wz_timer_set(&t->again, 0);
}

static void on_gone(struct wz_api_call *c)
{
	struct terminal *t = *wz_api_call_data(c);
	t->over = true;
	wz_timer_set(&t->again, 0);
}

void terminal_end_all(struct serve *s)
{
	while (s->terminals)
		finish(s->terminals);
}

void op_job_terminal(void *ctx, struct wz_api_call *c, const struct wz_api_job_terminal *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	int fd = open_tty(s, rq->id, rq->task, &err);
	struct terminal *t = fd < 0 ? NULL : wz_mem_zalloc(s->mem, sizeof *t);
	if (!t) {
		if (fd >= 0) {
			close(fd);
			(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		}
		wz_api_fail(c, &err);
		return;
	}
	t->s = s;
	t->c = c;
	t->fd = fd;
	if (wz_timer_init(&t->again, s->loop, on_again, t) < 0 ||
	        wz_watch_init(&t->watch, s->loop, fd, on_shim, t) < 0) {
		wz_timer_release(&t->again);
		close(fd);
		wz_mem_free(s->mem, t, sizeof *t);
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		wz_api_fail(c, &err);
		return;
	}
	t->next = s->terminals;
	s->terminals = t;
	*wz_api_call_data(c) = t;
	wz_api_stream_begin(c, on_drain, on_gone);
	(void)wz_watch_set(&t->watch, WZ_WATCH_READ);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "iBYTES" for the shim; its length, or -EINVAL. */
static int typed(struct wz_str hex, char ret[WZ_API_KEYS_MAX / 2 + 1])
{
	ret[0] = 'i';
	if (hex.len % 2)
		return -EINVAL;
	for (size_t i = 0; i < hex.len / 2; i++) {
		int a = digit(hex.ptr[2 * i]), b = digit(hex.ptr[2 * i + 1]);
		if (a < 0 || b < 0)
			return -EINVAL;
		ret[i + 1] = (char)(a * 16 + b);
	}
	return (int)(hex.len / 2 + 1);
}

void op_job_type(void *ctx, struct wz_api_call *c, const struct wz_api_job_type *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	char text[WZ_API_KEYS_MAX / 2 + 1], size[48];
	int n = typed(rq->keys, text);
	if (n < 0) {
		(void)wz_err_set(&err, -EINVAL, "BadField", WZ_STR("two hexadecimal digits a byte are expected"));
		wz_api_fail_field(c, &err, "keys");
		return;
	}
	int fd = open_tty(s, rq->id, rq->task, &err);
	if (fd < 0) {
		wz_api_fail(c, &err);
		return;
	}
	int m = rq->rows && rq->cols ? snprintf(size, sizeof size, "w%u %u", rq->rows, rq->cols) : 0;
	bool bad = (m && send(fd, size, (size_t)m, MSG_NOSIGNAL) < 0) ||
	           (n > 1 && send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0);
	close(fd); /* what was sent is read before the end is seen */
	if (bad) {
		(void)wz_err_set(
		        &err, -EAGAIN, "TerminalBusy", WZ_STR("the terminal takes no more now; try again"));
		wz_api_fail(c, &err);
	} else {
		wz_api_done(c);
	}
}
