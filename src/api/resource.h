/* SPDX-License-Identifier: Apache-2.0 */
/* What the API shows and takes, as plain structs. Field names are the JSON names; the meaning of each is in the table of
 * its type (json_*.c), from which /v1/openapi.json and spec/api.md come. A zeroed struct is valid: what is zero or empty
 * is left out of the JSON.
 *
 * Strings are views; in a reply they are borrowed for the call that takes them, in a request they live until the call is
 * answered. Times: microseconds since 1970 UTC, 0 for none. -1 marks a reading that is not known. */
#ifndef WZ_API_RESOURCE_H
#define WZ_API_RESOURCE_H

#include "api/json.h"

/* ---- replies ---- */

/* Words of Slurm where the meaning is the same; spec/events.md "Ends". */
enum wz_api_state {
	WZ_STATE_PENDING,
	WZ_STATE_HELD,
	WZ_STATE_STARTING,
	WZ_STATE_RUNNING,
	WZ_STATE_SUSPENDED,
	WZ_STATE_STOPPING,
	WZ_STATE_CLEANING, /* ended, but not everything of it is verified gone: its devices are not free yet */
	WZ_STATE_COMPLETED,
	WZ_STATE_FAILED,
	WZ_STATE_CANCELLED,
	WZ_STATE_TIMEOUT,
	WZ_STATE_OOM,
	WZ_STATE_PREEMPTED,
	WZ_STATE_NODE_LOST,
	WZ_STATE_DEVICE_LOST,
	WZ_STATE_LAUNCH_FAILED,
	WZ_STATE_COUNT_
};
extern const char *const wz_api_state_words[]; /* "PENDING"; ends with NULL */

struct wz_api_task { /* where one task of an attempt sits */
	uint32_t task;
	int32_t state; /* enum wz_api_state */
	struct wz_str node;
	struct wz_nums devices; /* indices within the node */
	struct wz_strs uuids; /* of those devices */
	int32_t share_milli; /* compute held on each device; 1000: all of it */
	int64_t device_mem_bytes; /* held on each device */
	int64_t cpu_milli, mem_bytes;
	int64_t pid; /* of the shim, on its node */
	int32_t exit_code, exit_signal;
	int64_t start_us, end_us;
};

struct wz_api_job {
	uint64_t id;
	struct wz_str name, user, queue;
	int64_t uid;
	int32_t state; /* enum wz_api_state */
	struct wz_str reason, reason_text; /* why it waits or how it ended: a stable word, and a sentence */
	int32_t priority;
	struct wz_str profile; /* canonical text of spec/profile.md */
	uint32_t tasks_min, tasks_max, tasks_running;
	uint64_t array; /* job number of the array it belongs to; 0: none */
	struct wz_str array_indices; /* of a list with `collapse`: all tasks that this item stands for */
	uint32_t count; /* how many these are */
	int64_t array_index;
	int64_t submit_us, eligible_us, start_us, end_us, deadline_us, time_limit_us;
	int64_t earliest_start_us, expected_start_us, latest_start_us; /* of one that waits: the likely band, and by limits */
	uint32_t position; /* in its queue, from 1; 0: not waiting */
	uint32_t attempt, restarts;
	int32_t exit_code, exit_signal; /* of the last attempt that ended */
	int64_t progress_milli, checkpoint_us;
	struct wz_items tasks; /* struct wz_api_task: of the present attempt */
	struct wz_strs after; /* dependencies, "afterok:12" */
	int64_t begin_us; /* not before */
	uint32_t retries; /* attempts that failed and were tried again */
	struct wz_strs params; /* of an array's task: "lr=0.1" */
	struct wz_pairs labels;
	struct wz_str image;
	/* Private: for the owner and admins. */
	struct wz_strs argv;
	struct wz_str script, cwd, comment;
	struct wz_strs env_names; /* the names alone: values are never shown */
	struct wz_str git_commit;
};

struct wz_api_attempt {
	uint32_t attempt;
	int32_t state;
	struct wz_str reason, reason_text;
	int64_t start_us, end_us;
	int32_t exit_code, exit_signal;
	struct wz_items tasks; /* struct wz_api_task */
	int64_t peak_mem_bytes, cpu_us, device_us, log_bytes, checkpoint_us;
};

