/* SPDX-License-Identifier: Apache-2.0 */
/* The LP by column generation, with CLP as the simplex.
 *
 * Master. Columns: x[s,t] tasks of shape s on nodes of type t; y[p,t] devices of type t cut by share pattern p; u[s]
 * tasks that must be served and are not. Rows, in this order:
 *
 *	demand[s]    lower_s <= sum_t x + u <= demand_s
 *	cpu[t]       sum_s cpu_s x <= n_t cpu_t                 (in vCPU)
 *	mem[t]       sum_s mem_s x <= n_t mem_t                 (in GiB)
 *	device[t]    sum_(whole s) devices_s x + sum_p y <= n_t gpus_t
 *	whole[t,k]   sum f_k(devices_s / gpus_t) x <= n_t       (see whole_weight)
 *	link[t,w]    sum_(s of share w) devices_s x - sum_p p_w y <= 0
 *
 * The patterns are too many to list, so a round solves the master with those it has, and then asks for each type a
 * knapsack (pattern.h) over the prices of its link rows for patterns worth more than the device they use. By the flow
 * decomposition theorem the limit is the arc-flow LP of reference/fragmentation.md section 5, whose size would grow
 * with 1000 / gcd of the sizes; this one's does not.
 *
 * Every round's prices give an upper bound of their own by weak duality, once they are repaired: clipped to their
 * signs, a device's price raised by the profit of its best pattern, a task's by the profit that is left on any type.
 * The least such bound is the answer, its prices are the duals; when it meets the master's value the answer is
 * optimal. So nothing rests on the solver being right.
 *
 * Phase 1 (only when something must be served) minimises sum u; phase 2 fixes u at 0 and maximises GPU. */
#include "solver/bound_int.h"
#include "solver/pattern.h"

#include "base/check.h"

#include <Clp_C_Interface.h>
#include <float.h>

#define WHOLE_ROWS_MAX (WZ_NODE_DEVICES_MAX / 2)
#define COLUMN_LEN_MAX (4 + WHOLE_ROWS_MAX)
#define ROUND_COLUMNS_MAX 4096 /* patterns added in one round; the rest is found in the next */
#define PROFIT_MIN 1e-9 /* a pattern that gains less (in devices) is not added */
#define PRICE_MAX 1e9 /* devices for one unit of anything: beyond it a price is noise */
#define TASKS_EPS 1e-5 /* so much of a task is feasibility noise */
#define MIB_PER_GIB 1024.0

struct whole_row {
	uint32_t k, row;
};

struct lp {
	const struct bound_problem *p;
	const struct wz_mem *mem;
	struct wz_arena arena; /* as long as the LP */
	Clp_Simplex *clp;
	struct wz_pattern_table table;
	uint32_t rows, n_x, n_u, n_y, rounds, iterations;
	uint32_t budget; /* iterations left to this phase */
	uint32_t *x_type, *x_item; /* per x column */
	uint32_t *u_item; /* per u column; they follow the x columns */
	int32_t *link; /* [type x size] -> row, -1 none */
	uint32_t *whole_first; /* per type + 1, into whole */
	struct whole_row *whole;
	double *right; /* upper side of every row */
	double *price, *best; /* per row: of this round, of the least bound */
	double *value; /* per size: prices of one type's link rows */
	uint16_t *counts; /* the new patterns of one type, n_sizes each */
	bool phase1;
	bool stuck; /* the last solve did nothing */
	/* New columns of a round. */
	int *col_start, *col_row;
	double *col_val, *col_zero, *col_inf;
	uint32_t col_n, col_cap_len;
};

static uint32_t row_cpu(const struct lp *lp, uint32_t t)
{
	return lp->p->n_items + 3 * t;
}
static uint32_t row_mem(const struct lp *lp, uint32_t t)
{
	return lp->p->n_items + 3 * t + 1;
}
static uint32_t row_device(const struct lp *lp, uint32_t t)
{
	return lp->p->n_items + 3 * t + 2;
}
static double gib(int64_t bytes)
{
	return (double)bytes / (1024.0 * 1024.0 * MIB_PER_GIB);
}

