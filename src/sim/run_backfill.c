/* SPDX-License-Identifier: Apache-2.0 */
/* Behind a head that does not fit: who may pass it.
 *
 * What is free when is a list of steps in time: now, and the expected end of each running job. EASY reserves for the head
 * alone: the first moment at which it would fit; others start now when they end before it, or fit beside it then. Conservative
 * backfill reserves for every waiting job in order (`depth` of them), and starts those whose reservation is now. Devices are
 * counted here; on nodes the placement has the last word.
 *
 * A job is expected to run as long as its 0.9 quantile, else its limit, else, with neither, for ever: it may then only use
 * what no reservation needs. One that overran its expectation ends any moment. Services never end: they are no backfill end. */
#include "sim/run_int.h"

#include <stdlib.h>

static int64_t expected_us(const struct wz_order_job *j)
{
	if (j->fixed && j->run_us <= 1)
		return WZ_ORDER_NEVER;
	return j->predict_hi_us > 0 ? j->predict_hi_us : j->limit_us > 0 ? j->limit_us : WZ_ORDER_NEVER;
}

static int64_t expected_end(const struct wz_run_state *s, uint32_t j)
{
	int64_t run = s->in->job[j].service ? WZ_ORDER_NEVER : expected_us(&s->job[j]), left;

	if (run == WZ_ORDER_NEVER)
		return WZ_ORDER_NEVER;
	left = run - s->live[j].done0_us + s->live[j].delay_us - (s->now - s->job[j].start_us);
	return s->now + (left > 0 ? left : 1);
}

static int by_time(const void *x, const void *y)
{
	const struct wz_run_profile *a = x, *b = y;
	return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

/* Steps of free devices: profile[0] is now; the last never ends. */
static int make_profile(struct wz_run_state *s, struct wz_err *err)
{
	uint32_t n = 0;
	int64_t free = s->place.free_milli;

	for (uint32_t j = wz_otree_first(&s->pool, s->running); j != WZ_NONE; j = wz_otree_next(&s->pool, j))
		n++;
	if (wz_grow(s->mem, &s->profile, &s->profile_cap, n + 1, sizeof(*s->profile)) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for backfill"));
	s->profile[0] = (struct wz_run_profile){s->now, 0};
	n = 1;
	for (uint32_t j = wz_otree_first(&s->pool, s->running); j != WZ_NONE; j = wz_otree_next(&s->pool, j)) {
		int64_t end = expected_end(s, j);
		if (end != WZ_ORDER_NEVER)
			s->profile[n++] = (struct wz_run_profile){end, wz_run_need(&s->in->job[j])};
	}
	qsort(s->profile + 1, n - 1, sizeof(*s->profile), by_time);
	s->n_profile = 0;
	for (uint32_t i = 0; i < n; i++) {
		free += s->profile[i].free_milli;
		if (s->n_profile && s->profile[s->n_profile - 1].at_us == s->profile[i].at_us)
			s->n_profile--;
		s->profile[s->n_profile++] = (struct wz_run_profile){s->profile[i].at_us, free};
	}
	return 0;
}

/* The first step from which `need` is free for `run`; n_profile when there is none. */
static uint32_t earliest(const struct wz_run_state *s, int64_t need, int64_t run)
{
	uint32_t from = 0;

	for (uint32_t i = 0; i < s->n_profile; i++) {
		if (s->profile[i].free_milli < need)
			from = i + 1;
		else if (from < s->n_profile && run != WZ_ORDER_NEVER && i + 1 < s->n_profile &&
		         s->profile[i + 1].at_us - s->profile[from].at_us >= run)
			return from;
	}
	return from;
}

static int cut_at(struct wz_run_state *s, int64_t at, uint32_t *ret, struct wz_err *err)
{
	uint32_t i = 0;

	while (i < s->n_profile && s->profile[i].at_us < at)
		i++;
	*ret = i;
	if (i < s->n_profile && s->profile[i].at_us == at)
		return 0;
	if (wz_grow(s->mem, &s->profile, &s->profile_cap, s->n_profile + 1, sizeof(*s->profile)) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for backfill"));
	memmove(&s->profile[i + 1], &s->profile[i], (s->n_profile - i) * sizeof(*s->profile));
	s->profile[i] = (struct wz_run_profile){at, i ? s->profile[i - 1].free_milli : 0};
	s->n_profile++;
	return 0;
}

/* Takes `need` from step `from` on, for `run`. */
static int reserve(struct wz_run_state *s, uint32_t from, int64_t need, int64_t run, struct wz_err *err)
{
	uint32_t to = s->n_profile;

	if (run != WZ_ORDER_NEVER && cut_at(s, s->profile[from].at_us + run, &to, err) < 0)
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++)
		s->profile[i].free_milli -= need;
	return 0;
}

/* The next waiting job after j in the order of keys, over all classes. */
static uint32_t next_waiting(const struct wz_run_state *s, uint32_t j)
{
	uint32_t best = WZ_NONE;

	for (uint32_t i = 0; i < s->n_active; i++) {
		uint32_t x = wz_otree_after(&s->pool, s->waiting[s->active[i]], s->job[j].key, j);
		if (x != WZ_NONE && (best == WZ_NONE || wz_okey_less(s->job[x].key, x, s->job[best].key, best)))
			best = x;
	}
	return best;
}

static int start_now(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	int r = wz_run_place_try(&s->place, j, s->now, err);

	if (r > 0) {
		int rs = wz_run_start(s, j, err);
		r = rs < 0 ? rs : 1;
	}
	return r;
}

/* Reserves for the waiting jobs from `head` on; those whose time is now start. EASY reserves for the head only: others start
 * now or do not matter. */
int wz_run_backfill(struct wz_run_state *s, uint32_t head, struct wz_err *err)
{
	bool easy = s->order.rule->flags & WZ_ORDER_EASY;
	uint64_t depth = 0, most = 0;
	uint32_t next;
	int r = make_profile(s, err);

	for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && s->order.rule->param[i].name; i++)
		if (wz_str_eq(wz_str(s->order.rule->param[i].name), WZ_STR("depth")))
			most = (uint64_t)s->order.param[i] / 1000;
	for (uint32_t j = head; r == 0 && j != WZ_NONE && depth <= most; j = next, depth++) {
		int64_t need = wz_run_need(&s->in->job[j]), run = expected_us(&s->job[j]);
		uint32_t at = earliest(s, need, run);
		next = next_waiting(s, j);
		if (at >= s->n_profile)
			continue; /* waits for what never ends */
		if (at == 0 && j != head) {
			r = start_now(s, j, err);
			if (r < 0)
				break;
			if (r == 0 && easy)
				continue;
			r = reserve(s, 0, need, run, err);
			continue;
		}
		if (!easy || j == head)
			r = reserve(s, at, need, run, err);
	}
	return r;
}
