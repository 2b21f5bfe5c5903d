/* SPDX-License-Identifier: Apache-2.0 */
/* `wz trace cut|scale|merge|anon|import-slurm`: a workload changed, or made of what Slurm prints; written as a WhaleZEN trace. */
#include "cli/trace.h"
#include "os/file.h"
#include "sim/edit.h"
#include "sim/sheet.h"
#include "sim/slurm.h"

#include "base/quant.h"

struct args {
	struct wz_str out, queue, from, to, first, last, load, run, seed;
	struct wz_list sacct, nodes, conf, assoc;
};

#define OUT \
	{ \
		"out", 'o', WZ_OPT_STRING, "DIR", "directory for trace.wz (.); - prints it", \
		        offsetof(struct args, out), 0 \
	}

static const struct wz_opt cut_opts[] = {
        {"queue", 'q', WZ_OPT_STRING, "NAME", "only jobs of this queue", offsetof(struct args, queue), 0},
        {"from", 0, WZ_OPT_STRING, "T", "submitted from: seconds, 38d, or a date", offsetof(struct args, from), 0},
        {"to", 0, WZ_OPT_STRING, "T", "submitted before", offsetof(struct args, to), 0},
        {"first", 0, WZ_OPT_STRING, "N", "leave out the first N of these", offsetof(struct args, first), 0},
        {"last", 0, WZ_OPT_STRING, "N", "and all after the Nth", offsetof(struct args, last), 0}, OUT, WZ_OPT_END};
static const struct wz_opt scale_opts[] = {
        {"load", 0, WZ_OPT_STRING, "X", "jobs come X times as fast (1)", offsetof(struct args, load), 0},
        {"run", 0, WZ_OPT_STRING, "X", "run times X times as long (1)", offsetof(struct args, run), 0}, OUT,
        WZ_OPT_END};
static const struct wz_opt merge_opts[] = {OUT, WZ_OPT_END};
static const struct wz_opt anon_opts[] = {
        {"seed", 's', WZ_OPT_STRING, "N", "secret of the words that stand for names (0)",
                offsetof(struct args, seed), 0},
        OUT, WZ_OPT_END};
static const struct wz_opt slurm_opts[] = {
        {"sacct", 0, WZ_OPT_LIST, "FILE",
                "sacct -P "
                "--format=JobID,JobName,User,Account,Submit,Start,End,ElapsedRaw,Timelimit,NNodes,AllocTRES",
                offsetof(struct args, sacct), 0},
        {"nodes", 0, WZ_OPT_LIST, "FILE", "scontrol show node", offsetof(struct args, nodes), 0},
        {"conf", 0, WZ_OPT_LIST, "FILE", "slurm.conf, for its nodes", offsetof(struct args, conf), 0},
        {"accounts", 0, WZ_OPT_LIST, "FILE", "sacctmgr dump, for queues.yaml", offsetof(struct args, assoc), 0},
        OUT, WZ_OPT_END};

static int number(struct wz_str s, int64_t unit, int64_t max, int64_t *ret)
{
	return s.len ? wz_decimal_parse(s, unit, max, ret) : 0;
}

static int moment(struct wz_str s, int64_t epoch_us, int64_t *ret)
{
	uint64_t us;
	int64_t date;

	if (s.len == 0 || wz_decimal_parse(s, 1000000, WZ_SIM_TIME_MAX_US, ret) == 0)
		return 0;
	if (wz_duration_parse(s, &us, NULL) == 0 && us < (uint64_t)WZ_SIM_TIME_MAX_US)
		*ret = (int64_t)us;
	else if (epoch_us && wz_date_parse(s, &date) == 0)
		*ret = date > epoch_us ? date - epoch_us : 0;
	else
		return -EINVAL;
	return 0;
}

