/* SPDX-License-Identifier: Apache-2.0 */
/* WhaleZEN's own trace format, spec/trace.md: one record a line, made for diff, grep and people.
 *
 *	whalezen-trace 1
 *	model G2 mem=40Gi
 *	node n0 cpus=96 mem=384Gi rack=r1 device=8*G2,domain=1
 *	job train submit=10s run=2h user=ann : gpus=8 link=nvlink
 *
 * A text is read twice, for nodes and then for jobs, since a job's models are checked against the nodes. Attributes are
 * one table per record kind. Values are looked at raw (the separators are ASCII) and decoded (%HH) part by part. What is
 * written is canonical: attributes in table order, defaults left out; so writing what was read gives the same bytes. */
#include "base/check.h"
#include "base/csv.h"
#include "base/near.h"
#include "base/quant.h"
#include "sim/formats.h"

#define LINE_MAX_BYTES 65536u
#define MAGIC "whalezen-trace "

struct reader {
	const struct wz_trace_source *src;
	const char *p, *end; /* what is left of the text */
	const char *line, *line_end, *w; /* the line, and what is left of it */
	uint32_t line_no, records, version;
	struct wz_arena scratch; /* decoded values of one line */
	struct wz_sim_nodes *nodes;
	struct wz_sim_tasks *tasks; /* NULL in the pass over nodes */
	struct wz_err *err;
};

/* One record being put together. */
struct record {
	struct wz_str name;
	struct wz_model model;
	struct wz_ev_node node;
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX];
	struct wz_label label[WZ_NODE_LABELS_MAX];
	struct wz_sim_task task;
	uint32_t seen; /* bits of attributes already given */
};

struct attr {
	const char *name;
	bool repeats;
	/* Parses the raw value. On failure *err is set and *at may be moved to the place inside the value. */
	int (*set)(struct reader *r, struct record *rec, struct wz_str value, const char **at);
};

/* ---- errors and words ---- */

static int at(struct reader *r, int rc, const char *p)
{
	wz_csv_err_at(r->err, r->src->name, r->line_no, (uint32_t)(p - r->line) + 1);
	return rc;
}

static int bad_value(
        struct reader *r, const char *reason, const char *what, struct wz_str got, const char *expected)
{
	if (got.len > 48)
		got.len = 48;
	return wz_err_set(r->err, -EBADMSG, reason, wz_str(what), WZ_STR(" \""), got, WZ_STR("\"; expected "),
	        wz_str(expected));
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

static int decode(struct reader *r, struct wz_str raw, struct wz_str *ret, const char **pos)
{
	size_t n = 0;
	char *to;
	if (!raw.len || !memchr(raw.ptr, '%', raw.len)) {
		*ret = raw;
		return 0;
	}
	to = wz_arena_alloc(&r->scratch, raw.len);
	if (!to)
		return wz_err_set(r->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	for (size_t i = 0; i < raw.len; i++) {
		int high = -1, low = -1;
		if (raw.ptr[i] != '%') {
			to[n++] = raw.ptr[i];
			continue;
		}
		if (i + 2 < raw.len) {
			high = hex(raw.ptr[i + 1]);
			low = hex(raw.ptr[i + 2]);
		}
		if (high < 0 || low < 0) {
			*pos = raw.ptr + i;
			return wz_err_set(r->err, -EBADMSG, "BadEscape",
			        WZ_STR("\"%\" is not followed by two hexadecimal digits; write \"%25\" for "
			               "itself"));
		}
		to[n++] = (char)(high << 4 | low);
		i += 2;
	}
	*ret = (struct wz_str){to, n};
	return 0;
}

/* Ends in blanks, tabs and (of CRLF) a carriage return. Empty at the end of the line. */
static struct wz_str next_word(struct reader *r)
{
	while (r->w < r->line_end && (*r->w == ' ' || *r->w == '\t'))
		r->w++;
	const char *start = r->w;
	while (r->w < r->line_end && *r->w != ' ' && *r->w != '\t')
		r->w++;
	return (struct wz_str){start, (size_t)(r->w - start)};
}

/* 1 and a line without its end, 0 at the end of the text. */
static int next_line(struct reader *r)
{
	if (r->p == r->end)
		return 0;
	const char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));
	r->line = r->w = r->p;
	r->line_end = nl ? nl : r->end;
	r->p = nl ? nl + 1 : r->end;
	r->line_no++;
	if (r->line_end > r->line && r->line_end[-1] == '\r')
		r->line_end--;
	if ((size_t)(r->line_end - r->line) > LINE_MAX_BYTES)
		return at(r,
		        wz_err_set(r->err, -E2BIG, "LineTooLong", WZ_STR("the line is longer than 65536 bytes")),
		        r->line);
	for (const char *p = r->line; p < r->line_end; p++)
		if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
			return at(r,
			        wz_err_set(r->err, -EBADMSG, "ControlByte",
			                WZ_STR("a control byte; expected text, with %HH for such bytes in names")),
			        p);
	return 1;
}

/* ---- values ---- */

