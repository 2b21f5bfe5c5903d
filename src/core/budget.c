/* SPDX-License-Identifier: Apache-2.0 */
/* Disruption budgets: how many tasks of a selection must run, or may be missing, when we choose to stop some. What fails
 * by itself is not asked. A budget reads what runs and what is expected by set of labels; it counts nothing of its own. */
#include "core/core_int.h"

#include "base/check.h"
#include "base/fix.h"
#include "base/hash.h"

uint64_t wz_budget_hash(const struct wz_core *c, const struct wz_budget *b)
{
	uint64_t h = 0xb0d6e7ULL;

	if (b->name == WZ_NONE)
		return 0;
	h = wz_hash_str(h, wz_strtab_get(&c->model.names, b->name));
	h = wz_hash_str(h, wz_strtab_get(&c->model.names, b->selector_text));
	return wz_hash_u64(
	        h, (uint64_t)b->limit << 34 | (uint64_t)b->expected << 2 | (uint64_t)b->most << 1 | b->percent);
}

static struct wz_budget *find(struct wz_core *c, uint32_t name)
{
	for (uint32_t i = 0; name != WZ_NONE && i < c->between.n_budgets; i++)
		if (c->between.budget[i].name == name)
			return &c->between.budget[i];
	return NULL;
}

static int check(const struct wz_ev_budget *e, struct wz_err *err)
{
	if (e->name.len == 0)
		return wz_err_set(err, -EINVAL, "BadBudget", WZ_STR("a disruption budget needs a name"));
	if (e->limit > WZ_SKEW_MAX * 1000u || (e->percent && e->limit > 100))
		return wz_err_set(err, -EINVAL, "BadBudget",
		        WZ_STR("a disruption budget is a number of tasks, or a percentage up to 100"));
	return 0;
}

int wz_budget_set(struct wz_core *c, const struct wz_ev_budget *e, struct wz_err *err)
{
	struct wz_between *b = &c->between;
	struct wz_budget fresh = {.limit = e->limit,
	                         .expected = e->expected,
	                         .most = e->most,
	                         .percent = e->percent},
	                 *old;
	int r = check(e, err);

	if (r < 0)
		return r;
	r = wz_selector_parse(e->selector, &c->model.names, &c->mem, &fresh.k, err);
	if (r < 0)
		return r;
	r = wz_strtab_add(&c->model.names, e->name, &fresh.name);
	if (r == 0)
		r = wz_strtab_add(&c->model.names, e->selector, &fresh.selector_text);
	old = r == 0 ? find(c, fresh.name) : NULL;
	if (r == 0 && !old) {
		uint32_t i = 0;
		while (i < b->n_budgets && b->budget[i].name != WZ_NONE)
			i++;
		r = i == WZ_BUDGETS_MAX ? -E2BIG
		                        : wz_grow(&c->mem, &b->budget, &b->budget_cap, i + 1, sizeof(*b->budget));
		if (r == 0) {
			old = &b->budget[i];
			if (i == b->n_budgets)
				b->n_budgets++;
			*old = (struct wz_budget){.name = WZ_NONE};
		}
	}
	if (r < 0) {
		wz_constraint_release(&fresh.k);
		return wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "TooMany", WZ_STR("no room for a budget"));
	}
	if (old->name != WZ_NONE)
		wz_constraint_release(&old->k);
	c->sum -= wz_budget_hash(c, old);
	*old = fresh;
	c->sum += wz_budget_hash(c, old);
	return 0;
}

int wz_budget_remove(struct wz_core *c, struct wz_str name, struct wz_err *err)
{
	struct wz_budget *old = find(c, wz_strtab_find(&c->model.names, name));

	if (!old)
		return wz_err_set(
		        err, -ENOENT, "NoSuchBudget", WZ_STR("there is no disruption budget of that name"));
	c->sum -= wz_budget_hash(c, old);
	wz_constraint_release(&old->k);
	*old = (struct wz_budget){.name = WZ_NONE};
	return 0;
}

/* How many more of the selection may stop now. */
static int64_t left(const struct wz_budget *b, uint64_t running, uint64_t expected)
{
	uint64_t whole = b->expected ? b->expected : expected, limit = b->limit, need;

	if (b->percent) /* as Kubernetes rounds: up */
		limit = (whole * b->limit + 99) / 100;
	need = !b->most ? limit : whole > limit ? whole - limit : 0;
	return (int64_t)running - (int64_t)need;
}

static bool one_allows(const struct wz_core *c, const struct wz_budget *b, const uint32_t *task, uint32_t n)
{
	const struct wz_between *w = &c->between;
	uint64_t running = 0, expected = 0;
	int64_t stopped = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct wz_labelset *set = &w->labelset[w->asked[wz_task_between(c, task[i])].labels];
		stopped += c->jobs.task[task[i]].counted_running && wz_labels_selected(c, &b->k, set);
	}
	if (stopped == 0)
		return true;
	for (uint32_t i = 0; i < w->n_labelsets; i++)
		if ((w->labelset[i].running || w->labelset[i].expected) &&
		        wz_labels_selected(c, &b->k, &w->labelset[i])) {
			running += w->labelset[i].running;
			expected += w->labelset[i].expected;
		}
	return stopped <= left(b, running, expected);
}

bool wz_budget_allows(const struct wz_core *c, const uint32_t *task, uint32_t n)
{
	for (uint32_t i = 0; i < c->between.n_budgets; i++)
		if (c->between.budget[i].name != WZ_NONE && !one_allows(c, &c->between.budget[i], task, n))
			return false;
	return true;
}
