/* SPDX-License-Identifier: Apache-2.0 */
/* Readings over time, for the strips and plots of the dashboard: every ten seconds for an hour, every minute for a day. In
 * memory alone: a restart begins anew. Of each device, and of the whole cluster (what is held against what is used).
 *
 * Memory: about 14 kB a device. */
#ifndef WZ_SERVE_SAMPLES_H
#define WZ_SERVE_SAMPLES_H

#include "base/mem.h"

#define WZ_SAMPLE_FINE_US ((int64_t)10 * 1000000)
#define WZ_SAMPLE_COARSE 6u /* fine ones to a coarse one, which is their mean */
#define WZ_SAMPLE_FINE_N 360u
#define WZ_SAMPLE_COARSE_N 1440u

struct wz_sample { /* 0xffff: not known */
	uint16_t util; /* hundredths of a percent */
	uint16_t mem_used; /* likewise */
	uint16_t power_w;
	uint16_t held; /* hundredths of a percent of compute that is given out */
};

struct wz_series {
	struct wz_sample fine[WZ_SAMPLE_FINE_N], coarse[WZ_SAMPLE_COARSE_N];
	uint64_t n; /* fine ones so far; number k is of time base + k x WZ_SAMPLE_FINE_US */
};

void wz_series_add(struct wz_series *s, struct wz_sample v);

/* Calls f for each sample at or after number `from`, oldest first: coarse ones where fine ones are gone. `number` is that
 * of the fine sample at its begin. */
void wz_series_each(const struct wz_series *s, uint64_t from,
        void (*f)(void *ctx, uint64_t number, const struct wz_sample *v), void *ctx);

#endif
