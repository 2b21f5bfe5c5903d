/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a job: a clean base, what may pass from the submitter, what we set.
 *
 * Order, later wins: HOME USER LOGNAME SHELL PATH; of `env` the names of wz_env_pass_names and of `pass` (all with
 * env_all); `set`; then ours, which nobody overrides: CUDA_DEVICE_ORDER, CUDA_VISIBLE_DEVICES, WZ_*, of a gang MASTER_ADDR
 * MASTER_PORT RANK WORLD_SIZE, and with `slurm` SLURM_*. A CUDA_* of the submitter's that we replace by another value
 * gives a warning. Pure: nothing of the agent's own environment gets in. */
#ifndef WZ_AGENT_ENV_H
#define WZ_AGENT_ENV_H

#include "agent/wire.h"

extern const char *const wz_env_pass_names[]; /* NULL-terminated; "LC_*": a prefix */

struct wz_env_facts {
	struct wz_str node; /* name */
	struct wz_str run_dir; /* absolute; holds preempt, ack, sock, hosts */
	const struct wz_str *uuids; /* [n_uuids] of the node's devices by index */
	uint32_t n_uuids;
	struct wz_str secrets_dir; /* empty: none */
};

/* NULL-terminated, in the arena. warnings: struct wz_str in the arena, appended (at most 16). 0; -ENOMEM; -EINVAL
 * "BadEnvironment": no '=' or an empty name. O(n^2) in the variables that pass, which are limited to 4096. */
int wz_env_build(const struct wz_wire_start *s, const struct wz_env_facts *f, struct wz_arena *arena,
        const char ***ret_env, uint32_t *ret_n, struct wz_wire_array *warnings, struct wz_err *err);

/* What execve would refuse: bytes of argv and environment beyond the kernel's limit, or one string beyond 128 KiB. 0;
 * -E2BIG "TooLarge". For checks at submit as well. */
int wz_env_check_size(const char *const *argv, const char *const *env, struct wz_err *err);

#endif
