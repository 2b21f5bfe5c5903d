/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing in tables of a power of two. wz_map grows at 5/8 full and deletes by shifting
 * back the entries that probed past the hole, so a lookup ends at the first free slot however many deletions came
 * before. Keys and values lie in one block (keys first) but in separate arrays: a probe of 64 bytes sees eight keys.
 * wz_strtab keeps only ids in its slots and hashes again when it grows; strings never move relative to each other. */
#include "base/map.h"

#include "base/check.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define FIRST_CAP 16u
#define MAP_CAP_MAX (1u << 31)
#define SLOT_BYTES (sizeof(uint64_t) + sizeof(uint32_t))

void wz_map_init(struct wz_map *m, const struct wz_mem *mem)
{
	*m = (struct wz_map){.mem = mem};
}

void wz_map_release(struct wz_map *m)
{
	wz_mem_free(m->mem, m->keys, m->cap * SLOT_BYTES);
	wz_map_init(m, m->mem);
}

void wz_map_clear(struct wz_map *m)
{
	for (uint32_t i = 0; i < m->cap; i++)
		m->vals[i] = WZ_NONE;
	m->len = 0;
}

static uint32_t home_of(const struct wz_map *m, uint64_t key)
{
	return (uint32_t)wz_mix64(key) & (m->cap - 1);
}

