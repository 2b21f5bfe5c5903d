/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `wz sim` share: a cluster and lists of pods as arguments, placements by name, progress, interruption. */
#ifndef WZ_CLI_SIM_COMMON_H
#define WZ_CLI_SIM_COMMON_H

#include "cli/cli.h"
#include "sim/pack.h"

#include <stdatomic.h>

#define WZ_SIM_LISTS_MAX 64u
#define WZ_SIM_SEEDS_MAX 10000u

/* The three file options of a verb; *ret_lists is the one that names an experiment each. 0, or the exit code of a usage
 * error that was reported. */
int wz_sim_check_files(const struct wz_verb *v, const struct wz_list *nodes, const struct wz_list *pods,
                       const struct wz_list *trace, int operands, const struct wz_list **ret_lists);

/* A result is kept for each run: more seeds than WZ_SIM_SEEDS_MAX are a usage error, whose exit code is returned. */
int wz_sim_check_seeds(const struct wz_verb *v, const struct wz_range *seeds);

/* A cluster and one list, read. Starts as zeros; may be closed after any error. Does not move between open and close. */
struct wz_sim_input {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_pack_input in;
	bool opened, ready;
};
int wz_sim_input_open(struct wz_sim_input *x, const struct wz_list *nodes, struct wz_str list, const struct wz_mem *mem,
                      struct wz_err *err);
void wz_sim_input_close(struct wz_sim_input *x);

struct wz_str wz_sim_trace_name(struct wz_str path); /* the file's name without folder, ".csv" and the openb prefix */

/* More work for the same cluster, read from one file into a struct that was inited. */
int wz_sim_input_more(struct wz_sim_input *x, struct wz_str path, struct wz_sim_tasks *ret, struct wz_err *err);

void wz_sim_command_line(const char *verb, int argc, char **argv, struct wz_buf *b); /* as it was typed */

/* ---- sim_placement.c ---- */
/* Canonical texts of the variants asked for (core/policy.h), owned by the arena; none: the default, "all": every policy.
 * Commas separate placements and the parameters of one: a part with '=' and no ':' goes on with the one before. */
int wz_sim_placements(struct wz_list *placement, struct wz_arena *arena, const char *ret[WZ_LIST_MAX], uint32_t *ret_n,
                      struct wz_err *err);
int wz_sim_list_policies(struct wz_cli *cli); /* with their parameters */

extern atomic_int wz_sim_interrupted;
void wz_sim_catch_interrupt(void);

struct wz_sim_progress { uint32_t before, all; }; /* runs before this set, runs of all sets */
void wz_sim_show_progress(void *ctx, uint32_t done, uint32_t all);

#endif
