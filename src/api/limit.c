/* SPDX-License-Identifier: Apache-2.0 */
#include "api/limit.h"

#include "base/hash.h"

#define TOKEN 1000000

static struct wz_limit_slot *slot_of(struct wz_limit *l, uint64_t key, int64_t full, int64_t now_us)
{
	uint32_t base = (uint32_t)(wz_mix64(key) % (WZ_LIMIT_SLOTS / WZ_LIMIT_WAYS)) * WZ_LIMIT_WAYS;
	struct wz_limit_slot *oldest = &l->slots[base];
	for (uint32_t i = 0; i < WZ_LIMIT_WAYS; i++) {
		struct wz_limit_slot *s = &l->slots[base + i];
		if (s->key == key)
			return s;
		if (!s->key && oldest->key)
			oldest = s;
		else if (oldest->key && s->at_us < oldest->at_us)
			oldest = s;
	}
	*oldest = (struct wz_limit_slot){key, full, now_us};
	return oldest;
}

int64_t wz_limit_take(struct wz_limit *l, struct wz_limit_rate rate, uint64_t key, uint32_t cost, int64_t now_us)
{
	if (!rate.per_s || !cost)
		return 0;
	if (!key)
		key = 1;
	int64_t full = (int64_t)(rate.burst ? rate.burst : 1) * TOKEN;
	int64_t want = (int64_t)cost * TOKEN < full ? (int64_t)cost * TOKEN : full;
	struct wz_limit_slot *s = slot_of(l, key, full, now_us);
	int64_t passed = now_us > s->at_us ? now_us - s->at_us : 0;
	if (passed > 1000000000) /* keeps the product within 64 bits */
		passed = 1000000000;
	/* per_s tokens a second are per_s millionths a microsecond: exact, nothing is rounded. */
	int64_t gain = passed * rate.per_s;
	s->micro = s->micro + gain < full ? s->micro + gain : full;
	if (now_us > s->at_us)
		s->at_us = now_us;
	if (s->micro >= want) {
		s->micro -= want;
		return 0;
	}
	return (want - s->micro + rate.per_s - 1) / rate.per_s;
}
