/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/pool.h"

#define ITEMS 1000u

struct work {
	atomic_uint runs[ITEMS];
	uint32_t fail_from; /* items from here on fail */
	uint32_t stop_at;
	atomic_int stop;
	uint32_t threads;
	atomic_bool bad_worker;
};

static int item(void *ctx, uint32_t i, uint32_t worker, struct wz_err *err)
{
	struct work *w = ctx;
	struct wz_num n;
	atomic_fetch_add(&w->runs[i], 1);
	if (worker >= w->threads)
		atomic_store(&w->bad_worker, true);
	if (i == w->stop_at)
		atomic_store(&w->stop, 1);
	if (i >= w->fail_from)
		return wz_err_set(err, -EIO, "Test", WZ_STR("item "), wz_str_u64(&n, i));
	return 0;
}

static struct work w;

static int go(uint32_t n, uint32_t threads, struct wz_err *err)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		atomic_store(&w.runs[i], 0);
	w.threads = wz_pool_threads(n, threads);
	return wz_pool_run(n, threads, item, &w, &w.stop, err);
}

static void test_each_once(void)
{
	for (uint32_t threads = 0; threads <= 8; threads++) {
		w = (struct work){.fail_from = UINT32_MAX, .stop_at = UINT32_MAX};
		tap_eq_i64(go(ITEMS, threads, NULL), 0, "%u threads", threads);
		for (uint32_t i = 0; i < ITEMS; i++)
			tap_eq_i64(atomic_load(&w.runs[i]), 1, "item %u of %u threads", i, threads);
		tap_ok(!atomic_load(&w.bad_worker), "workers are numbered");
	}
	tap_eq_i64(go(0, 4, NULL), 0, "nothing to do");
	tap_eq_i64(wz_pool_threads(3, 100), 3, "no more threads than items");
	tap_eq_i64(wz_pool_threads(100000, 100000), WZ_POOL_THREADS_MAX, "the limit");
	tap_ok(wz_pool_cpus() >= 1, "some CPU");
}

static void test_failure_stops(void)
{
	struct wz_err err = {0};
	w = (struct work){.fail_from = 10, .stop_at = UINT32_MAX};
	tap_eq_i64(go(ITEMS, 1, &err), -EIO, "one thread");
	tap_eq_str(wz_str(err.text), WZ_STR("item 10"), "the first failure");
	tap_eq_i64(atomic_load(&w.runs[11]), 0, "nothing after it");
	tap_eq_i64(go(ITEMS, 4, &err), -EIO, "four threads");
	uint32_t ran = 0;
	for (uint32_t i = 0; i < ITEMS; i++)
		ran += atomic_load(&w.runs[i]);
	tap_ok(ran >= 11 && ran <= 14, "%u items ran: those before, and at most one a thread", ran);
}

static void test_interrupt(void)
{
	struct wz_err err = {0};
	w = (struct work){.fail_from = UINT32_MAX, .stop_at = 20};
	tap_eq_i64(go(ITEMS, 1, &err), -EINTR, "stopped");
	tap_eq_str(wz_str(err.reason), WZ_STR("Interrupted"), "%s", err.text);
	tap_eq_i64(atomic_load(&w.runs[21]), 0, "nothing after it");
}

static void test_clocks(void)
{
	uint64_t wall = wz_clock_monotonic_ns(), thread = wz_clock_thread_cpu_ns(),
	         process = wz_clock_process_cpu_ns();
	while (wz_clock_thread_cpu_ns() - thread < 1000000)
		;
	tap_ok(wz_clock_monotonic_ns() - wall >= 1000000, "a CPU millisecond takes a millisecond");
	tap_ok(wz_clock_process_cpu_ns() - process >= 900000, "and is the process's too");
	tap_ok(wz_clock_wall_us() > 1700000000000000, "after 2023");
}

int main(void)
{
	tap_run(test_each_once);
	tap_run(test_failure_stops);
	tap_run(test_interrupt);
	tap_run(test_clocks);
	return tap_done();
}
