/* SPDX-License-Identifier: Apache-2.0 */
/* Which ends are tried again: exit:75, exit:10-19, signal:9, or an end by its word (FAILED, OOM, TIMEOUT, NODE_LOST,
 * DEVICE_LOST, LAUNCH_FAILED). Pure. */
#ifndef WZ_JOBSPEC_RETRY_H
#define WZ_JOBSPEC_RETRY_H

#include "base/err.h"
#include "core/event.h"

#define WZ_RETRY_RULES_MAX 16u
#define WZ_RETRY_DELAY_US 10000000 /* before the first retry when nothing else is asked */
#define WZ_RETRY_DELAY_MAX_US 3600000000 /* doubling ends here, unless more was asked for the first */

enum wz_retry_what { WZ_RETRY_END, WZ_RETRY_EXIT, WZ_RETRY_SIGNAL };
struct wz_retry_rule {
	uint8_t what; /* enum wz_retry_what */
	int32_t from, to; /* ends, exit codes or signals */
};

/* -EINVAL "BadRetry", and names what is near. */
int wz_retry_parse(struct wz_str text, struct wz_retry_rule *ret, struct wz_err *err);
/* Without rules: FAILED, OOM, NODE_LOST, DEVICE_LOST and LAUNCH_FAILED, but never what the user or the limit ended. */
bool wz_retry_match(const struct wz_retry_rule *v, uint32_t n, enum wz_end end, int64_t exit_code, int64_t signal);
/* Pause before retry number `n` (from 1): `first` doubled each time. */
uint64_t wz_retry_delay_us(uint64_t first, uint32_t n);

#endif
