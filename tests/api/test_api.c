/* SPDX-License-Identifier: Apache-2.0 */
/* Identities, roles, owners, limits, answers that come late, streams of events: the gates of the API, over the fake body. */
#include "fake.h"
#include "tap.h"

#include "os/file.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/wz-api-XXXXXX", sock_path[64], token_path[64];
static char admin[WZ_TOKEN_TEXT_MAX], user[WZ_TOKEN_TEXT_MAX], other[WZ_TOKEN_TEXT_MAX], viewer[WZ_TOKEN_TEXT_MAX];
static struct net_loop nl;
static struct wz_unix_socket sock;
static uint16_t port;
static char answer[4 << 20];

static void make_tokens(void)
{
	struct wz_buf b;
	wz_buf_init(&b, wz_os_mem(), 4096);
	wz_buf_addz(&b, "# tokens\n\n");
	wz_check(wz_token_new("wz-no-such-admin", WZ_ROLE_ADMIN, admin, &b) == 0);
	wz_buf_addz(&b, " # comment\n");
	wz_check(wz_token_new("wz-no-such-user", WZ_ROLE_USER, user, &b) == 0);
	wz_buf_addz(&b, "\r\n");
	wz_check(wz_token_new("wz-other", WZ_ROLE_USER, other, &b) == 0);
	wz_buf_addz(&b, "\n");
	wz_check(wz_token_new("wz-viewer", WZ_ROLE_VIEWER, viewer, &b) == 0);
	wz_check(wz_file_write(token_path, wz_buf_str(&b), 0600, NULL) == 0);
	wz_buf_release(&b);
}

static void start(void)
{
	struct wz_api_config cfg = wz_api_config_default;
	static const struct wz_api_asset assets[] = {{"/", "text/html", {"<h1>plain", 9}, {"zipped", 6}}};
	struct wz_err err = {0};
	int fd;
	wz_check(mkdtemp(dir) && chmod(dir, 0755) == 0);
	snprintf(sock_path, sizeof sock_path, "%s/s", dir);
	snprintf(token_path, sizeof token_path, "%s/tokens", dir);
	make_tokens();
	cfg.backend = &fake_backend;
	cfg.version = "0";
	cfg.audit = fake_audit;
	cfg.auth.token_file = token_path;
	cfg.auth.admin_gid = 4242;
	cfg.rate[WZ_ROLE_VIEWER] = (struct wz_limit_rate){50, 300};
	cfg.rate[WZ_ROLE_NONE] = (struct wz_limit_rate){1, 80};
	cfg.hub = (struct wz_hub_config){.events = 64, .subscribers = 4, .ping_us = 50000};
	cfg.assets = assets;
	cfg.n_assets = 1;
	wz_check(wz_loop_new(wz_os_mem(), &nl.loop, NULL) == 0);
	wz_check(wz_api_new(nl.loop, wz_os_mem(), &cfg, &fake.api, &err) == 0);
	wz_check(wz_metrics_add_table(wz_api_metrics(fake.api), fake_metrics, WZ_ARRAY_LEN(fake_metrics)) == 0);
	wz_check(wz_unix_listen(sock_path, 0666, (gid_t)-1, &sock, NULL) == 0);
	wz_check(wz_http_listen(wz_api_http(fake.api), sock.fd, NULL) == 0);
	sock.fd = -1;
	wz_check(wz_tcp_listen("127.0.0.1:0", &fd, NULL) == 0);
	port = wz_sock_port(fd);
	wz_check(wz_http_listen(wz_api_http(fake.api), fd, NULL) == 0);
	net_loop_start(&nl);
}

/* One request; token NULL: none. "" sends an empty header. */
static unsigned ask_fd(int fd, const char *method, const char *target, const char *token, const char *body)
{
	static char bytes[100000];
	char auth[200] = "", type[100] = "";
	if (token)
		snprintf(auth, sizeof auth, "Authorization: Bearer %s\r\n", token);
	if (body)
		snprintf(type, sizeof type, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		        strlen(body));
	snprintf(bytes, sizeof bytes, "%s %s HTTP/1.1\r\nHost: x\r\n%s%s\r\n%s", method, target, auth, type,
	        body ? body : "");
	return net_once(fd, bytes, strlen(bytes), answer, sizeof answer);
}

