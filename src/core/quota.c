/* SPDX-License-Identifier: Apache-2.0 */
/* What a task takes of the things that rules count, and whether a job may have it. Everything is checked on the ledger of
 * the transaction: what the tasks that were placed before it took is in `used` already. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"

#include <string.h>

#define CHARGE_MAX ((int64_t)1 << 40) /* of one task: sums of 2^22 tasks stay in 64 bits */

static void put(struct wz_charge *k, unsigned d, int64_t v)
{
	k->v[d] = v > CHARGE_MAX ? CHARGE_MAX : v;
	if (v > 0)
		k->set |= 1u << d;
}

static int64_t mib(int64_t bytes)
{
	return bytes / 0x100000 + (bytes % 0x100000 != 0);
}

/* Milli money of a device-hour: of the model, else of any; the nearest queue that names a price. */
static int64_t price_of(const struct wz_core *c, uint32_t queue, uint16_t model)
{
	for (uint32_t q = queue; q != WZ_ID_NONE; q = c->queues.q[q].parent) {
		const struct wz_amounts *p = &c->queues.q[q].rules.price;
		int64_t any = -1;
		for (uint32_t i = 0; i < p->n; i++) {
			if (p->a[i].what == WZ_WHAT_GPU)
				any = p->a[i].value;
			else if (model < WZ_MODELS_MAX && wz_model_set_has(&p->a[i].set, model))
				return p->a[i].value;
		}
		if (any >= 0)
			return any;
	}
	return 0;
}

struct devices {
	int64_t gpu, cu, price;
	int64_t models[WZ_DIMS_MAX];
	uint32_t set;
};

static void add_device(const struct wz_core *c, uint32_t queue, uint16_t model, int64_t milli, struct devices *s)
{
	s->gpu += milli;
	s->price += milli * price_of(c, queue, model);
	if (model >= c->catalogue.n)
		return;
	s->cu += (int64_t)c->catalogue.model[model].cu_milli * milli / WZ_WHOLE;
	for (uint32_t w = c->queues.dims_of_model[model]; w; w &= w - 1) {
		s->models[__builtin_ctz(w)] += milli;
		s->set |= w & -w;
	}
}

static void finish(const struct wz_core *c, const struct wz_job *j, int64_t cpu, int64_t mem,
        const struct devices *s, struct wz_charge *k)
{
	int64_t limit_s = (int64_t)(j->time_limit_us / 1000000) + (j->time_limit_us % 1000000 != 0);

	(void)c;
	*k = (struct wz_charge){0};
	put(k, WZ_DIM_CPU, cpu);
	put(k, WZ_DIM_MEM, mib(mem));
	put(k, WZ_DIM_GPU, s->gpu);
	put(k, WZ_DIM_CU, s->cu);
	put(k, WZ_DIM_PRICE, s->price);
	put(k, WZ_DIM_CLAIM, wz_sat_mul(s->gpu, limit_s));
	if (s->price)
		put(k, WZ_DIM_CLAIM_MONEY, wz_muldiv(s->price, limit_s, 3600) + 1);
	for (uint32_t w = s->set; w; w &= w - 1)
		put(k, (unsigned)__builtin_ctz(w), s->models[__builtin_ctz(w)]);
}

void wz_charge_task(const struct wz_core *c, uint32_t task, struct wz_charge *ret)
{
	const struct wz_task *t = &c->jobs.task[task];
	const struct wz_job *j = &c->jobs.job[t->job];
	const struct wz_node *n = &c->model.node[t->node];
	uint32_t queue = c->queues.acc[j->account].queue;
	struct devices s = {0};

	for (uint64_t w = t->devices; w; w &= w - 1)
		add_device(c, queue, c->model.dev[n->first_dev + (uint32_t)__builtin_ctzll(w)].model, t->dev_milli,
		        &s);
	finish(c, j, t->cpu, t->mem, &s, ret);
}

