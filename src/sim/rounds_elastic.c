/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose speed and progress were measured by Pollux, in rounds of 60 s, as its simulator plays them (Qiao et al., OSDI 2021): a
 * job trains through epochs; a step at batch M is worth more or less progress as the gradient noise of the epoch says; each change of
 * devices costs 30 s (or --restart-cost).
 *
 *	las2d       Tiresias as Pollux' artefact has it: two queues at 16 GPU-hours of service (unless q1 is given), first come in each;
 *	            a job is spread over the nodes with most room
 *	goodput     elastic: see elastic_targets
 *	any other   rigid by its keys, on the fewest nodes */
#include "sim/rounds_int.h"

#include "base/fix.h"
#include "os/clock.h"
#include "sim/elastic.h"
#include "sim/waterfill.h"

#include <math.h>
#include <stdlib.h>

#define ROUND_S 60
#define RESCALE_S 30
#define SPREAD_MAX 64u /* nodes of one job */
#define CURVE_MAX WZ_FILL_SIZES
#define POLLUX_Q1 57600.0
#define START_MAX 2u /* devices that a job may start on */
#define STAY 1.1 /* a change must gain so much to be made when there is room without it */

struct ejob {
	struct wz_order_job o;
	uint32_t app, batch, epoch;
	double progress, rescale_s;
	uint32_t gpus, nodes, local, accum; /* now */
	uint8_t on[SPREAD_MAX];
	uint32_t node[SPREAD_MAX];
	uint32_t want; /* devices that it shall have */
	uint32_t restarts, started;
	double executed_s, since_s;
	int64_t held_from;
	bool running, arrived, ended;
};

/* What applications make of devices in an epoch: the best batch of each number, reckoned once. */
struct curve {
	bool made;
	double speed[CURVE_MAX];
	uint32_t local[CURVE_MAX];
};
#define EPOCHS_MAX 512u

struct elastic {
	struct curve *curve; /* [apps][EPOCHS_MAX] */
	struct wz_rounds *s;
	const struct wz_elastic *e;
	struct wz_order order;
	struct ejob *job;
	struct wz_fill_job *fill; /* [n active] scratch */
	uint32_t *active, n, *queue[2], n_queue[2];
	uint32_t *free, n_nodes, node_gpus;
	double now, restart_s;
	bool goodput, tiresias;
	double q1;
};

/* ---- how fast ---- */

static void set_batch(const struct elastic *x, struct ejob *q, uint32_t gpus, uint32_t batch, uint32_t *ret_local,
        uint32_t *ret_accum)
{
	struct wz_elastic_limits l = wz_elastic_limits(x->e, q->app);
	uint32_t local = (uint32_t)ceil((double)batch / gpus - 1e-8),
	         accum = (uint32_t)(ceil((double)local / l.max_local - 1e-8) - 1), most;

	if (gpus == 1 && batch > l.init_batch && accum < 1)
		accum = 1;
	local = (uint32_t)ceil((double)local / (accum + 1) - 1e-8);
	most = l.max_batch / (gpus * (accum + 1));
	*ret_local = local < most ? local : most;
	*ret_accum = accum;
}

/* Progress a second. */
static double goodput(const struct elastic *x, uint32_t app, const uint8_t *on, uint32_t nodes, uint32_t local,
        uint32_t accum, uint32_t epoch)
{
	uint32_t gpus = 0;
	double step, sync;

	for (uint32_t i = 0; i < nodes; i++)
		gpus += on[i];
	wz_elastic_time(x->e, app, on, nodes, local, &step, &sync);
	return wz_elastic_gain(x->e, app, gpus * local * (accum + 1), epoch) / (step + (step - sync) * accum);
}

/* The best batch with so many devices on whole nodes: its goodput, and how it is made up. */
static double best_batch(const struct elastic *x, const struct ejob *q, uint32_t gpus, uint32_t *ret_local)
{
	struct wz_elastic_limits l = wz_elastic_limits(x->e, q->app);
	uint8_t on[SPREAD_MAX];
	uint32_t nodes = 0;
	double best = 0;

	for (uint32_t left = gpus; left && nodes < SPREAD_MAX; nodes++) {
		on[nodes] = (uint8_t)(left < x->node_gpus ? left : x->node_gpus);
		left -= on[nodes];
	}
	for (double f = l.min_local; f <= l.max_local + 0.5; f *= 1.189207115) {
		uint32_t local = (uint32_t)(f + 0.5);
		double v;
		if (local * gpus > l.max_batch)
			break;
		if (local * gpus < l.init_batch && f * 1.19 <= l.max_local)
			continue;
		v = goodput(x, q->app, on, nodes, local, 0, q->epoch);
		if (v > best) {
			best = v;
			*ret_local = local;
		}
	}
	return best;
}

