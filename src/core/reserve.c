/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations of people: whole nodes or a number of devices, from a time to a time. Nobody else starts there who could
 * still run then. What already runs is not stopped: a job without a time limit may reach into a reservation. Which nodes
 * give a number of devices is chosen anew by each step, from the front of the stable order, by what is free at the
 * beginning: as others are kept away from them, the choice holds. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/hash.h"

static uint32_t find(const struct wz_core *c, struct wz_str name)
{
	uint32_t id = wz_strtab_find(&c->model.names, name);

	for (uint32_t i = 0; id != WZ_NONE && i < c->reservations.n; i++)
		if (c->reservations.r[i].name == id)
			return i;
	return WZ_ID_NONE;
}

void wz_reservation_text(const struct wz_core *c, uint32_t i, struct wz_buf *b)
{
	const struct wz_reservation *r = &c->reservations.r[i];
	struct wz_reserve_rules rules = r->rules;

	for (uint32_t k = 0; k < rules.n_nodes; k++)
		rules.node[k] = wz_strtab_get(&c->model.names, r->node_name[k]);
	rules.queue = r->queue == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&c->model.names, r->queue);
	rules.user = r->user == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&c->model.names, r->user);
	wz_reserve_rules_format(&rules, b);
}

uint64_t wz_reservation_hash(const struct wz_core *c, uint32_t i)
{
	char text[WZ_RULES_TEXT_MAX];
	struct wz_buf b;

	wz_buf_init_fixed(&b, text, sizeof(text));
	wz_reservation_text(c, i, &b);
	return wz_hash_str(
	        wz_hash_str(0x4e5e4f, wz_strtab_get(&c->model.names, c->reservations.r[i].name)), wz_buf_str(&b));
}

static void drop(struct wz_core *c, uint32_t i)
{
	struct wz_reservations *s = &c->reservations;

	c->sum -= s->r[i].hash;
	wz_mem_free(&c->mem, s->r[i].node_name, s->r[i].rules.n_nodes * sizeof(uint32_t));
	for (s->n--; i < s->n; i++)
		s->r[i] = s->r[i + 1];
}

static int intern(struct wz_core *c, struct wz_str s, uint32_t *ret)
{
	*ret = WZ_ID_NONE;
	return s.len ? wz_strtab_add(&c->model.names, s, ret) : 0;
}

static int set(struct wz_core *c, struct wz_str name, struct wz_str text, struct wz_err *err)
{
	struct wz_reservations *s = &c->reservations;
	struct wz_reservation r = {0};
	uint32_t i = find(c, name);
	int e = wz_reserve_rules_parse(text, &c->catalogue, &r.rules, err);

	if (e < 0)
		return e;
	if (!wz_queue_name_ok(name))
		return wz_err_set(err, -EINVAL, "BadName",
		        WZ_STR("name: a reservation has a name of 1 to 63 letters, digits, '.', '_' and '-'"));
	if (i == WZ_ID_NONE && s->n == WZ_RESERVATIONS_MAX)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("there are at most 1024 reservations"));
	if (r.rules.n_nodes && !(r.node_name = wz_mem_zalloc(&c->mem, r.rules.n_nodes * sizeof(uint32_t))))
		e = -ENOMEM;
	for (uint32_t k = 0; e == 0 && k < r.rules.n_nodes; k++)
		e = wz_strtab_add(&c->model.names, r.rules.node[k], &r.node_name[k]);
	if (e == 0)
		e = intern(c, name, &r.name);
	if (e == 0)
		e = intern(c, r.rules.queue, &r.queue);
	if (e == 0)
		e = intern(c, r.rules.user, &r.user);
	if (e == 0)
		e = wz_grow(&c->mem, &s->r, &s->cap, s->n + 1, sizeof(*s->r));
	if (e < 0) {
		wz_mem_free(&c->mem, r.node_name, r.rules.n_nodes * sizeof(uint32_t));
		return wz_err_set(
		        err, e, e == -ENOMEM ? "OutOfMemory" : "TooMany", WZ_STR("no room for a reservation"));
	}
	if (i != WZ_ID_NONE)
		drop(c, i);
	s->r[s->n++] = r;
	s->r[s->n - 1].hash = wz_reservation_hash(c, s->n - 1);
	c->sum += s->r[s->n - 1].hash;
	return 0;
}

