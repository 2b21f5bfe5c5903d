/* SPDX-License-Identifier: Apache-2.0 */
/* What a run comes to. Floating point is for reports only. */
#include "base/hash.h"
#include "core/predict.h"
#include "sim/run_int.h"

#include <math.h>
#include <stdlib.h>

static uint32_t bucket_of(uint64_t ns)
{
	uint32_t octave;

	if (ns < 16)
		return (uint32_t)ns;
	octave = 63 - (uint32_t)__builtin_clzll(ns);
	return 16 + (octave - 4) * 8 + (uint32_t)(ns >> (octave - 3) & 7);
}

void wz_run_latency(struct wz_run_latency *l, uint64_t ns)
{
	uint32_t b = bucket_of(ns);
	l->count[b < WZ_RUN_BUCKETS ? b : WZ_RUN_BUCKETS - 1]++;
	l->n++;
}

double wz_run_latency_us(const struct wz_run_latency *l, double quantile)
{
	uint64_t want = (uint64_t)(quantile * (double)l->n), seen = 0;

	for (uint32_t b = 0; b < WZ_RUN_BUCKETS; b++) {
		seen += l->count[b];
		if (seen <= want)
			continue;
		if (b < 16)
			return (double)(b + 1) / 1000;
		return ldexp(1 + (double)((b - 16) % 8 + 1) / 8, (int)(4 + (b - 16) / 8)) / 1000;
	}
	return 0;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return a < b ? -1 : a > b;
}

/* The value at index floor(q n) of the sorted list, as Muri's scripts take it. */
static double at_quantile(const double *sorted, uint32_t n, double q)
{
	uint32_t i = (uint32_t)(q * n);
	return n == 0 ? NAN : sorted[i < n ? i : n - 1];
}

/* Jain's index of the users' mean slowdowns; finish-time rho of each job: JCT over what it would take on a 1/N share of the
 * cluster, N the mean number of jobs present. */
static int fairness(const struct wz_run_state *s, struct wz_run_result *ret, double present, struct wz_err *err)
{
	uint32_t users = s->in->n_users ? s->in->n_users : 1, unfair = 0, counted = 0;
	double *sum = wz_mem_zalloc(s->mem, users * sizeof(*sum)), *n = wz_mem_zalloc(s->mem, users * sizeof(*n)),
	       x = 0, x2 = 0;

	if (!sum || !n) {
		if (sum)
			wz_mem_free(s->mem, sum, users * sizeof(*sum));
		if (n)
			wz_mem_free(s->mem, n, users * sizeof(*n));
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for figures"));
	}
	for (uint32_t i = 0; i < s->in->n; i++) {
		const struct wz_run_job *j = &s->in->job[i];
		double jct = (double)(s->out[i].end_us - j->submit_us),
		       share = (double)s->in->gpus / (present > 1 ? present : 1);
		double alone = (double)j->run_us * (j->gpus > share ? j->gpus / share : 1), rho = jct / alone;
		if (s->out[i].end_us < 0 || j->run_us <= 1) /* Pollux tells no run time */
			continue;
		sum[j->user] += jct / (double)j->run_us;
		n[j->user]++;
		ret->worst_rho = rho > ret->worst_rho ? rho : ret->worst_rho;
		unfair += rho > 1.05;
	}
	for (uint32_t u = 0; u < users; u++) {
		if (n[u] == 0)
			continue;
		x += n[u] / sum[u];
		x2 += (n[u] / sum[u]) * (n[u] / sum[u]);
		counted++;
	}
	ret->jain = counted ? x * x / (counted * x2) : NAN;
	ret->unfair_pct = ret->finished ? 100.0 * unfair / ret->finished : NAN;
	wz_mem_free(s->mem, sum, users * sizeof(*sum));
	wz_mem_free(s->mem, n, users * sizeof(*n));
	return 0;
}

