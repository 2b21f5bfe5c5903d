/* SPDX-License-Identifier: Apache-2.0 */
/* `wz cancel`, `wz hold`, `wz release`: each for any number of jobs; `wz signal`; `wz drain`, `wz undrain`; `wz wait`. */
#include "cli/daemon.h"
#include "os/clock.h"

#include <time.h>

struct args {
	struct wz_str socket, reason;
	bool quiet;
};

static int each(struct wz_cli *cli, const struct wz_verb *v, const struct args *a, int n, char **argv)
{
	struct wz_daemon d;
	struct wz_buf body, answer;
	char path[64];
	uint64_t job;
	struct wz_str indices;
	int worst = 0;
	if (n == 0)
		return wz_cli_usage(v, "a job number is missing");
	for (int i = 0; i < n; i++)
		if (wz_daemon_ref(v, argv[i], &job, &indices))
			return WZ_EXIT_USAGE;
	int code = wz_daemon_open(&d, cli, a->socket);
	if (code) {
		wz_daemon_close(&d);
		return code;
	}
	wz_buf_init(&body, cli->mem, 65536);
	for (int i = 0; i < n; i++) {
		(void)wz_daemon_ref(v, argv[i], &job, &indices);
		wz_buf_clear(&body);
		wz_buf_addc(&body, '{');
		if (a->reason.len) {
			wz_buf_addz(&body, "\"reason\":");
			wz_buf_add_json(&body, a->reason);
		}
		if (indices.len) {
			wz_buf_addz(&body, a->reason.len ? ",\"indices\":" : "\"indices\":");
			wz_buf_add_json(&body, indices);
		}
		wz_buf_addc(&body, '}');
		(void)snprintf(path, sizeof path, "/v1/jobs/%llu/%s", (unsigned long long)job, v->name);
		code = wz_daemon_call(&d, "POST", path, wz_buf_str(&body), NULL, &answer);
		if (code == 0)
			wz_buf_release(&answer);
		else
			worst = code;
	}
	wz_buf_release(&body);
	wz_daemon_close(&d);
	return worst;
}

static int change_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.quiet = false};
	int n = wz_cli_opts(v, &a, argc, argv);
	return n < 0 ? WZ_EXIT_USAGE : each(cli, v, &a, n, argv);
}

#define REASON \
	{ \
		"reason", 'r', WZ_OPT_STRING, "TEXT", "kept with the job", offsetof(struct args, reason), 0 \
	}
static const struct wz_opt with_reason[] = {REASON, WZ_DAEMON_OPT(struct args), WZ_OPT_END};
static const struct wz_opt plain[] = {WZ_DAEMON_OPT(struct args), WZ_OPT_END};

const struct wz_verb wz_verb_cancel = {
        .name = "cancel",
        .summary = "end jobs: the signal, the grace, then the kill",
        .usage = "wz cancel [--reason TEXT] JOB...",
        .examples = "wz cancel 17 18\nwz cancel 20        # all of an array\nwz cancel 20_3 20_[5-9]\n",
        .opts = with_reason,
        .fn = change_fn,
};
const struct wz_verb wz_verb_hold = {
        .name = "hold",
        .summary = "keep waiting jobs from starting",
        .usage = "wz hold JOB...",
        .examples = "wz hold 17\n",
        .opts = plain,
        .fn = change_fn,
};
const struct wz_verb wz_verb_release = {
        .name = "release",
        .summary = "let held jobs start",
        .usage = "wz release JOB...",
        .examples = "wz release 17\n",
        .opts = plain,
        .fn = change_fn,
};

const struct wz_verb wz_verb_requeue = {
        .name = "requeue",
        .summary = "stop running jobs by their contract and let them start anew",
        .usage = "wz requeue [--reason TEXT] JOB...",
        .examples = "wz requeue 17\n",
        .opts = with_reason,
        .fn = change_fn,
        .more = "A job with a checkpoint contract (--preempt) is warned and may save first. It waits at its old "
                "place and runs "
                "as\n"
                "the next attempt; WZ_RESTART_COUNT counts them.\n",
};
const struct wz_verb wz_verb_suspend = {
        .name = "suspend",
        .summary = "freeze running jobs where they are; they keep what they hold",
        .usage = "wz suspend JOB...",
        .examples = "wz suspend 17\n",
        .opts = plain,
        .fn = change_fn,
        .more = "Its time limit stands still meanwhile.\n",
};
const struct wz_verb wz_verb_resume = {
        .name = "resume",
        .summary = "let suspended jobs run on",
        .usage = "wz resume JOB...",
        .examples = "wz resume 17\n",
        .opts = plain,
        .fn = change_fn,
};

/* ---- one thing, with a word ---- */

