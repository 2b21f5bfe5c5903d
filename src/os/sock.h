/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets and who is at the other end.
 *
 * A unix socket is made so that there is no moment at which somebody else can connect, replace it, or be taken for it:
 *  - its directory must belong to root or to us and be writable by nobody else (a sticky directory such as /tmp is
 *    refused); a missing last part is made with mode 0755;
 *  - `PATH.lock` is held (flock) while the socket lives, so two daemons never share a path and a stale socket of a killed
 *    one is taken over without asking; the lock file is never removed, since removing it is the race;
 *  - it is bound under a temporary name, gets its mode and group, listens, and is then renamed over PATH.
 *
 * Errors, each text names the path and what to do: -ENAMETOOLONG "SocketPath" (more than 107 bytes, or not absolute),
 * -EADDRINUSE "AlreadyRunning" (another holds the lock, or a TCP port is taken), -EPERM "UnsafeDirectory", -EEXIST
 * "NotASocket" (something else has that name), -EACCES "NoPermission", "SocketFailed" with other errnos, "BadAddress"
 * -EINVAL. Thread rule: none shared. */
#ifndef WZ_OS_SOCK_H
#define WZ_OS_SOCK_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

#define WZ_SOCK_PATH_MAX 107u
#define WZ_PEER_GROUPS_MAX 64u

struct wz_unix_socket {
	int fd, lock_fd; /* -1: none */
	char path[WZ_SOCK_PATH_MAX + 1]; /* "" for an adopted one: not ours to remove */
	uint64_t dev, ino;
};

/* mode: 0666 lets every local user connect (the API then knows them by their uid), 0660 the group. gid: (gid_t)-1 keeps
 * ours. *ret is written on success only. */
int wz_unix_listen(const char *path, mode_t mode, gid_t gid, struct wz_unix_socket *ret, struct wz_err *err);
/* Socket activation: takes an fd that already listens. -ENOTSOCK "NotASocket". */
int wz_unix_adopt(int fd, struct wz_unix_socket *ret, struct wz_err *err);
/* Removes the name when it is still ours, gives the lock back. The fd is closed too unless it is -1 (set it to -1 when
 * a server took it). */
void wz_unix_close(struct wz_unix_socket *s);

/* "127.0.0.1:8443", "[::1]:8443"; numbers only, no names. Port 0: any, see wz_sock_port. Returns the listening fd. */
int wz_tcp_listen(const char *address, int *ret_fd, struct wz_err *err);
uint16_t wz_sock_port(int fd); /* 0 when it has none */

/* Who is at the other end of an accepted connection. */
struct wz_peer {
	bool local; /* a unix socket: uid, gid, pid, groups are the kernel's word */
	bool tls;
	uid_t uid; /* (uid_t)-1 when not local */
	gid_t gid;
	pid_t pid; /* when it connected; may have ended since */
	uint32_t n_groups;
	gid_t groups[WZ_PEER_GROUPS_MAX]; /* supplementary, as when it connected */
	char address[64]; /* "unix:pid=4711,uid=1000", "192.0.2.1:50000" */
};
int wz_peer_of(int fd, struct wz_peer *ret); /* -errno when the kernel does not say */
bool wz_peer_in_group(const struct wz_peer *p, gid_t gid);

#endif
