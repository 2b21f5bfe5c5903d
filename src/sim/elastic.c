/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/elastic.h"

#include <math.h>
#include <stdlib.h>

#define NAME_MAX_ 32u
#define PLACEMENT_MAX 16u

struct step {
	uint32_t nodes, gpus;
	char placement[PLACEMENT_MAX + 1];
	uint32_t local;
	double step_s, sync_s;
};
struct epoch {
	double progress, iteration, metric, grad_sqr, grad_var;
};
struct valid {
	uint32_t batch, n, cap;
	struct epoch *epoch;
};

struct app {
	char name[NAME_MAX_];
	struct step *step;
	uint32_t n, cap;
	struct valid valid[WZ_ELASTIC_BATCHES_MAX];
	uint32_t batches, epochs, min_local, max_local;
};

struct wz_elastic {
	const struct wz_mem *mem;
	struct app app[WZ_ELASTIC_APPS_MAX];
	uint32_t n;
};

int wz_elastic_new(const struct wz_mem *mem, struct wz_elastic **ret)
{
	*ret = wz_mem_zalloc(mem, sizeof(**ret));
	if (*ret)
		(*ret)->mem = mem;
	return *ret ? 0 : -ENOMEM;
}

void wz_elastic_free(struct wz_elastic *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; i < e->n; i++) {
		wz_grow_free(e->mem, &e->app[i].step, &e->app[i].cap, sizeof(struct step));
		for (uint32_t k = 0; k < e->app[i].batches; k++)
			wz_grow_free(
			        e->mem, &e->app[i].valid[k].epoch, &e->app[i].valid[k].cap, sizeof(struct epoch));
	}
	wz_mem_free(e->mem, e, sizeof(*e));
}

uint32_t wz_elastic_find(const struct wz_elastic *e, struct wz_str name)
{
	for (uint32_t i = 0; e && i < e->n; i++)
		if (wz_str_eq(wz_str(e->app[i].name), name))
			return i + 1;
	return 0;
}

uint32_t wz_elastic_app(struct wz_elastic *e, struct wz_str name)
{
	uint32_t i = wz_elastic_find(e, name);

	if (i || e->n == WZ_ELASTIC_APPS_MAX || name.len == 0 || name.len >= NAME_MAX_)
		return i;
	memcpy(e->app[e->n].name, name.ptr, name.len);
	return ++e->n;
}

int wz_elastic_step(struct wz_elastic *e, uint32_t app, uint32_t nodes, uint32_t gpus, struct wz_str placement,
        uint32_t local, double step_s, double sync_s)
{
	struct app *a = &e->app[app - 1];
	struct step s = {.nodes = nodes, .gpus = gpus, .local = local, .step_s = step_s, .sync_s = sync_s};

	if (placement.len > PLACEMENT_MAX)
		return -EINVAL;
	if (placement.len)
		memcpy(s.placement, placement.ptr, placement.len);
	if (wz_grow(e->mem, &a->step, &a->cap, a->n + 1, sizeof(*a->step)) < 0)
		return -ENOMEM;
	a->step[a->n++] = s;
	return 0;
}

int wz_elastic_epoch(struct wz_elastic *e, uint32_t app, uint32_t batch, double progress, double iteration,
        double metric, double grad_sqr, double grad_var)
{
	struct app *a = &e->app[app - 1];
	uint32_t k = 0;

	while (k < a->batches && a->valid[k].batch != batch)
		k++;
	if (k == WZ_ELASTIC_BATCHES_MAX)
		return -E2BIG;
	if (k == a->batches) {
		a->valid[k].batch = batch;
		a->batches++;
	}
	if (wz_grow(e->mem, &a->valid[k].epoch, &a->valid[k].cap, a->valid[k].n + 1, sizeof(struct epoch)) < 0)
		return -ENOMEM;
	a->valid[k].epoch[a->valid[k].n++] = (struct epoch){progress, iteration, metric, grad_sqr, grad_var};
	return 0;
}