static const struct curve *curve_of(struct elastic *x, const struct ejob *q)
{
	struct curve *c =
	        &x->curve[(size_t)(q->app - 1) * EPOCHS_MAX + (q->epoch < EPOCHS_MAX ? q->epoch : EPOCHS_MAX - 1)];
	struct wz_elastic_limits l = wz_elastic_limits(x->e, q->app);

	for (uint32_t k = 0; !c->made && k < CURVE_MAX; k++) {
		uint32_t g = 1u << k;
		if (g <= x->s->in->gpus && g * l.min_local <= l.max_batch && g <= SPREAD_MAX * x->node_gpus)
			c->speed[k] = best_batch(x, q, g, &c->local[k]);
	}
	c->made = true;
	return c;
}

static uint32_t log2_of(uint32_t gpus)
{
	return 31 - (uint32_t)__builtin_clz(gpus);
}

static void rebatch(struct elastic *x, struct ejob *q)
{
	const struct curve *c = x->goodput ? curve_of(x, q) : NULL;
	uint32_t k = log2_of(q->gpus);

	if (c && c->speed[k] > 0) {
		q->local = c->local[k];
		q->accum = 0;
	} else {
		set_batch(x, q, q->gpus, q->batch, &q->local, &q->accum);
	}
}

/* One round of work. */
static void work(struct elastic *x, uint32_t j, double seconds)
{
	struct ejob *q = &x->job[j];
	double at = x->now, delay = fmin(q->rescale_s, seconds);

	if (q->gpus == 0)
		return;
	q->rescale_s -= delay;
	seconds -= delay;
	at += delay;
	x->s->out[j].lost_us += (int64_t)(delay * 1e6);
	x->s->lost_gpu_us += delay * 1e6 * q->gpus;
	while (seconds > 0 && !q->ended) {
		double speed = goodput(x, q->app, q->on, q->nodes, q->local, q->accum, q->epoch);
		double next = wz_elastic_progress(x->e, q->app, q->epoch + 1), took;
		if (q->progress + speed * seconds < next) {
			q->progress += speed * seconds;
			at += seconds;
			break;
		}
		took = fmin(rint((next - q->progress) / speed), seconds);
		q->progress = next;
		q->epoch++;
		at += took;
		seconds -= took;
		if (q->epoch >= wz_elastic_epochs(x->e, q->app)) {
			q->ended = true;
			x->s->out[j].end_us = (int64_t)(at * 1e6);
		}
		rebatch(x, q);
	}
}

/* ---- where ---- */

static void leave(struct elastic *x, uint32_t j, double at)
{
	struct ejob *q = &x->job[j];

	for (uint32_t i = 0; i < q->nodes; i++)
		x->free[q->node[i]] += q->on[i];
	if (q->gpus)
		wz_rounds_held(x->s, j, 0, q->gpus, q->held_from, (int64_t)(at * 1e6));
	q->gpus = q->nodes = 0;
}

static bool put(struct elastic *x, struct ejob *q, uint32_t node, uint32_t gpus)
{
	if (q->nodes == SPREAD_MAX || gpus == 0)
		return false;
	q->node[q->nodes] = node;
	q->on[q->nodes++] = (uint8_t)gpus;
	x->free[node] -= gpus;
	return true;
}

/* The node with most room (Pollux' Tiresias), or with least that suffices. */
static uint32_t pick(const struct elastic *x, uint32_t need, bool most)
{
	uint32_t best = WZ_NONE;

	for (uint32_t i = 0; i < x->n_nodes; i++) {
		if (x->free[i] == 0 || (!most && x->free[i] < need))
			continue;
		if (best == WZ_NONE || (most ? x->free[i] > x->free[best] : x->free[i] < x->free[best]))
			best = i;
	}
	return best;
}

