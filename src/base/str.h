/* SPDX-License-Identifier: Apache-2.0 */
/* Strings are views {ptr, len}: never owned, never terminated, bytes (UTF-8 where text). */
#ifndef WZ_BASE_STR_H
#define WZ_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wz_str {
	const char *ptr; /* may be NULL only when len is 0 */
	size_t len;
};

/* From a literal; from a terminated string (NULL gives the empty view). */
#define WZ_STR(lit) ((struct wz_str){"" lit "", sizeof(lit) - 1}) /* a literal only: anything else does not compile */
struct wz_str wz_str(const char *z);

bool wz_str_eq(struct wz_str a, struct wz_str b);
bool wz_str_eq_nocase(struct wz_str a, struct wz_str b); /* ASCII letters only */
int wz_str_cmp(struct wz_str a, struct wz_str b);        /* bytewise, shorter first: <0, 0, >0 */
bool wz_str_starts(struct wz_str s, struct wz_str prefix);
struct wz_str wz_str_trim(struct wz_str s);              /* ASCII blanks, tabs, CR, LF at both ends */

/* Cuts *s at the first `sep`: returns what is before it and leaves in *s what follows. When there is none, returns
 * all and leaves {NULL, 0}. Loop: `while (s.ptr) field = wz_str_split(&s, ',');` */
struct wz_str wz_str_split(struct wz_str *s, char sep);

/* A decimal into a scratch of the caller, returned as a view of it; for error texts. */
#define WZ_NUM_MAX 24
struct wz_num { char b[WZ_NUM_MAX]; };
struct wz_str wz_str_u64(struct wz_num *scratch, uint64_t v);
struct wz_str wz_str_i64(struct wz_num *scratch, int64_t v);

/* Strict decimal: whole view, no sign (u64) or optional '-' (i64), no blanks; leading zeros are fine. 0, -EINVAL (not
 * a number, however long), -ERANGE. */
int wz_str_parse_u64(struct wz_str s, uint64_t *ret);
int wz_str_parse_i64(struct wz_str s, int64_t *ret);

#endif
