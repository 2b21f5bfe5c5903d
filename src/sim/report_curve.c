/* SPDX-License-Identifier: Apache-2.0 */
/* Line charts: a line and a band for each placement, labelled where they end, the bound dashed, references as diamonds.
 * Paths are written as relative moves of tenths of a pixel, each from where the last one really ended, so nothing drifts. */
#include "sim/report_int.h"

#include <math.h>
#include <string.h>

struct plot {
	enum wz_rep_chart chart;
	enum wz_curve curve;
	double w, h; /* of the drawing */
	double x, y, pw, ph; /* of the plot inside it */
	double xlo, xhi, ylo, yhi;
};

static double px(const struct plot *t, double v)
{
	return t->x + (v - t->xlo) / (t->xhi - t->xlo) * t->pw;
}
static double py(const struct plot *t, double v)
{
	return t->y + t->ph - (v - t->ylo) / (t->yhi - t->ylo) * t->ph;
}

double wz_rep_step(double span, unsigned most)
{
	static const double nice[] = {1, 2, 5};
	double unit = 1;

	if (!(span > 0) || most == 0)
		return 1;
	while (unit * most > span * 2 && unit > 1e-6)
		unit /= 10;
	for (unsigned i = 0; i < 60; i++) {
		double step = nice[i % 3] * unit;
		if (step * most >= span)
			return step;
		unit *= i % 3 == 2 ? 10 : 1;
	}
	return span;
}

/* ---- range ---- */

static double lowest(const struct wz_rep *p, enum wz_curve c, unsigned from, unsigned to)
{
	double low = (double)NAN;

	for (uint32_t i = 0; i < p->v.n; i++) {
		for (unsigned x = from; x <= to; x++) {
			double v = wz_rep_point(p, i, c, x).min;
			if (isfinite(v) && !(v >= low))
				low = v;
		}
	}
	return low;
}

static double highest(const struct wz_rep *p, enum wz_curve c)
{
	double high = (double)NAN;

	for (uint32_t i = 0; i < p->v.n; i++) {
		for (unsigned x = 0; x < WZ_PACK_PERCENT; x++) {
			double v = wz_rep_point(p, i, c, x).max;
			if (isfinite(v) && !(v <= high))
				high = v;
		}
	}
	return high;
}

static struct plot plot_of(const struct wz_rep *p, enum wz_rep_chart chart)
{
	struct plot t = {.chart = chart, .curve = WZ_CURVE_ALLOCATED, .xlo = 0, .xhi = 130, .ylo = 0, .yhi = 100};
	double low, step;

	t.w = chart == WZ_REP_ZOOM ? 1000 : 520;
	t.h = chart == WZ_REP_ZOOM ? 520 : 380;
	t.x = chart == WZ_REP_ZOOM ? 44 : 38;
	t.y = 34;
	t.pw = t.w - t.x - (chart == WZ_REP_ZOOM ? 176 : 128);
	t.ph = t.h - t.y - 52;
	if (chart == WZ_REP_ZOOM) {
		t.xlo = 80;
		low = lowest(p, t.curve, 95, WZ_PACK_PERCENT - 1);
		if (!isfinite(low))
			low = lowest(p, t.curve, 80, WZ_PACK_PERCENT - 1);
		t.ylo = isfinite(low) && low < 87.5 ? 5 * floor((low - 2.5) / 5) : 85;
		t.ylo = t.ylo < 0 ? 0 : t.ylo;
	} else if (chart == WZ_REP_FRAGMENTS) {
		t.curve = WZ_CURVE_FRAGMENTED;
		low = highest(p, t.curve);
		step = wz_rep_step(isfinite(low) && low > 0.1 ? low : 1, 6);
		t.yhi = step * ceil((isfinite(low) ? low : 1) / step);
		t.yhi = t.yhi > 0 ? t.yhi : 1;
	}
	return t;
}

/* ---- marks ---- */

