/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fault.h"
#include "load.h"
#include "os/mem.h"
#include "sim/churnset.h"

#include <math.h>

struct world {
	struct load l;
	struct wz_pack_input in;
	struct wz_err err;
};

static bool world_make(struct world *w, const char *nodes, const char *pods)
{
	struct wz_str p = wz_str(pods);

	memset(w, 0, sizeof(*w));
	return load_init(&w->l, wz_os_mem()) == 0 && load_texts(&w->l, wz_str(nodes), &p, &w->err) == 0 &&
	       wz_pack_input_make(&w->l.nodes, &w->l.tasks, wz_os_mem(), &w->in, &w->err) == 0;
}

static void world_free(struct world *w)
{
	wz_pack_input_release(&w->in);
	load_release(&w->l);
}

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"

static const char mixed_nodes[] = NODES "a,64000,262144,8,G2\nb,64000,262144,4,P100\nc,64000,262144,4,P100\n"
                                        "d,32000,131072,2,T4\ne,16000,65536,1,T4\n";
static const char mixed_pods[] =
        PODS "p0,2000,1024,0,0,\np1,4000,4096,1,300,\np2,4000,4096,1,500,\np3,6000,8192,1,1000,\n"
             "p4,8000,8192,1,1000,\np5,12000,8192,2,1000,\np6,24000,8192,4,1000,\n"
             "p7,48000,8192,8,1000,G2\np8,2000,1024,1,700,\n";

static const struct wz_life *life(const char *name)
{
	return wz_life_find(wz_str(name));
}

/* ---- draws ---- */

static void test_lives(void)
{
	enum { N = 400000 };
	for (const struct wz_life *l = wz_lives; l->name; l++) {
		double sum = 0, sq = 0, residual = 0, mean = (double)wz_life_mean_us(l), half;
		struct wz_rng rng;
		wz_rng_seed(&rng, 7);
		for (int i = 0; i < N; i++) {
			double v = (double)wz_life_draw_us(l, &rng);
			sum += v / N;
			sq += v * v / N;
			residual += (double)wz_life_residual_us(l, &rng) / N;
		}
		half = 4 * sqrt((sq - sum * sum) / N);
		tap_ok(fabs(sum - mean) < half, "%s: mean %g, want %g +- %g", l->name, sum, mean, half);
		/* The mean residual life is E[X^2] / 2 E[X]; both sides are estimated here. */
		tap_ok(fabs(residual / (sq / 2 / mean) - 1) < 0.05, "%s: residual %g, want %g", l->name, residual,
		        sq / 2 / mean);
	}
	tap_ok(!life("nobody"), "an unknown name");
}

/* P(X > k mean) = exp(-k), to far in the tail. */
static void test_exponential(void)
{
	static const double tail[] = {0.36787944, 0.13533528, 0.04978707, 0.01831564, 0.00673795, 0.00247875};
	enum { N = 1000000 };
	double over[6] = {0}, sum = 0, sq = 0;
	struct wz_rng rng;

	wz_rng_seed(&rng, 3);
	for (int i = 0; i < N; i++) {
		double v = (double)wz_exponential(&rng, 1000000) / 1e6;
		sum += v / N;
		sq += v * v / N;
		for (int k = 0; k < 6; k++)
			over[k] += v > k + 1;
	}
	tap_ok(fabs(sum - 1) < 0.004, "mean %g", sum);
	tap_ok(fabs(sq - 2) < 0.03, "second moment %g", sq);
	for (int k = 0; k < 6; k++)
		tap_ok(fabs(over[k] / N - tail[k]) < 4 * sqrt(tail[k] / N), "P(X > %d) = %g", k + 1, over[k] / N);
}

/* ---- theory ---- */

static double erlang_b(int servers, double load)
{
	double b = 1;
	for (int k = 1; k <= servers; k++)
		b = load * b / (k + load * b);
	return b;
}

