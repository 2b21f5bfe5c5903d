/* SPDX-License-Identifier: Apache-2.0 */
/* Appending is all or nothing: strings are copied into the arena first (an arena keeps what a failed append left, which
 * costs memory and nothing else), the index entry and the element come last. */
#include "sim/workload.h"

#include "base/quant.h"
#include "sim/elastic.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"
#include "base/near.h"

#define ARENA_BLOCK 65536u

static int out_of_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

void wz_sim_nodes_init(struct wz_sim_nodes *s, const struct wz_mem *mem, struct wz_catalogue *catalogue)
{
	*s = (struct wz_sim_nodes){.mem = mem, .catalogue = catalogue};
	wz_arena_init(&s->arena, mem, ARENA_BLOCK);
	wz_strtab_init(&s->names, mem);
	wz_strtab_init(&s->model_names, mem);
}

void wz_sim_nodes_release(struct wz_sim_nodes *s)
{
	wz_grow_free(s->mem, &s->node, &s->cap, sizeof *s->node);
	wz_grow_free(s->mem, &s->model, &s->model_cap, sizeof *s->model);
	wz_strtab_release(&s->names);
	wz_strtab_release(&s->model_names);
	wz_arena_release(&s->arena);
	s->n = s->n_models = 0;
}

void wz_sim_tasks_init(struct wz_sim_tasks *s, const struct wz_mem *mem)
{
	*s = (struct wz_sim_tasks){.mem = mem};
	wz_arena_init(&s->arena, mem, ARENA_BLOCK);
	wz_strtab_init(&s->names, mem);
	wz_strtab_init(&s->profile_keys, mem);
	wz_strtab_init(&s->speed_keys, mem);
}

void wz_sim_tasks_release(struct wz_sim_tasks *s)
{
	wz_grow_free(s->mem, &s->task, &s->cap, sizeof *s->task);
	wz_grow_free(s->mem, &s->profile, &s->profile_cap, sizeof *s->profile);
	wz_strtab_release(&s->names);
	wz_strtab_release(&s->profile_keys);
	wz_strtab_release(&s->speed_keys);
	wz_grow_free(s->mem, &s->speeds, &s->speeds_cap, sizeof *s->speeds);
	wz_grow_free(s->mem, &s->spot, &s->spot_cap, sizeof *s->spot);
	wz_elastic_free(s->elastic);
	s->elastic = NULL;
	wz_arena_release(&s->arena);
	s->n = s->n_profiles = 0;
}

/* Copies and terminates; the empty string needs no memory. */
static int copy_str(struct wz_arena *a, struct wz_str s, struct wz_str *ret)
{
	if (s.len == 0) {
		*ret = WZ_STR("");
		return 0;
	}
	char *p = wz_arena_alloc(a, s.len + 1);
	if (!p)
		return -ENOMEM;
	memcpy(p, s.ptr, s.len);
	*ret = (struct wz_str){p, s.len};
	return 0;
}

static int check_name(struct wz_str name, const char *what, bool may_be_empty, struct wz_err *err)
{
	struct wz_num n;
	if (name.len == 0 && !may_be_empty)
		return wz_err_set(err, -EINVAL, "BadName", wz_str(what), WZ_STR(" is empty"));
	if (name.len > WZ_SIM_NAME_MAX)
		return wz_err_set(err, -EINVAL, "BadName", wz_str(what), WZ_STR(" has "), wz_str_u64(&n, name.len),
		        WZ_STR(" bytes; at most 253 are accepted"));
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
			return wz_err_set(err, -EINVAL, "BadName", wz_str(what), WZ_STR(" holds a control byte"));
	return 0;
}

static int duplicate(struct wz_str name, const char *what, struct wz_err *err)
{
	return wz_err_set(err, -EEXIST, "DuplicateName", WZ_STR("the "), wz_str(what), WZ_STR(" name \""), name,
	        WZ_STR("\" is used twice; names must be unique"));
}

