/* SPDX-License-Identifier: Apache-2.0 */
/* Options of sbatch that are about the job: what they mean here. What a task needs (--gres, --mem, ...) is translated by
 * core/translate.h. Three kinds of the rest: done otherwise here (a warning says how), meaningless on one machine (a
 * warning), and refused, because ignoring it would run something else than was meant. */
#include "jobspec/jobspec.h"

#include "base/check.h"
#include "base/near.h"
#include "base/quant.h"
#include "core/translate.h"

enum how {
	PROFILE, /* core/translate.h */
	KEY, /* the key of ours, the same value */
	FLAG, /* the key of ours, no value */
	NODES, /* --nodes=1 and such ask nothing; more is a gang */
	GPUS_ALL, /* --gpus: of the whole job */
	MEM_PER, /* --mem-per-cpu, --mem-per-gpu */
	CPUS_PER_GPU,
	EXPORT, /* ALL, NONE, NIL, names, NAME=VALUE */
	OPEN_MODE,
	MAIL,
	WRAP,
	KILL_ON_INVALID,
	GET_USER_ENV,
	WARN, /* known, and without effect here; `to` says why */
	REFUSE,
};

static const struct option {
	const char *name;
	char letter;
	bool value;
	enum how how;
	const char *to; /* key of ours, or the words of WARN and REFUSE */
} options[] = {
        {"gres", 0, true, PROFILE, NULL},
        {"gpus-per-node", 0, true, PROFILE, NULL},
        {"gpus-per-task", 0, true, PROFILE, NULL},
        {"cpus-per-task", 'c', true, PROFILE, NULL},
        {"mem", 0, true, PROFILE, NULL},
        {"time", 't', true, PROFILE, NULL},
        {"ntasks", 'n', true, NODES, NULL},
        {"nodes", 'N', true, NODES, NULL},
        {"signal", 0, true, PROFILE, NULL},
        {"gpus", 'G', true, GPUS_ALL, NULL},
        {"mem-per-cpu", 0, true, MEM_PER, NULL},
        {"mem-per-gpu", 0, true, MEM_PER, NULL},
        {"cpus-per-gpu", 0, true, CPUS_PER_GPU, NULL},
        {"job-name", 'J', true, KEY, "name"},
        {"array", 'a', true, KEY, "array"},
        {"dependency", 'd', true, KEY, "after"},
        {"begin", 'b', true, KEY, "begin"},
        {"deadline", 0, true, KEY, "deadline"},
        {"output", 'o', true, KEY, "output"},
        {"error", 'e', true, KEY, "error"},
        {"chdir", 'D', true, KEY, "cwd"},
        {"workdir", 0, true, KEY, "cwd"},
        {"comment", 0, true, KEY, "comment"},
        {"partition", 'p', true, KEY, "queue"},
        {"nice", 0, false, KEY, "nice"},
        {"priority", 0, true, KEY, "priority"},
        {"container", 0, true, KEY, "image"},
        {"hold", 'H', false, FLAG, "hold"},
        {"requeue", 0, false, PROFILE, NULL},
        {"no-requeue", 0, false, FLAG, "no-requeue"},
        {"export", 0, true, EXPORT, NULL},
        {"open-mode", 0, true, OPEN_MODE, NULL},
        {"mail-type", 0, true, MAIL, NULL},
        {"mail-user", 0, true, MAIL, NULL},
        {"wrap", 0, true, WRAP, NULL},
        {"kill-on-invalid-dep", 0, true, KILL_ON_INVALID, NULL},
        {"get-user-env", 0, false, GET_USER_ENV, NULL},
        {"account", 'A', true, WARN, "there are no accounts here: what is used is counted by user and queue"},
        {"qos", 'q', true, WARN, "there is no quality of service here: priority and queue decide"},
        {"ntasks-per-node", 0, true, WARN, "a task here is what runs on one node: say --ntasks"},
        {"ntasks-per-gpu", 0, true, WARN, "tasks are not started for each device: say --gpus-per-task"},
        {"exclusive", 0, false, WARN, "nodes are shared here, devices are not: ask for the devices"},
        {"oversubscribe", 's', false, WARN, "say gpu-share=50% for a part of a device"},
        {"parsable", 0, false, WARN, "it is an option of the command line"},
        {"quiet", 'Q', false, WARN, "it is an option of the command line"},
        {"verbose", 'v', false, WARN, "it is an option of the command line"},
        {"wait", 'W', false, WARN, "it is an option of the command line"},
        {"threads-per-core", 0, true, WARN, "cores are counted, not threads"},
        {"hint", 0, true, WARN, "threads are not bound here"},
        {"cpu-freq", 0, true, WARN, "the clock is not set here"},
        {"distribution", 'm', true, WARN, "placement is decided here"},
        {"switches", 0, true, WARN, "say link=rack in a #WZ line"},
        {"gpu-bind", 0, true, WARN, "each task sees its own devices"},
        {"gpu-freq", 0, true, WARN, "the clock is not set here"},
        {"tmp", 0, true, WARN, "local disk is not counted here"},
        {"time-min", 0, true, WARN, "the limit is not shortened to fit a gap here"},
        {"nodelist", 'w', true, REFUSE,
                "a job cannot be bound to nodes: say what the devices must be, such as --gpu-type"},
        {"exclude", 'x', true, REFUSE,
                "a job cannot exclude nodes: say what the devices must be, such as --gpu-type"},
        {"constraint", 'C', true, REFUSE,
                "features are not known here: say what the devices must be, such as --gpu-type"},
        {"licenses", 'L', true, REFUSE, "licences are not counted here"},
        {"reservation", 0, true, REFUSE, "say who may use a reservation in the reservation"},
        {"cluster", 'M', true, REFUSE, "there is one cluster"},
        {"clusters", 0, true, REFUSE, "there is one cluster"},
        {"uid", 0, true, REFUSE, "work runs as who submits it"},
        {"gid", 0, true, REFUSE, "work runs as who submits it"},
        {"bb", 0, true, REFUSE, "there are no burst buffers"},
        {"input", 'i', true, REFUSE, "standard input is empty here: redirect it in the script"},
};

