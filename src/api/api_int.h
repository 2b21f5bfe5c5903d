/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the API share: the call, and how it ends. */
#ifndef WZ_API_API_INT_H
#define WZ_API_API_INT_H

#include "api/api.h"
#include "api/flat.h"
#include "api/session.h"

struct wz_api {
	struct wz_api_config cfg;
	struct wz_loop *loop;
	const struct wz_mem *mem;
	struct wz_http_server *http;
	struct wz_auth *auth;
	struct wz_hub *hub;
	struct wz_metrics *metrics;
	struct wz_limit limit;
	struct wz_sessions sessions;
	uint64_t next_id;
	uint32_t refs; /* itself, and each open call */
	bool freed;
};

enum wz_api_progress { WZ_CALL_OPEN, WZ_CALL_LISTING, WZ_CALL_STREAMING };

struct wz_api_call {
	struct wz_api *api;
	struct wz_http_req *r;
	const struct wz_route *route; /* NULL: none */
	struct wz_api_who who;
	struct wz_arena arena;
	struct wz_json_doc doc;
	struct wz_buf out; /* of a list, or one answer */
	void *rq;
	void *data;
	void (*on_drain)(struct wz_api_call *c);
	void (*on_gone)(struct wz_api_call *c);
	const char *reason; /* of a refusal */
	int64_t start_us;
	uint64_t job; /* that the path names */
	uint32_t items;
	unsigned status;
	enum wz_api_progress progress;
	bool owns; /* that job */
	bool refused; /* for who it is from */
	enum wz_flat_format format;
	char id[17];
};

enum {
	WZ_API_M_REQUESTS,
	WZ_API_M_SECONDS,
	WZ_API_M_REFUSED,
	WZ_API_M_LIMITED,
	WZ_API_M_AUTH,
	WZ_API_M_CONNECTIONS,
	WZ_API_M_SUBSCRIBERS,
	WZ_API_M_EVENTS,
	WZ_API_M_GAPS,
	WZ_API_M_COUNT_
};

extern const char wz_api_asset_headers[];

/* The last thing that happens to a call. `more`: further header lines. */
void wz_api_finish(struct wz_api_call *c, unsigned status, const char *type, struct wz_str body, struct wz_str more);
void wz_api_refuse(struct wz_api_call *c, unsigned status, const char *reason, struct wz_str text, const char *field,
        struct wz_str more);
void wz_api_count_and_audit(struct wz_api_call *c);
void wz_api_call_free(struct wz_api_call *c);

/* own.c: the routes that no body answers. False: the table has no such row. */
bool wz_api_own(struct wz_api_call *c);

#endif
