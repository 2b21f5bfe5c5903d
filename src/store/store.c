/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's side: opening, the queue, what is done, the state. The writer's side is writer.c. */
#include "store/store_int.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define QUEUE_MAX (64ull << 20)
#define SNAPSHOT_EVERY 100000u
#define RETRY_MS 200u
#define RESERVE_MIB 8u

/* ---- where a store may live ---- */

static const struct {
	unsigned long magic;
	const char *name;
	bool refuse;
} file_systems[] = {
        {0x6969, "NFS", true},
        {0xff534d42, "CIFS", true},
        {0xfe534d42, "SMB", true},
        {0x517b, "SMB", true},
        {0x5346414f, "AFS", true},
        {0x6b414653, "AFS", true},
        {0x73757245, "Coda", true},
        {0x01021997, "9P", true},
        {0x00c36400, "Ceph", true},
        {0x0bd00bd0, "Lustre", true},
        {0x47504653, "GPFS", true},
        {0x19830326, "BeeGFS", true},
        {0x65735546, "FUSE", true},
        {0x7461636f, "OCFS2", true},
        {0x01161970, "GFS2", true},
        {0xaad7aaea, "PanFS", true},
        {0x013111a8, "IBRIX", true},
        {0x786f4256, "a shared folder of VirtualBox", true},
        {0x01021994, "tmpfs", false},
        {0x858458f6, "ramfs", false},
        {0x794c7630, "overlayfs", false},
};

int wz_store_judge_fs(unsigned long magic, const char **ret_name, const char **ret_warning)
{
	*ret_name = "a local disk";
	*ret_warning = NULL;
	for (unsigned i = 0; i < WZ_ARRAY_LEN(file_systems); i++) {
		if (file_systems[i].magic != (magic & 0xffffffff))
			continue;
		*ret_name = file_systems[i].name;
		if (file_systems[i].refuse)
			return -EREMOTEIO;
		*ret_warning = "the state directory is on a file system that may be gone after a reboot or with "
		               "the container";
	}
	return 0;
}

static int check_fs(struct wz_store *s, struct wz_err *err)
{
	const char *name, *warning;
	struct statfs f;

	if (statfs(s->dir, &f) < 0)
		return wz_file_err(err, -errno, "look at", s->dir);
	if (wz_store_judge_fs((unsigned long)f.f_type, &name, &warning) < 0) {
		if (!s->o.any_file_system)
			return wz_err_set(err, -EREMOTEIO, "NetworkDisk", WZ_STR("the state directory "),
			        wz_str(s->dir), WZ_STR(" is on "), wz_str(name),
			        WZ_STR(", where locks and syncs cannot be relied on, and jobs would be lost: use a "
			               "local disk"));
		warning = "the state directory is on a network file system; losing jobs is possible";
	}
	if (warning)
		(void)snprintf(s->warning, sizeof(s->warning), "%s (%s)", warning, name);
	return 0;
}

/* ---- opening ---- */

static char *join(const char *dir, const char *name)
{
	size_t n = strlen(dir) + strlen(name) + 2;
	char *p = malloc(n);

	if (p)
		(void)snprintf(p, n, "%s/%s", dir, name);
	return p;
}

/* One daemon a directory. The lock is the kernel's and goes with the process; the number in the file is for people. */
static int take_lock(struct wz_store *s, struct wz_err *err)
{
	char pid[32] = {0}, *path = join(s->dir, "lock");
	ssize_t n;
	int r = 0;

	if (!path)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to open the store"));
	s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0) {
		r = wz_file_err(err, -errno, "create", path);
	} else if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		n = pread(s->lock_fd, pid, sizeof(pid) - 1, 0);
		while (n > 0 && (pid[n - 1] < '0' || pid[n - 1] > '9'))
			pid[--n] = 0;
		r = errno != EWOULDBLOCK
		            ? wz_file_err(err, -errno, "lock", path)
		            : wz_err_set(err, -EBUSY, "StoreInUse", WZ_STR("another daemon uses "), wz_str(s->dir),
		                      WZ_STR(" (process "), n > 0 ? wz_str(pid) : WZ_STR("unknown"), WZ_STR(")"));
	} else {
		n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
		if (ftruncate(s->lock_fd, 0) < 0 || pwrite(s->lock_fd, pid, (size_t)n, 0) < 0)
			r = 0; /* for people only: a full disk must not keep the daemon from starting */
	}
	free(path);
	return r;
}

