/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 requests as bytes (RFC 9112), strictly: what two programs could read differently is refused, since a proxy in
 * front of us may be the other program. Refused are: a line that ends without CR, a NUL or control byte, folded headers,
 * blanks before a colon, two Content-Length (even when equal), one that is not digits, Content-Length with
 * Transfer-Encoding, any Transfer-Encoding but exactly "chunked", no or two Host, HTTP/1.0 with Transfer-Encoding,
 * a chunk size that is not 1 to 8 hexadecimal digits, a chunk that does not end in CRLF.
 *
 * Pure: no I/O, no allocation. Everything is a view of the caller's bytes. fuzz/fuzz_http.c. */
#ifndef WZ_OS_HTTP_PARSE_H
#define WZ_OS_HTTP_PARSE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define WZ_HTTP_HEAD_MAX 16384u /* request line and headers */
#define WZ_HTTP_TARGET_MAX 4096u
#define WZ_HTTP_HEADERS_MAX 64u
#define WZ_HTTP_CHUNK_LINE_MAX 256u /* size, extensions; also one trailer line */
#define WZ_HTTP_TRAILERS_MAX 16u

enum wz_http_method {
	WZ_HTTP_GET,
	WZ_HTTP_HEAD,
	WZ_HTTP_POST,
	WZ_HTTP_PUT,
	WZ_HTTP_PATCH,
	WZ_HTTP_DELETE,
	WZ_HTTP_OPTIONS
};
const char *wz_http_method_name(enum wz_http_method m); /* "GET" */

struct wz_http_header {
	struct wz_str name, value; /* the value without blanks at its ends */
};

struct wz_http_head {
	enum wz_http_method method;
	struct wz_str target; /* as sent: "/v1/jobs?state=running" */
	struct wz_str path, query; /* cut at the first '?'; still percent-encoded */
	uint8_t minor; /* HTTP/1.minor: 0 or 1 */
	bool chunked, has_length, keep_alive, expect_continue;
	uint64_t length; /* of the body when has_length */
	uint32_t n_headers;
	struct wz_http_header headers[WZ_HTTP_HEADERS_MAX];
};

/* Where the head ends: its length with the empty line, or 0 when that is not there yet. `from`: where an earlier call
 * stopped looking (start with 0; it is moved), so that a head that trickles in is read once. */
size_t wz_http_head_end(struct wz_str bytes, size_t *from);

/* Parses one head, as cut by wz_http_head_end. Returns 0, or the HTTP status to refuse with (400, 414, 431, 501, 505)
 * and the reason in *err, whose code is -EBADMSG. After a refusal the connection is of no further use. */
unsigned wz_http_head_parse(struct wz_str bytes, struct wz_http_head *ret, struct wz_err *err);

/* The value of a header that must stand at most once; {NULL, 0} when it is not there or stands twice. */
struct wz_str wz_http_find(const struct wz_http_head *h, const char *name);

/* ---- a chunked body ---- */
struct wz_http_chunked {
	uint8_t state;
	uint8_t line_len;
	uint16_t trailers;
	uint64_t left; /* of the chunk */
	char line[WZ_HTTP_CHUNK_LINE_MAX];
};
void wz_http_chunked_init(struct wz_http_chunked *c);
/* Takes bytes from *in (moves it forward) and appends what they carry to *body, whose `max` bounds it. Returns 0: more is
 * needed; 1: complete, *in begins after the body; below 0: -(HTTP status): -400, -413. */
int wz_http_chunked_feed(struct wz_http_chunked *c, struct wz_str *in, struct wz_buf *body);

/* ---- targets ---- */

/* Percent-decodes one path segment or query word into b ('+' is a blank when `plus`). -EINVAL: a bad escape, or a byte
 * below 0x20, 0x7f, or '/' that came from an escape. */
int wz_http_unescape(struct wz_str s, bool plus, struct wz_buf *b);
void wz_http_escape(struct wz_str s, struct wz_buf *b); /* all but A-Z a-z 0-9 - . _ ~ */
/* Cuts the next "key=value" from *query (views, still encoded); false at the end. */
bool wz_http_query_next(struct wz_str *query, struct wz_str *ret_key, struct wz_str *ret_value);

const char *wz_http_status_text(unsigned status); /* "Not Found"; "Status" when not known */

#endif
