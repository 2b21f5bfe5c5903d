/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup façade on this machine's hierarchies, v1 and v2 each by itself where both are there. */
#include "tap.h"

#include "base/check.h"
#include "os/cgroup.h"
#include "os/mem.h"
#include "os/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct wz_cgroup_fs fs;

static int enter(void *ctx)
{
	return wz_cgroup_attach(ctx, 0);
}

static pid_t run_in(struct wz_cgroup *g, const char *text)
{
	const char *const argv[] = {"sh", "-c", text, NULL};
	struct wz_proc_spec p = {.argv = argv, .umask = -1, .new_session = true, .in_child = enter, .ctx = g};
	struct wz_err err;
	pid_t pid;
	int rc = wz_proc_spawn(&p, &pid, &err);
	tap_eq_i64(rc, 0, "spawn: %s", rc < 0 ? err.text : "");
	return rc < 0 ? -1 : pid;
}

static int code_of(pid_t pid)
{
	int status = -1;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static bool only(const char *name, uint8_t version, struct wz_cgroup *ret)
{
	tap_eq_i64(wz_cgroup_of(&fs, name, ret), 0, "a group");
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (ret->facet[i].version != version)
			ret->facet[i].version = 0;
	}
	return wz_cgroup_has(ret, WZ_CG_TRACK) || wz_cgroup_has(ret, WZ_CG_FREEZE);
}

static void kills_and_freezes(struct wz_cgroup *g)
{
	struct wz_err err;
	tap_require(wz_cgroup_create(g, &err) == 0, "create");
	tap_eq_i64(wz_cgroup_empty(g), 1, "empty at first");
	pid_t pid = run_in(g, "trap '' TERM; (sleep 1000 & sleep 1000 & wait) & while :; do sleep 1; done");
	for (int i = 0; i < 200 && wz_cgroup_count(g) < 4; i++)
		poll(NULL, 0, 10);
	tap_ok(wz_cgroup_count(g) >= 4, "all are inside");
	tap_eq_i64(wz_cgroup_empty(g), 0, "not empty");
	tap_eq_i64(wz_cgroup_freeze(g, true), 0, "freeze");
	for (int i = 0; i < 200 && wz_cgroup_frozen(g) != 1; i++)
		poll(NULL, 0, 10);
	tap_eq_i64(wz_cgroup_frozen(g), 1, "frozen");
	for (int i = 0; i < 500 && wz_cgroup_empty(g) == 0; i++) { /* while frozen */
		tap_ok(wz_cgroup_kill(g) >= 0, "kill");
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		poll(NULL, 0, 10);
	}
	tap_eq_i64(wz_cgroup_empty(g), 1, "killed though frozen and deaf");
	(void)pid;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	tap_eq_i64(wz_cgroup_remove(g), 0, "remove");
	tap_eq_i64(wz_cgroup_remove(g), 0, "again");
	tap_eq_i64(wz_cgroup_empty(g), -ENOENT, "no such group");
}

static void test_v2(void)
{
	struct wz_cgroup g;
	if (fs.facet[WZ_CG_TRACK].version != 2)
		tap_skip("no writable cgroup v2 here");
	for (int i = 0; i < WZ_CG_FACETS; i++) { /* v2 has these even where v1 holds the controllers */
		if (i == WZ_CG_FREEZE || i == WZ_CG_DEVICES || i == WZ_CG_ACCT)
			fs.facet[i] = fs.facet[WZ_CG_TRACK];
	}
	only("v2", 2, &g);
	kills_and_freezes(&g);
	wz_cgroup_find("wz-test", &fs);
}

static void test_v1(void)
{
	struct wz_cgroup g;
	if (fs.facet[WZ_CG_FREEZE].version != 1)
		tap_skip("no writable cgroup v1 freezer here");
	only("v1", 1, &g);
	g.facet[WZ_CG_TRACK] = g.facet[WZ_CG_FREEZE];
	kills_and_freezes(&g);
}

