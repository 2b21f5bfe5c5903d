/* SPDX-License-Identifier: Apache-2.0 */
/* Plain structs to JSON and back, by tables. A `struct wz_api_type` lists the fields of a struct; from it come the JSON
 * writer, the reader of request bodies, the parser of path and query parameters, and the schema in the OpenAPI document,
 * so the four cannot differ.
 *
 * Reading (jansson) is bounded: bytes, depth and number of values are counted before the parser sees the text; unknown
 * fields, duplicates, wrong types and numbers out of range are errors that name the field. Strings of what was read are
 * views into the parsed document, which the reader's owner frees after the last use.
 *
 * Thread rule: none shared. Memory: arrays come from the arena. */
#ifndef WZ_API_JSON_H
#define WZ_API_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define WZ_JSON_DEPTH_MAX 16u
#define WZ_JSON_VALUES_MAX 300000u
#define WZ_JSON_PATH_MAX 96u

enum wz_field_kind {
	WZ_FIELD_STR, /* struct wz_str */
	WZ_FIELD_BOOL, /* bool */
	WZ_FIELD_I32, /* int32_t */
	WZ_FIELD_U32, /* uint32_t */
	WZ_FIELD_I64, /* int64_t */
	WZ_FIELD_U64, /* uint64_t; written in full, so a JavaScript client reads numbers above 2^53 with care */
	WZ_FIELD_TIME, /* int64_t, microseconds since 1970 UTC; 0 is "none" and left out */
	WZ_FIELD_ENUM, /* int32_t, an index of `words` */
	WZ_FIELD_STRS, /* struct wz_strs */
	WZ_FIELD_NUMS, /* struct wz_nums */
	WZ_FIELD_PAIRS, /* struct wz_pairs: an object of strings */
	WZ_FIELD_OBJ, /* the struct of `type`, embedded */
	WZ_FIELD_LIST, /* struct wz_items of `type` */
};

struct wz_strs {
	const struct wz_str *v;
	uint32_t n;
};
struct wz_nums {
	const uint64_t *v;
	uint32_t n;
};
struct wz_pair {
	struct wz_str key, value;
};
struct wz_pairs {
	const struct wz_pair *v;
	uint32_t n;
};
struct wz_items {
	const void *v; /* an array of the field's type */
	uint32_t n;
};

/* Flags. Without IN_PATH and IN_QUERY a field of a request comes in the body. */
#define WZ_FIELD_REQUIRED 1u
#define WZ_FIELD_PRIVATE 2u /* shown to the owner and to admins only */
#define WZ_FIELD_ALWAYS 4u /* written even when 0, false or empty (else left out) */
#define WZ_FIELD_IN_PATH 8u
#define WZ_FIELD_IN_QUERY 16u
#define WZ_FIELD_IN_HEADER 32u /* filled by api.c */
#define WZ_FIELD_SECRET 64u /* never logged, and in no reply */

struct wz_api_type;
struct wz_api_field {
	const char *name;
	const char *doc;
	uint16_t kind, offset, flags;
	uint16_t
	        set_offset; /* of a bool that becomes true when the field is given; 0: none, so never the first member */
	int64_t min,
	        max; /* of numbers; max also of a string's bytes and a list's length. Both 0: the kind's own limits */
	const struct wz_api_type *type;
	const char *const *words; /* of an enum, ends with NULL */
};
struct wz_api_type {
	const char *name; /* "Job": in the OpenAPI document */
	const char *doc;
	size_t size;
	const struct wz_api_field *fields;
	uint32_t n;
};

/* Row makers for the tables: F(struct, member, KIND, flags, doc). */
#define WZ_F(s, m, k, fl, d) \
	{ \
		.name = #m, .doc = (d), .kind = WZ_FIELD_##k, .offset = offsetof(s, m), .flags = (fl) \
	}
#define WZ_F_RANGE(s, m, k, fl, lo, hi, d) \
	{ \
		.name = #m, .doc = (d), .kind = WZ_FIELD_##k, .offset = offsetof(s, m), .flags = (fl), \
		.min = (lo), .max = (hi) \
	}
#define WZ_F_TYPE(s, m, k, fl, t, d) \
	{ \
		.name = #m, .doc = (d), .kind = WZ_FIELD_##k, .offset = offsetof(s, m), .flags = (fl), .type = (t) \
	}
#define WZ_F_WORDS(s, m, fl, w, d) \
	{ \
		.name = #m, .doc = (d), .kind = WZ_FIELD_ENUM, .offset = offsetof(s, m), .flags = (fl), \
		.words = (w) \
	}
#define WZ_TYPE(nm, s, f, d) \
	{ \
		.name = (nm), .doc = (d), .size = sizeof(s), .fields = (f), .n = sizeof(f) / sizeof((f)[0]) \
	}

/* Appends the object. private_too: with the PRIVATE fields. */
void wz_json_write(struct wz_buf *b, const struct wz_api_type *t, const void *item, bool private_too);

/* Where and how a request is wrong: err as everywhere, and the field ("env.PATH", "tasks[3].node"). */
struct wz_json_fault {
	struct wz_err err;
	char field[WZ_JSON_PATH_MAX];
};

/* A parsed document; zeroed means none. */
struct wz_json_doc {
	void *root; /* json_t * */
};
/* Parses text whose outermost value is an object. -EINVAL "BadJson" (with line and column), "TooDeep", -E2BIG "TooManyValues",
 * -ENOMEM. */
int wz_json_parse(struct wz_str text, struct wz_json_doc *ret, struct wz_json_fault *f);
void wz_json_release(struct wz_json_doc *d);

/* Fills the body fields of *item (zeroed by the caller) from the document. Fields with IN_* flags are unknown here.
 * -EINVAL "UnknownField", "MissingField", "BadField"; -ENOMEM. */
int wz_json_read(const struct wz_json_doc *d, const struct wz_api_type *t, void *item, struct wz_arena *a,
        struct wz_json_fault *f);
/* Fills one field from decoded text, as path and query give it: lists are cut at commas. The text outlives *item. */
int wz_json_read_text(const struct wz_api_field *field, struct wz_str text, void *item, struct wz_arena *a,
        struct wz_json_fault *f);
/* For bodies that are absent: -EINVAL "MissingField" when one is required. */
int wz_json_read_none(const struct wz_api_type *t, struct wz_json_fault *f);

/* The JSON Schema (2020-12) of the type as a reply (request: of its body fields). Nested types are "$ref"s. */
void wz_json_schema(struct wz_buf *b, const struct wz_api_type *t, bool request);
void wz_json_schema_field(struct wz_buf *b, const struct wz_api_field *f); /* of one parameter */

#endif
