/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/rng.h"
#include "fault.h"
#include "load.h"
#include "os/file.h"
#include "os/mem.h"

#include <dirent.h>

static struct wz_err err;

/* The canonical text of what `text` holds. */
static int rewrite(struct wz_str text, struct wz_buf *out, uint64_t *ret_digest)
{
	struct load l;
	memset(&err, 0, sizeof err);
	int rc = load_init(&l, wz_os_mem());
	if (rc == 0)
		rc = load_texts(&l, text, NULL, &err);
	if (rc == 0)
		rc = wz_format_wz.write(&l.nodes, &l.tasks, WZ_TRACE_NODES | WZ_TRACE_TASKS, out, &err);
	if (rc == 0)
		rc = wz_sim_digest(&l.nodes, &l.tasks, ret_digest);
	load_release(&l);
	return rc;
}

static struct wz_str read_file(const char *dir, const char *name, const char *suffix, struct wz_file_text *t)
{
	char path[1024];
	(void)snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix);
	*t = (struct wz_file_text){.mem = wz_os_mem()};
	(void)wz_file_read(path, 1u << 20, wz_os_mem(), t, NULL);
	return wz_file_text_str(t);
}

/* "LINE:COLUMN REASON" of the error about source "a". */
static struct wz_str place(char *to, size_t size)
{
	struct wz_str rest = wz_str(err.text);
	(void)wz_str_split(&rest, ':');
	struct wz_str line = wz_str_split(&rest, ':'), column = wz_str_split(&rest, ':');
	(void)snprintf(to, size, "%.*s:%.*s %s", (int)line.len, line.ptr, (int)column.len, column.ptr, err.reason);
	return wz_str(to);
}

static void check_vector(const char *dir, const char *name)
{
	struct wz_file_text in, out, bad;
	struct wz_buf b, again;
	uint64_t d1 = 0, d2 = 0;
	char got[256];
	struct wz_str text = read_file(dir, name, ".wz", &in), want = read_file(dir, name, ".out", &out),
	              want_err = wz_str_trim(read_file(dir, name, ".err", &bad));
	wz_buf_init(&b, wz_os_mem(), 1u << 20);
	wz_buf_init(&again, wz_os_mem(), 1u << 20);
	int rc = rewrite(text, &b, &d1);
	if (want.len) {
		tap_eq_i64(rc, 0, "%s: %s", name, err.text);
		tap_eq_str(wz_buf_str(&b), want, "%s", name);
		tap_eq_i64(rewrite(want, &again, &d2), 0, "%s: %s", name, err.text);
		tap_eq_str(wz_buf_str(&again), want, "%s: the canonical text is a fixed point", name);
		tap_ok(d1 == d2, "%s: the same facts", name);
	} else {
		tap_ok(want_err.len > 0, "%s: neither .out nor .err", name);
		tap_ok(rc < 0, "%s: accepted", name);
		tap_eq_str(
		        rc < 0 ? place(got, sizeof got) : WZ_STR("accepted"), want_err, "%s: %s", name, err.text);
	}
	wz_buf_release(&b);
	wz_buf_release(&again);
	wz_file_text_release(&in);
	wz_file_text_release(&out);
	wz_file_text_release(&bad);
}

static void test_vectors(void)
{
	char dir[512];
	unsigned n = 0;
	DIR *d = opendir(source_path(dir, sizeof dir, "spec/vectors/trace"));
	tap_require(d, "cannot open %s", dir);
	for (struct dirent *e; (e = readdir(d));) {
		char name[256];
		size_t len = strlen(e->d_name);
		if (len < 4 || strcmp(e->d_name + len - 3, ".wz") != 0)
			continue;
		memcpy(name, e->d_name, len - 3);
		name[len - 3] = 0;
		check_vector(dir, name);
		n++;
	}
	closedir(d);
	tap_ok(n >= 40, "only %u vectors in %s", n, dir);
}

/* ---- property: write, read, write ---- */

static struct wz_str any_name(struct wz_rng *r, char *to, uint32_t number)
{
	static const char bytes[] = "abcXYZ019-._/%,=|*:# \"'<>\xc3\xa9";
	size_t n = 0, len = wz_rng_below(r, 12);
	for (size_t i = 0; i < len; i++)
		to[n++] = bytes[wz_rng_below(r, sizeof bytes - 1)];
	n += (size_t)snprintf(to + n, 16, "%u", number);
	return (struct wz_str){to, n};
}

static int64_t any_time(struct wz_rng *r)
{
	static const uint64_t steps[] = {1, 1000, 1000000, 3600000000};
	return wz_rng_below(r, 4) ? (int64_t)(wz_rng_below(r, 100000) * steps[wz_rng_below(r, 4)]) : -1;
}

