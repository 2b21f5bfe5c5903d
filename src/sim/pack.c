/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the experiment. What is timed is all that the core does for one arrival (submit, step, decide, apply,
 * acknowledge); what is measured in between (fragments, curves) is not. */
#include "sim/pack.h"

#include "base/hash.h"
#include "core/draw.h"
#include "core/policies/frag.h"
#include "os/clock.h"

#include <math.h>

#define LESSONS (1ULL << 40)  /* number of the first job that is only shown */
#define ARRIVAL_US 1000000ULL /* virtual time between arrivals */

const char *const wz_pack_class_name[WZ_PACK_CLASSES] = {"cpu", "share", "one", "multi"};
const char *const wz_idle_name[WZ_IDLE_REASONS] = {"remainder", "no-cpu", "open"};

static enum wz_pack_class class_of(const struct wz_sim_task *t)
{
	return t->gpus == 0 ? WZ_PACK_CPU : t->gpus > 1 ? WZ_PACK_MULTI : t->milli < WZ_WHOLE ? WZ_PACK_SHARE : WZ_PACK_ONE;
}

/* ---- input ---- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Median CPU of tasks that take one whole device; of all GPU tasks, per device, when none does. */
static int typical_cpu(const struct wz_sim_tasks *tasks, const struct wz_mem *mem, int64_t *ret)
{
	int64_t *v = wz_mem_alloc(mem, (tasks->n + 1) * sizeof(*v));
	uint32_t n = 0;

	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < tasks->n; i++)
		if (tasks->task[i].gpus == 1 && tasks->task[i].milli == WZ_WHOLE)
			v[n++] = tasks->task[i].cpu_milli;
	for (uint32_t i = 0; n == 0 && i < tasks->n; i++)
		if (tasks->task[i].gpus)
			v[n++] = tasks->task[i].cpu_milli / tasks->task[i].gpus;
	if (n)
		qsort(v, n, sizeof(*v), by_value);
	*ret = n ? v[n / 2] : 0;
	wz_mem_free(mem, v, (tasks->n + 1) * sizeof(*v));
	return 0;
}

int wz_pack_input_make(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, const struct wz_mem *mem,
                       struct wz_pack_input *ret, struct wz_err *err)
{
	struct wz_pack_input in = {.nodes = nodes, .tasks = tasks};
	uint64_t demand = 0;
	int r;

	for (uint32_t i = 0; i < nodes->n; i++)
		for (uint32_t d = 0; d < nodes->node[i].n_devices; d++)
			in.capacity_milli += (uint64_t)nodes->node[i].device[d].compute_milli;
	for (uint32_t i = 0; i < tasks->n; i++)
		demand += wz_task_gpu_milli(&tasks->task[i]);
	if (in.capacity_milli == 0)
		return wz_err_set(err, -EINVAL, "NoDevices", WZ_STR("the nodes have no devices: nothing to pack"));
	if (demand == 0)
		return wz_err_set(err, -EINVAL, "NoDemand", WZ_STR("no task asks for a device: nothing to pack"));
	r = wz_typicals_make(tasks, mem, &in.typical);
	if (r == 0 && (r = typical_cpu(tasks, mem, &in.typical_cpu)) < 0)
		wz_typicals_release(&in.typical);
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the experiment"));
	*ret = in;
	return 0;
}

void wz_pack_input_release(struct wz_pack_input *in)
{
	wz_typicals_release(&in->typical);
}

/* ---- one run ---- */

struct run {
	const struct wz_pack_input *in;
	const struct wz_pack_options *o;
	const struct wz_mem *mem;
	struct wz_core *core;
	struct wz_plan plan;
	struct wz_enact enact;
	struct wz_frag *frag;      /* the measure, of the typical workload */
	int64_t frag_sum;          /* W x F over the cluster */
	uint64_t used, arrived, time_us, digest;
	bool faulty;               /* hands make mistakes: what is held is looked up, not counted */
	int64_t used_in[WZ_PACK_PERCENT + 1], count_in[WZ_PACK_PERCENT + 1];
	double frag_in[WZ_PACK_PERCENT + 1], ratio_in[WZ_PACK_PERCENT + 1];
	struct wz_draw_sum draw;   /* of all nodes now */
	double power_in[WZ_PACK_PERCENT + 1], price_in[WZ_PACK_PERCENT + 1];
	uint32_t explained;
	uint32_t *sample;          /* ns of each decision */
	uint32_t n_samples;
};

