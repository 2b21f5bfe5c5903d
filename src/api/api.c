/* SPDX-License-Identifier: Apache-2.0 */
/* A request goes through these gates, in this order: who (auth), how often (limit), what (route), may they (role), is it
 * well formed (json tables), is the job theirs (owner); then the body's operation has the call. A call is one block with
 * an arena; it ends in wz_api_finish(), which is the only place that counts, audits and frees. */
#include "api/api_int.h"

#include "base/check.h"
#include "os/clock.h"

#include <unistd.h>

#define ANSWER_MAX (128u << 20)
#define ARENA_BLOCK 4096u
#define FAILED_LOGIN_COST 10u
#define HEADERS_MAX 2048u

static const char common_headers[] = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
#define PAGE_POLICY \
	"Content-Security-Policy: default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n"
const char wz_api_asset_headers[] =
        "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";

const struct wz_api_config wz_api_config_default = {
        .version = "",
        .auth = {.admin_gid = -1, .local_role = WZ_ROLE_USER},
        .rate = {{20, 40}, {200, 400}, {2000, 4000}, {0, 0}},
};

/* ---- metrics ---- */

static const double seconds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

const struct wz_metric wz_api_metric_table[] = {
        [WZ_API_M_REQUESTS] = {"wz_http_requests_total", "Requests answered.", WZ_METRIC_COUNTER,
                {"operation", "status"}, NULL, 0},
        [WZ_API_M_SECONDS] = {"wz_http_request_seconds", "Time from the whole request to its answer.",
                WZ_METRIC_HISTOGRAM, {"operation"}, seconds, WZ_ARRAY_LEN(seconds)},
        [WZ_API_M_REFUSED] = {"wz_http_refused_total",
                "Requests that never reached a route: malformed, slow, too many.", WZ_METRIC_COUNTER, {"reason"},
                NULL, 0},
        [WZ_API_M_LIMITED] = {"wz_http_rate_limited_total", "Requests over the rate limit of their role.",
                WZ_METRIC_COUNTER, {"role"}, NULL, 0},
        [WZ_API_M_AUTH] = {"wz_http_auth_failures_total", "Requests with a token that is not known.",
                WZ_METRIC_COUNTER, {"reason"}, NULL, 0},
        [WZ_API_M_CONNECTIONS] = {"wz_http_connections", "Open connections.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [WZ_API_M_SUBSCRIBERS] = {"wz_event_subscribers", "Open event streams.", WZ_METRIC_GAUGE, {NULL}, NULL, 0},
        [WZ_API_M_EVENTS] = {"wz_events_published_total", "Events given to the streams.", WZ_METRIC_COUNTER, {NULL},
                NULL, 0},
        [WZ_API_M_GAPS] = {"wz_event_gaps_total", "Times a stream lost events.", WZ_METRIC_COUNTER, {NULL}, NULL,
                0},
};
const uint32_t wz_api_metric_table_n = WZ_API_M_COUNT_;

static void unref(struct wz_api *a)
{
	if (--a->refs)
		return;
	wz_auth_free(a->auth);
	wz_metrics_free(a->metrics);
	wz_mem_free(a->mem, a, sizeof *a);
}

/* ---- calls ---- */

static struct wz_api_call *call_new(struct wz_api *a, struct wz_http_req *r)
{
	struct wz_api_call *c = wz_mem_zalloc(a->mem, sizeof *c);
	struct wz_buf id;
	if (!c)
		return NULL;
	a->refs++;
	c->api = a;
	c->r = r;
	c->reason = "";
	c->start_us = wz_loop_now_us(a->loop);
	wz_arena_init(&c->arena, a->mem, ARENA_BLOCK);
	wz_buf_init(&c->out, a->mem, ANSWER_MAX);
	wz_buf_init_fixed(&id, c->id, sizeof c->id);
	wz_buf_add_hex64(&id, a->next_id++);
	wz_buf_z(&id);
	return c;
}

void wz_api_count_and_audit(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	const char *op = c->route ? c->route->id : c->status == 200 ? "asset" : "none";
	/* Freed meanwhile: the loop may be gone too. */
	int64_t took = a->freed ? 0 : wz_loop_now_us(a->loop) - c->start_us;
	struct wz_num n;
	const struct wz_str labels[] = {wz_str(op), wz_str_u64(&n, c->status)};
	wz_metric_add(a->metrics, &wz_api_metric_table[WZ_API_M_REQUESTS], labels, 1);
	if (c->progress != WZ_CALL_STREAMING && (!c->route || c->route->answer != WZ_ANSWER_EVENTS))
		wz_metric_observe(a->metrics, &wz_api_metric_table[WZ_API_M_SECONDS], labels, (double)took / 1e6);
	if (!a->cfg.audit || a->freed || !(c->refused || (c->route && c->route->changes)))
		return;
	struct wz_api_audit line = {
	        .request_id = c->id,
	        .who = &c->who,
	        .method = c->r ? wz_http_method_name(c->r->head->method) : "",
	        .operation = c->route ? c->route->id : "",
	        .target = c->r ? c->r->head->target : WZ_STR(""),
	        .job = c->job,
	        .status = c->status,
	        .reason = c->reason,
	        .took_us = took,
	};
	a->cfg.audit(a->cfg.ctx, &line);
}

void wz_api_call_free(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	wz_json_release(&c->doc);
	wz_arena_release(&c->arena);
	wz_buf_release(&c->out);
	wz_mem_free(a->mem, c, sizeof *c);
	unref(a);
}

void wz_api_finish(struct wz_api_call *c, unsigned status, const char *type, struct wz_str body, struct wz_str more)
{
	char lines[HEADERS_MAX];
	struct wz_buf h;
	c->status = status;
	wz_api_count_and_audit(c); /* before the request's strings go */
	wz_buf_init_fixed(&h, lines, sizeof lines);
	wz_buf_addz(&h, common_headers);
	wz_buf_addz(&h, "X-Request-Id: ");
	wz_buf_addz(&h, c->id);
	wz_buf_addz(&h, "\r\n");
	wz_buf_add(&h, more);
	wz_http_reply(
	        c->r, status, &(struct wz_http_answer){.type = type, .body = body, .headers = wz_buf_str(&h)});
	wz_api_call_free(c);
}

void wz_api_refuse(struct wz_api_call *c, unsigned status, const char *reason, struct wz_str text,
        const char *field, struct wz_str more)
{
	char bytes[1024];
	struct wz_buf b;
	c->reason = reason;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_http_error_body(&b, status, reason, text, wz_str(field));
	if (b.status < 0) { /* a text that grew by escapes */
		wz_buf_clear(&b);
		wz_http_error_body(&b, status, reason, WZ_STR("(the explanation is too long)"), WZ_STR(""));
	}
	wz_api_finish(c, status, "application/json", wz_buf_str(&b), more);
}

static const struct {
	int code;
	unsigned status;
} statuses[] = {
        {EINVAL, 400},
        {ERANGE, 400},
        {EBADMSG, 400},
        {EACCES, 403},
        {EPERM, 403},
        {ENOENT, 404},
        {EEXIST, 409},
        {EALREADY, 409},
        {ESTALE, 409},
        {EBUSY, 409},
        {ECANCELED, 409},
        {E2BIG, 413},
        {EFBIG, 413},
        {EDQUOT, 429},
        {EAGAIN, 429},
        {EOPNOTSUPP, 501},
        {ENOSYS, 501},
        {ENOMEM, 503},
        {ECONNREFUSED, 503},
        {ESHUTDOWN, 503},
        {ETIMEDOUT, 504},
        {ENOSPC, 507},
};

static unsigned status_of(int code)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(statuses); i++) {
		if (statuses[i].code == -code)
			return statuses[i].status;
	}
	return 500;
}

