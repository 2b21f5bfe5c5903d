/* SPDX-License-Identifier: Apache-2.0 */
/* Hard slices of a card (MIG). A card that can be cut anew is reported as neighbouring devices with one `card` number: one
 * for each memory slice at which an instance may begin, in that order. Each is a *slot*: an instance (its partition kind
 * says how many slices it takes from there on), or empty; slot 0 with kind WHOLE is the card uncut, which takes all.
 *
 * What is legal is the hardware's: every kind has its starts, and instances must not overlap. `open` counts the legal sets
 * of instances that the slices which are not taken still allow; an instance is put where it leaves the most of them.
 * The tables are constants made from data/partitions.csv. No state, no errors; O(kinds) unless said. */
#ifndef WZ_CORE_PARTITION_H
#define WZ_CORE_PARTITION_H

#include "base/str.h"
#include "core/types.h"

#define WZ_PARTITION_WHOLE 0u
#define WZ_PARTITION_EMPTY 0xffffu /* a slot at which an instance could begin */
#define WZ_PARTITION_AUTO 0xffffu /* of a request: the smallest kind that holds what is asked */
#define WZ_CARD_SLOTS_MAX 8u

struct wz_partition_kind {
	const char *name; /* "1g.10gb" */
	uint16_t number; /* in events and journals; for ever */
	uint8_t geometry; /* cards that are cut alike; from 1 */
	uint8_t size; /* memory slices */
	uint8_t starts; /* bit s: may begin at memory slice s */
	uint8_t max; /* instances on one card */
	uint8_t plain; /* without attributes (+me, +gfx, ...) */
	int32_t milli; /* part of the card's compute, rounded down */
	int64_t mem; /* bytes; 0 not known */
};

const struct wz_partition_kind *wz_partition_find(uint16_t number); /* NULL: not known */
/* The first kind of that name, whose number stands for the name in a profile; NULL. */
const struct wz_partition_kind *wz_partition_named(struct wz_str name);
/* Kinds in the order of their numbers, for listing: NULL after the last. */
const struct wz_partition_kind *wz_partition_at(uint32_t i);
uint8_t wz_partition_geometry(struct wz_str model); /* of a canonical model name; 0: cannot be cut */
uint8_t wz_partition_slices(uint8_t geometry); /* memory slices; 0 for 0 */

/* Slices that an instance of this kind takes at a start. */
static inline uint8_t wz_partition_span(const struct wz_partition_kind *k, uint32_t start)
{
	return (uint8_t)(((1u << k->size) - 1) << start);
}

/* Legal sets of plain instances, the empty one included, within the slices that are not taken. O(256 x kinds). */
uint32_t wz_partition_open(uint8_t geometry, uint8_t taken);

/* Where to begin an instance of kind k on a card with these slices taken: the start that leaves the most legal sets, the
 * highest of equal ones; -1 when none is free. *ret_open (may be NULL): how many are left. */
int wz_partition_start(const struct wz_partition_kind *k, uint8_t taken, uint32_t *ret_open);

/* Does an instance of this kind serve a request: by name (`mig` is a kind's number), or, AUTO, by being no smaller in
 * compute and memory? A kind whose memory is not known holds none that is asked for. */
bool wz_partition_serves(const struct wz_partition_kind *k, uint16_t mig, int32_t milli, int64_t mem);

#endif
