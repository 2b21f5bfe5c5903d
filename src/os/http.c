/* SPDX-License-Identifier: Apache-2.0 */
/* A connection is a small machine over a libevent bufferevent:
 *
 *	HEAD ──▶ BODY ──▶ ANSWER ──▶ (STREAM) ──▶ HEAD
 *	   └──────┴── refused ──────────┴──▶ FLUSH ──▶ LINGER ──▶ closed
 *
 * process() steps it until it must wait. A request is a block of its own, so that it can outlive the connection. Every
 * state has a deadline: one timer per connection, and libevent's write timeout for a client that does not read. LINGER
 * reads on for a moment after the last answer, since closing with unread input makes the kernel reset the connection and
 * the client lose the answer. */
#include "os/http.h"

#include "base/check.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AHEAD 65536u /* of pipelined requests, while one is being answered */
#define LINGER_US 2000000
#define ACCEPT_PAUSE_US 100000 /* after EMFILE */
#define LISTENERS_MAX 8u
#define ANSWER_HEAD_MAX 16384u

const struct wz_http_limits wz_http_limits_default = {
        .connections = 1024,
        .connections_per_peer = 256,
        .connections_reserved = 8,
        .body_bytes = 8u << 20,
        .stream_bytes = 1u << 20,
        .idle_us = 60000000,
        .head_us = 10000000,
        .body_us = 20000000,
        .body_bytes_per_s = 64000,
        .write_us = 30000000,
        .answer_us = 60000000,
};

enum state { HEAD, BODY, ANSWER, STREAM, FLUSH, LINGER };

struct request {
	struct wz_http_req pub; /* first */
	const struct wz_mem *mem;
	struct wz_http_head head;
	struct wz_peer peer;
	struct wz_buf head_bytes, body;
};

struct wz_http_conn {
	struct wz_http_server *server;
	struct wz_http_conn *prev, *next;
	struct bufferevent *bev;
	SSL *ssl;
	struct wz_timer timer;
	struct wz_peer peer;
	void *data;
	struct request *rq;
	struct wz_http_chunked chunks;
	size_t head_from;
	int64_t body_since_us;
	enum state state;
	bool processing, dead, eof, close_after, head_started, chunked_out, no_body;
};

struct listener {
	struct wz_http_server *server;
	struct evconnlistener *ev;
	struct wz_tls *tls;
};

struct wz_http_server {
	struct wz_loop *loop;
	const struct wz_mem *mem;
	struct wz_http_limits lim;
	struct wz_http_handler h;
	struct wz_http_conn *conns;
	uint32_t n_conns, n_listeners;
	struct listener listeners[LISTENERS_MAX];
	struct wz_timer accept_again;
	struct wz_buf scratch; /* the head of one answer */
	bool draining;
	time_t date_of;
	char date[40];
};

static void process(struct wz_http_conn *c);

/* ---- requests ---- */

static struct request *request_new(struct wz_http_conn *c)
{
	struct wz_http_server *s = c->server;
	struct request *rq = wz_mem_alloc(s->mem, sizeof *rq);
	if (!rq)
		return NULL;
	memset(&rq->pub, 0, sizeof rq->pub);
	rq->mem = s->mem;
	rq->peer = c->peer;
	wz_buf_init(&rq->head_bytes, s->mem, WZ_HTTP_HEAD_MAX);
	wz_buf_init(&rq->body, s->mem, s->lim.body_bytes);
	return rq;
}

static void request_free(struct request *rq)
{
	if (!rq)
		return;
	wz_buf_release(&rq->head_bytes);
	wz_buf_release(&rq->body);
	wz_mem_free(rq->mem, rq, sizeof *rq);
}

bool wz_http_gone(const struct wz_http_req *r)
{
	return !r->conn;
}

/* ---- the end of a connection ---- */