/* Places `gpus`; all or nothing. */
static bool place(struct elastic *x, uint32_t j, uint32_t gpus)
{
	struct ejob *q = &x->job[j];
	uint32_t left = gpus;

	while (left) {
		uint32_t part = left < x->node_gpus ? left : x->node_gpus,
		         node = x->tiresias ? pick(x, 1, true) : pick(x, part, false);
		if (node == WZ_NONE && !x->tiresias &&
		        !x->goodput) /* no node has room for the part: on what there is */
			node = pick(x, 1, true);
		if (node == WZ_NONE || !put(x, q, node, left < x->free[node] ? left : x->free[node]))
			break;
		left -= q->on[q->nodes - 1];
	}
	if (left) {
		for (uint32_t i = 0; i < q->nodes; i++)
			x->free[q->node[i]] += q->on[i];
		q->nodes = 0;
		return false;
	}
	q->gpus = gpus;
	q->held_from = (int64_t)(x->now * 1e6);
	rebatch(x, q);
	q->rescale_s = x->restart_s;
	q->restarts += q->started++ > 0;
	if (x->s->out[j].first_start_us < 0)
		x->s->out[j].first_start_us = q->held_from;
	wz_rounds_note(x->s, 10 + gpus, j, q->held_from);
	return true;
}

/* ---- who: Tiresias as published there ---- */

static void tiresias_targets(struct elastic *x)
{
	int64_t left = x->s->in->gpus;

	for (uint32_t i = 0; i < x->n; i++) {
		struct ejob *q = &x->job[x->active[i]];
		if (!q->arrived) {
			q->arrived = true;
			x->queue[0][x->n_queue[0]++] = x->active[i];
		} else if (q->running) {
			q->executed_s += x->now - q->since_s;
		}
		q->since_s = x->now;
	}
	for (uint32_t k = 0; k < 2; k++) { /* ended ones leave; those over the threshold go down */
		uint32_t kept = 0;
		for (uint32_t i = 0; i < x->n_queue[k]; i++) {
			uint32_t j = x->queue[k][i];
			struct ejob *q = &x->job[j];
			if (q->ended)
				continue;
			if (k == 0 && q->running && q->executed_s * x->s->in->job[j].gpus >= x->q1)
				x->queue[1][x->n_queue[1]++] = j;
			else
				x->queue[k][kept++] = j;
		}
		x->n_queue[k] = kept;
	}
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < x->n_queue[k]; i++) {
			struct ejob *q = &x->job[x->queue[k][i]];
			uint32_t g = x->s->in->job[x->queue[k][i]].gpus;
			q->running = (int64_t)g <= left;
			q->want = q->running ? g : 0;
			left -= q->running ? g : 0;
		}
}

/* ---- who: keys ---- */

static _Thread_local const struct elastic *sorting;

static int by_key(const void *p, const void *q)
{
	uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;
	return wz_okey_less(sorting->job[a].o.key, a, sorting->job[b].o.key, b) ? -1 : 1;
}

static void sort_by_key(struct elastic *x)
{
	int64_t now = (int64_t)(x->now * 1e6);

	for (uint32_t i = 0; i < x->n; i++) {
		struct wz_order_job *o = &x->job[x->active[i]].o;
		o->running = x->job[x->active[i]].gpus > 0;
		if (x->order.rule->advance)
			x->order.rule->advance(&x->order, o, now);
		o->key = x->order.rule->key(&x->order, o, now);
		if (o->running && !(x->order.rule->flags & WZ_ORDER_PREEMPTS))
			o->key.a = WZ_ORDER_FIRST;
	}
	sorting = x;
	qsort(x->active, x->n, sizeof(*x->active), by_key);
}

static void rigid_targets(struct elastic *x)
{
	int64_t left = x->s->in->gpus;

	sort_by_key(x);
	for (uint32_t i = 0; i < x->n; i++) {
		struct ejob *q = &x->job[x->active[i]];
		uint32_t g = x->s->in->job[x->active[i]].gpus;
		q->want = (int64_t)g <= left ? g : 0;
		left -= q->want;
		if (q->want == 0 && (x->order.rule->flags & WZ_ORDER_BLOCKS))
			break;
	}
}

/* ---- who and how many: elastic ---- */

/* The restart factor of Sia (Subramanya et al., SOSP 2023): what a change leaves of the gain. */
static double keeps(const struct elastic *x, const struct ejob *q)
{
	double age = x->now - (double)q->o.submit_us / 1e6;

	return fmax((age - q->restarts * x->restart_s) / (age + x->restart_s), 0);
}

/* Devices that a job can have are powers of two (of whole nodes beyond one), at most twice what it has. All start on one device, in
 * the order of what they have attained; then devices go where they gain most (sim/waterfill). A job keeps what it has unless the
 * change is worth its restart. Weighing by the work that is left, which is known here, was tried and is worse: 3,354 s against
 * 2,835 on the eight workloads. */
