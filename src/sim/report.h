/* SPDX-License-Identifier: Apache-2.0 */
/* The report of the packing experiment: one HTML file that needs nothing beside it, in English and 中文.
 *
 * It presents the results of one or several packsets (one per trace) for people: charts as inline SVG, tables, the runs'
 * digests, and the numbers as a CSV inside a data: link. It fetches nothing (a Content-Security-Policy in the file says
 * so), shows everything without JavaScript (the script only picks the reader's language), and says nothing about
 * when or where it was written unless `when` is given: the same results give the same bytes.
 *
 * Thread rule: reads its arguments, writes only *b; no state. Complexity: linear in runs x points (the size of the file:
 * about 250 KB a set of eight placements, and 50 bytes a run and point for the CSV). Layout and choices:
 * docs/internals/report.md. */
#ifndef WZ_SIM_REPORT_H
#define WZ_SIM_REPORT_H

#include "base/buf.h"
#include "sim/packset.h"

#define WZ_REPORT_PLACEMENTS_MAX 32u /* shown of a set, the best; the rest is in the CSV, and the page says so */
#define WZ_REPORT_BYTES_MAX ((size_t)64 << 20) /* a good maximum for the buffer */

/* A published or otherwise known result to compare with: a mark in the chart and a hollow bar. */
struct wz_report_ref {
	struct wz_str label; /* "FGD, as published" */
	unsigned percent; /* of arrivals: 0..WZ_PACK_PERCENT-1 */
	double allocated; /* percent of capacity; NAN: not shown */
};

struct wz_report_set {
	const struct wz_packset *runs; /* its result may be NULL: nothing was run */
	const double *bound; /* [WZ_PACK_PERCENT] upper bound, percent of capacity, NAN where not known; NULL: none */
	const struct wz_report_ref *ref;
	uint32_t n_refs;
	const struct wz_packset *ablation; /* placement 0 as it is, the others with a part off; same input and seeds; NULL */
};

/* All borrowed. Empty strings are left out. Any text may hold anything; it is escaped. */
struct wz_report {
	const struct wz_report_set *set;
	uint32_t n_sets;
	struct wz_str title; /* empty: a title of the page's own, in both languages */
	struct wz_str how; /* the command that made it */
	struct wz_str version; /* "whalezen 0.1.0" */
	struct wz_str when; /* "2026-12-01"; empty: the page says nothing of it */
};

/* Appends the page. Check b->status afterwards: -ENOMEM, or -E2BIG when the page is larger than the buffer's maximum. */
void wz_report_html(const struct wz_report *r, struct wz_buf *b);

#endif