void wz_charge_on(
        const struct wz_core *c, uint32_t slot, const struct wz_shape *s, uint32_t node, struct wz_charge *ret)
{
	const struct wz_job *j = &c->jobs.job[slot];
	const struct wz_node *n = &c->model.node[node];
	uint32_t queue = c->queues.acc[j->account].queue;
	struct devices most = {0};

	for (uint32_t i = n->first_dev; i < n->first_dev + n->n_dev; i++) {
		uint16_t model = c->model.dev[i].model;
		struct wz_need need;
		struct devices d = {0};
		if (i > n->first_dev && model == c->model.dev[i - 1].model)
			continue;
		need = wz_shape_need(
		        s, model < c->catalogue.n ? &c->catalogue.model[model] : NULL, c->model.dev[i].mem);
		if (!need.ok || !wz_model_set_has(&s->allowed, model))
			continue;
		add_device(c, queue, model, (int64_t)need.count * need.milli, &d);
		most.gpu = d.gpu > most.gpu ? d.gpu : most.gpu;
		most.cu = d.cu > most.cu ? d.cu : most.cu;
		most.price = d.price > most.price ? d.price : most.price;
		most.set |= d.set;
		for (uint32_t w = d.set; w; w &= w - 1) {
			unsigned k = (unsigned)__builtin_ctz(w);
			most.models[k] = d.models[k] > most.models[k] ? d.models[k] : most.models[k];
		}
	}
	finish(c, j, s->cpu, s->mem, &most, ret);
}

/* ---- whether ---- */

static uint8_t block(struct wz_blocker *b, enum wz_reason why, uint32_t queue, unsigned dim, int64_t used,
        int64_t ask, int64_t limit)
{
	*b = (struct wz_blocker){
	        .reason = (uint8_t)why, .queue = queue, .dim = dim, .used = used, .ask = ask, .limit = limit};
	return (uint8_t)why;
}

/* What others must still be given of what they are guaranteed and do not lend. */
static int64_t kept_for_others(const struct wz_core *c, uint32_t q, unsigned d)
{
	const struct wz_queues *t = &c->queues;
	int64_t sum = 0;

	for (uint32_t s = t->q[t->q[q].parent].first_child; s != WZ_ID_NONE; s = t->q[s].next_sibling) {
		const struct wz_queue *k = &t->q[s];
		int64_t left =
		        k->lend[d] == WZ_NO_LIMIT ? 0 : k->guaranteed[d] - k->lend[d] - t->acc[k->account].used[d];
		if (s != q && left > 0)
			sum = wz_sat_add(sum, left);
	}
	return sum;
}

static uint8_t check_dim(const struct wz_core *c, uint32_t q, unsigned d, int64_t ask, struct wz_blocker *ret)
{
	const struct wz_queues *t = &c->queues;
	const struct wz_queue *k = &t->q[q];
	int64_t used = t->acc[k->account].used[d], sum = wz_sat_add(used, ask), quota, kept, cap;

	if (sum > k->limit[d])
		return block(ret, WZ_REASON_QUEUE_LIMIT, q, d, used, ask, k->limit[d]);
	quota = wz_sat_add(k->guaranteed[d], k->borrow[d]);
	if (sum > quota)
		return block(ret, WZ_REASON_QUOTA_LIMIT, q, d, used, ask, quota);
	if (k->parent == WZ_ID_NONE || sum <= k->guaranteed[d] || !t->q[k->parent].children_lend)
		return WZ_REASON_NONE;
	kept = kept_for_others(c, q, d);
	cap = t->q[k->parent].limit[d] < t->capacity[d] ? t->q[k->parent].limit[d] : t->capacity[d];
	used = t->acc[t->q[k->parent].account].used[d];
	if (kept && wz_sat_add(used, ask) > cap - kept)
		return block(ret, WZ_REASON_BORROWING, q, d, used, ask, cap - kept);
	return WZ_REASON_NONE;
}

/* Limits of the user, and of the job, in the queue of the account. */
static uint8_t check_own(
        const struct wz_core *c, uint32_t slot, uint32_t a, unsigned d, int64_t ask, struct wz_blocker *ret)
{
	const struct wz_queues *t = &c->queues;
	const struct wz_queue *k = &t->q[t->acc[a].queue];
	int64_t held = t->current.slot == slot ? t->current.held.v[d] : 0;

	if (wz_sat_add(t->acc[a].used[d], ask) > k->user_limit[d])
		return block(
		        ret, WZ_REASON_USER_LIMIT, t->acc[a].queue, d, t->acc[a].used[d], ask, k->user_limit[d]);
	if (wz_sat_add(held, ask) > k->job_limit[d])
		return block(ret, WZ_REASON_JOB_LIMIT, t->acc[a].queue, d, held, ask, k->job_limit[d]);
	return WZ_REASON_NONE;
}

