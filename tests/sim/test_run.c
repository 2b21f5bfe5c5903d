/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "runworld.h"

#include <math.h>
#include <stdlib.h>

/* ---- a slow direct implementation ---- */

/* Looks at every job at every event: all keys anew, one sort, one walk from an empty cluster. Devices are counted. */
struct slow {
	const struct wz_run_input *in;
	const struct wz_run_options *o;
	struct wz_order order;
	struct wz_order_job job[128];
	int64_t done0[128], held0[128], delay[128], finish[128], end[128];
	bool arrived[128], ended[128];
	int64_t now;
};
static struct slow *slow_now;

static void slow_sync(struct slow *s, uint32_t j)
{
	int64_t dt = s->now - s->job[j].start_us;
	if (!s->job[j].running)
		return;
	s->job[j].held_us = s->held0[j] + dt;
	s->job[j].done_us = s->done0[j] + (dt > s->delay[j] ? dt - s->delay[j] : 0);
}

static int slow_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return wz_okey_less(slow_now->job[x].key, x, slow_now->job[y].key, y) ? -1 : 1;
}

static void slow_decide(struct slow *s)
{
	uint32_t list[128], n = 0;
	int64_t free = s->in->gpus;
	bool preempts = s->order.rule->flags & WZ_ORDER_PREEMPTS, blocked = false, grant[128] = {false};

	for (uint32_t j = 0; j < s->in->n; j++) {
		if (!s->arrived[j] || s->ended[j])
			continue;
		s->job[j].key = s->order.rule->key(&s->order, &s->job[j], s->now);
		if (s->job[j].running && (!preempts || s->job[j].key.a == WZ_ORDER_FIRST)) {
			grant[j] = true;
			free -= s->job[j].gpus;
		}
		list[n++] = j;
	}
	slow_now = s;
	qsort(list, n, sizeof *list, slow_cmp);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = list[i];
		if (grant[j] || (blocked && !s->job[j].running))
			continue;
		grant[j] = s->job[j].gpus <= free;
		free -= grant[j] ? s->job[j].gpus : 0;
		blocked = blocked || (!grant[j] && (s->order.rule->flags & WZ_ORDER_BLOCKS));
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = list[i];
		struct wz_order_job *q = &s->job[j];
		if (q->running && !grant[j]) {
			q->running = false;
			q->ready_us = s->now;
		} else if (!q->running && grant[j]) {
			q->running = true;
			q->start_us = s->now;
			s->delay[j] = q->starts++ ? s->o->restart_us : 0;
			s->done0[j] = q->done_us;
			s->held0[j] = q->held_us;
			s->finish[j] = s->now + s->delay[j] + q->run_us - q->done_us;
		}
	}
}

static void slow_run(struct slow *s, const struct wz_run_input *in, const struct wz_run_options *o)
{
	struct wz_err err;
	memset(s, 0, sizeof *s);
	s->in = in;
	s->o = o;
	(void)wz_order_init(&s->order, o->order, o->param, in->gpus, in->n_users, wz_os_mem(), &err);
	for (uint32_t j = 0; j < in->n; j++) {
		const struct wz_run_job *r = &in->job[j];
		s->job[j] = (struct wz_order_job){
		        .id = j, .gpus = r->gpus, .user = r->user, .submit_us = r->submit_us, .run_us = r->run_us};
	}
	for (int guard = 0; guard < 2000000; guard++) {
		int64_t at = INT64_MAX;
		for (uint32_t j = 0; j < in->n; j++) {
			if (!s->arrived[j])
				at = s->job[j].submit_us < at ? s->job[j].submit_us : at;
			else if (!s->ended[j]) {
				int64_t c = s->order.rule->change
				                    ? s->order.rule->change(&s->order, &s->job[j], s->now)
				                    : INT64_MAX;
				if (s->job[j].running && s->finish[j] < at)
					at = s->finish[j];
				at = c > s->now && c < at ? c : at;
			}
		}
		if (at == INT64_MAX)
			break;
		s->now = at;
		for (uint32_t j = 0; j < in->n; j++) {
			slow_sync(s, j);
			if (s->job[j].running && s->finish[j] == at) {
				s->ended[j] = true;
				s->job[j].running = false;
				s->end[j] = at;
			}
			if (!s->arrived[j] && s->job[j].submit_us == at) {
				s->arrived[j] = true;
				s->job[j].ready_us = at;
				if (o->predict == WZ_PREDICT_ORACLE)
					s->job[j].predict_us = s->job[j].run_us;
			}
		}
		slow_decide(s);
	}
	wz_order_release(&s->order);
}

