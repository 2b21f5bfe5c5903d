/* SPDX-License-Identifier: Apache-2.0 */
/* Records gathered by the loop: all texts in one buffer, records as places in it. */
#include "store/store_int.h"

#include "base/check.h"

#include <openssl/evp.h>

void wz_batch_init(struct wz_batch *b, const struct wz_mem *mem)
{
	*b = (struct wz_batch){.mem = mem};
	wz_buf_init(&b->text, mem, WZ_STORE_BATCH_MAX);
}

void wz_batch_release(struct wz_batch *b)
{
	if (!b->mem)
		return;
	wz_buf_release(&b->text);
	wz_grow_free(b->mem, &b->record, &b->cap, sizeof(*b->record));
	wz_grow_free(b->mem, &b->blob, &b->blob_cap, sizeof(*b->blob));
	wz_grow_free(b->mem, &b->key, &b->key_cap, sizeof(*b->key));
	b->n = b->n_blobs = b->n_keys = 0;
}

void wz_batch_clear(struct wz_batch *b)
{
	wz_buf_clear(&b->text);
	b->n = b->n_blobs = b->n_keys = 0;
}

static int no_room(struct wz_batch *b, size_t before, int r, struct wz_err *err)
{
	b->text.len = before;
	b->text.status = 0;
	return wz_err_set(err, r, r == -ENOMEM ? "OutOfMemory" : "BatchTooLarge", WZ_STR("no room in this batch"));
}

/* Room for the record first, so that nothing can fail once its text is there. */
static int begin(struct wz_batch *b, struct wz_err *err)
{
	int r = b->n == UINT32_MAX ? -E2BIG : wz_grow(b->mem, &b->record, &b->cap, b->n + 1, sizeof(*b->record));

	return r < 0 ? no_room(b, b->text.len, r, err) : 0;
}

static int end(struct wz_batch *b, size_t before, unsigned kind, unsigned table, uint64_t time_us, int r,
        struct wz_err *err)
{
	if (r == -ENOMEM || r == -E2BIG)
		return no_room(b, before, r, err);
	if (r < 0) {
		b->text.len = before;
		return r;
	}
	b->record[b->n++] = (struct wz_batch_record){.time_us = time_us,
	        .off = before,
	        .len = (uint32_t)(b->text.len - before),
	        .kind = (uint8_t)kind,
	        .table = (uint8_t)table};
	return 0;
}

int wz_batch_event(struct wz_batch *b, const struct wz_event *e, const struct wz_catalogue *c, struct wz_err *err)
{
	size_t before = b->text.len;
	int r = begin(b, err);

	if (r < 0)
		return r;
	r = end(b, before, WZ_RECORD_EVENT, 0, e->time_us, wz_event_format(e, c, &b->text, err), err);
	if (r == 0 && e->time_us > b->time_us)
		b->time_us = e->time_us;
	return r;
}

int wz_batch_effect(struct wz_batch *b, const struct wz_effect *e, struct wz_err *err)
{
	size_t before = b->text.len;
	int r = begin(b, err);

	return r < 0 ? r : end(b, before, WZ_RECORD_EFFECT, 0, b->time_us, wz_effect_format(e, &b->text, err), err);
}

void wz_batch_digest(struct wz_batch *b, uint64_t digest)
{
	for (uint32_t i = b->n; i-- > 0;)
		if (b->record[i].kind != WZ_RECORD_NOTE) {
			b->record[i].digest = digest;
			b->record[i].digested = true;
			return;
		}
}

static int note(struct wz_batch *b, unsigned table, const void *row, struct wz_err *err)
{
	size_t before = b->text.len;
	int r = begin(b, err);

	return r < 0 ? r
	             : end(b, before, WZ_RECORD_NOTE, table, b->time_us, wz_note_format(table, row, &b->text, err),
	                       err);
}

