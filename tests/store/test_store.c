/* SPDX-License-Identifier: Apache-2.0 */
/* The store on the real SQLite and the real disk: lives go on over restarts with the same digests, tables can be made anew,
 * snapshots and retention drop what may go, keys, blobs, backup, the lock, older and newer files, doctor. */
#include "tap.h"

#include "body.h"

#include <sys/wait.h>

static char dir[256];
static struct wz_err err;

static struct wz_store *open_store(const char *d)
{
	struct wz_store_options o = {.dir = d, .version = "test", .reserve_mib = 1};
	struct wz_store *s = NULL;
	int r = wz_store_open(&o, &s, &err);
	tap_ok(r == 0, "open: %s", err.text);
	return s;
}

static int restore(struct wz_store *s, uint64_t seed, struct wz_restored *got)
{
	struct wz_core_options o = {.seed = seed};
	return wz_store_restore(s, wz_os_mem(), &o, got, &err);
}

static void fresh(const char *name)
{
	scratch_dir(dir, sizeof dir, name);
}

static bool fine(struct wz_store *s)
{
	struct wz_buf report;
	wz_buf_init(&report, wz_os_mem(), 1 << 20);
	int bad = wz_store_check(s, wz_os_mem(), &report, &err);
	if (bad)
		printf("# %d %s\n# %s\n", bad, bad < 0 ? err.text : "", wz_buf_z(&report));
	wz_buf_release(&report);
	return bad == 0;
}

/* ---- restarts ---- */

static void lives(uint64_t seed, bool snapshots)
{
	uint64_t digest = 0, seq = 0, next_job = 1;
	struct body x;
	fresh("lives");
	for (int run = 0; run < 6; run++) {
		struct wz_store *s = open_store(dir);
		struct wz_restored got;
		tap_require(s, "store");
		int r = restore(s, seed, &got);
		tap_ok(r == 0, "seed %" PRIu64 " run %d: %s", seed, run, err.text);
		if (r < 0) {
			wz_store_close(s);
			break;
		}
		tap_ok(got.fresh == (run == 0), "fresh");
		tap_ok(run == 0 || wz_core_digest(got.core) == digest,
		        "seed %" PRIu64 " run %d: the digest of before", seed, run);
		tap_ok(run == 0 || got.seq == seq, "all records");
		tap_ok(run == 0 || got.last_job < next_job, "job numbers");
		body_init(&x, s, got.core, seed * 100 + (uint64_t)run, next_job);
		for (int i = 0; i < 25; i++) {
			seq = body_step(&x, (struct wz_store_done){0});
			if (snapshots && i == 12)
				tap_ok(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, &err) == 0,
				        "snapshot: %s", err.text);
		}
		next_job = x.h.next_job;
		digest = wz_core_digest(got.core);
		tap_ok(wz_store_flush(s, &err) == 0 && wz_store_durable(s) == seq, "durable");
		tap_ok(fine(s), "seed %" PRIu64 " run %d: check", seed, run);
		body_release(&x);
		wz_store_close(s);
		wz_core_free(got.core);
	}
	remove_dir(dir);
}

static void test_restarts(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		lives(seed, false);
}

static void test_restarts_with_snapshots(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		lives(seed, true);
}

/* ---- compaction and retention ---- */

static uint64_t count(struct wz_store *s, const char *sql)
{
	uint64_t n = 0;
	wz_check(wz_sql_u64(s->rd, sql, &n, NULL) == 0);
	return n;
}

