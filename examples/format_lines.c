/* SPDX-License-Identifier: Apache-2.0 */
/* A worked example (HACKING.md, "a trace format"): one line a task, a name and a profile.
 *
 *	# lines 1
 *	train-1 gpus=2 gpu-mem=40Gi cpus=8
 *
 * Blank lines and lines that begin with '#' are skipped. Tasks only: nodes come from another file of the same run. */
#include "base/csv.h"
#include "sim/formats.h"

static unsigned sniff(struct wz_str text)
{
	return wz_str_starts(text, WZ_STR("# lines 1\n")) ? WZ_TRACE_TASKS : 0;
}

static int read_line(struct wz_str line, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_sim_task t = {.submit_us = -1, .start_us = -1, .end_us = -1, .run_us = -1};
	struct wz_profile p;
	int rc = 0;
	t.name = wz_str_split(&line, ' ');
	t.profile = wz_sim_tasks_find_profile(tasks, line); /* lines that ask the same share one profile */
	if (t.profile == WZ_NONE)
		rc = wz_profile_parse(line, nodes->catalogue, &p, err);
	if (rc == 0 && t.profile == WZ_NONE)
		rc = wz_sim_tasks_add_profile(tasks, line, &p, &t.profile, err);
	return rc == 0 ? wz_sim_tasks_add(tasks, &t, err) : rc;
}

static int read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct wz_str text = src->text;
	int rc = 0;
	for (uint32_t number = 1; text.ptr && rc == 0; number++) {
		struct wz_str line = wz_str_trim(wz_str_split(&text, '\n'));
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		rc = read_line(line, nodes, tasks, err);
		if (rc < 0)
			wz_csv_err_at(err, src->name, number, 1); /* "NAME:LINE:COLUMN: " before the text */
	}
	return rc;
}

static int write(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes;
	if (what != WZ_TRACE_TASKS)
		return wz_err_set(err, -EOPNOTSUPP, "Unwritable", WZ_STR("format lines has no nodes"));
	wz_buf_addz(b, "# lines 1\n");
	for (uint32_t i = 0; i < tasks->n; i++) {
		wz_buf_add(b, tasks->task[i].name);
		wz_buf_addc(b, ' ');
		wz_profile_format(wz_sim_task_profile(tasks, &tasks->task[i]), b);
		wz_buf_addc(b, '\n');
	}
	return b->status;
}

const struct wz_trace_format wz_format_lines = {
        .name = "lines",
        .summary = "one line a task: its name and its profile",
        .sniff = sniff,
        .read_tasks = read_tasks,
        .write = write,
        .tasks_file = "tasks.txt",
};
