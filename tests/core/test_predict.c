/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "core/predict.h"
#include "os/mem.h"
#include "base/rng.h"

#include <math.h>

static double normal(struct wz_rng *r)
{
	double u = ((double)(wz_rng_next(r) >> 11) + 0.5) / 9007199254740992.0,
	       v = (double)(wz_rng_next(r) >> 11) / 9007199254740992.0;
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static double heavy(struct wz_rng *r) /* not normal in logarithms */
{
	double u = ((double)(wz_rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
	return -log(u) - 1;
}

/* Of what ends, 80 % lies in the band that was given before: +-3 % after 4,000 runs, whatever the templates' shape. */
static void coverage(double (*noise)(struct wz_rng *), const char *what)
{
	struct wz_predict *p;
	struct wz_rng rng;
	unsigned in = 0, all = 0, known = 0;

	wz_rng_seed(&rng, 3);
	tap_require(wz_predict_new(wz_os_mem(), &p) == 0, "memory");
	for (int i = 0; i < 12000; i++) {
		struct wz_predict_key k = {(uint32_t)wz_rng_below(&rng, 40), (uint32_t)wz_rng_below(&rng, 8), 0,
		        1u << wz_rng_below(&rng, 4)};
		double mu = 12 + (k.template_ * 7 % 40) * 0.2, sigma = 0.1 + 0.02 * (k.template_ % 30);
		uint64_t v = (uint64_t)exp(mu + sigma * noise(&rng));
		struct wz_predict_answer a = wz_predict_ask(p, WZ_PREDICT_RUN, &k);
		if (i >= 4000) {
			all++;
			known += a.known;
			in += v >= a.low && v <= a.high;
		}
		tap_ok(wz_predict_learn(p, WZ_PREDICT_RUN, &k, v) == 0, "learn");
	}
	tap_ok(fabs((double)in / all - 0.8) < 0.03, "%s: the band holds %.3f", what, (double)in / all);
	tap_ok(known > all * 9 / 10, "%s: %u of %u known", what, known, all);
	wz_predict_free(p);
}

static void test_coverage(void)
{
	coverage(normal, "log-normal templates");
	coverage(heavy, "log-exponential templates");
}

static void test_levels(void)
{
	struct wz_predict_key a = {1, 1, 0, 8}, other = {2, 1, 0, 8}, stranger = {3, 9, 0, 1};
	struct wz_predict_answer x;
	struct wz_predict *p;

	tap_require(wz_predict_new(wz_os_mem(), &p) == 0, "memory");
	x = wz_predict_ask(p, WZ_PREDICT_RUN, &a);
	tap_ok(!x.known && x.median == 0, "nothing is known at first");
	for (int i = 0; i < 2; i++)
		wz_predict_learn(p, WZ_PREDICT_RUN, &a, 1000);
	tap_ok(!wz_predict_ask(p, WZ_PREDICT_RUN, &a).known, "two runs are not enough");
	for (int i = 0; i < 3; i++)
		wz_predict_learn(p, WZ_PREDICT_RUN, &a, 1000);
	x = wz_predict_ask(p, WZ_PREDICT_RUN, &a);
	tap_ok(x.known && x.from == WZ_PREDICT_TEMPLATE && x.median > 990 && x.median < 1010,
	        "five runs are: %" PRIu64, x.median);
	x = wz_predict_ask(p, WZ_PREDICT_RUN, &other);
	tap_ok(x.known && x.from == WZ_PREDICT_USER, "another template of the user, same size");
	x = wz_predict_ask(p, WZ_PREDICT_RUN, &stranger);
	tap_ok(!x.known && x.median > 0, "a stranger is unknown, but has a band");
	tap_ok(wz_predict_ask(p, WZ_PREDICT_MEMORY, &a).median == 0, "memory is learned apart");
	/* a template that swings over five decades is unknown */
	for (int i = 0; i < 40; i++)
		wz_predict_learn(p, WZ_PREDICT_RUN, &stranger, i % 2 ? 10 : 1000000);
	tap_ok(!wz_predict_ask(p, WZ_PREDICT_RUN, &stranger).known, "too wide is unknown");
	wz_predict_free(p);
}

static void test_digest_and_shift(void)
{
	struct wz_predict *p, *q;
	struct wz_predict_key k = {1, 1, 1, 1};
	tap_require(wz_predict_new(wz_os_mem(), &p) == 0 && wz_predict_new(wz_os_mem(), &q) == 0, "memory");
	for (int i = 1; i < 200; i++) {
		wz_predict_learn(p, WZ_PREDICT_RUN, &k, (uint64_t)i * 977);
		wz_predict_learn(q, WZ_PREDICT_RUN, &k, (uint64_t)i * 977);
		tap_ok(wz_predict_digest(p) == wz_predict_digest(q), "the same runs, the same state");
	}
	wz_predict_learn(p, WZ_PREDICT_RUN, &k, 5);
	tap_ok(wz_predict_digest(p) != wz_predict_digest(q), "another run, another state");
	/* forgets: after 200 runs of a new length the median has moved there */
	for (int i = 0; i < 200; i++)
		wz_predict_learn(q, WZ_PREDICT_RUN, &k, 1u << 30);
	struct wz_predict_answer a = wz_predict_ask(q, WZ_PREDICT_RUN, &k);
	tap_ok(a.median > (1u << 29) && a.median <= (1u << 30), "the mix drifted: %" PRIu64, a.median);
	wz_predict_free(p);
	wz_predict_free(q);
}

int main(void)
{
	tap_run(test_coverage);
	tap_run(test_levels);
	tap_run(test_digest_and_shift);
	return tap_done();
}
