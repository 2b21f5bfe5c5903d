/* SPDX-License-Identifier: Apache-2.0 */
/* A job as it is asked for, whatever it was written in: flags of `wz submit`, a job file, or the #SBATCH and #WZ lines of a
 * script. All end in one request (`rq`, of the API) and one profile, by one table of keys. The daemon gets the request
 * alone and checks it again by the same parsers (indices, depend, params, retry, words); it never reads files for anybody.
 *
 *	wz_jobspec_init(&j, &arena, catalogue, now);
 *	wz_jobspec_yaml / wz_jobspec_script / wz_jobspec_set ...      a file, then flags over it
 *	wz_jobspec_finish(&j, &err);                                  then j.rq is whole but for env, secrets, code
 *
 * Everything lives in the arena. Thread rule: none shared. Fuzzed (fuzz_jobspec). */
#ifndef WZ_JOBSPEC_JOBSPEC_H
#define WZ_JOBSPEC_JOBSPEC_H

#include "api/resource.h"
#include "core/profile.h"

#define WZ_JOBSPEC_FILE_MAX ((size_t)4 << 20)
#define WZ_JOBSPEC_DOCS_MAX 1024u /* of one file */
#define WZ_JOBSPEC_ITEMS_MAX 1024u /* of one list */
#define WZ_JOBSPEC_WARNINGS_MAX 32u

enum wz_snapshot_how { WZ_SNAPSHOT_NONE, WZ_SNAPSHOT_GIT, WZ_SNAPSHOT_COPY };

struct wz_jobspec_list {
	struct wz_str *v;
	uint32_t n, cap;
};

struct wz_jobspec {
	struct wz_arena *arena;
	const struct wz_catalogue *catalogue;
	int64_t now_us;
	struct wz_api_submit rq;
	struct wz_profile profile;
	struct wz_jobspec_list argv, after, sweep, retry_on, env_pass, env_set, labels, warnings;
	struct wz_jobspec_list secrets; /* "NAME" or "NAME=SOURCE": `env`, `-` or a path; read by who submits */
	struct wz_str lines; /* path of the line file; "-" standard input */
	struct wz_str script; /* path of a script, given as a flag */
	struct wz_str key; /* idempotency key */
	uint8_t snapshot; /* enum wz_snapshot_how */
	bool untracked;
	bool shell; /* argv[0] is the text of a shell command */
	char profile_text[WZ_PROFILE_TEXT_MAX];
};

void wz_jobspec_init(struct wz_jobspec *j, struct wz_arena *a, const struct wz_catalogue *c, int64_t now_us);

/* The table of keys: X(key, alias, value, help). A key without a value is a flag. Used by wz_jobspec_set, the options of the
 * command line, the keys of job files and #WZ lines. */
