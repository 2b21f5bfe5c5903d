/* SPDX-License-Identifier: Apache-2.0 */
/* The agent: eyes and hands on one machine. It senses devices through one provider, starts attempts through shims
 * (agent/attempt.h), and talks with its server by the messages of agent/wire.h.
 *
 * It holds no truth of its own: what runs is what the state directory and the shims say. Killed at any moment and started
 * again on the same directory, it finds every attempt, alive or ended, and tells; no exit status is lost, nothing runs
 * twice. Attempts live on while no agent runs.
 *
 * wz_agent_run is the body of a process: single-threaded but for sensing, and it owns SIGCHLD while it runs. */
#ifndef WZ_AGENT_AGENT_H
#define WZ_AGENT_AGENT_H

#include "base/err.h"

#include <stdatomic.h>

struct wz_agent_options {
	const char *state_dir; /* made when missing (0711); on a local file system; one agent at a time */
	const char *socket; /* the server's unix socket, connected to and re-connected for ever; or */
	int fd; /* an inherited connected stream socket when socket is NULL: its end ends the agent (attempts live on) */
	const char *provider; /* "emulated", "nvidia-smi", "none"; NULL: the first that finds something */
	const char *cluster_file; /* emulated */
	const char *smi_command, *smi_file; /* nvidia-smi: another program; text instead (tests) */
	const char *shim; /* path of wz-shim; NULL: beside this program, or ../libexec/whalezen */
	const char *cgroup_base; /* NULL: "whalezen-HASH", of the state directory; "": use no cgroups */
	const char *version; /* for hello */
	uint64_t sample_ms; /* between samples; 0: 1000 */
	void (*log)(void *ctx, const char *line); /* one line for people, no newline; NULL: standard error */
	void *log_ctx;
};

/* Runs until *stop is set (by a signal handler; SIGTERM and SIGINT should set it) or an inherited socket ends: 0. What
 * cannot be begun: -EBUSY "AgentRunning", "NoShim", "NoProvider", and errors of files and sockets. */
int wz_agent_run(const struct wz_agent_options *o, const atomic_int *stop, struct wz_err *err);

#endif
