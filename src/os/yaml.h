/* SPDX-License-Identifier: Apache-2.0 */
/* A YAML document in memory, with line and column of each value, read with libyaml. What is refused: keys that are no plain text, a key twice in one map, nesting deeper than WZ_YAML_DEPTH_MAX, more than
 * WZ_YAML_NODES_MAX values, binary zeros. Aliases share their value; a value that contains itself is refused as too deep.
 *
 * Every error text begins with "NAME:LINE:COLUMN: ". Thread rule: as its memory. */
#ifndef WZ_OS_YAML_H
#define WZ_OS_YAML_H

#include "base/err.h"

#define WZ_YAML_DEPTH_MAX 32u
#define WZ_YAML_NODES_MAX 200000u

enum wz_yaml_kind { WZ_YAML_NONE, WZ_YAML_SCALAR, WZ_YAML_LIST, WZ_YAML_MAP };
typedef struct {
	int v;
} wz_yaml_id; /* 0: no value */

struct wz_yaml; /* the document */

/* `name` is for error texts and is borrowed. 0; -EINVAL "BadYaml"; -E2BIG "TooLarge"; -ENOMEM. */
int wz_yaml_load(struct wz_str text, const char *name, struct wz_yaml **ret, struct wz_err *err);
/* Document number `which` (from 0) of several, each after a line `---`. -ENOENT "NoDocument": there are not so many. O(text). */
int wz_yaml_load_nth(struct wz_str text, const char *name, unsigned which, struct wz_yaml **ret, struct wz_err *err);
void wz_yaml_free(struct wz_yaml *y); /* accepts NULL */

wz_yaml_id wz_yaml_root(const struct wz_yaml *y); /* none for an empty document */
enum wz_yaml_kind wz_yaml_kind(const struct wz_yaml *y, wz_yaml_id id);
struct wz_str wz_yaml_text(const struct wz_yaml *y, wz_yaml_id id); /* of a scalar; NUL-terminated; else empty */
bool wz_yaml_plain(const struct wz_yaml *y, wz_yaml_id id); /* a scalar without quotes (so `null` means null) */
unsigned wz_yaml_count(const struct wz_yaml *y, wz_yaml_id id); /* items of a list, pairs of a map */
wz_yaml_id wz_yaml_item(const struct wz_yaml *y, wz_yaml_id list, unsigned i);
struct wz_str wz_yaml_pair(
        const struct wz_yaml *y, wz_yaml_id map, unsigned i, wz_yaml_id *ret_key, wz_yaml_id *ret_value);
wz_yaml_id wz_yaml_get(const struct wz_yaml *y, wz_yaml_id map, struct wz_str key); /* none when it is not there */
unsigned wz_yaml_line(const struct wz_yaml *y, wz_yaml_id id);
unsigned wz_yaml_column(const struct wz_yaml *y, wz_yaml_id id);

/* Fills *err with "NAME:LINE:COLUMN: " and the parts; returns -EINVAL. */
int wz_yaml_fail_parts(const struct wz_yaml *y, wz_yaml_id at, struct wz_err *err, const char *reason,
        const struct wz_str *parts, unsigned n);
#define wz_yaml_fail(y, at, err, reason, ...) \
	wz_yaml_fail_parts((y), (at), (err), (reason), (const struct wz_str[]){__VA_ARGS__}, \
	        (unsigned)(sizeof((const struct wz_str[]){__VA_ARGS__}) / sizeof(struct wz_str)))

/* A table of the keys that a map may have. `set` reads one value into `to`; a negative errno ends the walk. */
struct wz_yaml_key {
	const char *key;
	int (*set)(const struct wz_yaml *y, wz_yaml_id value, void *to, struct wz_err *err);
	bool required;
};
/* Walks `map` by the table; an unknown key is an error that names the nearest known one. */
int wz_yaml_walk(const struct wz_yaml *y, wz_yaml_id map, const struct wz_yaml_key *keys, unsigned n, void *to,
        struct wz_err *err);

#endif
