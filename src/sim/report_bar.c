/* SPDX-License-Identifier: Apache-2.0 */
/* Bar charts: what is idle, where it is and why, and how long a decision takes. */
#include "sim/report_int.h"

#include <math.h>

#define ROW 32.0

static void rect(struct wz_rep *p, double x, double y, double w, double h)
{
	wz_rep_z(p, "<rect");
	wz_rep_attr(p, "x", x);
	wz_rep_attr(p, "y", y);
	wz_rep_attr(p, "width", w > 0 ? w : 0);
	wz_rep_attr(p, "height", h);
}

static void path3(struct wz_rep *p, double x1, double x2, double y, const char *class)
{
	wz_rep_z(p, "<path class=\"");
	wz_rep_z(p, class);
	wz_rep_z(p, "\" d=\"M");
	wz_rep_coord(p, x1);
	wz_rep_z(p, " ");
	wz_rep_coord(p, y);
	wz_rep_z(p, "H");
	wz_rep_coord(p, x2);
	wz_rep_z(p, "\"/>");
}

static void text_at(struct wz_rep *p, double x, double y, const char *class)
{
	wz_rep_z(p, "<text");
	wz_rep_attr(p, "x", x);
	wz_rep_attr(p, "y", y);
	wz_rep_z(p, " class=\"");
	wz_rep_z(p, class);
	wz_rep_z(p, "\">");
}

/* Vertical grid with numbers below. */
struct scale {
	double x, w, hi, step;
};

static struct scale scale_of(double x, double w, double most)
{
	struct scale s = {x, w, 0, wz_rep_step(most > 0 ? most : 1, 7)};

	while (s.hi < most || s.hi <= 0)
		s.hi += s.step;
	return s;
}
static double at(const struct scale *s, double v)
{
	return s->x + (v > 0 ? v < s->hi ? v : s->hi : 0) / s->hi * s->w;
}

static void scale_draw(struct wz_rep *p, const struct scale *s, double y1, double y2)
{
	struct wz_rep_num num;

	for (double v = 0; v <= s->hi + s->step / 100; v += s->step) {
		wz_rep_z(p, "<path class=\"");
		wz_rep_z(p, v > 0 ? "grid" : "axis");
		wz_rep_z(p, "\" d=\"M");
		wz_rep_coord(p, at(s, v));
		wz_rep_z(p, " ");
		wz_rep_coord(p, y1);
		wz_rep_z(p, "V");
		wz_rep_coord(p, y2);
		wz_rep_z(p, "\"/>");
		text_at(p, at(s, v), y2 + 18, "m s c");
		wz_rep_text(p, wz_rep_fix(&num, v, s->step < 0.1 ? 2 : s->step < 1 ? 1 : 0));
		wz_rep_z(p, "</text>");
	}
}

/* ---- what stays idle ---- */

/* A row: a placement (rank), or with rank WZ_NONE something known from elsewhere. */
struct row {
	double idle, sd;
	uint32_t rank;
	struct wz_str name;
	bool is_bound;
};

#define ROWS_MAX (WZ_REPORT_PLACEMENTS_MAX + 9)

static uint32_t rows_add(struct row *row, uint32_t n, struct row r)
{
	uint32_t k = n;

	if (n == ROWS_MAX || !isfinite(r.idle))
		return n;
	for (; k && row[k - 1].idle > r.idle; k--)
		row[k] = row[k - 1];
	row[k] = r;
	return n + 1;
}

static uint32_t rows_make(const struct wz_rep *p, struct row *row)
{
	const struct wz_report_set *set = p->v.set;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->v.n; i++) {
		struct wz_spread s = wz_rep_point(p, i, WZ_CURVE_ALLOCATED, p->v.at);
		n = rows_add(row, n, (struct row){100 - s.mean, s.sd, i, wz_str(wz_rep_placement(p, i)), false});
	}
	for (uint32_t i = 0; i < set->n_refs && i < 8; i++)
		if (wz_rep_ref_shown(&set->ref[i]) && set->ref[i].percent == p->v.at)
			n = rows_add(row, n,
			        (struct row){100 - set->ref[i].allocated, 0, WZ_NONE, set->ref[i].label, false});
	return rows_add(row, n, (struct row){100 - wz_rep_bound(p, p->v.at), 0, WZ_NONE, {0}, true});
}

