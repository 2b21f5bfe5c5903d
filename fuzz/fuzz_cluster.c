/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: an error has a place and a reason and leaves the result alone; what parses keeps every limit and plays at any
 * time. */
#include "fuzz.h"

#include "base/check.h"
#include "device/cluster.h"
#include "os/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_cluster c;
	struct wz_err err = {0};
	memset(&c, 0x5a, sizeof c);
	int rc = wz_cluster_parse((struct wz_str){(const char *)data, size}, "f", wz_os_mem(), &c, &err);
	if (rc < 0) {
		wz_check(err.code < 0 && err.reason && err.text[0]);
		wz_check(((unsigned char *)&c)[0] == 0x5a);
		return 0;
	}
	wz_check(c.inv.n_nodes >= 1 && c.inv.n_nodes <= WZ_DEV_NODES_MAX && c.inv.n_devices <= WZ_DEV_DEVICES_MAX);
	for (uint32_t i = 0; i < c.inv.n_nodes; i++) {
		wz_check(c.inv.node[i].n_devices <= WZ_DEV_PER_NODE_MAX && c.inv.node[i].name[0]);
		wz_check(c.inv.node[i].cpu_milli >= 0 && c.inv.node[i].mem_bytes >= 0);
	}
	for (uint32_t i = 0; i < c.inv.n_devices; i++) {
		for (int m = 0; m < WZ_METRICS; m++) {
			if (c.script[i].curve[m].n)
				wz_check(wz_curve_at(&c.script[i].curve[m], size * 1234567u) >= 0);
		}
	}
	for (uint32_t i = 1; i < c.n_events; i++)
		wz_check(c.event[i - 1].at_us <= c.event[i].at_us);
	wz_cluster_release(&c);
	return 0;
}
