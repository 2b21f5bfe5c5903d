/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what comes after what. Each set is looked at once (view_make), then written section by section, first all in
 * English, then all in 中文; what both share stands at the end. */
#include "sim/report_int.h"

#include <math.h>

static const char *const lang_key[WZ_REP_LANGS] = {"en", "zh"};

/* ---- the view ---- */

static bool has_results(const struct wz_packset *s)
{
	return s && s->result && s->n_placements && s->seed_to >= s->seed_from;
}

/* Colours follow names, in order of first appearance over all sets, so that a placement keeps its colour. */
static uint32_t colour_of(const struct wz_report *r, const char *name)
{
	uint32_t colour = 0;

	for (uint32_t i = 0; i < r->n_sets; i++) {
		const struct wz_packset *s = r->set[i].runs;
		for (uint32_t k = 0; s && k < s->n_placements; k++) {
			bool seen = false;
			if (wz_str_eq(wz_str(s->placement[k]), wz_str(name)))
				return colour;
			for (uint32_t a = 0; a <= i && !seen; a++) {
				const struct wz_packset *e = r->set[a].runs;
				for (uint32_t b = 0; e && b < (a == i ? k : e->n_placements) && !seen; b++)
					seen = wz_str_eq(wz_str(e->placement[b]), wz_str(s->placement[k]));
			}
			colour += !seen;
		}
	}
	return colour;
}

static unsigned compared_at(const struct wz_packset *s)
{
	for (unsigned x = 100; x > 0; x--) {
		bool all = true;
		for (uint32_t k = 0; k < s->n_placements && all; k++)
			all = isfinite(wz_packset_point(s, k, WZ_CURVE_ALLOCATED, x).mean);
		if (all)
			return x;
	}
	return 0;
}

static void view_make(struct wz_rep *p, uint32_t index)
{
	const struct wz_report_set *set = &p->r->set[index];
	struct wz_rep_view *v = &p->v;
	const struct wz_packset *s = set->runs;

	*v = (struct wz_rep_view){.set = set, .s = s, .index = index};
	if (!has_results(s))
		return;
	v->seeds = (uint32_t)(s->seed_to - s->seed_from + 1);
	v->gpus = s->in ? (double)s->in->capacity_milli / 1000 : 0;
	v->at = compared_at(s);
	for (uint32_t i = 0; i < s->n_placements; i++) { /* a stable insertion: equal means keep the order given */
		double mean = v->at ? wz_packset_point(s, i, WZ_CURVE_ALLOCATED, v->at).mean : 0;
		uint32_t k = v->n;
		while (k && v->at && wz_packset_point(s, v->order[k - 1], WZ_CURVE_ALLOCATED, v->at).mean < mean)
			k--;
		if (k == WZ_REPORT_PLACEMENTS_MAX)
			continue;
		v->n += v->n < WZ_REPORT_PLACEMENTS_MAX;
		for (uint32_t m = v->n - 1; m > k; m--)
			v->order[m] = v->order[m - 1];
		v->order[k] = i;
	}
	v->omitted = s->n_placements - v->n;
	for (uint32_t i = 0; i < v->n; i++)
		v->colour[i] = colour_of(p->r, s->placement[v->order[i]]);
}

const char *wz_rep_placement(const struct wz_rep *p, uint32_t rank)
{
	return p->v.s->placement[p->v.order[rank]];
}

const struct wz_pack_result *wz_rep_runs(const struct wz_rep *p, uint32_t rank)
{
	return &p->v.s->result[(size_t)p->v.order[rank] * p->v.seeds];
}

struct wz_spread wz_rep_point(const struct wz_rep *p, uint32_t rank, enum wz_curve c, unsigned percent)
{
	return wz_packset_point(p->v.s, p->v.order[rank], c, percent);
}

double wz_rep_bound(const struct wz_rep *p, unsigned percent)
{
	double v = p->v.set->bound && percent < WZ_PACK_PERCENT ? p->v.set->bound[percent] : (double)NAN;
	return isfinite(v) && v >= 0 && v <= 100 ? v : (double)NAN;
}