static bool is_whole(const struct bound_item *s)
{
	return s->devices > 0 && s->milli == WZ_WHOLE;
}
static double gpu_value(const struct bound_item *s)
{
	return (double)s->devices * s->milli / WZ_WHOLE;
}

/* The dual feasible function u^(k) of Fekete and Schepers (2001) at devices / gpus: whatever set of whole-device tasks
 * fits a node together has weights of at most 1 in sum. Where k x devices <= gpus < (k + 1) x devices and devices does
 * not divide gpus it is 1/k, more than devices / gpus: it says that only k such tasks fit. (The plain row
 * "sum x / floor(gpus / devices) <= n" of the reference is the same on the openb sizes, which divide each other, but
 * would cut off 3 + 3 + 2 on 8.) */
static double whole_weight(uint32_t devices, uint32_t gpus, uint32_t k)
{
	uint32_t scaled = (k + 1) * devices;
	return scaled % gpus == 0 ? (double)devices / gpus : (double)(scaled / gpus) / k;
}

/* The parameters k worth a row on this type. */
static uint32_t whole_params(const struct bound_problem *p, const struct bound_type *t, uint32_t *ret)
{
	bool used[WHOLE_ROWS_MAX + 1] = {false};
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->n_items; i++) {
		const struct bound_item *s = &p->item[i];
		if (is_whole(s) && s->devices > 1 && bound_fits(t, s) && t->gpus % s->devices != 0)
			used[t->gpus / s->devices] = true;
	}
	for (uint32_t k = 1; k <= WHOLE_ROWS_MAX; k++) {
		if (used[k])
			ret[n++] = k;
	}
	return n;
}

/* The column of shape i on type t. At most COLUMN_LEN_MAX entries. */
static int x_column(const struct lp *lp, uint32_t t, uint32_t i, int *row, double *val)
{
	const struct bound_item *s = &lp->p->item[i];
	int n = 0;
	row[n] = (int)i;
	val[n++] = 1;
	if (s->cpu_milli > 0) {
		row[n] = (int)row_cpu(lp, t);
		val[n++] = (double)s->cpu_milli / 1000;
	}
	if (s->mem_bytes > 0) {
		row[n] = (int)row_mem(lp, t);
		val[n++] = gib(s->mem_bytes);
	}
	if (s->devices == 0)
		return n;
	row[n] = is_whole(s) ? (int)row_device(lp, t) : lp->link[(size_t)t * lp->p->n_sizes + (uint32_t)s->size];
	val[n++] = s->devices;
	for (uint32_t k = lp->whole_first[t]; is_whole(s) && k < lp->whole_first[t + 1]; k++) {
		double weight = whole_weight(s->devices, lp->p->type[t].gpus, lp->whole[k].k);
		if (weight > 0) {
			row[n] = (int)lp->whole[k].row;
			val[n++] = weight;
		}
	}
	return n;
}

/* Counts columns, numbers rows. */
static int lp_layout(struct lp *lp)
{
	const struct bound_problem *p = lp->p;
	size_t links = (size_t)p->n_types * p->n_sizes;
	uint32_t params[WHOLE_ROWS_MAX], n_whole = 0;
	lp->rows = p->n_items + 3 * p->n_types;
	lp->link = wz_arena_alloc(&lp->arena, (links + 1) * sizeof *lp->link);
	lp->whole_first = wz_arena_alloc(&lp->arena, (p->n_types + 1) * sizeof *lp->whole_first);
	if (!lp->link || !lp->whole_first)
		return -ENOMEM;
	for (uint32_t t = 0; t < p->n_types; t++)
		n_whole += whole_params(p, &p->type[t], params);
	lp->whole = wz_arena_alloc(&lp->arena, (n_whole + 1) * sizeof *lp->whole);
	if (!lp->whole)
		return -ENOMEM;
	n_whole = 0;
	for (uint32_t t = 0; t < p->n_types; t++) {
		uint32_t n = whole_params(p, &p->type[t], params);
		lp->whole_first[t] = n_whole;
		for (uint32_t k = 0; k < n; k++)
			lp->whole[n_whole++] = (struct whole_row){params[k], lp->rows++};
	}
	lp->whole_first[p->n_types] = n_whole;
	for (size_t l = 0; l < links; l++)
		lp->link[l] = -1;
	for (uint32_t t = 0; t < p->n_types; t++) {
		for (uint32_t i = 0; i < p->n_items; i++) {
			const struct bound_item *s = &p->item[i];
			if (!bound_fits(&p->type[t], s))
				continue;
			lp->n_x++;
			if (s->size >= 0 && lp->link[(size_t)t * p->n_sizes + (uint32_t)s->size] < 0)
				lp->link[(size_t)t * p->n_sizes + (uint32_t)s->size] = (int32_t)lp->rows++;
		}
	}
	for (uint32_t i = 0; i < p->n_items; i++)
		lp->n_u += p->item[i].lower > 0;
	return 0;
}

