/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the experiment. What is timed is all that the core does for one arrival (submit, step, decide, apply,
 * acknowledge); what is measured in between (fragments, curves) is not. */
#include "sim/pack.h"

#include "base/hash.h"
#include "os/clock.h"

#include <math.h>

#define ARRIVAL_US 1000000ULL /* virtual time between arrivals */

const char *const wz_pack_class_name[WZ_PACK_CLASSES] = {"cpu", "share", "one", "multi"};
const char *const wz_idle_name[WZ_IDLE_REASONS] = {"remainder", "no-cpu", "open"};

static enum wz_pack_class class_of(const struct wz_sim_task *t)
{
	return t->gpus == 0          ? WZ_PACK_CPU
	       : t->gpus > 1         ? WZ_PACK_MULTI
	       : t->milli < WZ_WHOLE ? WZ_PACK_SHARE
	                             : WZ_PACK_ONE;
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
	struct wz_drive d;
	uint64_t used, arrived, digest;
	int64_t used_in[WZ_PACK_PERCENT + 1], count_in[WZ_PACK_PERCENT + 1];
	double frag_in[WZ_PACK_PERCENT + 1], ratio_in[WZ_PACK_PERCENT + 1];
	double power_in[WZ_PACK_PERCENT + 1], price_in[WZ_PACK_PERCENT + 1];
	const struct wz_sim_task *now; /* the one that arrives */
	uint32_t explained;
	uint64_t placed, moved, moved_seen, opened;
	double moves_in[WZ_PACK_PERCENT + 1];
	uint32_t *sample; /* ns of each decision */
	uint32_t n_samples;
};

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

/* Before a start: x->arrived is what had arrived before this task. */
static int say_why(void *ctx, const struct wz_effect *e, struct wz_err *err)
{
	struct run *x = ctx;
	const struct wz_ev_node *n = &x->in->nodes->node[e->place.node.v];
	struct wz_buf *b = x->o->words;
	int r;

	if (x->explained >= x->o->explain || x->arrived * 100 < x->in->capacity_milli * x->o->explain_at)
		return 0;
	x->explained++;
	wz_buf_add_fixed(b, (int64_t)(x->arrived * 10000 / x->in->capacity_milli), 2);
	wz_buf_addz(b, " %: ");
	add_task(x->now, b);
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
	r = wz_core_explain_choice(x->d.core, e, b, err);
	wz_buf_addc(b, '\n');
	return r;
}

/* A search after every refusal, not every so often; what the caller says comes last. */
static int set_rules(struct run *x, struct wz_err *err)
{
	const char *text[] = {"repack-interval-us=0 repack-work=50000", x->o->repack_rules};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < 2 && text[i]; i++) {
		struct wz_event e = {.kind = WZ_EV_RULES_SET, .time_us = x->d.time_us};
		e.u.rule_list.text = wz_str(text[i]);
		r = wz_core_apply(x->d.core, &e, err);
	}
	return r;
}

static int start(struct run *x, uint32_t n_arrivals, struct wz_err *err)
{
	struct wz_drive_options o = {.placement = x->o->placement,
	        .seed = x->o->seed,
	        .no_index = x->o->no_index,
	        .track = !x->o->no_curves,
	        .draw = x->o->draw,
	        .movable = x->o->repack_ppm != 0,
	        .faults = x->o->faults,
	        .watch = x->o->watch,
	        .before = x->o->explain ? say_why : NULL,
	        .before_ctx = x};
	int r;

	x->d = (struct wz_drive){
	        .nodes = x->in->nodes, .tasks = x->in->tasks, .typical = &x->in->typical, .mem = x->mem};
	x->sample = wz_mem_alloc(x->mem, (n_arrivals + 1) * sizeof(*x->sample));
	if (!x->sample)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	r = wz_drive_open(&x->d, &o, err);
	if (r == 0 && x->o->repack_ppm)
		r = set_rules(x, err);
	return r == 0 && x->o->teach ? wz_drive_teach(&x->d, x->o->teach, x->o->seed, err) : r;
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
	const struct wz_model_state *m = wz_core_model(x->d.core);
	const struct wz_shape *s;
	struct wz_job_info info;

	if (wz_core_job(x->d.core, job, &info) < 0 || info.tasks_min > 1)
		return 0;
	s = &wz_core_shapes(x->d.core)->shape[info.shape.v];
	if (s->special || s->dev_mem)
		return 0;
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (fits_plainly(m, &m->node[i], t))
			return wz_err_set(err, -EUCLEAN, "RefusedThoughFits", t->name,
			        WZ_STR(" is refused but fits on "), x->in->nodes->node[i].name);
	return 0;
}

