/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that exist. The truth is in their directories: the lock says whether a shim lives, the status how it ended.
 * So whatever happens to us or to a shim, *settling* reads these two and goes on from there:
 *
 *	lock held                      a shim lives: (re)connect to it
 *	lock free, status ended        it ended: tell
 *	lock free, no status           the shim has not begun: begin it (the lock lets one begin), or lost with the node
 *	lock free, status running      the shim was killed, or the machine was: kill what it left, then lost
 *	lock free, status starting     the same; what it left may be anything between nothing and the command */
#include "agent/agent_int.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETRY_US 50000u
#define CLOSED_KEPT 4096u /* markers of acknowledged attempts */

static void settle(struct agent *a, struct tended *t);

struct tended *tend_find(struct agent *a, struct wz_attempt_id id)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (wz_attempt_id_eq(a->t[i].id, id))
			return &a->t[i];
	}
	return NULL;
}

struct tended *tend_add(struct agent *a, struct wz_attempt_id id, int dir)
{
	if (wz_grow(a->mem, &a->t, &a->cap, a->n + 1, sizeof *a->t) < 0)
		return NULL;
	struct tended *t = &a->t[a->n++];
	memset(t, 0, sizeof *t);
	t->id = id;
	t->dir = dir;
	t->ctl = -1;
	t->retry_us = UINT64_MAX;
	wz_attempt_status_init(&t->st);
	return t;
}