struct wz_api_blocker {
	struct wz_str reason, text;
	uint32_t nodes; /* how many it rules out */
};
struct wz_api_remedy {
	struct wz_str change; /* "gpus=4", an entry of a profile, or words */
	struct wz_str text;
	int64_t start_us; /* when it would start then; 0: not known */
};
struct wz_api_why {
	uint64_t job;
	int32_t state;
	struct wz_str reason, text; /* the first thing to tell a person */
	bool never; /* it cannot start on this cluster as it is */
	struct wz_items blockers; /* struct wz_api_blocker: all must clear */
	struct wz_strs not_blocking;
	struct wz_items remedies; /* struct wz_api_remedy */
	uint32_t position, queue_length;
	int64_t expected_start_us, earliest_start_us, latest_start_us;
	struct wz_str how; /* how the times are known */
	struct wz_str digest; /* of the state that this is true of, 16 hexadecimal digits */
};

struct wz_api_device {
	struct wz_str node;
	uint32_t index;
	struct wz_str uuid, model, health; /* "ok", "degraded", "failed" */
	struct wz_str reason; /* why it is not ok, or not free: "cleaning", "foreign process" */
	int64_t mem_bytes, mem_free_bytes; /* of the ledger: negative when over-committed by facts */
	int32_t compute_milli, compute_free_milli;
	uint32_t link_domain, numa;
	struct wz_str partition;
	struct wz_nums jobs; /* that hold something of it */
	uint32_t foreign; /* processes on it that are not ours */
	/* Live readings; -1 when not known. */
	int32_t util_pct, mem_used_pct, temp_c;
	int64_t mem_used_bytes, power_mw;
	int64_t read_us;
};

struct wz_api_node {
	struct wz_str name, site, rack;
	struct wz_str state; /* "ready", "draining", "drained", "down" */
	struct wz_str reason; /* of the drain or of being down */
	int64_t cpu_milli, cpu_free_milli, mem_bytes, mem_free_bytes;
	uint32_t devices_total, devices_free, jobs_running;
	struct wz_items devices; /* struct wz_api_device; of GET /v1/nodes/{node} */
	struct wz_pairs labels;
	int64_t seen_us;
};

/* The jigsaw board (board.h). */
struct wz_api_piece { /* what one task holds of one device */
	uint64_t job;
	uint32_t task;
	int32_t compute_milli;
	int64_t mem_bytes;
};
struct wz_api_board_device {
	uint32_t index;
	struct wz_str model, health, reason;
	int64_t mem_bytes, mem_free_bytes;
	int32_t compute_milli, compute_free_milli;
	uint32_t link_domain, numa, foreign;
	int32_t use; /* enum wz_board_use */
	int32_t util_pct, mem_used_pct, temp_c;
	int64_t power_mw;
	struct wz_items pieces; /* struct wz_api_piece */
};
struct wz_api_board_node {
	struct wz_str name, rack, state;
	int64_t cpu_milli, cpu_free_milli, mem_bytes, mem_free_bytes;
	struct wz_items devices; /* struct wz_api_board_device */
};
struct wz_api_board_job {
	uint64_t id;
	struct wz_str user, queue, name;
	int32_t state; /* enum wz_api_state */
	int32_t priority;
	uint32_t tasks;
	int64_t submit_us;
};
struct wz_api_expected { /* a shape of the mix of work to expect */
	uint32_t devices;
	int32_t compute_milli;
	int64_t mem_bytes, cpu_milli;
	uint32_t weight_milli; /* its part of the mix */
	uint32_t nodes; /* that have room for one more task of it */
};
struct wz_api_board {
	int64_t at_us; /* the core's clock in this state */
	struct wz_str digest;
	struct wz_items nodes, jobs, expected;
};
struct wz_api_board_query {
	int64_t at_us; /* 0: now */
};

struct wz_api_queue {
	struct wz_str name, parent;
	struct wz_str rules; /* text of spec/queues.md */
	int64_t used_milli, past_milli; /* devices now, and their decayed average: 1000 is one */
	uint32_t share_ppm; /* dominant share of the cluster */
	uint32_t pending, running;
	int64_t spent_hours_milli, spent_money_milli;
	struct wz_items amounts; /* struct wz_api_amount */
	struct wz_items users; /* struct wz_api_share: of a leaf */
};
struct wz_api_amount { /* what rules name; -1: no such rule. Thousandths, of memory MiB */
	struct wz_str what;
	int64_t used, guaranteed, limit, borrow, lend, capacity;
};
struct wz_api_share {
	struct wz_str user;
	uint32_t pending, running, share_ppm;
	int64_t used_milli, past_milli;
};

