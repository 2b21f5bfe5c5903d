/* SPDX-License-Identifier: Apache-2.0 */
#include "api/json.h"

#include "base/check.h"
#include "base/near.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>

/* ---- writing ---- */

static bool is_empty(const struct wz_api_field *f, const void *p)
{
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_STR:
		return ((const struct wz_str *)p)->len == 0;
	case WZ_FIELD_BOOL:
		return !*(const bool *)p;
	case WZ_FIELD_I32:
		return *(const int32_t *)p == 0;
	case WZ_FIELD_U32:
		return *(const uint32_t *)p == 0;
	case WZ_FIELD_I64:
	case WZ_FIELD_U64:
	case WZ_FIELD_TIME:
		return *(const uint64_t *)p == 0;
	case WZ_FIELD_STRS:
		return ((const struct wz_strs *)p)->n == 0;
	case WZ_FIELD_NUMS:
		return ((const struct wz_nums *)p)->n == 0;
	case WZ_FIELD_PAIRS:
		return ((const struct wz_pairs *)p)->n == 0;
	case WZ_FIELD_LIST:
		return ((const struct wz_items *)p)->n == 0;
	case WZ_FIELD_ENUM:
	case WZ_FIELD_OBJ:
		return false;
	}
	return false;
}

static void write_list(struct wz_buf *b, const struct wz_api_field *f, const void *p, bool private_too)
{
	const struct wz_strs *strs = p;
	const struct wz_nums *nums = p;
	const struct wz_items *items = p;
	wz_buf_addc(b, '[');
	for (uint32_t i = 0; i < strs->n; i++) { /* the three have one layout */
		if (i)
			wz_buf_addc(b, ',');
		if (f->kind == WZ_FIELD_STRS)
			wz_buf_add_json(b, strs->v[i]);
		else if (f->kind == WZ_FIELD_NUMS)
			wz_buf_add_u64(b, nums->v[i]);
		else
			wz_json_write(b, f->type, (const char *)items->v + i * f->type->size, private_too);
	}
	wz_buf_addc(b, ']');
}

static void write_value(struct wz_buf *b, const struct wz_api_field *f, const void *p, bool private_too)
{
	const struct wz_pairs *pairs = p;
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_STR:
		wz_buf_add_json(b, *(const struct wz_str *)p);
		break;
	case WZ_FIELD_BOOL:
		wz_buf_addz(b, *(const bool *)p ? "true" : "false");
		break;
	case WZ_FIELD_I32:
		wz_buf_add_i64(b, *(const int32_t *)p);
		break;
	case WZ_FIELD_U32:
		wz_buf_add_u64(b, *(const uint32_t *)p);
		break;
	case WZ_FIELD_I64:
	case WZ_FIELD_TIME:
		wz_buf_add_i64(b, *(const int64_t *)p);
		break;
	case WZ_FIELD_U64:
		wz_buf_add_u64(b, *(const uint64_t *)p);
		break;
	case WZ_FIELD_ENUM: {
		int32_t word = *(const int32_t *)p;
		for (int32_t i = 0; i <= word; i++)
			wz_check(word >= 0 && f->words[i]); /* within the table */
		wz_buf_add_json(b, wz_str(f->words[word]));
		break;
	}
	case WZ_FIELD_PAIRS:
		wz_buf_addc(b, '{');
		for (uint32_t i = 0; i < pairs->n; i++) {
			if (i)
				wz_buf_addc(b, ',');
			wz_buf_add_json(b, pairs->v[i].key);
			wz_buf_addc(b, ':');
			wz_buf_add_json(b, pairs->v[i].value);
		}
		wz_buf_addc(b, '}');
		break;
	case WZ_FIELD_OBJ:
		wz_json_write(b, f->type, p, private_too);
		break;
	case WZ_FIELD_STRS:
	case WZ_FIELD_NUMS:
	case WZ_FIELD_LIST:
		write_list(b, f, p, private_too);
		break;
	}
}