static void compare(const char *order, enum wz_run_predict predict, uint64_t seed, int64_t restart_s)
{
	struct runworld w;
	struct wz_run_options o = run_options(order, WZ_RUN_ANY, restart_s);
	struct wz_run_result r;
	static struct slow s;
	uint32_t differ = 0;

	o.predict = predict;
	tap_require(
	        runworld_make(&w, "3x8",
	                &(struct runspec){.jobs = 60, .gpus_max = 16, .gap_s = 300, .run_s = 2000, .seed = seed}),
	        "%s", w.err.text);
	tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
	slow_run(&s, &w.in, &o);
	for (uint32_t j = 0; j < w.in.n; j++)
		differ += r.out[j].end_us != s.end[j];
	tap_ok(differ == 0, "%s, seed %" PRIu64 ": %u of %u jobs end at another time", order, seed, differ, w.in.n);
	tap_eq_i64(r.finished, w.in.n, "all end");
	wz_run_result_release(&r);
	runworld_free(&w);
}

static void test_against_the_walk(void)
{
	static const char *const orders[] = {"levelled", "fifo", "fifo-skip", "sjf", "srtf", "srsf", "las2d-damped",
	        "levelled:base=2,quantum=60,stride=4"};
	for (uint64_t seed = 1; seed <= 12; seed++)
		for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
			compare(orders[i], WZ_PREDICT_NONE, seed, 0);
			compare(orders[i], WZ_PREDICT_ORACLE, seed, 60);
		}
}

/* ---- optimum ---- */

/* Every list of priorities on one device, preemptive: the best is the optimum of the mean. */
static double best_mean(const struct wz_run_input *in)
{
	uint32_t n = in->n, order[8], stack[8] = {0};
	double best = INFINITY;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (bool more = true; more;) {
		int64_t left[8], now = 0, sum = 0;
		uint32_t done = 0;
		for (uint32_t i = 0; i < n; i++)
			left[i] = in->job[i].run_us;
		while (done < n) {
			int64_t next = INT64_MAX;
			uint32_t run = n;
			for (uint32_t i = 0; i < n; i++) {
				uint32_t j = order[i];
				if (left[j] > 0 && in->job[j].submit_us <= now && run == n)
					run = j;
				if (left[j] > 0 && in->job[j].submit_us > now && in->job[j].submit_us < next)
					next = in->job[j].submit_us;
			}
			if (run == n) {
				now = next;
				continue;
			}
			int64_t step = left[run] < next - now ? left[run] : next - now;
			left[run] -= step;
			now += step;
			if (left[run] == 0) {
				sum += now - in->job[run].submit_us;
				done++;
			}
		}
		best = fmin(best, (double)sum / n);
		/* Heap's permutations, without recursion */
		uint32_t i = 1;
		for (more = false; i < n; i++) {
			if (stack[i] < i) {
				uint32_t k = i % 2 ? stack[i] : 0, t = order[k];
				order[k] = order[i];
				order[i] = t;
				stack[i]++;
				more = true;
				break;
			}
			stack[i] = 0;
		}
	}
	return best / 1e6;
}

