/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"
#include "sim/gen.h"

struct args {
	struct wz_str like, out, format;
	uint64_t seed, nodes, jobs, gap_us;
	bool unequal;
};

static const struct wz_opt opts[] = {
        {"like", 'l', WZ_OPT_STRING, "openb|lab|llm|jobs", "what to imitate (needed)", offsetof(struct args, like),
                0},
        {"seed", 's', WZ_OPT_U64, "N", "seed of all draws; the same seed gives the same bytes (0)",
                offsetof(struct args, seed), 0},
        {"nodes", 'n', WZ_OPT_U64, "N", "number of nodes (openb 1213, lab 4, llm 64)", offsetof(struct args, nodes),
                WZ_NODES_MAX},
        {"jobs", 'j', WZ_OPT_U64, "N", "number of jobs (openb 8152, lab 500, llm 2000)",
                offsetof(struct args, jobs), WZ_SIM_TASKS_MAX},
        {"gap", 0, WZ_OPT_DURATION, "TIME", "mean time between submits, such as 30s", offsetof(struct args, gap_us),
                0},
        {"unequal-mem", 0, WZ_OPT_FLAG, NULL, "devices of one model differ in memory",
                offsetof(struct args, unequal), 0},
        {"format", 'f', WZ_OPT_STRING, "openb|wz", "trace format (openb for --like openb, else wz)",
                offsetof(struct args, format), 0},
        {"out", 'o', WZ_OPT_STRING, "DIR", "directory for the files (.); - prints one file",
                offsetof(struct args, out), 0},
        WZ_OPT_END,
};

static int gen_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	struct wz_err err = {0};
	struct wz_cli_trace t;
	const struct wz_trace_format *format = NULL;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n > 0)
		return wz_cli_usage(v, "no operand is expected; the directory is given with --out");
	if (!a.like.len)
		return wz_cli_usage(v, "--like is needed: openb, lab, llm or jobs");
	if (!a.out.len)
		return wz_cli_usage(v, "--out is empty; expected a directory");
	const struct wz_gen_preset *preset = wz_gen_find(a.like, &err);
	if (!preset)
		return wz_cli_usage(v, err.text);
	bool csv = wz_str_eq(a.like, WZ_STR("openb")) && !a.unequal;
	if (wz_cli_trace_format(a.format, csv ? &wz_format_openb : &wz_format_wz, &format, &err) < 0)
		return wz_cli_usage(v, err.text);

	if (wz_cli_trace_init(&t, cli->mem, &err) < 0)
		return wz_cli_fail(&err);
	struct wz_gen_options o = {
	        .nodes = (uint32_t)a.nodes,
	        .jobs = (uint32_t)a.jobs,
	        .seed = a.seed,
	        .gap_us = a.gap_us,
	        .unequal_mem = a.unequal,
	};
	int rc = wz_gen(preset, &o, &t.nodes, &t.tasks, &err);
	int code = rc < 0 ? wz_cli_fail(&err) : wz_cli_trace_write(cli, &t, format, a.out);
	wz_cli_trace_release(&t);
	return code;
}

const struct wz_verb wz_verb_trace_gen = {
        .name = "gen",
        .summary = "generate a trace from published marginals",
        .usage = "wz trace gen --like openb|lab|llm|jobs [options]",
        .examples = "wz trace gen --like openb --seed 42 --out /tmp/openb\n"
                    "wz trace gen --like llm --nodes 128 --jobs 5000 --out /tmp/llm\n"
                    "wz trace gen --like lab --out - | wz trace info -\n",
        .opts = opts,
        .fn = gen_fn,
};
