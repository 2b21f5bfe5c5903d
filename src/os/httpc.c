/* SPDX-License-Identifier: Apache-2.0 */
#include "os/httpc.h"

#include "base/check.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX (64u << 20)
#define TEXT_MAX 512u

struct wz_httpc {
	const struct wz_mem *mem;
	CURL *curl;
	char base[TEXT_MAX]; /* "http://localhost" before the path */
	char socket[TEXT_MAX]; /* "": TCP */
	char auth[TEXT_MAX]; /* the header line, or "" */
	char hint[TEXT_MAX];
	char ca[TEXT_MAX];
	uint32_t connect_ms;
	size_t answer_max;
	char curl_text[CURL_ERROR_SIZE];
};

/* What one call keeps while curl runs. */
struct run {
	struct wz_httpc *c;
	const struct wz_httpc_call *call;
	struct wz_httpc_reply *reply;
	bool stopped;
	curl_off_t seen; /* for silence_ms */
	int64_t last_ms, tick_ms;
};

static bool copy(char *to, const char *from)
{
	size_t len = strlen(from);
	if (len >= TEXT_MAX)
		return false;
	memcpy(to, from, len + 1);
	return true;
}

static int bad_server(struct wz_err *err, const char *server)
{
	return wz_err_set(err, -EINVAL, "BadAddress", WZ_STR("the server \""), wz_str(server),
	        WZ_STR("\" is neither the path of a socket nor http(s)://HOST:PORT"));
}

static bool loopback(const char *base)
{
	struct wz_str s = wz_str(base + strlen("http://"));
	return wz_str_starts(s, WZ_STR("127.")) || wz_str_starts(s, WZ_STR("[::1]")) ||
	       wz_str_starts(s, WZ_STR("localhost:")) || wz_str_eq(s, WZ_STR("localhost"));
}

static int set_server(struct wz_httpc *c, const char *server, struct wz_err *err)
{
	struct wz_str s = wz_str(server);
	if (wz_str_starts(s, WZ_STR("unix:")))
		s = (struct wz_str){s.ptr + 5, s.len - 5};
	if (s.len && s.ptr[0] == '/') {
		if (s.len > sizeof((struct sockaddr_un *)0)->sun_path - 1)
			return wz_err_set(err, -EINVAL, "BadAddress", WZ_STR("the socket path "), s,
			        WZ_STR(" is longer than the kernel allows (107 bytes)"));
		copy(c->socket, s.ptr);
		copy(c->base, "http://localhost");
		return 0;
	}
	bool http = wz_str_starts(s, WZ_STR("http://")), https = wz_str_starts(s, WZ_STR("https://"));
	if ((!http && !https) || s.len < 9 || !copy(c->base, server))
		return bad_server(err, server);
	size_t len = strlen(c->base);
	if (c->base[len - 1] == '/')
		c->base[len - 1] = 0;
	return 0;
}

static int set_token(struct wz_httpc *c, const char *token, struct wz_err *err)
{
	struct wz_buf b;
	if (!c->socket[0] && wz_str_starts(wz_str(c->base), WZ_STR("http://")) && !loopback(c->base))
		return wz_err_set(err, -EINVAL, "TokenInClear", WZ_STR("a token is not sent over plain http to "),
		        wz_str(c->base), WZ_STR("; use https://"));
	wz_buf_init_fixed(&b, c->auth, sizeof c->auth);
	wz_buf_addz(&b, "Authorization: Bearer ");
	wz_buf_addz(&b, token);
	wz_buf_z(&b);
	if (b.status < 0 || strpbrk(token, "\r\n"))
		return wz_err_set(
		        err, -EINVAL, "BadToken", WZ_STR("the token is not one line of at most 480 bytes"));
	return 0;
}

