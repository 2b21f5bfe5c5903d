/* SPDX-License-Identifier: Apache-2.0 */
/* A server for tests of the agent: it listens on a unix socket, starts the real agent as a process (with real shims, real
 * cgroups where there are any), and waits for messages by type. */
#ifndef WZ_TESTS_AGENT_SERVER_H
#define WZ_TESTS_AGENT_SERVER_H

#include "agent/agent.h"
#include "agent/wire.h"
#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"
#include "os/tree.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
	char dir[64], socket[128], state[128], cluster[128], log[160];
	const char *cgroup_base; /* NULL: the default */
	const char *cluster_text; /* NULL: one node "n" with two devices */
	int listener, link;
	pid_t agent;
	struct wz_buf in;
	size_t done;
	struct wz_arena arena;
	int64_t next_id;
	int64_t last_ended; /* id of the last `ended` seen */
};

static atomic_int server_agent_stop;

static inline void server_on_term(int sig)
{
	(void)sig;
	atomic_store(&server_agent_stop, 1);
}

static inline void server_quiet(void *ctx, const char *line)
{
	(void)ctx;
	if (getenv("WZ_TEST_VERBOSE"))
		printf("# agent: %s\n", line);
}

static inline void server_spawn_agent(struct server *s)
{
	fflush(stdout);
	s->agent = fork();
	if (s->agent == 0) {
		struct sigaction sa = {.sa_handler = server_on_term};
		sigaction(SIGTERM, &sa, NULL);
		struct wz_agent_options o = {.state_dir = s->state,
		        .socket = s->socket,
		        .provider = "emulated",
		        .cluster_file = s->cluster,
		        .shim = getenv("WZ_SHIM"),
		        .version = "test",
		        .sample_ms = 100,
		        .cgroup_base = s->cgroup_base ? s->cgroup_base : "wz-test",
		        .log = server_quiet};
		struct wz_err err = {0};
		close(s->listener);
		int rc = wz_agent_run(&o, &server_agent_stop, &err);
		if (rc < 0)
			printf("# agent: %s: %s\n", err.reason, err.text);
		fflush(stdout);
		_exit(rc < 0 ? 1 : 0);
	}
}

static inline void server_drop_link(struct server *s)
{
	if (s->link >= 0)
		close(s->link);
	s->link = -1;
	wz_buf_clear(&s->in);
	s->done = 0;
}

static inline bool server_accept(struct server *s)
{
	struct pollfd p = {s->listener, POLLIN, 0};
	server_drop_link(s);
	if (poll(&p, 1, 10000) != 1)
		return false;
	s->link = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	return s->link >= 0;
}

