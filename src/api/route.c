/* SPDX-License-Identifier: Apache-2.0 */
#include "api/route.h"

#include "base/check.h"

#define X(op, rq) \
	static bool run_##op( \
	        const struct wz_api_backend *b, void *ctx, struct wz_api_call *c, const void *request) \
	{ \
		if (b->op) \
			b->op(ctx, c, request); \
		return b->op != NULL; \
	}
WZ_API_OPERATIONS(X)
#undef X

#define OP(op) .id = #op, .run = run_##op
#define OWN(nm) .id = nm
#define TAKES(rq) .request = &wz_type_##rq
#define GIVES(t) .answer = WZ_ANSWER_ITEM, .reply = &wz_type_##t, .status = 200
#define LISTS(t, nm) .answer = WZ_ANSWER_LIST, .reply = &wz_type_##t, .list = (nm), .status = 200
#define DONE .answer = WZ_ANSWER_DONE, .status = 200, .changes = true
#define GET .method = WZ_HTTP_GET
#define POST .method = WZ_HTTP_POST
#define PUT .method = WZ_HTTP_PUT
#define PATCH .method = WZ_HTTP_PATCH
#define DELETE .method = WZ_HTTP_DELETE
#define VIEWER .role = WZ_ROLE_VIEWER
#define USER .role = WZ_ROLE_USER
#define OWNER .role = WZ_ROLE_USER, .owner = true
#define ADMIN .role = WZ_ROLE_ADMIN
#define ANYBODY .role = WZ_ROLE_NONE

