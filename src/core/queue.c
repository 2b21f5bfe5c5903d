/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of queues and its accounts. The first QUEUE_SET makes root, default, and an account for each live job; from
 * then on every job is of one leaf. A change makes all accounts and room first, then changes rules and computes everything
 * that is a function of them anew: changes of rules are rare, and nothing can drift. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

#define ROOT 0u
#define DEFAULT 1u

static struct wz_str name_of(const struct wz_core *c, uint32_t q)
{
	return wz_strtab_get(&c->model.names, c->queues.q[q].name);
}

void wz_queues_init(struct wz_core *c)
{
	wz_map_init(&c->queues.by_key, &c->mem);
	wz_share_init(&c->queues);
	c->queues.n_dims = WZ_DIM_MODELS;
}

void wz_queues_release(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;

	wz_map_release(&t->by_key);
	wz_grow_free(&c->mem, &t->q, &t->cap, sizeof(*t->q));
	wz_grow_free(&c->mem, &t->acc, &t->acc_cap, sizeof(*t->acc));
	wz_grow_free(&c->mem, &t->heap, &t->heap_cap, sizeof(*t->heap));
}

uint32_t wz_queue_find(const struct wz_core *c, struct wz_str name)
{
	uint32_t id = wz_strtab_find(&c->model.names, name);

	for (uint32_t i = 0; id != WZ_NONE && i < c->queues.n; i++)
		if (c->queues.q[i].name == id)
			return i;
	return WZ_ID_NONE;
}

bool wz_queue_under(const struct wz_core *c, uint32_t q, uint32_t above)
{
	while (q != WZ_ID_NONE && q != above)
		q = c->queues.q[q].parent;
	return q == above;
}

/* ---- accounts ---- */

static struct wz_str user_name(const struct wz_core *c, uint32_t user)
{
	return user == WZ_USER_NOBODY || user == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&c->model.names, user);
}

uint64_t wz_account_id(const struct wz_core *c, uint32_t account)
{
	const struct wz_account *a = account == WZ_ID_NONE ? NULL : &c->queues.acc[account];

	if (!a)
		return 0;
	return wz_hash_u64(wz_hash_str(wz_hash_str(0xacc0, name_of(c, a->queue)), user_name(c, a->user)),
	        a->user == WZ_ID_NONE);
}

/* An account that uses nothing and has no past has no part in the digest, nor in a snapshot: it may be there or not. */
bool wz_account_matters(const struct wz_account *a)
{
	return a->past[0] || a->past[1] || a->past[2] || a->used[WZ_DIM_GPU] || a->used[WZ_DIM_CPU] ||
	       a->used[WZ_DIM_MEM];
}

static uint64_t account_hash(const struct wz_core *c, uint32_t account)
{
	const struct wz_account *a = &c->queues.acc[account];
	uint64_t h = wz_account_id(c, account);

	if (!wz_account_matters(a))
		return 0;
	for (unsigned r = 0; r < WZ_SHARE_DIMS; r++)
		h = wz_hash_u64(h, (uint64_t)a->past[r]);
	return wz_hash_u64(h, a->past_ms);
}

void wz_account_rehash(struct wz_core *c, uint32_t account)
{
	struct wz_account *a = &c->queues.acc[account];

	c->sum -= a->hash;
	a->hash = account_hash(c, account);
	c->sum += a->hash;
}

static uint64_t rules_hash(const struct wz_core *c, uint32_t q)
{
	char text[WZ_RULES_TEXT_MAX];
	struct wz_buf b;

	wz_buf_init_fixed(&b, text, sizeof(text));
	wz_queue_rules_format(&c->queues.q[q].rules, &b);
	return wz_hash_str(wz_hash_str(wz_hash_u64(0x90e0e, q), name_of(c, q)), wz_buf_str(&b));
}

static uint64_t queue_hash(const struct wz_queue *k, uint64_t rules)
{
	uint64_t h = wz_hash_u64(wz_hash_u64(rules, (uint64_t)k->spent), (uint64_t)(k->spent >> 64));

	return wz_hash_u64(wz_hash_u64(h, (uint64_t)k->spent_money), (uint64_t)(k->spent_money >> 64));
}

void wz_queue_rehash(struct wz_core *c, uint32_t q)
{
	struct wz_queue *k = &c->queues.q[q];

	c->sum -= k->hash;
	k->hash = queue_hash(k, k->rules_hash);
	c->sum += k->hash;
}

