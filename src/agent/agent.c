/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, the link to the server, and sensing. One poll over: the link, each shim, the sampler. A new link begins with
 * hello and all facts, so nothing needs to be remembered while there is none. */
#include "agent/agent_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/mem.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OUT_MAX (256u << 20)
#define OUT_TELEMETRY_MAX (4u << 20) /* a server that does not read gets no telemetry on top of it */
#define LINK_WAIT_MIN_US 50000u
#define LINK_WAIT_MAX_US 2000000u

uint64_t agent_now_us(void)
{
	return wz_clock_monotonic_ns() / 1000;
}

void agent_log(struct agent *a, const char *what, const char *detail)
{
	char line[1024];
	(void)snprintf(line, sizeof line, "%s%s%s", what, *detail ? ": " : "", detail);
	if (a->o->log)
		a->o->log(a->o->log_ctx, line);
	else
		(void)fprintf(stderr, "wz agent: %s\n", line);
}

/* --- the link ------------------------------------------------------------------------------------------------- */

int64_t agent_send(struct agent *a, struct wz_wire_msg *m)
{
	if (m->id == 0)
		m->id = a->next_id++;
	if (a->link >= 0)
		wz_wire_format(m, &a->out);
	return m->id;
}

static void ack(struct agent *a, int64_t re)
{
	struct wz_wire_msg m;
	wz_wire_init(&m, WZ_WIRE_ACK);
	m.re = re;
	agent_send(a, &m);
}

void agent_error(struct agent *a, int64_t re, const struct wz_err *err)
{
	struct wz_wire_msg m;
	wz_wire_init(&m, WZ_WIRE_ERROR);
	m.re = re;
	m.u.error.reason = wz_str(err->reason);
	m.u.error.text = wz_str(err->text);
	agent_send(a, &m);
}

void agent_notice(struct agent *a, const char *reason, const char *text)
{
	struct wz_wire_msg m;
	wz_wire_init(&m, WZ_WIRE_NOTICE);
	m.u.error.reason = wz_str(reason);
	m.u.error.text = wz_str(text);
	agent_log(a, reason, text);
	agent_send(a, &m);
}

void agent_use(struct agent *a, const struct tended *t, const struct wz_device_use *use)
{
	for (uint32_t i = 0; i < WZ_DEV_PER_NODE_MAX; i++) {
		if (t->devices >> i & 1)
			wz_sampler_use(&a->sampler, t->node, i, use);
	}
}

static void drop_link(struct agent *a)
{
	if (a->link >= 0)
		close(a->link);
	a->link = -1;
	wz_buf_clear(&a->in);
	wz_buf_clear(&a->out);
	a->out_done = 0;
	a->link_retry_us = agent_now_us() + a->link_wait_us;
	a->link_wait_us = a->link_wait_us * 2 > LINK_WAIT_MAX_US ? LINK_WAIT_MAX_US : a->link_wait_us * 2;
}

/* --- facts ---------------------------------------------------------------------------------------------------- */

static void device_facts(const struct wz_device *d, struct wz_wire_device *w)
{
	*w = (struct wz_wire_device){d->index, d->mem_bytes, d->link_domain, d->numa, d->pcie, wz_str(d->uuid),
	        wz_str(d->name), wz_str(d->bus), wz_str(wz_device_healths[d->health]), wz_str(d->health_why)};
}

static int node_facts(struct agent *a, const struct wz_device_node *n, struct wz_wire_node *w)
{
	struct wz_wire_device *dev = wz_arena_alloc(&a->arena, (n->n_devices + 1) * sizeof *dev);
	struct wz_wire_label *label = wz_arena_alloc(&a->arena, (n->n_labels + 1) * sizeof *label);
	if (!dev || !label)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->n_devices; i++)
		device_facts(&a->inv.device[n->first_device + i], &dev[i]);
	for (uint32_t i = 0; i < n->n_labels; i++)
		label[i] = (struct wz_wire_label){wz_str(n->label[i].key), wz_str(n->label[i].value)};
	*w = (struct wz_wire_node){wz_str(n->name), wz_str(n->site), wz_str(n->rack), n->cpu_milli, n->mem_bytes,
	        n->max_tasks, n->ready, {n->n_labels, label}, {n->n_devices, dev}};
	return 0;
}