int wz_pack_join(struct wz_core *c, const struct wz_sim_nodes *nodes, struct wz_err *err)
{
	int r = wz_sim_nodes_declare(nodes, wz_core_catalogue(c), err);

	for (uint32_t i = 0; r == 0 && i < nodes->n; i++) {
		struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
		e.u.node = nodes->node[i];
		r = wz_core_apply(c, &e, err);
	}
	return r;
}

/* The typical workload with this run's shapes: used for measuring, and told only to policies that are defined with it. */
static int state_workload(struct run *x, struct wz_err *err)
{
	const struct wz_typicals *y = &x->in->typical;
	struct wz_event e = {.kind = WZ_EV_WORKLOAD_STATED};
	size_t ps = y->n * sizeof(struct wz_profile), ws = y->n * sizeof(uint32_t);
	struct wz_profile *profile = wz_mem_alloc(x->mem, ps);
	uint32_t *weight = wz_mem_alloc(x->mem, ws);
	int r = -ENOMEM;

	if (profile && weight) {
		for (uint32_t i = 0; i < y->n; i++) {
			profile[i] = *wz_sim_task_profile(x->in->tasks, &x->in->tasks->task[y->t[i].task]);
			weight[i] = y->t[i].weight;
		}
		e.u.workload.n = y->n;
		e.u.workload.profile = profile;
		e.u.workload.weight = weight;
		r = wz_core_apply(x->core, &e, err);
		if (r == 0) {
			struct wz_policy_ctx ctx = wz_core_policy_ctx(x->core);
			wz_frag_prepare(x->frag, &ctx);
		}
		if (r == 0 && !wz_core_policy(x->core, NULL)->told) {
			e.u.workload.n = 0;
			r = wz_core_apply(x->core, &e, err);
		}
	}
	wz_mem_free(x->mem, profile, ps);
	wz_mem_free(x->mem, weight, ws);
	return r;
}

static int64_t frag_of_node(const struct run *x, uint32_t node)
{
	const struct wz_model_state *m = wz_core_model(x->core);
	const struct wz_node *n = &m->node[node];

	return wz_frag_of(x->frag, n, n->cpu_free, &m->dev_milli[n->first_dev]);
}

static void add_draw(struct run *x, uint32_t node, int sign)
{
	struct wz_draw_sum d = wz_draw_node(wz_core_catalogue(x->core), wz_core_model(x->core), node);

	x->draw.watts += sign * d.watts;
	x->draw.price_musd += sign * d.price_musd;
}

/* What is measured between decisions is a sum over nodes: a node leaves it before it changes and comes back after. */
static void take_node(struct run *x, uint32_t node)
{
	if (!x->o->no_curves)
		x->frag_sum -= frag_of_node(x, node);
	if (x->o->draw)
		add_draw(x, node, -1);
}

static void return_node(struct run *x, uint32_t node)
{
	if (!x->o->no_curves)
		x->frag_sum += frag_of_node(x, node);
	if (x->o->draw)
		add_draw(x, node, 1);
}

/* The policy learns a mix from work that comes and is withdrawn before anything is decided. */
static int teach(struct run *x, struct wz_err *err)
{
	const struct wz_sim_tasks *t = x->o->teach;
	uint32_t *at = wz_mem_alloc(x->mem, t->n * sizeof(*at));
	struct wz_rng rng;
	int r = at ? 0 : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to teach"));

	wz_rng_seed(&rng, x->o->seed);
	for (uint32_t i = 0; r == 0 && i < t->n; i++)
		at[i] = i;
	if (r == 0)
		wz_rng_shuffle_u32(&rng, at, t->n);
	for (uint32_t i = 0; r == 0 && i < t->n; i++) {
		struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED}, cancel = {.kind = WZ_EV_JOB_CANCELLED};
		e.u.submit.job = cancel.u.job.job = LESSONS + i;
		e.u.submit.profile = wz_sim_task_profile(t, &t->task[at[i]]);
		r = wz_core_apply(x->core, &e, err);
		if (r == 0)
			r = wz_core_apply(x->core, &cancel, err);
	}
	wz_mem_free(x->mem, at, t->n * sizeof(*at));
	return r;
}

