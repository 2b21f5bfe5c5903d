/* SPDX-License-Identifier: Apache-2.0 */
/* The unix socket: who may take it over, who may not, and what the kernel says of the peer. */
#include "net.h"
#include "tap.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[] = "/tmp/wz-sock-XXXXXX", path[100];

static void put(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", dir, name);
}

static bool exists(const char *p)
{
	struct stat st;
	return lstat(p, &st) == 0;
}

static void test_paths(void)
{
	struct wz_unix_socket s;
	struct wz_err err = {0};
	char longest[200];
	tap_eq_i64(wz_unix_listen("relative/s", 0600, (gid_t)-1, &s, &err), -ENAMETOOLONG, "relative");
	tap_eq_i64(wz_unix_listen("", 0600, (gid_t)-1, &s, &err), -ENAMETOOLONG, "empty");
	tap_eq_i64(wz_unix_listen("/tmp/", 0600, (gid_t)-1, &s, &err), -ENAMETOOLONG, "a directory");
	put("");
	size_t n = strlen(path);
	memcpy(longest, path, n);
	memset(longest + n, 'x', 108 - n);
	longest[108] = 0;
	tap_eq_i64(wz_unix_listen(longest, 0600, (gid_t)-1, &s, &err), -ENAMETOOLONG, "108 bytes");
	tap_eq_str(wz_str(err.reason), WZ_STR("SocketPath"), "says so");
	longest[107] = 0;
	tap_eq_i64(wz_unix_listen(longest, 0600, (gid_t)-1, &s, &err), 0, "107 bytes: %s", err.text);
	tap_ok(exists(longest), "it is there");
	int fd = net_unix(longest);
	tap_ok(fd >= 0, "one can connect");
	close(fd);
	wz_unix_close(&s);
	tap_ok(!exists(longest), "and gone");
	memcpy(longest + 107, ".lock", 6);
	unlink(longest);
	tap_eq_i64(
	        wz_unix_listen("/tmp/wz-test.sock", 0600, (gid_t)-1, &s, &err), -EPERM, "a directory of everybody");
	tap_eq_str(wz_str(err.reason), WZ_STR("UnsafeDirectory"), "says so");
	tap_eq_i64(wz_unix_listen("/nowhere/at/all", 0600, (gid_t)-1, &s, &err), -ENOENT, "no such directory");
}

static void test_takeover(void)
{
	struct wz_unix_socket a, b;
	struct wz_err err = {0};
	struct stat st;
	put("new/s");
	tap_require(wz_unix_listen(path, 0620, (gid_t)-1, &a, &err) == 0, "the directory is made: %s", err.text);
	tap_ok(lstat(path, &st) == 0 && (st.st_mode & 07777) == 0620 && S_ISSOCK(st.st_mode),
	        "the mode is what was asked");
	tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), -EADDRINUSE, "a second daemon");
	tap_eq_str(wz_str(err.reason), WZ_STR("AlreadyRunning"), "says so");
	int fd = net_unix(path);
	tap_ok(fd >= 0, "the first is unharmed");
	close(fd);
	/* The first is killed: its socket stays, its lock does not. */
	close(a.fd);
	close(a.lock_fd);
	tap_ok(exists(path), "a stale socket");
	tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), 0, "is taken over: %s", err.text);
	/* The old one, were it still to close, must not remove the new one's name. */
	a.fd = a.lock_fd = -1;
	wz_unix_close(&a);
	tap_ok(exists(path), "only its maker removes it");
	wz_unix_close(&b);
	/* Somebody else's live socket without our lock. */
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	memcpy(sa.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	tap_ok(bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 && listen(fd, 1) == 0, "a foreign listener");
	tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), -EADDRINUSE, "is not replaced");
	close(fd);
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), -EEXIST, "a file is not replaced");
	unlink(path);
	tap_eq_i64(symlink("/etc/passwd", path), 0, "symlink");
	tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), -EEXIST, "a symlink is not followed");
	unlink(path);
	/* The lock file as a symlink. */
	char lock[120], victim[120];
	snprintf(lock, sizeof lock, "%s.lock", path);
	snprintf(victim, sizeof victim, "%s/victim", dir);
	unlink(lock);
	tap_eq_i64(symlink(victim, lock), 0, "symlink");
	tap_ok(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err) < 0 && !exists(victim), "the lock is no symlink");
	unlink(lock);
	put("new");
	tap_eq_i64(chmod(path, 0775), 0, "chmod");
	tap_eq_i64(chown(path, (uid_t)-1, geteuid() == 0 ? 12345 : getegid()), 0, "chown");
	put("new/s");
	if (geteuid() == 0)
		tap_eq_i64(wz_unix_listen(path, 0600, (gid_t)-1, &b, &err), -EPERM,
		        "a directory that a group can write");
	put("new");
	rmdir(path);
}