bool wz_rep_ref_shown(const struct wz_report_ref *ref)
{
	return ref->percent < WZ_PACK_PERCENT && isfinite(ref->allocated) && ref->allocated >= 0 &&
	       ref->allocated <= 100;
}

/* ---- small markup ---- */

void wz_rep_colour(struct wz_rep *p, uint32_t rank, const char *more)
{
	char class[] = "c? d?";

	class[1] = (char)('0' + (char)(p->v.colour[rank] % 8));
	class[4] = (char)('0' + (char)(p->v.colour[rank] / 8 % 4));
	wz_rep_z(p, " class=\"");
	wz_rep_z(p, class);
	wz_rep_z(p, rank == 0 && p->v.n > 1 ? " win " : " ");
	wz_rep_z(p, more);
	wz_rep_z(p, "\"");
}

void wz_rep_id(struct wz_rep *p, const char *part)
{
	wz_rep_z(p, lang_key[p->lang]);
	wz_rep_z(p, "-");
	wz_buf_add_u64(p->b, p->v.index);
	wz_rep_z(p, "-");
	wz_rep_z(p, part);
}

void wz_rep_svg_open(struct wz_rep *p, const char *part, double w, double h, unsigned title, unsigned desc)
{
	wz_rep_z(p, "<svg role=\"img\" viewBox=\"0 0 ");
	wz_rep_coord(p, w);
	wz_rep_z(p, " ");
	wz_rep_coord(p, h);
	wz_rep_z(p, "\" aria-labelledby=\"");
	wz_rep_id(p, part);
	wz_rep_z(p, "-t ");
	wz_rep_id(p, part);
	wz_rep_z(p, "-d\"><title id=\"");
	wz_rep_id(p, part);
	wz_rep_z(p, "-t\">");
	wz_rep_fill(p, title, false, NULL, 0);
	wz_rep_z(p, "</title><desc id=\"");
	wz_rep_id(p, part);
	wz_rep_z(p, "-d\">");
	wz_rep_fill(p, desc, false, NULL, 0);
	wz_rep_z(p, "</desc>");
}

void wz_rep_svg_close(struct wz_rep *p)
{
	wz_rep_z(p, "</svg>");
}

static void heading(struct wz_rep *p, unsigned id)
{
	wz_rep_z(p, "<h3>");
	wz_rep_fill(p, id, false, NULL, 0);
	wz_rep_z(p, "</h3>");
}

static void note(struct wz_rep *p, unsigned id, const struct wz_str *arg, uint32_t n)
{
	wz_rep_z(p, "<p class=\"note\">");
	wz_rep_fill(p, id, false, arg, n);
	wz_rep_z(p, "</p>");
}

/* ---- the finding ---- */

static double held(const struct wz_rep *p, uint32_t rank)
{
	return wz_rep_point(p, rank, WZ_CURVE_ALLOCATED, p->v.at).mean / 100 * p->v.gpus;
}

static uint32_t seeds_ahead(const struct wz_rep *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->v.seeds; i++)
		n += wz_rep_runs(p, 0)[i].allocated[p->v.at] > wz_rep_runs(p, 1)[i].allocated[p->v.at];
	return n;
}

