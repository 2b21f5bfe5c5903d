/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server for unix sockets, TCP and TLS, behind one function: `request`, which is called with each whole
 * request and answers it now or later. Parsing is strict (os/http_parse.h); connections, bytes and times are bounded.
 *
 *	static void hello(void *ctx, struct wz_http_req *r)
 *	{
 *		wz_http_reply(r, 200, &(struct wz_http_answer){.type = "text/plain", .body = WZ_STR("hello\n")});
 *	}
 *
 * Ownership: from the call of `request` on, the handler owns the request and everything it shows (head, body, peer) until
 * it calls wz_http_reply or wz_http_stream_end, exactly once, which end it. The client may go away meanwhile: `on_gone`
 * is called once, the request stays valid, what is written goes nowhere, and the ending call is still due. That holds
 * after wz_http_server_free too.
 *
 * Order: requests of one connection are handled one after the other (pipelined ones wait in the socket), those of
 * different connections in any order. Thread rule: all on the loop's thread. Not answered within `answer_us`: the client
 * gets 504 and the request becomes one whose client has gone. */
#ifndef WZ_OS_HTTP_H
#define WZ_OS_HTTP_H

#include "os/http_parse.h"
#include "os/loop.h"
#include "os/sock.h"
#include "os/tls.h"

struct wz_http_limits {
	uint32_t connections; /* in all */
	uint32_t connections_per_peer; /* of one uid or one address */
	uint32_t
	        connections_reserved; /* the last ones are for uid 0 and our own uid, so that an admin always gets in */
	size_t body_bytes;
	size_t stream_bytes; /* wz_http_stream_write refuses beyond: the client does not read */
	int64_t idle_us; /* between two requests */
	int64_t head_us; /* from the first byte of a head to its last; TLS handshake */
	int64_t body_us; /* from the head to the last byte of the body, at the least */
	uint32_t body_bytes_per_s; /* slower bodies than this are cut off after body_us */
	int64_t write_us; /* without progress of writing */
	int64_t answer_us; /* the handler's time; streams: to their begin */
};
extern const struct wz_http_limits
        wz_http_limits_default; /* 1024, 256, 8, 8 MiB, 1 MiB, 60 s, 10 s, 20 s, 64 kB/s, 30 s, 60 s */

struct wz_http_conn;
struct wz_http_req {
	const struct wz_http_head *head;
	struct wz_str body;
	const struct wz_peer *peer;
	void **conn_data; /* one pointer a connection, for what belongs to its identity; see conn_closed; NULL once gone */
	/* The handler's: */
	void (*on_gone)(struct wz_http_req *r); /* may be NULL */
	void (*on_drain)(struct wz_http_req *r); /* a stream has less than half of stream_bytes queued again */
	void *data;
	/* http.c's: */
	struct wz_http_conn *conn;
};

struct wz_http_answer {
	const char *type; /* NULL: no body */
	struct wz_str body; /* copied */
	struct wz_str headers; /* whole lines, "Name: value\r\n"; the caller vouches for them */
	bool close; /* the connection too */
};

struct wz_http_server;
struct wz_http_handler {
	void *ctx;
	void (*request)(void *ctx, struct wz_http_req *r);
	/* A request that never reached `request`: refused by the parser, too slow, too large, or one too many (peer may be
	 * NULL then). For counting. May be NULL. */
	void (*refused)(void *ctx, const struct wz_peer *peer, unsigned status, const char *reason);
	void (*conn_closed)(void *ctx, void *conn_data); /* only when conn_data is not NULL; may be NULL */
};

/* -ENOMEM. `limits` NULL: the default. The handler is copied. */
int wz_http_server_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_http_limits *limits,
        const struct wz_http_handler *h, struct wz_http_server **ret);
/* Closes all connections (on_gone for what is in the handler's hands) and listeners. Accepts NULL. The sockets are closed by
 * the next round of the loop, or by wz_loop_free. */
void wz_http_server_free(struct wz_http_server *s);
/* Accepts at fd (listening, non-blocking), which is the server's from now on, on success. `tls` NULL: plain; else it
 * outlives the server. -ENOMEM. */
int wz_http_listen(struct wz_http_server *s, int fd, struct wz_tls *tls);
/* Graceful end: no new connections; idle ones close; the others close after their present answer; streams are ended by
 * their handlers. wz_http_connections reaches 0. */
void wz_http_drain(struct wz_http_server *s);
uint32_t wz_http_connections(const struct wz_http_server *s);
bool wz_http_draining(const struct wz_http_server *s);

/* Ends the request. HEAD gets the headers alone. */
void wz_http_reply(struct wz_http_req *r, unsigned status, const struct wz_http_answer *a);

/* A body that comes bit by bit: begin once, write as often as it takes, end. `headers` as in wz_http_answer. */
void wz_http_stream_begin(struct wz_http_req *r, unsigned status, const char *type, struct wz_str headers);
/* 0: queued. -EAGAIN: nothing was queued, since more than stream_bytes wait; on_drain tells when to go on. -EPIPE: the
 * client has gone (or asked HEAD): end the stream. */
int wz_http_stream_write(struct wz_http_req *r, struct wz_str bytes);
size_t wz_http_stream_queued(const struct wz_http_req *r); /* bytes not yet in the kernel */
void wz_http_stream_end(struct wz_http_req *r);
/* Ends a stream that is not whole: the connection is cut without the last chunk, so that the client notices. */
void wz_http_stream_abort(struct wz_http_req *r);

bool wz_http_gone(const struct wz_http_req *r);
/* {"error":{...}}: the form of every error this server writes itself; spec/api.md. */
void wz_http_error_body(
        struct wz_buf *b, unsigned status, const char *reason, struct wz_str text, struct wz_str field);

#endif