static void test_adopt(void)
{
	struct wz_unix_socket s;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	tap_eq_i64(wz_unix_adopt(fd, &s, NULL), -ENOTSOCK, "does not listen");
	put("adopted");
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	memcpy(sa.sun_path, path, strlen(path));
	tap_ok(bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 && listen(fd, 1) == 0, "listens");
	tap_eq_i64(wz_unix_adopt(fd, &s, NULL), 0, "adopted");
	wz_unix_close(&s);
	tap_ok(exists(path), "its name is systemd's");
	unlink(path);
}

/* A child of another user connects; the kernel says who it was. */
static void test_peer(void)
{
	struct wz_unix_socket s;
	struct wz_peer p;
	put("peer");
	if (geteuid() != 0)
		tap_skip("needs root to become another user");
	tap_require(wz_unix_listen(path, 0666, (gid_t)-1, &s, NULL) == 0, "listen");
	tap_eq_i64(chmod(dir, 0755), 0, "chmod");
	pid_t pid = fork();
	if (pid == 0) {
		gid_t groups[] = {4242, 4343};
		if (setgroups(2, groups) < 0 || setgid(1234) < 0 || setuid(2345) < 0)
			_exit(1);
		int fd = net_unix(path);
		char byte;
		_exit(fd < 0 || read(fd, &byte, 1) != 0);
	}
	struct pollfd w = {.fd = s.fd, .events = POLLIN};
	poll(&w, 1, NET_PATIENCE_MS);
	int fd = accept(s.fd, NULL, NULL);
	int rc = wz_peer_of(fd, &p);
	close(fd);
	int status = -1;
	waitpid(pid, &status, 0);
	tap_require(rc == 0 && status == 0, "peer: %d, child: %d", rc, status);
	tap_ok(p.local && p.uid == 2345 && p.gid == 1234 && p.pid == pid, "ids: %u %u %d", p.uid, p.gid, p.pid);
	tap_ok(wz_peer_in_group(&p, 1234) && wz_peer_in_group(&p, 4242) && wz_peer_in_group(&p, 4343), "groups");
	tap_ok(!wz_peer_in_group(&p, 0) && !wz_peer_in_group(&p, 4444), "no other group");
	wz_unix_close(&s);
}

static void test_tcp(void)
{
	struct wz_err err = {0};
	struct wz_peer p;
	int a = -1, b = -1;
	char address[40];
	static const char *const bad[] = {"", "x", "localhost:1", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
	        "127.0.0.1:-1", "[::1:80", "::1:80", "1.2.3:80", "[127.0.0.1]:80"};
	for (size_t i = 0; i < WZ_ARRAY_LEN(bad); i++)
		tap_eq_i64(wz_tcp_listen(bad[i], &a, &err), -EINVAL, "%s", bad[i]);
	tap_require(wz_tcp_listen("127.0.0.1:0", &a, &err) == 0, "any port: %s", err.text);
	snprintf(address, sizeof address, "127.0.0.1:%u", wz_sock_port(a));
	tap_eq_i64(wz_tcp_listen(address, &b, &err), -EADDRINUSE, "a port that is taken");
	int c = net_tcp(wz_sock_port(a)), fd = accept4(a, NULL, NULL, 0);
	if (fd < 0) {
		struct pollfd w = {.fd = a, .events = POLLIN};
		poll(&w, 1, NET_PATIENCE_MS);
		fd = accept(a, NULL, NULL);
	}
	tap_ok(wz_peer_of(fd, &p) == 0 && !p.local && p.uid == (uid_t)-1, "nobody the kernel knows");
	tap_ok(wz_str_starts(wz_str(p.address), WZ_STR("127.0.0.1:")), "%s", p.address);
	tap_ok(!wz_peer_in_group(&p, (gid_t)-1), "of no group");
	close(c);
	close(fd);
	close(a);
}

int main(void)
{
	wz_check(mkdtemp(dir));
	tap_run(test_paths);
	tap_run(test_takeover);
	tap_run(test_adopt);
	tap_run(test_peer);
	tap_run(test_tcp);
	put("peer.lock");
	unlink(path);
	rmdir(dir);
	return tap_done();
}
