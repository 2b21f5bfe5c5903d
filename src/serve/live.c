/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration while the daemon runs: who is an admin, listeners, reload, and what is told to people. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/sd.h"

#include <grp.h>
#include <pwd.h>

/* ---- names to numbers ---- */

static int no_such(struct wz_err *err, const char *key, const char *what, const char *name)
{
	return wz_err_set(err, -EINVAL, "BadValue", wz_str(key), WZ_STR(": there is no "), wz_str(what),
	        WZ_STR(" \""), wz_str(name), WZ_STR("\" on this machine"));
}

int conf_gid(const char *name, const char *key, gid_t *ret, struct wz_err *err)
{
	char room[16384];
	struct group g, *found = NULL;
	if (getgrnam_r(name, &g, room, sizeof room, &found) != 0 || !found)
		return no_such(err, key, "group", name);
	*ret = g.gr_gid;
	return 0;
}

static int conf_uid(const char *name, uid_t *ret, struct wz_err *err)
{
	char room[16384];
	struct passwd p, *found = NULL;
	if (getpwnam_r(name, &p, room, sizeof room, &found) != 0 || !found)
		return no_such(err, "roles.admins.users", "user", name);
	*ret = p.pw_uid;
	return 0;
}

/* What takes effect at once; nothing does when a part cannot. */
int conf_apply(struct serve *s, const struct wz_config *c, struct wz_err *err)
{
	uid_t uids[WZ_AUTH_ADMINS_MAX];
	gid_t gids[WZ_AUTH_ADMINS_MAX];
	struct wz_profile p;
	int rc = 0;
	for (uint32_t i = 0; i < c->admin_users.n && rc == 0; i++)
		rc = conf_uid(c->admin_users.v[i], &uids[i], err);
	for (uint32_t i = 0; i < c->admin_groups.n && rc == 0; i++)
		rc = conf_gid(c->admin_groups.v[i], "roles.admins.groups", &gids[i], err);
	if (rc == 0 && c->default_profile) {
		rc = wz_profile_parse(wz_str(c->default_profile), wz_core_catalogue(s->core), &p, err);
		if (rc < 0)
			wz_err_prefix(err, WZ_STR("defaults.profile: "));
	}
	if (rc == 0)
		rc = ruled_check(s, c, err);
	if (rc < 0)
		return rc;
	struct wz_auth_roles r = {uids, gids, c->admin_users.n, c->admin_groups.n, c->local_role};
	rc = wz_auth_set_roles(wz_api_auth(s->api), &r);
	if (rc < 0)
		return wz_err_set(err, rc, "BadValue", WZ_STR("roles: too many names"));
	wz_api_set_rates(s->api, c->rate);
	s->auditlog.bytes = c->audit_bytes;
	s->auditlog.files = c->audit_files;
	ruled_apply(s, c);
	return 0;
}

/* ---- listeners ---- */

/* Where a browser of this machine finds the listener. */
static void note_url(struct serve *s, const char *address, uint16_t port, bool tls)
{
	const char *colon = strrchr(address, ':');
	int len = colon ? (int)(colon - address) : 0;
	bool any4 = len == 7 && strncmp(address, "0.0.0.0", 7) == 0,
	     any6 = len == 4 && strncmp(address, "[::]", 4) == 0;
	if (s->n_urls < WZ_ARRAY_LEN(s->url))
		(void)snprintf(s->url[s->n_urls++], sizeof s->url[0], "http%s://%.*s:%u", tls ? "s" : "",
		        any4   ? 9
		        : any6 ? 5
		               : len,
		        any4   ? "127.0.0.1"
		        : any6 ? "[::1]"
		               : address,
		        (unsigned)port);
}

static int listen_at(struct serve *s, const struct wz_config_listen *l, struct wz_tls **ret_tls, struct wz_err *err)
{
	struct wz_tls *tls = NULL;
	char text[200];
	int fd, rc = l->cert ? wz_tls_server_new(l->cert, l->key, &tls, err) : 0;
	if (rc == 0)
		rc = wz_tcp_listen(l->address, &fd, err);
	if (rc == 0) {
		uint16_t port = wz_sock_port(fd);
		(void)snprintf(
		        text, sizeof text, "%s (port %u)%s", l->address, (unsigned)port, tls ? " with TLS" : "");
		note_url(s, l->address, port, tls != NULL);
		rc = wz_http_listen(wz_api_http(s->api), fd, tls);
		if (rc < 0)
			(void)wz_err_set(err, rc, "OutOfMemory", WZ_STR("no memory for a listener"));
	}
	if (rc < 0) {
		wz_tls_free(tls);
		return rc;
	}
	*ret_tls = tls;
	serve_log("listens at", text);
	return 0;
}

