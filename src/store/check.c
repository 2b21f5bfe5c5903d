/* SPDX-License-Identifier: Apache-2.0 */
/* What `wz doctor` asks: is everything as it must be, and what can be made anew? All looks happen in one read
 * transaction on a connection of its own, so that a daemon may go on writing. */
#include "store/store_int.h"

#include "os/file.h"
#include "os/mem.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

struct look {
	sqlite3 *db;
	struct wz_buf *report;
	const struct wz_mem *mem;
	int bad;
};

static void good(struct look *l, const char *what, uint64_t n, const char *unit)
{
	wz_buf_addz(l->report, "ok   ");
	wz_buf_addz(l->report, what);
	if (unit) {
		wz_buf_addz(l->report, ": ");
		wz_buf_add_u64(l->report, n);
		wz_buf_addz(l->report, unit);
	}
	wz_buf_addc(l->report, '\n');
}

static void wrong(struct look *l, const char *what, struct wz_str detail)
{
	l->bad++;
	wz_buf_addz(l->report, "BAD  ");
	wz_buf_addz(l->report, what);
	wz_buf_addz(l->report, ": ");
	for (size_t i = 0; i < detail.len; i++) /* a line is a line */
		wz_buf_addc(l->report, (unsigned char)detail.ptr[i] < 0x20 ? ' ' : detail.ptr[i]);
	wz_buf_addc(l->report, '\n');
}

static void wrong_count(struct look *l, const char *what, uint64_t n, const char *unit)
{
	struct wz_num num;
	char text[160];
	struct wz_str s = wz_str_u64(&num, n);

	(void)snprintf(text, sizeof(text), "%.*s%s", (int)s.len, s.ptr, unit);
	wrong(l, what, wz_str(text));
}

/* Rows of one text column; the first 20 are told. */
static int tell_rows(struct look *l, const char *sql, const char *what, const char *fine, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = wz_sql_prepare(l->db, sql, &st, err), rc = SQLITE_DONE, n = 0;

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);
		if (fine && text && strcmp(text, fine) == 0)
			continue;
		if (n++ < 20)
			wrong(l, what, wz_str(text));
	}
	(void)sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		wrong(l, what, wz_str(sqlite3_errmsg(l->db))); /* damage may end the look itself */
	else if (n == 0)
		good(l, what, 0, NULL);
	return 0;
}

static int look_journal(struct look *l, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	uint64_t next = 0, n = 0, base = 0, bad_sums = 0, gaps = 0;
	int r = wz_sql_u64(l->db, "SELECT coalesce(min(seq), 0) FROM snapshots", &base, err), rc;

	if (r == 0)
		r = wz_sql_prepare(
		        l->db, "SELECT seq, time_us, kind, body, digest, sum FROM journal ORDER BY seq", &st, err);
	if (r < 0)
		return r;
	for (; (rc = sqlite3_step(st)) == SQLITE_ROW; n++) {
		struct wz_journal_record x = {.seq = (uint64_t)sqlite3_column_int64(st, 0),
		        .time_us = (uint64_t)sqlite3_column_int64(st, 1),
		        .kind = (enum wz_record_kind)sqlite3_column_int(st, 2),
		        .line = {(const char *)sqlite3_column_text(st, 3), (size_t)sqlite3_column_bytes(st, 3)},
		        .digested = sqlite3_column_type(st, 4) != SQLITE_NULL,
		        .digest = (uint64_t)sqlite3_column_int64(st, 4)};
		/* before the oldest snapshot records may be gone, from the front alone */
		if (next ? x.seq != next : x.seq > base + 1)
			gaps++;
		next = x.seq + 1;
		bad_sums += wz_record_sum(x.seq, &x) != (uint64_t)sqlite3_column_int64(st, 5);
	}
	(void)sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		wrong(l, "journal", wz_str(sqlite3_errmsg(l->db)));
	if (gaps)
		wrong_count(l, "journal: numbers", gaps, " gaps");
	if (bad_sums)
		wrong_count(l, "journal: checksums", bad_sums, " records are not what was written");
	if (!gaps && !bad_sums && rc == SQLITE_DONE)
		good(l, "journal: numbers and checksums", n, " records");
	return 0;
}

