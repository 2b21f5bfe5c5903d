/* SPDX-License-Identifier: Apache-2.0 */
/* Job logs as streams of bytes. A follower is told of news: by inotify about the directory of the log, and by the step
 * about its job (a new attempt, an end). Nothing looks again and again.
 *
 * An offset counts the bytes that the job wrote. While a log is written that is also where they are, in the file or in a
 * segment; in a closed log that lost its middle they are elsewhere, and the attempt's row says where (usage.h). A reader
 * that was in the middle when the log was closed waits for that row.
 *
 * Logs of ours lie in our directories. A log that is a file of the user's is opened with care: it must be a regular file
 * that is owned by the job's user, wherever its name leads now. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/joblog.h"
#include "serve/usage.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 65536u
#define BLOCKS_A_TURN 64u
#define TOGETHER_US 5000 /* news that come within this time are one look */
#define BLIND_US 500000 /* between two looks where the kernel gives us no watch */

struct reading {
	struct serve *s;
	struct wz_api_call *c;
	struct reading *next;
	uint64_t job, offset; /* of the stream; of the file when `closed` */
	uint32_t task, attempt; /* attempt 0: none yet */
	uint32_t fixed; /* asked for: that attempt only; 0: on into the next */
	bool errors; /* the log of standard errors */
	bool follow, gone;
	bool ended, closed; /* the attempt has; `offset` is one of the file */
	uint64_t head_end; /* see wz_joblog_read */
	int dir, file; /* our log: its directory; theirs: the file itself */
	int watch; /* -1: none */
	char path[4096]; /* of the log; `name` is its last part */
	const char *name;
	char node[128]; /* of the attempt that find_row found */
	struct usage usage;
	struct wz_job_row row;
	struct wz_api_submit spec;
	struct wz_json_doc doc;
	struct wz_arena arena; /* of row and spec */
	struct wz_timer timer;
	char block[BLOCK];
};

struct logs {
	struct reading *readings;
	struct wz_watch watch;
	int inotify; /* 0: not begun; -1: there is none */
};

/* ---- being told ---- */

static void on_inotify(void *ctx, unsigned what)
{
	struct serve *s = ctx;
	char block[16384] __attribute__((aligned(8)));
	ssize_t n;
	(void)what;
	while ((n = read(s->logs->inotify, block, sizeof block)) > 0) {
		for (char *p = block; p < block + n;) {
			const struct inotify_event *e = (const struct inotify_event *)(const void *)p;
			p += sizeof *e + e->len;
			for (struct reading *x = s->logs->readings; x; x = x->next)
				if (x->watch == e->wd || e->wd < 0)
					wz_timer_set(&x->timer, TOGETHER_US);
		}
	}
}

static void begin_watching(struct serve *s)
{
	struct logs *l = s->logs;
	if (l->inotify)
		return;
	l->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (l->inotify >= 0 && (wz_watch_init(&l->watch, s->loop, l->inotify, on_inotify, s) < 0 ||
	                               wz_watch_set(&l->watch, WZ_WATCH_READ) < 0)) {
		wz_watch_release(&l->watch);
		close(l->inotify);
		l->inotify = -1;
	}
}

static void unwatch(struct reading *x)
{
	struct logs *l = x->s->logs;
	int wd = x->watch;
	x->watch = -1;
	for (const struct reading *r = l->readings; r; r = r->next)
		if (r->watch == wd)
			return; /* one directory is watched once, for all who look */
	if (wd >= 0)
		(void)inotify_rm_watch(l->inotify, wd);
}

static void watch(struct reading *x)
{
	char path[64];
	unwatch(x);
	if (!x->follow || x->s->logs->inotify < 0)
		return;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", x->file >= 0 ? x->file : x->dir);
	x->watch = inotify_add_watch(
	        x->s->logs->inotify, path, IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MASK_ADD);
}

void logs_job_changed(struct serve *s, uint64_t job)
{
	for (struct reading *x = s->logs ? s->logs->readings : NULL; x; x = x->next)
		if (x->job == job || !job)
			wz_timer_set(&x->timer, 0);
}

/* ---- which log ---- */

struct latest {
	struct reading *x;
	uint32_t attempt;
};

/* The attempt to read: the one asked for; else the first after the present one when following, or the last. Of the present
 * one: whether it has ended. */
static int find_row(void *ctx, const struct wz_attempt_row *r)
{
	struct latest *l = ctx;
	struct reading *x = l->x;
	if (r->task != x->task)
		return 0;
	if (r->attempt == x->attempt && WZ_GIVEN(ATTEMPT, r, ended_us) && !x->ended) {
		x->ended = true;
		usage_read(r->usage, &x->usage);
	}
	if (x->fixed ? r->attempt == x->fixed : r->attempt > x->attempt) {
		if (x->attempt && l->attempt)
			return 0; /* going on: the next one, not the last */
		l->attempt = (uint32_t)r->attempt;
		(void)snprintf(x->node, sizeof x->node, "%.*s", (int)r->node.len, r->node.len ? r->node.ptr : "");
	}
	return 0;
}