/* Servers that are devices: blocking is Erlang's formula, whatever the lives are (insensitivity). */
static void check_erlang(const char *nodes, int servers, const char *lives, uint32_t permille, bool share)
{
	const char *pods = share ? PODS "p,100,10,1,500,\n" : PODS "p,100,10,1,1000,\n", *placement = "jigsaw";
	double want = 100 * erlang_b(servers, permille / 1000.0 * servers),
	       carried = permille / 10.0 * (1 - want / 100);
	struct wz_churnset s = {.placement = &placement,
	        .n_placements = 1,
	        .seed_from = 1,
	        .seed_to = 8,
	        .workers = 1,
	        .base = {.life = life(lives),
	                .load_permille = permille,
	                .warmup = 200,
	                .window = 10000u / (unsigned)servers}};
	struct world w;
	struct wz_interval x;

	tap_require(world_make(&w, nodes, pods), "%s", w.err.text);
	s.in = &w.in;
	tap_require(wz_churnset_run(&s, wz_os_mem(), &w.err) == 0, "%s", w.err.text);
	x = wz_churnset_mean(&s, 0, WZ_CHURN_REFUSED_HOURS, WZ_CHURN_CLASSES);
	/* Twice the 95 % half width: about 1 in 1,000 by chance; the seeds are fixed, so it does not flicker. */
	tap_ok(fabs(x.mean - want) < 2 * x.half, "%d servers, %s: refused %g +- %g, Erlang %g", servers, lives,
	        x.mean, x.half, want);
	tap_ok(x.half < 1.5, "an interval that could fail: %g", x.half);
	x = wz_churnset_mean(&s, 0, WZ_CHURN_ALLOCATED, 0);
	/* Little's law: what runs is the accepted arrivals x their mean life. */
	tap_ok(fabs(x.mean - carried) < 2 * x.half, "%d servers, %s: allocated %g +- %g, Little %g", servers, lives,
	        x.mean, x.half, carried);
	wz_churnset_release(&s, wz_os_mem());
	world_free(&w);
}

static void test_erlang(void)
{
	const char *one = NODES "a,64000,262144,1,G2\n", *four = NODES "a,64000,262144,4,G2\n";
	check_erlang(one, 1, "exp", 1000, false);
	check_erlang(one, 1, "exp", 500, false);
	check_erlang(one, 1, "acme", 950, false);
	check_erlang(four, 4, "exp", 950, false);
	check_erlang(four, 4, "philly", 950, false);
	check_erlang(one, 2, "acme", 1000, true); /* halves of a device */
}

/* One device and waiting without end is the queue M/M/1: mean wait rho / (1 - rho) of a mean life. */
static void test_queue(void)
{
	const char *placement = "firstfit";
	struct wz_churnset s = {.placement = &placement,
	        .n_placements = 1,
	        .seed_from = 1,
	        .seed_to = 8,
	        .workers = 1,
	        .base = {.life = life("exp"), .load_permille = 500, .wait = true, .warmup = 200, .window = 10000}};
	struct world w;
	struct wz_interval x;
	double want = (double)wz_life_mean_us(s.base.life) / 60e6; /* rho / (1 - rho) = 1 */

	tap_require(world_make(&w, NODES "a,64000,262144,1,G2\n", PODS "p,100,10,1,1000,\n"), "%s", w.err.text);
	s.in = &w.in;
	tap_require(wz_churnset_run(&s, wz_os_mem(), &w.err) == 0, "%s", w.err.text);
	x = wz_churnset_mean(&s, 0, WZ_CHURN_WAIT_MEAN, WZ_CHURN_ONE);
	tap_ok(fabs(x.mean - want) < 2 * x.half, "wait %g +- %g minutes, M/M/1 %g", x.mean, x.half, want);
	tap_ok(x.half < want / 10, "an interval that could fail: %g", x.half);
	x = wz_churnset_mean(&s, 0, WZ_CHURN_WAIT_P95, WZ_CHURN_ONE);
	/* P(W > t) = rho exp(-t (1 - rho) / life): 5 % at 2 ln 10 lives. */
	tap_ok(fabs(x.mean - 2 * 2.302585 * want) < 2 * x.half, "95th percentile %g +- %g, M/M/1 %g", x.mean,
	        x.half, 2 * 2.302585 * want);
	tap_ok(wz_churnset_mean(&s, 0, WZ_CHURN_REFUSED_JOBS, WZ_CHURN_ONE).mean == 0, "nobody is refused");
	wz_churnset_release(&s, wz_os_mem());
	world_free(&w);
}

/* ---- the mixed cluster ---- */

static struct wz_churn_options mixed(const char *placement, uint64_t seed)
{
	return (struct wz_churn_options){.placement = placement,
	        .seed = seed,
	        .life = life("philly"),
	        .load_permille = 950,
	        .warmup = 5,
	        .window = 60,
	        .check = true};
}

