/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

#include "os/file.h"

static const struct wz_verb *const verbs[] = {
        &wz_verb_trace_gen,
        &wz_verb_trace_info,
        &wz_verb_trace_convert,
        &wz_verb_trace_check,
        &wz_verb_trace_cut,
        &wz_verb_trace_scale,
        &wz_verb_trace_merge,
        &wz_verb_trace_anon,
        &wz_verb_trace_import_slurm,
        &wz_verb_trace_replay,
        &wz_verb_trace_workload,
        &wz_verb_trace_export,
        &wz_verb_trace_verify,
        NULL,
};

const struct wz_verb wz_verb_trace = {
        .name = "trace",
        .summary = "traces: generate, look into, convert, check",
        .usage = "wz trace VERB [options]",
        .examples = "wz trace gen --like lab --out /tmp/lab\n"
                    "wz trace info /tmp/lab/trace.wz\n",
        .sub = verbs,
};

int wz_cli_trace_init(struct wz_cli_trace *t, const struct wz_mem *mem, struct wz_err *err)
{
	int rc = wz_catalogue_init(&t->catalogue, mem);
	if (rc < 0)
		return wz_err_set(err, rc, "OutOfMemory", WZ_STR("out of memory"));
	wz_sim_nodes_init(&t->nodes, mem, &t->catalogue);
	wz_sim_tasks_init(&t->tasks, mem);
	return 0;
}

void wz_cli_trace_release(struct wz_cli_trace *t)
{
	wz_sim_tasks_release(&t->tasks);
	wz_sim_nodes_release(&t->nodes);
	wz_catalogue_release(&t->catalogue);
}

int wz_cli_trace_format(struct wz_str name, const struct wz_trace_format *none, const struct wz_trace_format **ret,
        struct wz_err *err)
{
	const struct wz_trace_format *f = name.ptr ? wz_trace_format_find(name, err) : none;
	if (name.ptr && !f)
		return -EINVAL;
	*ret = f;
	return 0;
}

/* "DIR/NAME", terminated, in b. */
static const char *path_in(struct wz_buf *b, struct wz_str dir, const char *name)
{
	wz_buf_clear(b);
	wz_buf_add(b, dir);
	if (dir.len && dir.ptr[dir.len - 1] != '/')
		wz_buf_addc(b, '/');
	wz_buf_addz(b, name);
	return wz_buf_z(b);
}

static int write_file(
        struct wz_cli *cli, struct wz_str dir, const char *name, const struct wz_buf *text, struct wz_err *err)
{
	struct wz_buf path;
	wz_buf_init(&path, cli->mem, 65536);
	const char *p = path_in(&path, dir, name);
	int rc = path.status < 0 ? wz_file_err(err, -ENAMETOOLONG, "write", name)
	                         : wz_file_write(p, wz_buf_str(text), 0666, err);
	if (rc == 0) {
		wz_buf_addz(&cli->out, p);
		wz_buf_addc(&cli->out, '\n');
	}
	wz_buf_release(&path);
	return rc;
}

int wz_cli_trace_write(
        struct wz_cli *cli, const struct wz_cli_trace *t, const struct wz_trace_format *f, struct wz_str dir)
{
	struct wz_err err = {0};
	struct wz_buf text[2];
	bool to_stdout = wz_str_eq(dir, WZ_STR("-")), one = strcmp(f->nodes_file, f->tasks_file) == 0;
	const char *name[2] = {f->nodes_file, f->tasks_file};
	unsigned what[2] = {one ? WZ_TRACE_NODES | WZ_TRACE_TASKS : WZ_TRACE_NODES, one ? 0 : WZ_TRACE_TASKS};
	int rc = 0;
	if (!one && !t->nodes.n)
		what[0] = 0;
	if (!one && !t->tasks.n)
		what[1] = 0;
	if (to_stdout && what[0] && what[1])
		rc = wz_err_set(&err, -EINVAL, "Usage", WZ_STR("the "), wz_str(f->name),
		        WZ_STR(" format has two files; give a directory with --out"));
	for (unsigned i = 0; i < 2; i++) {
		wz_buf_init(&text[i], cli->mem, WZ_TRACE_BYTES_MAX);
		if (rc == 0 && what[i])
			rc = f->write(&t->nodes, &t->tasks, what[i], &text[i], &err);
	}
	if (rc == 0 && !to_stdout) {
		struct wz_buf z;
		wz_buf_init(&z, cli->mem, 65536);
		wz_buf_add(&z, dir);
		rc = wz_file_mkdirs(wz_buf_z(&z), 0777, &err);
		wz_buf_release(&z);
	}
	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		if (what[i] && to_stdout)
			wz_buf_add(&cli->out, wz_buf_str(&text[i]));
		else if (what[i])
			rc = write_file(cli, dir, name[i], &text[i], &err);
	}
	wz_buf_release(&text[0]);
	wz_buf_release(&text[1]);
	return rc < 0 ? wz_cli_fail(&err) : WZ_EXIT_OK;
}