static void line(struct wz_rep *p, double x1, double y1, double x2, double y2, const char *class)
{
	wz_rep_z(p, "<path d=\"M");
	wz_rep_coord(p, x1);
	wz_rep_z(p, " ");
	wz_rep_coord(p, y1);
	wz_rep_z(p, "L");
	wz_rep_coord(p, x2);
	wz_rep_z(p, " ");
	wz_rep_coord(p, y2);
	wz_rep_z(p, "\" class=\"");
	wz_rep_z(p, class);
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

static void number_at(struct wz_rep *p, double x, double y, double v, double step, const char *class)
{
	struct wz_rep_num num;

	text_at(p, x, y, class);
	wz_rep_text(p, wz_rep_fix(&num, v, step < 1 ? 1 : 0));
	wz_rep_z(p, "</text>");
}

static void axes(struct wz_rep *p, const struct plot *t)
{
	double step = wz_rep_step(t->yhi - t->ylo, t->chart == WZ_REP_ZOOM ? 5 : 6);
	double across = t->chart == WZ_REP_ZOOM ? 10 : 20;

	for (double v = step * ceil(t->ylo / step); v <= t->yhi + step / 100; v += step) {
		line(p, t->x, py(t, v), t->x + t->pw, py(t, v), "grid");
		number_at(p, t->x - 9, py(t, v) + 4.5, v, step, "m s e");
	}
	line(p, t->x, t->y + t->ph, t->x + t->pw, t->y + t->ph, "axis");
	for (double v = t->xlo; v <= t->xhi; v += across) {
		line(p, px(t, v), t->y + t->ph, px(t, v), t->y + t->ph + 5, "axis");
		number_at(p, px(t, v), t->y + t->ph + 20, v, across, "m s c");
	}
	text_at(p, t->x + t->pw / 2, t->y + t->ph + 42, "m s c");
	wz_rep_say(p, AXIS_ARRIVED);
	wz_rep_z(p, "</text>");
	text_at(p, 0, t->y - 18, "m s");
	if (t->curve == WZ_CURVE_ALLOCATED)
		wz_rep_say(p, AXIS_ALLOCATED);
	else
		wz_rep_say(p, AXIS_FRAG);
	wz_rep_z(p, "</text>");
}

static void guides(struct wz_rep *p, const struct plot *t)
{
	double from = t->xlo > t->ylo ? t->xlo : t->ylo;

	line(p, px(t, 100), t->y, px(t, 100), t->y + t->ph, "guide");
	if (t->curve != WZ_CURVE_ALLOCATED)
		return;
	line(p, px(t, from), py(t, from), px(t, 100), py(t, 100), "guide");
	if (t->chart != WZ_REP_ZOOM)
		return;
	text_at(p, px(t, 96) - 10, py(t, 96), "m s e halo");
	wz_rep_say(p, ALL_FITS);
	wz_rep_z(p, "</text>");
	text_at(p, px(t, 100), t->y - 8, "m s c");
	wz_rep_say(p, FULL_ASK);
	wz_rep_z(p, "</text>");
}

/* ---- paths ---- */

struct pen {
	int64_t x, y;
	bool down;
};

static int64_t tenths(double v)
{
	return (int64_t)floor(v * 10 + 0.5);
}

static void tenth(struct wz_rep *p, int64_t v)
{
	wz_rep_coord(p, (double)v / 10);
}

static void go(struct wz_rep *p, struct pen *pen, double x, double y)
{
	int64_t nx = tenths(x), ny = tenths(y);

	wz_rep_z(p, pen->down ? "l" : "M");
	tenth(p, pen->down ? nx - pen->x : nx);
	wz_rep_z(p, " ");
	tenth(p, pen->down ? ny - pen->y : ny);
	*pen = (struct pen){nx, ny, true};
}

static void curve_line(struct wz_rep *p, const struct plot *t, uint32_t rank)
{
	struct pen pen = {0};

	wz_rep_z(p, "<path d=\"");
	for (unsigned x = (unsigned)t->xlo; x <= (unsigned)t->xhi; x++) {
		double v = wz_rep_point(p, rank, t->curve, x).mean;
		if (isfinite(v))
			go(p, &pen, px(t, x), py(t, v));
		else
			pen.down = false;
	}
	wz_rep_z(p, "\"");
	wz_rep_colour(p, rank, "ln");
	wz_rep_z(p, "/>");
}

/* One closed shape for every stretch of known points: along the top, back along the bottom. */
static void curve_band(struct wz_rep *p, const struct plot *t, uint32_t rank)
{
	if (p->v.seeds < 2)
		return;
	wz_rep_z(p, "<path d=\"");
	for (unsigned x = (unsigned)t->xlo; x <= (unsigned)t->xhi;) {
		struct pen pen = {0};
		unsigned end = x;
		while (end <= (unsigned)t->xhi && isfinite(wz_rep_point(p, rank, t->curve, end).mean))
			end++;
		for (unsigned i = x; i < end; i++)
			go(p, &pen, px(t, i), py(t, wz_rep_point(p, rank, t->curve, i).max));
		for (unsigned i = end; i-- > x;)
			go(p, &pen, px(t, i), py(t, wz_rep_point(p, rank, t->curve, i).min));
		wz_rep_z(p, end > x ? "z" : "");
		x = end + 1;
	}
	wz_rep_z(p, "\"");
	wz_rep_colour(p, rank, "bd");
	wz_rep_z(p, "/>");
}

/* Known points that follow one another are joined; one that stands alone is a short dash. */
static void bound(struct wz_rep *p, const struct plot *t)
{
	struct pen pen = {0};
	unsigned last = 0;

	if (t->curve != WZ_CURVE_ALLOCATED || !p->v.set->bound)
		return;
	wz_rep_z(p, "<path class=\"bound\" d=\"");
	for (unsigned x = (unsigned)t->xlo; x <= (unsigned)t->xhi; x++) {
		double v = wz_rep_bound(p, x);
		bool alone = !isfinite(wz_rep_bound(p, x - 1)) && !isfinite(wz_rep_bound(p, x + 1));
		if (!isfinite(v)) {
			pen.down = false;
			continue;
		}
		go(p, &pen, px(t, alone ? x - 1.5 : x), py(t, v));
		if (alone)
			go(p, &pen, px(t, x + 1.5), py(t, v));
		last = x <= 100 || last == 0 ? x : last;
	}
	wz_rep_z(p, "\"/>");
	if (last && t->chart == WZ_REP_ZOOM) {
		struct wz_rep_num num;
		text_at(p, px(t, last) + 12, py(t, wz_rep_bound(p, last)) - 9, "s halo");
		wz_rep_sayf(p, BOUND_AT, false, wz_rep_fix(&num, wz_rep_bound(p, last), 2));
		wz_rep_z(p, "</text>");
	}
}

static void references(struct wz_rep *p, const struct plot *t)
{
	for (uint32_t i = 0; i < p->v.set->n_refs; i++) {
		const struct wz_report_ref *ref = &p->v.set->ref[i];
		struct wz_rep_num num;
		if (!wz_rep_ref_shown(ref) || ref->percent < t->xlo || ref->allocated < t->ylo)
			continue;
		wz_rep_z(p, "<path class=\"ref\" d=\"M");
		wz_rep_coord(p, px(t, ref->percent));
		wz_rep_z(p, " ");
		wz_rep_coord(p, py(t, ref->allocated) - 6);
		wz_rep_z(p, "l6 6-6 6-6-6z\"><title>");
		wz_rep_text(p, ref->label);
		wz_rep_z(p, ": ");
		wz_rep_text(p, wz_rep_fix(&num, ref->allocated, 2));
		wz_rep_z(p, " %</title></path>");
	}
}

/* ---- labels ---- */

struct label {
	double at, y;
	uint32_t rank;
	double value;
	unsigned x;
};

static uint32_t labels_make(const struct wz_rep *p, const struct plot *t, struct label *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->v.n; i++) {
		for (unsigned x = (unsigned)t->xhi + 1; x-- > (unsigned)t->xlo;) {
			double v = wz_rep_point(p, i, t->curve, x).mean;
			uint32_t k = n;
			if (!isfinite(v))
				continue;
			for (; k && l[k - 1].at > py(t, v); k--)
				l[k] = l[k - 1];
			l[k] = (struct label){.at = py(t, v), .y = py(t, v), .rank = i, .value = v, .x = x};
			n++;
			break;
		}
	}
	return n;
}

