/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our own server: unix socket, TCP, TLS with a certificate made here; and its error texts. */
#include "net.h"
#include "tap.h"

#include "os/httpc.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

static char dir[] = "/tmp/wz-httpc-XXXXXX", sock_path[64], cert_path[64], key_path[64];
static struct net_loop nl;
static struct wz_http_server *server;
static struct wz_unix_socket sock;
static struct wz_tls *tls;
static uint16_t port, tls_port;

static void handle(void *ctx, struct wz_http_req *r)
{
	char text[600];
	struct wz_buf b;
	(void)ctx;
	if (wz_str_eq(r->head->path, WZ_STR("/bits"))) {
		wz_http_stream_begin(r, 200, "text/event-stream", (struct wz_str){NULL, 0});
		for (int i = 0; i < 100; i++)
			wz_http_stream_write(r, WZ_STR("data: 0123456789\n\n"));
		wz_http_stream_end(r);
		return;
	}
	if (wz_str_eq(r->head->path, WZ_STR("/cut"))) {
		wz_http_stream_begin(r, 200, "text/plain", (struct wz_str){NULL, 0});
		wz_http_stream_write(r, WZ_STR("half"));
		wz_http_stream_abort(r);
		return;
	}
	wz_buf_init_fixed(&b, text, sizeof text);
	static const char *const show[] = {
	        "authorization", "idempotency-key", "last-event-id", "content-type", "expect"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(show); i++) {
		wz_buf_add(&b, wz_http_find(r->head, show[i]));
		wz_buf_addc(&b, '|');
	}
	wz_buf_addz(&b, wz_http_method_name(r->head->method));
	wz_buf_addz(&b, r->peer->tls ? " tls " : r->peer->local ? " unix " : " tcp ");
	wz_buf_add(&b, r->body);
	unsigned status = wz_str_eq(r->head->path, WZ_STR("/no")) ? 409 : 200;
	wz_http_reply(r, status,
	        &(struct wz_http_answer){.type = "text/plain",
	                .body = wz_buf_str(&b),
	                .headers = WZ_STR("X-Request-Id: abc\r\nRetry-After: 7\r\n")});
}

static void make_cert(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509V3_CTX ctx;
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, name);
	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
	wz_check(X509_sign(x, key, EVP_sha256()) > 0);
	FILE *f = fopen(cert_path, "w");
	PEM_write_X509(f, x);
	fclose(f);
	f = fopen(key_path, "w");
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	chmod(key_path, 0600);
	X509_free(x);
	EVP_PKEY_free(key);
}

static void start(void)
{
	struct wz_http_handler h = {.request = handle};
	struct wz_http_limits limits = wz_http_limits_default;
	struct wz_err err;
	int fd = -1;
	limits.answer_us = 20000000;
	wz_check(mkdtemp(dir));
	snprintf(sock_path, sizeof sock_path, "%s/s", dir);
	snprintf(cert_path, sizeof cert_path, "%s/cert", dir);
	snprintf(key_path, sizeof key_path, "%s/key", dir);
	make_cert();
	wz_check(wz_loop_new(wz_os_mem(), &nl.loop, NULL) == 0);
	wz_check(wz_http_server_new(nl.loop, wz_os_mem(), &limits, &h, &server) == 0);
	wz_check(wz_unix_listen(sock_path, 0600, (gid_t)-1, &sock, NULL) == 0);
	wz_check(wz_http_listen(server, sock.fd, NULL) == 0);
	sock.fd = -1;
	wz_check(wz_tcp_listen("127.0.0.1:0", &fd, NULL) == 0);
	port = wz_sock_port(fd);
	wz_check(wz_http_listen(server, fd, NULL) == 0);
	wz_check(wz_tls_server_new(cert_path, key_path, &tls, &err) == 0);
	wz_check(wz_tcp_listen("127.0.0.1:0", &fd, NULL) == 0);
	tls_port = wz_sock_port(fd);
	wz_check(wz_http_listen(server, fd, tls) == 0);
	net_loop_start(&nl);
}