static int look_blobs(struct look *l, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	uint64_t n = 0;
	int r = wz_sql_prepare(l->db, "SELECT id, bytes FROM blobs", &st, err), rc;
	bool fine = true;

	if (r < 0)
		return r;
	for (; (rc = sqlite3_step(st)) == SQLITE_ROW; n++) {
		unsigned char sum[32];
		char id[WZ_BLOB_ID];
		unsigned len = sizeof(sum);
		const void *p = sqlite3_column_blob(st, 1);
		const char *name = (const char *)sqlite3_column_text(st, 0);
		if (EVP_Digest(p ? p : "", (size_t)sqlite3_column_bytes(st, 1), sum, &len, EVP_sha256(), NULL) != 1)
			continue;
		for (unsigned i = 0; i < sizeof(sum); i++)
			(void)snprintf(id + 2 * i, 3, "%02x", sum[i]);
		if (strcmp(id, name ? name : "") != 0) {
			wrong(l, "blobs: content differs from its name", wz_str(name));
			fine = false;
		}
	}
	(void)sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		wrong(l, "blobs", wz_str(sqlite3_errmsg(l->db)));
	else if (fine)
		good(l, "blobs", n, "");
	return tell_rows(l,
	        "SELECT 'job ' || job || ' names a blob that is not there' FROM jobs WHERE (env <> '' AND env NOT "
	        "IN (SELECT id FROM blobs))"
	        " OR (script <> '' AND script NOT IN (SELECT id FROM blobs))"
	        " OR (template <> '' AND template NOT IN (SELECT id FROM blobs)) LIMIT 21",
	        "blobs that jobs name", NULL, err);
}

static int look_tables(struct look *l, struct wz_err *err)
{
	static const char *const tables[] = {"jobs", "attempts", "audit", "kv", "keys"};
	int r = wz_project_again(l->db, err);

	for (unsigned i = 0; r == 0 && i < 5; i++) {
		char sql[512], what[64];
		uint64_t missing = 0, more = 0;
		(void)snprintf(sql, sizeof(sql),
		        "SELECT count(*) FROM (SELECT * FROM re.%s EXCEPT SELECT * FROM main.%s)", tables[i],
		        tables[i]);
		r = wz_sql_u64(l->db, sql, &missing, err);
		(void)snprintf(sql, sizeof(sql),
		        "SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM re.%s)", tables[i],
		        tables[i]);
		if (r == 0)
			r = wz_sql_u64(l->db, sql, &more, err);
		(void)snprintf(what, sizeof(what), "table %s", tables[i]);
		if (r == 0 && missing + more)
			wrong_count(l, what, missing > more ? missing : more,
			        " rows differ from the journal (wz doctor --fix makes them anew)");
		else if (r == 0)
			good(l, what, 0, NULL);
	}
	(void)wz_project_end(l->db);
	if (r < 0 && r != -ENOMEM && err) {
		wrong(l, "tables: the journal's notes", wz_str(err->text));
		return 0;
	}
	return r;
}

/* Live jobs of the core against open ones of the table; foreign work, which no user submitted, is in no table. */
static int look_live(struct look *l, const struct wz_core *c, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	struct wz_job_info info;
	uint64_t n = 0, lost = 0;
	int r = wz_sql_prepare(l->db, "SELECT job FROM jobs WHERE state < 5", &st, err), rc;

	if (r < 0)
		return r;
	for (; (rc = sqlite3_step(st)) == SQLITE_ROW; n++)
		lost += wz_core_job(c, (uint64_t)sqlite3_column_int64(st, 0), &info) < 0;
	(void)sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		return wz_sql_err(l->db, rc, "read the store", err);
	if (lost)
		wrong_count(l, "open jobs", lost, " are open in the table and unknown to the core");
	r = wz_sql_prepare(l->db, "SELECT state FROM jobs WHERE job = ?1", &st, err);
	lost = 0;
	for (uint32_t i = 0; r == 0; i++) {
		int s = wz_core_job_at(c, i, &info);
		if (s == -ENOENT)
			break;
		if (s == 1)
			continue;
		(void)sqlite3_bind_int64(st, 1, (int64_t)info.job);
		if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int(st, 0) == WZ_ROW_ENDED)
			lost++;
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	if (r == 0 && lost)
		wrong_count(l, "open jobs", lost, " live in the core and are ended in the table");
	else if (r == 0)
		good(l, "open jobs of the table and live ones of the core", n, "");
	return r;
}

