/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV of Alibaba's GPU-sharing cluster (cluster-trace-gpu-v2023), as the FGD paper (USENIX ATC 2023) and its
 * descendants publish it:
 *
 *	nodes   sn, cpu_milli, memory_mib, gpu, model
 *	pods    name, cpu_milli, memory_mib, num_gpu, gpu_milli
 *	        [, gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time]
 *
 * Columns are found by their names, in any order; unknown ones are ignored. `gpu_milli` is per GPU and below 1000 only for
 * a share of one. `gpu_spec` is a set of models joined by '|', without preference, empty for any. Times are whole seconds.
 * The trace says nothing of device memory (0: not known), of links or of racks. */
#include "base/check.h"
#include "base/csv.h"
#include "base/quant.h"
#include "sim/formats.h"

#define SECOND_US 1000000

struct column {
	const char *name;
	bool required;
	unsigned holds; /* what kind of file it tells of; 0: either */
};

enum node_column { N_SN, N_CPU, N_MEM, N_GPU, N_MODEL, N_COLUMNS };
static const struct column node_columns[N_COLUMNS] = {
        [N_SN] = {"sn", true, WZ_TRACE_NODES},
        [N_CPU] = {"cpu_milli", true, 0},
        [N_MEM] = {"memory_mib", true, 0},
        [N_GPU] = {"gpu", true, WZ_TRACE_NODES},
        [N_MODEL] = {"model", true, WZ_TRACE_NODES},
};

enum pod_column { P_NAME, P_CPU, P_MEM, P_GPUS, P_MILLI, P_SPEC, P_CREATED, P_DELETED, P_SCHEDULED, P_COLUMNS };
static const struct column pod_columns[P_COLUMNS] = {
        [P_NAME] = {"name", true, 0},
        [P_CPU] = {"cpu_milli", true, 0},
        [P_MEM] = {"memory_mib", true, 0},
        [P_GPUS] = {"num_gpu", true, WZ_TRACE_TASKS},
        [P_MILLI] = {"gpu_milli", true, WZ_TRACE_TASKS},
        [P_SPEC] = {"gpu_spec", false, WZ_TRACE_TASKS},
        [P_CREATED] = {"creation_time", false, WZ_TRACE_TASKS},
        [P_DELETED] = {"deletion_time", false, WZ_TRACE_TASKS},
        [P_SCHEDULED] = {"scheduled_time", false, WZ_TRACE_TASKS},
};

/* ---- what a file is ---- */

static unsigned count_known(struct wz_str name, const struct column *c, unsigned n, unsigned *ret_specific)
{
	for (unsigned i = 0; i < n; i++) {
		if (wz_str_eq(name, wz_str(c[i].name))) {
			*ret_specific += c[i].holds != 0;
			return 1;
		}
	}
	return 0;
}

/* By the header: at least two known columns, one of them only of this kind of file. A header that lacks a column is still
 * recognised, so that the reader can say which. */
static unsigned openb_sniff(struct wz_str text)
{
	unsigned nodes = 0, pods = 0, node_only = 0, pod_only = 0;
	const char *end;
	if (wz_str_starts(text, WZ_STR("\xef\xbb\xbf")))
		text = (struct wz_str){text.ptr + 3, text.len - 3};
	if (text.len == 0)
		return 0;
	end = memchr(text.ptr, '\n', text.len);
	if (end)
		text.len = (size_t)(end - text.ptr);
	while (text.ptr) {
		struct wz_str f = wz_str_trim(wz_str_split(&text, ','));
		if (f.len >= 2 && f.ptr[0] == '"' && f.ptr[f.len - 1] == '"')
			f = (struct wz_str){f.ptr + 1, f.len - 2};
		nodes += count_known(f, node_columns, N_COLUMNS, &node_only);
		pods += count_known(f, pod_columns, P_COLUMNS, &pod_only);
	}
	if (node_only > pod_only && nodes >= 2)
		return WZ_TRACE_NODES;
	return pod_only && pods >= 2 ? WZ_TRACE_TASKS : 0;
}

