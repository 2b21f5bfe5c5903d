/* SPDX-License-Identifier: Apache-2.0 */
/* `wz submit`: a command and what it needs; prints the job's number. */
#include "cli/daemon.h"

#include "base/json.h"
#include "os/file.h"

#include <sys/random.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 << 20)
#define ENV_MAX 4096u

#define A(m) offsetof(struct wz_submit_args, m)
const struct wz_opt wz_submit_opts[] = {
        {"gpus", 'g', WZ_OPT_STRING, "N", "whole devices of each task", A(gpus), 0},
        {"gpu-share", 0, WZ_OPT_STRING, "PERCENT", "a part of one device's compute", A(gpu_share), 0},
        {"gpu-mem", 0, WZ_OPT_STRING, "SIZE", "memory of each device: 40G (class), 40Gi (exact)", A(gpu_mem), 0},
        {"gpu-type", 0, WZ_OPT_STRING, "NAME,...", "models in order of preference; !NAME excludes", A(gpu_type), 0},
        {"cu", 0, WZ_OPT_STRING, "N", "compute units, from whatever delivers them", A(cu), 0},
        {"link", 0, WZ_OPT_STRING, "HOW", "how close devices are: nvlink, pcie, numa, node, rack; ~HOW: preferred",
                A(link), 0},
        {"util", 0, WZ_OPT_STRING, "PERCENT", "expected use of the compute", A(util), 0},
        {"cpus", 'c', WZ_OPT_STRING, "N", "CPU cores of each task", A(cpus), 0},
        {"mem", 'm', WZ_OPT_STRING, "SIZE", "host memory of each task", A(mem), 0},
        {"time", 't', WZ_OPT_STRING, "TIME", "time limit", A(time), 0},
        {"tasks", 'n', WZ_OPT_STRING, "N|A..B", "tasks that start together", A(tasks), 0},
        {"preempt", 0, WZ_OPT_STRING, "CONTRACT", "signal:USR1,grace:60s,...", A(preempt), 0},
        {"profile", 0, WZ_OPT_STRING, "TEXT", "the same as one text (spec/profile.md)", A(profile), 0},
        {"script", 0, WZ_OPT_STRING, "FILE", "run this script, the operands are its arguments", A(script), 0},
        {"output", 'o', WZ_OPT_STRING, "FILE", "output goes to this file of yours: %j %A %a %x %u %N %r %t",
                A(output), 0},
        {"error", 'e', WZ_OPT_STRING, "FILE", "the same for standard errors (with output)", A(error), 0},
        {"keep", 0, WZ_OPT_DURATION, "TIME",
                "end it when nobody looked at its terminal for so long (wz shell: 30m)", A(keep_us), 0},
        {"image", 0, WZ_OPT_STRING, "IMAGE", "run inside this container image", A(image), 0},
        {"name", 'N', WZ_OPT_STRING, "NAME", "name of the job (the command's)", A(name), 0},
        {"queue", 'q', WZ_OPT_STRING, "NAME", "queue", A(queue), 0},
        {"priority", 'p', WZ_OPT_STRING, "N", "larger goes first", A(priority), 0},
        {"cwd", 0, WZ_OPT_STRING, "DIR", "working directory (the present one)", A(cwd), 0},
        {"comment", 0, WZ_OPT_STRING, "TEXT", "free text", A(comment), 0},
        {"key", 0, WZ_OPT_STRING, "KEY", "the same key never makes a second job", A(key), 0},
        {"slurm", 0, WZ_OPT_FLAG, NULL, "set SLURM_* variables too", A(slurm), 0},
        {"hold", 'H', WZ_OPT_FLAG, NULL, "wait for wz release", A(hold), 0},
        {"json", 0, WZ_OPT_FLAG, NULL, "one JSON document", A(json), 0},
        WZ_DAEMON_OPT(struct wz_submit_args),
        WZ_OPT_END,
};
#undef A

