/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tasks, and jobs whose number of tasks is not what it was: started with fewer than wanted, lost some, or resized.
 *
 * A running job *wants attention* while it misses tasks, has too many, or was not told how many it has. Decide looks at
 * those alone; who is on the list is a function of the job, so the list is no state. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

#include <string.h>

int wz_gangs_init(struct wz_core *c)
{
	wz_map_init(&c->gangs.by_hash, &c->mem);
	c->gangs.n = 1;
	return wz_grow(&c->mem, &c->gangs.gang, &c->gangs.cap, 1, sizeof(*c->gangs.gang));
}

void wz_gangs_release(struct wz_core *c)
{
	wz_map_release(&c->gangs.by_hash);
	wz_grow_free(&c->mem, &c->gangs.gang, &c->gangs.cap, sizeof(*c->gangs.gang));
	wz_grow_free(&c->mem, &c->gangs.set, &c->gangs.set_cap, sizeof(*c->gangs.set));
}

const struct wz_set *wz_job_sets(
        const struct wz_core *c, const struct wz_job *j, struct wz_set *one, uint32_t *ret_n)
{
	const struct wz_gang *g = &c->gangs.gang[j->gang];

	if (j->gang) {
		*ret_n = g->n_sets;
		return &c->gangs.set[g->first_set];
	}
	*one = (struct wz_set){.name = WZ_ID_NONE,
	        .shape = j->shape,
	        .between = j->between,
	        .min = j->tasks_min,
	        .max = j->tasks_max,
	        .slots = j->n_tasks};
	*ret_n = 1;
	return one;
}

/* ---- interning ---- */

static uint64_t gang_hash(const struct wz_core *c, const struct wz_gang *g, const struct wz_set *set, uint32_t n)
{
	uint64_t h = wz_hash_u64((uint64_t)g->link << 8 | g->link_preferred, c->between.text_hash[g->constraint]);

	for (uint32_t i = 0; i < n; i++) {
		h = wz_hash_str(
		        h, set[i].name == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&c->model.names, set[i].name));
		h = wz_hash_u64(h, c->shape_hash[set[i].shape]);
		h = wz_hash_u64(h, c->between.asked[set[i].between].hash);
		h = wz_hash_u64(h, (uint64_t)set[i].min << 32 | set[i].max);
		h = wz_hash_u64(h, set[i].slots);
	}
	return h;
}

static bool same_gang(
        const struct wz_core *c, uint32_t id, const struct wz_gang *g, const struct wz_set *set, uint32_t n)
{
	const struct wz_gang *o = &c->gangs.gang[id];
	const struct wz_set *s = &c->gangs.set[o->first_set];

	if (o->n_sets != n || o->link != g->link || o->link_preferred != g->link_preferred ||
	        o->constraint != g->constraint)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (s[i].name != set[i].name || s[i].shape != set[i].shape || s[i].between != set[i].between ||
		        s[i].min != set[i].min || s[i].max != set[i].max || s[i].slots != set[i].slots)
			return false;
	return true;
}

int wz_gang_intern(
        struct wz_core *c, const struct wz_gang *like, const struct wz_set *set, uint32_t n, uint32_t *ret)
{
	struct wz_gangs *t = &c->gangs;
	struct wz_gang g = *like;
	uint32_t id;
	uint64_t at;
	int r;

	g.hash = gang_hash(c, like, set, n);
	for (at = g.hash; (id = wz_map_get(&t->by_hash, at)) != WZ_NONE; at++)
		if (same_gang(c, id, like, set, n)) {
			*ret = id;
			return 0;
		}
	id = t->n;
	if (id == WZ_GANGS_MAX)
		return -E2BIG;
	r = wz_grow(&c->mem, &t->gang, &t->cap, id + 1, sizeof(*t->gang));
	if (r == 0)
		r = wz_grow(&c->mem, &t->set, &t->set_cap, t->n_sets + n, sizeof(*t->set));
	if (r == 0)
		r = wz_map_put(&t->by_hash, at, id);
	if (r < 0)
		return r;
	g.first_set = t->n_sets;
	g.n_sets = n;
	g.min = g.max = g.slots = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct wz_set *s = &t->set[t->n_sets++];
		*s = set[i];
		s->first = g.slots;
		g.slots += s->slots;
		g.min += s->min;
		g.max += s->max;
	}
	t->gang[id] = g;
	t->n++;
	*ret = id;
	return 0;
}

