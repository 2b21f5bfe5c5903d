/* SPDX-License-Identifier: Apache-2.0 */
/* wz_core_export and import: the same state, the same bytes, and the same decisions from there on as a core that was
 * never interrupted; damage is refused; every allocation may fail. */
#include "fault.h"
#include "tap.h"

#include "history.h"
#include "os/mem.h"

#define SEEDS 60u
#define STEPS 120u

static struct wz_core *core_new(const struct wz_mem *mem, uint64_t seed, bool no_index)
{
	static const char *const policies[] = {"jigsaw", "fgd", "kube-most-allocated", "random", "bestfit"};
	struct wz_core_options o = {.seed = seed, .policy = policies[seed % 5], .no_index = no_index};
	struct wz_core *c = NULL;
	wz_check(wz_core_new(mem, &o, &c, NULL) == 0);
	return c;
}

static void run(uint64_t seed, uint32_t cut)
{
	const struct wz_mem *mem = wz_os_mem();
	struct wz_core *a = core_new(mem, seed, false), *b = NULL;
	struct wz_core_options o = {0};
	struct wz_buf bytes, again;
	struct history h, h2;
	struct wz_err err = {0};
	bool same = false;
	int r;

	history_init(&h, a, mem, seed);
	for (uint32_t i = 0; i < 6; i++)
		history_node(&h);
	for (uint32_t i = 0; i < cut; i++)
		history_step(&h);
	wz_buf_init(&bytes, mem, 1u << 30);
	wz_buf_init(&again, mem, 1u << 30);
	tap_eq_i64(wz_core_export(a, &bytes, &err), 0, "export: %s", err.text);
	r = wz_core_import(mem, &o, wz_buf_str(&bytes), &b, &same, &err);
	tap_ok(r == 0 && same, "seed %" PRIu64 " cut %u: import: %s", seed, cut, err.text);
	if (r == 0) {
		tap_ok(wz_core_digest(a) == wz_core_digest(b), "seed %" PRIu64 ": digest", seed);
		tap_eq_i64(wz_core_export(b, &again, &err), 0, "export: %s", err.text);
		tap_ok(wz_str_eq(wz_buf_str(&bytes), wz_buf_str(&again)),
		        "seed %" PRIu64 ": bytes of the imported core", seed);
		r = wz_core_check(b, &err);
		tap_ok(r == wz_core_check(a, &err), "seed %" PRIu64 ": check: %d %s", seed, r, err.text);
		tap_ok(wz_core_next_deadline(a) == wz_core_next_deadline(b), "next deadline");
		tap_ok(wz_core_flights(a, NULL, 0) == wz_core_flights(b, NULL, 0), "effects in flight");
		/* the two live on, on the same random facts */
		h2 = h;
		h2.core = b;
		wz_plan_init(&h2.plan, mem);
		for (uint32_t i = 0; i < STEPS && !tap_failed_here; i++) {
			history_step(&h);
			history_step(&h2);
			tap_ok(h.plan.n == h2.plan.n, "seed %" PRIu64 " step %u after %u: plans differ", seed, i,
			        cut);
			tap_ok(wz_core_digest(a) == wz_core_digest(b),
			        "seed %" PRIu64 " step %u after %u: digests differ", seed, i, cut);
		}
		wz_plan_release(&h2.plan);
	}
	wz_plan_release(&h.plan);
	wz_buf_release(&bytes);
	wz_buf_release(&again);
	wz_core_free(a);
	wz_core_free(b);
}

static void test_same_decisions(void)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed, (uint32_t)(seed * 7 % 150));
}

static void test_empty(void)
{
	run(1000, 0);
}

/* A core of some life, its bytes. */
static struct wz_core *some_life(struct wz_buf *bytes)
{
	struct wz_core *c = core_new(wz_os_mem(), 5, false);
	struct history h;
	history_init(&h, c, wz_os_mem(), 5);
	for (uint32_t i = 0; i < 60; i++)
		history_step(&h);
	wz_plan_release(&h.plan);
	wz_buf_init(bytes, wz_os_mem(), 1u << 30);
	wz_check(wz_core_export(c, bytes, NULL) == 0);
	return c;
}

static void test_damage(void)
{
	struct wz_buf bytes;
	struct wz_core *c = some_life(&bytes), *b = NULL;
	struct wz_err err = {0};
	size_t stride = bytes.len / 500 + 1;

	for (size_t i = 0; i < bytes.len; i += stride) {
		bytes.data[i] = (char)(bytes.data[i] ^ 4);
		int r = wz_core_import(wz_os_mem(), NULL, wz_buf_str(&bytes), &b, NULL, &err);
		tap_ok(r == -EINVAL || r == -EPROTO, "a flipped bit at %zu is found", i);
		bytes.data[i] = (char)(bytes.data[i] ^ 4);
	}
	for (size_t n = 0; n < bytes.len; n += stride)
		tap_ok(wz_core_import(wz_os_mem(), NULL, (struct wz_str){bytes.data, n}, &b, NULL, &err) == -EINVAL,
		        "cut at %zu", n);
	bytes.data[6] = 99;
	tap_eq_i64(
	        wz_core_import(wz_os_mem(), NULL, wz_buf_str(&bytes), &b, NULL, &err), -EPROTO, "a newer version");
	tap_eq_str(wz_str(err.reason), WZ_STR("NewerSnapshot"), "reason");
	wz_core_free(c);
	wz_buf_release(&bytes);
}

static void test_memory(void)
{
	struct wz_buf bytes;
	struct wz_core *c = some_life(&bytes);

	for (uint64_t n = 1;; n += 1 + n / 8) {
		struct wz_core *b = NULL;
		struct fault_mem f;
		int r;
		fault_mem_init(&f);
		f.fail_at = n;
		r = wz_core_import(&f.mem, NULL, wz_buf_str(&bytes), &b, NULL, NULL);
		if (r == 0)
			tap_ok(wz_core_digest(b) == wz_core_digest(c) || f.failures, "digest");
		wz_core_free(b);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(r, 0, "all of it works");
			break;
		}
		tap_ok(r == -ENOMEM || r == 0, "allocation %" PRIu64 ": %d", n, r); /* caches may do without */
	}
	wz_core_free(c);
	wz_buf_release(&bytes);
}

int main(void)
{
	tap_run(test_empty);
	tap_run(test_same_decisions);
	tap_run(test_damage);
	tap_run(test_memory);
	return tap_done();
}