/* Takes the request out of the connection; when the handler has it, tells the handler. */
static void orphan(struct wz_http_conn *c)
{
	struct request *rq = c->rq;
	c->rq = NULL;
	if (!rq)
		return;
	if (c->state != ANSWER && c->state != STREAM) {
		request_free(rq);
		return;
	}
	rq->pub.conn = NULL;
	rq->pub.conn_data = NULL;
	if (rq->pub.on_gone)
		rq->pub.on_gone(&rq->pub);
}

static void destroy(struct wz_http_conn *c)
{
	struct wz_http_server *s = c->server;
	orphan(c);
	if (c->data && s->h.conn_closed)
		s->h.conn_closed(s->h.ctx, c->data);
	if (c->prev)
		c->prev->next = c->next;
	else
		s->conns = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n_conns--;
	wz_timer_release(&c->timer);
	bufferevent_free(c->bev); /* closes the fd, frees the SSL */
	wz_mem_free(s->mem, c, sizeof *c);
}

/* The caller touches the connection no more, unless it runs below process(). */
static void kill_conn(struct wz_http_conn *c)
{
	if (c->processing)
		c->dead = true;
	else
		destroy(c);
}

static size_t queued(const struct wz_http_conn *c)
{
	return evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* Out of memory in the middle of an answer: the connection ends soon, whoever is on the stack. */
static void doom(struct wz_http_conn *c)
{
	c->dead = true;
	wz_timer_set(&c->timer, 0);
}

/* ---- writing ---- */

static void put(struct wz_http_conn *c, struct wz_str s)
{
	if (s.len && bufferevent_write(c->bev, s.ptr, s.len) < 0)
		doom(c);
}

static struct wz_str date(struct wz_http_server *s)
{
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t now = time(NULL);
	struct wz_buf b;
	struct tm tm;
	wz_buf_init_fixed(&b, s->date, sizeof s->date);
	if (now == s->date_of)
		return wz_str(s->date);
	s->date_of = now;
	gmtime_r(&now, &tm);
	const int fields[] = {tm.tm_hour, tm.tm_min, tm.tm_sec};
	wz_buf_add(&b, (struct wz_str){days + 3 * tm.tm_wday, 3});
	wz_buf_addz(&b, tm.tm_mday < 10 ? ", 0" : ", ");
	wz_buf_add_i64(&b, tm.tm_mday);
	wz_buf_addc(&b, ' ');
	wz_buf_add(&b, (struct wz_str){months + 3 * tm.tm_mon, 3});
	wz_buf_addc(&b, ' ');
	wz_buf_add_i64(&b, 1900 + tm.tm_year);
	for (unsigned i = 0; i < 3; i++) {
		wz_buf_addz(&b, i ? ":" : " ");
		wz_buf_addz(&b, fields[i] < 10 ? "0" : "");
		wz_buf_add_i64(&b, fields[i]);
	}
	wz_buf_addz(&b, " GMT");
	return wz_str(wz_buf_z(&b));
}

/* `length` below 0: the body comes in chunks, or until the end when the client speaks 1.0. */
static void put_head(
        struct wz_http_conn *c, unsigned status, const char *type, struct wz_str headers, int64_t length)
{
	struct wz_http_server *s = c->server;
	struct wz_buf *b = &s->scratch;
	wz_buf_clear(b);
	wz_buf_addz(b, "HTTP/1.1 ");
	wz_buf_add_u64(b, status);
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, wz_http_status_text(status));
	wz_buf_addz(b, "\r\nDate: ");
	wz_buf_add(b, date(s));
	wz_buf_addz(b, "\r\n");
	if (type) {
		wz_buf_addz(b, "Content-Type: ");
		wz_buf_addz(b, type);
		wz_buf_addz(b, "\r\n");
	}
	if (length >= 0 && status != 204 && status != 304) {
		wz_buf_addz(b, "Content-Length: ");
		wz_buf_add_i64(b, length);
		wz_buf_addz(b, "\r\n");
	} else if (c->chunked_out) {
		wz_buf_addz(b, "Transfer-Encoding: chunked\r\n");
	}
	if (c->close_after)
		wz_buf_addz(b, "Connection: close\r\n");
	else if (c->rq && c->rq->head.minor == 0)
		wz_buf_addz(b, "Connection: keep-alive\r\n");
	wz_buf_add(b, headers);
	wz_buf_addz(b, "\r\n");
	if (b->status < 0)
		doom(c); /* headers beyond ANSWER_HEAD_MAX are the handler's fault */
	else
		put(c, wz_buf_str(b));
}

