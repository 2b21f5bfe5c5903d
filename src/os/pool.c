/* SPDX-License-Identifier: Apache-2.0 */
/* One counter hands out the items. When several items fail, the lowest one's error is kept, so that the message does
 * not depend on timing more than it must. */
#include "os/pool.h"

#include "base/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

struct pool {
	uint32_t n;
	wz_pool_fn *run;
	void *ctx;
	const atomic_int *stop;
	atomic_uint next;
	atomic_bool failed, interrupted;
	pthread_mutex_t lock; /* of what follows */
	uint32_t failed_item;
	int code;
	struct wz_err err;
};

struct worker {
	struct pool *pool;
	uint32_t index;
	pthread_t thread;
};

static void work(struct pool *p, uint32_t worker)
{
	for (;;) {
		if (atomic_load(&p->failed))
			return;
		if (p->stop && atomic_load(p->stop)) {
			atomic_store(&p->interrupted, true);
			return;
		}
		uint32_t item = atomic_fetch_add(&p->next, 1);
		if (item >= p->n)
			return;
		struct wz_err err = {0};
		int rc = p->run(p->ctx, item, worker, &err);
		if (rc >= 0)
			continue;
		pthread_mutex_lock(&p->lock);
		if (p->code == 0 || item < p->failed_item) {
			p->code = rc;
			p->failed_item = item;
			p->err = err;
		}
		pthread_mutex_unlock(&p->lock);
		atomic_store(&p->failed, true);
		return;
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	work(w->pool, w->index);
	return NULL;
}

uint32_t wz_pool_cpus(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return 1;
	int n = CPU_COUNT(&set);
	return n < 1 ? 1 : (uint32_t)n;
}

uint32_t wz_pool_threads(uint32_t n, uint32_t threads)
{
	if (threads == 0)
		threads = wz_pool_cpus();
	if (threads > WZ_POOL_THREADS_MAX)
		threads = WZ_POOL_THREADS_MAX;
	if (threads > n)
		threads = n;
	return threads ? threads : 1;
}

int wz_pool_run(
        uint32_t n, uint32_t threads, wz_pool_fn *run, void *ctx, const atomic_int *stop, struct wz_err *err)
{
	struct pool p = {.n = n, .run = run, .ctx = ctx, .stop = stop, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct worker worker[WZ_POOL_THREADS_MAX];
	uint32_t started = 0;
	wz_check(n < UINT32_MAX - WZ_POOL_THREADS_MAX); /* the counter must not wrap */
	threads = wz_pool_threads(n, threads);

	/* A thread inherits the mask. The caller's own thread is worker 0 and keeps its signals. */
	sigset_t block, old;
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &block, &old);
	for (uint32_t i = 1; i < threads; i++) {
		worker[started] = (struct worker){.pool = &p, .index = i};
		if (pthread_create(&worker[started].thread, NULL, worker_main, &worker[started]) != 0)
			break; /* fewer threads are slower, not wrong */
		started++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	work(&p, 0);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(worker[i].thread, NULL);
	pthread_mutex_destroy(&p.lock);

	if (p.code < 0) {
		if (err)
			*err = p.err;
		return p.code;
	}
	if (atomic_load(&p.interrupted))
		return wz_err_set(err, -EINTR, "Interrupted", WZ_STR("interrupted before all items were done"));
	return 0;
}