static struct wz_httpc *client(const char *to, const char *token, const char *ca)
{
	struct wz_httpc_config c = {
	        .server = to, .token = token, .ca_file = ca, .connect_ms = 2000, .answer_max = 1000};
	struct wz_httpc *h = NULL;
	struct wz_err err = {0};
	int rc = wz_httpc_new(&c, wz_os_mem(), &h, &err);
	tap_eq_i64(rc, 0, "client of %s: %s", to, err.text);
	return h;
}

static void test_calls(void)
{
	char url[64], tls_url[64];
	snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
	snprintf(tls_url, sizeof tls_url, "https://localhost:%u", tls_port);
	const char *const servers[] = {sock_path, url, tls_url};
	const char *const ways[] = {"unix", "tcp", "tls"};
	for (int i = 0; i < 3; i++) {
		struct wz_httpc *c = client(servers[i], "secret", cert_path);
		struct wz_httpc_reply r;
		struct wz_err err = {0};
		struct wz_httpc_call call = {.method = "POST",
		        .path = "/echo",
		        .body = WZ_STR("{\"x\":1}"),
		        .idempotency_key = "key-1",
		        .last_event_id = 42,
		        .total_ms = 5000};
		tap_require(c != NULL, "client");
		for (int round = 0; round < 3; round++) {
			int rc = wz_httpc_do(c, &call, &r, &err);
			tap_require(rc == 0, "%s: %s", ways[i], err.text);
			char want[200];
			snprintf(want, sizeof want, "Bearer secret|key-1|42|application/json||POST %s {\"x\":1}",
			        ways[i]);
			tap_eq_str(wz_buf_str(&r.body), wz_str(want), "round %d", round);
			tap_eq_i64(r.status, 200, "status");
			tap_ok(strcmp(r.request_id, "abc") == 0 && r.retry_after_s == 7 &&
			                strcmp(r.type, "text/plain") == 0,
			        "headers: %s %u %s", r.request_id, r.retry_after_s, r.type);
			wz_buf_release(&r.body);
		}
		static const char *const methods[] = {"GET", "DELETE", "PUT", "POST", "PATCH"};
		for (size_t m = 0; m < WZ_ARRAY_LEN(methods); m++) {
			call = (struct wz_httpc_call){.method = methods[m], .path = "/no", .total_ms = 5000};
			tap_require(wz_httpc_do(c, &call, &r, &err) == 0, "%s: %s", methods[m], err.text);
			tap_ok(r.status == 409 && memmem(r.body.data, r.body.len, methods[m], strlen(methods[m])),
			        "%s", methods[m]);
			wz_buf_release(&r.body);
		}
		call = (struct wz_httpc_call){.method = "HEAD", .path = "/echo", .total_ms = 5000};
		tap_ok(wz_httpc_do(c, &call, &r, &err) == 0 && r.status == 200 && r.body.len == 0, "HEAD");
		wz_buf_release(&r.body);
		wz_httpc_free(c);
	}
}

static size_t seen, stop_at;
static int on_data(void *ctx, struct wz_str bytes)
{
	(void)ctx;
	seen += bytes.len;
	return seen >= stop_at ? -1 : 0;
}

static void test_streams(void)
{
	struct wz_httpc *c = client(sock_path, NULL, NULL);
	struct wz_httpc_reply r;
	struct wz_err err = {0};
	struct wz_httpc_call call = {.method = "GET", .path = "/bits", .data = on_data};
	tap_require(c != NULL, "client");
	seen = 0;
	stop_at = SIZE_MAX;
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), 0, "whole: %s", err.text);
	tap_eq_i64(seen, 1800, "all bytes");
	wz_buf_release(&r.body);
	seen = 0;
	stop_at = 10;
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ECANCELED, "the callback stops it");
	call = (struct wz_httpc_call){.method = "GET", .path = "/bits", .total_ms = 5000};
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -E2BIG, "more than answer_max");
	tap_eq_str(wz_str(err.reason), WZ_STR("AnswerTooLarge"), "%s", err.text);
	call = (struct wz_httpc_call){.method = "GET", .path = "/cut", .total_ms = 5000};
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ECONNRESET, "a stream that is cut is not a whole one");
	wz_httpc_free(c);
}

