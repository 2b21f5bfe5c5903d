/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed traces: gzip, unpacked into memory with a limit. */
#ifndef WZ_SIM_GUNZIP_H
#define WZ_SIM_GUNZIP_H

#include "base/err.h"
#include "os/file.h"

static inline bool wz_is_gzip(struct wz_str s) { return s.len > 2 && (unsigned char)s.ptr[0] == 0x1f && (unsigned char)s.ptr[1] == 0x8b; }
/* Replaces the text of *t by what it packs; several members follow each other. -EBADMSG "BadGzip", -E2BIG, -ENOMEM. `name` is for errors. */
int wz_gunzip(struct wz_file_text *t, size_t max_bytes, const char *name, struct wz_err *err);

#endif
