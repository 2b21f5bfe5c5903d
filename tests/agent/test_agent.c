/* SPDX-License-Identifier: Apache-2.0 */
/* The agent, its shims and real processes. What the machine lacks (cgroups, root) is skipped with the reason. */
#include "tap.h"

#include "server.h"

#include "agent/env.h"
#include "os/cgroup.h"
#include "os/proc.h"

static struct wz_cgroup_fs cgroups;
static bool root;

static bool has(enum wz_cgroup_facet f)
{
	return cgroups.facet[f].version != 0;
}

#define BEGIN(s) \
	struct server s = {.link = -1}; \
	struct wz_wire_msg m; \
	tap_require(server_begin(&s), "the agent does not connect"); \
	tap_require(server_wait(&s, WZ_WIRE_HELLO, 0, &m), "no hello")

static void test_hello(void)
{
	BEGIN(s);
	tap_eq_i64(m.u.hello.proto, 1, "protocol");
	tap_require(m.u.hello.nodes.n == 1, "one node");
	const struct wz_wire_node *n = m.u.hello.nodes.item;
	tap_eq_str(n->name, WZ_STR("n"), "node name");
	tap_eq_i64(n->devices.n, 2, "two devices");
	tap_eq_i64(n->cpu_milli, 8000, "CPUs");
	tap_eq_i64(m.u.hello.cgroup.n, WZ_CG_FACETS, "facets");
	tap_ok(server_wait(&s, WZ_WIRE_TELEMETRY, 0, &m), "telemetry comes");
	tap_eq_i64(m.u.telemetry.devices.n, 2, "of both devices");
	server_end(&s);
}

static void test_exit_codes(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "echo out; echo err >&2; exit 7");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_str(m.u.ended.why, WZ_STR("exited"), "why");
	tap_eq_i64(m.u.ended.exit_code, 7, "code");
	tap_eq_i64(m.u.ended.exit_signal, -1, "no signal");
	tap_eq_i64(m.u.ended.log_bytes, 8, "log bytes");
	struct wz_file_text t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("out\nerr\n"), "both streams in one log");
	wz_file_text_release(&t);
	start_init(&st, &s, 2, "kill -SEGV $$");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_signal, SIGSEGV, "signal");
	tap_eq_i64(m.u.ended.exit_code, -1, "no code");
	start_init(&st, &s, 3, "");
	st.argv[0] = WZ_STR("no-such-command-anywhere");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_str(m.u.ended.why, WZ_STR("launch_failed"), "why");
	tap_eq_str(m.u.ended.reason, WZ_STR("NoCommand"), "reason");
	start_init(&st, &s, 4, "true");
	st.m.u.start.cwd = WZ_STR("/no/such/directory");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_str(m.u.ended.reason, WZ_STR("NoWorkingDirectory"), "reason");
	start_init(&st, &s, 5, "");
	st.m.u.start.argv = (struct wz_wire_array){0, NULL};
	st.m.u.start.script = WZ_STR("#!/bin/sh -e\necho \"$0\" | grep -q script\nfalse\nexit 9\n");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_code, 1, "a script by its first line");
	server_end(&s);
}

/* Bytes of argv arrive as they are. */
static void test_argv(void)
{
	BEGIN(s);
	struct start st;
	static const char *const odd[] = {
	        "printf", "%s|", "a b", "\"'$HOME`\\", "", "new\nline", "\xff\xfe\x80", "*"};
	struct wz_str argv[8];
	start_init(&st, &s, 1, "");
	for (unsigned i = 0; i < 8; i++)
		argv[i] = wz_str(odd[i]);
	st.m.u.start.argv = (struct wz_wire_array){8, argv};
	tap_require(server_run(&s, &st, &m), "it ends");
	struct wz_file_text t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("a b|\"'$HOME`\\||new\nline|\xff\xfe\x80|*|"), "argv");
	wz_file_text_release(&t);
	server_end(&s);
}

