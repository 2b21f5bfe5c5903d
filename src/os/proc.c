/* SPDX-License-Identifier: Apache-2.0 */
/* The child may not allocate or lock: another thread of the parent might have held the lock at the fork. So all that
 * needs memory is done before, and the child makes system calls only. */
#include "os/proc.h"

#include "base/buf.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#define FD_TO_MAX 256
#define ENVIRON_MAX (8u << 20)

enum stage { AT_HOOK, AT_SESSION, AT_LIMIT, AT_USER, AT_FD, AT_CWD, AT_EXEC };

struct report {
	int32_t stage, code; /* code: positive errno */
};

static const struct {
	const char *reason, *text;
} stages[] = {
        [AT_HOOK] = {"CgroupFailed", "cannot enter the cgroup"},
        [AT_SESSION] = {"ForkFailed", "cannot make a session with its terminal"},
        [AT_LIMIT] = {"LimitFailed", "cannot set a limit"},
        [AT_USER] = {"UserFailed", "cannot become the user"},
        [AT_FD] = {"FdFailed", "cannot place a descriptor"},
        [AT_CWD] = {"NoWorkingDirectory", "cannot enter the working directory"},
        [AT_EXEC] = {"ExecFailed", "cannot execute"},
};

static int child_limits(const struct wz_proc_spec *s)
{
	for (unsigned i = 0; i < s->n_limits; i++) {
		struct rlimit r = {(rlim_t)s->limits[i].soft, (rlim_t)s->limits[i].hard};
		if (setrlimit((__rlimit_resource_t)s->limits[i].resource, &r) < 0)
			return errno;
	}
	if (s->oom_score_adj) {
		char text[WZ_NUM_MAX];
		int n = snprintf(text, sizeof text, "%d", s->oom_score_adj);
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
		if (fd >= 0) { /* a wish: it fails without privilege below the present value */
			(void)!write(fd, text, (size_t)n);
			close(fd);
		}
	}
	if (s->nice)
		(void)!nice(s->nice);
	return 0;
}

static int child_user(const struct wz_proc_spec *s)
{
	if (!s->switch_user)
		return 0;
	bool privileged = geteuid() == 0;
	if (!privileged && (s->uid != geteuid() || s->gid != getegid()))
		return EPERM;
	if (privileged && (setgroups(s->n_groups, s->groups) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	                          setresuid(s->uid, s->uid, s->uid) < 0))
		return errno;
	/* What cannot be undone is verified. */
	if (getuid() != s->uid || geteuid() != s->uid || getgid() != s->gid)
		return EPERM;
	if (s->uid != 0 && privileged && setresuid(0, 0, 0) == 0)
		return EPERM;
	return 0;
}

