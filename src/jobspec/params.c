/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec/params.h"

#include "base/check.h"
#include "jobspec/indices.h"

bool wz_param_name_ok(struct wz_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return name.len && name.len <= WZ_PARAM_NAME_MAX;
}

static int bad(struct wz_str text, struct wz_err *err, const char *why)
{
	return wz_err_set(err, -EINVAL, "BadSweep", WZ_STR("sweep \""), text, WZ_STR("\": "), wz_str(why));
}

/* "1..5", "0..100:10"; false: it is none */
static bool range(struct wz_str v, struct wz_sweep_axis *a, bool *ret_bad)
{
	struct wz_str step = v, to = wz_str_split(&step, ':');
	size_t at = 0;
	int64_t last, by = 1;
	*ret_bad = false;
	while (at + 1 < to.len && (to.ptr[at] != '.' || to.ptr[at + 1] != '.'))
		at++;
	if (at + 1 >= to.len)
		return false;
	if (wz_str_parse_i64((struct wz_str){to.ptr, at}, &a->from) < 0 ||
	        wz_str_parse_i64((struct wz_str){to.ptr + at + 2, to.len - at - 2}, &last) < 0)
		return false;
	if ((step.ptr && (wz_str_parse_i64(step, &by) < 0 || by <= 0)) || last < a->from || a->from < -1000000000 ||
	        last > 1000000000 || (last - a->from) / by >= (int64_t)WZ_INDICES_COUNT_MAX) {
		*ret_bad = true;
		return true;
	}
	a->range = true;
	a->step = by;
	a->count = (uint32_t)((last - a->from) / by) + 1;
	return true;
}

int wz_sweep_add(struct wz_sweep *s, struct wz_str text, struct wz_err *err)
{
	struct wz_str values = text, name = wz_str_split(&values, '=');
	struct wz_sweep_axis a = {.name = name, .values = values, .count = 1};
	uint64_t before = s->n ? s->count : 1;
	bool out_of_range;
	if (!wz_param_name_ok(name) || values.len == 0)
		return bad(text, err, "expected NAME=A,B,C or NAME=1..5");
	if (s->n == WZ_SWEEP_AXES_MAX)
		return bad(text, err, "at most 16 names can be swept");
	for (uint32_t i = 0; i < s->n; i++)
		if (wz_str_eq(s->axis[i].name, name))
			return bad(text, err, "this name is swept already");
	if (memchr(values.ptr, '\n', values.len) || memchr(values.ptr, 0, values.len))
		return bad(text, err, "a value has a line break or a zero byte");
	if (range(values, &a, &out_of_range)) {
		if (out_of_range)
			return bad(text, err, "this is no rising range of at most 100000 whole numbers");
	} else {
		for (size_t i = 0; i < values.len; i++)
			a.count += values.ptr[i] == ',';
	}
	if (before * a.count > WZ_INDICES_COUNT_MAX)
		return wz_err_set(err, -E2BIG, "TooManyTasks", WZ_STR("sweep \""), text,
		        WZ_STR("\": more than 100000 combinations"));
	s->count = before * a.count;
	s->axis[s->n++] = a;
	return 0;
}

void wz_sweep_params(const struct wz_sweep *s, uint64_t k, struct wz_buf *b)
{
	uint64_t below = s->count;
	wz_check(k < s->count);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct wz_sweep_axis *a = &s->axis[i];
		struct wz_str rest = a->values, value = {NULL, 0};
		below /= a->count;
		uint64_t at = k / below % a->count;
		wz_buf_add(b, a->name);
		wz_buf_addc(b, '=');
		if (a->range) {
			wz_buf_add_i64(b, a->from + (int64_t)at * a->step);
		} else {
			for (uint64_t j = 0; j <= at; j++)
				value = wz_str_split(&rest, ',');
			wz_buf_add(b, value);
		}
		wz_buf_addc(b, '\n');
	}
}

static bool find(struct wz_str params, struct wz_str name, struct wz_str *ret)
{
	while (params.ptr) {
		struct wz_str value = wz_str_split(&params, '\n'), key = wz_str_split(&value, '=');
		if (value.ptr && wz_str_eq(key, name)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

void wz_params_expand(struct wz_str text, struct wz_str params, struct wz_buf *b)
{
	size_t i = 0;
	while (i < text.len) {
		bool dollar = text.ptr[i] == '$' && i + 1 < text.len && text.ptr[i + 1] == '{';
		size_t open = i + dollar;
		const char *close = text.ptr[open] == '{' ? memchr(text.ptr + open, '}', text.len - open) : NULL;
		struct wz_str value;
		if (close &&
		        find(params, (struct wz_str){text.ptr + open + 1, (size_t)(close - text.ptr) - open - 1},
		                &value)) {
			wz_buf_add(b, value);
			i = (size_t)(close - text.ptr) + 1;
		} else {
			wz_buf_addc(b, text.ptr[i++]);
		}
	}
}
