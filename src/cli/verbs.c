/* SPDX-License-Identifier: Apache-2.0 */
/* The top of the verb tree, in the order of `wz help`. */
#include "cli/cli.h"

static const struct wz_verb *const verbs[] = {
        &wz_verb_submit,
        &wz_verb_run,
        &wz_verb_ps,
        &wz_verb_show,
        &wz_verb_why,
        &wz_verb_logs,
        &wz_verb_attach,
        &wz_verb_shell,
        &wz_verb_cancel,
        &wz_verb_hold,
        &wz_verb_release,
        &wz_verb_edit,
        &wz_verb_requeue,
        &wz_verb_suspend,
        &wz_verb_resume,
        &wz_verb_signal,
        &wz_verb_wait,
        &wz_verb_nodes,
        &wz_verb_devices,
        &wz_verb_top,
        &wz_verb_history,
        &wz_verb_report,
        &wz_verb_queue,
        &wz_verb_reserve,
        &wz_verb_drain,
        &wz_verb_undrain,
        &wz_verb_doctor,
        &wz_verb_dashboard,
        &wz_verb_repack,
        &wz_verb_whatif,
        &wz_verb_audit,
        &wz_verb_token,
        &wz_verb_reload,
        &wz_verb_serve,
        &wz_verb_agent,
        &wz_verb_sim,
        &wz_verb_trace,
        &wz_verb_completion,
        &wz_verb_help,
        NULL,
};

const struct wz_verb wz_verb_root = {
        .name = "wz",
        .summary = "WhaleZEN schedules AI work onto accelerators",
        .usage = "wz VERB [options]",
        .examples = "wz trace gen --like openb --seed 1 --out /tmp/t\n"
                    "wz trace info /tmp/t/nodes.csv /tmp/t/pods.csv\n"
                    "wz help trace gen\n",
        .sub = verbs,
};
