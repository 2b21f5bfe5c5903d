/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt used, as the `usage` column of its row: one JSON object, written and read here. */
#ifndef WZ_SERVE_USAGE_H
#define WZ_SERVE_USAGE_H

#include "agent/wire.h"
#include "os/joblog.h"

struct usage {
	int64_t cpu_us, mem_peak_bytes, log_bytes, log_lost; /* -1: not known */
	struct wz_joblog_gap gap; /* what is left out of the log's file */
};
void usage_write(const struct wz_wire_ended *e, struct wz_buf *b);
/* What cannot be read is not known. */
void usage_read(struct wz_str text, struct usage *ret);

#endif
