/* SPDX-License-Identifier: Apache-2.0 */
/* Times of people: a date and a time of day in a time zone, once or every week, as microseconds since 1970. The core
 * knows no calendar; who expands a rule of one does it here, so that 14:00 stays 14:00 when the clocks change. */
#ifndef WZ_OS_CALENDAR_H
#define WZ_OS_CALENDAR_H

#include "base/err.h"

struct wz_civil {
	int year, month, day, hour, minute, second;
};

/* "2026-03-29T14:00" with or without seconds, ' ' for 'T'; a final 'Z' sets *ret_utc. Dates from 1970 to 2200 that exist.
 * -EINVAL "BadTime". */
int wz_civil_parse(struct wz_str s, struct wz_civil *ret, bool *ret_utc, struct wz_err *err);

/* The moment, `days` later by the calendar, in the zone ("Europe/Berlin"; "" or NULL: that of this process; "UTC"). A time that the
 * change to summer time leaves out is as much later as the clocks go forward; one that there is twice is the first. -ENOENT
 * "UnknownZone": the system has no such zone; -EINVAL "BadTime". Changes TZ of the process and changes it back: not to be
 * called while another thread reads the environment. */
int wz_calendar_us(const char *zone, const struct wz_civil *c, int days, uint64_t *ret_us, struct wz_err *err);

#endif
