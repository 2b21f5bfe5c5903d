/* SPDX-License-Identifier: Apache-2.0 */
/* Columns: x[m,t], then z. Rows: time[m] sum_t x <= 1; room[t] sum_m gpus x <= devices; goal[m] sum_t a[m,t] x - b[m] z >= c[m].
 * Maximise z (max-min: a = gpus speed / (weight equal), b = 1, c = 0). For finish-time at a ratio r: a job is in time when
 * e_m >= steps / (r T - elapsed), T its time at the equal share: a = speed, b = that rate, c = 0, and r is feasible when z >= 1. */
#include "solver/share_int.h"

#include <Clp_C_Interface.h>
#include <float.h>

struct lp {
	const struct wz_share_problem *p;
	const struct wz_mem *mem;
	Clp_Simplex *clp;
	int *start, *row; /* columns */
	double *value, *low, *high, *cost, *row_low, *row_high;
	double *a, *b; /* [n x types], [n] */
};

static double *doubles(const struct wz_mem *mem, size_t n)
{
	return wz_mem_zalloc(mem, (n ? n : 1) * sizeof(double));
}

static void drop(const struct wz_mem *mem, void *p, size_t n, size_t size)
{
	if (p)
		wz_mem_free(mem, p, (n ? n : 1) * size);
}

static void sizes(const struct wz_share_problem *p, size_t *cols, size_t *rows, size_t *nz)
{
	*cols = (size_t)p->n * p->types + 1;
	*rows = (size_t)p->n * 2 + p->types;
	*nz = (size_t)p->n * p->types * 3 + p->n;
}

static void lp_close(struct lp *l)
{
	size_t cols, rows, nz, m = l->p->n, mt = m * l->p->types;

	sizes(l->p, &cols, &rows, &nz);
	if (l->clp)
		Clp_deleteModel(l->clp);
	drop(l->mem, l->start, cols + 1, sizeof(int));
	drop(l->mem, l->row, nz, sizeof(int));
	drop(l->mem, l->value, nz, sizeof(double));
	drop(l->mem, l->low, cols, sizeof(double));
	drop(l->mem, l->high, cols, sizeof(double));
	drop(l->mem, l->cost, cols, sizeof(double));
	drop(l->mem, l->row_low, rows, sizeof(double));
	drop(l->mem, l->row_high, rows, sizeof(double));
	drop(l->mem, l->a, mt, sizeof(double));
	drop(l->mem, l->b, m, sizeof(double));
}

static int lp_open(struct lp *l, const struct wz_share_problem *p, const struct wz_mem *mem, struct wz_err *err)
{
	size_t cols, rows, nz, m = p->n, mt = m * p->types;

	sizes(p, &cols, &rows, &nz);
	*l = (struct lp){.p = p, .mem = mem};
	l->start = wz_mem_zalloc(mem, (cols + 1) * sizeof(int));
	l->row = wz_mem_zalloc(mem, (nz ? nz : 1) * sizeof(int));
	l->value = doubles(mem, nz);
	l->low = doubles(mem, cols);
	l->high = doubles(mem, cols);
	l->cost = doubles(mem, cols);
	l->row_low = doubles(mem, rows);
	l->row_high = doubles(mem, rows);
	l->a = doubles(mem, mt);
	l->b = doubles(mem, m);
	if (!l->start || !l->row || !l->value || !l->low || !l->high || !l->cost || !l->row_low || !l->row_high ||
	        !l->a || !l->b)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a linear program"));
	return 0;
}