struct wz_api_reservation {
	struct wz_str name, rules; /* text of spec/queues.md */
	int64_t start_us, end_us;
	struct wz_str state; /* "planned", "active", "over" */
};

struct wz_api_usage {
	struct wz_str key; /* a user, queue, state, model, day: what was asked to group by */
	uint32_t jobs, completed, failed, cancelled;
	int64_t device_us, completed_device_us, cpu_us, waste_us; /* waste: device time held below 5 % use */
	int64_t wait_p50_us, wait_p95_us;
};

struct wz_api_check { /* one finding of `wz doctor` */
	struct wz_str name, text, remedy;
	int32_t result; /* enum wz_api_result */
};
enum wz_api_result { WZ_RESULT_OK, WZ_RESULT_WARN, WZ_RESULT_FAIL, WZ_RESULT_SKIP };

struct wz_api_info {
	struct wz_str version, body, host, site, policy;
	int64_t started_us, now_us;
	uint64_t seq; /* of the last event: what the lists are true of */
	struct wz_str digest;
	uint32_t nodes, devices, devices_busy, pending, running;
	int64_t oldest_wait_us;
	struct wz_strs urls; /* where the dashboard is for a browser of this machine */
};

struct wz_api_whoami {
	struct wz_str name, role, via; /* via: "peer", "token", "none" */
	int64_t uid;
};

struct wz_api_move { /* of repacking */
	uint64_t job;
	uint32_t task;
	struct wz_str from_node, to_node;
	struct wz_nums from_devices, to_devices;
	int64_t cost_us;
};
struct wz_api_repack {
	struct wz_items moves;
	struct wz_nums jobs; /* that wait and would start */
	int64_t gain_milli, cost_us;
	struct wz_str text;
	bool applied;
};
struct wz_api_change { /* a waiting job's start today, and in the cluster that was asked about; 0: not known, or never */
	uint64_t job;
	struct wz_str user, name;
	int64_t now_latest_us, now_from_us, now_to_us, then_latest_us, then_from_us, then_to_us;
	bool gone;
};
struct wz_api_sample { /* readings of a moment; -1: not known */
	int64_t time_us;
	int32_t util_pct, mem_used_pct, held_pct;
	int64_t power_mw;
};
struct wz_api_span { /* one task of one attempt, in time */
	uint64_t job;
	uint32_t task, attempt;
	struct wz_str user, name, node;
	struct wz_nums devices;
	int64_t start_us, end_us; /* end 0: it still runs */
	int32_t state; /* enum wz_api_state */
	bool planned; /* it has not begun: where and when it is expected to */
};

struct wz_api_session_link {
	struct wz_str path; /* below the daemon's address */
	int64_t expires_us;
};

struct wz_api_submitted {
	uint64_t id;
	uint32_t count; /* jobs made: an array's tasks count each */
	bool repeated; /* the idempotency key was known: this is the earlier answer */
	struct wz_str state;
	/* Of a dry run: */
	bool would_start;
	int64_t expected_start_us;
	struct wz_strs nodes; /* where, one a task */
	struct wz_str reason, text;
	struct wz_strs warnings;
};

struct wz_api_audit_line { /* of GET /v1/audit */
	int64_t time_us, uid;
	struct wz_str user, verb, target, outcome, from;
};
struct wz_api_reloaded {
	struct wz_strs changed; /* sections that differ and took effect */
	struct wz_strs restart; /* those that need a restart */
};
struct wz_api_snapshot {
	struct wz_str id;
	int64_t have; /* bytes that are there */
	bool complete;
};

/* One event of the stream, as `data:`. */
struct wz_api_event {
	uint64_t seq;
	int64_t time_us;
	struct wz_str type; /* "job", "attempt", "node", "device", "queue", ... : what to fetch again */
	uint64_t job;
	struct wz_str user, node;
	int32_t device; /* -1: none */
	struct wz_str what; /* "submitted", "started", "ended", ...: spec/api.md */
	int32_t state; /* enum wz_api_state; of a job */
	struct wz_str reason, text;
};