static uint32_t look_at_attempts(struct reading *x)
{
	struct latest l = {x, 0};
	(void)wz_store_attempts(x->s->store, x->job, find_row, &l, NULL);
	return l.attempt;
}

/* First only a name is held: opening a device for what it is could do something already. */
static int open_theirs(struct reading *x)
{
	struct stat st;
	char same[64];
	int name = open(x->path, O_PATH | O_CLOEXEC), fd = -1;
	(void)snprintf(same, sizeof same, "/proc/self/fd/%d", name);
	if (name >= 0 && fstat(name, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == (uid_t)x->row.uid)
		fd = open(same, O_RDONLY | O_CLOEXEC);
	if (name >= 0)
		close(name);
	return fd;
}

static void close_log(struct reading *x)
{
	unwatch(x);
	if (x->dir >= 0)
		close(x->dir);
	if (x->file >= 0)
		close(x->file);
	x->dir = x->file = -1;
}

/* Opens the log of the attempt. False: it is not there yet. */
static bool open_attempt(struct reading *x, uint32_t attempt)
{
	struct log_paths p;
	struct wz_str path;
	char was[sizeof x->path];
	if (log_paths(x->s, &x->row, &x->spec, x->task, attempt, wz_str(x->node), &x->arena, &p, NULL) < 0)
		return false;
	bool theirs = p.theirs[x->errors];
	path = x->errors ? p.err : p.out;
	if (path.len == 0 || path.len >= sizeof x->path)
		return false;
	memcpy(was, x->path, sizeof was);
	memcpy(x->path, path.ptr, path.len);
	x->path[path.len] = 0;
	bool same = theirs && x->attempt && strcmp(was, x->path) == 0; /* one file for all attempts: read on */
	char *slash = strrchr(x->path, '/');
	int fd = -1;
	if (theirs) {
		fd = open_theirs(x);
	} else {
		*slash = 0;
		fd = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		*slash = '/';
	}
	if (fd < 0) {
		memcpy(x->path, was, sizeof was);
		return false;
	}
	close_log(x);
	*(theirs ? &x->file : &x->dir) = fd;
	x->name = slash + 1;
	if (x->attempt && !same)
		x->offset = 0;
	x->attempt = attempt;
	x->ended = x->closed = false;
	x->head_end = UINT64_MAX;
	watch(x);
	return true;
}

/* On to the first or next attempt, when there is one and its log is there. */
static bool open_next(struct reading *x)
{
	uint32_t attempt = look_at_attempts(x);
	if (!attempt || attempt == x->attempt || !open_attempt(x, attempt))
		return false;
	(void)look_at_attempts(x); /* may have ended already */
	return true;
}

/* ---- reading ---- */

static ssize_t read_some(struct reading *x, uint64_t *ret_next)
{
	uint64_t at = x->offset;
	ssize_t n;
	if (x->file >= 0) {
		n = pread(x->file, x->block, BLOCK, (off_t)x->offset);
	} else {
		if (x->ended && !x->closed) {
			x->offset = at = wz_joblog_closed_offset(&x->usage.gap, x->offset);
			x->closed = true;
			x->head_end = UINT64_MAX;
		}
		n = wz_joblog_read(x->dir, x->name, x->offset, x->block, BLOCK, &at, &x->head_end);
	}
	*ret_next = at + (n > 0 ? (uint64_t)n : 0);
	return n;
}

/* Offset of the last `lines` lines: the log is read twice, and a ring of line starts would be as many bytes. */
static uint64_t tail_offset(struct reading *x, uint32_t lines)
{
	uint64_t next, total = 0, n;
	ssize_t got;
	bool open_line = false;
	for (unsigned pass = 0; pass < 2; pass++) {
		x->offset = n = 0;
		for (; (got = read_some(x, &next)) > 0; x->offset = next)
			for (ssize_t i = 0; i < got; i++) {
				open_line = x->block[i] != '\n';
				if (open_line)
					continue;
				n++;
				if (pass && n + lines == total)
					return next - (uint64_t)got + (uint64_t)i + 1;
			}
		if (pass == 0) {
			total = n + open_line;
			if (total <= lines)
				return 0;
		}
	}
	return 0;
}

static void finish(struct reading *x)
{
	struct reading **at = &x->s->logs->readings;
	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	close_log(x);
	wz_timer_release(&x->timer);
	wz_api_stream_end(x->c);
	wz_json_release(&x->doc);
	wz_arena_release(&x->arena);
	wz_mem_free(x->s->mem, x, sizeof *x);
}

void logs_release(struct serve *s)
{
	if (!s->logs)
		return;
	while (s->logs->readings)
		finish(s->logs->readings);
	if (s->logs->inotify > 0) {
		wz_watch_release(&s->logs->watch);
		close(s->logs->inotify);
	}
	wz_mem_free(s->mem, s->logs, sizeof *s->logs);
	s->logs = NULL;
}

/* True when all that was there was sent; false when it goes on later. */
static bool send_all(struct reading *x)
{
	for (unsigned i = 0; !x->gone; i++) {
		uint64_t next;
		if (x->dir < 0 && x->file < 0 && !open_next(x))
			return true;
		ssize_t got = read_some(x, &next);
		if (got <= 0) {
			if (x->follow && !x->fixed && x->ended && open_next(x))
				continue;
			return true;
		}
		int rc = wz_api_stream_write(x->c, (struct wz_str){x->block, (size_t)got});
		if (rc == -EAGAIN)
			return false; /* on_drain goes on */
		x->gone = rc < 0;
		x->offset = next;
		if (i == BLOCKS_A_TURN) { /* others want their turn */
			wz_timer_set(&x->timer, 0);
			return false;
		}
	}
	return true;
}

static void pump(void *ctx)
{
	struct reading *x = ctx;
	bool over = job_ended(x->s, x->job); /* before reading: then all that was written is read */
	(void)look_at_attempts(x);
	over |= x->fixed && x->ended;
	if (!send_all(x))
		return;
	if (x->gone || !x->follow || over || x->s->stopping)
		finish(x);
	else if (x->watch < 0)
		wz_timer_set(&x->timer, BLIND_US);
}

static void on_drain(struct wz_api_call *c)
{
	struct reading *x = *wz_api_call_data(c);
	wz_timer_set(&x->timer, 0);
}

static void on_gone(struct wz_api_call *c)
{
	struct reading *x = *wz_api_call_data(c);
	x->gone = true;
	wz_timer_set(&x->timer, 0);
}

static int keep_row(void *ctx, const struct wz_job_row *r)
{
	struct reading *x = ctx;
	const struct wz_str *from[] = {&r->name, &r->user, &r->spec, &r->template};
	struct wz_str *to[] = {&x->row.name, &x->row.user, &x->row.spec, &x->row.template};
	x->row = *r;
	for (unsigned i = 0; i < WZ_ARRAY_LEN(to); i++) {
		char *p = wz_arena_alloc(&x->arena, from[i]->len + 1);
		if (p && from[i]->len)
			memcpy(p, from[i]->ptr, from[i]->len);
		*to[i] = (struct wz_str){p, p ? from[i]->len : 0};
	}
	return 1;
}

static int prepare(struct reading *x, const struct wz_api_job_logs *rq, struct wz_err *err)
{
	struct serve *s = x->s;
	struct wz_job_query q = {.job = rq->id};
	int rc = wz_store_jobs(s->store, &q, keep_row, x, err);
	if (rc < 0)
		return rc;
	rc = spec_load(s, &x->row, &x->arena, &x->doc, &x->spec, err);
	if (rc < 0)
		return rc;
	if (x->errors && !x->spec.stderr_path.len)
		return wz_err_set(
		        err, -EOPNOTSUPP, "NotSupported", WZ_STR("output and errors of this job go to one log"));
	if (wz_timer_init(&x->timer, s->loop, pump, x) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	return 0;
}

void op_job_logs(void *ctx, struct wz_api_call *c, const struct wz_api_job_logs *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	struct reading *x = wz_mem_zalloc(s->mem, sizeof *x);
	if (x && !s->logs)
		s->logs = wz_mem_zalloc(s->mem, sizeof *s->logs);
	if (!x || !s->logs) {
		wz_mem_free(s->mem, x, sizeof *x);
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		wz_api_fail(c, &err);
		return;
	}
	x->s = s;
	x->c = c;
	x->job = rq->id;
	x->offset = rq->offset;
	x->task = rq->task;
	x->fixed = rq->attempt;
	x->errors = rq->stream == 1;
	x->follow = rq->follow;
	x->dir = x->file = x->watch = -1;
	x->head_end = UINT64_MAX;
	wz_arena_init(&x->arena, s->mem, 4096);
	if (prepare(x, rq, &err) < 0) {
		wz_json_release(&x->doc);
		wz_arena_release(&x->arena);
		wz_mem_free(s->mem, x, sizeof *x);
		wz_api_fail(c, &err);
		return;
	}
	begin_watching(s);
	x->next = s->logs->readings;
	s->logs->readings = x;
	if (rq->tail && open_next(x))
		x->offset = tail_offset(x, rq->tail);
	*wz_api_call_data(c) = x;
	wz_api_stream_begin(c, on_drain, on_gone);
	wz_timer_set(&x->timer, 0);
}