/* ---- what a submission says ---- */

static int no_room(struct wz_err *err, int r)
{
	return wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany", WZ_STR("no room to apply this event"));
}

/* A profile comes from a parser or from a journal: what the code relies on is checked again. */
int wz_profile_check(const struct wz_profile *p, struct wz_err *err)
{
	const uint64_t bytes_max = (uint64_t)WZ_BYTES_MAX;

	if (!p || p->tasks_min < 1 || p->tasks_max < p->tasks_min || p->tasks_max > WZ_JOB_TASKS_MAX)
		return wz_err_set(err, -EINVAL, "BadProfile", WZ_STR("a job needs 1 to 65536 tasks"));
	if (p->gpus > WZ_NODE_DEVICES_MAX || p->share_milli >= WZ_WHOLE || (p->gpus && p->share_milli) ||
	        p->gpu_mem_bytes > bytes_max || p->gpu_mem_total_bytes > bytes_max ||
	        p->cu_milli > (uint64_t)WZ_CPU_MILLI_MAX || p->cpu_milli > (uint64_t)WZ_CPU_MILLI_MAX ||
	        p->mem_bytes > bytes_max || p->n_types > WZ_PROFILE_TYPES_MAX || (unsigned)p->link > WZ_LINK_RACK ||
	        p->free_pct > 100 ||
	        (p->gpu_mig && p->gpu_mig != WZ_PARTITION_AUTO && !wz_partition_find(p->gpu_mig)) ||
	        (unsigned)p->kind > WZ_KIND_SERVICE)
		return wz_err_set(err, -EINVAL, "BadProfile", WZ_STR("the profile is out of range"));
	return 0;
}

/* One place at most can be required to hold a whole gang. */
static int check_levels(
        const struct wz_core *c, enum wz_link link, bool preferred, uint32_t constraint, struct wz_err *err)
{
	const struct wz_constraint *k = &c->between.constraint[constraint];
	unsigned required = (link == WZ_LINK_NODE || link == WZ_LINK_RACK) && !preferred;

	for (uint32_t i = 0; i < k->n_term; i++)
		required += k->term[i].kind == WZ_TERM_TOGETHER && k->term[i].weight == 0;
	return required > 1
	               ? wz_err_set(err, -EINVAL, "BadConstraint",
	                         WZ_STR("one place at most can be required to hold a whole gang (link, together)"))
	               : 0;
}

static int ask_of(struct wz_core *c, struct wz_str text, uint32_t n, const struct wz_label *label,
        uint32_t *ret_constraint, uint32_t *ret_between, struct wz_err *err)
{
	uint32_t labels;
	int r = wz_labels_register(c, n, label, &labels, err);

	if (r == 0)
		r = wz_constraint_register(c, text, ret_constraint, err);
	if (r < 0)
		return r;
	r = wz_asked_register(
	        c, c->between.constraint[*ret_constraint].n_term ? *ret_constraint : 0, labels, ret_between);
	return r < 0 ? no_room(err, r) : 0;
}

static int set_of(struct wz_core *c, const struct wz_ev_submit *s, const struct wz_ev_set *e, struct wz_set *ret,
        struct wz_err *err)
{
	bool own_labels = e->n_labels > 0;
	uint32_t constraint = 0;
	wz_shape_id shape;
	int r = wz_profile_check(e->profile, err);

