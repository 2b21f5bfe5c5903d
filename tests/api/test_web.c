/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser meets: sessions and one-time links, pages without scripts, CSV. */
#include "fake.h"
#include "tap.h"

#include "api/flat.h"
#include "api/session.h"
#include "os/file.h"

#include <sys/stat.h>

static char dir[] = "/tmp/wz-web-XXXXXX", sock_path[64], token_path[64], key_path[64];
static char viewer[WZ_TOKEN_TEXT_MAX], user[WZ_TOKEN_TEXT_MAX];
static struct net_loop nl;
static struct wz_unix_socket sock;
static uint16_t port;
static char answer[1 << 20], cookie[1024];

static void start(void)
{
	struct wz_api_config cfg = wz_api_config_default;
	struct wz_buf b;
	int fd;
	(void)snprintf(sock_path, sizeof sock_path, "%s/s", dir);
	(void)snprintf(token_path, sizeof token_path, "%s/tokens", dir);
	(void)snprintf(key_path, sizeof key_path, "%s/key", dir);
	wz_buf_init(&b, wz_os_mem(), 4096);
	wz_check(wz_token_new("wz-viewer", WZ_ROLE_VIEWER, viewer, &b) == 0);
	wz_buf_addz(&b, "\n");
	wz_check(wz_token_new("wz-user", WZ_ROLE_USER, user, &b) == 0);
	wz_check(wz_file_write(token_path, wz_buf_str(&b), 0600, NULL) == 0);
	wz_buf_release(&b);
	cfg.backend = &fake_backend;
	cfg.version = "0";
	cfg.auth.token_file = token_path;
	cfg.audit = fake_audit;
	cfg.session_key = key_path;
	cfg.rate[WZ_ROLE_NONE] = (struct wz_limit_rate){1000, 1000};
	wz_check(wz_loop_new(wz_os_mem(), &nl.loop, NULL) == 0);
	wz_check(wz_api_new(nl.loop, wz_os_mem(), &cfg, &fake.api, NULL) == 0);
	wz_check(wz_unix_listen(sock_path, 0666, (gid_t)-1, &sock, NULL) == 0);
	wz_check(wz_http_listen(wz_api_http(fake.api), sock.fd, NULL) == 0);
	sock.fd = -1;
	wz_check(wz_tcp_listen("127.0.0.1:0", &fd, NULL) == 0);
	port = wz_sock_port(fd);
	wz_check(wz_http_listen(wz_api_http(fake.api), fd, NULL) == 0);
	net_loop_start(&nl);
}

static void stop(void)
{
	net_loop_end(&nl);
	wz_api_free(fake.api);
	wz_unix_close(&sock);
	wz_loop_free(nl.loop);
}

/* `lines`: further header lines. */
static unsigned ask(int fd, const char *method, const char *target, const char *lines, const char *body)
{
	static char bytes[8192];
	char length[96] = "";
	if (body)
		(void)snprintf(length, sizeof length, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		        strlen(body));
	(void)snprintf(bytes, sizeof bytes, "%s %s HTTP/1.1\r\nHost: x\r\n%s%s\r\n%s", method, target, lines,
	        length, body ? body : "");
	return net_once(fd, bytes, strlen(bytes), answer, sizeof answer);
}

/* Takes the cookie of the answer as a header line. */
static bool take_cookie(void)
{
	const char *at = strstr(answer, "Set-Cookie: wz_session="), *end = at ? strchr(at, ';') : NULL;
	if (!end)
		return false;
	(void)snprintf(cookie, sizeof cookie, "Cookie: a=b; %.*s; c=d\r\n", (int)(end - at - 12), at + 12);
	return true;
}

static bool has(const char *what)
{
	return strstr(answer, what) != NULL;
}

