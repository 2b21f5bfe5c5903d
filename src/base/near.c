/* SPDX-License-Identifier: Apache-2.0 */
/* Optimal string alignment: the Levenshtein recurrence with a swap of two neighbours, three rows kept. */
#include "base/near.h"

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t m = a < b ? a : b;
	return m < c ? m : c;
}

uint32_t wz_near_distance(struct wz_str a, struct wz_str b)
{
	uint32_t rows[3][WZ_NEAR_LEN_MAX + 1];
	uint32_t *before = rows[0], *above = rows[1], *row = rows[2];
	if (a.len > WZ_NEAR_LEN_MAX || b.len > WZ_NEAR_LEN_MAX)
		return UINT32_MAX;
	for (uint32_t j = 0; j <= b.len; j++) {
		before[j] = 0; /* not read before the third row */
		above[j] = j;
	}
	for (uint32_t i = 1; i <= a.len; i++) {
		row[0] = i;
		for (uint32_t j = 1; j <= b.len; j++) {
			bool same = lower(a.ptr[i - 1]) == lower(b.ptr[j - 1]);
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && lower(a.ptr[i - 1]) == lower(b.ptr[j - 2]) &&
			        lower(a.ptr[i - 2]) == lower(b.ptr[j - 1]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		uint32_t *free_row = before;
		before = above;
		above = row;
		row = free_row;
	}
	return above[b.len];
}

void wz_near_init(struct wz_near *n, struct wz_str word)
{
	uint32_t limit = (uint32_t)(word.len < WZ_NEAR_LEN_MAX ? word.len / 3 : 0);
	*n = (struct wz_near){.word = word, .distance = (limit < 2 ? 2 : limit) + 1};
}

void wz_near_offer(struct wz_near *n, struct wz_str candidate)
{
	uint32_t d = wz_near_distance(n->word, candidate);
	if (d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}