static uint64_t account_key(uint32_t q, uint32_t user)
{
	return wz_mix64((uint64_t)q << 32 | user);
}

static uint32_t account_find(const struct wz_core *c, uint32_t q, uint32_t user)
{
	const struct wz_queues *t = &c->queues;
	uint32_t i = wz_map_get(&t->by_key, account_key(q, user));

	while (i != WZ_NONE && (t->acc[i].queue != q || t->acc[i].user != user))
		i = t->acc[i].next_same_hash;
	return i;
}

static int account_one(struct wz_core *c, uint32_t q, uint32_t user, uint32_t *ret)
{
	struct wz_queues *t = &c->queues;
	uint64_t key = account_key(q, user);
	uint32_t i = account_find(c, q, user), first = wz_map_get(&t->by_key, key);
	int r;

	if (i != WZ_NONE) {
		*ret = i;
		return 0;
	}
	if (t->n_acc == WZ_ACCOUNTS_MAX)
		return -E2BIG;
	r = wz_grow(&c->mem, &t->acc, &t->acc_cap, t->n_acc + 1, sizeof(*t->acc));
	if (r == 0)
		r = wz_map_put(&t->by_key, key, t->n_acc);
	if (r < 0)
		return r;
	t->acc[t->n_acc] = (struct wz_account){
	        .queue = q, .user = user, .up = WZ_ID_NONE, .next_same_hash = first, .past_ms = c->now_us / 1000};
	*ret = t->n_acc++;
	return 0;
}

/* The user's account in the queue and in all above it; they are linked. */
int wz_account_make(struct wz_core *c, uint32_t q, uint32_t user, uint32_t *ret)
{
	uint32_t leaf = WZ_ID_NONE, below = WZ_ID_NONE, id;

	for (; q != WZ_ID_NONE; q = c->queues.q[q].parent) {
		int r = account_one(c, q, user, &id);
		if (r < 0)
			return r;
		if (below != WZ_ID_NONE)
			c->queues.acc[below].up = id;
		else
			leaf = id;
		below = id;
	}
	*ret = leaf;
	return 0;
}

/* ---- what is a function of the rest ---- */

static uint32_t dim_of(struct wz_queues *t, const struct wz_amount *a)
{
	static const uint8_t dims[] = {WZ_DIM_GPU, WZ_DIM_CU, WZ_DIM_CPU, WZ_DIM_MEM};

	if (a->what != WZ_WHAT_MODEL)
		return dims[a->what];
	for (uint32_t d = WZ_DIM_MODELS; d < t->n_dims; d++)
		if (memcmp(&t->dim_set[d], &a->set, sizeof(a->set)) == 0)
			return d;
	if (t->n_dims < WZ_DIMS_MAX)
		t->dim_set[t->n_dims] = a->set;
	return t->n_dims < WZ_DIMS_MAX ? t->n_dims++ : WZ_ID_NONE;
}

static void spread(struct wz_queues *t, const struct wz_amounts *s, int64_t *v, int64_t none)
{
	for (unsigned d = 0; d < WZ_DIMS_MAX; d++)
		v[d] = none;
	for (uint32_t i = 0; i < s->n; i++)
		v[dim_of(t, &s->a[i])] = s->a[i].value;
}

static void spread_rules(struct wz_queues *t, struct wz_queue *k)
{
	int64_t models = 0;

	spread(t, &k->rules.guaranteed, k->guaranteed, 0);
	spread(t, &k->rules.limit, k->limit, WZ_NO_LIMIT);
	spread(t, &k->rules.borrow, k->borrow, WZ_NO_LIMIT);
	spread(t, &k->rules.lend, k->lend, WZ_NO_LIMIT);
	spread(t, &k->rules.user_limit, k->user_limit, WZ_NO_LIMIT);
	spread(t, &k->rules.job_limit, k->job_limit, WZ_NO_LIMIT);
	k->guarantees = 0;
	for (unsigned d = 0; d < WZ_DIMS_MAX; d++) {
		k->guarantees |= (uint32_t)(k->guaranteed[d] > 0) << d;
		models += d >= WZ_DIM_MODELS ? k->guaranteed[d] : 0;
	}
	k->guaranteed_gpu = k->guaranteed[WZ_DIM_GPU] > models ? k->guaranteed[WZ_DIM_GPU] : models;
}

