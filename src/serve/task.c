/* SPDX-License-Identifier: Apache-2.0 */
/* What one task has of its own in a start: its place in an array, its parameters in the arguments, its environment, secrets,
 * a checkout of its code. The code needs something that runs as the user before the command does: a fixed text for /bin/sh that
 * gets everything as arguments and becomes the command. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "jobspec/indices.h"
#include "jobspec/params.h"
#include "jobspec/words.h"

/* $1 archive, $2 directory in it; the rest is the command. */
static const char launcher[] = "set -e\n"
                               "mkdir -p \"$WZ_RUN_DIR/code\"\n"
                               "tar -xf \"$1\" -C \"$WZ_RUN_DIR/code\"\n"
                               "cd \"$WZ_RUN_DIR/code/$2\"\n"
                               "shift 2\n"
                               "exec \"$@\"\n";

struct task {
	struct serve *s;
	struct wz_arena *a;
	const struct wz_job_row *row;
	const struct wz_api_submit *spec;
	struct wz_wire_start *w;
	struct wz_err *err;
};

static int no_memory(struct task *x)
{
	return wz_err_set(x->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

static struct wz_str keep(struct task *x, struct wz_str v)
{
	char *p = wz_arena_alloc(x->a, v.len + 1);
	if (p && v.len)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

static struct wz_str number(struct task *x, uint64_t v)
{
	struct wz_num n;
	return keep(x, wz_str_u64(&n, v));
}

/* "NAME=VALUE" of each */
static int pairs(struct task *x, const struct wz_pairs *p, struct wz_wire_array *ret)
{
	struct wz_str *v = wz_arena_alloc(x->a, ((size_t)p->n + 1) * sizeof *v);
	struct wz_buf b;
	for (uint32_t i = 0; v && i < p->n; i++) {
		size_t n = p->v[i].key.len + p->v[i].value.len + 2;
		char *t = wz_arena_alloc(x->a, n);
		if (!t)
			return no_memory(x);
		wz_buf_init_fixed(&b, t, n);
		wz_buf_add(&b, p->v[i].key);
		wz_buf_addc(&b, '=');
		wz_buf_add(&b, p->v[i].value);
		v[i] = wz_buf_str(&b);
	}
	*ret = (struct wz_wire_array){p->n, v};
	return v ? 0 : no_memory(x);
}

static int put_array(struct task *x)
{
	struct wz_wire_start *w = x->w;
	struct wz_str rest = x->row->params, *v = wz_arena_alloc(x->a, (WZ_SWEEP_AXES_MAX + 1) * sizeof *v);
	uint32_t n = 0;
	if (!v)
		return no_memory(x);
	if (x->row->array <= 0)
		return 0;
	w->array_job = number(x, (uint64_t)x->row->array);
	w->array_index = x->row->array_index;
	struct wz_indices i;
	if (x->spec->array.len && wz_indices_parse(x->spec->array, &i, NULL) == 0) {
		w->array_count = i.count;
		w->array_min = wz_indices_at(&i, 0);
		w->array_max = wz_indices_at(&i, i.count - 1);
		w->array_step = i.step;
	} else {
		const struct book_order *o = book_array(x->s, (uint64_t)x->row->array);
		w->array_count = o ? (int64_t)(o->last - o->id) + 1 : 0;
		w->array_max = w->array_count - 1;
		w->array_step = 1;
	}
	while (rest.ptr && n < WZ_SWEEP_AXES_MAX) {
		struct wz_str one = wz_str_split(&rest, '\n');
		if (one.len)
			v[n++] = one;
	}
	w->params = (struct wz_wire_array){n, v};
	return 0;
}

/* Arguments with the parameters in; a line is the command itself when no other was given. */
static int put_argv(struct task *x)
{
	struct wz_str params = x->row->params, line = params;
	const struct wz_strs *argv = &x->spec->argv;
	uint32_t n = argv->n;
	struct wz_str *v;
	struct wz_buf b;
	if (!params.len)
		return 0;
	if (!n && !x->w->script.len) {
		(void)wz_str_split(&line, '=');
		line = wz_str_split(&line, '\n');
		int rc = wz_words_split(line, true, x->a, &v, &n, x->err);
		x->w->argv = (struct wz_wire_array){n, v};
		return rc;
	}
	v = wz_arena_alloc(x->a, ((size_t)n + 1) * sizeof *v);
	wz_buf_init(&b, x->s->mem, WZ_BLOB_MAX);
	for (uint32_t i = 0; v && i < n; i++) {
		wz_buf_clear(&b);
		wz_params_expand(argv->v[i], params, &b);
		v[i] = keep(x, wz_buf_str(&b));
		if (b.status < 0 || !v[i].ptr)
			v = NULL;
	}
	wz_buf_release(&b);
	x->w->argv = (struct wz_wire_array){n, v};
	return v ? 0 : no_memory(x);
}

static int put_env(struct task *x)
{
	const struct wz_api_submit *spec = x->spec;
	struct wz_str *v = wz_arena_alloc(x->a, ((size_t)spec->env_pass.n + 1) * sizeof *v);
	if (!v)
		return no_memory(x);
	if (spec->env_pass.n)
		memcpy(v, spec->env_pass.v, spec->env_pass.n * sizeof *v);
	x->w->pass = (struct wz_wire_array){spec->env_pass.n, v};
	x->w->env_all = spec->env_all;
	return pairs(x, &spec->env_set, &x->w->set);
}

static int put_secrets(struct task *x)
{
	struct wz_str *v;
	uint32_t n;
	if (!x->row->secrets.len)
		return 0;
	int rc = secret_open(x->s, x->row->secrets, x->a, &v, &n, x->err);
	x->w->secrets = (struct wz_wire_array){n, v};
	x->w->secrets_env = x->spec->secrets_env;
	return rc;
}

static int put_launcher(struct task *x)
{
	struct wz_wire_start *w = x->w;
	const struct wz_str *argv = w->argv.item;
	char path[4096] = "";
	if (!x->row->snapshot.len)
		return 0;
	struct wz_str *v = wz_arena_alloc(x->a, ((size_t)w->argv.n + 12) * sizeof *v);
	uint32_t n = 0;
	if (!v)
		return no_memory(x);
	snapshot_path(x->s, x->row->uid, x->row->snapshot, path);
	v[n++] = WZ_STR("/bin/sh");
	v[n++] = WZ_STR("-c");
	v[n++] = (struct wz_str){launcher, sizeof launcher - 1};
	v[n++] = WZ_STR("wz");
	v[n++] = keep(x, wz_str(path));
	v[n++] = x->spec->snapshot_cwd;
	if (w->script.len) /* the agent puts it there, by this name */
		w->script_at = n++;
	for (uint32_t i = 0; i < w->argv.n; i++)
		v[n++] = argv[i];
	w->argv = (struct wz_wire_array){n, v};
	return 0;
}

int task_fill(struct serve *s, struct wz_arena *a, const struct wz_job_row *row, const struct wz_api_submit *spec,
        struct wz_wire_start *w, struct wz_err *err)
{
	struct task x = {s, a, row, spec, w, err};
	int rc = put_array(&x);
	if (rc == 0)
		rc = put_argv(&x);
	if (rc == 0)
		rc = put_env(&x);
	if (rc == 0)
		rc = put_secrets(&x);
	if (rc == 0)
		rc = put_launcher(&x);
	return rc;
}
