/* SPDX-License-Identifier: Apache-2.0 */
/* Job files. A key is one of the table of keys, with a scalar or a list; some have a richer form. Each error stands at the
 * value that it is about. */
#include "jobspec/jobspec.h"

#include "base/check.h"
#include "base/near.h"
#include "jobspec/words.h"
#include "os/yaml.h"

struct doc {
	struct wz_jobspec *j;
	const struct wz_yaml *y;
	wz_yaml_id at; /* the value that is being read */
	struct wz_err *err;
};

static struct wz_str keep(struct doc *d, struct wz_str v)
{
	char *p = wz_arena_alloc(d->j->arena, v.len + 1);
	if (p && v.len)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

/* Puts the place before an error text. */
static int placed(const struct doc *d, int rc)
{
	struct wz_err inner;
	if (rc >= 0 || rc == -ENOMEM || !d->err)
		return rc;
	inner = *d->err;
	return wz_yaml_fail(d->y, d->at, d->err, inner.reason, wz_str(inner.text));
}

static int expected(const struct doc *d, const char *what)
{
	return wz_yaml_fail(d->y, d->at, d->err, "BadValue", WZ_STR("expected "), wz_str(what));
}

static int set(struct doc *d, const char *key, struct wz_str value)
{
	return placed(d, wz_jobspec_set(d->j, wz_str(key), keep(d, value), d->err));
}

static int truth(const struct doc *d, bool *ret)
{
	struct wz_str v = wz_yaml_text(d->y, d->at);
	*ret = wz_str_eq(v, WZ_STR("true")) || wz_str_eq(v, WZ_STR("yes"));
	return *ret || wz_str_eq(v, WZ_STR("false")) || wz_str_eq(v, WZ_STR("no")) ? 0
	                                                                           : expected(d, "true or false");
}

/* A scalar, or a list of them as one text with commas. */
static int joined(struct doc *d, struct wz_str *ret)
{
	struct wz_buf b;
	if (wz_yaml_kind(d->y, d->at) == WZ_YAML_SCALAR) {
		*ret = keep(d, wz_yaml_text(d->y, d->at));
		return 0;
	}
	if (wz_yaml_kind(d->y, d->at) != WZ_YAML_LIST)
		return expected(d, "a value or a list of values");
	char *room = wz_arena_alloc(d->j->arena, 65536);
	if (!room)
		return -ENOMEM;
	wz_buf_init_fixed(&b, room, 65536);
	for (unsigned i = 0; i < wz_yaml_count(d->y, d->at); i++) {
		wz_yaml_id v = wz_yaml_item(d->y, d->at, i);
		if (wz_yaml_kind(d->y, v) != WZ_YAML_SCALAR)
			return expected(d, "a list of plain values");
		if (i)
			wz_buf_addc(&b, ',');
		wz_buf_add(&b, wz_yaml_text(d->y, v));
	}
	*ret = wz_buf_str(&b);
	return b.status < 0 ? expected(d, "a shorter list") : 0;
}

static int any_key(struct doc *d, struct wz_str key)
{
	struct wz_str v;
	bool flag, on = false;
	int rc = 0;
	if (!wz_jobspec_key(key, &flag))
		return -ENOENT;
	if (flag) {
		rc = truth(d, &on);
		return rc < 0 || !on ? rc : placed(d, wz_jobspec_set(d->j, key, WZ_STR(""), d->err));
	}
	rc = joined(d, &v);
	return rc < 0 ? rc : placed(d, wz_jobspec_set(d->j, key, v, d->err));
}

/* ---- richer forms ---- */

/* Text is parted as a shell would, without one; a list is the arguments. */
static int on_run(struct doc *d)
{
	struct wz_str *v = NULL;
	uint32_t n = 0;
	int rc = 0;
	if (wz_yaml_kind(d->y, d->at) == WZ_YAML_SCALAR) {
		rc = placed(d, wz_words_split(wz_yaml_text(d->y, d->at), true, d->j->arena, &v, &n, d->err));
	} else if (wz_yaml_kind(d->y, d->at) == WZ_YAML_LIST) {
		wz_yaml_id list = d->at;
		n = wz_yaml_count(d->y, list);
		v = wz_arena_alloc(d->j->arena, ((size_t)n + 1) * sizeof *v);
		for (unsigned i = 0; v && rc == 0 && i < n; i++) {
			d->at = wz_yaml_item(d->y, list, i);
			v[i] = keep(d, wz_yaml_text(d->y, d->at));
			if (wz_yaml_kind(d->y, d->at) != WZ_YAML_SCALAR)
				rc = expected(d, "an argument");
		}
		rc = v ? rc : -ENOMEM;
	} else {
		rc = expected(d, "a command as text, or a list of arguments");
	}
	if (rc == 0 && n == 0)
		rc = expected(d, "a command");
	return rc < 0 ? rc : wz_jobspec_command(d->j, v, n, d->err);
}

/* A map of NAME: value, each as "NAME=value" to one key; lists joined when `lists`. */
static int each_pair(struct doc *d, const char *key, bool lists)
{
	wz_yaml_id map = d->at;
	char text[WZ_API_TEXT_MAX];
	for (unsigned i = 0; i < wz_yaml_count(d->y, map); i++) {
		wz_yaml_id k, v;
		struct wz_str name = wz_yaml_pair(d->y, map, i, &k, &v), value;
		struct wz_buf b;
		d->at = v;
		if (!lists && wz_yaml_kind(d->y, v) != WZ_YAML_SCALAR)
			return expected(d, "a plain value");
		int rc = joined(d, &value);
		if (rc < 0)
			return rc;
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_buf_add(&b, name);
		wz_buf_addc(&b, '=');
		wz_buf_add(&b, value);
		if (b.status < 0)
			return expected(d, "a shorter value");
		rc = set(d, key, wz_buf_str(&b));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int each_item(struct doc *d, const char *key)
{
	wz_yaml_id list = d->at;
	if (wz_yaml_kind(d->y, list) == WZ_YAML_SCALAR)
		return set(d, key, wz_yaml_text(d->y, list));
	if (wz_yaml_kind(d->y, list) != WZ_YAML_LIST)
		return expected(d, "a list");
	for (unsigned i = 0; i < wz_yaml_count(d->y, list); i++) {
		d->at = wz_yaml_item(d->y, list, i);
		if (wz_yaml_kind(d->y, d->at) != WZ_YAML_SCALAR)
			return expected(d, "a plain value");
		int rc = set(d, key, wz_yaml_text(d->y, d->at));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int unknown(struct doc *d, wz_yaml_id key, struct wz_str word, const char *const *words)
{
	struct wz_near near;
	wz_near_init(&near, word);
	for (; *words; words++)
		wz_near_offer(&near, wz_str(*words));
	return wz_yaml_fail(d->y, key, d->err, "UnknownKey", WZ_STR("unknown key \""), word, WZ_STR("\""),
	        near.best.len ? WZ_STR("; did you mean \"") : WZ_STR(""), near.best,
	        near.best.len ? WZ_STR("\"?") : WZ_STR(""));
}

/* A map of a few known keys: which of `words` each is, to `one`. */
static int walk(struct doc *d, const char *const *words, int (*one)(struct doc *d, unsigned which))
{
	wz_yaml_id map = d->at;
	for (unsigned i = 0; i < wz_yaml_count(d->y, map); i++) {
		wz_yaml_id k, v;
		struct wz_str name = wz_yaml_pair(d->y, map, i, &k, &v);
		unsigned at = 0;
		while (words[at] && !wz_str_eq(name, wz_str(words[at])))
			at++;
		if (!words[at])
			return unknown(d, k, name, words);
		d->at = v;
		int rc = one(d, at);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int one_env(struct doc *d, unsigned which)
{
	bool on;
	int rc;
	switch (which) {
	case 0:
		return each_item(d, "pass");
	case 1:
		return wz_yaml_kind(d->y, d->at) == WZ_YAML_MAP ? each_pair(d, "env", false)
		                                                : expected(d, "a map NAME: value");
	case 2:
		return wz_yaml_kind(d->y, d->at) == WZ_YAML_MAP ? each_pair(d, "secret", false)
		                                                : each_item(d, "secret");
	default:
		rc = truth(d, &on);
		return rc < 0 || !on ? rc : set(d, "env-all", WZ_STR(""));
	}
}

static int one_retry(struct doc *d, unsigned which)
{
	static const char *const keys[] = {"retry-on", "retries", "retry-delay"};
	struct wz_str v;
	int rc = joined(d, &v);
	return rc < 0 ? rc : set(d, keys[which], v);
}

static int one_after(struct doc *d, unsigned which)
{
	static const char *const kinds[] = {"afterok:", "afternotok:", "afterany:", "aftercorr:", "after:"};
	wz_yaml_id list = d->at;
	bool many = wz_yaml_kind(d->y, list) == WZ_YAML_LIST;
	if (!many && wz_yaml_kind(d->y, list) != WZ_YAML_SCALAR)
		return expected(d, "a job, or a list of jobs");
	for (unsigned i = 0; i < (many ? wz_yaml_count(d->y, list) : 1); i++) {
		char text[256];
		struct wz_buf b;
		d->at = many ? wz_yaml_item(d->y, list, i) : list;
		wz_buf_init_fixed(&b, text, sizeof text);
		wz_buf_addz(&b, kinds[which]);
		wz_buf_add(&b, wz_yaml_text(d->y, d->at));
		if (b.status < 0 || wz_yaml_kind(d->y, d->at) != WZ_YAML_SCALAR)
			return expected(d, "a job number, or the name of a job of this file");
		int rc = set(d, "after", wz_buf_str(&b));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int one_log(struct doc *d, unsigned which)
{
	(void)which;
	return set(d, "log-max", wz_yaml_text(d->y, d->at));
}

/* {signal: USR1, grace: 60s} */
static int on_preempt(struct doc *d)
{
	char text[256];
	struct wz_buf b;
	wz_yaml_id map = d->at;
	wz_buf_init_fixed(&b, text, sizeof text);
	for (unsigned i = 0; i < wz_yaml_count(d->y, map); i++) {
		wz_yaml_id k, v;
		if (i)
			wz_buf_addc(&b, ',');
		wz_buf_add(&b, wz_yaml_pair(d->y, map, i, &k, &v));
		wz_buf_addc(&b, ':');
		wz_buf_add(&b, wz_yaml_text(d->y, v));
	}
	return b.status < 0 ? expected(d, "a shorter contract") : set(d, "preempt", wz_buf_str(&b));
}

static int on_key(struct doc *d, struct wz_str key, bool *ret_known)
{
	static const char *const env[] = {"pass", "set", "secret", "all", NULL};
	static const char *const retry[] = {"on", "max", "delay", NULL};
	static const char *const after[] = {"ok", "notok", "any", "corr", "start", NULL};
	static const char *const logs[] = {"max", NULL};
	bool map = wz_yaml_kind(d->y, d->at) == WZ_YAML_MAP;
	*ret_known = true;
	if (wz_str_eq(key, WZ_STR("run")))
		return on_run(d);
	if (wz_str_eq(key, WZ_STR("env")) && map)
		return walk(d, env, one_env);
	if (wz_str_eq(key, WZ_STR("retry")) && map)
		return walk(d, retry, one_retry);
	if (wz_str_eq(key, WZ_STR("after")) && map)
		return walk(d, after, one_after);
	if (wz_str_eq(key, WZ_STR("logs")) && map)
		return walk(d, logs, one_log);
	if (wz_str_eq(key, WZ_STR("sweep")) && map)
		return each_pair(d, "sweep", true);
	if (wz_str_eq(key, WZ_STR("labels")) && map)
		return each_pair(d, "label", false);
	if (wz_str_eq(key, WZ_STR("preempt")) && map)
		return on_preempt(d);
	if (wz_str_eq(key, WZ_STR("secret")) || wz_str_eq(key, WZ_STR("env")) || wz_str_eq(key, WZ_STR("sweep")) ||
	        wz_str_eq(key, WZ_STR("label")) || wz_str_eq(key, WZ_STR("after"))) {
		int rc = 0;
		wz_yaml_id v = d->at;
		char name[16];
		(void)snprintf(name, sizeof name, "%.*s", (int)key.len, key.ptr);
		d->at = v;
		rc = each_item(d, name);
		return rc;
	}
	int rc = any_key(d, key);
	*ret_known = rc != -ENOENT;
	return rc;
}

static int whole(struct doc *d)
{
	static const char *const rich[] = {"run", "retry", "logs", "labels"};
	wz_yaml_id map = wz_yaml_root(d->y);
	d->at = map;
	if (wz_yaml_kind(d->y, map) != WZ_YAML_MAP)
		return expected(d, "a map of keys and values");
	for (unsigned i = 0; i < wz_yaml_count(d->y, map); i++) {
		wz_yaml_id k, v;
		struct wz_str key = wz_yaml_pair(d->y, map, i, &k, &v);
		bool known;
		d->at = v;
		int rc = on_key(d, key, &known);
		if (!known) {
			struct wz_near near;
			wz_near_init(&near, key);
#define X(name, alias, value, help) wz_near_offer(&near, WZ_STR(name));
			WZ_JOBSPEC_KEYS(X)
#undef X
			for (unsigned r = 0; r < WZ_ARRAY_LEN(rich); r++)
				wz_near_offer(&near, wz_str(rich[r]));
			return wz_yaml_fail(d->y, k, d->err, "UnknownKey", WZ_STR("unknown key \""), key,
			        WZ_STR("\""), near.best.len ? WZ_STR("; did you mean \"") : WZ_STR(""), near.best,
			        near.best.len ? WZ_STR("\"?") : WZ_STR(""));
		}
		if (rc < 0)
			return rc;
	}
	/* What spans keys is checked here, so that it is told with the file's name. */
	d->at = map;
	return placed(d, wz_profile_finish(&d->j->profile, d->j->catalogue, d->err));
}

int wz_jobspec_yaml(struct wz_jobspec *j, struct wz_str text, const char *name, unsigned which, struct wz_err *err)
{
	struct wz_yaml *y = NULL;
	struct wz_err scratch;
	struct doc d = {.j = j, .err = err ? err : &scratch};
	int rc = wz_yaml_load_nth(text, name, which, &y, d.err);
	if (rc < 0)
		return rc;
	d.y = y;
	rc = whole(&d);
	wz_yaml_free(y);
	if (rc == -ENOMEM)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	return rc;
}
