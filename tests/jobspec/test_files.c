/* SPDX-License-Identifier: Apache-2.0 */
/* Job files and scripts: what they come to, and where each fault is said to be. */
#include "tap.h"

#include "jobspec/jobspec.h"
#include "os/mem.h"

static struct wz_err err;
static struct wz_catalogue cat;
static struct wz_arena arena;
static struct wz_jobspec j;

static int yaml(const char *text)
{
	wz_arena_clear(&arena);
	wz_jobspec_init(&j, &arena, &cat, 1764590400000000);
	int rc = wz_jobspec_yaml(&j, wz_str(text), "job.yaml", 0, &err);
	return rc < 0 ? rc : wz_jobspec_finish(&j, &err);
}

static int script(const char *text)
{
	wz_arena_clear(&arena);
	wz_jobspec_init(&j, &arena, &cat, 1764590400000000);
	int rc = wz_jobspec_script(&j, wz_str(text), "train.sh", &err);
	return rc < 0 ? rc : wz_jobspec_finish(&j, &err);
}

static bool has(struct wz_strs l, const char *z)
{
	for (uint32_t i = 0; i < l.n; i++)
		if (wz_str_eq(l.v[i], wz_str(z)))
			return true;
	return false;
}

static void test_whole(void)
{
	tap_require(yaml("name: vit-s16\n"
	                 "run: python train.py --lr ${lr} --note 'a b'\n"
	                 "gpus: a100:2\n"
	                 "cpus: 8\n"
	                 "mem: 64Gi\n"
	                 "time: 4h\n"
	                 "env: {pass: [HF_*, WANDB_MODE], set: {OMP_NUM_THREADS: \"8\"}, secret: [WANDB_API_KEY]}\n"
	                 "snapshot: git\n"
	                 "sweep: {lr: [1e-3, 3e-4], seed: 1..3}\n"
	                 "after: {ok: [12, 13], any: 14}\n"
	                 "retry: {on: [node_fail, exit:75], max: 3, delay: 1m}\n"
	                 "logs: {max: 1Gi}\n"
	                 "labels: {team: vision}\n"
	                 "preempt: {signal: USR1, grace: 60s}\n"
	                 "hold: true\n") == 0,
	        "%s", err.text);
	tap_eq_i64(j.rq.argv.n, 6, "arguments");
	tap_ok(wz_str_eq(j.rq.argv.v[5], WZ_STR("a b")), "parted as a shell would");
	tap_ok(strstr(j.profile_text, "gpus=2") && strstr(j.profile_text, "gpu-type=") &&
	                strstr(j.profile_text, "time=4h") && strstr(j.profile_text, "preempt="),
	        "%s", j.profile_text);
	tap_ok(has(j.rq.env_pass, "HF_*") && j.rq.env_set.n == 1 && j.secrets.n == 1, "environment");
	tap_ok(has(j.rq.sweep, "lr=1e-3,3e-4") && has(j.rq.sweep, "seed=1..3"), "sweep");
	tap_ok(has(j.rq.after, "afterok:12") && has(j.rq.after, "afterok:13") && has(j.rq.after, "afterany:14"),
	        "dependencies");
	tap_ok(j.rq.retry_max == 3 && j.rq.retry_on.n == 2 && j.rq.retry_delay_us == 60000000, "retries");
	tap_ok(j.rq.held && j.snapshot == WZ_SNAPSHOT_GIT && j.rq.labels.n == 1 && j.rq.log_max_bytes == 1073741824,
	        "the rest");
	/* flags over it */
	tap_ok(wz_jobspec_set(&j, WZ_STR("time"), WZ_STR("1h"), &err) == 0 &&
	                wz_jobspec_set(&j, WZ_STR("name"), WZ_STR("x"), &err) == 0 &&
	                wz_jobspec_finish(&j, &err) == 0,
	        "%s", err.text);
	tap_ok(strstr(j.profile_text, "time=1h") && strstr(j.profile_text, "gpus=2") &&
	                wz_str_eq(j.rq.name, WZ_STR("x")),
	        "a flag replaces its key alone: %s", j.profile_text);
}