int wz_httpc_new(
        const struct wz_httpc_config *cfg, const struct wz_mem *mem, struct wz_httpc **ret, struct wz_err *err)
{
	struct wz_httpc *c = wz_mem_zalloc(mem, sizeof *c);
	if (!c)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	c->mem = mem;
	c->connect_ms = cfg->connect_ms ? cfg->connect_ms : 5000;
	c->answer_max = cfg->answer_max ? cfg->answer_max : ANSWER_MAX;
	int rc = set_server(c, cfg->server, err);
	if (rc == 0 && cfg->token)
		rc = set_token(c, cfg->token, err);
	if (rc == 0 && ((cfg->hint && !copy(c->hint, cfg->hint)) || (cfg->ca_file && !copy(c->ca, cfg->ca_file))))
		rc = wz_err_set(err, -EINVAL, "BadAddress", WZ_STR("a path or text is longer than 511 bytes"));
	if (rc == 0) {
		c->curl = curl_easy_init();
		if (!c->curl)
			rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("cannot start libcurl"));
	}
	if (rc < 0) {
		wz_httpc_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void wz_httpc_free(struct wz_httpc *c)
{
	if (!c)
		return;
	if (c->curl)
		curl_easy_cleanup(c->curl);
	explicit_bzero(c->auth, sizeof c->auth);
	wz_mem_free(c->mem, c, sizeof *c);
}

/* ---- curl's callbacks ---- */

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct run *r = ctx;
	struct wz_str bytes = {data, size * n};
	long status = 0;
	curl_easy_getinfo(r->c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (r->call->data && status >= 200 && status < 300) {
		if (r->call->data(r->call->ctx, bytes) < 0) {
			r->stopped = true;
			return 0;
		}
		return bytes.len;
	}
	wz_buf_add(&r->reply->body, bytes);
	return r->reply->body.status < 0 ? 0 : bytes.len;
}

static void keep(struct wz_str value, char *to, size_t cap)
{
	if (value.len < cap) {
		memcpy(to, value.ptr, value.len);
		to[value.len] = 0;
	}
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct run *r = ctx;
	struct wz_str value = {data, size * n};
	uint64_t seconds;
	struct wz_str name = wz_str_split(&value, ':');
	value = wz_str_trim(value);
	if (wz_str_eq_nocase(name, WZ_STR("x-request-id")))
		keep(value, r->reply->request_id, sizeof r->reply->request_id);
	else if (wz_str_eq_nocase(name, WZ_STR("content-type")))
		keep(value, r->reply->type, sizeof r->reply->type);
	else if (wz_str_eq_nocase(name, WZ_STR("retry-after")) && wz_str_parse_u64(value, &seconds) == 0 &&
	         seconds < UINT32_MAX)
		r->reply->retry_after_s = (uint32_t)seconds;
	return size * n;
}

static int64_t now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int on_progress(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
	struct run *r = ctx;
	int64_t ms = now_ms();
	(void)total, (void)up_total, (void)up;
	if (now != r->seen || !r->last_ms) {
		r->seen = now;
		r->last_ms = ms;
	}
	if (r->call->silence_ms && ms - r->last_ms > r->call->silence_ms)
		return 1;
	if (r->call->data && ms - r->tick_ms >= 500) {
		r->tick_ms = ms;
		if (r->call->data(r->call->ctx, (struct wz_str){NULL, 0}) < 0) {
			r->stopped = true;
			return 1;
		}
	}
	return 0;
}

/* ---- a call ---- */

static bool add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = curl_slist_append(*list, line);
	if (more)
		*list = more;
	return more != NULL;
}

static bool add_header_kv(struct curl_slist **list, const char *name, const char *value)
{
	char line[TEXT_MAX];
	struct wz_buf b;
	wz_buf_init_fixed(&b, line, sizeof line);
	wz_buf_addz(&b, name);
	wz_buf_addz(&b, value);
	wz_buf_z(&b);
	return b.status == 0 && !strpbrk(value, "\r\n") && add_header(list, line);
}

static bool make_headers(const struct wz_httpc *c, const struct wz_httpc_call *call, struct curl_slist **list)
{
	struct wz_num n;
	bool ok = add_header(list, "Expect:"); /* no 100-continue: the daemon is near */
	if (c->auth[0])
		ok = ok && add_header(list, c->auth);
	if (call->body.ptr)
		ok = ok && add_header_kv(list, "Content-Type: ", call->type ? call->type : "application/json");
	if (call->header)
		ok = ok && add_header(list, call->header);
	if (call->idempotency_key)
		ok = ok && add_header_kv(list, "Idempotency-Key: ", call->idempotency_key);
	if (call->last_event_id) {
		char id[WZ_NUM_MAX + 1] = "";
		struct wz_str s = wz_str_u64(&n, call->last_event_id);
		memcpy(id, s.ptr, s.len);
		ok = ok && add_header_kv(list, "Last-Event-ID: ", id);
	}
	return ok;
}

