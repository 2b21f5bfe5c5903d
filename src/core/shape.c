/* SPDX-License-Identifier: Apache-2.0 */
/* A shape is compared and hashed as a row of words, in which no padding and nothing derived (special) takes part. */
#include "core/shape.h"

#include "core/partition.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#define SET_WORDS (WZ_MODELS_MAX / 64)
#define HASHED (9 + 2 * SET_WORDS)
#define WORDS (HASHED + 2)

struct words {
	uint64_t w[WORDS];
};

static struct words words_of(const struct wz_shape *s)
{
	struct words r = {{(uint64_t)s->cpu, (uint64_t)s->mem, (uint64_t)s->count << 32 | (uint32_t)s->milli,
	        (uint64_t)s->dev_mem, (uint64_t)s->dev_class_g << 32 | s->bw_gbps, (uint64_t)s->dev_mem_total,
	        (uint64_t)s->cu_milli, (uint64_t)s->free_pct << 32 | s->util_milli,
	        (uint64_t)s->mig << 32 | (uint64_t)s->link << 16 | (uint64_t)(s->link_preferred != 0) << 8 |
	                (s->any_model != 0)}};
	for (unsigned i = 0; i < SET_WORDS; i++) {
		r.w[9 + i] = s->allowed.w[i];
		r.w[9 + SET_WORDS + i] = s->first.w[i];
	}
	r.w[HASHED] = s->local_hash;
	r.w[HASHED + 1] = s->local; /* a number of this core: compared, not hashed */
	return r;
}

static uint64_t hash_words(const struct words *r)
{
	uint64_t h = HASHED;
	for (unsigned i = 0; i < HASHED; i++)
		h = wz_hash_u64(h, r->w[i]);
	return r->w[HASHED] ? wz_hash_u64(h, r->w[HASHED]) : h;
}

uint64_t wz_shape_hash(const struct wz_shape *s)
{
	struct words r = words_of(s);
	return hash_words(&r);
}

void wz_shapes_init(struct wz_shapes *t, const struct wz_mem *mem)
{
	*t = (struct wz_shapes){.mem = mem};
	wz_map_init(&t->by_hash, mem);
}

void wz_shapes_release(struct wz_shapes *t)
{
	wz_map_release(&t->by_hash);
	wz_grow_free(t->mem, &t->next, &t->next_cap, sizeof *t->next);
	wz_grow_free(t->mem, &t->shape, &t->cap, sizeof *t->shape);
	t->n = 0;
}

/* The models that are liked best: the first preference of which the exclusions leave something. */
static struct wz_model_set first_choice(const struct wz_profile *p, const struct wz_model_set *allowed)
{
	for (uint32_t t = 0; t < p->n_types; t++) {
		struct wz_model_set set;
		uint64_t any = 0;
		for (unsigned i = 0; i < SET_WORDS; i++) {
			set.w[i] = p->type[t].set.w[i] & allowed->w[i];
			any |= set.w[i];
		}
		if (any)
			return set;
	}
	return *allowed;
}

void wz_shape_of(const struct wz_profile *p, struct wz_shape *ret)
{
	struct wz_shape s;
	bool derived = p->cu_milli || p->gpu_mem_total_bytes;
	bool of_a_device = p->gpu_mem_bytes || p->gpu_mem_g || !p->any_model || p->free_pct || p->bw_gbps;
	memset(&s, 0, sizeof s);
	s.cpu = (int64_t)p->cpu_milli;
	s.mem = (int64_t)p->mem_bytes;
	s.count = p->gpus;
	if (p->share_milli || (!p->gpus && !derived && of_a_device))
		s.count = 1;
	if (s.count)
		s.milli = p->share_milli ? (int32_t)p->share_milli : WZ_WHOLE;
	s.dev_mem = (int64_t)p->gpu_mem_bytes;
	s.dev_class_g = p->gpu_mem_g;
	s.dev_mem_total = (int64_t)p->gpu_mem_total_bytes;
	s.cu_milli = (int64_t)p->cu_milli;
	s.bw_gbps = p->bw_gbps;
	s.free_pct = p->free_pct;
	s.util_milli = p->util_milli;
	s.mig = p->gpu_mig;
	if (s.mig) { /* what a kind has of compute is in the table; of kinds with one name the first stands for all */
		const struct wz_partition_kind *k = s.mig == WZ_PARTITION_AUTO ? NULL : wz_partition_find(s.mig);
		s.count = p->gpus ? p->gpus : 1;
		s.milli = k ? k->milli : p->share_milli ? (int32_t)p->share_milli : 1;
	}
	s.link = (uint8_t)p->link;
	s.link_preferred = p->link_preferred;
	s.any_model = p->any_model;
	s.allowed = p->allowed;
	if (p->any_model)
		for (unsigned i = 0; i < SET_WORDS; i++)
			s.allowed.w[i] = UINT64_MAX;
	s.first = first_choice(p, &s.allowed);
	s.special = wz_shape_special(&s);
	*ret = s;
}