static void test_conservation(void)
{
	struct wz_churn_options o = mixed("jigsaw", 5);
	struct wz_churn_result r;
	struct world w;

	tap_require(world_make(&w, mixed_nodes, mixed_pods), "%s", w.err.text);
	for (int mode = 0; mode < 3; mode++) {
		uint64_t arrived = 0, refused = 0;
		o.wait = mode > 0;
		o.patience_us = mode == 2 ? 3600000000u : 0;
		tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &r, &w.err), 0, "mode %d: %s", mode, w.err.text);
		for (unsigned b = 0; b < WZ_CHURN_BATCHES; b++) {
			tap_ok(r.batch[b].allocated >= 0 && r.batch[b].allocated <= 100.0001, "allocated %g",
			        r.batch[b].allocated);
			tap_ok(r.batch[b].fragmented <= 100.0001 - r.batch[b].allocated + 30,
			        "fragments are of what is idle");
			for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
				const struct wz_churn_tally *t = &r.batch[b].tally[c];
				tap_ok(t->refused <= t->arrived, "no more refused than arrived");
				arrived += t->arrived;
				refused += t->refused;
			}
		}
		tap_ok(arrived > 500 && arrived < r.jobs, "%" PRIu64 " arrived in the window of %" PRIu64, arrived,
		        r.jobs);
		tap_ok(mode == 1 ? refused == 0 : refused > 0, "mode %d: %" PRIu64 " refused", mode, refused);
		tap_ok(mode == 0 ? r.waiting_last == 0 : true, "nobody waits when the full turn away");
		for (unsigned c = 0; c < WZ_CHURN_CLASSES; c++) {
			tap_ok(mode == 0 ? r.wait[c].max_s == 0 : true, "nobody waited");
			tap_ok(mode == 2 ? r.wait[c].max_s <= 3600 : true, "patience ends: %g s", r.wait[c].max_s);
		}
	}
	world_free(&w);
}

/* The same run again, without the index, and by another number of threads: the same digest. Every placement and both
 * modes meet the same arrivals; another seed does not. */
static void test_digests(void)
{
	struct wz_churn_options o = mixed("jigsaw", 11);
	struct wz_churn_result a, b;
	struct world w;

	tap_require(world_make(&w, mixed_nodes, mixed_pods), "%s", w.err.text);
	o.check = false;
	tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &a, &w.err), 0, "%s", w.err.text);
	tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &b, &w.err), 0, "%s", w.err.text);
	tap_ok(a.digest == b.digest && a.digest != 0, "the same again");
	o.no_index = true;
	tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &b, &w.err), 0, "%s", w.err.text);
	tap_ok(a.digest == b.digest, "the same without the index");
	o.no_index = false;
	for (uint32_t i = 0; wz_policies[i]; i++) {
		o.placement = wz_policies[i]->name;
		o.wait = i % 2;
		tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &b, &w.err), 0, "%s", w.err.text);
		tap_ok(a.offered == b.offered, "%s meets the same arrivals", o.placement);
	}
	o.seed = 12;
	tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &b, &w.err), 0, "%s", w.err.text);
	tap_ok(a.offered != b.offered, "another seed, other arrivals");
	world_free(&w);
}

static void set_of(struct wz_churnset *s, struct world *w, const char *const *placement, uint32_t workers)
{
	*s = (struct wz_churnset){.in = &w->in,
	        .trace = WZ_STR("t"),
	        .placement = placement,
	        .n_placements = 3,
	        .seed_from = 1,
	        .seed_to = 4,
	        .workers = workers,
	        .base = mixed(NULL, 0)};
	s->base.check = false;
	tap_eq_i64(wz_churnset_run(s, wz_os_mem(), &w->err), 0, "%s", w->err.text);
}