void wz_api_fail_field(struct wz_api_call *c, const struct wz_err *err, const char *field)
{
	wz_check(c->progress != WZ_CALL_STREAMING && err->code < 0);
	wz_api_refuse(c, status_of(err->code), err->reason, wz_str(err->text), field, (struct wz_str){NULL, 0});
}

void wz_api_fail(struct wz_api_call *c, const struct wz_err *err)
{
	wz_api_fail_field(c, err, "");
}

static void send_out(struct wz_api_call *c, unsigned status)
{
	static const struct wz_str none = {NULL, 0};
	if (c->out.status == -E2BIG)
		wz_api_refuse(c, 413, "AnswerTooLarge",
		        WZ_STR("the answer is larger than 128 MiB; ask for pages with limit"), "", none);
	else if (c->out.status < 0)
		wz_api_refuse(c, 503, "OutOfMemory", WZ_STR("out of memory; try again"), "", none);
	else
		wz_api_finish(c, status, wz_flat_content_type(c->format), wz_buf_str(&c->out),
		        c->format == WZ_FLAT_HTML ? WZ_STR(PAGE_POLICY) : none);
}

void wz_api_done(struct wz_api_call *c)
{
	wz_check(c->progress == WZ_CALL_OPEN && c->route->answer == WZ_ANSWER_DONE);
	wz_buf_addz(&c->out, "{\"ok\":true}\n");
	send_out(c, c->route->status);
}

