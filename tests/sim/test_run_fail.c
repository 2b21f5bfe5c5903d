/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of nodes and devices in time: what was held is work and loss, whoever fails. */
#include "tap.h"

#include "runworld.h"

#include <math.h>

#define S INT64_C(1000000)

static void books(const struct runworld *w, const struct wz_run_result *r, const char *what)
{
	double held = 0;

	tap_eq_i64(r->finished, w->in.n, "%s: all end nevertheless", what);
	for (uint32_t j = 0; j < w->in.n; j++) {
		const struct wz_run_job *q = &w->in.job[j];
		const struct wz_run_outcome *x = &r->out[j];
		held += (double)q->gpus * (double)x->held_us / 1e6;
		tap_eq_i64(x->held_us, q->run_us + x->lost_us, "%s: job %u held its work and its loss", what, j);
		tap_eq_i64(x->end_us - q->submit_us, x->held_us + x->wait_us, "%s: job %u holds or waits", what, j);
	}
	tap_ok(fabs(held - r->held_gpu_s) < 1e-6 * held + 1, "%s: GPU-seconds in and out: %f, %f", what, held,
	        r->held_gpu_s);
	tap_ok(r->lost_gpu_s > 0 && fabs(r->held_gpu_s - r->work_gpu_s - r->lost_gpu_s) < 1,
	        "%s: what was lost is accounted for", what);
	tap_ok(r->held_gpu_s <= w->in.gpus * (r->makespan_s + 1), "%s: no more than there is", what);
}

static void make(struct runworld *w, uint64_t seed)
{
	tap_require(
	        runworld_make(w, "4x8",
	                &(struct runspec){.jobs = 80, .gpus_max = 16, .gap_s = 200, .run_s = 2500, .seed = seed}),
	        "%s", w->err.text);
	for (uint32_t j = 0; j < w->in.n; j++)
		w->in.job[j].ckpt_us = 300 * S;
}

static void fail(const char *order, enum wz_run_placement placement, bool nodes, bool devices, uint64_t seed)
{
	struct runworld w;
	struct wz_run_options o = run_options(order, placement, 30);
	struct wz_run_result a, b;
	char what[96];

	(void)snprintf(what, sizeof what, "%s %s%s%s", order, wz_run_placement_name[placement],
	        nodes ? " nodes" : "", devices ? " devices" : "");
	make(&w, seed);
	o.mtbf_us = nodes ? 4 * 3600 * S : 0;
	o.mttr_us = 600 * S;
	o.device_mtbf_us = devices ? 8 * 3600 * S : 0;
	o.device_mttr_us = 1800 * S;
	tap_require(
	        wz_run(&w.in, &o, wz_os_mem(), &a, &w.err) == 0 && wz_run(&w.in, &o, wz_os_mem(), &b, &w.err) == 0,
	        "%s: %s", what, w.err.text);
	tap_ok((a.failures > 0) == nodes, "%s: nodes failed", what);
	tap_ok((a.device_failures > 0) == devices, "%s: devices failed", what);
	tap_ok(a.digest == b.digest && a.device_failures == b.device_failures, "%s: a replay is the same", what);
	books(&w, &a, what);
	wz_run_result_release(&a);
	wz_run_result_release(&b);
	runworld_free(&w);
}

static void test_books(void)
{
	static const char *const orders[] = {"levelled", "fifo-skip", "easy", "srtf"};
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
		for (int p = 0; p < WZ_RUN_PLACEMENTS; p++)
			for (unsigned what = 1; what < 4; what++)
				fail(orders[i], (enum wz_run_placement)p, what & 1, what & 2, 3 + i);
}

