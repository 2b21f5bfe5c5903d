/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policies/worth.h"

#include "base/rng.h"

#include <stdbool.h>
#include <string.h>

#define DRAWS 2000
#define ITERATIONS 2
#define PRIOR_Q8 512 /* how much the random-filling table counts, in transitions */
#define SPARSE 64 /* random filling: a remainder is offered 64 x as many shares as arrived */

/* The table if shares filled remainders at random: needs no simulation, and is the prior. */
static void random_filling(const uint64_t share[WZ_WORTH_N], int64_t ur[WZ_WORTH_N])
{
	uint64_t total = 0;

	for (int d = 1; d < WZ_WORTH_N; d++)
		total += share[d];
	ur[0] = 0;
	for (int r = 1; r < WZ_WORTH_N; r++) {
		int64_t sum = 0, weight = (int64_t)total;
		for (int d = 1; d <= r; d++) {
			sum += (int64_t)share[d] * SPARSE * ((int64_t)d * WZ_ONE / 100 + ur[r - d]);
			weight += (int64_t)share[d] * SPARSE;
		}
		ur[r] = weight ? sum / weight : 0;
	}
	for (int r = 1; r < WZ_WORTH_N - 1; r++)
		ur[r] = ur[100] ? ur[r] * WZ_ONE / ur[100] : 0;
	ur[100] = WZ_ONE;
}

/* Draws a share of less than a device; cumulative[d] counts shares of at most d. */
static int draw(struct wz_rng *rng, const uint64_t cumulative[WZ_WORTH_N])
{
	uint64_t at = wz_rng_below(rng, cumulative[99]);
	int lo = 1, hi = 99;

	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (cumulative[mid] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void decay(struct wz_worth *w)
{
	for (int r = 0; r < WZ_WORTH_N; r++) {
		w->ended[r] -= w->ended[r] / 8;
		for (int d = 0; d < WZ_WORTH_N; d++)
			w->taken[r][d] -= w->taken[r][d] / 8;
	}
}

/* The set of remainders r for which count[r] > 0, so that a search visits only those. */
struct set {
	uint64_t w[2];
};

static void set_put(struct set *s, int r, bool in)
{
	uint64_t bit = 1ULL << (r & 63);

	s->w[r >> 6] = in ? s->w[r >> 6] | bit : s->w[r >> 6] & ~bit;
}

/* The largest member below `r`, or -1. */
static int set_below(const struct set *s, int r)
{
	uint64_t high = r > 64 ? s->w[1] & ((1ULL << (r - 64)) - 1) : 0;
	uint64_t low = r < 64 ? s->w[0] & ((1ULL << r) - 1) : s->w[0];

	if (high)
		return 127 - __builtin_clzll(high);
	return low ? 63 - __builtin_clzll(low) : -1;
}

/* Places a stream of shares greedily by the present table and counts what happened to each remainder. */
static void simulate(struct wz_worth *w, struct wz_rng *rng, const uint64_t cumulative[WZ_WORTH_N])
{
	uint32_t count[WZ_WORTH_N] = {0};
	struct set some = {{0}};

	for (int i = 0; i < DRAWS; i++) {
		int d = draw(rng, cumulative), best = 100;
		int32_t gain = w->u[100 - d] - w->u[100];
		for (int r = set_below(&some, 100); r >= d; r = set_below(&some, r))
			if (w->u[r - d] - w->u[r] >= gain) {
				best = r;
				gain = w->u[r - d] - w->u[r];
			}
		if (best < 100)
			set_put(&some, best, --count[best] > 0);
		set_put(&some, best - d, ++count[best - d] > 0);
		w->taken[best][d] += 256;
	}
	for (int r = 1; r < 100; r++)
		w->ended[r] += 256 * count[r];
}

static void improve(struct wz_worth *w, const int64_t ur[WZ_WORTH_N])
{
	for (int r = 1; r < 100; r++) {
		int64_t sum = PRIOR_Q8 * ur[r], weight = PRIOR_Q8 + (int64_t)w->ended[r];
		for (int d = 1; d <= r; d++) {
			sum += (int64_t)w->taken[r][d] * ((int64_t)d * WZ_ONE / 100 + w->u[r - d]);
			weight += w->taken[r][d];
		}
		w->u[r] = (int32_t)(sum / weight);
	}
}

void wz_worth_learn(struct wz_worth *w, const uint64_t share[WZ_WORTH_N])
{
	uint64_t cumulative[WZ_WORTH_N] = {0};
	int64_t ur[WZ_WORTH_N];
	struct wz_rng rng;

	random_filling(share, ur);
	for (int d = 1; d < 100; d++)
		cumulative[d] = cumulative[d - 1] + share[d];
	if (cumulative[99] == 0)
		memset(w, 0, sizeof(*w));
	if (w->learned == 0)
		for (int r = 0; r < WZ_WORTH_N; r++)
			w->u[r] = (int32_t)ur[r];
	if (cumulative[99] == 0)
		return;
	wz_rng_seed(&rng, ++w->learned);
	for (int i = 0; i < ITERATIONS; i++) {
		decay(w);
		simulate(w, &rng, cumulative);
		improve(w, ur);
	}
}
