/* SPDX-License-Identifier: Apache-2.0 */
/* `wz ps` and `wz show`: jobs as a table, one job in full. */
#include "cli/daemon.h"

#include "base/quant.h"
#include "cli/lang.h"
#include "cli/table.h"
#include "os/clock.h"

#define LIMIT 1000u /* more is for programs */

struct args {
	struct wz_str socket, user, state, name, label;
	uint64_t limit;
	bool all, json, tasks;
};

static const struct wz_opt opts[] = {
        {"all", 'a', WZ_OPT_FLAG, NULL, "ended jobs too", offsetof(struct args, all), 0},
        {"user", 'u', WZ_OPT_STRING, "NAME", "of this user", offsetof(struct args, user), 0},
        {"state", 's', WZ_OPT_STRING, "WORD,...", "RUNNING, PENDING, FAILED, waiting, active, ended, ...",
                offsetof(struct args, state), 0},
        {"limit", 'n', WZ_OPT_U64, "N", "at most so many, and all that run; 0: no limit (1000; with --json none)",
                offsetof(struct args, limit), 1000000},
        {"name", 0, WZ_OPT_STRING, "NAME", "of this name", offsetof(struct args, name), 0},
        {"label", 'l', WZ_OPT_STRING, "NAME[=VALUE]", "with this label", offsetof(struct args, label), 0},
        {"tasks", 0, WZ_OPT_FLAG, NULL, "each task of an array by itself", offsetof(struct args, tasks), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void age(struct wz_table *t, const json_t *j)
{
	int64_t now = wz_clock_wall_us(), start = wz_daemon_int(j, "start_us"), end = wz_daemon_int(j, "end_us");
	int64_t from = start ? start : wz_daemon_int(j, "submit_us"), us = (end ? end : now) - from;
	char text[64];
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_duration_format(&b, us > 0 ? (uint64_t)us / 1000000 * 1000000 : 0);
	wz_table_add(t, wz_buf_str(&b));
}

/* 17; of an array 17_3, and 17_[4-99] for those that wait */
static void number(struct wz_table *t, const json_t *j)
{
	char text[64];
	struct wz_buf b;
	struct wz_str all = wz_daemon_text(j, "array_indices");
	int64_t array = wz_daemon_int(j, "array");
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_add_i64(&b, array ? array : wz_daemon_int(j, "id"));
	if (array && all.len) {
		wz_buf_addz(&b, "_[");
		wz_buf_add(&b, all.len > 24 ? (struct wz_str){all.ptr, 24} : all);
		wz_buf_addz(&b, all.len > 24 ? "...]" : "]");
	} else if (array) {
		wz_buf_addc(&b, '_');
		wz_buf_add_i64(&b, wz_daemon_int(j, "array_index"));
	}
	wz_table_add(t, wz_buf_str(&b));
}

static void row(struct wz_table *t, const json_t *j)
{
	struct wz_str reason = wz_daemon_text(j, "reason"), text = wz_daemon_text(j, "reason_text");
	struct wz_num n;
	number(t, j);
	wz_table_add(t, wz_daemon_text(j, "name"));
	wz_table_add(t, wz_daemon_text(j, "user"));
	wz_table_add(t, wz_daemon_text(j, "state"));
	age(t, j);
	wz_table_add(t, wz_str_i64(&n, wz_daemon_int(j, "priority")));
	wz_table_add(t, wz_daemon_text(j, "profile"));
	wz_table_add(t, text.len ? text : reason);
}

/* Rows of one page; its cursor, 0 at the end. */
static int page(struct wz_daemon *d, struct wz_buf *path, bool raw, struct wz_table *t, uint64_t *ret_next)
{
	json_t *root = NULL, *j;
	size_t i;
	*ret_next = 0;
	int code = wz_daemon_get(d, wz_buf_z(path), raw, &root);
	json_array_foreach(json_object_get(root, "jobs"), i, j) row(t, j);
	if (root)
		*ret_next = (uint64_t)wz_daemon_int(root, "next");
	json_decref(root);
	return code;
}

/* The first page; where it does not hold all, what runs beyond it too, since that is what people look for. */
static int pages(struct wz_daemon *d, const struct args *a, uint64_t limit, struct wz_table *t, bool *ret_more)
{
	struct wz_buf path;
	uint64_t next;
	wz_buf_init(&path, d->cli->mem, 65536);
	wz_buf_addz(&path, a->all ? "/v1/jobs?all=true" : "/v1/jobs?all=false");
	if (limit) {
		wz_buf_addz(&path, "&limit=");
		wz_buf_add_u64(&path, limit);
	}
	wz_daemon_query(&path, "user", a->user);
	wz_daemon_query(&path, "state", a->state);
	wz_daemon_query(&path, "name", a->name);
	wz_daemon_query(&path, "label", a->label);
	if (!a->tasks && !a->json)
		wz_buf_addz(&path, "&collapse=true");
	int code = page(d, &path, a->json, t, &next);
	*ret_more = next != 0;
	if (code == 0 && next && !a->state.len && !a->json) {
		wz_buf_clear(&path);
		wz_buf_addz(&path, "/v1/jobs?state=active&after=");
		wz_buf_add_u64(&path, next);
		wz_daemon_query(&path, "user", a->user);
		wz_daemon_query(&path, "name", a->name);
		wz_daemon_query(&path, "label", a->label);
		code = page(d, &path, false, t, &next);
	}
	wz_buf_release(&path);
	return code;
}

static int ps_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	static const char *const head[] = {"JOB", "NAME", "USER", "STATE", "TIME", "PRIO", "PROFILE", "REASON"};
	struct args a = {.limit = UINT64_MAX};
	struct wz_daemon d;
	struct wz_table t;
	bool more = false;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "wz ps takes no operands; one job: wz show ID");
	uint64_t limit = a.limit != UINT64_MAX ? a.limit : a.json ? 0 : LIMIT;
	wz_table_init(&t, cli->mem, 8, 1u << 0 | 1u << 4 | 1u << 5);
	for (unsigned i = 0; i < 8; i++)
		wz_table_addz(&t, head[i]);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = pages(&d, &a, limit, &t, &more);
	if (code == 0 && !a.json)
		wz_table_print(&t, &cli->out);
	if (code == 0 && more && !a.json)
		wz_cli_warn(WZ_STR("there are more; --limit 0 shows all"));
	wz_table_release(&t);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_ps = {
        .name = "ps",
        .summary = "jobs that wait or run",
        .usage = "wz ps [--all] [--limit N] [--user NAME] [--state WORD,...] [--json]",
        .examples = "wz ps\nwz ps --all --json\n",
        .opts = opts,
        .fn = ps_fn,
        .reads = true,
};

/* ---- one job ---- */

struct show_args {
	struct wz_str socket;
	bool json;
};
static const struct wz_opt show_opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct show_args, json), 0},
        WZ_DAEMON_OPT(struct show_args),
        WZ_OPT_END,
};

