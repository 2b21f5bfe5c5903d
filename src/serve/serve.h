/* SPDX-License-Identifier: Apache-2.0 */
/* The one-machine body: `wz serve`. It wires the store, the core, the API and an agent in a process of its own, and
 * decides nothing itself (docs/internals/serve.md).
 *
 * Runs in the foreground until SIGTERM or SIGINT; SIGHUP reads the configuration again. Sockets and readiness go by the
 * service manager's protocol (os/sd.h) when there is one. Jobs live on in their shims and are adopted by the next run. */
#ifndef WZ_SERVE_SERVE_H
#define WZ_SERVE_SERVE_H

#include "api/resource.h"
#include "base/err.h"

struct wz_config;

struct wz_serve_options {
	const struct wz_config *config; /* as it was read; outlives the run */
	const char *config_file; /* read again at a reload; NULL: none */

	const char *state_dir;  /* made (0700) when missing; absolute */
	const char *socket;     /* of the API; absolute. Not used when the service manager gave us sockets */
	const char *listen;     /* plain HTTP at "127.0.0.1:8765", beside those of the configuration; NULL: none */
	const char *cluster_file; /* an emulated cluster; NULL: the devices of this machine */
	const char *provider;   /* of devices; NULL: the first that finds something (emulated with a cluster file) */
	const char *policy;     /* of a new store; NULL: the default */
	const char *version;
	bool no_cgroup;         /* jobs without cgroups: no limits, tracked by descent alone */
};

/* 0 after a clean stop. Errors of the store and the socket; -ENOTRECOVERABLE "ServeFailed": restart from the journal. */
int wz_serve_run(const struct wz_serve_options *o, struct wz_err *err);

/* The jigsaw board as it was at `at_us` by the journal of a state directory, beside a daemon or without one; everything is in
 * the arena. Errors of wz_store_open and wz_store_replay. O(records since the snapshot before). */
int wz_serve_board_then(
        const char *state_dir, int64_t at_us, struct wz_arena *a, struct wz_api_board *ret, struct wz_err *err);

#endif
