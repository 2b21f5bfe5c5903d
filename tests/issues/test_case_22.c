/* SPDX-License-Identifier: Apache-2.0 */
/* Case 22: 16 halves for 8 cards, submitted at once: every card has two, whatever the order of the answers, and with a fifth of
 * the starts refused; a refusal is not repeated without a pause. */
#include "core/world.h"

#include "base/rng.h"

static void test_fractions(void)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct world w;
		struct wz_rng rng;
		unsigned starts = 0;
		wz_rng_seed(&rng, seed);
		world_init_opt(&w, (struct wz_core_options){.seed = seed});
		node_of(&w, 0, 8, "T4");
		for (uint64_t j = 1; j <= 16; j++)
			submit(&w, j, "gpu-share=50% cpus=1");
		for (unsigned t = 0; t < 40; t++) {
			uint32_t order[64], n;
			at(&w, t * 60);
			starts += step(&w);
			n = w.plan.n < 64 ? w.plan.n : 64;
			for (uint32_t i = 0; i < n; i++)
				order[i] = i;
			wz_rng_shuffle_u32(&rng, order, n);
			for (uint32_t i = 0; i < n; i++)
				if (w.plan.effect[order[i]].kind == WZ_EF_START)
					ack(&w,
					        seed % 2 && wz_rng_below(&rng, 5) == 0 ? WZ_EV_EFFECT_REFUSED
					                                               : WZ_EV_EFFECT_CONFIRMED,
					        w.plan.effect[order[i]].id);
			for (unsigned d = 0; d < 8; d++)
				tap_ok(wz_core_model(w.c)->dev_milli[d] >= 0, "card %u is over-packed", d);
		}
		for (unsigned d = 0; d < 8; d++)
			tap_eq_i64(wz_core_model(w.c)->dev_milli[d], 0, "seed %" PRIu64 ": card %u has two halves",
			        seed, d);
		tap_ok(starts <= 16 * 12, "seed %" PRIu64 ": %u starts in 40 minutes", seed, starts);
		world_free(&w);
	}
}

int main(void)
{
	tap_run(test_fractions);
	return tap_done();
}
