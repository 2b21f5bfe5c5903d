/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a trace that a run replays: selected, sorted, their strings as numbers. */
#include "base/hash.h"
#include "core/draw.h"
#include "sim/run.h"

#include <stdlib.h>

const char *const wz_run_placement_name[WZ_RUN_PLACEMENTS] = {"any", "yarn", "jigsaw"};

static int by_submission(const void *x, const void *y)
{
	const struct wz_run_job *a = x, *b = y;
	if (a->submit_us != b->submit_us)
		return a->submit_us < b->submit_us ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* Demand that placements cannot tell apart: the same profile, and so the same number of devices. */
static int classes(struct wz_run_input *in, struct wz_err *err)
{
	struct wz_map by_key;
	int r = 0;

	wz_map_init(&by_key, in->mem);
	for (uint32_t i = 0; r == 0 && i < in->n; i++) {
		struct wz_run_job *j = &in->job[i];
		uint64_t key = (uint64_t)in->tasks->task[j->task].profile << 1 | j->replica;
		if (in->queue_limit) /* then jobs of one demand are told apart by their queue, too */
			key = wz_hash_u64(key, j->queue);
		uint32_t c = wz_map_get(&by_key, key);
		if (c == WZ_NONE) {
			c = in->n_classes++;
			if (wz_map_put(&by_key, key, c) < 0)
				r = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the jobs"));
		}
		j->class_ = c;
	}
	wz_map_release(&by_key);
	return r;
}

static void cluster_facts(struct wz_run_input *in)
{
	int64_t idle = 0, full = 0, price = 0;

	for (uint32_t i = 0; i < in->nodes->n; i++) {
		const struct wz_ev_node *n = &in->nodes->node[i];
		in->gpus += n->n_devices;
		in->node_gpus = n->n_devices > in->node_gpus ? n->n_devices : in->node_gpus;
		for (uint32_t d = 0; d < n->n_devices; d++) {
			struct wz_draw w = wz_draw_of(in->nodes->catalogue, n->device[d].model.v);
			idle += w.idle_w;
			full += w.full_w;
			price += w.price_musd;
		}
	}
	if (in->gpus) {
		in->idle_mw = idle * 1000 / in->gpus;
		in->full_mw = full * 1000 / in->gpus;
		in->price_musd = price / in->gpus;
	}
}

static bool selected(const struct wz_run_select *s, const struct wz_sim_task *t)
{
	return (s->queue.len == 0 || wz_str_eq(s->queue, t->queue)) && t->submit_us >= s->from_us &&
	       (s->to_us == 0 || t->submit_us < s->to_us);
}

/* Where the trace has steps and speeds: on the fastest device type of the cluster. -1: not known. */
static int64_t run_from_speeds(const struct wz_run_input *in, const struct wz_sim_task *t)
{
	const struct wz_sim_speeds *v = t->speeds ? &in->tasks->speeds[t->speeds] : NULL;
	int64_t best = 0;

	for (uint32_t i = 0; v && i < v->n; i++)
		for (uint32_t n = 0; n < in->nodes->n; n++) {
			struct wz_model_set set = {{0}};
			uint16_t m =
			        in->nodes->node[n].n_devices ? in->nodes->node[n].device[0].model.v : WZ_MODEL_NONE;
			bool same =
			        m < in->nodes->catalogue->n &&
			        (wz_str_eq_nocase(v->type[i].model, wz_str(in->nodes->catalogue->model[m].name)) ||
			                (wz_catalogue_match(in->nodes->catalogue, v->type[i].model, &set, NULL) ==
			                                0 &&
			                        wz_model_set_has(&set, m)));
			if (same && v->type[i].micro > best)
				best = v->type[i].micro;
			if (same)
				break;
		}
	if (best == 0)
		return -1;
	return (int64_t)((__int128)t->steps * 1000000 * 1000000 / best) + 1;
}

static int add(struct wz_run_input *in, uint32_t task, struct wz_strtab tab[3], struct wz_err *err)
{
	const struct wz_sim_task *t = &in->tasks->task[task];
	const struct wz_profile *p = wz_sim_task_profile(in->tasks, t);
	uint32_t gpus = t->gpus * p->tasks_min;
	struct wz_run_job *j;

	if (gpus == 0 || t->submit_us < 0 ||
	        (t->run_us < 0 && p->kind != WZ_KIND_SERVICE && run_from_speeds(in, t) < 0 && !t->app) ||
	        gpus > in->gpus) {
		in->left_out++;
		return 0;
	}
	if (wz_grow(in->mem, &in->job, &in->cap, in->n + 1, sizeof(*in->job)) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the jobs"));
	j = &in->job[in->n];
	*j = (struct wz_run_job){.task = task,
	        .gpus = gpus,
	        .milli = t->milli,
	        .priority = t->priority,
	        .submit_us = t->submit_us,
	        .run_us = t->run_us > 0                ? t->run_us
	                  : run_from_speeds(in, t) > 0 ? run_from_speeds(in, t)
	                                               : 1,
	        .limit_us = (int64_t)p->time_us,
	        .restart_us = t->restart_us,
	        .ckpt_us = (int64_t)p->preempt.interval_us,
	        .service = p->kind == WZ_KIND_SERVICE,
	        .fixed = p->kind == WZ_KIND_SERVICE || t->pinned};
	if (wz_strtab_add(&tab[0], t->user, &j->user) < 0 || wz_strtab_add(&tab[1], t->queue, &j->queue) < 0 ||
	        wz_strtab_add(&tab[2], t->template_.len ? t->template_ : t->name, &j->template_) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the jobs"));
	in->n++;
	return 0;
}

/* A service with a load curve: its replicas. Those that it always has are one job without an end; each further one is there from where
 * the load takes it until it does not. */
static int expand(struct wz_run_input *in, struct wz_err *err)
{
	uint32_t n = in->n;

	for (uint32_t i = 0; i < n; i++) {
		const struct wz_sim_task *t = &in->tasks->task[in->job[i].task];
		const struct wz_profile *p = wz_sim_task_profile(in->tasks, t);
		struct wz_str rest = t->load;
		int64_t at, next_at = 0, base = in->job[i].submit_us;
		uint32_t now, then = 0, floor = p->tasks_min, top = p->tasks_max > floor ? p->tasks_max : floor;
		if (!in->job[i].service || t->load.len == 0 || wz_sim_load_next(&rest, &at, &now) <= 0)
			continue;
		for (bool more = true; more; at = next_at, now = then) {
			more = wz_sim_load_next(&rest, &next_at, &then) > 0;
			for (uint32_t k = floor; more && k < now && k < top; k++) {
				struct wz_run_job j = in->job[i];
				j.gpus = t->gpus;
				j.replica = true;
				j.service = false;
				j.submit_us = base + at;
				j.run_us = next_at - at;
				if (wz_grow(in->mem, &in->job, &in->cap, in->n + 1, sizeof(*in->job)) < 0)
					return wz_err_set(
					        err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the jobs"));
				in->job[in->n++] = j;
			}
		}
	}
	return 0;
}

static int set_limits(
        struct wz_run_input *in, const struct wz_run_select *s, const struct wz_strtab *queues, struct wz_err *err)
{
	if (s->n_limits == 0)
		return 0;
	in->queue_limit = wz_mem_zalloc(in->mem, (in->n_queues ? in->n_queues : 1) * sizeof(*in->queue_limit));
	if (!in->queue_limit)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the jobs"));
	for (uint32_t q = 0; q < in->n_queues; q++)
		in->queue_limit[q] = INT64_MAX;
	for (uint32_t i = 0; i < s->n_limits; i++) {
		uint32_t q = wz_strtab_find(queues, s->limit[i].queue);
		if (q == WZ_NONE)
			return wz_err_set(err, -ENOENT, "UnknownQueue",
			        WZ_STR("no job of the trace is of the queue \""), s->limit[i].queue, WZ_STR("\""));
		in->queue_limit[q] = (int64_t)s->limit[i].gpus * 1000;
	}
	return 0;
}

static int check_queue(const struct wz_sim_tasks *tasks, struct wz_str queue, struct wz_err *err)
{
	if (queue.len == 0)
		return 0;
	for (uint32_t i = 0; i < tasks->n; i++)
		if (wz_str_eq(tasks->task[i].queue, queue))
			return 0;
	return wz_err_set(err, -ENOENT, "UnknownQueue", WZ_STR("no job of the trace is of the queue \""), queue,
	        WZ_STR("\""));
}

int wz_run_input_make(struct wz_run_input *in, const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks,
        const struct wz_run_select *select, const struct wz_mem *mem, struct wz_err *err)
{
	struct wz_strtab tab[3];
	int r;

	*in = (struct wz_run_input){.nodes = nodes, .tasks = tasks, .mem = mem};
	cluster_facts(in);
	for (unsigned i = 0; i < 3; i++)
		wz_strtab_init(&tab[i], mem);
	r = check_queue(tasks, select->queue, err);
	for (uint32_t i = 0; r == 0 && i < tasks->n; i++)
		if (selected(select, &tasks->task[i]))
			r = add(in, i, tab, err);
	in->n_users = tab[0].len;
	in->n_queues = tab[1].len;
	in->n_templates = tab[2].len;
	if (r == 0)
		r = set_limits(in, select, &tab[1], err);
	for (unsigned i = 0; i < 3; i++)
		wz_strtab_release(&tab[i]);
	if (r < 0)
		return r;
	r = expand(in, err);
	if (r < 0)
		return r;
	if (in->n)
		qsort(in->job, in->n, sizeof(*in->job), by_submission);
	if (select->last && select->last < in->n)
		in->n = select->last;
	if (select->first) {
		uint32_t n = in->n > select->first ? in->n - select->first : 0;
		memmove(in->job, in->job + select->first, n * sizeof(*in->job));
		in->n = n;
	}
	if (in->n == 0)
		return wz_err_set(err, -ENOENT, "NoJobs",
		        WZ_STR("no job to replay: none has devices, a submit time and a run time, fits the cluster "
		               "and is "
		               "selected"));
	in->from_us = in->job[0].submit_us;
	in->to_us = in->job[in->n - 1].submit_us;
	return classes(in, err);
}

void wz_run_input_release(struct wz_run_input *in)
{
	wz_grow_free(in->mem, &in->job, &in->cap, sizeof(*in->job));
	if (in->queue_limit)
		wz_mem_free(in->mem, in->queue_limit, (in->n_queues ? in->n_queues : 1) * sizeof(*in->queue_limit));
	in->queue_limit = NULL;
	in->n = 0;
}
