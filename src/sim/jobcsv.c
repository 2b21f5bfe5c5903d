/* SPDX-License-Identifier: Apache-2.0 */
/* Job lists that are one CSV with a header: a table of formats, each a table of columns with what they mean and in which unit.
 * spec/formats/ has a page for each. Columns that a format does not name are ignored.
 *
 * Devices: `gpus` is of the whole job. A job of more than the largest node has (eight, where none is known) is a gang of equal
 * tasks. Times that are dates
 * count from the first submission, whose date the workload keeps (epoch_us). */
#include "sim/sheet.h"

#include "base/quant.h"

#define SECOND_US INT64_C(1000000)
#define NODE_GPUS 8u /* how large the tasks of a gang are made where no node is known */
#define GPUS_MAX 65536

enum field {
	F_NAME,
	F_GPUS,
	F_NODES,
	F_SUBMIT,
	F_RUN,
	F_STEPS,
	F_STEP_TIME,
	F_USER,
	F_QUEUE,
	F_TEMPLATE,
	F_START,
	F_END,
	F_CPUS,
	F_MEM,
	F_PRIORITY,
	F_WAIT,
	F_MODEL,
	F_CLASS,
	F_BATCH,
	F_LAST,
};

enum unit { U_NONE, U_MS, U_S, U_MIN, U_DATE, U_MIB, U_GIB, U_PERCENT, U_ONE };

struct job_column {
	const char *name;
	enum field field;
	enum unit unit;
	bool required;
};

struct job_csv {
	struct wz_trace_format format;
	int64_t (*restart_us)(struct wz_str model, uint32_t gpus); /* what the source measured; NULL: nothing */
	int64_t run_ppm; /* run time is worth so many millionths (Muri's simulator: 1.015); 0: as it is */

	struct job_column column[20];
};

/* ---- one record ---- */

struct reader {
	const struct job_csv *f;
	struct wz_sheet sheet;
	struct wz_sheet_column column[20];
	uint32_t n, of[F_LAST]; /* column of each field; WZ_NONE */
	struct wz_sim_nodes *nodes;
	struct wz_sim_tasks *tasks;
	uint64_t row;
	uint32_t node_gpus; /* devices of the largest node */
	int64_t first_us, base; /* earliest date; INT64_MAX none */
	bool dates;
};

static int64_t factor(enum unit u)
{
	return u == U_MS                   ? SECOND_US / 1000
	       : u == U_MIN                ? 60 * SECOND_US
	       : u == U_NONE || u == U_ONE ? 1
	                                   : SECOND_US;
}

/* A time; *ret unchanged and 1 when it is not there. */
static int get_time(struct reader *r, enum field f, int64_t *ret)
{
	uint32_t c = r->of[f];
	int rc;

	if (c == WZ_NONE)
		return 1;
	if (r->f->column[c].unit == U_DATE) {
		rc = wz_sheet_date(&r->sheet, c, ret);
		r->dates = true;
		return rc;
	}
	return wz_sheet_decimal(&r->sheet, c, factor(r->f->column[c].unit), WZ_SIM_TIME_MAX_US, ret);
}

static int get_number(struct reader *r, enum field f, int64_t unit, int64_t max, int64_t *ret)
{
	return r->of[f] == WZ_NONE ? 1 : wz_sheet_decimal(&r->sheet, r->of[f], unit, max, ret);
}

