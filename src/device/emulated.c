/* SPDX-License-Identifier: Apache-2.0 */
/* The emulated provider: a cluster file played against the clock that the caller passes. What a file does not script is
 * made up plausibly: an idle device, and one with work that uses what was granted (`use`), so that a demonstration on a
 * machine without a GPU shows something alive. Nothing here is random: the same file and times give the same readings. */
#include "device/cluster.h"

#include "base/check.h"
#include "base/hash.h"
#include "os/file.h"

struct wz_device_source {
	const struct wz_mem *mem;
	struct wz_cluster cluster;
	struct wz_device_use *use; /* [n_devices] */
	uint64_t epoch_us;
};

static uint64_t since(const struct wz_device_source *s, uint64_t now_us)
{
	return now_us > s->epoch_us ? now_us - s->epoch_us : 0;
}

static int emulated_probe(const struct wz_device_options *o, struct wz_device_source **ret, struct wz_err *err)
{
	struct wz_file_text text;
	if (!o->file)
		return wz_err_set(err, -ENODEV, "NoClusterFile", WZ_STR("no cluster file is given"));
	int rc = wz_file_read(o->file, WZ_CLUSTER_FILE_MAX, o->mem, &text, err);
	if (rc < 0)
		return rc == -ENODEV ? -EIO : rc;
	struct wz_device_source *s = wz_mem_zalloc(o->mem, sizeof *s);
	rc = s ? wz_cluster_parse(wz_file_text_str(&text), o->file, o->mem, &s->cluster, err) : -ENOMEM;
	wz_file_text_release(&text);
	if (rc == 0) {
		size_t n = s->cluster.inv.n_devices;
		s->use = wz_mem_zalloc(o->mem, (n + 1) * sizeof *s->use);
		if (!s->use) {
			wz_cluster_release(&s->cluster);
			rc = -ENOMEM;
		}
	}
	if (rc < 0) {
		wz_mem_free(o->mem, s, sizeof *s);
		return rc == -ENOMEM ? wz_err_set(err, rc, "OutOfMemory", WZ_STR("out of memory")) : rc;
	}
	s->mem = o->mem;
	s->epoch_us = o->epoch_us;
	*ret = s;
	return 0;
}

/* A slow wave between 0 and 99, another for each device. */
static int64_t wave(uint32_t device, uint64_t t_us)
{
	uint64_t phase = (t_us / 250000 + wz_mix64(device) % 97) % 80;
	return (int64_t)(phase < 40 ? phase : 80 - phase) * 99 / 40;
}

static void made_up(const struct wz_device_source *s, struct wz_device *d, uint32_t i, uint64_t now_us)
{
	const struct wz_device_use *u = &s->use[i];
	uint64_t t = since(s, now_us);
	int64_t util = u->util_milli ? (int64_t)u->util_milli / 10 * (90 + wave(i, t) / 10) / 100 : 0;
	if (d->mem_bytes)
		wz_reading_set(d, WZ_METRIC_MEM_TOTAL, d->mem_bytes, now_us);
	wz_reading_set(d, WZ_METRIC_MEM_USED, u->mem_bytes, now_us);
	wz_reading_set(d, WZ_METRIC_UTIL, util, now_us);
	wz_reading_set(d, WZ_METRIC_MEM_UTIL, util * 6 / 10, now_us);
	wz_reading_set(d, WZ_METRIC_TEMP, 32 + util * 4 / 10, now_us);
	wz_reading_set(d, WZ_METRIC_POWER, 50000 + util * 3000, now_us);
}

static void readings(const struct wz_device_source *s, struct wz_device *d, uint32_t i, uint64_t now_us)
{
	const struct wz_cluster_script *script = &s->cluster.script[i];
	for (int m = 0; m < WZ_METRICS; m++)
		d->reading[m] = (struct wz_reading){0, now_us, WZ_READING_UNKNOWN};
	if (d->health == WZ_DEVICE_FAILED)
		return;
	made_up(s, d, i, now_us);
	for (int m = 0; m < WZ_METRICS; m++) {
		if (script->unsupported[m])
			d->reading[m] = (struct wz_reading){0, now_us, WZ_READING_UNSUPPORTED};
		else if (script->curve[m].n)
			wz_reading_set(
			        d, (enum wz_metric)m, wz_curve_at(&script->curve[m], since(s, now_us)), now_us);
	}
}

