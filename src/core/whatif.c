/* SPDX-License-Identifier: Apache-2.0 */
#include "core/whatif.h"

#include "base/check.h"

#define SNAPSHOT_MAX ((size_t)1 << 32)
#define DEVICES_OF_A_NEW_NODE 8u

static int bad_edit(struct wz_err *err, struct wz_str edit, const char *expected)
{
	return wz_err_set(err, -EINVAL, "BadEdit", WZ_STR("\""), edit, WZ_STR("\": expected "), wz_str(expected));
}

static int apply(struct wz_core *c, struct wz_event *e, struct wz_err *err)
{
	e->time_us = wz_core_now(c);
	return wz_core_apply(c, e, err);
}

/* ---- edits ---- */

static uint32_t node_of(const struct wz_core *c, struct wz_str name)
{
	const struct wz_model_state *m = wz_core_model(c);
	for (uint32_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].flags & WZ_NODE_PRESENT &&
		        wz_str_eq(wz_strtab_get(&m->names, m->node[i].name - 1), name))
			return i;
	return WZ_ID_NONE;
}

static int edit_node(struct wz_core *c, struct wz_str name, bool drain, struct wz_err *err)
{
	uint32_t id = node_of(c, name);
	struct wz_event e = {.kind = drain ? WZ_EV_NODE_READY : WZ_EV_NODE_LEFT};
	if (id == WZ_ID_NONE)
		return wz_err_set(err, -ENOENT, "NoSuchNode", WZ_STR("there is no node "), name);
	if (drain) {
		e.u.ready.node.v = id;
		e.u.ready.ready = true;
		e.u.ready.cordoned = true;
	} else {
		e.u.left.node.v = id;
	}
	return apply(c, &e, err);
}

/* The rules of a queue with one entry replaced. */
static int edit_queue(struct wz_core *c, struct wz_str edit, struct wz_str rest, struct wz_err *err)
{
	struct wz_queue_info q;
	struct wz_event e = {.kind = WZ_EV_QUEUE_SET};
	char room[2 * WZ_RULES_TEXT_MAX], old[WZ_RULES_TEXT_MAX];
	struct wz_buf text, now;
	struct wz_str value = rest, left = wz_str_split(&value, '=');
	size_t dot = left.len;
	while (dot > 0 && left.ptr[dot - 1] != '.')
		dot--;
	if (!value.ptr || dot < 2 || dot == left.len)
		return bad_edit(err, edit, "queue.NAME.KEY=VALUE");
	struct wz_str name = {left.ptr, dot - 1}, key = {left.ptr + dot, left.len - dot};
	int r;
	for (uint32_t i = 0; (r = wz_core_queue_at(c, i, &q)) == 0 && !wz_str_eq(q.name, name); i++)
		;
	if (r < 0)
		return wz_err_set(err, -ENOENT, "NoSuchQueue", WZ_STR("there is no queue "), name);
	wz_buf_init_fixed(&now, old, sizeof old);
	wz_queue_rules_format(q.rules, &now);
	wz_buf_init_fixed(&text, room, sizeof room);
	for (struct wz_str all = wz_buf_str(&now); all.ptr && all.len;) {
		struct wz_str entry = wz_str_split(&all, ' '), k = entry;
		if (!entry.len || wz_str_eq(wz_str_split(&k, '='), key))
			continue;
		wz_buf_add(&text, entry);
		wz_buf_addc(&text, ' ');
	}
	wz_buf_add(&text, key);
	wz_buf_addc(&text, '=');
	wz_buf_add(&text, value);
	if (now.status < 0 || text.status < 0)
		return wz_err_set(err, -E2BIG, "TooLong", WZ_STR("the rules of the queue are too long"));
	e.u.rules.name = name;
	e.u.rules.text = wz_buf_str(&text);
	return apply(c, &e, err);
}

