/* SPDX-License-Identifier: Apache-2.0 */
/* The head parser and the chunk decoder. Properties: what is accepted has one framing and no byte that two parsers could
 * read differently; a chunked body says the same however it is cut; unescaping never makes text longer. */
#include "fuzz.h"

#include "base/check.h"
#include "os/http_parse.h"
#include "os/mem.h"

static void check_head(struct wz_str bytes)
{
	static struct wz_http_head h;
	struct wz_err err;
	size_t from = 0, end = wz_http_head_end(bytes, &from);
	size_t again = 0, found = 0;
	for (size_t n = 0; n <= bytes.len && !found && n < 2000; n++)
		found = wz_http_head_end((struct wz_str){bytes.ptr, n}, &again);
	wz_check(bytes.len >= 2000 || found == end);
	if (!end)
		return;
	unsigned status = wz_http_head_parse((struct wz_str){bytes.ptr, end}, &h, &err);
	if (status) {
		wz_check(status >= 400 && status < 600 && err.reason && err.code == -EBADMSG);
		return;
	}
	wz_check(!(h.chunked && h.has_length) && h.path.len && h.path.ptr[0] == '/');
	for (size_t i = 0; i < end; i++)
		wz_check(bytes.ptr[i] != 0 && (bytes.ptr[i] != '\n' || (i && bytes.ptr[i - 1] == '\r')));
	char room[WZ_HTTP_TARGET_MAX];
	struct wz_buf b;
	wz_buf_init_fixed(&b, room, sizeof room);
	if (wz_http_unescape(h.path, false, &b) == 0)
		wz_check(b.len <= h.path.len);
	struct wz_str query = h.query, key, value;
	while (wz_http_query_next(&query, &key, &value))
		wz_check(key.len + value.len <= h.query.len);
}

static int decode(struct wz_str bytes, size_t step, struct wz_buf *body, size_t *used)
{
	struct wz_http_chunked c;
	struct wz_str in = {bytes.ptr, 0};
	int rc = 0;
	wz_http_chunked_init(&c);
	while (rc == 0 && in.ptr + in.len < bytes.ptr + bytes.len) {
		size_t left = (size_t)(bytes.ptr + bytes.len - in.ptr) - in.len;
		in.len += left < step ? left : step;
		rc = wz_http_chunked_feed(&c, &in, body);
	}
	*used = (size_t)(in.ptr - bytes.ptr);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wz_str bytes = {(const char *)data, size};
	struct wz_buf whole, cut;
	size_t used_whole, used_cut;
	check_head(bytes);
	wz_buf_init(&whole, wz_os_mem(), 4096);
	wz_buf_init(&cut, wz_os_mem(), 4096);
	int a = decode(bytes, SIZE_MAX, &whole, &used_whole),
	    b = decode(bytes, size ? 1 + data[0] % 7 : 1, &cut, &used_cut);
	wz_check(a == b && (a == 0 || a == 1 || a == -400 || a == -413));
	if (a == 1)
		wz_check(used_whole == used_cut && wz_str_eq(wz_buf_str(&whole), wz_buf_str(&cut)));
	wz_buf_release(&whole);
	wz_buf_release(&cut);
	return 0;
}
