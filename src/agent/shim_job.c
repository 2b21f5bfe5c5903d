/* SPDX-License-Identifier: Apache-2.0 */
/* The job's processes. With a cgroup they are signalled and killed by it, without one by walking what descends from us;
 * "nothing is alive" is the same in both: wait() has no child, and the cgroup, if there is one, is empty. */
#include "agent/shim_int.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

bool shim_tracked(const struct shim *s)
{
	return wz_cgroup_has(&s->spec.cgroup, WZ_CG_TRACK);
}

void shim_signal_all(struct shim *s, int sig)
{
	if (sig <= 0)
		return;
	if (shim_tracked(s) && wz_cgroup_signal(&s->spec.cgroup, sig) >= 0)
		return;
	(void)wz_proc_signal_descendants(getpid(), sig);
}

void shim_set_frozen(struct shim *s, bool frozen)
{
	if (wz_cgroup_freeze(&s->spec.cgroup, frozen) < 0)
		(void)wz_proc_signal_descendants(getpid(), frozen ? SIGSTOP : SIGCONT);
	s->st.frozen = frozen;
	shim_save(s, false);
	shim_say_all(s, frozen ? "- frozen 1" : "- frozen 0");
}

void shim_reap(struct shim *s)
{
	int status;
	pid_t pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != (pid_t)s->st.pid || s->main_gone)
			continue;
		s->main_gone = true;
		if (s->tty.slave >= 0)
			close(s->tty.slave);
		s->tty.slave = -1;
		s->st.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		s->st.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
		s->st.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
	}
	s->no_children = pid < 0 && errno == ECHILD;
}

bool shim_empty(struct shim *s)
{
	int in_group = shim_tracked(s) ? wz_cgroup_empty(&s->spec.cgroup) : 1;
	return s->no_children && (in_group == 1 || in_group == -ENOENT);
}

static void kill_round(struct shim *s)
{
	if (shim_tracked(s))
		(void)wz_cgroup_kill(&s->spec.cgroup);
	/* Also what left the cgroup: it is still below us. */
	if (!s->no_children)
		(void)wz_proc_signal_descendants(getpid(), SIGKILL);
	s->kill_wait = s->kill_wait ? s->kill_wait * 2 : 10;
	if (s->kill_wait > 1000)
		s->kill_wait = 1000;
	s->kill_at = shim_after(s->kill_wait);
	if (s->st.phase == WZ_ATTEMPT_RUNNING && shim_now_ms() - s->kill_since > 1000) {
		char text[64];
		int left =
		        shim_tracked(s) ? wz_cgroup_count(&s->spec.cgroup) : wz_proc_descendants(getpid(), NULL, 0);
		s->st.phase = WZ_ATTEMPT_CLEANING;
		s->st.left = left > 0 ? left : 0;
		shim_save(s, true);
		(void)snprintf(text, sizeof text, "- cleaning %d", left);
		shim_say_all(s, text);
	}
}

static void begin_kill(struct shim *s)
{
	s->step = KILLING;
	s->step_until = NEVER;
	s->kill_since = shim_now_ms();
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
		shim_set_frozen(s, false);
	s->step = TERMED;
	s->step_until = shim_after(grace);
	shim_signal_all(s, sig);
	shim_signal_all(s, SIGCONT); /* what is stopped cannot end */
}

/* --- stopping and preempting ---------------------------------------------------------------------------------- */

bool shim_acked_by_file(void)
{
	return faccessat(AT_FDCWD, "run/ack", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void shim_on_ack(struct shim *s)
{
	shim_say_all(s, "- report checkpoint");
	s->checking = false;
	if (s->step != WARNED)
		return;
	s->st.acked = 1;
	shim_save(s, false);
	shim_say_all(s, "- acked");
	begin_term(s, s->stop_signal, s->stop_grace);
}

/* The directory is the user's: never follow, never open what is there. */
static int open_run(void)
{
	return open("run", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* From here on an acknowledgement is one of what is asked for now. */
static void await_ack(struct shim *s, int run)
{
	if (run >= 0)
		(void)unlinkat(run, "ack", 0);
	if (s->spec.preempt_ack != WZ_ATTEMPT_ACK_FILE || run < 0 || s->inotify >= 0)
		return;
	s->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->inotify >= 0)
		(void)inotify_add_watch(s->inotify, "run", IN_CREATE | IN_MOVED_TO);
}

/* The warning: a file, then a signal to everything; then the job has its grace. */
static void begin_warn(struct shim *s, const char *reason)
{
	int run = open_run();
	await_ack(s, run);
	int fd = run < 0 ? -1 : openat(run, "preempt", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)!write(fd, reason, strlen(reason));
		if (s->spec.switch_user)
			(void)!fchown(fd, (uid_t)s->spec.uid, (gid_t)s->spec.gid);
		close(fd);
	}
	if (run >= 0)
		close(run);
	if (s->st.frozen)
		shim_set_frozen(s, false);
	s->step = WARNED;
	s->step_until = shim_after((uint64_t)s->spec.preempt_grace_ms);
	shim_signal_all(s, (int)s->spec.preempt_signal);
	if (s->spec.preempt_ack == WZ_ATTEMPT_ACK_FILE && shim_acked_by_file())
		shim_on_ack(s);
}

bool shim_checkpoint(struct shim *s)
{
	if (s->step != RUN || s->st.frozen || s->spec.preempt_signal <= 0 ||
	        s->spec.preempt_ack == WZ_ATTEMPT_ACK_NONE)
		return false;
	int run = open_run();
	await_ack(s, run);
	if (run >= 0)
		close(run);
	s->checking = true;
	shim_signal_all(s, (int)s->spec.preempt_signal);
	if (s->spec.preempt_ack == WZ_ATTEMPT_ACK_FILE && shim_acked_by_file())
		shim_on_ack(s);
	return true;
}

void shim_stop(struct shim *s, int sig, uint64_t grace, bool preempt, const char *reason)
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
		shim_save(s, false);
	}
	if (preempt && s->step == RUN && s->spec.preempt_grace_ms > 0)
		begin_warn(s, reason);
	else if (s->step == RUN || (s->step == WARNED && !preempt))
		begin_term(s, sig, grace);
	else if (s->step == TERMED && shim_after(grace) < s->step_until)
		s->step_until = shim_after(grace);
}

void shim_on_timers(struct shim *s)
{
	uint64_t now = shim_now_ms();
	if (now >= s->time_until && s->step == RUN) {
		s->time_until = NEVER;
		s->st.why = WZ_WHY_TIMEOUT;
		begin_term(s, (int)s->spec.signal, (uint64_t)s->spec.grace_ms);
	}
	if (now >= shim_tty_alone_until(s))
		shim_stop(s, (int)s->spec.signal, (uint64_t)s->spec.grace_ms, false, "Abandoned");
	if (now >= s->step_until && s->step == WARNED)
		begin_term(s, s->stop_signal, s->stop_grace);
	else if (now >= s->step_until && s->step == TERMED)
		begin_kill(s);
	else if (s->step == KILLING && now >= s->kill_at)
		kill_round(s);
	if (s->main_gone && s->step == RUN && !shim_empty(s))
		begin_term(s, SIGTERM, (uint64_t)s->spec.leftover_ms);
}
