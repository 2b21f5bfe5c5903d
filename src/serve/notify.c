/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of deliveries and the threads that make them. A delivery holds copies of all it needs, so that a reload of the
 * configuration touches nothing that is under way. */
#include "serve/notify.h"

#include "base/check.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/httpc.h"
#include "os/mem.h"
#include "os/proc.h"
#include "os/tls.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4u
#define QUEUE_MAX 4096u
#define TARGET_QUEUE_MAX 512u
#define BACKOFF_MAX_US 60000000
#define SECRET_MAX 500u
#define ANSWER_MAX 65536u

struct delivery {
	struct delivery *next;
	struct wz_arena arena;
	struct wz_target target; /* its texts are in the arena */
	struct wz_notice_job job; /* likewise */
	int64_t due_us, backoff_us; /* monotonic */
	uint32_t tries;
};

struct wz_notify {
	const struct wz_mem *mem;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread[THREADS];
	unsigned n_threads, busy;
	struct delivery *queue; /* by due time */
	struct wz_notify_stats stats;
	bool stopping;
	char host[128];
};

static int64_t now_us(void)
{
	return (int64_t)(wz_clock_monotonic_ns() / 1000);
}

static void complain(const struct delivery *d, const struct wz_err *err, bool last)
{
	char line[600];
	int n = snprintf(line, sizeof line, "wz serve: notification %s of job %llu: %s%s\n", d->target.name,
	        (unsigned long long)d->job.job, err->text, last ? "; given up" : "");
	if (n > 0)
		(void)wz_fd_write_all(STDERR_FILENO,
		        (struct wz_str){line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1});
}

/* ---- one delivery ---- */

static int read_secret(
        const struct wz_target *t, char ret[SECRET_MAX + 1], struct wz_str *secret, struct wz_err *err)
{
	struct wz_file_text text = {0};
	*secret = (struct wz_str){NULL, 0};
	if (!t->secret_file)
		return 0;
	int rc = wz_file_read(t->secret_file, SECRET_MAX, wz_os_mem(), &text, err);
	if (rc == 0) {
		struct wz_str s = wz_str_trim(wz_file_text_str(&text));
		memcpy(ret, s.ptr, s.len);
		*secret = (struct wz_str){ret, s.len};
		explicit_bzero(text.data, text.len);
	}
	wz_file_text_release(&text);
	return rc;
}

/* The robots answer 200 with a number in the body when they refuse. */
static int judge(enum wz_target_format f, const struct wz_httpc_reply *r, struct wz_err *err)
{
	struct wz_num n;
	if (r->status / 100 != 2)
		return wz_err_set(err, -EIO, "Refused", WZ_STR("the receiver answered with status "),
		        wz_str_u64(&n, r->status));
	const char *key = f == WZ_FORMAT_FEISHU ? "code" : f == WZ_FORMAT_DINGTALK ? "errcode" : NULL;
	if (!key)
		return 0;
	json_t *root = json_loadb(r->body.data ? r->body.data : "", r->body.len, 0, NULL);
	const json_t *code = json_object_get(root, key);
	int64_t v = json_is_integer(code) ? json_integer_value(code) : -1;
	json_decref(root);
	return v == 0 ? 0
	              : wz_err_set(err, -EIO, "Refused", WZ_STR("the receiver answered with "), wz_str(key),
	                        WZ_STR(" "), wz_str_i64(&n, v));
}

