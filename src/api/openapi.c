/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document, written from the route table and the field tables. */
#include "api/route.h"

#include "base/check.h"

static bool has_body(const struct wz_api_type *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (!(t->fields[i].flags & (WZ_FIELD_IN_PATH | WZ_FIELD_IN_QUERY | WZ_FIELD_IN_HEADER)))
			return true;
	}
	return false;
}

static bool body_required(const struct wz_api_type *t)
{
	struct wz_json_fault f;
	return wz_json_read_none(t, &f) < 0;
}

static void params(struct wz_buf *b, const struct wz_api_type *t)
{
	bool any = false;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct wz_api_field *f = &t->fields[i];
		const char *in = f->flags & WZ_FIELD_IN_PATH     ? "path"
		                 : f->flags & WZ_FIELD_IN_QUERY  ? "query"
		                 : f->flags & WZ_FIELD_IN_HEADER ? "header"
		                                                 : NULL;
		if (!in)
			continue;
		wz_buf_addz(b, any ? "," : ",\"parameters\":[");
		any = true;
		wz_buf_addz(b, "{\"name\":");
		wz_buf_add_json(b, wz_str(f->name));
		wz_buf_addz(b, ",\"in\":\"");
		wz_buf_addz(b, in);
		wz_buf_addz(b, f->flags & WZ_FIELD_REQUIRED ? "\",\"required\":true" : "\",\"required\":false");
		if (f->kind == WZ_FIELD_STRS || f->kind == WZ_FIELD_NUMS)
			wz_buf_addz(b, ",\"style\":\"form\",\"explode\":false");
		wz_buf_addz(b, ",\"description\":");
		wz_buf_add_json(b, wz_str(f->doc));
		wz_buf_addz(b, ",\"schema\":");
		wz_json_schema_field(b, f);
		wz_buf_addc(b, '}');
	}
	if (any)
		wz_buf_addc(b, ']');
}

static void ref(struct wz_buf *b, const char *name)
{
	wz_buf_addz(b, "{\"$ref\":\"#/components/schemas/");
	wz_buf_addz(b, name);
	wz_buf_addz(b, "\"}");
}

static void answer(struct wz_buf *b, const struct wz_route *r)
{
	wz_buf_addz(b, ",\"responses\":{\"");
	wz_buf_add_u64(b, r->status);
	wz_buf_addz(b, "\":{\"description\":\"success\",\"content\":{");
	switch (r->answer) {
	case WZ_ANSWER_ITEM:
		wz_buf_addz(b, "\"application/json\":{\"schema\":");
		ref(b, r->reply->name);
		break;
	case WZ_ANSWER_LIST:
		wz_buf_addz(b, "\"application/json\":{\"schema\":{\"type\":\"object\",\"required\":[");
		wz_buf_add_json(b, wz_str(r->list));
		wz_buf_addz(b, "],\"properties\":{");
		wz_buf_add_json(b, wz_str(r->list));
		wz_buf_addz(b, ":{\"type\":\"array\",\"items\":");
		ref(b, r->reply->name);
		wz_buf_addz(b, "},\"next\":{\"type\":\"integer\",\"description\":\"cursor of the next page\"}}}");
		break;
	case WZ_ANSWER_DONE:
		wz_buf_addz(b, "\"application/json\":{\"schema\":");
		ref(b, "Done");
		break;
	case WZ_ANSWER_BYTES:
		wz_buf_addz(b, "\"application/octet-stream\":{\"schema\":{\"type\":\"string\"}");
		break;
	case WZ_ANSWER_EVENTS:
		wz_buf_addz(b, "\"text/event-stream\":{\"schema\":{\"type\":\"string\"}");
		break;
	case WZ_ANSWER_TEXT:
		wz_buf_addz(b, strcmp(r->id, "openapi") == 0
		                       ? "\"application/json\":{\"schema\":{\"type\":\"object\"}"
		                       : "\"text/plain\":{\"schema\":{\"type\":\"string\"}");
		break;
	}
	wz_buf_addz(
	        b, "}}},\"default\":{\"description\":\"an error\",\"content\":{\"application/json\":{\"schema\":");
	ref(b, "Error");
	wz_buf_addz(b, "}}}}");
}