static void entry(struct wz_buf *b, const char *key, struct wz_str v)
{
	if (!v.len)
		return;
	bool preferred = v.ptr[0] == '~';
	if (b->len)
		wz_buf_addc(b, ' ');
	wz_buf_addz(b, key);
	if (!preferred)
		wz_buf_addc(b, '=');
	wz_buf_add(b, v);
}

static void profile_of(const struct wz_submit_args *a, struct wz_buf *b)
{
	wz_buf_add(b, a->profile);
	entry(b, "gpus", a->gpus);
	entry(b, "gpu-share", a->gpu_share);
	entry(b, "gpu-mem", a->gpu_mem);
	entry(b, "gpu-type", a->gpu_type);
	entry(b, "cu", a->cu);
	entry(b, "link", a->link);
	entry(b, "util", a->util);
	entry(b, "cpus", a->cpus);
	entry(b, "mem", a->mem);
	entry(b, "time", a->time);
	entry(b, "tasks", a->tasks);
	entry(b, "preempt", a->preempt);
}

/* Our whole environment; the agent takes what may pass. What is no UTF-8 cannot be told and is left out. */
static uint32_t env_of(struct wz_pair *to)
{
	uint32_t n = 0;
	for (char **p = environ; *p && n < ENV_MAX; p++) {
		struct wz_str value = wz_str(*p), key = wz_str_split(&value, '=');
		if (key.len && value.ptr && wz_utf8_ok(key) && wz_utf8_ok(value))
			to[n++] = (struct wz_pair){key, value};
	}
	return n;
}

static int fail(int code, const char *reason, struct wz_str what, const char *text)
{
	struct wz_err err;
	(void)wz_err_set(&err, code, reason, what, wz_str(text));
	return wz_cli_fail(&err);
}

/* A random key: so that a call that is repeated after a lost answer is still one job. */
static int key_of(const struct wz_submit_args *a, char ret[40])
{
	uint64_t r[2];
	if (a->key.len)
		return 0;
	if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
		return fail(-EIO, "NoRandom", WZ_STR(""), "no random numbers to be had");
	(void)snprintf(ret, 40, "%016llx%016llx", (unsigned long long)r[0], (unsigned long long)r[1]);
	return 0;
}

static int send(
        struct wz_daemon *d, struct wz_api_submit *rq, const char *key, struct wz_buf *answer, uint64_t *ret_job)
{
	struct wz_buf body;
	wz_buf_init(&body, d->cli->mem, BODY_MAX);
	wz_json_write(&body, &wz_type_submit, rq, true);
	int code = body.status < 0 ? fail(body.status, "TooLarge", WZ_STR(""), "the job is too large to submit")
	                           : wz_daemon_call(d, "POST", "/v1/jobs", wz_buf_str(&body), key, answer);
	wz_buf_release(&body);
	if (code)
		return code;
	json_t *j = json_loadb(answer->data, answer->len, 0, NULL);
	*ret_job = (uint64_t)wz_daemon_int(j, "id");
	json_decref(j);
	return 0;
}

static int prepare(const struct wz_verb *v, const struct wz_submit_args *a, int argc, char **argv,
        struct wz_str *args, struct wz_api_submit *rq, char *cwd)
{
	int64_t priority = 0;
	if (argc == 0 && !a->script.len)
		return wz_cli_usage(v, "a command is missing");
	if (a->priority.len &&
	        (wz_str_parse_i64(a->priority, &priority) < 0 || priority < INT32_MIN || priority > INT32_MAX))
		return wz_cli_usage(v, "--priority: expected a whole number");
	for (int i = 0; i < argc; i++) {
		args[i] = wz_str(argv[i]);
		if (!wz_utf8_ok(args[i]))
			return fail(
			        -EINVAL, "BadText", args[i], ": an argument that is not UTF-8 cannot be submitted");
	}
	if (!a->cwd.len && !getcwd(cwd, WZ_DAEMON_PATH_MAX))
		return fail(-ENOENT, "FileError", WZ_STR(""), "the working directory is gone; give --cwd");
	rq->argv = (struct wz_strs){args, (uint32_t)argc};
	rq->cwd = a->cwd.len ? a->cwd : wz_str(cwd);
	rq->name = a->name;
	rq->queue = a->queue;
	rq->comment = a->comment;
	rq->image = a->image;
	rq->stdout_path = a->output;
	rq->stderr_path = a->error;
	rq->pty = a->pty;
	rq->rows = a->rows;
	rq->cols = a->cols;
	rq->terminal_keep_us = (int64_t)a->keep_us;
	rq->priority = (int32_t)priority;
	rq->held = a->hold;
	rq->compat = a->slurm ? WZ_STR("slurm") : WZ_STR("");
	return 0;
}

