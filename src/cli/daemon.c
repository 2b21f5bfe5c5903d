/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"

#include <sys/stat.h>

#include <time.h>
#include <unistd.h>

static int path_of(struct wz_err *err, char ret[WZ_DAEMON_PATH_MAX], struct wz_str a, const char *b)
{
	int n;
	if (a.len && a.ptr[0] != '/') {
		char here[WZ_DAEMON_PATH_MAX];
		if (!getcwd(here, sizeof here))
			return wz_err_set(err, -errno, "FileError", WZ_STR("the working directory is gone"));
		n = snprintf(ret, WZ_DAEMON_PATH_MAX, "%s/%.*s%s", here, (int)a.len, a.ptr, b);
	} else {
		n = snprintf(ret, WZ_DAEMON_PATH_MAX, "%.*s%s", (int)a.len, a.len ? a.ptr : "", b);
	}
	return n < 0 || n >= (int)WZ_DAEMON_PATH_MAX
	               ? wz_err_set(err, -ENAMETOOLONG, "FileError", WZ_STR("the path is too long"))
	               : 0;
}

static struct wz_str env_dir(const char *name)
{
	struct wz_str v = wz_str(getenv(name));
	return v.len && v.ptr[0] == '/' ? v : (struct wz_str){NULL, 0};
}

int wz_daemon_state(struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	if (given.len)
		return path_of(err, ret, given, "");
	if (env_dir("XDG_STATE_HOME").len)
		return path_of(err, ret, env_dir("XDG_STATE_HOME"), "/whalezen");
	if (env_dir("HOME").len)
		return path_of(err, ret, env_dir("HOME"), "/.local/state/whalezen");
	return wz_err_set(err, -ENOENT, "NoHome", WZ_STR("HOME is not set; give --state DIR"));
}

int wz_daemon_socket(struct wz_str given, struct wz_str state, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	char dir[WZ_DAEMON_PATH_MAX];
	if (given.len)
		return path_of(err, ret, given, "");
	if (!state.len && env_dir("XDG_RUNTIME_DIR").len)
		return path_of(err, ret, env_dir("XDG_RUNTIME_DIR"), "/whalezen.sock");
	int rc = wz_daemon_state(state, dir, err);
	return rc < 0 ? rc : path_of(err, ret, wz_str(dir), "/whalezen.sock");
}

int wz_daemon_server(struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err)
{
	struct wz_str at = given.len ? given : wz_str(getenv("WZ_SERVER"));
	if (!wz_str_starts(at, WZ_STR("http")) && !wz_str_starts(at, WZ_STR("unix:"))) {
		int rc = wz_daemon_socket(at, WZ_STR(""), ret, err);
		if (!at.len && (rc < 0 || access(ret, F_OK) != 0) && access(WZ_SYSTEM_SOCKET, F_OK) == 0)
			return path_of(err, ret, WZ_STR(WZ_SYSTEM_SOCKET), "");
		return rc;
	}
	if (at.len >= WZ_DAEMON_PATH_MAX)
		return wz_err_set(err, -ENAMETOOLONG, "BadAddress", WZ_STR("the address is too long"));
	memcpy(ret, at.ptr, at.len);
	ret[at.len] = 0;
	return 0;
}

/* $XDG_CONFIG_HOME/whalezen/NAME or ~/.config/whalezen/NAME; "" when neither is set. */
static void config_file(const char *name, char ret[WZ_DAEMON_PATH_MAX])
{
	struct wz_err err;
	struct wz_str dir = env_dir("XDG_CONFIG_HOME");
	char tail[100];
	(void)snprintf(tail, sizeof tail, "%s/whalezen/%s", dir.len ? "" : "/.config", name);
	if (!dir.len)
		dir = env_dir("HOME");
	if (!dir.len || path_of(&err, ret, dir, tail) < 0)
		ret[0] = 0;
}

/* The token of a remote daemon: WZ_TOKEN, else the file that WZ_TOKEN_FILE names, else the user's. A file that others can
 * read is refused. 0: there may be none. */
