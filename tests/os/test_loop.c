/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"
#include "tap.h"

#include "os/clock.h"

#include <fcntl.h>
#include <signal.h>

static struct wz_loop *loop;
static int order[16], n_order;

static void note(void *ctx)
{
	order[n_order++] = *(int *)ctx;
}

static void stop(void *ctx)
{
	(void)ctx;
	wz_loop_stop(loop);
}

static int one = 1, two = 2, three = 3;

static void test_timers(void)
{
	struct wz_timer a, b, c;
	n_order = 0;
	tap_require(wz_loop_new(wz_os_mem(), &loop, NULL) == 0, "a loop");
	wz_timer_init(&a, loop, note, &one);
	wz_timer_init(&b, loop, note, &two);
	wz_timer_init(&c, loop, stop, NULL);
	wz_timer_set(&b, 20000);
	wz_timer_set(&a, 10000);
	wz_timer_set(&a, -5); /* again: now */
	wz_timer_set(&c, 30000);
	int64_t before = wz_loop_now_us(loop);
	tap_eq_i64(wz_loop_run(loop), 0, "run");
	tap_ok(wz_loop_now_us(loop) - before >= 30000, "the time passed");
	tap_ok(n_order == 2 && order[0] == 1 && order[1] == 2, "in order, each once");
	wz_timer_set(&a, 0);
	wz_timer_stop(&a);
	tap_eq_i64(wz_loop_step(loop, 0), 0, "a step that finds nothing");
	tap_eq_i64(n_order, 2, "a stopped timer is silent");
	wz_timer_release(&a);
	wz_timer_release(&a);
	wz_timer_release(&b);
	wz_timer_release(&c);
	wz_loop_free(loop);
	wz_loop_free(NULL);
}

static int got;
static void on_fd(void *ctx, unsigned what)
{
	int fd = *(int *)ctx;
	char byte;
	if (what & WZ_WATCH_READ && read(fd, &byte, 1) == 1)
		got++;
}

static void test_fds_and_signals(void)
{
	int p[2];
	struct wz_watch w;
	struct wz_sigwatch s;
	n_order = got = 0;
	tap_require(wz_loop_new(wz_os_mem(), &loop, NULL) == 0 && pipe(p) == 0, "a loop, a pipe");
	wz_watch_init(&w, loop, p[0], on_fd, &p[0]);
	tap_eq_i64(write(p[1], "xy", 2), 2, "write");
	tap_eq_i64(wz_loop_step(loop, 1000), 0, "not watched yet");
	tap_eq_i64(got, 0, "silent");
	tap_eq_i64(wz_watch_set(&w, WZ_WATCH_READ), 0, "watch");
	wz_loop_step(loop, 1000000);
	wz_loop_step(loop, 1000000);
	tap_eq_i64(got, 2, "level triggered");
	tap_eq_i64(wz_watch_set(&w, 0), 0, "unwatch");
	tap_eq_i64(wz_sigwatch_init(&s, loop, SIGUSR1, note, &three), 0, "signal");
	raise(SIGUSR1);
	wz_loop_step(loop, 1000000);
	tap_ok(n_order == 1 && order[0] == 3, "a signal is a callback");
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct wz_watch f;
	wz_watch_init(&f, loop, file, on_fd, &file);
	tap_eq_i64(wz_watch_set(&f, WZ_WATCH_READ), -EIO, "a regular file cannot be polled");
	wz_watch_release(&f);
	close(file);
	wz_sigwatch_release(&s);
	wz_watch_release(&w);
	close(p[0]);
	close(p[1]);
	wz_loop_free(loop);
}

#define THREADS 4
#define POSTS 20000
static int counted;
static void count_post(void *ctx)
{
	(void)ctx;
	if (++counted == THREADS * POSTS)
		wz_loop_stop(loop);
}
static void *poster(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < POSTS; i++)
		wz_check(wz_loop_post(loop, count_post, NULL) == 0);
	return NULL;
}

static void test_posts(void)
{
	pthread_t t[THREADS];
	counted = 0;
	tap_require(wz_loop_new(wz_os_mem(), &loop, NULL) == 0, "a loop");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, poster, NULL);
	tap_eq_i64(wz_loop_run(loop), 0, "run");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	tap_eq_i64(counted, THREADS * POSTS, "no post is lost, none wakes in vain");
	/* What is still posted when the loop is freed runs. */
	wz_loop_post(loop, count_post, NULL);
	wz_loop_free(loop);
	tap_eq_i64(counted, THREADS * POSTS + 1, "the last one too");
}

int main(void)
{
	tap_run(test_timers);
	tap_run(test_fds_and_signals);
	tap_run(test_posts);
	return tap_done();
}