static void test_refusals(void)
{
	BEGIN(s);
	struct start st;
	int64_t devices[] = {0, 5};
	start_init(&st, &s, 1, "true");
	st.m.u.start.devices = (struct wz_wire_array){2, devices};
	tap_require(server_answer(&s, server_send(&s, &st.m), &m), "an answer");
	tap_eq_str(m.u.error.reason, WZ_STR("NoSuchDevice"), "device 5 of 2");
	start_init(&st, &s, 1, "true");
	st.m.u.start.node = WZ_STR("elsewhere");
	tap_require(server_answer(&s, server_send(&s, &st.m), &m), "an answer");
	tap_eq_str(m.u.error.reason, WZ_STR("NoSuchNode"), "node");
	start_init(&st, &s, 1, "true");
	st.m.u.start.log = WZ_STR("relative");
	tap_require(server_answer(&s, server_send(&s, &st.m), &m), "an answer");
	tap_eq_str(m.u.error.reason, WZ_STR("BadMessage"), "log");
	tap_ok(!server_stop(&s, 99, 0, false, "x"), "no such attempt");
	/* What was refused left nothing: the same attempt starts now. */
	start_init(&st, &s, 1, "exit 3");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_code, 3, "code");
	server_end(&s);
}

static void test_start_twice(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "echo once; exit 5");
	(void)server_send(&s, &st.m);
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "it ends");
	tap_require(server_answer(&s, server_send(&s, &st.m), &m), "a third");
	tap_eq_i64(m.type, WZ_WIRE_ACK, "is no error");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m) || true, "told again");
	server_ack(&s, s.last_ended);
	tap_require(server_answer(&s, server_send(&s, &st.m), &m), "a fourth, after the acknowledgement");
	tap_eq_str(m.u.error.reason, WZ_STR("AlreadyEnded"), "is refused");
	struct wz_file_text t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("once\n"), "it ran once");
	wz_file_text_release(&t);
	server_end(&s);
}

/* 126 workers, re-parented, in sessions of their own, that ignore TERM (cases-users 10). */
static void tree_is_gone(const char *base)
{
	struct server s = {.link = -1, .cgroup_base = base};
	struct wz_wire_msg m;
	struct start st;
	tap_require(server_begin(&s), "begins");
	start_init(&st, &s, 1,
	        "trap '' TERM; i=0; while [ $i -lt 126 ]; do (setsid sh -c 'trap \"\" TERM HUP; while :; do sleep "
	        "60; done' "
	        "</dev/null >/dev/null 2>&1 &) ; i=$((i+1)); done; echo ready; while :; do sleep 60; done");
	/* A bystander of the same user survives. */
	pid_t bystander = fork();
	if (bystander == 0) {
		pause();
		_exit(0);
	}
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 1, &m), "runs");
	for (int i = 0; i < 500; i++) {
		struct wz_file_text t = read_log(&st);
		bool ready = t.len >= 6;
		wz_file_text_release(&t);
		if (ready)
			break;
		poll(NULL, 0, 20);
	}
	int before = wz_proc_descendants((pid_t)m.u.running.pid, NULL, 0);
	(void)before;
	uint64_t t0 = wz_clock_monotonic_ns();
	tap_ok(server_stop(&s, 1, 1000, false, "Cancelled"), "stop");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "ends");
	uint64_t ms = (wz_clock_monotonic_ns() - t0) / 1000000;
	tap_ok(ms <= 3000, "gone within grace + 2 s, took %llu ms", (unsigned long long)ms);
	tap_ok(ms >= 900, "not before the grace, took %llu ms", (unsigned long long)ms);
	tap_eq_str(m.u.ended.why, WZ_STR("stopped"), "why");
	tap_eq_str(m.u.ended.reason, WZ_STR("Cancelled"), "reason");
	tap_eq_i64(m.u.ended.exit_signal, SIGKILL, "killed");
	tap_ok(kill(bystander, 0) == 0, "the bystander lives");
	kill(bystander, SIGKILL);
	waitpid(bystander, NULL, 0);
	/* Nothing with our marker is left. */
	struct wz_file_text out;
	int status;
	const char *const pgrep[] = {"pgrep", "-f", "trap.*TERM HUP", NULL};
	tap_eq_i64(wz_proc_capture(pgrep, 5000, 65536, wz_os_mem(), &out, &status, NULL), 0, "pgrep");
	tap_eq_i64(out.len, 0, "processes are left");
	wz_file_text_release(&out);
	server_end(&s);
}

