/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run_fail.h"

#include <math.h>

static int64_t draw(struct wz_run_faults *f, int64_t mean_us)
{
	double u = ((double)(wz_rng_next(&f->rng) >> 11) + 0.5) / 9007199254740992.0;
	double t = -log(u) * (double)mean_us;
	return t < 1 ? 1 : t > 1e17 ? (int64_t)1e17 : (int64_t)t;
}

static void find_next(struct wz_run_faults *f)
{
	f->next = 0;
	for (uint32_t i = 1; i < f->n; i++)
		if (f->at_us[i] < f->at_us[f->next])
			f->next = i;
}

/* Up or not at a moment, by the trace of spot availability: the first so many nodes are; where it only says whether, all. */
static bool spot_up(const struct wz_run_state *s, uint32_t node, uint64_t gap)
{
	const struct wz_sim_tasks *t = s->in->tasks;
	uint32_t most = 1;

	for (uint32_t i = 0; i < t->n_spot && most == 1; i++)
		most = t->spot[i] > 1 ? t->spot[i] : most;
	return gap >= t->n_spot || (most > 1 ? t->spot[gap] > node : t->spot[gap] > 0);
}

/* When that changes next after now; past the trace all are there. */
static int64_t spot_next(const struct wz_run_state *s, uint32_t node, int64_t now, bool up)
{
	const struct wz_sim_tasks *t = s->in->tasks;

	for (uint64_t gap = (uint64_t)(now / t->spot_gap_us) + (now >= 0 ? 1 : 0); gap <= t->n_spot; gap++)
		if (spot_up(s, node, gap) != up)
			return (int64_t)gap * t->spot_gap_us;
	return WZ_ORDER_NEVER;
}

int wz_run_faults_open(struct wz_run_faults *f, const struct wz_run_state *s, struct wz_err *err)
{
	uint32_t n = s->o->mtbf_us > 0 || s->in->tasks->n_spot ? s->in->nodes->n : 0;
	int r;

	*f = (struct wz_run_faults){.mem = s->mem};
	r = wz_run_device_faults_open(&f->device, s, err);
	if (r < 0 || n == 0)
		return r;
	f->at_us = wz_mem_zalloc(s->mem, n * sizeof(*f->at_us));
	f->down = wz_mem_zalloc(s->mem, n * sizeof(*f->down));
	f->n = n;
	if (!f->at_us || !f->down)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for failures"));
	wz_rng_seed(&f->rng, s->o->seed ^ 0xfa11);
	for (uint32_t i = 0; i < n; i++)
		f->at_us[i] =
		        s->in->tasks->n_spot ? spot_next(s, i, -1, true) : s->in->from_us + draw(f, s->o->mtbf_us);
	find_next(f);
	return 0;
}

int64_t wz_run_faults_next(const struct wz_run_faults *f)
{
	int64_t node = f->n ? f->at_us[f->next] : WZ_ORDER_NEVER, device = wz_run_device_faults_next(&f->device);
	return device < node ? device : node;
}

bool wz_run_faults_down(const struct wz_run_faults *f)
{
	if (f->device.n_away)
		return true;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->down[i] && f->at_us[i] != WZ_ORDER_NEVER)
			return true;
	return false;
}

void wz_run_faults_close(struct wz_run_faults *f)
{
	if (f->at_us)
		wz_mem_free(f->mem, f->at_us, f->n * sizeof(*f->at_us));
	if (f->down)
		wz_mem_free(f->mem, f->down, f->n * sizeof(*f->down));
	f->n = 0;
	wz_run_device_faults_close(&f->device);
}

/* A failure is no preemption by the order: counted apart. */
int wz_run_strike(struct wz_run_state *s, uint32_t j, struct wz_err *err)
{
	int r = wz_run_stop(s, j, err);
	s->out[j].preemptions--;
	return r;
}

/* Of a node, what works. */
static int64_t size_of(const struct wz_run_faults *f, const struct wz_run_state *s, uint32_t node)
{
	int dead = f->device.dead ? __builtin_popcountll(f->device.dead[node]) : 0;
	return ((int64_t)s->in->nodes->node[node].n_devices - dead) * 1000;
}

static int strike_node(const struct wz_run_faults *f, struct wz_run_state *s, uint32_t node, struct wz_err *err)
{
	struct wz_run_place *p = &s->place;
	int64_t size = size_of(f, s, node);
	int r = 0;

	if (p->first_on) {
		while (r == 0 && p->first_on[node] != WZ_NONE)
			r = wz_run_strike(s, p->piece[p->first_on[node]].job, err);
		p->up[node] = false;
		p->free[node] -= size;
	} else {
		uint32_t j;
		while (r == 0 && p->free_milli < size && (j = wz_otree_last(&s->pool, s->running)) != WZ_NONE)
			r = wz_run_strike(s, j, err);
	}
	p->free_milli -= size;
	return r;
}

static void mend_node(const struct wz_run_faults *f, struct wz_run_state *s, uint32_t node)
{
	struct wz_run_place *p = &s->place;
	int64_t size = size_of(f, s, node);

	if (p->first_on) {
		p->up[node] = true;
		p->free[node] += size;
	}
	p->free_milli += size;
}

int wz_run_faults_take(struct wz_run_faults *f, struct wz_run_state *s, struct wz_err *err)
{
	int r = 0;

	while (r == 0 && f->n && f->at_us[f->next] <= s->now) {
		uint32_t node = f->next;
		f->down[node] = !f->down[node];
		if (f->down[node]) {
			r = strike_node(f, s, node, err);
			s->failures++;
			f->at_us[node] = s->in->tasks->n_spot ? spot_next(s, node, s->now, false)
			                                      : s->now + s->o->mttr_us + 1;
		} else {
			mend_node(f, s, node);
			f->at_us[node] = s->in->tasks->n_spot ? spot_next(s, node, s->now, true)
			                                      : s->now + draw(f, s->o->mtbf_us);
		}
		if (r == 0)
			r = wz_run_place_node(&s->place, node, !f->down[node], s->now, err);
		s->rekeyed = true;
		find_next(f);
	}
	return r == 0 ? wz_run_device_faults_take(f, s, err) : r;
}
