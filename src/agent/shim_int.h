/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim's files share: shim.c (start, loop, end), shim_job.c (the job's processes: stopping, preempting, killing),
 * shim_talk.c (the control socket, the job's own socket), shim_tty.c (the job's terminal and who looks at it). */
#ifndef WZ_AGENT_SHIM_INT_H
#define WZ_AGENT_SHIM_INT_H

#include "agent/shim_log.h"
#include "os/clock.h"

#define CLIENTS_MAX 8
#define VIEWERS_MAX 16
#define TYPED_MAX 8192u /* one message of a viewer; typed bytes that the job has not taken yet: twice that */
#define NEVER UINT64_MAX

enum step { RUN, WARNED, TERMED, KILLING };
enum slot {
	P_SIG,
	P_CTL,
	P_SOCK,
	P_INOTIFY,
	P_LOG,
	P_ROOM = P_LOG + 2,
	P_TTY = P_ROOM + 2,
	P_TYPE,
	P_CLIENT,
	P_VIEWER = P_CLIENT + CLIENTS_MAX,
	P_N = P_VIEWER + VIEWERS_MAX
};

/* One stream of the job's output. */
struct shim_out {
	int pipe; /* to be read; the terminal's master side for a job that has one; -1: at its end */
	struct wz_shim_log log;
};

struct shim_tty {
	int master, slave, listener; /* slave: kept open while the main process lives, so that its gaps are no end */
	struct {
		int fd;
		uint64_t at; /* in all that the job printed */
	} viewer[VIEWERS_MAX];
	char typed[2 * TYPED_MAX];
	size_t n_typed;
	uint64_t alone_since;
};

struct shim {
	int dir, ctl, sock, sig, inotify, client[CLIENTS_MAX];
	struct shim_out out[2]; /* output and errors; errors' own log is not always there */
	struct shim_tty tty;
	struct wz_attempt_spec spec;
	struct wz_attempt_status st;
	enum step step;
	bool main_gone, no_children, checking; /* checking: a checkpoint was asked for, without a stop */
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
bool shim_checkpoint(struct shim *s); /* asks for one; false: the contract has no way to */
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
bool shim_may_talk(int fd); /* the peer is root or we ourselves */

/* shim_tty.c */
int shim_tty_open(struct shim *s, int *ret_slave, struct wz_err *err);
void shim_tty_close(struct shim *s);
void shim_tty_on_connect(struct shim *s);
void shim_tty_on_viewer(struct shim *s, int i);
void shim_tty_show(struct shim *s, int i); /* sends what the viewer has not seen, as far as it takes it */
bool shim_tty_behind(const struct shim *s, int i);
void shim_tty_type(struct shim *s); /* gives the job what was typed, as far as it takes it */
uint64_t shim_tty_alone_until(const struct shim *s); /* when it is stopped because nobody looks; NEVER */

#endif