extern const struct wz_api_type wz_type_task, wz_type_job, wz_type_attempt, wz_type_blocker, wz_type_remedy,
        wz_type_why, wz_type_device, wz_type_node, wz_type_amount, wz_type_share, wz_type_queue,
        wz_type_reservation, wz_type_usage, wz_type_check, wz_type_info, wz_type_whoami, wz_type_submitted,
        wz_type_snapshot, wz_type_event, wz_type_audit_line, wz_type_reloaded;
extern const struct wz_api_type wz_type_piece, wz_type_board_device, wz_type_board_node, wz_type_board_job,
        wz_type_expected, wz_type_board, wz_type_move, wz_type_repack, wz_type_change, wz_type_sample, wz_type_span, wz_type_session_link;

/* ---- requests ---- */

#define WZ_API_NAME_MAX 128
#define WZ_API_TEXT_MAX 4096
#define WZ_API_ARGS_MAX 65536
#define WZ_API_KEYS_MAX 8192 /* hexadecimal digits of what is typed at once */
#define WZ_API_KEYS_MAX 8192 /* hexadecimal digits of what is typed at once */
#define WZ_API_BLOB_MAX 4194304 /* a script, a line file, a diff */

struct wz_api_submit {
	bool dry_run; /* query: says where and when it would start */
	struct wz_str idempotency_key; /* header */
	struct wz_str name, queue;
	struct wz_strs argv; /* argv or script */
	struct wz_str script;
	struct wz_str cwd;
	struct wz_pairs env;
	struct wz_pairs secrets; /* never shown, logged, or kept after the end */
	struct wz_str profile;
	int32_t priority;
	bool held;
	int64_t begin_us, deadline_us;
	struct wz_strs after;
	struct wz_str on_dep_fail; /* cancel (also when empty), hold, run: when a dependency can no longer be met */
	struct wz_str array; /* "0-31%4" */
	struct wz_strs sweep; /* "lr=0.1,0.01": one job for each combination */
	struct wz_strs lines; /* one job a line: {line} in argv, or the line is the command */
	uint32_t throttle; /* tasks of it that may run at once; 0: no limit */
	uint32_t retry_max;
	struct wz_strs retry_on;
	int64_t retry_delay_us; /* before the first of them; doubled each time */
	bool no_requeue;
	struct wz_str stdout_path, stderr_path;
	int64_t log_max_bytes;
	int32_t umask;
	struct wz_str image;
	struct wz_strs env_pass; /* names that pass besides the usual ones; NAME* for a prefix */
	struct wz_pairs env_set; /* set whatever passes */
	bool env_all; /* all of env passes */
	bool secrets_env; /* secrets as variables, not as files */
	struct wz_pairs labels;
	struct wz_str compat; /* "slurm": SLURM_* too */
	struct wz_str notify;
	struct wz_str comment;
	struct wz_str constraint; /* spec/constraint.md */
	struct wz_str git_commit, git_diff;
	struct wz_str snapshot; /* of POST /v1/snapshots: the attempt runs in a checkout of its own */
	struct wz_str snapshot_cwd; /* directory in it */
	bool pty;
	uint32_t rows, cols; /* of the terminal; 0: 24 and 80 */
	int64_t terminal_keep_us; /* the job is stopped when nobody looked at its terminal for so long; 0: never */
};

/* A piece of an archive; without data: is it there? */
struct wz_api_snapshot_put {
	struct wz_str id; /* SHA-256 of the whole */
	int64_t size, offset;
	struct wz_str data; /* base64 */
};

struct wz_api_job_query {
	struct wz_strs state; /* words of enum wz_api_state, or "waiting", "active", "ended" */
	struct wz_str user, queue, node, name;
	struct wz_nums ids;
	uint64_t array; /* its tasks alone; indices: these of them */
	struct wz_str indices, label; /* label: NAME=VALUE or NAME */
	bool collapse; /* tasks of an array that wait are one item */
	bool all; /* ended ones too */
	bool newest; /* first; `after` is then a cursor downwards */
	int64_t since_us, until_us; /* of the end, for ended ones */
	uint64_t after; /* cursor: the `next` of the page before */
	uint32_t limit; /* 0: no limit but the server's */
};