int conf_listen(struct serve *s, struct wz_err *err)
{
	struct wz_tls *none;
	int rc = s->o->listen ? listen_at(s, &(struct wz_config_listen){.address = s->o->listen}, &none, err) : 0;
	for (uint32_t i = 0; i < s->conf->n_listen && rc == 0; i++)
		rc = listen_at(s, &s->conf->listen[i], &s->tls[i], err);
	return rc;
}

/* ---- reload ---- */

/* Certificates and tokens are read again whatever the file says: they change under names that stay. */
static int reload_files(struct serve *s, struct wz_err *err)
{
	int rc = wz_auth_reload(wz_api_auth(s->api), err);
	for (uint32_t i = 0; i < s->conf->n_listen && rc == 0; i++)
		if (s->tls[i])
			rc = wz_tls_reload(s->tls[i], err);
	return rc;
}

int conf_reload(struct serve *s, struct wz_buf *now, struct wz_buf *restart, struct wz_err *err)
{
	struct wz_config *c = NULL;
	int rc = 0;
	if (s->o->config_file) {
		c = wz_mem_zalloc(s->mem, sizeof *c);
		if (!c)
			return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		wz_config_init(c, s->mem);
		rc = wz_config_read(c, s->o->config_file, err);
	}
	if (rc == 0)
		rc = reload_files(s, err);
	if (rc == 0 && c)
		rc = conf_apply(s, c, err);
	if (rc == 0 && c) {
		/* What needs a restart is told against what runs, again at each reload until it was done. */
		wz_config_diff(s->conf, c, now, restart);
		if (restart->len) {
			struct wz_buf unused;
			wz_buf_clear(restart);
			wz_buf_init(&unused, s->mem, 4096);
			wz_config_diff(s->o->config, c, &unused, restart);
			wz_buf_release(&unused);
		}
		conf_free(s);
		s->conf = s->own_conf = c;
		return 0;
	}
	if (c) {
		wz_config_release(c);
		wz_mem_free(s->mem, c, sizeof *c);
	}
	return rc;
}

void conf_free(struct serve *s)
{
	if (!s->own_conf)
		return;
	wz_config_release(s->own_conf);
	wz_mem_free(s->mem, s->own_conf, sizeof *s->own_conf);
	s->own_conf = NULL;
}

static int reload_and_tell(struct serve *s, struct wz_buf *now, struct wz_buf *restart, struct wz_err *err)
{
	(void)wz_sd_reloading();
	int rc = conf_reload(s, now, restart, err);
	if (rc < 0) {
		serve_log("the configuration stays as it was", err->text);
	} else {
		serve_log("reloaded; changed", now->len ? wz_buf_z(now) : "nothing");
		if (restart->len)
			serve_log("needs a restart", wz_buf_z(restart));
	}
	(void)wz_sd_notify("READY=1");
	return rc;
}

void conf_signal(void *ctx)
{
	struct serve *s = ctx;
	struct wz_buf now, restart;
	struct wz_err err;
	wz_buf_init(&now, s->mem, 4096);
	wz_buf_init(&restart, s->mem, 4096);
	(void)reload_and_tell(s, &now, &restart, &err);
	wz_buf_release(&now);
	wz_buf_release(&restart);
}

static struct wz_strs words(struct wz_str text, struct wz_str room[32])
{
	uint32_t n = 0;
	while (text.ptr && text.len && n < 32)
		room[n++] = wz_str_split(&text, ' ');
	return (struct wz_strs){room, n};
}

void op_reload(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq)
{
	struct serve *s = ctx;
	struct wz_buf now, restart;
	struct wz_str a[32], b[32];
	struct wz_err err;
	(void)rq;
	wz_buf_init(&now, s->mem, 4096);
	wz_buf_init(&restart, s->mem, 4096);
	if (reload_and_tell(s, &now, &restart, &err) < 0) {
		wz_api_fail(c, &err);
	} else {
		struct wz_api_reloaded r = {
		        .changed = words(wz_buf_str(&now), a), .restart = words(wz_buf_str(&restart), b)};
		wz_api_reply_reloaded(c, &r);
	}
	wz_buf_release(&now);
	wz_buf_release(&restart);
}

