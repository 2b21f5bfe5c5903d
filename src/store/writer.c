/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: takes all that is queued, writes it as one transaction, tells the loop, again. So the slower the disk, the
 * larger the groups: one sync for all that came during the last one.
 *
 * When a transaction fails it is rolled back and the same batches are tried again after a pause, for ever, with the same
 * numbers: nothing is reported meanwhile. A full disk first gives back the reserve. Checkpoints and the dropping of old
 * records come after the loop was told, never before. */
#include "store/store_int.h"

#include "base/check.h"
#include "os/clock.h"

#include <unistd.h>

#define GROUP_BYTES (8u << 20)
#define GROUP_BATCHES 4096u
#define RESTART_PAGES 40000 /* readers kept the log from being reused */
#define TRIM_ROWS 5000u

int wz_writer_prepare(struct wz_store *s, struct wz_err *err)
{
	int r = wz_project_init(&s->project, s->wr, "main", err);

	if (r == 0)
		r = wz_sql_prepare(s->wr, "INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6)", &s->insert, err);
	if (r == 0)
		r = wz_sql_prepare(s->wr, "INSERT OR IGNORE INTO blobs VALUES (?1, ?2)", &s->insert_blob, err);
	if (r == 0) /* what a crash left to be dropped */
		r = wz_sql_u64(s->wr, "SELECT CASE WHEN count(*) > 1 THEN min(seq) ELSE 0 END FROM snapshots",
		        &s->trim_to, err);
	return r;
}

void wz_writer_release(struct wz_store *s)
{
	wz_project_release(&s->project);
	(void)sqlite3_finalize(s->insert);
	(void)sqlite3_finalize(s->insert_blob);
	s->insert = s->insert_blob = NULL;
}

static int run(sqlite3 *db, sqlite3_stmt *st, struct wz_err *err)
{
	int rc = sqlite3_step(st), r = rc == SQLITE_DONE ? 0 : wz_sql_err(db, rc, "write the store", err);

	(void)sqlite3_reset(st);
	return r;
}

static int write_record(struct wz_store *s, const struct wz_node_ *n, uint32_t i, struct wz_err *err)
{
	const struct wz_batch_record *b = &n->batch.record[i];
	struct wz_journal_record r = {.seq = n->first_seq + i,
	        .time_us = b->time_us,
	        .digest = b->digest,
	        .digested = b->digested,
	        .kind = (enum wz_record_kind)b->kind,
	        .line = {n->batch.text.data + b->off, b->len}};
	int rc;

	(void)sqlite3_bind_int64(s->insert, 1, (int64_t)r.seq);
	(void)sqlite3_bind_int64(s->insert, 2, (int64_t)r.time_us);
	(void)sqlite3_bind_int(s->insert, 3, (int)r.kind);
	(void)sqlite3_bind_text(s->insert, 4, r.line.ptr, (int)r.line.len, SQLITE_STATIC);
	if (r.digested)
		(void)sqlite3_bind_int64(s->insert, 5, (int64_t)r.digest);
	else
		(void)sqlite3_bind_null(s->insert, 5);
	(void)sqlite3_bind_int64(s->insert, 6, (int64_t)wz_record_sum(r.seq, &r));
	rc = run(s->wr, s->insert, err);
	if (rc == 0 && r.kind == WZ_RECORD_NOTE)
		rc = wz_project_note(&s->project, r.seq, r.line, err);
	return rc;
}

static int write_batch(struct wz_store *s, const struct wz_node_ *n, struct wz_err *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < n->batch.n_blobs; i++) {
		const struct wz_batch_blob *b = &n->batch.blob[i];
		(void)sqlite3_bind_text(s->insert_blob, 1, b->id, -1, SQLITE_STATIC);
		(void)sqlite3_bind_blob64(
		        s->insert_blob, 2, b->len ? n->batch.text.data + b->off : "", b->len, SQLITE_STATIC);
		r = run(s->wr, s->insert_blob, err);
	}
	for (uint32_t i = 0; r == 0 && i < n->batch.n; i++)
		r = write_record(s, n, i, err);
	return r;
}