int wz_shapes_intern(struct wz_shapes *t, const struct wz_shape *s, wz_shape_id *ret)
{
	struct words r = words_of(s);
	uint64_t hash = hash_words(&r);
	uint32_t head = wz_map_get(&t->by_hash, hash);
	for (uint32_t i = head; i != WZ_NONE; i = t->next[i]) {
		struct words other = words_of(&t->shape[i]);
		if (memcmp(&other, &r, sizeof r) == 0) {
			*ret = (wz_shape_id){i};
			return 0;
		}
	}
	if (t->n == WZ_SHAPES_MAX)
		return -E2BIG;
	if (wz_grow(t->mem, &t->shape, &t->cap, t->n + 1, sizeof *t->shape) < 0 ||
	        wz_grow(t->mem, &t->next, &t->next_cap, t->n + 1, sizeof *t->next) < 0)
		return -ENOMEM;
	t->next[t->n] = WZ_NONE;
	if (head != WZ_NONE) {
		t->next[t->n] = t->next[head];
		t->next[head] = t->n;
	} else if (wz_map_put(&t->by_hash, hash, t->n) < 0) {
		return -ENOMEM;
	}
	t->shape[t->n] = *s;
	*ret = (wz_shape_id){t->n++};
	return 0;
}

static int64_t div_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

/* As many devices as deliver the compute units and the total memory. One that is enough for the compute units gives the
 * share of itself that they are. */
static struct wz_need derive(const struct wz_shape *s, int64_t cu, int64_t mem)
{
	const struct wz_need none = {0, 0, 0, false};
	int64_t count = 1, milli = WZ_WHOLE;
	if (s->cu_milli && cu <= 0)
		return none;
	if (s->dev_mem_total && mem <= 0)
		return none;
	if (s->cu_milli && div_up(s->cu_milli, cu) > count)
		count = div_up(s->cu_milli, cu);
	if (s->dev_mem_total && div_up(s->dev_mem_total, mem) > count)
		count = div_up(s->dev_mem_total, mem);
	if (count > WZ_NODE_DEVICES_MAX)
		return none;
	if (count == 1 && s->cu_milli)
		milli = div_up(s->cu_milli * WZ_WHOLE, cu); /* at most 1000, since cu_milli <= cu */
	return (struct wz_need){(uint32_t)count, (int32_t)milli, 0, true};
}

struct wz_need wz_shape_need(const struct wz_shape *s, const struct wz_model *model, int64_t dev_mem_bytes)
{
	int64_t mem = dev_mem_bytes ? dev_mem_bytes : model ? (int64_t)model->mem_bytes : 0;
	int64_t cu = model ? (int64_t)model->cu_milli : 0;
	struct wz_need need = {s->count, s->milli, 0, true};
	int64_t least = s->dev_mem;
	if (s->count == 0) {
		if (!s->cu_milli && !s->dev_mem_total)
			return need;
		need = derive(s, cu, mem);
		if (!need.ok)
			return need;
	} else {
		if (s->cu_milli && (cu <= 0 || s->cu_milli > cu * s->count))
			need.ok = false;
		if (s->dev_mem_total && (mem <= 0 || s->dev_mem_total > wz_sat_mul(mem, s->count)))
			need.ok = false;
	}
	if (s->dev_mem_total && div_up(s->dev_mem_total, need.count) > least)
		least = div_up(s->dev_mem_total, need.count);
	if (mem && least > mem)
		need.ok = false;
	need.mem = least;
	if (!need.ok)
		need = (struct wz_need){0, 0, 0, false};
	return need;
}
