/* SPDX-License-Identifier: Apache-2.0 */
/* What a body (serve, kube) implements so that the API can answer. One function an operation, each with the same shape:
 *
 *	void job_hold(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq);
 *
 * It answers `c` exactly once, now or later (a submit answers when its commit is on disk), by one of:
 *	wz_api_fail(c, &err)		the errno becomes the HTTP status, reason and text go to the client
 *	wz_api_done(c)			{"ok":true}
 *	wz_api_reply_TYPE(c, &item)	one resource
 *	wz_api_item_TYPE(c, &item) ..., wz_api_list_end(c, next)	a list; the route says of what
 *	wz_api_stream_begin(c) ... wz_api_stream_end(c)	bytes
 * Items are copied at once. `rq`, wz_api_call_who() and their strings live until the answer. The client may have gone by
 * then: answer all the same (wz_api_call_gone tells, for work that is then not worth doing). All on the loop's thread.
 *
 * Already checked when an operation is called: the identity, its role, the rate limit, the request against its table, and
 * for routes of the owner's (wz_route.owner) that the job exists and belongs to who asks, or that who asks is an admin.
 * Private fields of other people's jobs are left out by the API; a body fills them always. An operation that is NULL is
 * answered 501 "NotSupported". */
#ifndef WZ_API_BACKEND_H
#define WZ_API_BACKEND_H

#include "api/auth.h"
#include "api/metrics.h"
#include "api/resource.h"

struct wz_api_call;

/* ---- answering ---- */

const struct wz_api_who *wz_api_call_who(const struct wz_api_call *c);
const char *wz_api_call_id(const struct wz_api_call *c); /* the request's id, for logs: 16 hexadecimal digits */
bool wz_api_call_gone(const struct wz_api_call *c);
struct wz_arena *wz_api_call_arena(struct wz_api_call *c); /* lives as long as the call */
void **wz_api_call_data(struct wz_api_call *c); /* one pointer for the body's own use */
bool wz_api_call_admin(const struct wz_api_call *c);

/* -EINVAL, -ERANGE, -EBADMSG 400 · -EACCES, -EPERM 403 · -ENOENT 404 · -EEXIST, -EALREADY, -ESTALE, -EBUSY, -ECANCELED
 * 409 · -E2BIG, -EFBIG 413 · -EDQUOT, -EAGAIN 429 · -EOPNOTSUPP, -ENOSYS 501 · -ENOMEM, -ECONNREFUSED, -ESHUTDOWN 503 ·
 * -ETIMEDOUT 504 · -ENOSPC 507 · others 500. */
void wz_api_fail(struct wz_api_call *c, const struct wz_err *err);
void wz_api_fail_field(
        struct wz_api_call *c, const struct wz_err *err, const char *field); /* which field is wrong */
void wz_api_done(struct wz_api_call *c);

void wz_api_reply(
        struct wz_api_call *c, const struct wz_api_type *t, const void *item); /* t is the route's (asserted) */
void wz_api_item(struct wz_api_call *c, const struct wz_api_type *t, const void *item);
void wz_api_list_end(struct wz_api_call *c, uint64_t next); /* next: cursor of the next page; 0: that was all */

#define WZ_API_ANSWERS(name) \
	static inline void wz_api_reply_##name(struct wz_api_call *c, const struct wz_api_##name *item) \
	{ \
		wz_api_reply(c, &wz_type_##name, item); \
	} \
	static inline void wz_api_item_##name(struct wz_api_call *c, const struct wz_api_##name *item) \
	{ \
		wz_api_item(c, &wz_type_##name, item); \
	}
WZ_API_ANSWERS(job)
WZ_API_ANSWERS(attempt)
WZ_API_ANSWERS(why)
WZ_API_ANSWERS(node)
WZ_API_ANSWERS(device)
WZ_API_ANSWERS(queue)
WZ_API_ANSWERS(reservation)
WZ_API_ANSWERS(usage)
WZ_API_ANSWERS(check)
WZ_API_ANSWERS(info)
WZ_API_ANSWERS(submitted)
WZ_API_ANSWERS(audit_line)
WZ_API_ANSWERS(reloaded)
WZ_API_ANSWERS(board)
WZ_API_ANSWERS(span)
WZ_API_ANSWERS(sample)
WZ_API_ANSWERS(repack)
WZ_API_ANSWERS(change)
WZ_API_ANSWERS(snapshot)
#undef WZ_API_ANSWERS

/* Bytes that come bit by bit. write: 0; -EAGAIN: nothing was taken, on_drain(c) tells when to go on; -EPIPE: the client has
 * gone: end it. The callbacks may be NULL. on_gone is called at most once, before that end. */
void wz_api_stream_begin(
        struct wz_api_call *c, void (*on_drain)(struct wz_api_call *c), void (*on_gone)(struct wz_api_call *c));
int wz_api_stream_write(struct wz_api_call *c, struct wz_str bytes);
void wz_api_stream_end(struct wz_api_call *c);
void wz_api_stream_abort(struct wz_api_call *c); /* it is not whole: the client notices */

/* ---- the operations ---- */

/* X(operation, request) in the order of the route table (route.c). */
#define WZ_API_OPERATIONS(X) \
	X(job_submit, submit) \
	X(job_list, job_query) \
	X(job_get, job_ref) \
	X(job_edit, job_edit) \
	X(job_cancel, job_cancel) \
	X(job_hold, job_hold) \
	X(job_release, job_hold) \
	X(job_requeue, job_hold) \
	X(job_suspend, job_ref) \
	X(job_resume, job_ref) \
	X(job_signal, job_signal) \
	X(job_report, job_report) \
	X(job_why, job_ref) \
	X(job_attempts, job_ref) \
	X(job_logs, job_logs) \
	X(job_terminal, job_terminal) \
	X(job_type, job_type) \
	X(snapshot_put, snapshot_put) \
	X(node_list, nothing) \
	X(node_get, node_ref) \
	X(node_drain, node_drain) \
	X(node_undrain, node_ref) \
	X(device_list, device_query) \
	X(board, board_query) \
	X(whatif, whatif_query) \
	X(repack_get, repack_query) \
	X(repack_ask, repack_ask) \
	X(samples, sample_query) \
	X(timeline, timeline_query) \
	X(queue_list, nothing) \
	X(queue_set, queue_set) \
	X(queue_remove, name_ref) \
	X(reservation_list, nothing) \
	X(reservation_set, reservation_set) \
	X(reservation_remove, name_ref) \
	X(usage, usage_query) \
	X(info, nothing) \
	X(doctor, nothing) \
	X(audit_list, audit_query) \
	X(reload, nothing)

struct wz_api_backend {
#define X(op, rq) void (*op)(void *ctx, struct wz_api_call *c, const struct wz_api_##rq *rq);
	WZ_API_OPERATIONS(X)
#undef X
	/* Whose job that is, by name (uid -1) or uid. 0, -ENOENT. Must know ended jobs too. Never NULL. */
	int (*job_owner)(void *ctx, uint64_t job, struct wz_str *ret_name, int64_t *ret_uid);
	/* True when it takes work; else `why` says what is missing. NULL: always. */
	bool (*ready)(void *ctx, struct wz_buf *why);
	/* Sets the gauges of the body's own tables, before /metrics is written. May be NULL. */
	void (*collect)(void *ctx, struct wz_metrics *m);
};

#endif
