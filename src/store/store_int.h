/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of this room and its tests only. */
#ifndef WZ_STORE_STORE_INT_H
#define WZ_STORE_STORE_INT_H

#include "base/json.h"
#include "store/store.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

/* ---- rows and notes (rows.c) ---- */

struct wz_column { const char *name; char kind; uint16_t at; }; /* kind 'I' or 'T' */
struct wz_table { const char *name, *note; const struct wz_column *column; unsigned n, n_key; };

/* The first four are tables of the file; the other two are notes for the restore alone. */
enum { WZ_T_JOBS, WZ_T_ATTEMPTS, WZ_T_AUDIT, WZ_T_KV, WZ_T_TABLES, WZ_T_HEAD = WZ_T_TABLES, WZ_T_MODEL, WZ_T_NOTES };
extern const struct wz_table wz_tables[WZ_T_NOTES];
#define WZ_COLUMNS_MAX 60u

#define WZ_HEAD_COLUMNS(X) X(version, T) X(schema, I) X(seed, T) X(policy, T) X(start_timeout_us, I) X(stop_timeout_us, I) X(catalogue, T)
#define WZ_MODEL_COLUMNS(X)                                                                                          \
	X(name, T) X(vendor, T) X(mem, I) X(class_g, I) X(bw_gbps, I) X(tflops_milli, I) X(fp32_milli, I)            \
	X(fp8_milli, I) X(link_gbps, I) X(tdp_w, I) X(idle_w, I) X(cu_milli, I) X(year, I) X(mig, I)
struct wz_head_row { uint64_t given; WZ_HEAD_COLUMNS(WZ_MEMBER) };
struct wz_model_row { uint64_t given; WZ_MODEL_COLUMNS(WZ_MEMBER) };
#define WZ_BIT_HEAD(m, kind) WZ_HEAD_AT_##m,
#define WZ_BIT_MODEL(m, kind) WZ_MODEL_AT_##m,
enum { WZ_HEAD_COLUMNS(WZ_BIT_HEAD) WZ_HEAD_COLUMNS_N };
enum { WZ_MODEL_COLUMNS(WZ_BIT_MODEL) WZ_MODEL_COLUMNS_N };

/* {"no":"job","job":17,...}: the given members in the order of the columns. -EINVAL "BadNote", "BadText". */
int wz_note_format(unsigned table, const void *row, struct wz_buf *b, struct wz_err *err);
union wz_row { uint64_t given; struct wz_job_row job; struct wz_attempt_row attempt; struct wz_audit_row audit; struct wz_kv_row kv;
	struct wz_head_row head; struct wz_model_row model; };
int wz_note_parse(struct wz_str line, struct wz_arena *a, unsigned *ret_table, union wz_row *ret, struct wz_err *err);
int wz_batch_head(struct wz_batch *b, const struct wz_head_row *r, struct wz_err *err);

/* ---- the file (schema.c) ---- */

int wz_sql_err(sqlite3 *db, int rc, const char *doing, struct wz_err *err); /* the negative errno of a result code */
int wz_sql_errno(int rc);
int wz_sql_exec(sqlite3 *db, const char *sql, struct wz_err *err);
int wz_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct wz_err *err);
int wz_sql_u64(sqlite3 *db, const char *sql, uint64_t *ret, struct wz_err *err); /* one number; 0 when there is no row */
int wz_db_open(const char *path, const char *vfs, bool read_only, sqlite3 **ret, struct wz_err *err);
/* Version of the file against ours: 0 (ours now, migrated), -EPROTO, -EUCLEAN. */
int wz_db_migrate(sqlite3 *db, const char *version, struct wz_err *err);
int wz_db_version_check(sqlite3 *db, struct wz_err *err);
uint64_t wz_record_sum(uint64_t seq, const struct wz_journal_record *r);

/* ---- making tables from notes (project.c) ---- */

struct wz_project { sqlite3 *db; sqlite3_stmt *upsert[WZ_T_TABLES], *key, *kv_delete; struct wz_arena arena; };
int wz_project_init(struct wz_project *p, sqlite3 *db, const char *schema, struct wz_err *err);
void wz_project_release(struct wz_project *p);
int wz_project_note(struct wz_project *p, uint64_t seq, struct wz_str line, struct wz_err *err); /* -EIO.. of the disk */
/* Tables `re.*`, made in a temporary database from the oldest snapshot's rows and the journal. */
int wz_project_again(sqlite3 *db, struct wz_err *err);
int wz_project_end(sqlite3 *db);

/* ---- replay (restore.c) ---- */

struct wz_replay {
	const struct wz_mem *mem;
	const struct wz_core_options *fresh;
	struct wz_restored got;
	bool comparable;      /* digests are those of our catalogue */
	uint64_t catalogue;   /* our catalogue's fingerprint */
	uint64_t until_us;    /* what happened later is left out; 0: nothing is */
};
/* From the newest snapshot at or before `at_most` (and until_us) that can be read (0: none is used), to the end. */
int wz_replay(sqlite3 *db, struct wz_replay *x, uint64_t at_most, struct wz_err *err);

/* ---- the store (store.c, writer.c) ---- */

struct wz_node_ {               /* a queued batch, snapshot or retention */
	struct wz_node_ *next;      /* in the writer's queue, then in the done list */
	struct wz_node_ *later;     /* all that were appended and not dispatched, for the loop */
	struct wz_batch batch;
	uint64_t first_seq, last_seq;
	struct wz_store_done done;
	int r;
	size_t bytes;
	enum { WZ_NODE_BATCH, WZ_NODE_SNAPSHOT, WZ_NODE_RETAIN } kind;
	uint64_t digest, before_us, audit_before_us; /* of a snapshot, of a retention */
};

#define WZ_COMMIT_TIMES 512u
#define WZ_CHECKPOINT_PAGES 1600      /* of 4 KiB: when the writer moves the log into the file */
#define WZ_LOG_BYTES (8 << 20)        /* length of the log: those pages, their headers, and what a group adds */

struct wz_store {
	struct wz_store_options o;
	char *dir, *path;
	int lock_fd, event_fd;
	sqlite3 *wr, *rd;           /* the writer's; the loop's */
	/* the loop's */
	uint64_t next_seq;          /* of the next record */
	uint64_t snapshot_at;       /* records appended at the last snapshot */
	struct wz_node_ *all, **all_end;
	bool restored;
	/* shared */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct wz_node_ *queue, **queue_end, *finished, **finished_end;
	uint64_t queued_bytes;
	bool closing, busy;
	struct wz_store_status status;
	uint64_t took_us[WZ_COMMIT_TIMES];
	_Atomic uint64_t durable;
	/* the writer's */
	struct wz_project project;
	sqlite3_stmt *insert, *insert_blob;
	uint64_t trim_to;           /* journal records up to here are to be dropped */
	char version[32], warning[160];
};

void *wz_writer_main(void *store);
int wz_writer_prepare(struct wz_store *s, struct wz_err *err);
void wz_writer_release(struct wz_store *s);
void wz_node_free(struct wz_node_ *n);
bool wz_reserve_make(struct wz_store *s);

#endif