static uint32_t moves_of(const struct wz_plan *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->effect[i].kind == WZ_EF_PREEMPT;
	return n;
}

/* What fits nowhere may have others moved, as far as moves have been earned. Steps follow until nothing moves any more, so
 * that all work has a place again. */
static int repack(struct run *x, uint64_t job, bool *ret_started, struct wz_err *err)
{
	uint64_t earned = x->placed * x->o->repack_ppm / 1000000;
	struct wz_event e = {.kind = WZ_EV_REPACK_ASKED, .time_us = x->d.time_us};
	char text[32];
	struct wz_buf b;
	int r;

	if (earned <= x->moved)
		return 0;
	wz_buf_init_fixed(&b, text, sizeof(text));
	wz_buf_addz(&b, "moves=");
	wz_buf_add_u64(&b, earned - x->moved < 10000 ? earned - x->moved : 10000);
	e.u.named.name = wz_buf_str(&b);
	r = wz_core_apply(x->d.core, &e, err);
	for (uint32_t moves = 1; r == 0 && moves;) {
		r = wz_drive_step(&x->d, err);
		moves = moves_of(&x->d.plan);
		x->moved += moves;
		*ret_started = *ret_started || wz_drive_started(&x->d, job);
	}
	x->opened += *ret_started;
	return r;
}

/* One arrival, all that the core does for it. Not inlined, so that bench/run can count its instructions by name. */
__attribute__((noinline)) static int arrive(
        struct run *x, const struct wz_sim_task *t, uint64_t job, bool *ret_started, struct wz_err *err)
{
	int r;

	x->now = t;
	r = wz_drive_submit(&x->d, t, job, err);
	if (r == 0)
		r = wz_drive_step(&x->d, err);
	*ret_started = r == 0 && wz_drive_started(&x->d, job);
	if (r == 0 && !*ret_started && x->o->repack_ppm)
		r = repack(x, job, ret_started, err);
	x->placed += *ret_started;
	if (r == 0 && !*ret_started && x->o->check)
		r = check_refusal(x, t, job, err);
	return r == 0 && !*ret_started ? wz_drive_cancel(&x->d, job, err) : r;
}

static void look_up(struct run *x)
{
	struct wz_core_stats stats;

	wz_core_stats(x->d.core, &stats);
	x->used = stats.gpu_milli_held;
	if (!x->o->no_curves || x->o->draw)
		wz_drive_measure(&x->d);
}

static void measure(struct run *x, const struct wz_sim_task *t, bool started, struct wz_pack_result *res)
{
	enum wz_pack_class k = class_of(t);
	uint64_t q = wz_task_gpu_milli(t), at, cap = x->in->capacity_milli;
	double fragment, idle;

	res->arrived[k]++;
	x->arrived += q;
	if (started) {
		x->used += x->d.faulty ? 0 : q;
	} else {
		res->rejected[k]++;
		res->rejected_milli[k] += q;
	}
	if (x->d.faulty || x->moved != x->moved_seen)
		look_up(x);
	x->moved_seen = x->moved;
	at = (200 * x->arrived + cap) / (2 * cap); /* nearest percent */
	if (x->o->no_curves || at >= WZ_PACK_PERCENT)
		return;
	fragment = wz_drive_fragment_milli(&x->d);
	idle = (double)(cap - x->used);
	x->used_in[at] += (int64_t)x->used;
	x->frag_in[at] += fragment;
	x->ratio_in[at] += idle > 0 ? 100 * fragment / idle : 0;
	x->moves_in[at] += (double)x->moved;
	x->power_in[at] += (double)x->d.draw.watts;
	x->price_in[at] += (double)x->d.draw.price_musd / 1000;
	x->count_in[at]++;
}

