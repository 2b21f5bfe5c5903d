/* SPDX-License-Identifier: Apache-2.0 */
/* The log of one attempt: bytes untouched, with a cap that keeps the head and the tail.
 *
 * Until head_bytes are written, all goes to the file NAME. What follows goes to *segments* NAME.@HEADEND.OFFSET (both
 * decimal, offsets of the whole stream) of tail_bytes each, of which two are kept; so at least the last tail_bytes are
 * there at any time, also when the writer is killed. wz_joblog_close makes one file again: head, a marker line that
 * says how many bytes are left out, tail. Without a cap (0, 0) there are no segments.
 *
 * A full disk loses bytes and never stops the writer: they are counted. A file that was there before is appended to
 * (several attempts in one file); offsets are those of the file.
 *
 * Thread rule: one writer; any number of readers, also in other processes. */
#ifndef WZ_OS_JOBLOG_H
#define WZ_OS_JOBLOG_H

#include "base/err.h"

#include <sys/types.h>

#define WZ_JOBLOG_NAME_MAX 192u

struct wz_joblog_gap { /* what is left out of the closed file */
	uint64_t at, bytes; /* stream offset and length of what is missing; bytes 0: nothing */
	uint64_t marker_bytes; /* length of the marker at `at` of the file */
};

struct wz_joblog {
	int dir, fd; /* fd: where the next byte goes; -1 when it could not be opened */
	char name[WZ_JOBLOG_NAME_MAX];
	uid_t uid; /* of new files; -1: as created */
	gid_t gid;
	uint64_t head_end, tail_bytes; /* head_end UINT64_MAX: no cap */
	uint64_t at; /* offset of the next byte, lost ones included */
	uint64_t segment[2]; /* offsets of the kept segments, older first; 0: none */
	uint64_t lost; /* bytes that could not be written */
	int main_fd;
};

/* Opens or makes NAME in the directory `dirfd` (borrowed; must stay open). `follow` lets NAME be a symbolic link (only
 * when opening as the user). 0; -errno: not a regular file (-EINVAL), no permission, ... */
int wz_joblog_open(struct wz_joblog *l, int dirfd, const char *name, uint64_t head_bytes, uint64_t tail_bytes,
        uid_t uid, gid_t gid, bool follow, struct wz_err *err);
void wz_joblog_append(struct wz_joblog *l, struct wz_str bytes);
/* Makes one file of it. *ret_gap as above. When the disk is full the segments stay. */
void wz_joblog_close(struct wz_joblog *l, struct wz_joblog_gap *ret_gap);

/* Reads up to cap bytes at stream offset `offset` of a log that is being written or closed without a gap. Returns how many
 * (0: no more yet) and in *ret_at where they begin: later than `offset` when what was there is left out. -errno.
 * *head_end is the reader's memory, at first UINT64_MAX: a log that had segments when it was last looked at and has none
 * now was closed meanwhile, and stream offsets beyond its head are not those of the file any more: 0 then. */
ssize_t wz_joblog_read(
        int dirfd, const char *name, uint64_t offset, char *buf, size_t cap, uint64_t *ret_at, uint64_t *head_end);
/* Where stream offset `offset` is in the closed file. */
uint64_t wz_joblog_closed_offset(const struct wz_joblog_gap *gap, uint64_t offset);

/* Parses "NAME.@HEADEND.OFFSET"; 0 or -EINVAL. */
int wz_joblog_segment_parse(struct wz_str file, struct wz_str name, uint64_t *ret_head_end, uint64_t *ret_offset);

#endif
