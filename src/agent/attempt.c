/* SPDX-License-Identifier: Apache-2.0 */
/* One table says which keys a file has and where they go; writing and reading walk it. */
#include "agent/attempt.h"

#include "base/check.h"
#include "os/mem.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const wz_attempt_phases[] = {"none", "running", "cleaning", "ended", "starting"};
const char *const wz_attempt_whys[] = {"exited", "stopped", "timeout", "launch_failed", "node_lost", "shim_lost"};

void wz_attempt_key(struct wz_attempt_id id, char ret[WZ_ATTEMPT_KEY_MAX])
{
	(void)snprintf(ret, WZ_ATTEMPT_KEY_MAX, "%llu.%u.%u", (unsigned long long)id.job, id.task, id.attempt);
}

int wz_attempt_key_parse(struct wz_str key, struct wz_attempt_id *ret)
{
	char again[WZ_ATTEMPT_KEY_MAX];
	struct wz_str rest = key, f[3] = {0};
	uint64_t v[3];
	for (unsigned i = 0; i < 3; i++) {
		if (!rest.ptr)
			return -EINVAL;
		f[i] = wz_str_split(&rest, '.');
		if (wz_str_parse_u64(f[i], &v[i]) < 0 || (i > 0 && v[i] > UINT32_MAX))
			return -EINVAL;
	}
	struct wz_attempt_id id = {v[0], (uint32_t)v[1], (uint32_t)v[2]};
	wz_attempt_key(id, again);
	if (rest.ptr || !wz_str_eq(key, wz_str(again))) /* "01.0.1" is not a second name of 1.0.1 */
		return -EINVAL;
	*ret = id;
	return 0;
}

enum kind { I64, TEXT, BYTE, PHASE, WHY };

struct field {
	const char *key;
	enum kind kind;
	size_t at, size;
};

#define SPEC(name, kind) \
	{ \
#name, kind, offsetof(struct wz_attempt_spec, name), 0 \
	}
static const struct field spec_fields[] = {
        SPEC(cwd, TEXT),
        SPEC(log_dir, TEXT),
        SPEC(log_name, TEXT),
        SPEC(err_dir, TEXT),
        SPEC(err_name, TEXT),
        SPEC(log_banner, TEXT),
        SPEC(boot, TEXT),
        SPEC(node, TEXT),
        SPEC(devices, I64),
        SPEC(switch_user, I64),
        SPEC(uid, I64),
        SPEC(gid, I64),
        SPEC(umask, I64),
        SPEC(log_as_user, I64),
        SPEC(log_head, I64),
        SPEC(log_tail, I64),
        SPEC(signal, I64),
        SPEC(grace_ms, I64),
        SPEC(leftover_ms, I64),
        SPEC(time_ms, I64),
        SPEC(preempt_signal, I64),
        SPEC(preempt_grace_ms, I64),
        SPEC(preempt_ack, I64),
        SPEC(no_new_privs, I64),
        SPEC(nice, I64),
        SPEC(oom_score_adj, I64),
        SPEC(pty, I64),
        SPEC(rows, I64),
        SPEC(cols, I64),
        SPEC(pty_alone_ms, I64),
};

#define STATUS(name, kind) \
	{ \
#name, kind, offsetof(struct wz_attempt_status, name), \
		        sizeof(((struct wz_attempt_status *)0)->name) \
	}
static const struct field status_fields[] = {
        STATUS(phase, PHASE),
        STATUS(why, WHY),
        STATUS(frozen, BYTE),
        STATUS(acked, BYTE),
        STATUS(pid, I64),
        STATUS(pid_ticks, I64),
        STATUS(started_us, I64),
        STATUS(ended_us, I64),
        STATUS(exit_code, I64),
        STATUS(exit_signal, I64),
        STATUS(core_dumped, I64),
        STATUS(oom_kills, I64),
        STATUS(left, I64),
        STATUS(cpu_us, I64),
        STATUS(mem_peak_bytes, I64),
        STATUS(mem_limit_bytes, I64),
        STATUS(log_bytes, I64),
        STATUS(log_lost, I64),
        STATUS(log_gap_at, I64),
        STATUS(log_gap_bytes, I64),
        STATUS(log_gap_marker, I64),
        STATUS(boot, TEXT),
        STATUS(stop_reason, TEXT),
        STATUS(launch_reason, TEXT),
        STATUS(launch_text, TEXT),
        STATUS(tracked, TEXT),
};

/* --- spec ----------------------------------------------------------------------------------------------------- */

static void record(struct wz_buf *b, const char *key, struct wz_str value)
{
	wz_buf_addz(b, key);
	wz_buf_addc(b, '=');
	wz_buf_add(b, value);
	wz_buf_addc(b, 0);
}

static void record_i64(struct wz_buf *b, const char *key, int64_t v)
{
	struct wz_num n;
	record(b, key, wz_str_i64(&n, v));
}

