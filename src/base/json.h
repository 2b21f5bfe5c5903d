/* SPDX-License-Identifier: Apache-2.0 */
/* A strict pull reader of JSON for formats whose keys are known: one text, read once, from left to right; no tree, no
 * recursion. All 64 bits of an integer are read exactly; an error names its byte.
 *
 *	wz_json_init(&j, line);
 *	wz_json_object(&j);
 *	while (wz_json_key(&j, &key))
 *		if (wz_str_eq(key, WZ_STR("n"))) wz_json_u64(&j, &n);
 *		else wz_json_fail(&j, "unknown key");
 *	wz_json_end(&j);
 *	if (j.what) ...                  // the first error; j.at is its place
 *
 * Errors stick: after the first, readers return false and change nothing, wz_json_key and wz_json_item return false, so a
 * reader checks once, at the end. No blanks outside of strings; no fractions, exponents or nulls; strings are valid UTF-8
 * without control bytes. Fuzzed through fuzz/fuzz_codec.c. O(text). */
#ifndef WZ_BASE_JSON_H
#define WZ_BASE_JSON_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct wz_json {
	const char *begin, *at, *end;
	const char *what;  /* NULL: no error so far; else what was expected at `at`, a static text */
	bool comma;        /* a value was read: a comma or the end of its list must follow */
	int code;          /* -EINVAL, or -ENOMEM */
};

void wz_json_init(struct wz_json *j, struct wz_str text);
void wz_json_fail(struct wz_json *j, const char *what); /* the first call counts */

bool wz_json_object(struct wz_json *j);                 /* '{' */
/* The next key of an object, unescaped keys only (a key with an escape is an error); false at its '}' or on an error. */
bool wz_json_key(struct wz_json *j, struct wz_str *ret);
bool wz_json_array(struct wz_json *j);                  /* '[' */
bool wz_json_item(struct wz_json *j);                   /* is there another item? false at its ']' or on an error */

bool wz_json_u64(struct wz_json *j, uint64_t *ret);     /* 0 or no leading zero */
bool wz_json_i64(struct wz_json *j, int64_t *ret);      /* also '-'; not -0 */
bool wz_json_bool(struct wz_json *j, bool *ret);
/* A view of the text where nothing is escaped, else a copy in the arena. */
bool wz_json_string(struct wz_json *j, struct wz_arena *a, struct wz_str *ret);

bool wz_json_end(struct wz_json *j);                    /* nothing may follow */
/* 0, or the code with *err filled: "REASON: WHAT at byte N". */
int wz_json_err(const struct wz_json *j, const char *reason, struct wz_err *err);

bool wz_utf8_ok(struct wz_str s);                       /* well-formed UTF-8 (RFC 3629) */

#endif
