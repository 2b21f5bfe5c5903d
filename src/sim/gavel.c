/* SPDX-License-Identifier: Apache-2.0 */
/* Gavel's traces (OSDI 2020) and Shockwave's (NSDI 2023): tab-separated, no header, in three widths:
 *
 *	 7   job type, command, steps argument, needs data, steps, arrival s, GPUs
 *	10   job type, command, folder, steps argument, needs data, steps, GPUs, priority weight, SLO, arrival s
 *	12   job type, command, folder, steps argument, needs data, steps, GPUs, mode, priority weight, SLO, run time s, arrival s
 *
 * and the table of measured speeds, a JSON object {device: {"('job type', GPUs)": {"null": steps a second, ...}}}, which is read
 * too when it lies beside the trace or a folder up. A job's work is its steps; how long it takes depends on the device type.
 * Speeds of workers spread over nodes ("..._unconsolidated") and of shared devices are not read. */
#include "base/quant.h"
#include "sim/jtext.h"
#include "sim/sheet.h"

#define SECOND_US INT64_C(1000000)
#define COLUMNS_MAX 12u

static const char *const companions[] = {"simulation_throughputs.json", "tacc_throughputs.json", NULL};

struct line {
	struct wz_str field[COLUMNS_MAX];
	uint32_t n;
};

static struct wz_str first_line(struct wz_str text)
{
	const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
	return end ? (struct wz_str){text.ptr, (size_t)(end - text.ptr)} : text;
}

static void split(struct wz_str s, struct line *l)
{
	l->n = 0;
	while (s.ptr && l->n < COLUMNS_MAX + 1) {
		struct wz_str f = wz_str_trim(wz_str_split(&s, '\t'));
		if (l->n < COLUMNS_MAX)
			l->field[l->n] = f;
		l->n++;
	}
}

static unsigned sniff(struct wz_str text)
{
	struct wz_str s = first_line(text);
	struct line l;

	if (s.len > 65536)
		return 0;
	split(s, &l);
	return (l.n == 7 || l.n == 10 || l.n == 12) && l.field[0].len && memchr(l.field[0].ptr, '(', l.field[0].len)
	               ? WZ_TRACE_TASKS
	               : 0;
}

static const struct columns {
	uint32_t n, steps, arrival, gpus, weight, run;
} widths[] = {{7, 4, 5, 6, 99, 99}, {10, 5, 9, 6, 7, 99}, {12, 5, 11, 6, 8, 10}};

struct reader {
	const struct wz_trace_source *src;
	struct wz_sim_tasks *tasks;
	struct wz_err *err;
	uint32_t line, node_gpus;
	uint64_t row;
};

static int bad(struct reader *r, const struct line *l, uint32_t c, const char *expected)
{
	struct wz_str f = l->field[c];
	uint32_t column = 1;

	for (uint32_t i = 0; i < c; i++)
		column += (uint32_t)l->field[i].len + 1;
	f.len = f.len > 48 ? 48 : f.len;
	wz_err_set(r->err, -EBADMSG, "BadField", WZ_STR("\""), f, WZ_STR("\" is not what is here; expected "),
	        wz_str(expected));
	wz_csv_err_at(r->err, r->src->name, r->line, column);
	return -EBADMSG;
}

static void key_of(struct wz_buf *b, struct wz_str type, int64_t gpus)
{
	wz_buf_add(b, type);
	wz_buf_addc(b, '/');
	wz_buf_add_i64(b, gpus);
}