static void test_tree_with_cgroup(void)
{
	if (!has(WZ_CG_TRACK))
		tap_skip("no cgroup is writable here");
	tree_is_gone("wz-test");
}

static void test_tree_without_cgroup(void)
{
	tree_is_gone("");
}

/* The main process ends by itself and leaves workers. */
static void test_leftovers(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "(setsid sleep 1000 &) ; (trap '' TERM; setsid sleep 1001 &); exit 4");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_code, 4, "its own code");
	tap_eq_str(m.u.ended.why, WZ_STR("exited"), "why");
	server_end(&s);
}

static void test_oom(void)
{
	if (!has(WZ_CG_MEMORY))
		tap_skip("no memory cgroup is writable here");
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "exec bash -c 'exec tail -c 500000000 < <(cat /dev/zero)'");
	st.m.u.start.mem_bytes = 64 << 20;
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_signal, SIGKILL, "killed");
	tap_ok(m.u.ended.oom_kills > 0, "by the OOM killer");
	tap_ok(m.u.ended.mem_peak_bytes > 32 << 20 && m.u.ended.mem_peak_bytes <= 65 << 20, "peak");
	tap_eq_i64(m.u.ended.mem_limit_bytes, 64 << 20, "limit");
	/* A child is killed and the parent says that all is well: it still shows. */
	start_init(&st, &s, 2, "head -c 500000000 /dev/zero | tail -c 500000000 >/dev/null; exit 0");
	st.m.u.start.mem_bytes = 64 << 20;
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.exit_code, 0, "code 0");
	tap_ok(m.u.ended.oom_kills > 0, "and yet");
	/* A kill by somebody is no OOM. */
	start_init(&st, &s, 3, "kill -9 $$");
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_i64(m.u.ended.oom_kills, 0, "no OOM");
	server_end(&s);
}

static void test_limits(void)
{
	BEGIN(s);
	struct start st;
	int64_t rlimits[] = {7 /* RLIMIT_NOFILE */, 100, 200};
	start_init(&st, &s, 1, "ulimit -n; umask");
	st.m.u.start.rlimits = (struct wz_wire_array){3, rlimits};
	st.m.u.start.umask = 027;
	tap_require(server_run(&s, &st, &m), "it ends");
	struct wz_file_text t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("100\n0027\n"), "rlimit, umask");
	wz_file_text_release(&t);
	if (has(WZ_CG_PIDS)) {
		start_init(&st, &s, 2,
		        "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 2 & done 2>/dev/null; wait; exit 0");
		st.m.u.start.pids = 8;
		tap_require(server_run(&s, &st, &m), "it ends");
		tap_ok(m.u.ended.exit_code == 2 || m.u.ended.exit_code == 254, "fork is refused, code %lld",
		        (long long)m.u.ended.exit_code);
	}
	start_init(&st, &s, 3, "sleep 100");
	st.m.u.start.time_ms = 300;
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_str(m.u.ended.why, WZ_STR("timeout"), "its own time limit");
	server_end(&s);
}

static void test_log_cap(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
	st.m.u.start.log_head_bytes = 1000;
	st.m.u.start.log_tail_bytes = 2000;
	tap_require(server_run(&s, &st, &m), "it ends");
	struct wz_file_text t = read_log(&st);
	tap_eq_i64(t.len, 3000 + m.u.ended.log_gap_marker, "size");
	tap_ok(t.len > 12 && memcmp(t.data, "line 0\nline ", 12) == 0, "head");
	tap_ok(t.len > 11 && memcmp(t.data + t.len - 11, "line 19999\n", 11) == 0, "tail");
	tap_ok(memmem(t.data, t.len, "bytes left out here", 19), "marker");
	tap_eq_i64(m.u.ended.log_gap_at, 1000, "gap");
	tap_eq_i64(m.u.ended.log_gap_bytes + 3000, m.u.ended.log_bytes, "gap bytes");
	wz_file_text_release(&t);
	server_end(&s);
}

