/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/samples.h"

#include <stddef.h>

/* The mean of those that are known. */
static uint16_t mean(const struct wz_series *s, uint64_t first, size_t offset)
{
	uint32_t sum = 0, n = 0;
	for (uint64_t k = first; k < first + WZ_SAMPLE_COARSE; k++) {
		const char *at = (const char *)&s->fine[k % WZ_SAMPLE_FINE_N] + offset;
		uint16_t v = *(const uint16_t *)(const void *)at;
		if (v != UINT16_MAX) {
			sum += v;
			n++;
		}
	}
	return n ? (uint16_t)(sum / n) : UINT16_MAX;
}

void wz_series_add(struct wz_series *s, struct wz_sample v)
{
	s->fine[s->n++ % WZ_SAMPLE_FINE_N] = v;
	if (s->n % WZ_SAMPLE_COARSE)
		return;
	uint64_t first = s->n - WZ_SAMPLE_COARSE;
	s->coarse[first / WZ_SAMPLE_COARSE % WZ_SAMPLE_COARSE_N] = (struct wz_sample){
	        .util = mean(s, first, offsetof(struct wz_sample, util)),
	        .mem_used = mean(s, first, offsetof(struct wz_sample, mem_used)),
	        .power_w = mean(s, first, offsetof(struct wz_sample, power_w)),
	        .held = mean(s, first, offsetof(struct wz_sample, held)),
	};
}

void wz_series_each(const struct wz_series *s, uint64_t from,
        void (*f)(void *ctx, uint64_t number, const struct wz_sample *v), void *ctx)
{
	uint64_t whole = s->n / WZ_SAMPLE_COARSE; /* minutes so far */
	uint64_t fine = s->n > WZ_SAMPLE_FINE_N ? s->n - WZ_SAMPLE_FINE_N : 0; /* the oldest that is kept */
	uint64_t first = whole > WZ_SAMPLE_COARSE_N ? whole - WZ_SAMPLE_COARSE_N : 0;
	/* Fine ones from the first minute of which all are kept; minutes before it. */
	fine = (fine + WZ_SAMPLE_COARSE - 1) / WZ_SAMPLE_COARSE * WZ_SAMPLE_COARSE;
	for (uint64_t k = first; k < fine / WZ_SAMPLE_COARSE; k++)
		if (k * WZ_SAMPLE_COARSE >= from)
			f(ctx, k * WZ_SAMPLE_COARSE, &s->coarse[k % WZ_SAMPLE_COARSE_N]);
	for (uint64_t k = fine > from ? fine : from; k < s->n; k++)
		f(ctx, k, &s->fine[k % WZ_SAMPLE_FINE_N]);
}
