/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim_common.h"

#include "os/file.h"
#include "sim/formats.h"

#include <signal.h>
#include <unistd.h>

/* ---- progress and interruption ---- */

atomic_int wz_sim_interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	atomic_store(&wz_sim_interrupted, 1);
}

void wz_sim_catch_interrupt(void)
{
	struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}; /* the second one kills */

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
}

void wz_sim_show_progress(void *ctx, uint32_t done, uint32_t all)
{
	const struct wz_sim_progress *p = ctx;
	uint32_t now = p->before + done, width = 40, full = (uint32_t)((uint64_t)width * now / p->all);
	char scratch[160];
	struct wz_buf b;

	(void)all;
	wz_buf_init_fixed(&b, scratch, sizeof(scratch));
	wz_buf_addz(&b, "\r[");
	for (uint32_t i = 0; i < width; i++)
		wz_buf_addc(&b, i < full ? '#' : '.');
	wz_buf_addz(&b, "] ");
	wz_buf_add_u64(&b, now);
	wz_buf_addz(&b, " of ");
	wz_buf_add_u64(&b, p->all);
	wz_buf_addz(&b, now == p->all ? " runs\r\033[K" : " runs");
	(void)wz_fd_write_all(STDERR_FILENO, wz_buf_str(&b));
}

/* ---- input ---- */

struct wz_str wz_sim_trace_name(struct wz_str path)
{
	struct wz_str name = path, prefix = WZ_STR("openb_pod_list_"), suffix = WZ_STR(".csv");

	while (name.ptr)
		path = wz_str_split(&name, '/');
	if (wz_str_starts(path, prefix))
		path = (struct wz_str){path.ptr + prefix.len, path.len - prefix.len};
	if (path.len > suffix.len &&
	        wz_str_eq((struct wz_str){path.ptr + path.len - suffix.len, suffix.len}, suffix))
		path.len -= suffix.len;
	return path;
}

int wz_sim_check_files(const struct wz_verb *v, const struct wz_list *nodes, const struct wz_list *pods,
        const struct wz_list *trace, int operands, const struct wz_list **ret_lists)
{
	*ret_lists = trace->n ? trace : pods;
	if (operands) {
		char text[96];
		struct wz_buf b;
		wz_buf_init_fixed(&b, text, sizeof(text));
		wz_buf_addz(&b, "sim ");
		wz_buf_addz(&b, v->name);
		wz_buf_addz(&b, " takes options only: --nodes FILE --pods FILE");
		return wz_cli_usage(v, wz_buf_z(&b));
	}
	if (trace->n && (nodes->n || pods->n))
		return wz_cli_usage(v, "give --trace, or --nodes and --pods");
	if (!trace->n && (!nodes->n || !pods->n))
		return wz_cli_usage(v, "both --nodes FILE and --pods FILE are needed (or --trace FILE)");
	if (nodes->n > WZ_SIM_LISTS_MAX || (*ret_lists)->n > WZ_SIM_LISTS_MAX)
		return wz_cli_usage(v, "at most 64 files");
	return 0;
}

int wz_sim_check_seeds(const struct wz_verb *v, const struct wz_range *seeds)
{
	return seeds->last - seeds->first < WZ_SIM_SEEDS_MAX ? 0
	                                                     : wz_cli_usage(v, "--seeds: at most 10000 at once");
}

int wz_sim_input_open(struct wz_sim_input *x, const struct wz_list *nodes, struct wz_str list,
        const struct wz_mem *mem, struct wz_err *err)
{
	const char *file[WZ_SIM_LISTS_MAX + 1];
	uint32_t n = 0;
	int r = wz_catalogue_init(&x->catalogue, mem);

	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory"));
	for (uint32_t k = 0; k < nodes->n; k++)
		file[n++] = nodes->item[k].ptr; /* views of argv: terminated */
	file[n++] = list.ptr;
	wz_sim_nodes_init(&x->nodes, mem, &x->catalogue);
	wz_sim_tasks_init(&x->tasks, mem);
	x->opened = true;
	r = wz_trace_load(file, n, NULL, mem, &x->nodes, &x->tasks, err);
	if (r == 0)
		r = wz_pack_input_make(&x->nodes, &x->tasks, mem, &x->in, err);
	x->ready = r == 0;
	return r;
}

int wz_sim_input_more(struct wz_sim_input *x, struct wz_str path, struct wz_sim_tasks *ret, struct wz_err *err)
{
	return wz_trace_load(&path.ptr, 1, NULL, x->nodes.mem, &x->nodes, ret, err);
}

void wz_sim_input_close(struct wz_sim_input *x)
{
	if (!x->opened)
		return;
	if (x->ready)
		wz_pack_input_release(&x->in);
	wz_sim_tasks_release(&x->tasks);
	wz_sim_nodes_release(&x->nodes);
	wz_catalogue_release(&x->catalogue);
	x->opened = x->ready = false;
}

void wz_sim_command_line(const char *verb, int argc, char **argv, struct wz_buf *b)
{
	wz_buf_addz(b, verb);
	for (int i = 0; i < argc; i++) {
		wz_buf_addc(b, ' ');
		wz_buf_addz(b, argv[i]);
	}
}
