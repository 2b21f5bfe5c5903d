/* SPDX-License-Identifier: Apache-2.0 */
/* A cell is a number with or without its unit, or a placeholder. A placeholder says either that the device can never tell
 * (unsupported) or that it cannot tell now (unknown). A device that prints "requires reset" or ERR! for its memory has
 * failed as a whole. */
#include "device/smi.h"

#include "base/check.h"
#include "base/csv.h"
#include "base/quant.h"
#include "os/file.h"
#include "os/proc.h"

#include <stdlib.h>
#include <sys/wait.h>

enum column {
	COL_INDEX,
	COL_UUID,
	COL_BUS,
	COL_NAME,
	COL_MEM_TOTAL,
	COL_MEM_USED,
	COL_UTIL,
	COL_MEM_UTIL,
	COL_TEMP,
	COL_POWER,
	COL_POWER_CAP,
	COL_CLOCK_SM,
	COL_CLOCK_MEM,
	COL_FAN,
	COL_ECC,
	COLS
};

static const struct {
	enum column column;
	enum wz_metric metric;
	int64_t scale_milli; /* value x this / 1000 = metric's unit, from thousandths of what is printed */
} cells[] = {
        {COL_MEM_TOTAL, WZ_METRIC_MEM_TOTAL, 1048576},
        {COL_MEM_USED, WZ_METRIC_MEM_USED, 1048576},
        {COL_UTIL, WZ_METRIC_UTIL, 1},
        {COL_MEM_UTIL, WZ_METRIC_MEM_UTIL, 1},
        {COL_TEMP, WZ_METRIC_TEMP, 1},
        {COL_POWER, WZ_METRIC_POWER, 1000},
        {COL_POWER_CAP, WZ_METRIC_POWER_CAP, 1000},
        {COL_CLOCK_SM, WZ_METRIC_CLOCK_SM, 1},
        {COL_CLOCK_MEM, WZ_METRIC_CLOCK_MEM, 1},
        {COL_FAN, WZ_METRIC_FAN, 1},
        {COL_ECC, WZ_METRIC_ECC_UNCORRECTED, 1},
};

static bool has(struct wz_str s, const char *word)
{
	return s.len && memmem(s.ptr, s.len, word, strlen(word)) != NULL;
}

static enum wz_reading_status placeholder(struct wz_str s)
{
	static const char *const unsupported[] = {"N/A", "Not Supported", "NotSupported", "Not Available"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(unsupported); i++) {
		if (has(s, unsupported[i]))
			return WZ_READING_UNSUPPORTED;
	}
	return WZ_READING_UNKNOWN;
}

