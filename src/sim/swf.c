/* SPDX-License-Identifier: Apache-2.0 */
/* The Standard Workload Format 2.2 of the Parallel Workloads Archive (Feitelson; cs.huji.ac.il/labs/parallel/workload/swf.html): 18 numbers
 * a line, -1 where not known, comments from ';'. A processor is taken as a device. Compressed files are unpacked by
 * wz_trace_load. */
#include "base/quant.h"
#include "sim/sheet.h"

#define SECOND_US INT64_C(1000000)

enum {
	ID,
	SUBMIT,
	WAIT,
	RUN,
	PROCS,
	CPU,
	MEM,
	REQ_PROCS,
	REQ_TIME,
	REQ_MEM,
	STATUS,
	USER,
	GROUP,
	EXE,
	QUEUE,
	PARTITION,
	AFTER,
	THINK,
	FIELDS
};

static unsigned sniff(struct wz_str text)
{
	while (text.ptr && text.len) {
		struct wz_str line = wz_str_trim(wz_str_split(&text, '\n'));
		uint32_t n = 0;
		if (line.len == 0 || line.ptr[0] == ';')
			continue;
		for (size_t i = 0; i < line.len; i++) {
			char c = line.ptr[i];
			if (!((c >= '0' && c <= '9') || c == ' ' || c == '\t' || c == '-' || c == '.'))
				return 0;
			n += c != ' ' && c != '\t' && (i == 0 || line.ptr[i - 1] == ' ' || line.ptr[i - 1] == '\t');
		}
		return n == FIELDS ? WZ_TRACE_TASKS : 0;
	}
	return 0;
}

struct reader {
	const struct wz_trace_source *src;
	struct wz_sim_tasks *tasks;
	struct wz_err *err;
	uint32_t line, column[FIELDS], node_gpus;
	int64_t v[FIELDS]; /* -1: not known; times in microseconds */
};

static int bad(struct reader *r, uint32_t field, const char *expected)
{
	wz_err_set(r->err, -EBADMSG, "BadField", WZ_STR("expected "), wz_str(expected));
	wz_csv_err_at(r->err, r->src->name, r->line, r->column[field < FIELDS ? field : 0]);
	return -EBADMSG;
}

static int split(struct reader *r, struct wz_str line)
{
	static const int64_t unit[FIELDS] = {
	        1, SECOND_US, SECOND_US, SECOND_US, 1, 1, 1, 1, SECOND_US, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	uint32_t n = 0;

	for (size_t i = 0; i < line.len;) {
		size_t from;
		struct wz_str f;
		while (i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t' || line.ptr[i] == '\r'))
			i++;
		for (from = i; i < line.len && line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r';)
			i++;
		if (i == from)
			break;
		if (n == FIELDS)
			return bad(r, FIELDS - 1, "18 fields");
		f = (struct wz_str){line.ptr + from, i - from};
		r->column[n] = (uint32_t)from + 1;
		r->v[n] = -1;
		if (f.ptr[0] != '-' && wz_decimal_parse(f, unit[n], WZ_SIM_TIME_MAX_US, &r->v[n]) < 0)
			return bad(r, n, "a number, or -1 where it is not known");
		n++;
	}
	return n == FIELDS ? 0 : bad(r, n ? n - 1 : 0, "18 fields");
}

static int profile_of(struct reader *r, uint32_t gpus, int64_t limit_us, uint32_t *ret)
{
	char key[64];
	struct wz_buf b;
	struct wz_profile p;
	uint32_t per = gpus < r->node_gpus ? gpus : r->node_gpus;

	while (gpus % per)
		per--;
	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_buf_addz(&b, "swf ");
	wz_buf_add_u64(&b, gpus);
	wz_buf_addc(&b, ' ');
	wz_buf_add_i64(&b, limit_us);
	*ret = wz_sim_tasks_find_profile(r->tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	wz_profile_init(&p);
	p.gpus = per;
	p.tasks_min = p.tasks_max = gpus / per;
	p.time_us = limit_us > 0 ? (uint64_t)limit_us : 0;
	if (wz_profile_finish(&p, NULL, r->err) < 0)
		return bad(r, REQ_PROCS, "fewer processors");
	return wz_sim_tasks_add_profile(r->tasks, wz_buf_str(&b), &p, ret, r->err);
}

static int read_job(struct reader *r)
{
	struct wz_sim_task t = {.submit_us = r->v[SUBMIT], .start_us = -1, .end_us = -1, .run_us = r->v[RUN]};
	int64_t procs = r->v[PROCS] > 0 ? r->v[PROCS] : r->v[REQ_PROCS];
	struct wz_num num[5];
	int rc;

	if (t.submit_us < 0)
		return bad(r, SUBMIT, "a submit time");
	if (procs > 65536 || r->v[ID] < 0)
		return bad(
		        r, procs > 65536 ? PROCS : ID, procs > 65536 ? "at most 65536 processors" : "a job number");
	if (r->v[WAIT] >= 0)
		t.start_us = t.submit_us + r->v[WAIT];
	if (t.start_us >= 0 && t.run_us >= 0)
		t.end_us = t.start_us + t.run_us;
	if (t.end_us > WZ_SIM_TIME_MAX_US || t.start_us > WZ_SIM_TIME_MAX_US)
		return bad(r, WAIT, "times of less than a century");
	t.name = wz_str_i64(&num[0], r->v[ID]);
	t.user = r->v[USER] >= 0 ? wz_str_i64(&num[1], r->v[USER]) : WZ_STR("");
	t.queue = r->v[QUEUE] >= 0 ? wz_str_i64(&num[2], r->v[QUEUE]) : WZ_STR("");
	t.template_ = r->v[EXE] >= 0 ? wz_str_i64(&num[3], r->v[EXE]) : WZ_STR("");
	if (procs < 1)
		return 0; /* never ran, and asked for nothing */
	rc = profile_of(r, (uint32_t)procs, r->v[REQ_TIME], &t.profile);
	if (rc == 0 && (rc = wz_sim_tasks_add(r->tasks, &t, r->err)) < 0)
		wz_csv_err_at(r->err, r->src->name, r->line, r->column[ID]);
	return rc;
}

static int read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct reader r = {.src = src, .tasks = tasks, .err = err};
	struct wz_str text = src->text;
	int rc = 0;

	for (uint32_t i = 0; i < nodes->n; i++)
		r.node_gpus = nodes->node[i].n_devices > r.node_gpus ? nodes->node[i].n_devices : r.node_gpus;
	r.node_gpus = r.node_gpus ? r.node_gpus : 8;
	while (rc == 0 && text.ptr && text.len) {
		struct wz_str line = wz_str_split(&text, '\n'), t = wz_str_trim(line);
		r.line++;
		if (t.len == 0 || t.ptr[0] == ';')
			continue;
		rc = split(&r, line);
		if (rc == 0)
			rc = read_job(&r);
	}
	return rc;
}

static int write_refused(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes, (void)tasks, (void)what, (void)b;
	return wz_err_set(err, -EOPNOTSUPP, "ReadOnly", WZ_STR("this format is only read; write openb or wz"));
}

const struct wz_trace_format wz_format_swf = {.name = "swf",
        .summary = "Standard Workload Format 2.2; a processor is taken as a device",
        .sniff = sniff,
        .read_tasks = read_tasks,
        .write = write_refused,
        .nodes_file = "trace.swf",
        .tasks_file = "trace.swf"};