static int look_replay(struct look *l, uint64_t from, bool last, struct wz_err *err)
{
	static const struct wz_core_options plain;
	struct wz_replay x = {.mem = l->mem, .fresh = &plain};
	char what[64];
	int r = wz_replay(l->db, &x, from, err);

	(void)snprintf(what, sizeof(what), "replay from %llu: digests", (unsigned long long)from);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		wrong(l, what, err ? wz_str(err->text) : WZ_STR("failed"));
		return 0;
	}
	if (from && x.got.snapshot_seq != from)
		wrong(l, what, WZ_STR("the snapshot cannot be read"));
	good(l, what, x.got.verified, x.got.unverified ? " (and some of another catalogue)" : "");
	if (x.got.core && wz_core_check(x.got.core, err) < 0)
		wrong(l, "invariants", err ? wz_str(err->text) : WZ_STR("broken"));
	r = x.got.core && last ? look_live(l, x.got.core, err) : 0;
	wz_core_free(x.got.core);
	return r;
}

static int look_replays(struct look *l, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	uint64_t first = 0, at[8];
	unsigned n = 0;
	int r = wz_sql_u64(l->db, "SELECT min(seq) FROM journal", &first, err), rc;

	if (r == 0)
		r = wz_sql_prepare(l->db, "SELECT seq FROM snapshots ORDER BY seq LIMIT 8", &st, err);
	if (r < 0)
		return r;
	while (n < 8 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		at[n++] = (uint64_t)sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	if (first == 1)
		r = look_replay(l, 0, n == 0, err);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = look_replay(l, at[i], i + 1 == n, err);
	return r;
}

/* A connection of its own: temporary tables, one transaction. */
static int open_look(const struct wz_store *s, sqlite3 **ret, struct wz_err *err)
{
	int rc = sqlite3_open_v2(
	        s->path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, s->o.vfs);
	int r = rc == SQLITE_OK ? 0 : wz_sql_err(*ret, rc, "open the store", err);

	if (r == 0) {
		(void)sqlite3_busy_timeout(*ret, 5000);
		r = wz_sql_exec(*ret,
		        "PRAGMA temp_store=MEMORY; PRAGMA synchronous=EXTRA; PRAGMA wal_autocheckpoint=0;", err);
	}
	if (r < 0) {
		(void)sqlite3_close(*ret);
		*ret = NULL;
	}
	return r;
}

int wz_store_check(struct wz_store *s, const struct wz_mem *mem, struct wz_buf *report, struct wz_err *err)
{
	struct look l = {.report = report, .mem = mem};
	struct wz_err local;
	int r = open_look(s, &l.db, err);

	err = err ? err : &local;
	if (r < 0)
		return r;
	r = tell_rows(&l, "PRAGMA integrity_check(20)", "pages and indexes", "ok", err);
	if (r == 0)
		r = look_journal(&l, err);
	if (r == 0)
		r = look_blobs(&l, err);
	if (r == 0)
		r = look_replays(&l, err);
	if (r == 0)
		r = look_tables(&l, err);
	(void)sqlite3_close(l.db);
	if (r == 0 && report->status < 0)
		r = wz_err_set(err, report->status, "TooLong", WZ_STR("no room for the report"));
	return r < 0 ? r : l.bad;
}

int wz_store_rebuild(struct wz_store *s, struct wz_err *err)
{
	static const char replace[] =
	        "DELETE FROM main.jobs; INSERT INTO main.jobs SELECT * FROM re.jobs;"
	        "DELETE FROM main.attempts; INSERT INTO main.attempts SELECT * FROM re.attempts;"
	        "DELETE FROM main.audit; INSERT INTO main.audit SELECT * FROM re.audit;"
	        "DELETE FROM main.kv; INSERT INTO main.kv SELECT * FROM re.kv;"
	        "DELETE FROM main.keys; INSERT INTO main.keys SELECT * FROM re.keys;";
	sqlite3 *db = NULL;
	int r;

	if (s->o.read_only)
		return wz_err_set(err, -EROFS, "ReadOnly", WZ_STR("the store is open for reading only"));
	r = wz_store_flush(s, err);
	if (r == 0)
		r = open_look(s, &db, err);
	if (r < 0)
		return r;
	r = wz_project_again(db, err);
	if (r == 0)
		r = wz_sql_exec(db, "BEGIN IMMEDIATE", err);
	if (r == 0)
		r = wz_sql_exec(db, replace, err);
	if (r == 0)
		r = wz_sql_exec(db, "COMMIT", err);
	(void)sqlite3_close(db);
	return r;
}

int wz_store_fix(struct wz_store *s, const struct wz_mem *mem, struct wz_buf *report, struct wz_err *err)
{
	int r = wz_store_rebuild(s, err);

	if (r < 0)
		return r;
	wz_buf_addz(report, "made the tables anew from the journal\n");
	return wz_store_check(s, mem, report, err);
}

/* ---- backup ---- */

static int copy_pages(sqlite3 *from, sqlite3 *to, struct wz_err *err)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc = SQLITE_OK;

	if (!b)
		return wz_sql_err(to, sqlite3_errcode(to), "write the backup", err);
	do { /* in steps: the writer is not kept out, and what it writes is copied again */
		rc = sqlite3_backup_step(b, 2000);
	} while (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED);
	rc = sqlite3_backup_finish(b);
	return rc == SQLITE_OK ? 0 : wz_sql_err(to, rc, "write the backup", err);
}

