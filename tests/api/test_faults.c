/* SPDX-License-Identifier: Apache-2.0 */
/* Fails each allocation in turn while the API starts, answers a few requests and ends: nothing crashes, nothing leaks, the
 * client gets an answer or a closed connection, and no submit that was answered with success is missing. */
#include "fake.h"
#include "fault.h"
#include "tap.h"

#include <fcntl.h>

static char dir[] = "/tmp/wz-faults-XXXXXX", path[64];

static const char requests[] = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                               "Content-Length: 37\r\n\r\n{\"argv\":[\"x\",\"y\"],\"env\":{\"A\":\"long\"}}"
                               "GET /v1/jobs?ids=1,2&state=RUNNING HTTP/1.1\r\nHost: x\r\n\r\n"
                               "GET /v1/jobs/1/logs?tail=3 HTTP/1.1\r\nHost: x\r\n\r\n"
                               "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
                               "GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
                               "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
                               "GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n";

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;
	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* All seven are answered; the last one with an event, a gap, or an error. */
static bool over(const char *answer)
{
	const char *stream = strstr(answer, "text/event-stream");
	if (stream)
		return strstr(stream, "event: job") || strstr(stream, "event: gap") ||
		       (fake.n == 0 && strstr(stream, "event: hello"));
	return count(answer, "\r\nDate: ") >= 7;
}

/* Steps the loop until all is answered, or the connection is closed. */
static void talk(struct wz_loop *loop, char *answer, size_t cap)
{
	size_t len = 0;
	int fd = net_unix(path);
	net_send(fd, requests, sizeof requests - 1);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	answer[0] = 0;
	for (int i = 0; i < 1000 && !over(answer); i++) {
		wz_loop_step(loop, 1000);
		ssize_t n = recv(fd, answer + len, cap - 1 - len, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		len += n > 0 ? (size_t)n : 0;
		answer[len] = 0;
	}
	close(fd);
}

/* One life. Returns 0 or what stopped it from starting. */
static int life(const struct wz_mem *mem, char *answer, size_t cap)
{
	struct wz_api_config cfg = wz_api_config_default;
	struct wz_unix_socket sock;
	struct wz_loop *loop;
	struct wz_err err;
	answer[0] = 0;
	memset(&fake, 0, sizeof fake);
	cfg.backend = &fake_backend;
	cfg.audit = fake_audit;
	cfg.hub.events = 16;
	int rc = wz_loop_new(mem, &loop, &err);
	if (rc < 0)
		return rc;
	rc = wz_api_new(loop, mem, &cfg, &fake.api, &err);
	if (rc == 0) {
		wz_check(wz_metrics_add_table(wz_api_metrics(fake.api), fake_metrics, 1) == 0);
		wz_check(wz_unix_listen(path, 0600, (gid_t)-1, &sock, NULL) == 0);
		wz_check(wz_http_listen(wz_api_http(fake.api), sock.fd, NULL) == 0);
		sock.fd = -1;
		talk(loop, answer, cap);
		wz_api_free(fake.api);
		wz_unix_close(&sock);
	}
	wz_loop_free(loop);
	return rc;
}

static void test_each(void)
{
	static char answer[1 << 20];
	unsigned started = 0, whole = 0;
	for (uint64_t n = 1;; n++) {
		struct fault_mem f;
		fault_mem_init(&f);
		f.fail_at = n;
		int rc = life(&f.mem, answer, sizeof answer);
		tap_ok(fault_mem_clean(&f), "leaked at allocation %" PRIu64, n);
		tap_ok(rc == 0 || rc == -ENOMEM, "start: %d", rc);
		started += rc == 0;
		whole += strstr(answer, "event: job") != NULL;
		if (strstr(answer, "201 Created"))
			tap_eq_i64(fake.n, 1, "an answered submit is there");
		if (!f.failures) {
			tap_ok(strstr(answer, "event: job") != NULL, "without a failure all is answered: %.300s",
			        answer);
			break;
		}
		tap_require(n < 5000, "it ends");
	}
	tap_ok(started > 20 && whole > 5, "the test is not vacuous: %u started, %u got all", started, whole);
}

int main(void)
{
	char lock[80];
	wz_check(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/s", dir);
	tap_run(test_each);
	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(lock);
	rmdir(dir);
	return tap_done();
}
