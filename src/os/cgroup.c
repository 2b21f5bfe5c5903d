/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of a group. A facet's directory is looked at as a string path: it is ours, below a base that only we write.
 * Walks are iterative (fts) since users may make groups inside theirs. */
#include "os/cgroup.h"

#include "base/check.h"

#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads DIR/FILE into text (terminated); -errno. */
static ssize_t get(const char *dir, const char *file, char *text, size_t cap)
{
	char path[WZ_CG_PATH_MAX + 64];
	(void)snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n;
	do
		n = read(fd, text, cap - 1);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

static int put(const char *dir, const char *file, const char *text)
{
	char path[WZ_CG_PATH_MAX + 64];
	(void)snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n;
	do
		n = write(fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	int rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int put_i64(const char *dir, const char *file, int64_t v)
{
	char text[WZ_NUM_MAX];
	(void)snprintf(text, sizeof text, "%lld", (long long)v);
	return put(dir, file, text);
}

/* One number; "max" is -1, and so is a file that cannot be read. */
static int64_t get_i64(const char *dir, const char *file)
{
	char text[64];
	int64_t v;
	ssize_t n = get(dir, file, text, sizeof text);
	if (n <= 0 || wz_str_parse_i64(wz_str_trim((struct wz_str){text, (size_t)n}), &v) < 0)
		return -1;
	return v;
}

static int64_t get_key(const char *dir, const char *file, const char *key)
{
	char text[4096];
	uint64_t v;
	ssize_t n = get(dir, file, text, sizeof text);
	if (n <= 0 || wz_cgroup_key((struct wz_str){text, (size_t)n}, wz_str(key), &v) < 0 || v > INT64_MAX)
		return -1;
	return (int64_t)v;
}

/* Is the directory of facet i also that of an earlier one? */
static bool seen(const struct wz_cgroup *g, int i)
{
	for (int k = 0; k < i; k++) {
		if (g->facet[k].version && strcmp(g->facet[k].dir, g->facet[i].dir) == 0)
			return true;
	}
	return false;
}

int wz_cgroup_of(const struct wz_cgroup_fs *fs, const char *name, struct wz_cgroup *ret)
{
	struct wz_cgroup g = {0};
	size_t n = strlen(name);
	if (n == 0 || n >= WZ_CG_NAME_MAX || name[0] == '.' || strchr(name, '/'))
		return -EINVAL;
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		size_t d = strlen(fs->facet[i].dir);
		if (!fs->facet[i].version)
			continue;
		if (d + n + 2 > WZ_CG_PATH_MAX)
			return -EINVAL;
		g.facet[i].version = fs->facet[i].version;
		memcpy(g.facet[i].dir, fs->facet[i].dir, d);
		g.facet[i].dir[d] = '/';
		memcpy(g.facet[i].dir + d + 1, name, n + 1);
	}
	*ret = g;
	return 0;
}

int wz_cgroup_create(const struct wz_cgroup *g, struct wz_err *err)
{
	bool made[WZ_CG_FACETS] = {false};
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (!g->facet[i].version || seen(g, i))
			continue;
		made[i] = mkdir(g->facet[i].dir, 0755) == 0;
		if (made[i] || errno == EEXIST)
			continue;
		int rc = -errno;
		for (int k = 0; k < i; k++) {
			if (made[k])
				rmdir(g->facet[k].dir);
		}
		return wz_err_set(err, rc, "CgroupFailed", WZ_STR("cannot make the cgroup "),
		        wz_str(g->facet[i].dir), WZ_STR(": "), wz_str(strerrordesc_np(-rc)));
	}
	return 0;
}

int wz_cgroup_attach(const struct wz_cgroup *g, pid_t pid)
{
	char text[WZ_NUM_MAX];
	(void)snprintf(text, sizeof text, "%d", (int)pid);
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (!g->facet[i].version || seen(g, i))
			continue;
		int rc = put(g->facet[i].dir, "cgroup.procs", text);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int limit_cpu(const struct wz_cgroup_at *at, int64_t milli)
{
	enum { PERIOD_US = 100000, QUOTA_MIN_US = 1000 };
	int64_t quota = milli > INT64_MAX / 100 ? INT64_MAX / 100 : milli * (PERIOD_US / 1000);
	char text[2 * WZ_NUM_MAX];
	if (quota < QUOTA_MIN_US)
		quota = QUOTA_MIN_US;
	if (at->version == 1) {
		int rc = put_i64(at->dir, "cpu.cfs_period_us", PERIOD_US);
		return rc < 0 ? rc : put_i64(at->dir, "cpu.cfs_quota_us", quota);
	}
	(void)snprintf(text, sizeof text, "%lld %d", (long long)quota, PERIOD_US);
	return put(at->dir, "cpu.max", text);
}

static int limit_memory(const struct wz_cgroup_at *at, int64_t bytes)
{
	int rc;
	if (at->version == 1) {
		rc = put_i64(at->dir, "memory.limit_in_bytes", bytes);
		if (rc == 0) /* the swap file may not exist: then there is no swap accounting */
			(void)put_i64(at->dir, "memory.memsw.limit_in_bytes", bytes);
		return rc;
	}
	rc = put_i64(at->dir, "memory.max", bytes);
	if (rc == 0)
		(void)put(at->dir, "memory.swap.max", "0");
	return rc;
}

static int limit_pids(const struct wz_cgroup_at *at, int64_t n)
{
	return put_i64(at->dir, "pids.max", n);
}

int wz_cgroup_limit(const struct wz_cgroup *g, const struct wz_cgroup_limits *l, struct wz_err *err)
{
	const struct {
		enum wz_cgroup_facet facet;
		int64_t value;
		int (*set)(const struct wz_cgroup_at *, int64_t);
	} table[] = {
	        {WZ_CG_CPU, l->cpu_milli, limit_cpu},
	        {WZ_CG_MEMORY, l->mem_bytes, limit_memory},
	        {WZ_CG_PIDS, l->pids, limit_pids},
	};
	int result = 0;
	for (size_t i = 0; i < WZ_ARRAY_LEN(table); i++) {
		const struct wz_cgroup_at *at = &g->facet[table[i].facet];
		const char *name = wz_cgroup_facet_names[table[i].facet];
		if (table[i].value <= 0)
			continue;
		if (!at->version) {
			result = wz_err_set(err, -EOPNOTSUPP, "NoCgroup", WZ_STR("no cgroup limits "), wz_str(name),
			        WZ_STR(" here"));
			continue;
		}
		int rc = table[i].set(at, table[i].value);
		if (rc < 0)
			return wz_err_set(err, rc, "CgroupFailed", WZ_STR("cannot limit "), wz_str(name),
			        WZ_STR(" in "), wz_str(at->dir), WZ_STR(": "), wz_str(strerrordesc_np(-rc)));
	}
	return result;
}

/* --- freezing ------------------------------------------------------------------------------------------------- */

int wz_cgroup_freeze(const struct wz_cgroup *g, bool frozen)
{
	const struct wz_cgroup_at *at = &g->facet[WZ_CG_FREEZE];
	if (!at->version)
		return -EOPNOTSUPP;
	if (at->version == 1)
		return put(at->dir, "freezer.state", frozen ? "FROZEN" : "THAWED");
	return put(at->dir, "cgroup.freeze", frozen ? "1" : "0");
}

int wz_cgroup_frozen(const struct wz_cgroup *g)
{
	const struct wz_cgroup_at *at = &g->facet[WZ_CG_FREEZE];
	char text[64];
	if (!at->version)
		return -EOPNOTSUPP;
	if (at->version == 2) {
		int64_t v = get_key(at->dir, "cgroup.events", "frozen");
		return v < 0 ? -EIO : v == 1;
	}
	ssize_t n = get(at->dir, "freezer.state", text, sizeof text);
	if (n < 0)
		return (int)n;
	/* FREEZING asks again: a process in a system call may keep the first try from ending. */
	if (strncmp(text, "FREEZING", 8) == 0)
		(void)put(at->dir, "freezer.state", "FROZEN");
	return strncmp(text, "FROZEN", 6) == 0;
}

/* --- processes ------------------------------------------------------------------------------------------------ */

/* Calls visit for each process of DIR/cgroup.procs. Returns how many. */
static int visit_procs(const char *dir, int sig)
{
	char path[WZ_CG_PATH_MAX + 256];
	char block[4096];
	int n = 0, fd;
	int64_t pid = 0;
	bool any = false;
	ssize_t got;
	if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", dir) >= sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((got = read(fd, block, sizeof block)) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (block[i] >= '0' && block[i] <= '9' && pid < INT32_MAX / 10) {
				pid = pid * 10 + (block[i] - '0');
				any = true;
				continue;
			}
			/* 0 is a process of another pid namespace: ours cannot name it. */
			if (any && pid > 0 && sig >= 0)
				kill((pid_t)pid, sig);
			n += any;
			any = false;
			pid = 0;
		}
	}
	int rc = got < 0 ? -errno : n;
	close(fd);
	return rc;
}

