/* SPDX-License-Identifier: Apache-2.0 */
#include "base/maxtree.h"

#include "base/rng.h"
#include "fault.h"
#include "tap.h"

#include <errno.h>

static int64_t naive[100000];

static uint32_t naive_argmax(uint32_t n)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < n; i++)
		if (naive[i] > naive[best])
			best = i;
	return best;
}

static void check(const struct wz_maxtree *t, uint32_t n, unsigned step)
{
	uint32_t want = naive_argmax(n);
	tap_eq_i64(wz_maxtree_argmax(t), want, "n %u, step %u: argmax", n, step);
	tap_eq_i64(wz_maxtree_max(t), naive[want], "n %u, step %u: max", n, step);
}

/* Every inner node is the maximum of its group, and the padding is untouched. */
static void check_levels(const struct wz_maxtree *t)
{
	size_t count = t->n;
	for (uint32_t k = 0; k < t->levels; k++) {
		size_t groups = (count + 7) / 8;
		tap_eq_i64((uintptr_t)t->level[k] % 64, 0, "level %u is aligned", k);
		for (size_t i = count; i < groups * 8; i++)
			tap_eq_i64(t->level[k][i], INT64_MIN, "padding %zu of level %u", i, k);
		for (size_t g = 0; g < groups && k + 1 < t->levels; g++) {
			int64_t m = INT64_MIN;
			for (size_t i = 0; i < 8; i++)
				m = t->level[k][g * 8 + i] > m ? t->level[k][g * 8 + i] : m;
			tap_eq_i64(t->level[k + 1][g], m, "group %zu of level %u", g, k);
		}
		count = groups;
	}
	tap_eq_i64(count, 1, "one group at the top");
}

static const struct {
	uint32_t n, levels;
} sizes[] = {{1, 1}, {7, 1}, {8, 1}, {9, 2}, {63, 2}, {64, 2}, {65, 3}, {512, 3}, {513, 4}, {100000, 6}};

/* Small ranges give many ties; the lowest position wins. Every fourth step lowers the current maximum. */
static void against_naive(uint32_t n, unsigned steps, uint64_t range)
{
	struct fault_mem f;
	struct wz_maxtree t;
	struct wz_rng r;
	fault_mem_init(&f);
	wz_rng_seed(&r, n + range);
	tap_require(wz_maxtree_init(&t, &f.mem, n) == 0, "init %u", n);
	for (uint32_t i = 0; i < n; i++)
		naive[i] = INT64_MIN;
	check(&t, n, 0);
	for (unsigned step = 1; step <= steps; step++) {
		uint32_t pos = step % 4 ? (uint32_t)wz_rng_below(&r, n) : wz_maxtree_argmax(&t);
		int64_t v = (int64_t)wz_rng_below(&r, range) - (int64_t)(range / 2);
		if (wz_rng_below(&r, 10) == 0)
			v = wz_rng_below(&r, 2) ? INT64_MIN : naive[pos];
		wz_maxtree_set(&t, pos, v);
		naive[pos] = v;
		tap_eq_i64(wz_maxtree_get(&t, pos), v, "get");
		check(&t, n, step);
	}
	check_levels(&t);
	for (uint32_t i = 0; i < n; i++)
		t.level[0][i] = naive[i] = (int64_t)wz_rng_below(&r, range);
	wz_maxtree_rebuild(&t);
	check(&t, n, steps + 1);
	check_levels(&t);
	wz_maxtree_release(&t);
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_against_naive(void)
{
	printf("# seeds: n + range\n");
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		against_naive(sizes[i].n, sizes[i].n > 1000 ? 1500 : 20000, 3);
		against_naive(sizes[i].n, sizes[i].n > 1000 ? 1500 : 20000, 1000000);
	}
}

static void test_shape(void)
{
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct fault_mem f;
		struct wz_maxtree t;
		fault_mem_init(&f);
		tap_require(wz_maxtree_init(&t, &f.mem, sizes[i].n) == 0, "init");
		tap_eq_i64(t.levels, sizes[i].levels, "levels of %u", sizes[i].n);
		tap_eq_i64(f.allocations, 1, "one block");
		tap_eq_i64(wz_maxtree_argmax(&t), 0, "all equal: the first");
		check_levels(&t);
		wz_maxtree_set(&t, sizes[i].n - 1, INT64_MAX);
		tap_eq_i64(wz_maxtree_argmax(&t), sizes[i].n - 1, "the last");
		wz_maxtree_release(&t);
		wz_maxtree_release(&t);
		tap_ok(fault_mem_clean(&f), "clean");
		f.fail_at = 2;
		tap_eq_i64(wz_maxtree_init(&t, &f.mem, sizes[i].n), -ENOMEM, "out of memory");
		wz_maxtree_release(&t);
		tap_ok(fault_mem_clean(&f), "nothing held");
	}
}

int main(void)
{
	tap_run(test_shape);
	tap_run(test_against_naive);
	return tap_done();
}
