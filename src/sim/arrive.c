/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/arrive.h"

#include "base/rng.h"

#include <string.h>

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct wz_sim_tasks *tasks = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int r = wz_str_cmp(tasks->task[x].name, tasks->task[y].name);

	return r ? r : (x > y) - (x < y);
}

void wz_arrivals_release(struct wz_arrivals *a)
{
	wz_grow_free(a->mem, &a->task, &a->cap, sizeof(*a->task));
}

static int grow(
        const struct wz_sim_tasks *tasks, uint64_t demand, uint64_t mark, struct wz_rng *rng, struct wz_arrivals *a)
{
	uint32_t originals = a->n;

	for (;;) {
		/* Draws are from the list as it is written, by name: the same draw for the same seed. */
		uint32_t pick = a->task[a->cap - 1 - (uint32_t)wz_rng_below(rng, originals)];
		const struct wz_sim_task *t = &tasks->task[pick];
		if (demand + t->milli > mark)
			return 0;
		if (a->n ==
		        WZ_ARRIVALS_MAX) /* few tasks ask for a device: nearly every draw leaves the demand as it is */
			return -E2BIG;
		if (a->n + originals >= a->cap) {
			uint32_t old = a->cap;
			int r = wz_grow(a->mem, &a->task, &a->cap, old * 2, sizeof(*a->task));
			if (r < 0)
				return r;
			memmove(&a->task[a->cap - originals], &a->task[old - originals],
			        originals * sizeof(*a->task));
		}
		a->task[a->n++] = pick;
		demand += wz_task_gpu_milli(t);
	}
}

static void thin(
        const struct wz_sim_tasks *tasks, uint64_t demand, uint64_t mark, struct wz_rng *rng, struct wz_arrivals *a)
{
	while (demand > mark && a->n) { /* the order of those that stay is kept */
		uint32_t at = (uint32_t)wz_rng_below(rng, a->n);
		demand -= wz_task_gpu_milli(&tasks->task[a->task[at]]);
		memmove(&a->task[at], &a->task[at + 1], (a->n - at - 1) * sizeof(*a->task));
		a->n--;
	}
}

const char *const wz_arrive_order_name[WZ_ARRIVE_ORDERS] = {"shuffled", "file", "largest-first", "smallest-first"};

/* Drops the end of the list. */
static void cut(const struct wz_sim_tasks *tasks, uint64_t demand, uint64_t mark, struct wz_arrivals *a)
{
	while (demand > mark && a->n)
		demand -= wz_task_gpu_milli(&tasks->task[a->task[--a->n]]);
}

static int by_size(const void *a, const void *b, void *ctx)
{
	const struct wz_sim_tasks *tasks = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct wz_sim_task *x = &tasks->task[i], *y = &tasks->task[j];
	uint64_t p = wz_task_gpu_milli(x), q = wz_task_gpu_milli(y);

	if (p != q)
		return p < q ? -1 : 1;
	if (x->cpu_milli != y->cpu_milli)
		return x->cpu_milli < y->cpu_milli ? -1 : 1;
	return (i > j) - (i < j);
}

static void sort(const struct wz_sim_tasks *tasks, enum wz_arrive_order order, struct wz_arrivals *a)
{
	if (order != WZ_ARRIVE_LARGEST && order != WZ_ARRIVE_SMALLEST)
		return;
	qsort_r(a->task, a->n, sizeof(*a->task), by_size, (void *)(uintptr_t)tasks);
	for (uint32_t i = 0; order == WZ_ARRIVE_LARGEST && i < a->n / 2; i++) {
		uint32_t t = a->task[i];
		a->task[i] = a->task[a->n - 1 - i];
		a->task[a->n - 1 - i] = t;
	}
}

int wz_arrivals_make(const struct wz_sim_tasks *tasks, uint64_t capacity_milli, uint64_t seed,
        const struct wz_mem *mem, struct wz_arrivals *ret)
{
	return wz_arrivals_make_ordered(tasks, capacity_milli, seed, WZ_ARRIVE_SHUFFLED, mem, ret);
}

