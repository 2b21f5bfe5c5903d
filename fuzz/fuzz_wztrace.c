/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: what is accepted is written in a canonical form that reads back as the same facts and is written as the
 * same bytes; an error has a reason and a place. */
#include "fuzz.h"

#include "base/check.h"
#include "os/mem.h"
#include "sim/formats.h"

static int rewrite(struct wz_str text, struct wz_buf *out, uint64_t *ret_digest)
{
	struct wz_trace_source src = {WZ_STR("a"), text};
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_err err = {0};
	wz_check(wz_catalogue_init(&catalogue, wz_os_mem()) == 0);
	wz_sim_nodes_init(&nodes, wz_os_mem(), &catalogue);
	wz_sim_tasks_init(&tasks, wz_os_mem());
	int rc = wz_trace_read(&src, 1, &wz_format_wz, &nodes, &tasks, &err);
	if (rc == 0) {
		wz_check(wz_format_wz.write(&nodes, &tasks, WZ_TRACE_NODES | WZ_TRACE_TASKS, out, &err) == 0);
		wz_check(wz_sim_digest(&nodes, &tasks, ret_digest) == 0);
	} else {
		wz_check(err.reason && err.code == rc && wz_str_starts(wz_str(err.text), WZ_STR("a:")));
	}
	wz_sim_tasks_release(&tasks);
	wz_sim_nodes_release(&nodes);
	wz_catalogue_release(&catalogue);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_buf once, twice;
	uint64_t before = 0, after = 0;
	wz_buf_init(&once, wz_os_mem(), 1u << 24);
	wz_buf_init(&twice, wz_os_mem(), 1u << 24);
	if (rewrite((struct wz_str){(const char *)data, size}, &once, &before) == 0) {
		int rc = rewrite(wz_buf_str(&once), &twice, &after);
		wz_check(rc == 0);
		wz_check(wz_str_eq(wz_buf_str(&once), wz_buf_str(&twice)) && before == after);
	}
	wz_buf_release(&once);
	wz_buf_release(&twice);
	return 0;
}
