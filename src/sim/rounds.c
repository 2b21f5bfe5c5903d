/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rounds_int.h"

#include "base/hash.h"
#include "core/draw.h"
#include "os/clock.h"

#include <math.h>

/* Device types of the cluster, in order of appearance; WZ_ROUNDS_TYPES_MAX of them. */
static uint32_t find_types(const struct wz_sim_nodes *nodes, uint16_t *model, uint32_t *devices, bool *ret_more)
{
	uint32_t n = 0;

	*ret_more = false;
	for (uint32_t i = 0; i < nodes->n; i++)
		for (uint32_t d = 0; d < nodes->node[i].n_devices; d++) {
			uint16_t m = nodes->node[i].device[d].model.v;
			uint32_t t = 0;
			while (t < n && model[t] != m)
				t++;
			if (t == WZ_ROUNDS_TYPES_MAX) {
				*ret_more = true;
				continue;
			}
			if (t == n) {
				model[n] = m;
				devices[n++] = 0;
			}
			devices[t]++;
		}
	return n;
}

static bool any_profile(const struct wz_run_input *in)
{
	for (uint32_t i = 0; i < in->n; i++)
		if (in->tasks->task[in->job[i].task].app)
			return true;
	return false;
}

static bool any_speeds(const struct wz_run_input *in)
{
	for (uint32_t i = 0; i < in->n; i++)
		if (in->tasks->task[in->job[i].task].speeds)
			return true;
	return false;
}

bool wz_rounds_wanted(const struct wz_run_input *in, const struct wz_run_options *o)
{
	uint16_t model[WZ_ROUNDS_TYPES_MAX];
	uint32_t devices[WZ_ROUNDS_TYPES_MAX];
	bool more;

	return (o->order->flags & WZ_ORDER_ROUNDS) || any_profile(in) ||
	       (any_speeds(in) && find_types(in->nodes, model, devices, &more) > 1 && !more);
}

/* ---- speeds ---- */

/* Is the type that a trace calls `name` this model? */
static bool same_model(const struct wz_sim_nodes *nodes, struct wz_str name, uint16_t model)
{
	struct wz_model_set set = {{0}};

	if (wz_str_eq_nocase(name, wz_str(nodes->catalogue->model[model].name)))
		return true;
	return wz_catalogue_match(nodes->catalogue, name, &set, NULL) == 0 && wz_model_set_has(&set, model);
}

/* What the trace measured; else in proportion to compute units; else all alike. */
static void set_speeds(struct wz_rounds *s, uint32_t j)
{
	const struct wz_sim_task *t = &s->in->tasks->task[s->in->job[j].task];
	const struct wz_sim_speeds *v = t->speeds ? &s->in->tasks->speeds[t->speeds] : NULL;
	uint32_t cu_max = 1;

	for (uint32_t k = 0; k < s->types; k++)
		cu_max = s->in->nodes->catalogue->model[s->model[k]].cu_milli > cu_max
		                 ? s->in->nodes->catalogue->model[s->model[k]].cu_milli
		                 : cu_max;
	for (uint32_t k = 0; k < s->types; k++) {
		uint32_t cu = s->in->nodes->catalogue->model[s->model[k]].cu_milli;
		int64_t micro = cu ? (int64_t)cu * 1000000 / cu_max : 1000000;
		if (v) {
			micro = 0;
			for (uint32_t i = 0; i < v->n; i++)
				if (same_model(s->in->nodes, v->type[i].model, s->model[k]))
					micro = v->type[i].micro;
		}
		s->speed[j][k] = s->in->job[j].gpus <= s->devices[k] ? micro : 0;
		s->best[j] = s->speed[j][k] > s->best[j] ? s->speed[j][k] : s->best[j];
	}
	s->work[j] = v && t->steps ? t->steps : s->in->job[j].run_us > 0 ? s->in->job[j].run_us / 1000000 + 1 : -1;
	if (!v) /* without speeds a step is a second on the fastest type */
		s->work[j] = s->in->job[j].run_us > 1 ? (s->in->job[j].run_us + 999999) / 1000000 : 1;
}

int wz_rounds_open(struct wz_rounds *s, const struct wz_run_input *in, const struct wz_run_options *o,
        const struct wz_mem *mem, struct wz_run_result *ret, struct wz_err *err)
{
	bool more;

	*s = (struct wz_rounds){.in = in, .o = o, .mem = mem, .out = ret->out};
	s->types = find_types(in->nodes, s->model, s->devices, &more);
	if (more)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("at most 16 device types can be told apart here"));
	s->speed = wz_mem_zalloc(mem, in->n * sizeof(*s->speed));
	s->best = wz_mem_zalloc(mem, in->n * sizeof(*s->best));
	s->work = wz_mem_zalloc(mem, in->n * sizeof(*s->work));
	if (!s->speed || !s->best || !s->work)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	for (uint32_t j = 0; j < in->n; j++) {
		ret->out[j] = (struct wz_run_outcome){.first_start_us = -1, .end_us = -1, .node0 = WZ_NONE};
		set_speeds(s, j);
		if (s->best[j] == 0)
			return wz_err_set(err, -ENOENT, "NoSpeed", WZ_STR("the job \""),
			        in->tasks->task[in->job[j].task].name,
			        WZ_STR("\" runs on no device type of this cluster"));
	}
	return 0;
}

