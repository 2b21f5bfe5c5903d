/* SPDX-License-Identifier: Apache-2.0 */
#include "os/clock.h"

#include "base/check.h"

static uint64_t read_ns(clockid_t id)
{
	struct timespec t;
	wz_check(clock_gettime(id, &t) == 0); /* fails only for an unknown clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t wz_clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t wz_clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t wz_clock_process_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t wz_clock_wall_us(void)
{
	return (int64_t)(read_ns(CLOCK_REALTIME) / 1000u);
}