/* ---- reading ---- */

struct reader {
	struct wz_csv csv;
	const struct wz_trace_source *src;
	const struct column *column;
	uint32_t at[P_COLUMNS]; /* field of each column, WZ_NONE when the file lacks it */
	uint32_t n_columns, n_fields;
	struct wz_err *err;
};

static int at_line(struct reader *r, int rc, uint32_t line, uint32_t column)
{
	wz_csv_err_at(r->err, r->src->name, line, column);
	return rc;
}

/* The error that was just set is about the field of column c. */
static int at_field(struct reader *r, int rc, unsigned c)
{
	return at_line(r, rc, r->csv.line, r->at[c] == WZ_NONE ? 1 : r->csv.field[r->at[c]].column);
}

static int next_record(struct reader *r)
{
	int rc = wz_csv_next(&r->csv, r->err);
	return rc < 0 ? at_line(r, rc, r->csv.err_line, r->csv.err_column) : rc;
}

static int missing_column(struct reader *r, unsigned c)
{
	struct wz_buf b;
	char names[160];
	wz_buf_init_fixed(&b, names, sizeof names);
	for (unsigned i = 0; i < r->n_columns; i++) {
		if (!r->column[i].required)
			continue;
		wz_buf_addz(&b, i ? "," : "");
		wz_buf_addz(&b, r->column[i].name);
	}
	int rc = wz_err_set(r->err, -EBADMSG, "MissingColumn", WZ_STR("the header lacks the column \""),
	        wz_str(r->column[c].name), WZ_STR("\"; expected "), wz_buf_str(&b), WZ_STR(" in any order"));
	return at_line(r, rc, r->csv.line, 1);
}

static int read_header(struct reader *r)
{
	int rc = next_record(r);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		rc = wz_err_set(r->err, -EBADMSG, "EmptyTrace", WZ_STR("the file is empty; expected a CSV header"));
		return at_line(r, rc, 1, 1);
	}
	r->n_fields = r->csv.n;
	for (unsigned c = 0; c < r->n_columns; c++) {
		r->at[c] = WZ_NONE;
		for (uint32_t f = 0; f < r->csv.n; f++) {
			if (!wz_str_eq(wz_str_trim(r->csv.field[f].text), wz_str(r->column[c].name)))
				continue;
			if (r->at[c] != WZ_NONE) {
				rc = wz_err_set(r->err, -EBADMSG, "DuplicateColumn", WZ_STR("the column \""),
				        wz_str(r->column[c].name), WZ_STR("\" is there twice"));
				return at_line(r, rc, r->csv.line, r->csv.field[f].column);
			}
			r->at[c] = f;
		}
		if (r->at[c] == WZ_NONE && r->column[c].required)
			return missing_column(r, c);
	}
	return 0;
}

/* The next record, checked for its number of fields. 1, 0 at the end. */
static int read_record(struct reader *r)
{
	struct wz_num a, b;
	int rc = next_record(r);
	if (rc <= 0 || r->csv.n == r->n_fields)
		return rc;
	rc = wz_err_set(r->err, -EBADMSG, "FieldCount", WZ_STR("the record has "), wz_str_u64(&a, r->csv.n),
	        WZ_STR(" fields; expected "), wz_str_u64(&b, r->n_fields), WZ_STR(" as in the header"));
	return at_line(r, rc, r->csv.line, 1);
}

static struct wz_str field(const struct reader *r, unsigned c)
{
	return r->at[c] == WZ_NONE ? WZ_STR("") : wz_str_trim(r->csv.field[r->at[c]].text);
}

static bool looks_decimal(struct wz_str s)
{
	unsigned points = 0, digits = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '.')
			points++;
		else if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
			digits++;
		else
			return false;
	}
	return points == 1 && digits;
}

/* So that a text error still has room for what was expected. */
static struct wz_str shown(struct wz_str s)
{
	if (s.len > 48)
		s.len = 48;
	return s;
}

