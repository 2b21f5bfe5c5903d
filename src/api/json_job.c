/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: the tables of what is shown and taken. */
#include "api/resource.h"

const char *const wz_api_state_words[] = {"PENDING", "HELD", "STARTING", "RUNNING", "SUSPENDED", "STOPPING",
        "CLEANING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OOM", "PREEMPTED", "NODE_LOST", "DEVICE_LOST",
        "LAUNCH_FAILED", NULL};

#define ALWAYS WZ_FIELD_ALWAYS
#define PRIVATE WZ_FIELD_PRIVATE
#define REQUIRED WZ_FIELD_REQUIRED
#define PATH (WZ_FIELD_IN_PATH | WZ_FIELD_REQUIRED)
#define QUERY WZ_FIELD_IN_QUERY
#define ID(s) WZ_F_RANGE(s, id, U64, PATH, 1, INT64_MAX, "job number")

#define T struct wz_api_task
static const struct wz_api_field task_fields[] = {
        WZ_F(T, task, U32, ALWAYS, "number of the task, from 0"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "state of the task"),
        WZ_F(T, node, STR, ALWAYS, "where it sits"),
        WZ_F(T, devices, NUMS, ALWAYS, "indices of its devices within the node"),
        WZ_F(T, uuids, STRS, 0, "UUIDs of its devices"),
        WZ_F(T, share_milli, I32, 0, "compute held on each device, in thousandths"),
        WZ_F(T, device_mem_bytes, I64, 0, "memory held on each device"),
        WZ_F(T, cpu_milli, I64, 0, "CPU held, in thousandths of a core"),
        WZ_F(T, mem_bytes, I64, 0, "host memory held"),
        WZ_F(T, pid, I64, PRIVATE, "process that watches over it, on its node"),
        WZ_F(T, exit_code, I32, 0, "exit code, when it ended"),
        WZ_F(T, exit_signal, I32, 0, "signal that ended it"),
        WZ_F(T, start_us, TIME, 0, "when its process was seen alive"),
        WZ_F(T, end_us, TIME, 0, "when nothing of it was left"),
};
const struct wz_api_type wz_type_task =
        WZ_TYPE("Task", T, task_fields, "One task of an attempt and what it holds.");
#undef T

