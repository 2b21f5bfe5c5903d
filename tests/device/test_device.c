/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/check.h"
#include "device/cluster.h"
#include "device/smi.h"
#include "fault.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/yaml.h"

#include <sys/stat.h>
#include <unistd.h>

static struct wz_err err;

static const char *source(const char *name)
{
	static char path[512];
	const char *root = getenv("WZ_SOURCE_ROOT");
	(void)snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
	return path;
}

static void bad(const char *text, const char *reason, const char *says)
{
	struct wz_cluster c;
	int rc = wz_cluster_parse(wz_str(text), "c.yaml", wz_os_mem(), &c, &err);
	tap_ok(rc < 0, "accepted: %s", text);
	if (rc == 0) {
		wz_cluster_release(&c);
		return;
	}
	tap_eq_str(wz_str(err.reason), wz_str(reason), "%s", err.text);
	tap_ok(strstr(err.text, says), "\"%s\" in \"%s\"", says, err.text);
}

static void test_cluster_errors(void)
{
	bad("", "BadValue", "c.yaml:1:1: ");
	bad("version: 1\nnodes:\n  - name: n\n    cpuz: 4\n", "UnknownKey",
	        "c.yaml:4:5: unknown key \"cpuz\"; did you mean \"cpus\"?");
	bad("version: 2\nnodes: []\n", "BadValue", "c.yaml:1:10: ");
	bad("nodes: []\n", "MissingKey", "version");
	bad("version: 1\nnodes:\n  - {name: n, cpus: 4, mem: lots}\n", "BadValue",
	        "c.yaml:3:29: expected a size such as 80Gi, got \"lots\"");
	bad("version: 1\nnodes:\n  - {name: n, cpus: 4}\n", "MissingKey", "\"mem\"");
	bad("version: 1\nnodes:\n  - {name: n, cpus: 4, mem: 1Gi}\n  - {name: n, cpus: 4, mem: 1Gi}\n", "BadValue",
	        "twice");
	bad("version: 1\nnodes:\n  - {name: n, cpus: 4, mem: 1Gi, devices: [{model: x, count: 65}]}\n", "BadValue",
	        "smaller");
	bad("version: 1\nnodes: [{name: n, cpus: 4, mem: 1Gi}]\nevents: [{at: 1s, node: m, ready: false}]\n",
	        "NoSuchNode", "\"m\"");
	bad("version: 1\nnodes: [{name: n, cpus: 4, mem: 1Gi}]\nevents: [{at: 1s, node: n, device: 0, health: "
	    "ok}]\n",
	        "NoSuchDevice", "0");
	bad("version: 1\nnodes: [{name: n, cpus: 4, mem: 1Gi}]\nevents: [{at: 1s, node: n}]\n", "BadValue",
	        "either");
	bad("version: 1\nnodes: [{name: n, name: n}]\n", "BadYaml", "twice");
	bad("a: &a [*a]\n", "BadYaml", "itself");
	bad("a: [\n", "BadYaml", "c.yaml:2:1: ");
	bad("version: 1\n---\nversion: 1\n", "BadYaml", "second document");
	bad("version: 1\nnodes: [{name: n, cpus: 4, mem: 1Gi, devices: [{model: x, telemetry: {util: 101}}]}]\n",
	        "BadValue", "smaller");
	bad("version: 1\nnodes: [{name: n, cpus: 4, mem: 1Gi, devices: [{model: x, telemetry: {util: [[5s, 1], "
	    "[1s, 2]]}}]}]\n",
	        "BadValue", "go back");
}

