/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim's files share: shim.c (start, loop, end), shim_job.c (the job's processes: stopping, preempting, killing),
 * shim_talk.c (the control socket, the job's own socket). */
#ifndef WZ_AGENT_SHIM_INT_H
#define WZ_AGENT_SHIM_INT_H

#include "agent/shim_log.h"
#include "os/clock.h"

#define CLIENTS_MAX 8
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

static inline uint64_t shim_now_ms(void) { return wz_clock_monotonic_ns() / 1000000u; }

static inline uint64_t shim_after(uint64_t ms)
{
	return shim_now_ms() + (ms < 1000ULL * 86400 * 36500 ? ms : 1000ULL * 86400 * 36500);
}

/* shim_job.c */
void shim_signal_all(struct shim *s, int sig);
void shim_set_frozen(struct shim *s, bool frozen);
void shim_reap(struct shim *s);
bool shim_empty(struct shim *s); /* nothing of the job is alive */
void shim_on_ack(struct shim *s); /* the job says that its checkpoint is complete */
bool shim_acked_by_file(void);
/* Signal 0 and grace UINT64_MAX: as the spec says. */
void shim_stop(struct shim *s, int sig, uint64_t grace, bool preempt, const char *reason);
void shim_on_timers(struct shim *s);
bool shim_tracked(const struct shim *s);

/* shim_talk.c */
void shim_say_all(struct shim *s, const char *text);
void shim_live_usage(struct shim *s);
void shim_on_client(struct shim *s, int i);
void shim_on_connect(struct shim *s);
void shim_on_sock(struct shim *s);
void shim_on_inotify(struct shim *s);
void shim_save(struct shim *s, bool durable);

#endif
