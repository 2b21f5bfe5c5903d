/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sample.h"

#include "os/clock.h"
#include "os/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int copy_inventory(const struct wz_inventory *from, struct wz_inventory *to)
{
	if (wz_grow(to->mem, &to->node, &to->cap_nodes, from->n_nodes, sizeof *to->node) < 0 ||
	        wz_grow(to->mem, &to->device, &to->cap_devices, from->n_devices, sizeof *to->device) < 0 ||
	        wz_grow(to->mem, &to->proc, &to->cap_procs, from->n_procs, sizeof *to->proc) < 0)
		return -ENOMEM;
	to->n_nodes = from->n_nodes;
	to->n_devices = from->n_devices;
	to->n_procs = from->n_procs;
	to->procs_known = from->procs_known;
	if (from->n_nodes) /* labels are borrowed from what was listed first, which stays */
		memcpy(to->node, from->node, from->n_nodes * sizeof *to->node);
	if (from->n_devices)
		memcpy(to->device, from->device, from->n_devices * sizeof *to->device);
	if (from->n_procs)
		memcpy(to->proc, from->proc, from->n_procs * sizeof *to->proc);
	return 0;
}

static uint64_t now_us(void)
{
	return (uint64_t)wz_clock_wall_us();
}

static void *run(void *arg)
{
	struct wz_sampler *s = arg;
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		pthread_mutex_unlock(&s->lock);
		struct wz_err err = {0};
		uint64_t at = now_us(), one = 1;
		pthread_mutex_lock(&s->provider_lock);
		int rc = s->provider->sample(s->source, at, &s->own, &err);
		uint64_t next =
		        s->provider->next_change_us ? s->provider->next_change_us(s->source, at) : UINT64_MAX;
		pthread_mutex_unlock(&s->provider_lock);
		pthread_mutex_lock(&s->lock);
		s->err = err;
		s->err.code = rc;
		if (rc == 0) {
			s->sampled_us = at;
			(void)copy_inventory(&s->own, &s->shared);
		}
		(void)!write(s->fd, &one, sizeof one);
		uint64_t until = at + s->interval_us;
		if (next < until)
			until = next + 1000;
		struct timespec ts = {(time_t)(until / 1000000), (long)(until % 1000000) * 1000};
		while (!s->stop && pthread_cond_timedwait(&s->wake, &s->lock, &ts) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int wz_sampler_start(struct wz_sampler *s, const struct wz_device_provider *p, struct wz_device_source *source,
        uint64_t interval_us, struct wz_inventory *inv, struct wz_err *err)
{
	sigset_t all, old;
	memset(s, 0, sizeof *s);
	s->provider = p;
	s->source = source;
	s->interval_us = interval_us ? interval_us : 1000000;
	wz_inventory_init(&s->own, wz_os_mem());
	wz_inventory_init(&s->shared, wz_os_mem());
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->provider_lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = s->fd < 0 ? wz_err_set(err, -errno, "OutOfMemory", WZ_STR("no descriptor")) : 0;
	if (rc == 0)
		rc = p->list(source, now_us(), &s->own, err);
	if (rc == 0 && (copy_inventory(&s->own, &s->shared) < 0 || copy_inventory(&s->own, inv) < 0))
		rc = wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("out of memory"));
	if (rc == 0) {
		s->sampled_us = now_us();
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		rc = pthread_create(&s->thread, NULL, run, s);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		s->started = rc == 0;
		if (rc)
			rc = wz_err_set(err, -rc, "OutOfMemory", WZ_STR("no thread for sensing"));
	}
	return rc;
}

int wz_sampler_take(struct wz_sampler *s, struct wz_inventory *inv, struct wz_err *err)
{
	uint64_t token;
	(void)!read(s->fd, &token, sizeof token);
	pthread_mutex_lock(&s->lock);
	int rc = s->err.code;
	if (rc < 0 && err)
		*err = s->err;
	if (rc == 0)
		rc = copy_inventory(&s->shared, inv);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void wz_sampler_use(struct wz_sampler *s, uint32_t node, uint32_t index, const struct wz_device_use *use)
{
	if (!s->provider->use) /* a real driver is never waited for */
		return;
	pthread_mutex_lock(&s->provider_lock);
	s->provider->use(s->source, node, index, use);
	pthread_mutex_unlock(&s->provider_lock);
}

void wz_sampler_stop(struct wz_sampler *s)
{
	if (s->started) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_signal(&s->wake);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
		s->started = false;
	}
	if (s->source)
		s->provider->close(s->source);
	s->source = NULL;
	wz_inventory_release(&s->own);
	wz_inventory_release(&s->shared);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