static int profile_of(struct reader *r, uint32_t gpus, uint32_t *ret)
{
	char key[16];
	struct wz_buf b;
	struct wz_profile p;
	uint32_t per = gpus > r->node_gpus ? 1 : gpus; /* Gavel's servers have one device: tasks of one, then */

	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_buf_addz(&b, "gavel ");
	wz_buf_add_u64(&b, gpus);
	*ret = wz_sim_tasks_find_profile(r->tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	wz_profile_init(&p);
	p.gpus = per;
	p.tasks_min = p.tasks_max = gpus / per;
	p.preempt.movable = 1;
	if (wz_profile_finish(&p, NULL, r->err) < 0)
		return -EBADMSG;
	return wz_sim_tasks_add_profile(r->tasks, wz_buf_str(&b), &p, ret, r->err);
}

static int read_job(struct reader *r, const struct line *l, const struct columns *c)
{
	struct wz_sim_task t = {.submit_us = -1, .start_us = -1, .end_us = -1, .run_us = -1};
	char name[32], key[WZ_SIM_NAME_MAX + 16];
	struct wz_buf b;
	int64_t gpus = 0;
	int rc;

	if (wz_decimal_parse(l->field[c->steps], 1, INT64_C(1) << 50, &t.steps) < 0)
		return bad(r, l, c->steps, "a number of steps");
	if (wz_decimal_parse(l->field[c->arrival], SECOND_US, WZ_SIM_TIME_MAX_US, &t.submit_us) < 0)
		return bad(r, l, c->arrival, "an arrival time in seconds");
	if (wz_decimal_parse(l->field[c->gpus], 1, 4096, &gpus) < 0 || gpus < 1)
		return bad(r, l, c->gpus, "a number of GPUs 1..4096");
	if (c->run < COLUMNS_MAX &&
	        wz_decimal_parse(l->field[c->run], SECOND_US, WZ_SIM_TIME_MAX_US, &t.run_us) < 0)
		return bad(r, l, c->run, "a run time in seconds");
	if (l->field[0].len == 0 || l->field[0].len > WZ_SIM_NAME_MAX)
		return bad(r, l, 0, "a job type of 1..253 bytes");
	wz_buf_init_fixed(&b, key, sizeof(key));
	key_of(&b, l->field[0], gpus);
	t.speeds = wz_sim_tasks_find_speeds(r->tasks, wz_buf_str(&b));
	t.template_ = l->field[0];
	wz_buf_init_fixed(&b, name, sizeof(name));
	wz_buf_addz(&b, "j");
	wz_buf_add_u64(&b, r->row++);
	t.name = wz_buf_str(&b);
	rc = profile_of(r, (uint32_t)gpus, &t.profile);
	if (rc == 0)
		rc = wz_sim_tasks_add(r->tasks, &t, r->err);
	if (rc < 0)
		wz_csv_err_at(r->err, r->src->name, r->line, 1);
	return rc;
}

static int read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct reader r = {.src = src, .tasks = tasks, .err = err, .row = 1};
	struct wz_str text = src->text;
	int rc = 0;

	for (uint32_t i = 0; i < nodes->n; i++)
		r.node_gpus = nodes->node[i].n_devices > r.node_gpus ? nodes->node[i].n_devices : r.node_gpus;
	r.node_gpus = r.node_gpus ? r.node_gpus : 8;
	while (rc == 0 && text.ptr && text.len) {
		struct wz_str s = wz_str_split(&text, '\n');
		const struct columns *c = widths;
		struct line l;
		r.line++;
		if (wz_str_trim(s).len == 0)
			continue;
		split(s, &l);
		while (c < widths + 3 && c->n != l.n)
			c++;
		if (c == widths + 3) {
			rc = wz_err_set(err, -EBADMSG, "FieldCount",
			        WZ_STR("the line has not 7, 10 or 12 fields between tabs"));
			wz_csv_err_at(err, src->name, r.line, 1);
		} else {
			rc = read_job(&r, &l, c);
		}
	}
	return rc;
}

/* ---- speeds ---- */

static unsigned speeds_sniff(struct wz_str text)
{
	struct wz_jtext j;
	struct wz_str key;

	wz_jtext_init(&j, (struct wz_str){text.ptr, text.len > 4096 ? 4096 : text.len});
	if (wz_jtext_peek(&j) != '{' || !wz_jtext_object(&j) || !wz_jtext_key(&j, &key) || wz_jtext_peek(&j) != '{')
		return 0;
	return wz_jtext_object(&j) && wz_jtext_key(&j, &key) && wz_str_starts(key, WZ_STR("('")) ? WZ_TRACE_FACTS
	                                                                                         : 0;
}