static void whisker(struct wz_rep *p, const struct scale *s, const struct row *r, double y)
{
	double a = at(s, r->idle - r->sd), b = at(s, r->idle + r->sd);

	if (r->rank == WZ_NONE || p->v.seeds < 2)
		return;
	path3(p, a, b, y, "whisk");
	for (unsigned i = 0; i < 2; i++) {
		wz_rep_z(p, "<path class=\"whisk\" d=\"M");
		wz_rep_coord(p, i ? b : a);
		wz_rep_z(p, " ");
		wz_rep_coord(p, y - 4.5);
		wz_rep_z(p, "v9\"/>");
	}
}

static void idle_row(struct wz_rep *p, const struct scale *s, const struct row *r, double y)
{
	struct wz_rep_num num;
	bool ours = r->rank != WZ_NONE, best = r->rank == 0;

	text_at(p, s->x - 12, y + 5, best ? "b e" : ours ? "e" : "m e");
	if (r->is_bound)
		wz_rep_say(p, BOUND);
	else
		wz_rep_name(p, r->name, 25);
	wz_rep_z(p, "</text>");
	rect(p, s->x, y - 9, at(s, r->idle) - s->x, 18);
	if (ours)
		wz_rep_colour(p, r->rank, "bar");
	else
		wz_rep_z(p, " class=\"hollow\"");
	wz_rep_z(p, "/>");
	whisker(p, s, r, y);
	text_at(p, s->x + s->w + 76, y + 5, best ? "b e" : "e");
	wz_rep_text(p, wz_rep_fix(&num, r->idle, 2));
	wz_rep_z(p, " %</text>");
	if (ours && p->v.seeds > 1) {
		text_at(p, s->x + s->w + 88, y + 5, "m s");
		wz_rep_z(p, "± ");
		wz_rep_text(p, wz_rep_fix(&num, r->sd, 2));
		wz_rep_z(p, "</text>");
	}
	text_at(p, 999, y + 5, best ? "b e" : "e");
	wz_rep_sayf(p, GPUS_N, false, wz_rep_int(&num, r->idle / 100 * p->v.gpus));
	wz_rep_z(p, "</text>");
}

void wz_rep_bars_idle(struct wz_rep *p)
{
	struct row row[ROWS_MAX];
	uint32_t n = p->v.at ? rows_make(p, row) : 0;
	struct scale s;
	double most = 0, bottom = 8 + ROW * n;

	if (n == 0) {
		wz_rep_z(p, "<p class=\"note\">");
		wz_rep_say(p, NO_CURVE);
		wz_rep_z(p, "</p>");
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		most = row[i].idle + row[i].sd > most ? row[i].idle + row[i].sd : most;
	s = scale_of(206, 548, most);
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><div class=\"wide\">");
	wz_rep_svg_open(p, "idle", 1000, bottom + 46, WZ_T_FIG_IDLE, WZ_T_FIG_IDLE_DESC);
	scale_draw(p, &s, 4, bottom);
	for (uint32_t i = 0; i < n; i++)
		idle_row(p, &s, &row[i], 8 + ROW * i + ROW / 2);
	text_at(p, s.x + s.w / 2, bottom + 40, "m s c");
	wz_rep_say(p, AXIS_IDLE);
	wz_rep_z(p, "</text>");
	wz_rep_svg_close(p);
	wz_rep_z(p, "</div></div>");
}

/* ---- by model and reason ---- */

static const enum wz_idle reason_order[WZ_IDLE_REASONS] = {WZ_IDLE_REMAINDER, WZ_IDLE_NO_CPU, WZ_IDLE_OPEN};
static const unsigned reason_text[WZ_IDLE_REASONS] = {[WZ_IDLE_REMAINDER] = WZ_T_IDLE_REMAINDER,
        [WZ_IDLE_NO_CPU] = WZ_T_IDLE_NO_CPU,
        [WZ_IDLE_OPEN] = WZ_T_IDLE_OPEN};

