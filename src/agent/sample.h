/* SPDX-License-Identifier: Apache-2.0 */
/* Sensing in a thread of its own: a driver that hangs holds this thread and nothing else. */
#ifndef WZ_AGENT_SAMPLE_H
#define WZ_AGENT_SAMPLE_H

#include "device/device.h"

#include <pthread.h>

struct wz_sampler {
	const struct wz_device_provider *provider;
	struct wz_device_source *source;
	struct wz_inventory own, shared; /* of the thread; the last complete sample, under `lock` */
	pthread_t thread;
	pthread_mutex_t lock, provider_lock;
	pthread_cond_t wake;
	uint64_t interval_us;
	int fd; /* readable when there is a new sample or a failure */
	bool started, stop;
	struct wz_err err; /* of the last sample; code 0: it went well */
	uint64_t sampled_us; /* when the last good one was taken */
};

/* Lists the devices (here, not in the thread) and starts sampling. *inv receives a copy of the inventory. */
int wz_sampler_start(struct wz_sampler *s, const struct wz_device_provider *p, struct wz_device_source *source,
        uint64_t interval_us, struct wz_inventory *inv, struct wz_err *err);
/* After fd was readable: the last sample into *inv. Returns 0, or the negative errno of a sample that failed. */
int wz_sampler_take(struct wz_sampler *s, struct wz_inventory *inv, struct wz_err *err);
/* Tells an emulated device what runs on it. */
void wz_sampler_use(struct wz_sampler *s, uint32_t node, uint32_t index, const struct wz_device_use *use);
/* Stops; waits at most for the sample in progress. Closes the source. */
void wz_sampler_stop(struct wz_sampler *s);

#endif