int wz_reservation_set(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	return set(c, e->u.rules.name, e->u.rules.text, err);
}

int wz_reservation_restore(struct wz_core *c, struct wz_str name, struct wz_str rules, struct wz_err *err)
{
	return find(c, name) == WZ_ID_NONE
	               ? set(c, name, rules, err)
	               : wz_err_set(err, -EINVAL, "BadName", WZ_STR("a reservation is there twice"));
}

int wz_reservation_remove(struct wz_core *c, const struct wz_event *e, struct wz_err *err)
{
	uint32_t i = find(c, e->u.rules.name);

	if (i == WZ_ID_NONE)
		return wz_err_set(
		        err, -ENOENT, "NoSuchReservation", WZ_STR("there is no reservation of that name"));
	drop(c, i);
	return 0;
}

void wz_reservations_expire(struct wz_core *c)
{
	for (uint32_t i = c->reservations.n; i-- > 0;)
		if (c->reservations.r[i].rules.to_us <= c->now_us)
			drop(c, i);
}

void wz_reservations_release(struct wz_core *c)
{
	while (c->reservations.n)
		drop(c, c->reservations.n - 1);
	wz_grow_free(&c->mem, &c->reservations.r, &c->reservations.cap, sizeof(*c->reservations.r));
	wz_grow_free(&c->mem, &c->gate.e, &c->gate.cap, sizeof(*c->gate.e));
	wz_grow_free(&c->mem, &c->gate.head, &c->gate.head_cap, sizeof(*c->gate.head));
}

bool wz_reservation_for(const struct wz_core *c, uint32_t i, uint32_t slot)
{
	const struct wz_reservation *r = &c->reservations.r[i];
	const struct wz_job *j = &c->jobs.job[slot];

	if (r->queue == WZ_ID_NONE && r->user == WZ_ID_NONE)
		return false;
	if (r->user != WZ_ID_NONE && j->user != r->user)
		return false;
	if (r->queue == WZ_ID_NONE)
		return true;
	if (j->account == WZ_ID_NONE)
		return j->queue == r->queue;
	for (uint32_t q = c->queues.acc[j->account].queue; q != WZ_ID_NONE; q = c->queues.q[q].parent)
		if (c->queues.q[q].name == r->queue)
			return true;
	return false;
}

/* ---- the entries of a step ---- */

static int add(struct wz_core *c, uint32_t node, const struct wz_entry *e)
{
	int r = wz_grow(&c->mem, &c->gate.e, &c->gate.cap, c->gate.n + 1, sizeof(*c->gate.e));

	if (r == 0)
		(void)wz_gate_add(c, node, e);
	return r;
}

static int add_nodes(struct wz_core *c, uint32_t i)
{
	const struct wz_reservation *r = &c->reservations.r[i];
	struct wz_entry e = {.from_us = r->rules.from_us, .to_us = r->rules.to_us, .firm = true, .reservation = i};
	int rc = 0;

	for (uint32_t n = 0; rc == 0 && n < c->model.n_nodes; n++)
		for (uint32_t k = 0; rc == 0 && k < r->rules.n_nodes; k++)
			if (c->model.node[n].name && c->model.node[n].name - 1 == r->node_name[k])
				rc = add(c, n, &e);
	return rc;
}

/* What of a node is free when the reservation begins. */
struct room {
	int32_t whole, held;
	int64_t cpu, mem;
};

static bool of_model(const struct wz_core *c, const struct wz_reserve_rules *v, const struct wz_node *n)
{
	uint16_t model = n->n_dev ? c->model.dev[n->first_dev].model : WZ_MODEL_NONE;

	return n->n_dev && (v->any_model || (model < WZ_MODELS_MAX && wz_model_set_has(&v->set, model)));
}

