/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite VFS in memory that keeps two images of each file: what the system shows, and what would be there after a power
 * loss. Written sectors become durable with the next sync that succeeds. A sync that fails forgets which sectors were
 * dirty, as Linux does: only what is written again can become durable later. Operations (open, write, truncate, sync) are
 * counted, and may fail from the Nth on. One instance, one mutex; for tests in one process. */
#ifndef WZ_TESTS_STORE_VFS_H
#define WZ_TESTS_STORE_VFS_H

#include "base/check.h"
#include "base/rng.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#define VFS_NAME "wzfault"
#define VFS_SECTOR 512
#define VFS_FILES 16

struct vfs_image { unsigned char *p; sqlite3_int64 len, cap; bool there; };
struct vfs_file {
	char name[256];
	struct vfs_image now, disk;
	bool *dirty; /* by sector, since the last sync */
	sqlite3_int64 n_dirty;
	int shared, reserved, pending, exclusive; /* locks: counts; the last three 0 or 1 */
	void *shm[64];
	int shm_size[64], n_shm, shm_refs;
	int shm_shared[8], shm_exclusive[8];
};

static struct {
	pthread_mutex_t lock;
	struct vfs_file file[VFS_FILES];
	int n;
	sqlite3_int64 ops, fail_from, fail_count, failures; /* fail_from 0: never; fail_count: so many in a row */
	int fail_code;
	sqlite3_vfs *real;
} vfs = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct vfs_handle { sqlite3_file base; struct vfs_file *f; int lock; int shm_mapped; unsigned short shm_shared, shm_exclusive; };

#define VFS_LOCK(expr) __extension__({ (void)pthread_mutex_lock(&vfs.lock); int r_ = (expr); (void)pthread_mutex_unlock(&vfs.lock); r_; })

static bool vfs_fails(void)
{
	vfs.ops++;
	if (!vfs.fail_from || vfs.ops < vfs.fail_from || vfs.ops >= vfs.fail_from + vfs.fail_count)
		return false;
	vfs.failures++;
	return true;
}

static int vfs_code(int io) { return vfs.fail_code == SQLITE_FULL && io != SQLITE_IOERR_FSYNC ? SQLITE_FULL : io; }

static void vfs_room(struct vfs_image *m, sqlite3_int64 len)
{
	if (len > m->cap) {
		sqlite3_int64 cap = len * 2 + 4096;
		m->p = realloc(m->p, (size_t)cap);
		wz_check(m->p);
		memset(m->p + m->cap, 0, (size_t)(cap - m->cap));
		m->cap = cap;
	}
}

static void vfs_mark(struct vfs_file *f, sqlite3_int64 from, sqlite3_int64 to)
{
	sqlite3_int64 need = (to + VFS_SECTOR - 1) / VFS_SECTOR;
	if (need > f->n_dirty) {
		f->dirty = realloc(f->dirty, (size_t)need * sizeof *f->dirty);
		wz_check(f->dirty);
		memset(f->dirty + f->n_dirty, 0, (size_t)(need - f->n_dirty) * sizeof *f->dirty);
		f->n_dirty = need;
	}
	for (sqlite3_int64 s = from / VFS_SECTOR; s * VFS_SECTOR < to; s++)
		f->dirty[s] = true;
}

static struct vfs_file *vfs_find(const char *name)
{
	for (int i = 0; i < vfs.n; i++)
		if (strcmp(vfs.file[i].name, name) == 0)
			return &vfs.file[i];
	return NULL;
}

static int vfs_close(sqlite3_file *h) { (void)h; return SQLITE_OK; }

