/* SPDX-License-Identifier: Apache-2.0 */
/* The head is looked at only when it is whole: parsing is then a walk over lines with all of them in sight, and no state
 * survives between reads but an offset. Chunked bodies are the one state machine. */
#include "os/http_parse.h"

#include "base/check.h"

static const char *const method_names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

const char *wz_http_method_name(enum wz_http_method m)
{
	return method_names[m];
}

static const struct {
	unsigned status;
	const char *text;
} statuses[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
};

const char *wz_http_status_text(unsigned status)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(statuses); i++) {
		if (statuses[i].status == status)
			return statuses[i].text;
	}
	return "Status";
}

/* ---- the head ---- */

size_t wz_http_head_end(struct wz_str bytes, size_t *from)
{
	size_t i = *from;
	/* An empty line is LF CR LF, or LF LF from a client that is then refused. Empty lines before the request line are
	 * skipped by the parser, so they are no end here. */
	size_t start = 0;
	while (start + 1 < bytes.len && bytes.ptr[start] == '\r' && bytes.ptr[start + 1] == '\n')
		start += 2;
	if (i < start)
		i = start;
	for (; i < bytes.len; i++) {
		const char *lf = memchr(bytes.ptr + i, '\n', bytes.len - i);
		if (!lf)
			break;
		i = (size_t)(lf - bytes.ptr);
		if (i + 1 < bytes.len && bytes.ptr[i + 1] == '\n')
			return i + 2;
		if (i + 2 < bytes.len && bytes.ptr[i + 1] == '\r' && bytes.ptr[i + 2] == '\n')
			return i + 3;
		if (i + 2 >= bytes.len) {
			*from = i;
			return 0;
		}
	}
	*from = bytes.len;
	return 0;
}

static unsigned refuse(struct wz_err *err, unsigned status, const char *reason, const char *text)
{
	wz_err_set(err, -EBADMSG, reason, wz_str(text));
	return status;
}

static bool is_token(unsigned char c)
{
	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
		return true;
	return c && c < 128 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool all_token(struct wz_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!is_token((unsigned char)s.ptr[i]))
			return false;
	}
	return s.len > 0;
}

/* Cuts a line that ends in CR LF; false when it ends otherwise or holds a stray CR, NUL or other control byte. */
static bool cut_line(struct wz_str *s, struct wz_str *ret)
{
	const char *lf = memchr(s->ptr, '\n', s->len);
	if (!lf || lf == s->ptr || lf[-1] != '\r')
		return false;
	*ret = (struct wz_str){s->ptr, (size_t)(lf - 1 - s->ptr)};
	for (size_t i = 0; i < ret->len; i++) {
		unsigned char c = (unsigned char)ret->ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	s->len -= (size_t)(lf + 1 - s->ptr);
	s->ptr = lf + 1;
	return true;
}

static unsigned parse_request_line(struct wz_str line, struct wz_http_head *h, struct wz_err *err)
{
	struct wz_str rest = line;
	struct wz_str method = wz_str_split(&rest, ' ');
	if (!rest.ptr || !all_token(method))
		return refuse(err, 400, "BadRequestLine", "the first line is not METHOD TARGET HTTP/1.1");
	struct wz_str target = wz_str_split(&rest, ' ');
	if (!rest.ptr || target.len == 0)
		return refuse(err, 400, "BadRequestLine", "the first line is not METHOD TARGET HTTP/1.1");
	if (wz_str_eq(rest, WZ_STR("HTTP/1.1")))
		h->minor = 1;
	else if (wz_str_eq(rest, WZ_STR("HTTP/1.0")))
		h->minor = 0;
	else if (wz_str_starts(rest, WZ_STR("HTTP/")))
		return refuse(err, 505, "HttpVersion", "this server speaks HTTP/1.1");
	else
		return refuse(err, 400, "BadRequestLine", "the first line is not METHOD TARGET HTTP/1.1");
	if (target.len > WZ_HTTP_TARGET_MAX)
		return refuse(err, 414, "TargetTooLong", "the request target is longer than 4096 bytes");
	for (size_t i = 0; i < target.len; i++) {
		unsigned char c = (unsigned char)target.ptr[i];
		if (c <= 0x20 || c >= 0x7f || c == '#')
			return refuse(err, 400, "BadTarget", "the request target has a byte that must be escaped");
	}
	size_t m = 0;
	while (m < WZ_ARRAY_LEN(method_names) && !wz_str_eq(method, wz_str(method_names[m])))
		m++;
	if (m == WZ_ARRAY_LEN(method_names))
		return refuse(err, 501, "UnknownMethod", "this method is not known here");
	if (target.ptr[0] != '/')
		return refuse(err, 400, "BadTarget", "the request target must begin with '/'");
	h->method = (enum wz_http_method)m;
	h->target = h->query = target;
	h->path = wz_str_split(&h->query, '?');
	return 0;
}

static unsigned parse_header_line(struct wz_str line, struct wz_http_head *h, struct wz_err *err)
{
	if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
		return refuse(
		        err, 400, "FoldedHeader", "a header is continued on the next line, which is obsolete");
	struct wz_str value = line, name = wz_str_split(&value, ':');
	if (!value.ptr || !all_token(name))
		return refuse(err, 400, "BadHeader", "a header is not \"Name: value\"");
	if (h->n_headers == WZ_HTTP_HEADERS_MAX)
		return refuse(err, 431, "TooManyHeaders", "more than 64 headers");
	h->headers[h->n_headers++] = (struct wz_http_header){name, wz_str_trim(value)};
	return 0;
}

static uint32_t count_header(const struct wz_http_head *h, const char *name, struct wz_str *ret)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < h->n_headers; i++) {
		if (wz_str_eq_nocase(h->headers[i].name, wz_str(name))) {
			*ret = h->headers[i].value;
			n++;
		}
	}
	return n;
}