static inline bool server_begin(struct server *s)
{
	static const char two[] = "version: 1\nnodes:\n  - name: n\n    cpus: 8\n    mem: 16Gi\n    devices:\n"
	                          "      - {model: Tesla T4, count: 2, mem: 15Gi}\n";
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	memcpy(s->dir, "/tmp/wz-agent-XXXXXX", sizeof "/tmp/wz-agent-XXXXXX");
	if (!mkdtemp(s->dir) || chmod(s->dir, 0711) < 0)
		return false;
	(void)snprintf(s->socket, sizeof s->socket, "%s/sock", s->dir);
	(void)snprintf(s->state, sizeof s->state, "%s/state", s->dir);
	(void)snprintf(s->cluster, sizeof s->cluster, "%s/cluster.yaml", s->dir);
	(void)snprintf(s->log, sizeof s->log, "%s/logs", s->dir);
	mkdir(s->log, 0711);
	const char *text = s->cluster_text ? s->cluster_text : two;
	if (wz_file_write(s->cluster, wz_str(text), 0644, NULL) < 0)
		return false;
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(a.sun_path, s->socket, strlen(s->socket) + 1);
	s->link = -1;
	s->next_id = 1;
	wz_buf_init(&s->in, wz_os_mem(), 64u << 20);
	wz_arena_init(&s->arena, wz_os_mem(), 65536);
	if (bind(s->listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(s->listener, 8) < 0)
		return false;
	server_spawn_agent(s);
	return server_accept(s);
}

static inline int server_end_agent(struct server *s, int sig)
{
	int status = 0;
	kill(s->agent, sig);
	waitpid(s->agent, &status, 0);
	s->agent = 0;
	return status;
}

static inline void server_end(struct server *s)
{
	if (s->agent)
		(void)server_end_agent(s, SIGTERM);
	server_drop_link(s);
	close(s->listener);
	wz_buf_release(&s->in);
	wz_arena_release(&s->arena);
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	(void)wz_tree_remove(tmp, s->dir + 5);
	close(tmp);
}

static inline int64_t server_send(struct server *s, struct wz_wire_msg *m)
{
	struct wz_buf b;
	m->id = s->next_id++;
	wz_buf_init(&b, wz_os_mem(), 64u << 20);
	wz_wire_format(m, &b);
	(void)wz_fd_write_all(s->link, wz_buf_str(&b));
	wz_buf_release(&b);
	return m->id;
}

static inline void server_ack(struct server *s, int64_t re)
{
	struct wz_wire_msg m;
	wz_wire_init(&m, WZ_WIRE_ACK);
	m.re = re;
	(void)server_send(s, &m);
}

/* The next message of any type; false at the deadline or when the agent is gone. Valid until the next call. */
static inline bool server_next(struct server *s, struct wz_wire_msg *m, uint64_t until_ns)
{
	struct wz_err err;
	for (;;) {
		struct wz_str all = wz_buf_str(&s->in);
		const char *nl = all.len > s->done ? memchr(all.ptr + s->done, '\n', all.len - s->done) : NULL;
		if (nl) {
			struct wz_str line = {all.ptr + s->done, (size_t)(nl - all.ptr) - s->done};
			int64_t id;
			s->done += line.len + 1;
			wz_arena_clear(&s->arena);
			if (wz_wire_parse(line, &s->arena, m, &id, &err) < 0) {
				printf("# server: %s in %.*s\n", err.text, (int)line.len, line.ptr);
				return false;
			}
			if (getenv("WZ_TEST_VERBOSE") && m->type != WZ_WIRE_TELEMETRY)
				printf("# < %.*s\n", (int)line.len, line.ptr);
			return true;
		}
		if (s->done) {
			memmove(s->in.data, s->in.data + s->done, s->in.len - s->done);
			s->in.len -= s->done;
			s->done = 0;
		}
		char block[65536];
		uint64_t now = wz_clock_monotonic_ns();
		struct pollfd p = {s->link, POLLIN, 0};
		if (now >= until_ns || poll(&p, 1, (int)((until_ns - now) / 1000000) + 1) <= 0)
			return false;
		ssize_t n = read(s->link, block, sizeof block);
		if (n <= 0)
			return false;
		wz_buf_add(&s->in, (struct wz_str){block, (size_t)n});
	}
}

/* Waits for a message of this type about this job (0: any). */
static inline bool server_wait(struct server *s, enum wz_wire_type type, int64_t job, struct wz_wire_msg *m)
{
	uint64_t until = wz_clock_monotonic_ns() + 30000000000ULL;
	while (server_next(s, m, until)) {
		/* All of these begin with the job. */
		bool same = job == 0 || type == WZ_WIRE_HELLO || m->u.running.job == job;
		if (m->type == type && same) {
			if (type == WZ_WIRE_ENDED)
				s->last_ended = m->id;
			return true;
		}
	}
	return false;
}

static inline bool server_answer(struct server *s, int64_t re, struct wz_wire_msg *m)
{
	uint64_t until = wz_clock_monotonic_ns() + 30000000000ULL;
	while (server_next(s, m, until)) {
		if ((m->type == WZ_WIRE_ACK || m->type == WZ_WIRE_ERROR) && m->re == re)
			return true;
	}
	return false;
}

/* A start of `sh -c TEXT`, logged to LOGS/JOB.log. */
struct start {
	struct wz_wire_msg m;
	struct wz_str argv[3];
	char log[256];
};

static inline void start_init(struct start *st, const struct server *s, int64_t job, const char *text)
{
	wz_wire_init(&st->m, WZ_WIRE_START);
	struct wz_wire_start *w = &st->m.u.start;
	w->job = job;
	w->attempt = 1;
	st->argv[0] = WZ_STR("/bin/sh");
	st->argv[1] = WZ_STR("-c");
	st->argv[2] = wz_str(text);
	w->argv = (struct wz_wire_array){3, st->argv};
	(void)snprintf(st->log, sizeof st->log, "%s/%lld.log", s->log, (long long)job);
	w->log = wz_str(st->log);
	w->cwd = WZ_STR("/");
	w->grace_ms = 2000;
	w->leftover_ms = 500;
}

static inline bool server_stop(struct server *s, int64_t job, int64_t grace_ms, bool preempt, const char *reason)
{
	struct wz_wire_msg m;
	wz_wire_init(&m, WZ_WIRE_STOP);
	m.u.stop.job = job;
	m.u.stop.attempt = 1;
	m.u.stop.grace_ms = grace_ms;
	m.u.stop.preempt = preempt;
	m.u.stop.reason = wz_str(reason);
	int64_t id = server_send(s, &m);
	return server_answer(s, id, &m) && m.type == WZ_WIRE_ACK;
}

/* Starts, waits for its end without acknowledging. */
static inline bool server_run(struct server *s, struct start *st, struct wz_wire_msg *ended)
{
	(void)server_send(s, &st->m);
	return server_wait(s, WZ_WIRE_ENDED, st->m.u.start.job, ended);
}

static inline struct wz_file_text read_log(const struct start *st)
{
	struct wz_file_text t = {.mem = wz_os_mem()};
	(void)wz_file_read(st->log, 256u << 20, wz_os_mem(), &t, NULL);
	return t;
}

#endif