/* Facts of a node that has the model, or of eight devices of it alone. */
static void node_like(const struct wz_core *c, wz_model_id model, struct wz_ev_node *n,
        struct wz_device_facts dev[WZ_NODE_DEVICES_MAX])
{
	const struct wz_model_state *m = wz_core_model(c);
	const struct wz_model *facts = &wz_core_catalogue_of(c)->model[model.v];
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		const struct wz_node *of = &m->node[i];
		if (!(of->flags & WZ_NODE_PRESENT) || of->n_dev == 0 || m->dev[of->first_dev].model != model.v)
			continue;
		n->cpu_milli = of->cpu;
		n->mem_bytes = of->mem;
		n->max_tasks = of->max_tasks == INT32_MAX ? 0 : (uint32_t)of->max_tasks;
		n->n_devices = of->n_dev;
		for (uint32_t k = 0; k < of->n_dev; k++) {
			const struct wz_device *d = &m->dev[of->first_dev + k];
			dev[k] = (struct wz_device_facts){.model = {d->model},
			        .mem_bytes = d->mem,
			        .compute_milli = d->milli,
			        .link_domain = d->link_domain,
			        .numa = d->numa,
			        .pcie = d->pcie,
			        .partition = d->partition};
		}
		return;
	}
	n->cpu_milli = 128000;
	n->mem_bytes = (int64_t)1 << 40;
	n->n_devices = DEVICES_OF_A_NEW_NODE;
	for (uint32_t k = 0; k < n->n_devices; k++)
		dev[k] = (struct wz_device_facts){.model = model,
		        .mem_bytes = (int64_t)facts->mem_bytes,
		        .compute_milli = WZ_WHOLE,
		        .link_domain = facts->link_gbps ? 1 : 0};
}

static int edit_add(struct wz_core *c, struct wz_str edit, struct wz_str rest, struct wz_err *err)
{
	struct wz_device_facts dev[WZ_NODE_DEVICES_MAX];
	struct wz_event e = {.kind = WZ_EV_NODE_JOINED};
	struct wz_str model = rest, count = wz_str_split(&model, 'x');
	uint64_t n;
	wz_model_id id;
	if (!model.len || wz_str_parse_u64(count, &n) < 0 || n < 1 || n > WZ_WHATIF_NODES_MAX)
		return bad_edit(err, edit, "add-nodes=COUNTxMODEL, 1 to 4096 of them");
	int r = wz_catalogue_find(wz_core_catalogue_of(c), model, &id, err);
	if (r < 0)
		return r;
	node_like(c, id, &e.u.node, dev);
	e.u.node.device = dev;
	for (uint64_t i = 0; i < n && r == 0; i++) {
		char name[48];
		struct wz_buf b;
		wz_buf_init_fixed(&b, name, sizeof name);
		wz_buf_addz(&b, "(what-if)");
		wz_buf_add_u64(&b, wz_core_model(c)->n_nodes);
		e.u.node.node.v = wz_core_model(c)->n_nodes;
		e.u.node.name = wz_buf_str(&b);
		r = apply(c, &e, err);
	}
	return r;
}

/* As if it were gone already: what it holds is free. */
static int edit_cancel(struct wz_core *c, uint64_t job, struct wz_err *err)
{
	struct wz_event e = {.kind = WZ_EV_JOB_CANCELLED, .u.job.job = job};
	struct wz_job_info info;
	struct wz_place p;
	int r = apply(c, &e, err);
	for (uint32_t t = 0; r == 0 && wz_core_job(c, job, &info) == 0 && t < info.tasks_max; t++) {
		if (wz_core_task(c, job, t, &p) < 0)
			continue;
		e = (struct wz_event){.kind = WZ_EV_TASK_ENDED,
		        .u.task = {.job = job, .task = t, .attempt = info.attempt, .end = WZ_END_CANCELLED}};
		r = apply(c, &e, err);
	}
	return r;
}

static int edit_one(struct wz_core *c, struct wz_str edit, struct wz_err *err)
{
	struct wz_str value = edit, key = wz_str_split(&value, '=');
	struct wz_event e = {.kind = WZ_EV_POLICY_SET};
	uint64_t job;
	if (wz_str_starts(edit, WZ_STR("queue.")))
		return edit_queue(c, edit, (struct wz_str){edit.ptr + 6, edit.len - 6}, err);
	if (wz_str_eq(key, WZ_STR("add-nodes")) && value.len)
		return edit_add(c, edit, value, err);
	if ((wz_str_eq(key, WZ_STR("remove-node")) || wz_str_eq(key, WZ_STR("drain"))) && value.len)
		return edit_node(c, value, wz_str_eq(key, WZ_STR("drain")), err);
	if (wz_str_eq(key, WZ_STR("cancel")) && wz_str_parse_u64(value, &job) == 0)
		return edit_cancel(c, job, err);
	if (wz_str_eq(key, WZ_STR("policy")) && value.len) {
		e.u.policy.name = value;
		return apply(c, &e, err);
	}
	return bad_edit(err, edit,
	        "queue.NAME.KEY=VALUE, add-nodes=COUNTxMODEL, remove-node=NAME, drain=NAME, cancel=JOB or "
	        "policy=NAME");
}

