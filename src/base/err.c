/* SPDX-License-Identifier: Apache-2.0 */
/* The text is put together in a local array and copied at the end, so that parts may be views of the very text that
 * is replaced: `wz_err_set(err, code, reason, WZ_STR("cannot start: "), wz_str(err->text))`. */
#include "base/err.h"

#include "base/check.h"

#include <string.h>

static void put_text(struct wz_err *err, const struct wz_str *parts, unsigned n)
{
	char text[WZ_ERR_TEXT_MAX];
	size_t len = 0;
	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < parts[i].len; k++) {
			unsigned char c = (unsigned char)parts[i].ptr[k];
			if (len == sizeof text - 1) {
				/* Cut before the first byte of the character that does not fit. */
				if ((c & 0xc0) == 0x80)
					for (int back = 0; back < 3 && (text[len - 1] & 0xc0) == 0x80; back++)
						len--;
				if ((c & 0xc0) == 0x80 && (text[len - 1] & 0xc0) == 0xc0)
					len--;
				goto done;
			}
			text[len++] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
		}
	}
done:
	memcpy(err->text, text, len);
	err->text[len] = 0;
}

int wz_err_set_parts(struct wz_err *err, int code, const char *reason, const struct wz_str *parts, unsigned n)
{
	wz_check(code < 0);
	if (!err)
		return code;
	put_text(err, parts, n);
	err->code = code;
	err->reason = reason;
	return code;
}

void wz_err_prefix(struct wz_err *err, struct wz_str prefix)
{
	if (err)
		put_text(err, (const struct wz_str[]){prefix, wz_str(err->text)}, 2);
}
