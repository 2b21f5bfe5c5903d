/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/slurm.h"

#include "base/quant.h"
#include "sim/sheet.h"

#define SECOND_US INT64_C(1000000)
#define COLUMNS_MAX 64u

static int bad(struct wz_err *err, const struct wz_trace_source *src, uint32_t line, uint32_t column,
        struct wz_str what, const char *expected)
{
	what.len = what.len > 48 ? 48 : what.len;
	wz_err_set(err, -EBADMSG, "BadField", WZ_STR("\""), what, WZ_STR("\" is not what is here; expected "),
	        wz_str(expected));
	wz_csv_err_at(err, src->name, line, column);
	return -EBADMSG;
}

/* ---- sacct ---- */

enum {
	C_ID,
	C_NAME,
	C_USER,
	C_ACCOUNT,
	C_PARTITION,
	C_SUBMIT,
	C_START,
	C_END,
	C_ELAPSED,
	C_LIMIT,
	C_NODES,
	C_ALLOC,
	C_REQ,
	C_PRIORITY,
	C_LAST
};
static const char *const names[C_LAST] = {"JobID", "JobName", "User", "Account", "Partition", "Submit", "Start",
        "End", "ElapsedRaw", "Timelimit", "NNodes", "AllocTRES", "ReqTRES", "Priority"};

struct sacct {
	const struct wz_trace_source *src;
	struct wz_sim_tasks *tasks;
	struct wz_err *err;
	uint32_t at[C_LAST], n, line;
	struct wz_str field[COLUMNS_MAX];
	uint32_t column[COLUMNS_MAX];
	int64_t first_us;
};

static uint32_t split(struct sacct *s, struct wz_str line)
{
	uint32_t n = 0, column = 1;

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	while (line.ptr && n < COLUMNS_MAX) {
		struct wz_str f = wz_str_split(&line, '|');
		s->field[n] = wz_str_trim(f);
		s->column[n++] = column;
		column += (uint32_t)f.len + 1;
	}
	return n;
}

static struct wz_str get(const struct sacct *s, int c)
{
	return s->at[c] == WZ_NONE ? WZ_STR("") : s->field[s->at[c]];
}

static int wrong(struct sacct *s, int c, const char *expected)
{
	return bad(s->err, s->src, s->line, s->at[c] == WZ_NONE ? 1 : s->column[s->at[c]], get(s, c), expected);
}

static bool known(struct wz_str s)
{
	return s.len && !wz_str_eq(s, WZ_STR("Unknown")) && !wz_str_eq(s, WZ_STR("None")) &&
	       !wz_str_eq(s, WZ_STR("Partition_Limit")) && !wz_str_eq(s, WZ_STR("UNLIMITED"));
}

static int date(struct sacct *s, int c, int64_t *ret)
{
	return known(get(s, c)) && wz_date_parse(get(s, c), ret) < 0
	               ? wrong(s, c, "a time such as 2026-12-01T10:00:00")
	               : 0;
}

/* "cpu=8,mem=64G,node=1,gres/gpu=4,gres/gpu:a100=4": value of one key; an empty one when it is not there. */
static struct wz_str tres(struct wz_str s, struct wz_str key)
{
	while (s.ptr) {
		struct wz_str value = wz_str_split(&s, ','), k = wz_str_split(&value, '=');
		if (wz_str_eq(k, key))
			return value;
	}
	return WZ_STR("");
}

static int profile_of(
        struct sacct *s, int64_t gpus, int64_t nodes, int64_t cpus, uint64_t mem, uint64_t limit, uint32_t *ret)
{
	char key[160];
	struct wz_buf b;
	struct wz_profile p;
	int64_t tasks = nodes > 1 && gpus % nodes == 0 && gpus / nodes <= WZ_NODE_DEVICES_MAX ? nodes : 1;

