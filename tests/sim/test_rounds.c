/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds: device types, targets, elastic jobs; what holds whatever is decided. */
#include "tap.h"

#include "runworld.h"
#include "sim/rounds.h"

#include <math.h>

static const char speeds[] = "{\"v100\": {\"('A (x)', 1)\": {\"null\": 10}, \"('B (x)', 1)\": {\"null\": 10}, "
                             "\"('A (x)', 2)\": {\"null\": 16}},"
                             " \"k80\": {\"('A (x)', 1)\": {\"null\": 1}, \"('B (x)', 1)\": {\"null\": 8}, \"('A "
                             "(x)', 2)\": {\"null\": 2}}}";

/* n jobs of types A (only fast on a V100) and B (nearly as fast on a K80). */
static bool types_world(struct runworld *w, uint32_t n, uint64_t seed)
{
	char text[8192];
	struct wz_rng rng;
	struct wz_buf b;
	struct wz_trace_source src[2] = {{WZ_STR("s"), wz_str(speeds)}, {WZ_STR("t"), {NULL, 0}}};

	memset(w, 0, sizeof(*w));
	wz_rng_seed(&rng, seed);
	wz_buf_init_fixed(&b, text, sizeof text);
	for (uint32_t i = 0; i < n; i++) {
		bool a = wz_rng_below(&rng, 2);
		wz_buf_addz(&b, a ? "A (x)" : "B (x)");
		wz_buf_addz(&b, "\tcmd (x)\tdir\t--n\t1\t");
		wz_buf_add_u64(&b, 2000 + wz_rng_below(&rng, 40000));
		wz_buf_addz(&b, a && wz_rng_below(&rng, 3) == 0 ? "\t2\t1\t-1\t" : "\t1\t1\t-1\t");
		wz_buf_add_u64(&b, i * 100);
		wz_buf_addc(&b, '\n');
	}
	src[1].text = wz_buf_str(&b);
	if (load_init(&w->l, wz_os_mem()) < 0 ||
	        wz_clusterspec(WZ_STR("2x1:v100,4x1:k80"), &w->l.nodes, &w->err) < 0)
		return false;
	const struct wz_trace_format *gavel = &wz_format_gavel;
	if (wz_trace_read(src, 2, gavel, &w->l.nodes, &w->l.tasks, &w->err) < 0)
		return false;
	return wz_run_input_make(
	               &w->in, &w->l.nodes, &w->l.tasks, &(struct wz_run_select){0}, wz_os_mem(), &w->err) == 0;
}

static void test_books(void)
{
	static const char *const orders[] = {
	        "max-min", "max-min-agnostic", "finish-time", "levelled", "srsf", "fifo", "las2d-damped"};
	for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct runworld w;
			struct wz_run_options o = run_options(orders[k], WZ_RUN_ANY, 0);
			struct wz_run_result a, b;
			double held = 0;
			tap_require(types_world(&w, 40, seed), "%s", w.err.text);
			tap_ok(wz_rounds_wanted(&w.in, &o), "several types and speeds are played in rounds");
			int r = wz_rounds(&w.in, &o, wz_os_mem(), &a, &w.err);
			if (r == -EOPNOTSUPP) {
				runworld_free(&w);
				tap_skip("built without CLP");
			}
			tap_require(r == 0 && wz_rounds(&w.in, &o, wz_os_mem(), &b, &w.err) == 0, "%s: %s",
			        orders[k], w.err.text);
			tap_eq_i64(a.finished, w.in.n, "%s: all end", orders[k]);
			tap_ok(a.digest == b.digest, "%s: a replay has the same digest", orders[k]);
			for (uint32_t j = 0; j < w.in.n; j++) {
				held += (double)w.in.job[j].gpus * (double)a.out[j].held_us;
				tap_ok(a.out[j].held_us >= w.in.job[j].run_us - 2,
				        "%s: job %u was held %" PRId64 " us of at least %" PRId64, orders[k], j,
				        a.out[j].held_us, w.in.job[j].run_us);
				tap_ok(a.out[j].wait_us >= 0, "%s: attempts do not overlap", orders[k]);
			}
			tap_ok(fabs(held / 1e6 - a.held_gpu_s) < 1, "%s: GPU-seconds in and out", orders[k]);
			tap_ok(held / 1e6 <= 6 * (a.makespan_s + 1), "%s: no more than the cluster has", orders[k]);
			wz_run_result_release(&a);
			wz_run_result_release(&b);
			runworld_free(&w);
		}
}