static unsigned ask(const char *method, const char *target, const char *token, const char *body)
{
	return ask_fd(net_tcp(port), method, target, token, body);
}

static bool says(const char *what)
{
	return strstr(answer, what) != NULL;
}

static void test_roles(void)
{
	tap_eq_i64(ask("POST", "/v1/jobs", user, "{\"argv\":[\"x\"],\"name\":\"mine\"}"), 201, "a user submits");
	tap_eq_i64(
	        ask("POST", "/v1/jobs", admin, "{\"argv\":[\"x\"],\"name\":\"admins\"}"), 201, "an admin submits");
	static const char *const ops[] = {"hold", "release", "suspend", "resume", "requeue", "cancel"};
	const char *const tokens[] = {NULL, viewer, other, user, admin};
	for (size_t i = 0; i < WZ_ARRAY_LEN(ops); i++) {
		char target[64];
		snprintf(target, sizeof target, "/v1/jobs/1/%s", ops[i]);
		uint32_t audits = fake.audits;
		tap_eq_i64(ask("POST", target, tokens[0], NULL), 401, "%s by nobody", ops[i]);
		tap_ok(says("WWW-Authenticate: Bearer"), "says how");
		tap_eq_i64(ask("POST", target, tokens[1], NULL), 403, "%s by a viewer", ops[i]);
		tap_eq_i64(ask("POST", target, tokens[2], NULL), 403, "%s by another user", ops[i]);
		tap_ok(says("\"reason\":\"NotYours\""), "%s", answer);
		tap_eq_i64(ask("POST", target, tokens[3], NULL), 200, "%s by the owner: %s", ops[i], answer);
		tap_eq_i64(ask("POST", target, tokens[4], NULL), 409, "%s again by an admin", ops[i]);
		tap_eq_i64(fake.audits - audits, 5, "all five are audited");
	}
	tap_eq_i64(ask("GET", "/v1/jobs/1/logs", other, NULL), 403, "another's log");
	tap_eq_i64(ask("PATCH", "/v1/jobs/1", other, "{\"priority\":9}"), 403, "another's edit");
	tap_eq_i64(ask("PATCH", "/v1/jobs/1", user, "{\"priority\":9}"), 200, "an edit");
	tap_ok(says("\"priority\":9") && says("\"name\":\"mine\""), "only what was given: %s", answer);
	tap_eq_i64(ask("PATCH", "/v1/jobs/2", user, "{\"priority\":9}"), 403, "an admin's job is not a user's");
	static const char *const admins[] = {
	        "POST /v1/nodes/n1/undrain", "GET /v1/doctor", "POST /v1/reload", "DELETE /v1/queues/q"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(admins); i++) {
		char method[8];
		const char *target = strchr(admins[i], ' ') + 1;
		snprintf(method, sizeof method, "%.*s", (int)(target - 1 - admins[i]), admins[i]);
		tap_eq_i64(ask(method, target, NULL, NULL), 401, "%s by nobody", admins[i]);
		tap_eq_i64(ask(method, target, viewer, NULL), 403, "%s by a viewer", admins[i]);
		tap_eq_i64(ask(method, target, user, NULL), 403, "%s by a user", admins[i]);
		tap_eq_i64(ask(method, target, admin, NULL), 200, "%s by an admin", admins[i]);
	}
	tap_eq_i64(ask("GET", "/v1/jobs/99", user, NULL), 404, "no such job");
	tap_eq_i64(ask("POST", "/v1/jobs/99/cancel", user, NULL), 404, "no such job");
	tap_eq_i64(ask("GET", "/v1/jobs", NULL, NULL), 401, "nobody sees nothing");
	tap_eq_i64(ask("GET", "/metrics", NULL, NULL), 401, "not even metrics");
	tap_eq_i64(ask("GET", "/healthz", NULL, NULL), 200, "but health");
}

/* Numbers are for everybody with a role; commands, folders, names of variables are the owner's. */
static void test_private(void)
{
	const char *const tokens[] = {viewer, other, user, admin};
	const char *const targets[] = {"/v1/jobs/1", "/v1/jobs?user=wz-no-such-user", "/v1/jobs/1/attempts"};
	for (size_t t = 0; t < WZ_ARRAY_LEN(targets); t++) {
		for (size_t i = 0; i < WZ_ARRAY_LEN(tokens); i++) {
			tap_eq_i64(ask("GET", targets[t], tokens[i], NULL), 200, "%s", targets[t]);
			bool shown = says("canary") || says("4711");
			tap_ok(shown == (i >= 2), "%s by %zu: %s", targets[t], i, answer);
		}
	}
	/* In a list each job is judged alone. */
	tap_eq_i64(ask("GET", "/v1/jobs", user, NULL), 200, "list");
	const char *first = strstr(answer, "canary");
	tap_ok(first && !strstr(first + 30, "canary-train"), "one's own only: %s", answer);
}