static void test_example(void)
{
	struct wz_device_options o = {
	        .mem = wz_os_mem(), .file = source("examples/cluster.yaml"), .epoch_us = 1000000};
	struct wz_device_source *s;
	struct wz_inventory inv;
	tap_require(wz_device_emulated.probe(&o, &s, &err) == 0, "%s", err.text);
	wz_inventory_init(&inv, wz_os_mem());
	tap_eq_i64(wz_device_emulated.list(s, 1000000, &inv, &err), 0, "list");
	tap_eq_i64(inv.n_nodes, 4, "nodes");
	tap_eq_i64(inv.n_devices, 18, "devices");
	tap_eq_str(wz_str(inv.node[0].name), WZ_STR("a100-0"), "a name with a count");
	tap_eq_i64(inv.node[0].n_labels, 1, "labels");
	tap_eq_i64(inv.device[4].link_domain, 1, "linked");
	tap_eq_i64(inv.device[3].numa, 1, "NUMA");
	tap_eq_i64(inv.device[17].link_domain, 0, "T4s are not");
	tap_eq_i64(inv.device[17].reading[WZ_METRIC_FAN].status, WZ_READING_UNSUPPORTED, "fan");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_UTIL].value, 0, "idle");
	struct wz_device_use use = {40LL << 30, 800};
	wz_device_emulated.use(s, 0, 0, &use);
	tap_eq_i64(wz_device_emulated.sample(s, 2000000, &inv, &err), 0, "sample");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_MEM_USED].value, 40LL << 30, "what was granted is used");
	tap_ok(inv.device[0].reading[WZ_METRIC_UTIL].value >= 70, "busy");
	tap_eq_i64(inv.device[1].reading[WZ_METRIC_UTIL].value, 0, "the next is idle");
	tap_eq_i64(wz_reading_age_us(&inv.device[0].reading[WZ_METRIC_UTIL], 2500000), 500000, "age");
	wz_inventory_release(&inv);
	wz_device_emulated.close(s);
}

static void test_script(void)
{
	struct wz_device_options o = {.mem = wz_os_mem(), .file = source("tests/corpus/cluster/all.yaml")};
	struct wz_device_source *s;
	struct wz_inventory inv;
	tap_require(wz_device_emulated.probe(&o, &s, &err) == 0, "%s", err.text);
	wz_inventory_init(&inv, wz_os_mem());
	tap_eq_i64(wz_device_emulated.list(s, 0, &inv, &err), 0, "list");
	tap_eq_i64(inv.node[0].cpu_milli, 1500, "CPUs");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_POWER].value, 70500, "milliwatts");
	tap_eq_i64(wz_device_emulated.next_change_us(s, 0), 1000000, "the first event");
	tap_eq_i64(wz_device_emulated.sample(s, 500000, &inv, &err), 0, "sample");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_UTIL].value, 10, "a tenth of the way");
	tap_eq_i64(inv.device[0].health, WZ_DEVICE_OK, "well");
	(void)wz_device_emulated.sample(s, 1500000, &inv, &err);
	tap_eq_i64(inv.device[0].health, WZ_DEVICE_FAILED, "failed");
	tap_eq_str(wz_str(inv.device[0].health_why), WZ_STR("fell"), "why");
	tap_eq_i64(
	        inv.device[0].reading[WZ_METRIC_UTIL].status, WZ_READING_UNKNOWN, "a failed device says nothing");
	tap_eq_i64(inv.n_procs, 1, "a foreign process");
	tap_eq_i64(inv.proc[0].pid, 7, "pid");
	tap_ok(inv.node[0].ready, "ready");
	(void)wz_device_emulated.sample(s, 3000000, &inv, &err);
	tap_eq_i64(inv.n_procs, 0, "gone");
	tap_ok(!inv.node[0].ready, "not ready");
	tap_eq_i64(wz_device_emulated.next_change_us(s, 3000000), UINT64_MAX, "no more events");
	wz_inventory_release(&inv);
	wz_device_emulated.close(s);
}

static void test_cluster_memory(void)
{
	struct wz_file_text t;
	tap_require(wz_file_read(source("tests/corpus/cluster/all.yaml"), 1u << 20, wz_os_mem(), &t, &err) == 0,
	        "file");
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		struct wz_cluster c;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = wz_cluster_parse(wz_file_text_str(&t), "c", &f.mem, &c, &err);
		if (rc == 0)
			wz_cluster_release(&c);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "at last");
			break;
		}
		tap_ok(rc == -ENOMEM || rc == -EINVAL, "rc %d", rc);
	}
	wz_file_text_release(&t);
}

