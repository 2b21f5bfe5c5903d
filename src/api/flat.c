/* SPDX-License-Identifier: Apache-2.0 */
#include "api/flat.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int wz_flat_format_parse(struct wz_str word, enum wz_flat_format *ret)
{
	if (wz_str_eq(word, WZ_STR("html")))
		*ret = WZ_FLAT_HTML;
	else if (wz_str_eq(word, WZ_STR("csv")))
		*ret = WZ_FLAT_CSV;
	else if (wz_str_eq(word, WZ_STR("json")))
		*ret = WZ_FLAT_NONE;
	else
		return -EINVAL;
	return 0;
}

bool wz_flat_wants_html(struct wz_str accept)
{
	const char *html = accept.len ? memmem(accept.ptr, accept.len, "text/html", 9) : NULL;
	const char *json = accept.len ? memmem(accept.ptr, accept.len, "application/json", 16) : NULL;
	return html && (!json || html < json);
}

const char *wz_flat_content_type(enum wz_flat_format f)
{
	return f == WZ_FLAT_HTML  ? "text/html; charset=utf-8"
	       : f == WZ_FLAT_CSV ? "text/csv; charset=utf-8; header=present"
	                          : "application/json";
}

/* ---- values ---- */

static const void *at(const void *item, const struct wz_api_field *f)
{
	return (const char *)item + f->offset;
}

static void put_text(struct wz_buf *b, enum wz_flat_format f, struct wz_str s)
{
	if (f == WZ_FLAT_HTML) {
		wz_buf_add_html(b, s);
		return;
	}
	/* What a spreadsheet would take for a formula is made a text (users name their jobs themselves). */
	bool formula = s.len && strchr("=+-@\t\r", s.ptr[0]);
	bool quote = formula || (s.len && (memchr(s.ptr, ',', s.len) || memchr(s.ptr, '"', s.len) ||
	                                          memchr(s.ptr, '\n', s.len) || memchr(s.ptr, '\r', s.len)));
	if (quote)
		wz_buf_addc(b, '"');
	if (formula)
		wz_buf_addc(b, '\'');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			wz_buf_addc(b, '"');
		wz_buf_addc(b, s.ptr[i]);
	}
	if (quote)
		wz_buf_addc(b, '"');
}

static void put_time(struct wz_buf *b, enum wz_flat_format f, int64_t us)
{
	char text[40];
	struct tm tm;
	time_t t = (time_t)(us / 1000000);
	if (f == WZ_FLAT_CSV)
		wz_buf_add_i64(b, us);
	else if (us && gmtime_r(&t, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &tm))
		wz_buf_addz(b, text);
}

static void put_list(struct wz_buf *b, enum wz_flat_format f, const struct wz_api_field *field,
        const struct wz_items *l, bool private_too)
{
	if (f != WZ_FLAT_HTML || !l->n)
		return;
	wz_flat_head(b, f, field->type);
	for (uint32_t i = 0; i < l->n; i++)
		wz_flat_row(b, f, field->type, (const char *)l->v + i * field->type->size, private_too);
	wz_flat_tail(b, f);
}

static void put_strings(struct wz_buf *b, enum wz_flat_format f, const struct wz_strs *s)
{
	struct wz_buf all;
	for (uint32_t i = 0; f == WZ_FLAT_HTML && i < s->n; i++) {
		if (i)
			wz_buf_addc(b, ' ');
		put_text(b, f, s->v[i]);
	}
	if (f == WZ_FLAT_HTML || !s->n)
		return;
	char room[4096]; /* one field of CSV; what is longer is cut */
	wz_buf_init_fixed(&all, room, sizeof room);
	for (uint32_t i = 0; i < s->n && all.len + s->v[i].len + 1 < sizeof room; i++) {
		if (i)
			wz_buf_addc(&all, ' ');
		wz_buf_add(&all, s->v[i]);
	}
	put_text(b, f, wz_buf_str(&all));
}

static void put_value(struct wz_buf *b, enum wz_flat_format f, const struct wz_api_field *field, const void *item,
        bool private_too)
{
	const void *p = at(item, field);
	switch ((enum wz_field_kind)field->kind) {
	case WZ_FIELD_STR:
		put_text(b, f, *(const struct wz_str *)p);
		break;
	case WZ_FIELD_BOOL:
		wz_buf_addz(b, *(const bool *)p ? "yes" : "no");
		break;
	case WZ_FIELD_I32:
		wz_buf_add_i64(b, *(const int32_t *)p);
		break;
	case WZ_FIELD_U32:
		wz_buf_add_u64(b, *(const uint32_t *)p);
		break;
	case WZ_FIELD_I64:
		wz_buf_add_i64(b, *(const int64_t *)p);
		break;
	case WZ_FIELD_U64:
		wz_buf_add_u64(b, *(const uint64_t *)p);
		break;
	case WZ_FIELD_TIME:
		put_time(b, f, *(const int64_t *)p);
		break;
	case WZ_FIELD_ENUM:
		wz_buf_addz(b, field->words[*(const int32_t *)p]);
		break;
	case WZ_FIELD_STRS:
		put_strings(b, f, p);
		break;
	case WZ_FIELD_NUMS:
		for (uint32_t i = 0; i < ((const struct wz_nums *)p)->n; i++) {
			if (i)
				wz_buf_addc(b, ' ');
			wz_buf_add_u64(b, ((const struct wz_nums *)p)->v[i]);
		}
		break;
	case WZ_FIELD_PAIRS:
		for (uint32_t i = 0; f == WZ_FLAT_HTML && i < ((const struct wz_pairs *)p)->n; i++) {
			const struct wz_pair *pair = &((const struct wz_pairs *)p)->v[i];
			put_text(b, f, pair->key);
			wz_buf_addc(b, '=');
			put_text(b, f, pair->value);
			wz_buf_addc(b, ' ');
		}
		break;
	case WZ_FIELD_OBJ:
		if (f == WZ_FLAT_HTML)
			wz_flat_item(b, field->type, p, private_too);
		break;
	case WZ_FIELD_LIST:
		put_list(b, f, field, p, private_too);
		break;
	}
}