static void test_optimum(void)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct runworld w;
		double best;
		tap_require(runworld_make(&w, "1x1",
		                    &(struct runspec){
		                            .jobs = 7, .gpus_max = 1, .gap_s = 60, .run_s = 400, .seed = seed}),
		        "%s", w.err.text);
		best = best_mean(&w.in);
		for (const struct wz_order_rule *const *r = wz_order_rules; *r; r++) {
			struct wz_run_options o = run_options((*r)->name, WZ_RUN_ANY, 0);
			struct wz_run_result res;
			if ((*r)->flags & WZ_ORDER_ROUNDS)
				continue;
			o.predict = WZ_PREDICT_ORACLE;
			tap_require(wz_run(&w.in, &o, wz_os_mem(), &res, &w.err) == 0, "%s", w.err.text);
			tap_ok(res.mean_jct_s >= best - 1e-6, "%s beats the optimum: %f < %f", (*r)->name,
			        res.mean_jct_s, best);
			if ((*r) == &wz_order_srtf)
				tap_ok(fabs(res.mean_jct_s - best) < 1e-6, "srtf is optimal on one device: %f, %f",
				        res.mean_jct_s, best);
			wz_run_result_release(&res);
		}
		runworld_free(&w);
	}
}

/* ---- what holds for every order and placement ---- */

static void laws(const char *order, enum wz_run_placement placement, uint64_t seed)
{
	struct runworld w, shifted;
	struct wz_run_options o = run_options(order, placement, 45);
	struct wz_run_result a, b, c;
	struct runspec s = {.jobs = 120, .gpus_max = 24, .gap_s = 200, .run_s = 2500, .seed = seed};
	double held = 0;

	o.predict = WZ_PREDICT_NOISE;
	o.sigma = 1;
	tap_require(runworld_make(&w, "4x8", &s), "%s", w.err.text);
	s.shift_s = 86400 * 7; /* a multiple of what slurm's clock ticks in */
	tap_require(runworld_make(&shifted, "4x8", &s), "%s", w.err.text);
	tap_require(wz_run(&w.in, &o, wz_os_mem(), &a, &w.err) == 0 &&
	                    wz_run(&w.in, &o, wz_os_mem(), &b, &w.err) == 0 &&
	                    wz_run(&shifted.in, &o, wz_os_mem(), &c, &shifted.err) == 0,
	        "%s: %s", order, w.err.text);
	tap_eq_i64(a.finished, w.in.n, "%s: all end", order);
	tap_ok(a.digest == b.digest, "%s: a replay has the same digest", order);
	for (uint32_t j = 0; j < w.in.n; j++) {
		const struct wz_run_job *q = &w.in.job[j];
		const struct wz_run_outcome *x = &a.out[j];
		held += (double)q->gpus * (double)x->held_us;
		tap_eq_i64(c.out[j].end_us - a.out[j].end_us, s.shift_s * INT64_C(1000000),
		        "%s: job %u moves with the clock", order, j);
		tap_eq_i64(x->held_us, q->run_us + x->lost_us, "%s: held is work and loss", order);
		tap_eq_i64(x->end_us - q->submit_us, x->held_us + x->wait_us,
		        "%s: a job holds or waits, attempts never overlap", order);
		tap_ok(x->first_start_us >= q->submit_us && x->end_us >= x->first_start_us + q->run_us,
		        "%s: in order", order);
	}
	tap_ok(fabs(held / 1e6 - a.held_gpu_s) < 1e-3 * held / 1e6 + 1, "%s: GPU-seconds in and out", order);
	tap_ok(fabs(a.held_gpu_s - a.work_gpu_s - a.lost_gpu_s) < 1, "%s: held %f work %f lost %f", order,
	        a.held_gpu_s, a.work_gpu_s, a.lost_gpu_s);
	wz_run_result_release(&a);
	wz_run_result_release(&b);
	wz_run_result_release(&c);
	runworld_free(&w);
	runworld_free(&shifted);
}

static void test_laws(void)
{
	for (const struct wz_order_rule *const *r = wz_order_rules; *r; r++)
		for (int p = 0; p < WZ_RUN_PLACEMENTS && !((*r)->flags & WZ_ORDER_ROUNDS); p++)
			for (uint64_t seed = 1; seed <= 2; seed++)
				laws((*r)->name, (enum wz_run_placement)p, seed);
}