/* The key is kept beside the line, for wz_store_find_key before it is durable. */
int wz_batch_job(struct wz_batch *b, const struct wz_job_row *r, struct wz_err *err)
{
	bool keyed = WZ_GIVEN(JOB, r, idem) && r->idem.len;
	size_t before = b->text.len;
	int rc = keyed ? wz_grow(b->mem, &b->key, &b->key_cap, b->n_keys + 1, sizeof(*b->key)) : 0;

	if (rc < 0)
		return no_room(b, before, rc, err);
	if (keyed && !WZ_GIVEN(JOB, r, uid))
		return wz_err_set(err, -EINVAL, "BadNote", WZ_STR("a job with an idempotency key needs a uid"));
	if (keyed)
		wz_buf_add(&b->text, r->idem);
	if (b->text.status < 0)
		return no_room(b, before, b->text.status, err);
	rc = note(b, WZ_T_JOBS, r, err);
	if (rc < 0)
		b->text.len = before;
	else if (keyed)
		b->key[b->n_keys++] = (struct wz_batch_key){
		        .uid = r->uid, .job = r->job, .off = before, .len = (uint32_t)r->idem.len};
	return rc;
}

int wz_batch_attempt(struct wz_batch *b, const struct wz_attempt_row *r, struct wz_err *err)
{
	return note(b, WZ_T_ATTEMPTS, r, err);
}

int wz_batch_audit(struct wz_batch *b, const struct wz_audit_row *r, struct wz_err *err)
{
	return note(b, WZ_T_AUDIT, r, err);
}

int wz_batch_kv(struct wz_batch *b, struct wz_str key, struct wz_str value, struct wz_err *err)
{
	struct wz_kv_row r = {0};

	WZ_SET(KV, &r, key, key);
	WZ_SET(KV, &r, value, value);
	return note(b, WZ_T_KV, &r, err);
}

int wz_batch_model(struct wz_batch *b, const struct wz_model *m, struct wz_err *err)
{
	struct wz_model_row r = {.given = (1ULL << WZ_MODEL_COLUMNS_N) - 1,
	        .name = wz_str(m->name),
	        .vendor = wz_str(m->vendor),
	        .mem = (int64_t)m->mem_bytes,
	        .class_g = m->class_g,
	        .bw_gbps = m->bw_gbps,
	        .tflops_milli = m->tflops_milli,
	        .fp32_milli = m->fp32_milli,
	        .fp8_milli = m->fp8_milli,
	        .link_gbps = m->link_gbps,
	        .tdp_w = m->tdp_w,
	        .idle_w = m->idle_w,
	        .cu_milli = m->cu_milli,
	        .year = m->year,
	        .mig = m->mig};

	return note(b, WZ_T_MODEL, &r, err);
}

int wz_batch_head(struct wz_batch *b, const struct wz_head_row *r, struct wz_err *err)
{
	return note(b, WZ_T_HEAD, r, err);
}

static void hex(char *to, const unsigned char *p, unsigned n)
{
	static const char digit[] = "0123456789abcdef";

	for (unsigned i = 0; i < n; i++) {
		to[2 * i] = digit[p[i] >> 4];
		to[2 * i + 1] = digit[p[i] & 15];
	}
	to[2 * n] = 0;
}

int wz_batch_blob(struct wz_batch *b, struct wz_str bytes, char ret_id[WZ_BLOB_ID], struct wz_err *err)
{
	size_t before = b->text.len;
	unsigned char sum[32];
	unsigned len = sizeof(sum);
	int r;

	if (bytes.len > WZ_BLOB_MAX)
		return wz_err_set(err, -E2BIG, "BlobTooLarge", WZ_STR("more than 16 MiB in one piece"));
	if (EVP_Digest(bytes.len ? bytes.ptr : "", bytes.len, sum, &len, EVP_sha256(), NULL) != 1)
		return wz_err_set(err, -ENOMEM, "OutOfMemory", WZ_STR("SHA-256 is not to be had"));
	hex(ret_id, sum, sizeof(sum));
	for (uint32_t i = 0; i < b->n_blobs; i++)
		if (memcmp(b->blob[i].id, ret_id, WZ_BLOB_ID) == 0)
			return 0;
	r = wz_grow(b->mem, &b->blob, &b->blob_cap, b->n_blobs + 1, sizeof(*b->blob));
	if (r < 0)
		return no_room(b, before, r, err);
	wz_buf_add(&b->text, bytes);
	if (b->text.status < 0)
		return no_room(b, before, b->text.status, err);
	b->blob[b->n_blobs] = (struct wz_batch_blob){.off = before, .len = bytes.len};
	memcpy(b->blob[b->n_blobs++].id, ret_id, WZ_BLOB_ID);
	return 0;
}
