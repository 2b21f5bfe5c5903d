/* SPDX-License-Identifier: Apache-2.0 */
/* `wz report` and `wz history`: what was used, and what has ended. */
#include "cli/daemon.h"

#include "base/quant.h"
#include "cli/table.h"
#include "os/clock.h"

#include <time.h>

static const uint64_t week_us = 7ull * 86400 * 1000000;

static void seconds(struct wz_table *t, int64_t us)
{
	char text[64];
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_duration_format(&b, us > 0 ? (uint64_t)us / 1000000 * 1000000 : 0);
	wz_table_add(t, wz_buf_str(&b));
}

static void when(struct wz_table *t, int64_t us)
{
	char text[32];
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	wz_table_addz(t,
	        us && localtime_r(&s, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) ? text : "-");
}

/* ---- report ---- */

struct report_args {
	struct wz_str socket, by, user, queue;
	uint64_t last_us;
	bool json, csv;
};
static const struct wz_opt report_opts[] = {
        {"by", 'b', WZ_OPT_STRING, "WHAT", "user (default), queue, state, model or day",
                offsetof(struct report_args, by), 0},
        {"last", 'l', WZ_OPT_DURATION, "TIME", "the window that ends now (7d)",
                offsetof(struct report_args, last_us), 0},
        {"user", 'u', WZ_OPT_STRING, "NAME", "of this user", offsetof(struct report_args, user), 0},
        {"queue", 'q', WZ_OPT_STRING, "NAME", "of this queue", offsetof(struct report_args, queue), 0},
        {"csv", 0, WZ_OPT_FLAG, NULL, "comma-separated, times in seconds", offsetof(struct report_args, csv), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct report_args, json), 0},
        WZ_DAEMON_OPT(struct report_args),
        WZ_OPT_END,
};

static void hours(struct wz_table *t, int64_t us)
{
	wz_table_add_fixed(t, us / 36000000, 2);
}

static void report_table(struct wz_cli *cli, const json_t *list, const char *by)
{
	static const char *const head[] = {"", "JOBS", "COMPLETED", "FAILED", "CANCELLED", "GPU HOURS", "USEFUL %",
	        "CPU HOURS", "WAIT P50", "WAIT P95"};
	struct wz_table t;
	json_t *j;
	size_t i;
	char name[16];
	(void)snprintf(name, sizeof name, "%s", by);
	for (char *p = name; *p; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	wz_table_init(&t, cli->mem, 10, 0x3fe);
	wz_table_addz(&t, name);
	for (i = 1; i < 10; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(list, i, j)
	{
		int64_t held = wz_daemon_int(j, "device_us"), good = wz_daemon_int(j, "completed_device_us");
		wz_table_add(&t, wz_daemon_text(j, "key"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "jobs"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "completed"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "failed"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(j, "cancelled"));
		hours(&t, held);
		if (held)
			wz_table_add_fixed(&t, good / (held / 1000 + 1), 1);
		else
			wz_table_addz(&t, "-");
		hours(&t, wz_daemon_int(j, "cpu_us"));
		seconds(&t, wz_daemon_int(j, "wait_p50_us"));
		seconds(&t, wz_daemon_int(j, "wait_p95_us"));
	}
	wz_table_print(&t, &cli->out);
	wz_table_release(&t);
}

static void csv_text(struct wz_buf *b, struct wz_str s)
{
	bool quote = false;
	for (size_t i = 0; i < s.len; i++)
		quote |= s.ptr[i] == ',' || s.ptr[i] == '"' || s.ptr[i] == '\n' || s.ptr[i] == '\r';
	if (quote)
		wz_buf_addc(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			wz_buf_addc(b, '"');
		wz_buf_addc(b, s.ptr[i]);
	}
	if (quote)
		wz_buf_addc(b, '"');
}

static void report_csv(struct wz_cli *cli, const json_t *list, const char *by)
{
	static const struct {
		const char *key, *name;
		bool time;
	} columns[] = {{"jobs", "jobs", false}, {"completed", "completed", false}, {"failed", "failed", false},
	        {"cancelled", "cancelled", false}, {"device_us", "gpu_s", true},
	        {"completed_device_us", "completed_gpu_s", true}, {"cpu_us", "cpu_s", true},
	        {"wait_p50_us", "wait_p50_s", true}, {"wait_p95_us", "wait_p95_s", true}};
	json_t *j;
	size_t i;
	wz_buf_addz(&cli->out, by);
	for (i = 0; i < sizeof columns / sizeof columns[0]; i++) {
		wz_buf_addc(&cli->out, ',');
		wz_buf_addz(&cli->out, columns[i].name);
	}
	wz_buf_addc(&cli->out, '\n');
	size_t k;
	json_array_foreach(list, k, j)
	{
		csv_text(&cli->out, wz_daemon_text(j, "key"));
		for (i = 0; i < sizeof columns / sizeof columns[0]; i++) {
			wz_buf_addc(&cli->out, ',');
			wz_buf_add_i64(
			        &cli->out, wz_daemon_int(j, columns[i].key) / (columns[i].time ? 1000000 : 1));
		}
		wz_buf_addc(&cli->out, '\n');
	}
}

static int report_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct report_args a = {.last_us = week_us};
	struct wz_daemon d;
	struct wz_buf path;
	json_t *root = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int64_t since = wz_clock_wall_us() - (int64_t)a.last_us;
	wz_buf_init(&path, cli->mem, 65536);
	wz_buf_addz(&path, "/v1/usage?since_us=");
	wz_buf_add_i64(&path, since > 0 ? since : 0);
	wz_daemon_query(&path, "by", a.by.len ? a.by : WZ_STR("user"));
	wz_daemon_query(&path, "user", a.user);
	wz_daemon_query(&path, "queue", a.queue);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, wz_buf_z(&path), a.json, &root);
	if (code == 0 && root)
		(a.csv ? report_csv : report_table)(
		        cli, json_object_get(root, "usage"), a.by.len ? a.by.ptr : "user");
	json_decref(root);
	wz_buf_release(&path);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_report = {
        .name = "report",
        .summary = "device hours, waits and ends, by user, queue, state, model or day",
        .usage = "wz report [--by WHAT] [--last TIME] [--user NAME] [--queue NAME] [--csv|--json]",
        .examples = "wz report --last 30d\nwz report --by day --csv >usage.csv\n",
        .opts = report_opts,
        .fn = report_fn,
        .reads = true,
        .more = "A job counts where it ended in the window; device time counts as far as it lies in it. USEFUL is "
                "the part "
                "of\n"
                "the device time that jobs had which completed.\n",
};

/* ---- history ---- */

struct history_args {
	struct wz_str socket, user, queue, state, name, node;
	uint64_t last_us, limit;
	bool json;
};
static const struct wz_opt history_opts[] = {
        {"last", 'l', WZ_OPT_DURATION, "TIME", "ended within this time (7d)",
                offsetof(struct history_args, last_us), 0},
        {"user", 'u', WZ_OPT_STRING, "NAME", "of this user", offsetof(struct history_args, user), 0},
        {"queue", 'q', WZ_OPT_STRING, "NAME", "of this queue", offsetof(struct history_args, queue), 0},
        {"state", 's', WZ_OPT_STRING, "WORD,...", "COMPLETED, FAILED, OOM, TIMEOUT, ...",
                offsetof(struct history_args, state), 0},
        {"name", 0, WZ_OPT_STRING, "NAME", "of this name", offsetof(struct history_args, name), 0},
        {"node", 0, WZ_OPT_STRING, "NODE", "with a task that ran on this node", offsetof(struct history_args, node),
                0},
        {"limit", 'n', WZ_OPT_U64, "N", "the last N (50)", offsetof(struct history_args, limit), 100000},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct history_args, json), 0},
        WZ_DAEMON_OPT(struct history_args),
        WZ_OPT_END,
};

