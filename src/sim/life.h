/* SPDX-License-Identifier: Apache-2.0 */
/* How long work runs, and how long until more of it comes. Everything is drawn by inverse distribution functions in
 * tables of whole numbers joined by straight lines, so a mean is known exactly and no libm decides anything.
 *
 * A residual life is what an observer at a random time still sees of the work that he finds running: a life chosen with
 * probability in proportion to its length, of which a uniform part is left. A system filled with residual lives starts in
 * the steady state of its lives, instead of reaching it after the longest of them. */
#ifndef WZ_SIM_LIFE_H
#define WZ_SIM_LIFE_H

#include "base/rng.h"
#include "base/str.h"

/* A distribution: rows (permille, value) from 0 to 1000, values rising. */
struct wz_quantile { uint32_t permille, value; };
extern const struct wz_quantile wz_philly_run_s[], wz_acme_run_s[], wz_openb_run_s[];

struct wz_life {
	const char *name, *summary;
	const struct wz_quantile *seconds; /* NULL: exponential */
	uint64_t mean_s;                   /* of the exponential */
};
extern const struct wz_life wz_lives[]; /* ends with a NULL name; the first is the default */
const struct wz_life *wz_life_find(struct wz_str name); /* or NULL */

uint64_t wz_life_mean_us(const struct wz_life *l);
uint64_t wz_life_draw_us(const struct wz_life *l, struct wz_rng *rng);
uint64_t wz_life_residual_us(const struct wz_life *l, struct wz_rng *rng);

/* Exponential with this mean, its tail not cut: a geometric number of halvings, and a table within the last one. Off from
 * -log(u) by at most 3e-5 of the mean. `mean` below 2^60. */
uint64_t wz_exponential(struct wz_rng *rng, uint64_t mean);

#endif