/* Spent and claimed by what runs, and what the job may still take by its time limit, in milli of the unit. */
static uint8_t check_budget(
        const struct wz_core *c, uint32_t q, const struct wz_charge *least, struct wz_blocker *ret)
{
	const struct wz_queue *k = &c->queues.q[q];
	const int64_t *used = c->queues.acc[k->account].used;

	if (k->rules.budget_milli_hours) {
		int64_t spent = (int64_t)(k->now_spent / 3600000) + used[WZ_DIM_CLAIM] / 3600,
		        ask = least->v[WZ_DIM_CLAIM] / 3600, max = (int64_t)k->rules.budget_milli_hours;
		if (least->v[WZ_DIM_GPU] && (spent >= max || spent + ask > max))
			return block(ret, WZ_REASON_BUDGET, q, WZ_DIM_CLAIM, spent, ask, max);
	}
	if (k->rules.budget_milli_money) {
		int64_t spent = (int64_t)(k->now_money / 3600000000ULL) + used[WZ_DIM_CLAIM_MONEY] / 1000,
		        ask = least->v[WZ_DIM_CLAIM_MONEY] / 1000, max = (int64_t)k->rules.budget_milli_money;
		if (least->v[WZ_DIM_GPU] && (spent >= max || spent + ask > max))
			return block(ret, WZ_REASON_BUDGET, q, WZ_DIM_CLAIM_MONEY, spent, ask, max);
	}
	return WZ_REASON_NONE;
}

uint8_t wz_quota_check(const struct wz_core *c, uint32_t slot, const struct wz_charge *add, struct wz_blocker *ret)
{
	const struct wz_queues *t = &c->queues;

	for (uint32_t a = c->jobs.job[slot].account; a != WZ_ID_NONE; a = t->acc[a].up) {
		if (check_budget(c, t->acc[a].queue, add, ret))
			return ret->reason;
		for (uint32_t w = add->set; w; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctz(w);
			if (check_dim(c, t->acc[a].queue, d, add->v[d], ret) ||
			        check_own(c, slot, a, d, add->v[d], ret))
				return ret->reason;
		}
	}
	return WZ_REASON_NONE;
}

/* Of what is counted by model, what the job takes wherever it is placed: all models that it allows, and that are there,
 * are in the set. */
static bool always_counts(const struct wz_core *c, const struct wz_shape *s, unsigned d)
{
	bool any = false;

	for (uint32_t m = 0; m < c->catalogue.n; m++) {
		if (!c->model.supply[m].devices || !wz_model_set_has(&s->allowed, m))
			continue;
		if (!wz_model_set_has(&c->queues.dim_set[d], m))
			return false;
		any = true;
	}
	return any;
}

static int64_t least_price(const struct wz_core *c, uint32_t queue, const struct wz_shape *s)
{
	int64_t least = INT64_MAX;

	for (uint32_t m = 0; m < c->catalogue.n; m++)
		if (c->model.supply[m].devices && wz_model_set_has(&s->allowed, m)) {
			int64_t p = price_of(c, queue, (uint16_t)m);
			least = p < least ? p : least;
		}
	return least == INT64_MAX ? 0 : least;
}

/* The least that the tasks which it still needs take together, wherever they are placed. */
static void least_of_set(const struct wz_core *c, const struct wz_job *j, const struct wz_shape *s, uint32_t more,
        struct wz_charge *ret)
{
	struct devices d = {.gpu = s->count ? wz_shape_gpu_milli(s) : s->cu_milli || s->dev_mem_total};

	d.price = d.gpu ? d.gpu * least_price(c, c->queues.acc[j->account].queue, s) : 0;
	for (unsigned k = WZ_DIM_MODELS; d.gpu && k < c->queues.n_dims; k++)
		if (always_counts(c, s, k)) {
			d.set |= 1u << k;
			d.models[k] = d.gpu;
		}
	finish(c, j, s->cpu, s->mem, &d, ret);
	for (uint32_t w = ret->set; w; w &= w - 1)
		ret->v[__builtin_ctz(w)] = wz_sat_mul(ret->v[__builtin_ctz(w)], more);
}