#define T struct wz_api_job
static const struct wz_api_field job_fields[] = {
        WZ_F(T, id, U64, ALWAYS, "job number, never used twice"),
        WZ_F(T, name, STR, ALWAYS, "name given at submit"),
        WZ_F(T, user, STR, ALWAYS, "owner"),
        WZ_F(T, uid, I64, 0, "owner's user number"),
        WZ_F(T, queue, STR, ALWAYS, "queue of the quota tree"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "one word; see spec/api.md"),
        WZ_F(T, reason, STR, 0, "why it waits or how it ended: a stable word"),
        WZ_F(T, reason_text, STR, 0, "the same as a sentence"),
        WZ_F(T, priority, I32, ALWAYS, "larger goes first"),
        WZ_F(T, profile, STR, ALWAYS, "what one task needs, canonical text of spec/profile.md"),
        WZ_F(T, tasks_min, U32, ALWAYS, "fewest tasks it runs with"),
        WZ_F(T, tasks_max, U32, ALWAYS, "most tasks"),
        WZ_F(T, tasks_running, U32, ALWAYS, "tasks that hold something now"),
        WZ_F(T, array, U64, 0, "job number of its array"),
        WZ_F(T, array_index, I64, 0, "index within the array"),
        WZ_F(T, array_indices, STR, 0, "with collapse: the tasks that this item stands for, 3-99"),
        WZ_F(T, count, U32, 0, "with collapse: how many they are"),
        WZ_F(T, submit_us, TIME, ALWAYS, "when it was submitted"),
        WZ_F(T, eligible_us, TIME, 0, "since when nothing but resources blocks it"),
        WZ_F(T, start_us, TIME, 0, "begin of the present or last attempt"),
        WZ_F(T, end_us, TIME, 0, "when it ended for good"),
        WZ_F(T, earliest_start_us, TIME, 0, "begin of the likely band of its start (80 of 100)"),
        WZ_F(T, expected_start_us, TIME, 0, "end of that band: by then it has likely started"),
        WZ_F(T, latest_start_us, TIME, 0, "start if all time limits are used up"),
        WZ_F(T, deadline_us, TIME, 0, "it is worth nothing after this"),
        WZ_F(T, time_limit_us, I64, 0, "limit of one attempt, a duration"),
        WZ_F(T, position, U32, 0, "place in its queue, from 1, while it waits"),
        WZ_F(T, attempt, U32, ALWAYS, "present attempt, from 1"),
        WZ_F(T, restarts, U32, 0, "attempts that were requeued"),
        WZ_F(T, exit_code, I32, ALWAYS, "exit code of the last attempt that ended"),
        WZ_F(T, exit_signal, I32, 0, "signal that ended it"),
        WZ_F(T, progress_milli, I64, 0, "work done, in thousandths, as the job reported"),
        WZ_F(T, checkpoint_us, TIME, 0, "when its last checkpoint was complete"),
        WZ_F_TYPE(T, tasks, LIST, 0, &wz_type_task, "tasks of the present attempt"),
        WZ_F(T, after, STRS, 0, "dependencies, such as afterok:12"),
        WZ_F(T, begin_us, TIME, 0, "not before"),
        WZ_F(T, retries, U32, 0, "attempts that failed and were tried again"),
        WZ_F(T, params, STRS, 0, "what an array's task has of its own, NAME=VALUE"),
        WZ_F(T, labels, PAIRS, 0, "labels"),
        WZ_F(T, image, STR, 0, "container image"),
        WZ_F(T, argv, STRS, PRIVATE, "command (owner and admins)"),
        WZ_F(T, script, STR, PRIVATE, "script (owner and admins)"),
        WZ_F(T, cwd, STR, PRIVATE, "working directory (owner and admins)"),
        WZ_F(T, comment, STR, PRIVATE, "comment (owner and admins)"),
        WZ_F(T, env_names, STRS, PRIVATE, "names of its environment; values are never shown (owner and admins)"),
        WZ_F(T, git_commit, STR, PRIVATE, "commit of its code (owner and admins)"),
};
const struct wz_api_type wz_type_job = WZ_TYPE("Job", T, job_fields, "What a user submitted and how it fares.");
#undef T

#define T struct wz_api_attempt
static const struct wz_api_field attempt_fields[] = {
        WZ_F(T, attempt, U32, ALWAYS, "number, from 1"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "state or end of this attempt"),
        WZ_F(T, reason, STR, 0, "how it ended: a stable word"),
        WZ_F(T, reason_text, STR, 0, "the same as a sentence"),
        WZ_F(T, start_us, TIME, ALWAYS, "begin"),
        WZ_F(T, end_us, TIME, 0, "end"),
        WZ_F(T, exit_code, I32, ALWAYS, "exit code"),
        WZ_F(T, exit_signal, I32, 0, "signal"),
        WZ_F_TYPE(T, tasks, LIST, ALWAYS, &wz_type_task, "where its tasks sat"),
        WZ_F(T, peak_mem_bytes, I64, 0, "highest host memory"),
        WZ_F(T, cpu_us, I64, 0, "CPU time used"),
        WZ_F(T, device_us, I64, 0, "device time held"),
        WZ_F(T, log_bytes, I64, 0, "size of its log"),
        WZ_F(T, checkpoint_us, TIME, 0, "when its last checkpoint was complete"),
};
const struct wz_api_type wz_type_attempt = WZ_TYPE("Attempt", T, attempt_fields, "One run of a job.");
#undef T

