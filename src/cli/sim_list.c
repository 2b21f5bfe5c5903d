/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim_list.h"

int wz_sim_files_check(const struct wz_verb *v, const struct wz_sim_files *f, int operands, const struct wz_list **ret)
{
	*ret = f->trace.n ? &f->trace : &f->pods;
	if (operands)
		return wz_cli_usage(v, "it takes options only: --nodes FILE --pods FILE");
	if (f->trace.n && (f->nodes.n || f->pods.n))
		return wz_cli_usage(v, "give --trace, or --nodes and --pods");
	if (!f->trace.n && (!f->nodes.n || !f->pods.n))
		return wz_cli_usage(v, "both --nodes FILE and --pods FILE are needed (or --trace FILE)");
	if (f->nodes.n > WZ_SIM_LISTS_MAX || (*ret)->n > WZ_SIM_LISTS_MAX)
		return wz_cli_usage(v, "at most 64 files");
	return 0;
}

static struct wz_str list_name(struct wz_str path)
{
	struct wz_str name = path, prefix = WZ_STR("openb_pod_list_"), suffix = WZ_STR(".csv");

	while (name.ptr)
		path = wz_str_split(&name, '/');
	if (wz_str_starts(path, prefix))
		path = (struct wz_str){path.ptr + prefix.len, path.len - prefix.len};
	if (path.len > suffix.len && wz_str_eq((struct wz_str){path.ptr + path.len - suffix.len, suffix.len}, suffix))
		path.len -= suffix.len;
	return path;
}

int wz_sim_list_open(struct wz_sim_list *l, const struct wz_sim_files *f, struct wz_str path, const struct wz_mem *mem,
                     struct wz_err *err)
{
	const char *file[WZ_SIM_LISTS_MAX + 1];
	uint32_t n = 0;
	int r = wz_catalogue_init(&l->catalogue, mem);

	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory"));
	for (uint32_t k = 0; k < f->nodes.n; k++)
		file[n++] = f->nodes.item[k].ptr; /* views of argv: terminated */
	file[n++] = path.ptr;
	wz_sim_nodes_init(&l->nodes, mem, &l->catalogue);
	wz_sim_tasks_init(&l->tasks, mem);
	l->opened = true;
	l->name = list_name(path);
	r = wz_trace_load(file, n, NULL, mem, &l->nodes, &l->tasks, err);
	if (r == 0)
		r = wz_pack_input_make(&l->nodes, &l->tasks, mem, &l->in, err);
	l->ready = r == 0;
	return r;
}

int wz_sim_list_more(struct wz_sim_list *l, struct wz_str path, struct wz_sim_tasks *ret, struct wz_err *err)
{
	return wz_trace_load(&path.ptr, 1, NULL, l->nodes.mem, &l->nodes, ret, err);
}

void wz_sim_list_close(struct wz_sim_list *l)
{
	if (!l->opened)
		return;
	if (l->ready)
		wz_pack_input_release(&l->in);
	wz_sim_tasks_release(&l->tasks);
	wz_sim_nodes_release(&l->nodes);
	wz_catalogue_release(&l->catalogue);
}