static void hello(struct agent *a)
{
	struct wz_wire_msg m;
	char host[128] = "";
	wz_wire_init(&m, WZ_WIRE_HELLO);
	struct wz_wire_hello *h = &m.u.hello;
	struct wz_wire_node *nodes = wz_arena_alloc(&a->arena, (a->inv.n_nodes + 1) * sizeof *nodes);
	struct wz_wire_facet *facets = wz_arena_alloc(&a->arena, WZ_CG_FACETS * sizeof *facets);
	if (!nodes || !facets)
		return;
	(void)gethostname(host, sizeof host - 1);
	h->proto = WZ_WIRE_PROTO;
	h->pid = getpid();
	h->version = wz_str(a->o->version);
	h->boot = wz_str(a->boot);
	h->host = wz_str(host);
	h->provider = wz_str(a->provider->name);
	h->privileged = a->privileged;
	for (uint32_t i = 0; i < a->inv.n_nodes; i++) {
		if (node_facts(a, &a->inv.node[i], &nodes[i]) < 0)
			return;
	}
	h->nodes = (struct wz_wire_array){a->inv.n_nodes, nodes};
	for (int i = 0; i < WZ_CG_FACETS; i++)
		facets[i] = (struct wz_wire_facet){wz_str(wz_cgroup_facet_names[i]),
		        a->no_cgroup ? WZ_STR("switched off") : wz_str(a->fs.why[i]), a->fs.facet[i].version};
	h->cgroup = (struct wz_wire_array){WZ_CG_FACETS, facets};
	agent_send(a, &m);
}

static void begin_link(struct agent *a, int fd)
{
	a->link = fd;
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	a->link_wait_us = LINK_WAIT_MIN_US;
	hello(a);
	for (uint32_t i = 0; i < a->n; i++) {
		a->t[i].told = false;
		a->t[i].ended_msg = 0;
		tend_announce(a, &a->t[i]);
	}
}

static void connect_link(struct agent *a)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t n = strlen(a->o->socket);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(addr.sun_path, a->o->socket, n < sizeof addr.sun_path ? n : sizeof addr.sun_path - 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0) {
		begin_link(a, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	drop_link(a);
}

/* --- telemetry ------------------------------------------------------------------------------------------------ */

static uint32_t procs_of(struct agent *a, uint32_t node, struct wz_wire_proc *to)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < a->inv.n_procs; i++) {
		const struct wz_device_proc *p = &a->inv.proc[i];
		if (p->node == node)
			to[n++] = (struct wz_wire_proc){p->index, p->pid, p->mem_bytes,
			        (int64_t)tend_job_of(a, p->pid), wz_str(p->user), wz_str(p->command)};
	}
	return n;
}

static void telemetry_of(struct agent *a, uint32_t node)
{
	struct wz_wire_msg m;
	const struct wz_device_node *n = &a->inv.node[node];
	struct wz_wire_sample *samples = wz_arena_alloc(&a->arena, (n->n_devices + 1) * sizeof *samples);
	struct wz_wire_proc *procs = wz_arena_alloc(&a->arena, (a->inv.n_procs + 1) * sizeof *procs);
	uint64_t now = (uint64_t)wz_clock_wall_us();
	if (!samples || !procs || n->n_devices == 0)
		return;
	for (uint32_t i = 0; i < n->n_devices; i++) {
		const struct wz_device *d = &a->inv.device[n->first_device + i];
		struct wz_wire_reading *r = wz_arena_alloc(&a->arena, WZ_METRICS * sizeof *r);
		if (!r)
			return;
		for (int k = 0; k < WZ_METRICS; k++)
			r[k] = (struct wz_wire_reading){wz_str(wz_metrics[k].name), wz_str(wz_metrics[k].unit),
			        wz_str(wz_reading_statuses[d->reading[k].status]), d->reading[k].value,
			        (int64_t)wz_reading_age_us(&d->reading[k], now)};
		samples[i] = (struct wz_wire_sample){d->index, {WZ_METRICS, r}};
	}
	wz_wire_init(&m, WZ_WIRE_TELEMETRY);
	m.u.telemetry.node = wz_str(n->name);
	m.u.telemetry.time_us = (int64_t)now;
	m.u.telemetry.procs_known = a->inv.procs_known;
	m.u.telemetry.devices = (struct wz_wire_array){n->n_devices, samples};
	m.u.telemetry.procs = (struct wz_wire_array){procs_of(a, node, procs), procs};
	agent_send(a, &m);
}

