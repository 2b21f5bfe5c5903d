/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sock.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 512

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

static int sock_err(struct wz_err *err, int code, const char *what, const char *path)
{
	const char *why = strerrordesc_np(-code);
	return wz_err_set(err, code, code == -EACCES || code == -EPERM ? "NoPermission" : "SocketFailed",
	        WZ_STR("cannot "), wz_str(what), WZ_STR(" "), wz_str(path), WZ_STR(": "),
	        wz_str(why ? why : "error"));
}

/* Opens the directory of `path` and judges it. */
static int safe_dir(const char *path, struct wz_err *err)
{
	char dir[WZ_SOCK_PATH_MAX + 1];
	struct stat st;
	size_t len = (size_t)(strrchr(path, '/') - path);
	if (len == 0)
		len = 1;
	memcpy(dir, path, len);
	dir[len] = 0;
	if (stat(dir, &st) < 0 && errno == ENOENT) {
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return sock_err(err, -errno, "make the directory", dir);
	}
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sock_err(err, -errno, "open the directory", dir);
	int rc = fstat(fd, &st);
	if (rc < 0) {
		rc = -errno;
		close(fd);
		return sock_err(err, rc, "look at", dir);
	}
	bool alien = st.st_uid != 0 && st.st_uid != geteuid();
	if (alien || st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != 0)) {
		close(fd);
		return wz_err_set(err, -EPERM, "UnsafeDirectory", WZ_STR("the directory "), wz_str(dir),
		        alien ? WZ_STR(" belongs to another user")
		              : WZ_STR(" can be written by others, who could replace the socket"),
		        WZ_STR("; use a directory of your own, such as /run/whalezen or "
		               "$XDG_RUNTIME_DIR/whalezen"));
	}
	return fd;
}

