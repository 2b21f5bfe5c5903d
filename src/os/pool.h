/* SPDX-License-Identifier: Apache-2.0 */
/* Runs independent items on a few threads.
 *
 * Items are handed out in order 0..n-1, each to exactly one call of `run`. The first failure (in item order among those
 * that ran) stops the handing out; items already running finish. The caller's results belong in an array indexed by
 * item, so that the number of threads changes nothing that is printed. With one thread all runs in the caller's thread.
 *
 * Interrupts: the workers block SIGINT and SIGTERM, so a handler runs in the caller's thread; `stop`, when not NULL, is
 * polled between items (a handler sets it) and ends the run with -EINTR. */
#ifndef WZ_OS_POOL_H
#define WZ_OS_POOL_H

#include "base/err.h"

#include <stdatomic.h>

#define WZ_POOL_THREADS_MAX 256u

/* 0 or a negative errno with *err filled. `worker` is 0..threads-1: index of per-thread scratch. */
typedef int wz_pool_fn(void *ctx, uint32_t item, uint32_t worker, struct wz_err *err);

/* threads 0: as many as there are CPUs this process may use. Returns 0, the failed item's code, or -EINTR.
 * When threads cannot be started the others do the work. */
int wz_pool_run(
        uint32_t n, uint32_t threads, wz_pool_fn *run, void *ctx, const atomic_int *stop, struct wz_err *err);

uint32_t wz_pool_cpus(void); /* CPUs this process may use, at least 1 */
/* How many threads wz_pool_run uses for n items when asked for `threads`. */
uint32_t wz_pool_threads(uint32_t n, uint32_t threads);

#endif
