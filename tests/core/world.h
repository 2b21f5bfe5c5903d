/* SPDX-License-Identifier: Apache-2.0 */
/* A core under test, the body that drives it, and short words for events. Everything goes through the public API.
 * Every successful call is followed by wz_core_check, every failed one by a look at the digest. */
#ifndef WZ_TESTS_CORE_WORLD_H
#define WZ_TESTS_CORE_WORLD_H

#include "tap.h"
#include "fault.h"

#include "core/core.h"

#define GI ((int64_t)1 << 30)
#define SECOND ((uint64_t)1000000)

struct world {
	struct fault_mem f;
	struct wz_core *c;
	struct wz_plan plan;
	uint64_t now;
	struct wz_err err;
	const char *at; /* what is being done, for messages */
};

/* Devices of a node as the tests write them: a model, and what differs from "one whole healthy device". */
struct dev {
	const char *model;
	int64_t mem; /* 0: the model's; -1: not known */
	uint16_t link;
	uint8_t numa, pcie, health;
	int32_t milli; /* 0: 1000 */
	uint16_t partition;
	uint8_t card;
};

static inline void world_check(struct world *w)
{
	struct wz_err err;
	tap_ok(wz_core_check(w->c, &err) == 0, "%s: %s", w->at, err.text);
}

static inline void world_init_opt(struct world *w, struct wz_core_options o)
{
	*w = (struct world){.at = "init"};
	fault_mem_init(&w->f);
	wz_plan_init(&w->plan, &w->f.mem);
	int r = wz_core_new(&w->f.mem, &o, &w->c, &w->err);
	tap_eq_i64(r, 0, "wz_core_new");
}

static inline void world_init(struct world *w) { world_init_opt(w, (struct wz_core_options){.seed = 1}); }

static inline void world_free(struct world *w)
{
	wz_plan_release(&w->plan);
	wz_core_free(w->c);
	tap_ok(fault_mem_clean(&w->f), "nothing leaks");
}

/* Applies an event; the digest stays when it is refused. */
static inline int world_apply(struct world *w, struct wz_event *e)
{
	uint64_t before = wz_core_digest(w->c);
	int r;
	if (e->time_us == 0)
		e->time_us = w->now;
	w->err = (struct wz_err){0};
	r = wz_core_apply(w->c, e, &w->err);
	if (r < 0) {
		tap_ok(wz_core_digest(w->c) == before, "a refused event (kind %u) changes nothing", e->kind);
		tap_ok(w->err.code == r && w->err.reason && w->err.text[0], "a refused event says why");
	} else {
		tap_eq_i64(r, 0, "success is 0");
		tap_ok(w->err.code == 0, "the error is untouched on success");
	}
	world_check(w);
	return r;
}

static inline wz_model_id world_model(struct world *w, const char *name)
{
	wz_model_id id = {0};
	if (wz_catalogue_find(wz_core_catalogue(w->c), wz_str(name), &id, NULL) < 0) {
		int r = wz_catalogue_declare(wz_core_catalogue(w->c), wz_str(name), NULL, &id, &w->err);
		tap_eq_i64(r, 0, "declares %s", name);
	}
	return id;
}

static inline struct wz_device_facts world_facts(struct world *w, const struct dev *d)
{
	wz_model_id m = world_model(w, d->model);
	int64_t mem = d->mem ? d->mem : (int64_t)wz_core_catalogue(w->c)->model[m.v].mem_bytes;
	return (struct wz_device_facts){.model = m, .mem_bytes = mem < 0 ? 0 : mem,
		.compute_milli = d->milli ? d->milli : WZ_WHOLE, .link_domain = d->link, .numa = d->numa, .pcie = d->pcie,
		.health = d->health, .partition = d->partition, .card = d->card};
}

/* A node with the devices given, 64 CPUs and 256 Gi unless *like says otherwise. */
static inline int node_like(struct world *w, uint32_t id, uint32_t n, const struct dev *d, struct wz_ev_node like)
{
	struct wz_device_facts facts[WZ_NODE_DEVICES_MAX];
	char name[] = {'n', (char)('A' + id / 26), (char)('a' + id % 26), 0};
	for (uint32_t i = 0; i < n; i++)
		facts[i] = world_facts(w, &d[i]);
	like.node.v = id;
	if (!like.name.len)
		like.name = wz_str(name);
	if (!like.cpu_milli)
		like.cpu_milli = 64000;
	if (!like.mem_bytes)
		like.mem_bytes = 256 * GI;
	like.n_devices = n;
	like.device = facts;
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_NODE_JOINED, .u.node = like});
}

static inline int node_of(struct world *w, uint32_t id, uint32_t n, const char *model)
{
	struct dev d[WZ_NODE_DEVICES_MAX];
	for (uint32_t i = 0; i < n; i++)
		d[i] = (struct dev){.model = model};
	return node_like(w, id, n, d, (struct wz_ev_node){0});
}

