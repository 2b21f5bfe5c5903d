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
#include "agent/shim_log.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/mem.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MAX 8
#define MESSAGE_MAX 8192
#define NEVER UINT64_MAX

enum step { RUN, WARNED, TERMED, KILLING };
enum slot { P_SIG, P_CTL, P_SOCK, P_INOTIFY, P_LOG, P_ROOM, P_CLIENT, P_N = P_CLIENT + CLIENTS_MAX };

struct shim {
	int dir, ctl, sock, sig, inotify, pipe, client[CLIENTS_MAX];
	struct wz_attempt_spec spec;
	struct wz_attempt_status st;
	struct wz_shim_log log;
	enum step step;
	bool main_gone, no_children;
	uint64_t step_until, time_until, kill_at, kill_since, kill_wait; /* milliseconds of the monotonic clock */
	int stop_signal;
	uint64_t stop_grace;
};

static uint64_t now_ms(void) { return wz_clock_monotonic_ns() / 1000000u; }

static uint64_t after(uint64_t ms)
{
	return now_ms() + (ms < 1000ULL * 86400 * 36500 ? ms : 1000ULL * 86400 * 36500);
}

static void say(int fd, const char *text) { (void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL); }

static void say_all(struct shim *s, const char *text)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (s->client[i] >= 0)
			say(s->client[i], text);
	}
}

static void save(struct shim *s, bool durable) { (void)wz_attempt_status_write(s->dir, &s->st, durable); }

/* --- the job's processes -------------------------------------------------------------------------------------- */

static bool tracked(const struct shim *s) { return wz_cgroup_has(&s->spec.cgroup, WZ_CG_TRACK); }

static void signal_all(struct shim *s, int sig)
{
	if (sig <= 0)
		return;
	if (tracked(s) && wz_cgroup_signal(&s->spec.cgroup, sig) >= 0)
		return;
	(void)wz_proc_signal_descendants(getpid(), sig);
}

static bool set_frozen(struct shim *s, bool frozen)
{
	if (wz_cgroup_freeze(&s->spec.cgroup, frozen) < 0)
		(void)wz_proc_signal_descendants(getpid(), frozen ? SIGSTOP : SIGCONT);
	s->st.frozen = frozen;
	save(s, false);
	return true;
}

static void reap(struct shim *s)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != (pid_t)s->st.pid || s->main_gone)
			continue;
		s->main_gone = true;
		s->st.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		s->st.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
		s->st.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
	}
	s->no_children = pid < 0 && errno == ECHILD;
}

static bool empty(struct shim *s)
{
	int in_group = tracked(s) ? wz_cgroup_empty(&s->spec.cgroup) : 1;
	return s->no_children && (in_group == 1 || in_group == -ENOENT);
}

static void kill_round(struct shim *s)
{
	if (tracked(s))
		(void)wz_cgroup_kill(&s->spec.cgroup);
	/* Also what left the cgroup: it is still below us. */
	if (!s->no_children)
		(void)wz_proc_signal_descendants(getpid(), SIGKILL);
	s->kill_wait = s->kill_wait ? s->kill_wait * 2 : 10;
	if (s->kill_wait > 1000)
		s->kill_wait = 1000;
	s->kill_at = after(s->kill_wait);
	if (s->st.phase == WZ_ATTEMPT_RUNNING && now_ms() - s->kill_since > 1000) {
		char text[64];
		int left = tracked(s) ? wz_cgroup_count(&s->spec.cgroup) : wz_proc_descendants(getpid(), NULL, 0);
		s->st.phase = WZ_ATTEMPT_CLEANING;
		s->st.left = left > 0 ? left : 0;
		save(s, true);
		(void)snprintf(text, sizeof text, "- cleaning %d", left);
		say_all(s, text);
	}
}

static void begin_kill(struct shim *s)
{
	s->step = KILLING;
	s->step_until = NEVER;
	s->kill_since = now_ms();
	s->kill_wait = 0;
	kill_round(s);
}

static void begin_term(struct shim *s, int sig, uint64_t grace)
{
	if (grace == 0) {
		begin_kill(s);
		return;
	}
	if (s->st.frozen)
		set_frozen(s, false);
	s->step = TERMED;
	s->step_until = after(grace);
	signal_all(s, sig);
	signal_all(s, SIGCONT); /* what is stopped cannot end */
}

/* --- stopping and preempting ---------------------------------------------------------------------------------- */

