/* SPDX-License-Identifier: Apache-2.0 */
/* `wz edit`: KEY=VALUE of jobs that wait; name, comment and deadline of those that run, too. The keys are those of
 * `wz submit`, read by the same parsers. */
#include "cli/daemon.h"

#include "base/near.h"
#include "base/check.h"
#include "jobspec/jobspec.h"
#include "os/clock.h"
#include "os/when.h"

struct args {
	struct wz_str socket;
	bool json;
};
static const struct wz_opt opts[] = {
        {"json", 0, WZ_OPT_FLAG, NULL, "the job as one JSON document", offsetof(struct args, json), 0},
        WZ_DAEMON_OPT(struct args),
        WZ_OPT_END,
};

static void field(struct wz_buf *b, const char *key)
{
	if (b->len > 1)
		wz_buf_addc(b, ',');
	wz_buf_addc(b, '"');
	wz_buf_addz(b, key);
	wz_buf_addz(b, "\":");
}

static int when(struct wz_buf *b, const char *key, struct wz_str v)
{
	struct wz_err err;
	int64_t us = 0;
	if (v.len && !wz_str_eq(v, WZ_STR("none")) && wz_when_parse(v, wz_clock_wall_us(), &us, &err) < 0)
		return wz_cli_fail(&err);
	field(b, key);
	wz_buf_add_i64(b, us);
	return 0;
}

/* One KEY=VALUE into the body; entries of the profile are gathered. */
static int one(const struct wz_verb *v, const char *text, struct wz_buf *b, struct wz_buf *profile)
{
	static const char *const own[] = {
	        "priority", "nice", "name", "comment", "begin", "deadline", "after", "hold"};
	struct wz_str value = wz_str(text), key = wz_str_split(&value, '=');
	struct wz_near near;
	int64_t n;
	if (!value.ptr)
		return wz_cli_usage(v, "KEY=VALUE is expected after the job number");
	if (wz_str_eq(key, WZ_STR("priority")) || wz_str_eq(key, WZ_STR("nice"))) {
		bool nice = key.len == 4;
		if (wz_str_parse_i64(value, &n) < 0 || n < -INT32_MAX || n > INT32_MAX)
			return wz_cli_usage(v, "priority: a whole number is expected");
		field(b, "priority");
		wz_buf_add_i64(b, nice ? -n : n);
	} else if (wz_str_eq(key, WZ_STR("name")) || wz_str_eq(key, WZ_STR("comment"))) {
		field(b, key.len == 4 ? "name" : "comment");
		wz_buf_add_json(b, value);
	} else if (wz_str_eq(key, WZ_STR("begin"))) {
		return when(b, "begin_us", value);
	} else if (wz_str_eq(key, WZ_STR("deadline"))) {
		return when(b, "deadline_us", value);
	} else if (wz_str_eq(key, WZ_STR("after"))) {
		field(b, "after");
		wz_buf_addc(b, '[');
		if (value.len && !wz_str_eq(value, WZ_STR("none")))
			wz_buf_add_json(b, value);
		wz_buf_addc(b, ']');
	} else if (wz_str_eq(key, WZ_STR("hold"))) {
		if (!wz_str_eq(value, WZ_STR("true")) && !wz_str_eq(value, WZ_STR("false")))
			return wz_cli_usage(v, "hold: true or false is expected");
		field(b, "held");
		wz_buf_add(b, value);
	} else {
		unsigned i = 0;
		wz_near_init(&near, key);
		while (i < wz_profile_keys_n && !wz_str_eq(key, wz_str(wz_profile_keys[i].name)))
			wz_near_offer(&near, wz_str(wz_profile_keys[i++].name));
		for (unsigned k = 0; k < WZ_ARRAY_LEN(own); k++)
			wz_near_offer(&near, wz_str(own[k]));
		if (i == wz_profile_keys_n) {
			struct wz_err err;
			(void)wz_err_set(&err, -EINVAL, "UnknownKey", WZ_STR("\""), key,
			        WZ_STR("\" cannot be edited"),
			        near.best.len ? WZ_STR("; did you mean ") : WZ_STR(""), near.best,
			        near.best.len ? WZ_STR("?") : WZ_STR(""));
			return wz_cli_usage(v, err.text);
		}
		if (profile->len)
			wz_buf_addc(profile, ' ');
		wz_buf_add(profile, key);
		wz_buf_addc(profile, '=');
		wz_buf_add(profile, value);
	}
	return 0;
}

static int edit_fn(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv)
{
	struct args a = {.json = false};
	struct wz_daemon d;
	struct wz_buf body, profile, answer;
	char path[64];
	uint64_t job;
	int n = wz_cli_opts(v, &a, argc, argv), code = 0;
	if (n < 2)
		return n < 0 ? WZ_EXIT_USAGE : wz_cli_usage(v, "a job number and KEY=VALUE are expected");
	wz_buf_init(&body, cli->mem, 1 << 20);
	wz_buf_init(&profile, cli->mem, 1 << 16);
	wz_buf_addc(&body, '{');
	for (int i = 1; code == 0 && i < n; i++)
		code = one(v, argv[i], &body, &profile);
	if (profile.len) {
		field(&body, "profile");
		wz_buf_add_json(&body, wz_buf_str(&profile));
	}
	wz_buf_addc(&body, '}');
	if (code == 0) {
		code = wz_daemon_open(&d, cli, a.socket);
		if (code == 0)
			code = wz_daemon_job(&d, v, argv[0], &job);
		if (code == 0) {
			(void)snprintf(path, sizeof path, "/v1/jobs/%llu", (unsigned long long)job);
			code = wz_daemon_call(&d, "PATCH", path, wz_buf_str(&body), NULL, &answer);
		}
		if (code == 0) {
			if (a.json)
				wz_buf_add(&cli->out, wz_buf_str(&answer));
			wz_buf_release(&answer);
		}
		wz_daemon_close(&d);
	}
	wz_buf_release(&body);
	wz_buf_release(&profile);
	return code;
}

const struct wz_verb wz_verb_edit = {
        .name = "edit",
        .summary = "change a job that waits",
        .usage = "wz edit JOB KEY=VALUE...",
        .examples = "wz edit 17 priority=-5 time=2h\n"
                    "wz edit 17 begin=18:00 after=afterok:16\n"
                    "wz edit 17 begin=none after=none hold=false gpus=2\n",
        .opts = opts,
        .fn = edit_fn,
        .more = "Keys: priority, nice, name, comment, begin, deadline, after, hold, and those of a profile (gpus, "
                "gpu-mem,\n"
                "gpu-type, cpus, mem, time, ...), each of which replaces its own entry. Of a job that runs: name, "
                "comment,\n"
                "deadline. Users may only lower priorities.\n",
};
