/* SPDX-License-Identifier: Apache-2.0 */
/* The routes that the API answers itself. */
#include "api/api_int.h"

#include "base/check.h"
#include "os/clock.h"

#include <string.h>

/* ---- the API's own routes ---- */

static void own_whoami(struct wz_api_call *c)
{
	struct wz_api_whoami w = {
	        .name = wz_str(c->who.name),
	        .uid = c->who.uid,
	        .role = wz_str(wz_role_word(c->who.role)),
	        .via = wz_str(c->who.session ? "session"
	                      : c->who.token ? "token"
	                      : c->who.local ? "peer"
	                                     : "none"),
	};
	wz_api_reply(c, &wz_type_whoami, &w);
}

/* ---- browsers' sessions ---- */

#define COOKIE_LINE_MAX 800u

/* A line Set-Cookie with the session of `w`; NULL: one that ends it. */
static void add_cookie(struct wz_api_call *c, const struct wz_api_who *w, struct wz_buf *b)
{
	wz_buf_addz(b, "Set-Cookie: wz_session=");
	if (w)
		wz_session_seal(&c->api->sessions, w, wz_clock_wall_us(), b);
	wz_buf_addz(b, "; Path=/; HttpOnly; SameSite=Strict; Max-Age=");
	wz_buf_add_i64(b, w ? WZ_SESSION_US / 1000000 : 0);
	wz_buf_addz(b, c->r->peer->tls ? "; Secure\r\n" : "\r\n");
}

static void refuse_login(struct wz_api_call *c)
{
	/* Guessing is as expensive as with tokens in headers. */
	(void)wz_limit_take(&c->api->limit, c->api->cfg.rate[WZ_ROLE_NONE], c->who.key, 10, c->start_us);
	c->refused = true;
	wz_api_refuse(c, 401, "BadLogin",
	        WZ_STR("this link or token is not known, was used, or is too old; wz dashboard prints a new link"),
	        "", (struct wz_str){NULL, 0});
}

static bool log_in(struct wz_api_call *c, const struct wz_api_session_open *rq)
{
	char bearer[300];
	struct wz_buf b;
	struct wz_err err;
	if (rq->code.len)
		return wz_session_link_use(&c->api->sessions, rq->code, wz_clock_wall_us(), &c->who) == 0;
	wz_buf_init_fixed(&b, bearer, sizeof bearer);
	wz_buf_addz(&b, "Bearer ");
	wz_buf_add(&b, rq->token);
	return rq->token.len && b.status == 0 &&
	       wz_auth_identify(c->api->auth, c->r->peer, wz_buf_str(&b), c->start_us, &c->who, &err) == 0;
}

static void own_session_open(struct wz_api_call *c)
{
	char line[COOKIE_LINE_MAX];
	struct wz_buf b;
	if (!log_in(c, c->rq)) {
		refuse_login(c);
		return;
	}
	wz_buf_init_fixed(&b, line, sizeof line);
	add_cookie(c, &c->who, &b);
	struct wz_api_whoami w = {.name = wz_str(c->who.name),
	        .uid = c->who.uid,
	        .role = wz_str(wz_role_word(c->who.role)),
	        .via = WZ_STR("session")};
	wz_json_write(&c->out, &wz_type_whoami, &w, true);
	wz_api_finish(c, 200, "application/json", wz_buf_str(&c->out), wz_buf_str(&b));
}

static void own_session_close(struct wz_api_call *c)
{
	char line[COOKIE_LINE_MAX];
	struct wz_buf b;
	wz_buf_init_fixed(&b, line, sizeof line);
	add_cookie(c, NULL, &b);
	wz_api_finish(c, 200, "application/json", WZ_STR("{\"ok\":true}\n"), wz_buf_str(&b));
}

static void own_session_link(struct wz_api_call *c)
{
	char code[WZ_LINK_CODE_MAX], path[64] = "/login?code=";
	int64_t now = wz_clock_wall_us();
	if (wz_session_link_new(&c->api->sessions, &c->who, now, code) < 0) {
		wz_api_refuse(c, 503, "NoRandom", WZ_STR("the kernel gives no random bytes"), "",
		        (struct wz_str){NULL, 0});
		return;
	}
	memcpy(path + strlen(path), code, sizeof code);
	struct wz_api_session_link l = {wz_str(path), now + WZ_LINK_US};
	wz_api_reply(c, &wz_type_session_link, &l);
}