static const struct option *find(struct wz_str key)
{
	for (unsigned i = 0; i < WZ_ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];
		if (wz_str_eq(key, wz_str(o->name)) || (key.len == 1 && o->letter && key.ptr[0] == o->letter))
			return o;
	}
	return NULL;
}

bool wz_jobspec_slurm_takes_value(struct wz_str key)
{
	const struct option *o = find(key);
	return !o || o->value;
}

static int refuse(const struct option *o, struct wz_str value, const char *why, struct wz_err *err)
{
	return wz_err_set(err, -EOPNOTSUPP, "Untranslatable", WZ_STR("--"), wz_str(o->name),
	        value.len ? WZ_STR("=") : WZ_STR(""), value, WZ_STR(": "), wz_str(why));
}

static int warn(struct wz_jobspec *j, const struct option *o, const char *why)
{
	char text[300];
	int n = snprintf(text, sizeof text, "--%s has no effect: %s", o->name, why);
	return wz_jobspec_warn(j, (struct wz_str){text, n < 0                  ? 0
	                                                : n < (int)sizeof text ? (size_t)n
	                                                                       : sizeof text - 1});
}

static int profile(struct wz_jobspec *j, const char *key, struct wz_str value, struct wz_err *err)
{
	int rc = wz_translate_slurm(&j->profile, wz_str(key), value, j->catalogue, err);
	wz_check(rc != 0); /* the table here and that one agree */
	return rc < 0 ? rc : 0;
}

/* --gpus of the whole job: of one task, or shared evenly among the tasks that were said before. */
static int gpus_all(struct wz_jobspec *j, const struct option *o, struct wz_str value, struct wz_err *err)
{
	struct wz_profile copy = j->profile;
	int rc = wz_translate_slurm(&copy, WZ_STR("gpus-per-task"), value, j->catalogue, err);
	uint32_t tasks = copy.tasks_max ? copy.tasks_max : 1;
	if (rc < 0)
		return rc;
	if (copy.gpus % tasks)
		return refuse(o, value, "the tasks cannot share them evenly: say --gpus-per-task", err);
	copy.gpus /= tasks;
	j->profile = copy;
	return 0;
}