static int lp_arrays(struct lp *lp)
{
	struct wz_arena *a = &lp->arena;
	uint32_t sizes = lp->p->n_sizes;
	uint32_t cols = ROUND_COLUMNS_MAX > sizes + 1 ? ROUND_COLUMNS_MAX : sizes + 1;
	lp->x_type = wz_arena_alloc(a, (lp->n_x + 1) * sizeof *lp->x_type);
	lp->x_item = wz_arena_alloc(a, (lp->n_x + 1) * sizeof *lp->x_item);
	lp->u_item = wz_arena_alloc(a, (lp->n_u + 1) * sizeof *lp->u_item);
	lp->right = wz_arena_alloc(a, (lp->rows + 1) * sizeof *lp->right);
	lp->price = wz_arena_alloc(a, (lp->rows + 1) * sizeof *lp->price);
	lp->best = wz_arena_alloc(a, (lp->rows + 1) * sizeof *lp->best);
	lp->value = wz_arena_alloc(a, (sizes + 1) * sizeof *lp->value);
	lp->counts = wz_arena_alloc(a, ((size_t)sizes * sizes + 1) * sizeof *lp->counts);
	lp->col_cap_len = cols * 8 + sizes + 1;
	lp->col_start = wz_arena_alloc(a, (cols + 1) * sizeof *lp->col_start);
	lp->col_row = wz_arena_alloc(a, lp->col_cap_len * sizeof *lp->col_row);
	lp->col_val = wz_arena_alloc(a, lp->col_cap_len * sizeof *lp->col_val);
	lp->col_zero = wz_arena_alloc(a, cols * sizeof *lp->col_zero);
	lp->col_inf = wz_arena_alloc(a, cols * sizeof *lp->col_inf);
	if (!lp->x_type || !lp->x_item || !lp->u_item || !lp->right || !lp->price || !lp->best || !lp->value ||
	        !lp->counts || !lp->col_start || !lp->col_row || !lp->col_val || !lp->col_zero || !lp->col_inf)
		return -ENOMEM;
	for (uint32_t i = 0; i < cols; i++)
		lp->col_inf[i] = DBL_MAX;
	return 0;
}

static void set_right(struct lp *lp)
{
	const struct bound_problem *p = lp->p;
	for (uint32_t i = 0; i < p->n_items; i++)
		lp->right[i] = p->item[i].demand;
	for (uint32_t t = 0; t < p->n_types; t++) {
		const struct bound_type *type = &p->type[t];
		lp->right[row_cpu(lp, t)] = type->count * ((double)type->cpu_milli / 1000);
		lp->right[row_mem(lp, t)] = type->count * gib(type->mem_bytes);
		lp->right[row_device(lp, t)] = type->count * type->gpus;
		for (uint32_t k = lp->whole_first[t]; k < lp->whole_first[t + 1]; k++)
			lp->right[lp->whole[k].row] = type->count;
	}
}