static int vfs_read(sqlite3_file *h, void *to, int n, sqlite3_int64 at)
{
	struct vfs_image *m = &((struct vfs_handle *)h)->f->now;
	(void)pthread_mutex_lock(&vfs.lock);
	sqlite3_int64 have = m->len - at < 0 ? 0 : m->len - at < n ? m->len - at : n;
	if (have)
		memcpy(to, m->p + at, (size_t)have);
	(void)pthread_mutex_unlock(&vfs.lock);
	memset((char *)to + have, 0, (size_t)(n - have));
	return have == n ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int vfs_write_(struct vfs_file *f, const void *from, int n, sqlite3_int64 at)
{
	bool fails = vfs_fails();
	if (fails)
		n /= 2; /* half of it was written */
	vfs_room(&f->now, at + n);
	memcpy(f->now.p + at, from, (size_t)n);
	if (at + n > f->now.len)
		f->now.len = at + n;
	vfs_mark(f, at, at + n);
	return fails ? vfs_code(SQLITE_IOERR_WRITE) : SQLITE_OK;
}

static int vfs_write(sqlite3_file *h, const void *from, int n, sqlite3_int64 at)
{
	return VFS_LOCK(vfs_write_(((struct vfs_handle *)h)->f, from, n, at));
}

static int vfs_truncate_(struct vfs_file *f, sqlite3_int64 n)
{
	if (vfs_fails())
		return SQLITE_IOERR_TRUNCATE;
	if (n < f->now.len) {
		memset(f->now.p + n, 0, (size_t)(f->now.len - n));
		vfs_mark(f, n, f->now.len);
		f->now.len = n;
	}
	return SQLITE_OK;
}

static int vfs_truncate(sqlite3_file *h, sqlite3_int64 n) { return VFS_LOCK(vfs_truncate_(((struct vfs_handle *)h)->f, n)); }

static int vfs_sync_(struct vfs_file *f)
{
	bool fails = vfs_fails();
	vfs_room(&f->disk, f->now.len);
	for (sqlite3_int64 s = 0; s < f->n_dirty; s++) {
		sqlite3_int64 at = s * VFS_SECTOR, n = f->now.len - at < VFS_SECTOR ? f->now.len - at : VFS_SECTOR;
		if (f->dirty[s] && !fails && n > 0)
			memcpy(f->disk.p + at, f->now.p + at, (size_t)n);
		f->dirty[s] = false; /* also when it failed: what was not written is forgotten */
	}
	if (fails)
		return SQLITE_IOERR_FSYNC;
	f->disk.len = f->now.len;
	f->disk.there = f->now.there;
	return SQLITE_OK;
}

static int vfs_sync(sqlite3_file *h, int flags) { (void)flags; return VFS_LOCK(vfs_sync_(((struct vfs_handle *)h)->f)); }

static int vfs_size(sqlite3_file *h, sqlite3_int64 *ret)
{
	*ret = ((struct vfs_handle *)h)->f->now.len;
	return SQLITE_OK;
}

static void vfs_let_go(struct vfs_handle *x, int to)
{
	struct vfs_file *f = x->f;
	if (x->lock >= SQLITE_LOCK_EXCLUSIVE && to < SQLITE_LOCK_EXCLUSIVE)
		f->exclusive = 0;
	if (x->lock >= SQLITE_LOCK_RESERVED && to < SQLITE_LOCK_RESERVED)
		f->reserved = f->pending = 0;
	if (x->lock >= SQLITE_LOCK_SHARED && to < SQLITE_LOCK_SHARED)
		f->shared--;
	x->lock = to;
}

static int vfs_lock_(struct vfs_handle *x, int want)
{
	struct vfs_file *f = x->f;
	if (want <= x->lock)
		return SQLITE_OK;
	if (x->lock == SQLITE_LOCK_NONE) {
		if (f->exclusive || f->pending)
			return SQLITE_BUSY;
		f->shared++;
		x->lock = SQLITE_LOCK_SHARED;
	}
	if (want >= SQLITE_LOCK_RESERVED && x->lock < SQLITE_LOCK_RESERVED) {
		if (f->reserved)
			return SQLITE_BUSY;
		f->reserved = 1;
		x->lock = SQLITE_LOCK_RESERVED;
	}
	if (want == SQLITE_LOCK_EXCLUSIVE) {
		f->pending = 1;
		if (f->shared > 1)
			return SQLITE_BUSY;
		f->exclusive = 1;
		x->lock = SQLITE_LOCK_EXCLUSIVE;
	}
	return SQLITE_OK;
}

static int vfs_lock(sqlite3_file *h, int want) { return VFS_LOCK(vfs_lock_((struct vfs_handle *)h, want)); }
static int vfs_unlock(sqlite3_file *h, int to)
{
	(void)pthread_mutex_lock(&vfs.lock);
	vfs_let_go((struct vfs_handle *)h, to);
	(void)pthread_mutex_unlock(&vfs.lock);
	return SQLITE_OK;
}
static int vfs_reserved(sqlite3_file *h, int *ret)
{
	*ret = ((struct vfs_handle *)h)->f->reserved;
	return SQLITE_OK;
}
static int vfs_control(sqlite3_file *h, int op, void *arg) { (void)h, (void)op, (void)arg; return SQLITE_NOTFOUND; }
static int vfs_sector(sqlite3_file *h) { (void)h; return VFS_SECTOR; }
static int vfs_traits(sqlite3_file *h) { (void)h; return 0; }

static int vfs_shm_map_(struct vfs_handle *x, int i, int size, int extend, void volatile **ret)
{
	struct vfs_file *f = x->f;
	wz_check(i < 64);
	if (!f->shm[i]) {
		*ret = NULL;
		if (!extend)
			return SQLITE_OK;
		f->shm[i] = calloc(1, (size_t)size);
		wz_check(f->shm[i]);
	}
	if (!x->shm_mapped)
		f->shm_refs++;
	x->shm_mapped = 1;
	*ret = f->shm[i];
	return SQLITE_OK;
}
static int vfs_shm_map(sqlite3_file *h, int i, int size, int extend, void volatile **ret)
{
	return VFS_LOCK(vfs_shm_map_((struct vfs_handle *)h, i, size, extend, ret));
}

static int vfs_shm_lock_(struct vfs_handle *x, int at, int n, int flags)
{
	struct vfs_file *f = x->f;
	for (int i = at; i < at + n; i++) {
		bool mine = (flags & SQLITE_SHM_SHARED) ? x->shm_shared >> i & 1 : x->shm_exclusive >> i & 1;
		if (flags & SQLITE_SHM_UNLOCK)
			continue;
		if (mine)
			continue;
		if (f->shm_exclusive[i] || (!(flags & SQLITE_SHM_SHARED) && f->shm_shared[i]))
			return SQLITE_BUSY;
	}
	for (int i = at; i < at + n; i++) {
		unsigned short *bits = (flags & SQLITE_SHM_SHARED) ? &x->shm_shared : &x->shm_exclusive;
		int *count = (flags & SQLITE_SHM_SHARED) ? &f->shm_shared[i] : &f->shm_exclusive[i];
		bool mine = *bits >> i & 1, lock = flags & SQLITE_SHM_LOCK;
		if (mine == lock)
			continue;
		*bits = (unsigned short)(*bits ^ 1u << i);
		*count += lock ? 1 : -1;
	}
	return SQLITE_OK;
}
static int vfs_shm_lock(sqlite3_file *h, int at, int n, int flags) { return VFS_LOCK(vfs_shm_lock_((struct vfs_handle *)h, at, n, flags)); }
static void vfs_shm_barrier(sqlite3_file *h)
{
	(void)h;
	(void)pthread_mutex_lock(&vfs.lock);
	(void)pthread_mutex_unlock(&vfs.lock);
}
static int vfs_shm_unmap_(struct vfs_handle *x)
{
	struct vfs_file *f = x->f;
	if (x->shm_mapped && --f->shm_refs == 0) /* the last one: as if the -shm file were deleted */
		for (int i = 0; i < 64; i++) {
			free(f->shm[i]);
			f->shm[i] = NULL;
		}
	x->shm_mapped = 0;
	return SQLITE_OK;
}
static int vfs_shm_unmap(sqlite3_file *h, int delete_it) { (void)delete_it; return VFS_LOCK(vfs_shm_unmap_((struct vfs_handle *)h)); }

static const sqlite3_io_methods vfs_io = {2, vfs_close, vfs_read, vfs_write, vfs_truncate, vfs_sync, vfs_size, vfs_lock, vfs_unlock, vfs_reserved,
	vfs_control, vfs_sector, vfs_traits, vfs_shm_map, vfs_shm_lock, vfs_shm_barrier, vfs_shm_unmap, NULL, NULL};

static int vfs_open_(const char *name, sqlite3_file *h, int flags, int *ret)
{
	struct vfs_handle *x = (struct vfs_handle *)h;
	struct vfs_file *f = name ? vfs_find(name) : NULL;
	memset(x, 0, sizeof *x);
	wz_check(name);
	if (vfs_fails())
		return SQLITE_CANTOPEN;
	if (!f) {
		wz_check(vfs.n < VFS_FILES && strlen(name) < sizeof f->name);
		f = &vfs.file[vfs.n++];
		(void)snprintf(f->name, sizeof f->name, "%s", name);
	}
	if (!f->now.there && !(flags & SQLITE_OPEN_CREATE))
		return SQLITE_CANTOPEN;
	f->now.there = true;
	x->f = f;
	x->base.pMethods = &vfs_io;
	if (ret)
		*ret = flags;
	return SQLITE_OK;
}
static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *h, int flags, int *ret) { (void)v; return VFS_LOCK(vfs_open_(name, h, flags, ret)); }