static int start(struct run *x, uint32_t n_arrivals, struct wz_err *err)
{
	struct wz_core_options co = {.seed = x->o->seed, .policy = x->o->placement, .no_index = x->o->no_index};
	struct wz_enact_options eo = x->o->faults;
	int r = wz_core_new(x->mem, &co, &x->core, err);

	if (r < 0)
		return r;
	wz_plan_init(&x->plan, x->mem);
	eo.seed = x->o->seed;
	x->faulty = eo.delay_us || eo.loss_ppm || eo.twice_ppm || eo.refuse_ppm;
	wz_enact_init(&x->enact, x->mem, &eo);
	x->frag = wz_mem_zalloc(x->mem, sizeof(*x->frag));
	x->sample = wz_mem_alloc(x->mem, (n_arrivals + 1) * sizeof(*x->sample));
	if (!x->frag || !x->sample)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	r = wz_pack_join(x->core, x->in->nodes, err);
	if (r == 0)
		r = state_workload(x, err);
	if (r == 0 && x->o->teach)
		r = teach(x, err);
	for (uint32_t i = 0; r == 0 && i < x->in->nodes->n; i++)
		return_node(x, i);
	return r;
}

static void add_task(const struct wz_sim_task *t, struct wz_buf *b)
{
	wz_buf_add(b, t->name);
	wz_buf_addz(b, " (");
	if (t->gpus == 0) {
		wz_buf_addz(b, "no device");
	} else if (t->milli < WZ_WHOLE) {
		wz_buf_add_fixed(b, t->milli, 3);
		wz_buf_addz(b, t->gpus == 1 ? " device" : " each of several devices");
	} else {
		wz_buf_add_u64(b, t->gpus);
		wz_buf_addz(b, t->gpus == 1 ? " device" : " devices");
	}
	wz_buf_addz(b, ", ");
	wz_buf_add_fixed(b, t->cpu_milli / 100, 1);
	wz_buf_addz(b, " CPU)");
}

/* `job` is 1 + the number of the arrival, 100 x arrived / capacity is what arrived before it. */
static int say_why(struct run *x, const struct wz_effect *e, const struct wz_sim_task *t, struct wz_err *err)
{
	const struct wz_ev_node *n = &x->in->nodes->node[e->place.node.v];
	struct wz_buf *b = x->o->words;
	int r;

	if (x->explained >= x->o->explain || x->arrived * 100 < x->in->capacity_milli * x->o->explain_at)
		return 0;
	x->explained++;
	wz_buf_add_fixed(b, (int64_t)(x->arrived * 10000 / x->in->capacity_milli), 2);
	wz_buf_addz(b, " %: ");
	add_task(t, b);
	wz_buf_addz(b, " goes to ");
	wz_buf_add(b, n->name);
	if (n->n_devices) {
		wz_buf_addz(b, " (");
		wz_buf_add_u64(b, n->n_devices);
		wz_buf_addz(b, " x ");
		wz_buf_add(b, wz_sim_nodes_model_name(x->in->nodes, n->device[0].model));
		wz_buf_addc(b, ')');
	}
	wz_buf_addz(b, ". ");
	r = wz_core_explain_choice(x->core, e, b, err);
	wz_buf_addc(b, '\n');
	return r;
}

/* Applies the plan and enacts it. Counts what now holds; returns whether `job` was started. */
static int enact_plan(struct run *x, const struct wz_sim_task *t, uint64_t job, bool *ret_started, struct wz_err *err)
{
	for (uint32_t i = 0; i < x->plan.n; i++) {
		const struct wz_effect *e = &x->plan.effect[i];
		bool starts = e->kind == WZ_EF_START;
		int r = 0;
		if (starts && x->o->explain)
			r = say_why(x, e, t, err);
		if (starts)
			take_node(x, e->place.node.v);
		if (r == 0)
			r = wz_core_apply_effect(x->core, e, err);
		if (r == 0 && starts)
			return_node(x, e->place.node.v);
		if (r == 0)
			r = wz_enact_effect(&x->enact, x->core, e, err);
		if (r < 0)
			return r;
		*ret_started = *ret_started || (starts && e->job == job);
	}
	return 0;
}

static int step(struct run *x, const struct wz_sim_task *t, uint64_t job, bool *ret_started, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_STEP, .time_us = x->time_us};
	int r = wz_enact_until(&x->enact, x->core, x->time_us, err);

	if (r == 0)
		r = wz_core_apply(x->core, &e, err);
	if (r == 0)
		r = wz_core_decide(x->core, 0, &x->plan, err);
	return r == 0 ? enact_plan(x, t, job, ret_started, err) : r;
}

