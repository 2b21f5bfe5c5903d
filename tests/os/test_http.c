/* SPDX-License-Identifier: Apache-2.0 */
/* The server against raw sockets: what it must refuse, what it must survive, and that requests do not bleed. */
#include "net.h"
#include "tap.h"

#include "os/clock.h"

#include <signal.h>
#include <stdatomic.h>

static char dir[] = "/tmp/wz-http-XXXXXX", path[64];
static struct net_loop nl;
static struct wz_http_server *server;
static struct wz_unix_socket sock;
static uint16_t port;
static atomic_uint requests, gone, refused;
static struct wz_http_req *parked;
static uint32_t n_conns;

/* ---- the handler ---- */

static void on_gone(struct wz_http_req *r)
{
	(void)r;
	atomic_fetch_add(&gone, 1);
}

static void flood(struct wz_http_req *r)
{
	static const char line[4096];
	while (wz_http_stream_write(r, (struct wz_str){line, sizeof line}) == 0)
		;
}

static void flood_gone(struct wz_http_req *r)
{
	atomic_fetch_add(&gone, 1);
	wz_http_stream_end(r);
}

/* /echo: method, target, body. /park: kept. /flood: bytes for ever. /bits: three chunks. /big: 300 kB. */
static void handle(void *ctx, struct wz_http_req *r)
{
	struct wz_buf b;
	(void)ctx;
	atomic_fetch_add(&requests, 1);
	if (wz_str_eq(r->head->path, WZ_STR("/park"))) {
		parked = r;
		r->on_gone = on_gone;
		return;
	}
	if (wz_str_eq(r->head->path, WZ_STR("/flood"))) {
		r->on_drain = flood;
		r->on_gone = flood_gone;
		wz_http_stream_begin(r, 200, "application/octet-stream", (struct wz_str){NULL, 0});
		flood(r);
		return;
	}
	if (wz_str_eq(r->head->path, WZ_STR("/bits"))) {
		wz_http_stream_begin(r, 200, "text/plain", WZ_STR("X-Bits: 3\r\n"));
		for (int i = 0; i < 3; i++)
			wz_http_stream_write(r, WZ_STR("bit\n"));
		wz_http_stream_end(r);
		return;
	}
	wz_buf_init(&b, wz_os_mem(), 1u << 20);
	wz_buf_addz(&b, wz_http_method_name(r->head->method));
	wz_buf_addc(&b, ' ');
	wz_buf_add(&b, r->head->target);
	wz_buf_addc(&b, ' ');
	wz_buf_add(&b, r->body);
	wz_buf_addz(&b, wz_str_eq(r->head->path, WZ_STR("/big")) ? "" : ".\n");
	while (wz_str_eq(r->head->path, WZ_STR("/big")) && b.len < 300000)
		wz_buf_addz(&b, "0123456789");
	wz_http_reply(r, 200, &(struct wz_http_answer){.type = "text/plain", .body = wz_buf_str(&b)});
	wz_buf_release(&b);
}

static void on_refused(void *ctx, const struct wz_peer *peer, unsigned status, const char *reason)
{
	(void)ctx, (void)peer, (void)status, (void)reason;
	atomic_fetch_add(&refused, 1);
}

static const struct wz_http_limits limits = {
        .connections = 40,
        .connections_per_peer = 30,
        .connections_reserved = 2,
        .body_bytes = 100000,
        .stream_bytes = 65536,
        .idle_us = 400000,
        .head_us = 300000,
        .body_us = 300000,
        .body_bytes_per_s = 100000,
        .write_us = 500000,
        .answer_us = 300000,
};

