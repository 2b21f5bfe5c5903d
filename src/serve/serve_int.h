/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the body share: serve.c (life), step.c (events in, effects out, the one rule), link.c (the agent's
 * process and its words), start.c (from a START to the agent's message), jobs.c (requests that change jobs), show.c
 * (requests that read), logs.c (job logs as streams), paths.c (where logs are), terminal.c (terminals of jobs as streams),
 * telemetry.c (live readings). */
#ifndef WZ_SERVE_SERVE_INT_H
#define WZ_SERVE_SERVE_INT_H

#include "agent/wire.h"
#include "api/api.h"
#include "base/map.h"
#include "jobspec/params.h"
#include "os/loop.h"
#include "os/sock.h"
#include "serve/book.h"
#include "serve/auditlog.h"
#include "serve/config.h"
#include "serve/notify.h"
#include "serve/samples.h"
#include "serve/serve.h"
#include "store/store.h"

/* A job that something happened to since the last step; its row is written with the step. */
struct touched {
	uint64_t job;
	uint32_t end; /* how the job ends when it is gone from the core */
	bool gone; /* the core said so, and how: `end` stands */
	bool exited; /* exit_code and exit_signal are news */
	bool started; /* a task of it was seen alive */
	int64_t exit_code, exit_signal, started_us;
	const char *word; /* how it ended, where `end` does not say it all; NULL */
	const char *what; /* for the events stream: "submitted", "started", ... */
	char text[160]; /* how it ended, for people; "" */
};

/* What waits for a batch to be durable. */
struct answer {
	struct wz_api_call *call;
	uint64_t job; /* of a submit: its number; 0: a plain "done" */
	bool repeated; /* of a submit: its key was known */
	bool show; /* of an edit: the job itself */
	uint32_t count; /* of a submit: jobs made */
};
struct ack {
	int64_t id;
	uint32_t link; /* number of the connection that it came by */
};
struct news {
	uint64_t job;
	const char *what;
	int32_t state;
};
struct turn {
	struct serve *s;
	struct answer *answer;
	struct ack *ack;
	struct wz_effect *effect;
	struct news *news;
	uint32_t n_answers, answer_cap, n_acks, ack_cap, n_effects, effect_cap, n_news, news_cap;
};

/* A request to the agent that waits for its answer. */
struct asked {
	int64_t id;
	uint8_t type; /* enum wz_wire_type */
	uint64_t job, effect;
	uint32_t task, attempt;
};

/* Live readings as the core keeps them: percent, degrees; 255: not known. */
struct told {
	uint8_t free_mem_pct, util_pct, temp_c;
	int64_t at_us; /* 0: never */
};

struct place_facts { /* of a device, beside the core's */
	char uuid[80];
	int32_t util_pct, temp_c, foreign;
	int64_t mem_used, power_mw, read_us;
	struct wz_series *series; /* NULL: none yet */
	struct told told; /* what the core was told last */
	uint64_t wrong_job; /* computes here and was not given it; 0: none */
};
struct node_facts { /* by node id */
	struct place_facts *device;
	uint32_t n_devices, device_cap;
	int64_t seen_us;
};

struct keeping { /* one pass of the retention, keep.c */
	struct wz_timer timer;
	uint64_t after; /* the job that the next batch comes before; 0: begins */
	uint64_t bytes, dropped, freed;
	int64_t now_us;
};

struct quota { /* jobs that wait or run, by owner; quota.c */
	struct wz_map user, owner; /* uid and job number to a place in `count` */
	uint32_t *count;
	uint32_t n, cap;
};

struct serve {
	const struct wz_serve_options *o;
	const struct wz_mem *mem;
	struct wz_loop *loop;
	struct wz_store *store;
	struct wz_core *core;
	struct wz_api *api;
	struct wz_unix_socket sock;
	char session_key[4096]; /* path */
	/* the step */
	struct wz_batch batch;
	struct wz_plan plan;
	struct turn *turn;
	struct touched *touched;
	uint32_t n_touched, touched_cap;
	struct wz_map touched_at; /* job -> touched */
	struct book book;
	struct wz_timer book_timer;
	bool armed; /* the step's timer is set */
	uint64_t last_job, seq;
	int64_t starts_us; /* when starts were planned last; 0: never */
	int64_t wall_us, mono_us; /* the two clocks at the start */
	struct wz_timer step_timer, deadline_timer, agent_timer, patience_timer;
	struct wz_watch store_watch;
	struct wz_sigwatch term, intr, child;
	/* the agent */
	pid_t agent;
	int link;
	uint32_t link_n; /* counts connections */
	uint32_t tries; /* agents started since one said hello */
	bool adopted; /* the agent has told all that is alive: decisions may be made */
	bool privileged; /* it may run work as other users */
	int64_t next_id, list_id;
	struct wz_buf in, out;
	size_t out_done;
	struct wz_watch link_watch;
	struct asked *asked;
	uint32_t n_asked, asked_cap;
	struct wz_arena arena; /* of one message or one enactment */
	struct node_facts *node;
	struct logs *logs; /* who reads logs; NULL: nobody has */
	struct terminal *terminals; /* open streams of terminals */
	uint32_t n_nodes, node_cap;
	/* the configuration, live.c */
	const struct wz_config *conf; /* what holds now */
	struct wz_config *own_conf; /* the same when it came by a reload, else NULL */
	struct wz_tls *tls[WZ_CONFIG_LISTEN_MAX];
	char url[WZ_CONFIG_LISTEN_MAX + 1][128]; /* of the listeners, for a browser of this machine */
	uint32_t n_urls;
	struct wz_auditlog auditlog;
	struct wz_notify *notify;
	struct keeping keep;
	struct quota quota;
	struct wz_sigwatch hup;
	struct wz_timer sample_timer;
	struct wz_series *cluster; /* held against used, over all devices */
	int64_t sample_base_us; /* of number 0 */
	struct serve_past *past; /* boards of past moments that are asked for; NULL: none was yet */
	/* the end */
	bool stopping, failed;
	int64_t started_us;
	struct wz_err err;
};

void serve_log(const char *what, const char *detail);
int64_t serve_now_us(const struct serve *s); /* wall clock that never goes back */
void serve_fail(struct serve *s, const struct wz_err *err); /* ends the loop: the journal is the truth */

/* step.c */
/* Applies and journals. *err and nothing changed when the core refuses; other failures end the body. */
int serve_apply(struct serve *s, struct wz_event *e, struct wz_err *err);
/* Notes how a job ends, in words: cut where a character begins; what is no UTF-8 is left out. */
void serve_words(struct touched *t, struct wz_str reason, struct wz_str text);
struct touched *serve_touch(struct serve *s, uint64_t job); /* NULL: out of memory, reported */
/* As serve_apply, for an event about a job: what becomes of the job is noted. `end` is how it ends if this ends it. */
int serve_apply_job(struct serve *s, uint64_t job, uint32_t end, struct wz_event *e, struct wz_err *err);
void serve_answer(struct serve *s, struct wz_api_call *call, uint64_t job, bool repeated); /* when what was applied is durable */
void serve_answer_submit(struct serve *s, struct wz_api_call *call, uint64_t first, uint32_t count, bool repeated);
void serve_answer_job(struct serve *s, struct wz_api_call *call, uint64_t job);
void serve_ack(struct serve *s, int64_t id);
void serve_soon(struct serve *s); /* a step follows */
void serve_step(void *ctx);
void serve_deadline(void *ctx);

/* link.c */
int link_begin(struct serve *s, struct wz_err *err); /* starts the agent */
void link_end(struct serve *s);
void link_child(void *ctx); /* SIGCHLD */
void link_retry(void *ctx);
void link_send(struct serve *s, struct wz_wire_msg *m); /* the id is filled in */
void link_ask(struct serve *s, struct wz_wire_msg *m, const struct asked *what); /* and its answer is awaited */
void link_stop(struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, uint64_t effect, const char *reason,
        int64_t grace_ms);
struct wz_str node_name(const struct serve *s, uint32_t node);

/* start.c */
uint32_t node_find(const struct serve *s, struct wz_str name); /* WZ_ID_NONE; link.c */

void start_task(struct serve *s, const struct wz_effect *e);
void log_path(const struct serve *s, uint64_t job, uint32_t task, uint32_t attempt, struct wz_buf *b);
const char *end_word(int64_t end);

/* effects.c */
void enact(struct serve *s, const struct wz_effect *e);
bool effect_leaves(uint32_t kind); /* the process: there is something to do about it */
const char *effect_what(uint32_t kind); /* for the events stream */
void effect_answer(struct serve *s, uint64_t effect, uint64_t job, bool confirmed);
void effect_frozen(struct serve *s, uint64_t job, uint32_t task, bool frozen); /* a task was seen so */
void effect_checkpoint(struct serve *s, uint64_t job, uint32_t task); /* a checkpoint of it is complete */
void effect_report(struct serve *s, const struct wz_wire_report *r);
void op_job_report(void *ctx, struct wz_api_call *c, const struct wz_api_job_report *rq);

/* control.c */
void op_job_requeue(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq);
void op_job_suspend(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq);
void op_job_resume(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq);

/* report.c */
void op_usage(void *ctx, struct wz_api_call *c, const struct wz_api_usage_query *rq);

/* telemetry.c */
void telemetry(struct serve *s, const struct wz_wire_telemetry *t);

/* paths.c */
/* Where the output of an attempt goes, absolute: our own log, or the user's files of the job's spec with their %-words
 * replaced. `err` is empty when both go to `out`. The strings are the arena's. -EINVAL "BadField", -ENOMEM. */
struct log_paths {
	struct wz_str out, err;
	bool theirs[2]; /* output's, errors' */
};
int log_paths(const struct serve *s, const struct wz_job_row *row, const struct wz_api_submit *spec, uint32_t task,
        uint32_t attempt, struct wz_str node, struct wz_arena *arena, struct log_paths *ret, struct wz_err *err);

/* terminal.c */
void terminal_end_all(struct serve *s);
void op_job_terminal(void *ctx, struct wz_api_call *c, const struct wz_api_job_terminal *rq);
void op_job_type(void *ctx, struct wz_api_call *c, const struct wz_api_job_type *rq);
/* live.c, keep.c */
int conf_apply(struct serve *s, const struct wz_config *c, struct wz_err *err);
int conf_listen(struct serve *s, struct wz_err *err);
int conf_gid(const char *name, const char *key, gid_t *ret, struct wz_err *err);
int conf_reload(struct serve *s, struct wz_buf *now, struct wz_buf *restart, struct wz_err *err);
void conf_signal(void *ctx); /* SIGHUP */
void conf_free(struct serve *s);
void conf_audit(void *ctx, const struct wz_api_audit *a);
void conf_tell(struct serve *s, const struct news *n); /* notifications */
/* ruled.c: queues and rules. `check` before anything is changed; `apply` tells what cannot be done to the log. */
int ruled_check(struct serve *s, const struct wz_config *c, struct wz_err *err);
void ruled_apply(struct serve *s, const struct wz_config *c);
int keep_begin(struct serve *s);
/* quota.c */
int quota_begin(struct serve *s, struct wz_err *err);
void quota_free(struct serve *s);
int quota_room(struct serve *s, const struct wz_api_who *who, uint64_t n, struct wz_err *err); /* -EDQUOT "TooManyJobs" */
void quota_add(struct serve *s, uint64_t job, int64_t uid);
void quota_end(struct serve *s, uint64_t job); /* any number of times */
/* What was asked, and the entries of defaults.profile that it does not name. Lives in the arena. */
struct wz_str conf_profile(const struct serve *s, struct wz_str asked, struct wz_arena *a);
void op_reload(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq);
void op_doctor(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq); /* checkup.c */
int serve_metrics(struct serve *s);
void serve_collect(void *ctx, struct wz_metrics *m);
void op_audit_list(void *ctx, struct wz_api_call *c, const struct wz_api_audit_query *rq);

/* queues.c */
void op_queue_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq);
void op_queue_set(void *ctx, struct wz_api_call *c, const struct wz_api_queue_set *rq);
void op_queue_remove(void *ctx, struct wz_api_call *c, const struct wz_api_name_ref *rq);
void op_reservation_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq);
void op_reservation_set(void *ctx, struct wz_api_call *c, const struct wz_api_reservation_set *rq);
void op_reservation_remove(void *ctx, struct wz_api_call *c, const struct wz_api_name_ref *rq);

