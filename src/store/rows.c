/* SPDX-License-Identifier: Apache-2.0 */
/* The columns as tables, and notes: one row as one line. */
#include "store/store_int.h"

#include "base/check.h"

#include <stddef.h>

#define COLUMN_OF(row, m, kind) {#m, #kind[0], (uint16_t)offsetof(struct row, m)},
#define JOB(m, kind) COLUMN_OF(wz_job_row, m, kind)
#define ATTEMPT(m, kind) COLUMN_OF(wz_attempt_row, m, kind)
#define AUDIT(m, kind) COLUMN_OF(wz_audit_row, m, kind)
#define KV(m, kind) COLUMN_OF(wz_kv_row, m, kind)
#define HEAD(m, kind) COLUMN_OF(wz_head_row, m, kind)
#define MODEL(m, kind) COLUMN_OF(wz_model_row, m, kind)

static const struct wz_column jobs[] = {WZ_JOB_COLUMNS(JOB)};
static const struct wz_column attempts[] = {WZ_ATTEMPT_COLUMNS(ATTEMPT)};
static const struct wz_column audit[] = {WZ_AUDIT_COLUMNS(AUDIT)};
static const struct wz_column kv[] = {WZ_KV_COLUMNS(KV)};
static const struct wz_column head[] = {WZ_HEAD_COLUMNS(HEAD)};
static const struct wz_column model[] = {WZ_MODEL_COLUMNS(MODEL)};

const struct wz_table wz_tables[WZ_T_NOTES] = {
        [WZ_T_JOBS] = {"jobs", "job", jobs, WZ_ARRAY_LEN(jobs), 1},
        [WZ_T_ATTEMPTS] = {"attempts", "attempt", attempts, WZ_ARRAY_LEN(attempts), 3},
        [WZ_T_AUDIT] = {"audit", "audit", audit, WZ_ARRAY_LEN(audit), 0},
        [WZ_T_KV] = {"kv", "kv", kv, WZ_ARRAY_LEN(kv), 1},
        [WZ_T_HEAD] = {NULL, "head", head, WZ_ARRAY_LEN(head), 1},
        [WZ_T_MODEL] = {NULL, "model", model, WZ_ARRAY_LEN(model), 1},
};
_Static_assert(WZ_ARRAY_LEN(jobs) <= WZ_COLUMNS_MAX, "the bits of `given` and the columns of a statement");

static int check_row(const struct wz_table *t, const char *row, uint64_t given, struct wz_err *err)
{
	for (unsigned i = 0; i < t->n_key; i++) {
		const struct wz_column *c = &t->column[i];
		bool is = given >> i & 1;
		if (is && c->kind == 'I')
			is = *(const int64_t *)(row + c->at) >= (i == 0);
		else if (is)
			is = ((const struct wz_str *)(row + c->at))->len > 0;
		if (!is)
			return wz_err_set(err, -EINVAL, "BadNote", wz_str(t->note), WZ_STR(": "), wz_str(c->name),
			        WZ_STR(" must be given"));
	}
	for (unsigned i = 0; i < t->n; i++)
		if ((given >> i & 1) && t->column[i].kind == 'T' &&
		        !wz_utf8_ok(*(const struct wz_str *)(row + t->column[i].at)))
			return wz_err_set(err, -EINVAL, "BadText", wz_str(t->note), WZ_STR(": "),
			        wz_str(t->column[i].name), WZ_STR(" is not UTF-8"));
	return given >> t->n ? wz_err_set(err, -EINVAL, "BadNote", wz_str(t->note), WZ_STR(": unknown member")) : 0;
}

int wz_note_format(unsigned table, const void *row, struct wz_buf *b, struct wz_err *err)
{
	const struct wz_table *t = &wz_tables[table];
	uint64_t given = *(const uint64_t *)row;
	int r = check_row(t, row, given, err);

	if (r < 0)
		return r;
	wz_buf_addz(b, "{\"no\":\"");
	wz_buf_addz(b, t->note);
	wz_buf_addc(b, '"');
	for (unsigned i = 0; i < t->n; i++) {
		const void *p = (const char *)row + t->column[i].at;
		if (!(given >> i & 1))
			continue;
		wz_buf_addz(b, ",\"");
		wz_buf_addz(b, t->column[i].name);
		wz_buf_addz(b, "\":");
		if (t->column[i].kind == 'I')
			wz_buf_add_i64(b, *(const int64_t *)p);
		else
			wz_buf_add_json(b, *(const struct wz_str *)p);
	}
	wz_buf_addc(b, '}');
	return b->status < 0 ? wz_err_set(err, b->status, b->status == -ENOMEM ? "OutOfMemory" : "BatchTooLarge",
	                               WZ_STR("no room for a note"))
	                     : 0;
}

static const struct wz_table *table_of(struct wz_str note, unsigned *ret)
{
	for (*ret = 0; *ret < WZ_T_NOTES; ++*ret)
		if (wz_str_eq(note, wz_str(wz_tables[*ret].note)))
			return &wz_tables[*ret];
	return NULL;
}

int wz_note_parse(
        struct wz_str line, struct wz_arena *a, unsigned *ret_table, union wz_row *ret, struct wz_err *err)
{
	const struct wz_table *t = NULL;
	struct wz_str key, note = {0};
	union wz_row row;
	unsigned at = 0, table = 0;
	struct wz_json j;

	memset(&row, 0, sizeof(row));
	wz_json_init(&j, line);
	wz_json_object(&j);
	if (!wz_json_key(&j, &key) || !wz_str_eq(key, WZ_STR("no")))
		wz_json_fail(&j, "the first key is no");
	if (wz_json_string(&j, a, &note) && !(t = table_of(note, &table)))
		wz_json_fail(&j, "unknown kind of note");
	while (t && wz_json_key(&j, &key)) {
		void *p;
		while (at < t->n && !wz_str_eq(key, wz_str(t->column[at].name)))
			at++;
		if (at == t->n) {
			wz_json_fail(&j, "this key is unknown, there twice or out of its order");
			break;
		}
		p = (char *)&row + t->column[at].at;
		row.given |= 1ULL << at;
		if (t->column[at].kind == 'I' ? !wz_json_i64(&j, p) : !wz_json_string(&j, a, p))
			break;
		at++;
	}
	wz_json_end(&j);
	if (j.what)
		return wz_json_err(&j, j.code == -ENOMEM ? "OutOfMemory" : "BadNote", err);
	if (check_row(t, (const char *)&row, row.given, err) < 0)
		return -EINVAL;
	*ret_table = table;
	*ret = row;
	return 0;
}