void wz_json_write(struct wz_buf *b, const struct wz_api_type *t, const void *item, bool private_too)
{
	bool first = true;
	wz_buf_addc(b, '{');
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		const void *p = (const char *)item + f->offset;
		if ((f->flags & WZ_FIELD_PRIVATE && !private_too) || f->flags & WZ_FIELD_SECRET ||
		        (!(f->flags & WZ_FIELD_ALWAYS) && is_empty(f, p)))
			continue;
		if (!first)
			wz_buf_addc(b, ',');
		first = false;
		wz_buf_addc(b, '"');
		wz_buf_addz(b, f->name);
		wz_buf_addz(b, "\":");
		write_value(b, f, p, private_too);
	}
	wz_buf_addc(b, '}');
}

/* ---- faults ---- */

/* A path is built while going down, in one fixed buffer; too long ones are cut. */
struct path {
	char text[WZ_JSON_PATH_MAX];
	size_t len;
};

static size_t path_add(struct path *p, const char *name, size_t len, bool dot)
{
	size_t before = p->len;
	if (dot && p->len && p->len + 1 < sizeof p->text)
		p->text[p->len++] = '.';
	for (size_t i = 0; i < len && p->len + 1 < sizeof p->text; i++)
		p->text[p->len++] = name[i];
	p->text[p->len] = 0;
	return before;
}

static size_t path_index(struct path *p, uint64_t i)
{
	struct wz_num n;
	struct wz_str s = wz_str_u64(&n, i);
	size_t before = path_add(p, "[", 1, false);
	path_add(p, s.ptr, s.len, false);
	path_add(p, "]", 1, false);
	return before;
}

static void path_back(struct path *p, size_t before)
{
	p->len = before;
	p->text[before] = 0;
}

static int fault(struct wz_json_fault *f, const struct path *p, int code, const char *reason, const char *text)
{
	memcpy(f->field, p->text, p->len + 1);
	return wz_err_set(&f->err, code, reason, wz_str(p->text), wz_str(p->len ? ": " : ""), wz_str(text));
}

static int no_memory(struct wz_json_fault *f)
{
	f->field[0] = 0;
	return wz_err_set(&f->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory; try again"));
}

/* ---- parsing ---- */

/* Counts before jansson allocates: depth, and values by their separators. */
static int measure(struct wz_str s, struct wz_json_fault *f)
{
	static const struct path none;
	uint32_t depth = 0, values = 0;
	bool quoted = false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			if (++depth > WZ_JSON_DEPTH_MAX)
				return fault(
				        f, &none, -EINVAL, "TooDeep", "the JSON is nested deeper than 16 levels");
			values++;
		} else if (c == '}' || c == ']') {
			depth -= depth > 0;
		} else if (c == ',') {
			values++;
		}
		if (values > WZ_JSON_VALUES_MAX)
			return fault(f, &none, -E2BIG, "TooManyValues", "the JSON has more than 300000 values");
	}
	return 0;
}

int wz_json_parse(struct wz_str text, struct wz_json_doc *ret, struct wz_json_fault *f)
{
	json_error_t e;
	struct wz_num line, column;
	int rc = measure(text, f);
	if (rc < 0)
		return rc;
	json_t *root = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &e);
	if (!root && json_error_code(&e) == json_error_out_of_memory)
		return no_memory(f);
	f->field[0] = 0;
	if (!root)
		return wz_err_set(&f->err, -EINVAL, "BadJson", WZ_STR("the body is not JSON: line "),
		        wz_str_i64(&line, e.line), WZ_STR(", column "), wz_str_i64(&column, e.column), WZ_STR(": "),
		        wz_str(e.text));
	if (!json_is_object(root)) {
		json_decref(root);
		return wz_err_set(&f->err, -EINVAL, "BadJson", WZ_STR("the body must be a JSON object"));
	}
	ret->root = root;
	return 0;
}