/* load.c, submit.c, task.c, secret.c, snapshot.c, dryrun.c, edit.c */
uint8_t book_on_fail_parse(struct wz_str word); /* enum book_on_fail */
void book_undo(struct serve *s, uint64_t first, uint32_t n, uint32_t order); /* of a submit that failed half-way */
void book_touch(struct serve *s, uint64_t job); /* the core is brought in line with what it waits for */
/* What was asked for a job: its own spec, or the one of its array. The document holds the strings. */
int spec_load(struct serve *s, const struct wz_job_row *r, struct wz_arena *a, struct wz_json_doc *doc,
        struct wz_api_submit *ret, struct wz_err *err);
int task_fill(struct serve *s, struct wz_arena *a, const struct wz_job_row *row, const struct wz_api_submit *spec,
        struct wz_wire_start *w, struct wz_err *err);
/* Seals and writes; ret_id names the file. "NAME=VALUE" views of the arena come back. */
int secret_keep(struct serve *s, const struct wz_pairs *p, char ret_id[SECRET_ID], struct wz_err *err);
int secret_open(struct serve *s, struct wz_str id, struct wz_arena *a, struct wz_str **ret, uint32_t *ret_n,
        struct wz_err *err);
void secret_drop(struct serve *s, const char *id);
void secret_sweep(struct serve *s); /* files that no open job names */
void snapshot_path(const struct serve *s, int64_t uid, struct wz_str id, char to[4096]);
int snapshot_check(struct serve *s, int64_t uid, struct wz_str id, struct wz_err *err); /* -ENOENT "NoSuchSnapshot" */
void snapshot_retain(struct serve *s);
void whatif_submit(struct serve *s, struct wz_api_call *c, const struct wz_api_submit *rq, const struct wz_profile *p,
        uint32_t count);
