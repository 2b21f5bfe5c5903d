/* SPDX-License-Identifier: Apache-2.0 */
/* `wz logs`: the output of a job, bytes untouched. */
#include "cli/daemon.h"

#include <unistd.h>

struct args {
	struct wz_str socket;
	uint64_t task, attempt, tail;
	bool follow, errors, fold, raw;
};
static const struct wz_opt opts[] = {
        {"follow", 'f', WZ_OPT_FLAG, NULL, "stay until the job has ended", offsetof(struct args, follow), 0},
        {"tail", 'n', WZ_OPT_U64, "N", "the last N lines", offsetof(struct args, tail), 1000000},
        {"task", 't', WZ_OPT_U64, "N", "of this task (0)", offsetof(struct args, task), 65535},
        {"attempt", 'a', WZ_OPT_U64, "N", "of this attempt (the last)", offsetof(struct args, attempt), UINT32_MAX},
        {"errors", 'e', WZ_OPT_FLAG, NULL, "standard errors, where they have a file of their own",
                offsetof(struct args, errors), 0},
        {"fold", 0, WZ_OPT_FLAG, NULL, "of a line that was written over (progress bars) the last state alone",
                offsetof(struct args, fold), 0},
        {"raw", 0, WZ_OPT_FLAG, NULL, "no folding on a terminal either", offsetof(struct args, raw), 0},
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
		code = wz_daemon_log(&d, &(struct wz_daemon_log){.job = job,
		                                 .task = a.task,
		                                 .attempt = a.attempt,
		                                 .tail = a.tail,
		                                 .follow = a.follow,
		                                 .errors = a.errors,
		                                 .fold = a.fold || (!a.raw && !a.follow && isatty(STDOUT_FILENO))});
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_logs = {
        .name = "logs",
        .summary = "the output of a job",
        .usage = "wz logs [-f] [--tail N] [--task N] [--attempt N] [--errors] [--fold] JOB",
        .examples = "wz logs -f 17\n",
        .opts = opts,
        .fn = logs_fn,
        .more = "Bytes are as the job wrote them. On a terminal, without -f, lines that were written over are "
                "folded; --raw "
                "shows\n"
                "all.\n",
};
