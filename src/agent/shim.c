/* SPDX-License-Identifier: Apache-2.0 */
/* wz-shim DIR [FD]: one per attempt. It outlives the agent and the daemon, owns the job's output pipe and its exit
 * status, and does not leave before nothing of the job is alive.
 *
 * It is a subreaper, so whatever the job starts stays below it even when parents die; with a cgroup it kills by that,
 * without one by walking its descendants. "Nothing is alive" is: wait() says that there is no child at all, and the
 * cgroup is empty. Life: RUN -> (WARNED: preemption, the job may save) -> TERMED (signal, grace) -> KILLING -> gone.
 *
 * It is told what to do on DIR/ctl (SOCK_SEQPACKET; see spec/agent.md) and tells all who listen. It itself stays outside
 * of the job's cgroup: no limit, no freezer, no OOM killer of the job reaches it. */
#include "agent/shim_int.h"
#include "base/check.h"
#include "os/mem.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int bind_at(int type, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	wz_check(strlen(path) < sizeof a.sun_path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int enter_cgroup(void *ctx)
{
	struct shim *s = ctx;
	return wz_cgroup_attach(&s->spec.cgroup, 0);
}

/* A pipe that is read by us. Fills the job's end. */
static int make_pipe(struct shim_out *o, int *ret_end, struct wz_err *err)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		return wz_err_set(err, -errno, "ForkFailed", WZ_STR("no descriptors left"));
	(void)fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	o->pipe = out[0];
	*ret_end = out[1];
	return 0;
}

/* The job's descriptors 0, 1, 2: a terminal, or one pipe or two. */
static int make_streams(struct shim *s, int end[2], struct wz_err *err)
{
	int rc = wz_shim_log_open(&s->out[0].log, &s->spec, false, err);
	if (rc < 0)
		return rc;
	if (s->spec.pty) {
		rc = shim_tty_open(s, &end[0], err);
		s->tty.slave = end[0];
		s->out[0].pipe = s->tty.master;
		return rc;
	}
	rc = make_pipe(&s->out[0], &end[0], err);
	if (rc == 0 && s->spec.err_name.len) {
		rc = wz_shim_log_open(&s->out[1].log, &s->spec, true, err);
		if (rc == 0)
			rc = make_pipe(&s->out[1], &end[1], err);
	}
	return rc;
}

static int launch(struct shim *s, struct wz_err *err)
{
	int end[2] = {-1, -1};
	int rc = make_streams(s, end, err);
	struct wz_proc_fd fds[] = {{end[0], 1}, {end[1] >= 0 ? end[1] : end[0], 2}, {end[0], 0}};
	struct wz_proc_spec p = {.argv = (const char *const *)s->spec.argv,
	        .envp = (const char *const *)s->spec.env,
	        .cwd = s->spec.cwd.len ? s->spec.cwd.ptr : NULL,
	        .switch_user = s->spec.switch_user != 0,
	        .uid = (uid_t)s->spec.uid,
	        .gid = (gid_t)s->spec.gid,
	        .groups = s->spec.groups,
	        .n_groups = s->spec.n_groups,
	        .umask = (int)s->spec.umask,
	        .limits = s->spec.limits,
	        .n_limits = s->spec.n_limits,
	        .fds = fds,
	        .n_fds = s->spec.pty ? 3 : 2,
	        .new_session = true,
	        .controlling_tty = s->spec.pty != 0,
	        .tty = end[0],
	        .no_new_privs = s->spec.no_new_privs != 0,
	        .oom_score_adj = (int)s->spec.oom_score_adj,
	        .nice = (int)s->spec.nice,
	        .in_child = enter_cgroup,
	        .ctx = s};
	pid_t pid;
	if (rc == 0)
		rc = wz_proc_spawn(&p, &pid, err);
	for (unsigned i = 0; i < 2; i++) {
		if (end[i] >= 0 && end[i] != s->tty.slave)
			close(end[i]);
	}
	if (rc < 0)
		return rc;
	struct wz_proc_stat st;
	s->st.pid = pid;
	s->st.pid_ticks = wz_proc_stat(pid, &st) == 0 ? (int64_t)st.start_ticks : 0;
	return 0;
}

static int prepare(struct shim *s, const char *dir)
{
	sigset_t mask;
	s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0 || fchdir(s->dir) < 0)
		return 74;
	if (wz_attempt_lock(s->dir) < 0) /* kept open until we end */
		return 75;
	if (faccessat(s->dir, "status", F_OK, 0) == 0) /* it ran, or was given up: one start is one start */
		return 76;
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	s->sig = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	if (s->sig < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 71;
	umask(0077);
	unlink("ctl");
	s->ctl = bind_at(SOCK_SEQPACKET, "ctl");
	if (s->ctl < 0 || listen(s->ctl, 16) < 0)
		return 71;
	return 0;
}