/* Builds and solves with the goals in a and b; z comes out. */
static int solve(struct lp *l, double *ret_z, struct wz_err *err)
{
	const struct wz_share_problem *p = l->p;
	int n = 0, col = 0;
	const double *x;

	for (uint32_t m = 0; m < p->n; m++)
		for (uint32_t t = 0; t < p->types; t++, col++) {
			l->start[col] = n;
			l->row[n] = (int)m;
			l->value[n++] = 1;
			l->row[n] = (int)(p->n + t);
			l->value[n++] = p->job[m].gpus;
			l->row[n] = (int)(p->n + p->types + m);
			l->value[n++] = l->a[(size_t)m * p->types + t];
			l->high[col] = 1;
			l->cost[col] = 0;
		}
	l->start[col] = n;
	for (uint32_t m = 0; m < p->n; m++) {
		l->row[n] = (int)(p->n + p->types + m);
		l->value[n++] = -l->b[m];
	}
	l->high[col] = DBL_MAX;
	l->cost[col] = -1;
	l->start[col + 1] = n;
	for (uint32_t m = 0; m < p->n; m++) {
		l->row_low[m] = -DBL_MAX;
		l->row_high[m] = 1;
		l->row_low[p->n + p->types + m] = 0;
		l->row_high[p->n + p->types + m] = DBL_MAX;
	}
	for (uint32_t t = 0; t < p->types; t++) {
		l->row_low[p->n + t] = -DBL_MAX;
		l->row_high[p->n + t] = p->devices[t];
	}
	if (l->clp)
		Clp_deleteModel(l->clp);
	l->clp = Clp_newModel();
	if (!l->clp)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for a linear program"));
	Clp_setLogLevel(l->clp, 0);
	Clp_loadProblem(l->clp, col + 1, (int)(2 * p->n + p->types), l->start, l->row, l->value, l->low, l->high,
	        l->cost, l->row_low, l->row_high);
	if (Clp_initialPrimalSolve(l->clp) < 0 || Clp_status(l->clp) != 0)
		return wz_err_set(err, -EIO, "Solver", WZ_STR("the linear program was not solved"));
	x = Clp_primalColumnSolution(l->clp);
	*ret_z = x[col];
	return 0;
}

static void take(const struct lp *l, double *x)
{
	const double *s = Clp_primalColumnSolution(l->clp);

	for (size_t i = 0; i < (size_t)l->p->n * l->p->types; i++)
		x[i] = s[i] < 0 ? 0 : s[i] > 1 ? 1 : s[i];
}

int wz_share_max_min(const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value,
        struct wz_err *err)
{
	struct lp l;
	int r = wz_share_check(p, err);

	if (r < 0)
		return r;
	r = lp_open(&l, p, mem, err);
	for (uint32_t m = 0; r == 0 && m < p->n; m++) {
		double equal = wz_share_equal_rate(p, m);
		for (uint32_t t = 0; t < p->types; t++)
			l.a[(size_t)m * p->types + t] =
			        equal > 0 ? p->job[m].gpus * wz_share_speed(p, m, t) / (p->job[m].weight * equal)
			                  : 0;
		l.b[m] = equal > 0 ? 1 : 0;
	}
	if (r == 0)
		r = solve(&l, ret_value, err);
	if (r == 0)
		take(&l, x);
	lp_close(&l);
	return r;
}

/* Is `ratio` enough for all? 1 (then x is written), 0, or an error. */
static int in_time(struct lp *l, double ratio, double *x, struct wz_err *err)
{
	const struct wz_share_problem *p = l->p;
	double z = 0;
	int r;

	for (uint32_t m = 0; m < p->n; m++) {
		const struct wz_share_job *j = &p->job[m];
		double equal = wz_share_equal_rate(p, m),
		       alone = j->elapsed_s + (equal > 0 ? j->steps_left / equal : 0);
		double left = ratio * alone - j->elapsed_s;
		if (equal > 0 && left <= 0)
			return 0;
		for (uint32_t t = 0; t < p->types; t++)
			l->a[(size_t)m * p->types + t] =
			        equal > 0 && j->steps_left > 0 ? wz_share_speed(p, m, t) * left / j->steps_left : 1;
		l->b[m] = equal > 0 && j->steps_left > 0 ? 1 : 0;
	}
	r = solve(l, &z, err);
	if (r < 0)
		return r;
	if (z < 1)
		return 0;
	take(l, x);
	return 1;
}

int wz_share_finish_time(const struct wz_share_problem *p, const struct wz_mem *mem, double *x, double *ret_value,
        struct wz_err *err)
{
	struct lp l;
	double low = 0, high = 1;
	int r = wz_share_check(p, err);

	if (r < 0)
		return r;
	r = lp_open(&l, p, mem, err);
	while (r == 0 && high < 1e6 && (r = in_time(&l, high, x, err)) == 0) {
		low = high;
		high *= 2;
	}
	if (r == 0)
		r = wz_err_set(err, -EIO, "Solver", WZ_STR("no share lets every job end"));
	for (int step = 0; r >= 0 && step < 24; step++) {
		double middle = (low + high) / 2;
		r = in_time(&l, middle, x, err);
		if (r > 0)
			high = middle;
		else
			low = middle;
	}
	if (r >= 0)
		*ret_value = high;
	lp_close(&l);
	return r < 0 ? r : 0;
}
