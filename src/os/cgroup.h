/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups, one façade over v2, v1 and both at once ("hybrid").
 *
 * What a group can do is split into *facets*. Each facet of this machine lives in one hierarchy, of version 1 or 2, or
 * is absent with a reason that a person may read. In a pure v2 machine all facets are one directory; in v1 nearly each
 * has its own; in hybrid the limits are v1 and TRACK is v2. A machine without any writable hierarchy (most containers,
 * a plain user) has no facet at all: then nothing here fails, `wz_cgroup_has` is false, and who runs work tracks it by
 * other means (os/proc.h).
 *
 * A group has a name, one path component; its directories are made below a base directory ("whalezen" below the
 * process's own group), so that what systemd delegates is respected.
 *
 * Thread rule: none shared. Values of a wz_cgroup are plain data and may be written to a file and read back. */
#ifndef WZ_OS_CGROUP_H
#define WZ_OS_CGROUP_H

#include "base/err.h"

#include <sys/types.h>

enum wz_cgroup_facet {
	WZ_CG_CPU, /* limit CPU */
	WZ_CG_ACCT, /* CPU used */
	WZ_CG_MEMORY, /* limit, peak, OOM kills */
	WZ_CG_PIDS, /* limit processes */
	WZ_CG_DEVICES, /* deny devices */
	WZ_CG_FREEZE,
	WZ_CG_TRACK, /* which processes belong, is it empty; v2 kills all at once */
	WZ_CG_FACETS
};
extern const char *const wz_cgroup_facet_names[WZ_CG_FACETS];

#define WZ_CG_PATH_MAX 512u
#define WZ_CG_NAME_MAX 96u

struct wz_cgroup_at {
	uint8_t version; /* 0: absent, 1, 2 */
	char dir[WZ_CG_PATH_MAX];
};

/* What this machine offers, found once: the base directories. */
struct wz_cgroup_fs {
	struct wz_cgroup_at facet[WZ_CG_FACETS];
	char why[WZ_CG_FACETS][128]; /* of an absent facet */
};

/* One group: a directory for each facet that is there. */
struct wz_cgroup {
	struct wz_cgroup_at facet[WZ_CG_FACETS];
};

/* Looks at /proc/self/mountinfo and /proc/self/cgroup, makes the base directory `base` (one component) in each hierarchy
 * that lets us, and switches controllers on for its children. In a v2 group that is not the root this process moves
 * itself to a leaf "agent" beside `base` when the kernel demands it (no processes in inner groups). Never fails: what is
 * not there is absent with its reason. */
void wz_cgroup_find(const char *base, struct wz_cgroup_fs *ret);

/* Parsers of the two files; fuzzed. A mount or a membership of one hierarchy. */
struct wz_cgroup_mount {
	uint8_t version;
	char controllers[128]; /* v1: comma-separated as mounted; v2: empty */
	char root[WZ_CG_PATH_MAX], mount[WZ_CG_PATH_MAX];
};
/* Next cgroup mount of *text (a view that is moved on). 1 found, 0 the end. Lines that cannot be read are skipped. */
int wz_cgroup_next_mount(struct wz_str *text, struct wz_cgroup_mount *ret);
/* The process's path in the hierarchy that has `controller` ("memory"; "" for v2) by /proc/PID/cgroup text. 0; -ENOENT. */
int wz_cgroup_own_path(struct wz_str text, struct wz_str controller, char *ret, size_t cap);
/* "key value" lines: memory.events, cpu.stat, memory.oom_control, cgroup.events, pids.events. 0; -ENOENT; -EINVAL. */
int wz_cgroup_key(struct wz_str text, struct wz_str key, uint64_t *ret);

static inline bool wz_cgroup_has(const struct wz_cgroup *g, enum wz_cgroup_facet f)
{
	return g->facet[f].version != 0;
}

/* The group `name` below the bases; nothing is made. -EINVAL: no single component, or too long. */
int wz_cgroup_of(const struct wz_cgroup_fs *fs, const char *name, struct wz_cgroup *ret);
/* Makes its directories; existing ones are fine. 0; -errno "CgroupFailed" (then none is left that was new). */
int wz_cgroup_create(const struct wz_cgroup *g, struct wz_err *err);
/* Puts a process in; 0 for pid is the caller itself, and then only system calls are made (usable after fork). 0; -errno. */
int wz_cgroup_attach(const struct wz_cgroup *g, pid_t pid);

struct wz_cgroup_limits {
	int64_t cpu_milli; /* 0: none */
	int64_t mem_bytes; /* 0: none; swap is then none, too */
	int64_t pids; /* 0: none */
};
/* 0; -EOPNOTSUPP "NoCgroup" when a limit is asked whose facet is absent (the others are set); -errno "CgroupFailed". */
int wz_cgroup_limit(const struct wz_cgroup *g, const struct wz_cgroup_limits *l, struct wz_err *err);

struct wz_cgroup_device {
	char type; /* 'c' or 'b' */
	uint32_t major, minor;
};
#define WZ_CG_DEVICES_MAX 256u
/* Denies opening, reading, writing and making these; all others stay as they were. v1: devices.deny; v2: a BPF program.
 * 0; -EOPNOTSUPP "NoCgroup" with the reason (then isolation is advisory). Once per group. */
int wz_cgroup_deny(const struct wz_cgroup *g, const struct wz_cgroup_device *d, unsigned n, struct wz_err *err);

/* 0; -EOPNOTSUPP; -errno. The kernel may take a moment; wz_cgroup_frozen says 1, 0 or -errno. */
int wz_cgroup_freeze(const struct wz_cgroup *g, bool frozen);
int wz_cgroup_frozen(const struct wz_cgroup *g);

/* Signals each process of the group and of groups inside it once. Returns how many; -errno. */
int wz_cgroup_signal(const struct wz_cgroup *g, int sig);
/* One round of killing all: cgroup.kill, else freeze, KILL each, thaw. Call until wz_cgroup_empty. Returns as above; with
 * cgroup.kill 1. */
int wz_cgroup_kill(const struct wz_cgroup *g);
/* 1 when no process is in the group or in one inside it, 0 when there are some; -ENOENT: no TRACK facet or no such group
 * (nothing can be in it). Zombies count until they are reaped (v1) or not (v2). */
int wz_cgroup_empty(const struct wz_cgroup *g);
/* How many processes. -errno. */
int wz_cgroup_count(const struct wz_cgroup *g);
/* Removes the directories, inner ones first. 0, also when they are gone; -EBUSY. */
int wz_cgroup_remove(const struct wz_cgroup *g);

/* Each value -1 when unknown. */
struct wz_cgroup_usage {
	int64_t cpu_us, mem_bytes, mem_peak_bytes, mem_limit_bytes, oom_kills, pids;
};
void wz_cgroup_usage(const struct wz_cgroup *g, struct wz_cgroup_usage *ret);

#endif