static bool is_owner(const struct wz_api_who *w, struct wz_str name, int64_t uid)
{
	if (w->role < WZ_ROLE_USER)
		return false;
	return uid >= 0 && w->uid >= 0 ? uid == w->uid : w->name[0] && wz_str_eq(name, wz_str(w->name));
}

static bool sees_private(const struct wz_api_call *c, const struct wz_api_type *t, const void *item)
{
	if (c->who.role == WZ_ROLE_ADMIN || c->owns)
		return true;
	if (t != &wz_type_job)
		return false;
	const struct wz_api_job *job = item;
	return is_owner(&c->who, job->user, job->uid);
}

void wz_api_reply(struct wz_api_call *c, const struct wz_api_type *t, const void *item)
{
	wz_check(c->progress == WZ_CALL_OPEN && c->route->answer == WZ_ANSWER_ITEM && c->route->reply == t);
	if (c->format == WZ_FLAT_HTML) {
		wz_flat_page_begin(&c->out, wz_str(c->route->summary));
		wz_flat_item(&c->out, t, item, sees_private(c, t, item));
		wz_flat_page_end(&c->out);
	} else {
		wz_json_write(&c->out, t, item, sees_private(c, t, item));
		wz_buf_addc(&c->out, '\n');
	}
	send_out(c, c->route->status);
}

static void begin_list(struct wz_api_call *c)
{
	if (c->progress == WZ_CALL_LISTING)
		return;
	wz_check(c->progress == WZ_CALL_OPEN && c->route->answer == WZ_ANSWER_LIST);
	c->progress = WZ_CALL_LISTING;
	if (c->format == WZ_FLAT_HTML)
		wz_flat_page_begin(&c->out, wz_str(c->route->summary));
	if (c->format != WZ_FLAT_NONE) {
		wz_flat_head(&c->out, c->format, c->route->reply);
		return;
	}
	wz_buf_addc(&c->out, '{');
	wz_buf_add_json(&c->out, wz_str(c->route->list));
	wz_buf_addz(&c->out, ":[");
}

void wz_api_item(struct wz_api_call *c, const struct wz_api_type *t, const void *item)
{
	begin_list(c);
	wz_check(c->route->reply == t);
	if (c->format != WZ_FLAT_NONE) {
		wz_flat_row(&c->out, c->format, t, item, sees_private(c, t, item));
		return;
	}
	wz_buf_addz(&c->out, c->items++ ? ",\n" : "\n");
	wz_json_write(&c->out, t, item, sees_private(c, t, item));
}

void wz_api_list_end(struct wz_api_call *c, uint64_t next)
{
	begin_list(c);
	if (c->format != WZ_FLAT_NONE) {
		wz_flat_tail(&c->out, c->format);
		if (c->format == WZ_FLAT_HTML)
			wz_flat_page_end(&c->out);
		send_out(c, c->route->status);
		return;
	}
	wz_buf_addz(&c->out, "]");
	if (next) {
		wz_buf_addz(&c->out, ",\"next\":");
		wz_buf_add_u64(&c->out, next);
	}
	wz_buf_addz(&c->out, "}\n");
	send_out(c, c->route->status);
}

