/* SPDX-License-Identifier: Apache-2.0 */
/* What a service manager and its service say to each other (systemd's sd_notify(3) and sd_listen_fds(3)): two environment
 * variables and a datagram, so no library. Without a manager every call does nothing. Thread rule: none shared. */
#ifndef WZ_OS_SD_H
#define WZ_OS_SD_H

#include <stdbool.h>

/* One message such as "READY=1" or "STATUS=...\nSTOPPING=1", to the socket of NOTIFY_SOCKET. True when it was sent. */
bool wz_sd_notify(const char *message);
/* "RELOADING=1" with the clock reading that goes with it. */
bool wz_sd_reloading(void);
/* How many sockets we were started with, from descriptor 3 on: those of LISTEN_FDS when LISTEN_PID is ours. They are made
 * close-on-exec, and the variables are taken from the environment. At most 16. */
int wz_sd_listen_fds(void);
#define WZ_SD_FIRST_FD 3

#endif
