/* SPDX-License-Identifier: Apache-2.0 */
/* One table of keys a map; a setter reads one value. The canonical text of each section is kept beside what was read, so
 * that a reload compares texts and needs no comparison of its own for each field. */
#include "serve/config.h"

#include "base/check.h"
#include "base/near.h"
#include "base/quant.h"
#include "core/queue.h"
#include "os/file.h"
#include "os/yaml.h"

#include <sys/stat.h>
#include <unistd.h>

#define DAY_US ((int64_t)86400 * 1000000)
#define TIME_MAX ((uint64_t)100 * 366 * 86400 * 1000000)
#define BYTES_MAX ((uint64_t)1 << 56)
#define CANON_MAX (2u << 20)

const char *const wz_notice_words[5] = {"started", "ended", "failed", "preempted", "requeued"};

int wz_notice_parse(struct wz_str text, char sep, uint32_t *ret)
{
	uint32_t bits = 0;
	while (text.ptr) {
		struct wz_str w = wz_str_trim(wz_str_split(&text, sep));
		uint32_t bit = 0;
		for (unsigned i = 0; i < WZ_ARRAY_LEN(wz_notice_words); i++)
			if (wz_str_eq(w, wz_str(wz_notice_words[i])))
				bit = 1u << i;
		if (!bit)
			return -EINVAL;
		bits |= bit;
	}
	*ret = bits;
	return bits ? 0 : -EINVAL;
}

/* ---- values ---- */

static int bad(const struct wz_yaml *y, wz_yaml_id v, struct wz_err *err, const char *expected)
{
	if (wz_yaml_kind(y, v) == WZ_YAML_SCALAR)
		return wz_yaml_fail(y, v, err, "BadValue", WZ_STR("expected "), wz_str(expected),
		        WZ_STR(", got \""), wz_yaml_text(y, v), WZ_STR("\""));
	return wz_yaml_fail(y, v, err, "BadValue", WZ_STR("expected "), wz_str(expected));
}

static int no_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

static int get_text(const struct wz_yaml *y, wz_yaml_id v, struct wz_arena *a, const char *expected,
        const char **to, struct wz_err *err)
{
	struct wz_str s = wz_yaml_text(y, v);
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || s.len == 0 || s.len > 4000)
		return bad(y, v, err, expected);
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return bad(y, v, err, "text without control characters");
	char *p = wz_arena_alloc(a, s.len + 1);
	if (!p)
		return no_memory(err);
	memcpy(p, s.ptr, s.len);
	*to = p;
	return 0;
}

static int get_path(const struct wz_yaml *y, wz_yaml_id v, struct wz_arena *a, const char **to, struct wz_err *err)
{
	if (wz_yaml_text(y, v).len && wz_yaml_text(y, v).ptr[0] != '/')
		return bad(y, v, err, "an absolute path");
	return get_text(y, v, a, "an absolute path", to, err);
}

static int get_bool(const struct wz_yaml *y, wz_yaml_id v, bool *to, struct wz_err *err)
{
	struct wz_str s = wz_yaml_text(y, v);
	if (!wz_str_eq(s, WZ_STR("true")) && !wz_str_eq(s, WZ_STR("false")))
		return bad(y, v, err, "true or false");
	*to = s.len == 4;
	return 0;
}

static int get_u64(const struct wz_yaml *y, wz_yaml_id v, uint64_t min, uint64_t max, const char *expected,
        uint64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_str_parse_u64(wz_yaml_text(y, v), &n) < 0 || n < min ||
	        n > max)
		return bad(y, v, err, expected);
	*to = n;
	return 0;
}

/* A duration, or "never" for 0. */
static int get_age(const struct wz_yaml *y, wz_yaml_id v, int64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_str_eq(wz_yaml_text(y, v), WZ_STR("never"))) {
		*to = 0;
		return 0;
	}
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_duration_parse(wz_yaml_text(y, v), &n, NULL) < 0 || n == 0 ||
	        n > TIME_MAX)
		return bad(y, v, err, "an age such as 90d, or never");
	*to = (int64_t)n;
	return 0;
}

static int get_bytes(const struct wz_yaml *y, wz_yaml_id v, uint64_t min, uint64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_bytes_parse(wz_yaml_text(y, v), &n, NULL) < 0 || n < min ||
	        n > BYTES_MAX)
		return bad(y, v, err, "a size such as 100Gi");
	*to = n;
	return 0;
}

