/* SPDX-License-Identifier: Apache-2.0 */
/* `wz trace replay`: the board of a past moment, made from a daemon's journal by applying it again. */
#include "api/board.h"
#include "cli/daemon.h"
#include "cli/trace.h"
#include "os/clock.h"
#include "serve/serve.h"

#include <time.h>

struct replay_args {
	struct wz_str state, until;
	bool json;
};
static const struct wz_opt replay_opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "the daemon's state ($XDG_STATE_HOME/whalezen)",
                offsetof(struct replay_args, state), 0},
        {"until", 0, WZ_OPT_STRING, "TIME", "YYYY-MM-DDTHH:MM:SS (local), or microseconds since 1970 UTC (now)",
                offsetof(struct replay_args, until), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "the whole board, as GET /v1/board?at_us= gives it",
                offsetof(struct replay_args, json), 0},
        WZ_OPT_END,
};

static int until_of(struct wz_str text, int64_t *ret, struct wz_err *err)
{
	struct tm tm = {.tm_isdst = -1};
	uint64_t us;
	char *end;
	if (!text.len) {
		*ret = wz_clock_wall_us();
		return 0;
	}
	if (wz_str_parse_u64(text, &us) == 0 && us > 0 && us <= INT64_MAX) {
		*ret = (int64_t)us;
		return 0;
	}
	end = strptime(text.ptr, "%Y-%m-%dT%H:%M:%S", &tm);
	time_t t = end && !*end ? mktime(&tm) : (time_t)-1;
	if (t == (time_t)-1)
		return wz_err_set(err, -EINVAL, "BadTime", WZ_STR("--until: "), text,
		        WZ_STR(" is neither YYYY-MM-DDTHH:MM:SS nor microseconds since 1970"));
	*ret = (int64_t)t * 1000000;
	return 0;
}

static void print_board(struct wz_cli *cli, const struct wz_api_board *b)
{
	const struct wz_api_board_node *n = b->nodes.v;
	wz_buf_addz(&cli->out, "digest ");
	wz_buf_add(&cli->out, b->digest);
	wz_buf_addz(&cli->out, ", ");
	wz_buf_add_u64(&cli->out, b->jobs.n);
	wz_buf_addz(&cli->out, " jobs\n");
	for (uint32_t i = 0; i < b->nodes.n; i++) {
		const struct wz_api_board_device *d = n[i].devices.v;
		for (uint32_t k = 0; k < n[i].devices.n; k++) {
			const struct wz_api_piece *p = d[k].pieces.v;
			wz_buf_add(&cli->out, n[i].name);
			wz_buf_addc(&cli->out, ':');
			wz_buf_add_u64(&cli->out, d[k].index);
			wz_buf_addz(&cli->out, "  ");
			wz_buf_add(&cli->out, d[k].model);
			for (uint32_t j = 0; j < d[k].pieces.n; j++) {
				wz_buf_addz(&cli->out, j ? " " : "  jobs ");
				wz_buf_add_u64(&cli->out, p[j].job);
			}
			wz_buf_addc(&cli->out, '\n');
		}
	}
}

static int replay_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct replay_args a = {.json = false};
	struct wz_api_board board;
	struct wz_arena arena;
	struct wz_err err;
	char state[WZ_DAEMON_PATH_MAX];
	int64_t until = 0;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	if (until_of(a.until, &until, &err) < 0 || wz_daemon_state(a.state, state, &err) < 0)
		return wz_cli_fail(&err);
	wz_arena_init(&arena, cli->mem, 1u << 16);
	int rc = wz_serve_board_then(state, until, &arena, &board, &err);
	if (rc == 0 && a.json) {
		wz_json_write(&cli->out, &wz_type_board, &board, true);
		wz_buf_addc(&cli->out, '\n');
	} else if (rc == 0) {
		print_board(cli, &board);
	}
	wz_arena_release(&arena);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_trace_replay = {
        .name = "replay",
        .summary = "what ran where at a past moment, from a daemon's journal",
        .usage = "wz trace replay [--state DIR] [--until TIME] [--json]",
        .examples = "wz trace replay --until 2026-12-01T09:30:00\n",
        .opts = replay_opts,
        .fn = replay_fn,
        .more = "Applies the journal again, with every digest compared, and shows the state that it leads to. "
                "Works beside\n"
                "a running daemon.\n",
};
