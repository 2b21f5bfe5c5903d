/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page.h"

#include "os/file.h"
#include "os/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

size_t wz_page_width(void)
{
	struct winsize w;
	uint64_t n = 0;
	if (wz_str_parse_u64(wz_str(getenv("WZ_WIDTH")), &n) == 0)
		return n < 10000 ? (size_t)n : 10000;
	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

static const char *pager(void)
{
	const char *p = getenv("WZ_PAGER");
	if (!p)
		p = getenv("PAGER");
	if (!p)
		p = "less -FRSX";
	return *p && strcmp(p, "cat") != 0 ? p : NULL;
}

static bool is_long(struct wz_str text)
{
	struct winsize w;
	size_t lines = 0;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row)
		return false;
	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	return lines >= w.ws_row;
}

/* The reader may leave in the middle: that is no error. */
static int through(const char *command, struct wz_str text)
{
	const char *argv[] = {"/bin/sh", "-c", command, NULL};
	char here[4096];
	struct wz_err err;
	int pipe_fd[2], status;
	pid_t pid;
	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return wz_fd_write_all(STDOUT_FILENO, text);
	struct wz_proc_fd fds[] = {{pipe_fd[0], 0}, {1, 1}, {2, 2}};
	struct wz_proc_spec p = {.argv = argv,
	        .envp = (const char *const *)environ,
	        .cwd = getcwd(here, sizeof here) ? here : NULL,
	        .umask = -1,
	        .fds = fds,
	        .n_fds = 3};
	int rc = wz_proc_spawn(&p, &pid, &err);
	(void)close(pipe_fd[0]);
	if (rc < 0) {
		(void)close(pipe_fd[1]);
		return wz_fd_write_all(STDOUT_FILENO, text);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN); /* the pager's */
	(void)wz_fd_write_all(pipe_fd[1], text);
	(void)close(pipe_fd[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) /* there is no such pager */
		return wz_fd_write_all(STDOUT_FILENO, text);
	return 0;
}

int wz_page_out(struct wz_str text)
{
	const char *command = is_long(text) ? pager() : NULL;
	return command ? through(command, text) : wz_fd_write_all(STDOUT_FILENO, text);
}
