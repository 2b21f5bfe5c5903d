/* SPDX-License-Identifier: Apache-2.0 */
/* The file: how it is opened, what is in it, and how an older one becomes this one. A migration is a row that is never
 * changed once it was released; it runs in one transaction with its mark. `compat` is the oldest program (by schema
 * number) that may still open the file after it: the version before, always, so that an upgrade can be taken back. */
#include "store/store_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "os/clock.h"

#define APPLICATION_ID 0x575a4e53 /* "WZNS" */

#define JOBS_V1 \
	"user TEXT, uid INTEGER, gid INTEGER, name TEXT, queue TEXT, array INTEGER, array_index INTEGER," \
	" priority INTEGER, profile TEXT, tasks INTEGER, spec TEXT, env TEXT, script TEXT, idem TEXT," \
	" submitted_us INTEGER, state INTEGER, reason TEXT, attempt INTEGER, started_us INTEGER, ended_us " \
	"INTEGER," \
	" \"end\" INTEGER, exit_code INTEGER, signal INTEGER, comment TEXT, seq0 INTEGER NOT NULL, seq INTEGER " \
	"NOT NULL"
#define ATTEMPTS_V1 \
	"job INTEGER NOT NULL, attempt INTEGER NOT NULL, task INTEGER NOT NULL, node TEXT, devices TEXT," \
	" effect INTEGER, decided_us INTEGER, started_us INTEGER, ended_us INTEGER, \"end\" INTEGER," \
	" exit_code INTEGER, signal INTEGER, log TEXT, pid INTEGER, pid_start INTEGER, boot TEXT, cgroup TEXT," \
	" usage TEXT, seq0 INTEGER NOT NULL, seq INTEGER NOT NULL"
#define KV_V1 "value TEXT, seq0 INTEGER NOT NULL, seq INTEGER NOT NULL"

static const char v1[] =
        /* The history. Never updated; deleted from the front, once two snapshots are behind. */
        "CREATE TABLE journal (seq INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, kind INTEGER NOT NULL,"
        " body TEXT NOT NULL, digest INTEGER, sum INTEGER NOT NULL) STRICT;"
        "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, digest INTEGER NOT NULL,"
        " version TEXT NOT NULL, core BLOB NOT NULL) STRICT;"
        "CREATE TABLE blobs (id TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;"
        "CREATE TABLE migrations (version INTEGER PRIMARY KEY, compat INTEGER NOT NULL, applied_us INTEGER NOT "
        "NULL,"
        " by TEXT NOT NULL) STRICT;"
        /* Made from the notes of the journal; seq0 and seq: the first and the last that touched the row. */
        "CREATE TABLE jobs (job INTEGER PRIMARY KEY, " JOBS_V1 ") STRICT;"
        "CREATE INDEX jobs_open ON jobs (job) WHERE state < 5;"
        "CREATE INDEX jobs_ended ON jobs (ended_us) WHERE state = 5;"
        "CREATE INDEX jobs_array ON jobs (array) WHERE array > 0;"
        "CREATE TABLE attempts (" ATTEMPTS_V1 ", PRIMARY KEY (job, attempt, task)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE audit (time_us INTEGER, uid INTEGER, user TEXT, verb TEXT, target TEXT, outcome TEXT, detail "
        "TEXT,"
        " seq0 INTEGER NOT NULL, seq INTEGER PRIMARY KEY) STRICT;"
        "CREATE TABLE kv (key TEXT PRIMARY KEY, " KV_V1 ") STRICT, WITHOUT ROWID;"
        "CREATE TABLE keys (uid INTEGER NOT NULL, idem TEXT NOT NULL, job INTEGER NOT NULL, PRIMARY KEY (uid, "
        "idem)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX keys_job ON keys (job);"
        /* The rows of open jobs, and all settings, as they were at a snapshot. */
        "CREATE TABLE snap_jobs (snap INTEGER, job INTEGER, " JOBS_V1
        ", PRIMARY KEY (snap, job)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE snap_attempts (snap INTEGER, " ATTEMPTS_V1
        ", PRIMARY KEY (snap, job, attempt, task)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE snap_kv (snap INTEGER, key TEXT, " KV_V1 ", PRIMARY KEY (snap, key)) STRICT, WITHOUT ROWID;";