static void test_log_does_not_block(void)
{
	BEGIN(s);
	struct start st;
	uint64_t t0 = wz_clock_monotonic_ns();
	start_init(&st, &s, 1, "head -c 300000000 /dev/zero");
	st.m.u.start.log_head_bytes = 1 << 20;
	st.m.u.start.log_tail_bytes = 1 << 20;
	tap_require(server_run(&s, &st, &m), "it ends");
	uint64_t ms = (wz_clock_monotonic_ns() - t0) / 1000000;
	tap_eq_i64(m.u.ended.log_bytes, 300000000, "all went through");
	tap_eq_i64(m.u.ended.log_lost, 0, "nothing lost");
	tap_ok(ms < 10000, "300 MB in %llu ms", (unsigned long long)ms);
	printf("# 300 MB through the log in %llu ms\n", (unsigned long long)ms);
	server_end(&s);
}

static void test_readopt(void)
{
	BEGIN(s);
	struct start st;
	for (int job = 1; job <= 8; job++) {
		char text[64];
		(void)snprintf(text, sizeof text, "sleep 0.%d; exit %d", job, 10 + job);
		start_init(&st, &s, job, text);
		(void)server_send(&s, &st.m);
	}
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 8, &m), "the last runs");
	start_init(&st, &s, 9, "trap 'exit 33' TERM; while :; do sleep 0.05; done");
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 9, &m), "it runs");
	int64_t pid = m.u.running.pid;
	(void)server_end_agent(&s, SIGKILL);
	poll(NULL, 0, 1200); /* meanwhile the eight end, with nobody there */
	server_spawn_agent(&s);
	tap_require(server_accept(&s), "it comes back");
	tap_require(server_wait(&s, WZ_WIRE_HELLO, 0, &m), "hello");
	bool seen[10] = {false};
	int ends = 0;
	uint64_t until = wz_clock_monotonic_ns() + 20000000000ULL;
	while ((ends < 8 || !seen[9]) && server_next(&s, &m, until)) {
		if (m.type == WZ_WIRE_ENDED) {
			tap_eq_i64(m.u.ended.exit_code, 10 + m.u.ended.job, "code of job %lld",
			        (long long)m.u.ended.job);
			ends += !seen[m.u.ended.job];
			seen[m.u.ended.job] = true;
		} else if (m.type == WZ_WIRE_RUNNING && m.u.running.job == 9) {
			tap_eq_i64(m.u.running.adopted, 1, "adopted");
			tap_eq_i64(m.u.running.pid, pid, "the same process");
			seen[9] = true;
		}
	}
	tap_eq_i64(ends, 8, "every end is told");
	tap_ok(seen[9], "and who lives");
	tap_ok(server_stop(&s, 9, 5000, false, "Cancelled"), "an adopted one stops");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 9, &m), "ends");
	tap_eq_i64(m.u.ended.exit_code, 33, "by its trap");
	/* Unacknowledged ends are told again to a new link; acknowledged ones are not. */
	server_ack(&s, m.id);
	server_drop_link(&s);
	tap_require(server_accept(&s), "again");
	ends = 0;
	until = wz_clock_monotonic_ns() + 1000000000ULL;
	while (server_next(&s, &m, until)) {
		ends += m.type == WZ_WIRE_ENDED;
		tap_ok(m.type != WZ_WIRE_ENDED || m.u.ended.job != 9, "9 was acknowledged");
	}
	tap_eq_i64(ends, 8, "the others");
	server_end(&s);
}

