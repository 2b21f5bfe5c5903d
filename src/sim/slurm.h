/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm prints of itself, as a trace: `sacct -P` (jobs), `scontrol show node` or the NodeName lines of slurm.conf (nodes), and
 * `sacctmgr dump` (accounts as queues with their limits). Lines end with LF or CRLF. All reasons are those of trace readers. */
#ifndef WZ_SIM_SLURM_H
#define WZ_SIM_SLURM_H

#include "sim/formats.h"

/* A header of names between '|'; needed: JobID, Submit, and ElapsedRaw or Start and End. Steps (a dot in JobID) are left out. GPUs are
 * gres/gpu of AllocTRES, else of ReqTRES. */
int wz_slurm_sacct(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_sim_tasks *tasks, struct wz_err *err);
/* Blocks or lines of NodeName=...; NodeName=a[01-16,20] is many. Gres=gpu:MODEL:N. */
int wz_slurm_nodes(const struct wz_trace_source *src, struct wz_sim_nodes *nodes, struct wz_err *err);
/* Accounts as a queue tree for whalezen.yaml, appended as text. */
int wz_slurm_queues(const struct wz_trace_source *src, struct wz_buf *yaml, struct wz_err *err);

#endif
