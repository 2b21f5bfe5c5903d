/* SPDX-License-Identifier: Apache-2.0 */
/* --placement of the verbs of `wz sim`: policies, with parameters where they have any. */
#ifndef WZ_CLI_SIM_PLACEMENT_H
#define WZ_CLI_SIM_PLACEMENT_H

#include "cli/cli.h"
#include "core/policy.h"

/* Canonical texts of the variants asked for, owned by the arena; `all` is every policy, nothing the default. Commas
 * separate placements and the parameters of one: a part with '=' and no ':' goes on with the one before. */
int wz_placements_expand(struct wz_list *placement, struct wz_arena *arena, const char *ret[WZ_LIST_MAX], uint32_t *ret_n,
                         struct wz_err *err);
/* Prints the table of policies and their parameters. */
int wz_placements_list(struct wz_cli *cli);

#endif
