/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict.h"

#include "base/fixlog.h"
#include "base/hash.h"
#include "base/map.h"

#include <errno.h>

#define DECAY_Q16 63304 /* 2^(-1/20): weight halves in 20 runs */
#define SHRINK_Q16 (2 * WZ_Q16) /* the parent counts as so many runs */
#define RUNS_MIN_Q16 (3 * WZ_Q16 - WZ_Q16 / 4) /* three runs, decayed */
#define SPREAD_MAX_Q16 141823 /* 1.5 in natural logarithms, in log2 */
#define BAND_Q16 83990 /* 1.2816 sigmas: 80 % of a normal */
#define BAND_STEP_Q16 1311 /* 0.02 */
#define BAND_MIN_Q16 (WZ_Q16 / 2)
#define BAND_MAX_Q16 (4 * WZ_Q16)

struct cell {
	int64_t weight, mean, var;
}; /* Q16; var of log2, Q16 */

struct wz_predict {
	const struct wz_mem *mem;
	struct wz_map by_key;
	struct cell *cell; /* [n][WZ_PREDICT_WHATS] */
	uint32_t n, cap;
	int64_t band[WZ_PREDICT_WHATS];
};

int wz_predict_new(const struct wz_mem *mem, struct wz_predict **ret)
{
	struct wz_predict *p = wz_mem_zalloc(mem, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->mem = mem;
	wz_map_init(&p->by_key, mem);
	for (unsigned i = 0; i < WZ_PREDICT_WHATS; i++)
		p->band[i] = BAND_Q16;
	*ret = p;
	return 0;
}

void wz_predict_free(struct wz_predict *p)
{
	if (!p)
		return;
	wz_map_release(&p->by_key);
	wz_grow_free(p->mem, &p->cell, &p->cap, WZ_PREDICT_WHATS * sizeof(*p->cell));
	wz_mem_free(p->mem, p, sizeof(*p));
}

static uint64_t key_of(enum wz_predict_level level, const struct wz_predict_key *k)
{
	uint64_t size = k->gpus ? 32 - (uint64_t)__builtin_clz(k->gpus) : 0; /* octave of the gang */
	uint64_t h = wz_mix64(level);

	if (level == WZ_PREDICT_TEMPLATE)
		h = wz_hash_u64(h, (uint64_t)k->template_ << 8 | size);
	else if (level == WZ_PREDICT_USER)
		h = wz_hash_u64(h, (uint64_t)k->user << 8 | size);
	else if (level == WZ_PREDICT_QUEUE)
		h = wz_hash_u64(h, k->queue);
	return h;
}

/* Mean and variance at the finest level, each level leaning on the one above. */
struct belief {
	int64_t mean, var, weight;
	enum wz_predict_level from;
	bool any, known;
};

static struct belief believe(const struct wz_predict *p, enum wz_predict_what what, const struct wz_predict_key *k)
{
	struct belief b = {0};

	for (int level = WZ_PREDICT_ALL; level < WZ_PREDICT_LEVELS; level++) {
		uint32_t at = wz_map_get(&p->by_key, key_of((enum wz_predict_level)level, k));
		const struct cell *c = at == WZ_NONE ? NULL : &p->cell[(size_t)at * WZ_PREDICT_WHATS + what];
		if (!c || c->weight == 0)
			continue;
		if (!b.any) {
			b.mean = c->mean;
			b.var = c->var;
		} else {
			int64_t all = c->weight + SHRINK_Q16, gap = c->mean - b.mean;
			int64_t var = (c->weight * c->var + SHRINK_Q16 * b.var) / all;
			b.mean += c->weight * gap / all;
			b.var = var;
		}
		b.any = true;
		b.weight = c->weight;
		b.from = (enum wz_predict_level)level;
		b.known = b.known || (level >= WZ_PREDICT_USER && c->weight >= RUNS_MIN_Q16);
	}
	return b;
}

static int64_t spread(const struct belief *b)
{
	return (int64_t)wz_isqrt((uint64_t)(b->var > 0 ? b->var : 0) << 16);
}

static uint64_t power(int64_t x)
{
	return wz_exp2_q16(x < 0 ? 0 : x > INT32_MAX ? INT32_MAX : (int32_t)x);
}

struct wz_predict_answer wz_predict_ask(
        const struct wz_predict *p, enum wz_predict_what what, const struct wz_predict_key *k)
{
	struct belief b = believe(p, what, k);
	struct wz_predict_answer a = {.from = b.from, .runs = (uint32_t)(b.weight >> 16)};
	int64_t half = p->band[what] * spread(&b) >> 16;

	if (!b.any)
		return a;
	a.known = b.known && spread(&b) <= SPREAD_MAX_Q16;
	a.median = power(b.mean);
	a.low = power(b.mean - half);
	a.high = power(b.mean + half);
	return a;
}

static void cell_add(struct cell *c, int64_t x)
{
	int64_t w = (c->weight * DECAY_Q16 >> 16) + WZ_Q16, gap = x - c->mean, step = gap * WZ_Q16 / w;

	c->var = (w - WZ_Q16) * (c->var + (gap * step >> 16)) / w;
	c->mean += step;
	c->weight = w;
}

int wz_predict_learn(
        struct wz_predict *p, enum wz_predict_what what, const struct wz_predict_key *k, uint64_t value)
{
	struct belief b = believe(p, what, k);
	int64_t x = wz_log2_q16(value ? value : 1), half = p->band[what] * spread(&b) >> 16;
	uint32_t at[WZ_PREDICT_LEVELS];

	if (wz_grow(p->mem, &p->cell, &p->cap, p->n + WZ_PREDICT_LEVELS, WZ_PREDICT_WHATS * sizeof(*p->cell)) < 0)
		return -ENOMEM;
	for (int level = 0; level < WZ_PREDICT_LEVELS; level++) {
		uint64_t key = key_of((enum wz_predict_level)level, k);
		at[level] = wz_map_get(&p->by_key, key);
		if (at[level] != WZ_NONE || p->n >= WZ_PREDICT_CELLS_MAX)
			continue;
		if (wz_map_put(&p->by_key, key, p->n) < 0)
			return -ENOMEM;
		at[level] = p->n++;
	}
	for (int level = 0; level < WZ_PREDICT_LEVELS; level++)
		if (at[level] != WZ_NONE)
			cell_add(&p->cell[(size_t)at[level] * WZ_PREDICT_WHATS + what], x);
	if (b.any) {
		bool held = x >= b.mean - half && x <= b.mean + half;
		int64_t band = p->band[what] + (held ? -BAND_STEP_Q16 / 5 : BAND_STEP_Q16 * 4 / 5);
		p->band[what] = band < BAND_MIN_Q16 ? BAND_MIN_Q16 : band > BAND_MAX_Q16 ? BAND_MAX_Q16 : band;
	}
	return 0;
}

uint64_t wz_predict_digest(const struct wz_predict *p)
{
	uint64_t h = p->n;

	for (unsigned i = 0; i < WZ_PREDICT_WHATS; i++)
		h = wz_hash_u64(h, (uint64_t)p->band[i]);
	for (size_t i = 0; i < (size_t)p->n * WZ_PREDICT_WHATS; i++)
		h = wz_hash_u64(wz_hash_u64(wz_hash_u64(h, (uint64_t)p->cell[i].weight), (uint64_t)p->cell[i].mean),
		        (uint64_t)p->cell[i].var);
	return h;
}