void wz_http_error_body(
        struct wz_buf *b, unsigned status, const char *reason, struct wz_str text, struct wz_str field)
{
	wz_buf_addz(b, "{\"error\":{\"code\":");
	wz_buf_add_u64(b, status);
	wz_buf_addz(b, ",\"reason\":");
	wz_buf_add_json(b, wz_str(reason));
	wz_buf_addz(b, ",\"text\":");
	wz_buf_add_json(b, text);
	if (field.len) {
		wz_buf_addz(b, ",\"field\":");
		wz_buf_add_json(b, field);
	}
	wz_buf_addz(b, "}}\n");
}

static void flush(struct wz_http_conn *c)
{
	c->state = FLUSH;
	bufferevent_setwatermark(c->bev, EV_WRITE, 0, 0);
	wz_timer_stop(&c->timer); /* the write timeout watches over it */
	if (queued(c) == 0)
		kill_conn(c);
}

/* Answers with an error of our own and closes. The request, if any, is still ours. */
static void refuse(struct wz_http_conn *c, unsigned status, const char *reason, struct wz_str text)
{
	struct wz_http_server *s = c->server;
	char bytes[1024];
	struct wz_buf b;
	if (s->h.refused)
		s->h.refused(s->h.ctx, &c->peer, status, reason);
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_http_error_body(&b, status, reason, text, WZ_STR(""));
	c->close_after = true;
	c->chunked_out = false;
	put_head(c, status, "application/json", (struct wz_str){NULL, 0}, (int64_t)b.len);
	put(c, wz_buf_str(&b));
	orphan(c);
	flush(c);
}

/* The request is over: on to the next one, or to the end. */
static void finish(struct wz_http_conn *c)
{
	request_free(c->rq);
	c->rq = NULL;
	c->no_body = c->chunked_out = false;
	if (c->close_after || c->server->draining) {
		flush(c);
		return;
	}
	c->state = HEAD;
	c->head_from = 0;
	c->head_started = false;
	wz_timer_set(&c->timer, c->server->lim.idle_us);
	if (!c->processing)
		process(c);
}

void wz_http_reply(struct wz_http_req *r, unsigned status, const struct wz_http_answer *a)
{
	struct wz_http_conn *c = r->conn;
	if (!c) {
		request_free((struct request *)r);
		return;
	}
	wz_check(c->state == ANSWER);
	c->close_after |= a->close || c->server->draining;
	put_head(c, status, a->type, a->headers, (int64_t)a->body.len);
	if (r->head->method != WZ_HTTP_HEAD)
		put(c, a->body);
	finish(c);
}

void wz_http_stream_begin(struct wz_http_req *r, unsigned status, const char *type, struct wz_str headers)
{
	struct wz_http_conn *c = r->conn;
	if (!c)
		return;
	wz_check(c->state == ANSWER);
	c->no_body = r->head->method == WZ_HTTP_HEAD;
	c->chunked_out = r->head->minor == 1;
	if (!c->chunked_out || c->server->draining)
		c->close_after = true;
	put_head(c, status, type, headers, -1);
	c->state = STREAM;
	wz_timer_stop(&c->timer);
	bufferevent_setwatermark(c->bev, EV_WRITE, c->server->lim.stream_bytes / 2, 0);
}

size_t wz_http_stream_queued(const struct wz_http_req *r)
{
	return r->conn ? queued(r->conn) : 0;
}