static int post(struct wz_cli *cli, const struct args *a, const char *path, const char *key, struct wz_str value)
{
	struct wz_daemon d;
	struct wz_buf body, answer;
	int code = wz_daemon_open(&d, cli, a->socket);
	wz_buf_init(&body, cli->mem, 65536);
	wz_buf_addc(&body, '{');
	if (value.len) {
		wz_buf_add_json(&body, wz_str(key));
		wz_buf_addc(&body, ':');
		wz_buf_add_json(&body, value);
	}
	wz_buf_addc(&body, '}');
	if (code == 0)
		code = wz_daemon_call(&d, "POST", path, wz_buf_str(&body), NULL, &answer);
	if (code == 0)
		wz_buf_release(&answer);
	wz_buf_release(&body);
	wz_daemon_close(&d);
	return code;
}

static int signal_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.quiet = false};
	char path[80];
	uint64_t job;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 2)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "a job number and a signal are expected");
	if (wz_daemon_number(v, argv[0], &job))
		return WZ_EXIT_USAGE;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu/signal", (unsigned long long)job);
	return post(cli, &a, path, "signal", wz_str(argv[1]));
}

static int drain_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.quiet = false};
	char path[400];
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "the name of a node is expected");
	for (const char *p = argv[0]; *p; p++)
		if (*p == '/' || *p == '?' || *p == '%' || *p == '#' || *p <= ' ' || p - argv[0] > 256)
			return wz_cli_usage(v, "that is no name of a node");
	if (v == &wz_verb_drain && !a.reason.len)
		return wz_cli_usage(v, "--reason is missing: others will ask why");
	(void)snprintf(path, sizeof path, "/v1/nodes/%s/%s", argv[0], v->name);
	return post(cli, &a, path, "reason", a.reason);
}

const struct wz_verb wz_verb_signal = {
        .name = "signal",
        .summary = "send a signal to all of a running job",
        .usage = "wz signal JOB SIGNAL",
        .examples = "wz signal 17 USR1\n",
        .opts = plain,
        .fn = signal_fn,
};
const struct wz_verb wz_verb_drain = {
        .name = "drain",
        .summary = "let a node take no new work; what runs there stays",
        .usage = "wz drain --reason TEXT NODE",
        .examples = "wz drain --reason 'new fans' gpu3\n",
        .opts = with_reason,
        .fn = drain_fn,
};
const struct wz_verb wz_verb_undrain = {
        .name = "undrain",
        .summary = "let a node take work again",
        .usage = "wz undrain NODE",
        .examples = "wz undrain gpu3\n",
        .opts = plain,
        .fn = drain_fn,
};

/* ---- until they end ---- */

struct wait_args {
	struct wz_str socket;
	uint64_t timeout_us;
	bool any;
};
#define W(m) offsetof(struct wait_args, m)
static const struct wz_opt wait_opts[] = {
        {"any", 0, WZ_OPT_FLAG, NULL, "until the first of them has ended", W(any), 0},
        {"timeout", 0, WZ_OPT_DURATION, "TIME", "give up then, with exit code 6", W(timeout_us), 0},
        WZ_DAEMON_OPT(struct wait_args),
        WZ_OPT_END,
};
#undef W

static int wait_any(struct wz_daemon *d, const struct wz_verb *v, int n, char **argv, int64_t until)
{
	for (;;) {
		for (int i = 0; i < n; i++) {
			struct wz_str indices;
			uint64_t job;
			(void)wz_daemon_ref(v, argv[i], &job, &indices);
			int code = wz_daemon_wait_all(d, job, indices, 1, true);
			if (code != WZ_EXIT_TIMED_OUT)
				return code;
		}
		if (until && wz_clock_monotonic_ns() / 1000 >= (uint64_t)until)
			return WZ_EXIT_TIMED_OUT;
		(void)nanosleep(&(struct timespec){0, 100000000}, NULL);
	}
}

static int wait_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wait_args a = {.any = false};
	struct wz_daemon d;
	struct wz_str indices;
	uint64_t job;
	int worst = 0, n = wz_cli_opts(v, &a, argc, argv);
	if (n <= 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "a job number is missing");
	for (int i = 0; i < n; i++)
		if (wz_daemon_ref(v, argv[i], &job, &indices))
			return WZ_EXIT_USAGE;
	int64_t until = a.timeout_us ? (int64_t)(wz_clock_monotonic_ns() / 1000 + a.timeout_us) : 0;
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0 && a.any)
		code = wait_any(&d, v, n, argv, until);
	for (int i = 0; code == 0 && !a.any && i < n; i++) {
		(void)wz_daemon_ref(v, argv[i], &job, &indices);
		code = wz_daemon_wait_all(&d, job, indices, until, false);
		if (code == WZ_EXIT_FAILED) { /* the others are waited for all the same */
			worst = code;
			code = 0;
		}
	}
	wz_daemon_close(&d);
	return code ? code : worst;
}

const struct wz_verb wz_verb_wait = {
        .name = "wait",
        .summary = "until jobs have ended; 0 when all completed, 1 when one did not, 6 after --timeout",
        .usage = "wz wait [--any] [--timeout TIME] JOB...",
        .examples = "wz wait 17 18\nwz wait --timeout 2h 20_[0-9]\n",
        .opts = wait_opts,
        .fn = wait_fn,
};
