/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the report: report.c (the page), report_text.c (words and numbers), report_style.c (CSS and the
 * script), report_curve.c (line charts), report_bar.c (bar charts), report_table.c (tables, CSV).
 *
 * The body is written twice, once in each language, so that every element has one `lang` and every chart one set of
 * labels; what is large and has no words (the CSV) is written once. */
#ifndef WZ_SIM_REPORT_INT_H
#define WZ_SIM_REPORT_INT_H

#include "sim/report.h"

enum { WZ_REP_EN, WZ_REP_ZH, WZ_REP_LANGS };

/* One set, looked at once: who is shown, in which order, in which colour. */
struct wz_rep_view {
	const struct wz_report_set *set;
	const struct wz_packset *s;
	uint32_t index; /* of the set */
	uint32_t n, omitted; /* placements shown, and not */
	uint32_t seeds;
	unsigned
	        at; /* arrivals percent where placements are compared: 100, or the last that all reached; 0: none */
	double gpus; /* capacity */
	uint32_t order[WZ_REPORT_PLACEMENTS_MAX]; /* placements, best first */
	uint32_t colour[WZ_REPORT_PLACEMENTS_MAX]; /* of order[i] */
};

struct wz_rep {
	const struct wz_report *r;
	struct wz_buf *b;
	unsigned lang;
	struct wz_rep_view v; /* the set being written */
};

/* ---- report_text.c ---- */
#define WZ_REP_TEXT(id, en, zh) WZ_T_##id,
enum wz_rep_text_id {
#include "sim/report_text.inc"
	WZ_T_COUNT
};
#undef WZ_REP_TEXT

struct wz_rep_num {
	char b[40];
};
struct wz_str wz_rep_int(struct wz_rep_num *scratch, double v); /* rounded, "6,212"; NAN: "–" */
struct wz_str wz_rep_fix(struct wz_rep_num *scratch, double v, unsigned decimals); /* NAN: "–" */
struct wz_str wz_rep_us(
        struct wz_rep_num *scratch, double ns); /* microseconds of ns, two decimals; one from 100 on */

void wz_rep_z(struct wz_rep *p, const char *trusted); /* markup of ours, as it is */
void wz_rep_text(struct wz_rep *p, struct wz_str s); /* escaped */
/* The text in the language of the page, escaped; {1}..{9} become the arguments, in <b> when `strong`. */
void wz_rep_fill(struct wz_rep *p, unsigned id, bool strong, const struct wz_str *arg, uint32_t n);
#define wz_rep_say(p, id) wz_rep_fill((p), WZ_T_##id, false, NULL, 0)
#define wz_rep_sayf(p, id, strong, ...) \
	wz_rep_fill((p), WZ_T_##id, (strong), (const struct wz_str[]){__VA_ARGS__}, \
	        sizeof((const struct wz_str[]){__VA_ARGS__}) / sizeof(struct wz_str))
void wz_rep_name(struct wz_rep *p, struct wz_str s, size_t chars); /* escaped, cut to so many characters with "…" */
void wz_rep_coord(struct wz_rep *p, double v); /* pixels, one decimal at most */
void wz_rep_attr(struct wz_rep *p, const char *name, double v); /* ' name="v"' */

/* ---- report.c ---- */
const char *wz_rep_placement(const struct wz_rep *p, uint32_t rank); /* name */
const struct wz_pack_result *wz_rep_runs(const struct wz_rep *p, uint32_t rank); /* [seeds] */
struct wz_spread wz_rep_point(const struct wz_rep *p, uint32_t rank, enum wz_curve c, unsigned percent);
double wz_rep_bound(const struct wz_rep *p, unsigned percent); /* or NAN */
bool wz_rep_ref_shown(const struct wz_report_ref *ref);
void wz_rep_colour(
        struct wz_rep *p, uint32_t rank, const char *more); /* ' class="c3 d0 more"', "win" when the best */
void wz_rep_id(struct wz_rep *p, const char *part); /* "en-0-part", unique in the file */
void wz_rep_svg_open(struct wz_rep *p, const char *part, double w, double h, unsigned title, unsigned desc);
void wz_rep_svg_close(struct wz_rep *p);

/* ---- report_curve.c ---- */
enum wz_rep_chart { WZ_REP_ZOOM, WZ_REP_WHOLE, WZ_REP_FRAGMENTS };
void wz_rep_curve(struct wz_rep *p, enum wz_rep_chart chart);
double wz_rep_step(double span, unsigned most); /* a round step: at most `most` of them in span */

/* ---- report_scatter.c ---- */
bool wz_rep_draw_known(const struct wz_rep *p); /* was power measured? */
void wz_rep_scatter(struct wz_rep *p, bool price); /* allocated against kW, or against US dollars an hour */

/* ---- report_bar.c ---- */
void wz_rep_bars_idle(struct wz_rep *p); /* unallocated at `at` */
void wz_rep_bars_models(struct wz_rep *p); /* idle by model and reason, a panel a placement */
void wz_rep_bars_speed(struct wz_rep *p);

/* ---- report_table.c ---- */
void wz_rep_table_models(struct wz_rep *p);
void wz_rep_table_refused(struct wz_rep *p);
void wz_rep_table_numbers(struct wz_rep *p);
void wz_rep_table_ablation(struct wz_rep *p, const struct wz_packset *s);
void wz_rep_digests(struct wz_rep *p);
void wz_rep_csv_uri(struct wz_rep *p); /* "data:text/csv,..." */

/* ---- report_style.c ---- */
extern const char wz_rep_css[], wz_rep_js[];

#endif
