/* SPDX-License-Identifier: Apache-2.0 */
/* The words between an agent and its server: one JSON object a line over a unix stream socket (spec/agent.md). Parse and
 * format walk the same tables, so they are inverse; both sides use them.
 *
 * A message has a type and an id of its sender's. The other side answers with "ack" or "error", `re` the id. The agent
 * repeats `ended` on each new connection until it is acknowledged: acknowledge it after it is in the journal.
 *
 * Strings are views. Parsed ones live in the arena and are NUL-terminated; formatting borrows. Arguments and environment
 * may hold any byte but NUL: what is no UTF-8 is written as {"hex":"..."}.
 *
 * Thread rule: none shared. */
#ifndef WZ_AGENT_WIRE_H
#define WZ_AGENT_WIRE_H

#include "agent/attempt.h"

#define WZ_WIRE_PROTO 1
#define WZ_WIRE_LINE_MAX (16u << 20) /* bytes of one message */
#define WZ_WIRE_ITEMS_MAX 262144u /* of one array */

enum wz_wire_type {
	WZ_WIRE_NONE,
	/* server -> agent */
	WZ_WIRE_START, /* wz_wire_start */
	WZ_WIRE_STOP, /* wz_wire_stop */
	WZ_WIRE_SIGNAL, /* wz_wire_stop: id and signal */
	WZ_WIRE_FREEZE, /* wz_wire_stop: id only; so is THAW */
	WZ_WIRE_THAW,
	WZ_WIRE_LIST, /* ask for `running` of each attempt, then ack */
	WZ_WIRE_QUERY, /* wz_wire_stop: id only; answered by `running` */
	WZ_WIRE_CHECKPOINT, /* wz_wire_stop: id only; a `report` "checkpoint" says when it is complete */
	WZ_WIRE_ACKED, /* wz_wire_stop: id only; the job said elsewhere that its checkpoint is complete */
	/* agent -> server */
	WZ_WIRE_HELLO, /* wz_wire_hello: first on each connection */
	WZ_WIRE_RUNNING, /* wz_wire_running: each attempt alive: after hello (adopted), after a start, on list and query */
	WZ_WIRE_ENDED, /* wz_wire_ended: until acknowledged */
	WZ_WIRE_CLEANING, /* wz_wire_running: processes that cannot be killed hold it; `left` */
	WZ_WIRE_REPORT, /* wz_wire_report: what the job said on its socket */
	WZ_WIRE_TELEMETRY, /* wz_wire_telemetry */
	WZ_WIRE_NODE, /* wz_wire_node: facts of a node changed (readiness, health of devices) */
	WZ_WIRE_NOTICE, /* wz_wire_error: something a person should know */
	/* both */
	WZ_WIRE_ACK, /* re */
	WZ_WIRE_ERROR, /* re, wz_wire_error */
	WZ_WIRE_TYPES
};
extern const char *const wz_wire_types[WZ_WIRE_TYPES];

struct wz_wire_array { /* of views, int64_t, or the structs named */
	uint32_t n;
	void *item;
};

struct wz_wire_start {
	int64_t job, task, attempt; /* task and attempt fit 32 bits */
	struct wz_str node; /* name; empty: the only one */
	struct wz_str name, user, queue; /* of the job */
	struct wz_wire_array argv; /* struct wz_str; either these */
	struct wz_str
	        script; /* or the text of a script: run as a file, by its #! line or /bin/sh, argv its arguments */
	struct wz_wire_array env; /* struct wz_str "NAME=VALUE": the submitter's */
	struct wz_wire_array
	        pass; /* struct wz_str: names, or prefixes ending in '*', that pass besides the usual ones */
	struct wz_wire_array set; /* struct wz_str "NAME=VALUE": set for the job, whatever passes */
	int64_t env_all; /* 1: all of env passes */
	struct wz_str cwd, home, shell;
	int64_t uid, gid; /* -1: the agent's own */
	struct wz_wire_array groups; /* int64_t */
	int64_t umask; /* -1: 022 */
	int64_t cpu_milli, mem_bytes, pids; /* limits; 0: none */
	struct wz_wire_array rlimits; /* int64_t: resource, soft, hard, ...; -1: unlimited */
	int64_t nice, no_new_privs;
	struct wz_wire_array devices; /* int64_t: indices on the node; empty: none, and none is visible */
	int64_t devices_by_uuid; /* 1: CUDA_VISIBLE_DEVICES holds UUIDs, else ordinals */
	int64_t devices_open; /* 1: no CUDA_VISIBLE_DEVICES and no fence ("none but visible") */
	int64_t dev_milli, dev_mem_bytes; /* the share on each device; 0 and 1000: whole */
	struct wz_str log; /* absolute path; the directory exists */
	struct wz_str log_err; /* the same for standard errors; empty: both go to `log` */
	int64_t log_as_user; /* bit 0: `log`, bit 1: `log_err` is a path of the user's, opened as them; else it is made by the
	                        agent and given to the user */
	int64_t log_head_bytes, log_tail_bytes; /* 0, 0: no cap */
	int64_t signal, grace_ms, leftover_ms; /* 0: TERM, 30 s, 5 s */
	int64_t time_ms; /* 0: no limit of the agent's */
	int64_t preempt_signal, preempt_grace_ms, preempt_ack; /* the contract; ack as enum wz_attempt_ack */
	int64_t rank, size; /* gang; size 0: no gang */
	struct wz_str master_addr; /* of rank 0 */
	int64_t master_port;
	struct wz_wire_array hosts; /* struct wz_str by rank: the node's name or address */
	struct wz_wire_array speeds; /* int64_t by rank, milli: relative throughput; may be empty */
	int64_t pty, rows, cols; /* 1: on a terminal of this first size; see spec/agent.md "The terminal" */
	int64_t pty_alone_ms; /* stopped when nobody looked for so long; 0: never */
	struct wz_str image; /* run inside this container image; empty: on the host */
	int64_t restarts; /* times the job ran before */
	int64_t slurm; /* 1: SLURM_* as well */
	struct wz_str array_job; /* of an array task: the array's number, and */
	int64_t array_index;
	int64_t array_count, array_min, array_max, array_step; /* of its index set */
	struct wz_wire_array params; /* struct wz_str "NAME=VALUE": of a sweep or a line; WZ_PARAM_NAME for the job */
	struct wz_wire_array secrets; /* struct wz_str "NAME=VALUE": never in a file of ours, gone with the attempt */
	int64_t secrets_env; /* 1: as variables; else files in WZ_SECRETS_DIR */
	int64_t script_at; /* above 0: the script takes the place of this argument; else it comes first */
};

