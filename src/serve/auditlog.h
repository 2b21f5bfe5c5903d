/* SPDX-License-Identifier: Apache-2.0 */
/* The audit log as a file, beside the rows of the store: one JSON object a line, appended, never changed; at `bytes` it is
 * turned over to NAME.1, NAME.2, ..., of which `files` are kept. For who wants it outside the store: a log shipper, an
 * append-only mount. A line that cannot be written is counted and told once; it does not stop the daemon.
 *
 * Thread rule: the loop's thread. A write is one write(2) to the page cache; the rows of the store are what is synced. */
#ifndef WZ_SERVE_AUDITLOG_H
#define WZ_SERVE_AUDITLOG_H

#include "api/api.h"

struct wz_auditlog {
	char path[4096];
	int fd; /* -1: not open */
	uint64_t size, bytes;
	uint32_t files;
	uint64_t lost; /* lines */
};
/* Opens (0600) or makes it. Errors of wz_file_err; then nothing is written, and lines count as lost. */
int wz_auditlog_open(struct wz_auditlog *a, const char *dir, uint64_t bytes, uint32_t files, struct wz_err *err);
void wz_auditlog_close(struct wz_auditlog *a);
void wz_auditlog_add(struct wz_auditlog *a, int64_t now_us, const struct wz_api_audit *line);

#endif
