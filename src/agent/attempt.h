/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of one attempt: what the agent and the shim share, and what a restarted agent finds (spec/agent.md).
 *
 *	STATE/attempts/JOB.TASK.ATTEMPT/   0711
 *	    spec     0600  all the shim needs; written before the shim starts, never changed
 *	    status   0600  written by the shim, whole or not at all; the last one says how the attempt ended
 *	    lock     0600  the shim holds flock(2) on it while it lives: no pid to be reused, no file to be stale
 *	    ctl      0600  the shim's socket; tty: of the terminal, when there is one
 *	    run/     0700  of the job's user: script, preempt, ack, sock, hosts
 *
 * Both files are records "key=value", ended by a NUL byte in spec (a value may hold any other byte) and by a newline in
 * status. Unknown keys are skipped, so that a shim and an agent of neighbouring versions understand each other. */
#ifndef WZ_AGENT_ATTEMPT_H
#define WZ_AGENT_ATTEMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "os/cgroup.h"
#include "os/joblog.h"
#include "os/proc.h"

#define WZ_ATTEMPT_KEY_MAX 48u /* "18446744073709551615.65535.4294967295" and its NUL */
#define WZ_ATTEMPT_SPEC_MAX (16u << 20)
#define WZ_ATTEMPT_RLIMITS_MAX 16u

struct wz_attempt_id {
	uint64_t job;
	uint32_t task, attempt;
};
static inline bool wz_attempt_id_eq(struct wz_attempt_id a, struct wz_attempt_id b)
{
	return a.job == b.job && a.task == b.task && a.attempt == b.attempt;
}
void wz_attempt_key(struct wz_attempt_id id, char ret[WZ_ATTEMPT_KEY_MAX]);
int wz_attempt_key_parse(struct wz_str key, struct wz_attempt_id *ret); /* the inverse; -EINVAL */

enum wz_attempt_ack { WZ_ATTEMPT_ACK_NONE, WZ_ATTEMPT_ACK_FILE, WZ_ATTEMPT_ACK_SOCKET };

/* Strings are views of NUL-terminated text (so .ptr is a C string); the empty view: not given. */
struct wz_attempt_spec {
	const char **argv, **env; /* NULL-terminated; `n` counts without it */
	uint32_t n_argv, n_env;
	gid_t *groups;
	uint32_t n_groups;
	struct wz_str cwd, log_dir, log_name, boot;
	struct wz_str node; /* name; with `devices`, a mask of its device indices, for whoever adopts */
	int64_t devices;
	int64_t switch_user, uid, gid, umask; /* umask -1: as it is */
	struct wz_str err_dir, err_name; /* standard errors' own log; empty: they go where output goes */
	struct wz_str log_banner; /* a line before the first byte of a log that has bytes already */
	int64_t log_as_user; /* bit 0: of output, bit 1: of errors: it is the user's own file, opened as them, without a cap */
	int64_t log_head, log_tail; /* bytes; 0, 0: no cap */
	int64_t signal, grace_ms; /* how a stop begins, and how long before KILL */
	int64_t leftover_ms; /* grace for what the main process leaves behind */
	int64_t time_ms; /* limit of its own; 0: none (the core's deadline stops it) */
	int64_t preempt_signal, preempt_grace_ms, preempt_ack; /* 0: no signal; the contract */
	int64_t no_new_privs, nice, oom_score_adj;
	int64_t pty, rows, cols; /* a terminal (DIR/tty), and its first size */
	int64_t pty_alone_ms; /* nobody looks at the terminal for so long: the job is stopped; 0: never */
	struct wz_proc_limit limits[WZ_ATTEMPT_RLIMITS_MAX];
	uint32_t n_limits;
	struct wz_cgroup cgroup;
};

void wz_attempt_spec_format(const struct wz_attempt_spec *s, struct wz_buf *b);
/* Views and arrays live in `arena` and `text`. -EINVAL "BadSpec"; -ENOMEM. Fuzzed. */
int wz_attempt_spec_parse(
        struct wz_str text, struct wz_arena *arena, struct wz_attempt_spec *ret, struct wz_err *err);

/* STARTING is written before the command is started: from then on something of it may live, whoever is killed. */
enum wz_attempt_phase {
	WZ_ATTEMPT_NONE,
	WZ_ATTEMPT_RUNNING,
	WZ_ATTEMPT_CLEANING,
	WZ_ATTEMPT_ENDED,
	WZ_ATTEMPT_STARTING
};
extern const char *const wz_attempt_phases[]; /* "none", "running", "cleaning", "ended", "starting" */
static inline bool wz_attempt_seen(uint8_t phase) /* its command was seen alive */
{
	return phase == WZ_ATTEMPT_RUNNING || phase == WZ_ATTEMPT_CLEANING;
}

/* What made it end: the last thing that the shim did to it. */
enum wz_attempt_why {
	WZ_WHY_EXITED, /* by itself */
	WZ_WHY_STOPPED, /* we were told to stop it; stop_reason says why */
	WZ_WHY_TIMEOUT, /* its own time limit */
	WZ_WHY_LAUNCH_FAILED, /* the command never ran: launch_reason, launch_text */
	WZ_WHY_NODE_LOST, /* the machine was started anew */
	WZ_WHY_SHIM_LOST, /* the shim was killed; the exit status is not known */
	WZ_WHY_N
};
extern const char *const wz_attempt_whys[]; /* "exited", "stopped", "timeout", ... */

struct wz_attempt_status {
	uint8_t phase, why; /* enums above */
	uint8_t frozen, acked; /* acked: the job said that its checkpoint is complete before it was stopped */
	int64_t pid, pid_ticks; /* the main process and its start time */
	int64_t started_us, ended_us; /* wall clock */
	int64_t exit_code, exit_signal, core_dumped; /* exit_code -1: killed by exit_signal; both -1: not known */
	int64_t oom_kills; /* -1 unknown */
	int64_t left; /* CLEANING: processes that still live */
	int64_t cpu_us, mem_peak_bytes, mem_limit_bytes; /* -1 unknown */
	int64_t log_bytes, log_lost, log_gap_at, log_gap_bytes, log_gap_marker;
	char boot[WZ_BOOT_ID_LEN + 1];
	char stop_reason[32]; /* as told: "Preempted", "Cancelled", ... */
	char launch_reason[32], launch_text[192];
	char tracked[24]; /* "cgroup2", "cgroup1" or "descendants" */
};
void wz_attempt_status_init(struct wz_attempt_status *s);
void wz_attempt_status_format(const struct wz_attempt_status *s, struct wz_buf *b);
int wz_attempt_status_parse(struct wz_str text, struct wz_attempt_status *ret); /* -EINVAL. Fuzzed. */
/* DIR/status. Reading: -ENOENT when there is none yet. */
int wz_attempt_status_read(int dirfd, struct wz_attempt_status *ret);
/* Replaced as a whole; `durable`: synced to the disk as well. */
int wz_attempt_status_write(int dirfd, const struct wz_attempt_status *s, bool durable);

/* Takes DIR/lock without waiting. A descriptor to close, -EWOULDBLOCK when a shim lives, -errno. */
int wz_attempt_lock(int dirfd);

#endif
