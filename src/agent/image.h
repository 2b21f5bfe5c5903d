/* SPDX-License-Identifier: Apache-2.0 */
/* A job inside a container image: the command becomes one of podman's or apptainer's, which runs in the attempt's cgroup
 * as the job's user, so that limits, signals, the fence and the end are those of any other job. Contract: spec/agent.md
 * "Images". */
#ifndef WZ_AGENT_IMAGE_H
#define WZ_AGENT_IMAGE_H

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct wz_image_job {
	struct wz_str image; /* a reference; or the path of a file or directory, which apptainer runs */
	const char *name; /* of the container */
	const char *cwd, *run_dir; /* are seen inside at the same paths */
	const char *const *argv, *const *env;
	const struct wz_str *devices; /* UUIDs of those to be given by CDI */
	uint32_t n_devices;
	bool pty, root; /* root: the job's user is root */
};

/* The whole command line, NULL-terminated, in the arena, with the runtime found in `path` (as PATH). -ENOENT
 * "NoContainerRuntime", -EINVAL "BadImage", -ENOMEM. */
int wz_image_argv(const struct wz_image_job *j, const char *path, struct wz_arena *arena, const char ***ret,
        uint32_t *ret_n, struct wz_err *err);

#endif
