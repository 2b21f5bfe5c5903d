/* SPDX-License-Identifier: Apache-2.0 */
/* Where the output of an attempt goes. Our own logs are STATE/logs/JOB/ATTEMPT.TASK.log; a job may name files of its user's
 * instead, with Slurm's %-words. */
#include "serve/serve_int.h"

#define PATTERN_PATH_MAX 3000u

void log_path(const struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, struct wz_buf *b)
{
	wz_buf_addz(b, s->o->state_dir);
	wz_buf_addz(b, "/logs/");
	wz_buf_add_u64(b, job);
	wz_buf_addc(b, '/');
	wz_buf_add_u64(b, attempt);
	wz_buf_addc(b, '.');
	wz_buf_add_u64(b, task);
	wz_buf_addz(b, ".log");
}

/* A name is no path. */
static void add_name(struct wz_buf *b, struct wz_str name)
{
	for (size_t i = 0; i < name.len; i++)
		wz_buf_addc(b, name.ptr[i] == '/' ? '_' : name.ptr[i]);
}

/* One %-word. False: there is no such word. */
static bool add_word(struct wz_buf *b, char word, const struct wz_job_row *r, uint32_t task, uint32_t attempt,
        struct wz_str node)
{
	bool array = WZ_GIVEN(JOB, r, array) && r->array;
	switch (word) {
	case '%':
		wz_buf_addc(b, '%');
		return true;
	case 'j':
		wz_buf_add_i64(b, r->job);
		return true;
	case 'A':
		wz_buf_add_i64(b, array ? r->array : r->job);
		return true;
	case 'a':
		wz_buf_add_i64(b, array ? r->array_index : 0);
		return true;
	case 'x':
		add_name(b, r->name);
		return true;
	case 'u':
		add_name(b, r->user);
		return true;
	case 'N':
		add_name(b, node);
		return true;
	case 'r':
		wz_buf_add_u64(b, attempt - 1);
		return true;
	case 't':
		wz_buf_add_u64(b, task);
		return true;
	default:
		return false;
	}
}

struct expanding {
	const struct wz_job_row *row;
	struct wz_str cwd, node;
	uint32_t task, attempt;
	struct wz_arena *arena;
};

/* The %-word at *i, with zeros before it to a width: %4j. *i is then at its last character. */
static bool add_padded(struct wz_buf *b, struct wz_str pattern, size_t *i, const struct expanding *x)
{
	char word[256];
	struct wz_buf one;
	size_t width = 0, at = *i + 1;
	for (; at < pattern.len && pattern.ptr[at] >= '0' && pattern.ptr[at] <= '9' && width < 20; at++)
		width = width * 10 + (size_t)(pattern.ptr[at] - '0');
	wz_buf_init_fixed(&one, word, sizeof word);
	if (at >= pattern.len || width > 20 ||
	        !add_word(&one, pattern.ptr[at], x->row, x->task, x->attempt, x->node) || one.status < 0)
		return false;
	for (size_t k = one.len; k < width; k++)
		wz_buf_addc(b, '0');
	wz_buf_add(b, wz_buf_str(&one));
	*i = at;
	return true;
}

static int expand(const struct expanding *x, struct wz_str pattern, struct wz_str *ret, struct wz_err *err)
{
	char *text = wz_arena_alloc(x->arena, PATTERN_PATH_MAX + 1);
	struct wz_buf b;
	if (!text)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	wz_buf_init_fixed(&b, text, PATTERN_PATH_MAX);
	if (pattern.ptr[0] != '/') {
		wz_buf_add(&b, x->cwd.len ? x->cwd : WZ_STR("/"));
		wz_buf_addc(&b, '/');
	}
	for (size_t i = 0; i < pattern.len; i++) {
		if (pattern.ptr[i] != '%')
			wz_buf_addc(&b, pattern.ptr[i]);
		else if (!add_padded(&b, pattern, &i, x))
			return wz_err_set(err, -EINVAL, "BadField",
			        WZ_STR("the words in the path of a log are %j %A %a %x %u %N %r %t and %%"));
	}
	if (b.status < 0 || text[b.len - 1] == '/')
		return wz_err_set(
		        err, -EINVAL, "BadField", WZ_STR("the path of a log is too long, or names a directory"));
	*ret = wz_buf_str(&b);
	return 0;
}

static int own_path(const struct serve *s, const struct expanding *x, struct wz_str *ret, struct wz_err *err)
{
	struct wz_buf b;
	wz_buf_init(&b, s->mem, 4096);
	log_path(s, (uint64_t)x->row->job, x->task, x->attempt, &b);
	char *copy = b.status < 0 ? NULL : wz_arena_alloc(x->arena, b.len + 1);
	if (copy)
		memcpy(copy, b.data, b.len);
	*ret = (struct wz_str){copy, b.len};
	wz_buf_release(&b);
	return copy ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

int log_paths(const struct serve *s, const struct wz_job_row *row, const struct wz_api_submit *spec, uint32_t task,
        uint32_t attempt, struct wz_str node, struct wz_arena *arena, struct log_paths *ret, struct wz_err *err)
{
	struct log_paths p = {.theirs = {spec->stdout_path.len != 0, spec->stderr_path.len != 0}};
	struct expanding x = {row, spec->cwd, node, task, attempt, arena};
	int rc = spec->stdout_path.len ? expand(&x, spec->stdout_path, &p.out, err) : own_path(s, &x, &p.out, err);
	if (rc == 0 && spec->stderr_path.len)
		rc = expand(&x, spec->stderr_path, &p.err, err);
	if (rc == 0)
		*ret = p;
	return rc;
}