static struct wz_str get_text(const struct reader *r, enum field f)
{
	struct wz_str s = r->of[f] == WZ_NONE ? WZ_STR("") : wz_sheet_field(&r->sheet, r->of[f]);
	s.len = s.len > WZ_SIM_NAME_MAX ? WZ_SIM_NAME_MAX : s.len;
	return s;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

struct ask {
	int64_t milli, cpus_milli, mem_bytes, nodes;
};

/* Jobs that ask the same share a profile. */
static int profile_of(struct reader *r, const struct ask *a, uint32_t *ret)
{
	char text[128];
	struct wz_buf b;
	struct wz_profile p;
	uint32_t gpus = (uint32_t)(a->milli / 1000), tasks = 1;

	wz_buf_init_fixed(&b, text, sizeof(text));
	for (int i = 0; i < 4; i++) {
		wz_buf_add_i64(&b, ((const int64_t *)a)[i]);
		wz_buf_addc(&b, ' ');
	}
	*ret = wz_sim_tasks_find_profile(r->tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	wz_profile_init(&p);
	if (a->milli % 1000 && a->milli < 1000) {
		p.share_milli = (uint32_t)a->milli;
	} else {
		gpus += a->milli % 1000 != 0;
		if (a->nodes > 1 && gpus % a->nodes == 0)
			tasks = (uint32_t)a->nodes;
		if (gpus / tasks > r->node_gpus)
			tasks = gpus / gcd(gpus, r->node_gpus);
		p.gpus = gpus / tasks;
	}
	p.tasks_min = p.tasks_max = tasks;
	p.cpu_milli = (uint64_t)(a->cpus_milli / tasks);
	p.mem_bytes = (uint64_t)(a->mem_bytes / tasks);
	p.preempt.movable = 1;
	if (wz_profile_finish(&p, NULL, r->sheet.err) < 0)
		return wz_sheet_at(&r->sheet, -EBADMSG, r->of[F_GPUS]);
	return wz_sim_tasks_add_profile(r->tasks, wz_buf_str(&b), &p, ret, r->sheet.err);
}

static int64_t mem_unit(const struct reader *r)
{
	return r->of[F_MEM] != WZ_NONE && r->f->column[r->of[F_MEM]].unit == U_MIB ? (int64_t)WZ_MI
	                                                                           : (int64_t)WZ_GI;
}

static int read_ask(struct reader *r, struct ask *a)
{
	uint32_t c = r->of[F_GPUS];
	int64_t cpu_unit = r->of[F_CPUS] != WZ_NONE && r->f->column[r->of[F_CPUS]].unit == U_PERCENT ? 10 : 1000;
	int64_t gpu_unit = c != WZ_NONE && r->f->column[c].unit == U_PERCENT ? 10 : 1000;
	int rc = c == WZ_NONE ? 0 : get_number(r, F_GPUS, gpu_unit, (int64_t)GPUS_MAX * 1000, &a->milli);

	if (c == WZ_NONE)
		a->milli = 1000; /* formats whose every job is of one device */
	if (rc >= 0)
		rc = get_number(r, F_CPUS, cpu_unit, WZ_CPU_MILLI_MAX, &a->cpus_milli);
	if (rc >= 0)
		rc = get_number(r, F_MEM, mem_unit(r), WZ_BYTES_MAX, &a->mem_bytes);
	if (rc >= 0)
		rc = get_number(r, F_NODES, 1, WZ_JOB_TASKS_MAX, &a->nodes);
	/* Instances: what is asked is of each. */
	if (rc >= 0 && a->nodes > 1 && r->f->column[r->of[F_NODES]].unit == U_ONE) {
		if (a->milli * a->nodes > (int64_t)GPUS_MAX * 1000)
			return wz_sheet_bad(&r->sheet, r->of[F_NODES], "at most 65536 devices in all");
		a->milli = (a->milli + 999) / 1000 * 1000 * a->nodes;
		a->cpus_milli *= a->nodes;
		a->mem_bytes *= a->nodes;
	}
	if (rc < 0)
		return rc;
	return a->mem_bytes > WZ_BYTES_MAX || a->cpus_milli > WZ_CPU_MILLI_MAX
	               ? wz_sheet_bad(&r->sheet, r->of[F_NODES], "fewer tasks")
	               : 0;
}

/* Steps x time of a step, else the run time column, else end - start. */
static int read_run(struct reader *r, struct wz_sim_task *t)
{
	int64_t steps = -1, step = -1;
	int rc = get_number(r, F_STEPS, 1, INT64_C(1) << 40, &steps);

	if (rc >= 0)
		rc = get_time(r, F_STEP_TIME, &step);
	if (rc >= 0)
		rc = get_time(r, F_RUN, &t->run_us);
	if (rc < 0)
		return rc;
	if (steps >= 0 && step >= 0 && __builtin_mul_overflow(steps, step, &t->run_us))
		return wz_sheet_bad(&r->sheet, r->of[F_STEPS], "a run time of less than a century");
	if (t->run_us > WZ_SIM_TIME_MAX_US)
		return wz_sheet_bad(&r->sheet, r->of[steps >= 0 && step >= 0 ? F_STEPS : F_RUN],
		        "a run time of less than a century");
	if (r->f->run_ppm && t->run_us > 0)
		t->run_us = (int64_t)((__int128)t->run_us * r->f->run_ppm / 1000000);
	return 0;
}

static int read_times(struct reader *r, struct wz_sim_task *t)
{
	int64_t wait = -1;
	int rc = get_time(r, F_SUBMIT, &t->submit_us);

	if (rc == 1 && r->of[F_SUBMIT] != WZ_NONE && r->f->column[r->of[F_SUBMIT]].required)
		return wz_sheet_bad(&r->sheet, r->of[F_SUBMIT], "the time of submission");
	if (rc >= 0)
		rc = get_time(r, F_START, &t->start_us);
	if (rc >= 0)
		rc = get_time(r, F_END, &t->end_us);
	if (rc >= 0)
		rc = read_run(r, t);
	if (rc >= 0)
		rc = get_time(r, F_WAIT, &wait);
	if (rc >= 0 && wait >= 0 && t->start_us < 0 && t->submit_us >= 0)
		t->start_us = t->submit_us + wait;
	if (rc >= 0 && t->start_us >= 0 && t->end_us < 0 && t->run_us >= 0)
		t->end_us = t->start_us + t->run_us;
	if (rc >= 0 && t->submit_us >= 0 && t->submit_us < r->first_us)
		r->first_us = t->submit_us;
	return rc < 0 ? rc : 0;
}

static int read_record(struct reader *r)
{
	struct wz_sim_task t = {.submit_us = -1, .start_us = -1, .end_us = -1, .run_us = -1};
	struct ask a = {.nodes = 1};
	struct wz_str batch = get_text(r, F_BATCH);
	char name[32], template_[WZ_SIM_NAME_MAX + 1];
	struct wz_buf b, tb;
	int64_t priority = 0;
	int rc = read_ask(r, &a);

	if (rc >= 0)
		rc = read_times(r, &t);
	if (rc >= 0)
		rc = get_number(r, F_PRIORITY, 1, INT32_MAX, &priority);
	if (rc < 0)
		return rc;
	wz_buf_init_fixed(&b, name, sizeof(name));
	t.name = get_text(r, F_NAME);
	if (t.name.len == 0) {
		wz_buf_addz(&b, "j");
		wz_buf_add_u64(&b, r->row);
		t.name = wz_buf_str(&b);
	}
	wz_buf_init_fixed(&tb, template_, sizeof(template_));
	t.template_ = get_text(r, F_TEMPLATE);
	if (batch.len && t.template_.len + batch.len + 1 <= WZ_SIM_NAME_MAX) {
		wz_buf_add(&tb, t.template_);
		wz_buf_addz(&tb, "/");
		wz_buf_add(&tb, batch);
		t.template_ = wz_buf_str(&tb);
	}
	t.user = get_text(r, F_USER);
	t.queue = get_text(r, F_QUEUE);
	t.priority = (int32_t)priority;
	if (r->f->restart_us)
		t.restart_us = r->f->restart_us(get_text(r, F_TEMPLATE), (uint32_t)(a.milli / 1000));
	rc = profile_of(r, &a, &t.profile);
	if (rc >= 0)
		rc = wz_sim_tasks_add(r->tasks, &t, r->sheet.err);
	return rc < 0 ? wz_sheet_at(&r->sheet, rc, r->of[F_NAME] == WZ_NONE ? 0 : r->of[F_NAME]) : 0;
}

/* ---- a file ---- */

static uint32_t columns_of(const struct job_csv *f, struct wz_sheet_column *ret, uint32_t *of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < F_LAST; i++)
		of[i] = WZ_NONE;
	for (; f->column[n].name; n++) {
		ret[n] = (struct wz_sheet_column){f->column[n].name, f->column[n].required};
		of[f->column[n].field] = n;
	}
	return n;
}

static int read_file(const struct job_csv *f, const struct wz_trace_source *src, struct wz_sim_nodes *nodes,
        struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct reader r = {.f = f, .nodes = nodes, .tasks = tasks, .first_us = INT64_MAX};
	uint32_t before = tasks->n;
	int rc;

	for (uint32_t i = 0; i < nodes->n; i++)
		r.node_gpus = nodes->node[i].n_devices > r.node_gpus ? nodes->node[i].n_devices : r.node_gpus;
	r.node_gpus = r.node_gpus ? r.node_gpus : NODE_GPUS;
	r.n = columns_of(f, r.column, r.of);
	rc = wz_sheet_open(&r.sheet, tasks->mem, src, r.column, r.n, err);
	while (rc == 0 && (rc = wz_sheet_next(&r.sheet)) > 0) {
		r.row++;
		rc = read_record(&r);
	}
	if (rc == 0 && tasks->n == before)
		rc = wz_sheet_at(&r.sheet,
		        wz_err_set(err, -EBADMSG, "EmptyTrace", WZ_STR("no record follows the header")), 0);
	if (rc == 0 && r.dates && r.first_us != INT64_MAX)
		wz_sim_tasks_rebase(tasks, before, r.first_us);
	wz_sheet_close(&r.sheet);
	return rc;
}

static unsigned sniff(const struct job_csv *f, struct wz_str text)
{
	struct wz_sheet_column column[20];
	uint32_t of[F_LAST], n = columns_of(f, column, of);

	return wz_sheet_sniff(text, column, n) ? WZ_TRACE_TASKS : 0;
}

static int write_refused(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes, (void)tasks, (void)what, (void)b;
	return wz_err_set(err, -EOPNOTSUPP, "ReadOnly", WZ_STR("this format is only read; write openb or wz"));
}

/* Each format needs functions without an argument that says which it is: the macro binds them. */
#define JOB_CSV(id, name_, summary_, ...) \
	static const struct job_csv id##_csv; \
	static unsigned id##_sniff(struct wz_str text) \
	{ \
		return sniff(&id##_csv, text); \
	} \
	static int id##_read(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, \
	        struct wz_sim_tasks *tasks, struct wz_err *err) \
	{ \
		return read_file(&id##_csv, src, nodes, tasks, err); \
	} \
	const struct wz_trace_format wz_format_##id = {.name = name_, \
	        .summary = summary_, \
	        .sniff = id##_sniff, \
	        .read_tasks = id##_read, \
	        .write = write_refused, \
	        .nodes_file = name_ ".csv", \
	        .tasks_file = name_ ".csv"}; \
	static const struct job_csv id##_csv = {__VA_ARGS__};

/* Seconds that a start took on Muri's testbed, by model and GPUs (1, 2, 4, 8, 16, 32 or more); 10 where it was not measured. */
static int64_t muri_restart_us(struct wz_str model, uint32_t gpus)
{
	static const struct {
		const char *model;
		uint8_t s[6];
	} measured[] = {{"vgg16", {7, 7, 8, 9, 9, 10}}, {"vgg19", {7, 7, 8, 9, 10, 10}},
	        {"resnet18", {4, 5, 5, 7, 7, 7}}, {"shufflenet_v2_x1_0", {4, 4, 5, 5, 7, 8}},
	        {"bert", {10, 10, 10, 10, 10, 10}}, {"gpt2", {10, 10, 10, 10, 10, 10}},
	        {"a2c", {38, 39, 39, 46, 46, 46}}, {"dqn", {5, 5, 6, 6, 8, 8}}};
	uint32_t size = gpus <= 1 ? 0 : 32 - (uint32_t)__builtin_clz(gpus - 1);

	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++)
		if (wz_str_eq(model, wz_str(measured[i].model)))
			return measured[i].s[size < 6 ? size : 5] * SECOND_US;
	return 10 * SECOND_US;
}