/* Parents, children, kinds that are counted: from the rules. */
void wz_queues_link(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;

	t->n_dims = WZ_DIM_MODELS;
	memset(t->dims_of_model, 0, sizeof(t->dims_of_model));
	for (uint32_t i = 0; i < t->n; i++) {
		struct wz_queue *k = &t->q[i];
		k->parent = i == ROOT            ? WZ_ID_NONE
		            : k->rules.parent[0] ? wz_queue_find(c, wz_str(k->rules.parent))
		                                 : ROOT;
		k->first_child = k->next_sibling = WZ_ID_NONE;
		k->n_children = 0;
		k->children_lend = false;
		spread_rules(t, k);
		k->rules_hash = rules_hash(c, i);
		wz_queue_rehash(c, i);
	}
	for (uint32_t i = t->n; i-- > 1;) {
		struct wz_queue *up = &t->q[t->q[i].parent];
		t->q[i].next_sibling = up->first_child;
		up->first_child = i;
		up->n_children++;
		up->children_lend = up->children_lend || t->q[i].rules.lend.n;
	}
	for (uint32_t d = WZ_DIM_MODELS; d < t->n_dims; d++)
		for (unsigned m = 0; m < WZ_MODELS_MAX; m++)
			t->dims_of_model[m] |= (uint32_t)wz_model_set_has(&t->dim_set[d], m) << d;
	t->half_life_ms = t->n ? t->q[ROOT].rules.half_life_us / 1000 : 0;
}

static void add_charge(struct wz_core *c, uint32_t account, const struct wz_charge *k, int sign)
{
	struct wz_queues *t = &c->queues;

	for (uint32_t i = account; i != WZ_ID_NONE; i = t->acc[i].up) {
		struct wz_account *user = &t->acc[i], *all = &t->acc[t->q[user->queue].account];
		for (uint32_t w = k->set; w; w &= w - 1) {
			unsigned d = (unsigned)__builtin_ctz(w);
			user->used[d] += sign * k->v[d];
			all->used[d] += sign * k->v[d];
		}
	}
}

static void count_started(struct wz_core *c, uint32_t account, int sign)
{
	struct wz_queues *t = &c->queues;

	for (uint32_t i = account; i != WZ_ID_NONE; i = t->acc[i].up) {
		t->acc[i].started += (uint32_t)sign;
		t->acc[t->q[t->acc[i].queue].account].started += (uint32_t)sign;
	}
}

void wz_queue_job(struct wz_core *c, uint32_t slot, int sign)
{
	struct wz_queues *t = &c->queues;

	for (uint32_t i = c->jobs.job[slot].account; i != WZ_ID_NONE; i = t->acc[i].up) {
		t->acc[i].jobs += (uint32_t)sign;
		t->acc[t->q[t->acc[i].queue].account].jobs += (uint32_t)sign;
	}
}

void wz_queue_task(struct wz_core *c, uint32_t task, int sign)
{
	struct wz_queues *t = &c->queues;
	uint32_t slot = c->jobs.task[task].job;
	struct wz_job *j = &c->jobs.job[slot];
	struct wz_charge k;

	if (j->account == WZ_ID_NONE)
		return;
	if (!c->ledger.trial)
		for (uint32_t i = j->account; i != WZ_ID_NONE; i = t->acc[i].up) {
			wz_account_accrue(c, i);
			wz_account_accrue(c, t->q[t->acc[i].queue].account);
		}
	wz_charge_task(c, task, &k);
	add_charge(c, j->account, &k, sign);
	if (t->current.slot == slot)
		for (uint32_t w = k.set; w; w &= w - 1)
			t->current.held.v[__builtin_ctz(w)] += sign * k.v[__builtin_ctz(w)];
	if (sign > 0 ? j->holds++ == 0 : --j->holds == 0)
		count_started(c, j->account, sign);
	if (!c->ledger.trial)
		for (uint32_t i = j->account; i != WZ_ID_NONE; i = t->acc[i].up) {
			wz_account_rehash(c, i);
			wz_account_rehash(c, t->q[t->acc[i].queue].account);
		}
}