static void set_options(struct wz_httpc *c, const struct wz_httpc_call *call, struct run *r, const char *url,
        struct curl_slist *headers)
{
	CURL *h = c->curl;
	curl_easy_reset(h); /* keeps the connection */
	curl_easy_setopt(h, CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->curl_text);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(h, CURLOPT_XFERINFODATA, r);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)call->total_ms);
	curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(h, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
	if (c->socket[0]) {
		curl_easy_setopt(h, CURLOPT_UNIX_SOCKET_PATH, c->socket);
		curl_easy_setopt(h, CURLOPT_PROXY, ""); /* http_proxy is not for sockets */
	}
	if (c->ca[0])
		curl_easy_setopt(h, CURLOPT_CAINFO, c->ca);
	if (call->body.ptr) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, call->body.ptr);
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
	} else if (strcmp(call->method, "POST") == 0 || strcmp(call->method, "PUT") == 0) {
		curl_easy_setopt(h, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE, 0L);
	}
	if (strcmp(call->method, "HEAD") == 0)
		curl_easy_setopt(h, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, call->method);
}

static int unreachable(const struct wz_httpc *c, struct wz_err *err)
{
	const char *where = c->socket[0] ? c->socket : c->base;
	const char *hint = c->hint[0]
	                           ? c->hint
	                           : "start it with `systemctl start whalezen` or `wz serve`, or name another with "
	                             "--server or WZ_SERVER";
	const char *why = "nobody listens there";
	if (c->socket[0] && access(c->socket, F_OK) < 0)
		why = errno == ENOENT ? "there is no such socket" : "that path cannot be looked at";
	else if (c->socket[0] && access(c->socket, W_OK) < 0)
		return wz_err_set(err, -EACCES, "NoPermission", WZ_STR("not allowed to use the daemon's socket "),
		        wz_str(where), WZ_STR("; ask the administrator to put you into its group"));
	return wz_err_set(err, -ECONNREFUSED, "DaemonUnreachable", WZ_STR("the daemon is not running at "),
	        wz_str(where), WZ_STR(" ("), wz_str(why), WZ_STR("); "), wz_str(hint));
}

static int explain(const struct wz_httpc *c, CURLcode code, const struct run *r, struct wz_err *err)
{
	const char *where = c->socket[0] ? c->socket : c->base;
	struct wz_str why = wz_str(c->curl_text[0] ? c->curl_text : curl_easy_strerror(code));
	if (r->stopped)
		return wz_err_set(err, -ECANCELED, "Stopped", WZ_STR("stopped"));
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return unreachable(c, err);
	case CURLE_COULDNT_RESOLVE_HOST:
		return wz_err_set(err, -ECONNREFUSED, "DaemonUnreachable", WZ_STR("cannot find the host of "),
		        wz_str(where), WZ_STR(": "), why);
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_ABORTED_BY_CALLBACK:
		return wz_err_set(err, -ETIMEDOUT, "Timeout", WZ_STR("the daemon at "), wz_str(where),
		        WZ_STR(" did not answer in time; is it busy or stopped? (`wz doctor` looks)"));
	case CURLE_WRITE_ERROR:
		return wz_err_set(err, -E2BIG, "AnswerTooLarge", WZ_STR("the answer of "), wz_str(where),
		        WZ_STR(" is larger than expected"));
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return wz_err_set(err, -EPROTO, "TlsFailed", WZ_STR("no trusted connection to "), wz_str(where),
		        WZ_STR(": "), why);
	case CURLE_OUT_OF_MEMORY:
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	default:
		return wz_err_set(err, -ECONNRESET, "ConnectionLost", WZ_STR("the connection to "), wz_str(where),
		        WZ_STR(" broke: "), why);
	}
}

int wz_httpc_do(
        struct wz_httpc *c, const struct wz_httpc_call *call, struct wz_httpc_reply *ret, struct wz_err *err)
{
	struct wz_httpc_reply reply = {.status = 0};
	struct run r = {.c = c, .call = call, .reply = &reply, .tick_ms = now_ms()};
	struct curl_slist *headers = NULL;
	struct wz_buf url;
	int rc = 0;
	wz_buf_init(&url, c->mem, 64u << 10);
	wz_buf_addz(&url, c->base);
	wz_buf_addz(&url, call->path);
	wz_buf_init(&reply.body, c->mem, c->answer_max);
	const char *z = wz_buf_z(&url);
	if (!make_headers(c, call, &headers) || url.status < 0) {
		rc = wz_err_set(err, -EINVAL, "BadCall", WZ_STR("a header or the path is too long or malformed"));
	} else {
		c->curl_text[0] = 0;
		set_options(c, call, &r, z, headers);
		CURLcode code = curl_easy_perform(c->curl);
		long status = 0;
		curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
		reply.status = (unsigned)status;
		if (code != CURLE_OK)
			rc = explain(c, code, &r, err);
	}
	curl_slist_free_all(headers);
	wz_buf_release(&url);
	if (rc < 0) {
		wz_buf_release(&reply.body);
		return rc;
	}
	*ret = reply;
	return 0;
}
