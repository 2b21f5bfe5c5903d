/* SPDX-License-Identifier: Apache-2.0 */
/* libevent runs the loop; what it does not have is here: a queue of calls from other threads (a list under a mutex and an
 * eventfd that wakes the loop). libevent itself is used from one thread only and needs no locks of its own. */
#include "os/loop.h"

#include "base/check.h"
#include "os/clock.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct posted {
	struct posted *next;
	wz_loop_fn *fn;
	void *ctx;
};

struct wz_loop {
	const struct wz_mem *mem;
	struct event_base *base;
	struct event *wake;
	int wake_fd;
	atomic_bool stop;
	pthread_mutex_t lock;
	struct posted *first, **last; /* under the lock; of malloc, since any thread makes them */
};

static void run_posted(struct wz_loop *l)
{
	pthread_mutex_lock(&l->lock);
	struct posted *list = l->first;
	l->first = NULL;
	l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	while (list) {
		struct posted *p = list;
		list = p->next;
		p->fn(p->ctx);
		free(p);
	}
}

static void on_wake(evutil_socket_t fd, short what, void *ctx)
{
	struct wz_loop *l = ctx;
	uint64_t count;
	(void)what;
	ssize_t n = read(fd, &count, sizeof count);
	(void)n; /* EAGAIN: another round took it */
	run_posted(l);
}

static void wake(struct wz_loop *l)
{
	uint64_t one = 1;
	ssize_t n = write(l->wake_fd, &one, sizeof one);
	(void)n; /* EAGAIN: the counter is full, so it is awake */
}

static int failed(struct wz_loop *l, struct wz_err *err, const char *what)
{
	wz_loop_free(l);
	return wz_err_set(err, -EIO, "LoopFailed", WZ_STR("cannot start the event loop: "), wz_str(what));
}

/* libevent's defaults read a coarse clock and keep it for a round: timers would come up to some milliseconds early. */
static struct event_base *precise_base(void)
{
	struct event_base *base = NULL;
	struct event_config *c = event_config_new();
	if (c && event_config_set_flag(c, EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
		base = event_base_new_with_config(c);
	if (c)
		event_config_free(c);
	return base;
}

int wz_loop_new(const struct wz_mem *mem, struct wz_loop **ret, struct wz_err *err)
{
	struct wz_loop *l = wz_mem_zalloc(mem, sizeof *l);
	if (!l)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	signal(SIGPIPE, SIG_IGN);
	l->mem = mem;
	l->last = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake_fd < 0)
		return failed(l, err, "no eventfd");
	l->base = precise_base();
	if (!l->base)
		return failed(l, err, "no event base");
	l->wake = event_new(l->base, l->wake_fd, EV_READ | EV_PERSIST, on_wake, l);
	if (!l->wake || event_add(l->wake, NULL) < 0)
		return failed(l, err, "cannot watch the eventfd");
	*ret = l;
	return 0;
}

void wz_loop_free(struct wz_loop *l)
{
	if (!l)
		return;
	run_posted(l);
	if (l->wake)
		event_free(l->wake);
	if (l->base)
		event_base_free(l->base);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	pthread_mutex_destroy(&l->lock);
	wz_mem_free(l->mem, l, sizeof *l);
}

static void wait_over(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what, (void)ctx;
}

static int one_round(struct wz_loop *l, int flags)
{
	int rc = event_base_loop(l->base, EVLOOP_ONCE | flags);
	return rc < 0 ? -EIO : 0;
}

int wz_loop_run(struct wz_loop *l)
{
	int rc = 0;
	while (rc == 0 && !atomic_load(&l->stop))
		rc = one_round(l, 0);
	return rc;
}

int wz_loop_step(struct wz_loop *l, int64_t wait_us)
{
	if (wait_us == 0)
		return one_round(l, EVLOOP_NONBLOCK);
	if (wait_us > 0) {
		struct timeval tv = {wait_us / 1000000, wait_us % 1000000};
		if (event_base_once(l->base, -1, EV_TIMEOUT, wait_over, NULL, &tv) < 0)
			return -EIO;
	}
	return one_round(l, 0);
}

void wz_loop_stop(struct wz_loop *l)
{
	atomic_store(&l->stop, true);
	wake(l);
}

bool wz_loop_stopping(const struct wz_loop *l)
{
	return atomic_load(&l->stop);
}

/* A vDSO read; cheaper than keeping a copy right. */
int64_t wz_loop_now_us(const struct wz_loop *l)
{
	(void)l;
	return (int64_t)(wz_clock_monotonic_ns() / 1000);
}

int wz_loop_post(struct wz_loop *l, wz_loop_fn *fn, void *ctx)
{
	struct posted *p = malloc(sizeof *p);
	if (!p)
		return -ENOMEM;
	*p = (struct posted){NULL, fn, ctx};
	pthread_mutex_lock(&l->lock);
	bool first = !l->first;
	*l->last = p;
	l->last = &p->next;
	pthread_mutex_unlock(&l->lock);
	if (first)
		wake(l);
	return 0;
}

/* ---- timers ---- */

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct wz_timer *t = ctx;
	(void)fd, (void)what;
	t->fn(t->ctx);
}

