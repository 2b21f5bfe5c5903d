/* SPDX-License-Identifier: Apache-2.0 */
/* What `kubectl get pods -A -o json` and `kubectl get nodes -o json` print: a List of Pods, of Nodes, or of both. Of a node: its name,
 * allocatable CPU, memory and nvidia.com/gpu, and the label nvidia.com/gpu.product. Of a pod: namespace/name, the queue (its
 * namespace), requests of its containers (limits where there are none), priority, when it was created, when it started, and when its
 * last container ended. Pods without an end have no run time. */
#include "base/quant.h"
#include "sim/jtext.h"
#include "sim/sheet.h"

struct item {
	struct wz_str kind, name, space, product;
	int64_t cpu_milli, mem_bytes, gpus, lim_cpu, lim_mem, lim_gpus;
	int64_t created_us, started_us, ended_us, priority;
};

struct reader {
	struct wz_jtext j;
	struct wz_arena arena;
	const struct wz_trace_source *src;
	struct wz_sim_nodes *nodes;
	struct wz_sim_tasks *tasks;
	struct wz_err *err;
	int64_t first_us;
	bool want_nodes;
};

static unsigned sniff(struct wz_str text)
{
	struct wz_jtext j;
	struct wz_str key, kind = WZ_STR(""), version = WZ_STR("");
	struct wz_arena none = {0};

	wz_jtext_init(&j, text);
	if (wz_jtext_peek(&j) != '{' || !wz_jtext_object(&j))
		return 0;
	while (wz_jtext_key(&j, &key)) {
		if (wz_str_eq(key,
		            WZ_STR("items"))) /* what comes after may be long; kubectl writes it after apiVersion */
			break;
		if (wz_str_eq(key, WZ_STR("kind")) && wz_jtext_peek(&j) == '"')
			wz_jtext_string(&j, &none, &kind);
		else if (wz_str_eq(key, WZ_STR("apiVersion")) && wz_jtext_peek(&j) == '"')
			wz_jtext_string(&j, &none, &version);
		else
			return 0;
	}
	return version.len && !j.what ? WZ_TRACE_NODES | WZ_TRACE_TASKS : 0;
}

static void text_of(struct reader *r, struct wz_str *ret)
{
	if (!wz_jtext_null(&r->j))
		wz_jtext_string(&r->j, &r->arena, ret);
}

static void date_of(struct reader *r, int64_t *ret)
{
	struct wz_str s = WZ_STR("");

	text_of(r, &s);
	if (s.len && wz_date_parse(s, ret) < 0)
		wz_jtext_fail(&r->j, "a time such as 2026-12-01T10:00:00Z");
}

/* A quantity, as a string or a number. */
static void quantity(struct reader *r, bool cpu, int64_t *add)
{
	struct wz_str s = WZ_STR("");
	uint64_t v = 0;
	int rc;

	if (wz_jtext_peek(&r->j) == '"')
		wz_jtext_string(&r->j, &r->arena, &s);
	else
		wz_jtext_number(&r->j, &s);
	if (r->j.what)
		return;
	rc = cpu ? wz_milli_parse(s, &v, NULL) : wz_bytes_parse(s, &v, NULL);
	if (rc < 0 && !cpu && s.len > 1 && s.ptr[s.len - 1] == 'm') { /* milli-bytes are written, too */
		rc = wz_bytes_parse((struct wz_str){s.ptr, s.len - 1}, &v, NULL);
		v /= 1000;
	}
	if (rc < 0 || v > (uint64_t)WZ_CPU_MILLI_MAX * 1024)
		wz_jtext_fail(&r->j, cpu ? "a quantity of CPU" : "a quantity of bytes or devices");
	else
		*add += (int64_t)v;
}

static void resources(struct reader *r, int64_t *cpu, int64_t *mem, int64_t *gpus)
{
	struct wz_str key;

	if (wz_jtext_null(&r->j))
		return;
	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("cpu")))
			quantity(r, true, cpu);
		else if (wz_str_eq(key, WZ_STR("memory")))
			quantity(r, false, mem);
		else if (wz_str_eq(key, WZ_STR("nvidia.com/gpu")) || wz_str_eq(key, WZ_STR("amd.com/gpu")))
			quantity(r, false, gpus);
		else
			wz_jtext_skip(&r->j);
	}
}