void wz_rounds_close(struct wz_rounds *s)
{
	if (s->speed)
		wz_mem_free(s->mem, s->speed, s->in->n * sizeof(*s->speed));
	if (s->best)
		wz_mem_free(s->mem, s->best, s->in->n * sizeof(*s->best));
	if (s->work)
		wz_mem_free(s->mem, s->work, s->in->n * sizeof(*s->work));
}

void wz_rounds_held(struct wz_rounds *s, uint32_t j, uint32_t t, uint32_t gpus, int64_t from, int64_t to)
{
	struct wz_draw w = wz_draw_of(s->in->nodes->catalogue, s->model[t]);
	int64_t end = to < s->in->to_us ? to : s->in->to_us;
	double us = (double)gpus * (double)(to - from);

	s->out[j].held_us += to - from;
	s->held_gpu_us += us;
	if (end > from)
		s->window_gpu_us += (double)gpus * (double)(end - from);
	s->energy_mw_us += us * (w.full_w - w.idle_w) * 1000;
	s->cost_musd_us += us * w.price_musd;
}

void wz_rounds_note(struct wz_rounds *s, unsigned what, uint32_t j, int64_t at)
{
	s->digest = wz_hash_u64(wz_hash_u64(s->digest, (uint64_t)at), (uint64_t)what << 32 | j);
}

int wz_rounds_figures(struct wz_rounds *s, struct wz_run_result *ret, struct wz_err *err)
{
	struct wz_run_state view = {.in = s->in,
	        .o = s->o,
	        .mem = s->mem,
	        .out = s->out,
	        .latency = s->latency,
	        .digest = s->digest,
	        .events = s->events};
	int64_t held;
	int r;

	/* The figures of the event engine, on its view of these outcomes. */
	view.job = wz_mem_zalloc(s->mem, s->in->n * sizeof(*view.job));
	if (!view.job)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for figures"));
	view.held_gpu_us = s->held_gpu_us;
	view.window_gpu_us = s->window_gpu_us;
	for (uint32_t j = 0; j < s->in->n; j++) {
		held = s->out[j].held_us;
		view.job[j].held_us = held;
		view.job[j].done_us = held - s->out[j].lost_us;
		if (s->out[j].end_us >= 0)
			s->out[j].wait_us = s->out[j].end_us - s->in->job[j].submit_us - held;
	}
	r = wz_run_figures(&view, ret, err);
	ret->held_gpu_s = s->held_gpu_us / 1e6;
	ret->lost_gpu_s = s->lost_gpu_us / 1e6;
	ret->work_gpu_s = ret->held_gpu_s - ret->lost_gpu_s;
	ret->energy_kwh = (s->energy_mw_us + (double)s->in->idle_mw * s->in->gpus * ret->makespan_s * 1e6) / 3.6e15;
	ret->cost = s->cost_musd_us / 3.6e12;
	wz_mem_free(s->mem, view.job, s->in->n * sizeof(*view.job));
	return r;
}

int wz_rounds(const struct wz_run_input *in, const struct wz_run_options *o, const struct wz_mem *mem,
        struct wz_run_result *ret, struct wz_err *err)
{
	uint64_t begin = wz_clock_thread_cpu_ns();
	struct wz_rounds s;
	int r;

	*ret = (struct wz_run_result){.mem = mem, .jobs = in->n};
	if (o->mtbf_us > 0 || o->device_mtbf_us > 0)
		return wz_err_set(
		        err, -EOPNOTSUPP, "Unsupported", WZ_STR("failures are not played in runs of rounds"));
	ret->out = wz_mem_zalloc(mem, (size_t)in->n * sizeof(*ret->out));
	if (!ret->out)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a run"));
	r = wz_rounds_open(&s, in, o, mem, ret, err);
	if (r == 0)
		r = any_profile(in)                       ? wz_rounds_elastic(&s, err)
		    : (o->order->flags & WZ_ORDER_ROUNDS) ? wz_rounds_gavel(&s, err)
		                                          : wz_rounds_types(&s, err);
	if (r == 0)
		r = wz_rounds_figures(&s, ret, err);
	wz_rounds_close(&s);
	ret->cpu_s = (double)(wz_clock_thread_cpu_ns() - begin) / 1e9;
	if (r < 0)
		wz_run_result_release(ret);
	return r;
}
