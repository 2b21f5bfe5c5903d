/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/gunzip.h"

#include <zlib.h>

static int fail(struct wz_err *err, int code, const char *name, struct wz_str what)
{
	return wz_err_set(err, code,
	        code == -EBADMSG ? "BadGzip"
	        : code == -E2BIG ? "TooLarge"
	                         : "OutOfMemory",
	        wz_str(name), WZ_STR(": "), what);
}

int wz_gunzip(struct wz_file_text *t, size_t max_bytes, const char *name, struct wz_err *err)
{
	struct wz_file_text out = {.mem = t->mem};
	z_stream z = {.next_in = (Bytef *)t->data, .avail_in = t->len > UINT32_MAX ? UINT32_MAX : (uInt)t->len};
	int rc = t->len > UINT32_MAX ? fail(err, -E2BIG, name, WZ_STR("too large to unpack")) : 0, zr = Z_OK;
	bool open = rc == 0 && inflateInit2(&z, 15 + 16) == Z_OK;

	while (rc == 0 && open && zr != Z_STREAM_END) {
		if (out.len == out.cap) {
			size_t cap = out.cap ? out.cap * 2 : 1 << 20;
			char *p = out.cap >= max_bytes ? NULL : t->mem->resize(t->mem->ctx, out.data, out.cap, cap);
			if (!p) {
				rc = out.cap >= max_bytes
				             ? fail(err, -E2BIG, name, WZ_STR("more than 2 GiB when unpacked"))
				             : fail(err, -ENOMEM, name, WZ_STR("no memory to unpack"));
				break;
			}
			out.data = p;
			out.cap = cap;
		}
		z.next_out = (Bytef *)out.data + out.len;
		z.avail_out = out.cap - out.len > UINT32_MAX ? UINT32_MAX : (uInt)(out.cap - out.len);
		uInt before = z.avail_out;
		zr = inflate(&z, Z_NO_FLUSH);
		out.len += before - z.avail_out;
		if (zr == Z_STREAM_END && z.avail_in > 0)
			zr = inflateReset(&z); /* another member */
		else if (zr != Z_OK && zr != Z_STREAM_END)
			rc = fail(err, -EBADMSG, name, WZ_STR("this is not whole gzip data"));
	}
	if (rc == 0 && !open)
		rc = fail(err, -ENOMEM, name, WZ_STR("no memory to unpack"));
	if (open)
		inflateEnd(&z);
	wz_file_text_release(rc == 0 ? t : &out);
	if (rc == 0)
		*t = out;
	return rc;
}
