/* SPDX-License-Identifier: Apache-2.0 */
/* The bound around its LP: check the input, merge equal entries, leave out what fits nowhere, ask the LP (again with
 * fewer demands where the caller allows that), and turn doubles into integers on the safe side.
 *
 * Merging is what makes the LP small: 1,213 nodes are 15 types and 8,000 tasks some 90 shapes. A wz_map from the hash
 * of an entry to its merged number serves; on a collision of unequal contents the key is mixed once more. */
#include "solver/bound_int.h"

#include "base/fix.h"
#include "base/hash.h"
#include "base/map.h"

/* What is scratch of one call. */
struct bound_work {
	const struct wz_bound_in *in;
	struct wz_arena arena;
	struct wz_map map;
	struct bound_type *type;
	struct bound_item *item;
	double *forced, *held; /* per item: what must be served, by cause */
	uint32_t *type_of, *item_of; /* per entry; WZ_NONE: of no interest */
	bool *fits; /* per entry of shapes */
	uint32_t n_types, n_items, n_sizes;
	uint32_t size[WZ_WHOLE];
	int32_t size_index[WZ_WHOLE];
	struct bound_duals duals;
	struct wz_bound ret;
};

bool bound_fits(const struct bound_type *t, const struct bound_item *s)
{
	if (s->devices > t->gpus || s->cpu_milli > t->cpu_milli || s->mem_bytes > t->mem_bytes)
		return false;
	return s->any_model || (t->gpus > 0 && wz_model_set_has(&s->allowed, t->model));
}

static int bad_entry(struct wz_err *err, const char *what, uint32_t i, const char *why)
{
	struct wz_num num;
	return wz_err_set(err, -EINVAL, "BoundInput", wz_str(what), WZ_STR(" "), wz_str_u64(&num, i), WZ_STR(": "),
	        wz_str(why));
}

static int too_large(struct wz_err *err, const char *what, uint64_t limit)
{
	struct wz_num num;
	return wz_err_set(err, -E2BIG, "BoundTooLarge", WZ_STR("the LP bound takes at most "),
	        wz_str_u64(&num, limit), WZ_STR(" "), wz_str(what));
}

static int no_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory while setting up the LP bound"));
}

static const char *node_fault(const struct wz_bound_node *n)
{
	if (n->cpu_milli < 0 || n->cpu_milli > WZ_CPU_MILLI_MAX)
		return "cpu out of range";
	if (n->mem_bytes < 0 || n->mem_bytes > WZ_BYTES_MAX)
		return "memory out of range";
	if (n->gpus > WZ_NODE_DEVICES_MAX)
		return "more than 64 devices";
	if (n->gpus > 0 && n->model >= WZ_MODELS_MAX)
		return "unknown device model";
	return n->count > WZ_BOUND_COUNT_MAX ? "more than 2^24 nodes" : NULL;
}

static const char *shape_fault(const struct wz_bound_shape *s)
{
	if (s->cpu_milli < 0 || s->cpu_milli > WZ_CPU_MILLI_MAX)
		return "cpu out of range";
	if (s->mem_bytes < 0 || s->mem_bytes > WZ_BYTES_MAX)
		return "memory out of range";
	if (s->devices > WZ_BOUND_COUNT_MAX)
		return "too many devices";
	if (s->devices == 0 ? s->milli != 0 : s->milli < 1 || s->milli > WZ_WHOLE)
		return "milli must be 1..1000 for each device, and 0 without devices";
	if (s->held > s->demand)
		return "held is more than demand";
	return s->demand > WZ_BOUND_COUNT_MAX ? "more than 2^24 tasks" : NULL;
}

static int check_input(const struct wz_bound_in *in, struct wz_err *err)
{
	const char *why;
	if (in->iterations > WZ_BOUND_ITERATIONS_MAX)
		return too_large(err, "simplex iterations", WZ_BOUND_ITERATIONS_MAX);
	if (in->n_nodes > WZ_BOUND_ENTRIES_MAX || in->n_shapes > WZ_BOUND_ENTRIES_MAX)
		return too_large(err, "entries of nodes or of shapes", WZ_BOUND_ENTRIES_MAX);
	for (uint32_t i = 0; i < in->n_nodes; i++) {
		if ((why = node_fault(&in->node[i])))
			return bad_entry(err, "node entry", i, why);
	}
	for (uint32_t i = 0; i < in->n_shapes; i++) {
		if ((why = shape_fault(&in->shape[i])))
			return bad_entry(err, "shape entry", i, why);
	}
	return 0;
}