/* Two jobs, one V100: it goes to the job that gains ten-fold, though the other came first. */
static void test_scarce_type(void)
{
	struct runworld w;
	struct wz_run_options o = run_options("levelled", WZ_RUN_ANY, 0);
	struct wz_run_result r;
	struct wz_trace_source src[2] = {{WZ_STR("s"), wz_str(speeds)},
	        {WZ_STR("t"),
	                WZ_STR("B (x)\tc\td\te\t1\t80000\t1\t1\t-1\t0\nA (x)\tc\td\te\t1\t80000\t1\t1\t-1\t10\n")}};

	memset(&w, 0, sizeof w);
	tap_require(load_init(&w.l, wz_os_mem()) == 0 &&
	                    wz_clusterspec(WZ_STR("1x1:v100,1x1:k80"), &w.l.nodes, &w.err) == 0 &&
	                    wz_trace_read(src, 2, &wz_format_gavel, &w.l.nodes, &w.l.tasks, &w.err) == 0 &&
	                    wz_run_input_make(&w.in, &w.l.nodes, &w.l.tasks, &(struct wz_run_select){0},
	                            wz_os_mem(), &w.err) == 0,
	        "%s", w.err.text);
	tap_require(wz_rounds(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
	tap_ok(r.out[1].end_us < INT64_C(8100) * 1000000, "A has the V100: ends at %" PRId64,
	        r.out[1].end_us / 1000000);
	tap_ok(r.out[0].end_us < INT64_C(10100) * 1000000,
	        "B goes on with the K80, and moves back when the V100 is free");
	wz_run_result_release(&r);
	runworld_free(&w);
}

/* The cluster falls empty, then more work comes: who has ended is not placed again. As published Tiresias rounds once did: a
 * queue still named the job, and its device was gone for good. */
static void test_falls_empty(void)
{
	static const char *const orders[] = {"las2d", "levelled", "goodput"};
	for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
		struct runworld w;
		struct wz_run_options o = run_options(orders[k], WZ_RUN_ANY, 30);
		struct wz_run_result r;
		struct wz_trace_source src[4] = {
		        {WZ_STR("profiles/app/placements.csv"),
		                WZ_STR("placement,local_bsz,step_time,sync_time\n1,4,0.5,0.01\n1,8,0.6,0.01\n")},
		        {WZ_STR("profiles/app/scalability.csv"),
		                WZ_STR("num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,1,4,0.5,0.01\n")},
		        {WZ_STR("profiles/app/validation-4.csv"),
		                WZ_STR("progress,iteration,metric,grad_sqr,grad_var\n400,400,0.1,1,1\n800,800,0.2,"
		                       "1,1\n")},
		        {WZ_STR("w"), WZ_STR("name,time,application,num_replicas,batch_size\napp-0,0,app,1,4\n"
		                             "app-1,20000,app,1,4\napp-2,40000,app,1,4\n")}};

		memset(&w, 0, sizeof w);
		tap_require(load_init(&w.l, wz_os_mem()) == 0 &&
		                    wz_clusterspec(WZ_STR("1x1"), &w.l.nodes, &w.err) == 0 &&
		                    wz_trace_read(src, 4, NULL, &w.l.nodes, &w.l.tasks, &w.err) == 0 &&
		                    wz_run_input_make(&w.in, &w.l.nodes, &w.l.tasks, &(struct wz_run_select){0},
		                            wz_os_mem(), &w.err) == 0,
		        "%s", w.err.text);
		tap_eq_i64(w.in.n, 3, "three jobs");
		tap_require(wz_rounds(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s: %s", orders[k], w.err.text);
		tap_eq_i64(r.finished, 3, "%s: all end", orders[k]);
		for (uint32_t j = 0; j < 3; j++) {
			tap_ok(r.out[j].end_us < w.in.job[j].submit_us + INT64_C(10000) * 1000000,
			        "%s: job %u has an empty cluster", orders[k], j);
			tap_ok(r.out[j].held_us == r.out[j].end_us - r.out[j].first_start_us,
			        "%s: job %u held %" PRId64 " us of %" PRId64, orders[k], j, r.out[j].held_us,
			        r.out[j].end_us - r.out[j].first_start_us);
		}
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

int main(void)
{
	tap_run(test_books);
	tap_run(test_scarce_type);
	tap_run(test_falls_empty);
	return tap_done();
}
