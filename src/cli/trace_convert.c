/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

struct args {
	struct wz_str from, to, out;
};

static const struct wz_opt opts[] = {
        {"from", 'f', WZ_OPT_STRING, "openb|wz", "format of the files (found by their first lines)",
                offsetof(struct args, from), 0},
        {"to", 't', WZ_OPT_STRING, "openb|wz", "format to write (needed)", offsetof(struct args, to), 0},
        {"out", 'o', WZ_OPT_STRING, "DIR", "directory for the files (.); - prints one file",
                offsetof(struct args, out), 0},
        WZ_OPT_END,
};

static int convert_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	struct wz_err err = {0};
	struct wz_cli_trace t;
	const struct wz_trace_format *from = NULL, *to = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 0)
		return wz_cli_usage(v, "no file is given");
	if (!a.to.len)
		return wz_cli_usage(v, "--to is needed: openb or wz");
	if (!a.out.len)
		return wz_cli_usage(v, "--out is empty; expected a directory");
	if (wz_cli_trace_format(a.from, NULL, &from, &err) < 0 || wz_cli_trace_format(a.to, NULL, &to, &err) < 0)
		return wz_cli_usage(v, err.text);
	if (wz_cli_trace_init(&t, cli->mem, &err) < 0)
		return wz_cli_fail(&err);
	int rc = wz_trace_load((const char *const *)argv, (uint32_t)n, from, cli->mem, &t.nodes, &t.tasks, &err);
	int code = rc < 0 ? wz_cli_fail(&err) : wz_cli_trace_write(cli, &t, to, a.out);
	wz_cli_trace_release(&t);
	return code;
}

const struct wz_verb wz_verb_trace_convert = {
        .name = "convert",
        .summary = "write a trace in another format",
        .usage = "wz trace convert [--from FORMAT] --to FORMAT [--out DIR] FILE...",
        .examples = "wz trace convert --to wz --out - nodes.csv pods.csv > trace.wz\n"
                    "wz trace convert --to openb --out /tmp/csv trace.wz\n",
        .opts = opts,
        .fn = convert_fn,
};