/* "70.12 W", "45 %", "123 MiB", "123" in thousandths. */
static bool number(struct wz_str s, int64_t *ret_milli)
{
	int64_t v = 0;
	unsigned digits = 0, decimals = 0;
	bool point = false;
	size_t i = 0;
	for (; i < s.len; i++) {
		char c = s.ptr[i];
		if (c == '.' && !point && digits) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		if (point && decimals == 3)
			continue; /* finer than a thousandth */
		if (v > INT64_MAX / 10000000)
			return false;
		v = v * 10 + (c - '0');
		digits++;
		decimals += point;
	}
	struct wz_str unit = wz_str_trim((struct wz_str){s.ptr + i, s.len - i});
	for (size_t k = 0; k < unit.len; k++) {
		char c = unit.ptr[k];
		if (!(c == '%' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	if (!digits || unit.len > 4)
		return false;
	for (; decimals < 3; decimals++)
		v *= 10;
	*ret_milli = v;
	return true;
}

static void read_cell(struct wz_device *d, enum wz_metric m, struct wz_str s, int64_t scale_milli, uint64_t now_us)
{
	int64_t milli;
	struct wz_reading *r = &d->reading[m];
	*r = (struct wz_reading){0, now_us, WZ_READING_UNKNOWN};
	if (!number(s, &milli)) {
		r->status = (uint8_t)placeholder(s);
		return;
	}
	if (milli > INT64_MAX / (scale_milli > 1 ? scale_milli : 1))
		return;
	r->value = scale_milli == 1 ? milli / 1000 : scale_milli == 1000 ? milli : milli / 1000 * scale_milli;
	r->status = WZ_READING_OK;
	if (strcmp(wz_metrics[m].unit, "percent") == 0 && r->value > 100 && m != WZ_METRIC_FAN)
		*r = (struct wz_reading){0, now_us, WZ_READING_UNKNOWN};
}

static void copy(char *to, size_t cap, struct wz_str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.len && n + 1 < cap; i++) {
		if ((unsigned char)s.ptr[i] >= ' ' && s.ptr[i] != 0x7f)
			to[n++] = s.ptr[i];
	}
	to[n] = 0;
}

static int failure_text(struct wz_str text, struct wz_err *err)
{
	struct wz_str line = wz_str_trim(wz_str_split(&text, '\n'));
	if (has(line, "No devices were found"))
		return wz_err_set(err, -ENODEV, "NoDevices", WZ_STR("nvidia-smi: "), line);
	if (has(line, "NVIDIA-SMI has failed") || has(line, "Failed to initialize NVML") ||
	        has(line, "Driver/library") || has(line, "Unable to determine") ||
	        has(line, "Insufficient Permissions"))
		return wz_err_set(err, -EIO, "DriverFailed", WZ_STR("nvidia-smi: "), line);
	return 0;
}

static void judge(struct wz_device *d, const struct wz_csv *c)
{
	const struct wz_reading *total = &d->reading[WZ_METRIC_MEM_TOTAL];
	d->mem_bytes = total->status == WZ_READING_OK ? total->value : 0;
	for (unsigned i = 0; i < c->n; i++) {
		struct wz_str s = c->field[i].text;
		const char *why = has(s, "requires reset") ? "the driver says that the GPU requires a reset"
		                  : has(s, "GPU is lost")  ? "the GPU is lost"
		                                           : NULL;
		if (why) {
			d->health = WZ_DEVICE_FAILED;
			copy(d->health_why, sizeof d->health_why, wz_str(why));
		}
	}
	if (d->health == WZ_DEVICE_OK && total->status == WZ_READING_UNKNOWN) {
		d->health = WZ_DEVICE_FAILED;
		copy(d->health_why, sizeof d->health_why, WZ_STR("the driver does not say how much memory it has"));
	}
}

static int add_line(const struct wz_csv *c, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	uint64_t index;
	struct wz_str f[COLS];
	struct wz_num n;
	for (unsigned i = 0; i < COLS; i++)
		f[i] = i < c->n ? wz_str_trim(c->field[i].text) : WZ_STR("");
	if (c->n < COL_MEM_TOTAL || wz_str_parse_u64(f[COL_INDEX], &index) < 0 || index > 1023 ||
	        f[COL_UUID].len == 0 || f[COL_UUID].len >= sizeof inv->device->uuid)
		return wz_err_set(err, -EBADMSG, "SmiOutput", WZ_STR("nvidia-smi: line "), wz_str_u64(&n, c->line),
		        WZ_STR(" is no device: \""), c->n ? f[0] : WZ_STR(""), WZ_STR("\""));
	struct wz_device *d = wz_inventory_add_device(inv);
	if (!d)
		return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("more than 64 devices, or out of memory"));
	copy(d->uuid, sizeof d->uuid, f[COL_UUID]);
	copy(d->bus, sizeof d->bus, f[COL_BUS]);
	copy(d->name, sizeof d->name, f[COL_NAME]);
	for (unsigned i = 0; i < WZ_ARRAY_LEN(cells); i++)
		read_cell(d, cells[i].metric, f[cells[i].column], cells[i].scale_milli, now_us);
	judge(d, c);
	return 0;
}

static int by_bus(const void *a, const void *b)
{
	const struct wz_device *x = a, *y = b;
	int c = strcasecmp(x->bus, y->bus);
	return c ? c : (x->index > y->index) - (x->index < y->index);
}

int wz_smi_parse_query(struct wz_str text, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	struct wz_csv c;
	int rc = failure_text(text, err), n;
	wz_check(inv->n_nodes > 0);
	uint32_t first = inv->n_devices;
	if (rc < 0)
		return rc;
	wz_csv_init(&c, inv->mem, text);
	while (rc == 0 && (n = wz_csv_next(&c, err)) != 0) {
		if (n < 0)
			rc = n == -ENOMEM ? n
			                  : wz_err_set(err, -EBADMSG, "SmiOutput",
			                            WZ_STR("nvidia-smi: no text of lines"));
		else if (c.line == 1 && wz_str_starts(wz_str_trim(c.field[0].text), WZ_STR("index")))
			continue; /* somebody's wrapper kept the header */
		else
			rc = add_line(&c, now_us, inv, err);
	}
	wz_csv_release(&c);
	uint32_t count = inv->n_devices - first;
	if (rc == 0 && count == 0)
		return wz_err_set(err, -ENODEV, "NoDevices", WZ_STR("nvidia-smi shows no device"));
	if (rc < 0)
		return rc;
	qsort(&inv->device[first], count, sizeof *inv->device, by_bus);
	for (uint32_t i = 0; i < count; i++)
		inv->device[first + i].index = i; /* the first ones of their node */
	return 0;
}

/* --- topology ------------------------------------------------------------------------------------------------- */

/* Cells are separated by tabs or blanks; the first columns are as many as there are devices. */
static struct wz_str next_cell(struct wz_str *line)
{
	size_t i = 0;
	while (i < line->len && (line->ptr[i] == ' ' || line->ptr[i] == '\t'))
		i++;
	size_t from = i;
	while (i < line->len && line->ptr[i] != ' ' && line->ptr[i] != '\t')
		i++;
	struct wz_str cell = {line->ptr + from, i - from};
	*line = (struct wz_str){line->ptr + i, line->len - i};
	return cell;
}

/* nvidia-smi underlines the header by escape sequences, also into a pipe. */
static struct wz_str skip_escape(struct wz_str s)
{
	while (s.len >= 3 && s.ptr[0] == 0x1b && s.ptr[1] == '[') {
		size_t i = 2;
		while (i < s.len && s.ptr[i] != 'm')
			i++;
		if (i == s.len)
			return s;
		s = (struct wz_str){s.ptr + i + 1, s.len - i - 1};
	}
	return s;
}

static bool is_gpu(struct wz_str cell, uint32_t i)
{
	struct wz_num n;
	struct wz_str want = wz_str_u64(&n, i);
	cell = skip_escape(cell);
	if (!wz_str_starts(cell, WZ_STR("GPU")))
		return false;
	cell = (struct wz_str){cell.ptr + 3, cell.len - 3};
	const char *esc = cell.len ? memchr(cell.ptr, 0x1b, cell.len) : NULL;
	if (esc)
		cell.len = (size_t)(esc - cell.ptr);
	return wz_str_eq(cell, want);
}

static uint16_t root_of(const uint16_t *parent, uint16_t i)
{
	while (parent[i] != i)
		i = parent[i];
	return i;
}

/* Numbers the groups of two and more, from 1 in order of their first members; 0: alone. */
static void number_groups(const uint16_t *parent, uint32_t n, uint16_t *ret)
{
	uint16_t number[WZ_DEV_PER_NODE_MAX] = {0}, size[WZ_DEV_PER_NODE_MAX] = {0}, next = 1;
	for (uint16_t i = 0; i < n; i++)
		size[root_of(parent, i)]++;
	for (uint16_t i = 0; i < n; i++) {
		uint16_t r = root_of(parent, i);
		if (size[r] > 1 && !number[r])
			number[r] = next++;
		ret[i] = number[r];
	}
}

/* The NUMA column begins where the header says so; the cells before it may be empty. */
static int64_t numa_at(struct wz_str header, struct wz_str line)
{
	const char *at = header.len ? memmem(header.ptr, header.len, "NUMA Affinity", 13) : NULL;
	if (!at)
		return -1;
	/* Tabs count columns the same in both lines. */
	unsigned tabs = 0;
	for (const char *p = header.ptr; p < at; p++)
		tabs += *p == '\t';
	struct wz_str rest = line;
	for (unsigned i = 0; i < tabs && rest.ptr; i++)
		(void)wz_str_split(&rest, '\t');
	uint64_t v;
	if (!rest.ptr)
		return -1;
	struct wz_str cell = wz_str_trim(wz_str_split(&rest, '\t'));
	struct wz_str first = wz_str_split(&cell, '-'); /* "0-1": the first */
	return wz_str_parse_u64(wz_str_split(&first, ','), &v) == 0 && v < 64 ? (int64_t)v : -1;
}

int wz_smi_parse_topo(struct wz_str text, struct wz_device *device, uint32_t n, struct wz_err *err)
{
	uint16_t parent[WZ_DEV_PER_NODE_MAX] = {0}, bridge[WZ_DEV_PER_NODE_MAX] = {0};
	int64_t numa[WZ_DEV_PER_NODE_MAX];
	struct wz_str header = {0};
	uint32_t rows = 0;
	wz_check(n <= WZ_DEV_PER_NODE_MAX);
	for (uint16_t i = 0; i < n; i++)
		parent[i] = bridge[i] = i;
	while (text.ptr && rows < n) {
		struct wz_str line = wz_str_split(&text, '\n'), cells_left = line;
		struct wz_str name = next_cell(&cells_left);
		if (!header.ptr) {
			if (is_gpu(name, 0))
				header = line;
			continue;
		}
		if (!is_gpu(name, rows))
			continue;
		for (uint16_t k = 0; k < n; k++) {
			struct wz_str cell = next_cell(&cells_left);
			if (cell.len == 0)
				return wz_err_set(err, -EBADMSG, "SmiTopology",
				        WZ_STR("nvidia-smi topo: a row is too short"));
			if (cell.len > 2 && wz_str_starts(cell, WZ_STR("NV")) && cell.ptr[2] >= '1' &&
			        cell.ptr[2] <= '9')
				parent[root_of(parent, k)] = root_of(parent, (uint16_t)rows);
			else if (wz_str_eq(cell, WZ_STR("PIX")) || wz_str_eq(cell, WZ_STR("PXB")))
				bridge[root_of(bridge, k)] = root_of(bridge, (uint16_t)rows);
		}
		numa[rows++] = numa_at(header, line);
	}
	if (rows < n)
		return wz_err_set(
		        err, -EBADMSG, "SmiTopology", WZ_STR("nvidia-smi topo: no matrix of these devices"));
	uint16_t domain[WZ_DEV_PER_NODE_MAX], under[WZ_DEV_PER_NODE_MAX];
	number_groups(parent, n, domain);
	number_groups(bridge, n, under);
	for (uint16_t i = 0; i < n; i++) {
		device[i].link_domain = domain[i];
		device[i].pcie = (uint8_t)under[i];
		if (numa[i] >= 0)
			device[i].numa = (uint8_t)numa[i];
	}
	return 0;
}

/* --- processes ------------------------------------------------------------------------------------------------ */

int wz_smi_parse_apps(struct wz_str text, struct wz_inventory *inv, struct wz_err *err)
{
	while (text.ptr) {
		struct wz_str line = wz_str_trim(wz_str_split(&text, '\n')), rest = line;
		struct wz_str uuid = wz_str_trim(wz_str_split(&rest, ','));
		struct wz_str pid = rest.ptr ? wz_str_trim(wz_str_split(&rest, ',')) : WZ_STR("");
		int64_t mem;
		uint64_t v;
		uint32_t at = 0;
		if (line.len == 0 || has(line, "No running processes"))
			continue;
		if (wz_str_parse_u64(pid, &v) < 0 || v > INT32_MAX)
			return wz_err_set(err, -EBADMSG, "SmiOutput", WZ_STR("nvidia-smi: no process: \""), line,
			        WZ_STR("\""));
		while (at < inv->n_devices && !wz_str_eq(uuid, wz_str(inv->device[at].uuid)))
			at++;
		if (at == inv->n_devices)
			continue; /* of a card that is not among ours, or a slice of one */
		struct wz_device_proc *p = wz_inventory_add_proc(inv);
		if (!p)
			return wz_err_set(err, -E2BIG, "TooMany", WZ_STR("too many processes on devices"));
		bool known = rest.ptr && number(wz_str_trim(rest), &mem) && mem <= INT64_MAX / 1048576;
		*p = (struct wz_device_proc){.node = inv->device[at].node,
		        .index = inv->device[at].index,
		        .pid = (int64_t)v,
		        .mem_bytes = known ? mem / 1000 * 1048576 : -1};
	}
	return 0;
}

/* --- the provider --------------------------------------------------------------------------------------------- */

struct wz_device_source {
	struct wz_device_options o;
	const char *command;
	unsigned timeout_ms;
	bool from_file;
};

static int run(struct wz_device_source *s, const char *const *argv, struct wz_file_text *ret, struct wz_err *err)
{
	int status;
	int rc = wz_proc_capture(argv, s->timeout_ms, WZ_SMI_TEXT_MAX, s->o.mem, ret, &status, err);
	if (rc < 0)
		return rc;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	struct wz_num n;
	rc = failure_text(wz_file_text_str(ret), err);
	wz_file_text_release(ret);
	return rc < 0 ? rc
	              : wz_err_set(err, -EIO, "DriverFailed", wz_str(argv[0]), WZ_STR(" ended with code "),
	                        wz_str_i64(&n, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
}

static int query(struct wz_device_source *s, struct wz_file_text *ret, struct wz_err *err)
{
	const char *const argv[] = {s->command, "--query-gpu=" WZ_SMI_QUERY, "--format=csv,noheader,nounits", NULL};
	if (s->o.file)
		return wz_file_read(s->o.file, WZ_SMI_TEXT_MAX, s->o.mem, ret, err);
	return run(s, argv, ret, err);
}

static int topo(struct wz_device_source *s, struct wz_file_text *ret, struct wz_err *err)
{
	const char *const argv[] = {s->command, "topo", "-m", NULL};
	if (s->o.topo_file)
		return wz_file_read(s->o.topo_file, WZ_SMI_TEXT_MAX, s->o.mem, ret, err);
	if (s->from_file)
		return wz_err_set(err, -ENODEV, "NoTopology", WZ_STR("no topology file"));
	return run(s, argv, ret, err);
}

/* Who computes on which card. An old driver, or one that may not say, is one that does not know. */
static void apps(struct wz_device_source *s, struct wz_inventory *inv)
{
	const char *const argv[] = {
	        s->command, "--query-compute-apps=" WZ_SMI_APPS, "--format=csv,noheader,nounits", NULL};
	struct wz_file_text text;
	inv->n_procs = 0;
	inv->procs_known = false;
	if (s->from_file || run(s, argv, &text, NULL) < 0)
		return;
	inv->procs_known = wz_smi_parse_apps(wz_file_text_str(&text), inv, NULL) == 0;
	if (!inv->procs_known)
		inv->n_procs = 0;
	wz_file_text_release(&text);
}

static int smi_probe(const struct wz_device_options *o, struct wz_device_source **ret, struct wz_err *err)
{
	struct wz_device_source *s = wz_mem_zalloc(o->mem, sizeof *s);
	struct wz_file_text text;
	if (!s)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	s->o = *o;
	s->command = o->command ? o->command : "nvidia-smi";
	s->timeout_ms = o->timeout_ms ? o->timeout_ms : 10000;
	s->from_file = o->file != NULL;
	int rc = query(s, &text, err);
	if (rc == 0) {
		rc = failure_text(wz_file_text_str(&text), err);
		wz_file_text_release(&text);
	}
	if (rc < 0) {
		wz_mem_free(o->mem, s, sizeof *s);
		return rc == -ENOENT && !o->file ? -ENODEV : rc;
	}
	*ret = s;
	return 0;
}

/* The kernel module says which device node a card is; the order of nodes need not be that of the bus, and a fence around
 * the wrong card is worse than none: without this file there is none. */
static void find_node(struct wz_device *d, const struct wz_mem *mem)
{
	char path[96], bus[32];
	struct wz_file_text text;
	uint64_t minor;
	size_t n = strlen(d->bus);
	const char *from = n > 12 ? d->bus + n - 12 : d->bus; /* 00000000:07:00.0 is 0000:07:00.0 there */
	for (n = 0; from[n]; n++)
		bus[n] = (char)(from[n] >= 'A' && from[n] <= 'F' ? from[n] - 'A' + 'a' : from[n]);
	bus[n] = 0;
	if (strchr(bus, '/'))
		return;
	(void)snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", bus);
	if (wz_file_read(path, 65536, mem, &text, NULL) < 0)
		return;
	struct wz_str rest = wz_file_text_str(&text);
	while (rest.ptr) {
		struct wz_str value = wz_str_split(&rest, '\n'), key = wz_str_split(&value, ':');
		if (value.ptr && wz_str_eq(wz_str_trim(key), WZ_STR("Device Minor")) &&
		        wz_str_parse_u64(wz_str_trim(value), &minor) == 0 && minor < 255) {
			d->major = 195;
			d->minor = (uint32_t)minor;
		}
	}
	wz_file_text_release(&text);
}

static int smi_list(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	struct wz_file_text text;
	struct wz_device_node *node;
	wz_inventory_clear(inv);
	int rc = wz_device_host(inv, &node, err);
	if (rc == 0)
		rc = query(s, &text, err);
	if (rc < 0)
		return rc;
	rc = wz_smi_parse_query(wz_file_text_str(&text), now_us, inv, err);
	wz_file_text_release(&text);
	for (uint32_t i = 0; rc == 0 && i < inv->n_devices; i++)
		find_node(&inv->device[i], inv->mem);
	/* Without a topology no link is promised; that is no reason to have no devices. */
	if (rc == 0 && topo(s, &text, NULL) == 0) {
		(void)wz_smi_parse_topo(wz_file_text_str(&text), inv->device, inv->n_devices, NULL);
		wz_file_text_release(&text);
	}
	return rc;
}

static void lost(struct wz_device *d, uint64_t now_us)
{
	d->health = WZ_DEVICE_FAILED;
	copy(d->health_why, sizeof d->health_why, WZ_STR("the driver no longer shows it"));
	for (int m = 0; m < WZ_METRICS; m++)
		d->reading[m] = (struct wz_reading){0, now_us, WZ_READING_UNKNOWN};
}

/* By UUID: an order that changed, or a card that fell off the bus, gives no other card's readings. */
static int smi_sample(struct wz_device_source *s, uint64_t now_us, struct wz_inventory *inv, struct wz_err *err)
{
	struct wz_inventory now;
	struct wz_file_text text;
	int rc = query(s, &text, err);
	if (rc == -ENODEV) { /* all are gone; that is a fact about each */
		for (uint32_t i = 0; i < inv->n_devices; i++)
			lost(&inv->device[i], now_us);
		return 0;
	}
	if (rc < 0)
		return rc;
	wz_inventory_init(&now, inv->mem);
	rc = wz_inventory_add_node(&now, "now") ? wz_smi_parse_query(wz_file_text_str(&text), now_us, &now, err)
	                                        : -ENOMEM;
	wz_file_text_release(&text);
	if (rc == -ENODEV)
		rc = 0;
	for (uint32_t i = 0; i < inv->n_devices && rc == 0; i++) {
		const struct wz_device *hit = NULL;
		for (uint32_t k = 0; k < now.n_devices && !hit; k++) {
			if (strcmp(inv->device[i].uuid, now.device[k].uuid) == 0)
				hit = &now.device[k];
		}
		if (!hit) {
			lost(&inv->device[i], now_us);
			continue;
		}
		memcpy(inv->device[i].reading, hit->reading, sizeof hit->reading);
		inv->device[i].health = hit->health;
		memcpy(inv->device[i].health_why, hit->health_why, sizeof hit->health_why);
	}
	wz_inventory_release(&now);
	if (rc == 0)
		apps(s, inv);
	return rc;
}

static void smi_close(struct wz_device_source *s)
{
	wz_mem_free(s->o.mem, s, sizeof *s);
}

const struct wz_device_provider wz_device_smi = {.name = "nvidia-smi",
        .what = "NVIDIA devices, by nvidia-smi's text",
        .probe = smi_probe,
        .list = smi_list,
        .sample = smi_sample,
        .close = smi_close};
