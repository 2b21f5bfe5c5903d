/* SPDX-License-Identifier: Apache-2.0 */
/* `wz queue list|show|set|remove`: the quota tree of the daemon. `set` changes the rules that are named and leaves the others,
 * by reading them first; the daemon checks them. */
#include "cli/daemon.h"

#include "base/quant.h"
#include "cli/table.h"
#include "core/queue.h"

struct args {
	struct wz_str socket;
	bool json, replace;
};
static const struct wz_opt list_opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};
static const struct wz_opt set_opts[] = {
        {"replace", 0, WZ_OPT_FLAG, NULL, "forget all other rules of the queue", offsetof(struct args, replace), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};
static const struct wz_opt remove_opts[] = {WZ_DAEMON_OPT(struct args), WZ_OPT_END};

static const json_t *find(const json_t *root, const char *name)
{
	const json_t *q;
	size_t i;
	json_array_foreach(json_object_get(root, "queues"), i,
	        q) if (wz_str_eq(wz_daemon_text(q, "name"), wz_str(name))) return q;
	return NULL;
}

/* Of "gpu" in the amounts; "-" when no rule says anything. */
static void gpu_rule(struct wz_table *t, const json_t *q, const char *key)
{
	const json_t *a;
	size_t i;
	json_array_foreach(json_object_get(q, "amounts"), i,
	        a) if (wz_str_eq(wz_daemon_text(a, "what"), WZ_STR("gpu")) && wz_daemon_int(a, key) >= 0)
	{
		wz_table_add_fixed(t, wz_daemon_int(a, key) / 100, 1);
		return;
	}
	wz_table_addz(t, "-");
}

static void put_list(struct wz_cli *cli, const json_t *root)
{
	static const char *const head[] = {
	        "QUEUE", "PARENT", "WAITING", "RUNNING", "GPUS", "GUARANTEED", "LIMIT", "SHARE %"};
	struct wz_table t;
	const json_t *q;
	size_t i;
	wz_table_init(&t, cli->mem, 8, 0xfc);
	for (i = 0; i < 8; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(json_object_get(root, "queues"), i, q)
	{
		struct wz_str parent = wz_daemon_text(q, "parent");
		wz_table_add(&t, wz_daemon_text(q, "name"));
		wz_table_add(&t, parent.len ? parent : WZ_STR("-"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(q, "pending"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(q, "running"));
		wz_table_add_fixed(&t, wz_daemon_int(q, "used_milli") / 100, 1);
		gpu_rule(&t, q, "guaranteed");
		gpu_rule(&t, q, "limit");
		wz_table_add_fixed(&t, wz_daemon_int(q, "share_ppm") / 1000, 1);
	}
	wz_table_print(&t, &cli->out);
	wz_table_release(&t);
}

static int list_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	json_t *root = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, "/v1/queues", a.json, &root);
	if (code == 0 && root && json_array_size(json_object_get(root, "queues")) == 0)
		wz_buf_addz(&cli->out,
		        "no queues: jobs start in the order of priority and submission; wz queue set makes one\n");
	else if (code == 0 && root)
		put_list(cli, root);
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

/* ---- show ---- */

static void line(struct wz_buf *b, const char *key, struct wz_str value)
{
	wz_buf_addz(b, key);
	for (size_t n = strlen(key); n < 14; n++)
		wz_buf_addc(b, ' ');
	wz_buf_add(b, value);
	wz_buf_addc(b, '\n');
}

static void put_amounts(struct wz_cli *cli, const json_t *q)
{
	static const char *const head[] = {"WHAT", "USED", "GUARANTEED", "LIMIT", "BORROW", "LEND", "CLUSTER"};
	static const char *const keys[] = {"used", "guaranteed", "limit", "borrow", "lend", "capacity"};
	struct wz_table t;
	const json_t *a;
	size_t i;
	wz_table_init(&t, cli->mem, 7, 0x7e);
	for (i = 0; i < 7; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(json_object_get(q, "amounts"), i, a)
	{
		bool mem = wz_str_eq(wz_daemon_text(a, "what"), WZ_STR("mem"));
		wz_table_add(&t, wz_daemon_text(a, "what"));
		for (unsigned k = 0; k < 6; k++) {
			int64_t x = wz_daemon_int(a, keys[k]);
			char text[32];
			struct wz_buf b;
			wz_buf_init_fixed(&b, text, sizeof text);
			if (x < 0)
				wz_buf_addc(&b, '-');
			else if (mem)
				wz_bytes_format(&b, (uint64_t)x << 20);
			else
				wz_milli_format(&b, (uint64_t)x);
			wz_table_add(&t, wz_buf_str(&b));
		}
	}
	wz_table_print(&t, &cli->out);
	wz_table_release(&t);
}

static void put_users(struct wz_cli *cli, const json_t *q)
{
	static const char *const head[] = {"USER", "WAITING", "RUNNING", "GPUS", "PAST", "SHARE %"};
	struct wz_table t;
	const json_t *u;
	size_t i;
	if (json_array_size(json_object_get(q, "users")) == 0)
		return;
	wz_table_init(&t, cli->mem, 6, 0x3e);
	for (i = 0; i < 6; i++)
		wz_table_addz(&t, head[i]);
	json_array_foreach(json_object_get(q, "users"), i, u)
	{
		struct wz_str user = wz_daemon_text(u, "user");
		wz_table_add(&t, user.len ? user : WZ_STR("-"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(u, "pending"));
		wz_table_add_u64(&t, (uint64_t)wz_daemon_int(u, "running"));
		wz_table_add_fixed(&t, wz_daemon_int(u, "used_milli") / 100, 1);
		wz_table_add_fixed(&t, wz_daemon_int(u, "past_milli") / 100, 1);
		wz_table_add_fixed(&t, wz_daemon_int(u, "share_ppm") / 1000, 1);
	}
	wz_buf_addc(&cli->out, '\n');
	wz_table_print(&t, &cli->out);
	wz_table_release(&t);
}

static void put_spent(struct wz_buf *b, const json_t *q, const char *label, const char *key)
{
	char text[32];
	struct wz_buf t;
	if (wz_daemon_int(q, key) == 0)
		return;
	wz_buf_init_fixed(&t, text, sizeof text);
	wz_buf_add_fixed(&t, wz_daemon_int(q, key), 3);
	line(b, label, wz_buf_str(&t));
}

static int show_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	json_t *root = NULL;
	const json_t *q = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one queue is expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, "/v1/queues", false, &root);
	if (code == 0 && !(q = find(root, argv[0]))) {
		struct wz_err err;
		(void)wz_err_set(
		        &err, -ENOENT, "NotFound", WZ_STR("there is no queue \""), wz_str(argv[0]), WZ_STR("\""));
		code = wz_cli_fail(&err);
	}
	if (q && a.json) {
		char *text = json_dumps(q, JSON_COMPACT);
		wz_buf_add(&cli->out, wz_str(text));
		wz_buf_addc(&cli->out, '\n');
		free(text);
	} else if (q) {
		struct wz_str rules = wz_daemon_text(q, "rules"), parent = wz_daemon_text(q, "parent");
		line(&cli->out, "queue", wz_daemon_text(q, "name"));
		line(&cli->out, "parent", parent.len ? parent : WZ_STR("-"));
		line(&cli->out, "rules", rules.len ? rules : WZ_STR("-"));
		put_spent(&cli->out, q, "spent hours", "spent_hours_milli");
		put_spent(&cli->out, q, "spent money", "spent_money_milli");
		wz_buf_addc(&cli->out, '\n');
		put_amounts(cli, q);
		put_users(cli, q);
	}
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

/* ---- set, remove ---- */

static bool same_key(struct wz_str a, struct wz_str b)
{
	struct wz_str x = a, y = b;
	return wz_str_eq(wz_str_split(&x, '='), wz_str_split(&y, '='));
}

static void add_entry(struct wz_buf *b, struct wz_str e)
{
	if (b->len)
		wz_buf_addc(b, ' ');
	wz_buf_add(b, e);
}

/* The rules that are there without those that are given anew, then those; "key=" alone only takes one away. */
static void merge(struct wz_buf *b, struct wz_str old, int n, char **argv)
{
	while (old.ptr && old.len) {
		struct wz_str e = wz_str_split(&old, ' ');
		bool again = false;
		for (int i = 0; i < n; i++)
			again = again || same_key(e, wz_str(argv[i]));
		if (!again && e.len)
			add_entry(b, e);
	}
	for (int i = 0; i < n; i++) {
		struct wz_str e = wz_str(argv[i]);
		if (e.len && e.ptr[e.len - 1] != '=')
			add_entry(b, e);
	}
}

static int put_rules(struct wz_daemon *d, const char *name, struct wz_str rules)
{
	char path[128];
	struct wz_buf body, answer;
	wz_buf_init(&body, d->cli->mem, 65536);
	wz_buf_addz(&body, "{\"rules\":");
	wz_buf_add_json(&body, rules);
	wz_buf_addc(&body, '}');
	(void)snprintf(path, sizeof path, "/v1/queues/%s", name);
	int code = wz_daemon_call(d, "PUT", path, wz_buf_str(&body), NULL, &answer);
	if (code == 0)
		wz_buf_release(&answer);
	wz_buf_release(&body);
	return code;
}

static int set_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf rules;
	json_t *root = NULL;
	const json_t *q;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "a queue and its rules are expected");
	if (!wz_queue_name_ok(wz_str(argv[0])))
		return wz_cli_usage(v, "a queue has a name of 1 to 63 letters, digits, '.', '_' and '-'");
	for (int i = 1; i < n; i++)
		if (!strchr(argv[i], '=') || strpbrk(argv[i], " \t\r\n"))
			return wz_cli_usage(v, "a rule is key=value, without blanks");
	wz_buf_init(&rules, cli->mem, WZ_RULES_TEXT_MAX);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, "/v1/queues", false, &root);
	if (code == 0) {
		q = find(root, argv[0]);
		merge(&rules, q && !a.replace ? wz_daemon_text(q, "rules") : WZ_STR(""), n - 1, argv + 1);
		code = rules.status < 0 ? wz_cli_usage(v, "these are too many rules")
		                        : put_rules(&d, argv[0], wz_buf_str(&rules));
	}
	wz_buf_release(&rules);
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

static int remove_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf answer;
	char path[128];
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 1)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "one queue is expected");
	if (!wz_queue_name_ok(wz_str(argv[0])))
		return wz_cli_usage(v, "that is no name of a queue");
	(void)snprintf(path, sizeof path, "/v1/queues/%s", argv[0]);
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_call(&d, "DELETE", path, WZ_STR(""), NULL, &answer);
	if (code == 0)
		wz_buf_release(&answer);
	wz_daemon_close(&d);
	return code;
}