int wz_http_stream_write(struct wz_http_req *r, struct wz_str bytes)
{
	static const char hex[] = "0123456789abcdef";
	struct wz_http_conn *c = r->conn;
	char size[20];
	size_t n = sizeof size;
	if (!c || c->no_body)
		return -EPIPE;
	wz_check(c->state == STREAM);
	if (!bytes.len)
		return 0;
	if (queued(c) > c->server->lim.stream_bytes)
		return -EAGAIN;
	if (!c->chunked_out) {
		put(c, bytes);
		return 0;
	}
	size[--n] = '\n';
	size[--n] = '\r';
	for (size_t v = bytes.len; v; v >>= 4)
		size[--n] = hex[v & 15];
	put(c, (struct wz_str){size + n, sizeof size - n});
	put(c, bytes);
	put(c, WZ_STR("\r\n"));
	return 0;
}

void wz_http_stream_end(struct wz_http_req *r)
{
	struct wz_http_conn *c = r->conn;
	if (!c) {
		request_free((struct request *)r);
		return;
	}
	wz_check(c->state == STREAM);
	if (c->chunked_out && !c->no_body)
		put(c, WZ_STR("0\r\n\r\n"));
	bufferevent_setwatermark(c->bev, EV_WRITE, 0, 0);
	finish(c);
}

void wz_http_stream_abort(struct wz_http_req *r)
{
	struct wz_http_conn *c = r->conn;
	request_free((struct request *)r);
	if (!c)
		return;
	c->rq = NULL;
	c->state = FLUSH;
	kill_conn(c);
}

/* ---- reading ---- */

static void begin_linger(struct wz_http_conn *c)
{
	if (c->eof) {
		kill_conn(c);
		return;
	}
	c->state = LINGER;
	if (c->ssl)
		SSL_shutdown(c->ssl);
	shutdown(bufferevent_getfd(c->bev), SHUT_WR);
	wz_timer_set(&c->timer, LINGER_US);
}

static bool dispatch(struct wz_http_conn *c)
{
	struct wz_http_server *s = c->server;
	struct request *rq = c->rq;
	c->state = ANSWER;
	wz_timer_set(&c->timer, s->lim.answer_us);
	rq->pub.head = &rq->head;
	rq->pub.body = wz_buf_str(&rq->body);
	rq->pub.peer = &rq->peer;
	rq->pub.conn_data = &c->data;
	rq->pub.conn = c;
	s->h.request(s->h.ctx, &rq->pub);
	return true;
}

static bool begin_body(struct wz_http_conn *c)
{
	struct wz_http_server *s = c->server;
	const struct wz_http_head *h = &c->rq->head;
	if (h->length > s->lim.body_bytes) {
		refuse(c, 413, "BodyTooLarge", WZ_STR("the body is larger than this server takes"));
		return false;
	}
	if (!h->chunked && h->length == 0)
		return dispatch(c);
	wz_http_chunked_init(&c->chunks);
	if (h->expect_continue && evbuffer_get_length(bufferevent_get_input(c->bev)) == 0)
		put(c, WZ_STR("HTTP/1.1 100 Continue\r\n\r\n"));
	c->state = BODY;
	c->body_since_us = wz_loop_now_us(s->loop);
	wz_timer_set(&c->timer, s->lim.body_us);
	return true;
}

