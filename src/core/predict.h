/* SPDX-License-Identifier: Apache-2.0 */
/* What work will take, from what such work took: run time, memory, utilisation, each as a log-normal quantile.
 *
 * Four tables, each shrunk towards the one above it: template, user x size, queue, all. A cell keeps an exponentially decayed
 * mean and variance of log2 (half-life HALF runs); a cell with little weight leans on its parent. The 80 % band is widened or
 * narrowed online until it holds 80 % of what ends (adaptive conformal: Gibbs and Candes, NeurIPS 2021). "Unknown" is a legal
 * answer: when neither template nor user x size has ended three times, or the spread is wider than a factor e^1.5 either way.
 *
 * Pure, integers only; the same calls give the same answers everywhere. Memory: a cell for each key seen, at most
 * WZ_PREDICT_CELLS_MAX (then new keys go unlearned). Asking and learning are O(1). One thread. */
#ifndef WZ_CORE_PREDICT_H
#define WZ_CORE_PREDICT_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

#define WZ_PREDICT_CELLS_MAX (1u << 22)

enum wz_predict_what { WZ_PREDICT_RUN, WZ_PREDICT_MEMORY, WZ_PREDICT_UTIL, WZ_PREDICT_WHATS };
enum wz_predict_level { WZ_PREDICT_ALL, WZ_PREDICT_QUEUE, WZ_PREDICT_USER, WZ_PREDICT_TEMPLATE, WZ_PREDICT_LEVELS };

struct wz_predict_key {
	uint32_t template_, user, queue, gpus;
};

struct wz_predict_answer {
	bool known;
	uint64_t median, low, high; /* the band low..high holds 80 %; given whenever anything was learned */
	uint32_t runs; /* of the finest cell that knows it, decayed, rounded down */
	enum wz_predict_level from;
};

struct wz_predict;
int wz_predict_new(const struct wz_mem *mem, struct wz_predict **ret); /* -ENOMEM */
void wz_predict_free(struct wz_predict *p); /* accepts NULL */

struct wz_predict_answer wz_predict_ask(
        const struct wz_predict *p, enum wz_predict_what what, const struct wz_predict_key *k);
/* `value` >= 1 in the unit in which answers are wanted: microseconds, bytes, milli. -ENOMEM: nothing was learned. */
int wz_predict_learn(
        struct wz_predict *p, enum wz_predict_what what, const struct wz_predict_key *k, uint64_t value);

uint64_t wz_predict_digest(const struct wz_predict *p); /* of all that decides answers; O(cells) */

#endif