/* ---- streams ---- */

static void stream_drain(struct wz_http_req *r)
{
	struct wz_api_call *c = r->data;
	if (c->on_drain)
		c->on_drain(c);
}

static void stream_gone(struct wz_http_req *r)
{
	struct wz_api_call *c = r->data;
	if (c->on_gone)
		c->on_gone(c);
}

void wz_api_stream_begin(
        struct wz_api_call *c, void (*on_drain)(struct wz_api_call *c), void (*on_gone)(struct wz_api_call *c))
{
	char lines[HEADERS_MAX];
	struct wz_buf h;
	wz_check(c->progress == WZ_CALL_OPEN && c->route->answer == WZ_ANSWER_BYTES);
	c->progress = WZ_CALL_STREAMING;
	c->on_drain = on_drain;
	c->on_gone = on_gone;
	c->r->data = c;
	c->r->on_drain = stream_drain;
	c->r->on_gone = stream_gone;
	wz_buf_init_fixed(&h, lines, sizeof lines);
	wz_buf_addz(&h, common_headers);
	wz_buf_addz(&h, "X-Request-Id: ");
	wz_buf_addz(&h, c->id);
	wz_buf_addz(&h, "\r\nX-Accel-Buffering: no\r\n");
	wz_http_stream_begin(c->r, c->route->status, "application/octet-stream", wz_buf_str(&h));
}

int wz_api_stream_write(struct wz_api_call *c, struct wz_str bytes)
{
	wz_check(c->progress == WZ_CALL_STREAMING);
	return wz_http_stream_write(c->r, bytes);
}

void wz_api_stream_end(struct wz_api_call *c)
{
	wz_check(c->progress == WZ_CALL_STREAMING);
	c->status = c->route->status;
	wz_api_count_and_audit(c);
	c->r->on_drain = c->r->on_gone = NULL;
	wz_http_stream_end(c->r);
	wz_api_call_free(c);
}

void wz_api_stream_abort(struct wz_api_call *c)
{
	wz_check(c->progress == WZ_CALL_STREAMING);
	c->status = 500;
	wz_api_count_and_audit(c);
	c->r->on_drain = c->r->on_gone = NULL;
	wz_http_stream_abort(c->r);
	wz_api_call_free(c);
}

const struct wz_api_who *wz_api_call_who(const struct wz_api_call *c)
{
	return &c->who;
}

const char *wz_api_call_id(const struct wz_api_call *c)
{
	return c->id;
}

bool wz_api_call_gone(const struct wz_api_call *c)
{
	return wz_http_gone(c->r);
}

struct wz_arena *wz_api_call_arena(struct wz_api_call *c)
{
	return &c->arena;
}

void **wz_api_call_data(struct wz_api_call *c)
{
	return &c->data;
}

bool wz_api_call_admin(const struct wz_api_call *c)
{
	return c->who.role == WZ_ROLE_ADMIN;
}

/* ---- reading a request ---- */

static const struct wz_api_field *param_of(const struct wz_api_type *t, struct wz_str name, uint16_t flag)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->fields[i].flags & flag && wz_str_eq(wz_str(t->fields[i].name), name))
			return &t->fields[i];
	}
	return NULL;
}

static int bad_param(struct wz_json_fault *f, struct wz_str name, const char *reason, const char *text)
{
	size_t n = name.len < sizeof f->field ? name.len : sizeof f->field - 1;
	memcpy(f->field, name.ptr, n);
	f->field[n] = 0;
	return wz_err_set(&f->err, -EINVAL, reason, name, WZ_STR(": "), wz_str(text));
}

/* Decodes into the arena. NULL ptr: malformed or out of memory. */
static struct wz_str decode(struct wz_api_call *c, struct wz_str s, bool plus)
{
	struct wz_buf b;
	char *room = wz_arena_alloc(&c->arena, s.len + 1);
	if (!room)
		return (struct wz_str){NULL, 0};
	wz_buf_init_fixed(&b, room, s.len + 1);
	if (wz_http_unescape(s, plus, &b) < 0)
		return (struct wz_str){NULL, 0};
	return (struct wz_str){room, b.len};
}