static bool same_type(const struct bound_type *a, const struct bound_type *b)
{
	return a->model == b->model && a->gpus == b->gpus && a->cpu_milli == b->cpu_milli &&
	       a->mem_bytes == b->mem_bytes;
}

static bool same_item(const struct bound_item *a, const struct bound_item *b)
{
	return a->devices == b->devices && a->milli == b->milli && a->cpu_milli == b->cpu_milli &&
	       a->mem_bytes == b->mem_bytes && a->any_model == b->any_model &&
	       memcmp(&a->allowed, &b->allowed, sizeof a->allowed) == 0;
}

static uint64_t item_hash(const struct bound_item *s)
{
	uint64_t h = wz_hash_u64(0, (uint64_t)s->cpu_milli);
	h = wz_hash_u64(h, (uint64_t)s->mem_bytes);
	h = wz_hash_u64(h, (uint64_t)s->devices << 32 | s->milli);
	h = wz_hash_u64(h, s->any_model);
	for (unsigned i = 0; i < WZ_MODELS_MAX / 64; i++)
		h = wz_hash_u64(h, s->allowed.w[i]);
	return h;
}

static int merge_nodes(struct bound_work *w, struct wz_err *err)
{
	for (uint32_t i = 0; i < w->in->n_nodes; i++) {
		const struct wz_bound_node *n = &w->in->node[i];
		struct bound_type t = {n->cpu_milli, n->mem_bytes, n->gpus ? n->model : 0, n->gpus, 0};
		uint64_t key = wz_hash_u64(wz_hash_u64(wz_mix64((uint64_t)t.cpu_milli), (uint64_t)t.mem_bytes),
		        (uint64_t)t.model << 32 | t.gpus);
		uint32_t at;
		w->type_of[i] = WZ_NONE;
		if (n->count == 0)
			continue;
		while ((at = wz_map_get(&w->map, key)) != WZ_NONE && !same_type(&w->type[at], &t))
			key = wz_mix64(key);
		if (at == WZ_NONE) {
			if (w->n_types == WZ_BOUND_NODE_TYPES_MAX)
				return too_large(err, "different node types", WZ_BOUND_NODE_TYPES_MAX);
			at = w->n_types;
			if (wz_map_put(&w->map, key, at))
				return no_memory(err);
			w->type[w->n_types++] = t;
		}
		w->type_of[i] = at;
		w->type[at].count += n->count;
		w->ret.capacity_milli += (int64_t)n->count * n->gpus * WZ_WHOLE;
	}
	return 0;
}

static bool fits_somewhere(const struct bound_work *w, const struct bound_item *s)
{
	for (uint32_t t = 0; t < w->n_types; t++) {
		if (bound_fits(&w->type[t], s))
			return true;
	}
	return false;
}

/* Finds or makes the item that is equal to *s; *s has no tasks yet. */
static int intern_item(struct bound_work *w, const struct bound_item *s, uint32_t *ret, struct wz_err *err)
{
	uint64_t key = item_hash(s);
	uint32_t at;
	while ((at = wz_map_get(&w->map, key)) != WZ_NONE && !same_item(&w->item[at], s))
		key = wz_mix64(key);
	if (at == WZ_NONE) {
		if (w->n_items == WZ_BOUND_SHAPES_MAX)
			return too_large(err, "different shapes", WZ_BOUND_SHAPES_MAX);
		at = w->n_items;
		if (wz_map_put(&w->map, key, at))
			return no_memory(err);
		w->item[w->n_items++] = *s;
	}
	*ret = at;
	return 0;
}

static int merge_shapes(struct bound_work *w, struct wz_err *err)
{
	for (uint32_t i = 0; i < w->in->n_shapes; i++) {
		const struct wz_bound_shape *s = &w->in->shape[i];
		struct bound_item item = {.cpu_milli = s->cpu_milli,
		        .mem_bytes = s->mem_bytes,
		        .devices = s->devices,
		        .milli = s->milli,
		        .size = -1,
		        .any_model = s->any_model};
		int r;
		if (!s->any_model)
			item.allowed = s->allowed;
		w->item_of[i] = WZ_NONE;
		w->ret.demand_milli =
		        wz_sat_add(w->ret.demand_milli, wz_sat_mul((int64_t)s->devices * s->milli, s->demand));
		w->fits[i] = fits_somewhere(w, &item);
		if (!w->fits[i])
			w->ret.unfit_tasks += s->demand;
		if (!w->fits[i] || s->demand == 0 || (s->devices == 0 && !s->forced && s->held == 0))
			continue;
		if ((r = intern_item(w, &item, &w->item_of[i], err)))
			return r;
		w->item[w->item_of[i]].demand += s->demand;
		if (s->forced)
			w->forced[w->item_of[i]] += s->demand;
		else
			w->held[w->item_of[i]] += s->held;
	}
	return 0;
}

