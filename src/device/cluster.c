/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of keys; each setter reads one value. Nodes are made first, then what names them (events, processes), since a
 * file may say these in any order. */
#include "device/cluster.h"

#include "base/check.h"
#include "base/quant.h"
#include "os/yaml.h"

#define CPU_MAX ((uint64_t)1 << 40)
#define BYTES_MAX ((uint64_t)1 << 56)
#define TIME_MAX ((uint64_t)1000 * 366 * 86400 * 1000000)

struct parse {
	struct wz_cluster *c;
	struct {
		wz_yaml_id nodes, events, procs;
	} top;
};

/* --- values --------------------------------------------------------------------------------------------------- */

static int bad(const struct wz_yaml *y, wz_yaml_id v, struct wz_err *err, const char *expected)
{
	if (wz_yaml_kind(y, v) == WZ_YAML_SCALAR)
		return wz_yaml_fail(y, v, err, "BadValue", WZ_STR("expected "), wz_str(expected),
		        WZ_STR(", got \""), wz_yaml_text(y, v), WZ_STR("\""));
	return wz_yaml_fail(y, v, err, "BadValue", WZ_STR("expected "), wz_str(expected));
}

static int no_memory(struct wz_err *err)
{
	return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
}

static int get_text(const struct wz_yaml *y, wz_yaml_id v, char *to, size_t cap, struct wz_err *err)
{
	struct wz_str s = wz_yaml_text(y, v);
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || s.len == 0)
		return bad(y, v, err, "text");
	if (s.len >= cap)
		return bad(y, v, err, "a shorter text");
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] < ' ')
			return bad(y, v, err, "text without control characters");
	}
	memcpy(to, s.ptr, s.len);
	to[s.len] = 0;
	return 0;
}

static int get_u64(const struct wz_yaml *y, wz_yaml_id v, uint64_t max, uint64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_str_parse_u64(wz_yaml_text(y, v), &n) < 0)
		return bad(y, v, err, "a whole number");
	if (n > max)
		return bad(y, v, err, "a smaller number");
	*to = n;
	return 0;
}

static int get_bytes(const struct wz_yaml *y, wz_yaml_id v, int64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_bytes_parse(wz_yaml_text(y, v), &n, NULL) < 0 ||
	        n > BYTES_MAX)
		return bad(y, v, err, "a size such as 80Gi");
	*to = (int64_t)n;
	return 0;
}

static int get_time(const struct wz_yaml *y, wz_yaml_id v, uint64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	if (wz_yaml_kind(y, v) != WZ_YAML_SCALAR || wz_duration_parse(wz_yaml_text(y, v), &n, NULL) < 0 ||
	        n > TIME_MAX)
		return bad(y, v, err, "a duration such as 30s");
	*to = n;
	return 0;
}

static int get_bool(const struct wz_yaml *y, wz_yaml_id v, bool *to, struct wz_err *err)
{
	struct wz_str s = wz_yaml_text(y, v);
	if (!wz_str_eq(s, WZ_STR("true")) && !wz_str_eq(s, WZ_STR("false")))
		return bad(y, v, err, "true or false");
	*to = s.len == 4;
	return 0;
}

static int get_health(const struct wz_yaml *y, wz_yaml_id v, uint8_t *to, struct wz_err *err)
{
	for (uint8_t i = 0; i <= WZ_DEVICE_FAILED; i++) {
		if (wz_str_eq(wz_yaml_text(y, v), wz_str(wz_device_healths[i]))) {
			*to = i;
			return 0;
		}
	}
	return bad(y, v, err, "ok, degraded or failed");
}

/* --- telemetry ------------------------------------------------------------------------------------------------ */

/* A value in the metric's unit: sizes for bytes, "35.5" watts as milliwatts, else a whole number. */
static int get_metric(const struct wz_yaml *y, wz_yaml_id v, enum wz_metric m, int64_t *to, struct wz_err *err)
{
	uint64_t n = 0;
	const char *unit = wz_metrics[m].unit;
	if (strcmp(unit, "bytes") == 0)
		return get_bytes(y, v, to, err);
	if (strcmp(unit, "milliwatts") == 0) {
		if (wz_milli_parse(wz_yaml_text(y, v), &n, NULL) < 0 || n > 1000000000)
			return bad(y, v, err, "watts such as 250");
		*to = (int64_t)n;
		return 0;
	}
	int rc = get_u64(y, v, strcmp(unit, "percent") == 0 ? 100 : 1000000000, &n, err);
	if (rc == 0)
		*to = (int64_t)n;
	return rc;
}

