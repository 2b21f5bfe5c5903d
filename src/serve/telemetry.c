/* SPDX-License-Identifier: Apache-2.0 */
/* Live readings: all of them for people (`wz devices`), few of them for the core. An event is journalled and asks for a step,
 * so the core is told of a device when a reading has left its quantum by more than half of another, and not oftener than
 * once in a while; free memory, on which a profile's `free=` rests, at once. What is not measured is not known (255), also
 * when it was. A restart begins from what the journal says. */
#include "serve/serve_int.h"

#define QUANTUM 5 /* that of the core, in percent or degrees */
#define UNKNOWN 255u
#define CALM_US 10000000 /* between two events about use and temperature of one device */
#define BRISK_US 1000000 /* and about its free memory */

static bool moved(uint8_t was, uint8_t is)
{
	int d = was > is ? was - is : is - was;
	if (was == UNKNOWN || is == UNKNOWN)
		return was != is;
	return was / QUANTUM != is / QUANTUM && d > QUANTUM / 2;
}

static uint8_t of(int64_t v)
{
	return v < 0 || v > 254 ? UNKNOWN : (uint8_t)v;
}

static void tell_core(struct serve *s, uint32_t node, uint32_t index, struct place_facts *f)
{
	const struct wz_model_state *m = wz_core_model(s->core);
	if (node >= m->n_nodes || index >= m->node[node].n_dev)
		return;
	const struct wz_device *d = &m->dev[m->node[node].first_dev + index];
	int64_t now = serve_now_us(s);
	struct told t = {
	        .free_mem_pct = UNKNOWN, .util_pct = of(f->util_pct), .temp_c = of(f->temp_c), .at_us = now};
	if (f->mem_used >= 0 && d->mem > 0)
		t.free_mem_pct = f->mem_used >= d->mem ? 0 : of((d->mem - f->mem_used) * 100 / d->mem);
	if (!f->told.at_us) /* of the run before: what the core has */
		f->told = (struct told){d->free_mem_pct, d->util_pct, d->temp_c, 1};
	bool room = moved(f->told.free_mem_pct, t.free_mem_pct);
	bool other = moved(f->told.util_pct, t.util_pct) || moved(f->told.temp_c, t.temp_c);
	if (!(room && now - f->told.at_us >= BRISK_US) && !(other && now - f->told.at_us >= CALM_US))
		return;
	struct wz_event e = {.kind = WZ_EV_TELEMETRY};
	e.u.telemetry.node = (wz_node_id){node};
	e.u.telemetry.index = index;
	e.u.telemetry.free_mem_pct = t.free_mem_pct;
	e.u.telemetry.util_pct = t.util_pct;
	e.u.telemetry.temp_c = t.temp_c;
	if (serve_apply(s, &e, NULL) == 0)
		f->told = t;
}

static void read_one(struct place_facts *f, const struct wz_wire_reading *r)
{
	int64_t v = wz_str_eq(r->status, WZ_STR("ok")) ? r->value : -1;
	if (wz_str_eq(r->name, WZ_STR("util")))
		f->util_pct = (int32_t)v;
	else if (wz_str_eq(r->name, WZ_STR("temp")))
		f->temp_c = (int32_t)v;
	else if (wz_str_eq(r->name, WZ_STR("mem_used")))
		f->mem_used = v;
	else if (wz_str_eq(r->name, WZ_STR("power")))
		f->power_mw = v;
}

static bool holds_device(struct serve *s, uint64_t job, uint32_t node, uint32_t index)
{
	struct wz_job_info info;
	struct wz_place p;
	if (wz_core_job(s->core, job, &info) < 0)
		return true; /* about to be gone */
	for (uint32_t t = 0; t < info.task_numbers; t++)
		if (wz_core_task(s->core, job, t, &p) == 0 && p.node.v == node && p.devices >> index & 1)
			return true;
	return false;
}

/* A job of ours computes on a card that it was not given: told once for each job and device, and shown while it lasts. */
static void on_wrong_device(struct serve *s, uint64_t job, uint32_t node, uint32_t index, struct place_facts *f)
{
	struct wz_num n, i;
	if (f->wrong_job != job) {
		struct touched *t = serve_touch(s, job);
		struct wz_err text;
		(void)wz_err_set(&text, -EINVAL, "WrongDevice", WZ_STR("job "), wz_str_u64(&n, job),
		        WZ_STR(" computes on "), node_name(s, node), WZ_STR(":"), wz_str_u64(&i, index),
		        WZ_STR(" ("), wz_str(f->uuid), WZ_STR("), which it was not given"));
		serve_log("WRONG_DEVICE", text.text);
		if (t)
			t->what = "wrong_device";
		serve_soon(s);
	}
	f->wrong_job = job;
}

/* Who is on each device: strangers are counted, and ours that should be elsewhere noted. */
static void look_at_processes(struct serve *s, uint32_t node, const struct wz_wire_telemetry *t)
{
	struct node_facts *n = &s->node[node];
	const struct wz_wire_proc *p = t->procs.item;
	uint64_t wrong[WZ_NODE_DEVICES_MAX] = {0};
	for (uint32_t i = 0; i < n->n_devices; i++)
		n->device[i].foreign = 0;
	for (uint32_t i = 0; i < t->procs.n; i++) {
		if (p[i].index < 0 || p[i].index >= n->n_devices)
			continue;
		uint32_t index = (uint32_t)p[i].index;
		if (p[i].job == 0)
			n->device[index].foreign++;
		else if (index < WZ_NODE_DEVICES_MAX && !holds_device(s, (uint64_t)p[i].job, node, index))
			wrong[index] = (uint64_t)p[i].job;
	}
	for (uint32_t i = 0; i < n->n_devices && i < WZ_NODE_DEVICES_MAX; i++) {
		if (wrong[i])
			on_wrong_device(s, wrong[i], node, i, &n->device[i]);
		else
			n->device[i].wrong_job = 0;
	}
}

void telemetry(struct serve *s, const struct wz_wire_telemetry *t)
{
	uint32_t id = node_find(s, t->node);
	const struct wz_wire_sample *d = t->devices.item;
	if (id == WZ_ID_NONE || id >= s->n_nodes)
		return;
	struct node_facts *n = &s->node[id];
	n->seen_us = serve_now_us(s);
	for (uint32_t i = 0; i < t->devices.n; i++) {
		const struct wz_wire_reading *r = d[i].readings.item;
		if (d[i].index < 0 || d[i].index >= n->n_devices)
			continue;
		struct place_facts *f = &n->device[d[i].index];
		f->read_us = t->time_us;
		for (uint32_t k = 0; k < d[i].readings.n; k++)
			read_one(f, &r[k]);
		tell_core(s, id, (uint32_t)d[i].index, f);
	}
	if (t->procs_known)
		look_at_processes(s, id, t);
}