/* Does the task fit on the node by the plainest reading? */
static bool fits_plainly(const struct wz_model_state *m, const struct wz_node *n, const struct wz_sim_task *t)
{
	uint32_t fit = 0;

	if (!WZ_NODE_USABLE(n) || n->cpu_free < t->cpu_milli || n->mem_free < t->mem_bytes || n->tasks_free < 1)
		return false;
	for (uint32_t d = n->first_dev; d < n->first_dev + n->n_dev; d++)
		fit += m->dev_milli[d] >= (int32_t)t->milli &&
		       (t->any_model || wz_model_set_has(&t->allowed, m->dev[d].model));
	return fit >= t->gpus;
}

/* Brute force: what is turned away fits nowhere. Tasks that ask for more than counts and amounts are left out. */
static int check_refusal(const struct run *x, const struct wz_sim_task *t, uint64_t job, struct wz_err *err)
{
	const struct wz_model_state *m = wz_core_model(x->core);
	const struct wz_shape *s;
	struct wz_job_info info;

	if (wz_core_job(x->core, job, &info) < 0 || info.tasks_min > 1)
		return 0;
	s = &wz_core_shapes(x->core)->shape[info.shape.v];
	if (s->special || s->dev_mem)
		return 0;
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (fits_plainly(m, &m->node[i], t))
			return wz_err_set(err, -EUCLEAN, "RefusedThoughFits", t->name, WZ_STR(" is refused but fits on "),
			                  x->in->nodes->node[i].name);
	return 0;
}

/* One arrival, all that the core does for it. */
static int arrive(struct run *x, const struct wz_sim_task *t, uint64_t job, bool *ret_started, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_JOB_SUBMITTED, .time_us = x->time_us};
	int r;

	e.u.submit.job = job;
	e.u.submit.profile = wz_sim_task_profile(x->in->tasks, t);
	r = wz_core_apply(x->core, &e, err);
	if (r == 0)
		r = step(x, t, job, ret_started, err);
	if (r == 0 && !*ret_started) {
		struct wz_event cancel = {.kind = WZ_EV_JOB_CANCELLED, .time_us = x->time_us};
		cancel.u.job.job = job;
		if (x->o->check)
			r = check_refusal(x, t, job, err);
		if (r == 0)
			r = wz_core_apply(x->core, &cancel, err);
	}
	return r;
}

static void look_up(struct run *x)
{
	struct wz_core_stats stats;

	wz_core_stats(x->core, &stats);
	x->used = stats.gpu_milli_held;
	x->frag_sum = 0;
	x->draw = (struct wz_draw_sum){0};
	for (uint32_t i = 0; i < x->in->nodes->n; i++)
		return_node(x, i);
}

static void measure(struct run *x, const struct wz_sim_task *t, bool started, struct wz_pack_result *res)
{
	enum wz_pack_class k = class_of(t);
	uint64_t q = wz_task_gpu_milli(t), at, cap = x->in->capacity_milli;
	double fragment, idle;

	res->arrived[k]++;
	x->arrived += q;
	if (started) {
		x->used += x->faulty ? 0 : q;
	} else {
		res->rejected[k]++;
		res->rejected_milli[k] += q;
	}
	if (x->faulty)
		look_up(x);
	at = (200 * x->arrived + cap) / (2 * cap); /* nearest percent */
	if (x->o->no_curves || at >= WZ_PACK_PERCENT)
		return;
	fragment = (double)x->frag_sum / (double)(x->frag->weight ? x->frag->weight : 1);
	idle = (double)(cap - x->used);
	x->used_in[at] += (int64_t)x->used;
	x->frag_in[at] += fragment;
	x->ratio_in[at] += idle > 0 ? 100 * fragment / idle : 0;
	x->power_in[at] += (double)x->draw.watts;
	x->price_in[at] += (double)x->draw.price_musd / 1000;
	x->count_in[at]++;
}

