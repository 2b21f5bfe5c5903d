/* SPDX-License-Identifier: Apache-2.0 */
/* `wz logs`: the output of a job, bytes untouched. */
#include "cli/daemon.h"

struct args {
	struct wz_str socket;
	uint64_t task, attempt, tail;
	bool follow;
};
static const struct wz_opt opts[] = {
        {"follow", 'f', WZ_OPT_FLAG, NULL, "stay until the job has ended", offsetof(struct args, follow), 0},
        {"tail", 'n', WZ_OPT_U64, "N", "the last N lines", offsetof(struct args, tail), 1000000},
        {"task", 't', WZ_OPT_U64, "N", "of this task (0)", offsetof(struct args, task), 65535},
        {"attempt", 'a', WZ_OPT_U64, "N", "of this attempt (the last)", offsetof(struct args, attempt), UINT32_MAX},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static int logs_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.follow = false};
	struct wz_daemon d;
	uint64_t job;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one job number is expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_job(&d, v, argv[0], &job);
	if (code == 0)
		code = wz_daemon_log(&d, job, a.task, a.attempt, a.tail, a.follow);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_logs = {
        .name = "logs",
        .summary = "the output of a job",
        .usage = "wz logs [-f] [--tail N] [--task N] [--attempt N] JOB",
        .examples = "wz logs -f 17\n",
        .opts = opts,
        .fn = logs_fn,
};