static void finding(struct wz_rep *p)
{
	struct wz_rep_num h, all, lead;
	struct wz_num at, ahead, seeds;
	struct wz_str first = wz_str(wz_rep_placement(p, 0)),
	              second = p->v.n > 1 ? wz_str(wz_rep_placement(p, 1)) : first;
	double diff = p->v.n > 1 ? held(p, 0) - held(p, 1) : 0;
	struct wz_str gpus = wz_rep_int(&h, held(p, 0)), capacity = wz_rep_int(&all, p->v.gpus);
	struct wz_str percent = wz_str_u64(&at, p->v.at);

	wz_rep_z(p, "<p class=\"lead\">");
	if (p->v.n == 1)
		wz_rep_sayf(p, ALONE, true, first, gpus, capacity, percent);
	else if (diff < 0.5)
		wz_rep_sayf(p, LEVEL, true, first, second, gpus, capacity, percent);
	else
		wz_rep_sayf(p, WIN, true, first, gpus, capacity, percent, wz_rep_int(&lead, diff), second);
	if (p->v.n > 1 && diff >= 0.5) {
		wz_rep_z(p, p->lang == WZ_REP_EN ? " " : "");
		if (p->v.seeds > 1)
			wz_rep_sayf(p, SEEDS_AHEAD, false, second, wz_str_u64(&ahead, seeds_ahead(p)),
			        wz_str_u64(&seeds, p->v.seeds));
		else
			wz_rep_say(p, ONE_SEED);
	}
	wz_rep_z(p, "</p>");
}

static void stat_open(struct wz_rep *p)
{
	wz_rep_z(p, "<div><dt>");
}
static void stat_value(struct wz_rep *p, struct wz_str s, const char *unit)
{
	wz_rep_z(p, "</dt><dd>");
	wz_rep_text(p, s);
	wz_rep_z(p, unit);
	wz_rep_z(p, "</dd></div>");
}

static void stats(struct wz_rep *p)
{
	const struct wz_pack_result *r = wz_rep_runs(p, 0);
	struct wz_spread best = wz_rep_point(p, 0, WZ_CURVE_ALLOCATED, p->v.at);
	double gap = (wz_rep_bound(p, p->v.at) - best.mean) / 100 * p->v.gpus, ns = 0, decisions = 0;
	struct wz_rep_num num;
	struct wz_num at;

	for (uint32_t i = 0; i < p->v.seeds; i++) {
		ns += (double)r[i].cpu_ns;
		decisions += (double)r[i].decisions;
	}
	wz_rep_z(p, "<dl class=\"stats\">");
	stat_open(p);
	wz_rep_sayf(p, STAT_ALLOCATED, false, wz_str_u64(&at, p->v.at));
	stat_value(p, wz_rep_fix(&num, best.mean, 2), "<small> %</small>");
	stat_open(p);
	wz_rep_say(p, STAT_IDLE);
	stat_value(p, wz_rep_int(&num, p->v.gpus - held(p, 0)), "");
	if (p->v.n > 1) {
		stat_open(p);
		wz_rep_sayf(p, STAT_LEAD, false, wz_str(wz_rep_placement(p, 1)));
		stat_value(p, wz_rep_int(&num, held(p, 0) - held(p, 1)), "");
	}
	if (isfinite(gap)) {
		stat_open(p);
		wz_rep_say(p, STAT_GAP);
		stat_value(p, wz_rep_int(&num, gap), "");
	}
	stat_open(p);
	wz_rep_say(p, STAT_US);
	stat_value(p, wz_rep_us(&num, decisions > 0 ? ns / decisions : (double)NAN), "");
	wz_rep_z(p, "</dl>");
}

/* ---- sections of a set ---- */

static struct wz_str seeds_text(const struct wz_packset *s, struct wz_rep_num *scratch)
{
	struct wz_buf b;

	wz_buf_init_fixed(&b, scratch->b, sizeof(scratch->b));
	wz_buf_add_u64(&b, s->seed_from);
	if (s->seed_to > s->seed_from) {
		wz_buf_addz(&b, "\u2060–\u2060"); /* not to be broken */
		wz_buf_add_u64(&b, s->seed_to);
	}
	return wz_buf_str(&b);
}

