/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which facet lives where. A mount of mountinfo gives hierarchy and mount point; /proc/self/cgroup gives our path
 * in it; the mount's root (a bind mount of a part, as in containers) is cut off our path. */
#include "os/cgroup.h"

#include "os/file.h"
#include "os/mem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const wz_cgroup_facet_names[WZ_CG_FACETS] = {
        "cpu", "acct", "memory", "pids", "devices", "freeze", "track"};

/* The v1 controller of a facet; a v2 controller that must be switched on ("": part of every v2 group). */
static const struct {
	const char *v1, *v2;
} controller_of[WZ_CG_FACETS] = {
        [WZ_CG_CPU] = {"cpu", "cpu"},
        [WZ_CG_ACCT] = {"cpuacct", ""},
        [WZ_CG_MEMORY] = {"memory", "memory"},
        [WZ_CG_PIDS] = {"pids", "pids"},
        [WZ_CG_DEVICES] = {"devices", ""},
        [WZ_CG_FREEZE] = {"freezer", ""},
        [WZ_CG_TRACK] = {"", ""},
};

static int copy(char *to, size_t cap, struct wz_str s)
{
	if (s.len >= cap || (s.len && memchr(s.ptr, 0, s.len)))
		return -E2BIG;
	if (s.len)
		memcpy(to, s.ptr, s.len);
	to[s.len] = 0;
	return 0;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static int unescape(char *to, size_t cap, struct wz_str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++) {
		unsigned c = (unsigned char)s.ptr[i];
		if (c == '\\' && s.len - i >= 4) {
			unsigned v = 0;
			for (size_t k = 1; k <= 3; k++) {
				unsigned d = (unsigned)s.ptr[i + k] - '0';
				if (d > 7)
					return -EINVAL;
				v = v * 8 + d;
			}
			c = v & 0xff;
			i += 3;
		}
		if (c == 0 || n + 1 >= cap)
			return -EINVAL;
		to[n++] = (char)c;
	}
	to[n] = 0;
	return 0;
}

static bool has_word(struct wz_str list, struct wz_str word)
{
	while (list.ptr) {
		if (wz_str_eq(wz_str_split(&list, ','), word))
			return true;
	}
	return false;
}

/* "ID PARENT MAJ:MIN ROOT MOUNT OPTIONS [TAG...] - TYPE SOURCE SUPER" */
static int parse_mount(struct wz_str line, struct wz_cgroup_mount *m)
{
	struct wz_str f[6], type = {0}, super = {0};
	for (unsigned i = 0; i < 6; i++) {
		if (!line.ptr)
			return 0;
		f[i] = wz_str_split(&line, ' ');
	}
	while (line.ptr && !wz_str_eq(wz_str_split(&line, ' '), WZ_STR("-")))
		;
	if (!line.ptr)
		return 0;
	type = wz_str_split(&line, ' ');
	if (line.ptr)
		(void)wz_str_split(&line, ' ');
	if (line.ptr)
		super = wz_str_split(&line, ' ');
	memset(m, 0, sizeof *m);
	m->version = wz_str_eq(type, WZ_STR("cgroup2")) ? 2 : wz_str_eq(type, WZ_STR("cgroup")) ? 1 : 0;
	if (!m->version || unescape(m->root, sizeof m->root, f[3]) < 0 ||
	        unescape(m->mount, sizeof m->mount, f[4]) < 0)
		return 0;
	return m->version == 2 || copy(m->controllers, sizeof m->controllers, super) == 0;
}

int wz_cgroup_next_mount(struct wz_str *text, struct wz_cgroup_mount *ret)
{
	while (text->ptr) {
		struct wz_cgroup_mount m;
		if (parse_mount(wz_str_split(text, '\n'), &m)) {
			*ret = m;
			return 1;
		}
	}
	return 0;
}