/* The bytes, the rows of what is open, and all settings: what a rebuild begins with. */
static int write_snapshot(struct wz_store *s, const struct wz_node_ *n, struct wz_err *err)
{
	char sql[1024];
	sqlite3_stmt *st = NULL;
	unsigned long long seq = n->last_seq;
	int r;

	(void)snprintf(sql, sizeof(sql),
	        "DELETE FROM snap_jobs WHERE snap=%llu; DELETE FROM snap_attempts WHERE snap=%llu; DELETE FROM "
	        "snap_kv WHERE snap=%llu;"
	        "INSERT INTO snap_jobs SELECT %llu, * FROM jobs WHERE state < 5;"
	        "INSERT INTO snap_attempts SELECT %llu, * FROM attempts WHERE job IN (SELECT job FROM jobs WHERE "
	        "state < 5);"
	        "INSERT INTO snap_kv SELECT %llu, * FROM kv;",
	        seq, seq, seq, seq, seq, seq);
	r = wz_sql_exec(s->wr, sql, err);
	if (r == 0)
		r = wz_sql_prepare(s->wr, "INSERT OR REPLACE INTO snapshots VALUES (?1, ?2, ?3, ?4, ?5)", &st, err);
	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(st, 1, (int64_t)n->last_seq);
	(void)sqlite3_bind_int64(st, 2, (int64_t)n->batch.time_us);
	(void)sqlite3_bind_int64(st, 3, (int64_t)n->digest);
	(void)sqlite3_bind_text(st, 4, s->version, -1, SQLITE_STATIC);
	(void)sqlite3_bind_blob64(st, 5, n->batch.text.data, n->batch.text.len, SQLITE_STATIC);
	r = run(s->wr, st, err);
	(void)sqlite3_finalize(st);
	if (r ==
	        0) /* the newest two stay: the older one for a program of the version before, or if the newest is damaged */
		r = wz_sql_exec(s->wr,
		        "DELETE FROM snapshots WHERE seq < (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 1 "
		        "OFFSET 1);"
		        "DELETE FROM snap_jobs WHERE snap NOT IN (SELECT seq FROM snapshots);"
		        "DELETE FROM snap_attempts WHERE snap NOT IN (SELECT seq FROM snapshots);"
		        "DELETE FROM snap_kv WHERE snap NOT IN (SELECT seq FROM snapshots);",
		        err);
	return r;
}

/* Only what no rebuild needs: closed before the oldest snapshot and not touched since. The newest job stays: its number
 * tells which come next. */
static int write_retain(struct wz_store *s, const struct wz_node_ *n, struct wz_err *err)
{
	char sql[2048];

	(void)snprintf(sql, sizeof(sql),
	        "CREATE TEMP TABLE IF NOT EXISTS gone (job INTEGER PRIMARY KEY); DELETE FROM gone;"
	        "INSERT INTO gone SELECT job FROM main.jobs WHERE state = 5 AND ended_us < %llu"
	        " AND seq <= (SELECT min(seq) FROM snapshots) AND job < (SELECT max(job) FROM main.jobs)"
	        " AND job NOT IN (SELECT job FROM attempts WHERE seq > (SELECT min(seq) FROM snapshots));"
	        "DELETE FROM keys WHERE job IN (SELECT job FROM gone);"
	        "DELETE FROM attempts WHERE job IN (SELECT job FROM gone);"
	        "DELETE FROM jobs WHERE job IN (SELECT job FROM gone);"
	        "DELETE FROM audit WHERE time_us < %llu AND seq <= (SELECT min(seq) FROM snapshots);"
	        "DELETE FROM blobs WHERE id NOT IN (SELECT env FROM jobs WHERE env IS NOT NULL)"
	        " AND id NOT IN (SELECT script FROM jobs WHERE script IS NOT NULL)"
	        " AND id NOT IN (SELECT template FROM jobs WHERE template IS NOT NULL)"
	        " AND id NOT IN (SELECT template FROM snap_jobs WHERE template IS NOT NULL)"
	        " AND NOT EXISTS (SELECT 1 FROM kv WHERE value = id) AND id NOT IN (SELECT env FROM snap_jobs "
	        "WHERE env IS NOT NULL)"
	        " AND id NOT IN (SELECT script FROM snap_jobs WHERE script IS NOT NULL);"
	        "DELETE FROM gone;",
	        (unsigned long long)n->before_us, (unsigned long long)n->audit_before_us);
	return wz_sql_exec(s->wr, sql, err);
}