static int vfs_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	(void)pthread_mutex_lock(&vfs.lock);
	struct vfs_file *f = vfs_find(name);
	bool there = f && f->now.there;
	if (there) {
		f->now.there = false;
		f->now.len = 0;
		if (sync)
			f->disk.there = false;
	}
	(void)pthread_mutex_unlock(&vfs.lock);
	return there ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
}
static int vfs_access(sqlite3_vfs *v, const char *name, int flags, int *ret)
{
	(void)v, (void)flags;
	(void)pthread_mutex_lock(&vfs.lock);
	struct vfs_file *f = vfs_find(name);
	*ret = f && f->now.there && (flags != SQLITE_ACCESS_EXISTS || f->now.len > 0);
	(void)pthread_mutex_unlock(&vfs.lock);
	return SQLITE_OK;
}
static int vfs_path(sqlite3_vfs *v, const char *name, int n, char *to) { (void)v; (void)snprintf(to, (size_t)n, "%s", name); return SQLITE_OK; }
static int vfs_random(sqlite3_vfs *v, int n, char *to) { (void)v; return vfs.real->xRandomness(vfs.real, n, to); }
static int vfs_sleep(sqlite3_vfs *v, int us) { (void)v; return vfs.real->xSleep(vfs.real, us); }
static int vfs_time(sqlite3_vfs *v, double *ret) { (void)v; return vfs.real->xCurrentTime(vfs.real, ret); }
static int vfs_error(sqlite3_vfs *v, int n, char *to) { (void)v, (void)n, (void)to; return 0; }

