/* SPDX-License-Identifier: Apache-2.0 */
/* The core of the journal: the newest snapshot that can be read, then every event and effect after it, each digest compared.
 *
 * Digests number device models by the catalogue of the program that wrote them. The head of each run says which that was; under
 * another one digests say nothing and are counted as unverified; the next snapshot has digests of ours again. */
#include "store/store_int.h"

#include "base/check.h"
#include "base/hash.h"
#include "os/mem.h"

static int damaged(struct wz_err *err, uint64_t seq, const char *what)
{
	struct wz_num n;

	return wz_err_set(err, -EUCLEAN, "StoreDamaged", WZ_STR("record "), wz_str_u64(&n, seq),
	        WZ_STR(" of the journal "), wz_str(what), WZ_STR("; see wz doctor --check"));
}

/* An error of applying, with the number of the record; memory stays what it is. */
static int at_record(struct wz_err *err, uint64_t seq, int r)
{
	struct wz_num n;

	if (err) {
		wz_err_prefix(err, WZ_STR(" of the journal: "));
		wz_err_prefix(err, wz_str_u64(&n, seq));
		wz_err_prefix(err, WZ_STR("record "));
		if (r != -ENOMEM) {
			err->code = -EUCLEAN;
			err->reason = "StoreDamaged";
		}
	}
	return r == -ENOMEM ? r : -EUCLEAN;
}

/* Names of the compiled-in models in their order: what digests depend on. */
static int fingerprint(const struct wz_mem *mem, uint64_t *ret, struct wz_err *err)
{
	struct wz_catalogue c;
	uint64_t h = 1;

	if (wz_catalogue_init(&c, mem) < 0)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("no memory for the catalogue"));
	for (uint32_t i = 0; i < c.n; i++)
		h = wz_hash_str(h, wz_str(c.model[i].name));
	wz_catalogue_release(&c);
	*ret = h;
	return 0;
}

static void hex_of(uint64_t v, char out[17])
{
	struct wz_buf b;

	wz_buf_init_fixed(&b, out, 17);
	wz_buf_add_hex64(&b, v);
	(void)wz_buf_z(&b);
}

/* ---- from a snapshot ---- */

static int import_newest(sqlite3 *db, struct wz_replay *x, uint64_t at_most, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	struct wz_err why = {0};
	int r = wz_sql_prepare(db,
	            "SELECT seq, time_us, core FROM snapshots WHERE seq <= ?1 AND time_us <= ?2 ORDER BY seq DESC",
	            &st, err),
	    rc;
	bool same = false, tried = false;

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(st, 1, at_most > INT64_MAX ? INT64_MAX : (int64_t)at_most);
	(void)sqlite3_bind_int64(st, 2, x->until_us ? (int64_t)x->until_us : INT64_MAX);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct wz_str bytes = {sqlite3_column_blob(st, 2), (size_t)sqlite3_column_bytes(st, 2)};
		r = wz_core_import(x->mem, x->fresh, bytes, &x->got.core, &same, &why);
		tried = true;
		if (r == 0) {
			x->comparable = same;
			x->got.seq = x->got.snapshot_seq = (uint64_t)sqlite3_column_int64(st, 0);
			x->got.time_us = (uint64_t)sqlite3_column_int64(st, 1);
			break;
		}
		if (r == -ENOMEM)
			break;
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = wz_sql_err(db, rc, "read the store", err);
	else if (r == -ENOMEM)
		*err = why;
	else
		r = 0; /* none that can be read: from the beginning, if that is there */
	(void)sqlite3_finalize(st);
	(void)tried;
	return r;
}

/* ---- records ---- */

static int declare(struct wz_replay *x, const struct wz_model_row *m, struct wz_err *err)
{
	char vendor[WZ_MODEL_NAME_MAX] = {0};
	struct wz_model facts = {.vendor = vendor,
	        .mem_bytes = (uint64_t)m->mem,
	        .class_g = (uint32_t)m->class_g,
	        .bw_gbps = (uint32_t)m->bw_gbps,
	        .tflops_milli = (uint32_t)m->tflops_milli,
	        .fp32_milli = (uint32_t)m->fp32_milli,
	        .fp8_milli = (uint32_t)m->fp8_milli,
	        .link_gbps = (uint32_t)m->link_gbps,
	        .tdp_w = (uint32_t)m->tdp_w,
	        .idle_w = (uint32_t)m->idle_w,
	        .cu_milli = (uint32_t)m->cu_milli,
	        .year = (uint16_t)m->year,
	        .mig = (uint8_t)m->mig};
	wz_model_id id;

	if (m->vendor.len && m->vendor.len < sizeof(vendor))
		memcpy(vendor, m->vendor.ptr, m->vendor.len);
	return wz_catalogue_declare(wz_core_catalogue(x->got.core), m->name, &facts, &id, err);
}