void wz_json_release(struct wz_json_doc *d)
{
	json_decref(d->root); /* accepts NULL */
	d->root = NULL;
}

/* ---- reading ---- */

struct reader {
	struct wz_arena *arena;
	struct wz_json_fault *fault;
	struct path path;
};

static int read_object(struct reader *r, json_t *j, const struct wz_api_type *t, void *item);

static int bad(struct reader *r, const char *text)
{
	return fault(r->fault, &r->path, -EINVAL, "BadField", text);
}

static void kind_range(const struct wz_api_field *f, int64_t *lo, int64_t *hi)
{
	*lo = f->min;
	*hi = f->max;
	if (*lo || *hi)
		return;
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_I32:
		*lo = INT32_MIN;
		*hi = INT32_MAX;
		break;
	case WZ_FIELD_U32:
		*hi = UINT32_MAX;
		break;
	case WZ_FIELD_I64:
		*lo = INT64_MIN;
		*hi = INT64_MAX;
		break;
	default:
		*hi = INT64_MAX;
	}
}

static int put_number(struct reader *r, const struct wz_api_field *f, int64_t v, void *p)
{
	int64_t lo, hi;
	kind_range(f, &lo, &hi);
	if (v < lo || v > hi) {
		char text[96];
		snprintf(text, sizeof text, "must be from %" PRId64 " to %" PRId64, lo, hi);
		return bad(r, text);
	}
	if (f->kind == WZ_FIELD_I32)
		*(int32_t *)p = (int32_t)v;
	else if (f->kind == WZ_FIELD_U32)
		*(uint32_t *)p = (uint32_t)v;
	else
		*(int64_t *)p = v;
	return 0;
}

static int put_str(struct reader *r, const struct wz_api_field *f, struct wz_str s, void *p)
{
	if (f->max && s.len > (uint64_t)f->max)
		return bad(r, "is too long");
	*(struct wz_str *)p = s;
	return 0;
}

static int put_word(struct reader *r, const struct wz_api_field *f, struct wz_str s, void *p)
{
	char text[200];
	struct wz_buf b;
	for (int32_t i = 0; f->words[i]; i++) {
		if (wz_str_eq_nocase(s, wz_str(f->words[i]))) {
			*(int32_t *)p = i;
			return 0;
		}
	}
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, "must be one of");
	for (int32_t i = 0; f->words[i]; i++) {
		wz_buf_addz(&b, i ? ", " : " ");
		wz_buf_addz(&b, f->words[i]);
	}
	const char *z = wz_buf_z(&b);
	return bad(r, *z ? z : "is not one of the known words");
}

static struct wz_str str_of(const json_t *j)
{
	return (struct wz_str){json_string_value(j), json_string_length(j)};
}

static uint32_t list_max(const struct wz_api_field *f)
{
	return f->max ? (uint32_t)f->max : WZ_JSON_VALUES_MAX;
}

static int read_list(struct reader *r, json_t *j, const struct wz_api_field *f, void *p)
{
	size_t n = json_array_size(j);
	size_t size = f->kind == WZ_FIELD_LIST   ? f->type->size
	              : f->kind == WZ_FIELD_STRS ? sizeof(struct wz_str)
	                                         : sizeof(uint64_t);
	if (!json_is_array(j))
		return bad(r, "must be a list");
	if (n > list_max(f))
		return bad(r, "has too many items");
	char *v = n ? wz_arena_alloc(r->arena, n * size) : NULL;
	if (n && !v)
		return no_memory(r->fault);
	for (size_t i = 0; i < n; i++) {
		json_t *e = json_array_get(j, i);
		size_t before = path_index(&r->path, i);
		int rc = 0;
		if (f->kind == WZ_FIELD_LIST)
			rc = read_object(r, e, f->type, v + i * size);
		else if (f->kind == WZ_FIELD_STRS && json_is_string(e))
			*(struct wz_str *)(void *)(v + i * size) = str_of(e);
		else if (f->kind == WZ_FIELD_NUMS && json_is_integer(e) && json_integer_value(e) >= 0)
			*(uint64_t *)(void *)(v + i * size) = (uint64_t)json_integer_value(e);
		else
			rc = bad(r, f->kind == WZ_FIELD_STRS ? "must be a string" : "must be a number, 0 or more");
		if (rc < 0)
			return rc;
		path_back(&r->path, before);
	}
	*(struct wz_items *)p = (struct wz_items){v, (uint32_t)n};
	return 0;
}

