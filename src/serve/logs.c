/* SPDX-License-Identifier: Apache-2.0 */
/* Job logs as streams of bytes. A follower looks for more a few times a second, until the job has ended. */
#include "serve/serve_int.h"

#include "base/check.h"
#include "os/joblog.h"

#include <fcntl.h>
#include <unistd.h>

#define POLL_US 100000
#define BLOCK 65536u

struct reading {
	struct serve *s;
	struct wz_api_call *c;
	uint64_t job, offset;
	uint32_t task, attempt; /* attempt 0: none yet */
	uint32_t fixed; /* asked for: that attempt only; 0: on into the next */
	bool follow, last, gone;
	int dir;
	char name[64];
	struct wz_timer timer;
	char block[BLOCK];
};

struct latest {
	const struct reading *x;
	uint32_t attempt;
};

/* The attempt to read: the one asked for; else the first after the present one when following, or the last. */
static int find_row(void *ctx, const struct wz_attempt_row *r)
{
	struct latest *l = ctx;
	if (r->task != l->x->task)
		return 0;
	if (l->x->fixed ? r->attempt == l->x->fixed : r->attempt > l->x->attempt)
		l->attempt = (uint32_t)r->attempt;
	return l->x->attempt && l->attempt; /* going on: the next one, not the last */
}

static void finish(struct reading *x)
{
	wz_timer_release(&x->timer);
	if (x->dir >= 0)
		close(x->dir);
	wz_api_stream_end(x->c);
	wz_mem_free(x->s->mem, x, sizeof *x);
}

/* True when there is a file to read from. */
static bool open_next(struct reading *x)
{
	struct latest l = {x, 0};
	struct wz_buf path;
	(void)wz_store_attempts(x->s->store, x->job, find_row, &l, NULL);
	if (!l.attempt || l.attempt == x->attempt)
		return false;
	wz_buf_init(&path, x->s->mem, 4096);
	log_path(x->s, x->job, x->task, l.attempt, &path);
	const char *z = wz_buf_z(&path), *slash = strrchr(z, '/');
	int dir = -1;
	if (slash) {
		(void)snprintf(x->name, sizeof x->name, "%s", slash + 1);
		path.data[slash - path.data] = 0;
		dir = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	wz_buf_release(&path);
	if (dir < 0)
		return false; /* not made yet */
	if (x->dir >= 0)
		close(x->dir);
	if (x->attempt)
		x->offset = 0;
	x->dir = dir;
	x->attempt = l.attempt;
	return true;
}

/* Offset of the last `lines` lines. Reads the log once. */
static uint64_t tail_offset(struct reading *x, uint32_t lines)
{
	uint64_t at, off = 0, n = 0, total = 0;
	ssize_t got;
	bool open_line = false;
	for (unsigned pass = 0; pass < 2; pass++) {
		for (off = 0, n = 0; (got = wz_joblog_read(x->dir, x->name, off, x->block, BLOCK, &at)) > 0;
		        off = at + (uint64_t)got)
			for (ssize_t i = 0; i < got; i++) {
				open_line = x->block[i] != '\n';
				if (open_line)
					continue;
				n++;
				if (pass && n + lines == total)
					return at + (uint64_t)i + 1;
			}
		if (pass == 0) {
			total = n + open_line;
			if (total <= lines)
				return 0;
		}
	}
	return 0;
}

static void pump(void *ctx)
{
	struct reading *x = ctx;
	uint64_t at;
	ssize_t got = 0;
	bool ended = job_ended(x->s, x->job); /* before reading: then all that was written is read */
	for (unsigned i = 0; !x->gone; i++) {
		if (x->dir < 0 && !open_next(x))
			break;
		got = wz_joblog_read(x->dir, x->name, x->offset, x->block, BLOCK, &at);
		if (got <= 0) {
			if (x->follow && !x->fixed && open_next(x))
				continue;
			break;
		}
		int rc = wz_api_stream_write(x->c, (struct wz_str){x->block, (size_t)got});
		if (rc == -EAGAIN)
			return; /* on_drain goes on */
		if (rc < 0)
			x->gone = true;
		x->offset = at + (uint64_t)got;
		if (i == 64) { /* others want their turn */
			wz_timer_set(&x->timer, 0);
			return;
		}
	}
	if (x->gone || !x->follow || ended || x->s->stopping)
		finish(x);
	else
		wz_timer_set(&x->timer, POLL_US);
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

void op_job_logs(void *ctx, struct wz_api_call *c, const struct wz_api_job_logs *rq)
{
	struct serve *s = ctx;
	struct wz_err err;
	struct reading *x = wz_mem_zalloc(s->mem, sizeof *x);
	if (!x || rq->stream == 1) {
		(void)wz_err_set(&err, x ? -EOPNOTSUPP : -ENOMEM, x ? "NotSupported" : "OutOfMemory",
		        x ? WZ_STR("output and errors go to one log") : WZ_STR("out of memory"));
		wz_api_fail(c, &err);
		wz_mem_free(s->mem, x, sizeof *x);
		return;
	}
	*x = (struct reading){.s = s,
	        .c = c,
	        .job = rq->id,
	        .offset = rq->offset,
	        .task = rq->task,
	        .fixed = rq->attempt,
	        .follow = rq->follow,
	        .dir = -1};
	if (wz_timer_init(&x->timer, s->loop, pump, x) < 0) {
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
		wz_api_fail(c, &err);
		wz_mem_free(s->mem, x, sizeof *x);
		return;
	}
	if (rq->tail && open_next(x))
		x->offset = tail_offset(x, rq->tail);
	*wz_api_call_data(c) = x;
	wz_api_stream_begin(c, on_drain, on_gone);
	wz_timer_set(&x->timer, 0);
}