static void test_compaction(void)
{
	struct wz_restored got;
	struct body x;
	fresh("compact");
	struct wz_store *s = open_store(dir);
	tap_require(restore(s, 9, &got) == 0, "%s", err.text);
	body_init(&x, s, got.core, 9, 1);
	for (int i = 0; i < 200; i++) {
		(void)body_step(&x, (struct wz_store_done){0});
		if (i % 40 == 39)
			tap_ok(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, &err) == 0, "snapshot");
	}
	tap_ok(wz_store_flush(s, &err) == 0, "flush");
	uint64_t ended = count(s, "SELECT count(*) FROM jobs WHERE state = 5");
	tap_ok(ended > 8, "%" PRIu64 " ended jobs", ended);
	tap_ok(wz_store_retain(s, INT64_MAX, INT64_MAX, &err) == 0 && wz_store_flush(s, &err) == 0, "retain");
	for (int i = 0;
	        i < 1000 && count(s, "SELECT count(*) FROM journal WHERE seq <= (SELECT min(seq) FROM snapshots)");
	        i++)
		wz_check(usleep(1000) == 0); /* trimming has no end to wait for; bounded */
	tap_eq_i64((int64_t)count(s, "SELECT count(*) FROM snapshots"), 2, "two snapshots stay");
	tap_eq_i64((int64_t)count(s, "SELECT count(*) FROM journal WHERE seq <= (SELECT min(seq) FROM snapshots)"),
	        0, "old records went");
	tap_ok(count(s, "SELECT count(*) FROM jobs WHERE state = 5") < ended, "old jobs went");
	tap_ok(fine(s), "check");
	uint64_t digest = wz_core_digest(got.core);
	body_release(&x);
	wz_store_close(s);
	wz_core_free(got.core);
	/* the newest snapshot damaged: the older one is used, and the records after it */
	s = open_store(dir);
	wz_check(sqlite3_exec(s->wr,
	                 "UPDATE snapshots SET core = x'00' WHERE seq = (SELECT max(seq) FROM snapshots)", NULL,
	                 NULL, NULL) == SQLITE_OK);
	tap_ok(restore(s, 9, &got) == 0, "from the older one: %s", err.text);
	tap_ok(wz_core_digest(got.core) == digest, "the same state");
	wz_core_free(got.core);
	wz_store_close(s);
	remove_dir(dir);
}

/* ---- what doctor finds, and mends ---- */

static void test_doctor(void)
{
	static const struct {
		const char *sql;
		bool mended;
	} harm[] = {
	        {"UPDATE jobs SET user = 'eve' WHERE job = 3", true},
	        {"DELETE FROM attempts WHERE job % 2", true},
	        {"INSERT INTO kv VALUES ('x', 'y', 1, 1)", true},
	        {"DELETE FROM keys WHERE job = 2", true},
	        {"UPDATE jobs SET state = 5 WHERE job = (SELECT max(job) FROM jobs WHERE state < 5)", true},
	        {"UPDATE journal SET body = replace(body, 'ann', 'eve') WHERE seq = (SELECT max(seq) FROM journal "
	         "WHERE body LIKE '%ann%')",
	                false},
	        {"DELETE FROM journal WHERE seq = 7", false},
	        {"UPDATE blobs SET bytes = x'00'", false},
	};
	for (size_t i = 0; i < WZ_ARRAY_LEN(harm); i++) {
		struct wz_restored got;
		struct wz_buf report;
		struct body x;
		fresh("doctor");
		struct wz_store *s = open_store(dir);
		tap_require(restore(s, 5, &got) == 0, "%s", err.text);
		body_init(&x, s, got.core, 5, 1);
		for (int k = 0; k < 40; k++)
			(void)body_step(&x, (struct wz_store_done){0});
		tap_ok(wz_store_flush(s, &err) == 0 && fine(s), "whole before");
		body_release(&x);
		wz_store_close(s);
		wz_core_free(got.core);
		s = open_store(dir);
		wz_check(sqlite3_exec(s->wr, harm[i].sql, NULL, NULL, NULL) == SQLITE_OK &&
		         sqlite3_changes(s->wr) > 0);
		wz_buf_init(&report, wz_os_mem(), 1 << 20);
		int bad = wz_store_check(s, wz_os_mem(), &report, &err);
		tap_ok(bad > 0, "%s is found (%d)", harm[i].sql, bad);
		wz_buf_clear(&report);
		bad = wz_store_fix(s, wz_os_mem(), &report, &err);
		tap_ok(harm[i].mended ? bad == 0 : bad != 0, "%s: after --fix %d: %s", harm[i].sql, bad,
		        wz_buf_z(&report));
		wz_buf_release(&report);
		wz_store_close(s);
		remove_dir(dir);
	}
}