/* A list of texts; one text alone is a list of one. */
static int get_names(const struct wz_yaml *y, wz_yaml_id v, struct wz_arena *a, uint32_t max, const char *expected,
        struct wz_names *to, struct wz_err *err)
{
	bool list = wz_yaml_kind(y, v) == WZ_YAML_LIST;
	uint32_t n = list ? wz_yaml_count(y, v) : 1;
	if ((!list && wz_yaml_kind(y, v) != WZ_YAML_SCALAR) || n > max)
		return bad(y, v, err, expected);
	const char **names = wz_arena_alloc(a, (n + 1) * sizeof *names);
	if (!names)
		return no_memory(err);
	for (uint32_t i = 0; i < n; i++) {
		int rc = get_text(y, list ? wz_yaml_item(y, v, i) : v, a, expected, &names[i], err);
		if (rc < 0)
			return rc;
	}
	*to = (struct wz_names){names, n};
	return 0;
}

static int get_word(const struct wz_yaml *y, wz_yaml_id v, const char *const *words, uint32_t n,
        const char *expected, uint32_t *to, struct wz_err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		if (wz_str_eq(wz_yaml_text(y, v), wz_str(words[i]))) {
			*to = i;
			return 0;
		}
	}
	return bad(y, v, err, expected);
}

/* ---- setters: the sections that are one value ---- */

#define SETTER(fn) static int fn(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
#define PATH_SETTER(fn, field) \
	SETTER(fn) \
	{ \
		struct wz_config *c = to; \
		return get_path(y, v, &c->arena, &c->field, err); \
	}
#define TEXT_SETTER(fn, field, expected) \
	SETTER(fn) \
	{ \
		struct wz_config *c = to; \
		return get_text(y, v, &c->arena, expected, &c->field, err); \
	}
#define BOOL_SETTER(fn, field) \
	SETTER(fn) \
	{ \
		struct wz_config *c = to; \
		return get_bool(y, v, &c->field, err); \
	}
#define AGE_SETTER(fn, field) \
	SETTER(fn) \
	{ \
		struct wz_config *c = to; \
		return get_age(y, v, &c->field, err); \
	}
#define WALK(fn, keys) \
	SETTER(fn) \
	{ \
		return wz_yaml_walk(y, v, keys, WZ_ARRAY_LEN(keys), to, err); \
	}

SETTER(set_version)
{
	uint64_t n;
	(void)to;
	return get_u64(y, v, 1, 1, "1, the version of this format", &n, err);
}
PATH_SETTER(set_state, state)
PATH_SETTER(set_cluster, cluster)
PATH_SETTER(set_tokens, tokens)
TEXT_SETTER(set_policy, policy, "the name of a placement policy")
BOOL_SETTER(set_cgroups, cgroups)

SETTER(set_provider)
{
	struct wz_config *c = to;
	return get_text(y, v, &c->arena, "emulated, nvidia-smi or none", &c->provider, err);
}

/* ---- socket ---- */

PATH_SETTER(set_socket_path, socket)
TEXT_SETTER(set_socket_group, socket_group, "the name of a group")
BOOL_SETTER(set_socket_group_only, socket_group_only)
static const struct wz_yaml_key socket_keys[] = {
        {"path", set_socket_path, false},
        {"group", set_socket_group, false},
        {"group-only", set_socket_group_only, false},
};
SETTER(set_socket)
{
	struct wz_config *c = to;
	int rc = wz_yaml_kind(y, v) == WZ_YAML_SCALAR
	                 ? get_path(y, v, &c->arena, &c->socket, err)
	                 : wz_yaml_walk(y, v, socket_keys, WZ_ARRAY_LEN(socket_keys), to, err);
	if (rc == 0 && c->socket_group_only && !c->socket_group)
		return bad(y, v, err, "a group beside group-only");
	return rc;
}

/* ---- listen ---- */