JOB_CSV(muri, "muri", "Muri and Tiresias: job_id,num_gpu,submit_time,iterations,...,iteration_time (ms)",
        .run_ppm = 1015000, .restart_us = muri_restart_us,
        .column = {{"job_id", F_NAME, U_NONE, true}, {"num_gpu", F_GPUS, U_NONE, true},
                {"submit_time", F_SUBMIT, U_MS, true}, {"iterations", F_STEPS, U_NONE, true},
                {"iteration_time", F_STEP_TIME, U_MS, true}, {"model_name", F_TEMPLATE, U_NONE, true},
                {"batch_size", F_BATCH, U_NONE, false}, {"duration", F_RUN, U_MS, true},
                {"priority", F_PRIORITY, U_NONE, false}})

JOB_CSV(tiresias, "tiresias", "Tiresias: job_id,num_gpu,submit_time,iterations,model_name,duration,interval (s)",
        .column = {{"job_id", F_NAME, U_NONE, true}, {"num_gpu", F_GPUS, U_NONE, true},
                {"submit_time", F_SUBMIT, U_S, true}, {"duration", F_RUN, U_S, true},
                {"model_name", F_TEMPLATE, U_NONE, true}, {"interval", F_CLASS, U_NONE, true}})

JOB_CSV(chronus, "chronus", "Chronus: Philly jobs with deadlines (times in minutes)",
        .column = {{"job_id", F_NAME, U_NONE, true}, {"num_gpu", F_GPUS, U_NONE, true},
                {"submit_time", F_SUBMIT, U_MIN, true}, {"duration", F_RUN, U_MIN, true},
                {"user", F_QUEUE, U_NONE, true}, {"model_name", F_TEMPLATE, U_NONE, true},
                {"expect_time_list", F_CLASS, U_NONE, true}})

