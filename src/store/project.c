/* SPDX-License-Identifier: Apache-2.0 */
/* Tables from notes. The one function that turns a note into a row is used by the writer as records come, and by the
 * rebuild from the journal; so the two cannot differ but by damage.
 *
 * A rebuild begins at the oldest snapshot S (0: none), since earlier records may be gone: a row that was open at S
 * is in snap_jobs, one that is younger comes from the journal, and one that was closed at S is kept as it is. */
#include "store/store_int.h"

#include "base/check.h"
#include "os/mem.h"

static void add_columns(struct wz_buf *b, const struct wz_table *t, const char *before)
{
	for (unsigned i = 0; i < t->n; i++) {
		wz_buf_addz(b, i ? "," : "");
		wz_buf_addz(b, before);
		wz_buf_addc(b, '"');
		wz_buf_addz(b, t->column[i].name);
		wz_buf_addc(b, '"');
	}
}

/* INSERT ... ON CONFLICT (key) DO UPDATE SET c = coalesce(excluded.c, c), ...: what is not given stays. */
static int prepare_upsert(
        sqlite3 *db, const char *schema, const struct wz_table *t, sqlite3_stmt **ret, struct wz_err *err)
{
	struct wz_buf b;
	int r;

	wz_buf_init(&b, wz_os_mem(), 1u << 16);
	wz_buf_addz(&b, "INSERT INTO ");
	wz_buf_addz(&b, schema);
	wz_buf_addc(&b, '.');
	wz_buf_addz(&b, t->name);
	wz_buf_addz(&b, " (");
	add_columns(&b, t, "");
	wz_buf_addz(&b, ",seq0,seq) VALUES (");
	for (unsigned i = 0; i < t->n; i++) {
		wz_buf_addc(&b, '?');
		wz_buf_add_u64(&b, i + 1);
		wz_buf_addc(&b, ',');
	}
	wz_buf_addz(&b, "?60,?60)");
	if (t->n_key) {
		wz_buf_addz(&b, " ON CONFLICT DO UPDATE SET seq=excluded.seq");
		for (unsigned i = t->n_key; i < t->n; i++) {
			wz_buf_addz(&b, ",\"");
			wz_buf_addz(&b, t->column[i].name);
			wz_buf_addz(&b, "\"=coalesce(excluded.\"");
			wz_buf_addz(&b, t->column[i].name);
			wz_buf_addz(&b, "\",\"");
			wz_buf_addz(&b, t->column[i].name);
			wz_buf_addz(&b, "\")");
		}
	}
	r = b.status < 0 ? wz_err_set(err, b.status, "OutOfMemory", WZ_STR("no memory for a statement"))
	                 : wz_sql_prepare(db, wz_buf_z(&b), ret, err);
	wz_buf_release(&b);
	return r;
}

int wz_project_init(struct wz_project *p, sqlite3 *db, const char *schema, struct wz_err *err)
{
	bool again = schema[0] == 'r';
	int r = 0;

	*p = (struct wz_project){.db = db};
	wz_arena_init(&p->arena, wz_os_mem(), 4096);
	for (unsigned i = 0; r == 0 && i < WZ_T_TABLES; i++)
		r = prepare_upsert(db, schema, &wz_tables[i], &p->upsert[i], err);
	if (r == 0)
		r = wz_sql_prepare(db,
		        again ? "INSERT OR IGNORE INTO re.keys VALUES (?1, ?2, ?3)"
		              : "INSERT OR IGNORE INTO main.keys VALUES (?1, ?2, ?3)",
		        &p->key, err);
	if (r == 0)
		r = wz_sql_prepare(db,
		        again ? "DELETE FROM re.kv WHERE key = ?1" : "DELETE FROM main.kv WHERE key = ?1",
		        &p->kv_delete, err);
	if (r < 0)
		wz_project_release(p);
	return r;
}

void wz_project_release(struct wz_project *p)
{
	for (unsigned i = 0; i < WZ_T_TABLES; i++)
		(void)sqlite3_finalize(p->upsert[i]);
	(void)sqlite3_finalize(p->key);
	(void)sqlite3_finalize(p->kv_delete);
	if (p->arena.mem)
		wz_arena_release(&p->arena);
	*p = (struct wz_project){0};
}

static int run(struct wz_project *p, sqlite3_stmt *st, struct wz_err *err)
{
	int rc = sqlite3_step(st), r = rc == SQLITE_DONE ? 0 : wz_sql_err(p->db, rc, "write the store", err);

	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return r;
}

static void bind_str(sqlite3_stmt *st, int at, struct wz_str s)
{
	(void)sqlite3_bind_text64(st, at, s.len ? s.ptr : "", s.len, SQLITE_STATIC, SQLITE_UTF8);
}