struct wz_api_job_ref {
	uint64_t id;
};
struct wz_api_job_cancel {
	uint64_t id;
	struct wz_str indices; /* of the array `id`: "3", "1-4,9"; empty: all of it */
	bool set_grace;
	int64_t grace_us;
	struct wz_str reason;
};
struct wz_api_job_hold {
	uint64_t id;
	struct wz_str indices;
	struct wz_str reason;
};
struct wz_api_job_signal {
	uint64_t id;
	struct wz_str signal; /* "USR1", "SIGUSR1", "10" */
	bool leader; /* the job's first process alone */
};
struct wz_api_job_edit {
	uint64_t id;
	bool set_name, set_queue, set_priority, set_profile, set_begin, set_deadline, set_comment, set_after,
	        set_held;
	struct wz_str name, queue, comment;
	struct wz_str profile; /* entries that replace those of the job */
	bool held;
	int32_t priority;
	int64_t begin_us, deadline_us;
	struct wz_strs after;
};
struct wz_api_job_report {
	uint64_t id;
	uint32_t task, attempt;
	int64_t progress_milli, checkpoint_us;
	bool preempt_ack; /* the checkpoint that was asked for is complete */
	struct wz_str text;
};
struct wz_api_job_logs {
	uint64_t id;
	uint32_t attempt; /* 0: the last; with follow: on into the next ones */
	uint32_t task;
	int32_t stream; /* 0 out, 1 err */
	uint64_t offset; /* first byte */
	uint32_t tail; /* the last lines; 0: all from offset */
	bool follow;
};
struct wz_api_job_terminal {
	uint64_t id;
	uint32_t task;
};
struct wz_api_job_type {
	uint64_t id;
	uint32_t task;
	struct wz_str keys; /* hexadecimal: any bytes */
	uint32_t rows, cols; /* 0: as it is */
};
struct wz_api_node_ref {
	struct wz_str node;
};
struct wz_api_node_drain {
	struct wz_str node, reason;
	int64_t deadline_us; /* what still runs then is stopped; 0: nothing is */
};
struct wz_api_device_query {
	struct wz_str node, model;
};
struct wz_api_queue_set {
	struct wz_str name, rules;
};
struct wz_api_name_ref {
	struct wz_str name;
};
struct wz_api_reservation_set {
	struct wz_str name, rules;
};
struct wz_api_usage_query {
	struct wz_str by, user, queue;
	int64_t since_us, until_us;
};
struct wz_api_events_query { /* of the stream; answered by hub.c */
	uint64_t after;
	uint64_t job;
	struct wz_strs type;
	bool set_after;
};
struct wz_api_audit_query {
	int64_t since_us;
	uint32_t limit; /* 0: 1000 */
};
struct wz_api_repack_query {
	uint32_t moves; /* 0: 16 */
};
struct wz_api_repack_ask {
	bool apply;
	uint32_t moves;
};
struct wz_api_whatif_query {
	struct wz_str edit;
};
struct wz_api_sample_query {
	struct wz_str node; /* empty: the whole cluster */
	uint32_t device;
	int64_t since_us;
};
struct wz_api_timeline_query {
	int64_t since_us; /* 0: a day ago */
	uint32_t limit;
};
struct wz_api_session_open {
	struct wz_str token, code; /* one of them */
};
struct wz_api_login {
	struct wz_str code;
};
struct wz_api_nothing {
	char unused;
};

extern const struct wz_api_type wz_type_submit, wz_type_job_query, wz_type_job_ref, wz_type_job_cancel,
        wz_type_job_hold, wz_type_job_signal, wz_type_job_edit, wz_type_job_report, wz_type_job_logs, wz_type_job_terminal, wz_type_job_type,
        wz_type_node_ref, wz_type_node_drain, wz_type_device_query, wz_type_queue_set, wz_type_name_ref,
        wz_type_reservation_set, wz_type_usage_query, wz_type_audit_query, wz_type_events_query, wz_type_snapshot_put,
        wz_type_nothing;
extern const struct wz_api_type wz_type_board_query, wz_type_repack_query, wz_type_repack_ask, wz_type_whatif_query,
        wz_type_sample_query, wz_type_timeline_query, wz_type_session_open, wz_type_login;

#endif