/* Over the group and all inside it; sig -1 counts only. */
static int visit_tree(const char *dir, int sig)
{
	char *const roots[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int n = 0;
	if (!fts)
		return -errno;
	for (FTSENT *e; (e = fts_read(fts));) {
		if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR ||
		        (e->fts_level == 0 && e->fts_info == FTS_ERR)) {
			if (e->fts_level == 0)
				n = e->fts_errno == ENOENT ? -ENOENT : -EIO;
			continue;
		}
		if (e->fts_info != FTS_D)
			continue;
		int here = visit_procs(e->fts_path, sig);
		if (here > 0)
			n += here;
		else if (here == -EOPNOTSUPP)
			n += 1; /* a threaded group inside: it is not empty for all we know */
	}
	fts_close(fts);
	return n;
}

int wz_cgroup_signal(const struct wz_cgroup *g, int sig)
{
	if (!wz_cgroup_has(g, WZ_CG_TRACK))
		return -EOPNOTSUPP;
	return visit_tree(g->facet[WZ_CG_TRACK].dir, sig);
}

int wz_cgroup_count(const struct wz_cgroup *g)
{
	return wz_cgroup_signal(g, -1);
}

int wz_cgroup_kill(const struct wz_cgroup *g)
{
	const struct wz_cgroup_at *at = &g->facet[WZ_CG_TRACK];
	if (!at->version)
		return -EOPNOTSUPP;
	/* What is frozen by v1 does not die until it thaws. */
	bool thaw = g->facet[WZ_CG_FREEZE].version == 1;
	if (at->version == 2) {
		int rc = put(at->dir, "cgroup.kill", "1"); /* Linux 5.14 */
		if (thaw)
			(void)wz_cgroup_freeze(g, false);
		if (rc == 0)
			return 1;
		if (access(at->dir, F_OK) < 0)
			return 0;
	}
	(void)wz_cgroup_freeze(g, true);
	int n = visit_tree(at->dir, SIGKILL);
	(void)wz_cgroup_freeze(g, false);
	return n;
}

