/* SPDX-License-Identifier: Apache-2.0 */
/* When waiting jobs will start: two answers for each of the first, in the order in which the next step would look at them.
 *
 *	latest	the plan in which everything uses its time limit up
 *	likely	the same plan for each of some draws of the future; with n = 10k - 1 draws, the k-th and the (n + 1 - k)-th
 *		start hold the next draw between them with probability (n + 1 - 2k) / (n + 1) = 80 %
 *
 * A run time is drawn from its predicted quantiles (p50, p80, p95), joined and mirrored below the median as a
 * log-normal's are, given that it has run as long as it has; without a prediction evenly up to the limit;
 * without either, from a tail in which half of what ran as long runs twice as long. What arrives later is not drawn; but a job
 * that needs more than one device waits for the nodes that the first plan keeps for it, since what ends elsewhere is given
 * away again.
 *
 * Nothing here is state: it is asked beside the step, and decides nothing. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#define ONE (1ULL << 20) /* probabilities */
#define MINUTE_US 60000000ULL

struct wz_start_note {
	uint64_t job;
	uint32_t attempt;
	struct wz_start_estimate now, first;
};

void wz_starts_release(struct wz_core *c)
{
	wz_grow_free(&c->mem, &c->starts.note, &c->starts.cap, sizeof(*c->starts.note));
}

static const struct wz_start_note *note_of(const struct wz_core *c, uint32_t slot)
{
	const struct wz_start_note *n = slot < c->starts.cap ? &c->starts.note[slot] : NULL;
	const struct wz_job *j = &c->jobs.job[slot];

	return n && n->attempt == j->attempt && n->job == j->number ? n : NULL;
}

/* ---- draws ---- */

struct knot {
	uint64_t p, us;
};

/* sqrt(a b) for a <= b <= 100 a or so: Newton's steps from the mean; further apart, too large by a little. */
static uint64_t middle(uint64_t a, uint64_t b)
{
	uint64_t x = a / 2 + b / 2;

	for (unsigned i = 0; i < 4 && x; i++)
		x = (x + wz_umuldiv(a, b, x)) / 2;
	return x;
}

/* 0 knots: nothing is known but a limit, or not even that. Between the quantiles that are told their geometric means, at the
 * probabilities that they have in a log-normal distribution: a straight line over the whole would be too high. */
static unsigned knots_of(const struct wz_job *j, struct knot k[11])
{
	const uint64_t *q = j->predict;
	uint64_t p20 = q[2] ? wz_umuldiv(q[0], q[0], q[1]) : 0, p5 = q[2] ? wz_umuldiv(q[0], q[0], q[2]) : 0;

	if (q[2] == 0)
		return 0;
	k[0] = (struct knot){0, wz_umuldiv(p5, p5, p20 ? p20 : 1)};
	k[1] = (struct knot){ONE / 20, p5};
	k[2] = (struct knot){ONE * 107 / 1000, middle(p5, p20)};
	k[3] = (struct knot){ONE / 5, p20};
	k[4] = (struct knot){ONE * 337 / 1000, middle(p20, q[0])};
	k[5] = (struct knot){ONE / 2, q[0]};
	k[6] = (struct knot){ONE * 663 / 1000, middle(q[0], q[1])};
	k[7] = (struct knot){ONE / 5 * 4, q[1]};
	k[8] = (struct knot){ONE * 893 / 1000, middle(q[1], q[2])};
	k[9] = (struct knot){ONE / 20 * 19, q[2]};
	k[10] = (struct knot){ONE, wz_umuldiv(q[2], q[2], q[1])};
	return 11;
}

static uint64_t between(uint64_t x, uint64_t x0, uint64_t x1, uint64_t y0, uint64_t y1)
{
	return x1 > x0 ? y0 + wz_umuldiv(x - x0, y1 - y0, x1 - x0) : y1;
}

static uint64_t value_at(const struct knot *k, unsigned n, uint64_t p)
{
	for (unsigned i = 1; i < n; i++)
		if (p <= k[i].p)
			return between(p, k[i - 1].p, k[i].p, k[i - 1].us, k[i].us);
	return k[n - 1].us;
}