/* GPUs, mean over seeds. */
static double idle_gpus(const struct wz_rep *p, uint32_t rank, uint32_t model, enum wz_idle why)
{
	const struct wz_pack_result *r = wz_rep_runs(p, rank);
	double sum = 0;

	for (uint32_t i = 0; i < p->v.seeds; i++)
		sum += (double)r[i].idle_milli[model][why];
	return sum / p->v.seeds / 1000;
}

static double idle_model(const struct wz_rep *p, uint32_t rank, uint32_t model)
{
	double sum = 0;

	for (unsigned k = 0; k < WZ_IDLE_REASONS; k++)
		sum += idle_gpus(p, rank, model, (enum wz_idle)k);
	return sum;
}

/* Models that are idle anywhere, the most idle first; their number. */
static uint32_t models_make(const struct wz_rep *p, uint32_t *model, uint32_t max, double *ret_most)
{
	double weight[WZ_MODELS_MAX];
	uint32_t n = 0;

	*ret_most = 0;
	for (uint32_t m = 0; m < WZ_MODELS_MAX; m++) {
		uint32_t k = n;
		weight[m] = 0;
		for (uint32_t i = 0; i < p->v.n; i++) {
			double idle = idle_model(p, i, m);
			weight[m] += idle;
			*ret_most = idle > *ret_most ? idle : *ret_most;
		}
		if (weight[m] <= 0)
			continue;
		for (; k && weight[model[k - 1]] < weight[m]; k--)
			if (k < max)
				model[k] = model[k - 1];
		if (k < max) {
			model[k] = m;
			n += n < max;
		}
	}
	return n;
}

static void model_row(struct wz_rep *p, uint32_t rank, uint32_t model, double y, double per_gpu)
{
	struct wz_str name = {0};
	struct wz_rep_num num;
	double x = 96;

	if (p->v.s->in && p->v.s->in->nodes)
		name = wz_sim_nodes_model_name(p->v.s->in->nodes, (wz_model_id){(uint16_t)model});
	text_at(p, 88, y + 4.5, "s e");
	if (name.len)
		wz_rep_name(p, name, 13);
	else
		wz_rep_say(p, OTHER_MODEL);
	wz_rep_z(p, "</text>");
	for (unsigned k = 0; k < WZ_IDLE_REASONS; k++) {
		double gpus = idle_gpus(p, rank, model, reason_order[k]);
		char class[] = "w?";
		if (gpus <= 0)
			continue;
		class[1] = (char)('0' + (int)reason_order[k]);
		rect(p, x, y - 7, gpus * per_gpu, 14);
		wz_rep_z(p, " class=\"");
		wz_rep_z(p, class);
		wz_rep_z(p, "\"><title>");
		wz_rep_fill(p, reason_text[reason_order[k]], false, NULL, 0);
		wz_rep_z(p, ": ");
		wz_rep_text(p, wz_rep_fix(&num, gpus, 1));
		wz_rep_z(p, "</title></rect>");
		x += gpus * per_gpu;
	}
	text_at(p, x + 6, y + 4.5, "m s");
	wz_rep_text(p, wz_rep_int(&num, idle_model(p, rank, model)));
	wz_rep_z(p, "</text>");
}

static void panel(struct wz_rep *p, uint32_t rank, const uint32_t *model, uint32_t n, double most)
{
	char part[] = "model-??";
	struct wz_rep_num num;
	double sum = 0;

	part[6] = (char)('a' + (char)(rank / 26));
	part[7] = (char)('a' + (char)(rank % 26));
	for (uint32_t i = 0; i < n; i++)
		sum += idle_model(p, rank, model[i]);
	wz_rep_z(p, "<div>");
	wz_rep_svg_open(p, part, 310, 34 + 21 * n, WZ_T_FIG_MODELS, WZ_T_FIG_MODELS_DESC);
	text_at(p, 0, 15, rank == 0 ? "b" : "");
	wz_rep_name(p, wz_str(wz_rep_placement(p, rank)), 20);
	wz_rep_z(p, "</text>");
	text_at(p, 309, 15, "m s e");
	wz_rep_sayf(p, IDLE_TOTAL, false, wz_rep_int(&num, sum));
	wz_rep_z(p, "</text><path class=\"grid\" d=\"M0 22H310\"/>");
	for (uint32_t i = 0; i < n; i++)
		model_row(p, rank, model[i], 40 + 21 * i, 170 / most);
	wz_rep_svg_close(p);
	wz_rep_z(p, "</div>");
}

