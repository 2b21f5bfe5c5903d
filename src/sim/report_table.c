/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the report, and the CSV as a link. Every mean is computed as wz_packset_table does. */
#include "sim/report_int.h"

#include "base/check.h"

#include <math.h>

static void name_cell(struct wz_rep *p, uint32_t rank)
{
	wz_rep_z(p, rank == 0 ? "<tr class=\"win\"><th scope=\"row\"><i" : "<tr><th scope=\"row\"><i");
	wz_rep_colour(p, rank, "sw");
	wz_rep_z(p, "></i>");
	wz_rep_text(p, wz_str(wz_rep_placement(p, rank)));
	wz_rep_z(p, "</th>");
}

static void cell(struct wz_rep *p, struct wz_str s)
{
	wz_rep_z(p, "<td>");
	wz_rep_text(p, s);
	wz_rep_z(p, "</td>");
}

static void head(struct wz_rep *p, unsigned id)
{
	wz_rep_z(p, "<th scope=\"col\">");
	wz_rep_fill(p, id, false, NULL, 0);
	wz_rep_z(p, "</th>");
}

static void open(struct wz_rep *p, const char *class, unsigned caption)
{
	wz_rep_z(p, "<div class=\"scroll\" tabindex=\"0\"><table class=\"");
	wz_rep_z(p, class);
	wz_rep_z(p, "\" aria-label=\"");
	wz_rep_fill(p, caption, false, NULL, 0);
	wz_rep_z(p, "\"><thead><tr>");
}

static void close(struct wz_rep *p)
{
	wz_rep_z(p, "</table></div>");
}

/* ---- the cluster ---- */

struct models {
	uint32_t nodes[WZ_MODELS_MAX + 1];
	double gpus[WZ_MODELS_MAX + 1], cpu[WZ_MODELS_MAX + 1];
};

/* A node counts with the model of its first device, its CPU in proportion to its devices of each model. */
static void count(const struct wz_sim_nodes *nodes, struct models *m)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct wz_ev_node *n = &nodes->node[i];
		for (uint32_t d = 0; d < n->n_devices; d++) {
			uint32_t k = n->device[d].model.v < WZ_MODELS_MAX ? n->device[d].model.v : WZ_MODELS_MAX;
			m->nodes[k] += d == 0;
			m->gpus[k] += (double)n->device[d].compute_milli / 1000;
			m->cpu[k] += (double)n->cpu_milli / n->n_devices / 1000;
		}
	}
}

static void model_line(struct wz_rep *p, struct wz_str name, double nodes, double gpus, double cpu, double all)
{
	struct wz_rep_num num;

	wz_rep_z(p, "<tr><th scope=\"row\">");
	if (name.len)
		wz_rep_text(p, name);
	else
		wz_rep_say(p, OTHER_MODEL);
	wz_rep_z(p, "</th>");
	cell(p, wz_rep_int(&num, nodes));
	cell(p, wz_rep_int(&num, gpus));
	wz_rep_z(p, "<td>");
	wz_rep_text(p, wz_rep_fix(&num, all > 0 ? 100 * gpus / all : (double)NAN, 1));
	wz_rep_z(p, " %</td>");
	cell(p, wz_rep_fix(&num, gpus > 0 ? cpu / gpus : (double)NAN, 1));
	wz_rep_z(p, "</tr>");
}

