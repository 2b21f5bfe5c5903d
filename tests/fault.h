/* SPDX-License-Identifier: Apache-2.0 */
/* A wz_mem for tests: counts what lives, checks the caller's bookkeeping, and fails where told. The loop of all
 * fail-the-Nth tests:
 *
 *	for (uint64_t n = 1;; n++) {
 *		struct fault_mem f;
 *		fault_mem_init(&f);
 *		f.fail_at = n;
 *		rc = work(&f.mem);                       // releases all it took, also when it fails
 *		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
 *		if (!f.failures) { tap_eq_i64(rc, 0, "..."); break; }
 *		tap_eq_i64(rc, -ENOMEM, "...");
 *	}
 *
 * Every resize moves the block and fills new memory with 0xA5, so that a stale pointer or a read of uninitialised
 * memory shows (under ASan at once). A wrong old_size, or a block that is not ours, traps. */
#ifndef WZ_TESTS_FAULT_H
#define WZ_TESTS_FAULT_H

#include "base/check.h"
#include "base/mem.h"

#include <stdbool.h>

struct fault_mem {
	struct wz_mem mem; /* pass &f.mem */
	uint64_t fail_at; /* the Nth allocation fails, counted from 1; 0: none does */
	bool fail_after; /* and so do all later ones */
	uint64_t allocations; /* asked for so far: new blocks and resizes, not frees */
	uint64_t failures;
	uint64_t live_blocks, live_bytes, peak_bytes;
};

#define FAULT_MAGIC 0x57485a4e4d454d21ULL

struct fault_head { /* 16 bytes before each block */
	uint64_t magic;
	size_t size;
};

static void *fault_resize(void *ctx, void *ptr, size_t old_size, size_t new_size)
{
	struct fault_mem *f = ctx;
	struct fault_head *old = ptr ? (struct fault_head *)ptr - 1 : NULL, *now = NULL;
	wz_check(old ? old->magic == FAULT_MAGIC && old->size == old_size : old_size == 0);
	if (new_size) {
		f->allocations++;
		if (f->fail_at &&
		        (f->allocations == f->fail_at || (f->fail_after && f->allocations > f->fail_at))) {
			f->failures++;
			return NULL;
		}
		now = malloc(sizeof *now + new_size);
		if (!now)
			return NULL; /* really out of memory: not counted, the test fails */
		*now = (struct fault_head){FAULT_MAGIC, new_size};
		memset(now + 1, 0xa5, new_size);
		if (old)
			memcpy(now + 1, ptr, old_size < new_size ? old_size : new_size);
		f->live_blocks++;
		f->live_bytes += new_size;
	}
	if (old) {
		f->live_blocks--;
		f->live_bytes -= old_size;
		memset(old, 0x5a, sizeof *old + old_size);
		__asm__ volatile("" : : "r"(old) : "memory"); /* else the compiler drops that */
		free(old);
	}
	if (f->live_bytes > f->peak_bytes)
		f->peak_bytes = f->live_bytes;
	return now ? now + 1 : NULL;
}

static inline void fault_mem_init(struct fault_mem *f)
{
	*f = (struct fault_mem){.mem = {fault_resize, f}};
}

/* Nothing lives any more. */
static inline bool fault_mem_clean(const struct fault_mem *f)
{
	return f->live_blocks == 0 && f->live_bytes == 0;
}

#endif