/* A whole number 0..max. */
static int number(struct reader *r, unsigned c, uint64_t max, uint64_t *ret)
{
	struct wz_str s = field(r, c), column = wz_str(r->column[c].name);
	struct wz_num n;
	uint64_t v = 0;
	int64_t negative = 0;
	int rc = wz_str_parse_u64(s, &v);
	if (rc == 0 && v <= max) {
		*ret = v;
		return 0;
	}
	if (s.len == 0)
		rc = wz_err_set(r->err, -EBADMSG, "NotANumber", column,
		        WZ_STR(" is empty; expected a whole number 0.."), wz_str_u64(&n, max));
	else if (rc == 0 || rc == -ERANGE)
		rc = wz_err_set(r->err, -ERANGE, "OutOfRange", column, WZ_STR(" is "), shown(s),
		        WZ_STR(", too large; expected 0.."), wz_str_u64(&n, max));
	else if (s.ptr[0] == '-' && wz_str_parse_i64(s, &negative) != -EINVAL)
		rc = wz_err_set(r->err, -EBADMSG, "NegativeNumber", column, WZ_STR(" is negative ("), shown(s),
		        WZ_STR("); expected a whole number 0.."), wz_str_u64(&n, max));
	else
		rc = wz_err_set(r->err, -EBADMSG, "NotANumber", column, WZ_STR(" is \""), shown(s),
		        looks_decimal(s) ? WZ_STR("\", not whole; expected a whole number 0..")
		                         : WZ_STR("\", not a number; expected a whole number 0.."),
		        wz_str_u64(&n, max));
	return at_field(r, rc, c);
}

/* Seconds to microseconds; -1 where the column or the value is absent. */
static int optional_time(struct reader *r, unsigned c, int64_t *ret)
{
	uint64_t v = 0;
	if (field(r, c).len == 0) {
		*ret = -1;
		return 0;
	}
	int rc = number(r, c, (uint64_t)WZ_SIM_TIME_MAX_US / SECOND_US, &v);
	if (rc == 0)
		*ret = (int64_t)v * SECOND_US;
	return rc;
}

static int reader_init(struct reader *r, const struct wz_mem *mem, const struct wz_trace_source *src,
        const struct column *columns, unsigned n, struct wz_err *err)
{
	*r = (struct reader){.src = src, .column = columns, .n_columns = n, .err = err};
	wz_csv_init(&r->csv, mem, src->text);
	return read_header(r);
}

static int no_records(struct reader *r)
{
	int rc = wz_err_set(r->err, -EBADMSG, "EmptyTrace", WZ_STR("no record follows the header"));
	return at_line(r, rc, r->csv.line, 1);
}

/* ---- nodes ---- */

static int read_node(struct reader *r, struct wz_sim_nodes *nodes)
{
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX] = {0};
	struct wz_ev_node n = {.name = field(r, N_SN), .device = device};
	struct wz_str model = field(r, N_MODEL);
	uint64_t cpu = 0, mem = 0, gpus = 0;
	wz_model_id id = {WZ_MODEL_NONE};
	int rc = number(r, N_CPU, (uint64_t)WZ_CPU_MILLI_MAX, &cpu);
	if (rc == 0)
		rc = number(r, N_MEM, (uint64_t)WZ_BYTES_MAX / WZ_MI, &mem);
	if (rc == 0)
		rc = number(r, N_GPU, WZ_NODE_DEVICES_MAX, &gpus);
	if (rc < 0)
		return rc;
	if (gpus && model.len == 0) {
		rc = wz_err_set(r->err, -EBADMSG, "MissingModel",
		        WZ_STR("model is empty; expected the GPU type of a node that has GPUs"));
		return at_field(r, rc, N_MODEL);
	}
	if (gpus) {
		rc = wz_sim_nodes_model(nodes, model, NULL, &id, r->err);
		if (rc < 0)
			return at_field(r, rc, N_MODEL);
	}
	for (uint64_t i = 0; i < gpus; i++)
		device[i] = (struct wz_device_facts){.model = id, .compute_milli = WZ_WHOLE};
	n.cpu_milli = (int64_t)cpu;
	n.mem_bytes = (int64_t)(mem * WZ_MI);
	n.n_devices = (uint32_t)gpus;
	rc = wz_sim_nodes_add(nodes, &n, r->err);
	return rc < 0 ? at_field(r, rc, N_SN) : 0;
}