/* `used` and counts, from the jobs and their tasks. */
static void recount(struct wz_core *c, bool keep_holds)
{
	struct wz_queues *t = &c->queues;

	for (uint32_t i = 0; i < t->n_acc; i++) {
		memset(t->acc[i].used, 0, sizeof(t->acc[i].used));
		t->acc[i].jobs = t->acc[i].started = 0;
	}
	for (uint32_t s = 0; s < c->jobs.n; s++) {
		struct wz_job *j = &c->jobs.job[s];
		uint32_t holds = 0;
		if (!j->used || j->account == WZ_ID_NONE)
			continue;
		wz_queue_job(c, s, 1);
		for (uint32_t i = 0; i < j->n_tasks; i++) {
			struct wz_charge k;
			if (c->jobs.task[j->first_task + i].node == WZ_ID_NONE)
				continue;
			wz_charge_task(c, j->first_task + i, &k);
			add_charge(c, j->account, &k, 1);
			if (holds++ == 0)
				count_started(c, j->account, 1);
		}
		if (!keep_holds)
			j->holds = holds;
	}
}

void wz_queues_recount(struct wz_core *c)
{
	c->queues.current.slot = WZ_ID_NONE;
	recount(c, false);
	for (uint32_t i = 0; i < c->queues.n_acc; i++)
		wz_account_rehash(c, i);
}

void wz_queues_rebuild(struct wz_core *c)
{
	for (uint32_t i = 0; i < c->queues.n_acc; i++)
		wz_account_accrue(c, i);
	wz_queues_recount(c);
}

/* ---- changes of the tree ---- */

static int append(struct wz_core *c, struct wz_str name, uint32_t *ret)
{
	struct wz_queues *t = &c->queues;
	uint32_t id, account = 0;
	int r = wz_grow(&c->mem, &t->q, &t->cap, t->n + 1, sizeof(*t->q));

	if (r == 0)
		r = wz_strtab_add(&c->model.names, name, &id);
	if (r == 0)
		r = account_one(c, t->n, WZ_ID_NONE, &account);
	if (r < 0)
		return r;
	memset(&t->q[t->n], 0, sizeof(*t->q));
	t->q[t->n].name = id;
	t->q[t->n].account = account;
	t->q[t->n].parent = t->n == ROOT ? WZ_ID_NONE : ROOT;
	wz_queue_rules_init(&t->q[t->n].rules);
	*ret = t->n++;
	return 0;
}

/* Everything that was made since is forgotten. */
static void forget(struct wz_core *c, uint32_t n_queues, uint32_t n_accounts)
{
	struct wz_queues *t = &c->queues;

	t->n = n_queues;
	t->n_acc = n_accounts;
	wz_map_clear(&t->by_key);
	for (uint32_t i = 0; i < t->n_acc; i++) {
		uint64_t key = account_key(t->acc[i].queue, t->acc[i].user);
		t->acc[i].next_same_hash = wz_map_get(&t->by_key, key);
		(void)wz_map_put(&t->by_key, key, i); /* has room: there were more */
	}
}

static bool ours(const struct wz_core *c, const struct wz_job *j)
{
	return j->used && !c->jobs.task[j->first_task].observed;
}

static int class_in_default(struct wz_core *c, const struct wz_job *j, uint32_t *ret_account, uint32_t *ret_class)
{
	int r = wz_account_make(c, DEFAULT, j->user == WZ_ID_NONE ? WZ_USER_NOBODY : j->user, ret_account);

	return r < 0 ? r
	             : wz_order_class(c,
	                       &(struct wz_class){.shape = j->shape,
	                               .between = j->between,
	                               .gang = j->gang,
	                               .tasks_min = j->tasks_min,
	                               .tasks_max = j->tasks_max,
	                               .priority = j->priority,
	                               .account = *ret_account},
	                       ret_class);
}

/* root and default, and in it an account and a class for every job that is there; nothing of it is seen yet. */
static int make_first(struct wz_core *c)
{
	uint32_t q, account, class_id;
	int r = append(c, WZ_STR("root"), &q);

	if (r == 0)
		r = append(c, WZ_STR("default"), &q);
	for (uint32_t s = 0; r == 0 && s < c->jobs.n; s++)
		if (ours(c, &c->jobs.job[s]))
			r = class_in_default(c, &c->jobs.job[s], &account, &class_id);
	return r;
}

