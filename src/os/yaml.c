/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml builds the tree without recursion; here it is checked once (kinds of keys, doubles, depth), so that who walks
 * it may trust it. */
#include "os/yaml.h"

#include "base/check.h"
#include "base/near.h"

#include <stdlib.h>
#include <yaml.h>

struct wz_yaml {
	yaml_document_t doc;
	const char *name;
	unsigned nodes;
};

static int fail_at(const char *name, size_t line, size_t column, struct wz_err *err, const char *reason,
        const struct wz_str *parts, unsigned n)
{
	struct wz_num a, b;
	if (!err)
		return -EINVAL;
	(void)wz_err_set_parts(err, -EINVAL, reason, parts, n);
	wz_err_prefix(err, WZ_STR(": "));
	wz_err_prefix(err, wz_str_u64(&a, column));
	wz_err_prefix(err, WZ_STR(":"));
	wz_err_prefix(err, wz_str_u64(&b, line));
	wz_err_prefix(err, WZ_STR(":"));
	wz_err_prefix(err, wz_str(name));
	return -EINVAL;
}

static const yaml_node_t *node(const struct wz_yaml *y, int index)
{
	size_t n = (size_t)(y->doc.nodes.top - y->doc.nodes.start);
	return index >= 1 && (size_t)index <= n ? &y->doc.nodes.start[index - 1] : NULL;
}

int wz_yaml_fail_parts(const struct wz_yaml *y, wz_yaml_id at, struct wz_err *err, const char *reason,
        const struct wz_str *parts, unsigned n)
{
	return fail_at(y->name, wz_yaml_line(y, at), wz_yaml_column(y, at), err, reason, parts, n);
}

#define FAIL(y, index, err, reason, text) wz_yaml_fail((y), ((wz_yaml_id){index}), (err), (reason), WZ_STR(text))

