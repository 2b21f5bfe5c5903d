/* SPDX-License-Identifier: Apache-2.0 */
/* From a `start` message to a running shim. Everything is checked and made before the shim starts; what fails is undone
 * and refused, and then nothing of the attempt exists. */
#include "agent/agent_int.h"

#include "agent/env.h"
#include "agent/image.h"
#include "base/check.h"
#include "os/file.h"
#include "os/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct making {
	struct agent *a;
	const struct wz_wire_start *s;
	struct wz_attempt_id id;
	char key[WZ_ATTEMPT_KEY_MAX], run_path[3200], secrets[3300];
	uint32_t node;
	uint64_t devices;
	struct wz_attempt_spec spec;
	struct wz_wire_array warnings;
	int dir, run;
};

static int refuse(struct wz_err *err, int code, const char *reason, const char *text)
{
	return wz_err_set(err, code, reason, wz_str(text));
}

static void warn(struct making *m, const char *text)
{
	if (m->warnings.item && m->warnings.n < 16)
		((struct wz_str *)m->warnings.item)[m->warnings.n++] = wz_str(text);
}

/* --- checking ------------------------------------------------------------------------------------------------- */

static int check_node(struct making *m, struct wz_err *err)
{
	const struct wz_inventory *inv = &m->a->inv;
	const int64_t *index = m->s->devices.item;
	uint32_t i = 0;
	while (i < inv->n_nodes && m->s->node.len && !wz_str_eq(m->s->node, wz_str(inv->node[i].name)))
		i++;
	if (i == inv->n_nodes || (!m->s->node.len && inv->n_nodes != 1))
		return wz_err_set(
		        err, -ENOENT, "NoSuchNode", WZ_STR("this agent has no node \""), m->s->node, WZ_STR("\""));
	m->node = i;
	for (uint32_t k = 0; k < m->s->devices.n; k++) {
		if (index[k] < 0 || index[k] >= inv->node[i].n_devices || (m->devices >> index[k] & 1))
			return refuse(
			        err, -ENOENT, "NoSuchDevice", "the node has no such device, or it is named twice");
		m->devices |= 1ULL << index[k];
	}
	return 0;
}

static int check_user(struct making *m, struct wz_err *err)
{
	const struct wz_wire_start *s = m->s;
	if (s->uid < -1 || s->uid > INT32_MAX || s->gid < -1 || s->gid > INT32_MAX ||
	        s->groups.n > WZ_PROC_GROUPS_MAX || (s->uid >= 0) != (s->gid >= 0))
		return refuse(err, -EINVAL, "BadMessage", "uid, gid or groups are out of range");
	if (s->uid >= 0 && !m->a->privileged && (s->uid != geteuid() || s->gid != getegid()))
		return refuse(
		        err, -EPERM, "NotPrivileged", "this agent is not root: it runs work of its own user only");
	return 0;
}

static bool is_file_path(struct wz_str p)
{
	return p.len >= 2 && p.len <= 3000 && p.ptr[0] == '/' && p.ptr[p.len - 1] != '/';
}

static int check(struct making *m, struct wz_err *err)
{
	const struct wz_wire_start *s = m->s;
	if (s->job < 0 || s->task < 0 || s->task > UINT32_MAX || s->attempt < 0 || s->attempt > UINT32_MAX)
		return refuse(err, -EINVAL, "BadMessage", "job, task or attempt is out of range");
	if ((s->argv.n == 0) == (s->script.len == 0) && s->argv.n == 0)
		return refuse(err, -EINVAL, "BadMessage", "neither argv nor script is given");
	if (!is_file_path(s->log) || (s->log_err.len && !is_file_path(s->log_err)))
		return refuse(err, -EINVAL, "BadMessage", "log is no absolute path of a file");
	if (s->rows < 0 || s->rows > 9999 || s->cols < 0 || s->cols > 9999 || s->pty_alone_ms < 0)
		return refuse(err, -EINVAL, "BadMessage", "the size of the terminal is out of range");
	if (s->signal < 0 || s->signal >= NSIG || s->preempt_signal < 0 || s->preempt_signal >= NSIG ||
	        s->log_head_bytes < 0 || s->log_tail_bytes < 0 || s->rlimits.n % 3 ||
	        s->rlimits.n / 3 > WZ_ATTEMPT_RLIMITS_MAX)
		return refuse(err, -EINVAL, "BadMessage", "a signal, a log cap or rlimits is out of range");
	int rc = check_node(m, err);
	return rc < 0 ? rc : check_user(m, err);
}