static int out_of_range(struct wz_err *err, const char *what, int64_t value, int64_t max)
{
	struct wz_num a, b;
	return wz_err_set(err, -ERANGE, "OutOfRange", wz_str(what), WZ_STR(" is "), wz_str_i64(&a, value),
	        WZ_STR("; expected 0.."), wz_str_i64(&b, max));
}

static int too_many(struct wz_err *err, const char *what, uint64_t max)
{
	struct wz_num n;
	return wz_err_set(
	        err, -E2BIG, "TooMany", WZ_STR("more than "), wz_str_u64(&n, max), WZ_STR(" "), wz_str(what));
}

/* ---- models ---- */

static int copy_z(struct wz_arena *a, const char *z, const char **ret)
{
	struct wz_str copy;
	if (!z) {
		*ret = NULL;
		return 0;
	}
	int rc = copy_str(a, wz_str(z), &copy);
	if (rc == 0)
		*ret = copy.ptr;
	return rc;
}

int wz_sim_nodes_model(struct wz_sim_nodes *s, struct wz_str name, const struct wz_model *facts, wz_model_id *ret,
        struct wz_err *err)
{
	uint32_t at = wz_strtab_find(&s->model_names, name);
	if (at != WZ_NONE) {
		*ret = s->model[at].id;
		return 0;
	}
	struct wz_sim_model m = {.has_facts = facts != NULL};
	int rc = check_name(name, "the model name", false, err);
	if (rc < 0)
		return rc;
	if (facts)
		m.facts = *facts;
	if (wz_grow(s->mem, &s->model, &s->model_cap, s->n_models + 1, sizeof *s->model) < 0 ||
	        copy_str(&s->arena, name, &m.name) < 0 || copy_z(&s->arena, m.facts.vendor, &m.facts.vendor) < 0)
		return out_of_memory(err);
	m.facts.name = m.name.ptr;
	rc = wz_catalogue_declare(s->catalogue, m.name, facts ? &m.facts : NULL, &m.id, err);
	if (rc < 0)
		return rc;
	if (wz_strtab_add(&s->model_names, name, &at) < 0)
		return out_of_memory(err);
	s->model[s->n_models++] = m;
	*ret = m.id;
	return 0;
}

const struct wz_sim_model *wz_sim_nodes_find_model(const struct wz_sim_nodes *s, struct wz_str name)
{
	uint32_t at = wz_strtab_find(&s->model_names, name);
	return at == WZ_NONE ? NULL : &s->model[at];
}

struct wz_str wz_sim_nodes_model_name(const struct wz_sim_nodes *s, wz_model_id id)
{
	for (uint32_t i = 0; i < s->n_models; i++)
		if (s->model[i].id.v == id.v)
			return s->model[i].name;
	return WZ_STR("");
}

static int unknown_model(const struct wz_sim_nodes *s, struct wz_str model, struct wz_err *err)
{
	struct wz_near near;
	struct wz_buf b;
	char all[128];
	if (model.len > 64)
		model.len = 64;
	wz_near_init(&near, model);
	wz_buf_init_fixed(&b, all, sizeof all);
	for (uint32_t i = 0; i < s->n_models; i++) {
		wz_near_offer(&near, s->model[i].name);
		wz_buf_addz(&b, i ? ", " : "");
		wz_buf_add(&b, s->model[i].name);
	}
	return wz_err_set(err, -ENOENT, "UnknownModel", WZ_STR("the model \""), model, WZ_STR("\" is of no node; "),
	        near.best.len ? WZ_STR("nearest: ") : WZ_STR("expected of: "),
	        near.best.len ? near.best : wz_buf_str(&b));
}

int wz_sim_nodes_spec(struct wz_sim_nodes *s, struct wz_str spec, struct wz_model_set *set, struct wz_err *err)
{
	struct wz_model_set all = *set;
	while (spec.ptr) {
		struct wz_str name = wz_str_trim(wz_str_split(&spec, '|'));
		const struct wz_sim_model *m = wz_sim_nodes_find_model(s, name);
		wz_model_id id = m ? m->id : (wz_model_id){WZ_MODEL_NONE};
		if (name.len == 0)
			return wz_err_set(err, -EBADMSG, "BadList",
			        WZ_STR("the model list has an empty part; expected models joined by \"|\""));
		if (!m && s->n)
			return unknown_model(s, name, err);
		int rc = m ? 0 : wz_sim_nodes_model(s, name, NULL, &id, err);
		if (rc < 0)
			return rc;
		wz_model_set_add(&all, id.v);
	}
	*set = all;
	return 0;
}

