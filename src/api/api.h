/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP API of a body: routes, identities, limits, events, metrics, behind os/http.h. A body does:
 *
 *	struct wz_api_config cfg = wz_api_config_default;
 *	cfg.backend = &my_backend; cfg.ctx = me; cfg.version = wz_version;
 *	wz_api_new(loop, wz_os_mem(), &cfg, &api, &err);
 *	wz_unix_listen("/run/whalezen/wz.sock", 0666, -1, &sock, &err);
 *	wz_http_listen(wz_api_http(api), sock.fd, NULL), sock.fd = -1;
 *	... wz_hub_publish(wz_api_hub(api), &event) whenever something changed ...
 *	wz_api_drain(api); run the loop until wz_http_connections is 0 or patience ends; wz_api_free(api); wz_unix_close(&sock);
 *
 * Thread rule: the loop's thread. */
#ifndef WZ_API_API_H
#define WZ_API_API_H

#include "api/backend.h"
#include "api/hub.h"
#include "api/limit.h"
#include "api/route.h"
#include "os/http.h"

/* One line of the audit log: every request that changes something, and every one that was refused for who it is from. */
struct wz_api_audit {
	const char *request_id; /* 16 hexadecimal digits */
	const struct wz_api_who *who;
	const char *method;
	const char *operation; /* "job_cancel"; "" for no route */
	struct wz_str target; /* path and query as sent */
	uint64_t job; /* 0: none */
	unsigned status;
	const char *reason; /* of a refusal; "" */
	int64_t took_us;
};

/* A file of the dashboard. Served to anybody: it holds no data. */
struct wz_api_asset {
	const char *path, *type; /* "/", "text/html; charset=utf-8" */
	struct wz_str bytes, gzip; /* gzip: the same compressed; empty: none */
};

struct wz_api_config {
	const struct wz_api_backend *backend;
	void *ctx;
	const char *version;
	struct wz_auth_config auth;
	struct wz_limit_rate rate[4]; /* by enum wz_role */
	const char *session_key; /* file of the key that seals browsers' sessions, made when missing; NULL: one for this run */
	const struct wz_http_limits *limits; /* NULL: the default */
	struct wz_hub_config hub;
	bool open_metrics; /* /metrics to anybody who can connect */
	const struct wz_api_asset *assets;
	uint32_t n_assets;
	void (*audit)(void *ctx, const struct wz_api_audit *a); /* may be NULL */
};
/* Admins unlimited; users 2000/s, burst 4000; viewers 200/s, 400; nobody 20/s, 40. */
extern const struct wz_api_config wz_api_config_default;

struct wz_api;
/* The config's pointers outlive the API. -ENOMEM, and the errors of wz_auth_new. */
int wz_api_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_api_config *c, struct wz_api **ret,
        struct wz_err *err);
void wz_api_drain(struct wz_api *a); /* event streams end, then wz_http_drain */
/* Accepts NULL. Calls that are not answered yet stay valid: each still wants its answer, which goes nowhere. */
void wz_api_free(struct wz_api *a);

/* What takes effect at a reload. */
void wz_api_set_rates(struct wz_api *a, const struct wz_limit_rate rate[4]);

struct wz_http_server *wz_api_http(struct wz_api *a);
struct wz_hub *wz_api_hub(struct wz_api *a);
struct wz_metrics *wz_api_metrics(struct wz_api *a); /* add the body's own tables here */
struct wz_auth *wz_api_auth(struct wz_api *a); /* for wz_auth_reload */

/* The names of this room's own metrics; those of a body stand in its own table. */
extern const struct wz_metric wz_api_metric_table[];
extern const uint32_t wz_api_metric_table_n;

#endif