void wz_rep_table_models(struct wz_rep *p)
{
	const struct wz_sim_nodes *nodes = p->v.s->in ? p->v.s->in->nodes : NULL;
	struct models m = {0};
	double n = 0, gpus = 0, cpu = 0;

	if (!nodes)
		return;
	count(nodes, &m);
	open(p, "", WZ_T_WHAT);
	head(p, WZ_T_MODEL);
	head(p, WZ_T_NODES);
	head(p, WZ_T_GPUS);
	head(p, WZ_T_OF_CAPACITY);
	head(p, WZ_T_VCPU_PER_GPU);
	wz_rep_z(p, "</tr></thead><tbody>");
	for (uint32_t k = 0; k <= WZ_MODELS_MAX; k++) {
		gpus += m.gpus[k];
		cpu += m.cpu[k];
		n += m.nodes[k];
	}
	for (;;) { /* the largest first; each is taken out once written */
		uint32_t best = 0;
		for (uint32_t k = 1; k <= WZ_MODELS_MAX; k++)
			best = m.gpus[k] > m.gpus[best] ? k : best;
		if (!(m.gpus[best] > 0))
			break;
		model_line(p, wz_sim_nodes_model_name(nodes, (wz_model_id){(uint16_t)best}), m.nodes[best],
		        m.gpus[best], m.cpu[best], gpus);
		m.gpus[best] = 0;
	}
	wz_rep_z(p, "</tbody><tfoot>");
	{
		struct wz_rep_num num;
		wz_rep_z(p, "<tr><th scope=\"row\">");
		wz_rep_say(p, TOTAL);
		wz_rep_z(p, "</th>");
		cell(p, wz_rep_int(&num, n));
		cell(p, wz_rep_int(&num, gpus));
		wz_rep_z(p, "<td></td>");
		cell(p, wz_rep_fix(&num, gpus > 0 ? cpu / gpus : (double)NAN, 1));
	}
	wz_rep_z(p, "</tr></tfoot>");
	close(p);
}

/* ---- refused ---- */

static const unsigned class_text[WZ_PACK_CLASSES] = {[WZ_PACK_CPU] = WZ_T_CLASS_CPU,
        [WZ_PACK_SHARE] = WZ_T_CLASS_SHARE,
        [WZ_PACK_ONE] = WZ_T_CLASS_ONE,
        [WZ_PACK_MULTI] = WZ_T_CLASS_MULTI};

struct refused {
	double refused, arrived;
};

static struct refused refused(const struct wz_rep *p, uint32_t rank, unsigned k)
{
	const struct wz_pack_result *r = wz_rep_runs(p, rank);
	struct refused x = {0};

	for (uint32_t i = 0; i < p->v.seeds; i++) {
		x.refused += (double)r[i].rejected[k] / p->v.seeds;
		x.arrived += (double)r[i].arrived[k] / p->v.seeds;
	}
	return x;
}

static void refused_cell(struct wz_rep *p, uint32_t rank, unsigned k, double most)
{
	struct refused x = refused(p, rank, k);
	struct wz_rep_num num;

	wz_rep_z(p, "<td>");
	wz_rep_text(p, wz_rep_int(&num, x.refused));
	wz_rep_z(p, " <small>");
	wz_rep_text(p, wz_rep_fix(&num, x.arrived > 0 ? 100 * x.refused / x.arrived : (double)NAN, 1));
	wz_rep_z(p, " %</small><span");
	wz_rep_colour(p, rank, "in");
	wz_rep_z(p, " style=\"width:");
	wz_rep_coord(p, most > 0 ? 100 * x.refused / most : 0);
	wz_rep_z(p, "%\"></span></td>");
}

void wz_rep_table_refused(struct wz_rep *p)
{
	double most[WZ_PACK_CLASSES] = {0};
	struct wz_rep_num num;

	for (uint32_t i = 0; i < p->v.n; i++) {
		for (unsigned k = 0; k < WZ_PACK_CLASSES; k++) {
			double v = refused(p, i, k).refused;
			most[k] = v > most[k] ? v : most[k];
		}
	}
	open(p, "full", WZ_T_FIG_REFUSED);
	head(p, WZ_T_PLACEMENT);
	for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
		head(p, class_text[k]);
	wz_rep_z(p, "</tr></thead><tbody>");
	for (uint32_t i = 0; i < p->v.n; i++) {
		name_cell(p, i);
		for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
			refused_cell(p, i, k, most[k]);
		wz_rep_z(p, "</tr>");
	}
	wz_rep_z(p, "</tbody><tfoot><tr><th scope=\"row\">");
	wz_rep_say(p, ARRIVED);
	wz_rep_z(p, "</th>");
	for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
		cell(p, wz_rep_int(&num, p->v.n ? refused(p, 0, k).arrived : (double)NAN));
	wz_rep_z(p, "</tr></tfoot>");
	close(p);
}

/* ---- numbers ---- */

static const unsigned points[] = {90, 95, 98, 100, 110, 120, 130};
#define N_POINTS (sizeof(points) / sizeof(*points))

