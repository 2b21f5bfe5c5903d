/* SPDX-License-Identifier: Apache-2.0 */
/* `wz sim ...`: experiments in virtual time. One file per verb (sim_pack.c, ...), one row here. */
#include "cli/cli.h"

static const struct wz_verb *const verbs[] = {
        &wz_verb_sim_churn,
        &wz_verb_sim_pack,
        &wz_verb_sim_run,
        &wz_verb_sim_validate,
        &wz_verb_sim_report,
        &wz_verb_sim_bound,
        NULL,
};

const struct wz_verb wz_verb_sim = {
        .name = "sim",
        .summary = "experiments in virtual time",
        .usage = "wz sim VERB [options]",
        .sub = verbs,
};