int wz_sim_nodes_declare(const struct wz_sim_nodes *s, struct wz_catalogue *catalogue, struct wz_err *err)
{
	for (uint32_t i = 0; i < s->n_models; i++) {
		const struct wz_sim_model *m = &s->model[i];
		wz_model_id id;
		int rc = wz_catalogue_declare(catalogue, m->name, m->has_facts ? &m->facts : NULL, &id, err);
		if (rc < 0)
			return rc;
		if (id.v != m->id.v)
			return wz_err_set(err, -EINVAL, "ModelOrder", WZ_STR("the model \""), m->name,
			        WZ_STR("\" has another number in this catalogue"));
	}
	return 0;
}

/* ---- nodes ---- */

static int check_devices(const struct wz_ev_node *f, struct wz_err *err)
{
	if (f->n_devices > WZ_NODE_DEVICES_MAX)
		return out_of_range(err, "the number of devices", f->n_devices, WZ_NODE_DEVICES_MAX);
	for (uint32_t i = 0; i < f->n_devices; i++) {
		const struct wz_device_facts *d = &f->device[i];
		if (d->mem_bytes < 0 || d->mem_bytes > WZ_BYTES_MAX)
			return out_of_range(err, "device memory", d->mem_bytes, WZ_BYTES_MAX);
		if (d->compute_milli < 1 || d->compute_milli > WZ_WHOLE)
			return out_of_range(err, "device compute", d->compute_milli, WZ_WHOLE);
	}
	return 0;
}

static int check_node(const struct wz_sim_nodes *s, const struct wz_ev_node *f, struct wz_err *err)
{
	int rc = check_name(f->name, "the node name", false, err);
	if (rc == 0)
		rc = check_name(f->site, "the site", true, err);
	if (rc == 0)
		rc = check_name(f->rack, "the rack", true, err);
	if (rc < 0)
		return rc;
	if (s->n == WZ_NODES_MAX)
		return too_many(err, "nodes", WZ_NODES_MAX);
	if (f->cpu_milli < 0 || f->cpu_milli > WZ_CPU_MILLI_MAX)
		return out_of_range(err, "milli CPU", f->cpu_milli, WZ_CPU_MILLI_MAX);
	if (f->mem_bytes < 0 || f->mem_bytes > WZ_BYTES_MAX)
		return out_of_range(err, "memory", f->mem_bytes, WZ_BYTES_MAX);
	if (f->n_labels > WZ_NODE_LABELS_MAX)
		return out_of_range(err, "the number of labels", f->n_labels, WZ_NODE_LABELS_MAX);
	return check_devices(f, err);
}

static int copy_node(struct wz_arena *a, const struct wz_ev_node *f, struct wz_ev_node *ret)
{
	struct wz_ev_node n = *f;
	if (copy_str(a, f->name, &n.name) < 0 || copy_str(a, f->site, &n.site) < 0 ||
	        copy_str(a, f->rack, &n.rack) < 0)
		return -ENOMEM;
	if (f->n_devices) {
		struct wz_device_facts *d = wz_arena_alloc(a, f->n_devices * sizeof *d);
		if (!d)
			return -ENOMEM;
		memcpy(d, f->device, f->n_devices * sizeof *d);
		n.device = d;
	}
	if (f->n_labels) {
		struct wz_label *l = wz_arena_alloc(a, f->n_labels * sizeof *l);
		if (!l)
			return -ENOMEM;
		for (uint32_t i = 0; i < f->n_labels; i++)
			if (copy_str(a, f->label[i].key, &l[i].key) < 0 ||
			        copy_str(a, f->label[i].value, &l[i].value) < 0)
				return -ENOMEM;
		n.label = l;
	}
	*ret = n;
	return 0;
}