static int smi(const char *name, struct wz_inventory *inv)
{
	char path[256];
	struct wz_file_text t;
	(void)snprintf(path, sizeof path, "tests/corpus/smi/%s", name);
	wz_inventory_init(inv, wz_os_mem());
	(void)wz_inventory_add_node(inv, "n");
	if (wz_file_read(source(path), 1u << 20, wz_os_mem(), &t, &err) < 0)
		return -ENOENT;
	int rc = wz_smi_parse_query(wz_file_text_str(&t), 1, inv, &err);
	wz_file_text_release(&t);
	return rc;
}

static void test_smi(void)
{
	struct wz_inventory inv;
	tap_eq_i64(smi("a100.csv", &inv), 0, "A100");
	tap_eq_i64(inv.n_devices, 2, "two");
	const struct wz_device *d = inv.device;
	tap_eq_i64(d->mem_bytes, 81920LL << 20, "memory");
	tap_eq_i64(d->reading[WZ_METRIC_POWER].value, 275550, "milliwatts");
	tap_eq_i64(d->reading[WZ_METRIC_FAN].status, WZ_READING_UNSUPPORTED, "no fan");
	tap_eq_i64(d->reading[WZ_METRIC_FAN].value, 0, "and no number");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("units.csv", &inv), 0, "units and a header");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_UTIL].value, 45, "45 %%");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_CLOCK_SM].value, 1980, "1980 MHz");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("old.csv", &inv), 0, "K80");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_UTIL].status, WZ_READING_UNSUPPORTED, "never");
	tap_eq_i64(inv.device[0].reading[WZ_METRIC_POWER].status, WZ_READING_UNKNOWN, "not now");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("reset.csv", &inv), 0, "one that fell");
	tap_eq_str(wz_str(inv.device[0].uuid), WZ_STR("GPU-bad"), "PCI order, not the order of lines");
	tap_eq_i64(inv.device[0].health, WZ_DEVICE_FAILED, "failed");
	tap_eq_i64(inv.device[1].health, WZ_DEVICE_OK, "the other is well");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("none.txt", &inv), -ENODEV, "none");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("failed.txt", &inv), -EIO, "the driver's complaint");
	tap_eq_str(wz_str(err.reason), WZ_STR("DriverFailed"), "reason");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("mismatch.txt", &inv), -EIO, "versions");
	wz_inventory_release(&inv);
	tap_eq_i64(smi("short.csv", &inv), -EBADMSG, "no device");
	wz_inventory_release(&inv);
}

static void test_topo(void)
{
	struct wz_device d[4] = {0};
	struct wz_file_text t;
	tap_require(
	        wz_file_read(source("tests/corpus/smi/topo4.txt"), 1u << 20, wz_os_mem(), &t, &err) == 0, "file");
	tap_eq_i64(wz_smi_parse_topo(wz_file_text_str(&t), d, 4, &err), 0, "four");
	tap_ok(d[0].link_domain == 1 && d[1].link_domain == 1 && d[2].link_domain == 2 && d[3].link_domain == 2,
	        "pairs");
	tap_ok(d[0].numa == 0 && d[3].numa == 1, "NUMA");
	tap_eq_i64(wz_smi_parse_topo(wz_file_text_str(&t), d, 3, &err), 0, "a part of it");
	wz_file_text_release(&t);
	tap_require(
	        wz_file_read(source("tests/corpus/smi/topo2.txt"), 1u << 20, wz_os_mem(), &t, &err) == 0, "file");
	memset(d, 0, sizeof d);
	tap_eq_i64(wz_smi_parse_topo(wz_file_text_str(&t), d, 2, &err), 0, "two");
	tap_ok(d[0].link_domain == 0 && d[1].link_domain == 0, "not joined");
	tap_eq_i64(wz_smi_parse_topo(wz_file_text_str(&t), d, 4, &err), -EBADMSG, "too few");
	wz_file_text_release(&t);
	memset(d, 0, sizeof d);
	tap_eq_i64(wz_smi_parse_topo(
	                   WZ_STR("\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tPIX\tPHB\tSYS\nGPU1\tPIX\t X \tPXB\tSYS\n"
	                          "GPU2\tPHB\tPXB\t X \tSYS\nGPU3\tSYS\tSYS\tSYS\t X \n"),
	                   d, 4, &err),
	        0, "bridges");
	tap_ok(d[0].pcie == 1 && d[1].pcie == 1 && d[2].pcie == 1 && d[3].pcie == 0, "below one PCIe bridge");
}