	if (r < 0)
		return r;
	if (e->name.len == 0 || !wz_constraint_word(e->name))
		return wz_err_set(
		        err, -EINVAL, "BadSet", WZ_STR("a set of tasks needs a name of letters, digits and -_./"));
	r = ask_of(c, e->constraint.len ? e->constraint : s->constraint, own_labels ? e->n_labels : s->n_labels,
	        own_labels ? e->label : s->label, &constraint, &ret->between, err);
	if (r < 0)
		return r;
	r = wz_shape_register(c, e->profile, constraint, &shape);
	if (r == 0)
		r = wz_strtab_add(&c->model.names, e->name, &ret->name);
	ret->shape = shape.v;
	ret->min = e->profile->tasks_min;
	ret->max = ret->slots = e->profile->tasks_max;
	return r < 0 ? no_room(err, r) : 0;
}

static int gang_of(struct wz_core *c, const struct wz_ev_submit *s, struct wz_job_asks *ret, struct wz_err *err)
{
	struct wz_set set[WZ_JOB_SETS_MAX];
	struct wz_gang g = {.link = (uint8_t)s->profile->link, .link_preferred = s->profile->link_preferred};
	uint32_t tasks = 0, between;
	int r;

	if (s->n_sets > WZ_JOB_SETS_MAX || !s->set)
		return wz_err_set(err, -E2BIG, "TooManySets", WZ_STR("a job has at most 64 sets of tasks"));
	if (g.link != WZ_LINK_NODE && g.link != WZ_LINK_RACK)
		g.link = g.link_preferred = 0;
	for (uint32_t i = 0; i < s->n_sets; i++) {
		memset(&set[i], 0, sizeof(set[i]));
		r = set_of(c, s, &s->set[i], &set[i], err);
		if (r < 0)
			return r;
		for (uint32_t k = 0; k < i; k++)
			if (set[k].name == set[i].name)
				return wz_err_set(err, -EINVAL, "BadSet", WZ_STR("two sets of tasks are named "),
				        s->set[i].name);
		tasks += set[i].slots;
		if (tasks > WZ_JOB_TASKS_MAX)
			return wz_err_set(err, -EINVAL, "BadProfile", WZ_STR("a job needs 1 to 65536 tasks"));
	}
	r = ask_of(c, s->constraint, 0, NULL, &g.constraint, &between, err);
	if (r == 0)
		r = check_levels(c, (enum wz_link)g.link, g.link_preferred, g.constraint, err);
	if (r < 0)
		return r;
	r = wz_gang_intern(c, &g, set, s->n_sets, &ret->gang);
	if (r < 0)
		return no_room(err, r);
	ret->shape = set[0].shape;
	ret->between = set[0].between;
	ret->tasks_min = c->gangs.gang[ret->gang].min;
	ret->tasks_max = ret->n_tasks = tasks;
	return 0;
}

int wz_gang_of_submit(struct wz_core *c, const struct wz_ev_submit *s, struct wz_job_asks *ret, struct wz_err *err)
{
	uint32_t constraint = 0;
	wz_shape_id shape;
	int r = 0;

	if (s->n_sets)
		return gang_of(c, s, ret, err);
	*ret = (struct wz_job_asks){.tasks_min = s->profile->tasks_min,
	        .tasks_max = s->profile->tasks_max,
	        .n_tasks = s->profile->tasks_max};
	if (s->n_labels || s->constraint.len) {
		r = ask_of(c, s->constraint, s->n_labels, s->label, &constraint, &ret->between, err);
		if (r == 0)
			r = check_levels(c, s->profile->link, s->profile->link_preferred, constraint, err);
	}
	if (r < 0)
		return r;
	r = wz_shape_register(c, s->profile, constraint, &shape);
	if (r < 0)
		return no_room(err, r);
	ret->shape = shape.v;
	return 0;
}

/* ---- how many there are ---- */

static bool is_live(const struct wz_task *t)
{
	return t->state == WZ_TASK_ASSUMED || t->state == WZ_TASK_RUNNING || t->state == WZ_TASK_DONE;
}