static void number_sizes(struct bound_work *w)
{
	for (uint32_t i = 0; i < WZ_WHOLE; i++)
		w->size_index[i] = -1;
	for (uint32_t i = 0; i < w->n_items; i++) {
		struct bound_item *s = &w->item[i];
		if (s->devices == 0 || s->milli == WZ_WHOLE)
			continue;
		if (w->size_index[s->milli] < 0) {
			w->size_index[s->milli] = (int32_t)w->n_sizes;
			w->size[w->n_sizes++] = s->milli;
		}
		s->size = w->size_index[s->milli];
	}
}

static int work_init(struct bound_work *w, const struct wz_bound_in *in, const struct wz_mem *mem)
{
	uint32_t shapes = in->n_shapes < WZ_BOUND_SHAPES_MAX ? in->n_shapes : WZ_BOUND_SHAPES_MAX;
	uint32_t types = in->n_nodes < WZ_BOUND_NODE_TYPES_MAX ? in->n_nodes : WZ_BOUND_NODE_TYPES_MAX;
	struct wz_arena *a = &w->arena;
	w->in = in;
	wz_map_init(&w->map, mem);
	wz_arena_init(a, mem, 65536);
	/* One more than needed, so that no size is 0. */
	w->type = wz_arena_alloc(a, (types + 1) * sizeof *w->type);
	w->item = wz_arena_alloc(a, (shapes + 1) * sizeof *w->item);
	w->forced = wz_arena_alloc(a, (shapes + 1) * sizeof *w->forced);
	w->held = wz_arena_alloc(a, (shapes + 1) * sizeof *w->held);
	w->type_of = wz_arena_alloc(a, ((size_t)in->n_nodes + 1) * sizeof *w->type_of);
	w->item_of = wz_arena_alloc(a, ((size_t)in->n_shapes + 1) * sizeof *w->item_of);
	w->fits = wz_arena_alloc(a, ((size_t)in->n_shapes + 1) * sizeof *w->fits);
	w->duals.cpu = wz_arena_alloc(a, (types + 1) * sizeof(double));
	w->duals.mem = wz_arena_alloc(a, (types + 1) * sizeof(double));
	w->duals.device = wz_arena_alloc(a, (types + 1) * sizeof(double));
	w->duals.item = wz_arena_alloc(a, (shapes + 1) * sizeof(double));
	if (!w->type || !w->item || !w->forced || !w->held || !w->type_of || !w->item_of || !w->fits ||
	        !w->duals.cpu || !w->duals.mem || !w->duals.device || !w->duals.item)
		return -ENOMEM;
	return 0;
}

static void work_release(struct bound_work *w)
{
	wz_map_release(&w->map);
	wz_arena_release(&w->arena);
}

static int infeasible(unsigned dropped, double shortfall, struct wz_err *err)
{
	struct wz_num num;
	struct wz_str tasks = wz_str_u64(&num, (uint64_t)shortfall + 1);
	if (dropped & WZ_BOUND_DROPPED_HELD)
		return wz_err_set(err, -ENOSPC, "ForcedInfeasible",
		        WZ_STR("the tasks that must be served cannot be: about "), tasks,
		        WZ_STR(" too many for the cluster; make them optional"));
	return wz_err_set(err, -ENOSPC, "PrefixInfeasible",
	        WZ_STR("the prefix that must be held cannot be: about "), tasks,
	        WZ_STR(" tasks too many for the cluster; hold a shorter prefix"));
}

static double sum(const double *v, uint32_t n)
{
	double s = 0;
	for (uint32_t i = 0; i < n; i++)
		s += v[i];
	return s;
}

