/* SPDX-License-Identifier: Apache-2.0 */
/* Policies with parameters: text to values and back, and where the values are kept. */
#include "base/hash.h"
#include "base/near.h"
#include "base/quant.h"
#include "core/policies/policies.h"

#include <string.h>

static int unknown_policy(struct wz_str name, struct wz_err *err)
{
	struct wz_near near;

	wz_near_init(&near, name);
	for (uint32_t i = 0; wz_policies[i]; i++)
		wz_near_offer(&near, wz_str(wz_policies[i]->name));
	return wz_err_set(err, -ENOENT, "UnknownPolicy", WZ_STR("there is no policy named \""), name, WZ_STR("\""),
	        near.best.len ? WZ_STR("; the nearest is ") : WZ_STR(""), near.best);
}

static int find_param(const struct wz_policy *p, struct wz_str name, uint32_t *ret, struct wz_err *err)
{
	struct wz_near near;

	wz_near_init(&near, name);
	for (uint32_t i = 0; i < p->n_params; i++) {
		if (wz_str_eq(wz_str(p->param[i].name), name)) {
			*ret = i;
			return 0;
		}
		wz_near_offer(&near, wz_str(p->param[i].name));
	}
	return wz_err_set(err, -ENOENT, "UnknownParameter", wz_str(p->name), WZ_STR(" has no parameter \""), name,
	        WZ_STR("\""), near.best.len ? WZ_STR("; the nearest is ") : WZ_STR(""), near.best);
}

static int parse_value(const struct wz_policy_param *p, struct wz_str text, int32_t *ret, struct wz_err *err)
{
	struct wz_num num;
	uint64_t v;
	int r = wz_milli_parse(text, &v, NULL);

	if (r == -EINVAL)
		return wz_err_set(err, r, "BadParameter", wz_str(p->name),
		        WZ_STR(" takes a number such as 0.2, not \""), text, WZ_STR("\""));
	if (r < 0 || v > (uint64_t)p->max)
		return wz_err_set(err, -ERANGE, "OutOfRange", wz_str(p->name), WZ_STR(" must be 0 to "),
		        wz_str_u64(&num, (uint64_t)p->max / 1000), WZ_STR(", not "), text);
	*ret = (int32_t)v;
	return 0;
}

/* NAME or NAME@VERSION. */
static int parse_policy(struct wz_str text, const struct wz_policy **ret, struct wz_err *err)
{
	struct wz_str name = wz_str_split(&text, '@');
	const struct wz_policy *p = name.len ? wz_policy_find(name) : NULL;
	struct wz_num num;
	uint64_t version;

	if (!p)
		return unknown_policy(name, err);
	if (text.ptr && (wz_str_parse_u64(text, &version) < 0 || version != (p->version ? p->version : 1)))
		return wz_err_set(err, -ENOENT, "PolicyVersion", wz_str(p->name), WZ_STR(" is version "),
		        wz_str_u64(&num, p->version ? p->version : 1), WZ_STR(" here, not \""), text, WZ_STR("\""));
	*ret = p;
	return 0;
}

void wz_variant_usual(const struct wz_policy *p, struct wz_variant *ret)
{
	*ret = (struct wz_variant){.policy = p};
	for (uint32_t i = 0; i < p->n_params; i++)
		ret->value[i] = p->param[i].usual;
}

int wz_variant_parse(struct wz_str text, struct wz_variant *ret, struct wz_err *err)
{
	const struct wz_policy *p = wz_policies[0];
	struct wz_variant v;
	uint32_t given = 0;
	int r = 0;

	if (text.len)
		r = parse_policy(wz_str_split(&text, ':'), &p, err);
	else
		text.ptr = NULL;
	if (r < 0)
		return r;
	wz_variant_usual(p, &v);
	while (text.ptr && r == 0) {
		struct wz_str value = wz_str_split(&text, ','), name = wz_str_split(&value, '=');
		uint32_t i = 0;
		if (!value.ptr)
			return wz_err_set(err, -EINVAL, "BadParameter",
			        WZ_STR("a parameter is written NAME=VALUE, not \""), name, WZ_STR("\""));
		r = find_param(p, name, &i, err);
		if (r == 0 && given >> i & 1)
			return wz_err_set(err, -EINVAL, "BadParameter", name, WZ_STR(" is given twice"));
		if (r == 0)
			r = parse_value(&p->param[i], value, &v.value[i], err);
		given |= r == 0 ? 1u << i : 0;
	}
	if (r == 0)
		*ret = v;
	return r;
}

void wz_variant_format(const struct wz_variant *v, struct wz_buf *b)
{
	char sep = ':';

	wz_buf_addz(b, v->policy->name);
	for (uint32_t i = 0; i < v->policy->n_params; i++) {
		if (v->value[i] == v->policy->param[i].usual)
			continue;
		wz_buf_addc(b, sep);
		wz_buf_addz(b, v->policy->param[i].name);
		wz_buf_addc(b, '=');
		wz_milli_format(b, (uint64_t)v->value[i]);
		sep = ',';
	}
}

void wz_variant_begin(const struct wz_variant *v, void *state)
{
	if (v->policy->n_params)
		memcpy(state, v->value, v->policy->n_params * sizeof(*v->value));
}

enum wz_scope wz_policy_scope(const struct wz_policy *p, const void *state)
{
	const int32_t *value = state;

	for (uint32_t i = 0; i < p->n_params; i++)
		if (p->param[i].live && value[i] && p->scope == WZ_SCOPE_NODE)
			return WZ_SCOPE_LIVE;
	return p->scope;
}

uint64_t wz_policy_hash(const struct wz_policy *p, const void *state)
{
	uint32_t skip = wz_policy_param_bytes(p);
	const int32_t *value = state;
	uint64_t h = wz_hash_str(0, wz_str(p->name));
	bool usual = true;

	h = wz_hash_str(
	        h, (struct wz_str){p->state_size ? (const char *)state + skip : NULL, p->state_size - skip});
	for (uint32_t i = 0; i < p->n_params; i++)
		usual = usual && value[i] == p->param[i].usual;
	return usual ? h : wz_hash_str(h, (struct wz_str){state, skip});
}
