/* SPDX-License-Identifier: Apache-2.0 */
/* Water-filling against the integer program of the same round. Its variables are few here (at most 5 jobs x 5 sizes), so its
 * optimum is found by trying every allocation: sum over jobs of exactly one size each, at most the devices there are. */
#include "tap.h"

#include "base/rng.h"
#include "sim/waterfill.h"

#include <math.h>

#define JOBS_MAX 5u
#define DEVICES_MAX 16u
#define INSTANCES 2000u
/* The allowed gap. Of what it fills by, the sum of speed[0] / speed (smaller is better): the worst instance and the mean, in
 * times the optimum; and how many are optimal. */
#define WORST_EXCESS 1.08
#define MEAN_EXCESS 1.001
#define EXACT 1900u
/* Of the plain sum of goodput, which it does not maximise (it would starve jobs that scale badly): the share of the optimum. */
#define WORST_SHARE 0.65
#define MEAN_SHARE 0.96

struct instance {
	struct wz_fill_job job[JOBS_MAX];
	double speed[JOBS_MAX][WZ_FILL_SIZES];
	uint32_t n, devices;
};

static double unit(struct wz_rng *rng)
{
	return (double)wz_rng_below(rng, 1000001) / 1e6;
}

/* Each doubling makes a job 1 to 2 times as fast, by ever less: goodput as profiles show it. Half of the jobs run already. */
static void make(struct instance *x, struct wz_rng *rng)
{
	memset(x, 0, sizeof *x);
	x->n = 1 + (uint32_t)wz_rng_below(rng, JOBS_MAX);
	x->devices = x->n + (uint32_t)wz_rng_below(rng, DEVICES_MAX - x->n + 1);
	for (uint32_t i = 0; i < x->n; i++) {
		double by = 1.2 + 0.8 * unit(rng), fade = 0.6 + 0.4 * unit(rng);
		uint32_t has = wz_rng_below(rng, 2) ? 1u << wz_rng_below(rng, 3) : 0;
		x->speed[i][0] = 1 + 9 * unit(rng);
		for (uint32_t k = 1; k < WZ_FILL_SIZES; k++, by = 1 + (by - 1) * fade)
			x->speed[i][k] = 1u << k <= DEVICES_MAX ? x->speed[i][k - 1] * by : 0;
		x->job[i] = (struct wz_fill_job){.speed = x->speed[i],
		        .keeps = has ? 0.8 + 0.2 * unit(rng) : 1,
		        .has = has,
		        .most = has ? 2 * has : DEVICES_MAX};
	}
}

/* Sum of goodput relative to one device (a job that has twice the devices may be twice as fast), and of its inverses. */
static void sums(const struct instance *x, const uint32_t *want, double *ret_speedup, double *ret_inverse)
{
	*ret_speedup = *ret_inverse = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		double v = wz_fill_speed(&x->job[i], want[i]) / x->speed[i][0];
		*ret_speedup += v;
		*ret_inverse += 1 / v;
	}
}

static void optimum(const struct instance *x, double *ret_speedup, double *ret_inverse)
{
	uint32_t want[JOBS_MAX] = {1, 1, 1, 1, 1}, i;

	*ret_speedup = 0;
	*ret_inverse = INFINITY;
	do {
		uint32_t used = 0;
		double speedup, inverse;
		for (i = 0; i < x->n; i++)
			used += want[i];
		if (used <= x->devices) {
			sums(x, want, &speedup, &inverse);
			*ret_speedup = fmax(*ret_speedup, speedup);
			*ret_inverse = fmin(*ret_inverse, inverse);
		}
		for (i = 0; i < x->n; i++) { /* the next allocation, as an odometer counts */
			want[i] *= 2;
			if (want[i] <= x->job[i].most)
				break;
			want[i] = 1;
		}
	} while (i < x->n);
}

