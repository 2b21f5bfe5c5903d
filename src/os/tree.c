/* SPDX-License-Identifier: Apache-2.0 */
/* Depth first with an explicit stack of open directories. After a child is gone the parent is read on; what appears
 * meanwhile may be missed, and then the last rmdir says so. */
#include "os/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

struct level {
	DIR *dir;
	char name[256];
};

static bool open_level(int parent, const char *name, struct level *l)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	l->dir = fd < 0 ? NULL : fdopendir(fd);
	if (!l->dir && fd >= 0)
		close(fd);
	(void)snprintf(l->name, sizeof l->name, "%s", name);
	return l->dir != NULL;
}

int wz_tree_remove(int parent, const char *name)
{
	struct level stack[WZ_TREE_DEPTH_MAX];
	int depth = 0;
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (!open_level(parent, name, &stack[0]))
		return -errno;
	while (depth >= 0) {
		int at = dirfd(stack[depth].dir);
		struct dirent *e = readdir(stack[depth].dir);
		if (!e) {
			closedir(stack[depth].dir);
			depth--;
			int up = depth < 0 ? parent : dirfd(stack[depth].dir);
			(void)unlinkat(up, stack[depth + 1].name, AT_REMOVEDIR);
			continue;
		}
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || unlinkat(at, e->d_name, 0) == 0)
			continue;
		if (depth + 1 < WZ_TREE_DEPTH_MAX && open_level(at, e->d_name, &stack[depth + 1]))
			depth++;
	}
	return faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -ENOTEMPTY : 0;
}
