/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of servers: a loop on a thread of its own, and blocking raw sockets with a patience, so that a test never
 * hangs and never sleeps. */
#ifndef WZ_TESTS_NET_H
#define WZ_TESTS_NET_H

#include "base/check.h"
#include "os/http.h"
#include "os/mem.h"
#include "base/str.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NET_PATIENCE_MS 10000

/* ---- a loop on a thread ---- */
struct net_loop {
	struct wz_loop *loop;
	pthread_t thread;
};

static void *net_loop_main(void *ctx)
{
	struct net_loop *n = ctx;
	wz_check(wz_loop_run(n->loop) == 0);
	return NULL;
}

static inline void net_loop_start(struct net_loop *n)
{
	wz_check(pthread_create(&n->thread, NULL, net_loop_main, n) == 0);
}

/* Runs fn(ctx) on the loop's thread and waits for its end. */
struct net_call {
	wz_loop_fn *fn;
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool over;
};
static void net_call_main(void *ctx)
{
	struct net_call *c = ctx;
	c->fn(c->ctx);
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_signal(&c->done);
	pthread_mutex_unlock(&c->lock);
}
static inline void net_loop_call(struct net_loop *n, wz_loop_fn *fn, void *ctx)
{
	struct net_call c = {.fn = fn, .ctx = ctx};
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.done, NULL);
	wz_check(wz_loop_post(n->loop, net_call_main, &c) == 0);
	pthread_mutex_lock(&c.lock);
	while (!c.over)
		pthread_cond_wait(&c.done, &c.lock);
	pthread_mutex_unlock(&c.lock);
}

static inline void net_loop_end(struct net_loop *n)
{
	wz_loop_stop(n->loop);
	pthread_join(n->thread, NULL);
}

/* ---- raw sockets ---- */
static inline int net_unix(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	memcpy(sa.sun_path, path, strlen(path));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline int net_tcp(uint16_t port)
{
	struct sockaddr_in sa = {
	        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&sa, sizeof sa) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline bool net_send(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static inline bool net_sendz(int fd, const char *z)
{
	return net_send(fd, z, strlen(z));
}

/* Reads until the peer closes, `until` is seen, or patience ends. The text is terminated. Returns its length. */
static inline size_t net_read_until(int fd, char *to, size_t cap, const char *until)
{
	size_t len = 0;
	to[0] = 0;
	while (len + 1 < cap && !(until && memmem(to, len, until, strlen(until)))) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, NET_PATIENCE_MS) <= 0)
			break;
		ssize_t n = recv(fd, to + len, cap - 1 - len, 0);
		if (n <= 0)
			break;
		len += (size_t)n;
		to[len] = 0;
	}
	return len;
}

/* True when the peer closes (or resets) within the patience; what comes before is dropped. */
static inline bool net_closed(int fd)
{
	char drop[4096];
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		if (poll(&p, 1, NET_PATIENCE_MS) <= 0)
			return false;
		if (recv(fd, drop, sizeof drop, 0) <= 0)
			return true;
	}
}

static inline unsigned net_status(const char *answer)
{
	uint64_t v = 0;
	if (!wz_str_starts(wz_str(answer), WZ_STR("HTTP/1.1 ")))
		return 0;
	return wz_str_parse_u64((struct wz_str){answer + 9, 3}, &v) == 0 ? (unsigned)v : 0;
}

/* Sends one request, closes our half, reads all of the answer. */
static inline unsigned net_once(int fd, const char *bytes, size_t len, char *to, size_t cap)
{
	wz_check(fd >= 0);
	net_send(fd, bytes, len);
	shutdown(fd, SHUT_WR);
	net_read_until(fd, to, cap, NULL);
	close(fd);
	return net_status(to);
}

#endif