static int get_points(
        const struct wz_yaml *y, wz_yaml_id v, enum wz_metric m, struct wz_curve *c, struct wz_err *err)
{
	for (uint32_t i = 0; i < c->n; i++) {
		wz_yaml_id pair = wz_yaml_item(y, v, i);
		if (wz_yaml_kind(y, pair) != WZ_YAML_LIST || wz_yaml_count(y, pair) != 2)
			return bad(y, pair, err, "a pair [time, value]");
		int rc = get_time(y, wz_yaml_item(y, pair, 0), &c->point[i].at_us, err);
		if (rc == 0)
			rc = get_metric(y, wz_yaml_item(y, pair, 1), m, &c->point[i].value, err);
		if (rc < 0)
			return rc;
		if (i && c->point[i].at_us < c->point[i - 1].at_us)
			return bad(y, pair, err, "times that do not go back");
	}
	return 0;
}

/* A value, "unsupported", or a list of [time, value]. */
static int get_curve(const struct wz_yaml *y, wz_yaml_id v, enum wz_metric m, struct wz_cluster *c,
        struct wz_curve *ret, bool *ret_unsupported, struct wz_err *err)
{
	struct wz_curve curve = {0};
	bool list = wz_yaml_kind(y, v) == WZ_YAML_LIST;
	*ret_unsupported = !list && wz_str_eq(wz_yaml_text(y, v), WZ_STR("unsupported"));
	if (*ret_unsupported)
		return 0;
	curve.n = list ? wz_yaml_count(y, v) : 1;
	if (curve.n == 0 || curve.n > WZ_CURVE_POINTS_MAX)
		return bad(y, v, err, "1 to 256 pairs [time, value]");
	curve.point = wz_arena_alloc(&c->arena, curve.n * sizeof *curve.point);
	if (!curve.point)
		return no_memory(err);
	int rc = list ? get_points(y, v, m, &curve, err) : get_metric(y, v, m, &curve.point[0].value, err);
	if (rc == 0)
		*ret = curve;
	return rc;
}

int64_t wz_curve_at(const struct wz_curve *c, uint64_t t_us)
{
	wz_check(c->n > 0);
	if (c->period_us)
		t_us %= c->period_us;
	uint32_t i = 0;
	while (i + 1 < c->n && c->point[i + 1].at_us <= t_us)
		i++;
	const struct wz_curve_point *a = &c->point[i];
	if (t_us <= a->at_us || i + 1 == c->n)
		return a->value;
	const struct wz_curve_point *b = a + 1;
	__int128 part = (__int128)(b->value - a->value) * (__int128)(t_us - a->at_us);
	return a->value + (int64_t)(part / (__int128)(b->at_us - a->at_us));
}

static int get_telemetry(
        const struct wz_yaml *y, wz_yaml_id map, struct wz_cluster *c, uint32_t device, struct wz_err *err)
{
	uint64_t period = 0;
	if (wz_yaml_kind(y, map) != WZ_YAML_MAP)
		return bad(y, map, err, "a map of readings");
	wz_yaml_id every = wz_yaml_get(y, map, WZ_STR("period"));
	int rc = every.v ? get_time(y, every, &period, err) : 0;
	for (unsigned i = 0; i < wz_yaml_count(y, map) && rc == 0; i++) {
		wz_yaml_id k, v;
		struct wz_str key = wz_yaml_pair(y, map, i, &k, &v);
		unsigned m = 0;
		if (wz_str_eq(key, WZ_STR("period")))
			continue;
		while (m < WZ_METRICS && !wz_str_eq(key, wz_str(wz_metrics[m].name)))
			m++;
		if (m == WZ_METRICS)
			return wz_yaml_fail(
			        y, k, err, "UnknownKey", WZ_STR("no reading has the name \""), key, WZ_STR("\""));
		rc = get_curve(y, v, (enum wz_metric)m, c, &c->script[device].curve[m],
		        &c->script[device].unsupported[m], err);
		c->script[device].curve[m].period_us = period;
	}
	return rc;
}