static bool shown(const struct wz_api_field *f, enum wz_flat_format format, bool private_too)
{
	if (f->flags & WZ_FIELD_SECRET || (f->flags & WZ_FIELD_PRIVATE && !private_too))
		return false;
	return format == WZ_FLAT_HTML ||
	       (f->kind != WZ_FIELD_LIST && f->kind != WZ_FIELD_OBJ && f->kind != WZ_FIELD_PAIRS);
}

/* A job's number leads to its page. */
static bool links(const struct wz_api_type *t, const struct wz_api_field *f)
{
	return f->kind == WZ_FIELD_U64 &&
	       (strcmp(f->name, "job") == 0 || (strcmp(f->name, "id") == 0 && strstr(t->name, "Job")));
}

/* ---- tables ---- */

void wz_flat_head(struct wz_buf *b, enum wz_flat_format f, const struct wz_api_type *t)
{
	bool any = false;
	if (f == WZ_FLAT_HTML)
		wz_buf_addz(b, "<table><thead><tr>");
	/* The same columns for everybody: what is private is empty in the rows of others. */
	for (uint32_t i = 0; i < t->n; i++) {
		if (!shown(&t->fields[i], f, true))
			continue;
		if (f == WZ_FLAT_HTML) {
			wz_buf_addz(b, "<th scope=col title=\"");
			wz_buf_add_html(b, wz_str(t->fields[i].doc));
			wz_buf_addz(b, "\">");
			wz_buf_add_html(b, wz_str(t->fields[i].name));
			wz_buf_addz(b, "</th>");
		} else {
			wz_buf_addz(b, any ? "," : "");
			wz_buf_addz(b, t->fields[i].name);
		}
		any = true;
	}
	wz_buf_addz(b, f == WZ_FLAT_HTML ? "</tr></thead><tbody>\n" : "\r\n");
}

void wz_flat_row(
        struct wz_buf *b, enum wz_flat_format f, const struct wz_api_type *t, const void *item, bool private_too)
{
	bool any = false;
	if (f == WZ_FLAT_HTML)
		wz_buf_addz(b, "<tr>");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *field = &t->fields[i];
		bool link = f == WZ_FLAT_HTML && links(t, field);
		if (!shown(field, f, true))
			continue;
		wz_buf_addz(b, f == WZ_FLAT_HTML ? "<td>" : any ? "," : "");
		any = true;
		if (link) {
			wz_buf_addz(b, "<a href=\"/v1/jobs/");
			wz_buf_add_u64(b, *(const uint64_t *)at(item, field));
			wz_buf_addz(b, "?format=html\">");
		}
		if (shown(field, f, private_too))
			put_value(b, f, field, item, private_too);
		wz_buf_addz(b, link ? "</a>" : "");
		wz_buf_addz(b, f == WZ_FLAT_HTML ? "</td>" : "");
	}
	wz_buf_addz(b, f == WZ_FLAT_HTML ? "</tr>\n" : "\r\n");
}

void wz_flat_tail(struct wz_buf *b, enum wz_flat_format f)
{
	wz_buf_addz(b, f == WZ_FLAT_HTML ? "</tbody></table>\n" : "");
}

void wz_flat_item(struct wz_buf *b, const struct wz_api_type *t, const void *item, bool private_too)
{
	wz_buf_addz(b, "<table><tbody>\n");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		if (!shown(f, WZ_FLAT_HTML, private_too))
			continue;
		wz_buf_addz(b, "<tr><th scope=row title=\"");
		wz_buf_add_html(b, wz_str(f->doc));
		wz_buf_addz(b, "\">");
		wz_buf_add_html(b, wz_str(f->name));
		wz_buf_addz(b, "</th><td>");
		put_value(b, WZ_FLAT_HTML, f, item, private_too);
		wz_buf_addz(b, "</td></tr>\n");
	}
	wz_buf_addz(b, "</tbody></table>\n");
}

/* ---- pages ---- */

void wz_flat_page_begin(struct wz_buf *b, struct wz_str title)
{
	static const char *const pages[][2] = {{"board", "/v1/board"}, {"devices", "/v1/devices"},
	        {"jobs", "/v1/jobs"}, {"history", "/v1/jobs?state=ended"}, {"timeline", "/v1/timeline"},
	        {"queues", "/v1/queues"}, {"repack", "/v1/repack"}, {"usage", "/v1/usage"}, {"nodes", "/v1/nodes"},
	        {"info", "/v1/info"}};
	wz_buf_addz(b, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
	               "content=\"width=device-width\">\n<link rel=stylesheet href=/plain.css><title>");
	wz_buf_add_html(b, title);
	wz_buf_addz(b, "</title></head><body>\n<nav><a href=/>WhaleZEN</a>");
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		wz_buf_addz(b, " <a href=\"");
		wz_buf_addz(b, pages[i][1]);
		wz_buf_addz(b, strchr(pages[i][1], '?') ? "&amp;format=html\">" : "?format=html\">");
		wz_buf_addz(b, pages[i][0]);
		wz_buf_addz(b, "</a>");
	}
	wz_buf_addz(b, "</nav>\n<h1>");
	wz_buf_add_html(b, title);
	wz_buf_addz(b, "</h1>\n");
}

void wz_flat_page_end(struct wz_buf *b)
{
	wz_buf_addz(b, "</body></html>\n");
}