static bool acked_by_file(void) { return faccessat(AT_FDCWD, "run/ack", F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

static void on_ack(struct shim *s)
{
	s->st.acked = 1;
	save(s, false);
	say_all(s, "- acked");
	if (s->step == WARNED)
		begin_term(s, s->stop_signal, s->stop_grace);
}

/* The warning: a file, then a signal to everything; then the job has its grace. */
static void begin_warn(struct shim *s, const char *reason)
{
	int run = open("run", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* The directory is the user's: never follow, never open what is there. */
	int fd = run < 0 ? -1 : openat(run, "preempt", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)!write(fd, reason, strlen(reason));
		if (s->spec.switch_user)
			(void)!fchown(fd, (uid_t)s->spec.uid, (gid_t)s->spec.gid);
		close(fd);
	}
	if (s->spec.preempt_ack == WZ_ATTEMPT_ACK_FILE && run >= 0) {
		s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
		if (s->inotify >= 0)
			(void)inotify_add_watch(s->inotify, "run", IN_CREATE | IN_MOVED_TO);
	}
	if (run >= 0)
		close(run);
	if (s->st.frozen)
		set_frozen(s, false);
	s->step = WARNED;
	s->step_until = after((uint64_t)s->spec.preempt_grace_ms);
	signal_all(s, (int)s->spec.preempt_signal);
	if (s->st.acked || (s->spec.preempt_ack == WZ_ATTEMPT_ACK_FILE && acked_by_file()))
		on_ack(s);
}

/* Signal 0 and grace UINT64_MAX: as the spec says. */
static void stop(struct shim *s, int sig, uint64_t grace, bool preempt, const char *reason)
{
	if (sig == 0)
		sig = (int)s->spec.signal;
	if (grace == UINT64_MAX)
		grace = (uint64_t)s->spec.grace_ms;
	bool first = s->st.why == WZ_WHY_EXITED && !s->main_gone;
	s->stop_signal = sig;
	s->stop_grace = grace;
	if (first) { /* the reason that was told first stands */
		s->st.why = WZ_WHY_STOPPED;
		(void)snprintf(s->st.stop_reason, sizeof s->st.stop_reason, "%s", reason);
		save(s, false);
	}
	if (preempt && s->step == RUN && s->spec.preempt_grace_ms > 0)
		begin_warn(s, reason);
	else if (s->step == RUN || (s->step == WARNED && !preempt))
		begin_term(s, sig, grace);
	else if (s->step == TERMED && after(grace) < s->step_until)
		s->step_until = after(grace);
}

static void on_timers(struct shim *s)
{
	uint64_t now = now_ms();
	if (now >= s->time_until && s->step == RUN) {
		s->time_until = NEVER;
		s->st.why = WZ_WHY_TIMEOUT;
		begin_term(s, (int)s->spec.signal, (uint64_t)s->spec.grace_ms);
	}
	if (now >= s->step_until && s->step == WARNED)
		begin_term(s, s->stop_signal, s->stop_grace);
	else if (now >= s->step_until && s->step == TERMED)
		begin_kill(s);
	else if (s->step == KILLING && now >= s->kill_at)
		kill_round(s);
	if (s->main_gone && s->step == RUN && !empty(s))
		begin_term(s, SIGTERM, (uint64_t)s->spec.leftover_ms);
}

/* --- talking -------------------------------------------------------------------------------------------------- */

static void live_usage(struct shim *s)
{
	struct wz_cgroup_usage u;
	struct rusage r;
	wz_cgroup_usage(&s->spec.cgroup, &u);
	s->st.oom_kills = u.oom_kills;
	s->st.cpu_us = u.cpu_us;
	s->st.mem_peak_bytes = u.mem_peak_bytes;
	s->st.mem_limit_bytes = u.mem_limit_bytes;
	if (getrusage(RUSAGE_CHILDREN, &r) == 0) { /* only of those that have ended */
		if (u.cpu_us < 0)
			s->st.cpu_us = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 + r.ru_utime.tv_usec +
			               r.ru_stime.tv_usec;
		if (u.mem_peak_bytes < 0)
			s->st.mem_peak_bytes = (int64_t)r.ru_maxrss * 1024;
	}
}

static void answer(int fd, struct wz_str id, const char *text)
{
	char out[MESSAGE_MAX];
	(void)snprintf(out, sizeof out, "%.*s %s", (int)id.len, id.ptr, text);
	say(fd, out);
}

static void answer_status(struct shim *s, int fd, struct wz_str id)
{
	char text[MESSAGE_MAX - 64];
	struct wz_buf b;
	live_usage(s);
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, "ok ");
	wz_attempt_status_format(&s->st, &b);
	answer(fd, id, wz_buf_z(&b));
}

/* "ID VERB ARGUMENT..." */
static void request(struct shim *s, int fd, struct wz_str text)
{
	struct wz_str id = wz_str_split(&text, ' '), verb = text.ptr ? wz_str_split(&text, ' ') : WZ_STR("");
	uint64_t a[3] = {0};
	bool stopping = wz_str_eq(verb, WZ_STR("stop"));
	unsigned want = stopping ? 3 : wz_str_eq(verb, WZ_STR("signal")) ? 1 : 0;
	char reason[32] = "";
	if (id.len > 24)
		return;
	for (unsigned i = 0; i < want; i++) {
		if (!text.ptr || wz_str_parse_u64(wz_str_split(&text, ' '), &a[i]) < 0 ||
		        (i == 0 && a[0] >= NSIG)) {
			answer(fd, id, "error BadRequest");
			return;
		}
	}
	if (text.ptr)
		(void)snprintf(reason, sizeof reason, "%.*s", (int)text.len, text.ptr);
	if (stopping)
		stop(s, (int)a[0], a[1], a[2] != 0, reason);
	else if (want)
		signal_all(s, (int)a[0]);
	else if (wz_str_eq(verb, WZ_STR("freeze")) && s->step == RUN)
		set_frozen(s, true);
	else if (wz_str_eq(verb, WZ_STR("thaw")))
		set_frozen(s, false);
	else if (wz_str_eq(verb, WZ_STR("query"))) {
		answer_status(s, fd, id);
		return;
	} else {
		answer(fd, id, "error BadRequest");
		return;
	}
	answer(fd, id, "ok");
}

static void on_client(struct shim *s, int i)
{
	char text[1024];
	ssize_t n = recv(s->client[i], text, sizeof text, MSG_DONTWAIT);
	if (n > 0) {
		request(s, s->client[i], (struct wz_str){text, (size_t)n});
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(s->client[i]);
		s->client[i] = -1;
	}
}

static void on_connect(struct shim *s)
{
	int fd = accept4(s->ctl, NULL, NULL, SOCK_CLOEXEC);
	struct ucred who;
	socklen_t len = sizeof who;
	if (fd < 0)
		return;
	bool may =
	        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && (who.uid == 0 || who.uid == geteuid());
	for (int i = 0; i < CLIENTS_MAX && may; i++) {
		if (s->client[i] < 0) {
			s->client[i] = fd;
			return;
		}
	}
	close(fd);
}

/* What the job tells: "ack", else a report that is passed on. */
static void on_sock(struct shim *s)
{
	char text[1024] = "- report ";
	ssize_t n = recv(s->sock, text + 9, sizeof text - 10, MSG_DONTWAIT);
	if (n <= 0)
		return;
	struct wz_str said = wz_str_trim((struct wz_str){text + 9, (size_t)n});
	text[9 + n] = 0;
	if (wz_str_eq(said, WZ_STR("ack"))) {
		if (s->spec.preempt_ack == WZ_ATTEMPT_ACK_SOCKET)
			on_ack(s);
	} else {
		say_all(s, text);
	}
}

static void on_inotify(struct shim *s)
{
	char block[4096] __attribute__((aligned(8)));
	while (read(s->inotify, block, sizeof block) > 0)
		;
	if (s->step == WARNED && acked_by_file())
		on_ack(s);
}

/* --- start, loop, end ----------------------------------------------------------------------------------------- */

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

static int launch(struct shim *s, struct wz_err *err)
{
	int out[2];
	int rc = wz_shim_log_open(&s->log, &s->spec, err);
	if (rc < 0)
		return rc;
	if (pipe2(out, O_CLOEXEC) < 0)
		return wz_err_set(err, -errno, "ForkFailed", WZ_STR("no descriptors left"));
	(void)fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
	struct wz_proc_fd fds[] = {{out[1], 1}, {out[1], 2}};
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
	        .n_fds = 2,
	        .new_session = true,
	        .no_new_privs = s->spec.no_new_privs != 0,
	        .oom_score_adj = (int)s->spec.oom_score_adj,
	        .nice = (int)s->spec.nice,
	        .in_child = enter_cgroup,
	        .ctx = s};
	pid_t pid;
	rc = wz_proc_spawn(&p, &pid, err);
	close(out[1]);
	s->pipe = out[0];
	(void)fcntl(s->pipe, F_SETFL, O_NONBLOCK);
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
	        !tracked(s)                                      ? "descendants"
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
	if (launch(s, &err) < 0) {
		s->st.why = WZ_WHY_LAUNCH_FAILED;
		(void)snprintf(s->st.launch_reason, sizeof s->st.launch_reason, "%s", err.reason);
		(void)snprintf(s->st.launch_text, sizeof s->st.launch_text, "%.190s", err.text);
		s->main_gone = true;
	} else {
		char text[48];
		if (s->spec.time_ms > 0)
			s->time_until = after((uint64_t)s->spec.time_ms);
		s->st.phase = WZ_ATTEMPT_RUNNING;
		save(s, false);
		(void)snprintf(text, sizeof text, "- started %lld", (long long)s->st.pid);
		say_all(s, text);
	}
	reap(s);
}

