/* SPDX-License-Identifier: Apache-2.0 */
/* Queries, on a connection of the loop's own: WAL lets them go on while the writer waits for the disk. */
#include "store/store_int.h"

#include "os/mem.h"

#define LIMIT 1000u

/* A query being put together: its text and what is bound. */
struct query {
	struct wz_buf sql;
	struct {
		bool text;
		int64_t i;
		struct wz_str s;
	} v[12];
	unsigned n;
};

static void add(struct query *q, const char *z)
{
	wz_buf_addz(&q->sql, z);
}

static void add_int(struct query *q, const char *z, int64_t i)
{
	add(q, z);
	q->v[q->n].text = false;
	q->v[q->n++].i = i;
}

static void add_text(struct query *q, const char *z, struct wz_str s)
{
	add(q, z);
	q->v[q->n].text = true;
	q->v[q->n++].s = s;
}

/* Of a brief row the long texts are left out: they are most of what is on its pages. */
static bool is_long(const char *column)
{
	static const char *const words[] = {"spec", "env", "script", "idem"};
	for (unsigned i = 0; i < 4; i++)
		if (strcmp(words[i], column) == 0)
			return true;
	return false;
}

static void select_some(struct query *q, unsigned table, bool brief)
{
	const struct wz_table *t = &wz_tables[table];

	q->n = 0;
	wz_buf_init(&q->sql, wz_os_mem(), 1u << 16);
	for (unsigned i = 0; i < t->n; i++) {
		add(q, i ? "," : "SELECT ");
		add(q, brief && is_long(t->column[i].name) ? "NULL AS \"" : "\"");
		add(q, t->column[i].name);
		add(q, "\"");
	}
	add(q, " FROM ");
	add(q, t->name);
}

static void select_columns(struct query *q, unsigned table)
{
	select_some(q, table, false);
}

static void read_row(sqlite3_stmt *st, unsigned table, union wz_row *row)
{
	const struct wz_table *t = &wz_tables[table];

	memset(row, 0, sizeof(*row));
	for (unsigned i = 0; i < t->n; i++) {
		void *p = (char *)row + t->column[i].at;
		if (sqlite3_column_type(st, (int)i) == SQLITE_NULL)
			continue;
		row->given |= 1ULL << i;
		if (t->column[i].kind == 'I')
			*(int64_t *)p = sqlite3_column_int64(st, (int)i);
		else
			*(struct wz_str *)p = (struct wz_str){(const char *)sqlite3_column_text(st, (int)i),
			        (size_t)sqlite3_column_bytes(st, (int)i)};
	}
}

struct call {
	int (*jobs)(void *, const struct wz_job_row *);
	int (*attempts)(void *, const struct wz_attempt_row *);
	int (*audit)(void *, const struct wz_audit_row *);
	int (*kv)(void *, const struct wz_kv_row *);
	void *ctx;
};

static int call_row(const struct call *c, const union wz_row *row)
{
	return c->jobs       ? c->jobs(c->ctx, &row->job)
	       : c->attempts ? c->attempts(c->ctx, &row->attempt)
	       : c->audit    ? c->audit(c->ctx, &row->audit)
	                     : c->kv(c->ctx, &row->kv);
}

static int bind_all(const struct query *q, sqlite3_stmt *st)
{
	int rc = SQLITE_OK;

	for (unsigned i = 0; rc == SQLITE_OK && i < q->n; i++)
		rc = q->v[i].text ? sqlite3_bind_text64(st, (int)i + 1, q->v[i].s.len ? q->v[i].s.ptr : "",
		                            q->v[i].s.len, SQLITE_STATIC, SQLITE_UTF8)
		                  : sqlite3_bind_int64(st, (int)i + 1, q->v[i].i);
	return rc;
}

