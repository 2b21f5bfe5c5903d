/* SPDX-License-Identifier: Apache-2.0 */
/* Pollux' workloads (OSDI 2021): name,time,application,num_replicas,batch_size; and the profiles of its applications, which are
 * read too when they lie in profiles/APPLICATION beside the workload or a folder up:
 *
 *	placements.csv     placement,local_bsz,step_time,sync_time
 *	scalability.csv    num_nodes,num_replicas,local_bsz,step_time,sync_time
 *	validation-B.csv   progress,iteration,metric,grad_sqr,grad_var: an epoch a line, at batch B */
#include "sim/elastic.h"
#include "sim/sheet.h"

#include <stdlib.h>

#define SECOND_US INT64_C(1000000)

static const char *const companions[] = {
        "profiles/*/placements.csv", "profiles/*/scalability.csv", "profiles/*/validation-*.csv", NULL};

enum { W_NAME, W_TIME, W_APP, W_REPLICAS, W_BATCH };
static const struct wz_sheet_column workload[] = {
        {"name", true}, {"time", true}, {"application", true}, {"num_replicas", true}, {"batch_size", true}};
enum { P_PLACE, P_LOCAL, P_STEP, P_SYNC };
static const struct wz_sheet_column placements[] = {
        {"placement", true}, {"local_bsz", true}, {"step_time", true}, {"sync_time", true}};
enum { S_NODES, S_GPUS, S_LOCAL, S_STEP, S_SYNC };
static const struct wz_sheet_column scalability[] = {
        {"num_nodes", true}, {"num_replicas", true}, {"local_bsz", true}, {"step_time", true}, {"sync_time", true}};
enum { V_PROGRESS, V_ITERATION, V_METRIC, V_SQR, V_VAR };
static const struct wz_sheet_column validation[] = {
        {"progress", true}, {"iteration", true}, {"metric", true}, {"grad_sqr", true}, {"grad_var", true}};

static unsigned sniff(struct wz_str text)
{
	return wz_sheet_sniff(text, workload, 5) ? WZ_TRACE_TASKS : 0;
}

static unsigned profile_sniff(struct wz_str text)
{
	return wz_sheet_sniff(text, placements, 4) || wz_sheet_sniff(text, scalability, 5) ||
	                       wz_sheet_sniff(text, validation, 5)
	               ? WZ_TRACE_FACTS
	               : 0;
}

/* A finite number as a double: these files are measurements, not quantities. */
static int number(struct wz_sheet *s, uint32_t c, double *ret)
{
	struct wz_str f = wz_sheet_field(s, c);
	char text[64], *end;

	if (f.len == 0 || f.len >= sizeof(text))
		return wz_sheet_bad(s, c, "a number");
	memcpy(text, f.ptr, f.len);
	text[f.len] = 0;
	*ret = strtod(text, &end);
	return end == text + f.len && *ret > -1e300 && *ret < 1e300 ? 0 : wz_sheet_bad(s, c, "a number");
}

static int whole(struct wz_sheet *s, uint32_t c, int64_t max, uint32_t *ret)
{
	int64_t v = 0;
	int rc = wz_sheet_decimal(s, c, 1, max, &v);

	if (rc == 0 && v >= 1)
		*ret = (uint32_t)v;
	return rc < 0 ? rc : rc == 1 || v < 1 ? wz_sheet_bad(s, c, "a whole number from 1 on") : 0;
}

/* The last folder of a path: the application. */
static struct wz_str folder_of(struct wz_str path)
{
	size_t end = path.len, from;

	while (end > 0 && path.ptr[end - 1] != '/')
		end--;
	end -= end > 0;
	for (from = end; from > 0 && path.ptr[from - 1] != '/';)
		from--;
	return (struct wz_str){path.ptr + from, end - from};
}