static void look_ahead(struct wz_core *c, uint32_t i, struct room *room)
{
	const struct wz_reserve_rules *v = &c->reservations.r[i].rules;
	uint64_t at = v->from_us > c->now_us ? v->from_us : c->now_us;

	for (uint32_t n = 0; n < c->model.n_nodes; n++) {
		const struct wz_node *k = &c->model.node[n];
		room[n] = (struct room){.whole = k->whole, .cpu = k->cpu_free, .mem = k->mem_free};
	}
	for (uint32_t k = 0; k < c->future.n_end; k++) {
		const struct wz_task *t = &c->jobs.task[c->future.end[k].task];
		int32_t devices = t->dev_milli == WZ_WHOLE ? __builtin_popcountll(t->devices) : 0;
		if (v->from_us <= c->now_us && wz_reservation_for(c, i, t->job))
			room[t->node].held += devices;
		if (c->future.end[k].at_us > at)
			continue;
		room[t->node].whole += devices;
		room[t->node].cpu += t->cpu;
		room[t->node].mem += t->mem;
	}
}

static int add_devices(struct wz_core *c, uint32_t i, struct room *room)
{
	const struct wz_reserve_rules *v = &c->reservations.r[i].rules;
	const struct wz_model_state *m = &c->model;
	int64_t left = v->gpus, there = 0;
	int rc = 0;

	look_ahead(c, i, room);
	for (uint32_t k = 0; k < m->n_ranked; k++) {
		const struct wz_node *n = &m->node[m->by_rank[k]];
		if (!of_model(c, v, n))
			continue;
		left -= room[m->by_rank[k]].held;
		there += WZ_NODE_USABLE(n) ? room[m->by_rank[k]].whole : 0;
	}
	for (uint32_t k = 0; rc == 0 && left > 0 && k < m->n_ranked; k++) {
		uint32_t node = m->by_rank[k];
		const struct wz_node *n = &m->node[node];
		int32_t give = left < room[node].whole ? (int32_t)left : room[node].whole;
		struct wz_entry e = {.from_us = v->from_us,
		        .to_us = v->to_us,
		        .firm = true,
		        .reservation = i,
		        .tasks = INT32_MAX};
		if (!of_model(c, v, n) || !WZ_NODE_USABLE(n) || (give <= 0 && there >= left))
			continue;
		give = give > 0 ? give : 0;
		e.whole = room[node].whole > give ? room[node].whole - give : 0;
		e.cpu = room[node].cpu - n->cpu / n->n_dev * give;
		e.mem = room[node].mem - n->mem / n->n_dev * give;
		rc = add(c, node, &e);
		left -= give;
		there -= give;
	}
	return rc;
}

int wz_gate_begin(struct wz_core *c, bool plan)
{
	struct wz_gate *g = &c->gate;
	struct room *room = NULL;
	size_t size = (c->model.n_nodes + 1ull) * sizeof(*room);
	int r = 0;

	g->slot = WZ_ID_NONE;
	g->n = 0;
	g->on = false;
	c->future.on = false;
	if (c->queues.n == 0 && c->reservations.n == 0 && !plan)
		return 0; /* nobody is held back: no entry will be asked for */
	r = wz_grow(&c->mem, &g->head, &g->head_cap, c->model.n_nodes, sizeof(*g->head));
	for (uint32_t i = 0; r == 0 && i < c->model.n_nodes; i++)
		g->head[i] = WZ_ID_NONE;
	for (uint32_t i = 0; r == 0 && i < c->reservations.n; i++) {
		if (c->reservations.r[i].rules.n_nodes) {
			r = add_nodes(c, i);
			continue;
		}
		if (!room && !(room = wz_mem_alloc(&c->mem, size)))
			r = -ENOMEM;
		if (r == 0 && !c->future.on)
			r = wz_future_begin(c, NULL, NULL);
		if (r == 0)
			r = add_devices(c, i, room);
	}
	wz_mem_free(&c->mem, room, size);
	return r;
}