/* Space that is given back when the disk is full, so that what runs can still be recorded. */
bool wz_reserve_make(struct wz_store *s)
{
	char *path = join(s->dir, "reserve");
	off_t size = (off_t)s->o.reserve_mib << 20;
	struct stat st;
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	bool made = fd >= 0 && ((fstat(fd, &st) == 0 && st.st_size >= size) || posix_fallocate(fd, 0, size) == 0);

	if (fd >= 0 && !made)
		(void)unlink(path);
	if (fd >= 0)
		(void)close(fd);
	free(path);
	return made;
}

/* Makes the log as long as it gets between two checkpoints, with zeros, which SQLite reads as the end of the log: a sync after
 * an overwrite is one flush of the disk, after an append the file system's own journal takes another. (The log itself is never
 * locked, so a descriptor of our own does no harm.) */
static void lengthen_log(const struct wz_store *s)
{
	static const char zeros[65536];
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s-wal", s->path), fd;
	bool more = true;

	if (s->o.vfs || n < 0 || (size_t)n >= sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		more = false;
	for (off_t at = more ? st.st_size : 0; more && at < WZ_LOG_BYTES;) {
		ssize_t wrote = pwrite(fd, zeros, sizeof(zeros), at);
		at += wrote > 0 ? wrote : 0;
		more = wrote > 0;
	}
	if (fd >= 0) {
		(void)fdatasync(fd);
		(void)close(fd);
	}
}

static int open_files(struct wz_store *s, struct wz_err *err)
{
	int r = s->o.read_only ? 0 : wz_file_mkdirs(s->dir, 0700, err);
	uint64_t seq = 0;

	if (r == 0)
		r = check_fs(s, err);
	if (r == 0 && !s->o.read_only)
		r = take_lock(s, err);
	if (r == 0 && !s->o.read_only) {
		(void)wz_reserve_make(s);
		r = wz_db_open(s->path, s->o.vfs, false, &s->wr, err);
		if (r == 0)
			r = wz_db_migrate(s->wr, s->version, err);
		if (r == 0)
			lengthen_log(s);
	}
	if (r == 0)
		r = wz_db_open(s->path, s->o.vfs, true, &s->rd, err);
	if (r == 0 && s->o.read_only)
		r = wz_db_version_check(s->rd, err);
	if (r == 0)
		r = wz_sql_u64(s->rd,
		        "SELECT max(coalesce((SELECT max(seq) FROM journal), 0), coalesce((SELECT max(seq) FROM "
		        "snapshots), 0))",
		        &seq, err);
	if (r == 0)
		r = wz_sql_u64(s->rd, "SELECT max(seq) FROM snapshots", &s->status.snapshot_seq, err);
	s->next_seq = seq + 1;
	s->snapshot_at = s->status.snapshot_seq;
	atomic_store(&s->durable, seq);
	return r;
}

static int start_writer(struct wz_store *s, struct wz_err *err)
{
	sigset_t all, old;
	int r = wz_writer_prepare(s, err);

	if (r < 0)
		return r;
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event_fd < 0)
		return wz_err_set(err, -errno, "OutOfMemory", WZ_STR("cannot make an eventfd"));
	(void)sigfillset(&all); /* signals are the loop's */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&s->thread, NULL, wz_writer_main, s);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r < 0)
		return wz_err_set(err, r, "OutOfMemory", WZ_STR("cannot start the writer"));
	s->started = true;
	return 0;
}

static void release(struct wz_store *s)
{
	wz_writer_release(s);
	(void)sqlite3_close(s->rd);
	(void)sqlite3_close(s->wr);
	if (s->event_fd >= 0)
		(void)close(s->event_fd);
	if (s->lock_fd >= 0)
		(void)close(s->lock_fd);
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->work);
	(void)pthread_cond_destroy(&s->idle);
	free(s->dir);
	free(s->path);
	free(s);
}