	while (gpus / tasks > WZ_NODE_DEVICES_MAX || gpus % tasks)
		tasks++;
	wz_buf_init_fixed(&b, key, sizeof(key));
	const int64_t v[] = {gpus, tasks, cpus, (int64_t)mem, (int64_t)limit};
	for (int i = 0; i < 5; i++) {
		wz_buf_add_i64(&b, v[i]);
		wz_buf_addc(&b, ' ');
	}
	*ret = wz_sim_tasks_find_profile(s->tasks, wz_buf_str(&b));
	if (*ret != WZ_NONE)
		return 0;
	wz_profile_init(&p);
	p.gpus = (uint32_t)(gpus / tasks);
	p.tasks_min = p.tasks_max = (uint32_t)tasks;
	p.cpu_milli = (uint64_t)(cpus * 1000 / tasks);
	p.mem_bytes = mem / (uint64_t)tasks;
	p.time_us = limit;
	if (wz_profile_finish(&p, NULL, s->err) < 0)
		return wrong(s, C_ALLOC, "a request that one node can hold");
	return wz_sim_tasks_add_profile(s->tasks, wz_buf_str(&b), &p, ret, s->err);
}

/* D-HH:MM:SS, HH:MM:SS, MM:SS or minutes. */
static bool limit_of(struct wz_str s, uint64_t *ret_us)
{
	int64_t part[4] = {0}, day = 0;
	uint32_t n = 0;
	struct wz_str rest = s, d;

	if (memchr(s.ptr, '-', s.len)) {
		d = wz_str_split(&rest, '-');
		if (wz_decimal_parse(d, 1, 36500, &day) < 0)
			return false;
	}
	while (rest.ptr && n < 3)
		if (wz_decimal_parse(wz_str_split(&rest, ':'), 1, 10000000, &part[n++]) < 0)
			return false;
	if (rest.ptr)
		return false;
	int64_t seconds = n == 3                        ? part[0] * 3600 + part[1] * 60 + part[2]
	                  : n == 2 && s.ptr == rest.ptr ? 0
	                  : n == 2                      ? part[0] * 60 + part[1]
	                                                : part[0] * 60;
	if (day && n < 3) /* days-hours[:minutes] */
		seconds = part[0] * 3600 + part[1] * 60;
	*ret_us = (uint64_t)(day * 86400 + seconds) * 1000000;
	return true;
}

static int job(struct sacct *s)
{
	struct wz_sim_task t = {.submit_us = -1,
	        .start_us = -1,
	        .end_us = -1,
	        .run_us = -1,
	        .name = get(s, C_ID),
	        .user = get(s, C_USER)};
	struct wz_str alloc = get(s, C_ALLOC).len ? get(s, C_ALLOC) : get(s, C_REQ), v;
	int64_t gpus = 0, nodes = 1, cpus = 0, priority = 0;
	uint64_t mem = 0, limit = 0;
	int rc;

	if (t.name.len == 0)
		return wrong(s, C_ID, "a job id");
	if (memchr(t.name.ptr, '.', t.name.len)) /* a step of a job */
		return 0;
	if ((rc = date(s, C_SUBMIT, &t.submit_us)) < 0 || (rc = date(s, C_START, &t.start_us)) < 0 ||
	        (rc = date(s, C_END, &t.end_us)) < 0)
		return rc;
	if (get(s, C_ELAPSED).len &&
	        wz_decimal_parse(get(s, C_ELAPSED), SECOND_US, WZ_SIM_TIME_MAX_US, &t.run_us) < 0)
		return wrong(s, C_ELAPSED, "seconds");
	if (t.end_us >= 0 && t.start_us < 0)
		t.end_us = -1; /* cancelled while it waited */
	if (t.end_us >= 0 && t.end_us < t.start_us)
		return wrong(s, C_END, "an end after the start");
	v = tres(alloc, WZ_STR("gres/gpu"));
	if (v.len && wz_decimal_parse(v, 1, 65536, &gpus) < 0)
		return wrong(s, get(s, C_ALLOC).len ? C_ALLOC : C_REQ, "gres/gpu=NUMBER");
	v = tres(alloc, WZ_STR("cpu"));
	if (v.len && wz_decimal_parse(v, 1, 1 << 24, &cpus) < 0)
		return wrong(s, get(s, C_ALLOC).len ? C_ALLOC : C_REQ, "cpu=NUMBER");
	v = tres(alloc, WZ_STR("mem"));
	if (v.len) {
		char text[32];
		struct wz_buf b;
		wz_buf_init_fixed(&b, text, sizeof(text)); /* Slurm's K, M, G, T are binary */
		wz_buf_add(&b, v);
		if (v.ptr[v.len - 1] >= 'A')
			wz_buf_addc(&b, 'i');
		if (wz_bytes_parse(wz_buf_str(&b), &mem, NULL) < 0 || mem > (uint64_t)WZ_BYTES_MAX)
			return wrong(s, get(s, C_ALLOC).len ? C_ALLOC : C_REQ, "mem=NUMBER with K, M, G or T");
	}
	if (get(s, C_NODES).len && wz_decimal_parse(get(s, C_NODES), 1, 65536, &nodes) < 0)
		return wrong(s, C_NODES, "a number of nodes");
	if (get(s, C_PRIORITY).len && wz_decimal_parse(get(s, C_PRIORITY), 1, UINT32_MAX, &priority) < 0)
		return wrong(s, C_PRIORITY, "a number");
	if (known(get(s, C_LIMIT)) && !limit_of(get(s, C_LIMIT), &limit))
		return wrong(s, C_LIMIT, "a time such as 1-12:00:00");
	t.queue = get(s, C_ACCOUNT).len ? get(s, C_ACCOUNT) : get(s, C_PARTITION);
	t.template_ = get(s, C_NAME);
	t.priority = (int32_t)(priority > INT32_MAX ? INT32_MAX : priority);
	rc = profile_of(s, gpus, nodes < 1 ? 1 : nodes, cpus, mem, limit, &t.profile);
	if (rc < 0)
		return rc;
	if (t.submit_us >= 0 && t.submit_us < s->first_us)
		s->first_us = t.submit_us;
	rc = wz_sim_tasks_add(s->tasks, &t, s->err);
	if (rc < 0)
		wz_csv_err_at(s->err, s->src->name, s->line, s->column[s->at[C_ID]]);
	return rc;
}

