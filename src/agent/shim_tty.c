/* SPDX-License-Identifier: Apache-2.0 */
/* The job's terminal. We own its master side, so it survives whoever looks at it: viewers connect to DIR/tty and go again
 * (spec/agent.md "The terminal"). What the job prints is in the log's ring; each viewer has a place in it and is sent from
 * there as fast as it reads, so one that does not read loses the oldest bytes and holds nobody. A new viewer begins with
 * the last bytes of the ring, from which its terminal draws the screen again. */
#include "agent/shim_int.h"

#include <fcntl.h>
#include <signal.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define REPLAY 65536u
#define PIECE 32768u

int shim_tty_open(struct shim *s, int *ret_slave, struct wz_err *err)
{
	struct winsize size = {.ws_row = (unsigned short)(s->spec.rows ? s->spec.rows : 24),
	        .ws_col = (unsigned short)(s->spec.cols ? s->spec.cols : 80)};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave = master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0
	                    ? ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)
	                    : -1;
	if (slave < 0 || (s->spec.switch_user && fchown(slave, (uid_t)s->spec.uid, (gid_t)-1) < 0) ||
	        fchmod(slave, 0600) < 0) {
		int rc = -errno;
		if (slave >= 0)
			close(slave);
		if (master >= 0)
			close(master);
		return wz_err_set(
		        err, rc, "NoTerminal", WZ_STR("no terminal can be made: "), wz_str(strerrordesc_np(-rc)));
	}
	(void)ioctl(master, TIOCSWINSZ, &size);
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	s->tty.master = master;
	*ret_slave = slave;
	return 0;
}

void shim_tty_on_connect(struct shim *s)
{
	struct shim_tty *t = &s->tty;
	int fd = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (!shim_may_talk(fd)) {
		close(fd);
		return;
	}
	for (int i = 0; i < VIEWERS_MAX; i++) {
		if (t->viewer[i].fd >= 0)
			continue;
		uint64_t in = s->out[0].log.in;
		t->viewer[i].fd = fd;
		t->viewer[i].at = in > REPLAY ? in - REPLAY : 0;
		return;
	}
	close(fd);
}

static void drop(struct shim *s, int i)
{
	close(s->tty.viewer[i].fd);
	s->tty.viewer[i].fd = -1;
	s->tty.alone_since = shim_now_ms();
}

/* "iBYTES": typed; "wROWS COLS": the viewer's window, which the job's becomes. */
static void said(struct shim *s, const char *text, size_t n)
{
	struct shim_tty *t = &s->tty;
	struct wz_str cols = {text + 1, n - 1}, rows = wz_str_split(&cols, ' ');
	uint64_t r, c;
	if (text[0] == 'i' && t->n_typed + n - 1 <= sizeof t->typed) {
		memcpy(t->typed + t->n_typed, text + 1, n - 1);
		t->n_typed += n - 1;
		shim_tty_type(s);
	} else if (text[0] == 'w' && cols.ptr && wz_str_parse_u64(rows, &r) == 0 &&
	           wz_str_parse_u64(cols, &c) == 0 && r > 0 && r < 10000 && c > 0 && c < 10000) {
		struct winsize size = {.ws_row = (unsigned short)r, .ws_col = (unsigned short)c};
		(void)ioctl(t->master, TIOCSWINSZ, &size); /* the kernel tells the job by SIGWINCH */
	}
}

void shim_tty_on_viewer(struct shim *s, int i)
{
	char text[TYPED_MAX];
	struct shim_tty *t = &s->tty;
	while (t->n_typed < TYPED_MAX) {
		ssize_t n = recv(t->viewer[i].fd, text, sizeof text, MSG_DONTWAIT);
		if (n > 0) {
			said(s, text, (size_t)n);
		} else {
			if (n == 0 || (errno != EAGAIN && errno != EINTR))
				drop(s, i);
			return;
		}
	}
}

void shim_tty_type(struct shim *s)
{
	struct shim_tty *t = &s->tty;
	if (t->master < 0 || !t->n_typed)
		return;
	ssize_t n = write(t->master, t->typed, t->n_typed);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) /* nobody has the other side open any more */
		n = (ssize_t)t->n_typed;
	t->n_typed -= (size_t)n;
	memmove(t->typed, t->typed + n, t->n_typed);
}

bool shim_tty_behind(const struct shim *s, int i)
{
	return s->tty.viewer[i].fd >= 0 && s->tty.viewer[i].at < s->out[0].log.in;
}

void shim_tty_show(struct shim *s, int i)
{
	struct shim_tty *t = &s->tty;
	while (shim_tty_behind(s, i)) {
		uint64_t at;
		struct wz_str piece = wz_shim_log_recent(&s->out[0].log, t->viewer[i].at, &at);
		size_t n = piece.len < PIECE ? piece.len : PIECE;
		if (send(t->viewer[i].fd, piece.ptr, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
				t->viewer[i].at = UINT64_MAX; /* it has gone; what it said before is still read */
			return;
		}
		t->viewer[i].at = at + n;
	}
}

/* The end: what viewers have not seen yet is sent while they read, for a second at the most. */
void shim_tty_close(struct shim *s)
{
	uint64_t until = shim_now_ms() + 1000;
	for (int i = 0; i < VIEWERS_MAX; i++) {
		while (shim_tty_behind(s, i) && shim_now_ms() < until) {
			struct pollfd p = {s->tty.viewer[i].fd, POLLOUT, 0};
			(void)poll(&p, 1, 50);
			shim_tty_show(s, i);
		}
		if (s->tty.viewer[i].fd >= 0)
			drop(s, i);
	}
	if (s->tty.listener >= 0)
		close(s->tty.listener);
	s->tty.listener = -1;
}

uint64_t shim_tty_alone_until(const struct shim *s)
{
	if (s->spec.pty_alone_ms <= 0 || s->step != RUN || s->tty.master < 0)
		return NEVER;
	for (int i = 0; i < VIEWERS_MAX; i++) {
		if (s->tty.viewer[i].fd >= 0)
			return NEVER;
	}
	return s->tty.alone_since + (uint64_t)s->spec.pty_alone_ms;
}