static bool step_head(struct wz_http_conn *c)
{
	struct wz_http_server *s = c->server;
	struct evbuffer *in = bufferevent_get_input(c->bev);
	size_t len = evbuffer_get_length(in);
	struct wz_err err;
	if (len == 0 && (c->eof || s->draining)) {
		flush(c);
		return false;
	}
	/* Who sends requests and does not read the answers waits. */
	if (len == 0 || queued(c) > s->lim.stream_bytes)
		return false;
	if (len > WZ_HTTP_HEAD_MAX + 1)
		len = WZ_HTTP_HEAD_MAX + 1;
	struct wz_str view = {(char *)evbuffer_pullup(in, (ssize_t)len), len};
	if (!view.ptr) {
		kill_conn(c);
		return false;
	}
	size_t end = wz_http_head_end(view, &c->head_from);
	if (end == 0) {
		if (len > WZ_HTTP_HEAD_MAX)
			refuse(c, 431, "HeadTooLarge", WZ_STR("the headers are larger than 16 KiB"));
		else if (c->eof)
			flush(c);
		else if (!c->head_started)
			wz_timer_set(&c->timer, s->lim.head_us);
		c->head_started = true;
		return false;
	}
	c->rq = request_new(c);
	if (!c->rq) {
		refuse(c, 503, "OutOfMemory", WZ_STR("out of memory; try again"));
		return false;
	}
	wz_buf_add(&c->rq->head_bytes, (struct wz_str){view.ptr, end});
	evbuffer_drain(in, end);
	if (c->rq->head_bytes.status == -E2BIG) {
		refuse(c, 431, "HeadTooLarge", WZ_STR("the headers are larger than 16 KiB"));
		return false;
	}
	if (c->rq->head_bytes.status < 0) {
		refuse(c, 503, "OutOfMemory", WZ_STR("out of memory; try again"));
		return false;
	}
	unsigned status = wz_http_head_parse(wz_buf_str(&c->rq->head_bytes), &c->rq->head, &err);
	if (status) {
		refuse(c, status, err.reason, wz_str(err.text));
		return false;
	}
	c->close_after = !c->rq->head.keep_alive;
	return begin_body(c);
}

/* 1: the body is whole; 0: more is needed; below 0: -(HTTP status). */
static int take_body(struct wz_http_conn *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);
	struct request *rq = c->rq;
	for (;;) {
		size_t n = evbuffer_get_contiguous_space(in);
		if (n == 0)
			return 0;
		struct wz_str view = {(char *)evbuffer_pullup(in, (ssize_t)n), n};
		if (rq->head.chunked) {
			struct wz_str rest = view;
			int rc = wz_http_chunked_feed(&c->chunks, &rest, &rq->body);
			if (rq->body.status == -ENOMEM)
				return -503;
			evbuffer_drain(in, n - rest.len);
			if (rc)
				return rc;
			continue;
		}
		if (view.len > rq->head.length - rq->body.len)
			view.len = (size_t)(rq->head.length - rq->body.len);
		wz_buf_add(&rq->body, view);
		evbuffer_drain(in, view.len);
		if (rq->body.status < 0)
			return -503;
		if (rq->body.len == rq->head.length)
			return 1;
	}
}

static bool step_body(struct wz_http_conn *c)
{
	int rc = take_body(c);
	if (rc > 0)
		return dispatch(c);
	if (rc == -413)
		refuse(c, 413, "BodyTooLarge", WZ_STR("the body is larger than this server takes"));
	else if (rc == -503)
		refuse(c, 503, "OutOfMemory", WZ_STR("out of memory; try again"));
	else if (rc < 0)
		refuse(c, 400, "BadChunk", WZ_STR("the chunked body is malformed"));
	else if (c->eof)
		flush(c);
	return false;
}

static void process(struct wz_http_conn *c)
{
	bool more = true;
	c->processing = true;
	while (more && !c->dead)
		more = c->state == HEAD ? step_head(c) : c->state == BODY ? step_body(c) : false;
	c->processing = false;
	if (c->dead)
		destroy(c);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct wz_http_conn *c = ctx;
	if (c->state == FLUSH || c->state == LINGER)
		evbuffer_drain(bufferevent_get_input(bev), SIZE_MAX);
	else
		process(c);
}

static void on_write(struct bufferevent *bev, void *ctx)
{
	struct wz_http_conn *c = ctx;
	(void)bev;
	if (c->state == STREAM && c->rq->pub.on_drain)
		c->rq->pub.on_drain(&c->rq->pub);
	else if (c->state == FLUSH && queued(c) == 0)
		begin_linger(c);
	else if (c->state == HEAD)
		process(c);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	struct wz_http_conn *c = ctx;
	(void)bev;
	if (what & BEV_EVENT_CONNECTED)
		return;
	if (!(what & BEV_EVENT_EOF)) {
		kill_conn(c); /* an error, or the write timeout */
		return;
	}
	c->eof = true;
	if (c->state == HEAD || c->state == BODY)
		process(c);
	else if (c->state == STREAM || c->state == LINGER)
		kill_conn(c);
	/* ANSWER, FLUSH: a client may close its half and wait for the answer. */
}