#define WZ_JOBSPEC_KEYS(X) \
	X("gpus", 'g', "N", "whole devices of each task; TYPE:N names a model") \
	X("gpu-share", 0, "PERCENT", "a part of one device's compute") \
	X("gpu-mem", 0, "SIZE", "memory of each device: 40G (class), 40Gi (exact)") \
	X("gpu-mem-total", 0, "SIZE", "memory over all devices of a task") \
	X("gpu-type", 0, "NAME,...", "models in order of preference; !NAME excludes") \
	X("cu", 0, "N", "compute units, from whatever delivers them") \
	X("link", 0, "HOW", "how close devices are: nvlink, pcie, numa, node, rack; ~HOW: preferred") \
	X("free", 0, "PERCENT", "live free memory of each device") \
	X("bw", 0, "GB/s", "memory bandwidth of each device") \
	X("util", 0, "PERCENT", "expected use of the compute") \
	X("cpus", 'c', "N", "CPU cores of each task") \
	X("mem", 'm', "SIZE", "host memory of each task") \
	X("time", 't', "TIME", "time limit of one attempt") \
	X("tasks", 'n', "N|A..B", "tasks that start together") \
	X("kind", 0, "batch|service", "service: work without an end") \
	X("preempt", 0, "CONTRACT", "signal:USR1,grace:60s,...") \
	X("profile", 0, "TEXT", "the same as one text (spec/profile.md)") \
	X("name", 'N', "NAME", "name of the job (the command's)") \
	X("queue", 'q', "NAME", "queue") \
	X("priority", 'p', "N", "larger goes first") \
	X("nice", 0, "N", "lowers the priority by N") \
	X("comment", 0, "TEXT", "free text") \
	X("label", 'l', "NAME=VALUE", "label; may be given several times") \
	X("constraint", 0, "TEXT", "what it asks of labels: node: rack in (a,b); apart: app=web per node") \
	X("cwd", 'D', "DIR", "working directory (the present one)") \
	X("hold", 'H', NULL, "wait for wz release") \
	X("begin", 'b', "TIME", "not before: 18:00, now+2h, 2026-12-24T18:00") \
	X("deadline", 0, "TIME", "not after: ended then, refused when it cannot be met") \
	X("after", 'd', "WHAT", \
	        "afterok:17, afterany:17_3, after:17+5, aftercorr:17, singleton; ',' all, '?' any") \
	X("on-dep-fail", 0, "cancel|hold|run", "when a dependency can no longer be met") \
	X("array", 'a', "SET", "one task for each index: 0-31, 1,3,5, 1-7:2, with %8 at most 8 at once") \
	X("sweep", 0, "NAME=A,B|A..B", \
	        "one task for each value, {NAME} in the command; several: all combinations") \
	X("lines", 0, "FILE", "one task for each line, {line} in the command; without one the line is it") \
	X("throttle", 0, "N", "tasks of an array that may run at once") \
	X("retries", 0, "N", "attempts after the first one failed") \
	X("retry-on", 0, "WHAT,...", "exit:75, signal:9, FAILED, OOM, TIMEOUT, NODE_LOST, ...") \
	X("retry-delay", 0, "TIME", "pause before the first retry (10s), doubled each time") \
	X("no-requeue", 0, NULL, "do not start it again when its node is lost") \
	X("output", 'o', "FILE", "output goes there: %j job, %A array, %a index, %r restarts, %x name, %u user") \
	X("error", 'e', "FILE", "stderr goes there") \
	X("keep", 0, "TIME", "end it when nobody looked at its terminal for so long (wz shell: 30m)") \
	X("env", 0, "NAME=VALUE", "set a variable; may be given several times") \
	X("pass", 0, "NAME,...", "variables that pass besides PATH and the like; NAME* for a prefix") \
	X("env-all", 0, NULL, "all variables pass") \
	X("secret", 0, "NAME[=FILE|env|-]", "a secret, from a file, the variable NAME or standard input") \
	X("secrets-env", 0, NULL, "secrets as variables; else as files in WZ_SECRETS_DIR") \
	X("snapshot", 0, "git|copy", "run in a checkout of the code as it is now") \
	X("untracked", 0, NULL, "with the files that git does not track and does not ignore") \
	X("script", 0, "FILE", "run this script, the operands are its arguments") \
	X("sh", 0, "TEXT", "run this by /bin/sh -c") \
	X("umask", 0, "OCTAL", "file mode mask") \
	X("log-max", 0, "SIZE", "head and tail of the log that are kept (64Mi)") \
	X("image", 0, "NAME", "container image") \
	X("notify", 0, "NAME", "a notification of the configuration") \
	X("key", 0, "KEY", "the same key never makes a second job") \
	X("slurm", 0, NULL, "set SLURM_* variables too")

/* One key. `value` is kept as a view (or copied into the arena when it must be). A list adds up, anything else replaces,
 * and a key of a profile is an error when given twice between two wz_profile_finish (keys of a profile). -EINVAL and the reasons of the parsers,
 * "UnknownKey" (names what is near); -ENOMEM. */
int wz_jobspec_set(struct wz_jobspec *j, struct wz_str key, struct wz_str value, struct wz_err *err);
bool wz_jobspec_key(struct wz_str key, bool *ret_flag); /* is it one, and is it a flag */
int wz_jobspec_command(struct wz_jobspec *j, const struct wz_str *argv, uint32_t n, struct wz_err *err);
int wz_jobspec_warn(struct wz_jobspec *j, struct wz_str text); /* kept, bounded */

/* Document number `which` (from 0) of a job file; -ENOENT: there are not so many. Errors begin with NAME:LINE:COLUMN. */
int wz_jobspec_yaml(struct wz_jobspec *j, struct wz_str text, const char *name, unsigned which, struct wz_err *err);

/* A script: its #SBATCH and #WZ lines up to the first command, and the text itself, which the job runs. Errors begin
 * with NAME:LINE. Lines of #SBATCH set SLURM_* variables, too. */
int wz_jobspec_script(struct wz_jobspec *j, struct wz_str text, const char *name, struct wz_err *err);
/* One option of sbatch, long or short ("gpus-per-node", "J"). 0; -EINVAL; -EOPNOTSUPP "Untranslatable"; what is only a hint is
 * a warning. */
int wz_jobspec_slurm(struct wz_jobspec *j, struct wz_str key, struct wz_str value, struct wz_err *err);
bool wz_jobspec_slurm_takes_value(struct wz_str key); /* of a short or long option; unknown ones: true */

/* Moves lists into rq, and the profile's text. May be called again after more keys. */
int wz_jobspec_finish(struct wz_jobspec *j, struct wz_err *err);

/* ---- what both sides check (check.c) ---- */
/* Everything of a request that can be checked without the daemon's state: sets, dependencies, retries, sweeps, lines,
 * names, labels. *ret_field: the field of the fault. What the daemon asks of every submit. O(request). */
int wz_submit_check(const struct wz_api_submit *rq, struct wz_arena *a, const char **ret_field, struct wz_err *err);

#endif