static int get_number(struct reader *r, struct wz_str s, const char *what, uint64_t max, uint64_t *ret)
{
	struct wz_num n;
	char expected[64];
	struct wz_buf b;
	uint64_t v;
	if (wz_str_parse_u64(s, &v) == 0 && v <= max) {
		*ret = v;
		return 0;
	}
	wz_buf_init_fixed(&b, expected, sizeof expected);
	wz_buf_addz(&b, "a whole number 0..");
	wz_buf_add(&b, wz_str_u64(&n, max));
	return bad_value(r, "BadNumber", what, s, wz_buf_z(&b));
}

static int get_time(struct reader *r, struct wz_str s, int64_t *ret)
{
	uint64_t us;
	int rc = wz_duration_parse(s, &us, r->err);
	if (rc < 0)
		return rc;
	if (us > (uint64_t)WZ_SIM_TIME_MAX_US)
		return bad_value(r, "OutOfRange", "the time", s, "less than 100 years");
	*ret = (int64_t)us;
	return 0;
}

static int get_bytes(struct reader *r, struct wz_str s, int64_t *ret)
{
	uint64_t v;
	int rc = wz_bytes_parse(s, &v, r->err);
	if (rc < 0)
		return rc;
	if (v > (uint64_t)WZ_BYTES_MAX)
		return bad_value(r, "OutOfRange", "the size", s, "at most 64Pi");
	*ret = (int64_t)v;
	return 0;
}

static int get_milli(struct reader *r, struct wz_str s, uint64_t max, uint64_t *ret)
{
	uint64_t v;
	int rc = wz_milli_parse(s, &v, r->err);
	if (rc < 0)
		return rc;
	if (v > max)
		return bad_value(r, "OutOfRange", "the number", s, "less");
	*ret = v;
	return 0;
}

/* ---- model NAME vendor= mem= ... : the numbers by a table ---- */

enum fact_kind { FACT_BYTES, FACT_U32, FACT_MILLI, FACT_U16, FACT_FLAG };
static const struct fact {
	const char *name;
	enum fact_kind kind;
	size_t offset;
} facts[] = {
        {"mem", FACT_BYTES, offsetof(struct wz_model, mem_bytes)},
        {"class", FACT_U32, offsetof(struct wz_model, class_g)},
        {"bw", FACT_U32, offsetof(struct wz_model, bw_gbps)},
        {"tflops", FACT_MILLI, offsetof(struct wz_model, tflops_milli)},
        {"fp32", FACT_MILLI, offsetof(struct wz_model, fp32_milli)},
        {"fp8", FACT_MILLI, offsetof(struct wz_model, fp8_milli)},
        {"link", FACT_U32, offsetof(struct wz_model, link_gbps)},
        {"tdp", FACT_U32, offsetof(struct wz_model, tdp_w)},
        {"idle", FACT_U32, offsetof(struct wz_model, idle_w)},
        {"cu", FACT_MILLI, offsetof(struct wz_model, cu_milli)},
        {"year", FACT_U16, offsetof(struct wz_model, year)},
        {"mig", FACT_FLAG, offsetof(struct wz_model, mig)},
};

static int set_fact(struct reader *r, struct record *rec, const struct fact *f, struct wz_str v)
{
	char *to = (char *)&rec->model + f->offset;
	uint64_t n = 0;
	int64_t bytes = 0;
	int rc;
	switch (f->kind) {
	case FACT_BYTES:
		rc = get_bytes(r, v, &bytes);
		n = (uint64_t)bytes;
		break;
	case FACT_MILLI:
		rc = get_milli(r, v, UINT32_MAX, &n);
		break;
	default:
		rc = get_number(r, v, f->name,
		        f->kind == FACT_U32   ? UINT32_MAX
		        : f->kind == FACT_U16 ? UINT16_MAX
		                              : 1,
		        &n);
		break;
	}
	if (rc < 0)
		return rc;
	if (f->kind == FACT_BYTES)
		memcpy(to, &n, sizeof n);
	else if (f->kind == FACT_U16)
		memcpy(to, &(uint16_t){(uint16_t)n}, sizeof(uint16_t));
	else if (f->kind == FACT_FLAG)
		*to = (char)n;
	else
		memcpy(to, &(uint32_t){(uint32_t)n}, sizeof(uint32_t));
	return 0;
}

static uint64_t get_fact(const struct wz_model *m, const struct fact *f)
{
	const char *from = (const char *)m + f->offset;
	uint64_t u64 = 0;
	uint32_t u32 = 0;
	uint16_t u16 = 0;
	switch (f->kind) {
	case FACT_BYTES:
		memcpy(&u64, from, sizeof u64);
		return u64;
	case FACT_U16:
		memcpy(&u16, from, sizeof u16);
		return u16;
	case FACT_FLAG:
		return (uint64_t)(unsigned char)*from;
	default:
		memcpy(&u32, from, sizeof u32);
		return u32;
	}
}