struct wz_wire_stop {
	int64_t job, task, attempt;
	int64_t signal; /* 0: as the start said */
	int64_t grace_ms; /* -1: as the start said; 0: kill at once */
	int64_t preempt; /* 1: warn and await the checkpoint first, by the contract */
	struct wz_str reason; /* a word: Preempted, Cancelled, Timeout, ... comes back in `ended` */
};

struct wz_wire_device { /* of hello and node */
	int64_t index, mem_bytes, link_domain, numa, pcie; /* pcie: the PCIe switch within the node, from 1; 0: not known */
	struct wz_str uuid, name, bus, health, why;
};
struct wz_wire_label {
	struct wz_str key, value;
};
struct wz_wire_node {
	struct wz_str name, site, rack;
	int64_t cpu_milli, mem_bytes, max_tasks, ready;
	struct wz_wire_array labels; /* struct wz_wire_label */
	struct wz_wire_array devices; /* struct wz_wire_device */
};
struct wz_wire_facet { /* what the machine's cgroups can do */
	struct wz_str name, why;
	int64_t version; /* 0: absent, with why */
};
struct wz_wire_hello {
	int64_t proto, pid;
	struct wz_str version, boot, host, provider;
	int64_t privileged; /* 1: may run as other users */
	struct wz_wire_array nodes; /* struct wz_wire_node */
	struct wz_wire_array cgroup; /* struct wz_wire_facet */
};

struct wz_wire_running {
	int64_t job, task, attempt, pid, started_us, left, frozen, cpu_us, mem_bytes, adopted;
	struct wz_str node, tracked;
	struct wz_wire_array warnings; /* struct wz_str: what the start could not do as asked */
};
struct wz_wire_ended {
	int64_t job, task, attempt;
	struct wz_str node;
	struct wz_str why; /* wz_attempt_whys: exited, stopped, timeout, launch_failed, node_lost, shim_lost */
	struct wz_str reason; /* stopped: as told; launch_failed: NoCommand, NoWorkingDirectory, UserFailed, ... */
	struct wz_str text; /* launch_failed: one line for people */
	int64_t exit_code, exit_signal, core_dumped; /* -1: not so, or not known */
	int64_t oom_kills; /* -1 not known; above 0: the kernel killed something of it for want of memory */
	int64_t acked; /* the job said that its checkpoint is complete */
	int64_t started_us, ended_us, cpu_us, mem_peak_bytes, mem_limit_bytes; /* -1 not known */
	int64_t log_bytes, log_lost, log_gap_at, log_gap_bytes, log_gap_marker;
};
struct wz_wire_report {
	int64_t job, task, attempt;
	struct wz_str text;
};
struct wz_wire_reading {
	struct wz_str name, unit, status;
	int64_t value, age_us;
};
struct wz_wire_sample {
	int64_t index;
	struct wz_wire_array readings; /* struct wz_wire_reading */
};
struct wz_wire_proc {
	int64_t index, pid, mem_bytes, job; /* job: 0 when it is none of ours */
	struct wz_str user, command;
};
struct wz_wire_telemetry {
	struct wz_str node;
	int64_t time_us, procs_known;
	struct wz_wire_array devices; /* struct wz_wire_sample */
	struct wz_wire_array procs; /* struct wz_wire_proc */
};
struct wz_wire_error {
	struct wz_str reason, text;
	int64_t job, task, attempt; /* 0: about none */
};

struct wz_wire_msg {
	uint32_t type; /* enum wz_wire_type */
	int64_t id, re; /* re: of ack and error */
	union {
		struct wz_wire_start start;
		struct wz_wire_stop stop;
		struct wz_wire_hello hello;
		struct wz_wire_running running;
		struct wz_wire_ended ended;
		struct wz_wire_report report;
		struct wz_wire_telemetry telemetry;
		struct wz_wire_node node;
		struct wz_wire_error error;
	} u;
};

/* All fields at what an absent key means. */
void wz_wire_init(struct wz_wire_msg *m, enum wz_wire_type type);
/* One line without its newline. Unknown keys are skipped. -EBADMSG "BadMessage" (and names the key), -E2BIG "TooLarge",
 * -ENOMEM. After an error *ret_id is the message's id, or 0, so that it can be answered. Fuzzed. */
int wz_wire_parse(
        struct wz_str line, struct wz_arena *arena, struct wz_wire_msg *ret, int64_t *ret_id, struct wz_err *err);
/* Appends the object and a newline. Fields that are at their default are left out. */
void wz_wire_format(const struct wz_wire_msg *m, struct wz_buf *b);

#endif
