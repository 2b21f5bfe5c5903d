/* SPDX-License-Identifier: Apache-2.0 */
/* `wz whatif`: for whom today's plan changes when a quota, the nodes or the policy do. */
#include "cli/daemon.h"
#include "cli/sim_run.h"
#include "cli/table.h"

#include <ctype.h>
#include <time.h>
#include <unistd.h>

struct args {
	struct wz_str socket, set, add, remove, drain;
	struct wz_str order, cluster, predict, restart; /* on a trace */
	struct wz_range seeds;
	bool json, all;
};
static const struct wz_opt opts[] = {
        {"set", 0, WZ_OPT_STRING, "queue.Q.KEY=VALUE", "a rule of a queue", offsetof(struct args, set), 0},
        {"add-nodes", 0, WZ_OPT_STRING, "COUNTxMODEL", "nodes like those that have the model",
                offsetof(struct args, add), 0},
        {"remove-node", 0, WZ_OPT_STRING, "NODE", "without this node", offsetof(struct args, remove), 0},
        {"drain", 0, WZ_OPT_STRING, "NODE", "this node takes no new work", offsetof(struct args, drain), 0},
        {"order", 0, WZ_OPT_STRING, "NAME", "on a trace: another order", offsetof(struct args, order), 0},
        {"cluster", 0, WZ_OPT_STRING, "NxG[:MODEL],...", "on a trace without nodes: the cluster",
                offsetof(struct args, cluster), 0},
        {"predict", 0, WZ_OPT_STRING, "WHAT", "on a trace: predictions, as of wz sim run",
                offsetof(struct args, predict), 0},
        {"restart-cost", 0, WZ_OPT_STRING, "SECONDS", "on a trace: of a restart", offsetof(struct args, restart),
                0},
        {"seeds", 0, WZ_OPT_RANGE, "A-B", "on a trace: seeds of noise and node order", offsetof(struct args, seeds),
                UINT32_MAX},
        {"all", 'a', WZ_OPT_FLAG, NULL, "also those for whom nothing changes", offsetof(struct args, all), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void add_edit(struct wz_buf *b, const char *key, struct wz_str value)
{
	if (!value.len)
		return;
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, key);
	wz_buf_add(b, value);
}

static void add_escaped(struct wz_buf *b, struct wz_str s)
{
	static const char hex[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c < 128 && (isalnum(c) || strchr("-._~", c))) {
			wz_buf_addc(b, (char)c);
		} else {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, hex[c >> 4]);
			wz_buf_addc(b, hex[c & 15]);
		}
	}
}

/* "14:05:10", with the date when it is not today; "not known" for 0. */
static const char *when(int64_t us, char room[40])
{
	time_t t = (time_t)(us / 1000000), now = time(NULL);
	struct tm tm, today;
	if (us == 0 || !localtime_r(&t, &tm) || !localtime_r(&now, &today))
		return "not known";
	bool same = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
	(void)strftime(room, 40, same ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
	return room;
}

static int64_t middle(const json_t *o, const char *from, const char *to, const char *latest)
{
	int64_t a = wz_daemon_int(o, from), b = wz_daemon_int(o, to);
	return a && b ? a + (b - a) / 2 : wz_daemon_int(o, latest);
}

static const char *says(int64_t now, int64_t then, bool gone)
{
	return gone           ? "gone"
	       : !now && then ? "can start"
	       : now && !then ? "cannot start"
	       : then < now   ? "earlier"
	       : then > now   ? "later"
	                      : "the same";
}

static void print(struct wz_cli *cli, const json_t *changes, bool all)
{
	unsigned shown = 0, same = 0;
	size_t i;
	const json_t *o;
	json_array_foreach(changes, i, o)
	{
		int64_t now = middle(o, "now_from_us", "now_to_us", "now_latest_us"),
		        then = middle(o, "then_from_us", "then_to_us", "then_latest_us");
		const char *word = says(now, then, json_is_true(json_object_get(o, "gone")));
		char a[40], b[40], line[400];
		if (strcmp(word, "the same") == 0 && !all) {
			same++;
			continue;
		}
		if (!shown++)
			wz_buf_addz(
			        &cli->out, "   JOB  USER          TODAY                THEN                 \n");
		(void)snprintf(line, sizeof line, "%6lld  %-12.12s  %-19s  %-19s  %s\n",
		        (long long)wz_daemon_int(o, "job"),
		        wz_daemon_text(o, "user").len ? wz_daemon_text(o, "user").ptr : "", when(now, a),
		        when(then, b), word);
		wz_buf_addz(&cli->out, line);
	}
	if (!shown)
		wz_buf_addz(&cli->out, "nothing changes for the jobs that wait");
	if (same) {
		wz_buf_addz(&cli->out, shown ? "\nfor " : " (");
		wz_buf_add_u64(&cli->out, same);
		wz_buf_addz(&cli->out, shown ? " more nothing changes" : " of them)");
	}
	if (!shown || same)
		wz_buf_addc(&cli->out, '\n');
}

static int whatif_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.seeds = {1, 1}};
	struct wz_daemon d;
	struct wz_buf edits, path;
	json_t *answer = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 1 && access(argv[0], F_OK) == 0)
		return wz_cli_whatif_trace(cli, v,
		        &(struct wz_whatif_ask){.trace = wz_str(argv[0]),
		                .cluster = a.cluster,
		                .order = a.order,
		                .add = a.add,
		                .set = a.set,
		                .predict = a.predict,
		                .restart = a.restart,
		                .seeds = a.seeds});
	wz_buf_init(&edits, cli->mem, 65536);
	wz_buf_init(&path, cli->mem, 1u << 20);
	add_edit(&edits, "", a.set);
	add_edit(&edits, "add-nodes=", a.add);
	add_edit(&edits, "remove-node=", a.remove);
	add_edit(&edits, "drain=", a.drain);
	for (int i = 0; i < n; i++)
		add_edit(&edits, "", wz_str(argv[i]));
	int rc = edits.len ? wz_daemon_open(&d, cli, a.socket) : wz_cli_usage(v, "what is to change?");
	if (edits.len && rc == 0) {
		wz_buf_addz(&path, "/v1/whatif?edit=");
		add_escaped(&path, (struct wz_str){edits.data + 1, edits.len - 1});
		rc = wz_daemon_get(&d, wz_buf_z(&path), a.json, &answer);
		if (rc == 0 && !a.json)
			print(cli, json_object_get(answer, "changes"), a.all);
		json_decref(answer);
		wz_daemon_close(&d);
	}
	wz_buf_release(&edits);
	wz_buf_release(&path);
	return rc;
}

const struct wz_verb wz_verb_whatif = {
        .name = "whatif",
        .summary = "for whom today's plan changes when the cluster does",
        .usage = "wz whatif [--set queue.Q.KEY=VALUE] [--add-nodes COUNTxMODEL] [--remove-node NODE] [--drain "
                 "NODE] [EDIT...]",
        .examples = "wz whatif trace.wz --add-nodes 4xH100\n"
                    "wz whatif --add-nodes 2xA100-SXM4-80GB\n"
                    "wz whatif --set queue.vision.limit=gpu:32 cancel=17\n",
        .opts = opts,
        .fn = whatif_fn,
        .more = "The daemon plans the first 256 waiting jobs twice on copies of its state, as it is and edited; "
                "nothing\n"
                "changes. Work that has not arrived is in neither plan. EDIT is one of queue.Q.KEY=VALUE,\n"
                "add-nodes=COUNTxMODEL, remove-node=NODE, drain=NODE, cancel=JOB, policy=NAME.\n",
};