static uint64_t probability_of(const struct knot *k, unsigned n, uint64_t us)
{
	if (us <= k[0].us)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if (us < k[i].us)
			return between(us, k[i - 1].us, k[i].us, k[i - 1].p, k[i].p);
	return ONE;
}

/* A run time of the job that is more than `ran`; u: 0 .. ONE - 1. */
static uint64_t draw(const struct wz_job *j, uint64_t ran, uint64_t u)
{
	uint64_t limit = j->time_limit_us ? j->time_limit_us : UINT64_MAX, us, p;
	struct knot k[11];
	unsigned n = knots_of(j, k);

	if (n) {
		p = probability_of(k, n, ran);
		us = p == ONE ? wz_usat_add(ran, (ran / 8 > MINUTE_US ? ran / 8 : MINUTE_US))
		              : value_at(k, n, p + (ONE - p) * u / ONE);
	} else if (limit != UINT64_MAX) {
		us = ran < limit ? between(u, 0, ONE, ran, limit) : limit;
	} else {
		us = wz_umuldiv(ran > 10 * MINUTE_US ? ran : 10 * MINUTE_US, ONE, ONE - u);
	}
	us = us < limit ? us : limit;
	return us > ran ? us : ran + 1;
}

struct future_ctx {
	struct wz_core *c;
	uint64_t sample; /* 0: limits */
};

static uint64_t uniform(const struct wz_core *c, const struct wz_job *j, uint64_t sample)
{
	return wz_hash_u64(wz_hash_u64(wz_hash_u64(c->seed, sample), j->number), c->step) >> 44;
}

static uint64_t end_by_limit(void *ctx, uint32_t task)
{
	const struct future_ctx *x = ctx;
	const struct wz_job *j = &x->c->jobs.job[x->c->jobs.task[task].job];
	uint32_t f = wz_inflight_find(x->c, WZ_LIMIT_ID(j));

	if (f != WZ_ID_NONE)
		return x->c->inflight.f[f].deadline_us;
	return j->time_limit_us ? wz_usat_add(x->c->now_us, j->time_limit_us) : UINT64_MAX;
}

static uint64_t end_drawn(void *ctx, uint32_t task)
{
	const struct future_ctx *x = ctx;
	const struct wz_job *j = &x->c->jobs.job[x->c->jobs.task[task].job];
	uint64_t ran = x->c->now_us > j->started_us ? x->c->now_us - j->started_us : 0;

	if (x->c->jobs.task[task].observed || j->kind == WZ_KIND_SERVICE)
		return UINT64_MAX;
	return wz_usat_add(j->started_us, draw(j, ran, uniform(x->c, j, x->sample)));
}

/* ---- plans ---- */

/* The first waiting jobs in the order of a step in which none fits. */
static uint32_t in_order(struct wz_core *c, uint32_t *slot, uint32_t max)
{
	uint32_t n = 0, id;

	wz_order_begin(c, false);
	while (n < max && (id = wz_order_next(c)) != WZ_ID_NONE) {
		struct wz_class *k = &c->order.cls[id];
		slot[n++] = k->cursor;
		k->cursor = c->jobs.job[k->cursor].next;
	}
	return n;
}

/* The nodes that the plan by limits keeps for each job: promises in the order of the jobs. */
struct kept {
	struct wz_promise *p;
	uint32_t n, cap;
};

static bool of_many(const struct wz_core *c, const struct wz_job *j)
{
	const struct wz_shape *s = &c->shapes.shape[j->shape];

	return s->count > 1 || s->cu_milli || s->dev_mem_total;
}

