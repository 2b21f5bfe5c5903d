/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of single devices. Times are exponential, so the next failure of all devices together is one draw, and the device it
 * hits is any of them alike; one that is away already, or on a node that is, cannot fail: nothing happens. Each is away for the
 * same time, so they come back in the order in which they went. */
#include "sim/run_fail.h"

#include "sim/life.h"

static int64_t next_failure(struct wz_run_device_faults *f, int64_t now, int64_t mtbf_us)
{
	uint64_t dt = wz_exponential(&f->rng, (uint64_t)mtbf_us / f->devices);
	return dt < (uint64_t)(WZ_ORDER_NEVER - 1 - now) ? now + 1 + (int64_t)dt : WZ_ORDER_NEVER;
}

int wz_run_device_faults_open(struct wz_run_device_faults *f, const struct wz_run_state *s, struct wz_err *err)
{
	const struct wz_sim_nodes *nodes = s->in->nodes;

	*f = (struct wz_run_device_faults){.mem = s->mem, .next_us = WZ_ORDER_NEVER};
	if (s->o->device_mtbf_us <= 0 || s->in->gpus == 0)
		return 0;
	f->n = nodes->n;
	f->devices = s->in->gpus;
	f->first = wz_mem_zalloc(s->mem, ((size_t)f->n + 1) * sizeof(*f->first));
	f->dead = wz_mem_zalloc(s->mem, f->n * sizeof(*f->dead));
	f->away = wz_mem_zalloc(s->mem, f->devices * sizeof(*f->away));
	if (!f->first || !f->dead || !f->away)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for failures"));
	for (uint32_t i = 0; i < f->n; i++) {
		if (nodes->node[i].n_devices > WZ_NODE_DEVICES_MAX)
			return wz_err_set(err, -EINVAL, "TooManyDevices",
			        WZ_STR("devices fail on nodes of at most 64 devices"));
		f->first[i + 1] = f->first[i] + nodes->node[i].n_devices;
	}
	wz_rng_seed(&f->rng, s->o->seed ^ 0xde71ce);
	f->next_us = next_failure(f, s->in->from_us, s->o->device_mtbf_us);
	return 0;
}

void wz_run_device_faults_close(struct wz_run_device_faults *f)
{
	if (f->first)
		wz_mem_free(f->mem, f->first, ((size_t)f->n + 1) * sizeof(*f->first));
	if (f->dead)
		wz_mem_free(f->mem, f->dead, f->n * sizeof(*f->dead));
	if (f->away)
		wz_mem_free(f->mem, f->away, f->devices * sizeof(*f->away));
	*f = (struct wz_run_device_faults){.next_us = WZ_ORDER_NEVER};
}

int64_t wz_run_device_faults_next(const struct wz_run_device_faults *f)
{
	int64_t back = f->n_away ? f->away[f->head].back_us : WZ_ORDER_NEVER;
	return back < f->next_us ? back : f->next_us;
}

/* ---- who is on it ---- */

/* The core says which devices its jobs hold: all that hold this one. */
static int strike_core(struct wz_run_state *s, uint32_t node, uint32_t index, struct wz_err *err)
{
	const struct wz_run_place *p = &s->place;
	uint32_t i = p->first_on[node];
	int r = 0;

	while (r == 0 && i != WZ_NONE) {
		bool hit = p->piece[i].devices >> index & 1;
		if (hit)
			r = wz_run_strike(s, p->piece[i].job, err);
		i = hit ? p->first_on[node] : p->piece[i].next_on_node; /* a gang may have several pieces here */
	}
	return r;
}

/* Elsewhere only numbers are known: as if jobs lay side by side on the devices that work, those that are free last. The device
 * is any of them alike, so a job is hit as likely as it holds devices. Of shares, as many more as it takes to clear a device. */
static int strike_yarn(struct wz_run_state *s, uint32_t node, int64_t at_milli, struct wz_err *err)
{
	const struct wz_run_place *p = &s->place;
	uint32_t i = p->first_on[node];
	int r = 0;

	for (; i != WZ_NONE; i = p->piece[i].next_on_node) {
		at_milli -= (int64_t)p->piece[i].gpus * s->in->job[p->piece[i].job].milli;
		if (at_milli < 0)
			break;
	}
	if (i != WZ_NONE)
		r = wz_run_strike(s, p->piece[i].job, err);
	while (r == 0 && p->free[node] < 1000 && p->first_on[node] != WZ_NONE)
		r = wz_run_strike(s, p->piece[p->first_on[node]].job, err);
	return r;
}