struct wz_str wz_http_find(const struct wz_http_head *h, const char *name)
{
	struct wz_str v = {NULL, 0};
	return count_header(h, name, &v) == 1 ? v : (struct wz_str){NULL, 0};
}

static bool list_has(struct wz_str list, struct wz_str word)
{
	while (list.ptr) {
		if (wz_str_eq_nocase(wz_str_trim(wz_str_split(&list, ',')), word))
			return true;
	}
	return false;
}

static unsigned judge_framing(struct wz_http_head *h, struct wz_err *err)
{
	struct wz_str v = {NULL, 0};
	uint32_t lengths = count_header(h, "content-length", &v);
	struct wz_str te = {NULL, 0};
	uint32_t codings = count_header(h, "transfer-encoding", &te);
	if (lengths > 1)
		return refuse(err, 400, "DuplicateLength", "Content-Length stands more than once");
	if (lengths && codings)
		return refuse(
		        err, 400, "AmbiguousLength", "Content-Length and Transfer-Encoding exclude each other");
	if (codings) {
		if (codings > 1 || !wz_str_eq_nocase(te, WZ_STR("chunked")))
			return refuse(
			        err, 501, "TransferEncoding", "the only Transfer-Encoding known here is chunked");
		if (h->minor == 0)
			return refuse(err, 400, "TransferEncoding", "HTTP/1.0 has no Transfer-Encoding");
		h->chunked = true;
	}
	if (lengths) {
		if (wz_str_parse_u64(v, &h->length) < 0 || v.len > 18)
			return refuse(err, 400, "BadLength", "Content-Length is not a number");
		h->has_length = true;
	}
	return 0;
}

static unsigned judge(struct wz_http_head *h, struct wz_err *err)
{
	struct wz_str v = {NULL, 0};
	uint32_t hosts = count_header(h, "host", &v);
	if (hosts > 1 || (hosts == 0 && h->minor == 1))
		return refuse(err, 400, "BadHost", "HTTP/1.1 wants exactly one Host header");
	unsigned status = judge_framing(h, err);
	if (status)
		return status;
	h->keep_alive = h->minor == 1;
	for (uint32_t i = 0; i < h->n_headers; i++) {
		if (!wz_str_eq_nocase(h->headers[i].name, WZ_STR("connection")))
			continue;
		if (list_has(h->headers[i].value, WZ_STR("close")))
			h->keep_alive = false;
		else if (h->minor == 0 && list_has(h->headers[i].value, WZ_STR("keep-alive")))
			h->keep_alive = true;
	}
	if (count_header(h, "expect", &v)) {
		if (!wz_str_eq_nocase(v, WZ_STR("100-continue")))
			return refuse(err, 400, "BadExpect", "the only Expect known here is 100-continue");
		h->expect_continue = h->minor == 1;
	}
	return 0;
}

unsigned wz_http_head_parse(struct wz_str bytes, struct wz_http_head *ret, struct wz_err *err)
{
	struct wz_str line;
	memset(ret, 0, offsetof(struct wz_http_head, headers));
	if (bytes.len > WZ_HTTP_HEAD_MAX)
		return refuse(err, 431, "HeadTooLarge", "the headers are larger than 16 KiB");
	while (bytes.len >= 2 && bytes.ptr[0] == '\r' && bytes.ptr[1] == '\n')
		bytes = (struct wz_str){bytes.ptr + 2, bytes.len - 2};
	if (!bytes.len || !cut_line(&bytes, &line))
		return refuse(err, 400, "BadLine", "a line does not end in CR LF or holds a control byte");
	unsigned status = parse_request_line(line, ret, err);
	while (!status) {
		if (!bytes.len || !cut_line(&bytes, &line))
			return refuse(err, 400, "BadLine", "a line does not end in CR LF or holds a control byte");
		if (line.len == 0)
			break;
		status = parse_header_line(line, ret, err);
	}
	return status ? status : judge(ret, err);
}