/* Gives CLP the x and u columns and all rows. */
static int load_master(struct lp *lp)
{
	const struct bound_problem *p = lp->p;
	struct wz_arena a;
	uint32_t cols = lp->n_x + lp->n_u, x = 0, u = 0;
	size_t len_max = (size_t)lp->n_u, len = 0;
	int row[COLUMN_LEN_MAX];
	double val[COLUMN_LEN_MAX], *zero, *inf, *low, *vals;
	int *start, *index, r = -ENOMEM;
	wz_arena_init(&a, lp->mem, 65536);
	for (uint32_t t = 0; t < p->n_types; t++) {
		for (uint32_t i = 0; i < p->n_items; i++) {
			if (!bound_fits(&p->type[t], &p->item[i]))
				continue;
			lp->x_type[x] = t;
			lp->x_item[x++] = i;
			len_max += (size_t)x_column(lp, t, i, row, val);
		}
	}
	zero = wz_arena_alloc(&a, (cols + 1) * sizeof *zero);
	inf = wz_arena_alloc(&a, (cols + 1) * sizeof *inf);
	low = wz_arena_alloc(&a, (lp->rows + 1) * sizeof *low);
	start = wz_arena_alloc(&a, (cols + 1) * sizeof *start);
	index = wz_arena_alloc(&a, (len_max + 1) * sizeof *index);
	vals = wz_arena_alloc(&a, (len_max + 1) * sizeof *vals);
	if (!zero || !inf || !low || !start || !index || !vals)
		goto out;
	for (x = 0; x < lp->n_x; x++) {
		start[x] = (int)len;
		len += (size_t)x_column(lp, lp->x_type[x], lp->x_item[x], index + len, vals + len);
	}
	for (uint32_t i = 0; i < p->n_items; i++) {
		low[i] = p->item[i].lower > 0 ? p->item[i].lower : -DBL_MAX;
		if (p->item[i].lower > 0) {
			lp->u_item[u] = i;
			start[lp->n_x + u++] = (int)len;
			index[len] = (int)i;
			vals[len++] = 1;
		}
	}
	start[cols] = (int)len;
	for (uint32_t c = 0; c < cols; c++)
		inf[c] = DBL_MAX;
	for (uint32_t i = p->n_items; i < lp->rows; i++)
		low[i] = -DBL_MAX;
	Clp_loadProblem(lp->clp, (int)cols, (int)lp->rows, start, index, vals, zero, inf, zero, low, lp->right);
	r = 0;
out:
	wz_arena_release(&a);
	return r;
}

/* Sets the objective of the phase (CLP minimises) and opens or closes u. Patterns cost nothing in both. */
static int set_phase(struct lp *lp, bool phase1)
{
	uint32_t cols = lp->n_x + lp->n_u + lp->n_y;
	struct wz_arena a;
	double *cost, *upper;
	int r = -ENOMEM;
	wz_arena_init(&a, lp->mem, 65536);
	lp->phase1 = phase1;
	cost = wz_arena_alloc(&a, (cols + 1) * sizeof *cost);
	upper = wz_arena_alloc(&a, (cols + 1) * sizeof *upper);
	if (!cost || !upper)
		goto out;
	for (uint32_t c = 0; c < cols; c++) {
		bool is_u = c >= lp->n_x && c < lp->n_x + lp->n_u;
		upper[c] = is_u && !phase1 ? 0 : DBL_MAX;
		cost[c] = is_u && phase1 ? 1 : 0;
		if (c < lp->n_x && !phase1)
			cost[c] = -gpu_value(&lp->p->item[lp->x_item[c]]);
	}
	Clp_chgObjCoefficients(lp->clp, cost);
	Clp_chgColumnUpper(lp->clp, upper);
	r = 0;
out:
	wz_arena_release(&a);
	return r;
}

/* This round's prices from CLP's row duals, clipped to what their side allows. */
static void take_prices(struct lp *lp)
{
	const double *dual = Clp_getRowPrice(lp->clp);
	for (uint32_t i = 0; i < lp->rows; i++) {
		double v = -dual[i], least = 0;
		if (i < lp->p->n_items && lp->p->item[i].lower > 0)
			least = lp->phase1 ? -1 : -PRICE_MAX;
		if (!(v < PRICE_MAX)) /* or not a number */
			v = 0;
		lp->price[i] = v > least ? v : least;
	}
}