#define T struct wz_api_blocker
static const struct wz_api_field blocker_fields[] = {
        WZ_F(T, reason, STR, ALWAYS, "a stable word of spec/reasons.md"),
        WZ_F(T, text, STR, ALWAYS, "a sentence with numbers"),
        WZ_F(T, nodes, U32, 0, "nodes it rules out"),
};
const struct wz_api_type wz_type_blocker = WZ_TYPE("Blocker", T, blocker_fields, "One thing that must clear.");
#undef T

#define T struct wz_api_remedy
static const struct wz_api_field remedy_fields[] = {
        WZ_F(T, change, STR, ALWAYS, "what to ask for instead"),
        WZ_F(T, text, STR, ALWAYS, "a sentence"),
        WZ_F(T, start_us, TIME, 0, "when it would start then"),
};
const struct wz_api_type wz_type_remedy = WZ_TYPE("Remedy", T, remedy_fields, "A change that lets the job start.");
#undef T

#define T struct wz_api_why
static const struct wz_api_field why_fields[] = {
        WZ_F(T, job, U64, ALWAYS, "job number"),
        WZ_F_WORDS(T, state, ALWAYS, wz_api_state_words, "its state"),
        WZ_F(T, reason, STR, ALWAYS, "the first reason, a stable word"),
        WZ_F(T, text, STR, ALWAYS, "the first thing to tell a person"),
        WZ_F(T, never, BOOL, ALWAYS, "it cannot start on this cluster as it is"),
        WZ_F_TYPE(T, blockers, LIST, ALWAYS, &wz_type_blocker, "all that must clear"),
        WZ_F(T, not_blocking, STRS, 0, "what was looked at and does not block"),
        WZ_F_TYPE(T, remedies, LIST, 0, &wz_type_remedy, "smallest changes, checked by the real placement"),
        WZ_F(T, position, U32, 0, "place in its queue"),
        WZ_F(T, queue_length, U32, 0, "jobs that wait in its queue"),
        WZ_F(T, expected_start_us, TIME, 0, "90th percentile: by then it has likely started"),
        WZ_F(T, earliest_start_us, TIME, 0, "10th percentile"),
        WZ_F(T, latest_start_us, TIME, 0, "by the limits of what runs"),
        WZ_F(T, how, STR, 0, "how the times are known"),
        WZ_F(T, digest, STR, 0, "state that this is true of"),
};
const struct wz_api_type wz_type_why = WZ_TYPE("Why", T, why_fields, "Why a job does not run, and when it will.");
#undef T

#define T struct wz_api_submitted
static const struct wz_api_field submitted_fields[] = {
        WZ_F(T, id, U64, ALWAYS, "job number, of an array's first; 0 of a dry run"),
        WZ_F(T, count, U32, ALWAYS, "jobs made"),
        WZ_F(T, repeated, BOOL, ALWAYS, "the idempotency key was known: this is the earlier answer"),
        WZ_F(T, state, STR, 0, "state right after"),
        WZ_F(T, would_start, BOOL, 0, "dry run: it would start at once"),
        WZ_F(T, expected_start_us, TIME, 0, "dry run: when it would start"),
        WZ_F(T, nodes, STRS, 0, "dry run: where, one name for each task"),
        WZ_F(T, reason, STR, 0, "dry run: why it would wait"),
        WZ_F(T, text, STR, 0, "dry run: the same as a sentence"),
        WZ_F(T, warnings, STRS, 0, "what was accepted but is probably not meant"),
};
const struct wz_api_type wz_type_submitted = WZ_TYPE("Submitted", T, submitted_fields, "The answer to a submit.");
#undef T

#define T struct wz_api_snapshot
static const struct wz_api_field snapshot_fields[] = {
        WZ_F(T, id, STR, ALWAYS, "SHA-256 of the archive"),
        WZ_F(T, have, I64, ALWAYS, "bytes of it that are there"),
        WZ_F(T, complete, BOOL, ALWAYS, "all of it is there, and is what its name says"),
};
const struct wz_api_type wz_type_snapshot = WZ_TYPE("Snapshot", T, snapshot_fields, "An archive of code.");
#undef T