static int post(const struct wz_notify *n, const struct delivery *d, struct wz_err *err)
{
	char origin[500], path[3000], key[SECRET_MAX + 1], signature[160];
	struct wz_str url = wz_str(d->target.url), secret;
	const char *slash = memchr(url.ptr + 8, '/', url.len > 8 ? url.len - 8 : 0);
	size_t at = slash ? (size_t)(slash - url.ptr) : url.len;
	struct wz_buf body, query;
	struct wz_httpc *c = NULL;
	struct wz_httpc_reply r;
	if (at >= sizeof origin)
		return wz_err_set(err, -EINVAL, "BadAddress", WZ_STR("the URL's host is too long"));
	memcpy(origin, url.ptr, at);
	origin[at] = 0;
	int rc = read_secret(&d->target, key, &secret, err);
	if (rc < 0)
		return rc;
	wz_buf_init(&body, n->mem, 65536);
	wz_buf_init(&query, n->mem, 1024);
	rc = wz_notify_body(d->target.format, &d->job, wz_str(n->host), secret, wz_clock_wall_us(), &body, &query);
	if (rc < 0)
		(void)wz_err_set(err, rc, "TooLarge", WZ_STR("the text is too long"));
	(void)snprintf(path, sizeof path, "%s%s%s", slash ? slash : "/",
	        query.len ? (slash && strchr(slash, '?') ? "&" : "?") : "", query.len ? wz_buf_z(&query) : "");
	if (secret.len &&
	        d->target.format == WZ_FORMAT_JSON) { /* as others do: "sha256=" and the HMAC of the body */
		unsigned char mac[WZ_SHA256_BYTES];
		size_t len = (size_t)snprintf(signature, sizeof signature, "X-Whalezen-Signature: sha256=");
		wz_hmac_sha256(secret, wz_buf_str(&body), mac);
		for (unsigned i = 0; i < sizeof mac; i++)
			len += (size_t)snprintf(signature + len, sizeof signature - len, "%02x", mac[i]);
	} else {
		signature[0] = 0;
	}
	explicit_bzero(key, sizeof key);
	struct wz_httpc_config cfg = {.server = origin,
	        .connect_ms = (uint32_t)(d->target.timeout_us / 1000),
	        .hint = "the receiver of a notification",
	        .answer_max = ANSWER_MAX};
	struct wz_httpc_call call = {.method = "POST",
	        .path = path,
	        .body = wz_buf_str(&body),
	        .header = signature[0] ? signature : NULL,
	        .total_ms = (uint32_t)(d->target.timeout_us / 1000)};
	if (rc == 0)
		rc = wz_httpc_new(&cfg, n->mem, &c, err);
	if (rc == 0)
		rc = wz_httpc_do(c, &call, &r, err);
	if (rc == 0) {
		rc = judge(d->target.format, &r, err);
		wz_buf_release(&r.body);
	}
	wz_httpc_free(c);
	wz_buf_release(&body);
	wz_buf_release(&query);
	return rc;
}

/* Waits for the end of a command, and ends it and its children when it takes too long. */
static int wait_for(pid_t pid, int64_t timeout_us, struct wz_err *err)
{
	int64_t until = now_us() + timeout_us;
	struct wz_num n;
	int status = 0;
	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid)
			break;
		if (got < 0 && errno != EINTR)
			return wz_err_set(err, -errno, "CommandFailed", WZ_STR("the command is gone"));
		if (now_us() > until) {
			(void)kill(-pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
			return wz_err_set(err, -ETIMEDOUT, "CommandTimeout", WZ_STR("the command took too long"));
		}
		(void)nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return wz_err_set(err, -EIO, "CommandFailed", WZ_STR("the command ended with "),
	        WIFEXITED(status) ? WZ_STR("code ") : WZ_STR("signal "),
	        wz_str_u64(&n, (uint64_t)(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))));
}

/* Standard input is a file in memory: nobody has to write while somebody else reads. */
static int run_with_input(const char *const *argv, const char *const *envp, struct wz_str input, int64_t timeout_us,
        struct wz_err *err)
{
	pid_t pid;
	int fd = memfd_create("wz-notification", MFD_CLOEXEC);
	if (fd < 0)
		return wz_err_set(err, -errno, "CommandFailed", WZ_STR("no memory for the command's input"));
	int rc = wz_fd_write_all(fd, input);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	struct wz_proc_fd fds[] = {{fd, 0}, {STDERR_FILENO, 2}};
	struct wz_proc_spec p = {
	        .argv = argv, .envp = envp, .umask = 077, .fds = fds, .n_fds = 2, .new_session = true};
	rc = rc < 0 ? wz_err_set(err, rc, "CommandFailed", WZ_STR("no memory for the command's input"))
	            : wz_proc_spawn(&p, &pid, err);
	(void)close(fd);
	return rc < 0 ? rc : wait_for(pid, timeout_us, err);
}