/* Solves, and where allowed solves again without `held`, then without `forced`. */
static int solve_levels(
        struct bound_work *w, const struct wz_mem *mem, struct bound_answer *answer, struct wz_err *err)
{
	struct bound_problem p = {
	        w->type, w->item, w->size, w->n_types, w->n_items, w->n_sizes, w->in->iterations, mem};
	bool held = sum(w->held, w->n_items) > 0, forced = sum(w->forced, w->n_items) > 0;
	for (;;) {
		int r;
		unsigned cause = held ? 0 : WZ_BOUND_DROPPED_HELD;
		for (uint32_t i = 0; i < w->n_items; i++)
			w->item[i].lower = (held ? w->held[i] : 0) + (forced ? w->forced[i] : 0);
		if ((r = bound_lp_solve(&p, &w->duals, answer, err)))
			return r;
		if (!answer->infeasible || (!held && !forced))
			return 0;
		if (!w->in->fallback)
			return infeasible(cause, answer->shortfall, err);
		w->ret.dropped |= held ? WZ_BOUND_DROPPED_HELD : WZ_BOUND_DROPPED_FORCED;
		if (held)
			held = false;
		else
			forced = false;
	}
}

/* Any placement holds whole milli, so the LP's value may be rounded down; the margin is for the sums in floating point. */
static int64_t floor_milli(double devices)
{
	return devices > 0 ? (int64_t)(devices * WZ_WHOLE + 1e-3) : 0;
}

static int64_t micro(double v)
{
	double x = v * 1e6;
	if (x >= 9e18)
		return INT64_MAX;
	if (x <= -9e18)
		return INT64_MIN;
	return (int64_t)(x < 0 ? x - 0.5 : x + 0.5);
}

static void fill_result(struct bound_work *w, const struct bound_answer *a)
{
	struct wz_bound *b = &w->ret;
	b->status = a->optimal ? WZ_BOUND_OPTIMAL : WZ_BOUND_LOOSE;
	b->bound_milli = floor_milli(a->bound);
	if (b->bound_milli > b->capacity_milli)
		b->bound_milli = b->capacity_milli;
	if (b->bound_milli > b->demand_milli)
		b->bound_milli = b->demand_milli;
	if (b->capacity_milli > 0) {
		b->percent_e6 = wz_muldiv(b->bound_milli, 100000000, b->capacity_milli);
		if (wz_muldiv(b->percent_e6, b->capacity_milli, 100000000) < b->bound_milli)
			b->percent_e6++;
	}
	b->node_types = w->n_types;
	b->shapes = w->n_items;
	b->share_sizes = w->n_sizes;
	b->rows = a->rows;
	b->columns = a->columns;
	b->rounds = a->rounds;
	b->iterations = a->iterations;
}

static void fill_prices(
        const struct bound_work *w, struct wz_bound_node_price *node, struct wz_bound_shape_price *shape)
{
	for (uint32_t i = 0; node && i < w->in->n_nodes; i++) {
		uint32_t t = w->type_of[i];
		node[i] = (struct wz_bound_node_price){0};
		if (t != WZ_NONE)
			node[i] = (struct wz_bound_node_price){
			        micro(w->duals.cpu[t]), micro(w->duals.mem[t]), micro(w->duals.device[t])};
	}
	for (uint32_t i = 0; shape && i < w->in->n_shapes; i++) {
		uint32_t s = w->item_of[i];
		shape[i] = (struct wz_bound_shape_price){s == WZ_NONE ? 0 : micro(w->duals.item[s]), w->fits[i]};
	}
}

int wz_bound_solve(const struct wz_bound_in *in, const struct wz_mem *mem, struct wz_bound *ret,
        struct wz_bound_node_price *ret_node, struct wz_bound_shape_price *ret_shape, struct wz_err *err)
{
	struct bound_work w = {0};
	struct bound_answer answer = {0};
	int r = check_input(in, err);
	if (r)
		return r;
	if (work_init(&w, in, mem)) {
		r = no_memory(err);
		goto out;
	}
	if ((r = merge_nodes(&w, err)))
		goto out;
	wz_map_release(&w.map);
	wz_map_init(&w.map, mem);
	if ((r = merge_shapes(&w, err)))
		goto out;
	number_sizes(&w);
	if ((uint64_t)w.n_types * w.n_items > WZ_BOUND_PAIRS_MAX ||
	        (uint64_t)w.n_types * w.n_sizes > WZ_BOUND_PAIRS_MAX) {
		r = too_large(err, "pairs of a node type with a shape or a share size", WZ_BOUND_PAIRS_MAX);
		goto out;
	}
	if ((r = solve_levels(&w, mem, &answer, err)))
		goto out;
	fill_result(&w, &answer);
	fill_prices(&w, ret_node, ret_shape);
	*ret = w.ret;
out:
	work_release(&w);
	return r;
}