static int strike_any(struct wz_run_state *s, int64_t at_milli, struct wz_err *err)
{
	uint32_t j = wz_otree_first(&s->pool, s->running);
	int r = 0;

	for (; j != WZ_NONE; j = wz_otree_next(&s->pool, j)) {
		at_milli -= wz_run_need(&s->in->job[j]);
		if (at_milli < 0)
			break;
	}
	if (j != WZ_NONE)
		r = wz_run_strike(s, j, err);
	while (r == 0 && s->place.free_milli < 1000 && (j = wz_otree_last(&s->pool, s->running)) != WZ_NONE)
		r = wz_run_strike(s, j, err);
	return r;
}

/* ---- failing and coming back ---- */

static void resize(struct wz_run_state *s, uint32_t node, int64_t milli)
{
	if (s->place.free)
		s->place.free[node] += milli;
	s->place.free_milli += milli;
}

/* How many devices before this one work: of its node, or of all. */
static int64_t rank_of(const struct wz_run_faults *all, const struct wz_run_state *s, uint32_t node, uint32_t index)
{
	const struct wz_run_device_faults *f = &all->device;
	int64_t rank = (int64_t)index - __builtin_popcountll(f->dead[node] & ((UINT64_C(1) << index) - 1));

	for (uint32_t i = 0; !s->place.first_on && i < node; i++)
		if (!(all->n && all->down[i]))
			rank += s->in->nodes->node[i].n_devices - (uint32_t)__builtin_popcountll(f->dead[i]);
	return rank;
}

static uint32_t node_of(const struct wz_run_device_faults *f, uint32_t device)
{
	uint32_t low = 0, high = f->n; /* first[low] <= device < first[high] */

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		if (f->first[mid] <= device)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static int fail_one(struct wz_run_faults *all, struct wz_run_state *s, struct wz_err *err)
{
	struct wz_run_device_faults *f = &all->device;
	uint32_t device = (uint32_t)wz_rng_below(&f->rng, f->devices), node = node_of(f, device),
	         index = device - f->first[node];
	int64_t at;
	int r;

	f->next_us = next_failure(f, s->now, s->o->device_mtbf_us);
	if (f->dead[node] >> index & 1 || (all->n && all->down[node]))
		return 0;
	at = rank_of(all, s, node, index) * 1000;
	r = s->place.kind == WZ_RUN_JIGSAW ? strike_core(s, node, index, err)
	    : s->place.first_on            ? strike_yarn(s, node, at, err)
	                                   : strike_any(s, at, err);
	resize(s, node, -1000);
	f->dead[node] |= UINT64_C(1) << index;
	f->away[(f->head + f->n_away++) % f->devices] =
	        (struct wz_run_away){s->now + s->o->device_mttr_us + 1, node, index};
	s->device_failures++;
	return r == 0 ? wz_run_place_device(&s->place, node, index, false, s->now, err) : r;
}

static int mend_one(struct wz_run_faults *all, struct wz_run_state *s, struct wz_err *err)
{
	struct wz_run_device_faults *f = &all->device;
	struct wz_run_away a = f->away[f->head];

	f->head = (f->head + 1) % f->devices;
	f->n_away--;
	f->dead[a.node] &= ~(UINT64_C(1) << a.index);
	if (!(all->n && all->down[a.node])) /* else it comes with its node */
		resize(s, a.node, 1000);
	return wz_run_place_device(&s->place, a.node, a.index, true, s->now, err);
}

int wz_run_device_faults_take(struct wz_run_faults *all, struct wz_run_state *s, struct wz_err *err)
{
	struct wz_run_device_faults *f = &all->device;
	int r = 0;

	while (r == 0 && wz_run_device_faults_next(f) <= s->now) {
		r = f->n_away && f->away[f->head].back_us <= s->now ? mend_one(all, s, err) : fail_one(all, s, err);
		s->events++;
		s->rekeyed = true;
	}
	return r;
}