struct was {
	bool ready;
	uint64_t health; /* two bits a device, the first 32 exactly; others folded in */
};

static struct was facts_of(const struct wz_inventory *inv, uint32_t node)
{
	struct was w = {inv->node[node].ready, 0};
	for (uint32_t i = 0; i < inv->node[node].n_devices; i++)
		w.health = w.health * 3 + inv->device[inv->node[node].first_device + i].health;
	return w;
}

static void on_sample(struct agent *a)
{
	struct wz_err err;
	struct was *before = wz_arena_alloc(&a->arena, (a->inv.n_nodes + 1) * sizeof *before);
	if (!before)
		return;
	for (uint32_t i = 0; i < a->inv.n_nodes; i++)
		before[i] = facts_of(&a->inv, i);
	if (wz_sampler_take(&a->sampler, &a->inv, &err) < 0) {
		agent_notice(a, err.reason, err.text);
		return;
	}
	for (uint32_t i = 0; i < a->inv.n_nodes; i++) {
		struct was now = facts_of(&a->inv, i);
		struct wz_wire_msg m;
		if (now.ready != before[i].ready || now.health != before[i].health) {
			wz_wire_init(&m, WZ_WIRE_NODE);
			if (node_facts(a, &a->inv.node[i], &m.u.node) == 0)
				agent_send(a, &m);
		}
		if (a->link >= 0 && a->out.len - a->out_done < OUT_TELEMETRY_MAX)
			telemetry_of(a, i);
	}
}

/* --- requests ------------------------------------------------------------------------------------------------- */

static int on_attempt(struct agent *a, const struct wz_wire_msg *m, struct wz_err *err)
{
	const struct wz_wire_stop *s = &m->u.stop;
	struct tended *t =
	        tend_find(a, (struct wz_attempt_id){(uint64_t)s->job, (uint32_t)s->task, (uint32_t)s->attempt});
	char text[160];
	if (!t)
		return wz_err_set(err, -ENOENT, "NoSuchAttempt",
		        WZ_STR("this agent has no such attempt: nothing of it is alive"));
	if (t->state != TEND_ALIVE) {
		if (t->state == TEND_ENDED)
			tend_announce(a, t);
		return 0;
	}
	if (s->signal < 0 || s->signal >= NSIG || memchr(s->reason.ptr, '\n', s->reason.len))
		return wz_err_set(err, -EINVAL, "BadMessage", WZ_STR("signal or reason is out of range"));
	switch (m->type) {
	case WZ_WIRE_STOP:
		(void)snprintf(text, sizeof text, "1 stop %lld %llu %d %.31s", (long long)s->signal,
		        s->grace_ms < 0 ? ~0ULL : (unsigned long long)s->grace_ms, s->preempt != 0, s->reason.ptr);
		break;
	case WZ_WIRE_SIGNAL:
		(void)snprintf(text, sizeof text, "1 signal %lld", (long long)s->signal);
		break;
	case WZ_WIRE_FREEZE:
		(void)snprintf(text, sizeof text, "1 freeze");
		break;
	case WZ_WIRE_THAW:
		(void)snprintf(text, sizeof text, "1 thaw");
		break;
	case WZ_WIRE_CHECKPOINT:
		(void)snprintf(text, sizeof text, "1 checkpoint");
		break;
	case WZ_WIRE_ACKED:
		(void)snprintf(text, sizeof text, "1 acked");
		break;
	default:
		(void)snprintf(text, sizeof text, "1 query");
		break;
	}
	if (tend_tell(t, text) < 0)
		return wz_err_set(err, -ENOTCONN, "NotReachable",
		        WZ_STR("the attempt's shim cannot be reached now; ask again"));
	return 0;
}