/* ---- rows, keys, blobs ---- */

static int take_job(void *ctx, const struct wz_job_row *r)
{
	struct wz_buf *b = ctx;
	wz_buf_add_i64(b, r->job);
	wz_buf_addc(b, ' ');
	wz_buf_add(b, r->user);
	wz_buf_addc(b, WZ_GIVEN(JOB, r, exit_code) ? '+' : '-');
	return 0;
}

static void test_rows(void)
{
	struct wz_restored got;
	struct wz_batch b;
	struct wz_buf text;
	uint64_t job = 0;
	char id[WZ_BLOB_ID], id2[WZ_BLOB_ID];
	static char big[200000];
	fresh("rows");
	struct wz_store *s = open_store(dir);
	tap_require(restore(s, 1, &got) == 0, "%s", err.text);
	wz_batch_init(&b, wz_os_mem());
	wz_buf_init(&text, wz_os_mem(), 1 << 20);
	memset(big, 'e', sizeof big);
	for (int64_t i = 1; i <= 300; i++) {
		struct wz_job_row r = {0};
		char key[16];
		(void)snprintf(key, sizeof key, "k%d", (int)i);
		WZ_SET(JOB, &r, job, i);
		WZ_SET(JOB, &r, user, i % 2 ? WZ_STR("ann") : WZ_STR("bob"));
		WZ_SET(JOB, &r, uid, i % 2);
		WZ_SET(JOB, &r, array, 1);
		WZ_SET(JOB, &r, state, i % 3 ? WZ_ROW_WAITING : WZ_ROW_ENDED);
		WZ_SET(JOB, &r, submitted_us, i);
		WZ_SET(JOB, &r, idem, wz_str(key));
		tap_ok(wz_batch_blob(&b, (struct wz_str){big, sizeof big}, id, &err) == 0, "blob");
		WZ_SET(JOB, &r, env, wz_str(id));
		tap_ok(wz_batch_job(&b, &r, &err) == 0, "job: %s", err.text);
		if (i == 150) {
			tap_ok(wz_store_append(s, &b, (struct wz_store_done){0}, NULL, &err) == 0, "append");
			tap_ok(wz_store_find_key(s, 0, WZ_STR("k150"), &job, &err) == 0 && job == 150,
			        "a key that is queued or written");
			tap_eq_i64(wz_store_find_key(s, 1, WZ_STR("k150"), &job, &err), -ENOENT, "of another user");
		}
	}
	tap_ok(wz_store_append(s, &b, (struct wz_store_done){0}, NULL, &err) == 0 && wz_store_flush(s, &err) == 0,
	        "append");
	tap_eq_i64((int64_t)count(s, "SELECT count(*) FROM blobs"), 1, "one copy of 300");
	tap_ok(wz_store_find_key(s, 1, WZ_STR("k299"), &job, &err) == 0 && job == 299, "a key that is written");
	tap_ok(wz_store_blob(s, wz_str(id), &text, &err) == 0 && text.len == sizeof big, "the blob");
	wz_buf_clear(&text);
	struct wz_job_query q = {.user = WZ_STR("ann"), .states = 1u << WZ_ROW_ENDED, .after = 280};
	tap_ok(wz_store_jobs(s, &q, take_job, &text, &err) == 0, "query: %s", err.text);
	tap_eq_str(wz_buf_str(&text), WZ_STR("285 ann-291 ann-297 ann-"), "ended ones of ann");
	wz_buf_clear(&text);
	q = (struct wz_job_query){.states = 1u << WZ_ROW_WAITING, .newest_first = true, .limit = 2, .array = 1};
	tap_ok(wz_store_jobs(s, &q, take_job, &text, &err) == 0, "query: %s", err.text);
	tap_eq_str(wz_buf_str(&text), WZ_STR("299 ann-298 bob-"), "newest first");
	/* a patch sets what it gives and leaves the rest */
	struct wz_job_row p = {0};
	WZ_SET(JOB, &p, job, 299);
	WZ_SET(JOB, &p, exit_code, 3);
	tap_ok(wz_batch_job(&b, &p, &err) == 0 && wz_batch_kv(&b, WZ_STR("a/1"), WZ_STR("x"), &err) == 0 &&
	                wz_store_append(s, &b, (struct wz_store_done){0}, NULL, &err) == 0 &&
	                wz_store_flush(s, &err) == 0,
	        "patch");
	wz_buf_clear(&text);
	q = (struct wz_job_query){.job = 299};
	tap_ok(wz_store_jobs(s, &q, take_job, &text, &err) == 0, "query");
	tap_eq_str(wz_buf_str(&text), WZ_STR("299 ann+"), "patched");
	wz_buf_clear(&text);
	tap_ok(wz_store_kv(s, WZ_STR("a/1"), &text, &err) == 0, "setting");
	tap_eq_str(wz_buf_str(&text), WZ_STR("x"), "setting");
	tap_ok(wz_batch_kv(&b, WZ_STR("a/1"), WZ_STR(""), &err) == 0 &&
	                wz_store_append(s, &b, (struct wz_store_done){0}, NULL, &err) == 0 &&
	                wz_store_flush(s, &err) == 0,
	        "unset");
	tap_eq_i64(wz_store_kv(s, WZ_STR("a/1"), &text, &err), -ENOENT, "gone");
	/* refusals leave the batch as it was */
	p.given = 0;
	tap_eq_i64(wz_batch_job(&b, &p, &err), -EINVAL, "no number");
	WZ_SET(JOB, &p, job, 5);
	WZ_SET(JOB, &p, name, WZ_STR("\xff"));
	tap_eq_i64(wz_batch_job(&b, &p, &err), -EINVAL, "not UTF-8");
	tap_ok(b.n == 0 && b.text.len == 0, "nothing was added");
	tap_ok(wz_batch_blob(&b, WZ_STR(""), id2, &err) == 0, "the empty blob");
	tap_eq_str(
	        wz_str(id2), WZ_STR("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"), "SHA-256");
	wz_batch_release(&b);
	wz_buf_release(&text);
	wz_store_close(s);
	wz_core_free(got.core);
	remove_dir(dir);
}

