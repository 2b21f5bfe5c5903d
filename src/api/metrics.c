/* SPDX-License-Identifier: Apache-2.0 */
/* A series is found by its rendered label text ({a="b",...}), interned per registry: the text is what is written anyway. */
#include "api/metrics.h"

#include "base/check.h"

#include <math.h>

struct series {
	uint32_t metric; /* index over all tables */
	uint32_t text; /* id in labels */
	double value; /* of a histogram: the sum */
	uint64_t count;
	uint32_t bucket; /* first of n_buckets in counts */
	bool live;
};

struct wz_metrics {
	const struct wz_mem *mem;
	const struct wz_metric *tables[WZ_METRIC_TABLES_MAX];
	uint32_t sizes[WZ_METRIC_TABLES_MAX], n_tables;
	struct wz_strtab labels;
	struct wz_map by_key; /* metric << 32 | text -> series */
	struct series *series;
	uint32_t n_series, cap_series;
	uint64_t *counts;
	uint32_t n_counts, cap_counts;
	struct wz_buf scratch;
	uint64_t dropped;
};

int wz_metrics_new(const struct wz_mem *mem, struct wz_metrics **ret)
{
	struct wz_metrics *m = wz_mem_zalloc(mem, sizeof *m);
	if (!m)
		return -ENOMEM;
	m->mem = mem;
	wz_strtab_init(&m->labels, mem);
	wz_map_init(&m->by_key, mem);
	wz_buf_init(&m->scratch, mem, 4096);
	*ret = m;
	return 0;
}

void wz_metrics_free(struct wz_metrics *m)
{
	if (!m)
		return;
	wz_strtab_release(&m->labels);
	wz_map_release(&m->by_key);
	wz_buf_release(&m->scratch);
	wz_grow_free(m->mem, &m->series, &m->cap_series, sizeof *m->series);
	wz_grow_free(m->mem, &m->counts, &m->cap_counts, sizeof *m->counts);
	wz_mem_free(m->mem, m, sizeof *m);
}

static bool is_name(const char *z)
{
	if (!z || !*z || (*z >= '0' && *z <= '9'))
		return false;
	for (; *z; z++) {
		bool fine = (*z >= 'a' && *z <= 'z') || (*z >= 'A' && *z <= 'Z') || (*z >= '0' && *z <= '9') ||
		            *z == '_';
		if (!fine)
			return false;
	}
	return true;
}

int wz_metrics_add_table(struct wz_metrics *m, const struct wz_metric *table, uint32_t n)
{
	if (m->n_tables == WZ_METRIC_TABLES_MAX)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		wz_check(is_name(table[i].name) && table[i].n_buckets <= WZ_METRIC_BUCKETS_MAX);
		for (uint32_t t = 0; t < m->n_tables; t++) {
			for (uint32_t k = 0; k < m->sizes[t]; k++)
				wz_check(strcmp(table[i].name, m->tables[t][k].name) != 0);
		}
	}
	m->tables[m->n_tables] = table;
	m->sizes[m->n_tables++] = n;
	return 0;
}

static uint32_t index_of(const struct wz_metrics *m, const struct wz_metric *metric)
{
	uint32_t base = 0;
	for (uint32_t t = 0; t < m->n_tables; t++) {
		if (metric >= m->tables[t] && metric < m->tables[t] + m->sizes[t])
			return base + (uint32_t)(metric - m->tables[t]);
		base += m->sizes[t];
	}
	wz_check(false); /* not of an added table */
	return 0;
}

static void add_escaped(struct wz_buf *b, struct wz_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (c == '\\' || c == '"')
			wz_buf_addc(b, '\\');
		if (c == '\n')
			wz_buf_addz(b, "\\n");
		else
			wz_buf_addc(b, c);
	}
}

static struct series *find(struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels)
{
	struct wz_buf *b = &m->scratch;
	uint32_t text, metric_id = index_of(m, metric);
	wz_buf_clear(b);
	for (uint32_t i = 0; i < WZ_METRIC_LABELS_MAX && metric->labels[i]; i++) {
		if (i)
			wz_buf_addc(b, ',');
		wz_buf_addz(b, metric->labels[i]);
		wz_buf_addz(b, "=\"");
		add_escaped(b, labels[i]);
		wz_buf_addc(b, '"');
	}
	if (b->status < 0)
		return NULL;
	text = wz_strtab_find(&m->labels, wz_buf_str(b));
	if (text != WZ_NONE) {
		uint32_t i = wz_map_get(&m->by_key, (uint64_t)metric_id << 32 | text);
		if (i != WZ_NONE)
			return &m->series[i];
	}
	if (m->n_series == WZ_METRIC_SERIES_MAX || wz_strtab_add(&m->labels, wz_buf_str(b), &text) < 0 ||
	        wz_grow(m->mem, &m->series, &m->cap_series, m->n_series + 1, sizeof *m->series) < 0 ||
	        wz_grow(m->mem, &m->counts, &m->cap_counts, m->n_counts + metric->n_buckets, sizeof *m->counts) <
	                0 ||
	        wz_map_put(&m->by_key, (uint64_t)metric_id << 32 | text, m->n_series) < 0)
		return NULL;
	struct series *s = &m->series[m->n_series++];
	*s = (struct series){.metric = metric_id, .text = text, .bucket = m->n_counts};
	m->n_counts += metric->n_buckets;
	return s;
}

void wz_metric_add(struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double by)
{
	struct series *s = find(m, metric, labels);
	if (!s) {
		m->dropped++;
		return;
	}
	s->live = true;
	s->value += by;
}

void wz_metric_set(struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double value)
{
	struct series *s = find(m, metric, labels);
	if (!s) {
		m->dropped++;
		return;
	}
	s->live = true;
	s->value = value;
}

