/* SPDX-License-Identifier: Apache-2.0 */
/* The ring counts events from 0 for ever; event i sits in slot i % cap. [first, end) are kept. A subscriber's `next` is such
 * a count, so falling behind is `next < first`. */
#include "api/hub.h"

#include "base/check.h"
#include "os/sse.h"

#define TYPES_MAX 16u
#define TYPE_MAX 16u
#define FRAME_MAX 65536u

struct kept {
	uint64_t seq, job;
	char type[TYPE_MAX];
	char *frame;
	size_t len;
};

struct sub {
	struct wz_hub *hub;
	struct sub *prev, *next_sub;
	struct wz_http_req *r;
	uint64_t next, seen_seq;
	uint64_t job;
	uint32_t n_types;
	char types[TYPES_MAX][TYPE_MAX];
};

struct wz_hub {
	const struct wz_mem *mem;
	struct wz_hub_config cfg;
	struct wz_timer ping;
	struct kept *ring;
	uint64_t first, end;
	size_t bytes;
	uint64_t seq, lost_seq; /* of the last event; of the last one that is not kept any more */
	struct sub *subs;
	uint32_t n_subs;
	struct wz_buf scratch, frame;
	uint64_t published, gaps;
};

/* ---- subscribers ---- */

static void sub_free(struct sub *s)
{
	struct wz_hub *h = s->hub;
	if (s->prev)
		s->prev->next_sub = s->next_sub;
	else
		h->subs = s->next_sub;
	if (s->next_sub)
		s->next_sub->prev = s->prev;
	h->n_subs--;
	wz_http_stream_end(s->r);
	wz_mem_free(h->mem, s, sizeof *s);
}

static bool wanted(const struct sub *s, const struct kept *k)
{
	if (s->job && s->job != k->job)
		return false;
	for (uint32_t i = 0; i < s->n_types; i++) {
		if (strcmp(s->types[i], k->type) == 0)
			return true;
	}
	return s->n_types == 0;
}

static int send_note(
        struct sub *s, const char *type, uint64_t id, const char *key1, uint64_t v1, const char *key2, uint64_t v2)
{
	char data[96], bytes[256];
	struct wz_buf d, b;
	wz_buf_init_fixed(&d, data, sizeof data);
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_buf_addz(&d, "{\"");
	wz_buf_addz(&d, key1);
	wz_buf_addz(&d, "\":");
	wz_buf_add_u64(&d, v1);
	if (key2) {
		wz_buf_addz(&d, ",\"");
		wz_buf_addz(&d, key2);
		wz_buf_addz(&d, "\":");
		wz_buf_add_u64(&d, v2);
	}
	wz_buf_addc(&d, '}');
	wz_sse_write(&b, id, wz_str(type), wz_buf_str(&d));
	return wz_http_stream_write(s->r, wz_buf_str(&b));
}

