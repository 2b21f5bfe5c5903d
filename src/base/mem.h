/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: all allocation of base and core goes through one small table, so that a test can fail the Nth.
 *
 * Three lifetimes (HOUSE): an arena (one step, one request, one run), pools by index (arrays grown by wz_grow),
 * and owned heap blocks. Nothing here is thread safe; give each core its own table or a thread-safe one. */
#ifndef WZ_BASE_MEM_H
#define WZ_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

struct wz_mem {
	/* realloc-like: size 0 frees and returns NULL; ptr NULL allocates. Returns NULL when out of memory, and then
	 * leaves ptr valid. old_size is the size the block was asked with. Blocks are aligned to 16. */
	void *(*resize)(void *ctx, void *ptr, size_t old_size, size_t new_size);
	void *ctx;
};

void *wz_mem_alloc(const struct wz_mem *mem, size_t size);  /* uninitialised; NULL when out of memory; size > 0 */
void *wz_mem_zalloc(const struct wz_mem *mem, size_t size); /* zeroed */
void wz_mem_free(const struct wz_mem *mem, void *ptr, size_t size); /* accepts NULL */

/* Grows the array *ptr of *cap elements of `elem` bytes so that it holds at least `need`; new elements are zeroed.
 * Amortised doubling. 0 or -ENOMEM (then nothing changed; also when need * elem overflows). ptr_to_ptr is the address
 * of the array's pointer (NULL when *cap is 0), of whatever type. */
int wz_grow(const struct wz_mem *mem, void *ptr_to_ptr, uint32_t *cap, uint32_t need, size_t elem);
void wz_grow_free(const struct wz_mem *mem, void *ptr_to_ptr, uint32_t *cap, size_t elem);

/* Arena: bump allocation, freed together. block_size is the size of the next block: it doubles with each one, so an
 * arena that is cleared every step soon needs one block only. Allocates nothing until the first wz_arena_alloc. */
struct wz_arena_block;
struct wz_arena {
	const struct wz_mem *mem;
	struct wz_arena_block *head;
	size_t used, block_size;
};
void wz_arena_init(struct wz_arena *a, const struct wz_mem *mem, size_t block_size);
void *wz_arena_alloc(struct wz_arena *a, size_t size); /* zeroed, aligned to 16; NULL when out of memory */
void wz_arena_clear(struct wz_arena *a);               /* keeps the largest block for reuse */
void wz_arena_release(struct wz_arena *a);

#endif