void op_snapshot_put(void *ctx, struct wz_api_call *c, const struct wz_api_snapshot_put *rq);
void op_job_edit(void *ctx, struct wz_api_call *c, const struct wz_api_job_edit *rq);

/* jobs.c, show.c, logs.c */
void op_job_submit(void *ctx, struct wz_api_call *c, const struct wz_api_submit *rq);
void op_job_cancel(void *ctx, struct wz_api_call *c, const struct wz_api_job_cancel *rq);
void op_job_hold(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq);
void op_job_release(void *ctx, struct wz_api_call *c, const struct wz_api_job_hold *rq);
void op_job_signal(void *ctx, struct wz_api_call *c, const struct wz_api_job_signal *rq);
void op_node_drain(void *ctx, struct wz_api_call *c, const struct wz_api_node_drain *rq);
void op_node_undrain(void *ctx, struct wz_api_call *c, const struct wz_api_node_ref *rq);
void op_job_attempts(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq);
void op_job_list(void *ctx, struct wz_api_call *c, const struct wz_api_job_query *rq);
void op_job_get(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq);
void op_job_why(void *ctx, struct wz_api_call *c, const struct wz_api_job_ref *rq);
void logs_job_changed(struct serve *s, uint64_t job); /* who follows its logs looks again; 0: everybody */
void logs_release(struct serve *s);
void op_job_logs(void *ctx, struct wz_api_call *c, const struct wz_api_job_logs *rq);
void op_node_list(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq);
void op_device_list(void *ctx, struct wz_api_call *c, const struct wz_api_device_query *rq);
void op_timeline(void *ctx, struct wz_api_call *c, const struct wz_api_timeline_query *rq);
void op_repack_get(void *ctx, struct wz_api_call *c, const struct wz_api_repack_query *rq);
void op_repack_ask(void *ctx, struct wz_api_call *c, const struct wz_api_repack_ask *rq);
void op_whatif(void *ctx, struct wz_api_call *c, const struct wz_api_whatif_query *rq);
void op_samples(void *ctx, struct wz_api_call *c, const struct wz_api_sample_query *rq);
void serve_sample(void *ctx); /* the timer's */
void serve_samples_end(struct serve *s);
void op_board(void *ctx, struct wz_api_call *c, const struct wz_api_board_query *rq);
void serve_past_end(struct serve *s);
void op_info(void *ctx, struct wz_api_call *c, const struct wz_api_nothing *rq);
int op_job_owner(void *ctx, uint64_t job, struct wz_str *ret_name, int64_t *ret_uid);
struct shown_text { /* what a job's views point into, beside the row */
	char why[512];
	struct wz_str params[WZ_SWEEP_AXES_MAX], after[256];
};
/* Fills what a row says; views are of the row and of *t. */
void job_of_row(struct serve *s, const struct wz_job_row *r, struct wz_api_job *j, struct shown_text *t);
int32_t state_now(struct serve *s, const struct wz_job_row *r); /* as the core sees it: a row does not say that it is frozen */
struct wz_str show_keep(struct wz_arena *a, struct wz_str v); /* a copy; empty when there is no memory */
int32_t state_of_end(int64_t end);
struct wz_nums devices_of(struct wz_arena *a, struct wz_str text); /* "0,3" */
int32_t api_state(const struct wz_job_row *r); /* enum wz_api_state */
bool job_ended(struct serve *s, uint64_t job);

#endif