/* ---- requests ---- */

#define T struct wz_api_snapshot_put
static const struct wz_api_field snapshot_put_fields[] = {
        WZ_F_RANGE(T, id, STR, WZ_FIELD_REQUIRED, 0, 64, "SHA-256 of the whole archive, 64 hexadecimal digits"),
        WZ_F_RANGE(T, size, I64, WZ_FIELD_REQUIRED, 1, 1073741824, "bytes of the whole archive, a tar file"),
        WZ_F_RANGE(T, offset, I64, 0, 0, 1073741824, "where this piece begins"),
        WZ_F_RANGE(T, data, STR, 0, 0, WZ_API_BLOB_MAX, "the piece, base64; absent: ask what is there"),
};
const struct wz_api_type wz_type_snapshot_put =
        WZ_TYPE("SnapshotPut", T, snapshot_put_fields, "A piece of an archive of code.");
#undef T

#define T struct wz_api_submit
static const struct wz_api_field submit_fields[] = {
        WZ_F(T, dry_run, BOOL, QUERY, "say where and when it would start, and do nothing"),
        {.name = "Idempotency-Key",
                .doc = "a repeated submit with the same key and owner gives the first answer",
                .kind = WZ_FIELD_STR,
                .offset = offsetof(T, idempotency_key),
                .flags = WZ_FIELD_IN_HEADER,
                .max = WZ_API_NAME_MAX},
        WZ_F_RANGE(T, name, STR, 0, 0, WZ_API_NAME_MAX, "name; the command's when absent"),
        WZ_F_RANGE(T, queue, STR, 0, 0, WZ_API_NAME_MAX, "queue; the user's default when absent"),
        WZ_F_RANGE(T, argv, STRS, 0, 0, WZ_API_ARGS_MAX, "command and arguments; never given to a shell"),
        WZ_F_RANGE(T, script, STR, 0, 0, WZ_API_BLOB_MAX, "a script with its #! line; argv are its arguments"),
        WZ_F_RANGE(T, cwd, STR, 0, 0, WZ_API_TEXT_MAX, "working directory, absolute"),
        WZ_F_RANGE(T, env, PAIRS, 0, 0, WZ_API_ARGS_MAX, "environment"),
        WZ_F_RANGE(
                T, env_pass, STRS, 0, 0, 256, "names of env that pass besides the usual ones; NAME* for a prefix"),
        WZ_F_RANGE(T, env_set, PAIRS, 0, 0, 1024, "environment that is set whatever passes"),
        WZ_F(T, env_all, BOOL, 0, "all of env passes"),
        WZ_F_RANGE(T, secrets, PAIRS, WZ_FIELD_SECRET, 0, 64,
                "values that are never shown or logged, and gone after the end"),
        WZ_F(T, secrets_env, BOOL, 0, "secrets as variables; else as files of WZ_SECRETS_DIR"),
        WZ_F_RANGE(T, profile, STR, 0, 0, WZ_API_TEXT_MAX, "what one task needs, text of spec/profile.md"),
        WZ_F(T, priority, I32, 0, "larger goes first; users may only lower theirs"),
        WZ_F(T, held, BOOL, 0, "it waits for a release"),
        WZ_F(T, begin_us, TIME, 0, "not before"),
        WZ_F(T, deadline_us, TIME, 0, "not after"),
        WZ_F_RANGE(T, after, STRS, 0, 0, 1024, "dependencies: afterok:12, afterany:12, afternotok:12, singleton"),
        WZ_F_RANGE(T, on_dep_fail, STR, 0, 0, 16,
                "when a dependency can no longer be met: cancel (default), hold, run"),
        WZ_F_RANGE(T, array, STR, 0, 0, 256, "indices: 0-31, 1,3,5, 1-7:2, with %8 at most 8 at once"),
        WZ_F_RANGE(
                T, sweep, STRS, 0, 0, 16, "NAME=A,B,C or NAME=1..5: one job for each combination, {NAME} in argv"),
        WZ_F_RANGE(T, lines, STRS, 0, 0, 100000,
                "one job for each: {line} in argv, or without argv the command itself"),
        WZ_F_RANGE(T, throttle, U32, 0, 0, 100000, "tasks of it that may run at once"),
        WZ_F_RANGE(T, retry_max, U32, 0, 0, 1000, "attempts after the first, at most"),
        WZ_F_RANGE(
                T, retry_on, STRS, 0, 0, 16, "what is tried again: exit:75, signal:9, FAILED, OOM, NODE_LOST, ..."),
        WZ_F_RANGE(T, retry_delay_us, I64, 0, 0, 604800000000,
                "pause before the first retry; each next one is twice as long"),
        WZ_F(T, no_requeue, BOOL, 0, "it is not started again when its node is lost"),
        WZ_F_RANGE(T, stdout_path, STR, 0, 0, WZ_API_TEXT_MAX,
                "output goes to this file, opened as the user: %j %A %a %x %u %r %N %t"),
        WZ_F_RANGE(T, stderr_path, STR, 0, 0, WZ_API_TEXT_MAX, "the same for stderr; with stdout when absent"),
        WZ_F_RANGE(T, log_max_bytes, I64, 0, 0, INT64_MAX, "head and tail of the log that are kept"),
        WZ_F_RANGE(T, umask, I32, 0, 0, 511, "file mode mask"),
        WZ_F_RANGE(T, image, STR, 0, 0, WZ_API_TEXT_MAX, "container image"),
        WZ_F_RANGE(T, compat, STR, 0, 0, 32, "slurm: SLURM_* variables too"),
        WZ_F_RANGE(T, notify, STR, 0, 0, WZ_API_TEXT_MAX, "name of a notification of the configuration"),
        WZ_F_RANGE(T, comment, STR, 0, 0, WZ_API_TEXT_MAX, "free text"),
        WZ_F_RANGE(T, constraint, STR, 0, 0, 16384,
                "what each task asks of the labels of nodes and of other tasks (spec/constraint.md)"),
        WZ_F_RANGE(T, git_commit, STR, 0, 0, 64, "commit of the code"),
        WZ_F_RANGE(T, git_diff, STR, 0, 0, WZ_API_BLOB_MAX, "what differs from that commit"),
        WZ_F_RANGE(T, snapshot, STR, 0, 0, 64,
                "archive brought by POST /v1/snapshots: the job runs in a checkout of its own"),
        WZ_F_RANGE(T, snapshot_cwd, STR, 0, 0, WZ_API_TEXT_MAX, "directory within it"),
        WZ_F_RANGE(T, labels, PAIRS, 0, 0, 64, "labels"),
        WZ_F(T, pty, BOOL, 0, "each task gets a terminal"),
        WZ_F_RANGE(T, rows, U32, 0, 0, 9999, "height of the terminal; 24 when absent"),
        WZ_F_RANGE(T, cols, U32, 0, 0, 9999, "width of the terminal; 80 when absent"),
        WZ_F_RANGE(T, terminal_keep_us, I64, 0, 0, INT64_MAX,
                "end the job when nobody looked at its terminal for so long"),
};
const struct wz_api_type wz_type_submit = WZ_TYPE("Submit", T, submit_fields, "A job to submit.");
#undef T