static int wait_ms(const struct shim *s)
{
	uint64_t now = now_ms(), until = s->step_until < s->time_until ? s->step_until : s->time_until;
	if (s->step == KILLING && s->kill_at < until)
		until = s->kill_at;
	if (s->main_gone && until > now + 100)
		until = now + 100; /* a process that was moved into the cgroup from elsewhere sends us no SIGCHLD */
	return until == NEVER ? -1 : until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

static void turn(struct shim *s)
{
	struct pollfd p[P_N];
	int wait = wait_ms(s), stall = 0;
	bool ready = s->pipe >= 0 && wz_shim_log_ready(&s->log, now_ms(), &stall);
	if (s->pipe >= 0 && !ready && (wait < 0 || stall < wait))
		wait = stall;
	p[P_SIG] = (struct pollfd){s->sig, POLLIN, 0};
	p[P_CTL] = (struct pollfd){s->ctl, POLLIN, 0};
	p[P_SOCK] = (struct pollfd){s->sock, POLLIN, 0};
	p[P_INOTIFY] = (struct pollfd){s->inotify, POLLIN, 0};
	p[P_LOG] = (struct pollfd){ready ? s->pipe : -1, POLLIN, 0};
	p[P_ROOM] = (struct pollfd){s->pipe >= 0 && !ready ? s->log.room_fd : -1, POLLIN, 0};
	for (int i = 0; i < CLIENTS_MAX; i++)
		p[P_CLIENT + i] = (struct pollfd){s->client[i], POLLIN, 0};
	if (poll(p, P_N, wait) < 0)
		return;
	if (p[P_LOG].revents && wz_shim_log_take(&s->log, s->pipe, now_ms()) == 0) {
		close(s->pipe);
		s->pipe = -1;
	}
	if (p[P_SIG].revents) {
		struct signalfd_siginfo si;
		while (read(s->sig, &si, sizeof si) > 0)
			;
		reap(s);
	}
	if (p[P_CTL].revents)
		on_connect(s);
	if (p[P_SOCK].revents)
		on_sock(s);
	if (p[P_INOTIFY].revents)
		on_inotify(s);
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (p[P_CLIENT + i].revents && s->client[i] == p[P_CLIENT + i].fd)
			on_client(s, i);
	}
}