int wz_store_open(const struct wz_store_options *o, struct wz_store **ret, struct wz_err *err)
{
	struct wz_store *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	int r;

	if (!s)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to open the store"));
	s->o = *o;
	s->o.reserve_mib = o->reserve_mib ? o->reserve_mib : RESERVE_MIB;
	s->o.queue_max_bytes = o->queue_max_bytes ? o->queue_max_bytes : QUEUE_MAX;
	s->o.snapshot_every = o->snapshot_every ? o->snapshot_every : SNAPSHOT_EVERY;
	s->o.retry_ms = o->retry_ms ? o->retry_ms : RETRY_MS;
	(void)snprintf(s->version, sizeof(s->version), "%s", o->version ? o->version : "?");
	s->dir = strdup(o->dir);
	s->path = join(o->dir, "store.db");
	s->lock_fd = s->event_fd = -1;
	s->queue_end = &s->queue;
	s->finished_end = &s->finished;
	s->all_end = &s->all;
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->work, &monotonic);
	(void)pthread_cond_init(&s->idle, NULL);
	(void)pthread_condattr_destroy(&monotonic);
	r = s->dir && s->path ? open_files(s, err)
	                      : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to open the store"));
	if (r == 0 && !o->read_only)
		r = start_writer(s, err);
	if (r < 0) {
		release(s);
		return r;
	}
	*ret = s;
	return 0;
}

void wz_store_close(struct wz_store *s)
{
	if (!s)
		return;
	if (s->started) {
		(void)pthread_mutex_lock(&s->lock);
		s->closing = true;
		(void)pthread_cond_signal(&s->work);
		(void)pthread_mutex_unlock(&s->lock);
		(void)pthread_join(s->thread, NULL);
		wz_store_dispatch(s);
	}
	release(s);
}

/* ---- the queue ---- */

void wz_node_free(struct wz_node_ *n)
{
	wz_batch_release(&n->batch);
	free(n);
}

int wz_store_ready(const struct wz_store *s, struct wz_err *err)
{
	struct wz_store *w = (struct wz_store *)(uintptr_t)s; /* the mutex alone is touched */
	int r = 0;

	if (s->o.read_only)
		return wz_err_set(err, -EROFS, "ReadOnly", WZ_STR("the store is open for reading only"));
	(void)pthread_mutex_lock(&w->lock);
	if (s->status.failing) {
		r = s->status.error.code;
		if (err)
			*err = s->status.error;
	} else if (s->status.reserve_used) { /* what is left is for what runs */
		r = wz_err_set(
		        err, -ENOSPC, "DiskFull", WZ_STR("the disk is full; new work is taken when there is room"));
	} else if (s->queued_bytes > s->o.queue_max_bytes) {
		r = wz_err_set(err, -EAGAIN, "StoreBusy", WZ_STR("the disk does not keep up; try again"));
	}
	(void)pthread_mutex_unlock(&w->lock);
	return r;
}

static int push(struct wz_store *s, struct wz_node_ *n)
{
	n->bytes = sizeof(*n) + n->batch.text.len + n->batch.n * sizeof(*n->batch.record);
	*s->all_end = n;
	s->all_end = &n->later;
	(void)pthread_mutex_lock(&s->lock);
	*s->queue_end = n;
	s->queue_end = &n->next;
	s->queued_bytes += n->bytes;
	(void)pthread_cond_signal(&s->work);
	(void)pthread_mutex_unlock(&s->lock);
	return 0;
}

static struct wz_node_ *node_new(const struct wz_store *s, struct wz_err *err, int *r)
{
	struct wz_node_ *n = s->o.read_only ? NULL : calloc(1, sizeof(*n));

	*r = n                ? 0
	     : s->o.read_only ? wz_err_set(err, -EROFS, "ReadOnly", WZ_STR("the store is open for reading only"))
	                      : wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory to queue a batch"));
	return n;
}

int wz_store_append(
        struct wz_store *s, struct wz_batch *b, struct wz_store_done done, uint64_t *ret_seq, struct wz_err *err)
{
	const struct wz_mem *mem = b->mem;
	int r;
	struct wz_node_ *n = node_new(s, err, &r);

	if (!n)
		return r;
	n->kind = WZ_NODE_BATCH;
	n->batch = *b;
	n->done = done;
	n->first_seq = s->next_seq;
	s->next_seq += b->n;
	n->last_seq = s->next_seq - 1;
	for (uint32_t i = 0; i < n->batch.n_keys; i++)
		n->batch.key[i].key =
		        (struct wz_str){n->batch.text.data + n->batch.key[i].off, n->batch.key[i].len};
	wz_batch_init(b, mem);
	b->time_us = n->batch.time_us;
	if (ret_seq)
		*ret_seq = n->last_seq;
	return push(s, n);
}