static void what(struct wz_rep *p)
{
	const struct wz_pack_input *in = p->v.s->in;
	struct wz_rep_num nodes, gpus, tasks, asked, span;
	struct wz_num end, placements, seeds;

	if (!in || !in->nodes || !in->tasks)
		return;
	heading(p, WZ_T_WHAT);
	wz_rep_z(p, "<div class=\"two what\"><div><p>");
	wz_rep_sayf(p, WHAT_TEXT, false, wz_rep_int(&nodes, in->nodes->n), wz_rep_int(&gpus, p->v.gpus),
	        p->v.s->trace, wz_rep_int(&tasks, in->tasks->n),
	        wz_rep_int(&asked, (double)wz_sim_tasks_totals(in->tasks).gpu_milli / 1000),
	        wz_str_u64(&end, WZ_ARRIVE_MILLI / 10), wz_str_u64(&placements, p->v.s->n_placements),
	        wz_str_u64(&seeds, p->v.seeds), seeds_text(p->v.s, &span));
	wz_rep_z(p, "</p></div>");
	wz_rep_table_models(p);
	wz_rep_z(p, "</div>");
}

static void curves(struct wz_rep *p)
{
	heading(p, WZ_T_FIG_ALLOC);
	note(p, p->v.seeds > 1 ? WZ_T_FIG_ALLOC_NOTE : WZ_T_FIG_ALLOC_NOTE1, NULL, 0);
	wz_rep_z(p, "<figure>");
	wz_rep_curve(p, WZ_REP_ZOOM);
	wz_rep_z(p, "<figcaption class=\"note\">");
	for (uint32_t i = 0; i < p->v.set->n_refs; i++) {
		struct wz_rep_num num;
		if (!wz_rep_ref_shown(&p->v.set->ref[i]))
			continue;
		wz_rep_z(p, "<span>◇ ");
		wz_rep_text(p, p->v.set->ref[i].label);
		wz_rep_z(p, " ");
		wz_rep_text(p, wz_rep_fix(&num, p->v.set->ref[i].allocated, 2));
		wz_rep_z(p, " %</span> &#160; ");
	}
	wz_rep_z(p, "</figcaption></figure>");
}

static void idle(struct wz_rep *p)
{
	bool hollow = isfinite(wz_rep_bound(p, p->v.at));
	struct wz_num at;

	for (uint32_t i = 0; i < p->v.set->n_refs; i++)
		hollow = hollow || (wz_rep_ref_shown(&p->v.set->ref[i]) && p->v.set->ref[i].percent == p->v.at);
	heading(p, WZ_T_FIG_IDLE);
	wz_rep_z(p, "<p class=\"note\">");
	if (p->v.seeds > 1)
		wz_rep_sayf(p, FIG_IDLE_NOTE, false, wz_str_u64(&at, p->v.at));
	else
		wz_rep_sayf(p, FIG_IDLE_NOTE1, false, wz_str_u64(&at, p->v.at));
	if (hollow) {
		wz_rep_z(p, p->lang == WZ_REP_EN ? " " : "");
		wz_rep_say(p, FIG_IDLE_HOLLOW);
	}
	wz_rep_z(p, "</p><figure>");
	wz_rep_bars_idle(p);
	wz_rep_z(p, "</figure><div class=\"two\"><div>");
	heading(p, WZ_T_FIG_WHOLE);
	note(p, WZ_T_FIG_WHOLE_NOTE, NULL, 0);
	wz_rep_z(p, "<figure>");
	wz_rep_curve(p, WZ_REP_WHOLE);
	wz_rep_z(p, "</figure></div><div>");
	heading(p, WZ_T_FIG_FRAG);
	note(p, WZ_T_FIG_FRAG_NOTE, NULL, 0);
	wz_rep_z(p, "<figure>");
	wz_rep_curve(p, WZ_REP_FRAGMENTS);
	wz_rep_z(p, "</figure></div></div>");
}

static void ablation(struct wz_rep *p)
{
	const struct wz_packset *s = p->v.set->ablation;

	if (!s || !s->result)
		return;
	heading(p, WZ_T_ABLATION);
	note(p, WZ_T_ABLATION_NOTE, (struct wz_str[]){wz_str(s->placement[0])}, 1);
	wz_rep_table_ablation(p, s);
}

