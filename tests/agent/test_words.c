/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent reads and writes: messages, the environment, the files of an attempt, the log. */
#include "tap.h"

#include "agent/attempt.h"
#include "agent/env.h"
#include "agent/wire.h"
#include "base/check.h"
#include "fault.h"
#include "os/mem.h"
#include "os/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct wz_arena arena;

static const char *find(const char *const *env, const char *name)
{
	size_t n = strlen(name);
	for (; *env; env++) {
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
			return *env + n + 1;
	}
	return NULL;
}

static void eq(const char *const *env, const char *name, const char *want)
{
	const char *got = find(env, name);
	if (!want)
		tap_ok(!got, "%s must not be set", name);
	else
		tap_eq_str(wz_str(got ? got : "(unset)"), wz_str(want), "%s", name);
}

static const struct wz_str uuids[] = {{"GPU-a", 5}, {"GPU-b", 5}, {"GPU-c", 5}};

static const char *const *build(struct wz_wire_msg *m, struct wz_wire_array *warnings)
{
	struct wz_env_facts f = {WZ_STR("node1"), WZ_STR("/s/attempts/1.0.1/run"), uuids, 3, {NULL, 0}};
	const char **env = NULL;
	uint32_t n;
	struct wz_err err;
	int rc = wz_env_build(&m->u.start, &f, &arena, &env, &n, warnings, &err);
	tap_eq_i64(rc, 0, "%s", rc < 0 ? err.text : "");
	return (const char *const *)env;
}