int wz_cgroup_own_path(struct wz_str text, struct wz_str controller, char *ret, size_t cap)
{
	while (text.ptr) {
		struct wz_str line = wz_str_split(&text, '\n');
		struct wz_str id = wz_str_split(&line, ':');
		if (!line.ptr)
			continue;
		struct wz_str names = wz_str_split(&line, ':');
		if (!line.ptr || line.len == 0 || line.ptr[0] != '/')
			continue;
		bool hit =
		        controller.len ? has_word(names, controller) : wz_str_eq(id, WZ_STR("0")) && names.len == 0;
		if (hit)
			return copy(ret, cap, line) < 0 ? -ENOENT : 0;
	}
	return -ENOENT;
}

int wz_cgroup_key(struct wz_str text, struct wz_str key, uint64_t *ret)
{
	while (text.ptr) {
		struct wz_str line = wz_str_split(&text, '\n');
		if (wz_str_eq(wz_str_split(&line, ' '), key) && line.ptr)
			return wz_str_parse_u64(wz_str_trim(line), ret) < 0 ? -EINVAL : 0;
	}
	return -ENOENT;
}

/* --- finding -------------------------------------------------------------------------------------------------- */

struct finder {
	struct wz_str mounts, own;
	const char *base;
	struct wz_cgroup_fs *fs;
};

static void absent(struct wz_cgroup_fs *fs, enum wz_cgroup_facet f, const char *what, const char *why)
{
	fs->facet[f].version = 0;
	(void)snprintf(fs->why[f], sizeof fs->why[f], "%.80s: %.40s", what, why);
}

