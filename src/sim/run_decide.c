/* SPDX-License-Identifier: Apache-2.0 */
/* One decision: grant devices in the order of keys, to whoever fits; take them from running jobs with larger keys when the
 * order preempts.
 *
 * What a walk over all jobs from an empty cluster would grant is found without the walk. With devices counted, a job gets in
 * exactly when free devices and those of running jobs behind it suffice, and that falls along the order; so when the first of a
 * class does not fit, none of its class does. Those behind a job that got in keep theirs in their order as far as they fit: one
 * search in the tree of sums for each that does not. tests/sim/test_run.c holds it against the walk itself. */
#include "base/check.h"
#include "os/clock.h"
#include "sim/run_int.h"

#include <stdlib.h>

static uint32_t best_class(const struct wz_run_state *s)
{
	uint32_t best = WZ_NONE, head = WZ_NONE;

	for (uint32_t i = 0; i < s->n_active; i++) {
		uint32_t c = s->active[i], j;
		if (s->failed[c])
			continue;
		j = wz_otree_first(&s->pool, s->waiting[c]);
		if (head == WZ_NONE || wz_okey_less(s->job[j].key, j, s->job[head].key, head)) {
			head = j;
			best = c;
		}
	}
	return best;
}

static bool within_limit(const struct wz_run_state *s, uint32_t j)
{
	uint32_t q = s->in->job[j].queue;

	return !s->queue_used || s->queue_used[q] + wz_run_need(&s->in->job[j]) <= s->in->queue_limit[q];
}

static int place_and_start(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	int r = within_limit(s, j) ? wz_run_place_try(&s->place, j, s->now, err) : 0;

	if (r > 0) {
		int rs = wz_run_start(s, j, err);
		r = rs < 0 ? rs : 1;
	}
	return r;
}

/* ---- victims ---- */

/* With devices counted: those behind that have no room once j is in. */
static void victims_counted(struct wz_run_state *s, uint32_t j, int64_t behind)
{
	int64_t room = s->place.free_milli + behind - wz_run_need(&s->in->job[j]);
	uint32_t v = wz_otree_after(&s->pool, s->running, s->job[j].key, j);

	s->n_list = 0;
	while (v != WZ_NONE) {
		v = wz_otree_overflow(&s->pool, v, &room);
		if (v == WZ_NONE)
			break;
		s->list[s->n_list++] = v;
		v = wz_otree_next(&s->pool, v);
	}
}

static bool behind(const struct wz_run_state *s, uint32_t v, uint32_t j)
{
	return s->job[v].key.a != WZ_ORDER_FIRST && wz_okey_less(s->job[j].key, j, s->job[v].key, v);
}

/* What it costs to clear `need` milli on a node for j: devices x (restart + progress not kept); -1: it cannot be. With `take`,
 * the victims are added to the list: the last of the order first. */
static int64_t clear_node(struct wz_run_state *s, uint32_t node, int64_t need, uint32_t j, bool take)
{
	const struct wz_run_place *p = &s->place;
	int64_t free = p->free[node], cost = 0, can = free;
	uint32_t last = WZ_NONE;

	if (!p->up[node])
		return -1;
	for (uint32_t i = p->first_on[node]; i != WZ_NONE && can < need; i = p->piece[i].next_on_node)
		if (behind(s, p->piece[i].job, j))
			can += (int64_t)p->piece[i].gpus * s->in->job[p->piece[i].job].milli;
	if (can < need)
		return -1;
	while (free < need) {
		uint32_t worst = WZ_NONE, worst_piece = WZ_NONE;
		for (uint32_t i = p->first_on[node]; i != WZ_NONE; i = p->piece[i].next_on_node) {
			uint32_t v = p->piece[i].job;
			if (!behind(s, v, j) ||
			        (last != WZ_NONE && !wz_okey_less(s->job[v].key, v, s->job[last].key, last)))
				continue;
			if (worst == WZ_NONE || wz_okey_less(s->job[worst].key, worst, s->job[v].key, v)) {
				worst = v;
				worst_piece = i;
			}
		}
		if (worst == WZ_NONE)
			return -1;
		last = worst;
		free += (int64_t)p->piece[worst_piece].gpus * s->in->job[worst].milli;
		cost += (int64_t)s->in->job[worst].gpus *
		        ((s->o->restart_us > 0 ? s->o->restart_us : 0) / WZ_SECOND_US + 1);
		if (take && !s->live[worst].listed) {
			s->live[worst].listed = true;
			s->list[s->n_list++] = worst;
		}
	}
	return cost;
}

/* The node that is cheapest to clear, or WZ_NONE. */
static uint32_t cheapest_node(struct wz_run_state *s, int64_t want, uint32_t j)
{
	int64_t best_cost = INT64_MAX;
	uint32_t best = WZ_NONE;

	for (uint32_t n = 0; n < s->place.n_nodes && best_cost > 0; n++) {
		int64_t cost = s->place.taken[n] ? -1 : clear_node(s, n, want, j, false);
		if (cost >= 0 && cost < best_cost) {
			best = n;
			best_cost = cost;
		}
	}
	return best;
}