int wz_submit(struct wz_daemon *d, const struct wz_verb *v, const struct wz_submit_args *a, int argc, char **argv,
        struct wz_buf *ret_answer, uint64_t *ret_job)
{
	const struct wz_mem *mem = d->cli->mem;
	struct wz_str *args = wz_mem_alloc(mem, ((size_t)argc + 1) * sizeof *args);
	struct wz_pair *env = wz_mem_alloc(mem, ENV_MAX * sizeof *env);
	struct wz_file_text script = {.mem = mem};
	struct wz_api_submit rq = {.dry_run = false};
	struct wz_buf profile;
	struct wz_err err;
	char cwd[WZ_DAEMON_PATH_MAX], key[40];
	wz_buf_init(&profile, mem, WZ_API_TEXT_MAX);
	int code = args && env ? prepare(v, a, argc, argv, args, &rq, cwd)
	                       : fail(-ENOMEM, "OutOfMemory", WZ_STR(""), "out of memory");
	if (code == 0 && a->script.len) {
		if (argc)
			code = wz_cli_usage(v, "give a command or --script, one of the two");
		else if (wz_file_read(a->script.ptr, WZ_API_BLOB_MAX, mem, &script, &err) < 0)
			code = wz_cli_fail(&err);
		rq.script = wz_file_text_str(&script);
	}
	if (code == 0)
		code = key_of(a, key);
	if (code == 0) {
		profile_of(a, &profile);
		rq.profile = wz_buf_str(&profile);
		rq.env = (struct wz_pairs){env, env_of(env)};
		code = send(d, &rq, a->key.len ? a->key.ptr : key, ret_answer, ret_job);
	}
	wz_file_text_release(&script);
	wz_buf_release(&profile);
	wz_mem_free(mem, env, ENV_MAX * sizeof *env);
	wz_mem_free(mem, args, ((size_t)argc + 1) * sizeof *args);
	return code;
}

static int submit_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct wz_submit_args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf answer;
	uint64_t job;
	int n = wz_cli_opts(v, &a, argc, argv);
	if (n < 0)
		return WZ_EXIT_USAGE;
	int code = wz_daemon_open(&d, cli, a.socket);
	if (code == 0)
		code = wz_submit(&d, v, &a, n, argv, &answer, &job);
	if (code == 0) {
		if (a.json) {
			wz_buf_add(&cli->out, wz_buf_str(&answer));
		} else {
			wz_buf_add_u64(&cli->out, job);
			wz_buf_addc(&cli->out, '\n');
		}
		wz_buf_release(&answer);
	}
	wz_daemon_close(&d);
	return code;
}

const struct wz_verb wz_verb_submit = {
        .name = "submit",
        .summary = "queue a command; prints the job's number",
        .usage = "wz submit [options] -- COMMAND [ARGUMENT...]",
        .examples = "wz submit --gpus 1 --time 8h -- python train.py --lr 3e-4\n"
                    "wz submit --gpus 8 --tasks 2 --link nvlink -- ./gang.sh\n"
                    "wz submit --gpu-share 50% --gpu-mem 10Gi -- python serve.py\n",
        .opts = wz_submit_opts,
        .fn = submit_fn,
        .more = "The command is never given to a shell. It runs in the present directory, with a clean "
                "environment: PATH,\n"
                "VIRTUAL_ENV, CONDA_*, LANG, LC_* and TZ pass.\n",
};
