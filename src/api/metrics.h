/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in Prometheus text (exposition format 0.0.4). A table names them once: name, kind, help, labels; a registry
 * holds the series of several tables. Values are set by (metric, label values). A series past WZ_METRIC_SERIES_MAX is
 * dropped and counted in wz_metrics_dropped_total, so labels cannot eat the memory.
 *
 * Thread rule: the loop's thread; another thread posts to it. Setting is O(1) expected. */
#ifndef WZ_API_METRICS_H
#define WZ_API_METRICS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

#define WZ_METRIC_LABELS_MAX 6u
#define WZ_METRIC_BUCKETS_MAX 24u
#define WZ_METRIC_SERIES_MAX 50000u
#define WZ_METRIC_TABLES_MAX 8u
#define WZ_METRIC_TEXT_MAX (64u << 20)

enum wz_metric_kind { WZ_METRIC_COUNTER, WZ_METRIC_GAUGE, WZ_METRIC_HISTOGRAM };
struct wz_metric {
	const char *name; /* "wz_http_requests_total" */
	const char *help;
	enum wz_metric_kind kind;
	const char *labels[WZ_METRIC_LABELS_MAX]; /* the names; NULL ends */
	const double *buckets; /* of a histogram: rising upper bounds; +Inf is added */
	uint32_t n_buckets;
};

struct wz_metrics;
int wz_metrics_new(const struct wz_mem *mem, struct wz_metrics **ret); /* -ENOMEM */
void wz_metrics_free(struct wz_metrics *m);
/* The table must outlive the registry. Names are unique over all tables (asserted) and well formed. -ENOMEM. */
int wz_metrics_add_table(struct wz_metrics *m, const struct wz_metric *table, uint32_t n);

/* `labels`: as many values as the metric has names. `metric` points into an added table. */
void wz_metric_add(struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double by);
void wz_metric_set(struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double value);
void wz_metric_observe(
        struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double value);
/* Forgets all series of a gauge, before it is set anew for what exists now. */
void wz_metric_clear(struct wz_metrics *m, const struct wz_metric *metric);

void wz_metrics_write(const struct wz_metrics *m, struct wz_buf *b); /* sorted by table, then by first appearance */
#endif
