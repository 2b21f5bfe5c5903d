/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia-smi's text (its own manual says that it is not stable between versions, so what cannot be read is unknown and
 * never zero). Parsers are apart from running the command; both are fuzzed. */
#ifndef WZ_DEVICE_SMI_H
#define WZ_DEVICE_SMI_H

#include "device/device.h"

#define WZ_SMI_TEXT_MAX (1u << 20)
#define WZ_SMI_QUERY \
	"index,uuid,pci.bus_id,name,memory.total,memory.used,utilization.gpu,utilization.memory,temperature.gpu," \
	"power.draw,power.limit,clocks.sm,clocks.mem,fan.speed,ecc.errors.uncorrected.volatile.total"

#define WZ_SMI_APPS "gpu_uuid,pid,used_memory"

/* The lines of `--query-gpu=WZ_SMI_QUERY --format=csv,noheader,nounits`, added to the last node of the inventory in PCI
 * order (index = ordinal under CUDA_DEVICE_ORDER=PCI_BUS_ID). Accepts units, a header, quotes, and every placeholder
 * known ("[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "[GPU requires reset]", ...). A line that is no device is
 * an error: -EBADMSG "SmiOutput" with the line; -ENODEV "NoDevices" for "No devices were found"; -EIO "DriverFailed" for
 * the driver's own complaints. */
int wz_smi_parse_query(struct wz_str text, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err);

/* The matrix of `topo -m`: link domains and NUMA nodes into the devices first..first+n (by index). Devices joined by NV#
 * are one domain, those below one PCIe bridge (PIX, PXB) one switch. 0; -EBADMSG "SmiTopology" when it is no matrix of that size (then nothing is changed). */
int wz_smi_parse_topo(struct wz_str text, struct wz_device *device, uint32_t n, struct wz_err *err);

/* The lines of `--query-compute-apps=WZ_SMI_APPS --format=csv,noheader,nounits`, added to the inventory's processes. Those
 * on cards that the inventory lacks are skipped; memory that is not said is -1. -EBADMSG "SmiOutput", -E2BIG. Fuzzed. */
int wz_smi_parse_apps(struct wz_str text, struct wz_inventory *inv, struct wz_err *err);

#endif