/* ---- chunks ---- */

enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_CRLF, CHUNK_TRAILER, CHUNK_DONE };

void wz_http_chunked_init(struct wz_http_chunked *c)
{
	memset(c, 0, offsetof(struct wz_http_chunked, line));
}

/* Collects a line of at most WZ_HTTP_CHUNK_LINE_MAX - 1 bytes. 1: it is whole; 0: more; -400. */
static int feed_line(struct wz_http_chunked *c, struct wz_str *in, struct wz_str *ret)
{
	while (in->len) {
		unsigned char ch = (unsigned char)in->ptr[0];
		in->ptr++;
		in->len--;
		if (ch == '\n') {
			if (c->line_len == 0 || c->line[c->line_len - 1] != '\r')
				return -400;
			*ret = (struct wz_str){c->line, c->line_len - 1u};
			c->line_len = 0;
			return memchr(ret->ptr, '\r', ret->len) ? -400 : 1;
		}
		if ((ch < 0x20 && ch != '\t' && ch != '\r') || ch == 0x7f || c->line_len == sizeof c->line - 1)
			return -400;
		c->line[c->line_len++] = (char)ch;
	}
	return 0;
}

static int hex_of(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

static int chunk_size(struct wz_str line, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;
	while (n < line.len && hex_of(line.ptr[n]) >= 0) {
		v = v * 16 + (uint64_t)hex_of(line.ptr[n]);
		if (++n > 8)
			return -413;
	}
	if (n == 0 || (n < line.len && line.ptr[n] != ';'))
		return -400;
	*ret = v;
	return 0;
}

static int feed_data(struct wz_http_chunked *c, struct wz_str *in, struct wz_buf *body)
{
	size_t n = in->len < c->left ? in->len : (size_t)c->left;
	wz_buf_add(body, (struct wz_str){in->ptr, n});
	if (body->status < 0)
		return -413;
	in->ptr += n;
	in->len -= n;
	c->left -= n;
	if (c->left == 0)
		c->state = CHUNK_CRLF;
	return 0;
}

int wz_http_chunked_feed(struct wz_http_chunked *c, struct wz_str *in, struct wz_buf *body)
{
	struct wz_str line;
	int rc;
	while (c->state != CHUNK_DONE) {
		if (c->state == CHUNK_DATA) {
			if (!in->len)
				return 0;
			rc = feed_data(c, in, body);
			if (rc < 0)
				return rc;
			continue;
		}
		rc = feed_line(c, in, &line);
		if (rc <= 0)
			return rc;
		if (c->state == CHUNK_SIZE) {
			rc = chunk_size(line, &c->left);
			if (rc < 0)
				return rc;
			if (c->left > body->max - body->len)
				return -413;
			c->state = c->left ? CHUNK_DATA : CHUNK_TRAILER;
		} else if (c->state == CHUNK_CRLF) {
			if (line.len)
				return -400;
			c->state = CHUNK_SIZE;
		} else if (line.len == 0) {
			c->state = CHUNK_DONE;
		} else if (++c->trailers > WZ_HTTP_TRAILERS_MAX) {
			return -400; /* trailers are read and dropped: nothing here wants one */
		}
	}
	return 1;
}

/* ---- targets ---- */

int wz_http_unescape(struct wz_str s, bool plus, struct wz_buf *b)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (c == '%') {
			int hi = i + 2 < s.len ? hex_of(s.ptr[i + 1]) : -1;
			int lo = i + 2 < s.len ? hex_of(s.ptr[i + 2]) : -1;
			if (hi < 0 || lo < 0)
				return -EINVAL;
			unsigned char v = (unsigned char)(hi * 16 + lo);
			if (v < 0x20 || v == 0x7f || v == '/')
				return -EINVAL;
			c = (char)v;
			i += 2;
		} else if (plus && c == '+') {
			c = ' ';
		}
		wz_buf_addc(b, c);
	}
	return b->status < 0 ? b->status : 0;
}

void wz_http_escape(struct wz_str s, struct wz_buf *b)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		             c == '-' || c == '.' || c == '_' || c == '~';
		if (plain) {
			wz_buf_addc(b, (char)c);
		} else {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, digits[c >> 4]);
			wz_buf_addc(b, digits[c & 15]);
		}
	}
}

bool wz_http_query_next(struct wz_str *query, struct wz_str *ret_key, struct wz_str *ret_value)
{
	while (query->ptr) {
		struct wz_str pair = wz_str_split(query, '&');
		if (!pair.len)
			continue;
		*ret_key = wz_str_split(&pair, '=');
		*ret_value = pair.ptr ? pair : (struct wz_str){"", 0};
		return true;
	}
	return false;
}