static int take_lock(int dir_fd, const char *name, const char *path, int *ret_fd, struct wz_err *err)
{
	char lock[WZ_SOCK_PATH_MAX + 8];
	struct wz_buf b;
	wz_buf_init_fixed(&b, lock, sizeof lock);
	wz_buf_addz(&b, name);
	wz_buf_addz(&b, ".lock");
	int fd = openat(dir_fd, wz_buf_z(&b), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sock_err(err, -errno, "make the lock file of", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int code = -errno;
		close(fd);
		if (code == -EWOULDBLOCK)
			return wz_err_set(err, -EADDRINUSE, "AlreadyRunning", WZ_STR("another daemon listens at "),
			        wz_str(path), WZ_STR(" (it holds "), wz_str(path),
			        WZ_STR(".lock); stop it, or choose another socket"));
		return sock_err(err, code, "lock", path);
	}
	*ret_fd = fd;
	return 0;
}

/* With the lock held: what is at the name may be a dead socket or nothing. A live one without our lock is somebody
 * else's program. */
static int check_old(int dir_fd, const char *name, const struct sockaddr_un *sa, struct wz_err *err)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : sock_err(err, -errno, "look at", sa->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return wz_err_set(err, -EEXIST, "NotASocket", wz_str(sa->sun_path),
		        WZ_STR(" exists and is not a socket; move it away or choose another name"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sock_err(err, -errno, "make a socket for", sa->sun_path);
	int rc = connect(fd, (const struct sockaddr *)sa, sizeof *sa);
	int code = rc < 0 ? errno : 0;
	close(fd);
	if (code == 0 || code == EAGAIN)
		return wz_err_set(err, -EADDRINUSE, "AlreadyRunning", WZ_STR("another program listens at "),
		        wz_str(sa->sun_path), WZ_STR("; stop it, or choose another socket"));
	return 0;
}

static int bind_new(int dir_fd, const char *name, const struct sockaddr_un *sa, mode_t mode, gid_t gid,
        struct wz_unix_socket *s, struct wz_err *err)
{
	/* "/proc/self/fd/N/.wz.PID": relative to the directory that was judged, and short however long PATH is. */
	struct sockaddr_un tmp = {.sun_family = AF_UNIX};
	struct wz_buf b;
	struct stat st;
	char tmp_name[40];
	wz_buf_init_fixed(&b, tmp_name, sizeof tmp_name);
	wz_buf_addz(&b, ".wz.");
	wz_buf_add_u64(&b, (uint64_t)getpid());
	wz_buf_z(&b);
	wz_buf_init_fixed(&b, tmp.sun_path, sizeof tmp.sun_path);
	wz_buf_addz(&b, "/proc/self/fd/");
	wz_buf_add_u64(&b, (uint64_t)dir_fd);
	wz_buf_addc(&b, '/');
	wz_buf_addz(&b, tmp_name);
	wz_buf_z(&b);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return sock_err(err, -errno, "make a socket for", sa->sun_path);
	unlinkat(dir_fd, tmp_name, 0);
	if (bind(s->fd, (struct sockaddr *)&tmp, sizeof tmp) < 0)
		return sock_err(err, -errno, "bind", sa->sun_path);
	if (fchmodat(dir_fd, tmp_name, mode, 0) < 0 ||
	        (gid != (gid_t)-1 && fchownat(dir_fd, tmp_name, (uid_t)-1, gid, AT_SYMLINK_NOFOLLOW) < 0) ||
	        listen(s->fd, BACKLOG) < 0 || fstatat(dir_fd, tmp_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	        renameat(dir_fd, tmp_name, dir_fd, name) < 0) {
		int code = -errno;
		unlinkat(dir_fd, tmp_name, 0);
		return sock_err(err, code, "set up", sa->sun_path);
	}
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

int wz_unix_listen(const char *path, mode_t mode, gid_t gid, struct wz_unix_socket *ret, struct wz_err *err)
{
	struct wz_unix_socket s = {.fd = -1, .lock_fd = -1};
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (len == 0 || len > WZ_SOCK_PATH_MAX || path[0] != '/' || path[len - 1] == '/') {
		struct wz_num n;
		return wz_err_set(err, -ENAMETOOLONG, "SocketPath", WZ_STR("the socket path "), wz_str(path),
		        WZ_STR(" must be absolute and of at most "), wz_str_u64(&n, WZ_SOCK_PATH_MAX),
		        WZ_STR(" bytes (a limit of the kernel); choose a shorter one"));
	}
	memcpy(sa.sun_path, path, len);
	const char *name = strrchr(path, '/') + 1;
	int dir_fd = safe_dir(path, err);
	if (dir_fd < 0)
		return dir_fd;
	int rc = take_lock(dir_fd, name, path, &s.lock_fd, err);
	if (rc == 0)
		rc = check_old(dir_fd, name, &sa, err);
	if (rc == 0)
		rc = bind_new(dir_fd, name, &sa, mode, gid, &s, err);
	close(dir_fd);
	if (rc < 0) {
		if (s.fd >= 0)
			close(s.fd);
		if (s.lock_fd >= 0)
			close(s.lock_fd);
		return rc;
	}
	memcpy(s.path, path, len + 1);
	*ret = s;
	return 0;
}

int wz_unix_adopt(int fd, struct wz_unix_socket *ret, struct wz_err *err)
{
	int listening = 0;
	socklen_t len = sizeof listening;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening)
		return wz_err_set(err, -ENOTSOCK, "NotASocket",
		        WZ_STR("the inherited descriptor is not a listening socket; check the .socket unit"));
	int domain = 0;
	len = sizeof domain;
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_UNIX)
		return wz_err_set(err, -ENOTSOCK, "NotASocket",
		        WZ_STR("the inherited socket is not a unix socket; TCP belongs to `listen` of the "
		               "configuration"));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	*ret = (struct wz_unix_socket){.fd = fd, .lock_fd = -1};
	return 0;
}

void wz_unix_close(struct wz_unix_socket *s)
{
	struct stat st;
	if (s->path[0] && lstat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
		unlink(s->path);
	if (s->fd >= 0)
		close(s->fd);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	*s = (struct wz_unix_socket){.fd = -1, .lock_fd = -1};
}

/* ---- TCP ---- */

union any_address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

static int parse_address(const char *address, union any_address *ret, socklen_t *ret_len)
{
	char host[64];
	const char *colon = strrchr(address, ':');
	uint64_t port;
	if (!colon || wz_str_parse_u64(wz_str(colon + 1), &port) < 0 || port > 65535)
		return -EINVAL;
	struct wz_str h = {address, (size_t)(colon - address)};
	bool v6 = h.len >= 2 && h.ptr[0] == '[' && h.ptr[h.len - 1] == ']';
	if (v6)
		h = (struct wz_str){h.ptr + 1, h.len - 2};
	if (h.len >= sizeof host)
		return -EINVAL;
	memcpy(host, h.ptr, h.len);
	host[h.len] = 0;
	memset(ret, 0, sizeof *ret);
	if (v6) {
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_port = htons((uint16_t)port);
		*ret_len = sizeof ret->in6;
		return inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	ret->in.sin_family = AF_INET;
	ret->in.sin_port = htons((uint16_t)port);
	*ret_len = sizeof ret->in;
	return inet_pton(AF_INET, host, &ret->in.sin_addr) == 1 ? 0 : -EINVAL;
}

int wz_tcp_listen(const char *address, int *ret_fd, struct wz_err *err)
{
	union any_address a;
	socklen_t len;
	int one = 1;
	if (parse_address(address, &a, &len) < 0)
		return wz_err_set(err, -EINVAL, "BadAddress", WZ_STR("cannot listen at \""), wz_str(address),
		        WZ_STR("\": expected ADDRESS:PORT in numbers, such as 127.0.0.1:8443 or [::]:8443"));
	int fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sock_err(err, -errno, "make a socket for", address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (a.sa.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (bind(fd, &a.sa, len) < 0 || listen(fd, BACKLOG) < 0) {
		int code = -errno;
		close(fd);
		if (code == -EADDRINUSE)
			return wz_err_set(err, code, "AlreadyRunning", WZ_STR("cannot listen at "), wz_str(address),
			        WZ_STR(": another program does; choose another port"));
		return sock_err(err, code, "listen at", address);
	}
	*ret_fd = fd;
	return 0;
}

uint16_t wz_sock_port(int fd)
{
	union any_address a;
	socklen_t len = sizeof a;
	if (getsockname(fd, &a.sa, &len) < 0)
		return 0;
	if (a.sa.sa_family == AF_INET)
		return ntohs(a.in.sin_port);
	return a.sa.sa_family == AF_INET6 ? ntohs(a.in6.sin6_port) : 0;
}

/* ---- the peer ---- */

static int local_peer(int fd, struct wz_peer *p)
{
	struct ucred cred;
	socklen_t len = sizeof cred;
	struct wz_buf b;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	p->local = true;
	p->uid = cred.uid;
	p->gid = cred.gid;
	p->pid = cred.pid;
	len = sizeof p->groups;
	/* More groups than we keep (ERANGE), or a kernel before 4.13: the primary one counts alone. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, p->groups, &len) == 0)
		p->n_groups = (uint32_t)(len / sizeof p->groups[0]);
	wz_buf_init_fixed(&b, p->address, sizeof p->address);
	wz_buf_addz(&b, "unix:pid=");
	wz_buf_add_i64(&b, cred.pid);
	wz_buf_addz(&b, ",uid=");
	wz_buf_add_u64(&b, cred.uid);
	wz_buf_z(&b);
	return 0;
}

int wz_peer_of(int fd, struct wz_peer *ret)
{
	struct wz_peer p = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	union any_address a;
	socklen_t len = sizeof a;
	struct wz_buf b;
	char host[INET6_ADDRSTRLEN] = "";
	int rc = 0;
	if (getpeername(fd, &a.sa, &len) < 0)
		return -errno;
	if (a.sa.sa_family == AF_UNIX) {
		rc = local_peer(fd, &p);
	} else {
		bool v6 = a.sa.sa_family == AF_INET6;
		inet_ntop(
		        a.sa.sa_family, v6 ? (void *)&a.in6.sin6_addr : (void *)&a.in.sin_addr, host, sizeof host);
		wz_buf_init_fixed(&b, p.address, sizeof p.address);
		wz_buf_addz(&b, v6 ? "[" : "");
		wz_buf_addz(&b, host);
		wz_buf_addz(&b, v6 ? "]:" : ":");
		wz_buf_add_u64(&b, ntohs(v6 ? a.in6.sin6_port : a.in.sin_port));
		wz_buf_z(&b);
	}
	if (rc == 0)
		*ret = p;
	return rc;
}

bool wz_peer_in_group(const struct wz_peer *p, gid_t gid)
{
	if (!p->local)
		return false;
	if (p->gid == gid)
		return true;
	for (uint32_t i = 0; i < p->n_groups; i++) {
		if (p->groups[i] == gid)
			return true;
	}
	return false;
}