static int run(struct wz_store *s, struct query *q, unsigned table, const struct call *c, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	union wz_row row;
	int rc, r = q->sql.status < 0
	                    ? wz_err_set(err, q->sql.status, "OutOfMemory", WZ_STR("no memory for a query"))
	                    : wz_sql_prepare(s->rd, wz_buf_z(&q->sql), &st, err);

	wz_buf_release(&q->sql);
	if (r < 0)
		return r;
	rc = bind_all(q, st);
	while (r == 0 && rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		read_row(st, table, &row);
		r = call_row(c, &row);
		rc = SQLITE_OK;
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = wz_sql_err(s->rd, rc, "read the store", err);
	(void)sqlite3_finalize(st);
	return r;
}

static void add_states(struct query *q, uint32_t states)
{
	bool first = true;

	if (!states)
		return;
	if ((states & ~((1u << WZ_ROW_ENDED) - 1)) == 0)
		add(q, " AND state < 5"); /* lets the index of open jobs be used */
	add(q, " AND state IN (");
	for (unsigned i = 0; i <= WZ_ROW_ENDED; i++)
		if (states >> i & 1) {
			add(q, first ? "" : ",");
			wz_buf_add_u64(&q->sql, i);
			first = false;
		}
	add(q, ")");
}

int wz_store_jobs(struct wz_store *s, const struct wz_job_query *j,
        int (*row)(void *ctx, const struct wz_job_row *r), void *ctx, struct wz_err *err)
{
	struct call c = {.jobs = row, .ctx = ctx};
	struct query q;

	select_some(&q, WZ_T_JOBS, j->brief);
	add(&q, " WHERE 1");
	if (j->job)
		add_int(&q, " AND job = ?", (int64_t)j->job);
	if (j->array)
		add_int(&q, " AND array = ? AND array > 0", (int64_t)j->array);
	if (j->by_index)
		add_int(&q, " AND array_index = ?", j->index);
	if (j->user.len)
		add_text(&q, " AND user = ?", j->user);
	if (j->queue.len)
		add_text(&q, " AND queue = ?", j->queue);
	add_states(&q, j->states);
	if (j->since_us) {
		add_int(&q, " AND (submitted_us >= ?", (int64_t)j->since_us);
		add_int(&q, " OR ended_us >= ?)", (int64_t)j->since_us);
	}
	if (j->after)
		add_int(&q, j->newest_first ? " AND job < ?" : " AND job > ?", (int64_t)j->after);
	add_int(&q, j->newest_first ? " ORDER BY job DESC LIMIT ?" : " ORDER BY job LIMIT ?",
	        j->limit ? j->limit : LIMIT);
	return run(s, &q, WZ_T_JOBS, &c, err);
}

int wz_store_attempts(struct wz_store *s, uint64_t job, int (*row)(void *ctx, const struct wz_attempt_row *r),
        void *ctx, struct wz_err *err)
{
	struct call c = {.attempts = row, .ctx = ctx};
	struct query q;

	select_columns(&q, WZ_T_ATTEMPTS);
	add_int(&q, " WHERE job = ? ORDER BY attempt, task", (int64_t)job);
	return run(s, &q, WZ_T_ATTEMPTS, &c, err);
}

int wz_store_attempts_since(struct wz_store *s, uint64_t since_us, uint32_t limit,
        int (*row)(void *ctx, const struct wz_attempt_row *r), void *ctx, struct wz_err *err)
{
	struct call c = {.attempts = row, .ctx = ctx};
	struct query q;

	select_columns(&q, WZ_T_ATTEMPTS);
	add_int(&q, " WHERE started_us IS NOT NULL AND (ended_us IS NULL OR ended_us >= ?)", (int64_t)since_us);
	add_int(&q, " ORDER BY job DESC, attempt DESC, task LIMIT ?", limit ? limit : LIMIT);
	return run(s, &q, WZ_T_ATTEMPTS, &c, err);
}

int wz_store_audit(struct wz_store *s, uint64_t since_us, uint32_t limit,
        int (*row)(void *ctx, const struct wz_audit_row *r), void *ctx, struct wz_err *err)
{
	struct call c = {.audit = row, .ctx = ctx};
	struct query q;

	select_columns(&q, WZ_T_AUDIT);
	add_int(&q, " WHERE time_us >= ?", (int64_t)since_us);
	add_int(&q, " ORDER BY seq LIMIT ?", limit ? limit : LIMIT);
	return run(s, &q, WZ_T_AUDIT, &c, err);
}

int wz_store_kv_all(struct wz_store *s, struct wz_str prefix, int (*row)(void *ctx, const struct wz_kv_row *r),
        void *ctx, struct wz_err *err)
{
	struct call c = {.kv = row, .ctx = ctx};
	struct query q;

	select_columns(&q, WZ_T_KV);
	add_text(&q, " WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 ORDER BY key", prefix);
	return run(s, &q, WZ_T_KV, &c, err);
}

/* One value of one row, appended to `ret`. */
static int one_value(struct wz_store *s, const char *sql, struct wz_str key, struct wz_buf *ret, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = wz_sql_prepare(s->rd, sql, &st, err), rc;

	if (r < 0)
		return r;
	(void)sqlite3_bind_text64(st, 1, key.len ? key.ptr : "", key.len, SQLITE_STATIC, SQLITE_UTF8);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const void *p = sqlite3_column_blob(st, 0);
		wz_buf_add(ret, (struct wz_str){p, (size_t)sqlite3_column_bytes(st, 0)});
		r = ret->status < 0
		            ? wz_err_set(err, ret->status, "OutOfMemory", WZ_STR("no room for what was asked"))
		            : 0;
	} else {
		r = rc == SQLITE_DONE
		            ? wz_err_set(err, -ENOENT, "NotFound", WZ_STR("there is nothing of that name"))
		            : wz_sql_err(s->rd, rc, "read the store", err);
	}
	(void)sqlite3_finalize(st);
	return r;
}