static void test_tokens(void)
{
	static char long_token[5000];
	struct wz_err err = {0};
	memset(long_token, 'x', sizeof long_token - 1);
	tap_eq_i64(ask("GET", "/v1/whoami", user, NULL), 200, "whoami");
	tap_ok(says("\"name\":\"wz-no-such-user\",\"uid\":-1,\"role\":\"user\",\"via\":\"token\""), "%s", answer);
	tap_eq_i64(ask("GET", "/v1/whoami", NULL, NULL), 200, "whoami of nobody");
	tap_ok(says("\"role\":\"none\",\"via\":\"none\""), "%s", answer);
	char wrong[WZ_TOKEN_TEXT_MAX];
	memcpy(wrong, user, sizeof wrong);
	wrong[20] = wrong[20] == 'a' ? 'b' : 'a';
	tap_eq_i64(ask("GET", "/v1/whoami", wrong, NULL), 401, "a token that is nearly right");
	/* On the unix socket a wrong token is wrong too: it does not fall back to the peer. */
	tap_eq_i64(ask_fd(net_unix(sock_path), "GET", "/v1/whoami", wrong, NULL), 401, "no fall back");
	unsigned known = 429; /* the tests before have spent what a viewer has; it comes back by time */
	for (int i = 0; i < 1000 && known == 429; i++)
		known = ask_fd(net_unix(sock_path), "GET", "/v1/whoami", viewer, NULL);
	tap_eq_i64(known, 200, "a token by socket");
	tap_ok(says("\"role\":\"viewer\",\"via\":\"token\""), "a token can only be itself: %s", answer);
	tap_eq_i64(ask_fd(net_unix(sock_path), "GET", "/v1/whoami", NULL, NULL), 200, "by socket");
	tap_ok(says("\"role\":\"admin\",\"via\":\"peer\""), "our own uid: %s", answer);
	static const char *const headers[] = {"Authorization: Basic dXNlcjpwYXNz\r\n", "Authorization:\r\n",
	        "Authorization: Bearer\r\n", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(headers); i++) {
		char bytes[300];
		snprintf(bytes, sizeof bytes, "GET /v1/whoami HTTP/1.1\r\nHost: x\r\n%s\r\n", headers[i]);
		unsigned status = net_once(net_unix(sock_path), bytes, strlen(bytes), answer, sizeof answer);
		tap_eq_i64(status, 401, "%s", headers[i]);
	}
	/* Guessing gets expensive. */
	unsigned limited = 0;
	for (int i = 0; i < 20; i++)
		limited += ask("GET", "/v1/whoami", wrong, NULL) == 429;
	tap_ok(limited >= 12, "guesses are limited: %u", limited);
	tap_eq_i64(ask("GET", "/v1/whoami", user, NULL), 200, "who has a token is not locked out");
	/* The file: refused when others can read it or a line is wrong; then nothing changes. */
	chmod(token_path, 0644);
	tap_eq_i64(wz_auth_reload(wz_api_auth(fake.api), &err), -EPERM, "readable by others");
	chmod(token_path, 0600);
	static const char *const lines[] = {"x", "x user", "x root 00", "a user zz", "a none zz"};
	struct wz_file_text old = {0};
	wz_check(wz_file_read(token_path, 100000, wz_os_mem(), &old, NULL) == 0);
	for (size_t i = 0; i < WZ_ARRAY_LEN(lines); i++) {
		wz_check(wz_file_write(token_path, wz_str(lines[i]), 0600, NULL) == 0);
		tap_eq_i64(wz_auth_reload(wz_api_auth(fake.api), &err), -EINVAL, "%s", lines[i]);
		tap_ok(strstr(err.text, ":1: ") != NULL, "%s", err.text);
	}
	tap_eq_i64(ask("GET", "/v1/whoami", user, NULL), 200, "the tokens stay");
	wz_check(wz_file_write(token_path, WZ_STR("\n"), 0600, NULL) == 0);
	tap_eq_i64(wz_auth_reload(wz_api_auth(fake.api), &err), 0, "no tokens");
	tap_ok(ask("GET", "/v1/whoami", user, NULL) >= 400, "a withdrawn token");
	wz_check(wz_file_write(token_path, wz_file_text_str(&old), 0600, NULL) == 0);
	tap_eq_i64(wz_auth_reload(wz_api_auth(fake.api), &err), 0, "again");
	wz_file_text_release(&old);
}