bool wz_elastic_ready(const struct wz_elastic *e, uint32_t app)
{
	return e && app && app <= e->n && e->app[app - 1].n && e->app[app - 1].batches && e->app[app - 1].epochs;
}

static int by_batch(const void *x, const void *y)
{
	const struct valid *a = x, *b = y;
	return a->batch < b->batch ? -1 : a->batch > b->batch;
}

static int by_place(const void *x, const void *y)
{
	const struct step *a = x, *b = y;
	int c = strcmp(a->placement, b->placement);
	if (c == 0 && a->nodes != b->nodes)
		c = a->nodes < b->nodes ? -1 : 1;
	if (c == 0 && a->gpus != b->gpus)
		c = a->gpus < b->gpus ? -1 : 1;
	return c ? c : a->local < b->local ? -1 : a->local > b->local;
}

void wz_elastic_finish(struct wz_elastic *e)
{
	for (uint32_t i = 0; i < e->n; i++) {
		struct app *a = &e->app[i];
		if (a->n)
			qsort(a->step, a->n, sizeof(*a->step), by_place);
		if (a->batches)
			qsort(a->valid, a->batches, sizeof(*a->valid), by_batch);
		a->epochs = UINT32_MAX;
		for (uint32_t k = 0; k < a->batches; k++)
			a->epochs = a->valid[k].n < a->epochs ? a->valid[k].n : a->epochs;
		a->epochs = a->epochs == UINT32_MAX ? 0 : a->epochs;
		a->min_local = UINT32_MAX;
		a->max_local = 0;
		for (uint32_t k = 0; k < a->n; k++) {
			if (!a->step[k].placement[0])
				continue;
			a->min_local = a->step[k].local < a->min_local ? a->step[k].local : a->min_local;
			a->max_local = a->step[k].local > a->max_local ? a->step[k].local : a->max_local;
		}
		if (wz_str_eq(wz_str(a->name), WZ_STR("yolov3")) && a->max_local > 8)
			a->max_local = 8; /* as Pollux' simulator limits it: memory */
	}
}

struct wz_elastic_limits wz_elastic_limits(const struct wz_elastic *e, uint32_t app)
{
	const struct app *a = &e->app[app - 1];
	return (struct wz_elastic_limits){
	        a->valid[0].batch, a->valid[a->batches - 1].batch, a->min_local, a->max_local, a->epochs};
}

uint32_t wz_elastic_epochs(const struct wz_elastic *e, uint32_t app)
{
	return e->app[app - 1].epochs;
}

/* ---- steps ---- */

/* Linear in the local batch among the measured ones of [from, to), held at its ends. */
static void at_local(const struct step *s, uint32_t n, double local, double *ret_step, double *ret_sync)
{
	uint32_t k = 1;
	double f;

	while (k + 1 < n && s[k].local < local)
		k++;
	if (n == 1 || s[k].local == s[k - 1].local) {
		*ret_step = s[0].step_s;
		*ret_sync = s[0].sync_s;
		return;
	}
	f = (local - s[k - 1].local) / ((double)s[k].local - s[k - 1].local);
	f = f < 0 ? 0 : f > 1 ? 1 : f; /* beyond what was measured a line may go below zero */
	*ret_step = s[k - 1].step_s + f * (s[k].step_s - s[k - 1].step_s);
	*ret_sync = s[k - 1].sync_s + f * (s[k].sync_s - s[k - 1].sync_s);
}

/* The rotation that is smallest, as text. */
static void rotate(const uint8_t *p, uint32_t n, char *to)
{
	uint32_t best = 0;

	for (uint32_t r = 1; r < n; r++)
		for (uint32_t k = 0; k < n; k++) {
			uint8_t x = p[(r + k) % n], y = p[(best + k) % n];
			if (x == y)
				continue;
			if (x < y)
				best = r;
			break;
		}
	for (uint32_t k = 0; k < n; k++)
		to[k] = (char)('0' + p[(best + k) % n]);
	to[n] = 0;
}