static int find_token(char ret[512], struct wz_err *err)
{
	char path[WZ_DAEMON_PATH_MAX];
	struct wz_file_text text = {0};
	struct stat st;
	struct wz_str t = wz_str(getenv("WZ_TOKEN")), file = wz_str(getenv("WZ_TOKEN_FILE"));
	ret[0] = 0;
	if (!t.len) {
		if (file.len && path_of(err, path, file, "") < 0)
			return -EINVAL;
		if (!file.len)
			config_file("token", path);
		if (!path[0] || (!file.len && access(path, F_OK) != 0))
			return 0;
		int rc = wz_file_read(path, 500, wz_os_mem(), &text, err);
		if (rc < 0)
			return rc;
		if (stat(path, &st) == 0 && st.st_mode & (S_IRWXO | S_IRWXG)) {
			wz_file_text_release(&text);
			return wz_err_set(err, -EPERM, "TokenFileReadable", WZ_STR("others can read "),
			        wz_str(path), WZ_STR("; run: chmod 600 "), wz_str(path));
		}
		t = wz_str_trim(wz_file_text_str(&text));
	}
	if (t.len < 512) {
		memcpy(ret, t.ptr, t.len);
		ret[t.len] = 0;
	}
	wz_file_text_release(&text);
	return 0;
}

int wz_daemon_open(struct wz_daemon *d, struct wz_cli *cli, struct wz_str socket)
{
	struct wz_err err;
	char token[512] = "", ca[WZ_DAEMON_PATH_MAX] = "";
	*d = (struct wz_daemon){.cli = cli};
	int rc = wz_daemon_server(socket, d->socket, &err);
	bool remote = rc == 0 && d->socket[0] != '/';
	struct wz_str named = wz_str(getenv("WZ_CA"));
	if (remote)
		rc = find_token(token, &err);
	if (remote && rc == 0 && named.len)
		rc = path_of(&err, ca, named, "");
	else if (remote && rc == 0)
		config_file("ca.pem", ca);
	if (!named.len && ca[0] && access(ca, R_OK) != 0)
		ca[0] = 0;
	struct wz_httpc_config c = {.server = d->socket,
	        .token = token[0] ? token : NULL,
	        .ca_file = ca[0] ? ca : NULL,
	        .hint = "start it with `wz serve`, or name another with --server or WZ_SERVER"};
	if (rc == 0)
		rc = wz_httpc_new(&c, cli->mem, &d->http, &err);
	explicit_bzero(token, sizeof token);
	return rc < 0 ? wz_cli_fail(&err) : 0;
}

void wz_daemon_close(struct wz_daemon *d)
{
	wz_httpc_free(d->http);
	d->http = NULL;
}

struct wz_str wz_daemon_text(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_string(v) ? (struct wz_str){json_string_value(v), json_string_length(v)} : WZ_STR("");
}

