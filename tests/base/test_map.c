/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/rng.h"
#include "fault.h"
#include "tap.h"

#include <errno.h>

static void test_map_small(void)
{
	struct fault_mem f;
	struct wz_map m;
	fault_mem_init(&f);
	wz_map_init(&m, &f.mem);
	tap_eq_i64(wz_map_get(&m, 0), WZ_NONE, "empty");
	tap_ok(!wz_map_del(&m, 0), "nothing to delete");
	tap_eq_i64(wz_map_put(&m, 0, 5), 0, "put");
	tap_eq_i64(wz_map_put(&m, UINT64_MAX, 6), 0, "put");
	tap_eq_i64(wz_map_put(&m, 0, 7), 0, "replace");
	tap_eq_i64(m.len, 2, "length");
	tap_eq_i64(wz_map_get(&m, 0), 7, "key 0");
	tap_eq_i64(wz_map_get(&m, UINT64_MAX), 6, "largest key");
	tap_ok(wz_map_del(&m, 0) && !wz_map_del(&m, 0), "delete once");
	tap_eq_i64(wz_map_get(&m, 0), WZ_NONE, "gone");
	wz_map_release(&m);
	tap_eq_i64(wz_map_get(&m, UINT64_MAX), WZ_NONE, "empty after release");
	wz_map_release(&m);
	tap_ok(fault_mem_clean(&f), "clean");
}

#define KEYS 3000u

/* Against an array, with phases of growth and of deletion; keys in three patterns: dense, multiples of 2^32, random. */
static void map_against_naive(unsigned pattern, uint64_t seed)
{
	static uint32_t naive[KEYS];
	static uint64_t key[KEYS];
	struct fault_mem f;
	struct wz_map m;
	struct wz_rng r;
	uint32_t len = 0;
	printf("# pattern %u, seed %" PRIu64 "\n", pattern, seed);
	fault_mem_init(&f);
	wz_rng_seed(&r, seed);
	wz_map_init(&m, &f.mem);
	for (uint32_t i = 0; i < KEYS; i++) {
		naive[i] = WZ_NONE;
		key[i] = pattern == 0 ? i : pattern == 1 ? (uint64_t)i << 32 : wz_rng_next(&r);
	}
	for (unsigned step = 0; step < 200000; step++) {
		uint32_t i = (uint32_t)wz_rng_below(&r, KEYS);
		bool growing = step / 20000 % 2 == 0;
		if (wz_rng_below(&r, 100) < (growing ? 70 : 20)) {
			uint32_t v = (uint32_t)wz_rng_below(&r, WZ_NONE);
			tap_require(wz_map_put(&m, key[i], v) == 0, "put");
			len += naive[i] == WZ_NONE;
			naive[i] = v;
		} else {
			tap_ok(wz_map_del(&m, key[i]) == (naive[i] != WZ_NONE), "step %u: delete", step);
			len -= naive[i] != WZ_NONE;
			naive[i] = WZ_NONE;
		}
		tap_eq_i64(m.len, len, "step %u: length", step);
		if (step % 5000 == 0)
			for (uint32_t k = 0; k < KEYS; k++)
				tap_eq_i64(wz_map_get(&m, key[k]), naive[k], "step %u: key %u", step, k);
	}
	for (uint32_t k = 0; k < KEYS; k++)
		tap_ok(wz_map_del(&m, key[k]) == (naive[k] != WZ_NONE), "delete all");
	for (uint32_t k = 0; k < m.cap; k++)
		tap_eq_i64(m.vals[k], WZ_NONE, "no tombstones");
	wz_map_release(&m);
	tap_ok(fault_mem_clean(&f), "clean");
}

static void test_map_against_naive(void)
{
	for (unsigned pattern = 0; pattern < 3; pattern++)
		map_against_naive(pattern, 11 + pattern);
}

static void test_strtab(void)
{
	struct fault_mem f;
	struct wz_strtab t;
	uint32_t id = 9;
	fault_mem_init(&f);
	wz_strtab_init(&t, &f.mem);
	tap_eq_i64(wz_strtab_find(&t, WZ_STR("")), WZ_NONE, "empty table");
	tap_ok(wz_strtab_add(&t, WZ_STR("h100"), &id) == 0 && id == 0, "first");
	tap_ok(wz_strtab_add(&t, (struct wz_str){NULL, 0}, &id) == 0 && id == 1, "the empty string");
	tap_ok(wz_strtab_add(&t, WZ_STR("h100"), &id) == 0 && id == 0, "again");
	tap_ok(wz_strtab_add(&t, WZ_STR("h10\0"), &id) == 0 && id == 2, "NUL inside");
	tap_eq_str(wz_strtab_get(&t, 0), WZ_STR("h100"), "get");
	tap_eq_str(wz_strtab_get(&t, 1), WZ_STR(""), "get empty");
	tap_eq_str(wz_strtab_get(&t, 2), WZ_STR("h10\0"), "get with NUL");
	tap_eq_i64(wz_strtab_get(&t, 0).ptr[4], 0, "terminated");
	tap_eq_i64(wz_strtab_find(&t, WZ_STR("h10")), WZ_NONE, "a prefix is another string");
	tap_eq_i64(wz_strtab_find(&t, WZ_STR("")), 1, "find empty");
	wz_strtab_release(&t);
	wz_strtab_release(&t);
	tap_ok(fault_mem_clean(&f), "clean");
}