static void on_deadline(void *ctx)
{
	struct wz_http_conn *c = ctx;
	struct wz_http_server *s = c->server;
	if (c->dead) {
		destroy(c);
		return;
	}
	switch (c->state) {
	case HEAD:
		if (c->head_started)
			refuse(c, 408, "TooSlow", WZ_STR("the request did not arrive in time"));
		else
			kill_conn(c);
		break;
	case BODY: {
		int64_t spent_s = (wz_loop_now_us(s->loop) - c->body_since_us) / 1000000;
		if ((int64_t)c->rq->body.len >= spent_s * s->lim.body_bytes_per_s && c->rq->body.len)
			wz_timer_set(&c->timer, 1000000);
		else
			refuse(c, 408, "TooSlow", WZ_STR("the request did not arrive in time"));
		break;
	}
	case ANSWER:
		refuse(c, 504, "NoAnswer",
		        WZ_STR("the daemon did not answer in time; it may still do what was asked"));
		break;
	default:
		kill_conn(c);
	}
}

/* ---- accepting ---- */

static bool too_many(const struct wz_http_server *s, const struct wz_peer *p)
{
	bool privileged = p->local && (p->uid == 0 || p->uid == geteuid());
	uint32_t same = 0;
	if (s->n_conns >= s->lim.connections)
		return true;
	if (privileged)
		return false;
	if (s->n_conns + s->lim.connections_reserved >= s->lim.connections)
		return true;
	/* An address without its port; a uid. */
	const char *port = strrchr(p->address, ':');
	size_t len = port ? (size_t)(port - p->address) : 0;
	for (const struct wz_http_conn *c = s->conns; c; c = c->next) {
		if (c->peer.local != p->local)
			continue;
		if (p->local ? c->peer.uid == p->uid
		             : strncmp(c->peer.address, p->address, len) == 0 && c->peer.address[len] == ':')
			same++;
	}
	return same >= s->lim.connections_per_peer;
}

static void turn_away(struct wz_http_server *s, const struct wz_peer *p, int fd, bool tls)
{
	static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
	                           "Connection: close\r\nRetry-After: 1\r\nContent-Length: 94\r\n\r\n"
	                           "{\"error\":{\"code\":503,\"reason\":\"TooManyConnections\","
	                           "\"text\":\"too many connections; try later\"}}\n";
	if (s->h.refused)
		s->h.refused(s->h.ctx, p, 503, "TooManyConnections");
	if (!tls) {
		ssize_t n = send(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)n;
		shutdown(fd, SHUT_WR);
	}
	close(fd);
}

