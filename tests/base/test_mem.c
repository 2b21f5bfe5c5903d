/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include "base/rng.h"
#include "fault.h"
#include "os/mem.h"
#include "tap.h"

#include <errno.h>

static void test_grow(void)
{
	struct fault_mem f;
	uint64_t *a = NULL;
	uint32_t cap = 0;
	fault_mem_init(&f);
	tap_eq_i64(wz_grow(&f.mem, &a, &cap, 0, sizeof *a), 0, "nothing needed");
	tap_ok(!a && cap == 0 && f.allocations == 0, "nothing done");
	for (uint32_t n = 1; n <= 10000; n++) {
		tap_require(wz_grow(&f.mem, &a, &cap, n, sizeof *a) == 0 && cap >= n, "grow to %u", n);
		tap_eq_i64(a[n - 1], 0, "element %u is zeroed", n - 1);
		a[n - 1] = n;
	}
	for (uint32_t n = 1; n <= 10000; n++)
		tap_eq_i64(a[n - 1], n, "element %u is kept", n - 1);
	tap_ok(f.allocations <= 14, "doubling: %" PRIu64 " allocations", f.allocations);
	tap_eq_i64(f.live_bytes, cap * sizeof *a, "accounted");
	wz_grow_free(&f.mem, &a, &cap, sizeof *a);
	tap_ok(!a && cap == 0 && fault_mem_clean(&f), "freed");
	wz_grow_free(&f.mem, &a, &cap, sizeof *a);
}

static void test_grow_fails(void)
{
	struct fault_mem f;
	char *a = NULL, *before;
	uint32_t cap = 0;
	fault_mem_init(&f);
	tap_require(wz_grow(&f.mem, &a, &cap, 5, 1) == 0, "grow");
	before = a;
	tap_eq_i64(wz_grow(&f.mem, &a, &cap, UINT32_MAX, SIZE_MAX / 1000), -ENOMEM, "overflow");
	tap_ok(a == before && f.allocations == 1, "overflow asks for nothing");
	f.fail_at = 2;
	uint32_t cap_before = cap;
	tap_eq_i64(wz_grow(&f.mem, &a, &cap, 1000, 1), -ENOMEM, "out of memory");
	tap_ok(a == before && cap == cap_before, "nothing changed");
	wz_grow_free(&f.mem, &a, &cap, 1);
	tap_ok(fault_mem_clean(&f), "clean");
}

#define PIECES 500

/* Pieces do not overlap, are zeroed and aligned, over several rounds of clear. */
static void arena_round(struct wz_arena *a, struct wz_rng *r, unsigned round)
{
	static unsigned char *piece[PIECES];
	static size_t size[PIECES];
	for (unsigned i = 0; i < PIECES; i++) {
		size[i] = wz_rng_below(r, i % 50 == 0 ? 5000 : 60);
		piece[i] = wz_arena_alloc(a, size[i]);
		tap_require(piece[i], "round %u: alloc %u", round, i);
		tap_ok((uintptr_t)piece[i] % 16 == 0, "aligned");
		for (size_t k = 0; k < size[i]; k++)
			tap_ok(piece[i][k] == 0, "round %u: piece %u byte %zu is zero", round, i, k);
		memset(piece[i], (int)(i % 255 + 1), size[i]);
	}
	for (unsigned i = 0; i < PIECES; i++)
		for (size_t k = 0; k < size[i]; k++)
			tap_ok(piece[i][k] == i % 255 + 1, "round %u: piece %u was overwritten", round, i);
}

static void test_arena(void)
{
	struct fault_mem f;
	struct wz_arena a;
	struct wz_rng r;
	uint64_t before = 0;
	fault_mem_init(&f);
	wz_rng_seed(&r, 7);
	wz_arena_init(&a, &f.mem, 100);
	tap_eq_i64(f.allocations, 0, "nothing at init");
	wz_arena_clear(&a);
	for (unsigned round = 0; round < 20; round++) {
		before = f.allocations;
		arena_round(&a, &r, round);
		wz_arena_clear(&a);
		tap_eq_i64(f.live_blocks, 1, "clear keeps one block");
	}
	tap_eq_i64(f.allocations, before, "in the end a round allocates nothing");
	tap_ok(!wz_arena_alloc(&a, SIZE_MAX) && !wz_arena_alloc(&a, SIZE_MAX - 100), "absurd sizes");
	wz_arena_release(&a);
	tap_ok(fault_mem_clean(&f), "released");
	tap_ok(wz_arena_alloc(&a, 3), "usable after release");
	wz_arena_release(&a);
	wz_arena_release(&a);
	tap_ok(fault_mem_clean(&f), "released again");
}

static int arena_work(const struct wz_mem *mem)
{
	struct wz_arena a;
	int rc = 0;
	wz_arena_init(&a, mem, 64);
	for (size_t i = 0; i < 100 && rc == 0; i++) {
		if (i == 50)
			wz_arena_clear(&a);
		rc = wz_arena_alloc(&a, i * 7) ? 0 : -ENOMEM;
	}
	wz_arena_release(&a);
	return rc;
}

static void test_arena_fail_nth(void)
{
	uint64_t n;
	for (n = 1; n < 1000; n++) {
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = arena_work(&f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		tap_eq_i64(rc, f.failures ? -ENOMEM : 0, "allocation %" PRIu64, n);
		if (!f.failures)
			break;
	}
	tap_ok(n > 3 && n < 1000, "the loop failed %" PRIu64 " allocations", n - 1);
}

static void test_os_mem(void)
{
	const struct wz_mem *mem = wz_os_mem();
	unsigned char *p = wz_mem_zalloc(mem, 1000);
	tap_require(p, "alloc");
	for (int i = 0; i < 1000; i++)
		tap_eq_i64(p[i], 0, "zeroed");
	memset(p, 9, 1000);
	p = mem->resize(mem->ctx, p, 1000, 100000);
	tap_require(p && p[999] == 9, "resize keeps");
	tap_ok(!mem->resize(mem->ctx, p, 100000, 0), "size 0 frees");
	wz_mem_free(mem, NULL, 0);
}

int main(void)
{
	tap_run(test_grow);
	tap_run(test_grow_fails);
	tap_run(test_arena);
	tap_run(test_arena_fail_nth);
	tap_run(test_os_mem);
	return tap_done();
}
