/* SPDX-License-Identifier: Apache-2.0 */
/* Times of people, over the changes of the clocks. */
#include "tap.h"

#include "os/calendar.h"

#include <stdlib.h>
#include <unistd.h>

static uint64_t at(const char *zone, const char *text, int days)
{
	struct wz_civil c;
	struct wz_err err = {0};
	uint64_t us = 0;
	bool utc;
	int r = wz_civil_parse(wz_str(text), &c, &utc, &err);
	tap_ok(r == 0, "%s: %s", text, err.text);
	r = wz_calendar_us(zone, &c, days, &us, &err);
	tap_ok(r == 0, "%s in %s: %s", text, zone, err.text);
	return us / 1000000;
}

#define NEED_ZONES() \
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) || \
	        access("/usr/share/zoneinfo/America/New_York", R_OK)) \
	tap_skip("this system has no time zones (tzdata)")

static void test_weekly(void)
{
	NEED_ZONES();
	/* 14:00 in Berlin is 13:00 UTC in winter and 12:00 in summer; the clocks change on Sunday 2026-03-29. */
	tap_eq_i64(at("Europe/Berlin", "2026-03-26T14:00", 0), 1774530000, "Thursday before");
	tap_eq_i64(at("Europe/Berlin", "2026-03-26T14:00", 7), 1774530000 + 7 * 86400 - 3600, "and a week later");
	tap_eq_i64(at("Europe/Berlin", "2026-03-22T02:30", 7), 1774747800,
	        "02:30 is left out on the 29th: it is 03:30");
	tap_eq_i64(at("Europe/Berlin", "2026-10-18T02:30", 7), 1792888200,
	        "02:30 comes twice on 25 October: the first");
	/* New York goes back on 2026-11-01. */
	tap_eq_i64(at("America/New_York", "2026-10-29T09:00", 0), 1793278800, "Thursday before");
	tap_eq_i64(
	        at("America/New_York", "2026-10-29T09:00", 7), 1793278800 + 7 * 86400 + 3600, "and a week later");
	tap_eq_i64(at("America/New_York", "2026-10-25T01:30", 7), 1793511000, "01:30 comes twice: the first");
	tap_eq_i64(at("UTC", "2026-03-29T02:30:15", 0), 1774751415, "UTC has no such days");
	tap_eq_i64(at("UTC", "2026-12-28T00:00", 7), 1799020800, "over the end of a year");
}

static void test_restores(void)
{
	NEED_ZONES();
	(void)setenv("TZ", "Asia/Tokyo", 1);
	(void)at("Europe/Berlin", "2026-03-26T14:00", 0);
	tap_eq_str(wz_str(getenv("TZ")), WZ_STR("Asia/Tokyo"), "TZ is as it was");
	tap_eq_i64(at("", "2026-03-26T09:00", 0), 1774483200, "the process's own zone");
	(void)unsetenv("TZ");
	(void)at("Europe/Berlin", "2026-03-26T14:00", 0);
	tap_ok(getenv("TZ") == NULL, "also when it was not set");
}

static void test_wrong(void)
{
	static const char *const wrong[] = {"", "Z", "tomorrow", "2026-02-29T10:00", "2026-13-01T10:00",
	        "2026-01-01", "2026-01-01T24:00", "2026-01-01T10:60", "2026-01-01T10:00:61", "1969-12-31T23:00",
	        "2201-01-01T00:00", "2026-1-1T10:00", "2026-01-01T10:00+02:00", "2026/01/01T10:00",
	        "+026-01-01T10:00"};
	static const char *const zones[] = {
	        "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe/Berlin;x"};
	struct wz_civil c;
	struct wz_err err;
	uint64_t us;
	bool utc;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		tap_eq_i64(wz_civil_parse(wz_str(wrong[i]), &c, &utc, &err), -EINVAL, "\"%s\"", wrong[i]);
	tap_eq_i64(wz_civil_parse(WZ_STR("2028-02-29 10:00Z"), &c, &utc, &err), 0, "a leap day");
	tap_ok(utc && c.day == 29, "in UTC");
	for (unsigned i = 0; i < sizeof(zones) / sizeof(*zones); i++)
		tap_eq_i64(wz_calendar_us(zones[i], &c, 0, &us, &err), -ENOENT, "%s", zones[i]);
}

int main(void)
{
	tap_run(test_weekly);
	tap_run(test_restores);
	tap_run(test_wrong);
	return tap_done();
}
