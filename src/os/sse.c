/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sse.h"

#include "base/err.h"

void wz_sse_init(struct wz_sse *p, const struct wz_mem *mem, size_t max)
{
	*p = (struct wz_sse){.skip_lf = false};
	wz_buf_init(&p->line, mem, max);
	wz_buf_init(&p->data, mem, max);
	wz_buf_init(&p->id, mem, 64);
	wz_buf_init(&p->type, mem, 64);
}

void wz_sse_release(struct wz_sse *p)
{
	wz_buf_release(&p->line);
	wz_buf_release(&p->data);
	wz_buf_release(&p->id);
	wz_buf_release(&p->type);
}

static int dispatch(struct wz_sse *p, int (*fn)(void *ctx, const struct wz_sse_event *e), void *ctx)
{
	int rc = 0;
	if (p->data.len) {
		struct wz_str data = wz_buf_str(&p->data);
		data.len--; /* the newline of the last data line */
		struct wz_sse_event e = {
		        wz_buf_str(&p->id), p->type.len ? wz_buf_str(&p->type) : WZ_STR("message"), data};
		rc = fn(ctx, &e);
	}
	wz_buf_clear(&p->data);
	wz_buf_clear(&p->type);
	return rc;
}

static int take_line(struct wz_sse *p, int (*fn)(void *ctx, const struct wz_sse_event *e), void *ctx)
{
	struct wz_str value = wz_buf_str(&p->line);
	if (!value.len)
		return dispatch(p, fn, ctx);
	struct wz_str field = wz_str_split(&value, ':');
	if (value.len && value.ptr[0] == ' ')
		value = (struct wz_str){value.ptr + 1, value.len - 1};
	if (wz_str_eq(field, WZ_STR("data"))) {
		wz_buf_add(&p->data, value);
		wz_buf_addc(&p->data, '\n');
	} else if (wz_str_eq(field, WZ_STR("event"))) {
		wz_buf_clear(&p->type);
		wz_buf_add(&p->type, value);
	} else if (wz_str_eq(field, WZ_STR("id"))) {
		wz_buf_clear(&p->id);
		wz_buf_add(&p->id, value);
	}
	return p->data.status < 0 ? p->data.status : p->id.status < 0 ? p->id.status : p->type.status;
}

int wz_sse_feed(
        struct wz_sse *p, struct wz_str bytes, int (*fn)(void *ctx, const struct wz_sse_event *e), void *ctx)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.ptr[i];
		bool skip = p->skip_lf && c == '\n';
		p->skip_lf = false;
		if (skip)
			continue;
		if (c != '\n' && c != '\r') {
			wz_buf_addc(&p->line, c);
			if (p->line.status < 0)
				return p->line.status;
			continue;
		}
		p->skip_lf = c == '\r';
		int rc = take_line(p, fn, ctx);
		wz_buf_clear(&p->line);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void wz_sse_write(struct wz_buf *b, uint64_t id, struct wz_str type, struct wz_str data)
{
	if (id) {
		wz_buf_addz(b, "id: ");
		wz_buf_add_u64(b, id);
		wz_buf_addc(b, '\n');
	}
	wz_buf_addz(b, "event: ");
	wz_buf_add(b, type);
	wz_buf_addc(b, '\n');
	do {
		wz_buf_addz(b, "data: ");
		wz_buf_add(b, wz_str_split(&data, '\n'));
		wz_buf_addc(b, '\n');
	} while (data.ptr);
	wz_buf_addc(b, '\n');
}