static void play_events(const struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv)
{
	const struct wz_cluster *c = &s->cluster;
	uint64_t t = since(s, now_us);
	for (uint32_t i = 0; i < inv->n_nodes; i++)
		inv->node[i].ready = c->inv.node[i].ready;
	for (uint32_t i = 0; i < inv->n_devices; i++) {
		inv->device[i].health = c->inv.device[i].health;
		inv->device[i].health_why[0] = 0;
	}
	for (uint32_t i = 0; i < c->n_events && c->event[i].at_us <= t; i++) {
		const struct wz_cluster_event *e = &c->event[i];
		if (e->device < 0) {
			inv->node[e->node].ready = e->ready;
			continue;
		}
		struct wz_device *d = &inv->device[inv->node[e->node].first_device + (uint32_t)e->device];
		d->health = e->health;
		memcpy(d->health_why, e->why, sizeof d->health_why);
	}
}

static int play_procs(const struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv)
{
	uint64_t t = since(s, now_us);
	inv->n_procs = 0;
	inv->procs_known = true;
	for (uint32_t i = 0; i < s->cluster.n_procs; i++) {
		const struct wz_cluster_proc *p = &s->cluster.proc[i];
		if (t < p->from_us || t >= p->to_us)
			continue;
		struct wz_device_proc *q = wz_inventory_add_proc(inv);
		if (!q)
			return -ENOMEM;
		*q = p->proc;
		struct wz_device *d = &inv->device[inv->node[p->proc.node].first_device + p->proc.index];
		if (p->proc.mem_bytes > 0 && d->reading[WZ_METRIC_MEM_USED].status == WZ_READING_OK)
			d->reading[WZ_METRIC_MEM_USED].value += p->proc.mem_bytes;
	}
	return 0;
}

static int emulated_sample(
        struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	wz_check(inv->n_devices == s->cluster.inv.n_devices && inv->n_nodes == s->cluster.inv.n_nodes);
	play_events(s, now_us, inv);
	for (uint32_t i = 0; i < inv->n_devices; i++)
		readings(s, &inv->device[i], i, now_us);
	if (play_procs(s, now_us, inv) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	return 0;
}

static int emulated_list(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	const struct wz_inventory *from = &s->cluster.inv;
	wz_inventory_clear(inv);
	for (uint32_t i = 0; i < from->n_nodes; i++) {
		struct wz_device_node *n = wz_inventory_add_node(inv, from->node[i].name);
		if (!n)
			return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		*n = from->node
		             [i]; /* the labels are borrowed from the cluster, which lives as long as the source */
		n->n_devices = 0;
		for (uint32_t k = 0; k < from->node[i].n_devices; k++) {
			struct wz_device *d = wz_inventory_add_device(inv);
			if (!d)
				return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
			*d = from->device[from->node[i].first_device + k];
		}
	}
	return emulated_sample(s, now_us, inv, err);
}

static void emulated_use(struct wz_device_source *s, uint32_t node, uint32_t index, const struct wz_device_use *use)
{
	const struct wz_inventory *inv = &s->cluster.inv;
	if (node < inv->n_nodes && index < inv->node[node].n_devices)
		s->use[inv->node[node].first_device + index] = *use;
}

static uint64_t emulated_next_change(struct wz_device_source *s, uint64_t now_us)
{
	uint64_t t = since(s, now_us), next = UINT64_MAX;
	for (uint32_t i = 0; i < s->cluster.n_events && next == UINT64_MAX; i++) {
		if (s->cluster.event[i].at_us > t)
			next = s->cluster.event[i].at_us;
	}
	return next == UINT64_MAX ? next : s->epoch_us + next;
}

static void emulated_close(struct wz_device_source *s)
{
	const struct wz_mem *mem = s->mem;
	wz_mem_free(mem, s->use, (s->cluster.inv.n_devices + 1) * sizeof *s->use);
	wz_cluster_release(&s->cluster);
	wz_mem_free(mem, s, sizeof *s);
}

const struct wz_device_provider wz_device_emulated = {.name = "emulated",
        .what = "nodes and devices of a cluster file, on this machine",
        .probe = emulated_probe,
        .list = emulated_list,
        .sample = emulated_sample,
        .use = emulated_use,
        .next_change_us = emulated_next_change,
        .close = emulated_close};