static void history_row(struct wz_table *t, const json_t *j)
{
	int64_t submit = wz_daemon_int(j, "submit_us"), start = wz_daemon_int(j, "start_us"),
	        end = wz_daemon_int(j, "end_us"), signo = wz_daemon_int(j, "exit_signal");
	struct wz_num n;
	char code[32];
	wz_table_add_u64(t, (uint64_t)wz_daemon_int(j, "id"));
	wz_table_add(t, wz_daemon_text(j, "name"));
	wz_table_add(t, wz_daemon_text(j, "user"));
	wz_table_add(t, wz_daemon_text(j, "state"));
	when(t, end);
	seconds(t, (start ? start : end) - submit);
	seconds(t, start ? end - start : 0);
	(void)snprintf(code, sizeof code, "%s%lld", signo ? "signal " : "",
	        (long long)(signo ? signo : wz_daemon_int(j, "exit_code")));
	wz_table_addz(t, code);
	wz_table_add(t, wz_str_i64(&n, wz_daemon_int(j, "attempt")));
	wz_table_add(t, wz_daemon_text(j, "reason_text"));
}

static int history_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	static const char *const head[] = {
	        "JOB", "NAME", "USER", "STATE", "ENDED", "WAITED", "RAN", "EXIT", "ATTEMPT", "REASON"};
	struct history_args a = {.last_us = week_us, .limit = 50};
	struct wz_daemon d;
	struct wz_buf path;
	json_t *root = NULL, *j;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int64_t since = wz_clock_wall_us() - (int64_t)a.last_us;
	wz_buf_init(&path, cli->mem, 65536);
	wz_buf_addz(&path, "/v1/jobs?all=true&since_us=");
	wz_buf_add_i64(&path, since > 0 ? since : 1);
	wz_buf_addz(&path, "&newest=true&limit=");
	wz_buf_add_u64(&path, a.limit);
	wz_daemon_query(&path, "state", a.state.len ? a.state : WZ_STR("ended"));
	wz_daemon_query(&path, "user", a.user);
	wz_daemon_query(&path, "queue", a.queue);
	wz_daemon_query(&path, "name", a.name);
	wz_daemon_query(&path, "node", a.node);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, wz_buf_z(&path), a.json, &root);
	if (code == 0 && root) {
		struct wz_table t;
		json_t *list = json_object_get(root, "jobs");
		wz_table_init(&t, cli->mem, 10, 0x1e1);
		for (size_t i = 0; i < 10; i++)
			wz_table_addz(&t, head[i]);
		for (size_t i = json_array_size(list); i-- > 0;) /* the newest came first; a person reads it last */
			if ((j = json_array_get(list, i)))
				history_row(&t, j);
		wz_table_print(&t, &cli->out);
		wz_table_release(&t);
	}
	json_decref(root);
	wz_buf_release(&path);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_history = {
        .name = "history",
        .summary = "jobs that have ended",
        .usage = "wz history [--last TIME] [--user NAME] [--state WORD,...] [--node NODE] [--limit N] [--json]",
        .examples = "wz history\nwz history --state OOM,TIMEOUT --last 30d\n",
        .opts = history_opts,
        .fn = history_fn,
        .reads = true,
};