void tend_drop(struct agent *a, struct tended *t)
{
	if (t->ctl >= 0)
		close(t->ctl);
	if (t->dir >= 0)
		close(t->dir);
	if (t->shim > 0) { /* its lock was free: it is gone or about to be */
		while (waitpid(t->shim, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*t = a->t[--a->n];
}

/* --- telling the server --------------------------------------------------------------------------------------- */

static uint32_t split_warnings(struct tended *t, struct wz_str out[16])
{
	struct wz_str s = wz_str(t->warnings);
	uint32_t n = 0;
	while (s.len && n < 16) {
		struct wz_str line = wz_str_split(&s, '\n');
		if (line.len)
			out[n++] = line;
	}
	return n;
}

static void running_msg(struct agent *a, struct tended *t, enum wz_wire_type type)
{
	struct wz_wire_msg m;
	struct wz_str warnings[16];
	wz_wire_init(&m, type);
	struct wz_wire_running *r = &m.u.running;
	r->job = (int64_t)t->id.job;
	r->task = t->id.task;
	r->attempt = t->id.attempt;
	r->pid = t->st.pid;
	r->started_us = t->st.started_us;
	r->left = t->st.left;
	r->frozen = t->st.frozen;
	r->cpu_us = t->st.cpu_us;
	r->mem_bytes = t->st.mem_peak_bytes;
	r->adopted = t->adopted;
	r->node = wz_str(t->node_name);
	r->tracked = wz_str(t->st.tracked);
	r->warnings = (struct wz_wire_array){split_warnings(t, warnings), warnings};
	agent_send(a, &m);
}

void tend_running(struct agent *a, struct tended *t)
{
	struct wz_proc_stat st;
	if (t->shim_seen == 0 && t->st.pid > 1 && wz_proc_stat((pid_t)t->st.pid, &st) == 0)
		t->shim_seen = st.ppid > 1 ? st.ppid : -1;
	t->told = true;
	running_msg(a, t, WZ_WIRE_RUNNING);
}

static void tell_ended(struct agent *a, struct tended *t)
{
	struct wz_wire_msg m;
	const struct wz_attempt_status *s = &t->st;
	wz_wire_init(&m, WZ_WIRE_ENDED);
	m.id = t->ended_msg; /* told again on the same link it has the same id: any acknowledgement counts */
	struct wz_wire_ended *e = &m.u.ended;
	e->job = (int64_t)t->id.job;
	e->task = t->id.task;
	e->attempt = t->id.attempt;
	e->node = wz_str(t->node_name);
	e->why = wz_str(wz_attempt_whys[s->why]);
	e->reason = wz_str(s->why == WZ_WHY_LAUNCH_FAILED ? s->launch_reason : s->stop_reason);
	e->text = wz_str(s->launch_text);
	e->exit_code = s->exit_code;
	e->exit_signal = s->exit_signal;
	e->core_dumped = s->core_dumped;
	e->oom_kills = s->oom_kills;
	e->acked = s->acked;
	e->started_us = s->started_us;
	e->ended_us = s->ended_us;
	e->cpu_us = s->cpu_us;
	e->mem_peak_bytes = s->mem_peak_bytes;
	e->mem_limit_bytes = s->mem_limit_bytes;
	e->log_bytes = s->log_bytes;
	e->log_lost = s->log_lost;
	e->log_gap_at = s->log_gap_at;
	e->log_gap_bytes = s->log_gap_bytes;
	e->log_gap_marker = s->log_gap_marker;
	t->ended_msg = agent_send(a, &m);
}

void tend_announce(struct agent *a, struct tended *t)
{
	if (t->state == TEND_ENDED)
		tell_ended(a, t);
	else if (wz_attempt_seen(t->st.phase))
		tend_running(a, t);
}

uint64_t tend_job_of(struct agent *a, int64_t pid)
{
	struct wz_proc_stat st;
	for (unsigned depth = 0; pid > 1 && depth < 256; depth++) {
		for (uint32_t i = 0; i < a->n; i++) {
			const struct tended *t = &a->t[i];
			if (t->state != TEND_ENDED && (t->shim == pid || t->st.pid == pid || t->shim_seen == pid))
				return t->id.job;
		}
		if (wz_proc_stat((pid_t)pid, &st) < 0)
			return 0;
		pid = st.ppid;
	}
	return 0;
}

/* --- closing -------------------------------------------------------------------------------------------------- */

bool tend_was_closed(struct agent *a, struct wz_attempt_id id)
{
	char key[WZ_ATTEMPT_KEY_MAX];
	wz_attempt_key(id, key);
	return faccessat(a->closed, key, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void tend_acked(struct agent *a, int64_t re)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct tended *t = &a->t[i];
		char key[WZ_ATTEMPT_KEY_MAX];
		if (t->state != TEND_ENDED || t->ended_msg != re)
			continue;
		wz_attempt_key(t->id, key);
		/* First the marker: then a second start of it is known to be one, whatever happens between. */
		int fd = openat(a->closed, key, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			close(fd);
		secret_unmake(a, key);
		if (wz_tree_remove(a->attempts, key) < 0)
			agent_log(a, "cannot remove the directory of attempt", key);
		tend_drop(a, t);
		return;
	}
}

/* Old markers go, oldest first by job number order of the directory: their jobs are long forgotten. */
static void prune_closed(struct agent *a)
{
	int fd = openat(a->closed, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint32_t n = 0;
	int64_t now = wz_clock_wall_us() / 1000000;
	for (struct dirent *e; d && (e = readdir(d));) {
		struct stat st;
		n += e->d_name[0] != '.';
		if (n > CLOSED_KEPT && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		        now - st.st_mtime > 86400)
			unlinkat(fd, e->d_name, 0);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* --- settling ------------------------------------------------------------------------------------------------- */

static void ended(struct agent *a, struct tended *t)
{
	struct wz_device_use none = {0};
	t->state = TEND_ENDED;
	t->retry_us = UINT64_MAX;
	agent_use(a, t, &none);
	tell_ended(a, t);
}

static void lost(struct agent *a, struct tended *t, enum wz_attempt_why why, const char *reason, const char *text)
{
	t->st.phase = WZ_ATTEMPT_ENDED;
	t->st.why = (uint8_t)why;
	t->st.left = 0;
	t->st.ended_us = wz_clock_wall_us();
	if (why == WZ_WHY_LAUNCH_FAILED) {
		(void)snprintf(t->st.launch_reason, sizeof t->st.launch_reason, "%s", reason);
		(void)snprintf(t->st.launch_text, sizeof t->st.launch_text, "%s", text);
	}
	if (wz_attempt_status_write(t->dir, &t->st, true) < 0) { /* the disk is full: again */
		t->st.phase = WZ_ATTEMPT_RUNNING;
		t->state = TEND_SETTLING;
		t->retry_us = agent_now_us() + 20 * RETRY_US;
		return;
	}
	ended(a, t);
}

static int read_spec(struct agent *a, struct tended *t, struct wz_attempt_spec *ret, struct wz_file_text *text)
{
	char path[64];
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/spec", t->dir);
	int rc = wz_file_read(path, WZ_ATTEMPT_SPEC_MAX, a->mem, text, NULL);
	if (rc == 0)
		rc = wz_attempt_spec_parse(wz_file_text_str(text), &a->arena, ret, NULL);
	return rc;
}

/* What a killed shim left: its cgroup; without one, the session of the main process, if that is still the same. */
static bool kill_leftovers(struct agent *a, struct tended *t)
{
	struct wz_file_text text = {.mem = a->mem};
	struct wz_attempt_spec spec;
	struct wz_proc_stat st;
	bool empty = true;
	memset(&spec, 0, sizeof spec);
	if (read_spec(a, t, &spec, &text) < 0)
		memset(&spec.cgroup, 0, sizeof spec.cgroup);
	if (wz_cgroup_has(&spec.cgroup, WZ_CG_TRACK)) {
		int e = wz_cgroup_empty(&spec.cgroup);
		if (e == 0) {
			(void)wz_cgroup_kill(&spec.cgroup);
			e = wz_cgroup_empty(&spec.cgroup);
		}
		struct wz_cgroup_usage u;
		wz_cgroup_usage(&spec.cgroup, &u);
		t->st.oom_kills = u.oom_kills;
		t->st.cpu_us = u.cpu_us;
		t->st.mem_peak_bytes = u.mem_peak_bytes;
		t->st.left = e == 0 ? wz_cgroup_count(&spec.cgroup) : 0;
		empty = e == 1 || e == -ENOENT;
		if (empty)
			(void)wz_cgroup_remove(&spec.cgroup);
	} else if (t->st.pid > 1) {
		/* The leader may be gone and its session live on; but a reused pid leads another session. */
		bool same = wz_proc_stat((pid_t)t->st.pid, &st) < 0 || (int64_t)st.start_ticks == t->st.pid_ticks;
		t->st.left = same ? wz_proc_signal_session((pid_t)t->st.pid, SIGKILL) : 0;
		empty = t->st.left <= 0;
	}
	/* Where neither tells: what has the attempt's run directory in its environment. */
	if (empty && t->st.phase == WZ_ATTEMPT_STARTING) {
		char run[3300], key[WZ_ATTEMPT_KEY_MAX];
		wz_attempt_key(t->id, key);
		(void)snprintf(run, sizeof run, "WZ_RUN_DIR=%s/attempts/%s/run", a->state_path, key);
		t->st.left = wz_proc_signal_env(run, SIGKILL);
		/* A child that has not executed yet has not got it: only the second look counts. */
		empty = t->st.left <= 0 && t->looked;
		t->looked = true;
	}
	if (text.data)
		wz_file_text_release(&text);
	return empty;
}

/* An agent was killed between writing the spec and starting the shim, or the shim it started died at once. */
static void never_began(struct agent *a, struct tended *t, int lock)
{
	struct wz_file_text text = {.mem = a->mem};
	struct wz_attempt_spec spec;
	struct wz_err err;
	char key[WZ_ATTEMPT_KEY_MAX];
	int rc = read_spec(a, t, &spec, &text);
	bool same_boot = rc == 0 && wz_str_eq(spec.boot, wz_str(a->boot));
	if (text.data)
		wz_file_text_release(&text);
	wz_attempt_key(t->id, key);
	if (same_boot && !t->respawned) {
		t->respawned = true;
		t->state = TEND_ALIVE;
		close(lock); /* the shim's now */
		lock = -1;
		rc = agent_spawn_shim(a, key, &t->ctl, &t->shim, &err);
		if (rc == 0)
			return;
	}
	wz_attempt_status_init(&t->st);
	(void)snprintf(t->st.boot, sizeof t->st.boot, "%s", a->boot);
	if (rc == 0 && !same_boot)
		lost(a, t, WZ_WHY_NODE_LOST, "", "");
	else
		lost(a, t, WZ_WHY_LAUNCH_FAILED, "NeverStarted", "the shim did not begin");
	if (lock >= 0)
		close(lock);
}

static void settle_without_shim(struct agent *a, struct tended *t, int lock)
{
	int rc = wz_attempt_status_read(t->dir, &t->st);
	if (rc == 0 && t->st.phase == WZ_ATTEMPT_ENDED) {
		ended(a, t);
	} else if (rc < 0) {
		never_began(a, t, lock);
		return;
	} else if (strcmp(t->st.boot, a->boot) != 0) {
		lost(a, t, WZ_WHY_NODE_LOST, "", "");
	} else if (kill_leftovers(a, t)) {
		lost(a, t, WZ_WHY_SHIM_LOST, "", "");
	} else {
		t->state = TEND_SETTLING;
		t->retry_us = agent_now_us() + 2 * RETRY_US;
		if (!t->cleaning && t->st.left > 0)
			running_msg(a, t, WZ_WIRE_CLEANING);
		t->cleaning |= t->st.left > 0;
	}
	close(lock);
}

static int connect_ctl(struct tended *t)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	(void)snprintf(addr.sun_path, sizeof addr.sun_path, "/proc/self/fd/%d/ctl", t->dir);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) < 0) {
		close(fd);
		fd = -1;
	}
	t->ctl = fd;
	return fd < 0 ? -ENOTCONN : 0;
}

static void settle(struct agent *a, struct tended *t)
{
	int lock = wz_attempt_lock(t->dir);
	t->retry_us = UINT64_MAX;
	if (lock >= 0) {
		if (t->shim > 0) { /* ours, and gone: without the lock it was its own to hold */
			while (waitpid(t->shim, NULL, 0) < 0 && errno == EINTR)
				;
			t->shim = 0;
		}
		settle_without_shim(a, t, lock);
		return;
	}
	if (lock != -EWOULDBLOCK)
		agent_log(a, "cannot look at an attempt's lock", strerrordesc_np(-lock));
	t->state = TEND_ALIVE;
	if (t->ctl < 0 && connect_ctl(t) < 0) {
		t->retry_us = agent_now_us() + RETRY_US; /* it has not bound its socket yet, or is just leaving */
		return;
	}
	if (wz_attempt_status_read(t->dir, &t->st) == 0 && wz_attempt_seen(t->st.phase) && !t->told)
		tend_running(a, t);
}

void tend_retry(struct agent *a, struct tended *t)
{
	settle(a, t);
}

/* --- the shim ------------------------------------------------------------------------------------------------- */

static void on_note(struct agent *a, struct tended *t, struct wz_str text)
{
	struct wz_wire_msg m;
	struct wz_str verb = wz_str_split(&text, ' ');
	if (wz_str_eq(verb, WZ_STR("started")) || wz_str_eq(verb, WZ_STR("acked")) ||
	        wz_str_eq(verb, WZ_STR("frozen"))) {
		if (wz_attempt_status_read(t->dir, &t->st) == 0 && wz_attempt_seen(t->st.phase))
			tend_running(a, t);
	} else if (wz_str_eq(verb, WZ_STR("cleaning"))) {
		(void)wz_attempt_status_read(t->dir, &t->st);
		running_msg(a, t, WZ_WIRE_CLEANING);
	} else if (wz_str_eq(verb, WZ_STR("report"))) {
		wz_wire_init(&m, WZ_WIRE_REPORT);
		m.u.report.job = (int64_t)t->id.job;
		m.u.report.task = t->id.task;
		m.u.report.attempt = t->id.attempt;
		m.u.report.text = text.ptr ? text : WZ_STR("");
		agent_send(a, &m);
	}
}

void tend_ctl(struct agent *a, struct tended *t)
{
	char block[9000];
	for (unsigned i = 0; i < 64 && t->ctl >= 0; i++) {
		ssize_t n = recv(t->ctl, block, sizeof block, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close(t->ctl);
			t->ctl = -1;
			settle(a, t);
			return;
		}
		struct wz_str text = {block, (size_t)n};
		struct wz_str id = wz_str_split(&text, ' ');
		if (wz_str_eq(id, WZ_STR("-"))) {
			on_note(a, t, text);
		} else if (text.ptr && wz_str_starts(text, WZ_STR("ok wz="))) { /* the answer to a query */
			struct wz_attempt_status st;
			if (wz_attempt_status_parse((struct wz_str){text.ptr + 3, text.len - 3}, &st) == 0) {
				t->st = st;
				tend_running(a, t);
			}
		}
	}
}

int tend_tell(struct tended *t, const char *request)
{
	if (t->ctl < 0 && connect_ctl(t) < 0)
		return -ENOTCONN;
	return send(t->ctl, request, strlen(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -ENOTCONN : 0;
}

/* --- adopting ------------------------------------------------------------------------------------------------- */

static void adopt(struct agent *a, struct tended *t)
{
	struct wz_attempt_spec spec;
	struct wz_file_text text = {.mem = a->mem};
	t->adopted = true;
	if (read_spec(a, t, &spec, &text) == 0 && spec.node.len < sizeof t->node_name) {
		memcpy(t->node_name, spec.node.ptr ? spec.node.ptr : "", spec.node.len);
		t->devices = (uint64_t)spec.devices;
		for (uint32_t i = 0; i < a->inv.n_nodes; i++) {
			if (strcmp(a->inv.node[i].name, t->node_name) == 0)
				t->node = i;
		}
	}
	if (text.data)
		wz_file_text_release(&text);
	wz_arena_clear(&a->arena);
	settle(a, t);
	if (t->state == TEND_ALIVE) {
		struct wz_device_use use = {0, 1000};
		agent_use(a, t, &use);
	}
}

static void forget_half_made(struct agent *a, const char *key)
{
	struct wz_cgroup g;
	if (!a->no_cgroup && wz_cgroup_of(&a->fs, key, &g) == 0)
		(void)wz_cgroup_remove(&g);
	secret_unmake(a, key);
	(void)wz_tree_remove(a->attempts, key);
}

int tend_adopt_all(struct agent *a, struct wz_err *err)
{
	int fd = openat(a->attempts, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return wz_file_err(err, rc, "read", "attempts");
	}
	prune_closed(a);
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		struct wz_attempt_id id;
		if (wz_attempt_key_parse(wz_str(e->d_name), &id) < 0)
			continue;
		if (tend_was_closed(a, id)) { /* we were killed between acknowledging and removing */
			secret_unmake(a, e->d_name);
			(void)wz_tree_remove(a->attempts, e->d_name);
			continue;
		}
		int dir = openat(a->attempts, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (dir >= 0 && faccessat(dir, "spec", F_OK, 0) < 0) { /* half made: it was never acknowledged */
			close(dir);
			forget_half_made(a, e->d_name);
			continue;
		}
		struct tended *t = dir < 0 ? NULL : tend_add(a, id, dir);
		if (t)
			adopt(a, t);
		else
			rc = wz_file_err(err, dir < 0 ? -errno : -ENOMEM, "adopt", e->d_name);
	}
	closedir(d);
	return rc;
}