/* clang-format off */
const struct wz_route wz_routes[] = {
	{POST, .pattern = "/v1/jobs", OP(job_submit), USER, TAKES(submit), .answer = WZ_ANSWER_ITEM, .reply = &wz_type_submitted,
	 .status = 201, .changes = true, .cost = 1, .summary = "Submit a job, an array, or one job for each line"},
	{GET, .pattern = "/v1/jobs", OP(job_list), VIEWER, TAKES(job_query), LISTS(job, "jobs"), .cost = 2,
	 .summary = "Jobs that wait or run; with all, ended ones too"},
	{GET, .pattern = "/v1/jobs/{id}", OP(job_get), VIEWER, TAKES(job_ref), GIVES(job), .cost = 1, .summary = "One job"},
	{PATCH, .pattern = "/v1/jobs/{id}", OP(job_edit), OWNER, TAKES(job_edit), GIVES(job), .changes = true, .cost = 1,
	 .summary = "Change a job"},
	{POST, .pattern = "/v1/jobs/{id}/cancel", OP(job_cancel), OWNER, TAKES(job_cancel), DONE, .cost = 1,
	 .summary = "Cancel a job"},
	{POST, .pattern = "/v1/jobs/{id}/hold", OP(job_hold), OWNER, TAKES(job_hold), DONE, .cost = 1,
	 .summary = "Hold a waiting job"},
	{POST, .pattern = "/v1/jobs/{id}/release", OP(job_release), OWNER, TAKES(job_hold), DONE, .cost = 1,
	 .summary = "Release a held job"},
	{POST, .pattern = "/v1/jobs/{id}/requeue", OP(job_requeue), OWNER, TAKES(job_hold), DONE, .cost = 1,
	 .summary = "Stop the present attempt and let the job wait again"},
	{POST, .pattern = "/v1/jobs/{id}/suspend", OP(job_suspend), OWNER, TAKES(job_ref), DONE, .cost = 1,
	 .summary = "Freeze a running job where it is"},
	{POST, .pattern = "/v1/jobs/{id}/resume", OP(job_resume), OWNER, TAKES(job_ref), DONE, .cost = 1,
	 .summary = "Let a frozen job go on"},
	{POST, .pattern = "/v1/jobs/{id}/signal", OP(job_signal), OWNER, TAKES(job_signal), DONE, .cost = 1,
	 .summary = "Send a signal to a running job"},
	{POST, .pattern = "/v1/jobs/{id}/report", OP(job_report), OWNER, TAKES(job_report), .answer = WZ_ANSWER_DONE, .status = 200,
	 .cost = 1, .summary = "Progress, checkpoints and acknowledgements, said by the job itself"},
	{GET, .pattern = "/v1/jobs/{id}/why", OP(job_why), VIEWER, TAKES(job_ref), GIVES(why), .cost = 5,
	 .summary = "Why a job waits, and when it will start"},
	{GET, .pattern = "/v1/jobs/{id}/attempts", OP(job_attempts), VIEWER, TAKES(job_ref), LISTS(attempt, "attempts"), .cost = 1,
	 .summary = "All runs of a job"},
	{GET, .pattern = "/v1/jobs/{id}/logs", OP(job_logs), OWNER, TAKES(job_logs), .answer = WZ_ANSWER_BYTES, .status = 200,
	 .cost = 2, .summary = "The log, bytes untouched"},
	{GET, .pattern = "/v1/jobs/{id}/terminal", OP(job_terminal), OWNER, TAKES(job_terminal), .answer = WZ_ANSWER_BYTES,
	 .status = 200, .cost = 2, .summary = "What the terminal of a running job shows, as it comes"},
	{POST, .pattern = "/v1/jobs/{id}/terminal", OP(job_type), OWNER, TAKES(job_type), .answer = WZ_ANSWER_DONE, .status = 200,
	 .cost = 1, .summary = "Keys for the terminal of a running job, and the size of the window"},
	{POST, .pattern = "/v1/snapshots", OP(snapshot_put), USER, TAKES(snapshot_put), GIVES(snapshot), .changes = true, .cost = 1,
	 .summary = "Bring an archive of code, piece by piece, before the job that runs in it"},
	{GET, .pattern = "/v1/nodes", OP(node_list), VIEWER, TAKES(nothing), LISTS(node, "nodes"), .cost = 1, .summary = "All nodes"},
	{GET, .pattern = "/v1/nodes/{node}", OP(node_get), VIEWER, TAKES(node_ref), GIVES(node), .cost = 1,
	 .summary = "One node and its devices"},
	{POST, .pattern = "/v1/nodes/{node}/drain", OP(node_drain), ADMIN, TAKES(node_drain), DONE, .cost = 1,
	 .summary = "Let a node take no new work"},
	{POST, .pattern = "/v1/nodes/{node}/undrain", OP(node_undrain), ADMIN, TAKES(node_ref), DONE, .cost = 1,
	 .summary = "Let a node take work again"},
	{GET, .pattern = "/v1/devices", OP(device_list), VIEWER, TAKES(device_query), LISTS(device, "devices"), .cost = 1,
	 .summary = "All devices, who holds them, and what they do"},
	{GET, .pattern = "/v1/board", OP(board), VIEWER, TAKES(board_query), GIVES(board), .cost = 5,
	 .summary = "The jigsaw board: all devices and the pieces on them, now or at a past moment"},
	{GET, .pattern = "/v1/whatif", OP(whatif), VIEWER, TAKES(whatif_query), LISTS(change, "changes"), .cost = 20,
	 .summary = "For whom today's plan changes when the cluster or a queue does"},
	{GET, .pattern = "/v1/repack", OP(repack_get), VIEWER, TAKES(repack_query), GIVES(repack), .cost = 20,
	 .summary = "Which moves would let work start that waits, and what they cost"},
	{POST, .pattern = "/v1/repack", OP(repack_ask), ADMIN, TAKES(repack_ask), GIVES(repack), .changes = true, .cost = 20,
	 .summary = "The same; with apply, let them be made"},
	{GET, .pattern = "/v1/samples", OP(samples), VIEWER, TAKES(sample_query), LISTS(sample, "samples"), .cost = 2,
	 .summary = "Readings over the past day, of a device or of the cluster"},
	{GET, .pattern = "/v1/timeline", OP(timeline), VIEWER, TAKES(timeline_query), LISTS(span, "spans"), .cost = 5,
	 .summary = "What ran where and when, newest jobs first"},
	{GET, .pattern = "/v1/queues", OP(queue_list), VIEWER, TAKES(nothing), LISTS(queue, "queues"), .cost = 1,
	 .summary = "The quota tree"},
	{PUT, .pattern = "/v1/queues/{name}", OP(queue_set), ADMIN, TAKES(queue_set), DONE, .cost = 1,
	 .summary = "Make or change a queue"},
	{DELETE, .pattern = "/v1/queues/{name}", OP(queue_remove), ADMIN, TAKES(name_ref), DONE, .cost = 1,
	 .summary = "Remove an empty queue"},
	{GET, .pattern = "/v1/reservations", OP(reservation_list), VIEWER, TAKES(nothing), LISTS(reservation, "reservations"),
	 .cost = 1, .summary = "Promises of capacity"},
	{PUT, .pattern = "/v1/reservations/{name}", OP(reservation_set), ADMIN, TAKES(reservation_set), DONE, .cost = 1,
	 .summary = "Make or change a reservation"},
	{DELETE, .pattern = "/v1/reservations/{name}", OP(reservation_remove), ADMIN, TAKES(name_ref), DONE, .cost = 1,
	 .summary = "Withdraw a reservation"},
	{GET, .pattern = "/v1/usage", OP(usage), VIEWER, TAKES(usage_query), LISTS(usage, "usage"), .cost = 5,
	 .summary = "What was used and wasted, by user, queue, state, model or day"},
	{GET, .pattern = "/v1/info", OP(info), VIEWER, TAKES(nothing), GIVES(info), .cost = 1,
	 .summary = "The daemon and its cluster at a glance"},
	{GET, .pattern = "/v1/doctor", OP(doctor), ADMIN, TAKES(nothing), LISTS(check, "checks"), .cost = 5,
	 .summary = "Check everything that can be checked live"},
	{GET, .pattern = "/v1/audit", OP(audit_list), ADMIN, TAKES(audit_query), LISTS(audit_line, "audit"), .cost = 5,
	 .summary = "Who changed what, and was refused what"},
	{POST, .pattern = "/v1/reload", OP(reload), ADMIN, TAKES(nothing), GIVES(reloaded), .changes = true, .cost = 1,
	 .summary = "Read the configuration again"},
	/* The API's own. */
	{GET, .pattern = "/v1/whoami", OWN("whoami"), ANYBODY, TAKES(nothing), GIVES(whoami), .cost = 1,
	 .summary = "Who the daemon takes you for"},
	{POST, .pattern = "/v1/sessions", OWN("session_open"), ANYBODY, TAKES(session_open), GIVES(whoami), .cost = 5,
	 .summary = "Log a browser in, with a token or the code of a one-time link"},
	{DELETE, .pattern = "/v1/sessions", OWN("session_close"), ANYBODY, TAKES(nothing), .answer = WZ_ANSWER_DONE, .status = 200, .cost = 1,
	 .summary = "Log a browser out"},
	{POST, .pattern = "/v1/session-links", OWN("session_link"), USER, TAKES(nothing), GIVES(session_link), .changes = true,
	 .cost = 5, .summary = "A one-time link that logs a browser in as who asks"},
	{GET, .pattern = "/login", OWN("login"), ANYBODY, TAKES(login), .answer = WZ_ANSWER_TEXT, .status = 303, .cost = 5,
	 .summary = "Where a one-time link leads: sets the session's cookie"},
	{GET, .pattern = "/v1/events", OWN("events"), VIEWER, TAKES(events_query), .answer = WZ_ANSWER_EVENTS,
	 .reply = &wz_type_event, .status = 200, .cost = 2, .summary = "Server-sent events, resumable by Last-Event-ID"},
	{GET, .pattern = "/v1/openapi.json", OWN("openapi"), ANYBODY, TAKES(nothing), .answer = WZ_ANSWER_TEXT, .status = 200,
	 .cost = 1, .summary = "This document"},
	{GET, .pattern = "/metrics", OWN("metrics"), VIEWER, TAKES(nothing), .answer = WZ_ANSWER_TEXT, .status = 200, .cost = 2,
	 .summary = "Metrics in Prometheus text"},
	{GET, .pattern = "/healthz", OWN("healthz"), ANYBODY, TAKES(nothing), .answer = WZ_ANSWER_TEXT, .status = 200,
	 .summary = "The daemon's loop runs"},
	{GET, .pattern = "/readyz", OWN("readyz"), ANYBODY, TAKES(nothing), .answer = WZ_ANSWER_TEXT, .status = 200,
	 .summary = "The daemon takes work"},
};
/* clang-format on */
const uint32_t wz_routes_n = WZ_ARRAY_LEN(wz_routes);