/* ---- audit ---- */

void conf_audit(void *ctx, const struct wz_api_audit *a)
{
	struct serve *s = ctx;
	struct wz_audit_row r = {0};
	struct wz_err err;
	char target[64] = "", outcome[64], from[128];
	if (s->failed)
		return;
	wz_auditlog_add(&s->auditlog, serve_now_us(s), a);
	if (s->stopping)
		return;
	if (a->job)
		(void)snprintf(target, sizeof target, "job %llu", (unsigned long long)a->job);
	(void)snprintf(outcome, sizeof outcome, "%s", a->status < 300 ? "ok" : a->reason);
	(void)snprintf(from, sizeof from, "%s request=%s", a->who->address, a->request_id);
	WZ_SET(AUDIT, &r, time_us, serve_now_us(s));
	WZ_SET(AUDIT, &r, uid, a->who->uid);
	WZ_SET(AUDIT, &r, user, wz_str(a->who->name));
	WZ_SET(AUDIT, &r, verb, wz_str(a->operation));
	WZ_SET(AUDIT, &r, target, wz_str(target));
	WZ_SET(AUDIT, &r, outcome, wz_str(outcome));
	WZ_SET(AUDIT, &r, detail, wz_str(from));
	if (wz_batch_audit(&s->batch, &r, &err) < 0)
		serve_log("audit", err.text); /* a lost line is not worth the daemon */
	serve_soon(s);
}

static int audit_row(void *ctx, const struct wz_audit_row *r)
{
	struct wz_api_audit_line a = {.time_us = r->time_us,
	        .uid = r->uid,
	        .user = r->user,
	        .verb = r->verb,
	        .target = r->target,
	        .outcome = r->outcome,
	        .from = r->detail};
	wz_api_item_audit_line(ctx, &a);
	return 0;
}

void op_audit_list(void *ctx, struct wz_api_call *c, const struct wz_api_audit_query *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	uint32_t limit = rq->limit && rq->limit < 100000 ? rq->limit : rq->limit ? 100000 : 1000;
	if (wz_store_audit(s->store, rq->since_us > 0 ? (uint64_t)rq->since_us : 0, limit, audit_row, c, &err) < 0)
		wz_api_fail(c, &err);
	else
		wz_api_list_end(c, 0);
}

/* ---- what people are told ---- */

struct telling {
	struct serve *s;
	const struct news *n;
};

static int tell_row(void *ctx, const struct wz_job_row *r)
{
	struct telling *x = ctx;
	struct wz_json_doc doc = {NULL};
	struct wz_api_submit spec = {0};
	struct wz_arena a;
	bool ended = r->state == WZ_ROW_ENDED;
	uint32_t what = ended                                  ? WZ_NOTICE_ENDED
	                : strcmp(x->n->what, "started") == 0   ? WZ_NOTICE_STARTED
	                : strcmp(x->n->what, "preempted") == 0 ? WZ_NOTICE_PREEMPTED
	                : strcmp(x->n->what, "requeued") == 0  ? WZ_NOTICE_REQUEUED
	                                                       : 0;
	if (ended && r->end != WZ_END_COMPLETED && r->end != WZ_END_CANCELLED)
		what |= WZ_NOTICE_FAILED;
	if (!what)
		return 1;
	wz_arena_init(&a, x->s->mem, 4096);
	(void)spec_load(x->s, r, &a, &doc, &spec, NULL);
	struct wz_notice_job j = {.job = (uint64_t)r->job,
	        .what = what,
	        .name = r->name,
	        .user = r->user,
	        .state = wz_str(wz_api_state_words[x->n->state]),
	        .text = r->reason,
	        .asked = spec.notify,
	        .attempt = (uint32_t)r->attempt,
	        .exit_code = r->exit_code,
	        .exit_signal = r->signal,
	        .time_us = serve_now_us(x->s)};
	wz_notify_job(x->s->notify, x->s->conf, &j);
	wz_json_release(&doc);
	wz_arena_release(&a);
	return 1;
}

/* Of what is durable: a row is read, so nothing here is on the way of those who tell nobody. */
void conf_tell(struct serve *s, const struct news *n)
{
	struct telling x = {s, n};
	struct wz_job_query q = {.job = n->job};
	if (s->conf->n_targets)
		(void)wz_store_jobs(s->store, &q, tell_row, &x, NULL);
}
