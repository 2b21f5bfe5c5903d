/* SPDX-License-Identifier: Apache-2.0 */
/* The textbook dynamic programme of Gilmore and Gomory (1961). A walk through the table is a path in the arc-flow graph
 * of reference/fragmentation.md section 5 (an arc per share, loss arcs of one step), so patterns priced here generate
 * exactly the flows of that LP (which ends
 * here with all its loss). Ties go to fewer shares, then to the lower size index. */
#include "solver/pattern.h"

#include "base/check.h"

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

void wz_pattern_init(struct wz_pattern_table *t, const uint32_t *size, uint32_t n)
{
	wz_check(n <= WZ_PATTERN_SIZES_MAX);
	t->n = n;
	t->step = WZ_WHOLE;
	for (uint32_t i = 0; i < n; i++) {
		wz_check(size[i] >= 1 && size[i] < WZ_WHOLE);
		t->size[i] = size[i];
		t->step = gcd(t->step, size[i]);
	}
	t->len = WZ_WHOLE / t->step + 1;
}

double wz_pattern_solve(struct wz_pattern_table *t, const double *v)
{
	t->value[0] = 0;
	t->last[0] = -1;
	for (uint32_t c = 1; c < t->len; c++) {
		t->value[c] = t->value[c - 1];
		t->last[c] = -1;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t w = t->size[i] / t->step;
		if (!(v[i] > 0))
			continue;
		for (uint32_t c = w; c < t->len; c++) {
			if (t->value[c - w] + v[i] > t->value[c]) {
				t->value[c] = t->value[c - w] + v[i];
				t->last[c] = (int32_t)i;
			}
		}
	}
	return t->value[t->len - 1];
}

double wz_pattern_get(const struct wz_pattern_table *t, const double *v, int32_t first, uint16_t *count)
{
	uint32_t c = t->len - 1;
	double sum = 0;
	for (uint32_t i = 0; i < t->n; i++)
		count[i] = 0;
	if (first >= 0) {
		count[first] = 1;
		sum = v[first];
		c -= t->size[first] / t->step;
	}
	while (c > 0) {
		int32_t i = t->last[c];
		if (i < 0)
			break;
		count[i]++;
		sum += v[i];
		c -= t->size[i] / t->step;
	}
	return sum;
}
