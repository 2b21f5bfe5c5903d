/* SPDX-License-Identifier: Apache-2.0 */
/* `wz run`: submit, show the output as it comes, and end as the job did. */
#include "cli/submit.h"

#include <unistd.h>

int wz_daemon_code(const json_t *j)
{
	int64_t code = wz_daemon_int(j, "exit_code"), signo = wz_daemon_int(j, "exit_signal");
	struct wz_str state = wz_daemon_text(j, "state"), text = wz_daemon_text(j, "reason_text");
	if (!wz_str_eq(state, WZ_STR("COMPLETED")) && !wz_str_eq(state, WZ_STR("FAILED")))
		(void)fprintf(stderr, "wz: the job ended: %.*s%s%.*s\n", (int)state.len, state.ptr,
		        text.len ? ", " : "", (int)text.len, text.len ? text.ptr : "");
	if (wz_str_eq(state, WZ_STR("COMPLETED")))
		return 0;
	if (signo > 0)
		return 128 + (int)signo;
	return code > 0 ? (int)code : WZ_EXIT_INTERNAL; /* it never ran, or nobody knows how it ended */
}

int wz_job_follow(struct wz_daemon *d, uint64_t job)
{
	json_t *j = NULL;
	int code = wz_daemon_log(d, &(struct wz_daemon_log){.job = job, .follow = true});
	if (code == 0)
		code = wz_daemon_wait(d, job, &j);
	code = code ? WZ_EXIT_INTERNAL : wz_daemon_code(j);
	json_decref(j);
	return code;
}

static int run_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wz_submit_args a = {.json = false};
	struct wz_daemon d;
	struct wz_submitted s;
	int n = wz_submit_parse(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (a.wait || a.dry_run || a.json)
		return wz_cli_usage(v, "--wait, --dry-run and --json are for wz submit");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0 && (code = wz_submit(&d, v, &a, n, argv, &s)) == 0) {
		bool one = s.count == 1 && json_array_size(s.answers) == 1;
		json_decref(s.answers);
		code = one ? wz_job_follow(&d, s.job)
		           : wz_cli_usage(v, "it is submitted; wz run shows one job: use wz wait and wz logs");
	} else if (code && code != WZ_EXIT_USAGE) {
		code = WZ_EXIT_INTERNAL;
	}
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_run = {
        .name = "run",
        .summary = "submit, follow the output, and exit with the job's code",
        .usage = "wz run [options of wz submit] -- COMMAND [ARGUMENT...]",
        .examples = "wz run --gpus 1 -- nvidia-smi\n",
        .opts = wz_submit_opts,
        .fn = run_fn,
        .more = "Exit code: that of the command; 128 + N when signal N ended it; 125 when it never ran or we "
                "failed.\n"
                "Interrupting leaves the job in the queue; wz cancel ends it.\n",
};
