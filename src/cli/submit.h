/* SPDX-License-Identifier: Apache-2.0 */
/* What `wz submit` and `wz run` share: from a command line to jobs. */
#ifndef WZ_CLI_SUBMIT_H
#define WZ_CLI_SUBMIT_H

#include "cli/daemon.h"
#include "jobspec/jobspec.h"

struct wz_submit_args {
	struct wz_str socket;
	bool json, quiet, wait, follow, dry_run;
	struct wz_given given; /* keys of the job, in their order */
	uint32_t before; /* operands before a `--` */
	/* Of wz shell: */
	bool pty;
	uint32_t rows, cols;
	uint64_t keep_us;
};
extern const struct wz_opt wz_submit_opts[];

/* Options and operands; what follows `--` is never read as an option. Returns the number of operands, or -1, reported. */
int wz_submit_parse(const struct wz_verb *v, struct wz_submit_args *a, int argc, char **argv);

struct wz_submitted {
	json_t *answers; /* an array, one for each document; owned */
	uint64_t job; /* of the last one */
	uint64_t count; /* jobs that it made */
};
/* Reads all that was named, checks it, then submits document after document. 0 or the exit code, reported. */
int wz_submit(struct wz_daemon *d, const struct wz_verb *v, const struct wz_submit_args *a, int argc, char **argv,
        struct wz_submitted *ret);

/* snapshot.c: packs the code, brings it, and fills rq->snapshot, snapshot_cwd and git_commit in the arena. */
int wz_snapshot_take(struct wz_daemon *d, struct wz_jobspec *j, const char *cwd);

/* Shows the output until the job has ended, then wz_daemon_code. */
int wz_job_follow(struct wz_daemon *d, uint64_t job);

#endif