/* ---- order of what is told ---- */

static uint64_t told, told_n;

static void tell(void *ctx, uint64_t seq, int r)
{
	struct wz_store *s = ctx;
	tap_ok(r == 0 && seq > told && wz_store_durable(s) >= seq, "told in order, and durable");
	told = seq;
	told_n++;
}

static void test_told(void)
{
	struct wz_restored got;
	struct body x;
	fresh("told");
	struct wz_store *s = open_store(dir);
	tap_require(restore(s, 3, &got) == 0, "%s", err.text);
	body_init(&x, s, got.core, 3, 1);
	for (int i = 0; i < 200; i++)
		(void)body_step(&x, (struct wz_store_done){tell, s});
	tap_ok(wz_store_flush(s, &err) == 0, "flush");
	tap_eq_i64((int64_t)told_n, 200, "each once");
	struct wz_store_status st;
	wz_store_status(s, &st);
	tap_ok(st.commits < 200 && st.commits > 0, "%" PRIu64 " commits for 200 batches", st.commits);
	tap_ok(!st.failing && st.queued_bytes == 0, "nothing is left");
	body_release(&x);
	wz_store_close(s);
	wz_core_free(got.core);
	remove_dir(dir);
}

/* ---- opening ---- */

static void test_lock(void)
{
	struct wz_store_options o;
	struct wz_store *s, *t = NULL;
	fresh("lock");
	s = open_store(dir);
	o = (struct wz_store_options){.dir = dir};
	tap_eq_i64(wz_store_open(&o, &t, &err), -EBUSY, "a second daemon");
	tap_ok(strstr(err.text, "another daemon") && strcmp(err.reason, "StoreInUse") == 0, "%s", err.text);
	o.read_only = true;
	tap_eq_i64(wz_store_open(&o, &t, &err), 0, "a doctor beside it: %s", err.text);
	struct wz_batch b;
	wz_batch_init(&b, wz_os_mem());
	tap_eq_i64(wz_store_append(t, &b, (struct wz_store_done){0}, NULL, &err), -EROFS, "who writes nothing");
	wz_batch_release(&b);
	wz_store_close(t);
	wz_store_close(s);
	remove_dir(dir);
}