static void begin(struct shim *s)
{
	struct wz_err err;
	wz_attempt_status_init(&s->st);
	(void)snprintf(s->st.boot, sizeof s->st.boot, "%s", s->spec.boot.ptr ? s->spec.boot.ptr : "");
	(void)snprintf(s->st.tracked, sizeof s->st.tracked, "%s",
	        !shim_tracked(s)                                 ? "descendants"
	        : s->spec.cgroup.facet[WZ_CG_TRACK].version == 1 ? "cgroup1"
	                                                         : "cgroup2");
	s->st.started_us = wz_clock_wall_us();
	if (s->spec.switch_user && geteuid() == 0)
		(void)!setgroups(
		        s->spec.n_groups, s->spec.groups); /* what we open as the user, we open with their groups */
	s->sock = bind_at(SOCK_DGRAM, "run/sock");
	if (s->sock >= 0 && s->spec.switch_user)
		(void)!fchownat(AT_FDCWD, "run/sock", (uid_t)s->spec.uid, (gid_t)s->spec.gid, AT_SYMLINK_NOFOLLOW);
	s->step_until = s->time_until = NEVER;
	s->tty.alone_since = shim_now_ms();
	if (s->spec.pty) {
		unlink("tty");
		s->tty.listener = bind_at(SOCK_SEQPACKET, "tty");
		(void)!listen(s->tty.listener, 16);
	}
	s->st.phase = WZ_ATTEMPT_STARTING; /* before anything can live: then nobody begins it again */
	shim_save(s, false);
	if (launch(s, &err) < 0) {
		if (s->tty.slave >= 0)
			close(s->tty.slave);
		s->tty.slave = -1;
		s->st.why = WZ_WHY_LAUNCH_FAILED;
		(void)snprintf(s->st.launch_reason, sizeof s->st.launch_reason, "%s", err.reason);
		(void)snprintf(s->st.launch_text, sizeof s->st.launch_text, "%.190s", err.text);
		s->main_gone = true;
	} else {
		char text[48];
		if (s->spec.time_ms > 0)
			s->time_until = shim_after((uint64_t)s->spec.time_ms);
		s->st.phase = WZ_ATTEMPT_RUNNING;
		shim_save(s, false);
		(void)snprintf(text, sizeof text, "- started %lld", (long long)s->st.pid);
		shim_say_all(s, text);
	}
	shim_reap(s);
}

static int wait_ms(const struct shim *s)
{
	uint64_t now = shim_now_ms(), until = s->step_until < s->time_until ? s->step_until : s->time_until;
	uint64_t alone = shim_tty_alone_until(s);
	if (alone < until)
		until = alone;
	if (s->step == KILLING && s->kill_at < until)
		until = s->kill_at;
	if (s->main_gone && until > now + 100)
		until = now + 100; /* a process that was moved into the cgroup from elsewhere sends us no SIGCHLD */
	return until == NEVER ? -1 : until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

/* Which outputs may be read now; how long to wait at most. */
static int watch_outputs(struct shim *s, struct pollfd *p, int wait)
{
	for (unsigned k = 0; k < 2; k++) {
		struct shim_out *o = &s->out[k];
		int stall = 0;
		bool ready = o->pipe >= 0 && wz_shim_log_ready(&o->log, shim_now_ms(), &stall);
		if (o->pipe >= 0 && !ready && (wait < 0 || stall < wait))
			wait = stall;
		p[P_LOG + k] = (struct pollfd){ready ? o->pipe : -1, POLLIN, 0};
		p[P_ROOM + k] = (struct pollfd){o->pipe >= 0 && !ready ? o->log.room_fd : -1, POLLIN, 0};
	}
	return wait;
}

static void take_output(struct shim_out *o)
{
	ssize_t n = wz_shim_log_take(&o->log, o->pipe, shim_now_ms());
	if (n > 0 || n == -EAGAIN)
		return;
	close(o->pipe); /* its end; of a terminal that nobody has open: EIO */
	o->pipe = -1;
}

static void on_viewers(struct shim *s, const struct pollfd *p)
{
	if (p[P_TTY].revents)
		shim_tty_on_connect(s);
	if (p[P_TYPE].revents)
		shim_tty_type(s);
	for (int i = 0; i < VIEWERS_MAX; i++) {
		if (p[P_VIEWER + i].revents & (POLLIN | POLLHUP | POLLERR) &&
		        s->tty.viewer[i].fd == p[P_VIEWER + i].fd)
			shim_tty_on_viewer(s, i);
		if (s->tty.viewer[i].fd >= 0)
			shim_tty_show(s, i);
	}
}

static void turn(struct shim *s)
{
	struct pollfd p[P_N];
	int wait = watch_outputs(s, p, wait_ms(s));
	p[P_SIG] = (struct pollfd){s->sig, POLLIN, 0};
	p[P_CTL] = (struct pollfd){s->ctl, POLLIN, 0};
	p[P_SOCK] = (struct pollfd){s->sock, POLLIN, 0};
	p[P_INOTIFY] = (struct pollfd){s->inotify, POLLIN, 0};
	p[P_TTY] = (struct pollfd){s->tty.listener, POLLIN, 0};
	p[P_TYPE] = (struct pollfd){s->tty.n_typed ? s->out[0].pipe : -1, POLLOUT, 0};
	for (int i = 0; i < CLIENTS_MAX; i++)
		p[P_CLIENT + i] = (struct pollfd){s->client[i], POLLIN, 0};
	for (int i = 0; i < VIEWERS_MAX; i++) /* what is typed waits until the job took what was typed before */
		p[P_VIEWER + i] = (struct pollfd){s->tty.n_typed < TYPED_MAX ? s->tty.viewer[i].fd : -1,
		        (short)(POLLIN | (shim_tty_behind(s, i) ? POLLOUT : 0)), 0};
	if (poll(p, P_N, wait) < 0)
		return;
	for (unsigned k = 0; k < 2; k++) {
		if (p[P_LOG + k].revents)
			take_output(&s->out[k]);
	}
	if (s->out[0].pipe < 0)
		s->tty.master = -1;
	if (p[P_SIG].revents) {
		struct signalfd_siginfo si;
		while (read(s->sig, &si, sizeof si) > 0)
			;
		shim_reap(s);
	}
	if (p[P_CTL].revents)
		shim_on_connect(s);
	if (p[P_SOCK].revents)
		shim_on_sock(s);
	if (p[P_INOTIFY].revents)
		shim_on_inotify(s);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (p[P_CLIENT + i].revents && s->client[i] == p[P_CLIENT + i].fd)
			shim_on_client(s, i);
	}
	on_viewers(s, p);
}