/* What `wz submit` learned: arrays, conditions, retries, secrets, snapshots of code. New columns come last in both tables, since
 * a snapshot copies rows whole. */
#define ADD_V2(t, column) "ALTER TABLE " t " ADD COLUMN " column ";"
#define JOBS_V2(t) \
	ADD_V2(t, "template TEXT") \
	ADD_V2(t, "params TEXT") \
	ADD_V2(t, "asked INTEGER") \
	ADD_V2(t, "held INTEGER") \
	ADD_V2(t, "begin_us INTEGER") \
	ADD_V2(t, "deadline_us INTEGER") \
	ADD_V2(t, "after TEXT") \
	ADD_V2(t, "retries INTEGER") \
	ADD_V2(t, "retry_us INTEGER") ADD_V2(t, "word TEXT") ADD_V2(t, "secrets TEXT") ADD_V2(t, "snapshot TEXT")
static const char v2[] = JOBS_V2("jobs") JOBS_V2("snap_jobs");

static const struct {
	unsigned version, compat;
	const char *sql;
} migrations[] = {
        {1, 1, v1},
        {2, 1, v2},
};
_Static_assert(WZ_STORE_SCHEMA == WZ_ARRAY_LEN(migrations), "one migration a version");

int wz_sql_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
		return -EUCLEAN;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_TOOBIG:
		return -E2BIG;
	case SQLITE_INTERRUPT:
		return -EINTR;
	default:
		return -EIO;
	}
}

int wz_sql_err(sqlite3 *db, int rc, const char *doing, struct wz_err *err)
{
	int r = wz_sql_errno(rc);
	const char *reason = r == -ENOSPC    ? "DiskFull"
	                     : r == -EUCLEAN ? "StoreDamaged"
	                     : r == -EBUSY   ? "StoreInUse"
	                     : r == -ENOMEM  ? "OutOfMemory"
	                                     : "DiskError";

	return wz_err_set(err, r, reason, WZ_STR("cannot "), wz_str(doing), WZ_STR(": "),
	        wz_str(db ? sqlite3_errmsg(db) : sqlite3_errstr(rc)));
}

int wz_sql_exec(sqlite3 *db, const char *sql, struct wz_err *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : wz_sql_err(db, rc, "work on the store", err);
}

int wz_sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct wz_err *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);

	return rc == SQLITE_OK ? 0 : wz_sql_err(db, rc, "read the store", err);
}

int wz_sql_u64(sqlite3 *db, const char *sql, uint64_t *ret, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = wz_sql_prepare(db, sql, &st, err), rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		*ret = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	else
		r = wz_sql_err(db, rc, "read the store", err);
	(void)sqlite3_finalize(st);
	return r;
}

/* SQLite keeps another mode, and says nothing, where shared memory is not to be had. */
static int check_wal(sqlite3 *db, struct wz_err *err)
{
	uint64_t wal = 0;
	int r = wz_sql_u64(db, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &wal, err);

	return r == 0 && !wal ? wz_err_set(err, -EOPNOTSUPP, "NoWal",
	                                WZ_STR("this disk does not let the store use a write-ahead log"))
	                      : r;
}

