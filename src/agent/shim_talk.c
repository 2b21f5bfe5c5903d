/* SPDX-License-Identifier: Apache-2.0 */
/* Who talks with the shim: agents, on DIR/ctl (spec/agent.md), and the job, on its datagram socket. */
#include "agent/shim_int.h"

#include <signal.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 8192

static void say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void shim_say_all(struct shim *s, const char *text)
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (s->client[i] >= 0)
			say(s->client[i], text);
	}
}

void shim_save(struct shim *s, bool durable)
{
	(void)wz_attempt_status_write(s->dir, &s->st, durable);
}

void shim_live_usage(struct shim *s)
{
	struct wz_cgroup_usage u;
	struct rusage r;
	wz_cgroup_usage(&s->spec.cgroup, &u);
	s->st.oom_kills = u.oom_kills;
	s->st.cpu_us = u.cpu_us;
	s->st.mem_peak_bytes = u.mem_peak_bytes;
	s->st.mem_limit_bytes = u.mem_limit_bytes;
	if (getrusage(RUSAGE_CHILDREN, &r) == 0) { /* only of those that have ended */
		if (u.cpu_us < 0)
			s->st.cpu_us = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 + r.ru_utime.tv_usec +
			               r.ru_stime.tv_usec;
		if (u.mem_peak_bytes < 0)
			s->st.mem_peak_bytes = (int64_t)r.ru_maxrss * 1024;
	}
}

static void answer(int fd, struct wz_str id, const char *text)
{
	char out[MESSAGE_MAX];
	(void)snprintf(out, sizeof out, "%.*s %s", (int)id.len, id.ptr, text);
	say(fd, out);
}

static void answer_status(struct shim *s, int fd, struct wz_str id)
{
	char text[MESSAGE_MAX - 64];
	struct wz_buf b;
	shim_live_usage(s);
	wz_buf_init_fixed(&b, text, sizeof text);
	wz_buf_addz(&b, "ok ");
	wz_attempt_status_format(&s->st, &b);
	answer(fd, id, wz_buf_z(&b));
}

/* "ID VERB ARGUMENT..." */
static void request(struct shim *s, int fd, struct wz_str text)
{
	struct wz_str id = wz_str_split(&text, ' '), verb = text.ptr ? wz_str_split(&text, ' ') : WZ_STR("");
	uint64_t a[3] = {0};
	bool stopping = wz_str_eq(verb, WZ_STR("stop"));
	unsigned want = stopping ? 3 : wz_str_eq(verb, WZ_STR("signal")) ? 1 : 0;
	char reason[32] = "";
	if (id.len > 24)
		return;
	for (unsigned i = 0; i < want; i++) {
		if (!text.ptr || wz_str_parse_u64(wz_str_split(&text, ' '), &a[i]) < 0 ||
		        (i == 0 && a[0] >= NSIG)) {
			answer(fd, id, "error BadRequest");
			return;
		}
	}
	if (text.ptr)
		(void)snprintf(reason, sizeof reason, "%.*s", (int)text.len, text.ptr);
	if (stopping)
		shim_stop(s, (int)a[0], a[1], a[2] != 0, reason);
	else if (want)
		shim_signal_all(s, (int)a[0]);
	else if (wz_str_eq(verb, WZ_STR("freeze")) && s->step == RUN)
		shim_set_frozen(s, true);
	else if (wz_str_eq(verb, WZ_STR("thaw")))
		shim_set_frozen(s, false);
	else if (wz_str_eq(verb, WZ_STR("acked")))
		shim_on_ack(s);
	else if (wz_str_eq(verb, WZ_STR("checkpoint"))) {
		if (!shim_checkpoint(s)) {
			answer(fd, id, "error NotSupported");
			return;
		}
	} else if (wz_str_eq(verb, WZ_STR("query"))) {
		answer_status(s, fd, id);
		return;
	} else {
		answer(fd, id, "error BadRequest");
		return;
	}
	answer(fd, id, "ok");
}

void shim_on_client(struct shim *s, int i)
{
	char text[1024];
	ssize_t n = recv(s->client[i], text, sizeof text, MSG_DONTWAIT);
	if (n > 0) {
		request(s, s->client[i], (struct wz_str){text, (size_t)n});
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(s->client[i]);
		s->client[i] = -1;
	}
}

bool shim_may_talk(int fd)
{
	struct ucred who;
	socklen_t len = sizeof who;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && (who.uid == 0 || who.uid == geteuid());
}

void shim_on_connect(struct shim *s)
{
	int fd = accept4(s->ctl, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	bool may = shim_may_talk(fd);
	for (int i = 0; i < CLIENTS_MAX && may; i++) {
		if (s->client[i] < 0) {
			s->client[i] = fd;
			return;
		}
	}
	close(fd);
}

/* What the job tells: "ack", else a report that is passed on. */
void shim_on_sock(struct shim *s)
{
	char text[1024] = "- report ";
	ssize_t n = recv(s->sock, text + 9, sizeof text - 10, MSG_DONTWAIT);
	if (n <= 0)
		return;
	struct wz_str said = wz_str_trim((struct wz_str){text + 9, (size_t)n});
	text[9 + n] = 0;
	if (wz_str_eq(said, WZ_STR("ack"))) {
		if (s->spec.preempt_ack == WZ_ATTEMPT_ACK_SOCKET)
			shim_on_ack(s);
	} else {
		shim_say_all(s, text);
	}
}

void shim_on_inotify(struct shim *s)
{
	char block[4096] __attribute__((aligned(8)));
	while (read(s->inotify, block, sizeof block) > 0)
		;
	if ((s->step == WARNED || s->checking) && shim_acked_by_file())
		shim_on_ack(s);
}
