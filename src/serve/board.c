/* SPDX-License-Identifier: Apache-2.0 */
/* The jigsaw board: now, from the core that decides; and as it was, from a core that a thread of its own makes from the
 * journal, beside the daemon's work. Past boards are made one after another. */
#include "serve/serve_int.h"

#include "api/board.h"
#include "base/check.h"
#include "os/mem.h"

#include <pthread.h>
#include <unistd.h>

#define PAST_WAITING_MAX 16u

/* ---- who owns a job ---- */

struct asking {
	struct wz_arena *a;
	struct wz_api_board_job *job;
};

static struct wz_str keep(struct wz_arena *a, struct wz_str v)
{
	char *p = v.len ? wz_arena_alloc(a, v.len) : NULL;
	if (p)
		memcpy(p, v.ptr, v.len);
	return (struct wz_str){p, p ? v.len : 0};
}

static int job_row(void *ctx, const struct wz_job_row *r)
{
	struct asking *x = ctx;
	x->job->user = keep(x->a, r->user);
	x->job->queue = keep(x->a, r->queue);
	x->job->name = keep(x->a, r->name);
	return 1;
}

static void job_of_store(struct wz_store *s, struct wz_arena *a, uint64_t job, struct wz_api_board_job *ret)
{
	struct asking x = {a, ret};
	struct wz_job_query q = {.job = job};
	(void)wz_store_jobs(s, &q, job_row, &x, NULL);
}

/* ---- now ---- */

static void now_job(void *ctx, struct wz_arena *a, uint64_t job, struct wz_api_board_job *ret)
{
	struct serve *s = ctx;
	job_of_store(s->store, a, job, ret);
}

static void now_device(void *ctx, uint32_t node, uint32_t index, struct wz_api_board_device *ret)
{
	struct serve *s = ctx;
	if (node >= s->n_nodes || index >= s->node[node].n_devices)
		return;
	const struct place_facts *f = &s->node[node].device[index];
	ret->util_pct = f->util_pct;
	ret->temp_c = f->temp_c;
	ret->power_mw = f->power_mw;
	ret->foreign = f->foreign > 0 ? (uint32_t)f->foreign : 0;
	ret->mem_used_pct =
	        f->mem_used >= 0 && ret->mem_bytes > 0 ? (int32_t)(f->mem_used / (ret->mem_bytes / 100 + 1)) : -1;
	ret->mem_used_pct = ret->mem_used_pct > 100 ? 100 : ret->mem_used_pct;
}

/* ---- then ---- */

static void then_job(void *ctx, struct wz_arena *a, uint64_t job, struct wz_api_board_job *ret)
{
	job_of_store(ctx, a, job, ret);
}

int wz_serve_board_then(
        const char *state_dir, int64_t at_us, struct wz_arena *a, struct wz_api_board *ret, struct wz_err *err)
{
	struct wz_store_options o = {.dir = state_dir, .read_only = true};
	struct wz_core_options fresh = {.seed = 1, .no_index = true};
	struct wz_restored got = {.core = NULL};
	struct wz_store *store = NULL;
	int r = wz_store_open(&o, &store, err);
	if (r == 0)
		r = wz_store_replay(store, wz_os_mem(), &fresh, (uint64_t)at_us, &got, err);
	if (r == 0) {
		struct wz_board_more more = {.ctx = store, .job = then_job};
		r = wz_board_make(got.core, &more, a, ret);
		if (r < 0)
			(void)wz_err_set(err, r, "OutOfMemory", WZ_STR("no memory for the board"));
		else /* names live in the core's tables */
			for (uint32_t i = 0; i < ret->nodes.n; i++) {
				struct wz_api_board_node *n =
				        (struct wz_api_board_node *)(uintptr_t)ret->nodes.v + i;
				n->name = keep(a, n->name);
				n->rack = keep(a, n->rack);
				for (uint32_t k = 0; k < n->devices.n; k++) {
					struct wz_api_board_device *d =
					        (struct wz_api_board_device *)(uintptr_t)n->devices.v + k;
					d->model = keep(a, d->model);
				}
			}
	}
	wz_core_free(got.core);
	wz_store_close(store);
	return r;
}

struct serve_past {
	struct serve *s;
	pthread_t thread;
	bool running;
	struct wz_api_call *call[PAST_WAITING_MAX]; /* [0]: the one that is made */
	int64_t at_us[PAST_WAITING_MAX];
	uint32_t n;
	/* the thread's own until it has posted */
	struct wz_arena arena;
	struct wz_api_board board;
	struct wz_err err;
	int r;
};

static void past_next(struct serve_past *p);

static void past_done(void *ctx)
{
	struct serve_past *p = ctx;
	struct wz_api_call *c = p->call[0];
	(void)pthread_join(p->thread, NULL);
	p->running = false;
	p->n--;
	memmove(p->call, p->call + 1, p->n * sizeof *p->call);
	memmove(p->at_us, p->at_us + 1, p->n * sizeof *p->at_us);
	if (p->r < 0)
		wz_api_fail(c, &p->err);
	else
		wz_api_reply_board(c, &p->board);
	wz_arena_release(&p->arena);
	past_next(p);
}

static void *past_thread(void *ctx)
{
	struct serve_past *p = ctx;
	wz_arena_init(&p->arena, wz_os_mem(), 1u << 16);
	p->r = wz_serve_board_then(p->s->o->state_dir, p->at_us[0], &p->arena, &p->board, &p->err);
	while (wz_loop_post(p->s->loop, past_done, p) < 0)
		(void)usleep(1000); /* for want of memory: somebody waits for the answer */
	return NULL;
}

static void past_next(struct serve_past *p)
{
	struct wz_err err;
	while (p->n && !p->running) {
		if (pthread_create(&p->thread, NULL, past_thread, p) == 0) {
			p->running = true;
			break;
		}
		(void)wz_err_set(&err, -EAGAIN, "NoThread", WZ_STR("no thread could be started; try again"));
		wz_api_fail(p->call[--p->n], &err);
	}
}

void serve_past_end(struct serve *s)
{
	if (s->past && s->past->running) {
		(void)pthread_join(s->past->thread, NULL);
		wz_arena_release(&s->past->arena);
	}
	wz_mem_free(s->mem, s->past, sizeof *s->past);
	s->past = NULL;
}

static void board_then(struct serve *s, struct wz_api_call *c, int64_t at_us)
{
	struct wz_err err;
	if (!s->past && (s->past = wz_mem_zalloc(s->mem, sizeof *s->past)))
		s->past->s = s;
	if (!s->past || s->past->n == PAST_WAITING_MAX) {
		(void)wz_err_set(&err, -EAGAIN, "Busy", WZ_STR("many past moments are being asked for; try again"));
		wz_api_fail(c, &err);
		return;
	}
	s->past->at_us[s->past->n] = at_us;
	s->past->call[s->past->n++] = c;
	past_next(s->past);
}

void op_board(void *ctx, struct wz_api_call *c, const struct wz_api_board_query *rq)
{
	struct serve *s = ctx;
	struct wz_board_more more = {.ctx = s, .job = now_job, .device = now_device};
	struct wz_api_board b;
	struct wz_err err;
	if (rq->at_us > 0) {
		board_then(s, c, rq->at_us);
	} else if (wz_board_make(s->core, &more, wz_api_call_arena(c), &b) < 0) {
		(void)wz_err_set(&err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the board"));
		wz_api_fail(c, &err);
	} else {
		wz_api_reply_board(c, &b);
	}
}