static int set_vendor(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	struct wz_str s;
	char *z;
	int rc = decode(r, v, &s, pos);
	if (rc < 0)
		return rc;
	z = wz_arena_alloc(&r->scratch, s.len + 1); /* zeroed */
	if (!z)
		return wz_err_set(r->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	memcpy(z, s.ptr, s.len);
	rec->model.vendor = z;
	return 0;
}

/* ---- node NAME cpus= mem= ... ---- */

static int set_cpus(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	uint64_t n = 0;
	(void)pos;
	int rc = get_milli(r, v, (uint64_t)WZ_CPU_MILLI_MAX, &n);
	rec->node.cpu_milli = (int64_t)n;
	return rc;
}

static int set_mem(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	(void)pos;
	return get_bytes(r, v, &rec->node.mem_bytes);
}

static int set_site(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	return decode(r, v, &rec->node.site, pos);
}

static int set_rack(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	return decode(r, v, &rec->node.rack, pos);
}

static int set_max_tasks(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	uint64_t n = 0;
	(void)pos;
	int rc = get_number(r, v, "max-tasks", INT32_MAX, &n);
	rec->node.max_tasks = (uint32_t)n;
	return rc;
}

static int set_count_only(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	uint64_t n = 0;
	(void)pos;
	int rc = get_number(r, v, "count-only", 1, &n);
	rec->node.count_only = n == 1;
	return rc;
}

static int set_label(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	struct wz_str key = wz_str_split(&v, ':');
	if (!v.ptr)
		return bad_value(r, "BadLabel", "the label", key, "KEY:VALUE");
	if (rec->node.n_labels == WZ_NODE_LABELS_MAX)
		return wz_err_set(r->err, -E2BIG, "TooMany", WZ_STR("more than 256 labels on a node"));
	struct wz_label *l = &rec->label[rec->node.n_labels];
	int rc = decode(r, key, &l->key, pos);
	if (rc == 0)
		rc = decode(r, v, &l->value, pos);
	if (rc == 0)
		rec->node.n_labels++;
	return rc;
}

static const char *const health_words[] = {
        [WZ_HEALTH_OK] = "ok", [WZ_HEALTH_DEGRADED] = "degraded", [WZ_HEALTH_FAILED] = "failed"};

/* One "key=value" of a device. */
static int set_device_part(struct reader *r, struct wz_device_facts *d, struct wz_str part)
{
	static const char expected[] = "mem=, compute=, domain=, numa=, pcie=, partition=, card= or health=";
	struct wz_str v = part, key = wz_str_split(&v, '=');
	uint64_t n = 0;
	int rc = 0;
	if (!v.ptr)
		return bad_value(r, "BadDevice", "the device attribute", part, expected);
	if (wz_str_eq(key, WZ_STR("mem")))
		return get_bytes(r, v, &d->mem_bytes);
	if (wz_str_eq(key, WZ_STR("compute"))) {
		rc = get_milli(r, v, WZ_WHOLE, &n);
		if (rc == 0 && n == 0)
			rc = bad_value(r, "OutOfRange", "compute", v, "more than 0 and at most 1");
		d->compute_milli = (int32_t)n;
	} else if (wz_str_eq(key, WZ_STR("domain"))) {
		rc = get_number(r, v, "domain", UINT16_MAX, &n);
		d->link_domain = (uint16_t)n;
	} else if (wz_str_eq(key, WZ_STR("numa"))) {
		rc = get_number(r, v, "numa", UINT8_MAX, &n);
		d->numa = (uint8_t)n;
	} else if (wz_str_eq(key, WZ_STR("pcie"))) {
		rc = get_number(r, v, "pcie", UINT8_MAX, &n);
		d->pcie = (uint8_t)n;
	} else if (wz_str_eq(key, WZ_STR("partition"))) {
		rc = get_number(r, v, "partition", UINT16_MAX, &n);
		d->partition = (uint16_t)n;
	} else if (wz_str_eq(key, WZ_STR("card"))) {
		rc = get_number(r, v, "card", UINT8_MAX, &n);
		d->card = (uint8_t)n;
	} else if (wz_str_eq(key, WZ_STR("health"))) {
		for (n = 0; n < WZ_ARRAY_LEN(health_words) && !wz_str_eq(v, wz_str(health_words[n])); n++)
			;
		if (n == WZ_ARRAY_LEN(health_words))
			return bad_value(r, "BadDevice", "health", v, "ok, degraded or failed");
		d->health = (uint8_t)n;
	} else {
		return bad_value(r, "BadDevice", "the device attribute", key, expected);
	}
	return rc;
}

/* A model must be known: to the catalogue, or by a `model` line before. A misspelt one would be a card of no size. */
static int device_model(struct reader *r, struct wz_str name, wz_model_id *ret)
{
	const struct wz_sim_model *m = wz_sim_nodes_find_model(r->nodes, name);
	if (m) {
		*ret = m->id;
		return 0;
	}
	int rc = wz_catalogue_find(r->nodes->catalogue, name, ret, r->err);
	return rc < 0 ? rc : wz_sim_nodes_model(r->nodes, name, NULL, ret, r->err);
}

/* [N*]MODEL[,key=value...] */
static int set_device(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	struct wz_device_facts d = {.compute_milli = WZ_WHOLE};
	struct wz_str model = wz_str_split(&v, ','), name;
	uint64_t count = 1;
	int rc = 0;
	if (model.len && memchr(model.ptr, '*', model.len)) {
		struct wz_str times = wz_str_split(&model, '*');
		rc = get_number(r, times, "the number of devices", WZ_NODE_DEVICES_MAX, &count);
	}
	if (rc == 0)
		*pos = model.ptr;
	if (rc == 0)
		rc = decode(r, model, &name, pos);
	if (rc == 0)
		rc = device_model(r, name, &d.model);
	while (rc == 0 && v.ptr) {
		struct wz_str part = wz_str_split(&v, ',');
		*pos = part.ptr;
		rc = set_device_part(r, &d, part);
	}
	if (rc < 0)
		return rc;
	if (rec->node.n_devices + count > WZ_NODE_DEVICES_MAX)
		return wz_err_set(r->err, -E2BIG, "TooMany", WZ_STR("more than 64 devices in a node"));
	for (uint64_t i = 0; i < count; i++)
		rec->device[rec->node.n_devices++] = d;
	return 0;
}

/* ---- job NAME submit= ... : PROFILE ---- */

static int set_submit(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	(void)pos;
	return get_time(r, v, &rec->task.submit_us);
}

static int set_start(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	(void)pos;
	return get_time(r, v, &rec->task.start_us);
}

static int set_end(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	(void)pos;
	return get_time(r, v, &rec->task.end_us);
}

static int set_run(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	(void)pos;
	return get_time(r, v, &rec->task.run_us);
}

static int set_user(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	return decode(r, v, &rec->task.user, pos);
}

static int set_queue(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	return decode(r, v, &rec->task.queue, pos);
}

static int set_priority(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	int64_t n;
	(void)pos;
	if (wz_str_parse_i64(v, &n) < 0 || n < INT32_MIN || n > INT32_MAX)
		return bad_value(r, "BadNumber", "priority", v, "a whole number -2147483648..2147483647");
	rec->task.priority = (int32_t)n;
	return 0;
}

static int set_models(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	int rc = decode(r, v, &rec->task.gpu_spec, pos);
	return rc < 0 ? rc : wz_sim_nodes_spec(r->nodes, rec->task.gpu_spec, &rec->task.allowed, r->err);
}

/* ---- version 2 ---- */

static int newer(struct reader *r, const char *name)
{
	if (r->version >= 2)
		return 0;
	return wz_err_set(r->err, -EBADMSG, "UnknownAttribute", WZ_STR("\""), wz_str(name),
	        WZ_STR("\" is of version 2; the first line says version 1"));
}

static int set_template(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	int rc = newer(r, "template");
	return rc < 0 ? rc : decode(r, v, &rec->task.template_, pos);
}

static int set_restart(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	int rc = newer(r, "restart");
	(void)pos;
	return rc < 0 ? rc : get_time(r, v, &rec->task.restart_us);
}

static int set_pinned(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	uint64_t n;
	int rc = newer(r, "pinned");
	(void)pos;
	if (rc == 0)
		rc = get_number(r, v, "pinned", 1, &n);
	if (rc == 0)
		rec->task.pinned = n;
	return rc;
}

static int set_load(struct reader *r, struct record *rec, struct wz_str v, const char **pos)
{
	int rc = newer(r, "load");
	(void)pos;
	if (rc == 0 && wz_sim_load_check(v, r->err) < 0)
		rc = -EBADMSG;
	rec->task.load = v;
	return rc;
}

static const struct attr model_attrs[] = {{"vendor", false, set_vendor}, {NULL, false, NULL}};
static const struct attr node_attrs[] = {
        {"cpus", false, set_cpus},
        {"mem", false, set_mem},
        {"site", false, set_site},
        {"rack", false, set_rack},
        {"max-tasks", false, set_max_tasks},
        {"count-only", false, set_count_only},
        {"device", true, set_device},
        {"label", true, set_label},
        {NULL, false, NULL},
};
static const struct attr job_attrs[] = {
        {"submit", false, set_submit},
        {"start", false, set_start},
        {"end", false, set_end},
        {"run", false, set_run},
        {"user", false, set_user},
        {"queue", false, set_queue},
        {"priority", false, set_priority},
        {"models", false, set_models},
        {"template", false, set_template},
        {"restart", false, set_restart},
        {"pinned", false, set_pinned},
        {"load", false, set_load},
        {NULL, false, NULL},
};

/* ---- records ---- */

static int unknown_attr(struct reader *r, struct wz_str key, const struct attr *attrs, bool is_model)
{
	struct wz_near near;
	struct wz_buf b;
	char names[200];
	wz_near_init(&near, key);
	wz_buf_init_fixed(&b, names, sizeof names);
	for (unsigned i = 0; attrs[i].name; i++) {
		wz_near_offer(&near, wz_str(attrs[i].name));
		wz_buf_addz(&b, i ? ", " : "");
		wz_buf_addz(&b, attrs[i].name);
	}
	for (unsigned i = 0; is_model && i < WZ_ARRAY_LEN(facts); i++) {
		wz_near_offer(&near, wz_str(facts[i].name));
		wz_buf_addz(&b, ", ");
		wz_buf_addz(&b, facts[i].name);
	}
	if (key.len > 48)
		key.len = 48;
	return wz_err_set(r->err, -EBADMSG, "UnknownAttribute", WZ_STR("unknown attribute \""), key, WZ_STR("\"; "),
	        near.best.len ? WZ_STR("nearest: ") : WZ_STR("expected one of "),
	        near.best.len ? near.best : wz_buf_str(&b));
}

static int set_attr(struct reader *r, struct record *rec, struct wz_str word, const struct attr *attrs)
{
	bool is_model = attrs == model_attrs;
	struct wz_str value = word, key = wz_str_split(&value, '=');
	const char *pos;
	uint32_t bit = 0;
	int rc;
	if (!value.ptr)
		return at(r, bad_value(r, "BadAttribute", "the word", word, "KEY=VALUE"), word.ptr);
	pos = value.ptr;
	while (attrs[bit].name && !wz_str_eq(key, wz_str(attrs[bit].name)))
		bit++;
	const struct fact *f = NULL;
	for (unsigned i = 0; is_model && i < WZ_ARRAY_LEN(facts); i++)
		if (wz_str_eq(key, wz_str(facts[i].name)))
			f = &facts[i];
	if (!attrs[bit].name && !f)
		return at(r, unknown_attr(r, key, attrs, is_model), word.ptr);
	uint32_t mask = f ? 1u << (8 + (f - facts)) : 1u << bit;
	if ((rec->seen & mask) && (f || !attrs[bit].repeats))
		return at(r, bad_value(r, "DuplicateAttribute", "a second attribute", key, "each at most once"),
		        word.ptr);
	rec->seen |= mask;
	if (value.len == 0)
		return at(r, bad_value(r, "BadAttribute", "no value for", key, "KEY=VALUE"), word.ptr);
	rc = f ? set_fact(r, rec, f, value) : attrs[bit].set(r, rec, value, &pos);
	return rc < 0 ? at(r, rc, pos) : 0;
}

static int record_name(struct reader *r, struct record *rec)
{
	struct wz_str raw = next_word(r);
	const char *pos = raw.ptr;
	if (raw.len == 0 || wz_str_eq(raw, WZ_STR(":")))
		return at(r,
		        wz_err_set(r->err, -EBADMSG, "BadName",
		                WZ_STR("the name is missing; expected KIND NAME KEY=VALUE...")),
		        raw.ptr);
	int rc = decode(r, raw, &rec->name, &pos);
	return rc < 0 ? at(r, rc, pos) : 0;
}

/* Attributes up to the end of the line, or to the ":" before a profile. */
static int record_attrs(struct reader *r, struct record *rec, const struct attr *attrs)
{
	for (;;) {
		struct wz_str word = next_word(r);
		if (word.len == 0 || (attrs == job_attrs && wz_str_eq(word, WZ_STR(":"))))
			return 0;
		int rc = set_attr(r, rec, word, attrs);
		if (rc < 0)
			return rc;
	}
}

static int read_model(struct reader *r, struct record *rec, const char *name_at)
{
	wz_model_id id;
	int rc = record_attrs(r, rec, model_attrs);
	if (rc < 0)
		return rc;
	if (wz_sim_nodes_find_model(r->nodes, rec->name))
		return at(r,
		        wz_err_set(r->err, -EEXIST, "DuplicateName", WZ_STR("the model \""), rec->name,
		                WZ_STR("\" is declared twice, or after a node that has it")),
		        name_at);
	rc = wz_sim_nodes_model(r->nodes, rec->name, rec->seen ? &rec->model : NULL, &id, r->err);
	return rc < 0 ? at(r, rc, name_at) : 0;
}

static int read_node(struct reader *r, struct record *rec, const char *name_at)
{
	int rc = record_attrs(r, rec, node_attrs);
	if (rc < 0)
		return rc;
	rec->node.name = rec->name;
	rec->node.device = rec->device;
	rec->node.label = rec->label;
	rc = wz_sim_nodes_add(r->nodes, &rec->node, r->err);
	return rc < 0 ? at(r, rc, name_at) : 0;
}

/* A profile error shows its text and a caret below; its column becomes the file's. The message keeps its lines, so the
 * place is put before it by hand. */
static int at_profile(struct reader *r, int rc, const char *profile)
{
	char text[WZ_ERR_TEXT_MAX];
	struct wz_err *err = r->err;
	uint32_t column = (uint32_t)(profile - r->line) + 1;
	struct wz_num a, b;
	struct wz_buf buf;
	if (!err)
		return rc;
	const char *lines = strchr(err->text, '\n'), *caret = lines ? strrchr(err->text, '\n') : NULL;
	if (caret && caret != lines) {
		size_t mark = strspn(caret + 1, " "), indent = strspn(lines + 1, " ");
		if (caret[1 + mark] == '^' && mark >= indent)
			column += (uint32_t)(mark - indent);
	}
	wz_buf_init_fixed(&buf, text, sizeof text - 1);
	wz_buf_add(&buf, r->src->name);
	wz_buf_addc(&buf, ':');
	wz_buf_add(&buf, wz_str_u64(&a, r->line_no));
	wz_buf_addc(&buf, ':');
	wz_buf_add(&buf, wz_str_u64(&b, column));
	wz_buf_addz(&buf, ": ");
	struct wz_str rest = wz_str(err->text);
	if (buf.len + rest.len > sizeof text - 1)
		rest.len = buf.len < sizeof text - 1 ? sizeof text - 1 - buf.len : 0;
	wz_buf_add(&buf, rest);
	memcpy(err->text, text, buf.len);
	err->text[buf.len] = 0;
	return rc;
}

static int read_profile(struct reader *r, struct record *rec)
{
	struct wz_str text = wz_str_trim((struct wz_str){r->w, (size_t)(r->line_end - r->w)});
	struct wz_profile p;
	struct wz_buf key;
	int rc = 0;
	if (text.len > WZ_PROFILE_TEXT_MAX)
		return at(r,
		        wz_err_set(r->err, -E2BIG, "BadProfile", WZ_STR("the profile is longer than 4096 bytes")),
		        text.ptr);
	wz_buf_init(&key, r->tasks->mem, LINE_MAX_BYTES * 2 + 16);
	wz_buf_add(&key, text);
	wz_buf_addc(&key, '\n');
	wz_buf_add(&key, rec->task.gpu_spec);
	if (key.status < 0)
		rc = wz_err_set(r->err, key.status, "OutOfMemory", WZ_STR("out of memory"));
	rec->task.profile = rc < 0 ? WZ_NONE : wz_sim_tasks_find_profile(r->tasks, wz_buf_str(&key));
	if (rc == 0 && rec->task.profile == WZ_NONE) {
		wz_profile_init(&p);
		if (text.len)
			rc = wz_profile_parse(text, r->nodes->catalogue, &p, r->err);
		if (rc < 0) {
			rc = at_profile(r, rc, text.ptr);
		} else if (rec->task.gpu_spec.len && !p.any_model) {
			rc = at(r,
			        wz_err_set(r->err, -EBADMSG, "Conflict",
			                WZ_STR("both models= and gpu-type=; expected one of them")),
			        text.ptr);
		} else {
			if (rec->task.gpu_spec.len) {
				p.any_model = false;
				p.allowed = rec->task.allowed;
			}
			rc = wz_sim_tasks_add_profile(r->tasks, wz_buf_str(&key), &p, &rec->task.profile, r->err);
		}
	}
	wz_buf_release(&key);
	return rc;
}

static int read_job(struct reader *r, struct record *rec, const char *name_at)
{
	rec->task.submit_us = rec->task.start_us = rec->task.end_us = rec->task.run_us = -1;
	int rc = record_attrs(r, rec, job_attrs);
	if (rc == 0)
		rc = read_profile(r, rec);
	if (rc < 0)
		return rc;
	if (rec->task.start_us >= 0 && rec->task.end_us >= 0 && rec->task.end_us < rec->task.start_us)
		return at(r, wz_err_set(r->err, -EBADMSG, "BadTime", WZ_STR("end is before start")), name_at);
	rec->task.name = rec->name;
	rec->task.any_model = false;
	rc = wz_sim_tasks_add(r->tasks, &rec->task, r->err);
	return rc < 0 ? at(r, rc, name_at) : 0;
}

static const struct kind {
	const char *name;
	unsigned holds;
	int (*read)(struct reader *r, struct record *rec, const char *name_at);
} kinds[] = {
        {"model", WZ_TRACE_NODES, read_model},
        {"node", WZ_TRACE_NODES, read_node},
        {"job", WZ_TRACE_TASKS, read_job},
};

static int read_line(struct reader *r, unsigned pass)
{
	struct wz_str word = next_word(r);
	const struct kind *k = NULL;
	if (word.len == 0 || word.ptr[0] == '#')
		return 0;
	for (unsigned i = 0; i < WZ_ARRAY_LEN(kinds); i++)
		if (wz_str_eq(word, wz_str(kinds[i].name)))
			k = &kinds[i];
	if (!k)
		return at(r, bad_value(r, "UnknownRecord", "unknown record kind", word, "model, node, job or #"),
		        word.ptr);
	r->records++;
	if (k->holds != pass)
		return 0;
	wz_arena_clear(&r->scratch);
	struct record *rec = wz_arena_alloc(&r->scratch, sizeof *rec); /* zeroed */
	if (!rec)
		return at(r, wz_err_set(r->err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory")), word.ptr);
	const char *name_at = r->w;
	while (name_at < r->line_end && (*name_at == ' ' || *name_at == '\t'))
		name_at++;
	int rc = record_name(r, rec);
	return rc < 0 ? rc : k->read(r, rec, name_at);
}

static int read_header(struct reader *r)
{
	static const char expected[] = "\"whalezen-trace 1\"";
	int rc = next_line(r);
	if (rc == 0) {
		r->line = r->p;
		r->line_no = 1;
		return at(r,
		        wz_err_set(r->err, -EBADMSG, "EmptyTrace", WZ_STR("the file is empty; expected "),
		                wz_str(expected)),
		        r->p);
	}
	if (rc < 0)
		return rc;
	struct wz_str magic = next_word(r), version = next_word(r);
	if (!wz_str_eq(magic, WZ_STR("whalezen-trace")))
		return at(r, bad_value(r, "BadHeader", "the first line begins with", magic, expected), magic.ptr);
	r->version = wz_str_eq(version, WZ_STR("2")) ? 2 : 1;
	if (!wz_str_eq(version, WZ_STR("1")) && r->version != 2)
		return at(r, bad_value(r, "BadVersion", "this program does not read version", version, expected),
		        version.ptr);
	struct wz_str more = next_word(r);
	if (more.len)
		return at(r, bad_value(r, "BadHeader", "after the version comes", more, "the end of the line"),
		        more.ptr);
	return 0;
}

static int read_all(struct reader *r, unsigned pass)
{
	int rc;
	wz_arena_init(&r->scratch, r->nodes->mem, 1u << 16);
	r->p = r->src->text.len ? r->src->text.ptr : "";
	r->end = r->p + r->src->text.len;
	rc = read_header(r);
	while (rc == 0) {
		rc = next_line(r);
		if (rc <= 0)
			break;
		rc = read_line(r, pass);
	}
	if (rc == 0 && r->records == 0) {
		rc = wz_err_set(r->err, -EBADMSG, "EmptyTrace", WZ_STR("no record follows the header"));
		wz_csv_err_at(r->err, r->src->name, r->line_no, 1);
	}
	wz_arena_release(&r->scratch);
	return rc;
}

static unsigned wz_sniff(struct wz_str text)
{
	return wz_str_starts(text, WZ_STR(MAGIC)) ? WZ_TRACE_NODES | WZ_TRACE_TASKS : 0;
}

static int wz_read_nodes(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct reader r = {.src = src, .nodes = nodes, .err = err};
	return read_all(&r, WZ_TRACE_NODES);
}

static int wz_read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct reader r = {.src = src, .nodes = nodes, .tasks = tasks, .err = err};
	return read_all(&r, WZ_TRACE_TASKS);
}

/* ---- writing ---- */

/* Bytes that separate something somewhere are escaped everywhere, but for `keep` (0: none). */
static void add_name(struct wz_buf *b, struct wz_str s, char keep)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c <= 0x20 || c == 0x7f || (c != (unsigned char)keep && memchr("%,=|*:#", c, 7))) {
			wz_buf_addc(b, '%');
			wz_buf_addc(b, digits[c >> 4]);
			wz_buf_addc(b, digits[c & 15]);
		} else {
			wz_buf_addc(b, (char)c);
		}
	}
}