int wz_slurm_sacct(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct sacct s = {.src = src, .tasks = tasks, .err = err, .first_us = INT64_MAX, .line = 1};
	struct wz_str text = src->text;
	uint32_t before = tasks->n, n;
	int rc = 0;

	(void)nodes;
	s.n = split(&s, wz_str_split(&text, '\n'));
	for (int c = 0; c < C_LAST; c++) {
		s.at[c] = WZ_NONE;
		for (uint32_t i = 0; i < s.n; i++)
			if (wz_str_eq(s.field[i], wz_str(names[c])))
				s.at[c] = i;
	}
	if (s.at[C_ID] == WZ_NONE || s.at[C_SUBMIT] == WZ_NONE ||
	        (s.at[C_ELAPSED] == WZ_NONE && s.at[C_END] == WZ_NONE))
		return bad(err, src, 1, 1, s.n ? s.field[0] : WZ_STR(""),
		        "the header of sacct -P with JobID, Submit and ElapsedRaw (or Start and End)");
	while (rc == 0 && text.ptr && text.len) {
		struct wz_str line = wz_str_split(&text, '\n');
		s.line++;
		if (wz_str_trim(line).len == 0)
			continue;
		n = split(&s, line);
		rc = n == s.n ? job(&s)
		              : bad(err, src, s.line, 1, s.field[0], "as many fields between | as in the header");
	}
	if (rc == 0 && s.first_us != INT64_MAX)
		wz_sim_tasks_rebase(tasks, before, s.first_us);
	return rc;
}

/* ---- nodes ---- */

struct node {
	struct wz_str name, model;
	int64_t cpus, mem_mib, gpus;
};

/* gpu:a100:8(S:0-1), gpu:8, several with commas: the first that is a gpu. */
static bool gres(struct wz_str s, struct node *n)
{
	while (s.ptr) {
		struct wz_str part = wz_str_split(&s, ','), count, kind;
		const char *paren = part.len ? memchr(part.ptr, '(', part.len) : NULL;
		if (paren)
			part.len = (size_t)(paren - part.ptr);
		kind = wz_str_split(&part, ':');
		if (!wz_str_eq(kind, WZ_STR("gpu")) || !part.ptr)
			continue;
		count = part;
		n->model = wz_str_split(&count, ':');
		if (!count.ptr) {
			count = n->model;
			n->model = WZ_STR("");
		}
		return wz_decimal_parse(count, 1, WZ_NODE_DEVICES_MAX, &n->gpus) == 0;
	}
	return true;
}