static int command(const struct wz_notify *n, const struct delivery *d, struct wz_err *err)
{
	const struct wz_notice_job *j = &d->job;
	const char *argv[WZ_CONFIG_ARGS_MAX + 1];
	char text[7][700];
	const char *env[10] = {
	        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"};
	struct wz_buf body, none;
	for (uint32_t i = 0; i < d->target.command.n; i++)
		argv[i] = d->target.command.v[i];
	argv[d->target.command.n] = NULL;
	wz_buf_init(&body, n->mem, 65536);
	wz_buf_init(&none, n->mem, 64);
	int rc = wz_notify_body(WZ_FORMAT_JSON, j, wz_str(n->host), WZ_STR(""), wz_clock_wall_us(), &body, &none);
	const struct {
		const char *name;
		struct wz_str v;
	} vars[] = {{"WZ_JOB_NAME", j->name}, {"WZ_JOB_USER", j->user}, {"WZ_JOB_STATE", j->state},
	        {"WZ_JOB_TEXT", j->text}};
	unsigned k = 2;
	for (unsigned i = 0; i < WZ_ARRAY_LEN(vars); i++) {
		(void)snprintf(text[i], sizeof text[i], "%s=%.*s", vars[i].name, (int)vars[i].v.len,
		        vars[i].v.len ? vars[i].v.ptr : "");
		env[k++] = text[i];
	}
	(void)snprintf(text[4], sizeof text[4], "WZ_JOB_ID=%llu", (unsigned long long)j->job);
	(void)snprintf(text[5], sizeof text[5], "WZ_JOB_EXIT_CODE=%lld", (long long)j->exit_code);
	for (unsigned i = 5; i-- > 0;)
		if (j->what >> i & 1) {
			(void)snprintf(text[6], sizeof text[6], "WZ_EVENT=%s", wz_notice_words[i]);
			break;
		}
	env[k++] = text[4];
	env[k++] = text[5];
	env[k++] = text[6];
	env[k] = NULL;
	if (rc == 0)
		rc = run_with_input(argv, env, wz_buf_str(&body), d->target.timeout_us, err);
	else
		(void)wz_err_set(err, rc, "TooLarge", WZ_STR("the text is too long"));
	wz_buf_release(&body);
	return rc;
}

/* The subject is one encoded word a 45 bytes (RFC 2047), so that nothing in a job's name can be a header. */
static void subject(struct wz_buf *b, struct wz_str s)
{
	for (size_t i = 0; i < s.len;) {
		size_t n = s.len - i < 42 ? s.len - i : 42;
		while (n > 1 && i + n < s.len && ((unsigned char)s.ptr[i + n] & 0xc0) == 0x80)
			n--; /* words end where characters do */
		wz_buf_addz(b, i ? "\n =?UTF-8?B?" : "=?UTF-8?B?");
		wz_base64(b, (struct wz_str){s.ptr + i, n});
		wz_buf_addz(b, "?=");
		i += n;
	}
}

static int mail(const struct wz_notify *n, const struct delivery *d, struct wz_err *err)
{
	const struct wz_notice_job *j = &d->job;
	char to[300], line[400];
	const char *argv[] = {d->target.sendmail ? d->target.sendmail : "/usr/sbin/sendmail", "-i", "--", to, NULL};
	const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	struct wz_buf b;
	if (d->target.to)
		(void)snprintf(to, sizeof to, "%s", d->target.to);
	else
		(void)snprintf(to, sizeof to, "%.*s", (int)j->user.len, j->user.ptr);
	(void)snprintf(line, sizeof line, "job %llu (%.*s): %.*s", (unsigned long long)j->job,
	        (int)(j->name.len < 200 ? j->name.len : 200), j->name.ptr, (int)j->state.len, j->state.ptr);
	wz_buf_init(&b, n->mem, 65536);
	wz_buf_addz(&b, "To: ");
	wz_buf_addz(&b, to);
	wz_buf_addz(&b, "\nSubject: ");
	subject(&b, wz_str(line));
	wz_buf_addz(&b, "\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
	                "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n");
	wz_buf_addz(&b, line);
	wz_buf_addc(&b, '\n');
	wz_buf_add(&b, j->text);
	wz_buf_addz(&b, j->text.len ? "\n\n" : "\n");
	wz_buf_addz(&b, "wz show ");
	wz_buf_add_u64(&b, j->job);
	wz_buf_addz(&b, "\nwz logs ");
	wz_buf_add_u64(&b, j->job);
	wz_buf_addz(&b, "\n");
	int rc = b.status < 0 ? wz_err_set(err, b.status, "TooLarge", WZ_STR("the text is too long"))
	                      : run_with_input(argv, env, wz_buf_str(&b), d->target.timeout_us, err);
	wz_buf_release(&b);
	return rc;
}

static int deliver(const struct wz_notify *n, const struct delivery *d, struct wz_err *err)
{
	return d->target.type == WZ_TARGET_WEBHOOK   ? post(n, d, err)
	       : d->target.type == WZ_TARGET_COMMAND ? command(n, d, err)
	                                             : mail(n, d, err);
}

/* ---- the queue ---- */

static void delivery_free(const struct wz_mem *mem, struct delivery *d)
{
	wz_arena_release(&d->arena);
	wz_mem_free(mem, d, sizeof *d);
}

static void enqueue(struct wz_notify *n, struct delivery *d)
{
	struct delivery **at = &n->queue;
	while (*at && (*at)->due_us <= d->due_us)
		at = &(*at)->next;
	d->next = *at;
	*at = d;
	n->stats.queued++;
	(void)pthread_cond_signal(&n->work);
}

/* The next one that is due; NULL when stopping. With the lock held. */
static struct delivery *take(struct wz_notify *n)
{
	while (!n->stopping) {
		struct delivery *d = n->queue;
		int64_t now = now_us();
		if (d && d->due_us <= now) {
			n->queue = d->next;
			n->stats.queued--;
			return d;
		}
		if (d) {
			struct timespec t = {d->due_us / 1000000, d->due_us % 1000000 * 1000};
			(void)pthread_cond_timedwait(&n->work, &n->lock, &t);
		} else {
			(void)pthread_cond_wait(&n->work, &n->lock);
		}
	}
	return NULL;
}

static void *worker(void *ctx)
{
	struct wz_notify *n = ctx;
	struct delivery *d;
	(void)pthread_mutex_lock(&n->lock);
	while ((d = take(n))) {
		struct wz_err err = {0};
		n->busy++;
		(void)pthread_mutex_unlock(&n->lock);
		int rc = deliver(n, d, &err);
		bool last = rc < 0 && ++d->tries >= d->target.tries;
		if (rc < 0)
			complain(d, &err, last);
		(void)pthread_mutex_lock(&n->lock);
		n->busy--;
		if (rc < 0 && !last) {
			d->due_us = now_us() + d->backoff_us;
			d->backoff_us = d->backoff_us * 2 < BACKOFF_MAX_US ? d->backoff_us * 2 : BACKOFF_MAX_US;
			n->stats.retried++;
			enqueue(n, d);
			continue;
		}
		*(rc < 0 ? &n->stats.failed : &n->stats.sent) += 1;
		delivery_free(n->mem, d);
	}
	(void)pthread_cond_broadcast(&n->work);
	(void)pthread_mutex_unlock(&n->lock);
	return NULL;
}

int wz_notify_new(const struct wz_mem *mem, struct wz_notify **ret, struct wz_err *err)
{
	struct wz_notify *n = wz_mem_zalloc(mem, sizeof *n);
	pthread_condattr_t attr;
	sigset_t all, old;
	if (!n)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	n->mem = mem;
	(void)gethostname(n->host, sizeof n->host - 1);
	(void)pthread_mutex_init(&n->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&n->work, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)sigfillset(&all); /* signals are the loop's */
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	while (n->n_threads < THREADS && pthread_create(&n->thread[n->n_threads], NULL, worker, n) == 0)
		n->n_threads++;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!n->n_threads) {
		wz_notify_free(n, 0);
		return wz_err_set(err, -EAGAIN, "OutOfMemory", WZ_STR("no thread for notifications"));
	}
	*ret = n;
	return 0;
}