/* Moves every source above all targets first, so that no dup2 overwrites what a later one needs. */
static int child_fds(const struct wz_proc_spec *s, int *tell)
{
	int high[FD_TO_MAX];
	bool named[FD_TO_MAX] = {false};
	int top = 3;
	for (unsigned i = 0; i < s->n_fds; i++) {
		named[s->fds[i].to] = true;
		if (s->fds[i].to >= top)
			top = s->fds[i].to + 1;
	}
	int moved = fcntl(*tell, F_DUPFD_CLOEXEC, top);
	if (moved < 0)
		return errno;
	*tell = moved;
	for (unsigned i = 0; i < s->n_fds; i++) {
		high[i] = fcntl(s->fds[i].from, F_DUPFD_CLOEXEC, top);
		if (high[i] < 0)
			return errno;
	}
	for (unsigned i = 0; i < s->n_fds; i++) {
		if (dup2(high[i], s->fds[i].to) < 0)
			return errno;
	}
	for (int fd = 0; fd < top; fd++) {
		if (named[fd])
			continue;
		close(fd);
		if (fd < 3 && open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return errno ? errno : EBADF;
	}
	if (syscall(SYS_close_range, (unsigned)top, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0) {
		struct rlimit r; /* before Linux 5.11 */
		int max = getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 65536 ? (int)r.rlim_cur : 65536;
		for (int fd = top; fd < max; fd++)
			(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	return 0;
}

static const char *path_of(const char *const *envp)
{
	for (; envp && *envp; envp++) {
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	}
	return "/usr/local/bin:/usr/bin:/bin";
}

/* execvpe with the PATH of the new environment and without its shell fall-back. Returns an errno. */
static int child_exec(const struct wz_proc_spec *s)
{
	static const char *const none[] = {NULL};
	char *const *argv = (char *const *)(uintptr_t)s->argv;
	char *const *envp = (char *const *)(uintptr_t)(s->envp ? s->envp : none);
	const char *file = s->path ? s->path : s->argv[0];
	char full[PATH_MAX];
	if (s->path || strchr(file, '/')) {
		execve(file, argv, envp);
		return errno;
	}
	int code = ENOENT;
	size_t n = strlen(file);
	for (const char *p = path_of(s->envp); n; p++) {
		const char *end = strchrnul(p, ':');
		size_t d = (size_t)(end - p);
		if (d + n + 2 <= sizeof full) {
			memcpy(full, d ? p : ".", d ? d : 1);
			size_t at = d ? d : 1;
			full[at] = '/';
			memcpy(full + at + 1, file, n + 1);
			execve(full, argv, envp);
			if (errno == EACCES)
				code = EACCES; /* goes on: another folder may have it */
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		if (!*end)
			break;
		p = end;
	}
	return code;
}

static void child_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;
	for (int sig = 1; sig < NSIG; sig++) {
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)sigaction(sig, &dfl, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Only system calls. Returns the errno of the stage that failed. */
static int child_steps(const struct wz_proc_spec *s, int *tell, enum stage *at)
{
	int code = 0;
	child_signals();
	*at = AT_HOOK;
	if (s->in_child)
		code = -s->in_child(s->ctx);
	if (!code && s->new_session && setsid() < 0) {
		*at = AT_SESSION;
		code = errno;
	}
	if (!code && s->controlling_tty && ioctl(s->tty, TIOCSCTTY, 0) < 0) {
		*at = AT_SESSION;
		code = errno;
	}
	if (!code) {
		*at = AT_LIMIT;
		code = child_limits(s);
	}
	if (!code) {
		*at = AT_USER;
		code = child_user(s);
		if (!code && s->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			code = errno;
	}
	if (s->umask >= 0)
		umask((mode_t)s->umask);
	if (!code) {
		*at = AT_FD;
		code = child_fds(s, tell);
	}
	if (!code) {
		*at = AT_CWD;
		code = chdir(s->cwd ? s->cwd : "/") < 0 ? errno : 0;
	}
	if (!code) {
		*at = AT_EXEC;
		code = child_exec(s);
	}
	return code;
}

static int failed(const struct wz_proc_spec *s, const struct report *r, struct wz_err *err)
{
	const char *reason = stages[r->stage].reason;
	const char *desc = strerrordesc_np(r->code);
	const char *what = "";
	if (r->stage == AT_EXEC) {
		what = s->path ? s->path : s->argv[0];
		if (r->code == ENOENT)
			reason = "NoCommand";
	} else if (r->stage == AT_CWD) {
		what = s->cwd ? s->cwd : "/";
	}
	return wz_err_set(err, -r->code, reason, wz_str(stages[r->stage].text), wz_str(*what ? " " : ""),
	        wz_str(what), WZ_STR(": "), wz_str(desc ? desc : "unknown error"));
}

static int spawn_check(const struct wz_proc_spec *s, struct wz_err *err)
{
	wz_check(s->argv && s->argv[0] && s->n_fds <= FD_TO_MAX);
	for (unsigned i = 0; i < s->n_fds; i++)
		wz_check(s->fds[i].from >= 0 && s->fds[i].to >= 0 && s->fds[i].to < FD_TO_MAX);
	if (s->n_groups > WZ_PROC_GROUPS_MAX)
		return wz_err_set(err, -E2BIG, "UserFailed", WZ_STR("too many supplementary groups"));
	return 0;
}

int wz_proc_spawn(const struct wz_proc_spec *spec, pid_t *ret_pid, struct wz_err *err)
{
	int tell[2];
	int rc = spawn_check(spec, err);
	if (rc < 0)
		return rc;
	if (pipe2(tell, O_CLOEXEC) < 0)
		return wz_err_set(err, -errno, "ForkFailed", WZ_STR("cannot start a process: no descriptors left"));
	/* No handler of ours may run in the child before it resets them. */
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = fork();
	if (pid == 0) {
		struct report r;
		enum stage at = AT_HOOK;
		int fd = tell[1];
		r.code = child_steps(spec, &fd, &at);
		r.stage = (int32_t)at;
		(void)!write(fd, &r, sizeof r);
		_exit(127);
	}
	int code = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(tell[1]);
	if (pid < 0) {
		close(tell[0]);
		return wz_err_set(err, -code, "ForkFailed", WZ_STR("cannot start a process: "),
		        wz_str(strerrordesc_np(code)));
	}
	struct report r;
	ssize_t n;
	do
		n = read(tell[0], &r, sizeof r);
	while (n < 0 && errno == EINTR);
	close(tell[0]);
	if (n == (ssize_t)sizeof r && r.stage >= 0 && r.stage <= AT_EXEC && r.code > 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		return failed(spec, &r, err);
	}
	*ret_pid = pid;
	return 0;
}

/* --- running a command to its end ----------------------------------------------------------------------------- */

static int capture_read(int fd, uint64_t until_ns, size_t max, struct wz_buf *out)
{
	char block[4096];
	for (;;) {
		uint64_t now = wz_clock_monotonic_ns();
		if (now >= until_ns)
			return -ETIMEDOUT;
		uint64_t ms = (until_ns - now) / 1000000u + 1;
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int n = poll(&p, 1, ms > 60000 ? 60000 : (int)ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		ssize_t got = read(fd, block, sizeof block);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		if (out->len + (size_t)got > max)
			return -E2BIG;
		wz_buf_add(out, (struct wz_str){block, (size_t)got});
		if (out->status < 0)
			return out->status;
	}
}

/* Its output may be closed and it still run on; or it may have left a daemon that holds the pipe. */
static int capture_wait(pid_t pid, uint64_t until_ns, int *status)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int rc = 0;
	if (fd >= 0) {
		for (;;) {
			uint64_t now = wz_clock_monotonic_ns();
			struct pollfd p = {.fd = fd, .events = POLLIN};
			if (now >= until_ns) {
				rc = -ETIMEDOUT;
				break;
			}
			int n = poll(&p, 1, (int)((until_ns - now) / 1000000u % 60000u) + 1);
			if (n > 0 || (n < 0 && errno != EINTR))
				break;
		}
		close(fd);
	}
	if (rc < 0)
		kill(-pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

int wz_proc_capture(const char *const *argv, unsigned timeout_ms, size_t max_bytes, const struct wz_mem *mem,
        struct wz_file_text *ret_out, int *ret_status, struct wz_err *err)
{
	int out[2], status = 0;
	pid_t pid;
	char path[4096];
	const char *have = getenv("PATH");
	(void)snprintf(path, sizeof path, "PATH=%s",
	        have && *have ? have : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	const char *const env[] = {path, "LC_ALL=C", NULL};
	if (pipe2(out, O_CLOEXEC) < 0)
		return wz_err_set(err, -errno, "ForkFailed", WZ_STR("no descriptors left"));
	struct wz_proc_fd fds[] = {{out[1], 1}};
	struct wz_proc_spec spec = {
	        .argv = argv, .envp = env, .umask = -1, .fds = fds, .n_fds = 1, .new_session = true};
	int rc = wz_proc_spawn(&spec, &pid, err);
	close(out[1]);
	if (rc < 0) {
		close(out[0]);
		return rc;
	}
	uint64_t until = wz_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000u;
	struct wz_buf buf;
	wz_buf_init(&buf, mem, max_bytes);
	rc = capture_read(out[0], until, max_bytes, &buf);
	close(out[0]);
	if (rc < 0)
		kill(-pid, SIGKILL);
	int waited = capture_wait(pid, until, &status);
	if (rc == 0)
		rc = waited;
	if (rc < 0) {
		struct wz_num n;
		wz_buf_release(&buf);
		if (rc == -ETIMEDOUT)
			return wz_err_set(err, rc, "CommandTimeout", wz_str(argv[0]),
			        WZ_STR(" did not end within "), wz_str_u64(&n, timeout_ms),
			        WZ_STR(" ms and was killed"));
		return wz_file_err(err, rc, "read the output of", argv[0]);
	}
	*ret_out = (struct wz_file_text){mem, buf.data, buf.len, buf.cap};
	*ret_status = status;
	return 0;
}

/* --- /proc ---------------------------------------------------------------------------------------------------- */

static ssize_t read_small(const char *path, char *text, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n;
	do
		n = read(fd, text, cap);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

int wz_proc_boot_id(char ret[WZ_BOOT_ID_LEN + 1])
{
	char text[64];
	ssize_t n = read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)WZ_BOOT_ID_LEN)
		return -EIO;
	memcpy(ret, text, WZ_BOOT_ID_LEN);
	ret[WZ_BOOT_ID_LEN] = 0;
	return 0;
}

static int field_pid(struct wz_str text, pid_t *ret)
{
	int64_t v;
	if (wz_str_parse_i64(text, &v) < 0 || v < INT32_MIN || v > INT32_MAX)
		return -EINVAL;
	*ret = (pid_t)v;
	return 0;
}

int wz_proc_stat_parse(struct wz_str text, struct wz_proc_stat *ret)
{
	/* "PID (any bytes) S PPID PGRP SESSION ..."; field 22 is the start time. */
	struct wz_proc_stat st = {0};
	const char *open_at = memchr(text.ptr ? text.ptr : "", '(', text.len);
	const char *close_at = text.len ? memrchr(text.ptr, ')', text.len) : NULL;
	if (!open_at || !close_at || close_at < open_at)
		return -EINVAL;
	if (field_pid(wz_str_trim((struct wz_str){text.ptr, (size_t)(open_at - text.ptr)}), &st.pid) < 0)
		return -EINVAL;
	struct wz_str rest =
	        wz_str_trim((struct wz_str){close_at + 1, (size_t)(text.ptr + text.len - close_at - 1)});
	int rc = 0;
	unsigned i = 3;
	for (; rest.ptr && i <= 22 && rc == 0; i++) {
		struct wz_str f = wz_str_split(&rest, ' ');
		if (i == 3 && f.len == 1)
			st.state = f.ptr[0];
		else if (i == 3)
			rc = -EINVAL;
		else if (i == 4)
			rc = field_pid(f, &st.ppid);
		else if (i == 5)
			rc = field_pid(f, &st.pgid);
		else if (i == 6)
			rc = field_pid(f, &st.sid);
		else if (i == 22)
			rc = wz_str_parse_u64(f, &st.start_ticks);
	}
	if (rc < 0 || i <= 22)
		return -EINVAL;
	*ret = st;
	return 0;
}

int wz_proc_stat(pid_t pid, struct wz_proc_stat *ret)
{
	char path[32], text[1024];
	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	ssize_t n = read_small(path, text, sizeof text);
	if (n <= 0)
		return -ESRCH;
	return wz_proc_stat_parse((struct wz_str){text, (size_t)n}, ret);
}

struct table {
	struct wz_proc_stat *p;
	uint32_t n, cap;
};

static int table_read(const struct wz_mem *mem, struct table *t)
{
	DIR *d = opendir("/proc");
	int rc = d ? 0 : -errno;
	for (struct dirent *e; d && rc == 0 && (e = readdir(d));) {
		uint64_t pid;
		struct wz_proc_stat st;
		if (wz_str_parse_u64(wz_str(e->d_name), &pid) < 0 || pid > INT32_MAX ||
		        wz_proc_stat((pid_t)pid, &st) < 0)
			continue;
		rc = wz_grow(mem, &t->p, &t->cap, t->n + 1, sizeof *t->p);
		if (rc == 0)
			t->p[t->n++] = st;
	}
	if (d)
		closedir(d);
	return rc;
}

static int by_pid(const void *a, const void *b)
{
	const struct wz_proc_stat *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int64_t index_of(const struct table *t, pid_t pid)
{
	struct wz_proc_stat key = {.pid = pid};
	const struct wz_proc_stat *at = bsearch(&key, t->p, t->n, sizeof key, by_pid);
	return at ? at - t->p : -1;
}

enum { UNKNOWN, INSIDE, OUTSIDE };

/* Walks up until something is known, then marks the way; a cycle (pids reused while we read) counts as outside. */
static uint8_t side_of(const struct table *t, uint8_t *side, uint32_t from, pid_t root)
{
	uint8_t found = UNKNOWN;
	int64_t at = from;
	for (uint32_t steps = 0; found == UNKNOWN; steps++) {
		if (t->p[at].ppid == root)
			found = INSIDE;
		else if (side[at] != UNKNOWN)
			found = side[at];
		else if (t->p[at].pid == root || (at = index_of(t, t->p[at].ppid)) < 0 || steps > t->n)
			found = OUTSIDE;
	}
	at = from;
	for (uint32_t steps = 0; at >= 0 && side[at] == UNKNOWN && steps <= t->n; steps++) {
		side[at] = found;
		at = t->p[at].ppid == root ? -1 : index_of(t, t->p[at].ppid);
	}
	return found;
}

int wz_proc_descendants(pid_t root, pid_t *pids, unsigned cap)
{
	struct table t = {0};
	const struct wz_mem *mem = wz_os_mem();
	int rc = table_read(mem, &t);
	unsigned found = 0;
	uint8_t *side = rc == 0 && t.n ? wz_mem_zalloc(mem, t.n) : NULL;
	if (rc == 0 && t.n && !side)
		rc = -ENOMEM;
	if (rc == 0 && t.n)
		qsort(t.p, t.n, sizeof *t.p, by_pid);
	for (uint32_t i = 0; i < t.n && rc == 0; i++) {
		if (t.p[i].state == 'Z' || t.p[i].state == 'X' || side_of(&t, side, i, root) != INSIDE)
			continue;
		if (found < cap)
			pids[found] = t.p[i].pid;
		found++;
	}
	wz_mem_free(mem, side, t.n);
	wz_grow_free(mem, &t.p, &t.cap, sizeof *t.p);
	return rc < 0 ? rc : (int)found;
}

int wz_proc_signal_descendants(pid_t root, int sig)
{
	pid_t *pids = wz_mem_alloc(wz_os_mem(), WZ_PROC_TREE_MAX * sizeof *pids);
	if (!pids)
		return -ENOMEM;
	int n = wz_proc_descendants(root, pids, WZ_PROC_TREE_MAX);
	for (int i = 0; i < n && i < (int)WZ_PROC_TREE_MAX; i++)
		kill(pids[i], sig);
	wz_mem_free(wz_os_mem(), pids, WZ_PROC_TREE_MAX * sizeof *pids);
	return n;
}

int wz_proc_signal_session(pid_t sid, int sig)
{
	struct table t = {0};
	int rc = table_read(wz_os_mem(), &t), found = 0;
	for (uint32_t i = 0; i < t.n && rc == 0; i++) {
		if (t.p[i].sid != sid || t.p[i].state == 'Z')
			continue;
		found++;
		kill(t.p[i].pid, sig);
	}
	wz_grow_free(wz_os_mem(), &t.p, &t.cap, sizeof *t.p);
	return rc < 0 ? rc : found;
}

/* Is it one of the NUL-terminated strings? */
static bool has_string(struct wz_str all, struct wz_str one)
{
	while (all.ptr && all.len) {
		if (wz_str_eq(wz_str_split(&all, '\0'), one))
			return true;
	}
	return false;
}

int wz_proc_signal_env(const char *variable, int sig)
{
	struct table t = {0};
	int rc = table_read(wz_os_mem(), &t), found = 0;
	for (uint32_t i = 0; i < t.n && rc == 0; i++) {
		struct wz_file_text text;
		char path[64];
		(void)snprintf(path, sizeof path, "/proc/%d/environ", (int)t.p[i].pid);
		if (t.p[i].state == 'Z' || t.p[i].pid == getpid() ||
		        wz_file_read(path, ENVIRON_MAX, wz_os_mem(), &text, NULL) < 0)
			continue;
		if (has_string(wz_file_text_str(&text), wz_str(variable))) {
			found++;
			kill(t.p[i].pid, sig);
		}
		wz_file_text_release(&text);
	}
	wz_grow_free(wz_os_mem(), &t.p, &t.cap, sizeof *t.p);
	return rc < 0 ? rc : found;
}

int wz_proc_signal_parse(struct wz_str name, int *ret)
{
	uint64_t v;
	if (wz_str_parse_u64(name, &v) == 0) {
		if (v < 1 || v >= NSIG)
			return -EINVAL;
		*ret = (int)v;
		return 0;
	}
	if (name.len > 3 && wz_str_eq_nocase((struct wz_str){name.ptr, 3}, WZ_STR("SIG")))
		name = (struct wz_str){name.ptr + 3, name.len - 3};
	for (int sig = 1; sig < NSIG; sig++) {
		const char *abbrev = sigabbrev_np(sig);
		if (abbrev && wz_str_eq_nocase(wz_str(abbrev), name)) {
			*ret = sig;
			return 0;
		}
	}
	return -EINVAL;
}