static void test_login(void)
{
	char body[200], both[1200];
	tap_eq_i64(ask(net_tcp(port), "GET", "/v1/jobs", "", NULL), 401, "nobody sees jobs");
	tap_eq_i64(
	        ask(net_tcp(port), "POST", "/v1/sessions", "", "{\"token\":\"wz_wrong\"}"), 401, "a wrong token");
	tap_ok(!take_cookie(), "and no cookie");
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/sessions", "", "{}"), 401, "no token");
	(void)snprintf(body, sizeof body, "{\"token\":\"%s\"}", viewer);
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/sessions", "", body), 200, "a viewer's token");
	tap_require(take_cookie(), "a cookie");
	tap_ok(has("HttpOnly") && has("SameSite=Strict") && !has(viewer),
	        "which scripts cannot read, without the token");
	tap_eq_i64(ask(net_tcp(port), "GET", "/v1/jobs", cookie, NULL), 200, "then a viewer sees jobs");
	tap_eq_i64(ask(net_tcp(port), "GET", "/v1/whoami", cookie, NULL), 200, "whoami");
	tap_ok(has("\"via\":\"session\"") && has("\"role\":\"viewer\"") && has("wz-viewer"), "by session: %s",
	        answer);
	(void)snprintf(both, sizeof both, "%sX-Whalezen: 1\r\n", cookie);
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/jobs", both, "{\"argv\":[\"x\"]}"), 403,
	        "a viewer submits nothing");
	tap_eq_i64(ask(net_tcp(port), "DELETE", "/v1/sessions", both, NULL), 200, "logs out");
	tap_ok(has("Max-Age=0"), "which ends the cookie");
}

static void test_changes(void)
{
	char body[200], both[1200];
	(void)snprintf(body, sizeof body, "{\"token\":\"%s\"}", user);
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/sessions", "", body), 200, "a user's token");
	tap_require(take_cookie(), "a cookie");
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/jobs", cookie, "{\"argv\":[\"x\"]}"), 403,
	        "another site's page cannot");
	tap_ok(has("ForeignRequest"), "and is told so");
	(void)snprintf(both, sizeof both, "%sX-Whalezen: 1\r\n", cookie);
	tap_eq_i64(ask(net_tcp(port), "POST", "/v1/jobs", both, "{\"argv\":[\"x\"]}"), 201, "our page can");
}

static void test_link(void)
{
	char target[100], *at;
	tap_eq_i64(ask(net_unix(sock_path), "POST", "/v1/session-links", "", NULL), 200,
	        "somebody known asks for a link");
	at = strstr(answer, "/login?code=");
	tap_require(at, "a path");
	(void)snprintf(target, sizeof target, "%.*s", (int)strcspn(at, "\""), at);
	tap_eq_i64(ask(net_tcp(port), "GET", target, "", NULL), 303, "the link leads on");
	tap_require(take_cookie() && has("Location: /\r\n"), "with a cookie");
	tap_eq_i64(ask(net_tcp(port), "GET", "/v1/whoami", cookie, NULL), 200, "whoami");
	tap_ok(has("\"role\":\"admin\""), "as who asked: %s", answer);
	tap_eq_i64(ask(net_tcp(port), "GET", target, "", NULL), 401, "once");
	tap_eq_i64(ask(net_tcp(port), "GET", "/login?code=0123", "", NULL), 401, "a wrong code");
	tap_eq_i64(ask(net_tcp(port), "GET", "/login", "", NULL), 401, "no code");
}

