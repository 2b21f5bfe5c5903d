/* SPDX-License-Identifier: Apache-2.0 */
/* Effects: everything the core asks a body to do. Life of an effect (spec/effects.md):
 *
 *	proposed --apply--> assumed --EFFECT_CONFIRMED--> confirmed
 *	                       |------EFFECT_REFUSED----> refused    (undone at once)
 *	                       `------deadline passed---> expired    (a stop is asked for; undone when that is confirmed)
 *
 * An effect has an id (never reused), a deadline, and names all that is needed to enact it. */
#ifndef WZ_CORE_EFFECT_H
#define WZ_CORE_EFFECT_H

#include "core/event.h"

enum wz_effect_kind {
	WZ_EF_START = 1,      /* start a task at a place */
	WZ_EF_STOP = 2,       /* stop a task and confirm only when nothing of it is alive */
	WZ_EF_PREEMPT = 3,    /* warn, await the checkpoint, stop, requeue */
	WZ_EF_MIGRATE = 4,
	WZ_EF_RESIZE = 5,     /* number of tasks of an elastic job */
	WZ_EF_RESHARE = 6,    /* another soft share on the same device */
	WZ_EF_SUSPEND = 7,
	WZ_EF_RESUME = 8,
	WZ_EF_CHECKPOINT = 9,
	WZ_EF_REPARTITION = 10,
	WZ_EF_THROTTLE = 11,  /* power cap */
	WZ_EF_HOLD = 12,      /* room held for a beneficiary or a reservation */
	WZ_EF_UNHOLD = 13,
	WZ_EF_EXPLAIN = 14,   /* why a waiting job did not start */
	WZ_EF_ALERT = 15,
	WZ_EF_ACQUIRE = 16,   /* take an offer: a node to buy */
	WZ_EF_RELEASE = 17,
};

enum wz_effect_state { WZ_EFFECT_PROPOSED, WZ_EFFECT_ASSUMED, WZ_EFFECT_CONFIRMED, WZ_EFFECT_REFUSED, WZ_EFFECT_EXPIRED };

struct wz_effect {
	uint32_t kind;        /* enum wz_effect_kind */
	uint64_t id;
	uint64_t deadline_us;
	uint64_t job;
	uint32_t task, attempt;
	uint32_t reason;      /* STOP, PREEMPT: enum wz_end; EXPLAIN: enum wz_reason */
	struct wz_place place; /* START, HOLD; PREEMPT of a move: where to */
};

/* The effects of one step. `complete` is false when the work budget ended it early, or when a queue took what had been kept
 * from borrowers who were looked at before: then the next step goes on, until
 * one is complete and every waiting job was looked at. */
struct wz_plan {
	const struct wz_mem *mem;
	struct wz_effect *effect;
	uint32_t n, cap;
	uint64_t work;        /* units used */
	bool complete;
};

void wz_plan_init(struct wz_plan *p, const struct wz_mem *mem);
void wz_plan_release(struct wz_plan *p);

#endif
