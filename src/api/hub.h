/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams (GET /v1/events): one bounded ring of rendered events, and subscribers that each have a place in it. A slow
 * subscriber has no queue of its own: when the ring passes its place, it gets a `gap` event that says what it missed, and
 * goes on from the oldest. So memory is bounded by the ring whatever clients do.
 *
 * On the wire: `id:` is the sequence number; `event:` the type; `data:` an Event as JSON. Two types are the hub's own:
 *	hello	first of each stream: {"seq":N}, the last number at that time
 *	gap	{"from":A,"to":B}: events A..B are not to be had here any more; fetch the resources again
 * A comment line is sent when a stream was silent for a while.
 *
 * Thread rule: the loop's thread; wz_loop_post from others. */
#ifndef WZ_API_HUB_H
#define WZ_API_HUB_H

#include "api/resource.h"
#include "os/http.h"

struct wz_hub_config {
	uint32_t events; /* kept; 0: 16384 */
	size_t bytes; /* kept; 0: 8 MiB */
	uint32_t subscribers; /* in all; 0: 512 */
	int64_t ping_us; /* 0: 15 s */
};

struct wz_hub;
int wz_hub_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_hub_config *c,
        struct wz_hub **ret); /* -ENOMEM */
void wz_hub_free(struct wz_hub *h); /* ends all streams; accepts NULL */

/* The number of the last event before the first publish: what was before is a gap. */
void wz_hub_start(struct wz_hub *h, uint64_t seq);
/* e->seq is above all before (asserted). Nothing private belongs into an event: everybody with a role sees all. An event
 * that cannot be kept for want of memory becomes a gap. O(subscribers). */
void wz_hub_publish(struct wz_hub *h, const struct wz_api_event *e);
uint64_t wz_hub_seq(const struct wz_hub *h);

/* Takes the request and streams until the client goes. q->after counts only when `resume`. 0; -EBUSY: too many
 * subscribers (the request stays the caller's); -ENOMEM. The strings of q are copied. */
int wz_hub_subscribe(struct wz_hub *h, struct wz_http_req *r, const struct wz_api_events_query *q, bool resume);
void wz_hub_end_all(struct wz_hub *h); /* for a graceful stop */

struct wz_hub_stats {
	uint32_t subscribers;
	uint64_t published, gaps;
};
struct wz_hub_stats wz_hub_stats(const struct wz_hub *h);

#endif