static void spread_cell(struct wz_rep *p, struct wz_spread s)
{
	struct wz_rep_num num;

	wz_rep_z(p, "<td>");
	wz_rep_text(p, wz_rep_fix(&num, s.mean, 2));
	if (s.n > 1) {
		wz_rep_z(p, " <small class=\"sd\">± ");
		wz_rep_text(p, wz_rep_fix(&num, s.sd, 2));
		wz_rep_z(p, "</small>");
	}
	wz_rep_z(p, "</td>");
}

static void numbers_row(struct wz_rep *p, uint32_t rank)
{
	const struct wz_pack_result *r = wz_rep_runs(p, rank);
	double ns = 0, decisions = 0, turned_away = 0;
	struct wz_rep_num num;

	name_cell(p, rank);
	for (unsigned i = 0; i < N_POINTS; i++)
		spread_cell(p, wz_rep_point(p, rank, WZ_CURVE_ALLOCATED, points[i]));
	cell(p, wz_rep_fix(
	                &num, p->v.at ? wz_rep_point(p, rank, WZ_CURVE_FRAGMENTED, p->v.at).mean : (double)NAN, 2));
	for (uint32_t i = 0; i < p->v.seeds; i++) {
		ns += (double)r[i].cpu_ns;
		decisions += (double)r[i].decisions;
	}
	for (unsigned k = 0; k < WZ_PACK_CLASSES; k++)
		turned_away += refused(p, rank, k).refused;
	cell(p, wz_rep_int(&num, turned_away));
	cell(p, wz_rep_us(&num, decisions > 0 ? ns / decisions : (double)NAN));
	cell(p, wz_rep_int(&num, decisions));
	wz_rep_z(p, "</tr>");
}

static void numbers_foot(struct wz_rep *p)
{
	bool any = false;

	for (unsigned i = 0; i < N_POINTS; i++)
		any = any || isfinite(wz_rep_bound(p, points[i]));
	if (!any)
		return;
	wz_rep_z(p, "<tfoot><tr><th scope=\"row\">");
	wz_rep_say(p, BOUND);
	wz_rep_z(p, "</th>");
	for (unsigned i = 0; i < N_POINTS; i++)
		spread_cell(p, (struct wz_spread){.mean = wz_rep_bound(p, points[i])});
	wz_rep_z(p, "<td colspan=\"4\"></td></tr></tfoot>");
}

void wz_rep_table_numbers(struct wz_rep *p)
{
	open(p, "full", WZ_T_NUMBERS);
	head(p, WZ_T_PLACEMENT);
	for (unsigned i = 0; i < N_POINTS; i++) {
		wz_rep_z(p, "<th scope=\"col\">");
		wz_buf_add_u64(p->b, points[i]);
		wz_rep_z(p, " %</th>");
	}
	head(p, WZ_T_COL_FRAG);
	head(p, WZ_T_COL_REFUSED);
	head(p, WZ_T_COL_US);
	head(p, WZ_T_COL_DECISIONS);
	wz_rep_z(p, "</tr></thead><tbody>");
	for (uint32_t i = 0; i < p->v.n; i++)
		numbers_row(p, i);
	wz_rep_z(p, "</tbody>");
	numbers_foot(p);
	close(p);
}

/* ---- ablation ---- */

static const unsigned ablation_points[] = {90, 95, 100, 130};

/* Mean and sample deviation of variant - full over the seeds, at 100 % arrived. */
static struct wz_spread paired(const struct wz_packset *s, uint32_t variant)
{
	uint32_t seeds = wz_packset_runs(s) / s->n_placements;
	struct wz_spread x = {.n = seeds};
	double sq = 0;

	for (uint32_t i = 0; i < seeds; i++)
		x.mean += (s->result[variant * seeds + i].allocated[100] - s->result[i].allocated[100]) / seeds;
	for (uint32_t i = 0; i < seeds; i++) {
		double d = s->result[variant * seeds + i].allocated[100] - s->result[i].allocated[100] - x.mean;
		sq += d * d;
	}
	x.sd = seeds > 1 ? sqrt(sq / (seeds - 1)) : 0;
	return x;
}

