/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the parser that the socket tests do not reach. */
#include "tap.h"

#include "base/check.h"
#include "base/rng.h"
#include "os/http_parse.h"
#include "os/mem.h"
#include "os/sse.h"

/* However a chunked body is cut into reads, it says the same. */
static void test_chunked_cuts(void)
{
	static const char *const bodies[] = {
	        "3\r\nabc\r\n0\r\n\r\n",
	        "00000003;ext=\"q\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: v\r\nU: w\r\n\r\n",
	        "0\r\n\r\n",
	        "3\r\nabcX\r\n0\r\n\r\n",
	        "g\r\n",
	        "3\r\nabc\r\n0\r\n\n",
	        "123456789\r\n",
	        "\r\n",
	        ";\r\n",
	        "3 \r\nabc\r\n0\r\n\r\n",
	};
	struct wz_rng rng;
	wz_rng_seed(&rng, 7);
	for (size_t i = 0; i < WZ_ARRAY_LEN(bodies); i++) {
		int want = 0;
		char first[64];
		size_t first_len = 0;
		for (int round = 0; round < 200; round++) {
			struct wz_http_chunked c;
			char room[64];
			struct wz_buf b;
			struct wz_str all = wz_str(bodies[i]), in = {all.ptr, 0};
			int rc = 0;
			wz_http_chunked_init(&c);
			wz_buf_init_fixed(&b, room, 20);
			while (rc == 0 && in.ptr + in.len < all.ptr + all.len) {
				size_t left = (size_t)(all.ptr + all.len - in.ptr) - in.len;
				in.len += round == 0 ? left : 1 + (size_t)wz_rng_below(&rng, left);
				rc = wz_http_chunked_feed(&c, &in, &b);
			}
			if (round == 0) {
				want = rc;
				memcpy(first, room, b.len);
				first_len = b.len;
			}
			tap_eq_i64(rc, want, "body %zu, round %d", i, round);
			if (want == 1)
				tap_ok(b.len == first_len && memcmp(first, room, b.len) == 0, "the same bytes");
		}
	}
}

static void test_head_end(void)
{
	const char head[] = "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nrest";
	size_t from = 0, len = sizeof head - 1 - 4;
	for (size_t n = 0; n < len; n++)
		tap_eq_i64(wz_http_head_end((struct wz_str){head, n}, &from), 0, "not yet at %zu", n);
	tap_eq_i64(wz_http_head_end((struct wz_str){head, len + 4}, &from), len, "ends before the rest");
	from = 0;
	tap_eq_i64(wz_http_head_end(WZ_STR("a\n\nb"), &from), 3, "LF LF ends it too, and is refused later");
}

/* Any bytes: no crash, and what is accepted is unambiguous. */
static void test_random_heads(void)
{
	static const char *const pieces[] = {"GET", " ", "/", " HTTP/1.1", "\r\n", "Host: x\r\n",
	        "Content-Length: ", "3", "\n", "Transfer-Encoding: ", "chunked", "\t", ":", ",", "\r",
	        "Connection: close\r\n", "\r\n\r\n", "Content-Length: 3\r\n", "POST / HTTP/1.1\r\n", "x", "\x7f",
	        "Host: y\r\n"};
	struct wz_http_head h;
	struct wz_err err;
	struct wz_rng rng;
	unsigned accepted = 0;
	wz_rng_seed(&rng, 3);
	for (int i = 0; i < 200000; i++) {
		char room[600];
		struct wz_buf b;
		size_t from = 0;
		wz_buf_init_fixed(&b, room, sizeof room);
		wz_buf_addz(&b, wz_rng_below(&rng, 2) ? "POST / HTTP/1.1\r\nHost: x\r\n" : "");
		for (uint64_t k = wz_rng_below(&rng, 10); k-- > 0;)
			wz_buf_addz(&b, pieces[wz_rng_below(&rng, WZ_ARRAY_LEN(pieces))]);
		wz_buf_addz(&b, "\r\n\r\n");
		size_t end = wz_http_head_end(wz_buf_str(&b), &from);
		if (!end)
			continue;
		unsigned status = wz_http_head_parse((struct wz_str){room, end}, &h, &err);
		if (status) {
			tap_ok(status >= 400 && status < 600, "a refusal");
			continue;
		}
		accepted++;
		tap_ok(!(h.chunked && h.has_length), "one framing");
		tap_ok(h.path.len && h.path.ptr[0] == '/', "a path");
		unsigned lengths = 0;
		for (uint32_t k = 0; k < h.n_headers; k++)
			lengths += wz_str_eq_nocase(h.headers[k].name, WZ_STR("content-length"));
		tap_ok(lengths == h.has_length, "one length");
		for (size_t k = 0; k + 1 < end; k++)
			tap_ok(room[k] != '\n' || (k && room[k - 1] == '\r'), "no bare LF");
	}
	tap_ok(accepted > 1000, "the test is not vacuous: %u", accepted);
}