/* Raises the price of each shape's tasks until no x column has profit left. */
static void repair_items(struct lp *lp)
{
	double val[COLUMN_LEN_MAX];
	int row[COLUMN_LEN_MAX];
	for (uint32_t x = 0; x < lp->n_x; x++) {
		uint32_t i = lp->x_item[x];
		int n = x_column(lp, lp->x_type[x], i, row, val);
		double profit = lp->phase1 ? 0 : gpu_value(&lp->p->item[i]);
		for (int k = 0; k < n; k++)
			profit -= val[k] * lp->price[row[k]];
		if (profit > 0)
			lp->price[i] += profit;
	}
}

/* The right sides at this round's prices: with no profit left anywhere, an upper bound. */
static double priced_right(const struct lp *lp)
{
	double sum = 0;
	for (uint32_t i = 0; i < lp->rows; i++) {
		double v = lp->price[i];
		sum += v * (v >= 0 ? lp->right[i] : lp->p->item[i].lower);
	}
	return sum;
}

/* Appends pattern `count` of type t to the round's columns; false when they are full. */
static bool add_pattern(struct lp *lp, uint32_t t, const uint16_t *count)
{
	uint32_t at = (uint32_t)lp->col_start[lp->col_n];
	if (lp->col_n == ROUND_COLUMNS_MAX || at + lp->p->n_sizes + 1 > lp->col_cap_len)
		return false;
	lp->col_row[at] = (int)row_device(lp, t);
	lp->col_val[at++] = 1;
	for (uint32_t i = 0; i < lp->p->n_sizes; i++) {
		if (count[i] > 0) {
			lp->col_row[at] = lp->link[(size_t)t * lp->p->n_sizes + i];
			lp->col_val[at++] = -(double)count[i];
		}
	}
	lp->col_start[++lp->col_n] = (int)at;
	return true;
}

/* Prices the patterns of type t: returns the profit of the best, and adds for each size the best pattern that holds
 * it, when that pays. */
static double price_patterns(struct lp *lp, uint32_t t)
{
	uint32_t sizes = lp->p->n_sizes, n = 0;
	double device = lp->price[row_device(lp, t)], best;
	for (uint32_t i = 0; i < sizes; i++) {
		int32_t row = lp->link[(size_t)t * sizes + i];
		lp->value[i] = row < 0 ? 0 : lp->price[row];
	}
	best = wz_pattern_solve(&lp->table, lp->value) - device;
	if (best <= PROFIT_MIN)
		return best;
	for (uint32_t i = 0; i < sizes; i++) {
		uint16_t *count = lp->counts + (size_t)n * sizes;
		bool known = false;
		if (lp->value[i] <= 0 ||
		        wz_pattern_get(&lp->table, lp->value, (int32_t)i, count) - device <= PROFIT_MIN)
			continue;
		for (uint32_t k = 0; k < n && !known; k++)
			known = memcmp(lp->counts + (size_t)k * sizes, count, sizes * sizeof *count) == 0;
		if (!known && add_pattern(lp, t, count))
			n++;
	}
	return best;
}

/* Simplex iterations of the last solve, at most what was left of the budget. */
static uint32_t spent(const struct lp *lp)
{
	uint32_t n = (uint32_t)Clp_numberIterations(lp->clp);
	return n < lp->budget ? n : lp->budget;
}

/* Solves the master and prices once. *ret_value: the master's value, *ret_bound: what these prices prove. Both in the
 * sense of maximising (phase 1: minus the shortfall). Leaves the new columns in the col_ arrays. */
static void one_round(struct lp *lp, double *ret_value, double *ret_bound)
{
	uint32_t n;
	Clp_setMaximumIterations(lp->clp, (int)lp->budget);
	Clp_primal(lp->clp, 0);
	n = spent(lp);
	lp->stuck = n == 0;
	lp->budget -= n;
	lp->iterations += n;
	take_prices(lp);
	lp->col_n = 0;
	lp->col_start[0] = 0;
	for (uint32_t t = 0; t < lp->p->n_types; t++) {
		double profit = lp->p->n_sizes > 0 ? price_patterns(lp, t) : 0;
		if (profit > 0)
			lp->price[row_device(lp, t)] += profit;
	}
	repair_items(lp);
	*ret_value = Clp_status(lp->clp) == 0 ? -Clp_objectiveValue(lp->clp) : -DBL_MAX;
	*ret_bound = priced_right(lp);
	lp->rounds++;
}

