/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/life.h"

#include "base/fix.h"

#define SECOND_US 1000000ull
#define PERMILLE_BITS 20 /* a permille is 2^20 steps of a draw */

/* Philly (Jeon et al., ATC 2019, the job list of Sia's artefact): median 1,144 s, mean 13,136, p95 43,646, p99 254,758. The
 * mean of this table is 13,522. */
const struct wz_quantile wz_philly_run_s[] = {
        {0, 20},
        {250, 240},
        {500, 1144},
        {750, 4200},
        {900, 19000},
        {950, 43646},
        {990, 254758},
        {1000, 420000},
};

/* AcmeTrace, Seren (Hu et al., NSDI 2024): median 122 s, mean 1,414. */
const struct wz_quantile wz_acme_run_s[] = {
        {0, 5},
        {250, 40},
        {500, 122},
        {750, 420},
        {900, 1900},
        {950, 4800},
        {990, 22000},
        {1000, 50000},
};

/* Seconds that the 7,255 scheduled pods of openb_pod_list_default.csv ran. The top thousandth (services that fill the
 * trace) is cut at the 99.9th percentile. */
const struct wz_quantile wz_openb_run_s[] = {
        {0, 4},
        {50, 50},
        {100, 73},
        {200, 146},
        {300, 210},
        {400, 356},
        {500, 616},
        {600, 1001},
        {700, 1674},
        {800, 3204},
        {900, 7764},
        {950, 18162},
        {970, 27787},
        {980, 50089},
        {990, 114715},
        {995, 951112},
        {1000, 8795832},
};

const struct wz_life wz_lives[] = {
        {"philly", "run times of Philly's jobs: median 19 min, mean 3.8 h, 1 % above 71 h", wz_philly_run_s, 0},
        {"openb", "run times of openb's pods: median 10 min, mean 8.5 h, 0.5 % above 11 days", wz_openb_run_s, 0},
        {"acme", "run times of Seren's jobs in AcmeTrace: median 2 min, mean 22 min", wz_acme_run_s, 0},
        {"exp", "exponential, mean 3.8 h", NULL, 13522},
        {NULL, NULL, NULL, 0},
};

const struct wz_life *wz_life_find(struct wz_str name)
{
	for (const struct wz_life *l = wz_lives; l->name; l++)
		if (wz_str_eq(name, wz_str(l->name)))
			return l;
	return NULL;
}

/* -log2(1 - i/128) in 2^-30. */
static const uint32_t halving[65] = {0, 12149725, 24395496, 36738845, 49181337, 61724580, 74370218, 87119936,
        99975462, 112938567, 126011066, 139194822, 152491745, 165903795, 179432981, 193081369, 206851077, 220744283,
        234763220, 248910186, 263187541, 277597710, 292143187, 306826539, 321650403, 336617496, 351730611,
        366992626, 382406504, 397975299, 413702155, 429590315, 445643122, 461864024, 478256579, 494824459,
        511571454, 528501481, 545618583, 562926942, 580430880, 598134867, 616043529, 634161654, 652494199,
        671046301, 689823282, 708830662, 728074164, 747559729, 767293525, 787281957, 807531683, 828049626,
        848842985, 869919256, 891286243, 912952079, 934925242, 957214576, 979829313, 1002779096, 1026074001,
        1049724568, 1073741824};
#define EXPONENTIAL_MEAN 1549097763ull /* of a draw below, in 2^-30: one halving and the mean of the table */

uint64_t wz_exponential(struct wz_rng *rng, uint64_t mean)
{
	uint64_t coins = wz_rng_next(rng), u = wz_rng_next(rng) >> 26; /* 38 bits: 6 of index, 32 between */
	uint64_t halvings = coins ? (uint64_t)__builtin_clzll(coins) : 64, at = u >> 32, rest = u & UINT32_MAX;
	uint64_t within = halving[at] + ((halving[at + 1] - halving[at]) * rest >> 32);

	return wz_umuldiv(mean, (halvings << 30) + within, EXPONENTIAL_MEAN);
}

uint64_t wz_life_mean_us(const struct wz_life *l)
{
	uint64_t twice = 0; /* permille x seconds */

	if (!l->seconds)
		return l->mean_s * SECOND_US;
	for (const struct wz_quantile *q = l->seconds; q->permille < 1000; q++)
		twice += (uint64_t)(q[1].permille - q[0].permille) * (q[0].value + (uint64_t)q[1].value);
	return twice * (SECOND_US / 2000);
}

uint64_t wz_life_draw_us(const struct wz_life *l, struct wz_rng *rng)
{
	const struct wz_quantile *q = l->seconds;
	uint64_t u;

	if (!q)
		return wz_exponential(rng, l->mean_s * SECOND_US);
	u = wz_rng_below(rng, 1000ull << PERMILLE_BITS);
	while (u >= (uint64_t)q[1].permille << PERMILLE_BITS)
		q++;
	return q[0].value * SECOND_US + wz_umuldiv((q[1].value - q[0].value) * SECOND_US,
	                                        u - ((uint64_t)q[0].permille << PERMILLE_BITS),
	                                        (uint64_t)(q[1].permille - q[0].permille) << PERMILLE_BITS);
}

uint64_t wz_life_residual_us(const struct wz_life *l, struct wz_rng *rng)
{
	const struct wz_quantile *q = l->seconds;
	uint64_t u, low, high, life;

	if (!q) /* it has no memory */
		return wz_exponential(rng, l->mean_s * SECOND_US);
	/* A row by its part of all time, then a length within it in proportion to itself. */
	u = wz_rng_below(rng, wz_life_mean_us(l) / (SECOND_US / 2000));
	for (;; q++) {
		uint64_t w = (uint64_t)(q[1].permille - q[0].permille) * (q[0].value + (uint64_t)q[1].value);
		if (u < w)
			break;
		u -= w;
	}
	low = q[0].value * SECOND_US;
	high = q[1].value * SECOND_US;
	do {
		life = low + wz_rng_below(rng, high - low + 1);
	} while (wz_rng_below(rng, high) >= life);
	return 1 + wz_rng_below(rng, life);
}