int wz_store_kv(struct wz_store *s, struct wz_str key, struct wz_buf *ret, struct wz_err *err)
{
	return one_value(s, "SELECT value FROM kv WHERE key = ?1", key, ret, err);
}

int wz_store_blob(struct wz_store *s, struct wz_str id, struct wz_buf *ret, struct wz_err *err)
{
	return one_value(s, "SELECT bytes FROM blobs WHERE id = ?1", id, ret, err);
}

/* What is queued first, since a batch leaves the queue only after it can be read. */
int wz_store_find_key(struct wz_store *s, int64_t uid, struct wz_str key, uint64_t *ret_job, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	int r, rc;

	for (const struct wz_node_ *n = s->all; n; n = n->later)
		for (uint32_t i = 0; i < n->batch.n_keys; i++)
			if (n->batch.key[i].uid == uid && wz_str_eq(n->batch.key[i].key, key)) {
				*ret_job = (uint64_t)n->batch.key[i].job;
				return 0;
			}
	r = wz_sql_prepare(s->rd, "SELECT job FROM keys WHERE uid = ?1 AND idem = ?2", &st, err);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(st, 1, uid);
	(void)sqlite3_bind_text64(st, 2, key.len ? key.ptr : "", key.len, SQLITE_STATIC, SQLITE_UTF8);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret_job = (uint64_t)sqlite3_column_int64(st, 0);
	else
		r = rc == SQLITE_DONE ? -ENOENT : wz_sql_err(s->rd, rc, "read the store", err);
	(void)sqlite3_finalize(st);
	return r == -ENOENT ? wz_err_set(err, -ENOENT, "NotFound", WZ_STR("no job has that key")) : r;
}

int wz_store_journal(struct wz_store *s, uint64_t from, uint32_t limit,
        int (*row)(void *ctx, const struct wz_journal_record *r), void *ctx, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	uint64_t next = from ? from : 1;
	int r = wz_sql_prepare(s->rd,
	            "SELECT seq, time_us, kind, body, digest FROM journal WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
	            &st, err),
	    rc;

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(st, 1, (int64_t)next);
	(void)sqlite3_bind_int64(st, 2, limit ? limit : LIMIT);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && r == 0) {
		struct wz_journal_record x = {.seq = (uint64_t)sqlite3_column_int64(st, 0),
		        .time_us = (uint64_t)sqlite3_column_int64(st, 1),
		        .kind = (enum wz_record_kind)sqlite3_column_int(st, 2),
		        .line = {(const char *)sqlite3_column_text(st, 3), (size_t)sqlite3_column_bytes(st, 3)},
		        .digested = sqlite3_column_type(st, 4) != SQLITE_NULL,
		        .digest = (uint64_t)sqlite3_column_int64(st, 4)};
		if (x.seq != next) {
			r = wz_err_set(err, -ESTALE, "Compacted", WZ_STR("records that old are gone"));
			break;
		}
		next++;
		r = row(ctx, &x);
	}
	if (r == 0 && rc != SQLITE_DONE && rc != SQLITE_ROW)
		r = wz_sql_err(s->rd, rc, "read the journal", err);
	(void)sqlite3_finalize(st);
	return r;
}