/* The key is kept, so a session outlives the daemon; a changed cookie is none. */
static void test_seal(void)
{
	struct wz_sessions s, again;
	struct wz_api_who w = {.role = WZ_ROLE_USER, .uid = 1000, .gid = 100, .name = "ann"}, got;
	struct wz_buf b;
	struct wz_err err;
	char path[80];
	(void)snprintf(path, sizeof path, "%s/own", dir);
	wz_buf_init(&b, wz_os_mem(), 4096);
	tap_eq_i64(wz_sessions_init(&s, path, wz_os_mem(), &err), 0, "makes a key");
	wz_session_seal(&s, &w, 1000, &b);
	tap_eq_i64(wz_sessions_init(&again, path, wz_os_mem(), &err), 0, "reads it again");
	memset(&got, 0, sizeof got);
	tap_eq_i64(wz_session_open(&again, wz_buf_str(&b), 2000, &got), 0, "opens");
	tap_ok(got.role == WZ_ROLE_USER && got.uid == 1000 && got.gid == 100 && strcmp(got.name, "ann") == 0 &&
	                got.session,
	        "as the same");
	tap_eq_i64(wz_session_open(&again, wz_buf_str(&b), 1000 + WZ_SESSION_US, &got), -EACCES, "not for ever");
	for (size_t i = 0; i < b.len; i++) {
		char was = b.data[i];
		b.data[i] = was == '0' ? '1' : '0';
		tap_eq_i64(wz_session_open(&again, wz_buf_str(&b), 2000, &got), -EACCES, "byte %zu changed", i);
		b.data[i] = was;
		tap_eq_i64(
		        wz_session_open(&again, (struct wz_str){b.data, i}, 2000, &got), -EACCES, "cut at %zu", i);
	}
	wz_check(chmod(path, 0644) == 0);
	tap_eq_i64(wz_sessions_init(&again, path, wz_os_mem(), &err), -EPERM, "a key that others read is refused");
	wz_buf_release(&b);
}

static void test_flat(void)
{
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/timeline?format=csv", "", NULL), 200, "CSV");
	tap_ok(has("Content-Type: text/csv"), "its type");
	tap_ok(has("\r\njob,task,attempt,user,") && has("\r\n1,0,1,\"'=cmd,\"\"x\"\"\","),
	        "quoted, and no formula: %s", answer);
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/timeline", "Accept: text/html,application/json\r\n", NULL),
	        200, "a page");
	tap_ok(has("Content-Type: text/html") && has("<table>") && has("&lt;n1&gt;") && !has("<n1>"), "escaped: %s",
	        answer);
	tap_ok(has("default-src 'none'"), "with a policy");
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/board?format=html", "", NULL), 200, "a page of one item");
	tap_ok(has("<th scope=row") && has(">fragment<") == false && has("T4"), "lists within: %s", answer);
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/board?format=csv", "", NULL), 400, "one item is no CSV");
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/jobs?format=xml", "", NULL), 400, "no such format");
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/board?at_us=5", "", NULL), 409, "too long ago");
	tap_eq_i64(ask(net_unix(sock_path), "GET", "/v1/jobs", "Accept: application/json, text/html\r\n", NULL),
	        200, "JSON first");
	tap_ok(has("application/json"), "JSON");
}

/* A viewer's page has the same columns, and nothing private in them. */
static void test_private(void)
{
	char lines[200];
	(void)snprintf(lines, sizeof lines, "Authorization: Bearer %s\r\n", viewer);
	(void)ask(net_unix(sock_path), "POST", "/v1/jobs", "", "{\"argv\":[\"x\"]}");
	for (int i = 0; i < 2; i++) {
		const char *target = i ? "/v1/jobs?format=html" : "/v1/jobs?format=csv";
		tap_eq_i64(ask(net_tcp(port), "GET", target, lines, NULL), 200, "%s", target);
		tap_ok(has("argv") && !has("canary"), "%s: nothing private: %s", target, answer);
		tap_eq_i64(ask(net_unix(sock_path), "GET", target, "", NULL), 200, "%s", target);
		tap_ok(has("canary"), "%s: all for an admin", target);
	}
}

int main(void)
{
	wz_check(mkdtemp(dir));
	start();
	tap_run(test_login);
	tap_run(test_changes);
	tap_run(test_link);
	tap_run(test_seal);
	tap_run(test_flat);
	tap_run(test_private);
	stop();
	return tap_done();
}