static void elastic_targets(struct elastic *x)
{
	int64_t left;

	sort_by_key(x);
	for (uint32_t i = 0; i < x->n; i++) {
		const struct ejob *q = &x->job[x->active[i]];
		x->fill[i] = (struct wz_fill_job){.speed = curve_of(x, q)->speed,
		        .keeps = keeps(x, q),
		        .has = q->gpus,
		        .most = q->gpus ? q->gpus * 2 : START_MAX};
	}
	left = wz_fill(x->fill, x->n, x->s->in->gpus);
	(void)wz_fill_stay(x->fill, x->n, left, STAY);
	for (uint32_t i = 0; i < x->n; i++)
		x->job[x->active[i]].want = x->fill[i].want;
}

/* ---- a round ---- */

static int by_want(const void *p, const void *q)
{
	uint32_t a = *(const uint32_t *)p, b = *(const uint32_t *)q;
	uint32_t x = sorting->job[a].want, y = sorting->job[b].want;
	return x != y ? (x > y ? -1 : 1) : a < b ? -1 : 1;
}

static void enact(struct elastic *x)
{
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t j = x->active[i];
		struct ejob *q = &x->job[j];
		if (q->gpus == 0 || q->want == q->gpus)
			continue;
		x->s->out[j].preemptions++;
		leave(x, j, x->now);
	}
	if (x->tiresias) { /* queue by queue, as published */
		for (uint32_t k = 0; k < 2; k++)
			for (uint32_t i = 0; i < x->n_queue[k]; i++)
				if (x->job[x->queue[k][i]].want && !x->job[x->queue[k][i]].gpus)
					(void)place(x, x->queue[k][i], x->job[x->queue[k][i]].want);
		return;
	}
	sorting = x;
	qsort(x->active, x->n, sizeof(*x->active), by_want);
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t j = x->active[i], g = x->job[j].want;
		while (g && !x->job[j].gpus && !place(x, j, g))
			g = x->goodput ? g / 2 : 0;
	}
}

static void account(struct elastic *x, uint32_t j)
{
	struct ejob *q = &x->job[j];

	if (q->gpus == 0) {
		return;
	}
	q->o.held_us += (int64_t)ROUND_S * WZ_SECOND_US;
	q->o.done_us = q->o.held_us * (int64_t)q->gpus / (q->o.gpus ? q->o.gpus : 1);
	if (!x->goodput)
		q->o.done_us = q->o.held_us;
}

static void targets(struct elastic *x)
{
	uint64_t begin = wz_clock_monotonic_ns();

	if (x->tiresias)
		tiresias_targets(x);
	else if (x->goodput)
		elastic_targets(x);
	else
		rigid_targets(x);
	wz_run_latency(&x->s->latency, wz_clock_monotonic_ns() - begin);
}

static int loop(struct elastic *x, struct wz_err *err)
{
	struct wz_rounds *s = x->s;
	uint32_t next = 0;

	while (next < s->in->n || x->n) {
		uint32_t kept = 0;
		if (x->n == 0 && (double)s->in->job[next].submit_us / 1e6 >
		                         x->now + ROUND_S) /* nothing to do: whole rounds pass */
			x->now += floor(((double)s->in->job[next].submit_us / 1e6 - x->now) / ROUND_S) * ROUND_S -
			          ROUND_S;
		for (uint32_t i = 0; i < x->n; i++)
			work(x, x->active[i], ROUND_S);
		x->now += ROUND_S;
		s->events++;
		for (uint32_t i = 0; i < x->n; i++) {
			uint32_t j = x->active[i];
			account(x, j);
			if (x->job[j].ended) {
				double end = (double)s->out[j].end_us / 1e6;
				leave(x, j, end);
				x->job[j].want = 0; /* its queue may still name it */
				wz_rounds_note(s, 3, j, s->out[j].end_us);
			} else {
				x->active[kept++] = j;
			}
		}
		x->n = kept;
		for (; next < s->in->n && (double)s->in->job[next].submit_us / 1e6 <= x->now; next++)
			x->active[x->n++] = next;
		if (x->n)
			targets(x);
		enact(x);
		if (s->o->stop && atomic_load_explicit(s->o->stop, memory_order_relaxed))
			return wz_err_set(err, -EINTR, "Interrupted", WZ_STR("interrupted"));
		if (s->events > 100000000)
			return wz_err_set(err, -ELOOP, "NoProgress", WZ_STR("the run makes no progress"));
	}
	return 0;
}