int wz_project_note(struct wz_project *p, uint64_t seq, struct wz_str line, struct wz_err *err)
{
	const struct wz_table *t;
	union wz_row row;
	sqlite3_stmt *st;
	unsigned table;
	int r;

	wz_arena_clear(&p->arena);
	r = wz_note_parse(line, &p->arena, &table, &row, err);
	if (r < 0 || table >= WZ_T_TABLES)
		return r;
	t = &wz_tables[table];
	if (table == WZ_T_KV && row.kv.value.len == 0) {
		bind_str(p->kv_delete, 1, row.kv.key);
		return run(p, p->kv_delete, err);
	}
	st = p->upsert[table];
	for (unsigned i = 0; i < t->n; i++) {
		const void *v = (const char *)&row + t->column[i].at;
		if (!(row.given >> i & 1))
			continue;
		if (t->column[i].kind == 'I')
			(void)sqlite3_bind_int64(st, (int)i + 1, *(const int64_t *)v);
		else
			bind_str(st, (int)i + 1, *(const struct wz_str *)v);
	}
	(void)sqlite3_bind_int64(st, 60, (int64_t)seq);
	r = run(p, st, err);
	if (r == 0 && table == WZ_T_JOBS && WZ_GIVEN(JOB, &row.job, idem) && row.job.idem.len &&
	        WZ_GIVEN(JOB, &row.job, uid)) {
		(void)sqlite3_bind_int64(p->key, 1, row.job.uid);
		bind_str(p->key, 2, row.job.idem);
		(void)sqlite3_bind_int64(p->key, 3, row.job.job);
		r = run(p, p->key, err);
	}
	return r;
}

static const char again_sql[] =
        "ATTACH ':memory:' AS re;"
        "CREATE TEMP TABLE wz_base AS SELECT coalesce(min(seq), 0) AS seq FROM main.snapshots;"
        /* with the keys that the upsert needs */
        "CREATE TABLE re.jobs AS SELECT * FROM main.jobs WHERE seq0 <= (SELECT seq FROM wz_base)"
        " AND job NOT IN (SELECT job FROM main.snap_jobs WHERE snap = (SELECT seq FROM wz_base));"
        "CREATE UNIQUE INDEX re.jobs_key ON jobs (job);"
        "CREATE TABLE re.attempts AS SELECT * FROM main.attempts WHERE seq0 <= (SELECT seq FROM wz_base)"
        " AND job NOT IN (SELECT job FROM main.snap_jobs WHERE snap = (SELECT seq FROM wz_base));"
        "CREATE UNIQUE INDEX re.attempts_key ON attempts (job, attempt, task);"
        "CREATE TABLE re.audit AS SELECT * FROM main.audit WHERE seq <= (SELECT seq FROM wz_base);"
        "CREATE TABLE re.kv AS SELECT key, value, seq0, seq FROM main.snap_kv WHERE snap = (SELECT seq FROM "
        "wz_base);"
        "CREATE UNIQUE INDEX re.kv_key ON kv (key);"
        "CREATE TABLE re.keys (uid INTEGER, idem TEXT, job INTEGER, PRIMARY KEY (uid, idem)) WITHOUT ROWID;";

static int copy_snapshot_rows(sqlite3 *db, unsigned table, struct wz_err *err)
{
	const struct wz_table *t = &wz_tables[table];
	struct wz_buf b;
	int r;

	wz_buf_init(&b, wz_os_mem(), 1u << 16);
	wz_buf_addz(&b, "INSERT INTO re.");
	wz_buf_addz(&b, t->name);
	wz_buf_addz(&b, " (");
	add_columns(&b, t, "");
	wz_buf_addz(&b, ",seq0,seq) SELECT ");
	add_columns(&b, t, "");
	wz_buf_addz(&b, ",seq0,seq FROM main.snap_");
	wz_buf_addz(&b, t->name);
	wz_buf_addz(&b, " WHERE snap = (SELECT seq FROM wz_base)");
	r = b.status < 0 ? wz_err_set(err, b.status, "OutOfMemory", WZ_STR("no memory for a statement"))
	                 : wz_sql_exec(db, wz_buf_z(&b), err);
	wz_buf_release(&b);
	return r;
}

int wz_project_again(sqlite3 *db, struct wz_err *err)
{
	struct wz_project p = {0};
	sqlite3_stmt *st = NULL;
	int r = wz_sql_exec(db, again_sql, err), rc = SQLITE_DONE;

	if (r == 0)
		r = copy_snapshot_rows(db, WZ_T_JOBS, err);
	if (r == 0)
		r = copy_snapshot_rows(db, WZ_T_ATTEMPTS, err);
	if (r == 0) /* the first job of a key has it */
		r = wz_sql_exec(db,
		        "INSERT OR IGNORE INTO re.keys SELECT uid, idem, job FROM re.jobs WHERE idem <> '' AND uid "
		        "IS NOT NULL ORDER BY job",
		        err);
	if (r == 0)
		r = wz_project_init(&p, db, "re", err);
	if (r == 0)
		r = wz_sql_prepare(db,
		        "SELECT seq, body FROM main.journal WHERE kind = 3 AND seq > (SELECT seq FROM wz_base) "
		        "ORDER BY seq",
		        &st, err);
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = wz_project_note(&p, (uint64_t)sqlite3_column_int64(st, 0),
		        (struct wz_str){
		                (const char *)sqlite3_column_text(st, 1), (size_t)sqlite3_column_bytes(st, 1)},
		        err);
	if (r == 0 && rc != SQLITE_DONE)
		r = wz_sql_err(db, rc, "read the journal", err);
	(void)sqlite3_finalize(st);
	wz_project_release(&p);
	return r;
}

int wz_project_end(sqlite3 *db)
{
	(void)sqlite3_exec(db, "DROP TABLE IF EXISTS temp.wz_base", NULL, NULL, NULL);
	return sqlite3_exec(db, "DETACH re", NULL, NULL, NULL);
}