static int per_unit(struct wz_jobspec *j, const struct option *o, struct wz_str value, struct wz_err *err)
{
	struct wz_profile copy = j->profile;
	bool cpu = wz_str_eq(wz_str(o->name), WZ_STR("mem-per-cpu"));
	uint64_t units = cpu ? (copy.cpu_milli + 999) / 1000 : copy.gpus;
	int rc = wz_translate_slurm(&copy, WZ_STR("mem"), value, j->catalogue, err);
	if (rc < 0)
		return rc;
	if (units == 0)
		units = 1;
	if (copy.mem_bytes > (uint64_t)WZ_BYTES_MAX / units)
		return refuse(o, value, "too much memory", err);
	copy.mem_bytes *= units;
	j->profile = copy;
	return 0;
}

static int cpus_per_gpu(struct wz_jobspec *j, const struct option *o, struct wz_str value, struct wz_err *err)
{
	uint64_t n;
	if (wz_str_parse_u64(value, &n) < 0 || n == 0 || n > 4096)
		return refuse(o, value, "expected a number of CPUs", err);
	j->profile.cpu_milli = n * 1000 * (j->profile.gpus ? j->profile.gpus : 1);
	return 0;
}

static int export_of(struct wz_jobspec *j, struct wz_str value, struct wz_err *err)
{
	int rc = 0;
	while (rc == 0 && value.ptr) {
		struct wz_str item = wz_str_trim(wz_str_split(&value, ','));
		if (wz_str_eq(item, WZ_STR("ALL")))
			rc = wz_jobspec_set(j, WZ_STR("env-all"), WZ_STR(""), err);
		else if (item.len && memchr(item.ptr, '=', item.len))
			rc = wz_jobspec_set(j, WZ_STR("env"), item, err);
		else if (item.len && !wz_str_eq(item, WZ_STR("NONE")) && !wz_str_eq(item, WZ_STR("NIL")))
			rc = wz_jobspec_set(j, WZ_STR("pass"), item, err);
	}
	return rc;
}

int wz_jobspec_slurm(struct wz_jobspec *j, struct wz_str key, struct wz_str value, struct wz_err *err)
{
	const struct option *o = find(key);
	struct wz_near near;
	if (!o) {
		wz_near_init(&near, key);
		for (unsigned i = 0; i < WZ_ARRAY_LEN(options); i++)
			wz_near_offer(&near, wz_str(options[i].name));
		return wz_err_set(err, -EINVAL, "UnknownOption", WZ_STR("sbatch option \""), key,
		        WZ_STR("\" is not known here"), near.best.len ? WZ_STR("; did you mean --") : WZ_STR(""),
		        near.best, near.best.len ? WZ_STR("?") : WZ_STR(""));
	}
	if (o->value && value.len == 0)
		return wz_err_set(
		        err, -EINVAL, "MissingValue", WZ_STR("--"), wz_str(o->name), WZ_STR(" needs a value"));
	switch (o->how) {
	case PROFILE:
	case NODES:
		return profile(j, o->name, value, err);
	case KEY:
		if (strcmp(o->name, "nice") == 0 && value.len == 0)
			value = WZ_STR("100");
		return wz_jobspec_set(j, wz_str(o->to), value, err);
	case FLAG:
		return wz_jobspec_set(j, wz_str(o->to), WZ_STR(""), err);
	case GPUS_ALL:
		return gpus_all(j, o, value, err);
	case MEM_PER:
		return per_unit(j, o, value, err);
	case CPUS_PER_GPU:
		return cpus_per_gpu(j, o, value, err);
	case EXPORT:
		return export_of(j, value, err);
	case OPEN_MODE:
		if (wz_str_eq(value, WZ_STR("append")))
			return 0;
		if (!wz_str_eq(value, WZ_STR("truncate")))
			return refuse(o, value, "expected append or truncate", err);
		return warn(j, o, "files of output are appended to");
	case MAIL:
		return warn(j, o, "notifications are named in the configuration of the daemon; say --notify NAME");
	case WRAP:
		return wz_jobspec_set(j, WZ_STR("sh"), value, err);
	case KILL_ON_INVALID:
		return wz_jobspec_set(j, WZ_STR("on-dep-fail"),
		        wz_str_eq(value, WZ_STR("no")) ? WZ_STR("hold") : WZ_STR("cancel"), err);
	case GET_USER_ENV:
		return warn(j, o, "say --export=ALL, or --pass NAME");
	case WARN:
		return warn(j, o, o->to);
	default:
		return refuse(o, value, o->to, err);
	}
}