static uint64_t first_after(const struct wz_hub *h, uint64_t seq)
{
	uint64_t lo = h->first, hi = h->end;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (h->ring[mid % h->cfg.events].seq <= seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Sends what fits. Below 0: the client has gone or must wait. */
static int pump(struct sub *s)
{
	struct wz_hub *h = s->hub;
	int rc = 0;
	if (s->seen_seq < h->lost_seq) {
		rc = send_note(s, "gap", h->lost_seq, "from", s->seen_seq + 1, "to", h->lost_seq);
		if (rc < 0)
			return rc;
		h->gaps++;
		s->seen_seq = h->lost_seq;
		s->next = first_after(h, s->seen_seq);
	}
	while (s->next < h->end) {
		const struct kept *k = &h->ring[s->next % h->cfg.events];
		if (wanted(s, k)) {
			rc = wz_http_stream_write(s->r, (struct wz_str){k->frame, k->len});
			if (rc < 0)
				return rc;
		}
		s->seen_seq = k->seq;
		s->next++;
	}
	return 0;
}

static void on_drain(struct wz_http_req *r)
{
	pump(r->data);
}

static void on_gone(struct wz_http_req *r)
{
	sub_free(r->data);
}

int wz_hub_subscribe(struct wz_hub *h, struct wz_http_req *r, const struct wz_api_events_query *q, bool resume)
{
	if (h->n_subs >= h->cfg.subscribers)
		return -EBUSY;
	struct sub *s = wz_mem_zalloc(h->mem, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->hub = h;
	s->r = r;
	s->job = q->job;
	for (uint32_t i = 0; i < q->type.n && i < TYPES_MAX; i++) {
		struct wz_str t = q->type.v[i];
		size_t n = t.len < TYPE_MAX ? t.len : TYPE_MAX - 1;
		memcpy(s->types[s->n_types++], t.ptr, n);
	}
	s->next_sub = h->subs;
	if (s->next_sub)
		s->next_sub->prev = s;
	h->subs = s;
	h->n_subs++;
	r->data = s;
	r->on_drain = on_drain;
	r->on_gone = on_gone;
	wz_http_stream_begin(r, 200, "text/event-stream",
	        WZ_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\nX-Content-Type-Options: nosniff\r\n"));
	/* The hello has no id, so that it does not move a client's place. */
	send_note(s, "hello", 0, "seq", h->seq, NULL, 0);
	if (!resume) {
		s->seen_seq = h->seq;
		s->next = h->end;
	} else if (q->after > h->seq) {
		/* Of another history (a restored store): all the client knows is suspect. */
		send_note(s, "gap", h->seq, "from", 0, "to", h->seq);
		h->gaps++;
		s->seen_seq = h->seq;
		s->next = h->end;
	} else {
		s->seen_seq = q->after;
		s->next = first_after(h, q->after);
	}
	pump(s);
	return 0;
}

void wz_hub_end_all(struct wz_hub *h)
{
	while (h->subs)
		sub_free(h->subs);
}

/* ---- the ring ---- */

static void drop_first(struct wz_hub *h)
{
	struct kept *k = &h->ring[h->first++ % h->cfg.events];
	h->lost_seq = k->seq;
	h->bytes -= k->len;
	wz_mem_free(h->mem, k->frame, k->len);
	k->frame = NULL;
}

static bool keep(struct wz_hub *h, const struct wz_api_event *e)
{
	wz_buf_clear(&h->scratch);
	wz_buf_clear(&h->frame);
	wz_json_write(&h->scratch, &wz_type_event, e, false);
	wz_sse_write(&h->frame, e->seq, e->type, wz_buf_str(&h->scratch));
	if (h->scratch.status < 0 || h->frame.status < 0)
		return false;
	while (h->end - h->first >= h->cfg.events || (h->first < h->end && h->bytes + h->frame.len > h->cfg.bytes))
		drop_first(h);
	char *frame = wz_mem_alloc(h->mem, h->frame.len);
	if (!frame)
		return false;
	memcpy(frame, h->frame.data, h->frame.len);
	struct kept *k = &h->ring[h->end % h->cfg.events];
	*k = (struct kept){.seq = e->seq, .job = e->job, .frame = frame, .len = h->frame.len};
	memcpy(k->type, e->type.ptr, e->type.len < TYPE_MAX ? e->type.len : TYPE_MAX - 1);
	h->bytes += k->len;
	h->end++;
	return true;
}

void wz_hub_publish(struct wz_hub *h, const struct wz_api_event *e)
{
	wz_check(e->seq > h->seq && e->type.len);
	h->seq = e->seq;
	h->published++;
	if (!keep(h, e)) {
		/* A hole would be a lie: forget all, and everybody is told of a gap. */
		while (h->first < h->end)
			drop_first(h);
		h->lost_seq = e->seq;
	}
	for (struct sub *s = h->subs, *next; s; s = next) {
		next = s->next_sub;
		pump(s);
	}
}

void wz_hub_start(struct wz_hub *h, uint64_t seq)
{
	h->seq = h->lost_seq = seq;
}

uint64_t wz_hub_seq(const struct wz_hub *h)
{
	return h->seq;
}

static void on_ping(void *ctx)
{
	struct wz_hub *h = ctx;
	for (struct sub *s = h->subs, *next; s; s = next) {
		next = s->next_sub;
		if (wz_http_stream_queued(s->r) == 0)
			wz_http_stream_write(s->r, WZ_STR(": still here\n\n"));
	}
	wz_timer_set(&h->ping, h->cfg.ping_us);
}

int wz_hub_new(struct wz_loop *l, const struct wz_mem *mem, const struct wz_hub_config *c, struct wz_hub **ret)
{
	struct wz_hub *h = wz_mem_zalloc(mem, sizeof *h);
	if (!h)
		return -ENOMEM;
	h->mem = mem;
	if (c)
		h->cfg = *c;
	h->cfg.events = h->cfg.events ? h->cfg.events : 16384;
	h->cfg.bytes = h->cfg.bytes ? h->cfg.bytes : 8u << 20;
	h->cfg.subscribers = h->cfg.subscribers ? h->cfg.subscribers : 512;
	h->cfg.ping_us = h->cfg.ping_us ? h->cfg.ping_us : 15000000;
	wz_buf_init(&h->scratch, mem, FRAME_MAX);
	wz_buf_init(&h->frame, mem, FRAME_MAX + 256);
	h->ring = wz_mem_zalloc(mem, h->cfg.events * sizeof *h->ring);
	if (!h->ring || wz_timer_init(&h->ping, l, on_ping, h) < 0) {
		wz_hub_free(h);
		return -ENOMEM;
	}
	wz_timer_set(&h->ping, h->cfg.ping_us);
	*ret = h;
	return 0;
}

void wz_hub_free(struct wz_hub *h)
{
	if (!h)
		return;
	wz_hub_end_all(h);
	while (h->first < h->end)
		drop_first(h);
	wz_timer_release(&h->ping);
	wz_buf_release(&h->scratch);
	wz_buf_release(&h->frame);
	if (h->ring)
		wz_mem_free(h->mem, h->ring, h->cfg.events * sizeof *h->ring);
	wz_mem_free(h->mem, h, sizeof *h);
}

struct wz_hub_stats wz_hub_stats(const struct wz_hub *h)
{
	return (struct wz_hub_stats){h->n_subs, h->published, h->gaps};
}