/* Children of other users ask by socket. */
static unsigned as_user(uid_t uid, gid_t group, const char *method, const char *target, const char *body)
{
	int p[2];
	wz_check(pipe(p) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgroups(1, &group) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
			_exit(1);
		ask_fd(net_unix(sock_path), method, target, NULL, body);
		ssize_t n = write(p[1], answer, strlen(answer));
		_exit(n < 0);
	}
	close(p[1]);
	size_t len = 0;
	for (ssize_t n = 1; n > 0; len += (size_t)n) {
		n = read(p[0], answer + len, sizeof answer - 1 - len);
		if (n < 0)
			break;
	}
	answer[len] = 0;
	close(p[0]);
	int status;
	waitpid(pid, &status, 0);
	return net_status(answer);
}

static void test_peers(void)
{
	if (geteuid() != 0)
		tap_skip("needs root to become other users");
	tap_eq_i64(as_user(54321, 54321, "GET", "/v1/whoami", NULL), 200, "a stranger");
	tap_ok(says("\"name\":\"54321\",\"uid\":54321,\"role\":\"user\",\"via\":\"peer\""), "%s", answer);
	tap_eq_i64(as_user(54321, 4242, "GET", "/v1/whoami", NULL), 200, "of the admin group");
	tap_ok(says("\"role\":\"admin\""), "%s", answer);
	tap_eq_i64(as_user(54321, 54321, "POST", "/v1/jobs", "{\"argv\":[\"x\"]}"), 201, "submits");
	const char *id = strstr(answer, "\"id\":");
	char target[64];
	snprintf(target, sizeof target, "/v1/jobs/%d/hold", id ? (int)(id[5] - '0') : 0);
	tap_eq_i64(as_user(54322, 54322, "POST", target, NULL), 403, "%s by another uid", target);
	tap_eq_i64(as_user(54321, 54321, "POST", target, NULL), 200, "%s by its own", target);
	tap_ok(fake.last_audit.status == 200 && strcmp(fake.last_operation, "job_hold") == 0, "audited: %s",
	        fake.last_operation);
	/* A token whose name the system does not know is nobody's uid. */
	tap_eq_i64(ask("POST", target, other, NULL), 403, "a token without a uid");
}

static void test_limits(void)
{
	unsigned ok = 0, limited = 0;
	for (int i = 0; i < 1200; i++) {
		unsigned status = ask("GET", "/v1/nodes", viewer, NULL);
		ok += status == 200;
		limited += status == 429;
	}
	tap_ok(ok >= 30 && limited >= 20 && ok + limited == 1200, "a viewer is limited: %u %u", ok, limited);
	tap_ok(says("Retry-After: ") || limited == 0, "and told when: %s", answer);
	tap_eq_i64(ask("GET", "/v1/nodes", user, NULL), 200, "others are not");
	ok = 0;
	for (int i = 0; i < 200; i++)
		ok += ask("GET", "/v1/nodes", admin, NULL) == 200;
	tap_eq_i64(ok, 200, "admins have no limit");
}

