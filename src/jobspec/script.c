/* SPDX-License-Identifier: Apache-2.0 */
/* #SBATCH and #WZ lines: read as sbatch reads them, up to the first line that is a command. #WZ lines have the long options
 * of `wz submit`; they come after all #SBATCH lines, so that a script of Slurm can be given what is only ours. */
#include "jobspec/jobspec.h"

#include "base/check.h"
#include "base/json.h"
#include "jobspec/words.h"

#define LINE_MAX_ 8192u

struct script {
	struct wz_jobspec *j;
	const char *name;
	unsigned line;
	struct wz_err *err;
};

static int placed(struct script *s, int rc)
{
	struct wz_num n;
	if (rc >= 0 || rc == -ENOMEM)
		return rc;
	wz_err_prefix(s->err, WZ_STR(": "));
	wz_err_prefix(s->err, wz_str_u64(&n, s->line));
	wz_err_prefix(s->err, WZ_STR(":"));
	wz_err_prefix(s->err, wz_str(s->name));
	return rc;
}

static int set_slurm(struct script *s, struct wz_str key, struct wz_str value)
{
	return placed(s, wz_jobspec_slurm(s->j, key, value, s->err));
}

/* "-n4", "-n 4", "--ntasks=4", "--ntasks 4", several on one line */
static int slurm_line(struct script *s, const struct wz_str *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct wz_str key, value = {NULL, 0};
		if (wz_str_starts(w[i], WZ_STR("--")) && w[i].len > 2) {
			value = (struct wz_str){w[i].ptr + 2, w[i].len - 2};
			key = wz_str_split(&value, '=');
		} else if (w[i].len > 1 && w[i].ptr[0] == '-') {
			key = (struct wz_str){w[i].ptr + 1, 1};
			if (w[i].len > 2)
				value = (struct wz_str){w[i].ptr + 2, w[i].len - 2};
		} else {
			return placed(s, wz_err_set(s->err, -EINVAL, "BadOption", WZ_STR("\""), w[i],
			                         WZ_STR("\" is no option of sbatch")));
		}
		if (!value.ptr && wz_jobspec_slurm_takes_value(key)) {
			if (i + 1 == n)
				return placed(s, wz_err_set(s->err, -EINVAL, "MissingValue", WZ_STR("\""), key,
				                         WZ_STR("\" needs a value")));
			value = w[++i];
		}
		int rc = set_slurm(s, key, value.ptr ? value : WZ_STR(""));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int wz_line(struct script *s, const struct wz_str *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct wz_str value, key;
		bool flag = false;
		if (!wz_str_starts(w[i], WZ_STR("--")))
			return placed(s, wz_err_set(s->err, -EINVAL, "BadOption", WZ_STR("\""), w[i],
			                         WZ_STR("\": expected --KEY=VALUE")));
		value = (struct wz_str){w[i].ptr + 2, w[i].len - 2};
		key = wz_str_split(&value, '=');
		if (wz_jobspec_key(key, &flag) && !flag && !value.ptr) {
			if (i + 1 == n)
				return placed(s, wz_err_set(s->err, -EINVAL, "MissingValue", WZ_STR("--"), key,
				                         WZ_STR(" needs a value")));
			value = w[++i];
		}
		int rc = placed(s, wz_jobspec_set(s->j, key, value.ptr ? value : WZ_STR(""), s->err));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int pass(struct script *s, struct wz_str text, struct wz_str mark, bool slurm, bool *ret_any)
{
	s->line = 0;
	while (text.ptr) {
		struct wz_str line = wz_str_split(&text, '\n'), *w, rest;
		uint32_t n;
		s->line++;
		rest = wz_str_trim(line);
		if (rest.len && rest.ptr[0] != '#')
			break; /* the first command */
		if (!wz_str_starts(line, mark) ||
		        (line.len > mark.len && line.ptr[mark.len] != ' ' && line.ptr[mark.len] != '\t'))
			continue;
		rest = (struct wz_str){line.ptr + mark.len, line.len - mark.len};
		if (rest.len > LINE_MAX_)
			return placed(
			        s, wz_err_set(s->err, -E2BIG, "TooLarge", WZ_STR("a line longer than 8192 bytes")));
		/* what follows a # is a comment, as sbatch has it */
		for (size_t i = 1; i < rest.len; i++)
			if (rest.ptr[i] == '#' && (rest.ptr[i - 1] == ' ' || rest.ptr[i - 1] == '\t'))
				rest.len = i;
		int rc = placed(s, wz_words_split(rest, false, s->j->arena, &w, &n, s->err));
		if (rc == 0)
			rc = slurm ? slurm_line(s, w, n) : wz_line(s, w, n);
		if (rc < 0)
			return rc;
		*ret_any = true;
	}
	return 0;
}

int wz_jobspec_script(struct wz_jobspec *j, struct wz_str text, const char *name, struct wz_err *err)
{
	struct wz_err scratch;
	struct script s = {.j = j, .name = name, .err = err ? err : &scratch};
	bool slurm = false, ours = false;
	if (text.len == 0 || text.len > WZ_API_BLOB_MAX)
		return wz_err_set(err, -E2BIG, "TooLarge", wz_str(name), WZ_STR(": a script has 1 byte to 4 MiB"));
	if (!wz_utf8_ok(text) || memchr(text.ptr, 0, text.len))
		return wz_err_set(err, -EINVAL, "BadText", wz_str(name), WZ_STR(": a script must be UTF-8 text"));
	int rc = pass(&s, text, WZ_STR("#SBATCH"), true, &slurm);
	s.line = 0;
	if (rc == 0) /* #WZ replaces what Slurm's words said */
		rc = placed(&s, wz_profile_finish(&j->profile, j->catalogue, s.err));
	if (rc == 0)
		rc = pass(&s, text, WZ_STR("#WZ"), false, &ours);
	s.line = 0;
	if (rc == 0)
		rc = placed(&s, wz_profile_finish(&j->profile, j->catalogue, s.err));
	if (rc < 0)
		return rc;
	if (slurm)
		j->rq.compat = WZ_STR("slurm");
	j->rq.script = text;
	return 0;
}