static const struct wz_verb verb_list = {
        .name = "list",
        .summary = "queues and what they use",
        .usage = "wz queue list [--json]",
        .examples = "wz queue list\n",
        .opts = list_opts,
        .fn = list_fn,
        .reads = true,
};
static const struct wz_verb verb_show = {
        .name = "show",
        .summary = "one queue: rules, amounts, users",
        .usage = "wz queue show [--json] QUEUE",
        .examples = "wz queue show vision\n",
        .opts = list_opts,
        .fn = show_fn,
        .reads = true,
};
static const struct wz_verb verb_set = {
        .name = "set",
        .summary = "make a queue or change rules of it (admins)",
        .usage = "wz queue set [--replace] QUEUE [KEY=VALUE...]",
        .examples = "wz queue set vision guaranteed=a100:8 limit=gpu:16 user-limit=gpu:4\n"
                    "wz queue set vision limit=            # no limit any more\n"
                    "wz queue set root half-life=14d\n",
        .opts = set_opts,
        .fn = set_fn,
        .more = "Rules that are not named stay as they are. Keys: parent, guaranteed, limit, borrow, lend, "
                "user-limit, job-limit,\n"
                "weight, user-running, user-waiting, priority, preemptible, budget-hours, budget-money, "
                "budget-epoch, price,\n"
                "require-checkpoint; of the root also half-life and reserve. Amounts are lists such as "
                "a100:8,gpu:16,cpu:64,mem:512Gi,cu:400.\n"
                "The first rule that is set makes the tree: root, default, and this queue. Jobs that name no queue "
                "are of default.\n",
};
static const struct wz_verb verb_remove = {
        .name = "remove",
        .summary = "remove a queue without jobs (admins)",
        .usage = "wz queue remove QUEUE",
        .examples = "wz queue remove vision\n",
        .opts = remove_opts,
        .fn = remove_fn,
};
static const struct wz_verb *const verbs[] = {&verb_list, &verb_show, &verb_set, &verb_remove, NULL};
const struct wz_verb wz_verb_queue = {
        .name = "queue",
        .summary = "the quota tree: who may have how much",
        .usage = "wz queue list|show|set|remove",
        .sub = verbs,
};