struct listening {
	struct wz_config *c;
	struct wz_config_listen l;
};
SETTER(set_address)
{
	struct listening *x = to;
	return get_text(y, v, &x->c->arena, "an address such as 0.0.0.0:8443", &x->l.address, err);
}
SETTER(set_cert)
{
	struct listening *x = to;
	return get_path(y, v, &x->c->arena, &x->l.cert, err);
}
SETTER(set_key)
{
	struct listening *x = to;
	return get_path(y, v, &x->c->arena, &x->l.key, err);
}
static const struct wz_yaml_key listen_keys[] = {
        {"address", set_address, true},
        {"cert", set_cert, false},
        {"key", set_key, false},
};
SETTER(set_listen)
{
	struct wz_config *c = to;
	bool list = wz_yaml_kind(y, v) == WZ_YAML_LIST;
	unsigned n = list ? wz_yaml_count(y, v) : 1;
	if (n > WZ_CONFIG_LISTEN_MAX)
		return bad(y, v, err, "at most 8 addresses");
	for (unsigned i = 0; i < n; i++) {
		struct listening x = {.c = c};
		wz_yaml_id item = list ? wz_yaml_item(y, v, i) : v;
		int rc = wz_yaml_walk(y, item, listen_keys, WZ_ARRAY_LEN(listen_keys), &x, err);
		if (rc < 0)
			return rc;
		if (!x.l.cert != !x.l.key)
			return bad(y, item, err, "cert and key, both or none");
		c->listen[c->n_listen++] = x.l;
	}
	return 0;
}

/* ---- roles ---- */

SETTER(set_admin_users)
{
	struct wz_config *c = to;
	return get_names(y, v, &c->arena, WZ_CONFIG_NAMES_MAX, "a list of user names", &c->admin_users, err);
}
SETTER(set_admin_groups)
{
	struct wz_config *c = to;
	return get_names(y, v, &c->arena, WZ_CONFIG_NAMES_MAX, "a list of group names", &c->admin_groups, err);
}
static const struct wz_yaml_key admin_keys[] = {
        {"users", set_admin_users, false},
        {"groups", set_admin_groups, false},
};
WALK(set_admins, admin_keys)
SETTER(set_local)
{
	static const char *const words[] = {"none", "viewer", "user"};
	struct wz_config *c = to;
	uint32_t w = 0;
	int rc = get_word(y, v, words, WZ_ARRAY_LEN(words), "user, viewer or none", &w, err);
	if (rc == 0)
		c->local_role = (enum wz_role)w;
	return rc;
}
static const struct wz_yaml_key role_keys[] = {
        {"admins", set_admins, false},
        {"local", set_local, false},
};
WALK(set_roles, role_keys)

/* ---- limits, defaults ---- */

/* "2000/s", "2000/s burst 4000", or "none". */
static int get_rate(const struct wz_yaml *y, wz_yaml_id v, struct wz_limit_rate *to, struct wz_err *err)
{
	static const char expected[] = "a rate such as \"200/s\" or \"200/s burst 400\", or none";
	struct wz_str rest = wz_yaml_text(y, v), a;
	uint64_t per = 0, burst = 0;
	if (wz_str_eq(rest, WZ_STR("none"))) {
		*to = (struct wz_limit_rate){0, 0};
		return 0;
	}
	a = wz_str_split(&rest, '/');
	if (!rest.ptr || wz_str_parse_u64(a, &per) < 0 || !per || per > 1000000)
		return bad(y, v, err, expected);
	a = wz_str_trim(wz_str_split(&rest, ' '));
	burst = 2 * per;
	if (!wz_str_eq(a, WZ_STR("s")))
		return bad(y, v, err, expected);
	if (rest.ptr && (!wz_str_eq(wz_str_split(&rest, ' '), WZ_STR("burst")) || !rest.ptr ||
	                        wz_str_parse_u64(rest, &burst) < 0 || !burst || burst > 10000000))
		return bad(y, v, err, expected);
	*to = (struct wz_limit_rate){(uint32_t)per, (uint32_t)burst};
	return 0;
}
#define RATE_SETTER(fn, role) \
	SETTER(fn) \
	{ \
		struct wz_config *c = to; \
		return get_rate(y, v, &c->rate[role], err); \
	}