static void add_text(struct wz_buf *b, const char *key, struct wz_str s)
{
	if (s.len == 0)
		return;
	wz_buf_addz(b, key);
	add_name(b, s, 0);
}

static void add_time(struct wz_buf *b, const char *key, int64_t us)
{
	if (us < 0)
		return;
	wz_buf_addz(b, key);
	wz_duration_format(b, (uint64_t)us);
}

static void write_model(struct wz_buf *b, const struct wz_sim_model *m)
{
	wz_buf_addz(b, "model ");
	add_name(b, m->name, 0);
	if (m->has_facts) {
		add_text(b, " vendor=", wz_str(m->facts.vendor));
		for (unsigned i = 0; i < WZ_ARRAY_LEN(facts); i++) {
			uint64_t v = get_fact(&m->facts, &facts[i]);
			if (v == 0)
				continue;
			wz_buf_addc(b, ' ');
			wz_buf_addz(b, facts[i].name);
			wz_buf_addc(b, '=');
			if (facts[i].kind == FACT_BYTES)
				wz_bytes_format(b, v);
			else if (facts[i].kind == FACT_MILLI)
				wz_milli_format(b, v);
			else
				wz_buf_add_u64(b, v);
		}
	}
	wz_buf_addc(b, '\n');
}

static void add_part(struct wz_buf *b, const char *key, uint64_t v)
{
	if (v == 0)
		return;
	wz_buf_addz(b, key);
	wz_buf_add_u64(b, v);
}