static void any_node(struct wz_rng *r, struct load *l, uint32_t number)
{
	static const char *const models[] = {"T4", "H100-SXM5-80GB", "RTX 4090", "G2"};
	struct wz_device_facts d[WZ_NODE_DEVICES_MAX] = {0};
	struct wz_label label[3];
	char name[64], site[64], rack[64], key[3][64], value[3][64];
	struct wz_ev_node n = {.name = any_name(r, name, number), .device = d, .label = label};
	if (wz_rng_below(r, 2))
		n.site = any_name(r, site, 1);
	if (wz_rng_below(r, 2))
		n.rack = any_name(r, rack, 2);
	n.cpu_milli = (int64_t)wz_rng_below(r, 1u << 20);
	n.mem_bytes = (int64_t)(wz_rng_below(r, 1u << 20) << (10 * wz_rng_below(r, 4)));
	n.max_tasks = (uint32_t)wz_rng_below(r, 3);
	n.count_only = wz_rng_below(r, 2);
	n.n_devices = (uint32_t)wz_rng_below(r, 9);
	for (uint32_t i = 0; i < n.n_devices; i++) {
		if (i && wz_rng_below(r, 2)) {
			d[i] = d[i - 1];
			continue;
		}
		tap_eq_i64(
		        wz_sim_nodes_model(&l->nodes, wz_str(models[wz_rng_below(r, 4)]), NULL, &d[i].model, &err),
		        0, "%s", err.text);
		d[i].mem_bytes = (int64_t)wz_rng_below(r, 3) << 30;
		d[i].compute_milli = wz_rng_below(r, 3) ? 1000 : 1 + (int32_t)wz_rng_below(r, 1000);
		d[i].link_domain = (uint16_t)wz_rng_below(r, 3);
		d[i].numa = (uint8_t)wz_rng_below(r, 2);
		d[i].pcie = (uint8_t)wz_rng_below(r, 2);
		d[i].health = (uint8_t)wz_rng_below(r, 3);
		d[i].partition = (uint16_t)wz_rng_below(r, 2);
	}
	n.n_labels = (uint32_t)wz_rng_below(r, 4);
	for (uint32_t i = 0; i < n.n_labels; i++)
		label[i] = (struct wz_label){any_name(r, key[i], i), any_name(r, value[i], i)};
	tap_eq_i64(wz_sim_nodes_add(&l->nodes, &n, &err), 0, "%s", err.text);
}

static void any_job(struct wz_rng *r, struct load *l, uint32_t number)
{
	static const char *const profiles[] = {
	        "",
	        "gpus=1",
	        "gpu-share=37% gpu-mem=3Gi cpus=0.25",
	        "gpus=8 link=nvlink tasks=2..8 preempt=signal:USR1,grace:60s",
	        "gpus=2 gpu-type=h100,t4 mem=7B",
	        "gpu-mem=40G cpus=3 time=2h kind=service",
	        "cpus=64 mem=1Ti",
	        "gpu-mem-total=96Gi link~numa gpus=4",
	};
	char name[64], user[64], queue[64];
	struct wz_profile p;
	struct wz_str text = wz_str(profiles[wz_rng_below(r, WZ_ARRAY_LEN(profiles))]);
	struct wz_sim_task t = {
	        .name = any_name(r, name, number),
	        .priority = (int32_t)wz_rng_below(r, 7) - 3,
	        .submit_us = any_time(r),
	        .start_us = any_time(r),
	        .run_us = any_time(r),
	};
	t.end_us = t.start_us < 0 ? any_time(r) : t.start_us + (int64_t)wz_rng_below(r, 1u << 30);
	if (wz_rng_below(r, 2))
		t.user = any_name(r, user, 1);
	if (wz_rng_below(r, 2))
		t.queue = any_name(r, queue, 1);
	tap_require(wz_profile_parse(text, &l->catalogue, &p, &err) == 0, "%s", err.text);
	if (p.any_model && l->nodes.n_models && wz_rng_below(r, 2)) {
		t.gpu_spec = l->nodes.model[wz_rng_below(r, l->nodes.n_models)].name;
		(void)wz_sim_nodes_spec(&l->nodes, t.gpu_spec, &t.allowed, NULL);
	}
	tap_eq_i64(wz_sim_tasks_add_profile(&l->tasks, text, &p, &t.profile, &err), 0, "%s", err.text);
	tap_eq_i64(wz_sim_tasks_add(&l->tasks, &t, &err), 0, "%s", err.text);
}

