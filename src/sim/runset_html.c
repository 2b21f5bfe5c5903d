/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `wz sim run --html`: distributions of completion times and slowdowns (one line an order), Gantt charts of the first seed
 * (one row a job from its submission to its end, waiting pale), the table, the comparison. It fetches nothing. */
#include "sim/figures.h"
#include "sim/runset.h"

#include <math.h>
#include <stdlib.h>

#define WIDTH 900
#define HEIGHT 320
#define GANTT_ROWS 400u
#define POINTS 240u

static const char *const colours[] = {
        "#1b6ca8", "#d1495b", "#3a7d44", "#8a5a9e", "#e08e45", "#00798c", "#9a6a3a", "#555555"};

static const struct wz_run_result *first(const struct wz_runset *s, uint32_t k)
{
	return &s->result[(size_t)k * wz_runset_seeds(s)];
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return a < b ? -1 : a > b;
}

static void num(struct wz_buf *b, double v)
{
	wz_fig_number(b, v, 1);
}

static void text_at(struct wz_buf *b, double x, double y, struct wz_str s)
{
	wz_buf_addz(b, "<text x=\"");
	num(b, x);
	wz_buf_addz(b, "\" y=\"");
	num(b, y);
	wz_buf_addz(b, "\">");
	wz_buf_add_html(b, s);
	wz_buf_addz(b, "</text>");
}

static void open_svg(struct wz_buf *b, const char *title, double height)
{
	wz_buf_addz(b, "<h2>");
	wz_buf_addz(b, title);
	wz_buf_addz(b, "</h2><svg viewBox=\"0 0 900 ");
	num(b, height);
	wz_buf_addz(b, "\" role=\"img\">");
}

/* The distribution of completion times on a scale of decades from 1 s on. */
static void cdf(const struct wz_runset *s, struct wz_buf *b, bool slowdown)
{
	double *v = wz_mem_zalloc(s->mem, s->in->n * sizeof(*v)), decades = slowdown ? 6 : 8;

	if (!v)
		return;
	open_svg(b,
	        slowdown ? "Slowdown: time from submission to end over run time" : "Time from submission to end",
	        HEIGHT + 30);
	for (int d = 0; d <= (int)decades; d++) {
		char label[24];
		struct wz_buf lb;
		double x = WIDTH * d / decades;
		wz_buf_init_fixed(&lb, label, sizeof(label));
		wz_buf_addz(&lb, "10^");
		wz_buf_add_i64(&lb, d);
		wz_buf_addz(&lb, slowdown ? "" : " s");
		wz_buf_addz(b, "<path class=\"grid\" d=\"M");
		num(b, x);
		wz_buf_addz(b, " 0V320\"/>");
		text_at(b, fmin(x, WIDTH - 50), HEIGHT + 18, wz_buf_str(&lb));
	}
	for (uint32_t k = 0; k < s->n_orders; k++) {
		uint32_t n = 0;
		for (uint32_t j = 0; j < s->in->n; j++) {
			const struct wz_run_outcome *o = &first(s, k)->out[j];
			double jct = (double)(o->end_us - s->in->job[j].submit_us) / 1e6;
			if (o->end_us >= 0)
				v[n++] = slowdown ? jct / fmax((double)s->in->job[j].run_us / 1e6, 1e-6) : jct;
		}
		qsort(v, n, sizeof(*v), by_value);
		wz_buf_addz(b, "<path fill=\"none\" stroke-width=\"2\" stroke=\"");
		wz_buf_addz(b, colours[k % 8]);
		wz_buf_addz(b, "\" d=\"");
		for (uint32_t i = 0; i <= POINTS && n; i++) {
			uint32_t at = (uint32_t)((double)(n - 1) * i / POINTS);
			wz_buf_addc(b, i ? 'L' : 'M');
			num(b, WIDTH * fmin(fmax(log10(fmax(v[at], 1)), 0) / decades, 1));
			wz_buf_addc(b, ' ');
			num(b, HEIGHT * (1 - (double)(at + 1) / n));
		}
		wz_buf_addz(b, "\"/>");
	}
	wz_buf_addz(b, "</svg>");
	wz_mem_free(s->mem, v, s->in->n * sizeof(*v));
}

static void legend(const struct wz_runset *s, struct wz_buf *b)
{
	wz_buf_addz(b, "<p>");
	for (uint32_t k = 0; k < s->n_orders; k++) {
		char name[256];
		struct wz_buf nb;
		wz_buf_init_fixed(&nb, name, sizeof(name));
		wz_order_format(s->order[k].rule, s->order[k].param, &nb);
		wz_buf_addz(b, "<b style=\"color:");
		wz_buf_addz(b, colours[k % 8]);
		wz_buf_addz(b, "\">■ ");
		wz_buf_add_html(b, wz_buf_str(&nb));
		wz_buf_addz(b, "</b> ");
	}
	wz_buf_addz(b, "</p>");
}

