/* SPDX-License-Identifier: Apache-2.0 */
/* `wz why`: why a job does not start now. */
#include "cli/daemon.h"

#include <time.h>

struct args {
	struct wz_str socket;
	bool json;
};
static const struct wz_opt opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void put_time(struct wz_buf *b, int64_t us)
{
	char text[32] = "-";
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	if (localtime_r(&s, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm);
	wz_buf_addz(b, text);
}

static void print_starts(struct wz_buf *b, const json_t *j)
{
	int64_t from = wz_daemon_int(j, "earliest_start_us"), to = wz_daemon_int(j, "expected_start_us"),
	        latest = wz_daemon_int(j, "latest_start_us");
	if (wz_daemon_int(j, "position") > 1) {
		wz_buf_addz(b, "  ahead of it in its queue: ");
		wz_buf_add_i64(b, wz_daemon_int(j, "position") - 1);
		wz_buf_addc(b, '\n');
	}
	if (from && to) {
		wz_buf_addz(b, "  likely start (80 %): ");
		put_time(b, from);
		wz_buf_addz(b, " to ");
		put_time(b, to);
		wz_buf_addc(b, '\n');
	}
	if (latest) {
		wz_buf_addz(b, "  latest by time limits: ");
		put_time(b, latest);
		wz_buf_addc(b, '\n');
	}
}

static void print(struct wz_buf *b, const json_t *j)
{
	const json_t *x;
	size_t i;
	wz_buf_addz(b, "job ");
	wz_buf_add_u64(b, (uint64_t)wz_daemon_int(j, "job"));
	wz_buf_addz(b, " is ");
	wz_buf_add(b, wz_daemon_text(j, "state"));
	wz_buf_addz(b, ": ");
	wz_buf_add(b, wz_daemon_text(j, "text"));
	wz_buf_addc(b, '\n');
	json_array_foreach(json_object_get(j, "blockers"), i, x)
	{
		wz_buf_addz(b, "  ");
		if (wz_daemon_int(x, "nodes")) {
			wz_buf_add_u64(b, (uint64_t)wz_daemon_int(x, "nodes"));
			wz_buf_addz(b, wz_daemon_int(x, "nodes") == 1 ? " node: " : " nodes: ");
		}
		wz_buf_add(b, wz_daemon_text(x, "text"));
		wz_buf_addz(b, " (");
		wz_buf_add(b, wz_daemon_text(x, "reason"));
		wz_buf_addz(b, ")\n");
	}
	print_starts(b, j);
	const json_t *remedies = json_object_get(j, "remedies");
	if (json_array_size(remedies))
		wz_buf_addz(b, "  it would start now with one of:\n");
	json_array_foreach(remedies, i, x)
	{
		wz_buf_addz(b, "    ");
		wz_buf_add(b, wz_daemon_text(x, "change"));
		wz_buf_addc(b, '\n');
	}
}

static int why_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	json_t *j = NULL;
	char path[64];
	uint64_t job;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one job number is expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_job(&d, v, argv[0], &job);
	if (code == 0)
		(void)snprintf(path, sizeof path, "/v1/jobs/%llu/why", (unsigned long long)job);
	if (code == 0)
		code = wz_daemon_get(&d, path, a.json, &j);
	if (code == 0 && j)
		print(&cli->out, j);
	json_decref(j);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_why = {
        .name = "why",
        .summary = "why a job does not start",
        .usage = "wz why [--json] JOB",
        .examples = "wz why 17\n",
        .opts = opts,
        .fn = why_fn,
        .reads = true,
};
