/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the one-machine body: a journal of what happened and was decided, tables for people made from it, blobs,
 * snapshots. One SQLite file in WAL mode, one writer thread, group commit, synchronous=FULL (docs/internals/store.md,
 * spec/store.md). A body's life with it:
 *
 *	wz_store_open(&o, &s, &err);                     refuses network disks, a second daemon, newer files
 *	wz_store_restore(s, &fresh, &got, &err);         the core as it was: a snapshot and the records after it
 *	each step:
 *		wz_core_apply(core, &ev);    wz_batch_event(&b, &ev, cat);      what happened, and was accepted
 *		wz_core_apply(core, &step);  wz_batch_event(&b, &step, cat);
 *		wz_core_decide(...);         wz_batch_effect(&b, ...) for each; wz_core_apply_effect(...) for each
 *		wz_batch_digest(&b, wz_core_digest(core));
 *		wz_batch_job(&b, &row); wz_batch_attempt(&b, &row); ...         what people will ask for
 *		wz_store_append(s, &b, done);                                   returns at once
 *	when wz_store_fd(s) is readable:
 *		wz_store_dispatch(s);        calls done.fn of each batch that is on the disk: now answer, now enact
 *	now and then:
 *		if (wz_store_wants_snapshot(s)) wz_store_snapshot(s, core, ...);
 *	wz_store_close(s);                               writes what is queued
 *
 * **The one rule**: nothing leaves the process (an answer, an effect) before the batch that records it is durable. A batch
 * is written as a whole or not at all, and in order: after any crash the journal is a prefix of what was appended, at a
 * batch's end, with every batch that was reported durable in it, once.
 *
 * When the disk fails (full, broken), batches wait and are tried again until it works; nothing is reported; the state says
 * why (wz_store_status) and wz_store_ready refuses new work. Reads go on.
 *
 * Thread rule: all functions from one thread (the loop), callbacks come there; the writer thread is internal. */
#ifndef WZ_STORE_STORE_H
#define WZ_STORE_STORE_H

#include "core/core.h"
#include "store/codec.h"
#include "store/rows.h"

struct wz_store;

#define WZ_STORE_SCHEMA 2u           /* version of the file that this program writes */
#define WZ_STORE_BATCH_MAX (128u << 20) /* bytes of one batch's texts */
#define WZ_BLOB_MAX (16u << 20)
#define WZ_BLOB_ID 65                /* 64 hex digits and a terminator: SHA-256 of the bytes */
#define WZ_JOB_NUMBER_MAX (INT64_MAX)

/* ---- batches ---- */

enum wz_record_kind { WZ_RECORD_EVENT = 1, WZ_RECORD_EFFECT = 2, WZ_RECORD_NOTE = 3 };

/* Members are the store's own. A batch is owned by the caller until wz_store_append takes what is in it. */
struct wz_batch {
	const struct wz_mem *mem;
	struct wz_buf text;
	struct wz_batch_record { uint64_t time_us, digest, off; uint32_t len; uint8_t kind, table; bool digested; } *record;
	uint32_t n, cap;
	struct wz_batch_blob { char id[WZ_BLOB_ID]; uint64_t off; uint64_t len; } *blob;
	uint32_t n_blobs, blob_cap;
	struct wz_batch_key { int64_t uid, job; struct wz_str key; uint64_t off; uint32_t len; } *key;
	uint32_t n_keys, key_cap;
	uint64_t time_us;      /* of notes: that of the last event before them, or set by the caller */
};

void wz_batch_init(struct wz_batch *b, const struct wz_mem *mem); /* `mem` must be thread safe: wz_os_mem() */
void wz_batch_release(struct wz_batch *b);
void wz_batch_clear(struct wz_batch *b);

/* Each adds one record, or fails and adds nothing: the errors of the codec; -EINVAL "BadText" (not UTF-8) or "BadNote" (the
 * key of the row is not given, a number out of range); -E2BIG "BatchTooLarge"; -ENOMEM. */
int wz_batch_event(struct wz_batch *b, const struct wz_event *e, const struct wz_catalogue *c, struct wz_err *err);
int wz_batch_effect(struct wz_batch *b, const struct wz_effect *e, struct wz_err *err);
void wz_batch_digest(struct wz_batch *b, uint64_t digest); /* of the state after the last event or effect of this batch */
int wz_batch_job(struct wz_batch *b, const struct wz_job_row *r, struct wz_err *err);
int wz_batch_attempt(struct wz_batch *b, const struct wz_attempt_row *r, struct wz_err *err);
int wz_batch_audit(struct wz_batch *b, const struct wz_audit_row *r, struct wz_err *err);
int wz_batch_kv(struct wz_batch *b, struct wz_str key, struct wz_str value, struct wz_err *err); /* "" deletes */
/* A device model that was declared to the core's catalogue: before the first event that names it. */
int wz_batch_model(struct wz_batch *b, const struct wz_model *m, struct wz_err *err);
/* Bytes that are kept once however many rows name them (a 200 kB environment of 100,000 jobs). ret_id is what rows hold. */
int wz_batch_blob(struct wz_batch *b, struct wz_str bytes, char ret_id[WZ_BLOB_ID], struct wz_err *err);