static void on_list(struct agent *a)
{
	for (uint32_t i = 0; i < a->n; i++)
		tend_announce(a, &a->t[i]);
}

static void on_message(struct agent *a, struct wz_str line)
{
	struct wz_wire_msg m;
	struct wz_err err = {.reason = "BadMessage"};
	int64_t id;
	int rc = wz_wire_parse(line, &a->arena, &m, &id, &err);
	if (rc < 0) {
		agent_log(a, "message refused", err.text);
		agent_error(a, id, &err);
		return;
	}
	switch (m.type) {
	case WZ_WIRE_ACK:
	case WZ_WIRE_ERROR: /* to `ended`: the server has it, or will never want it */
		tend_acked(a, m.re);
		return;
	case WZ_WIRE_START:
		rc = agent_start(a, &m, &err);
		break;
	case WZ_WIRE_STOP:
	case WZ_WIRE_SIGNAL:
	case WZ_WIRE_FREEZE:
	case WZ_WIRE_THAW:
	case WZ_WIRE_QUERY:
	case WZ_WIRE_CHECKPOINT:
	case WZ_WIRE_ACKED:
		rc = on_attempt(a, &m, &err);
		break;
	case WZ_WIRE_LIST:
		on_list(a);
		break;
	default:
		rc = wz_err_set(&err, -EBADMSG, "BadMessage", WZ_STR("not a request to an agent"));
	}
	if (rc < 0)
		agent_error(a, m.id, &err);
	else
		ack(a, m.id);
}

static void consume_lines(struct agent *a)
{
	struct wz_str all = wz_buf_str(&a->in);
	size_t done = 0;
	const char *nl;
	while (a->link >= 0 && done < all.len && (nl = memchr(all.ptr + done, '\n', all.len - done))) {
		struct wz_str line = {all.ptr + done, (size_t)(nl - (all.ptr + done))};
		done += line.len + 1;
		if (line.len)
			on_message(a, line);
		wz_arena_clear(&a->arena);
	}
	if (a->link < 0 || done == 0)
		return;
	memmove(a->in.data, a->in.data + done, a->in.len - done);
	a->in.len -= done;
}

static void on_readable(struct agent *a)
{
	char block[65536];
	for (unsigned i = 0; i < 16 && a->link >= 0; i++) {
		ssize_t n = recv(a->link, block, sizeof block, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n > 0)
			wz_buf_add(&a->in, (struct wz_str){block, (size_t)n});
		if (n <= 0 || a->in.status < 0) {
			agent_log(a, n <= 0 ? "the server is gone" : "the server sent too much at once", "");
			if (n <= 0)
				consume_lines(a); /* what it said before it went still holds */
			drop_link(a);
			return;
		}
	}
	consume_lines(a);
}

static void flush_out(struct agent *a)
{
	while (a->link >= 0 && a->out_done < a->out.len) {
		ssize_t n = send(
		        a->link, a->out.data + a->out_done, a->out.len - a->out_done, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			drop_link(a);
			return;
		}
		a->out_done += (size_t)n;
	}
	if (a->out.status < 0) /* it does not read; all facts are told on the next link */
		drop_link(a);
	wz_buf_clear(&a->out);
	a->out_done = 0;
}

/* --- loop ----------------------------------------------------------------------------------------------------- */

static int wait_ms(const struct agent *a)
{
	uint64_t now = agent_now_us(), until = now + 60000000;
	if (a->link < 0 && a->link_retry_us < until)
		until = a->link_retry_us;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->t[i].retry_us < until)
			until = a->t[i].retry_us;
	}
	return until <= now ? 0 : (int)((until - now + 999) / 1000);
}

static void on_shims(struct agent *a, const struct pollfd *p, uint32_t n)
{
	/* Attempts move in the array when one is dropped: each is found by its descriptor. */
	for (uint32_t i = 0; i < n; i++) {
		if (!p[i].revents)
			continue;
		for (uint32_t k = 0; k < a->n; k++) {
			if (a->t[k].ctl == p[i].fd) {
				tend_ctl(a, &a->t[k]);
				break;
			}
		}
	}
	uint64_t now = agent_now_us();
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->t[i].retry_us <= now)
			tend_retry(a, &a->t[i]);
	}
}

