/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `wz trace` (and `wz sim`) share: a workload with its catalogue, read from files, written to files. */
#ifndef WZ_CLI_TRACE_H
#define WZ_CLI_TRACE_H

#include "cli/cli.h"
#include "sim/formats.h"

struct wz_cli_trace {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
};

int wz_cli_trace_init(struct wz_cli_trace *t, const struct wz_mem *mem, struct wz_err *err);
void wz_cli_trace_release(struct wz_cli_trace *t);

/* The format named by an option; empty: *ret is `none`. -EINVAL. */
int wz_cli_trace_format(struct wz_str name, const struct wz_trace_format *none, const struct wz_trace_format **ret,
        struct wz_err *err);

/* Writes what `t` holds into the directory `dir` (made when missing) as the format's usual files, and the names of the
 * files to cli->out; or, when dir is "-", the text itself to cli->out (formats of one file only). All texts are complete
 * in memory before the first file is touched. Returns an exit code, reported. */
int wz_cli_trace_write(
        struct wz_cli *cli, const struct wz_cli_trace *t, const struct wz_trace_format *f, struct wz_str dir);

#endif