static int read_param(
        struct wz_api_call *c, struct wz_str name, struct wz_str value, uint16_t flag, struct wz_json_fault *f)
{
	const struct wz_api_field *field = param_of(c->route->request, name, flag);
	if (!field)
		return bad_param(f, name, "UnknownParameter", "is not a parameter of this request");
	struct wz_str text = flag == WZ_FIELD_IN_HEADER ? value : decode(c, value, flag == WZ_FIELD_IN_QUERY);
	if (!text.ptr)
		return bad_param(f, name, "BadField", "has an escape that is not understood, or a control byte");
	return wz_json_read_text(field, text, c->rq, &c->arena, f);
}

/* May the answer be had in another format? */
static bool flat(const struct wz_api_call *c)
{
	return c->route->method == WZ_HTTP_GET &&
	       (c->route->answer == WZ_ANSWER_LIST || c->route->answer == WZ_ANSWER_ITEM);
}

static int read_query(struct wz_api_call *c, struct wz_json_fault *f)
{
	struct wz_str query = c->r->head->query, key, value, seen[32];
	uint32_t n = 0;
	if (flat(c) && wz_flat_wants_html(wz_http_find(c->r->head, "accept")))
		c->format = WZ_FLAT_HTML;
	while (wz_http_query_next(&query, &key, &value)) {
		for (uint32_t i = 0; i < n; i++) {
			if (wz_str_eq(seen[i], key))
				return bad_param(f, key, "BadField", "stands twice");
		}
		if (n == WZ_ARRAY_LEN(seen))
			return bad_param(f, key, "UnknownParameter", "is one parameter too many");
		seen[n++] = key;
		if (wz_str_eq(key, WZ_STR("format")) && flat(c)) {
			if (wz_flat_format_parse(value, &c->format) < 0 ||
			        (c->format == WZ_FLAT_CSV && c->route->answer != WZ_ANSWER_LIST))
				return bad_param(f, key, "BadField", "is json, html, or for lists csv");
			continue;
		}
		int rc = read_param(c, key, value, WZ_FIELD_IN_QUERY, f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_headers(struct wz_api_call *c, struct wz_json_fault *f)
{
	const struct wz_api_type *t = c->route->request;
	for (uint32_t i = 0; i < t->n; i++) {
		if (!(t->fields[i].flags & WZ_FIELD_IN_HEADER))
			continue;
		struct wz_str value = wz_http_find(c->r->head, t->fields[i].name);
		int rc = value.len ? read_param(c, wz_str(t->fields[i].name), value, WZ_FIELD_IN_HEADER, f) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_body(struct wz_api_call *c, struct wz_json_fault *f)
{
	struct wz_str body = wz_str_trim(c->r->body);
	struct wz_str type = wz_http_find(c->r->head, "content-type");
	f->field[0] = 0;
	if (!body.len)
		return wz_json_read_none(c->route->request, f);
	if (c->route->method == WZ_HTTP_GET)
		return wz_err_set(&f->err, -EINVAL, "UnexpectedBody", WZ_STR("this request has no body"));
	if (!wz_str_eq_nocase(wz_str_trim(wz_str_split(&type, ';')), WZ_STR("application/json")))
		return wz_err_set(&f->err, -EPROTOTYPE, "ContentType",
		        WZ_STR("the body must be of Content-Type application/json"));
	int rc = wz_json_parse(body, &c->doc, f);
	return rc < 0 ? rc : wz_json_read(&c->doc, c->route->request, c->rq, &c->arena, f);
}

static bool read_request(struct wz_api_call *c, const struct wz_route_match *m)
{
	struct wz_json_fault f = {.field = ""};
	int rc = 0;
	c->rq = wz_arena_alloc(&c->arena, c->route->request->size);
	if (!c->rq)
		rc = wz_err_set(&f.err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory; try again"));
	for (uint32_t i = 0; rc == 0 && i < m->n_params; i++)
		rc = read_param(c, m->names[i], m->values[i], WZ_FIELD_IN_PATH, &f);
	if (rc == 0)
		rc = read_query(c, &f);
	if (rc == 0)
		rc = read_headers(c, &f);
	if (rc == 0)
		rc = read_body(c, &f);
	if (rc < 0) {
		unsigned status = rc == -EPROTOTYPE ? 415 : status_of(rc);
		wz_api_refuse(c, status, f.err.reason, wz_str(f.err.text), f.field, (struct wz_str){NULL, 0});
	}
	return rc == 0;
}

/* ---- gates ---- */

/* A browser's session. A cookie goes along with requests that another site made the browser send, so what changes something
 * must carry a header that only our own page can set. A cookie that is not valid (any more) counts as none. */
static unsigned from_cookie(struct wz_api_call *c, struct wz_err *err)
{
	struct wz_api *a = c->api;
	struct wz_str cookie = wz_session_cookie(wz_http_find(c->r->head, "cookie"));
	struct wz_api_who w = c->who;
	bool reads = c->r->head->method == WZ_HTTP_GET || c->r->head->method == WZ_HTTP_HEAD;
	if (!cookie.len || wz_session_open(&a->sessions, cookie, wz_clock_wall_us(), &w) < 0 ||
	        (w.token && !wz_auth_has(a->auth, w.name, w.role)))
		return 0;
	if (!reads && !wz_http_find(c->r->head, "x-whalezen").len) {
		wz_err_set(err, -EACCES, "ForeignRequest",
		        WZ_STR("a request with a session that changes something needs the header X-Whalezen"));
		return 403;
	}
	c->who = w;
	return 0;
}

static bool gate_identity(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	const struct wz_http_head *h = c->r->head;
	struct wz_str auth = {NULL, 0};
	struct wz_err err;
	uint32_t n = 0;
	for (uint32_t i = 0; i < h->n_headers; i++) {
		if (wz_str_eq_nocase(h->headers[i].name, WZ_STR("authorization"))) {
			auth = h->headers[i].value.len ? h->headers[i].value : WZ_STR("?");
			n++;
		}
	}
	if (n > 1)
		auth = WZ_STR("twice");
	/* Guessing tokens is expensive: a failed login costs the address ten requests, and is not even looked at when the
	 * address has none left. */
	struct wz_str none = {NULL, 0};
	unsigned status = wz_auth_identify(a->auth, c->r->peer, none, c->start_us, &c->who, &err);
	if (status == 0 && !auth.len && !c->who.local)
		status = from_cookie(c, &err);
	if (status == 0 && auth.len) {
		uint64_t key = c->who.key;
		status = wz_auth_identify(a->auth, c->r->peer, auth, c->start_us, &c->who, &err);
		if (status &&
		        wz_limit_take(&a->limit, a->cfg.rate[WZ_ROLE_NONE], key, FAILED_LOGIN_COST, c->start_us)) {
			status = 429;
			wz_err_set(&err, -EAGAIN, "RateLimited", WZ_STR("too many failed logins; wait"));
		}
	}
	if (!status)
		return true;
	struct wz_str reason = wz_str(err.reason);
	c->refused = true;
	wz_metric_add(a->metrics, &wz_api_metric_table[WZ_API_M_AUTH], &reason, 1);
	wz_api_refuse(c, status, err.reason, wz_str(err.text), "",
	        status == 401   ? WZ_STR("WWW-Authenticate: Bearer\r\n")
	        : status == 429 ? WZ_STR("Retry-After: 5\r\n")
	                        : none);
	return false;
}

static bool gate_rate(struct wz_api_call *c, uint32_t cost)
{
	struct wz_api *a = c->api;
	int64_t wait_us = wz_limit_take(&a->limit, a->cfg.rate[c->who.role], c->who.key, cost, c->start_us);
	char line[64];
	struct wz_buf b;
	if (!wait_us)
		return true;
	struct wz_str role = wz_str(wz_role_word(c->who.role));
	wz_metric_add(a->metrics, &wz_api_metric_table[WZ_API_M_LIMITED], &role, 1);
	wz_buf_init_fixed(&b, line, sizeof line);
	wz_buf_addz(&b, "Retry-After: ");
	wz_buf_add_i64(&b, (wait_us + 999999) / 1000000);
	wz_buf_addz(&b, "\r\n");
	wz_api_refuse(c, 429, "RateLimited", WZ_STR("too many requests; wait"), "", wz_buf_str(&b));
	return false;
}

static bool gate_role(struct wz_api_call *c)
{
	enum wz_role need = c->route->role;
	if (c->route->answer == WZ_ANSWER_TEXT && c->api->cfg.open_metrics)
		need = WZ_ROLE_NONE;
	if (c->who.role >= need)
		return true;
	c->refused = true;
	if (!c->who.local && !c->who.token && !c->who.session)
		wz_api_refuse(c, 401, "TokenWanted", WZ_STR("this needs a token: Authorization: Bearer TOKEN"), "",
		        WZ_STR("WWW-Authenticate: Bearer\r\n"));
	else
		wz_api_refuse(c, 403, "NotAllowed",
		        need == WZ_ROLE_ADMIN ? WZ_STR("this is for admins")
		                              : WZ_STR("your role does not allow this"),
		        "", (struct wz_str){NULL, 0});
	return false;
}

/* Learns whose job the path names. For routes of the owner's, refuses others; for all, knows what may be shown. */
static bool gate_owner(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	const struct wz_api_field *f = param_of(c->route->request, WZ_STR("id"), WZ_FIELD_IN_PATH);
	struct wz_str name = {NULL, 0}, none = {NULL, 0};
	int64_t uid = -1;
	if (!f)
		return true;
	c->job = *(const uint64_t *)(const void *)((const char *)c->rq + f->offset);
	if (a->cfg.backend->job_owner(a->cfg.ctx, c->job, &name, &uid) < 0) {
		wz_api_refuse(c, 404, "NoSuchJob", WZ_STR("there is no job of this number"), "id", none);
		return false;
	}
	c->owns = is_owner(&c->who, name, uid);
	if (!c->route->owner || c->owns || c->who.role == WZ_ROLE_ADMIN)
		return true;
	c->refused = true;
	wz_api_refuse(c, 403, "NotYours", WZ_STR("this job belongs to somebody else"), "", none);
	return false;
}

static void no_route(struct wz_api_call *c, const struct wz_route_match *m)
{
	char line[96];
	struct wz_buf b;
	bool any = false;
	if (!m->path_known) {
		wz_api_refuse(c, 404, "NoSuchPath",
		        WZ_STR("there is nothing at this path; /v1/openapi.json lists what there is"), "",
		        (struct wz_str){NULL, 0});
		return;
	}
	wz_buf_init_fixed(&b, line, sizeof line);
	wz_buf_addz(&b, "Allow: ");
	for (unsigned i = 0; i <= WZ_HTTP_OPTIONS; i++) {
		if (!(m->methods >> i & 1))
			continue;
		wz_buf_addz(&b, any ? ", " : "");
		wz_buf_addz(&b, wz_http_method_name((enum wz_http_method)i));
		any = true;
	}
	wz_buf_addz(&b, "\r\n");
	if (c->r->head->method == WZ_HTTP_OPTIONS)
		wz_api_finish(c, 204, NULL, (struct wz_str){NULL, 0}, wz_buf_str(&b));
	else
		wz_api_refuse(
		        c, 405, "MethodNotAllowed", WZ_STR("this path has other methods"), "", wz_buf_str(&b));
}

static void run(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	if (!c->route->run) {
		wz_check(wz_api_own(c)); /* else a row of the route table has no function */
		return;
	}
	if (!c->route->run(a->cfg.backend, a->cfg.ctx, c, c->rq))
		wz_api_refuse(c, 501, "NotSupported", WZ_STR("this daemon does not do that"), "",
		        (struct wz_str){NULL, 0});
}

static bool asset(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	const struct wz_http_head *h = c->r->head;
	struct wz_str encodings = wz_http_find(h, "accept-encoding");
	if (h->method != WZ_HTTP_GET && h->method != WZ_HTTP_HEAD)
		return false;
	for (uint32_t i = 0; i < a->cfg.n_assets; i++) {
		const struct wz_api_asset *s = &a->cfg.assets[i];
		if (!wz_str_eq(h->path, wz_str(s->path)))
			continue;
		bool gzip = s->gzip.len && encodings.len && memmem(encodings.ptr, encodings.len, "gzip", 4);
		struct wz_buf headers;
		char lines[1024];
		wz_buf_init_fixed(&headers, lines, sizeof lines);
		wz_buf_addz(&headers, wz_api_asset_headers);
		wz_buf_addz(&headers,
		        gzip ? "Vary: Accept-Encoding\r\nContent-Encoding: gzip\r\n" : "Vary: Accept-Encoding\r\n");
		c->status = 200;
		wz_api_count_and_audit(c);
		wz_http_reply(c->r, 200,
		        &(struct wz_http_answer){.type = s->type,
		                .body = gzip ? s->gzip : s->bytes,
		                .headers = wz_buf_str(&headers)});
		wz_api_call_free(c);
		return true;
	}
	return false;
}

static void on_request(void *ctx, struct wz_http_req *r)
{
	struct wz_api *a = ctx;
	struct wz_route_match m;
	struct wz_api_call *c = call_new(a, r);
	if (!c) {
		wz_http_reply(r, 503, &(struct wz_http_answer){.type = NULL});
		return;
	}
	if (!gate_identity(c))
		return;
	wz_route_find(r->head->method, r->head->path, &m);
	if (!gate_rate(c, m.route ? m.route->cost : 1))
		return;
	if (!m.route) {
		if (m.path_known || !asset(c))
			no_route(c, &m);
		return;
	}
	c->route = m.route;
	if (gate_role(c) && read_request(c, &m) && gate_owner(c))
		run(c);
}

static void on_refused(void *ctx, const struct wz_peer *peer, unsigned status, const char *reason)
{
	struct wz_api *a = ctx;
	struct wz_str label = wz_str(reason);
	(void)peer, (void)status;
	wz_metric_add(a->metrics, &wz_api_metric_table[WZ_API_M_REFUSED], &label, 1);
}

/* ---- the whole ---- */

int wz_api_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_api_config *cfg, struct wz_api **ret,
        struct wz_err *err)
{
	struct wz_api *a = wz_mem_zalloc(mem, sizeof *a);
	if (!a)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	struct wz_http_handler h = {.ctx = a, .request = on_request, .refused = on_refused};
	wz_check(cfg->backend && cfg->backend->job_owner);
	a->cfg = *cfg;
	a->loop = l;
	a->mem = mem;
	a->refs = 1;
	if (wz_random_bytes(&a->next_id, sizeof a->next_id) < 0)
		a->next_id = (uint64_t)wz_clock_wall_us();
	int rc = wz_auth_new(&cfg->auth, mem, &a->auth, err);
	if (rc == 0)
		rc = wz_sessions_init(&a->sessions, cfg->session_key, mem, err);
	if (rc == 0 && (wz_metrics_new(mem, &a->metrics) < 0 ||
	                       wz_metrics_add_table(a->metrics, wz_api_metric_table, wz_api_metric_table_n) < 0 ||
	                       wz_hub_new(l, mem, &cfg->hub, &a->hub) < 0 ||
	                       wz_http_server_new(l, mem, cfg->limits, &h, &a->http) < 0))
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (rc < 0) {
		wz_api_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void wz_api_drain(struct wz_api *a)
{
	wz_http_drain(a->http);
	wz_hub_end_all(a->hub);
}

void wz_api_free(struct wz_api *a)
{
	if (!a)
		return;
	wz_hub_free(a->hub);
	wz_http_server_free(a->http);
	a->hub = NULL;
	a->http = NULL;
	a->freed = true;
	unref(a);
}

void wz_api_set_rates(struct wz_api *a, const struct wz_limit_rate rate[4])
{
	memcpy(a->cfg.rate, rate, sizeof a->cfg.rate);
}

struct wz_http_server *wz_api_http(struct wz_api *a)
{
	return a->http;
}

struct wz_hub *wz_api_hub(struct wz_api *a)
{
	return a->hub;
}

struct wz_metrics *wz_api_metrics(struct wz_api *a)
{
	return a->metrics;
}

struct wz_auth *wz_api_auth(struct wz_api *a)
{
	return a->auth;
}
