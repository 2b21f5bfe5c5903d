/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks for measuring, in nanoseconds. Nothing that decides reads them. */
#ifndef WZ_OS_CLOCK_H
#define WZ_OS_CLOCK_H

#include <stdint.h>

uint64_t wz_clock_monotonic_ns(void); /* since some fixed moment; never goes back */
uint64_t wz_clock_thread_cpu_ns(void); /* CPU used by the calling thread */
uint64_t wz_clock_process_cpu_ns(void); /* CPU used by all threads */
int64_t wz_clock_wall_us(void); /* since 1970, UTC */

#endif