/* Agents killed again and again while work starts and ends. */
static void test_kill_agent_often(void)
{
	BEGIN(s);
	struct start st;
	enum { JOBS = 30 };
	bool sent[JOBS + 1] = {false}, done[JOBS + 1] = {false};
	int left = JOBS;
	for (int round = 0; round < 200 && left > 0; round++) {
		for (int job = 1; job <= JOBS; job++) {
			char text[256];
			if (done[job] || (sent[job] && round % 3 == 0))
				continue;
			(void)snprintf(text, sizeof text, "echo run >>%s/ran.%d; sleep 0.0%d; exit %d", s.log, job,
			        job % 10, job);
			start_init(&st, &s, job, text);
			(void)server_send(&s, &st.m); /* again and again: it starts once */
			sent[job] = true;
		}
		uint64_t until = wz_clock_monotonic_ns() + 20000000ULL + (uint64_t)(round * 7919 % 40) * 1000000;
		while (server_next(&s, &m, until)) {
			if (m.type != WZ_WIRE_ENDED || done[m.u.ended.job])
				continue;
			tap_eq_i64(m.u.ended.exit_code, m.u.ended.job, "code (%.*s, %.*s)", (int)m.u.ended.why.len,
			        m.u.ended.why.ptr, (int)m.u.ended.reason.len, m.u.ended.reason.ptr);
			done[m.u.ended.job] = true;
			left--;
		}
		(void)server_end_agent(&s, SIGKILL);
		server_spawn_agent(&s);
		tap_require(server_accept(&s), "it comes back");
	}
	tap_eq_i64(left, 0, "all ended");
	for (int job = 1; job <= JOBS; job++) {
		char path[256];
		struct wz_file_text t = {.mem = wz_os_mem()};
		(void)snprintf(path, sizeof path, "%s/ran.%d", s.log, job);
		(void)wz_file_read(path, 1000, wz_os_mem(), &t, NULL);
		tap_eq_i64(t.len, 4, "job %d ran once", job);
		wz_file_text_release(&t);
	}
	server_end(&s);
}

static void test_shim_killed(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "echo $PPID; exec sleep 1000");
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 1, &m), "runs");
	struct wz_proc_stat ps;
	pid_t job = (pid_t)m.u.running.pid;
	tap_require(wz_proc_stat(job, &ps) == 0, "is there");
	kill(ps.ppid, SIGKILL);
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "ends");
	tap_eq_str(m.u.ended.why, WZ_STR("shim_lost"), "why");
	tap_ok(wz_proc_stat(job, &ps) < 0 || ps.state == 'Z', "and nothing of it is alive");
	server_end(&s);
}

static void test_reboot(void)
{
	BEGIN(s);
	struct start st;
	char path[256];
	start_init(&st, &s, 1, "exec sleep 1000");
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 1, &m), "runs");
	struct wz_proc_stat ps;
	tap_require(wz_proc_stat((pid_t)m.u.running.pid, &ps) == 0, "is there");
	(void)server_end_agent(&s, SIGKILL);
	kill(ps.ppid, SIGKILL);
	kill(ps.pid, SIGKILL);
	/* Another boot id in what was written: as if the machine had been started anew. */
	(void)snprintf(path, sizeof path, "%s/attempts/1.0.1", s.state);
	int dir = open(path, O_RDONLY | O_DIRECTORY);
	struct wz_attempt_status status;
	tap_require(wz_attempt_status_read(dir, &status) == 0, "status");
	memcpy(status.boot, "00000000", 8);
	tap_eq_i64(wz_attempt_status_write(dir, &status, false), 0, "written");
	close(dir);
	server_spawn_agent(&s);
	tap_require(server_accept(&s), "it comes back");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "ends");
	tap_eq_str(m.u.ended.why, WZ_STR("node_lost"), "why");
	server_end(&s);
}