static void test_bodies(void)
{
	static const struct {
		unsigned status;
		const char *reason, *field, *body;
	} cases[] = {
	        {400, "NoCommand", "argv", "{}"},
	        {400, "UnknownField", "nmae", "{\"argv\":[\"x\"],\"nmae\":\"a\"}"},
	        {400, "BadField", "argv[1]", "{\"argv\":[\"x\",1]}"},
	        {400, "BadField", "argv", "{\"argv\":\"x\"}"},
	        {400, "BadField", "env.A", "{\"argv\":[\"x\"],\"env\":{\"A\":1}}"},
	        {400, "BadField", "priority", "{\"argv\":[\"x\"],\"priority\":1.0}"},
	        {400, "BadField", "priority", "{\"argv\":[\"x\"],\"priority\":2147483648}"},
	        {400, "BadField", "umask", "{\"argv\":[\"x\"],\"umask\":512}"},
	        {400, "BadField", "held", "{\"argv\":[\"x\"],\"held\":\"yes\"}"},
	        {400, "BadField", "name",
	                "{\"name\":"
	                "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	                "x"
	                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}"},
	        {400, "BadJson", "", "{\"argv\":[\"x\"],\"argv\":[\"y\"]}"},
	        {400, "BadJson", "", "{\"argv\":[\"\\u0000\"]}"},
	        {400, "BadJson", "", "[]"},
	        {400, "BadJson", "", "{\"a\":"},
	        {400, "BadJson", "", "nonsense"},
	        {400, "BadJson", "", "{} {}"},
	        {400, "TooDeep", "", "{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}"},
	        {400, "UnknownField", "id", "{\"argv\":[\"x\"],\"id\":7}"},
	        {400, "UnknownField", "idempotency_key", "{\"argv\":[\"x\"],\"idempotency_key\":\"k\"}"},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(cases); i++) {
		char want[100];
		tap_eq_i64(ask("POST", "/v1/jobs", admin, cases[i].body), cases[i].status, "%s: %s", cases[i].body,
		        answer);
		snprintf(want, sizeof want, "\"reason\":\"%s\"", cases[i].reason);
		tap_ok(says(want), "%s: %s", cases[i].body, answer);
		snprintf(want, sizeof want, "\"field\":\"%s\"", cases[i].field);
		tap_ok(cases[i].field[0] ? says(want) : !says("\"field\""), "field of %s: %s", cases[i].body,
		        answer);
	}
	tap_eq_i64(ask("POST", "/v1/jobs", admin, "{\"nmae\":1}"), 400, "near");
	tap_ok(says("did you mean name"), "%s", answer);
	tap_eq_i64(ask("POST", "/v1/jobs", admin, "{\"argv\":[\"x\"],\"name\":null}"), 201, "null is absent");
	tap_eq_i64(ask("GET", "/v1/nodes", admin, "{}"), 400, "a GET with a body");
	tap_eq_i64(ask("GET", "/v1/jobs?limit=x", admin, NULL), 400, "a bad number");
	tap_eq_i64(ask("GET", "/v1/jobs?nonsense=1", admin, NULL), 400, "an unknown parameter");
	tap_eq_i64(ask("GET", "/v1/jobs?limit=1&limit=2", admin, NULL), 400, "a parameter twice");
	tap_eq_i64(ask("GET", "/v1/jobs?ids=1,2,x", admin, NULL), 400, "a bad list");
	tap_eq_i64(ask("GET", "/v1/jobs?ids=1,2&all=1&state=running", admin, NULL), 200, "good ones: %s", answer);
	tap_eq_i64(ask("GET", "/v1/jobs?limit=1", admin, NULL), 200, "a page");
	tap_ok(says("\"next\":1"), "%s", answer);
	tap_eq_i64(ask("GET", "/v1/jobs/abc", admin, NULL), 400, "no number");
	tap_eq_i64(ask("GET", "/v1/jobs/0", admin, NULL), 400, "out of range");
	tap_eq_i64(ask("GET", "/v1/jobs/99999999999999999999999", admin, NULL), 400, "too large");
	tap_eq_i64(ask("GET", "/v1/nodes/%6e1", admin, NULL), 200, "an escaped segment");
	tap_eq_i64(ask("GET", "/v1/nodes/n%2f1", admin, NULL), 400, "an escaped slash");
	tap_eq_i64(ask("GET", "/v1/nodes/", admin, NULL), 404, "an empty segment");
	tap_eq_i64(ask("GET", "/v1//nodes", admin, NULL), 404, "two slashes");
	tap_eq_i64(ask("GET", "/v1/nodes/n1/", admin, NULL), 404, "a slash too many");
	tap_eq_i64(ask("DELETE", "/v1/jobs/1", admin, NULL), 405, "another method");
	tap_ok(says("Allow: GET, PATCH"), "%s", answer);
	tap_eq_i64(ask("OPTIONS", "/v1/jobs", admin, NULL), 204, "options");
	tap_ok(says("Allow: GET, POST"), "%s", answer);
	tap_eq_i64(ask("HEAD", "/v1/jobs", admin, NULL), 200, "head");
	const char form[] =
	        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
	        "Content-Length: 2\r\n\r\n{}";
	tap_eq_i64(net_once(net_unix(sock_path), form, sizeof form - 1, answer, sizeof answer), 415,
	        "a form is no JSON");
	const char key[] =
	        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nIdempotency-Key: k1\r\n"
	        "Content-Length: 14\r\n\r\n{\"argv\":[\"x\"]}";
	tap_eq_i64(net_once(net_unix(sock_path), key, sizeof key - 1, answer, sizeof answer), 201, "with a key");
	tap_ok(says("\"repeated\":false"), "the first time");
	tap_eq_i64(net_once(net_unix(sock_path), key, sizeof key - 1, answer, sizeof answer), 201, "again");
	tap_ok(says("\"repeated\":true"), "the second time: %s", answer);
}