int64_t wz_daemon_int(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* An answer that is no success: its text, and the exit code that fits. */
static int refused(const struct wz_httpc_reply *r)
{
	json_t *root = json_loadb(r->body.data ? r->body.data : "", r->body.len, 0, NULL);
	json_t *e = json_object_get(root, "error");
	struct wz_err err;
	struct wz_num n;
	struct wz_str text = wz_daemon_text(e, "text"), field = wz_daemon_text(e, "field");
	if (text.len)
		(void)wz_err_set(&err, -EIO,
		        r->status == 404                       ? "NotFound"
		        : r->status == 403 || r->status == 409 ? "NotAllowed"
		                                               : "Refused",
		        field.len ? field : WZ_STR(""), field.len ? WZ_STR(": ") : WZ_STR(""), text);
	else
		(void)wz_err_set(&err, -EIO, "Refused", WZ_STR("the daemon answered with status "),
		        wz_str_u64(&n, r->status));
	json_decref(root);
	return wz_cli_fail(&err);
}

static int do_call(struct wz_daemon *d, struct wz_httpc_call *c, struct wz_httpc_reply *r)
{
	struct wz_err err;
	int rc = wz_httpc_do(d->http, c, r, &err);
	/* With a key a repeated call is the same one. */
	for (unsigned i = 0; rc < 0 && c->idempotency_key && i < 5 &&
	                     (rc == -ECONNRESET || rc == -ETIMEDOUT || (i && rc == -ECONNREFUSED));
	        i++) {
		(void)nanosleep(&(struct timespec){0, 200000000}, NULL);
		rc = wz_httpc_do(d->http, c, r, &err);
	}
	if (rc < 0)
		return rc == -ECANCELED ? WZ_EXIT_FAILED : wz_cli_fail(&err);
	if (r->status / 100 == 2)
		return 0;
	int code = refused(r);
	wz_buf_release(&r->body);
	return code;
}

int wz_daemon_call(struct wz_daemon *d, const char *method, const char *path, struct wz_str body, const char *key,
        struct wz_buf *ret)
{
	struct wz_httpc_call c = {
	        .method = method, .path = path, .body = body, .idempotency_key = key, .total_ms = 60000};
	struct wz_httpc_reply r;
	int code = do_call(d, &c, &r);
	if (code == 0)
		*ret = r.body;
	return code;
}

static void add_line(struct wz_buf *b, const json_t *v)
{
	char *text = json_dumps(v, JSON_COMPACT);
	wz_buf_addz(b, text ? text : "");
	wz_buf_addc(b, '\n');
	free(text);
}

/* The items of a list, or the one document, a line each. */
static int as_lines(struct wz_cli *cli, struct wz_str body)
{
	json_t *root = json_loadb(body.ptr ? body.ptr : "", body.len, 0, NULL), *list = NULL, *v;
	const char *key;
	size_t i;
	json_object_foreach(root, key, v) if (json_is_array(v) && json_object_size(root) <= 2) list = v;
	json_array_foreach(list, i, v) add_line(&cli->out, v);
	if (root && !list)
		add_line(&cli->out, root);
	json_decref(root);
	return root ? WZ_EXIT_OK : WZ_EXIT_FAILED;
}

int wz_daemon_get(struct wz_daemon *d, const char *path, bool raw, json_t **ret)
{
	struct wz_buf body;
	json_error_t e;
	int code = wz_daemon_call(d, "GET", path, (struct wz_str){NULL, 0}, NULL, &body);
	if (code)
		return code;
	*ret = NULL;
	if (raw && d->cli->jsonl) {
		code = as_lines(d->cli, wz_buf_str(&body));
	} else if (raw) {
		wz_buf_add(&d->cli->out, wz_buf_str(&body));
	} else if (!(*ret = json_loadb(body.data ? body.data : "", body.len, 0, &e))) {
		struct wz_err err;
		(void)wz_err_set(
		        &err, -EPROTO, "BadAnswer", WZ_STR("the daemon's answer is no JSON: "), wz_str(e.text));
		code = wz_cli_fail(&err);
	}
	wz_buf_release(&body);
	return code;
}

/* What `\r` began anew is dropped when other text follows; a line is written when it ends. */
struct folding {
	bool fold, over; /* over: the last byte was \r */
	struct wz_buf line;
};

static int fold(struct folding *f, struct wz_str bytes)
{
	struct wz_buf out;
	wz_buf_init(&out, f->line.mem, (size_t)64 << 20);
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.ptr[i];
		if (f->over && c != '\n' && c != '\r')
			wz_buf_clear(&f->line);
		f->over = c == '\r';
		if (c == '\n') {
			wz_buf_add(&out, wz_buf_str(&f->line));
			wz_buf_addc(&out, c);
			wz_buf_clear(&f->line);
		} else if (c != '\r') {
			wz_buf_addc(&f->line, c);
		}
	}
	int rc = out.status < 0 ? out.status : wz_fd_write_all(STDOUT_FILENO, wz_buf_str(&out));
	wz_buf_release(&out);
	return rc;
}

