/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: what went wrong, for a program (code, reason) and for a person (text).
 *
 * Convention of the whole project: a function returns 0 (or a count) or a negative errno. Its optional last
 * argument `struct wz_err *err` receives the explanation; it is untouched on success, may be NULL, and is never
 * allocated, so an out-of-memory error can be reported. `reason` is a stable word that scripts may match; `text`
 * is one line for people and may change.
 */
#ifndef WZ_BASE_ERR_H
#define WZ_BASE_ERR_H

#include "base/str.h"

#include <errno.h>
#include <stdint.h>

#define WZ_ERR_TEXT_MAX 320

struct wz_err {
	int code;            /* negative errno */
	const char *reason;  /* static string, a stable word such as "UnknownModel" */
	char text[WZ_ERR_TEXT_MAX]; /* always terminated; cut at a UTF-8 boundary when too long */
};

/* Fills *err (when not NULL) and returns `code`, so that `return wz_err_set(...)` reads well. `parts` are
 * concatenated; the macro below supplies the count. Control bytes in the parts are shown as '?'. Parts may be views of
 * err->text itself. `code` is negative (asserted). */
int wz_err_set_parts(struct wz_err *err, int code, const char *reason, const struct wz_str *parts, unsigned n);

#define wz_err_set(err, code, reason, ...)                                                                  \
	wz_err_set_parts((err), (code), (reason), (const struct wz_str[]){__VA_ARGS__},                       \
	                 (unsigned)(sizeof((const struct wz_str[]){__VA_ARGS__}) / sizeof(struct wz_str)))

/* Puts `prefix` (for example "pods.csv:17: ") before the text that is already in *err. No-op when err is NULL. */
void wz_err_prefix(struct wz_err *err, struct wz_str prefix);

#endif
