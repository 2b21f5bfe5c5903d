/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of `wz`: a table of verbs, one file each. To add one (HACKING.md): write src/cli/<verb>.c with a `const struct
 * wz_verb wz_verb_<verb>`, declare it below, put it in the table of its group (verbs.c, trace.c, sim.c), list the file in
 * src/cli/meson.build, and describe it in man/.
 *
 * Contracts: data to stdout, errors to stderr as "wz: ...", nothing on stdout when a verb fails; colour only on terminals;
 * the exit codes below. */
#ifndef WZ_CLI_CLI_H
#define WZ_CLI_CLI_H

#include "base/buf.h"
#include "cli/opt.h"

enum wz_exit {
	WZ_EXIT_OK = 0,
	WZ_EXIT_FAILED = 1,
	WZ_EXIT_USAGE = 2,
	WZ_EXIT_NOT_FOUND = 3, /* a file, job, node that does not exist */
	WZ_EXIT_REFUSED = 4, /* what was asked is understood and not allowed, or not in this state */
	WZ_EXIT_UNREACHABLE = 5, /* no daemon answers */
	WZ_EXIT_TIMED_OUT = 6, /* wz wait --timeout */
	WZ_EXIT_INTERNAL = 125, /* our own failure in a verb that otherwise exits with a job's code */
};

struct wz_cli {
	const struct wz_mem *mem;
	struct wz_buf out; /* all that goes to stdout; written when the verb returns WZ_EXIT_OK */
	bool colour; /* of stdout */
	bool jsonl; /* lists as a line a record */
	bool pages; /* a pager may show `out` */
};

struct wz_verb {
	const char *name, *summary; /* "gen", "write a generated trace" */
	const char *usage; /* "wz trace gen --like openb|lab|llm|jobs [options]" */
	const char *examples; /* lines, each "wz ..." or "# ..."; may be NULL */
	const struct wz_opt *opts; /* NULL: none */
	const struct wz_verb *const *sub; /* nested verbs, ends with NULL; then no fn */
	/* argv[0] is the first word after the verb. Returns enum wz_exit; has reported its error. */
	int (*fn)(struct wz_cli *cli, const struct wz_verb *v, int argc, char **argv);
	const char *more; /* paragraphs after the options; may be NULL */
	bool reads; /* shows things: takes --quiet (the first column alone) and --jsonl, and its output may go to a pager */
};

extern const struct wz_verb wz_verb_root; /* verbs.c */
extern const char wz_version[];

/* Parses options for a verb's fn. Returns the number of operands, or -1 after having reported (exit with USAGE). */
int wz_cli_opts(const struct wz_verb *v, void *args, int argc, char **argv);
/* "wz: TEXT" on stderr; returns the exit code that fits: NOT_FOUND for reason "NotFound", else FAILED. */
int wz_cli_fail(const struct wz_err *err);
/* "wz: TEXT" and where to find help; returns WZ_EXIT_USAGE. */
int wz_cli_usage(const struct wz_verb *v, const char *text);
void wz_cli_warn(struct wz_str text); /* "wz: warning: TEXT" */

void wz_cli_help(const struct wz_cli *cli, const struct wz_verb *v, struct wz_buf *b);

/* ---- the verbs ---- */
extern const struct wz_verb wz_verb_queue, wz_verb_reserve;
extern const struct wz_verb wz_verb_serve, wz_verb_agent, wz_verb_submit, wz_verb_edit, wz_verb_run, wz_verb_ps, wz_verb_show, wz_verb_why,
        wz_verb_logs, wz_verb_cancel, wz_verb_hold, wz_verb_release, wz_verb_wait, wz_verb_signal, wz_verb_drain, wz_verb_undrain, wz_verb_doctor, wz_verb_nodes, wz_verb_devices;
extern const struct wz_verb wz_verb_sim_run, wz_verb_sim_validate, wz_verb_trace_cut, wz_verb_trace_scale, wz_verb_trace_merge, wz_verb_trace_anon,
        wz_verb_trace_import_slurm;
extern const struct wz_verb wz_verb_token, wz_verb_audit, wz_verb_reload, wz_verb_completion, wz_verb_dashboard, wz_verb_whatif, wz_verb_repack;
extern const struct wz_verb wz_verb_attach, wz_verb_shell, wz_verb_requeue, wz_verb_suspend, wz_verb_resume, wz_verb_report, wz_verb_history, wz_verb_top, wz_verb_trace_export,
        wz_verb_trace_verify;
extern const struct wz_verb wz_verb_help, wz_verb_sim, wz_verb_trace, wz_verb_sim_bound, wz_verb_sim_pack, wz_verb_sim_report, wz_verb_sim_churn;
extern const struct wz_verb wz_verb_trace_check, wz_verb_trace_convert, wz_verb_trace_gen, wz_verb_trace_info,
        wz_verb_trace_replay, wz_verb_trace_workload;

#endif
