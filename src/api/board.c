/* SPDX-License-Identifier: Apache-2.0 */
#include "api/board.h"

#include "base/check.h"
#include "base/map.h"

struct making {
	const struct wz_core *core;
	const struct wz_model_state *m;
	const struct wz_board_more *more;
	struct wz_arena *arena;
	struct wz_mix mix[WZ_BOARD_SHAPES_MAX];
	uint32_t n_mix;
	uint64_t fits[WZ_BOARD_SHAPES_MAX]; /* nodes that have room for one task of the shape */
	struct held *held; /* by node, job, task */
	uint32_t n_held;
};

struct held {
	uint64_t job;
	uint32_t task, attempt;
	bool running;
	struct wz_place place;
};

static struct wz_str text_of(const struct wz_model_state *m, uint32_t id)
{
	return id == WZ_ID_NONE ? WZ_STR("") : wz_strtab_get(&m->names, id);
}

static int by_place(const void *pa, const void *pb)
{
	const struct held *a = pa, *b = pb;
	if (a->place.node.v != b->place.node.v)
		return a->place.node.v < b->place.node.v ? -1 : 1;
	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* ---- jobs ---- */

static int by_job(const void *pa, const void *pb)
{
	const struct wz_api_board_job *a = pa, *b = pb;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* Every live job, and where its tasks are. */
static int collect(struct making *x, struct wz_api_board *ret)
{
	static const int32_t states[] = {
	        WZ_STATE_PENDING, WZ_STATE_HELD, WZ_STATE_STARTING, WZ_STATE_RUNNING, WZ_STATE_STOPPING};
	struct wz_core_stats st;
	struct wz_job_info j;
	uint32_t n = 0;
	int r;
	wz_core_stats(x->core, &st);
	struct wz_api_board_job *job = wz_arena_alloc(x->arena, (st.jobs_live + 1) * sizeof *job);
	x->held = wz_arena_alloc(x->arena, (st.tasks_live + 1) * sizeof *x->held);
	if (!job || !x->held)
		return -ENOMEM;
	for (uint32_t i = 0; (r = wz_core_job_at(x->core, i, &j)) != -ENOENT; i++) {
		if (r != 0 || n == st.jobs_live)
			continue;
		job[n] = (struct wz_api_board_job){.id = j.job,
		        .state = (uint32_t)j.state < WZ_ARRAY_LEN(states) ? states[j.state] : WZ_STATE_PENDING,
		        .priority = j.priority,
		        .tasks = j.tasks_max,
		        .submit_us = (int64_t)j.submitted_us};
		if (x->more && x->more->job)
			x->more->job(x->more->ctx, x->arena, j.job, &job[n]);
		n++;
		for (uint32_t t = 0, seen = 0; seen < j.tasks_placed && t < j.tasks_max; t++) {
			struct held *h = &x->held[x->n_held];
			if (x->n_held == st.tasks_live || wz_core_task(x->core, j.job, t, &h->place) < 0)
				continue;
			*h = (struct held){j.job, t, j.attempt, j.state == WZ_JOB_RUNNING, h->place};
			x->n_held++;
			seen++;
		}
	}
	if (x->n_held)
		qsort(x->held, x->n_held, sizeof *x->held, by_place);
	if (n)
		qsort(job, n, sizeof *job, by_job);
	ret->jobs = (struct wz_items){job, n};
	return 0;
}

/* ---- devices ---- */

static int put_pieces(struct making *x, const struct held *h, uint32_t n, uint32_t index, const struct wz_device *d,
        struct wz_api_board_device *ret)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		count += h[i].place.devices >> index & 1;
	struct wz_api_piece *p = wz_arena_alloc(x->arena, (count + 1) * sizeof *p);
	if (!p)
		return -ENOMEM;
	count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (h[i].place.devices >> index & 1)
			p[count++] = (struct wz_api_piece){.job = h[i].job,
			        .task = h[i].task,
			        .compute_milli = h[i].place.dev_milli,
			        .mem_bytes = h[i].place.dev_mem < 0 ? wz_device_mem_share(d, h[i].place.dev_milli)
			                                            : h[i].place.dev_mem};
	ret->pieces = (struct wz_items){p, count};
	return 0;
}

/* Could a task of the shape use what is free of this device, on a node that has room for it? */
static bool uses(const struct making *x, const struct wz_shape *s, const struct wz_device *d, uint32_t at)
{
	struct wz_need need = wz_shape_need(s, &wz_core_catalogue_of(x->core)->model[d->model], d->mem);
	return need.ok && need.count && x->m->dev_milli[at] >= need.milli &&
	       (!need.mem || x->m->dev_mem[at] >= need.mem);
}

/* Is any task to come that could use such a device? */
static bool wanted(const struct making *x, const struct wz_device *d)
{
	for (uint32_t i = 0; i < x->n_mix; i++) {
		const struct wz_shape *s = &wz_core_shapes(x->core)->shape[x->mix[i].shape];
		struct wz_need need = wz_shape_need(s, &wz_core_catalogue_of(x->core)->model[d->model], d->mem);
		if (need.ok && need.count && (s->any_model || wz_model_set_has(&s->allowed, d->model)))
			return true;
	}
	return false;
}

static enum wz_board_use use_of(const struct making *x, const struct wz_node *n, uint32_t node_fits, uint32_t at)
{
	const struct wz_device *d = &x->m->dev[at];
	if (d->health == WZ_HEALTH_FAILED)
		return WZ_BOARD_CLOSED;
	if (x->m->dev_milli[at] <= 0 || (d->mem && x->m->dev_mem[at] <= 0))
		return WZ_BOARD_FULL;
	if (!WZ_NODE_USABLE(n))
		return WZ_BOARD_CLOSED;
	for (uint32_t i = 0; i < x->n_mix; i++)
		if (node_fits >> i & 1 && uses(x, &wz_core_shapes(x->core)->shape[x->mix[i].shape], d, at))
			return WZ_BOARD_FREE;
	/* A whole device of a kind that nothing is expected for is idle, not in pieces. */
	return x->m->dev_milli[at] == d->milli && !wanted(x, d) ? WZ_BOARD_FREE : WZ_BOARD_FRAGMENT;
}

static int put_node(
        struct making *x, uint32_t id, const struct held *h, uint32_t n_held, struct wz_api_board_node *ret)
{
	static const char *const healths[] = {"ok", "degraded", "failed"};
	const struct wz_node *n = &x->m->node[id];
	uint32_t fits = 0;
	*ret = (struct wz_api_board_node){.name = wz_strtab_get(&x->m->names, n->name - 1),
	        .rack = text_of(x->m, n->rack),
	        .state = !(n->flags & WZ_NODE_READY)   ? WZ_STR("down")
	                 : n->flags & WZ_NODE_CORDONED ? (n->n_tasks ? WZ_STR("draining") : WZ_STR("drained"))
	                                               : WZ_STR("ready"),
	        .cpu_milli = n->cpu,
	        .cpu_free_milli = n->cpu_free,
	        .mem_bytes = n->mem,
	        .mem_free_bytes = n->mem_free};
	for (uint32_t i = 0; i < x->n_mix; i++)
		if (wz_core_fits(x->core, (wz_shape_id){x->mix[i].shape}, id)) {
			fits |= 1u << i;
			x->fits[i]++;
		}
	struct wz_api_board_device *dev = wz_arena_alloc(x->arena, (n->n_dev + 1u) * sizeof *dev);
	if (!dev)
		return -ENOMEM;
	for (uint32_t k = 0; k < n->n_dev; k++) {
		uint32_t at = n->first_dev + k;
		const struct wz_device *d = &x->m->dev[at];
		dev[k] = (struct wz_api_board_device){.index = k,
		        .model = wz_str(wz_core_catalogue_of(x->core)->model[d->model].name),
		        .health = wz_str(healths[d->health]),
		        .mem_bytes = d->mem,
		        .mem_free_bytes = x->m->dev_mem[at],
		        .compute_milli = d->milli,
		        .compute_free_milli = x->m->dev_milli[at],
		        .link_domain = d->link_domain,
		        .numa = d->numa,
		        .use = use_of(x, n, fits, at),
		        .util_pct = -1,
		        .mem_used_pct = -1,
		        .temp_c = -1,
		        .power_mw = -1};
		int r = put_pieces(x, h, n_held, k, d, &dev[k]);
		if (r < 0)
			return r;
		if (x->more && x->more->device)
			x->more->device(x->more->ctx, id, k, &dev[k]);
	}
	ret->devices = (struct wz_items){dev, n->n_dev};
	return 0;
}

static int put_expected(struct making *x, struct wz_api_board *ret)
{
	struct wz_api_expected *e = wz_arena_alloc(x->arena, (x->n_mix + 1) * sizeof *e);
	uint64_t total = 0;
	if (!e)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->n_mix; i++)
		total += x->mix[i].weight;
	for (uint32_t i = 0; i < x->n_mix; i++) {
		const struct wz_shape *s = &wz_core_shapes(x->core)->shape[x->mix[i].shape];
		e[i] = (struct wz_api_expected){.devices = s->count,
		        .compute_milli = s->milli,
		        .mem_bytes = s->dev_mem,
		        .cpu_milli = s->cpu,
		        .weight_milli = total ? (uint32_t)((uint64_t)x->mix[i].weight * 1000 / total) : 0,
		        .nodes = (uint32_t)x->fits[i]};
	}
	ret->expected = (struct wz_items){e, x->n_mix};
	return 0;
}

