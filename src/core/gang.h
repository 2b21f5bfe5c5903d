/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of several kinds of tasks, and jobs whose number of tasks changes while they run; for the files of this room only.
 *
 * A list of sets is interned and never freed, so that equal jobs share a waiting class. Tasks are numbered over all sets:
 * those of a set are `first` .. `first` + `slots` - 1, and keep their numbers when the set is resized. */
#ifndef WZ_CORE_GANG_H
#define WZ_CORE_GANG_H

#include "core/event.h"

#define WZ_GANGS_MAX (1u << 20)

struct wz_core;
struct wz_job;

struct wz_set {
	uint32_t name; /* string id */
	uint32_t shape, between;
	uint32_t min, max;
	uint32_t first, slots; /* numbers of its tasks */
};

struct wz_gang {
	uint32_t first_set, n_sets;
	uint32_t min, max, slots; /* over all sets */
	uint8_t link, link_preferred; /* NONE, NODE or RACK: of the whole */
	uint32_t constraint; /* of the whole: its `together` terms */
	uint64_t hash; /* of the content */
};

struct wz_gangs {
	struct wz_gang *gang; /* by id; 0 is none */
	uint32_t n, cap;
	struct wz_set *set;
	uint32_t n_sets, set_cap;
	struct wz_map by_hash;
};

int wz_gangs_init(struct wz_core *c);
void wz_gangs_release(struct wz_core *c);
static inline const struct wz_set *wz_gang_set(const struct wz_gangs *g, uint32_t gang, uint32_t task)
{
	const struct wz_set *s = &g->set[g->gang[gang].first_set];
	while (task >= s->first + s->slots)
		s++;
	return s;
}

/* The sets of a job: its gang's, or *one made of the job itself. */
const struct wz_set *wz_job_sets(
        const struct wz_core *c, const struct wz_job *j, struct wz_set *one, uint32_t *ret_n);
/* Interns; of the gang only link, link_preferred and constraint are read, of the sets all but first. -ENOMEM, -E2BIG. */
int wz_gang_intern(
        struct wz_core *c, const struct wz_gang *like, const struct wz_set *set, uint32_t n, uint32_t *ret);
struct wz_job_asks { uint32_t shape, between, gang, tasks_min, tasks_max, n_tasks; };
/* Checks and registers what a submission, whose profile was checked, says of sets, labels and constraint. */
int wz_gang_of_submit(struct wz_core *c, const struct wz_ev_submit *s, struct wz_job_asks *ret, struct wz_err *err);

/* Tasks of a set that are placed and not stopping, or done. O(slots). */
uint32_t wz_set_live(const struct wz_core *c, const struct wz_job *j, const struct wz_set *s);
/* Has every set its minimum, if `less` tasks of the set of `task` are taken away? O(1) where all tasks are alike. */
bool wz_job_enough(const struct wz_core *c, const struct wz_job *j, uint32_t task, uint32_t less);
/* What it has to know its number by: placed and not stopping, or done. */
uint32_t wz_job_live(const struct wz_job *j);
/* Keeps wz_core.attention; after any change of a job. */
void wz_job_attend(struct wz_core *c, uint32_t slot);
int wz_gang_resize(struct wz_core *c, const struct wz_event *e, struct wz_err *err);
/* Which task a RESIZE to `n` stops next; WZ_ID_NONE: none. */
uint32_t wz_gang_surplus(const struct wz_core *c, const struct wz_job *j, uint32_t n);

#endif