static void test_versions(void)
{
	struct wz_store_options o;
	struct wz_store *s, *t = NULL;
	fresh("versions");
	s = open_store(dir);
	/* the version after ours, which says that ours may still open it */
	wz_check(sqlite3_exec(s->wr,
	                 "INSERT INTO migrations VALUES (3, 2, 0, 'next'); ALTER TABLE jobs ADD COLUMN mood TEXT; "
	                 "PRAGMA user_version=3",
	                 NULL, NULL, NULL) == SQLITE_OK);
	wz_store_close(s);
	o = (struct wz_store_options){.dir = dir};
	tap_eq_i64(wz_store_open(&o, &t, &err), 0, "rolled back by one version: %s", err.text);
	wz_check(sqlite3_exec(t->wr,
	                 "INSERT INTO migrations VALUES (4, 3, 0, 'the one after'); PRAGMA user_version=4", NULL,
	                 NULL, NULL) == SQLITE_OK);
	wz_store_close(t);
	tap_eq_i64(wz_store_open(&o, &t, &err), -EPROTO, "two versions on");
	tap_ok(strcmp(err.reason, "NewerStore") == 0 && strstr(err.text, "newer version"), "%s", err.text);
	remove_dir(dir);
	fresh("versions");
	char path[300];
	(void)snprintf(path, sizeof path, "%s/store.db", dir);
	FILE *f = fopen(path, "w");
	wz_check(f &&
	         fputs("this is not a database, and long enough to tell: "
	               "....................................................\n",
	                 f) >= 0 &&
	         fclose(f) == 0);
	o = (struct wz_store_options){.dir = dir};
	tap_eq_i64(wz_store_open(&o, &t, &err), -EUCLEAN, "not a database");
	tap_ok(strcmp(err.reason, "StoreDamaged") == 0 || strcmp(err.reason, "NotAStore") == 0, "%s: %s",
	        err.reason, err.text);
	remove_dir(dir);
}

static void test_file_systems(void)
{
	const char *name, *warn;
	tap_eq_i64(wz_store_judge_fs(0x6969, &name, &warn), -EREMOTEIO, "NFS");
	tap_eq_i64(wz_store_judge_fs(0xff534d42, &name, &warn), -EREMOTEIO, "CIFS");
	tap_eq_i64(wz_store_judge_fs((unsigned long)(long)(int)0xff534d42, &name, &warn), -EREMOTEIO,
	        "CIFS where f_type is an int");
	tap_eq_i64(wz_store_judge_fs(0xef53, &name, &warn), 0, "ext4");
	tap_ok(!warn, "no warning");
	tap_eq_i64(wz_store_judge_fs(0x01021994, &name, &warn), 0, "tmpfs");
	tap_ok(warn, "warns");
}