/* One future: the starts of the jobs into start[]. */
static int plan_once(struct wz_core *c, struct future_ctx *x, const uint32_t *slot, uint32_t n,
        const struct kept *kept, uint64_t *start)
{
	uint32_t at = 0;
	int r = wz_gate_begin(c, true);

	if (r == 0)
		r = wz_future_begin(c, x->sample ? end_drawn : end_by_limit, x);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct wz_job *j = &c->jobs.job[slot[i]];
		struct wz_ask ask = {.slot = slot[i],
		        .promise = true,
		        .length_us = x->sample ? draw(j, 0, uniform(c, j, x->sample)) : wz_job_length(c, slot[i])};
		struct wz_blocker b;
		start[i] = UINT64_MAX; /* what holds back a job by rule is not planned */
		while (at < kept->n && kept->p[at].slot == slot[i])
			at++, ask.n_only++;
		if (ask.n_only && of_many(c, j))
			ask.only = &kept->p[at - ask.n_only];
		if (j->account == WZ_ID_NONE || !wz_quota_quick(c, slot[i], &b))
			r = wz_future_plan(c, &ask, &start[i]);
	}
	return r;
}

static int keep_plan(const struct wz_core *c, struct kept *k)
{
	int r = wz_grow(&c->mem, &k->p, &k->cap, c->future.n_p, sizeof(*k->p));

	for (; r == 0 && k->n < c->future.n_p; k->n++)
		k->p[k->n] = c->future.p[k->n];
	return r;
}

static void sort(uint64_t *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t v = a[i];
		uint32_t k = i;
		for (; k && a[k - 1] > v; k--)
			a[k] = a[k - 1];
		a[k] = v;
	}
}

static void write_note(struct wz_core *c, const uint32_t *slot, uint32_t i, const struct wz_start_estimate *e)
{
	struct wz_start_note *n = &c->starts.note[slot[i]];
	const struct wz_job *j = &c->jobs.job[slot[i]];

	if (n->job != j->number || n->attempt != j->attempt)
		*n = (struct wz_start_note){.job = j->number, .attempt = j->attempt, .first = *e};
	n->now = *e;
}

/* Who is looked at before, of all and of its own queue. */
static void ahead_of(const struct wz_core *c, const uint32_t *slot, uint32_t i, struct wz_start_estimate *e)
{
	const struct wz_job *j = &c->jobs.job[slot[i]];

	e->ahead = i;
	for (uint32_t k = 0; k < i; k++) {
		const struct wz_job *o = &c->jobs.job[slot[k]];
		bool same = j->account == WZ_ID_NONE ||
		            (o->account != WZ_ID_NONE &&
		                    c->queues.acc[o->account].queue == c->queues.acc[j->account].queue);
		if (same && e->ahead_in_queue++ == 0)
			e->first_ahead = o->number;
	}
}

/* Notes of all slots; new ones are of no job. */
static int room_for_notes(struct wz_core *c)
{
	uint32_t was = c->starts.cap;
	int r = wz_grow(&c->mem, &c->starts.note, &c->starts.cap, c->jobs.n, sizeof(*c->starts.note));

	for (uint32_t i = was; r == 0 && i < c->starts.cap; i++)
		c->starts.note[i].attempt = 0; /* no job has it */
	return r;
}

#define JOBS_MAX 1024u
#define SAMPLES_MAX 99u