static void test_forms(void)
{
	tap_ok(yaml("run: [python, -c, 'print(\"a b\")']\n") == 0 && j.rq.argv.n == 3, "a list of arguments");
	tap_ok(yaml("sh: 'a && b | c'\n") == 0 && j.rq.argv.n == 3 &&
	                wz_str_eq(j.rq.argv.v[2], WZ_STR("a && b | c")),
	        "a shell when asked");
	tap_ok(yaml("run: true\nafter: [afterok:1, singleton]\n") == 0 && j.rq.after.n == 2,
	        "dependencies as a list");
	tap_ok(yaml("run: true\ngpu-type: [h100, a100]\n") == 0, "a list of models: %s", err.text);
	wz_arena_clear(&arena);
	static const char two[] = "name: a\nrun: true\n---\nname: b\nrun: true\nafter: {ok: a}\n";
	for (unsigned i = 0; i < 2; i++) {
		wz_jobspec_init(&j, &arena, &cat, 1);
		tap_ok(wz_jobspec_yaml(&j, wz_str(two), "f", i, &err) == 0, "document %u: %s", i, err.text);
		tap_ok(j.rq.name.len == 1 && j.rq.name.ptr[0] == (char)('a' + i), "is that one");
	}
	tap_eq_i64(wz_jobspec_yaml(&j, wz_str(two), "f", 2, &err), -ENOENT, "there is no third");
}

static void test_faults(void)
{
	static const struct {
		const char *text, *says;
	} faults[] = {
	        {"run: true\ngpsu: 2\n", "job.yaml:2:1: unknown key \"gpsu\"; did you mean \"gpus\"?"},
	        {"run: true\nnmae: x\n", "job.yaml:2:1: unknown key \"nmae\"; did you mean \"name\"?"},
	        {"run: true\ngpus: many\n", "job.yaml:2:7: "},
	        {"run: true\nretry: {mxa: 3}\n", "job.yaml:2:9: unknown key \"mxa\"; did you mean \"max\"?"},
	        {"run: true\nretry: {on: [exit:999]}\n", "job.yaml:2:"},
	        {"run: a | b\n", "job.yaml:1:6: \"|\" means something to a shell"},
	        {"run: ''\n", "job.yaml:1:6: expected a command"},
	        {"run: true\nhold: maybe\n", "job.yaml:2:7: expected true or false"},
	        {"run: true\narray: 5-1\n", "job.yaml:2:8: "},
	        {"run: true\nbegin: later\n", "job.yaml:2:8: "},
	        {"run: true\nrun: false\n", "job.yaml:1:1: "},
	        {"- run\n", "job.yaml:1:1: expected a map"},
	        {"run: [a\n", "job.yaml:"},
	        {"run: true\ngpus: 2\ngpu-share: 50%\n", "job.yaml:"},
	        {"run: true\nsweep: {1r: [1]}\n", "job.yaml:2:13: "},
	        {"run: true\nenv: {set: [a]}\n", "job.yaml:2:12: expected a map"},
	};
	for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
		int rc = yaml(faults[i].text);
		tap_ok(rc < 0 && strncmp(err.text, faults[i].says, strlen(faults[i].says)) == 0,
		        "want %s..., got %d %s", faults[i].says, rc, rc < 0 ? err.text : "");
	}
}

