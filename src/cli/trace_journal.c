/* SPDX-License-Identifier: Apache-2.0 */
/* `wz trace export` and `wz trace verify`: a daemon's journal as lines, and the proof that it leads to the digests in it. Both
 * work beside a running daemon. */
#include "cli/daemon.h"
#include "cli/trace.h"
#include "os/mem.h"
#include "store/store.h"

#define LINES_A_TIME 4096u

struct args {
	struct wz_str state;
	uint64_t from;
	bool json;
};
static const struct wz_opt export_opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "the daemon's state ($XDG_STATE_HOME/whalezen)",
                offsetof(struct args, state), 0},
        {"from", 0, WZ_OPT_U64, "N", "from this record on (1)", offsetof(struct args, from), 0},
        WZ_OPT_END,
};
static const struct wz_opt verify_opts[] = {
        {"state", 0, WZ_OPT_STRING, "DIR", "the daemon's state ($XDG_STATE_HOME/whalezen)",
                offsetof(struct args, state), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_OPT_END,
};

static int open_store(const struct args *a, struct wz_store **ret, struct wz_err *err)
{
	char dir[WZ_DAEMON_PATH_MAX];
	struct wz_store_options o = {.dir = dir, .read_only = true};
	int rc = wz_daemon_state(a->state, dir, err);
	return rc < 0 ? rc : wz_store_open(&o, ret, err);
}

struct exporting {
	struct wz_buf *out;
	uint64_t next;
	uint32_t n;
};

static int on_record(void *ctx, const struct wz_journal_record *r)
{
	static const char *const kinds[] = {"?", "event", "effect", "note"};
	struct exporting *x = ctx;
	wz_buf_addz(x->out, "{\"seq\":");
	wz_buf_add_u64(x->out, r->seq);
	wz_buf_addz(x->out, ",\"time_us\":");
	wz_buf_add_u64(x->out, r->time_us);
	wz_buf_addz(x->out, ",\"kind\":\"");
	wz_buf_addz(x->out, kinds[r->kind <= WZ_RECORD_NOTE ? r->kind : 0]);
	if (r->digested) {
		wz_buf_addz(x->out, "\",\"digest\":\"");
		wz_buf_add_hex64(x->out, r->digest);
	}
	wz_buf_addz(x->out, "\",\"record\":");
	wz_buf_add(x->out, r->line); /* an object, by the codec */
	wz_buf_addz(x->out, "}\n");
	x->next = r->seq + 1;
	x->n++;
	return 0;
}

static int export_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.from = 1};
	struct wz_store *s = NULL;
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int rc = open_store(&a, &s, &err);
	struct exporting x = {&cli->out, a.from ? a.from : 1, LINES_A_TIME};
	while (rc == 0 && x.n == LINES_A_TIME) {
		x.n = 0;
		rc = wz_store_journal(s, x.next, LINES_A_TIME, on_record, &x, &err);
	}
	if (rc == 0 && cli->out.status < 0)
		rc = wz_err_set(&err, cli->out.status, "TooLarge", WZ_STR("the journal is too large; give --from"));
	wz_store_close(s);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

static void number(struct wz_buf *b, bool json, const char *key, const char *text, uint64_t v)
{
	if (json) {
		wz_buf_addz(b, b->len > 1 ? ",\"" : "\"");
		wz_buf_addz(b, key);
		wz_buf_addz(b, "\":");
		wz_buf_add_u64(b, v);
		return;
	}
	wz_buf_add_u64(b, v);
	wz_buf_addz(b, text);
}

static int verify_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_core_options fresh = {.seed = 1, .no_index = true};
	struct wz_restored got = {.core = NULL};
	struct wz_store *s = NULL;
	struct wz_err err;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int rc = open_store(&a, &s, &err);
	if (rc == 0)
		rc = wz_store_replay(s, wz_os_mem(), &fresh, INT64_MAX, &got, &err);
	if (rc == 0)
		rc = wz_core_check(got.core, &err);
	if (rc == 0) {
		if (a.json)
			wz_buf_addc(&cli->out, '{');
		number(&cli->out, a.json, "records", " records applied, ", got.records);
		number(&cli->out, a.json, "verified", " digests equal, ", got.verified);
		number(&cli->out, a.json, "unverified", " of another catalogue; state ", got.unverified);
		wz_buf_addz(&cli->out, a.json ? ",\"digest\":\"" : "");
		wz_buf_add_hex64(&cli->out, wz_core_digest(got.core));
		wz_buf_addz(&cli->out, a.json ? "\"}\n" : "\n");
	}
	wz_core_free(got.core);
	wz_store_close(s);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}

const struct wz_verb wz_verb_trace_export = {
        .name = "export",
        .summary = "a daemon's journal, a line a record",
        .usage = "wz trace export [--state DIR] [--from N]",
        .examples = "wz trace export >journal.jsonl\n",
        .opts = export_opts,
        .fn = export_fn,
        .more = "The records are those of spec/events.md and spec/effects.md, and the notes of spec/store.md. What "
                "was dropped "
                "after\n"
                "a snapshot is not there any more.\n",
};
const struct wz_verb wz_verb_trace_verify = {
        .name = "verify",
        .summary = "apply a daemon's journal again and compare every digest",
        .usage = "wz trace verify [--state DIR] [--json]",
        .examples = "wz trace verify\n",
        .opts = verify_opts,
        .fn = verify_fn,
        .reads = true,
};
