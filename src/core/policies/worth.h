/* SPDX-License-Identifier: Apache-2.0 */
/* What the free part of a device will finally sell, learned from the shares that arrive.
 *
 * u[r], r in hundredths of a device: the part of a remainder r that is expected to be used in the end. u[100] = 1. A
 * remainder of 19 beside a task of 81 is worth next to nothing when no expected share is below 19; 53 beside 47 is worth
 * nearly 0.47 when 47s are frequent. Taking a share d from r costs u[r] - u[r - d] and earns d: the difference is waste.
 *
 * The table is the fixed point of its own use, found by simulation (Monte-Carlo policy iteration): a stream of shares
 * drawn from the arrived mix is placed greedily by the table at hand; the transitions seen give the next table. Counts
 * decay by 7/8 an iteration and are kept over epochs: without that averaging the iteration swings between two tables.
 * Integers only, Q16. Plain data; part of a policy's state. */
#ifndef WZ_CORE_POLICIES_WORTH_H
#define WZ_CORE_POLICIES_WORTH_H

#include <stdint.h>

#define WZ_ONE 65536     /* one device, Q16 */
#define WZ_WORTH_N 101   /* 0..100 hundredths */

struct wz_worth {
	int32_t u[WZ_WORTH_N];
	uint32_t learned;                        /* epochs of learning */
	uint32_t taken[WZ_WORTH_N][WZ_WORTH_N];  /* Q8, decayed: a share d went to a remainder r */
	uint32_t ended[WZ_WORTH_N];              /* Q8, decayed: remainders r that stayed to the end */
};

/* One epoch. share[d], d in 1..99: arrivals of a share of d hundredths; share[100]: whole devices asked for; all may be
 * scaled. Seeded by the number of epochs. About 0.3 ms. */
void wz_worth_learn(struct wz_worth *w, const uint64_t share[WZ_WORTH_N]);

/* Waste, Q16, of taking `take` milli from a device with `free` milli: >= 0 mostly; negative when the share fits better
 * than was expected. */
static inline int64_t wz_worth_waste(const struct wz_worth *w, int32_t free, int32_t take)
{
	return (int64_t)w->u[free / 10] - w->u[(free - take) / 10] - (int64_t)take * WZ_ONE / 1000;
}

#endif