static void test_env_devices(void)
{
	struct wz_wire_msg m;
	struct wz_wire_array w = {0};
	int64_t devices[] = {2, 0};
	struct wz_str env[] = {WZ_STR("CUDA_DEVICE_ORDER=FASTEST_FIRST"), WZ_STR("CUDA_VISIBLE_DEVICES=7"),
	        WZ_STR("SECRET=1"), WZ_STR("PATH=/opt/bin"), WZ_STR("LC_ALL=C"), WZ_STR("HF_HOME=/hf"),
	        WZ_STR("WZ_JOB_ID=13"), WZ_STR("SLURM_JOB_ID=13")};
	struct wz_str pass[] = {WZ_STR("HF_*"), WZ_STR("CUDA_*")}, set[] = {WZ_STR("OMP_NUM_THREADS=8")};
	wz_wire_init(&m, WZ_WIRE_START);
	m.u.start.job = 1;
	m.u.start.env = (struct wz_wire_array){8, env};
	m.u.start.pass = (struct wz_wire_array){2, pass};
	m.u.start.set = (struct wz_wire_array){1, set};
	const char *const *e = build(&m, &w);
	eq(e, "CUDA_VISIBLE_DEVICES", ""); /* zero devices are none, not all */
	eq(e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	tap_eq_i64(w.n, 2, "two warnings");
	eq(e, "SECRET", NULL);
	eq(e, "PATH", "/opt/bin");
	eq(e, "LC_ALL", "C");
	eq(e, "HF_HOME", "/hf");
	eq(e, "OMP_NUM_THREADS", "8");
	eq(e, "WZ_JOB_ID", "1");
	eq(e, "SLURM_JOB_ID", NULL);
	m.u.start.devices = (struct wz_wire_array){2, devices};
	e = build(&m, &w);
	eq(e, "CUDA_VISIBLE_DEVICES", "2,0");
	eq(e, "WZ_GPU_UUIDS", "GPU-c,GPU-a");
	eq(e, "WZ_GPUS", "2");
	m.u.start.devices_by_uuid = 1;
	m.u.start.slurm = 1;
	e = build(&m, &w);
	eq(e, "CUDA_VISIBLE_DEVICES", "GPU-c,GPU-a");
	eq(e, "SLURM_JOB_ID", "1");
	eq(e, "SLURM_GPUS_ON_NODE", "2");
	m.u.start.devices_open = 1;
	m.u.start.env.n = 0;
	eq(build(&m, &w), "CUDA_VISIBLE_DEVICES", NULL);
}

static void test_env_gang(void)
{
	struct wz_wire_msg m;
	struct wz_wire_array w = {0};
	int64_t speeds[] = {1000, 500};
	wz_wire_init(&m, WZ_WIRE_START);
	m.u.start.rank = 1;
	m.u.start.size = 2;
	m.u.start.master_addr = WZ_STR("10.0.0.1");
	m.u.start.master_port = 29500;
	m.u.start.speeds = (struct wz_wire_array){2, speeds};
	const char *const *e = build(&m, &w);
	eq(e, "RANK", "1");
	eq(e, "WORLD_SIZE", "2");
	eq(e, "MASTER_ADDR", "10.0.0.1");
	eq(e, "MASTER_PORT", "29500");
	eq(e, "WZ_HOSTFILE", "/s/attempts/1.0.1/run/hosts");
	eq(e, "WZ_SPEED_MILLI", "500");
	eq(e, "SLURM_PROCID", NULL);
	m.u.start.size = 0;
	eq(build(&m, &w), "MASTER_ADDR", NULL);
}

static void test_env_bad(void)
{
	struct wz_wire_msg m;
	struct wz_wire_array w = {0};
	struct wz_str env[] = {WZ_STR("no equals sign")};
	struct wz_env_facts f = {WZ_STR("n"), WZ_STR("/r"), NULL, 0, {NULL, 0}};
	struct wz_err err;
	const char **e;
	uint32_t n;
	wz_wire_init(&m, WZ_WIRE_START);
	m.u.start.env = (struct wz_wire_array){1, env};
	tap_eq_i64(wz_env_build(&m.u.start, &f, &arena, &e, &n, &w, &err), -EINVAL, "refused");
	char *big = malloc(140000);
	memset(big, 'x', 139999);
	big[139999] = 0;
	const char *const argv[] = {"a", NULL}, *const one[] = {big, NULL};
	tap_eq_i64(wz_env_check_size(argv, one, &err), -E2BIG, "one string too long");
	free(big);
}

/* --- messages ------------------------------------------------------------------------------------------------- */

static void round_trip(const struct wz_wire_msg *m)
{
	struct wz_buf a, b;
	struct wz_wire_msg again;
	struct wz_err err;
	int64_t id;
	wz_buf_init(&a, wz_os_mem(), 1u << 20);
	wz_buf_init(&b, wz_os_mem(), 1u << 20);
	wz_wire_format(m, &a);
	struct wz_str line = {a.data, a.len - 1};
	int rc = wz_wire_parse(line, &arena, &again, &id, &err);
	tap_eq_i64(rc, 0, "%s: %.*s", rc < 0 ? err.text : "", (int)line.len, line.ptr);
	if (rc == 0) {
		wz_wire_format(&again, &b);
		tap_eq_str(wz_buf_str(&b), wz_buf_str(&a), "the same again");
	}
	wz_buf_release(&a);
	wz_buf_release(&b);
}

static void test_wire_round_trip(void)
{
	struct wz_wire_msg m;
	struct wz_str argv[] = {WZ_STR("a"), WZ_STR(""), WZ_STR("\xff\x01"), WZ_STR("\xe9\xb2\xb8")};
	int64_t devices[] = {0, 63};
	for (uint32_t t = 1; t < WZ_WIRE_TYPES; t++) {
		wz_wire_init(&m, (enum wz_wire_type)t);
		m.id = 1;
		m.re = 2;
		round_trip(&m);
	}
	wz_wire_init(&m, WZ_WIRE_START);
	m.u.start.job = INT64_MAX;
	m.u.start.argv = (struct wz_wire_array){4, argv};
	m.u.start.devices = (struct wz_wire_array){2, devices};
	m.u.start.uid = 0;
	m.u.start.script = WZ_STR("#!/bin/sh\necho \"\t\\\"\n");
	round_trip(&m);
	struct wz_wire_device d[] = {{.index = 1,
	        .uuid = WZ_STR("GPU-1"),
	        .name = WZ_STR("Tesla T4"),
	        .bus = WZ_STR(""),
	        .health = WZ_STR("ok"),
	        .why = WZ_STR("")}};
	struct wz_wire_node n[] = {
	        {.name = WZ_STR("n"), .site = WZ_STR(""), .rack = WZ_STR(""), .devices = {1, d}}};
	wz_wire_init(&m, WZ_WIRE_HELLO);
	m.u.hello.nodes = (struct wz_wire_array){1, n};
	round_trip(&m);
}

static void test_wire_bad(void)
{
	static const char *const bad[] = {"", "{", "[]", "{}", "{\"type\":\"nope\"}", "{\"type\":1}",
	        "{\"type\":\"start\",\"job\":\"1\"}", "{\"type\":\"start\",\"argv\":[1]}",
	        "{\"type\":\"start\",\"argv\":\"a\"}", "{\"type\":\"start\",\"argv\":[\"a\\u0000b\"]}",
	        "{\"type\":\"start\",\"argv\":[{\"hex\":\"0\"}]}",
	        "{\"type\":\"start\",\"argv\":[{\"hex\":\"00\"}]}", "{\"type\":\"start\",\"job\":1,\"job\":2}",
	        "{\"type\":\"hello\",\"nodes\":[1]}", "{\"type\":\"ack\",\"re\":\"x\"}", "{\"type\":\"start\"} x"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++) {
		struct wz_wire_msg m;
		struct wz_err err;
		int64_t id;
		tap_eq_i64(wz_wire_parse(wz_str(bad[i]), &arena, &m, &id, &err), -EBADMSG, "%s", bad[i]);
	}
	struct wz_wire_msg m;
	struct wz_err err;
	int64_t id;
	tap_eq_i64(wz_wire_parse(WZ_STR("{\"type\":\"start\",\"id\":77,\"job\":{}}"), &arena, &m, &id, &err),
	        -EBADMSG, "bad");
	tap_eq_i64(id, 77, "the id of a bad message, to answer it");
	tap_eq_i64(wz_wire_parse(WZ_STR("{\"type\":\"list\",\"id\":1,\"later\":[{}]}"), &arena, &m, &id, &err), 0,
	        "unknown keys");
}

/* --- files of an attempt -------------------------------------------------------------------------------------- */

static void test_attempt_files(void)
{
	struct wz_attempt_spec s = {.umask = 022,
	        .cwd = WZ_STR("/a b"),
	        .log_dir = WZ_STR("/l"),
	        .log_name = WZ_STR("x"),
	        .boot = WZ_STR("b"),
	        .node = WZ_STR("n"),
	        .grace_ms = INT64_MAX,
	        .preempt_ack = 2};
	const char *argv[] = {"a", "", "b\nc=d"}, *env[] = {"A=1", "B=\n"};
	gid_t groups[] = {1, 4294967294u};
	struct wz_buf a, b;
	struct wz_attempt_spec again;
	struct wz_err err;
	s.argv = argv;
	s.n_argv = 3;
	s.env = env;
	s.n_env = 2;
	s.groups = groups;
	s.n_groups = 2;
	s.limits[s.n_limits++] = (struct wz_proc_limit){7, 1, UINT64_MAX};
	s.cgroup.facet[WZ_CG_TRACK].version = 2;
	memcpy(s.cgroup.facet[WZ_CG_TRACK].dir, "/sys/fs/cgroup/x", 17);
	wz_buf_init(&a, wz_os_mem(), 1u << 20);
	wz_buf_init(&b, wz_os_mem(), 1u << 20);
	wz_attempt_spec_format(&s, &a);
	tap_eq_i64(wz_attempt_spec_parse(wz_buf_str(&a), &arena, &again, &err), 0, "parse");
	wz_attempt_spec_format(&again, &b);
	tap_eq_str(wz_buf_str(&b), wz_buf_str(&a), "the same again");
	tap_eq_i64(again.n_argv, 3, "argv");
	tap_eq_str(wz_str(again.argv[2]), WZ_STR("b\nc=d"), "any byte");
	for (size_t cut = 0; cut < a.len; cut += 7)
		(void)wz_attempt_spec_parse((struct wz_str){a.data, cut}, &arena, &again, &err);
	wz_buf_release(&a);
	wz_buf_release(&b);
	struct wz_attempt_id id;
	tap_eq_i64(wz_attempt_key_parse(WZ_STR("18446744073709551615.4294967295.1"), &id), 0, "key");
	tap_eq_i64(wz_attempt_key_parse(WZ_STR("1.0"), &id), -EINVAL, "short");
	tap_eq_i64(wz_attempt_key_parse(WZ_STR("01.0.1"), &id), -EINVAL, "two names of one");
	tap_eq_i64(wz_attempt_key_parse(WZ_STR("1.0.1.1"), &id), -EINVAL, "long");
}

/* --- the log -------------------------------------------------------------------------------------------------- */

/* Against a plain model: what is kept of n bytes in pieces. */
static void test_joblog(void)
{
	char dir[] = "/tmp/wz-log-XXXXXX", text[64];
	tap_require(mkdtemp(dir), "dir");
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	uint64_t seed = 1;
	for (unsigned round = 0; round < 100; round++) {
		struct wz_joblog l;
		struct wz_joblog_gap gap;
		struct wz_err err;
		char all[4000], file[5000];
		size_t head = round % 7 * 40, tail = round % 5 * 60, n = 0, seen = 0;
		uint64_t head_end = UINT64_MAX;
		(void)snprintf(text, sizeof text, "log%u", round);
		tap_require(
		        wz_joblog_open(&l, fd, text, head, tail, (uid_t)-1, (gid_t)-1, false, &err) == 0, "open");
		while (n < 1 + round * 20 && n < sizeof all) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			size_t k = 1 + (seed >> 33) % 90;
			if (k > sizeof all - n)
				k = sizeof all - n;
			for (size_t i = 0; i < k; i++)
				all[n + i] = (char)('a' + (n + i) % 26);
			wz_joblog_append(&l, (struct wz_str){all + n, k});
			n += k;
			/* A follower sees what was written, or learns that it was left out; never other bytes. */
			uint64_t at;
			ssize_t got = wz_joblog_read(fd, text, seen, file, sizeof file, &at, &head_end);
			tap_ok(got > 0 && at >= seen && at + (uint64_t)got <= n, "follows at %zu: %zd", seen, got);
			if (got > 0 && at + (uint64_t)got <= n)
				tap_ok(memcmp(file, all + at, (size_t)got) == 0, "the bytes of the stream");
			seen = got > 0 ? at + (size_t)got : seen;
		}
		wz_joblog_close(&l, &gap);
		int f = openat(fd, text, O_RDONLY);
		ssize_t size = read(f, file, sizeof file);
		close(f);
		size_t h = head ? head : 1, t = tail ? tail : 1;
		if ((head || tail) && n > h + t) {
			tap_eq_i64(gap.bytes, n - h - t, "left out, round %u", round);
			tap_eq_i64(size, h + t + gap.marker_bytes, "size");
			tap_ok(memcmp(file, all, h) == 0 && memcmp(file + size - t, all + n - t, t) == 0,
			        "head and tail");
			tap_eq_i64(wz_joblog_closed_offset(&gap, n), size, "where the end is now");
			uint64_t at;
			tap_eq_i64(wz_joblog_read(fd, text, h + 1, all, 1, &at, &head_end), 0,
			        "a follower is told nothing of the file as it is now");
		} else {
			tap_eq_i64(size, n, "all is there, round %u", round);
			tap_ok(memcmp(file, all, n) == 0, "as it was");
		}
	}
	close(fd);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	tap_eq_i64(wz_tree_remove(tmp, dir + 5), 0, "and no segment hinders");
	close(tmp);
}

static void test_tree(void)
{
	char dir[] = "/tmp/wz-tree-XXXXXX", path[128];
	tap_require(mkdtemp(dir), "dir");
	(void)snprintf(path, sizeof path, "%s/a", dir);
	mkdir(path, 0700);
	(void)snprintf(path, sizeof path, "%s/a/b", dir);
	mkdir(path, 0700);
	(void)snprintf(path, sizeof path, "%s/a/link", dir);
	tap_eq_i64(symlink("/etc", path), 0, "link");
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	tap_eq_i64(wz_tree_remove(tmp, dir + 5), 0, "removed");
	tap_ok(access(dir, F_OK) < 0 && access("/etc/passwd", F_OK) == 0, "and nothing through the link");
	tap_eq_i64(wz_tree_remove(tmp, dir + 5), 0, "again");
	close(tmp);
}

int main(void)
{
	wz_arena_init(&arena, wz_os_mem(), 65536);
	tap_run(test_env_devices);
	tap_run(test_env_gang);
	tap_run(test_env_bad);
	tap_run(test_wire_round_trip);
	tap_run(test_wire_bad);
	tap_run(test_attempt_files);
	tap_run(test_joblog);
	tap_run(test_tree);
	wz_arena_release(&arena);
	return tap_done();
}
