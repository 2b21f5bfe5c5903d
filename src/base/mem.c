/* SPDX-License-Identifier: Apache-2.0 */
/* The arena is a list of blocks, newest first; only the newest is bumped. Regular blocks double in size, and a clear
 * keeps the largest, so that an arena which is cleared every step soon lives in one block and allocates no more.
 * A request larger than the next regular block gets a block of exactly its size. */
#include "base/mem.h"

#include "base/check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void *wz_mem_alloc(const struct wz_mem *mem, size_t size)
{
	wz_check(size > 0);
	return mem->resize(mem->ctx, NULL, 0, size);
}

void *wz_mem_zalloc(const struct wz_mem *mem, size_t size)
{
	void *p = wz_mem_alloc(mem, size);
	if (p)
		memset(p, 0, size);
	return p;
}

void wz_mem_free(const struct wz_mem *mem, void *ptr, size_t size)
{
	if (ptr)
		(void)mem->resize(mem->ctx, ptr, size, 0);
}

int wz_grow(const struct wz_mem *mem, void *ptr_to_ptr, uint32_t *cap, uint32_t need, size_t elem)
{
	void *old, *p;
	size_t bytes;
	uint32_t n = *cap < 4 ? 8 : *cap > UINT32_MAX / 2 ? UINT32_MAX : *cap * 2;
	wz_check(elem > 0);
	if (need <= *cap)
		return 0;
	if (n < need)
		n = need;
	if (__builtin_mul_overflow((size_t)n, elem, &bytes) || bytes > PTRDIFF_MAX) {
		n = need;
		if (__builtin_mul_overflow((size_t)n, elem, &bytes) || bytes > PTRDIFF_MAX)
			return -ENOMEM;
	}
	memcpy(&old, ptr_to_ptr, sizeof old); /* any pointer type, without an aliasing lie */
	p = mem->resize(mem->ctx, old, *cap * elem, bytes);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * elem, 0, bytes - *cap * elem);
	memcpy(ptr_to_ptr, &p, sizeof p);
	*cap = n;
	return 0;
}

void wz_grow_free(const struct wz_mem *mem, void *ptr_to_ptr, uint32_t *cap, size_t elem)
{
	void *p;
	memcpy(&p, ptr_to_ptr, sizeof p);
	wz_mem_free(mem, p, *cap * elem);
	p = NULL;
	memcpy(ptr_to_ptr, &p, sizeof p);
	*cap = 0;
}

#define ALIGN 16u

struct wz_arena_block {
	_Alignas(ALIGN) struct wz_arena_block *next;
	size_t size; /* of data */
	_Alignas(ALIGN) char data[];
};

static void block_free(struct wz_arena *a, struct wz_arena_block *b)
{
	wz_mem_free(a->mem, b, sizeof *b + b->size);
}

void wz_arena_init(struct wz_arena *a, const struct wz_mem *mem, size_t block_size)
{
	wz_check(block_size > 0 && block_size <= PTRDIFF_MAX / 4);
	block_size = (block_size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	*a = (struct wz_arena){.mem = mem, .block_size = block_size};
}

static int add_block(struct wz_arena *a, size_t size)
{
	bool regular = size <= a->block_size;
	size_t data = regular ? a->block_size : size;
	struct wz_arena_block *b = wz_mem_alloc(a->mem, sizeof *b + data);
	if (!b)
		return -ENOMEM;
	b->next = a->head;
	b->size = data;
	a->head = b;
	a->used = 0;
	if (regular && a->block_size <= PTRDIFF_MAX / 4)
		a->block_size *= 2;
	return 0;
}

void *wz_arena_alloc(struct wz_arena *a, size_t size)
{
	size_t need;
	char *p;
	if (size > PTRDIFF_MAX / 2)
		return NULL;
	need = ((size ? size : 1) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if ((!a->head || a->head->size - a->used < need) && add_block(a, need) < 0)
		return NULL;
	p = a->head->data + a->used;
	a->used += need;
	memset(p, 0, need);
	return p;
}

void wz_arena_clear(struct wz_arena *a)
{
	struct wz_arena_block *keep = a->head, *next;
	for (struct wz_arena_block *b = a->head; b; b = b->next)
		if (b->size > keep->size)
			keep = b;
	for (struct wz_arena_block *b = a->head; b; b = next) {
		next = b->next;
		if (b != keep)
			block_free(a, b);
	}
	if (keep)
		keep->next = NULL;
	a->head = keep;
	a->used = 0;
}

void wz_arena_release(struct wz_arena *a)
{
	struct wz_arena_block *next;
	for (struct wz_arena_block *b = a->head; b; b = next) {
		next = b->next;
		block_free(a, b);
	}
	a->head = NULL;
	a->used = 0;
}
