/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails. Every open, write, truncate and sync fails once, and for a while, and for ever, as EIO and as a full
 * disk; the power goes at random moments and takes what was not synced. Always: what was reported durable is there, what is there
 * is a prefix of what was appended that ends with a batch, and the core's state is the one of that moment. */
#include "tap.h"

#include "body.h"
#include "vfs.h"

#define STEPS 12

static char dir[256];
static struct wz_err err;
static int64_t lives = 100, every = 2; /* test_fault --long: more of them, and each operation */

static struct {
	uint64_t seq, digest;
} after[STEPS + 64];
static unsigned n_after;
static uint64_t acked, refused;

static void told(void *ctx, uint64_t seq, int r)
{
	(void)ctx;
	if (r == 0) {
		tap_ok(seq >= acked && !refused, "in order");
		acked = seq;
	} else {
		refused++;
	}
}

static struct wz_store *open_store(void)
{
	struct wz_store_options o = {
	        .dir = dir, .version = "test", .reserve_mib = 1, .retry_ms = 1, .vfs = VFS_NAME};
	struct wz_store *s = NULL;
	return wz_store_open(&o, &s, &err) == 0 ? s : NULL;
}

/* One run of a body: some steps, a snapshot in the middle. False when it could not even begin. */
static bool run(uint64_t seed, bool patient)
{
	struct wz_core_options o = {.seed = 7};
	struct wz_store *s = open_store();
	struct wz_restored got;
	struct body x;
	if (!s)
		return false;
	if (wz_store_restore(s, wz_os_mem(), &o, &got, &err) < 0) {
		wz_store_close(s);
		return false;
	}
	after[n_after].seq = s->next_seq - 1; /* the head of this run */
	after[n_after++].digest = wz_core_digest(got.core);
	body_init(&x, s, got.core, seed, got.last_job + 100); /* past what an earlier run lost */
	for (int i = 0; i < STEPS; i++) {
		after[n_after].seq = body_step(&x, (struct wz_store_done){told, NULL});
		after[n_after++].digest = wz_core_digest(got.core);
		if (i == STEPS / 2)
			tap_ok(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, NULL) == 0, "snapshot");
		if (i % 3 == 0)
			(void)wz_store_flush(s, NULL); /* so that there are several groups */
		wz_store_dispatch(s);
	}
	while (patient && s->all) /* at close there is one more try and no other */
		(void)wz_store_flush(s, NULL);
	body_release(&x);
	wz_store_close(s);
	wz_core_free(got.core);
	return true;
}

static void verify(const char *what, int64_t n)
{
	struct wz_core_options o = {.seed = 7};
	struct wz_store *s = open_store();
	struct wz_restored got;
	bool known = false;
	tap_require(s, "%s %" PRId64 ": opens again: %s", what, n, err.text);
	int r = wz_store_restore(s, wz_os_mem(), &o, &got, &err);
	tap_ok(r == 0, "%s %" PRId64 ": restores: %s", what, n, err.text);
	if (r == 0) {
		tap_ok(got.seq >= acked, "%s %" PRId64 ": durable %" PRIu64 ", found %" PRIu64, what, n, acked,
		        got.seq);
		for (unsigned i = 0; i < n_after; i++)
			known = known || (after[i].seq == got.seq && after[i].digest == wz_core_digest(got.core));
		tap_ok(known || (got.fresh && !acked),
		        "%s %" PRId64 ": record %" PRIu64 " ends a batch, and the state is that of then", what, n,
		        got.seq);
		if (n % 16 == 0) {
			struct wz_buf report;
			wz_buf_init(&report, wz_os_mem(), 1 << 20);
			tap_ok(wz_store_flush(s, &err) == 0 && wz_store_check(s, wz_os_mem(), &report, &err) == 0,
			        "%s %" PRId64 ": check: %s", what, n, wz_buf_z(&report));
			wz_buf_release(&report);
		}
		wz_core_free(got.core);
	}
	wz_store_close(s);
}

static void begin(void)
{
	vfs_reset();
	n_after = 0;
	acked = refused = 0;
}

