/* SPDX-License-Identifier: Apache-2.0 */
/* What an order is told of a job's run time: the truth with noise, or what the core's predictor learned. */
#include "core/predict.h"

#include "base/hash.h"
#include "base/rng.h"
#include "sim/run_int.h"

#include <math.h>

/* A standard normal that belongs to (seed, id): the same for every order that is compared. */
static double normal(uint64_t seed, uint64_t stream, uint64_t id)
{
	uint64_t h = wz_hash_u64(wz_hash_u64(wz_mix64(seed), stream), id);
	double u = ((double)(h >> 11) + 0.5) / 9007199254740992.0;
	double v = ((double)(wz_mix64(h) >> 11) + 0.5) / 9007199254740992.0;

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

int64_t wz_run_noise(const struct wz_run_options *o, const struct wz_run_job *j, uint32_t id)
{
	double e = o->sigma * normal(o->seed, 1, id) + o->bias_sigma * normal(o->seed, 2, j->template_);
	double v = (double)j->run_us * exp(e);

	if (o->unknown_ppm && wz_hash_u64(wz_hash_u64(o->seed, 3), id) % 1000000 < o->unknown_ppm)
		return 0;
	return v < 1 ? 1 : v > 9e17 ? (int64_t)9e17 : (int64_t)v;
}

static struct wz_predict_key key_of(const struct wz_run_job *j)
{
	return (struct wz_predict_key){j->template_, j->user, j->queue, j->gpus};
}

void wz_run_history_ask(struct wz_run_state *s, uint32_t j)
{
	struct wz_predict_key k = key_of(&s->in->job[j]);
	struct wz_predict_answer a = wz_predict_ask(s->history, WZ_PREDICT_RUN, &k);

	s->job[j].predict_us = a.known ? (int64_t)a.median : 0;
	s->job[j].predict_hi_us = a.known ? (int64_t)a.high : 0;
	if (a.median == 0)
		return;
	s->asked++;
	s->known += a.known;
	s->covered += (uint64_t)s->in->job[j].run_us >= a.low && (uint64_t)s->in->job[j].run_us <= a.high;
}

/* Memory that runs out costs knowledge, not correctness. */
void wz_run_history_learn(struct wz_run_state *s, uint32_t j)
{
	struct wz_predict_key k = key_of(&s->in->job[j]);

	(void)wz_predict_learn(s->history, WZ_PREDICT_RUN, &k, (uint64_t)s->job[j].done_us);
}