static void test_round_trip(void)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct load l;
		struct wz_rng r;
		struct wz_buf first, second;
		uint64_t before = 0, after = 0;
		wz_rng_seed(&r, seed);
		tap_eq_i64(load_init(&l, wz_os_mem()), 0, "init");
		uint32_t nodes = (uint32_t)wz_rng_below(&r, 12), jobs = (uint32_t)wz_rng_below(&r, 12) + !nodes;
		for (uint32_t i = 0; i < nodes; i++)
			any_node(&r, &l, i);
		for (uint32_t i = 0; i < jobs; i++)
			any_job(&r, &l, i);
		wz_buf_init(&first, wz_os_mem(), 1u << 20);
		wz_buf_init(&second, wz_os_mem(), 1u << 20);
		tap_eq_i64(wz_format_wz.write(&l.nodes, &l.tasks, 3, &first, &err), 0, "%s", err.text);
		tap_eq_i64(wz_sim_digest(&l.nodes, &l.tasks, &before), 0, "digest");
		tap_eq_i64(rewrite(wz_buf_str(&first), &second, &after), 0, "seed %" PRIu64 ": %s", seed, err.text);
		tap_eq_str(wz_buf_str(&second), wz_buf_str(&first), "seed %" PRIu64, seed);
		tap_ok(before == after, "seed %" PRIu64 ": the same facts", seed);
		wz_buf_release(&first);
		wz_buf_release(&second);
		load_release(&l);
	}
}

/* ---- out of memory, limits ---- */

static int work(const struct wz_mem *mem)
{
	struct load x;
	struct wz_err e = {0};
	struct wz_buf out;
	int rc = load_init(&x, mem);
	if (rc == 0)
		rc = load_texts(&x,
		        WZ_STR("whalezen-trace 1\nmodel X1 vendor=A%20B mem=1Gi\nnode n%20 rack=r device=X1 "
		               "label=a:b\n"
		               "job j user=u models=X1 : gpus=1\njob k : cpus=1\n"),
		        NULL, &e);
	wz_buf_init(&out, mem, 1u << 20);
	if (rc == 0)
		rc = wz_format_wz.write(&x.nodes, &x.tasks, 3, &out, &e);
	wz_buf_release(&out);
	load_release(&x);
	return rc;
}

static void test_out_of_memory(void)
{
	for (uint64_t n = 1; n < 100000; n++) {
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = work(&f.mem);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		if (!f.failures) {
			tap_eq_i64(rc, 0, "without a failure");
			return;
		}
		tap_eq_i64(rc, -ENOMEM, "allocation %" PRIu64, n);
	}
	tap_ok(false, "never ended");
}

static void test_long_line(void)
{
	struct wz_buf b, out;
	uint64_t digest;
	wz_buf_init(&b, wz_os_mem(), 1u << 20);
	wz_buf_init(&out, wz_os_mem(), 1u << 20);
	wz_buf_addz(&b, "whalezen-trace 1\njob j #");
	for (unsigned i = 0; i < 65536; i++)
		wz_buf_addc(&b, 'x');
	tap_eq_i64(rewrite(wz_buf_str(&b), &out, &digest), -E2BIG, "a line of more than 64 KiB");
	tap_eq_str(wz_str(err.reason), WZ_STR("LineTooLong"), "%s", err.text);
	wz_buf_release(&b);
	wz_buf_release(&out);
}

/* Two catalogues give the models of a workload the same numbers, or say that they cannot. */
static void test_declare_again(void)
{
	struct load l;
	struct wz_catalogue other;
	wz_model_id id;
	tap_eq_i64(load_init(&l, wz_os_mem()), 0, "init");
	tap_eq_i64(load_texts(&l, WZ_STR("whalezen-trace 1\nmodel G2\nmodel T4\nmodel G3 mem=1Gi\n"), NULL, &err),
	        0, "%s", err.text);
	tap_eq_i64(wz_catalogue_init(&other, wz_os_mem()), 0, "init");
	tap_eq_i64(wz_sim_nodes_declare(&l.nodes, &other, &err), 0, "%s", err.text);
	tap_eq_i64(wz_catalogue_find(&other, WZ_STR("G3"), &id, &err), 0, "%s", err.text);
	tap_eq_i64(id.v, wz_sim_nodes_find_model(&l.nodes, WZ_STR("G3"))->id.v, "the same number");
	tap_eq_i64(other.model[id.v].mem_bytes, 1 << 30, "with its facts");
	wz_catalogue_release(&other);
	tap_eq_i64(wz_catalogue_init(&other, wz_os_mem()), 0, "init");
	tap_eq_i64(wz_catalogue_declare(&other, WZ_STR("Y7"), NULL, &id, &err), 0, "%s", err.text);
	tap_eq_i64(wz_sim_nodes_declare(&l.nodes, &other, &err), -EINVAL, "another one was there before");
	wz_catalogue_release(&other);
	load_release(&l);
}

int main(void)
{
	tap_run(test_vectors);
	tap_run(test_round_trip);
	tap_run(test_out_of_memory);
	tap_run(test_long_line);
	tap_run(test_declare_again);
	return tap_done();
}
