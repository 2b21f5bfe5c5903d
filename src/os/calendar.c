/* SPDX-License-Identifier: Apache-2.0 */
/* libc's mktime reads the zone from TZ, and takes an unknown one for UTC: so the zone's file is looked for first. */
#include "os/calendar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int bad(struct wz_err *err, struct wz_str s)
{
	return wz_err_set(err, -EINVAL, "BadTime", WZ_STR("\""), s,
	        WZ_STR("\" is not a time such as 2026-03-29T14:00, in the time zone, or 2026-03-29T12:00Z"));
}

static bool number(struct wz_str s, size_t at, size_t n, int lo, int hi, int *ret)
{
	uint64_t v;

	if (at + n > s.len || wz_str_parse_u64((struct wz_str){s.ptr + at, n}, &v) < 0 || v < (uint64_t)lo ||
	        v > (uint64_t)hi)
		return false;
	*ret = (int)v;
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

int wz_civil_parse(struct wz_str s, struct wz_civil *ret, bool *ret_utc, struct wz_err *err)
{
	struct wz_str t = s;
	struct wz_civil c = {0};
	bool utc = t.len && t.ptr[t.len - 1] == 'Z';

	t.len -= utc;
	if ((t.len != 16 && t.len != 19) || t.ptr[4] != '-' || t.ptr[7] != '-' ||
	        (t.ptr[10] != 'T' && t.ptr[10] != ' ') || t.ptr[13] != ':' || (t.len == 19 && t.ptr[16] != ':'))
		return bad(err, s);
	if (!number(t, 0, 4, 1970, 2200, &c.year) || !number(t, 5, 2, 1, 12, &c.month) ||
	        !number(t, 8, 2, 1, days_of(c.year, c.month), &c.day) || !number(t, 11, 2, 0, 23, &c.hour) ||
	        !number(t, 14, 2, 0, 59, &c.minute) || (t.len == 19 && !number(t, 17, 2, 0, 59, &c.second)))
		return bad(err, s);
	*ret = c;
	*ret_utc = utc;
	return 0;
}

static bool zone_there(const char *zone)
{
	char path[256];

	if (strcmp(zone, "UTC") == 0)
		return true;
	if (zone[0] == '/' || strstr(zone, "..") || strlen(zone) > 64)
		return false;
	for (const char *p = zone; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
		            strchr("/_+-", *p)))
			return false;
	(void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", zone);
	return access(path, R_OK) == 0;
}

/* The moment at which clocks show it. Of two, the first; where none does, as mktime shifts it with the offset before. */
static time_t moment(const struct wz_civil *c, int days)
{
	struct tm tm = {.tm_year = c->year - 1900,
	                  .tm_mon = c->month - 1,
	                  .tm_mday = c->day + days,
	                  .tm_hour = c->hour,
	                  .tm_min = c->minute,
	                  .tm_sec = c->second,
	                  .tm_isdst = -1},
	          summer = tm, winter = tm;
	time_t t = mktime(&tm), s, w;

	summer.tm_isdst = 1;
	winter.tm_isdst = 0;
	s = mktime(&summer);
	w = mktime(&winter);
	if (summer.tm_isdst == 1 && summer.tm_hour == c->hour && summer.tm_min == c->minute && s < t)
		return s; /* the clocks show it twice */
	if (tm.tm_hour != c->hour || tm.tm_min != c->minute)
		return w > t ? w : t; /* they leave it out */
	return t;
}

int wz_calendar_us(const char *zone, const struct wz_civil *c, int days, uint64_t *ret_us, struct wz_err *err)
{
	const char *was = getenv("TZ");
	char *kept = was ? strdup(was) : NULL;
	bool change = zone && zone[0];
	time_t t;

	if ((was && !kept))
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (change && !zone_there(zone)) {
		free(kept);
		return wz_err_set(err, -ENOENT, "UnknownZone", WZ_STR("this system knows no time zone \""),
		        wz_str(zone), WZ_STR("\", such as Europe/Berlin"));
	}
	if (change)
		(void)setenv("TZ", zone, 1);
	tzset();
	t = moment(c, days);
	if (change) {
		if (kept)
			(void)setenv("TZ", kept, 1);
		else
			(void)unsetenv("TZ");
		tzset();
	}
	free(kept);
	if (t < 0)
		return wz_err_set(err, -EINVAL, "BadTime", WZ_STR("the time is before 1970"));
	*ret_us = (uint64_t)t * 1000000;
	return 0;
}