static int on_head(struct wz_replay *x, const struct wz_head_row *h, struct wz_err *err)
{
	struct wz_core_options o = *x->fresh;
	char policy[64], ours[17];

	hex_of(x->catalogue, ours);
	x->comparable = wz_str_eq(h->catalogue, wz_str(ours)) && (x->got.core ? x->comparable : true);
	if (x->got.core)
		return 0;
	if (wz_str_parse_u64(h->seed, &o.seed) < 0 || h->policy.len >= sizeof(policy))
		return wz_err_set(err, -EUCLEAN, "StoreDamaged", WZ_STR("the head cannot be read"));
	if (h->policy.len)
		memcpy(policy, h->policy.ptr, h->policy.len);
	policy[h->policy.len] = 0;
	o.policy = policy;
	if (o.custom && strcmp(o.custom->name, policy) != 0)
		o.custom = NULL;
	o.start_timeout_us = (uint64_t)h->start_timeout_us;
	o.stop_timeout_us = (uint64_t)h->stop_timeout_us;
	return wz_core_new(x->mem, &o, &x->got.core, err);
}

static int on_note(struct wz_replay *x, struct wz_str line, struct wz_arena *a, struct wz_err *err)
{
	union wz_row row;
	unsigned table;
	int r = wz_note_parse(line, a, &table, &row, err);

	if (r < 0)
		return r;
	if (table == WZ_T_HEAD)
		return on_head(x, &row.head, err);
	if (table == WZ_T_MODEL && x->got.core)
		return declare(x, &row.model, err);
	return 0;
}

static int apply_record(
        struct wz_replay *x, const struct wz_journal_record *rec, struct wz_arena *a, struct wz_err *err)
{
	struct wz_effect ef;
	struct wz_event ev;
	int r;

	wz_arena_clear(a);
	if (rec->kind == WZ_RECORD_NOTE)
		return on_note(x, rec->line, a, err);
	if (!x->got.core)
		return wz_err_set(err, -EUCLEAN, "StoreDamaged", WZ_STR("the head is missing"));
	if (rec->kind == WZ_RECORD_EVENT) {
		r = wz_event_parse(rec->line, wz_core_catalogue(x->got.core), a, &ev, err);
		if (r == 0)
			r = wz_core_apply(x->got.core, &ev, err);
	} else {
		r = wz_effect_parse(rec->line, a, &ef, err);
		if (r == 0)
			r = wz_core_apply_effect(x->got.core, &ef, err);
	}
	return r;
}

/* 1: this and the later records are of after the moment that was asked for. */
static int step(struct wz_replay *x, sqlite3_stmt *st, struct wz_arena *a, struct wz_err *err)
{
	struct wz_journal_record rec = {.seq = (uint64_t)sqlite3_column_int64(st, 0),
	        .time_us = (uint64_t)sqlite3_column_int64(st, 1),
	        .kind = (enum wz_record_kind)sqlite3_column_int(st, 2),
	        .line = {(const char *)sqlite3_column_text(st, 3), (size_t)sqlite3_column_bytes(st, 3)},
	        .digested = sqlite3_column_type(st, 4) != SQLITE_NULL,
	        .digest = (uint64_t)sqlite3_column_int64(st, 4)};
	int r;

	if (x->until_us && rec.time_us > x->until_us)
		return 1;
	if (rec.seq != x->got.seq + 1)
		return damaged(err, x->got.seq + 1, "is missing");
	if (wz_record_sum(rec.seq, &rec) != (uint64_t)sqlite3_column_int64(st, 5))
		return damaged(err, rec.seq, "is not what was written (its checksum differs)");
	r = apply_record(x, &rec, a, err);
	if (r < 0)
		return at_record(err, rec.seq, r);
	x->got.seq = rec.seq;
	x->got.records++;
	if (rec.time_us > x->got.time_us)
		x->got.time_us = rec.time_us;
	if (rec.digested && x->comparable) {
		x->got.verified++;
		if (wz_core_digest(x->got.core) != rec.digest)
			return damaged(
			        err, rec.seq, "does not lead to the state that it led to (the digest differs)");
	}
	x->got.unverified += rec.digested && !x->comparable;
	return 0;
}