static void least_of(const struct wz_core *c, uint32_t slot, struct wz_charge *ret)
{
	const struct wz_job *j = &c->jobs.job[slot];
	struct wz_set one;
	uint32_t n;
	const struct wz_set *set = wz_job_sets(c, j, &one, &n);

	*ret = (struct wz_charge){0};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t live = j->gang ? wz_set_live(c, j, &set[i]) : wz_job_live(j);
		uint32_t more = set[i].min > live ? set[i].min - live : n == 1;
		struct wz_charge k;
		least_of_set(c, j, &c->shapes.shape[set[i].shape], more, &k);
		ret->set |= k.set;
		for (uint32_t w = k.set; w; w &= w - 1)
			ret->v[__builtin_ctz(w)] = wz_sat_add(ret->v[__builtin_ctz(w)], k.v[__builtin_ctz(w)]);
	}
}

uint8_t wz_quota_quick(const struct wz_core *c, uint32_t slot, struct wz_blocker *ret)
{
	const struct wz_queues *t = &c->queues;
	const struct wz_job *j = &c->jobs.job[slot];
	struct wz_charge all;

	ret->reason = WZ_REASON_NONE;
	least_of(c, slot, &all);
	for (uint32_t a = j->account; a != WZ_ID_NONE; a = t->acc[a].up) {
		uint32_t q = t->acc[a].queue, max = t->q[q].rules.user_running;
		if (max && j->placed == 0 && t->acc[a].started >= max)
			return block(ret, WZ_REASON_USER_JOBS, q, 0, t->acc[a].started, 1, max);
	}
	return wz_quota_check(c, slot, &all, ret);
}

static void tell(const struct wz_core *c, const struct wz_blocker *b, struct wz_rule_blocker *ret)
{
	struct wz_str queue = wz_strtab_get(&c->model.names, c->queues.q[b->queue].name),
	              what = b->reason == WZ_REASON_USER_JOBS ? WZ_STR("jobs") : wz_dim_name(c, b->dim);

	*ret = (struct wz_rule_blocker){.reason = (enum wz_reason)b->reason,
	        .mem = b->dim == WZ_DIM_MEM && b->reason != WZ_REASON_USER_JOBS,
	        .used = b->used,
	        .ask = b->ask,
	        .limit = b->limit};
	memcpy(ret->queue, queue.ptr, queue.len < sizeof(ret->queue) ? queue.len : sizeof(ret->queue) - 1);
	memcpy(ret->what, what.ptr, what.len < sizeof(ret->what) ? what.len : sizeof(ret->what) - 1);
}

uint32_t wz_quota_list(struct wz_core *c, uint32_t slot, struct wz_rule_blocker *ret, uint32_t max)
{
	struct wz_queues *t = &c->queues;
	const struct wz_job *j = &c->jobs.job[slot];
	struct wz_charge all;
	uint32_t n = 0;

	if (t->n == 0 || j->account == WZ_ID_NONE)
		return 0;
	wz_quota_capacity(c);
	least_of(c, slot, &all);
	for (uint32_t a = j->account; a != WZ_ID_NONE && n < max; a = t->acc[a].up) {
		uint32_t q = t->acc[a].queue, most = t->q[q].rules.user_running;
		struct wz_blocker b = {0};
		wz_account_now(c, t->q[q].account);
		if (most && j->placed == 0 && t->acc[a].started >= most) {
			block(&b, WZ_REASON_USER_JOBS, q, 0, t->acc[a].started, 1, most);
			tell(c, &b, &ret[n++]);
		}
		if (n < max && check_budget(c, q, &all, &b))
			tell(c, &b, &ret[n++]);
		for (uint32_t w = all.set; w && n < max; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctz(w);
			if (check_dim(c, q, d, all.v[d], &b) || check_own(c, slot, a, d, all.v[d], &b))
				tell(c, &b, &ret[n++]);
		}
	}
	return n;
}

void wz_quota_capacity(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;

	for (unsigned d = 0; d < WZ_DIMS_MAX; d++)
		t->capacity[d] = 0;
	for (uint32_t i = 0; i < c->model.n_nodes; i++) {
		const struct wz_node *n = &c->model.node[i];
		if (!(n->flags & WZ_NODE_PRESENT))
			continue;
		t->capacity[WZ_DIM_CPU] += n->cpu;
		t->capacity[WZ_DIM_MEM] += n->mem >> 20;
		for (uint32_t k = n->first_dev; k < n->first_dev + n->n_dev; k++) {
			const struct wz_device *v = &c->model.dev[k];
			int32_t milli = wz_device_milli(v);
			t->capacity[WZ_DIM_GPU] += milli;
			if (v->model >= c->catalogue.n)
				continue;
			t->capacity[WZ_DIM_CU] += (int64_t)c->catalogue.model[v->model].cu_milli * milli / WZ_WHOLE;
			for (uint32_t w = t->dims_of_model[v->model]; w; w &= w - 1)
				t->capacity[__builtin_ctz(w)] += milli;
		}
	}
	for (unsigned d = WZ_DIM_PRICE; d < WZ_DIM_MODELS; d++)
		t->capacity[d] = WZ_NO_LIMIT;
}