void wz_attempt_spec_format(const struct wz_attempt_spec *s, struct wz_buf *b)
{
	record(b, "wz", WZ_STR("1"));
	for (size_t i = 0; i < WZ_ARRAY_LEN(spec_fields); i++) {
		const char *at = (const char *)s + spec_fields[i].at;
		if (spec_fields[i].kind == TEXT)
			record(b, spec_fields[i].key, *(const struct wz_str *)(const void *)at);
		else
			record_i64(b, spec_fields[i].key, *(const int64_t *)(const void *)at);
	}
	for (uint32_t i = 0; i < s->n_groups; i++)
		record_i64(b, "group", (int64_t)s->groups[i]);
	for (uint32_t i = 0; i < s->n_limits; i++) {
		char text[96];
		(void)snprintf(text, sizeof text, "%d %llu %llu", s->limits[i].resource,
		        (unsigned long long)s->limits[i].soft, (unsigned long long)s->limits[i].hard);
		record(b, "rlimit", wz_str(text));
	}
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		char key[32];
		if (!s->cgroup.facet[i].version)
			continue;
		(void)snprintf(
		        key, sizeof key, "cgroup%u.%s", s->cgroup.facet[i].version, wz_cgroup_facet_names[i]);
		record(b, key, wz_str(s->cgroup.facet[i].dir));
	}
	for (uint32_t i = 0; i < s->n_env; i++)
		record(b, "env", wz_str(s->env[i]));
	for (uint32_t i = 0; i < s->n_argv; i++)
		record(b, "arg", wz_str(s->argv[i]));
}

static int parse_rlimit(struct wz_attempt_spec *s, struct wz_str v)
{
	uint64_t n[3];
	for (unsigned i = 0; i < 3; i++) {
		if (!v.ptr || wz_str_parse_u64(wz_str_split(&v, ' '), &n[i]) < 0)
			return -EINVAL;
	}
	if (v.ptr || n[0] > 64 || s->n_limits == WZ_ATTEMPT_RLIMITS_MAX)
		return -EINVAL;
	s->limits[s->n_limits++] = (struct wz_proc_limit){(int)n[0], n[1], n[2]};
	return 0;
}

static int parse_cgroup(struct wz_attempt_spec *s, struct wz_str key, struct wz_str v)
{
	unsigned version = (unsigned)key.ptr[6] - '0';
	struct wz_str name = {key.ptr + 8, key.len - 8};
	if (version < 1 || version > 2 || key.ptr[7] != '.' || v.len >= WZ_CG_PATH_MAX || v.len == 0)
		return -EINVAL;
	for (int i = 0; i < WZ_CG_FACETS; i++) {
		if (!wz_str_eq(name, wz_str(wz_cgroup_facet_names[i])))
			continue;
		s->cgroup.facet[i].version = (uint8_t)version;
		memcpy(s->cgroup.facet[i].dir, v.ptr, v.len + 1);
	}
	return 0;
}

static int parse_field(struct wz_attempt_spec *s, struct wz_str key, struct wz_str v)
{
	for (size_t i = 0; i < WZ_ARRAY_LEN(spec_fields); i++) {
		char *at = (char *)s + spec_fields[i].at;
		if (!wz_str_eq(key, wz_str(spec_fields[i].key)))
			continue;
		if (spec_fields[i].kind == I64)
			return wz_str_parse_i64(v, (int64_t *)(void *)at) < 0 ? -EINVAL : 0;
		*(struct wz_str *)(void *)at = v;
		return 0;
	}
	if (wz_str_eq(key, WZ_STR("rlimit")))
		return parse_rlimit(s, v);
	if (key.len > 8 && wz_str_starts(key, WZ_STR("cgroup")))
		return parse_cgroup(s, key, v);
	return 0;
}

/* How many records have this key. */
static uint32_t count(struct wz_str text, struct wz_str key)
{
	uint32_t n = 0;
	while (text.ptr && text.len) {
		struct wz_str r = wz_str_split(&text, 0);
		n += r.len > key.len && r.ptr[key.len] == '=' && wz_str_starts(r, key);
	}
	return n;
}

int wz_attempt_spec_parse(
        struct wz_str text, struct wz_arena *arena, struct wz_attempt_spec *ret, struct wz_err *err)
{
	struct wz_attempt_spec s = {.umask = -1};
	uint32_t groups = count(text, WZ_STR("group"));
	s.argv = wz_arena_alloc(arena, (count(text, WZ_STR("arg")) + 1) * sizeof *s.argv);
	s.env = wz_arena_alloc(arena, (count(text, WZ_STR("env")) + 1) * sizeof *s.env);
	s.groups = wz_arena_alloc(arena, (groups + 1) * sizeof *s.groups);
	if (!s.argv || !s.env || !s.groups)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	bool ours = false;
	int rc = text.len && text.ptr[text.len - 1] == 0 && groups <= WZ_PROC_GROUPS_MAX ? 0 : -EINVAL;
	while (text.ptr && text.len && rc == 0) {
		struct wz_str v = wz_str_split(&text, 0);
		struct wz_str key = wz_str_split(&v, '=');
		int64_t gid;
		if (!v.ptr) {
			rc = -EINVAL;
		} else if (wz_str_eq(key, WZ_STR("arg"))) {
			s.argv[s.n_argv++] = v.ptr;
		} else if (wz_str_eq(key, WZ_STR("env"))) {
			s.env[s.n_env++] = v.ptr;
		} else if (wz_str_eq(key, WZ_STR("group"))) {
			rc = wz_str_parse_i64(v, &gid);
			s.groups[s.n_groups++] = (gid_t)(rc == 0 ? gid : 0);
		} else if (wz_str_eq(key, WZ_STR("wz"))) {
			ours = true;
		} else {
			rc = parse_field(&s, key, v);
		}
	}
	if (rc < 0 || !ours || s.n_argv == 0)
		return wz_err_set(err, -EINVAL, "BadSpec", WZ_STR("the attempt's spec cannot be read"));
	*ret = s;
	return 0;
}