/* --- making --------------------------------------------------------------------------------------------------- */

/* A file in the user's run directory, which nobody of the user's can see yet. */
static int put_file(struct making *m, const char *name, struct wz_str text, mode_t mode, struct wz_err *err)
{
	int fd = openat(m->run, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int rc = fd < 0 ? -errno : wz_fd_write_all(fd, text);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && m->s->uid >= 0 && m->a->privileged && fchown(fd, (uid_t)m->s->uid, (gid_t)m->s->gid) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc < 0 ? wz_file_err(err, rc, "write", name) : 0;
}

static int make_dirs(struct making *m, struct wz_err *err)
{
	if (mkdirat(m->a->attempts, m->key, 0711) < 0)
		return wz_file_err(err, -errno, "create", m->key);
	m->dir = openat(m->a->attempts, m->key, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (m->dir < 0 || fchmod(m->dir, 0711) < 0 || mkdirat(m->dir, "run", 0700) < 0)
		return wz_file_err(err, -errno, "create", m->key);
	m->run = openat(m->dir, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (m->run < 0)
		return wz_file_err(err, -errno, "create", m->key);
	return 0;
}

static int make_hosts(struct making *m, struct wz_err *err)
{
	const struct wz_str *host = m->s->hosts.item;
	const int64_t *speed = m->s->speeds.item;
	struct wz_buf b;
	wz_buf_init(&b, m->a->mem, 16u << 20);
	for (uint32_t i = 0; i < m->s->hosts.n; i++) {
		wz_buf_add(&b, host[i]);
		if (i < m->s->speeds.n) {
			wz_buf_addz(&b, " speed=");
			wz_buf_add_fixed(&b, speed[i], 3);
		}
		wz_buf_addc(&b, '\n');
	}
	int rc = b.status < 0 ? refuse(err, b.status, "OutOfMemory", "out of memory")
	                      : put_file(m, "hosts", wz_buf_str(&b), 0600, err);
	wz_buf_release(&b);
	return rc;
}

/* In memory, where the machine has such a place; else in the run directory, which is gone with the attempt as well. */
static int make_secrets(struct making *m, struct wz_err *err)
{
	const struct wz_wire_start *s = m->s;
	if (!s->secrets.n || s->secrets_env)
		return 0;
	uid_t uid = s->uid >= 0 && m->a->privileged ? (uid_t)s->uid : (uid_t)-1;
	return secret_make(m->a, m->key, m->run, s->secrets.item, s->secrets.n, uid, (gid_t)s->gid, m->run_path,
	        m->secrets, sizeof m->secrets, err);
}

static void put_arg(struct making *m, struct wz_str arg)
{
	m->spec.argv[m->spec.n_argv++] = arg.ptr;
}

/* argv; or the script's file, run by its own first line or by /bin/sh. */
static int make_argv(struct making *m, struct wz_err *err)
{
	const struct wz_str *argv = m->s->argv.item;
	int64_t at = m->s->script.len ? m->s->script_at : -1; /* where the script goes */
	m->spec.argv = wz_arena_alloc(&m->a->arena, (m->s->argv.n + 3) * sizeof *m->spec.argv);
	for (uint32_t i = 0; m->spec.argv && at > 0 && i < at && i < m->s->argv.n; i++)
		put_arg(m, argv[i]);
	if (!m->spec.argv)
		return refuse(err, -ENOMEM, "OutOfMemory", "out of memory");
	if (m->s->script.len) {
		char *path = wz_arena_alloc(&m->a->arena, sizeof m->run_path + 16);
		if (!path)
			return refuse(err, -ENOMEM, "OutOfMemory", "out of memory");
		int rc = put_file(m, "script", m->s->script, 0700, err);
		if (rc < 0)
			return rc;
		(void)snprintf(path, sizeof m->run_path + 16, "%s/script", m->run_path);
		if (!wz_str_starts(m->s->script, WZ_STR("#!")))
			put_arg(m, WZ_STR("/bin/sh"));
		put_arg(m, wz_str(path));
	}
	for (uint32_t i = at > 0 ? (uint32_t)at + 1 : 0; i < m->s->argv.n; i++)
		put_arg(m, argv[i]);
	return 0;
}

/* The command inside its image. Emulated devices are nothing that a container could be given. */
static int make_image(struct making *m, const struct wz_str *uuids, struct wz_err *err)
{
	struct wz_str granted[WZ_DEV_PER_NODE_MAX];
	char name[WZ_ATTEMPT_KEY_MAX + 4];
	struct wz_image_job j = {.image = m->s->image,
	        .name = name,
	        .cwd = m->s->cwd.len ? m->s->cwd.ptr : "/",
	        .run_dir = m->run_path,
	        .argv = m->spec.argv,
	        .env = m->spec.env,
	        .devices = granted,
	        .pty = m->s->pty != 0,
	        .root = m->spec.switch_user ? m->spec.uid == 0 : geteuid() == 0};
	(void)snprintf(name, sizeof name, "wz-%s", m->key);
	m->spec.argv[m->spec.n_argv] = NULL;
	for (uint32_t i = 0; i < WZ_DEV_PER_NODE_MAX && m->a->provider != &wz_device_emulated; i++) {
		if (m->devices >> i & 1)
			granted[j.n_devices++] = uuids[i];
	}
	return wz_image_argv(&j, getenv("PATH"), &m->a->arena, &m->spec.argv, &m->spec.n_argv, err);
}

static int make_env(struct making *m, struct wz_err *err)
{
	const struct wz_inventory *inv = &m->a->inv;
	const struct wz_device_node *node = &inv->node[m->node];
	struct wz_str *uuids = wz_arena_alloc(&m->a->arena, (node->n_devices + 1) * sizeof *uuids);
	if (!uuids)
		return refuse(err, -ENOMEM, "OutOfMemory", "out of memory");
	for (uint32_t i = 0; i < node->n_devices; i++)
		uuids[i] = wz_str(inv->device[node->first_device + i].uuid);
	struct wz_env_facts f = {
	        wz_str(node->name), wz_str(m->run_path), uuids, node->n_devices, wz_str(m->secrets)};
	int rc = wz_env_build(m->s, &f, &m->a->arena, &m->spec.env, &m->spec.n_env, &m->warnings, err);
	if (rc == 0 && m->s->image.len)
		rc = make_image(m, uuids, err);
	if (rc == 0)
		rc = wz_env_check_size((const char *const *)m->spec.argv, (const char *const *)m->spec.env, err);
	return rc;
}

static int64_t or (int64_t v, int64_t otherwise)
{
	return v ? v : otherwise;
}

static int split_path(struct making *m, struct wz_str path, struct wz_str *ret_dir, struct wz_str *ret_name)
{
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t n = slash == path.ptr ? 1 : (size_t)(slash - path.ptr);
	char *dir = wz_arena_alloc(&m->a->arena, n + 1); /* zeroed: terminated */
	if (!dir)
		return -ENOMEM;
	memcpy(dir, path.ptr, n);
	*ret_dir = (struct wz_str){dir, n};
	*ret_name = (struct wz_str){slash + 1, path.len - (size_t)(slash - path.ptr) - 1};
	return 0;
}

/* A file of the user's may hold several attempts, and several tasks. */
static int make_banner(struct making *m)
{
	enum { SIZE = 96 };
	char *text = wz_arena_alloc(&m->a->arena, SIZE);
	if (!text)
		return -ENOMEM;
	int n = m->s->log_as_user ? snprintf(text, SIZE, "[whalezen: job %lld task %lld attempt %lld]",
	                                    (long long)m->s->job, (long long)m->s->task, (long long)m->s->attempt)
	                          : 0;
	m->spec.log_banner = (struct wz_str){text, (size_t)n};
	return 0;
}

static int make_spec(struct making *m, struct wz_err *err)
{
	const struct wz_wire_start *s = m->s;
	struct wz_attempt_spec *p = &m->spec;
	const int64_t *groups = s->groups.item, *rlimits = s->rlimits.item;
	p->groups = wz_arena_alloc(&m->a->arena, (s->groups.n + 1) * sizeof *p->groups);
	if (!p->groups || split_path(m, s->log, &p->log_dir, &p->log_name) < 0 ||
	        (s->log_err.len && split_path(m, s->log_err, &p->err_dir, &p->err_name) < 0) || make_banner(m) < 0)
		return refuse(err, -ENOMEM, "OutOfMemory", "out of memory");
	p->boot = wz_str(m->a->boot);
	p->node = wz_str(m->a->inv.node[m->node].name);
	p->devices = (int64_t)m->devices;
	p->cwd = s->cwd;
	p->switch_user = s->uid >= 0 && m->a->privileged;
	p->uid = s->uid >= 0 ? s->uid : (int64_t)geteuid();
	p->gid = s->gid >= 0 ? s->gid : (int64_t)getegid();
	for (uint32_t i = 0; i < s->groups.n; i++)
		p->groups[p->n_groups++] = (gid_t)groups[i];
	p->umask = s->umask >= 0 ? s->umask & 0777 : 022;
	p->log_as_user = s->log_as_user;
	p->log_head = s->log_head_bytes;
	p->log_tail = s->log_tail_bytes;
	p->signal = or (s->signal, SIGTERM);
	p->grace_ms = or (s->grace_ms, 30000);
	p->leftover_ms = or (s->leftover_ms, 5000);
	p->time_ms = s->time_ms;
	p->preempt_signal = s->preempt_signal;
	p->preempt_grace_ms = s->preempt_grace_ms;
	p->preempt_ack = s->preempt_ack;
	p->pty = s->pty != 0;
	p->rows = s->rows;
	p->cols = s->cols;
	p->pty_alone_ms = s->pty_alone_ms;
	p->no_new_privs = s->no_new_privs;
	p->nice = s->nice;
	for (uint32_t i = 0; i + 2 < s->rlimits.n; i += 3)
		p->limits[p->n_limits++] = (struct wz_proc_limit){(int)rlimits[i],
		        rlimits[i + 1] < 0 ? RLIM_INFINITY : (uint64_t)rlimits[i + 1],
		        rlimits[i + 2] < 0 ? RLIM_INFINITY : (uint64_t)rlimits[i + 2]};
	return 0;
}

/* Denies the device nodes of the node's devices that were not granted. */
static int fence(struct making *m, struct wz_err *err)
{
	const struct wz_device_node *node = &m->a->inv.node[m->node];
	struct wz_cgroup_device deny[WZ_DEV_PER_NODE_MAX];
	unsigned n = 0;
	for (uint32_t i = 0; i < node->n_devices; i++) {
		const struct wz_device *d = &m->a->inv.device[node->first_device + i];
		if (!(m->devices >> i & 1) && (d->major || d->minor))
			deny[n++] = (struct wz_cgroup_device){'c', d->major, d->minor};
	}
	return m->s->devices_open ? 0 : wz_cgroup_deny(&m->spec.cgroup, deny, n, err);
}

static int make_cgroup(struct making *m, struct wz_err *err)
{
	struct wz_cgroup_limits l = {m->s->cpu_milli, m->s->mem_bytes, m->s->pids};
	struct wz_cgroup *g = &m->spec.cgroup;
	bool any = false;
	if (m->a->no_cgroup || wz_cgroup_of(&m->a->fs, m->key, g) < 0)
		memset(g, 0, sizeof *g);
	for (int i = 0; i < WZ_CG_FACETS; i++)
		any |= g->facet[i].version != 0;
	int rc = any ? wz_cgroup_create(g, err) : 0;
	if (rc < 0)
		return rc;
	rc = wz_cgroup_limit(g, &l, err);
	if (rc == -EOPNOTSUPP)
		warn(m, "a limit of CPU, memory or processes is not enforced: this machine gives us no cgroup for "
		        "it");
	if (rc == 0 || rc == -EOPNOTSUPP) {
		rc = fence(m, err);
		if (rc == -EOPNOTSUPP)
			warn(m, "devices that were not granted are hidden but not denied: isolation is advisory");
	}
	return rc == -EOPNOTSUPP ? 0 : rc;
}

static int write_spec(struct making *m, struct wz_err *err)
{
	struct wz_buf b;
	wz_buf_init(&b, m->a->mem, WZ_ATTEMPT_SPEC_MAX);
	wz_attempt_spec_format(&m->spec, &b);
	int rc = b.status;
	int fd = rc < 0 ? -1
	                : openat(m->dir, "spec.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (rc == 0)
		rc = fd < 0 ? -errno : wz_fd_write_all(fd, wz_buf_str(&b));
	if (fd >= 0)
		close(fd);
	/* Whoever finds a spec finds a whole one, and all else that belongs to the attempt. */
	if (rc == 0 && renameat(m->dir, "spec.new", m->dir, "spec") < 0)
		rc = -errno;
	wz_buf_release(&b);
	return rc < 0 ? wz_file_err(err, rc, "write the spec of", m->key) : 0;
}

int agent_spawn_shim(struct agent *a, const char *key, int *ret_ctl, pid_t *ret_pid, struct wz_err *err)
{
	int pair[2];
	char path[3200];
	(void)snprintf(path, sizeof path, "%s/attempts/%s", a->state_path, key);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return refuse(err, -errno, "ForkFailed", "no descriptors left");
	const char *const argv[] = {"wz-shim", path, "3", NULL};
	static const char *const env[] = {"LC_ALL=C", NULL};
	struct wz_proc_fd fds[] = {{pair[1], 3}};
	struct wz_proc_spec p = {.argv = argv,
	        .envp = env,
	        .path = a->shim,
	        .umask = 077,
	        .fds = fds,
	        .n_fds = 1,
	        .new_session = true};
	int rc = wz_proc_spawn(&p, ret_pid, err);
	close(pair[1]);
	if (rc < 0)
		close(pair[0]);
	else
		*ret_ctl = pair[0];
	return rc;
}

static int make_all(struct making *m, struct wz_err *err)
{
	int rc = make_dirs(m, err);
	if (rc == 0)
		rc = make_spec(m, err);
	if (rc == 0)
		rc = make_argv(m, err);
	if (rc == 0 && m->s->hosts.n)
		rc = make_hosts(m, err);
	if (rc == 0)
		rc = make_secrets(m, err);
	if (rc == 0)
		rc = make_env(m, err);
	if (rc == 0 && m->spec.switch_user && fchown(m->run, (uid_t)m->spec.uid, (gid_t)m->spec.gid) < 0)
		rc = wz_file_err(err, -errno, "give away", m->key);
	if (rc == 0)
		rc = make_cgroup(m, err);
	if (rc == 0)
		rc = write_spec(m, err);
	return rc;
}

static void undo(struct making *m)
{
	static const char *const files[] = {"run/script", "run/hosts", "spec", "spec.new", "lock"};
	(void)wz_cgroup_remove(&m->spec.cgroup);
	secret_unmake(m->a, m->key);
	for (size_t i = 0; i < WZ_ARRAY_LEN(files) && m->dir >= 0; i++)
		unlinkat(m->dir, files[i], 0);
	if (m->dir >= 0) {
		close(m->dir);
		(void)wz_tree_remove(m->a->attempts, m->key);
	}
}

static void note_warnings(struct tended *t, const struct making *m)
{
	const struct wz_str *w = m->warnings.item;
	struct wz_buf b;
	wz_buf_init_fixed(&b, t->warnings, sizeof t->warnings);
	for (uint32_t i = 0; i < m->warnings.n; i++) {
		if (b.len + w[i].len + 2 > sizeof t->warnings)
			break;
		wz_buf_add(&b, w[i]);
		wz_buf_addc(&b, '\n');
	}
	(void)wz_buf_z(&b);
}

int agent_start(struct agent *a, const struct wz_wire_msg *msg, struct wz_err *err)
{
	struct making m = {.a = a, .s = &msg->u.start, .dir = -1, .run = -1};
	pid_t pid = 0;
	int ctl = -1;
	int rc = check(&m, err);
	if (rc < 0)
		return rc;
	m.id = (struct wz_attempt_id){(uint64_t)m.s->job, (uint32_t)m.s->task, (uint32_t)m.s->attempt};
	wz_attempt_key(m.id, m.key);
	struct tended *t = tend_find(a, m.id);
	if (t) { /* a start that is told twice is one start */
		tend_announce(a, t);
		return 0;
	}
	if (tend_was_closed(a, m.id))
		return refuse(err, -EALREADY, "AlreadyEnded", "this attempt ran, ended and was acknowledged");
	(void)snprintf(m.run_path, sizeof m.run_path, "%s/attempts/%s/run", a->state_path, m.key);
	m.warnings.item = wz_arena_alloc(&a->arena, 16 * sizeof(struct wz_str));
	rc = make_all(&m, err);
	t = rc == 0 ? tend_add(a, m.id, m.dir) : NULL;
	if (rc == 0 && !t)
		rc = refuse(err, -ENOMEM, "OutOfMemory", "out of memory");
	if (rc == 0) {
		rc = agent_spawn_shim(a, m.key, &ctl, &pid, err);
		if (rc < 0) {
			t->dir = -1;
			tend_drop(a, t);
		}
	}
	if (m.run >= 0)
		close(m.run);
	if (rc < 0) {
		undo(&m);
		return rc;
	}
	t->ctl = ctl;
	t->shim = pid;
	t->node = m.node;
	t->devices = m.devices;
	memcpy(t->node_name, a->inv.node[m.node].name, sizeof t->node_name);
	note_warnings(t, &m);
	struct wz_device_use use = {m.s->dev_mem_bytes, m.s->dev_milli ? (uint32_t)m.s->dev_milli : 1000};
	if (use.mem_bytes <= 0 && m.devices)
		use.mem_bytes = a->inv.device[a->inv.node[m.node].first_device].mem_bytes / 10 * 7;
	agent_use(a, t, &use);
	return 0;
}