RATE_SETTER(set_rate_admin, WZ_ROLE_ADMIN)
RATE_SETTER(set_rate_user, WZ_ROLE_USER)
RATE_SETTER(set_rate_viewer, WZ_ROLE_VIEWER)
RATE_SETTER(set_rate_nobody, WZ_ROLE_NONE)
static const struct wz_yaml_key rate_keys[] = {
        {"admin", set_rate_admin, false},
        {"user", set_rate_user, false},
        {"viewer", set_rate_viewer, false},
        {"nobody", set_rate_nobody, false},
};
WALK(set_rates, rate_keys)
SETTER(set_jobs)
{
	struct wz_config *c = to;
	return get_u64(y, v, 1, 100000000, "a number of jobs from 1", &c->jobs_max, err);
}
SETTER(set_jobs_per_user)
{
	struct wz_config *c = to;
	return get_u64(y, v, 1, 100000000, "a number of jobs from 1", &c->jobs_per_user_max, err);
}
static const struct wz_yaml_key limit_keys[] = {
        {"jobs", set_jobs, false},
        {"jobs-per-user", set_jobs_per_user, false},
        {"rate", set_rates, false},
};
WALK(set_limits, limit_keys)

TEXT_SETTER(set_default_profile, default_profile, "a profile such as \"cpus=2 mem=8Gi\"")
static const struct wz_yaml_key default_keys[] = {{"profile", set_default_profile, false}};
WALK(set_defaults, default_keys)

/* ---- retention, audit ---- */

AGE_SETTER(set_keep_jobs, keep_jobs_us)
AGE_SETTER(set_keep_logs, keep_logs_us)
AGE_SETTER(set_keep_audit, keep_audit_us)
SETTER(set_keep_bytes)
{
	struct wz_config *c = to;
	return get_bytes(y, v, 1u << 20, &c->keep_logs_bytes, err);
}
static const struct wz_yaml_key retention_keys[] = {
        {"jobs", set_keep_jobs, false},
        {"logs", set_keep_logs, false},
        {"logs-size", set_keep_bytes, false},
        {"audit", set_keep_audit, false},
};
WALK(set_retention, retention_keys)

SETTER(set_audit_size)
{
	struct wz_config *c = to;
	return get_bytes(y, v, 1u << 16, &c->audit_bytes, err);
}
SETTER(set_audit_files)
{
	struct wz_config *c = to;
	uint64_t n = 0;
	int rc = get_u64(y, v, 1, 1000, "a number of files from 1 to 1000", &n, err);
	if (rc == 0)
		c->audit_files = (uint32_t)n;
	return rc;
}
static const struct wz_yaml_key audit_keys[] = {
        {"size", set_audit_size, false},
        {"files", set_audit_files, false},
};
WALK(set_audit, audit_keys)

/* ---- api ---- */

BOOL_SETTER(set_plain, plain_tokens)
BOOL_SETTER(set_metrics, open_metrics)
static const struct wz_yaml_key api_keys[] = {
        {"plain-tokens", set_plain, false},
        {"open-metrics", set_metrics, false},
};
WALK(set_api, api_keys)

/* ---- notifications ---- */