/* /dev/zero (1:5) denied, /dev/null (1:3) not. */
static void denies(struct wz_cgroup *g)
{
	struct wz_err err;
	struct wz_cgroup_device d[] = {{'c', 1, 5}, {'c', 195, 0}};
	tap_require(wz_cgroup_create(g, &err) == 0, "create");
	int rc = wz_cgroup_deny(g, d, 2, &err);
	tap_eq_i64(rc, 0, "deny: %s", rc < 0 ? err.text : "");
	tap_eq_i64(code_of(run_in(g, "head -c1 /dev/null && (head -c1 /dev/zero >/dev/null 2>&1 || exit 3)")), 3,
	        "fence");
	tap_eq_i64(wz_cgroup_remove(g), 0, "remove");
}

static void test_deny_v1(void)
{
	struct wz_cgroup g;
	if (fs.facet[WZ_CG_DEVICES].version != 1)
		tap_skip("no writable cgroup v1 devices here");
	only("deny1", 1, &g);
	denies(&g);
}

static void test_deny_v2(void)
{
	struct wz_cgroup g = {0};
	if (fs.facet[WZ_CG_TRACK].version != 2 || geteuid() != 0)
		tap_skip("no writable cgroup v2 here, or not root");
	only("deny2", 2, &g);
	g.facet[WZ_CG_DEVICES] = g.facet[WZ_CG_TRACK];
	denies(&g);
}

static void test_limits(void)
{
	struct wz_cgroup g;
	struct wz_err err;
	struct wz_cgroup_usage u;
	if (!fs.facet[WZ_CG_CPU].version || !fs.facet[WZ_CG_ACCT].version)
		tap_skip("no writable cpu cgroup here");
	tap_eq_i64(wz_cgroup_of(&fs, "limits", &g), 0, "a group");
	tap_require(wz_cgroup_create(&g, &err) == 0, "create");
	struct wz_cgroup_limits l = {.cpu_milli = 200, .pids = 10};
	tap_eq_i64(wz_cgroup_limit(&g, &l, &err), 0, "limit");
	tap_eq_i64(code_of(run_in(&g, "timeout 1 sh -c 'while :; do :; done'; exit 0")), 0, "burns for a second");
	wz_cgroup_usage(&g, &u);
	tap_ok(u.cpu_us > 50000 && u.cpu_us < 450000, "a fifth of a CPU: %lld us", (long long)u.cpu_us);
	tap_eq_i64(wz_cgroup_remove(&g), 0, "remove");
}

static void test_parsers(void)
{
	struct wz_str text =
	        WZ_STR("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	               "35 31 0:32 /docker/1 /sys/fs/c\\040g rw shared:7 master:2 - cgroup cgroup rw,memory\n"
	               "garbage\n41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw");
	struct wz_cgroup_mount m;
	tap_require(wz_cgroup_next_mount(&text, &m) == 1, "first");
	tap_eq_i64(m.version, 1, "v1");
	tap_eq_str(wz_str(m.root), WZ_STR("/docker/1"), "root");
	tap_eq_str(wz_str(m.mount), WZ_STR("/sys/fs/c g"), "mount, unescaped");
	tap_eq_str(wz_str(m.controllers), WZ_STR("rw,memory"), "controllers");
	tap_require(wz_cgroup_next_mount(&text, &m) == 1, "second");
	tap_eq_i64(m.version, 2, "v2");
	tap_eq_i64(wz_cgroup_next_mount(&text, &m), 0, "end");
	char path[64];
	struct wz_str own = WZ_STR("9:name=systemd:/\n4:memory,cpu:/a/b:c\n0::/user.slice\n");
	tap_eq_i64(wz_cgroup_own_path(own, WZ_STR("cpu"), path, sizeof path), 0, "cpu");
	tap_eq_str(wz_str(path), WZ_STR("/a/b:c"), "a path may hold a colon");
	tap_eq_i64(wz_cgroup_own_path(own, WZ_STR(""), path, sizeof path), 0, "v2");
	tap_eq_str(wz_str(path), WZ_STR("/user.slice"), "path");
	tap_eq_i64(wz_cgroup_own_path(own, WZ_STR("pids"), path, sizeof path), -ENOENT, "not there");
	uint64_t v = 0;
	tap_eq_i64(wz_cgroup_key(WZ_STR("low 0\noom_kill 3\n"), WZ_STR("oom_kill"), &v), 0, "key");
	tap_eq_i64(v, 3, "value");
	tap_eq_i64(wz_cgroup_key(WZ_STR("oom_kill x\n"), WZ_STR("oom_kill"), &v), -EINVAL, "no number");
	struct wz_cgroup g;
	tap_eq_i64(wz_cgroup_of(&fs, "../up", &g), -EINVAL, "no path out");
	tap_eq_i64(wz_cgroup_of(&fs, "", &g), -EINVAL, "no name");
}