static void curves(const struct run *x, struct wz_pack_result *res)
{
	double cap = (double)x->in->capacity_milli;

	for (int p = 0; p < WZ_PACK_PERCENT; p++) {
		double n = 0, used = 0, frag = 0, moves = 0, ratio = 0, power = 0, price = 0;
		/* An empty bin takes its neighbours. */
		int reach = x->count_in[p] ? 0 : 1;
		for (int q = p - reach; q <= p + reach; q++) {
			if (q < 0 || q >= WZ_PACK_PERCENT)
				continue;
			n += (double)x->count_in[q];
			used += (double)x->used_in[q];
			frag += x->frag_in[q];
			ratio += x->ratio_in[q];
			moves += x->moves_in[q];
			power += x->power_in[q];
			price += x->price_in[q];
		}
		res->allocated[p] = n > 0 ? 100 * used / n / cap : (double)NAN;
		res->fragmented[p] = n > 0 ? 100 * frag / n / cap : (double)NAN;
		res->frag_ratio[p] = n > 0 ? ratio / n : (double)NAN;
		res->moves[p] = n > 0 && x->o->repack_ppm ? moves / n : (double)NAN;
		res->power_w[p] = n > 0 && x->o->draw ? power / n : (double)NAN;
		res->price_usd[p] = n > 0 && x->o->draw ? price / n : (double)NAN;
	}
}

static void idle_by_reason(const struct run *x, struct wz_pack_result *res)
{
	const struct wz_model_state *m = wz_core_model(x->d.core);

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
	wz_core_stats(x->d.core, &stats);
	qsort(x->sample, x->n_samples, sizeof(*x->sample), by_u32);
	if (x->n_samples) {
		res->p50_ns = x->sample[x->n_samples / 2];
		res->p99_ns = x->sample[(uint64_t)x->n_samples * 99 / 100];
	}
	res->decisions = x->n_samples;
	res->placements = x->placed;
	res->moved = x->moved;
	res->opened = x->opened;
	res->evaluations = stats.evaluations;
	res->digest = x->digest;
	res->acks_lost = x->d.enact.lost;
	res->acks_twice = x->d.enact.twice;
	res->starts_refused = x->d.enact.refused;
}

static int loop(struct run *x, const struct wz_arrivals *a, struct wz_pack_result *res, struct wz_err *err)
{
	struct wz_drive_watch watch = wz_drive_watch_start();

	for (uint32_t i = 0; i < a->n; i++) {
		const struct wz_sim_task *t = &x->in->tasks->task[a->task[i]];
		uint64_t before = wz_clock_monotonic_ns(), ns;
		bool started = false;
		int r;

		if (x->o->stop && atomic_load_explicit(x->o->stop, memory_order_relaxed))
			return wz_err_set(
			        err, -EINTR, "Interrupted", WZ_STR("interrupted before the run was done"));
		x->d.time_us += ARRIVAL_US;
		r = arrive(x, t, i + 1, &started, err);
		ns = wz_clock_monotonic_ns() - before;
		if (r == 0 && x->o->check)
			r = wz_core_check(x->d.core, err);
		if (r < 0)
			return r;
		x->sample[x->n_samples++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
		res->cpu_ns += ns;
		measure(x, t, started, res);
		x->digest = wz_hash_u64(x->digest, wz_core_digest(x->d.core));
		if (x->o->trail)
			x->o->trail[i] = x->digest;
	}
	res->cpu_ns = wz_drive_watch_cpu(&watch, res->cpu_ns);
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
	if (r == -E2BIG)
		return wz_err_set(err, r, "TooMany",
		        WZ_STR("more than 33554432 arrivals would be needed to fill the devices: "
		               "too few tasks ask for one"));
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the arrivals"));
	r = start(&x, a->n, err);
	if (r == 0)
		r = loop(&x, a, ret, err);
	if (r == 0)
		finish(&x, ret);
	wz_drive_close(&x.d);
	wz_mem_free(mem, x.sample, (a->n + 1) * sizeof(*x.sample));
	wz_arrivals_release(&made);
	return r;
}