struct targeting {
	struct wz_config *c;
	struct wz_target t;
};
#define TARGET struct targeting *x = to
SETTER(set_t_name)
{
	TARGET;
	struct wz_str s = wz_yaml_text(y, v);
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= '0' && s.ptr[i] <= '9') ||
		            s.ptr[i] == '-'))
			return bad(y, v, err, "a name of a-z, 0-9 and -");
	if (s.len > 64 || wz_str_eq(s, WZ_STR("none")))
		return bad(y, v, err, "a short name other than none");
	return get_text(y, v, &x->c->arena, "a name", &x->t.name, err);
}
SETTER(set_t_type)
{
	static const char *const words[] = {"command", "webhook", "mail"};
	TARGET;
	uint32_t w = 0;
	int rc = get_word(y, v, words, WZ_ARRAY_LEN(words), "command, webhook or mail", &w, err);
	x->t.type = (enum wz_target_type)w;
	return rc;
}
SETTER(set_t_format)
{
	static const char *const words[] = {"json", "slack", "feishu", "dingtalk"};
	TARGET;
	uint32_t w = 0;
	int rc = get_word(y, v, words, WZ_ARRAY_LEN(words), "json, slack, feishu or dingtalk", &w, err);
	x->t.format = (enum wz_target_format)w;
	return rc;
}
SETTER(set_t_url)
{
	TARGET;
	struct wz_str s = wz_yaml_text(y, v);
	if (!wz_str_starts(s, WZ_STR("https://")) && !wz_str_starts(s, WZ_STR("http://")))
		return bad(y, v, err, "a URL that begins with https:// or http://");
	return get_text(y, v, &x->c->arena, "a URL", &x->t.url, err);
}
SETTER(set_t_secret)
{
	TARGET;
	return get_path(y, v, &x->c->arena, &x->t.secret_file, err);
}
SETTER(set_t_command)
{
	TARGET;
	int rc = get_names(y, v, &x->c->arena, WZ_CONFIG_ARGS_MAX, "a command: a list of at most 64 words",
	        &x->t.command, err);
	return rc == 0 && (!x->t.command.n || x->t.command.v[0][0] != '/')
	               ? bad(y, v, err, "a command whose first word is an absolute path")
	               : rc;
}
SETTER(set_t_to)
{
	TARGET;
	if (wz_yaml_text(y, v).len && wz_yaml_text(y, v).ptr[0] == '-')
		return bad(y, v, err, "a mail address");
	return get_text(y, v, &x->c->arena, "a mail address", &x->t.to, err);
}
SETTER(set_t_sendmail)
{
	TARGET;
	return get_path(y, v, &x->c->arena, &x->t.sendmail, err);
}
SETTER(set_t_events)
{
	TARGET;
	static const char expected[] = "events of started, ended, failed, preempted, requeued";
	struct wz_names n;
	int rc = get_names(y, v, &x->c->arena, 16, expected, &n, err);
	x->t.events = 0;
	for (uint32_t i = 0; rc == 0 && i < n.n; i++) {
		uint32_t bit;
		if (wz_notice_parse(wz_str(n.v[i]), ',', &bit) < 0)
			return bad(
			        y, wz_yaml_kind(y, v) == WZ_YAML_LIST ? wz_yaml_item(y, v, i) : v, err, expected);
		x->t.events |= bit;
	}
	return rc == 0 && !x->t.events ? bad(y, v, err, expected) : rc;
}
SETTER(set_t_users)
{
	TARGET;
	return get_names(y, v, &x->c->arena, WZ_CONFIG_NAMES_MAX, "a list of user names", &x->t.users, err);
}
SETTER(set_t_every)
{
	TARGET;
	return get_bool(y, v, &x->t.every_job, err);
}
SETTER(set_t_timeout)
{
	TARGET;
	uint64_t n = 0;
	if (wz_duration_parse(wz_yaml_text(y, v), &n, NULL) < 0 || n < 100000 || n > 300000000)
		return bad(y, v, err, "a time from 100ms to 5m");
	x->t.timeout_us = (int64_t)n;
	return 0;
}
SETTER(set_t_tries)
{
	TARGET;
	uint64_t n = 0;
	int rc = get_u64(y, v, 1, 20, "a number from 1 to 20", &n, err);
	x->t.tries = (uint32_t)n;
	return rc;
}
static const struct wz_yaml_key target_keys[] = {
        {"name", set_t_name, true},
        {"type", set_t_type, true},
        {"format", set_t_format, false},
        {"url", set_t_url, false},
        {"secret-file", set_t_secret, false},
        {"command", set_t_command, false},
        {"to", set_t_to, false},
        {"sendmail", set_t_sendmail, false},
        {"events", set_t_events, false},
        {"users", set_t_users, false},
        {"every-job", set_t_every, false},
        {"timeout", set_t_timeout, false},
        {"tries", set_t_tries, false},
};

static int check_target(const struct wz_yaml *y, wz_yaml_id at, const struct targeting *x, struct wz_err *err)
{
	const struct wz_target *t = &x->t;
	for (uint32_t i = 0; i < x->c->n_targets; i++)
		if (strcmp(x->c->target[i].name, t->name) == 0)
			return bad(y, at, err, "a name that no other entry has");
	if ((t->type == WZ_TARGET_WEBHOOK) != (t->url != NULL))
		return bad(y, at, err, "url, for a webhook alone");
	if ((t->type == WZ_TARGET_COMMAND) != (t->command.n != 0))
		return bad(y, at, err, "command, for a command alone");
	if (t->type != WZ_TARGET_MAIL && (t->to || t->sendmail))
		return bad(y, at, err, "to and sendmail for mail alone");
	if (t->type != WZ_TARGET_WEBHOOK && (t->format || t->secret_file))
		return bad(y, at, err, "format and secret-file for a webhook alone");
	if (t->secret_file && t->format == WZ_FORMAT_SLACK)
		return bad(y, at, err, "no secret-file for slack, whose URL is the secret");
	return 0;
}

