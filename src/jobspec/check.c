/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon asks of every submit, whoever sent it. */
#include "jobspec/jobspec.h"

#include "base/check.h"
#include "base/json.h"
#include "jobspec/depend.h"
#include "jobspec/indices.h"
#include "jobspec/params.h"
#include "jobspec/retry.h"
#include "jobspec/words.h"

static int bad(struct wz_err *err, const char **ret_field, const char *field, const char *why)
{
	*ret_field = field;
	return wz_err_set(err, -EINVAL, "BadField", wz_str(why));
}

static int check_many(const struct wz_api_submit *rq, struct wz_arena *a, const char **f, struct wz_err *err)
{
	struct wz_indices x;
	struct wz_sweep s = {.n = 0};
	int rc = 0;
	if ((rq->array.len > 0) + (rq->sweep.n > 0) + (rq->lines.n > 0) > 1)
		return bad(err, f, "array", "an array, a sweep and lines exclude each other");
	if (rq->throttle && !rq->array.len && !rq->sweep.n && !rq->lines.n)
		return bad(err, f, "throttle", "only the tasks of an array are throttled");
	*f = "array";
	if (rq->array.len)
		rc = wz_indices_parse(rq->array, &x, err);
	for (uint32_t i = 0; rc == 0 && i < rq->sweep.n; i++) {
		*f = "sweep";
		rc = wz_sweep_add(&s, rq->sweep.v[i], err);
	}
	for (uint32_t i = 0; rc == 0 && i < rq->lines.n; i++) {
		struct wz_str *v, line = rq->lines.v[i];
		uint32_t n = 1;
		*f = "lines";
		if (memchr(line.ptr, '\n', line.len) || line.len > 131072)
			return bad(err, f, "lines", "a line has a line break or more than 128 KiB");
		if (!rq->argv.n && !rq->script.len)
			rc = wz_words_split(line, true, a, &v, &n, err);
		if (rc == 0 && n == 0)
			return bad(err, f, "lines", "an empty line is no command");
		if (rc < 0) {
			struct wz_num num;
			wz_err_prefix(err, WZ_STR(": "));
			wz_err_prefix(err, wz_str_u64(&num, i + 1));
			wz_err_prefix(err, WZ_STR("line "));
		}
	}
	return rc;
}

static int check_names(const struct wz_api_submit *rq, const char **f, struct wz_err *err)
{
	for (uint32_t i = 0; i < rq->labels.n; i++)
		if (rq->labels.v[i].key.len == 0 || rq->labels.v[i].key.len > 128 ||
		        rq->labels.v[i].value.len > 1024 ||
		        memchr(rq->labels.v[i].key.ptr, '=', rq->labels.v[i].key.len))
			return bad(err, f, "labels",
			        "a label is a name of at most 128 bytes without '=' and at most 1024 bytes");
	for (uint32_t i = 0; i < rq->secrets.n; i++)
		if (!wz_param_name_ok(rq->secrets.v[i].key) || rq->secrets.v[i].value.len > 65536)
			return bad(err, f, "secrets", "a secret has the name of a variable, and at most 64 KiB");
	for (uint32_t i = 0; i < rq->env_set.n; i++)
		if (rq->env_set.v[i].key.len == 0 ||
		        memchr(rq->env_set.v[i].key.ptr, '=', rq->env_set.v[i].key.len))
			return bad(err, f, "env_set", "a variable needs a name without '='");
	for (uint32_t i = 0; i < rq->name.len; i++)
		if ((unsigned char)rq->name.ptr[i] < ' ' || rq->name.ptr[i] == 127)
			return bad(err, f, "name", "a name is one line of printable text");
	return 0;
}

/* What execve would refuse, with the stack limit that is usual (8 MiB): better now than at the start. */
static int check_size(const struct wz_api_submit *rq, const char **f, struct wz_err *err)
{
	enum { STRING_MAX = 131072, ALL_MAX = 2000000 };
	size_t all = 0;
	for (uint32_t i = 0; i < rq->argv.n; i++) {
		all += rq->argv.v[i].len + 9;
		if (rq->argv.v[i].len >= STRING_MAX) {
			*f = "argv";
			return wz_err_set(err, -E2BIG, "TooLarge",
			        WZ_STR("an argument is longer than 128 KiB: put it in a file"));
		}
	}
	for (unsigned k = 0; k < 2; k++) {
		const struct wz_pairs *p = k ? &rq->env_set : &rq->env;
		for (uint32_t i = 0; i < p->n; i++) {
			size_t one = p->v[i].key.len + p->v[i].value.len + 10;
			all += k || rq->env_all ? one : 0;
			if ((k || rq->env_all) && one >= STRING_MAX) {
				*f = k ? "env_set" : "env";
				return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("the variable "), p->v[i].key,
				        WZ_STR(" is longer than 128 KiB"));
			}
		}
	}
	*f = "argv";
	return all > ALL_MAX ? wz_err_set(err, -E2BIG, "TooLarge",
	                               WZ_STR("arguments and environment take more than 2000000 bytes: the kernel "
	                                      "would not start it"))
	                     : 0;
}

int wz_submit_check(const struct wz_api_submit *rq, struct wz_arena *a, const char **f, struct wz_err *err)
{
	struct wz_depend *d = wz_arena_alloc(a, WZ_DEPENDS_MAX * sizeof *d);
	struct wz_retry_rule rule;
	uint32_t n = 0;
	int rc = d ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	*f = NULL;
	for (uint32_t i = 0; rc == 0 && i < rq->after.n; i++) {
		*f = "after";
		rc = wz_depend_parse(rq->after.v[i], d, WZ_DEPENDS_MAX, &n, err);
		if (rc == 0 && rq->after.n > 1 && d[n - 1].any)
			return bad(
			        err, f, "after", "'?' joins the items of one text; several texts must all be met");
	}
	if (rc == 0 && rq->on_dep_fail.len && !wz_str_eq(rq->on_dep_fail, WZ_STR("cancel")) &&
	        !wz_str_eq(rq->on_dep_fail, WZ_STR("hold")) && !wz_str_eq(rq->on_dep_fail, WZ_STR("run")))
		return bad(err, f, "on_dep_fail", "expected cancel, hold or run");
	for (uint32_t i = 0; rc == 0 && i < rq->retry_on.n; i++) {
		*f = "retry_on";
		rc = wz_retry_parse(rq->retry_on.v[i], &rule, err);
	}
	if (rc == 0)
		rc = check_many(rq, a, f, err);
	if (rc == 0)
		rc = check_names(rq, f, err);
	if (rc == 0)
		rc = check_size(rq, f, err);
	if (rc == 0 && rq->argv.n == 0 && rq->script.len == 0 && rq->lines.n == 0)
		return bad(err, f, "argv", "a command, a script or lines are missing");
	if (rc == 0 && rq->cwd.len && rq->cwd.ptr[0] != '/')
		return bad(err, f, "cwd", "the working directory must be absolute");
	if (rc == 0 && rq->deadline_us && rq->begin_us > rq->deadline_us)
		return bad(err, f, "deadline_us", "the deadline is before the begin");
	if (rc == 0)
		*f = NULL;
	return rc;
}
