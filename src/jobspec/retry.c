/* SPDX-License-Identifier: Apache-2.0 */
#include "jobspec/retry.h"

#include "base/check.h"
#include "base/near.h"

static const struct {
	const char *word;
	enum wz_end end;
} ends[] = {{"FAILED", WZ_END_FAILED}, {"OOM", WZ_END_OOM}, {"TIMEOUT", WZ_END_TIMEOUT},
        {"NODE_LOST", WZ_END_NODE_LOST}, {"DEVICE_LOST", WZ_END_DEVICE_LOST},
        {"LAUNCH_FAILED", WZ_END_LAUNCH_FAILED},
        /* other people's words */
        {"NODE_FAIL", WZ_END_NODE_LOST}, {"OUT_OF_MEMORY", WZ_END_OOM}, {"PREEMPTED", WZ_END_PREEMPTED}};

static int range(struct wz_str s, uint64_t max, struct wz_retry_rule *r)
{
	struct wz_str last = s, first = wz_str_split(&last, '-');
	uint64_t a, b;
	if (wz_str_parse_u64(first, &a) < 0 || a > max)
		return -EINVAL;
	b = a;
	if (last.ptr && (wz_str_parse_u64(last, &b) < 0 || b > max || b < a))
		return -EINVAL;
	r->from = (int32_t)a;
	r->to = (int32_t)b;
	return 0;
}

int wz_retry_parse(struct wz_str text, struct wz_retry_rule *ret, struct wz_err *err)
{
	struct wz_retry_rule r = {0};
	struct wz_str value = text, key = wz_str_split(&value, ':');
	struct wz_near near;
	bool code = wz_str_eq_nocase(key, WZ_STR("exit"));
	if (value.ptr && (code || wz_str_eq_nocase(key, WZ_STR("signal")))) {
		r.what = code ? WZ_RETRY_EXIT : WZ_RETRY_SIGNAL;
		if (range(value, code ? 255 : 64, &r) < 0)
			return wz_err_set(err, -EINVAL, "BadRetry", WZ_STR("\""), text,
			        WZ_STR("\": expected a number or a range, such as exit:75, exit:10-19, signal:9"));
		*ret = r;
		return 0;
	}
	wz_near_init(&near, text);
	for (unsigned i = 0; i < WZ_ARRAY_LEN(ends); i++) {
		wz_near_offer(&near, wz_str(ends[i].word));
		if (!wz_str_eq_nocase(text, wz_str(ends[i].word)))
			continue;
		r.what = WZ_RETRY_END;
		r.from = r.to = (int32_t)ends[i].end;
		*ret = r;
		return 0;
	}
	return wz_err_set(err, -EINVAL, "BadRetry", WZ_STR("\""), text,
	        WZ_STR("\": expected exit:N, signal:N, FAILED, OOM, TIMEOUT, NODE_LOST, DEVICE_LOST or "
	               "LAUNCH_FAILED"),
	        near.best.len ? WZ_STR("; did you mean ") : WZ_STR(""), near.best,
	        near.best.len ? WZ_STR("?") : WZ_STR(""));
}

bool wz_retry_match(const struct wz_retry_rule *v, uint32_t n, enum wz_end end, int64_t exit_code, int64_t signal)
{
	if (end == WZ_END_COMPLETED || end == WZ_END_CANCELLED)
		return false;
	if (n == 0)
		return end != WZ_END_TIMEOUT;
	for (uint32_t i = 0; i < n; i++) {
		int64_t x = v[i].what == WZ_RETRY_END    ? (int64_t)end
		            : v[i].what == WZ_RETRY_EXIT ? exit_code
		                                         : signal;
		if (v[i].what == WZ_RETRY_EXIT && (signal > 0 || end == WZ_END_LAUNCH_FAILED))
			continue; /* there was no exit code */
		if (x >= v[i].from && x <= v[i].to)
			return true;
	}
	return false;
}

uint64_t wz_retry_delay_us(uint64_t first, uint32_t n)
{
	uint64_t d = first ? first : WZ_RETRY_DELAY_US, max = d > WZ_RETRY_DELAY_MAX_US ? d : WZ_RETRY_DELAY_MAX_US;
	for (uint32_t i = 1; i < n && d < max; i++)
		d = d > max / 2 ? max : d * 2;
	return d;
}
