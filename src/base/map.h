/* SPDX-License-Identifier: Apache-2.0 */
/* Two hash tables with deterministic behaviour (iteration is never offered, so hash order decides nothing):
 * wz_map: uint64 key -> uint32 value. wz_strtab: interned strings -> dense uint32 ids in order of first appearance. */
#ifndef WZ_BASE_MAP_H
#define WZ_BASE_MAP_H

#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>

#define WZ_NONE UINT32_MAX

struct wz_map {
	const struct wz_mem *mem;
	uint64_t *keys;
	uint32_t *vals; /* WZ_NONE marks a free slot; deletion by backward shift, no tombstones */
	uint32_t cap, len;
};
void wz_map_init(struct wz_map *m, const struct wz_mem *mem);
void wz_map_release(struct wz_map *m);
void wz_map_clear(struct wz_map *m);                                /* empties, keeps the memory */
uint32_t wz_map_get(const struct wz_map *m, uint64_t key);          /* WZ_NONE when absent */
int wz_map_put(struct wz_map *m, uint64_t key, uint32_t val);       /* val != WZ_NONE; replaces; 0 or -ENOMEM */
bool wz_map_del(struct wz_map *m, uint64_t key);                    /* true when it was there */

struct wz_strtab {
	const struct wz_mem *mem;
	char *bytes;            /* all strings, each followed by a 0 byte */
	uint32_t bytes_len, bytes_cap;
	uint32_t *offset;       /* offset[id]; ends at offset[id + 1] - 1 */
	uint32_t len, offset_cap;
	uint32_t *slots;        /* open addressing, id + 1, 0 is free */
	uint32_t slot_cap;
};
void wz_strtab_init(struct wz_strtab *t, const struct wz_mem *mem);
void wz_strtab_release(struct wz_strtab *t);
/* Existing or new id. s may be a piece of one of t's own strings. -ENOMEM; -E2BIG: 4 GiB in all. */
int wz_strtab_add(struct wz_strtab *t, struct wz_str s, uint32_t *ret_id);
uint32_t wz_strtab_find(const struct wz_strtab *t, struct wz_str s);       /* WZ_NONE when absent */
struct wz_str wz_strtab_get(const struct wz_strtab *t, uint32_t id);       /* view valid until the next add */

#endif