/* Not measured: between what was measured on as many nodes (or the nearest numbers of nodes) with fewer and more devices. */
static void estimate(
        const struct app *a, uint32_t nodes, uint32_t gpus, double local, double *ret_step, double *ret_sync)
{
	double best = INFINITY, second = INFINITY, x[2] = {0}, y[2] = {0}, w[2];

	*ret_step = *ret_sync = 0;
	for (uint32_t i = 0; i < a->n;) {
		uint32_t k = i;
		double s, q, far;
		while (k < a->n && a->step[k].nodes == a->step[i].nodes && a->step[k].gpus == a->step[i].gpus &&
		        strcmp(a->step[k].placement, a->step[i].placement) == 0)
			k++;
		far = fabs(log((double)a->step[i].gpus / gpus)) + 2 * fabs(log((double)a->step[i].nodes / nodes));
		at_local(a->step + i, k - i, local, &s, &q);
		if (far < best) {
			second = best;
			x[1] = x[0], y[1] = y[0];
			best = far;
			x[0] = s, y[0] = q;
		} else if (far < second) {
			second = far;
			x[1] = s, y[1] = q;
		}
		i = k;
	}
	if (second == INFINITY || best <= 0) {
		*ret_step = x[0];
		*ret_sync = y[0];
		return;
	}
	w[0] = second / (best + second);
	w[1] = best / (best + second);
	*ret_step = w[0] * x[0] + w[1] * x[1];
	*ret_sync = w[0] * y[0] + w[1] * y[1];
}

void wz_elastic_time(const struct wz_elastic *e, uint32_t app, const uint8_t *placement, uint32_t nodes,
        uint32_t local, double *ret_step, double *ret_sync)
{
	const struct app *a = &e->app[app - 1];
	char text[PLACEMENT_MAX + 1] = "";
	uint32_t gpus = 0, from = 0, to;

	for (uint32_t i = 0; i < nodes; i++)
		gpus += placement[i];
	if (nodes <= PLACEMENT_MAX)
		rotate(placement, nodes, text);
	while (from < a->n && strcmp(a->step[from].placement, text) != 0)
		from++;
	for (to = from; to < a->n && text[0] && strcmp(a->step[to].placement, text) == 0;)
		to++;
	if (to > from && text[0])
		at_local(a->step + from, to - from, local, ret_step, ret_sync);
	else
		estimate(a, nodes > 16 ? 16 : nodes, gpus, local, ret_step, ret_sync);
}

/* ---- progress ---- */

static double between(const struct app *a, uint32_t batch, uint32_t epoch, bool var)
{
	uint32_t k = 0;
	const struct epoch *x, *y;
	double f, u, v;

	epoch = epoch < a->epochs ? epoch : a->epochs - 1;
	while (k + 1 < a->batches && a->valid[k + 1].batch <= batch)
		k++;
	x = &a->valid[k].epoch[epoch];
	u = var ? x->grad_var : x->grad_sqr;
	if (a->valid[k].batch >= batch || k + 1 == a->batches)
		return u;
	y = &a->valid[k + 1].epoch[epoch];
	v = var ? y->grad_var : y->grad_sqr;
	f = (double)(batch - a->valid[k].batch) / (a->valid[k + 1].batch - a->valid[k].batch);
	return u + f * (v - u);
}

double wz_elastic_gain(const struct wz_elastic *e, uint32_t app, uint32_t batch, uint32_t epoch)
{
	const struct app *a = &e->app[app - 1];
	double sqr = between(a, batch, epoch, false), var = between(a, batch, epoch, true),
	       scale = (double)batch / a->valid[0].batch;

	return var + sqr > 0 ? (var + sqr) / (var / scale + sqr) : 1;
}

double wz_elastic_progress(const struct wz_elastic *e, uint32_t app, uint32_t epoch)
{
	const struct app *a = &e->app[app - 1];
	double least = INFINITY;

	if (epoch == 0)
		return 0;
	epoch = epoch <= a->epochs ? epoch : a->epochs;
	for (uint32_t k = 0; k < a->batches; k++)
		least = fmin(least, a->valid[k].epoch[epoch - 1].progress);
	return least;
}
