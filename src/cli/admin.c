/* SPDX-License-Identifier: Apache-2.0 */
/* `wz reload` and `wz audit`: what an operator asks of a running daemon. */
#include "cli/daemon.h"

#include "cli/table.h"
#include "os/clock.h"

struct reload_args {
	struct wz_str socket;
	bool json;
};
static const struct wz_opt reload_opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct reload_args, json), 0},
        WZ_DAEMON_OPT(struct reload_args),
        WZ_OPT_END,
};

static void list(struct wz_buf *b, const char *head, const json_t *words)
{
	json_t *w;
	size_t i;
	if (!json_array_size(words))
		return;
	wz_buf_addz(b, head);
	json_array_foreach(words, i, w)
	{
		wz_buf_addc(b, ' ');
		wz_buf_addz(b, json_string_value(w));
	}
	wz_buf_addc(b, '\n');
}

static int reload_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct reload_args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf body;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0 &&
	        (code = wz_daemon_call(&d, "POST", "/v1/reload", (struct wz_str){NULL, 0}, NULL, &body)) == 0) {
		if (a.json) {
			wz_buf_add(&cli->out, wz_buf_str(&body));
		} else {
			json_t *root = json_loadb(body.data ? body.data : "", body.len, 0, NULL);
			list(&cli->out, "changed:", json_object_get(root, "changed"));
			list(&cli->out, "needs a restart:", json_object_get(root, "restart"));
			if (!cli->out.len)
				wz_buf_addz(&cli->out, "nothing changed\n");
			json_decref(root);
		}
		wz_buf_release(&body);
	}
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_reload = {
        .name = "reload",
        .summary = "let the daemon read its configuration, tokens and certificates again",
        .usage = "wz reload [--json]",
        .examples = "wz reload\n",
        .opts = reload_opts,
        .fn = reload_fn,
        .more = "A configuration with a mistake changes nothing. Says what took effect, and what needs a "
                "restart.\n",
};

/* ---- audit ---- */

struct audit_args {
	struct wz_str socket;
	uint64_t since, limit;
	bool json;
};
static const struct wz_opt audit_opts[] = {
        {"since", 0, WZ_OPT_DURATION, "TIME", "of the last so long: 1h, 7d (1d)",
                offsetof(struct audit_args, since), 0},
        {"limit", 'n', WZ_OPT_U64, "N", "at most so many lines, the oldest first (1000)",
                offsetof(struct audit_args, limit), 100000},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct audit_args, json), 0},
        WZ_DAEMON_OPT(struct audit_args),
        WZ_OPT_END,
};

static void when(struct wz_table *t, int64_t us)
{
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	char text[64];
	text[0] = 0;
	if (localtime_r(&s, &tm))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
	wz_table_addz(t, text);
}

static int audit_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	static const char *const head[] = {"TIME", "USER", "WHAT", "OF", "OUTCOME", "FROM"};
	struct audit_args a = {.since = (uint64_t)86400 * 1000000};
	struct wz_daemon d;
	json_t *root = NULL, *j;
	char path[120];
	size_t i;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int64_t from = wz_clock_wall_us() - (int64_t)a.since;
	(void)snprintf(path, sizeof path, "/v1/audit?since_us=%lld&limit=%llu", (long long)(from > 0 ? from : 0),
	        (unsigned long long)a.limit);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, path, a.json, &root);
	if (code == 0 && root) {
		struct wz_table t;
		wz_table_init(&t, cli->mem, 6, 0);
		for (i = 0; i < 6; i++)
			wz_table_addz(&t, head[i]);
		json_array_foreach(json_object_get(root, "audit"), i, j)
		{
			when(&t, wz_daemon_int(j, "time_us"));
			wz_table_add(&t, wz_daemon_text(j, "user"));
			wz_table_add(&t, wz_daemon_text(j, "verb"));
			wz_table_add(&t, wz_daemon_text(j, "target"));
			wz_table_add(&t, wz_daemon_text(j, "outcome"));
			wz_table_add(&t, wz_daemon_text(j, "from"));
		}
		wz_table_print(&t, &cli->out);
		wz_table_release(&t);
	}
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_audit = {
        .name = "audit",
        .summary = "who changed what, when and from where, and who was refused",
        .usage = "wz audit [--since TIME] [--limit N] [--json]",
        .examples = "wz audit --since 7d\n",
        .opts = audit_opts,
        .fn = audit_fn,
        .reads = true,
};