/* All jobs that are there become jobs of default. */
static void move_jobs(struct wz_core *c)
{
	uint32_t account, class_id;
	bool in_order;

	for (uint32_t s = 0; s < c->jobs.n; s++) {
		struct wz_job *j = &c->jobs.job[s];
		if (!ours(c, j))
			continue;
		in_order = j->state == WZ_JOB_WAITING && !j->backoff;
		wz_check(class_in_default(c, j, &account, &class_id) == 0); /* they are made */
		if (in_order)
			wz_order_remove(c, s);
		j->account = account;
		j->class_id = class_id;
		if (in_order)
			wz_order_add(c, s);
		wz_job_rehash(c, s);
	}
}

/* Where a queue is put; `self` is WZ_ID_NONE when it is new, `up` its parent. */
static int check_place(const struct wz_core *c, uint32_t self, uint32_t up, struct wz_err *err)
{
	const struct wz_queues *t = &c->queues;
	uint32_t depth = 1, below = 1;

	if (up == DEFAULT)
		return wz_err_set(err, -EINVAL, "BadParent", WZ_STR("nothing is below the queue \"default\""));
	if (self == DEFAULT && up != ROOT)
		return wz_err_set(err, -EINVAL, "BadParent", WZ_STR("the queue \"default\" is below the root"));
	if (self != WZ_ID_NONE && wz_queue_under(c, up, self))
		return wz_err_set(err, -EINVAL, "BadParent", WZ_STR("a queue cannot be below itself"));
	if (up != ROOT && !t->q[up].n_children && t->acc[t->q[up].account].jobs)
		return wz_err_set(err, -EBUSY, "QueueBusy", WZ_STR("the queue \""), name_of(c, up),
		        WZ_STR("\" has jobs of its own: only a queue without jobs can have others below it"));
	if (self != WZ_ID_NONE && t->q[self].parent != up && t->acc[t->q[self].account].jobs)
		return wz_err_set(err, -EBUSY, "QueueBusy", WZ_STR("a queue that has jobs cannot be moved"));
	for (uint32_t q = up; q != WZ_ID_NONE; q = t->q[q].parent)
		depth++;
	for (uint32_t q = 0; self != WZ_ID_NONE && q < t->n; q++) {
		uint32_t n = 1;
		if (!wz_queue_under(c, q, self))
			continue;
		for (uint32_t k = q; k != self; k = t->q[k].parent)
			n++;
		below = n > below ? n : below;
	}
	if (depth + below - 1 > WZ_QUEUE_DEPTH_MAX)
		return wz_err_set(err, -E2BIG, "TooDeep",
		        WZ_STR("at most 8 queues are one above the other, the root included"));
	return 0;
}

static int check_set(
        const struct wz_core *c, struct wz_str name, const struct wz_queue_rules *rules, struct wz_err *err)
{
	struct wz_str parent = rules->parent[0] ? wz_str(rules->parent) : WZ_STR("root");
	uint32_t self = wz_queue_find(c, name), up = wz_queue_find(c, parent);
	bool root = wz_str_eq(name, WZ_STR("root")), first = c->queues.n == 0;

	if (!wz_queue_name_ok(name))
		return wz_err_set(err, -EINVAL, "BadName",
		        WZ_STR("name: a queue has a name of 1 to 63 letters, digits, '.', '_' and '-'"));
	if (root && rules->parent[0])
		return wz_err_set(err, -EINVAL, "BadParent", WZ_STR("the root has no queue above it"));
	if (root || (first && !rules->parent[0]))
		return 0;
	if (wz_str_eq(name, parent))
		return wz_err_set(err, -EINVAL, "BadParent", WZ_STR("a queue cannot be below itself"));
	if (up == WZ_ID_NONE)
		return wz_err_set(
		        err, -ENOENT, "NoSuchQueue", WZ_STR("parent: there is no queue \""), parent, WZ_STR("\""));
	if (self == WZ_ID_NONE && c->queues.n == WZ_QUEUES_MAX)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("there are at most 4096 queues"));
	return check_place(c, self, up, err);
}

/* Would all sets of models that are named have a place? -ENOMEM, -E2BIG. */
static int check_dims(const struct wz_core *c, uint32_t self, const struct wz_queue_rules *rules)
{
	struct wz_queues *t = wz_mem_zalloc(&c->mem, sizeof(*t));
	bool fits = true;

	if (!t)
		return -ENOMEM;
	t->n_dims = WZ_DIM_MODELS;
	for (uint32_t i = 0; i <= c->queues.n; i++) {
		const struct wz_queue_rules *r = i == c->queues.n ? rules : &c->queues.q[i].rules;
		const struct wz_amounts *all[] = {
		        &r->guaranteed, &r->limit, &r->borrow, &r->lend, &r->user_limit, &r->job_limit};
		for (unsigned k = 0; i != self && k < WZ_ARRAY_LEN(all); k++)
			for (uint32_t n = 0; fits && n < all[k]->n; n++)
				fits = dim_of(t, &all[k]->a[n]) != WZ_ID_NONE;
	}
	wz_mem_free(&c->mem, t, sizeof(*t));
	return fits ? 0 : -E2BIG;
}