static void test_errors(void)
{
	struct wz_httpc_reply r;
	struct wz_err err = {0};
	char nobody[64], url[64];
	struct wz_httpc_call call = {.method = "GET", .path = "/echo", .total_ms = 5000};
	snprintf(nobody, sizeof nobody, "%s/nobody", dir);
	struct wz_httpc *c = client(nobody, NULL, NULL);
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ECONNREFUSED, "no socket");
	tap_eq_str(wz_str(err.reason), WZ_STR("DaemonUnreachable"), "reason");
	tap_ok(strstr(err.text, nobody) && strstr(err.text, "wz serve") && strstr(err.text, "no such socket"), "%s",
	        err.text);
	wz_httpc_free(c);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	memcpy(sa.sun_path, nobody, strlen(nobody));
	tap_eq_i64(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0, "bind");
	c = client(nobody, NULL, NULL);
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ECONNREFUSED, "a dead socket");
	tap_ok(strstr(err.text, "nobody listens") != NULL, "%s", err.text);
	/* Listens and never answers. */
	tap_eq_i64(listen(fd, 5), 0, "listen");
	call.total_ms = 300;
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ETIMEDOUT, "no answer");
	call.total_ms = 0;
	call.silence_ms = 300;
	call.data = on_data;
	stop_at = SIZE_MAX;
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -ETIMEDOUT, "a silent stream");
	wz_httpc_free(c);
	close(fd);
	unlink(nobody);
	snprintf(url, sizeof url, "https://localhost:%u", tls_port);
	c = client(url, NULL, NULL);
	call = (struct wz_httpc_call){.method = "GET", .path = "/echo", .total_ms = 5000};
	tap_eq_i64(wz_httpc_do(c, &call, &r, &err), -EPROTO, "a certificate that nobody vouches for");
	tap_eq_str(wz_str(err.reason), WZ_STR("TlsFailed"), "%s", err.text);
	wz_httpc_free(c);
	static const char *const bad[] = {"", "nonsense", "ftp://x", "http://", "unix:"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		struct wz_httpc_config cfg = {.server = bad[i]};
		tap_eq_i64(wz_httpc_new(&cfg, wz_os_mem(), &c, &err), -EINVAL, "server \"%s\"", bad[i]);
	}
	struct wz_httpc_config clear = {.server = "http://192.0.2.1:80", .token = "t"};
	tap_eq_i64(wz_httpc_new(&clear, wz_os_mem(), &c, &err), -EINVAL, "no token in clear");
	struct wz_httpc_config lines = {.server = sock_path, .token = "t\r\nX: y"};
	tap_eq_i64(wz_httpc_new(&lines, wz_os_mem(), &c, &err), -EINVAL, "no header through the token");
}

static void test_tls_files(void)
{
	struct wz_tls *t = NULL;
	struct wz_err err = {0};
	tap_eq_i64(wz_tls_server_new("/nowhere", key_path, &t, &err), -ENOENT, "no certificate");
	tap_eq_i64(wz_tls_server_new(key_path, key_path, &t, &err), -EINVAL, "a key for a certificate");
	tap_ok(strstr(err.text, key_path) != NULL, "%s", err.text);
	chmod(key_path, 0644);
	tap_eq_i64(wz_tls_server_new(cert_path, key_path, &t, &err), -EPERM, "a key that others can read");
	tap_eq_i64(wz_tls_reload(tls, &err), -EPERM, "nor on reload");
	chmod(key_path, 0600);
	tap_eq_i64(wz_tls_reload(tls, &err), 0, "reload");
	/* Plain HTTP to the TLS port: closed, the server lives on. */
	int fd = net_tcp(tls_port);
	net_sendz(fd, "GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
	tap_ok(net_closed(fd), "plain bytes are no TLS");
	close(fd);
}

int main(void)
{
	start();
	tap_run(test_calls);
	tap_run(test_streams);
	tap_run(test_errors);
	tap_run(test_tls_files);
	tap_run(test_calls);
	net_loop_end(&nl);
	wz_http_server_free(server);
	wz_tls_free(tls);
	wz_unix_close(&sock);
	wz_loop_free(nl.loop);
	char lock[80];
	snprintf(lock, sizeof lock, "%s.lock", sock_path);
	unlink(lock);
	unlink(cert_path);
	unlink(key_path);
	rmdir(dir);
	return tap_done();
}
