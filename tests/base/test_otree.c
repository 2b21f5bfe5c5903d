/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/otree.h"
#include "base/rng.h"
#include "os/mem.h"

enum { N = 64 };
struct model {
	bool in[N];
	struct wz_okey key[N];
	int64_t weight[N];
};

static uint32_t model_after(const struct model *m, struct wz_okey key, uint32_t i)
{
	uint32_t best = WZ_NONE;
	for (uint32_t k = 0; k < N; k++)
		if (m->in[k] && wz_okey_less(key, i, m->key[k], k) &&
		        (best == WZ_NONE || wz_okey_less(m->key[k], k, m->key[best], best)))
			best = k;
	return best;
}

static void check_queries(const struct model *m, const struct wz_opool *p, wz_otree t, struct wz_rng *rng)
{
	struct wz_okey key = {(int64_t)wz_rng_below(rng, 8), (int64_t)wz_rng_below(rng, 4)};
	uint32_t i = (uint32_t)wz_rng_below(rng, N), k = 0;
	int64_t sum = 0, room, left;

	for (k = 0; k < N; k++)
		sum += m->in[k] && wz_okey_less(key, i, m->key[k], k) ? m->weight[k] : 0;
	tap_eq_i64(wz_otree_sum_after(p, t, key, i), sum, "the sum behind a key");
	tap_eq_i64(wz_otree_after(p, t, key, i), model_after(m, key, i), "the first behind a key");
	k = wz_otree_after(p, t, key, i);
	if (k == WZ_NONE)
		return;
	tap_eq_i64(wz_otree_next(p, k), model_after(m, m->key[k], k), "the next");
	room = left = (int64_t)wz_rng_below(rng, 60);
	uint32_t got = wz_otree_overflow(p, k, &room), want = k;
	while (want != WZ_NONE && m->weight[want] <= left) {
		left -= m->weight[want];
		want = model_after(m, m->key[want], want);
	}
	tap_eq_i64(got, want, "the first that has no room");
	if (got != WZ_NONE)
		tap_eq_i64(room, left, "what is left before it");
}

static void test_against_a_list(void)
{
	struct wz_opool p;
	struct model m = {0};
	wz_otree t = {WZ_NONE};
	struct wz_rng rng;

	wz_rng_seed(&rng, 5);
	tap_require(wz_opool_init(&p, wz_os_mem(), N) == 0, "memory");
	for (int step = 0; step < 40000; step++) {
		uint32_t i = (uint32_t)wz_rng_below(&rng, N);
		if (m.in[i]) {
			wz_otree_remove(&p, &t, i);
		} else {
			m.key[i] = (struct wz_okey){(int64_t)wz_rng_below(&rng, 8), (int64_t)wz_rng_below(&rng, 4)};
			m.weight[i] = (int64_t)wz_rng_below(&rng, 9);
			wz_otree_add(&p, &t, i, m.key[i], m.weight[i]);
		}
		m.in[i] = !m.in[i];
		check_queries(&m, &p, t, &rng);
	}
	wz_opool_release(&p);
}

int main(void)
{
	tap_run(test_against_a_list);
	return tap_done();
}