static void line(struct wz_buf *b, const char *name, const json_t *v)
{
	char *text;
	if (!v)
		return;
	struct wz_str label = wz_tr(wz_str(name));
	wz_buf_add(b, label);
	for (size_t w = wz_table_width_of(label); w < 16; w++)
		wz_buf_addc(b, ' ');
	if (json_is_string(v)) {
		struct wz_str s = {json_string_value(v), json_string_length(v)};
		wz_buf_add(b, strcmp(name, "state") == 0 || strcmp(name, "reason_text") == 0 ? wz_tr(s) : s);
	} else if ((text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT))) {
		wz_buf_addz(b, text);
		free(text);
	}
	wz_buf_addc(b, '\n');
}

/* Earlier attempts, one a line: how each ended. */
static int attempts(struct wz_daemon *d, uint64_t job, struct wz_buf *out)
{
	char path[64];
	json_t *root = NULL, *a;
	size_t i;
	(void)snprintf(path, sizeof path, "/v1/jobs/%llu/attempts", (unsigned long long)job);
	int code = wz_daemon_get(d, path, false, &root);
	json_array_foreach(json_object_get(root, "attempts"), i, a)
	{
		const json_t *task = json_array_get(json_object_get(a, "tasks"), 0);
		int64_t start = wz_daemon_int(a, "start_us"), end = wz_daemon_int(a, "end_us");
		struct wz_str node = wz_daemon_text(task, "node");
		if (!end)
			continue;
		wz_buf_addz(out, "attempt ");
		wz_buf_add_i64(out, wz_daemon_int(a, "attempt"));
		wz_buf_addz(out, "  ");
		wz_buf_add(out, wz_tr(wz_daemon_text(a, "state")));
		wz_buf_addz(out, "  ");
		wz_buf_add(out, node);
		if (start) {
			wz_buf_addz(out, "  ");
			wz_duration_format(out, (uint64_t)(end - start) / 1000000 * 1000000);
		}
		wz_buf_addc(out, '\n');
	}
	json_decref(root);
	return code;
}

static int show_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	static const char *const plain[] = {"id", "name", "user", "state", "reason", "reason_text", "priority",
	        "profile", "queue", "array", "array_index", "params", "labels", "after", "attempt", "restarts",
	        "retries", "progress_milli", "exit_code", "exit_signal", "argv", "cwd", "comment"};
	static const char *const of_task[] = {"state", "node", "devices", "pid", "exit_code", "exit_signal"};
	struct show_args a = {.json = false};
	struct wz_daemon d;
	json_t *j = NULL, *t;
	char path[64];
	uint64_t job;
	size_t i, k;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one job number is expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_job(&d, v, argv[0], &job);
	if (code == 0)
		(void)snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)job);
	if (code == 0)
		code = wz_daemon_get(&d, path, a.json, &j);
	if (code == 0 && j) {
		for (i = 0; i < sizeof plain / sizeof plain[0]; i++)
			line(&cli->out, plain[i], json_object_get(j, plain[i]));
		json_array_foreach(json_object_get(j, "tasks"), k, t)
		{
			wz_buf_addz(&cli->out, "task ");
			wz_buf_add_u64(&cli->out, (uint64_t)wz_daemon_int(t, "task"));
			wz_buf_addc(&cli->out, '\n');
			for (i = 0; i < sizeof of_task / sizeof of_task[0]; i++) {
				if (!json_object_get(t, of_task[i]))
					continue;
				wz_buf_addz(&cli->out, "  ");
				line(&cli->out, of_task[i], json_object_get(t, of_task[i]));
			}
		}
		if (wz_daemon_int(j, "attempt") > 1)
			code = attempts(&d, job, &cli->out);
		json_decref(j);
	}
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_show = {
        .name = "show",
        .summary = "all about one job",
        .usage = "wz show [--json] JOB",
        .examples = "wz show 17\n",
        .opts = show_opts,
        .fn = show_fn,
        .reads = true,
};