static int edit_all(struct wz_core *c, struct wz_str edits, struct wz_err *err)
{
	uint32_t n = 0;
	if (edits.len > WZ_WHATIF_TEXT_MAX)
		return wz_err_set(err, -E2BIG, "TooLong", WZ_STR("the edits are longer than 4096 bytes"));
	while (edits.ptr && edits.len) {
		struct wz_str edit = wz_str_split(&edits, ' ');
		if (!edit.len)
			continue;
		if (n++ == WZ_WHATIF_EDITS_MAX)
			return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("more than 32 edits"));
		int r = edit_one(c, edit, err);
		if (r < 0)
			return r;
	}
	return n ? 0 : wz_err_set(err, -EINVAL, "BadEdit", WZ_STR("no edit was given"));
}

/* ---- the two plans ---- */

static struct wz_whatif_start start_of(const struct wz_core *c, uint64_t job)
{
	struct wz_start_estimate e;
	if (wz_core_starts(c, job, &e) < 0)
		return (struct wz_whatif_start){UINT64_MAX, UINT64_MAX, UINT64_MAX, false};
	return (struct wz_whatif_start){e.latest_us, e.likely_from_us, e.likely_to_us, true};
}

/* What people would call the start: the middle of the band, else the latest. */
static uint64_t middle(const struct wz_whatif_start *s)
{
	return s->from_us != UINT64_MAX && s->to_us != UINT64_MAX ? s->from_us + (s->to_us - s->from_us) / 2
	                                                          : s->latest_us;
}

/* Rows are few: those that were planned. */
static void insert(struct wz_whatif *w, struct wz_whatif_row row)
{
	uint32_t at = w->n++;
	for (; at && w->row[at - 1].job > row.job; at--)
		w->row[at] = w->row[at - 1];
	w->row[at] = row;
}

static int compare(struct wz_core *now, struct wz_core *then, struct wz_whatif *ret)
{
	struct wz_job_info j;
	int r;
	for (uint32_t i = 0; (r = wz_core_job_at(now, i, &j)) != -ENOENT; i++) {
		if (r != 0 || j.state != WZ_JOB_WAITING)
			continue;
		if (wz_grow(ret->mem, &ret->row, &ret->cap, ret->n + 1, sizeof *ret->row) < 0)
			return -ENOMEM;
		struct wz_whatif_row row = {j.job, start_of(now, j.job), start_of(then, j.job)};
		if (!row.now.known && !row.then.known)
			continue; /* beyond those that are planned */
		uint64_t a = middle(&row.now), b = middle(&row.then);
		ret->gone += !row.then.known;
		ret->earlier += row.then.known && b < a;
		ret->later += row.then.known && b > a;
		insert(ret, row);
	}
	return 0;
}

int wz_whatif_ask(const struct wz_core *c, const struct wz_mem *mem, struct wz_str edits,
        const struct wz_starts_options *o, struct wz_whatif *ret, struct wz_err *err)
{
	struct wz_core *now = NULL, *then = NULL;
	struct wz_core_stats st;
	struct wz_buf bytes;
	*ret = (struct wz_whatif){.mem = mem};
	wz_buf_init(&bytes, mem, SNAPSHOT_MAX);
	int r = wz_core_export(c, &bytes, err);
	if (r == 0)
		r = wz_core_import(mem, NULL, wz_buf_str(&bytes), &now, NULL, err);
	if (r == 0)
		r = wz_core_import(mem, NULL, wz_buf_str(&bytes), &then, NULL, err);
	wz_buf_release(&bytes);
	if (r == 0)
		r = edit_all(then, edits, err);
	if (r == 0)
		r = wz_core_plan_starts(now, o, err);
	if (r == 0)
		r = wz_core_plan_starts(then, o, err);
	if (r == 0) {
		r = compare(now, then, ret);
		if (r < 0)
			(void)wz_err_set(err, r, "OutOfMemory", WZ_STR("out of memory"));
		wz_core_stats(now, &st);
		ret->gpu_milli_now = st.gpu_milli_capacity;
		wz_core_stats(then, &st);
		ret->gpu_milli_then = st.gpu_milli_capacity;
	}
	wz_core_free(now);
	wz_core_free(then);
	return r;
}

void wz_whatif_release(struct wz_whatif *w)
{
	if (w->mem)
		wz_grow_free(w->mem, &w->row, &w->cap, sizeof *w->row);
	w->n = 0;
}
