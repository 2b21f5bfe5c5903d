/* SPDX-License-Identifier: Apache-2.0 */
/* `wz doctor`: checks the state directory, beside a running daemon or without one: the journal's sums, the replay with every
 * digest, the tables against a rebuild. */
#include "cli/daemon.h"

#include "store/store.h"

struct args {
	struct wz_str state;
};
static const struct wz_opt opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "of the daemon ($XDG_STATE_HOME/whalezen)", offsetof(struct args, state),
                0},
        WZ_OPT_END,
};

static int doctor_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.state = {NULL, 0}};
	struct wz_store *s = NULL;
	struct wz_err err;
	char dir[WZ_DAEMON_PATH_MAX];
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int rc = wz_daemon_state(a.state, dir, &err);
	struct wz_store_options o = {.dir = dir, .version = wz_version, .read_only = true};
	if (rc == 0)
		rc = wz_store_open(&o, &s, &err);
	if (rc == 0)
		rc = wz_store_check(s, cli->mem, &cli->out, &err);
	wz_store_close(s);
	if (rc < 0)
		return wz_cli_fail(&err);
	if (rc == 0)
		return WZ_EXIT_OK;
	(void)fwrite(cli->out.data, 1, cli->out.len, stderr); /* what is bad goes where errors go */
	return WZ_EXIT_FAILED;
}

const struct wz_verb wz_verb_doctor = {
        .name = "doctor",
        .summary = "check the daemon's journal and tables",
        .usage = "wz doctor [--state DIR]",
        .examples = "wz doctor\n",
        .opts = opts,
        .fn = doctor_fn,
};