static void metadata(struct reader *r, struct item *x)
{
	struct wz_str key;

	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("name")))
			text_of(r, &x->name);
		else if (wz_str_eq(key, WZ_STR("namespace")))
			text_of(r, &x->space);
		else if (wz_str_eq(key, WZ_STR("creationTimestamp")))
			date_of(r, &x->created_us);
		else if (wz_str_eq(key, WZ_STR("labels")) && wz_jtext_peek(&r->j) == '{') {
			wz_jtext_object(&r->j);
			while (wz_jtext_key(&r->j, &key)) {
				if (wz_str_eq(key, WZ_STR("nvidia.com/gpu.product")))
					text_of(r, &x->product);
				else
					wz_jtext_skip(&r->j);
			}
		} else
			wz_jtext_skip(&r->j);
	}
}

static void containers(struct reader *r, struct item *x)
{
	struct wz_str key;

	wz_jtext_array(&r->j);
	while (wz_jtext_item(&r->j)) {
		wz_jtext_object(&r->j);
		while (wz_jtext_key(&r->j, &key)) {
			if (!wz_str_eq(key, WZ_STR("resources")) || wz_jtext_peek(&r->j) != '{') {
				wz_jtext_skip(&r->j);
				continue;
			}
			wz_jtext_object(&r->j);
			while (wz_jtext_key(&r->j, &key)) {
				if (wz_str_eq(key, WZ_STR("requests")))
					resources(r, &x->cpu_milli, &x->mem_bytes, &x->gpus);
				else if (wz_str_eq(key, WZ_STR("limits")))
					resources(r, &x->lim_cpu, &x->lim_mem, &x->lim_gpus);
				else
					wz_jtext_skip(&r->j);
			}
		}
	}
}

static void spec(struct reader *r, struct item *x)
{
	struct wz_str key, s;

	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("containers")))
			containers(r, x);
		else if (wz_str_eq(key, WZ_STR("priority")) && wz_jtext_number(&r->j, &s)) {
			if (wz_str_parse_i64(s, &x->priority) < 0 || x->priority > INT32_MAX ||
			        x->priority < INT32_MIN)
				wz_jtext_fail(&r->j, "a priority of 32 bits");
		} else if (!r->j.what)
			wz_jtext_skip(&r->j);
	}
}

/* containerStatuses: [{state: {terminated: {finishedAt}}}] */
static void ends(struct reader *r, struct item *x)
{
	struct wz_str key;

	wz_jtext_array(&r->j);
	while (wz_jtext_item(&r->j)) {
		wz_jtext_object(&r->j);
		while (wz_jtext_key(&r->j, &key)) {
			if (!wz_str_eq(key, WZ_STR("state")) || wz_jtext_peek(&r->j) != '{') {
				wz_jtext_skip(&r->j);
				continue;
			}
			wz_jtext_object(&r->j);
			while (wz_jtext_key(&r->j, &key)) {
				if (!wz_str_eq(key, WZ_STR("terminated")) || wz_jtext_peek(&r->j) != '{') {
					wz_jtext_skip(&r->j);
					continue;
				}
				wz_jtext_object(&r->j);
				while (wz_jtext_key(&r->j, &key)) {
					int64_t at = -1;
					if (!wz_str_eq(key, WZ_STR("finishedAt"))) {
						wz_jtext_skip(&r->j);
						continue;
					}
					date_of(r, &at);
					x->ended_us = at > x->ended_us ? at : x->ended_us;
				}
			}
		}
	}
}

static void status(struct reader *r, struct item *x, bool node)
{
	struct wz_str key;

	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (node && wz_str_eq(key, WZ_STR("allocatable")))
			resources(r, &x->cpu_milli, &x->mem_bytes, &x->gpus);
		else if (!node && wz_str_eq(key, WZ_STR("startTime")))
			date_of(r, &x->started_us);
		else if (!node && wz_str_eq(key, WZ_STR("containerStatuses")) && wz_jtext_peek(&r->j) == '[')
			ends(r, x);
		else
			wz_jtext_skip(&r->j);
	}
}

static int add_node(struct reader *r, const struct item *x)
{
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX] = {0};
	struct wz_ev_node n = {
	        .name = x->name, .cpu_milli = x->cpu_milli, .mem_bytes = x->mem_bytes, .device = device};
	wz_model_id id = {0};
	int rc = 0;

	if (x->gpus > WZ_NODE_DEVICES_MAX) {
		wz_jtext_fail(&r->j, "at most 64 devices a node");
		return 0;
	}
	if (x->gpus > 0)
		rc = wz_sim_nodes_model(r->nodes, x->product.len ? x->product : WZ_STR("gpu"), NULL, &id, r->err);
	for (int64_t i = 0; i < x->gpus; i++)
		device[i] = (struct wz_device_facts){.model = id, .compute_milli = WZ_WHOLE};
	n.n_devices = (uint32_t)x->gpus;
	return rc == 0 ? wz_sim_nodes_add(r->nodes, &n, r->err) : rc;
}