int wz_sim_nodes_add(struct wz_sim_nodes *s, const struct wz_ev_node *facts, struct wz_err *err)
{
	struct wz_ev_node n;
	uint32_t id;
	int rc = check_node(s, facts, err);
	if (rc < 0)
		return rc;
	if (wz_strtab_find(&s->names, facts->name) != WZ_NONE)
		return duplicate(facts->name, "node", err);
	if (wz_grow(s->mem, &s->node, &s->cap, s->n + 1, sizeof *s->node) < 0 ||
	        copy_node(&s->arena, facts, &n) < 0 || wz_strtab_add(&s->names, n.name, &id) < 0)
		return out_of_memory(err);
	wz_check(id == s->n);
	n.node.v = id;
	s->node[s->n++] = n;
	return 0;
}

/* ---- tasks ---- */

uint32_t wz_sim_tasks_find_profile(const struct wz_sim_tasks *s, struct wz_str key)
{
	return wz_strtab_find(&s->profile_keys, key);
}

int wz_sim_tasks_add_profile(
        struct wz_sim_tasks *s, struct wz_str key, const struct wz_profile *p, uint32_t *ret, struct wz_err *err)
{
	uint32_t id;
	if (wz_grow(s->mem, &s->profile, &s->profile_cap, s->n_profiles + 1, sizeof *s->profile) < 0 ||
	        wz_strtab_add(&s->profile_keys, key, &id) < 0)
		return out_of_memory(err);
	if (id == s->n_profiles)
		s->profile[s->n_profiles++] = *p;
	*ret = id;
	return 0;
}

static int check_task(const struct wz_sim_tasks *s, const struct wz_sim_task *t, struct wz_err *err)
{
	const int64_t times[] = {t->submit_us, t->start_us, t->end_us, t->run_us};
	int rc = check_name(t->name, "the name", false, err);
	if (rc == 0)
		rc = check_name(t->user, "the user", true, err);
	if (rc == 0)
		rc = check_name(t->queue, "the queue", true, err);
	if (rc < 0)
		return rc;
	if (s->n == WZ_SIM_TASKS_MAX)
		return too_many(err, "jobs", WZ_SIM_TASKS_MAX);
	for (size_t i = 0; i < WZ_ARRAY_LEN(times); i++)
		if (times[i] < -1 || times[i] > WZ_SIM_TIME_MAX_US)
			return out_of_range(err, "a time in microseconds", times[i], WZ_SIM_TIME_MAX_US);
	wz_check(t->profile < s->n_profiles);
	return 0;
}

static void summarise(struct wz_sim_task *t, const struct wz_profile *p)
{
	t->cpu_milli = (int64_t)p->cpu_milli;
	t->mem_bytes = (int64_t)p->mem_bytes;
	t->gpus = p->share_milli ? 1 : p->gpus;
	t->milli = p->share_milli ? p->share_milli : p->gpus ? WZ_WHOLE : 0;
	if (t->gpu_spec.len == 0) {
		t->any_model = p->any_model;
		t->allowed = p->allowed;
	}
	if (t->run_us < 0 && t->start_us >= 0 && t->end_us >= t->start_us)
		t->run_us = t->end_us - t->start_us;
}

int wz_sim_tasks_add(struct wz_sim_tasks *s, const struct wz_sim_task *t, struct wz_err *err)
{
	struct wz_sim_task copy = *t;
	uint32_t id;
	int rc = check_task(s, t, err);
	if (rc < 0)
		return rc;
	if (wz_strtab_find(&s->names, t->name) != WZ_NONE)
		return duplicate(t->name, "pod or job", err);
	if (wz_grow(s->mem, &s->task, &s->cap, s->n + 1, sizeof *s->task) < 0 ||
	        copy_str(&s->arena, t->name, &copy.name) < 0 || copy_str(&s->arena, t->user, &copy.user) < 0 ||
	        copy_str(&s->arena, t->queue, &copy.queue) < 0 ||
	        copy_str(&s->arena, t->gpu_spec, &copy.gpu_spec) < 0 ||
	        copy_str(&s->arena, t->template_, &copy.template_) < 0 ||
	        copy_str(&s->arena, t->load, &copy.load) < 0 || wz_strtab_add(&s->names, copy.name, &id) < 0)
		return out_of_memory(err);
	wz_check(id == s->n);
	summarise(&copy, &s->profile[t->profile]);
	s->task[s->n++] = copy;
	return 0;
}