/* One device, one job: it waits for each repair, and loses less than a checkpoint's step and a restart each time. */
static void test_one_device(void)
{
	for (int p = 0; p < WZ_RUN_PLACEMENTS; p++) {
		struct runworld w;
		struct wz_run_options o = run_options("fifo", (enum wz_run_placement)p, 40);
		struct wz_run_result r;
		int64_t n;
		double rate;

		tap_require(runworld_make(
		                    &w, "1x1", &(struct runspec){.jobs = 1, .gpus_max = 1, .run_s = 1, .seed = 1}),
		        "%s", w.err.text);
		w.in.job[0].run_us = 2000 * 3600 * S;
		w.in.job[0].ckpt_us = 300 * S;
		o.device_mtbf_us = 2 * 3600 * S;
		o.device_mttr_us = 700 * S;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
		n = (int64_t)r.device_failures;
		tap_eq_i64(r.finished, 1, "ends");
		tap_eq_i64(r.out[0].wait_us, n * (700 * S + 1), "waits for %" PRId64 " repairs", n);
		tap_ok(r.out[0].lost_us > 0 && r.out[0].lost_us <= n * 340 * S, "lost %" PRId64 " s",
		        r.out[0].lost_us / S);
		tap_eq_i64(r.out[0].held_us, w.in.job[0].run_us + r.out[0].lost_us, "goes on from its checkpoint");
		tap_eq_i64(r.out[0].preemptions, 0, "a failure is no preemption");
		rate = (double)n * 7200e6 / (double)r.out[0].held_us;
		tap_ok(rate > 0.9 && rate < 1.1, "fails as often as asked: %f", rate);
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

/* A failed device takes one device: what does not need it goes on. */
static void test_only_who_holds_it(void)
{
	for (int p = 0; p < WZ_RUN_PLACEMENTS; p++) {
		struct runworld w;
		struct wz_run_options o = run_options("fifo-skip", (enum wz_run_placement)p, 0);
		struct wz_run_result r;
		int64_t waits = 0;

		tap_require(runworld_make(
		                    &w, "2x4", &(struct runspec){.jobs = 8, .gpus_max = 1, .run_s = 1, .seed = 1}),
		        "%s", w.err.text);
		for (uint32_t j = 0; j < 8; j++)
			w.in.job[j].run_us = 100 * 3600 * S;
		o.device_mtbf_us = 200 * 3600 * S;
		o.device_mttr_us = 3600 * S;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
		for (uint32_t j = 0; j < 8; j++)
			waits += r.out[j].wait_us;
		tap_eq_i64(r.finished, 8, "%s: all end", wz_run_placement_name[p]);
		tap_ok(r.device_failures > 0 && waits > 0 && waits <= (int64_t)r.device_failures * (3600 * S + 1),
		        "%s: %" PRIu64 " failures, %" PRId64 " s waited", wz_run_placement_name[p],
		        r.device_failures, waits / S);
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

/* One job on one device of eight is hit as often as that one device fails, wherever it lies. */
static void test_fair_hits(void)
{
	for (int p = 0; p < WZ_RUN_PLACEMENTS; p++) {
		struct runworld w;
		struct wz_run_options o = run_options("fifo", (enum wz_run_placement)p, 40);
		struct wz_run_result r;
		double rate;

		tap_require(runworld_make(
		                    &w, "2x4", &(struct runspec){.jobs = 1, .gpus_max = 1, .run_s = 1, .seed = 1}),
		        "%s", w.err.text);
		w.in.job[0].run_us = 20000 * 3600 * S;
		o.device_mtbf_us = 20 * 3600 * S;
		o.device_mttr_us = 3600 * S;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
		rate = (double)(r.out[0].lost_us / (40 * S)) * (20 * 3600e6) / (double)r.out[0].held_us;
		tap_ok(rate > 0.9 && rate < 1.1, "%s: hit %f times as often as a device fails",
		        wz_run_placement_name[p], rate);
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

/* Nodes are up half of the time, devices four fifths: a full cluster holds no more than comes of that, whatever comes back while
 * its node is away. */
static void test_no_device_twice(void)
{
	for (int p = 0; p < WZ_RUN_PLACEMENTS; p++) {
		struct runworld w;
		struct wz_run_options o = run_options("fifo-skip", (enum wz_run_placement)p, 0);
		struct wz_run_result r;
		double share;

		tap_require(runworld_make(&w, "4x8",
		                    &(struct runspec){
		                            .jobs = 300, .gpus_max = 2, .gap_s = 1, .run_s = 60000, .seed = 5}),
		        "%s", w.err.text);
		o.mtbf_us = o.mttr_us = 3600 * S;
		o.device_mtbf_us = 4 * 3600 * S;
		o.device_mttr_us = 3600 * S;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
		share = r.held_gpu_s / (r.makespan_s * w.in.gpus);
		tap_eq_i64(r.finished, w.in.n, "all end");
		tap_ok(share < 0.55, "%s: %f of all devices held, where at most 0.5 can be",
		        wz_run_placement_name[p], share);
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

int main(void)
{
	tap_run(test_books);
	tap_run(test_one_device);
	tap_run(test_only_who_holds_it);
	tap_run(test_fair_hits);
	tap_run(test_no_device_twice);
	return tap_done();
}
