/* SPDX-License-Identifier: Apache-2.0 */
/* The shim's end of the job's output pipe: read by the main thread, written to the log (os/joblog.h) by a thread of its
 * own, with a ring between them. A disk that is slow slows the job down by the ring and the pipe, as any program that
 * writes would be; after WZ_SHIM_STALL_MS without room the output is thrown away and counted, so that a disk that hangs
 * does not hang the job. */
#ifndef WZ_AGENT_SHIM_LOG_H
#define WZ_AGENT_SHIM_LOG_H

#include "agent/attempt.h"

#include <pthread.h>

#define WZ_SHIM_RING_BYTES (1u << 20)
#define WZ_SHIM_STALL_MS 2000u

struct wz_shim_log {
	struct wz_joblog log;
	int dir, room_fd; /* room_fd: readable when the ring has room again */
	int64_t fs_uid, fs_gid; /* the thread opens segments as them; -1: as it is */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	char *ring;
	uint64_t in, out; /* bytes ever put in and taken out */
	uint64_t lost, full_since_ms;
	bool started, done;
};

/* Opens the log of output, or that of errors, by the spec (as the user when it is theirs) and starts the thread. -errno
 * "LogFailed". */
int wz_shim_log_open(struct wz_shim_log *l, const struct wz_attempt_spec *spec, bool errors, struct wz_err *err);
/* May the pipe be read now? When not, wait for room_fd, at most until *ret_wait_ms from now. */
bool wz_shim_log_ready(struct wz_shim_log *l, uint64_t now_ms, int *ret_wait_ms);
/* What came last and is still in the ring, from `at` on (of all bytes ever taken) or from where the ring begins: at most
 * one piece of it, which ends before the ring's end. Valid until the next take. Sets *ret_at to where the piece begins. */
struct wz_str wz_shim_log_recent(const struct wz_shim_log *l, uint64_t at, uint64_t *ret_at);
/* Reads once from the pipe. Bytes, 0 at its end, -EAGAIN when it is empty. */
ssize_t wz_shim_log_take(struct wz_shim_log *l, int pipe, uint64_t now_ms);
/* Writes all that is left, closes. Not opened: does nothing. Fills the log fields of *status (NULL: adds what was lost
 * nowhere). */
void wz_shim_log_close(struct wz_shim_log *l, struct wz_attempt_status *status);

#endif
