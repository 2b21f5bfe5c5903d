/* SPDX-License-Identifier: Apache-2.0 */
/* The preset "jobs": work for `wz sim run`. Users have templates (a script that is run again and again); a template has a size, a
 * typical run time with Philly's heavy tail over templates, and a spread of its own; a few of them are used most. Submissions come
 * by the hour of the day. One service with a load curve of a day runs beside. */
#include "sim/gen_int.h"

#include "base/check.h"
#include "sim/life.h"

#define SECOND_US 1000000ull
#define TEMPLATES 96u
#define USERS 24u

static const uint32_t day_load[24] = {
        5, 4, 3, 3, 3, 3, 4, 6, 9, 13, 15, 15, 14, 14, 15, 15, 14, 13, 12, 11, 10, 9, 8, 6};

int wz_gen_jobs_nodes(const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct wz_device_facts device[8];
	wz_model_id id;
	int r = wz_sim_nodes_model(nodes, WZ_STR("A100-SXM4-80GB"), NULL, &id, err);

	for (int i = 0; i < 8; i++)
		device[i] = (struct wz_device_facts){.model = id, .compute_milli = WZ_WHOLE, .link_domain = 1};
	for (uint32_t i = 0; r == 0 && i < o->nodes; i++) {
		char name[32];
		struct wz_buf b;
		struct wz_ev_node n = {
		        .device = device, .n_devices = 8, .cpu_milli = 128000, .mem_bytes = INT64_C(1) << 40};
		wz_buf_init_fixed(&b, name, sizeof(name));
		wz_buf_addz(&b, "n");
		wz_buf_add_u64(&b, i);
		n.name = wz_buf_str(&b);
		r = wz_sim_nodes_add(nodes, &n, err);
	}
	return r;
}

static uint32_t size_of(struct wz_rng *rng, uint32_t nodes)
{
	static const struct {
		uint32_t permille, gpus;
	} sizes[] = {{620, 1}, {740, 2}, {850, 4}, {960, 8}, {985, 16}, {995, 32}, {1000, 64}};
	uint64_t d = wz_rng_below(rng, 1000);
	uint32_t g = 1;

	for (size_t i = 0; i < WZ_ARRAY_LEN(sizes); i++)
		if (d < sizes[i].permille) {
			g = sizes[i].gpus;
			break;
		}
	return g > nodes * 8 ? nodes * 8 : g;
}

static int profile_of(struct wz_sim_tasks *tasks, uint32_t gpus, bool service, uint32_t *ret, struct wz_err *err)
{
	char key[32];
	struct wz_buf b;
	struct wz_profile p;

	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_buf_addz(&b, service ? "service " : "jobs ");
	wz_buf_add_u64(&b, gpus);
	*ret = wz_sim_tasks_find_profile(tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	wz_profile_init(&p);
	p.gpus = gpus < 8 ? gpus : 8;
	p.tasks_min = gpus < 8 ? 1 : gpus / 8;
	p.tasks_max = service ? 8 : p.tasks_min;
	p.kind = service ? WZ_KIND_SERVICE : WZ_KIND_BATCH;
	p.preempt.movable = !service;
	if (wz_profile_finish(&p, NULL, err) < 0)
		return -EINVAL;
	return wz_sim_tasks_add_profile(tasks, wz_buf_str(&b), &p, ret, err);
}

static int add(
        struct wz_sim_tasks *tasks, const char *kind, uint64_t number, struct wz_sim_task *t, struct wz_err *err)
{
	char name[32];
	struct wz_buf b;

	wz_buf_init_fixed(&b, name, sizeof(name));
	wz_buf_addz(&b, kind);
	wz_buf_add_u64(&b, number);
	t->name = wz_buf_str(&b);
	t->start_us = t->end_us = -1;
	return wz_sim_tasks_add(tasks, t, err);
}

int wz_gen_jobs_jobs(
        const struct wz_gen_options *o, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct {
		uint32_t gpus, user, spread;
		uint64_t typical_us;
	} template_[TEMPLATES];
	struct wz_sim_task service = {
	        .run_us = -1, .load = WZ_STR("0s:2,8h:5,20h:3,32h:5,44h:2,56h:6,68h:2"), .user = WZ_STR("web")};
	uint64_t now = 0;
	struct wz_rng rng;
	int r;

	(void)nodes;
	wz_rng_seed(&rng, o->seed);
	for (uint32_t i = 0; i < TEMPLATES; i++) {
		template_[i].gpus = size_of(&rng, o->nodes);
		template_[i].user = (uint32_t)wz_rng_below(&rng, USERS);
		template_[i].spread = 1 + (uint32_t)wz_rng_below(&rng, 6);
		template_[i].typical_us = wz_life_draw_us(&wz_lives[0], &rng);
	}
	r = profile_of(tasks, 1, true, &service.profile, err);
	if (r == 0)
		r = add(tasks, "web", 0, &service, err);
	for (uint32_t i = 0; r == 0 && i + 1 < o->jobs; i++) {
		struct wz_sim_task t = {0};
		char user[16], name[16];
		struct wz_buf ub, nb;
		uint32_t k = (uint32_t)(wz_rng_below(&rng, TEMPLATES) * wz_rng_below(&rng, TEMPLATES) /
		                        TEMPLATES); /* the first are used most */
		uint64_t gap = wz_exponential(&rng, o->gap_us), factor = 500;
		now += gap * 10 / day_load[now / (3600 * SECOND_US) % 24];
		for (uint32_t s = 0; s < template_[k].spread; s++) /* a product of halves to doubles */
			factor = factor * (667 + wz_rng_below(&rng, 833)) / 1000;
		t.submit_us = (int64_t)(now / 1000 * 1000);
		t.run_us = (int64_t)(template_[k].typical_us * (factor * 2 + 1) / 1000 / 1000 * 1000) + 1000000;
		wz_buf_init_fixed(&ub, user, sizeof(user));
		wz_buf_addz(&ub, "u");
		wz_buf_add_u64(&ub, template_[k].user);
		wz_buf_init_fixed(&nb, name, sizeof(name));
		wz_buf_addz(&nb, "t");
		wz_buf_add_u64(&nb, k);
		t.user = wz_buf_str(&ub);
		t.queue = template_[k].user % 3 == 0   ? WZ_STR("research")
		          : template_[k].user % 3 == 1 ? WZ_STR("product")
		                                       : WZ_STR("study");
		t.template_ = wz_buf_str(&nb);
		r = profile_of(tasks, template_[k].gpus, false, &t.profile, err);
		if (r == 0)
			r = add(tasks, "j", i, &t, err);
	}
	return r;
}
