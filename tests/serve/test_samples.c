/* SPDX-License-Identifier: Apache-2.0 */
/* Readings over time: what is kept is what was added, finely for an hour and by the minute for a day, without holes or
 * doubles at the seam. */
#include "tap.h"

#include "serve/samples.h"

static struct wz_series s;

struct seen {
	uint64_t next, n, fine;
	bool wrong;
};

static void look(void *ctx, uint64_t number, const struct wz_sample *v)
{
	struct seen *x = ctx;
	if (x->n == 0)
		x->next = number;
	/* A minute is the mean of its six: k + 2 (integer mean of k .. k + 5). */
	if (v->util == (uint16_t)(number % 9000)) {
		x->fine++;
		x->wrong |= x->n && number != x->next;
		x->next = number + 1;
	} else {
		x->wrong |= v->util != (uint16_t)(number % 9000 + 2) || number != x->next || x->fine;
		x->next = number + WZ_SAMPLE_COARSE;
	}
	x->n++;
}

static void test_all_lengths(void)
{
	memset(&s, 0, sizeof s);
	for (uint64_t k = 0; k < 8900; k++) {
		wz_series_add(&s, (struct wz_sample){.util = (uint16_t)(k % 9000), .mem_used = UINT16_MAX});
		if (k % 97 && k > 20)
			continue;
		struct seen x = {0};
		wz_series_each(&s, 0, look, &x);
		tap_ok(!x.wrong, "after %" PRIu64 ": one after another", k + 1);
		tap_eq_i64(x.next, k + 1, "to the last");
		tap_ok(x.fine >= (k + 1 < WZ_SAMPLE_FINE_N ? k + 1 : WZ_SAMPLE_FINE_N - WZ_SAMPLE_COARSE),
		        "an hour finely");
		if (k + 1 <= WZ_SAMPLE_COARSE_N * WZ_SAMPLE_COARSE)
			tap_ok(x.n >= (k + 1) / WZ_SAMPLE_COARSE, "a day in all");
	}
	struct seen x = {0};
	wz_series_each(&s, 8890, look, &x);
	tap_eq_i64(x.n, 10, "from a moment on");
}

static void test_unknown(void)
{
	memset(&s, 0, sizeof s);
	for (uint64_t k = 0; k < 6; k++)
		wz_series_add(&s, (struct wz_sample){.util = k < 3 ? 100 : UINT16_MAX, .mem_used = UINT16_MAX});
	tap_eq_i64(s.coarse[0].util, 100, "the mean of what is known");
	tap_eq_i64(s.coarse[0].mem_used, UINT16_MAX, "nothing known stays not known");
}

int main(void)
{
	tap_run(test_all_lengths);
	tap_run(test_unknown);
	return tap_done();
}
