/* SPDX-License-Identifier: Apache-2.0 */
#include "os/sd.h"

#include "base/str.h"
#include "os/clock.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool wz_sd_notify(const char *message)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct wz_str path = wz_str(getenv("NOTIFY_SOCKET"));
	if (path.len < 2 || path.len >= sizeof to.sun_path || (path.ptr[0] != '/' && path.ptr[0] != '@'))
		return false;
	memcpy(to.sun_path, path.ptr, path.len);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = 0; /* an abstract name */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ssize_t n = sendto(fd, message, strlen(message), MSG_NOSIGNAL, (const struct sockaddr *)&to,
	        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.len));
	close(fd);
	return n >= 0;
}

bool wz_sd_reloading(void)
{
	char text[80];
	(void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
	        (unsigned long long)(wz_clock_monotonic_ns() / 1000));
	return wz_sd_notify(text);
}

int wz_sd_listen_fds(void)
{
	uint64_t pid = 0, n = 0;
	if (wz_str_parse_u64(wz_str(getenv("LISTEN_PID")), &pid) < 0 || pid != (uint64_t)getpid() ||
	        wz_str_parse_u64(wz_str(getenv("LISTEN_FDS")), &n) < 0)
		return 0;
	if (n > 16)
		n = 16;
	for (int i = 0; i < (int)n; i++)
		(void)fcntl(WZ_SD_FIRST_FD + i, F_SETFD, FD_CLOEXEC);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return (int)n;
}
