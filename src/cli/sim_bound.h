/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds beside the results of another verb: `wz sim pack --bound`. */
#ifndef WZ_CLI_SIM_BOUND_H
#define WZ_CLI_SIM_BOUND_H

#include "base/buf.h"
#include "sim/bound.h"
#include "sim/packset.h"

struct wz_cli_bound {
	struct wz_str trace;
	uint32_t hold_percent;
	double pct[WZ_PACK_PERCENT]; /* mean over the seeds; NAN where it was not asked or is infeasible */
	const char *why;             /* some points have none: in words; NULL */
};

/* At the points of the summary (wz_pack_points), for the seeds of the set. */
int wz_cli_bound_of(const struct wz_packset *s, uint32_t hold_percent, const struct wz_mem *mem,
                    struct wz_cli_bound *ret, struct wz_err *err);
/* A row of the table of wz_packset_table, and a JSON line of its own. */
void wz_cli_bound_row(const struct wz_cli_bound *b, uint32_t name_width, struct wz_buf *out);
void wz_cli_bound_jsonl(const struct wz_cli_bound *b, struct wz_buf *out);

#endif