int wz_queue_set(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_queues *t = &c->queues;
	uint32_t n = t->n, n_acc = t->n_acc, self;
	struct wz_queue_rules rules;
	int r = wz_queue_rules_parse(e->u.rules.text, &c->catalogue, &rules, err);

	if (r == 0)
		r = check_set(c, e->u.rules.name, &rules, err);
	if (r < 0)
		return r;
	r = check_dims(c, wz_queue_find(c, e->u.rules.name), &rules);
	if (r == 0 && n == 0)
		r = make_first(c);
	self = r == 0 ? wz_queue_find(c, e->u.rules.name) : WZ_ID_NONE;
	if (r == 0 && self == WZ_ID_NONE)
		r = append(c, e->u.rules.name, &self);
	if (r < 0) {
		forget(c, n, n_acc);
		return wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany",
		        r == -ENOMEM ? WZ_STR("no memory for a queue or its accounts")
		                     : WZ_STR("rules name at most 25 sets of device models in all"));
	}
	if (n == 0)
		move_jobs(c);
	for (uint32_t i = 0; i < n_acc; i++) /* by the old rules */
		wz_account_accrue(c, i);
	if (t->q[self].rules.budget_epoch != rules.budget_epoch)
		t->q[self].spent = t->q[self].spent_money = 0;
	t->q[self].rules = rules;
	wz_queues_link(c);
	wz_queues_rebuild(c);
	return 0;
}

/* The queue's index goes, and those behind it move down. */
static void drop_queue(struct wz_core *c, uint32_t gone)
{
	struct wz_queues *t = &c->queues;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_acc; i++)
		c->sum -= t->acc[i].hash;
	for (uint32_t i = 0; i < t->n; i++)
		c->sum -= t->q[i].hash;
	for (uint32_t i = 0; i < t->n_acc; i++) { /* `jobs` is scratch now: the new number */
		struct wz_account *a = &t->acc[i];
		if (a->queue == gone) {
			a->jobs = WZ_ID_NONE;
			continue;
		}
		a->jobs = n;
		n++;
	}
	for (uint32_t s = 0; s < c->jobs.n; s++)
		if (c->jobs.job[s].used && c->jobs.job[s].account != WZ_ID_NONE)
			c->jobs.job[s].account = t->acc[c->jobs.job[s].account].jobs;
	for (uint32_t i = 0; i < c->order.n; i++)
		if (c->order.cls[i].account != WZ_ID_NONE)
			c->order.cls[i].account = t->acc[c->order.cls[i].account].jobs;
	for (uint32_t i = 0; i < t->n; i++)
		t->q[i].account = t->acc[t->q[i].account].jobs;
	for (uint32_t i = 0; i < t->n_acc; i++)
		if (t->acc[i].up != WZ_ID_NONE)
			t->acc[i].up = t->acc[t->acc[i].up].jobs;
	for (uint32_t i = 0; i < t->n_acc; i++) {
		struct wz_account a = t->acc[i];
		if (a.jobs == WZ_ID_NONE)
			continue;
		a.queue -= a.queue > gone;
		t->acc[a.jobs] = a;
	}
	t->n_acc = n;
	memmove(&t->q[gone], &t->q[gone + 1], (t->n - gone - 1) * sizeof(*t->q));
	t->n--;
	for (uint32_t i = 0; i < t->n; i++)
		t->q[i].hash = 0;
	for (uint32_t i = 0; i < t->n_acc; i++)
		t->acc[i].hash = 0;
}