static int add_node(struct wz_sim_nodes *nodes, const struct node *x, struct wz_str name, struct wz_err *err)
{
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX] = {0};
	struct wz_ev_node n = {.name = name,
	        .cpu_milli = x->cpus * 1000,
	        .mem_bytes = x->mem_mib << 20,
	        .device = device,
	        .n_devices = (uint32_t)x->gpus};
	wz_model_id id = {0};
	int rc = x->gpus ? wz_sim_nodes_model(nodes, x->model.len ? x->model : WZ_STR("gpu"), NULL, &id, err) : 0;

	for (int64_t i = 0; i < x->gpus; i++)
		device[i] = (struct wz_device_facts){.model = id, .compute_milli = WZ_WHOLE};
	return rc == 0 ? wz_sim_nodes_add(nodes, &n, err) : rc;
}

/* a[01-16,20]: one list in brackets, numbers as wide as written. */
static int add_nodes(struct wz_sim_nodes *nodes, const struct node *x, struct wz_err *err)
{
	const char *open = x->name.len ? memchr(x->name.ptr, '[', x->name.len) : NULL;
	struct wz_str list, prefix;
	int rc = 0;

	if (!open)
		return add_node(nodes, x, x->name, err);
	if (x->name.ptr[x->name.len - 1] != ']')
		return wz_err_set(err, -EBADMSG, "BadName", WZ_STR("the node list \""), x->name,
		        WZ_STR("\" is not NAME[01-16,20]"));
	prefix = (struct wz_str){x->name.ptr, (size_t)(open - x->name.ptr)};
	list = (struct wz_str){open + 1, x->name.len - prefix.len - 2};
	while (rc == 0 && list.ptr) {
		struct wz_str to = wz_str_split(&list, ','), from = wz_str_split(&to, '-');
		int64_t a = 0, b = 0;
		if (!to.ptr)
			to = from;
		if (wz_decimal_parse(from, 1, 10000000, &a) < 0 || wz_decimal_parse(to, 1, 10000000, &b) < 0 ||
		        b < a || b - a > (int64_t)WZ_NODES_MAX || from.len > 12)
			return wz_err_set(err, -EBADMSG, "BadName", WZ_STR("the node list \""), x->name,
			        WZ_STR("\" is not NAME[01-16,20]"));
		for (; rc == 0 && a <= b; a++) {
			char name[WZ_SIM_NAME_MAX + 16];
			struct wz_buf nb;
			struct wz_num num;
			struct wz_str digits = wz_str_i64(&num, a);
			wz_buf_init_fixed(&nb, name, sizeof(name));
			wz_buf_add(&nb, prefix);
			for (size_t k = digits.len; k < from.len; k++)
				wz_buf_addc(&nb, '0');
			wz_buf_add(&nb, digits);
			rc = add_node(nodes, x, wz_buf_str(&nb), err);
		}
	}
	return rc;
}

