/* SPDX-License-Identifier: Apache-2.0 */
/* `wz nodes` and `wz devices`: what there is and what is free of it. */
#include "cli/daemon.h"

#include "base/quant.h"
#include "cli/table.h"

struct args {
	struct wz_str socket;
	bool json;
};
static const struct wz_opt opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void milli(struct wz_table *t, int64_t v)
{
	wz_table_add_fixed(t, v / 100, 1);
}

static void gib(struct wz_table *t, int64_t v)
{
	wz_table_add_fixed(t, v * 10 / (int64_t)WZ_GI, 1);
}

static void percent(struct wz_table *t, int64_t v)
{
	struct wz_num n;
	wz_table_add(t, v < 0 ? WZ_STR("-") : wz_str_i64(&n, v));
}

static void node_row(struct wz_table *t, const json_t *j)
{
	wz_table_add(t, wz_daemon_text(j, "name"));
	wz_table_add(t, wz_daemon_text(j, "state"));
	wz_table_add_u64(t, (uint64_t)wz_daemon_int(j, "devices_total"));
	wz_table_add_u64(t, (uint64_t)wz_daemon_int(j, "devices_free"));
	milli(t, wz_daemon_int(j, "cpu_milli"));
	milli(t, wz_daemon_int(j, "cpu_free_milli"));
	gib(t, wz_daemon_int(j, "mem_bytes"));
	gib(t, wz_daemon_int(j, "mem_free_bytes"));
	wz_table_add_u64(t, (uint64_t)wz_daemon_int(j, "jobs_running"));
}

static void device_row(struct wz_table *t, const json_t *j)
{
	char text[256];
	struct wz_buf b;
	json_t *x;
	size_t i;
	wz_buf_init_fixed(&b, text, sizeof text);
	json_array_foreach(json_object_get(j, "jobs"), i, x)
	{
		if (i)
			wz_buf_addc(&b, ',');
		wz_buf_add_i64(&b, json_integer_value(x));
	}
	wz_table_add(t, wz_daemon_text(j, "node"));
	wz_table_add_u64(t, (uint64_t)wz_daemon_int(j, "index"));
	wz_table_add(t, wz_daemon_text(j, "model"));
	wz_table_add(t, wz_daemon_text(j, "health"));
	gib(t, wz_daemon_int(j, "mem_bytes"));
	gib(t, wz_daemon_int(j, "mem_free_bytes"));
	wz_table_add_fixed(t, wz_daemon_int(j, "compute_free_milli"), 3);
	percent(t, wz_daemon_int(j, "util_pct"));
	wz_table_add(t, b.len ? wz_buf_str(&b) : WZ_STR("-"));
}

struct list {
	const char *path, *key;
	void (*row)(struct wz_table *t, const json_t *j);
	uint32_t columns, right;
	const char *head[10];
};

static const struct list nodes = {"/v1/nodes", "nodes", node_row, 9, 0x1fc,
        {"NODE", "STATE", "DEVICES", "FREE", "CPUS", "FREE", "MEM GiB", "FREE", "TASKS"}};
static const struct list devices = {"/v1/devices", "devices", device_row, 9, 0xf2,
        {"NODE", "DEV", "MODEL", "HEALTH", "MEM GiB", "FREE", "COMPUTE FREE", "USE %", "JOBS"}};

static int list_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	const struct list *l = v == &wz_verb_nodes ? &nodes : &devices;
	struct args a = {.json = false};
	struct wz_daemon d;
	json_t *root = NULL, *j;
	size_t i;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n != 0)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "no operands are expected");
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_daemon_get(&d, l->path, a.json, &root);
	if (code == 0 && root) {
		struct wz_table t;
		wz_table_init(&t, cli->mem, l->columns, l->right);
		for (i = 0; i < l->columns; i++)
			wz_table_addz(&t, l->head[i]);
		json_array_foreach(json_object_get(root, l->key), i, j) l->row(&t, j);
		wz_table_print(&t, &cli->out);
		wz_table_release(&t);
	}
	json_decref(root);
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_nodes = {
        .name = "nodes",
        .summary = "nodes and what is free of them",
        .usage = "wz nodes [--json]",
        .examples = "wz nodes\n",
        .opts = opts,
        .fn = list_fn,
        .reads = true,
};
const struct wz_verb wz_verb_devices = {
        .name = "devices",
        .summary = "devices, who holds them, and what is free",
        .usage = "wz devices [--json]",
        .examples = "wz devices\n",
        .opts = opts,
        .fn = list_fn,
        .reads = true,
};