static int replay_records(sqlite3 *db, struct wz_replay *x, struct wz_err *err)
{
	sqlite3_stmt *st = NULL;
	struct wz_arena a;
	int r = wz_sql_prepare(db,
	            "SELECT seq, time_us, kind, body, digest, sum FROM journal WHERE seq > ?1 ORDER BY seq", &st,
	            err),
	    rc = SQLITE_DONE;

	if (r < 0)
		return r;
	wz_arena_init(&a, wz_os_mem(), 1u << 16);
	(void)sqlite3_bind_int64(st, 1, (int64_t)x->got.seq);
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = step(x, st, &a, err);
	if (r == 0 && rc != SQLITE_DONE)
		r = wz_sql_err(db, rc, "read the journal", err);
	if (r == 1) /* the moment that was asked for is passed */
		r = 0;
	wz_arena_release(&a);
	(void)sqlite3_finalize(st);
	return r;
}

int wz_replay(sqlite3 *db, struct wz_replay *x, uint64_t at_most, struct wz_err *err)
{
	struct wz_err local;
	int r;

	err = err ? err : &local;
	x->got = (struct wz_restored){0};
	x->comparable = false;
	r = fingerprint(x->mem, &x->catalogue, err);
	if (r == 0 && at_most)
		r = import_newest(db, x, at_most, err);
	if (r == 0)
		r = replay_records(db, x, err);
	if (r < 0) {
		wz_core_free(x->got.core);
		x->got.core = NULL;
	}
	return r;
}

/* ---- a daemon's start ---- */

static int write_head(struct wz_store *s, struct wz_replay *x, struct wz_err *err)
{
	const struct wz_core_options *o = x->fresh;
	struct wz_head_row h = {0};
	struct wz_batch b;
	struct wz_num seed;
	char ours[17];
	int r;

	hex_of(x->catalogue, ours);
	WZ_SET(HEAD, &h, version, wz_str(s->version));
	WZ_SET(HEAD, &h, schema, WZ_STORE_SCHEMA);
	WZ_SET(HEAD, &h, seed, wz_str_u64(&seed, o->seed));
	WZ_SET(HEAD, &h, policy, wz_str(wz_core_policy(x->got.core, NULL)->name));
	WZ_SET(HEAD, &h, start_timeout_us, (int64_t)o->start_timeout_us);
	WZ_SET(HEAD, &h, stop_timeout_us, (int64_t)o->stop_timeout_us);
	WZ_SET(HEAD, &h, catalogue, wz_str(ours));
	wz_batch_init(&b, wz_os_mem());
	b.time_us = x->got.time_us;
	r = wz_batch_head(&b, &h, err);
	if (r == 0)
		r = wz_store_append(s, &b, (struct wz_store_done){0}, NULL, err);
	wz_batch_release(&b);
	return r;
}

int wz_store_restore(struct wz_store *s, const struct wz_mem *mem, const struct wz_core_options *fresh,
        struct wz_restored *ret, struct wz_err *err)
{
	struct wz_replay x = {.mem = mem, .fresh = fresh};
	int r = wz_replay(s->rd, &x, UINT64_MAX, err);

	if (r < 0)
		return r;
	if (!x.got.core) {
		x.got.fresh = true;
		r = wz_core_new(mem, fresh, &x.got.core, err);
	}
	if (r == 0)
		r = wz_sql_u64(s->rd, "SELECT max(job) FROM jobs", &x.got.last_job, err);
	if (r == 0 && !s->o.read_only)
		r = write_head(s, &x, err);
	if (r < 0) {
		wz_core_free(x.got.core);
		return r;
	}
	if (x.got.unverified || (!x.comparable && !x.got.fresh))
		s->snapshot_at = 0; /* soon one with digests of ours */
	s->restored = true;
	*ret = x.got;
	return 0;
}

int wz_store_replay(struct wz_store *s, const struct wz_mem *mem, const struct wz_core_options *o,
        uint64_t until_us, struct wz_restored *ret, struct wz_err *err)
{
	struct wz_replay x = {.mem = mem, .fresh = o, .until_us = until_us};
	uint64_t first = 0, oldest = 0;
	int r = wz_sql_u64(s->rd, "SELECT min(seq) FROM journal", &first, err);
	if (r == 0 && first > 1) /* the beginning was compacted: some snapshot must be old enough */
		r = wz_sql_u64(s->rd, "SELECT min(time_us) FROM snapshots", &oldest, err);
	if (r == 0 && oldest > until_us)
		return wz_err_set(err, -ESTALE, "Compacted", WZ_STR("the journal does not go back so far"));
	if (r == 0)
		r = wz_replay(s->rd, &x, UINT64_MAX, err);
	if (r == 0 && !x.got.core)
		r = wz_err_set(err, -ENOENT, "NothingThen", WZ_STR("the journal begins later"));
	if (r == 0)
		*ret = x.got;
	return r;
}