#define T struct wz_api_job_query
static const struct wz_api_field job_query_fields[] = {
        WZ_F_RANGE(T, state, STRS, QUERY, 0, 32, "words of state, or waiting, active, ended"),
        WZ_F_RANGE(T, user, STR, QUERY, 0, WZ_API_NAME_MAX, "of this owner"),
        WZ_F_RANGE(T, queue, STR, QUERY, 0, WZ_API_NAME_MAX, "of this queue"),
        WZ_F_RANGE(T, node, STR, QUERY, 0, 256, "with a task on this node"),
        WZ_F_RANGE(T, name, STR, QUERY, 0, WZ_API_NAME_MAX, "of this name"),
        WZ_F_RANGE(T, ids, NUMS, QUERY, 0, 1000, "these jobs"),
        WZ_F(T, array, U64, QUERY, "tasks of this array"),
        WZ_F_RANGE(T, indices, STR, QUERY, 0, 256, "these of them: 3, 1-4,9"),
        WZ_F(T, collapse, BOOL, QUERY, "the tasks of an array that wait are one item"),
        WZ_F_RANGE(T, label, STR, QUERY, 0, WZ_API_TEXT_MAX, "with this label: NAME or NAME=VALUE"),
        WZ_F(T, all, BOOL, QUERY, "ended ones too"),
        WZ_F(T, newest, BOOL, QUERY, "the newest first"),
        WZ_F(T, since_us, TIME, QUERY, "ended after this"),
        WZ_F(T, until_us, TIME, QUERY, "ended before this"),
        WZ_F(T, after, U64, QUERY, "the `next` of the page before"),
        WZ_F_RANGE(T, limit, U32, QUERY, 0, 100000, "most items of one page"),
};
const struct wz_api_type wz_type_job_query = WZ_TYPE("JobQuery", T, job_query_fields, "Which jobs.");
#undef T

