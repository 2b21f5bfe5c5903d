/* SPDX-License-Identifier: Apache-2.0 */
/* A program of somebody else: one node, one job, one decision. */
#include <whalezen.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	const struct wz_mem *mem = wz_os_mem();
	struct wz_core_options options = {.seed = 1};
	struct wz_device_facts device[2] = {{.compute_milli = 1000}, {.compute_milli = 1000}};
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
	struct wz_profile profile;
	struct wz_core *core = NULL;
	struct wz_err err = {0};
	struct wz_plan plan;
	int started = 0;

	if (wz_core_new(mem, &options, &core, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	if (wz_catalogue_find(wz_core_catalogue(core), WZ_STR("T4"), &device[0].model, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	device[1].model = device[0].model;
	e.u.node = (struct wz_ev_node){
	        .name = WZ_STR("box"), .cpu_milli = 8000, .mem_bytes = 1LL << 34, .n_devices = 2, .device = device};
	if (wz_core_apply(core, &e, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	if (wz_profile_parse(WZ_STR("gpus=1 cpus=4 mem=4Gi"), wz_core_catalogue(core), &profile, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	memset(&e, 0, sizeof(e));
	e.kind = WZ_EV_JOB_SUBMITTED;
	e.u.submit.job = 1;
	e.u.submit.profile = &profile;
	if (wz_core_apply(core, &e, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	wz_plan_init(&plan, mem);
	if (wz_core_decide(core, 0, &plan, &err) < 0)
		return fprintf(stderr, "%s\n", err.text), 1;
	for (uint32_t i = 0; i < plan.n; i++)
		started += plan.effect[i].kind == WZ_EF_START;
	printf("%d task would start on node %u\n", started, (unsigned)plan.effect[0].place.node.v);
	wz_plan_release(&plan);
	wz_core_free(core);
	return started == 1 ? 0 : 1;
}