/* The columns of the newest schema are those of rows.h. */
static void test_columns(void)
{
	fresh("columns");
	struct wz_store *s = open_store(dir);
	for (unsigned i = 0; i < WZ_T_TABLES; i++) {
		for (unsigned k = 0; k < wz_tables[i].n; k++) {
			char sql[256];
			(void)snprintf(sql, sizeof sql,
			        "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s' AND type = '%s'",
			        wz_tables[i].name, wz_tables[i].column[k].name,
			        wz_tables[i].column[k].kind == 'I' ? "INTEGER" : "TEXT");
			tap_eq_i64(
			        (int64_t)count(s, sql), 1, "%s.%s", wz_tables[i].name, wz_tables[i].column[k].name);
		}
	}
	tap_eq_i64((int64_t)count(s, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = "
	                             "'table' AND name NOT LIKE 'sqlite_%' AND NOT strict"),
	        0, "all tables are STRICT");
	wz_store_close(s);
	remove_dir(dir);
}

static int name_row(void *ctx, const struct wz_job_row *r)
{
	tap_ok(!WZ_GIVEN(JOB, r, template) && !WZ_GIVEN(JOB, r, begin_us), "job %lld has none of the new columns",
	        (long long)r->job);
	return (*(int *)ctx += r->name.len > 0) < 0;
}

/* A file of the first schema, written by the program of that time (three jobs: one ended, one held, one that waits). */
static void test_schema_1(void)
{
	char *text = NULL;
	uint32_t len = 0, cap = 0;
	char path[600];
	struct wz_restored got;
	struct wz_job_query q = {.job = 0};
	sqlite3 *db;
	int n = 0, c;
	(void)snprintf(path, sizeof path, "%s/tests/store/v1.sql", getenv("WZ_SOURCE_ROOT"));
	FILE *f = fopen(path, "r");
	wz_check(f);
	while ((c = fgetc(f)) != EOF) {
		wz_check(wz_grow(wz_os_mem(), &text, &cap, len + 2, 1) == 0);
		text[len++] = (char)c;
	}
	text[len] = 0;
	wz_check(fclose(f) == 0);
	fresh("schema1");
	wz_check(mkdir(dir, 0700) == 0 || errno == EEXIST);
	(void)snprintf(path, sizeof path, "%s/store.db", dir);
	wz_check(
	        sqlite3_open(path, &db) == SQLITE_OK && sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK &&
	        sqlite3_exec(db, "PRAGMA application_id=1465536083; PRAGMA user_version=1; PRAGMA journal_mode=WAL",
	                NULL, NULL, NULL) == SQLITE_OK &&
	        sqlite3_close(db) == SQLITE_OK);
	struct wz_store *s = open_store(dir);
	tap_require(s && restore(s, 1, &got) == 0, "%s", err.text);
	tap_eq_i64((int64_t)got.last_job, 3, "its jobs are there");
	tap_eq_i64(wz_store_jobs(s, &q, name_row, &n, &err), 0, "and can be asked for");
	tap_eq_i64(n, 3, "all three");
	tap_eq_i64((int64_t)count(s, "SELECT max(version) FROM migrations"), WZ_STORE_SCHEMA, "it is of today now");
	tap_eq_i64((int64_t)count(s, "SELECT max(compat) FROM migrations"), WZ_STORE_SCHEMA - 1,
	        "and the version before may take over again");
	tap_ok(fine(s), "doctor has no complaint");
	wz_core_free(got.core);
	wz_store_close(s);
	wz_mem_free(wz_os_mem(), text, cap);
	remove_dir(dir);
}

/* ---- backup ---- */