int wz_run_figures(struct wz_run_state *s, struct wz_run_result *ret, struct wz_err *err)
{
	const struct wz_run_input *in = s->in;
	double *jct = wz_mem_alloc(s->mem, in->n * sizeof(*jct)), sum = 0, wait = 0, slow = 0, preempted = 0,
	       lost = 0, work = 0, served = 0, asked = 0;
	int64_t last = in->from_us, service_end;
	uint32_t n = 0;
	int r;

	if (!jct)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for figures"));
	for (uint32_t i = 0; i < in->n; i++)
		last = s->out[i].end_us > last ? s->out[i].end_us : last;
	service_end = last > in->to_us ? last : in->to_us;
	s->now = service_end;
	for (uint32_t i = 0; i < in->n; i++) {
		struct wz_run_outcome *o = &s->out[i];
		double g = (double)wz_run_need(&in->job[i]) / 1000;
		if (s->job[i].running) { /* a service: up to the end of all else */
			double held = (double)(service_end - s->job[i].start_us),
			       to = (double)(in->to_us - s->job[i].start_us);
			s->held_gpu_us += g * held;
			s->window_gpu_us += to > 0 ? g * to : 0;
			wz_run_sync(s, i);
		}
		o->held_us = s->job[i].held_us;
		preempted += o->preemptions;
		lost += g * (double)o->lost_us;
		work += g * (double)s->job[i].done_us;
		if (in->job[i].replica || in->job[i].service) { /* not jobs that end: counted apart */
			ret->service_jobs++;
			served += g * (double)o->held_us;
			asked += g * (double)(o->held_us + o->wait_us);
			continue;
		}
		if (o->end_us < 0)
			continue;
		jct[n] = (double)(o->end_us - in->job[i].submit_us) / 1e6;
		sum += jct[n];
		wait += (double)o->wait_us / 1e6;
		slow += jct[n] / fmax((double)in->job[i].run_us / 1e6, 10);
		n++;
	}
	qsort(jct, n, sizeof(*jct), by_value);
	ret->finished = n;
	ret->service_pct = asked > 0 ? 100 * served / asked : NAN;
	ret->mean_jct_s = n ? sum / n : NAN;
	ret->p50_jct_s = at_quantile(jct, n, 0.5);
	ret->p95_jct_s = at_quantile(jct, n, 0.95);
	ret->p99_jct_s = at_quantile(jct, n, 0.99);
	ret->max_jct_s = n ? jct[n - 1] : NAN;
	ret->mean_wait_s = n ? wait / n : NAN;
	ret->mean_slowdown = n ? slow / n : NAN;
	ret->makespan_s = (double)(last - in->from_us) / 1e6;
	ret->utilisation = in->to_us > in->from_us
	                           ? s->window_gpu_us / ((double)in->gpus * (double)(in->to_us - in->from_us))
	                           : s->held_gpu_us / fmax((double)in->gpus * (double)(last - in->from_us), 1);
	ret->preemptions_per_job = preempted / in->n;
	ret->lost_gpu_s = lost / 1e6;
	ret->held_gpu_s = s->held_gpu_us / 1e6;
	ret->work_gpu_s = work / 1e6;
	ret->energy_kwh =
	        ((double)in->full_mw * s->held_gpu_us +
	                (double)in->idle_mw *
	                        fmax((double)in->gpus * (double)(service_end - in->from_us) - s->held_gpu_us, 0)) /
	        3.6e15;
	ret->cost = (double)in->price_musd * s->held_gpu_us / 3.6e12;
	ret->decisions = s->latency.n;
	ret->events = s->events;
	ret->failures = s->failures;
	ret->device_failures = s->device_failures;
	ret->p99_us = wz_run_latency_us(&s->latency, 0.99);
	ret->known_pct = s->asked ? 100.0 * (double)s->known / (double)s->asked : NAN;
	ret->covered_pct = s->asked ? 100.0 * (double)s->covered / (double)s->asked : NAN;
	ret->digest = s->history ? wz_hash_u64(s->digest, wz_predict_digest(s->history)) : s->digest;
	r = fairness(s, ret, ret->makespan_s > 0 ? sum / ret->makespan_s : 1, err);
	wz_mem_free(s->mem, jct, in->n * sizeof(*jct));
	return r;
}