uint32_t wz_sim_tasks_find_speeds(const struct wz_sim_tasks *s, struct wz_str key)
{
	uint32_t id = wz_strtab_find(&s->speed_keys, key);
	return id == WZ_NONE ? 0 : id + 1;
}

int wz_sim_tasks_speed(
        struct wz_sim_tasks *s, struct wz_str key, struct wz_str model, int64_t micro, struct wz_err *err)
{
	struct wz_sim_speeds *x;
	uint32_t id;
	if (wz_strtab_add(&s->speed_keys, key, &id) < 0 ||
	        wz_grow(s->mem, &s->speeds, &s->speeds_cap, id + 2, sizeof *s->speeds) < 0)
		return out_of_memory(err);
	s->n_speeds = s->speed_keys.len + 1;
	x = &s->speeds[id + 1];
	for (uint32_t i = 0; i < x->n; i++) {
		if (wz_str_eq(x->type[i].model, model)) {
			x->type[i].micro = micro;
			return 0;
		}
	}
	if (x->n == WZ_SIM_SPEEDS_MAX)
		return too_many(err, "device types with a speed", WZ_SIM_SPEEDS_MAX);
	if (copy_str(&s->arena, model, &x->type[x->n].model) < 0)
		return out_of_memory(err);
	x->type[x->n++].micro = micro;
	return 0;
}

int wz_sim_load_next(struct wz_str *rest, int64_t *ret_us, uint32_t *ret_replicas)
{
	uint64_t us, n;
	if (!rest->ptr || rest->len == 0)
		return 0;
	struct wz_str replicas = wz_str_split(rest, ','), time = wz_str_split(&replicas, ':');
	if (wz_duration_parse(time, &us, NULL) < 0 || us > (uint64_t)WZ_SIM_TIME_MAX_US || !replicas.ptr ||
	        wz_str_parse_u64(replicas, &n) < 0 || n > WZ_JOB_TASKS_MAX)
		return -EBADMSG;
	*ret_us = (int64_t)us;
	*ret_replicas = (uint32_t)n;
	return 1;
}

int wz_sim_load_check(struct wz_str load, struct wz_err *err)
{
	int64_t at = -1, next;
	uint32_t n;
	int rc;
	while ((rc = wz_sim_load_next(&load, &next, &n)) > 0 && next > at)
		at = next;
	return rc == 0 && at >= 0 ? 0
	                          : wz_err_set(err, -EBADMSG, "BadLoad",
	                                    WZ_STR("the load is not TIME:REPLICAS,... with rising times; expected "
	                                           "such as 0s:2,6h:5"));
}

void wz_sim_tasks_rebase(struct wz_sim_tasks *s, uint32_t from, int64_t first_us)
{
	if (s->epoch_us == 0)
		s->epoch_us = first_us;
	for (uint32_t i = from; i < s->n; i++) {
		int64_t *time[3] = {&s->task[i].submit_us, &s->task[i].start_us, &s->task[i].end_us};
		for (int k = 0; k < 3; k++)
			if (*time[k] >= 0)
				*time[k] = *time[k] > s->epoch_us ? *time[k] - s->epoch_us : 0;
	}
}

/* ---- sums and digest ---- */

struct wz_sim_totals wz_sim_nodes_totals(const struct wz_sim_nodes *s)
{
	struct wz_sim_totals t = {0};
	for (uint32_t i = 0; i < s->n; i++) {
		const struct wz_ev_node *n = &s->node[i];
		t.cpu_milli = wz_usat_add(t.cpu_milli, (uint64_t)n->cpu_milli);
		t.mem_bytes = wz_usat_add(t.mem_bytes, (uint64_t)n->mem_bytes);
		t.gpus += n->n_devices;
		for (uint32_t d = 0; d < n->n_devices; d++)
			t.gpu_milli += (uint64_t)n->device[d].compute_milli;
	}
	return t;
}