static bool same_device(const struct wz_device_facts *a, const struct wz_device_facts *b)
{
	return a->model.v == b->model.v && a->mem_bytes == b->mem_bytes && a->compute_milli == b->compute_milli &&
	       a->link_domain == b->link_domain && a->numa == b->numa && a->pcie == b->pcie &&
	       a->health == b->health && a->partition == b->partition && a->card == b->card;
}

static void write_devices(struct wz_buf *b, const struct wz_sim_nodes *nodes, const struct wz_ev_node *n)
{
	for (uint32_t i = 0, same; i < n->n_devices; i += same) {
		const struct wz_device_facts *d = &n->device[i];
		for (same = 1; i + same < n->n_devices && same_device(d, &n->device[i + same]); same++)
			;
		wz_buf_addz(b, " device=");
		if (same > 1) {
			wz_buf_add_u64(b, same);
			wz_buf_addc(b, '*');
		}
		add_name(b, wz_sim_nodes_model_name(nodes, d->model), 0);
		if (d->mem_bytes) {
			wz_buf_addz(b, ",mem=");
			wz_bytes_format(b, (uint64_t)d->mem_bytes);
		}
		if (d->compute_milli != WZ_WHOLE) {
			wz_buf_addz(b, ",compute=");
			wz_milli_format(b, (uint64_t)d->compute_milli);
		}
		add_part(b, ",domain=", d->link_domain);
		add_part(b, ",numa=", d->numa);
		add_part(b, ",pcie=", d->pcie);
		add_part(b, ",partition=", d->partition);
		add_part(b, ",card=", d->card);
		if (d->health != WZ_HEALTH_OK) {
			wz_buf_addz(b, ",health=");
			wz_buf_addz(b, health_words[d->health]);
		}
	}
}