static const struct wz_api_field job_ref_fields[] = {ID(struct wz_api_job_ref)};
const struct wz_api_type wz_type_job_ref = WZ_TYPE("JobRef", struct wz_api_job_ref, job_ref_fields, "A job.");

#define T struct wz_api_job_cancel
static const struct wz_api_field job_cancel_fields[] = {
        ID(T),
        WZ_F_RANGE(T, indices, STR, 0, 0, 256, "of an array: these tasks, 3 or 1-4,9; all of it when absent"),
        {.name = "grace_us",
                .doc = "time between the signal and the kill, instead of the job's own",
                .kind = WZ_FIELD_I64,
                .offset = offsetof(T, grace_us),
                .set_offset = offsetof(T, set_grace),
                .max = 86400000000},
        WZ_F_RANGE(T, reason, STR, 0, 0, WZ_API_TEXT_MAX, "shown to the owner"),
};
const struct wz_api_type wz_type_job_cancel = WZ_TYPE("JobCancel", T, job_cancel_fields, "How to cancel.");
#undef T

#define T struct wz_api_job_hold
static const struct wz_api_field job_hold_fields[] = {ID(T),
        WZ_F_RANGE(T, indices, STR, 0, 0, 256, "of an array: these tasks; all of it when absent"),
        WZ_F_RANGE(T, reason, STR, 0, 0, WZ_API_TEXT_MAX, "shown to the owner")};
const struct wz_api_type wz_type_job_hold = WZ_TYPE("JobHold", T, job_hold_fields, "Why it is held or requeued.");
#undef T

#define T struct wz_api_job_signal
static const struct wz_api_field job_signal_fields[] = {
        ID(T),
        WZ_F_RANGE(T, signal, STR, REQUIRED, 0, 16, "name or number: USR1, SIGUSR1, 10"),
        WZ_F(T, leader, BOOL, 0, "to the first process alone, not to all of the job"),
};
const struct wz_api_type wz_type_job_signal = WZ_TYPE("JobSignal", T, job_signal_fields, "A signal to send.");
#undef T

#define EDIT(m, k, set, hi, d) \
	{ \
		.name = #m, .doc = (d), .kind = WZ_FIELD_##k, .offset = offsetof(struct wz_api_job_edit, m), \
		.set_offset = offsetof(struct wz_api_job_edit, set), .max = (hi) \
	}
