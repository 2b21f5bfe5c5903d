/* SPDX-License-Identifier: Apache-2.0 */
/* Arrivals until a percent become the shapes of the LP: one entry for each task of the list that arrived; the solver
 * merges equal ones. */
#include "sim/bound.h"

#include "os/pool.h"

#include <math.h>

/* ---- building the problem ---- */

struct problem {
	const struct wz_mem *mem;
	struct wz_bound_node *node;
	struct wz_bound_shape *shape;
	uint32_t n_nodes, n_tasks; /* allocated */
	struct wz_bound_in in;
};

static void release(struct problem *p)
{
	wz_mem_free(p->mem, p->node, p->n_nodes * sizeof(*p->node));
	wz_mem_free(p->mem, p->shape, p->n_tasks * sizeof(*p->shape));
}

static int add_nodes(struct problem *p, const struct wz_sim_nodes *nodes, struct wz_err *err)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct wz_ev_node *n = &nodes->node[i];
		p->node[i] = (struct wz_bound_node){.cpu_milli = n->cpu_milli,
		        .mem_bytes = n->mem_bytes,
		        .model = n->n_devices ? n->device[0].model.v : 0,
		        .gpus = n->n_devices,
		        .count = 1};
		for (uint32_t d = 0; d < n->n_devices; d++)
			if (n->device[d].model.v != n->device[0].model.v || n->device[d].compute_milli != WZ_WHOLE)
				return wz_err_set(err, -EOPNOTSUPP, "MixedNode", WZ_STR("node "), n->name,
				        WZ_STR(" has devices of several models or parts of devices: no bound is "
				               "known"));
	}
	p->in.node = p->node;
	p->in.n_nodes = nodes->n;
	return 0;
}

/* The length of the shortest prefix that asks for at least `percent` of capacity; all when none does. */
static uint32_t prefix(const struct wz_pack_input *in, const struct wz_arrivals *a, uint32_t percent)
{
	uint64_t sum = 0;
	uint32_t n = 0;

	while (n < a->n && sum * 100 < in->capacity_milli * percent)
		sum += wz_task_gpu_milli(&in->tasks->task[a->task[n++]]);
	return n;
}

static void add_tasks(struct problem *p, const struct wz_pack_input *in, const struct wz_arrivals *a,
        const struct wz_sim_bound_options *o, struct wz_sim_bound *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->tasks->n; i++) {
		const struct wz_sim_task *t = &in->tasks->task[i];
		p->shape[i] = (struct wz_bound_shape){.cpu_milli = t->cpu_milli,
		        .mem_bytes = t->mem_bytes,
		        .devices = t->gpus,
		        .milli = t->gpus ? t->milli : 0,
		        .any_model = t->any_model,
		        .allowed = t->allowed,
		        .forced = t->gpus == 0 && !o->cpu_optional};
	}
	for (uint32_t i = 0; i < b->tasks; i++) {
		const struct wz_sim_task *t = &in->tasks->task[a->task[i]];
		struct wz_bound_shape *s = &p->shape[a->task[i]];
		s->demand++;
		s->held += i < b->held && (t->gpus || !o->cpu_optional);
		b->arrived_milli += wz_task_gpu_milli(t);
		b->cpu_milli += (uint64_t)t->cpu_milli;
	}
	for (uint32_t i = 0; i < in->tasks->n; i++)
		if (p->shape[i].demand)
			p->shape[n++] = p->shape[i];
	p->in.shape = p->shape;
	p->in.n_shapes = n;
}

/* ---- solving ---- */

static bool is_reason(const struct wz_err *e, const char *reason)
{
	return wz_str_eq(wz_str(e->reason), wz_str(reason));
}

static int solve(struct problem *p, struct wz_sim_bound *b, struct wz_err *err)
{
	struct wz_err e = {0};
	int r = wz_bound_solve(&p->in, p->mem, &b->lp, NULL, NULL, &e);

	if (r == -ENOSPC && b->held == 0 && is_reason(&e, "ForcedInfeasible")) {
		b->cpu_dropped = true;
		for (uint32_t i = 0; i < p->in.n_shapes; i++)
			p->shape[i].forced = false;
		r = wz_bound_solve(&p->in, p->mem, &b->lp, NULL, NULL, &e);
	}
	if (r == -ENOSPC) {
		b->infeasible = true;
		return 0;
	}
	if (r < 0)
		return wz_err_set(err, r, e.reason, wz_str(e.text));
	return 0;
}

int wz_sim_bound_solve(const struct wz_pack_input *in, const struct wz_arrivals *a, uint32_t percent,
        const struct wz_sim_bound_options *o, const struct wz_mem *mem, struct wz_sim_bound *ret,
        struct wz_err *err)
{
	struct problem p = {.mem = mem, .n_nodes = in->nodes->n, .n_tasks = in->tasks->n};
	struct wz_sim_bound b = {.percent = percent, .tasks = prefix(in, a, percent)};
	int r = -ENOMEM;

	b.held = o->hold_percent ? prefix(in, a, o->hold_percent < percent ? o->hold_percent : percent) : 0;
	p.node = wz_mem_alloc(mem, p.n_nodes * sizeof(*p.node));
	p.shape = wz_mem_alloc(mem, p.n_tasks * sizeof(*p.shape));
	if (!p.node || !p.shape)
		wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the bound"));
	else
		r = add_nodes(&p, in->nodes, err);
	if (r == 0) {
		add_tasks(&p, in, a, o, &b);
		r = solve(&p, &b, err);
	}
	release(&p);
	if (r == 0)
		*ret = b;
	return r;
}

/* ---- seeds x points ---- */

struct shared {
	const struct wz_sim_bounds *b;
	const struct wz_mem *mem;
	struct wz_sim_bound *ret;
};

/* One seed: its arrivals serve all points. */
static int one_seed(void *ctx, uint32_t item, uint32_t worker, struct wz_err *err)
{
	const struct shared *x = ctx;
	const struct wz_sim_bounds *b = x->b;
	struct wz_arrivals a;
	int r = wz_arrivals_make(b->in->tasks, b->in->capacity_milli, b->seed_from + item, x->mem, &a);

	(void)worker;
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the arrivals"));
	for (uint32_t i = 0; r == 0 && i < b->n_points; i++)
		r = wz_sim_bound_solve(
		        b->in, &a, b->percent[i], &b->o, x->mem, &x->ret[item * b->n_points + i], err);
	wz_arrivals_release(&a);
	return r;
}

int wz_sim_bound_many(
        const struct wz_sim_bounds *b, const struct wz_mem *mem, struct wz_sim_bound *ret, struct wz_err *err)
{
	struct shared x = {b, mem, ret};

	return wz_pool_run((uint32_t)(b->seed_to - b->seed_from + 1), b->workers, one_seed, &x, b->stop, err);
}

double wz_sim_bound_pct(const struct wz_sim_bound *b)
{
	return b->infeasible ? (double)NAN : (double)b->lp.percent_e6 / 1e6;
}

double wz_sim_bound_mean(const struct wz_sim_bounds *b, const struct wz_sim_bound *result, uint32_t point)
{
	uint32_t n = (uint32_t)(b->seed_to - b->seed_from + 1);
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += wz_sim_bound_pct(&result[i * b->n_points + point]);
	return sum / n;
}