static int read_pairs(struct reader *r, json_t *j, const struct wz_api_field *f, struct wz_pairs *ret)
{
	const char *key;
	json_t *value;
	if (!json_is_object(j))
		return bad(r, "must be an object of strings");
	size_t n = json_object_size(j), i = 0;
	if (n > list_max(f))
		return bad(r, "has too many entries");
	struct wz_pair *v = n ? wz_arena_alloc(r->arena, n * sizeof *v) : NULL;
	if (n && !v)
		return no_memory(r->fault);
	json_object_foreach(j, key, value)
	{
		if (!json_is_string(value)) {
			path_add(&r->path, key, strlen(key), true);
			return bad(r, "must be a string");
		}
		v[i++] = (struct wz_pair){wz_str(key), str_of(value)};
	}
	*ret = (struct wz_pairs){v, (uint32_t)n};
	return 0;
}

static int read_value(struct reader *r, json_t *j, const struct wz_api_field *f, void *p)
{
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_STR:
		return json_is_string(j) ? put_str(r, f, str_of(j), p) : bad(r, "must be a string");
	case WZ_FIELD_BOOL:
		if (!json_is_boolean(j))
			return bad(r, "must be true or false");
		*(bool *)p = json_is_true(j);
		return 0;
	case WZ_FIELD_ENUM:
		return json_is_string(j) ? put_word(r, f, str_of(j), p) : bad(r, "must be a string");
	case WZ_FIELD_STRS:
	case WZ_FIELD_NUMS:
	case WZ_FIELD_LIST:
		return read_list(r, j, f, p);
	case WZ_FIELD_PAIRS:
		return read_pairs(r, j, f, p);
	case WZ_FIELD_OBJ:
		return read_object(r, j, f->type, p);
	default:
		if (!json_is_integer(j))
			return bad(r, "must be a whole number");
		return put_number(r, f, json_integer_value(j), p);
	}
}

static bool in_body(const struct wz_api_field *f)
{
	return !(f->flags & (WZ_FIELD_IN_PATH | WZ_FIELD_IN_QUERY | WZ_FIELD_IN_HEADER));
}

static const struct wz_api_field *find_field(const struct wz_api_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (in_body(&t->fields[i]) && strcmp(t->fields[i].name, name) == 0)
			return &t->fields[i];
	}
	return NULL;
}

static int unknown(struct reader *r, const struct wz_api_type *t, const char *name)
{
	struct wz_near near;
	char text[160];
	struct wz_buf b;
	bool any = false;
	wz_near_init(&near, wz_str(name));
	for (uint32_t i = 0; i < t->n; i++) {
		if (in_body(&t->fields[i])) {
			wz_near_offer(&near, wz_str(t->fields[i].name));
			any = true;
		}
	}
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, any ? "is not known here" : "is not known here: this request takes no fields");
	if (near.best.len) {
		wz_buf_addz(&b, "; did you mean ");
		wz_buf_add(&b, near.best);
	}
	return fault(r->fault, &r->path, -EINVAL, "UnknownField", wz_buf_z(&b));
}

static int missing(struct wz_json_fault *f, struct path *p, const struct wz_api_field *field)
{
	path_add(p, field->name, strlen(field->name), true);
	return fault(f, p, -EINVAL, "MissingField", "is required");
}