static int to_stdout(void *ctx, struct wz_str bytes)
{
	struct folding *f = ctx;
	if (!bytes.len)
		return 0;
	return f->fold ? fold(f, bytes) : wz_fd_write_all(STDOUT_FILENO, bytes);
}

int wz_daemon_log(struct wz_daemon *d, const struct wz_daemon_log *q)
{
	char path[240];
	struct folding f = {.fold = q->fold};
	struct wz_httpc_call c = {.method = "GET", .path = path, .data = to_stdout, .ctx = &f};
	struct wz_httpc_reply r;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu/logs?task=%llu&attempt=%llu&tail=%llu&follow=%s&stream=%s",
	        (unsigned long long)q->job, (unsigned long long)q->task, (unsigned long long)q->attempt,
	        (unsigned long long)q->tail, q->follow ? "true" : "false", q->errors ? "err" : "out");
	wz_buf_init(&f.line, d->cli->mem, (size_t)16 << 20);
	int code = do_call(d, &c, &r);
	if (code == 0)
		wz_buf_release(&r.body);
	if (f.line.len)
		(void)wz_fd_write_all(STDOUT_FILENO, wz_buf_str(&f.line));
	wz_buf_release(&f.line);
	return code;
}

int wz_daemon_wait(struct wz_daemon *d, uint64_t job, json_t **ret)
{
	char path[64];
	long pause_ms = 20;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)job);
	for (;;) {
		json_t *j;
		int code = wz_daemon_get(d, path, false, &j);
		if (code)
			return code;
		if (wz_daemon_int(j, "end_us")) {
			*ret = j;
			return 0;
		}
		json_decref(j);
		(void)nanosleep(&(struct timespec){0, pause_ms * 1000000}, NULL);
		pause_ms = pause_ms < 300 ? pause_ms * 2 : 500;
	}
}

void wz_daemon_query(struct wz_buf *b, const char *key, struct wz_str v)
{
	static const char hex[] = "0123456789ABCDEF";
	if (!v.len)
		return;
	wz_buf_addc(b, '&');
	wz_buf_addz(b, key);
	wz_buf_addc(b, '=');
	for (size_t i = 0; i < v.len; i++) {
		unsigned char c = (unsigned char)v.ptr[i];
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
		        c == ',' || c == '.') {
			wz_buf_addc(b, (char)c);
		} else {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, hex[c >> 4]);
			wz_buf_addc(b, hex[c & 15]);
		}
	}
}

int wz_daemon_number(const struct wz_verb *v, const char *text, uint64_t *ret)
{
	struct wz_err err;
	if (wz_str_parse_u64(wz_str(text), ret) == 0 && *ret)
		return 0;
	(void)wz_err_set(&err, -EINVAL, "BadValue", WZ_STR("\""), wz_str(text), WZ_STR("\" is no job number"));
	return wz_cli_usage(v, err.text);
}

int wz_daemon_ref(const struct wz_verb *v, const char *text, uint64_t *ret, struct wz_str *ret_indices)
{
	struct wz_str indices = wz_str(text), job = wz_str_split(&indices, '_');
	struct wz_err err;
	bool ok = wz_str_parse_u64(job, ret) == 0 && *ret && *ret <= INT64_MAX;
	if (indices.len > 2 && indices.ptr[0] == '[' && indices.ptr[indices.len - 1] == ']')
		indices = (struct wz_str){indices.ptr + 1, indices.len - 2};
	ok = ok && (!indices.ptr || indices.len);
	for (size_t i = 0; i < indices.len; i++)
		ok = ok && strchr("0123456789-,:", indices.ptr[i]);
	*ret_indices = indices.ptr ? indices : WZ_STR("");
	if (ok)
		return 0;
	(void)wz_err_set(&err, -EINVAL, "BadValue", WZ_STR("\""), wz_str(text),
	        WZ_STR("\" is no job number (17), task (17_3) or tasks of an array (17_[1-4])"));
	return wz_cli_usage(v, err.text);
}

