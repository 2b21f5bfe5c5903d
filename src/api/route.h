/* SPDX-License-Identifier: Apache-2.0 */
/* The routes: one table, from which the router, the OpenAPI document, `wz` and the docs come. To add one: an operation in
 * backend.h, its request and reply types in resource.h with their tables, a row in route.c, a line in spec/api.md, and the
 * fake body of tests/api.
 *
 * Thread rule: constant data. */
#ifndef WZ_API_ROUTE_H
#define WZ_API_ROUTE_H

#include "api/backend.h"
#include "os/http_parse.h"

enum wz_route_answer {
	WZ_ANSWER_ITEM,
	WZ_ANSWER_LIST,
	WZ_ANSWER_DONE,
	WZ_ANSWER_BYTES,
	WZ_ANSWER_EVENTS,
	WZ_ANSWER_TEXT
};

struct wz_api;
struct wz_route {
	enum wz_http_method method;
	const char *pattern; /* "/v1/jobs/{id}/hold": {name} is one segment */
	const char *id; /* operationId: "job_hold" */
	enum wz_role role; /* at least */
	bool owner; /* path field `id` is a job of who asks, or who asks is an admin */
	bool changes; /* goes to the audit log */
	uint8_t cost; /* tokens of the rate limit */
	uint16_t status; /* of success */
	enum wz_route_answer answer;
	const char *summary;
	const struct wz_api_type *request; /* path, query and body fields */
	const struct wz_api_type *reply; /* of the item, or of the list's items; NULL: none */
	const char *list; /* name of the list in the reply: "jobs" */
	/* Calls the body's operation; false when that is NULL. For routes of the API itself: NULL here, see api.c. */
	bool (*run)(const struct wz_api_backend *b, void *ctx, struct wz_api_call *c, const void *rq);
};

extern const struct wz_route wz_routes[];
extern const uint32_t wz_routes_n;

#define WZ_ROUTE_PARAMS_MAX 4u
struct wz_route_match {
	const struct wz_route *route; /* NULL: none of this method */
	bool path_known; /* some method has this path */
	uint32_t methods; /* mask of 1 << enum wz_http_method that this path has */
	uint32_t n_params;
	struct wz_str names[WZ_ROUTE_PARAMS_MAX], values[WZ_ROUTE_PARAMS_MAX]; /* as sent: still escaped */
};
/* HEAD matches GET. O(routes). */
void wz_route_find(enum wz_http_method method, struct wz_str path, struct wz_route_match *ret);

/* The OpenAPI 3.1 document of the table. */
void wz_openapi_write(struct wz_buf *b, const char *version);

#endif