/* "('ResNet-18 (batch size 16)', 1)" */
static bool type_of(struct wz_str key, struct wz_str *ret_type, int64_t *ret_gpus)
{
	const char *end = key.ptr + key.len, *quote = NULL;

	if (!wz_str_starts(key, WZ_STR("('")) || key.len < 6 || end[-1] != ')')
		return false;
	for (const char *p = key.ptr + 2; p < end; p++)
		quote = *p == '\'' ? p : quote;
	if (!quote || end - quote < 4 || quote[1] != ',' || quote - key.ptr > (ptrdiff_t)WZ_SIM_NAME_MAX)
		return false;
	*ret_type = (struct wz_str){key.ptr + 2, (size_t)(quote - key.ptr) - 2};
	return wz_decimal_parse(wz_str_trim((struct wz_str){quote + 2, (size_t)(end - 1 - (quote + 2))}), 1, 4096,
	               ret_gpus) == 0;
}

static int read_type(struct wz_jtext *j, struct wz_sim_tasks *tasks, struct wz_str device, struct wz_err *err)
{
	struct wz_str key, type, inner, number;
	int64_t gpus, micro;
	int rc = 0;

	wz_jtext_object(j);
	while (rc == 0 && wz_jtext_key(j, &key)) {
		char name[WZ_SIM_NAME_MAX + 32];
		struct wz_buf b;
		if (!type_of(key, &type, &gpus)) {
			wz_jtext_fail(j, "a key such as \"('model', 1)\"");
			break;
		}
		wz_buf_init_fixed(&b, name, sizeof(name));
		key_of(&b, type, gpus);
		wz_jtext_object(j);
		while (rc == 0 && wz_jtext_key(j, &inner)) {
			if (!wz_str_eq(inner, WZ_STR("null"))) {
				wz_jtext_skip(j);
			} else if (wz_jtext_number(j, &number)) {
				if (wz_decimal_parse(number, 1000000, INT64_C(1) << 50, &micro) < 0)
					wz_jtext_fail(j, "a speed in steps a second");
				else if (micro > 0)
					rc = wz_sim_tasks_speed(tasks, wz_buf_str(&b), device, micro, err);
			}
		}
	}
	return rc;
}

static int read_facts(const struct wz_trace_source *src, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_jtext j;
	struct wz_str device;
	int rc = 0;

	wz_jtext_init(&j, src->text);
	wz_jtext_object(&j);
	while (rc == 0 && wz_jtext_key(&j, &device)) {
		if (device.len > 15 &&
		        wz_str_eq((struct wz_str){device.ptr + device.len - 15, 15}, WZ_STR("_unconsolidated")))
			wz_jtext_skip(&j);
		else
			rc = read_type(&j, tasks, device, err);
	}
	if (rc == 0)
		wz_jtext_end(&j);
	return rc < 0 ? rc : wz_jtext_err(&j, src->name, err);
}

static int write_refused(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes, (void)tasks, (void)what, (void)b;
	return wz_err_set(err, -EOPNOTSUPP, "ReadOnly", WZ_STR("this format is only read; write openb or wz"));
}

const struct wz_trace_format wz_format_gavel = {.name = "gavel",
        .summary = "Gavel and Shockwave: tab-separated, no header; speeds beside it",
        .sniff = sniff,
        .read_tasks = read_tasks,
        .write = write_refused,
        .nodes_file = "gavel.trace",
        .tasks_file = "gavel.trace",
        .companions = companions};
const struct wz_trace_format wz_format_gavel_speeds = {.name = "gavel-speeds",
        .summary = "Gavel: steps a second by device, job type and GPUs (JSON)",
        .sniff = speeds_sniff,
        .write = write_refused,
        .nodes_file = "throughputs.json",
        .tasks_file = "throughputs.json",
        .read_facts = read_facts};