static void bar(struct wz_buf *b, double x, double y, double w, double h, const char *style)
{
	wz_buf_addz(b, "<rect x=\"");
	num(b, x);
	wz_buf_addz(b, "\" y=\"");
	num(b, y);
	wz_buf_addz(b, "\" width=\"");
	num(b, fmax(w, 0.5));
	wz_buf_addz(b, "\" height=\"");
	num(b, h);
	wz_buf_addz(b, "\" ");
	wz_buf_addz(b, style);
	wz_buf_addz(b, "/>");
}

/* Up to GANTT_ROWS jobs, evenly chosen: pale from submission to the first start, full from there to the end. */
static void gantt(const struct wz_runset *s, uint32_t k, struct wz_buf *b)
{
	const struct wz_run_result *r = first(s, k);
	uint32_t rows = s->in->n < GANTT_ROWS ? s->in->n : GANTT_ROWS;
	double span = fmax(r->makespan_s, 1), h = 1.5;
	char name[256], style[64];
	struct wz_buf nb, sb;

	wz_buf_init_fixed(&nb, name, sizeof(name));
	wz_order_format(s->order[k].rule, s->order[k].param, &nb);
	wz_buf_init_fixed(&sb, style, sizeof(style));
	wz_buf_addz(&sb, "fill=\"");
	wz_buf_addz(&sb, colours[k % 8]);
	wz_buf_addz(&sb, "\"");
	open_svg(b, "When jobs ran (one row a job, by submission; pale: waits before its first start)",
	        rows * h + 22);
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t j = (uint32_t)((uint64_t)s->in->n * i / rows);
		const struct wz_run_outcome *o = &r->out[j];
		double from = (double)(s->in->job[j].submit_us - s->in->from_us) / 1e6,
		       start = (double)(o->first_start_us - s->in->from_us) / 1e6;
		double end = (double)(o->end_us - s->in->from_us) / 1e6;
		if (o->first_start_us < 0)
			continue;
		end = o->end_us < 0 ? span : end;
		bar(b, WIDTH * from / span, i * h, WIDTH * (start - from) / span, h, "fill=\"#cccccc\"");
		bar(b, WIDTH * start / span, i * h, WIDTH * (end - start) / span, h, wz_buf_z(&sb));
	}
	text_at(b, 0, rows * h + 16, wz_buf_str(&nb));
	wz_buf_addz(b, "</svg>");
}

void wz_runset_html(const struct wz_runset *s, struct wz_buf *b)
{
	struct wz_err err = {0};
	struct wz_buf table;

	wz_buf_addz(b, "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta "
	               "http-equiv=\"Content-Security-Policy\" content=\"default-src "
	               "'none'; style-src 'unsafe-inline'\"><title>Jobs in time: ");
	wz_buf_add_html(b, s->trace);
	wz_buf_addz(b, "</title><style>body{font:15px sans-serif;max-width:960px;margin:2em auto;padding:0 "
	               "1em}svg{width:100%;background:#fafafa}"
	               "text{font:12px "
	               "sans-serif}.grid{stroke:#ddd}pre{overflow-x:auto;background:#fafafa;padding:1em}</"
	               "style><h1>Jobs in time: ");
	wz_buf_add_html(b, s->trace);
	wz_buf_addz(b, "</h1>");
	legend(s, b);
	cdf(s, b, false);
	cdf(s, b, true);
	for (uint32_t k = 0; k < s->n_orders; k++)
		gantt(s, k, b);
	wz_buf_init(&table, s->mem, 1u << 20);
	wz_runset_table(s, &table);
	for (uint32_t k = 1; k < s->n_orders; k++) {
		struct wz_runset_pair p;
		if (wz_runset_compare(s, k, &p, &err) < 0)
			break;
		wz_buf_addz(&table, "\nmean of ");
		wz_order_format(s->order[k].rule, s->order[k].param, &table);
		wz_buf_addz(&table, " over that of the first: ");
		wz_fig_number(&table, p.ratio, 3);
		wz_buf_addz(&table, " (95 %: ");
		wz_fig_number(&table, p.low, 3);
		wz_buf_addz(&table, " .. ");
		wz_fig_number(&table, p.high, 3);
		wz_buf_addz(&table, ")");
	}
	wz_buf_addz(b, "<h2>Figures</h2><pre>");
	wz_buf_add_html(b, wz_buf_str(&table));
	wz_buf_addz(b, "</pre></html>\n");
	wz_buf_release(&table);
}