static int openb_read_nodes(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct reader r;
	uint32_t before = nodes->n;
	int rc = reader_init(&r, nodes->mem, src, node_columns, N_COLUMNS, err);
	while (rc == 0) {
		rc = read_record(&r);
		if (rc <= 0)
			break;
		rc = read_node(&r, nodes);
	}
	if (rc == 0 && nodes->n == before)
		rc = no_records(&r);
	wz_csv_release(&r.csv);
	return rc;
}

/* ---- pods ---- */

static int check_gpus(struct reader *r, uint64_t gpus, uint64_t milli)
{
	struct wz_num a, b;
	int rc;
	if (gpus == 0 && milli != 0)
		rc = wz_err_set(r->err, -EBADMSG, "BadShare", WZ_STR("gpu_milli is "), wz_str_u64(&a, milli),
		        WZ_STR(" with num_gpu 0; expected 0"));
	else if (gpus > 0 && milli == 0)
		rc = wz_err_set(r->err, -EBADMSG, "BadShare", WZ_STR("gpu_milli is 0 with num_gpu "),
		        wz_str_u64(&a, gpus), gpus > 1 ? WZ_STR("; expected 1000") : WZ_STR("; expected 1..1000"));
	else if (gpus > 1 && milli != WZ_WHOLE)
		rc = wz_err_set(r->err, -EBADMSG, "BadShare", WZ_STR("gpu_milli is "), wz_str_u64(&a, milli),
		        WZ_STR(" with num_gpu "), wz_str_u64(&b, gpus),
		        WZ_STR("; expected 1000: only a single GPU can be shared"));
	else
		return 0;
	return at_field(r, rc, P_MILLI);
}

/* Pods that ask the same share a profile; the key is what was asked. */
static int pod_profile(struct reader *r, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_str spec,
        const uint64_t ask[4], struct wz_sim_task *t)
{
	struct wz_profile p;
	struct wz_buf key;
	int rc = 0;
	wz_profile_init(&p);
	p.any_model = spec.len == 0;
	if (spec.len) {
		memset(&p.allowed, 0, sizeof p.allowed);
		rc = wz_sim_nodes_spec(nodes, spec, &p.allowed, r->err);
		if (rc < 0)
			return at_field(r, rc, P_SPEC);
	}
	p.cpu_milli = ask[0];
	p.mem_bytes = ask[1] * WZ_MI;
	p.gpus = ask[3] == WZ_WHOLE ? (uint32_t)ask[2] : 0;
	p.share_milli = ask[3] == WZ_WHOLE ? 0 : (uint32_t)ask[3];
	t->any_model = p.any_model;
	t->allowed = p.allowed;

	wz_buf_init(&key, tasks->mem, WZ_CSV_FIELD_MAX + 128);
	for (unsigned i = 0; i < 4; i++) {
		wz_buf_add_u64(&key, ask[i]);
		wz_buf_addc(&key, ' ');
	}
	wz_buf_add(&key, spec);
	if (key.status < 0) {
		rc = wz_err_set(r->err, key.status, "OutOfMemory", WZ_STR("out of memory"));
	} else {
		t->profile = wz_sim_tasks_find_profile(tasks, wz_buf_str(&key));
		if (t->profile == WZ_NONE)
			rc = wz_sim_tasks_add_profile(tasks, wz_buf_str(&key), &p, &t->profile, r->err);
	}
	wz_buf_release(&key);
	return rc < 0 ? at_field(r, rc, P_NAME) : 0;
}