static void write_node(struct wz_buf *b, const struct wz_sim_nodes *nodes, const struct wz_ev_node *n)
{
	wz_buf_addz(b, "node ");
	add_name(b, n->name, 0);
	if (n->cpu_milli) {
		wz_buf_addz(b, " cpus=");
		wz_milli_format(b, (uint64_t)n->cpu_milli);
	}
	if (n->mem_bytes) {
		wz_buf_addz(b, " mem=");
		wz_bytes_format(b, (uint64_t)n->mem_bytes);
	}
	add_text(b, " site=", n->site);
	add_text(b, " rack=", n->rack);
	add_part(b, " max-tasks=", n->max_tasks);
	add_part(b, " count-only=", n->count_only);
	write_devices(b, nodes, n);
	for (uint32_t i = 0; i < n->n_labels; i++) {
		wz_buf_addz(b, " label=");
		add_name(b, n->label[i].key, 0);
		wz_buf_addc(b, ':');
		add_name(b, n->label[i].value, 0);
	}
	wz_buf_addc(b, '\n');
}

static void write_job(struct wz_buf *b, const struct wz_sim_tasks *tasks, const struct wz_sim_task *t)
{
	wz_buf_addz(b, "job ");
	add_name(b, t->name, 0);
	add_time(b, " submit=", t->submit_us);
	add_time(b, " start=", t->start_us);
	add_time(b, " end=", t->end_us);
	if (t->start_us < 0 || t->end_us < t->start_us || t->run_us != t->end_us - t->start_us)
		add_time(b, " run=", t->run_us);
	add_text(b, " user=", t->user);
	add_text(b, " queue=", t->queue);
	if (t->priority) {
		wz_buf_addz(b, " priority=");
		wz_buf_add_i64(b, t->priority);
	}
	if (t->gpu_spec.len) {
		wz_buf_addz(b, " models=");
		add_name(b, t->gpu_spec, '|');
	}
	add_text(b, " template=", t->template_);
	if (t->restart_us > 0)
		add_time(b, " restart=", t->restart_us);
	if (t->pinned)
		wz_buf_addz(b, " pinned=1");
	if (t->load.len) {
		wz_buf_addz(b, " load=");
		wz_buf_add(b, t->load);
	}
	size_t before = b->len;
	wz_buf_addz(b, " : ");
	wz_profile_format(wz_sim_task_profile(tasks, t), b);
	if (b->status == 0 && b->len == before + 3)
		b->len = before; /* nothing asked */
	wz_buf_addc(b, '\n');
}

