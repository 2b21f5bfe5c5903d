/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files: read with a size limit, written so that a reader sees the old content or the new, never a part.
 *
 * Every error names the path and what to do about it. Reasons: "NotFound", "NoPermission", "IsDirectory", "TooLarge",
 * "EmptyFile", "NotADirectory", "NoSpace", "OutOfMemory", "FileError". Thread rule: none shared. */
#ifndef WZ_OS_FILE_H
#define WZ_OS_FILE_H

#include "base/err.h"
#include "base/mem.h"

/* Fills *err with the text for the negative errno `code` of doing `what` ("read", "write", "create") to `path`. Returns
 * `code`. */
int wz_file_err(struct wz_err *err, int code, const char *what, const char *path);

struct wz_file_text {
	const struct wz_mem *mem;
	char *data;
	size_t len, cap;
};

/* Reads all of `path` ("-": standard input) into *ret, which the caller releases. -ENOENT, -EACCES, -EISDIR, -E2BIG (more
 * than max_bytes), -ENODATA (empty), -ENOMEM, other errnos. O(size). */
int wz_file_read(
        const char *path, size_t max_bytes, const struct wz_mem *mem, struct wz_file_text *ret, struct wz_err *err);
void wz_file_text_release(struct wz_file_text *t); /* accepts a zeroed one */
static inline struct wz_str wz_file_text_str(const struct wz_file_text *t)
{
	return (struct wz_str){t->data, t->len};
}

/* Replaces `path` by `bytes`: written to a temporary file beside it, synced, renamed, and the directory synced. `mode` is
 * cut by the umask. On failure the old file is untouched and no temporary remains.
 * A device or a pipe that is there already is written to instead. */
int wz_file_write(const char *path, struct wz_str bytes, unsigned mode, struct wz_err *err);

/* Makes `path` and its missing parents. An existing directory is not an error. */
int wz_file_mkdirs(const char *path, unsigned mode, struct wz_err *err);

/* All of `bytes` to the descriptor; -errno. Interrupted and short writes are continued. */
int wz_fd_write_all(int fd, struct wz_str bytes);

#endif