static void own_login(struct wz_api_call *c)
{
	const struct wz_api_login *rq = c->rq;
	struct wz_api_session_open open = {.code = rq->code};
	char line[COOKIE_LINE_MAX];
	struct wz_buf b;
	if (!log_in(c, &open)) {
		refuse_login(c);
		return;
	}
	wz_buf_init_fixed(&b, line, sizeof line);
	wz_buf_addz(&b, "Location: /\r\nReferrer-Policy: no-referrer\r\n");
	add_cookie(c, &c->who, &b);
	wz_api_finish(c, 303, "text/plain", WZ_STR("welcome\n"), wz_buf_str(&b));
}

static void own_events(struct wz_api_call *c)
{
	struct wz_api_events_query *q = c->rq;
	struct wz_str last = wz_http_find(c->r->head, "last-event-id");
	bool resume = q->set_after;
	uint64_t after;
	if (last.len && wz_str_parse_u64(last, &after) == 0) {
		q->after = after;
		resume = true;
	}
	int rc = wz_hub_subscribe(c->api->hub, c->r, q, resume);
	if (rc < 0) {
		wz_api_refuse(c, 503, "TooManyStreams", WZ_STR("too many event streams are open; try later"), "",
		        WZ_STR("Retry-After: 5\r\n"));
		return;
	}
	c->r = NULL; /* the hub's now */
	c->status = 200;
	wz_api_count_and_audit(c);
	wz_api_call_free(c);
}

static void own_text(struct wz_api_call *c, unsigned status, const char *type)
{
	static const struct wz_str none = {NULL, 0};
	if (c->out.status < 0)
		wz_api_refuse(c, 503, "OutOfMemory", WZ_STR("out of memory; try again"), "", none);
	else
		wz_api_finish(c, status, type, wz_buf_str(&c->out), none);
}

static void own_openapi(struct wz_api_call *c)
{
	wz_openapi_write(&c->out, c->api->cfg.version);
	own_text(c, 200, "application/json");
}

static void own_metrics(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	struct wz_hub_stats s = wz_hub_stats(a->hub);
	wz_metric_set(a->metrics, &wz_api_metric_table[WZ_API_M_CONNECTIONS], NULL, wz_http_connections(a->http));
	wz_metric_set(a->metrics, &wz_api_metric_table[WZ_API_M_SUBSCRIBERS], NULL, s.subscribers);
	wz_metric_set(a->metrics, &wz_api_metric_table[WZ_API_M_EVENTS], NULL, (double)s.published);
	wz_metric_set(a->metrics, &wz_api_metric_table[WZ_API_M_GAPS], NULL, (double)s.gaps);
	if (a->cfg.backend->collect)
		a->cfg.backend->collect(a->cfg.ctx, a->metrics);
	wz_metrics_write(a->metrics, &c->out);
	own_text(c, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static void own_healthz(struct wz_api_call *c)
{
	wz_buf_addz(&c->out, "ok\n");
	own_text(c, 200, "text/plain");
}

static void own_readyz(struct wz_api_call *c)
{
	struct wz_api *a = c->api;
	bool ready = !wz_http_draining(a->http);
	if (!ready)
		wz_buf_addz(&c->out, "stopping");
	else if (a->cfg.backend->ready)
		ready = a->cfg.backend->ready(a->cfg.ctx, &c->out);
	if (ready)
		wz_buf_clear(&c->out);
	wz_buf_addz(&c->out, ready ? "ok\n" : "\n");
	own_text(c, ready ? 200 : 503, "text/plain");
}

static const struct {
	const char *id;
	void (*fn)(struct wz_api_call *c);
} own[] = {
        {"whoami", own_whoami},
        {"session_open", own_session_open},
        {"session_close", own_session_close},
        {"session_link", own_session_link},
        {"login", own_login},
        {"events", own_events},
        {"openapi", own_openapi},
        {"metrics", own_metrics},
        {"healthz", own_healthz},
        {"readyz", own_readyz},
};

bool wz_api_own(struct wz_api_call *c)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(own); i++) {
		if (strcmp(own[i].id, c->route->id) == 0) {
			own[i].fn(c);
			return true;
		}
	}
	return false;
}