static void start(void)
{
	struct wz_http_handler h = {.request = handle, .refused = on_refused};
	int fd = -1;
	wz_check(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s", dir);
	wz_check(wz_loop_new(wz_os_mem(), &nl.loop, NULL) == 0);
	wz_check(wz_http_server_new(nl.loop, wz_os_mem(), &limits, &h, &server) == 0);
	wz_check(wz_unix_listen(path, 0600, (gid_t)-1, &sock, NULL) == 0);
	wz_check(wz_http_listen(server, sock.fd, NULL) == 0);
	sock.fd = -1;
	wz_check(wz_tcp_listen("127.0.0.1:0", &fd, NULL) == 0);
	port = wz_sock_port(fd);
	wz_check(wz_http_listen(server, fd, NULL) == 0);
	net_loop_start(&nl);
}

static void stop(void)
{
	char lock[80];
	net_loop_end(&nl);
	wz_http_server_free(server);
	wz_unix_close(&sock);
	wz_loop_free(nl.loop);
	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(lock);
	rmdir(dir);
}

/* ---- helpers ---- */

static char answer[1 << 20];

static unsigned once(const char *bytes)
{
	return net_once(net_unix(path), bytes, strlen(bytes), answer, sizeof answer);
}

static void count_conns(void *ctx)
{
	*(uint32_t *)ctx = wz_http_connections(server);
}

/* Waits for what the loop does on its own; bounded, and without sleeping longer than a poll of the loop. */
#define wait_for(cond) \
	({ \
		uint64_t until_ = wz_clock_monotonic_ns() + 10000000000ull; \
		do \
			net_loop_call(&nl, count_conns, &n_conns); \
		while (!(cond) && wz_clock_monotonic_ns() < until_); \
		(cond); \
	})

/* ---- the tests ---- */

static void test_plain(void)
{
	tap_eq_i64(once("GET /echo?a=1 HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "get");
	tap_ok(strstr(answer, "\r\n\r\nGET /echo?a=1 .\n") && strstr(answer, "\r\nContent-Length: 16\r\n") &&
	                strstr(answer, "\r\nDate: "),
	        "the answer: %s", answer);
	tap_eq_i64(once("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"), 200, "post");
	tap_ok(strstr(answer, "POST /echo abc.\n") != NULL, "%s", answer);
	tap_eq_i64(once("POST /echo HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "post without a body");
	tap_eq_i64(once("HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "head");
	tap_ok(strstr(answer, "\r\n\r\n") && !*(strstr(answer, "\r\n\r\n") + 4), "HEAD has no body");
	tap_eq_i64(once("GET /echo HTTP/1.0\r\n\r\n"), 200, "1.0 needs no Host");
	tap_ok(strstr(answer, "Connection: close\r\n") != NULL, "1.0 closes");
	tap_eq_i64(once("\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "empty lines before a request");
	tap_eq_i64(once("GET /bits HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "stream");
	tap_ok(strstr(answer, "X-Bits: 3\r\n") &&
	                strstr(answer, "\r\n\r\n4\r\nbit\n\r\n4\r\nbit\n\r\n4\r\nbit\n\r\n0\r\n\r\n"),
	        "chunks: %s", answer);
	tap_eq_i64(once("GET /bits HTTP/1.0\r\n\r\n"), 200, "stream to 1.0");
	tap_ok(strstr(answer, "\r\n\r\nbit\nbit\nbit\n") != NULL, "no chunks to 1.0: %s", answer);
	tap_eq_i64(once("HEAD /bits HTTP/1.1\r\nHost: x\r\n\r\n"), 200, "head of a stream");
	tap_ok(!strstr(answer, "bit\n"), "HEAD has no chunks: %s", answer);
	int fd = net_tcp(port);
	const char get[] = "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n";
	tap_eq_i64(net_once(fd, get, sizeof get - 1, answer, sizeof answer), 200, "tcp");
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;
	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void test_pipeline(void)
{
	static char bytes[100000];
	struct wz_buf b;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	for (unsigned i = 0; i < 300; i++) {
		wz_buf_addz(&b, "POST /echo?");
		wz_buf_add_u64(&b, i);
		wz_buf_addz(&b, i % 3 == 0   ? " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
		                : i % 3 == 1 ? " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
		                               "chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nT: v\r\n\r\n"
		                             : " HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	net_once(net_unix(path), bytes, b.len, answer, sizeof answer);
	tap_eq_i64(count(answer, "HTTP/1.1 200 OK"), 300, "all are answered");
	tap_eq_i64(count(answer, " hello.\n"), 200, "with their bodies");
	const char *at = answer;
	for (unsigned i = 0; i < 300 && at; i++) {
		char want[32];
		snprintf(want, sizeof want, "POST /echo?%u ", i);
		at = strstr(at, want);
		tap_ok(at != NULL, "in order: %u", i);
	}
	/* Byte by byte, over a connection that stays. */
	int fd = net_unix(path);
	const char one[] =
	        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof one - 1; i++)
			net_send(fd, one + i, 1);
		net_read_until(fd, answer, sizeof answer, "abc.\n");
		tap_eq_i64(net_status(answer), 200, "byte by byte, round %d", round);
	}
	close(fd);
	/* Answers that nobody reads do not pile up, and all arrive once they are read. */
	wz_buf_clear(&b);
	for (unsigned i = 0; i < 20; i++)
		wz_buf_addz(&b, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	fd = net_unix(path);
	net_send(fd, bytes, b.len);
	unsigned seen = 0;
	size_t total = 0;
	while (total < 20u * 300000) {
		size_t n = net_read_until(fd, answer, 65536, "\r\n\r\n");
		if (!n)
			break;
		total += n;
		seen += count(answer, "HTTP/1.1 200");
	}
	tap_ok(total >= 20u * 300000, "all bytes came: %zu, %u answers", total, seen);
	close(fd);
}

static void test_refusals(void)
{
	static const struct {
		unsigned status;
		const char *bytes;
	} bad[] = {
	        {400, "GET /echo HTTP/1.1\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"},
	        {413, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
	              "chunked\r\n\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: "
	              "3\r\n\r\n0\r\n\r\n"},
	        {501, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
	        {501, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n"},
	        {501, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"},
	        {501, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	              "chunked\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \013chunked\r\n\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
	              "chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n"},
	        {400, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n 3\r\nabc\r\n0\r\n\r\n"},
	        {413, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\nabc"},
	        {413, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n186a1\r\nabc"},
	        {400, "GET /echo HTTP/1.1\nHost: x\n\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\r\nX: a\r\n folded\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\r\n: nameless\r\n\r\n"},
	        {400, "GET /echo HTTP/1.1\r\n Host: x\r\n\r\n"},
	        {400, "GET  /echo HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "GET /echo  HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "GET /echo\r\nHost: x\r\n\r\n"},
	        {400, "GET /ec\xc3\xa4ho HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "GET /echo#f HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "GET http://x/echo HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "GET /echo http/1.1\r\nHost: x\r\n\r\n"},
	        {505, "GET /echo HTTP/2.0\r\nHost: x\r\n\r\n"},
	        {505, "GET /echo HTTP/1.10\r\nHost: x\r\n\r\n"},
	        {501, "get /echo HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {501, "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {501, "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n"},
	        {400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	        {400, "\x16\x03\x01\x02\n\n"},
	        {400, "GET /echo HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n"},
	};
	unsigned before = atomic_load(&requests), refused_before = atomic_load(&refused);
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		unsigned status = once(bad[i].bytes);
		if (wz_str_starts(wz_str(bad[i].bytes), WZ_STR("PRI")))
			tap_ok(status == 505 || status == 501 || status == 400, "the preface of HTTP/2: %u",
			        status);
		else
			tap_eq_i64(status, bad[i].status, "%zu: %s", i, bad[i].bytes);
		tap_ok(strstr(answer, "Connection: close\r\n") && strstr(answer, "{\"error\":{\"code\":"),
		        "%zu: closes, and says why: %s", i, answer);
		tap_eq_i64(count(answer, "\r\nDate: "), 1, "%zu: one answer", i);
	}
	tap_eq_i64(atomic_load(&requests) - before, 0, "none reached the handler");
	tap_eq_i64(atomic_load(&refused) - refused_before, (int64_t)WZ_ARRAY_LEN(bad), "each was counted");
	/* NUL in a header, which C strings would hide. */
	static const char nul[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\0"
	                          "99\r\n\r\nabc";
	tap_eq_i64(net_once(net_unix(path), nul, sizeof nul - 1, answer, sizeof answer), 400, "NUL");
}

/* What stands behind a refused request is never a request. */
static void test_smuggling(void)
{
	static const char *const first[] = {
	        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
	        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
	        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	        "GET /echo HTTP/1.1\r\nHost: x\r\nX: y\n\r\n\r\n",
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(first); i++) {
		char bytes[512];
		unsigned before = atomic_load(&requests);
		snprintf(bytes, sizeof bytes, "%sGET /admin HTTP/1.1\r\nHost: x\r\n\r\n", first[i]);
		tap_ok(once(bytes) >= 400, "%zu is refused", i);
		tap_ok(!strstr(answer, "/admin") && atomic_load(&requests) == before, "%zu: nothing behind it runs",
		        i);
	}
	/* A GET with a body is one request. */
	unsigned before = atomic_load(&requests);
	tap_eq_i64(once("GET /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\nGET /admin HTTP/1.1\r\nHost: "
	                "xxxx\r\n\r\nGET /two HTTP/1.1\r\nHost: x\r\n\r\n"),
	        200, "a GET with a body");
	tap_eq_i64(atomic_load(&requests) - before, 2, "two requests");
	tap_eq_i64(count(answer, "HTTP/1.1 200"), 2, "two answers: %s", answer);
}

static void test_sizes(void)
{
	static char bytes[200000];
	struct wz_buf b;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_buf_addz(&b, "GET /echo HTTP/1.1\r\nHost: x\r\nX: ");
	while (b.len < 17000)
		wz_buf_addc(&b, 'a');
	wz_buf_addz(&b, "\r\n\r\n");
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 431, "a header of 17 kB");
	/* One that never ends. */
	int fd = net_unix(path);
	while (b.len < 150000)
		wz_buf_addc(&b, 'a');
	memset(bytes + 32, 'a', b.len - 32);
	net_send(fd, bytes, b.len);
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 431, "a header without end");
	close(fd);
	wz_buf_clear(&b);
	wz_buf_addz(&b, "GET /echo HTTP/1.1\r\nHost: x\r\n");
	for (int i = 0; i < 64; i++)
		wz_buf_addz(&b, "a: b\r\n");
	wz_buf_addz(&b, "\r\n");
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 431, "65 headers");
	wz_buf_clear(&b);
	wz_buf_addz(&b, "GET /");
	while (b.len < 5000)
		wz_buf_addc(&b, 'a');
	wz_buf_addz(&b, " HTTP/1.1\r\nHost: x\r\n\r\n");
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 414, "a target of 5 kB");
	/* A body of exactly the limit, both ways. */
	wz_buf_clear(&b);
	wz_buf_addz(&b, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
	for (int i = 0; i < 100000; i++)
		wz_buf_addc(&b, 'b');
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 200, "a body at the limit");
	wz_buf_clear(&b);
	wz_buf_addz(&b, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 10; i++) {
		wz_buf_addz(&b, "2710\r\n");
		for (int k = 0; k < 10000; k++)
			wz_buf_addc(&b, 'c');
		wz_buf_addz(&b, "\r\n");
	}
	size_t before_end = b.len;
	wz_buf_addz(&b, "0\r\n\r\n");
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 200, "chunks at the limit");
	b.len = before_end;
	wz_buf_addz(&b, "1\r\nx\r\n0\r\n\r\n");
	tap_eq_i64(net_once(net_unix(path), bytes, b.len, answer, sizeof answer), 413, "chunks over the limit");
	/* Too large, announced politely: refused before it is sent. */
	fd = net_unix(path);
	net_sendz(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n");
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 413, "no 100 for what is refused");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	net_read_until(fd, answer, sizeof answer, "\r\n\r\n");
	tap_eq_i64(net_status(answer), 100, "100 for what is taken");
	net_sendz(fd, "ok");
	net_read_until(fd, answer, sizeof answer, "ok.\n");
	tap_eq_i64(net_status(answer), 200, "and then the answer");
	close(fd);
}

static void test_slow(void)
{
	/* Nothing at all; half a head; a head that drips; half a body; a kept connection that idles. */
	int fd = net_unix(path);
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 408, "says nothing");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "GET /echo HTTP/1.1\r\nHost:");
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 408, "half a head");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "GET /echo HTTP/1.1\r\n");
	uint64_t began = wz_clock_monotonic_ns();
	struct pollfd p = {.fd = fd, .events = POLLIN};
	while (poll(&p, 1, 20) == 0 && wz_clock_monotonic_ns() - began < 9000000000ull)
		net_sendz(fd, "X: y\r\n");
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_ok(net_status(answer) == 408 || net_status(answer) == 431, "a head that drips: %u", net_status(answer));
	tap_ok(wz_clock_monotonic_ns() - began < 5000000000ull, "is cut off soon");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhal");
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 408, "half a body");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	net_read_until(fd, answer, sizeof answer, ".\n");
	tap_ok(net_status(answer) == 200 && net_closed(fd), "an idle connection is closed without a word");
	close(fd);
	/* A handler that does not answer. */
	unsigned before = atomic_load(&gone);
	fd = net_unix(path);
	net_sendz(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_eq_i64(net_status(answer), 504, "no answer in time");
	tap_eq_i64(atomic_load(&gone) - before, 1, "the handler is told");
	close(fd);
}

static void answer_parked(void *ctx)
{
	(void)ctx;
	wz_http_reply(parked, 200, &(struct wz_http_answer){.type = "text/plain", .body = WZ_STR("late\n")});
	parked = NULL;
}

static void test_disconnects(void)
{
	net_loop_call(
	        &nl, answer_parked, NULL); /* of the test before: the client has gone, the answer goes nowhere */
	/* Gone before the answer; half-closed and waiting for it. */
	unsigned before = atomic_load(&gone), seen = atomic_load(&requests);
	int fd = net_unix(path);
	net_sendz(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	tap_ok(wait_for(atomic_load(&requests) == seen + 1), "it arrived");
	shutdown(fd, SHUT_WR);
	net_loop_call(&nl, answer_parked, NULL);
	net_read_until(fd, answer, sizeof answer, NULL);
	tap_ok(strstr(answer, "late\n") != NULL, "a half-closed client gets its answer");
	close(fd);
	fd = net_unix(path);
	net_sendz(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
	tap_ok(wait_for(atomic_load(&requests) == seen + 2), "it arrived");
	close(fd);
	net_loop_call(&nl, answer_parked, NULL);
	/* In the middle of a head, of a body, of a stream. */
	for (int i = 0; i < 20; i++) {
		fd = net_unix(path);
		net_sendz(fd,
		        i % 2 ? "GET /echo HT" : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab");
		close(fd);
	}
	fd = net_unix(path);
	net_sendz(fd, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	net_read_until(fd, answer, 20000, "\r\n\r\n");
	close(fd);
	tap_ok(wait_for(atomic_load(&gone) > before), "the stream's handler learns that the client has gone");
	tap_ok(wait_for(n_conns == 0), "no connection is left: %u", n_conns);
}

static void test_back_pressure(void)
{
	unsigned before = atomic_load(&gone);
	int fd = net_unix(path);
	net_sendz(fd, "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
	size_t n = net_read_until(fd, answer, 600000, NULL);
	tap_ok(n > 500000, "a client that reads is fed: %zu", n);
	/* It reads no more: the writer is told -EAGAIN, and the connection ends after write_us. */
	tap_ok(wait_for(atomic_load(&gone) == before + 1), "one that does not read is let go");
	close(fd);
}

static void test_too_many(void)
{
	/* This process is privileged (its own uid): over TCP it is not. */
	int fd[64];
	unsigned ok = 0, turned_away = 0;
	tap_ok(wait_for(n_conns == 0), "none before");
	for (int i = 0; i < 34; i++) {
		fd[i] = net_tcp(port);
		if (fd[i] < 0)
			continue;
		net_sendz(fd[i], "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	for (int i = 0; i < 34; i++) {
		net_read_until(fd[i], answer, sizeof answer, "\n\n");
		if (strstr(answer, "TooManyConnections"))
			turned_away++;
		else
			ok += net_status(answer) == 200;
		if (i < 30)
			continue;
		close(fd[i]);
	}
	tap_eq_i64(ok, 30, "as many as an address may have");
	tap_eq_i64(turned_away, 4, "the others are told");
	for (int i = 0; i < 30; i++)
		close(fd[i]);
	tap_ok(wait_for(n_conns == 0), "all gone");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	start();
	tap_run(test_plain);
	tap_run(test_pipeline);
	tap_run(test_refusals);
	tap_run(test_smuggling);
	tap_run(test_sizes);
	tap_run(test_slow);
	tap_run(test_disconnects);
	tap_run(test_back_pressure);
	tap_run(test_too_many);
	stop();
	return tap_done();
}
