/* SPDX-License-Identifier: Apache-2.0 */
#include "os/when.h"

#include "base/check.h"
#include "base/quant.h"

#include <time.h>

#define SECOND 1000000
#define YEARS_MAX 100

static int bad(struct wz_str text, struct wz_err *err)
{
	return wz_err_set(err, -EINVAL, "BadTime", WZ_STR("\""), text,
	        WZ_STR("\" is no time; write now+2h, 18:00, tomorrow, 2026-12-24 or 2026-12-24T18:00"));
}

/* "2h", "1hour", "30minutes", "90" (seconds) */
static int span(struct wz_str s, int64_t *ret_us)
{
	static const struct {
		const char *word;
		int64_t seconds;
	} units[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}, {"week", 604800}};
	struct wz_str number = s;
	uint64_t n, us;
	if (wz_duration_parse(s, &us, NULL) == 0 && us < (uint64_t)INT64_MAX / 4) {
		*ret_us = (int64_t)us;
		return 0;
	}
	for (number.len = 0; number.len < s.len && s.ptr[number.len] >= '0' && s.ptr[number.len] <= '9';)
		number.len++;
	struct wz_str unit = {s.ptr + number.len, s.len - number.len};
	if (wz_str_parse_u64(number, &n) < 0 || n > 4000000000u)
		return -EINVAL;
	if (unit.len > 1 && unit.ptr[unit.len - 1] == 's')
		unit.len--;
	for (size_t i = 0; i < WZ_ARRAY_LEN(units); i++)
		if (unit.len == 0 || wz_str_eq_nocase(unit, wz_str(units[i].word))) {
			*ret_us = (int64_t)n * units[i].seconds * SECOND;
			return 0;
		}
	return -EINVAL;
}

/* Takes a number of `digits` digits from the front. */
static bool take(struct wz_str *s, unsigned digits, int *ret)
{
	int n = 0;
	if (s->len < digits)
		return false;
	for (unsigned i = 0; i < digits; i++) {
		if (s->ptr[i] < '0' || s->ptr[i] > '9')
			return false;
		n = n * 10 + (s->ptr[i] - '0');
	}
	*s = (struct wz_str){s->ptr + digits, s->len - digits};
	*ret = n;
	return true;
}

static bool skip(struct wz_str *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = (struct wz_str){s->ptr + 1, s->len - 1};
	return true;
}

static bool clock_of(struct wz_str *s, struct tm *t)
{
	t->tm_sec = 0;
	if (!take(s, 2, &t->tm_hour) || !skip(s, ':') || !take(s, 2, &t->tm_min))
		return false;
	if (skip(s, ':') && !take(s, 2, &t->tm_sec))
		return false;
	return t->tm_hour < 24 && t->tm_min < 60 && t->tm_sec < 60;
}

/* "Z", "+08:00", "+0800"; none: local */
static bool zone_of(struct wz_str *s, bool *ret_given, int *ret_seconds)
{
	int h, m, sign = 1;
	*ret_given = s->len > 0;
	*ret_seconds = 0;
	if (s->len == 0 || skip(s, 'Z'))
		return s->len == 0;
	if (!skip(s, '+')) {
		sign = -1;
		if (!skip(s, '-'))
			return false;
	}
	if (!take(s, 2, &h))
		return false;
	(void)skip(s, ':');
	if (!take(s, 2, &m) || s->len || h > 14 || m > 59)
		return false;
	*ret_seconds = sign * (h * 3600 + m * 60);
	return true;
}

static int made(struct tm *t, int64_t *ret_us)
{
	time_t at;
	t->tm_isdst = -1;
	at = mktime(t);
	if (at == (time_t)-1)
		return -EINVAL;
	*ret_us = (int64_t)at * SECOND;
	return 0;
}

static int date(struct wz_str s, int64_t *ret_us)
{
	struct tm t = {.tm_isdst = -1};
	int year, month, zone = 0;
	bool given = false;
	if (!take(&s, 4, &year) || !skip(&s, '-') || !take(&s, 2, &month) || !skip(&s, '-') ||
	        !take(&s, 2, &t.tm_mday))
		return -EINVAL;
	if (year < 1970 || year > 9999 || month < 1 || month > 12 || t.tm_mday < 1 || t.tm_mday > 31)
		return -EINVAL;
	t.tm_year = year - 1900;
	t.tm_mon = month - 1;
	if (s.len && (!(skip(&s, 'T') || skip(&s, ' ')) || !clock_of(&s, &t) || !zone_of(&s, &given, &zone)))
		return -EINVAL;
	int day = t.tm_mday;
	if (!given) {
		int rc = made(&t, ret_us);
		return rc < 0 || t.tm_mday != day ? -EINVAL : 0; /* there is no 31st of November */
	}
	time_t at = timegm(&t);
	if (at == (time_t)-1 || t.tm_mday != day)
		return -EINVAL;
	*ret_us = ((int64_t)at - zone) * SECOND;
	return 0;
}

static int of_day(struct wz_str s, int64_t now_us, int64_t *ret_us)
{
	time_t now = (time_t)(now_us / SECOND);
	struct tm t;
	bool tomorrow = wz_str_eq(s, WZ_STR("tomorrow")), today = wz_str_eq(s, WZ_STR("today"));
	if (!localtime_r(&now, &t))
		return -EINVAL;
	if (tomorrow || today || wz_str_eq(s, WZ_STR("midnight"))) {
		if (today) {
			*ret_us = now_us;
			return 0;
		}
		t.tm_mday++;
		t.tm_hour = t.tm_min = t.tm_sec = 0;
		return made(&t, ret_us);
	}
	if (wz_str_eq(s, WZ_STR("noon"))) {
		t.tm_hour = 12;
		t.tm_min = t.tm_sec = 0;
	} else if (!clock_of(&s, &t) || s.len) {
		return -EINVAL;
	}
	struct tm again = t;
	int rc = made(&t, ret_us);
	if (rc == 0 && *ret_us <= now_us) {
		again.tm_mday++;
		rc = made(&again, ret_us);
	}
	return rc;
}

int wz_when_parse(struct wz_str text, int64_t now_us, int64_t *ret_us, struct wz_err *err)
{
	int64_t at = 0, more = 0;
	int rc;
	if (wz_str_eq(text, WZ_STR("now"))) {
		at = now_us;
		rc = 0;
	} else if (wz_str_starts(text, WZ_STR("now+"))) {
		rc = span((struct wz_str){text.ptr + 4, text.len - 4}, &more);
		at = now_us + more;
	} else if (text.len >= 8 && text.ptr[4] == '-') {
		rc = date(text, &at);
	} else {
		rc = of_day(text, now_us, &at);
	}
	if (rc < 0 || at <= 0 || at > now_us + (int64_t)YEARS_MAX * 366 * 86400 * SECOND)
		return bad(text, err);
	*ret_us = at;
	return 0;
}