struct wz_sim_totals wz_sim_tasks_totals(const struct wz_sim_tasks *s)
{
	struct wz_sim_totals t = {0};
	for (uint32_t i = 0; i < s->n; i++) {
		const struct wz_sim_task *k = &s->task[i];
		uint64_t tasks = s->profile[k->profile].tasks_min;
		t.cpu_milli = wz_usat_add(t.cpu_milli, wz_umuldiv((uint64_t)k->cpu_milli, tasks, 1));
		t.mem_bytes = wz_usat_add(t.mem_bytes, wz_umuldiv((uint64_t)k->mem_bytes, tasks, 1));
		t.gpus = wz_usat_add(t.gpus, k->gpus * tasks);
		t.gpu_milli = wz_usat_add(t.gpu_milli, (uint64_t)k->gpus * k->milli * tasks);
	}
	return t;
}

static uint64_t digest_node(uint64_t h, const struct wz_sim_nodes *s, const struct wz_ev_node *n)
{
	h = wz_hash_str(h, n->name);
	h = wz_hash_str(h, n->site);
	h = wz_hash_str(h, n->rack);
	h = wz_hash_u64(h, (uint64_t)n->cpu_milli);
	h = wz_hash_u64(h, (uint64_t)n->mem_bytes);
	h = wz_hash_u64(h, n->max_tasks);
	h = wz_hash_u64(h, n->count_only);
	for (uint32_t i = 0; i < n->n_devices; i++) {
		const struct wz_device_facts *d = &n->device[i];
		h = wz_hash_str(h, wz_sim_nodes_model_name(s, d->model));
		h = wz_hash_u64(h, (uint64_t)d->mem_bytes);
		h = wz_hash_u64(h, (uint64_t)d->compute_milli);
		h = wz_hash_u64(
		        h, (uint64_t)d->link_domain << 32 | (uint64_t)d->partition << 16 | (uint64_t)d->health);
		h = wz_hash_u64(h, (uint64_t)d->card << 16 | (uint64_t)d->numa << 8 | d->pcie);
	}
	for (uint32_t i = 0; i < n->n_labels; i++) {
		h = wz_hash_str(h, n->label[i].key);
		h = wz_hash_str(h, n->label[i].value);
	}
	return h;
}

int wz_sim_digest(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, uint64_t *ret)
{
	struct wz_buf text;
	uint64_t h = wz_hash_u64(wz_hash_u64(0, nodes->n), tasks->n);
	for (uint32_t i = 0; i < nodes->n; i++)
		h = digest_node(h, nodes, &nodes->node[i]);
	wz_buf_init(&text, tasks->mem, WZ_PROFILE_TEXT_MAX);
	for (uint32_t i = 0; i < tasks->n; i++) {
		const struct wz_sim_task *t = &tasks->task[i];
		wz_buf_clear(&text);
		wz_profile_format(wz_sim_task_profile(tasks, t), &text);
		if (text.status < 0) {
			wz_buf_release(&text);
			return text.status;
		}
		h = wz_hash_str(h, t->name);
		h = wz_hash_str(h, t->user);
		h = wz_hash_str(h, t->queue);
		h = wz_hash_str(h, t->gpu_spec);
		h = wz_hash_str(h, wz_buf_str(&text));
		h = wz_hash_u64(h, (uint64_t)(int64_t)t->priority);
		h = wz_hash_u64(h, (uint64_t)t->submit_us);
		h = wz_hash_u64(h, (uint64_t)t->start_us);
		h = wz_hash_u64(h, (uint64_t)t->end_us);
		h = wz_hash_u64(h, (uint64_t)t->run_us);
		if (t->template_.len || t->pinned || t->restart_us || t->load.len)
			h = wz_hash_u64(wz_hash_str(wz_hash_str(h, t->template_), t->load),
			        (uint64_t)t->restart_us << 1 | t->pinned);
	}
	wz_buf_release(&text);
	*ret = h;
	return 0;
}