static void finish(struct shim *s)
{
	int unused;
	/* What is in the pipe now is the job's; nobody who is alive may write to it for us. */
	for (unsigned blocks = 0; s->pipe >= 0 && blocks < 4096; blocks++) {
		if (wz_shim_log_ready(&s->log, now_ms(), &unused)) {
			if (wz_shim_log_take(&s->log, s->pipe, now_ms()) <= 0)
				break;
			continue;
		}
		struct pollfd room = {s->log.room_fd, POLLIN, 0};
		(void)poll(&room, 1, unused);
	}
	wz_shim_log_close(&s->log, &s->st);
	live_usage(s);
	s->st.phase = WZ_ATTEMPT_ENDED;
	s->st.left = 0;
	s->st.ended_us = wz_clock_wall_us();
	(void)wz_cgroup_remove(&s->spec.cgroup);
	/* A full disk must not lose the exit status: it is tried until it is written; who waits sees us alive. */
	while (wz_attempt_status_write(s->dir, &s->st, true) < 0)
		(void)poll(NULL, 0, 1000);
	say_all(s, "- ended");
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
	s.ctl = s.sock = s.sig = s.inotify = s.pipe = -1;
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
	while (!(s.main_gone && empty(&s))) {
		turn(&s);
		on_timers(&s);
	}
	finish(&s);
	return 0;
}