void wz_notify_free(struct wz_notify *n, int64_t patience_us)
{
	int64_t until = now_us() + patience_us;
	if (!n)
		return;
	(void)pthread_mutex_lock(&n->lock);
	while ((n->busy || (n->queue && n->queue->due_us <= now_us())) && now_us() < until) {
		(void)pthread_mutex_unlock(&n->lock);
		(void)nanosleep(&(struct timespec){0, 10000000}, NULL);
		(void)pthread_mutex_lock(&n->lock);
	}
	n->stopping = true;
	uint64_t lost = n->stats.queued;
	(void)pthread_cond_broadcast(&n->work);
	(void)pthread_mutex_unlock(&n->lock);
	for (unsigned i = 0; i < n->n_threads; i++)
		(void)pthread_join(n->thread[i], NULL); /* at most one timeout of a target */
	for (struct delivery *d; (d = n->queue);) {
		n->queue = d->next;
		delivery_free(n->mem, d);
	}
	if (lost) {
		char line[100];
		int k = snprintf(line, sizeof line, "wz serve: %llu notifications were not delivered\n",
		        (unsigned long long)lost);
		(void)wz_fd_write_all(STDERR_FILENO, (struct wz_str){line, (size_t)k});
	}
	(void)pthread_cond_destroy(&n->work);
	(void)pthread_mutex_destroy(&n->lock);
	wz_mem_free(n->mem, n, sizeof *n);
}