int wz_core_plan_starts(struct wz_core *c, const struct wz_starts_options *o, struct wz_err *err)
{
	uint32_t max = o->jobs && o->jobs < JOBS_MAX ? o->jobs : o->jobs ? JOBS_MAX : 256, n, banded = 0, k;
	uint32_t samples = o->samples >= 9 && o->samples <= SAMPLES_MAX ? (o->samples + 1) / 10 * 10 - 1 : 19;
	/* Half of the work for the plan by limits, half for bands; one job is always planned. */
	uint64_t work = o->work ? o->work : 1ULL << 26, each = c->model.n_nodes + c->jobs.live_tasks + 1;
	struct future_ctx x = {.c = c};
	struct kept kept = {0};
	size_t size = max * sizeof(uint32_t) + (samples + 1ull) * max * sizeof(uint64_t);
	uint64_t *start = wz_mem_alloc(&c->mem, size);
	uint32_t *slot = start ? (uint32_t *)(start + (samples + 1ull) * max) : NULL;
	int r = start ? room_for_notes(c) : -ENOMEM;

	if (work / 2 / each < max)
		max = work / 2 / each ? (uint32_t)(work / 2 / each) : 1;
	n = r == 0 ? in_order(c, slot, max) : 0;
	if (n)
		r = plan_once(c, &x, slot, n, &kept, start);
	if (n && r == 0)
		r = keep_plan(c, &kept);
	banded = work / 2 / each / samples < n ? (uint32_t)(work / 2 / each / samples) : n;
	for (x.sample = 1; r == 0 && banded && x.sample <= samples; x.sample++)
		r = plan_once(c, &x, slot, banded, &kept, start + x.sample * max);
	c->gate.slot = WZ_ID_NONE;
	c->gate.on = c->future.on = false;
	k = (samples + 1) / 10;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct wz_start_estimate e = {.step = c->step,
		        .stamp_us = c->now_us,
		        .latest_us = start[i],
		        .likely_from_us = UINT64_MAX,
		        .likely_to_us = UINT64_MAX};
		uint64_t drawn[SAMPLES_MAX];
		ahead_of(c, slot, i, &e);
		for (uint32_t s = 0; i < banded && s < samples; s++)
			drawn[s] = start[(s + 1ull) * max + i];
		if (i < banded) {
			sort(drawn, samples);
			e.likely_from_us = drawn[k - 1];
			e.likely_to_us = drawn[samples - k] < e.latest_us ? drawn[samples - k] : e.latest_us;
		}
		write_note(c, slot, i, &e);
	}
	wz_grow_free(&c->mem, &kept.p, &kept.cap, sizeof(*kept.p));
	wz_mem_free(&c->mem, start, size);
	return r < 0 ? wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory to plan starts")) : 0;
}

int wz_core_starts(const struct wz_core *c, uint64_t job, struct wz_start_estimate *ret)
{
	uint32_t slot = wz_jobs_find(c, job);
	const struct wz_start_note *n =
	        slot == WZ_ID_NONE || c->jobs.job[slot].state != WZ_JOB_WAITING ? NULL : note_of(c, slot);

	if (!n)
		return -ENOENT;
	*ret = n->now;
	return 0;
}

/* ---- how good they were ---- */

static unsigned bucket(uint64_t us)
{
	unsigned log = us < 4 ? 0 : 63 - (unsigned)__builtin_clzll(us);

	return us < 4 ? (unsigned)us : log * 4 + (unsigned)(us >> (log - 2) & 3);
}

static uint64_t bucket_middle(unsigned b)
{
	return b < 8 ? b : (9 + 2 * (uint64_t)(b & 3)) << (b / 4 - 3 + (b < 12)) >> (b < 12);
}

void wz_starts_started(struct wz_core *c, uint32_t slot)
{
	const struct wz_start_note *n = note_of(c, slot);
	struct wz_starts *s = &c->starts;
	const struct wz_start_estimate *e;

	if (!n)
		return;
	e = &n->first;
	if (e->latest_us != UINT64_MAX) {
		s->with_latest++;
		s->by_latest += c->now_us <= e->latest_us;
	}
	if (e->likely_from_us == UINT64_MAX || e->likely_to_us == UINT64_MAX)
		return;
	s->with_band++;
	s->before += c->now_us < e->likely_from_us;
	s->after += c->now_us > e->likely_to_us;
	s->within += c->now_us >= e->likely_from_us && c->now_us <= e->likely_to_us;
	s->width_sum_us = wz_usat_add(s->width_sum_us, e->likely_to_us - e->likely_from_us);
	s->width[bucket(e->likely_to_us - e->likely_from_us)]++;
}

void wz_core_starts_record(const struct wz_core *c, struct wz_starts_record *ret)
{
	const struct wz_starts *s = &c->starts;
	uint64_t seen = 0;
	unsigned b = 0;

	*ret = (struct wz_starts_record){.with_latest = s->with_latest,
	        .by_latest = s->by_latest,
	        .with_band = s->with_band,
	        .before = s->before,
	        .within = s->within,
	        .after = s->after,
	        .width_sum_us = s->width_sum_us};
	while (b < 255 && (seen += s->width[b]) * 2 < s->with_band)
		b++;
	ret->width_median_us = s->with_band ? bucket_middle(b) : 0;
}