static const struct wz_api_field job_edit_fields[] = {
        ID(struct wz_api_job_edit),
        EDIT(name, STR, set_name, WZ_API_NAME_MAX, "new name"),
        EDIT(queue, STR, set_queue, WZ_API_NAME_MAX, "another queue"),
        EDIT(priority, I32, set_priority, 0, "new priority; users may only lower theirs"),
        EDIT(profile, STR, set_profile, WZ_API_TEXT_MAX,
                "entries of a profile that replace those of a waiting job"),
        EDIT(begin_us, TIME, set_begin, 0, "not before; 0: at once"),
        EDIT(deadline_us, TIME, set_deadline, 0, "not after; 0: none"),
        EDIT(comment, STR, set_comment, WZ_API_TEXT_MAX, "free text"),
        EDIT(after, STRS, set_after, 1024, "dependencies, all of them"),
        EDIT(held, BOOL, set_held, 0, "it waits for a release"),
};
const struct wz_api_type wz_type_job_edit =
        WZ_TYPE("JobEdit", struct wz_api_job_edit, job_edit_fields, "What changes; absent fields stay.");

#define T struct wz_api_job_report
static const struct wz_api_field job_report_fields[] = {
        ID(T),
        WZ_F(T, task, U32, 0, "which task reports"),
        WZ_F(T, attempt, U32, 0, "of which attempt; 0: the present one"),
        WZ_F_RANGE(T, progress_milli, I64, 0, 0, INT64_MAX, "work done, in thousandths"),
        WZ_F(T, checkpoint_us, TIME, 0, "when a checkpoint was complete"),
        WZ_F(T, preempt_ack, BOOL, 0, "the checkpoint that was asked for is complete: stop me"),
        WZ_F_RANGE(T, text, STR, 0, 0, WZ_API_TEXT_MAX, "a line for people"),
};
const struct wz_api_type wz_type_job_report =
        WZ_TYPE("JobReport", T, job_report_fields, "What a job says of itself.");
#undef T

static const char *const stream_words[] = {"out", "err", NULL};
#define T struct wz_api_job_logs
static const struct wz_api_field job_logs_fields[] = {
        ID(T),
        WZ_F(T, attempt, U32, QUERY, "of this attempt; 0: the last, and with follow on into the next ones"),
        WZ_F(T, task, U32, QUERY, "of this task"),
        WZ_F_WORDS(T, stream, QUERY, stream_words, "which stream"),
        WZ_F(T, offset, U64, QUERY, "first byte"),
        WZ_F_RANGE(T, tail, U32, QUERY, 0, 1000000, "the last lines only; 0: all"),
        WZ_F(T, follow, BOOL, QUERY, "stay and send what comes, until the job has ended"),
};
const struct wz_api_type wz_type_job_logs = WZ_TYPE("JobLogs", T, job_logs_fields, "Which part of the log.");
#undef T

#define T struct wz_api_job_terminal
static const struct wz_api_field job_terminal_fields[] = {ID(T), WZ_F(T, task, U32, QUERY, "of this task")};
const struct wz_api_type wz_type_job_terminal = WZ_TYPE("JobTerminal", T, job_terminal_fields, "Which terminal.");
#undef T

#define T struct wz_api_job_type
static const struct wz_api_field job_type_fields[] = {
        ID(T),
        WZ_F(T, task, U32, 0, "of this task"),
        WZ_F_RANGE(T, keys, STR, 0, 0, WZ_API_KEYS_MAX, "bytes typed, two hexadecimal digits each"),
        WZ_F_RANGE(T, rows, U32, 0, 0, 9999, "height of the window that shows it"),
        WZ_F_RANGE(T, cols, U32, 0, 0, 9999, "width of the window that shows it"),
};
const struct wz_api_type wz_type_job_type = WZ_TYPE("JobType", T, job_type_fields, "Keys for a terminal.");
#undef T