static void test_other_user(void)
{
	if (!root)
		tap_skip("not root: nobody else's work can be run");
	BEGIN(s);
	struct start st;
	int64_t groups[] = {65534, 12345};
	start_init(&st, &s, 1,
	        "id -u; id -g; id -G; umask; cat ../1.log 2>/dev/null; test -r /etc/shadow && echo shadow; "
	        "touch $WZ_RUN_DIR/mine && echo wrote; kill -9 $PPID 2>/dev/null && echo killed; true");
	st.m.u.start.uid = st.m.u.start.gid = 65534;
	st.m.u.start.groups = (struct wz_wire_array){2, groups};
	tap_require(server_run(&s, &st, &m), "it ends");
	struct wz_file_text t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("65534\n65534\n65534 12345\n0022\nwrote\n"), "who, what");
	wz_file_text_release(&t);
	struct stat sb;
	tap_ok(stat(st.log, &sb) == 0 && sb.st_uid == 65534 && (sb.st_mode & 0777) == 0600,
	        "the log is the user's alone");
	/* Another user cannot read that log, nor the spec with its environment. */
	char text[1024];
	(void)snprintf(text, sizeof text,
	        "cat %s 2>&1 | grep -c denied; cat %s/attempts/2.0.1/spec 2>&1 | grep -c denied; "
	        "ls %s/attempts 2>&1 | grep -c denied; cat %s/attempts/1.0.1/run/mine 2>&1 | grep -c denied",
	        st.log, s.state, s.state, s.state);
	start_init(&st, &s, 2, text);
	st.m.u.start.uid = st.m.u.start.gid = 1234;
	tap_require(server_run(&s, &st, &m), "it ends");
	t = read_log(&st);
	tap_eq_str(wz_file_text_str(&t), WZ_STR("1\n1\n1\n1\n"), "all denied");
	wz_file_text_release(&t);
	/* A log path of the user's own is opened as the user: a link to somebody else's file gets nothing. */
	char home[128], link[160], victim[160];
	(void)snprintf(home, sizeof home, "%s/home", s.dir);
	(void)snprintf(link, sizeof link, "%s/out.log", home);
	(void)snprintf(victim, sizeof victim, "%s/victim", s.dir);
	mkdir(home, 0755);
	tap_eq_i64(chown(home, 1234, 1234), 0, "home");
	tap_eq_i64(wz_file_write(victim, WZ_STR("precious"), 0600, NULL), 0, "victim");
	tap_eq_i64(symlink(victim, link), 0, "link");
	start_init(&st, &s, 3, "echo overwritten");
	st.m.u.start.uid = st.m.u.start.gid = 1234;
	st.m.u.start.log = wz_str(link);
	st.m.u.start.log_as_user = 1;
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_eq_str(m.u.ended.why, WZ_STR("launch_failed"), "refused");
	tap_eq_str(m.u.ended.reason, WZ_STR("NoPermission"), "by permission");
	unlink(link);
	start_init(&st, &s, 4, "echo mine");
	st.m.u.start.uid = st.m.u.start.gid = 1234;
	st.m.u.start.log = wz_str(link);
	st.m.u.start.log_as_user = 1;
	tap_require(server_run(&s, &st, &m), "it ends");
	tap_ok(stat(link, &sb) == 0 && sb.st_uid == 1234 && sb.st_size == 5, "their own file");
	server_end(&s);
}

static void test_freeze(void)
{
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1, "while :; do echo x; sleep 0.02; done");
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_RUNNING, 1, &m), "runs");
	struct wz_wire_msg f;
	wz_wire_init(&f, WZ_WIRE_FREEZE);
	f.u.stop.job = 1;
	f.u.stop.attempt = 1;
	tap_require(server_answer(&s, server_send(&s, &f), &m) && m.type == WZ_WIRE_ACK, "freeze");
	poll(NULL, 0, 200);
	struct stat a, b;
	tap_ok(stat(st.log, &a) == 0, "log");
	poll(NULL, 0, 300);
	tap_ok(stat(st.log, &b) == 0 && a.st_size == b.st_size, "nothing moves");
	f.type = WZ_WIRE_THAW;
	tap_require(server_answer(&s, server_send(&s, &f), &m) && m.type == WZ_WIRE_ACK, "thaw");
	for (int i = 0; i < 100 && stat(st.log, &b) == 0 && a.st_size == b.st_size; i++)
		poll(NULL, 0, 50);
	tap_ok(b.st_size > a.st_size, "and goes on");
	/* What is frozen can be stopped. */
	f.type = WZ_WIRE_FREEZE;
	tap_require(server_answer(&s, server_send(&s, &f), &m) && m.type == WZ_WIRE_ACK, "freeze");
	tap_ok(server_stop(&s, 1, 500, false, "Cancelled"), "stop");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "ends");
	server_end(&s);
}