void wz_rep_bars_models(struct wz_rep *p)
{
	uint32_t model[24], n;
	double most;

	n = models_make(p, model, 24, &most);
	wz_rep_z(p, "<ul class=\"key\">");
	for (unsigned k = 0; k < WZ_IDLE_REASONS; k++) {
		char class[] = "w?";
		class[1] = (char)('0' + (int)reason_order[k]);
		wz_rep_z(p, "<li><i class=\"");
		wz_rep_z(p, class);
		wz_rep_z(p, "\"></i>");
		wz_rep_fill(p, reason_text[reason_order[k]], false, NULL, 0);
		wz_rep_z(p, "</li>");
	}
	wz_rep_z(p, "</ul><div class=\"panels\">");
	for (uint32_t i = 0; n && i < p->v.n; i++)
		panel(p, i, model, n, most);
	wz_rep_z(p, "</div>");
}

/* ---- speed ---- */

static void quantiles(const struct wz_rep *p, uint32_t rank, double *p50, double *p99)
{
	const struct wz_pack_result *r = wz_rep_runs(p, rank);

	*p50 = *p99 = 0;
	for (uint32_t i = 0; i < p->v.seeds; i++) {
		*p50 += (double)r[i].p50_ns / p->v.seeds;
		*p99 += (double)r[i].p99_ns / p->v.seeds;
	}
}

static void speed_row(struct wz_rep *p, const struct scale *s, uint32_t rank, double y)
{
	struct wz_rep_num num;
	double p50, p99;

	quantiles(p, rank, &p50, &p99);
	text_at(p, s->x - 12, y + 5, rank == 0 ? "b e" : "e");
	wz_rep_name(p, wz_str(wz_rep_placement(p, rank)), 20);
	wz_rep_z(p, "</text><g");
	wz_rep_colour(p, rank, "");
	wz_rep_z(p, ">");
	path3(p, at(s, p50 / 1e3), at(s, p99 / 1e3), y, "span");
	for (unsigned i = 0; i < 2; i++) {
		wz_rep_z(p, i ? "<circle class=\"open\" r=\"4.5\"" : "<circle class=\"dot\" r=\"5.5\"");
		wz_rep_attr(p, "cx", at(s, (i ? p99 : p50) / 1e3));
		wz_rep_attr(p, "cy", y);
		wz_rep_z(p, "/>");
	}
	wz_rep_z(p, "</g>");
	text_at(p, 915, y + 5, rank == 0 ? "b e" : "e");
	wz_rep_text(p, wz_rep_us(&num, p50));
	wz_rep_z(p, "</text>");
	text_at(p, 999, y + 5, "m e");
	wz_rep_text(p, wz_rep_us(&num, p99));
	wz_rep_z(p, "</text>");
}

void wz_rep_bars_speed(struct wz_rep *p)
{
	double most = 0, p50, p99, bottom = 30 + ROW * p->v.n;
	struct scale s;

	for (uint32_t i = 0; i < p->v.n; i++) {
		quantiles(p, i, &p50, &p99);
		most = p99 / 1e3 > most ? p99 / 1e3 : most;
	}
	s = scale_of(170, 640, most);
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><div class=\"wide\">");
	wz_rep_svg_open(p, "speed", 1000, bottom + 46, WZ_T_FIG_SPEED, WZ_T_FIG_SPEED_DESC);
	text_at(p, 915, 14, "m s e");
	wz_rep_z(p, "p50</text>");
	text_at(p, 999, 14, "m s e");
	wz_rep_z(p, "p99</text>");
	scale_draw(p, &s, 24, bottom);
	for (uint32_t i = 0; i < p->v.n; i++)
		speed_row(p, &s, i, 30 + ROW * i + ROW / 2);
	text_at(p, s.x + s.w / 2, bottom + 40, "m s c");
	wz_rep_say(p, AXIS_US);
	wz_rep_z(p, "</text>");
	wz_rep_svg_close(p);
	wz_rep_z(p, "</div></div>");
}