static void test_values(void)
{
	/* More values than the parser is let to see. */
	static char bytes[1600000];
	struct wz_buf b;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_buf_addz(&b, "{\"argv\":[");
	for (int i = 0; i < 310000; i++)
		wz_buf_addz(&b, i ? ",\"\"" : "\"\"");
	wz_buf_addz(&b, "]}");
	static char request[1700000];
	int n = snprintf(request, sizeof request,
	        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
	        "%zu\r\n\r\n%s",
	        b.len, wz_buf_z(&b));
	tap_eq_i64(net_once(net_unix(sock_path), request, (size_t)n, answer, sizeof answer), 413, "300000 values");
	tap_ok(says("TooManyValues"), "%s", answer);
}

/* ---- answers that come later ---- */

static void set_defer(void *ctx)
{
	fake.defer = ctx != NULL;
}

static void look(void *ctx)
{
	*(uint32_t *)ctx = fake.n_deferred;
}

static uint32_t wait_deferred(uint32_t n)
{
	uint64_t until = wz_clock_monotonic_ns() + 10000000000ull;
	uint32_t have = 0;
	do
		net_loop_call(&nl, look, &have);
	while (have < n && wz_clock_monotonic_ns() < until);
	return have;
}

static const char submit[] = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                             "Content-Length: 14\r\n\r\n{\"argv\":[\"x\"]}";

static void test_later(void)
{
	int fd[8];
	net_loop_call(&nl, set_defer, &fake);
	for (int i = 0; i < 8; i++) {
		fd[i] = net_unix(sock_path);
		net_send(fd[i], submit, sizeof submit - 1);
	}
	tap_eq_i64(wait_deferred(8), 8, "all wait");
	close(fd[0]); /* gone before the answer */
	close(fd[3]);
	net_loop_call(&nl, fake_answer, NULL);
	for (int i = 0; i < 8; i++) {
		if (i == 0 || i == 3)
			continue;
		net_read_until(fd[i], answer, sizeof answer, "}\n");
		tap_eq_i64(net_status(answer), 201, "answer %d", i);
		close(fd[i]);
	}
	net_loop_call(&nl, set_defer, NULL);
}