static inline struct wz_profile profile(struct world *w, const char *text)
{
	struct wz_profile p;
	struct wz_err err;
	wz_profile_init(&p);
	int r = wz_profile_parse(wz_str(text), wz_core_catalogue(w->c), &p, &err);
	tap_ok(r == 0, "profile \"%s\": %s", text, err.text);
	return p;
}

static inline int submit_prio(struct world *w, uint64_t job, const char *text, int32_t priority)
{
	struct wz_profile p = profile(w, text);
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
		.u.submit = {.job = job, .user = WZ_STR("ann"), .queue = WZ_STR("q"), .priority = priority, .profile = &p}});
}

static inline int submit(struct world *w, uint64_t job, const char *text) { return submit_prio(w, job, text, 0); }

/* "app=web,tier=db" as labels; the texts stay where they are. */
static inline uint32_t labels_of(const char *text, struct wz_label *ret)
{
	struct wz_str rest = wz_str(text ? text : "");
	uint32_t n = 0;
	while (rest.len) {
		struct wz_str pair = wz_str_split(&rest, ','), key = wz_str_split(&pair, '=');
		ret[n++] = (struct wz_label){key, pair};
	}
	return n;
}

/* With labels and a constraint. */
static inline int submit_asking(struct world *w, uint64_t job, const char *text, const char *labels, const char *constraint)
{
	struct wz_profile p = profile(w, text);
	struct wz_label l[16];
	uint32_t n = labels_of(labels, l);
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_JOB_SUBMITTED,
		.u.submit = {.job = job, .profile = &p, .n_labels = n, .label = l, .constraint = wz_str(constraint)}});
}

static inline int resize(struct world *w, uint64_t job, const char *set, uint32_t min, uint32_t max)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_JOB_RESIZED,
		.u.resize = {.job = job, .set = wz_str(set), .tasks_min = min, .tasks_max = max}});
}

/* A node of T4s with labels "zone=a,..." and taints "dedicated=ml:1,..." (effect by number), in a rack. */
static inline int node_labelled(struct world *w, uint32_t id, uint32_t gpus, const char *rack, const char *labels,
	const char *taints)
{
	struct wz_label l[16], t[16];
	struct wz_taint taint[16];
	struct dev d[WZ_NODE_DEVICES_MAX];
	uint32_t n = labels_of(taints, t), n_labels = labels_of(labels, l);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_str value = wz_str_split(&t[i].value, ':');
		taint[i] = (struct wz_taint){t[i].key, value, (uint8_t)(t[i].value.ptr[0] - '0')};
	}
	for (uint32_t i = 0; i < gpus; i++)
		d[i] = (struct dev){.model = "T4"};
	return node_like(w, id, gpus, d, (struct wz_ev_node){.rack = wz_str(rack), .n_labels = n_labels, .label = l,
		.n_taints = n, .taint = taint});
}

static inline int job_event(struct world *w, uint32_t kind, uint64_t job)
{
	return world_apply(w, &(struct wz_event){.kind = kind, .u.job.job = job});
}

static inline int task_event(struct world *w, uint32_t kind, uint64_t job, uint32_t task, uint32_t attempt,
	enum wz_end end, bool requeue)
{
	return world_apply(w, &(struct wz_event){.kind = kind,
		.u.task = {.job = job, .task = task, .attempt = attempt, .end = end, .requeue = requeue}});
}

static inline int ack(struct world *w, uint32_t kind, uint64_t effect)
{
	return world_apply(w, &(struct wz_event){.kind = kind, .u.effect.effect = effect});
}

static inline int node_event(struct world *w, uint32_t kind, uint32_t node)
{
	return world_apply(w, &(struct wz_event){.kind = kind, .u.left.node = {node}});
}

static inline int node_ready(struct world *w, uint32_t node, bool ready, bool cordoned)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_NODE_READY,
		.u.ready = {.node = {node}, .ready = ready, .cordoned = cordoned}});
}

static inline int device_changed(struct world *w, uint32_t node, uint32_t index, struct dev d)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_DEVICE_CHANGED,
		.u.device = {.node = {node}, .index = index, .facts = world_facts(w, &d)}});
}

static inline int telemetry(struct world *w, uint32_t node, uint32_t index, uint8_t free_pct)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_TELEMETRY,
		.u.telemetry = {.node = {node}, .index = index, .free_mem_pct = free_pct, .util_pct = 255, .temp_c = 255}});
}

static inline int observed(struct world *w, uint64_t job, struct wz_place p)
{
	return world_apply(w, &(struct wz_event){.kind = WZ_EV_TASK_OBSERVED, .u.observed = {.job = job, .place = p}});
}

static inline void at(struct world *w, uint64_t seconds)
{
	w->now = seconds * SECOND;
	int r = world_apply(w, &(struct wz_event){.kind = WZ_EV_TIME});
	tap_eq_i64(r, 0, "time");
}

