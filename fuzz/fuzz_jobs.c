/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of other people's job traces. The first byte chooses: a trace format (whatever its first line says), or what Slurm prints; the
 * rest is the text. Properties: an error has a reason and names the file; what is accepted has a digest, twice the same; a small
 * accepted trace can be replayed, and the run keeps its books. */
#include "fuzz.h"

#include "base/check.h"
#include "os/mem.h"
#include "sim/clusterspec.h"
#include "sim/run.h"
#include "sim/slurm.h"

static void replay(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks)
{
	struct wz_run_options o = {.restart_us = 1000000, .seed = 1};
	struct wz_run_input in;
	struct wz_run_result r;
	struct wz_err err = {0};

	wz_check(wz_order_parse(WZ_STR("levelled"), &o.order, o.param, &err) == 0);
	if (wz_run_input_make(&in, nodes, tasks, &(struct wz_run_select){0}, wz_os_mem(), &err) == 0 &&
	        in.n < 200) {
		wz_check(wz_run(&in, &o, wz_os_mem(), &r, &err) == 0);
		wz_check(r.finished <= in.n && r.held_gpu_s >= 0);
		wz_run_result_release(&r);
	}
	wz_run_input_release(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_err err = {0};
	uint64_t a = 0, b = 0;
	int rc;

	if (size < 1)
		return 0;
	struct wz_trace_source src = {WZ_STR("app/validation-8.csv"), {(const char *)data + 1, size - 1}};
	wz_check(wz_catalogue_init(&catalogue, wz_os_mem()) == 0);
	wz_sim_nodes_init(&nodes, wz_os_mem(), &catalogue);
	wz_sim_tasks_init(&tasks, wz_os_mem());
	if (data[0] == 's')
		rc = wz_slurm_sacct(&src, &nodes, &tasks, &err);
	else if (data[0] == 'n')
		rc = wz_slurm_nodes(&src, &nodes, &err);
	else if (data[0] == 'a') {
		struct wz_buf yaml;
		wz_buf_init(&yaml, wz_os_mem(), 1u << 20);
		rc = wz_slurm_queues(&src, &yaml, &err);
		wz_buf_release(&yaml);
	} else
		rc = wz_trace_read(&src, 1, NULL, &nodes, &tasks, &err);
	if (rc < 0) {
		wz_check(err.reason && err.code == rc && wz_str_starts(wz_str(err.text), src.name));
	} else {
		wz_check(
		        wz_sim_digest(&nodes, &tasks, &a) == 0 && wz_sim_digest(&nodes, &tasks, &b) == 0 && a == b);
		if (nodes.n == 0)
			wz_check(wz_clusterspec(WZ_STR("2x8"), &nodes, &err) == 0);
		if (tasks.n)
			replay(&nodes, &tasks);
	}
	wz_sim_tasks_release(&tasks);
	wz_sim_nodes_release(&nodes);
	wz_catalogue_release(&catalogue);
	return 0;
}