/* ---- EASY ---- */

/* With exact predictions, a job that has become the head starts no later than what ran then would let it. */
static void test_easy(void)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct runworld w;
		struct wz_run_options o = run_options("easy", WZ_RUN_ANY, 0);
		struct wz_run_result r;
		o.predict = WZ_PREDICT_ORACLE;
		tap_require(
		        runworld_make(&w, "2x8",
		                &(struct runspec){
		                        .jobs = 100, .gpus_max = 16, .gap_s = 120, .run_s = 1500, .seed = seed}),
		        "%s", w.err.text);
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &r, &w.err) == 0, "%s", w.err.text);
		for (uint32_t j = 0; j < w.in.n; j++) {
			int64_t head = w.in.job[j].submit_us, shadow;
			for (uint32_t k = 0; k < j; k++)
				head = r.out[k].first_start_us > head ? r.out[k].first_start_us : head;
			shadow = head;
			for (;;) { /* what runs at `head` and still runs at `shadow` */
				int64_t used = 0, next = INT64_MAX;
				for (uint32_t k = 0; k < w.in.n; k++)
					if ((r.out[k].first_start_us < head ||
					            (r.out[k].first_start_us == head && k < j)) &&
					        r.out[k].end_us > shadow) {
						used += w.in.job[k].gpus;
						next = r.out[k].end_us < next ? r.out[k].end_us : next;
					}
				if (used + w.in.job[j].gpus <= w.in.gpus || next == INT64_MAX)
					break;
				shadow = next;
			}
			tap_ok(r.out[j].first_start_us <= shadow,
			        "seed %" PRIu64 ": job %u starts %" PRId64 " s late", seed, j,
			        (r.out[j].first_start_us - shadow) / 1000000);
		}
		wz_run_result_release(&r);
		runworld_free(&w);
	}
}

/* ---- predictions that are wrong ---- */

/* A predictor that is wrong by e^3 either way for whole templates: the mean stays within twice that of knowing nothing, and the
 * worst job within the worst of first come with passing, times four. */
static void test_wrong_templates(void)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct runworld w;
		struct wz_run_options o = run_options("levelled", WZ_RUN_ANY, 60),
		                      f = run_options("fifo-skip", WZ_RUN_ANY, 60);
		struct wz_run_result blind, wrong, fifo;
		tap_require(runworld_make(&w, "2x8",
		                    &(struct runspec){
		                            .jobs = 400, .gpus_max = 8, .gap_s = 100, .run_s = 2500, .seed = seed}),
		        "%s", w.err.text);
		for (uint32_t j = 0; j < w.in.n; j++)
			w.in.job[j].template_ = j % 5;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &blind, &w.err) == 0 &&
		                    wz_run(&w.in, &f, wz_os_mem(), &fifo, &w.err) == 0,
		        "%s", w.err.text);
		o.predict = WZ_PREDICT_NOISE;
		o.bias_sigma = 3;
		o.seed = seed;
		tap_require(wz_run(&w.in, &o, wz_os_mem(), &wrong, &w.err) == 0, "%s", w.err.text);
		tap_ok(wrong.mean_jct_s < 2 * blind.mean_jct_s, "seed %" PRIu64 ": %.0f s against %.0f blind", seed,
		        wrong.mean_jct_s, blind.mean_jct_s);
		tap_ok(wrong.max_jct_s < 4 * fifo.max_jct_s, "seed %" PRIu64 ": worst %.0f s against %.0f", seed,
		        wrong.max_jct_s, fifo.max_jct_s);
		wz_run_result_release(&blind);
		wz_run_result_release(&wrong);
		wz_run_result_release(&fifo);
		runworld_free(&w);
	}
}

int main(void)
{
	tap_run(test_against_the_walk);
	tap_run(test_optimum);
	tap_run(test_laws);
	tap_run(test_easy);
	tap_run(test_wrong_templates);
	return tap_done();
}