static int write_group(struct wz_store *s, const struct wz_node_ *n, struct wz_err *err)
{
	int r = wz_sql_exec(s->wr, "BEGIN IMMEDIATE", err);

	for (; r == 0 && n; n = n->next)
		r = n->kind == WZ_NODE_BATCH      ? write_batch(s, n, err)
		    : n->kind == WZ_NODE_SNAPSHOT ? write_snapshot(s, n, err)
		                                  : write_retain(s, n, err);
	if (r == 0)
		r = wz_sql_exec(s->wr, "COMMIT", err);
	if (r < 0 && !sqlite3_get_autocommit(s->wr))
		(void)sqlite3_exec(s->wr, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/* ---- the thread ---- */

static void tell_loop(struct wz_store *s)
{
	uint64_t one = 1;

	while (write(s->event_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static struct wz_node_ *take_group(struct wz_store *s)
{
	struct wz_node_ *first = s->queue, **end = &s->queue;
	size_t bytes = 0;

	for (unsigned i = 0; *end && i < GROUP_BATCHES && bytes < GROUP_BYTES; i++) {
		bytes += (*end)->bytes;
		end = &(*end)->next;
	}
	s->queue = *end;
	if (!s->queue)
		s->queue_end = &s->queue;
	*end = NULL;
	return first;
}

static void finished(struct wz_store *s, struct wz_node_ *group, int r, uint64_t took_us)
{
	(void)pthread_mutex_lock(&s->lock);
	while (group) {
		struct wz_node_ *n = group;
		group = n->next;
		n->next = NULL;
		n->r = r;
		s->queued_bytes -= n->bytes;
		s->status.records += n->batch.n;
		if (r == 0 && n->kind == WZ_NODE_SNAPSHOT)
			s->status.snapshot_seq = n->last_seq;
		if (r == 0)
			atomic_store(&s->durable, n->last_seq);
		*s->finished_end = n;
		s->finished_end = &n->next;
	}
	if (r == 0) {
		s->took_us[s->status.commits++ % WZ_COMMIT_TIMES] = took_us;
		s->status.failing = false;
	}
	(void)pthread_mutex_unlock(&s->lock);
	tell_loop(s);
}

/* The reserve is given back at once; the pause before the next try is the caller's. */
static void failed(struct wz_store *s, const struct wz_err *err)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/reserve", s->dir);
	bool freed = err->code == -ENOSPC && n > 0 && (size_t)n < sizeof(path) && unlink(path) == 0;

	(void)pthread_mutex_lock(&s->lock);
	s->status.failing = true;
	s->status.error = *err;
	s->status.reserve_used = s->status.reserve_used || freed;
	(void)pthread_mutex_unlock(&s->lock);
	tell_loop(s);
}

/* Old records go a few at a time. A failure here is nobody's: the next group will meet it. */
static bool trim(struct wz_store *s)
{
	char sql[256];

	if (!s->trim_to)
		return false;
	(void)snprintf(sql, sizeof(sql),
	        "DELETE FROM journal WHERE seq IN (SELECT seq FROM journal WHERE seq <= %llu ORDER BY seq LIMIT "
	        "%u)",
	        (unsigned long long)s->trim_to, TRIM_ROWS);
	if (sqlite3_exec(s->wr, sql, NULL, NULL, NULL) != SQLITE_OK || sqlite3_changes(s->wr) < (int)TRIM_ROWS)
		s->trim_to = 0;
	return s->trim_to != 0;
}

static void checkpoint(struct wz_store *s, bool last)
{
	int log = 0, done = 0;

	(void)sqlite3_wal_checkpoint_v2(
	        s->wr, "main", last ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, &log, &done);
	if (!last && log > RESTART_PAGES)
		(void)sqlite3_wal_checkpoint_v2(s->wr, "main", SQLITE_CHECKPOINT_RESTART, NULL, NULL);
}

static int pages_of_log(void *ctx, sqlite3 *db, const char *name, int pages)
{
	(void)db, (void)name;
	*(int *)ctx = pages;
	return SQLITE_OK;
}

static void pause_ms(struct wz_store *s, uint32_t ms)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&s->lock);
	while (!s->closing && pthread_cond_timedwait(&s->work, &s->lock, &t) == 0)
		;
	(void)pthread_mutex_unlock(&s->lock);
}

static bool snapshot_in(const struct wz_node_ *n)
{
	for (; n; n = n->next)
		if (n->kind == WZ_NODE_SNAPSHOT)
			return true;
	return false;
}

static bool reserve_is_due(struct wz_store *s)
{
	(void)pthread_mutex_lock(&s->lock);
	bool due = s->status.reserve_used && !s->status.failing;
	(void)pthread_mutex_unlock(&s->lock);
	return due;
}

/* The reserve comes back as soon as there is room, and new work with it. */
static void reserve_again(struct wz_store *s)
{
	if (!reserve_is_due(s) || !wz_reserve_make(s))
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->status.reserve_used = false;
	(void)pthread_mutex_unlock(&s->lock);
}

static void care(struct wz_store *s, int *pages, bool snapshot)
{
	if (snapshot && wz_sql_u64(s->wr, "SELECT CASE WHEN count(*) > 1 THEN min(seq) ELSE 0 END FROM snapshots",
	                        &s->trim_to, NULL) < 0)
		s->trim_to = 0;
	if (*pages > WZ_CHECKPOINT_PAGES) {
		checkpoint(s, false);
		*pages = 0;
	}
	reserve_again(s);
}

/* With the lock held: until there is something to do; while the reserve is away, a second at most. */
static void wait_for_work(struct wz_store *s)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec++;
	while (!s->queue && !s->closing && !s->trim_to)
		if (!s->status.reserve_used)
			(void)pthread_cond_wait(&s->work, &s->lock);
		else if (pthread_cond_timedwait(&s->work, &s->lock, &t) == ETIMEDOUT)
			break;
}

void *wz_writer_main(void *store)
{
	struct wz_store *s = store;
	struct wz_node_ *group;
	struct wz_err err = {0};
	int pages = 0, tries = 0, given_up = 0;

	(void)sqlite3_wal_hook(s->wr, pages_of_log, &pages);
	for (;;) {
		uint64_t began = wz_clock_monotonic_ns();
		bool closing, snapshot;
		int r = given_up;
		(void)pthread_mutex_lock(&s->lock);
		wait_for_work(s);
		group = take_group(s);
		closing = s->closing;
		(void)pthread_mutex_unlock(&s->lock);
		if (!group && closing)
			break;
		if (!group) {
			(void)trim(s);
			reserve_again(s);
			continue;
		}
		snapshot = snapshot_in(group);
		for (tries = 0; !given_up; tries++) {
			began = wz_clock_monotonic_ns();
			r = write_group(s, group, &err);
			if (r == 0 || (closing && tries))
				break;
			failed(s, &err);
			pause_ms(s, s->o.retry_ms);
			(void)pthread_mutex_lock(&s->lock);
			closing = s->closing;
			(void)pthread_mutex_unlock(&s->lock);
		}
		given_up = r; /* then all that follows is: a history has no holes */
		finished(s, group, r, (wz_clock_monotonic_ns() - began) / 1000);
		if (r == 0)
			care(s, &pages, snapshot);
	}
	checkpoint(s, true);
	(void)sqlite3_wal_hook(s->wr, NULL, NULL); /* its context ends with this thread */
	return NULL;
}