void wz_notify_stats(struct wz_notify *n, struct wz_notify_stats *ret)
{
	(void)pthread_mutex_lock(&n->lock);
	*ret = n->stats;
	(void)pthread_mutex_unlock(&n->lock);
}

/* ---- a note ---- */

static const char *keep_z(struct wz_arena *a, const char *z, bool *ok)
{
	if (!z)
		return NULL;
	char *p = wz_arena_alloc(a, strlen(z) + 1);
	*ok = *ok && p;
	return p ? memcpy(p, z, strlen(z) + 1) : "";
}

static struct wz_str keep(struct wz_arena *a, struct wz_str s, size_t max, bool *ok)
{
	if (s.len > max)
		s.len = max;
	while (s.len && s.len == max && ((unsigned char)s.ptr[s.len - 1] & 0xc0) == 0x80)
		s.len--;
	char *p = wz_arena_alloc(a, s.len + 1);
	*ok = *ok && p;
	if (p && s.len)
		memcpy(p, s.ptr, s.len);
	for (size_t i = 0; p && i < s.len; i++) /* no zero byte ends an environment, no newline a line */
		if ((unsigned char)p[i] < ' ')
			p[i] = ' ';
	return (struct wz_str){p ? p : "", p ? s.len : 0};
}

static struct delivery *delivery_new(
        const struct wz_mem *mem, const struct wz_target *t, const struct wz_notice_job *j)
{
	struct delivery *d = wz_mem_zalloc(mem, sizeof *d);
	bool ok = true;
	if (!d)
		return NULL;
	wz_arena_init(&d->arena, mem, 2048);
	struct wz_arena *a = &d->arena;
	d->target = *t;
	d->target.users = (struct wz_names){NULL, 0};
	d->target.name = keep_z(a, t->name, &ok);
	d->target.url = keep_z(a, t->url, &ok);
	d->target.secret_file = keep_z(a, t->secret_file, &ok);
	d->target.to = keep_z(a, t->to, &ok);
	d->target.sendmail = keep_z(a, t->sendmail, &ok);
	if (t->command.n) {
		const char **v = wz_arena_alloc(a, t->command.n * sizeof *v);
		ok = ok && v;
		for (uint32_t i = 0; v && i < t->command.n; i++)
			v[i] = keep_z(a, t->command.v[i], &ok);
		d->target.command.v = v;
	}
	d->job = *j;
	d->job.asked = (struct wz_str){NULL, 0};
	d->job.name = keep(a, j->name, 256, &ok);
	d->job.user = keep(a, j->user, 64, &ok);
	d->job.state = keep(a, j->state, 64, &ok);
	d->job.text = keep(a, j->text, 600, &ok);
	d->due_us = now_us();
	d->backoff_us = 1000000;
	if (ok)
		return d;
	delivery_free(mem, d);
	return NULL;
}

static uint32_t queued_of(const struct wz_notify *n, const char *name)
{
	uint32_t k = 0;
	for (const struct delivery *d = n->queue; d; d = d->next)
		k += strcmp(d->target.name, name) == 0;
	return k;
}

void wz_notify_job(struct wz_notify *n, const struct wz_config *c, const struct wz_notice_job *j)
{
	for (uint32_t i = 0; i < c->n_targets; i++) {
		const struct wz_target *t = &c->target[i];
		if (!(wz_target_wants(t, j->user, j->asked) & j->what))
			continue;
		struct delivery *d = delivery_new(n->mem, t, j);
		(void)pthread_mutex_lock(&n->lock);
		if (!d || n->stats.queued >= QUEUE_MAX || queued_of(n, t->name) >= TARGET_QUEUE_MAX) {
			n->stats.dropped++;
			if (d)
				delivery_free(n->mem, d);
		} else {
			enqueue(n, d);
		}
		(void)pthread_mutex_unlock(&n->lock);
	}
}