static int read_step(struct wz_sheet *s, struct wz_elastic *e, uint32_t app, bool placed)
{
	struct wz_str place = placed ? wz_sheet_field(s, P_PLACE) : WZ_STR("");
	uint32_t local = 0, nodes = (uint32_t)place.len, gpus = 0;
	double step = 0, sync = 0;
	int rc = whole(s, placed ? P_LOCAL : S_LOCAL, 1 << 24, &local);

	for (size_t i = 0; i < place.len; i++) {
		if (place.ptr[i] < '1' || place.ptr[i] > '9' || place.len > 16)
			return wz_sheet_bad(s, P_PLACE, "GPUs of each node as digits, such as 444");
		gpus += (uint32_t)(place.ptr[i] - '0');
	}
	if (rc == 0 && !placed)
		rc = whole(s, S_NODES, 4096, &nodes);
	if (rc == 0 && !placed)
		rc = whole(s, S_GPUS, 65536, &gpus);
	if (rc == 0)
		rc = number(s, placed ? P_STEP : S_STEP, &step);
	if (rc == 0)
		rc = number(s, placed ? P_SYNC : S_SYNC, &sync);
	if (rc == 0 && (step <= 0 || nodes == 0))
		rc = wz_sheet_bad(s, placed ? P_STEP : S_STEP, "a time above 0");
	if (rc == 0 && wz_elastic_step(e, app, nodes, gpus, place, local, step, sync) < 0)
		rc = wz_err_set(s->err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for profiles"));
	return rc;
}

/* "validation-200.csv" says its batch in its name. */
static uint32_t batch_of(struct wz_str path)
{
	size_t end = path.len, from;
	int64_t v = 0;

	if (end < 5)
		return 0;
	for (from = end -= 4; from > 0 && path.ptr[from - 1] >= '0' && path.ptr[from - 1] <= '9';)
		from--;
	return wz_decimal_parse((struct wz_str){path.ptr + from, end - from}, 1, 1 << 24, &v) == 0 ? (uint32_t)v
	                                                                                           : 0;
}

static int read_epoch(struct wz_sheet *s, struct wz_elastic *e, uint32_t app, uint32_t batch)
{
	double v[5] = {0};
	int rc = 0;

	for (uint32_t c = 0; rc == 0 && c < 5; c++)
		rc = number(s, c, &v[c]);
	if (rc == 0 && (v[V_SQR] < 0 || v[V_VAR] < 0 || v[V_PROGRESS] <= 0))
		rc = wz_sheet_bad(s, V_SQR, "a number above 0");
	if (rc == 0) {
		rc = wz_elastic_epoch(e, app, batch, v[0], v[1], v[2], v[3], v[4]);
		if (rc < 0)
			rc = wz_err_set(
			        s->err, rc, "TooMany", WZ_STR("too many batch sizes, or no memory, for profiles"));
	}
	return rc;
}

static int read_facts(const struct wz_trace_source *src, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	bool placed = wz_sheet_sniff(src->text, placements, 4),
	     epochs = !placed && !wz_sheet_sniff(src->text, scalability, 5);
	const struct wz_sheet_column *columns = placed ? placements : epochs ? validation : scalability;
	uint32_t app, batch = epochs ? batch_of(src->name) : 0;
	struct wz_sheet s;
	int rc = 0;

	if (!tasks->elastic && wz_elastic_new(tasks->mem, &tasks->elastic) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for profiles"));
	app = wz_elastic_app(tasks->elastic, folder_of(src->name));
	if (app == 0 || (epochs && batch == 0)) {
		rc = wz_err_set(err, -EBADMSG, "BadName",
		        WZ_STR("a profile's file is APPLICATION/placements.csv, scalability.csv or "
		               "validation-BATCH.csv"));
		wz_csv_err_at(err, src->name, 1, 1);
		return rc;
	}
	rc = wz_sheet_open(&s, tasks->mem, src, columns, placed ? 4 : 5, err);
	while (rc == 0 && (rc = wz_sheet_next(&s)) > 0)
		rc = epochs ? read_epoch(&s, tasks->elastic, app, batch)
		            : read_step(&s, tasks->elastic, app, placed);
	wz_sheet_close(&s);
	if (rc == 0)
		wz_elastic_finish(tasks->elastic);
	return rc;
}

static int read_job(struct wz_sheet *s, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks)
{
	struct wz_sim_task t = {.submit_us = -1, .start_us = -1, .end_us = -1, .run_us = -1};
	uint32_t gpus = 0, size = 0, per;
	struct wz_profile p;
	char key[24];
	struct wz_buf b;
	int rc = wz_sheet_decimal(s, W_TIME, SECOND_US, WZ_SIM_TIME_MAX_US, &t.submit_us);

	if (rc == 1)
		rc = wz_sheet_bad(s, W_TIME, "a time in seconds");
	if (rc == 0)
		rc = whole(s, W_REPLICAS, 4096, &gpus);
	if (rc == 0)
		rc = whole(s, W_BATCH, 1 << 24, &t.batch);
	if (rc < 0)
		return rc;
	t.name = wz_sheet_field(s, W_NAME);
	t.template_ = wz_sheet_field(s, W_APP);
	t.app = wz_elastic_find(tasks->elastic, t.template_);
	t.app = wz_elastic_ready(tasks->elastic, t.app) ? t.app : 0;
	for (uint32_t i = 0; i < nodes->n; i++)
		size = nodes->node[i].n_devices > size ? nodes->node[i].n_devices : size;
	size = size ? size : 4;
	for (per = gpus < size ? gpus : size; gpus % per; per--)
		;
	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_buf_addz(&b, "pollux ");
	wz_buf_add_u64(&b, gpus);
	t.profile = wz_sim_tasks_find_profile(tasks, wz_buf_str(&b));
	if (t.profile == WZ_NONE) {
		wz_profile_init(&p);
		p.gpus = per;
		p.tasks_min = p.tasks_max = gpus / per;
		p.preempt.movable = 1;
		rc = wz_profile_finish(&p, NULL, s->err);
		if (rc == 0)
			rc = wz_sim_tasks_add_profile(tasks, wz_buf_str(&b), &p, &t.profile, s->err);
	}
	if (rc == 0)
		rc = wz_sim_tasks_add(tasks, &t, s->err);
	return rc < 0 ? wz_sheet_at(s, rc, W_NAME) : 0;
}

static int read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct wz_sheet s;
	int rc = wz_sheet_open(&s, tasks->mem, src, workload, 5, err);

	while (rc == 0 && (rc = wz_sheet_next(&s)) > 0)
		rc = read_job(&s, nodes, tasks);
	wz_sheet_close(&s);
	return rc;
}

static int write_refused(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes, (void)tasks, (void)what, (void)b;
	return wz_err_set(err, -EOPNOTSUPP, "ReadOnly", WZ_STR("this format is only read; write openb or wz"));
}

const struct wz_trace_format wz_format_pollux = {.name = "pollux",
        .summary = "Pollux: name,time,application,num_replicas,batch_size; profiles beside it",
        .sniff = sniff,
        .read_tasks = read_tasks,
        .write = write_refused,
        .nodes_file = "workload.csv",
        .tasks_file = "workload.csv",
        .companions = companions};
const struct wz_trace_format wz_format_pollux_profile = {.name = "pollux-profile",
        .summary = "Pollux: measured steps and epochs of an application",
        .sniff = profile_sniff,
        .write = write_refused,
        .nodes_file = "placements.csv",
        .tasks_file = "placements.csv",
        .read_facts = read_facts};