uint32_t wz_set_live(const struct wz_core *c, const struct wz_job *j, const struct wz_set *s)
{
	const struct wz_task *t = &c->jobs.task[j->first_task + s->first];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->slots; i++)
		n += is_live(&t[i]);
	return n;
}

bool wz_job_enough(const struct wz_core *c, const struct wz_job *j, uint32_t task, uint32_t less)
{
	const struct wz_gang *g = &c->gangs.gang[j->gang];

	if (!j->gang)
		return wz_job_live(j) >= j->tasks_min + less;
	for (uint32_t i = 0; i < g->n_sets; i++) {
		const struct wz_set *s = &c->gangs.set[g->first_set + i];
		bool of_it = task - j->first_task >= s->first && task - j->first_task < s->first + s->slots;
		if (wz_set_live(c, j, s) < s->min + (of_it ? less : 0))
			return false;
	}
	return true;
}

uint32_t wz_job_live(const struct wz_job *j)
{
	return j->placed - j->stopping + j->done;
}

static bool wants_attention(const struct wz_job *j)
{
	uint32_t live = wz_job_live(j);

	if (!j->used || j->state != WZ_JOB_RUNNING)
		return false;
	/* A job of which tasks are done is on its way out: it does not grow any more. */
	return live != j->told || live > j->tasks_max || (live < j->tasks_max && (j->done == 0 || j->below));
}

void wz_job_attend(struct wz_core *c, uint32_t slot)
{
	struct wz_job *j = &c->jobs.job[slot];
	bool wants = wants_attention(j);

	if (wants == (j->attention_at != WZ_ID_NONE))
		return;
	if (wants) {
		wz_check(c->n_attention < c->attention_cap); /* room for every job is made when it is added */
		j->attention_at = c->n_attention;
		c->attention[c->n_attention++] = slot;
		return;
	}
	c->attention[j->attention_at] = c->attention[--c->n_attention];
	c->jobs.job[c->attention[j->attention_at]].attention_at = j->attention_at;
	j->attention_at = WZ_ID_NONE;
}

/* ---- another number of tasks ---- */

static int no_resize(struct wz_err *err, const char *why)
{
	return wz_err_set(err, -EINVAL, "BadResize", wz_str(why));
}

/* The gang of the job with one set resized. */
static int resized_gang(
        struct wz_core *c, const struct wz_job *j, const struct wz_event *e, uint32_t *ret, struct wz_err *err)
{
	struct wz_gang g = c->gangs.gang[j->gang];
	uint32_t name = wz_strtab_find(&c->model.names, e->u.resize.set), at = 0;
	struct wz_set set[WZ_JOB_SETS_MAX];
	int r;

	memcpy(set, &c->gangs.set[g.first_set], g.n_sets * sizeof(*set));
	while (at < g.n_sets && (name == WZ_NONE || set[at].name != name))
		at++;
	if (at == g.n_sets)
		return wz_err_set(
		        err, -ENOENT, "NoSuchSet", WZ_STR("the job has no set of tasks named "), e->u.resize.set);
	if (e->u.resize.tasks_max > set[at].slots)
		return no_resize(err, "a set of tasks cannot have more than it was submitted with");
	set[at].min = e->u.resize.tasks_min;
	set[at].max = e->u.resize.tasks_max;
	r = wz_gang_intern(c, &g, set, g.n_sets, ret);
	return r < 0 ? no_room(err, r) : 0;
}

/* What a resize leads to, with all room made; applied by wz_gang_resize. */
static int plan_resize(
        struct wz_core *c, uint32_t slot, const struct wz_event *e, struct wz_class *key, struct wz_err *err)
{
	uint32_t min = e->u.resize.tasks_min, max = e->u.resize.tasks_max, n_tasks;
	struct wz_job *j = &c->jobs.job[slot];
	int r = 0;

