/* SPDX-License-Identifier: Apache-2.0 */
/* The hands of the simulated body: effects become acknowledgements, at once or late, some of them never, some twice.
 * With delay 0 and loss 0 an effect is confirmed as soon as it is enacted. A task that is warned (PREEMPT) needs up to
 * warn_us more for its checkpoint; HOLD, UNHOLD and EXPLAIN await no answer. */
#ifndef WZ_SIM_ENACT_H
#define WZ_SIM_ENACT_H

#include "base/rng.h"
#include "core/core.h"

struct wz_enact_options {
	uint64_t delay_us;    /* acknowledgements come uniformly within 0..delay */
	uint32_t loss_ppm;    /* lost ones, per million */
	uint32_t twice_ppm;   /* duplicated ones */
	uint32_t refuse_ppm;  /* starts, and attempts to freeze, that the node refuses */
	uint64_t warn_us;     /* a checkpoint takes uniformly 0..warn_us */
	uint64_t seed;
};

struct wz_reply { uint64_t due_us, effect, number; bool refused; };
struct wz_enact {
	struct wz_enact_options o;
	const struct wz_mem *mem;
	struct wz_rng rng;
	struct wz_reply *heap;  /* by (due, number) */
	uint32_t n, cap;
	uint64_t next_number;
	uint64_t lost, refused, twice;
};

void wz_enact_init(struct wz_enact *x, const struct wz_mem *mem, const struct wz_enact_options *o);
void wz_enact_release(struct wz_enact *x);
/* Takes one effect that was applied to the core. Immediate acknowledgements are applied before it returns. */
int wz_enact_effect(struct wz_enact *x, struct wz_core *c, const struct wz_effect *e, struct wz_err *err);
/* Applies the acknowledgements due until `now_us`, in order of their time. */
int wz_enact_until(struct wz_enact *x, struct wz_core *c, uint64_t now_us, struct wz_err *err);

#endif