/* Pushes labels apart: down from the top, then up from the bottom; when even that is too much, closer together. */
static void labels_spread(const struct plot *t, struct label *l, uint32_t n)
{
	double gap = 18, room = t->h - 8, limit = room;

	if (n > 1 && gap * n > room)
		gap = room / n;
	for (uint32_t i = 0; i < n; i++) {
		double least = i ? l[i - 1].y + gap : 6;
		l[i].y = l[i].y < least ? least : l[i].y;
	}
	for (uint32_t i = n; i-- > 0;) {
		l[i].y = l[i].y > limit ? limit : l[i].y;
		limit = l[i].y - gap;
	}
}

/* Centres each crowd of labels on the lines it is for, where there is room: up by half of what they were pushed. */
static void labels_centre(struct label *l, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t end = i + 1;
		double push = l[i].y - l[i].at, floor_y = i ? l[i - 1].y + 18 : 6;
		while (end < n && l[end].y - l[end - 1].y < 18.1)
			push += l[end].y - l[end].at, end++;
		push /= end - i;
		if (push > l[i].y - floor_y)
			push = l[i].y - floor_y;
		for (; i < end; i++)
			l[i].y -= push > 0 ? push : 0;
	}
}

/* Of a variant that is too long its parameters: ":power=0.2" of "jigsaw:power=0.2". */
static struct wz_str short_name(const char *name, size_t chars)
{
	const char *parameters = strlen(name) > chars ? strchr(name, ':') : NULL;

