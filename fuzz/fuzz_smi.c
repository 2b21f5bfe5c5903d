/* SPDX-License-Identifier: Apache-2.0 */
/* Properties: no text makes a reading that is OK and nonsense, or an index that is not dense. */
#include "fuzz.h"

#include "base/check.h"
#include "device/smi.h"
#include "os/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str text = {(const char *)data, size};
	struct wz_inventory inv;
	struct wz_device d[4];
	struct wz_err err = {0};
	wz_inventory_init(&inv, wz_os_mem());
	wz_check(wz_inventory_add_node(&inv, "n"));
	int rc = wz_smi_parse_query(text, 5, &inv, &err);
	wz_check(rc == 0 || (err.code == rc && err.reason));
	for (uint32_t i = 0; i < inv.n_devices && rc == 0; i++) {
		wz_check(inv.device[i].index == i && inv.device[i].uuid[0] && inv.device[i].mem_bytes >= 0);
		for (int m = 0; m < WZ_METRICS; m++) {
			const struct wz_reading *r = &inv.device[i].reading[m];
			wz_check(r->status <= WZ_READING_UNSUPPORTED && r->value >= 0 &&
			         (r->status == WZ_READING_OK || r->value == 0));
		}
	}
	uint32_t devices = inv.n_devices;
	rc = wz_smi_parse_apps(text, &inv, &err);
	wz_check(inv.n_devices == devices);
	for (uint32_t i = 0; i < inv.n_procs; i++)
		wz_check(inv.proc[i].pid >= 0 && inv.proc[i].mem_bytes >= -1);
	wz_inventory_release(&inv);
	for (uint32_t n = 0; n <= 4; n++) {
		memset(d, 0, sizeof d);
		if (wz_smi_parse_topo(text, d, n, NULL) < 0)
			wz_check(d[0].link_domain == 0 && d[0].numa == 0);
	}
	return 0;
}