static int read_pod(struct reader *r, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks)
{
	struct wz_sim_task t = {.name = field(r, P_NAME), .gpu_spec = field(r, P_SPEC), .run_us = -1};
	uint64_t ask[4] = {0}; /* milli CPU, MiB, GPUs, milli of each */
	int rc = number(r, P_CPU, (uint64_t)WZ_CPU_MILLI_MAX, &ask[0]);
	if (rc == 0)
		rc = number(r, P_MEM, (uint64_t)WZ_BYTES_MAX / WZ_MI, &ask[1]);
	if (rc == 0)
		rc = number(r, P_GPUS, WZ_NODE_DEVICES_MAX, &ask[2]);
	if (rc == 0)
		rc = number(r, P_MILLI, WZ_WHOLE, &ask[3]);
	if (rc == 0)
		rc = check_gpus(r, ask[2], ask[3]);
	if (rc == 0)
		rc = optional_time(r, P_CREATED, &t.submit_us);
	if (rc == 0)
		rc = optional_time(r, P_SCHEDULED, &t.start_us);
	if (rc == 0)
		rc = optional_time(r, P_DELETED, &t.end_us);
	if (rc == 0)
		rc = pod_profile(r, nodes, tasks, t.gpu_spec, ask, &t);
	if (rc < 0)
		return rc;
	rc = wz_sim_tasks_add(tasks, &t, r->err);
	return rc < 0 ? at_field(r, rc, P_NAME) : 0;
}

static int openb_read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes,
        struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct reader r;
	uint32_t before = tasks->n;
	int rc = reader_init(&r, tasks->mem, src, pod_columns, P_COLUMNS, err);
	while (rc == 0) {
		rc = read_record(&r);
		if (rc <= 0)
			break;
		rc = read_pod(&r, nodes, tasks);
	}
	if (rc == 0 && tasks->n == before)
		rc = no_records(&r);
	wz_csv_release(&r.csv);
	return rc;
}

/* ---- writing ---- */

static int cannot_say(struct wz_err *err, const char *what, struct wz_str name, const char *why)
{
	return wz_err_set(err, -EOPNOTSUPP, "NotInFormat", wz_str(what), WZ_STR(" \""), name, WZ_STR("\" "),
	        wz_str(why), WZ_STR(", which the openb format cannot say; the wz format can"));
}

/* Quoted only where it must be. */
static void add_field(struct wz_buf *b, struct wz_str s)
{
	bool quote = false;
	for (size_t i = 0; i < s.len; i++)
		quote |= s.ptr[i] == ',' || s.ptr[i] == '"';
	if (!quote) {
		wz_buf_add(b, s);
		return;
	}
	wz_buf_addc(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '"')
			wz_buf_addc(b, '"');
		wz_buf_addc(b, s.ptr[i]);
	}
	wz_buf_addc(b, '"');
}

static const char *node_obstacle(const struct wz_ev_node *n)
{
	if (n->mem_bytes % (int64_t)WZ_MI)
		return "has memory that is not whole MiB";
	if (n->site.len || n->rack.len || n->n_labels || n->max_tasks || n->count_only)
		return "has a site, rack, label or task limit";
	for (uint32_t i = 0; i < n->n_devices; i++) {
		const struct wz_device_facts *d = &n->device[i];
		if (d->model.v != n->device[0].model.v)
			return "has devices of several models";
		if (d->compute_milli != WZ_WHOLE || d->partition || d->mem_bytes)
			return "has a device with a size of its own";
		if (d->link_domain || d->numa || d->pcie || d->health)
			return "has device links, places or health";
	}
	return NULL;
}

static int write_nodes(const struct wz_sim_nodes *nodes, struct wz_buf *b, struct wz_err *err)
{
	wz_buf_addz(b, "sn,cpu_milli,memory_mib,gpu,model\n");
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct wz_ev_node *n = &nodes->node[i];
		const char *obstacle = node_obstacle(n);
		if (obstacle)
			return cannot_say(err, "the node", n->name, obstacle);
		add_field(b, n->name);
		wz_buf_addc(b, ',');
		wz_buf_add_i64(b, n->cpu_milli);
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, (uint64_t)n->mem_bytes / WZ_MI);
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, n->n_devices);
		wz_buf_addc(b, ',');
		if (n->n_devices)
			add_field(b, wz_sim_nodes_model_name(nodes, n->device[0].model));
		wz_buf_addc(b, '\n');
	}
	return 0;
}

