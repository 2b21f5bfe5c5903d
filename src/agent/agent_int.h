/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's files share: agent.c (loop, link, sensing), start.c (from a message to a shim), tend.c (attempts that
 * exist: talking to shims, adopting, settling). */
#ifndef WZ_AGENT_AGENT_INT_H
#define WZ_AGENT_AGENT_INT_H

#include "agent/agent.h"
#include "agent/attempt.h"
#include "agent/sample.h"
#include "agent/wire.h"

enum tend_state {
	TEND_ALIVE, /* a shim holds the lock */
	TEND_SETTLING, /* no shim: what it left must be gone before it has ended */
	TEND_ENDED, /* its end is known; the server has not acknowledged */
};

struct tended {
	struct wz_attempt_id id;
	uint8_t state; /* enum tend_state */
	bool adopted, cleaning, respawned, looked, told; /* told: `running` was sent on this connection */
	int dir, ctl; /* ctl -1: not connected (again at retry_us) */
	pid_t shim; /* our child; 0: adopted */
	pid_t shim_seen; /* the parent of the main process, adopted or not; 0: not looked at */
	uint64_t retry_us; /* monotonic; UINT64_MAX: nothing to retry */
	uint32_t node;
	uint64_t devices; /* mask on the node */
	struct wz_attempt_status st; /* as last read */
	int64_t ended_msg; /* id of the `ended` that was sent on this connection; 0: none */
	char node_name[128], warnings[512]; /* warnings: by newlines */
};

struct agent {
	const struct wz_agent_options *o;
	const struct wz_mem *mem;
	int state, attempts, closed; /* directories */
	int lock, sig;
	char shim[4096], boot[WZ_BOOT_ID_LEN + 1], state_path[3072];
	bool privileged, no_cgroup;
	struct wz_cgroup_fs fs;
	struct tended *t;
	uint32_t n, cap;
	struct wz_inventory inv;
	struct wz_sampler sampler;
	const struct wz_device_provider *provider;
	/* the link */
	int link;
	uint64_t link_retry_us, link_wait_us;
	struct wz_buf in, out; /* out_done: bytes of out that are written */
	size_t out_done;
	int64_t next_id;
	struct wz_arena arena; /* of one message */
};

void agent_log(struct agent *a, const char *what, const char *detail);
uint64_t agent_now_us(void); /* monotonic */

/* agent.c: queues a message; its id is filled in when it is 0. Without a link nothing is kept: a new link begins with all facts. */
int64_t agent_send(struct agent *a, struct wz_wire_msg *m);
void agent_error(struct agent *a, int64_t re, const struct wz_err *err);
void agent_notice(struct agent *a, const char *reason, const char *text);
/* Tells the provider what our work uses of the attempt's devices. */
void agent_use(struct agent *a, const struct tended *t, const struct wz_device_use *use);

/* start.c */
int agent_start(struct agent *a, const struct wz_wire_msg *m, struct wz_err *err);
int agent_spawn_shim(struct agent *a, const char *key, int *ret_ctl, pid_t *ret_pid, struct wz_err *err);

/* tend.c */
struct tended *tend_find(struct agent *a, struct wz_attempt_id id);
struct tended *tend_add(struct agent *a, struct wz_attempt_id id, int dir);
void tend_drop(struct agent *a, struct tended *t);
bool tend_was_closed(struct agent *a, struct wz_attempt_id id);
int tend_adopt_all(struct agent *a, struct wz_err *err);
void tend_ctl(struct agent *a, struct tended *t); /* ctl is readable or ended */
void tend_retry(struct agent *a, struct tended *t); /* retry_us has come */
void tend_announce(struct agent *a, struct tended *t); /* to a new link: running or ended */
void tend_running(struct agent *a, struct tended *t);
/* The job that a process of this machine belongs to, by its ancestors (whatever a job starts stays below its shim); 0: none. */
uint64_t tend_job_of(struct agent *a, int64_t pid);
void tend_acked(struct agent *a, int64_t re); /* the server has an `ended` */
/* A request to the shim: "stop 15 1000 0 Reason". 0; -ENOTCONN when it is not reachable now (it is retried). */
int tend_tell(struct tended *t, const char *request);

/* secret.c: makes the directory and fills it; its path in ret_path. uid -1: ours. -EEXIST and other errnos. */
int secret_make(struct agent *a, const char *key, int run, const struct wz_str *v, uint32_t n, uid_t uid, gid_t gid,
        const char *run_path, char *ret_path, size_t cap, struct wz_err *err);
void secret_unmake(struct agent *a, const char *key); /* nothing is fine */

#endif