static int sync_and_rename(const char *from, const char *to, bool replace, struct wz_err *err)
{
	char dir[4096];
	const char *slash = strrchr(to, '/');
	int fd, r = 0, n = snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - to + 1) : 1, slash ? to : ".");

	if (n < 0 || (size_t)n >= sizeof(dir))
		return wz_err_set(err, -ENAMETOOLONG, "FileError", WZ_STR("the path is too long"));
	fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		r = wz_file_err(err, -errno, "write", from);
	if (fd >= 0)
		(void)close(fd);
	if (r == 0 && (replace ? rename(from, to) : renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) < 0)
		r = wz_file_err(err, -errno, "write", to);
	fd = r == 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	return r;
}

static int copy_to(sqlite3 *from, const char *path, bool replace, struct wz_err *err)
{
	char tmp[4096];
	sqlite3 *to = NULL;
	int r, rc, n = snprintf(tmp, sizeof(tmp), "%s.tmp", path);

	if (n < 0 || (size_t)n >= sizeof(tmp))
		return wz_err_set(err, -ENAMETOOLONG, "FileError", WZ_STR("the path is too long"));
	(void)unlink(tmp);
	r = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* before SQLite makes it with another mode */
	if (r < 0)
		return wz_file_err(err, -errno, "create", tmp);
	(void)close(r);
	rc = sqlite3_open_v2(tmp, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	r = rc == SQLITE_OK ? copy_pages(from, to, err) : wz_sql_err(to, rc, "write the backup", err);
	if (r == 0) /* one file, without a log beside it */
		r = wz_sql_exec(to, "PRAGMA journal_mode=DELETE", err);
	(void)sqlite3_close(to);
	if (r == 0)
		r = sync_and_rename(tmp, path, replace, err);
	if (r < 0)
		(void)unlink(tmp);
	return r;
}

int wz_store_backup(struct wz_store *s, const char *path, bool replace, struct wz_err *err)
{
	if (!replace && access(path, F_OK) == 0)
		return wz_file_err(err, -EEXIST, "create", path);
	return copy_to(s->rd, path, replace, err);
}

int wz_store_restore_backup(const struct wz_store_options *o, const char *path, bool replace, struct wz_err *err)
{
	char target[4096], side[4200];
	struct wz_store *s = NULL;
	sqlite3 *from = NULL;
	uint64_t records = 0, damage = 0;
	int rc, r, n = snprintf(target, sizeof(target), "%s/store.db", o->dir);

	if (n < 0 || (size_t)n >= sizeof(target))
		return wz_err_set(err, -ENAMETOOLONG, "FileError", WZ_STR("the path is too long"));
	rc = sqlite3_open_v2(path, &from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	r = rc == SQLITE_OK ? wz_db_version_check(from, err) : wz_sql_err(from, rc, "open the backup", err);
	if (r == 0)
		r = wz_sql_u64(from, "SELECT count(*) FROM pragma_integrity_check(1) WHERE integrity_check <> 'ok'",
		        &damage, err);
	if (r == 0 && damage)
		r = wz_err_set(err, -EUCLEAN, "StoreDamaged", WZ_STR("the backup is damaged: "), wz_str(path));
	if (r == 0) /* takes the lock: no daemon is there */
		r = wz_store_open(o, &s, err);
	if (r == 0)
		r = wz_sql_u64(s->rd, "SELECT count(*) FROM journal", &records, err);
	if (r == 0 && records && !replace)
		r = wz_err_set(err, -EEXIST, "NotEmpty", WZ_STR("the state directory has a history of its own: "),
		        wz_str(o->dir));
	if (s) { /* the files are let go, the lock is kept until the new one is there */
		int lock = dup(s->lock_fd);
		wz_store_close(s);
		for (unsigned i = 0; r == 0 && i < 2; i++) {
			(void)snprintf(side, sizeof(side), "%s%s", target, i ? "-shm" : "-wal");
			(void)unlink(side);
		}
		if (r == 0)
			r = copy_to(from, target, true, err);
		if (lock >= 0)
			(void)close(lock);
	}
	(void)sqlite3_close(from);
	return r;
}