int wz_db_open(const char *path, const char *vfs, bool read_only, sqlite3 **ret, struct wz_err *err)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
	            (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, flags, vfs), r = 0;

	if (rc != SQLITE_OK)
		r = wz_sql_err(db, rc, "open the store", err);
	if (r == 0) {
		(void)sqlite3_busy_timeout(db, 5000);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		r = wz_sql_exec(
		        db, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF;", err);
	}
	/* Checkpoints are made by the writer, between commits. EXTRA is FULL, and for the rollback journal that is there while
	 * the file is new: its deletion is synced too, else a power loss could bring it back and undo all since. */
	if (r == 0 && !read_only)
		r = wz_sql_exec(db,
		        "PRAGMA synchronous=EXTRA; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
		        "PRAGMA journal_size_limit=67108864;",
		        err);
	if (r == 0 && !read_only)
		r = check_wal(db, err);
	if (r < 0) {
		(void)sqlite3_close(db);
		return r;
	}
	if (!read_only) { /* the log stays when the last connection closes: its length is worth having */
		int yes = 1, chunk = 1 << 20;
		(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL, &yes);
		(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
	}
	*ret = db;
	return 0;
}

static int newer(struct wz_err *err)
{
	return wz_err_set(err, -EPROTO, "NewerStore",
	        WZ_STR("this store was written by a newer version of WhaleZEN that this one cannot follow: install "
	               "that version again, or restore a backup from before the upgrade"));
}

/* *ret_version 0: an empty file. */
static int version_of(sqlite3 *db, uint64_t *ret_version, struct wz_err *err)
{
	uint64_t id = 0, tables = 0;
	int r = wz_sql_u64(db, "PRAGMA application_id", &id, err);

	if (r == 0)
		r = wz_sql_u64(db, "PRAGMA user_version", ret_version, err);
	if (r == 0)
		r = wz_sql_u64(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r == 0 && id != APPLICATION_ID && (id || tables || *ret_version))
		return wz_err_set(
		        err, -EUCLEAN, "NotAStore", WZ_STR("store.db is an SQLite file, but not one of WhaleZEN"));
	return r;
}

int wz_db_version_check(sqlite3 *db, struct wz_err *err)
{
	uint64_t version = 0, compat = 0;
	int r = version_of(db, &version, err);

	if (r < 0 || version == WZ_STORE_SCHEMA)
		return r;
	if (version < WZ_STORE_SCHEMA)
		return wz_err_set(
		        err, -EUCLEAN, "NotAStore", WZ_STR("the store is empty or older: start the daemon once"));
	r = wz_sql_u64(db, "SELECT max(compat) FROM migrations", &compat, err);
	return r < 0 ? r : compat > WZ_STORE_SCHEMA || !compat ? newer(err) : 0;
}

static int migrate_one(sqlite3 *db, unsigned i, const char *by, struct wz_err *err)
{
	char mark[160];
	sqlite3_stmt *st = NULL;
	int r = wz_sql_exec(db, migrations[i].sql, err), rc;

	if (r == 0)
		r = wz_sql_prepare(db, "INSERT INTO migrations VALUES (?1, ?2, ?3, ?4)", &st, err);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(st, 1, migrations[i].version);
	(void)sqlite3_bind_int64(st, 2, migrations[i].compat);
	(void)sqlite3_bind_int64(st, 3, wz_clock_wall_us());
	(void)sqlite3_bind_text(st, 4, by, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	(void)sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		return wz_sql_err(db, rc, "migrate the store", err);
	(void)snprintf(mark, sizeof(mark), "PRAGMA application_id=%d; PRAGMA user_version=%u;", APPLICATION_ID,
	        migrations[i].version);
	return wz_sql_exec(db, mark, err);
}

int wz_db_migrate(sqlite3 *db, const char *by, struct wz_err *err)
{
	uint64_t version = 0;
	int r = version_of(db, &version, err);

	if (r < 0 || version >= WZ_STORE_SCHEMA)
		return r < 0 ? r : wz_db_version_check(db, err);
	r = wz_sql_exec(db, "BEGIN IMMEDIATE", err);
	for (unsigned i = (unsigned)version; r == 0 && i < WZ_STORE_SCHEMA; i++)
		r = migrate_one(db, i, by, err);
	if (r == 0)
		r = wz_sql_exec(db, "COMMIT", err);
	if (r < 0)
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

uint64_t wz_record_sum(uint64_t seq, const struct wz_journal_record *r)
{
	uint64_t h = wz_hash_u64(wz_mix64(seq), (uint64_t)r->kind << 1 | r->digested);

	h = wz_hash_u64(wz_hash_u64(h, r->time_us), r->digested ? r->digest : 0);
	return wz_hash_str(h, r->line);
}
