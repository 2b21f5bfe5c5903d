/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: timers, descriptors, signals, and calls from other threads. A façade over libevent 2.1, whose names
 * stop here and in http.c.
 *
 * Thread rule: one thread runs the loop and alone touches what belongs to it; wz_loop_post and wz_loop_stop may be
 * called by any thread. Callbacks may arm, stop and release anything, themselves included. Watches are embedded: their
 * owner keeps them in place between init and release. SIGPIPE is ignored from wz_loop_new on.
 *
 * Errors: -ENOMEM "OutOfMemory", -EIO "LoopFailed" (the kernel refused epoll or an eventfd; the text says what). */
#ifndef WZ_OS_LOOP_H
#define WZ_OS_LOOP_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

struct wz_loop;
typedef void wz_loop_fn(void *ctx);

int wz_loop_new(const struct wz_mem *mem, struct wz_loop **ret, struct wz_err *err);
/* Accepts NULL. All that was armed on it is released before; calls still posted are run, so that what they own is not
 * lost. */
void wz_loop_free(struct wz_loop *l);

int wz_loop_run(struct wz_loop *l); /* until wz_loop_stop; 0, or -EIO when the kernel fails */
/* One round: waits at most `wait_us` (0: only looks; below 0: until something happens). 0 or -EIO. */
int wz_loop_step(struct wz_loop *l, int64_t wait_us);
void wz_loop_stop(struct wz_loop *l); /* any thread; wz_loop_run returns after the present round */
bool wz_loop_stopping(const struct wz_loop *l);

/* Monotonic microseconds: the `now` that a callback reads once and passes on. */
int64_t wz_loop_now_us(const struct wz_loop *l);

/* Any thread: `fn(ctx)` runs soon on the loop's thread, in the order of posting. 0 or -ENOMEM (then it does not). */
int wz_loop_post(struct wz_loop *l, wz_loop_fn *fn, void *ctx);

/* ---- timers: one shot, never early; arm again for the next ---- */
struct wz_timer {
	struct wz_loop *loop;
	wz_loop_fn *fn;
	void *ctx;
	void *event;
};
int wz_timer_init(struct wz_timer *t, struct wz_loop *l, wz_loop_fn *fn, void *ctx); /* 0, -ENOMEM; not armed */
void wz_timer_set(struct wz_timer *t, int64_t after_us); /* replaces; below 0 counts as 0 */
void wz_timer_stop(struct wz_timer *t);
void wz_timer_release(struct wz_timer *t); /* accepts a zeroed one */

/* ---- descriptors: level triggered; the descriptor stays the caller's and is closed after the release ---- */
#define WZ_WATCH_READ 1u
#define WZ_WATCH_WRITE 2u
struct wz_watch {
	struct wz_loop *loop;
	void (*fn)(void *ctx, unsigned what); /* a mask of the above */
	void *ctx;
	void *event;
	int fd;
	unsigned what;
};
int wz_watch_init(struct wz_watch *w, struct wz_loop *l, int fd, void (*fn)(void *ctx, unsigned what), void *ctx);
int wz_watch_set(
        struct wz_watch *w, unsigned what); /* 0: nothing; -EIO for what cannot be polled, a regular file */
void wz_watch_release(struct wz_watch *w);

/* ---- signals: the callback runs on the loop, not in the handler ---- */
struct wz_sigwatch {
	wz_loop_fn *fn;
	void *ctx;
	void *event;
};
int wz_sigwatch_init(struct wz_sigwatch *s, struct wz_loop *l, int signo, wz_loop_fn *fn, void *ctx);
void wz_sigwatch_release(struct wz_sigwatch *s);

struct event_base;
struct event_base *wz_loop_base(struct wz_loop *l); /* for http.c alone */

#endif