/* ---- life ---- */

struct wz_store_options {
	const char *dir;          /* made (0700) when missing: store.db, lock, reserve */
	const char *version;      /* of the program, for the journal's head; NULL: "?" */
	bool read_only;           /* no writer, no lock: `wz doctor` beside a daemon */
	bool any_file_system;     /* do not refuse network disks; the operator insists */
	uint32_t reserve_mib;     /* freed when the disk is full, so that what runs can still be recorded; 0: 8 */
	uint64_t queue_max_bytes; /* wz_store_ready refuses above; 0: 64 MiB */
	uint32_t snapshot_every;  /* records after which wz_store_wants_snapshot says so; 0: 100,000 */
	uint32_t retry_ms;        /* pause after a failed write; 0: 200 */
	const char *vfs;          /* of SQLite, for tests; NULL: the default */
};

/* -EREMOTEIO "NetworkDisk", -EBUSY "StoreInUse" (by pid N), -EPROTO "NewerStore", -EUCLEAN "NotAStore" or "StoreDamaged",
 * -EACCES, -ENOSPC and other errnos of the disk, -ENOMEM. Migrates an older file, in one transaction. */
int wz_store_open(const struct wz_store_options *o, struct wz_store **ret, struct wz_err *err);
/* Waits until all is written (while the disk works; a failing one gets one more try), and joins the writer. What could not
 * be written is reported to its done.fn with a negative errno. Accepts NULL. */
void wz_store_close(struct wz_store *s);

struct wz_restored {
	struct wz_core *core;     /* owned by the caller */
	bool fresh;               /* the store was empty: the core is new, made with the options given */
	uint64_t seq;             /* of the last record */
	uint64_t time_us;         /* of the last record: the core's clock is at least there */
	uint64_t last_job;        /* highest job number so far; 0: none */
	uint64_t snapshot_seq;    /* of the snapshot it began with; 0: none */
	uint64_t records;         /* applied after it */
	uint64_t verified, unverified; /* digests compared; and those of another catalogue, which say nothing */
};
/* Makes the core of the journal. `fresh` has the seed, policy and timeouts of a new one; of an old one only what is no state
 * (custom, no_index, index_bytes_max_mib). Appends the head of this run. A restart applies and never decides: before its
 * first step the body asks wz_core_flights what was under way. -EUCLEAN "StoreDamaged": a record that cannot be
 * read or applied, or a digest that differs (*err names its number); then `wz doctor`. */
int wz_store_restore(struct wz_store *s, const struct wz_mem *mem, const struct wz_core_options *fresh,
                     struct wz_restored *ret, struct wz_err *err);

/* ---- writing ---- */

/* Called by wz_store_dispatch: r 0: durable, up to and with record `seq`; r negative: never will be (at close). */
struct wz_store_done { void (*fn)(void *ctx, uint64_t seq, int r); void *ctx; };

/* May new work be accepted? 0, or -ENOSPC "DiskFull", -EIO "DiskError" (the writer's last error, while it lasts),
 * -EAGAIN "StoreBusy" (too much is queued). Facts that cannot be refused (a task ended) are appended all the same. */
int wz_store_ready(const struct wz_store *s, struct wz_err *err);

/* Queues the batch and leaves it empty. Never waits, never refuses but for memory (-ENOMEM; the batch is unchanged) and
 * for a read-only store (-EROFS). Returns 0 and the number of its last record. done.fn may be NULL. */
int wz_store_append(struct wz_store *s, struct wz_batch *b, struct wz_store_done done, uint64_t *ret_seq,
                    struct wz_err *err);

int wz_store_fd(const struct wz_store *s);       /* an eventfd: readable when there is something to dispatch */
void wz_store_dispatch(struct wz_store *s);      /* callbacks in order; cheap when there is nothing */
uint64_t wz_store_durable(const struct wz_store *s); /* last record that is on the disk */
int wz_store_flush(struct wz_store *s, struct wz_err *err); /* waits and dispatches until all is durable; the error if the disk fails */

/* Of the core as it is after all that was appended so far. Queued like a batch; then older snapshots but one, and the
 * records before that one, are dropped bit by bit. */
bool wz_store_wants_snapshot(const struct wz_store *s);
int wz_store_snapshot(struct wz_store *s, const struct wz_core *core, struct wz_store_done done, struct wz_err *err);

/* Forgets jobs that ended before `jobs_before_us` (with their attempts, keys, and blobs that nobody names any more) and audit
 * rows older than `audit_before_us`, as far as snapshots have passed them. 0: none. Queued; done as the other work allows. */
int wz_store_retain(struct wz_store *s, uint64_t jobs_before_us, uint64_t audit_before_us, struct wz_err *err);

struct wz_store_status {
	uint64_t appended_seq, durable_seq, queued_bytes;
	uint64_t commits, records;
	uint64_t commit_p50_us, commit_p99_us; /* of the last 512 commits */
	uint64_t db_bytes, wal_bytes, snapshot_seq;
	bool failing, reserve_used;            /* writes fail now; the reserve was freed and is not back yet */
	struct wz_err error;                   /* why, when failing */
	char warning[160];                     /* about the file system; "" usually */
};
void wz_store_status(const struct wz_store *s, struct wz_store_status *ret);