int wz_timer_init(struct wz_timer *t, struct wz_loop *l, wz_loop_fn *fn, void *ctx)
{
	*t = (struct wz_timer){l, fn, ctx, NULL};
	t->event = event_new(l->base, -1, 0, on_timer, t);
	return t->event ? 0 : -ENOMEM;
}

void wz_timer_set(struct wz_timer *t, int64_t after_us)
{
	if (after_us < 0)
		after_us = 0;
	struct timeval tv = {after_us / 1000000, after_us % 1000000};
	wz_check(event_add(t->event, &tv) == 0); /* fails only for descriptors */
}

void wz_timer_stop(struct wz_timer *t)
{
	if (t->event)
		event_del(t->event);
}

void wz_timer_release(struct wz_timer *t)
{
	if (t->event)
		event_free(t->event);
	t->event = NULL;
}

/* ---- descriptors ---- */

static void on_fd(evutil_socket_t fd, short what, void *ctx)
{
	struct wz_watch *w = ctx;
	unsigned mask = (what & EV_READ ? WZ_WATCH_READ : 0) | (what & EV_WRITE ? WZ_WATCH_WRITE : 0);
	(void)fd;
	w->fn(w->ctx, mask);
}

int wz_watch_init(struct wz_watch *w, struct wz_loop *l, int fd, void (*fn)(void *ctx, unsigned what), void *ctx)
{
	*w = (struct wz_watch){l, fn, ctx, NULL, fd, 0};
	w->event = event_new(l->base, fd, EV_PERSIST | EV_READ, on_fd, w);
	return w->event ? 0 : -ENOMEM;
}

int wz_watch_set(struct wz_watch *w, unsigned what)
{
	if (what == w->what)
		return 0;
	event_del(w->event);
	w->what = 0;
	if (!what)
		return 0;
	short events =
	        (short)(EV_PERSIST | (what & WZ_WATCH_READ ? EV_READ : 0) | (what & WZ_WATCH_WRITE ? EV_WRITE : 0));
	if (event_assign(w->event, w->loop->base, w->fd, events, on_fd, w) < 0 || event_add(w->event, NULL) < 0)
		return -EIO;
	w->what = what;
	return 0;
}

void wz_watch_release(struct wz_watch *w)
{
	if (w->event)
		event_free(w->event);
	w->event = NULL;
	w->what = 0;
}

/* ---- signals ---- */

static void on_signal(evutil_socket_t fd, short what, void *ctx)
{
	struct wz_sigwatch *s = ctx;
	(void)fd, (void)what;
	s->fn(s->ctx);
}

int wz_sigwatch_init(struct wz_sigwatch *s, struct wz_loop *l, int signo, wz_loop_fn *fn, void *ctx)
{
	*s = (struct wz_sigwatch){fn, ctx, NULL};
	s->event = evsignal_new(l->base, signo, on_signal, s);
	if (!s->event)
		return -ENOMEM;
	if (evsignal_add((struct event *)s->event, NULL) < 0) {
		wz_sigwatch_release(s);
		return -EIO;
	}
	return 0;
}

void wz_sigwatch_release(struct wz_sigwatch *s)
{
	if (s->event)
		event_free(s->event);
	s->event = NULL;
}

struct event_base *wz_loop_base(struct wz_loop *l)
{
	return l->base;
}