/* --- nodes and devices ---------------------------------------------------------------------------------------- */

struct group { /* one entry of "devices" */
	struct wz_device d;
	uint64_t count;
	wz_yaml_id numa, link, telemetry, at;
};

static int set_model(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	return get_text(y, v, g->d.name, sizeof g->d.name, err);
}
static int set_count(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	int rc = get_u64(y, v, WZ_DEV_PER_NODE_MAX, &g->count, err);
	return rc == 0 && g->count == 0 ? bad(y, v, err, "at least 1") : rc;
}
static int set_dev_mem(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	return get_bytes(y, v, &g->d.mem_bytes, err);
}
static int set_link(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	if (!wz_str_eq(wz_yaml_text(y, v), WZ_STR("nvlink")) && !wz_str_eq(wz_yaml_text(y, v), WZ_STR("none")))
		return bad(y, v, err, "nvlink (the devices of this entry are joined) or none");
	g->link = v;
	return 0;
}
static int set_numa(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	g->numa = v;
	(void)err;
	(void)y;
	return 0;
}
static int set_dev_health(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	return get_health(y, v, &g->d.health, err);
}
static int set_telemetry(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct group *g = to;
	g->telemetry = v;
	(void)err;
	(void)y;
	return 0;
}
static const struct wz_yaml_key device_keys[] = {
        {"model", set_model, true},
        {"count", set_count, false},
        {"mem", set_dev_mem, false},
        {"link", set_link, false},
        {"numa", set_numa, false},
        {"health", set_dev_health, false},
        {"telemetry", set_telemetry, false},
};

struct node_entry {
	struct wz_device_node n;
	uint64_t count;
	wz_yaml_id devices, labels;
	char name[112]; /* room for "-4095" */
};
static int set_name(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	return get_text(y, v, e->name, sizeof e->name, err);
}
static int set_node_count(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	int rc = get_u64(y, v, WZ_DEV_NODES_MAX, &e->count, err);
	return rc == 0 && e->count == 0 ? bad(y, v, err, "at least 1") : rc;
}
static int set_cpus(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	uint64_t n = 0;
	if (wz_milli_parse(wz_yaml_text(y, v), &n, NULL) < 0 || n > CPU_MAX)
		return bad(y, v, err, "a number of CPUs such as 64");
	e->n.cpu_milli = (int64_t)n;
	return 0;
}
static int set_mem(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	return get_bytes(y, v, &e->n.mem_bytes, err);
}
static int set_rack(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	return get_text(y, v, e->n.rack, sizeof e->n.rack, err);
}
static int set_site(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	return get_text(y, v, e->n.site, sizeof e->n.site, err);
}
static int set_tasks(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	uint64_t n = 0;
	int rc = get_u64(y, v, UINT32_MAX, &n, err);
	if (rc == 0)
		e->n.max_tasks = (uint32_t)n;
	return rc;
}
static int set_ready(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	return get_bool(y, v, &e->n.ready, err);
}
static int set_labels(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	if (wz_yaml_kind(y, v) != WZ_YAML_MAP || wz_yaml_count(y, v) > WZ_DEV_LABELS_MAX)
		return bad(y, v, err, "a map of at most 64 labels");
	e->labels = v;
	return 0;
}
static int set_devices(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct node_entry *e = to;
	if (wz_yaml_kind(y, v) != WZ_YAML_LIST)
		return bad(y, v, err, "a list of devices");
	e->devices = v;
	return 0;
}
static const struct wz_yaml_key node_keys[] = {
        {"name", set_name, true},
        {"count", set_node_count, false},
        {"cpus", set_cpus, true},
        {"mem", set_mem, true},
        {"rack", set_rack, false},
        {"site", set_site, false},
        {"max-tasks", set_tasks, false},
        {"ready", set_ready, false},
        {"labels", set_labels, false},
        {"devices", set_devices, false},
};

static int numa_of(const struct wz_yaml *y, const struct group *g, uint32_t i, uint8_t *ret, struct wz_err *err)
{
	uint64_t n = 0;
	wz_yaml_id v = g->numa;
	if (wz_yaml_kind(y, v) == WZ_YAML_LIST) {
		if (wz_yaml_count(y, v) != g->count)
			return bad(y, v, err, "one NUMA node for each device of the entry");
		v = wz_yaml_item(y, v, i);
	}
	int rc = v.v ? get_u64(y, v, 63, &n, err) : 0;
	*ret = (uint8_t)n;
	return rc;
}