static int turn(struct agent *a)
{
	struct pollfd *p = wz_arena_alloc(&a->arena, (a->n + 2) * sizeof *p);
	uint32_t n = 2, all = a->n;
	if (!p)
		return -ENOMEM;
	short want = (short)(POLLIN | (a->out_done < a->out.len ? POLLOUT : 0));
	p[0] = (struct pollfd){a->link, want, 0};
	p[1] = (struct pollfd){a->sampler.fd, POLLIN, 0};
	for (uint32_t i = 0; i < all; i++)
		p[n++] = (struct pollfd){a->t[i].ctl, POLLIN, 0};
	int rc = poll(p, n, wait_ms(a));
	if (rc < 0)
		return errno == EINTR ? 0 : -errno;
	on_shims(a, p + 2, all);
	if (p[1].revents)
		on_sample(a);
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR) && a->link == p[0].fd)
		on_readable(a);
	if (a->link < 0 && a->o->socket && agent_now_us() >= a->link_retry_us)
		connect_link(a);
	flush_out(a);
	wz_arena_clear(&a->arena);
	return 0;
}

/* --- setting up ----------------------------------------------------------------------------------------------- */

static int open_dir(int at, const char *name, mode_t mode, int *ret, struct wz_err *err)
{
	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return wz_file_err(err, -errno, "create", name);
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return wz_file_err(err, -errno, "open", name);
	if (fchmod(fd, mode) < 0) {
		int rc = -errno;
		close(fd);
		return wz_file_err(err, rc, "open", name);
	}
	*ret = fd;
	return 0;
}

static int open_state(struct agent *a, struct wz_err *err)
{
	int rc = wz_file_mkdirs(a->o->state_dir, 0711, err);
	if (rc < 0)
		return rc;
	if (!realpath(a->o->state_dir, a->shim) || strlen(a->shim) >= sizeof a->state_path - 128)
		return wz_file_err(err, errno ? -errno : -ENAMETOOLONG, "open", a->o->state_dir);
	memcpy(a->state_path, a->shim, strlen(a->shim) + 1);
	a->state = open(a->state_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->state < 0)
		return wz_file_err(err, -errno, "open", a->state_path);
	/* A process that was forked by an agent that has just been killed holds its lock until it executes. */
	for (unsigned tries = 0; (a->lock = wz_attempt_lock(a->state)) == -EWOULDBLOCK && tries < 100; tries++)
		(void)poll(NULL, 0, 10);
	if (a->lock < 0)
		return a->lock == -EWOULDBLOCK ? wz_err_set(err, -EBUSY, "AgentRunning",
		                                         WZ_STR("another agent works in "), wz_str(a->state_path))
		                               : wz_file_err(err, a->lock, "lock", a->state_path);
	rc = open_dir(a->state, "attempts", 0711, &a->attempts, err);
	return rc < 0 ? rc : open_dir(a->state, "closed", 0700, &a->closed, err);
}

static int find_shim(struct agent *a, struct wz_err *err)
{
	static const char *const places[] = {"wz-shim", "../libexec/whalezen/wz-shim"};
	char self[3072];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (a->o->shim) {
		(void)snprintf(a->shim, sizeof a->shim, "%s", a->o->shim);
		if (access(a->shim, X_OK) == 0)
			return 0;
		return wz_err_set(err, -ENOENT, "NoShim", WZ_STR("wz-shim is not at "), wz_str(a->shim));
	}
	while (n > 0 && self[n - 1] != '/')
		n--;
	for (size_t i = 0; i < WZ_ARRAY_LEN(places) && n > 0; i++) {
		(void)snprintf(a->shim, sizeof a->shim, "%.*s%s", (int)n, self, places[i]);
		if (access(a->shim, X_OK) == 0)
			return 0;
	}
	return wz_err_set(err, -ENOENT, "NoShim",
	        WZ_STR("wz-shim is neither beside this program nor in ../libexec/whalezen"));
}

