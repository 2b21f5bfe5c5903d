/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events (WHATWG HTML, "Server-sent events"), both ways: bytes to events, an event to bytes.
 * Thread rule: none shared. */
#ifndef WZ_OS_SSE_H
#define WZ_OS_SSE_H

#include "base/buf.h"

struct wz_sse_event {
	struct wz_str id, type, data; /* type is "message" when none was given; id is the last one seen */
};

struct wz_sse {
	struct wz_buf line, data, id, type;
	bool skip_lf;
};
/* max: of one event's data, and of one line. */
void wz_sse_init(struct wz_sse *p, const struct wz_mem *mem, size_t max);
void wz_sse_release(struct wz_sse *p);
/* Calls fn for each event that is complete. When fn returns below 0, stops and returns that. 0; -E2BIG, -ENOMEM. */
int wz_sse_feed(
        struct wz_sse *p, struct wz_str bytes, int (*fn)(void *ctx, const struct wz_sse_event *e), void *ctx);

/* id 0: none. data may hold newlines. */
void wz_sse_write(struct wz_buf *b, uint64_t id, struct wz_str type, struct wz_str data);

#endif