static void ablation_row(struct wz_rep *p, const struct wz_packset *s, uint32_t variant)
{
	struct wz_spread d = paired(s, variant);
	struct wz_rep_num a, b;

	wz_rep_z(p, variant == 0 ? "<tr class=\"win\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
	wz_rep_text(p, wz_str(s->placement[variant]));
	wz_rep_z(p, "</th>");
	for (unsigned i = 0; i < WZ_ARRAY_LEN(ablation_points); i++)
		cell(p, wz_rep_fix(
		                &a, wz_packset_point(s, variant, WZ_CURVE_ALLOCATED, ablation_points[i]).mean, 2));
	if (variant == 0) {
		wz_rep_z(p, "<td></td></tr>");
		return;
	}
	wz_rep_z(p, d.mean > 0 ? "<td>+" : "<td>");
	wz_rep_text(p, wz_rep_fix(&a, d.mean, 2));
	wz_rep_z(p, " ± ");
	wz_rep_text(p, wz_rep_fix(&b, d.sd, 2));
	wz_rep_z(p, "</td></tr>");
}

void wz_rep_table_ablation(struct wz_rep *p, const struct wz_packset *s)
{
	open(p, "full", WZ_T_ABLATION);
	head(p, WZ_T_COL_VARIANT);
	for (unsigned i = 0; i < WZ_ARRAY_LEN(ablation_points); i++) {
		wz_rep_z(p, "<th scope=\"col\">");
		wz_buf_add_u64(p->b, ablation_points[i]);
		wz_rep_z(p, " %</th>");
	}
	head(p, WZ_T_COL_DIFFERENCE);
	wz_rep_z(p, "</tr></thead><tbody>");
	for (uint32_t k = 0; k < s->n_placements; k++)
		ablation_row(p, s, k);
	wz_rep_z(p, "</tbody>");
	close(p);
}

void wz_rep_digests(struct wz_rep *p)
{
	wz_rep_z(p, "<ul class=\"dig\">");
	for (uint32_t i = 0; i < p->v.n; i++) {
		wz_rep_z(p, "<li><b>");
		wz_rep_text(p, wz_str(wz_rep_placement(p, i)));
		wz_rep_z(p, "</b>");
		for (uint32_t k = 0; k < p->v.seeds; k++) {
			wz_rep_z(p, "<span>");
			wz_buf_add_u64(p->b, p->v.s->seed_from + k);
			wz_rep_z(p, " ");
			wz_buf_add_hex64(p->b, wz_rep_runs(p, i)[k].digest);
			wz_rep_z(p, "</span>");
		}
		wz_rep_z(p, "</li>");
	}
	wz_rep_z(p, "</ul>");
}

/* ---- the CSV ---- */

/* Escapes what was appended from `from` on for a URI, in place from the end: three bytes for one. */
static void uri_escape(struct wz_buf *b, size_t from)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~,";
	size_t end = b->len, extra = 0;

	for (size_t i = from; b->status == 0 && i < end; i++)
		extra += memchr(plain, b->data[i], sizeof(plain) - 1) ? 0 : 2;
	for (size_t i = 0; i < extra && b->status == 0; i++)
		wz_buf_addc(b, ' ');
	if (b->status < 0)
		return;
	for (size_t i = end, to = b->len; i > from && to > i;) {
		char c = b->data[--i];
		if (memchr(plain, c, sizeof(plain) - 1)) {
			b->data[--to] = c;
		} else {
			b->data[--to] = hex[(unsigned char)c & 15];
			b->data[--to] = hex[(unsigned char)c >> 4];
			b->data[--to] = '%';
		}
	}
}

void wz_rep_csv_uri(struct wz_rep *p)
{
	bool header = true;
	size_t from;

	wz_rep_z(p, "data:text/csv;charset=utf-8,");
	from = p->b->len;
	for (uint32_t i = 0; i < p->r->n_sets; i++) {
		const struct wz_packset *s = p->r->set[i].runs;
		if (!s || !s->result || s->n_placements == 0)
			continue;
		wz_packset_csv(s, header, p->b);
		header = false;
	}
	uri_escape(p->b, from);
}
