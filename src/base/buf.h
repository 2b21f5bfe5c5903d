/* SPDX-License-Identifier: Apache-2.0 */
/* A text buffer with a maximum that is given at init. Appends never fail half-way: on the first failure (out of
 * memory, maximum reached) the buffer keeps what it had, `status` becomes negative, and further appends do nothing;
 * so a writer checks once, at the end. */
#ifndef WZ_BASE_BUF_H
#define WZ_BASE_BUF_H

#include "base/mem.h"
#include "base/str.h"

struct wz_buf {
	const struct wz_mem *mem; /* NULL: `data` is a fixed array of the caller, `cap` its size */
	char *data;               /* not terminated unless wz_buf_z was called */
	size_t len, cap, max;
	int status;               /* 0, -ENOMEM, -E2BIG; never any other */
};

void wz_buf_init(struct wz_buf *b, const struct wz_mem *mem, size_t max); /* allocates nothing yet */
void wz_buf_init_fixed(struct wz_buf *b, char *data, size_t cap);
void wz_buf_release(struct wz_buf *b); /* then empty and usable again; a fixed one then has no room */
void wz_buf_clear(struct wz_buf *b); /* empties, keeps the memory, resets status */

void wz_buf_add(struct wz_buf *b, struct wz_str s);
void wz_buf_addc(struct wz_buf *b, char c);
void wz_buf_addz(struct wz_buf *b, const char *z);
void wz_buf_add_u64(struct wz_buf *b, uint64_t v);
void wz_buf_add_i64(struct wz_buf *b, int64_t v);
void wz_buf_add_hex64(struct wz_buf *b, uint64_t v); /* 16 lower-case digits */
/* v / 10^decimals with exactly `decimals` digits after the point (0..9), no rounding: -1234, 2 gives "-12.34". */
void wz_buf_add_fixed(struct wz_buf *b, int64_t v, unsigned decimals);
void wz_buf_add_json(struct wz_buf *b, struct wz_str s); /* quoted and escaped; invalid UTF-8 becomes U+FFFD */
void wz_buf_add_html(struct wz_buf *b, struct wz_str s); /* & < > " ' escaped */
struct wz_str wz_buf_str(const struct wz_buf *b);
/* Terminated view until the next append; "" when status is negative. The terminator does not count towards `max`,
 * but a fixed buffer needs a byte for it (else status becomes -E2BIG). */
const char *wz_buf_z(struct wz_buf *b);

#endif
