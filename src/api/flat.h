/* SPDX-License-Identifier: Apache-2.0 */
/* Any reply as a page without scripts, or as CSV, from the same tables as the JSON. `?format=html|csv` of a GET asks for
 * it; a browser that names text/html first gets the page.
 *
 * HTML: a list is a table with a row for each item; one item is a table of field and value; lists within are tables
 * within. CSV (RFC 4180): lists alone; the first line names the fields, times stay microseconds, lists are joined by
 * blanks, and tables within are left out. */
#ifndef WZ_API_FLAT_H
#define WZ_API_FLAT_H

#include "api/json.h"

enum wz_flat_format { WZ_FLAT_NONE, WZ_FLAT_HTML, WZ_FLAT_CSV };

/* The format that was asked for. -EINVAL: another word. */
int wz_flat_format_parse(struct wz_str word, enum wz_flat_format *ret);
bool wz_flat_wants_html(struct wz_str accept); /* of a header Accept: text/html stands before application/json */
const char *wz_flat_content_type(enum wz_flat_format f);

void wz_flat_page_begin(struct wz_buf *b, struct wz_str title);
void wz_flat_page_end(struct wz_buf *b);
void wz_flat_head(struct wz_buf *b, enum wz_flat_format f, const struct wz_api_type *t);
void wz_flat_row(struct wz_buf *b, enum wz_flat_format f, const struct wz_api_type *t, const void *item, bool private_too);
void wz_flat_tail(struct wz_buf *b, enum wz_flat_format f);
void wz_flat_item(struct wz_buf *b, const struct wz_api_type *t, const void *item, bool private_too); /* HTML */

#endif