static int open_jobs(struct elastic *x, struct wz_err *err)
{
	const struct wz_run_input *in = x->s->in;

	for (uint32_t j = 0; j < in->n; j++) {
		const struct wz_sim_task *t = &in->tasks->task[in->job[j].task];
		if (!t->app)
			return wz_err_set(err, -EINVAL, "NoProfile", WZ_STR("the job \""), t->name,
			        WZ_STR("\" has no profile; all jobs of a run need one, or none"));
		x->job[j] = (struct ejob){
		        .app = t->app, .batch = t->batch ? t->batch : wz_elastic_limits(x->e, t->app).init_batch};
		x->job[j].o = (struct wz_order_job){.id = j,
		        .gpus = in->job[j].gpus,
		        .submit_us = in->job[j].submit_us,
		        .ready_us = in->job[j].submit_us};
	}
	for (uint32_t i = 0; i < x->n_nodes; i++) {
		x->free[i] = in->nodes->node[i].n_devices;
		x->node_gpus = x->free[i] > x->node_gpus ? x->free[i] : x->node_gpus;
	}
	return 0;
}

int wz_rounds_elastic(struct wz_rounds *s, struct wz_err *err)
{
	size_t n = s->in->n;
	struct elastic x = {.s = s, .e = s->in->tasks->elastic, .n_nodes = s->in->nodes->n};
	bool usual = s->o->param[0] == wz_order_las2d.param[0].usual;
	int r = 0;

	x.goodput = s->o->order == &wz_order_goodput;
	x.tiresias = s->o->order == &wz_order_las2d;
	x.q1 = usual ? POLLUX_Q1 : (double)s->o->param[0] / 1000;
	x.restart_s = s->o->restart_us >= 0 ? (double)s->o->restart_us / 1e6 : RESCALE_S;
	if ((s->o->order->flags & WZ_ORDER_ROUNDS) && !x.goodput)
		return wz_err_set(
		        err, -EOPNOTSUPP, "Unsupported", WZ_STR("this order is not made for jobs with profiles"));
	if (s->o->order->flags & WZ_ORDER_ORACLE)
		return wz_err_set(err, -EOPNOTSUPP, "Unsupported",
		        WZ_STR("jobs with profiles have no run time that an oracle could know"));
	r = wz_order_init(&x.order, x.goodput ? &wz_order_levelled : s->o->order, s->o->param, s->in->gpus,
	        s->in->n_users, s->mem, err);
	if (r == 0 && x.goodput) {
		int64_t param[WZ_ORDER_PARAMS_MAX] = {0};
		for (unsigned i = 0; i < WZ_ORDER_PARAMS_MAX && wz_order_levelled.param[i].name; i++)
			param[i] = wz_order_levelled.param[i].usual;
		wz_order_release(&x.order);
		r = wz_order_init(&x.order, &wz_order_levelled, param, s->in->gpus, s->in->n_users, s->mem, err);
	}
	if (r < 0)
		return r;
	x.job = wz_mem_zalloc(s->mem, n * sizeof(*x.job));
	x.fill = wz_mem_zalloc(s->mem, n * sizeof(*x.fill));
	x.active = wz_mem_zalloc(s->mem, n * sizeof(*x.active));
	x.queue[0] = wz_mem_zalloc(s->mem, 2 * n * sizeof(*x.queue[0]));
	x.curve = wz_mem_zalloc(s->mem, WZ_ELASTIC_APPS_MAX * EPOCHS_MAX * sizeof(*x.curve));
	x.free = wz_mem_zalloc(s->mem, x.n_nodes * sizeof(*x.free));
	if (!x.job || !x.fill || !x.active || !x.queue[0] || !x.free || !x.curve)
		r = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	x.queue[1] = x.queue[0] ? x.queue[0] + n : NULL;
	if (r == 0)
		r = open_jobs(&x, err);
	if (r == 0)
		r = loop(&x, err);
	if (x.job)
		wz_mem_free(s->mem, x.job, n * sizeof(*x.job));
	if (x.fill)
		wz_mem_free(s->mem, x.fill, n * sizeof(*x.fill));
	if (x.active)
		wz_mem_free(s->mem, x.active, n * sizeof(*x.active));
	if (x.queue[0])
		wz_mem_free(s->mem, x.queue[0], 2 * n * sizeof(*x.queue[0]));
	if (x.curve)
		wz_mem_free(s->mem, x.curve, WZ_ELASTIC_APPS_MAX * EPOCHS_MAX * sizeof(*x.curve));
	if (x.free)
		wz_mem_free(s->mem, x.free, x.n_nodes * sizeof(*x.free));
	wz_order_release(&x.order);
	return r;
}
