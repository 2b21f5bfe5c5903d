/* SPDX-License-Identifier: Apache-2.0 */
/* Tells people what became of their jobs: commands, webhooks, mail, as the configuration lists them (spec/config.md).
 *
 * wz_notify_job hands a note over and returns at once. Four threads deliver; a delivery that fails is tried again after
 * 1 s, 2 s, 4 s, ... (60 s at most) up to the target's `tries`. What cannot be queued (4096 in all, 512 for one target,
 * so that one that is dead cannot crowd out the others) is dropped and counted. Notes are in memory alone: those that are
 * not out when the daemon ends are lost, and the log says how many.
 *
 * What a job brings along (its name, its user's name) never becomes part of a command line: it stands in the environment
 * (WZ_*) and as JSON on standard input. Thread rule: all functions from one thread. */
#ifndef WZ_SERVE_NOTIFY_H
#define WZ_SERVE_NOTIFY_H

#include "serve/config.h"

struct wz_notify;

/* What is told. Copied. */
struct wz_notice_job {
	uint64_t job;
	uint32_t what; /* one bit of enum wz_notice, or ENDED | FAILED */
	struct wz_str name, user, state, text; /* state: "FAILED"; text: how it ended, for people; may be empty */
	struct wz_str asked; /* the job's own `notify` */
	uint32_t attempt;
	int64_t exit_code, exit_signal, time_us;
};
struct wz_notify_stats {
	uint64_t sent, failed, dropped, retried, queued;
};

int wz_notify_new(const struct wz_mem *mem, struct wz_notify **ret, struct wz_err *err); /* `mem` is thread safe */
/* Waits at most `patience_us` for what is under way, drops the rest. Accepts NULL. */
void wz_notify_free(struct wz_notify *n, int64_t patience_us);
/* Queues one delivery for each target of `c` that wants it. */
void wz_notify_job(struct wz_notify *n, const struct wz_config *c, const struct wz_notice_job *j);
void wz_notify_stats(struct wz_notify *n, struct wz_notify_stats *ret);

/* ---- for tests ---- */
/* The body that a webhook gets, and for DingTalk what is added to its URL. `secret` empty: unsigned. */
int wz_notify_body(enum wz_target_format f, const struct wz_notice_job *j, struct wz_str host, struct wz_str secret,
        int64_t now_us, struct wz_buf *body, struct wz_buf *query);

#endif