static void test_pairing(void)
{
	static const char *const placement[] = {"jigsaw", "jigsaw", "random"};
	struct wz_churnset s, t;
	struct world w;
	struct wz_interval same, other;

	tap_require(world_make(&w, mixed_nodes, mixed_pods), "%s", w.err.text);
	set_of(&s, &w, placement, 1);
	set_of(&t, &w, placement, 3);
	for (uint32_t i = 0; i < wz_churnset_runs(&s); i++)
		tap_ok(s.result[i].digest == t.result[i].digest, "run %u: one thread or three", i);
	same = wz_churnset_difference(&s, 1, WZ_CHURN_REFUSED_HOURS, WZ_CHURN_CLASSES);
	tap_ok(same.mean == 0 && same.half == 0, "a policy does not differ from itself");
	other = wz_churnset_difference(&s, 2, WZ_CHURN_ALLOCATED, 0);
	tap_ok(other.n == 4 && other.half > 0, "an interval over four seeds");
	wz_churnset_release(&s, wz_os_mem());
	wz_churnset_release(&t, wz_os_mem());
	world_free(&w);
}

static void test_load(void)
{
	struct world w;
	/* One device, one whole pod: at 50 % a pod every two lives. */
	tap_require(world_make(&w, NODES "a,64000,262144,1,G2\n", PODS "p,100,10,1,1000,\n"), "%s", w.err.text);
	tap_eq_i64(wz_churn_gap_us(&w.in, life("exp"), 500), 2 * 13522000000, "gap");
	tap_eq_i64(wz_churn_gap_us(&w.in, life("exp"), 1000), 13522000000, "gap");
	world_free(&w);
}

static void test_classes(void)
{
	static const enum wz_churn_class want[] = {WZ_CHURN_CPU, WZ_CHURN_SHARE, WZ_CHURN_SHARE, WZ_CHURN_ONE,
	        WZ_CHURN_ONE, WZ_CHURN_TWO, WZ_CHURN_FOUR, WZ_CHURN_EIGHT, WZ_CHURN_SHARE};
	struct world w;

	tap_require(world_make(&w, mixed_nodes, mixed_pods), "%s", w.err.text);
	for (uint32_t i = 0; i < WZ_ARRAY_LEN(want); i++)
		tap_eq_i64(wz_churn_class_of(&w.l.tasks, &w.l.tasks.task[i]), want[i], "class of p%u", i);
	tap_eq_i64((int64_t)wz_churn_asks(&w.l.tasks, &w.l.tasks.task[0]), 2000, "CPU");
	tap_eq_i64((int64_t)wz_churn_asks(&w.l.tasks, &w.l.tasks.task[7]), 8000, "devices");
	world_free(&w);
}

static void test_intervals(void)
{
	struct wz_sample s = {0};
	struct wz_interval x;

	tap_ok(isnan(wz_sample_interval(&s).mean), "of nothing");
	for (int i = 1; i <= 5; i++)
		wz_sample_add(&s, i);
	wz_sample_add(&s, (double)NAN);
	x = wz_sample_interval(&s);
	tap_ok(x.n == 5 && fabs(x.mean - 3) < 1e-12, "mean");
	tap_ok(fabs(x.half - 2.776 * sqrt(2.5 / 5)) < 1e-9, "half %g", x.half);
	tap_ok(wz_student_975(1) == 12.706 && wz_student_975(30) == 2.042 && wz_student_975(100000) == 1.980, "t");
}

/* Every allocation fails once. The core may go on without the memory of a cache: then with the same result. */
static void test_no_memory(void)
{
	struct wz_churn_options o = mixed("jigsaw", 3);
	struct wz_churn_result good, r;
	struct world w;

	o.check = false;
	o.wait = true;
	o.warmup = 1;
	o.window = 2;
	tap_require(world_make(&w, mixed_nodes, mixed_pods), "%s", w.err.text);
	tap_eq_i64(wz_churn_run(&w.in, &o, wz_os_mem(), &good, &w.err), 0, "%s", w.err.text);
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		int rc;
		fault_mem_init(&f);
		f.fail_at = n;
		rc = wz_churn_run(&w.in, &o, &f.mem, &r, &w.err);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		tap_ok(rc == -ENOMEM || (rc == 0 && r.digest == good.digest), "allocation %" PRIu64 ": %d", n, rc);
		if (!f.failures)
			break;
	}
	world_free(&w);
}

int main(void)
{
	tap_run(test_lives);
	tap_run(test_exponential);
	tap_run(test_classes);
	tap_run(test_load);
	tap_run(test_erlang);
	tap_run(test_queue);
	tap_run(test_conservation);
	tap_run(test_digests);
	tap_run(test_pairing);
	tap_run(test_intervals);
	tap_run(test_no_memory);
	return tap_done();
}