int wz_queue_remove(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	struct wz_queues *t = &c->queues;
	uint32_t q = wz_queue_find(c, e->u.rules.name);

	if (q == WZ_ID_NONE)
		return wz_err_set(err, -ENOENT, "NoSuchQueue", WZ_STR("there is no queue of that name"));
	if (q == ROOT || q == DEFAULT)
		return wz_err_set(err, -EINVAL, "BadQueue", WZ_STR("root and default are always there"));
	if (t->q[q].n_children)
		return wz_err_set(err, -EBUSY, "QueueBusy", WZ_STR("the queue has others below it"));
	if (t->acc[t->q[q].account].jobs)
		return wz_err_set(err, -EBUSY, "QueueBusy", WZ_STR("the queue has jobs"));
	for (uint32_t i = 0; i < t->n_acc; i++)
		wz_account_accrue(c, i);
	drop_queue(c, q);
	forget(c, t->n, t->n_acc);
	wz_queues_link(c);
	wz_queues_rebuild(c);
	for (uint32_t i = 0; i < t->n_acc; i++)
		wz_account_rehash(c, i);
	return 0;
}

/* ---- submissions ---- */

/* What the nearest rule that applies says of such a job. */
uint8_t wz_queue_checkpoint(const struct wz_core *c, uint32_t leaf, uint64_t time_us, const struct wz_preempt *p)
{
	bool contract = p->signal[0] || p->interval_us || p->ack || p->movable;

	for (uint32_t q = leaf; q != WZ_ID_NONE && !contract; q = c->queues.q[q].parent) {
		const struct wz_queue_rules *r = &c->queues.q[q].rules;
		if (r->checkpoint_missing != WZ_MISSING_NOTHING &&
		        (time_us == 0 || time_us > r->checkpoint_over_us))
			return r->checkpoint_missing;
	}
	return WZ_MISSING_NOTHING;
}

static int admit_job(const struct wz_core *c, uint32_t leaf, int32_t priority, uint64_t time_us,
        const struct wz_preempt *p, struct wz_err *err)
{
	for (uint32_t q = leaf; q != WZ_ID_NONE; q = c->queues.q[q].parent) {
		const struct wz_queue_rules *k = &c->queues.q[q].rules;
		struct wz_num lo, hi;
		if (priority < k->priority_min || priority > k->priority_max)
			return wz_err_set(err, -EINVAL, "PriorityRange", WZ_STR("the queue \""), name_of(c, q),
			        WZ_STR("\" takes priorities from "), wz_str_i64(&lo, k->priority_min),
			        WZ_STR(" to "), wz_str_i64(&hi, k->priority_max));
	}
	if (wz_queue_checkpoint(c, leaf, time_us, p) != WZ_MISSING_REFUSE)
		return 0;
	return wz_err_set(err, -EINVAL, "CheckpointRequired",
	        WZ_STR("the queue wants a checkpoint contract (preempt=) of a job that may run so long, or a "
	               "shorter time="));
}

int wz_queue_admit_edit(
        const struct wz_core *c, uint32_t slot, int32_t priority, const struct wz_profile *p, struct wz_err *err)
{
	const struct wz_job *j = &c->jobs.job[slot];

	if (j->account == WZ_ID_NONE)
		return 0;
	return admit_job(c, c->queues.acc[j->account].queue, priority, p ? p->time_us : j->time_limit_us,
	        p ? &p->preempt : &j->preempt, err);
}

static int admit_user(const struct wz_core *c, uint32_t leaf, uint32_t user, struct wz_err *err)
{
	struct wz_num n;

	for (uint32_t q = leaf; q != WZ_ID_NONE; q = c->queues.q[q].parent) {
		uint32_t max = c->queues.q[q].rules.user_waiting, a = max ? account_find(c, q, user) : WZ_NONE;
		if (a == WZ_NONE || c->queues.acc[a].jobs - c->queues.acc[a].started < max)
			continue;
		return wz_err_set(err, -EDQUOT, "UserWaiting", WZ_STR("the user has "), wz_str_u64(&n, max),
		        WZ_STR(" jobs waiting in the queue \""), name_of(c, q), WZ_STR("\", which is its limit"));
	}
	return 0;
}