bool wz_store_wants_snapshot(const struct wz_store *s)
{
	return s->next_seq - 1 - s->snapshot_at >= s->o.snapshot_every;
}

int wz_store_snapshot(struct wz_store *s, const struct wz_core *core, struct wz_store_done done, struct wz_err *err)
{
	int r;
	struct wz_node_ *n = node_new(s, err, &r);

	if (!n)
		return r;
	wz_batch_init(&n->batch, wz_os_mem());
	n->batch.text.max = 1u << 30; /* SQLite's own limit of a value */
	r = wz_core_export(core, &n->batch.text, err);
	if (r < 0) {
		wz_node_free(n);
		return r;
	}
	n->kind = WZ_NODE_SNAPSHOT;
	n->done = done;
	n->digest = wz_core_digest(core);
	n->batch.time_us = wz_core_now(core);
	n->last_seq = s->next_seq - 1;
	n->first_seq = s->next_seq;
	s->snapshot_at = n->last_seq;
	return push(s, n);
}

int wz_store_retain(struct wz_store *s, uint64_t jobs_before_us, uint64_t audit_before_us, struct wz_err *err)
{
	int r;
	struct wz_node_ *n = node_new(s, err, &r);

	if (!n)
		return r;
	n->kind = WZ_NODE_RETAIN;
	n->before_us = jobs_before_us < INT64_MAX ? jobs_before_us : INT64_MAX;
	n->audit_before_us = audit_before_us < INT64_MAX ? audit_before_us : INT64_MAX;
	n->last_seq = s->next_seq - 1;
	n->first_seq = s->next_seq;
	return push(s, n);
}

int wz_store_fd(const struct wz_store *s)
{
	return s->event_fd;
}

uint64_t wz_store_durable(const struct wz_store *s)
{
	return atomic_load(&s->durable);
}

void wz_store_dispatch(struct wz_store *s)
{
	struct wz_node_ *n, *next;
	uint64_t count;

	if (s->event_fd >= 0 && read(s->event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	(void)pthread_mutex_lock(&s->lock);
	n = s->finished;
	s->finished = NULL;
	s->finished_end = &s->finished;
	(void)pthread_mutex_unlock(&s->lock);
	for (; n; n = next) {
		struct wz_store_done done = n->done;
		uint64_t seq = n->last_seq;
		int r = n->r;
		next = n->next;
		wz_check(s->all == n); /* batches finish in the order in which they were appended */
		s->all = n->later;
		if (!s->all)
			s->all_end = &s->all;
		wz_node_free(n);
		if (done.fn)
			done.fn(done.ctx, seq, r);
	}
}

int wz_store_flush(struct wz_store *s, struct wz_err *err)
{
	int r = 0;

	while (s->all && r == 0) {
		struct pollfd p = {.fd = s->event_fd, .events = POLLIN};
		(void)poll(&p, 1, 1000);
		wz_store_dispatch(s);
		if (s->all) {
			r = wz_store_ready(s, err);
			r = r == -EAGAIN ? 0 : r;
		}
	}
	return r;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t size_of(const struct wz_store *s, const char *suffix)
{
	char path[4096];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s%s", s->path, suffix);

	return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void wz_store_status(const struct wz_store *s, struct wz_store_status *ret)
{
	struct wz_store *w = (struct wz_store *)(uintptr_t)s;
	uint64_t took[WZ_COMMIT_TIMES];
	uint32_t n;

	(void)pthread_mutex_lock(&w->lock);
	*ret = s->status;
	ret->queued_bytes = s->queued_bytes;
	n = s->status.commits < WZ_COMMIT_TIMES ? (uint32_t)s->status.commits : WZ_COMMIT_TIMES;
	memcpy(took, s->took_us, sizeof(took));
	(void)pthread_mutex_unlock(&w->lock);
	qsort(took, n, sizeof(took[0]), by_size);
	ret->commit_p50_us = n ? took[n / 2] : 0;
	ret->commit_p99_us = n ? took[n - 1 - n / 100] : 0;
	ret->appended_seq = s->next_seq - 1;
	ret->durable_seq = wz_store_durable(s);
	ret->db_bytes = size_of(s, "");
	ret->wal_bytes = size_of(s, "-wal");
	memcpy(ret->warning, s->warning, sizeof(ret->warning));
}