SETTER(set_notifications)
{
	struct wz_config *c = to;
	if (wz_yaml_kind(y, v) != WZ_YAML_LIST || wz_yaml_count(y, v) > WZ_CONFIG_TARGETS_MAX)
		return bad(y, v, err, "a list of at most 32 targets");
	for (unsigned i = 0; i < wz_yaml_count(y, v); i++) {
		struct targeting x = {.c = c,
		        .t = {.events = WZ_NOTICE_ENDED | WZ_NOTICE_FAILED, .timeout_us = 10000000, .tries = 5}};
		int rc = wz_yaml_walk(y, wz_yaml_item(y, v, i), target_keys, WZ_ARRAY_LEN(target_keys), &x, err);
		if (rc == 0)
			rc = check_target(y, wz_yaml_item(y, v, i), &x, err);
		if (rc < 0)
			return rc;
		c->target[c->n_targets++] = x.t;
	}
	return 0;
}

/* ---- queues, rules ---- */

/* Rules as one text, or as a map of them; either way a text of entries. */
static int get_rules(const struct wz_yaml *y, wz_yaml_id v, struct wz_arena *a, const char **to, struct wz_err *err)
{
	char bytes[WZ_CONFIG_RULES_MAX + 1];
	struct wz_buf b;
	wz_yaml_id k, x;
	if (wz_yaml_kind(y, v) == WZ_YAML_SCALAR && !wz_yaml_text(y, v).len) {
		*to = "";
		return 0;
	}
	if (wz_yaml_kind(y, v) == WZ_YAML_SCALAR)
		return wz_yaml_text(y, v).len > WZ_CONFIG_RULES_MAX
		               ? bad(y, v, err, "at most 4096 bytes of rules")
		               : get_text(y, v, a, "rules such as \"guaranteed=gpu:4 weight=2\"", to, err);
	if (wz_yaml_kind(y, v) != WZ_YAML_MAP)
		return bad(y, v, err, "a text of rules, or a map of them");
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	for (unsigned i = 0; i < wz_yaml_count(y, v); i++) {
		struct wz_str key = wz_yaml_pair(y, v, i, &k, &x), value = wz_yaml_text(y, x);
		if (wz_yaml_kind(y, x) != WZ_YAML_SCALAR || !value.len || !key.len ||
		        memchr(value.ptr, ' ', value.len) || memchr(key.ptr, ' ', key.len) ||
		        memchr(key.ptr, '=', key.len))
			return bad(y, x, err, "one word");
		wz_buf_addz(&b, i ? " " : "");
		wz_buf_add(&b, key);
		wz_buf_addc(&b, '=');
		wz_buf_add(&b, value);
	}
	for (size_t i = 0; i < b.len; i++)
		if ((unsigned char)bytes[i] < ' ' || bytes[i] == 0x7f)
			return bad(y, v, err, "rules without control characters");
	char *p = wz_arena_alloc(a, b.len + 1);
	if (b.status < 0 || !p)
		return b.status < 0 ? bad(y, v, err, "at most 4096 bytes of rules") : no_memory(err);
	memcpy(p, bytes, b.len);
	*to = p;
	return 0;
}

SETTER(set_queues)
{
	struct wz_config *c = to;
	wz_yaml_id k, v2;
	uint32_t n = wz_yaml_count(y, v);
	if (wz_yaml_kind(y, v) != WZ_YAML_MAP || n > WZ_CONFIG_QUEUES_MAX)
		return bad(y, v, err, "a map of at most 1024 queues");
	c->queue = wz_arena_alloc(&c->arena, (n + 1) * sizeof *c->queue);
	if (!c->queue)
		return no_memory(err);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_config_queue *q = &c->queue[i];
		struct wz_str name = wz_yaml_pair(y, v, i, &k, &v2);
		if (!wz_queue_name_ok(name))
			return bad(y, k, err, "a name of 1 to 63 letters, digits, ., _ and -");
		int rc = get_text(y, k, &c->arena, "a name", &q->name, err);
		if (rc == 0)
			rc = get_rules(y, v2, &c->arena, &q->rules, err);
		if (rc < 0)
			return rc;
		c->n_queues++;
	}
	return 0;
}
SETTER(set_rules)
{
	struct wz_config *c = to;
	return get_rules(y, v, &c->arena, &c->rules, err);
}

