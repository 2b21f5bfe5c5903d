/* SPDX-License-Identifier: Apache-2.0 */
#include "core/partition.h"

#include "base/check.h"

#include "core/partition_data.inc"

#define N_KINDS WZ_ARRAY_LEN(kinds)

const struct wz_partition_kind *wz_partition_at(uint32_t i)
{
	return i < N_KINDS ? &kinds[i] : NULL;
}

const struct wz_partition_kind *wz_partition_find(uint16_t number)
{
	uint32_t lo = 0, hi = N_KINDS;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (kinds[mid].number == number)
			return &kinds[mid];
		if (kinds[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct wz_partition_kind *wz_partition_named(struct wz_str name)
{
	for (uint32_t i = 0; i < N_KINDS; i++)
		if (wz_str_eq(name, wz_str(kinds[i].name)))
			return &kinds[i];
	return NULL;
}

uint8_t wz_partition_geometry(struct wz_str model)
{
	for (uint32_t i = 0; i < WZ_ARRAY_LEN(geometry_of); i++)
		if (wz_str_eq(model, wz_str(geometry_of[i].name)))
			return geometry_of[i].geometry;
	return 0;
}

uint8_t wz_partition_slices(uint8_t geometry)
{
	return geometry < WZ_ARRAY_LEN(slices_of) ? slices_of[geometry] : 0;
}

/* ways[s]: legal sets within the free slices from s on. The lowest slice stays unused, or an instance begins there. */
uint32_t wz_partition_open(uint8_t geometry, uint8_t taken)
{
	uint32_t ways[WZ_CARD_SLOTS_MAX + 1], slices = wz_partition_slices(geometry);

	ways[slices] = 1;
	for (uint32_t s = slices; s-- > 0;) {
		ways[s] = ways[s + 1];
		for (uint32_t i = 0; i < N_KINDS; i++) {
			const struct wz_partition_kind *k = &kinds[i];
			if (k->geometry == geometry && k->plain && (k->starts >> s & 1) &&
			        !(taken & wz_partition_span(k, s)))
				ways[s] += ways[s + k->size];
		}
	}
	return ways[0];
}

int wz_partition_start(const struct wz_partition_kind *k, uint8_t taken, uint32_t *ret_open)
{
	uint32_t best_open = 0;
	int best = -1;

	for (uint32_t s = WZ_CARD_SLOTS_MAX; s-- > 0;) {
		uint8_t span = wz_partition_span(k, s);
		uint32_t left;
		if (!(k->starts >> s & 1) || (taken & span))
			continue;
		left = wz_partition_open(k->geometry, (uint8_t)(taken | span));
		if (best >= 0 && left <= best_open)
			continue;
		best = (int)s;
		best_open = left;
	}
	if (best >= 0 && ret_open)
		*ret_open = best_open;
	return best;
}

bool wz_partition_serves(const struct wz_partition_kind *k, uint16_t mig, int32_t milli, int64_t mem)
{
	const struct wz_partition_kind *named;

	if (mig == WZ_PARTITION_AUTO)
		return k->plain && k->milli >= milli && (mem == 0 || k->mem >= mem);
	named = wz_partition_find(mig);
	return named && wz_str_eq(wz_str(named->name), wz_str(k->name));
}