static bool match(const char *pattern, struct wz_str path, struct wz_route_match *m)
{
	struct wz_str p = wz_str(pattern);
	m->n_params = 0;
	while (p.ptr && path.ptr) {
		struct wz_str want = wz_str_split(&p, '/'), have = wz_str_split(&path, '/');
		if (want.len && want.ptr[0] == '{') {
			if (!have.len)
				return false;
			wz_check(m->n_params < WZ_ROUTE_PARAMS_MAX);
			m->names[m->n_params] = (struct wz_str){want.ptr + 1, want.len - 2};
			m->values[m->n_params++] = have;
		} else if (!wz_str_eq(want, have)) {
			return false;
		}
	}
	return !p.ptr && !path.ptr;
}

void wz_route_find(enum wz_http_method method, struct wz_str path, struct wz_route_match *ret)
{
	struct wz_route_match m = {.route = NULL}, found = {.route = NULL};
	if (method == WZ_HTTP_HEAD)
		method = WZ_HTTP_GET;
	for (uint32_t i = 0; i < wz_routes_n; i++) {
		if (!match(wz_routes[i].pattern, path, &m))
			continue;
		found.path_known = true;
		found.methods |= 1u << wz_routes[i].method;
		if (wz_routes[i].method == method && !found.route) {
			found.route = &wz_routes[i];
			found.n_params = m.n_params;
			memcpy(found.names, m.names, sizeof m.names);
			memcpy(found.values, m.values, sizeof m.values);
		}
	}
	*ret = found;
}