static int write_word(const char *dir, const char *file, const char *word)
{
	char path[WZ_CG_PATH_MAX + 64];
	(void)snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = write(fd, word, strlen(word)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static bool file_has_word(const char *dir, const char *file, const char *word)
{
	char path[WZ_CG_PATH_MAX + 64], text[256];
	(void)snprintf(path, sizeof path, "%s/%s", dir, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	struct wz_str s = {text, n > 0 ? (size_t)n : 0};
	s = wz_str_trim(s);
	while (s.ptr && s.len) {
		if (wz_str_eq(wz_str_split(&s, ' '), wz_str(word)))
			return true;
	}
	return false;
}

/* Our own directory in the hierarchy of `m`, then the base below it. */
static int base_dir(const struct finder *f, const struct wz_cgroup_mount *m, struct wz_str controller,
        char *own_dir, char *base_dir_out)
{
	char own[WZ_CG_PATH_MAX];
	int rc = wz_cgroup_own_path(f->own, controller, own, sizeof own);
	if (rc < 0)
		return rc;
	const char *below = own;
	size_t r = strlen(m->root);
	if (r > 1 && strncmp(own, m->root, r) == 0 && (own[r] == '/' || own[r] == 0))
		below = own + r;
	if (strstr(below, "/..")) /* outside of what is mounted here (a cgroup namespace) */
		below = "";
	if (strcmp(below, "/") == 0)
		below = "";
	size_t mount = strlen(m->mount), below_n = strlen(below), base = strlen(f->base);
	if (mount + below_n + base + WZ_CG_NAME_MAX + 3 >= WZ_CG_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(own_dir, m->mount, mount);
	memcpy(own_dir + mount, below, below_n + 1);
	memcpy(base_dir_out, own_dir, mount + below_n);
	base_dir_out[mount + below_n] = '/';
	memcpy(base_dir_out + mount + below_n + 1, f->base, base + 1);
	return 0;
}

static int make_dir(const char *dir)
{
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	/* It may exist and belong to somebody else. */
	return access(dir, W_OK | X_OK) < 0 ? -errno : 0;
}

static void find_v1(const struct finder *f, const struct wz_cgroup_mount *m)
{
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		struct wz_str c = wz_str(controller_of[i].v1);
		char own[WZ_CG_PATH_MAX], dir[WZ_CG_PATH_MAX];
		if (!c.len || f->fs->facet[i].version || !has_word(wz_str(m->controllers), c))
			continue;
		int rc = base_dir(f, m, c, own, dir);
		if (rc == 0)
			rc = make_dir(dir);
		if (rc < 0) {
			absent(f->fs, (enum wz_cgroup_facet)i, m->mount, strerrordesc_np(-rc));
			continue;
		}
		f->fs->facet[i].version = 1;
		memcpy(f->fs->facet[i].dir, dir, strlen(dir) + 1);
	}
}

/* Switches `controller` on for the children of `dir`; in an inner group with processes we move to a leaf first. */
static int enable(const char *dir, const char *controller)
{
	char word[32], leaf[WZ_CG_PATH_MAX + 8], pid[WZ_NUM_MAX];
	if (file_has_word(dir, "cgroup.subtree_control", controller))
		return 0;
	if (!file_has_word(dir, "cgroup.controllers", controller))
		return -ENOENT;
	(void)snprintf(word, sizeof word, "+%s", controller);
	int rc = write_word(dir, "cgroup.subtree_control", word);
	if (rc != -EBUSY)
		return rc;
	(void)snprintf(leaf, sizeof leaf, "%s/agent", dir);
	(void)snprintf(pid, sizeof pid, "%d", (int)getpid());
	if (make_dir(leaf) < 0 || write_word(leaf, "cgroup.procs", pid) < 0)
		return rc;
	return write_word(dir, "cgroup.subtree_control", word);
}

static void find_v2(const struct finder *f, const struct wz_cgroup_mount *m)
{
	char own[WZ_CG_PATH_MAX], dir[WZ_CG_PATH_MAX];
	int rc = base_dir(f, m, WZ_STR(""), own, dir);
	if (rc == 0)
		rc = make_dir(dir);
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		const char *c = controller_of[i].v2;
		int one = rc;
		if (f->fs->facet[i].version)
			continue;
		if (one == 0 && *c && (enable(own, c) < 0 || enable(dir, c) < 0))
			one = -ENOENT;
		if (one < 0) {
			if (!f->fs->why[i][0] || rc < 0)
				absent(f->fs, (enum wz_cgroup_facet)i, m->mount,
				        one == -ENOENT ? "controller not delegated" : strerrordesc_np(-one));
			continue;
		}
		f->fs->facet[i].version = 2;
		memcpy(f->fs->facet[i].dir, dir, strlen(dir) + 1);
	}
}

/* Without v2 the processes are listed by whichever v1 hierarchy we have. */
static void track_by_v1(struct wz_cgroup_fs *fs)
{
	static const enum wz_cgroup_facet by[] = {WZ_CG_FREEZE, WZ_CG_PIDS, WZ_CG_MEMORY, WZ_CG_CPU};
	for (size_t i = 0; i < sizeof by / sizeof by[0] && !fs->facet[WZ_CG_TRACK].version; i++) {
		if (fs->facet[by[i]].version)
			fs->facet[WZ_CG_TRACK] = fs->facet[by[i]];
	}
}

void wz_cgroup_find(const char *base, struct wz_cgroup_fs *ret)
{
	struct wz_file_text mounts = {0}, own = {0};
	memset(ret, 0, sizeof *ret);
	int rc = wz_file_read("/proc/self/mountinfo", 4u << 20, wz_os_mem(), &mounts, NULL);
	if (rc == 0)
		rc = wz_file_read("/proc/self/cgroup", 1u << 20, wz_os_mem(), &own, NULL);
	if (rc == 0) {
		struct finder f = {wz_file_text_str(&mounts), wz_file_text_str(&own), base, ret};
		struct wz_cgroup_mount m;
		/* v1 first: a controller that v1 holds is not to be had from v2. */
		for (struct wz_str s = f.mounts; wz_cgroup_next_mount(&s, &m);) {
			if (m.version == 1)
				find_v1(&f, &m);
		}
		for (struct wz_str s = f.mounts; wz_cgroup_next_mount(&s, &m);) {
			if (m.version == 2)
				find_v2(&f, &m);
		}
		track_by_v1(ret);
	}
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (!ret->facet[i].version && !ret->why[i][0])
			absent(ret, (enum wz_cgroup_facet)i, "cgroup",
			        rc < 0 ? "/proc cannot be read" : "no hierarchy");
	}
	if (mounts.data)
		wz_file_text_release(&mounts);
	if (own.data)
		wz_file_text_release(&own);
}