	if (j->state == WZ_JOB_ENDING || c->jobs.task[j->first_task].observed)
		return no_resize(err, "the job is ending, or is not ours");
	if (min < 1 || max < min || max > WZ_JOB_TASKS_MAX)
		return no_resize(err, "a job needs 1 to 65536 tasks, the minimum first");
	*key = (struct wz_class){.shape = j->shape,
	        .between = j->between,
	        .gang = j->gang,
	        .tasks_min = min,
	        .tasks_max = max,
	        .priority = j->priority,
	        .account = j->account};
	if (j->gang) {
		r = resized_gang(c, j, e, &key->gang, err);
		if (r < 0)
			return r;
		key->tasks_min = c->gangs.gang[key->gang].min;
		key->tasks_max = c->gangs.gang[key->gang].max;
	} else if (e->u.resize.set.len) {
		return wz_err_set(err, -ENOENT, "NoSuchSet", WZ_STR("the tasks of the job are all alike"));
	}
	n_tasks = key->tasks_max > j->n_tasks ? key->tasks_max : j->n_tasks;
	r = wz_job_reserve(c, n_tasks);
	if (r == 0)
		r = wz_jobs_grow(c, slot, n_tasks);
	return r < 0 ? no_room(err, r) : 0;
}

int wz_gang_resize(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t slot = wz_jobs_find(c, e->u.resize.job), class_id;
	struct wz_class key;
	struct wz_job *j;
	int r;

	if (slot == WZ_ID_NONE)
		return wz_err_set(err, -ENOENT, "NoSuchJob", WZ_STR("there is no live job of that number"));
	r = plan_resize(c, slot, e, &key, err);
	if (r < 0)
		return r;
	r = wz_order_class(c, &key, &class_id);
	if (r < 0)
		return no_room(err, r);
	j = &c->jobs.job[slot];
	wz_job_expect(c, slot, -1);
	if (j->state == WZ_JOB_WAITING)
		wz_job_dequeue(c, slot);
	wz_holds_drop_of(c, slot); /* they were for what it asked before */
	j->class_id = class_id;
	j->gang = key.gang;
	j->tasks_min = key.tasks_min;
	j->tasks_max = key.tasks_max;
	if (!j->gang && j->n_tasks < j->tasks_max)
		j->n_tasks = j->tasks_max;
	if (j->state == WZ_JOB_WAITING)
		wz_job_enqueue(c, slot);
	wz_job_expect(c, slot, 1);
	if (j->state == WZ_JOB_RUNNING) {
		j->told = 0; /* to be told, whatever it comes to */
		wz_job_mend(c, slot);
		j->below = !wz_job_enough(c, j, j->first_task, 0); /* raising the minimum ends nothing */
	}
	wz_job_rehash(c, slot);
	return 0;
}

/* The last set that has too many, then the last that can spare one; of it the highest number. */
uint32_t wz_gang_surplus(const struct wz_core *c, const struct wz_job *j, uint32_t n)
{
	struct wz_set one;
	uint32_t n_sets, live[WZ_JOB_SETS_MAX], best = WZ_ID_NONE;
	const struct wz_set *set = wz_job_sets(c, j, &one, &n_sets);

	for (uint32_t i = 0; i < n_sets; i++)
		live[i] = j->gang ? wz_set_live(c, j, &set[i]) : wz_job_live(j);
	for (uint32_t i = n_sets; i-- > 0 && best == WZ_ID_NONE;)
		if (live[i] > set[i].max)
			best = i;
	for (uint32_t i = n_sets; i-- > 0 && best == WZ_ID_NONE && wz_job_live(j) > n;)
		if (live[i] > set[i].min)
			best = i;
	if (best == WZ_ID_NONE)
		return WZ_ID_NONE;
	for (uint32_t i = set[best].slots; i-- > 0;) {
		uint32_t t = j->first_task + set[best].first + i;
		if (c->jobs.task[t].state == WZ_TASK_ASSUMED || c->jobs.task[t].state == WZ_TASK_RUNNING)
			return t;
	}
	return WZ_ID_NONE;
}