static void test_escapes(void)
{
	static const char *const bad[] = {"%", "%2", "%zz", "%00", "%0a", "%2f", "%2F", "%7f", "a%1"};
	char room[2000];
	struct wz_buf b;
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		wz_buf_init_fixed(&b, room, sizeof room);
		tap_eq_i64(wz_http_unescape(wz_str(bad[i]), false, &b), -EINVAL, "%s", bad[i]);
	}
	wz_buf_init_fixed(&b, room, sizeof room);
	tap_eq_i64(wz_http_unescape(WZ_STR("a%20b+c%C3%A4"), false, &b), 0, "path");
	tap_eq_str(wz_buf_str(&b), WZ_STR("a b+c\xc3\xa4"), "path");
	wz_buf_clear(&b);
	tap_eq_i64(wz_http_unescape(WZ_STR("a+b%41"), true, &b), 0, "query");
	tap_eq_str(wz_buf_str(&b), WZ_STR("a bA"), "query");
	/* escape, unescape: the same. */
	char all[256];
	size_t n = 0;
	for (int c = 0x20; c < 256; c++) {
		if (c != 0x7f && c != '/')
			all[n++] = (char)c;
	}
	struct wz_buf e;
	char escaped[1000];
	wz_buf_init_fixed(&e, escaped, sizeof escaped);
	wz_http_escape((struct wz_str){all, n}, &e);
	wz_buf_clear(&b);
	tap_eq_i64(wz_http_unescape(wz_buf_str(&e), true, &b), 0, "round trip");
	tap_eq_str(wz_buf_str(&b), ((struct wz_str){all, n}), "round trip");
	struct wz_str q = WZ_STR("a=1&&b&c=x=y"), k, v;
	tap_ok(wz_http_query_next(&q, &k, &v) && wz_str_eq(k, WZ_STR("a")) && wz_str_eq(v, WZ_STR("1")), "a");
	tap_ok(wz_http_query_next(&q, &k, &v) && wz_str_eq(k, WZ_STR("b")) && v.len == 0, "b");
	tap_ok(wz_http_query_next(&q, &k, &v) && wz_str_eq(k, WZ_STR("c")) && wz_str_eq(v, WZ_STR("x=y")), "c");
	tap_ok(!wz_http_query_next(&q, &k, &v), "the end");
}

struct events {
	unsigned n;
	char text[500];
};
static int on_event(void *ctx, const struct wz_sse_event *e)
{
	struct events *ev = ctx;
	struct wz_buf b;
	wz_buf_init_fixed(&b, ev->text + strlen(ev->text), sizeof ev->text - strlen(ev->text));
	wz_buf_add(&b, e->id);
	wz_buf_addc(&b, '/');
	wz_buf_add(&b, e->type);
	wz_buf_addc(&b, '/');
	wz_buf_add(&b, e->data);
	wz_buf_addc(&b, '|');
	wz_buf_z(&b);
	return ++ev->n > 100 ? -1 : 0;
}

static void test_sse(void)
{
	char bytes[300];
	struct wz_buf b;
	wz_buf_init_fixed(&b, bytes, sizeof bytes);
	wz_sse_write(&b, 7, WZ_STR("job"), WZ_STR("{\"a\":1}"));
	wz_sse_write(&b, 0, WZ_STR("hello"), WZ_STR("two\nlines"));
	wz_buf_addz(&b, ": comment\n\ndata:x\r\n\r\nid: 9\rdata: cr\r\rretry: 5\n\n");
	for (size_t step = 1; step < b.len; step++) {
		struct wz_sse p;
		struct events ev = {0};
		wz_sse_init(&p, wz_os_mem(), 1000);
		for (size_t i = 0; i < b.len; i += step)
			wz_sse_feed(
			        &p, (struct wz_str){bytes + i, step < b.len - i ? step : b.len - i}, on_event, &ev);
		tap_eq_str(wz_str(ev.text), WZ_STR("7/job/{\"a\":1}|7/hello/two\nlines|7/message/x|9/message/cr|"),
		        "step %zu", step);
		wz_sse_release(&p);
	}
	struct wz_sse p;
	struct events ev = {0};
	wz_sse_init(&p, wz_os_mem(), 10);
	tap_eq_i64(wz_sse_feed(&p, WZ_STR("data: 0123456789"), on_event, &ev), -E2BIG, "bounded");
	wz_sse_release(&p);
}

int main(void)
{
	tap_run(test_chunked_cuts);
	tap_run(test_head_end);
	tap_run(test_random_heads);
	tap_run(test_escapes);
	tap_run(test_sse);
	return tap_done();
}