static int add_pod(struct reader *r, const struct item *x)
{
	struct wz_sim_task t = {
	        .submit_us = x->created_us, .start_us = x->started_us, .end_us = x->ended_us, .run_us = -1};
	char key[128], name[2 * WZ_SIM_NAME_MAX];
	struct wz_profile p;
	struct wz_buf b, nb;
	int rc = 0;

	wz_profile_init(&p);
	p.gpus = (uint32_t)(x->gpus ? x->gpus : x->lim_gpus);
	p.cpu_milli = (uint64_t)(x->cpu_milli ? x->cpu_milli : x->lim_cpu);
	p.mem_bytes = (uint64_t)(x->mem_bytes ? x->mem_bytes : x->lim_mem);
	if (p.gpus > WZ_NODE_DEVICES_MAX || wz_profile_finish(&p, NULL, r->err) < 0) {
		wz_jtext_fail(&r->j, "a pod of at most 64 devices");
		return 0;
	}
	wz_buf_init_fixed(&b, key, sizeof(key));
	wz_buf_addz(&b, "kube ");
	wz_buf_add_u64(&b, p.gpus);
	wz_buf_addc(&b, ' ');
	wz_buf_add_u64(&b, p.cpu_milli);
	wz_buf_addc(&b, ' ');
	wz_buf_add_u64(&b, p.mem_bytes);
	wz_buf_init_fixed(&nb, name, sizeof(name));
	wz_buf_add(&nb, x->space);
	wz_buf_addz(&nb, x->space.len ? "/" : "");
	wz_buf_add(&nb, x->name);
	t.name = wz_buf_str(&nb);
	t.queue = x->space;
	t.priority = (int32_t)x->priority;
	if (t.end_us >= 0 && t.end_us < t.start_us)
		t.end_us = t.start_us;
	if (t.submit_us >= 0 && t.submit_us < r->first_us)
		r->first_us = t.submit_us;
	t.profile = wz_sim_tasks_find_profile(r->tasks, wz_buf_str(&b));
	if (t.profile == WZ_NONE)
		rc = wz_sim_tasks_add_profile(r->tasks, wz_buf_str(&b), &p, &t.profile, r->err);
	return rc == 0 ? wz_sim_tasks_add(r->tasks, &t, r->err) : rc;
}

static int one(struct reader *r, struct wz_str list_kind)
{
	struct item x = {.kind = list_kind, .created_us = -1, .started_us = -1, .ended_us = -1};
	struct wz_jtext at;
	struct wz_str key;

	/* The kind may come last: it is looked for first. */
	at = r->j;
	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("kind")))
			text_of(r, &x.kind);
		else
			wz_jtext_skip(&r->j);
	}
	if (r->j.what)
		return 0;
	bool node = wz_str_eq(x.kind, WZ_STR("Node")) || wz_str_eq(x.kind, WZ_STR("NodeList"));
	bool pod = wz_str_eq(x.kind, WZ_STR("Pod")) || wz_str_eq(x.kind, WZ_STR("PodList"));
	if (r->want_nodes ? !node : !pod)
		return 0;
	r->j = at;
	wz_jtext_object(&r->j);
	while (wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("metadata")))
			metadata(r, &x);
		else if (wz_str_eq(key, WZ_STR("spec")) && pod)
			spec(r, &x);
		else if (wz_str_eq(key, WZ_STR("status")))
			status(r, &x, node);
		else
			wz_jtext_skip(&r->j);
	}
	if (r->j.what)
		return 0;
	return node ? add_node(r, &x) : add_pod(r, &x);
}

static int read_list(struct reader *r)
{
	struct wz_str key, kind = WZ_STR("");
	int rc = 0;

	wz_jtext_init(&r->j, r->src->text);
	wz_jtext_object(&r->j);
	while (rc == 0 && wz_jtext_key(&r->j, &key)) {
		if (wz_str_eq(key, WZ_STR("kind"))) {
			text_of(r, &kind);
		} else if (wz_str_eq(key, WZ_STR("items"))) {
			wz_jtext_array(&r->j);
			while (rc == 0 && wz_jtext_item(&r->j))
				rc = one(r, kind);
		} else {
			wz_jtext_skip(&r->j);
		}
	}
	if (rc == 0)
		wz_jtext_end(&r->j);
	if (rc < 0) {
		uint32_t line, column;
		wz_jtext_place(&r->j, &line, &column);
		wz_csv_err_at(r->err, r->src->name, line, column);
		return rc;
	}
	return wz_jtext_err(&r->j, r->src->name, r->err);
}

static int read_nodes(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	struct reader r = {.src = src, .nodes = nodes, .err = err, .want_nodes = true};
	int rc;

	wz_arena_init(&r.arena, nodes->mem, 65536);
	rc = read_list(&r);
	wz_arena_release(&r.arena);
	return rc;
}