/* ---- the whole ---- */

static const struct wz_yaml_key sections[] = {
        {"version", set_version, true},
        {"state", set_state, false},
        {"socket", set_socket, false},
        {"listen", set_listen, false},
        {"tokens", set_tokens, false},
        {"api", set_api, false},
        {"roles", set_roles, false},
        {"cluster", set_cluster, false},
        {"provider", set_provider, false},
        {"cgroups", set_cgroups, false},
        {"policy", set_policy, false},
        {"queues", set_queues, false},
        {"rules", set_rules, false},
        {"defaults", set_defaults, false},
        {"limits", set_limits, false},
        {"retention", set_retention, false},
        {"audit", set_audit, false},
        {"notifications", set_notifications, false},
};
static const char *const live[] = {
        "version", "roles", "queues", "rules", "defaults", "limits", "retention", "audit", "notifications"};

static bool is_live(const char *key)
{
	for (unsigned i = 0; i < WZ_ARRAY_LEN(live); i++)
		if (strcmp(live[i], key) == 0)
			return true;
	return false;
}

static void canon(const struct wz_yaml *y, wz_yaml_id v, struct wz_buf *b)
{
	wz_yaml_id key, value;
	switch (wz_yaml_kind(y, v)) {
	case WZ_YAML_LIST:
		wz_buf_addc(b, '[');
		for (unsigned i = 0; i < wz_yaml_count(y, v) && b->status == 0; i++) {
			canon(y, wz_yaml_item(y, v, i), b);
			wz_buf_addc(b, ',');
		}
		wz_buf_addc(b, ']');
		break;
	case WZ_YAML_MAP:
		wz_buf_addc(b, '{');
		for (unsigned i = 0; i < wz_yaml_count(y, v) && b->status == 0; i++) {
			wz_buf_add_json(b, wz_yaml_pair(y, v, i, &key, &value));
			wz_buf_addc(b, ':');
			canon(y, value, b);
			wz_buf_addc(b, ',');
		}
		wz_buf_addc(b, '}');
		break;
	default:
		wz_buf_add_json(b, wz_yaml_text(y, v));
	}
}

static int keep_sections(struct wz_config *c, const struct wz_yaml *y, struct wz_err *err)
{
	struct wz_buf b;
	int rc = 0;
	wz_buf_init(&b, c->mem, CANON_MAX);
	for (unsigned i = 0; i < WZ_ARRAY_LEN(sections) && rc == 0; i++) {
		wz_yaml_id v = wz_yaml_get(y, wz_yaml_root(y), wz_str(sections[i].key));
		if (!v.v)
			continue;
		wz_buf_clear(&b);
		canon(y, v, &b);
		char *text = wz_arena_alloc(&c->arena, b.len + 1);
		if (!text || b.status < 0)
			rc = b.status == -E2BIG
			             ? wz_yaml_fail(y, v, err, "TooLarge", WZ_STR("expected a shorter section"))
			             : no_memory(err);
		else
			memcpy(text, b.len ? b.data : "", b.len), c->section[i] = text;
	}
	wz_buf_release(&b);
	return rc;
}

void wz_config_init(struct wz_config *c, const struct wz_mem *mem)
{
	*c = (struct wz_config){.mem = mem,
	        .cgroups = true,
	        .local_role = WZ_ROLE_USER,
	        .rate = {{20, 40}, {200, 400}, {2000, 4000}, {0, 0}},
	        .keep_jobs_us = 180 * DAY_US,
	        .keep_logs_us = 90 * DAY_US,
	        .keep_audit_us = 366 * DAY_US,
	        .audit_bytes = 10u << 20,
	        .audit_files = 10};
	wz_arena_init(&c->arena, mem, 4096);
}

void wz_config_release(struct wz_config *c)
{
	if (c->mem)
		wz_arena_release(&c->arena);
	*c = (struct wz_config){0};
}