static void test_proc(void)
{
	struct wz_proc_stat st;
	tap_eq_i64(wz_proc_stat_parse(WZ_STR("12 (a) b (x) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 1 2"), &st),
	        0, "stat");
	tap_eq_i64(st.ppid, 3, "ppid behind a name with parentheses");
	tap_eq_i64(st.start_ticks, 777, "start");
	tap_eq_i64(wz_proc_stat_parse(WZ_STR("12 (a) S 3"), &st), -EINVAL, "short");
	tap_eq_i64(wz_proc_stat(getpid(), &st), 0, "self");
	tap_eq_i64(st.ppid, getppid(), "parent");
	int sig = 0;
	tap_ok(wz_proc_signal_parse(WZ_STR("sigusr1"), &sig) == 0 && sig == SIGUSR1, "sigusr1");
	tap_ok(wz_proc_signal_parse(WZ_STR("TERM"), &sig) == 0 && sig == SIGTERM, "TERM");
	tap_ok(wz_proc_signal_parse(WZ_STR("9"), &sig) == 0 && sig == SIGKILL, "9");
	tap_eq_i64(wz_proc_signal_parse(WZ_STR("0"), &sig), -EINVAL, "0");
	tap_eq_i64(wz_proc_signal_parse(WZ_STR("NOPE"), &sig), -EINVAL, "NOPE");
}

static void test_capture(void)
{
	struct wz_file_text t;
	struct wz_err err;
	int status;
	const char *const echo[] = {"sh", "-c", "echo hello; exit 3", NULL}, *const slow[] = {"sleep", "100", NULL};
	const char *const much[] = {"head", "-c", "5000", "/dev/zero", NULL};
	tap_eq_i64(wz_proc_capture(echo, 5000, 100, wz_os_mem(), &t, &status, &err), 0, "capture");
	tap_eq_str(wz_file_text_str(&t), WZ_STR("hello\n"), "output");
	tap_eq_i64(WEXITSTATUS(status), 3, "status");
	wz_file_text_release(&t);
	tap_eq_i64(wz_proc_capture(slow, 100, 100, wz_os_mem(), &t, &status, &err), -ETIMEDOUT, "time-out");
	tap_eq_str(wz_str(err.reason), WZ_STR("CommandTimeout"), "reason");
	tap_eq_i64(wz_proc_capture(much, 5000, 100, wz_os_mem(), &t, &status, &err), -E2BIG, "too much");
}

int main(void)
{
	wz_cgroup_find("wz-test", &fs);
	tap_run(test_parsers);
	tap_run(test_proc);
	tap_run(test_capture);
	tap_run(test_v1);
	tap_run(test_v2);
	tap_run(test_deny_v1);
	tap_run(test_deny_v2);
	tap_run(test_limits);
	return tap_done();
}