static void test_preempt(void)
{
	BEGIN(s);
	struct start st;
	static const struct {
		const char *text;
		int ack, code;
		bool acked, quick;
	} cases[] = {
	        {"trap 'echo saved; : >$WZ_ACK_FILE' USR1; trap 'exit 85' TERM; while :; do sleep 0.05; done",
	                WZ_ATTEMPT_ACK_FILE, 85, true, true},
	        {"while [ ! -e $WZ_PREEMPT_FILE ]; do sleep 0.05; done; cat $WZ_PREEMPT_FILE; exit 86",
	                WZ_ATTEMPT_ACK_NONE, 86, false, true},
	        {"trap '' USR1; trap 'exit 87' TERM; while :; do sleep 0.05; done", WZ_ATTEMPT_ACK_FILE, 87, false,
	                false},
	};
	for (int i = 0; i < 3; i++) {
		start_init(&st, &s, i + 1, cases[i].text);
		st.m.u.start.preempt_signal = i == 1 ? 0 : SIGUSR1;
		st.m.u.start.preempt_grace_ms = cases[i].quick ? 20000 : 500;
		st.m.u.start.preempt_ack = cases[i].ack;
		(void)server_send(&s, &st.m);
		tap_require(server_wait(&s, WZ_WIRE_RUNNING, i + 1, &m), "runs");
		poll(NULL, 0, 200); /* until the traps are set */
		uint64_t t0 = wz_clock_monotonic_ns();
		tap_ok(server_stop(&s, i + 1, 5000, true, "Preempted"), "preempt");
		tap_require(server_wait(&s, WZ_WIRE_ENDED, i + 1, &m), "ends");
		uint64_t ms = (wz_clock_monotonic_ns() - t0) / 1000000;
		tap_eq_i64(m.u.ended.exit_code, cases[i].code, "case %d", i);
		tap_eq_i64(m.u.ended.acked, cases[i].acked, "acknowledged");
		tap_eq_str(m.u.ended.reason, WZ_STR("Preempted"), "reason");
		tap_ok(cases[i].quick ? ms < 5000 : ms >= 450, "case %d took %llu ms", i, (unsigned long long)ms);
	}
	server_end(&s);
}

static void test_socket_of_the_job(void)
{
	if (access("/usr/bin/python3", X_OK) < 0)
		tap_skip("no python3 to speak to a datagram socket");
	BEGIN(s);
	struct start st;
	start_init(&st, &s, 1,
	        "exec python3 -c 'import os,socket,time\n"
	        "c=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM);c.connect(os.environ[\"WZ_SOCKET\"])\n"
	        "c.send(b\"progress 0.5\")\n"
	        "while not os.path.exists(os.environ[\"WZ_PREEMPT_FILE\"]): time.sleep(0.02)\n"
	        "c.send(b\"ack\")\n"
	        "time.sleep(100)'");
	st.m.u.start.preempt_grace_ms = 20000;
	st.m.u.start.preempt_ack = WZ_ATTEMPT_ACK_SOCKET;
	if (root)
		st.m.u.start.uid = st.m.u.start.gid = 65534;
	(void)server_send(&s, &st.m);
	tap_require(server_wait(&s, WZ_WIRE_REPORT, 1, &m), "a report");
	tap_eq_str(m.u.report.text, WZ_STR("progress 0.5"), "text");
	tap_ok(server_stop(&s, 1, 200, true, "Preempted"), "preempt");
	tap_require(server_wait(&s, WZ_WIRE_ENDED, 1, &m), "ends");
	tap_eq_i64(m.u.ended.acked, 1, "acknowledged by the socket");
	server_end(&s);
}