int wz_config_parse(struct wz_config *c, struct wz_str text, const char *name, struct wz_err *err)
{
	const struct wz_mem *mem = c->mem;
	struct wz_yaml *y;
	int rc = wz_yaml_load(text, name, &y, err);
	if (rc < 0)
		return rc;
	c->section = wz_arena_alloc(&c->arena, WZ_ARRAY_LEN(sections) * sizeof *c->section);
	if (!c->section)
		rc = no_memory(err);
	else if (wz_yaml_kind(y, wz_yaml_root(y)) != WZ_YAML_MAP)
		rc = wz_err_set(err, -EINVAL, "BadYaml", wz_str(name),
		        WZ_STR(":1:1: expected keys such as \"version: 1\""));
	if (rc == 0)
		rc = wz_yaml_walk(y, wz_yaml_root(y), sections, WZ_ARRAY_LEN(sections), c, err);
	if (rc == 0)
		rc = keep_sections(c, y, err);
	wz_yaml_free(y);
	if (rc < 0) {
		wz_config_release(c);
		wz_config_init(c, mem);
	}
	return rc;
}

int wz_config_read(struct wz_config *c, const char *path, struct wz_err *err)
{
	struct wz_file_text text = {0};
	struct stat st;
	int rc = wz_file_read(path, WZ_CONFIG_BYTES_MAX, c->mem, &text, err);
	if (rc == 0 && stat(path, &st) == 0 &&
	        ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH)))
		rc = wz_err_set(err, -EPERM, "ConfigWritable", WZ_STR("others could change "), wz_str(path),
		        WZ_STR(", which says what runs as root; run: chmod go-w "), wz_str(path));
	if (rc == 0)
		rc = wz_config_parse(c, wz_file_text_str(&text), path, err);
	wz_file_text_release(&text);
	return rc;
}

static const char *section_of(const struct wz_config *c, unsigned i)
{
	return c->section && c->section[i] ? c->section[i] : "";
}

void wz_config_diff(
        const struct wz_config *from, const struct wz_config *to, struct wz_buf *now, struct wz_buf *restart)
{
	for (unsigned i = 0; i < WZ_ARRAY_LEN(sections); i++) {
		struct wz_buf *b = is_live(sections[i].key) ? now : restart;
		if (strcmp(section_of(from, i), section_of(to, i)) == 0)
			continue;
		if (b->len)
			wz_buf_addc(b, ' ');
		wz_buf_addz(b, sections[i].key);
	}
}

/* ---- who is told ---- */

static bool for_user(const struct wz_target *t, struct wz_str user)
{
	for (uint32_t i = 0; i < t->users.n; i++)
		if (wz_str_eq(user, wz_str(t->users.v[i])))
			return true;
	return t->users.n == 0;
}

uint32_t wz_target_wants(const struct wz_target *t, struct wz_str user, struct wz_str asked)
{
	if (!for_user(t, user))
		return 0;
	for (struct wz_str rest = asked; rest.ptr && asked.len;) {
		struct wz_str events = wz_str_trim(wz_str_split(&rest, ',')), name = wz_str_split(&events, ':');
		uint32_t bits = t->events;
		if (wz_str_eq(name, WZ_STR("none")))
			return 0;
		if (wz_str_eq(name, wz_str(t->name)))
			return events.ptr && wz_notice_parse(events, '+', &bits) < 0 ? 0 : bits;
	}
	return t->every_job ? t->events : 0;
}

int wz_config_check_notify(const struct wz_config *c, struct wz_str user, struct wz_str asked, struct wz_err *err)
{
	for (struct wz_str rest = asked; rest.ptr && asked.len;) {
		struct wz_str events = wz_str_trim(wz_str_split(&rest, ',')), name = wz_str_split(&events, ':');
		struct wz_near near;
		uint32_t bits;
		bool known = wz_str_eq(name, WZ_STR("none"));
		wz_near_init(&near, name);
		for (uint32_t i = 0; i < c->n_targets; i++) {
			if (!for_user(&c->target[i], user))
				continue;
			known = known || wz_str_eq(name, wz_str(c->target[i].name));
			wz_near_offer(&near, wz_str(c->target[i].name));
		}
		if (!known)
			return wz_err_set(err, -EINVAL, "BadField", WZ_STR("nobody is told under the name \""),
			        name, WZ_STR("\""),
			        near.best.len ? WZ_STR("; did you mean ") : WZ_STR("; the daemon's "),
			        near.best.len ? near.best : WZ_STR("configuration lists them under notifications"));
		if (events.ptr && wz_notice_parse(events, '+', &bits) < 0)
			return wz_err_set(err, -EINVAL, "BadField", WZ_STR("\""), events,
			        WZ_STR("\": expected started, ended, failed, preempted, requeued, joined by +"));
	}
	return 0;
}
