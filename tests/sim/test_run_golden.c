/* SPDX-License-Identifier: Apache-2.0 */
/* What small generated traces come to under each order, to the microsecond; and the optimum on two devices. */
#include "tap.h"

#include "runworld.h"

/* ---- golden tables: a change here changes results; say so where it is made ---- */

struct row {
	const char *order;
	enum wz_run_placement placement;
	int64_t sum_jct_us, last_end_us;
	uint64_t stops;
};
struct table {
	const char *cluster;
	struct runspec spec; /* the trace: tests/sim/runworld.h from this seed */
	int64_t restart_s;
	struct row row[10];
};

static const struct table tables[] = {
        {"2x8", {.jobs = 60, .gpus_max = 16, .gap_s = 300, .run_s = 2000, .seed = 11}, 0,
                {{"fifo", WZ_RUN_ANY, INT64_C(9003439000000), INT64_C(366808000000), 0},
                        {"fifo-skip", WZ_RUN_YARN, INT64_C(5420504000000), INT64_C(298223000000), 0},
                        {"sjf", WZ_RUN_ANY, INT64_C(3170991000000), INT64_C(275861000000), 0},
                        {"srtf", WZ_RUN_ANY, INT64_C(1915640000000), INT64_C(281616000000), 73},
                        {"srsf", WZ_RUN_YARN, INT64_C(2111753000000), INT64_C(292846000000), 61},
                        {"las2d", WZ_RUN_ANY, INT64_C(3649205000000), INT64_C(280396000000), 123},
                        {"easy", WZ_RUN_ANY, INT64_C(4877709000000), INT64_C(274632000000), 0},
                        {"levelled", WZ_RUN_ANY, INT64_C(3148382000000), INT64_C(278270000000), 33},
                        {"levelled", WZ_RUN_YARN, INT64_C(3431486000000), INT64_C(301290000000), 32},
                        {"levelled", WZ_RUN_JIGSAW, INT64_C(3431486000000), INT64_C(301290000000), 32}}},
        {"3x8", {.jobs = 80, .gpus_max = 20, .gap_s = 200, .run_s = 1500, .seed = 12}, 60,
                {{"fifo", WZ_RUN_YARN, INT64_C(9875870000000), INT64_C(236533000000), 0},
                        {"fifo-skip", WZ_RUN_ANY, INT64_C(5391447000000), INT64_C(203780000000), 0},
                        {"sjf", WZ_RUN_YARN, INT64_C(1670248000000), INT64_C(203825000000), 0},
                        {"srtf", WZ_RUN_YARN, INT64_C(1203173000000), INT64_C(198488000000), 85},
                        {"srsf", WZ_RUN_ANY, INT64_C(1278430000000), INT64_C(204985000000), 109},
                        {"las2d-damped", WZ_RUN_ANY, INT64_C(2571137047627), INT64_C(198875000001), 90},
                        {"conservative", WZ_RUN_ANY, INT64_C(5391447000000), INT64_C(203780000000), 0},
                        {"levelled", WZ_RUN_ANY, INT64_C(2599885571420), INT64_C(201738571428), 41},
                        {"levelled", WZ_RUN_YARN, INT64_C(2630295428584), INT64_C(200091571428), 42},
                        {"levelled", WZ_RUN_JIGSAW, INT64_C(2630295428584), INT64_C(200091571428), 42}}},
};

static void test_golden(void)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (size_t i = 0; i < sizeof tables[t].row / sizeof tables[t].row[0]; i++) {
			const struct row *g = &tables[t].row[i];
			struct wz_run_options o = run_options(g->order, g->placement, tables[t].restart_s);
			struct row is = {g->order, g->placement, 0, 0, 0};
			struct runworld w;
			struct wz_run_result r;

			tap_require(runworld_make(&w, tables[t].cluster, &tables[t].spec), "%s", w.err.text);
			tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
			tap_eq_i64(r.finished, w.in.n, "all end");
			for (uint32_t j = 0; j < w.in.n; j++) {
				is.sum_jct_us += r.out[j].end_us - w.in.job[j].submit_us;
				is.last_end_us =
				        r.out[j].end_us > is.last_end_us ? r.out[j].end_us : is.last_end_us;
				is.stops += r.out[j].preemptions;
			}
			tap_ok(is.sum_jct_us == g->sum_jct_us && is.last_end_us == g->last_end_us &&
			                is.stops == g->stops,
			        "seed %" PRIu64 ": {\"%s\", %s, %" PRId64 ", %" PRId64 ", %" PRIu64 "}",
			        tables[t].spec.seed, g->order, wz_run_placement_name[g->placement], is.sum_jct_us,
			        is.last_end_us, is.stops);
			wz_run_result_release(&r);
			runworld_free(&w);
		}
}

/* ---- eight jobs, two devices ---- */

/* Jobs of one device that are all there at once: preemption gains nothing (McNaughton), so the best list is the optimum. */
static int64_t best_of(
        const struct wz_run_input *in, uint32_t used, int64_t a, int64_t b, int64_t sum, int64_t best)
{
	if (sum >= best)
		return best;
	if (used == (1u << in->n) - 1)
		return sum;
	for (uint32_t j = 0; j < in->n; j++)
		if (!(used >> j & 1)) {
			int64_t end = (a < b ? a : b) + in->job[j].run_us;
			best = best_of(in, used | 1u << j, end, a < b ? b : a, sum + end, best);
		}
	return best;
}

static void test_two_devices(void)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct runworld w;
		int64_t best;

		tap_require(runworld_make(&w, "1x2",
		                    &(struct runspec){.jobs = 8, .gpus_max = 1, .run_s = 400, .seed = seed}),
		        "%s", w.err.text);
		best = best_of(&w.in, 0, 0, 0, 0, INT64_MAX);
		for (const struct wz_order_rule *const *rule = wz_order_rules; *rule; rule++) {
			struct wz_run_options o = run_options((*rule)->name, WZ_RUN_ANY, 0);
			struct wz_run_result r;
			int64_t sum = 0;

			if ((*rule)->flags & WZ_ORDER_ROUNDS)
				continue;
			o.predict = WZ_PREDICT_ORACLE;
			tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
			for (uint32_t j = 0; j < w.in.n; j++)
				sum += r.out[j].end_us;
			tap_ok(sum >= best, "%s beats the optimum: %" PRId64 " < %" PRId64, (*rule)->name, sum,
			        best);
			if (*rule == &wz_order_srtf || *rule == &wz_order_sjf)
				tap_eq_i64(sum, best, "%s is optimal here", (*rule)->name);
			wz_run_result_release(&r);
		}
		runworld_free(&w);
	}
}

int main(void)
{
	tap_run(test_golden);
	tap_run(test_two_devices);
	return tap_done();
}