static void curves(const struct run *x, struct wz_pack_result *res)
{
	double cap = (double)x->in->capacity_milli;

	for (int p = 0; p < WZ_PACK_PERCENT; p++) {
		double n = 0, used = 0, frag = 0, ratio = 0, power = 0, price = 0;
		/* An empty bin takes its neighbours. */
		int reach = x->count_in[p] ? 0 : 1;
		for (int q = p - reach; q <= p + reach; q++) {
			if (q < 0 || q >= WZ_PACK_PERCENT)
				continue;
			n += (double)x->count_in[q];
			used += (double)x->used_in[q];
			frag += x->frag_in[q];
			ratio += x->ratio_in[q];
			power += x->power_in[q];
			price += x->price_in[q];
		}
		res->allocated[p] = n > 0 ? 100 * used / n / cap : (double)NAN;
		res->fragmented[p] = n > 0 ? 100 * frag / n / cap : (double)NAN;
		res->frag_ratio[p] = n > 0 ? ratio / n : (double)NAN;
		res->power_w[p] = n > 0 && x->o->draw ? power / n : (double)NAN;
		res->price_usd[p] = n > 0 && x->o->draw ? price / n : (double)NAN;
	}
}

static void idle_by_reason(const struct run *x, struct wz_pack_result *res)
{
	const struct wz_model_state *m = wz_core_model(x->core);

	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *n = &m->node[i];
		int64_t cpu = n->cpu_free;
		for (uint32_t d = n->first_dev; d < n->first_dev + n->n_dev; d++) {
			int32_t free = m->dev_milli[d];
			enum wz_idle why = WZ_IDLE_REMAINDER;
			if (free <= 0)
				continue;
			if (free == m->dev[d].milli) {
				why = cpu >= x->in->typical_cpu ? WZ_IDLE_OPEN : WZ_IDLE_NO_CPU;
				cpu -= x->in->typical_cpu;
			}
			res->idle_milli[m->dev[d].model][why] += (uint64_t)free;
		}
	}
}

static int by_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void finish(struct run *x, struct wz_pack_result *res)
{
	struct wz_core_stats stats;

	curves(x, res);
	idle_by_reason(x, res);
	wz_core_stats(x->core, &stats);
	qsort(x->sample, x->n_samples, sizeof(*x->sample), by_u32);
	if (x->n_samples) {
		res->p50_ns = x->sample[x->n_samples / 2];
		res->p99_ns = x->sample[(uint64_t)x->n_samples * 99 / 100];
	}
	res->decisions = x->n_samples;
	res->evaluations = stats.evaluations;
	res->digest = x->digest;
	res->acks_lost = x->enact.lost;
	res->acks_twice = x->enact.twice;
	res->starts_refused = x->enact.refused;
}

static int loop(struct run *x, const struct wz_arrivals *a, struct wz_pack_result *res, struct wz_err *err)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_sim_task *t = &x->in->tasks->task[a->task[i]];
		uint64_t before = wz_clock_monotonic_ns(), ns;
		bool started = false;
		int r;

		x->time_us += ARRIVAL_US;
		r = arrive(x, t, i + 1, &started, err);
		ns = wz_clock_monotonic_ns() - before;
		if (r == 0 && x->o->check)
			r = wz_core_check(x->core, err);
		if (r < 0)
			return r;
		x->sample[x->n_samples++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
		res->cpu_ns += ns;
		measure(x, t, started, res);
		x->digest = wz_hash_u64(x->digest, wz_core_digest(x->core));
		if (x->o->trail)
			x->o->trail[i] = x->digest;
	}
	return 0;
}

int wz_pack_run(const struct wz_pack_input *in, const struct wz_pack_options *o, const struct wz_mem *mem,
                struct wz_pack_result *ret, struct wz_err *err)
{
	struct run x = {.in = in, .o = o, .mem = mem};
	struct wz_arrivals made = {.mem = mem};
	const struct wz_arrivals *a = o->arrivals;
	int r = 0;

	*ret = (struct wz_pack_result){0};
	if (!a) {
		r = wz_arrivals_make_ordered(in->tasks, in->capacity_milli, o->seed, o->order, mem, &made);
		a = &made;
	}
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the arrivals"));
	r = start(&x, a->n, err);
	if (r == 0)
		r = loop(&x, a, ret, err);
	if (r == 0)
		finish(&x, ret);
	if (x.core) {
		wz_plan_release(&x.plan);
		wz_enact_release(&x.enact);
	}
	wz_mem_free(mem, x.frag, sizeof(*x.frag));
	wz_mem_free(mem, x.sample, (a->n + 1) * sizeof(*x.sample));
	wz_core_free(x.core);
	wz_arrivals_release(&made);
	return r;
}
