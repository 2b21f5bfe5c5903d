/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shim_log.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <unistd.h>

static void *write_out(void *arg)
{
	struct wz_shim_log *l = arg;
	if (l->fs_uid >= 0) { /* of this thread only */
		setfsgid((gid_t)l->fs_gid);
		setfsuid((uid_t)l->fs_uid);
	}
	pthread_mutex_lock(&l->lock);
	while (!l->done || l->in != l->out) {
		if (l->in == l->out) {
			pthread_cond_wait(&l->more, &l->lock);
			continue;
		}
		size_t at = (size_t)(l->out % WZ_SHIM_RING_BYTES);
		size_t n = (size_t)(l->in - l->out);
		if (n > WZ_SHIM_RING_BYTES - at)
			n = WZ_SHIM_RING_BYTES - at;
		pthread_mutex_unlock(&l->lock);
		wz_joblog_append(&l->log, (struct wz_str){l->ring + at, n});
		pthread_mutex_lock(&l->lock);
		bool was_full = l->in - l->out == WZ_SHIM_RING_BYTES; /* it may have filled while we wrote */
		l->out += n;
		if (was_full) {
			uint64_t one = 1;
			(void)!write(l->room_fd, &one, sizeof one);
		}
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* A file that several attempts write to says where each begins. */
static void banner(struct wz_shim_log *l, struct wz_str text)
{
	if (!text.len || l->log.at == 0)
		return;
	wz_joblog_append(&l->log, text);
	wz_joblog_append(&l->log, WZ_STR("\n"));
}

static int open_log(struct wz_shim_log *l, const struct wz_attempt_spec *s, bool errors, struct wz_err *err)
{
	const char *dir = errors ? s->err_dir.ptr : s->log_dir.ptr;
	bool file_of_theirs = s->log_as_user >> errors & 1,
	     theirs = file_of_theirs && s->switch_user && geteuid() == 0;
	uid_t owner = s->switch_user && !theirs ? (uid_t)s->uid : (uid_t)-1;
	if (theirs) {
		setfsgid((gid_t)s->gid);
		setfsuid((uid_t)s->uid);
		l->fs_uid = s->uid;
		l->fs_gid = s->gid;
	}
	l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = l->dir < 0 ? wz_file_err(err, -errno, "open the directory", dir)
	                    : wz_joblog_open(&l->log, l->dir, errors ? s->err_name.ptr : s->log_name.ptr,
	                              file_of_theirs ? 0 : (uint64_t)s->log_head,
	                              file_of_theirs ? 0 : (uint64_t)s->log_tail, owner, (gid_t)s->gid,
	                              file_of_theirs, err);
	if (rc == 0 && file_of_theirs)
		banner(l, s->log_banner);
	if (theirs) {
		setfsuid(0);
		setfsgid(0);
	}
	return rc;
}

int wz_shim_log_open(struct wz_shim_log *l, const struct wz_attempt_spec *spec, bool errors, struct wz_err *err)
{
	memset(l, 0, sizeof *l);
	l->dir = l->room_fd = -1;
	l->fs_uid = l->fs_gid = -1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->more, NULL);
	int rc = open_log(l, spec, errors, err);
	if (rc < 0)
		return rc;
	l->ring = mmap(NULL, WZ_SHIM_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	l->room_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->ring == MAP_FAILED || l->room_fd < 0)
		return wz_err_set(err, -ENOMEM, "LogFailed", WZ_STR("no memory for the log"));
	rc = pthread_create(&l->thread, NULL, write_out, l);
	if (rc)
		return wz_err_set(err, -rc, "LogFailed", WZ_STR("no thread for the log"));
	l->started = true;
	return 0;
}

bool wz_shim_log_ready(struct wz_shim_log *l, uint64_t now_ms, int *ret_wait_ms)
{
	uint64_t token;
	(void)!read(l->room_fd, &token, sizeof token);
	pthread_mutex_lock(&l->lock);
	bool full = l->in - l->out == WZ_SHIM_RING_BYTES;
	pthread_mutex_unlock(&l->lock);
	if (!full)
		l->full_since_ms = 0;
	else if (!l->full_since_ms)
		l->full_since_ms = now_ms;
	if (!full || now_ms - l->full_since_ms >= WZ_SHIM_STALL_MS)
		return true;
	*ret_wait_ms = (int)(WZ_SHIM_STALL_MS - (now_ms - l->full_since_ms));
	return false;
}

struct wz_str wz_shim_log_recent(const struct wz_shim_log *l, uint64_t at, uint64_t *ret_at)
{
	/* Only we, the thread that reads the pipe, move `in`. */
	uint64_t from = l->in > WZ_SHIM_RING_BYTES ? l->in - WZ_SHIM_RING_BYTES : 0;
	if (at < from)
		at = from;
	*ret_at = at;
	if (at >= l->in)
		return (struct wz_str){NULL, 0};
	size_t i = (size_t)(at % WZ_SHIM_RING_BYTES), n = (size_t)(l->in - at);
	return (struct wz_str){l->ring + i, n > WZ_SHIM_RING_BYTES - i ? WZ_SHIM_RING_BYTES - i : n};
}

ssize_t wz_shim_log_take(struct wz_shim_log *l, int pipe, uint64_t now_ms)
{
	static char waste[65536];
	(void)now_ms;
	pthread_mutex_lock(&l->lock);
	size_t at = (size_t)(l->in % WZ_SHIM_RING_BYTES);
	size_t room = WZ_SHIM_RING_BYTES - (size_t)(l->in - l->out);
	pthread_mutex_unlock(&l->lock);
	if (room > WZ_SHIM_RING_BYTES - at)
		room = WZ_SHIM_RING_BYTES - at;
	ssize_t n = room ? read(pipe, l->ring + at, room) : read(pipe, waste, sizeof waste);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!room) {
		l->lost += (uint64_t)n;
		return n;
	}
	pthread_mutex_lock(&l->lock);
	l->in += (uint64_t)n;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	return n;
}

void wz_shim_log_close(struct wz_shim_log *l, struct wz_attempt_status *status)
{
	struct wz_joblog_gap gap;
	if (!l->started)
		return;
	pthread_mutex_lock(&l->lock);
	l->done = true;
	pthread_cond_signal(&l->more);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	if (l->fs_uid >= 0) {
		setfsgid((gid_t)l->fs_gid);
		setfsuid((uid_t)l->fs_uid);
	}
	wz_joblog_close(&l->log, &gap);
	if (l->fs_uid >= 0) {
		setfsuid(0);
		setfsgid(0);
	}
	l->started = false;
	if (!status)
		return;
	status->log_bytes = (int64_t)l->log.at;
	status->log_lost = (int64_t)(l->log.lost + l->lost);
	status->log_gap_at = (int64_t)gap.at;
	status->log_gap_bytes = (int64_t)gap.bytes;
	status->log_gap_marker = (int64_t)gap.marker_bytes;
}
