/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec/indices.h"

#include "base/check.h"

static int bad(struct wz_str text, struct wz_err *err, const char *why)
{
	return wz_err_set(err, -EINVAL, "BadIndices", WZ_STR("\""), text, WZ_STR("\" is no set of indices: "),
	        wz_str(why), WZ_STR("; write 0-31, 1,3,5 or 1-7:2, with %8 for at most 8 at once"));
}

static int number(struct wz_str s, uint32_t *ret)
{
	uint64_t n;
	if (wz_str_parse_u64(s, &n) < 0 || n > WZ_INDEX_MAX)
		return -EINVAL;
	*ret = (uint32_t)n;
	return 0;
}

static int one_run(struct wz_str s, struct wz_index_run *r)
{
	struct wz_str step = s, last = wz_str_split(&step, ':'), first;
	struct wz_str range = last;
	last = range;
	first = wz_str_split(&last, '-');
	*r = (struct wz_index_run){.step = 1};
	if (number(first, &r->first) < 0)
		return -EINVAL;
	r->last = r->first;
	if (last.ptr && (number(last, &r->last) < 0 || r->last < r->first))
		return -EINVAL;
	if (step.ptr && (!last.ptr || number(step, &r->step) < 0 || r->step == 0))
		return -EINVAL;
	r->last -= (r->last - r->first) % r->step;
	return 0;
}

int wz_indices_parse(struct wz_str text, struct wz_indices *ret, struct wz_err *err)
{
	struct wz_str limit = text, set = wz_str_split(&limit, '%');
	struct wz_indices x = {.step = 1};
	uint64_t count = 0;
	if (limit.ptr && (number(limit, &x.throttle) < 0 || x.throttle == 0))
		return bad(text, err, "what follows % is no number above 0");
	while (set.ptr) {
		struct wz_index_run *r = &x.run[x.n];
		struct wz_str item = wz_str_split(&set, ',');
		if (x.n == WZ_INDICES_RUNS_MAX)
			return bad(text, err, "more than 128 pieces");
		if (one_run(item, r) < 0)
			return bad(text, err, "a piece is no number, A-B or A-B:STEP up to 999999999");
		if (x.n && r->first <= r[-1].last)
			return bad(text, err, "they must rise, each once");
		count += (r->last - r->first) / r->step + 1;
		x.n++;
	}
	if (count > WZ_INDICES_COUNT_MAX)
		return wz_err_set(err, -E2BIG, "TooManyTasks", WZ_STR("\""), text,
		        WZ_STR("\": an array has at most 100000 tasks"));
	x.count = (uint32_t)count;
	if (x.n == 1)
		x.step = x.run[0].step;
	*ret = x;
	return 0;
}

uint32_t wz_indices_at(const struct wz_indices *x, uint32_t k)
{
	wz_check(k < x->count);
	for (uint32_t i = 0;; i++) {
		const struct wz_index_run *r = &x->run[i];
		uint32_t n = (r->last - r->first) / r->step + 1;
		if (k < n)
			return r->first + k * r->step;
		k -= n;
	}
}

bool wz_indices_has(const struct wz_indices *x, uint32_t index)
{
	for (uint32_t i = 0; i < x->n; i++) {
		const struct wz_index_run *r = &x->run[i];
		if (index >= r->first && index <= r->last)
			return (index - r->first) % r->step == 0;
	}
	return false;
}