/* Reads the files and appends them, edited, to a fresh trace with the same nodes. */
static int edit(struct wz_cli *cli, const struct wz_verb *v, struct wz_edit *e, const struct args *a, int n,
        char **argv, bool each)
{
	struct wz_cli_trace from, to;
	struct wz_err err = {0};
	int code = WZ_EXIT_OK, r = wz_cli_trace_init(&to, cli->mem, &err);

	if (r < 0)
		return wz_cli_fail(&err);
	for (int i = 0; r == 0 && code == 0 && i < (each ? n : 1); i++) {
		char prefix[16];
		struct wz_buf b;
		r = wz_cli_trace_init(&from, cli->mem, &err);
		if (r < 0)
			break;
		r = wz_trace_load((const char *const *)argv + i, each ? 1 : (uint32_t)n, NULL, cli->mem,
		        &from.nodes, &from.tasks, &err);
		wz_buf_init_fixed(&b, prefix, sizeof(prefix));
		if (each) {
			wz_buf_addc(&b, (char)('a' + i % 26));
			wz_buf_addz(&b, i >= 26 ? "x-" : "-");
			e->prefix = wz_buf_str(&b);
		}
		if (r == 0 && (moment(a->from, from.tasks.epoch_us, &e->from_us) < 0 ||
		                      moment(a->to, from.tasks.epoch_us, &e->to_us) < 0))
			code = wz_cli_usage(v, "--from and --to take seconds, a time since the trace's start "
			                       "(38d), or a date where it has dates");
		for (uint32_t k = 0; r == 0 && code == 0 && k < from.nodes.n && to.nodes.n < from.nodes.n; k++) {
			struct wz_ev_node node = from.nodes.node[k];
			struct wz_device_facts d[WZ_NODE_DEVICES_MAX];
			for (uint32_t q = 0; r == 0 && q < node.n_devices; q++) {
				d[q] = node.device[q];
				r = wz_sim_nodes_model(&to.nodes,
				        wz_sim_nodes_model_name(&from.nodes, node.device[q].model), NULL,
				        &d[q].model, &err);
			}
			node.device = d;
			if (r == 0)
				r = wz_sim_nodes_add(&to.nodes, &node, &err);
		}
		if (r == 0 && code == 0)
			r = wz_edit_tasks(&from.tasks, e, &to.tasks, &err);
		wz_cli_trace_release(&from);
	}
	if (r < 0)
		code = wz_cli_fail(&err);
	else if (code == 0 && to.tasks.n == 0)
		code = wz_cli_fail(&(struct wz_err){.code = -ENOENT, .reason = "NoJobs", .text = "no job is left"});
	else if (code == 0)
		code = wz_cli_trace_write(cli, &to, &wz_format_wz, a->out);
	wz_cli_trace_release(&to);
	return code;
}

static int cut_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	int64_t first = 0, last = 0;
	int n = wz_cli_opts(v, &a, argc, argv);

	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 0)
		return wz_cli_usage(v, "no file is given");
	if (number(a.first, 1, UINT32_MAX, &first) < 0 || number(a.last, 1, UINT32_MAX, &last) < 0)
		return wz_cli_usage(v, "--first and --last are numbers of jobs");
	struct wz_edit e = {.queue = a.queue,
	        .first = (uint32_t)first,
	        .last = (uint32_t)last,
	        .shift = true,
	        .time_milli = 1000,
	        .run_milli = 1000};
	return edit(cli, v, &e, &a, n, argv, false);
}

static int scale_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	int64_t load = 1000000, run = 1000;
	int n = wz_cli_opts(v, &a, argc, argv);

	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 0)
		return wz_cli_usage(v, "no file is given");
	if (number(a.load, 1000000, 1000000000, &load) < 0 || number(a.run, 1000, 1000000, &run) < 0 || load == 0 ||
	        run == 0)
		return wz_cli_usage(v, "--load and --run are numbers above 0, at most 1000");
	struct wz_edit e = {.time_milli = 1000000000 / load, .run_milli = run};
	return edit(cli, v, &e, &a, n, argv, false);
}

static int merge_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	int n = wz_cli_opts(v, &a, argc, argv);

	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n < 2)
		return wz_cli_usage(v, "two files or more are needed");
	struct wz_edit e = {.time_milli = 1000, .run_milli = 1000};
	return edit(cli, v, &e, &a, n, argv, true);
}

static int anon_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	int64_t seed = 0;
	int n = wz_cli_opts(v, &a, argc, argv);

	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n == 0)
		return wz_cli_usage(v, "no file is given");
	if (number(a.seed, 1, INT64_MAX / 2, &seed) < 0)
		return wz_cli_usage(v, "--seed is a number");
	struct wz_edit e = {
	        .time_milli = 1000, .run_milli = 1000, .anonymous = true, .seed = (uint64_t)seed, .shift = true};
	return edit(cli, v, &e, &a, n, argv, false);
}

static int each(const struct wz_list *l, struct wz_cli_trace *t, struct wz_buf *yaml, int what,
        const struct wz_mem *mem, struct wz_err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->n; i++) {
		struct wz_file_text text;
		r = wz_file_read(l->item[i].ptr, WZ_TRACE_BYTES_MAX, mem, &text, err);
		if (r < 0)
			break;
		struct wz_trace_source src = {l->item[i], wz_file_text_str(&text)};
		r = what == 0   ? wz_slurm_sacct(&src, &t->nodes, &t->tasks, err)
		    : what == 1 ? wz_slurm_nodes(&src, &t->nodes, err)
		                : wz_slurm_queues(&src, yaml, err);
		wz_file_text_release(&text);
	}
	return r;
}

