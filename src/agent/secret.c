/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of an attempt as files: a directory of the user's, 0700, with one file a secret, 0400, in the machine's shared memory
 * so that they are on no disk. Its name is made of the attempt's key and our user, never read from anything a job can
 * write; whoever made it before us is an error and not a friend. */
#include "agent/agent_int.h"

#include "base/check.h"
#include "os/file.h"
#include "os/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHM "/dev/shm"
#define TMPFS 0x01021994

static void name_of(const char *key, char to[128])
{
	(void)snprintf(to, 128, "whalezen-%ld-%s", (long)geteuid(), key);
}

static int in_memory(void)
{
	struct statfs f;
	int fd = open(SHM, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &f) < 0 || f.f_type != TMPFS)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int put(int dir, struct wz_str var, uid_t uid, gid_t gid)
{
	struct wz_str value = var, name = wz_str_split(&value, '=');
	char file[80];
	if (name.len == 0 || name.len >= sizeof file || memchr(name.ptr, '/', name.len) || name.ptr[0] == '.')
		return -EINVAL;
	(void)snprintf(file, sizeof file, "%.*s", (int)name.len, name.ptr);
	int fd = openat(dir, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	int rc = fd < 0 ? -errno : wz_fd_write_all(fd, value);
	if (rc == 0 && uid != (uid_t)-1 && fchown(fd, uid, gid) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

int secret_make(struct agent *a, const char *key, int run, const struct wz_str *v, uint32_t n, uid_t uid, gid_t gid,
        const char *run_path, char *ret_path, size_t cap, struct wz_err *err)
{
	char name[128] = "secrets";
	int shm = in_memory(), parent = shm >= 0 ? shm : run, rc = 0;
	(void)a;
	if (shm >= 0)
		name_of(key, name);
	(void)snprintf(ret_path, cap, "%s/%s", shm >= 0 ? SHM : run_path, name);
	if (mkdirat(parent, name, 0700) < 0)
		rc = -errno;
	int dir = rc < 0 ? -1 : openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (rc == 0 && (dir < 0 || fchmod(dir, 0700) < 0))
		rc = -errno;
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		rc = put(dir, v[i], uid, gid);
	if (rc == 0 && uid != (uid_t)-1 && fchown(dir, uid, gid) < 0)
		rc = -errno;
	if (dir >= 0)
		close(dir);
	if (shm >= 0)
		close(shm);
	return rc < 0 ? wz_file_err(err, rc, "write secrets to", ret_path) : 0;
}

void secret_unmake(struct agent *a, const char *key)
{
	char name[128];
	int shm = open(SHM, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (shm < 0)
		return;
	name_of(key, name);
	if (wz_tree_remove(shm, name) < 0)
		agent_log(a, "cannot remove the secrets of attempt", key);
	close(shm);
}