static void test_backup(void)
{
	struct wz_restored got;
	struct body x;
	char path[300], other[256], file[300];
	struct wz_store_options o;
	fresh("backup");
	struct wz_store *s = open_store(dir);
	tap_require(restore(s, 3, &got) == 0, "%s", err.text);
	body_init(&x, s, got.core, 3, 1);
	for (int i = 0; i < 50; i++)
		(void)body_step(&x, (struct wz_store_done){0});
	tap_ok(wz_store_flush(s, &err) == 0, "flush");
	uint64_t digest = wz_core_digest(got.core);
	(void)snprintf(path, sizeof path, "%s/copy.db", dir);
	tap_eq_i64(wz_store_backup(s, path, false, &err), 0, "backup: %s", err.text);
	tap_eq_i64(wz_store_backup(s, path, false, &err), -EEXIST, "not over another");
	tap_eq_i64(wz_store_backup(s, path, true, &err), 0, "but when asked: %s", err.text);
	for (int i = 0; i < 50; i++) /* what comes after is not in it */
		(void)body_step(&x, (struct wz_store_done){0});
	body_release(&x);
	wz_store_close(s);
	wz_core_free(got.core);
	scratch_dir(other, sizeof other, "restored");
	o = (struct wz_store_options){.dir = other};
	tap_eq_i64(wz_store_restore_backup(&o, path, false, &err), 0, "restore: %s", err.text);
	s = open_store(other);
	tap_require(s && restore(s, 3, &got) == 0, "%s", err.text);
	tap_ok(wz_core_digest(got.core) == digest, "the state of then");
	tap_ok(wz_store_flush(s, &err) == 0 && fine(s), "whole");
	wz_core_free(got.core);
	tap_eq_i64(wz_store_restore_backup(&o, path, true, &err), -EBUSY, "not under a daemon");
	wz_store_close(s);
	tap_eq_i64(wz_store_restore_backup(&o, path, false, &err), -EEXIST, "not over a history");
	tap_eq_i64(wz_store_restore_backup(&o, path, true, &err), 0, "but when asked: %s", err.text);
	(void)snprintf(file, sizeof file, "%s/store.db", other);
	tap_eq_i64(wz_store_restore_backup(&o, "/nonexistent", true, &err), -ENOENT, "no such backup");
	tap_ok(access(file, R_OK) == 0, "and then the old one is untouched");
	remove_dir(other);
	remove_dir(dir);
}

static int take_line(void *ctx, const struct wz_journal_record *r)
{
	uint64_t *next = ctx;
	tap_ok(r->seq == (*next)++, "in order");
	return 0;
}

static void test_journal(void)
{
	struct wz_restored got;
	struct body x;
	uint64_t next = 1, last = 0;
	fresh("journal");
	struct wz_store *s = open_store(dir);
	tap_require(restore(s, 3, &got) == 0, "%s", err.text);
	body_init(&x, s, got.core, 3, 1);
	for (int i = 0; i < 50; i++)
		last = body_step(&x, (struct wz_store_done){0});
	tap_ok(wz_store_flush(s, &err) == 0, "flush");
	while (next <= last)
		tap_ok(wz_store_journal(s, next, 17, take_line, &next, &err) == 0, "page");
	tap_ok(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, &err) == 0, "snapshot");
	(void)body_step(&x, (struct wz_store_done){0});
	tap_ok(wz_store_snapshot(s, got.core, (struct wz_store_done){0}, &err) == 0 && wz_store_flush(s, &err) == 0,
	        "snapshot");
	for (int i = 0; i < 1000 && count(s, "SELECT min(seq) FROM journal") == 1; i++)
		wz_check(usleep(1000) == 0);
	next = 1;
	tap_eq_i64(wz_store_journal(s, 1, 0, take_line, &next, &err), -ESTALE, "what is gone is told");
	body_release(&x);
	wz_store_close(s);
	wz_core_free(got.core);
	remove_dir(dir);
}

int main(void)
{
	tap_run(test_file_systems);
	tap_run(test_columns);
	tap_run(test_rows);
	tap_run(test_lock);
	tap_run(test_versions);
	tap_run(test_schema_1);
	tap_run(test_told);
	tap_run(test_restarts);
	tap_run(test_restarts_with_snapshots);
	tap_run(test_compaction);
	tap_run(test_journal);
	tap_run(test_backup);
	tap_run(test_doctor);
	return tap_done();
}