static int add_group(
        const struct wz_yaml *y, const struct group *g, struct wz_cluster *c, uint16_t domain, struct wz_err *err)
{
	for (uint32_t i = 0; i < g->count; i++) {
		struct wz_device_node *node = &c->inv.node[c->inv.n_nodes - 1];
		struct wz_device *d = wz_inventory_add_device(&c->inv);
		if (!d)
			return wz_yaml_fail(y, g->at, err, "TooMany",
			        WZ_STR("more than 64 devices on a node, or 65536 in all"));
		uint32_t of_node = d->node, index = d->index;
		*d = g->d;
		d->node = of_node;
		d->index = index;
		(void)snprintf(d->uuid, sizeof d->uuid, "GPU-emulated-%.40s-%u", node->name, index);
		(void)snprintf(d->bus, sizeof d->bus, "00000000:%02X:00.0", index + 1);
		d->link_domain = domain;
		int rc = numa_of(y, g, i, &d->numa, err);
		if (rc == 0 &&
		        wz_grow(c->inv.mem, &c->script, &c->cap_scripts, c->inv.n_devices, sizeof *c->script) < 0)
			rc = no_memory(err);
		if (rc == 0 && g->telemetry.v)
			rc = get_telemetry(y, g->telemetry, c, c->inv.n_devices - 1, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_devices(const struct wz_yaml *y, wz_yaml_id list, struct wz_cluster *c, struct wz_err *err)
{
	uint16_t domains = 0;
	for (unsigned i = 0; list.v && i < wz_yaml_count(y, list); i++) {
		struct group g = {.count = 1, .at = wz_yaml_item(y, list, i)};
		int rc = wz_yaml_walk(y, g.at, device_keys, WZ_ARRAY_LEN(device_keys), &g, err);
		bool joined = g.link.v && wz_yaml_text(y, g.link).len == 6;
		if (rc == 0)
			rc = add_group(y, &g, c, joined ? ++domains : 0, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_labels(
        const struct wz_yaml *y, wz_yaml_id map, struct wz_cluster *c, struct wz_device_node *n, struct wz_err *err)
{
	n->n_labels = map.v ? wz_yaml_count(y, map) : 0;
	n->label = n->n_labels ? wz_arena_alloc(&c->inv.text, n->n_labels * sizeof *n->label) : NULL;
	if (n->n_labels && !n->label)
		return no_memory(err);
	for (unsigned i = 0; i < n->n_labels; i++) {
		wz_yaml_id k, v;
		(void)wz_yaml_pair(y, map, i, &k, &v);
		int rc = get_text(y, k, n->label[i].key, sizeof n->label[i].key, err);
		if (rc == 0)
			rc = get_text(y, v, n->label[i].value, sizeof n->label[i].value, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int64_t find_node(const struct wz_cluster *c, struct wz_str name)
{
	for (uint32_t i = 0; i < c->inv.n_nodes; i++) {
		if (wz_str_eq(name, wz_str(c->inv.node[i].name)))
			return i;
	}
	return -1;
}

static int add_node(const struct wz_yaml *y, wz_yaml_id at, struct wz_cluster *c, struct wz_err *err)
{
	struct node_entry e = {.count = 1, .n = {.ready = true}};
	int rc = wz_yaml_walk(y, at, node_keys, WZ_ARRAY_LEN(node_keys), &e, err);
	for (uint32_t i = 0; i < e.count && rc == 0; i++) {
		char name[128];
		if (wz_yaml_get(y, at, WZ_STR("count")).v)
			(void)snprintf(name, sizeof name, "%s-%u", e.name, i);
		else
			(void)snprintf(name, sizeof name, "%s", e.name);
		if (find_node(c, wz_str(name)) >= 0)
			return wz_yaml_fail(y, at, err, "BadValue", WZ_STR("the node \""), wz_str(name),
			        WZ_STR("\" is there twice"));
		struct wz_device_node *n = wz_inventory_add_node(&c->inv, name);
		if (!n)
			return wz_yaml_fail(y, at, err, "TooMany", WZ_STR("more than 4096 nodes"));
		uint32_t first = n->first_device;
		memcpy(e.n.name, name, sizeof e.n.name);
		*n = e.n;
		n->first_device = first;
		rc = add_labels(y, e.labels, c, n, err);
		if (rc == 0)
			rc = add_devices(y, e.devices, c, err);
	}
	return rc;
}

/* --- events and processes ------------------------------------------------------------------------------------- */

struct event_entry {
	struct wz_cluster *c;
	struct wz_cluster_event e;
	struct wz_cluster_proc p;
	uint64_t device;
	wz_yaml_id node, dev, health, ready;
};
static int set_at(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_time(y, v, &e->e.at_us, err);
}
static int set_on_node(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	int64_t i = find_node(e->c, wz_yaml_text(y, v));
	if (i < 0)
		return wz_yaml_fail(y, v, err, "NoSuchNode", WZ_STR("no node has the name \""), wz_yaml_text(y, v),
		        WZ_STR("\" (a node with a count is NAME-0, NAME-1, ...)"));
	e->node = v;
	e->e.node = e->p.proc.node = (uint32_t)i;
	return 0;
}
static int set_on_device(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	e->dev = v;
	return get_u64(y, v, WZ_DEV_PER_NODE_MAX - 1, &e->device, err);
}
static int set_to_health(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	e->health = v;
	return get_health(y, v, &e->e.health, err);
}
static int set_to_ready(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	e->ready = v;
	return get_bool(y, v, &e->e.ready, err);
}
static int set_why(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_text(y, v, e->e.why, sizeof e->e.why, err);
}
static const struct wz_yaml_key event_keys[] = {
        {"at", set_at, true},
        {"node", set_on_node, true},
        {"device", set_on_device, false},
        {"health", set_to_health, false},
        {"ready", set_to_ready, false},
        {"why", set_why, false},
};

static int set_from(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_time(y, v, &e->p.from_us, err);
}
static int set_to(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_time(y, v, &e->p.to_us, err);
}
static int set_pid(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	uint64_t n = 0;
	int rc = get_u64(y, v, INT32_MAX, &n, err);
	if (rc == 0)
		e->p.proc.pid = (int64_t)n;
	return rc;
}
static int set_proc_mem(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_bytes(y, v, &e->p.proc.mem_bytes, err);
}
static int set_user(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_text(y, v, e->p.proc.user, sizeof e->p.proc.user, err);
}
static int set_command(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	struct event_entry *e = to;
	return get_text(y, v, e->p.proc.command, sizeof e->p.proc.command, err);
}
static const struct wz_yaml_key proc_keys[] = {
        {"node", set_on_node, true},
        {"device", set_on_device, true},
        {"from", set_from, false},
        {"to", set_to, false},
        {"pid", set_pid, false},
        {"mem", set_proc_mem, false},
        {"user", set_user, false},
        {"command", set_command, false},
};

static int check_device(const struct wz_yaml *y, const struct event_entry *e, struct wz_err *err)
{
	if (e->dev.v && e->device >= e->c->inv.node[e->e.node].n_devices)
		return wz_yaml_fail(
		        y, e->dev, err, "NoSuchDevice", WZ_STR("the node has no device "), wz_yaml_text(y, e->dev));
	return 0;
}

static int add_event(const struct wz_yaml *y, wz_yaml_id at, struct wz_cluster *c, struct wz_err *err)
{
	struct event_entry e = {.c = c};
	int rc = wz_yaml_walk(y, at, event_keys, WZ_ARRAY_LEN(event_keys), &e, err);
	if (rc == 0)
		rc = check_device(y, &e, err);
	if (rc < 0)
		return rc;
	if ((e.dev.v != 0) != (e.health.v != 0) || (e.dev.v != 0) == (e.ready.v != 0))
		return bad(y, at, err, "either device and health, or ready");
	e.e.device = e.dev.v ? (int32_t)e.device : -1;
	if (c->n_events == WZ_CLUSTER_EVENTS_MAX)
		return wz_yaml_fail(y, at, err, "TooMany", WZ_STR("more than 4096 events"));
	if (wz_grow(c->inv.mem, &c->event, &c->cap_events, c->n_events + 1, sizeof *c->event) < 0)
		return no_memory(err);
	uint32_t i = c->n_events++;
	for (; i > 0 && c->event[i - 1].at_us > e.e.at_us; i--)
		c->event[i] = c->event[i - 1];
	c->event[i] = e.e;
	return 0;
}

static int add_proc(const struct wz_yaml *y, wz_yaml_id at, struct wz_cluster *c, struct wz_err *err)
{
	struct event_entry e = {.c = c, .p = {.to_us = UINT64_MAX, .proc = {.pid = -1, .mem_bytes = -1}}};
	int rc = wz_yaml_walk(y, at, proc_keys, WZ_ARRAY_LEN(proc_keys), &e, err);
	if (rc == 0)
		rc = check_device(y, &e, err);
	if (rc < 0)
		return rc;
	e.p.proc.index = (uint32_t)e.device;
	if (c->n_procs == WZ_DEV_PROCS_MAX)
		return wz_yaml_fail(y, at, err, "TooMany", WZ_STR("more than 4096 processes"));
	if (wz_grow(c->inv.mem, &c->proc, &c->cap_procs, c->n_procs + 1, sizeof *c->proc) < 0)
		return no_memory(err);
	c->proc[c->n_procs++] = e.p;
	return 0;
}

/* --- the file ------------------------------------------------------------------------------------------------- */

static int set_version(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	(void)to;
	return wz_str_eq(wz_yaml_text(y, v), WZ_STR("1")) ? 0 : bad(y, v, err, "1, the only version there is");
}
static int list_here(const struct wz_yaml *y, wz_yaml_id v, wz_yaml_id *to, struct wz_err *err)
{
	if (wz_yaml_kind(y, v) != WZ_YAML_LIST)
		return bad(y, v, err, "a list");
	*to = v;
	return 0;
}
static int set_nodes(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	return list_here(y, v, &((struct parse *)to)->top.nodes, err);
}
static int set_events(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	return list_here(y, v, &((struct parse *)to)->top.events, err);
}
static int set_procs(const struct wz_yaml *y, wz_yaml_id v, void *to, struct wz_err *err)
{
	return list_here(y, v, &((struct parse *)to)->top.procs, err);
}
static const struct wz_yaml_key file_keys[] = {
        {"version", set_version, true},
        {"nodes", set_nodes, true},
        {"events", set_events, false},
        {"processes", set_procs, false},
};

static int parse_all(const struct wz_yaml *y, struct wz_cluster *c, struct wz_err *err)
{
	struct parse p = {.c = c};
	int rc = wz_yaml_walk(y, wz_yaml_root(y), file_keys, WZ_ARRAY_LEN(file_keys), &p, err);
	if (rc == 0 && wz_yaml_count(y, p.top.nodes) == 0)
		rc = bad(y, p.top.nodes, err, "at least one node");
	for (unsigned i = 0; rc == 0 && i < wz_yaml_count(y, p.top.nodes); i++)
		rc = add_node(y, wz_yaml_item(y, p.top.nodes, i), c, err);
	for (unsigned i = 0; rc == 0 && p.top.events.v && i < wz_yaml_count(y, p.top.events); i++)
		rc = add_event(y, wz_yaml_item(y, p.top.events, i), c, err);
	for (unsigned i = 0; rc == 0 && p.top.procs.v && i < wz_yaml_count(y, p.top.procs); i++)
		rc = add_proc(y, wz_yaml_item(y, p.top.procs, i), c, err);
	return rc;
}

int wz_cluster_parse(
        struct wz_str text, const char *name, const struct wz_mem *mem, struct wz_cluster *ret, struct wz_err *err)
{
	struct wz_yaml *y;
	struct wz_cluster c = {0};
	int rc = wz_yaml_load(text, name, &y, err);
	if (rc < 0)
		return rc;
	wz_inventory_init(&c.inv, mem);
	wz_arena_init(&c.arena, mem, 4096);
	rc = parse_all(y, &c, err);
	wz_yaml_free(y);
	if (rc < 0) {
		wz_cluster_release(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

void wz_cluster_release(struct wz_cluster *c)
{
	wz_grow_free(c->inv.mem, &c->event, &c->cap_events, sizeof *c->event);
	wz_grow_free(c->inv.mem, &c->proc, &c->cap_procs, sizeof *c->proc);
	wz_grow_free(c->inv.mem, &c->script, &c->cap_scripts, sizeof *c->script);
	wz_arena_release(&c->arena);
	wz_inventory_release(&c->inv);
}
