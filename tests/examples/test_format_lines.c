/* SPDX-License-Identifier: Apache-2.0 */
/* The example trace format of HACKING.md: read, written, read again; and its errors say where. */
#include "tap.h"

#include "../../examples/format_lines.c"

#include "os/mem.h"

struct world {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_err err;
};

static void world_init(struct world *w)
{
	*w = (struct world){0};
	tap_require(wz_catalogue_init(&w->catalogue, wz_os_mem()) == 0, "catalogue");
	wz_sim_nodes_init(&w->nodes, wz_os_mem(), &w->catalogue);
	wz_sim_tasks_init(&w->tasks, wz_os_mem());
}

static void world_release(struct world *w)
{
	wz_sim_tasks_release(&w->tasks);
	wz_sim_nodes_release(&w->nodes);
	wz_catalogue_release(&w->catalogue);
}

static int read(struct world *w, struct wz_str text)
{
	struct wz_trace_source src = {.name = WZ_STR("tasks.txt"), .text = text};

	return wz_format_lines.read_tasks(&src, &w->nodes, &w->tasks, &w->err);
}

static void test_round_trip(void)
{
	struct wz_str text =
	        WZ_STR("# lines 1\n\n# three tasks\ntrain-1 gpus=2 cpus=8\ntrain-2 gpus=2 cpus=8\nshare "
	               "gpu-share=50%\n");
	struct world w, again;
	struct wz_buf b;

	world_init(&w);
	tap_eq_i64(wz_format_lines.sniff(text), WZ_TRACE_TASKS, "its first line is known");
	tap_eq_i64(wz_format_lines.sniff(WZ_STR("name,cpu_milli\n")), 0, "another's is not");
	tap_require(read(&w, text) == 0, "read: %s", w.err.text);
	tap_eq_i64(w.tasks.n, 3, "tasks");
	tap_eq_i64(w.tasks.n_profiles, 2, "equal lines share a profile");
	tap_eq_str(w.tasks.task[1].name, WZ_STR("train-2"), "name");
	tap_eq_i64(w.tasks.task[1].gpus, 2, "devices");
	tap_eq_i64(w.tasks.task[1].cpu_milli, 8000, "CPU");
	tap_eq_i64(w.tasks.task[2].milli, 500, "a share");
	wz_buf_init(&b, wz_os_mem(), 4096);
	tap_eq_i64(wz_format_lines.write(&w.nodes, &w.tasks, WZ_TRACE_TASKS, &b, &w.err), 0, "write");
	world_init(&again);
	tap_eq_i64(read(&again, wz_buf_str(&b)), 0, "what was written is read: %s", again.err.text);
	tap_eq_i64(again.tasks.n, 3, "all of it");
	tap_eq_i64(wz_format_lines.write(&w.nodes, &w.tasks, WZ_TRACE_NODES, &b, &w.err), -EOPNOTSUPP, "no nodes");
	wz_buf_release(&b);
	world_release(&again);
	world_release(&w);
}

static void test_errors(void)
{
	static const struct {
		struct wz_str text, begins;
		int code;
	} bad[] = {
	        {{"# lines 1\na gpus=1\nb gpus=x\n", 28}, {"tasks.txt:3:1: ", 15}, -EINVAL},
	        {{"# lines 1\na gpus=1\na gpus=1\n", 28}, {"tasks.txt:3:1: ", 15}, -EEXIST},
	        {{"# lines 1\na colour=red\n", 23}, {"tasks.txt:2:1: ", 15}, -EINVAL},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct world w;
		world_init(&w);
		tap_eq_i64(read(&w, bad[i].text), bad[i].code, "bad text %u", i);
		tap_ok(wz_str_starts(wz_str(w.err.text), bad[i].begins), "it says where: %s", w.err.text);
		world_release(&w);
	}
}

int main(void)
{
	tap_run(test_round_trip);
	tap_run(test_errors);
	return tap_done();
}
