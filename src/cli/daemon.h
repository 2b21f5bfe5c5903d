/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that talk to the daemon share: where its socket is, one call with its errors told, JSON answers. */
#ifndef WZ_CLI_DAEMON_H
#define WZ_CLI_DAEMON_H

#include "api/resource.h"
#include "cli/cli.h"
#include "os/httpc.h"

#include <jansson.h>

#define WZ_DAEMON_PATH_MAX 4096u
#define WZ_CONFIG_PATH "/etc/whalezen/whalezen.yaml"
#define WZ_SYSTEM_STATE "/var/lib/whalezen"
#define WZ_SYSTEM_SOCKET "/run/whalezen/wz.sock"

/* An option that each of them has: put WZ_DAEMON_OPT(struct args) in its table, with `struct wz_str socket` there. */
#define WZ_DAEMON_OPT(args) \
	{ \
		"server", 'S', WZ_OPT_STRING, "PATH", "the daemon's socket, or https://HOST:PORT (WZ_SERVER)", \
		        offsetof(args, socket), 0 \
	}

/* Absolute defaults of one user: $XDG_STATE_HOME/whalezen or ~/.local/state/whalezen; the socket is
 * $XDG_RUNTIME_DIR/whalezen.sock, or whalezen.sock of the state directory. -ENOENT "NoHome". */
int wz_daemon_state(struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err);
int wz_daemon_socket(struct wz_str given, struct wz_str state, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err);
/* Where to find a daemon: `given`, else WZ_SERVER, else the first that is there of the user's socket and the system's
 * (/run/whalezen/wz.sock), else the user's. */
int wz_daemon_server(struct wz_str given, char ret[WZ_DAEMON_PATH_MAX], struct wz_err *err);

struct wz_daemon {
	struct wz_cli *cli;
	struct wz_httpc *http;
	char socket[WZ_DAEMON_PATH_MAX];
};
/* 0, or the exit code, reported. Closing accepts a zeroed one. */
int wz_daemon_open(struct wz_daemon *d, struct wz_cli *cli, struct wz_str socket);
void wz_daemon_close(struct wz_daemon *d);

/* One call. 0 and the answer's body; else the exit code, reported (NOT_FOUND for 404). */
int wz_daemon_call(struct wz_daemon *d, const char *method, const char *path, struct wz_str body, const char *key,
        struct wz_buf *ret);
/* GET, parsed: *ret is released by json_decref. With `raw` the text goes to the verb's output and *ret is NULL. */
int wz_daemon_get(struct wz_daemon *d, const char *path, bool raw, json_t **ret);
/* Streams the log of a job to standard output. */
struct wz_daemon_log {
	uint64_t job, task, attempt, tail; /* attempt 0: the last, and on into the next; tail 0: all */
	bool follow, errors; /* errors: that of standard errors, where it has one of its own */
	bool fold; /* a line that was written over by \r is shown as it was last */
};
int wz_daemon_log(struct wz_daemon *d, const struct wz_daemon_log *q);
/* Waits until the job has ended; its JSON in *ret. 0 or the exit code. */
int wz_daemon_wait(struct wz_daemon *d, uint64_t job, json_t **ret);

/* Appends &KEY=VALUE to a path that has a query, escaped; nothing for an empty value. */
void wz_daemon_query(struct wz_buf *b, const char *key, struct wz_str v);
/* run.c: the exit code of an ended job; says on stderr what is no plain exit. */
int wz_daemon_code(const json_t *job);
struct wz_str wz_daemon_text(const json_t *o, const char *key); /* "" when it is not there */
int64_t wz_daemon_int(const json_t *o, const char *key);
/* A job number of the command line; 0, or USAGE, reported. */
int wz_daemon_number(const struct wz_verb *v, const char *text, uint64_t *ret);

/* "17", "17_3" or "17_[1-4,9]": a job, or tasks of an array. *ret_indices: a view, empty for none. 0, or USAGE, reported. */
int wz_daemon_ref(const struct wz_verb *v, const char *text, uint64_t *ret, struct wz_str *ret_indices);
/* The number of one job: that of "17_3" is asked of the daemon. 0 or the exit code, reported. */
int wz_daemon_job(struct wz_daemon *d, const struct wz_verb *v, const char *text, uint64_t *ret);
/* Until the job, or all tasks of the array (or those with the indices), have ended. 0: all completed; FAILED: one did not;
 * TIMED_OUT after until_us of the monotonic clock (0: never); else reported. `quiet`: TIMED_OUT says nothing. */
int wz_daemon_wait_all(struct wz_daemon *d, uint64_t job, struct wz_str indices, int64_t until_us, bool quiet);
void wz_daemon_add_time(struct wz_buf *b, int64_t us); /* local time with its offset; nothing for 0 */

#endif