struct wz_str wz_dim_name(const struct wz_core *c, uint32_t dim)
{
	static const char *const names[WZ_DIM_MODELS] = {
	        "gpu", "cpu", "mem", "cu", "price", "budget-hours", "budget-money"};

	if (dim < WZ_DIM_MODELS)
		return wz_str(names[dim]);
	for (uint32_t q = 0; q < c->queues.n; q++) {
		const struct wz_queue_rules *r = &c->queues.q[q].rules;
		const struct wz_amounts *all[] = {
		        &r->guaranteed, &r->limit, &r->borrow, &r->lend, &r->user_limit, &r->job_limit};
		for (unsigned k = 0; k < WZ_ARRAY_LEN(all); k++)
			for (uint32_t i = 0; i < all[k]->n; i++)
				if (all[k]->a[i].what == WZ_WHAT_MODEL &&
				        memcmp(&all[k]->a[i].set, &c->queues.dim_set[dim],
				                sizeof(all[k]->a[i].set)) == 0)
					return wz_str(all[k]->a[i].name);
	}
	return WZ_STR("?");
}

/* ---- who may take from whom ---- */

bool wz_queue_preemptible(const struct wz_core *c, uint32_t slot)
{
	const struct wz_job *j = &c->jobs.job[slot];
	uint32_t leaf = j->account == WZ_ID_NONE ? WZ_ID_NONE : c->queues.acc[j->account].queue;

	for (uint32_t q = leaf; q != WZ_ID_NONE; q = c->queues.q[q].parent)
		if (!c->queues.q[q].rules.preemptible)
			return false;
	return leaf == WZ_ID_NONE ||
	       wz_queue_checkpoint(c, leaf, j->time_limit_us, &j->preempt) != WZ_MISSING_FIXED;
}

/* The two queues below the lowest one that has both jobs. */
static bool fork_of(const struct wz_core *c, uint32_t a, uint32_t b, uint32_t *ret_a, uint32_t *ret_b)
{
	const struct wz_queue *q = c->queues.q;

	for (uint32_t x = a; x != WZ_ID_NONE; x = q[x].parent)
		for (uint32_t y = b; y != WZ_ID_NONE; y = q[y].parent)
			if (x != y && q[x].parent == q[y].parent) {
				*ret_a = x;
				*ret_b = y;
				return true;
			}
	return false;
}

bool wz_queue_may_reclaim(const struct wz_core *c, uint32_t victim_slot, uint32_t beneficiary_slot)
{
	const struct wz_queues *t = &c->queues;
	const struct wz_job *v = &c->jobs.job[victim_slot], *j = &c->jobs.job[beneficiary_slot];
	uint32_t from, to;
	bool borrowed = false;

	if (t->n == 0 || v->account == WZ_ID_NONE || j->account == WZ_ID_NONE ||
	        !wz_queue_preemptible(c, victim_slot) ||
	        !fork_of(c, t->acc[v->account].queue, t->acc[j->account].queue, &from, &to))
		return false;
	for (uint32_t i = 0; i < v->n_tasks; i++) {
		uint32_t task = v->first_task + i;
		struct wz_charge has, asks;
		if (c->jobs.task[task].node == WZ_ID_NONE)
			continue;
		wz_charge_task(c, task, &has);
		wz_charge_on(c, beneficiary_slot, &c->shapes.shape[j->shape], c->jobs.task[task].node, &asks);
		for (uint32_t w = asks.set & has.set; w; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctz(w);
			int64_t all = wz_sat_mul(asks.v[d], j->tasks_min);
			if (t->q[to].guaranteed[d] == 0)
				continue;
			if (wz_sat_add(t->acc[t->q[to].account].used[d], all) > t->q[to].guaranteed[d])
				return false; /* it would borrow itself */
			borrowed = borrowed || t->acc[t->q[from].account].used[d] > t->q[from].guaranteed[d];
		}
	}
	return borrowed;
}
