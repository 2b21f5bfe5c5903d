/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a directory tree that somebody else may be changing at the same time: every step goes through a descriptor of
 * the directory itself and never through a symbolic link, so nothing outside is touched. */
#ifndef WZ_OS_TREE_H
#define WZ_OS_TREE_H

#define WZ_TREE_DEPTH_MAX 64

/* Removes `name` in dirfd, a file or a whole directory. 0, also when there is none; -ENOTEMPTY when something deeper than
 * WZ_TREE_DEPTH_MAX or newly made is left; -errno. */
int wz_tree_remove(int dirfd, const char *name);

#endif