static int slurm_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.out = WZ_STR(".")};
	struct wz_err err = {0};
	struct wz_cli_trace t;
	struct wz_buf yaml;
	int n = wz_cli_opts(v, &a, argc, argv), r, code;

	if (n < 0)
		return WZ_EXIT_USAGE;
	if (n > 0 || a.sacct.n + a.nodes.n + a.conf.n + a.assoc.n == 0)
		return wz_cli_usage(v, "give --sacct FILE, --nodes FILE or --conf FILE, --accounts FILE");
	if (a.assoc.n && wz_str_eq(a.out, WZ_STR("-")))
		return wz_cli_usage(v, "--accounts writes a second file: give a directory with --out");
	if (wz_cli_trace_init(&t, cli->mem, &err) < 0)
		return wz_cli_fail(&err);
	wz_buf_init(&yaml, cli->mem, 1u << 24);
	r = each(&a.nodes, &t, NULL, 1, cli->mem, &err);
	if (r == 0)
		r = each(&a.conf, &t, NULL, 1, cli->mem, &err);
	if (r == 0)
		r = each(&a.sacct, &t, NULL, 0, cli->mem, &err);
	if (r == 0)
		r = each(&a.assoc, &t, &yaml, 2, cli->mem, &err);
	code = r < 0                   ? wz_cli_fail(&err)
	       : t.nodes.n + t.tasks.n ? wz_cli_trace_write(cli, &t, &wz_format_wz, a.out)
	                               : WZ_EXIT_OK;
	if (code == 0 && a.assoc.n) {
		struct wz_buf path;
		wz_buf_init(&path, cli->mem, 65536);
		wz_buf_add(&path, a.out);
		r = wz_file_mkdirs(wz_buf_z(&path), 0777, &err);
		wz_buf_addz(&path, "/queues.yaml");
		if (r == 0)
			r = wz_file_write(wz_buf_z(&path), wz_buf_str(&yaml), 0666, &err);
		code = r < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
		if (r == 0) {
			wz_buf_add(&cli->out, wz_buf_str(&path));
			wz_buf_addc(&cli->out, '\n');
		}
		wz_buf_release(&path);
	}
	wz_buf_release(&yaml);
	wz_cli_trace_release(&t);
	return code;
}

const struct wz_verb wz_verb_trace_cut = {.name = "cut",
        .summary = "a part of a trace, its first submission at 0",
        .usage = "wz trace cut [--queue NAME] [--from T] [--to T] [--first N] [--last N] [--out DIR] FILE...",
        .examples =
                "wz trace cut --queue ee9e8c --from 2017-10-01 --to 2017-11-08 --out /tmp/part philly_jobs.csv\n",
        .opts = cut_opts,
        .fn = cut_fn};
const struct wz_verb wz_verb_trace_scale = {.name = "scale",
        .summary = "the same jobs, sooner or longer",
        .usage = "wz trace scale [--load X] [--run X] [--out DIR] FILE...",
        .examples = "wz trace scale --load 1.5 --out /tmp/busy trace.wz\n",
        .opts = scale_opts,
        .fn = scale_fn};
const struct wz_verb wz_verb_trace_merge = {.name = "merge",
        .summary = "several traces as one, from the same start",
        .usage = "wz trace merge [--out DIR] FILE FILE...",
        .examples = "wz trace merge --out /tmp/both a.wz b.wz\n",
        .opts = merge_opts,
        .fn = merge_fn};
const struct wz_verb wz_verb_trace_anon = {.name = "anon",
        .summary = "without names: words that tell nobody from anybody",
        .usage = "wz trace anon [--seed N] [--out DIR] FILE...",
        .examples = "wz trace anon --seed 271828 --out /tmp/share trace.wz\n",
        .opts = anon_opts,
        .fn = anon_fn};
const struct wz_verb wz_verb_trace_import_slurm = {.name = "import-slurm",
        .summary = "trace, cluster and queues from what Slurm prints",
        .usage = "wz trace import-slurm [--sacct FILE] [--nodes FILE] [--conf FILE] [--accounts FILE] [--out DIR]",
        .examples =
                "wz trace import-slurm --sacct jobs.txt --nodes nodes.txt --accounts dump.cfg --out /tmp/site\n",
        .opts = slurm_opts,
        .fn = slurm_fn};
