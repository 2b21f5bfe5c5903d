/* SPDX-License-Identifier: Apache-2.0 */
/* A small blocking HTTP client for the command line (libcurl): over the daemon's unix socket or TCP/TLS, with streamed
 * answers. One connection is kept between calls. Retrying is the caller's: on "DaemonUnreachable" and "Timeout" a call
 * with an idempotency key may be repeated.
 *
 * Errors are of the transport alone; an answer of any status is a success (see wz_httpc_reply.status).
 * -ECONNREFUSED "DaemonUnreachable" (nobody listens; says at which socket and what to do), -EACCES "NoPermission" (the
 * socket is not for us), -ETIMEDOUT "Timeout", -EPROTO "TlsFailed" (certificate not trusted and the like), -EINVAL
 * "BadAddress" (server string), -ECONNRESET "ConnectionLost" (in the middle), -E2BIG "AnswerTooLarge", -ECANCELED "Stopped" (the
 * callback said so), -ENOMEM. Thread rule: one client, one thread. */
#ifndef WZ_OS_HTTPC_H
#define WZ_OS_HTTPC_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct wz_httpc;

struct wz_httpc_config {
	const char *server; /* "/run/whalezen/wz.sock", "unix:PATH", "http://HOST:PORT", "https://HOST:PORT" */
	const char *
	        token; /* bearer token; NULL: none. Sent over https and unix sockets, and over http to loopback alone */
	const char *ca_file; /* PEM; NULL: the system's */
	const char *hint; /* what to do when nobody listens; NULL: a text about `wz serve` */
	uint32_t connect_ms; /* 0: 5000 */
	size_t answer_max; /* of a collected answer; 0: 64 MiB */
};

/* Copies what it needs. */
int wz_httpc_new(
        const struct wz_httpc_config *c, const struct wz_mem *mem, struct wz_httpc **ret, struct wz_err *err);
void wz_httpc_free(struct wz_httpc *c); /* accepts NULL */

struct wz_httpc_call {
	const char *method; /* "GET" */
	const char *path; /* "/v1/jobs?state=running", escaped */
	struct wz_str body; /* ptr NULL: none */
	const char *type; /* of the body; NULL: application/json */
	const char *idempotency_key; /* NULL: none */
	const char *header; /* one more header line, "Name: value"; NULL: none */
	uint64_t last_event_id; /* 0: none; else this is a resumed event stream */
	uint32_t total_ms; /* 0: no limit (streams); the caller of an ordinary call gives one */
	uint32_t silence_ms; /* a stream that sends nothing for so long has failed; 0: no limit */
	/* When not NULL a 2xx body goes here as it comes, instead of into the reply. Below 0: stop. Also called with an
	 * empty view about once a second, so that the caller can look at its signals. */
	int (*data)(void *ctx, struct wz_str bytes);
	void *ctx;
};

struct wz_httpc_reply {
	unsigned status;
	struct wz_buf body; /* the caller inits nothing and releases it */
	uint32_t retry_after_s; /* 0: the server said nothing */
	char request_id[40]; /* "" when it said none */
	char type[64];
};

/* ret->body is valid, perhaps empty, on success only. */
int wz_httpc_do(
        struct wz_httpc *c, const struct wz_httpc_call *call, struct wz_httpc_reply *ret, struct wz_err *err);

#endif