	return wz_str(parameters ? parameters : name);
}

static void labels(struct wz_rep *p, const struct plot *t)
{
	struct label l[WZ_REPORT_PLACEMENTS_MAX];
	uint32_t n = labels_make(p, t, l);
	double x = t->x + t->pw;
	size_t chars = t->chart == WZ_REP_ZOOM ? 14 : 12;

	labels_spread(t, l, n);
	labels_centre(l, n);
	for (uint32_t i = 0; i < n; i++) {
		struct wz_rep_num num;
		struct pen pen = {0};
		wz_rep_z(p, "<path d=\"");
		go(p, &pen, px(t, l[i].x), l[i].at);
		go(p, &pen, x + 4, l[i].at);
		go(p, &pen, x + 16, l[i].y);
		go(p, &pen, x + 20, l[i].y);
		wz_rep_z(p, "\"");
		wz_rep_colour(p, l[i].rank, "lead-ln");
		wz_rep_z(p, "/><circle r=\"3.4\"");
		wz_rep_attr(p, "cx", x + 22);
		wz_rep_attr(p, "cy", l[i].y);
		wz_rep_colour(p, l[i].rank, "dot");
		wz_rep_z(p, "/>");
		text_at(p, x + 31, l[i].y + 4.6, l[i].rank == 0 ? "b" : "");
		wz_rep_name(p, short_name(wz_rep_placement(p, l[i].rank), chars), chars);
		wz_rep_z(p, "</text>");
		if (t->chart != WZ_REP_ZOOM)
			continue;
		text_at(p, t->w - 1, l[i].y + 4.6, l[i].rank == 0 ? "b e" : "m e");
		wz_rep_text(p, wz_rep_fix(&num, l[i].value, 1));
		wz_rep_z(p, "</text>");
	}
}