/* ---- reading (what is durable) ---- */

struct wz_job_query {
	uint64_t job;            /* exactly this one; 0: all */
	uint64_t array;          /* of this array; 0: all */
	bool by_index;           /* of the array the task with this index alone */
	int64_t index;
	struct wz_str user, queue; /* empty: all */
	uint32_t states;         /* bits 1 << enum wz_row_state; 0: all */
	uint64_t since_us;       /* submitted or ended at or after */
	uint64_t after;          /* page: numbers above (newest_first: below, when not 0) */
	uint32_t limit;          /* 0: 1000 */
	bool newest_first;
	bool brief;              /* without spec, env, script and idem, which lists do not show */
};
/* Rows are valid for the call. A callback that returns not 0 ends the query with that value. */
int wz_store_jobs(struct wz_store *s, const struct wz_job_query *q, int (*row)(void *ctx, const struct wz_job_row *r),
                  void *ctx, struct wz_err *err);
int wz_store_attempts(struct wz_store *s, uint64_t job, int (*row)(void *ctx, const struct wz_attempt_row *r), void *ctx,
                      struct wz_err *err);
/* Those that ran at `since_us` or later, newest job first. limit 0: 1000. O(attempts kept). */
int wz_store_attempts_since(struct wz_store *s, uint64_t since_us, uint32_t limit,
                            int (*row)(void *ctx, const struct wz_attempt_row *r), void *ctx, struct wz_err *err);
int wz_store_audit(struct wz_store *s, uint64_t since_us, uint32_t limit, int (*row)(void *ctx, const struct wz_audit_row *r),
                   void *ctx, struct wz_err *err); /* oldest first */
/* The job that `uid` submitted with this key, durable or still queued; -ENOENT. Ask before accepting: then none is doubled. */
int wz_store_find_key(struct wz_store *s, int64_t uid, struct wz_str key, uint64_t *ret_job, struct wz_err *err);
int wz_store_kv(struct wz_store *s, struct wz_str key, struct wz_buf *ret, struct wz_err *err);          /* -ENOENT */
int wz_store_kv_all(struct wz_store *s, struct wz_str prefix, int (*row)(void *ctx, const struct wz_kv_row *r), void *ctx,
                    struct wz_err *err);
int wz_store_blob(struct wz_store *s, struct wz_str id, struct wz_buf *ret, struct wz_err *err);         /* -ENOENT */

struct wz_journal_record { uint64_t seq, time_us, digest; bool digested; enum wz_record_kind kind; struct wz_str line; };
/* Records from `from` on; `wz trace`, and the events stream after a reconnect. -ESTALE "Compacted": older ones are gone. */
int wz_store_journal(struct wz_store *s, uint64_t from, uint32_t limit, int (*row)(void *ctx, const struct wz_journal_record *r),
                     void *ctx, struct wz_err *err);

/* The core as it was at `until_us` (the last record at or before it), for looking back; owned by the caller. Nothing is
 * written, so a read-only store beside a daemon serves. -ESTALE "Compacted": the journal does not go back so far;
 * -ENOENT "NothingThen": it begins later; and the errors of wz_store_restore. O(records since the snapshot before). */
int wz_store_replay(struct wz_store *s, const struct wz_mem *mem, const struct wz_core_options *o, uint64_t until_us,
                    struct wz_restored *ret, struct wz_err *err);

/* ---- care (check.c): what `wz doctor` calls ---- */

/* Everything that can be checked, as text lines "ok ..." or "BAD ..." appended to the report: SQLite's integrity check, the
 * sums and contiguity of the journal, blobs against their names, the replay through a core from each snapshot with every digest
 * and wz_core_check, the tables against a rebuild, live jobs of the core against open ones of the table. Returns how many are
 * bad, or a negative errno when it could not look. O(file). */
int wz_store_check(struct wz_store *s, const struct wz_mem *mem, struct wz_buf *report, struct wz_err *err);
/* Makes the tables anew from the journal, in one transaction; then checks. The journal itself is never changed. */
int wz_store_fix(struct wz_store *s, const struct wz_mem *mem, struct wz_buf *report, struct wz_err *err);
int wz_store_rebuild(struct wz_store *s, struct wz_err *err); /* that transaction alone */

/* A consistent copy while the daemon runs (SQLite's backup interface): to a new file, synced, then renamed to `path`. -EEXIST
 * unless `replace`. */
int wz_store_backup(struct wz_store *s, const char *path, bool replace, struct wz_err *err);
/* Puts a backup into an empty (or, with `replace`, any) state directory that no daemon uses, checked first. */
int wz_store_restore_backup(const struct wz_store_options *o, const char *path, bool replace, struct wz_err *err);

/* May this file system hold a store? 0, or -EREMOTEIO; warn (may be NULL) becomes a text for those that forget at a reboot. */
int wz_store_judge_fs(unsigned long magic, const char **ret_name, const char **ret_warning);

#endif