static struct wz_str scalar(const yaml_node_t *n)
{
	if (!n || n->type != YAML_SCALAR_NODE)
		return WZ_STR("");
	return (struct wz_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

static int by_text(const void *a, const void *b)
{
	const struct wz_str *x = a, *y = b;
	return wz_str_cmp(*x, *y);
}

static int check_map(const struct wz_yaml *y, int index, struct wz_err *err)
{
	const yaml_node_t *m = node(y, index);
	size_t n = (size_t)(m->data.mapping.pairs.top - m->data.mapping.pairs.start);
	struct wz_str *keys = n ? malloc(n * sizeof *keys) : NULL;
	int rc = 0;
	if (n && !keys)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	for (size_t i = 0; i < n && rc == 0; i++) {
		int key = m->data.mapping.pairs.start[i].key;
		const yaml_node_t *k = node(y, key);
		if (!k || k->type != YAML_SCALAR_NODE)
			rc = FAIL(y, key, err, "BadYaml", "a key must be plain text");
		else
			keys[i] = scalar(k);
	}
	if (rc == 0 && n)
		qsort(keys, n, sizeof *keys, by_text);
	for (size_t i = 1; i < n && rc == 0; i++) {
		if (wz_str_eq(keys[i - 1], keys[i]))
			rc = wz_yaml_fail(y, ((wz_yaml_id){index}), err, "BadYaml", WZ_STR("the key \""), keys[i],
			        WZ_STR("\" is given twice in this map"));
	}
	free(keys);
	return rc;
}

/* Depth of each node, children after their parents in at most DEPTH passes; an alias to an ancestor never settles. */
static int check_depth(const struct wz_yaml *y, struct wz_err *err)
{
	int n = (int)y->nodes;
	uint8_t *depth = calloc((size_t)n + 1, 1);
	int rc = 0;
	bool more = true;
	if (!depth)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	while (more && rc == 0) {
		more = false;
		for (int i = 1; i <= n && rc == 0; i++) {
			const yaml_node_t *p = node(y, i);
			size_t kids =
			        p->type == YAML_SEQUENCE_NODE
			                ? (size_t)(p->data.sequence.items.top - p->data.sequence.items.start)
			        : p->type == YAML_MAPPING_NODE
			                ? 2 * (size_t)(p->data.mapping.pairs.top - p->data.mapping.pairs.start)
			                : 0;
			for (size_t k = 0; k < kids && rc == 0; k++) {
				int child = p->type == YAML_SEQUENCE_NODE ? p->data.sequence.items.start[k]
				            : k % 2 == 0                  ? p->data.mapping.pairs.start[k / 2].key
				                         : p->data.mapping.pairs.start[k / 2].value;
				if (child < 1 || child > n || depth[child] > depth[i])
					continue;
				depth[child] = (uint8_t)(depth[i] + 1);
				more = true;
				if (depth[child] > WZ_YAML_DEPTH_MAX)
					rc = FAIL(y, i, err, "BadYaml",
					        "nested too deeply, or a value that contains itself");
			}
		}
	}
	free(depth);
	return rc;
}

static int check(struct wz_yaml *y, struct wz_err *err)
{
	int rc = 0;
	y->nodes = (unsigned)(y->doc.nodes.top - y->doc.nodes.start);
	if (y->nodes > WZ_YAML_NODES_MAX)
		return wz_err_set(err, -E2BIG, "TooLarge", wz_str(y->name), WZ_STR(": more than 200000 values"));
	for (int i = 1; i <= (int)y->nodes && rc == 0; i++) {
		const yaml_node_t *p = node(y, i);
		struct wz_str s = scalar(p);
		if (s.len && memchr(s.ptr, 0, s.len))
			rc = FAIL(y, i, err, "BadYaml", "a zero byte in the text");
		if (rc == 0 && p->type == YAML_MAPPING_NODE)
			rc = check_map(y, i, err);
	}
	return rc < 0 ? rc : check_depth(y, err);
}

static int parser_error(const yaml_parser_t *p, const char *name, struct wz_err *err)
{
	if (p->error == YAML_MEMORY_ERROR)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	struct wz_str parts[] = {wz_str(p->problem ? p->problem : "cannot be read as YAML"),
	        wz_str(p->context ? " " : ""), wz_str(p->context ? p->context : "")};
	return fail_at(name, p->problem_mark.line + 1, p->problem_mark.column + 1, err, "BadYaml", parts, 3);
}

static int load_nth(yaml_parser_t *p, struct wz_yaml *y, unsigned which, struct wz_err *err)
{
	for (unsigned i = 0;; i++) {
		if (!yaml_parser_load(p, &y->doc))
			return parser_error(p, y->name, err);
		bool end = !yaml_document_get_root_node(&y->doc);
		if (end && i)
			break;
		if (i == which) {
			int rc = check(y, err);
			if (rc < 0)
				yaml_document_delete(&y->doc);
			return rc;
		}
		if (end)
			break;
		yaml_document_delete(&y->doc);
	}
	yaml_document_delete(&y->doc);
	return wz_err_set(err, -ENOENT, "NoDocument", wz_str(y->name), WZ_STR(": there are not so many documents"));
}

/* The one document there is. */
static int load_only(yaml_parser_t *p, struct wz_yaml *y, struct wz_err *err)
{
	yaml_document_t second;
	if (!yaml_parser_load(p, &y->doc))
		return parser_error(p, y->name, err);
	int rc = check(y, err);
	if (rc == 0 && y->nodes) {
		if (!yaml_parser_load(p, &second)) {
			rc = parser_error(p, y->name, err);
		} else {
			if (yaml_document_get_root_node(&second))
				rc = fail_at(y->name, second.start_mark.line + 1, second.start_mark.column + 1, err,
				        "BadYaml",
				        (const struct wz_str[]){WZ_STR("a second document; only one is read")}, 1);
			yaml_document_delete(&second);
		}
	}
	if (rc < 0)
		yaml_document_delete(&y->doc);
	return rc;
}

#define ONLY UINT32_MAX

static int load(struct wz_str text, const char *name, unsigned which, struct wz_yaml **ret, struct wz_err *err)
{
	yaml_parser_t p;
	struct wz_yaml *y = calloc(1, sizeof *y);
	if (!y || !yaml_parser_initialize(&p)) {
		free(y);
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	}
	y->name = name;
	yaml_parser_set_input_string(&p, (const unsigned char *)(text.ptr ? text.ptr : ""), text.len);
	int rc = which == ONLY ? load_only(&p, y, err) : load_nth(&p, y, which, err);
	yaml_parser_delete(&p);
	if (rc < 0) {
		free(y);
		return rc;
	}
	*ret = y;
	return 0;
}

int wz_yaml_load(struct wz_str text, const char *name, struct wz_yaml **ret, struct wz_err *err)
{
	return load(text, name, ONLY, ret, err);
}

int wz_yaml_load_nth(struct wz_str text, const char *name, unsigned which, struct wz_yaml **ret, struct wz_err *err)
{
	return load(text, name, which, ret, err);
}

void wz_yaml_free(struct wz_yaml *y)
{
	if (!y)
		return;
	yaml_document_delete(&y->doc);
	free(y);
}

wz_yaml_id wz_yaml_root(const struct wz_yaml *y)
{
	return (wz_yaml_id){y->nodes ? 1 : 0};
}

enum wz_yaml_kind wz_yaml_kind(const struct wz_yaml *y, wz_yaml_id id)
{
	const yaml_node_t *n = node(y, id.v);
	if (!n || n->type == YAML_NO_NODE)
		return WZ_YAML_NONE;
	return n->type == YAML_SCALAR_NODE     ? WZ_YAML_SCALAR
	       : n->type == YAML_SEQUENCE_NODE ? WZ_YAML_LIST
	                                       : WZ_YAML_MAP;
}

struct wz_str wz_yaml_text(const struct wz_yaml *y, wz_yaml_id id)
{
	return scalar(node(y, id.v));
}

bool wz_yaml_plain(const struct wz_yaml *y, wz_yaml_id id)
{
	const yaml_node_t *n = node(y, id.v);
	return n && n->type == YAML_SCALAR_NODE && n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

unsigned wz_yaml_count(const struct wz_yaml *y, wz_yaml_id id)
{
	const yaml_node_t *n = node(y, id.v);
	if (n && n->type == YAML_SEQUENCE_NODE)
		return (unsigned)(n->data.sequence.items.top - n->data.sequence.items.start);
	if (n && n->type == YAML_MAPPING_NODE)
		return (unsigned)(n->data.mapping.pairs.top - n->data.mapping.pairs.start);
	return 0;
}

wz_yaml_id wz_yaml_item(const struct wz_yaml *y, wz_yaml_id list, unsigned i)
{
	wz_check(wz_yaml_kind(y, list) == WZ_YAML_LIST && i < wz_yaml_count(y, list));
	return (wz_yaml_id){node(y, list.v)->data.sequence.items.start[i]};
}

struct wz_str wz_yaml_pair(
        const struct wz_yaml *y, wz_yaml_id map, unsigned i, wz_yaml_id *ret_key, wz_yaml_id *ret_value)
{
	wz_check(wz_yaml_kind(y, map) == WZ_YAML_MAP && i < wz_yaml_count(y, map));
	const yaml_node_pair_t *p = &node(y, map.v)->data.mapping.pairs.start[i];
	*ret_key = (wz_yaml_id){p->key};
	*ret_value = (wz_yaml_id){p->value};
	return scalar(node(y, p->key));
}

wz_yaml_id wz_yaml_get(const struct wz_yaml *y, wz_yaml_id map, struct wz_str key)
{
	unsigned n = wz_yaml_kind(y, map) == WZ_YAML_MAP ? wz_yaml_count(y, map) : 0;
	for (unsigned i = 0; i < n; i++) {
		wz_yaml_id k, v;
		if (wz_str_eq(wz_yaml_pair(y, map, i, &k, &v), key))
			return v;
	}
	return (wz_yaml_id){0};
}

unsigned wz_yaml_line(const struct wz_yaml *y, wz_yaml_id id)
{
	const yaml_node_t *n = node(y, id.v);
	return n ? (unsigned)n->start_mark.line + 1 : 1;
}

unsigned wz_yaml_column(const struct wz_yaml *y, wz_yaml_id id)
{
	const yaml_node_t *n = node(y, id.v);
	return n ? (unsigned)n->start_mark.column + 1 : 1;
}

int wz_yaml_walk(const struct wz_yaml *y, wz_yaml_id map, const struct wz_yaml_key *keys, unsigned n, void *to,
        struct wz_err *err)
{
	if (wz_yaml_kind(y, map) != WZ_YAML_MAP)
		return wz_yaml_fail(y, map, err, "BadValue", WZ_STR("expected a map of keys and values here"));
	for (unsigned i = 0; i < wz_yaml_count(y, map); i++) {
		wz_yaml_id k, v;
		struct wz_str key = wz_yaml_pair(y, map, i, &k, &v);
		struct wz_near near;
		unsigned hit = 0;
		wz_near_init(&near, key);
		for (; hit < n && !wz_str_eq(key, wz_str(keys[hit].key)); hit++)
			wz_near_offer(&near, wz_str(keys[hit].key));
		if (hit == n)
			return wz_yaml_fail(y, k, err, "UnknownKey", WZ_STR("unknown key \""), key, WZ_STR("\""),
			        near.best.len ? WZ_STR("; did you mean \"") : WZ_STR(""), near.best,
			        near.best.len ? WZ_STR("\"?") : WZ_STR(""));
		int rc = keys[hit].set(y, v, to, err);
		if (rc < 0)
			return rc;
	}
	for (unsigned i = 0; i < n; i++) {
		if (keys[i].required && !wz_yaml_get(y, map, wz_str(keys[i].key)).v)
			return wz_yaml_fail(y, map, err, "MissingKey", WZ_STR("the key \""), wz_str(keys[i].key),
			        WZ_STR("\" is missing here"));
	}
	return 0;
}