/* Invisible columns whose titles the browser shows: tooltips without a script. */
static void columns(struct wz_rep *p, const struct plot *t)
{
	double w = t->pw / (t->xhi - t->xlo);

	for (unsigned x = (unsigned)t->xlo; x <= (unsigned)t->xhi; x++) {
		struct wz_rep_num num;
		struct wz_num at;
		wz_rep_z(p, "<rect class=\"hit\"");
		wz_rep_attr(p, "x", px(t, x) - w / 2);
		wz_rep_attr(p, "y", t->y);
		wz_rep_attr(p, "width", w);
		wz_rep_attr(p, "height", t->ph);
		wz_rep_z(p, "><title>");
		wz_rep_sayf(p, ARRIVED_AT, false, wz_str_u64(&at, x));
		if (isfinite(wz_rep_bound(p, x))) {
			wz_rep_z(p, "\n");
			wz_rep_text(p, wz_rep_fix(&num, wz_rep_bound(p, x), 2));
			wz_rep_z(p, "  ");
			wz_rep_say(p, BOUND);
		}
		for (uint32_t i = 0; i < p->v.n; i++) {
			wz_rep_z(p, "\n");
			wz_rep_text(p, wz_rep_fix(&num, wz_rep_point(p, i, t->curve, x).mean, 2));
			wz_rep_z(p, "  ");
			wz_rep_text(p, wz_str(wz_rep_placement(p, i)));
		}
		wz_rep_z(p, "</title></rect>");
	}
}

void wz_rep_curve(struct wz_rep *p, enum wz_rep_chart chart)
{
	static const struct {
		const char *part, *class;
		unsigned title, desc;
	} about[] = {
	        [WZ_REP_ZOOM] = {"zoom", "wide", WZ_T_FIG_ALLOC, WZ_T_FIG_ALLOC_DESC},
	        [WZ_REP_WHOLE] = {"whole", "half", WZ_T_FIG_WHOLE, WZ_T_FIG_ALLOC_DESC},
	        [WZ_REP_FRAGMENTS] = {"frag", "half", WZ_T_FIG_FRAG, WZ_T_FIG_FRAG_DESC},
	};
	struct plot t = plot_of(p, chart);
	char clip[] = "clip-?";

	if (!isfinite(lowest(p, t.curve, 0, WZ_PACK_PERCENT - 1))) {
		wz_rep_z(p, "<p class=\"note\">");
		wz_rep_say(p, NO_CURVE);
		wz_rep_z(p, "</p>");
		return;
	}
	clip[5] = (char)('0' + (int)chart);
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><div class=\"");
	wz_rep_z(p, about[chart].class);
	wz_rep_z(p, "\">");
	wz_rep_svg_open(p, about[chart].part, t.w, t.h, about[chart].title, about[chart].desc);
	wz_rep_z(p, "<clipPath id=\"");
	wz_rep_id(p, clip);
	wz_rep_z(p, "\"><rect");
	wz_rep_attr(p, "x", t.x);
	wz_rep_attr(p, "y", t.y - 2);
	wz_rep_attr(p, "width", t.pw + 2);
	wz_rep_attr(p, "height", t.ph + 2);
	wz_rep_z(p, "/></clipPath>");
	axes(p, &t);
	guides(p, &t);
	wz_rep_z(p, "<g clip-path=\"url(#");
	wz_rep_id(p, clip);
	wz_rep_z(p, ")\">");
	for (uint32_t i = p->v.n; i-- > 0;)
		curve_band(p, &t, i);
	for (uint32_t i = p->v.n; i-- > 0;)
		curve_line(p, &t, i);
	wz_rep_z(p, "</g>");
	bound(p, &t);
	labels(p, &t);
	if (chart == WZ_REP_ZOOM)
		columns(p, &t);
	if (t.curve == WZ_CURVE_ALLOCATED && chart == WZ_REP_ZOOM)
		references(p, &t);
	wz_rep_svg_close(p);
	wz_rep_z(p, "</div></div>");
}