/* The provider with a command: a script that stands for nvidia-smi, well, hanging, and absent. */
static void test_smi_command(void)
{
	char path[] = "/tmp/wz-smi-XXXXXX";
	struct wz_device_source *s;
	struct wz_inventory inv;
	close(mkstemp(path));
	tap_eq_i64(wz_file_write(path,
	                   WZ_STR("#!/bin/sh\n[ \"$1\" = topo ] && exit 1\n"
	                          "case $1 in --query-compute-apps=*) echo 'GPU-a, 4321, 1024'; echo 'GPU-z, 7, "
	                          "1'; echo 'GPU-a, "
	                          "99, [N/A]'; exit;; esac\n"
	                          "echo '0, GPU-a, 00000000:01:00.0, Tesla T4, 15109, 5, 1, 1, 40, 10, 70, 1, 1, "
	                          "[N/A], 0'\n"),
	                   0700, &err),
	        0, "script");
	chmod(path, 0700);
	struct wz_device_options o = {.mem = wz_os_mem(), .command = path, .timeout_ms = 5000};
	wz_inventory_init(&inv, wz_os_mem());
	tap_require(wz_device_smi.probe(&o, &s, &err) == 0, "%s", err.text);
	tap_eq_i64(wz_device_smi.list(s, 1, &inv, &err), 0, "list");
	tap_eq_i64(inv.n_devices, 1, "one");
	tap_ok(inv.node[0].cpu_milli >= 1000 && inv.node[0].mem_bytes > 0, "this host");
	tap_eq_i64(wz_device_smi.sample(s, 2, &inv, &err), 0, "sample");
	tap_ok(inv.procs_known, "who computes is known");
	tap_eq_i64(inv.n_procs, 2, "two on our card");
	tap_eq_i64(inv.proc[0].pid, 4321, "its pid");
	tap_eq_i64(inv.proc[0].mem_bytes, 1024ll << 20, "its memory");
	tap_eq_i64(inv.proc[1].mem_bytes, -1, "memory that is not said");
	tap_eq_i64(wz_file_write(path, WZ_STR("#!/bin/sh\necho 'No devices were found'; exit 6\n"), 0700, &err), 0,
	        "gone");
	tap_eq_i64(wz_device_smi.sample(s, 2, &inv, &err), 0, "no device is left");
	tap_eq_i64(inv.device[0].health, WZ_DEVICE_FAILED, "so ours is lost");
	tap_eq_i64(wz_file_write(path,
	                   WZ_STR("#!/bin/sh\necho '0, GPU-b, 00000000:02:00.0, Tesla T4, 15109, 5, 1, 1, 40, 10, "
	                          "70, 1, 1, [N/A], 0'\n"),
	                   0700, &err),
	        0, "another");
	tap_eq_i64(wz_device_smi.sample(s, 2, &inv, &err), 0, "sample");
	tap_eq_i64(inv.device[0].health, WZ_DEVICE_FAILED, "ours is lost, and has no other's readings");
	wz_device_smi.close(s);
	wz_inventory_release(&inv);
	o.timeout_ms = 100;
	tap_eq_i64(wz_file_write(path, WZ_STR("#!/bin/sh\nexec sleep 100\n"), 0700, &err), 0, "hangs");
	tap_eq_i64(wz_device_smi.probe(&o, &s, &err), -ETIMEDOUT, "time-out");
	o.command = "no-such-nvidia-smi";
	tap_eq_i64(wz_device_smi.probe(&o, &s, &err), -ENODEV, "not here");
	unlink(path);
}

int main(void)
{
	tap_run(test_cluster_errors);
	tap_run(test_example);
	tap_run(test_script);
	tap_run(test_cluster_memory);
	tap_run(test_smi);
	tap_run(test_topo);
	tap_run(test_smi_command);
	return tap_done();
}