int wz_slurm_nodes(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct wz_str text = src->text;
	struct node x = {0};
	uint32_t line = 0, began = 0, before = nodes->n;
	int rc = 0;

	for (bool last = false; rc == 0 && !last;) {
		struct wz_str l = text.ptr && text.len ? wz_str_split(&text, '\n') : (struct wz_str){NULL, 0};
		bool starts;
		last = !l.ptr;
		l = wz_str_trim(l);
		line++;
		starts = wz_str_starts(l, WZ_STR("NodeName=")) && !wz_str_starts(l, WZ_STR("NodeName=DEFAULT"));
		if ((starts || last) && x.name.len) {
			rc = add_nodes(nodes, &x, err);
			if (rc < 0) {
				wz_csv_err_at(err, src->name, began, 1);
				break;
			}
			x = (struct node){0};
		}
		if (starts)
			began = line;
		if (l.len == 0 || l.ptr[0] == '#' || (!starts && !x.name.len))
			continue;
		if (!starts &&
		        (wz_str_starts(l, WZ_STR("PartitionName=")) || wz_str_starts(l, WZ_STR("SlurmctldHost")))) {
			rc = add_nodes(nodes, &x, err);
			x = (struct node){0};
			continue;
		}
		for (const char *at = l.ptr; l.ptr && rc == 0;) {
			struct wz_str value = wz_str_split(&l, ' '), key = wz_str_split(&value, '=');
			bool ok = true;
			if (wz_str_eq(key, WZ_STR("NodeName")))
				x.name = value;
			else if (wz_str_eq(key, WZ_STR("CPUTot")) || wz_str_eq(key, WZ_STR("CPUs")))
				ok = wz_decimal_parse(value, 1, 1 << 20, &x.cpus) == 0;
			else if (wz_str_eq(key, WZ_STR("RealMemory")))
				ok = wz_decimal_parse(value, 1, WZ_BYTES_MAX >> 20, &x.mem_mib) == 0;
			else if (wz_str_eq(key, WZ_STR("Gres")))
				ok = gres(value, &x);
			if (!ok)
				rc = bad(err, src, line, (uint32_t)(key.ptr - at) + 1, value,
				        "a number (Gres: gpu:MODEL:NUMBER, at most 64)");
		}
	}
	if (rc == 0 && nodes->n == before)
		rc = bad(err, src, 1, 1, WZ_STR(""), "NodeName=... of scontrol show node or slurm.conf");
	return rc;
}

/* ---- accounts ---- */

/* Account - 'name':Description='...':Fairshare=10:GrpTRES=gres/gpu=16,...  under  Parent - 'root'  */
int wz_slurm_queues(const struct wz_trace_source *src, struct wz_buf *yaml, struct wz_err *err)
{
	struct wz_str text = src->text;
	uint32_t line = 0, n = 0;

	wz_buf_addz(yaml, "# from sacctmgr dump\nqueues:\n");
	while (text.ptr && text.len) {
		struct wz_str l = wz_str_trim(wz_str_split(&text, '\n')), rest, name;
		int64_t gpus = -1, share = -1;
		line++;
		if (!wz_str_starts(l, WZ_STR("Account - '")))
			continue;
		rest = (struct wz_str){l.ptr + 11, l.len - 11};
		name = wz_str_split(&rest, '\'');
		if (!rest.ptr || name.len == 0 || name.len > WZ_SIM_NAME_MAX)
			return bad(err, src, line, 12, name, "Account - 'NAME':...");
		while (rest.ptr) {
			struct wz_str value = wz_str_split(&rest, ':'), key = wz_str_split(&value, '='), v;
			if (wz_str_eq(key, WZ_STR("Fairshare")) &&
			        wz_decimal_parse(value, 1, INT32_MAX, &share) < 0 &&
			        !wz_str_eq(value, WZ_STR("parent")))
				return bad(err, src, line, 1, value, "Fairshare=NUMBER");
			if (!wz_str_eq(key, WZ_STR("GrpTRES")))
				continue;
			v = tres(value, WZ_STR("gres/gpu"));
			if (v.len && wz_decimal_parse(v, 1, INT32_MAX, &gpus) < 0)
				return bad(err, src, line, 1, v, "gres/gpu=NUMBER");
		}
		n++;
		wz_buf_addz(yaml, "  - name: ");
		wz_buf_add_json(yaml, name);
		if (gpus >= 0) {
			wz_buf_addz(yaml, "\n    limit: {gpus: ");
			wz_buf_add_i64(yaml, gpus);
			wz_buf_addz(yaml, "}");
		}
		if (share >= 0) {
			wz_buf_addz(yaml, "\n    weight: ");
			wz_buf_add_i64(yaml, share);
		}
		wz_buf_addc(yaml, '\n');
	}
	return n ? 0
	         : bad(err, src, 1, 1, WZ_STR(""), "lines of sacctmgr dump such as Account - 'name':Fairshare=1");
}