JOB_CSV(elasticflow, "elasticflow", "ElasticFlow: jobs with deadlines",
        .column = {{"job_id", F_NAME, U_NONE, true}, {"submit_time", F_SUBMIT, U_S, true},
                {"model_name", F_TEMPLATE, U_NONE, true}, {"ddl", F_CLASS, U_NONE, true},
                {"batch_size", F_BATCH, U_NONE, true}, {"num_gpu", F_GPUS, U_NONE, true},
                {"duration", F_RUN, U_S, true}})

JOB_CSV(philly, "philly", "Philly: timestamp,duration,num_gpus,gpu_time,cluster",
        .column = {{"timestamp", F_SUBMIT, U_DATE, true}, {"duration", F_RUN, U_S, true},
                {"num_gpus", F_GPUS, U_NONE, true}, {"cluster", F_QUEUE, U_NONE, true}})

JOB_CSV(helios, "helios", "Helios and Acme: job_id,user,...,gpu_num,...,submit_time,...,duration",
        .column = {{"job_id", F_NAME, U_NONE, true}, {"user", F_USER, U_NONE, true},
                {"gpu_num", F_GPUS, U_NONE, true}, {"cpu_num", F_CPUS, U_NONE, false},
                {"node_num", F_NODES, U_NONE, false}, {"submit_time", F_SUBMIT, U_DATE, true},
                {"start_time", F_START, U_DATE, false}, {"end_time", F_END, U_DATE, false},
                {"duration", F_RUN, U_S, true}, {"jobname", F_TEMPLATE, U_NONE, false},
                {"vc", F_QUEUE, U_NONE, false}})

