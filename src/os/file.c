/* SPDX-License-Identifier: Apache-2.0 */
/* Reading grows the buffer by what fstat says, but believes only read(): pipes and /proc files have no size. Writing
 * follows the order that survives a crash: data, fsync, rename, fsync of the directory. */
#include "os/file.h"

#include "base/check.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

struct errno_text {
	int code;
	const char *reason, *text;
};

static const struct errno_text errno_texts[] = {
        {-ENOENT, "NotFound", "no such file or directory"},
        {-EACCES, "NoPermission", "permission denied"},
        {-EPERM, "NoPermission", "operation not permitted"},
        {-EROFS, "NoPermission", "the file system is read-only"},
        {-EISDIR, "IsDirectory", "is a directory; expected a file"},
        {-ENOTDIR, "NotADirectory", "a part of the path is not a directory"},
        {-EEXIST, "NotADirectory", "exists and is not a directory"},
        {-E2BIG, "TooLarge", "too large"},
        {-ENODATA, "EmptyFile", "the file is empty"},
        {-ENOSPC, "NoSpace", "no space left on the device"},
        {-EDQUOT, "NoSpace", "disk quota exceeded"},
        {-ENOMEM, "OutOfMemory", "out of memory"},
        {-ENAMETOOLONG, "FileError", "the name is too long"},
        {-EMFILE, "FileError", "too many open files"},
        {-EIO, "FileError", "input/output error"},
        {-EPIPE, "FileError", "the reader has gone"},
};

int wz_file_err(struct wz_err *err, int code, const char *what, const char *path)
{
	const char *reason = "FileError";
	char other[64] = "unknown error";
	const char *text = other;
	for (size_t i = 0; i < WZ_ARRAY_LEN(errno_texts); i++) {
		if (errno_texts[i].code == code) {
			reason = errno_texts[i].reason;
			text = errno_texts[i].text;
		}
	}
	if (text == other) {
		const char *desc = strerrordesc_np(-code);
		if (desc)
			text = desc;
	}
	return wz_err_set(err, code, reason, WZ_STR("cannot "), wz_str(what), WZ_STR(" "), wz_str(path),
	        WZ_STR(": "), wz_str(text));
}

static int too_large(struct wz_err *err, const char *path, size_t max_bytes)
{
	struct wz_num n;
	return wz_err_set(err, -E2BIG, "TooLarge", WZ_STR("cannot read "), wz_str(path), WZ_STR(": larger than "),
	        wz_str_u64(&n, max_bytes), WZ_STR(" bytes, the most that is accepted here"));
}

static int text_reserve(struct wz_file_text *t, size_t need)
{
	if (need <= t->cap)
		return 0;
	size_t cap = t->cap ? t->cap : 65536;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	char *p = t->mem->resize(t->mem->ctx, t->data, t->cap, cap);
	if (!p)
		return -ENOMEM;
	t->data = p;
	t->cap = cap;
	return 0;
}

/* Reads at most max_bytes + 1, so that one byte too many is seen. */
static int read_all(int fd, size_t max_bytes, size_t hint, struct wz_file_text *t)
{
	if (text_reserve(t, hint) < 0)
		return -ENOMEM;
	for (;;) {
		if (t->len > max_bytes)
			return -E2BIG;
		if (t->len == t->cap && text_reserve(t, t->len + 1) < 0)
			return -ENOMEM;
		size_t room = t->cap - t->len;
		ssize_t n = read(fd, t->data + t->len, room < (1u << 30) ? room : (1u << 30));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		t->len += (size_t)n;
	}
}

int wz_file_read(
        const char *path, size_t max_bytes, const struct wz_mem *mem, struct wz_file_text *ret, struct wz_err *err)
{
	bool from_stdin = strcmp(path, "-") == 0;
	const char *shown = from_stdin ? "standard input" : path;
	int fd = from_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return wz_file_err(err, -errno, "read", shown);
	struct wz_file_text t = {.mem = mem};
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? -errno : 0;
	size_t hint = 0;
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = -EISDIR;
	if (rc == 0 && S_ISREG(st.st_mode)) {
		if ((uintmax_t)st.st_size > max_bytes)
			rc = -E2BIG;
		else
			hint = (size_t)st.st_size + 1;
	}
	if (rc == 0)
		rc = read_all(fd, max_bytes, hint, &t);
	if (!from_stdin)
		close(fd);
	if (rc == 0 && t.len == 0)
		rc = -ENODATA;
	if (rc < 0) {
		wz_file_text_release(&t);
		return rc == -E2BIG ? too_large(err, shown, max_bytes) : wz_file_err(err, rc, "read", shown);
	}
	*ret = t;
	return 0;
}

void wz_file_text_release(struct wz_file_text *t)
{
	if (t->data)
		wz_mem_free(t->mem, t->data, t->cap);
	*t = (struct wz_file_text){.mem = t->mem};
}

int wz_fd_write_all(int fd, struct wz_str bytes)
{
	while (bytes.len) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	return 0;
}

/* The directory part of `path` into dir[PATH_MAX]: "." when there is none. */
static void dir_of(const char *path, char *dir)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	if (!slash) {
		dir[0] = '.';
		n = 1;
	} else if (n == 0) {
		dir[0] = '/';
		n = 1;
	} else {
		memcpy(dir, path, n);
	}
	dir[n] = 0;
}

static int sync_dir_of(const char *path)
{
	char dir[PATH_MAX];
	dir_of(path, dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Some file systems refuse to sync a directory: then there is nothing more to do. */
	int rc = fsync(fd) < 0 && errno != EINVAL && errno != EROFS ? -errno : 0;
	close(fd);
	return rc;
}

/* A device or a pipe is written to: a rename would put a file into its place. */
static int write_in_place(const char *path, struct wz_str bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int rc = wz_fd_write_all(fd, bytes);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

int wz_file_write(const char *path, struct wz_str bytes, unsigned mode, struct wz_err *err)
{
	static const char suffix[] = ".wz-XXXXXX";
	char temp[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;
	if (n + sizeof suffix > sizeof temp)
		return wz_file_err(err, -ENAMETOOLONG, "write", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		int rc = S_ISDIR(st.st_mode) ? -EISDIR : write_in_place(path, bytes);
		return rc < 0 ? wz_file_err(err, rc, "write", path) : 0;
	}
	memcpy(temp, path, n);
	memcpy(temp + n, suffix, sizeof suffix);
	int fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return wz_file_err(err, -errno, "write", path);
	mode_t mask = umask(0);
	umask(mask);
	int rc = wz_fd_write_all(fd, bytes);
	if (rc == 0 && fchmod(fd, (mode_t)mode & ~mask) < 0)
		rc = -errno;
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(temp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(temp);
		return wz_file_err(err, rc, "write", path);
	}
	rc = sync_dir_of(path);
	return rc < 0 ? wz_file_err(err, rc, "write", path) : 0;
}

int wz_file_mkdirs(const char *path, unsigned mode, struct wz_err *err)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;
	if (n >= sizeof part)
		return wz_file_err(err, -ENAMETOOLONG, "create", path);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, (mode_t)mode) < 0 && errno != EEXIST) {
			/* On a read-only or forbidden parent an existing directory answers EROFS or EACCES. */
			int rc = -errno;
			if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
				return wz_file_err(err, rc, "create", path);
		}
	}
	if (stat(path, &st) < 0)
		return wz_file_err(err, -errno, "create", path);
	return S_ISDIR(st.st_mode) ? 0 : wz_file_err(err, -EEXIST, "create", path);
}
