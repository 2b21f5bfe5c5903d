/* SPDX-License-Identifier: Apache-2.0 */
/* What a placement holds against what it draws and costs: a point each. Shown when power was measured. */
#include "sim/report_int.h"

#include <math.h>
#include <string.h>

#define W 520.0
#define H 380.0
#define LEFT 38.0
#define TOP 34.0
#define PW (W - LEFT - 128)
#define PH (H - TOP - 52)

struct axis {
	double lo, hi, step;
};
struct field {
	enum wz_curve curve;
	double scale; /* from the curve's unit to the axis' */
	struct axis x, y;
};

/* Mean over arrivals until `at`: what the run draws while the cluster fills. */
static double along(const struct wz_rep *p, uint32_t rank, enum wz_curve curve)
{
	double sum = 0;
	unsigned n = 0;

	for (unsigned x = 1; x <= p->v.at; x++) {
		double v = wz_rep_point(p, rank, curve, x).mean;
		if (!isfinite(v))
			continue;
		sum += v;
		n++;
	}
	return n ? sum / n : (double)NAN;
}

static double held(const struct wz_rep *p, uint32_t rank)
{
	return wz_rep_point(p, rank, WZ_CURVE_ALLOCATED, p->v.at).mean;
}

bool wz_rep_draw_known(const struct wz_rep *p)
{
	for (uint32_t i = 0; p->v.at && i < p->v.n; i++)
		if (along(p, i, WZ_CURVE_POWER) > 0)
			return true;
	return false;
}

/* ---- scales ---- */

static void widen(struct axis *a, double v)
{
	if (!isfinite(v))
		return;
	a->lo = v < a->lo ? v : a->lo;
	a->hi = v > a->hi ? v : a->hi;
}

static void close_axis(struct axis *a)
{
	double room = a->hi > a->lo ? (a->hi - a->lo) / 10 : 0.5;

	a->step = wz_rep_step(a->hi - a->lo + 2 * room, 5);
	a->lo = a->step * floor((a->lo - room) / a->step);
	a->hi = a->step * ceil((a->hi + room) / a->step);
}

static double px(const struct field *f, double v)
{
	return LEFT + (v - f->x.lo) / (f->x.hi - f->x.lo) * PW;
}
static double py(const struct field *f, double v)
{
	return TOP + PH - (v - f->y.lo) / (f->y.hi - f->y.lo) * PH;
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

static void grid(struct wz_rep *p, double x1, double y1, double x2, double y2)
{
	wz_rep_z(p, "<line class=\"grid\"");
	wz_rep_attr(p, "x1", x1);
	wz_rep_attr(p, "y1", y1);
	wz_rep_attr(p, "x2", x2);
	wz_rep_attr(p, "y2", y2);
	wz_rep_z(p, "/>");
}

static void tick(struct wz_rep *p, double x, double y, double v, double step, const char *class)
{
	struct wz_rep_num num;

	text_at(p, x, y, class);
	wz_rep_text(p, step < 1 ? wz_rep_fix(&num, v, 1) : wz_rep_int(&num, v));
	wz_rep_z(p, "</text>");
}

static void axes(struct wz_rep *p, const struct field *f)
{
	for (double v = f->y.lo; v <= f->y.hi + f->y.step / 100; v += f->y.step) {
		grid(p, LEFT, py(f, v), LEFT + PW, py(f, v));
		tick(p, LEFT - 6, py(f, v) + 4.5, v, f->y.step, "m s e");
	}
	for (double v = f->x.lo; v <= f->x.hi + f->x.step / 100; v += f->x.step) {
		grid(p, px(f, v), TOP, px(f, v), TOP + PH);
		tick(p, px(f, v), TOP + PH + 20, v, f->x.step, "m s c");
	}
	text_at(p, LEFT + PW / 2, TOP + PH + 42, "m s c");
	if (f->curve == WZ_CURVE_POWER)
		wz_rep_say(p, AXIS_POWER);
	else
		wz_rep_say(p, AXIS_PRICE);
	wz_rep_z(p, "</text>");
	text_at(p, 0, TOP - 18, "m s");
	wz_rep_say(p, AXIS_ALLOCATED);
	wz_rep_z(p, "</text>");
}

/* Best first, as the points stand from the top down. A variant that is too long shows its parameters. */
static void legend(struct wz_rep *p)
{
	for (uint32_t i = 0; i < p->v.n && i * 17 < PH; i++) {
		const char *name = wz_rep_placement(p, i),
		           *parameters = strlen(name) > 12 ? strchr(name, ':') : NULL;
		wz_rep_z(p, "<circle r=\"3.4\"");
		wz_rep_attr(p, "cx", LEFT + PW + 22);
		wz_rep_attr(p, "cy", TOP + 17 * i);
		wz_rep_colour(p, i, "dot");
		wz_rep_z(p, "/>");
		text_at(p, LEFT + PW + 31, TOP + 17 * i + 4.6, i ? "s" : "s b");
		wz_rep_name(p, wz_str(parameters ? parameters : name), 16);
		wz_rep_z(p, "</text>");
	}
}

static void points(struct wz_rep *p, const struct field *f)
{
	for (uint32_t i = 0; i < p->v.n; i++) {
		double v = along(p, i, f->curve) * f->scale, x = px(f, v), y = py(f, held(p, i));
		struct wz_rep_num a, b;
		if (!isfinite(v) || !isfinite(held(p, i)))
			continue;
		wz_rep_z(p, "<circle r=\"4.4\"");
		wz_rep_attr(p, "cx", x);
		wz_rep_attr(p, "cy", y);
		wz_rep_colour(p, i, "dot");
		wz_rep_z(p, "><title>");
		wz_rep_text(p, wz_str(wz_rep_placement(p, i)));
		wz_rep_z(p, "\n");
		wz_rep_text(p, wz_rep_fix(&a, held(p, i), 2));
		wz_rep_z(p, " %\n");
		wz_rep_text(p, wz_rep_int(&b, v));
		wz_rep_z(p, f->curve == WZ_CURVE_POWER ? " kW" : " USD/h");
		wz_rep_z(p, "</title></circle>");
	}
}

void wz_rep_scatter(struct wz_rep *p, bool price)
{
	struct field f = {.curve = price ? WZ_CURVE_PRICE : WZ_CURVE_POWER,
	        .scale = price ? 1 : 1e-3,
	        .x = {(double)INFINITY, -(double)INFINITY, 1},
	        .y = {(double)INFINITY, -(double)INFINITY, 1}};

	for (uint32_t i = 0; i < p->v.n; i++) {
		widen(&f.x, along(p, i, f.curve) * f.scale);
		widen(&f.y, held(p, i));
	}
	close_axis(&f.x);
	close_axis(&f.y);
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><div class=\"half\">");
	wz_rep_svg_open(
	        p, price ? "price" : "power", W, H, price ? WZ_T_FIG_PRICE : WZ_T_FIG_POWER, WZ_T_FIG_DRAW_DESC);
	axes(p, &f);
	points(p, &f);
	legend(p);
	wz_rep_svg_close(p);
	wz_rep_z(p, "</div></div>");
}