static void test_second_agent(void)
{
	BEGIN(s);
	struct wz_agent_options o = {
	        .state_dir = s.state, .socket = s.socket, .provider = "none", .shim = getenv("WZ_SHIM")};
	struct wz_err err = {0};
	atomic_int stop = 1;
	tap_eq_i64(wz_agent_run(&o, &stop, &err), -EBUSY, "a second agent");
	tap_eq_str(wz_str(err.reason), WZ_STR("AgentRunning"), "is refused");
	server_end(&s);
}

static void test_device_failure(void)
{
	struct server s = {.link = -1,
	        .cluster_text = "version: 1\nnodes:\n  - name: n\n    cpus: 8\n    mem: 16Gi\n"
	                        "    devices:\n      - {model: Tesla T4, count: 2, mem: 15Gi}\n"
	                        "events:\n  - {at: 400ms, node: n, device: 1, health: failed, why: fell off}\n"};
	struct wz_wire_msg m;
	tap_require(server_begin(&s), "begins");
	tap_require(server_wait(&s, WZ_WIRE_NODE, 0, &m), "the failure is told");
	const struct wz_wire_device *d = m.u.node.devices.item;
	tap_eq_str(d[1].health, WZ_STR("failed"), "health");
	tap_eq_str(d[1].why, WZ_STR("fell off"), "why");
	tap_eq_str(d[0].health, WZ_STR("ok"), "the other one");
	server_end(&s);
}

static void test_speed(void)
{
	BEGIN(s);
	struct start st;
	enum { N = 100 };
	uint64_t worst = 0, sum = 0;
	for (int i = 1; i <= N; i++) {
		start_init(&st, &s, i, "exec sleep 1000");
		uint64_t t0 = wz_clock_monotonic_ns();
		(void)server_send(&s, &st.m);
		tap_require(server_wait(&s, WZ_WIRE_RUNNING, i, &m), "runs");
		uint64_t us = (wz_clock_monotonic_ns() - t0) / 1000;
		sum += us;
		if (us > worst)
			worst = us;
	}
	printf("# start to running: mean %llu us, worst %llu us of %d\n", (unsigned long long)(sum / N),
	        (unsigned long long)worst, N);
	for (int i = 1; i <= N; i++)
		tap_ok(server_stop(&s, i, 0, false, "Cancelled"), "stop %d", i);
	/* Ends may come among the answers: the agent is asked to tell all again. */
	bool gone[N + 1] = {false};
	int left = N;
	uint64_t until = wz_clock_monotonic_ns() + 20000000000ULL;
	server_drop_link(&s);
	tap_require(server_accept(&s), "again");
	while (left && server_next(&s, &m, until)) {
		if (m.type == WZ_WIRE_ENDED && !gone[m.u.ended.job]) {
			gone[m.u.ended.job] = true;
			left--;
		}
	}
	tap_eq_i64(left, 0, "all gone");
	server_end(&s);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	root = geteuid() == 0;
	wz_cgroup_find("wz-test", &cgroups);
	for (int i = 0; i < WZ_CG_FACETS; i++)
		printf("# cgroup %s: v%u %s\n", wz_cgroup_facet_names[i], cgroups.facet[i].version,
		        cgroups.facet[i].version ? cgroups.facet[i].dir : cgroups.why[i]);
	tap_run(test_hello);
	tap_run(test_exit_codes);
	tap_run(test_argv);
	tap_run(test_refusals);
	tap_run(test_start_twice);
	tap_run(test_tree_with_cgroup);
	tap_run(test_tree_without_cgroup);
	tap_run(test_leftovers);
	tap_run(test_oom);
	tap_run(test_limits);
	tap_run(test_log_cap);
	tap_run(test_log_does_not_block);
	tap_run(test_readopt);
	tap_run(test_kill_agent_often);
	tap_run(test_shim_killed);
	tap_run(test_reboot);
	tap_run(test_other_user);
	tap_run(test_freeze);
	tap_run(test_preempt);
	tap_run(test_socket_of_the_job);
	tap_run(test_second_agent);
	tap_run(test_device_failure);
	tap_run(test_speed);
	return tap_done();
}