/* --- status --------------------------------------------------------------------------------------------------- */

void wz_attempt_status_init(struct wz_attempt_status *s)
{
	memset(s, 0, sizeof *s);
	s->pid = s->exit_code = s->exit_signal = s->oom_kills = -1;
	s->cpu_us = s->mem_peak_bytes = s->mem_limit_bytes = -1;
}

void wz_attempt_status_format(const struct wz_attempt_status *s, struct wz_buf *b)
{
	wz_buf_addz(b, "wz=1\n");
	for (size_t i = 0; i < WZ_ARRAY_LEN(status_fields); i++) {
		const struct field *f = &status_fields[i];
		const void *at = (const char *)s + f->at;
		wz_buf_addz(b, f->key);
		wz_buf_addc(b, '=');
		if (f->kind == I64)
			wz_buf_add_i64(b, *(const int64_t *)at);
		else if (f->kind == BYTE)
			wz_buf_add_u64(b, *(const uint8_t *)at);
		else if (f->kind == PHASE)
			wz_buf_addz(b, wz_attempt_phases[*(const uint8_t *)at]);
		else if (f->kind == WHY)
			wz_buf_addz(b, wz_attempt_whys[*(const uint8_t *)at]);
		for (const char *p = f->kind == TEXT ? at : ""; *p; p++)
			wz_buf_addc(b, (unsigned char)*p < ' ' ? ' ' : *p);
		wz_buf_addc(b, '\n');
	}
}

static int word(struct wz_str v, const char *const *words, unsigned n, uint8_t *ret)
{
	for (unsigned i = 0; i < n; i++) {
		if (wz_str_eq(v, wz_str(words[i]))) {
			*ret = (uint8_t)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int status_field(struct wz_attempt_status *s, const struct field *f, struct wz_str v)
{
	void *at = (char *)s + f->at;
	uint64_t u;
	switch (f->kind) {
	case I64:
		return wz_str_parse_i64(v, at);
	case PHASE:
		return word(v, wz_attempt_phases, WZ_ARRAY_LEN(wz_attempt_phases), at);
	case WHY:
		return word(v, wz_attempt_whys, WZ_ARRAY_LEN(wz_attempt_whys), at);
	case BYTE:
		if (wz_str_parse_u64(v, &u) < 0 || u > 1)
			return -EINVAL;
		*(uint8_t *)at = (uint8_t)u;
		return 0;
	case TEXT:
		if (v.len >= f->size || memchr(v.ptr, 0, v.len))
			return -EINVAL;
		memcpy(at, v.ptr, v.len);
		((char *)at)[v.len] = 0;
		return 0;
	}
	return -EINVAL;
}

int wz_attempt_status_parse(struct wz_str text, struct wz_attempt_status *ret)
{
	struct wz_attempt_status s;
	bool ours = false;
	wz_attempt_status_init(&s);
	while (text.ptr && text.len) {
		struct wz_str v = wz_str_split(&text, '\n');
		struct wz_str key = wz_str_split(&v, '=');
		if (!v.ptr)
			return -EINVAL;
		ours |= wz_str_eq(key, WZ_STR("wz"));
		for (size_t i = 0; i < WZ_ARRAY_LEN(status_fields); i++) {
			if (wz_str_eq(key, wz_str(status_fields[i].key)) &&
			        status_field(&s, &status_fields[i], v) < 0)
				return -EINVAL;
		}
	}
	if (!ours)
		return -EINVAL;
	*ret = s;
	return 0;
}

int wz_attempt_status_read(int dirfd, struct wz_attempt_status *ret)
{
	char text[8192];
	int fd = openat(dirfd, "status", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, text, sizeof text);
	int rc = n < 0 ? -errno : wz_attempt_status_parse((struct wz_str){text, (size_t)n}, ret);
	close(fd);
	return rc;
}

int wz_attempt_status_write(int dirfd, const struct wz_attempt_status *s, bool durable)
{
	char text[8192];
	struct wz_buf b;
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_attempt_status_format(s, &b);
	wz_check(b.status == 0);
	int fd = openat(dirfd, "status.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int rc = wz_fd_write_all(fd, wz_buf_str(&b));
	if (rc == 0 && durable && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && renameat(dirfd, "status.new", dirfd, "status") < 0)
		rc = -errno;
	if (rc == 0 && durable && fsync(dirfd) < 0 && errno != EINVAL)
		rc = -errno;
	return rc;
}

int wz_attempt_lock(int dirfd)
{
	int fd = openat(dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}
