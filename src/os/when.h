/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time as people write them, in the local time zone (TZ), relative to a `now` that is passed in:
 *
 *	now   now+2h   now+1hour   now+90 (seconds)   18:00   18:00:30   noon   midnight   today   tomorrow
 *	2026-12-24   2026-12-24T18:00   2026-12-24 18:00:30   with Z or +08:00 for another zone
 *
 * A time of day that has passed today means tomorrow. Hours that daylight saving skips become what mktime makes of them. */
#ifndef WZ_OS_WHEN_H
#define WZ_OS_WHEN_H

#include "base/err.h"

/* Microseconds since 1970 UTC. -EINVAL "BadTime". */
int wz_when_parse(struct wz_str text, int64_t now_us, int64_t *ret_us, struct wz_err *err);

#endif
