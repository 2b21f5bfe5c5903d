/* SPDX-License-Identifier: Apache-2.0 */
/* What a node draws and costs, by a simple model that policies and measurements share.
 *
 * Power (PWR: Lettich et al., CCGrid 2025, arXiv 2412.17484): a device draws its idle power, or its full power as soon as any
 * share of it is used; a CPU socket of 32 vCPU draws 15 W, or 120 W as soon as any of it is used (Xeon E5-2682 v4:
 * the two figures are from memory of the paper, not checked against it).
 * Price: an hour of a device, charged as soon as any share of it is used; hosts are not charged.
 *
 * Facts come from the catalogue; models of traces that it does not have (G2, G3 of openb) from a table in draw.c, as are
 * prices: cloud on-demand medians of July 2026. A price that is not known is in proportion to compute units (4.10 USD for
 * 100 CU); power that is not known is that of a PCIe card, 30 and 250 W. Pure; integers. */
#ifndef WZ_CORE_DRAW_H
#define WZ_CORE_DRAW_H

#include "core/model.h"

#define WZ_SOCKET_CPU_MILLI 32000
#define WZ_SOCKET_IDLE_W 15
#define WZ_SOCKET_FULL_W 120

struct wz_draw {
	int32_t idle_w, full_w;
	int32_t price_musd; /* thousandths of a US dollar an hour */
};
struct wz_draw wz_draw_of(const struct wz_catalogue *c, uint32_t model); /* O(1) */

/* CPU sockets that are in use when `used` milli of a node's CPU are. */
static inline int64_t wz_sockets(int64_t used)
{
	return used <= 0 ? 0 : (used + WZ_SOCKET_CPU_MILLI - 1) / WZ_SOCKET_CPU_MILLI;
}

/* What one node draws and costs now. O(devices). */
struct wz_draw_sum {
	int64_t watts, price_musd;
};
struct wz_draw_sum wz_draw_node(const struct wz_catalogue *c, const struct wz_model_state *m, uint32_t node);

#endif