/* Adds a piece of one of its own strings just when the bytes have to move. */
static void test_strtab_own_piece(void)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz";
	struct fault_mem f;
	struct wz_strtab t;
	uint32_t id, filler = 0;
	fault_mem_init(&f);
	wz_strtab_init(&t, &f.mem);
	tap_require(wz_strtab_add(&t, wz_str(name), &id) == 0, "add");
	for (size_t len = 20; len > 12; len--) {
		struct wz_num num;
		const char *before;
		while (t.bytes_cap - t.bytes_len > len)
			tap_require(wz_strtab_add(&t, wz_str_u64(&num, filler++), &id) == 0, "fill");
		before = t.bytes;
		tap_require(wz_strtab_add(&t, (struct wz_str){t.bytes, len}, &id) == 0, "add a piece");
		tap_ok(t.bytes != before, "the bytes moved");
		tap_eq_str(wz_strtab_get(&t, id), ((struct wz_str){name, len}), "the piece");
		tap_eq_i64(wz_strtab_find(&t, (struct wz_str){name, len}), id, "is found");
	}
	wz_strtab_release(&t);
	tap_ok(fault_mem_clean(&f), "clean");
}

#define NAMES 2000u

/* Short random strings over two letters collide often; the naive table is a list in order of appearance. */
static void test_strtab_against_naive(void)
{
	static char names[NAMES][12];
	static size_t lens[NAMES];
	struct fault_mem f;
	struct wz_strtab t;
	struct wz_rng r;
	uint32_t len = 0, id;
	printf("# seed 21\n");
	fault_mem_init(&f);
	wz_rng_seed(&r, 21);
	wz_strtab_init(&t, &f.mem);
	for (unsigned step = 0; step < 6000; step++) {
		char s[12];
		size_t n = wz_rng_below(&r, sizeof s);
		uint32_t want = 0;
		for (size_t i = 0; i < n; i++)
			s[i] = "ab"[wz_rng_below(&r, 2)];
		while (want < len && (lens[want] != n || memcmp(names[want], s, n) != 0))
			want++;
		tap_eq_i64(wz_strtab_find(&t, (struct wz_str){s, n}), want == len ? WZ_NONE : want, "find");
		if (want == NAMES)
			continue;
		tap_require(wz_strtab_add(&t, (struct wz_str){s, n}, &id) == 0, "add");
		tap_eq_i64(id, want, "step %u: id", step);
		if (want == len) {
			memcpy(names[len], s, n);
			lens[len++] = n;
		}
	}
	tap_ok(len > 1000, "%u names", len);
	for (uint32_t i = 0; i < len; i++)
		tap_eq_str(wz_strtab_get(&t, i), ((struct wz_str){names[i], lens[i]}), "name %u", i);
	wz_strtab_release(&t);
	tap_ok(fault_mem_clean(&f), "clean");
}

/* What was put before the failure is still there, and the failed put may be repeated. */
static void test_map_fail_nth(void)
{
	uint64_t n;
	for (n = 1; n < 100; n++) {
		struct fault_mem f;
		struct wz_map m;
		fault_mem_init(&f);
		f.fail_at = n;
		wz_map_init(&m, &f.mem);
		for (uint32_t k = 0; k < 1000; k++) {
			int rc = wz_map_put(&m, k * 77ULL, k);
			if (rc < 0) {
				tap_eq_i64(rc, -ENOMEM, "code");
				tap_eq_i64(m.len, k, "no side effect");
				tap_eq_i64(wz_map_get(&m, k * 77ULL), WZ_NONE, "not there");
				tap_eq_i64(wz_map_put(&m, k * 77ULL, k), 0, "again");
			}
		}
		for (uint32_t k = 0; k < 1000; k++)
			tap_eq_i64(wz_map_get(&m, k * 77ULL), k, "key %u", k);
		wz_map_release(&m);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		if (!f.failures)
			break;
	}
	tap_ok(n > 5 && n < 100, "the loop failed %" PRIu64 " allocations", n - 1);
}

static void test_strtab_fail_nth(void)
{
	uint64_t n;
	for (n = 1; n < 200; n++) {
		struct fault_mem f;
		struct wz_strtab t;
		fault_mem_init(&f);
		f.fail_at = n;
		wz_strtab_init(&t, &f.mem);
		for (uint32_t k = 0; k < 500; k++) {
			uint32_t id = 12345;
			struct wz_num num;
			struct wz_str s = wz_str_u64(&num, k * 31);
			int rc = wz_strtab_add(&t, s, &id);
			if (rc < 0) {
				tap_eq_i64(rc, -ENOMEM, "code");
				tap_ok(t.len == k && id == 12345, "no side effect");
				tap_eq_i64(wz_strtab_find(&t, s), WZ_NONE, "not there");
				tap_eq_i64(wz_strtab_add(&t, s, &id), 0, "again");
			}
			tap_eq_i64(id, k, "id");
			tap_eq_str(wz_strtab_get(&t, k), s, "string");
		}
		wz_strtab_release(&t);
		tap_ok(fault_mem_clean(&f), "leaked at %" PRIu64, n);
		if (!f.failures)
			break;
	}
	tap_ok(n > 10 && n < 200, "the loop failed %" PRIu64 " allocations", n - 1);
}

int main(void)
{
	tap_run(test_map_small);
	tap_run(test_map_against_naive);
	tap_run(test_map_fail_nth);
	tap_run(test_strtab);
	tap_run(test_strtab_own_piece);
	tap_run(test_strtab_against_naive);
	tap_run(test_strtab_fail_nth);
	return tap_done();
}