JOB_CSV(pai, "pai", "Alibaba PAI 2020: job_id,num_inst,plan_gpu,...,submit_time,duration",
        .column = {{"job_id", F_NAME, U_NONE, true}, {"num_inst", F_NODES, U_ONE, true},
                {"num_gpu", F_GPUS, U_NONE, true}, {"num_cpu", F_CPUS, U_NONE, false},
                {"user", F_USER, U_NONE, false}, {"group", F_TEMPLATE, U_NONE, false},
                {"submit_time", F_SUBMIT, U_S, true}, {"duration", F_RUN, U_S, true},
                {"wait_time", F_WAIT, U_S, false}})

JOB_CSV(spotjobs, "alibaba-spot",
        "Alibaba 2026 spot-GPU jobs: job_name,...,gpu_request,worker_num,submit_time,duration",
        .column = {{"job_name", F_NAME, U_NONE, true}, {"organization", F_QUEUE, U_NONE, true},
                {"gpu_request", F_GPUS, U_NONE, true}, {"cpu_request", F_CPUS, U_NONE, false},
                {"worker_num", F_NODES, U_ONE, true}, {"submit_time", F_SUBMIT, U_S, true},
                {"duration", F_RUN, U_S, true}, {"job_type", F_CLASS, U_NONE, false}})

JOB_CSV(dlrm, "alibaba-dlrm", "Alibaba 2025 recommendation serving: instance_sn,role,app_name,...,deletion_time",
        .column = {{"instance_sn", F_NAME, U_NONE, true}, {"app_name", F_TEMPLATE, U_NONE, true},
                {"role", F_QUEUE, U_NONE, true}, {"gpu_request", F_GPUS, U_NONE, true},
                {"cpu_request", F_CPUS, U_NONE, true}, {"memory_request", F_MEM, U_GIB, true},
                {"creation_time", F_SUBMIT, U_S, false}, {"scheduled_time", F_START, U_S, false},
                {"deletion_time", F_END, U_S, false}})

JOB_CSV(genai, "alibaba-genai", "Alibaba 2026 image generation: gmt_create,predict_type,...,exec_time_seconds",
        .column = {{"gmt_create", F_SUBMIT, U_DATE, true}, {"exec_time_seconds", F_RUN, U_S, true},
                {"predict_type", F_TEMPLATE, U_NONE, true}, {"checkpoint_model_version_id", F_BATCH, U_NONE, false},
                {"groupId", F_USER, U_NONE, false}})