static uint32_t work_limit(const struct lp *lp)
{
	uint32_t n = WZ_BOUND_WORK_DEFAULT / (lp->rows + 1);
	if (lp->p->iterations)
		return lp->p->iterations;
	return n > WZ_BOUND_ITERATIONS_MIN ? n : WZ_BOUND_ITERATIONS_MIN;
}

/* Column generation to the end of a phase. Returns whether the bound met the master's value. */
static bool run_phase(struct lp *lp, double *ret_value, double *ret_bound)
{
	double least = DBL_MAX, value = -DBL_MAX, bound;
	bool met = false;
	lp->budget = work_limit(lp);
	for (uint32_t round = 0; lp->budget > 0; round++) {
		one_round(lp, &value, &bound);
		if (bound < least) {
			least = bound;
			memcpy(lp->best, lp->price, lp->rows * sizeof *lp->best);
		}
		met = least - value <= 1e-6 + 1e-7 * (least > 0 ? least : -least) ||
		      (lp->phase1 && value > -TASKS_EPS);
		if (met || lp->col_n == 0 || (lp->stuck && round > 0))
			break;
		Clp_addColumns(lp->clp, (int)lp->col_n, lp->col_zero, lp->col_inf, lp->col_zero, lp->col_start,
		        lp->col_row, lp->col_val);
		lp->n_y += lp->col_n;
	}
	*ret_value = value;
	*ret_bound = least;
	return met;
}

static void give_duals(const struct lp *lp, struct bound_duals *d)
{
	for (uint32_t i = 0; i < lp->p->n_items; i++)
		d->item[i] = lp->best[i];
	for (uint32_t t = 0; t < lp->p->n_types; t++) {
		d->cpu[t] = lp->best[row_cpu(lp, t)];
		d->mem[t] = lp->best[row_mem(lp, t)];
		d->device[t] = lp->best[row_device(lp, t)];
		for (uint32_t k = lp->whole_first[t]; k < lp->whole_first[t + 1]; k++)
			d->device[t] += lp->best[lp->whole[k].row] / lp->p->type[t].gpus;
	}
}

static int run_phases(struct lp *lp, struct bound_answer *ret)
{
	double value, bound;
	int r;
	if (lp->n_u > 0) {
		if ((r = set_phase(lp, true)))
			return r;
		run_phase(lp, &value, &bound);
		if (bound < -TASKS_EPS) {
			ret->infeasible = true;
			ret->shortfall = -bound;
			return 0;
		}
	}
	if ((r = set_phase(lp, false)))
		return r;
	ret->optimal = run_phase(lp, &value, &bound);
	ret->bound = bound;
	return 0;
}

int bound_lp_solve(
        const struct bound_problem *p, struct bound_duals *d, struct bound_answer *ret, struct wz_err *err)
{
	struct lp lp = {.p = p, .mem = p->mem};
	int r;
	*ret = (struct bound_answer){0};
	wz_arena_init(&lp.arena, p->mem, 65536);
	wz_pattern_init(&lp.table, p->size, p->n_sizes);
	if ((r = lp_layout(&lp)) || (r = lp_arrays(&lp)))
		goto out;
	set_right(&lp);
	lp.clp = Clp_newModel();
	Clp_setLogLevel(lp.clp, 0);
	Clp_setDualTolerance(lp.clp, 1e-9);
	if ((r = load_master(&lp)) || (r = run_phases(&lp, ret)))
		goto out;
	if (!ret->infeasible)
		give_duals(&lp, d);
	ret->rows = lp.rows;
	ret->columns = lp.n_x + lp.n_u + lp.n_y;
	ret->rounds = lp.rounds;
	ret->iterations = lp.iterations;
out:
	if (lp.clp)
		Clp_deleteModel(lp.clp);
	wz_arena_release(&lp.arena);
	return r ? wz_err_set(err, r, "OutOfMemory", WZ_STR("out of memory while building the LP of the bound"))
	         : 0;
}

bool wz_bound_available(const char **ret_what)
{
	if (ret_what)
		*ret_what = Clp_Version();
	return true;
}
