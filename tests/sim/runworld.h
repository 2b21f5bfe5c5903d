/* SPDX-License-Identifier: Apache-2.0 */
/* Small worlds for the tests of jobs in time: random jobs on a cluster in a word. */
#ifndef WZ_TESTS_SIM_RUNWORLD_H
#define WZ_TESTS_SIM_RUNWORLD_H

#include "base/rng.h"
#include "load.h"
#include "os/mem.h"
#include "sim/clusterspec.h"
#include "sim/run.h"

struct runworld {
	struct load l;
	struct wz_run_input in;
	struct wz_err err;
};
struct runspec {
	uint32_t jobs, gpus_max, gap_s, run_s, shift_s;
	uint64_t seed;
	bool whole_seconds;
};

/* Jobs with gangs of 1..gpus_max, exponential-ish gaps and heavy-tailed run times; whole seconds. */
static inline bool runworld_make(struct runworld *w, const char *cluster, const struct runspec *s)
{
	struct wz_rng rng;
	int64_t at = s->shift_s;

	memset(w, 0, sizeof(*w));
	wz_rng_seed(&rng, s->seed);
	if (load_init(&w->l, wz_os_mem()) < 0 || wz_clusterspec(wz_str(cluster), &w->l.nodes, &w->err) < 0)
		return false;
	for (uint32_t i = 0; i < s->jobs; i++) {
		char name[24], key[24], user[24];
		struct wz_profile p;
		struct wz_sim_task t = {.start_us = -1, .end_us = -1};
		uint32_t g = 1u + (uint32_t)wz_rng_below(&rng, s->gpus_max), e = (uint32_t)wz_rng_below(&rng, 12);
		wz_profile_init(&p);
		p.gpus = g <= 8 ? g : 8;
		p.tasks_min = p.tasks_max = g <= 8 ? 1 : (g + 7) / 8;
		if (wz_profile_finish(&p, NULL, &w->err) < 0)
			return false;
		(void)snprintf(name, sizeof name, "j%u", i);
		(void)snprintf(key, sizeof key, "g%u", g <= 8 ? g : (g + 7) / 8 * 8);
		(void)snprintf(user, sizeof user, "u%u", (unsigned)wz_rng_below(&rng, 3));
		t.name = wz_str(name);
		t.user = wz_str(user);
		at += (int64_t)wz_rng_below(&rng, 2 * s->gap_s + 1);
		t.submit_us = at * 1000000;
		t.run_us = (1 + (int64_t)wz_rng_below(&rng, s->run_s) * (1 << e) / 64) * 1000000;
		if (wz_sim_tasks_add_profile(&w->l.tasks, wz_str(key), &p, &t.profile, &w->err) < 0 ||
		        wz_sim_tasks_add(&w->l.tasks, &t, &w->err) < 0)
			return false;
	}
	return wz_run_input_make(
	               &w->in, &w->l.nodes, &w->l.tasks, &(struct wz_run_select){0}, wz_os_mem(), &w->err) == 0;
}

static inline void runworld_free(struct runworld *w)
{
	if (w->in.mem)
		wz_run_input_release(&w->in);
	load_release(&w->l);
}

static inline struct wz_run_options run_options(
        const char *order, enum wz_run_placement placement, int64_t restart_s)
{
	struct wz_run_options o = {.placement = placement, .restart_us = restart_s * 1000000, .seed = 1};
	struct wz_err err = {0};
	if (wz_order_parse(wz_str(order), &o.order, o.param, &err) < 0) {
		printf("# %s\n", err.text);
		abort();
	}
	return o;
}

#endif