int wz_cgroup_empty(const struct wz_cgroup *g)
{
	const struct wz_cgroup_at *at = &g->facet[WZ_CG_TRACK];
	if (!at->version)
		return -ENOENT;
	if (at->version == 2) {
		int64_t populated = get_key(at->dir, "cgroup.events", "populated");
		if (populated >= 0)
			return populated == 0;
		return access(at->dir, F_OK) < 0 && errno == ENOENT ? -ENOENT : -EIO;
	}
	int n = visit_tree(at->dir, -1);
	return n < 0 ? n : n == 0;
}

static int remove_tree(const char *dir)
{
	char *const roots[] = {(char *)(uintptr_t)dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int rc = 0;
	if (!fts)
		return -errno;
	for (FTSENT *e; (e = fts_read(fts));) {
		if (e->fts_info == FTS_DP && rmdir(e->fts_path) < 0 && errno != ENOENT)
			rc = -errno;
	}
	fts_close(fts);
	return rc;
}

int wz_cgroup_remove(const struct wz_cgroup *g)
{
	int rc = 0;
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (!g->facet[i].version || seen(g, i))
			continue;
		int one = remove_tree(g->facet[i].dir);
		if (one < 0)
			rc = one;
	}
	return rc;
}

/* --- what was used -------------------------------------------------------------------------------------------- */

static void usage_memory(const struct wz_cgroup_at *at, struct wz_cgroup_usage *u)
{
	if (at->version == 1) {
		u->mem_bytes = get_i64(at->dir, "memory.usage_in_bytes");
		u->mem_peak_bytes = get_i64(at->dir, "memory.max_usage_in_bytes");
		u->mem_limit_bytes = get_i64(at->dir, "memory.limit_in_bytes");
		u->oom_kills = get_key(at->dir, "memory.oom_control", "oom_kill");
		if (u->mem_limit_bytes >= INT64_MAX / 4096 * 4096 - 4096) /* how v1 says "none" */
			u->mem_limit_bytes = -1;
	} else if (at->version == 2) {
		u->mem_bytes = get_i64(at->dir, "memory.current");
		u->mem_peak_bytes = get_i64(at->dir, "memory.peak"); /* Linux 5.19 */
		u->mem_limit_bytes = get_i64(at->dir, "memory.max");
		u->oom_kills = get_key(at->dir, "memory.events", "oom_kill");
	}
}

void wz_cgroup_usage(const struct wz_cgroup *g, struct wz_cgroup_usage *ret)
{
	struct wz_cgroup_usage u = {-1, -1, -1, -1, -1, -1};
	const struct wz_cgroup_at *acct = &g->facet[WZ_CG_ACCT], *pids = &g->facet[WZ_CG_PIDS];
	if (acct->version == 1) {
		int64_t ns = get_i64(acct->dir, "cpuacct.usage");
		u.cpu_us = ns < 0 ? -1 : ns / 1000;
	} else if (acct->version == 2) {
		u.cpu_us = get_key(acct->dir, "cpu.stat", "usage_usec");
	}
	usage_memory(&g->facet[WZ_CG_MEMORY], &u);
	if (pids->version)
		u.pids = get_i64(pids->dir, "pids.current");
	*ret = u;
}
