/* SPDX-License-Identifier: Apache-2.0 */
/* A load of submits on a daemon's socket: connections that each wait for their answer before they send the next.
 *
 *	bench_load SOCKET CONNECTIONS SECONDS|=COUNT BODY	prints {"acknowledged":N,"per_s":X,"p50_us":..,"p99_us":..,"refused":N}
 *	bench_load --stamp FILE					appends the monotonic clock to FILE, in microseconds: a job that
 *								says when it started
 *	bench_load --clock					prints it
 *	bench_load --disk DIR SECONDS				4 KiB and fdatasync, one after the other: {"per_s":X,"p50_us":..}
 */
#include "base/check.h"
#include "os/clock.h"
#include "os/mem.h"

#include "base/str.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECTIONS_MAX 512u

struct conn {
	int fd;
	uint64_t sent_ns;
	char in[8192];
	size_t have;
};
struct load {
	struct conn conn[CONNECTIONS_MAX];
	unsigned n;
	char request[65536];
	size_t request_len;
	uint64_t done, refused, sent, most, until_ns;
	uint32_t *took_us;
	uint32_t cap;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static int dial(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof a) < 0)
		die(path);
	return fd;
}

static bool send_next(struct load *l, struct conn *c)
{
	if (l->sent >= l->most || wz_clock_monotonic_ns() >= l->until_ns)
		return false;
	c->sent_ns = wz_clock_monotonic_ns();
	c->have = 0;
	l->sent++;
	if (send(c->fd, l->request, l->request_len, MSG_NOSIGNAL) != (ssize_t)l->request_len)
		die("send");
	return true;
}

/* True when a whole answer is there. */
static bool receive(struct load *l, struct conn *c)
{
	ssize_t n = recv(c->fd, c->in + c->have, sizeof c->in - 1 - c->have, 0);
	const char *body, *length;
	uint64_t len = 0;
	if (n <= 0)
		die("the daemon has hung up");
	c->have += (size_t)n;
	c->in[c->have] = 0;
	body = strstr(c->in, "\r\n\r\n");
	length = strcasestr(c->in, "content-length:");
	if (!body || !length)
		return false;
	for (length += 15; *length == ' '; length++)
		;
	for (; *length >= '0' && *length <= '9'; length++)
		len = len * 10 + (uint64_t)(*length - '0');
	if (c->have < (size_t)(body + 4 - c->in) + len)
		return false;
	if (strncmp(c->in + 9, "201", 3) != 0) {
		if (!l->refused++)
			(void)fprintf(stderr, "%s\n", c->in);
		return true;
	}
	if (l->done < l->cap)
		l->took_us[l->done] = (uint32_t)((wz_clock_monotonic_ns() - c->sent_ns) / 1000);
	l->done++;
	return true;
}

static int run(int argc, char **argv)
{
	static struct load l;
	static struct pollfd p[CONNECTIONS_MAX];
	uint64_t n = 0, seconds = 0;
	bool counted = argv[3][0] == '=';
	if (argc != 5 || wz_str_parse_u64(wz_str(argv[2]), &n) < 0 || !n || n > CONNECTIONS_MAX ||
	        wz_str_parse_u64(wz_str(argv[3] + counted), &seconds) < 0)
		return 2;
	l.n = (unsigned)n;
	l.cap = 4000000;
	l.took_us = malloc(l.cap * sizeof *l.took_us);
	int len = snprintf(l.request, sizeof l.request,
	        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
	        "%zu\r\n\r\n%s",
	        strlen(argv[4]), argv[4]);
	if (!l.took_us || len < 0 || (size_t)len >= sizeof l.request)
		return 2;
	l.request_len = (size_t)len;
	uint64_t began = wz_clock_monotonic_ns();
	l.most = counted ? seconds : UINT64_MAX;
	l.until_ns = counted ? UINT64_MAX : began + seconds * 1000000000u;
	unsigned open = 0;
	for (unsigned i = 0; i < l.n; i++) {
		l.conn[i].fd = dial(argv[1]);
		bool sent = send_next(&l, &l.conn[i]);
		p[i] = (struct pollfd){.fd = sent ? l.conn[i].fd : -1, .events = POLLIN};
		open += sent;
	}
	while (open && poll(p, l.n, 60000) > 0)
		for (unsigned i = 0; i < l.n; i++)
			if (p[i].revents && receive(&l, &l.conn[i]) && !send_next(&l, &l.conn[i])) {
				p[i].fd = -1;
				open--;
			}
	double took = (double)(wz_clock_monotonic_ns() - began) / 1e9;
	uint32_t k = l.done < l.cap ? (uint32_t)l.done : l.cap;
	qsort(l.took_us, k, sizeof *l.took_us, by_size);
	printf("{\"acknowledged\":%llu,\"per_s\":%.0f,\"p50_us\":%u,\"p99_us\":%u,\"refused\":%llu}\n",
	        (unsigned long long)l.done, (double)l.done / took, k ? l.took_us[k / 2] : 0,
	        k ? l.took_us[(uint64_t)k * 99 / 100] : 0, (unsigned long long)l.refused);
	return l.refused != 0;
}

static int stamp(const char *path)
{
	char text[32];
	int n = snprintf(text, sizeof text, "%llu\n", (unsigned long long)(wz_clock_monotonic_ns() / 1000));
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 || write(fd, text, (size_t)n) != n;
}

static int disk(const char *dir, const char *arg)
{
	static char page[4096];
	char path[4096];
	uint64_t seconds = 0;
	uint32_t n = 0, cap = 1000000, *took = malloc(cap * sizeof *took);
	(void)snprintf(path, sizeof path, "%s/disk", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (!took || fd < 0 || wz_str_parse_u64(wz_str(arg), &seconds) < 0)
		return 2;
	uint64_t began = wz_clock_monotonic_ns(), now = began;
	while (now - began < seconds * 1000000000u && n < cap) {
		uint64_t at = now;
		if (pwrite(fd, page, sizeof page, (off_t)(n % 256) * 4096) != (ssize_t)sizeof page ||
		        fdatasync(fd) < 0)
			die("write");
		now = wz_clock_monotonic_ns();
		took[n++] = (uint32_t)((now - at) / 1000);
	}
	qsort(took, n, sizeof *took, by_size);
	printf("{\"per_s\":%.0f,\"p50_us\":%u}\n", (double)n * 1e9 / (double)(now - began), n ? took[n / 2] : 0);
	(void)unlink(path);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--stamp") == 0)
		return stamp(argv[2]);
	if (argc == 2 && strcmp(argv[1], "--clock") == 0)
		return printf("%llu\n", (unsigned long long)(wz_clock_monotonic_ns() / 1000)) < 0;
	if (argc == 4 && strcmp(argv[1], "--disk") == 0)
		return disk(argv[2], argv[3]);
	if (argc == 5)
		return run(argc, argv);
	(void)fprintf(stderr, "usage: bench_load SOCKET CONNECTIONS SECONDS|=COUNT BODY\n");
	return 2;
}