void wz_metric_observe(
        struct wz_metrics *m, const struct wz_metric *metric, const struct wz_str *labels, double value)
{
	struct series *s = find(m, metric, labels);
	if (!s) {
		m->dropped++;
		return;
	}
	s->live = true;
	s->value += value;
	s->count++;
	for (uint32_t i = 0; i < metric->n_buckets; i++) {
		if (value <= metric->buckets[i]) {
			m->counts[s->bucket + i]++; /* made cumulative when written */
			break;
		}
	}
}

void wz_metric_clear(struct wz_metrics *m, const struct wz_metric *metric)
{
	uint32_t id = index_of(m, metric);
	for (uint32_t i = 0; i < m->n_series; i++) {
		if (m->series[i].metric == id)
			m->series[i].live = false;
	}
}

/* ---- writing ---- */

static void add_double(struct wz_buf *b, double v)
{
	char text[32];
	if (isnan(v))
		wz_buf_addz(b, "NaN");
	else if (isinf(v))
		wz_buf_addz(b, v > 0 ? "+Inf" : "-Inf");
	else if (v == (double)(int64_t)v && v < 1e15 && v > -1e15)
		wz_buf_add_i64(b, (int64_t)v);
	else {
		snprintf(text, sizeof text, "%.9g", v);
		for (char *p = text; *p; p++) { /* the point, whatever the locale */
			if (*p == ',')
				*p = '.';
		}
		wz_buf_addz(b, text);
	}
}

static void add_line(struct wz_buf *b, const char *name, const char *suffix, struct wz_str labels, const char *le)
{
	wz_buf_addz(b, name);
	wz_buf_addz(b, suffix);
	if (labels.len || le) {
		wz_buf_addc(b, '{');
		wz_buf_add(b, labels);
		if (le) {
			wz_buf_addz(b, labels.len ? ",le=\"" : "le=\"");
			wz_buf_addz(b, le);
			wz_buf_addc(b, '"');
		}
		wz_buf_addc(b, '}');
	}
	wz_buf_addc(b, ' ');
}

static void write_histogram(const struct wz_metrics *m, const struct wz_metric *d, const struct series *s,
        struct wz_str labels, struct wz_buf *b)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < d->n_buckets; i++) {
		char le[32];
		struct wz_buf bound;
		wz_buf_init_fixed(&bound, le, sizeof le);
		add_double(&bound, d->buckets[i]);
		sum += m->counts[s->bucket + i];
		add_line(b, d->name, "_bucket", labels, wz_buf_z(&bound));
		wz_buf_add_u64(b, sum);
		wz_buf_addc(b, '\n');
	}
	add_line(b, d->name, "_bucket", labels, "+Inf");
	wz_buf_add_u64(b, s->count);
	wz_buf_addc(b, '\n');
	add_line(b, d->name, "_sum", labels, NULL);
	add_double(b, s->value);
	wz_buf_addc(b, '\n');
	add_line(b, d->name, "_count", labels, NULL);
	wz_buf_add_u64(b, s->count);
	wz_buf_addc(b, '\n');
}

static void write_head(const struct wz_metric *d, struct wz_buf *b)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	wz_buf_addz(b, "# HELP ");
	wz_buf_addz(b, d->name);
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, d->help);
	wz_buf_addz(b, "\n# TYPE ");
	wz_buf_addz(b, d->name);
	wz_buf_addc(b, ' ');
	wz_buf_addz(b, kinds[d->kind]);
	wz_buf_addc(b, '\n');
}

static void write_series(
        const struct wz_metrics *m, const struct wz_metric *d, const struct series *s, struct wz_buf *b)
{
	struct wz_str labels = wz_strtab_get(&m->labels, s->text);
	if (!s->live)
		return;
	if (d->kind == WZ_METRIC_HISTOGRAM) {
		write_histogram(m, d, s, labels, b);
		return;
	}
	add_line(b, d->name, "", labels, NULL);
	add_double(b, s->value);
	wz_buf_addc(b, '\n');
}

/* The series of one metric are scattered in the array; two passes over it per scrape would be quadratic in the number of
 * metrics, so they are chained first. */
void wz_metrics_write(const struct wz_metrics *m, struct wz_buf *b)
{
	static const char dropped[] = "# HELP wz_metrics_dropped_total Values dropped for want of room.\n"
	                              "# TYPE wz_metrics_dropped_total counter\nwz_metrics_dropped_total ";
	uint32_t total = 0, id = 0;
	for (uint32_t t = 0; t < m->n_tables; t++)
		total += m->sizes[t];
	uint32_t *head = wz_mem_alloc(m->mem, (total + 1) * sizeof *head);
	uint32_t *next = wz_mem_alloc(m->mem, (m->n_series + 1) * sizeof *next);
	if (head && next) {
		memset(head, 0xff, (total + 1) * sizeof *head);
		for (uint32_t i = m->n_series; i-- > 0;) {
			next[i] = head[m->series[i].metric];
			head[m->series[i].metric] = i;
		}
		for (uint32_t t = 0; t < m->n_tables; t++) {
			for (uint32_t k = 0; k < m->sizes[t]; k++, id++) {
				write_head(&m->tables[t][k], b);
				for (uint32_t i = head[id]; i != WZ_NONE; i = next[i])
					write_series(m, &m->tables[t][k], &m->series[i], b);
			}
		}
	} else {
		b->status = -ENOMEM;
	}
	wz_mem_free(m->mem, head, (total + 1) * sizeof *head);
	wz_mem_free(m->mem, next, (m->n_series + 1) * sizeof *next);
	wz_buf_addz(b, dropped);
	wz_buf_add_u64(b, m->dropped);
	wz_buf_addc(b, '\n');
}
