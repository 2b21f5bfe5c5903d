/* SPDX-License-Identifier: Apache-2.0 */
/* Segments are named by their offsets, so a reader needs nothing but the directory, and a killed writer leaves a log
 * that is whole. Closing copies at most two segments. */
#include "os/joblog.h"

#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME_MAX (WZ_JOBLOG_NAME_MAX + 48)

static void segment_name(const struct wz_joblog *l, uint64_t offset, char out[FILE_NAME_MAX])
{
	(void)snprintf(out, FILE_NAME_MAX, "%s.@%llu.%llu", l->name, (unsigned long long)l->head_end,
	        (unsigned long long)offset);
}

static int open_one(const struct wz_joblog *l, const char *name, int flags)
{
	struct stat st;
	/* O_NONBLOCK: a fifo or a terminal under this name must not hold us. */
	int fd = openat(l->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0600);
	if (fd < 0)
		return -errno;
	int rc = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : 0;
	if (rc == 0 && l->uid != (uid_t)-1 && st.st_uid != l->uid && fchown(fd, l->uid, l->gid) < 0)
		rc = -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

int wz_joblog_open(struct wz_joblog *l, int dirfd, const char *name, uint64_t head_bytes, uint64_t tail_bytes,
        uid_t uid, gid_t gid, bool follow, struct wz_err *err)
{
	struct wz_joblog n = {
	        .dir = dirfd, .fd = -1, .uid = uid, .gid = gid, .tail_bytes = tail_bytes, .main_fd = -1};
	size_t len = strlen(name);
	if (len == 0 || len >= sizeof n.name)
		return wz_file_err(err, -ENAMETOOLONG, "write", name);
	memcpy(n.name, name, len + 1);
	int fd = open_one(&n, name, O_APPEND | (follow ? 0 : O_NOFOLLOW));
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return wz_file_err(err, fd < 0 ? fd : -errno, "write", name);
	n.main_fd = n.fd = fd;
	n.at = (uint64_t)st.st_size;
	/* At least one byte of head: then 0 is never the offset of a segment. */
	n.head_end = head_bytes || tail_bytes ? n.at + (head_bytes ? head_bytes : 1) : UINT64_MAX;
	if (n.tail_bytes == 0)
		n.tail_bytes = 1;
	*l = n;
	return 0;
}

/* The segment that begins at l->at; the oldest of three goes. */
static void next_segment(struct wz_joblog *l)
{
	char name[FILE_NAME_MAX];
	if (l->fd >= 0 && l->fd != l->main_fd)
		close(l->fd);
	if (l->segment[0] && l->segment[1]) {
		segment_name(l, l->segment[0], name);
		unlinkat(l->dir, name, 0);
	}
	l->segment[0] = l->segment[1];
	l->segment[1] = l->at;
	segment_name(l, l->at, name);
	int fd = open_one(l, name, O_APPEND | O_NOFOLLOW | O_TRUNC);
	l->fd = fd < 0 ? -1 : fd;
}

void wz_joblog_append(struct wz_joblog *l, struct wz_str bytes)
{
	while (bytes.len) {
		uint64_t room = l->head_end > l->at ? l->head_end - l->at
		                : l->segment[1]     ? l->segment[1] + l->tail_bytes - l->at
		                                    : 0;
		if (room == 0) {
			next_segment(l);
			continue;
		}
		size_t n = bytes.len < room ? bytes.len : (size_t)room;
		ssize_t put = l->fd < 0 ? -1 : write(l->fd, bytes.ptr, n);
		if (put < 0 && l->fd >= 0 && errno == EINTR)
			continue;
		if (put <= 0) { /* full disk, quota, vanished directory: the job goes on */
			l->lost += n;
			put = (ssize_t)n;
		}
		l->at += (uint64_t)put;
		bytes.ptr += put;
		bytes.len -= (size_t)put;
	}
}

/* Appends what the segment at `offset` has from stream offset `from` on. */
static int copy_segment(struct wz_joblog *l, uint64_t offset, uint64_t from)
{
	char name[FILE_NAME_MAX], block[65536];
	int rc = 0;
	segment_name(l, offset, name);
	int fd = openat(l->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	off_t at = from > offset ? (off_t)(from - offset) : 0;
	for (ssize_t n; rc == 0 && (n = pread(fd, block, sizeof block, at)) != 0; at += n) {
		if (n < 0)
			rc = -errno;
		else
			rc = wz_fd_write_all(l->main_fd, (struct wz_str){block, (size_t)n});
	}
	close(fd);
	return rc;
}

void wz_joblog_close(struct wz_joblog *l, struct wz_joblog_gap *ret_gap)
{
	struct wz_joblog_gap gap = {0};
	if (l->fd >= 0 && l->fd != l->main_fd)
		close(l->fd);
	if (l->segment[1]) {
		uint64_t oldest = l->segment[0] ? l->segment[0] : l->segment[1];
		uint64_t from = l->at - oldest > l->tail_bytes ? l->at - l->tail_bytes : oldest;
		int rc = 0;
		if (from > l->head_end) {
			char marker[96];
			int n = snprintf(marker, sizeof marker, "\n[whalezen: %llu bytes left out here]\n",
			        (unsigned long long)(from - l->head_end));
			gap = (struct wz_joblog_gap){l->head_end, from - l->head_end, (uint64_t)n};
			rc = wz_fd_write_all(l->main_fd, (struct wz_str){marker, (size_t)n});
		}
		for (unsigned i = 0; i < 2 && rc == 0; i++) {
			if (l->segment[i])
				rc = copy_segment(l, l->segment[i], from);
		}
		for (unsigned i = 0; i < 2 && rc == 0; i++) {
			char name[FILE_NAME_MAX];
			segment_name(l, l->segment[i], name);
			if (l->segment[i])
				unlinkat(l->dir, name, 0);
		}
	}
	if (l->main_fd >= 0)
		close(l->main_fd);
	l->fd = l->main_fd = -1;
	*ret_gap = gap;
}

int wz_joblog_segment_parse(struct wz_str file, struct wz_str name, uint64_t *ret_head_end, uint64_t *ret_offset)
{
	uint64_t head_end, offset;
	if (!wz_str_starts(file, name))
		return -EINVAL;
	file = (struct wz_str){file.ptr + name.len, file.len - name.len};
	if (!wz_str_starts(file, WZ_STR(".@")))
		return -EINVAL;
	file = (struct wz_str){file.ptr + 2, file.len - 2};
	struct wz_str first = wz_str_split(&file, '.');
	if (!file.ptr || wz_str_parse_u64(first, &head_end) < 0 || wz_str_parse_u64(file, &offset) < 0 ||
	        offset < head_end)
		return -EINVAL;
	*ret_head_end = head_end;
	*ret_offset = offset;
	return 0;
}

struct layout {
	uint64_t head_end; /* UINT64_MAX: no segments */
	uint64_t segment; /* the one that holds `offset`, or the next one after it; UINT64_MAX: none */
};

static int look(int dirfd, const char *name, uint64_t offset, struct layout *ret)
{
	struct layout l = {UINT64_MAX, UINT64_MAX};
	uint64_t before = 0, after = UINT64_MAX;
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		int rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t head_end, at;
		if (wz_joblog_segment_parse(wz_str(e->d_name), wz_str(name), &head_end, &at) < 0)
			continue;
		l.head_end = head_end;
		if (at <= offset && at >= before)
			before = at;
		else if (at > offset && at < after)
			after = at;
	}
	closedir(d);
	l.segment = before ? before : after;
	*ret = l;
	return 0;
}

static ssize_t read_at(int dirfd, const char *name, uint64_t at, char *buf, size_t cap)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	ssize_t n = pread(fd, buf, cap, (off_t)at);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

ssize_t wz_joblog_read(
        int dirfd, const char *name, uint64_t offset, char *buf, size_t cap, uint64_t *ret_at, uint64_t *head_end)
{
	struct layout l;
	char file[FILE_NAME_MAX];
	if (strlen(name) >= WZ_JOBLOG_NAME_MAX || offset > INT64_MAX)
		return -ENAMETOOLONG;
	/* A segment may go between looking and reading: look again. */
	for (unsigned tries = 0; tries < 8; tries++) {
		int rc = look(dirfd, name, offset, &l);
		if (rc < 0)
			return rc;
		if (l.head_end != UINT64_MAX)
			*head_end = l.head_end;
		else if (offset >= *head_end)
			return 0;
		if (l.head_end == UINT64_MAX || offset < l.head_end) {
			size_t most = l.head_end - offset < cap ? (size_t)(l.head_end - offset) : cap;
			*ret_at = offset;
			return read_at(dirfd, name, offset, buf, most);
		}
		if (l.segment == UINT64_MAX)
			return 0;
		struct wz_joblog of = {.head_end = l.head_end};
		memcpy(of.name, name, strlen(name) + 1);
		segment_name(&of, l.segment, file);
		uint64_t at = offset > l.segment ? offset - l.segment : 0;
		ssize_t n = read_at(dirfd, file, at, buf, cap);
		if (n == -ENOENT)
			continue;
		if (n == 0 && tries < 7) { /* past its end: what follows is in the next one, if there is one */
			struct layout next;
			rc = look(dirfd, name, UINT64_MAX - 1, &next);
			if (rc == 0 && next.segment != l.segment && next.segment > offset) {
				offset = next.segment;
				continue;
			}
		}
		*ret_at = l.segment + at;
		return n;
	}
	return 0;
}

uint64_t wz_joblog_closed_offset(const struct wz_joblog_gap *gap, uint64_t offset)
{
	if (!gap->bytes || offset <= gap->at)
		return offset;
	if (offset < gap->at + gap->bytes)
		return gap->at + gap->marker_bytes;
	return offset - gap->bytes + gap->marker_bytes;
}