/* The Nth operation fails, and so do the next `count`, until there is no Nth operation. */
static void fail_each(const char *what, int64_t count, int code, int64_t stride)
{
	int64_t n = 1;
	for (;; n += stride) {
		begin();
		vfs_fail(n, count, code);
		bool began = run((uint64_t)n, count < 100);
		int64_t failures = vfs.failures;
		vfs_fail(0, 0, 0);
		if (began && count < 100)
			tap_ok(refused == 0 && acked == after[n_after - 1].seq,
			        "%s %" PRId64 ": all is written in the end", what, n);
		verify(what, n);
		if (!failures || tap_failed_here)
			break;
	}
	printf("# %s: %" PRId64 " operations\n", what, n);
}

static void test_eio_once(void)
{
	fail_each("EIO once", 1, SQLITE_IOERR, 1);
}
static void test_eio_some(void)
{
	fail_each("EIO five times", 5, SQLITE_IOERR, 2 * every - 1);
}
static void test_full_some(void)
{
	fail_each("ENOSPC five times", 5, SQLITE_FULL, 2 * every - 1);
}
static void test_full_for_ever(void)
{
	fail_each("ENOSPC for ever", 1 << 30, SQLITE_FULL, 3 * every - 1);
}

/* The power goes at operation N: nothing works after it, and what was not synced is gone, or there by chance. */
static void test_power(void)
{
	struct wz_rng rng;
	int64_t total;
	begin();
	vfs_fail(0, 0, 0);
	tap_require(run(1, true), "%s", err.text);
	total = vfs.ops;
	wz_rng_seed(&rng, 11);
	for (int64_t i = 0; i < lives && !tap_failed_here; i++) {
		int64_t n = 1 + (int64_t)wz_rng_below(&rng, (uint64_t)total);
		begin();
		if (i % 2) { /* a second life */
			(void)run(1000 + (uint64_t)i, true);
			vfs_fail(0, 0, 0);
		}
		vfs_fail(n, 1 << 30, SQLITE_IOERR);
		(void)run((uint64_t)i, false);
		vfs_power_loss(i % 4 < 2 ? NULL : &rng);
		vfs_fail(0, 0, 0);
		verify("power", i);
	}
}

/* The disk is full: new work is refused with the reason, what runs is recorded once there is space; the reserve helps. */
static void test_full_disk_is_told(void)
{
	struct wz_core_options o = {.seed = 7};
	struct wz_restored got;
	struct wz_store_status st;
	struct body x;
	char reserve[300];
	begin();
	vfs_fail(0, 0, 0);
	struct wz_store *s = open_store();
	tap_require(s && wz_store_restore(s, wz_os_mem(), &o, &got, &err) == 0 && wz_store_flush(s, &err) == 0,
	        "%s", err.text);
	(void)snprintf(reserve, sizeof reserve, "%s/reserve", dir);
	tap_ok(access(reserve, F_OK) == 0, "there is a reserve");
	body_init(&x, s, got.core, 1, 1);
	vfs_fail(1, 1 << 30, SQLITE_FULL);
	uint64_t seq = body_step(&x, (struct wz_store_done){told, NULL});
	tap_eq_i64(wz_store_flush(s, &err), -ENOSPC, "full");
	tap_eq_i64(wz_store_ready(s, &err), -ENOSPC, "no new work");
	tap_eq_str(wz_str(err.reason), WZ_STR("DiskFull"), "why");
	tap_ok(acked == 0, "nothing was acknowledged");
	wz_store_status(s, &st);
	tap_ok(st.failing && st.reserve_used && access(reserve, F_OK) < 0, "the reserve was given back");
	vfs_fail(0, 0, 0);
	while (s->all) {
		struct timespec ms = {0, 1000000};
		wz_store_dispatch(s);
		(void)nanosleep(&ms, NULL);
	}
	tap_ok(acked == seq && wz_store_ready(s, &err) == 0, "space again: written, and open for work");
	body_release(&x);
	wz_store_close(s);
	tap_ok(access(reserve, F_OK) == 0, "the reserve is back");
	wz_core_free(got.core);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--long") == 0) {
		lives = 4000;
		every = 1;
	}
	vfs_register();
	scratch_dir(dir, sizeof dir, "fault");
	tap_run(test_full_disk_is_told);
	tap_run(test_eio_once);
	tap_run(test_eio_some);
	tap_run(test_full_some);
	tap_run(test_full_for_ever);
	tap_run(test_power);
	vfs_reset();
	remove_dir(dir);
	return tap_done();
}