static int open_provider(struct agent *a, struct wz_err *err)
{
	struct wz_device_options o = {
	        .mem = a->mem, .command = a->o->smi_command, .epoch_us = (uint64_t)wz_clock_wall_us()};
	struct wz_device_source *source = NULL;
	const char *name = a->o->provider;
	int rc = -ENODEV;
	for (unsigned i = 0; wz_device_providers[i] && rc == -ENODEV; i++) {
		const struct wz_device_provider *p = wz_device_providers[i];
		if (name && strcmp(name, p->name) != 0)
			continue;
		o.file = p == &wz_device_emulated ? a->o->cluster_file
		         : p == &wz_device_smi    ? a->o->smi_file
		                                  : NULL;
		a->provider = p;
		rc = p->probe(&o, &source, err);
		if (rc == -ENODEV && name)
			return rc;
	}
	if (rc < 0)
		return !a->provider && name ? wz_err_set(err, -ENOENT, "NoProvider",
		                                      WZ_STR("no device provider has the name "), wz_str(name))
		                            : rc;
	return wz_sampler_start(
	        &a->sampler, a->provider, source, (a->o->sample_ms ? a->o->sample_ms : 1000) * 1000, &a->inv, err);
}

static int set_up(struct agent *a, struct wz_err *err)
{
	int rc = open_state(a, err);
	if (rc == 0)
		rc = find_shim(a, err);
	if (rc == 0 && wz_proc_boot_id(a->boot) < 0)
		rc = wz_err_set(err, -EIO, "FileError", WZ_STR("/proc/sys/kernel/random/boot_id cannot be read"));
	if (rc == 0)
		rc = open_provider(a, err);
	if (rc < 0)
		return rc;
	/* Two agents on one machine number their jobs alike: each has a group of its own. */
	char own[32];
	(void)snprintf(own, sizeof own, "whalezen-%08x", (unsigned)wz_hash_str(1, wz_str(a->state_path)));
	const char *base = a->o->cgroup_base ? a->o->cgroup_base : own;
	a->no_cgroup = !*base;
	if (!a->no_cgroup)
		wz_cgroup_find(base, &a->fs);
	return tend_adopt_all(a, err); /* before the first link, so that it begins with all of them */
}

static void tear_down(struct agent *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->t[i].ctl >= 0)
			close(a->t[i].ctl);
		close(a->t[i].dir);
	}
	wz_grow_free(a->mem, &a->t, &a->cap, sizeof *a->t);
	if (a->provider && a->sampler.provider)
		wz_sampler_stop(&a->sampler);
	wz_inventory_release(&a->inv);
	if (a->link >= 0)
		close(a->link);
	const int fds[] = {a->lock, a->attempts, a->closed, a->state};
	for (size_t i = 0; i < WZ_ARRAY_LEN(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	wz_buf_release(&a->in);
	wz_buf_release(&a->out);
	wz_arena_release(&a->arena);
}

int wz_agent_run(const struct wz_agent_options *o, const atomic_int *stop, struct wz_err *err)
{
	struct agent a = {.o = o,
	        .mem = wz_os_mem(),
	        .state = -1,
	        .attempts = -1,
	        .closed = -1,
	        .lock = -1,
	        .link = -1,
	        .next_id = 1,
	        .link_wait_us = LINK_WAIT_MIN_US};
	a.privileged = geteuid() == 0;
	wz_arena_init(&a.arena, a.mem, 65536);
	wz_buf_init(&a.in, a.mem, WZ_WIRE_LINE_MAX + 65536);
	wz_buf_init(&a.out, a.mem, OUT_MAX);
	wz_inventory_init(&a.inv, a.mem);
	struct sockaddr_un addr;
	int rc = o->socket && strlen(o->socket) >= sizeof addr.sun_path
	                 ? wz_err_set(err, -ENAMETOOLONG, "BadSocket",
	                           WZ_STR("the path of the socket is too long: "), wz_str(o->socket))
	                 : set_up(&a, err);
	if (rc == 0 && !o->socket)
		begin_link(&a, o->fd);
	while (rc == 0 && !atomic_load(stop)) {
		if (!o->socket && a.link < 0)
			break;
		rc = turn(&a);
		if (rc < 0)
			(void)wz_err_set(err, rc, "AgentFailed", wz_str(strerrordesc_np(-rc)));
	}
	tear_down(&a);
	return rc;
}