static void draw(struct wz_rep *p)
{
	struct wz_num at;

	if (!wz_rep_draw_known(p))
		return;
	wz_rep_z(p, "<div class=\"two\"><div>");
	heading(p, WZ_T_FIG_POWER);
	note(p, WZ_T_FIG_DRAW_NOTE, (struct wz_str[]){wz_str_u64(&at, p->v.at)}, 1);
	wz_rep_z(p, "<figure>");
	wz_rep_scatter(p, false);
	wz_rep_z(p, "</figure></div><div>");
	heading(p, WZ_T_FIG_PRICE);
	wz_rep_z(p, "<figure>");
	wz_rep_scatter(p, true);
	wz_rep_z(p, "</figure></div></div>");
}

static void tables(struct wz_rep *p)
{
	struct wz_num at, more;

	heading(p, WZ_T_FIG_REFUSED);
	note(p, WZ_T_FIG_REFUSED_NOTE, NULL, 0);
	wz_rep_table_refused(p);
	heading(p, WZ_T_FIG_MODELS);
	note(p, WZ_T_FIG_MODELS_NOTE, NULL, 0);
	wz_rep_z(p, "<figure>");
	wz_rep_bars_models(p);
	wz_rep_z(p, "</figure>");
	heading(p, WZ_T_NUMBERS);
	note(p, WZ_T_NUMBERS_NOTE, (struct wz_str[]){wz_str_u64(&at, p->v.at)}, 1);
	wz_rep_table_numbers(p);
	if (p->v.omitted)
		note(p, WZ_T_OMITTED, (struct wz_str[]){wz_str_u64(&more, p->v.omitted)}, 1);
	heading(p, WZ_T_FIG_SPEED);
	note(p, WZ_T_FIG_SPEED_NOTE, NULL, 0);
	wz_rep_z(p, "<figure>");
	wz_rep_bars_speed(p);
	wz_rep_z(p, "</figure>");
}

static void set_section(struct wz_rep *p, uint32_t index)
{
	view_make(p, index);
	if (p->r->n_sets > 1) {
		wz_rep_z(p, "<h2 id=\"");
		wz_rep_id(p, "set");
		wz_rep_z(p, "\">");
		wz_rep_text(p, p->v.s ? p->v.s->trace : (struct wz_str){0});
		wz_rep_z(p, "</h2>");
	}
	if (p->v.n == 0) {
		note(p, WZ_T_NOTHING, NULL, 0);
		return;
	}
	if (p->v.at) {
		finding(p);
		stats(p);
	}
	what(p);
	curves(p);
	idle(p);
	ablation(p);
	draw(p);
	tables(p);
}

/* ---- all sets side by side ---- */

static void overview_row(struct wz_rep *p, uint32_t index, const struct wz_packset *columns)
{
	struct wz_rep_num num;

	view_make(p, index);
	wz_rep_z(p, "<tr><th scope=\"row\"><a href=\"#");
	wz_rep_id(p, "set");
	wz_rep_z(p, "\">");
	wz_rep_text(p, p->v.s ? p->v.s->trace : (struct wz_str){0});
	wz_rep_z(p, "</a></th>");
	for (uint32_t k = 0; k < columns->n_placements && k < WZ_REPORT_PLACEMENTS_MAX; k++) {
		double v = (double)NAN;
		bool best = false;
		for (uint32_t i = 0; i < p->v.n; i++) {
			if (!wz_str_eq(wz_str(wz_rep_placement(p, i)), wz_str(columns->placement[k])))
				continue;
			v = wz_rep_point(p, i, WZ_CURVE_ALLOCATED, 100).mean;
			best = i == 0;
			break;
		}
		wz_rep_z(p, best ? "<td class=\"win\">" : "<td>");
		wz_rep_text(p, wz_rep_fix(&num, v, 2));
		wz_rep_z(p, "</td>");
	}
	wz_rep_z(p, "<td>");
	wz_rep_text(p, wz_rep_fix(&num, wz_rep_bound(p, 100), 2));
	wz_rep_z(p, "</td></tr>");
}

