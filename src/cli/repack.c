/* SPDX-License-Identifier: Apache-2.0 */
/* `wz repack`: which moves would let work start that waits; with --apply they are made. */
#include "cli/daemon.h"

#include "base/json.h"
#include "cli/table.h"

struct args {
	struct wz_str socket;
	uint64_t moves;
	bool json, apply;
};
static const struct wz_opt opts[] = {
        {"apply", 0, WZ_OPT_FLAG, NULL, "let the moves be made (admins)", offsetof(struct args, apply), 0},
        {"moves", 0, WZ_OPT_U64, "N", "at most so many, 1 to 64; default 16", offsetof(struct args, moves), 64},
        {"json", 0, WZ_OPT_FLAG, NULL, "one document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

/* "gpu-03:0,1" */
static void add_place(struct wz_table *t, const json_t *m, const char *node, const char *devices)
{
	char room[400];
	struct wz_buf b;
	const json_t *d;
	size_t i;
	wz_buf_init_fixed(&b, room, sizeof room);
	wz_buf_add(&b, wz_daemon_text(m, node));
	json_array_foreach(json_object_get(m, devices), i, d)
	{
		wz_buf_addc(&b, i ? ',' : ':');
		wz_buf_add_u64(&b, (uint64_t)json_integer_value(d));
	}
	wz_table_add(t, wz_buf_str(&b));
}

static void print(struct wz_cli *cli, const json_t *plan)
{
	static const char *const head[] = {"JOB", "TASK", "FROM", "TO", "LOSES S"};
	const json_t *moves = json_object_get(plan, "moves"), *m;
	struct wz_buf *out = &cli->out;
	struct wz_table t;
	size_t i;
	wz_buf_add(out, wz_daemon_text(plan, "text"));
	wz_buf_addc(out, '\n');
	if (json_array_size(moves) == 0)
		return;
	wz_table_init(&t, cli->mem, 5, 0x13);
	for (i = 0; i < 5; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(moves, i, m)
	{
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(m, "job"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(m, "task"));
		add_place(&t, m, "from_node", "from_devices");
		add_place(&t, m, "to_node", "to_devices");
		wz_table_add_fixed(&t, wz_daemon_int(m, "cost_us") / 100000, 1);
	}
	wz_table_print(&t, out);
	wz_table_release(&t);
	wz_buf_addz(out, "gain: ");
	wz_buf_add_fixed(out, wz_daemon_int(plan, "gain_milli"), 3);
	wz_buf_addz(out, " devices for jobs that wait (");
	json_array_foreach(json_object_get(plan, "jobs"), i, m)
	{
		wz_buf_addz(out, i ? ", " : "");
		wz_buf_add_u64(out, (uint64_t)json_integer_value(m));
	}
	wz_buf_addz(out, json_is_true(json_object_get(plan, "applied")) ? "); the moves were allowed and follow\n"
	                                                                : "); with --apply the moves are made\n");
}

static int repack_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.moves = 0};
	struct wz_daemon d;
	struct wz_buf body, answer;
	json_t *plan = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands");
	wz_buf_init(&body, cli->mem, 1024);
	wz_buf_init(&answer, cli->mem, 1u << 20);
	int rc = wz_daemon_open(&d, cli, a.socket);
	if (rc == 0) {
		wz_buf_addz(&body, a.apply ? "{\"apply\":true" : "/v1/repack");
		if (a.moves) {
			wz_buf_addz(&body, a.apply ? ",\"moves\":" : "?moves=");
			wz_buf_add_u64(&body, a.moves);
		}
		if (a.apply) {
			wz_buf_addc(&body, '}');
			rc = wz_daemon_call(&d, "POST", "/v1/repack", wz_buf_str(&body), NULL, &answer);
		} else {
			rc = wz_daemon_call(&d, "GET", wz_buf_z(&body), WZ_STR(""), NULL, &answer);
		}
		if (rc == 0 && a.json) {
			wz_buf_add(&cli->out, wz_buf_str(&answer));
		} else if (rc == 0) {
			plan = json_loadb(answer.data, answer.len, 0, NULL);
			print(cli, plan);
			json_decref(plan);
		}
		wz_daemon_close(&d);
	}
	wz_buf_release(&answer);
	wz_buf_release(&body);
	return rc;
}

const struct wz_verb wz_verb_repack = {
        .name = "repack",
        .summary = "which moves would let work start that waits; --apply makes them",
        .usage = "wz repack [--apply] [--moves N] [--json]",
        .examples = "wz repack\n"
                    "wz repack --apply --moves 4\n",
        .opts = opts,
        .fn = repack_fn,
        .more = "Shown is what the next step would do if it might make so many moves: the daemon decides on its "
                "state, "
                "and nothing\n"
                "changes. Only work that says so (preempt=) is moved: it is told to checkpoint, stopped, and "
                "started "
                "at a place\n"
                "that is held for it. A plan must gain more than it costs. With --apply the moves are allowed for "
                "ten "
                "minutes.\n",
};
