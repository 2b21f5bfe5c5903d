/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that replay jobs in time share: sim run, sim validate, whatif on a trace. */
#ifndef WZ_CLI_SIM_RUN_H
#define WZ_CLI_SIM_RUN_H

#include "cli/sim_common.h"
#include "sim/runset.h"

#define WZ_SIM_ORDERS_MAX 32u

struct wz_sim_run_args {
	struct wz_list nodes, trace, order;
	struct wz_str format, cluster, predict, restart, placement, queue, from, to, jobs_csv, html, mtbf, mttr, device_mtbf, device_mttr;
	struct wz_str unknown, bias, first, last;
	struct wz_range seeds;
	bool jsonl, list, quiet;
};

/* A cluster, a trace, and what came of it. Starts as zeros; may be closed after any error; does not move in between. */
struct wz_sim_world {
	struct wz_catalogue catalogue;
	struct wz_sim_nodes nodes;
	struct wz_sim_tasks tasks;
	struct wz_run_input in;
	struct wz_runset set;
	struct wz_runset_order order[WZ_SIM_ORDERS_MAX];
	struct wz_str more; /* nodes beside those of the trace, as --cluster has them; empty: none */
	bool opened;
};

/* Opens, selects and runs. 0; an exit code above 0 that was reported; a negative errno with *err. `select` may come with limits. */
int wz_sim_world_run(struct wz_cli *cli, const struct wz_verb *v, const struct wz_sim_run_args *a, struct wz_sim_world *w,
        struct wz_run_select *select, struct wz_err *err);
void wz_sim_world_close(struct wz_sim_world *w);

int wz_sim_validate_print(struct wz_cli *cli, struct wz_sim_world *w, const struct wz_sim_run_args *a, struct wz_err *err);

/* wz whatif on a trace: one page. */
struct wz_whatif_ask {
	struct wz_str trace, cluster, order, add, set, predict, restart;
	struct wz_range seeds;
};
int wz_cli_whatif_trace(struct wz_cli *cli, const struct wz_verb *v, const struct wz_whatif_ask *q);

#endif