static void overview(struct wz_rep *p)
{
	const struct wz_packset *columns = NULL; /* the set with the most placements names the columns */

	for (uint32_t i = 0; i < p->r->n_sets; i++)
		if (p->r->set[i].runs && (!columns || p->r->set[i].runs->n_placements > columns->n_placements))
			columns = p->r->set[i].runs;
	if (p->r->n_sets < 2 || !columns)
		return;
	heading(p, WZ_T_SETS);
	note(p, WZ_T_SETS_NOTE, NULL, 0);
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><table class=\"full\"><thead><tr><td></td>");
	for (uint32_t k = 0; k < columns->n_placements && k < WZ_REPORT_PLACEMENTS_MAX; k++) {
		wz_rep_z(p, "<th scope=\"col\">");
		wz_rep_text(p, wz_str(columns->placement[k]));
		wz_rep_z(p, "</th>");
	}
	wz_rep_z(p, "<th scope=\"col\">");
	wz_rep_say(p, BOUND);
	wz_rep_z(p, "</th></tr></thead><tbody>");
	for (uint32_t i = 0; i < p->r->n_sets; i++)
		overview_row(p, i, columns);
	wz_rep_z(p, "</tbody></table></div>");
}

/* ---- how ---- */

static void fact(struct wz_rep *p, unsigned id, struct wz_str s)
{
	if (!s.len)
		return;
	wz_rep_z(p, "<dt>");
	wz_rep_fill(p, id, false, NULL, 0);
	wz_rep_z(p, "</dt><dd>");
	wz_rep_text(p, s);
	wz_rep_z(p, "</dd>");
}

static void how(struct wz_rep *p)
{
	static const unsigned method[] = {
	        WZ_T_METHOD_1, WZ_T_METHOD_2, WZ_T_METHOD_3, WZ_T_METHOD_4, WZ_T_METHOD_5};
	bool bounds = false;

	wz_rep_z(p, "<h2>");
	wz_rep_say(p, HOW);
	wz_rep_z(p, "</h2>");
	if (p->r->how.len) {
		wz_rep_z(p, "<h4>");
		wz_rep_say(p, COMMAND);
		wz_rep_z(p, "</h4><pre>");
		wz_rep_text(p, p->r->how);
		wz_rep_z(p, "</pre>");
	}
	if (p->r->version.len || p->r->when.len) {
		wz_rep_z(p, "<dl class=\"facts\">");
		fact(p, WZ_T_VERSION, p->r->version);
		fact(p, WZ_T_WHEN, p->r->when);
		wz_rep_z(p, "</dl>");
	}
	wz_rep_z(p, "<h4>");
	wz_rep_say(p, METHOD);
	wz_rep_z(p, "</h4><ol>");
	for (unsigned i = 0; i < sizeof(method) / sizeof(*method); i++) {
		wz_rep_z(p, "<li>");
		wz_rep_fill(p, method[i], false, NULL, 0);
		wz_rep_z(p, "</li>");
	}
	wz_rep_z(p, "</ol>");
	for (uint32_t i = 0; i < p->r->n_sets; i++)
		bounds = bounds || p->r->set[i].bound;
	if (bounds) {
		wz_rep_z(p, "<p>");
		wz_rep_say(p, BOUND_TEXT);
		wz_rep_z(p, "</p>");
	}
	wz_rep_z(p, "<h4>");
	wz_rep_say(p, LIMITS);
	wz_rep_z(p, "</h4><p>");
	wz_rep_say(p, LIMITS_TEXT);
	wz_rep_z(p, "</p>");
}

static void digests(struct wz_rep *p)
{
	bool first = true;

	for (uint32_t i = 0; i < p->r->n_sets; i++) {
		view_make(p, i);
		if (p->v.n == 0)
			continue;
		if (first) {
			wz_rep_z(p, "<h4>");
			wz_rep_say(p, DIGESTS);
			wz_rep_z(p, "</h4>");
			note(p, WZ_T_DIGESTS_NOTE, NULL, 0);
		}
		first = false;
		if (p->r->n_sets > 1) {
			wz_rep_z(p, "<h4>");
			wz_rep_text(p, p->v.s->trace);
			wz_rep_z(p, "</h4>");
		}
		wz_rep_digests(p);
	}
}