/* The slot of `key`, or the free slot where it would go. The table is never full. */
static uint32_t slot_of(const struct wz_map *m, uint64_t key)
{
	uint32_t i = home_of(m, key);
	while (m->vals[i] != WZ_NONE && m->keys[i] != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint32_t wz_map_get(const struct wz_map *m, uint64_t key)
{
	return m->cap ? m->vals[slot_of(m, key)] : WZ_NONE;
}

static int map_grow(struct wz_map *m)
{
	struct wz_map old = *m;
	uint32_t cap = old.cap ? old.cap * 2 : FIRST_CAP;
	uint64_t *keys;
	if (old.cap == MAP_CAP_MAX)
		return -ENOMEM;
	keys = wz_mem_alloc(m->mem, cap * SLOT_BYTES);
	if (!keys)
		return -ENOMEM;
	m->keys = keys;
	m->vals = (uint32_t *)(keys + cap);
	m->cap = cap;
	memset(m->vals, 0xff, cap * sizeof *m->vals); /* WZ_NONE */
	for (uint32_t i = 0; i < old.cap; i++) {
		if (old.vals[i] != WZ_NONE) {
			uint32_t k = slot_of(m, old.keys[i]);
			m->keys[k] = old.keys[i];
			m->vals[k] = old.vals[i];
		}
	}
	wz_mem_free(m->mem, old.keys, old.cap * SLOT_BYTES);
	return 0;
}

int wz_map_put(struct wz_map *m, uint64_t key, uint32_t val)
{
	uint32_t i = 0;
	wz_check(val != WZ_NONE);
	if (m->cap) {
		i = slot_of(m, key);
		if (m->vals[i] != WZ_NONE) {
			m->vals[i] = val;
			return 0;
		}
	}
	if (m->len >= m->cap / 2 + m->cap / 8) {
		int rc = map_grow(m);
		if (rc < 0)
			return rc;
		i = slot_of(m, key);
	}
	m->keys[i] = key;
	m->vals[i] = val;
	m->len++;
	return 0;
}

bool wz_map_del(struct wz_map *m, uint64_t key)
{
	uint32_t mask = m->cap - 1, hole, i;
	if (!m->cap)
		return false;
	hole = slot_of(m, key);
	if (m->vals[hole] == WZ_NONE)
		return false;
	for (i = (hole + 1) & mask; m->vals[i] != WZ_NONE; i = (i + 1) & mask) {
		/* The entry may move to the hole when the hole lies between its home and where it is. */
		if (((i - home_of(m, m->keys[i])) & mask) >= ((i - hole) & mask)) {
			m->keys[hole] = m->keys[i];
			m->vals[hole] = m->vals[i];
			hole = i;
		}
	}
	m->vals[hole] = WZ_NONE;
	m->len--;
	return true;
}

void wz_strtab_init(struct wz_strtab *t, const struct wz_mem *mem)
{
	*t = (struct wz_strtab){.mem = mem};
}

void wz_strtab_release(struct wz_strtab *t)
{
	wz_grow_free(t->mem, &t->bytes, &t->bytes_cap, 1);
	wz_grow_free(t->mem, &t->offset, &t->offset_cap, sizeof *t->offset);
	wz_grow_free(t->mem, &t->slots, &t->slot_cap, sizeof *t->slots);
	wz_strtab_init(t, t->mem);
}

struct wz_str wz_strtab_get(const struct wz_strtab *t, uint32_t id)
{
	wz_check(id < t->len);
	return (struct wz_str){t->bytes + t->offset[id], t->offset[id + 1] - 1 - t->offset[id]};
}

/* The slot that holds `s`, or the free one where it would go. Needs slot_cap > 0. */
static uint32_t strtab_slot(const struct wz_strtab *t, struct wz_str s)
{
	uint32_t mask = t->slot_cap - 1, i = (uint32_t)wz_hash_str(0, s) & mask;
	while (t->slots[i] && !wz_str_eq(wz_strtab_get(t, t->slots[i] - 1), s))
		i = (i + 1) & mask;
	return i;
}

uint32_t wz_strtab_find(const struct wz_strtab *t, struct wz_str s)
{
	return t->slot_cap ? t->slots[strtab_slot(t, s)] - 1 : WZ_NONE; /* a free slot, 0, gives WZ_NONE */
}

static int strtab_grow_slots(struct wz_strtab *t)
{
	uint32_t cap = t->slot_cap ? t->slot_cap * 2 : FIRST_CAP;
	uint32_t *slots;
	if (t->len < t->slot_cap / 2)
		return 0;
	if (t->slot_cap == 1u << 31)
		return -E2BIG;
	slots = wz_mem_zalloc(t->mem, cap * sizeof *slots);
	if (!slots)
		return -ENOMEM;
	wz_mem_free(t->mem, t->slots, t->slot_cap * sizeof *slots);
	t->slots = slots;
	t->slot_cap = cap;
	for (uint32_t id = 0; id < t->len; id++)
		t->slots[strtab_slot(t, wz_strtab_get(t, id))] = id + 1;
	return 0;
}

int wz_strtab_add(struct wz_strtab *t, struct wz_str s, uint32_t *ret_id)
{
	uint32_t id = wz_strtab_find(t, s);
	uintptr_t base = (uintptr_t)t->bytes, at = (uintptr_t)s.ptr;
	int rc;
	if (id != WZ_NONE) {
		*ret_id = id;
		return 0;
	}
	if (s.len >= UINT32_MAX - t->bytes_len)
		return -E2BIG;
	rc = strtab_grow_slots(t);
	if (rc < 0)
		return rc;
	rc = wz_grow(t->mem, &t->offset, &t->offset_cap, t->len + 2, sizeof *t->offset);
	if (rc < 0)
		return rc;
	rc = wz_grow(t->mem, &t->bytes, &t->bytes_cap, t->bytes_len + (uint32_t)s.len + 1, 1);
	if (rc < 0)
		return rc;
	if (at >= base && at - base < t->bytes_len) /* a piece of one of our own strings: it moved with them */
		s.ptr = t->bytes + (at - base);
	if (s.len)
		memcpy(t->bytes + t->bytes_len, s.ptr, s.len);
	t->bytes[t->bytes_len + s.len] = 0;
	t->bytes_len += (uint32_t)s.len + 1;
	id = t->len++;
	t->offset[id + 1] = t->bytes_len;
	t->slots[strtab_slot(t, s)] = id + 1;
	*ret_id = id;
	return 0;
}