static void test_logs(void)
{
	tap_eq_i64(ask("GET", "/v1/jobs/1/logs", user, NULL), 200, "a log");
	size_t len = 0;
	for (const char *p = answer;
	        (p = strstr(p, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n")); p++)
		len += 64;
	tap_eq_i64(len, 3200 * 64, "all of it");
	int fd = net_unix(sock_path); /* gone in the middle */
	net_sendz(fd, "GET /v1/jobs/1/logs?tail=9999 HTTP/1.1\r\nHost: x\r\n\r\n");
	net_read_until(fd, answer, 1000, "0123");
	close(fd);
	tap_eq_i64(ask("GET", "/healthz", NULL, NULL), 200, "lives on");
}

/* ---- events ---- */

static void publish(void *ctx)
{
	for (uint64_t i = 0; i < *(uint64_t *)ctx; i++)
		fake_publish("noise", &fake.jobs[i % 2]);
}

static void get_seq(void *ctx)
{
	*(uint64_t *)ctx = fake.seq;
}

static int follow(const char *more, const char *query)
{
	char bytes[300];
	int fd = net_unix(sock_path);
	snprintf(bytes, sizeof bytes, "GET /v1/events%s HTTP/1.1\r\nHost: x\r\n%s\r\n", query, more);
	net_sendz(fd, bytes);
	return fd;
}

static void test_events(void)
{
	uint64_t seq, n = 3;
	char want[100], more[100];
	net_loop_call(&nl, get_seq, &seq);
	int fd = follow("", "");
	snprintf(want, sizeof want, "event: hello\ndata: {\"seq\":%" PRIu64 "}\n\n", seq);
	net_read_until(fd, answer, sizeof answer, want);
	tap_ok(says("Content-Type: text/event-stream") && says(want), "hello: %s", answer);
	net_loop_call(&nl, publish, &n);
	snprintf(want, sizeof want, "id: %" PRIu64 "\nevent: job\ndata: {\"seq\":%" PRIu64, seq + 3, seq + 3);
	net_read_until(fd, answer, sizeof answer, want);
	tap_ok(says(want), "live: %s", answer);
	net_read_until(fd, answer, sizeof answer, ": still here");
	tap_ok(says(": still here"), "a silent stream shows that it lives");
	close(fd);
	/* Resume in the middle; from the header and from the query; the header first. */
	snprintf(more, sizeof more, "Last-Event-ID: %" PRIu64 "\r\n", seq + 1);
	for (int i = 0; i < 3; i++) {
		char query[64] = "";
		if (i)
			snprintf(query, sizeof query, "?after=%" PRIu64, i == 1 ? seq + 1 : 0);
		fd = follow(i == 1 ? "" : more, query);
		net_read_until(fd, answer, sizeof answer, want);
		snprintf(query, sizeof query, "id: %" PRIu64 "\n", seq + 2);
		tap_ok(says(query) && says(want) && !says("event: gap"), "resumed, way %d: %s", i, answer);
		snprintf(query, sizeof query, "id: %" PRIu64 "\n", seq + 1);
		tap_ok(!says(query), "not what was seen");
		close(fd);
	}
	/* Filters. */
	n = 4;
	net_loop_call(&nl, publish, &n);
	snprintf(more, sizeof more, "Last-Event-ID: %" PRIu64 "\r\n", seq + 3);
	fd = follow(more, "?job=2");
	snprintf(want, sizeof want, "id: %" PRIu64 "\n", seq + 7);
	net_read_until(fd, answer, sizeof answer, want);
	tap_ok(says("\"job\":2") && !says("\"job\":1"), "one job: %s", answer);
	close(fd);
	fd = follow(more, "?type=node,queue");
	net_read_until(fd, answer, sizeof answer, ": still here");
	tap_ok(!says("event: job"), "of other types: none: %s", answer);
	close(fd);
	/* Too old: a gap, then what is kept. */
	n = 200;
	net_loop_call(&nl, publish, &n);
	fd = follow(more, "");
	snprintf(want, sizeof want,
	        "id: %" PRIu64 "\nevent: gap\ndata: {\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}\n\n",
	        seq + 7 + 200 - 64, seq + 4, seq + 7 + 200 - 64);
	char last[64];
	snprintf(last, sizeof last, "id: %" PRIu64 "\n", seq + 207);
	net_read_until(fd, answer, sizeof answer, last);
	tap_ok(says(want), "gap: want %s, got %s", want, answer);
	unsigned events = 0;
	for (const char *p = answer; (p = strstr(p, "event: job")); p++)
		events++;
	tap_eq_i64(events, 64, "all that is kept");
	close(fd);
	/* From another history. */
	fd = follow("Last-Event-ID: 99999999\r\n", "");
	net_read_until(fd, answer, sizeof answer, "event: gap\n");
	tap_ok(says("event: gap"), "a number that was never given: %s", answer);
	close(fd);
}

/* One that does not read: the others are fed, the memory is bounded, and it learns what it missed. */
static void test_slow_subscriber(void)
{
	char bytes[100];
	uint64_t n = 100, seq;
	int slow = net_unix(sock_path), size = 4096;
	setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	net_loop_call(&nl, get_seq, &seq);
	net_sendz(slow, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
	net_read_until(slow, bytes, sizeof bytes, "HTTP/1.1 200");
	int quick = follow("", "");
	net_read_until(quick, answer, sizeof answer, "hello");
	for (int i = 0; i < 150; i++) {
		net_loop_call(&nl, publish, &n);
		char want[64];
		snprintf(want, sizeof want, "id: %" PRIu64 "\n", seq + (uint64_t)(i + 1) * 100);
		net_read_until(quick, answer, sizeof answer, want);
		tap_ok(says(want), "the quick one gets all: round %d", i);
	}
	close(quick);
	char last[64];
	snprintf(last, sizeof last, "id: %" PRIu64 "\n", seq + 15000);
	size_t len = net_read_until(slow, answer, sizeof answer, last);
	tap_ok(says("event: gap") && says(last), "the slow one is told of the gap and comes up: %zu bytes", len);
	tap_ok(len < 3500000, "what waited for it was bounded");
	close(slow);
}

static void test_streams_bounded(void)
{
	int fd[6];
	unsigned streams = 0, refused = 0;
	for (int i = 0; i < 6; i++) {
		fd[i] = follow("", "");
		net_read_until(fd[i], answer, sizeof answer, i < 4 ? "hello" : "}\n");
		streams += net_status(answer) == 200;
		refused += net_status(answer) == 503 && says("TooManyStreams");
	}
	tap_ok(streams == 4 && refused == 2, "four streams: %u, %u", streams, refused);
	for (int i = 0; i < 6; i++)
		close(fd[i]);
}

static void set_ready(void *ctx)
{
	fake.not_ready = ctx != NULL;
}

static void test_probes(void)
{
	tap_eq_i64(ask("GET", "/readyz", NULL, NULL), 200, "ready");
	net_loop_call(&nl, set_ready, &fake);
	tap_eq_i64(ask("GET", "/readyz", NULL, NULL), 503, "not ready");
	tap_ok(says("the agent is not here yet"), "%s", answer);
	net_loop_call(&nl, set_ready, NULL);
	tap_eq_i64(ask("GET", "/metrics", admin, NULL), 200, "metrics");
	tap_ok(says("# TYPE wz_http_requests_total counter\n") &&
	                says("wz_http_requests_total{operation=\"job_submit\",status=\"201\"} "),
	        "counted");
	tap_ok(says("wz_fake_jobs{state=\"a \\\"quoted\\\"\\nlabel\\\\\"} "), "escaped");
	tap_ok(says("wz_http_request_seconds_bucket{operation=\"job_submit\",le=\"+Inf\"} "), "a histogram");
	tap_eq_i64(ask("GET", "/", NULL, NULL), 200, "the dashboard");
	tap_ok(says("<h1>plain") && says("Content-Security-Policy: default-src 'none'"), "%s", answer);
	const char zipped[] = "GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip\r\n\r\n";
	net_once(net_tcp(port), zipped, sizeof zipped - 1, answer, sizeof answer);
	tap_ok(says("zipped") && says("Content-Encoding: gzip"), "%s", answer);
}

/* The end: streams end, an answer that comes after the API is gone goes nowhere. */
static void drain(void *ctx)
{
	(void)ctx;
	wz_api_drain(fake.api);
}

static void test_end(void)
{
	int events = follow("", ""), late = net_unix(sock_path);
	net_read_until(events, answer, sizeof answer, "hello");
	net_loop_call(&nl, set_defer, &fake);
	net_send(late, submit, sizeof submit - 1);
	tap_eq_i64(wait_deferred(1), 1, "one waits");
	net_loop_call(&nl, drain, NULL);
	tap_ok(net_closed(events), "streams end");
	tap_ok(net_unix(sock_path) < 0, "nobody new");
	close(events);
	net_loop_end(&nl);
	wz_api_free(fake.api);
	fake_answer(NULL); /* after the API: frees the call and the last of it */
	wz_loop_step(nl.loop, 0); /* libevent closes in the next round */
	tap_ok(net_closed(late), "its connection is closed");
	close(late);
}

int main(void)
{
	start();
	tap_run(test_roles);
	tap_run(test_private);
	tap_run(test_peers);
	tap_run(test_bodies);
	tap_run(test_values);
	tap_run(test_later);
	tap_run(test_logs);
	tap_run(test_events);
	tap_run(test_slow_subscriber);
	tap_run(test_streams_bounded);
	tap_run(test_probes);
	tap_run(test_limits);
	tap_run(test_tokens);
	tap_run(test_end);
	wz_unix_close(&sock);
	wz_loop_free(nl.loop);
	char lock[80];
	snprintf(lock, sizeof lock, "%s.lock", sock_path);
	unlink(lock);
	unlink(token_path);
	rmdir(dir);
	return tap_done();
}
