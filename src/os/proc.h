/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: started with full control, looked at through /proc, killed as a tree.
 *
 * wz_proc_spawn forks and executes. Everything that could fail in the child is told to the parent through a pipe that
 * closes on exec, so a start that failed is an error here and never an exit code that looks like the program's. The
 * stage that failed is err->reason: "ForkFailed", "CgroupFailed", "LimitFailed", "UserFailed", "NoWorkingDirectory",
 * "FdFailed", "NoCommand" (no such program), "ExecFailed".
 *
 * Order in the child: in_child hook (cgroup), session and terminal, limits, oom score, nice, user (groups, gid, uid), umask,
 * descriptors, working directory *as the user*, exec *as the user*, looked up in the PATH of the new environment.
 * Signal handlers and mask are the default; SIGPIPE too. No descriptor leaks but those in `fds`.
 *
 * Thread rule: none shared; spawning is safe in a process with threads (the child makes only async-signal-safe calls). */
#ifndef WZ_OS_PROC_H
#define WZ_OS_PROC_H

#include "base/err.h"
#include "os/file.h"

#include <sys/types.h>

#define WZ_PROC_GROUPS_MAX 1024u
#define WZ_PROC_TREE_MAX 65536u /* processes of one tree that are looked at in one round */

struct wz_proc_fd {
	int from, to; /* descriptor `from` here is `to` there; `to` below 256 */
};
struct wz_proc_limit {
	int resource; /* RLIMIT_* */
	uint64_t soft, hard; /* RLIM_INFINITY: none */
};

struct wz_proc_spec {
	const char *const *argv; /* NULL-terminated, argv[0] given */
	const char *const *envp; /* NULL-terminated; NULL: none at all */
	const char *path; /* the program; NULL: argv[0], looked up in PATH of envp when it has no '/' */
	const char *cwd; /* NULL: "/" */
	bool switch_user; /* to uid, gid and exactly `groups`; without privilege only to oneself (then groups stay) */
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	unsigned n_groups;
	int umask; /* -1: inherited */
	const struct wz_proc_limit *limits;
	unsigned n_limits;
	const struct wz_proc_fd *fds; /* of 0, 1, 2 those not named are /dev/null */
	unsigned n_fds;
	bool new_session; /* setsid: own session and process group */
	bool controlling_tty; /* with new_session: descriptor `tty` becomes the session's terminal */
	int tty;
	bool no_new_privs; /* setuid programs give nothing */
	int oom_score_adj; /* 0: as it is */
	int nice; /* added */
	/* Runs first, as the caller, in the child: only async-signal-safe calls. 0 or a negative errno. */
	int (*in_child)(void *ctx);
	void *ctx;
};

/* Starts; the caller reaps *ret_pid. No parent-death signal: the child outlives us. Errors above, with the errno of what
 * failed. */
int wz_proc_spawn(const struct wz_proc_spec *spec, pid_t *ret_pid, struct wz_err *err);

/* Runs a command to its end, its standard output (at most max_bytes, else -E2BIG) into *ret_out, which the caller
 * releases. After timeout_ms the whole process group is killed: -ETIMEDOUT "CommandTimeout". *ret_status is the raw
 * wait status; a command that ends with a code other than 0 is not an error here. */
int wz_proc_capture(const char *const *argv, unsigned timeout_ms, size_t max_bytes, const struct wz_mem *mem,
        struct wz_file_text *ret_out, int *ret_status, struct wz_err *err);

#define WZ_BOOT_ID_LEN 36u
/* /proc/sys/kernel/random/boot_id, terminated; -errno. Differs after each boot. */
int wz_proc_boot_id(char ret[WZ_BOOT_ID_LEN + 1]);

struct wz_proc_stat {
	pid_t pid, ppid, pgid, sid;
	char state; /* R S D Z T ... */
	uint64_t start_ticks; /* since boot: with the pid it names a process for ever */
};
/* Parses /proc/PID/stat; the command may hold any byte. -EINVAL. Fuzzed. */
int wz_proc_stat_parse(struct wz_str text, struct wz_proc_stat *ret);
/* -ESRCH when there is no such process. */
int wz_proc_stat(pid_t pid, struct wz_proc_stat *ret);

/* All that descend from `root` (without it), zombies left out: up to cap pids. Returns how many there are, or -errno.
 * With PR_SET_CHILD_SUBREAPER on in `root`, that is everything it ever started and that still lives. O(processes). */
int wz_proc_descendants(pid_t root, pid_t *pids, unsigned cap);
/* Sends `sig` to each of them once; returns how many there were. */
int wz_proc_signal_descendants(pid_t root, int sig);
/* The same for all of one session (all that was started by a session leader that is gone and did not setsid). */
int wz_proc_signal_session(pid_t sid, int sig);
/* And for all that were started with this "NAME=VALUE" in their environment, as far as we may look at them. */
int wz_proc_signal_env(const char *variable, int sig);

/* "TERM", "SIGTERM" or "15" to a number; -EINVAL. */
int wz_proc_signal_parse(struct wz_str name, int *ret);

#endif