static const char *task_obstacle(const struct wz_sim_task *t, const struct wz_profile *p)
{
	const int64_t times[] = {t->submit_us, t->start_us, t->end_us};
	if (p->tasks_min != 1 || p->tasks_max != 1)
		return "has several tasks";
	if (p->kind != WZ_KIND_BATCH)
		return "is a service";
	if (p->gpu_mem_bytes || p->gpu_mem_g || p->gpu_mem_total_bytes || p->cu_milli || p->bw_gbps || p->free_pct)
		return "asks for device memory, bandwidth or compute units";
	if (p->link != WZ_LINK_NONE)
		return "asks for a link";
	if (p->n_types > 1 || p->n_excluded)
		return "prefers or excludes models";
	if (p->mem_bytes % WZ_MI)
		return "asks for memory that is not whole MiB";
	if (t->user.len || t->queue.len || t->priority)
		return "has a user, queue or priority";
	for (size_t i = 0; i < WZ_ARRAY_LEN(times); i++)
		if (times[i] > 0 && times[i] % SECOND_US)
			return "has a time that is not whole seconds";
	if (t->run_us >= 0 && (t->start_us < 0 || t->end_us - t->start_us != t->run_us))
		return "has a run time but no start and end";
	return NULL;
}

static void add_spec(const struct wz_sim_nodes *nodes, const struct wz_sim_task *t, struct wz_buf *b)
{
	bool first = true;
	if (t->gpu_spec.len || t->any_model) {
		add_field(b, t->gpu_spec);
		return;
	}
	for (uint32_t i = 0; i < nodes->n_models; i++) {
		if (!wz_model_set_has(&t->allowed, nodes->model[i].id.v))
			continue;
		if (!first)
			wz_buf_addc(b, '|');
		wz_buf_add(b, nodes->model[i].name);
		first = false;
	}
}

static void add_time(struct wz_buf *b, int64_t us)
{
	wz_buf_addc(b, ',');
	if (us >= 0)
		wz_buf_add_i64(b, us / SECOND_US);
}

static int write_tasks(
        const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, struct wz_buf *b, struct wz_err *err)
{
	wz_buf_addz(b, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,"
	               "scheduled_time\n");
	for (uint32_t i = 0; i < tasks->n; i++) {
		const struct wz_sim_task *t = &tasks->task[i];
		const char *obstacle = task_obstacle(t, wz_sim_task_profile(tasks, t));
		if (obstacle)
			return cannot_say(err, "the job", t->name, obstacle);
		add_field(b, t->name);
		wz_buf_addc(b, ',');
		wz_buf_add_i64(b, t->cpu_milli);
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, (uint64_t)t->mem_bytes / WZ_MI);
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, t->gpus);
		wz_buf_addc(b, ',');
		wz_buf_add_u64(b, t->milli);
		wz_buf_addc(b, ',');
		add_spec(nodes, t, b);
		add_time(b, t->submit_us);
		add_time(b, t->end_us);
		add_time(b, t->start_us);
		wz_buf_addc(b, '\n');
	}
	return 0;
}

static int openb_write(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	wz_check(what == WZ_TRACE_NODES || what == WZ_TRACE_TASKS);
	int rc = what == WZ_TRACE_NODES ? write_nodes(nodes, b, err) : write_tasks(nodes, tasks, b, err);
	if (rc == 0 && b->status < 0)
		rc = wz_err_set(err, b->status, "OutOfMemory", WZ_STR("the trace does not fit in memory"));
	return rc;
}

const struct wz_trace_format wz_format_openb = {
        .name = "openb",
        .summary = "CSV of Alibaba's cluster-trace-gpu-v2023: a node list and a pod list",
        .sniff = openb_sniff,
        .read_nodes = openb_read_nodes,
        .read_tasks = openb_read_tasks,
        .write = openb_write,
        .nodes_file = "nodes.csv",
        .tasks_file = "pods.csv",
};