int wz_daemon_job(struct wz_daemon *d, const struct wz_verb *v, const char *text, uint64_t *ret)
{
	struct wz_str indices;
	char path[400];
	json_t *root;
	int code = wz_daemon_ref(v, text, ret, &indices);
	if (code || !indices.len)
		return code;
	for (size_t i = 0; i < indices.len; i++)
		if (indices.ptr[i] < '0' || indices.ptr[i] > '9')
			return wz_cli_usage(v, "one task is expected, such as 17_3");
	(void)snprintf(path, sizeof path, "/v1/jobs?all=true&limit=1&array=%llu&indices=%.*s",
	        (unsigned long long)*ret, (int)indices.len, indices.ptr);
	code = wz_daemon_get(d, path, false, &root);
	if (code)
		return code;
	uint64_t job = (uint64_t)wz_daemon_int(json_array_get(json_object_get(root, "jobs"), 0), "id");
	json_decref(root);
	if (!job) {
		struct wz_err err;
		(void)wz_err_set(&err, -ENOENT, "NotFound", WZ_STR("there is no such task: "), wz_str(text));
		return wz_cli_fail(&err);
	}
	*ret = job;
	return 0;
}

void wz_daemon_add_time(struct wz_buf *b, int64_t us)
{
	char text[48];
	time_t at = (time_t)(us / 1000000);
	struct tm tm;
	if (us && localtime_r(&at, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm))
		wz_buf_addz(b, text);
}

/* How many jobs a query has, 1 at most; negative: the exit code. */
static int any_of(struct wz_daemon *d, const char *path)
{
	json_t *root;
	int code = wz_daemon_get(d, path, false, &root);
	if (code)
		return -code;
	int n = json_array_size(json_object_get(root, "jobs")) > 0;
	json_decref(root);
	return n;
}

int wz_daemon_wait_all(struct wz_daemon *d, uint64_t job, struct wz_str indices, int64_t until_us, bool quiet)
{
	char one[64], open[400], bad[500];
	long pause_ms = 20;
	json_t *j;
	(void)snprintf(one, sizeof one, "/v1/jobs/%llu", (unsigned long long)job);
	(void)snprintf(open, sizeof open, "/v1/jobs?limit=1&array=%llu%s%.*s", (unsigned long long)job,
	        indices.len ? "&indices=" : "", (int)indices.len, indices.len ? indices.ptr : "");
	(void)snprintf(bad, sizeof bad,
	        "%s&all=true&state=FAILED,CANCELLED,TIMEOUT,OOM,PREEMPTED,NODE_LOST,DEVICE_LOST,LAUNCH_FAILED",
	        open);
	for (;;) {
		int code = wz_daemon_get(d, one, false, &j), n;
		if (code)
			return code;
		bool array = (uint64_t)wz_daemon_int(j, "array") == job;
		bool done = wz_daemon_int(j, "end_us") != 0,
		     fine = wz_str_eq(wz_daemon_text(j, "state"), WZ_STR("COMPLETED"));
		json_decref(j);
		if (array) {
			if ((n = any_of(d, open)) < 0)
				return -n;
			done = n == 0;
		}
		if (done && array) {
			n = any_of(d, bad);
			return n < 0 ? -n : n ? WZ_EXIT_FAILED : 0;
		}
		if (done)
			return fine ? 0 : WZ_EXIT_FAILED;
		if (until_us && wz_clock_monotonic_ns() / 1000 >= (uint64_t)until_us) {
			if (!quiet)
				(void)fprintf(stderr, "wz: job %llu has not ended yet\n", (unsigned long long)job);
			return WZ_EXIT_TIMED_OUT;
		}
		(void)nanosleep(&(struct timespec){0, pause_ms * 1000000}, NULL);
		pause_ms = pause_ms < 300 ? pause_ms * 2 : 500;
	}
}