int wz_arrivals_make_ordered(const struct wz_sim_tasks *tasks, uint64_t capacity_milli, uint64_t seed,
        enum wz_arrive_order order, const struct wz_mem *mem, struct wz_arrivals *ret)
{
	struct wz_arrivals a = {.mem = mem};
	uint64_t demand = 0,
	         mark = capacity_milli / 1000 * WZ_ARRIVE_MILLI + capacity_milli % 1000 * WZ_ARRIVE_MILLI / 1000;
	struct wz_rng rng;
	int r = 0;

	for (uint32_t i = 0; i < tasks->n; i++)
		demand += wz_task_gpu_milli(&tasks->task[i]);
	if (demand == 0 || capacity_milli == 0)
		return -EINVAL;
	/* The list by name lives at the end of the same array while it grows. */
	r = wz_grow(mem, &a.task, &a.cap, 4 * tasks->n, sizeof(*a.task));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < tasks->n; i++)
		a.task[i] = i;
	if (order != WZ_ARRIVE_FILE)
		qsort_r(a.task, tasks->n, sizeof(*a.task), by_name, (void *)(uintptr_t)tasks);
	memcpy(&a.task[a.cap - tasks->n], a.task, tasks->n * sizeof(*a.task));
	a.n = tasks->n;
	wz_rng_seed(&rng, seed);
	if (order != WZ_ARRIVE_FILE)
		wz_rng_shuffle_u32(&rng, a.task, a.n);
	if (demand < mark)
		r = grow(tasks, demand, mark, &rng, &a);
	else if (order == WZ_ARRIVE_FILE)
		cut(tasks, demand, mark, &a);
	else
		thin(tasks, demand, mark, &rng, &a);
	sort(tasks, order, &a);
	if (r < 0)
		wz_arrivals_release(&a);
	else
		*ret = a;
	return r;
}

/* ---- typical pods ---- */

static int same_group(const struct wz_sim_task *a, const struct wz_sim_task *b)
{
	if (a->cpu_milli != b->cpu_milli)
		return a->cpu_milli < b->cpu_milli ? -1 : 1;
	if (a->milli != b->milli)
		return a->milli < b->milli ? -1 : 1;
	if (a->gpus != b->gpus)
		return a->gpus < b->gpus ? -1 : 1;
	return wz_str_cmp(a->gpu_spec, b->gpu_spec);
}

static int by_group(const void *a, const void *b, void *ctx)
{
	const struct wz_sim_task *t = ctx;
	return same_group(&t[((const struct wz_typical *)a)->task], &t[((const struct wz_typical *)b)->task]);
}

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct wz_typical *x = a, *y = b;
	const struct wz_sim_task *t = ctx;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return same_group(&t[y->task], &t[x->task]); /* ties: the larger first */
}

void wz_typicals_release(struct wz_typicals *t)
{
	wz_grow_free(t->mem, &t->t, &t->cap, sizeof(*t->t));
}

int wz_typicals_make(const struct wz_sim_tasks *tasks, const struct wz_mem *mem, struct wz_typicals *ret)
{
	struct wz_typicals y = {.mem = mem};
	struct wz_sim_task *task = tasks->task;
	uint64_t covered = 0;
	int r = wz_grow(mem, &y.t, &y.cap, tasks->n, sizeof(*y.t));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < tasks->n; i++)
		y.t[i] = (struct wz_typical){.task = i, .weight = 1};
	qsort_r(y.t, tasks->n, sizeof(*y.t), by_group, task);
	for (uint32_t i = 0; i < tasks->n; i++) {
		if (y.n && same_group(&task[y.t[y.n - 1].task], &task[y.t[i].task]) == 0)
			y.t[y.n - 1].weight++;
		else
			y.t[y.n++] = y.t[i];
	}
	qsort_r(y.t, y.n, sizeof(*y.t), by_weight, task);
	for (uint32_t i = 0; i < y.n; i++) {
		covered += y.t[i].weight;
		if (covered * 100 >= 95ull * tasks->n) {
			y.n = i + 1;
			break;
		}
	}
	*ret = y;
	return 0;
}
