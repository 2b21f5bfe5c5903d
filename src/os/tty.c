/* SPDX-License-Identifier: Apache-2.0 */
#include "os/tty.h"

#include "base/str.h"

#include <sys/ioctl.h>
#include <unistd.h>

bool wz_tty_is(int fd)
{
	return isatty(fd) == 1;
}

unsigned wz_tty_width(int fd)
{
	uint64_t columns = 0;
	struct winsize size;
	if (wz_str_parse_u64(wz_str(getenv("COLUMNS")), &columns) < 0 || columns == 0 || columns > 10000)
		columns = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
	return columns < 20 ? 20 : (unsigned)columns;
}

bool wz_tty_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	if (no_color && *no_color)
		return false;
	return term && *term && strcmp(term, "dumb") != 0 && wz_tty_is(fd);
}