static void test_script(void)
{
	tap_require(script("#!/bin/bash\n"
	                   "#SBATCH --job-name=prep --time=1:30:00\n"
	                   "#SBATCH -c 4 --mem=8G  # a comment\n"
	                   "#SBATCH --gres=gpu:a100:2\n"
	                   "#SBATCH -o out-%j.txt\n"
	                   "#SBATCH --array=0-9%2\n"
	                   "#SBATCH --dependency=afterok:12:13,singleton\n"
	                   "#SBATCH --export=NONE,PATH,A=b\n"
	                   "#SBATCH --account=lab\n"
	                   "#SBATCH --begin=now+1hour\n"
	                   "#WZ --retries=2 --label team=nlp\n"
	                   "\n"
	                   "echo go\n"
	                   "#SBATCH --nonsense\n") == 0,
	        "%s", err.text);
	tap_ok(wz_str_eq(j.rq.name, WZ_STR("prep")) && wz_str_eq(j.rq.compat, WZ_STR("slurm")),
	        "name, and SLURM_* variables");
	tap_ok(strstr(j.profile_text, "time=1h30m") && strstr(j.profile_text, "cpus=4") &&
	                strstr(j.profile_text, "mem=8Gi") && strstr(j.profile_text, "gpus=2"),
	        "%s", j.profile_text);
	tap_ok(wz_str_eq(j.rq.array, WZ_STR("0-9%2")) && j.rq.after.n == 1 &&
	                j.rq.begin_us == 1764590400000000 + 3600000000,
	        "the job");
	tap_ok(has(j.rq.env_pass, "PATH") && j.rq.env_set.n == 1 && !j.rq.env_all, "environment");
	tap_ok(j.rq.retry_max == 2 && j.rq.labels.n == 1, "ours");
	tap_ok(j.warnings.n == 1 && wz_str_starts(j.warnings.v[0], WZ_STR("--account has no effect")),
	        "what has no effect is said");
	tap_ok(wz_str_starts(j.rq.script, WZ_STR("#!/bin/bash\n")), "the text is kept");
	tap_ok(script("#SBATCH --gpus=4 --ntasks=2\nx\n") < 0 || strstr(j.profile_text, "gpus"), "gpus of a job");
	tap_ok(script("#SBATCH -n2 -G4\nx\n") == 0 && strstr(j.profile_text, "gpus=2") &&
	                strstr(j.profile_text, "tasks=2"),
	        "devices shared by the tasks: %s", j.profile_text);
	tap_ok(script("#SBATCH --gpus-per-node=2\n#WZ --gpus=3\nx\n") == 0 && strstr(j.profile_text, "gpus=3"),
	        "ours replaces theirs: %s", j.profile_text);
	static const struct {
		const char *text, *says;
	} faults[] = {
	        {"#!/bin/sh\n#SBATCH --tiem=3\n",
	                "train.sh:2: sbatch option \"tiem\" is not known here; did you mean --time?"},
	        {"#SBATCH --nodelist=n1\n", "train.sh:1: --nodelist=n1: a job cannot be bound"},
	        {"#SBATCH --time\n", "train.sh:1: \"time\" needs a value"},
	        {"#SBATCH --time=soon\n", "train.sh:1: "},
	        {"#SBATCH hello\n", "train.sh:1: \"hello\" is no option"},
	        {"#SBATCH --job-name='x\n", "train.sh:1: a quote is not closed"},
	        {"#WZ --retires=3\n", "train.sh:1: unknown key \"retires\"; did you mean \"retries\"?"},
	        {"#WZ retries=3\n", "train.sh:1: \"retries=3\": expected --KEY=VALUE"},
	        {"#SBATCH -a 5-1\n", "train.sh:1: "},
	};
	for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) {
		int rc = script(faults[i].text);
		tap_ok(rc < 0 && strncmp(err.text, faults[i].says, strlen(faults[i].says)) == 0,
		        "want %s..., got %d %s", faults[i].says, rc, rc < 0 ? err.text : "");
	}
}

static void test_check(void)
{
	struct wz_str argv[] = {WZ_STR("x")}, sweep[] = {WZ_STR("a=1,2")},
	              lines[] = {WZ_STR("echo a"), WZ_STR("a | b")};
	struct wz_api_submit ok = {.argv = {argv, 1}}, x;
	const char *field = NULL;
	tap_eq_i64(wz_submit_check(&ok, &arena, &field, &err), 0, "a command");
#define REFUSES(want, ...) \
	x = ok; \
	__VA_ARGS__; \
	tap_ok(wz_submit_check(&x, &arena, &field, &err) < 0 && field && strcmp(field, want) == 0, want ": %s", \
	        err.text)
	REFUSES("argv", x.argv.n = 0);
	REFUSES("array", x.array = WZ_STR("0-"));
	REFUSES("array", x.array = WZ_STR("0-3"); x.sweep = ((struct wz_strs){sweep, 1}));
	REFUSES("throttle", x.throttle = 3);
	REFUSES("lines", x.argv.n = 0; x.lines = ((struct wz_strs){lines, 2}));
	REFUSES("cwd", x.cwd = WZ_STR("here"));
	REFUSES("deadline_us", x.begin_us = 5; x.deadline_us = 4);
	REFUSES("on_dep_fail", x.on_dep_fail = WZ_STR("explode"));
	REFUSES("name", x.name = WZ_STR("a\nb"));
	x = ok;
	x.argv.n = 0;
	x.lines = (struct wz_strs){lines, 2};
	tap_ok(wz_submit_check(&x, &arena, &field, &err) < 0 && strstr(err.text, "line 2: "), "%s", err.text);
}

int main(void)
{
	if (wz_catalogue_init(&cat, wz_os_mem()) < 0)
		return 99;
	wz_arena_init(&arena, wz_os_mem(), 65536);
	tap_run(test_whole);
	tap_run(test_forms);
	tap_run(test_faults);
	tap_run(test_script);
	tap_run(test_check);
	wz_arena_release(&arena);
	wz_catalogue_release(&cat);
	return tap_done();
}