static void test_against_the_program(void)
{
	struct wz_rng rng;
	double worst = 1, sum = 0, worst_inverse = 1, sum_inverse = 0;
	uint32_t exact = 0;

	wz_rng_seed(&rng, 8);
	for (uint32_t k = 0; k < INSTANCES; k++) {
		struct instance x;
		uint32_t want[JOBS_MAX], used = 0;
		double speedup, inverse, best_speedup, best_inverse;
		int64_t left;
		make(&x, &rng);
		left = wz_fill(x.job, x.n, x.devices);
		for (uint32_t i = 0; i < x.n; i++) {
			want[i] = x.job[i].want;
			used += want[i];
			tap_require(want[i] >= 1 && (want[i] & (want[i] - 1)) == 0 && want[i] <= x.job[i].most,
			        "instance %u: job %u gets %u of at most %u", k, i, want[i], x.job[i].most);
		}
		tap_require((int64_t)x.devices - used == left, "instance %u: devices in and out", k);
		sums(&x, want, &speedup, &inverse);
		optimum(&x, &best_speedup, &best_inverse);
		tap_require(speedup <= best_speedup + 1e-9 && inverse >= best_inverse - 1e-9,
		        "instance %u: better than the optimum", k);
		exact += inverse <= best_inverse + 1e-9;
		worst = fmin(worst, speedup / best_speedup);
		sum += speedup / best_speedup;
		worst_inverse = fmax(worst_inverse, inverse / best_inverse);
		sum_inverse += inverse / best_inverse;
	}
	tap_ok(worst >= WORST_SHARE, "goodput: worst %.4f of the optimum", worst);
	tap_ok(sum / INSTANCES >= MEAN_SHARE, "goodput: mean %.4f of the optimum", sum / INSTANCES);
	tap_ok(worst_inverse <= WORST_EXCESS, "its own objective: worst %.4f times the optimum", worst_inverse);
	tap_ok(sum_inverse / INSTANCES <= MEAN_EXCESS, "its own objective: mean %.4f times",
	        sum_inverse / INSTANCES);
	tap_ok(exact >= EXACT, "its own objective: optimal in %u of %u", exact, INSTANCES);
	printf("# of the optimum: goodput worst %.4f mean %.4f; objective worst %.4f mean %.4f, exact %u of %u\n",
	        worst, sum / INSTANCES, worst_inverse, sum_inverse / INSTANCES, exact, INSTANCES);
}

/* Fewer devices than jobs: the first of the order have one each. */
static void test_scarce(void)
{
	static const double speed[WZ_FILL_SIZES] = {1, 2, 4};
	struct wz_fill_job job[3] = {{speed, 1, 0, 4, 0}, {speed, 1, 0, 4, 0}, {speed, 1, 0, 4, 0}};

	tap_eq_i64(wz_fill(job, 3, 2), 0, "nothing is left");
	tap_ok(job[0].want == 1 && job[1].want == 1 && job[2].want == 0, "in order: %u %u %u", job[0].want,
	        job[1].want, job[2].want);
	tap_eq_i64(wz_fill(job, 1, 16), 12, "no more than its most");
}

/* A change that gains too little is none, unless the devices are needed. */
static void test_stay(void)
{
	static const double flat[WZ_FILL_SIZES] = {1, 1.05, 1.06};
	struct wz_fill_job job = {flat, 0.99, 1, 2, 0};
	int64_t left = wz_fill(&job, 1, 4);

	tap_ok(job.want == 2 && left == 2, "filled: %u", job.want);
	tap_ok(fabs(wz_fill_speed(&job, 2) - 1.05 * 0.99) < 1e-12 && wz_fill_speed(&job, 1) == 1,
	        "a change costs, staying does not");
	tap_eq_i64(wz_fill_stay(&job, 1, left, 1.1), 3, "the device goes back");
	tap_ok(job.want == 1, "stays: %u", job.want);
	job = (struct wz_fill_job){flat, 0.99, 4, 8, 1};
	tap_eq_i64(wz_fill_stay(&job, 1, 2, 1.1), 2, "no room to stay on four");
	tap_ok(job.want == 1, "shrinks: %u", job.want);
}

int main(void)
{
	tap_run(test_against_the_program);
	tap_run(test_scarce);
	tap_run(test_stay);
	return tap_done();
}