/* On nodes: the cheapest one, or as many whole ones as a larger gang takes. False: there is no such set. */
static bool victims_on_nodes(struct wz_run_state *s, uint32_t j)
{
	int64_t whole = (int64_t)s->in->node_gpus * 1000, need = wz_run_need(&s->in->job[j]);
	bool found = true;

	s->n_list = 0;
	memset(s->place.taken, 0, s->place.n_nodes * sizeof(*s->place.taken));
	for (; need > 0 && found; need -= whole) {
		int64_t want = need > whole ? whole : need;
		uint32_t n = cheapest_node(s, want, j);
		found = n != WZ_NONE;
		if (found) {
			s->place.taken[n] = true;
			(void)clear_node(s, n, want, j, true);
		}
	}
	for (uint32_t i = 0; i < s->n_list; i++)
		s->live[s->list[i]].listed = false;
	return found;
}

static int stop_victims(struct wz_run_state *s, struct wz_err *err)
{
	int r = 0;

	/* From the end of the order: so that those who keep a place among those that wait keep their own order, too. */
	for (uint32_t i = s->n_list; r == 0 && i-- > 0;)
		r = wz_run_stop(s, s->list[i], err);
	return r;
}

/* 1: started; 0: does not fit even so. */
static int make_room(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	int64_t back = wz_otree_sum_after(&s->pool, s->running, s->job[j].key, j);
	int r;

	if (back == 0 || !within_limit(s, j) || s->place.free_milli + back < wz_run_need(&s->in->job[j]))
		return 0;
	if (s->place.first_on) {
		if (!victims_on_nodes(s, j))
			return 0;
	} else {
		victims_counted(s, j, back);
	}
	r = stop_victims(s, err);
	return r < 0 ? r : place_and_start(s, j, err);
}

/* ---- the published way: everything from scratch ---- */

static _Thread_local const struct wz_run_state *sorted_of;

static int by_key(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return wz_okey_less(sorted_of->job[a].key, a, sorted_of->job[b].key, b) ? -1 : 1;
}

static int repack(struct wz_run_state *s, struct wz_err *err)
{
	uint32_t n = 0, stopped = 0;
	int r = 0;

	for (uint32_t j = wz_otree_first(&s->pool, s->running); j != WZ_NONE; j = wz_otree_next(&s->pool, j))
		s->list[n++] = j;
	for (uint32_t i = 0; i < s->n_active; i++)
		for (uint32_t j = wz_otree_first(&s->pool, s->waiting[s->active[i]]); j != WZ_NONE;
		        j = wz_otree_next(&s->pool, j))
			s->list[n++] = j;
	sorted_of = s;
	qsort(s->list, n, sizeof(*s->list), by_key);
	wz_run_place_empty(&s->place);
	/* Who gets a place; those that do not move to the front of the list. */
	for (uint32_t i = 0; r >= 0 && i < n; i++) {
		uint32_t j = s->list[i];
		r = s->place.free_milli > 0 ? wz_run_place_try(&s->place, j, s->now, err) : 0;
		s->live[j].granted = r > 0;
	}
	for (uint32_t i = 0; r >= 0 && i < n; i++) {
		uint32_t j = s->list[i];
		if (s->job[j].running && !s->live[j].granted)
			s->list[stopped++] = j;
		else if (!s->job[j].running && s->live[j].granted)
			r = wz_run_start(s, j, err);
	}
	for (uint32_t i = 0; r >= 0 && i < stopped; i++)
		r = wz_run_stop(s, s->list[i], err);
	return r < 0 ? r : 0;
}

/* ---- a decision ---- */

/* Keys of running jobs move all the time: look at them anew. */
static void rekey_running(struct wz_run_state *s)
{
	uint32_t n = 0;

	for (uint32_t j = wz_otree_first(&s->pool, s->running); j != WZ_NONE; j = wz_otree_next(&s->pool, j))
		s->list[n++] = j;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = s->list[i];
		int64_t weight = s->pool.node[j].weight;
		wz_run_sync(s, j);
		if (s->job[j].key.a != WZ_ORDER_FIRST || !(s->in->job[j].service || s->in->job[j].replica))
			s->job[j].key = s->order.rule->key(&s->order, &s->job[j], s->now);
		wz_otree_remove(&s->pool, &s->running, j);
		wz_otree_add(&s->pool, &s->running, j, s->job[j].key, weight);
	}
}

static int grant(struct wz_run_state *s, struct wz_err *err)
{
	unsigned flags = s->order.rule->flags;
	uint32_t c;

	for (uint32_t i = 0; i < s->n_active; i++)
		s->failed[s->active[i]] = false;
	while ((c = best_class(s)) != WZ_NONE) {
		uint32_t j = wz_otree_first(&s->pool, s->waiting[c]);
		int r = s->place.free_milli >= wz_run_need(&s->in->job[j]) ? place_and_start(s, j, err) : 0;
		if (r == 0 && (flags & WZ_ORDER_PREEMPTS))
			r = make_room(s, j, err);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		s->failed[c] = true;
		if (flags & (WZ_ORDER_EASY | WZ_ORDER_CONSERVATIVE))
			return wz_run_backfill(s, j, err);
		if (flags & WZ_ORDER_BLOCKS)
			return 0;
	}
	return 0;
}

int wz_run_decide(struct wz_run_state *s, struct wz_err *err)
{
	uint64_t begin = wz_clock_monotonic_ns();
	int r;

	if (s->order.rule->flags & WZ_ORDER_DRIFTS)
		rekey_running(s);
	if ((s->order.rule->flags & WZ_ORDER_REPACKS) && s->place.kind == WZ_RUN_YARN)
		r = repack(s, err);
	else
		r = grant(s, err);
	wz_run_latency(&s->latency, wz_clock_monotonic_ns() - begin);
	return r;
}