static int read_object(struct reader *r, json_t *j, const struct wz_api_type *t, void *item)
{
	const char *key;
	json_t *value;
	if (!json_is_object(j))
		return bad(r, "must be an object");
	json_object_foreach(j, key, value)
	{
		const struct wz_api_field *f = find_field(t, key);
		size_t before = path_add(&r->path, key, strlen(key), true);
		if (!f)
			return unknown(r, t, key);
		if (json_is_null(value) && !(f->flags & WZ_FIELD_REQUIRED)) {
			path_back(&r->path, before); /* null: as if it were not there */
			continue;
		}
		int rc = read_value(r, value, f, (char *)item + f->offset);
		if (rc < 0)
			return rc;
		if (f->set_offset)
			*((bool *)item + f->set_offset) = true;
		path_back(&r->path, before);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		if (f->flags & WZ_FIELD_REQUIRED && in_body(f) && !json_object_get(j, f->name))
			return missing(r->fault, &r->path, f);
	}
	return 0;
}

int wz_json_read(const struct wz_json_doc *d, const struct wz_api_type *t, void *item, struct wz_arena *a,
        struct wz_json_fault *f)
{
	struct reader r = {a, f, {"", 0}};
	return read_object(&r, d->root, t, item);
}

int wz_json_read_none(const struct wz_api_type *t, struct wz_json_fault *f)
{
	struct path p = {"", 0};
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->fields[i].flags & WZ_FIELD_REQUIRED && in_body(&t->fields[i]))
			return missing(f, &p, &t->fields[i]);
	}
	return 0;
}

static int read_text_list(struct reader *r, const struct wz_api_field *f, struct wz_str text, void *p)
{
	uint32_t n = 1;
	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == ',';
	if (n > list_max(f))
		return bad(r, "has too many items");
	size_t size = f->kind == WZ_FIELD_STRS ? sizeof(struct wz_str) : sizeof(uint64_t);
	void *v = wz_arena_alloc(r->arena, n * size);
	if (!v)
		return no_memory(r->fault);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_str s = wz_str_split(&text, ',');
		if (f->kind == WZ_FIELD_STRS)
			((struct wz_str *)v)[i] = s;
		else if (wz_str_parse_u64(s, (uint64_t *)v + i) < 0)
			return bad(r, "must be numbers, separated by commas");
	}
	*(struct wz_items *)p = (struct wz_items){v, n};
	return 0;
}

int wz_json_read_text(
        const struct wz_api_field *f, struct wz_str text, void *item, struct wz_arena *a, struct wz_json_fault *fl)
{
	struct reader r = {a, fl, {"", 0}};
	void *p = (char *)item + f->offset;
	int64_t v;
	int rc;
	path_add(&r.path, f->name, strlen(f->name), false);
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_STR:
		rc = put_str(&r, f, text, p);
		break;
	case WZ_FIELD_ENUM:
		rc = put_word(&r, f, text, p);
		break;
	case WZ_FIELD_BOOL: {
		bool yes = wz_str_eq(text, WZ_STR("true")) || wz_str_eq(text, WZ_STR("1")) || text.len == 0;
		bool no = wz_str_eq(text, WZ_STR("false")) || wz_str_eq(text, WZ_STR("0"));
		*(bool *)p = yes;
		rc = yes || no ? 0 : bad(&r, "must be true or false");
		break;
	}
	case WZ_FIELD_STRS:
	case WZ_FIELD_NUMS:
		rc = read_text_list(&r, f, text, p);
		break;
	default:
		rc = wz_str_parse_i64(text, &v) < 0 ? bad(&r, "must be a whole number") : put_number(&r, f, v, p);
	}
	if (rc == 0 && f->set_offset)
		*((bool *)item + f->set_offset) = true;
	return rc;
}

/* ---- schemas ---- */

static void schema_number(struct wz_buf *b, const struct wz_api_field *f)
{
	int64_t lo, hi;
	kind_range(f, &lo, &hi);
	wz_buf_addz(b, "\"type\":\"integer\",\"minimum\":");
	wz_buf_add_i64(b, lo);
	wz_buf_addz(b, ",\"maximum\":");
	if (f->kind == WZ_FIELD_U64 && !f->max)
		wz_buf_add_u64(b, UINT64_MAX);
	else
		wz_buf_add_i64(b, hi);
}