static int read_tasks(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks,
        struct wz_err *err)
{
	struct reader r = {.src = src, .nodes = nodes, .tasks = tasks, .err = err, .first_us = INT64_MAX};
	uint32_t before = tasks->n;
	int rc;

	wz_arena_init(&r.arena, tasks->mem, 65536);
	rc = read_list(&r);
	wz_arena_release(&r.arena);
	if (rc == 0 && r.first_us != INT64_MAX)
		wz_sim_tasks_rebase(tasks, before, r.first_us);
	return rc;
}

static int write_refused(const struct wz_sim_nodes *nodes, const struct wz_sim_tasks *tasks, unsigned what,
        struct wz_buf *b, struct wz_err *err)
{
	(void)nodes, (void)tasks, (void)what, (void)b;
	return wz_err_set(err, -EOPNOTSUPP, "ReadOnly", WZ_STR("this format is only read; write openb or wz"));
}

const struct wz_trace_format wz_format_kubernetes = {.name = "kubernetes",
        .summary = "kubectl get pods|nodes -o json",
        .sniff = sniff,
        .read_nodes = read_nodes,
        .read_tasks = read_tasks,
        .write = write_refused,
        .nodes_file = "nodes.json",
        .tasks_file = "pods.json"};

/* ---- spot availability ---- */

/* {"metadata": {"gap_seconds": 600, ...}, "data": [1, 1, 0, ...]}: how many spot nodes there were in each gap (where no number is above
 * one: whether there were any). */
static unsigned spot_sniff(struct wz_str text)
{
	struct wz_jtext j;
	struct wz_str key;

	wz_jtext_init(&j, text);
	if (wz_jtext_peek(&j) != '{' || !wz_jtext_object(&j) || !wz_jtext_key(&j, &key))
		return 0;
	if (wz_str_eq(key, WZ_STR("data")))
		return wz_jtext_peek(&j) == '[' ? WZ_TRACE_FACTS : 0;
	return wz_str_eq(key, WZ_STR("metadata")) && wz_jtext_peek(&j) == '{' && wz_jtext_skip(&j) &&
	                       wz_jtext_key(&j, &key) && wz_str_eq(key, WZ_STR("data"))
	               ? WZ_TRACE_FACTS
	               : 0;
}

static int spot_facts(const struct wz_trace_source *src, struct wz_sim_tasks *tasks, struct wz_err *err)
{
	struct wz_jtext j;
	struct wz_str key, s;
	int64_t v;

	wz_jtext_init(&j, src->text);
	tasks->spot_gap_us = INT64_C(600) * 1000000;
	wz_jtext_object(&j);
	while (wz_jtext_key(&j, &key)) {
		if (wz_str_eq(key, WZ_STR("metadata")) && wz_jtext_object(&j)) {
			while (wz_jtext_key(&j, &key)) {
				if (!wz_str_eq(key, WZ_STR("gap_seconds")))
					wz_jtext_skip(&j);
				else if (wz_jtext_number(&j, &s) &&
				         (wz_decimal_parse(s, 1000000, WZ_SIM_TIME_MAX_US, &v) < 0 || v < 1000000))
					wz_jtext_fail(&j, "gap_seconds from 1 on");
				else if (!j.what)
					tasks->spot_gap_us = v;
			}
		} else if (!j.what && wz_str_eq(key, WZ_STR("data")) && wz_jtext_array(&j)) {
			while (wz_jtext_item(&j)) {
				if (!wz_jtext_number(&j, &s) || wz_decimal_parse(s, 1, WZ_NODES_MAX, &v) < 0) {
					wz_jtext_fail(&j, "a number of nodes");
					break;
				}
				if (wz_grow(tasks->mem, &tasks->spot, &tasks->spot_cap, tasks->n_spot + 1,
				            sizeof(*tasks->spot)) < 0)
					return wz_err_set(err, -ENOMEM, "OutOfMemory",
					        WZ_STR("no memory for the availability"));
				tasks->spot[tasks->n_spot++] = (uint32_t)v;
			}
		} else if (!j.what) {
			wz_jtext_skip(&j);
		}
	}
	wz_jtext_end(&j);
	return wz_jtext_err(&j, src->name, err);
}

const struct wz_trace_format wz_format_spot = {.name = "spot-availability",
        .summary = "how many spot nodes there were over time (JSON: metadata.gap_seconds, data)",
        .sniff = spot_sniff,
        .write = write_refused,
        .nodes_file = "spot.json",
        .tasks_file = "spot.json",
        .read_facts = spot_facts};
