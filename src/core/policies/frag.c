/* SPDX-License-Identifier: Apache-2.0 */
/* The fragmentation measure, see frag.h. W x F stays below 2^57: 512 weights of 32 bits, 64 devices of 1000 milli. */
#include "base/fix.h"
#include "core/policies/frag.h"

#include <string.h>

_Static_assert(sizeof(struct wz_frag) <= WZ_POLICY_STATE_MAX, "a policy's state");

/* 10^12 x 1000 ln(k / (100 - k)) for k = 51..99 */
static const int64_t logit_pico[49] = {
#include "core/policies/sigmoid.inc"
};

/* step[k] = ceil(W T_k), T_k = 1000 ln(k / (100 - k)). T_k is irrational but for T_50 = 0, so ceil is truncation plus one
 * above zero and truncation below. */
static void make_steps(struct wz_frag *f)
{
	f->step[0] = INT64_MIN;
	for (int k = 1; k < 50; k++) {
		int64_t t = wz_muldiv(logit_pico[49 - k], f->weight, 1000000000000);
		f->step[k] = -t;
		f->step[100 - k] = t + 1;
	}
	f->step[50] = 0;
}

/* The targets that take GPU, by size, in the order of the mix among equals. */
static uint32_t sort_targets(const struct wz_shape *shapes, const struct wz_mix *mix, uint32_t n, uint16_t *ret)
{
	uint32_t len = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct wz_shape *s = &shapes[mix[i].shape];
		if (s->count == 0 || s->milli <= 0)
			continue;
		uint32_t at = len++;
		for (; at > 0 && shapes[mix[ret[at - 1]].shape].milli > s->milli; at--)
			ret[at] = ret[at - 1];
		ret[at] = (uint16_t)i;
	}
	return len;
}

static void add_target(struct wz_frag *f, const struct wz_shape *s, uint32_t weight)
{
	uint32_t m = f->n++;
	if (f->n_sizes == 0 || f->size[f->n_sizes - 1] != s->milli) {
		f->size[f->n_sizes] = s->milli;
		f->first[f->n_sizes++] = (uint16_t)m;
	}
	f->first[f->n_sizes] = (uint16_t)f->n;
	f->count[m] = (uint16_t)(s->count < UINT16_MAX ? s->count : UINT16_MAX);
	f->cpu[m] = s->cpu;
	f->w[m] = weight;
	for (uint32_t t = 0; t <= WZ_MODELS_MAX; t++)
		if (s->any_model || (t < WZ_MODELS_MAX && wz_model_set_has(&s->allowed, t)))
			f->takes[t][m / 64] |= 1ULL << (m & 63);
}

bool wz_frag_prepare(struct wz_frag *f, const struct wz_policy_ctx *ctx)
{
	struct wz_mix mix[WZ_FRAG_TARGETS_MAX];
	uint16_t by_size[WZ_FRAG_TARGETS_MAX];
	struct wz_frag old;
	memcpy(&old, f, sizeof(old));
	memset(f, 0, sizeof(*f));
	uint32_t n = wz_demand_mix(ctx->demand, mix, WZ_FRAG_TARGETS_MAX);
	for (uint32_t i = 0; i < n; i++)
		f->weight += mix[i].weight;
	uint32_t len = sort_targets(ctx->shapes->shape, mix, n, by_size);
	for (uint32_t i = 0; i < len; i++)
		add_target(f, &ctx->shapes->shape[mix[by_size[i]].shape], mix[by_size[i]].weight);
	make_steps(f);
	return memcmp(&old, f, sizeof(old)) != 0;
}

static const uint64_t *takes_of(const struct wz_frag *f, const struct wz_node *node)
{
	return f->takes[node->model < WZ_MODELS_MAX ? node->model : WZ_MODELS_MAX];
}

/* Of one size: devices with that much free, and how much they have together (U). */
struct room {
	int32_t fit, usable;
};

static inline struct room measure(const int32_t *milli, uint32_t n_dev, int32_t size)
{
	struct room r = {0, 0};
	for (uint32_t i = 0; i < n_dev; i++) {
		r.fit += milli[i] >= size;
		r.usable += milli[i] >= size ? milli[i] : 0;
	}
	return r;
}

/* The weight of target m when this many devices fit it and this CPU is free: all or nothing. */
static inline int64_t served(const struct wz_frag *f, uint32_t m, int32_t fit, int64_t cpu)
{
	return f->w[m] & -(int64_t)((f->count[m] <= fit) & (f->cpu[m] <= cpu));
}

static int64_t usable(const struct wz_frag *f, const struct wz_node *node, int64_t cpu, const int32_t *milli)
{
	const uint64_t *takes = takes_of(f, node);
	int64_t g = 0;
	for (uint32_t s = 0; s < f->n_sizes; s++) {
		struct room r = measure(milli, node->n_dev, f->size[s]);
		int64_t w = 0;
		if (r.fit == 0)
			break; /* nor any larger size */
		for (uint32_t m = f->first[s]; m < f->first[s + 1]; m++)
			if (takes[m / 64] >> (m & 63) & 1)
				w += served(f, m, r.fit, cpu);
		g += r.usable * w;
	}
	return g;
}