static inline void vfs_register(void)
{
	static sqlite3_vfs v = {.iVersion = 1, .szOsFile = sizeof(struct vfs_handle), .mxPathname = 255, .zName = VFS_NAME, .xOpen = vfs_open,
		.xDelete = vfs_delete, .xAccess = vfs_access, .xFullPathname = vfs_path, .xRandomness = vfs_random, .xSleep = vfs_sleep,
		.xCurrentTime = vfs_time, .xGetLastError = vfs_error};
	vfs.real = sqlite3_vfs_find(NULL);
	wz_check(sqlite3_vfs_register(&v, 0) == SQLITE_OK);
}

static inline void vfs_reset(void)
{
	for (int i = 0; i < vfs.n; i++) {
		struct vfs_file *f = &vfs.file[i];
		wz_check(!f->shm_refs && !f->shared);
		free(f->now.p);
		free(f->disk.p);
		free(f->dirty);
	}
	memset(vfs.file, 0, sizeof vfs.file);
	vfs.n = 0;
	vfs.ops = vfs.fail_from = vfs.failures = 0;
}

/* From the Nth operation on `count` fail. */
static inline void vfs_fail(sqlite3_int64 n, sqlite3_int64 count, int code)
{
	(void)pthread_mutex_lock(&vfs.lock);
	vfs.ops = vfs.failures = 0;
	vfs.fail_from = n;
	vfs.fail_count = count;
	vfs.fail_code = code;
	(void)pthread_mutex_unlock(&vfs.lock);
}

/* No handle is open. What was not synced is lost, or each sector of it, by chance (rng not NULL). */
static inline void vfs_power_loss(struct wz_rng *rng)
{
	for (int i = 0; i < vfs.n; i++) {
		struct vfs_file *f = &vfs.file[i];
		wz_check(!f->shm_refs);
		if (rng && f->now.there && f->disk.there) {
			sqlite3_int64 len = wz_rng_below(rng, 2) ? f->now.len : f->disk.len;
			vfs_room(&f->disk, f->now.len);
			for (sqlite3_int64 s = 0; s < f->n_dirty; s++)
				if (f->dirty[s] && wz_rng_below(rng, 2) && s * VFS_SECTOR < f->now.len)
					memcpy(f->disk.p + s * VFS_SECTOR, f->now.p + s * VFS_SECTOR, (size_t)(f->now.len - s * VFS_SECTOR < VFS_SECTOR ? f->now.len - s * VFS_SECTOR : VFS_SECTOR));
			f->disk.len = len;
		}
		vfs_room(&f->now, f->disk.len);
		if (f->disk.len)
			memcpy(f->now.p, f->disk.p, (size_t)f->disk.len);
		if (f->now.len > f->disk.len)
			memset(f->now.p + f->disk.len, 0, (size_t)(f->now.len - f->disk.len));
		f->now.len = f->disk.there ? f->disk.len : 0;
		f->now.there = f->disk.there;
		for (sqlite3_int64 s = 0; s < f->n_dirty; s++)
			f->dirty[s] = false;
		f->shared = f->reserved = f->pending = f->exclusive = 0;
	}
}

#endif
