/* SPDX-License-Identifier: Apache-2.0 */
/* One setter for each key that is no key of a profile. */
#include "jobspec/jobspec.h"

#include "base/check.h"
#include "base/near.h"
#include "base/quant.h"
#include "jobspec/depend.h"
#include "jobspec/indices.h"
#include "jobspec/params.h"
#include "jobspec/retry.h"
#include "os/when.h"

struct setting {
	struct wz_jobspec *j;
	struct wz_str key, value;
	struct wz_err *err;
};

void wz_jobspec_init(struct wz_jobspec *j, struct wz_arena *a, const struct wz_catalogue *c, int64_t now_us)
{
	*j = (struct wz_jobspec){.arena = a, .catalogue = c, .now_us = now_us};
	wz_profile_init(&j->profile);
}

static int no_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

static int bad(const struct setting *s, const char *expected)
{
	return wz_err_set(s->err, -EINVAL, "BadValue", s->key, WZ_STR(": \""), s->value, WZ_STR("\"; expected "),
	        wz_str(expected));
}

static int push(struct wz_arena *a, struct wz_jobspec_list *l, struct wz_str v, struct wz_err *err)
{
	if (l->n == l->cap) {
		uint32_t cap = l->cap ? l->cap * 2 : 8;
		struct wz_str *to = cap > 2 * WZ_JOBSPEC_ITEMS_MAX ? NULL : wz_arena_alloc(a, cap * sizeof *to);
		if (!to)
			return cap > 2 * WZ_JOBSPEC_ITEMS_MAX
			               ? wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("more than 1024 items"))
			               : no_memory(err);
		if (l->n)
			memcpy(to, l->v, l->n * sizeof *to);
		l->v = to;
		l->cap = cap;
	}
	l->v[l->n++] = v;
	return 0;
}

int wz_jobspec_warn(struct wz_jobspec *j, struct wz_str text)
{
	char *p = j->warnings.n < WZ_JOBSPEC_WARNINGS_MAX ? wz_arena_alloc(j->arena, text.len + 1) : NULL;
	if (!p)
		return 0;
	memcpy(p, text.ptr, text.len);
	return push(j->arena, &j->warnings, (struct wz_str){p, text.len}, NULL);
}

int wz_jobspec_command(struct wz_jobspec *j, const struct wz_str *argv, uint32_t n, struct wz_err *err)
{
	struct wz_str *v = wz_arena_alloc(j->arena, ((size_t)n + 1) * sizeof *v);
	if (!v)
		return no_memory(err);
	if (n)
		memcpy(v, argv, n * sizeof *v);
	j->argv = (struct wz_jobspec_list){v, n, n};
	j->shell = false;
	return 0;
}

/* ---- setters ---- */