static int wz_write(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	bool two = false;
	for (uint32_t i = 0; (what & WZ_TRACE_TASKS) && i < tasks->n; i++) {
		const struct wz_sim_task *t = &tasks->task[i];
		two = two || t->template_.len || t->restart_us > 0 || t->pinned || t->load.len;
	}
	wz_buf_addz(b, two ? MAGIC "2\n" : MAGIC "1\n");
	if (what & WZ_TRACE_NODES) {
		for (uint32_t i = 0; i < nodes->n_models; i++)
			write_model(b, &nodes->model[i]);
		for (uint32_t i = 0; i < nodes->n; i++)
			write_node(b, nodes, &nodes->node[i]);
	}
	for (uint32_t i = 0; (what & WZ_TRACE_TASKS) && i < tasks->n; i++)
		write_job(b, tasks, &tasks->task[i]);
	if (b->status < 0)
		return wz_err_set(err, b->status, "OutOfMemory", WZ_STR("the trace does not fit in memory"));
	return 0;
}

const struct wz_trace_format wz_format_wz = {
        .name = "wz",
        .summary = "WhaleZEN's own text format, spec/trace.md: nodes and jobs in one file",
        .sniff = wz_sniff,
        .read_nodes = wz_read_nodes,
        .read_tasks = wz_read_tasks,
        .write = wz_write,
        .nodes_file = "trace.wz",
        .tasks_file = "trace.wz",
};