static struct bufferevent *new_bev(struct wz_http_server *s, int fd, struct wz_tls *tls, SSL **ret_ssl)
{
	const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
	struct event_base *base = wz_loop_base(s->loop);
	*ret_ssl = NULL;
	if (!tls)
		return bufferevent_socket_new(base, fd, options);
	*ret_ssl = wz_tls_accept_new(tls);
	if (!*ret_ssl)
		return NULL;
	struct bufferevent *bev =
	        bufferevent_openssl_socket_new(base, fd, *ret_ssl, BUFFEREVENT_SSL_ACCEPTING, options);
	if (bev)
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	else
		SSL_free(*ret_ssl);
	return bev;
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *sa, int len, void *ctx)
{
	struct listener *l = ctx;
	struct wz_http_server *s = l->server;
	struct wz_peer peer;
	(void)ev, (void)sa, (void)len;
	if (wz_peer_of(fd, &peer) < 0) {
		close(fd); /* gone already */
		return;
	}
	peer.tls = l->tls != NULL;
	if (too_many(s, &peer)) {
		turn_away(s, &peer, fd, peer.tls);
		return;
	}
	struct wz_http_conn *c = wz_mem_zalloc(s->mem, sizeof *c);
	if (c && wz_timer_init(&c->timer, s->loop, on_deadline, c) == 0)
		c->bev = new_bev(s, fd, l->tls, &c->ssl);
	if (!c || !c->bev) {
		if (c)
			wz_timer_release(&c->timer);
		wz_mem_free(s->mem, c, sizeof *c);
		turn_away(s, &peer, fd, peer.tls);
		return;
	}
	c->server = s;
	c->peer = peer;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	struct timeval write_time = {s->lim.write_us / 1000000, s->lim.write_us % 1000000};
	bufferevent_set_timeouts(c->bev, NULL, &write_time);
	bufferevent_setwatermark(c->bev, EV_READ, 0, READ_AHEAD);
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	/* The first request must come at once: an idle time is earned by a first one. */
	c->head_started = true;
	wz_timer_set(&c->timer, s->lim.head_us);
}

static void accept_again(void *ctx)
{
	struct wz_http_server *s = ctx;
	for (uint32_t i = 0; i < s->n_listeners && !s->draining; i++)
		evconnlistener_enable(s->listeners[i].ev);
}

static void on_accept_error(struct evconnlistener *ev, void *ctx)
{
	struct listener *l = ctx;
	evconnlistener_disable(ev);
	if (l->server->h.refused)
		l->server->h.refused(l->server->h.ctx, NULL, 503, "TooManyFiles");
	wz_timer_set(&l->server->accept_again, ACCEPT_PAUSE_US);
}

/* ---- the server ---- */

int wz_http_server_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_http_limits *limits,
        const struct wz_http_handler *h, struct wz_http_server **ret)
{
	struct wz_http_server *s = wz_mem_zalloc(mem, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->loop = l;
	s->mem = mem;
	s->lim = limits ? *limits : wz_http_limits_default;
	s->h = *h;
	wz_buf_init(&s->scratch, mem, ANSWER_HEAD_MAX);
	if (wz_timer_init(&s->accept_again, l, accept_again, s) < 0) {
		wz_mem_free(mem, s, sizeof *s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

int wz_http_listen(struct wz_http_server *s, int fd, struct wz_tls *tls)
{
	wz_check(s->n_listeners < LISTENERS_MAX);
	struct listener *l = &s->listeners[s->n_listeners];
	*l = (struct listener){.server = s, .tls = tls};
	l->ev = evconnlistener_new(
	        wz_loop_base(s->loop), on_accept, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!l->ev)
		return -ENOMEM;
	evconnlistener_set_error_cb(l->ev, on_accept_error);
	s->n_listeners++;
	return 0;
}

static void close_listeners(struct wz_http_server *s)
{
	wz_timer_stop(&s->accept_again);
	for (uint32_t i = 0; i < s->n_listeners; i++)
		evconnlistener_free(s->listeners[i].ev);
	s->n_listeners = 0;
}

void wz_http_drain(struct wz_http_server *s)
{
	s->draining = true;
	close_listeners(s);
	for (struct wz_http_conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		c->close_after = true;
		if (c->state == HEAD && evbuffer_get_length(bufferevent_get_input(c->bev)) == 0)
			flush(c);
	}
}

void wz_http_server_free(struct wz_http_server *s)
{
	if (!s)
		return;
	s->draining = true;
	close_listeners(s);
	while (s->conns)
		destroy(s->conns);
	wz_timer_release(&s->accept_again);
	wz_buf_release(&s->scratch);
	wz_mem_free(s->mem, s, sizeof *s);
}

uint32_t wz_http_connections(const struct wz_http_server *s)
{
	return s->n_conns;
}

bool wz_http_draining(const struct wz_http_server *s)
{
	return s->draining;
}