int wz_queue_admit(struct wz_core *c, const struct wz_submit_rules *s, uint32_t *ret_account, struct wz_err *err)
{
	uint32_t leaf = s->queue.len ? wz_queue_find(c, s->queue) : DEFAULT;
	int r;

	*ret_account = WZ_ID_NONE;
	if (c->queues.n == 0)
		return 0;
	if (leaf == WZ_ID_NONE)
		return wz_err_set(
		        err, -ENOENT, "NoSuchQueue", WZ_STR("there is no queue \""), s->queue, WZ_STR("\""));
	if (leaf == ROOT || c->queues.q[leaf].n_children)
		return wz_err_set(err, -EINVAL, "NotALeaf", WZ_STR("the queue \""), s->queue,
		        WZ_STR("\" has others below it: jobs are for those"));
	r = admit_job(c, leaf, s->priority, s->profile->time_us, &s->profile->preempt, err);
	if (r == 0 && s->user != WZ_ID_NONE)
		r = admit_user(c, leaf, s->user, err);
	if (r < 0)
		return r;
	r = wz_account_make(c, leaf, s->user == WZ_ID_NONE ? WZ_USER_NOBODY : s->user, ret_account);
	return r < 0 ? wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany",
	                       WZ_STR("no room for the user's account"))
	             : 0;
}

/* ---- checks and snapshots ---- */

uint64_t wz_queues_sum(const struct wz_core *c)
{
	const struct wz_queues *t = &c->queues;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->n; i++)
		sum += queue_hash(&t->q[i], rules_hash(c, i));
	for (uint32_t i = 0; i < t->n_acc; i++)
		sum += account_hash(c, i);
	return sum;
}

static int broken(struct wz_err *err, const char *what, uint64_t which)
{
	struct wz_num n;

	return wz_err_set(
	        err, -EUCLEAN, "Invariant", WZ_STR("I2: "), wz_str(what), WZ_STR(" "), wz_str_u64(&n, which));
}

/* Every account again, from the tasks that are placed. */
int wz_queues_check(struct wz_core *c, struct wz_err *err)
{
	struct wz_queues *t = &c->queues;
	size_t size = ((size_t)t->n_acc + 1) * sizeof(*t->acc);
	struct wz_account *was;
	int r = 0;

	if (t->n == 0)
		return 0;
	was = wz_mem_alloc(&c->mem, size);
	if (!was)
		return 0; /* not told, not wrong */
	memcpy(was, t->acc, t->n_acc * sizeof(*was));
	recount(c, true);
	for (uint32_t i = 0; i < t->n_acc && r == 0; i++)
		if (memcmp(was[i].used, t->acc[i].used, sizeof(was[i].used)) != 0)
			r = broken(err, "what an account uses differs from a rebuild, account", i);
		else if (was[i].jobs != t->acc[i].jobs || was[i].started != t->acc[i].started)
			r = broken(err, "the jobs of an account differ from a count, account", i);
	memcpy(t->acc, was, t->n_acc * sizeof(*was));
	wz_mem_free(&c->mem, was, size);
	return r;
}

/* One queue after the other; wz_queues_restored follows. */
int wz_queues_restore(struct wz_core *c, struct wz_str name, struct wz_str rules, struct wz_err *err)
{
	struct wz_queue_rules parsed;
	uint32_t q;
	int r = wz_queue_rules_parse(rules, &c->catalogue, &parsed, err);

	if (r == 0 &&
	        (!wz_queue_name_ok(name) || wz_queue_find(c, name) != WZ_ID_NONE || c->queues.n == WZ_QUEUES_MAX))
		r = wz_err_set(err, -EINVAL, "BadName", WZ_STR("a queue's name is not one"));
	if (r == 0)
		r = append(c, name, &q);
	if (r == 0)
		c->queues.q[q].rules = parsed;
	return r;
}

/* Do the queues make a tree? Nothing of it was checked yet. */
int wz_queues_restored(struct wz_core *c)
{
	struct wz_queues *t = &c->queues;
	int r;

	if (t->n == 0)
		return 0;
	if (t->n < 2 || !wz_str_eq(name_of(c, ROOT), WZ_STR("root")) ||
	        !wz_str_eq(name_of(c, DEFAULT), WZ_STR("default")) || t->q[ROOT].rules.parent[0] ||
	        t->q[DEFAULT].rules.parent[0])
		return -EINVAL;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t depth = 1;
		for (uint32_t q = i; q != ROOT; depth++) {
			q = t->q[q].rules.parent[0] ? wz_queue_find(c, wz_str(t->q[q].rules.parent)) : ROOT;
			if (q == WZ_ID_NONE || q == DEFAULT || depth == WZ_QUEUE_DEPTH_MAX)
				return -EINVAL;
		}
	}
	r = check_dims(c, ROOT, &t->q[ROOT].rules);
	if (r < 0)
		return r == -E2BIG ? -EINVAL : r;
	wz_queues_link(c);
	return 0;
}