static void schema_max(struct wz_buf *b, const char *key, const struct wz_api_field *f)
{
	if (!f->max)
		return;
	wz_buf_addz(b, key);
	wz_buf_add_i64(b, f->max);
}

static void schema_ref(struct wz_buf *b, const struct wz_api_type *t)
{
	wz_buf_addz(b, "\"$ref\":\"#/components/schemas/");
	wz_buf_addz(b, t->name);
	wz_buf_addc(b, '"');
}

void wz_json_schema_field(struct wz_buf *b, const struct wz_api_field *f)
{
	wz_buf_addc(b, '{');
	switch ((enum wz_field_kind)f->kind) {
	case WZ_FIELD_STR:
		wz_buf_addz(b, "\"type\":\"string\"");
		schema_max(b, ",\"maxLength\":", f);
		break;
	case WZ_FIELD_BOOL:
		wz_buf_addz(b, "\"type\":\"boolean\"");
		break;
	case WZ_FIELD_ENUM:
		wz_buf_addz(b, "\"type\":\"string\",\"enum\":[");
		for (int i = 0; f->words[i]; i++) {
			if (i)
				wz_buf_addc(b, ',');
			wz_buf_add_json(b, wz_str(f->words[i]));
		}
		wz_buf_addc(b, ']');
		break;
	case WZ_FIELD_STRS:
		wz_buf_addz(b, "\"type\":\"array\",\"items\":{\"type\":\"string\"}");
		schema_max(b, ",\"maxItems\":", f);
		break;
	case WZ_FIELD_NUMS:
		wz_buf_addz(b, "\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0}");
		schema_max(b, ",\"maxItems\":", f);
		break;
	case WZ_FIELD_PAIRS:
		wz_buf_addz(b, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}");
		schema_max(b, ",\"maxProperties\":", f);
		break;
	case WZ_FIELD_OBJ:
		schema_ref(b, f->type);
		break;
	case WZ_FIELD_LIST:
		wz_buf_addz(b, "\"type\":\"array\",\"items\":{");
		schema_ref(b, f->type);
		wz_buf_addc(b, '}');
		schema_max(b, ",\"maxItems\":", f);
		break;
	default:
		schema_number(b, f);
	}
	wz_buf_addz(b, ",\"description\":");
	wz_buf_add_json(b, wz_str(f->doc));
	wz_buf_addc(b, '}');
}

static void schema_required(struct wz_buf *b, const struct wz_api_type *t, uint16_t flag)
{
	bool any = false;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		if (!(f->flags & flag) || !in_body(f) || f->flags & WZ_FIELD_PRIVATE)
			continue;
		wz_buf_addz(b, any ? "," : ",\"required\":[");
		wz_buf_add_json(b, wz_str(f->name));
		any = true;
	}
	if (any)
		wz_buf_addc(b, ']');
}

void wz_json_schema(struct wz_buf *b, const struct wz_api_type *t, bool request)
{
	bool any = false;
	wz_buf_addz(b, "{\"type\":\"object\",\"description\":");
	wz_buf_add_json(b, wz_str(t->doc));
	wz_buf_addz(b, ",\"properties\":{");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		if (!in_body(f) || (!request && f->flags & WZ_FIELD_SECRET))
			continue;
		if (any)
			wz_buf_addc(b, ',');
		any = true;
		wz_buf_add_json(b, wz_str(f->name));
		wz_buf_addc(b, ':');
		wz_json_schema_field(b, f);
	}
	wz_buf_addc(b, '}');
	schema_required(b, t, request ? WZ_FIELD_REQUIRED : WZ_FIELD_ALWAYS);
	if (request)
		wz_buf_addz(b, ",\"additionalProperties\":false");
	wz_buf_addc(b, '}');
}