static void operation(struct wz_buf *b, const struct wz_route *r)
{
	static const char *const lower[] = {"get", "head", "post", "put", "patch", "delete", "options"};
	wz_buf_addc(b, '"');
	wz_buf_addz(b, lower[r->method]);
	wz_buf_addz(b, "\":{\"operationId\":");
	wz_buf_add_json(b, wz_str(r->id));
	wz_buf_addz(b, ",\"summary\":");
	wz_buf_add_json(b, wz_str(r->summary));
	wz_buf_addz(b, ",\"x-role\":");
	wz_buf_add_json(b, wz_str(wz_role_word(r->role)));
	if (r->owner)
		wz_buf_addz(b, ",\"x-owner\":true");
	params(b, r->request);
	if (has_body(r->request)) {
		wz_buf_addz(b, ",\"requestBody\":{\"required\":");
		wz_buf_addz(b, body_required(r->request) ? "true" : "false");
		wz_buf_addz(b, ",\"content\":{\"application/json\":{\"schema\":");
		ref(b, r->request->name);
		wz_buf_addz(b, "}}}");
	}
	answer(b, r);
	wz_buf_addc(b, '}');
}

static bool seen_before(uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (strcmp(wz_routes[k].pattern, wz_routes[i].pattern) == 0)
			return true;
	}
	return false;
}

static void paths(struct wz_buf *b)
{
	bool any = false;
	wz_buf_addz(b, ",\"paths\":{");
	for (uint32_t i = 0; i < wz_routes_n; i++) {
		if (seen_before(i))
			continue;
		bool first = true;
		if (any)
			wz_buf_addc(b, ',');
		any = true;
		wz_buf_add_json(b, wz_str(wz_routes[i].pattern));
		wz_buf_addz(b, ":{");
		for (uint32_t k = i; k < wz_routes_n; k++) {
			if (strcmp(wz_routes[k].pattern, wz_routes[i].pattern) != 0)
				continue;
			if (!first)
				wz_buf_addc(b, ',');
			first = false;
			operation(b, &wz_routes[k]);
		}
		wz_buf_addc(b, '}');
	}
	wz_buf_addc(b, '}');
}

static bool listed(const struct wz_api_type *t, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (wz_routes[k].request == t)
			return true;
	}
	return false;
}

#define REPLIES_MAX 128u
struct replies {
	const struct wz_api_type *type[REPLIES_MAX];
	uint32_t n;
};

/* A type and all that are within it. */
static void collect(struct replies *r, const struct wz_api_type *t)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->type[i] == t)
			return;
	wz_check(r->n < REPLIES_MAX);
	r->type[r->n++] = t;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->fields[i].type)
			collect(r, t->fields[i].type);
}

static void schemas(struct wz_buf *b)
{
	struct replies replies = {.n = 0};
	static const char fixed[] =
	        "\"Done\":{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{\"const\":true}}},"
	        "\"Error\":{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":"
	        "\"object\","
	        "\"required\":[\"code\",\"reason\",\"text\"],\"properties\":{\"code\":{\"type\":\"integer\"},"
	        "\"reason\":{\"type\":\"string\",\"description\":\"a stable word\"},"
	        "\"text\":{\"type\":\"string\",\"description\":\"a sentence for people\"},"
	        "\"field\":{\"type\":\"string\",\"description\":\"which field is wrong\"}}}}}";
	wz_buf_addz(b, ",\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
	               "\"schemas\":{");
	wz_buf_addz(b, fixed);
	for (uint32_t i = 0; i < wz_routes_n; i++)
		if (wz_routes[i].reply)
			collect(&replies, wz_routes[i].reply);
	for (uint32_t i = 0; i < replies.n; i++) {
		wz_buf_addc(b, ',');
		wz_buf_add_json(b, wz_str(replies.type[i]->name));
		wz_buf_addc(b, ':');
		wz_json_schema(b, replies.type[i], false);
	}
	for (uint32_t i = 0; i < wz_routes_n; i++) {
		const struct wz_api_type *t = wz_routes[i].request;
		if (!has_body(t) || listed(t, i))
			continue;
		wz_buf_addc(b, ',');
		wz_buf_add_json(b, wz_str(t->name));
		wz_buf_addc(b, ':');
		wz_json_schema(b, t, true);
	}
	wz_buf_addz(b, "}}");
}

void wz_openapi_write(struct wz_buf *b, const char *version)
{
	wz_buf_addz(b, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"WhaleZEN\",\"version\":");
	wz_buf_add_json(b, wz_str(version));
	wz_buf_addz(b, ",\"description\":\"A GPU scheduler. Over the unix socket the kernel says who asks; over "
	               "TCP a bearer "
	               "token does.\",\"license\":{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}},"
	               "\"servers\":[{\"url\":\"/\"}],\"security\":[{},{\"token\":[]}]");
	paths(b);
	schemas(b);
	wz_buf_addz(b, "}\n");
}
