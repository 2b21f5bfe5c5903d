/* SPDX-License-Identifier: Apache-2.0 */
/* A pull reader of any JSON (RFC 8259), for traces that others wrote: blanks, fractions, escapes. One text, left to right; no
 * tree, no recursion: what is not asked for is skipped with a counter of at most WZ_JTEXT_DEPTH_MAX levels. Errors stick: after
 * the first, readers return false, and wz_jtext_err says line and column. base/json.h is the strict one for our own files. */
#ifndef WZ_SIM_JTEXT_H
#define WZ_SIM_JTEXT_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define WZ_JTEXT_DEPTH_MAX 512u

struct wz_jtext {
	const char *begin, *p, *end;
	const char *what; /* NULL: no error; else what was expected at p */
	bool first;       /* no member was read of the object or array that was opened last */
};

void wz_jtext_init(struct wz_jtext *j, struct wz_str text); /* a byte order mark is skipped */
char wz_jtext_peek(struct wz_jtext *j); /* first byte of the next value: one of {["-0..9tfn, or 0 at an error or the end */
bool wz_jtext_object(struct wz_jtext *j);
bool wz_jtext_key(struct wz_jtext *j, struct wz_str *ret); /* raw bytes between the quotes; false at '}' */
bool wz_jtext_array(struct wz_jtext *j);
bool wz_jtext_item(struct wz_jtext *j); /* false at ']' */
bool wz_jtext_string(struct wz_jtext *j, struct wz_arena *a, struct wz_str *ret); /* unescaped; a view where nothing is */
bool wz_jtext_number(struct wz_jtext *j, struct wz_str *ret); /* its text */
bool wz_jtext_null(struct wz_jtext *j); /* true and past it when the next value is null */
bool wz_jtext_skip(struct wz_jtext *j); /* any value */
bool wz_jtext_end(struct wz_jtext *j);
void wz_jtext_fail(struct wz_jtext *j, const char *what);
int wz_jtext_err(const struct wz_jtext *j, struct wz_str name, struct wz_err *err); /* 0, or -EBADMSG "BadJson" with the place */
void wz_jtext_place(const struct wz_jtext *j, uint32_t *ret_line, uint32_t *ret_column);

#endif