#define LINE(fn, member, max_) \
	static int fn(struct setting *s) \
	{ \
		if (s->value.len == 0 || s->value.len > (max_)) \
			return bad(s, "a text of at most " #max_ " bytes"); \
		s->j->member = s->value; \
		return 0; \
	}
LINE(set_name, rq.name, 128)
LINE(set_queue, rq.queue, 128)
LINE(set_comment, rq.comment, 4096)
LINE(set_constraint, rq.constraint, 16384)
LINE(set_cwd, rq.cwd, 4096)
LINE(set_output, rq.stdout_path, 4096)
LINE(set_error, rq.stderr_path, 4096)
LINE(set_image, rq.image, 4096)
LINE(set_notify, rq.notify, 4096)
LINE(set_key, key, 128)
LINE(set_lines, lines, 4096)
LINE(set_script, script, 4096)

#define FLAG(fn, member) \
	static int fn(struct setting *s) \
	{ \
		s->j->member = true; \
		return 0; \
	}
FLAG(set_hold, rq.held)
FLAG(set_no_requeue, rq.no_requeue)
FLAG(set_env_all, rq.env_all)
FLAG(set_secrets_env, rq.secrets_env)
FLAG(set_untracked, untracked)

static int set_slurm(struct setting *s)
{
	s->j->rq.compat = WZ_STR("slurm");
	return 0;
}

static int number(const struct setting *s, int64_t lo, int64_t hi, int64_t *ret)
{
	if (wz_str_parse_i64(s->value, ret) < 0 || *ret < lo || *ret > hi)
		return bad(s, "a whole number in range");
	return 0;
}

static int set_priority(struct setting *s)
{
	int64_t n;
	int rc = number(s, INT32_MIN, INT32_MAX, &n);
	if (rc == 0)
		s->j->rq.priority = (int32_t)n;
	return rc;
}

static int set_nice(struct setting *s)
{
	int64_t n;
	int rc = number(s, -1000000, 1000000, &n);
	if (rc == 0)
		s->j->rq.priority = (int32_t)-n;
	return rc;
}

static int pair(struct setting *s, struct wz_jobspec_list *l)
{
	const char *eq = s->value.len ? memchr(s->value.ptr, '=', s->value.len) : NULL;
	if (!eq || eq == s->value.ptr)
		return bad(s, "NAME=VALUE");
	return push(s->j->arena, l, s->value, s->err);
}

static int set_label(struct setting *s)
{
	return pair(s, &s->j->labels);
}

static int set_env(struct setting *s)
{
	return pair(s, &s->j->env_set);
}

static int set_secret(struct setting *s)
{
	struct wz_str source = s->value, name = wz_str_split(&source, '=');
	if (!wz_param_name_ok(name))
		return bad(s, "NAME, NAME=FILE, NAME=env or NAME=-");
	return push(s->j->arena, &s->j->secrets, s->value, s->err);
}

static int each(struct setting *s, struct wz_jobspec_list *l)
{
	struct wz_str rest = s->value;
	while (rest.ptr) {
		struct wz_str item = wz_str_trim(wz_str_split(&rest, ','));
		int rc = item.len ? push(s->j->arena, l, item, s->err) : bad(s, "a list without empty items");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int set_pass(struct setting *s)
{
	return each(s, &s->j->env_pass);
}

static int set_retry_on(struct setting *s)
{
	struct wz_str rest = s->value;
	while (rest.ptr) {
		struct wz_retry_rule r;
		int rc = wz_retry_parse(wz_str_trim(wz_str_split(&rest, ',')), &r, s->err);
		if (rc < 0)
			return rc;
	}
	return each(s, &s->j->retry_on);
}

static int set_retries(struct setting *s)
{
	int64_t n;
	int rc = number(s, 0, 1000, &n);
	if (rc == 0)
		s->j->rq.retry_max = (uint32_t)n;
	return rc;
}

static int set_throttle(struct setting *s)
{
	int64_t n;
	int rc = number(s, 1, WZ_INDICES_COUNT_MAX, &n);
	if (rc == 0)
		s->j->rq.throttle = (uint32_t)n;
	return rc;
}

static int set_retry_delay(struct setting *s)
{
	uint64_t us;
	if (wz_duration_parse(s->value, &us, NULL) < 0 || us > 604800000000u)
		return bad(s, "a duration up to 7d, such as 30s");
	s->j->rq.retry_delay_us = us ? (int64_t)us : 1;
	return 0;
}

static int set_keep(struct setting *s)
{
	uint64_t us;
	if (wz_duration_parse(s->value, &us, NULL) < 0 || us == 0 || us > (uint64_t)INT64_MAX / 2)
		return bad(s, "a duration such as 30m");
	s->j->rq.terminal_keep_us = (int64_t)us;
	return 0;
}

static int set_begin(struct setting *s)
{
	return wz_when_parse(s->value, s->j->now_us, &s->j->rq.begin_us, s->err);
}

static int set_deadline(struct setting *s)
{
	return wz_when_parse(s->value, s->j->now_us, &s->j->rq.deadline_us, s->err);
}

/* Checked here when it names numbers; names of jobs of the same file are put in later. */
static int set_after(struct setting *s)
{
	if (s->value.len == 0)
		return bad(s, "dependencies such as afterok:17");
	return push(s->j->arena, &s->j->after, s->value, s->err);
}

static int set_on_dep_fail(struct setting *s)
{
	if (!wz_str_eq(s->value, WZ_STR("cancel")) && !wz_str_eq(s->value, WZ_STR("hold")) &&
	        !wz_str_eq(s->value, WZ_STR("run")))
		return bad(s, "cancel, hold or run");
	s->j->rq.on_dep_fail = s->value;
	return 0;
}

static int set_array(struct setting *s)
{
	struct wz_indices x;
	int rc = wz_indices_parse(s->value, &x, s->err);
	if (rc == 0)
		s->j->rq.array = s->value;
	return rc;
}

static int set_sweep(struct setting *s)
{
	struct wz_sweep x = {.n = 0};
	int rc = wz_sweep_add(&x, s->value, s->err);
	return rc < 0 ? rc : push(s->j->arena, &s->j->sweep, s->value, s->err);
}

static int set_snapshot(struct setting *s)
{
	static const char *const words[] = {"none", "git", "copy"};
	for (unsigned i = 0; i < WZ_ARRAY_LEN(words); i++)
		if (wz_str_eq(s->value, wz_str(words[i]))) {
			s->j->snapshot = (uint8_t)i;
			return 0;
		}
	return bad(s, "none, git or copy");
}

static int set_sh(struct setting *s)
{
	if (s->value.len == 0)
		return bad(s, "a command for the shell");
	s->j->argv.n = 0;
	s->j->shell = true;
	return push(s->j->arena, &s->j->argv, s->value, s->err);
}

static int set_umask(struct setting *s)
{
	int32_t m = 0;
	for (size_t i = 0; i < s->value.len; i++) {
		if (s->value.ptr[i] < '0' || s->value.ptr[i] > '7' || m > 0777)
			return bad(s, "octal digits, such as 022");
		m = m * 8 + (s->value.ptr[i] - '0');
	}
	if (s->value.len == 0 || m > 0777)
		return bad(s, "octal digits, such as 022");
	s->j->rq.umask = m;
	return 0;
}

static int set_log_max(struct setting *s)
{
	uint64_t n;
	if (wz_bytes_parse(s->value, &n, NULL) < 0 || n < 4096 || n > (uint64_t)1 << 40)
		return bad(s, "a size such as 64Mi");
	s->j->rq.log_max_bytes = (int64_t)n;
	return 0;
}

/* ---- keys of the profile ---- */

static int set_profile_key(struct setting *s)
{
	return wz_profile_set(&s->j->profile, s->key, s->value, s->j->catalogue, s->err);
}

/* "a100:2" */
static int set_gpus(struct setting *s)
{
	const char *colon = s->value.len ? memrchr(s->value.ptr, ':', s->value.len) : NULL;
	if (!colon)
		return set_profile_key(s);
	struct wz_str type = {s->value.ptr, (size_t)(colon - s->value.ptr)};
	struct wz_str count = {colon + 1, s->value.len - type.len - 1};
	int rc = wz_profile_set(&s->j->profile, WZ_STR("gpu-type"), type, s->j->catalogue, s->err);
	return rc < 0 ? rc : wz_profile_set(&s->j->profile, WZ_STR("gpus"), count, s->j->catalogue, s->err);
}

/* "gpus=4 link~nvlink": each entry as if it were given alone. */
static int set_profile(struct setting *s)
{
	struct wz_profile whole;
	struct wz_str rest = s->value;
	int rc = wz_profile_parse(s->value, s->j->catalogue, &whole, s->err);
	while (rc == 0 && rest.ptr) {
		struct wz_str entry = wz_str_trim(wz_str_split(&rest, ' '));
		size_t at = 0;
		while (at < entry.len && entry.ptr[at] != '=' && entry.ptr[at] != '~' && entry.ptr[at] != '>')
			at++;
		if (entry.len == 0)
			continue;
		struct wz_str key = {entry.ptr, at}, value = {entry.ptr + at, entry.len - at};
		if (wz_str_starts(value, WZ_STR(">")))
			value = (struct wz_str){value.ptr + 1, value.len - 1};
		if (wz_str_starts(value, WZ_STR("=")))
			value = (struct wz_str){value.ptr + 1, value.len - 1};
		rc = wz_profile_set(&s->j->profile, key, value, s->j->catalogue, s->err);
	}
	return rc;
}

static const struct {
	const char *key;
	int (*set)(struct setting *s);
} setters[] = {{"gpus", set_gpus}, {"profile", set_profile}, {"name", set_name}, {"queue", set_queue},
        {"priority", set_priority}, {"nice", set_nice}, {"comment", set_comment}, {"label", set_label},
        {"constraint", set_constraint}, {"cwd", set_cwd}, {"hold", set_hold}, {"begin", set_begin},
        {"deadline", set_deadline}, {"after", set_after}, {"on-dep-fail", set_on_dep_fail}, {"array", set_array},
        {"sweep", set_sweep}, {"lines", set_lines}, {"throttle", set_throttle}, {"retries", set_retries},
        {"retry-on", set_retry_on}, {"retry-delay", set_retry_delay}, {"no-requeue", set_no_requeue},
        {"output", set_output}, {"error", set_error}, {"keep", set_keep}, {"env", set_env}, {"pass", set_pass},
        {"env-all", set_env_all}, {"secret", set_secret}, {"secrets-env", set_secrets_env},
        {"snapshot", set_snapshot}, {"untracked", set_untracked}, {"script", set_script}, {"sh", set_sh},
        {"umask", set_umask}, {"log-max", set_log_max}, {"image", set_image}, {"notify", set_notify},
        {"key", set_key}, {"slurm", set_slurm}};

static const struct {
	const char *key;
	bool flag;
} keys[] = {
#define X(key, alias, value, help) {key, (value) == NULL},
        WZ_JOBSPEC_KEYS(X)
#undef X
};

bool wz_jobspec_key(struct wz_str key, bool *ret_flag)
{
	for (unsigned i = 0; i < WZ_ARRAY_LEN(keys); i++)
		if (wz_str_eq(key, wz_str(keys[i].key))) {
			*ret_flag = keys[i].flag;
			return true;
		}
	return false;
}

int wz_jobspec_set(struct wz_jobspec *j, struct wz_str key, struct wz_str value, struct wz_err *err)
{
	struct setting s = {j, key, value, err};
	struct wz_near near;
	bool flag;
	if (!wz_jobspec_key(key, &flag)) {
		wz_near_init(&near, key);
		for (unsigned i = 0; i < WZ_ARRAY_LEN(keys); i++)
			wz_near_offer(&near, wz_str(keys[i].key));
		return wz_err_set(err, -EINVAL, "UnknownKey", WZ_STR("unknown key \""), key, WZ_STR("\""),
		        near.best.len ? WZ_STR("; did you mean \"") : WZ_STR(""), near.best,
		        near.best.len ? WZ_STR("\"?") : WZ_STR(""));
	}
	if (value.len && memchr(value.ptr, 0, value.len))
		return wz_err_set(err, -EINVAL, "BadValue", key, WZ_STR(": a zero byte"));
	for (unsigned i = 0; i < WZ_ARRAY_LEN(setters); i++)
		if (wz_str_eq(key, wz_str(setters[i].key)))
			return setters[i].set(&s);
	return set_profile_key(&s);
}

/* ---- the whole ---- */

static int pairs_of(struct wz_jobspec *j, const struct wz_jobspec_list *l, struct wz_pairs *ret, struct wz_err *err)
{
	struct wz_pair *v = l->n ? wz_arena_alloc(j->arena, l->n * sizeof *v) : NULL;
	uint32_t n = 0;
	if (l->n && !v)
		return no_memory(err);
	for (uint32_t i = 0; i < l->n; i++) {
		struct wz_str value = l->v[i], key = wz_str_split(&value, '=');
		uint32_t at = 0;
		while (at < n && !wz_str_eq(v[at].key, key))
			at++;
		v[at] = (struct wz_pair){key, value};
		n += at == n;
	}
	*ret = (struct wz_pairs){v, n};
	return 0;
}

int wz_jobspec_finish(struct wz_jobspec *j, struct wz_err *err)
{
	struct wz_buf b;
	int rc = wz_profile_finish(&j->profile, j->catalogue, err);
	if (rc == 0)
		rc = pairs_of(j, &j->env_set, &j->rq.env_set, err);
	if (rc == 0)
		rc = pairs_of(j, &j->labels, &j->rq.labels, err);
	if (rc < 0)
		return rc;
	wz_buf_init_fixed(&b, j->profile_text, sizeof j->profile_text);
	wz_profile_format(&j->profile, &b);
	if (b.status < 0)
		return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("the profile is too long"));
	j->rq.profile = wz_buf_str(&b);
	j->rq.after = (struct wz_strs){j->after.v, j->after.n};
	j->rq.sweep = (struct wz_strs){j->sweep.v, j->sweep.n};
	j->rq.retry_on = (struct wz_strs){j->retry_on.v, j->retry_on.n};
	j->rq.env_pass = (struct wz_strs){j->env_pass.v, j->env_pass.n};
	j->rq.argv = (struct wz_strs){j->argv.v, j->argv.n};
	if (j->shell) {
		struct wz_str *v = wz_arena_alloc(j->arena, 3 * sizeof *v);
		if (!v)
			return no_memory(err);
		v[0] = WZ_STR("/bin/sh");
		v[1] = WZ_STR("-c");
		v[2] = j->argv.v[0];
		j->rq.argv = (struct wz_strs){v, 3};
	}
	return 0;
}
