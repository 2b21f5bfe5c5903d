/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include "os/file.h"
#include "os/pool.h"

#include <unistd.h>

const struct wz_metric_def wz_metrics[WZ_METRICS] = {
        [WZ_METRIC_MEM_TOTAL] = {"mem_total", "bytes", "device memory as the driver reports it"},
        [WZ_METRIC_MEM_USED] = {"mem_used", "bytes", "device memory in use, by anybody"},
        [WZ_METRIC_UTIL] = {"util", "percent", "part of the time in which some kernel ran"},
        [WZ_METRIC_MEM_UTIL] = {"mem_util", "percent", "part of the time in which memory was read or written"},
        [WZ_METRIC_TEMP] = {"temp", "celsius", "temperature of the chip"},
        [WZ_METRIC_POWER] = {"power", "milliwatts", "power drawn"},
        [WZ_METRIC_POWER_CAP] = {"power_cap", "milliwatts", "power limit that is set"},
        [WZ_METRIC_CLOCK_SM] = {"clock_sm", "megahertz", "clock of the multiprocessors"},
        [WZ_METRIC_CLOCK_MEM] = {"clock_mem", "megahertz", "clock of the memory"},
        [WZ_METRIC_FAN] = {"fan", "percent", "fan speed"},
        [WZ_METRIC_ECC_UNCORRECTED] = {"ecc_uncorrected", "count",
                "uncorrected memory errors since the driver started"},
};
const char *const wz_reading_statuses[] = {"unknown", "ok", "unsupported"};
const char *const wz_device_healths[] = {"ok", "degraded", "failed"};

void wz_inventory_init(struct wz_inventory *inv, const struct wz_mem *mem)
{
	*inv = (struct wz_inventory){.mem = mem};
	wz_arena_init(&inv->text, mem, 4096);
}

void wz_inventory_release(struct wz_inventory *inv)
{
	wz_grow_free(inv->mem, &inv->node, &inv->cap_nodes, sizeof *inv->node);
	wz_grow_free(inv->mem, &inv->device, &inv->cap_devices, sizeof *inv->device);
	wz_grow_free(inv->mem, &inv->proc, &inv->cap_procs, sizeof *inv->proc);
	wz_arena_release(&inv->text);
	wz_inventory_init(inv, inv->mem);
}

void wz_inventory_clear(struct wz_inventory *inv)
{
	inv->n_nodes = inv->n_devices = inv->n_procs = 0;
	inv->procs_known = false;
	wz_arena_clear(&inv->text);
}

struct wz_device_node *wz_inventory_add_node(struct wz_inventory *inv, const char *name)
{
	size_t n = strlen(name);
	if (inv->n_nodes == WZ_DEV_NODES_MAX || n >= sizeof inv->node->name ||
	        wz_grow(inv->mem, &inv->node, &inv->cap_nodes, inv->n_nodes + 1, sizeof *inv->node) < 0)
		return NULL;
	struct wz_device_node *node = &inv->node[inv->n_nodes++];
	*node = (struct wz_device_node){.ready = true, .first_device = inv->n_devices};
	memcpy(node->name, name, n + 1);
	return node;
}

struct wz_device *wz_inventory_add_device(struct wz_inventory *inv)
{
	struct wz_device_node *node = inv->n_nodes ? &inv->node[inv->n_nodes - 1] : NULL;
	if (!node || node->n_devices == WZ_DEV_PER_NODE_MAX || inv->n_devices == WZ_DEV_DEVICES_MAX ||
	        wz_grow(inv->mem, &inv->device, &inv->cap_devices, inv->n_devices + 1, sizeof *inv->device) < 0)
		return NULL;
	struct wz_device *d = &inv->device[inv->n_devices++];
	memset(d, 0, sizeof *d);
	d->node = inv->n_nodes - 1;
	d->index = node->n_devices++;
	return d;
}

struct wz_device_proc *wz_inventory_add_proc(struct wz_inventory *inv)
{
	if (inv->n_procs == WZ_DEV_PROCS_MAX ||
	        wz_grow(inv->mem, &inv->proc, &inv->cap_procs, inv->n_procs + 1, sizeof *inv->proc) < 0)
		return NULL;
	struct wz_device_proc *p = &inv->proc[inv->n_procs++];
	*p = (struct wz_device_proc){.pid = -1, .mem_bytes = -1};
	return p;
}

void wz_reading_set(struct wz_device *d, enum wz_metric m, int64_t value, uint64_t now_us)
{
	d->reading[m] = (struct wz_reading){value, now_us, WZ_READING_OK};
}

const struct wz_device_provider *const wz_device_providers[] = {
        &wz_device_emulated, &wz_device_smi, &wz_device_none, NULL};

const struct wz_device_provider *wz_device_provider_find(struct wz_str name)
{
	for (unsigned i = 0; wz_device_providers[i]; i++) {
		if (wz_str_eq(name, wz_str(wz_device_providers[i]->name)))
			return wz_device_providers[i];
	}
	return NULL;
}

/* --- this machine --------------------------------------------------------------------------------------------- */

static int64_t meminfo_total(const struct wz_mem *mem)
{
	struct wz_file_text t;
	int64_t kib = 0;
	if (wz_file_read("/proc/meminfo", 1u << 20, mem, &t, NULL) < 0)
		return 0;
	struct wz_str s = wz_file_text_str(&t);
	while (s.ptr) {
		struct wz_str line = wz_str_split(&s, '\n');
		if (!wz_str_starts(line, WZ_STR("MemTotal:")))
			continue;
		struct wz_str v = wz_str_trim((struct wz_str){line.ptr + 9, line.len - 9});
		if (wz_str_parse_i64(wz_str_split(&v, ' '), &kib) < 0)
			kib = 0;
		break;
	}
	wz_file_text_release(&t);
	return kib * 1024;
}

int wz_device_host(struct wz_inventory *inv, struct wz_device_node **ret, struct wz_err *err)
{
	char name[128] = "localhost";
	if (gethostname(name, sizeof name - 1) < 0)
		memcpy(name, "localhost", sizeof "localhost");
	struct wz_device_node *node = wz_inventory_add_node(inv, name);
	if (!node)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	node->cpu_milli = (int64_t)wz_pool_cpus() * 1000;
	node->mem_bytes = meminfo_total(inv->mem);
	*ret = node;
	return 0;
}

/* --- a machine without devices -------------------------------------------------------------------------------- */

struct wz_device_source {
	int unused;
};
static struct wz_device_source nothing;

static int none_probe(const struct wz_device_options *o, struct wz_device_source **ret, struct wz_err *err)
{
	(void)o;
	(void)err;
	*ret = &nothing;
	return 0;
}
static int none_list(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	struct wz_device_node *node;
	(void)s;
	(void)now_us;
	wz_inventory_clear(inv);
	inv->procs_known = true;
	return wz_device_host(inv, &node, err);
}
static int none_sample(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	(void)s;
	(void)now_us;
	(void)inv;
	(void)err;
	return 0;
}
static void none_close(struct wz_device_source *s)
{
	(void)s;
}

const struct wz_device_provider wz_device_none = {.name = "none",
        .what = "this machine, with no device",
        .probe = none_probe,
        .list = none_list,
        .sample = none_sample,
        .close = none_close};