/* ---- the file ---- */

static void title(struct wz_rep *p)
{
	if (p->r->title.len)
		wz_rep_text(p, p->r->title);
	else
		wz_rep_say(p, TITLE);
}

static void body(struct wz_rep *p, unsigned lang)
{
	bool any = false;

	p->lang = lang;
	wz_rep_z(p, lang == WZ_REP_EN ? "<main class=\"page en\" lang=\"en\"><h1>"
	                              : "<main class=\"page zh\" lang=\"zh-Hans\"><h1>");
	title(p);
	wz_rep_z(p, "</h1>");
	overview(p);
	for (uint32_t i = 0; i < p->r->n_sets; i++)
		set_section(p, i);
	for (uint32_t i = 0; i < p->r->n_sets; i++)
		any = any || has_results(p->r->set[i].runs);
	if (p->r->n_sets == 0)
		note(p, WZ_T_NOTHING, NULL, 0);
	how(p);
	if (any)
		digests(p);
	wz_rep_z(p, "</main>\n");
}

static void both(struct wz_rep *p, unsigned id)
{
	wz_rep_z(p, "<span class=\"en\" lang=\"en\">");
	p->lang = WZ_REP_EN;
	wz_rep_fill(p, id, false, NULL, 0);
	wz_rep_z(p, "</span><span class=\"zh\" lang=\"zh-Hans\">");
	p->lang = WZ_REP_ZH;
	wz_rep_fill(p, id, false, NULL, 0);
	wz_rep_z(p, "</span>");
	p->lang = WZ_REP_EN;
}

static void foot(struct wz_rep *p)
{
	bool any = false;

	for (uint32_t i = 0; i < p->r->n_sets; i++)
		any = any || has_results(p->r->set[i].runs);
	wz_rep_z(p, "<footer class=\"page\"><p>");
	both(p, WZ_T_FOOT);
	wz_rep_z(p, "</p>");
	if (any) {
		wz_rep_z(p, "<a class=\"btn\" id=\"csv\" download=\"whalezen-packing.csv\" href=\"");
		wz_rep_csv_uri(p);
		wz_rep_z(p, "\">");
		both(p, WZ_T_CSV_LINK);
		wz_rep_z(p, "</a>");
	}
	wz_rep_z(p, "</footer>\n");
}

void wz_report_html(const struct wz_report *r, struct wz_buf *b)
{
	struct wz_rep p = {.r = r, .b = b};

	wz_rep_z(&p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	             "'unsafe-inline'; "
	             "script-src 'unsafe-inline'\">\n"
	             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	title(&p);
	wz_rep_z(&p, "</title>\n<style>\n");
	wz_rep_z(&p, wz_rep_css);
	wz_rep_z(&p, "</style>\n</head>\n<body>\n"
	             "<input class=\"tog\" type=\"radio\" name=\"lang\" id=\"l-en\" checked>"
	             "<input class=\"tog\" type=\"radio\" name=\"lang\" id=\"l-zh\">\n"
	             "<header class=\"page top\"><span class=\"brand\"><b>WhaleZEN</b> 鲸挣恩</span>"
	             "<span class=\"sw-lang\"><label for=\"l-en\" lang=\"en\">English</label>"
	             "<label for=\"l-zh\" lang=\"zh-Hans\">中文</label></span></header>\n");
	for (unsigned lang = 0; lang < WZ_REP_LANGS; lang++)
		body(&p, lang);
	foot(&p);
	wz_rep_z(&p, "<script>");
	wz_rep_z(&p, wz_rep_js);
	wz_rep_z(&p, "</script>\n</body>\n</html>\n");
}
