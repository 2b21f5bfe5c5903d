/* SPDX-License-Identifier: Apache-2.0 */
/* All levels lie in one block, leaves first, every group of eight on its own cache line. A set looks at the parent
 * first: a value above it becomes it, a value that was below it and stays below changes nothing, and only when the
 * old value *was* the maximum is the group scanned. So most sets touch one leaf and one parent. The top level is one
 * group and has no parent. */
#include "base/maxtree.h"

#include "base/check.h"

#include <errno.h>

#define FAN WZ_MAXTREE_FAN
#define LINE 64u

static int64_t max2(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t group_max(const int64_t *g)
{
	int64_t a = max2(max2(g[0], g[1]), max2(g[2], g[3]));
	int64_t b = max2(max2(g[4], g[5]), max2(g[6], g[7]));
	return max2(a, b);
}

static uint32_t group_find(const int64_t *g, int64_t v)
{
	unsigned mask = 1u << FAN;
	for (unsigned i = 0; i < FAN; i++)
		mask |= (unsigned)(g[i] == v) << i;
	return (uint32_t)__builtin_ctz(mask);
}

static size_t groups_of(size_t n)
{
	return (n + FAN - 1) / FAN;
}

int wz_maxtree_init(struct wz_maxtree *t, const struct wz_mem *mem, uint32_t n)
{
	size_t total = 0, count = n;
	int64_t *p;
	wz_check(n >= 1);
	*t = (struct wz_maxtree){.mem = mem, .n = n};
	do {
		wz_check(t->levels < WZ_MAXTREE_LEVELS);
		t->levels++;
		count = groups_of(count);
		total += count * FAN;
	} while (count > 1);
	t->block_size = total * sizeof *p + LINE;
	t->block = wz_mem_alloc(mem, t->block_size);
	if (!t->block) {
		*t = (struct wz_maxtree){.mem = mem};
		return -ENOMEM;
	}
	p = t->block + (LINE - (uintptr_t)t->block % LINE) % LINE / sizeof *p;
	for (size_t i = 0; i < total; i++)
		p[i] = INT64_MIN;
	count = n;
	for (uint32_t k = 0; k < t->levels; k++) {
		t->level[k] = p;
		count = groups_of(count);
		p += count * FAN;
	}
	return 0;
}

void wz_maxtree_release(struct wz_maxtree *t)
{
	wz_mem_free(t->mem, t->block, t->block_size);
	*t = (struct wz_maxtree){.mem = t->mem};
}

void wz_maxtree_set(struct wz_maxtree *t, uint32_t pos, int64_t v)
{
	int64_t old;
	wz_check(pos < t->n);
	old = t->level[0][pos];
	t->level[0][pos] = v;
	for (uint32_t k = 0; k + 1 < t->levels; k++) {
		uint32_t g = pos / FAN;
		int64_t *parent = &t->level[k + 1][g], before = *parent;
		if (v < before) {
			if (old < before)
				return;
			v = group_max(t->level[k] + (size_t)g * FAN);
		}
		if (v == before)
			return;
		*parent = v;
		old = before;
		pos = g;
	}
}

void wz_maxtree_rebuild(struct wz_maxtree *t)
{
	size_t count = t->n;
	for (uint32_t k = 0; k + 1 < t->levels; k++) {
		count = groups_of(count);
		for (size_t g = 0; g < count; g++)
			t->level[k + 1][g] = group_max(t->level[k] + g * FAN);
	}
}

int64_t wz_maxtree_max(const struct wz_maxtree *t)
{
	return group_max(t->level[t->levels - 1]);
}

uint32_t wz_maxtree_argmax(const struct wz_maxtree *t)
{
	int64_t v = wz_maxtree_max(t);
	uint32_t pos = 0;
	for (uint32_t k = t->levels; k-- > 0;)
		pos = pos * FAN + group_find(t->level[k] + (size_t)pos * FAN, v);
	return pos;
}