int64_t wz_frag_of(const struct wz_frag *f, const struct wz_node *node, int64_t cpu_free, const int32_t *milli)
{
	int64_t free = 0;
	for (uint32_t i = 0; i < node->n_dev; i++)
		free += milli[i] > 0 ? milli[i] : 0;
	return f->weight * free - usable(f, node, cpu_free, milli);
}

int64_t wz_frag_order_weight(const void *state, const struct wz_shape *shape)
{
	(void)state;
	(void)shape;
	return 0;
}

int64_t wz_frag_score(const struct wz_frag *f, int64_t difference)
{
	int64_t k = 0;
	for (int64_t bit = 64; bit; bit /= 2)
		if (k + bit < 100 && f->step[k + bit] <= difference)
			k += bit;
	return k;
}

/* G after, for any number of devices: measured anew. */
static int64_t usable_after(const struct wz_frag *f, const struct wz_view *v, uint64_t devices, int64_t cpu)
{
	int32_t milli[WZ_NODE_DEVICES_MAX];
	memcpy(milli, v->milli, v->node->n_dev * sizeof(*milli));
	for (uint64_t m = devices; m; m &= m - 1)
		milli[__builtin_ctzll(m)] -= v->need.milli;
	return usable(f, v->node, cpu, milli);
}

/* What one pass over sizes and targets learns for all candidate devices. Of each size: U, and the weight served with the
 * CPU of afterwards when as many devices fit as before (keep), and when one less does (lose). */
struct survey {
	uint32_t n; /* sizes that some device fits: the smallest ones */
	int64_t change; /* of G for want of CPU alone */
	int32_t usable[WZ_FRAG_TARGETS_MAX];
	int64_t keep[WZ_FRAG_TARGETS_MAX], lose[WZ_FRAG_TARGETS_MAX];
};

static void survey(const struct wz_frag *f, const struct wz_view *v, int64_t cpu_after, struct survey *ret)
{
	const uint64_t *takes = takes_of(f, v->node);
	int64_t change = 0;
	uint32_t s = 0;
	for (; s < f->n_sizes; s++) {
		struct room r = measure(v->milli, v->node->n_dev, f->size[s]);
		int64_t before = 0, keep = 0, lose = 0;
		if (r.fit == 0)
			break;
		for (uint32_t m = f->first[s]; m < f->first[s + 1]; m++) {
			if (!(takes[m / 64] >> (m & 63) & 1))
				continue;
			before += served(f, m, r.fit, v->node->cpu_free);
			keep += served(f, m, r.fit, cpu_after);
			lose += served(f, m, r.fit - 1, cpu_after);
		}
		change += r.usable * (keep - before);
		ret->usable[s] = r.usable;
		ret->keep[s] = keep;
		ret->lose[s] = lose;
	}
	ret->n = s;
	ret->change = change;
}

/* The change of G when a device goes from r to r - d. */
static int64_t change_at(const struct wz_frag *f, const struct survey *y, int32_t r, int32_t d)
{
	int64_t g = y->change;
	uint32_t s = 0;
	for (; s < y->n && f->size[s] <= r - d; s++)
		g -= d * y->keep[s];
	for (; s < y->n && f->size[s] <= r; s++)
		g += (y->usable[s] - r) * y->lose[s] - y->usable[s] * y->keep[s];
	return g;
}

/* One device: the best difference. Equal remainders give equal results, so each is tried once, at its lowest index. */
static int64_t best_device(const struct wz_frag *f, const struct wz_view *v, const struct survey *y, bool stepped,
        uint64_t *ret_devices)
{
	int32_t seen[WZ_NODE_DEVICES_MAX];
	uint32_t n_seen = 0;
	int64_t best = INT64_MIN, best_rank = INT64_MIN;
	for (uint32_t i = 0; i < v->node->n_dev; i++) {
		if (!wz_device_fits(v, i))
			continue;
		uint32_t k = 0;
		while (k < n_seen && seen[k] != v->milli[i])
			k++;
		if (k < n_seen)
			continue;
		seen[n_seen++] = v->milli[i];
		int64_t diff = f->weight * v->need.milli + change_at(f, y, v->milli[i], v->need.milli);
		int64_t rank = stepped ? wz_frag_score(f, diff) : diff;
		if (rank > best_rank) {
			best_rank = rank;
			*ret_devices = 1ULL << i;
		}
		best = diff > best ? diff : best;
	}
	return best;
}

int64_t wz_frag_best(const struct wz_frag *f, const struct wz_shape *shape, const struct wz_view *v, bool stepped,
        uint64_t *ret_devices)
{
	int64_t cpu_after = v->node->cpu_free - shape->cpu, difference;
	uint64_t devices = 0;
	if (v->need.count <= 1) {
		struct survey y;
		survey(f, v, cpu_after, &y);
		difference = v->need.count ? best_device(f, v, &y, stepped, &devices) : y.change;
	} else {
		devices = wz_choose_tightest(v);
		difference = f->weight * wz_need_milli(v) + usable_after(f, v, devices, cpu_after) -
		             usable(f, v->node, v->node->cpu_free, v->milli);
	}
	if (ret_devices)
		*ret_devices = devices;
	return difference;
}