/* STEP and decide, without applying what was decided. */
static inline void decide_within(struct world *w, uint64_t budget)
{
	int r = world_apply(w, &(struct wz_event){.kind = WZ_EV_STEP});
	uint64_t before = wz_core_digest(w->c);
	tap_eq_i64(r, 0, "step");
	r = wz_core_decide(w->c, budget, &w->plan, &w->err);
	tap_eq_i64(r, 0, "decide");
	tap_ok(wz_core_digest(w->c) == before, "decide changes no digest");
	world_check(w);
}

static inline int apply_effect(struct world *w, const struct wz_effect *e)
{
	uint64_t before = wz_core_digest(w->c);
	int r = wz_core_apply_effect(w->c, e, &w->err);
	tap_ok(r == 0 || wz_core_digest(w->c) == before, "a refused effect changes nothing");
	world_check(w);
	return r;
}

/* A whole step; returns how many START effects it had. */
static inline unsigned step_within(struct world *w, uint64_t budget)
{
	unsigned starts = 0;
	decide_within(w, budget);
	for (uint32_t i = 0; i < w->plan.n; i++) {
		int r = apply_effect(w, &w->plan.effect[i]);
		tap_eq_i64(r, 0, "what was decided applies");
		starts += w->plan.effect[i].kind == WZ_EF_START;
	}
	return starts;
}

static inline unsigned step(struct world *w) { return step_within(w, 0); }

/* Acknowledges every effect of the last plan that wants it. */
static inline void confirm_plan(struct world *w)
{
	for (uint32_t i = 0; i < w->plan.n; i++)
		if (w->plan.effect[i].kind != WZ_EF_EXPLAIN && w->plan.effect[i].kind != WZ_EF_RESIZE) {
			int r = ack(w, WZ_EV_EFFECT_CONFIRMED, w->plan.effect[i].id);
			tap_eq_i64(r, 0, "a confirmation");
		}
}

static inline unsigned run_step(struct world *w)
{
	unsigned n = step(w);
	confirm_plan(w);
	return n;
}

static inline const struct wz_effect *plan_find(const struct world *w, uint32_t kind, uint64_t job, uint32_t task)
{
	for (uint32_t i = 0; i < w->plan.n; i++) {
		const struct wz_effect *e = &w->plan.effect[i];
		if (e->kind == kind && e->job == job && (kind == WZ_EF_EXPLAIN || e->task == task))
			return e;
	}
	return NULL;
}

static inline uint64_t plan_id(const struct world *w, uint32_t kind, uint64_t job, uint32_t task)
{
	const struct wz_effect *e = plan_find(w, kind, job, task);
	return e ? e->id : 0;
}

/* -1: there is no such job */
static inline int state_of(const struct world *w, uint64_t job)
{
	struct wz_job_info i;
	return wz_core_job(w->c, job, &i) < 0 ? -1 : (int)i.state;
}

static inline struct wz_job_info info_of(const struct world *w, uint64_t job)
{
	struct wz_job_info i = {.attempt = 0};
	int r = wz_core_job(w->c, job, &i);
	tap_eq_i64(r, 0, "job %" PRIu64 " is there", job);
	return i;
}

static inline struct wz_place place_of(const struct world *w, uint64_t job, uint32_t task)
{
	struct wz_place p = {.node = {WZ_ID_NONE}};
	(void)wz_core_task(w->c, job, task, &p);
	return p;
}

static inline struct wz_explanation why(struct world *w, uint64_t job)
{
	struct wz_explanation x = {.main = WZ_REASON_COUNT_};
	uint64_t before = wz_core_digest(w->c);
	int r = wz_core_explain(w->c, job, &x, &w->err);
	tap_eq_i64(r, 0, "explains job %" PRIu64, job);
	tap_ok(wz_core_digest(w->c) == before && x.digest == before, "a question leaves no trace");
	return x;
}

/* The state as bytes and back, into another core: the same digest, the same bytes. Replaces the core. */
static inline void world_restart(struct world *w)
{
	struct wz_buf b, again;
	struct wz_core *c = NULL;
	bool same = false;
	int r;
	wz_buf_init(&b, &w->f.mem, 64u << 20);
	wz_buf_init(&again, &w->f.mem, 64u << 20);
	r = wz_core_export(w->c, &b, &w->err);
	tap_eq_i64(r, 0, "exports");
	r = wz_core_import(&w->f.mem, NULL, wz_buf_str(&b), &c, &same, &w->err);
	tap_require(r == 0, "imports: %s", w->err.text);
	tap_ok(same && wz_core_digest(c) == wz_core_digest(w->c), "the same digest");
	r = wz_core_export(c, &again, &w->err);
	tap_ok(r == 0 && wz_str_eq(wz_buf_str(&b), wz_buf_str(&again)), "export(import(x)) = x");
	wz_buf_release(&b);
	wz_buf_release(&again);
	wz_core_free(w->c);
	w->c = c;
	world_check(w);
}

static inline struct wz_core_stats stats(const struct world *w)
{
	struct wz_core_stats s;
	wz_core_stats(w->c, &s);
	return s;
}

#endif
