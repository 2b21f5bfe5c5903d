/* SPDX-License-Identifier: Apache-2.0 */
/* `wz dashboard`: a one-time link that logs a browser in as who runs this, and the browser itself where there is one. */
#include "cli/daemon.h"

#include <stdlib.h>
#include <unistd.h>

struct args {
	struct wz_str socket;
	bool print;
};
static const struct wz_opt opts[] = {
        WZ_DAEMON_OPT(struct args),
        {"print", 0, WZ_OPT_FLAG, NULL, "only print the link; start no browser", offsetof(struct args, print), 0},
        WZ_OPT_END,
};

static int no_address(void)
{
	struct wz_err err;
	(void)wz_err_set(&err, -ENOTCONN, "NoListener",
	        WZ_STR("the daemon listens at its socket alone; add to its configuration\n"
	               "    listen: [{address: \"127.0.0.1:8765\"}]\n"
	               "and restart it (wz serve --listen 127.0.0.1:8765 does the same by hand)"));
	return wz_cli_fail(&err);
}

/* The address that a browser of this machine reaches. */
static struct wz_str address_of(const json_t *info)
{
	const json_t *urls = json_object_get(info, "urls"), *u;
	size_t i;
	json_array_foreach(urls, i, u) return wz_str(json_string_value(u));
	return (struct wz_str){NULL, 0};
}

static void browse(const char *link)
{
	if (!isatty(STDOUT_FILENO) || (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")))
		return;
	pid_t p = fork();
	if (p == 0) {
		(void)execlp("xdg-open", "xdg-open", link, (char *)NULL);
		_exit(127);
	}
}

static int dashboard_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.print = false};
	struct wz_daemon d;
	struct wz_buf answer;
	json_t *info = NULL, *link = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	wz_buf_init(&answer, cli->mem, 1u << 20);
	int rc = wz_daemon_open(&d, cli, a.socket);
	if (rc == 0)
		rc = wz_daemon_get(&d, "/v1/info", false, &info);
	if (rc == 0 && !address_of(info).len)
		rc = no_address();
	if (rc == 0)
		rc = wz_daemon_call(&d, "POST", "/v1/session-links", WZ_STR("{}"), NULL, &answer);
	if (rc == 0 && (link = json_loadb(answer.data, answer.len, 0, NULL))) {
		wz_buf_clear(&answer);
		wz_buf_add(&answer, address_of(info));
		wz_buf_add(&answer, wz_daemon_text(link, "path"));
		wz_buf_add(&cli->out, wz_buf_str(&answer));
		wz_buf_addc(&cli->out, '\n');
		const char *z = wz_buf_z(&answer);
		if (z && !a.print)
			browse(z);
	}
	json_decref(link);
	json_decref(info);
	wz_buf_release(&answer);
	wz_daemon_close(&d);
	return rc;
}

const struct wz_verb wz_verb_dashboard = {
        .name = "dashboard",
        .summary = "open the dashboard: a link that logs this browser in, once",
        .usage = "wz dashboard [--print]",
        .examples = "wz dashboard\nwz dashboard --print\n",
        .opts = opts,
        .fn = dashboard_fn,
        .more = "The link works once, for five minutes; the browser then stays logged in for twelve hours.\n",
};