int wz_board_make(
        const struct wz_core *c, const struct wz_board_more *more, struct wz_arena *a, struct wz_api_board *ret)
{
	struct making x = {.core = c, .m = wz_core_model(c), .more = more, .arena = a};
	struct wz_buf digest;
	char *hex = wz_arena_alloc(a, 17);
	uint32_t n = 0, h = 0;
	x.n_mix = wz_demand_mix(wz_core_policy_ctx(c).demand, x.mix, WZ_BOARD_SHAPES_MAX);
	struct wz_api_board_node *node = wz_arena_alloc(a, (x.m->n_present + 1) * sizeof *node);
	if (!hex || !node)
		return -ENOMEM;
	wz_buf_init_fixed(&digest, hex, 17);
	wz_buf_add_hex64(&digest, wz_core_digest(c));
	*ret = (struct wz_api_board){.at_us = (int64_t)wz_core_now(c), .digest = wz_buf_str(&digest)};
	int r = collect(&x, ret);
	for (uint32_t i = 0; r == 0 && i < x.m->n_nodes; i++) {
		uint32_t first = h;
		while (h < x.n_held && x.held[h].place.node.v == i)
			h++;
		if (x.m->node[i].flags & WZ_NODE_PRESENT && n < x.m->n_present)
			r = put_node(&x, i, x.held + first, h - first, &node[n++]);
	}
	ret->nodes = (struct wz_items){node, n};
	return r < 0 ? r : put_expected(&x, ret);
}