/* What is in the pipe now is the job's; nobody who is alive may write to it for us. */
static void drain_output(struct shim_out *o)
{
	int wait;
	for (unsigned blocks = 0; o->pipe >= 0 && blocks < 4096; blocks++) {
		if (wz_shim_log_ready(&o->log, shim_now_ms(), &wait)) {
			if (wz_shim_log_take(&o->log, o->pipe, shim_now_ms()) <= 0)
				break;
			continue;
		}
		struct pollfd room = {o->log.room_fd, POLLIN, 0};
		(void)poll(&room, 1, wait);
	}
}

static void finish(struct shim *s)
{
	drain_output(&s->out[0]);
	drain_output(&s->out[1]);
	shim_tty_close(s);
	wz_shim_log_close(&s->out[0].log, &s->st);
	wz_shim_log_close(&s->out[1].log, NULL);
	shim_live_usage(s);
	s->st.phase = WZ_ATTEMPT_ENDED;
	s->st.left = 0;
	s->st.ended_us = wz_clock_wall_us();
	(void)wz_cgroup_remove(&s->spec.cgroup);
	/* A full disk must not lose the exit status: it is tried until it is written; who waits sees us alive. */
	while (wz_attempt_status_write(s->dir, &s->st, true) < 0)
		(void)poll(NULL, 0, 1000);
	shim_say_all(s, "- ended");
}

int main(int argc, char **argv)
{
	static struct shim s;
	struct wz_file_text text;
	struct wz_arena arena;
	struct wz_err err;
	uint64_t fd;
	if (argc < 2 || argc > 3)
		return 64;
	s.ctl = s.sock = s.sig = s.inotify = s.out[0].pipe = s.out[1].pipe = -1;
	s.tty.master = s.tty.slave = s.tty.listener = -1;
	for (int i = 0; i < VIEWERS_MAX; i++)
		s.tty.viewer[i].fd = -1;
	for (int i = 0; i < CLIENTS_MAX; i++)
		s.client[i] = -1;
	if (argc == 3 && wz_str_parse_u64(wz_str(argv[2]), &fd) == 0 && fd < 256)
		s.client[0] = (int)fd;
	if (s.client[0] >= 0)
		(void)fcntl(s.client[0], F_SETFD, FD_CLOEXEC);
	int rc = prepare(&s, argv[1]);
	if (rc)
		return rc;
	wz_arena_init(&arena, wz_os_mem(), 65536);
	if (wz_file_read("spec", WZ_ATTEMPT_SPEC_MAX, wz_os_mem(), &text, &err) < 0 ||
	        wz_attempt_spec_parse(wz_file_text_str(&text), &arena, &s.spec, &err) < 0)
		return 65;
	begin(&s);
	while (!(s.main_gone && shim_empty(&s))) {
		turn(&s);
		shim_on_timers(&s);
	}
	finish(&s);
	return 0;
}
